//! How does a kernel get the global offset of its launch?
//!
//! CUDA has no global offset. The runtime's CUDA adapter (`enqueue.cpp` of `unified-runtime`) launches a kernel with an offset
//! by the name `KERNEL_with_offset`, where there is such a function, with the offset as one more argument: three 32-bit
//! numbers by value. Otherwise the offset is lost. So each kernel that asks for its offset, or for global ids, which include
//! it, is written a second time, with the functions that it calls and that ask; there the argument is handed on, and is added
//! to the ids. The first copy takes the offset to be 0, which costs nothing.

use super::lower::{Writer, begins_annotations, text};
use crate::error::{Error, Result};
use crate::spirv::grammar::Role;
use crate::spirv::index::{Function, Index};
use crate::spirv::op;
use crate::spirv::types::{self, Type};
use crate::spirv::words::{Instruction, NewIds};
use rspirv::spirv::{BuiltIn, Decoration, FunctionParameterAttribute, Op, StorageClass};
use std::collections::{HashMap, HashSet};

/// Added to a kernel's name for the kernel that takes an offset.
pub(crate) const SUFFIX: &str = "_with_offset";

const CALL: u16 = Op::FunctionCall as u16;
const LABEL: u16 = Op::Label as u16;
const LOAD: u16 = Op::Load as u16;
const FUNCTION: u32 = StorageClass::Function as u32;
const LINKAGE: u32 = Decoration::LinkageAttributes as u32;

/// Returns a module with kernels that take an offset, or none where no kernel asks for it.
///
/// # Errors
/// `Input` where the module is damaged or has no more ids, or the offset is asked for in a way that is not known.
pub fn add(il: &[u8]) -> Result<Option<Vec<u8>>> {
    let index = Index::read(il)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let asks = Asks::find(&index);
    if let Some(place) = asks.address_of(&index) {
        return Err(Error::at(
            place,
            "the address of a function that reads its global id: a call by it would not heed the offset of a launch",
        ));
    }
    let entries: Vec<u32> = index.entry_points.iter().map(|entry| entry.function).collect();
    let cloned: Vec<&Function> =
        index.functions.iter().filter(|function| asks.functions.contains(&function.id)).collect();
    if !entries.iter().any(|id| asks.functions.contains(id)) {
        return Ok(None);
    }
    if entries.iter().any(|id| asks.in_parts.contains(id)) {
        return Err(in_parts());
    }
    let Some(vector) = asks.vector else { return Ok(None) };
    let Some(Type::Vector { component, count: 3 }) = types::resolve(&index, vector) else {
        return Err(in_parts());
    };
    let mut clones = Clones { new: NewIds(index.bound), ids: HashMap::new() };
    for function in &cloned {
        for (_, instruction) in index.instructions(function.instructions.clone()) {
            let known = index.for_each_id(&instruction, |_, _| ());
            if !known {
                return Err(Error::at(
                    instruction.offset,
                    "an unknown instruction in a function that reads its global id",
                ));
            }
            if let Some(result) = index.result(&instruction) {
                let id = clones.new.fresh()?;
                clones.ids.insert(result, id);
            }
        }
    }
    let kinds = Kinds::choose(&index, &mut clones, vector, component)?;
    let mut out = Writer::new(&index);
    let first_function = index.functions.first().map_or(index.len(), |function| function.instructions.start);
    let mut parameters = HashMap::new();
    for function in &cloned {
        parameters.insert(function.id, clones.new.fresh()?);
    }
    let (mut annotated, mut made, mut function_types) = (false, HashMap::new(), HashMap::new());
    for (at, instruction) in index.instructions(0..index.len()) {
        if !annotated && begins_annotations(instruction.opcode) {
            annotated = true;
            for parameter in entries.iter().filter_map(|entry| parameters.get(entry)) {
                let by_value = [Decoration::FuncParamAttr as u32, FunctionParameterAttribute::ByVal as u32];
                out.put(op::DECORATE, &[&[*parameter], by_value.as_slice()].concat());
                out.put(op::DECORATE, &[*parameter, Decoration::Alignment as u32, 4]);
            }
        }
        if at == first_function {
            kinds.declare(&mut out);
            for function in &cloned {
                let own = if entries.contains(&function.id) { kinds.pointer } else { kinds.vector };
                let of = put_function_type(&index, &mut out, &mut clones, &mut made, function, own)?;
                function_types.insert(function.id, of);
            }
        }
        let words = operands(&instruction);
        out.put(instruction.opcode, &words);
        put_annotation_of_clone(&mut out, &clones, &instruction, &words);
    }
    for function in &cloned {
        let (Some(parameter), Some(of)) = (parameters.get(&function.id), function_types.get(&function.id)) else {
            continue;
        };
        let is_entry = entries.contains(&function.id);
        Clone { index: &index, asks: &asks, kinds: &kinds, function, is_entry, parameter: *parameter, of: *of }
            .put(&mut out, &mut clones)?;
    }
    Ok(Some(out.finish(clones.new.0)))
}

fn operands(instruction: &Instruction<'_>) -> Vec<u32> {
    (0..instruction.len()).map(|at| instruction.word(at)).collect()
}

/// Variables and functions that need the offset.
#[derive(Default)]
struct Asks {
    /// Variables that hold the global id.
    ids: HashSet<u32>,
    /// Variables that hold the offset.
    offsets: HashSet<u32>,
    /// Type of both: a vector.
    vector: Option<u32>,
    /// Functions that read them, or call one that does.
    functions: HashSet<u32>,
    /// Functions that read them in another way than by loads of the whole, or call one that does.
    in_parts: HashSet<u32>,
}

impl Asks {
    /// Whether an id is one of the variables.
    fn has(&self, id: u32) -> bool {
        self.ids.contains(&id) || self.offsets.contains(&id)
    }

    /// Returns the offset of the first instruction that takes the address of a function which asks.
    fn address_of(&self, index: &Index<'_>) -> Option<u64> {
        let mut pointers =
            index.instructions(0..index.len()).filter(|(_, it)| it.opcode == op::CONSTANT_FUNCTION_POINTER);
        pointers.find(|(_, it)| self.functions.contains(&it.word(2))).map(|(_, it)| it.offset)
    }

    /// Finds them.
    fn find(index: &Index<'_>) -> Asks {
        const GLOBAL_ID: u32 = BuiltIn::GlobalInvocationId as u32;
        const GLOBAL_OFFSET: u32 = BuiltIn::GlobalOffset as u32;
        const BUILT_IN: u32 = Decoration::BuiltIn as u32;
        let mut asks = Asks::default();
        let before = index.functions.first().map_or(0, |first| first.instructions.start);
        for (_, variable) in index.instructions(0..before).filter(|(_, it)| it.opcode == op::VARIABLE) {
            let id = variable.word(1);
            match index.decoration(id, BUILT_IN) {
                Some(GLOBAL_ID) => asks.ids.insert(id),
                Some(GLOBAL_OFFSET) => asks.offsets.insert(id),
                _ => continue,
            };
        }
        // Constants may be pointers into them.
        let mut pointers: HashSet<u32> = HashSet::new();
        for (_, constant) in index.instructions(0..before).filter(|(_, it)| it.opcode == op::SPEC_CONSTANT_OP) {
            if uses(index, &constant, |id| asks.has(id) || pointers.contains(&id)) {
                pointers.insert(constant.word(1));
            }
        }
        let mut callers: HashMap<u32, Vec<u32>> = HashMap::new();
        let (mut open, mut open_in_parts) = (Vec::new(), Vec::new());
        for function in &index.functions {
            for (_, instruction) in index.instructions(function.instructions.clone()) {
                if uses(index, &instruction, |id| pointers.contains(&id)) {
                    open.push(function.id);
                    open_in_parts.push(function.id);
                }
                if uses(index, &instruction, |id| asks.has(id)) {
                    if instruction.opcode != LOAD
                        || *asks.vector.get_or_insert(instruction.word(0)) != instruction.word(0)
                    {
                        open_in_parts.push(function.id);
                    }
                    open.push(function.id);
                }
                if instruction.opcode == CALL {
                    callers.entry(instruction.word(2)).or_default().push(function.id);
                }
            }
        }
        for (open, found) in [(&mut open, &mut asks.functions), (&mut open_in_parts, &mut asks.in_parts)] {
            while let Some(id) = open.pop() {
                if found.insert(id) {
                    open.extend(callers.get(&id).into_iter().flatten());
                }
            }
        }
        asks
    }
}

/// Whether an instruction has one of some ids.
fn uses(index: &Index<'_>, instruction: &Instruction<'_>, is_one: impl Fn(u32) -> bool) -> bool {
    let mut used = false;
    index.for_each_id(instruction, |at, _| used |= is_one(instruction.word(at)));
    used
}

/// The error for kernels of which a copy with an offset cannot be made.
fn in_parts() -> Error {
    Error::input("it reads its global id in parts, or by a pointer, and would not heed the offset of a launch")
}

/// Ids of the copies, by those of what is copied.
struct Clones {
    new: NewIds,
    ids: HashMap<u32, u32>,
}

impl Clones {
    fn renamed(&self, id: u32) -> u32 {
        self.ids.get(&id).copied().unwrap_or(id)
    }
}

/// Types of the argument.
struct Kinds {
    /// 32-bit integer, and whether the module has it already.
    word: u32,
    has_word: bool,
    /// Component of the ids.
    component: u32,
    is_wide: bool,
    vector: u32,
    structure: u32,
    pointer: u32,
}

impl Kinds {
    fn choose(index: &Index<'_>, clones: &mut Clones, vector: u32, component: u32) -> Result<Kinds> {
        let is_word = |id: u32| matches!(types::resolve(index, id), Some(Type::Int { width: 32, .. }));
        let ints = index.instructions(0..index.len()).filter(|(_, it)| it.opcode == op::TYPE_INT);
        let known = ints.map(|(_, of)| of.word(0)).find(|id| is_word(*id));
        let word = known.map_or_else(|| clones.new.fresh(), Ok)?;
        let is_wide = matches!(types::resolve(index, component), Some(Type::Int { width: 64, .. }));
        let (structure, pointer) = (clones.new.fresh()?, clones.new.fresh()?);
        Ok(Kinds { word, has_word: known.is_some(), component, is_wide, vector, structure, pointer })
    }

    fn declare(&self, out: &mut Writer) {
        if !self.has_word {
            out.put(op::TYPE_INT, &[self.word, 32, 0]);
        }
        out.put(op::TYPE_STRUCT, &[self.structure, self.word, self.word, self.word]);
        out.put(op::TYPE_POINTER, &[self.pointer, FUNCTION, self.structure]);
    }
}

/// Returns the type of a function with one more parameter, which is written where it is not there yet: types of functions are
/// unique in a module. `made` has those that were written.
fn put_function_type(
    index: &Index<'_>,
    out: &mut Writer,
    clones: &mut Clones,
    made: &mut HashMap<Vec<u32>, u32>,
    function: &Function,
    parameter: u32,
) -> Result<u32> {
    let of = index.defining(function.function_type).map(|of| operands(&of)).unwrap_or_default();
    let signature = [of.get(1..).unwrap_or_default(), &[parameter]].concat();
    let same = |it: &Instruction<'_>| it.opcode == op::TYPE_FUNCTION && operands(it).get(1..) == Some(&signature);
    let known = index.instructions(0..index.len()).find(|(_, it)| same(it)).map(|(_, it)| it.word(0));
    if let Some(known) = known.or_else(|| made.get(&signature).copied()) {
        return Ok(known);
    }
    let id = clones.new.fresh()?;
    out.put(op::TYPE_FUNCTION, &[&[id], signature.as_slice()].concat());
    made.insert(signature, id);
    Ok(id)
}

/// Writes what is said of a thing again for its copy. Groups of decorations are written out before ([`super::groups`]).
fn put_annotation_of_clone(out: &mut Writer, clones: &Clones, instruction: &Instruction<'_>, words: &[u32]) {
    let mut words = words.to_vec();
    let target = if instruction.opcode == op::ENTRY_POINT { 1 } else { 0 };
    let Some(id) = words.get_mut(target).filter(|id| clones.ids.contains_key(id)) else { return };
    match instruction.opcode {
        op::DECORATE if instruction.word(1) != LINKAGE => {}
        op::DECORATE_ID | op::EXECUTION_MODE | op::EXECUTION_MODE_ID | op::ENTRY_POINT => {}
        _ => return,
    }
    *id = clones.renamed(*id);
    if instruction.opcode == op::ENTRY_POINT {
        let (name, after) = instruction.string(2);
        let interface = words.split_off(after.min(words.len()));
        words.truncate(2);
        words.extend(text(&format!("{name}{SUFFIX}")));
        words.extend(interface);
    }
    out.put(instruction.opcode, &words);
}

/// Copy of a function.
struct Clone<'c, 'a> {
    index: &'c Index<'a>,
    asks: &'c Asks,
    kinds: &'c Kinds,
    function: &'c Function,
    is_entry: bool,
    parameter: u32,
    /// Type of the function.
    of: u32,
}

impl Clone<'_, '_> {
    fn put(&self, out: &mut Writer, clones: &mut Clones) -> Result<()> {
        let index = self.index;
        // The parameter comes after the others, and a kernel's argument is read after the variables of the first block.
        let last_parameter = index.parameters(self.function).last().and_then(|id| index.definition(id));
        let after = last_parameter.unwrap_or(self.function.instructions.start);
        let mut offset = (!self.is_entry).then_some(self.parameter);
        let mut labels = 0usize;
        for (at, instruction) in index.instructions(self.function.instructions.clone()) {
            let mut words = operands(&instruction);
            index.for_each_id(&instruction, |at, role| {
                if let Some(word) = words.get_mut(at).filter(|_| role != Role::ResultType) {
                    *word = clones.renamed(*word);
                }
            });
            let in_body = labels > 0 && instruction.opcode != op::VARIABLE && instruction.opcode != Op::Line as u16;
            let offset = match offset {
                None if in_body => *offset.insert(self.put_argument(out, clones)?),
                known => known.unwrap_or_default(),
            };
            match instruction.opcode {
                op::FUNCTION => {
                    if let Some(of) = words.last_mut() {
                        *of = self.of;
                    }
                }
                LABEL => labels = labels.saturating_add(1),
                CALL if self.asks.functions.contains(&instruction.word(2)) => words.push(offset),
                LOAD if self.asks.ids.contains(&instruction.word(2)) => {
                    let result = words.get(1).copied().unwrap_or_default();
                    let plain = clones.new.fresh()?;
                    words.get_mut(1).into_iter().for_each(|id| *id = plain);
                    out.put(LOAD, &words);
                    out.put(Op::IAdd as u16, &[self.kinds.vector, result, plain, offset]);
                    continue;
                }
                LOAD if self.asks.offsets.contains(&instruction.word(2)) => {
                    let result = words.get(1).copied().unwrap_or_default();
                    out.put(Op::CopyObject as u16, &[self.kinds.vector, result, offset]);
                    continue;
                }
                _ => {}
            }
            out.put(instruction.opcode, &words);
            if at == after {
                let of = if self.is_entry { self.kinds.pointer } else { self.kinds.vector };
                out.put(op::FUNCTION_PARAMETER, &[of, self.parameter]);
            }
        }
        Ok(())
    }

    /// Writes how the vector is made of the argument, and returns its id.
    fn put_argument(&self, out: &mut Writer, clones: &mut Clones) -> Result<u32> {
        let kinds = self.kinds;
        let whole = clones.new.fresh()?;
        out.put(LOAD, &[kinds.structure, whole, self.parameter]);
        let mut parts = [0; 3];
        for (at, part) in (0..).zip(&mut parts) {
            let word = clones.new.fresh()?;
            out.put(Op::CompositeExtract as u16, &[kinds.word, word, whole, at]);
            *part = word;
            if kinds.is_wide {
                *part = clones.new.fresh()?;
                out.put(Op::UConvert as u16, &[kinds.component, *part, word]);
            }
        }
        // llvm-spirv 15 takes constants alone for `OpCompositeConstruct`.
        let mut vector = clones.new.fresh()?;
        out.put(Op::Undef as u16, &[kinds.vector, vector]);
        for (at, part) in (0..).zip(parts) {
            let filled = clones.new.fresh()?;
            out.put(Op::CompositeInsert as u16, &[kinds.vector, filled, part, vector, at]);
            vector = filled;
        }
        Ok(vector)
    }
}
