//! Is there room for one more section header?
//!
//! Linkers pad the headers, to 512 bytes mostly, and what is left may be less than a section header. In front of the
//! headers stands a program for DOS that says that it does not run there, and a record of the linker's tools that no
//! loader reads: the headers move down over the end of those, as far as it takes.

use super::headers::{Headers, SECTION};
use crate::bytes;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// The DOS header, the last field of which says where the other headers begin.
const DOS: usize = 64;
/// File offset of that field.
const POINTER: usize = 60;

/// The file with room behind its section headers; as long as before, and where it has room, as it is.
///
/// # Errors
/// `Input` where there is no room, and none can be made.
pub fn make(file: &[u8]) -> Result<Cow<'_, [u8]>> {
    let headers = Headers::parse(file)?;
    let end = headers.table.saturating_add(headers.sections.len().saturating_mul(SECTION));
    let refuse = || {
        Error::at(end as u64, "the headers have no room for one more section")
            .with_remedy("link the file with fewer sections")
    };
    let first = headers.sections.iter().filter(|section| section.raw_size > 0).map(|section| section.raw).min();
    let limit = first.unwrap_or(headers.headers_size).min(headers.headers_size) as usize;
    let behind = file.get(end..limit).ok_or_else(refuse)?;
    // What stands there belongs to somebody (bound imports do).
    if behind.iter().take(SECTION).any(|byte| *byte != 0) {
        return Err(refuse());
    }
    let missing = SECTION.saturating_sub(behind.len()).next_multiple_of(8);
    if missing == 0 {
        return Ok(Cow::Borrowed(file));
    }
    let start = headers.coff.saturating_sub(4);
    let moved = start.checked_sub(missing).filter(|moved| *moved >= DOS && *moved % 8 == 0).ok_or_else(refuse)?;
    let block = file.get(start..end).ok_or_else(refuse)?;
    let pointer = u32::try_from(moved).map_err(|_| refuse())?;
    let mut out = file.to_vec();
    let done = bytes::put(&mut out, moved, block)
        && bytes::put(&mut out, end.saturating_sub(missing), &vec![0; missing])
        && bytes::put(&mut out, POINTER, &pointer.to_le_bytes());
    if done { Ok(Cow::Owned(out)) } else { Err(refuse()) }
}
