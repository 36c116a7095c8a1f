//! What is the memory image of a linked PE file?
//!
//! Reads PE32+ executables and libraries (`.exe`, `.dll`, `.pyd`) through the headers of crate `goblin`. A PE file
//! holds its pointers as they are at its preferred base, so nothing is relocated: an address is ImageBase + RVA, and
//! base relocations only list the addresses that a loader would change. goblin's own walk over the import tables copies
//! each table as often as it is named; the walk here reads in place and within a budget.
//!
//! What is in memory is what the loader of Windows maps, whatever the flags of a section say: its bytes begin with a
//! whole block of 512 bytes of the file, and end with a whole page, so that what stands behind a section's size in memory
//! is there as well. Sections that are aligned to less than a page are mapped with the whole file, as they stand in it.

use super::Section;
use super::address::{AddressMap, Segment};
use super::base_relocations::{self, PAGE};
use crate::bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use goblin::pe::characteristic::IMAGE_FILE_RELOCS_STRIPPED;
use goblin::pe::data_directories::DataDirectory;
use goblin::pe::dll_characteristic::IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE;
use goblin::pe::header::{COFF_MACHINE_ARM64, COFF_MACHINE_X86_64, DosHeader, Header};
use goblin::pe::optional_header::MAGIC_32;
use goblin::pe::section_table::{IMAGE_SCN_MEM_EXECUTE, SectionTable};
use goblin::pe::symbol::COFF_SYMBOL_SIZE;
use std::borrow::Cow;
use std::ops::Range;

/// Size of the signature and the COFF header, which the optional header follows, in bytes.
const HEADERS: usize = 24;
/// Size of a section header in bytes.
const SECTION_HEADER: usize = 40;
/// Size of an entry of the import directory in bytes.
const IMPORT_ENTRY: usize = 20;
/// Size of the blocks of a file with which the bytes of sections begin, whatever their alignment in the file.
pub(crate) const BLOCK: u32 = 512;
/// Largest alignment of sections in the file.
const MAX_FILE_ALIGN: u32 = 1 << 16;

/// Error for a valid file that is for no machine of SYCL programs.
#[cold]
fn not_ours(at: u64, what: &str) -> Error {
    Error::new(ErrorKind::NoDeviceCode, what).with_offset(at)
}

/// Linked PE file.
#[derive(Debug)]
pub(crate) struct Pe<'a> {
    bytes: &'a [u8],
    /// Preferred base: the address at which the file's pointers are valid.
    pub(crate) image_base: u64,
    /// Section headers with their file offsets.
    sections: Vec<(u64, SectionTable)>,
    imports: Option<DataDirectory>,
    /// Base relocations, unless they were taken out of the file.
    base_relocations: Option<DataDirectory>,
    /// Whether the file is loaded anywhere. Otherwise its pointers need no relocations, as long as its address is free.
    moves: bool,
    section_align: u32,
    file_align: u32,
    /// Size of all headers, which are mapped before the sections, in bytes.
    headers_size: u32,
    /// Size in memory, in bytes.
    image_size: u32,
}

/// Imports of a PE file.
#[derive(Debug, Default)]
pub(crate) struct Imports<'m> {
    /// Libraries, in order.
    pub(crate) libraries: Vec<&'m str>,
    /// Whether the wanted function is among the imported names.
    pub(crate) names_wanted: bool,
}

impl<'a> Pe<'a> {
    /// Reads headers and sections.
    ///
    /// # Errors
    /// `NoDeviceCode` for 32-bit files and for machines other than x86-64 and arm64, which have no SYCL programs;
    /// `Input` for DOS programs and malformed headers.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Pe<'a>, Vec<Section<'a>>)> {
        let dos =
            DosHeader::parse(bytes).map_err(|error| Error::at(0, format!("not a PE file, or cut short: {error}")))?;
        let at = u64::from(dos.pe_pointer);
        let start = usize::try_from(dos.pe_pointer).unwrap_or(usize::MAX);
        let from_signature = bytes.get(start..).unwrap_or_default();
        let header =
            Header::parse_without_dos(from_signature).map_err(|error| Error::at(at, format!("PE headers: {error}")))?;
        let coff = header.coff_header;
        let Some(optional) = header.optional_header else {
            return Err(Error::at(at, "a PE file without an optional header, which nothing loads"));
        };
        if optional.standard_fields.magic == MAGIC_32 {
            return Err(not_ours(at, "this is a 32-bit PE file; SYCL programs are 64-bit ones"));
        }
        if !matches!(coff.machine, COFF_MACHINE_X86_64 | COFF_MACHINE_ARM64) {
            return Err(not_ours(at, &format!("PE file for machine {:#x}, neither x86-64 nor arm64", coff.machine)));
        }
        let count = usize::from(coff.number_of_sections);
        if count > limits::MAX_SEGMENTS {
            return Err(Error::at(at, format!("{count} sections; the limit is {}", limits::MAX_SEGMENTS)));
        }
        let table = start.saturating_add(HEADERS).saturating_add(usize::from(coff.size_of_optional_header));
        let Some(headers) = bytes::slice_at(bytes, table, count.saturating_mul(SECTION_HEADER)) else {
            return Err(Error::at(table as u64, "the section headers pass the end of the file"));
        };
        let symbols = (coff.number_of_symbol_table as usize).saturating_mul(COFF_SYMBOL_SIZE);
        let strings = match coff.pointer_to_symbol_table {
            0 => &[],
            pointer => bytes.get((pointer as usize).saturating_add(symbols)..).unwrap_or_default(),
        };
        let fields = optional.windows_fields;
        let stripped = coff.characteristics & IMAGE_FILE_RELOCS_STRIPPED != 0;
        let mut pe = Pe {
            bytes,
            image_base: fields.image_base,
            sections: Vec::new(),
            imports: optional.data_directories.get_import_table().copied(),
            base_relocations: optional.data_directories.get_base_relocation_table().copied().filter(|_| !stripped),
            moves: fields.dll_characteristics & IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE != 0,
            section_align: fields.section_alignment,
            file_align: fields.file_alignment,
            headers_size: fields.size_of_headers,
            image_size: fields.size_of_image,
        };
        let mut sections = Vec::new();
        for (index, raw) in headers.chunks_exact(SECTION_HEADER).enumerate() {
            let here = table.saturating_add(index.saturating_mul(SECTION_HEADER)) as u64;
            let header = section_header(raw).ok_or_else(|| Error::at(here, format!("section header {index}")))?;
            let (offset, data) = pe.mapped(here, &header)?;
            if let Some(name) = name(raw, &header, strings) {
                let address = pe.image_base.wrapping_add(header.virtual_address.into());
                let len = usize::try_from(size(&header)).unwrap_or(usize::MAX).min(data.len());
                sections.push(Section { name, address, offset, data: data.get(..len).unwrap_or_default() });
            }
            pe.sections.push((here, header));
        }
        Ok((pe, sections))
    }

    /// Whether the file is mapped as it stands, sections with it.
    fn is_flat(&self) -> bool {
        self.section_align < PAGE
    }

    /// Returns the bytes that a loader maps for a section, and their file offset.
    fn mapped(&self, here: u64, header: &SectionTable) -> Result<(u64, &'a [u8])> {
        let raw = u64::from(header.pointer_to_raw_data);
        if header.size_of_raw_data == 0 {
            return Ok((raw, &[]));
        }
        let (start, align, page) = match self.is_flat() {
            true => (raw, 1, 1),
            false => {
                let align = Some(self.file_align).filter(|align| align.is_power_of_two() && *align <= MAX_FILE_ALIGN);
                (raw & !u64::from(BLOCK - 1), align.unwrap_or(BLOCK).max(BLOCK), PAGE)
            }
        };
        let stored = raw.saturating_add(header.size_of_raw_data.into());
        let least = stored.saturating_sub(start).min(size(header));
        let whole = |value: u64, align: u32| bytes::align_up(value, align.into()).unwrap_or(value);
        let most = whole(stored, align).saturating_sub(start).min(whole(size(header), page));
        // The last block of a file may be cut short.
        let most = most.min((self.bytes.len() as u64).saturating_sub(start)).max(least);
        let data = usize::try_from(start).ok().zip(usize::try_from(most).ok());
        data.and_then(|(start, most)| Some((start as u64, bytes::slice_at(self.bytes, start, most)?)))
            .ok_or_else(|| Error::at(here, "the section passes the end of the file"))
    }

    /// Returns the memory image at the preferred base.
    ///
    /// # Errors
    /// `Input` where sections overlap in memory, stand where no loader takes them from, or together hold more than the
    /// file.
    pub(crate) fn address_map(&self) -> Result<AddressMap<'a>> {
        let mut order: Vec<&(u64, SectionTable)> = self.sections.iter().collect();
        order.sort_by_key(|(_, header)| header.virtual_address);
        for pair in order.windows(2) {
            if let [(_, one), (here, next)] = pair
                && u64::from(one.virtual_address).saturating_add(size(one)) > next.virtual_address.into()
            {
                return Err(Error::at(*here, "the section overlaps the one before it in memory"));
            }
        }
        if self.is_flat() {
            return self.flat();
        }
        let relocations = self.relocations(&order)?;
        let first = order.first().map_or(self.image_size, |(_, header)| header.virtual_address);
        let headers = self.headers_size.min(first) as usize;
        let headers = self.bytes.get(..headers.min(self.bytes.len())).unwrap_or_default();
        let mut segments = vec![Segment::new(self.image_base, 0, Cow::Borrowed(headers), true)];
        let mut total = headers.len() as u64;
        let next = order.iter().skip(1).map(|(_, header)| header.virtual_address).chain([u32::MAX]);
        for ((here, header), next) in order.iter().zip(next) {
            let (offset, data) = self.mapped(*here, header)?;
            let room = next.saturating_sub(header.virtual_address) as usize;
            let data = data.get(..room.min(data.len())).unwrap_or_default();
            total = total.saturating_add(data.len() as u64);
            if !data.is_empty() {
                let is_code = header.characteristics & IMAGE_SCN_MEM_EXECUTE != 0;
                let address = self.image_base.wrapping_add(header.virtual_address.into());
                let holds_pointers = !is_code || relocations.is_none();
                segments.push(Segment::new(address, offset, Cow::Borrowed(data), holds_pointers));
            }
        }
        if total > (self.bytes.len() as u64).saturating_add(1 << 20) {
            return Err(Error::at(0, "the sections together hold more than the file"));
        }
        let mut map = AddressMap::new(segments);
        self.mark_relocations(&mut map);
        if let Some(table) = relocations {
            map.take_base_relocations(self.image_base, table);
        }
        Ok(map)
    }

    /// Notes the places of base relocations, also where the file does not say that it may move: its address may be taken. Of a
    /// damaged table a loader may make anything.
    fn mark_relocations(&self, map: &mut AddressMap<'a>) {
        let Some(directory) = self.base_relocations.filter(|directory| directory.size > 0) else { return };
        let start = self.image_base.wrapping_add(directory.virtual_address.into());
        let len = directory.size as usize;
        let mut is_sound = map.tail(start).is_some_and(|tail| tail.len() >= len);
        let offset = map.file_offset(start).and_then(|offset| usize::try_from(offset).ok());
        let rest = offset.and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        for block in base_relocations::blocks(rest.get(..len).unwrap_or(rest)) {
            let Ok(block) = block else {
                is_sound = false;
                break;
            };
            for place in block.relocations() {
                map.mark(self.image_base.saturating_add(place.address.into()));
            }
        }
        map.set_all_varying(!is_sound);
    }

    /// Returns the memory image of a file whose sections are aligned to less than a page.
    fn flat(&self) -> Result<AddressMap<'a>> {
        let misplaced =
            |header: &SectionTable| header.size_of_raw_data > 0 && header.pointer_to_raw_data != header.virtual_address;
        if let Some((here, _)) = self.sections.iter().find(|(_, header)| misplaced(header)) {
            let align = self.section_align;
            let message = format!("sections are aligned to {align} bytes, and this one is not where it is in the file");
            return Err(Error::at(*here, message));
        }
        let len = (self.image_size as usize).min(self.bytes.len());
        let data = Cow::Borrowed(self.bytes.get(..len).unwrap_or_default());
        let mut map = AddressMap::new(vec![Segment::new(self.image_base, 0, data, true)]);
        self.mark_relocations(&mut map);
        Ok(map)
    }

    /// Returns the table of base relocations, if it tells of every pointer: the loader chooses the address of the file,
    /// and the table is sound and within one of these sections.
    fn relocations(&self, sections: &[&(u64, SectionTable)]) -> Result<Option<&'a [u8]>> {
        let Some(directory) = self.base_relocations.filter(|_| self.moves) else { return Ok(None) };
        let (start, len) = (directory.virtual_address, directory.size as usize);
        let before = sections.partition_point(|(_, header)| header.virtual_address <= start);
        let Some((here, header)) = before.checked_sub(1).and_then(|at| sections.get(at)) else { return Ok(None) };
        let (_, data) = self.mapped(*here, header)?;
        let table = bytes::slice_at(data, start.saturating_sub(header.virtual_address) as usize, len);
        Ok(table.filter(|table| !table.is_empty() && base_relocations::blocks(table).all(|block| block.is_ok())))
    }

    /// Returns the libraries that the file is linked to, and whether it imports a function of a name. Damaged tables
    /// end the walk.
    pub(crate) fn imports<'m>(&self, addresses: &'m AddressMap<'a>, wanted: &str) -> Imports<'m> {
        let mut found = Imports::default();
        let Some(directory) = self.imports else { return found };
        let at = |rva: u32| self.image_base.checked_add(rva.into());
        let entries = at(directory.virtual_address).and_then(|start| addresses.tail(start)).unwrap_or_default();
        let mut budget = limits::MAX_ENTRIES;
        for entry in entries.chunks_exact(IMPORT_ENTRY).take(limits::MAX_SEGMENTS) {
            let field = |offset| bytes::u32_at(entry, offset).unwrap_or(0);
            let (lookup, library, table) = (field(0), field(12), field(16));
            if library == 0 {
                break;
            }
            let name = at(library).and_then(|place| addresses.c_string_within(place, limits::MAX_NAME));
            found.libraries.extend(name.and_then(|name| std::str::from_utf8(name).ok()));
            // Some linkers omit the lookup table; the address table has the same contents until the file is loaded.
            let names = at(if lookup == 0 { table } else { lookup }).and_then(|place| addresses.tail(place));
            for &thunk in names.unwrap_or_default().as_chunks::<8>().0 {
                let thunk = u64::from_le_bytes(thunk);
                if thunk == 0 || budget == 0 {
                    break;
                }
                budget = budget.saturating_sub(1);
                // The top bit marks an import by number; otherwise a name follows a hint of two bytes.
                let place = u32::try_from(thunk).ok().and_then(at).and_then(|place| place.checked_add(2));
                let name = place.and_then(|place| addresses.tail(place));
                found.names_wanted |= name.is_some_and(|name| begins_with_string(name, wanted));
            }
        }
        found
    }
}

/// Returns the size of a section in memory. Old linkers leave it 0.
fn size(header: &SectionTable) -> u64 {
    if header.virtual_size == 0 { header.size_of_raw_data.into() } else { header.virtual_size.into() }
}

/// Whether bytes begin with a text and its NUL. Unlike a search for the NUL, the cost is bounded by the text's length.
fn begins_with_string(bytes: &[u8], text: &str) -> bool {
    bytes.strip_prefix(text.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

/// Reads one section header. goblin refuses names like `/x`, which loaders accept.
fn section_header(raw: &[u8]) -> Option<SectionTable> {
    let parse = |raw: &[u8]| SectionTable::parse(raw, &mut 0, raw.len()).ok();
    parse(raw).or_else(|| {
        let mut nameless = raw.to_vec();
        nameless.get_mut(..8)?.fill(0);
        parse(&nameless)
    })
}

/// Returns the name of a section, from the string table where it is longer than the header's field. Linkers for Windows
/// cut the names of linked files to eight bytes instead (`__CLANG_`).
fn name<'a>(raw: &'a [u8], header: &SectionTable, strings: &'a [u8]) -> Option<&'a str> {
    let field = match header.name_offset() {
        Ok(Some(at)) => strings.get(at..)?.get(..limits::MAX_NAME.min(strings.len().saturating_sub(at)))?,
        _ => raw.get(..8)?,
    };
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    std::str::from_utf8(field.get(..end)?).ok()
}

/// Returns what is behind all sections of a file of either size of pointers, but for symbols and certificates.
pub(crate) fn behind(file: &[u8]) -> Vec<Range<u64>> {
    parts_behind(file).unwrap_or_default()
}

fn parts_behind(file: &[u8]) -> Option<Vec<Range<u64>>> {
    const LFANEW: usize = 0x3c;
    const CERTIFICATES: usize = 4;
    let start = bytes::u32_at(file, LFANEW)? as usize;
    let at = |offset: usize| start.saturating_add(offset);
    let (sections, size) = (bytes::u16_at(file, at(6))?, bytes::u16_at(file, at(20))?);
    let table = at(HEADERS.saturating_add(size.into()));
    let headers = bytes::slice_at(file, table, usize::from(sections).saturating_mul(SECTION_HEADER))?;
    let number = |bytes: &[u8], at: usize| bytes::u32_at(bytes, at).map_or(0, u64::from);
    let ends = headers.chunks_exact(SECTION_HEADER).map(|header| number(header, 20).saturating_add(number(header, 16)));
    let len = file.len() as u64;
    // Sections that pass the end of the file are not there.
    let mut begin = ends.filter(|end| *end <= len).fold((table.saturating_add(headers.len())) as u64, u64::max);
    let directories = at(HEADERS).saturating_add(if bytes::u16_at(file, at(HEADERS))? == MAGIC_32 { 96 } else { 112 });
    let entry = directories.saturating_add(CERTIFICATES * 8);
    let certificates = number(file, entry);
    let mut apart = vec![
        certificates..certificates.saturating_add(number(file, entry.saturating_add(4))),
        symbols(file, number(file, at(12)), number(file, at(16))).unwrap_or(0..0),
    ];
    apart.retain(|range| range.start >= begin && range.end <= len && range.start < range.end);
    apart.retain(|range| range.start != certificates || are_certificates(file, range));
    apart.sort_unstable_by_key(|range| range.start);
    let mut behind = Vec::new();
    for range in apart.into_iter().chain(std::iter::once(len..len)) {
        behind.push(begin..range.start);
        begin = begin.max(range.end);
    }
    Some(behind)
}

/// Returns the range of symbols and of their strings, which begin with their size.
fn symbols(file: &[u8], pointer: u64, count: u64) -> Option<Range<u64>> {
    let strings = pointer.checked_add(count.checked_mul(COFF_SYMBOL_SIZE as u64)?)?;
    let size = bytes::u32_at(file, usize::try_from(strings).ok()?)?;
    (pointer > 0 && size >= 4).then(|| pointer..strings.saturating_add(size.into()))
}

/// Whether a range is that of certificates as Windows reads them: their length, their revision, their type, and a sequence in DER.
fn are_certificates(file: &[u8], range: &Range<u64>) -> bool {
    let at = usize::try_from(range.start).unwrap_or(usize::MAX);
    let len = bytes::u32_at(file, at).map_or(0, u64::from);
    len >= 8
        && len <= range.end.saturating_sub(range.start)
        && matches!(bytes::u16_at(file, at.saturating_add(4)), Some(0x100 | 0x200))
        && file.get(at.saturating_add(8)) == Some(&0x30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_cut_or_in_the_string_table() {
        let strings = b"\x20\0\0\0__CLANG_OFFLOAD_BUNDLE__sycl-spir64\0";
        let mut raw = [0u8; SECTION_HEADER];
        let mut named = |text: &[u8; 8]| {
            raw[..8].copy_from_slice(text);
            let header = section_header(&raw).unwrap();
            name(&raw, &header, strings).map(str::to_owned)
        };
        assert_eq!(named(b".tgtimg\0").as_deref(), Some(".tgtimg"));
        assert_eq!(named(b"__CLANG_").as_deref(), Some("__CLANG_"));
        assert_eq!(named(b"/4\0\0\0\0\0\0").as_deref(), Some("__CLANG_OFFLOAD_BUNDLE__sycl-spir64"));
        assert_eq!(named(b"//AAAAAE").as_deref(), Some("__CLANG_OFFLOAD_BUNDLE__sycl-spir64"));
        assert_eq!(named(b"/9999999"), None);
        assert_eq!(named(b"/no\0\0\0\0\0").as_deref(), Some("/no"));
    }

    #[test]
    fn a_dos_program_and_a_32_bit_file_are_named() {
        let error = Pe::parse(b"MZ\x90\0").unwrap_err().to_string();
        assert!(error.contains("not a PE file"), "{error}");
        let mut file = b"MZ".to_vec();
        file.resize(60, 0);
        file.extend(64u32.to_le_bytes());
        file.extend(b"PE\0\0\x4c\x01\0\0");
        file.resize(64 + 20, 0);
        file.extend(224u16.to_le_bytes());
        file.resize(64 + 24, 0);
        file.extend(0x10bu16.to_le_bytes());
        file.resize(64 + 24 + 224, 0);
        let error = Pe::parse(&file).unwrap_err().to_string();
        assert!(error.contains("32-bit PE file"), "{error}");
    }
}
