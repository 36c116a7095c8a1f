//! How does the parent talk to one worker, and get rid of it?
//!
//! Nothing here waits on a worker without a deadline, and nothing needs a thread: standard input and output of a worker are
//! sockets, which are written to and read from in turns, each for a moment. A thread listens to its standard error; where the
//! system gives none, what the worker says there is lost. Standard error is no socket, since programs open `/dev/stderr`.

use std::io::{ErrorKind as IoKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::inventory::{Inventory, Offline};
use super::protocol::{Compiled, Reply, Request};
use super::{Death, FailureCause};
use super::{Engine, Launch};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::limits;
use crate::temporary::Scratch;

/// Option of a worker, before the files of [`Launch::reads`].
pub(crate) const READS: &str = "--reads";

/// Bytes of the end of a worker's standard error that are kept.
const STDERR_TAIL: usize = 8 << 10;

/// Interval at which a waiting parent looks whether it should stop.
const TICK: Duration = Duration::from_millis(100);

/// The interval while the worker has not taken the whole request.
const BUSY_TICK: Duration = Duration::from_millis(1);

/// Longest wait for the end of standard error after a death: a grandchild may hold the pipe open.
const GRACE: Duration = Duration::from_millis(300);

/// Longest wait for a worker to end what it started, once it is told to.
const LAST_GRACE: Duration = Duration::from_secs(2);

/// A worker process. Dropping it kills it and waits for its end.
pub(super) struct Worker {
    child: Child,
    /// Whether its end has been waited for: another process may have its number then.
    buried: bool,
    requests: UnixStream,
    replies: UnixStream,
    /// Bytes of a reply that is not complete yet.
    received: Vec<u8>,
    /// The end of what it said on standard error, and word that no more comes.
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_ended: Receiver<()>,
    /// Dropped last, when the process has ended.
    _folder: Option<Scratch>,
}

/// Makes an empty folder of this user alone below `base`, for as long as the value lives.
///
/// # Errors
/// `Environment` where it cannot be made.
pub(crate) fn scratch(base: &Path) -> Result<Scratch> {
    Scratch::new(base).map_err(|error| {
        Error::new(ErrorKind::Environment, format!("making a folder to work in: {error}"))
            .with_remedy("TMPDIR names a folder that can be written to")
    })
}

/// The reason why there is no reply.
pub(super) enum NoReply {
    /// The attempt failed, and with it the worker; the text is the end of its standard error.
    Failed(FailureCause, String),
    /// The caller asked to stop.
    Stopped,
}

impl Worker {
    /// Starts the process; it has not been spoken to yet.
    pub(crate) fn start(launch: &Launch) -> Result<Worker> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.args);
        if let Some(files) = &launch.reads {
            command.arg(READS).args(files);
        }
        launch.without.iter().for_each(|name| _ = command.env_remove(name));
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        let folder = launch.scratch.as_deref().map(scratch).transpose()?;
        if let Some(folder) = &folder {
            let folder = folder.path();
            command.current_dir(folder).env("TMPDIR", folder);
            // Drivers keep caches, and PoCL has no device where it cannot; there is no other place for them.
            command.env("XDG_CACHE_HOME", folder).env("POCL_CACHE_DIR", folder);
        }
        let no_sockets = |error| Error::new(ErrorKind::Environment, format!("sockets for a worker process: {error}"));
        let socket = || -> std::io::Result<(UnixStream, Stdio)> {
            let (own, other) = UnixStream::pair()?;
            Ok((own, Stdio::from(OwnedFd::from(other))))
        };
        let (requests, stdin) = socket().map_err(no_sockets)?;
        let (replies, stdout) = socket().map_err(no_sockets)?;
        requests.set_nonblocking(true).map_err(no_sockets)?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let (stderr, stderr_ended) = listen(&said);
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        // A signal from the terminal (Ctrl-C) is for the program, which ends its workers in order; sent to a worker it
        // would look like a crash of its driver.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|error| {
            let program = launch.program.display();
            Error::new(ErrorKind::Environment, format!("starting a worker process, {program}: {error}"))
        })?;
        // The other ends go with the command: where the worker ends, so do its streams.
        drop(command);
        Ok(Worker {
            child,
            buried: false,
            requests,
            replies,
            received: Vec::new(),
            stderr: said,
            stderr_ended,
            _folder: folder,
        })
    }

    /// Sends a request and waits for its reply, for as long as [`Patience`] has it. After anything but a reply the worker is of no
    /// further use.
    pub(crate) fn ask(
        &mut self,
        request: &Request<'_>,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<std::result::Result<Reply, NoReply>> {
        if !self.received.is_empty() {
            let reason = "the worker process answered before it was asked".to_owned();
            return Ok(Err(self.give_up(FailureCause::BadOutput(reason))));
        }
        let most = request.most();
        let mut patience = Patience::new(timeout, self.child.id());
        let frame = request.encode()?;
        let mut unsent = frame.as_slice();
        loop {
            self.send(&mut unsent);
            let left = patience.left();
            let moment = left.min(if unsent.is_empty() { TICK } else { BUSY_TICK });
            let mut ended = self.receive(moment, most);
            if !ended && self.has_ended() {
                // Something that it started may hold the other end for as long as it likes.
                self.receive(BUSY_TICK, most);
                ended = true;
            }
            let reply = if ended && !self.received.is_empty() {
                Reply::read(&mut self.received.as_slice()).map(|reply| reply.map(|reply| (reply, self.received.len())))
            } else {
                Reply::first(&self.received, most)
            };
            match reply {
                Ok(Some((reply, size))) => {
                    self.received.drain(..size);
                    return Ok(Ok(reply));
                }
                Err(error) => {
                    let reason = format!("the worker process sent {}", error.message());
                    return Ok(Err(self.give_up(FailureCause::BadOutput(reason))));
                }
                Ok(None) if ended => return Ok(Err(self.bury())),
                Ok(None) if stop() => return Ok(Err(NoReply::Stopped)),
                Ok(None) if left.is_zero() => {
                    return Ok(Err(self.give_up(FailureCause::TimedOut { after: timeout })));
                }
                Ok(None) => {}
            }
        }
    }

    /// Sends what the worker takes at once.
    fn send(&mut self, unsent: &mut &[u8]) {
        while !unsent.is_empty() {
            match self.requests.write(unsent) {
                Ok(sent @ 1..) => *unsent = unsent.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) if error.kind() == IoKind::WouldBlock => return,
                // The worker is gone, which the end of its replies tells.
                Ok(_) | Err(_) => *unsent = &[],
            }
        }
    }

    /// Waits a moment for a part of a reply, and takes all that is there. Whether the worker's output has ended.
    fn receive(&mut self, moment: Duration, most: u32) -> bool {
        let mut chunk = [0; 64 << 10];
        // A time of zero would be none.
        let mut patience = moment.max(BUSY_TICK);
        loop {
            let _ = self.replies.set_read_timeout(Some(patience));
            match self.replies.read(&mut chunk) {
                Ok(count @ 1..) => self.received.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if matches!(error.kind(), IoKind::WouldBlock | IoKind::TimedOut) => return false,
                Err(error) if error.kind() == IoKind::Interrupted => return false,
                Ok(_) | Err(_) => return true,
            }
            // Enough, where a reply is there: it may be the last thing that comes for a long time.
            if Reply::is_whole(&self.received, most) {
                return false;
            }
            patience = BUSY_TICK;
        }
    }

    /// Whether the process has ended, which is not taken notice of yet.
    fn has_ended(&self) -> bool {
        let Some(process) = self.process() else { return false };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(process), look).is_ok_and(|status| status.is_some())
    }

    fn process(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Kills the worker and all that it started.
    fn kill(&mut self) {
        // As long as nobody has waited for its end, no other process or group has the number.
        if let Some(process) = self.process().filter(|_| !self.buried) {
            // One that is watched is ended with what has left its group, too.
            let _ = kill_process(process, Signal::TERM);
            let begun = Instant::now();
            while !self.has_ended() && begun.elapsed() < LAST_GRACE {
                thread::sleep(Duration::from_millis(1));
            }
            let _ = kill_process_group(process, Signal::KILL);
        }
        // Fails only where it has ended already.
        let _ = self.child.kill();
    }

    /// Kills the worker for a cause of its own making.
    fn give_up(&mut self, cause: FailureCause) -> NoReply {
        self.kill();
        NoReply::Failed(cause, self.last_words())
    }

    /// Finds out how a worker ended whose output has ended.
    fn bury(&mut self) -> NoReply {
        let begun = Instant::now();
        while !self.has_ended() && begun.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(1));
        }
        // Where it has not, it closed its output and lives on.
        let ended = self.has_ended();
        self.kill();
        let status = if ended { self.child.try_wait().ok().flatten() } else { None };
        self.buried = status.is_some();
        let death = status.map_or(Death::Unknown, death);
        self.give_up(FailureCause::Died(death))
    }

    fn last_words(&mut self) -> String {
        // On a timeout what has arrived so far must do.
        let _ = self.stderr_ended.recv_timeout(GRACE);
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

/// Time that a worker may take for one request: of the processor, where it works without end; where it waits, of the clock. So a
/// compiler is given longer on a busy machine, as much as the others take from it.
struct Patience {
    timeout: Duration,
    process: u32,
    /// Processor time that it had taken before the request, and when it was last looked at.
    before: Duration,
    seen: Duration,
    looked: Instant,
    /// The moment at which it is looked at again, and the last one that it is given.
    until: Instant,
    last: Instant,
}

impl Patience {
    /// Share of an interval for which a process has the processor at least, on a machine that is busy beyond use.
    const LEAST_SHARE: u32 = 100;
    /// Times that the clock may show the timeout, however busy the machine is.
    const MOST_TIMEOUTS: u32 = 10;
    /// Longest timeout; the clock has no moment for those without end.
    const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

    fn new(timeout: Duration, process: u32) -> Patience {
        let (timeout, looked) = (timeout.min(Patience::LONGEST), Instant::now());
        let before = processor_time(process, 0).unwrap_or_default();
        let (until, last) = (looked + timeout, looked + timeout * Patience::MOST_TIMEOUTS);
        Patience { timeout, process, before, seen: before, looked, until, last }
    }

    /// Returns the time until the deadline, which moves on as long as the process works and has not had its time.
    fn left(&mut self) -> Duration {
        let here = Instant::now();
        let left = self.until.saturating_duration_since(here);
        if !left.is_zero() {
            return left;
        }
        let Some(now) = processor_time(self.process, 0) else { return left };
        let worked = now.saturating_sub(self.seen);
        let more = self.timeout.saturating_sub(now.saturating_sub(self.before));
        let waited = here.saturating_duration_since(self.looked);
        if worked < waited / Patience::LEAST_SHARE || more.is_zero() {
            return Duration::ZERO;
        }
        (self.seen, self.looked) = (now, here);
        let more = more.max(TICK).min((self.timeout / 4).max(TICK)).min(self.last.saturating_duration_since(here));
        self.until = here + more;
        more
    }
}

/// Processor time of a process and of those it started, which `ocloc` as a program is; none where the system does not tell.
fn processor_time(process: u32, depth: u32) -> Option<Duration> {
    /// Fields of `/proc/PID/stat` behind the name: user and system time, and those of children that have ended, in ticks of 10 ms.
    const TIMES: std::ops::Range<usize> = 11..15;
    const TICKS_PER_SECOND: u64 = 100;
    /// Starters of starters: a shell, a loader, the compiler.
    const DEEPEST: u32 = 6;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(TIMES)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    let own = Duration::from_millis(ticks.saturating_mul(1000 / TICKS_PER_SECOND));
    if depth == DEEPEST {
        return Some(own);
    }
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let of_children = children.split_whitespace().filter_map(|child| child.parse().ok());
    let times = of_children.filter_map(|child| processor_time(child, depth.saturating_add(1)));
    Some(times.fold(own, Duration::saturating_add))
}

/// Keeps the end of what a worker says on the standard error that is returned; tells when no more comes.
fn listen(said: &Arc<Mutex<Vec<u8>>>) -> (Stdio, Receiver<()>) {
    let (ended, stderr_ended) = channel();
    let Ok((mut stderr, other)) = std::io::pipe() else { return (Stdio::null(), stderr_ended) };
    let shared = Arc::clone(said);
    let listener = move || {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut chunk) {
            let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let excess = kept.len().saturating_sub(STDERR_TAIL);
            kept.drain(..excess);
        }
        // Nobody may be waiting any more.
        let _ = ended.send(());
    };
    match thread::Builder::new().stack_size(limits::THREAD_STACK).spawn(listener) {
        Ok(_) => (other.into(), stderr_ended),
        Err(_no_thread) => (Stdio::null(), stderr_ended),
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker has nothing to save, and its driver's tear-down can hang.
        self.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
fn death(status: ExitStatus) -> Death {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => Death::Signal(signal),
        (None, Some(code)) => Death::Exit(code),
        (None, None) => Death::Unknown,
    }
}

#[cfg(not(unix))]
fn death(status: ExitStatus) -> Death {
    status.code().map_or(Death::Unknown, Death::Exit)
}

/// The error for a machine that lacks something, as a worker told it.
pub(super) fn environment(message: String, remedy: String) -> Error {
    let error = Error::new(ErrorKind::Environment, message);
    if remedy.is_empty() { error } else { error.with_remedy(remedy) }
}

/// Asks a worker of its own what the offline compiler of an engine is like, and which of these devices it does not know.
///
/// # Errors
/// `Environment` where there is none, or it does not answer.
pub fn offline(engine: &Engine, devices: &[&str], timeout: Duration) -> Result<Offline> {
    offline_until(engine, devices, timeout, &|| false)
}

/// Asks the offline compiler what it is like, as [`offline`] does.
///
/// # Errors
/// Errors of [`offline`]; and one where `stop` says so meanwhile.
pub(crate) fn offline_until(
    engine: &Engine,
    devices: &[&str],
    timeout: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<Offline> {
    let devices = devices.iter().map(|device| (*device).into()).collect();
    match opened(engine, &Request::Offer(devices), timeout, stop)? {
        Reply::Offline(offline) => Ok(*offline),
        other => Err(unexpected(other)),
    }
}

/// Has a worker of its own, which gets no module, make the library of functions that kernels for NVIDIA GPUs call.
///
/// # Errors
/// `Environment` where it cannot be made, or `stop` says so meanwhile.
pub(crate) fn library(engine: &Engine, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Vec<u8>> {
    match opened(engine, &Request::Library, timeout, stop)? {
        Reply::Compiled(Compiled::Built { binary, .. }) => Ok(binary),
        other => Err(unexpected(other)),
    }
}

/// Returns the reply of a worker of its own to a request, once it has opened its compiler.
fn opened(engine: &Engine, request: &Request<'_>, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Reply> {
    let mut worker = Worker::start(&engine.launch)?;
    match worker.ask(&Request::Open(engine.open.clone()), timeout, stop)?.map_err(silent)? {
        Reply::Ready(_) => worker.ask(request, timeout, stop)?.map_err(silent),
        other => Err(unexpected(other)),
    }
}

/// The error for a reply that is none to what was asked.
fn unexpected(reply: Reply) -> Error {
    match reply {
        Reply::Unavailable { message, remedy } => environment(message, remedy),
        other => Error::new(ErrorKind::Environment, other.unexpected()),
    }
}

/// The error where there is no reply.
fn silent(none: NoReply) -> Error {
    match none {
        NoReply::Failed(cause, log) => {
            let said = if log.is_empty() { String::new() } else { format!("; it said: {log}") };
            Error::new(ErrorKind::Environment, format!("{cause}{said}"))
        }
        NoReply::Stopped => Error::new(ErrorKind::Environment, "stopped"),
    }
}

/// Asks a worker of its own what loader, platforms and devices there are: merely looking can end the process.
///
/// # Errors
/// `Environment` where no worker starts, or the one that looks dies or stays silent.
pub fn inventory(launch: &Launch, timeout: Duration) -> Result<Inventory> {
    drivers(launch, timeout).context(|| "listing OpenCL devices".to_owned())
}

/// Asks a worker as [`inventory`] does, for what drivers consist of: that devices are listed, too, nobody wants to know.
///
/// # Errors
/// Errors of [`inventory`].
pub(super) fn drivers(launch: &Launch, timeout: Duration) -> Result<Inventory> {
    let mut worker = Worker::start(launch)?;
    match worker.ask(&Request::Inventory, timeout, &|| false)? {
        Ok(Reply::Inventory(inventory)) => Ok(inventory),
        Ok(other) => Err(unexpected(other)),
        Err(none) => Err(silent(none)),
    }
}
