//! Does a module define what it uses, once, where it may stand?
//!
//! Looked at in the pass that finds a module's facts, and no more than costs next to nothing: ids that are defined twice, never, or in
//! another function, the order of sections, declarations and functions, the begin and end of blocks, and operands that are missing. The
//! rest of what makes a module valid, `spirv-val` tells.

use super::grammar::{self, Section, Slot};
use super::op::*;
use super::words::Instruction;
use std::collections::{HashMap, HashSet};

/// Ids. A bitmap of those as compact as compilers write them, a set of all others, so that a forged bound or forged ids cost no
/// memory beyond the module's size.
#[derive(Debug, Default)]
pub(super) struct IdSet {
    dense: Vec<u64>,
    sparse: HashSet<u32>,
}

impl IdSet {
    /// Returns an empty set for a module that has so many ids at most.
    pub(super) fn new(ids: usize) -> IdSet {
        IdSet { dense: vec![0; ids.div_ceil(64)], sparse: HashSet::new() }
    }

    /// Adds an id.
    #[inline]
    pub(super) fn add(&mut self, id: u32) {
        match self.dense.get_mut((id / 64) as usize) {
            Some(word) => *word |= 1u64 << (id % 64),
            None => _ = self.sparse.insert(id),
        }
    }

    /// Adds an id, and returns whether it is new.
    #[inline]
    fn insert(&mut self, id: u32) -> bool {
        match self.dense.get_mut((id / 64) as usize) {
            Some(word) => {
                let bit = 1u64 << (id % 64);
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
            None => self.sparse.insert(id),
        }
    }

    /// Whether it has an id.
    pub(super) fn contains(&self, id: u32) -> bool {
        match self.dense.get((id / 64) as usize) {
            Some(word) => word & 1u64 << (id % 64) != 0,
            None => self.sparse.contains(&id),
        }
    }

    /// Returns the number of its ids that another set of the same module lacks.
    fn beyond(&self, other: &IdSet) -> usize {
        let dense = self.dense.iter().zip(&other.dense).map(|(own, other)| (own & !other).count_ones() as usize);
        dense.sum::<usize>().saturating_add(self.sparse.difference(&other.sparse).count())
    }
}

/// Types of scalars by id: of the types themselves and of their values. Those below a number of ids are in a list that grows up to
/// the last scalar, all others in a map, as in [`IdSet`].
#[derive(Debug, Default)]
struct Scalars {
    ids: usize,
    dense: Vec<u8>,
    sparse: HashMap<u32, u8>,
}

/// Mark of floats beside their width.
const FLOAT: u8 = 0x80;
/// An integer of 64 bits.
const WIDE: u8 = 64;

impl Scalars {
    /// Returns the width in bits, with [`FLOAT`] for floats; 0 for all that is none, or of no plain width or encoding.
    #[inline]
    fn get(&self, id: u32) -> u8 {
        match self.dense.get(id as usize) {
            Some(scalar) => *scalar,
            None => self.sparse.get(&id).copied().unwrap_or(0),
        }
    }

    #[inline]
    fn set(&mut self, id: u32, scalar: u8) {
        let at = id as usize;
        if at >= self.ids {
            self.sparse.insert(id, scalar);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize(at.saturating_add(1), 0);
        }
        if let Some(place) = self.dense.get_mut(at) {
            *place = scalar;
        }
    }
}

/// Region of a module that the walk is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Region {
    /// Before the first function.
    #[default]
    Head,
    /// In a function, before its first block.
    Parameters,
    /// In a block, or behind one.
    Blocks,
    /// Behind a function.
    Between,
}

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Soundness {
    defined: IdSet,
    used: IdSet,
    types: IdSet,
    pub(super) functions: IdSet,
    /// Functions that are called, or whose address is taken.
    pub(super) called: IdSet,
    labels: IdSet,
    /// Blocks that branches lead to.
    reached: IdSet,
    /// Ids that closed functions define.
    foreign: IdSet,
    /// Ids that the open function defines, and those that it uses before their definition.
    own: Vec<u32>,
    ahead: Vec<u32>,
    /// Functions that are called before they are defined.
    later: Vec<u32>,
    scalars: Scalars,
    /// Whether there are wider integers.
    has_wider: bool,
    /// Sets of instructions that stand in blocks.
    code_sets: Vec<u32>,
    /// The section of the last instruction before the functions.
    section: Section,
    /// Parts of types that were no types yet where they were used, as only pointers may be, and with a declaration ahead of
    /// them where they are no parts of structures.
    awaited: Vec<(u32, bool)>,
    announced: Vec<u32>,
    /// Ids that pointers lead to and that were no types yet.
    pointees: Vec<u32>,
    pointers: Vec<u32>,
    /// Number of the parameters of each type of functions.
    pub(super) signatures: HashMap<u32, usize>,
    /// Parameters that the function has yet to declare.
    left: Option<usize>,
    region: Region,
    /// The last opcode, but for those that may stand anywhere.
    last: u16,
    misplaced: usize,
    endless: usize,
    /// Ids that are of another function, or of another kind.
    strange: usize,
    /// Instructions without operands that they need.
    short: usize,
    /// Instructions with operands that they do not take.
    long: usize,
    /// Whether it has instructions whose length for Intel's translator is not known: of no grammar, with texts or modes that compilers of
    /// kernels do not write, or that name a file of the source, as DPC++ names none.
    is_unread: bool,
}

impl Soundness {
    /// Begins a walk over a module that has so many ids at most.
    pub(super) fn new(ids: usize) -> Soundness {
        let set = || IdSet::new(ids);
        let [defined, used, types, functions, called, labels, reached, foreign] = [(); 8].map(|()| set());
        let scalars = Scalars { ids, ..Scalars::default() };
        Soundness { defined, used, types, functions, called, labels, reached, foreign, scalars, ..Soundness::default() }
    }

    /// Whether an id is an integer of 64 bits.
    pub(super) fn is_wide(&self, id: u32) -> bool {
        self.scalars.get(id) == WIDE
    }

    /// Returns the width in bits of a scalar that an instruction makes one of its own type; 0 for all others.
    pub(super) fn own_width(&self, instruction: &Instruction<'_>) -> u8 {
        let scalar = self.scalars.get(instruction.word(0));
        if scalar == self.scalars.get(instruction.word(2)) { scalar & !FLOAT } else { 0 }
    }

    /// Looks at an instruction; `shapes` are those of the grammar.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>, shapes: &grammar::Shapes) {
        let opcode = instruction.opcode;
        let shape = shapes.shape(opcode);
        let ids = if shape.ids == grammar::ALL_IDS { usize::MAX } else { usize::from(shape.ids) };
        let place = shape.result;
        let from = if shape.tail == grammar::NO_TAIL { usize::MAX } else { usize::from(shape.tail) };
        let tail = instruction.words().skip(from);
        let is_inside = matches!(self.region, Region::Parameters | Region::Blocks);
        if is_inside {
            let uses = instruction.words().take(ids).enumerate().filter(|(at, _)| *at != usize::from(place));
            uses.for_each(|(_, id)| self.use_inside(id));
            tail.for_each(|id| self.use_inside(id));
        } else {
            instruction.words().take(ids).chain(tail).for_each(|id| self.used.add(id));
            if shape.section == Section::Declarations || matches!(opcode, VARIABLE | UNTYPED_VARIABLE) {
                self.declare(instruction, ids, place);
            }
        }
        if place < grammar::NO_RESULT {
            let id = instruction.word(usize::from(place));
            // Id 0 is none: it is read where an instruction is too short for its result.
            let is_new = id != 0 && self.defined.insert(id);
            // In functions and behind them only labels have a result without a type.
            let late = place == 0 && self.region != Region::Head && opcode != LABEL;
            let is_typed = place != 1 || self.types.contains(instruction.word(0));
            self.misplaced = self.misplaced.saturating_add(usize::from(!is_new || late || !is_typed));
            if shape.is_type {
                self.types.add(id);
            } else if place == 1 {
                let scalar = self.scalars.get(instruction.word(0));
                if scalar != 0 {
                    self.scalars.set(id, scalar);
                }
            }
            if is_inside {
                self.own.push(id);
            }
        }
        self.short = self.short.saturating_add(usize::from(instruction.len() < usize::from(shape.least)));
        let is_long = instruction.len() > usize::from(shape.most) && shape.most < u8::MAX || goes_on(instruction);
        self.long = self.long.saturating_add(usize::from(is_long));
        self.is_unread |= match opcode {
            SOURCE => instruction.len() > 2,
            // The encoding of floats, which older translators do not read.
            TYPE_FLOAT => is_head(instruction.word(2)),
            EXECUTION_MODE | EXECUTION_MODE_ID => is_unread_mode(instruction),
            _ => place == grammar::UNKNOWN || shape.has_text && text_of(instruction).is_none(),
        };
        match opcode {
            LINE | NO_LINE => return,
            EXT_INST if !self.code_sets.contains(&instruction.word(2)) => return,
            EXT_INST => self.extended(instruction),
            EXT_INST_IMPORT if instruction.text(1).0 == "OpenCL.std" => self.code_sets.push(instruction.word(0)),
            EXECUTION_MODE | EXECUTION_MODE_ID => {
                self.has(instruction, of_mode(instruction.word(1)).unwrap_or(0));
                // The type of a vector by its number, up to `double`, with the number of its elements above.
                let is_none = instruction.word(1) == VECTOR_HINT && instruction.word(2) & 0xffff > 6;
                self.strange = self.strange.saturating_add(usize::from(is_none));
            }
            DECORATE if instruction.word(1) == LINKAGE => {
                self.has(instruction, instruction.after_string(2).saturating_sub(1));
            }
            DECORATE => self.has(instruction, of_decoration(instruction.word(1))),
            TYPE_INT => match instruction.word(1) {
                width @ (8 | 16 | 32 | 64) => self.scalars.set(instruction.word(0), u8::try_from(width).unwrap_or(0)),
                width => self.has_wider |= width > 64,
            },
            TYPE_FLOAT if instruction.len() == 2 && matches!(instruction.word(1), 16 | 32 | 64) => {
                self.scalars.set(instruction.word(0), FLOAT | u8::try_from(instruction.word(1)).unwrap_or(0));
            }
            TYPE_FORWARD_POINTER => self.announced.push(instruction.word(0)),
            TYPE_VECTOR | TYPE_MATRIX | TYPE_ARRAY | TYPE_RUNTIME_ARRAY => self.part(instruction.word(1), false),
            TYPE_STRUCT => (1..instruction.len()).for_each(|at| self.part(instruction.word(at), true)),
            TYPE_FUNCTION => {
                (1..instruction.len()).for_each(|at| self.part(instruction.word(at), false));
                // No type is its own part.
                let own = (1..instruction.len()).filter(|at| instruction.word(*at) == instruction.word(0)).count();
                self.misplaced = self.misplaced.saturating_add(own);
                self.signatures.insert(instruction.word(0), instruction.len().saturating_sub(2));
            }
            TYPE_POINTER | TYPE_UNTYPED_POINTER => {
                self.pointers.push(instruction.word(0));
                let pointee = instruction.word(2);
                if opcode == TYPE_POINTER && !self.types.contains(pointee) {
                    self.pointees.push(pointee);
                }
            }
            BRANCH => self.branch(&[instruction.word(0)]),
            BRANCH_CONDITIONAL => {
                self.condition(instruction.word(0));
                self.branch(&[instruction.word(1), instruction.word(2)]);
            }
            SWITCH => self.switch(instruction),
            FUNCTION_CALL | CONSTANT_FUNCTION_POINTER => {
                self.called.add(instruction.word(2));
            }
            FUNCTION => {
                // One function ends before the next begins.
                self.misplaced = self.misplaced.saturating_add(usize::from(is_inside));
                self.region = Region::Parameters;
                self.functions.add(instruction.word(1));
                self.left = self.signatures.get(&instruction.word(3)).copied();
            }
            FUNCTION_PARAMETER => self.left = self.left.and_then(|left| left.checked_sub(1)),
            LABEL => {
                self.labels.add(instruction.word(0));
                self.end_parameters();
                self.end_block();
                self.region = if self.region == Region::Parameters { Region::Blocks } else { self.region };
            }
            FUNCTION_END => {
                self.end_parameters();
                self.end_block();
                self.misplaced = self.misplaced.saturating_add(usize::from(!is_inside));
                self.region = Region::Between;
                self.end_function();
                return;
            }
            _ => {}
        }
        let is_wrong = match self.region {
            Region::Head if shape.section == Section::Any => false,
            Region::Head => {
                let is_early = shape.section < self.section || shape.section == Section::Code;
                self.section = self.section.max(shape.section);
                is_early
            }
            Region::Parameters => !matches!(opcode, FUNCTION | FUNCTION_PARAMETER),
            // Behind the end of a block another begins.
            Region::Blocks => {
                let is_of_head = !matches!(shape.section, Section::Any | Section::Code);
                is_of_head || opcode == FUNCTION_PARAMETER || opcode != LABEL && is_terminator(self.last)
            }
            Region::Between => true,
        };
        self.misplaced = self.misplaced.saturating_add(usize::from(is_wrong));
        self.last = opcode;
    }

    /// Notes an id that a function uses.
    #[inline]
    fn use_inside(&mut self, id: u32) {
        self.used.add(id);
        if !self.defined.contains(id) {
            self.ahead.push(id);
        } else if self.foreign.contains(id) {
            self.strange = self.strange.saturating_add(1);
        }
    }

    /// Counts what a declaration uses and only a later one defines. Parts of types may be announced, and functions come last.
    fn declare(&mut self, instruction: &Instruction<'_>, ids: usize, place: u8) {
        let opcode = instruction.opcode;
        let exempt =
            [TYPE_STRUCT, TYPE_STRUCT_CONTINUED, TYPE_FORWARD_POINTER, TYPE_FUNCTION, CONSTANT_FUNCTION_POINTER];
        if exempt.contains(&opcode) {
            return;
        }
        let is_array = matches!(opcode, TYPE_VECTOR | TYPE_MATRIX | TYPE_ARRAY | TYPE_RUNTIME_ARRAY);
        let is_checked = |at: usize| at != usize::from(place) && !(is_array && at == 1);
        let initial = if matches!(opcode, VARIABLE | UNTYPED_VARIABLE) { 3..instruction.len() } else { 0..0 };
        let leading = (0..ids.min(instruction.len())).filter(|at| is_checked(*at));
        let early = leading.chain(initial).filter(|at| !self.defined.contains(instruction.word(*at))).count();
        self.misplaced = self.misplaced.saturating_add(early);
    }

    /// Looks at the operands of an instruction of `OpenCL.std`.
    fn extended(&mut self, instruction: &Instruction<'_>) {
        const FIRST: usize = 4;
        let Some(slots) = grammar::of_opencl(instruction.word(3)) else { return };
        let is_needed = |slot: &&Slot| matches!(slot, Slot::Id | Slot::Literal);
        self.has(instruction, FIRST.saturating_add(slots.iter().filter(is_needed).count()).saturating_sub(2));
        for (at, slot) in (FIRST..).zip(slots) {
            let ids = match slot {
                Slot::Ids => at..instruction.len(),
                Slot::Id | Slot::OptionalId if at < instruction.len() => at..at.saturating_add(1),
                _ => continue,
            };
            ids.for_each(|at| self.use_inside(instruction.word(at)));
        }
    }

    /// Counts an instruction that has fewer operands than two, and so many more.
    fn has(&mut self, instruction: &Instruction<'_>, more: usize) {
        self.short = self.short.saturating_add(usize::from(instruction.len() < more.saturating_add(2)));
    }

    /// Notes what a branch hangs on.
    fn condition(&mut self, id: u32) {
        let is_none = self.labels.contains(id) || self.types.contains(id);
        self.strange = self.strange.saturating_add(usize::from(is_none));
    }

    /// Notes where a switch leads to. Its literals are as wide as what it hangs on.
    fn switch(&mut self, instruction: &Instruction<'_>) {
        let selector = instruction.word(0);
        self.condition(selector);
        self.branch(&[instruction.word(1)]);
        if self.has_wider {
            return;
        }
        let stride = if self.is_wide(selector) { 3 } else { 2 };
        let cases = instruction.len().saturating_sub(2);
        self.short = self.short.saturating_add(usize::from(!cases.is_multiple_of(stride)));
        for at in (stride.saturating_add(1)..instruction.len()).step_by(stride) {
            self.use_inside(instruction.word(at));
            self.branch(&[instruction.word(at)]);
        }
    }

    /// Closes a function: nothing uses from outside what it defines.
    fn end_function(&mut self) {
        for id in self.own.drain(..) {
            self.foreign.add(id);
        }
        let Soundness { ahead, defined, later, .. } = self;
        later.extend(ahead.drain(..).filter(|id| !defined.contains(*id)));
    }

    /// Notes a part of a type.
    fn part(&mut self, id: u32, in_structure: bool) {
        if !self.types.contains(id) {
            self.awaited.push((id, in_structure));
        }
    }

    /// Notes where a branch leads to.
    fn branch(&mut self, targets: &[u32]) {
        targets.iter().for_each(|target| self.reached.add(*target));
    }

    /// Counts the function whose parameters are not those of its type, as its first block or its end begins.
    fn end_parameters(&mut self) {
        if self.region == Region::Parameters && self.left != Some(0) {
            self.misplaced = self.misplaced.saturating_add(1);
        }
    }

    /// Counts the block before, where it does not end with a branch or a return.
    fn end_block(&mut self) {
        if self.region == Region::Blocks && !is_terminator(self.last) {
            self.endless = self.endless.saturating_add(1);
        }
    }

    /// Whether an instruction is longer or shorter than its operands, or may be for Intel's translator: that does not go by lengths, and
    /// takes what is behind the operands for the next instruction.
    pub(super) fn overruns(&self) -> bool {
        self.short > 0 || self.long > 0 || self.is_unread
    }

    /// Returns what is wrong.
    pub(super) fn faults(&mut self) -> Vec<String> {
        self.pointers.sort_unstable();
        self.announced.sort_unstable();
        let is_pointer = |id: &u32| self.pointers.binary_search(id).is_ok();
        let is_announced = |id: &u32| self.announced.binary_search(id).is_ok();
        let early = self.awaited.iter().filter(|(id, within)| !(is_pointer(id) && (*within || is_announced(id))));
        let early = early.count();
        let mut faults = Vec::new();
        if self.misplaced > 0 || early > 0 {
            faults.push(
                "the module has ids that are defined twice, or types and instructions where none may stand".to_owned(),
            );
        }
        let undefined = self.used.beyond(&self.defined);
        let pointees = self.pointees.iter().filter(|id| !self.types.contains(**id)).count();
        let later =
            self.later.iter().filter(|id| self.defined.contains(**id) && !self.functions.contains(**id)).count();
        let reached = self.reached.beyond(&self.labels);
        let strange = [self.called.beyond(&self.functions), reached, pointees, later, self.strange];
        let strange = strange.into_iter().fold(0usize, usize::saturating_add);
        if strange > 0 {
            faults.push(format!("the module calls, branches to or points to what is none of the kind ({strange})"));
        }
        if undefined > 0 {
            faults.push(format!("the module uses ids ({undefined}) that it does not define"));
        }
        if self.short > 0 {
            faults.push(format!("the module has instructions ({}) without operands that they need", self.short));
        }
        if self.long > 0 {
            faults.push(format!("the module has instructions ({}) with more operands than they take", self.long));
        }
        if self.endless > 0 {
            faults.push(format!("the module has blocks ({}) that do not end with a branch or return", self.endless));
        }
        faults
    }
}

const VECTOR_HINT: u32 = rspirv::spirv::ExecutionMode::VecTypeHint as u32;
/// Decorations with a text: `ClobberINTEL`, `UserSemantic`, `UserTypeGOOGLE`, `MemoryINTEL`, `MergeINTEL`.
const CLOBBER: u32 = 5607;
const USER_SEMANTIC: u32 = 5635;
const USER_TYPE: u32 = 5636;
const MEMORY: u32 = 5826;
const MERGE: u32 = 5834;
const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;

/// Returns the first word of the text of an instruction, or of two in a row, the number of the texts, and that of the operands behind
/// them, where those are counted: entry points list what they use behind their name.
fn text_of(instruction: &Instruction<'_>) -> Option<(usize, usize, Option<usize>)> {
    let (text, behind) = match instruction.opcode {
        SOURCE_CONTINUED | SOURCE_EXTENSION | EXTENSION | MODULE_PROCESSED => (0, Some(0)),
        NAME | STRING | EXT_INST_IMPORT | ASM_TARGET | TYPE_OPAQUE => (1, Some(0)),
        MEMBER_NAME => (2, Some(0)),
        ENTRY_POINT => (2, None),
        SOURCE if instruction.len() > 3 => (3, Some(0)),
        DECORATE | DECORATE_STRING | MEMBER_DECORATE | MEMBER_DECORATE_STRING => {
            let is_of_member = matches!(instruction.opcode, MEMBER_DECORATE | MEMBER_DECORATE_STRING);
            let at = 1usize.saturating_add(is_of_member.into());
            let text = at.saturating_add(1);
            match instruction.word(at) {
                LINKAGE => (text, Some(1)),
                access if HOST_ACCESS.contains(&access) => (text.saturating_add(1), Some(0)),
                MERGE => return Some((text, 2, Some(0))),
                CLOBBER | USER_SEMANTIC | USER_TYPE | MEMORY => (text, Some(0)),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((text, 1, behind))
}

/// Whether operands follow those that an instruction with a text, or of an execution mode, has, or the text does not end with zeros.
/// Intel's translator passes over white space behind a text.
fn goes_on(instruction: &Instruction<'_>) -> bool {
    if matches!(instruction.opcode, EXECUTION_MODE | EXECUTION_MODE_ID) {
        let operands = of_mode(instruction.word(1)).unwrap_or(usize::MAX);
        return instruction.len() > operands.saturating_add(2);
    }
    let Some((mut text, texts, behind)) = text_of(instruction) else { return false };
    for _ in 1..texts {
        if goes_on_at(instruction, text, None) {
            return true;
        }
        text = instruction.after_string(text);
    }
    goes_on_at(instruction, text, behind)
}

/// Whether a text at an operand does not end with zeros, or other than so many operands are behind it.
fn goes_on_at(instruction: &Instruction<'_>, text: usize, behind: Option<usize>) -> bool {
    let end = instruction.after_string(text);
    let last = instruction.word(end.saturating_sub(1)).to_le_bytes();
    let is_ended = end > text
        && last.iter().position(|byte| *byte == 0).is_some_and(|zero| last.iter().skip(zero).all(|byte| *byte == 0));
    !is_ended || behind.is_some_and(|behind| end.saturating_add(behind) != instruction.len())
}

/// Returns the number of operands of an execution mode that compilers of kernels write, as Intel's translator reads it
/// (`SPIRVExecutionMode::decode` of KhronosGroup/SPIRV-LLVM-Translator); none of others, of which graphics has the most.
fn of_mode(mode: u32) -> Option<usize> {
    Some(match mode {
        17 | 18 | 38 | 39 | 5893 => 3,
        6028 => 2,
        30
        | 35..=37
        | 4459..=4463
        | 5618
        | 5620..=5623
        | 5894
        | 5896
        | 5903
        | 6154
        | 6160
        | 6417
        | 6446
        | 6461..=6463 => 1,
        // `ContractionOff`, `Initializer`, `Finalizer`, `NoGlobalOffsetINTEL`, `MaximallyReconvergesKHR`, and `FastCompositeKernelINTEL`,
        // which is not published.
        31 | 33 | 34 | 5895 | 6023 | 6088 => 0,
        _ => return None,
    })
}

/// Whether the operands of a mode have other lengths for Intel's translator, or for older ones, which know fewer modes and take operands
/// of others for the next instruction.
fn is_unread_mode(instruction: &Instruction<'_>) -> bool {
    /// Modes that translators of 2020 know, which is before DPC++ had any.
    const OLD: [u32; 18] = [17, 18, 30, 31, 33, 34, 35, 36, 4459, 4460, 4461, 4462, 4463, 5618, 5620, 5621, 5893, 5894];
    let mode = instruction.word(1);
    let mut operands = (2..instruction.len()).map(|at| instruction.word(at));
    of_mode(mode).is_none() || !OLD.contains(&mode) && operands.any(is_head)
}

/// Whether a word is the head of an instruction where one is looked for. Translators end at one that has no length.
fn is_head(word: u32) -> bool {
    word > u16::MAX.into()
}

/// Returns the number of operands of a decoration, of those that compilers of kernels write.
fn of_decoration(decoration: u32) -> usize {
    usize::from(matches!(decoration, 1 | 11 | 29 | 38..=40 | 44 | 45))
}

/// Whether an instruction ends a block.
fn is_terminator(opcode: u16) -> bool {
    /// `OpBranch` to `OpUnreachable`.
    const BRANCHES: std::ops::RangeInclusive<u16> = 249..=255;
    /// `OpTerminateInvocation`, `OpIgnoreIntersectionKHR`, `OpTerminateRayKHR`, `OpAbortKHR`, `OpEmitMeshTasksEXT`.
    const OTHERS: [u16; 5] = [4416, 4448, 4449, 5121, 5294];
    BRANCHES.contains(&opcode) || OTHERS.contains(&opcode)
}
