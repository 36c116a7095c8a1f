//! How does a verb have the CPU driver compile and link?

use super::build::compile::{CompileOptions, compile};
use super::build::watch::Watch;
use super::driver::InstallArgs;
use super::exit::report;
use super::global::Global;
use std::num::NonZeroUsize;
use std::time::Duration;
use sycl_bundle::build::target::{CPU_SPEC, Target};
use sycl_bundle::build::{Failure, Job, RETRIES};
use sycl_bundle::device::cpu::{self, CpuArch};
use sycl_bundle::error::{Error, ErrorKind, Result};

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
        let order = CompileOptions {
            targets: &targets,
            ocloc: None,
            jobs: self.jobs,
            timeout,
            retries: RETRIES,
            cache: None,
            shard: None,
            fold: false,
            fail_fast: false,
            memory: None,
        };
        let done = compile(global, &order, jobs, &|(image, _)| name(image), &mut Watch::default())?;
        for failure in &done.failures {
            report(global, &told(failure).context(name(failure.image)));
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
