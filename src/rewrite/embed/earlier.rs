//! Which images did an earlier run add, in terms of the restored file?

use super::Addition;
use crate::bundle::Bundle;
use std::collections::{HashMap, HashSet};

/// For each image of `embedded`, by index, its index in `restored`, the same file before images were added: an image
/// that was there is the one with the same payload in the same list, an added one counts as the image it was compiled
/// from, whose tables it shares.
pub fn numbers(embedded: &Bundle<'_>, restored: &Bundle<'_>) -> HashMap<usize, usize> {
    let mut by_payload: HashMap<(usize, u64), usize> = HashMap::new();
    let mut by_tables: HashMap<(usize, [u64; 4]), usize> = HashMap::new();
    for (image, origin) in restored.images.iter().filter_map(|image| Some((image, image.origin?))) {
        by_payload.entry((origin.descriptor, origin.payload)).or_insert(image.index);
        by_tables.entry((origin.descriptor, origin.tables)).or_insert(image.index);
    }
    let all = embedded.images.iter().filter_map(|image| Some((image, image.origin?)));
    all.filter_map(|(image, origin)| {
        let own = by_payload.get(&(origin.descriptor, origin.payload));
        let source = own.or_else(|| by_tables.get(&(origin.descriptor, origin.tables)));
        source.map(|source| (image.index, *source))
    })
    .collect()
}

/// The images that are in `embedded` but not in `restored`, the same file before they were added, as additions to it.
/// An image's source is the one of the restored file whose tables it shares.
pub fn earlier<'a>(embedded: &'a Bundle<'_>, restored: &Bundle<'_>) -> Vec<Addition<'a>> {
    let payloads: HashSet<u64> =
        restored.images.iter().filter_map(|image| image.origin).map(|origin| origin.payload).collect();
    let mut sources: HashMap<(usize, [u64; 4]), usize> = HashMap::new();
    for image in &restored.images {
        if let Some(origin) = image.origin {
            sources.entry((origin.descriptor, origin.tables)).or_insert(image.index);
        }
    }
    let added = embedded.images.iter().filter_map(|image| Some((image, image.origin?)));
    added
        .filter(|(_, origin)| !payloads.contains(&origin.payload))
        .filter_map(|(image, origin)| {
            let source = *sources.get(&(origin.descriptor, origin.tables))?;
            Some(Addition { source, target: image.target, format: super::FORMAT_NATIVE, payload: image.stored })
        })
        .collect()
}
