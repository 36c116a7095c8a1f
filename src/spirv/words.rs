//! Where does each instruction of a module begin and end?
//!
//! The word stream of SPIR-V (specification, section 2.3): a header of five words, then instructions whose first word
//! holds the word count and the opcode. Both byte orders; the magic number tells which.

use crate::error::{Error, Result};
use crate::limits;
use std::borrow::Cow;

/// The first word of a module.
pub const MAGIC: u32 = 0x0723_0203;

/// A module's words, in either byte order.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    words: &'a [[u8; 4]],
    swapped: bool,
}

/// One instruction.
#[derive(Debug, Clone, Copy)]
pub struct Instruction<'a> {
    /// The opcode.
    pub opcode: u16,
    /// Byte offset in the module.
    pub(crate) offset: u64,
    operands: &'a [[u8; 4]],
    swapped: bool,
}

fn word(bytes: [u8; 4], swapped: bool) -> u32 {
    if swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

impl<'a> Words<'a> {
    /// Checks the magic number and that there is a whole header.
    ///
    /// # Errors
    /// `Input` where this is no SPIR-V module, is cut within its header, or has more bytes than any.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let swapped = match words.first() {
            Some(first) if u32::from_le_bytes(*first) == MAGIC => false,
            Some(first) if u32::from_be_bytes(*first) == MAGIC => true,
            _ => return Err(Error::at(0, "no SPIR-V magic number")),
        };
        if words.len() < 5 {
            return Err(Error::at(bytes.len() as u64, "the SPIR-V module ends within its header"));
        }
        if bytes.len() > limits::MAX_MODULE {
            let limit = limits::MAX_MODULE;
            return Err(Error::at(0, format!("a SPIR-V module of {} bytes; the limit is {limit}", bytes.len())));
        }
        Ok(Words { words, swapped })
    }

    /// Returns word `at` of the header: 1 version, 2 generator, 3 id bound.
    pub(crate) fn header(&self, at: usize) -> u32 {
        self.words.get(at).map_or(0, |bytes| word(*bytes, self.swapped))
    }

    /// Whether the module is in the other byte order than this machine's drivers write.
    pub(crate) fn is_swapped(&self) -> bool {
        self.swapped
    }

    /// The number of words, header included.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the instruction that begins at word `at` of the module, or none where no whole instruction begins there.
    #[inline]
    pub(crate) fn instruction_at(&self, at: usize) -> Option<Instruction<'a>> {
        let first = word(*self.words.get(at)?, self.swapped);
        let operands = self.words.get(at.checked_add(1)?..at.checked_add((first >> 16) as usize)?)?;
        Some(Instruction {
            opcode: (first & 0xffff) as u16,
            offset: (at as u64).wrapping_mul(4),
            operands,
            swapped: self.swapped,
        })
    }

    /// The instructions; the last item is an error where the stream is broken.
    pub(crate) fn instructions(&self) -> Instructions<'a> {
        let rest = self.words.get(5..).unwrap_or_default();
        Instructions { rest, total: self.words.len(), swapped: self.swapped, declared: 0 }
    }
}

/// Iterates over instructions.
#[derive(Debug)]
pub(crate) struct Instructions<'a> {
    rest: &'a [[u8; 4]],
    total: usize,
    swapped: bool,
    /// Types and constants so far.
    declared: usize,
}

/// Whether an opcode is one of types and constants: `OpTypeVoid` to `OpSpecConstantOp`, `OpUndef`, and those of pipes and barriers.
fn declares(opcode: u16) -> bool {
    matches!(opcode, 1 | 19..=52 | 322..=327)
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let first = word(*self.rest.first()?, self.swapped);
        let offset = (self.total.wrapping_sub(self.rest.len()) as u64).wrapping_mul(4);
        let count = (first >> 16) as usize;
        match (self.rest.get(1..count), self.rest.get(count..)) {
            (Some(operands), Some(rest)) => {
                let opcode = (first & 0xffff) as u16;
                self.declared = self.declared.wrapping_add(usize::from(declares(opcode)));
                if self.declared > limits::MAX_DECLARATIONS {
                    self.rest = &[];
                    return Some(Err(too_many(offset)));
                }
                self.rest = rest;
                Some(Ok(Instruction { opcode, offset, operands, swapped: self.swapped }))
            }
            _ => {
                let left = self.rest.len();
                self.rest = &[];
                Some(Err(Error::at(offset, format!("SPIR-V instruction of {count} words where {left} are left"))))
            }
        }
    }
}

#[cold]
fn too_many(offset: u64) -> Error {
    Error::at(offset, format!("a SPIR-V module with more than {} types and constants", limits::MAX_DECLARATIONS))
}

impl<'a> Instruction<'a> {
    /// Number of operand words.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// Operand word `at`; 0, which is no valid id, beyond the end.
    #[inline]
    pub fn word(&self, at: usize) -> u32 {
        self.operands.get(at).map_or(0, |bytes| word(*bytes, self.swapped))
    }

    /// The operand words, in order.
    #[inline]
    pub(crate) fn words(&self) -> impl Iterator<Item = u32> + use<'a> {
        let swapped = self.swapped;
        self.operands.iter().map(move |bytes| word(*bytes, swapped))
    }

    /// Returns the number of the operand after the string that begins at operand `at`.
    pub(crate) fn after_string(&self, at: usize) -> usize {
        let words = self.operands.get(at..).unwrap_or_default();
        // The string ends with the first word that holds a NUL byte, in whichever byte it is.
        let last = words.iter().position(|four| four.contains(&0));
        at.saturating_add(last.map_or(words.len(), |last| last.saturating_add(1)))
    }

    /// Returns the string that begins at operand `at` and the number of the operand after it. Invalid UTF-8 is
    /// replaced.
    pub(crate) fn string(&self, at: usize) -> (String, usize) {
        let (text, end) = self.text(at);
        (text.into_owned(), end)
    }

    /// Returns the beginning of the string at operand `at`, so many bytes and few more: of a long name that many instructions
    /// share no more is read.
    pub(crate) fn head(&self, at: usize, most: usize) -> String {
        let end = at.saturating_add(most / 4).saturating_add(1);
        let operands = self.operands.get(..end).unwrap_or(self.operands);
        Instruction { operands, ..*self }.string(at).0
    }

    /// Like [`Instruction::string`], but borrowed from the module where its bytes are valid UTF-8 in little-endian
    /// order.
    pub(crate) fn text(&self, at: usize) -> (Cow<'a, str>, usize) {
        let end = self.after_string(at);
        let words = self.operands.get(at..end).unwrap_or_default();
        let first = |bytes: &[u8]| bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        // Characters fill a word from its low byte up, so in a little-endian module they are consecutive bytes.
        let text = if self.swapped {
            let bytes: Vec<u8> = words.iter().flat_map(|four| word(*four, true).to_le_bytes()).collect();
            let text = bytes.get(..first(&bytes)).unwrap_or_default();
            Cow::Owned(String::from_utf8_lossy(text).into_owned())
        } else {
            let bytes = words.as_flattened();
            String::from_utf8_lossy(bytes.get(..first(bytes)).unwrap_or_default())
        };
        (text, end)
    }
}

/// Ids that a module does not have yet, by the next of them, which is also the bound of ids then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewIds(pub(crate) u32);

impl NewIds {
    /// Takes the next id.
    ///
    /// # Errors
    /// `Input` where there is none.
    pub(crate) fn fresh(&mut self) -> Result<u32> {
        let id = self.0;
        self.0 = id.checked_add(1).ok_or_else(|| Error::input("the SPIR-V module has no more ids"))?;
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(instructions: &[u32]) -> Vec<u32> {
        let mut words = vec![MAGIC, 0x0001_0000, 0, 10, 0];
        words.extend(instructions);
        words
    }

    #[test]
    fn both_byte_orders_read_the_same() {
        // OpExtension "abcde"
        let words = module(&[0x0003_000a, u32::from_le_bytes(*b"abcd"), u32::from_le_bytes(*b"e\0\0\0")]);
        let little: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for bytes in [little, big] {
            let instruction = Words::new(&bytes).unwrap().instructions().next().unwrap().unwrap();
            assert_eq!((instruction.opcode, instruction.offset), (10, 20));
            assert_eq!(instruction.string(0), ("abcde".to_owned(), 2));
        }
    }

    #[test]
    fn a_broken_count_ends_the_walk_with_its_offset() {
        for count in [0u32, 9] {
            let bytes: Vec<u8> = module(&[count << 16 | 17, 4]).iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut all = Words::new(&bytes).unwrap().instructions();
            assert_eq!(all.next().unwrap().unwrap_err().offset(), Some(20));
            assert!(all.next().is_none());
        }
    }
}
