//! Do OffloadBinaries of all versions come back, several in a row, and one in another?

use super::{module, plain, read, sound};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};
use proptest::prelude::*;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::blob::Reader;
use sycl_bundle::bundle::offload_binary::{Entry, SYCL, Version, image_kind, parse, write};
use sycl_bundle::container::Arena;
use sycl_bundle::container::{Host, Kind, Place};

pub const VERSIONS: [Version; 4] = [Version::V1, Version::V2, Version::V3, Version::V3Compressed(3)];

pub fn entry<'a>(image: &'a [u8], strings: &[(&'a str, &'a str)]) -> Entry<'a> {
    Entry {
        image_kind: image_kind::SPIRV,
        offload_kind: SYCL,
        flags: 0,
        strings: strings.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect(),
        image,
        place: Place::default(),
    }
}

/// The entries, without their places.
fn entries<'a>(arena: &'a Arena, bytes: &'a [u8]) -> Vec<Entry<'a>> {
    let mut reader = Reader::new(arena, bytes.len());
    let found = parse(&mut reader, bytes, Place::default());
    assert!(reader.problems.is_empty(), "{:?}", reader.problems);
    found.into_iter().flatten().map(|entry| Entry { place: Place::default(), ..entry }).collect()
}

#[test]
fn entries_come_back_and_are_written_the_same() {
    let modules = [module(1), module(2), vec![7; 13]];
    let written = [
        entry(&modules[0], &[("triple", "spir64-unknown-unknown"), ("arch", ""), ("compile-opts", "-g -O0")]),
        entry(&modules[2], &[("triple", "spir64_gen-unknown-unknown"), ("arch", "pvc"), ("link-opts", "-x")]),
        entry(&modules[1], &[]),
    ];
    for version in VERSIONS {
        let bytes = write(version, &written).unwrap();
        let arena = Arena::default();
        let back = entries(&arena, &bytes);
        assert_eq!(back, written, "{version:?}");
        assert_eq!(write(version, &back).unwrap(), bytes);
        let seen = sound(&bytes);
        assert_eq!(seen[0].options, ["-g -O0", ""]);
        assert_eq!((seen[0].target.as_str(), seen[0].arch.as_str()), ("spir64", ""));
        assert_eq!((seen[1].target.as_str(), seen[1].arch.as_str()), ("spir64_gen", "pvc"));
        assert_eq!(seen[1].options, ["", "-x"]);
        assert_eq!(seen[2], plain(&modules[1], "spir64", ""));
    }
}

#[test]
fn several_follow_one_another_with_padding_and_rubbish_between() {
    let modules = [module(1), module(2), module(3)];
    let mut bytes = write(Version::V2, &[entry(&modules[0], &[])]).unwrap().into_vec();
    bytes.extend(write(Version::V1, &[entry(&modules[1], &[])]).unwrap().into_vec());
    bytes.extend([0; 16]);
    bytes.extend(write(Version::V3Compressed(1), &[entry(&modules[2], &[])]).unwrap().into_vec());
    let all = modules.each_ref().map(|module| plain(module, "spir64", ""));
    assert_eq!(sound(&bytes), all);
    let first = write(Version::V2, &[entry(&modules[0], &[])]).unwrap().len();
    bytes.splice(first..first, *b"rubbish!");
    let (seen, problems) = read(&bytes);
    assert_eq!(seen, all);
    assert!(problems.len() == 1 && problems[0].contains("8 bytes here are no OffloadBinary"), "{problems:?}");
}

#[test]
fn blobs_nest_up_to_a_limit() {
    let module = module(1);
    let mut bytes = write(Version::V2, &[entry(&module, &[("triple", "spir64_x86_64-unknown-unknown")])]).unwrap();
    for version in [Version::V3Compressed(1), Version::V1] {
        bytes = write(version, &[entry(&bytes, &[("arch", "avx2")])]).unwrap();
    }
    assert_eq!(sound(&bytes), [plain(&module, "spir64_x86_64", "avx2")]);
    for _ in 0..8 {
        bytes = write(Version::V2, &[entry(&bytes, &[])]).unwrap();
    }
    let (seen, problems) = read(&bytes);
    assert!(seen.is_empty() && problems[0].contains("within each other"), "{problems:?}");
}

/// Lays names out as LLVM does since 23, in version 3 of the container.
fn symbol_table(names: &[&str]) -> Vec<u8> {
    let mut table = (names.len() as u32).to_le_bytes().to_vec();
    let mut at = 4 + 8 * names.len() as u32;
    for name in names {
        table.extend([at, name.len() as u32].into_iter().flat_map(u32::to_le_bytes));
        at += name.len() as u32 + 1;
    }
    for name in names {
        table.extend(name.as_bytes());
        table.push(0);
    }
    table
}

#[test]
fn symbols_are_read_from_a_table_too() {
    // By hand: no LLVM at hand writes it.
    let image = module(1);
    let table = symbol_table(&["_ZTS5first", "_ZTS6second"]);
    let with = |symbols: &[u8]| {
        let mut entry = entry(&image, &[("triple", "spirv64-unknown-unknown")]);
        entry.strings.push((b"symbols", symbols));
        assert_eq!(entry.symbols(), sound(&write(Version::V3, std::slice::from_ref(&entry)).unwrap())[0].entries);
        entry.symbols().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with(&table), ["_ZTS5first", "_ZTS6second"]);
    assert_eq!(with(b"_ZTS5first\n_ZTS6second\n"), ["_ZTS5first", "_ZTS6second"]);
    assert_eq!(with(&symbol_table(&[])), Vec::<String>::new());
    // A table that passes its end names nothing.
    for cut in 1..table.len() {
        assert_eq!(with(&table[..cut]), Vec::<String>::new());
    }
}

#[test]
fn symbols_are_the_entries_and_metadata_is_no_image() {
    let module = module(1);
    let nothing = Entry { flags: 1, ..entry(&[], &[]) };
    let bytes = write(Version::V2, &[entry(&module, &[("symbols", "_ZTS1a\n_ZTS1b\n")]), nothing]).unwrap();
    let seen = sound(&bytes);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].entries, ["_ZTS1a", "_ZTS1b"]);
}

#[test]
fn the_programming_model_depends_on_when_it_was_written() {
    let model =
        |offload_kind, triple: &'static str| Entry { offload_kind, ..entry(&[], &[("triple", triple)]) }.model();
    assert_eq!([model(1, ""), model(2, ""), model(3, ""), model(8, "")], ["openmp", "cuda", "hip", "sycl"]);
    assert_eq!([model(4, "amdgcn-amd-amdhsa"), model(4, "spir64-unknown-unknown")], ["hip", "sycl"]);
}

#[test]
fn a_damaged_entry_costs_itself() {
    let modules = [module(1), module(2), module(3)];
    let written = modules.each_ref().map(|module| entry(module, &[("triple", "spir64")]));
    let sound = write(Version::V2, &written).unwrap().into_vec();
    // Fields of entry 1, whose 40 bytes start at 72: strings, count of strings, image, size.
    for at in [80, 88, 96, 104] {
        let mut bytes = sound.clone();
        bytes[at..at + 8].fill(0xff);
        let (seen, problems) = read(&bytes);
        assert_eq!(seen.len(), 2, "{at}: {problems:?}");
        assert!(problems.len() == 1 && problems[0].starts_with("OffloadBinary entry 1: "), "{at}: {problems:?}");
        assert!(problems[0].contains("(at offset 0x48)"), "{at}: {problems:?}");
    }
}

#[test]
fn a_version_with_nul_terminated_values_refuses_others() {
    let value = entry(&[], &[("k", "a\0b")]);
    assert!(write(Version::V1, std::slice::from_ref(&value)).is_err());
    assert!(write(Version::V2, &[value]).is_ok());
}

proptest! {
    #[test]
    fn any_strings_come_back(
        strings: Vec<(String, Vec<u8>)>,
        image: Vec<u8>,
        version in 1..VERSIONS.len(),
    ) {
        let strings: Vec<(String, Vec<u8>)> =
            strings.into_iter().map(|(key, value)| (key.replace('\0', ""), value)).collect();
        let pairs = strings.iter().map(|(key, value)| (key.as_bytes(), value.as_slice())).collect();
        let written = [Entry { strings: pairs, ..entry(&image, &[]) }];
        let bytes = write(VERSIONS[version], &written).unwrap();
        let arena = Arena::default();
        prop_assert_eq!(entries(&arena, &bytes), written);
    }
}

/// LLVM's linker takes an image that is flagged as none, and the last of two strings of one key.
#[test]
fn what_llvm_takes_is_read() {
    let module = module(1);
    let flagged = Entry { flags: 1, ..entry(&module, &[("triple", "spir64-unknown-unknown")]) };
    let twice = entry(&module, &[("triple", "spir64-unknown-unknown"), ("triple", "nvptx64-nvidia-cuda")]);
    let nothing = Entry { flags: 1, ..entry(&[], &[]) };
    for version in VERSIONS.into_iter().skip(1) {
        let seen = sound(&write(version, &[flagged.clone(), twice.clone(), nothing.clone()]).unwrap());
        assert_eq!(seen.iter().map(|image| image.target.as_str()).collect::<Vec<_>>(), ["spir64", "nvptx64"]);
    }
}

/// The packager goes by the extension, as of `kernel.o`, which may be SPIR-V.
#[test]
fn a_module_in_a_file_of_objects_is_no_native_code() {
    let (module, native) = (module(1), b"\x7fELF and so on".to_vec());
    let of_object = |image| Entry { image_kind: 1, ..entry(image, &[]) };
    let bytes = write(Version::V2, &[of_object(&module), of_object(&native)]).unwrap();
    let host = Host::read(&bytes).unwrap();
    let declared: Vec<u8> = Bundle::read(&host).unwrap().images.iter().map(|image| image.declared.number()).collect();
    assert_eq!(declared, [0, 1]);
}

/// Sections of ELF objects by their type, and of COFF objects by their name whatever their flags.
#[test]
fn sections_that_llvm_reads_are_read() {
    const OFFLOADING: elf::SectionType = elf::SectionType(0x6fff_4c0b);
    const UNINITIALIZED: u32 = 0x80;
    let module = module(1);
    let binary = write(Version::V2, &[entry(&module, &[("triple", "spir64-unknown-unknown")])]).unwrap();
    let object = |format, name: &str, flags| {
        let mut object = Object::new(format, Architecture::X86_64, Endianness::Little);
        let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.set_section_data(section, binary.to_vec(), 8);
        object.section_mut(section).flags = flags;
        object.write().unwrap()
    };
    let by_type = SectionFlags::Elf { sh_type: OFFLOADING, sh_flags: elf::SectionFlags(0) };
    assert_eq!(sound(&object(BinaryFormat::Elf, ".rodata", by_type)), [plain(&module, "spir64", "")]);
    let mut bytes = object(BinaryFormat::Coff, ".llvm.offloading", SectionFlags::None);
    // The characteristics of the first section stand at 20 + 36.
    bytes[56] |= UNINITIALIZED as u8;
    assert_eq!(sound(&bytes), [plain(&module, "spir64", "")]);
    // ARM64EC, and no machine at all.
    for machine in [0xa641u16, 0] {
        bytes[..2].copy_from_slice(&machine.to_le_bytes());
        assert_eq!(Kind::identify(&bytes).unwrap(), Kind::Coff, "{machine:#x}");
    }
    bytes.extend([0; 64]);
    assert!(Kind::identify(&[0; 128]).is_err());
}

/// `clang -flto` leaves device code in a global variable of the host's module.
#[test]
fn device_code_in_a_hosts_bitcode_is_told() {
    let bitcode = [b"BC\xc0\xde".as_slice(), &[0; 60], b"main llvm.embedded.object"].concat();
    let (_, problems) = read(&bitcode);
    assert!(problems.len() == 1 && problems[0].contains("device code in it"), "{problems:?}");
}

/// The linker's code hands the runtime an address and a size; a section or another list of images beside them says nothing of it.
#[test]
fn what_code_registers_is_found_beside_a_decoy() {
    let modules = [module(1), module(2), module(3)];
    let of = |at: usize| write(Version::V2, &[entry(&modules[at], &[("triple", "spir64-unknown-unknown")])]).unwrap();
    let (decoy, first, second) = (of(0), of(1), of(2));
    // The size of the first spans the second.
    let mut spanning = first.to_vec();
    let size = (first.len() + second.len()) as u64;
    spanning[8..16].copy_from_slice(&size.to_le_bytes());
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, data) in [(".llvm.offloading", decoy.to_vec()), (".rodata", [spanning, second.to_vec()].concat())] {
        let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.set_section_data(section, data, 8);
    }
    object.add_symbol(Symbol {
        name: b"__sycl_register_lib".to_vec(),
        value: 0,
        size: 0,
        kind: SymbolKind::Text,
        scope: SymbolScope::Unknown,
        weak: false,
        section: SymbolSection::Undefined,
        flags: SymbolFlags::None,
    });
    let (seen, _) = read(&object.write().unwrap());
    let mut payloads: Vec<Vec<u8>> = seen.into_iter().map(|image| image.payload).collect();
    payloads.sort();
    let mut all = modules.to_vec();
    all.sort();
    assert_eq!(payloads, all);
}
