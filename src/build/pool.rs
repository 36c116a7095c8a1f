//! Who compiles what, when, and how often is it tried?
//!
//! One thread per worker takes the largest module that is left (and that memory suffices for, see `memory`), so that no
//! large one is begun last. Where the system gives fewer threads than asked for, these do the work; where it gives none, the
//! caller's does. The kernel
//! ties a worker to the thread that started it (`PR_SET_PDEATHSIG` counts threads), which is why a worker never
//! changes hands.

use super::estimate::{self, Queue, Share, Taken};
use super::process::{NoReply, Worker, environment};
use super::protocol::{Compiled, Reply, Request};
use super::{Artifact, Engine, Event, Failure, FailureCause, Job, Open, Outcome, Settings, Step, Tokens};
use crate::bundle::format::Format;
use crate::compat::built_in::is_of_library;
use crate::container::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::native::{Native, zebin};
use crate::spirv::Module;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Number of workers in a row that may fail to start before the machine is held to be at fault.
const START_ATTEMPTS: usize = 3;

/// Compiles every job, each by the engine at the place of its target. The outcomes stand in the order of the jobs; one that
/// fails does so alone.
///
/// # Errors
/// `Environment` where the machine cannot compile at all, at which everything stops.
pub fn run(
    jobs: &[Job<'_>],
    engines: &[Engine],
    settings: &Settings,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Outcome>> {
    run_tasks(jobs, engines, settings, on_event)
}

/// Something that one worker does in one go.
pub(super) trait Task: Sync {
    /// Result of the task.
    type Product: Send;

    /// The caller's number for the image.
    fn image(&self) -> usize;

    /// The caller's number for the target: the place of the engine.
    fn target(&self) -> usize;

    /// Relative cost, compared with other tasks: bytes of code.
    fn weight(&self) -> usize;

    /// Request that the worker gets.
    fn request(&self) -> Request<'_>;

    /// The product that a reply holds, or the reply where it holds none.
    fn product(&self, reply: Reply, elapsed: Duration, attempts: u32) -> std::result::Result<Self::Product, Reply>;
}

impl Task for Job<'_> {
    type Product = Artifact;

    fn image(&self) -> usize {
        self.image
    }

    fn target(&self) -> usize {
        self.target
    }

    fn weight(&self) -> usize {
        let others = match &self.step {
            Step::Link(others) => others.iter().map(|other| other.len()).sum(),
            Step::Build | Step::Compile | Step::Offline(_) => 0,
        };
        self.il.len().saturating_add(others)
    }

    fn request(&self) -> Request<'_> {
        let il = || self.il.as_ref().into();
        let compile_options = self.compile_options.as_str().into();
        let link_options = self.link_options.as_str().into();
        match &self.step {
            Step::Build => Request::Build { il: il(), compile_options, link_options },
            Step::Compile => Request::Compile { il: il(), compile_options },
            Step::Offline(device) => {
                Request::Offline { il: il(), device: device.as_str().into(), compile_options, link_options }
            }
            Step::Link(others) => {
                let others = others.iter().map(|other| other.as_ref().into());
                Request::Link { inputs: std::iter::once(il()).chain(others).collect(), compile_options, link_options }
            }
        }
    }

    fn product(&self, reply: Reply, elapsed: Duration, attempts: u32) -> std::result::Result<Artifact, Reply> {
        match reply {
            Reply::Compiled(Compiled::Built { binary, log }) => {
                if let Some(reason) = self.flaw(&binary) {
                    return Err(Reply::Compiled(Compiled::Hollow { reason, log }));
                }
                Ok(Artifact { image: self.image, target: self.target, binary, log, elapsed, attempts })
            }
            other => Err(other),
        }
    }
}

/// [`run`] for any kind of task.
pub(super) fn run_tasks<T: Task>(
    jobs: &[T],
    engines: &[Engine],
    settings: &Settings,
    on_event: &mut dyn FnMut(Event<'_, T::Product>),
) -> Result<Vec<std::result::Result<T::Product, Failure>>> {
    // One engine after the other, so that a worker changes hardly ever; targets of one engine side by side.
    let engine = |job: &T| {
        let own = engines.get(job.target());
        engines.iter().position(|engine| Some(engine) == own).unwrap_or(usize::MAX)
    };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|place| jobs.get(*place).map(|job| (engine(job), std::cmp::Reverse(job.weight()))));
    let estimate = |place: &usize| jobs.get(*place).map_or(0, |job| estimate::estimate(job.weight()));
    let queue = Queue::new(order.iter().map(|place| (*place, estimate(place))), settings.memory);
    let stop = AtomicBool::new(false);
    let (news, from_slots) = channel();

    let mut outcomes: Vec<Option<std::result::Result<T::Product, Failure>>> = Vec::new();
    outcomes.resize_with(jobs.len(), || None);
    let mut fatal = None;
    thread::scope(|scope| {
        // Should `on_event` panic, the scope would otherwise wait for everything that is left.
        let _guard = StopOnDrop(&stop);
        for number in 0..settings.jobs.get().min(jobs.len()) {
            let slot = || Slot { number, jobs, engines, settings, queue: &queue, stop: &stop, news: news.clone() };
            let own = slot();
            if let Err(_no_thread) =
                thread::Builder::new().stack_size(limits::THREAD_STACK).spawn_scoped(scope, move || own.work())
            {
                // The threads that could be had do the work. Where there is none, this thread does, and events are told
                // after it.
                if number == 0 {
                    slot().work();
                }
                break;
            }
        }
        drop(news);
        for message in from_slots {
            match message {
                News::Started(image, target, worker) => on_event(Event::Started { image, target, worker }),
                News::Retrying(image, target, attempt, cause) => {
                    on_event(Event::Retrying { image, target, attempt, cause: &cause });
                }
                News::Done(place, outcome) => {
                    match &outcome {
                        Ok(artifact) => on_event(Event::Finished(artifact)),
                        Err(failure) => on_event(Event::Failed(failure)),
                    }
                    if let Some(entry) = outcomes.get_mut(place) {
                        *entry = Some(outcome);
                    }
                }
                News::Fatal(error) => {
                    fatal.get_or_insert(error);
                }
            }
        }
    });
    if let Some(error) = fatal {
        return Err(error);
    }
    let complete: Option<Vec<_>> = outcomes.into_iter().collect();
    complete.ok_or_else(|| {
        Error::new(ErrorKind::Build, "interrupted; what was compiled so far is in the cache, if there is one")
    })
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Message from a thread to the one that gathers.
enum News<P> {
    Started(usize, usize, usize),
    Retrying(usize, usize, u32, FailureCause),
    Done(usize, std::result::Result<P, Failure>),
    Fatal(Error),
}

/// The reason why a thread stops early.
enum Halt {
    Stopped,
    Fatal(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Fatal(error)
    }
}

/// A leave that is given back whatever happens.
struct Token<'t>(Option<&'t dyn Tokens>);

impl Drop for Token<'_> {
    fn drop(&mut self) {
        if let Some(tokens) = self.0 {
            tokens.release();
        }
    }
}

/// One thread's share: at most one worker at a time.
struct Slot<'p, T: Task> {
    number: usize,
    jobs: &'p [T],
    engines: &'p [Engine],
    settings: &'p Settings,
    queue: &'p Queue,
    stop: &'p AtomicBool,
    news: Sender<News<T::Product>>,
}

impl<'p, T: Task> Slot<'p, T> {
    fn work(self) {
        while !self.stopped() {
            let no_longer = || self.stopped() || self.queue.is_empty();
            let Some(token) = self.token(&no_longer) else { return };
            let Share { place, .. } = &match self.queue.take() {
                Taken::Job(share) => share,
                Taken::Nothing => return,
                Taken::Later => {
                    // No token is held meanwhile.
                    drop(token);
                    self.queue.wait();
                    continue;
                }
            };
            let Some(job) = self.jobs.get(*place) else { return };
            let message = match self.build(job) {
                Ok(outcome) => {
                    if self.settings.fail_fast && outcome.is_err() {
                        self.queue.clear();
                    }
                    News::Done(*place, outcome)
                }
                Err(Halt::Fatal(error)) => {
                    self.stop.store(true, Ordering::Relaxed);
                    News::Fatal(error)
                }
                Err(Halt::Stopped) => return,
            };
            self.tell(message);
        }
    }

    /// The leave to compile one module; none where there is nothing left to compile.
    fn token(&self, no_longer: &dyn Fn() -> bool) -> Option<Token<'_>> {
        let tokens = self.settings.tokens.as_deref();
        if let Some(tokens) = tokens
            && !tokens.acquire(no_longer)
        {
            return None;
        }
        Some(Token(tokens))
    }

    fn stopped(&self) -> bool {
        let interrupted = || self.settings.interrupted.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        self.stop.load(Ordering::Relaxed) || interrupted()
    }

    fn tell(&self, news: News<T::Product>) {
        // The receiver goes away only when the gathering thread panics.
        let _ = self.news.send(news);
    }

    /// Tries one job as often as the settings allow, each time in a worker of its own: a module that takes over its driver's process
    /// has no say in what becomes of others, and of what is cached for them.
    fn build(&self, job: &T) -> std::result::Result<std::result::Result<T::Product, Failure>, Halt> {
        let (request, image, target) = (job.request(), job.image(), job.target());
        let Some(engine) = self.engines.get(target) else {
            return Err(Error::input(format!("there is no compiler for target number {target}")).into());
        };
        let mut earlier = Vec::new();
        for attempts in 1.. {
            let mut worker = self.start(engine)?;
            if attempts == 1 {
                self.tell(News::Started(image, target, self.number));
            }
            let begun = Instant::now();
            let (cause, log) = match worker.ask(&request, self.settings.timeout, &|| self.stopped())? {
                Ok(reply) => {
                    let reply = match job.product(reply, begun.elapsed(), attempts) {
                        Ok(product) => return Ok(Ok(product)),
                        Err(reply) => reply,
                    };
                    let (cause, log) = match reply {
                        Reply::Compiled(Compiled::Refused { code, name, log }) => {
                            (FailureCause::Refused { code, name }, log)
                        }
                        Reply::Compiled(Compiled::Hollow { reason, log }) => (FailureCause::BadOutput(reason), log),
                        Reply::Unavailable { message, remedy } => return Err(environment(message, remedy).into()),
                        other => (FailureCause::BadOutput(other.unexpected()), String::new()),
                    };
                    return Ok(Err(Failure { image, target, cause, earlier, log, attempts }));
                }
                Err(NoReply::Stopped) => return Err(Halt::Stopped),
                Err(NoReply::Failed(cause, log)) => (cause, log),
            };
            // A compiler that hangs once hangs again, and each time costs all the patience there is.
            let timed_out = matches!(cause, FailureCause::TimedOut { .. });
            // ocloc is deterministic: what ends a fresh process in the same way ends the next. The CPU driver dies at random.
            let repeated = matches!(engine.open, Open::Ocloc(_)) && earlier.last() == Some(&cause);
            let hopeless = timed_out || repeated;
            if hopeless || attempts > self.settings.retries {
                return Ok(Err(Failure { image, target, cause, earlier, log, attempts }));
            }
            self.tell(News::Retrying(image, target, attempts + 1, cause.clone()));
            earlier.push(cause);
        }
        Err(Halt::Stopped)
    }

    /// A worker whose context stands.
    fn start(&self, engine: &Engine) -> std::result::Result<Worker, Halt> {
        let (mut last, mut attempts) = (None, 0);
        while attempts < START_ATTEMPTS {
            let mut worker = Worker::start(&engine.launch)?;
            match worker.ask(&Request::Open(engine.open.clone()), self.settings.startup_timeout, &|| self.stopped())? {
                Ok(Reply::Ready(_)) => return Ok(worker),
                Ok(Reply::Unavailable { message, remedy }) => return Err(environment(message, remedy).into()),
                Ok(other) => last = Some((other.unexpected(), String::new())),
                Err(NoReply::Stopped) => return Err(Halt::Stopped),
                Err(NoReply::Failed(cause, log)) => {
                    let timed_out = matches!(cause, FailureCause::TimedOut { .. });
                    last = Some((cause.to_string(), log));
                    // As with a module: one that hangs once hangs again.
                    if timed_out {
                        break;
                    }
                }
            }
            attempts = attempts.saturating_add(1);
        }
        let (cause, log) = last.unwrap_or_default();
        let said = if log.is_empty() { String::new() } else { format!("; it said: {log}") };
        let tries = if attempts < START_ATTEMPTS { String::new() } else { format!(" in {attempts} attempts") };
        let message = format!("no worker process could be started{tries}: {cause}{said}");
        let remedy = "`sycl-bundle doctor` tells what is wrong with the driver".to_owned();
        Err(environment(message, remedy).into())
    }
}

impl Job<'_> {
    /// Returns what is wrong with a binary that was made for this job; nothing where it is whole. Only executables are judged: an
    /// object is whatever its driver takes.
    pub(crate) fn flaw(&self, binary: &[u8]) -> Option<String> {
        if self.kernels.is_empty() {
            return None;
        }
        flaw(binary, &self.kernels).or_else(|| self.unresolved(binary))
    }

    /// Tells of an import that is open in native code, which a driver refuses then.
    fn unresolved(&self, binary: &[u8]) -> Option<String> {
        if Format::sniff(binary) != Format::Zebin {
            return None;
        }
        let open = zebin::undefined(binary);
        let imports = if open.is_empty() { return None } else { Module::parse(&self.il).ok()?.imports };
        let name = open.into_iter().find(|name| imports.iter().any(|import| import == name))?;
        let library = match is_of_library(&name) {
            true => {
                "; it is of the device library of SYCL runtimes before 2026, which `build` links: see --device-library"
            }
            false => "",
        };
        Some(format!("the code calls {name}, which neither the compiler nor an image of the file defines{library}"))
    }
}

/// Returns what is wrong with a binary that should hold these kernels.
pub(crate) fn flaw(binary: &[u8], kernels: &[String]) -> Option<String> {
    let format = Format::sniff(binary);
    if !matches!(
        format,
        Format::Elf | Format::Zebin | Format::PatchTokens | Format::Ar | Format::Cubin | Format::Fatbin | Format::Pocl
    ) {
        return Some(format!("the compiler reported success and delivered {}, no device binary", format.name()));
    }
    let native = Native::read(binary, format, Place::file(0))?;
    if let Some(problem) = native.problems.first() {
        return Some(format!("the compiler reported success and delivered a damaged binary: {problem}"));
    }
    let there: HashSet<&str> = native.kernel_names().into_iter().collect();
    let missing: Vec<&str> = kernels.iter().map(String::as_str).filter(|name| !there.contains(name)).collect();
    let first = missing.first()?;
    let more = missing.len().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("the compiler reported success and delivered a binary without the kernel {first}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_is_no_binary_is_a_flaw() {
        let kernels = ["k".to_owned()];
        assert!(flaw(b"nonsense", &kernels).is_some_and(|why| why.contains("no device binary")));
        assert!(flaw(b"\x7fELF", &kernels).is_some());
        assert_eq!(Job::default().flaw(b"anything"), None);
    }
}
