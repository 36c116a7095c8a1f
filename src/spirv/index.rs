//! Where in a module are its instructions, ids, functions, names and decorations?
//!
//! One pass over the words. Everything is stored as instruction numbers and decoded on request, so an index costs
//! little more than the walk. Time and memory are bounded by the module's size, whatever ids it uses.

mod annotations;
mod function;
mod ids;

pub use annotations::{Decoration, Linkage, LinkageKind};
pub use function::{Function, Mode};

use super::grammar::{self, Set};
use super::op;
use super::operands::{self, Role, OperandContext};
use super::words::{Instruction, Words};
use crate::error::{Error, Result};
use annotations::Annotations;
use ids::Ids;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// An entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint<'a> {
    /// Execution model; 6 is Kernel.
    pub model: u32,
    /// Id of the function.
    pub function: u32,
    /// Mangled kernel name.
    pub name: Cow<'a, str>,
    /// Number of the instruction; its operands after the name are the interface.
    pub at: usize,
}

/// Index over a module. Instructions are numbered from 0 in module order.
#[derive(Debug)]
pub struct Index<'a> {
    words: Words<'a>,
    /// Word at which each instruction begins.
    starts: Vec<u32>,
    defined: Ids,
    annotations: Annotations,
    sets: HashMap<u32, Set>,
    /// Major and minor version.
    pub version: (u8, u8),
    /// The generator word.
    pub generator: u32,
    /// Id bound of the header; nothing is allocated by it.
    pub bound: u32,
    /// Addressing model of `OpMemoryModel`: 0 logical, 1 32 bits, 2 64 bits, 5348 physical storage buffers.
    pub addressing: u32,
    /// Declared capabilities in module order.
    pub capabilities: Vec<u32>,
    /// Declared extensions in module order.
    pub extensions: Vec<String>,
    /// Entry points in module order.
    pub entry_points: Vec<EntryPoint<'a>>,
    /// Functions in module order.
    pub functions: Vec<Function>,
    /// Execution modes, by function.
    pub modes: Vec<Mode>,
    /// Opcodes that no grammar has, with the number of occurrences. Their operands are not followed.
    pub unknown: BTreeMap<u16, usize>,
    /// Error that ended the walk early; everything before it is indexed.
    pub stopped: Option<Error>,
}

impl<'a> Index<'a> {
    /// Walks a module.
    ///
    /// # Errors
    /// `Input` where there is no whole SPIR-V header. A stream that breaks later is not an error: see
    /// [`Index::stopped`].
    pub fn read(bytes: &'a [u8]) -> Result<Index<'a>> {
        let words = Words::new(bytes)?;
        let version = words.header(1).to_le_bytes();
        let bound = words.header(3);
        let mut index = Index {
            words,
            // Instructions of real modules take four to five words.
            starts: Vec::with_capacity(words.len() / 4),
            defined: Ids::new(bound, words.len()),
            annotations: Annotations::default(),
            sets: HashMap::new(),
            version: (version.get(2).copied().unwrap_or(0), version.get(1).copied().unwrap_or(0)),
            generator: words.header(2),
            bound,
            addressing: 0,
            capabilities: Vec::new(),
            extensions: Vec::new(),
            entry_points: Vec::new(),
            functions: Vec::new(),
            modes: Vec::new(),
            unknown: BTreeMap::new(),
            stopped: None,
        };
        let results = grammar::results();
        for instruction in words.instructions() {
            match instruction {
                Ok(instruction) => index.visit(&instruction, results),
                Err(error) => index.stopped = Some(error),
            }
        }
        index.close(u32::try_from(index.starts.len()).unwrap_or(u32::MAX));
        index.annotations.sort();
        index.modes.sort_by_key(|mode| mode.function);
        Ok(index)
    }

    #[inline]
    fn visit(&mut self, instruction: &Instruction<'a>, results: &[u8]) {
        let number = self.starts.len() as u32;
        // The cast is exact: callers do not read modules of 16 GiB.
        self.starts.push((instruction.offset / 4) as u32);
        match results.get(usize::from(instruction.opcode)) {
            Some(&grammar::NO_RESULT) => {}
            None | Some(&grammar::UNKNOWN) => {
                let count = self.unknown.entry(instruction.opcode).or_default();
                *count = count.saturating_add(1);
            }
            Some(place) => self.defined.insert(instruction.word(usize::from(*place)), number),
        }
        let target = || instruction.word(0);
        match instruction.opcode {
            op::LABEL => {
                if let Some(function) = self.open() {
                    function.defined = true;
                }
            }
            op::NAME => self.annotations.names.push((target(), number)),
            op::DECORATE | op::DECORATE_ID | op::DECORATE_STRING => {
                self.annotations.decorations.push((target(), number));
            }
            op::FUNCTION => {
                self.close(number);
                self.functions.push(Function {
                    id: instruction.word(1),
                    result_type: instruction.word(0),
                    function_type: instruction.word(3),
                    control: instruction.word(2),
                    parameters: Vec::new(),
                    instructions: number as usize..usize::MAX,
                    defined: false,
                });
            }
            op::FUNCTION_PARAMETER => {
                if let Some(function) = self.open() {
                    function.parameters.push(instruction.word(1));
                }
            }
            op::FUNCTION_END => self.close(number.saturating_add(1)),
            op::CAPABILITY => self.capabilities.push(target()),
            op::EXTENSION => self.extensions.push(instruction.string(0).0),
            op::EXT_INST_IMPORT => {
                self.sets.entry(target()).or_insert_with(|| Set::from_name(&instruction.string(1).0));
            }
            op::MEMORY_MODEL => self.addressing = target(),
            op::ENTRY_POINT => self.entry_points.push(EntryPoint {
                model: instruction.word(0),
                function: instruction.word(1),
                name: instruction.text(2).0,
                at: number as usize,
            }),
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => self.modes.push(Mode {
                function: target(),
                mode: instruction.word(1),
                ids: instruction.opcode == op::EXECUTION_MODE_ID,
                at: number as usize,
            }),
            op::GROUP_DECORATE => {
                let targets = (1..instruction.len()).map(|at| (instruction.word(at), target()));
                self.annotations.groups.extend(targets);
            }
            _ => {}
        }
    }

    /// Returns the function whose end has not been reached yet.
    fn open(&mut self) -> Option<&mut Function> {
        self.functions.last_mut().filter(|function| function.instructions.end == usize::MAX)
    }

    fn close(&mut self, end: u32) {
        if let Some(function) = self.open() {
            function.instructions.end = end as usize;
        }
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// An instruction by its number.
    #[inline]
    pub fn instruction(&self, number: usize) -> Option<Instruction<'a>> {
        self.words.instruction_at(*self.starts.get(number)? as usize)
    }

    /// The instructions of a range with their numbers; all of them for `0..index.len()`.
    pub fn instructions(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Instruction<'a>)> + '_ {
        let range = range.start.min(self.len())..range.end.min(self.len());
        range.filter_map(|number| Some((number, self.instruction(number)?)))
    }

    /// The number of the instruction that defines an id.
    #[inline]
    pub fn definition(&self, id: u32) -> Option<usize> {
        self.defined.get(id)
    }

    /// The instruction that defines an id.
    #[inline]
    pub fn defining(&self, id: u32) -> Option<Instruction<'a>> {
        self.instruction(self.definition(id)?)
    }

    /// The id that an instruction defines.
    pub fn result(&self, instruction: &Instruction<'_>) -> Option<u32> {
        grammar::layout(instruction.opcode)?.result.map(|at| instruction.word(usize::from(at)))
    }

    /// The id of the type of what an instruction defines; none where it defines no value.
    pub fn result_type(&self, instruction: &Instruction<'_>) -> Option<u32> {
        grammar::layout(instruction.opcode)?.result_type.map(|at| instruction.word(usize::from(at)))
    }

    /// The id of the type of a value.
    pub fn type_of(&self, id: u32) -> Option<u32> {
        self.result_type(&self.defining(id)?)
    }

    /// Calls `found` with the position (among the operand words) and role of every id of an instruction. Returns false
    /// where no grammar has the opcode, or one that it embeds: then not all ids are reported.
    pub fn for_each_id(&self, instruction: &Instruction<'_>, found: impl FnMut(usize, Role)) -> bool {
        operands::for_each_id(instruction, self, found)
    }

    /// A function by its id.
    pub fn function(&self, id: u32) -> Option<&Function> {
        let number = self.definition(id)?;
        self.function_at(number).filter(|function| function.id == id)
    }

    /// Returns the function that contains an instruction.
    pub fn function_at(&self, number: usize) -> Option<&Function> {
        // Nearly every instruction outside of functions comes before the first function.
        if self.functions.first()?.instructions.start > number {
            return None;
        }
        let after = self.functions.partition_point(|function| function.instructions.start <= number);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (number < function.instructions.end).then_some(function)
    }

    /// The execution modes of a function.
    pub fn modes_of(&self, function: u32) -> impl Iterator<Item = &Mode> + '_ {
        let begin = self.modes.partition_point(|mode| mode.function < function);
        self.modes.get(begin..).unwrap_or_default().iter().take_while(move |mode| mode.function == function)
    }

    /// The text of an `OpString`.
    pub fn string(&self, id: u32) -> Option<String> {
        let instruction = self.defining(id).filter(|instruction| instruction.opcode == op::STRING)?;
        Some(instruction.string(1).0)
    }

    /// Returns the words of the module in the module's byte order, for code that rewrites it.
    pub fn words(&self) -> Words<'a> {
        self.words
    }
}

impl OperandContext for Index<'_> {
    fn literal_words(&self, selector: u32) -> usize {
        let kind = self.type_of(selector).and_then(|id| self.defining(id));
        match kind.filter(|kind| kind.opcode == op::TYPE_INT) {
            Some(kind) => kind.word(1).div_ceil(32).max(1) as usize,
            None => 1,
        }
    }

    fn set(&self, id: u32) -> Set {
        self.sets.get(&id).copied().unwrap_or(Set::Other)
    }
}

#[cfg(test)]
mod tests;
