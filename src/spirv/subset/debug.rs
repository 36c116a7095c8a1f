//! How does debug information refer to functions that are left out?
//!
//! In `OpenCL.DebugInfo.100` the description of a function names the function itself. Where that is left out, the
//! description, which inlined code may still need, refers to `DebugInfoNone` instead.

use crate::spirv::grammar::Set;
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::operands::Surroundings as _;
use crate::spirv::words::Instruction;

/// The operand word of `DebugFunction` that is the function, after type, result, set and number.
pub(super) const FUNCTION_OPERAND: usize = 13;

const FUNCTION: u32 = 20;
/// `DebugInfoNone`.
pub(super) const NONE: u32 = 0;

/// The operand of an instruction that names a function without needing it.
pub(super) fn weak_operand(index: &Index<'_>, instruction: &Instruction<'_>) -> Option<usize> {
    let describes = instruction.opcode == op::EXT_INST
        && instruction.word(3) == FUNCTION
        && index.set(instruction.word(2)) == Set::OpenClDebug;
    (describes && instruction.len() > FUNCTION_OPERAND).then_some(FUNCTION_OPERAND)
}
