//! Which native code would the CPU's driver refuse, or the runtime take beside the SPIR-V that it copies to?

use super::judged::{CPU, module};
use super::recorded;
use super::repeated::words;
use super::support::folder::{Folder, said};

const NAMES: [&str; 4] = [".ocl.ir", ".ocl.meta", ".ocl.obj", ".ocl.ver"];

/// Object file as LLVM makes it: 16 bytes of code of a kernel `k`, which calls what the driver has.
fn object() -> Vec<u8> {
    use object::write::{Object, Relocation, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolKind, SymbolScope};
    let mut made = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let symbol = |name: &[u8], kind, size, section| Symbol {
        name: name.to_vec(),
        value: 0,
        size,
        kind,
        scope: SymbolScope::Dynamic,
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    let text = made.add_section(Vec::new(), b".text".to_vec(), object::SectionKind::Text);
    made.append_section_data(text, &[0xc3; 16], 16);
    made.add_symbol(symbol(b"k", SymbolKind::Text, 16, SymbolSection::Section(text)));
    let called = made.add_symbol(symbol(b"__ocl_svml_l9_sin8", SymbolKind::Unknown, 0, SymbolSection::Undefined));
    let flags = RelocationFlags::Elf { r_type: object::elf::R_X86_64_64 };
    made.add_relocation(text, Relocation { offset: 8, symbol: called, addend: 0, flags }).unwrap();
    made.write().unwrap()
}

/// Code of a kernel `k` as the driver lays it out: header, table of sections, their bytes, their names.
fn container(names: [&str; 4]) -> Vec<u8> {
    container_of(names, &object())
}

fn container_of(names: [&str; 4], object: &[u8]) -> Vec<u8> {
    let parts: [&[u8]; 4] = [b"intermediate code", b"\x02\0\0\0k\0", object, &[25, 0, 0, 0]];
    let (mut texts, mut table, mut data) = (vec![0], vec![0; 64], Vec::new());
    for (name, bytes) in names.into_iter().zip(parts) {
        table.extend(words(&[texts.len() as u64, 0, 0, 64 + 6 * 64 + data.len() as u64, bytes.len() as u64, 0, 0, 0]));
        texts.extend(name.bytes().chain([0]));
        data.extend_from_slice(bytes);
    }
    table.extend(words(&[3 << 32, 0, 0, 64 + 6 * 64 + data.len() as u64, texts.len() as u64, 0, 0, 0]));
    let halves = |halves: [u16; 8]| halves.map(u16::to_le_bytes).concat();
    let head = [b"\x7fELF\x02\x01".to_vec(), vec![0; 10], halves([0xff04, 62, 0, 0, 0, 0, 0, 0]), words(&[0, 64])];
    let head = [head.concat(), halves([3, 0, 64, 0, 0, 64, 6, 5])].concat();
    [head, table, data, texts].concat()
}

/// The driver looks for each section, and counts what it knows of against the size of the whole.
#[test]
fn containers_that_are_not_as_the_driver_lays_them_out_are_not_compatible() {
    let folder = Folder::new();
    let runs = |bytes: &[u8]| {
        folder.put("k.bin", bytes);
        recorded::tool(&folder, &["check", "--strict", "-t", CPU, "k.bin"]).status.success()
    };
    let sound = container(NAMES);
    assert!(runs(&sound));
    assert!(!runs(&[&sound[..], &[0]].concat()), "a byte behind it");
    for (at, what) in NAMES.iter().enumerate() {
        let mut names = NAMES;
        names[at] = ".ocl.xy";
        assert!(!runs(&container(names)), "without {what}");
        let mut longer = sound.clone();
        longer[64 + 64 * (at + 1) + 32] += 1;
        assert!(!runs(&longer), "{what} reaches into the next section");
        let mut shorter = sound.clone();
        shorter[64 + 64 * (at + 1) + 32] -= 1;
        assert!(!runs(&shorter), "a gap behind {what}");
    }
    for at in [52, 58] {
        let mut other = sound.clone();
        other[at] += 1;
        assert!(!runs(&other), "the size at {at}");
    }
}

/// The driver's loader trusts the object, and ends where that leads elsewhere.
#[test]
fn objects_at_which_the_driver_ends_are_not_compatible() {
    let folder = Folder::new();
    let runs = |object: &[u8]| {
        folder.put("k.bin", container_of(NAMES, object));
        recorded::tool(&folder, &["check", "--strict", "-t", CPU, "k.bin"]).status.success()
    };
    let sound = object();
    assert!(runs(&sound));
    let long = |at: usize| u64::from_le_bytes(sound[at..at + 8].try_into().unwrap()) as usize;
    let sections: Vec<usize> = (0..usize::from(sound[60])).map(|index| long(40) + index * 64).collect();
    let of_kind = |kind: u8| sections.iter().copied().find(|at| sound[at + 4] == kind).unwrap();
    let (text, relocations, symbols) = (of_kind(1), of_kind(4), of_kind(2));
    let names = of_kind(3);
    let first_symbol = (1..).map(|index| long(symbols + 24) + index * 24).find(|at| sound[at + 4] == 0x12).unwrap();
    let first_relocation = long(relocations + 24);
    let other = first_symbol + 24;
    for (what, at, value) in [
        ("a header of another size", 52, 65),
        ("headers of sections of another size", 58, 65),
        ("names of sections from nowhere", 62, 0x80),
        ("names of sections from code", 62, 1),
        ("the first section of a kind", sections[0] + 4, 9),
        ("a name beyond all", text, 0xff),
        ("code of no kind", text + 4, 9),
        ("code that has no bytes", text + 4, 8),
        ("code that is not loaded", text + 8, 4),
        ("code that is none", text + 8, 2),
        ("code for each thread", text + 9, 4),
        ("code in the header", text + 24, 8),
        ("code shorter than its function", text + 32, 15),
        ("names that are none", names + 4, 1),
        ("a part of a symbol", symbols + 32, sound[symbols + 32] + 1),
        ("symbols of no size", symbols + 56, 0),
        ("symbols of another size", symbols + 56, 32),
        ("symbols without names", symbols + 40, 1),
        ("relocations of no size", relocations + 56, 0),
        ("relocations of no symbols", relocations + 40, 0),
        ("relocations of no section", relocations + 44, 0x70),
        ("relocations in the header", relocations + 24, 0),
        ("a type that is not applied", first_relocation + 8, 3),
        ("no type", first_relocation + 8, 0xff),
        ("a symbol beyond all", first_relocation + 12, 0x70),
        ("a place behind the code", first_relocation, 9),
        ("a place far behind the code", first_relocation + 7, 0xff),
        ("a function in no section", first_symbol + 6, 0x70),
        ("a function that is not in code", first_symbol + 6, 2),
        ("a function that passes the code", first_symbol + 8, 1),
        ("a name beyond all names", other + 3, 0x10),
        ("a section that is elsewhere", other + 4, 3),
    ] {
        let mut changed = sound.clone();
        assert_ne!(changed[at], value, "{what}");
        changed[at] = value;
        assert!(!runs(&changed), "{what}");
    }
}

/// One that the driver refuses is no copy of one that it takes.
#[test]
fn a_container_that_the_driver_refuses_is_judged_by_itself() {
    let folder = Folder::new();
    let sound = container(NAMES);
    folder.put("j.bin", &sound);
    folder.put("j.sym", "k\n");
    folder.put("k.sym", "k\n");
    folder.put("t.table", "[Code|Symbols]\nj.bin|j.sym\nk.bin|k.sym\n");
    for (behind, code) in [(&[][..], 0), (&[0], 1)] {
        folder.put("k.bin", [&sound[..], behind].concat());
        let judged = recorded::tool(&folder, &["check", "--strict", "-t", CPU, "t.table"]);
        assert_eq!(judged.status.code(), Some(code), "{}", String::from_utf8_lossy(&judged.stdout));
    }
}

/// The runtime launches kernels that are listed.
#[test]
fn containers_without_a_kernel_that_is_listed_are_not_compatible() {
    let folder = Folder::new();
    folder.put("k.bin", container(NAMES));
    folder.put("t.table", "[Code|Symbols]\nk.bin|k.sym\n");
    for (kernel, code) in [("k", 0), ("l", 1)] {
        folder.put("k.sym", format!("{kernel}\n"));
        let judged = recorded::tool(&folder, &["check", "--strict", "-t", CPU, "t.table"]);
        assert_eq!(judged.status.code(), Some(code), "{kernel}: {}", String::from_utf8_lossy(&judged.stdout));
    }
}

/// The runtime launches kernels from one of the images that a device takes, and copies to a device global in the other.
#[test]
fn images_with_device_globals_of_their_own_have_no_native_code_beside_them() {
    let folder = Folder::new();
    folder.put("0.spv", module(&[], &[], &[], &[]));
    folder.put("0.sym", "k\n");
    folder.put("t.table", "[Code|Properties|Symbols]\n0.spv|0.prop|0.sym\n");
    for (scope, staying) in [(0, 0), (1, 1)] {
        folder.put("0.prop", format!("[SYCL/device globals]\n_Z3own={}\n", recorded::words(&[4, scope])));
        for target in ["spir64_x86_64", "pvc", "spir64_x86_64,pvc"] {
            for more in [&[][..], &["--no-spirv"]] {
                let call = ["build", "t.table", "-t", target, "-o", "o.table", "--dry-run", "--format", "json"];
                let planned = folder.tool(call.into_iter().chain(more.iter().copied()));
                let planned: serde_json::Value = serde_json::from_str(&said(&planned)).unwrap();
                let stays = planned["staying"].as_array().unwrap();
                assert_eq!(stays.len(), staying, "{target}: {planned}");
                for one in stays {
                    assert!(one["reason"].as_str().unwrap().starts_with("it has _Z3own for itself"), "{one}");
                }
            }
        }
    }
}
