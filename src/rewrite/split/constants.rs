//! Which specialization constants does an image still have, and what are their defaults?
//!
//! A constant stays where the module has any of its parts, or no module of the split has one. The blob of defaults
//! holds the values one after another in the order of the set, each up to the end of its last part, so it is cut
//! accordingly.

use crate::bundle::property::{Properties, Property, PropertySet, Value, set};
use crate::bundle::spec_constants::constants;
use crate::container::arena::Arena;
use crate::error::Result;
use crate::rewrite::property_sets::byte_array;
use std::collections::{HashMap, HashSet};

/// Specialization constants of an input.
pub(super) struct Constants<'k> {
    /// Constants with their default values.
    all: Vec<(Property<'k>, &'k [u8])>,
    /// Positions of the constants that a number is part of.
    by_number: HashMap<u32, Vec<usize>>,
    /// Constants that no part of the split uses; every image keeps them.
    unused: Vec<usize>,
    has_defaults: bool,
}

impl<'k> Constants<'k> {
    /// Collects the constants of an input; `used` are the numbers that any part of the split uses.
    pub(super) fn collect(all: &Properties<'k>, used: &HashSet<u32>) -> Constants<'k> {
        let has_defaults = all.get(set::SPEC_DEFAULTS, "all").and_then(|value| value.payload()).is_some();
        let mut found = Constants { all: Vec::new(), by_number: HashMap::new(), unused: Vec::new(), has_defaults };
        for (place, (property, constant)) in all.set(set::SPEC_CONSTANTS).iter().zip(constants(all)).enumerate() {
            let mut is_used = false;
            for id in constant.parts().map(|part| part.id).filter(|id| used.contains(id)) {
                is_used = true;
                found.by_number.entry(id).or_default().push(place);
            }
            if !is_used {
                found.unused.push(place);
            }
            // A blob that is too short yields empty defaults past its end.
            found.all.push((*property, constant.default.unwrap_or_default()));
        }
        found
    }

    /// Returns the two sets of an image with the constants of these numbers.
    ///
    /// # Errors
    /// `Input` where the arena is full.
    pub(super) fn for_numbers(&self, arena: &'k Arena, numbers: &[u32]) -> Result<Vec<PropertySet<'k>>> {
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
                sets.push(PropertySet { name: set::SPEC_DEFAULTS, properties: vec![Property { name: "all", value }] });
            }
        }
        Ok(sets)
    }
}
