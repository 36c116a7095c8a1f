//! Which zebin does Intel's driver refuse, before it reads what describes the kernels?
//!
//! The rules are those of `zebin_decoder.cpp`, `elf_decoder.cpp` and `linker.cpp` in intel/compute-runtime, which go by the types of
//! sections first, by names second, and drop the whole binary at the first thing that is none of theirs.

use super::ze_rules;
use crate::bytes;
use crate::container::device_elf::{DeviceElf, Note, Section};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

const SHT_NULL: u32 = 0;
const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_RELA: u32 = 4;
const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHT_REL: u32 = 9;
pub(super) const SHT_SPIRV: u32 = 0xff00_0009;
pub(super) const SHT_ZE_INFO: u32 = 0xff00_0011;
const SHT_GTPIN_INFO: u32 = 0xff00_0012;
const SHT_VISA_ASM: u32 = 0xff00_0013;
pub(super) const SHT_MISC: u32 = 0xff00_0014;
const SHT_PISA: u32 = 0xff00_0015;

/// Section of the notes on the device.
pub(super) const COMPAT: &str = ".note.intelgt.compat";
pub(super) const PRODUCT_FAMILY: u32 = 1;
pub(super) const GFX_CORE: u32 = 2;
pub(super) const TARGET: u32 = 3;
pub(super) const ZEBIN_VERSION: u32 = 4;
pub(super) const PRODUCT_CONFIG: u32 = 6;
/// Notes of which drivers read a number.
const NUMBERS: [u32; 6] = [PRODUCT_FAMILY, GFX_CORE, TARGET, PRODUCT_CONFIG, 7, 8];

/// `st_info` of functions that others may call.
const GLOBAL_FUNCTION: u8 = 0x12;
/// `R_ZE_SYM_ADDR`: the address of a symbol.
const R_ZE_SYM_ADDR: u64 = 1;
/// Types of relocations that drivers apply to code; at another one they end.
const RELOCATIONS_OF_CODE: [u64; 5] = [1, 2, 3, 4, 7];
/// `ET_REL` and `ET_ZEBIN_EXE`.
const TYPES: [u16; 2] = [1, 0xff12];

/// Checks the header and the sections.
///
/// # Errors
/// `Input` for the first thing for which drivers refuse the code, with its offset.
pub(super) fn form(data: &[u8], elf: &DeviceElf<'_>) -> Result<()> {
    if !TYPES.contains(&elf.kind) {
        return Err(Error::at(16, format!("its ELF type is {:#x}, and drivers take 0x1 and 0xff12", elf.kind)));
    }
    DeviceElf::segments(data)?;
    let mut seen = HashSet::new();
    for section in &elf.sections {
        let wrong = |message: String| Error::at(section.offset, format!("section `{}` {message}", section.name));
        // Drivers look at those without a type, too.
        if section.kind == SHT_NULL && section.offset.saturating_add(section.size) > data.len() as u64 {
            return Err(wrong(format!("at {:#x}, {} bytes, passes the end", section.offset, section.size)));
        }
        let single = match section.kind {
            SHT_PROGBITS => code_or_data(section)
                .ok_or_else(|| wrong("has no name of code or data that drivers know".to_owned()))?,
            SHT_ZE_INFO => Some(".ze_info"),
            SHT_SYMTAB => Some(".symtab"),
            SHT_SPIRV => Some(".spv"),
            SHT_PISA => Some(".pisa"),
            SHT_NOTE => Some(section.name).filter(|name| *name == COMPAT),
            SHT_MISC => Some(section.name)
                .filter(|name| matches!(*name, ".misc.specConstantsIds" | ".misc.specConstantsValues")),
            SHT_NOBITS => Some(section.name).filter(|name| matches!(*name, ".bss.const" | ".bss.global")),
            SHT_NULL | SHT_STRTAB | SHT_RELA | SHT_REL | SHT_GTPIN_INFO | SHT_VISA_ASM => None,
            kind => return Err(wrong(format!("is of type {kind:#x}, which drivers do not know"))),
        };
        if single.is_some_and(|single| !seen.insert(single)) {
            return Err(wrong("is the second of its kind, and drivers take one".to_owned()));
        }
        let entry = match section.kind {
            SHT_SYMTAB | SHT_RELA => 24,
            SHT_REL => 16,
            _ => continue,
        };
        if section.entry != entry {
            return Err(wrong(format!("has entries of {} bytes, and not of {entry}", section.entry)));
        }
        // Drivers look for names of symbols among those of sections, and end where one is not there.
        let names = bytes::u16_at(data, 62).and_then(|names| elf.sections.get(usize::from(names)));
        let names = names.map_or(0, |names| names.data.len() as u64);
        let mut symbols = section.data.chunks_exact(24).filter(|_| section.kind == SHT_SYMTAB);
        if symbols.any(|symbol| bytes::u32_at(symbol, 0).is_some_and(|name| u64::from(name) >= names)) {
            return Err(wrong("has a symbol whose name is outside of the names".to_owned()));
        }
    }
    Ok(())
}

/// The kind of a section of code or data of which there may be but one; none where drivers do not know the section.
fn code_or_data<'a>(section: &Section<'a>) -> Option<Option<&'a str>> {
    match section.name {
        ".text" => Some(Some(".text").filter(|_| !section.data.is_empty())),
        ".data.const" | ".data.global_const" => Some(Some(".data.const")),
        ".data.global" => Some(Some(".data.global")),
        ".data.const.string" => Some(Some(".data.const.string")),
        name if name.starts_with(".text.") || name.starts_with(".debug_") => Some(None),
        _ => None,
    }
}

/// Returns the notes on the device that drivers read.
///
/// # Errors
/// `Input` where one passes the end of the section, or has no number where drivers read one: then they drop all.
pub(super) fn notes<'a>(elf: &DeviceElf<'a>) -> Result<Vec<Note<'a>>> {
    let is_compat = |section: &&Section<'_>| section.kind == SHT_NOTE && section.name == COMPAT;
    let Some(section) = elf.sections.iter().find(is_compat) else { return Ok(Vec::new()) };
    let (mut notes, mut read) = (Vec::new(), 0);
    for note in DeviceElf::notes(section) {
        read = note.end();
        let is_text = note.kind == ZEBIN_VERSION;
        let wrong = |what: &str| Error::at(note.offset, format!("{COMPAT}: note {} {what}", note.kind));
        // Drivers do not look at the last byte of the name.
        let is_own = note.owner_size == 8 && note.owner.starts_with(b"IntelGT");
        // Drivers end where they tell of an owner without an end, or look for the end of an empty text.
        if !is_own && note.owner_size > 0 && note.owner_size == note.owner.len() && !note.owner.contains(&0) {
            return Err(wrong("is of an owner whose name has no end"));
        }
        if !is_own || is_text && note.data.last().is_some_and(|last| *last != 0) {
            continue;
        }
        if is_text && note.data.is_empty() {
            return Err(wrong("is an empty version"));
        }
        if NUMBERS.contains(&note.kind) && note.data.len() < 4 {
            return Err(wrong(&format!("has {} bytes, and no number", note.data.len())));
        }
        notes.push(note);
    }
    let (start, end) = (read.max(section.offset), section.offset.saturating_add(section.data.len() as u64));
    if start == end {
        return Ok(notes);
    }
    Err(Error::at(start, format!("{COMPAT}: a note passes the end of its section, and drivers read none")))
}

/// The steppings that code is limited to, by what its target metadata or the flags of its header say.
pub(super) fn steppings(target: u32) -> Option<(u32, u32)> {
    // Devices may have greater ones than are told here: a Data Center GPU Max has 47.
    (target >> 13 & 1 == 1).then_some((target >> 8 & 31, target >> 16 & 31))
}

/// Checks that each of some kernels has code, and that nothing is to be linked to what is none.
///
/// # Errors
/// `Input` for the first one.
pub(super) fn code<'n>(elf: &DeviceElf<'_>, names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut code: HashMap<&str, bool> = HashMap::new();
    let mut own = None;
    for section in elf.sections.iter().filter(|section| section.kind == SHT_PROGBITS) {
        match section.name.strip_prefix(".text.") {
            Some(name) => _ = code.entry(name).or_insert(!section.data.is_empty()),
            None if section.name == ".text" && !section.data.is_empty() => own = Some(ze_rules::FUNCTIONS),
            None => {}
        }
    }
    let mut listed = HashSet::new();
    if let Some(name) = own {
        code.entry(name).or_insert(true);
        listed.insert(name);
    }
    for name in names {
        listed.insert(name);
        let missing = match code.get(name) {
            Some(true) => continue,
            Some(false) => format!("section `.text.{name}` is empty"),
            None => format!("there is no section `.text.{name}`"),
        };
        return Err(Error::at(40, format!("{missing}: drivers find no code of the kernel")));
    }
    linked(elf, &listed)
}

/// The error where a kernel is passed data that there are not, for which drivers end.
pub(super) fn data(elf: &DeviceElf<'_>, of: &str) -> Option<Error> {
    let names: &[&str] = if of == "const_base" {
        &[".data.const", ".data.global_const", ".bss.const"]
    } else {
        &[".data.global", ".bss.global"]
    };
    let is_one = |section: &Section<'_>| names.contains(&section.name) && section.size > 0 && is_loaded(section);
    let has_data = elf.sections.iter().any(is_one);
    (!has_data).then(|| Error::at(40, format!("a kernel is passed `{of}`, and there are no such data")))
}

/// Whether a section is of code or data, by which drivers go.
fn is_loaded(section: &Section<'_>) -> bool {
    matches!(section.kind, SHT_PROGBITS | SHT_NOBITS)
}

/// Checks what the driver links: code of the listed kernels alone, by symbols that there are, and global functions in one section.
fn linked(elf: &DeviceElf<'_>, listed: &HashSet<&str>) -> Result<()> {
    let table = elf.sections.iter().find(|section| section.kind == SHT_SYMTAB);
    let entries = table.map_or(&[][..], |table| table.data).chunks_exact(24);
    let count = entries.len() as u64;
    // The first section stands for none: such symbols are others'.
    let section_of = |symbol: &[u8]| {
        let place = bytes::u16_at(symbol, 6).filter(|place| *place != 0)?;
        elf.sections.get(usize::from(place))
    };
    for section in elf.sections.iter().filter(|section| matches!(section.kind, SHT_REL | SHT_RELA)) {
        let wrong = |message: String| Error::at(section.offset, format!("section `{}` {message}", section.name));
        let size = if section.kind == SHT_REL { 16 } else { 24 };
        let mut relocations = section.data.chunks_exact(size).peekable();
        let target = usize::try_from(section.info).ok().and_then(|info| elf.sections.get(info));
        let changed = target.and_then(code_of).filter(|name| !listed.contains(name));
        if let (Some(name), Some(_)) = (changed, relocations.peek()) {
            return Err(wrong(format!("changes the code of `{name}`, which is no kernel")));
        }
        // The lower half is the type.
        let kind = |entry: &[u8]| bytes::u64_at(entry, 8).map(|info| info & 0xffff_ffff);
        let is_code = target.and_then(code_of).is_some();
        let unknown = |kind: &u64| is_code && !RELOCATIONS_OF_CODE.contains(kind);
        if let Some(kind) = relocations.clone().filter_map(kind).find(unknown) {
            return Err(wrong(format!("has a relocation of type {kind}, at which drivers end")));
        }
        // An address is of 64 bits, parts of one are of 32.
        let beyond = |entry: &[u8]| {
            let (place, info) = (bytes::u64_at(entry, 0)?, bytes::u64_at(entry, 8)?);
            let end = place.saturating_add(if info & 0xffff_ffff == R_ZE_SYM_ADDR { 8 } else { 4 });
            target.filter(|target| target.kind == SHT_PROGBITS && end > target.size).map(|_| place)
        };
        if let Some(place) = relocations.clone().find_map(beyond) {
            return Err(wrong(format!("changes what is at {place:#x}, beyond the section that it is for")));
        }
        // The upper half is the symbol.
        let symbol = |entry: &[u8]| bytes::u64_at(entry, 8).map(|info| info >> 32);
        if relocations.clone().filter_map(symbol).any(|symbol| symbol >= count) {
            return Err(wrong(format!("refers to more than the {count} symbols that there are")));
        }
        // A symbol of a section is an object (1) or a function (2); of others drivers say that they are not there.
        let is_lost = |entry: &[u8]| {
            let symbol = entries.clone().nth(usize::try_from(symbol(entry)?).ok()?)?;
            let (kind, place) = (symbol.get(4)? & 15, usize::from(bytes::u16_at(symbol, 6)?));
            Some(place != 0 && (!matches!(kind, 1 | 2) || elf.sections.get(place).is_none()))
        };
        if is_code && relocations.clone().any(|entry| is_lost(entry) == Some(true)) {
            return Err(wrong("refers to a symbol that is no object and no function of a section".to_owned()));
        }
        let of_symbol = |entry: &[u8]| section_of(entries.clone().nth(usize::try_from(symbol(entry)?).ok()?)?);
        if let Some(gone) = relocations.filter_map(of_symbol).find(|section| !is_loaded(section)) {
            return Err(wrong(format!("refers to a symbol of section `{}`, which is no code and no data", gone.name)));
        }
    }
    // Zeros stand behind the other data in memory.
    let [constants, globals] =
        [".bss.const", ".bss.global"].map(|name| elf.section(name).map_or(0, |zeros| zeros.size));
    let room = |section: &Section<'_>| {
        section.size.saturating_add(match section.name {
            ".data.const" | ".data.global_const" => constants,
            ".data.global" => globals,
            _ => 0,
        })
    };
    for symbol in entries.clone() {
        let end = bytes::u64_at(symbol, 8).unwrap_or(0).saturating_add(bytes::u64_at(symbol, 16).unwrap_or(0));
        if let Some(section) = section_of(symbol).filter(|section| is_loaded(section) && end > room(section)) {
            let offset = table.map_or(0, |table| table.offset);
            return Err(Error::at(offset, format!("a symbol passes the end of section `{}`", section.name)));
        }
    }
    let mut exporting = listed.contains(ze_rules::FUNCTIONS).then_some(ze_rules::FUNCTIONS);
    for symbol in entries.filter(|symbol| symbol.get(4) == Some(&GLOBAL_FUNCTION)) {
        let Some(name) = section_of(symbol).and_then(code_of) else { continue };
        if !listed.contains(name) || *exporting.get_or_insert(name) != name {
            let offset = table.map_or(0, |table| table.offset);
            return Err(Error::at(offset, format!("a function that others may call is in the code of `{name}`")));
        }
    }
    Ok(())
}

/// The name by which the driver knows the code of a section, where it is such.
fn code_of<'a>(section: &Section<'a>) -> Option<&'a str> {
    if section.name.starts_with(".text") {
        Some(section.name.strip_prefix(".text.").unwrap_or(ze_rules::FUNCTIONS))
    } else {
        None
    }
}
