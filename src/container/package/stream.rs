//! How is a compressed stream read without trusting its size?

use crate::container::inflate::ZSTD_MAGIC;
use crate::limits;
use std::cell::Cell;
use std::io::{self, Read};

/// Reader that fails when it yields more bytes than a budget, which several readers may share.
pub(super) struct Bounded<'b, R> {
    inner: R,
    budget: &'b Cell<u64>,
}

impl<'b, R: Read> Bounded<'b, R> {
    pub(super) fn new(inner: R, budget: &'b Cell<u64>) -> Self {
        Bounded { inner, budget }
    }
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.get();
        if left == 0 && !out.is_empty() {
            // A stream that ends exactly at the budget is allowed.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other("the package inflates beyond the limit for its size")),
            };
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let read = self.inner.read(out.get_mut(..most).unwrap_or_default())?;
        self.budget.set(left.saturating_sub(read as u64));
        Ok(read)
    }
}

/// Returns the decoder for a compressed file, or none where it is not compressed. Concatenated streams are read as one.
pub(super) fn decoder<'a>(bytes: &'a [u8]) -> io::Result<Option<Box<dyn Read + 'a>>> {
    Ok(Some(if bytes.starts_with(b"\x1f\x8b\x08") {
        Box::new(flate2::bufread::MultiGzDecoder::new(bytes))
    } else if bytes.starts_with(&ZSTD_MAGIC) {
        Box::new(zstd::stream::read::Decoder::with_buffer(bytes)?)
    } else if bytes.starts_with(b"BZh") {
        Box::new(bzip2::bufread::MultiBzDecoder::new(bytes))
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, limits::MAX_XZ_MEMORY))
    } else {
        return Ok(None);
    }))
}

/// Returns the name of a compressed file's contents: its name without the suffix.
pub(super) fn inner_name(path: &str) -> &str {
    let name = path.rsplit(['/', '!']).next().unwrap_or(path);
    [".gz", ".zst", ".bz2", ".xz"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_shared_and_may_be_met_exactly() {
        let budget = Cell::new(8);
        let mut out = Vec::new();
        Bounded::new(&b"12345"[..], &budget).read_to_end(&mut out).unwrap();
        Bounded::new(&b"678"[..], &budget).read_to_end(&mut out).unwrap();
        assert_eq!(out, b"12345678");
        assert!(Bounded::new(&b"9"[..], &budget).read_to_end(&mut out).is_err());
    }

    #[test]
    fn names_lose_their_suffix() {
        assert_eq!(inner_name("a.zip!lib/x.so.gz"), "x.so");
        assert_eq!(inner_name("-"), "-");
    }
}
