//! What does our own reader see, in the words in which the stand-in for the runtime tells what a process sees?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::{EntryLayout, Image};
use sycl_bundle::bundle::property;

use super::{Entries, LoadedImage, Value, fnv1a};

/// The images of each descriptor.
pub fn view(bundle: &Bundle) -> Vec<Vec<LoadedImage>> {
    let mut view = vec![Vec::new(); bundle.descriptors.len()];
    for image in &bundle.images {
        view[image.origin.expect("an image of a linked file").descriptor].push(seen(image));
    }
    view
}

fn seen(image: &Image) -> LoadedImage {
    let origin = image.origin.unwrap();
    let entry = |name: &&str| {
        let form = if origin.entry_layout.unwrap() == EntryLayout::New { Entries::New } else { Entries::Old };
        (form, (*name).to_owned())
    };
    let set = |set: &property::PropertySet| {
        let properties = set.properties.iter().map(|property| (property.name.to_owned(), value(&property.value)));
        (set.name.to_owned(), properties.collect())
    };
    LoadedImage {
        version: origin.version,
        kind: origin.kind,
        format: match image.declared {
            Declared::None => 0,
            Declared::Native => 1,
            Declared::SpirV => 2,
            Declared::LlvmBitcode => 3,
            Declared::CompressedNone => 4,
            Declared::Other(number) => number,
        },
        target: image.target.to_owned(),
        compile_options: image.compile_options.to_owned(),
        link_options: image.link_options.to_owned(),
        payload_size: image.stored.len(),
        payload_digest: fnv1a(image.stored),
        entries: image.entries.iter().map(entry).collect(),
        sets: image.properties.sets.iter().map(set).collect(),
    }
}

fn value(value: &property::Value) -> Value {
    match *value {
        property::Value::U32(number) => Value::U32(number),
        property::Value::Bytes(raw) => {
            let (bits, content) = raw.split_first_chunk::<8>().unwrap();
            Value::Bits(u64::from_le_bytes(*bits), content.to_vec())
        }
        ref other => panic!("a value that no compiler writes: {other:?}"),
    }
}
