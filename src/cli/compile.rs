//! `compile`: how does SPIR-V become objects of a device?

use super::build::{RecipeArgs, engine, settings};
use super::driver::InstallArgs;
use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::progress::Watched;
use super::selection::DeviceConfigs;
use super::selection::Selection;
use super::worker::OfflineArgs;
use crate::build::compile::{Binary, CompileOptions, compile};
use crate::build::target::{CPU_SPEC, Target};
use crate::build::wanted::{self, Asked, Wanted};
use crate::build::{Engine, Failure, Job, STARTUP, Unit};
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::compile::{Compiling, DeviceCompiler};
use crate::report::costs::Watch;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

const AFTER_HELP: &str = "\
Images in state `input` become images in state `object`, one for each target, with their imports
still open. `link --for` makes executables of them. Images that a target cannot run, or whose
specialization constants are to be set in SPIR-V, are left out, and named. `build` does both steps.

Objects for spir64_x86_64 are what Intel's CPU driver compiles (clCompileProgram). Objects for
Intel GPUs are what Intel's GPU driver makes of SPIR-V there: the module with its options, from
which `link` makes the code.

Options are those of `build`: --options and --link-options after the images' own, values of
specialization constants, rules of a file. An object holds the options that it was compiled with.

Examples:
  sycl-bundle compile a.spv b.spv -t spir64_x86_64 -o objects.table
  sycl-bundle compile a.spv b.spv -t spir64_x86_64,pvc --options -cl-mad-enable -o objects.table
  sycl-bundle link objects.table --for spir64_x86_64,pvc -o whole.table

Exit status:
  2  an image is not in state `input`
  4  some image did not compile; the others are written
  5  there is no driver
  6  there is nothing that can be compiled";

/// Compile SPIR-V images to objects of devices, imports open
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Inputs, as `wrap` takes them
    #[arg(value_name = "INPUT", required_unless_present = "example_policy")]
    files: Vec<PathBuf>,
    /// The targets to compile for: spir64_x86_64 and Intel GPUs
    #[arg(
        short = 't',
        long = "target",
        visible_alias = "for",
        value_name = "TARGET",
        value_delimiter = ',',
        required_unless_present = "example_policy"
    )]
    targets: Vec<String>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "example_policy")]
    output: Option<PathBuf>,
    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.recipe.example_policy {
            return out.schema(crate::policy::rules::EXAMPLE);
        }
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        let wanted = self.compiler.targets(global, &self.configs, &self.targets)?;
        let recipes = self.recipe.load(global, &*self.configs.table(global)?)?;
        let offline = OfflineArgs::default();
        let compiling = Compiling {
            files: &self.files,
            selector: &self.selection.selector()?,
            wanted: &wanted,
            recipes: &recipes,
            form: &self.form.form_for(&self.files, output)?,
            output,
            compiler: &self.compiler.start(global, &offline),
        };
        compiling.run(global)
    }
}

/// Seconds that one image may take in one attempt.
const PATIENCE: u64 = 120;
/// Lines of a build log that are shown with a failure.
const LOG_LINES: usize = 8;

/// Options about the driver and its workers.
#[derive(Debug, clap::Args)]
pub(crate) struct CompilerArgs {
    /// The instruction set of native CPU code, by the names of opencl-aot; by default avx2
    #[arg(long, value_name = "NAME")]
    march: Option<String>,
    /// The number of worker processes; by default as many as there are cores
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one image may take in one attempt; by default 120
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<NonZeroUsize>,
    #[command(flatten)]
    install: InstallArgs,
}

impl CompilerArgs {
    /// Returns the targets that objects are made for, by their spellings.
    ///
    /// # Errors
    /// `Usage` for what is no target, or one that has no objects.
    pub(crate) fn targets(
        &self,
        global: &Global,
        configs: &DeviceConfigs,
        spellings: &[String],
    ) -> Result<Vec<Wanted>> {
        let table = configs.table(global)?;
        let asked =
            Asked { targets: spellings, devices: &|_| Ok(Vec::new()), march: self.march.as_deref(), ptx: false };
        let wanted = wanted::wanted(global, &table, &asked)?;
        if let Some(other) = wanted.iter().find(|wanted| wanted.target.is_nvidia()) {
            let message = format!("there are no objects for {}: what is linked for it is SPIR-V", other.target.name);
            let remedy = "link the SPIR-V images, and `build` the result";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        }
        Ok(wanted)
    }

    /// Refuses what was said where there is no target to compile for.
    ///
    /// # Errors
    /// `Usage` where something was said.
    pub(crate) fn refuse(&self) -> Result<()> {
        if self.march.is_none() && self.jobs.is_none() && self.timeout.is_none() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Usage, "--march, --jobs and --timeout are for a device's compiler");
        Err(error.with_remedy(format!("say for which target: --for {CPU_SPEC}")))
    }

    /// The compilers, with these options.
    pub(crate) fn start<'c>(&'c self, global: &'c Global, offline: &'c OfflineArgs) -> Workers<'c> {
        Workers { global, offline, args: self }
    }
}

/// Compilers in worker processes.
pub(crate) struct Workers<'c> {
    global: &'c Global,
    offline: &'c OfflineArgs,
    args: &'c CompilerArgs,
}

impl DeviceCompiler for Workers<'_> {
    fn engine(&self, target: &Target) -> Result<Engine> {
        engine(target, self.offline)
    }

    fn run(
        &self,
        targets: &[Target],
        jobs: Vec<Job<'_>>,
        name: &dyn Fn(Unit) -> String,
    ) -> Result<(Vec<Binary>, bool)> {
        if jobs.is_empty() {
            return Ok((Vec::new(), false));
        }
        if jobs.iter().any(|job| targets.get(job.target).is_some_and(|target| target.march().is_some())) {
            self.args.install.apply()?;
        }
        let timeout = Duration::from_secs(self.args.timeout.map_or(PATIENCE, |seconds| seconds.get() as u64));
        let engines = targets.iter().map(|target| self.engine(target)).collect::<Result<Vec<_>>>()?;
        let order = CompileOptions {
            targets,
            engines: &engines,
            settings: &|| settings(self.args.jobs).within(timeout),
            patience: timeout.min(STARTUP),
            environment: &[],
            cache: None,
            shard: None,
            fold: false,
            share: false,
        };
        let done = compile(self.global, &order, jobs, &mut Watched::new(self.global, &mut Watch::default(), name))?;
        for failure in &done.failures {
            self.global.error(&told(failure).context(name(failure.unit())));
        }
        let failed = !done.failures.is_empty();
        Ok((done.compiled, failed))
    }
}

/// A failure with the beginning of its log.
fn told(failure: &Failure) -> Error {
    let log: Vec<&str> = failure.log.lines().filter(|line| !line.trim().is_empty()).take(LOG_LINES).collect();
    let said = if log.is_empty() { String::new() } else { format!("; it said: {}", log.join("\n")) };
    Error::new(ErrorKind::Build, format!("{failure}{said}"))
}
