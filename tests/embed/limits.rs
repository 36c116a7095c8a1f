//! Is what cannot be rewritten refused, with the reason and the way out?

use sycl_bundle::error::ErrorKind;

use crate::support::host::{Fixture, Kind, Linker, Relocations, load, matrix, samples};
use crate::support::spirv;
use crate::{Folder, Native, embedded, expected, read, try_embedded};

fn native(payload: Vec<u8>) -> Native {
    Native { source: 0, target: "spir64_x86_64", payload }
}

fn refused(file: &[u8], natives: &[Native], reason: &str) {
    let error = try_embedded(file, natives).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    assert!(error.to_string().contains(reason), "{error}");
    assert!(error.remedy().unwrap().contains("--emit shared"), "{:?}", error.remedy());
}

#[test]
fn a_list_holds_65535_images() {
    let file = Fixture::new("many").images(vec![samples::of("halve")]).build();
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
        let form = Fixture::new("bss").images(vec![samples::of("halve")]).kind(kind);
        let natives = [native(b"code".to_vec())];
        refused(&read(&form.clone().source(&data(300)).build()), &natives, "a hole of over 256 MB");
        let file = form.source(&data(40)).build();
        let rewritten = embedded(&read(&file), &natives);
        assert_eq!(load(&Folder::new().file("bss", &rewritten)), expected(&load(&file), &natives));
    }
    // A library needs no hole, so its data may be as large as it likes.
    let file = Fixture::new("bss").images(vec![samples::of("halve")]).source(&data(300)).build();
    let original = read(&file);
    let rewritten = embedded(&original, &[native(b"code".to_vec())]);
    assert!(rewritten.len() < original.len() + 16_384);
    load(&Folder::new().file("bss", &rewritten));
}

#[test]
fn a_bare_module_has_no_list() {
    refused(&spirv::module("add_one"), &[native(b"code".to_vec())], "only a linked ELF file");
}
