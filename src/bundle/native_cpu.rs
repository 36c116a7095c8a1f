//! Which kernels does an image of DPC++'s native CPU target have?
//!
//! Its payload is not code but `{entries*, properties*}`; the entries are `{char* name; function*}` and end with the
//! name `__nativecpu_end` (`UtilsSYCLNativeCPU.h` in intel/llvm). The code is part of the host program.

use super::structure::Walker;
use crate::bytes;
use crate::error::Result;
use crate::limits;

/// Target of such images.
pub(super) const TARGET: &str = "native_cpu";
const END: &str = "__nativecpu_end";

impl<'a> Walker<'a> {
    /// Returns the kernel names of the payload at an address.
    pub(super) fn native_cpu(&mut self, payload: u64) -> Result<Vec<&'a str>> {
        let pointer = |walker: &Self, address: u64| {
            walker.bytes(address, 8, "native CPU entry").map(|data| bytes::u64_at(data, 0).unwrap_or(0))
        };
        let mut at = pointer(self, payload)?;
        let mut names = Vec::new();
        while names.len() < limits::MAX_ENTRIES {
            let name = pointer(self, at)?;
            let name = self.string(name, at, "name of a native CPU kernel")?;
            if name == END {
                return Ok(names);
            }
            // Names may be empty and lists shared by many images, so each entry is charged.
            self.spend_entry(at)?;
            names.push(name);
            at = at.saturating_add(16);
        }
        Err(self.error(payload, format!("the list of native CPU kernels does not end within {}", limits::MAX_ENTRIES)))
    }
}
