//! How is an image that was read converted to one that is written?

use super::image_data::{OutImage, OutProperty, OutSet, OutValue};
use crate::bundle::image::Image;
use crate::bundle::property::{PropertySet, Value};
use std::borrow::Cow;

/// Returns an image with another target, format and payload; all else stays.
pub fn with_payload<'i>(image: &'i Image<'i>, target: &'i str, format: u8, payload: Cow<'i, [u8]>) -> OutImage<'i> {
    OutImage {
        target,
        format,
        compile_options: image.compile_options,
        link_options: image.link_options,
        payload,
        entries: image.entries.clone(),
        property_sets: image.properties.sets.iter().map(property_set).collect(),
    }
}

/// Returns an image in the form of the structures of host files, with the payload as it is stored.
pub fn out_image<'i>(image: &'i Image<'i>) -> OutImage<'i> {
    with_payload(image, image.target, image.declared.number(), Cow::Borrowed(image.stored))
}

fn property_set<'i>(set: &'i PropertySet<'i>) -> OutSet<'i> {
    let properties = set.properties.iter().map(|property| {
        let (kind, value) = match property.value {
            Value::U32(number) => (1, OutValue::U32(number)),
            Value::Bytes(bytes) => (2, OutValue::Bytes(bytes)),
            Value::Text(bytes) => (3, OutValue::Bytes(bytes)),
            Value::Unknown { kind, bytes } => (kind, OutValue::Bytes(bytes)),
        };
        OutProperty { name: property.name, kind, value }
    });
    OutSet { name: set.name, properties: properties.collect() }
}
