//! How long will a build take?
//!
//! From sizes: compiling takes a time for each module and a time for each of its bytes, which differ by target, compiler and
//! machine. What was measured before is kept beside the cached binaries, as sums from which a straight line is fitted. Where
//! nothing was measured for a target, its compiler's usual times count. Modules are begun the largest first, so their
//! times are dealt out to the workers in that order, each to whoever is free first.

use super::target::Target;
use super::{Job, Step, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// File of the history in the folder of the cache.
pub const FILE: &str = "times";

/// Share of the old sums that counts after a build: what was measured some builds ago hardly does.
const KEPT: f64 = 0.5;
/// Seconds that a worker takes to start with its compiler.
const START: f64 = 0.3;
/// Seconds for a module, and for a byte of it, where nothing was measured. Taken on two cores of 2026's servers: Intel's CPU
/// driver 2026.2 and ocloc 26.27 over some hundred images of dpnp.
const USUAL: [f64; 2] = [0.05, 0.000_03];

/// Sums over what was measured for one target: number, bytes, seconds, squares of bytes, products of both.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums([f64; 5]);

impl Sums {
    /// Seconds of a module of so many bytes.
    fn seconds(&self, bytes: f64) -> f64 {
        let [count, sizes, times, squares, products] = self.0;
        if count < 1.0 || times <= 0.0 {
            let [module, byte] = USUAL;
            return module + byte * bytes;
        }
        let spread = count * squares - sizes * sizes;
        let slope = if spread > 0.0 { ((count * products - sizes * times) / spread).max(0.0) } else { 0.0 };
        let base = (times - slope * sizes) / count;
        // A line that begins below nothing would make small modules cost nothing: through zero then.
        if base >= 0.0 { base + slope * bytes } else { times / sizes.max(1.0) * bytes }
    }
}

/// Measurements of earlier builds and of this one, by target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    targets: BTreeMap<String, Sums>,
    fresh: BTreeMap<String, Sums>,
}

impl History {
    /// Reads the measurements of earlier builds; what cannot be read counts as nothing.
    pub fn read(path: &Path) -> History {
        let small = std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= limits::HISTORY);
        let text = if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let target = words.next()?.to_owned();
            let numbers: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
            let sums: [f64; 5] = numbers.try_into().ok()?;
            sums.iter().all(|sum| sum.is_finite() && *sum >= 0.0).then_some((target, Sums(sums)))
        };
        History { targets: text.lines().filter_map(line).collect(), fresh: BTreeMap::new() }
    }

    /// Notes what a module took.
    pub fn note(&mut self, target: &str, bytes: u64, seconds: f64) {
        let size = bytes as f64;
        let sums = self.fresh.entry(word(target)).or_default();
        for (sum, more) in sums.0.iter_mut().zip([1.0, size, seconds, size * size, size * seconds]) {
            *sum += more;
        }
    }

    /// Seconds that a module of so many bytes will take.
    pub fn seconds(&self, target: &str, bytes: u64) -> f64 {
        self.targets.get(&word(target)).copied().unwrap_or_default().seconds(bytes as f64)
    }

    /// Writes all that is known, for builds to come. Of builds that end at once, the last one's measurements stay.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub fn write(mut self, path: &Path) -> Result<()> {
        for (target, fresh) in std::mem::take(&mut self.fresh) {
            let sums = self.targets.entry(target).or_default();
            for (sum, more) in sums.0.iter_mut().zip(fresh.0) {
                *sum = *sum * KEPT + more;
            }
        }
        let mut text = String::new();
        for (target, Sums(sums)) in &self.targets {
            let numbers: Vec<String> = sums.iter().map(|sum| format!("{sum:.6}")).collect();
            let _ = writeln!(text, "{target} {}", numbers.join(" "));
        }
        let temporary = path.with_extension(format!("tmp-{}", std::process::id()));
        let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
        written.map_err(|error| {
            let _ = std::fs::remove_file(&temporary);
            Error::new(ErrorKind::Environment, format!("cannot write `{}`: {error}", path.display()))
        })
    }
}

/// The name of a target as one word of the file.
fn word(target: &str) -> String {
    target.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Expected time of a compilation.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    seconds: HashMap<Unit, f64>,
    wall: f64,
    done: f64,
}

impl Forecast {
    /// Foresees what so many workers take for jobs.
    pub fn new<'j>(
        history: &History,
        targets: &[Target],
        jobs: impl Iterator<Item = &'j Job<'j>>,
        workers: usize,
    ) -> Self {
        let one = |job: &Job<'_>| (job.unit(), history.seconds(&name(targets, job.target), bytes(job)));
        let seconds: HashMap<Unit, f64> = jobs.map(one).collect();
        Forecast { wall: wall(seconds.values().copied(), workers), seconds, done: 0.0 }
    }

    /// Seconds from the beginning to the end.
    pub fn wall(&self) -> f64 {
        self.wall
    }

    /// Notes that a module is done, one way or the other.
    pub fn note(&mut self, unit: Unit) {
        self.done += self.seconds.remove(&unit).unwrap_or(0.0);
    }

    /// Seconds that are left: by what is foreseen, once a part is done by the pace so far.
    pub fn left(&self, elapsed: Duration) -> f64 {
        let (elapsed, left) = (elapsed.as_secs_f64(), self.seconds.values().sum::<f64>());
        let part = self.done / (self.done + left).max(f64::MIN_POSITIVE);
        if part > 0.1 { elapsed / self.done * left } else { (self.wall - elapsed).max(0.0) }
    }
}

/// Name of a target in the history.
pub fn name(targets: &[Target], place: usize) -> String {
    targets.get(place).map(|target| format!("{} {}", target.spec, target.architecture())).unwrap_or_default()
}

/// Bytes of a job's modules.
pub fn bytes(job: &Job<'_>) -> u64 {
    let others = match &job.step {
        Step::Link(others) => others.iter().map(|other| other.len() as u64).sum(),
        Step::Build | Step::Compile | Step::Offline(_) => 0,
    };
    (job.il.len() as u64).saturating_add(others)
}

/// Seconds until all modules are compiled by so many workers.
fn wall(seconds: impl Iterator<Item = f64>, workers: usize) -> f64 {
    let mut times: Vec<f64> = seconds.collect();
    times.sort_by(|a, b| b.total_cmp(a));
    let mut ends = vec![START; workers.max(1).min(times.len())];
    for time in times {
        // The one that is free first.
        if let Some(end) = ends.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *end += time;
        }
    }
    ends.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_tells_what_is_to_come() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("times");
        let mut history = History::read(&file);
        assert_eq!(history.seconds("spir64_gen pvc", 1000), 0.05 + 0.03);
        for bytes in [1000, 2000, 8000] {
            history.note("spir64_gen pvc", bytes, 0.5 + 0.001 * bytes as f64);
        }
        history.write(&file).unwrap();
        let history = History::read(&file);
        assert!((history.seconds("spir64_gen pvc", 4000) - 4.5).abs() < 0.01, "{history:?}");
        assert_eq!(history.seconds("spir64_gen dg1", 1000), 0.05 + 0.03, "another target");
        // Texts that are no history count as none.
        for text in ["spir64_gen_pvc nan 1 1 1 1", "spir64_gen_pvc 1 2", "\u{0}", "spir64_gen_pvc -1 1 1 1 1"] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(History::read(&file), History::default(), "{text}");
        }
    }

    #[test]
    fn small_modules_never_cost_less_than_nothing() {
        let mut history = History::default();
        for (bytes, seconds) in [(1000, 0.1), (2000, 5.0)] {
            history.note("t", bytes, seconds);
        }
        let folder = tempfile::tempdir().unwrap();
        history.write(&folder.path().join("times")).unwrap();
        let history = History::read(&folder.path().join("times"));
        assert!(history.seconds("t", 10) > 0.0 && history.seconds("t", 1000) > 1.0);
    }

    #[test]
    fn the_pace_so_far_corrects_what_was_foreseen() {
        let job = |image| Job { image, il: vec![0; 1000].into(), ..Job::default() };
        let jobs = [job(0), job(1), job(2), job(3)];
        let mut forecast = Forecast::new(&History::default(), &[], jobs.iter(), 2);
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        close(forecast.wall(), START + 2.0 * 0.08);
        close(forecast.left(Duration::ZERO), forecast.wall());
        forecast.note((0, 0));
        close(forecast.left(Duration::from_secs(2)), 6.0);
        (1..4).for_each(|image| forecast.note((image, 0)));
        close(forecast.left(Duration::from_secs(9)), 0.0);
    }

    #[test]
    fn the_largest_first_and_each_to_whoever_is_free() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        close(wall([3.0, 1.0, 1.0, 1.0].into_iter(), 2), START + 3.0);
        close(wall([1.0, 1.0].into_iter(), 8), START + 1.0);
        close(wall(std::iter::empty(), 4), 0.0);
    }
}
