//! Which words of an ELF file does a loader see otherwise than they stand in the file?

use super::program::tool;
use super::recorded::module;
use super::repeated::{BASE, Linked, words};
use super::support::folder::Folder;
use std::process::Command;

/// Types of relocations of x86-64.
pub const COPY: u64 = 5;
pub const ABSOLUTE: u64 = 1;
const RELATIVE: u64 = 8;
pub const TLS_DESCRIPTOR: u64 = 36;
/// A global object of section 1.
pub const GLOBAL: u64 = 0x11 << 32 | 1 << 48;
/// A local one.
pub const LOCAL: u64 = 0x01 << 32 | 1 << 48;

/// Addresses in a file with one image: the target's name, the structure and the descriptor.
pub struct Places {
    pub target: u64,
    pub structure: u64,
    pub descriptor: u64,
}

/// Begins a file with a list of one image.
pub fn image() -> (Linked, Places) {
    let mut file = Linked::new();
    let code = module("k", 0);
    let (target, name, payload) = (file.add(b"spir64\0\0\0\0\0\0\0\0\0"), file.add(b"k\0"), file.add(&code));
    let entry = file.add(&words(&[name, name, 0, 0]));
    let end = payload + code.len() as u64;
    let fields = [3 | 4 << 16 | 2 << 24, target, 0, 0, payload, end, entry, entry + 32, 0, 0];
    let structure = file.add(&words(&fields));
    let descriptor = file.add(&words(&[1 | 1 << 16, structure, 0, 0]));
    (file, Places { target, structure, descriptor })
}

/// Adds a second list, of an image whose payload has room before it. Gives the addresses of the payload, the structure and the
/// descriptor.
pub fn second(file: &mut Linked, target: u64) -> (u64, u64, u64) {
    let (_, payload) = (file.add(&[0; 64]), file.add(&module("b", 0)));
    let end = payload + module("b", 0).len() as u64;
    let name = file.add(b"b\0");
    let entry = file.add(&words(&[name, name, 0, 0]));
    let fields = [3 | 4 << 16 | 2 << 24, target, 0, 0, payload, end, entry, entry + 32, 0, 0];
    let structure = file.add(&words(&fields));
    (payload, structure, file.add(&words(&[1 | 1 << 16, structure, 0, 0])))
}

/// Names that the dynamic section may have.
pub const STRINGS: &[u8] = b"\0x\0libsycl.so.9\0libsycl.so.8\0libsycl-preview.so.8\0";

/// Adds relocations to a file, in the table of RELA or of REL, with a symbol of these words.
pub fn relocated(file: Linked, relocations: &[u64], with_addend: bool, symbol: &[u64; 3]) -> Vec<u8> {
    with_entries(file, relocations, with_addend, symbol, &[])
}

/// Adds relocations like [`relocated`], and more entries of the dynamic section.
pub fn with_entries(
    mut file: Linked,
    relocations: &[u64],
    with_addend: bool,
    symbol: &[u64; 3],
    more: &[u64],
) -> Vec<u8> {
    let table = file.add(&words(relocations));
    let (strings, symbols) = (file.add(STRINGS), file.add(&words(&[&[0; 3][..], symbol].concat())));
    let (tags, entry) = if with_addend { ([7, 8, 9], 24) } else { ([17, 18, 19], 16) };
    let size = relocations.len() as u64 * 8;
    let entries =
        [tags[0], table, tags[1], size, tags[2], entry, 5, strings, 10, STRINGS.len() as u64, 6, symbols, 11, 24];
    let entries = [&entries, more, &[0, 0]].concat();
    let at = file.add(&words(&entries));
    file.finish(Some((at, entries.len() as u64 * 8)), None)
}

/// The exit code of `check` for a file, with what was told.
pub fn checked(file: Vec<u8>) -> (Option<i32>, String) {
    let folder = Folder::new();
    folder.put("a.so", file);
    let done = tool(&folder, ["check", "--strict", "-t", "spir64_x86_64", "a.so"]);
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// The last pointer of the constants stands before the table of what is dynamic, and is another's.
#[test]
fn a_pointer_before_the_dynamic_section_does_not_reach_into_it() {
    let folder = Folder::new();
    folder.put("a.c", "extern int another; int *const pointer = &another;");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-nostdlib", "-Wl,--allow-shlib-undefined", "-o", "a.so", "a.c"]);
    assert!(cc.current_dir(folder.path()).status().unwrap().success());
    let done = tool(&folder, ["inspect", "a.so"]);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(6), "{told}");
    assert!(told.contains("no device code") && !told.contains("relocation"), "{told}");
}

#[test]
fn relocations_reach_as_far_as_they_write() {
    let symbol = [2 | GLOBAL, 0, 40];
    for (kind, reach) in [(ABSOLUTE, 8), (TLS_DESCRIPTOR, 16), (COPY, 40)] {
        for (before, code) in [(reach, 0), (reach - 1, 3)] {
            let (mut file, Places { target, .. }) = image();
            let (payload, ..) = second(&mut file, target);
            let (seen, told) = checked(relocated(file, &[payload - before, 1 << 32 | kind, 0], true, &symbol));
            assert_eq!(seen, Some(code), "{kind} {before}: {told}");
        }
    }
}

/// Linkers put slots of functions right before the list of payloads and their sizes.
#[test]
fn a_size_behind_a_payload_is_no_pointer() {
    let folder = Folder::new();
    folder.put("k.spv", module(&"k".repeat(0x4000), 0));
    assert!(tool(&folder, ["wrap", "k.spv", "--emit", "object", "-o", "k.o"]).status.success());
    // The first slot stands as far before the list as a structure's head before its payload.
    for slots in 1..5 {
        let calls: String = (0..slots).map(|nth| format!(".quad f{nth}\n")).collect();
        folder
            .put("a.s", format!(".section .data,\"aw\"\n.p2align 4\n{calls}.section .note.GNU-stack,\"\",@progbits\n"));
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-nostdlib", "-Wl,-z,norelro,--allow-shlib-undefined", "-o", "a.so", "a.s", "k.o"]);
        assert!(cc.current_dir(folder.path()).status().unwrap().success());
        let (seen, told) = checked(std::fs::read(folder.path().join("a.so")).unwrap());
        assert_eq!(seen, Some(0), "{slots}: {told}");
    }
}

/// The first file of a program that has a symbol gives it its value.
#[test]
fn another_file_may_have_a_symbol_of_this_name() {
    for (symbol, code) in [(LOCAL, 0), (2 << 40 | GLOBAL, 0), (GLOBAL, 1)] {
        let (_, places) = image();
        for (place, value) in [(places.structure + 8, places.target), (places.descriptor + 8, places.structure)] {
            // The value of the symbol stands there, too: only a loader knows better.
            let relocations = [place, 1 << 32 | ABSOLUTE, 0];
            let (seen, told) = checked(relocated(image().0, &relocations, true, &[symbol, value, 8]));
            assert_eq!(seen, Some(code), "{symbol:#x} {place:#x}: {told}");
        }
    }
}

/// glibc does not read this table on x86-64, musl does.
#[test]
fn relocations_that_only_some_loaders_apply_leave_images_open() {
    let with_two = || {
        let (mut file, places) = image();
        let (_, structure, descriptor) = second(&mut file, places.target);
        (file, structure, descriptor)
    };
    let (_, structure, descriptor) = with_two();
    for (place, code) in [(structure + 8, 1), (descriptor + 8, 1), (descriptor, 3)] {
        let relocations = [place, 1 << 32 | ABSOLUTE, descriptor + 16, RELATIVE];
        let (seen, told) = checked(relocated(with_two().0, &relocations, false, &[LOCAL, 0, 8]));
        assert_eq!(seen, Some(code), "{place:#x}: {told}");
    }
}

/// A program may register images by a function that it looks for while it runs; the runtime reads no version of a list.
#[test]
fn the_only_list_may_be_none_that_is_known() {
    let (_, Places { target, structure, descriptor }) = image();
    for place in [structure + 8, structure + 32, descriptor + 8] {
        // Others are as a linker leaves them.
        let relocations = [structure + 8, RELATIVE, target, place, 1 << 32 | ABSOLUTE, 0];
        let (seen, told) = checked(relocated(image().0, &relocations, true, &[2 | 0x11 << 32, 0, 8]));
        assert_eq!(seen, Some(3), "{place:#x}: {told}");
    }
    for (version, code) in [(1, 0), (9, 3)] {
        let mut file = image().0.finish(None, None);
        file[16] = 2;
        file[(descriptor - BASE) as usize] = version;
        let (seen, told) = checked(file);
        assert_eq!(seen, Some(code), "a program at a fixed address, {version}: {told}");
    }
}

/// The number of images that `inspect` tells of a program.
fn count(file: &[u8]) -> usize {
    let folder = Folder::new();
    folder.put("a.out", file);
    let done = tool(&folder, ["inspect", "a.out", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    report["files"][0]["images"].as_array().map_or(0, Vec::len)
}

/// Loaders map whole pages.
#[test]
fn what_stands_on_the_pages_of_a_segment_is_read() {
    let whole = |file: Linked| {
        let mut bytes = file.finish(None, None);
        // The addresses are fixed.
        bytes[16] = 2;
        bytes
    };
    let (file, places) = image();
    let bytes = whole(file);
    assert_eq!(count(&bytes), 1);
    let put = |at: usize, value: u64| {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    // The segment ends before the descriptor, in the file and in memory.
    let size = places.descriptor - BASE;
    let mut cut = put(64 + 32, size);
    cut[64 + 40..64 + 48].copy_from_slice(&size.to_le_bytes());
    assert_eq!(count(&cut), 1);
    // The rest of the page is cleared where there is more in memory.
    assert_eq!(count(&put(64 + 32, size)), 0);
    // The segment begins behind all.
    let mut late = bytes.clone();
    for (field, value) in [(8, 0x800u64), (16, BASE + 0x800), (24, BASE + 0x800), (32, 8), (40, 8)] {
        late[64 + field..72 + field].copy_from_slice(&value.to_le_bytes());
    }
    late.resize(0x808, 0);
    assert_eq!(count(&late), 1);
}

/// A file in which the bytes of a second list stand on the page of the first segment, and are those of a second one somewhere else: its
/// pointers lead to the page.
#[test]
fn what_stands_on_a_page_may_be_another_segment_too() {
    for cut in [0, 48] {
        let (mut file, places) = image();
        let begin = file.add(&[7; 64]) - BASE + cut;
        second(&mut file, places.target);
        let mut bytes = file.finish(None, None);
        (bytes[16], bytes[56]) = (2, 2);
        let size = bytes.len() as u64 - begin;
        let address = BASE + 0x10000 + begin;
        let headers = [
            words(&[1 | 6 << 32, 0, BASE, BASE, begin, begin, 0x1000]),
            words(&[1 | 6 << 32, begin, address, address, size, size, 0x1000]),
        ];
        bytes[64..64 + 112].copy_from_slice(&headers.concat());
        assert_eq!(count(&bytes), 2);
        // The first segment may be the one that its pages repeat.
        bytes[64..64 + 112].rotate_left(56);
        assert_eq!(count(&bytes), 2);
    }
}

/// A file in which a second segment begins at an address on the page where the first, which holds all, ends. It is at an offset.
fn on_a_page(begin: u64, offset: u64) -> Vec<u8> {
    let mut bytes = image().0.finish(None, None);
    bytes[16] = 2;
    bytes[56] = 2;
    bytes.resize(offset as usize + 8, 0);
    bytes[64 + 56..64 + 112].copy_from_slice(&words(&[1 | 6 << 32, offset, BASE + begin, BASE + begin, 8, 8, 0x1000]));
    bytes
}

/// Loaders map the first page of a segment over what is there.
#[test]
fn segments_have_a_page_in_common_where_it_is_the_same_for_both() {
    let aarch64 = |mut bytes: Vec<u8>| {
        bytes[18] = 183;
        bytes
    };
    let swapped = |mut bytes: Vec<u8>| {
        bytes[64..64 + 112].rotate_left(56);
        bytes
    };
    for (file, code, what) in [
        (on_a_page(0x800, 0x800), 0, "the same page"),
        (on_a_page(0x1800, 0x2800), 0, "another page"),
        (on_a_page(0x800, 0x1800), 3, "another page of the file"),
        (swapped(on_a_page(0x800, 0x800)), 3, "the first is mapped over the second"),
        (on_a_page(0x1800, 0x2900), 3, "another place of a page"),
        (aarch64(on_a_page(0x1800, 0x1800)), 0, "the same large page"),
        (aarch64(on_a_page(0x1800, 0x2800)), 0, "pages are small"),
        (aarch64(on_a_page(0x1800, 0x4800)), 0, "pages are small, too"),
        (aarch64(on_a_page(0x4800, 0x8800)), 0, "another page of 16 kB"),
        (aarch64(on_a_page(0x1800, 0x5800)), 3, "another page of 16 kB in the file"),
        (aarch64(on_a_page(0x4800, 0x14800)), 3, "another large page"),
    ] {
        let (seen, told) = checked(file);
        assert_eq!(seen, Some(code), "{what}: {told}");
    }
}

#[test]
fn what_is_between_two_segments_on_a_page_is_read_once() {
    let (file, places) = image();
    let mut bytes = file.finish(None, None);
    (bytes[16], bytes[56]) = (2, 2);
    let (first, second) = (places.target - BASE, places.descriptor - BASE);
    let size = bytes.len() as u64 - second;
    let headers = [
        words(&[1 | 6 << 32, 0, BASE, BASE, first, first, 0x1000]),
        words(&[1 | 6 << 32, second, places.descriptor, places.descriptor, size, size, 0x1000]),
    ];
    bytes[64..64 + 112].copy_from_slice(&headers.concat());
    let (seen, told) = checked(bytes);
    assert!(seen == Some(0) && told.contains("compatible"), "{told}");
}

/// glibc clears what a segment has in memory and leaves the rest of the page, Linux and musl clear that, too.
#[test]
fn what_stands_behind_cleared_bytes_is_open() {
    let (mut file, places) = image();
    file.add(&[7; 16]);
    let second = file.add(&words(&[1 | 1 << 16, places.structure, 0, 0]));
    let mut bytes = file.finish(None, None);
    let size = places.descriptor - BASE;
    for (field, value) in [(32, size), (40, size + 40)] {
        bytes[64 + field..72 + field].copy_from_slice(&value.to_le_bytes());
    }
    assert!(second > places.descriptor + 40);
    let (seen, told) = checked(bytes);
    assert_eq!(seen, Some(3), "{told}");
}

/// Some loaders map a page of the file, and clear it from there on.
#[test]
fn what_stands_before_a_segment_without_bytes_is_open() {
    let file = |begin: u64| {
        let (mut file, places) = image();
        let (.., descriptor) = second(&mut file, places.target);
        let mut bytes = file.finish(None, None);
        (bytes[16], bytes[56]) = (2, 2);
        bytes.resize(0x1000, 0);
        // The page of the second list is in memory again, behind the first.
        let (at, address) = (begin, BASE + 0x10000 + begin);
        bytes[64 + 56..64 + 112].copy_from_slice(&words(&[1 | 6 << 32, at, address, address, 0, 16, 0x1000]));
        let list = (descriptor - BASE) as usize;
        // The list's pointer leads there.
        let structure = u64::from_le_bytes(bytes[list + 8..list + 16].try_into().unwrap());
        bytes[list + 8..list + 16].copy_from_slice(&(structure + 0x10000).to_le_bytes());
        bytes
    };
    let (seen, told) = checked(file(0));
    assert_eq!(seen, Some(3), "nothing is there: {told}");
    let (seen, told) = checked(file(0xff0));
    assert!(seen == Some(3) && told.contains("image 1"), "{told}");
}

/// A loader makes it the address of the file's first byte.
#[test]
fn a_null_pointer_that_a_relocation_writes_is_told() {
    for (field, code) in [(None, 0), (Some(16), 3), (Some(24), 3)] {
        let (file, places) = image();
        let null = field.map(|field| [places.structure + field, RELATIVE, 0]).unwrap_or_default();
        let target = [places.structure + 8, RELATIVE, places.target];
        let relocations = if field.is_some() { [target, null].concat() } else { target.to_vec() };
        let (seen, told) = checked(relocated(file, &relocations, true, &[LOCAL, 0, 8]));
        assert_eq!(seen, Some(code), "{field:?}: {told}");
        assert_eq!(told.contains("a relocation writes the null pointer"), code == 3, "{field:?}: {told}");
    }
}

/// Loaders read it at its address, to its end.
#[test]
fn the_dynamic_section_is_where_loaders_read_it() {
    let of = |change: &dyn Fn(&mut [u8])| {
        let (file, places) = image();
        let mut bytes = relocated(file, &[places.structure + 8, RELATIVE, places.target], true, &[LOCAL, 0, 8]);
        change(&mut bytes[64 + 56..64 + 112]);
        checked(bytes)
    };
    let (seen, told) = of(&|_| {});
    assert_eq!(seen, Some(0), "{told}");
    for (field, less) in [(16, 16), (8, 16), (32, 16)] {
        let (seen, told) = of(&|header| {
            let value = u64::from_le_bytes(header[field..field + 8].try_into().unwrap()) - less;
            header[field..field + 8].copy_from_slice(&value.to_le_bytes());
        });
        assert_eq!(seen, Some(3), "{field}: {told}");
        assert!(told.contains("dynamic section"), "{field}: {told}");
    }
}

/// riscv64, ppc64le and loongarch64 number their relocations otherwise.
#[test]
fn relocations_of_other_machines_leave_images_open() {
    for (machine, code) in [(62u16, 0), (243, 3), (21, 3), (258, 3)] {
        let (file, places) = image();
        let kind = if machine == 62 { RELATIVE } else { 3 };
        let relocations = [places.structure + 8, kind, places.target];
        let mut bytes = relocated(file, &relocations, true, &[LOCAL, 0, 8]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        let (seen, told) = checked(bytes);
        assert_eq!(seen, Some(code), "{machine}: {told}");
    }
    // Some loaders write what no table names.
    let (file, places) = image();
    let mut bytes = relocated(file, &[places.descriptor + 32, 0, 0], true, &[LOCAL, 0, 8]);
    bytes[18] = 8;
    let (seen, told) = checked(bytes);
    assert_eq!(seen, Some(1), "{told}");
}

/// glibc takes so many relocations for relative ones, whatever their type.
#[test]
fn relocations_that_are_counted_as_relative_are() {
    const COUNT: u64 = 0x6fff_fff9;
    const OF_ARM: u64 = 1027;
    for (kind, count, code) in [(OF_ARM, 1, 0), (0, 0, 0), (0, 1, 3)] {
        let (file, places) = image();
        let relocations = [places.structure + 8, kind, places.target];
        let mut bytes = with_entries(file, &relocations, true, &[LOCAL, 0, 8], &[COUNT, count]);
        bytes[18] = 183;
        let (seen, told) = checked(bytes);
        assert_eq!(seen, Some(code), "{kind} {count}: {told}");
    }
}

/// glibc reads the table of the linkage's relocations last, musl first.
#[test]
fn places_of_two_tables_of_relocations_are_open() {
    for (field, value, code) in [(24, 0, 0), (8, 0x100, 3)] {
        let (mut file, places) = image();
        let late = file.add(&words(&[places.descriptor + 8, RELATIVE, places.structure]));
        let early = [places.descriptor + field, RELATIVE, value];
        let more = [23, late, 2, 24, 20, 7];
        let (seen, told) = checked(with_entries(file, &early, true, &[LOCAL, 0, 8], &more));
        assert_eq!(seen, Some(code), "{field}: {told}");
    }
}

/// Loaders read a table to its end, and as many program headers as the file says itself.
#[test]
fn tables_and_headers_are_whole() {
    for (size, code) in [(24, 0), (23, 3), (0x1000, 3)] {
        let (file, places) = image();
        let mut bytes = relocated(file, &[places.structure + 8, RELATIVE, places.target], true, &[LOCAL, 0, 8]);
        // The entry of its size.
        let entry = words(&[8, 24, 9, 24]);
        let at = bytes.windows(32).position(|bytes| bytes == entry).unwrap();
        bytes[at + 8..at + 16].copy_from_slice(&u64::to_le_bytes(size));
        let (seen, told) = checked(bytes);
        assert_eq!(seen, Some(code), "{size}: {told}");
    }
    let mut bytes = image().0.finish(None, None);
    bytes[56..58].copy_from_slice(&[0xff, 0xff]);
    let (seen, told) = checked(bytes);
    assert!(seen == Some(3) && told.contains("program headers"), "{told}");
}

/// A text goes on where its NUL is overwritten.
#[test]
fn the_end_of_a_text_is_part_of_it() {
    let (_, Places { target, .. }) = image();
    for (place, code) in [(target + 6, 1), (target + 7, 0)] {
        let relocations = [place, 1 << 32 | ABSOLUTE, 0];
        let (seen, told) = checked(relocated(image().0, &relocations, true, &[2 | 0x11 << 32, 0, 8]));
        assert!(seen == Some(code) || (code > 0 && seen == Some(3)), "{place:#x} {seen:?}: {told}");
    }
}

/// A loader adds its base to what the first has left there.
#[test]
fn relocations_over_each_other_leave_their_places_open() {
    let (_, Places { target, structure, descriptor }) = image();
    for (place, code) in [(structure + 8, 1), (structure + 12, 1), (structure + 4, 1), (descriptor + 24, 0)] {
        let relocations = [structure + 8, RELATIVE, target, place, RELATIVE, 0];
        let (seen, told) = checked(relocated(image().0, &relocations, true, &[LOCAL, 0, 8]));
        assert!(seen == Some(code) || (code > 0 && seen == Some(3)), "{place:#x} {seen:?}: {told}");
    }
    // Four thousand times is no program.
    let relocations = [descriptor + 24, RELATIVE, 0].repeat(5000);
    let (seen, told) = checked(relocated(image().0, &relocations, true, &[LOCAL, 0, 8]));
    assert_eq!(seen, Some(3), "{told}");
}

/// A program is looked through for the symbol, too, by its name: another may have the same.
#[test]
fn a_program_may_have_two_symbols_of_a_name() {
    let (_, Places { target, structure, .. }) = image();
    for (symbol, code) in [(LOCAL, 0), (GLOBAL, 1)] {
        let relocations = [structure + 8, 1 << 32 | ABSOLUTE, 0];
        let mut file = relocated(image().0, &relocations, true, &[symbol, target, 8]);
        file[16] = 2;
        let (seen, told) = checked(file);
        assert_eq!(seen, Some(code), "{symbol:#x}: {told}");
    }
}

/// The address of the first entry's name is that of the head of LLVM's entries, until a loader adds its base.
#[test]
fn heads_of_entries_are_no_pointers() {
    let code = module("k", 0);
    for relocation in [0, 8] {
        let mut file = Linked::new();
        let (target, kernel) = (file.add(b"spir64\0"), file.add(b"k\0"));
        let (payload, end) = (file.add(&code), code.len() as u64);
        let pad = 0x8_0000 - file.add(b"");
        file.add(&vec![0; pad as usize]);
        let name = file.add(b"\0evil\0") + 1;
        assert_eq!(name, 0x8_0001);
        let mut entries = [0, name, 0, 0].repeat(7);
        for nth in [3, 10, 17, 24] {
            entries[nth] = kernel;
        }
        let entries = file.add(&words(&entries));
        let fields = [3 | 4 << 16 | 2 << 24, target, 0, 0, payload, payload + end, entries, entries + 224, 0, 0];
        let structure = file.add(&words(&fields));
        file.add(&words(&[1 | 1 << 16, structure, 0, 0]));
        let relocations = [entries + relocation, RELATIVE, if relocation == 8 { name } else { 0 }];
        let (seen, told) = checked(relocated(file, &relocations, true, &[LOCAL, 0, 8]));
        assert_ne!(seen, Some(0), "{relocation}: {told}");
    }
}

/// Linux clears nothing in a segment that may not be written; other loaders do.
#[test]
fn what_only_some_loaders_clear_is_refused() {
    for (flags, kind, is_read) in [(7, 2, true), (5, 2, false), (7, 3, true), (5, 3, false)] {
        let (mut file, _) = image();
        file.add(&[1; 16]);
        let mut file = file.finish(None, None);
        let size = u64::from_le_bytes(file[96..104].try_into().unwrap());
        file[96..104].copy_from_slice(&(size - 16).to_le_bytes());
        file[68] = flags;
        file[16] = kind;
        let (seen, told) = checked(file);
        // Bytes behind the segment are told of either.
        assert_eq!(seen, Some(3), "{flags} {kind}: {told}");
        assert_eq!(told.contains(" compatible"), is_read, "{flags} {kind}: {told}");
    }
}

/// The file asks for an address, and mostly gets it.
#[test]
fn a_list_of_a_library_with_an_address_needs_no_relocations() {
    let mut file = image().0.finish(None, None);
    // The segment is not writable.
    file[68] = 4;
    let (seen, told) = checked(file);
    assert_eq!(seen, Some(0), "{told}");
}

/// A loader takes the difference for the address of the program.
#[test]
fn program_headers_are_where_they_say() {
    let folder = Folder::new();
    folder.put("a.c", "int main(void) { return 0; }");
    let mut cc = Command::new("cc");
    cc.args(["-fPIE", "-pie", "-Wl,-z,noseparate-code", "-o", "a", "a.c"]);
    assert!(cc.current_dir(folder.path()).status().unwrap().success());
    let mut file = std::fs::read(folder.path().join("a")).unwrap();
    let inspected = |file: &[u8]| {
        folder.put("a", file);
        let done = tool(&folder, ["inspect", "a"]);
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert_eq!(inspected(&file).0, Some(6));
    // A file of debugging information has no bytes where the program has some.
    let objcopy =
        Command::new("objcopy").args(["--only-keep-debug", "a", "a.debug"]).current_dir(folder.path()).status();
    assert!(objcopy.unwrap().success());
    let (seen, told) = inspected(&std::fs::read(folder.path().join("a.debug")).unwrap());
    assert_eq!(seen, Some(6), "{told}");
    // PT_PHDR is the first.
    assert_eq!(file[64], 6);
    let phdr = file.clone();
    file[64 + 17] = 7;
    let (seen, told) = inspected(&file);
    assert_eq!(seen, Some(3), "{told}");
    // Old systems go by the first segment's place.
    let mut file = phdr;
    let loaded: Vec<usize> = (64..).step_by(56).take(file[56].into()).filter(|at| file[*at] == 1).collect();
    let (first, last) = (loaded[0], loaded[loaded.len() - 1]);
    let header = file[first..first + 56].to_vec();
    file.copy_within(last..last + 56, first);
    file[last..last + 56].copy_from_slice(&header);
    let (seen, told) = inspected(&file);
    assert!(seen == Some(3) && told.contains("program headers"), "{seen:?} {told}");
}

/// The runtime reads neither the version of a structure nor its kind.
#[test]
fn structures_of_no_known_version_are_told() {
    for (version, kind, code) in [(3, 4, 0), (0, 4, 3), (7, 4, 3), (0xffff, 4, 3), (3, 0, 3), (3, 9, 3)] {
        let (mut file, Places { target, .. }) = image();
        let (_, structure, _) = second(&mut file, target);
        let mut file = file.finish(None, None);
        let at = (structure - BASE) as usize;
        file[at..at + 2].copy_from_slice(&u16::to_le_bytes(version));
        file[at + 2] = kind;
        let (seen, told) = checked(file);
        assert_eq!(seen, Some(code), "{version} {kind}: {told}");
    }
}

/// glibc adds nothing to the value of a symbol where others do.
#[test]
fn slots_of_symbols_have_no_addends() {
    const SLOT: u64 = 6;
    for (addend, code) in [(0, 0), (8, 1)] {
        let (_, Places { target, structure, .. }) = image();
        let relocations = [structure + 8, 1 << 32 | SLOT, addend];
        let (seen, told) = checked(relocated(image().0, &relocations, true, &[LOCAL, target - addend, 8]));
        assert!(seen == Some(code) || (code > 0 && seen == Some(3)), "{addend} {seen:?}: {told}");
    }
}
