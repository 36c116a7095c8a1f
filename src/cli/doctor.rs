//! `doctor`: what does this machine have of what `build` needs, and what is to be done about the rest?

use super::driver::{self, InstallArgs, Pip};
use super::global::Global;
use super::output::{ANSWER, Output, forms};
use super::worker::OfflineArgs;
use super::{cache, worker};
use crate::build::cache::Cache;
use crate::build::process::library;
use crate::build::worker::LOADS;
use crate::build::{Open, inventory, offline};
use crate::error::Exit;
use crate::error::Result;
use crate::report::doctor::{self as page, BuildCache, Driver, Machine};
use crate::report::document::Form;
use std::env;
use std::time::Duration;

/// The longest that looking around may take; a driver can hang.
const PATIENCE: Duration = Duration::from_secs(60);

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
pub(crate) struct Args {
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

impl Args {
    /// Looks around and reports.
    pub(crate) fn run(self, _global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        if self.install.install_driver {
            self.install.install()?;
        }
        let found = machine(&self.compilers).examine(&|name| env::var_os(name));
        out.put(self.format, &found)?;
        Ok(if found.ready { Exit::Done } else { Exit::Environment })
    }
}

/// Asks the machine, by worker processes.
fn machine(compilers: &OfflineArgs) -> Machine {
    let ask = |open: Open| {
        let engine = worker::offline(open)?;
        if matches!(engine.open, Open::Nvidia(_)) {
            library(&engine, PATIENCE, &|| false)?;
        }
        offline(&engine, &[], PATIENCE)
    };
    let chosen = driver::chosen().first().copied();
    let installed = driver::installed().map(|driver| Driver {
        path: driver.dir.display().to_string(),
        licence: driver.licence(),
        version: driver.version,
        used: chosen.is_none(),
        unused_for: chosen.map(str::to_owned),
    });
    let held = |cache: Cache| {
        let (stats, folder) = (cache.stats()?, cache.folder().display().to_string());
        Ok(BuildCache { folder, entries: stats.entries, bytes: stats.bytes })
    };
    Machine {
        opencl: worker::launch(None).and_then(|launch| inventory(&launch, PATIENCE)),
        ocloc: ask(Open::Ocloc(compilers.ocloc.clone())),
        nvidia: ask(Open::Nvidia(compilers.places())),
        installed,
        chosen,
        loads_drivers: LOADS,
        pip: Pip::find().map(|pip| page::Pip { command: pip.name(), version: pip.version().to_owned() }),
        cache: cache::cache(true).map(held).transpose(),
        cache_limit: cache::limit(),
    }
}
