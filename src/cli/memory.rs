//! Of which size are the pages of memory?
//!
//! Pages of 2 MiB pay where a whole library is read. What a command line takes fills a fraction of one, and so does what is
//! left of a module that is taken apart, piece by piece given back.

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
