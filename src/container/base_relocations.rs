//! Which words of a PE file does a loader change?
//!
//! Base relocations are blocks of `{u32 page, u32 bytes of the block}` and 16-bit words, each a kind (upper four bits)
//! and an offset in the page; a block is a multiple of four bytes (Microsoft's "PE Format", section ".reloc"). A table
//! has two bytes for each pointer of the file, so it is walked in place and never listed.

use crate::bytes;
use crate::error::{Error, Result};

/// Kind of a padding entry.
const ABSOLUTE: u8 = 0;
/// Kind of a 64-bit pointer.
pub(crate) const DIR64: u8 = 10;
/// Kind of an entry that also uses the next word; no 64-bit file has it.
const HIGHADJ: u8 = 4;
/// Bytes that the offsets of a block reach.
pub(crate) const PAGE: u32 = 0x1000;

/// Base relocation: an address that the loader relocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BaseRelocation {
    /// Address relative to the image base.
    pub(crate) address: u32,
    /// Kind of the relocation.
    pub(crate) kind: u8,
}

/// Relocations of one page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'t> {
    /// Address of the page relative to the image base.
    pub(crate) page: u32,
    words: &'t [[u8; 2]],
}

impl<'t> Block<'t> {
    /// Returns the relocations, in order.
    pub(crate) fn relocations(self) -> impl Iterator<Item = BaseRelocation> + 't {
        let relocation = move |word: &[u8; 2]| {
            let word = u16::from_le_bytes(*word);
            let kind = u8::try_from(word >> 12).unwrap_or(0);
            BaseRelocation { address: self.page.saturating_add((word & 0xfff).into()), kind }
        };
        self.words.iter().map(relocation).filter(|relocation| relocation.kind != ABSOLUTE)
    }
}

/// Blocks of a table, see [`blocks`].
#[derive(Debug, Clone)]
pub(crate) struct Blocks<'t> {
    rest: &'t [u8],
}

/// Walks a table. Damage is the last item.
pub(crate) fn blocks(table: &[u8]) -> Blocks<'_> {
    Blocks { rest: table }
}

/// Walks a table that is to be rewritten. A block with a relocation of a kind that no 64-bit file has is an error, too.
pub(crate) fn known_blocks(table: &[u8]) -> impl Iterator<Item = Result<Block<'_>>> {
    blocks(table).map(|block| {
        let block = block?;
        match block.relocations().any(|relocation| relocation.kind == HIGHADJ) {
            true => Err(Error::input("base relocations of a kind that no 64-bit file has")),
            false => Ok(block),
        }
    })
}

impl<'t> Iterator for Blocks<'t> {
    type Item = Result<Block<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let (Some(page), Some(size)) = (bytes::u32_at(rest, 0), bytes::u32_at(rest, 4)) else {
            // Loaders would not read what is appended to it as blocks.
            return Some(Err(Error::input("the base relocations end within a block")));
        };
        let block = usize::try_from(size).ok().filter(|size| *size >= 8).and_then(|size| rest.split_at_checked(size));
        let Some((block, after)) = block else {
            return Some(Err(Error::input(format!("a block of {size} bytes in the base relocations"))));
        };
        self.rest = after;
        Some(Ok(Block { page, words: block.get(8..).unwrap_or_default().as_chunks().0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_tables_are_refused() {
        for bad in [
            &[0, 0x10, 0, 0, 4, 0, 0, 0][..],
            &[0, 0x10, 0, 0, 12, 0, 0, 0],
            &[0, 0x10, 0, 0, 10, 0, 0, 0, 0, 0x40],
            &[0; 4],
        ] {
            assert!(known_blocks(bad).any(|block| block.is_err()), "{bad:?}");
            assert!(known_blocks(bad).count() < 3, "damage is the last item");
        }
        assert_eq!(known_blocks(&[]).count(), 0);
    }
}
