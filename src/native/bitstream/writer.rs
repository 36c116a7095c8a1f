//! How is an LLVM bitstream written, of plain records?

/// Bits of the numbers of abbreviations in blocks: one for a blob, beside the four that all blocks have.
const WIDTH: u32 = 3;
/// Bits of those outside of blocks.
const TOP_WIDTH: u32 = 2;
/// Number of the abbreviation of a blob.
const BLOB: u64 = 4;

/// A stream that is written. Its records have no abbreviations, but for those with a blob, which there are none without.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Bits that make no byte yet, lowest first.
    bits: u64,
    /// The number of them: less than 8.
    filled: u32,
    /// Places of the lengths of the blocks that are open.
    open: Vec<usize>,
}

impl Writer {
    /// Begins a stream with its magic number.
    pub(crate) fn new() -> Self {
        Writer { bytes: b"BC\xc0\xde".to_vec(), ..Writer::default() }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Begins a block.
    pub(crate) fn begin(&mut self, id: u64) {
        self.number(1);
        self.vbr(id, 8);
        self.vbr(u64::from(WIDTH), 4);
        self.align();
        self.open.push(self.bytes.len());
        self.bytes.extend([0; 4]);
    }

    /// Ends the block that was begun last.
    pub(crate) fn end(&mut self) {
        self.number(0);
        self.align();
        let Some(place) = self.open.pop() else { return };
        let begin = place.saturating_add(4);
        let words = u32::try_from(self.bytes.len().saturating_sub(begin) / 4).unwrap_or(u32::MAX);
        if let Some(field) = self.bytes.get_mut(place..begin) {
            field.copy_from_slice(&words.to_le_bytes());
        }
    }

    /// Writes a record.
    pub(crate) fn record(&mut self, code: u64, operands: &[u64]) {
        self.number(3);
        self.vbr(code, 6);
        self.vbr(operands.len() as u64, 6);
        operands.iter().for_each(|operand| self.vbr(*operand, 6));
    }

    /// Writes a record with a blob, as the first such of its block.
    pub(crate) fn blob(&mut self, code: u64, operands: &[u64], blob: &[u8]) {
        // The code as a constant, the operands as numbers, and the blob.
        self.number(2);
        self.vbr(operands.len().saturating_add(2) as u64, 5);
        self.fixed(1, 1);
        self.vbr(code, 8);
        for _ in operands {
            self.fixed(2 << 1, 4);
            self.vbr(6, 5);
        }
        self.fixed(5 << 1, 4);
        self.number(BLOB);
        operands.iter().for_each(|operand| self.vbr(*operand, 6));
        self.vbr(blob.len() as u64, 6);
        self.align();
        self.bytes.extend_from_slice(blob);
        self.align();
    }

    /// Returns what was written.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes the number of an abbreviation.
    fn number(&mut self, number: u64) {
        self.fixed(number, if self.open.is_empty() { TOP_WIDTH } else { WIDTH });
    }

    /// Writes a number in groups of that many bits, the highest of which says whether another one follows.
    fn vbr(&mut self, mut value: u64, width: u32) {
        let high = 1 << (width - 1);
        while value >= high {
            self.fixed(value & (high - 1) | high, width);
            value >>= width - 1;
        }
        self.fixed(value, width);
    }

    /// Writes that many bits, 32 at most.
    fn fixed(&mut self, value: u64, width: u32) {
        self.bits |= value << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.bytes.push((self.bits & 0xff) as u8);
            self.bits >>= 8;
            self.filled -= 8;
        }
    }

    /// Goes on at a word of 32 bits.
    fn align(&mut self) {
        if self.filled > 0 {
            self.fixed(0, 8 - self.filled);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
