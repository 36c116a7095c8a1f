//! Which kernels, capabilities, imports and aspects does a module show?

use super::assembly;
use super::casts::Casts;
use super::declared::Declared;
use super::entries;
use super::functions::Functions;
use super::grammar::{self, Set};
use super::images::Images;
use super::lacking::Lacking;
use super::marks::Marks;
use super::matrices::{self, Matrices};
use super::needs::Needs;
use super::op::*;
use super::overloads::{Overloads, definitions};
use super::pointees::Pointees;
use super::sizes::Sizes;
use super::sound::Soundness;
use super::words::{Instruction, Words};
use crate::error::{Error, Result};
use crate::limits;
use crate::names::Names;
use rspirv::spirv::{Decoration, ExecutionMode, LinkageType};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

/// An entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPoint<'m> {
    /// Mangled kernel name.
    pub name: &'m str,
    /// Id of the function.
    pub function: u32,
    /// The execution model; 6 is Kernel.
    pub(crate) model: u32,
    /// Number of its parameters; none where it is no function with a body, or has very many.
    pub(crate) parameters: Option<u32>,
}

/// The entry points of a module, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryPoints {
    names: Names,
    /// Function, execution model and number of parameters of each; the greatest number stands for any beyond it, and for none. There may
    /// be hundreds of thousands.
    functions: Vec<(u32, u16, u16)>,
}

/// A number in two bytes; the greatest for any beyond it, and for none.
fn small(number: Option<u32>) -> u16 {
    number.and_then(|number| u16::try_from(number).ok()).unwrap_or(u16::MAX)
}

impl EntryPoints {
    fn push(&mut self, entry: EntryPoint<'_>) {
        self.names.push(entry.name);
        self.functions.push((entry.function, small(Some(entry.model)), small(entry.parameters)));
    }

    /// Returns the entry points in order.
    pub fn iter(&self) -> impl Iterator<Item = EntryPoint<'_>> {
        let all = self.names.iter().zip(&self.functions);
        all.map(|(name, &(function, model, parameters))| {
            let parameters = (parameters < u16::MAX).then(|| parameters.into());
            EntryPoint { name, function, model: model.into(), parameters }
        })
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The facts of one module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Major and minor version.
    pub version: (u8, u8),
    /// The generator word.
    pub(crate) generator: u32,
    /// Declared capabilities, in module order.
    pub capabilities: Vec<u32>,
    /// Declared extensions, in module order.
    pub(crate) extensions: Vec<String>,
    /// Kernels.
    pub entry_points: EntryPoints,
    /// Functions and variables that another module must define, by linkage name, in module order.
    pub imports: Vec<String>,
    /// Functions and variables that other modules may import, by linkage name, in module order.
    pub exports: Vec<String>,
    /// Names by which the host looks for device globals, in module order.
    pub(crate) host_names: Vec<String>,
    /// Symbols among the exports that several modules may have: of which linkers keep one of equal definitions
    /// (`SPV_KHR_linkonce_odr`), and variables, as device globals are in all images.
    pub(crate) merged: Vec<String>,
    /// Ids that the runtime uses to set specialization constants (`SpecId`).
    pub spec_constants: Vec<u32>,
    /// Aspects that the module's types and instructions use: `fp16`, `fp64`, `atomic64`, `ext_intel_esimd`.
    pub used_aspects: BTreeSet<&'static str>,
    /// The work-group sizes that its kernels require, each once, x first.
    pub(crate) work_group_sizes: Vec<[u32; 3]>,
    /// The sub-group sizes that its kernels require, each once; named sizes, and those of explicit SIMD, are not among them.
    pub(crate) sub_group_sizes: Vec<u32>,
    /// The instructions of its inline assembly, each once, as `lsc_load.slm` and, with its width, `dpas.bf.bf.8.8/16`; [`assembly::UNREAD`] stands
    /// for those that could not be read.
    pub(crate) assembly: BTreeSet<String>,
    /// Whether it has instructions for inline assembly, also where their text has none.
    pub(crate) uses_assembly: bool,
    /// The source language (`OpSource`), where the module names one.
    pub(crate) source_language: Option<u32>,
    /// Number of instructions that no grammar has: what they need is not known.
    pub(crate) unknown: usize,
    /// Most bytes of local memory that one of its kernels declares; of all variables where these are few.
    pub(crate) local_memory: u64,
    /// Most bytes of arguments that one of its kernels takes.
    pub(crate) argument_bytes: u64,
    /// Number of work-group sizes that its kernels require by constants whose values are not known.
    pub(crate) open_sizes: usize,
    /// Types and sets of instructions that no device is known to take: `float 128`.
    pub(crate) unusual: BTreeSet<String>,
    /// Instructions and types that drivers for CPUs are not known to take.
    pub(crate) lacking_on_cpus: BTreeSet<&'static str>,
    /// Instructions and types that drivers for Intel's GPUs are not known to take.
    pub(crate) lacking_on_gpus: BTreeSet<&'static str>,
    /// Matrices that it declares.
    pub(crate) matrices: Matrices,
    /// Faults that make it no valid module, as sentences: what a compiler, or the runtime, makes of it is not known.
    pub(crate) faults: Vec<String>,
    /// Faults by which drivers take one function for another; they are among all faults.
    misread: Vec<String>,
    /// Functions, variables and kernels under names that drivers have themselves.
    pub(crate) theirs: Vec<String>,
    /// Whether it has instructions that are longer or shorter than their operands, behind which Intel's translator reads on, or whose
    /// length for it is not known.
    pub(crate) overruns: bool,
    /// Whether it has functions that CPU drivers call when they build the program: a table of constructors or destructors under
    /// LLVM's name, or entry points of mode `Initializer` or `Finalizer`.
    pub(crate) has_constructors: bool,
    /// Whether all its kernels are explicit SIMD.
    pub(crate) esimd: bool,
    /// Whether the module has types or instructions that may be uses of further aspects, which only a look at its code
    /// tells.
    pub may_use_others: bool,
    /// Error that ended the walk early; the facts so far hold.
    pub stopped: Option<Error>,
}

/// State of the walk. Ids are listed, and looked up at the end: most modules have few, and a hostile one only as many
/// as it has instructions.
#[derive(Default)]
struct Walk<'m> {
    module: Module,
    /// Checks of what must be so in every module.
    soundness: Soundness,
    /// Checks of what declarations are made of.
    declarations: Declared<'m>,
    /// Names, decorations and the like where drivers do not take them.
    marks: Marks,
    /// Names of kernels and functions.
    names: entries::Names,
    /// Instructions and types that no driver takes.
    lacking: Lacking,
    /// Instructions with types that drivers have no function for.
    overloads: Overloads,
    /// Sizes of arguments and of local memory.
    memory: Sizes,
    /// Instructions on images that drivers have no function for.
    images: Images<'m>,
    /// Casts of pointers that drivers for GPUs do not take.
    casts: Casts<'m>,
    functions: Functions<'m>,
    matrices: matrices::Walk,
    /// Types that functions of OpenCL take pointers to.
    pointees: Pointees<'m>,
    /// Decorations that import a function or a variable.
    imported: Vec<Instruction<'m>>,
    /// Functions and variables that are decorated as exports, with their names.
    exported: Vec<(u32, String)>,
    /// Built-in variables, each with the number of its built-in.
    built_in: Vec<(u32, u32)>,
    /// Functions of explicit SIMD.
    vector: Vec<u32>,
    /// Functions with the sub-group sizes that they require.
    sub_groups: Vec<(u32, u32)>,
    declared: Vec<u32>,
    /// Functions with a body, each with the type of its result and its own.
    bodies: Vec<(u32, u32, u32)>,
    /// The type `void`.
    void: Option<u32>,
    /// Whether there is a memory model.
    has_memory_model: bool,
    /// The set `OpenCL.std`.
    opencl: Option<u32>,
    /// Whether encodings of floats are declared: bfloat16, and those of a byte.
    encodings: [bool; 2],
    variables: Vec<u32>,
    /// Ids of 64-bit integer and float types, for atomics.
    wide: Vec<u32>,
    /// Ids of 16-bit integer and float types, for atomics too.
    narrow: Vec<u32>,
    /// Needs of what it has seen, which the capabilities have to allow.
    needs: Needs,
    /// The ids of work-group sizes that are given by constants, x first.
    sizes: Vec<[u32; 3]>,
    /// The values of these ids, once they are known.
    constants: HashMap<u32, Option<u32>>,
    /// Result types of atomic instructions.
    atomic: Vec<u32>,
    /// Whether there is an atomic store, which has no result.
    stores: bool,
    /// The function that is open, the type of its result and its own.
    function: Option<(u32, u32, u32)>,
    has_body: bool,
}

impl Module {
    /// Walks a module.
    ///
    /// # Errors
    /// `Input` where there is no whole SPIR-V header. A stream that breaks later is not an error: see
    /// [`Module::stopped`].
    pub fn parse(bytes: &[u8]) -> Result<Module> {
        let words = Words::new(bytes)?;
        let version = words.header(1).to_le_bytes();
        // A header may say more ids than there are words for.
        let ids = usize::try_from(words.header(3)).unwrap_or(usize::MAX).min(words.len());
        let (soundness, declarations, marks) = (Soundness::new(ids), Declared::new(ids), Marks::new(ids));
        let mut walk = Walk { soundness, declarations, marks, ..Walk::default() };
        walk.module.version = (version.get(2).copied().unwrap_or(0), version.get(1).copied().unwrap_or(0));
        walk.module.generator = words.header(2);
        let [low, _, _, high] = version;
        let is_version = low == 0 && high == 0 && walk.module.version >= (1, 0);
        if words.is_swapped() || !is_version || words.header(4) != 0 {
            let fault = "the module has a header that drivers do not take: of another byte order, version or schema";
            walk.module.faults.push(fault.to_owned());
        }
        let shapes = grammar::shapes();
        for instruction in words.instructions() {
            match instruction {
                Ok(instruction) => {
                    walk.soundness.visit(&instruction, shapes);
                    walk.visit(&instruction, shapes);
                }
                Err(error) => walk.module.stopped = Some(error),
            }
        }
        if let Some((function, ..)) = walk.function.filter(|_| walk.module.stopped.is_none()) {
            walk.module.stopped = Some(ends_within(bytes, function));
        }
        let local = walk.memory.local_memory(bytes);
        let mut module = walk.finish(words);
        module.local_memory = module.local_memory.max(local);
        Ok(module)
    }

    /// Checks that a module can be walked to its end, and keeps none of its facts.
    ///
    /// # Errors
    /// Errors of [`Module::parse`], and the error that stops the walk.
    pub fn check(bytes: &[u8]) -> Result<()> {
        let mut open = None;
        for instruction in Words::new(bytes)?.instructions() {
            let instruction = instruction?;
            match instruction.opcode {
                FUNCTION => open = Some(instruction.word(1)),
                FUNCTION_END => open = None,
                _ => {}
            }
        }
        open.map_or(Ok(()), |function| Err(ends_within(bytes, function)))
    }

    /// Checks that drivers take no function of a module for another: what they make of such a one changes once its kernels are taken
    /// apart or put beside others.
    ///
    /// # Errors
    /// `Input` with the first of the faults.
    pub(crate) fn check_names(&self) -> Result<()> {
        let Some(fault) = self.misread.first() else { return Ok(()) };
        let remedy =
            "build it as it is, or have its compiler write it anew: drivers read it otherwise than it is written";
        Err(Error::input(fault.as_str()).with_remedy(remedy))
    }

    /// Whether it has inline assembly, of whatever text, or says so.
    pub(crate) fn has_assembly(&self) -> bool {
        self.declares_assembly() || self.uses_assembly
    }

    /// Whether it declares inline assembly (`AsmINTEL`).
    pub(crate) fn declares_assembly(&self) -> bool {
        const ASSEMBLY: u32 = 5606;
        self.capabilities.contains(&ASSEMBLY)
    }

    /// Returns the names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        const KERNEL: u32 = 6;
        self.entry_points.iter().filter(|entry| entry.model == KERNEL).map(|entry| entry.name)
    }
}

/// Whether two entry points of one execution model have the same name. By hashes: there may be hundreds of thousands.
fn has_one_name_twice(entries: &EntryPoints) -> bool {
    let hasher = RandomState::new();
    let mut hashes: Vec<u64> = entries.iter().map(|entry| hasher.hash_one((entry.model, entry.name))).collect();
    hashes.sort_unstable();
    hashes.windows(2).any(|pair| pair.first() == pair.last())
}

#[cold]
fn ends_within(bytes: &[u8], function: u32) -> Error {
    Error::at(bytes.len() as u64, format!("the SPIR-V module ends within function %{function}"))
}

const LOCAL_SIZE: u32 = ExecutionMode::LocalSize as u32;
const LOCAL_SIZE_ID: u32 = ExecutionMode::LocalSizeId as u32;
const SUBGROUP_SIZE: u32 = ExecutionMode::SubgroupSize as u32;
const INITIALIZER: u32 = ExecutionMode::Initializer as u32;
const FINALIZER: u32 = ExecutionMode::Finalizer as u32;
/// Local memory of explicit SIMD.
const LOCAL_MEMORY: u32 = ExecutionMode::SharedLocalMemorySizeINTEL as u32;
const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
const BUILT_IN: u32 = Decoration::BuiltIn as u32;
const SPEC_ID: u32 = Decoration::SpecId as u32;
const VECTOR_COMPUTE: u32 = Decoration::VectorComputeFunctionINTEL as u32;
const IMPORT: u32 = LinkageType::Import as u32;
const LINK_ONCE: u32 = LinkageType::LinkOnceODR as u32;
/// `ArbitraryPrecisionIntegersALTERA` and `Int4TypeINTEL`.
const OTHER_WIDTHS: [u32; 2] = [5844, 5112];
/// `BFloat16TypeKHR` and `Float8EXT`.
const ENCODINGS: [u32; 2] = [5116, 4212];
/// Memory model of OpenCL, with which compilers write addresses of 32 or 64 bits (addressing models 1 and 2).
const OPENCL_MEMORY: u32 = 2;
/// Words before the width of an integer of an unusual one.
const INTEGER: &str = "int ";

impl<'m> Walk<'m> {
    #[inline]
    fn visit(&mut self, instruction: &Instruction<'m>, shapes: &grammar::Shapes) {
        self.needs.visit(instruction);
        self.declarations.visit(instruction, shapes, self.function.is_some(), &self.memory);
        self.lacking.visit(instruction, self.function.map(|(function, ..)| function));
        self.overloads.visit(instruction, self.opencl, self.lacking.is_cpp, &self.soundness);
        let place = (self.function.is_some(), self.opencl);
        self.marks.visit(instruction, shapes, place, &self.declarations, &self.overloads);
        self.images.visit(instruction);
        self.casts.visit(instruction);
        self.functions.visit(instruction, self.overloads.numbers(), self.overloads.pointers());
        self.pointees.visit(instruction, self.opencl);
        self.names.visit(instruction, &self.module.entry_points, self.function.is_some());
        if self.function.is_none() {
            self.matrices.visit(instruction, self.overloads.numbers());
            self.memory.visit(instruction);
        } else if instruction.opcode == VARIABLE {
            self.memory.variable(instruction);
        }
        match instruction.opcode {
            CAPABILITY => {
                let capability = instruction.word(0);
                for (declared, of_encoding) in self.encodings.iter_mut().zip(ENCODINGS) {
                    *declared |= capability == of_encoding;
                }
                self.module.capabilities.push(capability);
            }
            EXTENSION => self.module.extensions.push(instruction.string(0).0),
            ENTRY_POINT => {
                let name = &instruction.text(2).0;
                self.module.has_constructors |= entries::lists_constructors(name);
                self.module.entry_points.push(EntryPoint {
                    model: instruction.word(0),
                    function: instruction.word(1),
                    name,
                    parameters: None,
                });
            }
            EXECUTION_MODE => self.mode(instruction),
            // Intel's translator reads modes of either instruction alike.
            EXECUTION_MODE_ID if matches!(instruction.word(1), INITIALIZER | FINALIZER) => {
                self.module.has_constructors = true;
            }
            EXECUTION_MODE_ID if instruction.word(1) == LOCAL_SIZE_ID => {
                let ids = [instruction.word(2), instruction.word(3), instruction.word(4)];
                self.constants.extend(ids.map(|id| (id, None)));
                self.sizes.push(ids);
            }
            // Constants come after the modes that name them.
            CONSTANT | SPEC_CONSTANT if !self.constants.is_empty() => {
                if let Some(value) = self.constants.get_mut(&instruction.word(1)) {
                    value.get_or_insert(instruction.word(2));
                }
            }
            SOURCE => self.module.source_language = Some(instruction.word(0)),
            DECORATE => self.decorate(instruction),
            MEMORY_MODEL => {
                self.has_memory_model = true;
                let [addressing, memory] = [0, 1].map(|at| instruction.word(at));
                if memory != OPENCL_MEMORY || ![1, 2].contains(&addressing) {
                    self.unusual(format!("memory model {memory} with addressing {addressing}"));
                }
            }
            EXT_INST_IMPORT => {
                let name = instruction.text(1).0;
                let known = name == "OpenCL.std" || name.starts_with("NonSemantic.");
                if !known && Set::from_name(&name) == Set::Other {
                    self.unusual(name.chars().take(limits::MAX_MNEMONIC).collect());
                }
                if name == "OpenCL.std" && self.opencl.replace(instruction.word(0)).is_some() {
                    self.unusual("OpenCL.std, imported twice".to_owned());
                }
            }
            TYPE_INT => match instruction.word(1) {
                64 => {
                    self.wide.push(instruction.word(0));
                    self.needs.numbers(instruction.word(0), false, 64);
                }
                16 => self.narrow.push(instruction.word(0)),
                8 | 32 => {}
                width => self.unusual(format!("{INTEGER}{width}")),
            },
            TYPE_FLOAT => self.float(instruction),
            TYPE_VOID => _ = self.void.get_or_insert(instruction.word(0)),
            EXT_INST
                if self.opencl == Some(instruction.word(2)) && grammar::of_opencl(instruction.word(3)).is_none() =>
            {
                self.module.unknown = self.module.unknown.saturating_add(1);
            }
            VARIABLE | UNTYPED_VARIABLE if self.function.is_none() => {
                self.variables.push(instruction.word(1));
            }
            // The numbers of elements and of bytes between them have one type.
            GROUP_ASYNC_COPY
                if self.soundness.is_wide(instruction.word(5)) != self.soundness.is_wide(instruction.word(6)) =>
            {
                self.unusual("OpGroupAsyncCopy with a stride of another type".to_owned());
            }
            ASM => {
                self.module.uses_assembly = true;
                assembly::note(&mut self.module.assembly, &instruction.text(4).0);
            }
            ASM_TARGET | ASM_CALL => self.module.uses_assembly = true,
            FUNCTION => {
                self.function = Some((instruction.word(1), instruction.word(0), instruction.word(3)));
                self.has_body = false;
            }
            LABEL => self.has_body = true,
            FUNCTION_END => {
                if let Some(function) = self.function.take() {
                    if self.has_body { self.bodies.push(function) } else { self.declared.push(function.0) }
                }
            }
            // A store has no result type. A 64-bit one shows in the loads and exchanges beside it, and in the
            // capability, which only integer atomics declare.
            ATOMIC_STORE => self.stores = true,
            ATOMIC_LOAD..=ATOMIC_XOR | ATOMIC_F_MIN | ATOMIC_F_MAX | ATOMIC_F_ADD => {
                let result = instruction.word(0);
                if self.atomic.last() != Some(&result) {
                    self.atomic.push(result);
                }
                self.needs.atomic(instruction.opcode, result);
            }
            TYPE_IMAGE
            | TYPE_SAMPLED_IMAGE
            | TYPE_COOPERATIVE_MATRIX
            | DECORATION_GROUP
            | IMAGE_FETCH
            | IMAGE_GATHER
            | NON_UNIFORM_I_ADD..=NON_UNIFORM_LOGICAL_XOR
            | READ_CLOCK
            | FUNCTION_POINTER_CALL
            | VARIABLE_LENGTH_ARRAY
            | UNTYPED_VARIABLE_LENGTH_ARRAY
            | CONVERT_HANDLE_TO_IMAGE
            | CONVERT_HANDLE_TO_SAMPLER
            | CONVERT_HANDLE_TO_SAMPLED_IMAGE
            | SUBGROUP_MATRIX_MULTIPLY_ACCUMULATE
            | SUBGROUP_SCALED_MATRIX_MULTIPLY_ACCUMULATE => self.module.may_use_others = true,
            opcode if shapes.shape(opcode).result == grammar::UNKNOWN => {
                self.module.unknown = self.module.unknown.saturating_add(1);
            }
            _ => {}
        }
    }

    /// Notes what no device is known to take.
    #[cold]
    fn unusual(&mut self, what: String) {
        if self.module.unusual.len() < limits::MAX_REQUIREMENTS {
            self.module.unusual.insert(what);
        }
    }

    /// Notes a type of floats.
    fn float(&mut self, instruction: &Instruction<'m>) {
        let [id, width, encoding] = [0, 1, 2].map(|at| instruction.word(at));
        let encoding = (instruction.len() > 2).then_some(encoding);
        let [bfloat, byte] = self.encodings;
        self.needs.numbers(id, true, width);
        match (width, encoding) {
            (16 | 32 | 64, None) => {}
            (16, Some(0)) if bfloat => {}
            (8, Some(4214 | 4215)) if byte => {}
            (_, None) => self.unusual(format!("float {width}")),
            (_, Some(encoding)) => self.unusual(format!("float {width} of encoding {encoding}")),
        }
        // Encoding 0 of that width is bfloat16; nothing but the width counts of those that nobody knows.
        match (width, encoding) {
            (16, _) => {
                if encoding != Some(0) {
                    self.module.used_aspects.insert("fp16");
                }
                self.narrow.push(id);
            }
            (64, _) => {
                self.module.used_aspects.insert("fp64");
                self.wide.push(id);
            }
            _ => {}
        }
    }

    /// Requirements of a kernel on its launch.
    fn mode(&mut self, instruction: &Instruction<'m>) {
        let module = &mut self.module;
        match instruction.word(1) {
            LOCAL_SIZE if instruction.len() >= 5 => {
                module.work_group_sizes.push([instruction.word(2), instruction.word(3), instruction.word(4)]);
            }
            // DPC++ writes the primary size as all ones.
            SUBGROUP_SIZE if instruction.len() >= 3 && instruction.word(2) != u32::MAX => {
                self.sub_groups.push((instruction.word(0), instruction.word(2)));
            }
            LOCAL_MEMORY if instruction.len() >= 3 => {
                module.local_memory = module.local_memory.max(instruction.word(2).into());
            }
            INITIALIZER | FINALIZER => module.has_constructors = true,
            _ => {}
        }
    }

    fn decorate(&mut self, instruction: &Instruction<'m>) {
        let target = instruction.word(0);
        match instruction.word(1) {
            LINKAGE => match instruction.word(instruction.after_string(2)) {
                IMPORT => self.imported.push(*instruction),
                LINKAGE_INTERNAL => {}
                kind => {
                    let name = instruction.string(2).0;
                    if kind == LINK_ONCE {
                        self.module.merged.push(name.clone());
                    }
                    self.exported.push((target, name));
                }
            },
            number if HOST_ACCESS.contains(&number) => self.module.host_names.push(instruction.string(3).0),
            BUILT_IN => {
                self.built_in.push((target, instruction.word(2)));
            }
            SPEC_ID => self.module.spec_constants.push(instruction.word(2)),
            VECTOR_COMPUTE => {
                self.module.used_aspects.insert("ext_intel_esimd");
                self.vector.push(target);
            }
            _ => {}
        }
    }

    fn finish(mut self, words: Words<'m>) -> Module {
        self.built_in.sort_unstable();
        self.built_in.dedup();
        let lists = [&mut self.declared, &mut self.variables, &mut self.wide, &mut self.narrow];
        for ids in lists.into_iter().chain([&mut self.vector]) {
            ids.sort_unstable();
        }
        let is_in = |ids: &[u32], id: u32| ids.binary_search(&id).is_ok();
        let built_in = std::mem::take(&mut self.built_in);
        let is_built_in = |id: u32| built_in.binary_search_by_key(&id, |(own, _)| *own).is_ok();
        // Built-in variables are decorated as imports too; only functions without a body and other variables are
        // imports.
        for import in &self.imported {
            let target = import.word(0);
            let variable = is_in(&self.variables, target) && !is_built_in(target);
            if variable || is_in(&self.declared, target) {
                self.module.imports.push(import.string(2).0);
            }
        }
        // A function without a body that is called is nobody's, whatever else decorates it.
        let mut named: Vec<u32> = self.imported.iter().map(|import| import.word(0)).collect();
        named.sort_unstable();
        let nameless = self.declared.iter().filter(|id| self.soundness.called.contains(**id) && !is_in(&named, **id));
        self.module.imports.extend(nameless.map(|id| format!("%{id}")));
        self.bodies.sort_unstable();
        let body_of = |id: u32| {
            let place = self.bodies.binary_search_by_key(&id, |(function, ..)| *function).ok()?;
            self.bodies.get(place)
        };
        let result_of = |id: u32| body_of(id).map(|(_, result, _)| *result);
        for (function, _, parameters) in &mut self.module.entry_points.functions {
            let Some((_, _, kind)) = body_of(*function) else { continue };
            *parameters = small(self.soundness.signatures.get(kind).and_then(|count| u32::try_from(*count).ok()));
            self.module.argument_bytes = self.module.argument_bytes.max(self.memory.parameters(*kind));
        }
        let exported = std::mem::take(&mut self.exported).into_iter();
        let exported = exported.filter(|(id, _)| is_in(&self.variables, *id) || result_of(*id).is_some());
        let exported: Vec<(u32, String)> = exported.collect();
        let variables = exported.iter().filter(|(id, _)| is_in(&self.variables, *id));
        self.module.merged.extend(variables.map(|(_, name)| name.clone()));
        self.module.exports = exported.into_iter().map(|(_, name)| name).collect();
        let mut begun: Vec<u32> = self.module.entry_points.functions.iter().map(|(function, ..)| *function).collect();
        self.module.has_constructors |= self.names.has_constructors;
        self.module.overruns = self.soundness.overruns();
        // Parts that are missing of a module that is cut short say nothing more.
        if self.module.stopped.is_none() {
            let names = std::mem::take(&mut self.names);
            let soundness = &self.soundness;
            let ([misread, theirs], on_cpus) = names.faults(
                !self.lacking.is_cpp,
                |id| soundness.functions.contains(id),
                |id| result_of(id).is_some(),
                |signature| soundness.signatures.get(&signature).copied(),
            );
            if on_cpus {
                self.lacking.note_on_cpus("a function under the name of one of OpenCL C");
            }
            self.module.faults.extend(misread.iter().cloned());
            self.module.misread = misread;
            self.module.theirs = theirs;
            self.module.faults.extend(self.soundness.faults());
            if !self.has_memory_model {
                self.module.faults.push("the module has no memory model".to_owned());
            }
            if self.module.entry_points.iter().any(|entry| entry.name.contains(char::REPLACEMENT_CHARACTER)) {
                self.module.faults.push("the module has a kernel whose name is not UTF-8".to_owned());
            }
            if self.module.entry_points.iter().any(|entry| entries::is_no_kernel(entry.name)) {
                self.module.theirs.push("the module has a kernel of a name that drivers have themselves".to_owned());
            }
            if begun.iter().any(|id| result_of(*id).is_none_or(|result| Some(result) != self.void)) {
                let fault = "the module has an entry point that is no function with a body and without a result";
                self.module.faults.push(fault.to_owned());
            }
        }
        let entries = begun.len();
        begun.sort_unstable();
        begun.dedup();
        let lacking = std::mem::take(&mut self.lacking);
        let is_cpp = lacking.is_cpp;
        let numbers = built_in.iter().map(|(_, number)| *number).collect();
        let has_value = |id: u32| is_in(&named, id) || is_built_in(id);
        let [lacking, on_cpus] = lacking.finish(numbers, |id| is_in(&begun, id), has_value);
        let [marks, marks_on_cpus, marks_on_gpus] = std::mem::take(&mut self.marks).finish();
        let (images, overloads) = (std::mem::take(&mut self.images), std::mem::take(&mut self.overloads));
        let (numbers, pointers) = (overloads.numbers(), overloads.pointers());
        let casts = std::mem::take(&mut self.casts).finish(words, numbers, pointers);
        let pointees = std::mem::take(&mut self.pointees);
        let functions = std::mem::take(&mut self.functions);
        self.module.matrices = std::mem::take(&mut self.matrices).finish();
        let mut asked = HashSet::new();
        images.ask(&mut asked);
        functions.ask(&mut asked);
        pointees.ask(&mut asked);
        overloads.ask(&mut asked);
        self.declarations.ask(&mut asked);
        let values = definitions(words, &asked);
        if self.module.stopped.is_none() {
            let fault = self.declarations.fault(&values, |id| self.soundness.functions.contains(id));
            self.module.faults.extend(fault);
        }
        let [of_images, of_images_on_gpus] = images.finish(&values, numbers);
        let [pointees, pointees_on_gpus] = pointees.finish(&values, numbers, pointers);
        let functions = functions.finish(&values, pointers, |id| is_in(&begun, id));
        let [others, others_on_cpus, on_gpus] = overloads.finish(words, &values, is_cpp);
        self.module.lacking_on_gpus = [on_gpus, of_images_on_gpus, casts, pointees_on_gpus, functions, marks_on_gpus]
            .into_iter()
            .flatten()
            .collect();
        self.module.lacking_on_cpus =
            [on_cpus, others_on_cpus, of_images, marks_on_cpus].into_iter().flatten().collect();
        if self.memory.is_beyond_private() {
            self.module.lacking_on_gpus.insert("more than 128 KiB of private memory in a function");
        }
        for what in lacking.into_iter().chain(others).chain(pointees).chain(marks) {
            self.unusual(what.to_owned());
        }
        if begun.len() < entries {
            let fault = "the module has two entry points of one function, of which drivers know one alone";
            self.module.faults.push(fault.to_owned());
        }
        for size in &self.sizes {
            if let [Some(x), Some(y), Some(z)] = size.map(|id| self.constants.get(&id).copied().flatten()) {
                self.module.work_group_sizes.push([x, y, z]);
            } else {
                self.module.open_sizes = self.module.open_sizes.saturating_add(1);
            }
        }
        let bound = self.sub_groups.iter().filter(|(function, _)| !is_in(&self.vector, *function));
        self.module.sub_group_sizes = bound.map(|(_, size)| *size).collect();
        let entries = &self.module.entry_points;
        self.module.esimd = !entries.is_empty() && entries.iter().all(|entry| is_in(&self.vector, entry.function));
        // With these capabilities integers may have other widths.
        if self.module.capabilities.iter().any(|capability| OTHER_WIDTHS.contains(capability)) {
            self.module.unusual.retain(|what| !what.starts_with(INTEGER));
        }
        // Some compilers take what lacks its capability, others refuse it, or end their process.
        for what in std::mem::take(&mut self.needs).unmet(words, &self.module.capabilities) {
            self.unusual(what);
        }
        if has_one_name_twice(&self.module.entry_points) {
            self.unusual("two entry points of one name".to_owned());
        }
        self.module.work_group_sizes.sort_unstable();
        self.module.work_group_sizes.dedup();
        self.module.sub_group_sizes.sort_unstable();
        self.module.sub_group_sizes.dedup();
        if self.atomic.iter().any(|&result| is_in(&self.wide, result)) {
            self.module.used_aspects.insert("atomic64");
        }
        let stored = self.stores && !(self.wide.is_empty() && self.narrow.is_empty());
        self.module.may_use_others |= stored || self.atomic.iter().any(|&result| is_in(&self.narrow, result));
        // DPC++ declares Int64Atomics for 64-bit integer atomics alone, stores included.
        const INT64_ATOMICS: u32 = 12;
        if self.module.capabilities.contains(&INT64_ATOMICS) {
            self.module.used_aspects.insert("atomic64");
        }
        self.module
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_cut_between_instructions_of_a_function_is_told() {
        // OpFunction, OpLabel, OpReturn, OpFunctionEnd
        let code = [0x0005_0036, 1, 2, 0, 3, 0x0002_00f8, 4, 0x0001_00fd, 0x0001_0038];
        let words = [&[0x0723_0203, 0x0001_0200, 0, 10, 0], code.as_slice()].concat();
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert!(Module::parse(&bytes).unwrap().stopped.is_none());
        Module::check(&bytes).unwrap();
        for end in [bytes.len() - 4, bytes.len() - 8] {
            let stopped = Module::parse(&bytes[..end]).unwrap().stopped.unwrap();
            assert_eq!(stopped.offset(), Some(end as u64));
            assert_eq!(Module::check(&bytes[..end]).unwrap_err().to_string(), stopped.to_string());
            assert!(stopped.message().starts_with("the SPIR-V module ends within function %2"), "{stopped}");
        }
    }
}
