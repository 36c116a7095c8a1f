//! How does a SPIR-V module look to a compiler whose default address space is the generic one?
//!
//! llvm-spirv gives each storage class a fixed address space: 0 private, 1 global, 2 constant, 3 local, 4 generic. NVPTX has
//! 0 generic, 1 global, 3 shared, 4 constant. So the storage classes change before the translation, in SPIR-V: generic
//! pointers become those of class `Function` (0), which is also how libclc's names for NVPTX are mangled, and constants
//! become global (1): NVPTX's own constant memory ends at 64 KiB and is slow where work-items read different places.
//!
//! Kernels become functions that [`super::shim`] calls from kernels of NVPTX's calling convention. Multiplications and
//! additions may be contracted (`FPFastMathMode`), as IGC and CUDA's compiler do, unless the module forbids it: the flag is on
//! the module's own instructions, so that libraries keep the arithmetic that they are written for.

use super::shim::is_symbol;
use crate::error::{Error, Result};
use crate::limits;
use crate::spirv::index::Index;
use crate::spirv::kernel::Attributes;
use crate::spirv::types::{self, Layouts, Type};
use crate::spirv::words::{Instruction, NewIds};
use crate::spirv::{MAGIC, op};
use rspirv::spirv::{
    Capability, Decoration, ExecutionMode, FunctionParameterAttribute, LinkageType, Op, Scope, StorageClass,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Added to a kernel's name for the function that has its code.
pub(crate) const BODY: &str = ".body";
/// Storage classes of `SPV_INTEL_usm_storage_classes`.
const DEVICE_ONLY: u32 = StorageClass::DeviceOnlyINTEL as u32;
const HOST_ONLY: u32 = StorageClass::HostOnlyINTEL as u32;
const CROSS_WORKGROUP: u32 = StorageClass::CrossWorkgroup as u32;
const FUNCTION: u32 = StorageClass::Function as u32;
const GENERIC: u32 = StorageClass::Generic as u32;
const UNIFORM_CONSTANT: u32 = StorageClass::UniformConstant as u32;
const WORKGROUP: u32 = StorageClass::Workgroup as u32;
/// `AllowContractFastINTEL` of `FPFastMathMode`.
const CONTRACT: u32 = 0x1_0000;
const FAST_MATH_EXTENSION: &str = "SPV_INTEL_fp_fast_math_mode";
const FAST_MATH: u32 = Decoration::FPFastMathMode as u32;
const FAST_MATH_CAPABILITY: u32 = Capability::FPFastMathModeINTEL as u32;
const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
const LINKAGE_CAPABILITY: u32 = Capability::Linkage as u32;
pub(super) const BITCAST: u16 = Op::Bitcast as u16;
const COPY_OBJECT: u16 = Op::CopyObject as u16;
const TYPE_EVENT: u16 = Op::TypeEvent as u16;
const CONTROL_BARRIER: u16 = Op::ControlBarrier as u16;
/// `fmod` of OpenCL.std (OpenCL extended instruction set, 2.1).
const FMOD: u32 = 29;
const REMAINDER: u16 = Op::FRem as u16;
const MODULO: u16 = Op::FMod as u16;
/// Scope of a work-group; those of more have lower numbers (SPIR-V specification, 3.27).
const WORKGROUP_SCOPE: u64 = Scope::Workgroup as u64;
/// Decorations of functions that say what [`CALCULATING`] says.
const BY_FUNCTION: [u32; 3] = [
    Decoration::FunctionRoundingModeINTEL as u32,
    Decoration::FunctionDenormModeINTEL as u32,
    Decoration::FunctionFloatingPointModeINTEL as u32,
];
const SUB_GROUPS: [u32; 2] =
    [ExecutionMode::SubgroupsPerWorkgroup as u32, ExecutionMode::SubgroupsPerWorkgroupId as u32];
/// Execution modes by which a kernel would round in another way, take denormals for zeros, or not fuse what is fused here. PTX keeps
/// denormals and rounds to the nearest.
const CALCULATING: [u32; 6] = [
    ExecutionMode::DenormFlushToZero as u32,
    ExecutionMode::RoundingModeRTZ as u32,
    ExecutionMode::RoundingModeRTPINTEL as u32,
    ExecutionMode::RoundingModeRTNINTEL as u32,
    ExecutionMode::FloatingPointModeALTINTEL as u32,
    ExecutionMode::FPFastMathDefault as u32,
];

/// A kernel of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Required work-group size, x first.
    pub work_group: Option<[u32; 3]>,
    /// Maximum work-group size, x first.
    pub(crate) max_work_group: Option<[u32; 3]>,
}

/// Parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// Passed as it is: an LLVM type.
    Plain(String),
    /// Pointer to local memory, whose place the launch passes as an offset.
    Local,
    /// Structure of this size and alignment in the kernel's own copy.
    Copied {
        /// Bytes.
        size: u64,
        /// Bytes.
        align: u64,
    },
}

/// A module as llvm-spirv gets it.
#[derive(Debug)]
pub struct Lowered {
    /// SPIR-V, little-endian.
    pub(crate) module: Vec<u8>,
    /// Kernels in module order.
    pub kernels: Vec<Kernel>,
    /// Variables of the device that the runtime reads and writes by their names.
    pub(crate) variables: Vec<String>,
}

/// Returns the storage class that a pointer of a class gets.
fn storage(class: u32) -> u32 {
    match class {
        GENERIC => FUNCTION,
        UNIFORM_CONSTANT | DEVICE_ONLY | HOST_ONLY => CROSS_WORKGROUP,
        other => other,
    }
}

/// Returns what an instruction asks for that would be computed otherwise, or left out.
fn beyond_ptx(index: &Index<'_>, instruction: &Instruction<'_>) -> Option<String> {
    let what = instruction.word(1);
    match instruction.opcode {
        op::EXECUTION_MODE | op::EXECUTION_MODE_ID if CALCULATING.contains(&what) => {
            Some(format!("kernels for NVIDIA GPUs do not calculate by execution mode {what}"))
        }
        // 0 stands for PTX's way: to the nearest, with denormals, as IEEE has it.
        op::DECORATE if BY_FUNCTION.contains(&what) && instruction.word(3) != 0 => {
            Some(format!("kernels for NVIDIA GPUs do not calculate by decoration {what}"))
        }
        // llvm-spirv makes barriers of a sub-group of all that are not of a work-group.
        CONTROL_BARRIER => {
            let scope = types::constant_bits(index, instruction.word(0));
            let is_wider = scope.is_none_or(|scope| scope < WORKGROUP_SCOPE);
            is_wider.then(|| "a barrier of more than a work-group, which NVIDIA GPUs have none for".to_owned())
        }
        op::EXECUTION_MODE | op::EXECUTION_MODE_ID if SUB_GROUPS.contains(&what) => {
            Some("a number of sub-groups in a work-group, which CUDA has no way to ask for".to_owned())
        }
        MODULO => Some("`OpFMod`, which LLVM computes wrongly for NVIDIA GPUs".to_owned()),
        _ => None,
    }
}

/// Lowers a module.
///
/// # Errors
/// `Input` where it is damaged, or has a kernel with a parameter that no kernel of an NVIDIA GPU takes.
pub fn lower(il: &[u8]) -> Result<Lowered> {
    let index = Index::read(il)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let kernels = kernels(&index)?;
    let entries: HashSet<u32> = index.entry_points.iter().map(|entry| entry.function).collect();
    let functions = entries.iter().filter_map(|id| index.function(*id));
    let parameters: HashSet<u32> = functions.flat_map(|function| index.parameters(function)).collect();
    let contracted = contracted(&index);
    // Nobody looks for functions, and llvm-spirv would take one that is called like a kernel or a built-in for that.
    let defined = index.functions.iter().filter(|function| function.defined);
    let defined: HashSet<u32> = defined.map(|function| function.id).collect();
    let mut ids = NewIds(index.bound);
    let nulls = nulls(&index, &mut ids)?;
    let first_function = index.functions.first().map_or(index.len(), |function| function.instructions.start);
    let mut out = Writer::new(&index);
    let (mut capabilities, mut annotations) = (false, false);
    // Number of functions that were begun and not ended.
    let mut open = 0usize;
    // Id of the import of OpenCL's functions.
    let mut functions_of = None;
    for (at, instruction) in index.instructions(0..index.len()) {
        if let Some(why) = beyond_ptx(&index, &instruction) {
            return Err(Error::at(instruction.offset, why));
        }
        if !capabilities && instruction.opcode != op::CAPABILITY {
            capabilities = true;
            for capability in [LINKAGE_CAPABILITY, FAST_MATH_CAPABILITY] {
                if !index.capabilities.contains(&capability) {
                    out.put(op::CAPABILITY, &[capability]);
                }
            }
            if !index.extensions.iter().any(|name| name == FAST_MATH_EXTENSION) {
                out.put(op::EXTENSION, &text(FAST_MATH_EXTENSION));
            }
        }
        if !annotations && begins_annotations(instruction.opcode) {
            annotations = true;
            let bodies = index.entry_points.iter().map(|entry| (entry.function, format!("{}{BODY}", entry.name)));
            for (id, symbol) in bodies.chain(index.host_named()) {
                let mut words = vec![id, LINKAGE];
                words.extend(text(&symbol));
                words.push(LinkageType::Export as u32);
                out.put(op::DECORATE, &words);
            }
            for id in &contracted {
                if index.decoration(*id, FAST_MATH).is_none() {
                    out.put(op::DECORATE, &[*id, FAST_MATH, CONTRACT]);
                }
            }
        }
        if at == first_function {
            nulls.iter().for_each(|(of, id)| out.put(op::CONSTANT_NULL, &[*of, *id]));
        }
        let mut words: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
        let mut opcode = instruction.opcode;
        let change = |words: &mut Vec<u32>, at: usize| {
            if let Some(class) = words.get_mut(at) {
                *class = storage(*class);
            }
        };
        match opcode {
            op::FUNCTION => open = open.saturating_add(1),
            op::FUNCTION_END => open = open.saturating_sub(1),
            op::ENTRY_POINT => continue,
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID if entries.contains(&instruction.word(0)) => continue,
            // The kernel around it has the copy.
            op::DECORATE
                if is_attribute(&words, FunctionParameterAttribute::ByVal)
                    && parameters.contains(&instruction.word(0)) =>
            {
                continue;
            }
            op::NAME if defined.contains(&instruction.word(0)) => continue,
            op::DECORATE if instruction.word(1) == LINKAGE && defined.contains(&instruction.word(0)) => continue,
            // A hint that llvm-spirv 15 ends at.
            op::DECORATE if is_attribute(&words, FunctionParameterAttribute::NoReadWrite) => continue,
            op::DECORATE if instruction.word(1) == FAST_MATH && contracted.contains(&instruction.word(0)) => {
                if let Some(mask) = words.get_mut(2) {
                    *mask |= CONTRACT;
                }
            }
            op::TYPE_POINTER | op::TYPE_UNTYPED_POINTER => change(&mut words, 1),
            op::TYPE_FORWARD_POINTER => change(&mut words, 1),
            op::EXT_INST_IMPORT if instruction.string(1).0 == "OpenCL.std" => functions_of = Some(instruction.word(0)),
            // For NVIDIA GPUs LLVM computes a remainder by a rounded quotient: it is not one where that is large.
            REMAINDER => {
                let set = functions_of.ok_or_else(|| {
                    Error::at(
                        instruction.offset,
                        "`OpFRem` without an import of OpenCL.std, which has a function for it",
                    )
                })?;
                opcode = op::EXT_INST;
                words.splice(2..2, [set, FMOD]);
            }
            // The built-ins of asynchronous copies take numbers for events, whose type is another one in each LLVM.
            TYPE_EVENT => {
                opcode = op::TYPE_INT;
                words.extend([64, 0]);
            }
            // llvm-spirv 15 knows no null of a number.
            op::CONSTANT_NULL if index.defining(instruction.word(0)).is_some_and(|of| of.opcode == TYPE_EVENT) => {
                opcode = op::CONSTANT;
                words.extend([0, 0]);
            }
            op::VARIABLE | op::UNTYPED_VARIABLE => change(&mut words, 2),
            op::SPEC_CONSTANT_OP => {
                let cast = u16::try_from(instruction.word(2)).unwrap_or(0);
                if is_space_cast(cast) && is_null(&index, instruction.word(3)) {
                    // LLVM has no cast of null between address spaces in a variable's first value.
                    opcode = op::CONSTANT_NULL;
                    words.truncate(2);
                } else if is_space_cast(cast) && same_storage(&index, instruction.word(0), instruction.word(3)) {
                    words.get_mut(2).into_iter().for_each(|cast| *cast = u32::from(BITCAST));
                }
            }
            // An address of 0 is one in local memory, and null in none.
            cast if is_null_cast(&index, &instruction, cast) => {
                opcode = COPY_OBJECT;
                let null = nulls.get(&instruction.word(0)).copied().unwrap_or_default();
                words.get_mut(2).into_iter().for_each(|operand| *operand = null);
            }
            cast if is_space_cast(cast) && same_storage(&index, instruction.word(0), instruction.word(2)) => {
                opcode = BITCAST;
            }
            _ => {}
        }
        out.put(opcode, &words);
    }
    if open > 0 {
        return Err(Error::input("the module ends within a function"));
    }
    Ok(Lowered { module: out.finish(ids.0), kernels, variables: variables(&index) })
}

/// Words of a module in little-endian order.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Begins with the header of a module.
    pub(crate) fn new(index: &Index<'_>) -> Writer {
        let words = index.words();
        let mut out = Vec::with_capacity(words.len().saturating_mul(5));
        out.extend_from_slice(&MAGIC.to_le_bytes());
        (1..5).for_each(|at| out.extend_from_slice(&words.header(at).to_le_bytes()));
        Writer(out)
    }

    /// Writes an instruction.
    pub(crate) fn put(&mut self, opcode: u16, operands: &[u32]) {
        let length = u32::try_from(operands.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.0.extend_from_slice(&(length << 16 | u32::from(opcode)).to_le_bytes());
        operands.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
    }

    /// Returns the module, whose ids are below a bound.
    pub(crate) fn finish(mut self, bound: u32) -> Vec<u8> {
        if let Some(word) = self.0.get_mut(12..16) {
            word.copy_from_slice(&bound.to_le_bytes());
        }
        self.0
    }
}

/// Returns the words of a literal string.
pub(super) fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4).saturating_add(1).saturating_mul(4), 0);
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Whether an opcode is the first one that can come after debug information: an annotation, a type or a function.
pub(super) fn begins_annotations(opcode: u16) -> bool {
    matches!(opcode, op::DECORATE | op::DECORATE_ID | op::DECORATE_STRING | op::DECORATION_GROUP | op::MEMBER_DECORATE)
        || (op::TYPE_VOID..=op::TYPE_FORWARD_POINTER).contains(&opcode)
        || opcode == op::TYPE_UNTYPED_POINTER
}

/// Whether a decoration is this attribute of a parameter.
fn is_attribute(decoration: &[u32], of: FunctionParameterAttribute) -> bool {
    const ATTRIBUTE: u32 = Decoration::FuncParamAttr as u32;
    matches!(decoration, [_, ATTRIBUTE, kind] if *kind == of as u32)
}

/// Whether an instruction casts between address spaces. Explicit casts, which test the space, are functions of the library.
fn is_space_cast(opcode: u16) -> bool {
    const CASTS: [Op; 4] = [
        Op::PtrCastToGeneric,
        Op::GenericCastToPtr,
        Op::PtrCastToCrossWorkgroupINTEL,
        Op::CrossWorkgroupCastToPtrINTEL,
    ];
    CASTS.into_iter().any(|cast| cast as u16 == opcode)
}

/// Whether an instruction casts a constant null between address spaces, given its opcode.
fn is_null_cast(index: &Index<'_>, instruction: &Instruction<'_>, opcode: u16) -> bool {
    is_space_cast(opcode) && is_null(index, instruction.word(2))
}

/// Whether an id is a constant null, or a copy or casts of one.
fn is_null(index: &Index<'_>, mut id: u32) -> bool {
    for _ in 0..limits::MAX_NESTING {
        match index.defining(id) {
            Some(it) if it.opcode == op::CONSTANT_NULL => return true,
            Some(it) if matches!(it.opcode, BITCAST | COPY_OBJECT) => id = it.word(2),
            Some(it) if it.opcode == op::SPEC_CONSTANT_OP => {
                let cast = u16::try_from(it.word(2)).unwrap_or(0);
                if cast != BITCAST && !is_space_cast(cast) {
                    return false;
                }
                id = it.word(3);
            }
            _ => return false,
        }
    }
    false
}

/// Returns new ids for the nulls that functions cast to, by their types.
fn nulls(index: &Index<'_>, ids: &mut NewIds) -> Result<BTreeMap<u32, u32>> {
    let mut nulls = BTreeMap::new();
    for (_, cast) in index.instructions(0..index.len()).filter(|(_, it)| is_null_cast(index, it, it.opcode)) {
        if let Entry::Vacant(new) = nulls.entry(cast.word(0)) {
            new.insert(ids.fresh()?);
        }
    }
    Ok(nulls)
}

/// Whether the type of a cast's result and that of its operand have become one.
fn same_storage(index: &Index<'_>, result_type: u32, operand: u32) -> bool {
    let class = |id: u32| match types::resolve(index, id) {
        Some(Type::Pointer { storage: class, .. }) => Some(storage(class)),
        _ => None,
    };
    class(result_type).is_some_and(|own| index.type_of(operand).and_then(class) == Some(own))
}

/// Returns the results of multiplications, additions and subtractions that may be contracted.
fn contracted(index: &Index<'_>) -> HashSet<u32> {
    const OFF: u32 = ExecutionMode::ContractionOff as u32;
    const ADD: u16 = Op::FAdd as u16;
    const SUBTRACT: u16 = Op::FSub as u16;
    const MULTIPLY: u16 = Op::FMul as u16;
    if index.modes.iter().any(|mode| mode.mode == OFF) {
        return HashSet::new();
    }
    let all = index.instructions(0..index.len());
    let fused = all.filter(|(_, instruction)| matches!(instruction.opcode, ADD | SUBTRACT | MULTIPLY));
    fused.map(|(_, instruction)| instruction.word(1)).collect()
}

/// Returns the names of variables in global memory that the module exports, and of those that the host looks for.
fn variables(index: &Index<'_>) -> Vec<String> {
    let is_global = |id: u32| {
        let variable = index.defining(id).filter(|it| matches!(it.opcode, op::VARIABLE | op::UNTYPED_VARIABLE));
        variable.is_some_and(|it| storage(it.word(2)) == CROSS_WORKGROUP)
    };
    let linked = index.linked().into_iter().filter(|(_, linkage)| linkage.kind.is_exported());
    let all = linked.map(|(id, linkage)| (id, linkage.name)).chain(index.host_named());
    // Others have no name that PTX could say.
    let all = all.filter(|(id, name)| is_global(*id) && is_symbol(name));
    all.map(|(_, name)| name).collect::<BTreeSet<_>>().into_iter().collect()
}

fn kernels(index: &Index<'_>) -> Result<Vec<Kernel>> {
    let layouts = Layouts::compute(index);
    let mut kernels = Vec::new();
    for entry in &index.entry_points {
        let missing = || Error::input(format!("the entry point {} is no function of the module", entry.name));
        let function = index.function(entry.function).ok_or_else(missing)?;
        let mut parameters = Vec::new();
        for (at, id) in index.parameters(function).enumerate() {
            let parameter = parameter(index, &layouts, id).map_err(|what| {
                Error::input(format!(
                    "argument {at} of {} is {what}, which no kernel of an NVIDIA GPU takes",
                    entry.name
                ))
            })?;
            parameters.push(parameter);
        }
        let attributes = Attributes::read(index, entry.function);
        kernels.push(Kernel {
            name: entry.name.clone().into_owned(),
            parameters,
            work_group: attributes.work_group_size,
            max_work_group: attributes.max_work_group_size,
        });
    }
    Ok(kernels)
}

/// Returns a kernel's parameter, or what it is where it cannot be one.
fn parameter(index: &Index<'_>, layouts: &Layouts, id: u32) -> std::result::Result<Parameter, String> {
    const ATTRIBUTE: u32 = Decoration::FuncParamAttr as u32;
    const BY_VALUE: u32 = FunctionParameterAttribute::ByVal as u32;
    let brief = |of: u32| types::brief(index, of);
    let of = index.type_of(id).ok_or("of no type")?;
    let by_value = index.decorations(id).any(|decoration| {
        decoration.decoration == ATTRIBUTE && index.decoration_operand(&decoration, 0) == Some(BY_VALUE)
    });
    match types::resolve(index, of) {
        Some(Type::Pointer { storage: WORKGROUP, .. }) => Ok(Parameter::Local),
        Some(Type::Pointer { storage: FUNCTION, pointee: Some(pointee) }) if by_value => {
            const ALIGNMENT: u32 = Decoration::Alignment as u32;
            let layout = layouts.get(pointee).ok_or_else(|| brief(pointee))?;
            // A packed structure may be aligned nevertheless, and the code relies on it.
            let stated = index.decoration(id, ALIGNMENT).filter(|align| align.is_power_of_two());
            Ok(Parameter::Copied { size: layout.size, align: layout.align.max(stated.unwrap_or(1).into()) })
        }
        _ => llvm_type(index, of).map(Parameter::Plain).ok_or_else(|| brief(of)),
    }
}

/// Returns the LLVM type that llvm-spirv makes of a lowered type.
fn llvm_type(index: &Index<'_>, of: u32) -> Option<String> {
    Some(match types::resolve(index, of)? {
        Type::Bool => "i1".to_owned(),
        Type::Int { width, .. } => format!("i{width}"),
        Type::Float { width: 16, encoding: None } => "half".to_owned(),
        Type::Float { width: 32, encoding: None } => "float".to_owned(),
        Type::Float { width: 64, encoding: None } => "double".to_owned(),
        Type::Float { width: 16, encoding: Some(0) } => "bfloat".to_owned(),
        Type::Vector { component, count } => format!("<{count} x {}>", llvm_type(index, component)?),
        Type::Pointer { storage: class, .. } => match storage(class) {
            FUNCTION => "ptr".to_owned(),
            CROSS_WORKGROUP => "ptr addrspace(1)".to_owned(),
            WORKGROUP => "ptr addrspace(3)".to_owned(),
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::types;

    /// A kernel `k` of a generic pointer that it casts a global one to, a local pointer and a structure by value; it adds, and
    /// calls a function that is exported by the kernel's name.
    fn module(contraction_off: bool) -> Vec<u8> {
        with_mode(contraction_off.then_some(ExecutionMode::ContractionOff))
    }

    fn with_mode(mode: Option<ExecutionMode>) -> Vec<u8> {
        let mut words = vec![MAGIC, 0x0001_0400, 0, 40, 0];
        let mut put = |opcode: u16, operands: &[u32]| {
            words.push((operands.len() as u32 + 1) << 16 | u32::from(opcode));
            words.extend_from_slice(operands);
        };
        let name = u32::from_le_bytes(*b"k\0\0\0");
        put(op::CAPABILITY, &[6]);
        put(op::MEMORY_MODEL, &[2, 2]);
        put(op::ENTRY_POINT, &[6, 20, name]);
        put(op::EXECUTION_MODE, &[20, ExecutionMode::LocalSize as u32, 8, 4, 1]);
        if let Some(mode) = mode {
            put(op::EXECUTION_MODE, &[20, mode as u32, 32]);
        }
        put(op::DECORATE, &[23, Decoration::FuncParamAttr as u32, FunctionParameterAttribute::ByVal as u32]);
        put(op::DECORATE, &[23, Decoration::Alignment as u32, 8]);
        put(op::DECORATE, &[22, Decoration::FuncParamAttr as u32, FunctionParameterAttribute::NoReadWrite as u32]);
        put(op::DECORATE, &[30, LINKAGE, name, LinkageType::Export as u32]);
        put(op::TYPE_VOID, &[1]);
        put(op::TYPE_FLOAT, &[2, 32]);
        put(op::TYPE_POINTER, &[3, CROSS_WORKGROUP, 2]);
        put(op::TYPE_POINTER, &[4, GENERIC, 2]);
        put(op::TYPE_POINTER, &[5, WORKGROUP, 2]);
        put(op::TYPE_STRUCT, &[6, 2, 2, 2]);
        put(op::TYPE_POINTER, &[7, FUNCTION, 6]);
        put(op::TYPE_FUNCTION, &[8, 1, 3, 5, 7]);
        put(op::TYPE_POINTER, &[9, FUNCTION, 2]);
        put(TYPE_EVENT, &[10]);
        put(op::CONSTANT_NULL, &[10, 11]);
        put(op::TYPE_FUNCTION, &[12, 1]);
        put(op::FUNCTION, &[1, 20, 0, 8]);
        put(op::FUNCTION_PARAMETER, &[3, 21]);
        put(op::FUNCTION_PARAMETER, &[5, 22]);
        put(op::FUNCTION_PARAMETER, &[7, 23]);
        put(op::LABEL, &[24]);
        put(Op::PtrCastToGeneric as u16, &[4, 25, 21]);
        put(op::VARIABLE, &[9, 28, FUNCTION]);
        put(Op::PtrCastToGeneric as u16, &[4, 29, 28]);
        put(op::LOAD, &[2, 26, 25]);
        put(Op::FAdd as u16, &[2, 27, 26, 26]);
        put(Op::FunctionCall as u16, &[1, 32, 30]);
        put(Op::Return as u16, &[]);
        put(op::FUNCTION_END, &[]);
        put(op::FUNCTION, &[1, 30, 0, 12]);
        put(op::LABEL, &[31]);
        put(Op::Return as u16, &[]);
        put(op::FUNCTION_END, &[]);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn barriers_of_more_than_a_work_group_are_refused() {
        let with = |scope: u32, decoration: Option<[u32; 4]>| {
            let change = |words: &mut Vec<u32>| {
                let (at, label) = (first(words, op::FUNCTION), first(words, op::LABEL) + 2);
                words.splice(label..label, [4 << 16 | u32::from(CONTROL_BARRIER), 36, 36, 36]);
                let number =
                    [4 << 16 | u32::from(op::TYPE_INT), 37, 32, 0, 4 << 16 | u32::from(op::CONSTANT), 37, 36, scope];
                words.splice(at..at, number);
                if let Some(operands) = decoration {
                    let first = first(words, op::DECORATE);
                    words.splice(first..first, [&[5 << 16 | u32::from(op::DECORATE)][..], &operands].concat());
                }
            };
            lower(&changed(change)).is_ok()
        };
        assert_eq!([0, 1, 2, 3].map(|scope| with(scope, None)), [false, false, true, true]);
        let denormals = Decoration::FunctionDenormModeINTEL as u32;
        assert!(with(2, Some([20, denormals, 32, 0])) && !with(2, Some([20, denormals, 32, 1])));
    }

    #[test]
    fn remainders_are_the_librarys() {
        let with = |opcode: u16, import: bool| {
            let change = |words: &mut Vec<u32>| {
                let (at, label) = (first(words, op::FUNCTION), first(words, op::LABEL) + 2);
                words.splice(label..label, [5 << 16 | u32::from(opcode), 2, 38, 36, 36]);
                words.splice(at..at, [3 << 16 | u32::from(op::CONSTANT_NULL), 2, 36]);
                if import {
                    let name = text("OpenCL.std");
                    let length = (name.len() as u32 + 2) << 16;
                    words.splice(7..7, [vec![length | u32::from(op::EXT_INST_IMPORT), 37], name].concat());
                }
            };
            changed(change)
        };
        let lowered = lower(&with(REMAINDER, true)).unwrap().module;
        let index = Index::read(&lowered).unwrap();
        let called = index.instructions(0..index.len()).filter(|(_, it)| it.opcode == op::EXT_INST);
        let called: Vec<Vec<u32>> = called.map(|(_, it)| (0..it.len()).map(|at| it.word(at)).collect()).collect();
        assert_eq!(called, [[2, 38, 37, FMOD, 36, 36]]);
        assert!(lower(&with(REMAINDER, false)).is_err());
        assert!(lower(&with(MODULO, true)).is_err());
    }

    #[test]
    fn modes_that_change_arithmetic_are_refused() {
        for (mode, is_lowered) in [
            (ExecutionMode::DenormPreserve, true),
            (ExecutionMode::RoundingModeRTE, true),
            (ExecutionMode::DenormFlushToZero, false),
            (ExecutionMode::RoundingModeRTZ, false),
            (ExecutionMode::RoundingModeRTNINTEL, false),
            (ExecutionMode::SubgroupsPerWorkgroup, false),
        ] {
            assert_eq!(lower(&with_mode(Some(mode))).is_ok(), is_lowered, "{mode:?}");
        }
    }

    #[test]
    fn generic_pointers_become_plain_ones_and_kernels_functions() {
        let lowered = lower(&module(false)).unwrap();
        let index = Index::read(&lowered.module).unwrap();
        assert!(index.stopped.is_none() && index.entry_points.is_empty() && index.modes.is_empty());
        let linkage = index.linkage(20).unwrap();
        assert_eq!((linkage.name.as_str(), linkage.kind), ("k.body", crate::spirv::index::LinkageKind::Export));
        assert!(matches!(types::resolve(&index, 4), Some(Type::Pointer { storage: FUNCTION, .. })));
        assert!(index.capabilities.contains(&LINKAGE_CAPABILITY));
        // A cast that changes nothing any more is none between spaces.
        assert_eq!(index.defining(25).unwrap().opcode, Op::PtrCastToGeneric as u16);
        assert_eq!(index.defining(29).unwrap().opcode, BITCAST);
        assert!(matches!(types::resolve(&index, 10), Some(Type::Int { width: 64, .. })));
        assert_eq!(index.defining(11).unwrap().opcode, op::CONSTANT);
        // The kernel around the code has the structure's copy.
        let left: Vec<u32> = index.decorations(23).map(|it| it.decoration).collect();
        assert_eq!(left, [Decoration::Alignment as u32]);
        assert_eq!(index.decorations(22).count(), 0);
    }

    /// By its name it would be taken for a kernel, or for a built-in.
    #[test]
    fn functions_have_no_names() {
        let before = changed(|words| {
            let first = first(words, op::DECORATE);
            let name = [&[30][..], &text("_Z5clampfff")].concat();
            words.splice(first..first, [vec![(name.len() as u32 + 1) << 16 | u32::from(op::NAME)], name].concat());
        });
        let index = Index::read(&before).unwrap();
        assert_eq!(index.linkage(30).unwrap().name, "k");
        assert_eq!(index.name(30).as_deref(), Some("_Z5clampfff"));
        let lowered = lower(&before).unwrap();
        let index = Index::read(&lowered.module).unwrap();
        assert!(index.linkage(30).is_none() && index.name(30).is_none());
    }

    /// The address 0 of local memory is a plain one.
    #[test]
    fn null_is_null_in_each_address_space() {
        let cast = [4 << 16 | Op::PtrCastToGeneric as u32, 4, 38, 36];
        let before = changed(|words| {
            let (function, label) = (first(words, op::FUNCTION), first(words, op::LABEL) + 2);
            words.splice(label..label, cast);
            words.splice(function..function, [3 << 16 | u32::from(op::CONSTANT_NULL), 5, 36]);
        });
        let lowered = lower(&before).unwrap();
        let index = Index::read(&lowered.module).unwrap();
        let copy = index.defining(38).unwrap();
        assert_eq!((copy.opcode, copy.word(0)), (Op::CopyObject as u16, 4));
        let null = index.defining(copy.word(2)).unwrap();
        assert_eq!((null.opcode, null.word(0)), (op::CONSTANT_NULL, 4));
        assert_eq!(index.bound, 41);
    }

    /// The runtime finds them by symbols, which those of one source file do not have.
    #[test]
    fn device_globals_get_symbols() {
        const HOST_ACCESS: u32 = Decoration::HostAccessINTEL as u32;
        let before = changed(|words| {
            let decorations = first(words, op::DECORATE);
            let unique = [&[36, HOST_ACCESS, 3][..], &text("unique")].concat();
            let length = (unique.len() as u32 + 1) << 16;
            words.splice(decorations..decorations, [vec![length | u32::from(op::DECORATE)], unique].concat());
            let function = first(words, op::FUNCTION);
            words.splice(function..function, [4 << 16 | u32::from(op::VARIABLE), 3, 36, CROSS_WORKGROUP]);
        });
        let lowered = lower(&before).unwrap();
        assert_eq!(lowered.variables, ["unique"]);
        assert_eq!(Index::read(&lowered.module).unwrap().linkage(36).unwrap().name, "unique");
        assert_eq!(Index::read(&before).unwrap().symbols_of_globals(), [("unique".to_owned(), "unique".to_owned())]);
    }

    /// The module with other words.
    fn changed(change: impl FnOnce(&mut Vec<u32>)) -> Vec<u8> {
        let module = module(false);
        let mut words = module.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        change(&mut words);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Place of the first instruction of an opcode.
    fn first(words: &[u32], opcode: u16) -> usize {
        let mut at = 5;
        while words[at] & 0xffff != u32::from(opcode) {
            at += (words[at] >> 16) as usize;
        }
        at
    }

    #[test]
    fn kernels_are_described() {
        let kernels = lower(&module(false)).unwrap().kernels;
        let parameters = vec![
            Parameter::Plain("ptr addrspace(1)".into()),
            Parameter::Local,
            // Of three floats, and aligned as the parameter states.
            Parameter::Copied { size: 12, align: 8 },
        ];
        let work_group = Some([8, 4, 1]);
        assert_eq!(kernels, [Kernel { name: "k".into(), parameters, work_group, max_work_group: None }]);
    }

    #[test]
    fn arithmetic_is_contracted_unless_that_is_off() {
        let mask = |off: bool| {
            let lowered = lower(&module(off)).unwrap();
            Index::read(&lowered.module).unwrap().decoration(27, FAST_MATH)
        };
        assert_eq!((mask(false), mask(true)), (Some(CONTRACT), None));
    }

    #[test]
    fn what_is_damaged_is_refused() {
        assert!(lower(b"nonsense").is_err());
        let mut cut = module(false);
        cut.truncate(cut.len() - 4);
        assert!(lower(&cut).is_err());
    }
}
