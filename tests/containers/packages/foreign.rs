//! Are sound files for machines that run no SYCL program passed over, and damaged ones told of?

use super::{file, inspect, library, make, run};
use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationFlags, RelocationKind};
use object::{SymbolFlags, SymbolKind, SymbolScope};
use std::ffi::OsStr;

/// An object with a pointer to itself.
fn object_for(machine: Architecture, endian: Endianness, bits: u8) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, machine, endian);
    let data = object.section_id(StandardSection::Data);
    object.append_section_data(data, &[0; 16], 8);
    let symbol = object.add_symbol(Symbol {
        name: b"x".to_vec(),
        value: 0,
        size: 16,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(data),
        flags: SymbolFlags::None,
    });
    let (kind, encoding) = (RelocationKind::Absolute, RelocationEncoding::Generic);
    let flags = RelocationFlags::Generic { kind, encoding, size: bits };
    object.add_relocation(data, Relocation { offset: 8, symbol, addend: 0, flags }).unwrap();
    object.write().unwrap()
}

/// A program of one segment, at another place of a page in memory than in the file.
fn firmware() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend([2, 0, 243, 0, 1, 0, 0, 0]);
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    bytes.extend(words(&[0x8000_0000, 64, 0]));
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    bytes.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    bytes.extend(words(&[120, 0x8000_0000, 0x8000_0000, 8, 8, 1]));
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn files_for_other_machines_hold_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (little, big) = (Endianness::Little, Endianness::Big);
    let files = [
        ("i386.o", object_for(Architecture::I386, little, 32)),
        ("s390.o", object_for(Architecture::S390x, big, 64)),
        ("ppc.o", object_for(Architecture::PowerPc, big, 32)),
        ("bpf.o", object_for(Architecture::Bpf, little, 64)),
        ("fw.elf", firmware()),
    ];
    for (name, bytes) in &files {
        let path = file(&folder, &format!("all/{name}"), bytes);
        let alone = run(&[OsStr::new("inspect"), path.as_os_str()]);
        assert_eq!(alone.code, 6, "{name}: {}", alone.stderr);
    }
    let tar = file(&folder, "all.tar", &make::tar(&files.each_ref().map(|(name, bytes)| (*name, bytes.as_slice()))));
    for path in [folder.path().join("all"), tar] {
        let seen = run(&[OsStr::new("inspect"), path.as_os_str()]);
        assert_eq!(seen.code, 6, "{}", seen.stderr);
        assert_eq!(seen.stderr.matches("error:").count(), 1, "{}", seen.stderr);
    }
}

/// One changed byte makes no file for another machine of a library, and no firmware.
#[test]
fn damaged_libraries_are_no_strangers() {
    let folder = tempfile::tempdir().unwrap();
    let (library, _) = library();
    let headers = u64::from_le_bytes(library[32..40].try_into().unwrap()) as usize;
    let count = usize::from(library[56]);
    let loaded = (0..count).map(|nth| headers + 56 * nth).find(|at| library[*at..].starts_with(&[1, 0, 0, 0])).unwrap();
    for (at, changed) in [(4, 1), (5, 2), (loaded + 8, library[loaded + 8] ^ 8)] {
        let mut bytes = library.to_vec();
        bytes[at] = changed;
        let path = file(&folder, "all/x.so", &bytes);
        let seen = inspect(path.parent().unwrap());
        assert_eq!(seen.code, 3, "byte {at}: {}", seen.stderr);
        assert_eq!(seen.problems.len(), 1, "byte {at}");
    }
}

/// Linux goes by the machine: a program of 64 bits runs, whatever its class is said to be.
#[test]
fn programs_of_our_machines_are_no_strangers() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = object_for(Architecture::I386, Endianness::Little, 32);
    bytes[16] = 2;
    for (machine, code) in [(3, 6), (62, 3), (183, 3)] {
        bytes[18] = machine;
        let path = file(&folder, "all/x", &bytes);
        assert_eq!(inspect(path.parent().unwrap()).code, code, "{machine}");
    }
}

/// Data behind a program of 32 bits may be an archive, as behind any other.
#[test]
fn what_stands_behind_a_foreign_program_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = object_for(Architecture::I386, Endianness::Little, 32);
    bytes[16] = 2;
    let path = file(&folder, "all/setup", &bytes);
    assert_eq!(inspect(path.parent().unwrap()).code, 6);
    bytes.extend(b"an archive".repeat(100));
    file(&folder, "all/setup", &bytes);
    let seen = inspect(path.parent().unwrap());
    assert!(seen.code == 3 && seen.stderr.contains("other data behind it"), "{}", seen.stderr);
}

/// Libraries of imports in one package have tens of thousands of members, and few bytes.
#[test]
fn members_without_device_code_count_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let object = Object::new(BinaryFormat::Coff, Architecture::X86_64, Endianness::Little).write().unwrap();
    let head = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a_member.o/", 0, 0, 0, 644, object.len());
    assert_eq!(object.len() % 2, 0);
    let member = [head.as_bytes(), object.as_slice()].concat();
    let archive = [b"!<arch>\n".to_vec(), member.repeat(70_000)].concat();
    let path = file(&folder, "imports.tar", &make::tar(&[("usr/lib/libx.a", &archive)]));
    let seen = run(&[OsStr::new("inspect"), path.as_os_str()]);
    assert_eq!(seen.code, 6, "{}", seen.stderr);
}
