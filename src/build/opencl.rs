//! How does the driver compile one module, and which driver is the right one?
//!
//! The only file, with its children, that speaks OpenCL. It runs in a worker process: what it calls may crash, hang or
//! exit. `ask` asks about kernels, `describe` about devices.
//!
//! For the target `spir64_x86_64` only Intel's CPU driver will do: the SYCL runtime hands the image to any OpenCL CPU
//! device, and only this driver takes what it wrote. So the platform's vendor must be Intel, the device a CPU, and it
//! must take SPIR-V. PoCL is a CPU device too and is picked only by its name.

mod devices;

use super::Open;
use super::inventory::{Device, Inventory, Offline, loaded};
use super::protocol::Compiled;
use super::query::{KernelAnswers, Query, cl};
use super::serve::{Asked, Compiler};
use crate::bundle::format::Format;
use crate::compat::native::not_compiled;
use crate::error::{Error, ErrorKind, Result};
use devices::{devices, loader_path, no_device};
use opencl3::context::Context;
use opencl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_PROGRAM, CL_INVALID_VALUE, error_text};
use opencl3::kernel::{
    create_kernel, get_kernel_data, get_kernel_sub_group_info, get_kernel_work_group_data, release_kernel,
};
use opencl3::program::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BUILD_LOG, build_program, compile_program, create_program_with_binary,
    create_program_with_builtin_kernels, create_program_with_il, get_program_build_data, get_program_info,
    link_program, release_program,
};
use opencl3::types::{cl_device_id, cl_int, cl_kernel, cl_program};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr;

/// Magic number of compiled code, objects and executables.
const ELF: &[u8] = b"\x7fELF";

const REMEDY: &str =
    "`--install-driver` (of `doctor` and `build`) installs Intel's OpenCL CPU driver from PyPI for this user";

/// An OpenCL driver, found at the first use: Intel's for CPUs, where no other device is asked for.
#[derive(Default)]
pub(crate) struct Driver(Option<Opened>);

/// A device, and what is known about it.
type Known = (cl_device_id, Device);

struct Opened {
    device: cl_device_id,
    context: Context,
    /// The most work-items of a work-group in each dimension.
    widest: Vec<u64>,
    /// Whether code of modules may run in this process: drivers of GPUs compile alone.
    runs_here: bool,
}

impl Compiler for Driver {
    fn open(&mut self, what: &Open) -> Result<String> {
        let device = match what {
            Open::Device(place) => Some(*place),
            Open::Cpu | Open::Ocloc(_) | Open::Nvidia(_) => None,
        };
        let (all, skipped) = devices()?;
        let found = match device {
            None => all.iter().find(|(_, about)| about.compiles),
            Some(place) => usize::try_from(place).ok().and_then(|place| all.get(place)),
        };
        let Some((device, about)) = found else {
            return Err(no_device(&all, &skipped, device));
        };
        let context = Context::from_device(&opencl3::device::Device::new(*device)).map_err(|error| {
            // Seen with a name in CL_CONFIG_CPU_TARGET_ARCH that the driver does not know, and with an empty one.
            failed("clCreateContext", error.0).with_remedy(
                "is the instruction set one that this driver knows (--march, or CL_CONFIG_CPU_TARGET_ARCH)?",
            )
        })?;
        let (widest, runs_here) = (about.max_work_item_sizes.clone(), about.kind != "gpu");
        self.0 = Some(Opened { device: *device, context, widest, runs_here });
        Ok(format!("{}, driver {}", about.name, about.driver))
    }

    fn compile(&mut self, il: &[u8], compile_options: &str, link_options: &str) -> Compiled {
        let options = [compile_options, link_options].join(" ");
        self.deliver(&[options.trim()], |opened, options| match options {
            [options] => opened.executable(il, options),
            _ => Err((CL_INVALID_VALUE, String::new())),
        })
    }

    fn object(&mut self, il: &[u8], compile_options: &str) -> Compiled {
        self.deliver(&[compile_options], |opened, options| match options {
            [options] => opened.object(il, options),
            _ => Err((CL_INVALID_VALUE, String::new())),
        })
    }

    fn offline(&mut self, _il: &[u8], _device: &str, _compile_options: &str, _link_options: &str) -> Compiled {
        hollow("an OpenCL driver compiles for its own devices".to_owned(), String::new())
    }

    fn link(&mut self, inputs: &[Cow<'_, [u8]>], compile_options: &str, link_options: &str) -> Compiled {
        self.deliver(&[compile_options, link_options], |opened, options| match options {
            [compile, link] => opened.linked(inputs, compile, link),
            _ => Err((CL_INVALID_VALUE, String::new())),
        })
    }

    fn query(&mut self, query: &Query<'_>) -> Asked {
        let refused = |code: cl_int, log| Asked::Refused { code, name: error_text(code).to_owned(), log };
        let Some(opened) = &self.0 else { return refused(CL_INVALID_CONTEXT, String::new()) };
        match opened.program(query) {
            Ok(program) => Asked::Answers {
                kernels: query.kernels.iter().map(|name| opened.ask(&program, name)).collect(),
                log: program.log(opened.device),
            },
            Err((code, log)) => refused(code, log),
        }
    }

    fn offline_compiler(&mut self, _devices: &[Cow<'_, str>]) -> Result<Offline> {
        Err(Error::new(ErrorKind::Environment, "an OpenCL driver is no offline compiler"))
    }

    fn inventory(&mut self) -> Result<Inventory> {
        let before = loaded();
        let (all, mut skipped) = devices()?;
        // A platform that fails matters only where no other does the work.
        if all.is_empty() && !skipped.is_empty() {
            return Err(skipped.swap_remove(0).with_remedy(REMEDY));
        }
        let problems = skipped.iter().map(Error::to_string).collect();
        let of_drivers = loaded().into_iter().filter(|file| !before.contains(file));
        let mut files: Vec<PathBuf> = of_drivers.collect();
        files.extend(beside(&files));
        let devices = all.into_iter().map(|(_, about)| about).collect();
        Ok(Inventory { loader: loader_path(), devices, problems, files, loaded: loaded() })
    }
}

/// Returns the files that drivers read when they compile, and not before: the settings of Intel's for CPUs, and the functions that
/// it or PoCL puts into kernels, which are bitcode and objects of their own.
fn beside(drivers: &[PathBuf]) -> BTreeSet<PathBuf> {
    let of_intel = |name: &str| {
        name == "cl.cfg" || name.ends_with(".rtl") || name.starts_with("cllibrary") || name.contains("ocl_svml")
    };
    let folders: BTreeSet<&Path> = drivers.iter().filter_map(|file| file.parent()).collect();
    let own = folders.iter().flat_map(|folder| plain_files(folder, of_intel));
    // `/usr/share/pocl` of `/usr/lib/x86_64-linux-gnu/libpocl.so`, or that of a folder that PoCL was moved to with it.
    let is_pocl = |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().contains("pocl"));
    let above = drivers.iter().filter(is_pocl).flat_map(|file| file.ancestors().skip(2).take(2));
    let shares: BTreeSet<PathBuf> = above.map(|folder| folder.join("share/pocl")).collect();
    let of_pocl = shares.iter().flat_map(|folder| plain_files(folder, |name| name.ends_with(".bc")));
    // Intel's driver looks above its folder for the functions that all processors share, and there first.
    let parents: BTreeSet<&Path> = folders.iter().filter_map(|folder| folder.parent()).collect();
    let shared = parents.iter().flat_map(|folder| plain_files(folder, |name| name.ends_with(".rtl")));
    own.chain(of_pocl).chain(shared).collect()
}

/// Returns the plain files of a folder whose names are wanted.
fn plain_files(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wanted = all.filter(|entry| is_wanted(&entry.file_name().to_string_lossy())).map(|entry| entry.path());
    wanted.filter(|path| path.is_file()).collect()
}

impl Opened {
    /// A built program, or the status and the log. One step with all options, as the SYCL runtime does it for a
    /// module that is linked with no other (`ProgramManager::build`): measured on driver 2026.2.0, compiling with
    /// `-cl-opt-disable` and linking with options of its own fails, and elsewhere the link's options alone count.
    fn executable(&self, il: &[u8], options: &CStr) -> std::result::Result<Program, (cl_int, String)> {
        let program = self.module(il)?;
        match build_program(program.0, &[self.device], options, None, ptr::null_mut()) {
            Ok(()) => Ok(program),
            Err(code) => Err((code, program.log(self.device))),
        }
    }
}

impl Opened {
    /// The program of a module, once that is found to do no more than be compiled: the file may have changed since whoever
    /// sent it looked, and the bytes here change no more.
    fn module(&self, il: &[u8]) -> std::result::Result<Program, (cl_int, String)> {
        if let Some(why) = not_compiled(il).filter(|_| self.runs_here) {
            return Err((CL_INVALID_PROGRAM, why));
        }
        create_program_with_il(self.context.get(), il).map(Program).map_err(|code| (code, String::new()))
    }

    /// Refuses an executable that the driver does not take back, as the runtime would hand it in.
    fn loads_again(&self, delivered: Compiled) -> Compiled {
        match delivered {
            Compiled::Built { binary, log } if is_executable(&binary) => match self.native(&binary, c"") {
                Ok(_) => Compiled::Built { binary, log },
                Err((code, said)) => {
                    let name = error_text(code);
                    let reason = format!("the driver does not take back what it delivered: {name} ({code})");
                    hollow(reason, if said.is_empty() { log } else { said })
                }
            },
            other => other,
        }
    }
}

/// Whether what the driver delivered is an executable of its own: type 0xff04 and the like; an object is linked first.
fn is_executable(binary: &[u8]) -> bool {
    const EXECUTABLE: u16 = 0xff04;
    binary.starts_with(ELF) && crate::bytes::u16_at(binary, 16) == Some(EXECUTABLE)
}

impl Driver {
    /// Makes a program with the opened device and these options, and delivers its binary.
    fn deliver(
        &self,
        options: &[&str],
        make: impl FnOnce(&Opened, &[CString]) -> std::result::Result<Program, (cl_int, String)>,
    ) -> Compiled {
        let Some(opened) = &self.0 else {
            return hollow("a module came before the device was opened".to_owned(), String::new());
        };
        let Ok(options) = options.iter().map(|text| CString::new(*text)).collect::<std::result::Result<Vec<_>, _>>()
        else {
            return hollow("the image's options contain a zero byte".to_owned(), String::new());
        };
        match make(opened, &options) {
            Ok(program) => opened.loads_again(program.deliver(opened.device)),
            Err((code, log)) => Compiled::Refused { code, name: error_text(code).to_owned(), log },
        }
    }
}

/// Builds the program of a [`Query`].
impl Opened {
    fn program(&self, query: &Query<'_>) -> std::result::Result<Program, (cl_int, String)> {
        let options = CString::new(query.options.as_ref()).map_err(|_| (CL_INVALID_VALUE, String::new()))?;
        match query.modules.as_slice() {
            [] => self.built_in(&query.kernels.join(";")),
            [binary] if query.native => self.native(binary, &options),
            [module] => self.executable(module, &options),
            modules => self.linked(modules, &options, c""),
        }
    }

    /// An object: of a module, which is compiled, or one that was compiled before.
    #[allow(unsafe_code)]
    fn object(&self, code: &[u8], options: &CStr) -> std::result::Result<Program, (cl_int, String)> {
        let none = |code| (code, String::new());
        if code.starts_with(ELF) {
            // SAFETY: as in `native`.
            let program = unsafe { create_program_with_binary(self.context.get(), &[self.device], &[code]) };
            return program.map(Program).map_err(none);
        }
        let program = self.module(code)?;
        match compile_program(program.0, &[self.device], options, &[], &[], None, ptr::null_mut()) {
            Ok(()) => Ok(program),
            Err(code) => Err((code, program.log(self.device))),
        }
    }

    /// Modules and objects that need each other, compiled one by one and linked, as the runtime does it.
    #[allow(unsafe_code)]
    fn linked<M: AsRef<[u8]>>(
        &self,
        all: &[M],
        compile_options: &CStr,
        link_options: &CStr,
    ) -> std::result::Result<Program, (cl_int, String)> {
        let mut objects = Vec::new();
        for code in all {
            objects.push(self.object(code.as_ref(), compile_options)?);
        }
        let inputs: Vec<cl_program> = objects.iter().map(|program| program.0).collect();
        // SAFETY: the context was made for this very device, and no callback is given.
        let linked =
            unsafe { link_program(self.context.get(), &[self.device], link_options, &inputs, None, ptr::null_mut()) };
        linked.map(Program).map_err(|code| (code, String::new()))
    }

    #[allow(unsafe_code)]
    fn native(&self, binary: &[u8], options: &CStr) -> std::result::Result<Program, (cl_int, String)> {
        // SAFETY: the context was made for this very device, and one binary stands beside one device. What the driver
        // makes of a binary that is none is why this runs in a process of its own.
        let program = unsafe { create_program_with_binary(self.context.get(), &[self.device], &[binary]) };
        let program = Program(program.map_err(|code| (code, String::new()))?);
        match build_program(program.0, &[self.device], options, None, ptr::null_mut()) {
            Ok(()) => Ok(program),
            Err(code) => Err((code, program.log(self.device))),
        }
    }

    #[allow(unsafe_code)]
    fn built_in(&self, names: &str) -> std::result::Result<Program, (cl_int, String)> {
        let names = CString::new(names).map_err(|_| (CL_INVALID_VALUE, String::new()))?;
        // SAFETY: the context was made for this very device.
        let program = unsafe { create_program_with_builtin_kernels(self.context.get(), &[self.device], &names) };
        program.map(Program).map_err(|code| (code, String::new()))
    }
}

/// A program object; released when dropped.
struct Program(cl_program);

/// A kernel object; released when dropped.
struct Kernel(cl_kernel);

impl Kernel {
    fn new(program: &Program, name: &CStr) -> std::result::Result<Kernel, cl_int> {
        create_kernel(program.0, name).map(Kernel)
    }
}

impl Drop for Kernel {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: as for a program.
        let _ = unsafe { release_kernel(self.0) };
    }
}

impl Program {
    /// Returns the compiler's last log, without the zero byte at its end.
    fn log(&self, device: cl_device_id) -> String {
        text(&get_program_build_data(self.0, device, CL_PROGRAM_BUILD_LOG).unwrap_or_default())
    }

    /// The binary of a program that built.
    fn deliver(&self, device: cl_device_id) -> Compiled {
        let log = self.log(device);
        let binaries: Vec<Vec<u8>> = match get_program_info(self.0, CL_PROGRAM_BINARIES) {
            Ok(binaries) => binaries.into(),
            Err(code) => return Compiled::Refused { code, name: error_text(code).to_owned(), log },
        };
        match binaries.into_iter().next().unwrap_or_default() {
            empty if empty.is_empty() => {
                hollow("the driver reported success and delivered an empty binary".to_owned(), log)
            }
            binary if !binary.starts_with(ELF) && Format::sniff(&binary) != Format::Pocl => {
                hollow("the driver reported success and delivered no code that this tool knows".to_owned(), log)
            }
            binary => Compiled::Built { binary, log },
        }
    }
}

impl Drop for Program {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the handle came from a successful call that made it ours, and is released only here.
        // A failure to release costs memory in a worker and nothing else.
        let _ = unsafe { release_program(self.0) };
    }
}

fn hollow(reason: String, log: String) -> Compiled {
    Compiled::Hollow { reason, log }
}

/// OpenCL's strings end with a zero byte.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn failed(function: &str, code: cl_int) -> Error {
    Error::new(ErrorKind::Environment, format!("{function} failed with {} ({code})", error_text(code)))
}

impl Opened {
    /// Asks every query about a kernel of a program.
    fn ask(&self, program: &Program, name: &str) -> KernelAnswers {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drivers_read_when_they_compile_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let wanted = [
            "lib/cl.cfg",
            "lib/clbltfnl9.rtl",
            "lib/cllibraryl9.o",
            "lib/libocl_svml_l9.so",
            "clbltfnshared.rtl",
            "share/pocl/kernel-x86_64.bc",
        ];
        let others =
            ["lib/libintelocl.so", "lib/libpocl.so.2", "share/pocl/README", "share/other/x.bc", "lib/notes.txt"];
        for name in wanted.iter().chain(&others) {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        let drivers = ["lib/libintelocl.so", "lib/libpocl.so.2"].map(&at);
        assert_eq!(beside(&drivers), wanted.map(&at).into());
        // Another driver's folder says nothing of PoCL.
        assert!(!beside(&drivers[..1]).contains(&at("share/pocl/kernel-x86_64.bc")));
    }
}
