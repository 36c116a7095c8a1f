//! Which functions may a function call?
//!
//! The static call graph: direct calls, functions whose addresses are taken (`OpConstantFunctionPointerINTEL`, alone or in
//! composites, initialisers and tables of virtual functions), blocks handed to `OpEnqueueKernel` and its kin, and
//! indirect calls, which may reach every function of the same signature that is marked `ReferencedIndirectlyINTEL`.
//! Nodes are ids: of functions, of the constants and variables that hold functions, and of function types, which stand
//! for "every function of this signature whose address is taken".
//!
//! The walk starts at the kernel's function and follows every id that its code uses: called functions, functions whose
//! address is taken (also in the initialiser of a variable), and the types, constants and variables of module scope.

use super::grammar::Role;
use super::index::Index;
use super::op;
use super::words::Instruction;
use crate::limits;
use rspirv::spirv::Op;
use std::collections::{HashMap, HashSet};

/// Kind of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    /// `OpFunctionCall`.
    Call,
    /// Use of a function, or of its holder, as an operand: its address is taken or it is enqueued as a block.
    Reference,
    /// Call through a pointer.
    Indirect,
}

/// Edge from one node to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Node it starts from: a function, or a constant or variable that holds functions.
    pub(crate) from: u32,
    /// Node it leads to.
    pub(crate) to: u32,
    /// Number of the instruction.
    pub(crate) at: usize,
    /// Kind of the edge.
    pub(crate) kind: EdgeKind,
}

/// Constants and variables that hold functions, and functions that indirect calls may reach. The edges of function
/// bodies are found with them.
#[derive(Debug, Default)]
pub(crate) struct FunctionPointers {
    holders: HashSet<u32>,
    /// Ids of function types by signature: the forms of the result's type, then of those of parameters.
    signatures: HashMap<Vec<u64>, u32>,
    /// Edges between holders, from holders to functions, and from function types to functions.
    pub(crate) edges: Vec<Edge>,
}

impl FunctionPointers {
    /// Collects the constants and variables of a module that hold functions.
    pub(crate) fn find(index: &Index<'_>) -> FunctionPointers {
        const FUNCTION_POINTERS: [u32; 2] = [5603, 5604];
        let mut pointers = FunctionPointers::default();
        let end = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        let mut edges = Vec::new();
        if index.instructions(0..end).any(|(_, found)| found.opcode == op::CONSTANT_FUNCTION_POINTER) {
            let mut holder = 0;
            for (at, instruction) in index.instructions(0..end) {
                match instruction.opcode {
                    op::CONSTANT_COMPOSITE_CONTINUED | op::SPEC_CONSTANT_COMPOSITE_CONTINUED => {}
                    op::CONSTANT_FUNCTION_POINTER
                    | op::CONSTANT_COMPOSITE
                    | op::SPEC_CONSTANT_COMPOSITE
                    | op::SPEC_CONSTANT_OP
                    | op::VARIABLE
                    | op::UNTYPED_VARIABLE => holder = instruction.word(1),
                    _ => continue,
                }
                index.for_each_id(&instruction, |word, role| {
                    if role == Role::Operand {
                        edges.push(Edge { from: holder, to: instruction.word(word), at, kind: EdgeKind::Reference });
                    }
                });
            }
        }
        pointers.keep_holders(index, edges);
        // Calls that are not declared are calls all the same.
        if index.calls_pointers || FUNCTION_POINTERS.iter().any(|number| index.capabilities.contains(number)) {
            pointers.find_signatures(index);
        }
        pointers
    }

    /// Keeps the edges that lead to a function, directly or through others.
    fn keep_holders(&mut self, index: &Index<'_>, edges: Vec<Edge>) {
        let mut into: HashMap<u32, Vec<u32>> = HashMap::new();
        for edge in &edges {
            into.entry(edge.to).or_default().push(edge.from);
        }
        let mut reached: Vec<u32> = into.keys().copied().filter(|id| index.function(*id).is_some()).collect();
        let functions: HashSet<u32> = reached.iter().copied().collect();
        while let Some(id) = reached.pop() {
            for from in into.get(&id).into_iter().flatten() {
                if self.holders.insert(*from) {
                    reached.push(*from);
                }
            }
        }
        let holders = &self.holders;
        let kept = edges.into_iter().filter(|edge| holders.contains(&edge.to) || functions.contains(&edge.to));
        self.edges = kept.collect();
    }

    fn find_signatures(&mut self, index: &Index<'_>) {
        const REFERENCED_INDIRECTLY: u32 = rspirv::spirv::Decoration::ReferencedIndirectlyINTEL as u32;
        // By function type: thousands of functions may have one that is as long as an instruction can be.
        let mut nodes: HashMap<u32, Option<u32>> = HashMap::new();
        for function in &index.functions {
            if index.decoration(function.id, REFERENCED_INDIRECTLY).is_none() {
                continue;
            }
            let of_type = function.function_type;
            let node = nodes.entry(of_type).or_insert_with(|| {
                let kind = index.defining(of_type).filter(|kind| kind.opcode == op::TYPE_FUNCTION)?;
                let signature = (1..kind.len()).map(|at| form(index, kind.word(at))).collect();
                Some(*self.signatures.entry(signature).or_insert(of_type))
            });
            let Some(node) = *node else { continue };
            let at = function.instructions.start;
            self.edges.push(Edge { from: node, to: function.id, at, kind: EdgeKind::Indirect });
        }
    }

    /// Adds the edges of an instruction in a function.
    #[inline]
    pub(crate) fn edges_of(
        &self,
        index: &Index<'_>,
        function: u32,
        at: usize,
        instruction: &Instruction<'_>,
        found: &mut Vec<Edge>,
    ) {
        match instruction.opcode {
            op::FUNCTION_CALL => {
                found.push(Edge { from: function, to: instruction.word(2), at, kind: EdgeKind::Call });
                if self.holders.is_empty() {
                    return;
                }
            }
            op::FUNCTION_POINTER_CALL => {
                let arguments = (3..instruction.len()).map(|word| index.type_of(instruction.word(word)).unwrap_or(0));
                let types = std::iter::once(instruction.word(0)).chain(arguments);
                let signature: Vec<u64> = types.map(|kind| form(index, kind)).collect();
                if let Some(node) = self.signatures.get(&signature) {
                    found.push(Edge { from: function, to: *node, at, kind: EdgeKind::Indirect });
                }
            }
            opcode if takes_function(opcode) => {}
            _ if self.holders.is_empty() => return,
            _ => {}
        }
        let skip = if instruction.opcode == op::FUNCTION_CALL { Some(2) } else { None };
        index.for_each_id(instruction, |word, role| {
            let to = instruction.word(word);
            if role == Role::Operand
                && Some(word) != skip
                && (self.holders.contains(&to) || index.defining(to).is_some_and(|known| known.opcode == op::FUNCTION))
            {
                found.push(Edge { from: function, to, at, kind: EdgeKind::Reference });
            }
        });
    }
}

/// Identifies a type as far as a call through a pointer goes by it: what a pointer points to does not count, nor which of several
/// equal types it is. Of structures the number of members counts alone.
fn form(index: &Index<'_>, id: u32) -> u64 {
    let Some(kind) = index.defining(id) else { return 0 };
    let word = |at: usize| u64::from(kind.word(at));
    let (first, second) = match kind.opcode {
        op::TYPE_POINTER | op::TYPE_UNTYPED_POINTER => return word(1) << 16 | u64::from(op::TYPE_POINTER),
        op::TYPE_INT | op::TYPE_FLOAT => (word(1), 0),
        op::TYPE_VECTOR => {
            let part = index.defining(kind.word(1));
            (word(2), part.map_or(0, |part| u64::from(part.opcode) << 8 ^ u64::from(part.word(1))))
        }
        op::TYPE_STRUCT => (kind.len() as u64, 0),
        _ => (0, 0),
    };
    (first & 0xffff_ffff) << 16 | (second & 0xffff) << 48 | u64::from(kind.opcode)
}

/// Whether an instruction has a function among its operands: those that enqueue or query blocks, and the one that
/// applies a function to each element of a cooperative matrix.
fn takes_function(opcode: u16) -> bool {
    const FIRST_BLOCK: u16 = Op::EnqueueKernel as u16;
    const LAST_BLOCK: u16 = Op::GetKernelPreferredWorkGroupSizeMultiple as u16;
    const LOCAL_SIZE: u16 = Op::GetKernelLocalSizeForSubgroupCount as u16;
    const SUB_GROUPS: u16 = Op::GetKernelMaxNumSubgroups as u16;
    /// `CooperativeMatrixApplyFunctionINTEL`, not in the published grammar.
    const APPLY_FUNCTION: u16 = 6448;
    matches!(opcode, FIRST_BLOCK..=LAST_BLOCK | LOCAL_SIZE | SUB_GROUPS | APPLY_FUNCTION)
}

/// Part of a module that a function reaches.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Ids of functions in the order in which they are met; the kernel's own is the first.
    pub functions: Vec<u32>,
    /// Ids of module scope (types, constants, variables, strings) in the order in which they are met.
    pub globals: Vec<u32>,
    /// Whether the walk is complete. Otherwise the kernel may reach more: an instruction is in no grammar, or the limit
    /// on instructions was reached.
    pub(crate) complete: bool,
}

/// State shared by the walks over one module: the definitions that the current walk has met, and how many more
/// instructions may be looked at, since each of many kernels may reach all of a large module.
#[derive(Debug)]
pub(crate) struct Walks {
    /// Last walk that met each definition, by the number of the defining instruction.
    met: Vec<u32>,
    walk: u32,
    budget: usize,
    /// Ends of definitions that several instructions make, by their begins: each is looked for once.
    ends: HashMap<usize, usize>,
}

impl Walks {
    /// Creates the state for a module.
    pub(crate) fn new(index: &Index<'_>) -> Walks {
        let budget = limits::reached(index.len());
        Walks { met: vec![0; index.len()], walk: 0, budget, ends: HashMap::new() }
    }

    /// Bounds the walks from functions that are exported: each of thousands may call all that come before.
    pub(crate) fn of_exports(self) -> Walks {
        let most = self.met.len().saturating_mul(limits::EXPORTS_REACHED_RATIO);
        let most = most.saturating_add(limits::EXPORTS_REACHED_FLOOR);
        Walks { budget: self.budget.min(most), ..self }
    }

    /// Returns the numbers of a definition's instructions, given that of the first.
    fn definition_from(&mut self, index: &Index<'_>, at: usize) -> std::ops::Range<usize> {
        if let Some(end) = self.ends.get(&at) {
            return at..*end;
        }
        let all = index.definition_from(at);
        if all.len() > 1 {
            self.ends.insert(at, all.end);
        }
        all
    }

    /// Whether this walk meets an id for the first time; false for an id that the module does not define.
    fn meet(&mut self, index: &Index<'_>, id: u32) -> bool {
        let walk = self.walk;
        let met = index.definition(id).and_then(|at| self.met.get_mut(at));
        met.is_some_and(|met| std::mem::replace(met, walk) != walk)
    }
}

/// Returns what a walk over instructions counts as: their number, and more where they are far longer than any compiler's.
fn cost(index: &Index<'_>, range: &std::ops::Range<usize>) -> usize {
    /// Words that cost as much as an instruction: as many as those of compilers have on average.
    const WORDS: usize = 4;
    let end = range.end.min(index.len());
    let offset = |at: usize| index.instruction(at).map(|instruction| instruction.offset);
    let (first, last) = (offset(range.start), end.checked_sub(1).and_then(|last| index.instruction(last)));
    let bytes = first.zip(last).map_or(0, |(first, last)| {
        let last_bytes = last.len().saturating_add(1).saturating_mul(4) as u64;
        last.offset.saturating_add(last_bytes).saturating_sub(first)
    });
    let words = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
    end.saturating_sub(range.start).saturating_add(words / WORDS)
}

impl Reach {
    /// Walks from a function.
    pub(crate) fn walk(index: &Index<'_>, function: u32, walks: &mut Walks) -> Reach {
        let mut reach = Reach { complete: true, ..Reach::default() };
        walks.walk = walks.walk.saturating_add(1);
        let mut queue = vec![function];
        walks.meet(index, function);
        // A stack makes the walk depth-first, so its order is the same for equal code.
        while let Some(id) = queue.pop() {
            let (range, inside) = match index.function(id) {
                Some(function) => {
                    reach.functions.push(id);
                    (function.instructions.clone(), true)
                }
                None => {
                    let Some(at) = index.definition(id) else { continue };
                    reach.globals.push(id);
                    (walks.definition_from(index, at), false)
                }
            };
            match walks.budget.checked_sub(cost(index, &range)) {
                Some(left) => walks.budget = left,
                None => {
                    reach.complete = false;
                    break;
                }
            }
            let before = queue.len();
            for (_, instruction) in index.instructions(range.clone()) {
                if matches!(instruction.opcode, op::LINE | op::NO_LINE) {
                    continue;
                }
                reach.complete &= index.for_each_id(&instruction, |at, _| {
                    let used = instruction.word(at);
                    // Ids that the function itself defines are walked with its body.
                    let own = inside && index.definition(used).is_some_and(|at| range.contains(&at));
                    if !own && walks.meet(index, used) {
                        queue.push(used);
                    }
                });
            }
            if let Some(new) = queue.get_mut(before..) {
                new.reverse();
            }
        }
        reach
    }
}
