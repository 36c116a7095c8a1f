//! How are the parts of a subset put together?
//!
//! In `OpenCL.DebugInfo.100` a `DebugFunction` names the function itself. Where the function is left out, its
//! description, which inlined code may still need, refers to `DebugInfoNone` instead.

use super::capabilities::RequiredFeatures;
use super::undefined;
use super::walk::{Cut, declared_at};
use crate::error::{Error, Result};
use crate::spirv::grammar::{OperandContext as _, Set};
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::words::{Instruction, MAGIC};
use std::ops::Range;

/// Returns the module of a subset after the walk.
pub(super) fn words(mut cut: Cut<'_, '_, '_>) -> Result<Vec<u8>> {
    let index = cut.cutter.index;
    cut.live.sort_unstable();
    cut.live.dedup();
    cut.bodies.sort_unstable_by_key(|(start, _)| *start);
    // New ids that the source module does not have follow those that were met.
    let mut next = cut.cutter.next.wrapping_sub(cut.cutter.base);
    let kept = RequiredFeatures::select(index, &cut.usage, |id| new(&cut, id).is_some());
    let header = [MAGIC, index.words().header(1), index.generator, 0, index.words().header(4)];
    let mut out = Out { words: std::mem::take(&mut cut.out), operands: Vec::new(), none: None };
    out.words.extend_from_slice(&header);
    let lines = &cut.cutter.annotations.lines;
    // Number of lines before the last one that was looked at.
    let mut passed = 0usize;
    let mut bodies = cut.bodies.iter().peekable();
    for number in &cut.live {
        while let Some((start, range)) = bodies.next_if(|(start, _)| start < number) {
            out.body(&cut, *start, range);
        }
        let before = lines.partition_point(|at| at < number);
        let line = before.checked_sub(1).filter(|_| before > passed).and_then(|last| lines.get(last)).copied();
        let Some(instruction) = index.instruction(*number as usize) else { continue };
        let dropped = match instruction.opcode {
            op::CAPABILITY => !kept.capability(instruction.word(0)),
            op::EXTENSION => !kept.extension(&instruction.string(0).0),
            _ => false,
        };
        if dropped {
            continue;
        }
        // A line holds for the instructions up to the next line.
        passed = before;
        if let Some(line) = line.and_then(|line| index.instruction(line as usize)) {
            out.line(&cut, &line);
        }
        out.instruction(&mut next, &cut, &instruction)?;
    }
    for (start, range) in bodies {
        out.body(&cut, *start, range);
    }
    if let Some(bound) = out.words.get_mut(3) {
        *bound = next;
    }
    let mut bytes = vec![0; out.words.len().saturating_mul(4)];
    for (four, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(&out.words) {
        *four = word.to_le_bytes();
    }
    cut.out = out.words;
    cut.end();
    Ok(bytes)
}

/// Returns the new id of an id that is kept.
fn new(cut: &Cut<'_, '_, '_>, id: u32) -> Option<u32> {
    cut.cutter.met(cut.cutter.index.definition(id)?)
}

struct Out {
    words: Vec<u32>,
    /// Operands of the current instruction.
    operands: Vec<u32>,
    /// Id of the subset's `DebugInfoNone`, once it is written.
    none: Option<u32>,
}

impl Out {
    fn push(&mut self, opcode: u16, operands: &[u32]) {
        self.words.push((operands.len() as u32).wrapping_add(1) << 16 | u32::from(opcode));
        self.words.extend_from_slice(operands);
    }

    /// Writes a function with the line of its declaration.
    fn body(&mut self, cut: &Cut<'_, '_, '_>, start: u32, range: &Range<usize>) {
        if let Some(line) = declared_at(cut.cutter.index, start as usize) {
            self.line(cut, &line);
        }
        self.words.extend_from_slice(cut.words.get(range.clone()).unwrap_or_default());
    }

    /// Writes a line if its file is kept.
    fn line(&mut self, cut: &Cut<'_, '_, '_>, line: &Instruction<'_>) {
        match line.opcode {
            op::LINE => {
                if let Some(file) = new(cut, line.word(0)) {
                    self.push(op::LINE, &[file, line.word(1), line.word(2)]);
                }
            }
            _ => self.push(op::NO_LINE, &[]),
        }
    }

    fn instruction(&mut self, bound: &mut u32, cut: &Cut<'_, '_, '_>, instruction: &Instruction<'_>) -> Result<()> {
        let index = cut.cutter.index;
        let new = |id: u32| new(cut, id);
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        operands.extend((0..instruction.len()).map(|at| instruction.word(at)));
        match instruction.opcode {
            op::ENTRY_POINT => {
                let function = operands.get(1).copied().unwrap_or(0);
                let interface = instruction.after_string(2);
                let ids: Vec<u32> = operands.iter().skip(interface).filter_map(|id| new(*id)).collect();
                operands.truncate(interface);
                if let Some(word) = operands.get_mut(1) {
                    *word = new(function).ok_or_else(|| undefined(instruction, function))?;
                }
                operands.extend(ids);
            }
            op::GROUP_DECORATE => operands = operands.iter().filter_map(|id| new(*id)).collect(),
            op::GROUP_MEMBER_DECORATE => {
                let group = operands.first().and_then(|group| new(*group));
                let pairs = operands.get(1..).unwrap_or_default().as_chunks::<2>().0;
                let kept = pairs.iter().filter_map(|[id, member]| Some([new(*id)?, *member]));
                operands = group.into_iter().chain(kept.flatten()).collect();
            }
            _ => {
                let weak = weak_operand(index, instruction);
                let mut bad = None;
                index.for_each_id(instruction, |at, _| {
                    let Some(word) = operands.get_mut(at) else { return };
                    match new(*word) {
                        Some(id) => *word = id,
                        None if Some(at) == weak => *word = self.none(bound, instruction, &new),
                        None => bad = Some(*word),
                    }
                });
                if let Some(id) = bad {
                    return Err(undefined(instruction, id));
                }
            }
        }
        if operands.len() >= usize::from(u16::MAX) {
            return Err(Error::at(instruction.offset, "the instruction is too long"));
        }
        self.push(instruction.opcode, &operands);
        self.operands = operands;
        Ok(())
    }

    /// Returns the id of `DebugInfoNone`, and writes it before its first use.
    fn none(&mut self, bound: &mut u32, user: &Instruction<'_>, new: &impl Fn(u32) -> Option<u32>) -> u32 {
        if let Some(none) = self.none {
            return none;
        }
        let id = *bound;
        *bound = bound.wrapping_add(1);
        // All debug instructions have type void, and the set is that of the user.
        let [kind, set] = [0, 2].map(|at| new(user.word(at)).unwrap_or(0));
        self.push(op::EXT_INST, &[kind, id, set, NONE]);
        self.none = Some(id);
        id
    }
}

/// Whether a set of extended instructions has no effect on execution.
pub(super) fn non_semantic(index: &crate::spirv::index::Index<'_>, import: &Instruction<'_>) -> bool {
    import.opcode == op::EXT_INST_IMPORT
        && (import.string(1).0.starts_with("NonSemantic.") || index.set(import.word(0)) == Set::ShaderDebug)
}

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
