//! Which words change when the structures of an array move together?
//!
//! A moved word is a pointer where a relocation writes to its old address; otherwise it is a plain number (or the file
//! is always loaded at its linked address).

use super::put;
use crate::bundle::Bundle;
use crate::container::Host;
use crate::error::{Error, Result};

/// Changes to all descriptors and arrays.
#[derive(Debug, Default)]
pub struct Moves {
    /// Addresses that must be relocated, with their values.
    pub pointers: Vec<(u64, u64)>,
    /// Addresses that must not be relocated, with their values.
    pub plain: Vec<(u64, u64)>,
    /// Addresses in the free slots at the end, which are no longer read.
    pub unused: Vec<u64>,
    /// First words of descriptors, with their addresses.
    heads: Vec<(u64, u64)>,
}

impl Moves {
    /// Computes the changes that leave the structures at the addresses `kept` of each descriptor.
    ///
    /// # Errors
    /// `Input` where an array is not in the file.
    pub fn new(host: &Host<'_>, bundle: &Bundle<'_>, kept: &[Vec<u64>], covers: &dyn Fn(u64) -> bool) -> Result<Moves> {
        let mut moves = Moves::default();
        for (descriptor, kept) in bundle.descriptors.iter().zip(kept) {
            if kept.len() == usize::from(descriptor.count) {
                continue;
            }
            let stride = descriptor.layout.stride();
            let slot = |nth: usize| descriptor.images.saturating_add((nth as u64).saturating_mul(stride));
            for (nth, &from) in kept.iter().enumerate() {
                let to = slot(nth);
                for word in (0..stride).step_by(8).take_while(|_| to != from) {
                    let (from, to) = (from.saturating_add(word), to.saturating_add(word));
                    let value = host.addresses.pointer(from).ok_or_else(|| {
                        Error::input(format!("a list of images passes the end of its segment at address {from:#x}"))
                    })?;
                    let list = if covers(from) { &mut moves.pointers } else { &mut moves.plain };
                    list.push((to, value));
                }
            }
            moves.unused.extend((slot(kept.len())..slot(descriptor.count.into())).step_by(8));
            moves.heads.push((descriptor.address, 1 | (kept.len() as u64) << 16));
        }
        Ok(moves)
    }

    /// Writes the new words into the file, without relocations.
    ///
    /// # Errors
    /// `Input` where a word is not in the file.
    pub fn write(&self, host: &Host<'_>, out: &mut [u8]) -> Result<()> {
        for &(place, value) in self.pointers.iter().chain(&self.plain).chain(&self.heads) {
            put(host, out, place, value)?;
        }
        self.unused.iter().try_for_each(|&place| put(host, out, place, 0))
    }
}
