//! How does Ctrl-C end a build that has something to lose?

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; the second ends the process at once.
pub fn interrupted() -> Arc<AtomicBool> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Where a handler cannot be set, the signal keeps its own effect, which is to end the process.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&raised));
        let _ = flag::register(signal, Arc::clone(&raised));
    }
    raised
}
