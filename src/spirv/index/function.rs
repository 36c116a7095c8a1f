//! What belongs to a function?

use std::ops::Range;

/// Function, declared or defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Id of the function.
    pub id: u32,
    /// Id of the result's type.
    pub result_type: u32,
    /// Id of the `OpTypeFunction`.
    pub function_type: u32,
    /// Function control mask.
    pub control: u32,
    /// Ids of the parameters; their types are the result types of the defining instructions.
    pub parameters: Vec<u32>,
    /// Numbers of the instructions, from `OpFunction` to `OpFunctionEnd`.
    pub instructions: Range<usize>,
    /// Whether it has a body; a function without one is defined in another module or by the device.
    pub defined: bool,
}

/// Execution mode of a function (`OpExecutionMode` or `OpExecutionModeId`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Id of the entry point's function.
    pub function: u32,
    /// Number of the execution mode.
    pub mode: u32,
    /// Whether the operands are ids of constants.
    pub ids: bool,
    /// Number of the instruction; the mode's operands begin at its operand word 2.
    pub at: usize,
}
