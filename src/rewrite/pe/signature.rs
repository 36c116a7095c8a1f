//! Is a PE file signed, and how is the signature removed?
//!
//! A signature covers the bytes of the file, so it must be removed from a rewritten file: Windows reports a file with
//! an invalid signature as tampered with.

use super::headers::{CERTIFICATES, Headers, update_checksum};
use crate::bytes;
use crate::error::{Error, Result};

/// Returns the size of a file's certificates in bytes, or 0 where it has none.
///
/// # Errors
/// `Input` where the headers are malformed.
pub fn size(file: &[u8]) -> Result<u64> {
    Ok(Headers::parse(file)?.directory(file, CERTIFICATES).map_or(0, |(_, size)| size.into()))
}

/// Returns the file without its certificates, which must be at its end.
///
/// # Errors
/// `Input` where they are elsewhere.
pub fn remove(file: &[u8]) -> Result<Vec<u8>> {
    let headers = Headers::parse(file)?;
    let Some((offset, size)) = headers.directory(file, CERTIFICATES) else { return Ok(file.to_vec()) };
    let at_end = u64::from(offset).checked_add(size.into()) == Some(file.len() as u64);
    let sections = headers.sections.iter().map(super::headers::Section::raw_end).max().unwrap_or(0);
    let directory = headers.directory_at(CERTIFICATES).unwrap_or(usize::MAX);
    if !at_end || u64::from(offset) < sections {
        return Err(Error::at(directory as u64, "the certificates are not at the end of the file"));
    }
    let mut out = file.get(..offset as usize).unwrap_or_default().to_vec();
    if !bytes::put_u64(&mut out, directory, 0) {
        return Err(Error::input("the PE headers are cut short"));
    }
    update_checksum(&mut out)?;
    Ok(out)
}
