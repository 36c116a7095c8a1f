//! What did compiling each image cost, when was it compiled, and what does each native kernel take?
//!
//! The contract of `build --report` (`schema_version` 1; `costs/costs.schema.json` is its published schema). Changes are
//! additive.

use super::json::SchemaVersion;
use crate::build::compile::Observer;
use crate::build::estimate::Forecast;
use crate::build::{Artifact, Event, Job, Outcome, Step, Unit};
use crate::demangle::demangle;
use crate::error::{Error, ErrorKind, Result};
use crate::native::Kernel;
use crate::temporary::{self, sweep};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Costs>()
}

/// The cost of compiling each image, and the resources of each native kernel.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle build --report")]
pub(crate) struct Costs {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The inputs.
    pub(crate) inputs: Vec<String>,
    /// Images by number, then target: those that were compiled, and those that did not build.
    pub(crate) images: Vec<ImageCost>,
}

/// The origin of a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BinaryOrigin {
    /// Compiled in this run.
    Compiled,
    /// Taken from the cache.
    Cached,
    /// Made of the binary of an image of the same code.
    Folded,
    /// Not built.
    Failed,
}

/// One image for one target.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImageCost {
    /// The number of the image.
    pub(crate) image: usize,
    /// The input that it is from.
    pub(crate) file: String,
    /// The target.
    pub(crate) target: String,
    /// The origin of its binary.
    pub(crate) how: BinaryOrigin,
    /// Bytes of the module.
    pub(crate) module_bytes: u64,
    /// The options that the compiler got.
    pub(crate) options: String,
    /// Bytes of the binary.
    pub(crate) native_bytes: Option<u64>,
    /// Seconds that the attempt took that succeeded; of a folded image, the other's. Null for what came out of the cache.
    pub(crate) seconds: Option<f64>,
    /// The number of attempts.
    pub(crate) attempts: Option<u32>,
    /// The reason why it did not build.
    pub(crate) cause: Option<String>,
    /// Resources of its native kernels.
    pub(crate) kernels: Vec<KernelResources>,
}

/// Resources of a native kernel; null for what the format does not tell.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KernelResources {
    /// The mangled name.
    pub(crate) name: String,
    /// The name in the source.
    pub(crate) source_name: String,
    /// Registers: per hardware thread on Intel GPUs (GRF).
    pub(crate) registers: Option<u64>,
    /// Work-items that run as one.
    pub(crate) simd: Option<u64>,
    /// Bytes of registers spilled to memory, per hardware thread.
    pub(crate) spill: Option<u64>,
    /// Bytes of scratch memory for spills and private arrays together, where they are told as one.
    pub(crate) scratch: Option<u64>,
    /// Bytes of private memory, per hardware thread.
    pub(crate) private: Option<u64>,
    /// Bytes of local memory (SLM) per work-group.
    pub(crate) local: Option<u64>,
    /// Barriers.
    pub(crate) barriers: Option<u64>,
    /// Work-items per work-group that it is compiled for at most.
    pub(crate) max_work_group_size: Option<u64>,
    /// Bytes of all arguments.
    pub(crate) argument_bytes: Option<u64>,
}

impl KernelResources {
    /// The resources that a native format tells.
    pub(crate) fn new(kernel: &Kernel) -> KernelResources {
        KernelResources {
            name: kernel.name.clone(),
            source_name: demangle(&kernel.name).into_owned(),
            registers: kernel.registers,
            simd: kernel.simd,
            spill: kernel.spill,
            scratch: kernel.scratch,
            private: kernel.private,
            local: kernel.local,
            barriers: kernel.barriers,
            max_work_group_size: kernel.max_work_group_size,
            argument_bytes: kernel.argument_bytes,
        }
    }
}

impl Costs {
    /// The document as JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// The cost of one image, as far as looking on tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// The origin of its binary.
    pub(crate) how: BinaryOrigin,
    /// The time that compiling took; of a folded image, the other's time.
    pub(crate) seconds: Option<f64>,
    /// The number of attempts.
    pub(crate) attempts: Option<u32>,
}

/// Looks on while images are compiled.
#[derive(Default)]
pub(crate) struct Watch<'w> {
    temps: Option<Temps<'w>>,
    trace: Option<Trace<'w>>,
    /// By image and target.
    pub(crate) costs: HashMap<Unit, Cost>,
    /// Bytes and options of the modules.
    pub(crate) modules: HashMap<Unit, (u64, String)>,
    /// The first file that could not be written.
    pub(crate) error: Option<Error>,
}

impl<'w> Watch<'w> {
    /// With what the user asks for.
    pub(crate) fn new(temps: Option<Temps<'w>>, trace: Option<Trace<'w>>) -> Watch<'w> {
        Watch { temps, trace, ..Watch::default() }
    }

    /// Checks that no file of an image is another file of the command, before any is compiled.
    ///
    /// # Errors
    /// `Usage` where one is.
    pub(crate) fn check(&self, jobs: &[Job<'_>]) -> Result<()> {
        self.temps.as_ref().map_or(Ok(()), |temps| jobs.iter().try_for_each(|job| temps.check(job.unit())))
    }

    /// Seconds that compiling took, those of folded images counted as if they had been compiled.
    pub(crate) fn seconds(&self) -> f64 {
        self.costs.values().filter_map(|cost| cost.seconds).sum()
    }

    fn note(&mut self, written: Result<()>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    fn keep(&mut self, unit: Unit, binary: Option<&[u8]>, log: &str) {
        let written = self.temps.as_ref().map_or(Ok(()), |temps| temps.end(unit, binary, log));
        self.note(written);
    }

    /// The trace as a document, where one is wanted.
    pub(crate) fn trace(&self) -> Option<String> {
        Some(self.trace.as_ref()?.document())
    }
}

impl Observer for Watch<'_> {
    fn begin(&mut self, job: &Job<'_>) {
        let options = [&*job.compile_options, &*job.link_options].join(" ").trim().to_owned();
        let written = self.temps.as_ref().map_or(Ok(()), |temps| temps.begin(job, &options));
        self.note(written);
        self.modules.insert(job.unit(), (job.il.len() as u64, options));
    }

    fn on(&mut self, event: &Event<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.on(event);
        }
        match event {
            Event::Started { .. } | Event::Retrying { .. } => {}
            Event::Finished(artifact) => {
                let unit = artifact.unit();
                self.costs.insert(unit, cost(BinaryOrigin::Compiled, artifact));
                self.keep(unit, Some(&artifact.binary), &artifact.log);
            }
            Event::Failed(failure) => self.keep(failure.unit(), None, &failure.log),
        }
    }

    fn cached(&mut self, unit: Unit, begun: Instant, binary: &[u8]) {
        self.costs.insert(unit, Cost { how: BinaryOrigin::Cached, seconds: None, attempts: None });
        if let Some(trace) = &mut self.trace {
            trace.add(unit, 0, begun, json!({ "cached": true, "bytes": binary.len() }));
        }
        self.keep(unit, Some(binary), "");
    }

    fn folded(&mut self, outcome: &Outcome, begun: Instant) {
        let artifact = match outcome {
            Ok(artifact) => artifact,
            Err(failure) => return self.keep(failure.unit(), None, &failure.log),
        };
        let unit = artifact.unit();
        self.costs.insert(unit, cost(BinaryOrigin::Folded, artifact));
        if let Some(trace) = &mut self.trace {
            trace.add(unit, 0, begun, json!({ "folded": true, "bytes": artifact.binary.len() }));
        }
        self.keep(unit, Some(&artifact.binary), "");
    }

    fn workers_begin(&mut self, _modules: usize, _forecast: Forecast) {}

    fn workers_end(&mut self) {}
}

fn cost(how: BinaryOrigin, artifact: &Artifact) -> Cost {
    Cost { how, seconds: Some(artifact.elapsed.as_secs_f64()), attempts: Some(artifact.attempts) }
}

/// Permission bits of files of an image, before the process's umask.
const FILE_MODE: u32 = 0o666;

/// Refuses a file that was read, or is another output.
type Spare<'w> = Box<dyn Fn(&Path) -> Result<()> + 'w>;

/// Files of each image.
pub(crate) struct Temps<'w> {
    folder: PathBuf,
    label: Box<dyn Fn(Unit) -> String + 'w>,
    spare: Spare<'w>,
}

impl<'w> Temps<'w> {
    /// In a folder, by names that `label` gives, in the place of files that `spare` does not refuse.
    pub(crate) fn new(folder: PathBuf, label: Box<dyn Fn(Unit) -> String + 'w>, spare: Spare<'w>) -> Temps<'w> {
        Temps { folder, label, spare }
    }

    fn path(&self, unit: Unit, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", (self.label)(unit)))
    }

    fn check(&self, unit: Unit) -> Result<()> {
        ["spv", "opts", "bin", "log"].iter().try_for_each(|end| (self.spare)(&self.path(unit, end)))
    }

    fn write(&self, unit: Unit, end: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(unit, end);
        (self.spare)(&path)?;
        sweep(&self.folder);
        let write = || -> std::io::Result<()> {
            let (_begun, mut file) = temporary::file(&self.folder, FILE_MODE)?;
            file.write_all(bytes)?;
            // A link or a pipe that lies there is replaced.
            file.persist(&path).map(drop).map_err(|error| error.error)
        };
        write()
            .map_err(|error| Error::new(ErrorKind::Environment, format!("cannot write `{}`: {error}", path.display())))
    }

    fn begin(&self, job: &Job<'_>, options: &str) -> Result<()> {
        let unit = job.unit();
        // Files that an earlier build left would be taken for this one's.
        for end in ["bin", "log"] {
            let path = self.path(unit, end);
            (self.spare)(&path)?;
            let _ = std::fs::remove_file(path);
        }
        self.write(unit, "spv", &job.il)?;
        self.write(unit, "opts", format!("{options}\n").as_bytes())?;
        match &job.step {
            Step::Link(others) => others
                .iter()
                .enumerate()
                .try_for_each(|(at, other)| self.write(unit, &format!("{}.spv", at.saturating_add(1)), other)),
            Step::Build | Step::Compile | Step::Offline(_) => Ok(()),
        }
    }

    fn end(&self, unit: Unit, binary: Option<&[u8]>, log: &str) -> Result<()> {
        binary.map_or(Ok(()), |binary| self.write(unit, "bin", binary))?;
        if log.is_empty() { Ok(()) } else { self.write(unit, "log", log.as_bytes()) }
    }
}

/// An image in a trace: what it is called, its number, its target.
type Named<'w> = Box<dyn Fn(Unit) -> (String, usize, String) + 'w>;

/// Events in the form that Chrome's trace viewer and Perfetto read: microseconds, a lane for each worker, and lane 0 for
/// what no worker has to do with.
pub(crate) struct Trace<'w> {
    begun: Instant,
    name: Named<'w>,
    events: Vec<Value>,
    lanes: BTreeSet<usize>,
    running: HashMap<Unit, (usize, Instant)>,
}

impl<'w> Trace<'w> {
    /// From now on.
    pub(crate) fn new(name: Named<'w>) -> Trace<'w> {
        Trace { begun: Instant::now(), name, events: Vec::new(), lanes: BTreeSet::new(), running: HashMap::new() }
    }

    fn add(&mut self, unit: Unit, lane: usize, begun: Instant, mut args: Value) {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (name, image, target) = (self.name)(unit);
        if let Some(args) = args.as_object_mut() {
            args.insert("image".to_owned(), json!(image));
            args.insert("target".to_owned(), json!(target));
        }
        self.lanes.insert(lane);
        self.events.push(json!({
            "name": name, "cat": "compile", "ph": "X", "pid": 1, "tid": lane,
            "ts": micros(begun.saturating_duration_since(self.begun)), "dur": micros(begun.elapsed()), "args": args,
        }));
    }

    fn on(&mut self, event: &Event<'_>) {
        let (unit, args) = match event {
            Event::Started { image, target, worker } => {
                self.running.insert((*image, *target), (worker.saturating_add(1), Instant::now()));
                return;
            }
            Event::Retrying { .. } => return,
            Event::Finished(artifact) => (
                artifact.unit(),
                json!({ "cached": false, "bytes": artifact.binary.len(), "attempts": artifact.attempts }),
            ),
            Event::Failed(failure) => {
                (failure.unit(), json!({ "failed": failure.to_string(), "attempts": failure.attempts }))
            }
        };
        if let Some((lane, begun)) = self.running.remove(&unit) {
            self.add(unit, lane, begun, args);
        }
    }

    /// A JSON array, the names of the lanes first.
    fn document(&self) -> String {
        let lanes = self.lanes.iter().map(|lane| {
            let name = if *lane == 0 { "cache and folding".to_owned() } else { format!("worker {lane}") };
            json!({ "name": "thread_name", "ph": "M", "pid": 1, "tid": lane, "args": { "name": name } })
        });
        let lines: Vec<String> = lanes.chain(self.events.iter().cloned()).map(|event| event.to_string()).collect();
        format!("[\n{}\n]\n", lines.join(",\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_of_images_replace_links_and_what_killed_builds_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // No process has this number.
        fs::write(at(".sycl-bundle-4294967294-abcdefghijkl"), b"left").unwrap();
        fs::write(at("theirs"), b"precious").unwrap();
        std::os::unix::fs::symlink(at("theirs"), at("image.spv")).unwrap();
        let temps = Temps::new(folder.path().to_owned(), Box::new(|_| "image".to_owned()), Box::new(|_| Ok(())));
        temps.write((0, 0), "spv", b"module").unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["image.spv", "theirs"]);
        assert_eq!(fs::read(at("image.spv")).unwrap(), b"module");
        assert_eq!(fs::read(at("theirs")).unwrap(), b"precious");
    }
}
