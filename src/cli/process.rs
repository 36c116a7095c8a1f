//! How does this process end by a signal, and what does it take of memory and threads?
//!
//! Pages of 2 MiB pay where a whole library is read. What a command line takes fills a fraction of one, and so does what is
//! left of a module that is taken apart, piece by piece given back.

use super::global::Global;
use super::worker;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::input::{self, unchanged};
use crate::limits;
use crate::temporary::remove_begun;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

/// The signal that came; 0 before one did.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Whether the verb ends in order by itself where a signal comes.
static IN_ORDER: AtomicBool = AtomicBool::new(false);

/// Signals that end a process in order. A terminal sends two of them (Ctrl-C, Ctrl-\).
const ENDS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Whether whoever started this process has it ignore a signal, as `nohup` does and a shell for what runs in the background. Asked
/// before a handler is set, it is so for good.
fn is_ignored(signal: i32) -> bool {
    static IGNORED: LazyLock<u64> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored =
            status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        ignored.unwrap_or_default()
    });
    let bit = signal.checked_sub(1).and_then(|bit| 1u64.checked_shl(u32::try_from(bit).ok()?));
    bit.is_some_and(|bit| *IGNORED & bit != 0)
}

/// Returns those of some signals that are not ignored.
fn heeded<const N: usize>(signals: [i32; N]) -> impl Iterator<Item = i32> {
    signals.into_iter().filter(|signal| !is_ignored(*signal))
}

/// Lets this process wait for those that it starts, where whoever started it has it ignore their ends: the system would keep no
/// status then.
pub(crate) fn heed_ends_of_children() {
    if is_ignored(SIGCHLD) {
        // A handler is no longer in place in the programs that are started.
        let _ = flag::register(SIGCHLD, Arc::default());
    }
}

/// Calls `clean` before one of [`ENDS`] that is not ignored ends the process, unless the verb ends in order by itself
/// ([`interrupted`]). Only the first call counts.
pub(crate) fn before_the_end(clean: fn()) {
    end_in_order(clean, heeded(ENDS).collect());
}

/// Calls `clean` before one of some signals ends the process, as [`before_the_end`] does.
fn end_in_order(clean: fn(), signals: Vec<i32>) {
    static WATCHED: OnceLock<()> = OnceLock::new();
    WATCHED.get_or_init(|| {
        // Where any of this cannot be had, the signal ends the process at once, and the next run cleans up.
        let Ok((mut read, write)) = std::os::unix::net::UnixStream::pair() else { return };
        let wait = move || {
            let mut signal = [0];
            while std::io::Read::read_exact(&mut read, &mut signal).is_ok() {
                let came = i32::try_from(CAME.load(Ordering::SeqCst)).unwrap_or(SIGTERM);
                // None, where it was another process's.
                if !IN_ORDER.load(Ordering::SeqCst) && came != 0 {
                    clean();
                    end_by(came);
                }
            }
        };
        if std::thread::Builder::new().stack_size(limits::THREAD_STACK).spawn(wait).is_err() {
            return;
        }
        for signal in signals {
            let number = usize::try_from(signal).unwrap_or_default();
            let _ = flag::register_usize(signal, Arc::clone(&CAME), number);
            if let Ok(write) = write.try_clone() {
                let _ = signal_hook::low_level::pipe::register(signal, write);
            }
        }
    });
}

/// A flag that the first of [`ENDS`] sets; one that comes [`AGAIN`] or more later ends the process at once. What comes sooner is the same
/// request: `timeout` signals its child, and then the group that this is in.
pub(crate) fn interrupted() -> Arc<AtomicBool> {
    IN_ORDER.store(true, Ordering::SeqCst);
    let raised = Arc::new(AtomicBool::new(false));
    let again = later(&raised);
    for signal in heeded(ENDS) {
        // Where a handler cannot be set, the signal keeps its own effect, which is to end the process.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
        let _ = flag::register(signal, Arc::clone(&raised));
        let number = usize::try_from(signal).unwrap_or_default();
        let _ = flag::register_usize(signal, Arc::clone(&CAME), number);
    }
    raised
}

/// Time after which a second signal is another request.
const AGAIN: Duration = Duration::from_secs(1);

/// Returns a flag that is set some time after one of [`ENDS`] came; the flag that is set at once, where that cannot be had.
fn later(raised: &Arc<AtomicBool>) -> Arc<AtomicBool> {
    let Ok((mut read, write)) = std::os::unix::net::UnixStream::pair() else { return Arc::clone(raised) };
    let again = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&again);
    let wait = move || {
        if std::io::Read::read_exact(&mut read, &mut [0]).is_ok() {
            std::thread::sleep(AGAIN);
            flag.store(true, Ordering::SeqCst);
        }
    };
    if std::thread::Builder::new().stack_size(limits::THREAD_STACK).spawn(wait).is_err() {
        return Arc::clone(raised);
    }
    for signal in heeded(ENDS) {
        if let Ok(write) = write.try_clone() {
            let _ = signal_hook::low_level::pipe::register(signal, write);
        }
    }
    again
}

/// Passes signals on to another process, until it is dropped.
#[derive(Debug)]
pub(crate) struct Forwarding {
    /// The process; 0 once it has ended, as its number may be another's then.
    pid: Arc<AtomicI32>,
}

impl Forwarding {
    /// Begins; signals that come before the process is known are dropped. What the terminal sends to a whole foreground group,
    /// the process gets without this.
    pub(crate) fn begin() -> Forwarding {
        IN_ORDER.store(true, Ordering::SeqCst);
        let pid = Arc::new(AtomicI32::new(0));
        let forwarding = Forwarding { pid: Arc::clone(&pid) };
        forward(heeded(FORWARDED).collect(), &pid);
        forwarding
    }

    /// Names the process.
    pub(crate) fn to(&self, pid: u32) {
        self.pid.store(i32::try_from(pid).unwrap_or(0), Ordering::SeqCst);
        // The process began with these ignored, and may heed them by now.
        forward(FORWARDED.into_iter().filter(|signal| is_ignored(*signal)).collect(), &self.pid);
    }
}

/// Signals that are passed on.
const FORWARDED: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// Passes signals on to a process, while its number is known.
fn forward(signals: Vec<i32>, pid: &Arc<AtomicI32>) {
    let came: Vec<_> = signals.into_iter().map(|signal| (signal, Arc::new(AtomicBool::new(false)))).collect();
    // Where any of this cannot be had, signals keep their own effect.
    let Ok((mut read, write)) = std::os::unix::net::UnixStream::pair() else { return };
    for (signal, flag) in &came {
        let _ = flag::register(*signal, Arc::clone(flag));
        if let Ok(write) = write.try_clone() {
            let _ = signal_hook::low_level::pipe::register(*signal, write);
        }
    }
    let pid = Arc::clone(pid);
    let pass_on = move || {
        let mut byte = [0];
        while std::io::Read::read_exact(&mut read, &mut byte).is_ok() {
            for (signal, flag) in &came {
                let by_terminal = matches!(*signal, SIGINT | SIGQUIT) && is_in_foreground();
                let target = Pid::from_raw(pid.load(Ordering::SeqCst));
                let signal = Signal::from_named_raw(*signal);
                if flag.swap(false, Ordering::SeqCst)
                    && !by_terminal
                    && let (Some(target), Some(signal)) = (target, signal)
                {
                    let _ = kill_process(target, signal);
                }
            }
        }
    };
    let _ = std::thread::Builder::new().stack_size(limits::THREAD_STACK).spawn(pass_on);
}

impl Drop for Forwarding {
    /// Ends. What came was the other's, and does not end this process; what comes now does.
    fn drop(&mut self) {
        self.pid.store(0, Ordering::SeqCst);
        CAME.store(0, Ordering::SeqCst);
        IN_ORDER.store(false, Ordering::SeqCst);
    }
}

/// Processes that a process has started, and those that these have, as far as they live; before them the process itself.
pub(crate) fn descendants(first: u32) -> Vec<u32> {
    let (mut found, mut at) = (vec![first], 0);
    while let Some(pid) = found.get(at) {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let children: Vec<u32> = children
            .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        found.extend(children);
        at = at.saturating_add(1);
    }
    found
}

/// Runs a program to its end, and ends as it does. All that it started ends then, or where SIGTERM comes, also what has left its
/// group and session: what others leave behind is handed to this process.
///
/// # Errors
/// `Environment` where it does not start.
pub(crate) fn watch(mut command: Command) -> Result<Exit> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Environment, format!("starting a worker: {error}"));
    // Where the kernel knows no such processes, what has left its group lives on.
    let _ = set_child_subreaper(Some(getpid()));
    // The process that started this one ends it by SIGTERM, whoever has that one ignored.
    end_in_order(end_descendants, heeded(ENDS).filter(|signal| *signal != SIGTERM).chain([SIGTERM]).collect());
    let mut child = command.spawn().map_err(failed)?;
    // The streams are the worker's alone: their end is its own.
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null).and_then(|()| rustix::stdio::dup2_stdout(&null));
    }
    let status = loop {
        match child.wait() {
            Ok(status) => break status,
            // A signal came, whose handler has waited for it and is about to end this process.
            Err(_) => std::thread::park(),
        }
    };
    end_descendants();
    let code = match status.signal() {
        Some(signal) => {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            signal.checked_add(128)
        }
        None => status.code(),
    };
    Ok(Exit::Program(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
}

/// Ends all that this process has started, or was handed.
fn end_descendants() {
    loop {
        let own = descendants(std::process::id()).split_off(1);
        if own.is_empty() {
            return;
        }
        for pid in own.into_iter().filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        // Children of one that has ended are this process's next.
        if wait(WaitOptions::empty()).is_err_and(|error| error != rustix::io::Errno::INTR) {
            return;
        }
    }
}

/// Whether this process is of its terminal's foreground group.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    let group = terminal.ok().and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok());
    group.is_some_and(|group| group == rustix::process::getpgrp())
}

/// Ends the process as the signal would have that came, if one did: shells and `make` go by how a command died, and not by
/// what it returned.
pub(crate) fn end_as_signalled() {
    if let Some(signal) = i32::try_from(CAME.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0) {
        end_by(signal);
    }
}

/// Ends the process as a signal does. The first process of a container, which no signal of its own ends, tells it as a shell does.
fn end_by(signal: i32) {
    const FIRST: u32 = 1;
    if std::process::id() == FIRST {
        signal_hook::low_level::exit(signal.saturating_add(128));
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Lets a read beyond the end of a mapped file, which another process has cut short, end this process as an unreadable
/// input does, with a message. Without that the process would die of SIGBUS.
pub(crate) fn end_where_inputs_are_cut_short() {
    end_at(signal_hook::consts::SIGBUS, "error: another process cut an input short while it was read\n", Exit::Input);
}

/// Lets this process, where it runs past the end of a text in a mapped file, end as an unreadable input does if another process has
/// changed that file: texts are checked once, and gone through as what they were then.
#[allow(unsafe_code, reason = "only a signal handler sees that a mapped file has changed in the middle of a text")]
pub(crate) fn end_where_texts_are_changed() {
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
    extern "C" fn end(signal: libc::c_int) {
        if input::has_changed() {
            let message = b"error: another process changed an input while it was read\n";
            let _ = rustix::io::write(rustix::stdio::stderr(), message);
            signal_hook::low_level::exit(i32::from(Exit::Input.code()));
        }
        if let Some(before) = BEFORE.get() {
            // SAFETY: the action is one that this process had. The instruction that failed is done once more under it.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
    let handler: extern "C" fn(libc::c_int) = end;
    // SAFETY: all of an action's fields may be zero.
    let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    // Rust's library gives each thread a stack for it.
    action.sa_flags = libc::SA_ONSTACK;
    // SAFETY: both are whole, and the handler asks for the state of files and ends the process, or returns.
    if unsafe { libc::sigaction(libc::SIGSEGV, &action, &mut before) } == 0 {
        let _ = BEFORE.set(before);
    }
}

/// Lets what fails since an input is no longer what it was when it was checked end this process as an unreadable input does.
pub(crate) fn end_where_inputs_are_changed(global: &Global) {
    let (others, global) = (std::panic::take_hook(), global.clone());
    std::panic::set_hook(Box::new(move |panic| {
        if let Err(error) = unchanged() {
            let exit = global.error(&error);
            remove_begun();
            signal_hook::low_level::exit(i32::from(exit.code()));
        }
        others(panic);
    }));
}

/// Ends this process with a message and a status where a signal comes; the first such wish counts.
#[allow(
    unsafe_code,
    reason = "only a signal handler sees that a mapped file has become shorter, or that memory ran out"
)]
fn end_at(signal: i32, message: &'static str, exit: Exit) {
    static ENDED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
    // The second call would take the first one's handler away, and set none.
    if !ENDED.lock().is_ok_and(|mut ended| ended.insert(signal)) {
        return;
    }
    let end = move || {
        let _ = rustix::io::write(rustix::stdio::stderr(), message.as_bytes());
        signal_hook::low_level::exit(i32::from(exit.code()));
    };
    // SAFETY: no handler of this process is lost but that of Rust's library, which comes first and takes the signal's own effect for the
    // next: a second thread would end the process by it.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: the handler makes two system calls, `write` and `_exit`, which may be made in signal handlers.
    let _ = unsafe { signal_hook::low_level::register(signal, end) };
}

/// Closes what whoever started this process left open, beside the standard streams. To be called before this process opens
/// anything itself.
#[allow(unsafe_code, reason = "nobody here owns what a process is started with")]
pub(crate) fn close_inherited() {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // SAFETY: it is only asked whether the descriptor is one. That of the list itself is closed by now.
        let is_open = rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(descriptor) }).is_ok();
        if is_open {
            // SAFETY: no value of this process stands for the descriptor, since it has opened none that is still open.
            unsafe { rustix::io::close(descriptor) };
        }
    }
}

/// Makes a write beyond the limit of a file's size an error, after which what was begun is removed: the signal would end the
/// process before.
pub(crate) fn survive_full_files() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// The variable that says what the allocator takes before `main`.
const RESERVE: &str = "MIMALLOC_ARENA_RESERVE";

/// Holds this process, and programs that it starts, to so many bytes of memory each, beside files that are mapped; workers
/// have limits of their own. Where they do not suffice, it ends as where the machine lacks something.
///
/// The allocator has taken a gigabyte of addresses before `main`, which would count: the process begins anew without.
///
/// # Errors
/// `Environment` where the limit cannot be set, or the program cannot be started again.
pub(crate) fn limit_memory(most: u64) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("limiting the memory", &error);
    let Rlimit { current, maximum } = getrlimit(Resource::Data);
    let most = Some(maximum.map_or(most, |maximum| maximum.min(most)));
    if current != most {
        setrlimit(Resource::Data, Rlimit { current: most, maximum }).map_err(|error| failed(error.into()))?;
        // Where the limit is not told as it was set, a process that has begun anew goes on all the same.
        if std::env::var_os(RESERVE).is_none_or(|reserve| reserve != "0") {
            let mut arguments = std::env::args_os();
            let mut again = Command::new(worker::program()?);
            again.arg0(arguments.next().unwrap_or_default()).args(arguments);
            return Err(failed(again.env(RESERVE, "0").exec()));
        }
    }
    end_without_memory(
        "error: the memory of --max-memory does not suffice\nhelp: allow more, or select fewer images\n",
    );
    Ok(())
}

/// Ends this process in order where it has less memory than it needs by a limit of whoever started it.
pub(crate) fn heed_limits_of_memory() {
    if [Resource::As, Resource::Data].into_iter().any(|limit| getrlimit(limit).current.is_some()) {
        end_without_memory(
            "error: the memory that this process may have does not suffice\nhelp: raise the limit (`ulimit -v`, `ulimit -d`)\n",
        );
    }
}

/// Ends this process with a message where an allocation fails: Rust aborts there.
fn end_without_memory(message: &'static str) {
    end_at(signal_hook::consts::SIGABRT, message, Exit::Environment);
}

/// Whether the process had large pages when it began. Who started it may have ruled them out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pages {
    large: bool,
}

impl Pages {
    /// Small pages from now on.
    pub(crate) fn small() -> Pages {
        // A kernel that does not know of them has none to switch off.
        let large = transparent_huge_pages_are_disabled().is_ok_and(|disabled| !disabled);
        if large {
            disable_transparent_huge_pages(true).ok();
        }
        Pages { large }
    }

    /// Restores the setting with which the process began.
    pub(crate) fn as_before(self) {
        if self.large {
            disable_transparent_huge_pages(false).ok();
        }
    }
}

/// The number of processes of a user below which threads may not be had.
const PLENTY: u64 = 4096;

/// Threads for each processor that `RAYON_NUM_THREADS` may ask for.
const MOST_THREADS: usize = 8;
/// Bytes of memory that a thread takes: its stack, which stays when it has ended, and its part of the heap.
const THREAD_MEMORY: u64 = 4 << 20;
/// Bytes of addresses that a thread takes: the C library sets 64 MiB aside for its part of the heap, and looks for twice as many.
const THREAD_ADDRESSES: u64 = 136 << 20;
/// Number of threads whose memory is left for the work itself.
const SPARE_THREADS: usize = 8;

/// Works on this thread alone where others cannot be had: the pool of threads, which starts when it is first asked, would
/// panic.
pub(crate) fn threads_that_can_be_had() {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|count| count.parse().ok()).filter(|count| *count > 0);
    let threads = asked.unwrap_or(processors).min(processors.saturating_mul(MOST_THREADS));
    let places =
        |limit: Resource, each: u64| getrlimit(limit).current.and_then(|most| usize::try_from(most / each).ok());
    let addresses = places(Resource::As, THREAD_ADDRESSES);
    let places = [places(Resource::Data, THREAD_MEMORY), addresses].into_iter().flatten().min();
    let wanted = threads;
    let threads = places.map_or(threads, |places| threads.min(places.saturating_sub(SPARE_THREADS)));
    // Limits of the user and of the group of processes (`docker --pids-limit`) show only where they are met.
    // Where memory is scarce, threads that are tried for nothing would take a part of it.
    let few = addresses.is_some() || getrlimit(Resource::Nproc).current.is_some_and(|limit| limit < PLENTY);
    let tried = if few || places.is_none() { threads } else { 1 };
    let can_be_had = threads > 1 && can_have(tried);
    let is_usual = asked.is_none_or(|asked| asked == threads) && std::env::var_os("RUST_MIN_STACK").is_none();
    if can_be_had && threads == wanted && is_usual {
        return;
    }
    // Only the first pool that is tried counts, also where it cannot be had.
    let pool = match can_be_had {
        true => rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(limits::THREAD_STACK),
        false => rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
    };
    let _ = pool.build_global();
}

/// Whether so many threads can be had at once.
fn can_have(threads: usize) -> bool {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let waiting = (0..threads).map_while(|_| {
        let gate = Arc::clone(&gate);
        // Threads that ask for memory have a part of the heap.
        let wait = move || drop((black_box(vec![0u8; 1 << 10]), gate.lock()));
        std::thread::Builder::new().stack_size(limits::THREAD_STACK).spawn(wait).ok()
    });
    let waiting: Vec<_> = waiting.collect();
    drop(closed);
    let had = waiting.len() == threads;
    waiting.into_iter().for_each(|thread| drop(thread.join()));
    had
}
