//! How do the planned modules become binaries: out of the cache, else by their targets' compilers?

use super::cache::{Cache, Compiler, Key, Keys, fingerprint};
use super::environment::{decides_code, is_handed_on, is_opened};
use super::estimate::{self, Forecast, History};
use super::fold::{Apart, Folding};
use super::inventory::is_library;
use super::process::{drivers, library, offline_until};
use super::target::{Backend, Target};
use super::{
    self as pool, Artifact, Engine, Event, Failure, FailureCause, Inventory, Job, Offline, Open, Outcome, STARTUP,
    Settings, Unit, offline,
};
use crate::bundle::format::Format;
use crate::container::Place;
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Reporter, Result};
use crate::native::Native;
use crate::native::also_takes;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A compiled image.
#[derive(Debug, Clone)]
pub(crate) struct Binary {
    /// The image that it was compiled from.
    pub(crate) image: usize,
    /// The place of its target.
    pub(crate) target: usize,
    /// The device binary.
    pub(crate) bytes: Vec<u8>,
}

impl Binary {
    /// The image and the target.
    pub(crate) fn unit(&self) -> Unit {
        (self.image, self.target)
    }

    /// Facts that the binary states about itself.
    pub(crate) fn native(&self) -> Option<Native> {
        Native::read(&self.bytes, Format::sniff(&self.bytes), Place::file(0))
    }

    /// The GPU that code of a live device's driver is for, where it tells one, by the name of the device configuration.
    pub(crate) fn device(&self) -> Option<String> {
        let native = self.native()?;
        let devices = native.devices();
        let [only] = devices.as_slice() else { return None };
        only.starts_with("intel_gpu_").then(|| (*only).to_owned())
    }
}

/// The settings of a compilation.
pub(crate) struct CompileOptions<'o> {
    /// The targets that the jobs name by their places.
    pub(crate) targets: &'o [Target],
    /// The compilers of the targets, in their order.
    pub(crate) engines: &'o [Engine],
    /// Gives the settings of the workers, once there is something to compile.
    pub(crate) settings: &'o dyn Fn() -> Settings,
    /// Longest time that a compiler may take to tell about itself.
    pub(crate) patience: Duration,
    /// Variables of this process, of which its workers inherit those that drivers are known to read.
    pub(crate) environment: &'o [(OsString, OsString)],
    /// The cache of binaries; none where it is turned off.
    pub(crate) cache: Option<&'o Cache>,
    /// The share of the modules that is compiled.
    pub(crate) shard: Option<Shard>,
    /// Whether modules that are the same code but for names are compiled once.
    pub(crate) fold: bool,
    /// Whether GPUs that take another's code get that, and are not compiled for themselves.
    pub(crate) share: bool,
}

impl CompileOptions<'_> {
    /// Whether modules get keys, by which they are kept or shared out.
    fn has_keys(&self) -> bool {
        self.cache.is_some() || self.shard.is_some()
    }
}

/// One of several parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 0.
    pub(crate) index: u32,
    /// Number of parts.
    pub(crate) count: u32,
}

/// Looks on while modules are compiled.
pub(crate) trait Observer {
    /// A module is to be compiled, unless it is in the cache.
    fn begin(&mut self, job: &Job<'_>);

    /// A binary came out of the cache.
    fn cached(&mut self, unit: Unit, begun: Instant, binary: &[u8]);

    /// A module got what another's compilation came to.
    fn folded(&mut self, outcome: &Outcome, begun: Instant);

    /// Workers begin with so many modules, which will take a time.
    fn workers_begin(&mut self, modules: usize, forecast: Forecast);

    /// Something happened to a module in a worker.
    fn on(&mut self, event: &Event<'_>);

    /// Workers have ended.
    fn workers_end(&mut self);
}

/// The result of a compilation.
#[derive(Debug, Default)]
pub(crate) struct CompileResults {
    /// Binaries, in the order of the jobs.
    pub(crate) compiled: Vec<Binary>,
    /// Modules that did not build.
    pub(crate) failures: Vec<Failure>,
    /// Binaries that came out of the cache.
    pub(crate) cached: Vec<Unit>,
    /// Binaries that were made of another module's.
    pub(crate) folded: Vec<Unit>,
    /// Binaries that are those of the same image for another GPU.
    pub(crate) shared: Vec<Unit>,
    /// Numbers of modules that are the same code as another and were compiled all the same, by reason.
    pub(crate) apart: BTreeMap<Apart, usize>,
    /// Modules that belong to other shards.
    pub(crate) elsewhere: Vec<Unit>,
    /// Binaries that a driver made while a program ran.
    pub(crate) harvested: Vec<Unit>,
    /// Files of the compilers, as far as they are known.
    pub(crate) libraries: Vec<PathBuf>,
    /// Number of binaries that were put into the cache.
    pub(crate) kept: usize,
    /// Seconds that compiling was expected to take.
    pub(crate) expected: f64,
    /// Names and versions of the compilers, by the places of their targets, as far as they were asked.
    pub(crate) compilers: HashMap<usize, String>,
}

/// Finds jobs that are the same code, for targets whose code is known well enough to be renamed.
pub(crate) fn folding(fold: bool, targets: &[Target], jobs: &[Job<'_>]) -> Folding {
    let known =
        |target: &Target| matches!(target.backend, Backend::Cpu(_) | Backend::Ocloc { .. }) || target.march().is_some();
    let renamed = |place: usize| targets.get(place).is_some_and(known);
    if fold { Folding::new(jobs, &renamed) } else { Folding::default() }
}

/// Compiles.
///
/// # Errors
/// `Environment` where the machine cannot compile; `Build` where the user ended it, or the first image that did not build.
pub(crate) fn compile(
    reporter: &dyn Reporter,
    order: &CompileOptions<'_>,
    mut jobs: Vec<Job<'_>>,
    observer: &mut dyn Observer,
) -> Result<CompileResults> {
    let mut done = CompileResults::default();
    if jobs.is_empty() {
        return Ok(done);
    }
    if order.cache.is_some() {
        // A mapped input may change until a worker takes it. A key is of the very bytes that are compiled.
        jobs.iter_mut().for_each(Job::own);
    }
    let places: HashMap<Unit, usize> = jobs.iter().enumerate().map(|(place, job)| (job.unit(), place)).collect();
    let mut folding = folding(order.fold, order.targets, &jobs);
    let mut known = Prepared::default();
    known.wanted.extend(jobs.iter().map(|job| job.target));
    let Identities { compilers, libraries, engines, programs } = identify(order, &known.wanted)?;
    done.libraries = libraries;
    done.compilers = names(&compilers);
    if order.has_keys() {
        let key = |job: &Job<'_>| Some((job.unit(), Keys::for_job(compilers.get(&job.target)?, job, &folding)));
        known.keys = jobs.iter().filter_map(key).collect();
    }
    (known.compilers, known.engines, known.programs) = (compilers, engines, programs);
    let (jobs, sharing) = if order.share { share(order.targets, jobs) } else { (jobs, Vec::new()) };
    compile_all(reporter, order, (&mut known, &mut folding), (jobs, &mut done), observer)?;
    let mut left = Vec::new();
    for (job, leader) in sharing {
        let binary = done.compiled.iter().find(|binary| binary.unit() == leader);
        match binary.filter(|binary| job.flaw(&binary.bytes).is_none()).map(|binary| binary.bytes.clone()) {
            Some(bytes) => {
                done.shared.push(job.unit());
                done.compiled.push(Binary { image: job.image, target: job.target, bytes });
            }
            None if done.elsewhere.contains(&leader) => done.elsewhere.push(job.unit()),
            None => left.push(job),
        }
    }
    compile_all(reporter, order, (&mut known, &mut folding), (left, &mut done), observer)?;
    done.apart = folding.apart;
    done.failures.sort_by_key(|failure| places.get(&failure.unit()).copied());
    done.compiled.sort_by_key(|binary| places.get(&binary.unit()).copied());
    Ok(done)
}

/// Facts about jobs and their compilers before any is compiled.
#[derive(Debug, Default)]
struct Prepared {
    keys: HashMap<Unit, Keys>,
    /// Places of the targets that there are jobs for, and their compilers.
    wanted: BTreeSet<usize>,
    compilers: HashMap<usize, Compiler>,
    /// Engines in the order of the targets, with all that their workers need and may read.
    engines: Vec<Engine>,
    /// Programs that compile and are still to be asked once more, by the places of their targets.
    programs: BTreeMap<usize, Program>,
}

impl Prepared {
    /// Asks compilers that are programs for their versions again, now that their workers read what lies around them alone. A
    /// script that cannot read its compiler may fail, or find another one.
    ///
    /// # Errors
    /// `Environment` where one does not answer, or tells another version.
    fn confirm_programs(&mut self, timeout: Duration, stops: &dyn Fn() -> bool) -> Result<()> {
        let mut same: Vec<&Engine> = Vec::new();
        for (place, program) in std::mem::take(&mut self.programs) {
            let Some(engine) = self.engines.get(place) else { continue };
            if same.contains(&engine) {
                continue;
            }
            // Asked about a device, it does not look for its files again.
            let version = offline_until(engine, &[&program.device], timeout, stops)?.version;
            if version != program.version {
                return Err(program.unlike(&version));
            }
            same.push(engine);
        }
        Ok(())
    }

    /// Has the engines get the library that kernels for NVIDIA GPUs call: out of the cache, or of a worker that gets no module.
    ///
    /// # Errors
    /// `Environment` where it cannot be made.
    fn make_libraries(
        &mut self,
        reporter: &dyn Reporter,
        order: &CompileOptions<'_>,
        timeout: Duration,
        stops: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut made: Vec<(&Engine, Arc<[u8]>)> = Vec::new();
        for (place, (own, engine)) in order.engines.iter().zip(&mut self.engines).enumerate() {
            let Open::Nvidia(places) = &mut engine.open else { continue };
            if !self.wanted.contains(&place) || places.library.is_some() {
                continue;
            }
            if let Some((_, library)) = made.iter().find(|(other, _)| *other == own) {
                places.library = Some(Arc::clone(library));
                continue;
            }
            let kept = order.cache.zip(self.compilers.get(&place).map(|compiler| Key::for_library(&compiler.identity)));
            let library: Arc<[u8]> = kept_library(reporter, own, kept, timeout, stops)?.into();
            places.library = Some(Arc::clone(&library));
            made.push((own, library));
        }
        Ok(())
    }
}

/// Returns the library that kernels for NVIDIA GPUs call: out of a cache, or of a worker that gets no module.
fn kept_library(
    reporter: &dyn Reporter,
    engine: &Engine,
    kept: Option<(&Cache, Key)>,
    timeout: Duration,
    stops: &dyn Fn() -> bool,
) -> Result<Vec<u8>> {
    if let Some(library) = kept.and_then(|(cache, key)| cache.get(&key)) {
        return Ok(library);
    }
    let library = library(engine, timeout, stops)?;
    if let Some(Err(error)) = kept.map(|(cache, key)| cache.put(&key, &library)) {
        reporter.detail(&error.to_string());
    }
    Ok(library)
}

/// Asks the compiler for NVIDIA GPUs what it is like, and has it make what it needs, unless that is kept.
///
/// # Errors
/// `Environment` where something is missing, or does not work.
pub(crate) fn try_nvidia(reporter: &dyn Reporter, engine: &Engine, cache: Option<&Cache>) -> Result<Offline> {
    let answer = offline(engine, &[], STARTUP)?;
    let prints = prints_of(&answer)?;
    let key = Key::for_library(&identity("ptxas", &answer, &prints));
    kept_library(reporter, engine, cache.map(|cache| (cache, key)), STARTUP, &|| false)?;
    Ok(answer)
}

/// Returns the digests of an offline compiler's files. Where not all are known, nothing of another run is taken for what it compiles.
///
/// # Errors
/// Errors of [`fingerprint`].
fn prints_of(offline: &Offline) -> Result<Vec<String>> {
    let mut prints = fingerprints(&offline.files)?;
    if offline.unsure {
        prints.push(format!("{:x}", RandomState::new().hash_one(())));
    }
    Ok(prints)
}

/// Returns the digests of a compiler's files, in the same order wherever these lie.
///
/// # Errors
/// Errors of [`fingerprint`].
fn fingerprints(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut prints = files.iter().map(|file| fingerprint(file)).collect::<Result<Vec<String>>>()?;
    prints.sort();
    Ok(prints)
}

/// Returns the words that tell an offline compiler from others.
fn identity(compiler: &str, answer: &Offline, prints: &[String]) -> Vec<String> {
    [compiler, &answer.version].into_iter().map(str::to_owned).chain(prints.iter().cloned()).collect()
}

/// Parts jobs for GPUs that take the code of another GPU named, of the same module and options, from all others; each with
/// the unit of which it gets the binary.
fn share<'j>(targets: &[Target], jobs: Vec<Job<'j>>) -> (Vec<Job<'j>>, Vec<(Job<'j>, Unit)>) {
    let leader = |target: &Target| {
        let other = also_takes(target.compile_target.as_deref()?)?;
        targets.iter().position(|one| is_offline(one) && one.compile_target.as_deref() == Some(other))
    };
    let leaders: Vec<Option<usize>> =
        targets.iter().map(|target| leader(target).filter(|_| is_offline(target))).collect();
    let (mut own, mut follow) = (Vec::new(), Vec::new());
    for job in jobs {
        match leaders.get(job.target).copied().flatten() {
            Some(target) => follow.push((job, target)),
            None => own.push(job),
        }
    }
    let by_unit: HashMap<Unit, usize> = own.iter().enumerate().map(|(place, job)| (job.unit(), place)).collect();
    let mut sharing = Vec::new();
    for (job, target) in follow {
        let leader = by_unit.get(&(job.image, target)).and_then(|place| own.get(*place));
        let alike = |leader: &&Job<'j>| {
            let options = |job: &Job<'j>| (job.compile_options.clone(), job.link_options.clone());
            leader.il == job.il && options(leader) == options(&job)
        };
        match leader.filter(alike).map(Job::unit) {
            Some(leader) => sharing.push((job, leader)),
            None => own.push(job),
        }
    }
    (own, sharing)
}

/// Whether a target's compiler is ocloc.
fn is_offline(target: &Target) -> bool {
    matches!(target.backend, Backend::Ocloc { .. })
}

/// Takes what is in the cache, and has workers compile the rest. Of modules that are the same code one is compiled; where it
/// does not build, the next is tried under its own name, and the others fail as these two did.
fn compile_all(
    reporter: &dyn Reporter,
    order: &CompileOptions<'_>,
    (known, folding): (&mut Prepared, &mut Folding),
    (jobs, done): (Vec<Job<'_>>, &mut CompileResults),
    observer: &mut dyn Observer,
) -> Result<()> {
    let mut left = Vec::new();
    for job in jobs {
        let key = known.keys.get(&job.unit());
        if order.shard.is_some_and(|shard| key.is_some_and(|key| key.first().shard(shard.count) != shard.index)) {
            done.elsewhere.push(job.unit());
            continue;
        }
        observer.begin(&job);
        let looked = Instant::now();
        match key.and_then(|key| key.get(order.cache?)) {
            Some(bytes) if is_for(order.targets, job.target, &bytes) && job.flaw(&bytes).is_none() => {
                observer.cached(job.unit(), looked, &bytes);
                done.cached.push(job.unit());
                done.compiled.push(Binary { image: job.image, target: job.target, bytes });
            }
            _ => left.push(job),
        }
    }
    let (mut leaders, mut followers) = folding.group(left);
    // Of each that is tried after another of the same code, the cause for which that did not build.
    let mut earlier: HashMap<Unit, FailureCause> = HashMap::new();
    while !leaders.is_empty() {
        let outcomes = run(reporter, order, &leaders, known, done, observer)?;
        let mut next = Vec::new();
        for (outcome, leader) in outcomes.into_iter().zip(&leaders) {
            let before = earlier.remove(&leader.unit());
            let mut rest = followers.remove(&leader.unit()).unwrap_or_default();
            let cause = outcome.as_ref().err().map(|failure| &failure.cause);
            // One that hangs costs all the patience there is, and hangs again.
            let worth = |cause: &&FailureCause| {
                !matches!(cause, FailureCause::TimedOut { .. }) && !rest.is_empty() && before.as_ref() != Some(cause)
            };
            if let Some(cause) = cause.filter(worth) {
                let heir = rest.remove(0);
                earlier.insert(heir.unit(), cause.clone());
                followers.insert(heir.unit(), std::mem::take(&mut rest));
                next.push(heir);
            }
            for job in rest {
                let begun = Instant::now();
                match folding.follow(&outcome, leader, &job) {
                    Ok(outcome) => {
                        observer.folded(&outcome, begun);
                        done.folded.extend(outcome.is_ok().then_some(job.unit()));
                        done.take(order, outcome)?;
                    }
                    Err(apart) => {
                        folding.stays_apart(apart);
                        next.push(job);
                    }
                }
            }
            done.take(order, outcome)?;
        }
        leaders = next;
    }
    Ok(())
}

impl CompileResults {
    /// Adds what became of one job.
    fn take(&mut self, order: &CompileOptions<'_>, outcome: Outcome) -> Result<()> {
        match outcome {
            Ok(artifact) => {
                check_march(order.targets, &artifact)?;
                let Artifact { image, target, binary, .. } = artifact;
                self.compiled.push(Binary { image, target, bytes: binary });
            }
            Err(failure) => self.failures.push(failure),
        }
        Ok(())
    }
}

/// Returns names and versions of compilers, by the places of their targets.
fn names(compilers: &HashMap<usize, Compiler>) -> HashMap<usize, String> {
    let name = |compiler: &Compiler| match compiler.identity.as_slice() {
        [tool, version, ..] if tool == "ocloc" => format!("ocloc {version}").trim_end().to_owned(),
        [platform, _, _, driver, ..] => format!("{platform}, driver {driver}"),
        other => other.join(" "),
    };
    compilers.iter().map(|(place, compiler)| (*place, name(compiler))).collect()
}

/// Has workers compile what is left. What they take is kept beside the cache, for estimates to come.
fn run(
    reporter: &dyn Reporter,
    order: &CompileOptions<'_>,
    left: &[Job<'_>],
    known: &mut Prepared,
    done: &mut CompileResults,
    observer: &mut dyn Observer,
) -> Result<Vec<Outcome>> {
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let settings = (order.settings)();
    let times = order.cache.map(|cache| cache.folder().join(estimate::FILE));
    let mut history = times.as_deref().map(History::read).unwrap_or_default();
    let forecast = Forecast::new(&history, order.targets, left.iter(), settings.jobs.get());
    done.expected += forecast.wall();
    observer.workers_begin(left.len(), forecast);
    let sizes: HashMap<Unit, u64> = left.iter().map(|job| (job.unit(), estimate::bytes(job))).collect();
    let (mut kept, mut unkept, mut finished, mut failed) = (0usize, None, 0usize, false);
    let stops = || settings.interrupted.as_ref().is_some_and(|interrupted| interrupted.load(Ordering::Relaxed));
    let made = known.confirm_programs(settings.startup_timeout, &stops);
    let made = made.and_then(|()| known.make_libraries(reporter, order, settings.startup_timeout, &stops));
    let keys = &known.keys;
    let mut on_event = |event: Event<'_>| {
        if let Event::Finished(artifact) = &event {
            finished = finished.saturating_add(1);
            let size = sizes.get(&artifact.unit()).copied().unwrap_or_default();
            history.note(&estimate::name(order.targets, artifact.target), size, artifact.elapsed.as_secs_f64());
            // At once: a build that is killed has what it compiled until then.
            if let (Some(cache), Some(key), None) = (order.cache, keys.get(&artifact.unit()), &unkept)
                && is_for(order.targets, artifact.target, &artifact.binary)
            {
                match key.put(cache, &artifact.binary) {
                    Ok(()) => kept = kept.saturating_add(1),
                    Err(error) => unkept = Some(error),
                }
            }
        }
        failed |= matches!(event, Event::Failed(_));
        observer.on(&event);
    };
    let outcomes = made.and_then(|()| pool::run(left, &known.engines, &settings, &mut on_event));
    observer.workers_end();
    done.kept = done.kept.saturating_add(kept);
    if let Some(times) = times.filter(|_| kept > 0)
        && let Err(error) = history.write(&times)
    {
        reporter.detail(&error.to_string());
    }
    if let Some(error) = unkept {
        reporter.note(&format!("{error}; the build goes on without keeping more"));
    }
    let images = format!("{} image{}", left.len(), if left.len() == 1 { "" } else { "s" });
    if stops() {
        let message = format!("interrupted: {finished} of {images} compiled, {kept} of them kept in the cache");
        let remedy = if kept > 0 { "run the same command again to go on" } else { "run it again" };
        return Err(Error::new(ErrorKind::Build, message).with_remedy(remedy));
    }
    // The failed module has been named when it failed.
    if failed && settings.fail_fast {
        let message = format!(
            "ended by an image that did not build: {finished} of {images} compiled, {kept} of them kept in the cache"
        );
        let remedy = "without --fail-fast all others are compiled, and what does not build stays SPIR-V";
        return Err(Error::new(ErrorKind::Build, message).with_remedy(remedy));
    }
    outcomes
}

/// The instruction set that is asked for, and another one that a binary is for.
fn other_march(targets: &[Target], target: usize, binary: &[u8]) -> Option<(CpuArch, CpuArch)> {
    let march = targets.get(target)?.march()?;
    CpuArch::of_binary(binary).filter(|found| *found != march).map(|found| (march, found))
}

/// Whether a binary is what its target asks for; of CPUs one that does not say its set is not.
fn is_for(targets: &[Target], target: usize, binary: &[u8]) -> bool {
    targets.get(target).and_then(Target::march).is_none_or(|march| CpuArch::of_binary(binary) == Some(march))
}

/// A binary without a record of its set is taken as it is.
fn check_march(targets: &[Target], artifact: &Artifact) -> Result<()> {
    match other_march(targets, artifact.target, &artifact.binary) {
        Some((march, found)) => {
            let message = format!("the driver compiled for {found}, not for {march}");
            Err(Error::new(ErrorKind::Environment, message)
                .with_remedy("unset CL_CONFIG_CPU_TARGET_ARCH in the configuration of the driver (cl.cfg)"))
        }
        None => Ok(()),
    }
}

/// The compilers of targets.
#[derive(Debug, Default)]
struct Identities {
    /// Compilers by the place of the target.
    compilers: HashMap<usize, Compiler>,
    /// Files of the compilers, as far as they are known.
    libraries: Vec<PathBuf>,
    /// Engines in the order of the targets, those of the compilers with the files that their workers may read.
    engines: Vec<Engine>,
    /// Compilers that are programs, by the places of their targets.
    programs: BTreeMap<usize, Program>,
}

/// Compiler that is a program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// Names of its files.
    name: String,
    /// Version that it told while it could read everything.
    version: String,
    /// Device that it compiles for.
    device: String,
}

impl Program {
    /// Creates the error for a program that tells another version where it reads what lies around it alone.
    fn unlike(&self, version: &str) -> Error {
        let told =
            |version: &str| if version.is_empty() { "tells none".to_owned() } else { format!("tells {version}") };
        let message = format!(
            "`{}` {} as its version, and {} where it may read no more than what lies around it and what it names",
            self.name,
            told(&self.version),
            told(version)
        );
        Error::new(ErrorKind::Environment, message)
            .with_remedy("name the compiler itself (--ocloc, --llvm, --cuda), not a script that looks for it")
    }
}

/// The answer of an engine about itself.
enum EngineAnswer {
    Devices(Inventory, Vec<String>),
    Offline(Offline, Vec<String>),
}

impl EngineAnswer {
    /// Returns the files around which workers may read: those of the compiler, as far as they are known.
    fn read(&self) -> Vec<PathBuf> {
        match self {
            EngineAnswer::Devices(inventory, _) => inventory.read(),
            EngineAnswer::Offline(offline, _) => offline.read(),
        }
    }
}

/// The compilers of those targets that are wanted.
///
/// # Errors
/// `Environment` where one does not answer.
fn identify(order: &CompileOptions<'_>, wanted: &BTreeSet<usize>) -> Result<Identities> {
    let mut found = Identities { engines: order.engines.to_vec(), ..Identities::default() };
    let mut known: Vec<(&Engine, EngineAnswer)> = Vec::new();
    for (place, ((target, engine), own)) in order.targets.iter().zip(order.engines).zip(&mut found.engines).enumerate()
    {
        if !wanted.contains(&place) {
            continue;
        }
        if !known.iter().any(|(other, _)| *other == engine) {
            let answer = match &engine.open {
                Open::Cpu | Open::Device(_) => {
                    let inventory = drivers(&engine.launch, order.patience)?;
                    found.libraries.extend(libraries(&inventory, order.environment));
                    let prints = if order.has_keys() { fingerprints(&inventory.files)? } else { Vec::new() };
                    EngineAnswer::Devices(inventory, prints)
                }
                Open::Ocloc(_) | Open::Nvidia(_) => {
                    // The time for a module is not that for all which is asked here. A compiler that hangs is given up for each.
                    let answer = offline(engine, &[], STARTUP)?;
                    found.libraries.extend(answer.files.iter().cloned());
                    let prints = if order.has_keys() { prints_of(&answer)? } else { Vec::new() };
                    EngineAnswer::Offline(answer, prints)
                }
            };
            known.push((engine, answer));
        }
        if let Some((_, answer)) = known.iter().find(|(other, _)| *other == engine) {
            own.launch.reads = Some(answer.read());
            if let EngineAnswer::Offline(Offline { version, files, in_process: false, .. }, _) = answer {
                // Of NVIDIA's compiler any of several programs may be another one.
                let programs = files.iter().filter(|file| !is_library(file));
                let files: Vec<String> = programs.map(|file| file.display().to_string()).collect();
                let device = target.compile_target.clone().unwrap_or_default();
                let program = Program { name: files.join(", "), version: version.clone(), device };
                found.programs.insert(place, program);
            }
            found.compilers.insert(place, compiler(target, answer, order.environment, &engine.launch.env));
        }
    }
    found.libraries.dedup();
    Ok(found)
}

/// Answers of an offline compiler about targets, by their places.
pub(crate) struct Known {
    /// Targets that it does not know.
    pub(crate) unknown: Vec<usize>,
    /// Options that it gets for targets whatever images say.
    pub(crate) added: Vec<(usize, String)>,
    /// Version of the compiler.
    pub(crate) version: String,
}

/// Asks the compiler of targets about them.
///
/// # Errors
/// `Environment` where there is no compiler.
pub(crate) fn known(targets: &[&Target], engine: &Engine) -> Result<Known> {
    let device = |target: &&Target| match &target.backend {
        Backend::Ocloc { device } => Some(device.clone()),
        Backend::Nvidia { .. } => Some(target.architecture().into_owned()),
        Backend::Cpu(_) | Backend::Live { .. } => None,
    };
    let devices: Vec<String> = targets.iter().filter_map(device).collect();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let answer = offline(engine, &devices, STARTUP)?;
    let among = |names: &[String]| {
        let is = |target: &&Target| device(target).is_some_and(|device| names.contains(&device));
        targets.iter().enumerate().filter(|(_, target)| is(target)).map(|(place, _)| place).collect()
    };
    let of_target = |(place, target): (usize, &&Target)| {
        let device = device(target)?;
        let mut added = answer.added.iter().filter_map(|added| added.split_once(' '));
        added.find(|(own, _)| *own == device).map(|(_, options)| (place, options.to_owned()))
    };
    let added = targets.iter().enumerate().filter_map(of_target).collect();
    Ok(Known { unknown: among(&answer.unknown), added, version: answer.version })
}

/// The compiler of a target, and what it reads.
fn compiler(
    target: &Target,
    answer: &EngineAnswer,
    environment: &[(OsString, OsString)],
    env: &[(OsString, OsString)],
) -> Compiler {
    let identity = match answer {
        EngineAnswer::Devices(inventory, prints) => {
            let device = match &target.backend {
                Backend::Live { place, .. } => {
                    usize::try_from(*place).ok().and_then(|place| inventory.devices.get(place))
                }
                _ => inventory.devices.iter().find(|device| device.compiles),
            };
            device.map(|device| {
                let said = [&device.platform, &device.vendor, &device.name, &device.driver, &device.opencl];
                said.into_iter().chain(prints).cloned().collect()
            })
        }
        EngineAnswer::Offline(offline, prints) => {
            Some(identity(if target.is_nvidia() { "ptxas" } else { "ocloc" }, offline, prints))
        }
    };
    // A program looks there for its own libraries, which nobody else knows: ocloc for IGC.
    let is_program = matches!(answer, EngineAnswer::Offline(offline, _) if !offline.in_process);
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let own = environment.iter().filter(|(name, _)| env.iter().all(|(set, _)| set != name));
    let opened = is_opened(environment.iter().chain(env));
    // Secrets are not handed on, so they decide nothing.
    let read = |name: &str, value: &str| {
        decides_code(name, opened) && is_handed_on(name, value, opened) || is_program && name.starts_with("LD_")
    };
    let mut environment: Vec<(String, String)> = own
        .chain(env)
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, value)| read(name, value))
        .collect();
    environment.sort();
    Compiler {
        target: target.spec.to_owned(),
        architecture: target.architecture().into_owned(),
        identity: identity.unwrap_or_default(),
        environment,
    }
}

/// The loader, and the drivers that the user names by their files.
fn libraries(inventory: &Inventory, environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let named = environment.iter().find(|(name, _)| name == "OCL_ICD_FILENAMES").map(|(_, paths)| paths);
    let named = named.into_iter().flat_map(|paths| paths.as_bytes().split(|byte| *byte == b':'));
    let named: Vec<PathBuf> = named.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
    let all = std::iter::once(Path::new(&inventory.loader)).chain(named.iter().map(PathBuf::as_path));
    all.filter(|path| path.is_absolute() && path.is_file()).map(Path::to_path_buf).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_known_whole_has_no_digests_of_another_run() {
        let known = Offline::default();
        assert_eq!(prints_of(&known).unwrap(), prints_of(&known).unwrap());
        let unsure = Offline { unsure: true, ..known };
        assert_ne!(prints_of(&unsure).unwrap(), prints_of(&unsure).unwrap());
    }
}
