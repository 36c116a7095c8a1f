//! What does one of the modules define, and can it be linked?

use super::Source;
use super::sections::{GROUP_MEMBER_DECORATE, MEMBER_DECORATE, MEMBER_DECORATE_STRING, MEMBER_NAME};
use crate::error::{Error, ErrorKind, Result};
use crate::spirv::grammar;
use crate::spirv::index::{Function, Index};
use crate::spirv::op;
use crate::spirv::words::Instruction;
use crate::spirv::words::NewIds;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Definition, by the number of its module and of its instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Definition {
    /// Number of the module.
    pub(crate) part: usize,
    /// Number of the instruction.
    pub(crate) at: usize,
}

/// State of a definition of module scope during the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// Not decided yet.
    #[default]
    Open,
    /// Being written: its needs come first.
    InProgress,
    /// Written to the result.
    Written,
    /// Merged with an equal definition of the result.
    Merged,
    /// Replaced by the definition of another module.
    Replaced,
}

/// Module that is linked, with the state of the link.
pub(crate) struct InputModule<'a> {
    /// Name for error messages.
    pub(crate) name: &'a str,
    /// Index of the module.
    pub(crate) index: Index<'a>,
    /// Number of the first instruction of its functions, including the line of the first.
    pub(crate) functions_begin: usize,
    /// New ids by the number of the defining instruction; 0 where none is assigned yet.
    new: Vec<u32>,
    /// States by the number of the defining instruction.
    states: Vec<State>,
    replaced: HashMap<usize, Definition>,
    /// Forward declarations of pointers, by the number of the definition.
    pub(crate) announced: HashMap<usize, usize>,
    /// Annotations of definitions of module scope: pairs of definition and annotation, sorted.
    annotations: Vec<(u32, u32)>,
    /// Definitions that decoration groups decorate.
    pub(crate) grouped: HashSet<usize>,
}

/// Instructions of `SPV_INTEL_function_variants`, which hold for some targets only (numbers of SPIRV-Headers).
const VARIANTS: Range<u16> = 6248..6254;
const NOP: u16 = 0;

impl<'a> InputModule<'a> {
    /// Reads a module.
    ///
    /// # Errors
    /// `Input` where it is damaged, or holds instructions that cannot be linked.
    pub(crate) fn read(source: &Source<'a>) -> Result<InputModule<'a>> {
        let index = Index::read(source.bytes).map_err(|error| error.context(source.name))?;
        if let Some(error) = &index.stopped {
            return Err(error.clone().context(source.name));
        }
        let mut part = InputModule {
            name: source.name,
            functions_begin: index.functions.first().map_or(index.len(), |first| first.instructions.start),
            new: vec![0; index.len()],
            states: vec![State::Open; index.len()],
            replaced: HashMap::new(),
            announced: HashMap::new(),
            annotations: Vec::new(),
            grouped: HashSet::new(),
            index,
        };
        let is_line =
            |at: usize| part.index.instruction(at).is_some_and(|found| matches!(found.opcode, op::LINE | op::NO_LINE));
        while part.functions_begin.checked_sub(1).is_some_and(is_line) {
            part.functions_begin = part.functions_begin.saturating_sub(1);
        }
        part.check()?;
        part.note_annotations();
        Ok(part)
    }

    /// Checks that all instructions can be renumbered.
    fn check(&mut self) -> Result<()> {
        for function in &self.index.functions {
            let last = function.instructions.end.checked_sub(1).and_then(|last| self.index.instruction(last));
            if last.is_none_or(|last| last.opcode != op::FUNCTION_END) {
                return Err(self.error(function.instructions.start, "this function has no end"));
            }
        }
        let shapes = grammar::shapes();
        let mut announced = HashMap::new();
        for (at, instruction) in self.index.instructions(0..self.index.len()) {
            let name = || grammar::name(instruction.opcode);
            if VARIANTS.contains(&instruction.opcode) {
                return Err(
                    self.error(at, format!("{} makes code for some targets only, and cannot be linked", name()))
                );
            }
            match shapes.shape(instruction.opcode).result {
                grammar::UNKNOWN => {
                    let message =
                        format!("{}: no grammar knows which words of it are ids, so it cannot be linked", name());
                    return Err(self.error(at, message));
                }
                grammar::NO_RESULT => {}
                place => {
                    let id = instruction.word(usize::from(place));
                    if id == 0 || self.index.definition(id) != Some(at) {
                        return Err(self.error(at, format!("{} defines %{id}, which is defined before", name())));
                    }
                }
            }
            if instruction.opcode == op::TYPE_FORWARD_POINTER
                && let Some(definition) = self.index.definition(instruction.word(0))
            {
                announced.entry(definition).or_insert(at);
            }
            let between = at >= self.functions_begin && self.index.function_at(at).is_none();
            if between && !matches!(instruction.opcode, op::LINE | op::NO_LINE | op::EXT_INST | NOP) {
                return Err(self.error(at, format!("{} stands between or behind functions", name())));
            }
        }
        self.announced = announced;
        Ok(())
    }

    fn note_annotations(&mut self) {
        let index = &self.index;
        let begin = self.functions_begin;
        let definition = |id: u32| index.definition(id).filter(|at| *at < begin);
        for (at, instruction) in index.instructions(0..begin) {
            match instruction.opcode {
                op::NAME
                | MEMBER_NAME
                | op::DECORATE
                | op::DECORATE_ID
                | op::DECORATE_STRING
                | MEMBER_DECORATE
                | MEMBER_DECORATE_STRING => {
                    if let Some(target) = definition(instruction.word(0)) {
                        self.annotations.push((target as u32, at as u32));
                    }
                }
                op::GROUP_DECORATE => {
                    let targets = (1..instruction.len()).filter_map(|word| definition(instruction.word(word)));
                    self.grouped.extend(targets);
                }
                GROUP_MEMBER_DECORATE => {
                    let targets = (1..instruction.len()).step_by(2);
                    self.grouped.extend(targets.filter_map(|word| definition(instruction.word(word))));
                }
                _ => {}
            }
        }
        if !self.annotations.is_sorted() {
            self.annotations.sort_unstable();
        }
    }

    /// Returns the names and decorations of a definition of module scope, in module order.
    pub(crate) fn annotations_of(&self, definition: usize) -> impl Iterator<Item = Instruction<'a>> + '_ {
        let begin = self.annotations.partition_point(|(target, _)| (*target as usize) < definition);
        let rest = self.annotations.get(begin..).unwrap_or_default();
        let mine = rest.iter().take_while(move |(target, _)| *target as usize == definition);
        mine.filter_map(|(_, at)| self.index.instruction(*at as usize))
    }

    /// Gives new ids to everything in functions that are not replaced.
    pub(crate) fn number_functions(&mut self, ids: &mut NewIds) -> Result<()> {
        let shapes = grammar::shapes();
        let mut skip = 0..0;
        for at in self.functions_begin..self.index.len() {
            let Some(instruction) = self.index.instruction(at) else { continue };
            if instruction.opcode == op::FUNCTION
                && self.replaced.contains_key(&at)
                && let Some(function) = self.index.function_at(at)
            {
                skip = function.instructions.clone();
            }
            let has_result = shapes.shape(instruction.opcode).result < grammar::NO_RESULT;
            if has_result && !skip.contains(&at) {
                let id = ids.fresh()?;
                self.set(at, id);
            }
        }
        Ok(())
    }

    /// Replaces a definition by another one.
    pub(crate) fn replace(&mut self, definition: usize, by: Definition) {
        self.replaced.insert(definition, by);
        self.set_state(definition, State::Replaced);
    }

    /// Returns the replacement of a definition, if it is replaced.
    pub(crate) fn replacement(&self, definition: usize) -> Option<Definition> {
        self.replaced.get(&definition).copied()
    }

    /// Returns all replaced definitions with their replacements.
    pub(crate) fn replacements(&self) -> Vec<(usize, Definition)> {
        self.replaced.iter().map(|(definition, place)| (*definition, *place)).collect()
    }

    /// Whether an instruction belongs to a function that is left out.
    pub(crate) fn is_dropped(&self, at: usize) -> bool {
        let function = if at < self.functions_begin { None } else { self.index.function_at(at) };
        function.is_some_and(|function| self.is_replaced(function))
    }

    /// Whether a function is replaced by the definition of another module.
    pub(crate) fn is_replaced(&self, function: &Function) -> bool {
        self.replaced.contains_key(&function.instructions.start)
    }

    /// Sets the new id of an instruction's result.
    pub(crate) fn set(&mut self, definition: usize, id: u32) {
        if let Some(place) = self.new.get_mut(definition) {
            *place = id;
        }
    }

    /// Returns the new id of an instruction's result, or 0 where it has none.
    pub(crate) fn new_at(&self, definition: usize) -> u32 {
        self.new.get(definition).copied().unwrap_or(0)
    }

    /// Returns the new id of an old one, or none where it has none yet or is not defined.
    pub(crate) fn new_of(&self, id: u32) -> Option<u32> {
        self.index.definition(id).map(|at| self.new_at(at)).filter(|new| *new != 0)
    }

    /// Returns the state of a definition.
    pub(crate) fn state(&self, definition: usize) -> State {
        self.states.get(definition).copied().unwrap_or_default()
    }

    /// Sets the state of a definition.
    pub(crate) fn set_state(&mut self, definition: usize, fate: State) {
        if let Some(place) = self.states.get_mut(definition) {
            *place = fate;
        }
    }

    /// Appends an instruction with its new ids to a section.
    ///
    /// # Errors
    /// `Input` where an id has no new one.
    pub(crate) fn write(&self, at: usize, instruction: &Instruction<'_>, section: &mut Vec<u32>) -> Result<()> {
        let begin = section.len().saturating_add(1);
        section.push(first_word(instruction.opcode, instruction.len()));
        section.extend((0..instruction.len()).map(|word| instruction.word(word)));
        let mut unknown = None;
        let known = self.index.for_each_id(instruction, |word, _| {
            let place = section.get_mut(begin.saturating_add(word));
            match (self.new_of(instruction.word(word)), place) {
                (Some(new), Some(place)) => *place = new,
                _ => unknown = Some(instruction.word(word)),
            }
        });
        match unknown {
            Some(id) => Err(self.undefined_id(at, instruction, id)),
            None if !known => Err(self.unknown(at, instruction)),
            None => Ok(()),
        }
    }

    /// Returns the error for an id without a definition.
    #[cold]
    pub(crate) fn undefined_id(&self, at: usize, instruction: &Instruction<'_>, id: u32) -> Error {
        let why = match self.index.definition(id) {
            None => "which the module does not define",
            Some(_) => "which is part of what another module's definition replaces",
        };
        self.error(at, format!("{} uses %{id}, {why}", grammar::name(instruction.opcode)))
    }

    /// Returns the error for an instruction of an unknown opcode.
    #[cold]
    pub(crate) fn unknown(&self, at: usize, instruction: &Instruction<'_>) -> Error {
        let name = grammar::name(instruction.opcode);
        self.error(at, format!("{name}: not all of its operands are known, so it cannot be linked"))
    }

    /// Returns the error, at an instruction, for a module that cannot be linked with the others.
    #[cold]
    pub(crate) fn refuse(&self, at: usize, message: impl Into<String>) -> Error {
        self.error_of(ErrorKind::Build, at, message)
    }

    /// Returns the error, at an instruction, for a module that cannot be linked at all.
    #[cold]
    pub(crate) fn error(&self, at: usize, message: impl Into<String>) -> Error {
        self.error_of(ErrorKind::Input, at, message)
    }

    fn error_of(&self, kind: ErrorKind, at: usize, message: impl Into<String>) -> Error {
        let offset = self.index.instruction(at).map_or(0, |instruction| instruction.offset);
        let error = Error::new(kind, message).with_offset(offset);
        let function = self.index.function_at(at).filter(|_| at >= self.functions_begin);
        // A message at a function's own instruction already names it.
        let within = function
            .map(|function| self.function_name(function.id))
            .filter(|name| !error.message().contains(&format!("`{name}`")));
        let error = match within {
            Some(name) => error.context(format!("function {name}")),
            None => error,
        };
        error.context(self.name)
    }

    /// Returns the name of a function for messages: that of its entry point, its symbol, its `OpName` or its id.
    pub(crate) fn function_name(&self, function: u32) -> String {
        let entry = self.index.entry_points.iter().find(|entry| entry.function == function);
        let name = entry.map(|entry| entry.name.clone().into_owned());
        let name = name.or_else(|| self.index.linkage(function).map(|linkage| linkage.name));
        name.or_else(|| self.index.name(function)).unwrap_or_else(|| format!("%{function}"))
    }
}

/// Returns the first word of an instruction with this many operand words.
pub(crate) fn first_word(opcode: u16, operands: usize) -> u32 {
    let count = u32::try_from(operands).unwrap_or(u32::MAX).saturating_add(1);
    count << 16 | u32::from(opcode)
}
