//! Do the tables of a device's ELF file lead where they should?
//!
//! Drivers trust them: where one leads elsewhere, some refuse the code, and some end with the program.

use crate::bytes;
use crate::container::device_elf::{DeviceElf, Section};

/// Bytes of the header of a file, and of that of a section.
pub(super) const HEADER: u64 = 64;
/// Kinds of sections.
pub(super) const SYMTAB: u32 = 2;
pub(super) const STRTAB: u32 = 3;
/// Bytes of a symbol, and of a relocation with its addend.
pub(super) const ENTRY: u64 = 24;
/// Sections that are none: of values, and of memory for all files in common.
pub(super) const ABSOLUTE: u16 = 0xfff1;
pub(super) const COMMON: u16 = 0xfff2;

/// Returns a section by its number.
pub(super) fn section<'e, 'a>(elf: &'e DeviceElf<'a>, index: u64) -> Option<&'e Section<'a>> {
    elf.sections.get(usize::try_from(index).ok()?)
}

/// Whether a name begins within a table of names, which ends with a NUL.
pub(super) fn is_within(name: Option<u32>, table: &[u8]) -> bool {
    name.and_then(|name| table.get(usize::try_from(name).ok()?..)).is_some_and(|rest| rest.last() == Some(&0))
}

/// Returns the headers of the sections.
pub(super) fn headers<'a>(data: &'a [u8], elf: &DeviceElf<'_>) -> impl Iterator<Item = &'a [u8]> {
    let start = bytes::u64_at(data, 40).and_then(|start| usize::try_from(start).ok()).unwrap_or(data.len());
    data.get(start..).unwrap_or_default().chunks(HEADER as usize).take(elf.sections.len())
}

/// Tells where the headers of the file and of its sections are not of the size that they have in all 64-bit files.
pub(super) fn sizes(data: &[u8]) -> Option<String> {
    let [header, entry] = [52, 58].map(|at| bytes::u16_at(data, at).map_or(0, u64::from));
    let what = || format!("its headers are said to be {header} and {entry} bytes long, and are {HEADER}");
    (header != HEADER || entry != HEADER).then(what)
}

/// Tells where the names of sections are not within the table of names.
pub(super) fn names(data: &[u8], elf: &DeviceElf<'_>) -> Option<String> {
    let index = bytes::u16_at(data, 62).unwrap_or(0);
    let table = section(elf, index.into()).filter(|table| table.kind == STRTAB);
    let Some(table) = table else { return Some(format!("section {index} has no names of sections")) };
    let place = headers(data, elf).position(|header| !is_within(bytes::u32_at(header, 0), table.data));
    place.map(|index| format!("the name of section {index} is beyond all names"))
}

/// Tells which sections share bytes with others, or with the header. Two may have the same bytes: NVIDIA's tools do not write the text
/// of PTX once more.
pub(super) fn shared(elf: &DeviceElf<'_>) -> Option<String> {
    let with_bytes = elf.sections.iter().skip(1).filter(|section| !section.data.is_empty());
    let mut places: Vec<_> = with_bytes.map(|section| (section.offset, section.size, section.name)).collect();
    places.sort_unstable();
    places.dedup_by_key(|(offset, size, _)| (*offset, *size));
    let mut end = HEADER;
    for (offset, size, name) in places {
        if offset < end {
            return Some(format!("section `{name}` shares bytes with another"));
        }
        end = offset.saturating_add(size);
    }
    None
}

/// Returns the one table of symbols, and the names that belong to it.
pub(super) fn table<'e, 'a>(elf: &'e DeviceElf<'a>) -> Option<(&'e Section<'a>, &'e Section<'a>)> {
    let mut tables = elf.sections.iter().filter(|section| section.kind == SYMTAB);
    let (table, None) = (tables.next()?, tables.next()) else { return None };
    let is_whole = table.entry == ENTRY && table.size.is_multiple_of(ENTRY);
    let names = section(elf, table.link.into()).filter(|names| is_whole && names.kind == STRTAB)?;
    Some((table, names))
}
