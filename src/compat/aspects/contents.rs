//! What do the types of a module contain that needs an aspect?
//!
//! Structures, arrays and vectors contain what their members do; pointers do not contain what they point to.

use crate::spirv::index::Index;
use crate::spirv::op;

/// IEEE half precision.
pub(super) const HALF: u8 = 1;
/// IEEE double precision.
pub(super) const DOUBLE: u8 = 2;
/// An image, alone or with a sampler.
pub(super) const IMAGE: u8 = 4;
/// A cooperative (joint) matrix.
pub(super) const MATRIX: u8 = 8;

/// The contents of each type.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// By the number of the declaring instruction.
    masks: Vec<u8>,
    /// Of all types together.
    pub(super) any: u8,
}

impl Contents {
    pub(super) fn scan(index: &Index<'_>) -> Contents {
        let end = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        let mut contents = Contents { masks: vec![0; end], any: 0 };
        let mut last = 0;
        for (number, instruction) in index.instructions(0..end) {
            let inner = |id: u32| contents.of_type(index, id);
            let mask = match instruction.opcode {
                op::TYPE_FLOAT => match (instruction.word(1), instruction.len()) {
                    // With a third operand the width is that of another encoding (bfloat16).
                    (16, 2) => HALF,
                    (64, 2) => DOUBLE,
                    _ => 0,
                },
                op::TYPE_VECTOR | op::TYPE_MATRIX | op::TYPE_ARRAY | op::TYPE_RUNTIME_ARRAY => {
                    inner(instruction.word(1))
                }
                op::TYPE_STRUCT => (1..instruction.len()).fold(0, |mask, at| mask | inner(instruction.word(at))),
                op::TYPE_STRUCT_CONTINUED => {
                    let more = (0..instruction.len()).fold(0, |mask, at| mask | inner(instruction.word(at)));
                    if let Some(mask) = contents.masks.get_mut(last) {
                        *mask |= more;
                    }
                    continue;
                }
                op::TYPE_IMAGE | op::TYPE_SAMPLED_IMAGE => IMAGE,
                op::TYPE_COOPERATIVE_MATRIX => MATRIX | inner(instruction.word(1)),
                _ => continue,
            };
            last = number;
            contents.any |= mask;
            if let Some(place) = contents.masks.get_mut(number) {
                *place = mask;
            }
        }
        contents
    }

    /// Bits of the kinds of values that a type contains.
    #[inline]
    pub(super) fn of_type(&self, index: &Index<'_>, id: u32) -> u8 {
        index.definition(id).and_then(|number| self.masks.get(number)).copied().unwrap_or(0)
    }

    /// Bits of the kinds of values that a pointer of this type points to; none where the type is no pointer, or does
    /// not say.
    pub(super) fn of_pointee(&self, index: &Index<'_>, pointer: u32) -> u8 {
        match index.defining(pointer).filter(|kind| kind.opcode == op::TYPE_POINTER) {
            Some(kind) => self.of_type(index, kind.word(2)),
            None => 0,
        }
    }
}
