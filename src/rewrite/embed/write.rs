//! How is the added segment written into the file?
//!
//! Loaders need no section headers, but `strip`, debuggers and linkers use them: every byte of the added segment
//! belongs to a section, and the moved relocation table keeps its name. The old header table and names stay in place,
//! unused; extended copies are at the end of the file.

use super::plan::{PAYLOAD_ALIGN, Plan, header_count, kept_headers, segment_align};
use super::record::Patch;
use crate::bytes;
use crate::bytes::Draft;
use crate::container::Host;
use crate::container::elf::Elf;
use crate::error::{Error, Result};
use object::elf::{self, FileHeader64, PF_R, PF_W, PT_LOAD, PT_PHDR, ProgramHeader64, SectionHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{LittleEndian as LE, U32, U64};

/// Bytes for which room is made behind the segment: section names and headers of most files.
const HEADERS_ROOM: usize = 64 << 10;

impl Plan<'_> {
    /// Returns the file offset of an address in the segment.
    fn at(&self, address: u64) -> u64 {
        address.saturating_sub(self.address).saturating_add(self.offset)
    }

    /// Returns the rewritten file.
    ///
    /// # Errors
    /// `Input` where the file has no room for a change.
    pub(crate) fn write(mut self, host: &Host<'_>, elf: &Elf<'_>) -> Result<Draft> {
        let len = index(self.at(self.end))?;
        let mut out = Draft::copy_of(host.bytes, len.saturating_sub(host.bytes.len()).saturating_add(HEADERS_ROOM))?;
        out.resize(len)?;
        let sections = self.sections();
        let moved = self.table.old_address().map(|old_address| Moved {
            old_address,
            old_size: self.table.old_size(),
            address: self.relocations_address,
            offset: self.at(self.relocations_address),
            size: self.relocations.len() as u64,
        });
        let headers = append(&mut out, host.bytes, moved.as_ref(), &sections)?;

        let mut patches = Vec::new();
        let mut patch = |out: &mut [u8], offset: u64, value: u64| -> Result<()> {
            let at = index(offset)?;
            let original = bytes::u64_at(out, at).ok_or_else(|| Error::at(offset, "nothing to patch there"))?;
            patches.push(Patch { offset, original });
            if bytes::put_u64(out, at, value) { Ok(()) } else { Err(Error::at(offset, "nothing to patch there")) }
        };
        // File header: e_phoff at 32, e_shoff at 40, and at 56 the word of e_phnum, e_shentsize, e_shnum, e_shstrndx.
        patch(&mut out, 32, self.at(self.headers))?;
        let e_shoff = headers.as_ref().map_or(elf.header.e_shoff(LE), |table| table.offset);
        patch(&mut out, 40, e_shoff)?;
        let e_phnum = header_count(elf, self.before);
        let e_shnum = headers.as_ref().map_or(elf.header.e_shnum(LE), |table| table.count);
        let counts = e_phnum
            | u64::from(elf.header.e_shentsize(LE)) << 16
            | u64::from(e_shnum) << 32
            | u64::from(elf.header.e_shstrndx(LE).0) << 48;
        patch(&mut out, 56, counts)?;
        for (tag, value) in self.table.dynamic(self.relocations_address, &self.relocations, self.relocation_count) {
            let entry = elf.dynamic_entry(tag);
            let entry = entry.ok_or_else(|| Error::input("the dynamic section lacks the entry to change"))?;
            patch(&mut out, entry.offset.saturating_add(8), value)?;
        }
        for array in &self.arrays {
            for descriptor in &array.descriptors {
                let descriptor = host.addresses.file_offset(*descriptor);
                let descriptor = descriptor.ok_or_else(|| Error::input("a descriptor is not in the file"))?;
                patch(&mut out, descriptor, 1 | (array.structures.len() as u64) << 16)?;
                patch(&mut out, descriptor.saturating_add(8), array.address)?;
            }
        }
        for address in &self.unlisted {
            let word = host.addresses.file_offset(*address);
            patch(&mut out, word.ok_or_else(|| Error::input("what is in no list any more is not in the file"))?, 0)?;
        }
        self.record.patches = patches;
        self.record.embedded_len = out.len() as u64;

        let mut put = |address: u64, bytes: &[u8]| -> Result<()> {
            let at = self.at(address);
            let done = bytes::put(&mut out, index(at)?, bytes);
            if done { Ok(()) } else { Err(Error::at(at, "the added segment is too small")) }
        };
        put(self.record_address, &self.record.to_bytes())?;
        put(self.headers, &self.program_headers(elf))?;
        for array in &self.arrays {
            let mut address = array.address;
            for structure in &array.structures {
                put(address, &structure.bytes)?;
                address = address.saturating_add(structure.bytes.len() as u64);
            }
        }
        put(self.targets_address, &self.targets)?;
        put(self.relocations_address, &self.relocations)?;
        for (address, table) in &self.tables {
            put(*address, table)?;
        }
        for payload in &self.payloads {
            put(payload.address, payload.bytes)?;
        }
        Ok(out)
    }

    /// Returns the program headers with the new segment. Loadable segments are in address order, and `PT_PHDR` holds
    /// the table's new address.
    fn program_headers(&self, elf: &Elf<'_>) -> Vec<u8> {
        let headers = kept_headers(elf);
        let last = headers.iter().rposition(|header| header.p_type(LE) == PT_LOAD);
        let size = header_count(elf, self.before).saturating_mul(size_of::<ProgramHeader64<LE>>() as u64);
        let mut out = Vec::new();
        for (index, mut header) in headers.into_iter().enumerate() {
            if header.p_type(LE) == PT_PHDR {
                header.p_offset = U64::new(LE, self.at(self.headers));
                header.p_vaddr = U64::new(LE, self.headers);
                header.p_paddr = U64::new(LE, self.headers);
                header.p_filesz = U64::new(LE, size);
                header.p_memsz = U64::new(LE, size);
            }
            out.extend_from_slice(bytes_of(&header));
            if Some(index) == last {
                let segment = |address: u64, end: u64, align: u64| ProgramHeader64::<LE> {
                    p_type: U32::new(LE, PT_LOAD),
                    // `eu-elflint` takes relocations far before a segment that is not writable for some of it.
                    p_flags: U32::new(LE, PF_R | PF_W),
                    p_offset: U64::new(LE, self.at(address)),
                    p_vaddr: U64::new(LE, address),
                    p_paddr: U64::new(LE, address),
                    p_filesz: U64::new(LE, end.saturating_sub(address)),
                    p_memsz: U64::new(LE, end.saturating_sub(address)),
                    p_align: U64::new(LE, align),
                };
                let start = self.address.saturating_add(self.before);
                if self.before != 0 {
                    out.extend_from_slice(bytes_of(&segment(self.address, start, self.before_align)));
                }
                out.extend_from_slice(bytes_of(&segment(start, self.end, segment_align(elf))));
            }
        }
        out
    }

    /// Returns the sections of the segment: `.sycl_bundle` for this tool's data, `.sycl_bundle.page` for what stands
    /// before, without which GNU strip would drop its segment, and one section for each run of payloads of one target, named as DPC++'s wrapper names it.
    fn sections(&self) -> Vec<New> {
        let section = |name: String, address: u64, size: u64, align: u64, writable: bool| New {
            name,
            address,
            offset: self.at(address),
            size,
            align,
            writable,
        };
        let size = self.relocations_address.saturating_sub(self.record_address);
        let before =
            (self.before != 0).then(|| section(".sycl_bundle.page".to_owned(), self.address, self.before, 1, true));
        let mut out: Vec<New> = before.into_iter().collect();
        out.push(section(".sycl_bundle".to_owned(), self.record_address, size, 8, true));
        for payload in &self.payloads {
            let name = format!("__CLANG_OFFLOAD_BUNDLE__sycl-{}", payload.target);
            let len = payload.bytes.len() as u64;
            let end = payload.address.saturating_add(len);
            match out.last_mut() {
                Some(last) if last.name == name => last.size = end.saturating_sub(last.address),
                _ => out.push(section(name, payload.address, len, PAYLOAD_ALIGN, false)),
            }
        }
        if let Some(last) = out.last_mut().filter(|_| !self.payloads.is_empty()) {
            last.size = self.end.saturating_sub(last.address);
        }
        out
    }
}

fn index(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| Error::input("the rewritten file would not fit in memory"))
}

/// Section to add.
pub(crate) struct New {
    /// Name of the section.
    pub(crate) name: String,
    /// Virtual address.
    pub(crate) address: u64,
    /// File offset.
    pub(crate) offset: u64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Alignment.
    pub(crate) align: u64,
    /// Whether relocations write to the section.
    pub(crate) writable: bool,
}

/// Section whose contents moved; it is found by its old address.
pub(crate) struct Moved {
    /// Old address.
    pub(crate) old_address: u64,
    /// Old size in bytes; what the section has behind them stays.
    pub(crate) old_size: u64,
    /// New address.
    pub(crate) address: u64,
    /// New file offset.
    pub(crate) offset: u64,
    /// New size in bytes.
    pub(crate) size: u64,
}

/// New section header table.
pub(crate) struct Table {
    /// File offset.
    pub(crate) offset: u64,
    /// Number of headers.
    pub(crate) count: u16,
}

/// Appends extended copies of the section names and headers to `out`. Returns none where the file has no usable ones.
///
/// # Errors
/// `Input` where the header table has no room for more (the count is a 16-bit field).
pub(crate) fn append(out: &mut Draft, original: &[u8], moved: Option<&Moved>, new: &[New]) -> Result<Option<Table>> {
    let Ok(header) = FileHeader64::<LE>::parse(original) else { return Ok(None) };
    let (Ok(sections), Ok(names_at)) = (header.section_headers(LE, original), header.shstrndx(LE, original)) else {
        return Ok(None);
    };
    // Section 0 is the null section: the file has no section names.
    let names_header = sections.get(names_at as usize).filter(|_| names_at != 0);
    let Some(names_header) = names_header else { return Ok(None) };
    let Ok(names) = names_header.data(LE, original) else { return Ok(None) };
    let is_moved = |section: &SectionHeader64<LE>| {
        let is_table = matches!(section.sh_type(LE), elf::SHT_RELA | elf::SHT_RELR) && section.sh_size(LE) > 0;
        moved.filter(|moved| is_table && section.sh_addr(LE) == moved.old_address)
    };
    // The PLT's relocations may stand behind those that move.
    let parted = sections.iter().find_map(|section| {
        let size = section.sh_size(LE).checked_sub(is_moved(section)?.old_size)?;
        (size > 0 && section.sh_type(LE) == elf::SHT_RELA).then_some((*section, size))
    });
    let total = sections.len().saturating_add(new.len()).saturating_add(usize::from(parted.is_some()));
    if total >= usize::from(elf::SHN_LORESERVE) {
        return Err(Error::at(header.e_shoff(LE), "too many sections to add any")
            .with_remedy("strip the section headers, or use --emit shared"));
    }
    let names_offset = out.len() as u64;
    let mut names = names.to_vec();
    let mut added = Vec::new();
    for section in new {
        let name = u32::try_from(names.len()).unwrap_or(0);
        names.extend_from_slice(section.name.as_bytes());
        names.push(0);
        added.push(describe(section, name));
    }
    if let Some((mut rest, size)) = parted {
        let old_size = rest.sh_size(LE).saturating_sub(size);
        // GNU strip fills with zeros what no section covers, and patchelf looks for them by name.
        rest.sh_name = U32::new(LE, u32::try_from(names.len()).unwrap_or(0));
        rest.sh_addr = U64::new(LE, rest.sh_addr(LE).saturating_add(old_size));
        rest.sh_offset = U64::new(LE, rest.sh_offset(LE).saturating_add(old_size));
        rest.sh_size = U64::new(LE, size);
        names.extend_from_slice(b".rela.plt\0");
        added.insert(0, rest);
    }
    out.extend(&names)?;
    let names_size = names.len() as u64;
    let offset = bytes::align_up(out.len() as u64, 8).unwrap_or(u64::MAX);
    out.resize(usize::try_from(offset).unwrap_or(out.len()))?;
    let mut table = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let mut copy = *section;
        if index == names_at as usize {
            copy.sh_offset = U64::new(LE, names_offset);
            copy.sh_size = U64::new(LE, names_size);
        }
        if let Some(moved) = is_moved(section) {
            copy.sh_addr = U64::new(LE, moved.address);
            copy.sh_offset = U64::new(LE, moved.offset);
            copy.sh_size = U64::new(LE, moved.size);
        }
        table.extend_from_slice(bytes_of(&copy));
    }
    added.iter().for_each(|section| table.extend_from_slice(bytes_of(section)));
    out.extend(&table)?;
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
