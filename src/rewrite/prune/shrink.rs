//! How are free pages cut out of an ELF file?
//!
//! Addresses stay, so that no code or pointer changes: a segment with free pages becomes two with a hole between them, in
//! the file nothing is left of the hole, and neither takes memory. The program headers grow by a segment for each hole and
//! move to the end of the largest hole, right before what follows it, where GNU strip and objcopy expect them: first in
//! their segment. The sections that held what is free end before it, or are cut in two, too.
//!
//! Kernels before 5.18 take the address of an executable's program headers to be as far from the first segment in memory
//! as in the file, which behind a hole is not so. Executables keep their layout.

use super::compact::{Compaction, Shift};
use crate::bytes;
use crate::bytes::Draft;
use crate::container::elf::Elf;
use crate::error::{Error, Result};
use crate::rewrite::embed::plan::{check, is_executable, kept_headers, page};
use object::elf::{self, PT_LOAD, PT_PHDR, ProgramHeader64, SectionHeader64, Sym64};
use object::pod::{self, bytes_of};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{LittleEndian as LE, U16, U64};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Holes of one file at most: each is a segment more, and loaders walk through all.
const MAX_HOLES: usize = 24;
/// Padding between two sections at most.
const MOST_PADDING: u64 = 64;
const HEADER: u64 = size_of::<ProgramHeader64<LE>>() as u64;

/// Pages to cut out of a segment.
#[derive(Debug, Clone)]
struct Hole {
    /// Number of the segment among the program headers.
    segment: usize,
    /// Addresses that are cut out: whole pages' worth, or that of what is aligned to more, so that offsets stay congruent to
    /// addresses. What is before and
    /// behind adjoins in the file: GNU strip packs segments so, without asking whether they stay congruent.
    cut: Range<u64>,
    /// Addresses that are free, around what is cut out.
    free: Range<u64>,
    /// File offset of the first byte.
    offset: u64,
}

impl Hole {
    /// Creates the hole in a free range before an address, if it has room for a page or what has to stay aligned.
    fn new(segment: usize, header: &ProgramHeader64<LE>, free: &Range<u64>, end: u64, align: u64) -> Option<Hole> {
        let start = free.start.checked_add(end.wrapping_sub(free.start) & align.saturating_sub(1))?;
        let offset = header.p_offset(LE).checked_add(start.checked_sub(header.p_vaddr(LE))?)?;
        (start < end).then(|| Hole { segment, cut: start..end, free: free.clone(), offset })
    }

    fn len(&self) -> u64 {
        self.cut.end.saturating_sub(self.cut.start)
    }

    fn offsets(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len())
    }
}

/// Cuts the pages that are free out of a file, where it has any that can be cut out.
///
/// # Errors
/// `Input` where the file's headers contradict each other.
pub(crate) fn shrink(file: &mut Draft, compaction: &Compaction, gone: &HashSet<u64>) -> Result<()> {
    let (elf, _) = Elf::parse(file)?;
    if check(file, &elf).is_err() || elf.section_problem.is_some() || is_executable(&elf) {
        return Ok(());
    }
    let sections = elf.header.section_headers(LE, &**file).unwrap_or_default();
    let align = alignment(&elf, sections);
    let Some((holes, table)) = holes(&elf, sections, &compaction.free, align) else { return Ok(()) };
    let changes = Cut { elf: &elf, file, holes, table, align }.changes(&compaction.shifts, gone)?;
    changes.map_or(Ok(()), |changes| changes.apply(file))
}

/// Changes that cut pages out of a file.
struct Changes {
    /// Bytes to overwrite before that, by offset.
    before: Vec<(usize, Vec<u8>)>,
    /// Offsets that are cut out, in order.
    cut: Vec<Range<usize>>,
    /// Length of what stays.
    len: usize,
    /// Bytes to append, at a multiple of eight.
    appended: Vec<u8>,
    /// Bytes to overwrite after that, by offset.
    after: Vec<(usize, Vec<u8>)>,
}

impl Changes {
    fn apply(self, file: &mut Draft) -> Result<()> {
        let put = |file: &mut Draft, (at, bytes): &(usize, Vec<u8>)| {
            if bytes::put(file, *at, bytes) { Ok(()) } else { Err(no_room()) }
        };
        self.before.iter().try_for_each(|change| put(file, change))?;
        let mut to = 0usize;
        let ends = self.cut.iter().map(|cut| cut.start).chain([file.len()]);
        for (from, end) in std::iter::once(0).chain(self.cut.iter().map(|cut| cut.end)).zip(ends) {
            // Ranges are in order and within the file, so that each moves down.
            let kept = end.checked_sub(from).filter(|_| end <= file.len() && to <= from).ok_or_else(no_room)?;
            file.copy_within(from..end, to);
            to = to.saturating_add(kept);
        }
        file.truncate(to.min(self.len));
        if !self.appended.is_empty() {
            file.resize(self.len.next_multiple_of(8))?;
            file.extend(&self.appended)?;
        }
        self.after.iter().try_for_each(|change| put(file, change))
    }
}

#[cold]
fn no_room() -> Error {
    Error::input("the file has no room for its changed headers")
}

/// Returns the holes, by address, and the address of the new program headers.
fn holes(elf: &Elf<'_>, sections: &[SectionHeader64<LE>], free: &[Range<u64>], align: u64) -> Option<(Vec<Hole>, u64)> {
    let mut holes: Vec<Hole> =
        free.iter().filter_map(|free| hole(elf, free, align)).filter(|hole| is_alone(elf, hole)).collect();
    holes.sort_by_key(|hole| std::cmp::Reverse(hole.len()));
    holes.truncate(MAX_HOLES);
    let size = (kept_headers(elf).len().saturating_add(holes.len()) as u64).saturating_mul(HEADER);
    let largest = holes.first_mut()?;
    let table = following(sections, largest.free.end).checked_sub(size)? & !7;
    let header = elf.program_headers.get(largest.segment)?;
    *largest = Hole::new(largest.segment, header, &largest.free, table, align)?;
    holes.sort_by_key(|hole| hole.cut.start);
    Some((holes, table))
}

/// Returns the hole for a free range, if it is in one segment and has whole pages.
fn hole(elf: &Elf<'_>, free: &Range<u64>, align: u64) -> Option<Hole> {
    let holds = |header: &ProgramHeader64<LE>| {
        let start = header.p_vaddr(LE);
        let end = start.saturating_add(header.p_filesz(LE));
        header.p_type(LE) == PT_LOAD && start <= free.start && free.end <= end
    };
    let segment = elf.program_headers.iter().position(holds)?;
    Hole::new(segment, elf.program_headers.get(segment)?, free, free.end, align)
}

/// Returns the address of the section that follows directly, behind padding at most, or the address itself.
fn following(sections: &[SectionHeader64<LE>], address: u64) -> u64 {
    let starts = sections.iter().filter(|section| section.sh_flags(LE).contains(elf::SHF_ALLOC));
    let goes_on = starts.clone().any(|section| {
        section.sh_addr(LE) < address && address < section.sh_addr(LE).saturating_add(section.sh_size(LE))
    });
    let next = starts.map(|section| section.sh_addr(LE)).filter(|start| *start >= address).min();
    next.filter(|start| !goes_on && start.saturating_sub(address) < MOST_PADDING).unwrap_or(address)
}

/// Returns the alignment that addresses of the file keep where it is loaded: that of its sections, or of its segments where
/// sections tell none. What is less than a page is there by itself.
fn alignment(elf: &Elf<'_>, sections: &[SectionHeader64<LE>]) -> u64 {
    let segments = elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    let largest = |all: &mut dyn Iterator<Item = u64>| all.filter(|align| align.is_power_of_two()).max().unwrap_or(1);
    let loaded = largest(&mut segments.map(|header| header.p_align(LE)));
    let mut allocated = sections.iter().filter(|section| section.sh_flags(LE).contains(elf::SHF_ALLOC)).peekable();
    let needed = match allocated.peek() {
        Some(_) => largest(&mut allocated.map(|section| section.sh_addralign(LE))).min(loaded),
        None => loaded,
    };
    needed.max(page(elf))
}

/// Whether no other program header is about what a hole takes.
fn is_alone(elf: &Elf<'_>, hole: &Hole) -> bool {
    let offsets = hole.offsets();
    elf.program_headers.iter().enumerate().all(|(number, header)| {
        let start = header.p_offset(LE);
        let end = start.saturating_add(header.p_filesz(LE));
        number == hole.segment || end <= offsets.start || offsets.end <= start
    })
}

/// A file and what is cut out of it.
struct Cut<'c> {
    elf: &'c Elf<'c>,
    file: &'c [u8],
    holes: Vec<Hole>,
    /// Address of the new program headers.
    table: u64,
    /// Alignment that segments keep.
    align: u64,
}

impl Cut<'_> {
    fn changes(&self, shifts: &[Shift], gone: &HashSet<u64>) -> Result<Option<Changes>> {
        let (Some(table), headers) = (self.table_offset(), self.program_headers()) else { return Ok(None) };
        let sections = self.elf.header.section_headers(LE, self.file).unwrap_or_default();
        let Some((sections, parts)) = self.sections(sections) else { return Ok(None) };
        let index = |at: u64| usize::try_from(at).map_err(|_| no_room());
        let mut cut = Vec::new();
        for hole in &self.holes {
            cut.push(index(hole.offsets().start)?..index(hole.offsets().end)?);
        }
        let len = index(self.offset(self.file.len() as u64))?;
        let count =
            headers.len().checked_div(size_of::<ProgramHeader64<LE>>()).and_then(|count| u16::try_from(count).ok());
        let count = count.ok_or_else(no_room)?;
        let mut changes = Changes {
            before: self.symbols(&parts, shifts, gone),
            cut,
            len,
            appended: Vec::new(),
            after: vec![
                (index(table)?, headers),
                (32, table.to_le_bytes().to_vec()),
                (56, count.to_le_bytes().to_vec()),
            ],
        };
        if sections.is_empty() {
            return Ok(Some(changes));
        }
        let old = index(self.offset(self.elf.header.e_shoff(LE)))?;
        let old_len = usize::from(self.elf.header.e_shnum(LE)).saturating_mul(size_of::<SectionHeader64<LE>>());
        let bytes: Vec<u8> = sections.iter().flat_map(|section| bytes_of(section).to_vec()).collect();
        let mut at = old;
        // In most files the table is the last.
        let is_last = old.saturating_add(old_len) == len;
        if !is_last && sections.len() == usize::from(self.elf.header.e_shnum(LE)) {
            changes.after.push((old, bytes));
        } else {
            changes.len = if is_last { old } else { len };
            at = changes.len.next_multiple_of(8);
            changes.appended = bytes;
            let number = u16::try_from(sections.len()).ok().filter(|number| *number < 0xff00).ok_or_else(no_room)?;
            changes.after.push((60, number.to_le_bytes().to_vec()));
        }
        changes.after.push((40, (at as u64).to_le_bytes().to_vec()));
        Ok(Some(changes))
    }

    /// Returns the offset in the new file of an offset in the old one.
    fn offset(&self, old: u64) -> u64 {
        let before = self.holes.iter().map(|hole| {
            let offsets = hole.offsets();
            old.clamp(offsets.start, offsets.end).saturating_sub(offsets.start)
        });
        old.saturating_sub(before.sum())
    }

    /// Returns the offset of the new program headers in the new file.
    fn table_offset(&self) -> Option<u64> {
        let largest = self.holes.iter().find(|hole| hole.cut.end == self.table)?;
        let header = self.elf.program_headers.get(largest.segment)?;
        let old = header.p_offset(LE).checked_add(self.table.checked_sub(header.p_vaddr(LE))?)?;
        Some(self.offset(old))
    }

    fn program_headers(&self) -> Vec<u8> {
        let mut all: Vec<ProgramHeader64<LE>> = Vec::new();
        for (number, header) in self.elf.program_headers.iter().enumerate() {
            let mut header = *header;
            let holes = self.holes.iter().filter(|hole| hole.segment == number).collect::<Vec<_>>();
            // As `kept_headers` does: a library needs none.
            if header.p_type(LE) == PT_PHDR {
                continue;
            }
            if holes.is_empty() {
                header.p_offset = U64::new(LE, self.offset(header.p_offset(LE)));
                self.lower_alignment(&mut header);
                all.push(header);
                continue;
            }
            let (start, file_end) = (header.p_vaddr(LE), header.p_vaddr(LE).saturating_add(header.p_filesz(LE)));
            let memory_end = start.saturating_add(header.p_memsz(LE));
            let starts = std::iter::once(start).chain(holes.iter().map(|hole| hole.cut.end));
            let ends = holes.iter().map(|hole| (hole.cut.start, hole.cut.start)).chain([(file_end, memory_end)]);
            for (from, (to, memory)) in starts.zip(ends).filter(|(from, (_, memory))| from < memory) {
                let mut part = header;
                let old = header.p_offset(LE).saturating_add(from.saturating_sub(start));
                part.p_offset = U64::new(LE, self.offset(old));
                part.p_vaddr = U64::new(LE, from);
                part.p_paddr = U64::new(LE, header.p_paddr(LE).saturating_add(from.saturating_sub(start)));
                part.p_filesz = U64::new(LE, to.saturating_sub(from));
                part.p_memsz = U64::new(LE, memory.saturating_sub(from));
                self.lower_alignment(&mut part);
                all.push(part);
            }
        }
        all.iter().flat_map(|header| bytes_of(header).to_vec()).collect()
    }

    /// Offsets are congruent to addresses by pages now, or by what data is aligned to, and no longer by the larger pages
    /// some linkers prepare for.
    fn lower_alignment(&self, header: &mut ProgramHeader64<LE>) {
        if header.p_type(LE) == PT_LOAD && header.p_align(LE) > self.align {
            header.p_align = U64::new(LE, self.align);
        }
    }

    /// Returns the section headers, and for each section that was cut its parts behind free addresses with their numbers.
    #[allow(clippy::type_complexity, reason = "used once, right where it is made")]
    fn sections(
        &self,
        sections: &[SectionHeader64<LE>],
    ) -> Option<(Vec<SectionHeader64<LE>>, HashMap<usize, Vec<(Range<u64>, usize)>>)> {
        let mut all: Vec<SectionHeader64<LE>> = sections.to_vec();
        let mut parts: HashMap<usize, Vec<(Range<u64>, usize)>> = HashMap::new();
        for (number, section) in sections.iter().enumerate() {
            let (start, end) = (section.sh_addr(LE), section.sh_addr(LE).saturating_add(section.sh_size(LE)));
            let offsets = section.sh_offset(LE)..section.sh_offset(LE).saturating_add(section.sh_size(LE));
            let filled = section.sh_type(LE) != elf::SHT_NOBITS && start < end;
            let met = |hole: &&Hole| {
                let cut = hole.offsets();
                filled && offsets.start < cut.end && cut.start < offsets.end
            };
            let holes: Vec<&Hole> = self.holes.iter().filter(met).collect();
            if holes.is_empty() {
                all.get_mut(number)?.sh_offset = U64::new(LE, self.offset(section.sh_offset(LE)));
                continue;
            }
            // Only sections that have an address and hold nothing but bytes are cut.
            let plain = section.sh_type(LE) == elf::SHT_PROGBITS && section.sh_flags(LE).contains(elf::SHF_ALLOC);
            if !plain || holes.iter().any(|hole| hole.free.start < start || end < hole.free.end) {
                return None;
            }
            let starts = std::iter::once(start).chain(holes.iter().map(|hole| hole.free.end));
            let ends = holes.iter().map(|hole| hole.cut.start).chain([end]);
            for (nth, (from, to)) in starts.zip(ends).enumerate() {
                let mut part = *section;
                part.sh_addr = U64::new(LE, from);
                part.sh_size = U64::new(LE, to.saturating_sub(from));
                let old = section.sh_offset(LE).saturating_add(from.saturating_sub(start));
                part.sh_offset = U64::new(LE, self.offset(old));
                if nth == 0 {
                    *all.get_mut(number)? = part;
                    parts.entry(number).or_default().push((from..to, number));
                } else if from < to {
                    let align = section.sh_addralign(LE).max(1).min(1 << from.trailing_zeros().min(63));
                    part.sh_addralign = U64::new(LE, align);
                    parts.entry(number).or_default().push((from..to, all.len()));
                    all.push(part);
                }
            }
        }
        Some((all, parts))
    }

    /// Returns corrected symbols of payloads, by offset: they follow what moves, and those of what is gone are empty.
    fn symbols(
        &self,
        parts: &HashMap<usize, Vec<(Range<u64>, usize)>>,
        shifts: &[Shift],
        gone: &HashSet<u64>,
    ) -> Vec<(usize, Vec<u8>)> {
        let mut changed = Vec::new();
        let moved: HashMap<u64, u64> = shifts.iter().map(|shift| (shift.from, shift.to)).collect();
        let sections = self.elf.header.section_headers(LE, self.file).unwrap_or_default();
        for table in sections.iter().filter(|section| matches!(section.sh_type(LE), elf::SHT_SYMTAB | elf::SHT_DYNSYM))
        {
            let Ok(data) = table.data(LE, self.file) else { continue };
            let Ok(start) = usize::try_from(table.sh_offset(LE)) else { continue };
            let mut rest = data;
            while let Ok((symbol, tail)) = pod::from_bytes::<Sym64<LE>>(rest) {
                let at = start.saturating_add(data.len().saturating_sub(rest.len()));
                rest = tail;
                let Some(parts) = parts.get(&usize::from(symbol.st_shndx.get(LE).0)) else { continue };
                let mut new = *symbol;
                let value = symbol.st_value.get(LE);
                let is_payload = symbol.st_size.get(LE) > 0;
                if let Some(to) = moved.get(&value).filter(|_| is_payload) {
                    new.st_value = U64::new(LE, *to);
                } else if gone.contains(&value) && is_payload {
                    new.st_value = U64::new(LE, parts.first().map_or(value, |(part, _)| part.start));
                    new.st_size = U64::new(LE, 0);
                }
                let value = new.st_value.get(LE);
                if let Some((_, number)) = parts.iter().find(|(part, _)| part.contains(&value)) {
                    new.st_shndx = U16::new(LE, elf::SymbolSection(u16::try_from(*number).unwrap_or(0)));
                }
                if bytes_of(&new) != bytes_of(symbol) {
                    changed.push((at, bytes_of(&new).to_vec()));
                }
            }
        }
        changed
    }
}
