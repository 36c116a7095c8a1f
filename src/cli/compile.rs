//! `compile`: how does SPIR-V become objects of a device?

use super::build::{RecipeArgs, engine, settings};
use super::device_config::DeviceConfigs;
use super::driver::InstallArgs;
use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::progress::Watched;
use super::selection::Selection;
use super::worker::OfflineArgs;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sycl_bundle::build::compile::{Binary, CompileOptions, compile};
use sycl_bundle::build::plan::Goal;
use sycl_bundle::build::plans::{self, Numbers, Plans};
use sycl_bundle::build::target::{Backend, CPU_SPEC, Target};
use sycl_bundle::build::wanted::{self, Asked, Wanted, describe};
use sycl_bundle::build::{Failure, Job, Settings, Unit};
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::{Image, State};
use sycl_bundle::compat::examine::{Examined, examine_image};
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::files::emit;
use sycl_bundle::files::gather::{Gathered, gather_code};
use sycl_bundle::native::opencl_elf::spirv_object;
use sycl_bundle::report::costs::Watch;
use sycl_bundle::report::units::{bytes, counted};
use sycl_bundle::rewrite::embed::FORMAT_NATIVE;
use sycl_bundle::rewrite::link::list_symbols;
use sycl_bundle::rewrite::prepare::{retarget, text};
use sycl_bundle::rewrite::specialize;

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
pub struct Args {
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
    pub fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.recipe.example_policy {
            return out.schema(sycl_bundle::policy::rules::EXAMPLE);
        }
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        let wanted = self.compiler.targets(global, &self.configs, &self.targets)?;
        let recipes = self.recipe.load(global, &*self.configs.table(global)?)?;
        let form = self.form.form_for(&self.files, output)?;
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather_code(global, &self.files, &self.selection.selector()?, &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        gathered.images.iter_mut().try_for_each(|image| list_symbols(&arena, image))?;
        let examined = inputs(&gathered)?;
        let mut plans = plans::plans(global, &wanted, &examined, Goal::Objects, (&recipes, &Numbers::default()))?;
        let labels: HashMap<usize, &str> =
            gathered.images.iter().zip(&gathered.labels).map(|(image, label)| (image.index, label.as_str())).collect();
        let name = |(image, target): Unit| {
            let label = labels.get(&image).copied().unwrap_or_default();
            match wanted.get(target).filter(|_| wanted.len() > 1) {
                Some(wanted) => format!("{label} for {}", describe(&wanted.target)),
                None => label.to_owned(),
            }
        };
        tell(global, &plans, &name);
        let jobs = std::mem::take(&mut plans.jobs);
        if jobs.is_empty() {
            let names: Vec<&str> = wanted.iter().map(|wanted| wanted.target.name.as_str()).collect();
            let message = format!("no image can be compiled for {}", names.join(", "));
            return Err(Error::new(ErrorKind::NoDeviceCode, message));
        }
        // What an object was compiled with is said beside it.
        let mut options = HashMap::new();
        for job in &jobs {
            options.insert(job.unit(), (text(&arena, &job.compile_options)?, text(&arena, &job.link_options)?));
        }
        let targets: Vec<Target> = wanted.iter().map(|wanted| wanted.target.clone()).collect();
        let of_gpu = |job: &Job<'_>| targets.get(job.target).is_some_and(is_offline);
        let (of_gpus, jobs): (Vec<Job<'_>>, Vec<Job<'_>>) = jobs.into_iter().partition(of_gpu);
        let (made, failed) = self.compiler.run(global, (&targets, &OfflineArgs::default()), jobs, &name)?;
        let mut objects: HashMap<Unit, Vec<u8>> = made.into_iter().map(|made| (made.unit(), made.bytes)).collect();
        objects.extend(of_gpus.iter().map(|job| (job.unit(), spirv_object(&job.il, &job.compile_options))));
        let mut made = Vec::new();
        for image in &gathered.images {
            for (place, target) in targets.iter().enumerate() {
                let unit = (image.index, place);
                let Some(object) = objects.remove(&unit) else { continue };
                let declared = Declared::from(FORMAT_NATIVE);
                let (compile_options, link_options) = options.get(&unit).copied().unwrap_or_default();
                let stored = arena.keep(object)?;
                let mut object = Image { declared, stored, compile_options, link_options, ..image.clone() };
                retarget(&arena, &mut object, text(&arena, target.compile_target.as_deref().unwrap_or(target.spec))?)?;
                let constants = plans::addition(target, unit, &plans, &[]).constants;
                object.properties = specialize::properties(&arena, &object.properties, constants)?;
                made.push(object);
            }
        }
        if made.is_empty() {
            return Ok(Exit::Build);
        }
        if targets.len() > 1 {
            made.iter_mut().enumerate().for_each(|(number, object)| object.index = number);
        }
        let count = counted(made.len(), "object");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(global, &form, made, &gathered.origin, output, &paths)?;
        global.note(&format!("{count}, {}, written to {} ({})", bytes(total), output.display(), form.emit.name()));
        Ok(if failed { Exit::Build } else { gathered.exit })
    }
}

/// Examines the images, all of which have to be in state `input`.
fn inputs<'g, 'k>(gathered: &'g Gathered<'k>) -> Result<Vec<Examined<'g, 'k>>> {
    let epoch = if gathered.origin.abi.is_none_or(|abi| abi >= 9) { Epoch::From2026 } else { Epoch::From2023 };
    let mut all = Vec::with_capacity(gathered.images.len());
    for (image, label) in gathered.images.iter().zip(&gathered.labels) {
        let examined = examine_image(image, epoch);
        if examined.state != State::Input {
            let message = format!(
                "this is in state `{}`, and what is compiled is in state `input` (SYCL: errc::invalid)",
                examined.state.name()
            );
            let error = Error::new(ErrorKind::Usage, message).context(label.clone());
            return Err(error.with_remedy("select images with --state input"));
        }
        all.push(examined);
    }
    Ok(all)
}

/// Says which images are left out, and which options.
fn tell(global: &Global, plans: &Plans<'_>, name: &dyn Fn(Unit) -> String) {
    for (target, plan) in plans.each.iter().enumerate() {
        let staying = plan.staying.iter().map(|(image, stay)| (*image, stay.to_string()));
        let skipped = plan.skipped.iter().map(|(image, finding)| (*image, finding.message.clone()));
        for (image, reason) in staying.chain(skipped) {
            global.note(&format!("{} is left out: {reason}", name((image, target))));
        }
        tell_refused(global, &plan.refused_options);
    }
    for problem in &plans.problems {
        global.error(&problem.error.clone().context(name((problem.image.unwrap_or(0), 0))));
    }
}

/// Says which options the compilers do not get, with the numbers of the images that have them.
pub fn tell_refused(global: &Global, refused: &BTreeMap<String, usize>) {
    for (option, images) in refused {
        global.note(&format!(
            "option {} is not known to be harmless and was left out ({}; --trust-options gives it to the compiler)",
            option.escape_debug(),
            counted(*images, "image")
        ));
    }
}

fn is_offline(target: &Target) -> bool {
    matches!(target.backend, Backend::Ocloc { .. })
}

/// Seconds that one image may take in one attempt.
const PATIENCE: u64 = 120;
/// Lines of a build log that are shown with a failure.
const LOG_LINES: usize = 8;

/// Options about the driver and its workers.
#[derive(Debug, clap::Args)]
pub struct CompilerArgs {
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
    pub fn targets(&self, global: &Global, configs: &DeviceConfigs, spellings: &[String]) -> Result<Vec<Wanted>> {
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
    pub fn refuse(&self) -> Result<()> {
        if self.march.is_none() && self.jobs.is_none() && self.timeout.is_none() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Usage, "--march, --jobs and --timeout are for a device's compiler");
        Err(error.with_remedy(format!("say for which target: --for {CPU_SPEC}")))
    }

    /// Runs jobs in worker processes; gives what was made, and whether some failed, which has been told.
    ///
    /// # Errors
    /// `Environment` where the machine cannot compile at all.
    pub fn run(
        &self,
        global: &Global,
        (targets, offline): (&[Target], &OfflineArgs),
        jobs: Vec<Job<'_>>,
        name: &dyn Fn(Unit) -> String,
    ) -> Result<(Vec<Binary>, bool)> {
        if jobs.is_empty() {
            return Ok((Vec::new(), false));
        }
        if jobs.iter().any(|job| targets.get(job.target).is_some_and(|target| target.march().is_some())) {
            self.install.apply()?;
        }
        let timeout = Duration::from_secs(self.timeout.map_or(PATIENCE, |seconds| seconds.get() as u64));
        let engines = targets.iter().map(|target| engine(target, offline)).collect::<Result<Vec<_>>>()?;
        let order = CompileOptions {
            targets,
            engines: &engines,
            settings: &|| Settings { timeout, ..settings(self.jobs) },
            environment: &[],
            cache: None,
            shard: None,
            fold: false,
            share: false,
        };
        let done = compile(global, &order, jobs, &mut Watched::new(global, &mut Watch::default(), name))?;
        for failure in &done.failures {
            global.error(&told(failure).context(name(failure.unit())));
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
