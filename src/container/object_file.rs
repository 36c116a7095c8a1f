//! What would an object file look like in memory, were its sections loaded one after the other?
//!
//! Nothing in a relocatable file (ELF, COFF, also COFF of more than 65,279 sections) has an address yet. Sections get
//! some in the order of the file, and relocations of 64-bit pointers against symbols that the file defines are
//! applied, so that the structures of wrapped images are walked as in a linked file. Other relocations are left: no
//! structure needs them.

use super::Section;
use super::address::{AddressMap, Segment};
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;
use object::{
    BinaryFormat, File, Object as _, ObjectSection as _, ObjectSymbol as _, Relocation, RelocationKind,
    RelocationTarget, SectionIndex, SectionKind,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// The address of the first section; lower ones stay free, null most of all.
const FIRST: u64 = 0x1_0000;

/// An object file, made addressable.
#[derive(Debug, Default)]
pub struct ObjectFile<'a> {
    /// The sections one after the other, relocated.
    pub addresses: AddressMap<'a>,
    /// All sections that have a name, at the addresses given to them.
    pub sections: Vec<Section<'a>>,
    /// Whether the function asked for is among the undefined symbols.
    pub refers_to_wanted: bool,
}

/// What overlapping tables of a hostile file may cost together.
struct Budget {
    names: usize,
    relocations: usize,
    copied: usize,
}

/// Reads an object file; `wanted` is a symbol to look for.
///
/// # Errors
/// `Input` for 32-bit and big-endian objects, sections beyond the end of the file, and tables that overlap so that
/// they come to more than the file.
pub fn read<'a>(bytes: &'a [u8], wanted: &str) -> Result<ObjectFile<'a>> {
    // A member of an import library shares the first bytes with large COFF objects, and has no section.
    if bytes.starts_with(&[0, 0, 0xff, 0xff]) && bytes::u16_at(bytes, 4).is_some_and(|version| version < 2) {
        return Ok(ObjectFile::default());
    }
    let file = File::parse(bytes).map_err(|error| Error::at(0, format!("object file: {error}")))?;
    // Of COFF, only 64-bit machines are recognised as such in the first place.
    let is_64 = file.is_64() || file.format() == BinaryFormat::Coff;
    if !is_64 || !file.is_little_endian() {
        return Err(Error::at(4, "not a 64-bit little-endian object file; SYCL programs are made of such"));
    }
    let mut budget = Budget {
        names: bytes.len().saturating_add(limits::MAX_STRING_BYTES),
        // The smallest relocation takes ten bytes.
        relocations: bytes.len() / 8,
        copied: bytes.len().saturating_add(1 << 20),
    };
    let mut sections = Vec::new();
    let mut bases = HashMap::new();
    let mut next = FIRST;
    for section in file.sections() {
        let offset = section.file_range().map_or(0, |range| range.0);
        let data = section.data().map_err(|error| Error::at(offset, format!("a section's bytes: {error}")))?;
        let name = section.name_bytes().ok();
        budget.names = take(budget.names, name.map_or(0, <[u8]>::len), offset, "names of sections")?;
        let size = section.size().max(data.len() as u64);
        bases.insert(section.index(), next);
        if let Ok(name) = section.name() {
            sections.push(Section { name, address: next, offset, data });
        }
        next = next
            .checked_add(size)
            .and_then(|end| bytes::align_up(end.checked_add(16)?, 16))
            .ok_or_else(|| Error::at(offset, "the sections take more than the address space"))?;
    }
    let mut segments = Vec::new();
    for section in file.sections() {
        let (Ok(data), Some(&address)) = (section.data(), bases.get(&section.index())) else { continue };
        if data.is_empty() {
            continue;
        }
        let offset = section.file_range().map_or(0, |range| range.0);
        let mut data = Cow::Borrowed(data);
        let mut holds_pointers = false;
        if matches!(section.kind(), SectionKind::Data | SectionKind::ReadOnlyData | SectionKind::ReadOnlyDataWithRel) {
            for (place, relocation) in section.relocations() {
                budget.relocations = take(budget.relocations, 1, offset, "relocations")?;
                let Some(target) = target(&file, &bases, &relocation) else { continue };
                if !holds_pointers {
                    budget.copied = take(budget.copied, data.len(), offset, "relocated sections")?;
                    holds_pointers = true;
                }
                // A COFF place counts from the section's own address, which is 0 in objects.
                relocate(data.to_mut(), place.wrapping_sub(section.address()), target, &relocation);
            }
        }
        segments.push(Segment { address, offset, data, holds_pointers });
    }
    let refers_to_wanted = refers_to(&file, wanted, budget.names);
    Ok(ObjectFile { addresses: AddressMap::new(segments), sections, refers_to_wanted })
}

fn take(left: usize, cost: usize, offset: u64, what: &str) -> Result<usize> {
    left.checked_sub(cost).ok_or_else(|| {
        Error::at(offset, format!("the {what} come to more than the file; tables overlap or are forged"))
    })
}

/// The address that a relocation of a 64-bit pointer names, where the file defines it.
fn target(file: &File<'_>, bases: &HashMap<SectionIndex, u64>, relocation: &Relocation) -> Option<u64> {
    if relocation.kind() != RelocationKind::Absolute || relocation.size() != 64 {
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
    let in_place = if relocation.has_implicit_addend() { bytes::u64_at(data, place).unwrap_or(0) } else { 0 };
    let value = target.wrapping_add(in_place).wrapping_add_signed(relocation.addend());
    // A place beyond the end relocates nothing.
    let _ = bytes::put_u64(data, place, value);
}

/// Whether an undefined symbol has that name; the search ends where names cost more than they may.
fn refers_to(file: &File<'_>, wanted: &str, mut names: usize) -> bool {
    for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name_bytes().unwrap_or_default();
        if name == wanted.as_bytes() {
            return true;
        }
        let Some(left) = names.checked_sub(name.len()) else { return false };
        names = left;
    }
    false
}
