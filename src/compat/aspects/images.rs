//! What does the code of each image of a bundle do?

use super::Code;
use crate::bundle::format::Format;
use crate::compat::bitcode;
use crate::compat::examine::Examined;
use crate::spirv::Module;
use crate::spirv::index::Index;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The code of examined images, in their order; that of an image that is no SPIR-V and no bitcode, or does not inflate, is empty, so that
/// places are those of the images.
pub fn codes(images: &[Examined<'_, '_>]) -> Vec<Code> {
    images.par_iter().map(|image| code(image).unwrap_or_default()).collect()
}

/// Reads the code of the images that are `wanted`; the code of others is empty.
pub fn codes_where(images: &[Examined<'_, '_>], wanted: impl Fn(&Examined<'_, '_>) -> bool + Sync) -> Vec<Code> {
    images.par_iter().map(|image| wanted(image).then(|| code(image)).flatten().unwrap_or_default()).collect()
}

/// The code of an image; none where it is no SPIR-V and no bitcode, or does not inflate.
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
