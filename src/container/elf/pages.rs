//! Which pages of an ELF file are in memory?
//!
//! Loaders map segments in whole pages, and clear what a segment has in memory and not in the file. Systems differ in more than the size
//! of a page.

use super::super::address::Segment;
use super::{Elf, Machine};
use crate::error::{Error, Result};
use object::elf::{self, Dyn64, ProgramHeader64, SectionHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{LittleEndian as LE, pod};
use std::borrow::Cow;

/// Sizes of pages that systems have; those for x86-64 have the first.
const PAGES: [u64; 3] = [1 << 12, 1 << 14, 1 << 16];

impl<'a> Elf<'a> {
    /// Returns the program headers of what is loaded, in the order of the file.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &'a ProgramHeader64<LE>> + use<'a> {
        let is_loaded = |header: &&ProgramHeader64<LE>| header.p_type(LE) == elf::PT_LOAD && memory(header) > 0;
        self.program_headers.iter().filter(is_loaded)
    }

    /// Returns the largest page that a system may load the file with.
    ///
    /// # Errors
    /// `Input` where segments overlap, where the pages of one take the place of another's bytes, and where a system maps other
    /// bytes than the headers say.
    pub(super) fn page(&self) -> Result<u64> {
        let error = |message: &str| Error::at(self.header.e_phoff(LE), message);
        let mut loaded: Vec<(usize, &ProgramHeader64<LE>)> = self.loaded().enumerate().collect();
        loaded.sort_by_key(|(_, header)| header.p_vaddr(LE));
        let mut largest = None;
        let sizes = PAGES.iter().filter(|size| self.machine != Some(Machine::X86_64) || **size == PAGES[0]);
        for page in sizes {
            // Loaders refuse the others.
            let is_aligned =
                |header: &ProgramHeader64<LE>| header.p_filesz(LE) == 0 || skew(header).is_multiple_of(*page);
            if !loaded.iter().all(|(_, header)| is_aligned(header)) {
                continue;
            }
            largest = Some(*page);
            for pair in loaded.windows(2) {
                let [(nth, one), (next, other)] = pair else { continue };
                let (end, begin) = (one.p_vaddr(LE).saturating_add(memory(one)), other.p_vaddr(LE));
                // Loaders put one over the other in an order of their own, and would see other images than are read here.
                if end > begin {
                    return Err(error("the loadable segments overlap in memory"));
                }
                // The first page of a segment is mapped over the last one of the segment before it.
                let is_same = skew(one) == skew(other) && nth < next && other.p_filesz(LE) > 0;
                if end > begin.saturating_sub(begin % page) && !is_same {
                    return Err(error("loadable segments have a page in common, and other bytes for it"));
                }
            }
        }
        largest.ok_or_else(|| error("a loadable segment is not at the same place of a page in memory and in the file"))
    }

    /// Whether loaders map a page of the file for what stands before a segment that has no bytes of its own.
    pub(super) fn has_page_before(&self, header: &ProgramHeader64<LE>, page: u64) -> bool {
        let (address, offset) = (header.p_vaddr(LE), header.p_offset(LE));
        let is_within = address.checked_rem(page).is_some_and(|within| within > 0 && within <= offset);
        is_within && memory(header) > 0 && address.wrapping_sub(offset).checked_rem(page) == Some(0)
    }

    /// Returns a segment as loaders map it: in whole pages, but for what they clear. None where it passes the end of the file. Other
    /// segments may be of bytes beside its own.
    pub(super) fn mapped(&self, header: &ProgramHeader64<LE>, page: u64) -> Option<Vec<Segment<'a>>> {
        let (address, offset, size) = (header.p_vaddr(LE), header.p_offset(LE), header.p_filesz(LE));
        let end = offset.checked_add(size).filter(|end| *end <= self.bytes.len() as u64)?;
        let mut begin = address.saturating_sub(address.checked_rem(page)?);
        let (mut own, mut own_until) = (0, u64::MAX);
        for other in self.loaded() {
            let (first, last) = (other.p_offset(LE), other.p_offset(LE).saturating_add(other.p_filesz(LE)));
            own = if first < offset { own.max(last.min(offset)) } else { own };
            own_until = if last > end { own_until.min(first.max(end)) } else { own_until };
            // Of a page of two segments both have the same bytes.
            if other.p_vaddr(LE) < address {
                begin = begin.max(other.p_vaddr(LE).saturating_add(other.p_filesz(LE)).min(address));
            }
        }
        let first = offset.saturating_sub(address.checked_sub(begin)?);
        let until = self.until(header, end, page)?;
        // glibc clears as much of the last page as the segment has in memory, and no more.
        let more = memory(header).checked_sub(size)?;
        let (mapped, behind) = match more {
            0 => (first..until, until..until),
            _ => (first..end, end.saturating_add(more).min(until)..until),
        };
        let mut segments = Vec::new();
        for range in [mapped, behind].into_iter().filter(|range| !range.is_empty()) {
            let within = |cut: u64| usize::try_from(cut.clamp(range.start, range.end) - range.start).ok();
            let data = self.bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)?;
            let address = address.wrapping_add(range.start).wrapping_sub(offset);
            let own = within(own)?..within(own_until)?;
            segments.push(Segment { own, ..Segment::new(address, range.start, Cow::Borrowed(data), false) });
        }
        Some(segments)
    }

    /// Returns the offset up to which the pages of a segment hold the file's bytes behind `end`.
    fn until(&self, header: &ProgramHeader64<LE>, end: u64, page: u64) -> Option<u64> {
        let behind = header.p_vaddr(LE).wrapping_add(header.p_filesz(LE));
        let mut until = end.saturating_add(behind.wrapping_neg().checked_rem(page)?).min(self.bytes.len() as u64);
        for other in self.loaded() {
            // A page of two segments is the second one's.
            if let Some(apart) = other.p_vaddr(LE).checked_sub(behind) {
                let apart = apart.saturating_sub(other.p_vaddr(LE).checked_rem(page)?);
                until = until.min(end.saturating_add(apart));
            }
        }
        Some(until)
    }

    /// Checks that all loaders clear the same bytes behind a segment: Linux clears none where it may not write.
    pub(super) fn clears_alike(&self, header: &ProgramHeader64<LE>, page: u64) -> Result<()> {
        let end = header.p_offset(LE).saturating_add(header.p_filesz(LE));
        // A program without its code is a debugger's.
        let is_code = |one: &ProgramHeader64<LE>| one.p_flags(LE).contains(elf::PF_X) && one.p_filesz(LE) > 0;
        let is_read = header.p_memsz(LE) <= header.p_filesz(LE) || header.p_flags(LE).contains(elf::PF_W);
        if is_read || !self.loaded().any(is_code) {
            return Ok(());
        }
        let until = self.until(header, end, page).and_then(|until| usize::try_from(until).ok());
        let rest = until.and_then(|until| self.bytes.get(usize::try_from(end).ok()?..until)).unwrap_or_default();
        match rest.iter().position(|byte| *byte != 0) {
            Some(at) => {
                Err(Error::at(end.saturating_add(at as u64), "loaders differ in whether they clear these bytes"))
            }
            None => Ok(()),
        }
    }

    /// Whether the file is what `objcopy --only-keep-debug` and `eu-strip -f` make: its sections say that the dynamic section has no bytes,
    /// and no loader takes the file (`llvm-objcopy` of what mold linked), or finds one at the address that the program headers say;
    /// or a static program has no bytes where it begins.
    pub(super) fn is_debug(&self) -> bool {
        let Some(at) = self.dynamic_header() else { return self.has_no_begin() };
        let at = at.p_vaddr(LE);
        let sections = self.header.sections(LE, self.bytes);
        let mut sections = sections.iter().flat_map(|table| table.iter());
        let is_empty = |one: &SectionHeader64<LE>| one.sh_type(LE) == elf::SHT_NOBITS && one.sh_addr(LE) == at;
        let [smallest, .., largest] = PAGES;
        let page = if self.machine == Some(Machine::X86_64) { smallest } else { largest };
        // Loaders map whole pages.
        let offset_of = |header: &ProgramHeader64<LE>| {
            let (begin, end) = (header.p_vaddr(LE), header.p_vaddr(LE).saturating_add(header.p_filesz(LE)));
            let is_cleared = (end..begin.saturating_add(memory(header))).contains(&at);
            let is_mapped = at >= begin & !(page - 1) && at <= end | (page - 1);
            (is_mapped && !is_cleared).then(|| header.p_offset(LE).wrapping_add(at.wrapping_sub(begin)))
        };
        let loaded = self.program_headers.iter().filter(|header| header.p_type(LE) == elf::PT_LOAD);
        let offsets: Vec<u64> = loaded.filter_map(offset_of).collect();
        // Few segments are near to one address.
        let is_found = || offsets.len() > 8 || offsets.iter().any(|at| may_be_dynamic(self.bytes, *at));
        sections.any(is_empty) && (self.is_refused() || !is_found())
    }

    /// Whether loaders of any page refuse the file.
    fn is_refused(&self) -> bool {
        self.loaded().any(|header| header.p_filesz(LE) > 0 && !skew(header).is_multiple_of(PAGES[0]))
    }

    /// Whether the file is firmware (OpenSBI, U-Boot): it asks for neither a loader nor a library, no loader of programs takes it, and it
    /// is for no machine whose programs are read.
    pub(super) fn is_firmware(&self) -> bool {
        let is_named = self.program_headers.iter().any(|header| header.p_type(LE) == elf::PT_INTERP);
        self.machine.is_none() && !is_named && self.dynamic_entry(elf::DT_NEEDED).is_none() && self.is_refused()
    }

    /// Whether a static program has no bytes in the file where it begins.
    fn has_no_begin(&self) -> bool {
        let (entry, len) = (self.header.e_entry(LE), self.bytes.len() as u64);
        let holds = |header: &ProgramHeader64<LE>| {
            let is_whole = header.p_offset(LE).checked_add(header.p_filesz(LE)).is_some_and(|end| end <= len);
            is_whole && entry.checked_sub(header.p_vaddr(LE)).is_some_and(|at| at < header.p_filesz(LE))
        };
        let is_named = self.program_headers.iter().any(|header| header.p_type(LE) == elf::PT_INTERP);
        entry > 0 && !is_named && !self.loaded().any(holds)
    }
}

/// Returns how far a segment is from its place in the file.
fn skew(header: &ProgramHeader64<LE>) -> u64 {
    header.p_vaddr(LE).wrapping_sub(header.p_offset(LE))
}

/// Returns the size of a segment in memory.
pub(super) fn memory(header: &ProgramHeader64<LE>) -> u64 {
    header.p_memsz(LE).max(header.p_filesz(LE))
}

/// Whether the bytes at an offset may be a dynamic section: with strings or symbols.
fn may_be_dynamic(bytes: &[u8], offset: u64) -> bool {
    let mut rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    while let Ok((entry, tail)) = pod::from_bytes::<Dyn64<LE>>(rest) {
        match entry.d_tag.get(LE) {
            elf::DT_NULL => return false,
            elf::DT_STRTAB | elf::DT_SYMTAB => return true,
            _ => rest = tail,
        }
    }
    false
}
