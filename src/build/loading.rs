//! Can this program load libraries while it runs, and what is told where it cannot?
//!
//! OpenCL drivers and libocloc are loaded by a worker. A static build has musl inside, whose `dlopen` then refuses every
//! library with "Dynamic loading not supported". It reads and rewrites files as any other, and runs the program `ocloc`.

use crate::error::{Error, ErrorKind};

/// Whether this build loads libraries: every one but a static one.
pub const LOADS: bool = !cfg!(all(target_env = "musl", target_feature = "crt-static"));

/// Explanation that a static build gives in place of the system's message.
const CAUSE: &str = "this is a static build of the program, which loads no libraries";
/// Remedy: a build that does load libraries.
const REMEDY: &str = "use a build for this system's own C library, linked dynamically";

/// The error of a static build that would have to load something for CPUs and live devices.
pub fn no_driver() -> Error {
    Error::new(ErrorKind::Environment, format!("{CAUSE}: no OpenCL loader, no driver"))
        .with_remedy(format!("{REMEDY}; for Intel GPUs this one runs the program ocloc"))
}

/// Creates the error for `ocloc` as a library.
pub(super) fn no_library(path: &str) -> Error {
    Error::new(ErrorKind::Environment, format!("`{path}` cannot be loaded: {CAUSE}"))
        .with_remedy(format!("have the program ocloc in PATH, or name it (`--ocloc /usr/bin/ocloc`); or {REMEDY}"))
}
