//! Does a bundle that is written and read come back as it was, in every form?

use crate::support::host::LINUX;
use proptest::prelude::*;
use std::collections::HashSet;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::{Image, State};
use sycl_bundle::bundle::offload_binary::Version;
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value};
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::syclbin::Envelope;
use sycl_bundle::bundle::table::{Row, Table};
use sycl_bundle::bundle::{Bundle, property_text};
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::blobs;
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion, out_image};
use sycl_bundle::rewrite::object_file::{ObjectFormat, ObjectOptions, object_file};
use sycl_bundle::rewrite::shared::{Machine, SharedOptions, shared_library};

/// An image that owns what it says.
#[derive(Debug, Clone)]
struct Made {
    target: &'static str,
    options: [String; 2],
    payload: Vec<u8>,
    entries: Vec<String>,
    sets: Vec<(String, Vec<(String, Stored)>)>,
}

#[derive(Debug, Clone)]
enum Stored {
    Number(u32),
    /// With the length in bits in front.
    Bytes(Vec<u8>),
}

fn value() -> impl Strategy<Value = Stored> {
    prop_oneof![
        any::<u32>().prop_map(Stored::Number),
        (any::<Vec<u8>>(), 0u64..8).prop_map(|(content, unused)| {
            let bits = (content.len() as u64 * 8).saturating_sub(unused.min(content.len() as u64 * 8 % 8));
            Stored::Bytes([&bits.to_le_bytes()[..], &content].concat())
        }),
    ]
}

/// Names as sets, properties and symbols have them; some are known ones.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_$][a-zA-Z0-9_ /@.:<>,|é\\]]{0,20}", Just("_ZTS6kernel".to_owned()), Just("aspects".to_owned())]
}

fn set_name() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] =
        &[set::REQUIREMENTS, set::IMPORTED, set::EXPORTED, set::MISC, set::PARAM_OPT, "SYCL/of the future"];
    prop_oneof![proptest::sample::select(KNOWN).prop_map(str::to_owned), "[a-z/ ]{1,12}"]
}

fn made() -> impl Strategy<Value = Made> {
    let payload = prop_oneof![
        any::<Vec<u8>>().prop_map(|rest| [&[3, 2, 0x23, 7][..], &rest].concat()),
        any::<Vec<u8>>().prop_map(|rest| [&b"\x7fELF\x02\x01"[..], &rest].concat()),
    ];
    let set = (set_name(), proptest::collection::vec((name(), value()), 0..4));
    (
        proptest::sample::select(&["spir64", "spir64_gen", "spir64_x86_64", "nvptx64", "amdgcn"][..]),
        ["[ -~]{0,12}", "[ -~]{0,12}"],
        payload,
        // Symbols are listed one a line.
        proptest::collection::vec("[a-zA-Z_][a-zA-Z0-9_.$]{0,20}", 0..4),
        proptest::collection::vec(set, 0..4),
    )
        .prop_map(|(target, options, payload, mut entries, sets)| {
            let mut known = HashSet::new();
            entries.retain(|name: &String| known.insert(name.clone()));
            Made { target, options, payload, entries, sets }
        })
}

impl Made {
    fn image(&self, index: usize) -> Image<'_> {
        let (mut names, mut properties) = (HashSet::new(), HashSet::new());
        // Names that stand twice mean one thing in a list and another in text.
        let sets = self.sets.iter().filter(|(name, _)| names.insert(name)).map(|(set, of_set)| PropertySet {
            name: set,
            properties: of_set
                .iter()
                .filter(|(name, _)| properties.insert((set, name)))
                .map(|(name, value)| Property {
                    name,
                    value: match value {
                        Stored::Number(number) => Value::U32(*number),
                        Stored::Bytes(bytes) => Value::Bytes(bytes),
                    },
                })
                .collect(),
        });
        Image {
            index,
            target: self.target,
            compile_options: &self.options[0],
            link_options: &self.options[1],
            entries: self.entries.iter().map(String::as_str).collect(),
            properties: Properties { sets: sets.collect() },
            ..Image::bare(&self.payload, 0)
        }
    }
}

/// Facts that must stay as they were.
#[derive(Debug, PartialEq)]
struct Kept<'a> {
    payload: &'a [u8],
    target: &'a str,
    options: [&'a str; 2],
    entries: Vec<&'a str>,
    properties: &'a Properties<'a>,
}

fn kept<'a>(image: &'a Image<'a>) -> Kept<'a> {
    Kept {
        payload: image.stored,
        target: image.target,
        options: [image.compile_options, image.link_options],
        entries: image.entries.clone(),
        properties: &image.properties,
    }
}

/// Reads what was written and compares all of it.
fn comes_back(bytes: &[u8], images: &[Image<'_>]) -> Result<(), TestCaseError> {
    let host = Host::read(bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    prop_assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    let back: Vec<Kept<'_>> = bundle.images.iter().map(kept).collect();
    let wanted: Vec<Kept<'_>> = images.iter().map(kept).collect();
    prop_assert_eq!(back, wanted);
    Ok(())
}

fn images(made: &[Made]) -> Vec<Image<'_>> {
    made.iter().enumerate().map(|(index, made)| made.image(index)).collect()
}

/// The forms that come to a host program.
fn registered(images: &[Image<'_>]) -> Vec<Vec<u8>> {
    let out: Vec<_> = images.iter().map(out_image).collect();
    let mut all = Vec::new();
    for (version, entries) in [
        (ImageVersion::V1, EntryForm::Old),
        (ImageVersion::V2, EntryForm::New),
        (ImageVersion::V3, EntryForm::Old),
        (ImageVersion::V3, EntryForm::New),
    ] {
        let runtime = if version == ImageVersion::V3 { "libsycl.so.9" } else { "libsycl.so.8" };
        all.push(
            shared_library(&out, &SharedOptions { version, entries, runtime, ..SharedOptions::new("lib.so") })
                .unwrap()
                .into_vec(),
        );
        for machine in [Machine::X86_64, Machine::Aarch64] {
            for format in [ObjectFormat::Elf, ObjectFormat::Coff] {
                let options = ObjectOptions { machine, format, version, entries, ..LINUX };
                all.push(object_file(&out, &options).unwrap().into_vec());
            }
        }
    }
    all
}

/// Order and number of images of one target stay; images of different targets may change places.
fn by_target<'i, 'a>(images: &'i [Image<'a>]) -> Vec<&'i Image<'a>> {
    let mut targets: Vec<(&str, Option<&str>)> = Vec::new();
    for image in images {
        let key = (image.target, image.compile_target());
        if !targets.contains(&key) {
            targets.push(key);
        }
    }
    let mut sorted: Vec<&Image<'_>> = images.iter().collect();
    sorted.sort_by_key(|image| targets.iter().position(|key| *key == (image.target, image.compile_target())));
    sorted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn objects_and_libraries(made in proptest::collection::vec(made(), 1..5)) {
        let images = images(&made);
        for bytes in registered(&images) {
            comes_back(&bytes, &images)?;
        }
    }

    #[test]
    fn offload_binaries(made in proptest::collection::vec(made(), 1..5)) {
        let images = images(&made);
        for version in [Version::V1, Version::V2, Version::V3, Version::V3Compressed(3)] {
            let bytes = blobs::offload_binary(&images, version).unwrap();
            prop_assert_eq!(&bytes, &blobs::offload_binary(&images, version).unwrap());
            comes_back(&bytes, &images)?;
        }
    }

    #[test]
    fn offload_bundles(made in proptest::collection::vec(made(), 1..5)) {
        let images = images(&made);
        let wanted: Vec<Image<'_>> = by_target(&images).into_iter().cloned().collect();
        for compress in [None, Some(3)] {
            comes_back(&blobs::offload_bundle(&images, "x86_64-unknown-linux-gnu", compress).unwrap(), &wanted)?;
        }
    }

    /// Options have no place there, and kernels are listed among the property sets.
    #[test]
    fn syclbins(made in proptest::collection::vec(made(), 1..5)) {
        let made: Vec<Made> = made.into_iter().map(|made| Made { options: Default::default(), ..made }).collect();
        let images = images(&made);
        for (envelope, state) in [
            (Envelope::Bare, State::Input),
            (Envelope::V1, State::Executable),
            (Envelope::V2, State::Object),
        ] {
            let bytes = blobs::syclbin(&images, envelope, state).unwrap();
            let host = Host::read(&bytes).unwrap();
            let bundle = Bundle::read(&host).unwrap();
            prop_assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
            prop_assert_eq!(bundle.images.len(), images.len());
            for (back, image) in bundle.images.iter().zip(&images) {
                prop_assert_eq!((back.stored, back.target, back.state()), (image.stored, image.target, state));
                let kernels = if image.properties.set(set::KERNEL_NAMES).is_empty() {
                    image.kernels()
                } else {
                    image.properties.names(set::KERNEL_NAMES)
                };
                prop_assert_eq!(&back.entries, &kernels);
                let sets = image.properties.sets.len();
                prop_assert_eq!(&back.properties.sets[..sets], &image.properties.sets[..]);
            }
            // The same bytes are written as were read.
            let again = blobs::syclbin(&bundle.images, envelope, blobs::state(&bundle.images)).unwrap();
            prop_assert_eq!(again, bytes);
        }
    }

    /// Neither options nor the target of native code have a place there.
    #[test]
    fn tables(made in proptest::collection::vec(made(), 1..5)) {
        let images = images(&made);
        let texts: Vec<(String, String)> = images
            .iter()
            .map(|image| (property_text::write(&image.properties).unwrap(), image.entries.join("\n")))
            .collect();
        let rows: Vec<Row<'_>> = images
            .iter()
            .zip(&texts)
            .map(|(image, (properties, symbols))| Row {
                name: "row",
                code: image.stored,
                properties: Some(properties.as_bytes()),
                symbols: Some(symbols.as_bytes()),
            })
            .collect();
        let table = Table::for_images().write().unwrap();
        let host = Host::read(table.as_bytes()).unwrap();
        let bundle = Bundle::from_table(&host, &rows).unwrap();
        prop_assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        for (back, image) in bundle.images.iter().zip(&images) {
            prop_assert_eq!((back.stored, &back.entries, &back.properties), (image.stored, &image.entries, &image.properties));
        }
    }
}

/// Names that text cannot hold are refused by the forms that are text, and kept by the others.
#[test]
fn values_of_unknown_types() {
    let properties = [
        Property { name: "text", value: Value::Text(b"no compiler writes it") },
        Property { name: "with = sign", value: Value::U32(1) },
    ];
    for property in properties {
        let sets = vec![PropertySet { name: "set", properties: vec![property] }];
        let image = Image {
            target: "spir64",
            declared: Declared::SpirV,
            entries: vec!["kernel"],
            properties: Properties { sets },
            ..Image::bare(&[3, 2, 0x23, 7], 0)
        };
        let images = [image];
        for bytes in registered(&images) {
            comes_back(&bytes, &images).unwrap();
        }
        assert!(blobs::syclbin(&images, Envelope::V1, State::Input).is_err());
        assert!(blobs::offload_binary(&images, Version::V1).unwrap_err().to_string().contains(property.name));
    }
}

/// The sets of an image are one string of an OffloadBinary, as long as they are.
#[test]
fn property_sets_of_megabytes() {
    let names: Vec<String> = (0..60_000).map(|number| format!("a_kernel_with_a_long_name_{number:05}")).collect();
    let properties = names.iter().map(|name| Property { name, value: Value::U32(1) }).collect();
    let image = Image {
        target: "spir64",
        declared: Declared::SpirV,
        entries: vec!["kernel"],
        properties: Properties { sets: vec![PropertySet { name: "set", properties }] },
        ..Image::bare(&[3, 2, 0x23, 7], 0)
    };
    for version in [Version::V1, Version::V2] {
        let bytes = blobs::offload_binary(std::slice::from_ref(&image), version).unwrap();
        assert!(bytes.len() > 2 << 20);
        comes_back(&bytes, std::slice::from_ref(&image)).unwrap();
    }
}
