//! Which images of other files does one need?
//!
//! The runtime links images across all libraries that are loaded: what one imports, any other may define, of the same
//! format; and images that share a set of virtual functions are linked together.

use super::aspects::Sets;
use super::built_in::of_the_device;
use super::examine::{Examined, examine_image};
use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::native::bitcode;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An image that others may be linked to.
#[derive(Debug)]
pub(crate) struct Offer<'k> {
    /// The file, as the user gave it.
    pub(crate) file: Arc<str>,
    /// The image; its number is that in the file.
    pub(crate) image: Image<'k>,
    /// Numbering of its aspects.
    pub(crate) epoch: Epoch,
    format: Format,
    exports: Vec<String>,
    imports: Vec<String>,
    sets: Sets,
}

/// An image of a file that stands for one of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The file that imports.
    pub(crate) file: Arc<str>,
    /// The number that the image is called by among those of that file.
    pub(crate) image: usize,
    /// The file that defines.
    pub(crate) provided_by: Arc<str>,
    /// The image's number there.
    pub(crate) its_image: usize,
    /// Mangled names of the symbols that are taken from it, in order.
    pub(crate) symbols: Vec<String>,
}

/// The images of a set of files that others may be linked to.
#[derive(Debug, Default)]
pub(crate) struct Offers<'k> {
    all: Vec<Offer<'k>>,
}

/// Whether some images import what none of them defines, or use a set of virtual functions that none of them does.
pub(crate) fn are_open(images: &[Examined<'_, '_>]) -> bool {
    let exports: HashSet<(&str, Format)> =
        images.iter().flat_map(|image| image.exports.iter().map(|symbol| (symbol.as_str(), image.format))).collect();
    let imports = |image: &Examined<'_, '_>| {
        image.imports.iter().any(|symbol| !exports.contains(&(symbol.as_str(), image.format)) && !of_the_device(symbol))
    };
    if images.iter().any(imports) {
        return true;
    }
    let sets: Vec<Sets> = images.iter().map(|image| Sets::read(image.image)).collect();
    let defined: HashSet<&str> = sets.iter().flat_map(|sets| &sets.defined).map(String::as_str).collect();
    sets.iter().flat_map(|sets| &sets.used).any(|set| !defined.contains(set.as_str()))
}

impl<'k> Offers<'k> {
    /// Whether an image offers anything.
    pub(crate) fn wants(examined: &Examined<'_, '_>) -> bool {
        // AdaptiveCpp links its images among themselves, and no runtime links code of a host.
        !examined.image.is_of_adaptivecpp()
            && examined.bitcode.as_ref().is_none_or(bitcode::Module::is_for_devices)
            && (!examined.exports.is_empty() || !Sets::read(examined.image).defined.is_empty())
    }

    /// Adds an image that has been copied, as it was examined.
    pub(crate) fn add(&mut self, file: Arc<str>, image: Image<'k>, examined: &Examined<'_, '_>, epoch: Epoch) {
        self.all.push(Offer {
            file,
            sets: Sets::read(&image),
            image,
            epoch,
            format: examined.format,
            exports: examined.exports.clone(),
            imports: examined.imports.clone(),
        });
    }

    /// The images that those of a file need, and those that these need, with the symbols that are taken from each. What
    /// the file's images define themselves is not looked for.
    fn needed(&self, file: &str, images: &[Examined<'_, '_>]) -> Vec<(&Offer<'k>, Vec<String>)> {
        let own: HashSet<usize> = images.iter().map(|image| image.image.index).collect();
        let mut exporters: HashMap<(&str, Format), Vec<usize>> = HashMap::new();
        for (at, offer) in self.all.iter().enumerate() {
            if &*offer.file == file && own.contains(&offer.image.index) {
                continue;
            }
            for symbol in &offer.exports {
                exporters.entry((symbol, offer.format)).or_default().push(at);
            }
        }
        let mut defined: HashSet<(&str, Format)> = HashSet::new();
        let mut wanted: Vec<(&str, Format)> = Vec::new();
        let mut used: Vec<Sets> = Vec::new();
        for image in images {
            defined.extend(image.exports.iter().map(|symbol| (symbol.as_str(), image.format)));
            wanted.extend(image.imports.iter().map(|symbol| (symbol.as_str(), image.format)));
            used.push(Sets::read(image.image));
        }
        let own_sets: HashSet<String> = used.iter().flat_map(|sets| sets.defined.clone()).collect();
        let mut needed: Vec<(usize, Vec<String>)> = Vec::new();
        let mut take = |at: usize, symbol: Option<&str>| -> bool {
            let known = needed.iter().position(|(place, _)| *place == at);
            match known.and_then(|known| needed.get_mut(known)) {
                Some((_, symbols)) => symbols.extend(symbol.map(str::to_owned)),
                None => needed.push((at, symbol.map(str::to_owned).into_iter().collect())),
            }
            known.is_none()
        };
        let sets: HashSet<&str> = used.iter().flat_map(|sets| &sets.used).map(String::as_str).collect();
        for (at, offer) in self.all.iter().enumerate() {
            let shares = |set: &String| sets.contains(set.as_str()) && !own_sets.contains(set);
            if (&*offer.file != file || !own.contains(&offer.image.index))
                && offer.sets.defined.iter().any(shares)
                && take(at, None)
            {
                wanted.extend(offer.imports.iter().map(|symbol| (symbol.as_str(), offer.format)));
            }
        }
        while let Some(symbol) = wanted.pop() {
            if !defined.insert(symbol) {
                continue;
            }
            for at in exporters.get(&symbol).into_iter().flatten() {
                if let Some(offer) = self.all.get(*at).filter(|_| take(*at, Some(symbol.0))) {
                    wanted.extend(offer.imports.iter().map(|symbol| (symbol.as_str(), offer.format)));
                }
            }
        }
        needed.sort_by_key(|(at, _)| *at);
        let found = needed.into_iter().filter_map(|(at, mut symbols)| {
            symbols.sort_unstable();
            Some((self.all.get(at)?, symbols))
        });
        found.collect()
    }

    /// Copies of the images that those of a file need, with numbers that go on from `next`, and what they stand for.
    pub(crate) fn lend(&self, file: &Arc<str>, images: &[Examined<'_, '_>], next: usize) -> Lent<'k> {
        let mut lent = Lent::default();
        for (number, (offer, symbols)) in (next..).zip(self.needed(file, images)) {
            lent.images.push((Image { index: number, ..offer.image.clone() }, offer.epoch));
            lent.providers.push(Provider {
                file: file.clone(),
                image: number,
                provided_by: offer.file.clone(),
                its_image: offer.image.index,
                symbols,
            });
        }
        lent
    }
}

/// Images of other files, as if they were of this one.
#[derive(Debug, Default)]
pub(crate) struct Lent<'k> {
    images: Vec<(Image<'k>, Epoch)>,
    /// The image that each stands for.
    pub(crate) providers: Vec<Provider>,
}

impl<'k> Lent<'k> {
    /// The images.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image<'k>> {
        self.images.iter().map(|(image, _)| image)
    }

    /// The images, examined. Their kernels are their own file's, and not asked about here.
    pub(crate) fn examined(&self) -> impl Iterator<Item = Examined<'_, 'k>> {
        self.images.iter().map(|(image, epoch)| Examined { kernels: Vec::new(), ..examine_image(image, *epoch) })
    }
}
