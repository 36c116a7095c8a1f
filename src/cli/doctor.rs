//! `doctor`: what does this machine have of what `build` needs, and what is to be done about the rest?

mod caches;
mod runtimes;

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sycl_bundle::build::worker::LOADS;
use sycl_bundle::build::{Inventory, Offline, inventory, offline};
use sycl_bundle::device::selector::{Selector, VARIABLE};
use sycl_bundle::error::Result;
use sycl_bundle::report::doctor::{self as page, Device, Doctor, Driver, Ocloc, Trouble};

use super::driver::{self, InstallArgs, Installed};
use super::exit::Exit;
use super::format::Answer;
use super::global::Global;
use super::output;
use super::pip::Pip;
use super::worker;
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
    /// Intel's offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc
    #[arg(long, value_name = "FILE")]
    ocloc: Option<PathBuf>,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = Answer::Table)]
    format: Answer,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

/// Everything found.
struct Findings {
    opencl: Result<Inventory>,
    ocloc: Result<Offline>,
    selector: Result<Selector>,
    variables: Vec<(&'static str, String)>,
    installed: Option<Installed>,
    pip: Result<Pip>,
}

impl Args {
    /// Looks around and reports.
    pub fn run(self, _global: &Global) -> Result<Exit> {
        if self.schema {
            return output::schema(&page::schema());
        }
        if self.install.install_driver {
            self.install.install()?;
        }
        let found = Findings::gather(self.ocloc.as_deref()).told();
        let text = match self.format {
            Answer::Table => found.table(),
            Answer::Json => found.to_json(),
        };
        let mut out = output::stdout();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| output::lost(&error))?;
        Ok(if found.ready { Exit::Done } else { Exit::Environment })
    }
}

impl Findings {
    fn gather(ocloc: Option<&Path>) -> Findings {
        let opencl = worker::launch(None).and_then(|launch| inventory(&launch, PATIENCE));
        let ocloc = worker::offline(ocloc).and_then(|engine| offline(&engine, &[], PATIENCE));
        let set = |name| env::var_os(name).map(|value| (name, value.to_string_lossy().into_owned()));
        let variables: Vec<(&'static str, String)> = VARIABLES.into_iter().filter_map(set).collect();
        let selector = variables.iter().find(|(name, _)| *name == VARIABLE).map_or("", |(_, value)| value);
        let selector = Selector::parse(selector);
        Findings { opencl, ocloc, selector, variables, installed: driver::installed(), pip: Pip::find() }
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
        let runtimes = runtimes::find();
        let (caches, of_caches) = caches::find();
        let mut problems = self.judge();
        problems.extend(runtimes::judge(&runtimes));
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
