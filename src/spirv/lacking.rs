//! What does a valid module have that no driver known here takes?
//!
//! Each was tried with Intel's OpenCL CPU driver 2026.2 and with ocloc 26.27: their compilers read it, and then miss a symbol, end, or
//! say that there is no such thing.

use super::op::*;
use super::words::Instruction;
use rspirv::spirv::{BuiltIn, Capability, ExecutionMode, Op, SourceLanguage, StorageClass};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

const INITIALIZER: u32 = ExecutionMode::Initializer as u32;
const FINALIZER: u32 = ExecutionMode::Finalizer as u32;
const UNIFORM_CONSTANT: u32 = StorageClass::UniformConstant as u32;
const INPUT: u32 = StorageClass::Input as u32;
const GENERIC: u32 = StorageClass::Generic as u32;
const U_MUL_EXTENDED: u16 = Op::UMulExtended as u16;
const S_MUL_EXTENDED: u16 = Op::SMulExtended as u16;
const MEMORY_SEMANTICS: u16 = Op::GenericPtrMemSemantics as u16;
const SIZE_OF: u16 = Op::SizeOf as u16;
const MIPMAP: u32 = Capability::ImageMipmap as u32;
/// Built-in variables that drivers call by functions of OpenCL C 2.0, which only modules of it have.
const OF_OPENCL_2: [u32; 4] = [
    BuiltIn::LocalInvocationIndex as u32,
    BuiltIn::GlobalLinearId as u32,
    BuiltIn::EnqueuedWorkgroupSize as u32,
    BuiltIn::NumEnqueuedSubgroups as u32,
];
pub(super) const CPP: u32 = SourceLanguage::OpenCL_CPP as u32;
const CPP_FOR_OPENCL: u32 = SourceLanguage::CPP_for_OpenCL as u32;
/// Version 2.0 of OpenCL C.
const OPENCL_2: u32 = 200_000;

const FLAG_TEST: u16 = Op::AtomicFlagTestAndSet as u16;
const FLAG_CLEAR: u16 = Op::AtomicFlagClear as u16;
/// Atomic instructions (numbers of the specification), but for those of flags.
const ATOMICS: Range<u16> = Op::AtomicLoad as u16..Op::AtomicXor as u16 + 1;

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    found: BTreeSet<&'static str>,
    /// Instructions and types that drivers for CPUs do not take.
    on_cpus: BTreeSet<&'static str>,
    /// Whether the language is C++, as that of SYCL is called.
    pub(super) is_cpp: bool,
    /// Types of pointers to any memory, and values of these.
    generic: HashSet<u32>,
    /// Version of OpenCL C that drivers read the module as.
    version: u32,
    /// Whether it asks for the address space of a pointer, by a function of OpenCL C 2.0.
    asks_semantics: bool,
    /// Types that no kernel takes.
    types: HashSet<u32>,
    /// Functions that take such types.
    takers: Vec<u32>,
    /// Constants without a value.
    empty: Vec<u32>,
    /// Callers and whom they call.
    calls: Vec<(u32, u32)>,
}

impl Lacking {
    /// Looks at an instruction, in the function that is open.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>, function: Option<u32>) {
        match instruction.opcode {
            SOURCE => {
                self.version = source_version(instruction.word(0), instruction.word(1));
                self.is_cpp = instruction.word(0) == CPP;
            }
            TYPE_ARRAY | TYPE_OPAQUE => _ = self.types.insert(instruction.word(0)),
            TYPE_POINTER if instruction.word(1) == INPUT => _ = self.types.insert(instruction.word(0)),
            TYPE_POINTER if instruction.word(1) == GENERIC && !self.is_cpp => {
                _ = self.generic.insert(instruction.word(0));
            }
            VARIABLE if instruction.len() == 3 && instruction.word(2) == UNIFORM_CONSTANT => {
                self.empty.push(instruction.word(1));
            }
            VARIABLE if instruction.word(2) == GENERIC => _ = self.found.insert("a variable of no address space"),
            FUNCTION_PARAMETER if !self.types.is_empty() && self.types.contains(&instruction.word(0)) => {
                self.takers.extend(function);
            }
            FUNCTION_CALL => self.calls.extend(function.map(|caller| (caller, instruction.word(2)))),
            EXECUTION_MODE if matches!(instruction.word(1), INITIALIZER | FINALIZER) => {
                self.found.insert("a kernel that a device runs by itself");
            }
            U_MUL_EXTENDED => _ = self.found.insert("OpUMulExtended"),
            S_MUL_EXTENDED => _ = self.on_cpus.insert("OpSMulExtended"),
            CAPABILITY if instruction.word(0) == MIPMAP => _ = self.on_cpus.insert("ImageMipmap"),
            TYPE_IMAGE if instruction.word(5) == 1 => _ = self.on_cpus.insert("an image of several samples"),
            MEMORY_SEMANTICS => self.asks_semantics = true,
            SIZE_OF => _ = self.found.insert("OpSizeOf"),
            _ => {}
        }
        if !self.generic.is_empty() && function.is_some() {
            self.point(instruction);
        }
    }

    /// Notes what drivers for CPUs do not take.
    pub(super) fn note_on_cpus(&mut self, what: &'static str) {
        self.on_cpus.insert(what);
    }

    /// Follows pointers to any memory: on CPUs the functions of atomic instructions on them are C++'s alone.
    fn point(&mut self, instruction: &Instruction<'_>) {
        if self.generic.contains(&instruction.word(0)) && instruction.len() > 1 {
            self.generic.insert(instruction.word(1));
        }
        let is_first = matches!(instruction.opcode, ATOMIC_STORE | FLAG_CLEAR);
        let pointer = if is_first { 0 } else { 2 };
        let is_other =
            matches!(instruction.opcode, ATOMIC_F_MIN | ATOMIC_F_MAX | ATOMIC_F_ADD | FLAG_TEST | FLAG_CLEAR);
        if (is_other || ATOMICS.contains(&instruction.opcode)) && self.generic.contains(&instruction.word(pointer)) {
            self.on_cpus.insert("an atomic instruction on a pointer to any memory in a module of no C++");
        }
    }

    /// Returns what no driver takes, and what those for CPUs do not. `built_ins` are the numbers of the built-ins, one for each of
    /// their variables; `is_kernel` tells what is a kernel, and `has_value` what others give a value.
    pub(super) fn finish(
        mut self,
        mut built_ins: Vec<u32>,
        is_kernel: impl Fn(u32) -> bool,
        has_value: impl Fn(u32) -> bool,
    ) -> [BTreeSet<&'static str>; 2] {
        if self.version < OPENCL_2 && built_ins.iter().any(|built_in| OF_OPENCL_2.contains(built_in)) {
            self.found.insert("a built-in variable of OpenCL C 2.0 in a module of an older version");
        }
        if self.version < OPENCL_2 && self.asks_semantics {
            self.found.insert("OpGenericPtrMemSemantics in a module of an older version than OpenCL C 2.0");
        }
        built_ins.sort_unstable();
        if built_ins.windows(2).any(|pair| pair.first() == pair.last()) {
            self.found.insert("two variables of one built-in");
        }
        if self.takers.iter().any(|function| is_kernel(*function)) {
            self.found.insert("a kernel's parameter of an array, an opaque type or a pointer to other memory");
        }
        if recursive(&self.calls).iter().any(|function| is_kernel(*function)) {
            self.on_cpus.insert("a function that calls itself");
        }
        if self.empty.iter().any(|id| !has_value(*id)) {
            self.found.insert("a constant variable without a value");
        }
        [self.found, self.on_cpus]
    }
}

/// Returns the functions from which calls lead to one that calls itself, alone or through others.
fn recursive(calls: &[(u32, u32)]) -> Vec<u32> {
    let (mut callers, mut open) = (HashMap::<u32, Vec<u32>>::new(), HashMap::<u32, usize>::new());
    for (caller, callee) in calls {
        callers.entry(*callee).or_default().push(*caller);
        let count = open.entry(*caller).or_default();
        *count = count.saturating_add(1);
    }
    // Functions whose calls all end are taken away, until none is left but those that lead around.
    let mut ended: Vec<u32> = callers.keys().filter(|function| !open.contains_key(function)).copied().collect();
    while let Some(function) = ended.pop() {
        for caller in callers.remove(&function).unwrap_or_default() {
            if let Some(count) = open.get_mut(&caller) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    open.remove(&caller);
                    ended.push(caller);
                }
            }
        }
    }
    open.into_keys().collect()
}

/// Returns the version of OpenCL C that drivers read a module as, by the language and the version of its `OpSource`: C++ has the
/// functions of 2.0 whatever its version.
pub(super) fn source_version(language: u32, version: u32) -> u32 {
    const C: u32 = SourceLanguage::OpenCL_C as u32;
    match language {
        C => version,
        CPP | CPP_FOR_OPENCL => version.max(OPENCL_2),
        _ => 0,
    }
}
