//! Which aspects does the code of a module use, and where?
//!
//! Judgement by what functions do, not by what the module declares. [`Code::read`] looks at one module; [`graph::Graph`]
//! links the modules of a file or of several and follows calls, so that every kernel and every function has the aspects
//! it may need, each with the way there; [`mod@compare`] sets that beside what the compiler stored.

pub mod code;
pub mod compare;
pub mod graph;
mod origin;
mod rules;

use super::bitcode;
use super::examine::Examined;
use crate::bundle::format::Format;
use crate::spirv::Module;
use crate::spirv::index::Index;
use rayon::prelude::*;
use std::collections::BTreeSet;

pub use code::Code;
pub use compare::{Comparison, Difference, Reason, compare, compare_kernel};
pub use graph::{Evidence, Graph, Sets, Step};
pub use rules::Aspect;

/// The code of examined images, in their order; that of an image that is neither SPIR-V nor bitcode, or does not inflate,
/// is empty, so that places are those of the images.
pub fn codes(images: &[Examined<'_, '_>]) -> Vec<Code> {
    images.par_iter().map(|image| code(image).unwrap_or_default()).collect()
}

/// Reads the code of the images that are `wanted`; the code of others is empty.
pub fn codes_where(images: &[Examined<'_, '_>], wanted: impl Fn(&Examined<'_, '_>) -> bool + Sync) -> Vec<Code> {
    images.par_iter().map(|image| wanted(image).then(|| code(image)).flatten().unwrap_or_default()).collect()
}

/// The code of an image; none where it is neither SPIR-V nor bitcode, or does not inflate.
pub fn code(image: &Examined<'_, '_>) -> Option<Code> {
    if let Some(module) = &image.bitcode {
        return Some(bitcode::code(module).of_image(image.image));
    }
    let contents = if image.format == Format::SpirV { image.image.contents().ok()? } else { return None };
    Some(Code::read(&Index::read(&contents).ok()?).of_image(image.image))
}

/// The aspects that an image's code uses for sure, by name; none of what is no SPIR-V.
pub fn shown(image: &Examined<'_, '_>) -> BTreeSet<&'static str> {
    match (&image.module, image.image.contents()) {
        (Some(module), Ok(contents)) => shown_by(module, &contents),
        (module, _) => module.iter().flat_map(|module| &module.used_aspects).copied().collect(),
    }
}

/// Lists the aspects that a module and its bytes show. Types and instructions tell all of most modules; the code of
/// others is read.
pub fn shown_by(module: &Module, contents: &[u8]) -> BTreeSet<&'static str> {
    let mut shown: BTreeSet<&'static str> = module.used_aspects.iter().copied().collect();
    if module.may_use_others
        && let Ok(index) = Index::read(contents)
    {
        shown.extend(Code::read(&index).used().into_iter().filter(|aspect| aspect.certain()).map(|one| one.name()));
    }
    shown
}
