//! How is the added segment written into the file?

use super::place::{kept_headers, segment_align};
use super::plan::{PAYLOAD_ALIGN, Plan};
use super::record::Patch;
use super::sections;
use crate::bytes;
use crate::container::Host;
use crate::container::elf::Elf;
use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::U64;
use object::elf::{PF_R, PF_W, PT_LOAD, PT_PHDR, ProgramHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, ProgramHeader};

impl Plan<'_> {
    /// Returns the file offset of an address in the segment.
    fn at(&self, address: u64) -> u64 {
        address.saturating_sub(self.address).saturating_add(self.offset)
    }

    /// Returns the rewritten file.
    ///
    /// # Errors
    /// `Input` where the file has no room for a change.
    pub fn write(mut self, host: &Host<'_>, elf: &Elf<'_>) -> Result<Vec<u8>> {
        let mut out = host.bytes.to_vec();
        out.resize(index(self.at(self.end))?, 0);
        let sections = self.sections();
        let moved = self.table.old_address().map(|old_address| sections::Moved {
            old_address,
            address: self.relocations_address,
            offset: self.at(self.relocations_address),
            size: self.relocations.len() as u64,
        });
        let headers = sections::append(&mut out, host.bytes, moved.as_ref(), &sections)?;

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
        let e_phnum = kept_headers(elf).len() as u64 + 1;
        let e_shnum = headers.as_ref().map_or(elf.header.e_shnum(LE), |table| table.count);
        let counts = e_phnum
            | u64::from(elf.header.e_shentsize(LE)) << 16
            | u64::from(e_shnum) << 32
            | u64::from(elf.header.e_shstrndx(LE).0) << 48;
        patch(&mut out, 56, counts)?;
        for (tag, value) in self.table.dynamic(self.relocations_address, &self.relocations, self.relocation_count) {
            let entry = elf.dynamic.iter().find(|entry| entry.tag == tag);
            let entry = entry.ok_or_else(|| Error::input("the dynamic section lacks the entry to change"))?;
            patch(&mut out, entry.offset.saturating_add(8), value)?;
        }
        for array in &self.arrays {
            let descriptor = host.addresses.file_offset(array.descriptor);
            let descriptor = descriptor.ok_or_else(|| Error::input("a descriptor is not in the file"))?;
            patch(&mut out, descriptor, 1 | (array.structures.len() as u64) << 16)?;
            patch(&mut out, descriptor.saturating_add(8), array.address)?;
        }
        for address in &self.unlisted {
            let size = host.addresses.file_offset(*address);
            patch(&mut out, size.ok_or_else(|| Error::input("section .tgtimg is not in the file"))?, 0)?;
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
        let size = (headers.len() as u64 + 1) * size_of::<ProgramHeader64<LE>>() as u64;
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
                let size = self.end.saturating_sub(self.address);
                out.extend_from_slice(bytes_of(&ProgramHeader64::<LE> {
                    p_type: object::U32::new(LE, PT_LOAD),
                    p_flags: object::U32::new(LE, PF_R | PF_W),
                    p_offset: U64::new(LE, self.offset),
                    p_vaddr: U64::new(LE, self.address),
                    p_paddr: U64::new(LE, self.address),
                    p_filesz: U64::new(LE, size),
                    p_memsz: U64::new(LE, size),
                    p_align: U64::new(LE, segment_align(elf)),
                }));
            }
        }
        out
    }

    /// Returns the sections of the segment: `.sycl_bundle` for this tool's data, and one section for each run of
    /// payloads of one target, named as DPC++'s wrapper names it.
    fn sections(&self) -> Vec<sections::New> {
        let section = |name: String, address: u64, size: u64, align: u64, writable: bool| sections::New {
            name,
            address,
            offset: self.at(address),
            size,
            align,
            writable,
        };
        let size = self.relocations_address.saturating_sub(self.record_address);
        let mut out = vec![section(".sycl_bundle".to_owned(), self.record_address, size, 8, true)];
        for payload in &self.payloads {
            let name = format!("__CLANG_OFFLOAD_BUNDLE__sycl-{}", payload.target);
            let len = payload.bytes.len() as u64;
            let end = payload.address.saturating_add(len);
            match out.last_mut() {
                Some(last) if last.name == name => last.size = end.saturating_sub(last.address),
                _ => out.push(section(name, payload.address, len, PAYLOAD_ALIGN, false)),
            }
        }
        out
    }
}

fn index(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| Error::input("the rewritten file would not fit in memory"))
}
