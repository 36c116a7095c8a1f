//! Which images does an image need to be complete?
//!
//! As the runtime looks for them: symbol by symbol, with what the found images import in turn, of the same target.

use crate::bundle::image::Image;
use crate::bundle::property::set;
use std::collections::{HashMap, HashSet};

/// The images that export each symbol.
#[derive(Debug)]
pub struct Providers<'p, 'k> {
    images: &'p [Image<'k>],
    /// By target and symbol.
    exporters: HashMap<(&'p str, &'p str), Vec<usize>>,
}

/// What an image needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Images, by their place among those that were given, in the order in which they are met.
    pub images: Vec<usize>,
    /// Symbols that no image exports.
    pub missing: Vec<String>,
}

impl<'p, 'k> Providers<'p, 'k> {
    /// Over some images.
    pub fn of(images: &'p [Image<'k>]) -> Providers<'p, 'k> {
        let mut exporters: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (at, image) in images.iter().enumerate() {
            for symbol in image.exports() {
                exporters.entry((image.target, symbol)).or_default().push(at);
            }
        }
        Providers { images, exporters }
    }

    /// What one of the images needs. Of several images that export a symbol the first is taken, of device libraries the
    /// one that asks nothing of a device (`SYCL/devicelib metadata`: `bfloat16` 0, which every device can run).
    pub fn needs(&self, at: usize) -> Needs {
        let mut needs = Needs::default();
        let mut met = HashSet::from([at]);
        let mut queue = vec![at];
        let mut asked = HashSet::new();
        while let Some(at) = queue.pop() {
            let Some(image) = self.images.get(at) else { continue };
            for symbol in image.imports() {
                if !asked.insert(symbol) {
                    continue;
                }
                let exporters = self.exporters.get(&(image.target, symbol)).map(Vec::as_slice).unwrap_or_default();
                let chosen = exporters.iter().min_by_key(|exporter| self.is_native_library(**exporter)).copied();
                match chosen {
                    Some(chosen) if met.insert(chosen) => {
                        needs.images.push(chosen);
                        queue.push(chosen);
                    }
                    Some(_) => {}
                    None => needs.missing.push(symbol.to_owned()),
                }
            }
        }
        needs
    }

    fn is_native_library(&self, at: usize) -> bool {
        let image = self.images.get(at);
        let flavour = image.and_then(|image| image.properties.get(set::DEVICELIB, "bfloat16"));
        flavour.and_then(|value| value.number()) == Some(1)
    }
}
