//! Are the images of object files found: wrapped ones before their final link, and those of fat objects?
//!
//! The objects are assembled from our own sources; what `clang-offload-bundler` makes has the same sections.

use std::fmt::Write as _;

use crate::support::built::Recipe;
use crate::support::host::{Cross, Entries, Fixture, ImageSpec, Symbols, assemble, samples};
use crate::support::{read, spirv};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::error::ErrorKind;

const LINUX: &str = "x86_64-unknown-linux-gnu";
const WINDOWS: &str = "x86_64-pc-windows-msvc";

fn sample() -> Fixture {
    Fixture::new("sample").images(samples::every_property())
}

fn two_units() -> Fixture {
    sample().images(vec![ImageSpec::new(spirv::module("two_kernels")).entry("add_two").entry("negate")])
}

#[test]
fn wrapped_objects_of_every_version_are_read() {
    for version in [1, 2, 3] {
        for entries in [Entries::Old, Entries::New] {
            let fixture = sample().version(version).entries(entries);
            let cross = [Cross::WindowsX86_64, Cross::WindowsArm64, Cross::LinuxArm64];
            let objects = cross.iter().flat_map(|&cross| fixture.build_cross(cross)).chain(fixture.build_objects());
            for object in objects {
                read::check(&std::fs::read(&object).unwrap(), &fixture);
            }
        }
    }
}

#[test]
fn relocations_against_named_symbols_are_followed() {
    let fixture = sample().symbols(Symbols::Interposable).tgtimg(false).new_driver(true);
    read::check(&std::fs::read(&fixture.build_objects()[0]).unwrap(), &fixture);
}

#[test]
fn a_partial_link_holds_all_lists() {
    for fixture in [two_units(), two_units().version(2).tgtimg(false)] {
        read::check(&std::fs::read(fixture.build_partially_linked()).unwrap(), &fixture);
    }
}

#[test]
fn a_coff_object_of_very_many_sections_is_read() {
    let bytes = std::fs::read(&sample().build_cross(Cross::WindowsBig)[0]).unwrap();
    assert!(bytes.starts_with(&[0, 0, 0xff, 0xff, 2]), "the large form of COFF");
    read::check(&bytes, &sample());
}

#[test]
fn objects_say_what_they_are() {
    let elf = std::fs::read(&sample().version(2).build_objects()[0]).unwrap();
    let host = Host::read(&elf).unwrap();
    assert_eq!((host.kind, host.registers), (Kind::ElfObject, true));
    assert_eq!(host.producer.as_ref().unwrap().major, Some(2025));
    assert_eq!(Bundle::read(&host).unwrap().epoch, Epoch::From2023);
    let coff = std::fs::read(&sample().build_cross(Cross::WindowsX86_64)[0]).unwrap();
    let host = Host::read(&coff).unwrap();
    assert_eq!((host.kind, host.registers), (Kind::Coff, true));
    // `.tgtimg` is addressed like the rest.
    assert_eq!(sycl_bundle::bundle::structure::listed_in_tgtimg(&host).len(), samples::every_property().len());
}

/// The recipe of a fat object with device files by id, and sections of sizes where asked.
fn fat(triple: &str, name: &str, parts: &[(&str, &[u8])], sizes: bool) -> Recipe {
    let flags = if triple == WINDOWS { "dr" } else { "a" };
    let mut text = String::from(".text\n.byte 0xc3\n");
    let mut recipe = Recipe::new(name);
    for (i, (id, data)) in parts.iter().enumerate() {
        recipe = recipe.input(format!("{name}{i}.bin"), *data);
        write!(text, ".section \"__CLANG_OFFLOAD_BUNDLE__{id}\",\"{flags}\"\n.incbin \"{name}{i}.bin\"\n").unwrap();
        if sizes {
            write!(text, ".section \"__CLANG_OFFLOAD_BUNDLE_SIZE__{id}\",\"{flags}\"\n.quad {}\n", data.len()).unwrap();
        }
    }
    let (source, object) = (format!("{name}.s"), format!("{name}.o"));
    assemble(recipe.input(&source, text), triple, &source, &object)
}

/// Output of `ld` from outputs of recipes.
fn link(name: &str, option: &str, inputs: &[(&Recipe, &str)]) -> Vec<u8> {
    let mut recipe = Recipe::new(name);
    let mut words = vec!["ld", option, "-o", "linked"];
    for (from, object) in inputs {
        recipe = recipe.need(from, object);
        words.push(object);
    }
    recipe.run(words).output("linked").bytes("linked")
}

/// Programming model, target and payload of each image.
fn images(bytes: &[u8]) -> Vec<(String, String, Vec<u8>)> {
    let host = Host::read(bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    let facts = bundle.images.iter().map(|image| {
        let at = usize::try_from(image.offset).unwrap();
        assert_eq!(&bytes[at..at + image.stored.len()], image.stored);
        assert!(image.origin.is_none() && image.entries.is_empty());
        (image.offload_kind.to_owned(), image.target.to_owned(), image.stored.to_vec())
    });
    facts.collect()
}

#[test]
fn the_device_files_of_fat_objects_are_images() {
    let module = spirv::module("add_one");
    let bitcode = b"BC\xc0\xde\x35\x14\0\0\0\0\0\0";
    for triple in [LINUX, WINDOWS] {
        let parts: [(&str, &[u8]); 4] = [
            ("sycl-spir64-unknown-unknown", &module),
            ("hip-amdgcn-amd-amdhsa--gfx906", bitcode),
            ("openmp-nvptx64-nvidia-cuda", bitcode),
            (&format!("host-{triple}"), b"\0"),
        ];
        let object = fat(triple, "fat", &parts, false).bytes("fat.o");
        let wanted = [("sycl", "spir64", &module[..]), ("hip", "amdgcn", bitcode), ("openmp", "nvptx64", bitcode)];
        let wanted = wanted.map(|(kind, target, data)| (kind.to_owned(), target.to_owned(), data.to_vec()));
        assert_eq!(images(&object), wanted, "{triple}");
    }
}

#[test]
fn a_partial_link_of_fat_objects_is_taken_apart() {
    let id = "sycl-spir64-unknown-unknown";
    // Native code says nowhere where it ends; only sizes help.
    for (sizes, files) in [
        (false, vec![spirv::module("add_one"), spirv::module("halve"), spirv::module("two_kernels")]),
        (true, vec![b"native".to_vec(), b"code".to_vec(), spirv::module("add_one")]),
    ] {
        let names: Vec<[String; 2]> = (0..files.len()).map(|i| [format!("part{i}"), format!("part{i}.o")]).collect();
        let part = |(data, [name, _]): (&Vec<u8>, &[String; 2])| fat(LINUX, name, &[(id, data)], sizes);
        let parts: Vec<Recipe> = files.iter().zip(&names).map(part).collect();
        let objects: Vec<(&Recipe, &str)> =
            parts.iter().zip(&names).map(|(part, [_, object])| (part, &**object)).collect();
        let payloads: Vec<Vec<u8>> = images(&link("parts", "-r", &objects)).into_iter().map(|image| image.2).collect();
        assert_eq!(payloads, files);
    }
}

#[test]
fn sizes_that_do_not_fit_are_a_problem_and_hide_nothing() {
    let object = fat(LINUX, "odd", &[("sycl-spir64-unknown-unknown", &spirv::module("halve"))], true);
    let mut bytes = object.bytes("odd.o");
    let host = Host::read(&bytes).unwrap();
    let at = host.section("__CLANG_OFFLOAD_BUNDLE_SIZE__sycl-spir64-unknown-unknown").unwrap().offset;
    bytes[usize::try_from(at).unwrap()] ^= 4;
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert_eq!((bundle.images.len(), bundle.problems.len()), (1, 1));
    assert_eq!(bundle.problems[0].error.offset(), Some(at));
    assert_eq!(bundle.images[0].stored, spirv::module("halve"));
}

#[test]
fn sections_of_fat_objects_do_not_count_in_linked_files() {
    let module = spirv::module("add_one");
    let object = fat(LINUX, "fat", &[("sycl-spir64-unknown-unknown", &module)], false);
    let linked = link("fat-shared", "-shared", &[(&object, "fat.o")]);
    assert!(linked.windows(module.len()).any(|window| window == module), "the section is in the library");
    let host = Host::read(&linked).unwrap();
    assert_eq!(Bundle::read(&host).unwrap_err().kind(), ErrorKind::NoDeviceCode);
    // Beside wrapped images, whose sections have the same prefix, they do count in objects.
    let both = link("fat-and-wrapped", "-r", &[(&object, "fat.o"), (&sample().objects(), "unit0.o")]);
    let host = Host::read(&both).unwrap();
    assert_eq!(Bundle::read(&host).unwrap().images.len(), samples::every_property().len() + 1);
}

#[test]
fn objects_without_device_code_are_sound() {
    for triple in [LINUX, WINDOWS] {
        let object = fat(triple, "plain", &[], false).bytes("plain.o");
        let host = Host::read(&object).unwrap();
        assert_eq!(Bundle::read(&host).unwrap_err().kind(), ErrorKind::NoDeviceCode);
    }
    // A member of an import library: signature, version 0, machine, the rest of the header, two names.
    let member = [&[0, 0, 0xff, 0xff, 0, 0, 0x64, 0x86][..], &[0; 12], b"function\0library.dll\0"].concat();
    let host = Host::read(&member).unwrap();
    assert_eq!(Bundle::read(&host).unwrap_err().kind(), ErrorKind::NoDeviceCode);
}

#[test]
fn damage_ends_in_an_error() {
    let module = spirv::module("add_one");
    let id = "sycl-spir64-unknown-unknown";
    let fat = |triple| fat(triple, "fat", &[(id, &module)], true).bytes("fat.o");
    let coff = std::fs::read(&sample().build_cross(Cross::WindowsX86_64)[0]).unwrap();
    let elf = std::fs::read(two_units().build_partially_linked()).unwrap();
    for sound in [elf, coff, fat(LINUX), fat(WINDOWS)] {
        crate::support::damage::survives(&sound, 2_000);
    }
}

/// An object of 60,000 sections that share the same megabytes: of one name, or relocated by one table.
fn forged(relocated: bool) -> Vec<u8> {
    const COUNT: u32 = 60_000;
    const SHARED: usize = 4 << 20;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    file.resize(0x40, 0);
    let names = b"\0__CLANG_OFFLOAD_BUNDLE__sycl-spir64-unknown-unknown\0";
    let names_at = file.len();
    file.extend(names);
    file.resize(0x100, 0);
    let shared_at = file.len();
    if relocated {
        // R_X86_64_64 against section symbol 1, all of the same place.
        (0..SHARED / 24).for_each(|_| file.extend([0u64, 1 | 1 << 32, 0].iter().flat_map(|word| word.to_le_bytes())));
    } else {
        file.extend([3, 2, 0x23, 7, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        // OpNop, a million times.
        (0..SHARED / 4).for_each(|_| file.extend([0, 0, 1, 0]));
    }
    let shared = (shared_at as u64, (file.len() - shared_at) as u64);
    let symbols_at = file.len();
    // A null symbol and one of section 4.
    file.extend([0; 24]);
    file.extend([0, 0, 0, 0, 3, 0, 4, 0].iter().chain(&[0; 16]));
    file.resize(file.len().next_multiple_of(8), 0);
    let headers_at = file.len() as u64;
    file[0x28..0x30].copy_from_slice(&headers_at.to_le_bytes());
    file[0x34..0x40].copy_from_slice(&[64, 0, 0, 0, 0, 0, 64, 0, (COUNT & 0xff) as u8, (COUNT >> 8) as u8, 1, 0]);
    let mut header = |name: u32, kind: u32, flags: u64, range: (u64, u64), link: u32, info: u32, entry: u64| {
        file.extend(name.to_le_bytes().into_iter().chain(kind.to_le_bytes()));
        file.extend([flags, 0, range.0, range.1].iter().flat_map(|word| word.to_le_bytes()));
        file.extend(link.to_le_bytes().into_iter().chain(info.to_le_bytes()));
        file.extend([1, entry].iter().flat_map(|word| word.to_le_bytes()));
    };
    header(0, 0, 0, (0, 0), 0, 0, 0);
    header(0, 3, 0, (names_at as u64, names.len() as u64), 0, 0, 0);
    header(0, 2, 0, (symbols_at as u64, 48), 1, 2, 24);
    for i in 3..COUNT {
        match (relocated, i % 2) {
            // SHT_PROGBITS that is written to, and SHT_RELA of the section before.
            (true, 0) => header(1, 1, 3, shared, 0, 0, 0),
            (true, _) if i > 3 => header(0, 4, 0, shared, 2, i - 1, 24),
            _ => header(1, 1, 0, shared, 0, 0, 0),
        }
    }
    file
}

#[test]
fn tables_that_overlap_cost_no_more_than_the_file() {
    for (relocated, message) in [(false, "overlap"), (true, "come to more than the file")] {
        let file = forged(relocated);
        let begin = std::time::Instant::now();
        let host = Host::read(&file);
        let error = match &host {
            Ok(host) => Bundle::read(host).map(|bundle| bundle.problems[0].error.clone()).unwrap_or_else(|error| error),
            Err(error) => error.clone(),
        };
        assert!(error.to_string().contains(message), "{error}");
        assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
    }
}
