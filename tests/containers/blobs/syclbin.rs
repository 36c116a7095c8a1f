//! Do SYCLBINs of both versions come back with state, targets, kernels and property sets?

use super::{module, read};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::blob::Reader;
use sycl_bundle::bundle::image::{Image, State};
use sycl_bundle::bundle::offload_binary::{self, Version, parse};
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value};
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::syclbin::{self, Envelope, NewModule};
use sycl_bundle::container::Arena;
use sycl_bundle::container::Host;
use sycl_bundle::container::Place;

const ASPECTS: [u8; 12] = [32, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0];

fn properties() -> Properties<'static> {
    let one = |set, name, value| PropertySet { name: set, properties: vec![Property { name, value }] };
    Properties {
        sets: vec![
            one("unknown/set of [brackets]", "key", Value::U32(7)),
            one(set::REQUIREMENTS, "aspects", Value::Bytes(&ASPECTS)),
            PropertySet { name: set::PARAM_OPT, properties: Vec::new() },
        ],
    }
}

/// A module in SPIR-V and one in native code, of which the second has no property sets.
fn images<'a>(spirv: &'a [u8], native: &'a [u8]) -> [Image<'a>; 2] {
    [Image { properties: properties(), ..Image::bare(spirv, 0) }, Image { arch: "x86_64", ..Image::bare(native, 0) }]
}

pub fn written(envelope: Envelope, state: State) -> Vec<u8> {
    let (spirv, native) = (module(9), b"\x7fELF and so on".to_vec());
    let images = images(&spirv, &native);
    let modules = [
        NewModule {
            image: &images[0],
            payload: &spirv,
            native: false,
            triple: "spir64-unknown-unknown",
            kernels: vec!["_ZTS1a", "_ZTS1b"],
        },
        NewModule {
            image: &images[1],
            payload: &native,
            native: true,
            triple: "spir64_x86_64-unknown-unknown",
            kernels: vec!["_ZTS1c"],
        },
    ];
    syclbin::write(envelope, state, &modules).unwrap().into_vec()
}

pub const ENVELOPES: [Envelope; 3] = [Envelope::Bare, Envelope::V1, Envelope::V2];

/// Readers in an OffloadBinary go on behind each one; a bare one ends with its code.
#[test]
fn one_behind_another_is_read_or_told() {
    for (first, second) in ENVELOPES.into_iter().flat_map(|first| ENVELOPES.map(|second| (first, second))) {
        for padding in [0, 8] {
            let mut bytes = written(first, State::Input);
            bytes.resize(bytes.len().next_multiple_of(8) + padding, 0);
            let alone = Host::read(&bytes).unwrap();
            assert!(Bundle::read(&alone).unwrap().problems.is_empty(), "{first:?} {padding}");
            let bytes = [bytes.as_slice(), &written(second, State::Input)].concat();
            let host = Host::read(&bytes).unwrap();
            let bundle = Bundle::read(&host).unwrap();
            let told = bundle.problems.iter().any(|problem| problem.error.offset().is_some());
            assert!(bundle.images.len() == 4 || told, "{first:?} {second:?}: {:?}", bundle.problems);
        }
    }
}

/// The runtime holds a file to its state, and the OffloadBinary around it to its kind and to the size of its entry.
#[test]
fn what_the_runtime_does_not_load_is_told() {
    let told = |bytes: &[u8]| {
        let host = Host::read(bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        bundle.problems.iter().map(|problem| problem.error.message().to_owned()).collect::<Vec<_>>()
    };
    for envelope in ENVELOPES {
        for (from, to, expected) in
            [("state=", "State=", "states none of the states"), ("state=1|", "state=1 ", "no `name=type|value`")]
        {
            let mut bytes = written(envelope, State::Input);
            let at = bytes.windows(from.len()).position(|word| word == from.as_bytes()).unwrap();
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            let told = told(&bytes);
            assert!(told.len() == 1 && told[0].contains(expected), "{envelope:?}: {told:?}");
        }
    }
    let whole = written(Envelope::V1, State::Input);
    let entry = usize::try_from(u64::from_le_bytes(whole[16..24].try_into().unwrap())).unwrap();
    for (at, value, expected) in
        [(24, 80, Some("an entry of 80 bytes")), (entry, 0, Some("image kind 0 with a SYCLBIN")), (entry, 6, None)]
    {
        let mut bytes = whole.clone();
        bytes[at] = value;
        let told = told(&bytes);
        assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
        assert!(expected.is_none_or(|expected| told[0].contains(expected)), "{told:?}");
    }
}

#[test]
fn all_comes_back_and_is_written_the_same() {
    for (envelope, state) in ENVELOPES.into_iter().zip([State::Input, State::Object, State::Executable]) {
        let bytes = written(envelope, state);
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        let [spirv, native] = bundle.images.as_slice() else { panic!("{} images", bundle.images.len()) };
        assert_eq!((spirv.stored, native.stored), (&module(9)[..], &b"\x7fELF and so on"[..]));
        assert_eq!((spirv.target, native.target, native.compile_target()), ("spir64", "spir64_x86_64", Some("x86_64")));
        assert_eq!((spirv.state(), native.state()), (state, state));
        assert_eq!((spirv.entries.as_slice(), native.entries.as_slice()), (&["_ZTS1a", "_ZTS1b"][..], &["_ZTS1c"][..]));
        assert_eq!(spirv.properties.sets[..3], properties().sets);
        let again: Vec<NewModule> =
            [(spirv, false, "spir64-unknown-unknown"), (native, true, "spir64_x86_64-unknown-unknown")]
                .map(|(image, native, triple)| NewModule {
                    image,
                    payload: image.stored,
                    native,
                    triple,
                    kernels: image.entries.clone(),
                })
                .to_vec();
        assert_eq!(syclbin::write(envelope, state, &again).unwrap(), bytes, "{envelope:?}");
    }
}

/// All code of an abstract module has the properties of the module.
#[test]
fn native_code_keeps_what_is_said_of_it_alone() {
    let codes = [b"\x7fELF one".to_vec(), b"\x7fELF two".to_vec(), b"\x7fELF three".to_vec()];
    let needs = |aspect: u8| [32, 0, 0, 0, 0, 0, 0, 0, aspect, 0, 0, 0];
    let values = [needs(5), needs(6), needs(6)];
    let images: Vec<Image<'_>> = codes
        .iter()
        .zip(&values)
        .map(|(code, value)| {
            let properties = vec![Property { name: "aspects", value: Value::Bytes(value) }];
            let sets = vec![PropertySet { name: set::REQUIREMENTS, properties }];
            Image { properties: Properties { sets }, ..Image::bare(code, 0) }
        })
        .collect();
    let modules: Vec<NewModule<'_>> = images
        .iter()
        .map(|image| NewModule {
            image,
            payload: image.stored,
            native: true,
            triple: "spir64_gen-unknown-unknown",
            kernels: vec!["_ZTS1a"],
        })
        .collect();
    for envelope in ENVELOPES {
        let bytes = syclbin::write(envelope, State::Executable, &modules).unwrap();
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        let seen = bundle.images.iter().map(|image| image.properties.get(set::REQUIREMENTS, "aspects").unwrap());
        assert_eq!(seen.collect::<Vec<_>>(), values.each_ref().map(|value| Value::Bytes(value)), "{envelope:?}");
    }
}

#[test]
fn the_number_of_parts_in_2025_was_that_of_spirv() {
    let bytes = written(Envelope::V2, State::Object);
    let arena = Arena::default();
    let mut reader = Reader::new(&arena, bytes.len());
    let mut parts = parse(&mut reader, &bytes, Place::default());
    parts.iter_mut().flatten().for_each(|part| part.image_kind = 6);
    let early = offload_binary::write(Version::V2, &parts.concat()).unwrap();
    assert_ne!(early, bytes);
    assert_eq!(read(&early), read(&bytes));
}

#[test]
fn one_without_modules_is_sound_and_empty() {
    for envelope in ENVELOPES {
        let bytes = syclbin::write(envelope, State::Executable, &[]).unwrap();
        assert_eq!(read(&bytes), (Vec::new(), vec!["no device code".to_owned()]));
    }
}

#[test]
fn damaged_metadata_costs_what_it_says_and_no_image() {
    for envelope in ENVELOPES {
        let mut bytes = written(envelope, State::Executable);
        let at = bytes.windows(8).position(|window| window == b"aspects=").unwrap();
        bytes[at + 7] = b' ';
        let (seen, problems) = read(&bytes);
        assert_eq!(seen.len(), 2, "{problems:?}");
        assert!(seen[0].entries.is_empty() && seen[0].target == "spir64" && seen[1].entries == ["_ZTS1c"]);
        let expected = format!("SYCLBIN module metadata: this line is no `name=type|value` (at offset {at:#x})");
        assert_eq!(problems, [expected], "{envelope:?}");
    }
}

#[test]
fn parts_of_version_2_are_checked() {
    let sound = written(Envelope::V2, State::Input);
    for (old, new, images, says) in [
        (&b"native\0"[..], &b"nativX\0"[..], 1, "unknown role `nativX`"),
        (b"global_metadata\0", b"global_metadatX\0", 2, "without global metadata"),
        (b"am_metadata\0", b"global_metad", 2, "`"),
    ] {
        let mut bytes = sound.clone();
        let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
        bytes[at..at + new.len()].copy_from_slice(new);
        let (seen, problems) = read(&bytes);
        assert_eq!(seen.len(), images, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.contains(says)), "{problems:?}");
    }
}

#[test]
fn a_cut_code_table_costs_the_images_at_its_end() {
    let bytes = written(Envelope::Bare, State::Input);
    let (seen, problems) = read(&bytes[..bytes.len() - 1]);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].payload, module(9));
    assert!(problems.iter().any(|problem| problem.starts_with("SYCLBIN native image 0: ")), "{problems:?}");
}
