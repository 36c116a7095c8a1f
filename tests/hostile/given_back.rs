//! Which programs would a record of an earlier run give back that are other than the file is?
//!
//! Whoever writes a record writes the hash of what it gives back, too. The files are linked here, and their records are forged.

use super::recorded::{module, table, tool};
use super::support::folder::Folder;
use std::process::Command;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::{Layer, Patch, Record};

const HEADER: usize = 56;

fn word(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

/// A library with a kernel and a segment of its own behind all others, before and after an image was added.
fn library(folder: &Folder) -> [Vec<u8>; 2] {
    const SOURCE: &str = r#"
        const char room[1400] = "PHDRPAD";
        __attribute__((section("zz"))) int own[4] = {42, 1, 2, 3};
        int test(void) { return own[0] == 42 && room[0]; }
    "#;
    table(folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(folder, &["wrap", "m.table", "--emit", "object", "-o", "k.o"]).status.success());
    table(folder, &[(&module("j", 0), "", "j\n")]);
    folder.put("own.c", SOURCE);
    let linked = Command::new("cc")
        .args(["-shared", "-fPIC", "-nostdlib", "-Wl,--allow-shlib-undefined", "-Wl,--section-start=zz=0x500000", "-s"])
        .args(["own.c", "k.o", "-o", "lower.so"])
        .current_dir(folder.path())
        .status();
    assert!(linked.unwrap().success());
    let done = tool(folder, &["embed", "lower.so", "m.table", "-o", "upper.so"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    ["lower.so", "upper.so"].map(|name| std::fs::read(folder.path().join(name)).unwrap())
}

fn record(file: &[u8]) -> Record {
    Record::locate(&Host::read(file).unwrap(), Layer::Images).unwrap().0
}

/// Whether a record whose hash is right gives something back.
fn is_taken(mut record: Record, file: &[u8]) -> bool {
    let mut given = file[..record.original_len as usize].to_vec();
    for Patch { offset, original } in &record.patches {
        given[*offset as usize..*offset as usize + 8].copy_from_slice(&original.to_le_bytes());
    }
    record.original_hash = *blake3::hash(&given).as_bytes();
    let host = Host::read(file).unwrap();
    let restored = beneath::restore(&record, &host);
    if let Err(error) = &restored {
        assert!(error.to_string().contains("another program"), "{error}");
    }
    restored.is_ok()
}

#[test]
fn a_list_is_no_longer_than_its_array() {
    let folder = Folder::new();
    let [lower, upper] = library(&folder);
    let record = record(&upper);
    assert!(is_taken(record.clone(), &upper));
    let count = record.patches.iter().position(|patch| patch.original == 0x1_0001).unwrap();
    assert_eq!(word(&lower, record.patches[count].offset as usize), 0x1_0001, "one image");
    let mut forged = record;
    forged.patches[count].original = 0x2_0001;
    assert!(!is_taken(forged, &upper));
}

/// The last segment would count as one that was added.
#[test]
fn a_shorter_original_has_all_segments_of_the_program() {
    let folder = Folder::new();
    let [lower, mut upper] = library(&folder);
    let (table, count) = (word(&lower, 32) as usize, usize::from(lower[56]));
    let headers: Vec<&[u8]> = (0..count).map(|nth| &lower[table + nth * HEADER..table + (nth + 1) * HEADER]).collect();
    let is_own = |header: &&&[u8]| header[0] == 1 && word(header, 16) >= 0x50_0000;
    let own: &[u8] = headers.iter().find(is_own).unwrap();
    let kept: Vec<u8> = headers.iter().filter(|header| **header != own).flat_map(|header| header.to_vec()).collect();
    let room = lower.windows(7).position(|bytes| bytes == b"PHDRPAD").unwrap().next_multiple_of(8) + 8;
    upper[room..room + kept.len()].copy_from_slice(&kept);
    let mut forged = record(&upper);
    forged.original_len = word(own, 8);
    for patch in &mut forged.patches {
        patch.original = match patch.offset {
            32 => room as u64,
            40 => 0,
            56 => (0x40 << 16) | (count as u64 - 1),
            _ => patch.original,
        };
    }
    assert!(!is_taken(forged, &upper));
}

/// A host that lists images among its own constants, which its code may refer to without a relocation.
const AMONG_CONSTANTS: &str = r#"
    asm(".section .rodata\n .balign 16\n"
        "zero: .incbin \"0.bin\"\n zero_end: .balign 16\n first: .zero 32\n"
        "one: .incbin \"1.bin\"\n .fill 65536\n one_end: .balign 16\n second: .zero 32\n"
        "two: .incbin \"2.bin\"\n two_end: .balign 16\n third: .zero 32\n .text\n");
    extern const char zero[], zero_end[], one[], one_end[], two[], two_end[];
    struct entry { void *address; const char *name; long size; int flags, reserved; };
    static struct entry entries[3] = {{0, "k0"}, {0, "k1"}, {0, "k2"}};
    static struct image {
        short version; char kind, format; const char *target, *compile, *link, *start, *end;
        struct entry *entries, *entries_end; void *sets, *sets_end;
    } images[3] = {{3, 4, 2, "spir64", "", "", zero, zero_end, entries, entries + 1},
                   {3, 4, 2, "spir64", "", "", one, one_end, entries + 1, entries + 2},
                   {3, 4, 2, "spir64", "", "", two, two_end, entries + 2, entries + 3}};
    static struct { short version, count; struct image *images; void *entries, *entries_end; } list = {1, 3, images};
    void __sycl_register_lib(void *);
    __attribute__((constructor)) static void begin(void) { __sycl_register_lib(&list); }
"#;

/// Payloads move in sections of payloads alone: a host's constants may be zeros as padding is.
#[test]
fn a_hosts_own_constants_stay_between_payloads() {
    let folder = Folder::new();
    for nth in 0..3 {
        folder.put(&format!("{nth}.bin"), module(&format!("k{nth}"), 0));
    }
    folder.put("host.c", AMONG_CONSTANTS);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-nostdlib", "-Wl,--allow-shlib-undefined", "host.c", "-o", "host.so"]);
    assert!(cc.current_dir(folder.path()).status().unwrap().success());
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let original = read("host.so");
    let removed = module("k1", 0);
    let [first, place] = [module("k0", 0), removed.clone()]
        .map(|module| original.windows(module.len()).position(|bytes| bytes == module).unwrap());
    let more: [&[&str]; 2] = [&["--lose-kernels"], &["--lose-kernels", "--keep-layout"]];
    let [shrunk, kept] = more.map(|more| {
        let call = [&["prune", "host.so", "--image", "1", "-o", "pruned.so"], more].concat();
        let done = tool(&folder, &call);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        read("pruned.so")
    });
    let behind = place + removed.len() + 65536;
    let end = behind + 2 * 64 + removed.len();
    for pruned in [shrunk, kept] {
        for range in [first..place, behind..end] {
            assert_eq!(pruned[range.clone()], original[range]);
        }
    }
}
