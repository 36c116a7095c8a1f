//! `plan`: how does another tool spread a build over its own workers?

use super::build;
use super::global::{Global, GlobalArgs};
use super::output::Output;
use crate::build::commands::{CommandEngine, Draft};
use crate::error::{Error, ErrorKind, Exit, Result};
use clap::{FromArgMatches as _, ValueEnum as _};
use std::ffi::OsString;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
The arguments are those of `build`, as they are: what is written has for each image and target one
command that compiles it into the cache (`build --cache-only --unit`), the largest modules first,
and a last one that writes the output out of the cache. Images that are the same code but for
their kernel's name have one command, as they are compiled once. Each command stands for itself:
it can be run again, and on any machine that shares the cache's folder (SYCL_BUNDLE_CACHE_DIR). An
image that does not build stops the engine where it would stop a build with --fail-fast.

Stamps and the rule of dependencies are in a folder beside the output (NAME.plan). `plan` removes
that rule and the stamp of the output, which an earlier plan, or somebody else, has left.

Each command reads the input anew: for thousands of small images on one machine, `build` is
faster. Names are relative to the folder that `plan` ran in; run the engine there.

Examples:
  sycl-bundle plan --format ninja --to build.ninja libfoo.so -t intel_gpu_pvc -o out/libfoo.so
  ninja
  sycl-bundle plan --format make --to plan.mk libfoo.so -t spir64_x86_64 -o out/libfoo.so
  make -f plan.mk -j8

Exit status: as `build`; nothing is compiled.";

/// The engine that the commands are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// Ninja
    Ninja,
    /// GNU make
    Make,
}

/// Write what compiles each image by a command of its own, for ninja or make
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The engine that runs the plan; by default ninja
    #[arg(long, value_name = "ENGINE")]
    format: Option<Engine>,
    /// The file to write; by default standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// The arguments of `build`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "ARGUMENTS OF BUILD")]
    arguments: Vec<OsString>,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(mut self, global: &Global, out: &mut Output) -> Result<Exit> {
        self.own()?;
        let command = <build::Args as clap::Args>::augment_args(clap::Command::new("sycl-bundle plan"));
        let command = <GlobalArgs as clap::Args>::augment_args(command).no_binary_name(true);
        let parsed = command.try_get_matches_from(&self.arguments);
        let parsed = parsed.and_then(|matches| {
            Ok((build::Args::from_arg_matches(&matches)?, GlobalArgs::from_arg_matches(&matches)?))
        });
        let (mut build, own) = parsed.unwrap_or_else(|error| error.exit());
        own.apply(global.max_memory.is_some())?;
        let global = &own.resolve_within(global);
        let program = std::env::current_exe().map_err(|error| Error::io("finding this program", &error))?;
        let engine = self.format.unwrap_or(Engine::Ninja);
        let engine = match engine {
            Engine::Ninja => CommandEngine::Ninja,
            Engine::Make => CommandEngine::Make,
        };
        build.plan(Draft { engine, program, arguments: self.arguments }, self.to)?;
        build.run(global, out)
    }

    /// Takes what is for this verb from among what is for `build`, wherever it stands.
    fn own(&mut self) -> Result<()> {
        let mut rest = Vec::new();
        let mut all = std::mem::take(&mut self.arguments).into_iter();
        while let Some(argument) = all.next() {
            // Behind it are names of files.
            if argument == "--" {
                rest.push(argument);
                break;
            }
            let text = argument.to_string_lossy().into_owned();
            let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
            if !matches!(name, "--format" | "--to") {
                rest.push(argument);
                continue;
            }
            let value = value.map(OsString::from).or_else(|| all.next());
            let value = value.ok_or_else(|| Error::new(ErrorKind::Usage, format!("`{name}` needs a value")))?;
            if name == "--to" {
                self.to = Some(value.into());
            } else {
                let engine = Engine::from_str(&value.to_string_lossy(), false).map_err(|_| {
                    let message = format!("a plan is for ninja or make, not for `{}`", value.display());
                    Error::new(ErrorKind::Usage, message)
                })?;
                self.format = Some(engine);
            }
        }
        rest.extend(all);
        self.arguments = rest;
        Ok(())
    }
}
