//! What do files for Windows hide from a reader that a loader maps, and what of them does a rewrite change?
//!
//! The files are put together here: each section stands at a page of its own, and the loader may put the file anywhere.

use std::collections::HashSet;

use super::program::{limited, said, tool};
use super::repeated::words;
use super::support::folder::Folder;
use super::support::spirv;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::image_data::OutImage;
use sycl_bundle::rewrite::layers;

/// Address at which the pointers of a file are valid.
const BASE: u64 = 0x1_8000_0000;
/// File offset of the optional header, and size of all headers.
const OPTIONAL: usize = 64 + 24;
const HEADERS: usize = 0x400;
/// File offset of the section headers.
const TABLE: usize = OPTIONAL + 240;
/// Flags of code, of constants, and of data that the program writes.
const CODE: u32 = 0x6000_0020;
const CONSTANTS: u32 = 0x4000_0040;
const DATA: u32 = 0xc000_0040;

fn put(file: &mut [u8], at: usize, value: u32) {
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

/// A section under construction.
struct Part {
    address: u64,
    bytes: Vec<u8>,
    /// Offsets of the pointers.
    pointers: Vec<u32>,
}

impl Part {
    /// Begins the section that is the `nth` page of the file.
    fn new(nth: u64) -> Part {
        Part { address: BASE + 0x1000 * nth, bytes: Vec::new(), pointers: Vec::new() }
    }

    fn add(&mut self, bytes: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.extend_from_slice(bytes);
        self.address + (self.bytes.len() - bytes.len()) as u64
    }

    /// Adds words, of which those within the file are pointers.
    fn structure(&mut self, all: &[u64]) -> u64 {
        let at = self.add(&words(all));
        let pointers = all.iter().enumerate().filter(|(_, word)| **word >= BASE);
        let start = (at - self.address) as u32;
        self.pointers.extend(pointers.map(|(nth, _)| start + nth as u32 * 8));
        at
    }

    /// Adds a list of an image for each kernel, and gives the address of its descriptor.
    fn list(&mut self, kernels: &[&str]) -> u64 {
        let target = self.add(b"spir64\0");
        let images: Vec<Vec<u64>> = kernels
            .iter()
            .map(|kernel| {
                let payload = spirv::module(kernel);
                let (start, name) = (self.add(&payload), self.add(&[kernel.as_bytes(), &[0]].concat()));
                let entry = self.structure(&[name, name, 0, 0]);
                vec![3 | 4 << 16 | 2 << 24, target, 0, 0, start, start + payload.len() as u64, entry, entry + 32, 0, 0]
            })
            .collect();
        let array = self.structure(&images.concat());
        self.structure(&[1 | (kernels.len() as u64) << 16, array, 0, 0])
    }
}

/// Puts sections with these flags into a file. The last one gets the base relocations at this offset of it, with `more`
/// behind them.
fn file(mut parts: Vec<(Part, u32)>, table_at: usize, more: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    for (part, _) in parts.iter().filter(|(part, _)| !part.pointers.is_empty()) {
        table.extend(((part.address - BASE) as u32).to_le_bytes());
        let count = part.pointers.len().next_multiple_of(2);
        table.extend((8 + 2 * count as u32).to_le_bytes());
        let entries = part.pointers.iter().map(|at| 10 << 12 | *at as u16).chain([0]).take(count);
        table.extend(entries.flat_map(u16::to_le_bytes));
    }
    table.extend_from_slice(more);
    let last = &mut parts.last_mut().unwrap().0;
    if last.bytes.len() < table_at + table.len() {
        last.bytes.resize(table_at + table.len(), 0);
    }
    last.bytes[table_at..table_at + table.len()].copy_from_slice(&table);
    let directory = (last.address - BASE) as u32 + table_at as u32;

    let mut file = vec![0; HEADERS];
    file[..2].copy_from_slice(b"MZ");
    put(&mut file, 60, 64);
    file[64..68].copy_from_slice(b"PE\0\0");
    put(&mut file, 68, 0x8664 | (parts.len() as u32) << 16);
    // Size of the optional header; an executable library that knows addresses above 2 GiB.
    put(&mut file, 84, 240 | 0x2022 << 16);
    put(&mut file, OPTIONAL, 0x20b);
    file[OPTIONAL + 24..OPTIONAL + 32].copy_from_slice(&BASE.to_le_bytes());
    let end = parts.last().map(|(part, _)| (part.address - BASE) as u32 + part.bytes.len() as u32).unwrap();
    let fields = [
        (32, 0x1000),
        (36, 0x200),
        (48, 6),
        (56, end.next_multiple_of(0x1000)),
        (60, HEADERS as u32),
        // A library for the console that is loaded anywhere.
        (68, 3 | 0x140 << 16),
        (108, 16),
        (112 + 40, directory),
        (112 + 44, table.len() as u32),
    ];
    fields.iter().for_each(|(at, value)| put(&mut file, OPTIONAL + at, *value));
    for (nth, (part, flags)) in parts.iter().enumerate() {
        let header = TABLE + 40 * nth;
        file[header..header + 4].copy_from_slice(format!(".s{nth:02}").as_bytes());
        let (size, raw) = (part.bytes.len() as u32, file.len() as u32);
        let fields = [
            (8, size),
            (12, (part.address - BASE) as u32),
            (16, size.next_multiple_of(0x200)),
            (20, raw),
            (36, *flags),
        ];
        fields.iter().for_each(|(at, value)| put(&mut file, header + at, *value));
        file.extend_from_slice(&part.bytes);
        file.resize(file.len().next_multiple_of(0x200), 0);
    }
    file
}

/// A library with a list of these kernels in each of two sections, between code and base relocations.
fn library(first: &[&str], second: &[&str]) -> Vec<u8> {
    let (mut code, mut one, mut other) = (Part::new(1), Part::new(2), Part::new(3));
    code.add(&[0xcc; 64]);
    one.list(first);
    other.list(second);
    file(vec![(code, CODE), (one, CONSTANTS), (other, CONSTANTS), (Part::new(4), 0x4200_0040)], 0, &[])
}

/// The header of the section with the second list.
const SECOND: usize = TABLE + 80;

fn kernels(file: &[u8]) -> Vec<String> {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert!(bundle.problems.is_empty());
    bundle.images.iter().flat_map(|image| &image.entries).map(|kernel| (*kernel).to_owned()).collect()
}

/// The image of a kernel from elsewhere.
fn image(kernel: &'static str) -> OutImage<'static> {
    OutImage {
        target: "spir64",
        format: 2,
        compile_options: "",
        link_options: "",
        payload: spirv::module(kernel).into(),
        entries: vec![kernel],
        property_sets: Vec::new(),
    }
}

#[test]
fn whatever_a_loader_maps_is_searched() {
    let sound = library(&["add_one"], &["halve"]);
    assert_eq!(kernels(&sound), ["add_one", "halve"]);
    let raw = u32_at(&sound, SECOND + 20);
    // Data that is not initialized, that may be discarded, that is executed; a size that ends in the first page; a begin
    // within a block of the file.
    let fields = [(36, 0xc000_0000), (36, 0x4200_0040), (36, 0x6000_0040), (36, CODE), (8, 16), (20, raw + 0x100)];
    for (field, value) in fields {
        let mut hiding = sound.clone();
        put(&mut hiding, SECOND + field, value);
        assert_eq!(kernels(&hiding), ["add_one", "halve"], "{field}: {value:#x}");
        // Where nothing is relocated, pointers may be anywhere among the code: no relocations, or a fixed address.
        put(&mut hiding, OPTIONAL + 112 + 44, 0);
        assert_eq!(kernels(&hiding), ["add_one", "halve"], "{field}: {value:#x} without base relocations");
        put(&mut hiding, OPTIONAL + 112 + 44, u32_at(&sound, OPTIONAL + 112 + 44) - 4);
        assert_eq!(kernels(&hiding), ["add_one", "halve"], "{field}: {value:#x} with damaged base relocations");
    }
}

/// A loader adds the distance from the preferred base wherever a base relocation says.
#[test]
fn base_relocations_of_what_is_no_pointer_leave_images_open() {
    let make = |place: Option<u32>| {
        let mut one = Part::new(1);
        // The payload is behind the target's name.
        one.list(&["halve"]);
        one.pointers.extend(place);
        file(vec![(one, CONSTANTS), (Part::new(2), 0x4200_0040)], 0, &[])
    };
    let read = |place: Option<u32>, moves: bool| {
        let mut bytes = make(place);
        bytes[OPTIONAL + 70] = if moves { bytes[OPTIONAL + 70] } else { 0 };
        let host = Host::read(&bytes).unwrap();
        Bundle::read(&host).unwrap().problems.iter().map(|problem| problem.error.to_string()).collect::<Vec<_>>()
    };
    for moves in [true, false] {
        assert_eq!(read(None, moves), Vec::<String>::new());
        let problems = read(Some(16), moves);
        assert!(problems.iter().any(|problem| problem.contains("relocation")), "{moves}: {problems:?}");
    }
    // Of a table that ends within a block a loader may make anything.
    let folder = Folder::new();
    for (more, code) in [(0, 0), (4, 1)] {
        let mut bytes = make(None);
        let at = OPTIONAL + 112 + 44;
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        put(&mut bytes, at, size + more);
        folder.put("a.dll", bytes);
        let done = tool(&folder, ["check", "--strict", "-t", "intel_gpu_pvc", "a.dll"]);
        let told = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.status.code(), Some(code), "{more}: {told}");
    }
}

/// Wrappers stand among data, or among code where a base relocation names their pointer.
#[test]
fn code_for_gpus_that_a_wrapper_leads_to_is_found() {
    for flags in [CONSTANTS, CODE] {
        let (mut one, mut other) = (Part::new(1), Part::new(2));
        let code = one.add(&super::judged::fat_binary(1, &[(1, 80, "k", "sm_80", "8.0")]));
        other.add(&[0xcc; 64]);
        other.structure(&[0x4662_43b1 | 1 << 32, code, 0]);
        let bytes = file(vec![(one, CONSTANTS), (other, flags), (Part::new(3), 0x4200_0040)], 0, &[]);
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        assert_eq!(bundle.images.iter().map(|image| image.target).collect::<Vec<_>>(), ["nvptx64"], "{flags:#x}");
    }
}

#[test]
fn a_list_among_the_headers_is_read() {
    let mut file = library(&["add_one"], &["halve"]);
    let descriptor = Bundle::read(&Host::read(&file).unwrap()).unwrap().descriptors[1].address;
    let at = Host::read(&file).unwrap().addresses.file_offset(descriptor).unwrap() as usize;
    file.copy_within(at..at + 32, HEADERS - 32);
    file[at..at + 32].fill(0);
    assert_eq!(kernels(&file), ["halve", "add_one"]);
    // Rewrites move headers, and leave alone what else stands among them.
    put(&mut file, OPTIONAL + 112 + 44, 0);
    let error = layers::edit(&file, &HashSet::new(), &[image("count")], &[]).unwrap_err().to_string();
    assert!(error.contains("not in the sections"), "{error}");
}

#[test]
fn what_no_loader_maps_is_not_guessed() {
    let sound = library(&["add_one"], &["halve"]);
    let refused = |changes: &[(usize, u32)]| {
        let mut file = sound.clone();
        changes.iter().for_each(|(at, value)| put(&mut file, *at, *value));
        Host::read(&file).unwrap_err().to_string()
    };
    let overlapping = refused(&[(SECOND + 12, 0x2000)]);
    assert!(overlapping.contains("overlaps the one before it in memory"), "{overlapping}");
    // With sections of less than a page the file is mapped as it stands.
    let misplaced = refused(&[(OPTIONAL + 32, 0x200), (OPTIONAL + 36, 0x200)]);
    assert!(misplaced.contains("not where it is in the file"), "{misplaced}");
}

#[test]
fn sections_that_loaders_place_otherwise_are_not_rewritten() {
    let mut file = library(&["add_one"], &["halve"]);
    put(&mut file, SECOND + 20, u32_at(&library(&["add_one"], &["halve"]), SECOND + 20) + 0x100);
    for (gone, added) in [(HashSet::from([0]), Vec::new()), (HashSet::new(), vec![image("count")])] {
        let error = layers::edit(&file, &gone, &added, &[]).unwrap_err().to_string();
        assert!(error.contains("begins within a block of 512 bytes"), "{error}");
    }
}

/// Base relocations in a section of data, as packers put them, with zeros behind them that the program writes.
#[test]
fn zeros_behind_the_base_relocations_stay_the_programs() {
    let (mut list, mut data) = (Part::new(1), Part::new(2));
    list.list(&["add_one"]);
    data.add(&[7; 32]);
    data.bytes.resize(1000, 0);
    let original = file(vec![(list, CONSTANTS), (data, DATA)], 32, &[]);
    let written = layers::edit(&original, &HashSet::new(), &[image("halve")], &[]).unwrap().bytes;
    assert_eq!(kernels(&written), ["add_one", "halve"]);
    let raw = u32_at(&original, TABLE + 40 + 20) as usize;
    assert!(written[raw..raw + 1000] == original[raw..raw + 1000], "the program's own data");
    assert_ne!(u32_at(&written, OPTIONAL + 112 + 40), u32_at(&original, OPTIONAL + 112 + 40), "the table has moved");
    assert!(unrelocated(&written).is_empty());
}

/// The addresses of pointers in the lists that no base relocation names.
fn unrelocated(file: &[u8]) -> Vec<u64> {
    let host = Host::read(file).unwrap();
    let at = |field: usize| u64::from(u32_at(file, OPTIONAL + 112 + 40 + field));
    let (mut at, mut left) = (host.addresses.file_offset(BASE + at(0)).unwrap() as usize, at(4) as usize);
    let mut relocated = HashSet::new();
    while left > 0 {
        let (page, size) = (u64::from(u32_at(file, at)), u32_at(file, at + 4) as usize);
        let entries = file[at + 8..at + size].chunks_exact(2).map(|entry| u16::from_le_bytes([entry[0], entry[1]]));
        relocated.extend(entries.filter(|entry| entry >> 12 == 10).map(|entry| BASE + page + u64::from(entry & 0xfff)));
        (at, left) = (at + size, left - size);
    }
    let bundle = Bundle::read(&host).unwrap();
    let lists = bundle.descriptors.iter().flat_map(|list| {
        let places = (0..u64::from(list.count) * 10).filter(|nth| nth % 10 > 0).map(|nth| list.images + nth * 8);
        [list.address + 8].into_iter().chain(places)
    });
    let pointers = lists.filter(|place| host.addresses.pointer(*place).is_some_and(|pointer| pointer != 0));
    pointers.filter(|place| !relocated.contains(place)).collect()
}

#[test]
fn images_of_any_list_are_replaced() {
    let original = library(&["add_one", "count"], &["halve", "twice_half"]);
    assert_eq!(kernels(&original), ["add_one", "count", "halve", "twice_half"]);
    let cases: [(&[usize], &[&str]); 4] = [
        (&[0], &["count", "add_one", "halve", "twice_half"]),
        (&[2], &["add_one", "count", "halve", "twice_half"]),
        (&[1, 3], &["add_one", "count", "twice_half", "halve"]),
        // Nothing is left of the second list.
        (&[2, 3], &["add_one", "count", "halve", "twice_half"]),
    ];
    let names = ["add_one", "count", "halve", "twice_half"];
    for (gone, wanted) in cases {
        let added: Vec<OutImage<'_>> = gone.iter().map(|nth| image(names[*nth])).collect();
        let edited = layers::edit(&original, &gone.iter().copied().collect(), &added, &[]).unwrap();
        assert_eq!(kernels(&edited.bytes), wanted, "{gone:?}");
        assert!(unrelocated(&edited.bytes).is_empty(), "{gone:?}");
        // The next exchange takes the place of this one.
        let host = Host::read(&edited.bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let own = bundle.images.iter().filter(|image| added.iter().any(|new| image.entries == new.entries));
        let own: HashSet<usize> = own.map(|image| image.index).collect();
        let again = layers::edit(&edited.bytes, &own, &added, &[]).unwrap();
        assert!(again.bytes == edited.bytes, "{gone:?}");
    }
}

#[test]
fn base_relocations_of_megabytes_are_not_listed() {
    let (mut one, mut other) = (Part::new(1), Part::new(2));
    one.list(&["add_one"]);
    other.list(&["halve"]);
    // 8 million words, all of them for places far away.
    let block = [&0x700_0000u32.to_le_bytes()[..], &60_008u32.to_le_bytes(), &[8, 0xa0].repeat(30_000)].concat();
    let library = file(vec![(one, CONSTANTS), (other, CONSTANTS), (Part::new(3), 0x4200_0040)], 0, &block.repeat(266));
    let folder = Folder::new();
    folder.put("a.dll", library);
    folder.put("count.spv", spirv::module("count"));
    for arguments in [
        &["embed", "a.dll", "count.spv", "-o", "out.dll"][..],
        &["prune", "a.dll", "--image", "0", "--lose-kernels", "-o", "out.dll"],
    ] {
        let done = limited(&folder, 96 << 10, arguments.iter().copied());
        assert!(done.status.success(), "{}", said(&done));
    }
}
