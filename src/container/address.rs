//! Which bytes are at this virtual address once the file is loaded?
//!
//! Position-independent files hold their pointers in relocations; linkers differ in whether the value is in the file
//! too (GNU ld writes it, LLD leaves zeros). Segments that relocations write to are copied once and relocated; all
//! others are borrowed from the file. A copy may be as large as the file, so a large one is no more in memory than a draft is.

use super::base_relocations::{self, PAGE};
use crate::bytes::{self, Draft, HOLE};
use crate::error::{Error, Result};
use crate::limits;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::{Deref, Range};

/// Bytes of a segment.
#[derive(Debug)]
pub enum SegmentBytes<'a> {
    /// Bytes of the file.
    Borrowed(&'a [u8]),
    /// Relocated copy of them.
    Copied(Draft),
}

impl SegmentBytes<'_> {
    /// Returns the bytes to be changed, which are copied the first time.
    ///
    /// # Errors
    /// `Input` where there is no room for a copy.
    fn to_mut(&mut self) -> Result<&mut [u8]> {
        if let SegmentBytes::Borrowed(bytes) = self {
            *self = SegmentBytes::Copied(Draft::copy_anywhere(bytes)?);
        }
        match self {
            SegmentBytes::Copied(copy) => Ok(copy),
            SegmentBytes::Borrowed(_) => Ok(&mut []),
        }
    }
}

impl Deref for SegmentBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            SegmentBytes::Borrowed(bytes) => bytes,
            SegmentBytes::Copied(copy) => copy,
        }
    }
}

impl<'a> From<Cow<'a, [u8]>> for SegmentBytes<'a> {
    fn from(bytes: Cow<'a, [u8]>) -> Self {
        match bytes {
            Cow::Borrowed(bytes) => SegmentBytes::Borrowed(bytes),
            Cow::Owned(bytes) => SegmentBytes::Copied(bytes.into()),
        }
    }
}

/// Loadable segment.
#[derive(Debug)]
pub struct Segment<'a> {
    /// Virtual address of the first byte.
    pub address: u64,
    /// File offset of the first byte.
    pub offset: u64,
    /// Bytes that come from the file, relocated.
    pub data: SegmentBytes<'a>,
    /// Whether structures with pointers may be anywhere in the segment. In others they are only where base relocations
    /// tell of a pointer.
    pub holds_pointers: bool,
    /// The bytes that no other segment has: what is in the others is found there.
    pub own: Range<usize>,
}

impl<'a> Segment<'a> {
    /// Creates a segment of bytes that no other has.
    pub fn new(address: u64, offset: u64, data: Cow<'a, [u8]>, holds_pointers: bool) -> Self {
        let own = 0..data.len();
        Segment { address, offset, data: data.into(), holds_pointers, own }
    }

    /// Returns the bytes among which so many are looked for, and their address: those of which one at least is the segment's own.
    pub(crate) fn searched(&self, len: usize) -> (u64, &[u8]) {
        let more = if self.own.is_empty() { 0 } else { len.saturating_sub(1) };
        let (begin, end) = (self.own.start.saturating_sub(more), self.own.end.saturating_add(more));
        let bytes = self.data.get(begin..end.min(self.data.len())).unwrap_or_default();
        (self.address.wrapping_add(begin as u64), bytes)
    }

    /// Returns the addresses of `wanted`, which does not begin with a zero and not overlap itself; holes are passed over.
    pub(crate) fn places<'s>(&'s self, wanted: &'s [u8]) -> impl Iterator<Item = u64> + 's {
        let (address, bytes) = self.searched(wanted.len());
        (0..bytes.len()).step_by(PIECE).flat_map(move |begin| {
            let found = occurrences(piece(bytes, begin, wanted), wanted);
            found.map(move |at| address.wrapping_add(begin as u64).wrapping_add(at as u64))
        })
    }

    /// Returns the words at multiples of 8 among which pairs are looked for, and the address of the first.
    fn words(&self) -> (u64, &[[u8; 8]]) {
        let (address, bytes) = self.searched(16);
        let skew = address.wrapping_neg() & 7;
        let rest = usize::try_from(skew).ok().and_then(|skew| bytes.get(skew..)).unwrap_or_default();
        (address.wrapping_add(skew), rest.as_chunks::<8>().0)
    }

    /// Returns what [`Segment::words`] does in runs, each with its address, but for holes: a file may have more of them than there is
    /// time to look at each word. A run has `more` words of the next one, too.
    pub(crate) fn runs(&self, more: usize) -> impl Iterator<Item = (u64, &[[u8; 8]])> {
        const RUN: usize = HOLE / 8;
        let (address, words) = self.words();
        (0..words.len()).step_by(RUN).filter_map(move |begin| {
            let rest = words.get(begin..)?;
            let run = rest.get(..RUN).unwrap_or(rest);
            let longer = rest.get(..RUN.saturating_add(more)).unwrap_or(rest);
            (!bytes::is_hole(run.as_flattened())).then(|| (address.wrapping_add(begin as u64 * 8), longer))
        })
    }

    /// Returns the address behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(self.data.len() as u64)
    }
}

/// Memory image of a linked file.
#[derive(Debug, Default)]
pub struct AddressMap<'a> {
    /// Segments sorted by address, without overlap.
    segments: Vec<Segment<'a>>,
    /// Segment that was written to last: relocations come in runs.
    written: usize,
    /// Addresses into which a loader writes what is not known here: in order, and apart from each other.
    open: Vec<Range<u64>>,
    /// Addresses of pointers whose value depends on the loader, or on the other files of the program; in order.
    varying: Vec<u64>,
    /// Whether any pointer may depend on the loader, since it is not known which ones it writes.
    all_varying: bool,
    /// Whether all pointers stand at multiples of 8, as far as relocations tell.
    aligned: bool,
    /// Whether a relocation writes each pointer.
    relocated: bool,
    /// A bit for each word of a segment that a relocation writes, counted from the word of its address; empty until one does.
    written_words: Vec<Vec<u64>>,
    /// Open places that may be pointers, in order.
    open_pointers: Vec<u64>,
    /// Addresses of words that a relocation writes into a second time.
    twice: Vec<u64>,
    /// The first address without a byte in the file that a relocation writes to.
    outside: Option<u64>,
    /// Error of a segment that could not be copied.
    uncopied: Option<Error>,
    /// Image base and table of base relocations, where only they tell of some segments' pointers.
    base_relocations: Option<(u64, &'a [u8])>,
    /// Sections of which a linker keeps equal pieces once, by address.
    merged: Vec<Merged>,
}

/// Addresses of a section of which a linker keeps equal pieces once, so that only within a piece one byte follows another.
#[derive(Debug)]
pub(super) struct Merged {
    /// Address of the first byte.
    pub(super) address: u64,
    /// Address behind the last byte.
    pub(super) end: u64,
    /// Bytes of a piece, or of a character.
    pub(super) unit: u64,
    /// Whether pieces are texts, each of which ends with a zero.
    pub(super) is_text: bool,
}

/// Bytes from each place on that a loader writes, but where it says otherwise.
pub(super) const WRITTEN: u64 = 8;

/// Returns the addresses of the bytes that a loader writes at a place.
pub(super) fn written(place: u64) -> Range<u64> {
    place..place.saturating_add(WRITTEN)
}

/// Bytes that a thread searches at a time.
const PIECE: usize = 2 << 20;

/// Returns the bytes among which those `wanted` are looked for that begin in a piece: an occurrence may end in the next one. None
/// begins in a hole, unless with a zero.
fn piece<'d>(data: &'d [u8], begin: usize, wanted: &[u8]) -> &'d [u8] {
    let rest = data.get(begin..).unwrap_or_default();
    if wanted.first() != Some(&0) && bytes::is_hole(rest.get(..PIECE).unwrap_or(rest)) {
        return &[];
    }
    rest.get(..PIECE.saturating_add(wanted.len()).saturating_sub(1)).unwrap_or(rest)
}

impl<'a> AddressMap<'a> {
    /// Creates a map over segments and sorts them. Where two overlap, the earlier one keeps the addresses.
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
        AddressMap { segments, ..AddressMap::default() }
    }

    /// Returns the segments, by address.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// Returns the number of bytes of all segments.
    pub(crate) fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.data.len() as u64).fold(0, u64::saturating_add)
    }

    /// Finds all places of bytes that do not overlap themselves, in order, by all threads; `take` makes of the segment and the
    /// place in it what is wanted.
    pub(crate) fn search<'s, T: Send>(
        &'s self,
        wanted: &[u8],
        take: impl Fn(&'s Segment<'a>, usize) -> Option<T> + Sync,
    ) -> Vec<T> {
        let take = &take;
        let of_piece = |(segment, begin): (&'s Segment<'a>, usize)| {
            let found = occurrences(piece(&segment.data, begin, wanted), wanted);
            found.filter_map(move |at| take(segment, begin.saturating_add(at)))
        };
        let pieces = self.segments.iter();
        let pieces = pieces.flat_map(|one| one.own.clone().step_by(PIECE).map(move |begin| (one, begin)));
        let pieces: Vec<(&Segment<'a>, usize)> = pieces.collect();
        // Of a small file waking the threads takes longer than the search.
        if self.size() <= PIECE as u64 {
            return pieces.into_iter().flat_map(of_piece).collect();
        }
        pieces.into_par_iter().flat_map_iter(of_piece).collect()
    }

    fn find(&self, address: u64) -> Option<usize> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        let index = after.checked_sub(1)?;
        (address < self.segments.get(index)?.end()).then_some(index)
    }

    /// Whether some of these addresses have bytes.
    pub(super) fn meets(&self, address: u64, len: u64) -> bool {
        let after = self.segments.partition_point(|segment| segment.end() <= address);
        self.segments.get(after).is_some_and(|segment| segment.address < address.saturating_add(len))
    }

    /// Returns those of some addresses that have bytes.
    pub(super) fn met(&self, addresses: Range<u64>) -> Vec<Range<u64>> {
        let first = self.segments.partition_point(|segment| segment.end() <= addresses.start);
        let met = self.segments.iter().skip(first).take_while(|segment| segment.address < addresses.end);
        met.map(|segment| segment.address.max(addresses.start)..segment.end().min(addresses.end))
            .filter(|met| !met.is_empty())
            .collect()
    }

    /// Returns the segment of an address, and the offset in it.
    fn locate(&self, address: u64) -> Option<(&Segment<'a>, usize)> {
        let segment = self.segments.get(self.find(address)?)?;
        Some((segment, usize::try_from(address.checked_sub(segment.address)?).ok()?))
    }

    /// Makes the segment of an address the one that is written to. Returns false where nothing is mapped.
    fn turn_to(&mut self, address: u64) -> bool {
        let again = |segment: &Segment<'_>| (segment.address..segment.end()).contains(&address);
        if !self.segments.get(self.written).is_some_and(again) {
            let Some(index) = self.find(address) else { return false };
            self.written = index;
        }
        true
    }

    /// Overwrites the pointer at an address, copying its segment the first time. Returns false where nothing is mapped.
    pub(super) fn write_pointer(&mut self, address: u64, value: u64) -> bool {
        if !self.turn_to(address) {
            return false;
        }
        let Some(segment) = self.segments.get_mut(self.written) else { return false };
        let Ok(at) = usize::try_from(address.wrapping_sub(segment.address)) else { return false };
        match segment.data.to_mut() {
            Ok(data) => bytes::put_u64(data, at, value),
            Err(error) => {
                self.uncopied.get_or_insert(error);
                false
            }
        }
    }

    /// Checks that there was room for the copies of all segments that relocations write to.
    ///
    /// # Errors
    /// `Input` where there was none.
    pub(super) fn check_copies(&mut self) -> Result<()> {
        self.uncopied.take().map_or(Ok(()), Err)
    }

    /// Writes the pointer of a relocation, and notes that it is one.
    pub(super) fn relocate(&mut self, address: u64, value: u64) {
        if !self.write_pointer(address, value) || !self.mark(address) {
            self.outside.get_or_insert(address);
        }
    }

    /// Notes that a relocation writes the 8 bytes at an address. Returns false where the file has none.
    pub(super) fn mark(&mut self, address: u64) -> bool {
        if !self.turn_to(address) {
            return false;
        }
        self.written_words.resize(self.segments.len(), Vec::new());
        let Some(segment) = self.segments.get_mut(self.written) else { return false };
        let Ok(at) = usize::try_from(address.wrapping_sub(segment.address)) else { return false };
        // Of a page that two segments have, the second may be the one that is writable.
        segment.holds_pointers = true;
        if !segment.own.contains(&at) {
            segment.own = 0..segment.data.len();
        }
        let Some(words) = self.written_words.get_mut(self.written) else { return false };
        if words.is_empty() {
            words.resize(segment.data.len() / 512 + 2, 0);
        }
        let first = address.wrapping_sub(segment.address & !7);
        let mut is_again = false;
        for word in first / 8..=first.saturating_add(7) / 8 {
            if let Some(bits) = usize::try_from(word / 64).ok().and_then(|at| words.get_mut(at)) {
                is_again |= *bits & 1 << (word % 64) != 0;
                *bits |= 1 << (word % 64);
            }
        }
        if is_again && self.twice.len() < limits::MAX_WRITTEN_TWICE {
            let words = [address & !7, address.saturating_add(7) & !7];
            self.twice.extend([address].into_iter().chain(words.into_iter().filter(|word| *word != address)));
        }
        true
    }

    /// Leaves the places open that several relocations were noted for: which is the last depends on the loader or linker, and some add
    /// to what they find.
    ///
    /// # Errors
    /// `Input` where they are too many.
    pub(super) fn leave_twice_written_open(&mut self) -> Result<()> {
        if self.twice.len() >= limits::MAX_WRITTEN_TWICE {
            let offset = self.twice.first().and_then(|place| self.file_offset(*place)).unwrap_or(0);
            return Err(Error::at(offset, "relocations write to the same places, thousands of times"));
        }
        self.open_pointers.extend_from_slice(&self.twice);
        self.open_pointers.sort_unstable();
        let twice = std::mem::take(&mut self.twice);
        self.leave_open(twice.into_iter().map(written).collect());
        Ok(())
    }

    /// Returns the first address without a byte in the file that a relocation writes to.
    pub(crate) fn outside(&self) -> Option<u64> {
        self.outside
    }

    /// Returns the first word within some bytes that a loader writes to, whether what is known or not.
    pub(crate) fn first_changed(&self, address: u64, len: u64) -> Option<u64> {
        if len == 0 {
            return None;
        }
        if let Some(place) = self.first_open(address, len) {
            return Some(place);
        }
        let index = self.find(address)?;
        let (segment, words) = self.segments.get(index).zip(self.written_words.get(index))?;
        let base = segment.address & !7;
        let (mut word, last) =
            (address.checked_sub(base)? / 8, address.saturating_add(len - 1).saturating_sub(base) / 8);
        while word <= last {
            // Of many words without one 64 are looked at together.
            let bits = *usize::try_from(word / 64).ok().and_then(|at| words.get(at))? >> (word % 64);
            if bits == 0 {
                word = (word / 64 + 1) * 64;
                continue;
            }
            word = word.saturating_add(u64::from(bits.trailing_zeros()));
            return (word <= last).then(|| base.saturating_add(word.saturating_mul(8)));
        }
        None
    }

    /// Notes the base relocations, which tell where pointers are in segments that do not hold them anywhere.
    pub(super) fn take_base_relocations(&mut self, image_base: u64, table: &'a [u8]) {
        self.base_relocations = Some((image_base, table));
    }

    /// Returns the addresses that base relocations name in segments that do not hold pointers anywhere, in the table's
    /// order.
    pub(crate) fn pointers_elsewhere(&self) -> impl Iterator<Item = u64> + '_ {
        let (image_base, table) = self.base_relocations.unwrap_or_default();
        let at = move |address: u32| image_base.saturating_add(address.into());
        let elsewhere = |address: u64| {
            self.find(address).and_then(|nth| self.segments.get(nth)).is_some_and(|one| !one.holds_pointers)
        };
        base_relocations::blocks(table)
            .map_while(Result::ok)
            // Most pages are data.
            .filter(move |block| {
                let page = at(block.page);
                let end = page.saturating_add(PAGE.into());
                let first = self.segments.partition_point(|one| one.end() <= page);
                let mut met = self.segments.iter().skip(first).take_while(|one| one.address < end);
                met.any(|one| !one.holds_pointers)
            })
            .flat_map(|block| block.relocations())
            .map(move |relocation| at(relocation.address))
            .filter(move |address| elsewhere(*address))
    }

    /// Notes addresses into which a loader writes what is not known.
    pub(super) fn leave_open(&mut self, places: Vec<Range<u64>>) {
        if places.is_empty() {
            return;
        }
        let is_outside = |place: &&Range<u64>| !self.meets(place.start, place.end.saturating_sub(place.start));
        let outside = places.iter().filter(is_outside).map(|place| place.start).min();
        self.outside = self.outside.or(outside);
        self.open.extend(places);
        self.open.sort_unstable_by_key(|place| place.start);
        self.open.dedup_by(|next, before| {
            let overlap = next.start < before.end;
            before.end = if overlap { before.end.max(next.end) } else { before.end };
            overlap
        });
    }

    /// Notes which of the open places may be pointers, or halves of some: others are distances within code, or too small.
    pub(super) fn set_open_pointers(&mut self, mut places: Vec<u64>) {
        places.sort_unstable();
        self.open_pointers = places;
    }

    /// Returns the addresses where a loader or linker writes a pointer that is not known, in order.
    pub(crate) fn open_pointers(&self) -> &[u64] {
        &self.open_pointers
    }

    /// Notes the addresses of pointers whose value depends on the loader, or on the other files of the program.
    pub(super) fn set_varying(&mut self, mut places: Vec<u64>) {
        places.sort_unstable();
        self.varying = places;
    }

    /// Notes whether any pointer may depend on the loader.
    pub(super) fn set_all_varying(&mut self, all_varying: bool) {
        self.all_varying = all_varying;
    }

    /// Whether some pointer within these bytes depends on the loader, or on the other files of the program.
    pub(crate) fn varies(&self, address: u64, len: u64) -> bool {
        self.all_varying || first_within(&self.varying, address, len).is_some()
    }

    /// Notes that a relocation writes each pointer.
    pub(super) fn set_relocated(&mut self) {
        self.relocated = true;
    }

    /// Whether the word at an address may be a pointer.
    pub(crate) fn may_be_pointer(&self, address: u64) -> bool {
        !self.relocated || self.first_changed(address, 8).is_some()
    }

    /// Notes that all pointers stand at multiples of 8.
    pub(super) fn set_aligned(&mut self) {
        self.aligned = true;
    }

    /// Whether pointers may stand at any address.
    pub(crate) fn is_unaligned(&self) -> bool {
        !self.aligned
    }

    /// Notes the sections of which a linker keeps equal pieces once, in the order of addresses.
    pub(super) fn set_merged(&mut self, merged: Vec<Merged>) {
        self.merged = merged;
    }

    /// Returns the section of pieces that an address is in.
    fn merged(&self, address: u64) -> Option<&Merged> {
        let nth = self.merged.partition_point(|section| section.end <= address);
        self.merged.get(nth).filter(|section| section.address <= address)
    }

    /// Whether an address is in a section of which a linker keeps equal pieces once.
    pub(crate) fn is_merged(&self, address: u64) -> bool {
        self.merged(address).is_some()
    }

    /// Returns the first place within some bytes that a linker may put elsewhere than behind those before it.
    fn first_apart(&self, address: u64, len: u64) -> Option<u64> {
        let section = self.merged(address).filter(|_| len > 0)?;
        let unit = section.unit.max(1);
        let skew = address.saturating_sub(section.address).checked_rem(unit)?;
        let next = address.saturating_add(unit.saturating_sub(skew));
        if !section.is_text {
            return (next < address.saturating_add(len)).then_some(next);
        }
        if len > limits::MAX_STRING as u64 {
            return Some(address);
        }
        // A text ends behind its first character of zeros.
        let first = if skew == 0 { address } else { next };
        let rest = self.slice(first, address.saturating_add(len).checked_sub(first)?)?;
        let mut characters = rest.chunks(usize::try_from(unit).ok()?);
        let end = characters.position(|character| character.iter().all(|byte| *byte == 0))? as u64;
        let end = first.saturating_add(end.saturating_add(1).saturating_mul(unit));
        (end < address.saturating_add(len)).then_some(end)
    }

    /// Returns the first place within some bytes where a loader or a linker writes what is not known.
    pub(crate) fn first_open(&self, address: u64, len: u64) -> Option<u64> {
        let first = self.open.partition_point(|place| place.end <= address);
        let open = self.open.get(first).map(|place| place.start).filter(|start| *start < address.saturating_add(len));
        open.or_else(|| self.first_apart(address, len))
    }

    /// Returns all bytes from an address to the end of its segment.
    pub(crate) fn tail(&self, address: u64) -> Option<&[u8]> {
        let (segment, at) = self.locate(address)?;
        segment.data.get(at..)
    }

    /// Returns `len` bytes at an address, all within one segment.
    pub(crate) fn slice(&self, address: u64, len: u64) -> Option<&[u8]> {
        let len = usize::try_from(len).ok()?;
        if len == 0 {
            return Some(&[]);
        }
        self.tail(address)?.get(..len)
    }

    /// Returns the pointer at an address, after relocation.
    pub fn pointer(&self, address: u64) -> Option<u64> {
        bytes::u64_at(self.tail(address)?, 0)
    }

    /// Returns the NUL-terminated string at an address, without the NUL.
    pub(crate) fn c_string(&self, address: u64) -> Option<&[u8]> {
        self.c_string_within(address, limits::MAX_STRING)
    }

    /// Returns the string like [`AddressMap::c_string`], if it has at most `max` bytes with its NUL.
    pub(crate) fn c_string_within(&self, address: u64, max: usize) -> Option<&[u8]> {
        let tail = self.tail(address)?;
        let window = tail.get(..tail.len().min(max))?;
        window.get(..end_of_string(window)?)
    }

    /// Returns the file offset of the byte at an address.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let (segment, at) = self.locate(address)?;
        segment.offset.checked_add(at as u64)
    }
}

/// Returns the first of some words, in order, that reaches into these bytes.
fn first_within(words: &[u64], address: u64, len: u64) -> Option<u64> {
    let first = words.partition_point(|place| place.saturating_add(WRITTEN) <= address);
    let place = *words.get(first)?;
    (place < address.saturating_add(len)).then_some(place)
}

/// Returns the position of the first NUL.
pub(crate) fn end_of_string(data: &[u8]) -> Option<usize> {
    memchr::memchr(0, data)
}

/// Returns the position of the first occurrence of `wanted` in the data.
pub(crate) fn find(data: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(data, wanted)
}

/// Returns the position of the last occurrence of `wanted` in the data.
pub(crate) fn find_last(data: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(data, wanted)
}

/// Returns the positions of all occurrences of `wanted` in the data that do not overlap an earlier one.
pub(crate) fn find_all(data: &[u8], wanted: &[u8]) -> Vec<usize> {
    occurrences(data, wanted).collect()
}

/// Finds what [`find_all`] does, one after the other: there may be as many as the data has bytes.
pub(crate) fn occurrences<'d>(data: &'d [u8], wanted: &'d [u8]) -> impl Iterator<Item = usize> + 'd {
    memchr::memmem::find_iter(data, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> AddressMap<'static> {
        AddressMap::new(vec![
            Segment::new(0x2000, 8, Cow::Borrowed(b"abc\0defg"), true),
            Segment::new(0x1000, 0, Cow::Borrowed(b"01234567"), true),
            Segment::new(0x1004, 4, Cow::Borrowed(b"overlaps"), true),
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
    fn what_is_on_the_border_of_two_pieces_is_found_once() {
        const WANTED: &[u8] = b"wanted";
        let mut data = vec![0; PIECE * 2 + 100];
        let places = [0, PIECE - 9, PIECE - 3, PIECE * 2, PIECE * 2 + 94];
        for place in places {
            data[place..place + WANTED.len()].copy_from_slice(WANTED);
        }
        let segment = |address, data| Segment::new(address, 0, Cow::Borrowed(data), false);
        let map = AddressMap::new(vec![segment(1 << 40, WANTED), segment(0x1000, &data)]);
        let found = map.search(WANTED, |segment, at| (at != PIECE - 9).then_some(segment.address + at as u64));
        let kept = places.iter().filter(|place| **place != PIECE - 9).map(|place| 0x1000 + *place as u64);
        assert_eq!(found, kept.chain([1 << 40]).collect::<Vec<_>>());
    }

    #[test]
    fn pieces_of_a_section_are_whole() {
        let data = b"\0\0abc\0d\0\0ef\0";
        let of = |unit, is_text| {
            let segment = Segment::new(0x1000, 0, Cow::Borrowed(&data[..]), true);
            let mut map = AddressMap::new(vec![segment]);
            map.set_merged(vec![Merged { address: 0x1000, end: 0x100c, unit, is_text }]);
            map
        };
        let (pieces, texts, wide) = (of(4, false), of(1, true), of(2, true));
        for (map, at, len, apart) in [
            (&pieces, 0, 4, None),
            (&pieces, 1, 4, Some(4)),
            (&pieces, 4, 0, None),
            (&texts, 2, 4, None),
            (&texts, 3, 3, None),
            (&texts, 3, 4, Some(6)),
            (&texts, 1, 2, Some(2)),
            (&texts, 9, 2, None),
            (&wide, 2, 7, None),
            (&wide, 0, 3, Some(2)),
            (&wide, 1, 7, None),
            (&texts, 0, u64::MAX >> 1, Some(0)),
        ] {
            assert_eq!(map.first_open(0x1000 + at, len), apart.map(|at: u64| 0x1000 + at), "{at} {len}");
        }
        assert!(texts.is_merged(0x100b) && !texts.is_merged(0x100c) && !texts.is_merged(0xfff));
    }

    #[test]
    fn runs_of_words_have_all_but_holes() {
        let mut data = vec![0; 5 * HOLE + 12];
        for at in [8, HOLE - 8, 3 * HOLE, 5 * HOLE] {
            data[at] = 1;
        }
        let segment = Segment::new(0x1000, 0, Cow::Borrowed(&data), true);
        let runs: Vec<(u64, usize)> = segment.runs(1).map(|(address, words)| (address, words.len())).collect();
        assert_eq!(runs, [(0x1000, 513), (0x4000, 513), (0x6000, 1)]);
    }

    #[test]
    fn relocation_copies_only_its_segment() {
        let mut map = map();
        assert!(map.write_pointer(0x1000, 0x1122));
        assert!(!map.write_pointer(0x1001, 1));
        assert_eq!(map.pointer(0x1000), Some(0x1122));
        assert!(matches!(map.segments()[1].data, SegmentBytes::Borrowed(_)));
    }
}
