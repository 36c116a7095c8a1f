//! Of which images must the code be looked at, to know what they use?
//!
//! An image whose types and instructions show no aspect beyond those that the compiler recorded is known without its
//! code; of thousands that is nearly every one. Images that import from each other are looked at, all of them.

use crate::bundle::property::set;
use crate::compat::aspects::{Code, code};
use crate::compat::examine::Examined;
use rayon::prelude::*;
use std::collections::HashSet;

/// The code of those images whose use of aspects is not known without it, by the images' places; that of others is empty.
pub fn codes(images: &[Examined<'_, '_>]) -> Vec<Code> {
    let linked = linked(images);
    let read = |(image, linked): (&Examined<'_, '_>, bool)| {
        let wanted = linked || image.problem.is_some() || !settled(image);
        if wanted { code(image).unwrap_or_default() } else { Code::default() }
    };
    images.par_iter().enumerate().map(|(at, image)| read((image, linked.contains(&at)))).collect()
}

/// Whether nothing that the image's code can do needs an aspect that is not recorded.
fn settled(image: &Examined<'_, '_>) -> bool {
    image.bitcode.is_none()
        && image.module.as_ref().is_none_or(|module| {
            let recorded = |used: &&str| image.requirements.aspects.iter().any(|own| own == used);
            !module.may_use_others && module.used_aspects.iter().all(recorded)
        })
}

/// The places of images that import what another one defines, and of those that define it; and of those that define or
/// use sets of virtual functions, where any does.
fn linked(images: &[Examined<'_, '_>]) -> HashSet<usize> {
    let mut places = by_symbol(images);
    let sets = |image: &Examined<'_, '_>| !image.image.properties.set(set::VIRTUAL_FUNCTIONS).is_empty();
    places.extend(images.iter().enumerate().filter(|(_, image)| sets(image)).map(|(at, _)| at));
    places
}

fn by_symbol(images: &[Examined<'_, '_>]) -> HashSet<usize> {
    let modules = || images.iter().enumerate().filter_map(|(at, image)| Some((at, image.module.as_ref()?)));
    let imported: HashSet<&str> = modules().flat_map(|(_, module)| module.imports.iter().map(String::as_str)).collect();
    if imported.is_empty() {
        return HashSet::new();
    }
    let defines = |(_, module): &(usize, &crate::spirv::Module)| {
        module.exports.iter().any(|symbol| imported.contains(symbol.as_str()))
    };
    let mut places: HashSet<usize> = modules().filter(defines).map(|(at, _)| at).collect();
    if !places.is_empty() {
        places.extend(modules().filter(|(_, module)| !module.imports.is_empty()).map(|(at, _)| at));
    }
    places
}
