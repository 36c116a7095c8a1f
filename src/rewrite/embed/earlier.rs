//! Which images did an earlier run add, in terms of the restored file?

use super::Addition;
use crate::bundle::Bundle;
use crate::bundle::image::Origin;
use std::collections::HashMap;

/// The images of the restored file, by what tells them apart in the embedded one.
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

    /// The image itself, where it was there: the one with the same payload in the same list.
    fn own(&self, origin: Origin) -> Option<usize> {
        self.by_payload.get(&(origin.descriptor, origin.payload)).copied()
    }

    /// The image that an added one was compiled from: the one whose tables it shares.
    fn source(&self, origin: Origin) -> Option<usize> {
        self.by_tables.get(&(origin.descriptor, origin.tables)).copied()
    }
}

/// For each image of `embedded`, by index, its index in `restored`, the same file before images were added; an added
/// image counts as the one it was compiled from.
pub fn numbers(embedded: &Bundle<'_>, restored: &Bundle<'_>) -> HashMap<usize, usize> {
    let restored = Restored::new(restored);
    let number = |origin| restored.own(origin).or_else(|| restored.source(origin));
    embedded.images.iter().filter_map(|image| Some((image.index, number(image.origin?)?))).collect()
}

/// The images that are in `embedded` but not in `restored`, as additions to it.
pub fn earlier<'a>(embedded: &'a Bundle<'_>, restored: &Bundle<'_>) -> Vec<Addition<'a>> {
    let restored = Restored::new(restored);
    let added = embedded.images.iter().filter_map(|image| Some((image, image.origin?)));
    added
        .filter(|(_, origin)| restored.own(*origin).is_none())
        .filter_map(|(image, origin)| {
            let source = restored.source(origin)?;
            Some(Addition { source, target: image.target, format: super::FORMAT_NATIVE, payload: image.stored })
        })
        .collect()
}
