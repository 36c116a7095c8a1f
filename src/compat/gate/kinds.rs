//! Which images are alike in everything that the rules look at, and of which must the code be read for that?

use crate::bundle::format::Format;
use crate::bundle::property_sets::{key, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::{Code, code};
use crate::compat::engine::Engine;
use crate::compat::examine::Examined;
use crate::device::cpu::CpuArch;
use crate::native::Part;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// Version, capabilities and extensions of a module.
type Spirv<'i> = ((u8, u8), &'i [u32], &'i [String]);

/// All that the rules look at.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Kind<'i> {
    target: (&'i str, Option<&'i str>, bool),
    format: (&'static str, u8),
    requirements: &'i Requirements,
    properties: [Option<String>; 3],
    march: Option<CpuArch>,
    module: Option<Spirv<'i>>,
    used: Vec<(&'static str, bool)>,
    /// The sizes that the module's kernels require.
    sizes: (&'i [[u32; 3]], &'i [u32]),
    /// The devices of each part of native code, and whether SPIR-V is in it.
    code: Vec<(&'i [String], bool)>,
    /// The place of an image that is of no kind but its own: what it imports, what is wrong with it and, for HIP, its
    /// bytes count.
    own: Option<usize>,
}

impl<'i> Kind<'i> {
    /// The kind of an image, by its place.
    pub(super) fn new(at: usize, image: &'i Examined<'_, '_>, engine: &Engine<'_>) -> Kind<'i> {
        let property = |set, name| image.image.properties.get(set, name);
        let text = |name| property(set::REQUIREMENTS, name).and_then(|value| value.text().map(str::to_owned));
        let esimd = property(set::MISC, key::ESIMD).and_then(|value| value.number());
        let alone = !image.imports.is_empty()
            || !image.unlisted_imports.is_empty()
            || image.problem.is_some()
            || image.native.as_ref().is_some_and(|native| !native.problems.is_empty())
            // Whether anything is recorded counts of code that is not read.
            || image.format == Format::LlvmBitcode
            || crate::compat::fit::spec(image.image) == "amdgcn";
        Kind {
            target: (image.image.target, image.image.compile_target(), image.image.origin.is_some()),
            format: (image.format.name(), image.state as u8),
            requirements: &image.requirements,
            properties: [text("joint_matrix"), text("joint_matrix_mad"), esimd.map(|number| number.to_string())],
            march: image.march,
            module: image
                .module
                .as_ref()
                .map(|module| (module.version, module.capabilities.as_slice(), module.extensions.as_slice())),
            sizes: image
                .module
                .as_ref()
                .map_or((&[], &[]), |module| (module.work_group_sizes.as_slice(), module.sub_group_sizes.as_slice())),
            used: engine.used(at),
            code: image.native.iter().flat_map(|native| &native.parts).map(code_for).collect(),
            own: alone.then_some(at),
        }
    }
}

/// The devices of a part of native code, and whether SPIR-V is in it.
fn code_for(part: &Part) -> (&[String], bool) {
    (&part.devices, part.spirv || part.format == Format::SpirV)
}

/// Numbers kinds by their first occurrence.
pub(super) fn kinds<'i>(all: impl Iterator<Item = Kind<'i>>) -> Vec<usize> {
    let mut known: HashMap<Kind<'i>, usize> = HashMap::new();
    all.map(|kind| {
        let next = known.len();
        *known.entry(kind).or_insert(next)
    })
    .collect()
}

/// Reads the code of those images whose use of aspects is not known without it, by the images' places; that of others is
/// empty. An image whose types and instructions show no aspect beyond the recorded ones is known without its code; of
/// thousands that is nearly every one. Images that import from each other are all read.
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
