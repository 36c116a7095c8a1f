//! Which functions do compilers for Intel's GPUs not take, for their parameters or for how they read memory?
//!
//! IGC 2.40 refuses kernels with a pointer to memory of any kind among their parameters. Functions that are not to be inlined, as
//! compilers write them without optimisation, end it where they read a vector of integers of 64 bits at an odd place, as packed
//! structures have them: on GPUs that have no such integers (Tiger Lake, DG2), not on PVC and Battlemage. Tried on these with 1,760
//! kernels and 1,408 functions: each type of number, length of vectors, alignment and kind of memory. Intel's OpenCL CPU driver
//! takes all.

use super::op::*;
use super::overloads::Number;
use super::words::Instruction;
use rspirv::spirv::{FunctionControl, MemoryAccess, StorageClass};
use std::collections::{BTreeSet, HashMap, HashSet};

const GENERIC: u32 = StorageClass::Generic as u32;
const PRIVATE: u32 = StorageClass::Function as u32;
const NOT_INLINED: u32 = FunctionControl::DONT_INLINE.bits();
const ALIGNED: u32 = MemoryAccess::ALIGNED.bits();

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Functions<'m> {
    /// Types of functions with a pointer to memory of any kind among their parameters.
    generic: HashSet<u32>,
    /// Functions of such types.
    with_generic: Vec<u32>,
    /// Function that is walked, where it is not to be inlined.
    current: Option<u32>,
    /// Reads of vectors of integers of 64 bits at odd places, with their functions.
    reads: Vec<(u32, Instruction<'m>)>,
}

impl<'m> Functions<'m> {
    /// Looks at an instruction, with the types of numbers and of pointers that stand before it.
    #[inline]
    pub(super) fn visit(
        &mut self,
        instruction: &Instruction<'m>,
        numbers: &HashMap<u32, Number>,
        pointers: &HashMap<u32, (u32, u32)>,
    ) {
        let word = |at: usize| instruction.word(at);
        match instruction.opcode {
            TYPE_FUNCTION => {
                let is_generic = |at| pointers.get(&word(at)).is_some_and(|(memory, _)| *memory == GENERIC);
                if (2..instruction.len()).any(is_generic) {
                    self.generic.insert(word(0));
                }
            }
            FUNCTION => {
                self.current = (word(2) & NOT_INLINED != 0).then(|| word(1));
                if self.generic.contains(&word(3)) {
                    self.with_generic.push(word(1));
                }
            }
            LOAD => {
                let Some(function) = self.current else { return };
                let is_odd = word(3) & ALIGNED != 0 && word(4) < 4;
                let is_wide =
                    |number: &Number| !number.is_float && number.width == 64 && number.lanes != 1 && number.lanes != 3;
                if is_odd && numbers.get(&word(0)).is_some_and(is_wide) {
                    self.reads.push((function, *instruction));
                }
            }
            _ => {}
        }
    }

    /// Adds the values whose types decide.
    pub(super) fn ask(&self, asked: &mut HashSet<u32>) {
        asked.extend(self.reads.iter().map(|(_, read)| read.word(2)));
    }

    /// Returns what drivers for GPUs do not take. `values` are those that were asked for.
    pub(super) fn finish(
        self,
        values: &HashMap<u32, Instruction<'_>>,
        pointers: &HashMap<u32, (u32, u32)>,
        is_kernel: impl Fn(u32) -> bool,
    ) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        if self.with_generic.iter().any(|function| is_kernel(*function)) {
            found.insert("a kernel with a pointer to memory of any kind among its parameters");
        }
        let is_private = |pointer: u32| {
            let kind = values.get(&pointer).map(|value| value.word(0));
            kind.and_then(|kind| pointers.get(&kind)).is_some_and(|(memory, _)| *memory == PRIVATE)
        };
        if self.reads.iter().any(|(function, read)| !is_kernel(*function) && !is_private(read.word(2))) {
            found.insert("a vector of integers of 64 bits that a function which is not inlined reads at an odd place");
        }
        found
    }
}
