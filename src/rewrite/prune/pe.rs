//! How are the base relocations of a PE file moved with image structures?
//!
//! They list addresses, and the pointers are in place. Structures that stay mostly have pointers where those they
//! replace had them, so the list stays; otherwise it is rewritten in place, block by block.

use super::Moves;
use crate::bundle::Bundle;
use crate::bytes;
use crate::container::Host;
use crate::container::base_relocations::{self, BaseRelocation, DIR64, PAGE};
use crate::error::{Error, Result};
use crate::rewrite::pe::{self, BASE_RELOCATIONS, Headers};
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

/// Addresses of a file's lists of images that a loader relocates.
#[derive(Debug)]
pub(crate) struct Relocations {
    headers: Headers,
    /// Addresses of 64-bit pointers in the arrays of structures. A file may have millions of others.
    pointers: HashSet<u64>,
}

impl Relocations {
    /// Reads the relocations of the lists.
    ///
    /// # Errors
    /// `Input` where headers or relocations are malformed.
    pub(crate) fn read(host: &Host<'_>, bundle: &Bundle<'_>) -> Result<Relocations> {
        let headers = Headers::parse(host.bytes)?;
        headers.check_sections()?;
        let arrays = arrays(bundle);
        let base = headers.image_base;
        // Whether a range reaches into an array. They are apart, so the last that begins before its end tells.
        let meets = |start: u64, end: u64| {
            let before = arrays.partition_point(|array| array.start < end);
            before.checked_sub(1).and_then(|at| arrays.get(at)).is_some_and(|array| array.end > start)
        };
        let mut pointers = HashSet::new();
        let table = headers.relocations(host.bytes)?.map_or(&[][..], |(_, table)| table);
        for block in base_relocations::known_blocks(table) {
            let block = block?;
            let page = base.saturating_add(block.page.into());
            if !meets(page, page.saturating_add(PAGE.into())) {
                continue;
            }
            let wide = block.relocations().filter(|place| place.kind == DIR64);
            let addresses = wide.map(|place| base.saturating_add(place.address.into()));
            pointers.extend(addresses.filter(|address| meets(*address, address.saturating_add(1))));
        }
        Ok(Relocations { headers, pointers })
    }

    /// Whether the loader relocates the pointer at an address of a list's array.
    pub(crate) fn covers(&self, address: u64) -> bool {
        self.pointers.contains(&address)
    }

    /// Updates the relocations in the file.
    ///
    /// # Errors
    /// `Input` where they would not fit.
    pub(crate) fn apply(&self, moves: &Moves, out: &mut [u8]) -> Result<()> {
        let missing: Vec<u64> =
            moves.pointers.iter().map(|(place, _)| *place).filter(|place| !self.covers(*place)).collect();
        let mut gone: HashSet<u64> =
            moves.plain.iter().map(|(place, _)| *place).filter(|place| self.covers(*place)).collect();
        if missing.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let refuse = || Error::input("this file cannot be rewritten: its base relocations have no room for a change");
        gone.extend(&moves.unused);
        let base = self.headers.image_base;
        let relative = |place: u64| place.checked_sub(base).and_then(|at| u32::try_from(at).ok()).ok_or_else(refuse);
        let missing = missing.into_iter().map(relative).collect::<Result<BTreeSet<u32>>>()?;
        let (at, table) = self.headers.relocations(out)?.ok_or_else(refuse)?;
        let old = table.len();
        let stays = |place: &BaseRelocation| !gone.contains(&base.saturating_add(place.address.into()));
        let mut new = rewritten(table, stays, missing)?;
        let len = new.len();
        if len > old {
            return Err(refuse());
        }
        new.resize(old, 0);
        let size = self.headers.directory_at(BASE_RELOCATIONS).and_then(|at| at.checked_add(4)).ok_or_else(refuse)?;
        let len = u32::try_from(len).map_err(|_| refuse())?;
        if bytes::put(out, at, &new) && bytes::put(out, size, &len.to_le_bytes()) { Ok(()) } else { Err(refuse()) }
    }
}

/// Returns the addresses of the arrays of all lists, joined where they touch, in order.
fn arrays(bundle: &Bundle<'_>) -> Vec<Range<u64>> {
    let array = |list: &crate::bundle::structure::Descriptor| {
        let size = list.layout.stride().saturating_mul(list.count.into());
        list.images..list.images.saturating_add(size)
    };
    let mut all: Vec<Range<u64>> = bundle.descriptors.iter().map(array).collect();
    all.sort_by_key(|array| array.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for array in all {
        match joined.last_mut() {
            Some(last) if last.end >= array.start => last.end = last.end.max(array.end),
            _ => joined.push(array),
        }
    }
    joined
}

/// Returns a table with the relocations that stay, and with pointers at the addresses `missing`: in the block of their page
/// where there is one, else in blocks of their own behind the others.
fn rewritten(table: &[u8], stays: impl Fn(&BaseRelocation) -> bool, mut missing: BTreeSet<u32>) -> Result<Vec<u8>> {
    let mut new = Vec::new();
    let mut places: Vec<BaseRelocation> = Vec::new();
    let pointer = |address: u32| BaseRelocation { address, kind: DIR64 };
    for block in base_relocations::known_blocks(table) {
        let block = block?;
        places.clear();
        places.extend(block.relocations().filter(&stays));
        let own: Vec<u32> = missing.range(block.page..block.page.saturating_add(PAGE)).copied().collect();
        if !own.is_empty() {
            own.iter().for_each(|address| _ = missing.remove(address));
            places.extend(own.into_iter().map(pointer));
            places.sort_by_key(|place| place.address);
        }
        if !places.is_empty() {
            pe::put_block(&mut new, block.page, &places);
        }
    }
    new.extend(pe::encode(&missing.into_iter().map(pointer).collect::<Vec<_>>()));
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_join_the_block_of_their_page_and_empty_blocks_go() {
        let place = |address| BaseRelocation { address, kind: DIR64 };
        let table = pe::encode(&[0x1008, 0x1010, 0x2000, 0x3000, 0x3008].map(place));
        let new = rewritten(&table, |place| place.address != 0x2000, BTreeSet::from([0x100c, 0x5000])).unwrap();
        assert_eq!(new, pe::encode(&[0x1008, 0x100c, 0x1010, 0x3000, 0x3008, 0x5000].map(place)));
    }
}
