//! Which images of a file are written again where one is added that takes part in a set of virtual functions?
//!
//! The runtime (libsycl 2026.2) reads the name of a set up to a NUL, which a value does not have. What a linker put behind a
//! value is part of the name: images that share a value still share the name, and one that is added has another. What is
//! written here has a NUL there.

use super::image_data::OutImage;
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bundle::property::{Property, PropertySet, Value};
use crate::bundle::property_sets::set;
use crate::container::Host;
use crate::container::device_elf::SECTIONS_RATIO;
use crate::error::{Error, Result};
use std::collections::HashSet;

/// The values that name sets of virtual functions.
fn values<'v>(sets: &'v [PropertySet<'v>]) -> impl Iterator<Item = Value<'v>> {
    let named = sets.iter().filter(|one| one.name == set::VIRTUAL_FUNCTIONS);
    named.flat_map(|one| &one.properties).map(|property| property.value)
}

/// Whether an image to add takes part in a set.
pub(crate) fn takes_part(image: &OutImage<'_>) -> bool {
    values(&image.property_sets).next().is_some()
}

/// Returns the images of a file that stay, and take part in a set, where the runtime reads more than the name of one.
///
/// # Errors
/// `Input` where they share so much that they come to many times the file.
pub(crate) fn unended<'b, 'a>(
    host: &Host<'_>,
    bundle: &'b Bundle<'a>,
    drop: &HashSet<usize>,
) -> Result<Vec<&'b Image<'a>>> {
    let stays = |image: &&Image<'_>| bundle.is_listed(image) && !drop.contains(&image.index);
    let of_sets = |image: &&Image<'_>| values(&image.properties.sets).next().is_some();
    let images: Vec<&Image<'a>> = bundle.images.iter().filter(stays).filter(of_sets).collect();
    let ended = |image: &&Image<'_>| values(&image.properties.sets).all(|value| is_ended(host.bytes, value));
    if images.iter().all(ended) {
        return Ok(Vec::new());
    }
    let total = images.iter().map(|image| size(image)).fold(0, usize::saturating_add);
    if total > host.bytes.len().saturating_mul(SECTIONS_RATIO) {
        let message =
            "its images of sets of virtual functions have to be written again, and come to many times its size";
        return Err(Error::input(message)
            .with_remedy("use --emit shared: a library beside the file that registers the images when loaded"));
    }
    Ok(images)
}

/// The bytes of an image that are written with it.
fn size(image: &Image<'_>) -> usize {
    let properties = image.properties.sets.iter().flat_map(|one| &one.properties);
    let of_property = |property: &Property<'_>| {
        let value = match property.value {
            Value::Bytes(bytes) | Value::Text(bytes) | Value::Unknown { bytes, .. } => bytes.len(),
            Value::U32(_) => 0,
        };
        property.name.len().saturating_add(value)
    };
    let names = image.entries.iter().map(|entry| entry.len());
    properties.map(of_property).chain(names).fold(image.stored.len(), usize::saturating_add)
}

/// Whether a NUL ends a value, within it or behind it in the file.
fn is_ended(file: &[u8], value: Value<'_>) -> bool {
    let (Value::Bytes(bytes) | Value::Text(bytes)) = value else { return true };
    let start = bytes.as_ptr().addr().checked_sub(file.as_ptr().addr());
    let behind = start.and_then(|start| file.get(start.checked_add(bytes.len())?));
    bytes.get(8..).is_some_and(|text| text.last() == Some(&0)) || behind == Some(&0)
}
