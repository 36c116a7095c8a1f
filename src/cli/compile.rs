//! `compile`: how does SPIR-V become objects of a device?

use super::build::{engine, settings};
use super::driver::InstallArgs;
use super::emit::{self, EmitArgs};
use super::global::Global;
use super::progress::Watched;
use super::selection::Selection;
use super::worker::OfflineArgs;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sycl_bundle::build::compile::{CompileOptions, compile};
use sycl_bundle::build::options::{self, Given};
use sycl_bundle::build::target::{CPU_SPEC, Target};
use sycl_bundle::build::{Failure, Job, Settings, Step, Unit};
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::{Image, State};
use sycl_bundle::compat::examine::examine_image;
use sycl_bundle::compat::native::cannot_compile;
use sycl_bundle::container::arena::Arena;
use sycl_bundle::device::cpu::{self, CpuArch};
use sycl_bundle::error::Exit;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::gather::gather_code;
use sycl_bundle::report::costs::Watch;
use sycl_bundle::report::units::{bytes, counted};
use sycl_bundle::rewrite::embed::FORMAT_NATIVE;
use sycl_bundle::rewrite::link::list_symbols;

const AFTER_HELP: &str = "\
Images in state `input` become images in state `object`: compiled (clCompileProgram), with their
imports still open. `link --for` makes executables of them. Images that the target cannot run, or
whose specialization constants are to be set in SPIR-V, are left out, and named. `build` does both
steps.

Examples:
  sycl-bundle compile a.spv b.spv -t spir64_x86_64 -o objects.table
  sycl-bundle link objects.table --for spir64_x86_64 -o whole.table

Exit status:
  2  an image is not in state `input`
  4  some image did not compile; the others are written
  5  there is no driver
  6  there is nothing that can be compiled";

/// Compile SPIR-V images to objects of a device, imports open
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Inputs, as `wrap` takes them
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The target to compile for
    #[arg(short = 't', long = "for", value_name = "TARGET", required = true)]
    device_target: String,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        self.compiler.check(Some(&self.device_target))?;
        let form = self.form.form_for(&self.files, &self.output)?;
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather_code(global, &self.files, &self.selection.selector()?, &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        gathered.images.iter_mut().try_for_each(|image| list_symbols(&arena, image))?;
        let epoch = if gathered.origin.abi.is_none_or(|abi| abi >= 9) { Epoch::From2026 } else { Epoch::From2023 };
        let mut jobs = Vec::new();
        let mut names = HashMap::new();
        for (image, label) in gathered.images.iter().zip(&gathered.labels) {
            let examined = examine_image(image, epoch);
            if examined.state != State::Input {
                let message = format!(
                    "this is in state `{}`, and what is compiled is in state `input` (SYCL: errc::invalid)",
                    examined.state.name()
                );
                let error = Error::new(ErrorKind::Usage, message).context(label);
                return Err(error.with_remedy("select images with --state input"));
            }
            if let Some(reason) = cannot_compile(&examined) {
                global.note(&format!("{label} is left out: {reason}"));
                continue;
            }
            names.insert(image.index, label.as_str());
            jobs.push(Job {
                image: image.index,
                il: image.contents()?,
                compile_options: options::for_cpu(Given::by_image(image.compile_options)).kept,
                link_options: String::new(),
                step: Step::Compile,
                ..Job::default()
            });
        }
        if jobs.is_empty() {
            let message = format!("no image can be compiled for {CPU_SPEC}");
            return Err(Error::new(ErrorKind::NoDeviceCode, message));
        }
        let name = |image: usize| names.get(&image).copied().unwrap_or_default().to_owned();
        let (binaries, failed) = self.compiler.run(global, jobs, &name)?;
        let mut binaries: HashMap<usize, Vec<u8>> = binaries.into_iter().collect();
        let mut made = Vec::new();
        for image in gathered.images {
            let Some(binary) = binaries.remove(&image.index) else { continue };
            let declared = Declared::from(FORMAT_NATIVE);
            made.push(Image { target: CPU_SPEC, declared, stored: arena.keep(binary)?, ..image });
        }
        if made.is_empty() {
            return Ok(Exit::Build);
        }
        let count = counted(made.len(), "object");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(global, &form, made, &gathered.origin, &self.output, &paths)?;
        global.note(&format!("{count}, {}, written to {} ({})", bytes(total), self.output.display(), form.emit.name()));
        Ok(if failed { Exit::Build } else { gathered.exit })
    }
}

/// Seconds that one image may take in one attempt.
const PATIENCE: u64 = 120;
/// Lines of a build log that are shown with a failure.
const LOG_LINES: usize = 8;

/// An image, and what was made of it.
pub type ByImage = (usize, Vec<u8>);

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
    /// Whether what was said makes sense: for a target that can be compiled for, or for none.
    ///
    /// # Errors
    /// `Usage` where it does not.
    pub fn check(&self, target: Option<&str>) -> Result<()> {
        let given = self.march.is_some() || self.jobs.is_some() || self.timeout.is_some();
        match target {
            None if given => {
                let error = Error::new(ErrorKind::Usage, "--march, --jobs and --timeout are for a device's compiler");
                Err(error.with_remedy(format!("say for which target: --for {CPU_SPEC}")))
            }
            Some(other) if other != CPU_SPEC => {
                let error = Error::new(ErrorKind::Usage, format!("`{other}` is no target that can be compiled for"));
                let remedy = format!("the target is `{CPU_SPEC}`: CPU devices, through Intel's OpenCL CPU driver");
                Err(error.with_remedy(remedy))
            }
            _ => self.march().map(|_| ()),
        }
    }

    /// The instruction set.
    ///
    /// # Errors
    /// `Usage` for a name that is none.
    pub fn march(&self) -> Result<CpuArch> {
        self.march.as_deref().map_or(Ok(cpu::DEFAULT), CpuArch::parse)
    }

    /// Runs jobs in worker processes; gives what was made by image, and whether some failed, which has been told.
    ///
    /// # Errors
    /// `Environment` where the machine cannot compile at all.
    pub fn run(
        &self,
        global: &Global,
        jobs: Vec<Job<'_>>,
        name: &dyn Fn(usize) -> String,
    ) -> Result<(Vec<ByImage>, bool)> {
        if jobs.is_empty() {
            return Ok((Vec::new(), false));
        }
        self.install.apply()?;
        let timeout = Duration::from_secs(self.timeout.map_or(PATIENCE, |seconds| seconds.get() as u64));
        let targets = [Target::cpu(self.march()?)];
        let engines =
            targets.iter().map(|target| engine(target, &OfflineArgs::default())).collect::<Result<Vec<_>>>()?;
        let order = CompileOptions {
            targets: &targets,
            engines: &engines,
            settings: &|| Settings { timeout, ..settings(self.jobs) },
            environment: &[],
            cache: None,
            shard: None,
            fold: false,
        };
        let name_of = |(image, _): Unit| name(image);
        let done = compile(global, &order, jobs, &mut Watched::new(global, &mut Watch::default(), &name_of))?;
        for failure in &done.failures {
            global.error(&told(failure).context(name(failure.image)));
        }
        let failed = !done.failures.is_empty();
        Ok((done.compiled.into_iter().map(|binary| (binary.image, binary.bytes)).collect(), failed))
    }
}

/// A failure with the beginning of its log.
fn told(failure: &Failure) -> Error {
    let log: Vec<&str> = failure.log.lines().filter(|line| !line.trim().is_empty()).take(LOG_LINES).collect();
    let said = if log.is_empty() { String::new() } else { format!("; it said: {}", log.join("\n")) };
    Error::new(ErrorKind::Build, format!("{failure}{said}"))
}
