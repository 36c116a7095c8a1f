//! Which loads under a condition can be done without it?
//!
//! Loops of SYCL kernels often load under a check of bounds and add what they found. A GPU waits for each such load before it
//! comes to the next check, since LLVM does not move loads that may be out of bounds. So a block that does nothing but load
//! from global memory and calculate, between a condition and what follows, becomes part of the block before it: where the
//! condition does not hold, it loads from a place of zeros, and its results are not taken. After LLVM has unrolled the loop,
//! several loads are under way at once.
//!
//! ```text
//!     if (i < n)                      float *from = i < n ? p + i : &zero;
//!         sum = sum + p[i];     =>    float next = sum + *from;
//!                                     sum = i < n ? next : sum;
//! ```

use super::lower::Writer;
use crate::error::Result;
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::types::{self, Type};
use crate::spirv::words::{Instruction, NewIds};
use rspirv::spirv::{Decoration, MemoryAccess, Op, StorageClass};
use std::collections::HashMap;
use std::ops::Range;

/// Instructions that such a block may have: more are rather jumped over.
const MOST_INSTRUCTIONS: usize = 24;
const CROSS_WORKGROUP: u32 = StorageClass::CrossWorkgroup as u32;
/// Alignment of a place of zeros in bytes: that of the widest vector.
const ALIGNMENT: u32 = 128;
const LOAD: u16 = Op::Load as u16;
const BRANCH: u16 = Op::Branch as u16;
const BRANCH_CONDITIONAL: u16 = Op::BranchConditional as u16;
const SWITCH: u16 = Op::Switch as u16;
const PHI: u16 = Op::Phi as u16;
const LABEL: u16 = Op::Label as u16;
const SELECT: u16 = Op::Select as u16;
const SELECTION_MERGE: u16 = Op::SelectionMerge as u16;

/// Returns a module whose loads are moved, or none where no load is.
///
/// # Errors
/// `Input` where the module is damaged or has no more ids.
pub fn speculate(il: &[u8]) -> Result<Option<Vec<u8>>> {
    let index = Index::read(il)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let mut moved = Vec::new();
    for function in index.functions.iter().filter(|function| function.defined) {
        moved.extend(Blocks::read(&index, function.instructions.clone()).conditional_loads(&index));
    }
    if moved.is_empty() { Ok(None) } else { rewrite(&index, &moved).map(Some) }
}

/// A block of loads under a condition.
#[derive(Debug)]
struct Conditional {
    /// Number of the branch at the end of the block before.
    branch: usize,
    /// Label of the block before.
    head: u32,
    /// The condition's id, and whether the block runs where it holds.
    condition: u32,
    wanted: bool,
    /// Label of the block, and its instructions between the label and its branch.
    block: u32,
    body: Range<usize>,
    /// Label of what follows.
    next: u32,
    /// Numbers of the phis there.
    phis: Range<usize>,
}

/// Basic block of a function.
#[derive(Debug)]
struct Block {
    label: u32,
    /// Numbers of its instructions, from the label to the branch.
    instructions: Range<usize>,
}

/// Basic blocks of a function, and how many branches lead to each.
struct Blocks {
    blocks: Vec<Block>,
    by_label: HashMap<u32, usize>,
    arrivals: HashMap<u32, usize>,
}

impl Blocks {
    fn read(index: &Index<'_>, instructions: Range<usize>) -> Blocks {
        let mut found = Blocks { blocks: Vec::new(), by_label: HashMap::new(), arrivals: HashMap::new() };
        for (at, instruction) in index.instructions(instructions) {
            if instruction.opcode == LABEL {
                found.by_label.insert(instruction.word(0), found.blocks.len());
                found.blocks.push(Block { label: instruction.word(0), instructions: at..at });
            }
            if let Some(block) = found.blocks.last_mut() {
                block.instructions.end = at.saturating_add(1);
            }
            let targets = match instruction.opcode {
                BRANCH => 0..1,
                BRANCH_CONDITIONAL => 1..3,
                // Literals among the labels only make a block seem to be reached more often.
                SWITCH => 1..instruction.len(),
                _ => continue,
            };
            for label in targets.map(|at| instruction.word(at)) {
                let count = found.arrivals.entry(label).or_default();
                *count = count.saturating_add(1);
            }
        }
        found
    }

    fn get(&self, label: u32) -> Option<&Block> {
        self.blocks.get(*self.by_label.get(&label)?)
    }

    fn conditional_loads(&self, index: &Index<'_>) -> Vec<Conditional> {
        self.blocks.iter().filter_map(|block| self.conditional_load(index, block)).collect()
    }

    fn conditional_load(&self, index: &Index<'_>, head: &Block) -> Option<Conditional> {
        let branch = head.instructions.end.checked_sub(1)?;
        let instruction = index.instruction(branch).filter(|last| last.opcode == BRANCH_CONDITIONAL)?;
        let condition = instruction.word(0);
        [(true, instruction.word(1), instruction.word(2)), (false, instruction.word(2), instruction.word(1))]
            .into_iter()
            .find_map(|(wanted, label, next)| {
                let block = self.get(label).filter(|_| label != next && self.arrivals.get(&label) == Some(&1))?;
                let last = block.instructions.end.checked_sub(1)?;
                let ends = index.instruction(last).filter(|last| last.opcode == BRANCH && last.word(0) == next);
                let body = block.instructions.start.saturating_add(1)..last;
                let movable = ends.is_some() && is_movable(index, body.clone());
                let phis = phis(index, self.get(next).filter(|_| movable)?)?;
                Some(Conditional { branch, head: head.label, condition, wanted, block: label, body, next, phis })
            })
    }
}

/// Whether instructions only load from global memory and calculate, and load at all.
fn is_movable(index: &Index<'_>, body: Range<usize>) -> bool {
    let all = || index.instructions(body.clone()).map(|(_, instruction)| instruction);
    body.len() <= MOST_INSTRUCTIONS
        && all().any(|instruction| instruction.opcode == LOAD)
        && all().all(|instruction| match instruction.opcode {
            LOAD => is_plain_load(index, &instruction),
            opcode => is_cheap(opcode),
        })
}

fn is_plain_load(index: &Index<'_>, load: &Instruction<'_>) -> bool {
    let volatile = load.word(3) & MemoryAccess::VOLATILE.bits() != 0;
    // No other variable can stand for an id.
    let is_built_in = index.decoration(load.word(2), Decoration::BuiltIn as u32).is_some();
    !volatile && !is_built_in && zeros_of(index, load.word(2)).is_some()
}

/// Returns the pointer type of a load from global memory, and what it points to.
fn zeros_of(index: &Index<'_>, pointer: u32) -> Option<(u32, u32)> {
    let of = index.type_of(pointer)?;
    match types::resolve(index, of)? {
        Type::Pointer { storage: CROSS_WORKGROUP, pointee: Some(pointee) } => Some((of, pointee)),
        _ => None,
    }
}

/// Whether an instruction has no effect but its result, cannot fail, and costs less than a jump. Division by zero fails.
fn is_cheap(opcode: u16) -> bool {
    const CHEAP: [Op; 38] = [
        Op::AccessChain,
        Op::InBoundsAccessChain,
        Op::PtrAccessChain,
        Op::InBoundsPtrAccessChain,
        Op::Bitcast,
        Op::ConvertFToU,
        Op::ConvertFToS,
        Op::ConvertSToF,
        Op::ConvertUToF,
        Op::UConvert,
        Op::SConvert,
        Op::FConvert,
        Op::CompositeExtract,
        Op::CompositeConstruct,
        Op::Select,
        Op::SNegate,
        Op::FNegate,
        Op::IAdd,
        Op::FAdd,
        Op::ISub,
        Op::FSub,
        Op::IMul,
        Op::FMul,
        Op::ShiftLeftLogical,
        Op::ShiftRightLogical,
        Op::ShiftRightArithmetic,
        Op::BitwiseAnd,
        Op::BitwiseOr,
        Op::BitwiseXor,
        Op::Not,
        Op::LogicalAnd,
        Op::LogicalOr,
        Op::LogicalNot,
        Op::IEqual,
        Op::INotEqual,
        Op::FOrdEqual,
        Op::FUnordNotEqual,
        Op::FOrdLessThan,
    ];
    CHEAP.iter().any(|cheap| *cheap as u16 == opcode)
}

/// Returns the numbers of a block's phis, where each is of a type that one condition selects.
fn phis(index: &Index<'_>, block: &Block) -> Option<Range<usize>> {
    let begin = block.instructions.start.saturating_add(1);
    let is_phi = |at: &usize| index.instruction(*at).is_some_and(|it| it.opcode == PHI);
    let end = (begin..block.instructions.end).find(|at| !is_phi(at))?;
    let scalar = |at: usize| {
        let of = index.instruction(at).and_then(|phi| types::resolve(index, phi.word(0)));
        matches!(of, Some(Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. }))
    };
    (begin..end).all(scalar).then_some(begin..end)
}

/// Ids for what is added, and places of zeros by the type of the pointers to them.
struct Added {
    new: NewIds,
    zeros: HashMap<u32, Zeros>,
}

/// Place of zeros in global memory.
#[derive(Clone, Copy)]
struct Zeros {
    pointer_type: u32,
    pointee: u32,
    null: u32,
    variable: u32,
}

fn rewrite(index: &Index<'_>, moved: &[Conditional]) -> Result<Vec<u8>> {
    const NULL: u16 = Op::ConstantNull as u16;
    let mut added = Added { new: NewIds(index.bound), zeros: HashMap::new() };
    // Bodies and branches are left out where they stand; bodies are written in the place of the branch before.
    let (mut heads, mut gone, mut joined) = (HashMap::new(), HashMap::new(), HashMap::new());
    for one in moved {
        heads.insert(one.branch, one);
        // The label, the body and the branch.
        gone.insert(one.body.start.saturating_sub(1), one.body.end);
        one.phis.clone().for_each(|phi| {
            joined.entry(phi).or_insert_with(Vec::new).push(one);
        });
        for (_, load) in index.instructions(one.body.clone()).filter(|(_, instruction)| instruction.opcode == LOAD) {
            let Some((pointer_type, pointee)) = zeros_of(index, load.word(2)) else { continue };
            if !added.zeros.contains_key(&pointer_type) {
                let zeros = Zeros { pointer_type, pointee, null: added.new.fresh()?, variable: added.new.fresh()? };
                added.zeros.insert(pointer_type, zeros);
            }
        }
    }
    let mut zeros: Vec<Zeros> = added.zeros.values().copied().collect();
    zeros.sort_unstable_by_key(|zeros| zeros.variable);
    // The value that a phi takes from the joined block, by the phi's number and the block before.
    let mut selected: HashMap<(usize, u32), u32> = HashMap::new();
    for one in moved {
        for phi in one.phis.clone() {
            selected.insert((phi, one.head), added.new.fresh()?);
        }
    }
    let first_function = index.functions.first().map_or(index.len(), |function| function.instructions.start);
    let mut out = Writer::new(index);
    let (mut annotated, mut skipped_to) = (false, None);
    for (at, instruction) in index.instructions(0..index.len()) {
        if !annotated && super::lower::begins_annotations(instruction.opcode) {
            annotated = true;
            for zeros in &zeros {
                out.put(op::DECORATE, &[zeros.variable, Decoration::Alignment as u32, ALIGNMENT]);
            }
        }
        if at == first_function {
            for zeros in &zeros {
                // llvm-spirv 15 takes no null of a number.
                match types::resolve(index, zeros.pointee) {
                    Some(Type::Int { width, .. } | Type::Float { width, .. }) => {
                        let words: &[u32] = if width > 32 { &[0, 0] } else { &[0] };
                        out.put(op::CONSTANT, &[&[zeros.pointee, zeros.null], words].concat());
                    }
                    _ => out.put(NULL, &[zeros.pointee, zeros.null]),
                }
                out.put(op::VARIABLE, &[zeros.pointer_type, zeros.variable, CROSS_WORKGROUP, zeros.null]);
            }
        }
        if let Some(end) = gone.get(&at) {
            skipped_to = Some(*end);
        }
        if skipped_to.is_some_and(|end| at <= end) {
            continue;
        }
        let follows = heads.contains_key(&at.saturating_add(1));
        if instruction.opcode == SELECTION_MERGE && follows {
            continue;
        }
        if let Some(one) = heads.get(&at) {
            put_body(index, &mut out, one, &mut added)?;
            for phi in one.phis.clone() {
                let Some(result) = selected.get(&(phi, one.head)).copied() else { continue };
                put_selection(index, &mut out, one, phi, result);
            }
            out.put(BRANCH, &[one.next]);
            continue;
        }
        let mut words: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
        // Since SPIR-V 1.4 an entry point lists all variables of the module that it uses, and may list more.
        if instruction.opcode == op::ENTRY_POINT && index.version >= (1, 4) {
            words.extend(zeros.iter().map(|zeros| zeros.variable));
        }
        match joined.get(&at) {
            Some(joins) => out.put(PHI, &joined_phi(&words, at, joins, &selected)),
            None => out.put(instruction.opcode, &words),
        }
    }
    Ok(out.finish(added.new.0))
}

/// Writes a body whose loads are from the place of zeros where the condition does not hold.
fn put_body(index: &Index<'_>, out: &mut Writer, one: &Conditional, added: &mut Added) -> Result<()> {
    for (_, instruction) in index.instructions(one.body.clone()) {
        let mut words: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
        if instruction.opcode == LOAD {
            let zeros = zeros_of(index, instruction.word(2)).and_then(|(of, _)| added.zeros.get(&of).copied());
            if let (Some(zeros), Some(pointer)) = (zeros, words.get_mut(2)) {
                let chosen = added.new.fresh()?;
                let (there, not) = one.order(*pointer, zeros.variable);
                out.put(SELECT, &[zeros.pointer_type, chosen, one.condition, there, not]);
                *pointer = chosen;
            }
        }
        out.put(instruction.opcode, &words);
    }
    Ok(())
}

/// Writes the choice between what a phi takes from a block and from the one before.
fn put_selection(index: &Index<'_>, out: &mut Writer, one: &Conditional, phi: usize, result: u32) {
    let Some(instruction) = index.instruction(phi) else { return };
    let from = |label: u32| {
        let pairs = (2..instruction.len()).step_by(2);
        pairs.filter(|at| instruction.word(at.saturating_add(1)) == label).map(|at| instruction.word(at)).next()
    };
    let (Some(done), Some(jumped)) = (from(one.block), from(one.head)) else { return };
    let (there, not) = one.order(done, jumped);
    out.put(SELECT, &[instruction.word(0), result, one.condition, there, not]);
}

impl Conditional {
    /// Orders what is taken where the block runs, and what else, as `OpSelect` has them.
    fn order(&self, runs: u32, else_: u32) -> (u32, u32) {
        if self.wanted { (runs, else_) } else { (else_, runs) }
    }
}

/// Returns the operands of a phi without the blocks that are gone, with the choice for those before them.
fn joined_phi(words: &[u32], at: usize, joins: &[&Conditional], selected: &HashMap<(usize, u32), u32>) -> Vec<u32> {
    let (of, pairs) = words.split_at_checked(2).unwrap_or((words, &[]));
    let mut out = of.to_vec();
    for pair in pairs.as_chunks::<2>().0 {
        let [value, label] = *pair;
        if joins.iter().any(|one| one.block == label) {
            continue;
        }
        let chosen = joins.iter().find(|one| one.head == label).and_then(|one| selected.get(&(at, one.head)));
        out.extend([chosen.copied().unwrap_or(value), label]);
    }
    out
}
