//! How do images leave a linked file?
//!
//! In place: the structures that stay move together in their array, the descriptor counts fewer, `.tgtimg` forgets the
//! payloads, and these become zeros unless an image that stays has them too. Relocations follow the structures they
//! belong to. Nothing else changes, least of all code, and no byte changes its place; the result is read back and
//! compared before anybody gets it.

mod elf;
mod payloads;
mod pe;
mod slots;

use super::embed::arrays;
use super::pe::headers as pe_headers;
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bytes;
use crate::container::{Host, Kind};
use crate::error::{Context, Error, Result};
use slots::Moves;
use std::collections::HashSet;

/// A file that lost images.
#[derive(Debug)]
pub struct Pruned {
    /// The file, as long as before.
    pub bytes: Vec<u8>,
    /// Bytes of payloads that are zeros now.
    pub zeroed: u64,
    /// Bytes of payloads that stay: another image shares them, or they stand among code.
    pub left: u64,
}

/// Takes the images of these indexes out of the lists of a linked ELF or PE file. A list may end up with no images;
/// the runtime of DPC++ takes that.
///
/// # Errors
/// `Input` where an image is in no list, or the file's relocations cannot follow.
pub fn prune(host: &Host<'_>, bundle: &Bundle<'_>, drop: &HashSet<usize>) -> Result<Pruned> {
    let gone: HashSet<u64> = bundle
        .images
        .iter()
        .filter(|image| drop.contains(&image.index))
        .map(|image| image.origin.map(|origin| origin.address).ok_or_else(|| no_list(image.index)))
        .collect::<Result<_>>()?;
    let kept: Vec<Vec<u64>> = bundle
        .descriptors
        .iter()
        .map(|descriptor| {
            let at = |nth: u64| descriptor.images.saturating_add(nth.saturating_mul(descriptor.layout.stride()));
            (0..u64::from(descriptor.count)).map(at).filter(|address| !gone.contains(address)).collect()
        })
        .collect();
    let mut out = host.bytes.to_vec();
    match (&host.elf, host.kind) {
        (Some(file), _) => {
            let relocations = elf::Relocations::of(host, file)?;
            let moves = Moves::new(host, bundle, &kept, &|place| relocations.covers(place))?;
            moves.write(host, &mut out)?;
            relocations.follow(&moves, host, file, &mut out)?;
        }
        (None, Kind::Pe) => {
            let relocations = pe::Relocations::of(host)?;
            let moves = Moves::new(host, bundle, &kept, &|place| relocations.covers(place))?;
            moves.write(host, &mut out)?;
            relocations.follow(&moves, &mut out)?;
        }
        _ => return Err(Error::input("only a linked ELF or PE file has a list of images of its own")),
    }
    for size in arrays::unlisted(host, bundle, &kept) {
        put(host, &mut out, size, 0)?;
    }
    let (zeroed, left) = payloads::zero(host, bundle, drop, &mut out);
    if host.kind == Kind::Pe {
        pe_headers::update_checksum(&mut out)?;
    }
    verify(&out, bundle, drop).context(|| "checking the rewritten file".to_owned())?;
    Ok(Pruned { bytes: out, zeroed, left })
}

/// Overwrites a word of the memory image in the file.
fn put(host: &Host<'_>, out: &mut [u8], address: u64, value: u64) -> Result<()> {
    let at = host.addresses.file_offset(address).and_then(|at| usize::try_from(at).ok());
    if at.is_some_and(|at| bytes::put_u64(out, at, value)) {
        return Ok(());
    }
    Err(Error::input(format!("the word at address {address:#x} is not in the file")))
}

#[cold]
fn no_list(index: usize) -> Error {
    Error::input(format!("image {index} is in no list of this file, so it cannot be taken out of one"))
        .with_remedy("`extract` the others, or build the file anew without it")
}

/// Reads the result back: the images that stay are what they were, in their order, and no other is there.
fn verify(out: &[u8], before: &Bundle<'_>, drop: &HashSet<usize>) -> Result<()> {
    let stay: Vec<&Image<'_>> = before.images.iter().filter(|image| !drop.contains(&image.index)).collect();
    let host = Host::read(out)?;
    let after = match Bundle::read(&host) {
        Ok(after) => after,
        // Nothing is left, which is what the reader complains of.
        Err(_) if stay.is_empty() => return Ok(()),
        Err(error) => return Err(error),
    };
    let same = |old: &Image<'_>, new: &Image<'_>| {
        old.stored == new.stored
            && (old.target, &old.entries, old.declared) == (new.target, &new.entries, new.declared)
            && (old.compile_options, old.link_options) == (new.compile_options, new.link_options)
            && old.properties == new.properties
    };
    let found = after.images.len();
    if found != stay.len() || !stay.iter().zip(&after.images).all(|(old, new)| same(old, new)) {
        let expected = stay.len();
        return Err(Error::input(format!(
            "the {expected} images that stay are not what they were ({found} found): parts of the images overlap; \
             nothing was written"
        )));
    }
    Ok(())
}
