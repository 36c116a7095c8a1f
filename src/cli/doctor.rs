//! `doctor`: what does this machine have of what `build` needs, and what is to be done about the rest?
//!
//! The runtime's variables are those of DPC++ (`sycl/doc/EnvironmentVariables.md`): `SYCL_CACHE_PERSISTENT=1` turns its cache
//! on, which lies in `SYCL_CACHE_DIR`, else in `libsycl_cache` below `XDG_CACHE_HOME` or below `.cache` in `HOME`; with none
//! of them it stays off without a word.
//!
//! The system's loader looks into `LD_LIBRARY_PATH` and then its own folders. `CMPLR_ROOT` is where oneAPI's `setvars.sh`
//! says the compiler is; an active Python or conda environment holds what pip or conda installed.

use super::driver::{self, InstallArgs, Installed};
use super::global::Global;
use super::output::{ANSWER, Output, forms};
use super::worker::OfflineArgs;
use super::{cache, worker};
use crate::cli::driver::Pip;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};
use sycl_bundle::build::worker::LOADS;
use sycl_bundle::build::{Inventory, Offline, Open, inventory, offline};
use sycl_bundle::container::address::find;
use sycl_bundle::device::selector::{Selector, VARIABLE};
use sycl_bundle::error::Exit;
use sycl_bundle::error::Result;
use sycl_bundle::report::doctor as page;
use sycl_bundle::report::doctor::{BuildCache, Caches, Device, Doctor, Driver, Ocloc, Runtime, RuntimeCache, Trouble};
use sycl_bundle::report::document::Form;
use sycl_bundle::report::json::SchemaVersion;

/// The longest that looking around may take; a driver can hang.
const PATIENCE: Duration = Duration::from_secs(60);

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

const HELP: &str = "\
Examples:
  sycl-bundle doctor
  sycl-bundle doctor --install-driver
  sycl-bundle doctor --format json | jq -r '.problems[].remedy'

Exit status:
  0  a driver that compiles for spir64_x86_64 is there
  5  it is not";

/// Tell what this machine has for building, and how to get what it lacks
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    install: InstallArgs,
    #[command(flatten)]
    compilers: OfflineArgs,
    /// The form of the output
    #[arg(long, default_value = "table", value_parser = forms(ANSWER))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

/// Everything found.
struct Findings {
    opencl: Result<Inventory>,
    ocloc: Result<Offline>,
    nvidia: Result<Offline>,
    selector: Result<Selector>,
    variables: Vec<(&'static str, String)>,
    installed: Option<Installed>,
    pip: Result<Pip>,
}

impl Args {
    /// Looks around and reports.
    pub fn run(self, _global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        if self.install.install_driver {
            self.install.install()?;
        }
        let found = Findings::gather(&self.compilers).told();
        out.put(self.format, &found)?;
        Ok(if found.ready { Exit::Done } else { Exit::Environment })
    }
}

impl Findings {
    fn gather(compilers: &OfflineArgs) -> Findings {
        let opencl = worker::launch(None).and_then(|launch| inventory(&launch, PATIENCE));
        let ask = |open: Open| worker::offline(open).and_then(|engine| offline(&engine, &[], PATIENCE));
        let ocloc = ask(Open::Ocloc(compilers.ocloc.clone()));
        let nvidia = ask(Open::Nvidia(compilers.places()));
        let set = |name| env::var_os(name).map(|value| (name, value.to_string_lossy().into_owned()));
        let variables: Vec<(&'static str, String)> = VARIABLES.into_iter().filter_map(set).collect();
        let selector = variables.iter().find(|(name, _)| *name == VARIABLE).map_or("", |(_, value)| value);
        let selector = Selector::parse(selector);
        Findings { opencl, ocloc, nvidia, selector, variables, installed: driver::installed(), pip: Pip::find() }
    }

    fn compiles(&self) -> bool {
        self.opencl.as_ref().is_ok_and(|seen| seen.devices.iter().any(|device| device.compiles))
    }

    /// Problems of the machine, each with its remedy.
    fn judge(&self) -> Vec<Trouble> {
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
            // What could not be used need not be installed.
            problems.extend(self.pip.as_ref().err().filter(|_| LOADS).map(Trouble::from));
            if let (Some(driver), Some(name)) = (&self.installed, self.chosen()) {
                let message = format!("the installed driver {} is not used while {name} is set", driver.version);
                problems.push(Trouble::new(message, format!("unset {name}")));
            }
        }
        if self.variables.iter().any(|(name, value)| *name == "CL_CONFIG_CPU_TARGET_ARCH" && value.is_empty()) {
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
        problems.extend(self.selector.as_ref().err().map(Trouble::from));
        let devices = self.opencl.as_ref().map_or(&[][..], |seen| &seen.devices);
        let hidden = |(place, device): (usize, &sycl_bundle::build::Device)| !self.admits(&device.kind, place);
        if self.selector.is_ok() && !devices.is_empty() && devices.iter().enumerate().all(hidden) {
            let message = format!("{VARIABLE} hides every OpenCL device from SYCL programs, and from `devices`");
            problems.push(Trouble::new(message, format!("unset {VARIABLE}, or add `;opencl:*` to it")));
        }
        problems
    }

    /// Whether a SYCL program sees a device. Where the variable is malformed none starts, which is told by itself.
    fn admits(&self, kind: &str, place: usize) -> bool {
        self.selector.as_ref().is_ok_and(|selector| selector.admits(kind, place))
    }

    /// The variable by which the user has chosen loader or drivers.
    fn chosen(&self) -> Option<&'static str> {
        driver::CHOICES.into_iter().find(|choice| self.variables.iter().any(|(name, _)| name == choice))
    }

    /// The document about all that was found.
    fn told(&self) -> Doctor {
        let seen = self.opencl.as_ref().ok();
        let device = |(place, device): (usize, &sycl_bundle::build::Device)| Device {
            name: device.name.clone(),
            kind: device.kind.clone(),
            platform: device.platform.clone(),
            vendor: device.vendor.clone(),
            driver: device.driver.clone(),
            opencl: device.opencl.clone(),
            il: device.il.split_whitespace().map(str::to_owned).collect(),
            compiles: device.compiles,
            visible: self.admits(&device.kind, place),
        };
        let runtimes = find_runtimes();
        let (caches, of_caches) = find_caches();
        let mut problems = self.judge();
        problems.extend(judge_runtimes(&runtimes));
        problems.extend(of_caches);
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
            nvidia: self.nvidia.as_ref().ok().map(|nvidia| page::Nvidia {
                version: nvidia.version.clone(),
                files: nvidia.files.iter().map(|file| file.display().to_string()).collect(),
            }),
            runtimes,
            installed_driver: self.installed.as_ref().map(|driver| Driver {
                version: driver.version.clone(),
                path: driver.dir.display().to_string(),
                licence: driver.licence(),
                used: self.chosen().is_none(),
                unused_for: self.chosen().map(str::to_owned),
            }),
            pip: self.pip.as_ref().ok().map(|pip| page::Pip { command: pip.name(), version: pip.version().to_owned() }),
            caches,
            environment: self
                .variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
                .collect(),
            problems,
        }
    }
}

/// The file of the graphics compiler.
fn igc(ocloc: &Offline) -> Option<String> {
    let is_igc = |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libigc.so"));
    ocloc.files.iter().find(is_igc).map(|file| file.display().to_string())
}

/// The caches, and what is wrong with them.
pub fn find_caches() -> (Caches, Vec<Trouble>) {
    let mut problems = Vec::new();
    let build = cache::cache(true).and_then(|cache| match cache.stats() {
        Ok(stats) => {
            let folder = cache.folder().display().to_string();
            Some(BuildCache { folder, entries: stats.entries, bytes: stats.bytes })
        }
        Err(error) => {
            problems.push(Trouble::from(&error));
            None
        }
    });
    problems.extend(cache::limit().err().map(|error| Trouble::from(&error)));
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("SYCL_CACHE_DIR")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("libsycl_cache")))
        .or_else(|| Some(set("HOME")?.join(".cache/libsycl_cache")));
    let runtime = runtime_cache(set("SYCL_CACHE_PERSISTENT").is_some_and(|value| value.as_os_str() != "0"), folder);
    if runtime.persistent && runtime.folder.is_none() {
        let message = "SYCL_CACHE_PERSISTENT is set, and the SYCL runtime keeps nothing: it knows no folder";
        problems.push(Trouble::new(message, "set SYCL_CACHE_DIR to a folder"));
    }
    if set("SYCL_CACHE_DISABLE_PERSISTENT").is_some() {
        let message = "SYCL_CACHE_DISABLE_PERSISTENT has no effect any more";
        problems.push(Trouble::new(message, "set SYCL_CACHE_PERSISTENT=0 instead"));
    }
    (Caches { build, runtime }, problems)
}

fn runtime_cache(persistent: bool, folder: Option<PathBuf>) -> RuntimeCache {
    RuntimeCache { persistent, folder: folder.map(|folder| folder.display().to_string()) }
}

/// Folders in which the loader looks without being told.
const SYSTEM: [&str; 4] = ["/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
/// Variables that name a folder above `lib`.
const PREFIXES: [&str; 3] = ["CMPLR_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// The runtimes, the first of `LD_LIBRARY_PATH` first, each file once.
pub fn find_runtimes() -> Vec<Runtime> {
    let path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let own = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| (folder, "LD_LIBRARY_PATH"));
    let below = |name: &'static str| env::var_os(name).map(|prefix| (Path::new(&prefix).join("lib"), name));
    let system = SYSTEM.iter().map(|folder| (PathBuf::from(folder), "system"));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (folder, by) in own.chain(PREFIXES.into_iter().filter_map(below)).chain(system) {
        let Ok(folder) = folder.canonicalize() else { continue };
        if seen.insert(folder.clone()) {
            found.extend(in_folder(&folder, by));
        }
    }
    found
}

/// The loader of the runtime's adapters.
const LOADER: &str = "libur_loader.so";
/// Text of the OpenCL adapter where it is linked in.
const OWN_OPENCL: &[u8] = b"OpenCL adapter used before initalization or after destruction";

/// Whether a file holds a text; not where it cannot be read.
fn holds(file: &Path, text: &[u8]) -> bool {
    let Ok(bytes) = fs::read(file) else { return false };
    find(&bytes, text).is_some()
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
pub fn judge_runtimes(runtimes: &[Runtime]) -> Vec<Trouble> {
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
