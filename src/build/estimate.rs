//! How long will a build take, and how many modules may be compiled at once, so that memory suffices?
//!
//! From sizes: compiling takes a time for each module and a time for each of its bytes, which differ by target, compiler and
//! machine. What was measured before is kept beside the cached binaries, as sums from which a straight line is fitted. Where
//! nothing was measured for a target, its compiler's usual times count. Modules are begun the largest first, so their
//! times are dealt out to the workers in that order, each to whoever is free first.
//!
//! Modules stand in the order in which they are to be begun, the largest first. Under a limit one is begun where the
//! estimates of all that are being compiled, and its own, stay within; one that is larger than the limit is compiled
//! alone. Smaller ones go before one that has to wait, until together they are as large as it: nothing waits for ever.

use super::target::Target;
use super::{Job, Step, Unit, cache};
use crate::error::{Error, ErrorKind, Result};
use crate::{limits, plain_file};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// File of the history in the folder of the cache.
pub(crate) const FILE: &str = "times";

/// Share of the old sums that counts after a build: what was measured some builds ago hardly does.
const KEPT: f64 = 0.5;
/// Bound of sums that make sense, products of which are numbers.
const MOST: f64 = 1e100;
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
pub(crate) struct History {
    targets: BTreeMap<String, Sums>,
    fresh: BTreeMap<String, Sums>,
}

impl History {
    /// Reads the measurements of earlier builds; what cannot be read counts as nothing.
    pub(crate) fn read(path: &Path) -> History {
        let text = plain_file::read_itself(path, limits::HISTORY).ok().and_then(|text| String::from_utf8(text).ok());
        let text = text.unwrap_or_default();
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let target = words.next()?.to_owned();
            let numbers: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
            let sums: [f64; 5] = numbers.try_into().ok()?;
            sums.iter().all(|sum| (0.0..MOST).contains(sum)).then_some((target, Sums(sums)))
        };
        History { targets: text.lines().filter_map(line).collect(), fresh: BTreeMap::new() }
    }

    /// Notes what a module took.
    pub(crate) fn note(&mut self, target: &str, bytes: u64, seconds: f64) {
        let size = bytes as f64;
        let sums = self.fresh.entry(word(target)).or_default();
        for (sum, more) in sums.0.iter_mut().zip([1.0, size, seconds, size * size, size * seconds]) {
            *sum += more;
        }
    }

    /// Seconds that a module of so many bytes will take.
    pub(crate) fn seconds(&self, target: &str, bytes: u64) -> f64 {
        self.targets.get(&word(target)).copied().unwrap_or_default().seconds(bytes as f64)
    }

    /// Writes all that is known, for builds to come. Of builds that end at once, the last one's measurements stay.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub(crate) fn write(mut self, path: &Path) -> Result<()> {
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
        cache::replace(path, &[text.as_bytes()], cache::OWNER_MODE)
            .map_err(|error| Error::new(ErrorKind::Environment, format!("cannot write `{}`: {error}", path.display())))
    }
}

/// The name of a target as one word of the file.
fn word(target: &str) -> String {
    target.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Expected time of a compilation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forecast {
    seconds: HashMap<Unit, f64>,
    wall: f64,
    done: f64,
}

impl Forecast {
    /// Foresees what so many workers take for jobs.
    pub(crate) fn new<'j>(
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
    pub(crate) fn wall(&self) -> f64 {
        self.wall
    }

    /// Notes that a module is done, one way or the other.
    pub(crate) fn note(&mut self, unit: Unit) {
        self.done += self.seconds.remove(&unit).unwrap_or(0.0);
    }

    /// Seconds that are left: by what is foreseen, once a part is done by the pace so far.
    pub(crate) fn left(&self, elapsed: Duration) -> f64 {
        let (elapsed, left) = (elapsed.as_secs_f64(), self.seconds.values().sum::<f64>());
        let part = self.done / (self.done + left).max(f64::MIN_POSITIVE);
        if part > 0.1 { elapsed / self.done * left } else { (self.wall - elapsed).max(0.0) }
    }
}

/// Name of a target in the history.
pub(crate) fn name(targets: &[Target], place: usize) -> String {
    targets.get(place).map(|target| format!("{} {}", target.spec, target.architecture())).unwrap_or_default()
}

/// Bytes of a job's modules.
pub(crate) fn bytes(job: &Job<'_>) -> u64 {
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

/// Bytes of a worker with its compiler, before there is any module.
const BASE: u64 = 200 << 20;
/// Bytes that a compiler takes per byte of a module.
const FACTOR: u64 = 1000;
/// Longest sleep of a thread before it looks whether all has ended.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most memory that a worker takes while it compiles a module of so many bytes.
///
/// Measured with Intel's OpenCL CPU driver 2026.2 (VmHWM of the worker): 172 MB with the smallest module, at most 208 MB with
/// modules of 11 to 25 kB, 257 MB with one of 83 kB (oneMKL's), 196 MB with one of 146 kB. ocloc 22.43: 138 MB, and 177 MB
/// with that of 146 kB. The estimate is above all of these.
pub(super) fn estimate(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(FACTOR).saturating_add(BASE)
}

/// Modules that are not begun yet, by their places, and what those that are take.
#[derive(Debug)]
pub(super) struct Queue {
    limit: Option<u64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    left: VecDeque<(usize, u64)>,
    used: u64,
    running: usize,
    /// Number of jobs that overtook the first in the queue since it became the first.
    passed: u64,
}

/// Result of asking the queue for work.
#[derive(Debug)]
pub(super) enum Taken<'q> {
    /// A module.
    Job(Share<'q>),
    /// Nothing, until another is done.
    Later,
    /// Nothing any more.
    Nothing,
}

/// A module that is being compiled; its memory is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Share<'q> {
    /// Place of the job in the queue's list.
    pub(crate) place: usize,
    bytes: u64,
    queue: &'q Queue,
}

impl Queue {
    /// Of places and estimates, in the order in which they are to be begun.
    pub(crate) fn new(jobs: impl Iterator<Item = (usize, u64)>, limit: Option<u64>) -> Queue {
        let state = State { left: jobs.collect(), ..State::default() };
        Queue { limit, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is left to begin.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().left.is_empty()
    }

    /// Leaves what is not begun.
    pub(crate) fn clear(&self) {
        self.state().left.clear();
        self.changed.notify_all();
    }

    /// The next module.
    pub(crate) fn take(&self) -> Taken<'_> {
        let state = &mut *self.state();
        let Some((_, first)) = state.left.front().copied() else { return Taken::Nothing };
        let free = self.limit.map(|limit| limit.saturating_sub(state.used));
        let fits = |bytes: u64| free.is_none_or(|free| bytes <= free);
        let at = if state.running == 0 || fits(first) {
            Some(0)
        } else {
            let before = state.passed;
            state.left.iter().position(|(_, bytes)| fits(*bytes) && before.saturating_add(*bytes) <= first)
        };
        let Some((at, (place, bytes))) = at.and_then(|at| Some((at, state.left.remove(at)?))) else {
            return Taken::Later;
        };
        state.passed = if at == 0 { 0 } else { state.passed.saturating_add(bytes) };
        state.used = state.used.saturating_add(bytes);
        state.running = state.running.saturating_add(1);
        Taken::Job(Share { place, bytes, queue: self })
    }

    /// Sleeps until one is done, or for a moment.
    pub(crate) fn wait(&self) {
        let state = self.state();
        if !state.left.is_empty() && state.running > 0 {
            drop(self.changed.wait_timeout(state, PATIENCE));
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.used = state.used.saturating_sub(self.bytes);
        state.running = state.running.saturating_sub(1);
        drop(state);
        self.queue.changed.notify_all();
    }
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
        for text in [
            "spir64_gen_pvc nan 1 1 1 1",
            "spir64_gen_pvc 1 2",
            "\u{0}",
            "spir64_gen_pvc -1 1 1 1 1",
            "t 2 1e308 1 1e308 1e308",
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(History::read(&file), History::default(), "{text}");
        }
        // A link is not read, and what it leads to is not written.
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "t 1 1 1 1 1").unwrap();
        std::fs::remove_file(&file).unwrap();
        for link in [file.clone(), file.with_extension(format!("tmp-{}", std::process::id()))] {
            std::os::unix::fs::symlink(&elsewhere, link).unwrap();
        }
        let mut history = History::read(&file);
        assert_eq!(history, History::default());
        history.note("t", 1, 2.0);
        history.write(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "t 1 1 1 1 1");
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

    fn place(taken: &Taken<'_>) -> Option<usize> {
        match taken {
            Taken::Job(share) => Some(share.place),
            Taken::Later | Taken::Nothing => None,
        }
    }

    fn queue(sizes: &[u64], limit: Option<u64>) -> Queue {
        Queue::new(sizes.iter().copied().enumerate(), limit)
    }

    #[test]
    fn without_a_limit_the_order_is_kept() {
        let queue = queue(&[900, 800, 1], None);
        let all = [queue.take(), queue.take(), queue.take()];
        assert_eq!(all.each_ref().map(place), [Some(0), Some(1), Some(2)]);
        assert!(matches!(queue.take(), Taken::Nothing) && queue.is_empty());
    }

    #[test]
    fn one_beyond_the_limit_is_compiled_alone() {
        let queue = queue(&[150, 10], Some(100));
        let large = queue.take();
        assert_eq!(place(&large), Some(0));
        assert!(matches!(queue.take(), Taken::Later));
        drop(large);
        assert_eq!(place(&queue.take()), Some(1));
    }

    #[test]
    fn smaller_ones_fill_the_rest_and_do_not_hold_up_the_large_for_ever() {
        let queue = queue(&[70, 60, 25, 25, 25, 25], Some(100));
        let first = queue.take();
        let second = queue.take();
        assert_eq!((place(&first), place(&second)), (Some(0), Some(2)), "60 does not fit beside 70");
        drop(second);
        let second = queue.take();
        assert_eq!(place(&second), Some(3));
        drop(second);
        assert!(matches!(queue.take(), Taken::Later), "a third of 25 would be more than 60 that went before it");
        drop(first);
        let large = queue.take();
        assert_eq!(place(&large), Some(1));
        let beside = [queue.take(), queue.take()];
        assert_eq!(beside.each_ref().map(place), [Some(4), None]);
    }

    /// Whatever threads do, the sum stays within the limit unless one is alone, and all are done.
    #[test]
    fn the_sum_stays_below() {
        let sizes: Vec<u64> = (0..200u64).map(|at| (at * 7919) % 97 + 20).rev().collect();
        let queue = queue(&sizes, Some(110));
        let (done, now) = (Mutex::new(0usize), Mutex::new((0u64, 0usize)));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        match queue.take() {
                            Taken::Nothing => return,
                            Taken::Later => queue.wait(),
                            Taken::Job(share) => {
                                let size = sizes[share.place];
                                {
                                    let mut now = now.lock().unwrap();
                                    *now = (now.0 + size, now.1 + 1);
                                    assert!(now.0 <= 110 || now.1 == 1, "{now:?}");
                                }
                                std::thread::yield_now();
                                let mut now = now.lock().unwrap();
                                *now = (now.0 - size, now.1 - 1);
                                *done.lock().unwrap() += 1;
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(*done.lock().unwrap(), sizes.len());
    }
}
