//! What does adding images to a file cost, or break, when one word of what decides their place is not what it was?
//!
//! Every word of the file header, the program headers and the dynamic section, each with values that hurt.

use std::collections::HashSet;

use goblin::elf::Elf;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::error::{Error, ErrorKind};
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, embed};
use sycl_bundle::rewrite::image_data::OutImage;
use sycl_bundle::rewrite::layers;
use sycl_bundle::rewrite::specialize::RecordedValues;

use crate::meter::Meter;
use crate::sample;

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

/// Removes an image, and adds one that has everything of its own.
fn exchanged(file: &[u8]) -> Result<usize, Error> {
    let new = OutImage {
        target: "spir64_gen",
        format: 1,
        compile_options: "",
        link_options: "",
        payload: b"code".to_vec().into(),
        entries: vec!["kernel"],
        property_sets: Vec::new(),
    };
    layers::edit(file, &HashSet::from([0]), &[new], &[]).map(|edited| edited.bytes.len())
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
