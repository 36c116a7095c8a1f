//! Which bytes stand at this virtual address once the file is loaded?
//!
//! Position-independent files hold their pointers in relocations; linkers differ in whether the value also stands in
//! the file (GNU ld writes it, LLD leaves zeros). Segments that relocations write to are copied once and relocated;
//! all others are borrowed from the file.

use crate::bytes;
use crate::limits;
use std::borrow::Cow;

/// The bytes of one loadable segment.
#[derive(Debug)]
pub struct Segment<'a> {
    /// Virtual address of the first byte.
    pub address: u64,
    /// File offset of the first byte.
    pub offset: u64,
    /// The bytes that come from the file, relocated.
    pub data: Cow<'a, [u8]>,
    /// Whether structures with pointers may lie here.
    pub holds_pointers: bool,
}

impl Segment<'_> {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.data.len() as u64)
    }
}

/// The memory image of a linked file.
#[derive(Debug, Default)]
pub struct AddressMap<'a> {
    /// Sorted by address, not overlapping.
    segments: Vec<Segment<'a>>,
    /// The segment that was written to last: relocations come in runs.
    written: usize,
}

impl<'a> AddressMap<'a> {
    /// A map over segments, which are sorted; where two overlap the earlier keeps the addresses.
    pub fn new(mut segments: Vec<Segment<'a>>) -> Self {
        segments.sort_by_key(|segment| segment.address);
        let mut end = 0;
        segments.retain(|segment| {
            let apart = segment.address >= end && segment.address.checked_add(segment.data.len() as u64).is_some();
            if apart {
                end = segment.end();
            }
            apart
        });
        AddressMap { segments, written: 0 }
    }

    /// The segments, by address.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    fn find(&self, address: u64) -> Option<usize> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        let index = after.checked_sub(1)?;
        (address < self.segments.get(index)?.end()).then_some(index)
    }

    /// The segment and offset in it of an address.
    fn locate(&self, address: u64) -> Option<(&Segment<'a>, usize)> {
        let segment = self.segments.get(self.find(address)?)?;
        Some((segment, usize::try_from(address.checked_sub(segment.address)?).ok()?))
    }

    /// Overwrites the pointer at an address, copying its segment the first time; false where nothing is mapped.
    pub(super) fn write_pointer(&mut self, address: u64, value: u64) -> bool {
        let again = |segment: &Segment<'_>| (segment.address..segment.end()).contains(&address);
        if !self.segments.get(self.written).is_some_and(again) {
            let Some(index) = self.find(address) else { return false };
            self.written = index;
        }
        let Some(segment) = self.segments.get_mut(self.written) else { return false };
        let Ok(at) = usize::try_from(address.wrapping_sub(segment.address)) else { return false };
        bytes::put_u64(segment.data.to_mut(), at, value)
    }

    /// All bytes from an address to the end of its segment.
    pub fn tail(&self, address: u64) -> Option<&[u8]> {
        let (segment, at) = self.locate(address)?;
        segment.data.get(at..)
    }

    /// `len` bytes at an address, all within one segment.
    pub fn slice(&self, address: u64, len: u64) -> Option<&[u8]> {
        let len = usize::try_from(len).ok()?;
        if len == 0 {
            return Some(&[]);
        }
        self.tail(address)?.get(..len)
    }

    /// The pointer at an address, after relocation.
    pub fn pointer(&self, address: u64) -> Option<u64> {
        bytes::u64_at(self.tail(address)?, 0)
    }

    /// The NUL-terminated string at an address, without the NUL.
    pub fn c_string(&self, address: u64) -> Option<&[u8]> {
        self.c_string_within(address, limits::MAX_STRING)
    }

    /// The same, where it is no longer than `max` bytes with its NUL.
    pub fn c_string_within(&self, address: u64, max: usize) -> Option<&[u8]> {
        let tail = self.tail(address)?;
        let window = tail.get(..tail.len().min(max))?;
        window.get(..memchr::memchr(0, window)?)
    }

    /// Where in the file the byte at an address comes from.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let (segment, at) = self.locate(address)?;
        segment.offset.checked_add(at as u64)
    }
}

/// Where in the data the first of such bytes are.
pub fn find(data: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(data, wanted)
}

/// Every place in the data where such bytes begin; those that overlap one before do not count.
pub fn find_all(data: &[u8], wanted: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(data, wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> AddressMap<'static> {
        AddressMap::new(vec![
            Segment { address: 0x2000, offset: 8, data: Cow::Borrowed(b"abc\0defg"), holds_pointers: true },
            Segment { address: 0x1000, offset: 0, data: Cow::Borrowed(b"01234567"), holds_pointers: true },
            Segment { address: 0x1004, offset: 4, data: Cow::Borrowed(b"overlaps"), holds_pointers: true },
        ])
    }

    #[test]
    fn finds_bytes_and_stops_at_segment_ends() {
        let map = map();
        assert_eq!(map.slice(0x1000, 8), Some(&b"01234567"[..]));
        assert_eq!(map.slice(0x1001, 8), None);
        assert_eq!(map.slice(0x1008, 1), None);
        assert_eq!(map.c_string(0x2000), Some(&b"abc"[..]));
        assert_eq!(map.c_string(0x2004), None);
        assert_eq!(map.file_offset(0x2003), Some(11));
    }

    #[test]
    fn relocation_copies_only_its_segment() {
        let mut map = map();
        assert!(map.write_pointer(0x1000, 0x1122));
        assert!(!map.write_pointer(0x1001, 1));
        assert_eq!(map.pointer(0x1000), Some(0x1122));
        assert!(matches!(map.segments()[1].data, Cow::Borrowed(_)));
    }
}
