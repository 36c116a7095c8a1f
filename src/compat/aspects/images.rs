//! What does the code of each image of a bundle do?

use super::Code;
use crate::bundle::format::Format;
use crate::compat::examine::Examined;
use crate::spirv::index::Index;
use rayon::prelude::*;

/// The code of examined images, in their order; that of an image that is no SPIR-V, or does not inflate, is empty, so that
/// places are those of the images.
pub fn codes(images: &[Examined<'_, '_>]) -> Vec<Code> {
    images.par_iter().map(|image| code(image).unwrap_or_default()).collect()
}

/// The same for those that are `wanted` alone; the code of others is empty.
pub fn codes_where(images: &[Examined<'_, '_>], wanted: impl Fn(&Examined<'_, '_>) -> bool + Sync) -> Vec<Code> {
    images.par_iter().map(|image| wanted(image).then(|| code(image)).flatten().unwrap_or_default()).collect()
}

/// The code of an image; none where it is no SPIR-V, or does not inflate.
pub fn code(image: &Examined<'_, '_>) -> Option<Code> {
    let contents = if image.format == Format::SpirV { image.image.contents().ok()? } else { return None };
    Some(Code::read(&Index::read(&contents).ok()?).of_image(image.image))
}
