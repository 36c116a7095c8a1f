//! What would a process on Windows see of this library, wherever the loader puts it?
//!
//! Maps the headers and sections as the loader does, applies the base relocations, and follows the pointers from the
//! descriptors. Nothing of the code under test is used; what the loader would refuse is a panic.

use crate::support::host::{Entries, LoadedImage, Value, fnv1a};

/// A library in memory.
pub struct Module {
    base: u64,
    bytes: Vec<u8>,
    preferred: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// File offset of the optional header.
pub fn optional(file: &[u8]) -> usize {
    u32_at(file, 60) as usize + 24
}

/// A directory's address and size.
pub fn directory(file: &[u8], index: usize) -> (usize, usize) {
    let at = optional(file) + 112 + index * 8;
    (u32_at(file, at) as usize, u32_at(file, at + 4) as usize)
}

impl Module {
    /// Loads a file at an address; `None` for the one it prefers.
    pub fn load(file: &[u8], base: Option<u64>) -> Module {
        let optional = optional(file);
        assert_eq!(u16_at(file, optional), 0x20b);
        let preferred = u64_at(file, optional + 24);
        let (align, file_align) = (u32_at(file, optional + 32) as usize, u32_at(file, optional + 36) as usize);
        let (size, headers) = (u32_at(file, optional + 56) as usize, u32_at(file, optional + 60) as usize);
        assert_eq!(size % align, 0, "the loader refuses an image of no whole pages");
        let mut bytes = vec![0; size];
        bytes[..headers].copy_from_slice(&file[..headers]);
        let table = optional + usize::from(u16_at(file, optional - 4));
        let count = usize::from(u16_at(file, optional - 18));
        assert!(table + count * 40 <= headers, "section headers beyond the headers");
        let mut next = headers.next_multiple_of(align);
        for section in file[table..table + count * 40].chunks_exact(40) {
            let field = |at: usize| u32_at(section, at) as usize;
            let (virtual_size, address, raw_size, raw) = (field(8), field(12), field(16), field(20));
            // The loader takes neither holes nor overlaps.
            assert_eq!(address, next, "sections follow each other without holes");
            next = (address + virtual_size.max(1)).next_multiple_of(align);
            assert_eq!((raw % file_align, raw_size % file_align), (0, 0));
            let len = raw_size.min(virtual_size);
            bytes[address..address + len].copy_from_slice(&file[raw..raw + len]);
        }
        assert_eq!(next, size, "SizeOfImage is the end of the last section");
        let mut module = Module { base: base.unwrap_or(preferred), bytes, preferred };
        module.relocate(directory(file, 5));
        module
    }

    fn relocate(&mut self, (start, size): (usize, usize)) {
        let delta = self.base.wrapping_sub(self.preferred);
        let (mut at, end) = (start, start + size);
        while at < end {
            let (page, len) = (u32_at(&self.bytes, at) as usize, u32_at(&self.bytes, at + 4) as usize);
            assert!(len >= 8 && len.is_multiple_of(4) && at + len <= end, "a block of {len} bytes");
            for entry in (at + 8..at + len).step_by(2) {
                let entry = u16_at(&self.bytes, entry);
                if entry >> 12 == 0 {
                    continue;
                }
                assert_eq!(entry >> 12, 10);
                let place = page + usize::from(entry & 0xfff);
                let value = u64_at(&self.bytes, place).wrapping_add(delta);
                self.bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
            }
            at += len;
        }
    }

    /// The bytes from an address in the process on.
    fn at(&self, address: u64) -> &[u8] {
        let at = address.checked_sub(self.base).unwrap_or_else(|| panic!("{address:#x} is not in the module"));
        &self.bytes[usize::try_from(at).unwrap()..]
    }

    fn string(&self, address: u64) -> String {
        let bytes = self.at(address);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    }

    /// The images of the descriptor at an address at the preferred base.
    pub fn images(&self, descriptor: u64) -> Vec<LoadedImage> {
        let descriptor = self.at(descriptor - self.preferred + self.base);
        assert_eq!((u16_at(descriptor, 0), u64_at(descriptor, 16), u64_at(descriptor, 24)), (1, 0, 0));
        let mut at = u64_at(descriptor, 8);
        let mut images = Vec::new();
        for _ in 0..u16_at(descriptor, 2) {
            let head = self.at(at);
            let tail = if u16_at(head, 0) == 3 { 32 } else { 48 };
            images.push(self.image(head, tail));
            at += tail as u64 + 48;
        }
        images
    }

    fn image(&self, head: &[u8], tail: usize) -> LoadedImage {
        let pointer = |at: usize| u64_at(head, at);
        let range = |at: usize| (pointer(at), usize::try_from(pointer(at + 8) - pointer(at)).unwrap());
        let (payload, size) = range(tail);
        let payload = if size == 0 { &[] } else { &self.at(payload)[..size] };
        let (sets, size) = range(tail + 32);
        let sets = if size == 0 { &[] } else { &self.at(sets)[..size] };
        LoadedImage {
            version: u16_at(head, 0),
            kind: head[2],
            format: head[3],
            target: self.string(pointer(8)),
            compile_options: self.string(pointer(16)),
            link_options: self.string(pointer(24)),
            payload_size: payload.len(),
            payload_digest: fnv1a(payload),
            entries: self.entries(range(tail + 16)),
            sets: sets.chunks_exact(24).map(|set| self.set(set)).collect(),
        }
    }

    fn entries(&self, (start, size): (u64, usize)) -> Vec<(Entries, String)> {
        if size == 0 {
            return Vec::new();
        }
        let table = &self.at(start)[..size];
        let is_new = u64_at(table, 0) == 0 && u64_at(table, 8) == 0x0008_0001;
        let (form, stride, name) = if is_new { (Entries::New, 56, 24) } else { (Entries::Old, 32, 8) };
        assert_eq!(size % stride, 0);
        table.chunks_exact(stride).map(|entry| (form, self.string(u64_at(entry, name)))).collect()
    }

    fn set(&self, set: &[u8]) -> (String, Vec<(String, Value)>) {
        let size = usize::try_from(u64_at(set, 16) - u64_at(set, 8)).unwrap();
        let properties = if size == 0 { &[] } else { &self.at(u64_at(set, 8))[..size] };
        let property = |property: &[u8]| {
            let size = u64_at(property, 24);
            let value = match u32_at(property, 16) {
                1 => Value::U32(u32::try_from(size).unwrap()),
                2 => {
                    let raw = &self.at(u64_at(property, 8))[..usize::try_from(size).unwrap()];
                    Value::Bits(u64_at(raw, 0), raw[8..].to_vec())
                }
                other => panic!("a property of type {other}"),
            };
            (self.string(u64_at(property, 0)), value)
        };
        (self.string(u64_at(set, 0)), properties.chunks_exact(32).map(property).collect())
    }
}

/// The checksum as the documentation has it: one word at a time, the carry folded in each time.
pub fn checksum(file: &[u8]) -> u32 {
    let own = optional(file) + 64;
    let mut sum = 0u32;
    for at in (0..file.len()).step_by(2) {
        let word = if (own..own + 4).contains(&at) {
            0
        } else {
            u32::from(file[at]) | u32::from(*file.get(at + 1).unwrap_or(&0)) << 8
        };
        sum += word;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum + u32::try_from(file.len()).unwrap()
}
