//! Which matrices does a module declare (`SPV_KHR_cooperative_matrix`)?
//!
//! Compilers for Intel's GPUs have functions for the shapes that a device has, and refuse modules with another.

use super::op::*;
use super::overloads::Number;
use super::words::Instruction;
use rspirv::spirv::Capability;
use std::collections::{BTreeSet, HashMap};

const CAPABILITY_OF: u32 = Capability::CooperativeMatrixKHR as u32;
/// Matrices that are kept; compilers declare under ten.
const MAX_MATRICES: usize = 256;

/// Type of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Matrix {
    /// Type of the elements: whether these are floats of an encoding of SPIR-V's own, and their bits.
    pub(crate) is_float: bool,
    pub(crate) width: u32,
    /// Use (`CooperativeMatrixUse`): 0 is A, 1 is B, 2 an accumulator.
    pub(crate) usage: u32,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
}

/// Matrices of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Matrices {
    pub(crate) known: BTreeSet<Matrix>,
    /// Whether there are others, whose sizes or elements are not known before they are compiled.
    pub(crate) has_others: bool,
}

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    is_declared: bool,
    /// Constants of one word.
    constants: HashMap<u32, u32>,
    found: Matrices,
}

impl Walk {
    /// Looks at an instruction before the first function, with the types of numbers that stand before it.
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>, numbers: &HashMap<u32, Number>) {
        let word = |at: usize| instruction.word(at);
        match instruction.opcode {
            CAPABILITY => self.is_declared |= word(0) == CAPABILITY_OF,
            CONSTANT if self.is_declared && instruction.len() == 3 => _ = self.constants.insert(word(1), word(2)),
            TYPE_COOPERATIVE_MATRIX => {
                let matrix = numbers.get(&word(1)).and_then(|number| {
                    let [rows, columns, usage] = [3, 4, 5].map(|at| self.constants.get(&word(at)).copied());
                    let Number { is_float, width, .. } = *number;
                    Some(Matrix { is_float, width, usage: usage?, rows: rows?, columns: columns? })
                });
                match matrix.filter(|_| self.found.known.len() < MAX_MATRICES) {
                    Some(matrix) => _ = self.found.known.insert(matrix),
                    None => self.found.has_others = true,
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Matrices {
        self.found
    }
}
