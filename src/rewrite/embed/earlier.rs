//! Which images did an earlier run add, in terms of the restored file?

use super::Addition;
use crate::bundle::Bundle;
use std::collections::{HashMap, HashSet};

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
