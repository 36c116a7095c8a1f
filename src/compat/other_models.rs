//! Which images are of other programming models than SYCL?
//!
//! Many packages have them beside SYCL's: code that CUDA and HIP put into programs, and code for GPUs of NVIDIA and AMD in
//! files of its own. No SYCL runtime looks for kernels there, so they are judged where a target is a GPU of their maker, or
//! where there is nothing else: then the user means them.

use super::examine::Examined;
use crate::bundle::image::Image;
use crate::container::Kind;
use crate::device::target::{Backend, Target};
use std::collections::BTreeSet;

/// Images of other programming models that are left out.
#[derive(Debug, Default)]
pub(crate) struct OtherModels {
    /// Targets by which images are left out: those of makers for whose devices none of the targets is.
    left_out: Vec<&'static str>,
    /// Number of images that were left out.
    images: usize,
    /// The models that they are of.
    models: BTreeSet<&'static str>,
}

/// The name of the model that an image of another one is of; code in a file of its own is for its maker's.
fn model(image: &Image<'_>) -> &'static str {
    match (image.offload_kind, image.target) {
        ("openmp", _) => "OpenMP",
        ("cuda", _) => "CUDA",
        ("hip" | "hipv4", _) => "HIP",
        (_, "amdgcn") => "HIP",
        _ => "CUDA",
    }
}

impl OtherModels {
    /// Leaves out what is for none of the targets.
    pub(crate) fn new<'t>(targets: impl Iterator<Item = &'t Target> + Clone) -> OtherModels {
        let asked = |backend| targets.clone().any(|target| target.backends.contains(&backend));
        let makers = [(Backend::Cuda, "nvptx64"), (Backend::Hip, "amdgcn")];
        let left_out = makers.into_iter().filter(|(backend, _)| !asked(*backend)).map(|(_, target)| target).collect();
        OtherModels { left_out, ..OtherModels::default() }
    }

    /// Whether an image in a container of a kind is of another model.
    pub(crate) fn has(kind: Option<Kind>, image: &Image<'_>) -> bool {
        let of_another = kind == Some(Kind::Native) || !matches!(image.offload_kind, "" | "sycl");
        image.origin.is_none() && of_another && ["nvptx64", "amdgcn"].contains(&image.target)
    }

    /// Whether an image is left out.
    fn leaves_out(&self, kind: Option<Kind>, image: &Image<'_>) -> bool {
        Self::has(kind, image) && self.left_out.contains(&image.target)
    }

    /// Takes them out of the images of a file.
    pub(crate) fn leave_out(&self, kind: Option<Kind>, images: &mut Vec<Examined<'_, '_>>) {
        images.retain(|one| !self.leaves_out(kind, one.image));
    }

    /// Takes them out, and counts them.
    pub(crate) fn count(&mut self, kind: Option<Kind>, images: &mut Vec<Examined<'_, '_>>) {
        let gone = || images.iter().filter(|one| self.leaves_out(kind, one.image)).map(|one| model(one.image));
        let (count, models): (usize, Vec<&str>) = (gone().count(), gone().collect());
        self.images = self.images.saturating_add(count);
        self.models.extend(models);
        self.leave_out(kind, images);
    }

    /// Whether any was left out.
    pub(crate) fn any(&self) -> bool {
        self.images > 0
    }

    /// Says how many were left out, if any; `done` is what was not done with them.
    pub(crate) fn note(&self, done: &str) -> Option<String> {
        let noun = if self.images == 1 { "image" } else { "images" };
        let models: Vec<&str> = self.models.iter().copied().collect();
        let models = models.join(" and ");
        self.any().then(|| format!("{} {noun} of {models} not {done}: no target is a GPU of theirs", self.images))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::aspect::Epoch;
    use crate::compat::examine::examine_image;

    #[test]
    fn the_models_are_named() {
        let of = |offload_kind, target| Image { offload_kind, target, ..Image::bare(b"x", 0) };
        let all = [of("openmp", "nvptx64"), of("hipv4", "amdgcn"), of("openmp", "amdgcn"), of("sycl", "nvptx64")];
        let mut images: Vec<_> = all.iter().map(|image| examine_image(image, Epoch::From2026)).collect();
        let mut models = OtherModels::new(std::iter::empty());
        models.count(None, &mut images);
        assert_eq!(images.len(), 1);
        let note = models.note("judged").unwrap();
        assert_eq!(note, "3 images of HIP and OpenMP not judged: no target is a GPU of theirs");
        let mut native = vec![examine_image(&all[3], Epoch::From2026)];
        let mut models = OtherModels::new(std::iter::empty());
        models.count(Some(Kind::Native), &mut native);
        assert_eq!(models.note("judged").unwrap(), "1 image of CUDA not judged: no target is a GPU of theirs");
    }
}
