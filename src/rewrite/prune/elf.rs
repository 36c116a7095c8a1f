//! How are the relocations of an ELF file moved with image structures?
//!
//! Fewer pointers are relocated than before, so no table grows: an entry of `DT_RELA` whose address is no longer read
//! is reused for an address that lacks one. `DT_RELR`, which lists addresses in order, is rewritten where addresses
//! change.

use super::{Moves, Relocated};
use crate::bytes;
use crate::container::Host;
use crate::container::elf::{Elf, Machine};
use crate::error::{Error, Result};
use crate::rewrite::embed::relocations::{RELA, Relr, encode_relr, entry, table};
use object::elf;
use std::collections::{HashMap, HashSet};

/// Addresses that a file relocates.
#[derive(Debug, Default)]
pub(crate) struct Relocations {
    machine: Option<Machine>,
    /// File offset of the `DT_RELA` entry of each address.
    rela: HashMap<u64, usize>,
    relr: Relr,
}

impl Relocations {
    /// Reads the tables.
    ///
    /// # Errors
    /// `Input` where they are of an unknown form.
    pub(crate) fn read(host: &Host<'_>, file: &Elf<'_>) -> Result<Relocations> {
        if !file.relocates_pointers() {
            return Ok(Relocations::default());
        }
        let refuse = |why: &str| Error::input(format!("this file cannot be rewritten: {why}"));
        let machine = file.machine.ok_or_else(|| refuse("the relocations of its machine are not known"))?;
        if file.dynamic_value(elf::DT_REL).is_some() {
            return Err(refuse("its relocations have no addends (DT_REL)"));
        }
        let mut all = Relocations { machine: Some(machine), ..Relocations::default() };
        if let Some((address, table)) = table(host, file, elf::DT_RELA, elf::DT_RELASZ)? {
            let at = host.addresses.file_offset(address).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
            for (index, one) in table.chunks_exact(RELA).enumerate() {
                let place = bytes::u64_at(one, 0).unwrap_or(0);
                all.rela.insert(place, at.saturating_add(index.saturating_mul(RELA)));
            }
        }
        if let Some((_, table)) = table(host, file, elf::DT_RELR, elf::DT_RELRSZ)? {
            all.relr = Relr::read(table)?;
        }
        Ok(all)
    }

    /// Whether a relocation writes to an address.
    pub(crate) fn covers(&self, place: u64) -> bool {
        self.rela.contains_key(&place) || self.relr.covers(place)
    }

    /// Updates the tables in the file.
    ///
    /// # Errors
    /// `Input` where there is no room for a new relocation.
    pub(crate) fn apply(&self, moves: &Moves, host: &Host<'_>, file: &Elf<'_>, out: &mut [u8]) -> Result<()> {
        let Some(machine) = self.machine else { return Ok(()) };
        let mut put = |at: usize, place: u64, value: u64| {
            let done = bytes::put(out, at, &entry(place, machine.relative(), value));
            if done { Ok(()) } else { Err(Error::at(at as u64, "no relocation to change there")) }
        };
        let entries = |places: &mut dyn Iterator<Item = u64>| -> Vec<(usize, u64)> {
            places.filter_map(|place| Some((*self.rela.get(&place)?, place))).collect()
        };
        // Entries at the end of these are taken last, and stay where they are.
        let mut free = entries(&mut moves.unused.iter().copied());
        let mut excess = entries(&mut moves.plain.iter().map(|(place, _)| *place));
        let mut missing = Vec::new();
        for &(place, value) in &moves.pointers {
            match self.rela.get(&place) {
                Some(at) => put(*at, place, value)?,
                None if self.relr.covers(place) => {}
                None => match excess.pop().or_else(|| free.pop()) {
                    Some((at, _)) => put(at, place, value)?,
                    None => missing.push(place),
                },
            }
        }
        // Left-over entries write where nothing is read any more, each somewhere else: thousands to one place are refused.
        free.iter().try_for_each(|(at, place)| put(*at, *place, 0))?;
        let idle = moves.unused.iter().rev().cycle();
        excess.iter().zip(idle).try_for_each(|((at, _), place)| put(*at, *place, 0))?;
        let leave: HashSet<u64> =
            moves.plain.iter().map(|(place, _)| *place).filter(|p| self.relr.covers(*p)).collect();
        if missing.is_empty() && leave.is_empty() {
            return Ok(());
        }
        let idle: HashSet<u64> = moves.unused.iter().copied().collect();
        let mut stay = self.relr.places().filter(|place| !leave.contains(place) && !idle.contains(place)).peekable();
        missing.sort_unstable();
        let mut missing = missing.into_iter().peekable();
        let places = std::iter::from_fn(|| match (stay.peek(), missing.peek()) {
            (Some(one), Some(other)) if other < one => missing.next(),
            (Some(_), _) => stay.next(),
            (None, _) => missing.next(),
        });
        replace_relr(places, host, file, out)
    }
}

impl Relocated for Relocations {
    fn places(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(self.rela.keys().copied().chain(self.relr.places()))
    }
}

/// Rewrites `DT_RELR` in place.
fn replace_relr(places: impl Iterator<Item = u64>, host: &Host<'_>, file: &Elf<'_>, out: &mut [u8]) -> Result<()> {
    let refuse = || {
        Error::input("this file cannot be rewritten: DT_RELR has no room for the relocations of what stays")
            .with_remedy("select other images: with those the structures that stay need more relocations")
    };
    let (address, old) = table(host, file, elf::DT_RELR, elf::DT_RELRSZ)?.ok_or_else(refuse)?;
    let at = host.addresses.file_offset(address).and_then(|at| usize::try_from(at).ok()).ok_or_else(refuse)?;
    let (mut new, mut aligned) = (Vec::new(), true);
    encode_relr(places.inspect(|place| aligned &= place.is_multiple_of(8)), &mut new);
    let len = new.len();
    if len > old.len() || !aligned {
        return Err(refuse());
    }
    new.resize(old.len(), 0);
    let size = file.dynamic_entry(elf::DT_RELRSZ).and_then(|entry| entry.offset.checked_add(8));
    let size = size.and_then(|at| usize::try_from(at).ok()).ok_or_else(refuse)?;
    if bytes::put(out, at, &new) && bytes::put_u64(out, size, len as u64) { Ok(()) } else { Err(refuse()) }
}
