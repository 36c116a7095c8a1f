//! Do OffloadBinaries of all versions come back, several in a row, and one in another?

use super::{module, plain, read, sound};
use proptest::prelude::*;
use sycl_bundle::bundle::blob::Reader;
use sycl_bundle::bundle::offload_binary::{Entry, SYCL, Version, image_kind, parse, write};
use sycl_bundle::container::Arena;
use sycl_bundle::container::Place;

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
