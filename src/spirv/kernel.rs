//! What does a module say about a kernel: arguments, attributes, memory, specialization constants?
//!
//! All but the body comes from declarations: the entry point, the parameters of its function with their decorations,
//! execution modes, and the variables and constants that its code reaches.

pub mod argument;
pub mod attributes;
pub mod body;
pub mod constant;
pub mod name;

use super::index::{EntryPoint, Index, LinkageKind};
use super::types::Layouts;
use super::op;
use super::calls::{Reach, Walks};
use super::types::{self, Type};
use crate::error::Result;
use argument::{Argument, ArgumentStrings};
use attributes::Attributes;
use constant::SpecConstant;
use rspirv::spirv::{Decoration, StorageClass};

/// Kernel of a module.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    /// Arguments in order. A SYCL compiler may have removed some that the source has.
    pub arguments: Vec<Argument>,
    /// Attributes of the source (execution modes).
    pub attributes: Attributes,
    /// Bytes of local memory that its code declares, without local memory passed as arguments.
    pub local_memory: u64,
    /// Bytes of the variables of all functions that it reaches, before any optimisation.
    pub private_memory: u64,
    /// Specialization constants that its code depends on, in order of their ids.
    pub spec_constants: Vec<SpecConstant>,
    /// Device globals that it reaches (linked variables in global memory), by symbol.
    pub device_globals: Vec<String>,
    /// Symbols that it reaches and that another module must define.
    pub imports: Vec<String>,
    /// Functions and variables that it reaches and that other modules may use too.
    pub exports: Vec<String>,
    /// Whether it is compiled as explicit SIMD.
    pub esimd: bool,
    /// Whether it can fail an assertion.
    pub asserts: bool,
    /// Whether it calls functions by address.
    pub indirect_calls: bool,
    /// Part of the module that it reaches.
    pub reach: Reach,
}

/// Returns the index of a module and its kernels in module order. An error that ended the walk early is in
/// [`Index::stopped`].
///
/// # Errors
/// `Input` where there is no whole SPIR-V header.
pub fn kernels<'a>(bytes: &'a [u8]) -> Result<(Index<'a>, Vec<Kernel>)> {
    let index = Index::read(bytes)?;
    let layouts = Layouts::compute(&index);
    let strings = ArgumentStrings::collect(&index);
    let mut walks = Walks::new(&index);
    let found = entries(&index).map(|entry| Kernel::read(&index, &layouts, &strings, entry, &mut walks)).collect();
    Ok((index, found))
}

/// Returns the entry points that are kernels.
fn entries<'i, 'a>(index: &'i Index<'a>) -> impl Iterator<Item = &'i EntryPoint<'a>> {
    const KERNEL: u32 = rspirv::spirv::ExecutionModel::Kernel as u32;
    index.entry_points.iter().filter(|entry| entry.model == KERNEL)
}

impl Kernel {
    fn read(
        index: &Index<'_>,
        layouts: &Layouts,
        strings: &ArgumentStrings,
        entry: &EntryPoint<'_>,
        walks: &mut Walks,
    ) -> Kernel {
        const VECTOR_COMPUTE: u32 = Decoration::VectorComputeFunctionINTEL as u32;
        const LOCAL: u32 = StorageClass::Workgroup as u32;
        const GLOBAL: u32 = StorageClass::CrossWorkgroup as u32;
        const BUILT_IN: u32 = Decoration::BuiltIn as u32;
        let reach = Reach::walk(index, entry.function, walks);
        let mut kernel = Kernel {
            name: entry.name.clone().into_owned(),
            arguments: argument::arguments(index, layouts, strings, entry),
            attributes: Attributes::read(index, entry.function),
            local_memory: 0,
            private_memory: 0,
            spec_constants: constant::reached(index, layouts, &reach),
            device_globals: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            esimd: index.decoration(entry.function, VECTOR_COMPUTE).is_some(),
            asserts: false,
            indirect_calls: false,
            reach: Reach::default(),
        };
        for &id in &reach.globals {
            let Some(variable) = index.defining(id) else { continue };
            if !matches!(variable.opcode, op::VARIABLE | op::UNTYPED_VARIABLE) {
                continue;
            }
            let storage = variable.word(2);
            let bytes = size(index, layouts, &variable);
            match storage {
                LOCAL => kernel.local_memory = kernel.local_memory.saturating_add(bytes),
                GLOBAL => {
                    let named = index.linkage(id).map(|linkage| linkage.name).or_else(|| index.name(id));
                    let host = index.decorations(id).any(|decoration| HOST_ACCESS.contains(&decoration.decoration));
                    kernel.device_globals.extend(named.filter(|_| host || index.linkage(id).is_some()));
                }
                _ => {}
            }
            if index.decoration(id, BUILT_IN).is_none() {
                kernel.link(index, id, false);
            }
        }
        for (at, &id) in reach.functions.iter().enumerate() {
            let Some(function) = index.function(id) else { continue };
            if at > 0 {
                kernel.link(index, id, function.defined);
            }
            for (_, instruction) in index.instructions(function.instructions.clone()) {
                match instruction.opcode {
                    op::VARIABLE | op::UNTYPED_VARIABLE => {
                        let bytes = size(index, layouts, &instruction);
                        kernel.private_memory = kernel.private_memory.saturating_add(bytes);
                    }
                    op::FUNCTION_POINTER_CALL => kernel.indirect_calls = true,
                    _ => {}
                }
            }
        }
        kernel.reach = reach;
        kernel
    }

    fn link(&mut self, index: &Index<'_>, id: u32, defined: bool) {
        /// Functions that a failed `assert` calls, in DPC++'s device library and in clang's.
        const FAILURES: [&str; 3] = ["__devicelib_assert_fail", "__assert_fail", "__devicelib_assert_read"];
        let Some(linkage) = index.linkage(id) else { return };
        self.asserts |= FAILURES.contains(&linkage.name.as_str());
        let list = match linkage.kind {
            LinkageKind::Import if !defined => &mut self.imports,
            _ => &mut self.exports,
        };
        list.push(linkage.name);
    }
}

/// Decorations of a device global: `HostAccessINTEL`, and the number that it had before it was published.
const HOST_ACCESS: [u32; 2] = [6188, 6147];

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
