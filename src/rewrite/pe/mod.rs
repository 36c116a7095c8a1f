//! How is a linked PE file rewritten?
//!
//! Headers are read and changed as bytes: a loader uses only a few fields of them once a section is added.
//!
//! Only PE32+ is supported. Offsets are those of Microsoft's "PE Format".
//!
//! A signature covers the bytes of the file, so it must be removed from a rewritten file: Windows reports a file with
//! an invalid signature as tampered with.
//!
//! Linkers pad the headers, mostly to 512 bytes, and the padding may be shorter than a section header. Before the
//! headers are a DOS program, which only prints that it does not run there, and a record of the linker's tools, which
//! no loader reads: the headers move down over the end of those as far as needed.

mod embed;

use crate::bytes::Draft;
use crate::bytes::{self, u16_at, u32_at, u64_at};
use crate::container::base_relocations::{BaseRelocation, PAGE};
use crate::container::pe::BLOCK;
use crate::error::{Error, Result};
use crate::limits;
use std::borrow::Cow;

pub use embed::embed_images;

/// Index of the certificate directory, whose address is a file offset.
pub(crate) const CERTIFICATES: usize = 4;
/// Index of the base relocation directory.
pub(crate) const BASE_RELOCATIONS: usize = 5;
/// Index of the debug directory.
pub(crate) const DEBUG: usize = 6;

/// Size of a section header in bytes.
pub(crate) const SECTION: usize = 40;
const CODE: u32 = 0x20;
const EXECUTABLE: u32 = 0x2000_0000;

/// Fields of the headers.
#[derive(Debug, Clone)]
pub(crate) struct Headers {
    /// File offset of the COFF header.
    pub(crate) coff: usize,
    /// File offset of the optional header.
    pub(crate) optional: usize,
    /// File offset of the section headers.
    pub(crate) table: usize,
    /// Section headers.
    pub(crate) sections: Vec<Section>,
    /// Image base: the address at which the pointers in the file are valid.
    pub(crate) image_base: u64,
    /// Alignment of sections in memory.
    pub(crate) section_align: u32,
    /// Alignment of sections in the file.
    pub(crate) file_align: u32,
    /// Size of all headers with padding, in bytes.
    pub(crate) headers_size: u32,
    /// File offset of the COFF symbols; 0 where there are none.
    pub(crate) symbols: u32,
    directories: usize,
}

/// A section header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    /// File offset of the header.
    pub(crate) header: usize,
    /// Size in memory, in bytes.
    pub(crate) virtual_size: u32,
    /// Address relative to the image base.
    pub(crate) address: u32,
    /// Size in the file, in bytes.
    pub(crate) raw_size: u32,
    /// File offset.
    pub(crate) raw: u32,
    flags: u32,
}

impl Section {
    /// Whether the section contains code.
    pub(crate) fn is_code(&self) -> bool {
        self.flags & (CODE | EXECUTABLE) != 0
    }

    /// Returns what a loader goes by, but for the size in memory: address, file offset, size in the file, flags.
    pub(crate) fn loaded(&self) -> [u32; 4] {
        [self.address, self.raw, self.raw_size, self.flags]
    }

    /// Returns the end in memory. Old linkers leave the size in memory 0.
    pub(crate) fn end(&self) -> u64 {
        let size = if self.virtual_size == 0 { self.raw_size } else { self.virtual_size };
        u64::from(self.address).saturating_add(size.into())
    }

    /// Returns the end in the file.
    pub(crate) fn raw_end(&self) -> u64 {
        if self.raw_size == 0 { 0 } else { u64::from(self.raw).saturating_add(self.raw_size.into()) }
    }
}

impl Headers {
    /// Reads the headers.
    ///
    /// # Errors
    /// `Input` where they are cut short or not those of a 64-bit file.
    pub(crate) fn parse(file: &[u8]) -> Result<Headers> {
        let cut = || Error::input("the PE headers are cut short");
        let start = u32_at(file, 60).ok_or_else(cut)? as usize;
        let coff = start.saturating_add(4);
        let optional = coff.saturating_add(20);
        let u32_in = |at: usize| u32_at(file, optional.saturating_add(at)).ok_or_else(cut);
        if u16_at(file, optional) != Some(0x20b) {
            return Err(Error::at(optional as u64, "not a 64-bit PE file"));
        }
        let size = usize::from(u16_at(file, coff.saturating_add(16)).ok_or_else(cut)?);
        let table = optional.saturating_add(size);
        let count = usize::from(u16_at(file, coff.saturating_add(2)).ok_or_else(cut)?);
        if count > limits::MAX_SEGMENTS {
            return Err(Error::at(coff as u64, format!("{count} sections")));
        }
        let mut sections = Vec::new();
        for index in 0..count {
            let header = table.saturating_add(index.saturating_mul(SECTION));
            let field = |at: usize| u32_at(file, header.saturating_add(at)).ok_or_else(cut);
            sections.push(Section {
                header,
                virtual_size: field(8)?,
                address: field(12)?,
                raw_size: field(16)?,
                raw: field(20)?,
                flags: field(36)?,
            });
        }
        // Number of directories that are declared and fit the header.
        let directories = (u32_in(108)? as usize).min(size.saturating_sub(112) / 8).min(16);
        let (section_align, file_align) = (u32_in(32)?, u32_in(36)?);
        let sound = |align: u32| align.is_power_of_two() && (1 << 4..=1 << 21).contains(&align);
        if !sound(section_align) || !sound(file_align) {
            let message = format!("sections aligned to {section_align:#x} in memory, {file_align:#x} in the file");
            return Err(Error::at(optional as u64, message));
        }
        Ok(Headers {
            coff,
            optional,
            table,
            sections,
            image_base: u64_at(file, optional.saturating_add(24)).ok_or_else(cut)?,
            section_align,
            file_align,
            headers_size: u32_in(60)?,
            symbols: u32_at(file, coff.saturating_add(8)).ok_or_else(cut)?,
            directories,
        })
    }

    /// Returns the bytes of the COFF and optional headers that no added section changes: all but the number of sections, the time and
    /// the symbols, the sizes of data and image, the checksum, and the directories of base relocations and certificates.
    pub(crate) fn fixed(&self, file: &[u8]) -> Vec<u8> {
        let size = 112usize.saturating_add(self.directories.saturating_mul(8));
        let changed = [8..12, 56..60, 64..68, 112 + 8 * CERTIFICATES..112 + 8 * BASE_RELOCATIONS + 8];
        let optional = (0..size).filter(|at| !changed.iter().any(|range| range.contains(at)));
        let coff = [0, 1, 16, 17, 18, 19].into_iter().map(|at| self.coff.saturating_add(at));
        let places = coff.chain(optional.map(|at| self.optional.saturating_add(at)));
        places.filter_map(|at| file.get(at).copied()).collect()
    }

    /// Returns the file offset of a directory's address and size.
    pub(crate) fn directory_at(&self, index: usize) -> Option<usize> {
        let at = self.optional.checked_add(112)?.checked_add(index.checked_mul(8)?)?;
        (index < self.directories).then_some(at)
    }

    /// Returns the address and size of a directory, or none where it is empty.
    pub(crate) fn directory(&self, file: &[u8], index: usize) -> Option<(u32, u32)> {
        let at = self.directory_at(index)?;
        let found = (u32_at(file, at)?, u32_at(file, at.checked_add(4)?)?);
        (found.0 != 0 && found.1 != 0).then_some(found)
    }

    /// Returns the file offset of `len` bytes at an address relative to the image base.
    pub(crate) fn offset(&self, address: u32, len: u32) -> Option<usize> {
        let section = self.section_of(address, len)?;
        usize::try_from(section.raw.checked_add(address.checked_sub(section.address)?)?).ok()
    }

    /// Returns the section that has `len` bytes at an address relative to the image base.
    pub(crate) fn section_of(&self, address: u32, len: u32) -> Option<&Section> {
        self.sections.iter().find(|section| {
            address >= section.address
                && u64::from(address).saturating_add(len.into())
                    <= u64::from(section.address).saturating_add(section.raw_size.into())
        })
    }

    /// Whether the size in memory is that of all sections, without which nothing loads the file.
    pub(crate) fn has_sizes(&self, file: &[u8]) -> bool {
        let end = self
            .sections
            .iter()
            .map(Section::end)
            .max()
            .and_then(|end| bytes::align_up(end, self.section_align.into()));
        u32_at(file, self.optional.saturating_add(56)).map(u64::from) == end
    }

    /// Returns the bytes of all sections with data, as the optional header has them.
    pub(crate) fn initialized(&self, file: &[u8]) -> u32 {
        u32_at(file, self.optional.saturating_add(8)).unwrap_or_default()
    }

    /// Returns the offset of what is behind the headers and all sections in the file.
    pub(crate) fn overlay(&self) -> u64 {
        self.sections.iter().map(Section::raw_end).fold(self.headers_size.into(), u64::max)
    }

    /// Checks that the sections follow each other in memory, as loaders demand, and are apart in the file: else a change in one
    /// would be a change in another. Each has to begin with a block of the file, where loaders take it from.
    ///
    /// # Errors
    /// `Input`, with the offset of a section header.
    pub(crate) fn check_sections(&self) -> Result<()> {
        let refuse = |section: &Section| {
            Error::at(section.header as u64, "the file cannot be rewritten: a section overlaps the one before it")
        };
        for pair in self.sections.windows(2) {
            if let [one, next] = pair
                && one.end() > next.address.into()
            {
                return Err(refuse(next));
            }
        }
        let mut filled: Vec<&Section> = self.sections.iter().filter(|section| section.raw_size > 0).collect();
        let odd = |section: &&&Section| self.section_align >= PAGE && !section.raw.is_multiple_of(BLOCK);
        if let Some(section) = filled.iter().find(odd) {
            let message = format!(
                "the file cannot be rewritten: a section begins within a block of {BLOCK} bytes of the file, and is loaded \
                 from the block's begin"
            );
            return Err(Error::at(section.header as u64, message));
        }
        filled.sort_by_key(|section| section.raw);
        for pair in filled.windows(2) {
            if let [one, next] = pair
                && one.raw_end() > next.raw.into()
            {
                return Err(refuse(next));
            }
        }
        Ok(())
    }

    /// Returns the base relocations and their file offset, or none where the file has none.
    ///
    /// # Errors
    /// `Input` where they are not in the file.
    pub(crate) fn relocations<'f>(&self, file: &'f [u8]) -> Result<Option<(usize, &'f [u8])>> {
        let Some((address, size)) = self.directory(file, BASE_RELOCATIONS) else { return Ok(None) };
        let at = self.offset(address, size);
        let table = at.and_then(|at| Some((at, bytes::slice_at(file, at, usize::try_from(size).ok()?)?)));
        table.map(Some).ok_or_else(|| Error::input("the base relocations are not in the file"))
    }
}

/// Updates the checksum, if the file has one.
///
/// # Errors
/// `Input` where the headers are cut short.
pub(crate) fn update_checksum(file: &mut [u8]) -> Result<()> {
    let at = Headers::parse(file)?.optional.saturating_add(64);
    if u32_at(file, at).is_none_or(|checksum| checksum == 0) {
        return Ok(());
    }
    let new = checksum(file, at);
    if bytes::put(file, at, &new.to_le_bytes()) { Ok(()) } else { Err(Error::input("the PE headers are cut short")) }
}

/// Returns the sum of all 16-bit words except the checksum's own, with carries folded in, plus the file's length
/// (`CheckSumMappedFile`).
fn checksum(file: &[u8], own: usize) -> u32 {
    let word = |pair: &[u8]| {
        let low = pair.first().copied().unwrap_or(0);
        u64::from(u16::from_le_bytes([low, pair.get(1).copied().unwrap_or(0)]))
    };
    let sum = |bytes: &[u8]| bytes.chunks(2).map(word).fold(0u64, u64::wrapping_add);
    let field = bytes::slice_at(file, own, 4).unwrap_or_default();
    // The field's own words are subtracted from the sum; in files that load, headers are at even offsets.
    let mut total = sum(file).wrapping_sub(sum(field));
    while total >> 16 != 0 {
        total = (total & 0xffff).wrapping_add(total >> 16);
    }
    u32::try_from(total.wrapping_add(file.len() as u64) & 0xffff_ffff).unwrap_or(0)
}

/// Writes a table of sorted relocations.
pub(crate) fn encode(places: &[BaseRelocation]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in places.chunk_by(|one, next| one.address >> 12 == next.address >> 12) {
        put_block(&mut out, block.first().map_or(0, |place| place.address & !0xfff), block);
    }
    out
}

/// Writes the block of a page with these relocations.
pub(crate) fn put_block(out: &mut Vec<u8>, page: u32, block: &[BaseRelocation]) {
    let words = block.len().next_multiple_of(2);
    out.extend(page.to_le_bytes());
    out.extend(u32::try_from(words.saturating_mul(2).saturating_add(8)).unwrap_or(0).to_le_bytes());
    for place in block {
        let offset = u16::try_from(place.address.saturating_sub(page) & 0xfff).unwrap_or(0);
        out.extend((u16::from(place.kind) << 12 | offset).to_le_bytes());
    }
    if block.len() < words {
        out.extend([0, 0]);
    }
}

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
pub fn remove(file: &[u8]) -> Result<Draft> {
    let headers = Headers::parse(file)?;
    let Some((offset, size)) = headers.directory(file, CERTIFICATES) else { return Draft::copy_of(file, 0) };
    let at_end = u64::from(offset).checked_add(size.into()) == Some(file.len() as u64);
    let directory = headers.directory_at(CERTIFICATES).unwrap_or(usize::MAX);
    if !at_end || u64::from(offset) < headers.overlay() {
        return Err(Error::at(directory as u64, "the certificates are not at the end of the file"));
    }
    let mut out = Draft::copy_of(file.get(..offset as usize).unwrap_or_default(), 0)?;
    if !bytes::put_u64(&mut out, directory, 0) {
        return Err(Error::input("the PE headers are cut short"));
    }
    update_checksum(&mut out)?;
    Ok(out)
}

/// Size of the DOS header; its last field is the offset of the PE headers.
const DOS: usize = 64;
/// File offset of that field.
const POINTER: usize = 60;

/// Returns the file, of the same length, with room for one more section header. It is unchanged where it has room
/// already.
///
/// # Errors
/// `Input` where there is no room and none can be made.
pub(crate) fn make_header_room(file: &[u8]) -> Result<Cow<'_, [u8]>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::base_relocations::{DIR64, known_blocks};
    use proptest::prelude::*;

    #[test]
    fn a_block_is_padded_to_four_bytes() {
        let place = |address| BaseRelocation { address, kind: DIR64 };
        let table = encode(&[place(0x1008), place(0x1ff8), place(0x1010), place(0x3000)]);
        assert_eq!(table.len(), 16 + 12);
        assert_eq!(table[..8], [0, 0x10, 0, 0, 16, 0, 0, 0]);
        assert_eq!(table[8..16], [0x08, 0xa0, 0xf8, 0xaf, 0x10, 0xa0, 0, 0]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(mut addresses in prop::collection::vec(0u32..0x20_0000, 0..300)) {
            addresses.sort_unstable();
            let places: Vec<BaseRelocation> = addresses.into_iter().map(|address| BaseRelocation { address, kind: DIR64 }).collect();
            let table = encode(&places);
            let read: Vec<BaseRelocation> = known_blocks(&table).flat_map(|block| block.unwrap().relocations()).collect();
            prop_assert_eq!(read, places);
        }
    }
}
