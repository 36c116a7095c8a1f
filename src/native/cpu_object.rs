//! Is an object file for CPUs one that Intel's driver links without harm?
//!
//! The driver hands the object in its container to LLVM's loader (`RuntimeDyld`), which trusts it: where a table, a symbol or a
//! relocation leads elsewhere, the program ends with it. The rules are of what LLVM writes; each breach of one was seen to have the
//! driver of 2026 refuse the program or end.

use super::elf_form::{self, ABSOLUTE, COMMON, ENTRY, STRTAB, SYMTAB, is_within, section, table};
use crate::bytes;
use crate::container::device_elf::DeviceElf;

/// Kinds of sections that LLVM writes for x86-64.
mod kind {
    pub(super) const NULL: u32 = 0;
    pub(super) const PROGBITS: u32 = 1;
    pub(super) const RELA: u32 = 4;
    pub(super) const NOBITS: u32 = 8;
    pub(super) const UNWIND: u32 = 0x7000_0001;
}
/// Flags of sections: that they are loaded, are code, and any that the loader takes: also to be written, merged, of strings, with
/// the number of a section, of the large code model.
const ALLOC: u64 = 2;
const CODE: u64 = 4;
const FLAGS: u64 = ALLOC | CODE | 1 | 0x10 | 0x20 | 0x40 | 0x1000_0000;
/// Bytes of a section or of common memory that a program for CPUs may ask for: more would end the loader, which takes them at once.
const MOST_BYTES: u64 = 1 << 30;
/// Types of relocations that the loader applies, each with the bytes that it changes: `R_X86_64_64`, `PC32`, `PLT32`, `GOTPCREL`,
/// `32`, `32S`, `PC64`, `GOTPCRELX`, `REX_GOTPCRELX`.
const RELOCATIONS: [(u32, u64); 9] = [(1, 8), (2, 4), (4, 4), (9, 4), (10, 4), (11, 4), (24, 8), (41, 4), (42, 4)];

/// Tells why the driver may refuse an object, or end at it.
pub(super) fn refused(object: &[u8], elf: &DeviceElf<'_>) -> Option<String> {
    elf_form::sizes(object)
        .or_else(|| elf_form::names(object, elf))
        .or_else(|| layout(elf))
        .or_else(|| elf_form::shared(elf))
        .or_else(|| symbols(elf))
        .or_else(|| relocations(elf))
}

/// Sections are of known kinds and flags.
fn layout(elf: &DeviceElf<'_>) -> Option<String> {
    for (index, section) in elf.sections.iter().enumerate() {
        let is_known = match section.kind {
            kind::NULL => index == 0,
            kind::PROGBITS | STRTAB | kind::NOBITS | kind::UNWIND => index > 0,
            SYMTAB | kind::RELA => section.entry == ENTRY && section.size.is_multiple_of(ENTRY),
            _ => false,
        };
        if !is_known {
            return Some(format!("section `{}` of the object is of kind {:#x}", section.name, section.kind));
        }
        if section.size > MOST_BYTES {
            return Some(format!("section `{}` of the object has {} bytes", section.name, section.size));
        }
        if index > 0 && section.flags & !FLAGS != 0 {
            return Some(format!("section `{}` of the object has flags {:#x}", section.name, section.flags));
        }
    }
    None
}

/// Symbols are in sections that there are, and functions in code.
fn symbols(elf: &DeviceElf<'_>) -> Option<String> {
    /// `STT_FUNC`.
    const FUNCTION: u8 = 2;
    /// `STT_SECTION`.
    const SECTION: u8 = 3;
    let Some((table, names)) = table(elf) else { return Some("the object has no table of symbols".to_owned()) };
    for (index, symbol) in table.data.chunks_exact(ENTRY as usize).enumerate().skip(1) {
        let long = |at| bytes::u64_at(symbol, at).unwrap_or(0);
        let place = bytes::u16_at(symbol, 6).unwrap_or(0);
        let info = symbol.get(4).copied().unwrap_or(0);
        let end = long(8).saturating_add(long(16));
        let own = section(elf, place.into());
        let is_sound = match (place, own) {
            (ABSOLUTE, _) => true,
            (COMMON, _) => long(16) <= MOST_BYTES,
            // Symbols of others have names.
            (0, _) => info & 0xf != SECTION && bytes::u32_at(symbol, 0) != Some(0),
            (_, Some(own)) if info & 0xf == FUNCTION => {
                own.kind == kind::PROGBITS && own.flags & (ALLOC | CODE) == ALLOC | CODE && end <= own.size
            }
            (_, Some(own)) => long(8) <= own.size,
            (_, None) => false,
        };
        if !is_sound || !is_within(bytes::u32_at(symbol, 0), names.data) {
            return Some(format!("symbol {index} of the object has no name, or is not in its section"));
        }
    }
    None
}

/// Relocations are of types that the loader applies, by symbols that there are, within loaded sections.
fn relocations(elf: &DeviceElf<'_>) -> Option<String> {
    let (table, _) = table(elf)?;
    let count = table.size / ENTRY;
    for list in elf.sections.iter().filter(|section| section.kind == kind::RELA) {
        let target = section(elf, list.info.into()).filter(|_| list.info > 0);
        let is_of_table = section(elf, list.link.into()).is_some_and(|own| own.kind == SYMTAB);
        let Some(target) = target.filter(|_| is_of_table) else {
            return Some(format!("relocations `{}` of the object are of no section", list.name));
        };
        // The loader passes over what is for debuggers.
        if target.flags & ALLOC == 0 {
            continue;
        }
        for relocation in list.data.chunks_exact(ENTRY as usize) {
            let offset = bytes::u64_at(relocation, 0).unwrap_or(u64::MAX);
            let own = bytes::u32_at(relocation, 8).unwrap_or(0);
            let symbol = bytes::u32_at(relocation, 12).map_or(u64::MAX, u64::from);
            let size = RELOCATIONS.iter().find(|(known, _)| *known == own).map(|(_, size)| *size);
            let is_sound =
                size.is_some_and(|size| offset.saturating_add(size) <= target.data.len() as u64) && symbol < count;
            if !is_sound {
                return Some(format!(
                    "a relocation of the object, of type {own} at {offset:#x} of `{}` by symbol {symbol}, leads beyond it",
                    target.name
                ));
            }
        }
    }
    None
}
