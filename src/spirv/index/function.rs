//! What belongs to a function?

use std::ops::Range;

/// A function, declared or defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its id.
    pub id: u32,
    /// The id of the type of what it returns.
    pub result_type: u32,
    /// The id of its `OpTypeFunction`.
    pub function_type: u32,
    /// The mask of function control.
    pub control: u32,
    /// The ids of its parameters; their types are the result types of the instructions that define them.
    pub parameters: Vec<u32>,
    /// The numbers of its instructions, from `OpFunction` to `OpFunctionEnd`.
    pub instructions: Range<usize>,
    /// Whether it has a body; a function without one is defined in another module or by the device.
    pub defined: bool,
}

/// What `OpExecutionMode` or `OpExecutionModeId` says of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// The id of the entry point's function.
    pub function: u32,
    /// The execution mode.
    pub mode: u32,
    /// Whether the operands are ids of constants.
    pub ids: bool,
    /// The number of the instruction; the mode's operands begin at its operand word 2.
    pub at: usize,
}
