//! How much local and private memory do kernels declare, and how many bytes of arguments do they take?
//!
//! Compilers and drivers have limits for both, and refuse the whole module. Sizes are those of [`types`](super::types), found in
//! the pass that finds the other facts: of structures that are packed they are bounds.

use super::kernel;
use super::op::*;
use super::words::Instruction;
use crate::bytes::align_up;
use rspirv::spirv::StorageClass;
use std::collections::HashMap;

const FUNCTION_STORAGE: u32 = StorageClass::Function as u32;
const LOCAL: u32 = StorageClass::Workgroup as u32;
/// Bytes of a pointer, and of a handle.
const POINTER: u64 = 8;

/// Local memory that every GPU with a known size has, in bytes.
const LEAST_OF_A_GPU: u64 = 48 << 10;

/// Private memory of a function that Intel's GPUs have been seen to place, in bytes.
const KNOWN_PRIVATE: u64 = 128 << 10;

/// Size and alignment of a value in bytes.
type Layout = (u64, u64);

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    layouts: HashMap<u32, Layout>,
    /// Low words of constants, which may be lengths.
    constants: HashMap<u32, u32>,
    /// Values that pointers of the two storage classes lead to.
    pointees: HashMap<u32, u32>,
    /// Bytes of the parameters of types of functions.
    parameters: HashMap<u32, u64>,
    /// Bytes of all variables in local memory.
    local: u64,
    /// Bytes of the variables of the function that is walked, and the most of any.
    private: u64,
    most_private: u64,
}

impl Sizes {
    /// Looks at an instruction that stands before all functions.
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>) {
        let word = |at: usize| instruction.word(at);
        match instruction.opcode {
            TYPE_BOOL => self.number(word(0), 8),
            TYPE_INT | TYPE_FLOAT => self.number(word(0), word(1)),
            TYPE_VECTOR => {
                let count = if word(2) == 3 { 4 } else { word(2) };
                let size = self.layout(word(1)).0.saturating_mul(count.into());
                self.layouts.insert(word(0), (size, size.checked_next_power_of_two().unwrap_or(size)));
            }
            TYPE_ARRAY => {
                let (size, align) = self.layout(word(1));
                let length = self.constants.get(&word(2)).copied().unwrap_or_default();
                self.layouts.insert(word(0), (size.saturating_mul(length.into()), align));
            }
            TYPE_STRUCT => {
                let members = (1..instruction.len()).map(|at| self.layout(word(at)));
                let (end, most) = members.fold((0u64, 1), |(end, most), (size, align)| {
                    let begin = align_up(end, align).unwrap_or(u64::MAX);
                    (begin.saturating_add(size), align.max(most))
                });
                self.layouts.insert(word(0), (align_up(end, most).unwrap_or(u64::MAX), most));
            }
            TYPE_POINTER if [FUNCTION_STORAGE, LOCAL].contains(&word(1)) => {
                self.pointees.insert(word(0), word(2));
            }
            CONSTANT | SPEC_CONSTANT => _ = self.constants.insert(word(1), word(2)),
            TYPE_FUNCTION => {
                // A kernel's pointer to memory of a function stands for a value.
                let value = |kind: u32| self.pointees.get(&kind).copied().unwrap_or(kind);
                let sizes = (2..instruction.len()).map(|at| self.layout(value(word(at))).0);
                let sum = sizes.fold(0, u64::saturating_add);
                self.parameters.insert(word(0), sum);
            }
            VARIABLE if word(2) == LOCAL => {
                let pointee = self.pointees.get(&word(0)).copied().unwrap_or_default();
                self.local = self.local.saturating_add(self.layout(pointee).0);
            }
            UNTYPED_VARIABLE if word(2) == LOCAL => {
                self.local = self.local.saturating_add(self.layout(word(3)).0);
            }
            FUNCTION => self.private = 0,
            _ => {}
        }
    }

    /// Looks at a variable in a function.
    pub(super) fn variable(&mut self, instruction: &Instruction<'_>) {
        let pointee = self.pointees.get(&instruction.word(0)).copied().unwrap_or_default();
        self.private = self.private.saturating_add(self.layout(pointee).0);
        self.most_private = self.most_private.max(self.private);
    }

    /// Whether a function has more private memory than each GPU is known to place: with 256 KiB PVC makes no kernel.
    pub(super) fn is_beyond_private(&self) -> bool {
        self.most_private > KNOWN_PRIVATE
    }

    fn number(&mut self, id: u32, bits: u32) {
        let bytes = u64::from(bits.div_ceil(8)).next_power_of_two();
        self.layouts.insert(id, (bytes, bytes));
    }

    /// Layout of a type; of other types that of a handle.
    fn layout(&self, id: u32) -> Layout {
        self.layouts.get(&id).copied().unwrap_or((POINTER, POINTER))
    }

    /// Returns the low word of a constant.
    pub(super) fn constant(&self, id: u32) -> Option<u32> {
        self.constants.get(&id).copied()
    }

    /// Returns the bytes of the parameters of a type of functions.
    pub(super) fn parameters(&self, signature: u32) -> u64 {
        self.parameters.get(&signature).copied().unwrap_or_default()
    }

    /// Returns the most local memory that a kernel of the module declares, or that of all variables where no device lacks it.
    pub(super) fn local_memory(&self, module: &[u8]) -> u64 {
        if self.local <= LEAST_OF_A_GPU {
            return self.local;
        }
        let kernels = kernel::kernels(module).map(|(_, kernels)| kernels).unwrap_or_default();
        kernels.iter().map(|kernel| kernel.local_memory).max().unwrap_or(self.local)
    }
}
