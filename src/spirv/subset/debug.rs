//! How does debug information refer to functions that are left out?
//!
//! In `OpenCL.DebugInfo.100` a `DebugFunction` names the function itself. Where the function is left out, its
//! description, which inlined code may still need, refers to `DebugInfoNone` instead.

use crate::spirv::grammar::Set;
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::grammar::OperandContext as _;
use crate::spirv::words::Instruction;

/// Operand word of `DebugFunction` that holds the function, after type, result, set and number.
pub(super) const FUNCTION_OPERAND: usize = 13;

const FUNCTION: u32 = 20;
/// Number of `DebugInfoNone`.
pub(super) const NONE: u32 = 0;

/// Returns the operand that names a function without needing it, where an instruction has one.
pub(super) fn weak_operand(index: &Index<'_>, instruction: &Instruction<'_>) -> Option<usize> {
    let describes = instruction.opcode == op::EXT_INST
        && instruction.word(3) == FUNCTION
        && index.set(instruction.word(2)) == Set::OpenClDebug;
    (describes && instruction.len() > FUNCTION_OPERAND).then_some(FUNCTION_OPERAND)
}
