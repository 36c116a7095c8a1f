//! Which images does an image need to be complete?
//!
//! The search is that of the runtime: symbol by symbol, with the imports of the images found, for the same target.

use crate::bundle::image::Image;
use crate::bundle::property::set;
use crate::compat::examine::Examined;
use std::collections::{HashMap, HashSet};

/// Imports and exports of an image.
#[derive(Debug)]
struct Symbols<'p> {
    target: &'p str,
    imports: Vec<&'p str>,
    /// Whether it is a device library for devices with bfloat16 instructions.
    is_native_library: bool,
}

/// Images that export each symbol.
#[derive(Debug, Default)]
pub struct Providers<'p> {
    images: Vec<Symbols<'p>>,
    /// Numbers of images by target and symbol.
    exporters: HashMap<(&'p str, &'p str), Vec<usize>>,
}

/// Images and symbols that an image needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Images, by position among those given, in the order in which they are found.
    pub images: Vec<usize>,
    /// Symbols that no image exports.
    pub missing: Vec<String>,
}

impl<'p> Providers<'p> {
    /// Collects the exports of images from their property sets.
    pub fn from_property_sets(images: &'p [Image<'_>]) -> Providers<'p> {
        let mut providers = Providers::default();
        for image in images {
            providers.add(image, image.exports(), image.imports());
        }
        providers
    }

    /// Collects the exports of images from their property sets, or from the module where there are none.
    pub fn from_images(images: &'p [Examined<'_, '_>]) -> Providers<'p> {
        let mut providers = Providers::default();
        for examined in images {
            let texts = |names: &'p [String]| names.iter().map(String::as_str).collect::<Vec<&'p str>>();
            providers.add(examined.image, texts(&examined.exports), texts(&examined.imports));
        }
        providers
    }

    fn add(&mut self, image: &'p Image<'_>, exports: Vec<&'p str>, imports: Vec<&'p str>) {
        for symbol in exports {
            self.exporters.entry((image.target, symbol)).or_default().push(self.images.len());
        }
        let flavour = image.properties.get(set::DEVICELIB, "bfloat16").and_then(|value| value.number());
        self.images.push(Symbols { target: image.target, imports, is_native_library: flavour == Some(1) });
    }

    /// Returns the needs of one of the images. Of several exporters of a symbol the first is taken; of device libraries
    /// the one that every device can run (`SYCL/devicelib metadata`: `bfloat16` 0).
    pub fn needs(&self, at: usize) -> Needs {
        let mut needs = Needs::default();
        let mut met = HashSet::from([at]);
        let mut queue = vec![at];
        let mut asked = HashSet::new();
        while let Some(at) = queue.pop() {
            let Some(image) = self.images.get(at) else { continue };
            for symbol in &image.imports {
                if !asked.insert(*symbol) {
                    continue;
                }
                let exporters = self.exporters.get(&(image.target, *symbol)).map(Vec::as_slice).unwrap_or_default();
                let native = |at: &usize| self.images.get(*at).is_some_and(|image| image.is_native_library);
                match exporters.iter().copied().min_by_key(native) {
                    Some(chosen) if met.insert(chosen) => {
                        needs.images.push(chosen);
                        queue.push(chosen);
                    }
                    Some(_) => {}
                    None => needs.missing.push((*symbol).to_owned()),
                }
            }
        }
        needs
    }
}
