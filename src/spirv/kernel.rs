//! What does a module say about a kernel: arguments, attributes, memory, specialization constants?
//!
//! All but the body comes from declarations: the entry point, the parameters of its function with their decorations,
//! execution modes, and the variables and constants that its code reaches.
//!
//! Only ids with a `SpecId` can be set; compilers use the same instructions without one for other purposes (tables of
//! virtual functions). A composite has no `SpecId`, only its parts have.
//!
//! Attributes are the execution modes of the kernel's entry point. Sizes are in OpenCL's order, x first, which is the reverse of a
//! SYCL range.

pub(crate) mod argument;
pub mod body;

use super::calls::{Reach, Walks};
use super::index::{EntryPoint, Index, LinkageKind};
use super::op;
use super::types::{self, Layouts, Type};
use crate::error::Result;
use crate::limits;
use crate::spirv::index::Mode;
use argument::{Argument, ArgumentStrings, TypeNames};
use rspirv::spirv::{Decoration, StorageClass};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use std::sync::Arc;

/// Kernel of a module.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    /// Arguments in order. A SYCL compiler may have removed some that the source has.
    pub arguments: Vec<Argument>,
    /// Attributes of the source (execution modes). Those of most kernels are those of the one before, and shared.
    pub attributes: Arc<Attributes>,
    /// Bytes of local memory that its code declares, without local memory passed as arguments.
    pub local_memory: u64,
    /// Bytes of the variables of all functions that it reaches, before any optimisation.
    pub private_memory: u64,
    /// Specialization constants that its code depends on, in order of their ids.
    pub spec_constants: Vec<SpecConstant>,
    /// Device globals that it reaches (linked variables in global memory), by symbol.
    pub device_globals: Vec<Arc<str>>,
    /// Symbols that it reaches and that another module must define.
    pub imports: Vec<Arc<str>>,
    /// Functions and variables that it reaches and that other modules may use too.
    pub(crate) exports: Vec<Arc<str>>,
    /// Whether it is compiled as explicit SIMD.
    pub esimd: bool,
    /// Whether it can fail an assertion.
    pub asserts: bool,
    /// Whether it calls functions by address.
    pub indirect_calls: bool,
    /// Whether its arguments, constants and symbols are left out, since the module's kernels together have too many.
    pub lists_left_out: bool,
    /// Part of the module that it reaches.
    pub reach: Reach,
}

/// Room for the lists of all kernels of a module: many kernels may share a long one.
#[derive(Debug)]
pub(crate) struct Room {
    left: usize,
    /// Bytes that were taken.
    pub(crate) taken: usize,
}

impl Room {
    /// Room as a module of so many bytes warrants.
    pub(crate) fn new(module: usize) -> Room {
        let left = module.saturating_mul(limits::MAX_LISTS_RATIO).max(limits::MAX_LISTS_FLOOR);
        Room { left, taken: 0 }
    }

    /// Takes room for bytes; where there is none left, later ones get none either, so that no more is read for nothing.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        self.taken = self.taken.saturating_add(bytes);
        left.map(|_| ())
    }

    /// Takes room for a name in a list.
    pub(crate) fn take_name(&mut self, name: &str) -> Option<()> {
        self.take(name.len().saturating_add(size_of::<Arc<str>>()))
    }
}

/// Returns the index of a module and its kernels in module order. An error that ended the walk early is in
/// [`Index::stopped`].
///
/// # Errors
/// `Input` where there is no whole SPIR-V header.
pub fn kernels<'a>(bytes: &'a [u8]) -> Result<(Index<'a>, Vec<Kernel>)> {
    let index = Index::read(bytes)?;
    let mut reader = Reader::new(&index);
    let found = entries(&index).map(|entry| reader.kernel(entry)).collect();
    Ok((index, found))
}

/// Reads kernels of a module one by one, so that not all need be held.
pub(crate) struct Reader<'i, 'a> {
    index: &'i Index<'a>,
    layouts: Layouts,
    strings: ArgumentStrings,
    walks: Walks,
    types: TypeNames,
    attributes: AttributeReader<'i, 'a>,
    /// Symbols by id: each once for all kernels that reach it.
    symbols: HashMap<u32, Option<(Arc<str>, LinkageKind)>>,
    /// Room for lists.
    pub(crate) room: Room,
    /// The places of the kernels' entry points, by name, and whether they were read; of one name the last comes first.
    places: Option<Vec<(u32, bool)>>,
}

impl<'i, 'a> Reader<'i, 'a> {
    /// Prepares what the kernels of a module have in common.
    pub(crate) fn new(index: &'i Index<'a>) -> Reader<'i, 'a> {
        Reader {
            index,
            layouts: Layouts::compute(index),
            strings: ArgumentStrings::collect(index),
            walks: Walks::new(index),
            types: TypeNames::default(),
            attributes: AttributeReader::new(index),
            symbols: HashMap::new(),
            room: Room::new(index.words().len().saturating_mul(4)),
            places: None,
        }
    }

    /// Reads the kernel of a name, the last of it; once.
    pub(crate) fn named(&mut self, name: &str) -> Option<Kernel> {
        let entries = &self.index.entry_points;
        let name_of = |place: u32| entries.get(place as usize).map_or("", |entry| &*entry.name);
        let places = self.places.get_or_insert_with(|| {
            let kernels = (0..).zip(entries).filter(|(_, entry)| is_kernel(entry));
            let mut places: Vec<(u32, bool)> = Vec::with_capacity(entries.len());
            places.extend(kernels.map(|(place, _)| (place, false)));
            places.reverse();
            places.sort_by(|one, other| name_of(one.0).cmp(name_of(other.0)));
            places
        });
        let at = places.partition_point(|(place, _)| name_of(*place) < name);
        let (place, read) = places.get_mut(at)?;
        let entry = entries.get(*place as usize).filter(|entry| entry.name == name)?;
        (!std::mem::replace(read, true)).then(|| self.kernel(entry))
    }
}

/// Walks the part of a module that each kernel reaches, by name, in module order, one kernel after the other.
pub(crate) fn reaches<'i>(index: &'i Index<'_>) -> impl Iterator<Item = (&'i str, Reach)> {
    let mut walks = Walks::new(index);
    entries(index).map(move |entry| (&*entry.name, Reach::walk(index, entry.function, &mut walks)))
}

/// Returns the entry points that are kernels.
fn entries<'i, 'a>(index: &'i Index<'a>) -> impl Iterator<Item = &'i EntryPoint<'a>> {
    index.entry_points.iter().filter(|entry| is_kernel(entry))
}

fn is_kernel(entry: &EntryPoint<'_>) -> bool {
    entry.model == rspirv::spirv::ExecutionModel::Kernel as u32
}

impl Reader<'_, '_> {
    /// Reads the kernel of an entry point.
    fn kernel(&mut self, entry: &EntryPoint<'_>) -> Kernel {
        const VECTOR_COMPUTE: u32 = Decoration::VectorComputeFunctionINTEL as u32;
        let index = self.index;
        let reach = Reach::walk(index, entry.function, &mut self.walks);
        let common = (&self.layouts, &self.strings);
        let arguments = argument::arguments(index, common, &mut self.types, entry, &mut self.room);
        let mut kernel = Kernel {
            name: entry.name.clone().into_owned(),
            lists_left_out: arguments.is_none(),
            arguments: arguments.unwrap_or_default(),
            attributes: self.attributes.read(entry.function),
            local_memory: 0,
            private_memory: 0,
            spec_constants: Vec::new(),
            device_globals: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            esimd: index.decoration(entry.function, VECTOR_COMPUTE).is_some(),
            asserts: false,
            indirect_calls: false,
            reach: Reach::default(),
        };
        if !kernel.lists_left_out {
            let constants = self.constants(&reach);
            kernel.lists_left_out = constants.is_none();
            kernel.spec_constants = constants.unwrap_or_default();
        }
        for &id in &reach.globals {
            self.global(id, &mut kernel);
        }
        for (at, &id) in reach.functions.iter().enumerate() {
            let Some(function) = index.function(id) else { continue };
            if at > 0 {
                self.link(id, function.defined, &mut kernel);
            }
            for (_, instruction) in index.instructions(function.instructions.clone()) {
                match instruction.opcode {
                    op::VARIABLE | op::UNTYPED_VARIABLE => {
                        let bytes = size(index, &self.layouts, &instruction);
                        kernel.private_memory = kernel.private_memory.saturating_add(bytes);
                    }
                    op::FUNCTION_POINTER_CALL => kernel.indirect_calls = true,
                    _ => {}
                }
            }
        }
        if kernel.lists_left_out {
            (kernel.arguments, kernel.spec_constants) = (Vec::new(), Vec::new());
            for list in [&mut kernel.device_globals, &mut kernel.imports, &mut kernel.exports] {
                *list = Vec::new();
            }
        }
        kernel.reach = reach;
        kernel
    }

    /// Adds a variable that a kernel reaches.
    fn global(&mut self, id: u32, kernel: &mut Kernel) {
        const LOCAL: u32 = StorageClass::Workgroup as u32;
        const GLOBAL: u32 = StorageClass::CrossWorkgroup as u32;
        const BUILT_IN: u32 = Decoration::BuiltIn as u32;
        let index = self.index;
        let Some(variable) = index.defining(id) else { return };
        if !matches!(variable.opcode, op::VARIABLE | op::UNTYPED_VARIABLE) {
            return;
        }
        match variable.word(2) {
            LOCAL => {
                let bytes = size(index, &self.layouts, &variable);
                kernel.local_memory = kernel.local_memory.saturating_add(bytes);
            }
            GLOBAL if !kernel.lists_left_out => {
                let host = || index.decorations(id).any(|decoration| op::HOST_ACCESS.contains(&decoration.decoration));
                let named = self.symbol(id).map(|(name, _)| name);
                let named = named.or_else(|| index.name(id).filter(|_| host()).map(Arc::from));
                if let Some(name) = named {
                    kernel.lists_left_out |= self.room.take_name(&name).is_none();
                    kernel.device_globals.push(name);
                }
            }
            _ => {}
        }
        if index.decoration(id, BUILT_IN).is_none() {
            self.link(id, false, kernel);
        }
    }

    /// Adds the symbol of what a kernel reaches.
    fn link(&mut self, id: u32, defined: bool, kernel: &mut Kernel) {
        /// Functions that a failed `assert` calls, in DPC++'s device library and in clang's.
        const FAILURES: [&str; 3] = ["__devicelib_assert_fail", "__assert_fail", "__devicelib_assert_read"];
        let Some((name, kind)) = self.symbol(id) else { return };
        kernel.asserts |= FAILURES.contains(&&*name);
        if kernel.lists_left_out {
            return;
        }
        kernel.lists_left_out |= self.room.take_name(&name).is_none();
        let list = match kind {
            LinkageKind::Import if !defined => &mut kernel.imports,
            _ => &mut kernel.exports,
        };
        list.push(name);
    }

    fn symbol(&mut self, id: u32) -> Option<(Arc<str>, LinkageKind)> {
        let read = || self.index.linkage(id).map(|linkage| (linkage.name.into(), linkage.kind));
        self.symbols.entry(id).or_insert_with(read).clone()
    }

    /// Returns the constants that a kernel's code reaches, in order of their ids; none where they do not fit.
    fn constants(&mut self, reach: &Reach) -> Option<Vec<SpecConstant>> {
        const SPEC_ID: u32 = Decoration::SpecId as u32;
        let index = self.index;
        let mut found = Vec::new();
        for &id in &reach.globals {
            let Some(spec_id) = index.decoration(id, SPEC_ID) else { continue };
            let (Some(bits), Some(of)) = (types::constant_bits(index, id), index.type_of(id)) else { continue };
            let default = match types::resolve(index, of) {
                Some(Type::Bool) => Value::Bool(bits != 0),
                Some(Type::Int { width, .. }) => {
                    let unused = 64u32.saturating_sub(width.clamp(1, 64));
                    Value::Int((bits << unused).cast_signed() >> unused)
                }
                Some(Type::Float { width: 32, encoding: None }) => {
                    Value::Float(f32::from_bits((bits & u64::from(u32::MAX)) as u32).into())
                }
                Some(Type::Float { width: 64, encoding: None }) => Value::Float(f64::from_bits(bits)),
                _ => Value::Bits(bits),
            };
            let type_name = self.types.get(index, of, false);
            self.room.take(type_name.len().saturating_add(size_of::<SpecConstant>()))?;
            let size = self.layouts.get(of).map(|layout| layout.size);
            found.push(SpecConstant { id: spec_id, type_name, size, default });
        }
        found.sort_by_key(|constant| constant.id);
        Some(found)
    }
}

/// Returns the size of a variable in bytes, or 0 where its type has none.
fn size(index: &Index<'_>, layouts: &Layouts, variable: &super::words::Instruction<'_>) -> u64 {
    let value = match (variable.opcode, types::resolve(index, variable.word(0))) {
        // An untyped variable names its data type after the storage class.
        (op::UNTYPED_VARIABLE, _) => Some(variable.word(3)),
        (_, Some(Type::Pointer { pointee, .. })) => pointee,
        _ => None,
    };
    value.and_then(|id| layouts.get(id)).map_or(0, |layout| layout.size)
}

/// Specialization constant: a scalar that can be set before a module is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecConstant {
    /// `SpecId` of the constant.
    pub(crate) id: u32,
    /// Type as in OpenCL C.
    pub(crate) type_name: Arc<str>,
    /// Size in bytes.
    pub(crate) size: Option<u64>,
    /// Default value.
    pub(crate) default: Value,
}

/// Value of a constant, by the kind of its type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ConstantValue")]
pub(crate) enum Value {
    /// True or false.
    Bool(bool),
    /// Integer, read as signed.
    Int(i64),
    /// Floating-point number of 32 or 64 bits.
    Float(
        #[serde(serialize_with = "finite")]
        #[schemars(extend("type" = ["number", "string"]))]
        f64,
    ),
    /// Bits of a constant of any other type.
    Bits(
        #[serde(serialize_with = "hexadecimal")]
        #[schemars(with = "String")]
        u64,
    ),
}

/// Serialises a number; one that is not finite, which JSON has none of, as text.
fn finite<S: Serializer>(value: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    if value.is_finite() { serializer.serialize_f64(*value) } else { serializer.collect_str(value) }
}

/// Serialises bits as hexadecimal text.
fn hexadecimal<S: Serializer>(bits: &u64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{bits:#x}"))
}

// A NaN default is unequal to itself, which nothing that compares these facts relies on.
impl Eq for Value {}

/// Execution modes of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `reqd_work_group_size`.
    pub work_group_size: Option<[u32; 3]>,
    /// `work_group_size_hint`.
    pub(crate) work_group_size_hint: Option<[u32; 3]>,
    /// `vec_type_hint`, as a type of OpenCL C.
    pub(crate) vec_type_hint: Option<String>,
    /// `intel_reqd_sub_group_size`.
    pub(crate) sub_group_size: Option<SubGroup>,
    /// Required number of sub-groups of a work-group.
    pub(crate) sub_groups_per_work_group: Option<u32>,
    /// `max_work_group_size` of Intel's compilers.
    pub(crate) max_work_group_size: Option<[u32; 3]>,
    /// `max_global_work_dim`.
    pub(crate) max_work_dim: Option<u32>,
    /// `num_simd_work_items`.
    pub(crate) simd_work_items: Option<u32>,
    /// Whether the kernel is launched without a global offset.
    pub(crate) no_global_offset: bool,
    /// Bytes of local memory that an explicit SIMD kernel sets aside.
    pub(crate) slm_size: Option<u32>,
    /// Number of named barriers.
    pub(crate) named_barriers: Option<u32>,
    /// Maximum number of registers of a thread.
    pub(crate) maximum_registers: Option<u32>,
    /// Whether multiplications and additions may not be fused (`FP_CONTRACT OFF`).
    pub(crate) contraction_off: bool,
    /// Numbers of all other modes.
    pub(crate) other: Vec<u32>,
}

/// Required sub-group size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SubGroup {
    /// Number of work-items.
    Size(u32),
    /// Primary sub-group size of the device (a named size of SYCL).
    #[serde(serialize_with = "primary")]
    #[schemars(with = "String")]
    Primary,
}

impl SubGroup {
    /// Number of work-items; none for the primary size, which the device knows.
    pub(crate) fn size(self) -> Option<u32> {
        match self {
            SubGroup::Size(size) => Some(size),
            SubGroup::Primary => None,
        }
    }
}

/// Serialises the word for the primary size.
fn primary<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("primary")
}

/// Reads the attributes of kernels one after the other, and shares those that are alike.
#[derive(Debug)]
pub(crate) struct AttributeReader<'i, 'a> {
    index: &'i Index<'a>,
    last: Arc<Attributes>,
    /// Attributes of functions with many modes, which may have as many entry points.
    many: HashMap<u32, Arc<Attributes>>,
}

impl<'i, 'a> AttributeReader<'i, 'a> {
    /// Prepares to read.
    pub(crate) fn new(index: &'i Index<'a>) -> AttributeReader<'i, 'a> {
        AttributeReader { index, last: Arc::default(), many: HashMap::new() }
    }

    /// Reads the attributes of a function.
    pub(crate) fn read(&mut self, function: u32) -> Arc<Attributes> {
        if self.index.modes_of(function).nth(limits::MANY_MODES).is_some() {
            let read = || Arc::new(Attributes::read(self.index, function));
            return self.many.entry(function).or_insert_with(read).clone();
        }
        let own = Attributes::read(self.index, function);
        if *self.last != own {
            self.last = Arc::new(own);
        }
        self.last.clone()
    }
}

impl Attributes {
    pub(crate) fn read(index: &Index<'_>, function: u32) -> Attributes {
        let mut found = Attributes::default();
        for mode in index.modes_of(function) {
            let one = || operand(index, mode, 0);
            let three = || Some([operand(index, mode, 0)?, operand(index, mode, 1)?, operand(index, mode, 2)?]);
            match mode.mode {
                17 | 38 => found.work_group_size = three(),
                18 | 39 => found.work_group_size_hint = three(),
                30 => found.vec_type_hint = one().map(vector),
                // DPC++ writes the primary size as 0xffffffff.
                35 => {
                    found.sub_group_size = one().map(|size| match size {
                        u32::MAX => SubGroup::Primary,
                        size => SubGroup::Size(size),
                    })
                }
                6446 => found.sub_group_size = Some(SubGroup::Primary),
                36 | 37 => found.sub_groups_per_work_group = one(),
                31 => found.contraction_off = true,
                5618 => found.slm_size = one(),
                5893 => found.max_work_group_size = three(),
                5894 => found.max_work_dim = one(),
                5895 => found.no_global_offset = true,
                5896 => found.simd_work_items = one(),
                6417 => found.named_barriers = one(),
                6461 | 6462 => found.maximum_registers = one(),
                number => found.other.push(number),
            }
        }
        found
    }

    /// Returns the attributes as OpenCL C writes them and `CL_KERNEL_ATTRIBUTES` returns them, separated by spaces.
    pub(crate) fn text(&self) -> String {
        let three = |name: &str, size: Option<[u32; 3]>| size.map(|[x, y, z]| format!("{name}({x},{y},{z})"));
        let one = |name: &str, number: Option<u32>| number.map(|number| format!("{name}({number})"));
        let sub_group = self.sub_group_size.map(|size| match size {
            SubGroup::Size(size) => format!("intel_reqd_sub_group_size({size})"),
            SubGroup::Primary => "intel_reqd_sub_group_size(primary)".to_owned(),
        });
        let all = [
            three("reqd_work_group_size", self.work_group_size),
            three("work_group_size_hint", self.work_group_size_hint),
            self.vec_type_hint.as_ref().map(|name| format!("vec_type_hint({name})")),
            sub_group,
            three("max_work_group_size", self.max_work_group_size),
            one("max_global_work_dim", self.max_work_dim),
            one("num_simd_work_items", self.simd_work_items),
            self.no_global_offset.then(|| "uses_global_work_offset(0)".to_owned()),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn operand(index: &Index<'_>, mode: &Mode, nth: usize) -> Option<u32> {
    let instruction = index.instruction(mode.at)?;
    let at = nth.checked_add(2).filter(|at| *at < instruction.len())?;
    let word = instruction.word(at);
    if mode.ids { types::constant_bits(index, word).and_then(|bits| u32::try_from(bits).ok()) } else { Some(word) }
}

/// Returns the type of a `VecTypeHint` operand: the component's type in the low half, the number of components in the
/// high one.
fn vector(word: u32) -> String {
    let component = match word & 0xffff {
        0 => "char",
        1 => "short",
        2 => "int",
        3 => "long",
        4 => "half",
        5 => "float",
        6 => "double",
        _ => "unknown",
    };
    match word >> 16 {
        0 | 1 => component.to_owned(),
        count => format!("{component}{count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_as_in_opencl() {
        let attributes = Attributes {
            work_group_size: Some([8, 4, 2]),
            vec_type_hint: Some(vector(4 << 16 | 5)),
            sub_group_size: Some(SubGroup::Size(16)),
            ..Attributes::default()
        };
        assert_eq!(
            attributes.text(),
            "reqd_work_group_size(8,4,2) vec_type_hint(float4) intel_reqd_sub_group_size(16)"
        );
        assert_eq!(Attributes::default().text(), "");
    }
}
