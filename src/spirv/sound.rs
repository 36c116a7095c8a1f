//! Does a module define what it uses, once, where it may stand?
//!
//! Looked at in the pass that finds a module's facts, and no more than costs next to nothing: ids that are defined twice or never, the
//! order of declarations and functions, and the end of blocks. The rest of what makes a module valid, `spirv-val` tells.

use super::grammar;
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
    fn new(ids: usize) -> IdSet {
        IdSet { dense: vec![0; ids.div_ceil(64)], sparse: HashSet::new() }
    }

    /// Adds an id.
    #[inline]
    fn add(&mut self, id: u32) {
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
    functions: IdSet,
    /// Functions that are called, or whose address is taken.
    pub(super) called: IdSet,
    labels: IdSet,
    /// Blocks that branches lead to.
    reached: IdSet,
    /// Parts of types that were no types yet where they were used, as only pointers may be.
    awaited: Vec<u32>,
    /// Ids that pointers lead to and that were no types yet.
    pointees: Vec<u32>,
    pointers: Vec<u32>,
    /// Number of the parameters of each type of functions.
    signatures: HashMap<u32, usize>,
    /// Parameters that the function has yet to declare.
    left: Option<usize>,
    region: Region,
    /// The last opcode, but for those that may stand anywhere.
    last: u16,
    misplaced: usize,
    endless: usize,
}

impl Soundness {
    /// Begins a walk over a module with this id bound and this many words.
    pub(super) fn new(bound: u32, words: usize) -> Soundness {
        let ids = usize::try_from(bound).unwrap_or(usize::MAX).min(words);
        let set = || IdSet::new(ids);
        let [defined, used, types, functions, called, labels, reached] = [(); 7].map(|()| set());
        Soundness { defined, used, types, functions, called, labels, reached, ..Soundness::default() }
    }

    /// Looks at an instruction; `shapes` are those of the grammar.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>, shapes: &grammar::Shapes) {
        let opcode = instruction.opcode;
        let shape = shapes.shape(opcode);
        let ids = if shape.ids == grammar::ALL_IDS { usize::MAX } else { usize::from(shape.ids) };
        for id in instruction.words().take(ids) {
            self.used.add(id);
        }
        let place = shape.result;
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
            }
        }
        match opcode {
            LINE | NO_LINE | EXT_INST => return,
            TYPE_VECTOR | TYPE_MATRIX | TYPE_ARRAY | TYPE_RUNTIME_ARRAY => self.part(instruction.word(1)),
            TYPE_STRUCT => (1..instruction.len()).for_each(|at| self.part(instruction.word(at))),
            TYPE_FUNCTION => {
                (1..instruction.len()).for_each(|at| self.part(instruction.word(at)));
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
            BRANCH_CONDITIONAL => self.branch(&[instruction.word(1), instruction.word(2)]),
            SWITCH => self.branch(&[instruction.word(1)]),
            FUNCTION_CALL | CONSTANT_FUNCTION_POINTER => {
                self.called.add(instruction.word(2));
            }
            FUNCTION => {
                // One function ends before the next begins.
                let is_open = matches!(self.region, Region::Parameters | Region::Blocks);
                self.misplaced = self.misplaced.saturating_add(usize::from(is_open));
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
                let is_open = matches!(self.region, Region::Parameters | Region::Blocks);
                self.misplaced = self.misplaced.saturating_add(usize::from(!is_open));
                self.region = Region::Between;
                return;
            }
            _ => {}
        }
        let is_early = self.region == Region::Parameters && !matches!(opcode, FUNCTION | FUNCTION_PARAMETER);
        if is_early || self.region == Region::Between {
            self.misplaced = self.misplaced.saturating_add(1);
        }
        self.last = opcode;
    }

    /// Notes a part of a type.
    fn part(&mut self, id: u32) {
        if !self.types.contains(id) {
            self.awaited.push(id);
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

    /// Returns what is wrong.
    pub(super) fn faults(&mut self) -> Vec<String> {
        self.pointers.sort_unstable();
        let early = self.awaited.iter().filter(|id| self.pointers.binary_search(id).is_err()).count();
        let mut faults = Vec::new();
        if self.misplaced > 0 || early > 0 {
            faults.push(
                "the module has ids that are defined twice, or types and instructions where none may stand".to_owned(),
            );
        }
        let undefined = self.used.beyond(&self.defined);
        let pointees = self.pointees.iter().filter(|id| !self.types.contains(**id)).count();
        let strange = [self.called.beyond(&self.functions), self.reached.beyond(&self.labels), pointees];
        let strange = strange.into_iter().fold(0usize, usize::saturating_add);
        if strange > 0 {
            faults.push(format!("the module calls, branches to or points to what is none of the kind ({strange})"));
        }
        if undefined > 0 {
            faults.push(format!("the module uses ids ({undefined}) that it does not define"));
        }
        if self.endless > 0 {
            faults.push(format!("the module has blocks ({}) that do not end with a branch or return", self.endless));
        }
        faults
    }
}

/// Whether an instruction ends a block.
fn is_terminator(opcode: u16) -> bool {
    /// `OpBranch` to `OpUnreachable`.
    const BRANCHES: std::ops::RangeInclusive<u16> = 249..=255;
    /// `OpTerminateInvocation`, `OpIgnoreIntersectionKHR`, `OpTerminateRayKHR`, `OpAbortKHR`, `OpEmitMeshTasksEXT`.
    const OTHERS: [u16; 5] = [4416, 4448, 4449, 5121, 5294];
    BRANCHES.contains(&opcode) || OTHERS.contains(&opcode)
}
