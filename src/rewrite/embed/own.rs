//! How is an added image built whose property sets differ from those of its source?
//!
//! Its structure is that of its source but for the payload and property sets of its own: they name its device
//! (`compile_target`) and the values of specialization constants that it was compiled with, and they import nothing
//! where it was linked. Other images of the list keep their sets.

use super::Addition;
use super::arrays::source;
use crate::bundle::Bundle;
use crate::bundle::property::{byte_array, key, set};
use crate::error::{Error, Result};
use crate::rewrite::convert::with_payload;
use crate::rewrite::image_data::{OutImage, OutProperty, OutSet, OutValue};
use crate::rewrite::specialize::StoredValue;
use std::borrow::Cow;

/// Property that an addition sets.
struct SetProperty {
    set: &'static str,
    key: &'static str,
    value: StoredValue,
}

/// Properties that each addition sets.
pub(super) struct ChangedProperties(Vec<Vec<SetProperty>>);

impl ChangedProperties {
    /// Returns the properties of additions, in their order.
    pub fn collect(additions: &[Addition<'_>]) -> ChangedProperties {
        let one = |addition: &Addition<'_>| {
            let device = addition.compile_target.map(|name| {
                let value = StoredValue::Bytes(byte_array(name.as_bytes()));
                SetProperty { set: set::REQUIREMENTS, key: key::COMPILE_TARGET, value }
            });
            let constants = addition.constants.property().map(|(set, key, value)| SetProperty { set, key, value });
            device.into_iter().chain(constants).collect()
        };
        ChangedProperties(additions.iter().map(one).collect())
    }
}

/// Returns the images of additions.
///
/// # Errors
/// `Input` where one has no source.
pub(super) fn images<'i>(
    bundle: &'i Bundle<'_>,
    additions: &[Addition<'i>],
    values: &'i ChangedProperties,
) -> Result<Vec<OutImage<'i>>> {
    let one = |(addition, own): (&Addition<'i>, &'i Vec<SetProperty>)| {
        let source = source(bundle, addition)
            .ok_or_else(|| Error::input(format!("image {} is in no list of this file", addition.source)))?;
        let mut image = with_payload(source, addition.target, addition.format, Cow::Borrowed(addition.payload));
        if addition.linked {
            image.property_sets.retain(|known| known.name != set::IMPORTED);
        }
        own.iter().for_each(|own| set_property(&mut image.property_sets, own));
        Ok(image)
    };
    additions.iter().zip(&values.0).map(one).collect()
}

/// Sets a property.
fn set_property<'i>(sets: &mut Vec<OutSet<'i>>, own: &'i SetProperty) {
    let property = match &own.value {
        StoredValue::Flag => OutProperty { name: own.key, kind: 1, value: OutValue::U32(1) },
        StoredValue::Bytes(bytes) => OutProperty { name: own.key, kind: 2, value: OutValue::Bytes(bytes) },
    };
    match sets.iter_mut().find(|known| known.name == own.set) {
        None => sets.push(OutSet { name: own.set, properties: vec![property] }),
        Some(known) => {
            known.properties.retain(|other| other.name != own.key);
            known.properties.push(property);
        }
    }
}
