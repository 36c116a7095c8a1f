//! How is an image laid out that is added to an existing list?
//!
//! [`Loose`] has the same words as [`ImageData`], but no array and no descriptor: the structures of the images are
//! returned one by one, for code that extends a list.

use super::structures::Structures;
use super::{Block, EntryForm, ImageVersion, Location, OutImage, PayloadBlocks, Payloads, Word};
use crate::bytes;
use crate::error::Result;

/// Images without an array, before addresses are known.
#[derive(Debug)]
pub struct Loose<'a> {
    /// Strings and values, read-only.
    pub constants: Vec<u8>,
    /// Tables of entries and property sets.
    pub structures: Vec<Word>,
    /// Payloads.
    pub payloads: Vec<Payloads<'a>>,
    /// Structure of each image.
    pub images: Vec<Vec<Word>>,
}

impl<'a> Loose<'a> {
    /// Lays out images and everything that they refer to.
    ///
    /// # Errors
    /// `Usage` or `Input` for a string with a NUL byte, which would end it early, and for a value that does not fit its
    /// property's kind.
    pub fn new(images: &'a [OutImage<'a>], version: ImageVersion, entries: EntryForm) -> Result<Self> {
        let mut structures = Structures::new(version, entries);
        let mut payloads = PayloadBlocks::default();
        let mut words = Vec::new();
        for (index, image) in images.iter().enumerate() {
            let range = payloads.add(image.target, &image.payload);
            let image =
                structures.image(image, range).map_err(|error| error.context(format!("writing image {index}")))?;
            words.push(image);
        }
        let (constants, structures) = structures.finish();
        Ok(Loose { constants, structures, payloads: payloads.blocks, images: words })
    }

    /// Returns the size of all payload blocks in sequence, each aligned.
    pub fn payload_size(&self) -> u64 {
        self.payload_starts().last().map_or(0, |(start, block)| start.saturating_add(block.size))
    }

    /// Returns the payload blocks with their offsets.
    pub fn payload_starts(&self) -> impl Iterator<Item = (u64, &Payloads<'a>)> {
        self.payloads.iter().scan(0u64, |next, block| {
            let start = bytes::align_up(*next, super::PAYLOAD_ALIGN)?;
            *next = start.saturating_add(block.size);
            Some((start, block))
        })
    }
}

/// Addresses of the blocks of [`Loose`].
#[derive(Debug, Clone, Copy)]
pub struct Bases {
    /// Address of the constants.
    pub constants: u64,
    /// Address of the structures.
    pub structures: u64,
    /// Address of the first payload block.
    pub payloads: u64,
}

impl Loose<'_> {
    /// Returns the address of a location.
    fn address(&self, bases: &Bases, at: Location) -> u64 {
        let block = match at.block {
            Block::Constants => bases.constants,
            Block::Structures => bases.structures,
            Block::Payloads(index) => {
                let start = self.payload_starts().nth(index).map_or(0, |(start, _)| start);
                bases.payloads.saturating_add(start)
            }
        };
        block.saturating_add(at.offset)
    }

    /// Returns words as bytes with final addresses, and the offsets of the addresses among them.
    pub fn resolve(&self, words: &[Word], bases: &Bases) -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut pointers) = (Vec::with_capacity(words.len().saturating_mul(8)), Vec::new());
        for word in words {
            let value = match word {
                Word::Value(value) => *value,
                Word::Address(at) => {
                    pointers.push(bytes.len() as u64);
                    self.address(bases, *at)
                }
            };
            bytes.extend(value.to_le_bytes());
        }
        (bytes, pointers)
    }
}
