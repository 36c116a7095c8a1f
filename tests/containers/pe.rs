//! Are the images of a library for Windows found, and does damage to one only ever end in an error?
//!
//! The libraries are linked by `lld-link` from our own sources; goblin's full reader, of which the reader under test
//! uses the headers alone, is the judge of sections and imports.

use crate::support::host::{Entries, Fixture, ImageSpec, samples};
use crate::support::{read, spirv};
use goblin::pe::PE;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::{Bundle, structure};
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::error::ErrorKind;

fn library(fixture: &Fixture) -> Vec<u8> {
    std::fs::read(fixture.build_dll()).unwrap()
}

fn sample() -> Fixture {
    Fixture::new("sample").images(samples::every_property())
}

#[test]
fn every_version_and_form_of_entries_is_read() {
    for version in [1, 2, 3] {
        for entries in [Entries::Old, Entries::New] {
            let fixture = sample().version(version).entries(entries);
            read::check(&library(&fixture), &fixture);
        }
    }
}

#[test]
fn several_lists_and_one_without_tgtimg_are_read() {
    let two = ImageSpec::new(spirv::module("two_kernels")).entry("add_two").entry("negate");
    let fixture = sample().images(vec![two]);
    for fixture in [fixture.clone(), fixture.clone().tgtimg(false), fixture.new_driver(true)] {
        read::check(&library(&fixture), &fixture);
    }
}

#[test]
fn the_runtime_is_told_by_the_imports() {
    for (version, abi, epoch) in [(2, 8, Epoch::From2023), (3, 9, Epoch::From2026)] {
        let bytes = library(&sample().version(version));
        let host = Host::read(&bytes).unwrap();
        assert_eq!((host.kind, host.sycl_abi, host.registers), (Kind::Pe, Some(abi), true));
        assert_eq!(Bundle::read(&host).unwrap().epoch, epoch);
        let judge = PE::parse(&bytes).unwrap();
        assert!(judge.libraries.contains(&format!("sycl{abi}.dll").as_str()), "{:?}", judge.libraries);
    }
}

#[test]
fn sections_and_addresses_are_those_of_the_judge() {
    let bytes = library(&sample());
    let host = Host::read(&bytes).unwrap();
    let judge = PE::parse(&bytes).unwrap();
    let ours: Vec<_> = host.sections.iter().map(|section| (section.name, section.address, section.offset)).collect();
    let base = judge.image_base;
    let theirs: Vec<_> = judge
        .sections
        .iter()
        .map(|s| (s.name().unwrap(), base + u64::from(s.virtual_address), u64::from(s.pointer_to_raw_data)))
        .collect();
    assert_eq!(ours, theirs);
    // The linker cuts names; `.tgtimg` just fits.
    assert!(ours.iter().any(|section| section.0 == "__CLANG_"), "{ours:?}");
    assert_eq!(structure::listed_in_tgtimg(&host).len(), samples::every_property().len());
}

#[test]
fn a_library_that_registers_nothing_we_find_is_damaged_and_one_without_sycl_is_not() {
    let sound = library(&sample());
    let mut bytes = sound.clone();
    // Without the list, `.tgtimg` still says that there are images.
    let array = Bundle::read(&Host::read(&sound).unwrap()).unwrap().descriptors[0].images;
    let host = Host::read(&sound).unwrap();
    let at = usize::try_from(host.addresses.file_offset(array).unwrap()).unwrap();
    bytes[at] = 77;
    let host = Host::read(&bytes).unwrap();
    let error = Bundle::read(&host).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(error.to_string().contains(".tgtimg lists"), "{error}");
    let empty = library(&Fixture::new("empty").tgtimg(false).images(Vec::new()));
    let error = Bundle::read(&Host::read(&empty).unwrap()).unwrap_err();
    assert!(error.to_string().contains("registers device images"), "{error}");
}

#[test]
fn damage_ends_in_an_error() {
    crate::support::damage::survives(&library(&sample()), 3_000);
}
