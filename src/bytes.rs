//! How are bytes read without ever panicking?
//!
//! Little-endian reads at an offset of a slice, without indexing: an offset beyond the end is `None`. [`lines`] splits
//! text, [`parse_size`] reads sizes as people write them, and [`hex`] writes bytes as hexadecimal digits.
//!
//! Sizes have the same grammar on the command line, in environment variables and in policies: `64KiB`, `64 k`, `1.5 MiB`,
//! computed exactly. The crates for sizes (bytesize, parse-size) round fractions or read `k` as another unit.
//!
//! Copies that rewriters change, and members that are inflated, reach gigabytes. A program can have the large ones kept in
//! files that it maps ([`keep_large_ones_in`]); until it does, all are in memory.

use crate::error::{Error, ErrorKind, Result};
use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).map_or('0', |&digit| char::from(digit));
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Returns the `len` bytes at `at`.
pub(crate) fn slice_at(data: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    data.get(at..at.checked_add(len)?)
}

fn array_at<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    slice_at(data, at, N)?.try_into().ok()
}

/// Returns the little-endian `u16` at `at`.
pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    array_at(data, at).map(u16::from_le_bytes)
}

/// Returns the little-endian `u32` at `at`.
pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    array_at(data, at).map(u32::from_le_bytes)
}

/// Returns the little-endian `u64` at `at`.
pub(crate) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    array_at(data, at).map(u64::from_le_bytes)
}

/// Overwrites the little-endian `u64` at `at`. Returns false where that is beyond the end.
#[must_use]
pub(crate) fn put_u64(data: &mut [u8], at: usize, value: u64) -> bool {
    put(data, at, &value.to_le_bytes())
}

/// Overwrites the bytes at `at`. Returns false where they would pass the end.
#[must_use]
pub(crate) fn put(data: &mut [u8], at: usize, bytes: &[u8]) -> bool {
    match at.checked_add(bytes.len()).and_then(|end| data.get_mut(at..end)) {
        Some(target) => {
            target.copy_from_slice(bytes);
            true
        }
        None => false,
    }
}

/// Bytes that are looked at together for whether they are a hole: a page of most systems.
pub(crate) const HOLE: usize = 4096;

static ZEROS: [u8; HOLE] = [0; HOLE];

/// Whether bytes are zeros alone.
pub(crate) fn is_hole(bytes: &[u8]) -> bool {
    bytes.chunks(HOLE).all(|piece| ZEROS.get(..piece.len()) == Some(piece))
}

/// Overwrites zeros with the bytes at `at`, but where these are a hole: its pages would take room. Returns false where they would
/// pass the end.
#[must_use]
fn put_over_zeros(data: &mut [u8], at: usize, bytes: &[u8]) -> bool {
    let Some(target) = at.checked_add(bytes.len()).and_then(|end| data.get_mut(at..end)) else { return false };
    for (to, from) in target.chunks_mut(HOLE).zip(bytes.chunks(HOLE)) {
        if !is_hole(from) {
            to.copy_from_slice(from);
        }
    }
    true
}

/// Returns the next multiple of `align` (a power of two; 0 counts as 1) at or above `value`.
pub(crate) fn align_up(value: u64, align: u64) -> Option<u64> {
    let mask = align.max(1).checked_sub(1)?;
    Some(value.checked_add(mask)? & !mask)
}

/// Returns bytes as text.
///
/// # Errors
/// `Input` with `complaint` and the offset of the first byte that is not UTF-8.
pub(crate) fn utf8_text<'b>(bytes: &'b [u8], complaint: &str) -> Result<&'b str> {
    std::str::from_utf8(bytes).map_err(|error| Error::at(error.valid_up_to() as u64, complaint))
}

/// Returns the lines of a text without their ends (LF or CRLF), each with its offset in bytes.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0usize;
    text.split_inclusive('\n').map(move |line| {
        let here = next;
        next = next.saturating_add(line.len());
        (here, line.trim_end_matches(['\n', '\r']))
    })
}

/// Description of a valid size, for error messages.
pub(crate) const SIZE_FORM: &str = "a number of bytes, also as 500KiB, 1.5MiB or 2GB";

/// Number of significant digits after the point; no unit has bytes for more than twelve.
const MAX_DIGITS: usize = 12;

/// Parses a size: `1500`, `64KiB`, `64 k`, `1.5 MiB`, `2 GB` (powers of a thousand). Units are case-insensitive;
/// fractions of a byte are cut off. None for any other text, and for sizes beyond `u64`.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    parse_scaled(number, scale)
}

/// Multiplies a decimal number by a scale exactly and cuts off the fraction. None where it is no number of digits with
/// at most one point, or too large.
pub(crate) fn parse_scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > MAX_DIGITS {
        return None;
    }
    let fraction = match part {
        "" => 0,
        part => {
            let one = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
            part.parse::<u128>().ok()?.checked_mul(u128::from(scale))?.checked_div(one)?
        }
    };
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(u64::try_from(fraction).ok()?)
}

/// Room for bytes outside of memory, such as a mapped file. Its contents stay when it grows, and what is new is zeros.
pub(crate) trait Space: Send + Sync {
    /// Returns all bytes.
    fn bytes(&self) -> &[u8];

    /// Returns all bytes, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Makes room for this many bytes in all.
    ///
    /// # Errors
    /// `Environment` where there is none.
    fn grow(&mut self, len: usize) -> Result<()>;

    /// Gives back the memory of its bytes, which are read anew from where they are.
    fn give_back(&self);

    /// Gives back all that is not needed to read what is there: it grows no more.
    fn settle(&mut self);
}

/// Function that makes an empty space, or returns none where there is no place for one.
pub(crate) type MakeSpace = fn() -> Option<Box<dyn Space>>;

/// Length from which drafts are large, and what makes a space.
static SPACES: OnceLock<(usize, MakeSpace)> = OnceLock::new();

/// Keeps drafts of this length or more in spaces that this function makes outside of memory, for the rest of the process. The first
/// call counts.
pub(crate) fn keep_large_ones_in(large: usize, make: MakeSpace) {
    let _ = SPACES.set((large, make));
}

/// Whether there is a place outside of memory for large drafts.
pub(crate) fn keeps_large_ones() -> bool {
    SPACES.get().is_some()
}

/// Bytes of a space whose memory is given back at a time.
const MANY: usize = 16 << 20;

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
    pub(crate) fn with_capacity(capacity: usize) -> Result<Draft> {
        if let Some(mut space) = space(capacity) {
            space.grow(capacity)?;
            return Ok(Draft { store: Store::Space(space), len: 0, reached: 0 });
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(capacity).map_err(|_| no_memory(capacity))?;
        Ok(Draft { store: Store::Memory(bytes), len: 0, reached: 0 })
    }

    /// Creates a copy of bytes, in memory where there is no room elsewhere.
    ///
    /// # Errors
    /// `Input` where there is no memory either.
    pub(crate) fn copy_anywhere(bytes: &[u8]) -> Result<Draft> {
        Draft::copy_of(bytes, 0).or_else(|_| {
            let mut copy = Vec::new();
            copy.try_reserve_exact(bytes.len()).map_err(|_| no_memory(bytes.len()))?;
            copy.extend_from_slice(bytes);
            Ok(Draft::from(copy))
        })
    }

    /// Creates a copy of a file, with room for `more` bytes behind it.
    ///
    /// # Errors
    /// Errors of [`Draft::with_capacity`].
    pub(crate) fn copy_of(file: &[u8], more: usize) -> Result<Draft> {
        let mut draft = Draft::with_capacity(file.len().saturating_add(more))?;
        draft.extend(file)?;
        Ok(draft)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Errors of [`Draft::with_capacity`].
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        let at = self.len;
        self.resize(at.saturating_add(bytes.len()))?;
        if put_over_zeros(self, at, bytes) { Ok(()) } else { Err(no_memory(bytes.len())) }
    }

    /// Appends what a reader yields, to its end or up to a number of bytes; returns the reader's error, where it has one, behind
    /// what it yielded before.
    ///
    /// # Errors
    /// Errors of [`Draft::with_capacity`].
    pub(crate) fn read_from(&mut self, mut reader: impl Read, most: usize) -> Result<std::io::Result<()>> {
        const PIECE: usize = 128 << 10;
        let end = self.len.saturating_add(most);
        let mut given_back = self.len;
        loop {
            let begin = self.len;
            if begin.saturating_sub(given_back) >= MANY {
                self.give_back();
                given_back = begin;
            }
            self.resize(begin.saturating_add(PIECE).min(end))?;
            let read = reader.read(self.get_mut(begin..).unwrap_or_default());
            self.truncate(begin.saturating_add(*read.as_ref().unwrap_or(&0)));
            match read {
                Ok(0) => return Ok(Ok(())),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// Changes the length; what is new is zeros.
    ///
    /// # Errors
    /// Errors of [`Draft::with_capacity`].
    pub(crate) fn resize(&mut self, len: usize) -> Result<()> {
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
    ///
    /// # Errors
    /// Errors of [`Draft::with_capacity`].
    pub(crate) fn reserve(&mut self, len: usize) -> Result<()> {
        match &mut self.store {
            Store::Memory(bytes) if len <= bytes.capacity() => {}
            Store::Memory(bytes) => match space(len) {
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

    /// Whether the bytes take memory, and not only room on the disk.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.store, Store::Memory(_))
    }

    /// Moves the bytes out of memory, where there is a place for them.
    #[must_use]
    pub(crate) fn moved_out(self) -> Draft {
        let Store::Memory(bytes) = &self.store else { return self };
        let Some(mut space) = SPACES.get().and_then(|(_, make)| make()) else { return self };
        if space.grow(bytes.len()).is_err() || !put_over_zeros(space.bytes_mut(), 0, bytes) {
            return self;
        }
        Draft { store: Store::Space(space), len: self.len, reached: self.len }
    }

    /// Gives back the memory of bytes that are outside of it.
    pub(crate) fn give_back(&self) {
        if let Store::Space(space) = &self.store {
            space.give_back();
        }
    }

    /// Gives back all that is not needed to read the bytes, which change no more.
    pub(crate) fn settle(&mut self) {
        if let Store::Space(space) = &mut self.store {
            space.settle();
        }
    }

    /// Shortens the draft.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        if let Store::Memory(bytes) = &mut self.store {
            bytes.truncate(len);
        }
    }

    /// Returns the bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        match self.store {
            Store::Memory(bytes) => bytes,
            Store::Space(space) => {
                let mut bytes = Vec::with_capacity(self.len);
                for piece in space.bytes().get(..self.len).unwrap_or_default().chunks(MANY) {
                    bytes.extend_from_slice(piece);
                    space.give_back();
                }
                bytes
            }
        }
    }
}

/// Returns room for a draft of this length; none where that stays in memory.
fn space(len: usize) -> Option<Box<dyn Space>> {
    SPACES.get().filter(|(large, _)| len >= *large).and_then(|(_, make)| make())
}

/// Length to grow to, so that many small additions cost little.
fn grown(len: usize) -> usize {
    len.saturating_add(len / 4)
}

#[cold]
fn no_memory(len: usize) -> Error {
    Error::new(ErrorKind::Environment, format!("there is no memory for its {len} bytes"))
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

    #[test]
    fn reads_stop_at_the_end() {
        let data = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(u16_at(&data, 7), Some(0x0908));
        assert_eq!(u16_at(&data, 8), None);
        assert_eq!(u64_at(&data, 1), Some(0x0908_0706_0504_0302));
        assert_eq!(u64_at(&data, usize::MAX), None);
        assert_eq!(slice_at(&data, usize::MAX, 2), None);
    }

    #[test]
    fn align_up_refuses_overflow() {
        assert_eq!(align_up(0x1001, 0x1000), Some(0x2000));
        assert_eq!(align_up(5, 0), Some(5));
        assert_eq!(align_up(u64::MAX, 8), None);
    }

    #[test]
    fn lines_have_the_offsets_of_their_bytes() {
        let found: Vec<_> = lines("é\r\n\nb").collect();
        assert_eq!(found, [(0, "é"), (4, ""), (5, "b")]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(utf8_text(b"ab\xff", "no").unwrap_err().offset(), Some(2));
    }

    #[test]
    fn sizes_as_people_write_them() {
        let sizes = [
            ("0", 0),
            ("1500", 1500),
            ("1500 B", 1500),
            ("64KiB", 65536),
            ("64 k", 65536),
            ("64 kib", 65536),
            ("2GB", 2_000_000_000),
            ("2 kB", 2000),
            ("8 MiB", 8 << 20),
            (" 1.5MiB ", 1_572_864),
            ("0.1k", 102),
            ("1.", 1),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        let none = ["", "MiB", "-1", "+1", "1 yard", "8 MiBs", "1.2.3k", "99999999999T", ".", ".5k", "∞", "1e3", "5%"];
        for text in none {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

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

        fn give_back(&self) {}

        fn settle(&mut self) {}
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
