//! `devices`: which live OpenCL devices are there, and what can they do?

use std::io::Write as _;

use sycl_bundle::build::query::sycl::answers;
use sycl_bundle::build::query::{Query, Question, ask};
use sycl_bundle::device::selector::VARIABLE;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::devices::{self as page, BuiltIn, Listed};
use sycl_bundle::report::inspect::View;

use super::exit::{Exit, report};
use super::global::Global;
use super::live::{Live, settings};
use super::output;

const HELP: &str = "\
A device is meant by its number, its kind (cpu, gpu, accelerator, custom: the first that takes
SPIR-V) or a part of its name. ONEAPI_DEVICE_SELECTOR hides devices as it does from SYCL programs;
OCL_ICD_VENDORS and OCL_ICD_FILENAMES say which drivers are loaded.

Examples:
  sycl-bundle devices
  sycl-bundle devices cpu
  sycl-bundle devices --kernels
  sycl-bundle devices --format json | jq -r '.devices[] | .name, .aspects[]'

Exit status:
  5  there is no OpenCL loader, no driver, or no such device";

/// List the live OpenCL devices, with what they can do
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Show all about these
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,
    /// List the kernels that are built into devices; they need no image, and exist on their device only
    #[arg(long)]
    kernels: bool,
    /// List devices that ONEAPI_DEVICE_SELECTOR hides too
    #[arg(long, conflicts_with = "devices")]
    all: bool,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Format,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document
    Json,
}

impl Args {
    /// Looks around and reports.
    pub fn run(self, global: &Global) -> Result<Exit> {
        if self.schema {
            return output::schema(page::SCHEMA);
        }
        let live = Live::find()?;
        for problem in &live.inventory.problems {
            global.note(problem);
        }
        let all = || live.inventory.devices.iter().enumerate();
        let listed: Vec<Listed<'_>> = if self.devices.is_empty() {
            all().filter(|(place, _)| self.all || live.visible(*place)).collect()
        } else {
            self.devices.iter().map(|wanted| live.choose(wanted)).collect::<Result<_>>()?
        };
        let hidden = if self.all || !self.devices.is_empty() { 0 } else { live.hidden() };
        if listed.is_empty() {
            let error = Error::new(ErrorKind::Environment, format!("{VARIABLE} hides all {hidden} OpenCL devices"));
            return Err(error.with_remedy("`--all` lists them"));
        }
        if hidden > 0 {
            global.note(&format!("{VARIABLE} hides {hidden} more; `--all` lists them"));
        }
        let mut exit = Exit::Done;
        let kernels = self.kernels.then(|| built_in(global, &live, &listed, &mut exit)).transpose()?;
        let view = View { width: global.width(), demangle: global.demangle, color: global.stdout_color() };
        let text = match (self.format, &kernels) {
            (Format::Json, kernels) => format!("{:#}\n", page::document(&live.inventory, &listed, kernels.as_deref())),
            (_, Some(kernels)) if kernels.is_empty() => {
                global.note("no device has built-in kernels");
                String::new()
            }
            (_, Some(kernels)) => page::kernels(kernels, &view),
            (_, None) if self.devices.is_empty() => page::list(&listed, &view),
            _ => listed.iter().map(|device| page::page(*device, &view)).collect::<Vec<_>>().join("\n"),
        };
        let mut out = output::stdout();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| output::lost(&error))?;
        Ok(exit)
    }
}

/// The built-in kernels of devices, each with its answers.
fn built_in(global: &Global, live: &Live, listed: &[Listed<'_>], exit: &mut Exit) -> Result<Vec<BuiltIn>> {
    let mut found = Vec::new();
    for (place, device) in listed {
        let names = &device.built_in_kernels;
        if names.is_empty() {
            continue;
        }
        let kernels = names.iter().map(|name| name.as_str().into()).collect();
        let query = Query { modules: Vec::new(), native: false, options: "".into(), kernels };
        let number = u32::try_from(*place).unwrap_or(u32::MAX);
        let questions = [Question { image: *place, query }];
        let outcomes = ask(&questions, number, live.launch(), &settings(None), &mut |_| {})?;
        let mut answered = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(all) => answered.extend(all.kernels),
                Err(failure) => {
                    let error = Error::new(ErrorKind::Build, format!("its built-in kernels: {failure}"));
                    *exit = report(global, &error.context(device.name.clone()));
                }
            }
        }
        found.extend(names.iter().map(|name| {
            let own = answered.iter().find(|kernel| kernel.name == *name && kernel.status == 0);
            (*place, name.clone(), own.map(|kernel| answers(kernel, device, true)))
        }));
    }
    Ok(found)
}
