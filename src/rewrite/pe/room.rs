//! Is there room for one more section header?
//!
//! Linkers pad the headers, mostly to 512 bytes, and the padding may be shorter than a section header. Before the
//! headers are a DOS program, which only prints that it does not run there, and a record of the linker's tools, which
//! no loader reads: the headers move down over the end of those as far as needed.

use super::headers::{Headers, SECTION};
use crate::bytes;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Size of the DOS header; its last field is the offset of the PE headers.
const DOS: usize = 64;
/// File offset of that field.
const POINTER: usize = 60;

/// Returns the file, of the same length, with room for one more section header. It is unchanged where it has room
/// already.
///
/// # Errors
/// `Input` where there is no room and none can be made.
pub fn make_header_room(file: &[u8]) -> Result<Cow<'_, [u8]>> {
    let headers = Headers::parse(file)?;
    let end = headers.table.saturating_add(headers.sections.len().saturating_mul(SECTION));
    let refuse = || {
        Error::at(end as u64, "the headers have no room for one more section")
            .with_remedy("link the file with fewer sections")
    };
    let first = headers.sections.iter().filter(|section| section.raw_size > 0).map(|section| section.raw).min();
    let limit = first.unwrap_or(headers.headers_size).min(headers.headers_size) as usize;
    let behind = file.get(end..limit).ok_or_else(refuse)?;
    // Other data is there (for example bound imports).
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
