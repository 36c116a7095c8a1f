//! What happened to each image while it was compiled, and when?

use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sycl_bundle::build::{Artifact, Event, Job, Outcome, Step, Unit};
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::costs::BinaryOrigin;

/// The cost of one image.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// The origin of its binary.
    pub how: BinaryOrigin,
    /// The time that compiling took; of a folded image, the other's time.
    pub seconds: Option<f64>,
    /// The number of attempts.
    pub attempts: Option<u32>,
}

/// Looks on while images are compiled.
#[derive(Default)]
pub struct Watch<'w> {
    temps: Option<Temps<'w>>,
    trace: Option<Trace<'w>>,
    /// By image and target.
    pub costs: HashMap<Unit, Cost>,
    /// Bytes and options of the modules.
    pub modules: HashMap<Unit, (u64, String)>,
    /// The first file that could not be written.
    pub error: Option<Error>,
}

impl<'w> Watch<'w> {
    /// With what the user asks for.
    pub fn new(temps: Option<Temps<'w>>, trace: Option<Trace<'w>>) -> Watch<'w> {
        Watch { temps, trace, ..Watch::default() }
    }

    /// A module is to be compiled, unless it is in the cache.
    pub fn begin(&mut self, job: &Job<'_>) {
        let options = [&*job.compile_options, &*job.link_options].join(" ").trim().to_owned();
        let written = self.temps.as_ref().map_or(Ok(()), |temps| temps.begin(job, &options));
        self.note(written);
        self.modules.insert(job.unit(), (job.il.len() as u64, options));
    }

    /// Seconds that compiling took, those of folded images counted as if they had been compiled.
    pub fn seconds(&self) -> f64 {
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

    /// Takes note of what a worker does.
    pub fn on(&mut self, event: &Event<'_>) {
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

    /// An image came out of the cache.
    pub fn cached(&mut self, unit: Unit, begun: Instant, binary: &[u8]) {
        self.costs.insert(unit, Cost { how: BinaryOrigin::Cached, seconds: None, attempts: None });
        if let Some(trace) = &mut self.trace {
            trace.add(unit, 0, begun, json!({ "cached": true, "bytes": binary.len() }));
        }
        self.keep(unit, Some(binary), "");
    }

    /// An image got what another's compilation came to.
    pub fn folded(&mut self, outcome: &Outcome, begun: Instant) {
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

    /// The trace as a document, where one is wanted.
    pub fn trace(&self) -> Option<String> {
        Some(self.trace.as_ref()?.document())
    }
}

fn cost(how: BinaryOrigin, artifact: &Artifact) -> Cost {
    Cost { how, seconds: Some(artifact.elapsed.as_secs_f64()), attempts: Some(artifact.attempts) }
}

/// Files of each image.
pub struct Temps<'w> {
    folder: PathBuf,
    label: Box<dyn Fn(Unit) -> String + 'w>,
}

impl<'w> Temps<'w> {
    /// In a folder, by names that `label` gives.
    pub fn new(folder: PathBuf, label: Box<dyn Fn(Unit) -> String + 'w>) -> Temps<'w> {
        Temps { folder, label }
    }

    fn write(&self, unit: Unit, end: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(format!("{}.{end}", (self.label)(unit)));
        std::fs::write(&path, bytes)
            .map_err(|error| Error::new(ErrorKind::Environment, format!("cannot write `{}`: {error}", path.display())))
    }

    fn begin(&self, job: &Job<'_>, options: &str) -> Result<()> {
        let unit = job.unit();
        // What an earlier build left would be taken for this one's.
        for end in ["bin", "log"] {
            let _ = std::fs::remove_file(self.folder.join(format!("{}.{end}", (self.label)(unit))));
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
pub struct Trace<'w> {
    begun: Instant,
    name: Named<'w>,
    events: Vec<Value>,
    lanes: BTreeSet<usize>,
    running: HashMap<Unit, (usize, Instant)>,
}

impl<'w> Trace<'w> {
    /// From now on.
    pub fn new(name: Named<'w>) -> Trace<'w> {
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
