//! `doctor`: what does this machine have of what `build` needs, and what is to be done about the rest?

use super::driver::{self, InstallArgs, Pip};
use super::global::Global;
use super::output::{ANSWER, Output, forms};
use super::worker::OfflineArgs;
use super::{cache, worker};
use crate::build::cache::Cache;
use crate::build::compile::try_nvidia;
use crate::build::worker::LOADS;
use crate::build::{Open, inventory, offline};
use crate::error::{Exit, Result};
use crate::report::doctor::{self as page, BuildCache, Driver, Machine, Trouble};
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
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        if self.install.install_driver {
            self.install.install()?;
        }
        let mut found = machine(global, &self.compilers).examine(&|name| env::var_os(name));
        found.problems.extend(confinement(global));
        out.put(self.format, &found)?;
        Ok(if found.ready { Exit::Done } else { Exit::Environment })
    }
}

/// Problems of a kernel that does not confine workers; what it does not know for its age is a detail.
fn confinement(global: &Global) -> Vec<Trouble> {
    let [free, unknown] = match worker::not_kept_from(PATIENCE) {
        Ok(told) => told,
        Err(error) => return vec![Trouble::from(&error)],
    };
    for what in unknown {
        global.detail(&format!(
            "workers with drivers and compilers may {what} for all that this kernel's Landlock knows"
        ));
    }
    let trouble = |what: String| {
        let message = format!("this kernel lets workers with drivers and compilers {what}");
        Trouble::new(message, "build what nobody trusts in a container, or with a kernel that has it")
    };
    free.into_iter().map(trouble).collect()
}

/// Asks the machine, by worker processes.
fn machine(global: &Global, compilers: &OfflineArgs) -> Machine {
    let ocloc = || offline(&worker::offline(Open::Ocloc(compilers.ocloc.clone()))?, &[], PATIENCE);
    let cache = cache::cache(true);
    let nvidia = || try_nvidia(global, &worker::offline(Open::Nvidia(compilers.places()))?, cache.as_ref());
    let chosen = driver::chosen().first().copied();
    let installed = driver::installed().map(|driver| Driver {
        path: driver.dir.display().to_string(),
        licence: driver.licence(),
        version: driver.version,
        used: chosen.is_none(),
        unused_for: chosen.map(str::to_owned),
    });
    let held = |cache: &Cache| {
        let (stats, folder) = (cache.stats()?, cache.folder().display().to_string());
        Ok(BuildCache { folder, entries: stats.entries, bytes: stats.bytes })
    };
    Machine {
        opencl: worker::launch(None).and_then(|launch| inventory(&launch, PATIENCE)),
        ocloc: ocloc(),
        nvidia: nvidia(),
        installed,
        chosen,
        loads_drivers: LOADS,
        pip: Pip::find().map(|pip| page::Pip { command: pip.name(), version: pip.version().to_owned() }),
        cache: cache.as_ref().map(held).transpose(),
        cache_limit: cache::limit(),
    }
}
