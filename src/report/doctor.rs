//! What does a machine have for building and running device code, and what is to be done about the rest?

use super::document::{Document, Form, Sink};
use super::json::{SchemaVersion, pretty};
use super::text::{Shown, field};
use super::units::{bytes, count};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The column in which answers begin.
const COLUMN: usize = 18;

/// The JSON Schema of the document.
pub fn schema() -> String {
    super::json::schema::<Doctor>()
}

/// Loader, drivers, compilers and caches of a machine, for building and running device code.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle doctor --format json")]
pub struct Doctor {
    /// The version of the form.
    pub schema_version: SchemaVersion,
    /// Whether a driver that compiles for `spir64_x86_64` is there; the exit status is 0 then.
    pub ready: bool,
    /// The file of the OpenCL loader, where the system tells.
    pub loader: Option<String>,
    /// Whether OpenCL answered at all.
    #[serde(skip)]
    pub opencl: bool,
    /// The OpenCL devices, in the order of the loader.
    pub devices: Vec<Device>,
    /// The compiler for Intel GPUs that need not be there: ocloc.
    pub ocloc: Option<Ocloc>,
    /// The compilers for NVIDIA GPUs: LLVM and CUDA's assembler.
    pub nvidia: Option<Nvidia>,
    /// The SYCL runtimes that the environment leads to, in the order in which the system's loader looks.
    pub runtimes: Vec<Runtime>,
    /// The CPU driver that was installed for this user.
    pub installed_driver: Option<Driver>,
    /// The program that installs it.
    pub pip: Option<Pip>,
    /// Caches of compiled code.
    pub caches: Caches,
    /// Variables that decide what OpenCL finds, what its drivers do, and what a SYCL program sees and keeps.
    #[schemars(with = "BTreeMap<String, String>")]
    pub environment: Map<String, Value>,
    /// Obstacles, each with its remedy.
    pub problems: Vec<Trouble>,
}

/// An OpenCL device.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Device {
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
    pub visible: bool,
}

/// Intel's offline compiler.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Ocloc {
    /// The version of the compute runtime that it is part of.
    pub version: String,
    /// Whether it is called as a library inside a worker; else as a process per module.
    pub in_process: bool,
    /// The files of its libraries, or of the program.
    pub files: Vec<String>,
    /// The file of the graphics compiler (IGC) that it uses, where that is known.
    pub igc: Option<String>,
    /// The version that this file's name tells: that of its interface in old releases, its own from 2 on.
    pub igc_version: Option<String>,
}

/// The compilers for NVIDIA GPUs.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Nvidia {
    /// The version of each: `LLVM 22.1.8, llvm-spirv 22.1.8, ptxas 12.9, built-ins 0123456789abcdef`.
    pub version: String,
    /// The programs and libraries.
    pub files: Vec<String>,
}

/// A SYCL runtime.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Runtime {
    /// The file.
    pub path: String,
    /// The name that programs are linked to: `libsycl.so.9`.
    pub soname: String,
    /// The version, as the name of the file tells: `9.0.0`.
    pub version: String,
    /// The variable that led to it, or `system`.
    pub by: String,
    /// The adapters beside it, for backends: `level_zero`, `cuda`, and `opencl` where the loader holds that.
    pub adapters: Vec<String>,
}

/// A driver that was installed for this user.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Driver {
    /// The version.
    pub version: String,
    /// The folder.
    pub path: String,
    /// The licence, as its metadata tells.
    pub licence: Option<String>,
    /// Whether it is used.
    pub used: bool,
    /// The variable for which it is not.
    #[serde(skip)]
    pub unused_for: Option<String>,
}

/// The program that installs drivers.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Pip {
    /// The command that calls it.
    pub command: String,
    /// The version, in its own words.
    pub version: String,
}

/// Caches of compiled code.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Caches {
    /// The cache of `build`; null where there is no folder for it, or it cannot be read.
    pub build: Option<BuildCache>,
    /// The persistent cache of the SYCL runtime.
    pub runtime: RuntimeCache,
}

/// The cache of `build`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct BuildCache {
    /// The folder.
    pub folder: String,
    /// Compiled modules in it.
    pub entries: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// The persistent cache of the SYCL runtime.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RuntimeCache {
    /// Whether the SYCL runtime is told to keep what it compiles (`SYCL_CACHE_PERSISTENT`).
    pub persistent: bool,
    /// The folder, where one is known.
    pub folder: Option<String>,
}

/// An obstacle.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trouble {
    /// A sentence about it.
    pub message: String,
    /// A sentence about what mends it.
    pub remedy: Option<String>,
}

impl Trouble {
    /// A problem and its mend.
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Trouble {
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
