//! Who owns bytes that were inflated or decoded from a file?
//!
//! Images borrow their bytes from the file. Inflated or decoded bytes are not in the file; the arena keeps them for as
//! long as the file is read. Bytes are added through a shared reference and never move or go away.

use crate::error::{Error, Result};
use crate::limits;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Chunk of slots; chunk k begins with slot 2^k - 1.
type Chunk = Box<[OnceLock<Entry>]>;

/// Owner of bytes that stay at their address while it lives.
pub type Owner = Box<dyn AsRef<[u8]> + Send + Sync>;

/// Owned byte string.
enum Entry {
    Bytes(Vec<u8>),
    Other(Owner),
}

impl Entry {
    fn bytes(&self) -> &[u8] {
        match self {
            Entry::Bytes(bytes) => bytes,
            Entry::Other(owner) => (**owner).as_ref(),
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes().len())
    }
}

/// Append-only store of byte strings.
#[derive(Debug)]
pub struct Arena {
    chunks: [OnceLock<Chunk>; 32],
    count: AtomicUsize,
    bytes: AtomicU64,
    limit: u64,
}

impl Default for Arena {
    /// Creates an arena for the contents of a file, up to [`limits::MAX_INFLATED`] bytes.
    fn default() -> Self {
        Arena::with_limit(limits::MAX_INFLATED)
    }
}

impl Arena {
    /// Creates an arena for this many bytes.
    pub fn with_limit(limit: u64) -> Self {
        Arena { chunks: Default::default(), count: AtomicUsize::new(0), bytes: AtomicU64::new(0), limit }
    }

    /// Keeps bytes for as long as the arena lives.
    ///
    /// # Errors
    /// `Input` where the arena would hold more than its limit.
    pub fn keep(&self, bytes: Vec<u8>) -> Result<&[u8]> {
        self.put(Entry::Bytes(bytes))
    }

    /// Keeps an owner of bytes, such as a mapping of a file, for as long as the arena lives.
    ///
    /// # Errors
    /// Those of [`Arena::keep`].
    pub fn keep_owner(&self, owner: Owner) -> Result<&[u8]> {
        self.put(Entry::Other(owner))
    }

    fn put(&self, kept: Entry) -> Result<&[u8]> {
        // The slot of a byte string counts too.
        let cost = (kept.bytes().len() as u64).saturating_add(32);
        if self.bytes.fetch_add(cost, Ordering::Relaxed).saturating_add(cost) > self.limit {
            self.bytes.fetch_sub(cost, Ordering::Relaxed);
            return Err(full(self.limit));
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed).checked_add(1).ok_or_else(|| full(self.limit))?;
        let chunk = number.ilog2();
        let slots = self.chunks.get(chunk as usize).ok_or_else(|| full(self.limit))?;
        let slots = slots.get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        let slot = slots.get(number ^ (1usize << chunk)).ok_or_else(|| full(self.limit))?;
        Ok(slot.get_or_init(|| kept).bytes())
    }

    /// Returns the number of bytes that can still be added.
    pub fn room(&self) -> u64 {
        self.limit.saturating_sub(self.bytes.load(Ordering::Relaxed))
    }
}

#[cold]
fn full(limit: u64) -> Error {
    Error::input(format!("the parts of the file inflate to more than the limit of {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_where_they_are() {
        let arena = Arena::default();
        let kept: Vec<&[u8]> = (0..1000u32).map(|number| arena.keep(number.to_le_bytes().to_vec()).unwrap()).collect();
        for (number, bytes) in (0..1000u32).zip(kept) {
            assert_eq!(bytes, number.to_le_bytes());
        }
        assert_eq!(arena.room(), limits::MAX_INFLATED - 1000 * 36);
    }

    #[test]
    fn it_has_a_ceiling() {
        let arena = Arena::default();
        arena.bytes.store(limits::MAX_INFLATED - 40, Ordering::Relaxed);
        assert!(arena.keep(vec![0; 9]).is_err());
        assert_eq!(arena.keep(vec![7; 8]).unwrap(), [7; 8]);
    }
}
