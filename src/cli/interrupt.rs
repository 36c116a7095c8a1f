//! How does Ctrl-C end a build that has something to lose?

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The signal that came; 0 before one did.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; the second ends the process at once.
pub fn interrupted() -> Arc<AtomicBool> {
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
