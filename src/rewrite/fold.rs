//! Which images have the same code under other names, and how are they merged into one?
//!
//! Clones are linked, and their kernels share one body ([`crate::spirv::fold`]), so every name stays a kernel that the
//! runtime finds and a device creates. Only images that differ in nothing but the kernel's name are folded: one kernel
//! each, equal reachable code, and equal property sets. Images that other images could tell apart are left alone: those
//! that import or export symbols, have device globals, other variables that kernels write, or specialization constants,
//! or belong to the device library or a set of virtual functions.

use super::link::{Input, link};
use crate::bundle::format::Format;
use crate::bundle::image::{Image, State};
use crate::bundle::property_sets::{About, KnownSet};
use crate::container::Arena;
use crate::error::{Error, Result};
use crate::spirv::Module;
use crate::spirv::fold::fold as fold_module;
use crate::spirv::kernel::{body, kernels};
use crate::spirv::link::Options;
use crate::spirv::subset::shared_variables;
use std::collections::HashMap;

/// Image that clones were merged into.
#[derive(Debug)]
pub(crate) struct Folded {
    /// Number of the image among those that are left.
    pub(crate) image: usize,
    /// Kernels, in the order of their former images.
    pub(crate) kernels: Vec<String>,
    /// Size of all clones together, and of the merged image, in bytes.
    pub(crate) bytes: [u64; 2],
}

/// Result of folding.
#[derive(Debug)]
pub struct Outcome<'k> {
    /// Images that are left, renumbered; a merged image takes the place of its first clone.
    pub images: Vec<Image<'k>>,
    /// Merged images.
    pub(crate) folded: Vec<Folded>,
    /// Clones that could not be merged: the number of the first of them, and the reason.
    pub(crate) refused: Vec<(usize, Error)>,
}

/// Merges clones.
///
/// # Errors
/// `Input` where a payload does not inflate.
pub fn fold<'k>(arena: &'k Arena, images: Vec<Image<'k>>) -> Result<Outcome<'k>> {
    let mut groups: HashMap<Key, Vec<usize>> = HashMap::new();
    for (place, image) in images.iter().enumerate() {
        if let Some(key) = key(image)? {
            groups.entry(key).or_default().push(place);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    let mut made: HashMap<usize, Image<'k>> = HashMap::new();
    let mut gone: Vec<bool> = vec![false; images.len()];
    let (mut folded, mut refused) = (Vec::new(), Vec::new());
    for group in groups {
        let members: Vec<&Image<'k>> = group.iter().filter_map(|place| images.get(*place)).collect();
        let Some((first, others)) = group.split_first() else { continue };
        match one(arena, &members) {
            Ok(image) => {
                let before = members.iter().map(|image| image.stored.len() as u64).sum();
                folded.push(Folded {
                    image: *first,
                    kernels: members.iter().flat_map(|image| image.kernels()).map(str::to_owned).collect(),
                    bytes: [before, image.stored.len() as u64],
                });
                made.insert(*first, image);
                others.iter().filter_map(|place| gone.get_mut(*place).map(|gone| *gone = true)).for_each(drop);
            }
            Err(error) => refused.push((*first, error)),
        }
    }
    let mut left = Vec::with_capacity(images.len());
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    for ((place, image), gone) in images.into_iter().enumerate().zip(gone) {
        if !gone {
            numbers.insert(place, left.len());
            let image = made.remove(&place).unwrap_or(image);
            left.push(Image { index: left.len(), ..image });
        }
    }
    let number = |place: &mut usize| *place = numbers.get(place).copied().unwrap_or(*place);
    folded.iter_mut().for_each(|folded| number(&mut folded.image));
    refused.iter_mut().for_each(|(place, _)| number(place));
    Ok(Outcome { images: left, folded, refused })
}

/// Key that clones share: the image's properties without its kernel's name, and its code.
type Key = (String, Vec<u32>);

/// Returns the key of an image, or none where it may not be folded.
fn key(image: &Image<'_>) -> Result<Option<Key>> {
    let properties = &image.properties;
    let told_apart = properties.sets.iter().any(|set| !set.properties.is_empty() && !KnownSet::find(set.name).foldable);
    if image.format() != Format::SpirV || image.state() != State::Input || told_apart {
        return Ok(None);
    }
    let [kernel] = image.entries.as_slice() else { return Ok(None) };
    let contents = image.contents()?;
    // A module may have linkage that its container does not list.
    let module = Module::parse(&contents)?;
    if !module.exports.is_empty() || !module.spec_constants.is_empty() {
        return Ok(None);
    }
    let Ok((index, all)) = kernels(&contents) else { return Ok(None) };
    let [found] = all.as_slice() else { return Ok(None) };
    if index.stopped.is_some() || found.name != *kernel || found.esimd || index.entry_points.len() != 1 {
        return Ok(None);
    }
    // Each of the clones has its own, and the merged image one for all.
    if !shared_variables(&index).is_empty() {
        return Ok(None);
    }
    let Some(words) = body::words(&index, &found.reach, &mut body::Numbers::new(&index)) else { return Ok(None) };
    let mut said = format!(
        "{} {} {} {:?} {:?} {:?} {}",
        image.target,
        image.arch,
        image.offload_kind,
        image.compile_options,
        image.link_options,
        index.version,
        index.addressing
    );
    for set in &properties.sets {
        for property in &set.properties {
            let (name, value) = match KnownSet::find(set.name).about {
                // The property has a second name of the same kernel.
                About::KernelInValue => ("", String::new()),
                _ => (property.name, format!("{:?}", property.value)),
            };
            said.push_str(&format!("\n{} {} {value}", set.name, name.replace(kernel, "*")));
        }
    }
    Ok(Some((said, words)))
}

/// Merges clones into one image.
fn one<'k>(arena: &'k Arena, members: &[&Image<'k>]) -> Result<Image<'k>> {
    let inputs: Vec<Input<'_, '_>> = members
        .iter()
        .map(|image| Input { image, label: image.entries.first().copied().unwrap_or(""), internal: false })
        .collect();
    let first = |errors: Vec<Error>| errors.into_iter().next().unwrap_or_else(|| Error::input("cannot be linked"));
    let linked = link(arena, &inputs, &Options { partial: true }).map_err(first)?.image;
    let (index, all) = kernels(linked.stored)?;
    let mut numbers = body::Numbers::new(&index);
    let mut codes = all.iter().map(|kernel| body::words(&index, &kernel.reach, &mut numbers));
    let code = codes.next().flatten();
    if code.is_none() || codes.any(|other| other != code) || all.len() != members.len() {
        return Err(Error::input("they are not the same code once they are linked"));
    }
    let bytes = fold_module(linked.stored, &[(0..index.entry_points.len()).collect()])?;
    Ok(Image { stored: arena.keep(bytes)?, ..linked })
}
