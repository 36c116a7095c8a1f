//! `doctor`: what does this machine have of what `build` needs, and what is to be done about the rest?

use std::env;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use sycl_bundle::build::{Inventory, inventory};
use sycl_bundle::error::{Error, Result};

use super::driver::{self, InstallArgs, Installed};
use super::exit::Exit;
use super::global::Global;
use super::pip::Pip;
use super::worker;

/// How long looking around may take; a driver can hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Variables that decide what OpenCL finds, or what its CPU driver does.
const VARIABLES: [&str; 6] = [
    "OPENCL_DYLIB_PATH",
    "OCL_ICD_FILENAMES",
    "OCL_ICD_VENDORS",
    "LD_LIBRARY_PATH",
    "CL_CONFIG_CPU_TARGET_ARCH",
    "ONEAPI_DEVICE_SELECTOR",
];

const HELP: &str = "\
Examples:
  sycl-bundle doctor
  sycl-bundle doctor --install-driver
  sycl-bundle doctor --format json

Exit status:
  0  a driver that compiles for spir64_x86_64 is there
  5  it is not";

/// Tell what this machine has for building, and how to get what it lacks
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    install: InstallArgs,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How `doctor` shows what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

/// Everything found.
struct Findings {
    opencl: Result<Inventory>,
    variables: Vec<(&'static str, String)>,
    installed: Option<Installed>,
    pip: Result<Pip>,
    problems: Vec<Error>,
}

impl Args {
    /// Looks around and reports.
    pub fn run(self, _global: &Global) -> Result<Exit> {
        if self.install.install_driver {
            driver::install(&self.install.driver_version)?;
        }
        let findings = Findings::gather()?;
        let text = match self.format {
            Format::Table => findings.table(),
            Format::Json => format!("{:#}\n", findings.json()),
        };
        let written = io::stdout().lock().write_all(text.as_bytes());
        written.map_err(|error| Error::io("writing to standard output", &error))?;
        Ok(if findings.compiles() { Exit::Done } else { Exit::Environment })
    }
}

impl Findings {
    fn gather() -> Result<Findings> {
        let opencl = inventory(&worker::launch(None)?, PATIENCE);
        let set = |name| env::var_os(name).map(|value| (name, value.to_string_lossy().into_owned()));
        let variables: Vec<(&'static str, String)> = VARIABLES.into_iter().filter_map(set).collect();
        let mut found =
            Findings { opencl, variables, installed: driver::installed(), pip: Pip::find(), problems: Vec::new() };
        found.problems = found.judge();
        Ok(found)
    }

    fn compiles(&self) -> bool {
        self.opencl.as_ref().is_ok_and(|seen| seen.devices.iter().any(|device| device.compiles))
    }

    /// What stands in the way, each with its remedy.
    fn judge(&self) -> Vec<Error> {
        let mut problems = Vec::new();
        match &self.opencl {
            Err(error) => problems.push(error.clone()),
            Ok(_) if !self.compiles() => {
                let message = "no device compiles for spir64_x86_64: that takes Intel's OpenCL CPU driver";
                let remedy = "`sycl-bundle doctor --install-driver` installs it from PyPI for this user";
                problems.push(environment(message, remedy));
            }
            Ok(_) => {}
        }
        if !self.compiles() {
            problems.extend(self.pip.as_ref().err().cloned());
            if let (Some(driver), Some(name)) = (&self.installed, self.chosen()) {
                let message = format!("the installed driver {} is not used while {name} is set", driver.version);
                problems.push(environment(message, format!("unset {name}")));
            }
        }
        if self.variables.iter().any(|(name, value)| *name == "CL_CONFIG_CPU_TARGET_ARCH" && value.is_empty()) {
            let message = "CL_CONFIG_CPU_TARGET_ARCH is set to nothing, with which the CPU driver builds no program";
            problems.push(environment(message, "unset CL_CONFIG_CPU_TARGET_ARCH"));
        }
        problems
    }

    /// The variable by which the user has chosen loader or drivers.
    fn chosen(&self) -> Option<&'static str> {
        driver::CHOICES.into_iter().find(|choice| self.variables.iter().any(|(name, _)| name == choice))
    }

    fn table(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: &str| lines.push(format!("{label:<18}{text}").trim_end().to_owned());
        match &self.opencl {
            Ok(seen) => {
                line("OpenCL loader", if seen.loader.is_empty() { "loaded" } else { &seen.loader });
                for device in &seen.devices {
                    let able = if device.compiles { "  compiles for spir64_x86_64" } else { "" };
                    line("Device", &format!("{} ({}){able}", device.name, device.kind));
                    line("  platform", &format!("{}, {}", device.platform, device.vendor));
                    line("  driver", &format!("{}, {}", device.driver, device.opencl));
                    line("  takes", if device.il.is_empty() { "no SPIR-V" } else { &device.il });
                }
            }
            Err(_) => line("OpenCL", "none in working order"),
        }
        match &self.installed {
            Some(driver) => {
                let unused = self.chosen().map(|name| format!(" (not used: {name} is set)")).unwrap_or_default();
                line("Installed driver", &format!("{} in {}{unused}", driver.version, driver.dir.display()));
                line("  licence", &driver.licence().unwrap_or_else(|| "not stated".to_owned()));
            }
            None => line("Installed driver", "none for this user"),
        }
        match &self.pip {
            Ok(pip) => line("pip", &format!("{}: {}", pip.name(), pip.version())),
            Err(_) => line("pip", "none"),
        }
        for (name, value) in &self.variables {
            line("Variable", &format!("{name}={value}"));
        }
        for problem in &self.problems {
            line("", "");
            line("Problem", &problem.to_string());
            line("Remedy", problem.remedy().unwrap_or("none known"));
        }
        lines.join("\n") + "\n"
    }

    fn json(&self) -> Value {
        let seen = self.opencl.as_ref().ok();
        let devices = seen.map_or(&[][..], |seen| &seen.devices).iter().map(|d| {
            json!({
                "name": d.name, "kind": d.kind, "platform": d.platform, "vendor": d.vendor, "driver": d.driver,
                "opencl": d.opencl, "il": d.il.split_whitespace().collect::<Vec<_>>(), "compiles": d.compiles,
            })
        });
        let variables: serde_json::Map<String, Value> =
            self.variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({
            "schema_version": 1,
            "ready": self.compiles(),
            "loader": seen.map(|seen| &seen.loader).filter(|path| !path.is_empty()),
            "devices": devices.collect::<Vec<_>>(),
            "installed_driver": self.installed.as_ref().map(|driver| json!({
                "version": driver.version, "path": driver.dir.to_string_lossy(), "licence": driver.licence(),
                "used": self.chosen().is_none(),
            })),
            "pip": self.pip.as_ref().ok().map(|pip| json!({ "command": pip.name(), "version": pip.version() })),
            "environment": variables,
            "problems": self.problems.iter().map(|problem| {
                json!({ "message": problem.to_string(), "remedy": problem.remedy() })
            }).collect::<Vec<_>>(),
        })
    }
}

fn environment(message: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::new(sycl_bundle::error::ErrorKind::Environment, message).with_remedy(remedy)
}
