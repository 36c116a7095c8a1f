//! What is a live device asked about a kernel, and what did its driver answer?
//!
//! A worker builds the program, makes each kernel and asks everything at once; what the answers mean to SYCL is
//! decided afterwards, in [`sycl`], where no driver can die of it.

pub mod sycl;

use super::pool::{self, Task};
use super::protocol::{Fields, Reply, Request};
use super::{Engine, Event, Failure, Launch, Open, Settings};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::time::Duration;

/// A program to build, and the kernels of it to ask about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<'a> {
    /// The SPIR-V modules that are linked into one program, or the one device binary; none for the built-in kernels
    /// of the device.
    pub modules: Vec<Cow<'a, [u8]>>,
    /// Whether the module is a device binary.
    pub native: bool,
    /// Options of the driver's compiler and linker.
    pub options: Cow<'a, str>,
    /// Mangled names.
    pub kernels: Vec<Cow<'a, str>>,
}

/// The driver's answers about one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelAnswers {
    /// Mangled name of the kernel.
    pub name: String,
    /// The status of `clCreateKernel`; where it is not 0 there are no answers.
    pub status: i32,
    /// By the number of the OpenCL query: the value's bytes, or the status.
    pub answers: Vec<(u32, std::result::Result<Vec<u8>, i32>)>,
}

/// The numbers of the OpenCL queries, of `CL/cl.h` and `CL/cl_ext.h`.
pub mod cl {
    /// `CL_KERNEL_FUNCTION_NAME`
    pub(crate) const FUNCTION_NAME: u32 = 0x1190;
    /// `CL_KERNEL_NUM_ARGS`
    pub(crate) const NUM_ARGS: u32 = 0x1191;
    /// `CL_KERNEL_ATTRIBUTES`
    pub(crate) const ATTRIBUTES: u32 = 0x1195;
    /// The number of registers, on some GPUs (`CL_KERNEL_NUM_REGS_INTEL`, unpublished).
    pub(crate) const REGISTERS: u32 = 0x425B;
    /// `CL_KERNEL_WORK_GROUP_SIZE`
    pub(crate) const WORK_GROUP_SIZE: u32 = 0x11B0;
    /// `CL_KERNEL_COMPILE_WORK_GROUP_SIZE`
    pub(crate) const COMPILE_WORK_GROUP_SIZE: u32 = 0x11B1;
    /// `CL_KERNEL_LOCAL_MEM_SIZE`
    pub(crate) const LOCAL_MEM_SIZE: u32 = 0x11B2;
    /// `CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE`
    pub(crate) const PREFERRED_WORK_GROUP_SIZE_MULTIPLE: u32 = 0x11B3;
    /// `CL_KERNEL_PRIVATE_MEM_SIZE`
    pub(crate) const PRIVATE_MEM_SIZE: u32 = 0x11B4;
    /// `CL_KERNEL_GLOBAL_WORK_SIZE`
    pub(crate) const GLOBAL_WORK_SIZE: u32 = 0x11B5;
    /// `CL_KERNEL_SPILL_MEM_SIZE_INTEL`
    pub(crate) const SPILL_MEM_SIZE: u32 = 0x4109;
    /// `CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE`
    pub(crate) const MAX_SUB_GROUP_SIZE: u32 = 0x2033;
    /// `CL_KERNEL_MAX_NUM_SUB_GROUPS`
    pub(crate) const MAX_NUM_SUB_GROUPS: u32 = 0x11B9;
    /// `CL_KERNEL_COMPILE_NUM_SUB_GROUPS`
    pub(crate) const COMPILE_NUM_SUB_GROUPS: u32 = 0x11BA;
    /// `CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL`
    pub(crate) const COMPILE_SUB_GROUP_SIZE: u32 = 0x410A;

    /// Asked with `clGetKernelInfo`.
    pub(crate) const OF_KERNEL: [u32; 4] = [FUNCTION_NAME, NUM_ARGS, ATTRIBUTES, REGISTERS];
    /// Asked with `clGetKernelWorkGroupInfo`.
    pub(crate) const OF_WORK_GROUP: [u32; 7] = [
        WORK_GROUP_SIZE,
        COMPILE_WORK_GROUP_SIZE,
        LOCAL_MEM_SIZE,
        PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
        PRIVATE_MEM_SIZE,
        GLOBAL_WORK_SIZE,
        SPILL_MEM_SIZE,
    ];
    /// Asked with `clGetKernelSubGroupInfo`.
    pub(crate) const OF_SUB_GROUP: [u32; 4] =
        [MAX_SUB_GROUP_SIZE, MAX_NUM_SUB_GROUPS, COMPILE_NUM_SUB_GROUPS, COMPILE_SUB_GROUP_SIZE];
}

/// One program of many.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The caller's number for the image; comes back in [`Answered`], [`Failure`] and [`Event`].
    pub image: usize,
    /// Query that the worker gets.
    pub query: Query<'a>,
}

/// Answers of a program that built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The caller's number for the image.
    pub image: usize,
    /// The kernels, in the order asked.
    pub kernels: Vec<KernelAnswers>,
    /// The driver's build log.
    pub(crate) log: String,
}

/// Asks device number `device` of the inventory every question, with the same patience as [`super::run`].
///
/// # Errors
/// `Environment` where the machine cannot do it at all.
pub fn ask(
    questions: &[Question<'_>],
    device: u32,
    launch: &Launch,
    settings: &Settings,
    on_event: &mut dyn FnMut(Event<'_, Answered>),
) -> Result<Vec<std::result::Result<Answered, Failure>>> {
    let engine = Engine { launch: launch.clone(), open: Open::Device(device) };
    pool::run_tasks(questions, &[engine], settings, on_event)
}

impl Task for Question<'_> {
    type Product = Answered;

    fn image(&self) -> usize {
        self.image
    }

    fn target(&self) -> usize {
        0
    }

    fn weight(&self) -> usize {
        self.query.modules.iter().map(|module| module.len()).sum()
    }

    fn request(&self) -> Request<'_> {
        Request::Query(Query {
            modules: self.query.modules.iter().map(|module| module.as_ref().into()).collect(),
            native: self.query.native,
            options: self.query.options.as_ref().into(),
            kernels: self.query.kernels.iter().map(|name| name.as_ref().into()).collect(),
        })
    }

    fn product(&self, reply: Reply, _elapsed: Duration, _attempts: u32) -> std::result::Result<Answered, Reply> {
        match reply {
            Reply::Answers { kernels, log } => Ok(Answered { image: self.image, kernels, log }),
            other => Err(other),
        }
    }
}

impl Query<'_> {
    pub(super) fn fields(&self) -> Vec<&[u8]> {
        let kind: &[u8] = if self.native { b"native" } else { b"spirv" };
        let mut fields = vec![kind, self.options.as_bytes()];
        fields.extend(self.kernels.iter().map(|name| name.as_bytes()));
        // The modules follow the names, after an empty field; no kernel has an empty name.
        fields.push(b"");
        fields.extend(self.modules.iter().map(|module| module.as_ref()));
        fields
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Query<'static>> {
        let native = fields.text()? == "native";
        let options = fields.text()?.into();
        let (mut kernels, mut modules) = (Vec::new(), Vec::new());
        loop {
            let name = fields.text()?;
            if name.is_empty() {
                break;
            }
            kernels.push(Cow::Owned(name));
        }
        while !fields.is_empty() {
            modules.push(Cow::Owned(fields.bytes()?.to_vec()));
        }
        Ok(Query { modules, native, options, kernels })
    }
}

impl KernelAnswers {
    /// The bytes that answer a query.
    ///
    /// # Errors
    /// The status that the driver answered with; `CL_INVALID_VALUE` for what was not asked.
    pub fn raw(&self, query: u32) -> std::result::Result<&[u8], i32> {
        const INVALID_VALUE: i32 = -30;
        let found = self.answers.iter().find(|(number, _)| *number == query);
        found.map_or(Err(INVALID_VALUE), |(_, answer)| answer.as_deref().map_err(|status| *status))
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        for (number, answer) in &self.answers {
            let (status, value) = match answer {
                Ok(value) => (0, value.as_slice()),
                Err(status) => (*status, &[][..]),
            };
            answers.extend(number.to_le_bytes());
            answers.extend(status.to_le_bytes());
            answers.extend((value.len() as u32).to_le_bytes());
            answers.extend(value);
        }
        vec![self.name.clone().into_bytes(), self.status.to_le_bytes().to_vec(), answers]
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<KernelAnswers> {
        let (name, status, all) = (fields.text()?, fields.code()?, fields.bytes()?);
        let mut answers = Vec::new();
        let mut rest = all;
        let cut = || Error::input("a frame with an answer cut short");
        while let Some((head, tail)) = rest.split_first_chunk::<12>() {
            let [n0, n1, n2, n3, s0, s1, s2, s3, l0, l1, l2, l3] = *head;
            let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            let (value, tail) = tail.split_at_checked(length).ok_or_else(cut)?;
            let status = i32::from_le_bytes([s0, s1, s2, s3]);
            let answer = if status == 0 { Ok(value.to_vec()) } else { Err(status) };
            answers.push((u32::from_le_bytes([n0, n1, n2, n3]), answer));
            rest = tail;
        }
        if !rest.is_empty() {
            return Err(cut());
        }
        Ok(KernelAnswers { name, status, answers })
    }
}
