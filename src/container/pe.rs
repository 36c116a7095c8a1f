//! What is the memory image of a linked PE file?
//!
//! Reads PE32+ executables and libraries (`.exe`, `.dll`, `.pyd`) through the headers of crate `goblin`. A PE file
//! holds its pointers as they are at its preferred base, so nothing is relocated: an address is ImageBase + RVA, and
//! base relocations only list the addresses that a loader would change. goblin's own walk over the import tables copies
//! each table as often as it is named; the walk here reads in place and within a budget.

use super::Section;
use super::address::{AddressMap, Segment};
use crate::bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use goblin::pe::data_directories::DataDirectory;
use goblin::pe::header::{COFF_MACHINE_ARM64, COFF_MACHINE_X86_64, DosHeader, Header};
use goblin::pe::optional_header::MAGIC_32;
use goblin::pe::section_table::{
    IMAGE_SCN_CNT_INITIALIZED_DATA, IMAGE_SCN_MEM_DISCARDABLE, IMAGE_SCN_MEM_EXECUTE, SectionTable,
};
use goblin::pe::symbol::COFF_SYMBOL_SIZE;
use std::borrow::Cow;

/// Size of the signature and the COFF header, which the optional header follows, in bytes.
const HEADERS: usize = 24;
/// Size of a section header in bytes.
const SECTION_HEADER: usize = 40;
/// Size of an entry of the import directory in bytes.
const IMPORT_ENTRY: usize = 20;

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
        let mut pe = Pe {
            bytes,
            image_base: optional.windows_fields.image_base,
            sections: Vec::new(),
            imports: optional.data_directories.get_import_table().copied(),
        };
        let mut sections = Vec::new();
        for (index, raw) in headers.chunks_exact(SECTION_HEADER).enumerate() {
            let here = table.saturating_add(index.saturating_mul(SECTION_HEADER)) as u64;
            let header = section_header(raw).ok_or_else(|| Error::at(here, format!("section header {index}")))?;
            let data = pe.loaded(here, &header)?;
            if let Some(name) = name(raw, &header, strings) {
                let address = pe.image_base.wrapping_add(header.virtual_address.into());
                sections.push(Section { name, address, offset: header.pointer_to_raw_data.into(), data });
            }
            pe.sections.push((here, header));
        }
        Ok((pe, sections))
    }

    /// Returns the bytes of a section that come from the file. The stored size is padded to whole blocks of the file.
    fn loaded(&self, here: u64, header: &SectionTable) -> Result<&'a [u8]> {
        let len = match header.virtual_size {
            0 => header.size_of_raw_data,
            size => size.min(header.size_of_raw_data),
        };
        if len == 0 {
            return Ok(&[]);
        }
        bytes::slice_at(self.bytes, header.pointer_to_raw_data as usize, len as usize)
            .ok_or_else(|| Error::at(here, "the section passes the end of the file"))
    }

    /// Returns the memory image at the preferred base.
    ///
    /// # Errors
    /// `Input` where the sections together hold more than the file.
    pub(crate) fn address_map(&self) -> Result<AddressMap<'a>> {
        let mut segments = Vec::new();
        let mut total = 0u64;
        for (here, header) in &self.sections {
            let data = self.loaded(*here, header)?;
            total = total.saturating_add(data.len() as u64);
            let flags = header.characteristics;
            let is_data = flags & IMAGE_SCN_CNT_INITIALIZED_DATA != 0;
            let kept = flags & (IMAGE_SCN_MEM_EXECUTE | IMAGE_SCN_MEM_DISCARDABLE) == 0;
            if !data.is_empty() {
                segments.push(Segment {
                    address: self.image_base.wrapping_add(header.virtual_address.into()),
                    offset: header.pointer_to_raw_data.into(),
                    data: Cow::Borrowed(data),
                    holds_pointers: is_data && kept,
                });
            }
        }
        if total > (self.bytes.len() as u64).saturating_add(1 << 20) {
            return Err(Error::at(0, "the sections together hold more than the file"));
        }
        Ok(AddressMap::new(segments))
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
