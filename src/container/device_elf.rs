//! Which sections, symbols and notes does an ELF file of a device have?
//!
//! Device compilers use ELF files with types, machines and section kinds of their own, and not all follow the rules of
//! hosts: a section may be of any kind, a "note" section may hold no notes, and the symbol table may be absent. So this
//! reader reads only the header, the section table and what it refers to, in 64-bit little-endian files.

use super::address::end_of_string;
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;

/// `e_machine` of Intel GPUs.
pub(crate) const EM_INTELGT: u16 = 205;
/// `e_machine` of NVIDIA GPUs.
pub(crate) const EM_CUDA: u16 = 190;
/// `e_machine` of AMD GPUs.
pub(crate) const EM_AMDGPU: u16 = 224;
/// `e_machine` of x86-64.
pub(crate) const EM_X86_64: u16 = 62;
/// `sh_type` of SPIR-V in a container of Intel's GPU drivers, which is yet to be compiled.
pub(crate) const SHT_OPENCL_SPIRV: u32 = 0xff00_0009;
/// `sh_type` of sections without bytes in the file.
const SHT_NOBITS: u32 = 8;
/// Types of sections that NVIDIA's tools write for memory that is not initialised: global, local, shared, and what the
/// driver reserves of shared memory. Like those of `SHT_NOBITS` they have no bytes in the file, and in code that nvlink linked
/// their sizes pass its end.
const SHT_CUDA_NOBITS: [u32; 4] = [0x7000_0007, 0x7000_0009, 0x7000_000a, 0x7000_0015];

/// Bytes of a program header.
const PROGRAM_HEADER: usize = 56;

/// Factor by which the sections together may exceed the file: compilers share no bytes among them.
pub(crate) const SECTIONS_RATIO: usize = 4;

/// Section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'a> {
    /// Name; empty where it is not UTF-8.
    pub(crate) name: &'a str,
    /// `sh_type`.
    pub(crate) kind: u32,
    /// `sh_flags`.
    pub(crate) flags: u64,
    /// File offset of its bytes.
    pub(crate) offset: u64,
    /// Size in memory, in bytes.
    pub(crate) size: u64,
    /// Bytes in the file; empty where it has none there.
    pub(crate) data: &'a [u8],
    /// `sh_link`: for a symbol table the section of its names.
    pub(crate) link: u32,
    /// `sh_info`: for relocations the section that they change.
    pub(crate) info: u32,
    /// `sh_entsize`: bytes of each entry of a table.
    pub(crate) entry: u64,
}

/// Symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symbol<'a> {
    /// Name; empty where it is not UTF-8.
    pub(crate) name: &'a str,
    /// `st_info`: binding in the upper half, type in the lower.
    pub(crate) info: u8,
    /// `st_other`.
    pub(crate) other: u8,
    /// `st_shndx`: 0 where it is defined in another file.
    pub(crate) section: u16,
}

impl Symbol<'_> {
    /// Whether the symbol is of something that the file needs and does not have.
    pub(crate) fn is_undefined(&self) -> bool {
        self.section == 0 && !self.name.is_empty()
    }

    /// Whether the symbol is a global function that is defined in this file.
    pub(crate) fn is_global_function(&self) -> bool {
        self.info == 0x12 && self.section != 0
    }
}

/// Returns the names of the first global symbols that code needs and does not have, but for those that its driver defines.
pub(crate) fn undefined(symbols: &[Symbol<'_>], of_driver: &[&str]) -> Vec<String> {
    let open = symbols.iter().filter(|symbol| symbol.is_undefined() && symbol.info >> 4 != 0);
    let names = open.map(|symbol| symbol.name).filter(|name| !of_driver.contains(name));
    names.map(str::to_owned).take(limits::MAX_UNDEFINED).collect()
}

/// Note.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note<'a> {
    /// Name of the owner, without the NUL.
    pub(crate) owner: &'a [u8],
    /// Bytes of the name, with the NUL.
    pub(crate) owner_size: usize,
    /// `n_type`.
    pub(crate) kind: u32,
    /// Description.
    pub(crate) data: &'a [u8],
    /// File offset of the description.
    pub(crate) offset: u64,
}

impl Note<'_> {
    /// Returns the file offset behind the note and its padding.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add((self.data.len() as u64).next_multiple_of(4))
    }
}

/// Segment: what a program header describes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    /// `p_type`.
    pub(crate) kind: u32,
    /// File offset of its bytes.
    pub(crate) offset: u64,
    /// Bytes in the file.
    pub(crate) data: &'a [u8],
    /// `p_align`.
    pub(crate) align: u64,
}

/// ELF file of a device.
#[derive(Debug)]
pub(crate) struct DeviceElf<'a> {
    /// `e_ident[EI_OSABI]`.
    pub(crate) os_abi: u8,
    /// `e_ident[EI_ABIVERSION]`.
    pub(crate) abi_version: u8,
    /// `e_type`.
    pub(crate) kind: u16,
    /// `e_machine`.
    pub(crate) machine: u16,
    /// `e_flags`.
    pub(crate) flags: u32,
    /// Sections, including the empty first one, since symbols refer to them by number.
    pub(crate) sections: Vec<Section<'a>>,
}

impl<'a> DeviceElf<'a> {
    /// Reads the header and the sections. Offsets in errors count from the start of the bytes.
    ///
    /// # Errors
    /// `Input` for other than 64-bit little-endian files, and where the section table or a section passes the end.
    pub(crate) fn parse(data: &'a [u8]) -> Result<DeviceElf<'a>> {
        if data.get(..6) != Some(b"\x7fELF\x02\x01") {
            return Err(Error::at(4, "not a 64-bit little-endian ELF file"));
        }
        let cut = || Error::at(data.len() as u64, "the ELF header is cut short");
        let half = |at| bytes::u16_at(data, at).ok_or_else(cut);
        let (count, names) = (usize::from(half(60)?), usize::from(half(62)?));
        let (kind, machine, entry) = (half(16)?, half(18)?, usize::from(half(58)?));
        let flags = bytes::u32_at(data, 48).ok_or_else(cut)?;
        let table = bytes::u64_at(data, 40).ok_or_else(cut)?;
        let [os_abi, abi_version] = [7, 8].map(|at| data.get(at).copied().unwrap_or(0));
        let mut elf = DeviceElf { os_abi, abi_version, kind, machine, flags, sections: Vec::new() };
        if count == 0 {
            return Ok(elf);
        }
        let beyond = || Error::at(40, format!("{count} section headers at {table:#x} pass the end"));
        let start = usize::try_from(table).ok().filter(|_| entry >= 64).ok_or_else(beyond)?;
        let headers = bytes::slice_at(data, start, entry.checked_mul(count).ok_or_else(beyond)?).ok_or_else(beyond)?;
        let header = |index: usize| headers.get(index.checked_mul(entry)?..);
        let strings = header(names).and_then(|header| section_bytes(data, header)).unwrap_or_default();
        let mut names = Names { table: strings, left: limits::MAX_STRING_BYTES };
        // Of a valid file no two sections share bytes; what a note or a kernel costs must not be paid for each of thousands.
        let mut room = data.len().saturating_mul(SECTIONS_RATIO);
        for index in 0..count {
            let header = header(index).unwrap_or_default();
            let word = |at| bytes::u32_at(header, at).unwrap_or(0);
            let long = |at| bytes::u64_at(header, at).unwrap_or(0);
            let (name, kind, offset, size) = (word(0), word(4), long(24), long(32));
            // Intel's driver ends where it looks for one.
            if machine == EM_INTELGT && name as usize >= strings.len().max(1) {
                return Err(Error::at(table, format!("the name of a section is at {name:#x}, beyond all names")));
            }
            let name = names.get(name).ok_or_else(|| {
                Error::at(table, "the names of the sections come to more than the file; they overlap")
            })?;
            let is_empty = kind == SHT_NOBITS || machine == EM_CUDA && SHT_CUDA_NOBITS.contains(&kind);
            let bytes = match section_bytes(data, header) {
                _ if is_empty => &[],
                Some(bytes) => bytes,
                None if index == 0 => &[],
                None => {
                    let place = start.saturating_add(index.saturating_mul(entry)) as u64;
                    return Err(Error::at(
                        place,
                        format!("section `{name}` at {offset:#x}, {size} bytes, passes the end"),
                    ));
                }
            };
            room = room.checked_sub(bytes.len()).ok_or_else(|| {
                Error::at(table, "the sections come to many times the size of the file; they overlap")
            })?;
            let (link, info, flags, entry) = (word(40), word(44), long(8), long(56));
            elf.sections.push(Section { name, kind, offset, size, data: bytes, link, flags, info, entry });
        }
        Ok(elf)
    }

    /// Returns the first section of a name.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Returns the symbols of the symbol table (`sh_type` 2), in order; the first one is empty.
    ///
    /// # Errors
    /// `Input` where their names have many times the size of the file.
    pub(crate) fn symbols(&self) -> Result<Vec<Symbol<'a>>> {
        let Some(table) = self.sections.iter().find(|section| section.kind == 2) else { return Ok(Vec::new()) };
        let names = usize::try_from(table.link).ok().and_then(|link| self.sections.get(link));
        let names = names.map_or(&[][..], |names| names.data);
        let mut names = Names { table: names, left: names.len().saturating_add(limits::MAX_STRING_BYTES) };
        let mut symbols = Vec::new();
        for symbol in table.data.chunks_exact(24) {
            let at = bytes::u32_at(symbol, 0).unwrap_or(0);
            let name = names.get(at).ok_or_else(|| {
                Error::at(table.offset, "the names of the symbols come to more than the file; they overlap")
            })?;
            symbols.push(Symbol {
                name,
                info: symbol.get(4).copied().unwrap_or(0),
                other: symbol.get(5).copied().unwrap_or(0),
                section: bytes::u16_at(symbol, 6).unwrap_or(0),
            });
        }
        Ok(symbols)
    }

    /// Reads the program headers of a file.
    ///
    /// # Errors
    /// `Input` where they, or what they describe, pass the end.
    pub(crate) fn segments(data: &'a [u8]) -> Result<Vec<Segment<'a>>> {
        let half = |at| bytes::u16_at(data, at).map_or(0, usize::from);
        let (start, size, count) = (bytes::u64_at(data, 32).unwrap_or(0), half(54), half(56));
        let beyond =
            || Error::at(32, format!("{count} program headers at {start:#x}, or what they describe, pass the end"));
        if count == 0 {
            // Drivers look for the place, whatever the number.
            return if start > data.len() as u64 { Err(beyond()) } else { Ok(Vec::new()) };
        }
        let table = usize::try_from(start).ok().zip(size.checked_mul(count).filter(|_| size >= PROGRAM_HEADER));
        let table = table.and_then(|(start, size)| bytes::slice_at(data, start, size)).ok_or_else(beyond)?;
        let segment = |header: &[u8]| {
            let long = |at| bytes::u64_at(header, at);
            let (offset, size) = (long(8)?, usize::try_from(long(32)?).ok()?);
            let data = bytes::slice_at(data, usize::try_from(offset).ok()?, size)?;
            Some(Segment { kind: bytes::u32_at(header, 0)?, offset, data, align: long(48)? })
        };
        table.chunks_exact(size).map(|header| segment(header).ok_or_else(beyond)).collect()
    }

    /// Reads the notes of a section, up to the first invalid one.
    pub(crate) fn notes(section: &Section<'a>) -> impl Iterator<Item = Note<'a>> {
        let (section, mut at) = (*section, 0usize);
        std::iter::from_fn(move || {
            let (note, next) = note(&section, at)?;
            at = next;
            Some(note)
        })
    }
}

fn note<'a>(section: &Section<'a>, at: usize) -> Option<(Note<'a>, usize)> {
    let data = section.data;
    let word = |by: usize| bytes::u32_at(data, at.checked_add(by)?);
    let (name, size) = (usize::try_from(word(0)?).ok()?, usize::try_from(word(4)?).ok()?);
    let owner = bytes::slice_at(data, at.checked_add(12)?, name)?;
    let start = at.checked_add(12)?.checked_add(name.checked_next_multiple_of(4)?)?;
    let description = bytes::slice_at(data, start, size)?;
    let next = start.checked_add(size.checked_next_multiple_of(4)?)?;
    let (owner, owner_size) = (owner.strip_suffix(&[0]).unwrap_or(owner), owner.len());
    let note = Note {
        owner,
        owner_size,
        kind: word(8)?,
        data: description,
        offset: section.offset.saturating_add(start as u64),
    };
    Some((note, next))
}

fn section_bytes<'a>(data: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    let (offset, size) = (bytes::u64_at(header, 24)?, bytes::u64_at(header, 32)?);
    bytes::slice_at(data, usize::try_from(offset).ok()?, usize::try_from(size).ok()?)
}

/// Table of names that are read up to a number of bytes in all: thousands may share a long one, or begin where none ends.
struct Names<'a> {
    table: &'a [u8],
    left: usize,
}

impl<'a> Names<'a> {
    /// Returns the name at an offset; empty where it is none, and none where the table was read many times over.
    fn get(&mut self, at: u32) -> Option<&'a str> {
        let tail = usize::try_from(at).ok().and_then(|at| self.table.get(at..)).unwrap_or_default();
        let window = tail.get(..tail.len().min(limits::MAX_STRING)).unwrap_or_default();
        let name = end_of_string(window).and_then(|end| window.get(..end));
        self.left = self.left.checked_sub(name.map_or(window.len(), <[u8]>::len))?;
        Some(name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default())
    }
}

/// Returns the NUL-terminated UTF-8 string at an offset.
pub(crate) fn c_string(data: &[u8], at: u64) -> Option<&str> {
    let tail = data.get(usize::try_from(at).ok()?..)?;
    std::str::from_utf8(tail.get(..end_of_string(tail)?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_end_where_they_are_none() {
        let mut data = Vec::new();
        for word in [8u32, 4, 1] {
            data.extend(word.to_le_bytes());
        }
        data.extend(b"IntelGT\0\x12\0\0\0");
        data.extend([9; 40]);
        let section =
            Section { name: "", kind: 7, flags: 0, offset: 64, size: 0, data: &data, link: 0, info: 0, entry: 0 };
        let notes: Vec<Note<'_>> = DeviceElf::notes(&section).collect();
        assert_eq!(notes.len(), 1);
        assert_eq!(
            (notes[0].owner, notes[0].kind, notes[0].data, notes[0].offset),
            (&b"IntelGT"[..], 1, &[0x12, 0, 0, 0][..], 84)
        );
    }

    #[test]
    fn a_header_alone_has_no_sections() {
        let mut data = b"\x7fELF\x02\x01".to_vec();
        data.resize(64, 0);
        assert!(DeviceElf::parse(&data).unwrap().sections.is_empty());
        assert!(DeviceElf::parse(&data[..50]).is_err());
        // Two section headers of 64 bytes each do not fit.
        data[60] = 2;
        data[58] = 64;
        assert_eq!(DeviceElf::parse(&data).unwrap_err().offset(), Some(40));
    }
}
