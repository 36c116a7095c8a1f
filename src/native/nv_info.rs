//! Which attributes are in a `.nv.info` section of a cubin?
//!
//! No published document lays them down; this is what `ptxas` 12.9 and 13.5 write and NVIDIA's `cuobjdump -elf` reads
//! there. An attribute is a format byte, a kind, and a value: none (1), one byte (2) or 16 bits (3) in the two bytes that
//! follow, or as many bytes as those two say (4).

use super::Argument;
use crate::bytes;

/// Kinds whose meaning is known.
pub mod kind {
    /// Most work-items in x, y and z (`.maxntid`).
    pub const MAX_THREADS: u8 = 0x05;
    /// Required work-items in x, y and z (`.reqntid`).
    pub const REQUIRED_THREADS: u8 = 0x10;
    /// A function's symbol, and its stack frame in bytes.
    pub const FRAME_SIZE: u8 = 0x11;
    /// A function's symbol, and the bytes of stack that it needs at least.
    pub const MIN_STACK_SIZE: u8 = 0x12;
    /// A parameter.
    pub const PARAMETER: u8 = 0x17;
    /// Bytes of all parameters.
    pub const PARAMETERS_SIZE: u8 = 0x19;
    /// A function's symbol, and the most stack that it takes.
    pub const MAX_STACK_SIZE: u8 = 0x23;
    /// A function's symbol, and its registers.
    pub const REGISTERS: u8 = 0x2f;
    /// Barriers.
    pub const BARRIERS: u8 = 0x4c;
    /// In `.nv.compat`: 1 where the code is for exactly this architecture (`sm_90a`).
    pub const EXACT_ARCHITECTURE: u8 = 0x09;
}

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// One of [`kind`], or another.
    pub kind: u8,
    /// The value where it is one number.
    pub number: u16,
    /// The value where it is bytes.
    pub data: &'a [u8],
}

impl Attribute<'_> {
    /// A 32-bit word of the value.
    pub fn word(&self, index: usize) -> Option<u32> {
        bytes::u32_at(self.data, index.checked_mul(4)?)
    }
}

/// The attributes of a section; and whether they came to its end.
pub fn read(data: &[u8]) -> (Vec<Attribute<'_>>, bool) {
    let mut attributes = Vec::new();
    let mut rest = data;
    while let [format, kind, low, high, tail @ ..] = rest {
        let number = u16::from_le_bytes([*low, *high]);
        let len = match format {
            1..=3 => 0,
            4 => usize::from(number),
            _ => return (attributes, false),
        };
        let Some((value, next)) = tail.split_at_checked(len) else { return (attributes, false) };
        attributes.push(Attribute { kind: *kind, number, data: value });
        rest = next;
    }
    (attributes, rest.is_empty())
}

/// A parameter: `{u32 0; u16 ordinal; u16 offset; u32 bits}`, where the bits are, from the lowest, 8 for the alignment of
/// what it points to, 4 for its space, 6 for its bank, 14 for its size.
pub fn parameter(attribute: &Attribute<'_>) -> Option<Argument> {
    let (place, bits) = (attribute.word(1)?, attribute.word(2)?);
    Some(Argument {
        index: place & 0xffff,
        offset: Some(u64::from(place >> 16)),
        size: Some(u64::from(bits >> 18)),
        address_space: match bits >> 8 & 0xf {
            2 => Some("local"),
            4 => Some("global"),
            _ => None,
        },
        ..Argument::default()
    })
}
