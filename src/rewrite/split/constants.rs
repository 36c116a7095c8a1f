//! Which specialization constants does an image still have, and what are their defaults?
//!
//! A constant stays where the module has any of its parts, or no module of the split has. The blob of defaults holds the values one after another in the
//! order of the set, each as long as its last part reaches, so it is cut to match.

use crate::bundle::decode::spec_constant;
use crate::bundle::property::{Properties, Property, PropertySet, Value, set};
use crate::container::arena::Arena;
use crate::error::Result;
use crate::rewrite::property_sets::byte_array;
use std::collections::HashSet;

/// The set of defaults.
pub(super) const DEFAULTS: &str = "SYCL/specialization constants default values";

/// The two sets of an image, restricted to the constants whose numbers are `here`, or not `anywhere` in the split.
pub(super) fn restricted<'k>(
    arena: &'k Arena,
    all: &Properties<'k>,
    here: &HashSet<u32>,
    anywhere: &HashSet<u32>,
) -> Result<Vec<PropertySet<'k>>> {
    const PADDING: u32 = u32::MAX;
    let blob = all.get(DEFAULTS, "all").and_then(|value| value.payload());
    let mut rest = blob;
    let mut kept: Vec<Property<'k>> = Vec::new();
    let mut values: Vec<u8> = Vec::new();
    for property in all.set(set::SPEC_CONSTANTS) {
        let parts = spec_constant(property).unwrap_or_default();
        let size =
            parts.iter().map(|part| u64::from(part.offset).saturating_add(u64::from(part.size))).max().unwrap_or(0);
        let split = rest.and_then(|rest| rest.split_at_checked(usize::try_from(size).ok()?));
        rest = split.map(|(_, tail)| tail);
        let mut ids = parts.iter().map(|part| part.id).filter(|id| *id != PADDING);
        // A constant that no kernel uses is nobody's, and harms nobody.
        if ids.clone().any(|id| here.contains(&id)) || !ids.any(|id| anywhere.contains(&id)) {
            kept.push(*property);
            values.extend_from_slice(split.map(|(value, _)| value).unwrap_or_default());
        }
    }
    let mut sets = Vec::new();
    if !kept.is_empty() {
        sets.push(PropertySet { name: set::SPEC_CONSTANTS, properties: kept });
        if blob.is_some() {
            // A blob that is shorter than its constants say is cut as far as it goes.
            let value: Value<'k> = byte_array(arena, &values)?;
            sets.push(PropertySet { name: DEFAULTS, properties: vec![Property { name: "all", value }] });
        }
    }
    Ok(sets)
}
