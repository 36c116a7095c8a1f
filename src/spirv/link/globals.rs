//! Which types, constants and variables does the result have?
//!
//! They are written in the order of the modules. A definition equal to an earlier one takes its id. An initialiser may
//! need the variable of a later module, which is then written first, with all that it needs.

use super::Source;
use super::input::{Definition, InputModule, State, first_word};
use super::sections::{Kind, Sections, continues, kind};
use crate::error::Result;
use crate::spirv::grammar::{self, Role};
use crate::spirv::op;
use crate::spirv::words::Instruction;
use crate::spirv::words::NewIds;
use rspirv::spirv::{Decoration, StorageClass};
use std::collections::{HashMap, HashSet};

const BUILT_IN: u32 = Decoration::BuiltIn as u32;
const SPEC_ID: u32 = Decoration::SpecId as u32;
const INPUT: u32 = StorageClass::Input as u32;

/// Treatment of equal definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merging {
    /// One is kept, whatever their names and decorations: the specification forbids duplicates.
    Unique,
    /// One is kept of those whose names and decorations agree.
    Equal,
    /// One is kept for each built-in.
    BuiltIn(u32),
    /// All are kept.
    Never,
}

/// Returns how definitions equal to an instruction are treated.
pub(crate) fn merging(part: &InputModule<'_>, instruction: &Instruction<'_>) -> Merging {
    match instruction.opcode {
        op::TYPE_STRUCT
        | op::TYPE_ARRAY
        | op::TYPE_RUNTIME_ARRAY
        | op::TYPE_POINTER
        | op::TYPE_UNTYPED_POINTER
        | op::STRING
        | op::CONSTANT_TRUE..=op::CONSTANT_NULL
        | op::SPEC_CONSTANT_TRUE..=op::SPEC_CONSTANT_OP
        | op::CONSTANT_FUNCTION_POINTER => Merging::Equal,
        op::EXT_INST_IMPORT => Merging::Unique,
        // A built-in has no initialiser.
        op::VARIABLE if instruction.word(2) == INPUT && instruction.len() == 3 => {
            let built_in = part.index.decoration(instruction.word(1), BUILT_IN);
            built_in.map_or(Merging::Never, Merging::BuiltIn)
        }
        opcode if grammar::declares_type(opcode) => Merging::Unique,
        _ => Merging::Never,
    }
}

/// Specialization constant of one number: its definition, and the module that has it.
type SpecConstantDefinition = (Box<[u32]>, usize);

/// Writer of types, constants and variables of module scope.
pub(crate) struct Globals<'g, 'a> {
    parts: &'g mut [InputModule<'a>],
    sources: &'g [Source<'a>],
    sections: &'g mut Sections,
    ids: NewIds,
    /// New ids of written definitions, by their words without the result id, with their annotations appended.
    known: HashMap<Box<[u32]>, u32>,
    /// Structures and arrays that a module has merged already: two of one module stay two.
    taken: HashSet<(usize, u32)>,
    numbered: HashMap<u32, SpecConstantDefinition>,
    /// Sources and processing records, which are written once.
    once: HashSet<Box<[u32]>>,
}

impl<'g, 'a> Globals<'g, 'a> {
    /// Creates a writer for modules whose functions and symbols have ids below `next`.
    pub(crate) fn new(
        parts: &'g mut [InputModule<'a>],
        sources: &'g [Source<'a>],
        sections: &'g mut Sections,
        next: u32,
    ) -> Globals<'g, 'a> {
        Globals {
            parts,
            sources,
            sections,
            ids: NewIds(next),
            known: HashMap::new(),
            taken: HashSet::new(),
            numbered: HashMap::new(),
            once: HashSet::new(),
        }
    }

    /// Returns the next id.
    pub(crate) fn next(&self) -> u32 {
        self.ids.0
    }

    /// Writes the module scope of all modules.
    ///
    /// # Errors
    /// `Input` for ids that cannot be renumbered, for initialisers that need each other in a cycle, and for
    /// specialization constants of one number that differ.
    pub(crate) fn write(&mut self) -> Result<()> {
        for part in 0..self.parts.len() {
            let end = self.parts.get(part).map_or(0, |part| part.functions_begin);
            let mut line_is_open = false;
            for at in 0..end {
                let Some(opcode) = self.opcode(part, at) else { continue };
                match kind(opcode) {
                    Kind::Preamble | Kind::Name | Kind::Annotation => {}
                    _ if continues(opcode) => {}
                    _ => self.emit(Definition { part, at })?,
                }
                line_is_open = match opcode {
                    op::LINE => true,
                    op::NO_LINE => false,
                    _ => line_is_open,
                };
            }
            // A line would hold on into the next module's part of the section.
            if line_is_open {
                self.sections.globals.push(first_word(op::NO_LINE, 0));
            }
        }
        Ok(())
    }

    fn opcode(&self, part: usize, at: usize) -> Option<u16> {
        Some(self.parts.get(part)?.index.instruction(at)?.opcode)
    }

    fn state(&self, place: Definition) -> State {
        self.parts.get(place.part).map_or(State::Open, |part| part.state(place.at))
    }

    fn set_state(&mut self, place: Definition, fate: State) {
        if let Some(part) = self.parts.get_mut(place.part) {
            part.set_state(place.at, fate);
        }
    }

    /// Writes an instruction after everything that it needs.
    fn emit(&mut self, place: Definition) -> Result<()> {
        let mut stack = vec![place];
        while let Some(&place) = stack.last() {
            match self.state(place) {
                State::Written | State::Merged | State::Replaced => {
                    stack.pop();
                }
                State::InProgress => {
                    self.write_or_merge(place)?;
                    stack.pop();
                }
                State::Open => {
                    self.set_state(place, State::InProgress);
                    let needs = self.needs(place)?;
                    if needs.is_empty() {
                        self.write_or_merge(place)?;
                        stack.pop();
                    }
                    stack.extend(needs);
                }
            }
        }
        Ok(())
    }

    /// Returns the definitions that must be written before an instruction.
    fn needs(&self, place: Definition) -> Result<Vec<Definition>> {
        let mut needs = Vec::new();
        let Some(part) = self.parts.get(place.part) else { return Ok(needs) };
        let Some(instruction) = part.index.instruction(place.at) else { return Ok(needs) };
        let mut failed = None;
        let known = part.index.for_each_id(&instruction, |word, role| {
            let id = instruction.word(word);
            if role == Role::Result {
                return;
            }
            let Some(at) = part.index.definition(id) else {
                failed = Some(part.undefined_id(place.at, &instruction, id));
                return;
            };
            let needed = part.replacement(at).unwrap_or(Definition { part: place.part, at });
            let is_global = self.parts.get(needed.part).is_some_and(|other| needed.at < other.functions_begin);
            // References to later definitions of the same module are forward references.
            if !is_global || needed.part == place.part && needed.at >= place.at {
                return;
            }
            match self.state(needed) {
                State::Open => needs.push(needed),
                State::InProgress => {
                    let message = "this and what other modules define need each other to begin with";
                    failed = Some(part.refuse(place.at, message));
                }
                State::Written | State::Merged | State::Replaced => {}
            }
        });
        match failed {
            Some(error) => Err(error),
            None if !known => Err(part.unknown(place.at, &instruction)),
            None => Ok(needs),
        }
    }

    /// Writes an instruction whose needs are written, or merges it with an equal one.
    fn write_or_merge(&mut self, place: Definition) -> Result<()> {
        let Some(part) = self.parts.get(place.part) else { return Ok(()) };
        let Some(instruction) = part.index.instruction(place.at) else { return Ok(()) };
        self.declare_forward(place, &instruction)?;
        let Some(part) = self.parts.get(place.part) else { return Ok(()) };
        let result = part.index.result(&instruction);
        let is_continued = self.opcode(place.part, place.at.saturating_add(1)).is_some_and(continues);
        let merging = match merging(part, &instruction) {
            // A definition with a forward reference has its id already and is not merged.
            _ if result.is_none() || part.new_at(place.at) != 0 || is_continued => Merging::Never,
            Merging::Equal if part.grouped.contains(&place.at) => Merging::Never,
            merging => merging,
        };
        let key = match merging {
            Merging::Never => None,
            merging => self.key(place, &instruction, merging),
        };
        if instruction.opcode >= op::SPEC_CONSTANT_TRUE && instruction.opcode <= op::SPEC_CONSTANT {
            self.check_number(place, &instruction)?;
        }
        let aggregate = matches!(instruction.opcode, op::TYPE_STRUCT | op::TYPE_ARRAY | op::TYPE_RUNTIME_ARRAY);
        let known = key.as_ref().and_then(|key| self.known.get(key)).copied();
        if let Some(id) = known.filter(|id| !aggregate || self.taken.insert((place.part, *id))) {
            if let Some(part) = self.parts.get_mut(place.part) {
                part.set(place.at, id);
                part.set_state(place.at, State::Merged);
            }
            return Ok(());
        }
        if result.is_some() {
            let ids = &mut self.ids;
            if let Some(part) = self.parts.get_mut(place.part).filter(|part| part.new_at(place.at) == 0) {
                let id = ids.fresh()?;
                part.set(place.at, id);
                if aggregate {
                    self.taken.insert((place.part, id));
                }
                if let Some(key) = key {
                    self.known.entry(key).or_insert(id);
                }
            }
        }
        self.write_with_continuations(place, &instruction)?;
        self.set_state(place, State::Written);
        Ok(())
    }

    /// Gives ids to the forward references of an instruction, and declares them where the module does.
    fn declare_forward(&mut self, place: Definition, instruction: &Instruction<'_>) -> Result<()> {
        let mut ahead = Vec::new();
        if let Some(part) = self.parts.get(place.part) {
            part.index.for_each_id(instruction, |word, role| {
                let definition = part.index.definition(instruction.word(word));
                let definition = definition.filter(|at| *at >= place.at && *at < part.functions_begin);
                if let Some(at) = definition.filter(|at| role != Role::Result && part.new_at(*at) == 0) {
                    ahead.push(at);
                }
            });
        }
        for at in ahead {
            let id = self.ids.fresh()?;
            let Some(part) = self.parts.get_mut(place.part) else { continue };
            part.set(at, id);
            let announcement = part.announced.get(&at).copied().filter(|announced| *announced != place.at);
            if let Some(announced) = announcement.filter(|announced| part.state(*announced) == State::Open)
                && let Some(instruction) = part.index.instruction(announced)
            {
                part.set_state(announced, State::Written);
                part.write(announced, &instruction, &mut self.sections.globals)?;
            }
        }
        Ok(())
    }

    /// Returns the key by which definitions are equal, or none where an annotation has an id that is not numbered yet.
    fn key(&self, place: Definition, instruction: &Instruction<'_>, merging: Merging) -> Option<Box<[u32]>> {
        let part = self.parts.get(place.part)?;
        let mut key = vec![first_word(instruction.opcode, instruction.len())];
        let mut is_known = true;
        let mut push = |key: &mut Vec<u32>, instruction: &Instruction<'_>, empty: Option<usize>| {
            let begin = key.len();
            key.extend((0..instruction.len()).map(|word| instruction.word(word)));
            is_known &= part.index.for_each_id(instruction, |word, role| {
                let is_empty = role == Role::Result || empty == Some(word);
                let new = if is_empty { Some(0) } else { part.new_of(instruction.word(word)) };
                match (key.get_mut(begin.saturating_add(word)), new) {
                    (Some(place), Some(new)) => *place = new,
                    _ => is_known = false,
                }
            });
        };
        push(&mut key, instruction, None);
        match merging {
            Merging::Equal => {
                for annotation in part.annotations_of(place.at) {
                    key.push(first_word(annotation.opcode, annotation.len()));
                    push(&mut key, &annotation, Some(0));
                    if annotation.opcode == op::DECORATE
                        && annotation.word(1) == SPEC_ID
                        && let Some(number) = key.last_mut()
                    {
                        *number = self.spec_id(place.part, *number);
                    }
                }
            }
            Merging::BuiltIn(number) => key.push(number),
            Merging::Unique | Merging::Never => {}
        }
        is_known.then(|| key.into_boxed_slice())
    }

    fn spec_id(&self, part: usize, number: u32) -> u32 {
        let new = self.sources.get(part).and_then(|source| source.spec_ids.get(&number));
        new.copied().unwrap_or(number)
    }

    /// Checks that a specialization constant is the same in all modules that have its number.
    fn check_number(&mut self, place: Definition, instruction: &Instruction<'_>) -> Result<()> {
        let Some(part) = self.parts.get(place.part) else { return Ok(()) };
        let Some(number) = part.index.decoration(instruction.word(1), SPEC_ID) else { return Ok(()) };
        let number = self.spec_id(place.part, number);
        let mut words: Vec<u32> = (0..instruction.len()).map(|word| instruction.word(word)).collect();
        if let [kind, result, ..] = words.as_mut_slice() {
            (*kind, *result) = (part.new_of(*kind).unwrap_or(0), u32::from(instruction.opcode));
        }
        match self.numbered.get(&number) {
            Some((known, other)) if known.as_ref() != words && *other != place.part => {
                let other = self.parts.get(*other).map_or("", |other| other.name);
                let message =
                    format!("specialization constant {number} has another type or default here than in {other}");
                let remedy = "images whose property sets name their constants get new numbers; bare modules do not";
                Err(part.refuse(place.at, message).with_remedy(remedy))
            }
            Some(_) => Ok(()),
            None => {
                self.numbered.insert(number, (words.into_boxed_slice(), place.part));
                Ok(())
            }
        }
    }

    /// Writes an instruction and its continuations.
    fn write_with_continuations(&mut self, place: Definition, instruction: &Instruction<'_>) -> Result<()> {
        let Some(part) = self.parts.get(place.part) else { return Ok(()) };
        let kind = kind(instruction.opcode);
        let section = match kind {
            Kind::Import => &mut self.sections.imports,
            Kind::Source => &mut self.sections.sources,
            Kind::Processed => &mut self.sections.processed,
            Kind::Alias => &mut self.sections.aliases,
            _ => &mut self.sections.globals,
        };
        let begin = section.len();
        part.write(place.at, instruction, section)?;
        let mut at = place.at.saturating_add(1);
        while let Some(next) = part.index.instruction(at).filter(|next| continues(next.opcode)) {
            part.write(at, &next, section)?;
            at = at.saturating_add(1);
        }
        // Modules of one compiler repeat their source records.
        let repeats = kind == Kind::Processed || kind == Kind::Source && instruction.opcode != op::STRING;
        if repeats && !self.once.insert(section.get(begin..).unwrap_or_default().into()) {
            section.truncate(begin);
        }
        Ok(())
    }
}
