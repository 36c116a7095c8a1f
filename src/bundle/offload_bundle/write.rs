//! How is a binary offload bundle written?

use super::MAGIC;
use crate::error::{Error, Result};

/// Part to write.
#[derive(Debug, Clone, Copy)]
pub struct NewPart<'a> {
    /// `<kind>-<triple>[-<target id>]`.
    pub id: &'a str,
    /// Bytes of the part.
    pub data: &'a [u8],
}

/// Writes a binary bundle. LLVM's tools expect an entry for the host first, which may be empty. `align` is the
/// alignment of the parts; 1 packs them.
///
/// # Errors
/// `Input` for an alignment that is no power of two.
pub fn write(parts: &[NewPart<'_>], align: usize) -> Result<Vec<u8>> {
    if !align.is_power_of_two() {
        return Err(Error::input(format!("an alignment of {align} is no power of two")));
    }
    let list: usize = parts.iter().map(|part| 24 + part.id.len()).sum();
    let mut at = MAGIC.len() + 8 + list;
    let mut out = MAGIC.to_vec();
    out.extend((parts.len() as u64).to_le_bytes());
    for part in parts {
        at = at.next_multiple_of(align);
        for word in [at, part.data.len(), part.id.len()] {
            out.extend((word as u64).to_le_bytes());
        }
        out.extend_from_slice(part.id.as_bytes());
        at += part.data.len();
    }
    for part in parts {
        out.resize(out.len().next_multiple_of(align), 0);
        out.extend_from_slice(part.data);
    }
    Ok(out)
}
