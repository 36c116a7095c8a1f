//! Do images leave a library for Windows so that it loads anywhere and shows the others?

use std::collections::HashSet;

use super::embedding::{BASES, descriptors, notes, seen};
use super::library;
use crate::support::host::{Entries, Fixture, ImageSpec, LoadedImage, samples};
use crate::support::spirv;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::layers;

fn check(original: &[u8], gone: &[usize]) {
    let edited = layers::edit(original, &gone.iter().copied().collect(), &[], &notes()).unwrap();
    assert_eq!(edited.bytes.len(), original.len());
    let descriptors = descriptors(original);
    for base in BASES {
        let mut wanted: Vec<Vec<LoadedImage>> = seen(original, base, &descriptors);
        let mut index = 0;
        for images in &mut wanted {
            images.retain(|_| {
                index += 1;
                !gone.contains(&(index - 1))
            });
        }
        assert_eq!(seen(&edited.bytes, base, &descriptors), wanted, "without {gone:?} at {base:x?}");
    }
    let host = Host::read(original).unwrap();
    for image in Bundle::read(&host).unwrap().images.iter().filter(|image| gone.contains(&image.index)) {
        let at = usize::try_from(image.offset).unwrap();
        assert!(edited.bytes[at..at + image.stored.len()].iter().all(|byte| *byte == 0), "image {}", image.index);
    }
    // The first section is the code.
    let parsed = goblin::pe::PE::parse(original).unwrap();
    let code = parsed.sections.iter().find(|section| section.characteristics & 0x2000_0000 != 0).unwrap();
    let range = code.pointer_to_raw_data as usize..(code.pointer_to_raw_data + code.size_of_raw_data) as usize;
    assert!(edited.bytes[range.clone()] == original[range]);
}

#[test]
fn any_image_may_go() {
    for version in [1, 2, 3] {
        for entries in [Entries::Old, Entries::New] {
            let two = ImageSpec::new(spirv::module("two_kernels")).entry("add_two").entry("negate");
            let fixture = Fixture::new("pruned").images(samples::every_property()).images(vec![two]);
            let original = library(&fixture.version(version).entries(entries));
            for index in 0..8 {
                check(&original, &[index]);
            }
            // Structures with more pointers take the places of some with fewer, and the other way round.
            for gone in [&[0usize, 1, 2, 3, 4, 6, 7][..], &[5, 7], &[0, 3, 5], &[8], &[0, 1, 2, 3, 4, 5, 6, 7]] {
                check(&original, gone);
            }
        }
    }
}

#[test]
fn all_of_the_linkers_images_may_go_where_others_come() {
    let original = library(&Fixture::new("exchanged").images(samples::every_property()));
    let host = Host::read(&original).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let last = bundle.images.last().unwrap();
    let payload = last.stored.to_vec();
    let new = sycl_bundle::rewrite::image_data::with_payload(last, "spir64_gen", 1, payload.into());
    let all: HashSet<usize> = (0..bundle.images.len()).collect();
    let edited = layers::edit(&original, &all, std::slice::from_ref(&new), &notes()).unwrap();
    let descriptors = descriptors(&original);
    for base in BASES {
        let after = seen(&edited.bytes, base, &descriptors);
        assert_eq!(after[0].len(), 1);
        assert_eq!((after[0][0].target.as_str(), after[0][0].payload_size), ("spir64_gen", last.stored.len()));
    }
    // Images that are gone cannot be had back, and nothing pretends that they can.
    let again = layers::edit(&edited.bytes, &HashSet::new(), &[], &notes()).unwrap();
    assert!(again.bytes == edited.bytes && !again.changed);
    // The next exchange takes the place of this one.
    let next = layers::edit(&edited.bytes, &HashSet::from([0]), std::slice::from_ref(&new), &notes()).unwrap();
    assert!(next.bytes == edited.bytes);
}
