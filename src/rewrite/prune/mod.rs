//! How are images removed from a linked file?
//!
//! Removal is in place: the structures that stay move together in their array, the descriptor's count shrinks,
//! `.tgtimg` drops the payloads, and these become zeros unless an image that stays shares them. Relocations follow the
//! structures they belong to. No other byte changes or moves; the result is read back and compared before it is
//! returned.

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

/// File from which images were removed.
#[derive(Debug)]
pub struct Pruned {
    /// File of the same length as before.
    pub bytes: Vec<u8>,
    /// Bytes of payloads that were overwritten with zeros.
    pub zeroed: u64,
    /// Bytes of removed payloads that stay: another image shares them, or they are among code.
    pub left: u64,
}

/// Removes the images with these indexes from the lists of a linked ELF or PE file. A list may become empty; the
/// runtime of DPC++ accepts that.
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
            let relocations = elf::Relocations::read(host, file)?;
            let moves = Moves::new(host, bundle, &kept, &|place| relocations.covers(place))?;
            moves.write(host, &mut out)?;
            relocations.apply(&moves, host, file, &mut out)?;
        }
        (None, Kind::Pe) => {
            let relocations = pe::Relocations::read(host)?;
            let moves = Moves::new(host, bundle, &kept, &|place| relocations.covers(place))?;
            moves.write(host, &mut out)?;
            relocations.apply(&moves, &mut out)?;
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

/// Overwrites a word at an address in the file.
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

/// Reads the result back and checks that it has exactly the images that stay, unchanged and in order.
fn verify(out: &[u8], before: &Bundle<'_>, drop: &HashSet<usize>) -> Result<()> {
    let stay: Vec<&Image<'_>> = before.images.iter().filter(|image| !drop.contains(&image.index)).collect();
    let host = Host::read(out)?;
    let after = match Bundle::read(&host) {
        Ok(after) => after,
        // No image is left, which the reader reports as an error.
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
