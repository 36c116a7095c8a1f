//! Which images are of other programming models than SYCL?
//!
//! Many packages have them beside SYCL's: code that CUDA and HIP put into programs, and code for GPUs of NVIDIA and AMD in
//! files of its own. No SYCL runtime looks for kernels there, so they are judged where a target is a GPU of their maker, or
//! where there is nothing else: then the user means them.

use super::examine::Examined;
use crate::bundle::image::Image;
use crate::container::Kind;
use crate::device::target::{Backend, Target};

/// Images of other programming models that are left out.
#[derive(Debug, Default)]
pub(crate) struct OtherModels {
    /// Targets by which images are left out: those of makers for whose devices none of the targets is.
    left_out: Vec<&'static str>,
    /// Number of images that were left out.
    images: usize,
}

impl OtherModels {
    /// Leaves out what is for none of the targets.
    pub(crate) fn new<'t>(targets: impl Iterator<Item = &'t Target> + Clone) -> OtherModels {
        let asked = |backend| targets.clone().any(|target| target.backends.contains(&backend));
        let makers = [(Backend::Cuda, "nvptx64"), (Backend::Hip, "amdgcn")];
        let left_out = makers.into_iter().filter(|(backend, _)| !asked(*backend)).map(|(_, target)| target).collect();
        OtherModels { left_out, images: 0 }
    }

    /// Whether an image in a container of a kind is of another model.
    pub(crate) fn has(kind: Option<Kind>, image: &Image<'_>) -> bool {
        let of_another = kind == Some(Kind::Native) || !matches!(image.offload_kind, "" | "sycl");
        image.origin.is_none() && of_another && ["nvptx64", "amdgcn"].contains(&image.target)
    }

    /// Takes them out of the images of a file, and returns their number.
    pub(crate) fn leave_out(&self, kind: Option<Kind>, images: &mut Vec<Examined<'_, '_>>) -> usize {
        let all = images.len();
        images.retain(|one| !Self::has(kind, one.image) || !self.left_out.contains(&one.image.target));
        all.saturating_sub(images.len())
    }

    /// Takes them out, and counts them.
    pub(crate) fn count(&mut self, kind: Option<Kind>, images: &mut Vec<Examined<'_, '_>>) {
        self.images = self.images.saturating_add(self.leave_out(kind, images));
    }

    /// Whether any was left out.
    pub(crate) fn any(&self) -> bool {
        self.images > 0
    }

    /// Says how many were left out, if any; `done` is what was not done with them.
    pub(crate) fn note(&self, done: &str) -> Option<String> {
        let noun = if self.images == 1 { "image" } else { "images" };
        self.any().then(|| format!("{} {noun} of CUDA or HIP not {done}: no target is a GPU of theirs", self.images))
    }
}
