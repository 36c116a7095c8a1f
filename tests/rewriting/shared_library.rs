//! Does a library that was written without a linker register its images in a real process?

use std::path::PathBuf;

use crate::support::host::{self, Entries, Fixture, ImageSpec, load, load_all, out_images, raw_values, samples};
use goblin::elf::{Elf, dynamic, header, program_header, reloc};
use sycl_bundle::bundle::property::{Property, PropertySet, Value};
use sycl_bundle::error::ErrorKind;
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion, OutImage};
use sycl_bundle::rewrite::shared::{Machine, SharedOptions, shared_library};

fn bytes(images: &[ImageSpec], options: &SharedOptions) -> Vec<u8> {
    let raw = raw_values(images);
    shared_library(&out_images(images, &raw), options).unwrap().into_vec()
}

/// Keeps the file as long as the folder.
fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_process_sees_what_it_would_see_of_a_linked_file() {
    let folder = tempfile::tempdir().unwrap();
    let images = samples::every_property();
    for (version, number, runtime) in [(ImageVersion::V3, 3, "libsycl.so.9"), (ImageVersion::V2, 2, "libsycl.so.8")] {
        for (entries, form) in [(EntryForm::Old, Entries::Old), (EntryForm::New, Entries::New)] {
            let options = SharedOptions { version, entries, runtime, ..SharedOptions::new("libimages.so") };
            let library = file(&folder, "libimages.so", &bytes(&images, &options));
            let linked = Fixture::new("linked").version(number).entries(form).images(images.clone()).build();
            assert_eq!(load(&library), load(&linked), "{version:?} {entries:?}");
        }
    }
}

#[test]
fn it_stands_beside_the_file_it_was_made_for() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new("beside").images(vec![samples::add_one()]);
    let native = vec![ImageSpec { target: "spir64_x86_64".to_owned(), format: 1, ..samples::add_one() }];
    let library = file(&folder, "libnative.so", &bytes(&native, &SharedOptions::new("libnative.so")));
    let loaded = load_all(&[&fixture.build(), &library]);
    let targets: Vec<_> = loaded.images().iter().map(|image| (image.target.as_str(), image.format)).collect();
    assert_eq!(targets, [("spir64", 0), ("spir64_x86_64", 1)]);
    assert_eq!(loaded.unregistered, [1, 0]);
}

#[test]
fn more_images_than_a_descriptor_holds_make_two() {
    let folder = tempfile::tempdir().unwrap();
    let image = ImageSpec::new(*b"shared by all").entry("kernel").aspects(&[6]);
    let images = vec![image.clone(); 65_537];
    let library = bytes(&images, &SharedOptions::new("libmany.so"));
    // 80 bytes of structure, 16 of .tgtimg, 24 for each of 10 relocations (and 1 for the .tgtimg).
    assert!(library.len() < 65_537 * 345, "what is equal is stored once: {}", library.len());
    let loaded = load(&file(&folder, "libmany.so", &library));
    let counts: Vec<usize> = loaded.descriptors.iter().map(Vec::len).collect();
    assert_eq!(counts, [65_535, 2]);
    assert_eq!(loaded.unregistered, [1, 0]);
    let expected = Fixture::new("many").images(vec![image]).expected();
    assert!(loaded.images().iter().all(|image| *image == &expected.descriptors[0][0]));
}

#[test]
fn the_form_is_that_of_a_linked_library() {
    let producer = host::PRODUCER_2026;
    for (machine, e_machine, relative, slot, page) in [
        (Machine::X86_64, header::EM_X86_64, reloc::R_X86_64_RELATIVE, reloc::R_X86_64_GLOB_DAT, 0x1000),
        (Machine::Aarch64, header::EM_AARCH64, reloc::R_AARCH64_RELATIVE, reloc::R_AARCH64_GLOB_DAT, 0x1_0000),
    ] {
        let images = samples::every_property();
        let options = SharedOptions { machine, comments: &[producer], ..SharedOptions::new("libform.so.1") };
        let library = bytes(&images, &options);
        assert_eq!(library, bytes(&images, &options), "the same images give the same bytes");
        let elf = Elf::parse(&library).unwrap();
        assert_eq!((elf.header.e_machine, elf.header.e_type), (e_machine, header::ET_DYN));
        assert_eq!((elf.soname, &elf.libraries[..]), (Some("libform.so.1"), &["libsycl.so.9"][..]));

        let relocations: Vec<_> = elf.dynrelas.iter().collect();
        let count = elf.dynamic.as_ref().unwrap().info.relacount;
        assert_eq!(count, relocations.len() - 2);
        assert!(relocations[..count].iter().all(|rela| rela.r_type == relative && rela.r_sym == 0));
        assert!(relocations[..count].is_sorted_by_key(|rela| rela.r_offset));
        let called: Vec<_> = relocations[count..]
            .iter()
            .map(|rela| (rela.r_type, elf.dynstrtab.get_at(elf.dynsyms.get(rela.r_sym).unwrap().st_name).unwrap()))
            .collect();
        assert_eq!(called, [(slot, "__sycl_register_lib"), (slot, "__sycl_unregister_lib")]);

        for segment in &elf.program_headers {
            assert!(!(segment.is_write() && segment.is_executable()));
            assert!(segment.p_type != program_header::PT_LOAD || segment.p_offset % page == segment.p_vaddr % page);
        }
        let names: Vec<_> = elf.section_headers.iter().filter_map(|s| elf.shdr_strtab.get_at(s.sh_name)).collect();
        for name in ["__CLANG_OFFLOAD_BUNDLE__sycl-spir64", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64_x86_64", ".tgtimg"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        let comment = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(".comment"));
        let expected = format!("{producer}\0sycl-bundle {}\0", env!("CARGO_PKG_VERSION"));
        assert_eq!(library[comment.unwrap().file_range().unwrap()], *expected.as_bytes());
        assert!(elf.dynamic.as_ref().unwrap().dyns.iter().all(|entry| entry.d_tag != dynamic::DT_TEXTREL));
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let options = SharedOptions::new("librefused.so");
    let error = |images: &[OutImage], options: &SharedOptions| shared_library(images, options).unwrap_err();
    assert_eq!(error(&[], &options).kind(), ErrorKind::NoDeviceCode);

    let images = vec![samples::add_one()];
    let raw = raw_values(&images);
    let good = out_images(&images, &raw);
    assert_eq!(error(&good, &SharedOptions::new("a\0b")).kind(), ErrorKind::Usage);
    let bad = OutImage { compile_options: "-O2\0-O3", ..good[0].clone() };
    assert!(error(&[good[0].clone(), bad], &options).to_string().starts_with("writing image 1: the string"));
    let with = |value| {
        let properties = vec![Property { name: "p", value }];
        OutImage { property_sets: vec![PropertySet { name: "set", properties }], ..good[0].clone() }
    };
    for value in [Value::Bytes(&[0; 7]), Value::Unknown { kind: 9, bytes: &[0; 8] }] {
        let error = error(&[with(value)], &options).to_string();
        assert!(error.starts_with("writing image 0: property set set: property p of kind"), "{error}");
    }
}

#[test]
fn each_target_has_its_section() {
    // Equal payloads of different targets are stored once per target.
    let images = vec![samples::add_one(), samples::add_one().for_target("spir64_gen", 2)];
    let library = bytes(&images, &SharedOptions::new("libtwo.so"));
    let elf = Elf::parse(&library).unwrap();
    let sizes: Vec<_> = elf
        .section_headers
        .iter()
        .filter(|s| elf.shdr_strtab.get_at(s.sh_name).unwrap_or("").starts_with("__CLANG_OFFLOAD_BUNDLE__sycl-"))
        .map(|s| s.sh_size as usize)
        .collect();
    assert_eq!(sizes, [images[0].payload.len(), images[1].payload.len()]);
}
