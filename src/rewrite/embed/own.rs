//! What does an added image look like that names a device of its own?
//!
//! As its source, but for its payload and the property `compile_target`, for which it has property sets of its own. The
//! list's other images keep theirs.

use super::Addition;
use super::arrays::source;
use crate::bundle::Bundle;
use crate::bundle::property::set;
use crate::error::{Error, Result};
use crate::rewrite::convert::with_payload;
use crate::rewrite::image_data::{OutImage, OutProperty, OutSet, OutValue};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The key.
const KEY: &str = "compile_target";

/// The values of the property, by the names that they hold.
pub(super) struct Targets<'a>(BTreeMap<&'a str, Vec<u8>>);

impl<'a> Targets<'a> {
    /// Those of additions.
    pub fn of(additions: &[Addition<'a>]) -> Targets<'a> {
        let names = additions.iter().filter_map(|addition| addition.compile_target);
        Targets(names.map(|name| (name, value(name))).collect())
    }
}

/// A byte array of properties begins with its length in bits.
fn value(name: &str) -> Vec<u8> {
    let bits = (name.len() as u64).saturating_mul(8);
    [&bits.to_le_bytes()[..], name.as_bytes()].concat()
}

/// The images of additions.
///
/// # Errors
/// `Input` where one has no source.
pub(super) fn images<'i>(
    bundle: &'i Bundle<'_>,
    additions: &[Addition<'i>],
    targets: &'i Targets<'_>,
) -> Result<Vec<OutImage<'i>>> {
    let one = |addition: &Addition<'i>| {
        let source = source(bundle, addition)
            .ok_or_else(|| Error::input(format!("image {} is in no list of this file", addition.source)))?;
        let mut image = with_payload(source, addition.target, addition.format, Cow::Borrowed(addition.payload));
        if let Some(value) = addition.compile_target.and_then(|name| targets.0.get(name)) {
            state(&mut image.property_sets, value);
        }
        Ok(image)
    };
    additions.iter().map(one).collect()
}

/// Sets the property.
fn state<'i>(sets: &mut Vec<OutSet<'i>>, value: &'i [u8]) {
    let property = OutProperty { name: KEY, kind: 2, value: OutValue::Bytes(value) };
    match sets.iter_mut().find(|known| known.name == set::REQUIREMENTS) {
        None => sets.push(OutSet { name: set::REQUIREMENTS, properties: vec![property] }),
        Some(known) => {
            known.properties.retain(|own| own.name != KEY);
            known.properties.push(property);
        }
    }
}
