//! Where in a module are its instructions, ids, functions, names and decorations?
//!
//! One pass over the words. Everything is stored as instruction numbers and decoded on request, so an index costs
//! little more than the walk. Time and memory are bounded by the module's size, whatever ids it uses.
//!
//! Annotations are stored as instruction numbers by target and decoded on request. Decoration groups are followed on
//! lookup: expanding them could take memory for the product of decorations and targets.

use super::grammar::{self, OperandContext, Role, Set};
use super::op;
use super::words::{Instruction, Words};
use crate::error::{Error, Result};
use crate::limits;
use crate::source::InlinedText;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// An entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint<'a> {
    /// Execution model; 6 is Kernel.
    pub(crate) model: u32,
    /// Id of the function.
    pub function: u32,
    /// Mangled kernel name.
    pub name: Cow<'a, str>,
    /// Number of the instruction; its operands after the name are the interface.
    pub(crate) at: usize,
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
    pub(crate) version: (u8, u8),
    /// The generator word.
    pub(crate) generator: u32,
    /// Id bound of the header; nothing is allocated by it.
    pub bound: u32,
    /// Addressing model of `OpMemoryModel`: 0 logical, 1 32 bits, 2 64 bits, 5348 physical storage buffers.
    pub addressing: u32,
    /// Declared capabilities in module order.
    pub capabilities: Vec<u32>,
    /// Declared extensions in module order.
    pub(crate) extensions: Vec<String>,
    /// Entry points in module order.
    pub entry_points: Vec<EntryPoint<'a>>,
    /// Functions in module order.
    pub functions: Vec<Function>,
    /// Execution modes, by function.
    pub modes: Vec<Mode>,
    /// Opcodes that no grammar has, with the number of occurrences. Their operands are not followed.
    pub unknown: BTreeMap<u16, usize>,
    /// Number of things that are not where they may be: definitions of ids that are 0 or defined before, types that are used
    /// before they are declared or declared behind a function, instructions between functions. What code needs is not known then.
    pub(crate) misplaced: usize,
    /// Whether code calls through pointers.
    pub(crate) calls_pointers: bool,
    /// Parts of types that were not yet defined where they were used, as only pointers may be.
    awaited: Vec<u32>,
    /// Error that ended the walk early; everything before it is indexed.
    pub stopped: Option<Error>,
    /// Text of inlined functions that was told.
    pub(crate) told: InlinedText,
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
            misplaced: 0,
            calls_pointers: false,
            awaited: Vec::new(),
            stopped: None,
            told: InlinedText::default(),
        };
        let shapes = grammar::shapes();
        for instruction in words.instructions() {
            match instruction {
                Ok(instruction) => index.visit(&instruction, shapes),
                Err(error) => index.stopped = Some(error),
            }
        }
        index.close(u32::try_from(index.starts.len()).unwrap_or(u32::MAX));
        index.count_outside(index.len());
        let is_pointer = |id: &u32| {
            let opcode = index.defining(*id).map(|kind| kind.opcode);
            matches!(opcode, Some(op::TYPE_POINTER | op::TYPE_UNTYPED_POINTER))
        };
        let early = index.awaited.iter().filter(|id| !is_pointer(id)).count();
        index.misplaced = index.misplaced.saturating_add(early);
        index.annotations.sort();
        index.modes.sort_by_key(|mode| mode.function);
        Ok(index)
    }

    #[inline]
    fn visit(&mut self, instruction: &Instruction<'a>, shapes: &grammar::Shapes) {
        let number = self.starts.len() as u32;
        // The cast is exact: callers do not read modules of 16 GiB.
        self.starts.push((instruction.offset / 4) as u32);
        match shapes.shape(instruction.opcode).result {
            grammar::NO_RESULT => {}
            grammar::UNKNOWN => {
                let count = self.unknown.entry(instruction.opcode).or_default();
                *count = count.saturating_add(1);
            }
            place => {
                let is_new = self.defined.insert(instruction.word(usize::from(place)), number);
                // In functions and behind them only labels have a result without a type.
                let late = place == 0 && !self.functions.is_empty() && instruction.opcode != op::LABEL;
                self.misplaced = self.misplaced.saturating_add(usize::from(!is_new || late));
            }
        }
        let target = || instruction.word(0);
        match instruction.opcode {
            op::LABEL => {
                if let Some(function) = self.open() {
                    function.defined = true;
                }
            }
            op::TYPE_VECTOR | op::TYPE_MATRIX | op::TYPE_ARRAY | op::TYPE_RUNTIME_ARRAY => {
                self.awaited.extend(Some(instruction.word(1)).filter(|id| self.defined.get(*id).is_none()));
            }
            op::TYPE_STRUCT => {
                let members = (1..instruction.len()).map(|at| instruction.word(at));
                self.awaited.extend(members.filter(|id| self.defined.get(*id).is_none()));
            }
            op::FUNCTION_POINTER_CALL => self.calls_pointers = true,
            op::NAME => self.annotations.names.push((target(), number)),
            op::DECORATE | op::DECORATE_ID | op::DECORATE_STRING => {
                self.annotations.decorations.push((target(), number));
            }
            op::FUNCTION => {
                self.close(number);
                self.count_outside(number as usize);
                if self.functions.is_empty() {
                    // One for each entry point at least: growing to that would take its memory twice.
                    self.functions.reserve(self.entry_points.len());
                }
                self.functions.push(Function {
                    id: instruction.word(1),
                    result_type: instruction.word(0),
                    function_type: instruction.word(3),
                    control: instruction.word(2),
                    instructions: number as usize..usize::MAX,
                    defined: false,
                });
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

    /// Counts the instructions between the last function and an instruction; lines and what means nothing may stand there.
    fn count_outside(&mut self, to: usize) {
        let Some(end) = self.functions.last().map(|last| last.instructions.end).filter(|end| *end < to) else { return };
        let outside = self.instructions(end..to).map(|(_, instruction)| instruction.opcode);
        let count = outside.filter(|opcode| !matches!(*opcode, op::LINE | op::NO_LINE | op::EXT_INST)).count();
        self.misplaced = self.misplaced.saturating_add(count);
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
    pub(crate) fn definition(&self, id: u32) -> Option<usize> {
        self.defined.get(id)
    }

    /// The instruction that defines an id.
    #[inline]
    pub fn defining(&self, id: u32) -> Option<Instruction<'a>> {
        self.instruction(self.definition(id)?)
    }

    /// The id that an instruction defines.
    pub(crate) fn result(&self, instruction: &Instruction<'_>) -> Option<u32> {
        grammar::layout(instruction.opcode)?.result.map(|at| instruction.word(usize::from(at)))
    }

    /// The id of the type of what an instruction defines; none where it defines no value.
    pub(crate) fn result_type(&self, instruction: &Instruction<'_>) -> Option<u32> {
        grammar::layout(instruction.opcode)?.result_type.map(|at| instruction.word(usize::from(at)))
    }

    /// The id of the type of a value.
    pub fn type_of(&self, id: u32) -> Option<u32> {
        self.result_type(&self.defining(id)?)
    }

    /// Calls `found` with the position (among the operand words) and role of every id of an instruction. Returns false
    /// where no grammar has the opcode, or one that it embeds: then not all ids are reported.
    pub fn for_each_id(&self, instruction: &Instruction<'_>, found: impl FnMut(usize, Role)) -> bool {
        grammar::for_each_id(instruction, self, found)
    }

    /// A function by its id.
    pub fn function(&self, id: u32) -> Option<&Function> {
        let number = self.definition(id)?;
        self.function_at(number).filter(|function| function.id == id)
    }

    /// Returns the place of a function in [`Index::functions`].
    pub(crate) fn function_place(&self, id: u32) -> Option<usize> {
        let number = self.definition(id)?;
        let after = self.functions.partition_point(|function| function.instructions.start <= number);
        let place = after.checked_sub(1)?;
        self.functions.get(place).filter(|function| function.id == id).map(|_| place)
    }

    /// Returns the function that contains an instruction.
    pub(crate) fn function_at(&self, number: usize) -> Option<&Function> {
        // Nearly every instruction outside of functions comes before the first function.
        if self.functions.first()?.instructions.start > number {
            return None;
        }
        let after = self.functions.partition_point(|function| function.instructions.start <= number);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (number < function.instructions.end).then_some(function)
    }

    /// The ids of a function's parameters, in order; their types are the result types of the defining instructions. Read anew,
    /// as a module may have hundreds of thousands of functions.
    pub(crate) fn parameters(&self, function: &Function) -> impl Iterator<Item = u32> + '_ {
        let head = self.instructions(function.instructions.clone()).map(|(_, instruction)| instruction);
        let head = head.take_while(|instruction| instruction.opcode != op::LABEL);
        head.filter(|instruction| instruction.opcode == op::FUNCTION_PARAMETER).map(|instruction| instruction.word(1))
    }

    /// The execution modes of a function.
    pub fn modes_of(&self, function: u32) -> impl Iterator<Item = &Mode> + '_ {
        let begin = self.modes.partition_point(|mode| mode.function < function);
        self.modes.get(begin..).unwrap_or_default().iter().take_while(move |mode| mode.function == function)
    }

    /// The text of an `OpString`.
    pub(crate) fn string(&self, id: u32) -> Option<String> {
        let instruction = self.defining(id).filter(|instruction| instruction.opcode == op::STRING)?;
        Some(instruction.string(1).0)
    }

    /// Returns the words of the module in the module's byte order, for code that rewrites it.
    pub(crate) fn words(&self) -> Words<'a> {
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

/// A decoration of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoration {
    /// Number of the decoration.
    pub(crate) decoration: u32,
    /// Number of the instruction.
    pub(crate) at: usize,
    /// Operand word of that instruction at which the decoration's own operands begin.
    pub(crate) operands: usize,
}

/// Linkage of a symbol (decoration `LinkageAttributes`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linkage {
    /// Name of the symbol.
    pub name: String,
    /// Direction of the linkage.
    pub(crate) kind: LinkageKind,
}

/// Whether a symbol is a function that the SPIR-V/LLVM translator writes for an LLVM intrinsic, and exports from every module that
/// needs it. The name determines the code (`SPIRVLowerLLVMIntrinsic.cpp`, `spirv.llvm_fshl_i32`), and a private one would be
/// no intrinsic for its reader, and have no body.
pub(crate) fn is_helper(symbol: &str) -> bool {
    symbol.starts_with("spirv.llvm_")
}

/// Linkage type of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkageKind {
    /// Visible to other modules.
    Export,
    /// Defined by another module. Built-in variables are decorated so too.
    Import,
    /// Like an export; one of equal definitions is kept (`SPV_KHR_linkonce_odr`).
    LinkOnceOdr,
    /// Weak linkage, or a type that is newer than this tool.
    Other(u32),
}

impl LinkageKind {
    /// Whether the module defines the symbol for others, too, which may count on it whether the module itself uses it or not.
    pub(crate) fn is_exported(self) -> bool {
        self != LinkageKind::Import
    }

    /// Whether a module may leave the definition out where it does not use it: each that does has its own.
    pub(crate) fn is_discardable(self) -> bool {
        self == LinkageKind::LinkOnceOdr
    }

    /// Returns the linkage type of a number.
    pub(crate) fn from_number(number: u32) -> LinkageKind {
        match number {
            0 => LinkageKind::Export,
            1 => LinkageKind::Import,
            2 => LinkageKind::LinkOnceOdr,
            other => LinkageKind::Other(other),
        }
    }
}

/// Operand word at which a decoration's own operands begin: after the target and the decoration.
const OPERANDS: usize = 2;

/// Lists of (id, instruction number), sorted by id, in module order for each id. Annotations of structure members are
/// not in them.
#[derive(Debug, Default)]
struct Annotations {
    names: Vec<(u32, u32)>,
    decorations: Vec<(u32, u32)>,
    /// Pairs of target and group, both ids.
    groups: Vec<(u32, u32)>,
}

impl Annotations {
    fn sort(&mut self) {
        for list in [&mut self.names, &mut self.decorations, &mut self.groups] {
            // Compilers write them nearly in order, which the stable sort is fast for.
            if !list.is_sorted_by_key(|entry| entry.0) {
                list.sort_by_key(|entry| entry.0);
            }
        }
    }
}

/// Returns the entries of a list for an id.
fn entries_of(list: &[(u32, u32)], id: u32) -> &[(u32, u32)] {
    let begin = list.partition_point(|entry| entry.0 < id);
    let rest = list.get(begin..).unwrap_or_default();
    let count = rest.partition_point(|entry| entry.0 == id);
    rest.get(..count).unwrap_or_default()
}

impl Index<'_> {
    /// Returns the name that `OpName` gives to an id. Kernel names are in [`Index::entry_points`] only.
    pub(crate) fn name(&self, id: u32) -> Option<String> {
        let (_, at) = entries_of(&self.annotations.names, id).first()?;
        Some(self.instruction(*at as usize)?.string(1).0)
    }

    /// Returns the beginning of the name of an id, or of a type that has its name itself: so many bytes, and few more.
    pub(crate) fn name_head(&self, id: u32, most: usize) -> Option<String> {
        if let Some(opaque) = self.defining(id).filter(|kind| kind.opcode == op::TYPE_OPAQUE) {
            return Some(opaque.head(1, most));
        }
        let (_, at) = entries_of(&self.annotations.names, id).first()?;
        Some(self.instruction(*at as usize)?.head(1, most))
    }

    /// Returns the decorations of an id, its own before those of its groups.
    pub(crate) fn decorations(&self, id: u32) -> impl Iterator<Item = Decoration> + '_ {
        let own = entries_of(&self.annotations.decorations, id);
        let groups = entries_of(&self.annotations.groups, id);
        let of_groups = groups.iter().flat_map(|(_, group)| entries_of(&self.annotations.decorations, *group));
        own.iter().chain(of_groups).take(limits::MAX_DECORATIONS).filter_map(|(_, at)| {
            let decoration = self.instruction(*at as usize)?.word(OPERANDS - 1);
            Some(Decoration { decoration, at: *at as usize, operands: OPERANDS })
        })
    }

    /// Whether an id has more decorations than [`Index::decorations`] tells of.
    pub(crate) fn has_more_decorations(&self, id: u32) -> bool {
        let own = entries_of(&self.annotations.decorations, id).len();
        let groups = entries_of(&self.annotations.groups, id).iter().take(limits::MAX_DECORATIONS);
        let of_groups =
            groups.map(|(_, group)| entries_of(&self.annotations.decorations, *group).len().saturating_add(1));
        of_groups.fold(own, usize::saturating_add) > limits::MAX_DECORATIONS
    }

    /// Returns the numbers of a definition's instructions, given that of the first: those that continue it come behind.
    pub(crate) fn definition_from(&self, at: usize) -> Range<usize> {
        let mut end = at.saturating_add(1);
        while self.instruction(end).is_some_and(|next| op::continues_definition(next.opcode)) {
            end = end.saturating_add(1);
        }
        at..end
    }

    /// Returns operand `nth` of a decoration, or none past its last operand.
    pub(crate) fn decoration_operand(&self, decoration: &Decoration, nth: usize) -> Option<u32> {
        let instruction = self.instruction(decoration.at)?;
        let at = decoration.operands.checked_add(nth)?;
        (at < instruction.len()).then(|| instruction.word(at))
    }

    /// Returns the first operand of a decoration of an id (0 where it takes none), or none where the id is not so
    /// decorated.
    pub fn decoration(&self, id: u32, decoration: u32) -> Option<u32> {
        let found = self.decorations(id).find(|found| found.decoration == decoration)?;
        Some(self.decoration_operand(&found, 0).unwrap_or(0))
    }

    /// Returns the linkage of an id, or none where it is private to the module.
    pub fn linkage(&self, id: u32) -> Option<Linkage> {
        const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;
        let found = self.decorations(id).find(|found| found.decoration == LINKAGE)?;
        // A symbol is of one function or variable: a group would give its name to thousands.
        self.instruction(found.at).filter(|decoration| decoration.word(0) == id)?;
        let (name, next) = self.instruction(found.at)?.string(found.operands);
        Some(Linkage { name, kind: LinkageKind::from_number(self.instruction(found.at)?.word(next)) })
    }

    /// Returns the functions and variables that have linkage, in order of their ids. Built-in variables, which are
    /// decorated as imports too, are left out.
    pub fn linked(&self) -> Vec<(u32, Linkage)> {
        const BUILT_IN: u32 = rspirv::spirv::Decoration::BuiltIn as u32;
        let mut ids: Vec<u32> = self.annotations.decorations.iter().map(|(id, _)| *id).collect();
        ids.extend(self.annotations.groups.iter().map(|(id, _)| *id));
        ids.sort_unstable();
        ids.dedup();
        let linked = ids.into_iter().filter_map(|id| Some((id, self.linkage(id)?)));
        linked.filter(|(id, _)| self.decoration(*id, BUILT_IN).is_none()).collect()
    }

    /// Returns the device globals that only this module sees (`static`), with the names by which the host looks for them, in order
    /// of their ids.
    pub(crate) fn host_named(&self) -> Vec<(u32, String)> {
        self.host_accessed().filter(|(id, _)| self.linkage(*id).is_none()).collect()
    }

    /// Returns the symbols of device globals, each behind the name by which the host looks for it: those of one source file have that
    /// name in code for NVIDIA GPUs.
    pub(crate) fn symbols_of_globals(&self) -> Vec<(String, String)> {
        let symbol = |id: u32| self.linkage(id).map(|linkage| linkage.name);
        self.host_accessed().map(|(id, unique)| (unique.clone(), symbol(id).unwrap_or(unique))).collect()
    }

    /// Returns the device globals with the names by which the host looks for them, in order of their ids.
    pub(crate) fn host_accessed(&self) -> impl Iterator<Item = (u32, String)> + '_ {
        let own = self.annotations.decorations.iter().filter_map(|(id, at)| {
            let decoration = self.instruction(*at as usize)?;
            let is_named = op::HOST_ACCESS.contains(&decoration.word(OPERANDS - 1)) && decoration.word(0) == *id;
            is_named.then(|| (*id, decoration.string(OPERANDS.saturating_add(1)).0))
        });
        own.filter(|(_, name)| !name.is_empty())
    }
}

/// Function, declared or defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Id of the function.
    pub id: u32,
    /// Id of the result's type.
    pub(crate) result_type: u32,
    /// Id of the `OpTypeFunction`.
    pub(crate) function_type: u32,
    /// Function control mask.
    pub(crate) control: u32,
    /// Numbers of the instructions, from `OpFunction` to `OpFunctionEnd`.
    pub instructions: Range<usize>,
    /// Whether it has a body; a function without one is defined in another module or by the device.
    pub(crate) defined: bool,
}

/// Execution mode of a function (`OpExecutionMode` or `OpExecutionModeId`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Id of the entry point's function.
    pub(crate) function: u32,
    /// Number of the execution mode.
    pub mode: u32,
    /// Whether the operands are ids of constants.
    pub(crate) ids: bool,
    /// Number of the instruction; the mode's operands begin at its operand word 2.
    pub at: usize,
}

/// Map from ids to defining instructions. A vector for ids as compact as compilers write them, a hash map beyond, so
/// that a forged bound or forged ids cost no memory beyond the module's size.
#[derive(Debug)]
struct Ids {
    /// One more than the number of the instruction; 0, which takes no memory until it is written to, where there is none.
    dense: Vec<u32>,
    sparse: HashMap<u32, u32>,
}

impl Ids {
    /// Creates an empty map for a module with this id bound and this many words.
    fn new(bound: u32, words: usize) -> Ids {
        let bound = usize::try_from(bound).unwrap_or(usize::MAX);
        Ids { dense: vec![0; bound.min(words)], sparse: HashMap::new() }
    }

    /// Records the definition of an id, and returns whether it is the first, which counts. Id 0 is invalid (SPIR-V, "Physical Layout of a
    /// SPIR-V Module and Instruction") and is skipped: it is read where an instruction is too short for its result.
    #[inline]
    fn insert(&mut self, id: u32, number: u32) -> bool {
        if id == 0 {
            return false;
        }
        match self.dense.get_mut(id as usize) {
            Some(place) if *place == 0 => {
                *place = number.saturating_add(1);
                true
            }
            Some(_) => false,
            None => *self.sparse.entry(id).or_insert(number) == number,
        }
    }

    #[inline]
    fn get(&self, id: u32) -> Option<usize> {
        let found = match self.dense.get(id as usize) {
            Some(place) => place.checked_sub(1),
            None => self.sparse.get(&id).copied(),
        };
        found.map(|number| number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(words: &[u32]) -> Vec<u8> {
        [&[0x0723_0203, 0x0001_0400, 0, u32::MAX, 0], words]
            .concat()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }

    fn ids(index: &Index<'_>, number: usize) -> Vec<usize> {
        let mut found = Vec::new();
        assert!(index.for_each_id(&index.instruction(number).unwrap(), |at, _| found.push(at)));
        found
    }

    #[test]
    fn a_switch_over_64_bits_has_literals_of_two_words() {
        let bytes = module(&[
            4 << 16 | 21,
            1,
            64,
            0, // %1 = OpTypeInt 64 0
            3 << 16 | 1,
            1,
            2, // %2 = OpUndef %1
            9 << 16 | 251,
            2,
            3,
            7,
            0,
            4,
            8,
            0,
            5, // OpSwitch %2 %3 7 %4 8 %5
            4 << 16 | 21,
            6,
            32,
            0, // %6 = OpTypeInt 32 0
            3 << 16 | 1,
            6,
            7, // %7 = OpUndef %6
            9 << 16 | 251,
            7,
            3,
            7,
            4,
            8,
            5,
            9,
            5, // OpSwitch %7 %3 7 %4 8 %5 9 %5
        ]);
        let index = Index::read(&bytes).unwrap();
        assert_eq!(ids(&index, 2), [0, 1, 4, 7]);
        assert_eq!(ids(&index, 5), [0, 1, 3, 5, 7]);
    }

    #[test]
    fn operands_of_masks_and_strings_are_told_apart() {
        let bytes = module(&[
            6 << 16 | 62,
            1,
            2,
            0x1_0002,
            8,
            3, // OpStore %1 %2 Aligned|AliasScopeINTELMask 8 %3
            6 << 16 | 15,
            6,
            1,
            u32::from_le_bytes(*b"abcd"),
            0,
            9, // OpEntryPoint Kernel %1 "abcd" %9
            4 << 16 | 332,
            1,
            5914,
            4, // OpDecorateId %1 AliasScopeINTEL %4
            4 << 16 | 71,
            1,
            44,
            4, // OpDecorate %1 Alignment 4
            6 << 16 | 52,
            1,
            2,
            67,
            3,
            4, // OpSpecConstantOp %1 %2 PtrAccessChain %3 %4
        ]);
        let index = Index::read(&bytes).unwrap();
        let all: Vec<_> = (0..5).map(|number| ids(&index, number)).collect();
        assert_eq!(all, [vec![0, 1, 4], vec![1, 4], vec![0, 2], vec![0], vec![0, 1, 3, 4]]);
    }

    #[test]
    fn unknown_instructions_are_kept_and_counted() {
        let bytes = module(&[2 << 16 | 8000, 5, 1 << 16 | 9999, 2 << 16 | 17, 6]);
        let index = Index::read(&bytes).unwrap();
        assert_eq!(index.unknown, BTreeMap::from([(8000, 1), (9999, 1)]));
        assert_eq!((index.len(), &index.capabilities[..]), (3, &[6][..]));
        assert!(!index.for_each_id(&index.instruction(0).unwrap(), |_, _| panic!("an id of an unknown instruction")));
    }

    #[test]
    fn names_and_decorations_are_found_by_their_target_also_through_groups() {
        let bytes = module(&[
            4 << 16 | 5,
            7,
            u32::from_le_bytes(*b"name"),
            0, // OpName %7 "name"
            3 << 16 | 71,
            9,
            5, // OpDecorate %9 Alignment: a group's, without operands
            2 << 16 | 73,
            9, // %9 = OpDecorationGroup
            4 << 16 | 71,
            7,
            44,
            16, // OpDecorate %7 Alignment 16
            4 << 16 | 74,
            9,
            7,
            8, // OpGroupDecorate %9 %7 %8
        ]);
        let index = Index::read(&bytes).unwrap();
        assert_eq!(index.name(7).as_deref(), Some("name"));
        assert_eq!(index.name(8), None);
        let all = |id| index.decorations(id).map(|found| found.decoration).collect::<Vec<_>>();
        assert_eq!((all(7), all(8)), (vec![44, 5], vec![5]));
        assert_eq!(index.decoration(7, 44), Some(16));
    }

    #[test]
    fn a_function_without_an_end_ends_with_the_module() {
        let bytes = module(&[5 << 16 | 54, 1, 2, 0, 3, 2 << 16 | 248, 4, 9 << 16 | 1]);
        let index = Index::read(&bytes).unwrap();
        assert_eq!(index.functions[0].instructions, 0..2);
        assert!(index.functions[0].defined && index.stopped.is_some());
        assert_eq!(index.function_at(1).unwrap().id, 2);
    }

    #[test]
    fn forged_ids_are_kept_without_a_table_of_their_size() {
        let mut ids = Ids::new(u32::MAX, 10);
        assert_eq!(ids.dense.len(), 10);
        for id in [3, u32::MAX, 3, 0] {
            ids.insert(id, id.wrapping_add(1));
        }
        assert_eq!((ids.get(3), ids.get(u32::MAX), ids.get(4), ids.get(5000)), (Some(4), Some(0), None, None));
        assert_eq!(ids.get(0), None);
    }
}
