//! How do the planned modules become binaries: out of the cache, else by the driver?

use crate::cli::cache;
use crate::cli::global::Global;
use crate::cli::interrupt;
use crate::cli::jobserver::Jobserver;
use crate::cli::progress::Progress;
use crate::cli::worker;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;
use sycl_bundle::build::cache::{Cache, Compiler, Keys};
use sycl_bundle::build::fold::{Apart, Folding};
use sycl_bundle::build::plan::CPU_TARGET;
use sycl_bundle::build::{self as pool, Event, Failure, Inventory, Job, Launch, Outcome, Settings};
use sycl_bundle::device::cpu::CpuArch;
use sycl_bundle::error::{Error, ErrorKind, Result};

/// A compiled image: its index, and its device binary.
pub type Binary = (usize, Vec<u8>);

/// How long the driver may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be done.
pub struct Order<'o> {
    /// The instruction set.
    pub march: CpuArch,
    /// The number of workers, where the user says.
    pub jobs: Option<NonZeroUsize>,
    /// How long one image may take in one attempt.
    pub timeout: Duration,
    /// Where binaries are kept; none for no cache.
    pub cache: Option<&'o Cache>,
    /// Which part of the modules is compiled, of how many.
    pub shard: Option<Shard>,
    /// Whether modules that are the same code but for names are compiled once.
    pub fold: bool,
}

/// One of several parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Shard {
    /// `I/N`, I from 1 to N.
    ///
    /// # Errors
    /// A sentence for clap.
    pub fn parse(text: &str) -> std::result::Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index @ 1.., count)) if index <= count => Ok(Shard { index: index - 1, count }),
            _ => Err("the number of a part and of all parts: 1/4 to 4/4".to_owned()),
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Done {
    /// Binaries by image, in the order of the jobs.
    pub compiled: Vec<Binary>,
    /// What did not build.
    pub failures: Vec<Failure>,
    /// How many of the binaries were in the cache.
    pub cached: usize,
    /// How many were made of another's binary.
    pub folded: usize,
    /// Those that are the same code as another and were compiled all the same, by the reason.
    pub apart: BTreeMap<Apart, usize>,
    /// How many jobs belong to other shards.
    pub elsewhere: usize,
    /// Files of the OpenCL installation, as far as they are known.
    pub libraries: Vec<PathBuf>,
}

/// Compiles. `name` says what an image is called in messages.
///
/// # Errors
/// `Environment` where the machine cannot compile; `Build` where the user ended it.
pub fn compile(global: &Global, order: &Order<'_>, jobs: Vec<Job<'_>>, name: &dyn Fn(usize) -> String) -> Result<Done> {
    let mut done = Done::default();
    if jobs.is_empty() {
        return Ok(done);
    }
    let launch = worker::launch(Some(order.march))?;
    let places: HashMap<usize, usize> = jobs.iter().enumerate().map(|(place, job)| (job.image, place)).collect();
    let folding = if order.fold { Folding::of(&jobs) } else { Folding::default() };
    let mut keys: HashMap<usize, Keys> = HashMap::new();
    if order.cache.is_some() || order.shard.is_some() {
        let inventory = pool::inventory(&launch, PATIENCE)?;
        done.libraries = libraries(&inventory);
        let compiler = compiler(&inventory, order.march, &launch.env);
        keys = jobs.iter().map(|job| (job.image, Keys::of(&compiler, job, &folding))).collect();
    }
    let mut left = Vec::new();
    for job in jobs {
        let key = keys.get(&job.image);
        if order.shard.is_some_and(|shard| key.is_some_and(|key| key.first().shard(shard.count) != shard.index)) {
            done.elsewhere = done.elsewhere.saturating_add(1);
            continue;
        }
        match key.and_then(|key| key.get(order.cache?)) {
            Some(binary) if CpuArch::of_binary(&binary) == Some(order.march) => {
                done.cached = done.cached.saturating_add(1);
                done.compiled.push((job.image, binary));
            }
            _ => left.push(job),
        }
    }
    done.apart = folding.apart.clone();
    let (leaders, mut followers) = folding.group(left);
    let mut run = Run { global, order, launch: &launch, keys: &keys, name, kept: 0 };
    let mut again = Vec::new();
    for outcome in run.all(&leaders)? {
        let image = outcome.as_ref().map_or_else(|failure| failure.image, |artifact| artifact.image);
        for job in followers.remove(&image).unwrap_or_default() {
            match folding.follow(&outcome, &job) {
                Ok(outcome) => {
                    done.folded = done.folded.saturating_add(usize::from(outcome.is_ok()));
                    done.take(outcome, order.march)?;
                }
                Err(apart) => {
                    let count = done.apart.entry(apart).or_default();
                    *count = count.saturating_add(1);
                    again.push(job);
                }
            }
        }
        done.take(outcome, order.march)?;
    }
    for outcome in run.all(&again)? {
        done.take(outcome, order.march)?;
    }
    done.compiled.sort_by_key(|(image, _)| places.get(image).copied());
    done.failures.sort_by_key(|failure| places.get(&failure.image).copied());
    if let (Some(cache), 1..) = (order.cache, run.kept)
        && let Err(error) = cache.collect(cache::limit()?)
    {
        global.detail(&error.to_string());
    }
    Ok(done)
}

impl Done {
    /// Adds what became of one job.
    fn take(&mut self, outcome: Outcome, march: CpuArch) -> Result<()> {
        match outcome {
            Ok(artifact) => {
                check_march(&artifact.binary, march)?;
                self.compiled.push((artifact.image, artifact.binary));
            }
            Err(failure) => self.failures.push(failure),
        }
        Ok(())
    }
}

/// Modules on their way through the driver.
struct Run<'r> {
    global: &'r Global,
    order: &'r Order<'r>,
    launch: &'r Launch,
    keys: &'r HashMap<usize, Keys>,
    name: &'r dyn Fn(usize) -> String,
    /// How many binaries the cache got.
    kept: usize,
}

impl Run<'_> {
    /// Compiles modules, and keeps what comes of each at once: a build that is killed has what it compiled until then.
    fn all(&mut self, jobs: &[Job<'_>]) -> Result<Vec<Outcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let interrupted = interrupt::interrupted();
        let settings = Settings {
            timeout: self.order.timeout,
            tokens: Jobserver::from_environment(),
            interrupted: Some(interrupted.clone()),
            ..Settings::new(self.order.jobs.unwrap_or(cores))
        };
        let mut progress = Progress::new(self.global, jobs.len());
        let (mut unkept, mut finished) = (None, 0usize);
        let outcomes = pool::run(jobs, self.launch, &settings, &mut |event| {
            if let Event::Finished(artifact) = &event {
                finished = finished.saturating_add(1);
                if let (Some(cache), Some(key), None) = (self.order.cache, self.keys.get(&artifact.image), &unkept)
                    && CpuArch::of_binary(&artifact.binary) == Some(self.order.march)
                {
                    match key.put(cache, &artifact.binary) {
                        Ok(()) => self.kept = self.kept.saturating_add(1),
                        Err(error) => unkept = Some(error),
                    }
                }
            }
            progress.on(&event, self.name);
        });
        progress.finish();
        if let Some(error) = unkept {
            self.global.note(&format!("{error}; the build goes on without keeping more"));
        }
        if interrupted.load(Ordering::Relaxed) {
            let (all, kept) = (jobs.len(), self.kept);
            let message = format!("interrupted: {finished} of {all} images compiled, {kept} of them kept in the cache");
            let remedy = if kept > 0 { "run the same command again to go on" } else { "run it again" };
            return Err(Error::new(ErrorKind::Build, message).with_remedy(remedy));
        }
        outcomes
    }
}

/// A binary without a record of its set is taken as it is.
fn check_march(binary: &[u8], march: CpuArch) -> Result<()> {
    match CpuArch::of_binary(binary) {
        Some(found) if found != march => {
            let message = format!("the driver compiled for {found}, not for {march}");
            Err(Error::new(ErrorKind::Environment, message)
                .with_remedy("unset CL_CONFIG_CPU_TARGET_ARCH in the configuration of the driver (cl.cfg)"))
        }
        _ => Ok(()),
    }
}

/// The driver that a worker will use, and what it reads.
fn compiler(inventory: &Inventory, march: CpuArch, env: &[(std::ffi::OsString, std::ffi::OsString)]) -> Compiler {
    let device = inventory.devices.iter().find(|device| device.compiles);
    let identity = device.map(|device| {
        [&device.platform, &device.vendor, &device.name, &device.driver, &device.opencl].map(String::clone).to_vec()
    });
    // Settings of the driver and of the compiler in it; which driver is chosen shows in its identity.
    let read = |name: &str| ["CL_CONFIG_", "VOLCANO_", "IGC_"].iter().any(|prefix| name.starts_with(prefix));
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let own = std::env::vars_os().filter(|(name, _)| env.iter().all(|(set, _)| set != name));
    let mut environment: Vec<(String, String)> = own
        .chain(env.iter().cloned())
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| read(name))
        .collect();
    environment.sort();
    Compiler {
        target: CPU_TARGET.to_owned(),
        architecture: march.name().to_owned(),
        identity: identity.unwrap_or_default(),
        environment,
    }
}

/// The loader, and the drivers that the user names by their files.
fn libraries(inventory: &Inventory) -> Vec<PathBuf> {
    let named = std::env::var_os("OCL_ICD_FILENAMES").unwrap_or_default();
    let named = std::env::split_paths(&named).collect::<Vec<_>>();
    let all = std::iter::once(Path::new(&inventory.loader)).chain(named.iter().map(PathBuf::as_path));
    all.filter(|path| path.is_absolute() && path.is_file()).map(Path::to_path_buf).collect()
}
