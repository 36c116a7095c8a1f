//! Which instructions say something of what another one defines?
//!
//! Names, decorations, execution modes and the like refer to their target, and nothing refers to them: they stay where
//! their target does. So do the second halves of long instructions, and debug information about variables and functions.

use crate::error::{Error, Result};
use crate::spirv::grammar::{self, Set};
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What is said of what.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The number of the instruction that defines the target, and that of the one that says something of it; sorted.
    notes: Vec<(u32, u32)>,
    /// Where the notes about each [`STRIDE`] of instructions begin: to search all for each would cost more than the rest.
    starts: Vec<u32>,
    /// Instructions that every subset has.
    pub(super) always: Vec<u32>,
    /// `OpLine` and `OpNoLine` outside of functions.
    pub(super) lines: Vec<u32>,
    linked: HashSet<u32>,
    indirect: HashSet<u32>,
    /// Extended instruction sets of which not all operands are ids, or may not be.
    pub(super) doubtful: HashSet<u32>,
}

/// Instructions whose notes are looked for together.
const STRIDE: usize = 64;

const SOURCE_CONTINUED: u16 = 2;
const SOURCE: u16 = 3;
const SOURCE_EXTENSION: u16 = 4;
const MEMBER_NAME: u16 = 6;
const MEMBER_DECORATE: u16 = 72;
pub(super) const GROUP_MEMBER_DECORATE: u16 = 75;
const MODULE_PROCESSED: u16 = 330;
const MEMBER_DECORATE_STRING: u16 = 5633;

impl Notes {
    pub(super) fn of(index: &Index<'_>) -> Result<Notes> {
        let mut notes = Notes::default();
        let mut kernels: HashMap<&str, Vec<u32>> = HashMap::new();
        for entry in &index.entry_points {
            kernels.entry(&entry.name).or_default().push(entry.function);
        }
        let mut next = 0;
        for function in &index.functions {
            notes.scan(index, next..function.instructions.start, &kernels)?;
            next = function.instructions.end;
        }
        notes.scan(index, next..index.len(), &kernels)?;
        notes.notes.sort_unstable();
        notes.notes.shrink_to_fit();
        let mut rest = notes.notes.iter().enumerate().peekable();
        for begin in (0..index.len().saturating_add(STRIDE)).step_by(STRIDE) {
            while rest.next_if(|(_, (target, _))| (*target as usize) < begin).is_some() {}
            notes.starts.push(rest.peek().map_or(notes.notes.len(), |(at, _)| *at) as u32);
        }
        Ok(notes)
    }

    /// Which notes are about what the instructions of a range define.
    pub(super) fn on(&self, range: &Range<usize>) -> Range<usize> {
        self.first(range.start)..self.first(range.end)
    }

    /// The first note about what an instruction or one behind it defines.
    fn first(&self, number: usize) -> usize {
        let start = |stride: usize| self.starts.get(stride).map_or(self.notes.len(), |start| *start as usize);
        let stride = number / STRIDE;
        let (from, to) = (start(stride), start(stride.saturating_add(1)));
        let near = self.notes.get(from..to).unwrap_or_default();
        from.saturating_add(near.partition_point(|(target, _)| (*target as usize) < number))
    }

    /// A note: the numbers of the target and of what says something of it.
    pub(super) fn note_at(&self, nth: usize) -> Option<(u32, u32)> {
        self.notes.get(nth).copied()
    }

    /// Whether an id is linked to other modules.
    pub(super) fn linked(&self, id: u32) -> bool {
        self.linked.contains(&id)
    }

    /// Whether a function is marked as callable through pointers.
    pub(super) fn indirect(&self, id: u32) -> bool {
        self.indirect.contains(&id)
    }

    /// Sorts the instructions of a range that lies in no function.
    fn scan(&mut self, index: &Index<'_>, range: Range<usize>, kernels: &HashMap<&str, Vec<u32>>) -> Result<()> {
        const REFERENCED_INDIRECTLY: u32 = rspirv::spirv::Decoration::ReferencedIndirectlyINTEL as u32;
        let mut last = None;
        for (number, instruction) in index.instructions(range) {
            let target = instruction.word(0);
            let at = number as u32;
            match instruction.opcode {
                op::DECORATE | op::DECORATE_ID | op::DECORATE_STRING => {
                    if super::links(&instruction) {
                        self.linked.insert(target);
                    }
                    if instruction.word(1) == REFERENCED_INDIRECTLY {
                        self.indirect.insert(target);
                    }
                    self.note(index, target, at);
                }
                op::NAME
                | MEMBER_NAME
                | MEMBER_DECORATE
                | MEMBER_DECORATE_STRING
                | op::EXECUTION_MODE
                | op::EXECUTION_MODE_ID
                | op::TYPE_FORWARD_POINTER => self.note(index, target, at),
                op::GROUP_DECORATE => {
                    (1..instruction.len()).for_each(|word| self.note(index, instruction.word(word), at));
                }
                GROUP_MEMBER_DECORATE => {
                    // Pairs of a type and a member; half a pair is nothing.
                    let pairs = (1..instruction.len().saturating_sub(1)).step_by(2);
                    pairs.for_each(|word| self.note(index, instruction.word(word), at));
                }
                op::TYPE_STRUCT_CONTINUED
                | op::CONSTANT_COMPOSITE_CONTINUED
                | op::SPEC_CONSTANT_COMPOSITE_CONTINUED => match last {
                    Some(last) => self.notes.push((last, at)),
                    None => return Err(misplaced(&instruction)),
                },
                op::MEMORY_MODEL
                | op::CAPABILITY
                | op::EXTENSION
                | SOURCE
                | SOURCE_CONTINUED
                | SOURCE_EXTENSION
                | MODULE_PROCESSED => self.always.push(at),
                op::LINE | op::NO_LINE => self.lines.push(at),
                op::ENTRY_POINT | 0 => {}
                op::STRING => self.string(index, &instruction, at, kernels),
                op::EXT_INST_IMPORT => {
                    let name = instruction.string(1).0;
                    let known = Set::of(&name) != Set::Other || name.starts_with("NonSemantic.");
                    if !known && name != "GLSL.std.450" {
                        self.doubtful.insert(target);
                    }
                }
                op::EXT_INST => self.extended(index, &instruction, at),
                _ => match grammar::layout(instruction.opcode) {
                    Some(layout) if layout.result.is_some() => {}
                    // What it says of what is not known, so neither is whether it may go.
                    Some(_) => return Err(misplaced(&instruction)),
                    None => return Err(super::unknown(&instruction)),
                },
            }
            if let Some(defined) = index.result(&instruction)
                && index.definition(defined) == Some(number)
            {
                last = Some(at);
            }
        }
        Ok(())
    }

    fn note(&mut self, index: &Index<'_>, target: u32, at: u32) {
        // What is said of an id that nothing defines says nothing.
        if let Some(number) = index.definition(target) {
            self.notes.push((number as u32, at));
        }
    }

    /// `kernel_arg_type.<kernel>.<types>` and `kernel_arg_type_qual.<kernel>.<qualifiers>` of the LLVM translator belong to
    /// a kernel though no id says so. Of kernels `a` and `a.b` the longer name is meant.
    fn string(&mut self, index: &Index<'_>, instruction: &Instruction<'_>, at: u32, kernels: &HashMap<&str, Vec<u32>>) {
        let text = instruction.string(1).0;
        let rest = text.strip_prefix("kernel_arg_type.").or_else(|| text.strip_prefix("kernel_arg_type_qual."));
        let Some(rest) = rest else { return };
        let mut ends = rest.match_indices('.').map(|(end, _)| end).rev();
        let named = ends.find_map(|end| kernels.get(rest.get(..end)?));
        for function in named.into_iter().flatten() {
            self.note(index, *function, at);
        }
    }

    /// Debug information that nothing refers to is kept with what it is about.
    fn extended(&mut self, index: &Index<'_>, instruction: &Instruction<'_>, at: u32) {
        /// Of the sets of debug information: a global variable, an imported entity, a function, what a build made.
        const GLOBAL_VARIABLE: u32 = 18;
        const FUNCTION: u32 = 20;
        const IMPORTED_ENTITY: u32 = 34;
        const BUILD_IDENTIFIER: u32 = 105;
        const STORAGE_PATH: u32 = 106;
        const ENTRY_POINT: u32 = 107;
        use crate::spirv::operands::Surroundings as _;
        let set = index.set(instruction.word(2));
        let about = match (set, instruction.word(3)) {
            (Set::OpenClDebug | Set::ShaderDebug, GLOBAL_VARIABLE) => 11,
            (Set::OpenClDebug | Set::ShaderDebug, IMPORTED_ENTITY) => 7,
            (Set::OpenClDebug, FUNCTION) => super::debug::FUNCTION_OPERAND,
            (Set::ShaderDebug, ENTRY_POINT) => 4,
            (Set::ShaderDebug, BUILD_IDENTIFIER | STORAGE_PATH) => {
                self.always.push(at);
                return;
            }
            (Set::Other, _) => 4,
            _ => return,
        };
        self.note(index, instruction.word(about), at);
    }
}

fn misplaced(instruction: &Instruction<'_>) -> Error {
    let name = grammar::name(instruction.opcode);
    let error = Error::at(instruction.offset, format!("{name} outside of functions cannot be taken apart"));
    error.with_remedy("the module can be kept whole, but not be taken apart")
}
