//! How are the base relocations of a PE file encoded?
//!
//! Base relocations are blocks of `{u32 page, u32 bytes of the block}` and 16-bit words, each a kind (upper four bits)
//! and an offset in the page; a block is a multiple of four bytes (Microsoft's "PE Format", section ".reloc").

use crate::bytes;
use crate::error::{Error, Result};

/// Kind of a padding entry.
const ABSOLUTE: u8 = 0;
/// Kind of a 64-bit pointer.
pub const DIR64: u8 = 10;
/// Kind of an entry that also uses the next word; no 64-bit file has it.
const HIGHADJ: u8 = 4;

/// Base relocation: an address that the loader relocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseRelocation {
    /// Address relative to the image base.
    pub address: u32,
    /// Kind of the relocation.
    pub kind: u8,
}

/// Reads a table.
///
/// # Errors
/// `Input` where a block is malformed or of a kind that is not known.
pub fn decode(table: &[u8]) -> Result<Vec<BaseRelocation>> {
    let mut places = Vec::new();
    let mut rest = table;
    while rest.len() >= 8 {
        let (Some(page), Some(size)) = (bytes::u32_at(rest, 0), bytes::u32_at(rest, 4)) else { break };
        let block = usize::try_from(size).ok().filter(|size| *size >= 8).and_then(|size| rest.split_at_checked(size));
        let Some((block, after)) = block else {
            return Err(Error::input(format!("a block of {size} bytes in the base relocations")));
        };
        for word in block.get(8..).unwrap_or_default().as_chunks::<2>().0 {
            let word = u16::from_le_bytes(*word);
            let kind = u8::try_from(word >> 12).unwrap_or(0);
            match kind {
                ABSOLUTE => {}
                HIGHADJ => return Err(Error::input("base relocations of a kind that no 64-bit file has")),
                _ => places.push(BaseRelocation { address: page.saturating_add((word & 0xfff).into()), kind }),
            }
        }
        rest = after;
    }
    Ok(places)
}

/// Writes a table of sorted relocations.
pub fn encode(places: &[BaseRelocation]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in places.chunk_by(|one, next| one.address >> 12 == next.address >> 12) {
        let page = block.first().map_or(0, |place| place.address & !0xfff);
        let words = block.len().next_multiple_of(2);
        out.extend(page.to_le_bytes());
        out.extend(u32::try_from(words.saturating_mul(2).saturating_add(8)).unwrap_or(0).to_le_bytes());
        for place in block {
            let offset = u16::try_from(place.address & 0xfff).unwrap_or(0);
            out.extend((u16::from(place.kind) << 12 | offset).to_le_bytes());
        }
        if block.len() < words {
            out.extend([0, 0]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_is_padded_to_four_bytes() {
        let place = |address| BaseRelocation { address, kind: DIR64 };
        let table = encode(&[place(0x1008), place(0x1ff8), place(0x1010), place(0x3000)]);
        assert_eq!(table.len(), 16 + 12);
        assert_eq!(table[..8], [0, 0x10, 0, 0, 16, 0, 0, 0]);
        assert_eq!(table[8..16], [0x08, 0xa0, 0xf8, 0xaf, 0x10, 0xa0, 0, 0]);
    }

    #[test]
    fn malformed_tables_are_refused() {
        for bad in
            [&[0, 0x10, 0, 0, 4, 0, 0, 0][..], &[0, 0x10, 0, 0, 12, 0, 0, 0], &[0, 0x10, 0, 0, 10, 0, 0, 0, 0, 0x40]]
        {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
        assert_eq!(decode(&[]).unwrap(), []);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(mut addresses in prop::collection::vec(0u32..0x20_0000, 0..300)) {
            addresses.sort_unstable();
            let places: Vec<BaseRelocation> = addresses.into_iter().map(|address| BaseRelocation { address, kind: DIR64 }).collect();
            prop_assert_eq!(decode(&encode(&places)).unwrap(), places);
        }
    }
}
