//! Which kernels of a file are judged, and which images have each?

use crate::compat::examine::Examined;
use crate::compat::offers::Provider;
use std::collections::HashMap;
use std::sync::Arc;

/// A kernel.
#[derive(Debug)]
struct Kernel {
    /// Mangled name.
    name: Arc<str>,
    /// The places of its images.
    images: Vec<usize>,
}

/// The kernels of a file that are judged, in the order of images; they outlive the file.
#[derive(Debug, Default)]
pub struct Kernels {
    kernels: Vec<Kernel>,
    /// The number of each image in its file.
    numbers: Vec<usize>,
    /// The files of images that are lent by others, with their numbers there, by place.
    lent: HashMap<usize, (Arc<str>, usize)>,
}

impl Kernels {
    /// Lists the kernels of some images whose mangled names are `wanted`.
    pub fn of(images: &[Examined<'_, '_>], wanted: impl Fn(&str) -> bool) -> Kernels {
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(images.len());
        let mut kernels: Vec<Kernel> = Vec::with_capacity(images.len());
        for (at, image) in images.iter().enumerate() {
            for name in &image.kernels {
                match places.get(name.as_str()).and_then(|place| kernels.get_mut(*place)) {
                    Some(known) if known.images.last() == Some(&at) => {}
                    Some(known) => known.images.push(at),
                    None if wanted(name) => {
                        places.insert(name, kernels.len());
                        kernels.push(Kernel { name: name.as_str().into(), images: vec![at] });
                    }
                    None => {}
                }
            }
        }
        Kernels { kernels, numbers: images.iter().map(|image| image.image.index).collect(), lent: HashMap::new() }
    }

    /// Kernels by their mangled names, each with the places of its images; and the number of each image in its file.
    pub fn new(kernels: Vec<(Arc<str>, Vec<usize>)>, numbers: Vec<usize>) -> Kernels {
        let kernels = kernels.into_iter().map(|(name, images)| Kernel { name, images }).collect();
        Kernels { kernels, numbers, lent: HashMap::new() }
    }

    /// Number of kernels.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// A kernel's mangled name.
    pub fn name(&self, kernel: usize) -> Option<&Arc<str>> {
        self.kernels.get(kernel).map(|kernel| &kernel.name)
    }

    /// The mangled names.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.kernels.iter().map(|kernel| &kernel.name)
    }

    /// The places of a kernel's images among those that were given.
    pub fn images(&self, kernel: usize) -> &[usize] {
        self.kernels.get(kernel).map(|kernel| kernel.images.as_slice()).unwrap_or_default()
    }

    /// The number that an image has in its file, by its place.
    pub fn number(&self, image: usize) -> Option<usize> {
        self.numbers.get(image).copied()
    }

    /// Notes that the images from a place on are those of other files.
    pub fn lend(&mut self, first: usize, providers: &[Provider]) {
        let homes = providers.iter().map(|one| (one.provided_by.clone(), one.its_image));
        self.lent = (first..).zip(homes).collect();
    }

    /// The file that an image is of and its number there, where it is lent.
    pub fn home(&self, image: usize) -> Option<(&Arc<str>, usize)> {
        self.lent.get(&image).map(|(file, number)| (file, *number))
    }
}
