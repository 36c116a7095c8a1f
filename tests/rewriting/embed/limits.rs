//! Is what cannot be rewritten refused, with the reason and the way out?

use sycl_bundle::error::ErrorKind;

use crate::support::embedding::{Native, embedded, expected, foreseen, read, try_embedded};
use crate::support::folder::Folder;
use crate::support::host::{Fixture, Kind, Linker, Relocations, Strip, load, matrix, samples};
use crate::support::spirv;

fn native(payload: Vec<u8>) -> Native {
    Native { source: 0, target: "spir64_x86_64", payload }
}

fn refused(file: &[u8], natives: &[Native], reason: &str) {
    let error = try_embedded(file, natives).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(foreseen(file, natives).unwrap_err().to_string(), error.to_string());
    assert!(error.remedy().unwrap().contains("--emit shared"), "{:?}", error.remedy());
}

#[test]
fn a_list_holds_65535_images() {
    let file = Fixture::new("many").images(vec![samples::image("halve")]).build();
    let original = read(&file);
    let many = |count: u16| (0..count).map(|at| native(at.to_le_bytes().to_vec())).collect::<Vec<_>>();
    refused(&original, &many(65_535), "a list of images would hold 65536");
    let natives = many(300);
    let rewritten = embedded(&original, &natives);
    assert_eq!(load(&Folder::new().file("many", &rewritten)), expected(&load(&file), &natives));
}

#[test]
fn relocations_without_addends() {
    let form = matrix::units(Fixture::new("rel"), 0).linker(Linker::Lld).relocations(Relocations::Rel);
    refused(&read(&form.build()), &[native(b"code".to_vec())], "neither DT_RELA nor DT_RELR");
}

#[test]
fn uninitialised_data_larger_than_the_hole() {
    let data = |size: u32| format!("char data[{size}u << 20]; char *volatile used = data;");
    for kind in [Kind::Pie, Kind::NoPie] {
        let form = Fixture::new("bss").images(vec![samples::image("halve")]).kind(kind);
        let natives = [native(b"code".to_vec())];
        refused(&read(&form.clone().source(&data(300)).build()), &natives, "a hole of over 256 MB");
        let file = form.source(&data(40)).build();
        let rewritten = embedded(&read(&file), &natives);
        assert_eq!(load(&Folder::new().file("bss", &rewritten)), expected(&load(&file), &natives));
    }
    // A library needs no hole, so its data may be as large as it likes.
    let file = Fixture::new("bss").images(vec![samples::image("halve")]).source(&data(300)).build();
    let original = read(&file);
    let rewritten = embedded(&original, &[native(b"code".to_vec())]);
    assert!(rewritten.len() < original.len() + 16_384);
    load(&Folder::new().file("bss", &rewritten));
}

#[test]
fn a_bare_module_has_no_list() {
    refused(&spirv::module("add_one"), &[native(b"code".to_vec())], "only a linked ELF file");
}

/// The file does not decide how much is padded.
#[test]
fn alignments_without_measure() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        let original = read(&Fixture::new("align").images(vec![samples::image("halve")]).kind(kind).build());
        let elf = goblin::elf::Elf::parse(&original).unwrap();
        let load = elf.program_headers.iter().position(|header| header.p_type == 1).unwrap();
        let at = usize::try_from(elf.header.e_phoff).unwrap() + load * 56 + 48;
        for bits in [0, 16, 21, 28, 38, 62, 63] {
            let mut file = original.clone();
            file[at..at + 8].copy_from_slice(&(1u64 << bits).to_le_bytes());
            let rewritten = embedded(&file, &[native(b"code".to_vec())]);
            assert!(rewritten.len() < file.len() + (5 << 20), "{kind:?} {bits}: {}", rewritten.len());
            let elf = goblin::elf::Elf::parse(&rewritten).unwrap();
            let new = elf.program_headers.iter().rfind(|header| header.p_type == 1).unwrap();
            assert!((0x1000..=2 << 20).contains(&new.p_align), "{kind:?} {bits}");
            assert_eq!(new.p_vaddr % new.p_align, new.p_offset % new.p_align, "{kind:?} {bits}");
        }
    }
}

#[test]
fn data_behind_the_end() {
    for strip in [Strip::Nothing, Strip::SectionHeaders] {
        let original = read(&Fixture::new("behind").images(vec![samples::image("halve")]).strip(strip).build());
        let natives = [native(b"code".to_vec())];
        let with = |behind: &[u8]| [&original[..], behind].concat();
        refused(&with(&[b'x'; 100]), &natives, "100 bytes trail the ELF file");
        refused(&with(&[&[0; 90][..], b"cookie"].concat()), &natives, "96 bytes trail the ELF file");
        refused(&with(b"KEY-12345678"), &natives, "12 bytes trail the ELF file");
        for padding in [&[0u8; 15][..], &[0; 5000]] {
            embedded(&with(padding), &natives);
        }
    }
}

/// The value of a dynamic entry, and where it stands.
fn dynamic(file: &[u8], tag: u64) -> (u64, usize) {
    let elf = goblin::elf::Elf::parse(file).unwrap();
    let dynamic = elf.program_headers.iter().find(|header| header.p_type == 2).unwrap();
    let entries = file[dynamic.file_range()].as_chunks::<8>().0;
    let index = (0..entries.len()).step_by(2).find(|at| u64::from_le_bytes(entries[*at]) == tag).unwrap();
    (u64::from_le_bytes(entries[index + 1]), dynamic.file_range().start + (index + 1) * 8)
}

#[test]
fn relocations_of_the_plt_within_the_table() {
    const PLTRELSZ: u64 = 2;
    const RELA: u64 = 7;
    const RELASZ: u64 = 8;
    const JMPREL: u64 = 23;
    let path = matrix::units(Fixture::new("plt"), 0).build();
    let original = read(&path);
    let natives = [native(b"code".to_vec())];
    let value = |tag| dynamic(&original, tag).0;
    assert_eq!(value(RELA) + value(RELASZ), value(JMPREL), "the PLT's relocations follow");
    let changed = |changes: &[(u64, u64)]| {
        let mut file = original.clone();
        for &(tag, value) in changes {
            let at = dynamic(&original, tag).1;
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        file
    };
    // Counted into the table, as some linkers do: cut off again.
    let counted = embedded(&changed(&[(RELASZ, value(RELASZ) + value(PLTRELSZ))]), &natives);
    assert_eq!(dynamic(&counted, RELASZ).0, dynamic(&embedded(&original, &natives), RELASZ).0);
    assert_eq!(load(&Folder::new().file("plt", &counted)), expected(&load(&path), &natives));
    let within = changed(&[(JMPREL, value(RELA) + 24), (PLTRELSZ, 24)]);
    refused(&within, &natives, "DT_JMPREL lies within DT_RELA");
}
