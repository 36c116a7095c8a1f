//! How does a signal end a process that has something to lose, or something to say?

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use sycl_bundle::error::Exit;

/// The signal that came; 0 before one did.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Whether the verb ends in order by itself where a signal comes.
static IN_ORDER: AtomicBool = AtomicBool::new(false);

/// Calls `clean` before SIGINT, SIGTERM or SIGHUP ends the process, unless the verb ends in order by itself
/// ([`interrupted`]). Only the first call counts.
pub fn before_the_end(clean: fn()) {
    static WATCHED: OnceLock<()> = OnceLock::new();
    WATCHED.get_or_init(|| {
        // Where any of this cannot be had, the signal ends the process at once, and the next run cleans up.
        let Ok((mut read, write)) = std::os::unix::net::UnixStream::pair() else { return };
        let wait = move || {
            let mut signal = [0];
            while std::io::Read::read_exact(&mut read, &mut signal).is_ok() {
                if !IN_ORDER.load(Ordering::Relaxed) {
                    clean();
                    let came = i32::try_from(CAME.load(Ordering::Relaxed)).unwrap_or(SIGTERM);
                    let _ = signal_hook::low_level::emulate_default_handler(came);
                }
            }
        };
        if std::thread::Builder::new().spawn(wait).is_err() {
            return;
        }
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            let _ = flag::register_usize(signal, Arc::clone(&CAME), number);
            if let Ok(write) = write.try_clone() {
                let _ = signal_hook::low_level::pipe::register(signal, write);
            }
        }
    });
}

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; the second ends the process at once.
pub fn interrupted() -> Arc<AtomicBool> {
    IN_ORDER.store(true, Ordering::Relaxed);
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Where a handler cannot be set, the signal keeps its own effect, which is to end the process.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&raised));
        let _ = flag::register(signal, Arc::clone(&raised));
        let number = usize::try_from(signal).unwrap_or_default();
        let _ = flag::register_usize(signal, Arc::clone(&CAME), number);
    }
    raised
}

/// Ends the process as the signal would have that came, if one did: shells and `make` go by how a command died, and not by
/// what it returned.
pub fn end_as_signalled() {
    if let Some(signal) = i32::try_from(CAME.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0) {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

/// Lets a read beyond the end of a mapped file, which another process has cut short, end this process as an unreadable
/// input does, with a message. Without that the process would die of SIGBUS.
#[allow(unsafe_code, reason = "only a signal handler sees that a mapped file has become shorter")]
pub fn end_where_inputs_are_cut_short() {
    let end = || {
        let text = b"error: another process cut an input short while it was read\n";
        let _ = rustix::io::write(rustix::stdio::stderr(), text);
        signal_hook::low_level::exit(Exit::Input as i32);
    };
    // SAFETY: the handler makes two system calls, `write` and `_exit`, which may be made in signal handlers.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, end) };
}
