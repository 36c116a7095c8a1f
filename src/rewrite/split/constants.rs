//! Which specialization constants does an image still have, and what are their defaults?
//!
//! A constant stays where the module has any of its parts, or no module of the split has. The blob of defaults holds the
//! values one after another in the order of the set, each as long as its last part reaches, so it is cut to match.

use crate::bundle::decode::spec_constant;
use crate::bundle::property::{Properties, Property, PropertySet, Value, set};
use crate::container::arena::Arena;
use crate::error::Result;
use crate::rewrite::property_sets::byte_array;
use std::collections::{HashMap, HashSet};

/// The set of defaults.
pub(super) const DEFAULTS: &str = "SYCL/specialization constants default values";

/// The specialization constants of an input.
pub(super) struct Constants<'k> {
    /// Each with its default value.
    all: Vec<(Property<'k>, &'k [u8])>,
    /// The places of those that a number is part of.
    by_number: HashMap<u32, Vec<usize>>,
    /// Those that no part of the split uses: they are nobody's, and harm nobody.
    unused: Vec<usize>,
    has_defaults: bool,
}

impl<'k> Constants<'k> {
    /// Those of which the numbers are `used` in the split, and those of which none is.
    pub(super) fn of(all: &Properties<'k>, used: &HashSet<u32>) -> Constants<'k> {
        const PADDING: u32 = u32::MAX;
        let blob = all.get(DEFAULTS, "all").and_then(|value| value.payload());
        let mut found =
            Constants { all: Vec::new(), by_number: HashMap::new(), unused: Vec::new(), has_defaults: blob.is_some() };
        let mut rest = blob;
        for (place, property) in all.set(set::SPEC_CONSTANTS).iter().enumerate() {
            let parts = spec_constant(property).unwrap_or_default();
            let size =
                parts.iter().map(|part| u64::from(part.offset).saturating_add(u64::from(part.size))).max().unwrap_or(0);
            // A blob that is shorter than its constants say is cut as far as it goes.
            let split = rest.and_then(|rest| rest.split_at_checked(usize::try_from(size).ok()?));
            rest = split.map(|(_, tail)| tail);
            let ids = parts.iter().map(|part| part.id).filter(|id| *id != PADDING);
            let mut is_used = false;
            for id in ids.filter(|id| used.contains(id)) {
                is_used = true;
                found.by_number.entry(id).or_default().push(place);
            }
            if !is_used {
                found.unused.push(place);
            }
            found.all.push((*property, split.map(|(value, _)| value).unwrap_or_default()));
        }
        found
    }

    /// The two sets of an image with the constants of these numbers.
    ///
    /// # Errors
    /// `Input` where the arena is full.
    pub(super) fn of_part(&self, arena: &'k Arena, numbers: &[u32]) -> Result<Vec<PropertySet<'k>>> {
        let mut places: Vec<usize> =
            numbers.iter().filter_map(|number| self.by_number.get(number)).flatten().copied().collect();
        places.extend(&self.unused);
        places.sort_unstable();
        places.dedup();
        let kept: Vec<&(Property<'k>, &'k [u8])> = places.iter().filter_map(|place| self.all.get(*place)).collect();
        let mut sets = Vec::new();
        if !kept.is_empty() {
            let properties = kept.iter().map(|(property, _)| *property).collect();
            sets.push(PropertySet { name: set::SPEC_CONSTANTS, properties });
            if self.has_defaults {
                let values: Vec<u8> = kept.iter().flat_map(|(_, value)| *value).copied().collect();
                let value: Value<'k> = byte_array(arena, &values)?;
                sets.push(PropertySet { name: DEFAULTS, properties: vec![Property { name: "all", value }] });
            }
        }
        Ok(sets)
    }
}
