//! What is the memory image of an object file whose sections are loaded one after the other?
//!
//! A relocatable file (ELF, COFF, also COFF with more than 65,279 sections) has no addresses yet. Sections get
//! consecutive ones in file order, and relocations of pointers against symbols that the file defines are applied, so that the
//! structures of wrapped images can be walked as in a linked file. Others are not applied: what is read of an image may
//! have none.

use super::address::{AddressMap, Segment};
use super::{OFFLOADING, SHT_OFFLOADING, Section};
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;
use object::{
    BinaryFormat, File, LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, Relocation, RelocationKind,
    RelocationTarget, SectionFlags, SectionIndex, SectionKind, elf, pe,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// Address of the first section; lower addresses, among them null, stay free.
const FIRST: u64 = 0x1_0000;

/// Object file, made addressable.
#[derive(Debug, Default)]
pub(crate) struct ObjectFile<'a> {
    /// Memory image of the sections, relocated.
    pub(crate) addresses: AddressMap<'a>,
    /// All named sections, at their assigned addresses.
    pub(crate) sections: Vec<Section<'a>>,
    /// Whether the wanted symbol is among the undefined symbols.
    pub(crate) refers_to_wanted: bool,
}

/// Limits on the cost of overlapping tables in a hostile file.
struct Budget {
    names: usize,
    relocations: usize,
    copied: usize,
    /// Names without an end: each is looked for up to that of its table.
    unended: usize,
}

/// Reads an object file; `wanted` is a symbol to search for.
///
/// # Errors
/// `Input` for 32-bit and big-endian objects, sections beyond the end of the file, and tables that overlap so that they
/// are larger than the file together.
pub(crate) fn read<'a>(bytes: &'a [u8], wanted: &str) -> Result<ObjectFile<'a>> {
    // Members of import libraries have the first bytes of large COFF objects, but no sections.
    if bytes.starts_with(&[0, 0, 0xff, 0xff]) && bytes::u16_at(bytes, 4).is_some_and(|version| version < 2) {
        return Ok(ObjectFile::default());
    }
    let file = File::parse(bytes).map_err(|error| Error::at(0, format!("object file: {error}")))?;
    // COFF files of other machines than 64-bit ones were not identified as COFF.
    let is_64 = file.is_64() || file.format() == BinaryFormat::Coff;
    if !is_64 || !file.is_little_endian() {
        return Err(Error::at(4, "not a 64-bit little-endian object file; SYCL programs are made of such"));
    }
    let mut budget = Budget {
        names: bytes.len().saturating_add(limits::MAX_STRING_BYTES),
        // The smallest relocation has ten bytes.
        relocations: bytes.len() / 8,
        copied: bytes.len().saturating_add(1 << 20),
        unended: limits::MAX_UNENDED,
    };
    let mut sections = Vec::new();
    let mut bases = HashMap::new();
    let mut next = FIRST;
    for section in file.sections() {
        let (offset, data) = contents(&file, &section, bytes)
            .map_err(|error| Error::at(0, format!("the bytes of section {}: {error}", section.index().0)))?;
        // LLVM goes by the type.
        let is_offloading = matches!(section.flags(), SectionFlags::Elf { sh_type, .. } if sh_type.0 == SHT_OFFLOADING);
        let name = if is_offloading { Some(OFFLOADING.as_bytes()) } else { section.name_bytes().ok() };
        budget.names = take(budget.names, name.map_or(0, <[u8]>::len), offset, "names of sections")?;
        budget.unended = take(budget.unended, usize::from(name.is_none()), offset, "names of sections")?;
        let size = section.size().max(data.len() as u64);
        bases.insert(section.index(), next);
        if let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) {
            sections.push(Section { name, address: next, offset, data });
        }
        next = next
            .checked_add(size)
            .and_then(|end| bytes::align_up(end.checked_add(16)?, 16))
            .ok_or_else(|| Error::at(offset, "the sections take more than the address space"))?;
    }
    let (mut segments, mut open) = (Vec::new(), Vec::new());
    for section in file.sections() {
        let (Ok((offset, data)), Some(&address)) = (contents(&file, &section, bytes), bases.get(&section.index()))
        else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        let mut data = Cow::Borrowed(data);
        let mut holds_pointers = false;
        // A linker puts lists of images from any section that is loaded where the runtime finds them.
        if is_loaded(&section) {
            for (place, relocation) in section.relocations() {
                budget.relocations = take(budget.relocations, 1, offset, "relocations")?;
                // A COFF address counts from the section's address, which is 0 in objects.
                let place = place.wrapping_sub(section.address());
                if section.kind() == SectionKind::Text && relocation.size() != 64 {
                    continue;
                }
                let Some(target) = target(&file, &bases, &relocation) else {
                    open.push(address.wrapping_add(place));
                    continue;
                };
                if !holds_pointers {
                    budget.copied = take(budget.copied, data.len(), offset, "relocated sections")?;
                    holds_pointers = true;
                }
                relocate(data.to_mut(), place, target, &relocation);
            }
        }
        segments.push(Segment { address, offset, data, holds_pointers });
    }
    let refers_to_wanted = refers_to(&file, wanted, budget);
    let mut addresses = AddressMap::new(segments);
    addresses.leave_open(open);
    Ok(ObjectFile { addresses, sections, refers_to_wanted })
}

fn take(left: usize, cost: usize, offset: u64, what: &str) -> Result<usize> {
    left.checked_sub(cost).ok_or_else(|| {
        Error::at(offset, format!("the {what} come to more than the file; tables overlap or are forged"))
    })
}

/// Returns a section's bytes with their offset in the file. COFF sections have some also where they are flagged as
/// uninitialized: LLVM's readers go by the offset.
fn contents<'a>(
    file: &File<'a>,
    section: &object::Section<'a, '_>,
    bytes: &'a [u8],
) -> object::read::Result<(u64, &'a [u8])> {
    let table = match file {
        File::Coff(file) => Some(file.coff_section_table()),
        File::CoffBig(file) => Some(file.coff_section_table()),
        _ => None,
    };
    let header = table.and_then(|table| table.section(section.index()).ok());
    let raw = header.and_then(|header| {
        let (offset, size) = (header.pointer_to_raw_data.get(LittleEndian), header.size_of_raw_data.get(LittleEndian));
        let data = bytes::slice_at(bytes, usize::try_from(offset).ok()?, usize::try_from(size).ok()?)?;
        Some((u64::from(offset), data)).filter(|(offset, _)| *offset > 0)
    });
    match raw {
        Some(raw) => Ok(raw),
        None => Ok((section.file_range().map_or(0, |range| range.0), section.data()?)),
    }
}

/// Whether a section's bytes are in the memory of the program.
fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_ALLOC),
        SectionFlags::Coff { characteristics } => !characteristics.contains(pe::IMAGE_SCN_LNK_REMOVE),
        _ => true,
    }
}

/// Returns the address that a relocation of a pointer refers to, if the file defines it. One of 32 bits has zeros beside it.
fn target(file: &File<'_>, bases: &HashMap<SectionIndex, u64>, relocation: &Relocation) -> Option<u64> {
    if relocation.kind() != RelocationKind::Absolute || ![32, 64].contains(&relocation.size()) {
        return None;
    }
    match relocation.target() {
        RelocationTarget::Symbol(index) => {
            let symbol = file.symbol_by_index(index).ok()?;
            bases.get(&symbol.section_index()?)?.checked_add(symbol.address())
        }
        RelocationTarget::Section(index) => bases.get(&index).copied(),
        _ => None,
    }
}

fn relocate(data: &mut [u8], place: u64, target: u64, relocation: &Relocation) {
    let Ok(place) = usize::try_from(place) else { return };
    let is_short = relocation.size() == 32;
    let in_place = match relocation.has_implicit_addend() {
        true if is_short => bytes::u32_at(data, place).map_or(0, u64::from),
        true => bytes::u64_at(data, place).unwrap_or(0),
        false => 0,
    };
    let value = target.wrapping_add(in_place).wrapping_add_signed(relocation.addend()).to_le_bytes();
    // An address beyond the end is ignored.
    let _ = bytes::put(data, place, if is_short { value.get(..4).unwrap_or_default() } else { &value });
}

/// Whether there is an undefined symbol of a name. The search ends when the names exceed their budget.
fn refers_to(file: &File<'_>, wanted: &str, mut budget: Budget) -> bool {
    for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
        let Ok(name) = symbol.name_bytes() else {
            let Some(left) = budget.unended.checked_sub(1) else { return false };
            budget.unended = left;
            continue;
        };
        if name == wanted.as_bytes() {
            return true;
        }
        let Some(left) = budget.names.checked_sub(name.len()) else { return false };
        budget.names = left;
    }
    false
}
