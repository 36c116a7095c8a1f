//! How does Intel's offline compiler make code for a GPU that is not there?
//!
//! `libocloc.so` takes its command line, its input and its output in memory (`oclocInvoke` of compute-runtime's
//! `shared/offline_compiler/source/ocloc_api.h`), which takes half the time of a process per module. Where there is no
//! library, [`Program`] runs the program `ocloc`. Both are called in a worker process: what they load may crash or hang.
//!
//! The library is loaded by its name, and called through two of its functions: `call`.
//!
//! The program is a process per module, with the module and the binary as files. Its exit status is the low byte of the
//! library's.

mod call;

use super::inventory::{Offline, loaded};
use super::protocol::Compiled;
use super::target::{BINDFUL, ZEBIN};
use super::worker::{self, LOADS};
use crate::build::Death;
use crate::build::process::scratch;
use crate::build::programs::{self, Ended};
use crate::bundle::format::Format;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::native::is_before_xe;
use crate::plain_file;
use crate::temporary::Scratch;
use call::{Free, INPUT, Invoke, Invoked};
use libloading::{Library, Symbol};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The names of the library, the development package's first.
const LIBRARIES: [&str; 2] = ["libocloc.so", "libocloc.so.1"];
/// The name that its outputs are asked to begin with. ocloc up to 22.43 calls the binary so, those since 2023 `binary.bin`.
const OUTPUT: &str = "binary";
/// The name under which it gives what it printed.
const LOG: &str = "stdout.log";
/// The query for its version, which older ones know, too; also the name of the answer.
const VERSION: &str = "OCL_DRIVER_VERSION";

/// GPUs that one or another ocloc knows: each dropped old ones and learned new ones.
const PROBES: [&str; 4] = ["tgllp", "pvc", "bmg-g21", "skl"];

/// Prefixes of the names of GPUs for which newer compilers make bindless kernels by default. Intel's OpenCL driver refuses such
/// binaries (`CL_INVALID_BINARY`; `Program::createProgramFromBinary` of compute-runtime), Level Zero's takes both kinds.
const BINDLESS_BY_DEFAULT: [&str; 10] =
    ["acm", "dg2", "mtl", "arl", "12.55", "12.56", "12.57", "12.70", "12.71", "12.74"];
/// The option that chooses, since ocloc 24.26; 22.43 has neither the option nor bindless kernels.
const ADDRESS_MODE: &str = "-stateful_address_mode";
/// Line in the help of those that can make patch tokens, some of them by default: up to mid-2025.
const PATCH_TOKENS: &str = "--format patchtokens";
/// A module without functions: `OpCapability Addresses`, `OpCapability Kernel`, `OpMemoryModel Physical64 OpenCL`.
const LEAST: [u32; 12] = [0x0723_0203, 0x0001_0000, 0, 1, 0, 0x0002_0011, 4, 0x0002_0011, 6, 0x0003_000e, 2, 2];

/// Remedy for a machine without ocloc.
const REMEDY: &str =
    "install Intel's offline compiler (package intel-ocloc or intel-opencl-icd), or name it with --ocloc";

/// Remedy where ocloc is there, and something that it starts or loads is not among what a worker reads.
const UNREADABLE: &str = "it has to be executable, and what it starts and loads is read in the system's folders, around it, and in those that \
     LD_LIBRARY_PATH names";
/// Statuses 126 and 127 of a script.
const NOT_STARTED: &str = "the status of a script that starts what is not there, or may not be read: folders outside of the system's and those \
     around the compiler are to be named in LD_LIBRARY_PATH";

/// Environment in which the program is run where there is no library.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// A folder for files that live for one compilation.
    pub(crate) scratch: PathBuf,
    /// The folders in which programs are looked for by their names.
    pub(crate) folders: Vec<PathBuf>,
    /// A command that runs the command behind it, and has it end with this process.
    pub(crate) runner: Vec<OsString>,
    /// Limit that whoever started this process set, for messages about what it lacks.
    pub(crate) held_to: Option<String>,
}

impl Surroundings {
    /// Returns the command that runs a program in a folder, without input, and has it end with this process.
    pub(crate) fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut words = self.runner.iter().cloned().chain([program.as_os_str().to_owned()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(folder).stdin(Stdio::null());
        command
    }
}

/// The compiler, found.
pub(crate) struct Ocloc {
    kind: Kind,
    /// The help, which lists the options that it knows, once that was asked for.
    help: OnceLock<String>,
}

enum Kind {
    Library(Library),
    Program(Program),
}

impl Ocloc {
    fn new(kind: Kind) -> Ocloc {
        Ocloc { kind, help: OnceLock::new() }
    }

    /// Finds the compiler: the library or program at a path, else the library that the system finds, else the program.
    ///
    /// # Errors
    /// `Environment` where there is none.
    pub(crate) fn find(path: Option<&Path>, surroundings: &Surroundings) -> Result<Ocloc> {
        if let Some(path) = path {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.contains(".so") {
                return load(path.as_os_str().to_owned()).map(|library| Ocloc::new(Kind::Library(library)));
            }
            return Program::find(path, surroundings).map(|program| Ocloc::new(Kind::Program(program)));
        }
        let mut first = None;
        for name in LIBRARIES {
            match load(name.into()) {
                Ok(library) => return Ok(Ocloc::new(Kind::Library(library))),
                Err(error) => first = first.or(Some(error)),
            }
        }
        let program = Program::find(Path::new("ocloc"), surroundings);
        program.map(|program| Ocloc::new(Kind::Program(program))).map_err(|error| {
            let library = first.map(|error| format!("{}; ", error.message())).unwrap_or_default();
            Error::new(ErrorKind::Environment, format!("{library}{}", error.message())).with_remedy(REMEDY)
        })
    }

    /// Describes the compiler, and lists which of these devices it does not know; asked about none, also its files.
    pub(crate) fn describe(&self, devices: &[Cow<'_, str>]) -> Offline {
        let known = |device: &str| match &self.kind {
            Kind::Library(library) => {
                let args = ["ocloc", "ids", device].map(str::to_owned);
                invoke(library, &args, None).is_ok_and(|done| done.status == 0)
            }
            Kind::Program(program) => program.knows(device),
        };
        let unknown: Vec<String> =
            devices.iter().filter(|device| !known(device)).map(|device| device.clone().into_owned()).collect();
        let mut unsure = false;
        let files = match &self.kind {
            Kind::Library(_) if !devices.is_empty() => Vec::new(),
            Kind::Library(_) => {
                // The graphics compiler (IGC) is loaded with the first module, and stays. Of no bytes at all ocloc
                // 22.43 says that the file is missing (-5151), before it loads anything.
                let built = |device: &&str| matches!(self.compile(&least(), device, ""), Compiled::Built { .. });
                let _ = PROBES.iter().find(|device| built(device));
                compilers(loaded())
            }
            Kind::Program(_) if !devices.is_empty() => Vec::new(),
            Kind::Program(program) => {
                let libraries = program.libraries();
                unsure = libraries.is_none();
                std::iter::once(program.path.clone()).chain(libraries.unwrap_or_default()).collect()
            }
        };
        let added = devices.iter().map(|device| (device, self.added(device).join(" ")));
        let added = added.filter(|(_, options)| !options.is_empty());
        let loaded = if files.is_empty() { Vec::new() } else { loaded() };
        Offline {
            version: self.version(),
            files,
            loaded,
            unknown,
            added: added.map(|(device, options)| format!("{device} {options}")).collect(),
            in_process: matches!(self.kind, Kind::Library(_)),
            unsure,
        }
    }

    /// The version of the compiler, as it tells it.
    fn version(&self) -> String {
        // Newer ones call it so as well, and tell more by other names, which older ones refuse.
        let args = ["ocloc", "query", VERSION].map(str::to_owned);
        match &self.kind {
            Kind::Library(library) => invoke(library, &args, None)
                .ok()
                .and_then(|done| done.outputs.into_iter().find(|(name, _)| name == VERSION))
                .map(|(_, text)| String::from_utf8_lossy(&text).trim_matches(['\0', '\n', ' ']).to_owned())
                .unwrap_or_default(),
            Kind::Program(program) => program.version(),
        }
    }

    /// The options by which it makes code for a GPU that Intel's drivers of today take.
    fn added(&self, device: &str) -> Vec<&'static str> {
        let ask = || match &self.kind {
            Kind::Library(library) => {
                let help = invoke(library, &["ocloc", "compile", "--help"].map(str::to_owned), None);
                let outputs = help.map(|done| done.outputs).unwrap_or_default();
                outputs.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect()
            }
            Kind::Program(program) => program.help(),
        };
        let among = |names: &[&str]| names.iter().any(|name| device.starts_with(name));
        let knows = |option: &str| self.help.get_or_init(ask).contains(option);
        let mut added = Vec::new();
        if among(&BINDLESS_BY_DEFAULT) && knows(ADDRESS_MODE) {
            added.push(BINDFUL);
        }
        if !is_before_xe(device) && knows(PATCH_TOKENS) {
            added.push(ZEBIN);
        }
        added
    }

    /// Compiles a module for a GPU, by the name that `-device` takes.
    pub(crate) fn compile(&self, il: &[u8], device: &str, options: &str) -> Compiled {
        let added = self.added(device);
        match &self.kind {
            Kind::Library(library) => {
                let args = arguments(device, options, INPUT, &added);
                match invoke(library, &args, Some(il)) {
                    Ok(done) => {
                        let log = done.outputs.iter().find(|(name, _)| name == LOG);
                        let log = log.map(|(_, text)| said(&String::from_utf8_lossy(text))).unwrap_or_default();
                        outcome(done.status, device_binary(done.outputs), log)
                    }
                    Err(reason) => Compiled::Hollow { reason, log: String::new() },
                }
            }
            Kind::Program(program) => program.compile(il, device, options, &added),
        }
    }
}

/// The module of [`LEAST`].
fn least() -> Vec<u8> {
    LEAST.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Returns those libraries of a process that are of the compiler.
fn compilers(loaded: Vec<PathBuf>) -> Vec<PathBuf> {
    // IGC, what is around it, and LLVM, which may come in packages of their own.
    const PARTS: [&str; 4] = ["ocloc", "libig", "clang", "LLVM"];
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    loaded.into_iter().filter(|path| PARTS.iter().any(|part| name(path).contains(part))).collect()
}

/// Finds the device binary among what ocloc delivered, by its contents: names differ between versions, and beside the
/// binary there may be SPIR-V, dumps and logs. Of several, the one named most like the request counts. Empty where there is none.
fn device_binary(outputs: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    named_most_like(outputs, |bytes| bytes).unwrap_or_default()
}

/// Finds the output with a device binary, by the bytes that it begins with.
fn named_most_like<T>(outputs: impl IntoIterator<Item = (String, T)>, bytes: impl Fn(&T) -> &[u8]) -> Option<T> {
    let native = |output: &T| matches!(Format::sniff(bytes(output)), Format::Zebin | Format::PatchTokens | Format::Ar);
    let rank = |name: &str| match name.strip_prefix(OUTPUT) {
        Some("") => 0,
        Some(".bin") => 1,
        Some(_) => 2,
        None => 3,
    };
    let found = outputs.into_iter().filter(|(name, output)| name != LOG && native(output));
    found.min_by_key(|(name, _)| rank(name)).map(|(_, output)| output)
}

/// The command line. One module for one GPU gives the bare binary; without `-exclude_ir` it would hold the module too.
fn arguments(device: &str, options: &str, input: &str, added: &[&str]) -> Vec<String> {
    let fixed = ["ocloc", "compile", "-q", "-spirv_input", "-exclude_ir", "-output_no_suffix", "-output", OUTPUT];
    let mut args: Vec<String> = fixed.map(str::to_owned).to_vec();
    args.extend(["-file", input, "-device", device].map(str::to_owned));
    args.extend(added.iter().flat_map(|option| option.split(' ')).map(str::to_owned));
    if !options.is_empty() {
        args.extend(["-options".to_owned(), options.to_owned()]);
    }
    args
}

/// Translates a status, with the log and the delivered binary.
fn outcome(status: i32, binary: Vec<u8>, log: String) -> Compiled {
    match (status, binary.is_empty()) {
        (0, false) => Compiled::Built { binary, log },
        (0, true) => Compiled::Hollow { reason: "ocloc reported success and delivered no binary".to_owned(), log },
        (code, _) => Compiled::Refused { code, name: status_name(code).to_owned(), log },
    }
}

/// The names of ocloc's statuses: OpenCL's, and those of `ocloc_error_code.h`.
fn status_name(code: i32) -> &'static str {
    match code {
        -6 => "OCLOC_OUT_OF_HOST_MEMORY",
        -11 => "OCLOC_BUILD_PROGRAM_FAILURE",
        -33 => "OCLOC_INVALID_DEVICE",
        -44 => "OCLOC_INVALID_PROGRAM",
        -5150 => "OCLOC_INVALID_COMMAND_LINE",
        -5151 => "OCLOC_INVALID_FILE",
        -5152 => "OCLOC_COMPILATION_CRASH",
        // Of a shell, by the low byte.
        -130 | -129 => NOT_STARTED,
        _ => "an unnamed status",
    }
}

/// Reduces the log: each paragraph once (IGC repeats an error for each attempt of its own), without ocloc's own summary.
fn said(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let text = text.trim_matches(['\0', '\n', ' ']);
    let own = |line: &&str| !line.starts_with("Build failed with error code") && !line.starts_with("Command was:");
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        if !kept.contains(&paragraph) {
            kept.push(paragraph);
        }
    }
    let all = kept.join("\n");
    all.lines().filter(own).collect::<Vec<_>>().join("\n")
}

#[allow(unsafe_code)]
fn load(path: OsString) -> Result<Library> {
    let shown = path.to_string_lossy().into_owned();
    // SAFETY: loading runs the initialisers of what the user has installed or named, in a process of its own that
    // nobody else's state depends on.
    let library = unsafe { Library::new(&path) }.map_err(|error| {
        // The binding's sentence leaves out what the system says.
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        not_loaded(&shown, &said, LOADS)
    })?;
    // SAFETY: the symbols are only looked up here.
    let whole =
        unsafe { library.get::<Invoke>(b"oclocInvoke\0").is_ok() && library.get::<Free>(b"oclocFreeOutput\0").is_ok() };
    if whole {
        return Ok(library);
    }
    Err(Error::new(ErrorKind::Environment, format!("`{shown}` is no libocloc")).with_remedy(REMEDY))
}

/// Creates the error for a library that is not there, in a build that loads libraries or not.
fn not_loaded(path: &str, said: &str, loads: bool) -> Error {
    if !loads {
        return worker::no_library(path);
    }
    Error::new(ErrorKind::Environment, format!("`{path}` cannot be loaded: {said}")).with_remedy(REMEDY)
}

/// Runs a command in memory; the reason where it cannot be called.
#[allow(unsafe_code)]
fn invoke(library: &Library, args: &[String], input: Option<&[u8]>) -> std::result::Result<Invoked, String> {
    // SAFETY: the types are those of `ocloc_api.h`; `load` has seen both symbols.
    let (invoke, free): (Symbol<'_, Invoke>, Symbol<'_, Free>) = unsafe {
        match (library.get(b"oclocInvoke\0"), library.get(b"oclocFreeOutput\0")) {
            (Ok(invoke), Ok(free)) => (invoke, free),
            _ => return Err("libocloc lost its functions".to_owned()),
        }
    };
    // SAFETY: they are the library's own, which stays loaded meanwhile.
    unsafe { call::call((*invoke, *free), args, input) }
}

/// The program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    surroundings: Surroundings,
}

impl Program {
    /// The program at a path or by its name.
    ///
    /// # Errors
    /// `Environment` where it does not start.
    pub(crate) fn find(path: &Path, surroundings: &Surroundings) -> Result<Program> {
        let named = path.components().count() == 1;
        let in_folder = |folder: &PathBuf| Some(folder.join(path)).filter(|path| path.is_file());
        let path = surroundings.folders.iter().filter(|_| named).find_map(in_folder).unwrap_or(path.to_owned());
        // Started as it is, so that what is missing is told by the system.
        let started =
            Command::new(&path).arg("--help").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        match started {
            Ok(_) => Ok(Program { path, surroundings: surroundings.clone() }),
            Err(error) => {
                let message = format!("the program `{}` does not start: {error}", path.display());
                let is_kept = error.kind() == std::io::ErrorKind::PermissionDenied;
                Err(Error::new(ErrorKind::Environment, message).with_remedy(if is_kept { UNREADABLE } else { REMEDY }))
            }
        }
    }

    /// Whether it knows a device.
    pub(crate) fn knows(&self, device: &str) -> bool {
        let asked = scratch(&self.surroundings.scratch)
            .and_then(|scratch| self.run(&scratch, &["ids".to_owned(), device.to_owned()]));
        asked.is_ok_and(|done| done.status.success())
    }

    /// The version, as it tells it.
    pub(crate) fn version(&self) -> String {
        // ocloc writes the answer to a file of that name, beside printing it.
        let asked = scratch(&self.surroundings.scratch).and_then(|scratch| {
            self.run(&scratch, &["query".to_owned(), VERSION.to_owned()]).map(|_| version_in(scratch.path()))
        });
        asked.unwrap_or_default().trim_matches(['\0', '\n', ' ']).to_owned()
    }

    /// The help of its compiling, which lists the options that it knows.
    pub(crate) fn help(&self) -> String {
        let asked = scratch(&self.surroundings.scratch)
            .and_then(|scratch| self.run(&scratch, &["compile".to_owned(), "--help".to_owned()]));
        asked.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default()
    }

    /// Compiles a module for a GPU, with further options for the form of its code.
    pub(crate) fn compile(&self, il: &[u8], device: &str, options: &str, added: &[&str]) -> Compiled {
        self.try_compile(il, device, options, added).unwrap_or_else(|error| Compiled::Hollow {
            reason: format!("`{}` could not be run: {error}", self.path.display()),
            log: String::new(),
        })
    }

    /// Returns the libraries that it loads to compile a module, IGC among them. None where it does not end in time.
    fn libraries(&self) -> Option<Vec<PathBuf>> {
        for device in PROBES {
            let scratch = scratch(&self.surroundings.scratch).ok()?;
            let mut command = self.compiling(&scratch, &least(), device, "", &[]).ok()?;
            // One that hangs compiles nothing for another device either.
            let found = programs::libraries_of(&mut command, scratch.path())?;
            if !delivered(scratch.path()).is_empty() {
                return Some(compilers(found));
            }
        }
        Some(Vec::new())
    }

    /// Returns the command that compiles a module in a folder.
    fn compiling(&self, scratch: &Scratch, il: &[u8], device: &str, options: &str, added: &[&str]) -> Result<Command> {
        let module = scratch.path().join(INPUT);
        std::fs::write(&module, il).map_err(|error| Error::io("writing the module", &error))?;
        let mut args = arguments(device, options, &module.to_string_lossy(), added);
        args.remove(0);
        args.extend(["-out_dir".to_owned(), scratch.path().to_string_lossy().into_owned()]);
        let mut command = self.surroundings.command(&self.path, scratch.path());
        command.args(args);
        Ok(command)
    }

    fn try_compile(&self, il: &[u8], device: &str, options: &str, added: &[&str]) -> Result<Compiled> {
        let scratch = scratch(&self.surroundings.scratch)?;
        let mut command = self.compiling(&scratch, il, device, options, added)?;
        let done = programs::run(&mut command).map_err(|error| Error::io("running ocloc", &error))?;
        let said = said(&[done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat());
        let binary = delivered(scratch.path());
        let status = match done.status.code() {
            Some(0) => 0,
            // The library's statuses are negative; of this one only the low byte is left.
            Some(code) => code.saturating_sub(256),
            None => {
                let death = done.status.signal().map_or(Death::Unknown, Death::Signal);
                let reason = format!("`{}` {death}", self.path.display());
                return Ok(Compiled::Hollow { reason, log: said });
            }
        };
        Ok(outcome(status, binary, said))
    }

    /// Runs it in a folder, so that it ends with this process.
    fn run(&self, scratch: &Scratch, args: &[String]) -> Result<Ended> {
        programs::run(self.surroundings.command(&self.path, scratch.path()).args(args))
            .map_err(|error| Error::io("running ocloc", &error))
    }
}

/// The version that a folder's file tells, where that is a plain file with no more than a version in it.
fn version_in(folder: &Path) -> String {
    const MAX_VERSION: u64 = 4096;
    let text = plain_file::read_itself(&folder.join(VERSION), MAX_VERSION).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// The device binary among the plain files of a folder but for the module. Of the others the first bytes are read.
fn delivered(folder: &Path) -> Vec<u8> {
    const HEAD: u64 = 4096;
    let head = |path: &Path| {
        let mut head = Vec::new();
        let (file, _) = plain_file::open_itself(path).ok()?;
        file.take(HEAD).read_to_end(&mut head).ok().map(|_| head)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let others = named.filter(|(name, _)| name != INPUT);
    let heads = others.filter_map(|(name, path)| head(&path).map(|head| (name, (path, head))));
    let found = named_most_like(heads, |(_, head)| head);
    found.and_then(|(path, _)| plain_file::read_itself(&path, limits::MAX_COMPILER_FILE).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_of_a_bounded_size_are_what_it_delivers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut zebin = b"\x7fELF\x02\x01".to_vec();
        zebin.resize(16, 0);
        zebin.extend([0x12, 0xff, 205, 0]);
        std::fs::write(at(VERSION), "22.43\n").unwrap();
        assert_eq!(version_in(folder.path()), "22.43\n");
        std::fs::remove_file(at(VERSION)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at(VERSION)).unwrap();
        assert_eq!(version_in(folder.path()), "");
        std::fs::remove_file(at(VERSION)).unwrap();
        assert!(Command::new("mkfifo").arg(at(VERSION)).status().unwrap().success());
        assert_eq!(version_in(folder.path()), "");
        std::os::unix::fs::symlink("/dev/zero", at("binary")).unwrap();
        // More than memory has, in holes.
        (0..64).for_each(|n| std::fs::File::create(at(&format!("f{n}"))).unwrap().set_len(1 << 32).unwrap());
        std::fs::write(at("other.bin"), &zebin).unwrap();
        assert_eq!(delivered(folder.path()), zebin);
    }

    #[test]
    fn libraries_of_the_compiler_are_told_from_those_of_the_system() {
        let own = [
            "libocloc.so",
            "libigc.so.2",
            "libigdfcl.so.1",
            "libopencl-clang.so.14",
            "libLLVM-14.so.1",
            "libLLVMSPIRVLib.so.14",
        ];
        let others = ["libc.so.6", "libstdc++.so.6", "libz.so.1"];
        let all = own.iter().chain(&others).map(|name| Path::new("/usr/lib").join(name)).collect();
        let names: Vec<String> =
            compilers(all).iter().map(|path| path.file_name().unwrap().to_string_lossy().into()).collect();
        assert_eq!(names, own);
    }

    #[test]
    fn what_it_says_is_told_once() {
        let error = "error: Double type is not supported on this platform.\nin kernel: 'k'\nerror: backend compiler failed build.";
        let text = format!("{error}\n\n{error}\n\nBuild failed with error code: -11\n\0");
        assert_eq!(said(&text), error);
        assert_eq!(said("\n"), "");
    }

    #[test]
    fn the_binary_is_known_by_its_contents_whatever_its_name() {
        let mut zebin = b"\x7fELF\x02\x01".to_vec();
        zebin.resize(16, 0);
        zebin.extend([0x12, 0xff, 205, 0]);
        let spirv = vec![3, 2, 0x23, 7];
        let delivered = |names: &[(&str, &Vec<u8>)]| {
            device_binary(names.iter().map(|(name, bytes)| ((*name).to_owned(), (*bytes).clone())))
        };
        let log = b"Build succeeded.".to_vec();
        for name in ["binary", "binary.bin", "module_pvc.bin"] {
            assert_eq!(delivered(&[(LOG, &log), ("binary.spv", &spirv), (name, &zebin)]), zebin, "{name}");
        }
        let other = [zebin.clone(), vec![1]].concat();
        assert_eq!(delivered(&[("binary.gen", &other), ("binary.bin", &zebin)]), zebin);
        assert!(delivered(&[(LOG, &log), ("binary.spv", &spirv)]).is_empty());
    }

    #[test]
    fn success_without_a_binary_is_none() {
        assert!(matches!(outcome(0, Vec::new(), String::new()), Compiled::Hollow { .. }));
        assert!(matches!(outcome(0, vec![1], String::new()), Compiled::Built { .. }));
        let refused = outcome(-11, Vec::new(), "no".to_owned());
        assert!(
            matches!(&refused, Compiled::Refused { code: -11, name, log } if name.contains("BUILD") && log == "no")
        );
    }

    #[test]
    fn what_is_no_library_is_named() {
        let Err(error) = Ocloc::find(Some(Path::new("/nowhere/libocloc.so")), &Surroundings::default()) else {
            panic!("found what is not there")
        };
        assert!(error.to_string().contains("/nowhere/libocloc.so"), "{error}");
    }

    #[test]
    fn a_static_build_asks_for_the_program() {
        let error = not_loaded("libocloc.so", "Dynamic loading not supported", false);
        assert_eq!(error.kind(), ErrorKind::Environment);
        assert!(error.message().contains("`libocloc.so` cannot be loaded: this is a static build"), "{error}");
        assert!(error.remedy().unwrap().contains("--ocloc /usr/bin/ocloc"), "{:?}", error.remedy());
        let other = not_loaded("libocloc.so", "no such file", true);
        assert!(other.message().ends_with("no such file") && other.remedy() == Some(REMEDY), "{other}");
    }
}
