//! How do the images of a fixture become images to be written?

use std::borrow::Cow;

use sycl_bundle::bundle::property::{Property, PropertySet, Value as PropertyValue};
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion, OutImage};
use sycl_bundle::rewrite::object_file::{ObjectFormat, ObjectOptions, object_file};
use sycl_bundle::rewrite::shared::Machine;

use super::{ImageSpec, PropertySpec, SetSpec, Value};

/// The raw bytes of all properties of all images, in order: what the images to be written borrow.
pub fn raw_values(images: &[ImageSpec]) -> Vec<Option<Vec<u8>>> {
    let sets = images.iter().flat_map(|image| &image.sets);
    sets.flat_map(|set| &set.properties).map(|property| property.value.raw()).collect()
}

/// The images to be written; `raw` is what [`raw_values`] gave for them.
pub fn out_images<'a>(images: &'a [ImageSpec], raw: &'a [Option<Vec<u8>>]) -> Vec<OutImage<'a>> {
    let mut raw = raw.iter();
    let mut property = |property: &'a PropertySpec| {
        let value = match (&property.value, raw.next().unwrap()) {
            (Value::U32(value), _) => PropertyValue::U32(*value),
            (_, bytes) => PropertyValue::Bytes(bytes.as_ref().unwrap()),
        };
        Property { name: &property.name, value }
    };
    let mut set = |set: &'a SetSpec| PropertySet {
        name: &set.name,
        properties: set.properties.iter().map(&mut property).collect(),
    };
    let image = |image: &'a ImageSpec| OutImage {
        target: &image.target,
        format: image.format,
        compile_options: &image.compile_options,
        link_options: &image.link_options,
        payload: Cow::Borrowed(&image.payload),
        entries: image.entries.iter().map(String::as_str).collect(),
        property_sets: image.sets.iter().map(&mut set).collect(),
    };
    images.iter().map(image).collect()
}

/// For this machine and libsycl.so.9.
pub const LINUX: ObjectOptions<'static> = ObjectOptions {
    machine: Machine::X86_64,
    format: ObjectFormat::Elf,
    version: ImageVersion::V3,
    entries: EntryForm::Old,
    comments: &[],
};

/// An object with images.
pub fn object(images: &[ImageSpec], options: &ObjectOptions<'_>) -> Vec<u8> {
    let raw = raw_values(images);
    object_file(&out_images(images, &raw), options).unwrap().into_vec()
}
