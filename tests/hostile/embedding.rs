//! What does adding images to a file cost, or break, when one word of what decides their place is not what it was?
//!
//! Every word of the file header, the program headers and the dynamic section, each with values that hurt.

use std::collections::HashSet;

use goblin::elf::Elf;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::property::{Property, PropertySet, Value};
use sycl_bundle::container::Host;
use sycl_bundle::error::{Error, ErrorKind};
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, embed};
use sycl_bundle::rewrite::image_data::OutImage;
use sycl_bundle::rewrite::layers;
use sycl_bundle::rewrite::specialize::RecordedValues;

use crate::judged::module;
use crate::meter::Meter;
use crate::recorded::bytes;
use crate::sample;
use crate::support::folder::{Folder, said};

/// Bytes that may be added beside the payload: tables, the sections' headers, and what aligns the segment.
const MORE: usize = 8 << 20;

/// Adds one small image, if the file can be read. How long the result is.
fn embedded(file: &[u8]) -> Result<usize, Error> {
    let host = Host::read(file)?;
    let bundle = Bundle::read(&host)?;
    let source = bundle.images.first().map_or(0, |image| image.index);
    let addition = Addition {
        source,
        target: "spir64_x86_64",
        compile_target: None,
        constants: RecordedValues::Nothing,
        linked: false,
        metadata: None,
        format: FORMAT_NATIVE,
        payload: b"native code",
    };
    embed(&host, &bundle, &[addition], &[]).map(|out| out.len())
}

/// An image that has everything of its own.
pub fn new_image() -> OutImage<'static> {
    OutImage {
        target: "spir64_gen",
        format: 1,
        compile_options: "",
        link_options: "",
        payload: b"code".to_vec().into(),
        entries: vec!["kernel"],
        property_sets: Vec::new(),
    }
}

/// Removes an image, and adds a new one.
fn exchanged(file: &[u8]) -> Result<usize, Error> {
    layers::edit(file, &HashSet::from([0]), &[new_image()], &[]).map(|edited| edited.bytes.len())
}

#[test]
fn a_word_that_is_not_what_it_was_is_survived() {
    let original = sample();
    let elf = Elf::parse(&original).unwrap();
    let headers = usize::try_from(elf.header.e_phoff).unwrap();
    let dynamic = elf.program_headers.iter().find(|header| header.p_type == 2).unwrap();
    let words = (0..64)
        .chain(headers..headers + usize::from(elf.header.e_phnum) * 56)
        .chain(dynamic.file_range())
        .filter(|at| at % 8 == 0);
    let mut file = original.clone();
    let mut meter = Meter::new();
    let (mut done, mut refused) = (0, 0);
    for at in words {
        let word = u64::from_le_bytes(original[at..at + 8].try_into().unwrap());
        let size = original.len() as u64;
        for new in [0, 1, word ^ 1, word ^ 1 << 16, word.wrapping_add(24), 1 << 28, 1 << 38, 1 << 62, size, u64::MAX] {
            file[at..at + 8].copy_from_slice(&new.to_le_bytes());
            let what = format!("{new:#x} at {at:#x}");
            // A third of them will do.
            let exchanged = at.is_multiple_of(24).then(|| meter.run(&what, file.len(), || exchanged(&file)));
            match exchanged.unwrap_or(Ok(0)) {
                Ok(length) => assert!(length <= file.len() + MORE, "{what}: {length} bytes"),
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::Input | ErrorKind::NoDeviceCode | ErrorKind::NoMatch),
                    "{error:?}"
                ),
            }
            match meter.run(&what, file.len(), || embedded(&file)) {
                Ok(length) => {
                    assert!(length <= file.len() + MORE, "{new:#x} at {at:#x}: {length} bytes");
                    done += 1;
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Input | ErrorKind::NoDeviceCode), "{error:?}");
                    refused += 1;
                }
            }
        }
        file[at..at + 8].copy_from_slice(&original[at..at + 8]);
    }
    assert_eq!(file, original, "every change was undone");
    assert!(done > 200 && refused > 200, "done, refused: {done}, {refused}");
}

/// The runtime reads names of sets of virtual functions up to a NUL, which their values do not have.
#[test]
fn values_end_where_the_runtime_takes_them_for_texts() {
    let name: &[u8] = &[&[40, 0, 0, 0, 0, 0, 0, 0][..], b"_ZTSv"].concat();
    let ends = |file: &[u8]| {
        let behind = |at: usize| file[at..].starts_with(name).then(|| file[at + name.len()]);
        (0..file.len() - name.len()).filter_map(behind).collect::<Vec<u8>>()
    };
    let property = |key| Property { name: key, value: Value::Bytes(name) };
    let properties = [vec![property("virtual-functions-set")], vec![property("uses-virtual-functions-set")]];
    // Each is followed by another text.
    let new = properties.map(|properties| OutImage {
        target: "spir64",
        format: 0,
        payload: module(&[], &[], &[], &[]).into(),
        property_sets: vec![PropertySet { name: "SYCL/virtual functions", properties }],
        ..new_image()
    });
    let added = layers::edit(&sample(), &HashSet::new(), &new, &[]).unwrap().bytes;
    assert_eq!(ends(&added), [0]);
    let folder = Folder::new();
    folder.put("a.so", &*added);
    for form in ["shared", "object"] {
        folder.tool(["wrap", "a.so", "--emit", form, "-o", form]);
        assert_eq!(ends(&folder.read(form)), [0], "{form}");
    }
}

/// Images whose names of sets of virtual functions go on into another text stand for other sets than one that is added.
#[test]
fn images_of_sets_whose_names_have_no_end_are_written_again() {
    let folder = Folder::new();
    for (name, key) in [("0", "virtual-functions-set"), ("1", "uses-virtual-functions-set")] {
        folder.put(&format!("{name}.spv"), module(&[], &[], &[], &[]));
        folder.put(&format!("{name}.prop"), format!("[SYCL/virtual functions]\n{key}={}\n", bytes(b"_ZTSv")));
    }
    folder.put("0.sym", "f\n");
    folder.put("1.sym", "k\n");
    folder.put("t.table", "[Code|Properties|Symbols]\n0.spv|0.prop|0.sym\n1.spv|1.prop|1.sym\n");
    folder.put("1.table", "[Code|Properties|Symbols]\n1.spv|1.prop|1.sym\n");
    folder.tool(["wrap", "t.table", "--emit", "shared", "-o", "t.so"]);
    let edited = |file: &str, add: &str| {
        let done = folder.tool(["embed", file, add, "--replace", "-o", "out.so", "--format", "json"]);
        let done: serde_json::Value = serde_json::from_str(&said(&done)).unwrap();
        (done["removed"].as_u64().unwrap(), done["added"].as_u64().unwrap(), done["images_after"].as_u64().unwrap())
    };
    assert_eq!(edited("t.so", "1.table"), (1, 1, 2));
    let mut open = folder.read("t.so");
    let name: &[u8] = &[&[40, 0, 0, 0, 0, 0, 0, 0][..], b"_ZTSv"].concat();
    let at = open.windows(name.len()).position(|bytes| bytes == name).unwrap() + name.len();
    open[at] = b'x';
    folder.put("open.so", open);
    assert_eq!(edited("open.so", "1.table"), (2, 2, 2));
    folder.put("2.table", "[Code]\n1.spv\n");
    assert_eq!(edited("open.so", "2.table").1, 1);
}
