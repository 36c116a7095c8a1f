//! Which small files name one long thing thousands of times, or say of it what is not so?
//!
//! Each is read by the program under limits of processor time and memory that a reader which pays for every mention passes.

use super::costly::{Module, TIME_LIMIT, put, run_bounded};
use super::program::limited;
use super::support::folder::Folder;
use std::io::Write as _;
use sycl_bundle::bundle::offload_bundle;
use sycl_bundle::container::Host;

/// Exit codes of files of which something is read.
const READ: &[i32] = &[0, 3, 6];
/// Bytes that all mentions share.
const LONG: usize = 2 << 20;
/// Address of the first byte of a linked file.
pub const BASE: u64 = 0x1_0000;

pub fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A zstd frame of so many zeros: 128 KiB of them take four bytes.
pub fn frame(zeros: usize) -> Vec<u8> {
    blocks([&[0xe0][..], &(zeros as u64).to_le_bytes()].concat(), zeros)
}

/// A frame with this header.
pub fn blocks(header: Vec<u8>, zeros: usize) -> Vec<u8> {
    const BLOCK: usize = 128 << 10;
    let mut out = [vec![0x28, 0xb5, 0x2f, 0xfd], header].concat();
    for at in (0..zeros).step_by(BLOCK) {
        let (len, last) = (BLOCK.min(zeros - at), u32::from(zeros - at <= BLOCK));
        out.extend(&(last | 1 << 1 | (len as u32) << 3).to_le_bytes()[..3]);
        out.push(0);
    }
    out
}

/// A linked ELF file under construction, of one segment that is all of it.
pub struct Linked(Vec<u8>);

impl Linked {
    pub fn new() -> Linked {
        Linked(vec![0; 64 + 2 * 56])
    }

    /// Adds bytes, and gives their address.
    pub fn add(&mut self, bytes: &[u8]) -> u64 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend_from_slice(bytes);
        BASE + (self.0.len() - bytes.len()) as u64
    }

    /// The file, with a dynamic section or a table of sections at an address, of so many entries.
    pub fn finish(mut self, dynamic: Option<(u64, u64)>, sections: Option<u64>) -> Vec<u8> {
        let size = self.0.len() as u64;
        let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
        head.extend(words(&[0, 64, sections.map_or(0, |at| at - BASE)]));
        head.extend([0u8, 0, 0, 0, 64, 0, 56, 0, 1 + u8::from(dynamic.is_some()), 0, 64, 0, 0, 0]);
        // The number of sections and the one of their names stand in the first.
        head.extend(if sections.is_some() { [0xff, 0xff] } else { [0, 0] });
        head.extend(words(&[1 | 6 << 32, 0, BASE, BASE, size, size, 0x1000]));
        let (at, len) = dynamic.unwrap_or_default();
        head.extend(words(&[2 | 6 << 32, at.saturating_sub(BASE), at, at, len, len, 8]));
        self.0[..head.len()].copy_from_slice(&head);
        self.0
    }

    /// Makes a file with so many image structures for one payload of a declared format, with entries and property sets.
    pub fn images(count: u64, payload: &[u8], format: u64, tables: impl FnOnce(&mut Linked) -> [u64; 4]) -> Vec<u8> {
        let mut file = Linked::new();
        let (start, target) = (file.add(payload), file.add(b"spir64\0"));
        let [entries, entries_end, sets, sets_end] = tables(&mut file);
        let end = start + payload.len() as u64;
        let image = [2 | 4 << 16 | format << 24, target, 0, 0, 0, 0, start, end, entries, entries_end, sets, sets_end];
        let array = file.add(&words(&image).repeat(count as usize));
        file.add(&words(&[1 | count << 16, array, 0, 0]));
        file.finish(None, None)
    }
}

/// An ELF file of a device: of each section type, bytes and the one that it belongs to; equal bytes stand there once.
pub fn of_device(machine: u8, abi: u8, sections: &[(&str, u64, &[u8], u64)]) -> Vec<u8> {
    let (mut file, mut names, mut headers) = (vec![0; 64], vec![0], vec![0; 64]);
    let mut places: Vec<(*const u8, u64)> = Vec::new();
    let mut known: Vec<(String, u64)> = Vec::new();
    for (name, kind, bytes, link) in sections {
        let at = known.iter().find(|(other, _)| other == name).map(|(_, at)| *at).unwrap_or_else(|| {
            known.push(((*name).to_owned(), names.len() as u64));
            names.extend(name.bytes().chain([0]));
            known[known.len() - 1].1
        });
        let offset = places.iter().find(|(other, _)| *other == bytes.as_ptr()).map(|(_, offset)| *offset);
        let offset = offset.unwrap_or_else(|| {
            places.push((bytes.as_ptr(), file.len() as u64));
            file.extend_from_slice(bytes);
            places[places.len() - 1].1
        });
        headers.extend(words(&[at | kind << 32, 0, 0, offset, bytes.len() as u64, *link, 1, 0]));
    }
    headers.extend(words(&[3 << 32, 0, 0, file.len() as u64, names.len() as u64, 0, 1, 0]));
    file.extend(&names);
    let (count, table) = (headers.len() as u64 / 64, file.len() as u64);
    file.extend(&headers);
    let mut head = b"\x7fELF\x02\x01\x01\0".to_vec();
    head.extend([abi, 0, 0, 0, 0, 0, 0, 0, 2, 0, machine, 0, 1, 0, 0, 0]);
    head.extend(words(&[0, 0, table]));
    head.extend([80u8, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0]);
    [count, count - 1].iter().for_each(|half| head.extend((*half as u16).to_le_bytes()));
    file[..64].copy_from_slice(&head);
    file
}

/// Reads a file by some verbs, which have to end in time.
pub fn read(name: &str, bytes: Vec<u8>, verbs: &[&[&str]]) {
    let folder = Folder::new();
    folder.put(name, bytes);
    for verb in verbs {
        run_bounded(&folder, &[verb, &[name][..]].concat(), TIME_LIMIT, READ);
    }
}

pub const INSPECT: &[&[&str]] = &[&["inspect"]];

#[test]
fn sections_whose_names_do_not_end() {
    let mut file = Linked::new();
    let names = file.add(&vec![b'A'; 8 * LONG]) - BASE;
    let none = words(&[0, 0, 0, 0, 150_000, 1, 0, 0]);
    let table = words(&[3 << 32, 0, 0, names, 8 * LONG as u64, 0, 1, 0]);
    let at = file.add(&[none, table, words(&[1 << 32, 0, 0, 0, 0, 0, 1, 0]).repeat(149_998)].concat());
    read("a.so", file.finish(None, Some(at)), INSPECT);
}

#[test]
fn relocations_beside_a_long_dynamic_section() {
    let mut file = Linked::new();
    let symbols = file.add(&[vec![0; 24], words(&[1 << 48 | 0x11 << 32, BASE, 8])].concat());
    let target = file.add(&[0; 64]);
    let relocations = file.add(&words(&[target, 1 << 32 | 1, 0]).repeat(200_000));
    let entries = [&[21, 0].repeat(200_000)[..], &[7, relocations, 8, 4_800_000, 6, symbols, 5, symbols]].concat();
    let at = file.add(&words(&entries));
    read("a.so", file.finish(Some((at, entries.len() as u64 * 8)), None), INSPECT);
}

#[test]
fn what_looks_like_lists_of_images_with_a_target_that_does_not_end() {
    let mut file = Linked::new();
    let long = file.add(&vec![b'A'; LONG]);
    let image = file.add(&words(&[2 | 4 << 16 | 2 << 24, long, 0, 0, 0, 0, long, long + 8, 0, 0, 0, 0]));
    file.add(&words(&[1 | 1 << 16, image, 0, 0]).repeat(1_500_000));
    read("a.so", file.finish(None, None), INSPECT);
}

#[test]
fn keys_of_offload_binaries_that_do_not_end() {
    const COUNT: u64 = 150_000;
    let strings = 32 + 40 * COUNT;
    let head = [&[0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0][..], &words(&[strings + 24 + LONG as u64, 32, COUNT])].concat();
    let entries = words(&[6 | 8 << 16, strings, 1, strings + 24, 8]).repeat(COUNT as usize);
    let rest = [words(&[strings + 24, strings + 24, 1]), vec![b'A'; LONG]].concat();
    read("a.bin", [head, entries, rest].concat(), INSPECT);
}

/// Frames that hold one byte more than is said of them are inflated for nothing.
#[test]
fn frames_that_are_inflated_for_nothing() {
    const SIZE: usize = 60 << 20;
    let packed = frame(SIZE);
    let (len, said) = (packed.len() as u64, SIZE as u64 - 1);
    let mut headers = Vec::new();
    for nth in 0..1_000u64 {
        let rest = 40 * (1_000 - nth);
        headers.extend([0x10, 0xff, 0x10, 0xad, 3, 0, 0, 0]);
        headers.extend(words(&[rest + len, rest, 1, rest + said]));
    }
    read("headers.bin", [headers, packed.clone()].concat(), INSPECT);
    let stored = len.next_multiple_of(8);
    let entry = words(&[2 | 0x101 << 16 | 64 << 32, stored, len, 7 << 32 | 80 << 32, 0, 0x8000, 0, said]);
    let mut entry = [entry, packed.clone()].concat();
    entry[28..32].copy_from_slice(&80u32.to_le_bytes());
    entry.resize(64 + stored as usize, 0);
    let entries = entry.repeat(800);
    let head = [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0][..], &words(&[entries.len() as u64])].concat();
    read("entries.fatbin", [head, entries].concat(), INSPECT);
}

#[test]
fn images_that_share_a_frame_or_a_payload() {
    let none = |_: &mut Linked| [0; 4];
    read("frame.so", Linked::images(20_000, &frame(60 << 20), 4, none), INSPECT);
    let module = [&0x0723_0203u32.to_le_bytes()[..], &[0, 4, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]].concat();
    let payload = [module, 0x0001_0000u32.to_le_bytes().repeat(LONG / 4)].concat();
    read("payload.so", Linked::images(60_000, &payload, 2, none), INSPECT);
}

/// A list behind so many others that it is not read must not be passed over without a word.
#[test]
fn lists_of_images_beyond_the_limit_are_told() {
    const LISTS: usize = 70_000;
    let mut file = Linked::new();
    let (start, target) = (file.add(&[0; 8]), file.add(b"spir64\0"));
    let image = file.add(&words(&[3 | 4 << 16, target, 0, 0, start, start + 8, 0, 0, 0, 0]));
    file.add(&words(&[1 | 1 << 16, image, 0, 0]).repeat(LISTS));
    let folder = Folder::new();
    folder.put("lists.so", file.finish(None, None));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let done = command.args(["inspect", "lists.so"]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.code() == Some(3) && said.contains("more lists of images than the limit"), "{said}");
}

#[test]
fn entries_beside_exported_functions() {
    let tables = |file: &mut Linked| {
        let mut names = |letter: char| -> Vec<u64> {
            (0..100_000).map(|nth| file.add(format!("{letter}{nth:06}\0").as_bytes())).collect()
        };
        let (entries, exports) = (names('k'), names('x'));
        let entries: Vec<u8> = entries.iter().flat_map(|name| words(&[0, *name, 0, 0])).collect();
        let exports: Vec<u8> = exports.iter().flat_map(|name| words(&[*name, 0, 1, 1])).collect();
        let (first, last) = (file.add(&entries), file.add(&exports));
        let name = file.add(b"SYCL/exported symbols\0");
        let set = file.add(&words(&[name, last, last + exports.len() as u64]));
        [first, first + entries.len() as u64, set, set + 24]
    };
    read("a.so", Linked::images(1, b"\x03\x02\x23\x07", 2, tables), &[&["inspect"], &["kernels"]]);
}

#[test]
fn sections_of_device_code_that_share_their_bytes() {
    let notes = words(&[0, 1 << 32, 0, 1]).repeat(LONG / 32);
    let notes: Vec<u8> = notes.iter().copied().take(LONG / 12 * 12).collect();
    for (machine, name) in [(224, ".note"), (205, ".note.intelgt.compat")] {
        read("a.bin", of_device(machine, 2, &vec![(name, 7, &notes[..], 0); 60_000]), INSPECT);
    }
    let attributes = [4u8, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].repeat(LONG / 32);
    let mut sections: Vec<(&str, u64, &[u8], u64)> = vec![(".text.k", 1, &[0; 4], 0); 60_000];
    sections.push((".nv.info.k", 0x7000_0000, &attributes, 0));
    read("a.cubin", of_device(190, 7, &sections), INSPECT);
}

#[test]
fn symbols_of_device_code_whose_names_do_not_end() {
    let symbols = words(&[5 | 0x12 << 32 | 0x10 << 40 | 1 << 48, 0, 0]).repeat(200_000);
    let names = vec![b'A'; LONG];
    read("a.cubin", of_device(190, 7, &[(".symtab", 2, &symbols, 2), (".strtab", 3, &names, 0)]), INSPECT);
}

/// Whatever is known of each instruction is kept, and takes several times its size.
#[test]
fn modules_beyond_any_size() {
    let folder = Folder::new();
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 50, 0];
    put(&mut words, 17, &[6], None, &[]);
    let path = folder.put("m.spv", words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    std::fs::File::options().write(true).open(path).unwrap().set_len((128 << 20) + 4).unwrap();
    let done = limited(&folder, 64 << 10, ["inspect", "m.spv"]);
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{told}");
    assert!(told.contains("the limit is 134217728"), "{told}");
}

/// An empty structure takes eight bytes of a module, and a compressor a fraction of that.
#[test]
fn declarations_beyond_any_number() {
    let folder = Folder::new();
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 50, 0];
    put(&mut words, 17, &[6], None, &[]);
    (0..(1 << 20) + 1).for_each(|at| words.extend([2 << 16 | 30, 100 + at]));
    folder.put("m.spv", words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    for call in ["inspect m.spv", "kernels m.spv", "check m.spv -t pvc"] {
        let done = limited(&folder, 512 << 10, call.split(' '));
        let told = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert_eq!(done.status.code(), Some(3), "{call}: {told}");
        assert!(told.contains("more than 1048576 types and constants"), "{call}: {told}");
    }
}

/// Names may be long, and a compressor makes nothing of them.
#[test]
fn long_names_of_members_beside_modules() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let header = |name: &str, kind: tar::EntryType, size: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(size as u64);
        header.set_cksum();
        *header.as_bytes()
    };
    let mut name = [vec![b'a'; 65_018], b".prop\0".to_vec()].concat();
    name.resize(65_024, 0);
    for nth in 0..2000 {
        name[..8].copy_from_slice(format!("{nth:08}").as_bytes());
        encoder.write_all(&header("././@LongLink", tar::EntryType::GNULongName, name.len())).unwrap();
        encoder.write_all(&name).unwrap();
        encoder.write_all(&header("x", tar::EntryType::Regular, 0)).unwrap();
        // Of modules the same.
        let module = [b"\x03\x02\x23\x07".to_vec(), vec![0; 508]].concat();
        encoder.write_all(&header("././@LongLink", tar::EntryType::GNULongName, name.len())).unwrap();
        encoder.write_all(&[&b"m"[..], &name[1..name.len() - 10], &[0; 10]].concat()).unwrap();
        encoder.write_all(&header("x", tar::EntryType::Regular, module.len())).unwrap();
        encoder.write_all(&module).unwrap();
    }
    encoder.write_all(&[0; 1024]).unwrap();
    let folder = Folder::new();
    folder.put("a.tar.gz", encoder.finish().unwrap());
    let done = limited(&folder, 128 << 10, ["inspect", "a.tar.gz"]);
    assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Sizes are known when the frames are inflated, and are just too much.
#[test]
fn images_that_share_a_frame_of_unknown_size() {
    let of = |zeros| Linked::images(30_000, &blocks(vec![0, 0x58], zeros), 4, |_| [0; 4]);
    let mut zeros = 60 << 20;
    for _ in 0..3 {
        let bound = (1 << 30) + 32 * of(zeros).len();
        zeros = bound / (bound / (63 << 20) + 1) + 2;
    }
    read("a.so", of(zeros), INSPECT);
}

#[test]
fn properties_that_share_a_value() {
    const LONG: usize = 400_000;
    let module = Module::default().bytes();
    let file = Linked::images(1, &module, 2, |file| {
        let value = file.add(&[words(&[8 * (LONG as u64 - 8)]), vec![b'A'; LONG - 8]].concat());
        let (name, set) = (file.add(b"a\0"), file.add(b"SYCL/misc properties\0"));
        let table = words(&[name, value, 2, LONG as u64]).repeat(4_000);
        let properties = file.add(&table);
        let sets = file.add(&words(&[set, properties, properties + table.len() as u64]));
        [0, 0, sets, sets + 24]
    });
    read("a.so", file, &[&["inspect"], &["diff", "a.so"], &["extract", "-o", "out"]]);
}

/// An object file for a host.
pub fn of_host(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let sections: Vec<_> = sections.iter().map(|(name, bytes)| (*name, 1, *bytes, 0)).collect();
    let mut file = of_device(62, 0, &sections);
    file[16] = 1;
    file
}

#[test]
fn sections_of_objects_that_share_their_sizes_or_bytes() {
    const PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";
    let (id, sizes) = (format!("{PREFIX}a-b-c"), "__CLANG_OFFLOAD_BUNDLE_SIZE__a-b-c");
    let zeros = vec![0; LONG];
    read("sizes.o", of_host(&[vec![(&id[..], &[][..]); 600], vec![(sizes, &zeros)]].concat()), INSPECT);
    let binary = [&[0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0][..], &words(&[32, 32, 0]), &zeros].concat();
    read("binaries.o", of_host(&vec![(".llvm.offloading", &binary[..]); 30_000]), INSPECT);
}

/// Property sets of a megabyte beside parts by the ten thousands that each would have a copy.
#[test]
fn parts_of_a_layer_that_says_much() {
    let sets = format!("[S]\n{}", "a=1|1\n".repeat(250_000)).into_bytes();
    let module = Module::default().bytes();
    let (count, global) = (200_000u32, b"[SYCLBIN/global metadata]\nstate=1|0\n");
    let mut file = [&b"IBYS"[..], &[1, 1, count, 0, 0].map(u32::to_le_bytes).concat()].concat();
    let (text, all) = (sets.len() as u64, (sets.len() + global.len()) as u64);
    file.extend(words(&[all, module.len() as u64, text, global.len() as u64, 0, text, u64::from(count), 0]));
    file.extend(words(&[0, 0, 0, module.len() as u64]).repeat(count as usize));
    file.extend([&sets[..], global].concat());
    file.resize(file.len().next_multiple_of(8), 0);
    file.extend(&module);
    read("a.syclbin", file, INSPECT);
    let part = [words(&[0, 0, 6]), b"host-x".to_vec()].concat();
    let bundle = [b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), words(&[250_000]), part.repeat(250_000)].concat();
    let key = b"sycl-property-sets\0";
    let (strings, value) = (72 + 24, 72 + 24 + key.len() as u64);
    let image = (value + text).next_multiple_of(8);
    let size = image + bundle.len() as u64;
    let mut file = [&[0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0][..], &words(&[size.next_multiple_of(8), 32, 1])].concat();
    file.extend(words(&[8 << 16, 72, 1, image, bundle.len() as u64, strings, value, text]));
    file.extend([&key[..], &sets].concat());
    file.resize(image as usize, 0);
    file.extend(bundle);
    file.resize(file.len().next_multiple_of(8), 0);
    read("a.bin", file, INSPECT);
}

/// Members of an archive of ocloc, and PTX of a fat binary.
#[test]
fn parts_of_native_code_by_the_thousands() {
    let member = |name: &str, bytes: &[u8]| [format!("{name:<48}{:<10}`\n", bytes.len()).as_bytes(), bytes].concat();
    let names = member("//", &vec![b'A'; LONG]);
    let archive = [b"!<arch>\n".to_vec(), names, member("/0", b".target s\n").repeat(20_000)].concat();
    read("a.so", Linked::images(1, &archive, 1, |_| [0; 4]), INSPECT);
    let entry = |nth: u32| {
        let text = format!("{:<40}", format!(".version 8.0\n.target sm_{}\n", 1000 + nth));
        [words(&[1 | 0x101 << 16 | 64 << 32, 40, 0, 0, 0, 0, 0, 0]), text.into_bytes()].concat()
    };
    let entries: Vec<u8> = (0..100_000).flat_map(entry).collect();
    let head = [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0][..], &words(&[entries.len() as u64])].concat();
    read("a.fatbin", [head, entries].concat(), INSPECT);
}

/// Functions that take functions that take functions, a type of itself, and one with a long name.
#[test]
fn types_whose_names_grow() {
    let kinds: &[&[&str]] = &[&["kernels", "--format", "json"]];
    let (kind, pointer) = (33, 32);
    let mut module = Module::default();
    let mut last = 3;
    for depth in 0..9 {
        put(&mut module.globals, kind, &[&[20 + 2 * depth, last][..], &[last; 60]].concat(), None, &[]);
        put(&mut module.globals, pointer, &[21 + 2 * depth, 5, 20 + 2 * depth], None, &[]);
        last = 21 + 2 * depth;
    }
    module.kernel_with(last, "kernel");
    read("power.spv", module.bytes(), kinds);
    let mut module = Module::default();
    put(&mut module.texts, 5, &[20], Some(&"x".repeat(250_000)), &[]);
    put(&mut module.globals, 30, &[20, 3], None, &[]);
    (0..2_000).for_each(|nth| _ = module.kernel_with(20, &format!("kernel{nth}")));
    read("long.spv", module.bytes(), kinds);
}

#[test]
fn a_type_of_itself_is_linked_or_refused() {
    let mut module = Module::default();
    put(&mut module.globals, 33, &[20, 20, 20], None, &[]);
    let function = module.kernel_with(20, "kernel");
    put(&mut module.decorations, 71, &[function, 41], Some("function"), &[0]);
    let folder = Folder::new();
    folder.put("m.spv", module.bytes());
    run_bounded(&folder, &["check", "--link", "m.spv", "m.spv"], TIME_LIMIT, &[0, 1, 3]);
}

#[test]
fn kernels_that_reach_one_long_instruction() {
    let mut module = Module::default();
    put(&mut module.globals, 33, &[&[20, 1][..], &[3; 60_000]].concat(), None, &[]);
    (0..20_000).for_each(|nth| _ = module.kernel_of(20, &format!("kernel{nth}")));
    read("m.spv", module.bytes(), &[&["kernels", "--format", "json"]]);
}

#[test]
fn symbols_and_sections_of_objects_whose_names_do_not_end() {
    let object = |symbols: usize, sections: u16| {
        let mut file = [vec![0; 64], vec![b'A'; 4 * LONG]].concat();
        let at = file.len() as u64;
        file.extend(words(&[1 | 0x10 << 32, 0, 0]).repeat(symbols));
        let table = file.len() as u64;
        let (names, len) = (4 * LONG as u64, 24 * symbols as u64);
        file.extend([0; 64]);
        file.extend(words(&[3 << 32, 0, 0, 64, names, 0, 1, 0]));
        file.extend(words(&[2 << 32, 0, 0, at, len, 1, 8, 24]));
        file.extend(words(&[5 | 1 << 32, 0, 0, 64, 8, 0, 1, 0]).repeat(sections.into()));
        let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0\x01\0\0\0".to_vec();
        head.extend(words(&[0, 0, table]));
        head.extend([0u8, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0]);
        head.extend([3 + sections, 1].iter().flat_map(|half: &u16| half.to_le_bytes()));
        file[..64].copy_from_slice(&head);
        file
    };
    read("symbols.o", object(200_000, 0), INSPECT);
    read("sections.o", object(1, 60_000), INSPECT);
}

#[test]
fn members_that_share_a_name_of_megabytes() {
    let head = |name: &str, len: usize| format!("{name:<48}{len:<10}`\n").into_bytes();
    let names = [vec![b'A'; 4 * LONG], b"/\n".to_vec()].concat();
    let archive = [b"!<arch>\n".to_vec(), head("//", names.len()), names, head("/0", 0).repeat(150_000)].concat();
    read("a.a", archive, INSPECT);
}

/// Frames that fill a file, each of which stands for a thousand times its size.
#[test]
fn code_objects_of_a_package_that_share_a_frame() {
    let text = |text: &str| [&[0xdb][..], &u32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let map = |entries: u32| [&[0xdf][..], &entries.to_be_bytes()].concat();
    let packed = frame(60 << 20);
    let mut file = [&b"KPAK"[..], &1u32.to_le_bytes(), &(72 + packed.len() as u64).to_le_bytes()].concat();
    file.resize(64, 0);
    file.extend([1, packed.len() as u32].iter().flat_map(|word: &u32| word.to_le_bytes()));
    file.extend(&packed);
    let entry = [text("gfx90a"), map(1), text("ordinal"), vec![0]].concat();
    file.extend([map(3), text("compression_scheme"), text("zstd-per-kernel"), text("zstd_offset"), vec![64]].concat());
    file.extend([text("toc"), map(1), text("lib"), map(5_000), entry.repeat(5_000)].concat());
    read("a.kpack", file, INSPECT);
}

/// A table has it in lines of the width.
#[test]
fn a_property_of_many_megabytes_is_shown() {
    let folder = Folder::new();
    folder.put("m.spv", Module::default().bytes());
    folder.put("m.prop", format!("[SYCL/x]\na=2|{}\n", "A".repeat(8 * LONG)));
    run_bounded(&folder, &["props", "m.spv"], TIME_LIMIT, READ);
}

/// The reader has to take the entries that the loader takes.
#[test]
fn tags_that_stand_twice_and_segments_that_overlap() {
    let mut file = Linked::new();
    let (first, last) = (file.add(b"libsycl.so.8\0"), file.add(b"libsycl.so.9\0"));
    let dynamic = file.add(&words(&[5, first, 1, 0, 5, last, 10, 13, 0, 0]));
    let mut bytes = file.finish(Some((dynamic, 80)), None);
    assert_eq!(Host::read(&bytes).unwrap().sycl_abi, Some(9));
    bytes[64 + 56] = 1;
    assert!(Host::read(&bytes).unwrap_err().to_string().contains("overlap in memory"));
}

/// Parameters by the thousand of one type that has a long name or very many members.
#[test]
fn parameters_of_one_large_type() {
    let mut module = Module::default();
    put(&mut module.texts, 5, &[20], Some(&format!("struct.{}", "x".repeat(200_000))), &[]);
    put(&mut module.globals, 30, &[20, 3], None, &[]);
    put(&mut module.globals, 30, &[&[21][..], &[3; 60_000]].concat(), None, &[]);
    (0..8).for_each(|_| put(&mut module.globals, 6090, &[3; 60_000], None, &[]));
    for (kind, name) in [(20, "long"), (21, "wide")] {
        (0..4_000).for_each(|nth| _ = module.kernel_with(kind, &format!("{name}{nth}")));
    }
    read("m.spv", module.bytes(), &[&["kernels"]]);
}

/// Functions that a group of decorations marks, or gives one symbol.
#[test]
fn functions_of_one_group() {
    let [group, signature] = [20, 21];
    let mut module = Module::default();
    put(&mut module.decorations, 71, &[group, 5602], None, &[]);
    put(&mut module.decorations, 71, &[group, 41], Some(&"x".repeat(200_000)), &[0]);
    put(&mut module.decorations, 73, &[group], None, &[]);
    put(&mut module.capabilities, 17, &[5603], None, &[]);
    put(&mut module.globals, 33, &[&[signature, 1][..], &[3; 60_000]].concat(), None, &[]);
    let functions: Vec<u32> = (0..8_000).map(|nth| module.kernel_of(signature, &format!("k{nth}"))).collect();
    put(&mut module.decorations, 74, &[&[group][..], &functions].concat(), None, &[]);
    read("m.spv", module.bytes(), &[&["check", "-t", "intel_gpu_pvc"]]);
}

/// Each would take more than a thousand bytes in memory, and has some in the file before that is compressed.
#[test]
fn tiny_images_by_the_hundred_thousand_are_counted_by_the_size_of_the_file() {
    const MANY: usize = 1 << 18;
    let folder = Folder::new();
    let parts = vec![offload_bundle::NewPart { id: "sycl-spir64", data: b"abcd" }; MANY];
    let bundle = offload_bundle::write(&parts, 1).unwrap();
    let packed = offload_bundle::compress(&bundle, 2, 9, 0).unwrap();
    assert!(packed.len() < 2 << 20, "{}", packed.len());
    folder.put("a.bundle", packed);
    for verb in [&["inspect"][..], &["inspect", "--format", "json"], &["check", "-t", "dg1"], &["diff", "a.bundle"]] {
        run_bounded(&folder, &[verb, &["a.bundle", "--max-memory", "128MiB"]].concat(), TIME_LIMIT, READ);
    }
}

/// Text before each was looked through for the begin of its line.
#[test]
fn separators_of_containers_on_one_line() {
    let folder = Folder::new();
    let words = "__hipsycl_hcf_binary_appendix".repeat(80_000);
    folder.put("words.hcf", format!("object-id=17\ngenerator={words}\n"));
    run_bounded(&folder, &["inspect", "words.hcf"], TIME_LIMIT, &[3]);
    let blanks = format!("{}__hipsycl_hcf_binary_appendix", " ".repeat(40)).repeat(40_000);
    folder.put("blanks.hcf", format!("object-id=17\ngenerator={blanks}\n"));
    run_bounded(&folder, &["inspect", "blanks.hcf"], TIME_LIMIT, &[3]);
}
