//! How are images with tables of their own added to a list?
//!
//! They are appended to the first list that the runtime of DPC++ reads, in structures of that list's version.

use super::arrays::Structure;
use super::plan::Payload;
use crate::bundle::Bundle;
use crate::bundle::image::EntryLayout;
use crate::bundle::structure::ImageLayout;
use crate::container::Host;
use crate::error::{Error, Result};
use crate::rewrite::image_data::{Bases, EntryForm, ImageVersion, Loose, OutImage};
use std::collections::HashSet;

/// Images with tables of their own, laid out for a list.
pub(in crate::rewrite) struct StandaloneImages<'p> {
    /// Index of the descriptor.
    pub(crate) descriptor: usize,
    /// Version of the list's first structure.
    version: u16,
    loose: Loose<'p>,
}

/// Returns the descriptor that images are added to: the first that the runtime of DPC++ reads.
///
/// # Errors
/// `Input` where there is none.
pub(in crate::rewrite) fn list(bundle: &Bundle<'_>) -> Result<usize> {
    let readable = |layout| matches!(layout, ImageLayout::WithManifest | ImageLayout::Version3);
    let found = bundle.descriptors.iter().position(|descriptor| readable(descriptor.layout));
    found.ok_or_else(|| {
        Error::input("the file has no list of images of its own that the runtime of DPC++ reads")
            .with_remedy("use --emit shared: a library beside the file that registers the images when loaded")
    })
}

impl<'p> StandaloneImages<'p> {
    /// Lays out images for the list of a file.
    ///
    /// # Errors
    /// `Input` where the file has no list, or an image cannot be written.
    pub(crate) fn new(bundle: &Bundle<'_>, images: &'p [OutImage<'p>]) -> Result<StandaloneImages<'p>> {
        let descriptor = list(bundle)?;
        let layout = bundle.descriptors.get(descriptor).map(|descriptor| descriptor.layout);
        let version = if layout == Some(ImageLayout::WithManifest) { ImageVersion::V2 } else { ImageVersion::V3 };
        let form = bundle.images.iter().find_map(|image| image.origin?.entry_layout);
        let entries = if form == Some(EntryLayout::New) { EntryForm::New } else { EntryForm::Old };
        let first =
            bundle.images.iter().filter_map(|image| image.origin).find(|origin| origin.descriptor == descriptor);
        let number = first.map_or(if version == ImageVersion::V2 { 2 } else { 3 }, |origin| origin.version);
        Ok(StandaloneImages { descriptor, version: number, loose: Loose::new(images, version, entries)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.loose.images.len()
    }

    /// Returns the length of the tables, and of strings and values.
    pub(crate) fn table_sizes(&self) -> (u64, u64) {
        ((self.loose.structures.len() as u64).saturating_mul(8), self.loose.constants.len() as u64)
    }

    pub(crate) fn payload_size(&self) -> u64 {
        self.loose.payload_size()
    }

    /// Returns the structures for the list.
    pub(crate) fn structures(&self, bases: &Bases) -> Vec<Structure> {
        let structure = |words: &Vec<_>| {
            let mut bytes = self.loose.resolve(words, bases).0;
            // Versions 1 and 2 differ only in the number.
            bytes.splice(..2.min(bytes.len()), self.version.to_le_bytes());
            Structure { bytes }
        };
        self.loose.images.iter().map(structure).collect()
    }

    /// Returns tables and constants with their addresses.
    pub(crate) fn tables(&self, bases: &Bases) -> Vec<(u64, Vec<u8>)> {
        let structures = self.loose.resolve(&self.loose.structures, bases).0;
        vec![(bases.structures, structures), (bases.constants, self.loose.constants.clone())]
    }

    /// Returns the addresses of the pointers in the tables, with their values.
    pub(crate) fn places(&self, bases: &Bases) -> Vec<(u64, u64)> {
        let (bytes, pointers) = self.loose.resolve(&self.loose.structures, bases);
        let value = |at: u64| usize::try_from(at).ok().and_then(|at| crate::bytes::u64_at(&bytes, at)).unwrap_or(0);
        pointers.into_iter().map(|at| (bases.structures.saturating_add(at), value(at))).collect()
    }

    /// Returns the payloads with their addresses, in order.
    pub(crate) fn payloads<'w>(&'w self, bases: &Bases) -> Vec<Payload<'p>> {
        let base = bases.payloads;
        let blocks = self.loose.payload_starts();
        let parts = blocks.flat_map(|(start, block)| {
            let part = move |(at, bytes): &(u64, &'p [u8])| Payload {
                address: base.saturating_add(start).saturating_add(*at),
                target: block.target,
                bytes,
            };
            block.parts.iter().map(part).collect::<Vec<_>>()
        });
        parts.collect()
    }
}

/// Reads the result back and checks that it has as many images as expected, every new one, and no new damage.
pub(in crate::rewrite) fn verify(
    out: &[u8],
    before: &Bundle<'_>,
    expected: usize,
    images: &[OutImage<'_>],
) -> Result<()> {
    let host = Host::read(out)?;
    let after = Bundle::read(&host)?;
    let found = after.images.len();
    if found != expected {
        return Err(Error::input(format!("expected {expected} images, found {found}; nothing was written")));
    }
    if after.problems.len() > before.problems.len() {
        let known: HashSet<String> = before.problems.iter().map(|problem| problem.error.to_string()).collect();
        let new = after.problems.iter().map(|problem| problem.error.to_string()).find(|error| !known.contains(error));
        let new = new.unwrap_or_default();
        return Err(Error::input(format!("the result would be damaged: {new}; nothing was written")));
    }
    // The list has them in their order.
    let mut left = after.images.iter();
    for (index, image) in images.iter().enumerate() {
        let same = |found: &crate::bundle::image::Image<'_>| {
            found.target == image.target
                && found.stored == &*image.payload
                && found.entries == image.entries
                && found.compile_options == image.compile_options
                && found.properties.sets.len() == image.property_sets.len()
        };
        if !left.any(same) {
            return Err(Error::input(format!("image {index} of those to add is not in it; nothing was written")));
        }
    }
    Ok(())
}
