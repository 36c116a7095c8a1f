//! Which images of other files does one need?
//!
//! The runtime links images across all libraries that are loaded: what one imports, any other may define, of the same
//! format; and images that share a set of virtual functions are linked together.
//!
//! Each of thousands of files may need the images of all others, which are examined for each of them: what all are lent together
//! is bounded by the size of the files. A file that needs more than is left is lent nothing, and its kernels stay unknown.

use super::aspects::Sets;
use super::built_in::of_the_device;
use super::examine::{Examined, examine_image};
use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::limits;
use crate::native::bitcode;
use std::collections::{BTreeMap, HashMap, HashSet};
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
    /// The numbers of the symbols that it imports.
    imports: Box<[usize]>,
    /// Bytes that it counts each time that it is lent.
    cost: usize,
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
    /// The number of each symbol that these import or export, by the format of the images.
    numbers: HashMap<Format, HashMap<Arc<str>, usize>>,
    /// The symbols by their numbers.
    symbols: Vec<Symbol>,
    /// The places of the images that define functions of each set of virtual functions.
    definers: HashMap<String, Vec<usize>>,
    /// Bytes of all files.
    bytes: usize,
    /// Bytes of all that was lent, or was looked at for that.
    spent: usize,
}

/// A symbol of images of one format.
#[derive(Debug)]
struct Symbol {
    /// Mangled name.
    name: Arc<str>,
    /// The places of the images that export it.
    exporters: Vec<usize>,
}

/// Images of others that those of a file need.
#[derive(Debug, Default)]
struct Needed {
    /// The images, each with the numbers of the symbols that are taken from it.
    offers: BTreeMap<usize, Vec<usize>>,
    /// Bytes of these, and of what was looked at.
    spent: usize,
    /// Whether there are more.
    is_cut: bool,
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
        let at = self.all.len();
        let imports = examined.imports.iter().map(|symbol| self.number(symbol, examined.format)).collect();
        for symbol in &examined.exports {
            let number = self.number(symbol, examined.format);
            self.symbols.get_mut(number).into_iter().for_each(|symbol| symbol.exporters.push(at));
        }
        for set in Sets::read(&image).defined {
            self.definers.entry(set).or_default().push(at);
        }
        let symbols = examined.exports.iter().chain(&examined.imports).map(|symbol| cost_of(symbol));
        let size = usize::try_from(examined.size).unwrap_or(usize::MAX);
        let cost = symbols.fold(size.saturating_add(limits::LENT_COST), usize::saturating_add);
        self.all.push(Offer { file, image, epoch, imports, cost });
    }

    /// Counts the bytes of a file.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Returns the number of a symbol, which gets one where it has none.
    fn number(&mut self, symbol: &str, format: Format) -> usize {
        let numbers = self.numbers.entry(format).or_default();
        if let Some(number) = numbers.get(symbol) {
            return *number;
        }
        let (number, name) = (self.symbols.len(), Arc::<str>::from(symbol));
        numbers.insert(name.clone(), number);
        self.symbols.push(Symbol { name, exporters: Vec::new() });
        number
    }

    /// Returns the numbers of symbols of images of a format, where these have one.
    fn known<'s>(&'s self, symbols: &'s [String], format: Format) -> impl Iterator<Item = usize> + 's {
        let numbers = self.numbers.get(&format);
        symbols.iter().filter_map(move |symbol| numbers?.get(symbol.as_str()).copied())
    }

    /// The images that those of a file need, and those that these need, with the symbols that are taken from each; as many
    /// as come to `most` bytes. What the file's images define themselves is not looked for.
    fn needed(&self, file: &str, images: &[Examined<'_, '_>], most: usize) -> Needed {
        let own: HashSet<usize> = images.iter().map(|image| image.image.index).collect();
        let sets: Vec<Sets> = images.iter().map(|image| Sets::read(image.image)).collect();
        let own_sets: HashSet<&String> = sets.iter().flat_map(|sets| &sets.defined).collect();
        let mut done: HashSet<usize> =
            images.iter().flat_map(|image| self.known(&image.exports, image.format)).collect();
        let mut wanted: Vec<usize> = images.iter().flat_map(|image| self.known(&image.imports, image.format)).collect();
        let used: HashSet<&String> = sets.iter().flat_map(|sets| &sets.used).collect();
        let mut needed = Needed::default();
        let is_other = |offer: &&Offer<'_>| &*offer.file != file || !own.contains(&offer.image.index);
        let other = |at: usize| self.all.get(at).filter(is_other);
        let open = used.difference(&own_sets).filter_map(|set| self.definers.get(*set));
        for at in open.flatten() {
            wanted.extend(other(*at).into_iter().flat_map(|offer| needed.take((*at, offer), None, most)));
            if needed.is_cut {
                return needed;
            }
        }
        while let Some(number) = wanted.pop() {
            let Some(symbol) = self.symbols.get(number).filter(|_| done.insert(number)) else { continue };
            for at in &symbol.exporters {
                let offer = other(*at).into_iter();
                wanted.extend(offer.flat_map(|offer| needed.take((*at, offer), Some((number, symbol)), most)));
                if needed.is_cut {
                    return needed;
                }
            }
        }
        needed
    }

    /// Copies of the images that those of a file need, with numbers that go on from `next`, and what they stand for. Where
    /// they are too many there are none, and the images of the file are marked.
    pub(crate) fn lend(&mut self, file: &Arc<str>, images: &mut [Examined<'_, '_>], next: usize) -> Lent<'k> {
        let most = limits::lent_of(self.bytes).saturating_sub(self.spent);
        let needed = self.needed(file, images, most);
        self.spent = self.spent.saturating_add(needed.spent);
        let mut lent = Lent::default();
        if needed.is_cut {
            images.iter_mut().for_each(|image| image.needs_too_many = true);
            return lent;
        }
        for (number, (at, symbols)) in (next..).zip(needed.offers) {
            let Some(offer) = self.all.get(at) else { continue };
            lent.images.push((Image { index: number, ..offer.image.clone() }, offer.epoch));
            let name = |symbol: usize| Some(self.symbols.get(symbol)?.name.to_string());
            let mut symbols: Vec<String> = symbols.into_iter().filter_map(name).collect();
            symbols.sort_unstable();
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

impl Needed {
    /// Takes an image, by its place, for a symbol or a set. Returns the symbols that it imports where it is a new one.
    fn take<'o>(
        &mut self,
        (at, offer): (usize, &'o Offer<'_>),
        symbol: Option<(usize, &Symbol)>,
        most: usize,
    ) -> &'o [usize] {
        let before = self.offers.len();
        self.offers.entry(at).or_default().extend(symbol.map(|(number, _)| number));
        let is_new = self.offers.len() > before;
        let of_symbol = symbol.map_or(0, |(_, symbol)| cost_of(&symbol.name));
        let of_image = if is_new { offer.cost } else { 0 };
        self.spent = self.spent.saturating_add(of_symbol).saturating_add(of_image);
        self.is_cut = self.spent > most;
        if is_new { &offer.imports } else { &[] }
    }
}

/// Bytes that a symbol counts for each image that it is taken from.
fn cost_of(symbol: &str) -> usize {
    symbol.len().saturating_add(size_of::<String>())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::property::{Property, PropertySet, Value};
    use crate::bundle::property_sets::{key, set};
    use crate::compat::fit::tests::{array, image, module};

    /// An image of a file, with symbols or sets of virtual functions in property sets.
    fn having(properties: &[(&'static str, &'static str, Value<'static>)]) -> Image<'static> {
        let mut image = image(&module(0x0001_0400, &[]), "spir64", &[]);
        for (name, property, value) in properties {
            let properties = vec![Property { name: property, value: *value }];
            image.properties.sets.push(PropertySet { name, properties });
        }
        image
    }

    fn text(text: &str) -> Value<'static> {
        array(text.as_bytes())
    }

    #[test]
    fn a_file_that_needs_too_much_is_lent_nothing_and_says_so() {
        let flag = || Value::U32(1);
        let (sets, defined, used) = (set::VIRTUAL_FUNCTIONS, key::DEFINED_FUNCTIONS, key::CALLED_FUNCTIONS);
        let others = [
            having(&[(set::EXPORTED, "a", flag()), (set::IMPORTED, "b", flag())]),
            having(&[(set::EXPORTED, "b", flag())]),
            having(&[(set::EXPORTED, "c", flag())]),
            having(&[(sets, defined, text("s"))]),
        ];
        let mut offers = Offers::default();
        for (index, image) in others.into_iter().enumerate() {
            let image = Image { index, ..image };
            offers.add("others".into(), image.clone(), &examine_image(&image, Epoch::From2026), Epoch::From2026);
        }
        let own = [having(&[]), having(&[(set::IMPORTED, "a", flag())]), having(&[(sets, used, text("s"))])];
        let own: Vec<_> = own.into_iter().enumerate().map(|(index, image)| Image { index, ..image }).collect();
        let mut images: Vec<_> = own.iter().map(|image| examine_image(image, Epoch::From2026)).collect();
        let file: Arc<str> = "own".into();
        let lent = offers.lend(&file, &mut images, 3);
        let taken = |one: &Provider| (one.image, one.its_image, one.symbols.join(" "));
        assert_eq!(
            lent.providers.iter().map(taken).collect::<Vec<_>>(),
            [(3, 0, "a".to_owned()), (4, 1, "b".to_owned()), (5, 3, String::new())]
        );
        assert!(images.iter().all(|image| !image.needs_too_many));
        offers.spent = limits::lent_of(0);
        assert!(offers.lend(&file, &mut images, 3).providers.is_empty());
        assert!(images.iter().all(|image| image.needs_too_many));
        // One that needs nothing goes without.
        let mut alone = vec![examine_image(&own[0], Epoch::From2026)];
        assert!(offers.lend(&file, &mut alone, 3).providers.is_empty() && !alone[0].needs_too_many);
    }
}
