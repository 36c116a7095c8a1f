//! Where do the bytes of a file lie while it is being made?
//!
//! Copies that rewriters change, and members that are inflated, reach gigabytes. A program can have the large ones kept in
//! files that it maps ([`keep_large_ones_in`]); until it does, all are in memory.

use crate::error::{Error, Result};
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// Room for bytes outside of memory, such as a mapped file. Its contents stay when it grows, and what is new is zeros.
pub trait Space: Send + Sync {
    /// Returns all bytes.
    fn bytes(&self) -> &[u8];

    /// Returns all bytes, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Makes room for this many bytes in all.
    ///
    /// # Errors
    /// `Environment` where there is none.
    fn grow(&mut self, len: usize) -> Result<()>;
}

/// Function that makes room for this many bytes, or returns none where they are to stay in memory.
pub type MakeSpace = fn(usize) -> Result<Option<Box<dyn Space>>>;

static SPACES: OnceLock<MakeSpace> = OnceLock::new();

/// Keeps drafts for which this function makes a space outside of memory, for the rest of the process. The first call counts.
pub fn keep_large_ones_in(make: MakeSpace) {
    let _ = SPACES.set(make);
}

/// Bytes of a file that is being made.
pub struct Draft {
    store: Store,
    len: usize,
    /// Largest length so far: bytes behind it are zeros.
    reached: usize,
}

enum Store {
    Memory(Vec<u8>),
    Space(Box<dyn Space>),
}

impl Draft {
    /// Creates an empty draft with room for this many bytes.
    ///
    /// # Errors
    /// `Environment` or `Input` where there is no room.
    pub fn with_capacity(capacity: usize) -> Result<Draft> {
        if let Some(mut space) = space(capacity)? {
            space.grow(capacity)?;
            return Ok(Draft { store: Store::Space(space), len: 0, reached: 0 });
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(capacity).map_err(|_| no_memory(capacity))?;
        Ok(Draft { store: Store::Memory(bytes), len: 0, reached: 0 })
    }

    /// Creates a copy of a file, with room for `more` bytes behind it.
    ///
    /// # Errors
    /// Those of [`Draft::with_capacity`].
    pub fn copy_of(file: &[u8], more: usize) -> Result<Draft> {
        let mut draft = Draft::with_capacity(file.len().saturating_add(more))?;
        draft.extend(file)?;
        Ok(draft)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Those of [`Draft::with_capacity`].
    pub fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        let at = self.len;
        self.resize(at.saturating_add(bytes.len()))?;
        if super::put(self, at, bytes) { Ok(()) } else { Err(no_memory(bytes.len())) }
    }

    /// Changes the length; what is new is zeros.
    ///
    /// # Errors
    /// Those of [`Draft::with_capacity`].
    pub fn resize(&mut self, len: usize) -> Result<()> {
        self.reserve(len)?;
        match &mut self.store {
            Store::Memory(bytes) => bytes.resize(len, 0),
            Store::Space(space) => {
                let left = space.bytes_mut().get_mut(self.len..len.min(self.reached));
                left.into_iter().for_each(|left| left.fill(0));
            }
        }
        self.len = len;
        self.reached = self.reached.max(len);
        Ok(())
    }

    /// Makes room for this many bytes in all.
    fn reserve(&mut self, len: usize) -> Result<()> {
        match &mut self.store {
            Store::Memory(bytes) if len <= bytes.capacity() => {}
            Store::Memory(bytes) => match space(len)? {
                Some(mut space) => {
                    space.grow(grown(len))?;
                    space.bytes_mut().get_mut(..bytes.len()).unwrap_or_default().copy_from_slice(bytes);
                    self.store = Store::Space(space);
                }
                None => bytes.try_reserve(len.saturating_sub(bytes.len())).map_err(|_| no_memory(len))?,
            },
            Store::Space(space) if len <= space.bytes().len() => {}
            Store::Space(space) => space.grow(grown(len))?,
        }
        Ok(())
    }

    /// Shortens the draft.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        if let Store::Memory(bytes) = &mut self.store {
            bytes.truncate(len);
        }
    }

    /// Returns the bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        match self.store {
            Store::Memory(bytes) => bytes,
            Store::Space(_) => self.to_vec(),
        }
    }
}

/// Returns room for a draft of this length; none where that stays in memory.
fn space(len: usize) -> Result<Option<Box<dyn Space>>> {
    SPACES.get().map_or(Ok(None), |make| make(len))
}

/// Length to grow to, so that many small additions cost little.
fn grown(len: usize) -> usize {
    len.saturating_add(len / 4)
}

#[cold]
fn no_memory(len: usize) -> Error {
    Error::input(format!("there is no memory for its {len} bytes"))
}

impl Deref for Draft {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.store {
            Store::Memory(bytes) => bytes,
            Store::Space(space) => space.bytes().get(..self.len).unwrap_or_default(),
        }
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.store {
            Store::Memory(bytes) => bytes,
            Store::Space(space) => space.bytes_mut().get_mut(..self.len).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for Draft {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Draft {
    fn from(bytes: Vec<u8>) -> Draft {
        Draft { len: bytes.len(), reached: bytes.len(), store: Store::Memory(bytes) }
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Draft {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pages(Vec<u8>);

    impl Space for Pages {
        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }

        fn grow(&mut self, len: usize) -> Result<()> {
            self.0.resize(len, 0);
            Ok(())
        }
    }

    #[test]
    fn a_space_and_memory_hold_the_same() {
        let space = Draft { store: Store::Space(Box::new(Pages(Vec::new()))), len: 0, reached: 0 };
        for mut draft in [Draft::from(Vec::new()), space] {
            for number in 0..100u8 {
                draft.extend(&[number; 3]).unwrap();
            }
            draft.truncate(4);
            draft.resize(6).unwrap();
            draft.extend(b"end").unwrap();
            draft[0] = 7;
            assert_eq!(*draft, *b"\x07\0\0\x01\0\0end");
            assert_eq!(Draft::copy_of(&draft, 5).unwrap().into_vec(), draft.into_vec());
        }
    }

    #[test]
    fn what_no_memory_can_hold_is_an_error() {
        assert!(Draft::with_capacity(usize::MAX / 2).is_err());
        assert!(Draft::from(vec![1]).resize(usize::MAX / 2).is_err());
    }
}
