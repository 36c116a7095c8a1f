//! Are the properties of an image stored as the runtime reads them?
//!
//! DPC++'s runtime takes the form of most properties for granted (`RTDeviceBinaryImage` in its `device_binary_image.cpp`, and
//! `program_manager.cpp`), and ends at others: a number is read as the address of bytes.

use super::aspect::Epoch;
use super::image::Image;
use super::property::Value;
use super::property_sets::{decode, key, set};
use super::spec_constants::constants;
use crate::limits;

/// Returns the sets with a property that the runtime does not survive, or reads otherwise than it is stored.
pub(super) fn misstored(image: &Image<'_>) -> Vec<&'static str> {
    let sets = [
        set::PARAM_OPT,
        set::VIRTUAL_FUNCTIONS,
        set::MISC,
        set::DEVICE_GLOBALS,
        set::SPEC_CONSTANTS,
        set::SPEC_DEFAULTS,
        set::SPEC_VALUES,
        set::DEVICELIB,
    ];
    sets.into_iter().filter(|name| is_misstored(image, name)).collect()
}

fn is_misstored(image: &Image<'_>, name: &'static str) -> bool {
    let properties = image.properties.set(name);
    if properties.is_empty() {
        return false;
    }
    let all = &image.properties;
    let has_bytes = |value: &Value<'_>| value.payload().is_some();
    let blob = |name| all.get(name, "all").and_then(|value| value.payload()).map(<[u8]>::len);
    match name {
        set::MISC => properties.iter().any(|one| match one.name {
            "sanUsed" => !has_bytes(&one.value),
            // Of any other value the runtime takes that of true.
            key::ESIMD => one.value.number().is_none_or(|number| number > 1),
            _ => false,
        }),
        // The runtime takes no kernel from an image of the device library.
        set::DEVICELIB => !image.kernels().is_empty(),
        set::PARAM_OPT | set::DEVICE_GLOBALS | set::VIRTUAL_FUNCTIONS => {
            properties.iter().any(|one| decode(all, name, one, Epoch::From2026).is_none())
        }
        set::SPEC_CONSTANTS => {
            let is_whole = |value: &Value<'_>| value.payload().is_some_and(|bytes| bytes.len() % 12 == 0);
            let constants = constants(all);
            let size = constants.iter().fold(0u64, |sum, one| sum.saturating_add(one.size()));
            let most = blob(set::SPEC_DEFAULTS).map_or(limits::MAX_SPEC_VALUES, |bytes| bytes as u64);
            properties.iter().any(|one| !is_whole(&one.value)) || size > most
        }
        set::SPEC_VALUES => {
            let defaults = blob(set::SPEC_DEFAULTS).unwrap_or_default();
            properties.iter().any(|one| !has_bytes(&one.value)) || blob(name).is_some_and(|bytes| bytes < defaults)
        }
        _ => properties.iter().any(|one| !has_bytes(&one.value)),
    }
}
