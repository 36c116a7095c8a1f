//! Is what a compiler delivered usable?
//!
//! Drivers succeed at times with nothing inside: IGC makes a binary without a kernel of a module that it was told to take
//! for another kind. So the format is one that drivers load, and every kernel of the image has to be in it, by its name.
//! Whether a driver loads it again is asked where there is one, in the worker.

use super::Job;
use crate::bundle::format::Format;
use crate::container::place::Place;
use crate::native::Native;
use std::collections::HashSet;

impl Job<'_> {
    /// Returns what is wrong with a binary that was made for this job; nothing where it is whole. Only executables are judged: an
    /// object is whatever its driver takes.
    pub fn flaw(&self, binary: &[u8]) -> Option<String> {
        if self.kernels.is_empty() {
            return None;
        }
        flaw(binary, &self.kernels)
    }
}

/// Returns what is wrong with a binary that should hold these kernels.
pub fn flaw(binary: &[u8], kernels: &[String]) -> Option<String> {
    let format = Format::sniff(binary);
    if !matches!(format, Format::Elf | Format::Zebin | Format::PatchTokens | Format::Ar) {
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
