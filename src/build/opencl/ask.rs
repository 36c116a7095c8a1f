//! What does the driver answer about one kernel?
//!
//! Everything is asked at once and nothing judged: a status is an answer too.

use std::ffi::CString;
use std::ptr;

use opencl3::error_codes::CL_INVALID_VALUE;
use opencl3::kernel::{get_kernel_data, get_kernel_sub_group_info, get_kernel_work_group_data};
use opencl3::types::cl_int;

use super::{Kernel, Opened, Program};
use crate::build::query::{KernelAnswers, cl};

impl Opened {
    /// Asks every query about a kernel of a program.
    pub(super) fn ask(&self, program: &Program, name: &str) -> KernelAnswers {
        let mut asked = KernelAnswers { name: name.to_owned(), ..KernelAnswers::default() };
        let kernel = CString::new(name).map_err(|_| CL_INVALID_VALUE).and_then(|name| Kernel::new(program, &name));
        let kernel = match kernel {
            Ok(kernel) => kernel,
            Err(status) => {
                asked.status = status;
                return asked;
            }
        };
        let mut take = |query, answer| asked.answers.push((query, answer));
        for query in cl::OF_KERNEL {
            take(query, get_kernel_data(kernel.0, query));
        }
        for query in cl::OF_WORK_GROUP {
            take(query, get_kernel_work_group_data(kernel.0, self.device, query));
        }
        for query in cl::OF_SUB_GROUP {
            take(query, self.of_sub_group(&kernel, query));
        }
        asked
    }

    fn of_sub_group(&self, kernel: &Kernel, query: u32) -> std::result::Result<Vec<u8>, cl_int> {
        // The largest sub-group depends on the work-group's shape: the runtime's adapter asks for the longest line of
        // work-items that the device has.
        let mut widest: Vec<usize> =
            self.widest.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
        widest.iter_mut().skip(1).for_each(|size| *size = 1);
        let (length, value) = match query {
            cl::MAX_SUB_GROUP_SIZE => (std::mem::size_of_val(widest.as_slice()), widest.as_ptr().cast()),
            _ => (0, ptr::null()),
        };
        let answer = get_kernel_sub_group_info(kernel.0, self.device, query, length, value)?;
        // The binding knows the first three to be of type `size_t`; what it does not know stays bytes.
        Ok(match query {
            cl::MAX_SUB_GROUP_SIZE | cl::MAX_NUM_SUB_GROUPS | cl::COMPILE_NUM_SUB_GROUPS => {
                (answer.to_size() as u64).to_le_bytes().to_vec()
            }
            _ => answer.into(),
        })
    }
}
