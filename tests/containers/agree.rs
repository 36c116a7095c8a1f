//! Do our memory image of a file and the one that an independent reader of ELF makes agree, byte for byte?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::host::matrix;
use goblin::elf::{Elf, program_header, reloc};
use sycl_bundle::container::Host;

const DT_RELR: u64 = 36;
const DT_RELRSZ: u64 = 35;

/// The bytes of a file by virtual address, relocated by goblin's tables.
struct Memory<'a> {
    elf: &'a Elf<'a>,
    segments: BTreeMap<u64, Vec<u8>>,
}

impl<'a> Memory<'a> {
    fn new(elf: &'a Elf<'a>, bytes: &[u8]) -> Self {
        let loads = elf.program_headers.iter().filter(|header| header.p_type == program_header::PT_LOAD);
        let segments = loads.map(|header| (header.p_vaddr, bytes[header.file_range()].to_vec()));
        Memory { elf, segments: segments.filter(|(_, data)| !data.is_empty()).collect() }
    }

    fn word(&mut self, address: u64) -> &mut [u8; 8] {
        let (start, data) = self.segments.range_mut(..=address).next_back().unwrap();
        let at = usize::try_from(address - start).unwrap();
        (&mut data[at..at + 8]).try_into().unwrap()
    }

    fn get(&mut self, address: u64) -> u64 {
        u64::from_le_bytes(*self.word(address))
    }

    fn dynamic(&self, tag: u64) -> Option<u64> {
        self.elf.dynamic.as_ref()?.dyns.iter().find(|entry| entry.d_tag == tag).map(|entry| entry.d_val)
    }

    /// Applies what goblin lists; returns the places of relative relocations with their addends.
    fn relocate(&mut self) -> Vec<(u64, u64)> {
        let mut relative = Vec::new();
        let tables = [&self.elf.dynrelas, &self.elf.dynrels, &self.elf.pltrelocs];
        for relocation in tables.into_iter().flat_map(|table| table.iter()) {
            let place = relocation.r_offset;
            // Of REL the addend stands in place.
            let addend = relocation.r_addend.map_or_else(|| self.get(place), i64::cast_unsigned);
            let value = match relocation.r_type {
                reloc::R_X86_64_RELATIVE => {
                    relative.push((place, addend));
                    addend
                }
                reloc::R_X86_64_64 | reloc::R_X86_64_GLOB_DAT => {
                    let symbol = self.elf.dynsyms.get(relocation.r_sym).unwrap();
                    if symbol.st_shndx == 0 {
                        continue;
                    }
                    symbol.st_value.wrapping_add(addend)
                }
                _ => continue,
            };
            *self.word(place) = value.to_le_bytes();
        }
        for place in self.relr() {
            relative.push((place, self.get(place)));
        }
        relative
    }

    /// The places of `DT_RELR`, decoded as the gABI's own example does.
    fn relr(&mut self) -> Vec<u64> {
        let (Some(table), Some(size)) = (self.dynamic(DT_RELR), self.dynamic(DT_RELRSZ)) else { return Vec::new() };
        let (mut places, mut base) = (Vec::new(), 0);
        for at in (table..table + size).step_by(8) {
            let mut entry = self.get(at);
            if entry & 1 == 0 {
                places.push(entry);
                base = entry + 8;
                continue;
            }
            let mut place = base;
            while entry > 1 {
                entry >>= 1;
                if entry & 1 == 1 {
                    places.push(place);
                }
                place += 8;
            }
            base += 63 * 8;
        }
        places
    }
}

#[test]
fn relocated_files_are_the_same_in_memory() {
    let total = AtomicUsize::new(0);
    matrix::each(&[matrix::forms(), matrix::layouts()].concat(), |form| {
        let file = form.build();
        let bytes = std::fs::read(&file).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        let host = Host::read(&bytes).unwrap();
        let mut memory = Memory::new(&elf, &bytes);
        let relative = memory.relocate();
        assert!(form.is_fixed() || relative.len() > 4, "{}", file.display());
        for (place, addend) in &relative {
            assert_eq!(host.addresses.pointer(*place), Some(*addend), "{} {place:#x}", file.display());
        }
        // Whole pages are read, the segments of which the other reader knows alone.
        for (address, bytes) in &memory.segments {
            let ours = host.addresses.segments().iter().find_map(|segment| {
                let at = usize::try_from(address.checked_sub(segment.address)?).ok()?;
                segment.data.get(at..at + bytes.len())
            });
            assert!(ours == Some(bytes), "{}: the segment at {address:#x} differs", file.display());
        }
        total.fetch_add(relative.len(), Ordering::Relaxed);
    });
    assert!(total.into_inner() > 10_000);
}
