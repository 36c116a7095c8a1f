//! Which images are alike in everything that the rules look at?

use crate::bundle::format::Format;
use crate::bundle::property::set;
use crate::bundle::requirements::Requirements;
use crate::compat::engine::Engine;
use crate::compat::examine::Examined;
use crate::device::cpu::CpuArch;
use std::collections::HashMap;

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
    /// The place of an image that is of no kind but its own: what it imports, what is wrong with it and, for HIP, its
    /// bytes count.
    own: Option<usize>,
}

impl<'i> Kind<'i> {
    /// The kind of an image, by its place.
    pub(super) fn of(at: usize, image: &'i Examined<'_, '_>, engine: &Engine<'_>) -> Kind<'i> {
        let property = |set, name| image.image.properties.get(set, name);
        let text = |name| property(set::REQUIREMENTS, name).and_then(|value| value.text().map(str::to_owned));
        let esimd = property(set::MISC, "isEsimdImage").and_then(|value| value.number());
        let alone = !image.imports.is_empty()
            || !image.unlisted_imports.is_empty()
            || image.problem.is_some()
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
            own: alone.then_some(at),
        }
    }
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
