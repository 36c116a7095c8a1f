//! Does the library read from a file exactly the images that it was made of?

use super::host::{Fixture, ImageSpec, Value};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property;
use sycl_bundle::container::Host;

/// Reads a file and compares every field of every image with what the fixture was made of.
pub fn check(bytes: &[u8], fixture: &Fixture) {
    let host = Host::read(bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    assert_eq!(bundle.descriptors.len(), fixture.units().len());
    let specs: Vec<&ImageSpec> = fixture.units().iter().flatten().collect();
    assert_eq!(bundle.images.len(), specs.len());
    for (image, spec) in bundle.images.iter().zip(specs) {
        same(image, spec);
        let at = usize::try_from(image.offset).unwrap();
        assert_eq!(&bytes[at..at + spec.payload.len()], spec.payload, "the offset is where the payload stands");
    }
}

/// Compares one image with what it was made of.
pub fn same(image: &Image<'_>, spec: &ImageSpec) {
    assert_eq!(image.target, spec.target);
    assert_eq!(image.compile_options, spec.compile_options);
    assert_eq!(image.link_options, spec.link_options);
    assert_eq!(image.declared, Declared::from(spec.format));
    assert_eq!(image.stored, spec.payload);
    assert_eq!(image.entries, spec.entries);
    assert_eq!(image.properties.sets.len(), spec.sets.len());
    for (set, wanted) in image.properties.sets.iter().zip(&spec.sets) {
        assert_eq!(set.name, wanted.name);
        assert_eq!(set.properties.len(), wanted.properties.len());
        for (property, wanted) in set.properties.iter().zip(&wanted.properties) {
            assert_eq!(property.name, wanted.name);
            match (property.value, &wanted.value) {
                (property::Value::U32(value), Value::U32(wanted)) => assert_eq!(value, *wanted),
                (property::Value::Bytes(value), wanted) => assert_eq!(Some(value), wanted.raw().as_deref()),
                other => panic!("{}: {other:?}", property.name),
            }
        }
    }
}
