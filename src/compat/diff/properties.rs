//! Which properties of an image are compared, and with which of the other build?
//!
//! Images of two builds have nothing in common by which they could be paired, so that each property is compared with what
//! it is about: a kernel, a symbol of a target, or the image of a kernel. What else a comparison tells is left out.

use crate::bundle::Bundle;
use crate::bundle::decode::{decode, describe};
use crate::bundle::property::{self, set};
use crate::compat::examine::Examined;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Sets that are told of kernels one by one.
const TOLD: [&str; 7] = [
    set::REQUIREMENTS,
    set::PARAM_OPT,
    set::SPEC_CONSTANTS,
    set::SPEC_DEFAULTS,
    set::KERNEL_NAMES,
    set::KERNEL_ASPECTS,
    set::PROGRAM_METADATA,
];

/// Sets with a few properties of the whole image. Others may have as many as there are symbols.
const OF_IMAGES: [&str; 4] = [set::MISC, set::VIRTUAL_FUNCTIONS, set::DEVICELIB, "SYCL/devicelib req mask"];

/// Properties by set and name, as text; the kernels of an image share them.
pub type Shared = Arc<BTreeMap<String, String>>;

/// Values of properties by set and name, each once, of all images for a target.
pub type Values = BTreeMap<String, BTreeSet<String>>;

/// The properties of an image, by what they are about.
#[derive(Debug, Default)]
pub(super) struct OfImage<'a> {
    /// About a kernel, by its mangled name.
    pub(super) kernels: HashMap<&'a str, BTreeMap<String, String>>,
    /// About the image, where it has kernels by which it can be found again.
    pub(super) shared: Shared,
    /// About symbols and what nobody knows of; of an image without kernels, all.
    pub(super) rest: Vec<(String, String)>,
}

/// Sorts the properties of an image.
pub(super) fn of_image<'a>(bundle: &Bundle<'_>, image: &Examined<'_, 'a>) -> OfImage<'a> {
    let all = &image.image.properties;
    let (mut sorted, mut shared) = (OfImage::default(), BTreeMap::new());
    for set in all.sets.iter().filter(|set| !TOLD.contains(&set.name)) {
        for property in &set.properties {
            let value = describe(decode(all, set.name, property, bundle.epoch), property.value);
            let name = format!("{}: {}", set.name, property.name);
            match property::kernel_of(set.name, property) {
                Some(kernel) => {
                    let own = if kernel == property.name { set.name.to_owned() } else { name };
                    sorted.kernels.entry(kernel).or_default().insert(own, value);
                }
                None if OF_IMAGES.contains(&set.name) && !image.kernels.is_empty() => {
                    shared.insert(name, value);
                }
                None => sorted.rest.push((name, value)),
            }
        }
    }
    sorted.shared = Arc::new(shared);
    sorted
}
