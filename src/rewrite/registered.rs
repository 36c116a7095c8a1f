//! How are images removed from an OffloadBinary that code registers?
//!
//! LLVM's own SYCL hands the address and the size of one OffloadBinary to the runtime, both of them in machine code. So what
//! is left is written where it was, as long as it was, with zeros at its end; no other byte of the file changes.

use super::layers::Edited;
use super::pe;
use super::prune::{Structures, verify};
use crate::bundle::Bundle;
use crate::bundle::blob::Reader;
use crate::bundle::image::Image;
use crate::bundle::offload_binary::{self, Entry, Version};
use crate::bytes::{self, Draft};
use crate::container::Place;
use crate::container::{Host, Kind};
use crate::error::{Context as _, Error, ErrorKind, Result};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Whether code of a linked file registers its images as OffloadBinaries.
pub(super) fn is_registered(host: &Host<'_>, bundle: &Bundle<'_>) -> bool {
    host.registers && bundle.descriptors.is_empty() && matches!(host.kind, Kind::Elf | Kind::Pe)
}

/// The error for images that are to be added to such a file.
#[cold]
pub(super) fn takes_none() -> Error {
    let message = "code of this file registers one OffloadBinary, whose size is in the code: no image can be added";
    Error::new(ErrorKind::Usage, message).with_remedy(
        "write the images as an object (`--emit object --registration offload-binary`) and add it to the file's link",
    )
}

/// Removes the images with these indexes.
///
/// # Errors
/// `Input` where an image is in no such OffloadBinary, has one for itself, or is compressed with others.
pub(super) fn remove(host: &Host<'_>, bundle: &Bundle<'_>, drop: &HashSet<usize>) -> Result<Edited> {
    let places: HashMap<(u64, usize), usize> =
        bundle.images.iter().filter(|image| !image.inflated).map(|image| (place_of(image), image.index)).collect();
    let mut out = Draft::copy_of(host.bytes, 0)?;
    let (mut zeroed, mut removed) = (0u64, 0usize);
    let binaries = offload_binary::registered(host);
    let begins: BTreeSet<u64> = binaries.iter().map(|(offset, _)| *offset).collect();
    for &(offset, blob) in &binaries {
        let mut reader = Reader::new(&host.arena, blob.len());
        let entries = offload_binary::parse(&mut reader, blob, Place::file(offset)).into_iter().flatten();
        let is_gone = |entry: &Entry<'_>| {
            let index = places.get(&(entry.place.offset(), entry.image.len()));
            !entry.place.is_inflated() && index.is_some_and(|index| drop.contains(index))
        };
        let (gone, kept): (Vec<_>, Vec<_>) = entries.partition(is_gone);
        if gone.is_empty() {
            continue;
        }
        if kept.is_empty() {
            let message = "an OffloadBinary that code registers would hold nothing: each is registered for itself";
            return Err(Error::input(message).with_remedy("keep one of its images"));
        }
        // Code would look for it where it was.
        let within = offset.saturating_add(1)..offset.saturating_add(blob.len() as u64);
        if begins.range(within).next().is_some() {
            let message = "another OffloadBinary stands within one that an image is to be removed from";
            return Err(Error::at(offset, message));
        }
        let version = if bytes::u32_at(blob, 4) == Some(2) { Version::V2 } else { Version::V3 };
        let mut new = offload_binary::write(version, &kept)?;
        zeroed = zeroed.saturating_add((blob.len() as u64).saturating_sub(new.len() as u64));
        removed = removed.saturating_add(gone.len());
        new.resize(blob.len().max(new.len()))?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        // The size that its header states is the one that the code states.
        if new.len() > blob.len() || !bytes::put_u64(&mut new, 8, blob.len() as u64) || !bytes::put(&mut out, at, &new)
        {
            return Err(Error::at(offset, "the images that stay have no room here"));
        }
    }
    if removed != drop.len() {
        let message = "an image to remove is in no OffloadBinary that code registers, or within another container";
        return Err(Error::input(message).with_remedy("`extract` the others, and link the file anew with them"));
    }
    if host.kind == Kind::Pe {
        pe::update_checksum(&mut out)?;
    }
    verify(&out, bundle, drop, Structures::Go).context(|| "checking the rewritten file".to_owned())?;
    Ok(Edited { bytes: out, zeroed, cut: 0, left: 0, lifted: 0, changed: false })
}

fn place_of(image: &Image<'_>) -> (u64, usize) {
    (image.offset, image.stored.len())
}
