//! What do the new lists of images look like?
//!
//! For each descriptor: its image structures as they are, then one structure per added image. An added image has the
//! options, entries and property sets of the image it was compiled from: it points to the same tables.

use super::Addition;
use crate::bundle::Bundle;
use crate::bundle::descriptor::{Descriptor, ImageLayout};
use crate::bundle::image::Image;
use crate::bytes;
use crate::container::Host;
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

/// A structure of the new list.
#[derive(Debug, Clone)]
pub struct Structure {
    /// The bytes, with final addresses.
    pub bytes: Vec<u8>,
}

impl Structure {
    /// Offsets of the pointers in the structure that are not null: the places to relocate.
    pub fn pointers(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.bytes.as_chunks::<8>().0.iter().enumerate().skip(1);
        words.filter(|(_, word)| **word != [0; 8]).map(|(index, _)| (index as u64).wrapping_mul(8))
    }
}

/// The images of each descriptor that stay: all but those that an addition replaces, which have the addition's target
/// and list the same symbols as its source.
pub fn kept<'b, 'a>(bundle: &'b Bundle<'a>, additions: &[Addition<'_>]) -> Vec<Vec<&'b Image<'a>>> {
    let sources: HashMap<usize, &Image<'_>> = bundle.images.iter().map(|image| (image.index, image)).collect();
    let replaced: HashSet<(&str, &[&str])> = additions
        .iter()
        .filter_map(|addition| Some((addition.target, sources.get(&addition.source)?.entries.as_slice())))
        .collect();
    let is_source: HashSet<usize> = additions.iter().map(|addition| addition.source).collect();
    let mut kept = vec![Vec::new(); bundle.descriptors.len()];
    for image in &bundle.images {
        let goes = replaced.contains(&(image.target, image.entries.as_slice())) && !is_source.contains(&image.index);
        if let Some(list) = image.origin.and_then(|origin| kept.get_mut(origin.descriptor))
            && !goes
        {
            list.push(image);
        }
    }
    kept
}

/// The structure of an image as it is, relocated.
///
/// # Errors
/// `Input` where the image is not of this host.
pub fn existing(host: &Host<'_>, descriptor: &Descriptor, image: &Image<'_>) -> Result<Structure> {
    let address = image.origin.map(|origin| origin.address);
    let bytes = address.and_then(|address| host.addresses.slice(address, descriptor.layout.stride()));
    let bytes = bytes.ok_or_else(|| Error::input(format!("image {} has no structure in this file", image.index)))?;
    Ok(Structure { bytes: bytes.to_vec() })
}

/// The structure of an added image, made from its source's.
///
/// # Errors
/// `Input` where the source's structure is not of this host.
pub fn added(
    host: &Host<'_>,
    descriptor: &Descriptor,
    source: &Image<'_>,
    format: u8,
    target: u64,
    payload: std::ops::Range<u64>,
) -> Result<Structure> {
    let mut structure = existing(host, descriptor, source)?;
    let at = usize::try_from(descriptor.layout.payload()).unwrap_or(usize::MAX);
    let mut done = bytes::put(&mut structure.bytes, 3, &[format]);
    done &= bytes::put_u64(&mut structure.bytes, 8, target);
    done &= bytes::put_u64(&mut structure.bytes, at, payload.start);
    done &= bytes::put_u64(&mut structure.bytes, at.saturating_add(8), payload.end);
    if descriptor.layout == ImageLayout::WithManifest {
        // The manifest belongs to the source's payload; no compiler has written one for years.
        done &= bytes::put(&mut structure.bytes, 32, &[0; 16]);
    }
    if done { Ok(structure) } else { Err(Error::input(format!("image {} has a short structure", source.index))) }
}

/// The image that an addition was compiled from.
pub fn source<'b, 'a>(bundle: &'b Bundle<'a>, addition: &Addition<'_>) -> Option<&'b Image<'a>> {
    // Damaged images leave gaps in the numbering, so the position is a hint only.
    match bundle.images.get(addition.source) {
        Some(image) if image.index == addition.source => Some(image),
        _ => bundle.images.iter().find(|image| image.index == addition.source),
    }
}

/// The descriptor that lists the image an addition was compiled from.
pub fn source_place(bundle: &Bundle<'_>, addition: &Addition<'_>) -> Option<usize> {
    source(bundle, addition)?.origin.map(|origin| origin.descriptor)
}
