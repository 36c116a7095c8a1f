//! What does a machine have for building and running device code, and what is to be done about the rest?

use super::units::{bytes, count};
use crate::error::Error;
use serde::Serialize;
use serde_json::{Map, Value};

/// The published JSON Schema of the document.
pub const SCHEMA: &str = include_str!("doctor/doctor.schema.json");

/// Everything that `doctor` found.
#[derive(Debug, Default, Serialize)]
pub struct Doctor {
    /// Version of this document's schema.
    pub schema_version: u32,
    /// Whether a driver that compiles for `spir64_x86_64` is there.
    pub ready: bool,
    /// The file of the OpenCL loader, where the system tells.
    pub loader: Option<String>,
    /// Whether OpenCL answered at all.
    #[serde(skip)]
    pub opencl: bool,
    /// The OpenCL devices.
    pub devices: Vec<Device>,
    /// The compiler for Intel GPUs that need not be there.
    pub ocloc: Option<Ocloc>,
    /// The SYCL runtimes that the environment leads to, in the order in which the system's loader looks.
    pub runtimes: Vec<Runtime>,
    /// The CPU driver that was installed for this user.
    pub installed_driver: Option<Driver>,
    /// What installs it.
    pub pip: Option<Pip>,
    /// Caches of compiled code.
    pub caches: Caches,
    /// Variables that decide what OpenCL finds, what its drivers do, and what a SYCL program sees and keeps.
    pub environment: Map<String, Value>,
    /// What stands in the way, each with its mend.
    pub problems: Vec<Trouble>,
}

/// An OpenCL device.
#[derive(Debug, Default, Serialize)]
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
#[derive(Debug, Default, Serialize)]
pub struct Ocloc {
    /// Its version, that of the compute runtime it is part of.
    pub version: String,
    /// Whether it is called inside a worker; else as a process per module.
    pub in_process: bool,
    /// Its files.
    pub files: Vec<String>,
    /// The file of the graphics compiler (IGC) that it uses, where that is known.
    pub igc: Option<String>,
    /// The version that this file's name tells: that of its interface in old releases, its own from 2 on.
    pub igc_version: Option<String>,
}

/// A SYCL runtime.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Runtime {
    /// Its file.
    pub path: String,
    /// The name that programs are linked to: `libsycl.so.9`.
    pub soname: String,
    /// Its version, as the name of the file tells: `9.0.0`.
    pub version: String,
    /// What led to it: a variable, or `system`.
    pub by: String,
    /// The adapters beside it, for backends: `level_zero`, `cuda`. That for OpenCL is in the loader of newer ones.
    pub adapters: Vec<String>,
}

/// A driver that was installed for this user.
#[derive(Debug, Default, Serialize)]
pub struct Driver {
    /// Its version.
    pub version: String,
    /// Its folder.
    pub path: String,
    /// Its licence, as its metadata tells.
    pub licence: Option<String>,
    /// Whether it is used.
    pub used: bool,
    /// The variable for which it is not.
    #[serde(skip)]
    pub unused_for: Option<String>,
}

/// What installs drivers.
#[derive(Debug, Default, Serialize)]
pub struct Pip {
    /// How it is called.
    pub command: String,
    /// What it says of itself.
    pub version: String,
}

/// Caches of compiled code.
#[derive(Debug, Default, Serialize)]
pub struct Caches {
    /// That of `build`; none where there is no folder for it, or it cannot be read.
    pub build: Option<BuildCache>,
    /// The persistent one of the SYCL runtime.
    pub runtime: RuntimeCache,
}

/// The cache of `build`.
#[derive(Debug, Default, Serialize)]
pub struct BuildCache {
    /// Its folder.
    pub folder: String,
    /// Compiled modules in it.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The persistent cache of the SYCL runtime.
#[derive(Debug, Default, Serialize)]
pub struct RuntimeCache {
    /// Whether `SYCL_CACHE_PERSISTENT` turns it on.
    pub persistent: bool,
    /// Its folder, where one is known.
    pub folder: Option<String>,
}

/// What stands in the way.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// What it is.
    pub message: String,
    /// What mends it.
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
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The same for a person.
    pub fn table(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: &str| lines.push(format!("{label:<18}{text}").trim_end().to_owned());
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
        lines.join("\n") + "\n"
    }
}
