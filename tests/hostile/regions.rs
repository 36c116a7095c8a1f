//! Where in a file do mutations hurt, and how is one made?
//!
//! Places come from goblin, which is not the reader under test.

use goblin::elf::Elf;

/// The ranges of a file that a reader of device code depends on.
pub struct Regions {
    ranges: Vec<std::ops::Range<usize>>,
    /// Offset at which the last loadable segment ends in the file.
    pub loaded_end: usize,
}

impl Regions {
    /// Finds them in a sound ELF file.
    pub fn read(file: &[u8]) -> Regions {
        let elf = Elf::parse(file).unwrap();
        let header = &elf.header;
        let table = |at: u64, count: u16, size: u16| at as usize..at as usize + usize::from(count) * usize::from(size);
        let mut ranges = vec![
            0..64,
            table(header.e_phoff, header.e_phnum, header.e_phentsize),
            table(header.e_shoff, header.e_shnum, header.e_shentsize),
        ];
        // Descriptors, image structures, entries and property sets lie in .data.rel.ro, values in .rodata; the
        // pointers among them in .rela.dyn.
        for wanted in [".data.rel.ro", ".data", ".tgtimg", ".rela.dyn", ".dynamic", ".dynsym", ".comment", ".rodata"] {
            let section = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(wanted));
            ranges.extend(section.and_then(|section| section.file_range()));
        }
        // Of the payloads, the first: its header and first instructions.
        let payloads = elf.section_headers.iter().find(|section| {
            elf.shdr_strtab.get_at(section.sh_name).is_some_and(|name| name.starts_with("__CLANG_OFFLOAD_BUNDLE__"))
        });
        ranges.extend(payloads.and_then(|section| section.file_range()).map(|range| range.start..range.start + 4096));
        let loads = elf.program_headers.iter().filter(|header| header.p_type == goblin::elf::program_header::PT_LOAD);
        let loaded_end = loads.map(|load| load.file_range().end).max().unwrap();
        Regions { ranges, loaded_end }
    }

    /// Changes one to four places. Gives their offsets and lengths.
    pub fn mutate(&self, file: &mut [u8], random: &mut Random) -> Vec<(usize, usize)> {
        (0..=random.below(4)).map(|_| self.mutate_once(file, random)).collect()
    }

    fn mutate_once(&self, file: &mut [u8], random: &mut Random) -> (usize, usize) {
        // Each region equally often, whatever its size.
        let range = &self.ranges[random.below(self.ranges.len())];
        let length = [1, 2, 4, 8, 8, 8][random.below(6)];
        let at = (range.start + random.below(range.len())) / length * length;
        let old = file[at..at + length].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let other = &self.ranges[random.below(self.ranges.len())];
        let new = match random.below(10) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX >> 1,
            3 => old.wrapping_add(1),
            4 => old.wrapping_sub(8),
            5 => old ^ 1 << random.below(64),
            6 => old.wrapping_mul(2),
            7 => (other.start + random.below(other.len())) as u64,
            8 => 1 << random.below(64),
            _ => random.next(),
        };
        file[at..at + length].copy_from_slice(&new.to_le_bytes()[..length]);
        (at, length)
    }
}

/// xorshift64*: the same numbers on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }
}
