//! Which functions would the runtime link to a kernel twice?
//!
//! The runtime links all images of a set of virtual functions, and of those that define an imported symbol the first one, each as a
//! whole. Linkers of devices refuse a function that two modules define (seen with the drivers for CPUs and GPUs, and libsycl 2026.2).

use crate::compat::examine::Examined;
use crate::spirv::index::is_helper;
use std::collections::{HashMap, HashSet};

/// The functions that several images define, by the places of these.
#[derive(Debug, Default)]
pub(super) struct Twice<'g> {
    /// One function of each group that the same images define.
    names: Vec<&'g str>,
    /// Groups of functions by the places of images.
    of_image: HashMap<usize, Vec<usize>>,
    /// Numbers of these images, the same for those with the same groups.
    kinds: HashMap<usize, usize>,
}

impl<'g> Twice<'g> {
    /// Looks at the images of a file, which differ in their targets: most functions are in several.
    pub(super) fn read(images: &'g [Examined<'g, 'g>]) -> Twice<'g> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, image) in images.iter().enumerate() {
            let Some(module) = &image.module else { continue };
            let merged: HashSet<&String> = module.merged.iter().collect();
            for symbol in module.exports.iter().filter(|symbol| !merged.contains(symbol) && !is_helper(symbol)) {
                let own = places.entry(symbol).or_default();
                if own.last() != Some(&at) {
                    own.push(at);
                }
            }
        }
        let mut groups: HashMap<Vec<usize>, &str> = HashMap::new();
        for (symbol, places) in places.into_iter().filter(|(_, places)| places.len() > 1) {
            let first = groups.entry(places).or_insert(symbol);
            *first = (*first).min(symbol);
        }
        let mut groups: Vec<(Vec<usize>, &str)> = groups.into_iter().collect();
        groups.sort_unstable();
        let mut of_image: HashMap<usize, Vec<usize>> = HashMap::new();
        for (group, (places, _)) in groups.iter().enumerate() {
            places.iter().for_each(|at| of_image.entry(*at).or_default().push(group));
        }
        let mut numbers: HashMap<&[usize], usize> = HashMap::new();
        let mut number = |groups| {
            let next = numbers.len();
            *numbers.entry(groups).or_insert(next)
        };
        let kinds = of_image.iter().map(|(at, groups)| (*at, number(groups.as_slice()))).collect();
        Twice { names: groups.into_iter().map(|(_, name)| name).collect(), of_image, kinds }
    }

    /// Returns a number of an image that others with the same functions have, too; none where no other image defines its functions.
    pub(super) fn kind(&self, image: usize) -> Option<usize> {
        self.kinds.get(&image).copied()
    }

    /// Returns a function that two of the images define, which are linked to each other.
    pub(super) fn symbol_of(&self, linked: impl Iterator<Item = usize>) -> Option<&'g str> {
        let mut met = HashSet::new();
        let mut groups = linked.filter_map(|at| self.of_image.get(&at)).flatten();
        groups.find(|group| !met.insert(**group)).and_then(|group| self.names.get(*group)).copied()
    }
}
