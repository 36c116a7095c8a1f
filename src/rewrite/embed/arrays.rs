//! What do the new lists of images look like?
//!
//! For each descriptor: its image structures as they are, then one structure per added image. An added image has the
//! options, entries and property sets of the image it was compiled from: it points to the same tables.

use super::{Addition, whole};
use crate::bundle::Bundle;
use crate::bundle::descriptor::{Descriptor, ImageLayout, listed_in_tgtimg};
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

/// Descriptor, target, the device that it names beside that, and symbols.
type Role<'a> = (usize, &'a str, Option<&'a str>, &'a [&'a str]);

/// The addresses of the structures of each descriptor that stay: all but those that an addition replaces. These have the
/// addition's target, list the same symbols as its source in the same descriptor, and are not known to be compiled from
/// another image: images that were added share the tables of their source. Damaged structures stay as they are.
pub fn kept(bundle: &Bundle<'_>, additions: &[Addition<'_>]) -> Vec<Vec<u64>> {
    let is_source: HashSet<usize> = additions.iter().map(|addition| addition.source).collect();
    let mut replaced: HashMap<Role<'_>, HashSet<[u64; 4]>> = HashMap::new();
    // Where those with tables of their own go, whatever list their source is in.
    let own = whole::list(bundle).ok();
    for addition in additions {
        if let Some((image, origin)) = source(bundle, addition).and_then(|image| Some((image, image.origin?))) {
            let list = own.filter(|_| addition.has_own_sets()).unwrap_or(origin.descriptor);
            let key = (list, addition.target, addition.compile_target, image.entries.as_slice());
            replaced.entry(key).or_default().insert(origin.tables);
        }
    }
    let mut sharing: HashMap<(usize, [u64; 4]), usize> = HashMap::new();
    for origin in bundle.images.iter().filter_map(|image| image.origin) {
        let count = sharing.entry((origin.descriptor, origin.tables)).or_default();
        *count = count.saturating_add(1);
    }
    let mut gone: HashSet<u64> = HashSet::new();
    for (image, origin) in bundle.images.iter().filter_map(|image| Some((image, image.origin?))) {
        let role = (origin.descriptor, image.target, image.compile_target(), image.entries.as_slice());
        // An image that shares the tables of a source which names a device names that device too.
        let without = (role.0, role.1, None, role.3);
        let Some(sources) = replaced.get(&role).or_else(|| replaced.get(&without)) else { continue };
        let of_another = sharing.get(&(origin.descriptor, origin.tables)).is_some_and(|count| *count > 1);
        if !is_source.contains(&image.index) && (sources.contains(&origin.tables) || !of_another) {
            gone.insert(origin.address);
        }
    }
    bundle
        .descriptors
        .iter()
        .map(|descriptor| {
            (0..u64::from(descriptor.count))
                .map(|nth| descriptor.images.saturating_add(nth.saturating_mul(descriptor.layout.stride())))
                .filter(|address| !gone.contains(address))
                .collect()
        })
        .collect()
}

/// The addresses of the sizes that `.tgtimg` gives of payloads which no kept structure has any more. A size of 0 takes
/// them out of that list too, which readers check for images that are missing.
pub fn unlisted(host: &Host<'_>, bundle: &Bundle<'_>, kept: &[Vec<u64>]) -> Vec<u64> {
    let kept: HashSet<u64> = kept.iter().flatten().copied().collect();
    let origins = || bundle.images.iter().filter_map(|image| image.origin);
    let (stay, go): (Vec<_>, Vec<_>) = origins().partition(|origin| kept.contains(&origin.address));
    let stay: HashSet<u64> = stay.iter().map(|origin| origin.payload).collect();
    let go: HashSet<u64> = go.iter().map(|origin| origin.payload).filter(|payload| !stay.contains(payload)).collect();
    if go.is_empty() {
        return Vec::new();
    }
    let listed = listed_in_tgtimg(host).into_iter().filter(|listed| go.contains(&listed.payload));
    listed.map(|listed| listed.address.saturating_add(8)).collect()
}

/// The structure at an address as it is, relocated.
///
/// # Errors
/// `Input` where it is not in the file.
pub fn existing(host: &Host<'_>, descriptor: &Descriptor, address: u64) -> Result<Structure> {
    let bytes = host.addresses.slice(address, descriptor.layout.stride());
    let bytes = bytes.ok_or_else(|| {
        Error::input(format!("a list of images passes the end of its segment at address {address:#x}"))
            .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded")
    })?;
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
    let address = source.origin.map(|origin| origin.address);
    let address = address.ok_or_else(|| Error::input(format!("image {} is in no list of this file", source.index)))?;
    let mut structure = existing(host, descriptor, address)?;
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
