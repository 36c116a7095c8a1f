//! Of which size are the pages of memory, and how many threads work in it?
//!
//! Pages of 2 MiB pay where a whole library is read. What a command line takes fills a fraction of one, and so does what is
//! left of a module that is taken apart, piece by piece given back.

use rustix::process::{Resource, getrlimit};
use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};

/// Whether the process had large pages when it began. Who started it may have ruled them out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pages {
    large: bool,
}

impl Pages {
    /// Small pages from now on.
    pub fn small() -> Pages {
        // A kernel that does not know of them has none to switch off.
        let large = transparent_huge_pages_are_disabled().is_ok_and(|disabled| !disabled);
        if large {
            disable_transparent_huge_pages(true).ok();
        }
        Pages { large }
    }

    /// Restores the setting with which the process began.
    pub fn as_before(self) {
        if self.large {
            disable_transparent_huge_pages(false).ok();
        }
    }
}

/// The number of processes of a user below which threads may not be had.
const PLENTY: u64 = 4096;

/// Works on this thread alone where no other can be had: the pool of threads, which starts when it is first asked, would
/// panic.
pub fn threads_that_can_be_had() {
    let limit = getrlimit(Resource::Nproc).current;
    if limit.is_none_or(|limit| limit >= PLENTY) && std::thread::Builder::new().spawn(|| {}).is_ok() {
        return;
    }
    if rayon::ThreadPoolBuilder::new().build_global().is_err() {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
}
