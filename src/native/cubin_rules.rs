//! Which cubin does NVIDIA's driver refuse, or end at?
//!
//! The rules are of what `ptxas` and `nvlink` write. Driver 13.0 on an H200 was given 1,539 cubins with one byte changed: it refused
//! or ended at each that breaks one.

use super::cubin::read_attributes;
use super::elf_form::{self, ABSOLUTE, COMMON, is_within, section, table};
use crate::bytes;
use crate::container::device_elf::{DeviceElf, Section};

/// `EI_OSABI` up to ABI version 7, and since.
const OS_ABI: [u8; 2] = [0x33, 0x41];
/// `sh_type` of notes.
const NOTE: u32 = 7;

/// Tells why the driver may refuse a cubin.
pub(super) fn refused(data: &[u8], elf: &DeviceElf<'_>) -> Option<String> {
    header(elf)
        .or_else(|| elf_form::sizes(data))
        .or_else(|| elf_form::names(data, elf))
        .or_else(|| elf_form::shared(elf))
        .or_else(|| sections(data, elf))
        .or_else(|| symbols(elf))
}

/// The words of the header that say which driver the code is for.
fn header(elf: &DeviceElf<'_>) -> Option<String> {
    let flags = elf.flags.to_le_bytes();
    let [old, new] = OS_ABI;
    let is_known = match (elf.abi_version, flags) {
        // The architecture; textures as one or apart, 64 bits; features of one GPU; the architecture of the PTX.
        (7, [_, first, _, 0]) => elf.os_abi == old && matches!(first & !8, 4..=6),
        (8, [first, _, 0, _]) => elf.os_abi == new && matches!(first & !8, 2 | 4),
        _ => false,
    };
    let what = || format!("OS ABI {:#x}, ABI version {} and flags {:#x}", elf.os_abi, elf.abi_version, elf.flags);
    (!is_known).then(what)
}

/// The first section is empty, others are aligned, and notes and attributes are whole.
fn sections(data: &[u8], elf: &DeviceElf<'_>) -> Option<String> {
    for (index, (header, section)) in elf_form::headers(data, elf).zip(&elf.sections).enumerate() {
        let alignment = bytes::u64_at(header, 48).unwrap_or(0);
        let is_sound = match index {
            0 => header.iter().all(|byte| *byte == 0),
            _ => alignment.is_power_of_two() || alignment == 0,
        };
        let is_whole = match section.kind {
            NOTE => has_whole_notes(section),
            _ if section.name.starts_with(".nv.info") => read_attributes(section.data).1,
            _ => true,
        };
        if !is_sound || !is_whole {
            return Some(format!("section {index} (`{}`) is not as NVIDIA's tools write it", section.name));
        }
    }
    None
}

/// Whether a section has notes up to its end.
fn has_whole_notes(section: &Section<'_>) -> bool {
    let end = DeviceElf::notes(section).last().map_or(section.offset, |note| note.end());
    section.offset.checked_add(section.data.len() as u64) == Some(end)
}

/// Symbols have names and sections that there are.
fn symbols(elf: &DeviceElf<'_>) -> Option<String> {
    let Some((symbols, names)) = table(elf) else { return Some("the code has no table of symbols".to_owned()) };
    let count = symbols.size / elf_form::ENTRY;
    if u64::from(symbols.info) > count {
        return Some(format!("{} of {count} symbols are said to be local", symbols.info));
    }
    for (index, symbol) in symbols.data.chunks_exact(elf_form::ENTRY as usize).enumerate() {
        let place = bytes::u16_at(symbol, 6).unwrap_or(0);
        let is_sound = matches!(place, ABSOLUTE | COMMON) || section(elf, place.into()).is_some();
        if !is_sound || !is_within(bytes::u32_at(symbol, 0), names.data) {
            return Some(format!("symbol {index} has no name, or is in no section"));
        }
    }
    None
}
