//! What is the value of a constant?

use super::index::Index;
use super::op;
use super::types::{self, Type};
use super::words::Instruction;

/// Returns the bits (up to 64) of an integer, floating-point or Boolean constant; for a specialization constant those
/// of its default. None where the id is no such constant, or is the result of an operation on constants.
pub fn constant_bits(index: &Index<'_>, id: u32) -> Option<u64> {
    let instruction = index.defining(id)?;
    match instruction.opcode {
        op::CONSTANT_TRUE | op::SPEC_CONSTANT_TRUE => Some(1),
        op::CONSTANT_FALSE | op::SPEC_CONSTANT_FALSE => Some(0),
        op::CONSTANT_NULL => match types::resolve(index, instruction.word(0))? {
            Type::Int { .. } | Type::Float { .. } | Type::Bool => Some(0),
            _ => None,
        },
        op::CONSTANT | op::SPEC_CONSTANT => Some(literal(&instruction)),
        _ => None,
    }
}

/// Returns the first two words of the literal of `OpConstant` or `OpSpecConstant`.
fn literal(instruction: &Instruction<'_>) -> u64 {
    let high = if instruction.len() > 3 { instruction.word(3) } else { 0 };
    u64::from(high) << 32 | u64::from(instruction.word(2))
}

/// Returns the ids of the parts of a composite constant, including those of continued instructions; none where the id
/// is no composite.
pub fn constant_parts(index: &Index<'_>, id: u32) -> Option<Vec<u32>> {
    let first = index.definition(id)?;
    let mut parts = Vec::new();
    for (number, instruction) in index.instructions(first..index.len()) {
        let from = match (number == first, instruction.opcode) {
            (true, op::CONSTANT_COMPOSITE | op::SPEC_CONSTANT_COMPOSITE) => 2,
            (true, _) => return None,
            (false, op::CONSTANT_COMPOSITE_CONTINUED | op::SPEC_CONSTANT_COMPOSITE_CONTINUED) => 0,
            _ => break,
        };
        parts.extend((from..instruction.len()).map(|at| instruction.word(at)));
    }
    Some(parts)
}
