//! Which blocks and records has an LLVM bitstream?
//!
//! <https://llvm.org/docs/BitCodeFormat.html>: a stream of bits, little-endian, of blocks that state their length and
//! records that abbreviations may compress. Only the records of one block are decoded at a time; blocks in it are
//! stepped over. Abbreviations that a block-info block registers for other blocks are kept by block.

mod writer;

use crate::error::{Error, Result};
use crate::limits;
use std::collections::HashMap;
use std::rc::Rc;

pub(crate) use writer::Writer;

/// Block 0: abbreviations for others.
const BLOCKINFO: u64 = 0;
/// Block of a module.
const MODULE: u64 = 8;
/// Stream itself, which is no block, and whose abbreviations for others LLVM passes over.
const TOP: u64 = u64::MAX;
/// Bits that an operand takes in the stream, on average, at the least. Letters take six, and constants of abbreviations none.
const OPERAND: usize = 3;
/// Operands that a block of any size may have.
const FEW: usize = 1024;

/// Operands that a record counts as beside its own.
const RECORD: usize = 1;
/// Operands that a record of constants alone counts as, which has no bits but its number: LLVM has few among others.
const EMPTY: usize = 1;

/// Returns the number of operands that a block of so many bits may have.
fn operands_of(bits: usize) -> usize {
    (bits / OPERAND).saturating_add(FEW)
}

/// An operand of an abbreviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Literal(u64),
    Fixed(u32),
    Vbr(u32),
    Array,
    Char6,
    Blob,
}

type Abbreviation = Rc<[Operand]>;

/// One record.
#[derive(Debug, Default)]
pub(crate) struct Record<'a> {
    /// Code of the record.
    pub(crate) code: u64,
    /// Operands, of an array or in full.
    pub(crate) operands: Vec<u64>,
    /// Blob of the record.
    pub(crate) blob: &'a [u8],
}

impl Record<'_> {
    /// Takes the next value, of which the first is the code.
    fn put(&mut self, code: &mut Option<u64>, value: u64) {
        match code {
            None => *code = Some(value),
            Some(_) => self.operands.push(value),
        }
    }
}

/// Next item of a block.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// A block within, whose bits are these.
    Block(u64, Cursor<'a>),
    /// A record.
    Record(Record<'a>),
}

/// A place in a stream, within one block.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    /// Bit at which the block ends.
    end: usize,
    at: usize,
    width: u32,
    block: u64,
    /// Abbreviations, shared with blocks of the same id until it has its own.
    abbreviations: Rc<Vec<Abbreviation>>,
    /// Abbreviations for blocks of an id; those within inherit them.
    registered: Rc<HashMap<u64, Rc<Vec<Abbreviation>>>>,
    /// Operands that may yet be decoded.
    budget: usize,
    /// Whether a block in it was read.
    has_blocks: bool,
}

impl<'a> Cursor<'a> {
    /// The top of a stream: what follows the magic number.
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Cursor {
            data,
            end: data.len().saturating_mul(8),
            at: 0,
            width: 2,
            block: TOP,
            abbreviations: Rc::default(),
            registered: Rc::default(),
            budget: operands_of(data.len().saturating_mul(8)),
            has_blocks: false,
        }
    }

    /// Passes over bytes, such as a magic number.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes.saturating_mul(8));
    }

    /// The byte at which reading stands.
    pub(crate) fn byte(&self) -> u64 {
        (self.at / 8) as u64
    }

    /// The next block or record; none at the end of the block.
    ///
    /// # Errors
    /// `Input`, with the offset in the stream, where the bits make no sense.
    pub(crate) fn next(&mut self) -> Result<Option<Item<'a>>> {
        loop {
            if self.end.saturating_sub(self.at) < self.width as usize {
                return Ok(None);
            }
            match self.fixed(self.width)? {
                0 => return Ok(None),
                1 => {
                    let (id, inner) = self.enter()?;
                    if id == BLOCKINFO {
                        // LLVM passes over those outside of the module and within its blocks. Of several in a module it takes the last,
                        // also for functions before that, which it reads later.
                        if self.block == MODULE {
                            if self.has_blocks {
                                return Err(self.error("a block-info block that is not the first block"));
                            }
                            self.register(inner)?;
                        }
                        self.has_blocks = true;
                    } else {
                        self.has_blocks = true;
                        return Ok(Some(Item::Block(id, inner)));
                    }
                }
                2 => {
                    let abbreviation = self.define()?;
                    if self.abbreviations.len() >= limits::MAX_ABBREVIATIONS {
                        return Err(self.error("more abbreviations than a block has"));
                    }
                    Rc::make_mut(&mut self.abbreviations).push(abbreviation);
                }
                number => {
                    self.spend(RECORD)?;
                    let record = if number == 3 { self.unabbreviated() } else { self.abbreviated(number) };
                    return record.map(|record| Some(Item::Record(record)));
                }
            }
        }
    }

    /// A block: its id, the width of its abbreviations, and its length in words.
    fn enter(&mut self) -> Result<(u64, Cursor<'a>)> {
        let id = self.number(8)?;
        let width = u32::try_from(self.vbr(4)?).unwrap_or(u32::MAX);
        self.align();
        let words = usize::try_from(self.fixed(32)?).unwrap_or(usize::MAX);
        let end = words.checked_mul(32).and_then(|bits| self.at.checked_add(bits)).filter(|&end| end <= self.end);
        let (Some(end), 2..=32) = (end, width) else { return Err(self.error("a block that passes the end")) };
        let abbreviations = self.registered.get(&id).cloned().unwrap_or_default();
        // Fields without bits cost nothing in the stream: a block's own bits bound what its records may come to.
        let budget = operands_of(end.saturating_sub(self.at));
        let registered = self.registered.clone();
        let (data, at) = (self.data, self.at);
        let (block, has_blocks) = (id, false);
        let inner = Cursor { data, end, at, width, block, abbreviations, registered, budget, has_blocks };
        self.at = end;
        Ok((id, inner))
    }

    /// Keeps the abbreviations that a block-info block has for others.
    fn register(&mut self, mut info: Cursor<'a>) -> Result<()> {
        let mut block = None;
        loop {
            if info.end.saturating_sub(info.at) < info.width as usize {
                return Ok(());
            }
            match info.fixed(info.width)? {
                0 if info.at.next_multiple_of(32) == info.end => return Ok(()),
                0 => return Err(info.error("an end before its end")),
                2 => {
                    let abbreviation = info.define()?;
                    if let Some(block) = block {
                        let all = Rc::make_mut(&mut self.registered);
                        if all.len() >= limits::MAX_ABBREVIATED_BLOCKS && !all.contains_key(&block) {
                            return Err(info.error("abbreviations for more blocks than there are"));
                        }
                        let registered = Rc::make_mut(all.entry(block).or_default());
                        if registered.len() >= limits::MAX_ABBREVIATIONS {
                            return Err(info.error("more abbreviations than a block has"));
                        }
                        registered.push(abbreviation);
                    }
                }
                3 => {
                    // Record 1 says for which block the next ones are.
                    let record = info.unabbreviated()?;
                    if record.code == 1 {
                        block = record.operands.first().copied();
                        if block.is_some_and(|block| u32::try_from(block).is_err()) {
                            return Err(info.error("abbreviations for a block that no stream has"));
                        }
                    }
                }
                _ => return Err(info.error("a block-info block with more than definitions")),
            }
        }
    }

    fn define(&mut self) -> Result<Abbreviation> {
        let count = self.vbr(5)?;
        if count > limits::MAX_ABBREVIATION_FIELDS {
            return Err(self.error("an abbreviation with that many fields"));
        }
        let mut operands = Vec::new();
        for _ in 0..count {
            let operand = if self.fixed(1)? == 1 {
                Operand::Literal(self.vbr(8)?)
            } else {
                match self.fixed(3)? {
                    kind @ (1 | 2) => match (kind, u32::try_from(self.vbr(5)?)) {
                        // A field of no bits is zero.
                        (_, Ok(0)) => Operand::Literal(0),
                        (1, Ok(width @ ..=64)) => Operand::Fixed(width),
                        (2, Ok(width @ 2..=32)) => Operand::Vbr(width),
                        _ => return Err(self.error("an abbreviation with a field that wide")),
                    },
                    3 => Operand::Array,
                    4 => Operand::Char6,
                    5 => Operand::Blob,
                    _ => return Err(self.error("an abbreviation with an unknown field")),
                }
            };
            operands.push(operand);
        }
        Ok(operands.into())
    }

    fn unabbreviated(&mut self) -> Result<Record<'a>> {
        let code = self.number(6)?;
        let count = self.count()?;
        let mut operands = Vec::new();
        for _ in 0..count {
            operands.push(self.vbr(6)?);
        }
        Ok(Record { code, operands, blob: &[] })
    }

    fn abbreviated(&mut self, number: u64) -> Result<Record<'a>> {
        let place = usize::try_from(number.saturating_sub(4)).unwrap_or(usize::MAX);
        let Some(abbreviation) = self.abbreviations.get(place).cloned() else {
            return Err(self.error("an abbreviation that is not defined"));
        };
        let mut record = Record::default();
        let (begin, mut code) = (self.at, None);
        let mut operands = abbreviation.iter();
        while let Some(&operand) = operands.next() {
            match operand {
                Operand::Array => {
                    let count = self.count()?;
                    let Some(&element) = operands.next() else { return Err(self.error("an array of nothing")) };
                    for _ in 0..count {
                        let value = self.scalar(element)?;
                        record.put(&mut code, value);
                    }
                }
                Operand::Blob => {
                    let len = usize::try_from(self.number(6)?).unwrap_or(usize::MAX);
                    self.align();
                    let start = self.at / 8;
                    let blob = crate::bytes::slice_at(self.data, start, len)
                        .filter(|blob| (start + blob.len()) * 8 <= self.end);
                    record.blob = blob.ok_or_else(|| self.error("a blob that passes the end"))?;
                    self.at = self.at.saturating_add(len.saturating_mul(8));
                    self.align();
                }
                scalar => {
                    let value = self.scalar(scalar)?;
                    record.put(&mut code, value);
                }
            }
        }
        if self.at == begin {
            self.spend(EMPTY)?;
        }
        record.code = code.unwrap_or(0);
        if u32::try_from(record.code).is_err() {
            return Err(self.error("a code that no record has"));
        }
        Ok(record)
    }

    /// Takes operands from those that may yet be decoded.
    fn spend(&mut self, operands: usize) -> Result<()> {
        self.budget = self.budget.checked_sub(operands).ok_or_else(|| self.error("more operands than bits"))?;
        Ok(())
    }

    fn scalar(&mut self, operand: Operand) -> Result<u64> {
        self.spend(1)?;
        match operand {
            Operand::Literal(value) => Ok(value),
            Operand::Fixed(width) => self.fixed(width),
            Operand::Vbr(width) => self.vbr(width),
            Operand::Char6 => {
                let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
                let index = usize::try_from(self.fixed(6)?).unwrap_or(0);
                Ok(letters.get(index).copied().map_or(0, u64::from))
            }
            Operand::Array | Operand::Blob => Err(self.error("an array of arrays")),
        }
    }

    /// A number of up to 64 bits.
    fn fixed(&mut self, width: u32) -> Result<u64> {
        let (mut value, mut got) = (0u64, 0u32);
        if self.end.saturating_sub(self.at) < width as usize {
            return Err(self.error("a value that passes the end of its block"));
        }
        // Most values stand within eight bytes.
        if let Some(word) = crate::bytes::u64_at(self.data, self.at / 8).filter(|_| width <= 56) {
            value = word >> (self.at % 8) & ((1 << width) - 1);
            self.at = self.at.saturating_add(width as usize);
            return Ok(value);
        }
        while got < width {
            let (byte, bit) = (self.at / 8, (self.at % 8) as u32);
            let bits = (8 - bit).min(width - got);
            let byte = u64::from(self.data.get(byte).copied().unwrap_or(0));
            value |= (byte >> bit & ((1 << bits) - 1)) << got;
            got += bits;
            self.at = self.at.saturating_add(bits as usize);
        }
        Ok(value)
    }

    /// A number in groups of that many bits, the highest of which says whether another one follows.
    pub(super) fn vbr(&mut self, width: u32) -> Result<u64> {
        let high = 1u64 << (width - 1);
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let group = self.fixed(width)?;
            value |= (group & (high - 1)).checked_shl(shift).unwrap_or(0);
            if group & high == 0 {
                return Ok(value);
            }
            shift = shift.saturating_add(width - 1);
            if shift > 70 {
                return Err(self.error("a number without an end"));
            }
        }
    }

    /// A number of 32 bits, in groups: the id of a block, the code of a record, a count. LLVM reads no more of it.
    fn number(&mut self, width: u32) -> Result<u64> {
        let value = self.vbr(width)?;
        if u32::try_from(value).is_err() { Err(self.error("a number of more than 32 bits")) } else { Ok(value) }
    }

    /// A number of operands.
    fn count(&mut self) -> Result<u64> {
        let count = self.number(6)?;
        if count > limits::MAX_OPERANDS { Err(self.error("more operands than a record has")) } else { Ok(count) }
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    #[cold]
    pub(super) fn error(&self, what: &str) -> Error {
        let block = if self.block == TOP { String::new() } else { format!(" in block {}", self.block) };
        Error::at(self.byte(), format!("bitcode holds {what}{block}"))
    }
}

/// Streams as fields, for tests.
#[cfg(test)]
pub(crate) mod written {
    /// A value, and the number of its bits.
    pub(crate) type Field = (u64, u32);

    /// Bits of a stream, lowest first.
    pub(crate) fn stream(fields: &[Field]) -> Vec<u8> {
        let bits = fields.iter().flat_map(|(value, width)| (0..*width).map(move |bit| (value >> bit & 1) as u8));
        let bits: Vec<u8> = bits.chain([0; 64]).collect();
        bits.chunks(8).map(|byte| byte.iter().enumerate().map(|(at, bit)| bit << at).sum()).collect()
    }

    /// A number in groups of so many bits.
    pub(crate) fn vbr(mut value: u64, width: u32) -> Vec<Field> {
        let mut groups = Vec::new();
        let high = 1 << (width - 1);
        while value >= high {
            groups.push((value & (high - 1) | high, width));
            value >>= width - 1;
        }
        groups.push((value, width));
        groups
    }

    /// Fields in words of 32 bits.
    pub(crate) fn padded(mut fields: Vec<Field>) -> Vec<Field> {
        let bits: u32 = fields.iter().map(|(_, width)| width).sum();
        fields.push((0, bits.next_multiple_of(32) - bits));
        fields
    }

    /// A block whose abbreviations have 2 bits.
    pub(crate) fn block(id: u64, within: Vec<Field>) -> Vec<Field> {
        let within = padded([within, vec![(0, 2)]].concat());
        let bits: u32 = within.iter().map(|(_, width)| width).sum();
        [padded([vec![(1, 2)], vbr(id, 8), vbr(2, 4)].concat()), vec![(u64::from(bits / 32), 32)], within].concat()
    }

    /// A record without an abbreviation.
    pub(crate) fn record(code: u64, operands: &[u64]) -> Vec<Field> {
        let numbers = [code, operands.len() as u64].into_iter().chain(operands.iter().copied());
        std::iter::once((3, 2)).chain(numbers.flat_map(|number| vbr(number, 6))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::written::{block, padded, stream, vbr};
    use super::*;

    /// LLVM drops the higher bits: a code beyond is another there.
    #[test]
    fn codes_ids_and_counts_have_32_bits() {
        let record = |code, count| [vec![(3, 2)], vbr(code, 6), vbr(count, 6)].concat();
        let begun = |id| [vec![(1, 2)], vbr(id, 8), vbr(3, 4)].concat();
        for (fields, is_read) in [
            (record(4, 0), true),
            (record(4 | 1 << 32, 0), false),
            (record(4, 1 << 32), false),
            (begun(11 | 1 << 32), false),
        ] {
            let bytes = stream(&fields);
            assert_eq!(Cursor::new(&bytes).next().is_ok(), is_read, "{fields:?}");
        }
    }

    /// As LLVM takes them: of the module alone, before its other blocks, and once.
    #[test]
    fn abbreviations_for_others_are_those_of_the_modules_first_block() {
        // For block 11: the code 4, and no operands.
        let define = [vec![(2, 2)], vbr(1, 5), vec![(1, 1)], vbr(4, 8)].concat();
        let info = block(BLOCKINFO, [vec![(3, 2)], vbr(1, 6), vbr(1, 6), vbr(11, 6), define].concat());
        // The number 4 of an abbreviation has three bits.
        let wide = padded([vec![(4, 3), (0, 3)]].concat());
        let used = [padded([vec![(1, 2)], vbr(11, 8), vbr(3, 4)].concat()), vec![(1, 32)], wide].concat();
        let read = |fields: Vec<(u64, u32)>| -> Result<u64> {
            let bytes = stream(&fields);
            let mut top = Cursor::new(&bytes);
            loop {
                match top.next()? {
                    Some(Item::Block(MODULE, mut module)) => {
                        while let Some(item) = module.next()? {
                            if let Item::Block(11, mut inner) = item
                                && let Some(Item::Record(record)) = inner.next()?
                            {
                                return Ok(record.code);
                            }
                        }
                    }
                    Some(_) => {}
                    None => return Err(top.error("nothing")),
                }
            }
        };
        let both = |first: &Vec<(u64, u32)>, then: &Vec<(u64, u32)>| [first.clone(), then.clone()].concat();
        assert_eq!(read(block(MODULE, both(&info, &used))).unwrap(), 4);
        assert!(read(both(&info, &block(MODULE, used.clone()))).is_err(), "outside");
        assert!(read(block(MODULE, both(&both(&info, &info), &used))).is_err(), "twice");
        assert!(read(block(MODULE, both(&both(&block(12, Vec::new()), &info), &used))).is_err(), "late");
    }
}
