//! What does a machine have for building and running device code, and what is to be done about the rest?
//!
//! The runtime's variables are those of DPC++ (`sycl/doc/EnvironmentVariables.md`): `SYCL_CACHE_PERSISTENT=1` turns its cache
//! on, which lies in `SYCL_CACHE_DIR`, else in `libsycl_cache` below `XDG_CACHE_HOME` or below `.cache` in `HOME`; with none
//! of them it stays off without a word.
//!
//! The system's loader looks into `LD_LIBRARY_PATH` and then its own folders. `CMPLR_ROOT` is where oneAPI's `setvars.sh`
//! says the compiler is; an active Python or conda environment holds what pip or conda installed.

use super::document::{Document, Form, Sink};
use super::json::{SchemaVersion, pretty};
use super::text::{Shown, field};
use super::text::{bytes, count};
use crate::build::{self, Inventory, Offline};
use crate::container::address::find;
use crate::device::selector::{Selector, VARIABLE};
use crate::error::{Error, Result};
use crate::limits::MAX_PLATFORMS;
use crate::plain_file;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The column in which answers begin.
const COLUMN: usize = 18;

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Doctor>()
}

/// Loader, drivers, compilers and caches of a machine, for building and running device code.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle doctor --format json")]
pub(crate) struct Doctor {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// Whether a driver that compiles for `spir64_x86_64` is there; the exit status is 0 then.
    pub(crate) ready: bool,
    /// The file of the OpenCL loader, where the system tells.
    pub(crate) loader: Option<String>,
    /// Whether OpenCL answered at all.
    #[serde(skip)]
    pub(crate) opencl: bool,
    /// The OpenCL devices, in the order of the loader.
    pub(crate) devices: Vec<Device>,
    /// The compiler for Intel GPUs that need not be there: ocloc.
    pub(crate) ocloc: Option<Ocloc>,
    /// The compilers for NVIDIA GPUs: LLVM and CUDA's assembler.
    pub(crate) nvidia: Option<Nvidia>,
    /// The SYCL runtimes that the environment leads to, in the order in which the system's loader looks.
    pub(crate) runtimes: Vec<Runtime>,
    /// The CPU driver that was installed for this user.
    pub(crate) installed_driver: Option<Driver>,
    /// The program that installs it.
    pub(crate) pip: Option<Pip>,
    /// Caches of compiled code.
    pub(crate) caches: Caches,
    /// Variables that decide what OpenCL finds, what its drivers do, and what a SYCL program sees and keeps.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) environment: Map<String, Value>,
    /// Obstacles, each with its remedy.
    pub(crate) problems: Vec<Trouble>,
}

/// An OpenCL device.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Device {
    /// `CL_DEVICE_NAME`.
    pub name: String,
    /// `cpu`, `gpu`, `accelerator`, `custom` or `other`.
    pub kind: String,
    /// `CL_PLATFORM_NAME`.
    pub platform: String,
    /// `CL_PLATFORM_VENDOR`.
    pub vendor: String,
    /// `CL_DRIVER_VERSION`.
    pub driver: String,
    /// `CL_DEVICE_VERSION`.
    pub opencl: String,
    /// The versions of SPIR-V that it takes.
    pub il: Vec<String>,
    /// Whether it compiles for `spir64_x86_64`.
    pub compiles: bool,
    /// Whether `ONEAPI_DEVICE_SELECTOR` lets a SYCL program see it.
    pub(crate) visible: bool,
}

/// Intel's offline compiler.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Ocloc {
    /// The version of the compute runtime that it is part of.
    pub(crate) version: String,
    /// Whether it is called as a library inside a worker; else as a process per module.
    pub(crate) in_process: bool,
    /// The files of its libraries, or of the program.
    pub(crate) files: Vec<String>,
    /// The file of the graphics compiler (IGC) that it uses, where that is known.
    pub(crate) igc: Option<String>,
    /// The version that this file's name tells: that of its interface in old releases, its own from 2 on.
    pub(crate) igc_version: Option<String>,
}

/// The compilers for NVIDIA GPUs.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Nvidia {
    /// The version of each: `LLVM 22.1.8, llvm-spirv 22.1.8, ptxas 12.9, built-ins 0123456789abcdef`.
    pub(crate) version: String,
    /// The programs and libraries.
    pub(crate) files: Vec<String>,
}

/// A SYCL runtime.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Runtime {
    /// The file.
    pub(crate) path: String,
    /// The name that programs are linked to: `libsycl.so.9`.
    pub(crate) soname: String,
    /// The version, as the name of the file tells: `9.0.0`.
    pub(crate) version: String,
    /// The variable that led to it, or `system`.
    pub(crate) by: String,
    /// The adapters beside it, for backends: `level_zero`, `cuda`, and `opencl` where the loader holds that.
    pub(crate) adapters: Vec<String>,
}

/// A driver that was installed for this user.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
pub(crate) struct Driver {
    /// The version.
    pub(crate) version: String,
    /// The folder.
    pub(crate) path: String,
    /// The licence, as its metadata tells.
    pub(crate) licence: Option<String>,
    /// Whether it is used.
    pub(crate) used: bool,
    /// The variable for which it is not.
    #[serde(skip)]
    pub(crate) unused_for: Option<String>,
}

/// The program that installs drivers.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
pub(crate) struct Pip {
    /// The command that calls it.
    pub(crate) command: String,
    /// The version, in its own words.
    pub(crate) version: String,
}

/// Caches of compiled code.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Caches {
    /// The cache of `build`; null where there is no folder for it, or it cannot be read.
    pub(crate) build: Option<BuildCache>,
    /// The persistent cache of the SYCL runtime.
    pub(crate) runtime: RuntimeCache,
}

/// The cache of `build`.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
pub(crate) struct BuildCache {
    /// The folder.
    pub(crate) folder: String,
    /// Compiled modules in it.
    pub(crate) entries: u64,
    /// Bytes of these.
    pub(crate) bytes: u64,
}

/// The persistent cache of the SYCL runtime.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RuntimeCache {
    /// Whether the SYCL runtime is told to keep what it compiles (`SYCL_CACHE_PERSISTENT`).
    pub(crate) persistent: bool,
    /// The folder, where one is known.
    pub(crate) folder: Option<String>,
}

/// An obstacle.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Trouble {
    /// A sentence about it.
    pub(crate) message: String,
    /// A sentence about what mends it.
    pub(crate) remedy: Option<String>,
}

impl Trouble {
    /// A problem and its mend.
    pub(crate) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Trouble {
        Trouble { message: message.into(), remedy: Some(remedy.into()) }
    }
}

impl From<&Error> for Trouble {
    fn from(error: &Error) -> Trouble {
        Trouble { message: error.to_string(), remedy: error.remedy().map(str::to_owned) }
    }
}

impl Doctor {
    /// Shows the document to a person, in lines of at most `width` columns where words allow.
    pub(super) fn table(&self, width: usize) -> Shown {
        let mut out = Shown::default();
        let mut line = |label: &str, text: &str| field(&mut out, 0, label, COLUMN, text, width);
        match (self.opencl, &self.loader) {
            (true, loader) => line("OpenCL loader", loader.as_deref().unwrap_or("loaded")),
            (false, _) => line("OpenCL", "none in working order"),
        }
        for device in &self.devices {
            let able = if device.compiles { "  compiles for spir64_x86_64" } else { "" };
            let hidden = if device.visible { "" } else { "  hidden by ONEAPI_DEVICE_SELECTOR" };
            line("Device", &format!("{} ({}){able}{hidden}", device.name, device.kind));
            line("  platform", &format!("{}, {}", device.platform, device.vendor));
            line("  driver", &format!("{}, {}", device.driver, device.opencl));
            let il = device.il.join(" ");
            line("  takes", if il.is_empty() { "no SPIR-V" } else { &il });
        }
        match &self.ocloc {
            Some(ocloc) => {
                let how = if ocloc.in_process { "in process" } else { "a process per module" };
                let version = if ocloc.version.is_empty() { "of unknown version" } else { &ocloc.version };
                line("ocloc", &format!("{version} ({how})"));
                ocloc.files.iter().for_each(|file| line("  file", file));
                if let Some(igc) = &ocloc.igc {
                    line("  IGC", igc);
                }
            }
            None => line("ocloc", "none"),
        }
        match &self.nvidia {
            Some(nvidia) => {
                line("nvidia", &nvidia.version);
                nvidia.files.iter().for_each(|file| line("  file", file));
            }
            None => line("nvidia", "none"),
        }
        for runtime in &self.runtimes {
            line("SYCL runtime", &format!("{} ({}, by {})", runtime.version, runtime.path, runtime.by));
            if !runtime.adapters.is_empty() {
                line("  adapters", &runtime.adapters.join(", "));
            }
        }
        match &self.installed_driver {
            Some(driver) => {
                let unused = driver.unused_for.as_ref().map(|name| format!(" (not used: {name} is set)"));
                line(
                    "Installed driver",
                    &format!("{} in {}{}", driver.version, driver.path, unused.unwrap_or_default()),
                );
                line("  licence", driver.licence.as_deref().unwrap_or("not stated"));
            }
            None => line("Installed driver", "none for this user"),
        }
        match &self.pip {
            Some(pip) => line("pip", &format!("{}: {}", pip.command, pip.version)),
            None => line("pip", "none"),
        }
        match &self.caches.build {
            Some(cache) => {
                let entries = usize::try_from(cache.entries).unwrap_or(usize::MAX);
                let what = if entries == 1 { "module" } else { "modules" };
                line("Cache", &format!("{}: {} {what}, {}", cache.folder, count(entries), bytes(cache.bytes)));
            }
            None => line("Cache", "none"),
        }
        let runtime = &self.caches.runtime;
        match (runtime.persistent, &runtime.folder) {
            (true, Some(folder)) => line("Runtime's cache", folder),
            _ => line("Runtime's cache", "not persistent (SYCL_CACHE_PERSISTENT=1 keeps what it compiles)"),
        }
        for (name, value) in &self.environment {
            line("Variable", &format!("{name}={}", value.as_str().unwrap_or_default()));
        }
        for problem in &self.problems {
            line("", "");
            line("Problem", &problem.message);
            line("Remedy", problem.remedy.as_deref().unwrap_or("none known"));
        }
        out
    }
}

impl Document for Doctor {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let width = out.look().view.width;
        if form == Form::Json { out.made(&pretty(self)) } else { out.show(&self.table(width)) }
    }
}

/// Looks a variable of the environment up.
pub(crate) type Variables<'v> = &'v dyn Fn(&str) -> Option<OsString>;

/// Variables that decide what OpenCL finds, what its drivers do, and what a SYCL program sees and keeps.
const VARIABLES: [&str; 13] = [
    "OPENCL_DYLIB_PATH",
    "OCL_ICD_FILENAMES",
    "OCL_ICD_VENDORS",
    "LD_LIBRARY_PATH",
    "CL_CONFIG_CPU_TARGET_ARCH",
    VARIABLE,
    "SYCL_DEVICE_ALLOWLIST",
    "ZE_AFFINITY_MASK",
    "CMPLR_ROOT",
    "SYCL_CACHE_PERSISTENT",
    "SYCL_CACHE_DIR",
    "SYCL_CACHE_MAX_SIZE",
    "SYCL_BUNDLE_CACHE_DIR",
];

/// Answers of a machine, before anything is made of them.
pub(crate) struct Machine {
    /// The OpenCL devices.
    pub(crate) opencl: Result<Inventory>,
    /// The compiler for Intel GPUs.
    pub(crate) ocloc: Result<Offline>,
    /// The compilers for NVIDIA GPUs.
    pub(crate) nvidia: Result<Offline>,
    /// The CPU driver that was installed for this user.
    pub(crate) installed: Option<Driver>,
    /// The variable by which the user has chosen loader or drivers.
    pub(crate) chosen: Option<&'static str>,
    /// Whether this program can load drivers.
    pub(crate) loads_drivers: bool,
    /// The program that installs drivers.
    pub(crate) pip: Result<Pip>,
    /// The cache of `build`, where there is a folder for it.
    pub(crate) cache: Result<Option<BuildCache>>,
    /// The most bytes that `build` leaves there.
    pub(crate) cache_limit: Result<u64>,
}

impl Machine {
    /// The document about all that was found, where `variable` looks a variable of the environment up.
    pub(crate) fn examine(&self, variable: Variables<'_>) -> Doctor {
        let set = |name: &'static str| Some((name, variable(name)?.to_string_lossy().into_owned()));
        let variables: Vec<(&'static str, String)> = VARIABLES.into_iter().filter_map(set).collect();
        let selector = variables.iter().find(|(name, _)| *name == VARIABLE).map_or("", |(_, value)| value);
        let selector = Selector::parse(selector);
        let seen = self.opencl.as_ref().ok();
        let device = |(place, device): (usize, &build::Device)| Device {
            name: device.name.clone(),
            kind: device.kind.clone(),
            platform: device.platform.clone(),
            vendor: device.vendor.clone(),
            driver: device.driver.clone(),
            opencl: device.opencl.clone(),
            il: device.il.split_whitespace().map(str::to_owned).collect(),
            compiles: device.compiles,
            visible: is_visible(&selector, &device.kind, place),
        };
        let runtimes = find_runtimes(variable);
        let (runtime, of_runtime) = runtime_cache(variable);
        let mut problems = self.judge(&variables, &selector);
        let vendors = variable("OCL_ICD_VENDORS").map_or_else(|| PathBuf::from("/etc/OpenCL/vendors"), PathBuf::from);
        problems.extend(judge_drivers(&vendors, seen.is_some()));
        problems.extend(judge_runtimes(&runtimes));
        problems.extend(self.cache.as_ref().err().map(Trouble::from));
        problems.extend(self.cache_limit.as_ref().err().map(Trouble::from));
        problems.extend(of_runtime);
        Doctor {
            schema_version: SchemaVersion,
            ready: self.compiles(),
            loader: seen.map(|seen| seen.loader.clone()).filter(|path| !path.is_empty()),
            opencl: seen.is_some(),
            devices: seen.map_or(&[][..], |seen| &seen.devices).iter().enumerate().map(device).collect(),
            ocloc: self.ocloc.as_ref().ok().map(|ocloc| Ocloc {
                version: ocloc.version.clone(),
                in_process: ocloc.in_process,
                files: ocloc.files.iter().map(|file| file.display().to_string()).collect(),
                igc: igc(ocloc),
                igc_version: igc(ocloc).and_then(|file| Some(file.rsplit_once(".so.")?.1.to_owned())),
            }),
            nvidia: self.nvidia.as_ref().ok().map(|nvidia| Nvidia {
                version: nvidia.version.clone(),
                files: nvidia.files.iter().map(|file| file.display().to_string()).collect(),
            }),
            runtimes,
            installed_driver: self.installed.clone(),
            pip: self.pip.as_ref().ok().cloned(),
            caches: Caches { build: self.cache.as_ref().ok().cloned().flatten(), runtime },
            environment: variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect(),
            problems,
        }
    }

    fn compiles(&self) -> bool {
        self.opencl.as_ref().is_ok_and(|seen| seen.devices.iter().any(|device| device.compiles))
    }

    /// Problems of the machine, each with its remedy.
    fn judge(&self, variables: &[(&str, String)], selector: &Result<Selector>) -> Vec<Trouble> {
        let mut problems = Vec::new();
        match &self.opencl {
            Err(error) => problems.push(Trouble::from(error)),
            Ok(_) if !self.compiles() => {
                let message = "no device compiles for spir64_x86_64: that takes Intel's OpenCL CPU driver";
                let remedy = "`sycl-bundle doctor --install-driver` installs it from PyPI for this user";
                problems.push(Trouble::new(message, remedy));
            }
            Ok(_) => {}
        }
        if !self.compiles() {
            // A driver that could not be used need not be installed.
            problems.extend(self.pip.as_ref().err().filter(|_| self.loads_drivers).map(Trouble::from));
            if let (Some(driver), Some(name)) = (&self.installed, self.chosen) {
                let message = format!("the installed driver {} is not used while {name} is set", driver.version);
                problems.push(Trouble::new(message, format!("unset {name}")));
            }
        }
        if variables.iter().any(|(name, value)| *name == "CL_CONFIG_CPU_TARGET_ARCH" && value.is_empty()) {
            let message = "CL_CONFIG_CPU_TARGET_ARCH is set to nothing, with which the CPU driver builds no program";
            problems.push(Trouble::new(message, "unset CL_CONFIG_CPU_TARGET_ARCH"));
        }
        match &self.ocloc {
            Err(error) => {
                let message = format!("nothing compiles for Intel GPUs: {error}");
                problems.push(Trouble { message, ..Trouble::from(error) });
            }
            Ok(ocloc) if ocloc.in_process && igc(ocloc).is_none() => {
                let message = "ocloc is there without IGC (libigc.so), which does its work";
                problems.push(Trouble::new(message, "install it (package libigc1, libigc2 or intel-igc-core)"));
            }
            Ok(_) => {}
        }
        if let Err(error) = &self.nvidia {
            let message = format!("nothing compiles for NVIDIA GPUs: {error}");
            problems.push(Trouble { message, ..Trouble::from(error) });
        }
        problems.extend(selector.as_ref().err().map(Trouble::from));
        let devices = self.opencl.as_ref().map_or(&[][..], |seen| &seen.devices);
        let hidden = |(place, device): (usize, &build::Device)| !is_visible(selector, &device.kind, place);
        if selector.is_ok() && !devices.is_empty() && devices.iter().enumerate().all(hidden) {
            let message = format!("{VARIABLE} hides every OpenCL device from SYCL programs, and from `devices`");
            problems.push(Trouble::new(message, format!("unset {VARIABLE}, or add `;opencl:*` to it")));
        }
        problems
    }
}

/// Bytes of a file that registers a driver: more than any path has.
const MAX_DRIVER_NAME: u64 = 4096;

/// Drivers that a folder registers and that are missing, and, where OpenCL lists nothing, those that are there all the same.
fn judge_drivers(folder: &Path, listed: bool) -> Vec<Trouble> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_driver = |file: &PathBuf| file.extension().is_some_and(|end| end == "icd") && file.is_file();
    let mut files: Vec<PathBuf> = files.filter(is_driver).collect();
    files.sort();
    files.truncate(MAX_PLATFORMS);
    let (mut problems, mut idle) = (Vec::new(), Vec::new());
    for file in files {
        let mut text = Vec::new();
        let opened = plain_file::open(&file);
        let _ = opened.and_then(|(file, _)| file.take(MAX_DRIVER_NAME).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let library = text.lines().next().unwrap_or_default().trim();
        if library.is_empty() {
            continue;
        }
        if Path::new(library).is_absolute() && !Path::new(library).exists() {
            let message = format!("{} registers the driver {library}, which is not there", file.display());
            problems.push(Trouble::new(message, "install the package that brings it, or remove the file"));
        } else {
            idle.push(format!("{library} ({})", file.display()));
        }
    }
    if !listed && !idle.is_empty() {
        let message = format!("registered, and OpenCL lists no device of it: {}", idle.join(", "));
        let remedy = "the library has to be there, a driver for GPUs needs one and access to /dev/dri; `--device sim:GPU` has \
                      Intel's simulate it";
        problems.push(Trouble::new(message, remedy));
    }
    problems
}

/// Whether a SYCL program sees a device. Where the variable is malformed none starts, which is told by itself.
fn is_visible(selector: &Result<Selector>, kind: &str, place: usize) -> bool {
    selector.as_ref().is_ok_and(|selector| selector.admits(kind, place))
}

/// The file of the graphics compiler.
fn igc(ocloc: &Offline) -> Option<String> {
    let is_igc = |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libigc.so"));
    ocloc.files.iter().find(is_igc).map(|file| file.display().to_string())
}

/// The persistent cache of the SYCL runtime, and what is wrong with its settings.
fn runtime_cache(variable: Variables<'_>) -> (RuntimeCache, Vec<Trouble>) {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("SYCL_CACHE_DIR")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("libsycl_cache")))
        .or_else(|| Some(set("HOME")?.join(".cache/libsycl_cache")));
    let persistent = set("SYCL_CACHE_PERSISTENT").is_some_and(|value| value.as_os_str() != "0");
    let mut problems = Vec::new();
    if persistent && folder.is_none() {
        let message = "SYCL_CACHE_PERSISTENT is set, and the SYCL runtime keeps nothing: it knows no folder";
        problems.push(Trouble::new(message, "set SYCL_CACHE_DIR to a folder"));
    }
    if set("SYCL_CACHE_DISABLE_PERSISTENT").is_some() {
        let message = "SYCL_CACHE_DISABLE_PERSISTENT has no effect any more";
        problems.push(Trouble::new(message, "set SYCL_CACHE_PERSISTENT=0 instead"));
    }
    (RuntimeCache { persistent, folder: folder.map(|folder| folder.display().to_string()) }, problems)
}

/// Folders in which the loader looks without being told.
const SYSTEM: [&str; 4] = ["/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
/// Variables that name a folder above `lib`.
const PREFIXES: [&str; 3] = ["CMPLR_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// Folders in which runtimes are looked for, by what names them: those of `LD_LIBRARY_PATH` first.
fn folders_of_runtimes(variable: Variables<'_>) -> Vec<(PathBuf, &'static str)> {
    let path = variable("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = path.as_bytes().split(|byte| *byte == b':').map(|folder| PathBuf::from(OsStr::from_bytes(folder)));
    let own = folders.filter(|folder| folder.is_absolute()).map(|folder| (folder, "LD_LIBRARY_PATH"));
    // One that is empty or relative would be below whatever folder is the current one.
    let prefix = |name| variable(name).map(PathBuf::from).filter(|prefix| prefix.is_absolute());
    let below = |name: &'static str| prefix(name).map(|prefix| (prefix.join("lib"), name));
    let system = SYSTEM.iter().map(|folder| (PathBuf::from(folder), "system"));
    let mut seen = BTreeSet::new();
    let all = own.chain(PREFIXES.into_iter().filter_map(below)).chain(system);
    let there = all.filter_map(|(folder, by)| Some((folder.canonicalize().ok()?, by)));
    there.filter(|(folder, _)| seen.insert(folder.clone())).collect()
}

/// Folders in which runtimes are looked for, the first one first.
pub(crate) fn runtime_folders(variable: Variables<'_>) -> Vec<PathBuf> {
    folders_of_runtimes(variable).into_iter().map(|(folder, _)| folder).collect()
}

/// The runtimes, the first of `LD_LIBRARY_PATH` first, each file once.
fn find_runtimes(variable: Variables<'_>) -> Vec<Runtime> {
    folders_of_runtimes(variable).iter().flat_map(|(folder, by)| in_folder(folder, by)).collect()
}

/// The loader of the runtime's adapters.
const LOADER: &str = "libur_loader.so";
/// Bytes of it. That of 2026.2 has 4 MiB.
const MAX_LOADER: u64 = 64 << 20;
/// Text of the OpenCL adapter where it is linked in.
const OWN_OPENCL: &[u8] = b"OpenCL adapter used before initalization or after destruction";

/// Whether a file holds a text; not where it cannot be read.
fn holds(file: &Path, text: &[u8]) -> bool {
    plain_file::read(file, MAX_LOADER).is_ok_and(|bytes| find(&bytes, text).is_some())
}

fn in_folder(folder: &Path, by: &str) -> Vec<Runtime> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: BTreeSet<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let mut adapters: BTreeSet<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix("libur_adapter_")?.split(".so").next())
        .map(str::to_owned)
        .collect();
    // The adapter for OpenCL stands in the loader of newer runtimes.
    if names.iter().filter(|name| name.starts_with(LOADER)).any(|name| holds(&folder.join(name), OWN_OPENCL)) {
        adapters.insert("opencl".to_owned());
    }
    let versions: Vec<&str> = names.iter().filter_map(|name| version(name)).collect();
    let majors = versions.iter().filter(|version| !version.contains('.'));
    majors
        .map(|major| {
            let whole = versions.iter().filter(|version| version.split('.').next() == Some(*major));
            let soname = format!("libsycl.so.{major}");
            Runtime {
                path: folder.join(&soname).display().to_string(),
                version: whole.max_by_key(|version| version.len()).unwrap_or(major).to_string(),
                soname,
                by: by.to_owned(),
                adapters: adapters.iter().cloned().collect(),
            }
        })
        .collect()
}

/// `9` of `libsycl.so.9`, `9.0.0` of `libsycl.so.9.0.0`; none of `libsycl.so.9.0.0-gdb.py`.
fn version(name: &str) -> Option<&str> {
    let version = name.strip_prefix("libsycl.so.")?;
    version.chars().all(|letter| letter.is_ascii_digit() || letter == '.').then_some(version)
}

/// Problems of runtimes that do not go together.
fn judge_runtimes(runtimes: &[Runtime]) -> Vec<Trouble> {
    let mut problems = Vec::new();
    let Some(first) = runtimes.first() else { return problems };
    let one =
        |runtime: &Runtime| format!("{} {} ({}, by {})", runtime.soname, runtime.version, runtime.path, runtime.by);
    if let Some(other) = runtimes.iter().find(|other| other.soname != first.soname) {
        let message = format!(
            "two SYCL runtimes: {} and {}; where a program is linked to one and a library of it to the other, both are \
             loaded, and neither sees the other's device images",
            one(first),
            one(other)
        );
        problems.push(Trouble::new(message, "build all parts with one compiler, and name its `lib` alone"));
    }
    let twice = |other: &&Runtime| other.soname == first.soname && other.version != first.version;
    if let Some(other) = runtimes.iter().find(twice) {
        let message = format!("{} hides {}: programs of the second run on the first", one(first), one(other));
        problems.push(Trouble::new(message, "put the folder of the newer one first in LD_LIBRARY_PATH"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        folder
    }

    #[test]
    fn runtimes_and_their_adapters_are_told_by_names() {
        let names =
            ["libsycl.so", "libsycl.so.9", "libsycl.so.9.0.0", "libsycl.so.9.0.0-gdb.py", "libsycl-preview.so.9"];
        let folder = folder(&[&names[..], &["libur_adapter_cuda.so.0", "libur_adapter_cuda.so.0.12.0"]].concat());
        fs::write(folder.path().join("libur_loader.so.0"), [b"\x7fELF", OWN_OPENCL].concat()).unwrap();
        let found = in_folder(folder.path(), "CMPLR_ROOT");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].soname.as_str(), found[0].version.as_str()), ("libsycl.so.9", "9.0.0"));
        assert_eq!(found[0].adapters, ["cuda", "opencl"]);
        assert_eq!(judge_runtimes(&found), Vec::new());
    }

    #[test]
    fn drivers_that_are_registered_are_missing_or_idle() {
        let folder = folder(&["libgpu.so", "readme.txt"]);
        let library = folder.path().join("libgpu.so");
        fs::write(folder.path().join("a.icd"), format!("{}\n", library.display())).unwrap();
        fs::write(folder.path().join("b.icd"), "/nowhere/libcpu.so").unwrap();
        let told = judge_drivers(folder.path(), false);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].message.contains("b.icd registers the driver /nowhere/libcpu.so, which is not there"),
            "{told:?}"
        );
        assert!(told[1].message.contains("libgpu.so") && !told[1].message.contains("libcpu"), "{told:?}");
        assert_eq!(judge_drivers(folder.path(), true), told[..1], "what OpenCL lists is idle no more");
        assert_eq!(judge_drivers(&folder.path().join("none"), false), Vec::new());
    }

    #[test]
    fn runtimes_that_do_not_go_together_are_named() {
        let runtime = |soname: &str, version: &str| Runtime {
            soname: soname.to_owned(),
            version: version.to_owned(),
            ..Runtime::default()
        };
        let (eight, nine, newer) = (runtime("s.8", "8.0.0"), runtime("s.9", "9.0.0"), runtime("s.9", "9.1.0"));
        assert!(judge_runtimes(&[nine.clone(), nine.clone()]).is_empty());
        assert!(judge_runtimes(&[eight, nine.clone()])[0].message.contains("two SYCL runtimes"));
        assert!(judge_runtimes(&[nine, newer])[0].message.contains("hides"));
    }
}
