//! Which names, decorations, memory operands, scopes and built-in variables does a driver not take where they stand?
//!
//! All of them are valid. Intel's OpenCL CPU driver 2026.2 ends at a name of what has no value, at attributes of parameters elsewhere, at
//! variables without an alignment, at numbers of 8 and 16 bits that are loaded past the caches, and at built-in variables that are used
//! otherwise than compilers use them; IGC 2.40 refuses arguments by value in other memory, barriers of a scope that is no constant, and
//! sets of instructions that it does not know. Each was tried on both.

use super::declared::Declared;
use super::grammar::{self, Slot};
use super::op::*;
use super::overloads::{Number, Overloads};
use super::sound::IdSet;
use super::words::Instruction;
use rspirv::spirv::{BuiltIn, Decoration, FunctionControl, FunctionParameterAttribute, MemoryAccess, Op, StorageClass};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

const BUILT_IN: u32 = Decoration::BuiltIn as u32;
const ALIGNMENT: u32 = Decoration::Alignment as u32;
const ATTRIBUTE: u32 = Decoration::FuncParamAttr as u32;
const BY_VALUE: u32 = FunctionParameterAttribute::ByVal as u32;
const NOT_CAPTURED: u32 = FunctionParameterAttribute::NoCapture as u32;
const PRIVATE: u32 = StorageClass::Function as u32;
const GENERIC: u32 = StorageClass::Generic as u32;
const NOT_INLINED: u32 = FunctionControl::DONT_INLINE.bits();
const NONTEMPORAL: u32 = MemoryAccess::NONTEMPORAL.bits();
const BARRIER: u16 = Op::ControlBarrier as u16;
const BITCAST: u16 = Op::Bitcast as u16;
const SELECT: u16 = Op::Select as u16;
const PHI: u16 = Op::Phi as u16;
const RETURN_VALUE: u16 = Op::ReturnValue as u16;
const TO_GENERIC: u16 = Op::PtrCastToGeneric as u16;
const U_CONVERT: u16 = Op::UConvert as u16;
const S_CONVERT: u16 = Op::SConvert as u16;
const SHIFT_LOGICAL: u16 = Op::ShiftRightLogical as u16;
const SHIFT_ARITHMETIC: u16 = Op::ShiftRightArithmetic as u16;
const BITWISE_AND: u16 = Op::BitwiseAnd as u16;

/// Sets of instructions without a meaning (`NonSemantic.`) that IGC takes.
const SETS: [&str; 3] = ["AuxData", "Shader.DebugInfo.100", "Shader.DebugInfo.200"];
/// Built-ins that are vectors.
#[rustfmt::skip]
const VECTORS: [u32; 8] = [
    BuiltIn::NumWorkgroups as u32, BuiltIn::WorkgroupSize as u32, BuiltIn::WorkgroupId as u32,
    BuiltIn::LocalInvocationId as u32, BuiltIn::GlobalInvocationId as u32, BuiltIn::GlobalSize as u32,
    BuiltIn::EnqueuedWorkgroupSize as u32, BuiltIn::GlobalOffset as u32,
];
/// Built-ins of three numbers, and of one of 32 bits, of which IGC has no function for more or others.
const THREE: [u32; 2] = [BuiltIn::NumWorkgroups as u32, BuiltIn::WorkgroupSize as u32];
const SHORT: [u32; 3] = [BuiltIn::SubgroupSize as u32, BuiltIn::NumSubgroups as u32, BuiltIn::WorkDim as u32];
/// Built-ins that are a vector in the standard, and one number to some compilers.
const MASKS: RangeInclusive<u32> = BuiltIn::SubgroupEqMask as u32..=BuiltIn::SubgroupLtMask as u32;

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Marks {
    void: Option<u32>,
    /// Ids with names.
    named: IdSet,
    by_value: HashSet<u32>,
    not_captured: HashSet<u32>,
    unaligned: HashSet<u32>,
    /// Built-in variables, each with the number of its built-in.
    built_in: HashMap<u32, u32>,
    /// Built-in variables, and pointers that are made of them.
    places: IdSet,
    has_places: bool,
    /// Built-in variables of another type than drivers have functions for.
    odd: HashSet<u32>,
    /// Types of numbers of 8 and 16 bits, and of what has some.
    narrow: HashSet<u32>,
    /// Wider integers that are loaded past the caches, and parts of them: compilers load no more of them than is used.
    loaded: HashSet<u32>,
    /// Parameters of the open function, where it may be inlined.
    parameters: HashSet<u32>,
    is_inlined: bool,
    found: BTreeSet<&'static str>,
    on_cpus: BTreeSet<&'static str>,
    on_gpus: BTreeSet<&'static str>,
}

impl Marks {
    /// Begins a walk over a module that has so many ids at most.
    pub(super) fn new(ids: usize) -> Marks {
        let [named, places] = [(); 2].map(|()| IdSet::new(ids));
        Marks { named, places, ..Marks::default() }
    }

    /// Looks at an instruction that is in a function or not; `opencl` is the set OpenCL.std, and the others tell of what stands before.
    #[inline]
    pub(super) fn visit(
        &mut self,
        instruction: &Instruction<'_>,
        shapes: &grammar::Shapes,
        (in_function, opencl): (bool, Option<u32>),
        declared: &Declared<'_>,
        overloads: &Overloads,
    ) {
        let word = |at: usize| instruction.word(at);
        if self.has_places {
            self.follow(instruction, shapes, opencl, overloads);
        }
        match instruction.opcode {
            // A name that is not empty begins with a letter.
            NAME if word(1) & 0xff != 0 => self.named.add(word(0)),
            DECORATE => self.decorate(instruction),
            GROUP_DECORATE => {
                let lists = [&mut self.by_value, &mut self.not_captured, &mut self.unaligned];
                for list in lists.into_iter().filter(|list| list.contains(&word(0))) {
                    list.extend(instruction.words().skip(1));
                }
            }
            EXT_INST_IMPORT => {
                let name = instruction.text(1).0;
                if name == "DebugInfo" {
                    self.found.insert("the set DebugInfo");
                }
                if name.strip_prefix("NonSemantic.").is_some_and(|set| !SETS.contains(&set)) {
                    self.on_gpus.insert("a set of instructions without a meaning");
                }
            }
            TYPE_VOID => _ = self.void.get_or_insert(word(0)),
            TYPE_INT | TYPE_FLOAT | TYPE_VECTOR => {
                let is_narrow = |number: &Number| {
                    // Two, four, eight and sixteen are loaded at once, if they are more than a short.
                    let bits = number.width.saturating_mul(number.lanes);
                    number.is_plain && number.width <= 16 && (is_apart(number.lanes) || bits <= 16)
                };
                if overloads.numbers().get(&word(0)).is_some_and(is_narrow) {
                    self.narrow.insert(word(0));
                }
            }
            TYPE_ARRAY if self.narrow.contains(&word(1)) => _ = self.narrow.insert(word(0)),
            TYPE_STRUCT if instruction.words().skip(1).any(|member| self.narrow.contains(&member)) => {
                self.narrow.insert(word(0));
            }
            VARIABLE if !in_function && !self.built_in.is_empty() => self.place(instruction, overloads),
            VARIABLE if in_function && self.unaligned.contains(&word(1)) => {
                self.on_cpus.insert("a variable with an alignment of 0");
            }
            FUNCTION => {
                self.is_inlined = word(2) & NOT_INLINED == 0;
                self.parameters.clear();
                if self.not_captured.contains(&word(1)) {
                    self.on_cpus.insert("the attribute NoCapture of a function");
                }
            }
            FUNCTION_PARAMETER => {
                if self.is_inlined {
                    self.parameters.insert(word(1));
                }
                if self.by_value.contains(&word(1)) {
                    self.take(overloads.pointers().get(&word(0)).map(|(memory, _)| *memory));
                }
            }
            FUNCTION_CALL if self.void == Some(word(0)) && self.named.contains(word(1)) => self.name(),
            EXT_INST if opencl == Some(word(2)) && self.void == Some(word(0)) && self.named.contains(word(1)) => {
                self.name();
            }
            LOAD if word(3) & NONTEMPORAL != 0 => {
                if self.narrow.contains(&word(0)) {
                    self.short();
                }
                self.loaded.insert(word(1));
            }
            U_CONVERT | S_CONVERT if self.loaded.contains(&word(2)) && self.narrow.contains(&word(0)) => self.short(),
            BITWISE_AND | SHIFT_LOGICAL | SHIFT_ARITHMETIC if self.loaded.contains(&word(2)) => {
                self.loaded.insert(word(1));
            }
            BARRIER if !declared.is_integer(word(0)) && !self.parameters.contains(&word(0)) => {
                self.on_gpus.insert("a barrier whose scope is no constant");
            }
            _ => {}
        }
    }

    fn decorate(&mut self, instruction: &Instruction<'_>) {
        let target = instruction.word(0);
        match (instruction.word(1), instruction.word(2)) {
            (BUILT_IN, number) => _ = self.built_in.insert(target, number),
            (ALIGNMENT, 0) => _ = self.unaligned.insert(target),
            (ATTRIBUTE, BY_VALUE) => _ = self.by_value.insert(target),
            (ATTRIBUTE, NOT_CAPTURED) => _ = self.not_captured.insert(target),
            _ => {}
        }
    }

    /// Notes a variable, where it is a built-in one: drivers have functions of places for vectors, of all others for one number.
    fn place(&mut self, variable: &Instruction<'_>, overloads: &Overloads) {
        let Some(number) = self.built_in.get(&variable.word(1)) else { return };
        let kind = overloads.pointers().get(&variable.word(0)).and_then(|(_, kind)| overloads.numbers().get(kind));
        if kind.is_some_and(|kind| (kind.lanes > 1) != VECTORS.contains(number) && !MASKS.contains(number)) {
            self.odd.insert(variable.word(1));
        }
        let is_odd =
            |kind: &Number| THREE.contains(number) && kind.lanes > 3 || SHORT.contains(number) && kind.width != 32;
        if kind.is_some_and(is_odd) {
            self.on_gpus.insert("a built-in variable of another type");
        }
        self.places.add(variable.word(1));
        self.has_places = true;
    }

    fn name(&mut self) {
        self.on_cpus.insert("a name of a call without a result");
    }

    fn short(&mut self) {
        self.on_cpus.insert("a number of 8 or 16 bits that is loaded past the caches");
    }

    /// Notes a parameter that is taken by value; of a pointer `memory` is the kind.
    fn take(&mut self, memory: Option<u32>) {
        match memory {
            Some(PRIVATE | GENERIC) => {}
            Some(_) => _ = self.on_gpus.insert("a pointer to other than private memory that is taken by value"),
            None => _ = self.found.insert("the attribute ByVal of a parameter that is no pointer"),
        }
    }

    /// Follows built-in variables to where something else is made of them than a value that is loaded.
    fn follow(
        &mut self,
        instruction: &Instruction<'_>,
        shapes: &grammar::Shapes,
        opencl: Option<u32>,
        overloads: &Overloads,
    ) {
        let opcode = instruction.opcode;
        let is_taken = match opcode {
            LOAD if self.odd.contains(&instruction.word(2)) => {
                self.found.insert("a built-in variable of another type");
                return;
            }
            LOAD => return,
            ACCESS_CHAIN..=IN_BOUNDS_PTR_ACCESS_CHAIN | BITCAST | TO_GENERIC => true,
            EXT_INST if opencl != Some(instruction.word(2)) => return,
            _ => false,
        };
        let is_used = |id: u32| self.places.contains(id);
        // Of most instructions no word is one of these, be it an id or not.
        if !instruction.words().any(is_used) {
            return;
        }
        let shape = shapes.shape(opcode);
        let uses = if opcode == EXT_INST {
            let slots = grammar::of_opencl(instruction.word(3)).unwrap_or_default();
            let ids = instruction.words().skip(4).zip(slots).filter(|(_, slot)| matches!(slot, Slot::Id));
            ids.map(|(id, _)| id).any(is_used)
        } else {
            let ids = if shape.ids == grammar::ALL_IDS { usize::MAX } else { usize::from(shape.ids) };
            let from = if shape.tail == grammar::NO_TAIL { usize::MAX } else { usize::from(shape.tail) };
            let own = usize::from(shape.result);
            let behind = if matches!(opcode, VARIABLE | SPEC_CONSTANT_OP) { 3 } else { usize::MAX };
            let is_operand = |at: usize| at != own && (at < ids || at >= from || at == behind);
            instruction.words().enumerate().any(|(at, id)| is_operand(at) && is_used(id))
        };
        if !uses {
            return;
        }
        if is_taken {
            self.places.add(instruction.word(1));
            let kind =
                overloads.pointers().get(&instruction.word(0)).and_then(|(_, kind)| overloads.numbers().get(kind));
            if opcode == BITCAST && kind.is_none_or(|kind| kind.lanes > 1) {
                self.found.insert("a built-in variable of another type");
            }
            return;
        }
        self.on_cpus.insert("a built-in variable that is not only loaded");
        let is_refused =
            matches!(opcode, PHI | SELECT | RETURN_VALUE | VARIABLE | CONSTANT_COMPOSITE | SPEC_CONSTANT_OP);
        if is_refused {
            self.on_gpus.insert("a pointer to a built-in variable as a value");
        }
    }

    /// Returns what no driver takes, what those for CPUs do not, and those for Intel's GPUs.
    pub(super) fn finish(self) -> [BTreeSet<&'static str>; 3] {
        [self.found, self.on_cpus, self.on_gpus]
    }
}

/// Whether compilers load vectors of so many elements one by one.
fn is_apart(lanes: u32) -> bool {
    ![2, 4, 8, 16].contains(&lanes)
}
