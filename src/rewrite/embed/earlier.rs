//! Which images did an earlier run add, in terms of the restored file?

use super::Addition;
use crate::bundle::Bundle;
use crate::bundle::format::Format;
use crate::bundle::image::{Image, Origin};
use crate::bundle::property::{Value, key, set};
use crate::rewrite::specialize::RecordedValues;
use std::collections::HashMap;

/// Images of the restored file, by what identifies them in the embedded one.
struct Restored {
    by_payload: HashMap<(usize, u64), usize>,
    by_tables: HashMap<(usize, [u64; 4]), usize>,
}

impl Restored {
    fn new(restored: &Bundle<'_>) -> Restored {
        let mut index = Restored { by_payload: HashMap::new(), by_tables: HashMap::new() };
        for (image, origin) in restored.images.iter().filter_map(|image| Some((image, image.origin?))) {
            index.by_payload.entry((origin.descriptor, origin.payload)).or_insert(image.index);
            index.by_tables.entry((origin.descriptor, origin.tables)).or_insert(image.index);
        }
        index
    }

    /// Returns the original of an image: the one with the same payload in the same list, if there is one.
    fn own(&self, origin: Origin) -> Option<usize> {
        self.by_payload.get(&(origin.descriptor, origin.payload)).copied()
    }

    /// Returns the source of an added image: the one whose tables it shares.
    fn source(&self, origin: Origin) -> Option<usize> {
        self.by_tables.get(&(origin.descriptor, origin.tables)).copied()
    }
}

/// Maps each image of `embedded` (by index) to its index in `restored`, the same file before images were added. An
/// added image maps to the one it was compiled from.
pub fn original_indexes(embedded: &Bundle<'_>, restored: &Bundle<'_>) -> HashMap<usize, usize> {
    let index = Restored::new(restored);
    let mut shared_facts = BySharedFacts::new(restored);
    let mut number =
        |image, origin| index.own(origin).or_else(|| index.source(origin)).or_else(|| shared_facts.source(image));
    embedded.images.iter().filter_map(|image| Some((image.index, number(image, image.origin?)?))).collect()
}

/// Returns the images that are in `embedded` but not in `restored`, as additions to it.
pub fn earlier<'a>(embedded: &'a Bundle<'_>, restored: &Bundle<'_>) -> Vec<Addition<'a>> {
    let index = Restored::new(restored);
    let mut shared_facts = BySharedFacts::new(restored);
    let added = embedded.images.iter().filter_map(|image| Some((image, image.origin?)));
    added
        .filter(|(_, origin)| index.own(*origin).is_none())
        .filter_map(|(image, origin)| {
            let shared = index.source(origin);
            let source = shared.or_else(|| shared_facts.source(image))?;
            let own = shared.is_none();
            let imports = |image: &Image<'_>| !image.properties.set(set::IMPORTED).is_empty();
            let of_source = restored.images.iter().find(|image| image.index == source);
            Some(Addition {
                source,
                target: image.target,
                compile_target: image.compile_target().filter(|_| own),
                constants: if own { RecordedValues::read(&image.properties) } else { RecordedValues::Nothing },
                linked: own && !imports(image) && of_source.is_some_and(imports),
                format: image.declared.number(),
                payload: image.stored,
            })
        })
        .collect()
}

/// Facts that an added image with tables of its own shares with its source: entries, options and property sets.
type SharedFacts<'a> = (&'a [&'a str], &'a str, &'a str, Vec<(&'a str, Vec<(&'a str, &'a Value<'a>)>)>);

/// Finds the sources of added images that have property sets of their own, in the order in which they were added. Such
/// an image agrees with its source in all but the properties that the addition changed. Of several that agree in
/// everything, each has its own source, in order.
struct BySharedFacts<'a> {
    sources: HashMap<SharedFacts<'a>, Vec<usize>>,
    /// Number of images of each kind so far, by device.
    taken: HashMap<(SharedFacts<'a>, &'a str, Option<&'a str>), usize>,
}

impl<'a> BySharedFacts<'a> {
    fn new(restored: &'a Bundle<'_>) -> BySharedFacts<'a> {
        let mut sources: HashMap<SharedFacts<'a>, Vec<usize>> = HashMap::new();
        for image in restored.images.iter().filter(|image| image.origin.is_some()) {
            if image.format() == Format::SpirV {
                sources.entry(shared_facts(image)).or_default().push(image.index);
            }
        }
        BySharedFacts { sources, taken: HashMap::new() }
    }

    fn source(&mut self, image: &'a Image<'_>) -> Option<usize> {
        let shared_facts = shared_facts(image);
        let sources = self.sources.get(&shared_facts)?;
        let taken = self.taken.entry((shared_facts, image.target, image.compile_target())).or_default();
        let source = sources.get(*taken).or(sources.last()).copied();
        *taken = taken.saturating_add(1);
        source
    }
}

fn shared_facts<'a>(image: &'a Image<'_>) -> SharedFacts<'a> {
    let sets = image.properties.sets.iter().filter_map(|known| {
        // Additions replace these sets.
        if known.name == set::SPEC_VALUES || known.name == set::IMPORTED {
            return None;
        }
        let stated = [key::COMPILE_TARGET, key::SPEC_REPLACED];
        let properties = known.properties.iter().filter(|property| !stated.contains(&property.name));
        let properties: Vec<_> = properties.map(|property| (property.name, &property.value)).collect();
        // A set that held only such a property was made for it.
        (!properties.is_empty() || known.properties.is_empty()).then_some((known.name, properties))
    });
    (image.entries.as_slice(), image.compile_options, image.link_options, sets.collect())
}
