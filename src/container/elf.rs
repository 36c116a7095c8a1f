//! What is the memory image of a linked ELF file?
//!
//! Reads 64-bit little-endian executables and shared libraries through the structures of crate `object`. Everything
//! comes from the program headers and the dynamic section, as for a loader, so a file without section headers reads the
//! same. Section headers only provide names (`.comment`, `.tgtimg`).

mod pages;

use self::pages::memory;
use super::Section;
use super::address::{AddressMap, Segment, WRITTEN, written};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use object::elf::{self, Dyn64, DynamicTag, FileHeader32, FileHeader64, ProgramHeader64, Rel64, Rela64, Sym64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{BigEndian as BE, LittleEndian as LE, U64, pod};

/// Host machine whose relocations are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// `EM_X86_64`.
    X86_64,
    /// `EM_AARCH64`.
    Aarch64,
}

/// Relocations of x86-64 that write the value of a symbol: `R_X86_64_GLOB_DAT` and `R_X86_64_JUMP_SLOT`.
const X86_64_SLOTS: [u32; 2] = [6, 7];

impl Machine {
    /// Returns the relocation type "load bias plus addend".
    pub(crate) fn relative(self) -> u32 {
        match self {
            Machine::X86_64 => elf::R_X86_64_RELATIVE.0,
            Machine::Aarch64 => elf::R_AARCH64_RELATIVE.0,
        }
    }

    /// Returns the relocation type that copies a symbol's bytes from another file.
    fn copy(self) -> u32 {
        match self {
            Machine::X86_64 => elf::R_X86_64_COPY.0,
            Machine::Aarch64 => elf::R_AARCH64_COPY.0,
        }
    }

    /// Returns the relocation type that writes two words: a function and its argument, for a thread's variable.
    fn descriptor(self) -> u32 {
        match self {
            Machine::X86_64 => elf::R_X86_64_TLSDESC.0,
            Machine::Aarch64 => elf::R_AARCH64_TLSDESC.0,
        }
    }

    /// Returns the relocation types "symbol plus addend", 64 bits wide.
    fn symbolic(self) -> [u32; 2] {
        match self {
            Machine::X86_64 => [elf::R_X86_64_64.0, elf::R_X86_64_GLOB_DAT.0],
            Machine::Aarch64 => [elf::R_AARCH64_ABS64.0, elf::R_AARCH64_GLOB_DAT.0],
        }
    }
}

/// Entry of the dynamic section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dynamic {
    /// `d_tag`.
    pub(crate) tag: DynamicTag,
    /// `d_val` or `d_ptr`.
    pub(crate) value: u64,
    /// File offset of the entry.
    pub(crate) offset: u64,
}

/// Linked ELF file.
#[derive(Debug)]
pub struct Elf<'a> {
    bytes: &'a [u8],
    /// File header.
    pub(crate) header: &'a FileHeader64<LE>,
    /// Program headers.
    pub(crate) program_headers: &'a [ProgramHeader64<LE>],
    /// Dynamic section up to `DT_NULL`; empty for static files.
    pub(crate) dynamic: Vec<Dynamic>,
    /// Machine, if its relocations are known.
    pub(crate) machine: Option<Machine>,
    /// Whether no loader takes the file: another has the program, and this one what a debugger needs of it, or it is firmware.
    is_unloaded: bool,
    /// Error of reading the section headers, if there was one.
    pub(crate) section_problem: Option<Error>,
}

/// Returns the end of the last segment, section or header table in a file of any class and byte order.
fn end<H: FileHeader>(header: &H, endian: H::Endian, bytes: &[u8]) -> u64 {
    let table = |at: u64, count: usize, size: usize| (at, (count as u64).saturating_mul(size as u64));
    let sections = header.section_headers(endian, bytes).unwrap_or_default();
    let segments = header.program_headers(endian, bytes).unwrap_or_default();
    let tables = [
        table(header.e_phoff(endian).into(), segments.len(), segments.first().map_or(0, size_of_val)),
        table(header.e_shoff(endian).into(), sections.len(), sections.first().map_or(0, size_of_val)),
    ];
    let segments = segments.iter().map(|header| (header.p_offset(endian).into(), header.p_filesz(endian).into()));
    let filled = sections.iter().filter(|section| section.sh_type(endian) != elf::SHT_NOBITS);
    let sections = filled.map(|section| (section.sh_offset(endian).into(), section.sh_size(endian).into()));
    let ends = tables.into_iter().chain(segments).chain(sections).map(|(at, size): (u64, u64)| at.saturating_add(size));
    ends.filter(|end| *end <= bytes.len() as u64).fold(0, u64::max)
}

/// Machines with 64 bits and the lowest byte first, whose programs of 32 bits have a machine of their own, or are few (x32).
const WIDE: [elf::Machine; 5] = [elf::EM_X86_64, elf::EM_AARCH64, elf::EM_RISCV, elf::EM_LOONGARCH, elf::EM_PPC64];

/// ELF file for machines that run no SYCL program: 32-bit and big-endian ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign {
    /// The end of what the headers tell of.
    pub(crate) end: u64,
}

impl Foreign {
    /// Reads the header; none where it is not of such a file, or contradicts itself: a bit may have changed.
    pub(crate) fn read(bytes: &[u8]) -> Option<Foreign> {
        match (bytes.get(4)?, bytes.get(5)?) {
            (1, 1) => Self::read_as::<FileHeader32<LE>>(bytes, LE),
            (1, 2) => Self::read_as::<FileHeader32<BE>>(bytes, BE),
            (2, 2) => Self::read_as::<FileHeader64<BE>>(bytes, BE),
            _ => None,
        }
    }

    fn read_as<H: FileHeader>(bytes: &[u8], endian: H::Endian) -> Option<Foreign> {
        let header: &H = pod::from_bytes(bytes).ok()?.0;
        let has_size = usize::from(header.e_ehsize(endian)) == size_of::<H>();
        let has_type = (elf::ET_REL.0..=elf::ET_CORE.0).contains(&header.e_type(endian).0);
        // Linux goes by the machine, whatever the class is.
        let is_of_ours = WIDE.contains(&header.e_machine(endian));
        let is_sound = has_size && has_type && !is_of_ours && header.e_version(endian) == 1;
        is_sound.then(|| Foreign { end: end(header, endian, bytes) })
    }

    /// Returns the error for it.
    pub(super) fn error(self) -> Error {
        let what = "a 32-bit or big-endian ELF file; SYCL programs are 64-bit little-endian ones";
        Error::new(ErrorKind::NoDeviceCode, what).with_offset(4)
    }
}

impl<'a> Elf<'a> {
    /// Reads headers, sections and the dynamic section.
    ///
    /// # Errors
    /// `Input` for 32-bit or big-endian files, for files that are not linked, and where the headers are malformed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Elf<'a>, Vec<Section<'a>>)> {
        if bytes.get(4) != Some(&elf::ELFCLASS64.0) || bytes.get(5) != Some(&elf::ELFDATA2LSB.0) {
            return Err(Error::at(4, "not a 64-bit little-endian ELF file, or cut short"));
        }
        let header = FileHeader64::<LE>::parse(bytes).map_err(|error| Error::at(0, error.to_string()))?;
        let kind = header.e_type(LE);
        if kind != elf::ET_DYN && kind != elf::ET_EXEC {
            return Err(Error::at(16, format!("ELF type {:#x} is neither executable nor shared library", kind.0)));
        }
        let at = header.e_phoff(LE);
        // Loaders take it for the number, others for a sign that section 0 has it.
        if header.e_phnum(LE) == elf::PN_XNUM {
            return Err(Error::at(56, "more program headers than a file of a program has"));
        }
        let program_headers =
            header.program_headers(LE, bytes).map_err(|error| Error::at(at, format!("program headers: {error}")))?;
        if program_headers.len() > limits::MAX_SEGMENTS {
            return Err(Error::at(
                at,
                format!("{} program headers; the limit is {}", program_headers.len(), limits::MAX_SEGMENTS),
            ));
        }
        let machine = match header.e_machine(LE) {
            elf::EM_X86_64 => Some(Machine::X86_64),
            elf::EM_AARCH64 => Some(Machine::Aarch64),
            _ => None,
        };
        let (sections, section_problem) = match sections(header, bytes) {
            Ok(sections) => (sections, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (dynamic, is_unloaded) = (Vec::new(), false);
        let mut elf = Elf { bytes, header, program_headers, dynamic, machine, is_unloaded, section_problem };
        elf.is_unloaded = elf.is_debug();
        if !elf.is_unloaded {
            elf.dynamic = elf.read_dynamic()?;
            elf.is_unloaded = elf.is_firmware();
        }
        Ok((elf, sections))
    }

    /// Returns the end of the last segment, section or header table in the file. What passes the end of the file is not there.
    pub(crate) fn end(&self) -> u64 {
        end(self.header, LE, self.bytes)
    }

    /// Returns the dynamic entry with a tag; of several the last, which is the one that loaders take.
    pub(crate) fn dynamic_entry(&self, tag: DynamicTag) -> Option<&Dynamic> {
        self.dynamic.iter().rev().find(|entry| entry.tag == tag)
    }

    /// Returns the value of the dynamic entry with a tag.
    pub(crate) fn dynamic_value(&self, tag: DynamicTag) -> Option<u64> {
        self.dynamic_entry(tag).map(|entry| entry.value)
    }

    /// Whether the loader chooses the addresses, so that pointers need relocations.
    pub(crate) fn is_position_independent(&self) -> bool {
        self.header.e_type(LE) == elf::ET_DYN
    }

    /// Whether relocations write the file's pointers: where the loader chooses the addresses, and in a program that GNU ld made for
    /// any address and then gave one (`-pie -Ttext-segment=`, `ET_EXEC` with `DF_1_PIE`).
    pub(crate) fn relocates_pointers(&self) -> bool {
        self.is_position_independent() || self.is_flagged_program()
    }

    /// Whether the linker says that this is a program which could be at any address (`DF_1_PIE`).
    pub(crate) fn is_flagged_program(&self) -> bool {
        self.dynamic_value(elf::DT_FLAGS_1).is_some_and(|flags| flags & elf::DF_1_PIE.0 != 0)
    }

    /// Returns the names of the libraries that the file is linked to.
    pub(crate) fn needed<'m>(&self, addresses: &'m AddressMap<'a>) -> Vec<&'m str> {
        let Some(strings) = self.dynamic_value(elf::DT_STRTAB) else { return Vec::new() };
        self.dynamic
            .iter()
            .filter(|entry| entry.tag == elf::DT_NEEDED)
            .take(limits::MAX_SEGMENTS)
            .filter_map(|entry| addresses.c_string_within(strings.checked_add(entry.value)?, limits::MAX_NAME))
            .filter_map(|name| std::str::from_utf8(name).ok())
            .collect()
    }

    /// Whether the dynamic symbol table names an undefined symbol.
    pub(crate) fn imports(&self, addresses: &AddressMap<'a>, wanted: &str) -> bool {
        let (Some(table), Some(strings)) = (self.dynamic_value(elf::DT_SYMTAB), self.dynamic_value(elf::DT_STRTAB))
        else {
            return false;
        };
        // No tag holds the number of symbols. In every linker's output the string table follows the symbol table;
        // otherwise the walk ends with the segment or at the first name outside the strings.
        let Some(tail) = addresses.tail(table) else { return false };
        let size = self.dynamic_value(elf::DT_STRSZ).unwrap_or(0);
        let mut tail = match strings.checked_sub(table).and_then(|len| usize::try_from(len).ok()) {
            Some(len) if len <= tail.len() => tail.get(..len).unwrap_or(tail),
            _ => tail,
        };
        let wanted = [wanted.as_bytes(), &[0]].concat();
        while let Ok((symbol, rest)) = pod::from_bytes::<Sym64<LE>>(tail) {
            let name = u64::from(symbol.st_name.get(LE));
            if name >= size {
                return false;
            }
            if symbol.st_shndx.get(LE) == elf::SHN_UNDEF
                && strings.checked_add(name).and_then(|at| addresses.slice(at, wanted.len() as u64))
                    == Some(&wanted[..])
            {
                return true;
            }
            tail = rest;
        }
        false
    }

    /// Returns the memory image with relocations applied: RELATIVE ones (RELA, RELR) and those against symbols that the file
    /// itself defines. Others keep the value in the file, and their places are open.
    ///
    /// # Errors
    /// `Input` where segments pass the end of the file, overlap, or together hold more than the file, where the dynamic section is
    /// not in memory as in the file, and where relocations are relocated themselves.
    pub(crate) fn address_map(&self) -> Result<AddressMap<'a>> {
        if self.is_unloaded {
            return Ok(AddressMap::default());
        }
        let page = self.page()?;
        self.headers_stay()?;
        // A loader maps a library that asks for an address there, if it is free: pointers need no relocations.
        let is_placed = self.loaded().next().is_some_and(|header| header.p_vaddr(LE) >= page);
        let is_fixed = !self.is_position_independent() || is_placed;
        // Loaders make what cannot be written writable for these.
        let flags = self.dynamic_value(elf::DT_FLAGS).unwrap_or(0);
        let has_text_relocations = flags & elf::DF_TEXTREL.0 != 0 || self.dynamic_value(elf::DT_TEXTREL).is_some();
        let (mut segments, mut uncertain) = (Vec::new(), Vec::new());
        let mut total = 0u64;
        for (index, header) in self.program_headers.iter().enumerate() {
            let is_empty = header.p_filesz(LE) == 0 && !self.has_page_before(header, page);
            if header.p_type(LE) != elf::PT_LOAD || is_empty {
                continue;
            }
            let mapped = self
                .mapped(header, page)
                .ok_or_else(|| Error::at(header.p_offset(LE), format!("segment {index} passes the end of the file")))?;
            // In a position-independent file pointers are in segments that relocations write to. Elsewhere they may be
            // anywhere: linkers without a segment for constants (`-z noseparate-code`, `--no-rosegment`) put them
            // beside the code.
            let holds_pointers = is_fixed || has_text_relocations || header.p_flags(LE).contains(elf::PF_W);
            self.clears_alike(header, page)?;
            for segment in mapped {
                // Pages are no more than the segments.
                total = total.saturating_add(segment.own.len() as u64);
                // Linux and musl clear the rest of the page, too, and newer systems map no page for what has no bytes.
                if segment.address >= header.p_vaddr(LE).saturating_add(memory(header)) || header.p_filesz(LE) == 0 {
                    uncertain.push(segment.address..segment.end());
                }
                segments.push(Segment { holds_pointers, ..segment });
            }
        }
        // A valid file loads each byte once; a hostile one must not multiply its size by relocated copies.
        if total > (self.bytes.len() as u64).saturating_add(1 << 20) {
            return Err(Error::at(self.header.e_phoff(LE), "the loadable segments together hold more than the file"));
        }
        let mut map = AddressMap::new(segments);
        map.leave_open(uncertain);
        self.dynamic_stays(&map)?;
        self.names_end(&map)?;
        match self.machine {
            Some(machine) => self.relocate(machine, is_fixed, &mut map)?,
            None => self.leave_relocations_open(&mut map)?,
        }
        map.check_copies()?;
        map.leave_twice_written_open()?;
        Ok(map)
    }

    /// Checks that the program headers of a program are in memory where it says: the loader takes the difference for the address
    /// of the program (glibc, `rtld_setup_main_map`).
    fn headers_stay(&self) -> Result<()> {
        let begin = self.header.e_phoff(LE);
        let is_there = |kind| self.program_headers.iter().any(|header| header.p_type(LE) == kind);
        let own = self.program_headers.iter().filter(|header| header.p_type(LE) == elf::PT_PHDR);
        let in_memory = |header: &ProgramHeader64<LE>| {
            let behind = begin.checked_sub(header.p_offset(LE)).filter(|behind| *behind < header.p_filesz(LE))?;
            header.p_vaddr(LE).checked_add(behind)
        };
        let mut places: Vec<u64> = self.loaded().filter_map(in_memory).collect();
        places.dedup();
        // Linux before 5.18 looks for them as if the first segment held them.
        let from_first =
            |first: &ProgramHeader64<LE>| first.p_vaddr(LE).wrapping_sub(first.p_offset(LE)).wrapping_add(begin);
        let expected: Vec<u64> = self.loaded().take(1).map(from_first).collect();
        for header in own.filter(|_| is_there(elf::PT_INTERP)) {
            if header.p_offset(LE) != begin || places != [header.p_vaddr(LE)] || places != expected {
                return Err(Error::at(begin, "the program headers are not in memory where they say that they are"));
            }
        }
        Ok(())
    }

    /// Checks that the names of libraries end within the strings, which no relocation changes: loaders read them before, and do not
    /// ask how long the strings are.
    fn names_end(&self, map: &AddressMap<'a>) -> Result<()> {
        let needed = self.dynamic.iter().filter(|entry| entry.tag == elf::DT_NEEDED);
        let (strings, size) = (self.dynamic_value(elf::DT_STRTAB), self.dynamic_value(elf::DT_STRSZ));
        for (nth, entry) in needed.enumerate() {
            let name = || {
                let room = size?.checked_sub(entry.value)?.min(limits::MAX_STRING as u64);
                map.c_string_within(strings?.checked_add(entry.value)?, usize::try_from(room).ok()?)
            };
            if nth >= limits::MAX_SEGMENTS || name().is_none() {
                return Err(Error::at(
                    entry.offset,
                    "the name of a library is not among the strings, or one of too many",
                ));
            }
        }
        Ok(())
    }

    /// Checks that the dynamic section is in memory what it is in the file: loaders go by its address, up to its end.
    fn dynamic_stays(&self, map: &AddressMap<'a>) -> Result<()> {
        let Some(header) = self.dynamic_header() else { return Ok(()) };
        let (address, offset) = (header.p_vaddr(LE), header.p_offset(LE));
        let in_memory = map.tail(address).map_or(0, |tail| tail.len() as u64);
        let size = (self.dynamic.len() as u64).saturating_add(1).saturating_mul(size_of::<Dyn64<LE>>() as u64);
        if map.file_offset(address) != Some(offset) || size > in_memory.min(header.p_filesz(LE)) {
            return Err(Error::at(
                offset,
                "the dynamic section is not in memory where it is in the file, or has no end",
            ));
        }
        Ok(())
    }

    /// Returns the program header of the dynamic section; of several the last, which is the one that loaders take.
    fn dynamic_header(&self) -> Option<&'a ProgramHeader64<LE>> {
        self.program_headers.iter().rev().find(|header| header.p_type(LE) == elf::PT_DYNAMIC)
    }

    /// Reads the dynamic section, as far as its header says or up to its end.
    fn read_dynamic(&self) -> Result<Vec<Dynamic>> {
        let Some(header) = self.dynamic_header() else { return Ok(Vec::new()) };
        let start = header.p_offset(LE);
        let data = header
            .data(LE, self.bytes)
            .map_err(|()| Error::at(start, "the dynamic section passes the end of the file"))?;
        let mut entries = Vec::new();
        let mut rest = data;
        while let Ok((entry, tail)) = pod::from_bytes::<Dyn64<LE>>(rest) {
            let tag = entry.d_tag.get(LE);
            if tag == elf::DT_NULL {
                break;
            }
            let offset = start.saturating_add((data.len() - rest.len()) as u64);
            entries.push(Dynamic { tag, value: entry.d_val.get(LE), offset });
            rest = tail;
        }
        Ok(entries)
    }

    /// Notes the places of relocations of a machine whose relocations are not known.
    fn leave_relocations_open(&self, map: &mut AddressMap<'a>) -> Result<()> {
        let with_addends = self.dynamic_value(elf::DT_PLTREL) == Some(elf::DT_RELA.0.cast_unsigned());
        let table = (elf::DT_JMPREL, elf::DT_PLTRELSZ);
        let mut open: Vec<u64> = Vec::new();
        for (start, size) in [(elf::DT_RELA, elf::DT_RELASZ)].into_iter().chain(with_addends.then_some(table)) {
            open.extend(self.table::<Rela64<LE>>(map, start, size)?.iter().map(|one| one.r_offset.get(LE)));
        }
        for (start, size) in [(elf::DT_REL, elf::DT_RELSZ)].into_iter().chain((!with_addends).then_some(table)) {
            open.extend(self.table::<Rel64<LE>>(map, start, size)?.iter().map(|one| one.r_offset.get(LE)));
        }
        // Copies of other files' symbols are where this one has zeros.
        open.retain(|place| map.tail(*place).is_some());
        map.leave_open(open.iter().copied().map(written).collect());
        map.set_open_pointers(open);
        self.relocate_runs(map)?;
        // Some loaders write what no table names.
        map.set_all_varying(!self.dynamic.is_empty());
        Ok(())
    }

    /// Applies relocations.
    ///
    /// # Errors
    /// `Input` where a relocation writes into the tables that say what is relocated.
    fn relocate(&self, machine: Machine, is_fixed: bool, map: &mut AddressMap<'a>) -> Result<()> {
        // Looked up once: a hostile dynamic section is as long as the file.
        let symbols = self.dynamic_value(elf::DT_SYMTAB);
        let relative = self.dynamic_value(elf::DT_RELACOUNT).unwrap_or(0);
        let (mut open, mut varying, mut places, mut used) = (Vec::new(), Vec::new(), 0u64, Vec::new());
        let mut pointers = Vec::new();
        // Copies that do not overlap are of no more bytes than the file has.
        let mut copied = (self.bytes.len() as u64).saturating_add(1 << 20);
        for (start, size) in [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)] {
            let is_plt = start == elf::DT_JMPREL;
            if is_plt && self.dynamic_value(elf::DT_PLTREL) != Some(elf::DT_RELA.0.cast_unsigned()) {
                continue;
            }
            for (nth, rela) in self.table::<Rela64<LE>>(map, start, size)?.iter().enumerate() {
                let addend = rela.r_addend.get(LE).cast_unsigned();
                let kind = rela.r_type(LE, false).0;
                let symbol = || symbol(map, symbols, rela.r_sym(LE, false));
                let place = rela.r_offset.get(LE);
                places |= place;
                // glibc takes so many for RELATIVE ones, whatever they are.
                if !is_plt && (nth as u64) < relative && kind != machine.relative() {
                    pointers.push(place);
                    open.push(written(place));
                    continue;
                }
                let value = if kind == machine.relative() {
                    Some(addend)
                } else if machine == Machine::X86_64 && X86_64_SLOTS.contains(&kind) && addend != 0 {
                    // glibc writes the symbol's value alone.
                    None
                } else if machine.symbolic().contains(&kind) {
                    let symbol = symbol().filter(|symbol| is_address(symbol));
                    used.push(rela.r_sym(LE, false));
                    varying.extend(symbol.filter(|symbol| is_preemptible(symbol)).map(|_| place));
                    symbol.map(|symbol| symbol.st_value.get(LE).wrapping_add(addend))
                } else {
                    None
                };
                // `R_X86_64_NONE` and `R_AARCH64_NONE` write nothing.
                match value {
                    Some(value) => map.relocate(place, value),
                    None if kind == 0 => {}
                    None if kind == machine.copy() => {
                        used.push(rela.r_sym(LE, false));
                        let size = symbol().map(|symbol| symbol.st_size.get(LE)).ok_or_else(|| {
                            let offset = map.file_offset(place).unwrap_or(0);
                            Error::at(offset, "a relocation copies a symbol that the file does not have")
                        })?;
                        let end = place.saturating_add(size);
                        let met = map.met(place..end);
                        open.extend((!met.is_empty()).then_some(place..end));
                        for met in met {
                            // Notes on a piece take more than few bytes.
                            let cost = met.end.saturating_sub(met.start).max(64);
                            copied = copied.checked_sub(cost).ok_or_else(|| {
                                let offset = map.file_offset(met.start).unwrap_or(0);
                                Error::at(offset, "relocations copy symbols over each other")
                            })?;
                            // Any word may be a field, wherever a structure stands.
                            let words = |begin: u64| (begin..met.end).step_by(WRITTEN as usize);
                            pointers.extend(words(met.start & !7));
                            pointers.extend(words(met.start).filter(|_| met.start & 7 != 0));
                        }
                    }
                    None if kind == machine.descriptor() => {
                        let words = [place, place.saturating_add(WRITTEN)];
                        pointers.extend(words);
                        open.extend(words.map(written));
                    }
                    None => {
                        pointers.push(place);
                        open.push(written(place));
                    }
                }
            }
        }
        map.leave_open(open);
        map.set_open_pointers(pointers);
        // Not every loader reads this table: glibc does not, musl does.
        for rel in self.table::<Rel64<LE>>(map, elf::DT_REL, elf::DT_RELSZ)? {
            let place = rel.r_offset.get(LE);
            places |= place;
            varying.push(place);
            let symbol = symbol(map, symbols, rel.r_sym(LE)).filter(|symbol| is_address(symbol));
            // The addend is in place, so a RELATIVE relocation at base 0 changes nothing.
            if machine.symbolic().contains(&rel.r_type(LE).0)
                && let (Some(symbol), Some(addend)) = (symbol, map.pointer(place))
            {
                map.relocate(place, symbol.st_value.get(LE).wrapping_add(addend));
            } else {
                map.mark(place);
            }
        }
        map.set_varying(varying);
        places |= self.relocate_runs(map)?;
        if !is_fixed {
            map.set_relocated();
        }
        if !is_fixed && places & 7 == 0 {
            map.set_aligned();
        }
        self.tables_stay(map, &used)
    }

    /// Notes the places of packed relocations. Returns their addresses, one laid over the other.
    fn relocate_runs(&self, map: &mut AddressMap<'a>) -> Result<u64> {
        // RELR relocations are relative with the addend in place, so at base 0 nothing changes. Even entries are the first
        // places of runs, odd ones the bits of the 63 words that follow (`generic-abi`, `SHT_RELR`).
        let (mut next, mut places) = (0u64, 0);
        for entry in self.table::<U64<LE>>(map, elf::DT_RELR, elf::DT_RELRSZ)?.iter().map(|entry| entry.get(LE)) {
            if entry & 1 == 0 {
                places |= entry;
                map.mark(entry);
                next = entry.wrapping_add(8);
                continue;
            }
            // A table of megabytes may be about nothing in the file.
            let mut bits = if map.meets(next, 63 * 8) { entry >> 1 } else { 0 };
            while bits != 0 {
                map.mark(next.wrapping_add(u64::from(bits.trailing_zeros()) * 8));
                bits &= bits - 1;
            }
            next = next.wrapping_add(63 * 8);
        }
        Ok(places)
    }

    /// Checks that no relocation writes into what says which relocations there are, or into the symbols that they use.
    fn tables_stay(&self, map: &AddressMap<'a>, used: &[u32]) -> Result<()> {
        let range = |start, size| Some((self.dynamic_value(start)?, self.dynamic_value(size)?));
        const SYMBOL: u64 = size_of::<Sym64<LE>>() as u64;
        let symbols = self.dynamic_value(elf::DT_SYMTAB).into_iter();
        let symbols = symbols.flat_map(|table| {
            used.iter().map(move |index| table.saturating_add(u64::from(*index).saturating_mul(SYMBOL)))
        });
        let tables = [
            range(elf::DT_RELA, elf::DT_RELASZ),
            range(elf::DT_JMPREL, elf::DT_PLTRELSZ),
            range(elf::DT_RELR, elf::DT_RELRSZ),
            range(elf::DT_REL, elf::DT_RELSZ),
            range(elf::DT_STRTAB, elf::DT_STRSZ),
            self.dynamic_header().map(|header| (header.p_vaddr(LE), header.p_filesz(LE))),
        ];
        for (start, size) in tables.into_iter().flatten().chain(symbols.map(|symbol| (symbol, SYMBOL))) {
            if let Some(place) = map.first_changed(start, size) {
                let message =
                    format!("a relocation at address {place:#x} writes into the tables of relocations or symbols");
                let offset = map.file_offset(place).unwrap_or(0);
                return Err(Error::at(offset, message));
            }
        }
        Ok(())
    }

    /// Returns a relocation table named by two dynamic entries, unrelocated, as loaders read it.
    ///
    /// # Errors
    /// `Input` where it is not in one segment, or has no whole number of entries.
    fn table<T: pod::Pod>(&self, map: &AddressMap<'a>, start: DynamicTag, size: DynamicTag) -> Result<&'a [T]> {
        let (Some(entry), Some(size)) = (self.dynamic_entry(start), self.dynamic_value(size).filter(|size| *size > 0))
        else {
            return Ok(&[]);
        };
        let table = || {
            let offset = usize::try_from(map.file_offset(entry.value)?).ok()?;
            let len = usize::try_from(size).ok().filter(|len| len.is_multiple_of(size_of::<T>()))?;
            map.tail(entry.value)?.get(..len)?;
            let count = len.checked_div(size_of::<T>())?;
            pod::slice_from_bytes::<T>(self.bytes.get(offset..)?, count).ok().map(|(slice, _)| slice)
        };
        table()
            .ok_or_else(|| Error::at(entry.offset, "a table of relocations is not in one segment, or ends in an entry"))
    }
}

/// Returns a symbol of a dynamic symbol table.
fn symbol<'m>(map: &'m AddressMap<'_>, table: Option<u64>, index: u32) -> Option<&'m Sym64<LE>> {
    let at = table?.checked_add(u64::from(index).checked_mul(size_of::<Sym64<LE>>() as u64)?)?;
    Some(pod::from_bytes::<Sym64<LE>>(map.tail(at)?).ok()?.0)
}

/// Whether a loader looks for the symbol by its name, so that another file of the program may define it first, or a program have
/// another of this name.
fn is_preemptible(symbol: &Sym64<LE>) -> bool {
    symbol.st_bind() != elf::STB_LOCAL && ![elf::STV_HIDDEN, elf::STV_INTERNAL].contains(&symbol.st_visibility())
}

/// Whether the value of a symbol is an address of the file: not of one that others define, nor what a function returns.
fn is_address(symbol: &Sym64<LE>) -> bool {
    let section = symbol.st_shndx.get(LE);
    section != elf::SHN_UNDEF
        && section != elf::SHN_ABS
        && ![elf::STT_GNU_IFUNC, elf::STT_TLS].contains(&symbol.st_type())
}

fn sections<'a>(header: &'a FileHeader64<LE>, bytes: &'a [u8]) -> Result<Vec<Section<'a>>> {
    let at = header.e_shoff(LE);
    let table = header.sections(LE, bytes).map_err(|error| Error::at(at, format!("section headers: {error}")))?;
    let mut sections = Vec::new();
    let (mut budget, mut unended) = (limits::MAX_STRING_BYTES, 0usize);
    for section in table.iter() {
        let name = table.section_name(LE, section);
        // A name without an end is looked for up to that of the names.
        unended = unended.saturating_add(usize::from(name.is_err()));
        budget = budget.saturating_sub(name.map_or(0, <[u8]>::len));
        let name = name.ok().and_then(|name| std::str::from_utf8(name).ok());
        if budget == 0 || unended > limits::MAX_UNENDED {
            return Err(Error::at(at, "the names of the sections overlap, or do not end; too many bytes in all"));
        }
        // LLVM goes by the type.
        let name = if section.sh_type(LE).0 == super::SHT_OFFLOADING { Some(super::OFFLOADING) } else { name };
        if let (Some(name), Ok(data)) = (name.filter(|name| name.len() < limits::MAX_NAME), section.data(LE, bytes)) {
            sections.push(Section { name, address: section.sh_addr(LE), offset: section.sh_offset(LE), data });
        }
    }
    Ok(sections)
}
