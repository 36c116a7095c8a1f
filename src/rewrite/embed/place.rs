//! At which file offset and address is the added segment?

use super::plan::PAYLOAD_ALIGN;
use crate::bytes;
use crate::container::elf::Elf;
use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::elf::{self, PT_LOAD, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

/// Largest hole in the file that moving an executable's program headers may leave. Their file offset must match their
/// address, so memory without file contents (`.bss`) becomes a hole.
const MAX_HOLE: u64 = 1 << 28;

/// Largest alignment of the new segment: a large page of x86-64, and more than any page that an ELF file must fit. The
/// padding is bounded whatever the file declares. The segment may be aligned to less than its neighbours: loaders only
/// require that address and offset agree modulo the page and the segment's own alignment.
const MAX_ALIGN: u64 = 2 << 20;

/// Returns the alignment of the new segment: the largest of the file's own segments, at least a page and at most
/// `MAX_ALIGN`.
pub fn segment_align(elf: &Elf<'_>) -> u64 {
    elf.program_headers
        .iter()
        .filter(|header| header.p_type(LE) == PT_LOAD)
        .map(|header| header.p_align(LE))
        .filter(|align| align.is_power_of_two())
        .max()
        .unwrap_or(1)
        .clamp(0x1000, MAX_ALIGN)
}

/// Whether the file can be executed: a program, or a library with an entry point.
fn is_executable(elf: &Elf<'_>) -> bool {
    let interpreted = || elf.program_headers.iter().any(|header| header.p_type(LE) == elf::PT_INTERP);
    elf.header.e_type(LE) == elf::ET_EXEC || interpreted()
}

/// Returns the program headers that are moved, in order. A library's own `PT_PHDR`, which lld writes and nothing needs,
/// is left out: patchelf assumes that its address and file offset differ as those of the first segment do.
pub fn kept_headers(elf: &Elf<'_>) -> Vec<ProgramHeader64<LE>> {
    let keep = |header: &&ProgramHeader64<LE>| header.p_type(LE) != elf::PT_PHDR || is_executable(elf);
    elf.program_headers.iter().filter(keep).copied().collect()
}

/// Returns the file offset and address of the new segment.
pub fn place(len: u64, elf: &Elf<'_>) -> Result<(u64, u64)> {
    let loads = || elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    let align = segment_align(elf);
    let overflow = || Error::input("the file's segments reach the end of the address space");
    let end = loads().map(|header| header.p_vaddr(LE).saturating_add(header.p_memsz(LE))).max().unwrap_or(0);
    let page = bytes::align_up(end, align).ok_or_else(overflow)?;
    let offset = bytes::align_up(len, PAYLOAD_ALIGN).ok_or_else(overflow)?;
    // Address and offset must agree modulo the page. GNU strip packs the segment right behind the previous one without
    // checking, so only that end keeps a stripped file correct.
    let packed = loads().map(|header| header.p_offset(LE).saturating_add(header.p_filesz(LE))).max().unwrap_or(0);
    let skew = bytes::align_up(packed, 8).ok_or_else(overflow)? & (align - 1);
    if !is_executable(elf) {
        let address = page.checked_add(skew).ok_or_else(overflow)?;
        let padding = skew.wrapping_sub(offset) & (align - 1);
        return Ok((offset.checked_add(padding).ok_or_else(overflow)?, address));
    }
    // Kernels before 5.18 give a program the address of its program headers as the first segment's address plus
    // e_phoff, so in an executable the segment's distance from the first one must be the same in the file and in
    // memory. (GNU strip closes the hole that this makes: stripped programs run only on later kernels, which use
    // PT_PHDR.)
    let first = loads().next().ok_or_else(|| Error::input("the file has no loadable segment"))?;
    let bias = first.p_vaddr(LE).checked_sub(first.p_offset(LE)).ok_or_else(overflow)?;
    let least = page.max(offset.checked_add(bias).ok_or_else(overflow)?);
    let address = least.checked_add(skew.wrapping_sub(least) & (align - 1)).ok_or_else(overflow)?;
    let at = address.checked_sub(bias).ok_or_else(overflow)?;
    if at.saturating_sub(offset) > MAX_HOLE {
        return Err(Error::input(
            "this executable cannot be rewritten: its uninitialised data would become a hole of over 256 MB",
        )
        .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded"));
    }
    Ok((at, address))
}
