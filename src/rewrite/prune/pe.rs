//! How are the base relocations of a PE file moved with image structures?
//!
//! They list addresses, and the pointers are in place. Structures that stay mostly have pointers where those they
//! replace had them, so the list stays; otherwise it is rewritten in place.

use super::Moves;
use crate::bytes;
use crate::container::Host;
use crate::error::{Error, Result};
use crate::rewrite::pe::{self, BASE_RELOCATIONS, BaseRelocation, DIR64, Headers};
use std::collections::HashSet;

/// Addresses that a file relocates.
#[derive(Debug)]
pub(crate) struct Relocations {
    headers: Headers,
    places: Vec<BaseRelocation>,
    /// Addresses of 64-bit pointers.
    pointers: HashSet<u64>,
}

impl Relocations {
    /// Reads the list.
    ///
    /// # Errors
    /// `Input` where headers or list are malformed.
    pub(crate) fn read(host: &Host<'_>) -> Result<Relocations> {
        let headers = Headers::parse(host.bytes)?;
        headers.check_sections()?;
        let places = match headers.relocations(host.bytes)? {
            Some((_, table)) => pe::decode(table)?,
            None => Vec::new(),
        };
        let wide = places.iter().filter(|place| place.kind == DIR64);
        let pointers = wide.map(|place| headers.image_base.saturating_add(place.address.into())).collect();
        Ok(Relocations { headers, places, pointers })
    }

    /// Whether the loader relocates the pointer at an address.
    pub(crate) fn covers(&self, address: u64) -> bool {
        self.pointers.contains(&address)
    }

    /// Updates the list in the file.
    ///
    /// # Errors
    /// `Input` where it would not fit.
    pub(crate) fn apply(&self, moves: &Moves, out: &mut [u8]) -> Result<()> {
        let missing: Vec<u64> =
            moves.pointers.iter().map(|(place, _)| *place).filter(|place| !self.covers(*place)).collect();
        let excess: HashSet<u64> =
            moves.plain.iter().map(|(place, _)| *place).filter(|place| self.covers(*place)).collect();
        if missing.is_empty() && excess.is_empty() {
            return Ok(());
        }
        let refuse = || Error::input("this file cannot be rewritten: its base relocations have no room for a change");
        let unused: HashSet<u64> = moves.unused.iter().copied().collect();
        let base = self.headers.image_base;
        let stays = |place: &BaseRelocation| {
            let address = base.saturating_add(place.address.into());
            !excess.contains(&address) && !unused.contains(&address)
        };
        let mut places: Vec<BaseRelocation> = self.places.iter().copied().filter(stays).collect();
        for place in missing {
            let address = place.checked_sub(base).and_then(|at| u32::try_from(at).ok()).ok_or_else(refuse)?;
            places.push(BaseRelocation { address, kind: DIR64 });
        }
        places.sort_by_key(|place| place.address);
        let mut new = pe::encode(&places);
        let (at, old) = self.headers.relocations(out)?.ok_or_else(refuse)?;
        let (old, len) = (old.len(), new.len());
        if len > old {
            return Err(refuse());
        }
        new.resize(old, 0);
        let size = self.headers.directory_at(BASE_RELOCATIONS).and_then(|at| at.checked_add(4)).ok_or_else(refuse)?;
        let len = u32::try_from(len).map_err(|_| refuse())?;
        if bytes::put(out, at, &new) && bytes::put(out, size, &len.to_le_bytes()) { Ok(()) } else { Err(refuse()) }
    }
}
