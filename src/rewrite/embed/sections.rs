//! Which section headers describe the added segment?
//!
//! Loaders need no section headers, but `strip`, debuggers and linkers use them: every byte of the added segment
//! belongs to a section, and the moved relocation table keeps its name. The old header table and names stay in place,
//! unused; extended copies are at the end of the file.

use crate::bytes;
use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::elf::{self, FileHeader64, SectionHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, SectionHeader};
use object::{U32, U64};

/// Section to add.
pub struct New {
    /// Name of the section.
    pub name: String,
    /// Virtual address.
    pub address: u64,
    /// File offset.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Alignment.
    pub align: u64,
    /// Whether relocations write to the section.
    pub writable: bool,
}

/// Section whose contents moved; it is found by its old address.
pub struct Moved {
    /// Old address.
    pub old_address: u64,
    /// New address.
    pub address: u64,
    /// New file offset.
    pub offset: u64,
    /// New size in bytes.
    pub size: u64,
}

/// New section header table.
pub struct Table {
    /// File offset.
    pub offset: u64,
    /// Number of headers.
    pub count: u16,
}

/// Appends extended copies of the section names and headers to `out`. Returns none where the file has no usable ones.
///
/// # Errors
/// `Input` where the header table has no room for more (the count is a 16-bit field).
pub fn append(out: &mut Vec<u8>, original: &[u8], moved: Option<&Moved>, new: &[New]) -> Result<Option<Table>> {
    let Ok(header) = FileHeader64::<LE>::parse(original) else { return Ok(None) };
    let (Ok(sections), Ok(names_at)) = (header.section_headers(LE, original), header.shstrndx(LE, original)) else {
        return Ok(None);
    };
    // Section 0 is the null section: the file has no section names.
    let names_header = sections.get(names_at as usize).filter(|_| names_at != 0);
    let Some(names_header) = names_header else { return Ok(None) };
    let Ok(names) = names_header.data(LE, original) else { return Ok(None) };
    let total = sections.len().saturating_add(new.len());
    if total >= usize::from(elf::SHN_LORESERVE) {
        return Err(Error::at(header.e_shoff(LE), "too many sections to add any")
            .with_remedy("strip the section headers, or use --emit shared"));
    }
    let names_offset = out.len() as u64;
    out.extend_from_slice(names);
    let mut added = Vec::new();
    for section in new {
        let name = u32::try_from((out.len() as u64).saturating_sub(names_offset)).unwrap_or(0);
        out.extend_from_slice(section.name.as_bytes());
        out.push(0);
        added.push(describe(section, name));
    }
    let names_size = (out.len() as u64).saturating_sub(names_offset);
    let offset = bytes::align_up(out.len() as u64, 8).unwrap_or(u64::MAX);
    out.resize(usize::try_from(offset).unwrap_or(out.len()), 0);
    for (index, section) in sections.iter().enumerate() {
        let mut copy = *section;
        if index == names_at as usize {
            copy.sh_offset = U64::new(LE, names_offset);
            copy.sh_size = U64::new(LE, names_size);
        }
        if let Some(moved) = moved
            && section.sh_addr(LE) == moved.old_address
            && matches!(section.sh_type(LE), elf::SHT_RELA | elf::SHT_RELR)
            && section.sh_size(LE) > 0
        {
            copy.sh_addr = U64::new(LE, moved.address);
            copy.sh_offset = U64::new(LE, moved.offset);
            copy.sh_size = U64::new(LE, moved.size);
        }
        out.extend_from_slice(bytes_of(&copy));
    }
    for section in &added {
        out.extend_from_slice(bytes_of(section));
    }
    Ok(Some(Table { offset, count: u16::try_from(total).unwrap_or(0) }))
}

fn describe(section: &New, name: u32) -> SectionHeader64<LE> {
    let flags = if section.writable { elf::SHF_ALLOC.0 | elf::SHF_WRITE.0 } else { elf::SHF_ALLOC.0 };
    SectionHeader64 {
        sh_name: U32::new(LE, name),
        sh_type: U32::new(LE, elf::SHT_PROGBITS),
        sh_flags: U64::new(LE, elf::SectionFlags(flags)),
        sh_addr: U64::new(LE, section.address),
        sh_offset: U64::new(LE, section.offset),
        sh_size: U64::new(LE, section.size),
        sh_link: U32::new(LE, 0),
        sh_info: U32::new(LE, 0),
        sh_addralign: U64::new(LE, section.align),
        sh_entsize: U64::new(LE, 0),
    }
}
