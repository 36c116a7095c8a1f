//! Which functions of OpenCL.std are called with a pointer to another type than drivers have them for?
//!
//! Drivers look for a function by the types of its operands, and clang 22 writes some that OpenCL C lacks: pointers to tables where
//! functions take pointers to their numbers. Tried with Intel's OpenCL CPU driver 2026.2 and with ocloc 26.27: each function that takes a
//! pointer, in each kind of memory, with pointers to its numbers and to nine other types.

use super::op::*;
use super::overloads::Number;
use super::words::Instruction;
use rspirv::spirv::OpenclStd100Op;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Type that a pointer has to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pointee {
    /// One number of the result's.
    ElementOfResult,
    /// One number of the first operand's.
    ElementOfOperand,
    /// The result's type.
    Result,
    /// As many integers of 32 bits as the result has numbers.
    Int32s,
    /// One half.
    Half,
    /// Any number, or vector of numbers.
    Number,
}

/// Functions that take a pointer: the place of this operand, and the type that it has to lead to.
#[rustfmt::skip]
const WITH_POINTER: [(OpenclStd100Op, usize, Pointee); 18] = [
    (OpenclStd100Op::fract, 1, Pointee::Result), (OpenclStd100Op::modf, 1, Pointee::Result),
    (OpenclStd100Op::sincos, 1, Pointee::Result), (OpenclStd100Op::frexp, 1, Pointee::Int32s),
    (OpenclStd100Op::lgamma_r, 1, Pointee::Int32s), (OpenclStd100Op::remquo, 2, Pointee::Int32s),
    (OpenclStd100Op::vloadn, 1, Pointee::ElementOfResult), (OpenclStd100Op::vstoren, 2, Pointee::ElementOfOperand),
    (OpenclStd100Op::vload_half, 1, Pointee::Half), (OpenclStd100Op::vload_halfn, 1, Pointee::Half),
    (OpenclStd100Op::vloada_halfn, 1, Pointee::Half), (OpenclStd100Op::vstore_half, 2, Pointee::Half),
    (OpenclStd100Op::vstore_half_r, 2, Pointee::Half), (OpenclStd100Op::vstore_halfn, 2, Pointee::Half),
    (OpenclStd100Op::vstore_halfn_r, 2, Pointee::Half), (OpenclStd100Op::vstorea_halfn, 2, Pointee::Half),
    (OpenclStd100Op::vstorea_halfn_r, 2, Pointee::Half), (OpenclStd100Op::prefetch, 0, Pointee::Number),
];

/// Word of the first operand.
const FIRST: usize = 4;

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Pointees<'m> {
    structures: HashSet<u32>,
    /// Uses of functions that take a pointer, with its word and what it has to lead to.
    calls: Vec<(Instruction<'m>, usize, Pointee)>,
}

/// Tells what a function takes a pointer to, and at which word.
#[inline]
fn pointer_of(function: u32) -> Option<(usize, Pointee)> {
    let found = WITH_POINTER.iter().find(|(known, ..)| *known as u32 == function);
    found.map(|(_, place, pointee)| (FIRST.saturating_add(*place), *pointee))
}

impl<'m> Pointees<'m> {
    /// Looks at an instruction; `opencl` is the set OpenCL.std.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'m>, opencl: Option<u32>) {
        match instruction.opcode {
            TYPE_STRUCT => _ = self.structures.insert(instruction.word(0)),
            EXT_INST
                if opencl == Some(instruction.word(2))
                    && let Some((at, wanted)) = pointer_of(instruction.word(3)) =>
            {
                self.calls.push((*instruction, at, wanted));
            }
            _ => {}
        }
    }

    /// Adds the values whose types decide.
    pub(super) fn ask(&self, asked: &mut HashSet<u32>) {
        asked.extend(self.calls.iter().flat_map(|(call, at, _)| [call.word(*at), call.word(FIRST)]));
    }

    /// Returns what no driver has a function for, and what those for Intel's GPUs have none for. `values` are those that were asked
    /// for.
    pub(super) fn finish(
        self,
        values: &HashMap<u32, Instruction<'_>>,
        numbers: &HashMap<u32, Number>,
        pointers: &HashMap<u32, (u32, u32)>,
    ) -> [BTreeSet<&'static str>; 2] {
        let [mut found, mut on_gpus] = [BTreeSet::new(), BTreeSet::new()];
        let kind = |value: u32| values.get(&value).map(|value| value.word(0));
        for (call, at, wanted) in &self.calls {
            // Another rule tells of values that are no pointers.
            let Some((_, pointee)) = kind(call.word(*at)).and_then(|kind| pointers.get(&kind)) else { continue };
            let number = |kind: Option<u32>| kind.and_then(|kind| numbers.get(&kind)).copied();
            let (result, operand) = (number(Some(call.word(0))), number(kind(call.word(FIRST))));
            let there = number(Some(*pointee));
            if there.is_some_and(|there| is_taken(*wanted, there, result, operand)) {
                continue;
            }
            // The driver for CPUs goes by the result. clang 22 makes a structure of a constant table whose tail is zero.
            let is_integer = there.is_some_and(|there| !there.is_float && there.lanes == 1);
            let is_by_result = *wanted == Pointee::ElementOfResult && (is_integer || self.structures.contains(pointee));
            let lacking = if is_by_result { &mut on_gpus } else { &mut found };
            lacking.insert("a function of OpenCL with a pointer to another type than it takes");
        }
        [found, on_gpus]
    }
}

/// Whether a function takes a pointer to a number, or a vector of numbers.
fn is_taken(wanted: Pointee, number: Number, result: Option<Number>, operand: Option<Number>) -> bool {
    let one = |of: Option<Number>| of.map(|of| Number { lanes: 1, ..of });
    match wanted {
        Pointee::ElementOfResult => one(result) == Some(number),
        Pointee::ElementOfOperand => one(operand) == Some(number),
        Pointee::Result => result == Some(number),
        Pointee::Int32s => {
            let has_width = !number.is_float && number.width == 32;
            has_width && result.is_some_and(|result| result.lanes == number.lanes)
        }
        Pointee::Half => number.is_float && number.is_plain && number.width == 16 && number.lanes == 1,
        Pointee::Number => true,
    }
}
