//! Which instructions annotate the result of another one?
//!
//! Names, decorations, execution modes and the like refer to their target, and nothing refers to them: they stay where
//! their target stays. So do the continuations of long instructions, and debug information about variables and
//! functions.

use crate::error::{Error, Result};
use crate::spirv::grammar::{self, Set};
use crate::spirv::index::Index;
use crate::spirv::kernel::argument::DOTS;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Annotations (names, decorations, modes, continuations, debug information) by target instruction.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    /// Numbers of the target's instruction and of the annotation; sorted.
    annotations: Vec<(u32, u32)>,
    /// Begin of the annotations of each [`STRIDE`] instructions, so that a lookup searches a short range.
    starts: Vec<u32>,
    /// Instructions that every subset has.
    pub(super) always: Vec<u32>,
    /// `OpLine` and `OpNoLine` outside of functions.
    pub(super) lines: Vec<u32>,
    linked: HashSet<u32>,
    indirect: HashSet<u32>,
    /// Extended instruction sets whose operands are not, or perhaps not, all ids.
    pub(super) unclear_sets: HashSet<u32>,
}

/// Number of instructions per entry of `starts`.
const STRIDE: usize = 64;

const SOURCE_CONTINUED: u16 = 2;
const SOURCE: u16 = 3;
const SOURCE_EXTENSION: u16 = 4;
const MEMBER_NAME: u16 = 6;
const MEMBER_DECORATE: u16 = 72;
const MODULE_PROCESSED: u16 = 330;
const MEMBER_DECORATE_STRING: u16 = 5633;

impl Annotations {
    pub(super) fn collect(index: &Index<'_>) -> Result<Annotations> {
        let mut annotations = Annotations::default();
        let mut kernels: HashMap<&str, Vec<u32>> = HashMap::new();
        for entry in &index.entry_points {
            kernels.entry(&entry.name).or_default().push(entry.function);
        }
        let mut next = 0;
        for function in &index.functions {
            annotations.scan(index, next..function.instructions.start, &kernels)?;
            next = function.instructions.end;
        }
        annotations.scan(index, next..index.len(), &kernels)?;
        annotations.annotations.sort_unstable();
        annotations.annotations.shrink_to_fit();
        let mut rest = annotations.annotations.iter().enumerate().peekable();
        for begin in (0..index.len().saturating_add(STRIDE)).step_by(STRIDE) {
            while rest.next_if(|(_, (target, _))| (*target as usize) < begin).is_some() {}
            annotations.starts.push(rest.peek().map_or(annotations.annotations.len(), |(at, _)| *at) as u32);
        }
        Ok(annotations)
    }

    /// Returns the range of annotations whose targets are in a range of instructions.
    pub(super) fn in_range(&self, range: &Range<usize>) -> Range<usize> {
        self.first(range.start)..self.first(range.end)
    }

    /// Returns the first annotation of an instruction or a later one.
    fn first(&self, number: usize) -> usize {
        let start = |stride: usize| self.starts.get(stride).map_or(self.annotations.len(), |start| *start as usize);
        let stride = number / STRIDE;
        let (from, to) = (start(stride), start(stride.saturating_add(1)));
        let near = self.annotations.get(from..to).unwrap_or_default();
        from.saturating_add(near.partition_point(|(target, _)| (*target as usize) < number))
    }

    /// Returns an annotation: the numbers of its target and of itself.
    pub(super) fn get(&self, nth: usize) -> Option<(u32, u32)> {
        self.annotations.get(nth).copied()
    }

    /// Whether an id has linkage.
    pub(super) fn linked(&self, id: u32) -> bool {
        self.linked.contains(&id)
    }

    /// Whether a function may be called through pointers.
    pub(super) fn indirect(&self, id: u32) -> bool {
        self.indirect.contains(&id)
    }

    /// Collects the annotations in a range outside of functions.
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
                op::GROUP_MEMBER_DECORATE => {
                    // Operands are pairs of type and member; an incomplete pair is ignored.
                    let pairs = (1..instruction.len().saturating_sub(1)).step_by(2);
                    pairs.for_each(|word| self.note(index, instruction.word(word), at));
                }
                op::TYPE_STRUCT_CONTINUED
                | op::CONSTANT_COMPOSITE_CONTINUED
                | op::SPEC_CONSTANT_COMPOSITE_CONTINUED => match last {
                    Some(last) => self.annotations.push((last, at)),
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
                    let known = Set::from_name(&name) != Set::Other || name.starts_with("NonSemantic.");
                    if !known && name != "GLSL.std.450" {
                        self.unclear_sets.insert(target);
                    }
                }
                op::EXT_INST => self.extended(index, &instruction, at),
                _ => match grammar::layout(instruction.opcode) {
                    Some(layout) if layout.result.is_some() => {}
                    // The instruction's operands are unknown, so whether it may be removed is unknown too.
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
        // Annotations of an undefined id are ignored.
        if let Some(number) = index.definition(target) {
            self.annotations.push((number as u32, at));
        }
    }

    /// Adds `kernel_arg_type.<kernel>.<types>` and `kernel_arg_type_qual.<kernel>.<qualifiers>` of the LLVM translator
    /// as annotations of the kernel, which they name only in their text. Of kernels `a` and `a.b` the longer name is
    /// used.
    fn string(&mut self, index: &Index<'_>, instruction: &Instruction<'_>, at: u32, kernels: &HashMap<&str, Vec<u32>>) {
        let text = instruction.string(1).0;
        let rest = text.strip_prefix("kernel_arg_type.").or_else(|| text.strip_prefix("kernel_arg_type_qual."));
        let Some(rest) = rest else { return };
        let ends: Vec<usize> = rest.match_indices('.').take(DOTS).map(|(end, _)| end).collect();
        let named = ends.iter().rev().find_map(|end| kernels.get(rest.get(..*end)?));
        for function in named.into_iter().flatten() {
            self.note(index, *function, at);
        }
    }

    /// Adds debug information that nothing refers to as an annotation of its subject.
    fn extended(&mut self, index: &Index<'_>, instruction: &Instruction<'_>, at: u32) {
        /// Numbers in the debug sets: a global variable, an imported entity, a function, records of the build.
        const GLOBAL_VARIABLE: u32 = 18;
        const FUNCTION: u32 = 20;
        const IMPORTED_ENTITY: u32 = 34;
        const BUILD_IDENTIFIER: u32 = 105;
        const STORAGE_PATH: u32 = 106;
        const ENTRY_POINT: u32 = 107;
        use crate::spirv::grammar::OperandContext as _;
        let set = index.set(instruction.word(2));
        let about = match (set, instruction.word(3)) {
            (Set::OpenClDebug | Set::ShaderDebug, GLOBAL_VARIABLE) => 11,
            (Set::OpenClDebug | Set::ShaderDebug, IMPORTED_ENTITY) => 7,
            (Set::OpenClDebug, FUNCTION) => super::emit::FUNCTION_OPERAND,
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
