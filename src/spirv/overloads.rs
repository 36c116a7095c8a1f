//! Which instructions have no function in a driver for the types that they are used with?
//!
//! Drivers look for a function of an instruction by the types of its operands, and miss it where the specification allows types that
//! OpenCL C does not. Tried with Intel's OpenCL CPU driver 2026.2 and with ocloc 26.27: each of these with numbers of 8 to 64 bits,
//! alone and as vectors.

use super::grammar;
use super::op::*;
use super::sound::Soundness;
use super::words::{Instruction, Words};
use rspirv::spirv::{Capability, Decoration, GroupOperation, Op, OpenclStd100Op, Scope};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

const WORK_GROUP: u32 = Scope::Workgroup as u32;
const BROADCAST: u16 = Op::GroupBroadcast as u16;
const U_MIN: u16 = Op::GroupUMin as u16;
const S_MIN: u16 = Op::GroupSMin as u16;
const U_MAX: u16 = Op::GroupUMax as u16;
const S_MAX: u16 = Op::GroupSMax as u16;
const NON_UNIFORM_SHUFFLE: u16 = Op::GroupNonUniformShuffle as u16;
const NON_UNIFORM_SHUFFLE_XOR: u16 = Op::GroupNonUniformShuffleXor as u16;
const NON_UNIFORM_SHUFFLE_UP: u16 = Op::GroupNonUniformShuffleUp as u16;
const NON_UNIFORM_SHUFFLE_DOWN: u16 = Op::GroupNonUniformShuffleDown as u16;
const NON_UNIFORM_ROTATE: u16 = Op::GroupNonUniformRotateKHR as u16;
const SHUFFLE: u16 = Op::SubgroupShuffleINTEL as u16;
const SHUFFLE_XOR: u16 = Op::SubgroupShuffleXorINTEL as u16;
const BLOCK_READ: u16 = Op::SubgroupBlockReadINTEL as u16;
const BLOCK_WRITE: u16 = Op::SubgroupBlockWriteINTEL as u16;
const U_TO_FLOAT: u16 = Op::ConvertUToF as u16;
const S_TO_FLOAT: u16 = Op::ConvertSToF as u16;
const FLOAT_TO_FLOAT: u16 = Op::FConvert as u16;
const U_TO_U: u16 = Op::UConvert as u16;
const S_TO_S: u16 = Op::SConvert as u16;
/// The first of the conversions of numbers, of which `OpFConvert` is the last.
const FIRST_CONVERSION: u16 = Op::ConvertFToU as u16;
const VECTOR_COMPUTE: u32 = Capability::VectorComputeINTEL as u32;
const SELECT: u16 = Op::Select as u16;
const ANY: u16 = Op::Any as u16;
const ALL: u16 = Op::All as u16;
const DOT: u16 = Op::Dot as u16;
const COMPARE_EXCHANGE: u16 = Op::AtomicCompareExchange as u16;
const COMPARE_EXCHANGE_WEAK: u16 = Op::AtomicCompareExchangeWeak as u16;
const LDEXP: u32 = OpenclStd100Op::ldexp as u32;
const S_TO_U_SATURATED: u16 = Op::SatConvertSToU as u16;
const U_TO_S_SATURATED: u16 = Op::SatConvertUToS as u16;
const SATURATED: u32 = Decoration::SaturatedConversion as u32;
/// Instructions with a result of an integer of another width than 8, 16, 32 or 64 bits that Intel's compiler for GPUs takes up to
/// 64 bits: LLVM makes such integers of loops. At others, such as divisions, it ends.
#[rustfmt::skip]
const OF_ANY_WIDTH: [Op; 27] = [
    Op::Undef, Op::ConstantNull, Op::Constant, Op::FunctionCall, Op::Load, Op::VectorExtractDynamic,
    Op::VectorInsertDynamic, Op::VectorShuffle, Op::CompositeConstruct, Op::CompositeExtract, Op::CompositeInsert,
    Op::UConvert, Op::SConvert, Op::SNegate, Op::IAdd, Op::ISub, Op::IMul, Op::Select, Op::ShiftRightLogical,
    Op::ShiftRightArithmetic, Op::ShiftLeftLogical, Op::BitwiseOr, Op::BitwiseXor, Op::BitwiseAnd, Op::Not, Op::BitCount,
    Op::Phi,
];
const LOGICAL_AND: u16 = Op::GroupLogicalAndKHR as u16;
const LOGICAL_XOR: u16 = Op::GroupLogicalXorKHR as u16;
const REDUCE: u32 = GroupOperation::Reduce as u32;
const VECTOR_SHUFFLES: [u32; 2] = [OpenclStd100Op::shuffle as u32, OpenclStd100Op::shuffle2 as u32];
/// Functions that OpenCL C has for `float` alone.
const FAST: [u32; 3] =
    [OpenclStd100Op::fast_distance as u32, OpenclStd100Op::fast_length as u32, OpenclStd100Op::fast_normalize as u32];

/// Functions of fast and of native arithmetic, from the first to the last: OpenCL C has the former for `float` alone.
const HALF: RangeInclusive<u32> = OpenclStd100Op::half_cos as u32..=OpenclStd100Op::half_tan as u32;
const NATIVE: RangeInclusive<u32> = OpenclStd100Op::native_cos as u32..=OpenclStd100Op::native_tan as u32;
/// Functions of integers of 32 bits alone.
const OF_32: [u32; 4] = [
    OpenclStd100Op::s_mad24 as u32,
    OpenclStd100Op::u_mad24 as u32,
    OpenclStd100Op::s_mul24 as u32,
    OpenclStd100Op::u_mul24 as u32,
];
const CROSS: u32 = OpenclStd100Op::cross as u32;
const NORMALIZE: u32 = OpenclStd100Op::normalize as u32;
const FAST_NORMALIZE: u32 = OpenclStd100Op::fast_normalize as u32;

/// Uses of integers of other widths that compilers for GPUs do not take.
const ODD: &str = "such arithmetic of integers of other widths than 8, 16, 32 and 64 bits";

/// Uses of integers of 128 bits at which Intel's compiler for GPUs ends.
const INT128: &str = "integers of 128 bits in arrays, as parameters or as results";

/// Type of a number, or of a vector of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) is_float: bool,
    /// Bits of one.
    pub(super) width: u32,
    /// Number of them.
    pub(super) lanes: u32,
    /// Whether it has no encoding of its own, as bfloat16 has.
    pub(super) is_plain: bool,
}

/// Instruction that the type of an operand decides.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// Store of a block by a sub-group.
    Block,
    /// Atomic store.
    Atomic,
    /// Index of a broadcast to a work-group.
    OfWorkGroup,
    /// Index of a broadcast to a sub-group.
    OfSubGroup,
    /// Integer that becomes a float.
    ToFloat,
    /// Selector of a switch.
    Selector,
    /// Operand of `OpAny` or `OpAll`.
    Truth,
    /// Exponent of a vector of floats of so many bits.
    Exponent(u32),
}

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Overloads {
    numbers: HashMap<u32, Number>,
    /// Types of pointers, with the storage class and the type of what is there.
    pointers: HashMap<u32, (u32, u32)>,
    /// Constants with the number of the scope of a work-group.
    work_group: HashSet<u32>,
    /// Values that are decorated as those of conversions that saturate.
    saturated: HashSet<u32>,
    /// Operands whose types decide.
    operands: Vec<(u32, Use)>,
    /// Uses that no driver has a function for, and those that drivers for CPUs have none for.
    found: BTreeSet<&'static str>,
    on_cpus: BTreeSet<&'static str>,
    on_gpus: BTreeSet<&'static str>,
    /// Whether there are integers of other widths than 8 to 64 bits in powers of two.
    has_odd: bool,
    /// Whether it declares explicit SIMD, whose compiler has functions of vectors of any length.
    has_explicit_simd: bool,
    /// Whether there are vectors of lengths that OpenCL C does not have, and no explicit SIMD.
    has_other_length: bool,
    /// Types of the truth values and of their vectors.
    truths: HashSet<u32>,
}

impl Number {
    /// Whether it is an integer of another width than 8, 16, 32 or 64 bits.
    fn is_odd(&self) -> bool {
        !self.is_float && ![8, 16, 32, 64].contains(&self.width)
    }

    /// Whether it is a vector of a length that OpenCL C does not have.
    fn has_other_length(&self) -> bool {
        ![1, 2, 3, 4, 8, 16].contains(&self.lanes)
    }
}

impl Overloads {
    /// Looks at an instruction; `opencl` is the set OpenCL.std. The atomic functions of C++ take more types.
    #[inline]
    pub(super) fn visit(
        &mut self,
        instruction: &Instruction<'_>,
        opencl: Option<u32>,
        is_cpp: bool,
        soundness: &Soundness,
    ) {
        let word = |at: usize| instruction.word(at);
        if self.has_other_length {
            self.of_other_length(instruction, opencl);
        }
        match instruction.opcode {
            TYPE_INT | TYPE_FLOAT => {
                let is_float = instruction.opcode == TYPE_FLOAT;
                let is_plain = !is_float || instruction.len() < 3;
                let number = Number { is_float, width: word(1), lanes: 1, is_plain };
                self.has_odd |= number.is_odd();
                self.numbers.insert(word(0), number);
            }
            TYPE_VECTOR => {
                if let Some(number) = self.numbers.get(&word(1)).copied() {
                    let vector = Number { lanes: word(2), ..number };
                    self.has_other_length |= !self.has_explicit_simd && vector.has_other_length();
                    self.numbers.insert(word(0), vector);
                } else if self.truths.contains(&word(1)) {
                    self.truths.insert(word(0));
                }
            }
            TYPE_POINTER => _ = self.pointers.insert(word(0), (word(1), word(2))),
            TYPE_BOOL => _ = self.truths.insert(word(0)),
            CAPABILITY => self.has_explicit_simd |= word(0) == VECTOR_COMPUTE,
            EXT_INST if opencl != Some(word(2)) => {}
            DECORATE if word(1) == SATURATED => _ = self.saturated.insert(word(0)),
            // Integers saturate here without it, too; where it stands (LLVM 22 writes it), compilers look for another function.
            S_TO_U_SATURATED | U_TO_S_SATURATED if self.saturated.contains(&word(1)) => {
                self.on_gpus.insert("a saturating conversion of integers that is decorated with SaturatedConversion");
            }
            U_TO_FLOAT | S_TO_FLOAT | FLOAT_TO_FLOAT if self.saturated.contains(&word(1)) => {
                self.found.insert("a conversion to a float that saturates");
            }
            U_TO_U | S_TO_S | FLOAT_TO_FLOAT if soundness.own_width(instruction) > 0 => {
                self.on_cpus.insert("a conversion of a number to its own width");
                if soundness.own_width(instruction) == 64 {
                    self.on_gpus.insert("a conversion of a number of 64 bits to its own width");
                }
            }
            ANY | ALL => self.operands.push((word(2), Use::Truth)),
            DOT if self.is(word(0), |number| !number.is_float) => {
                self.on_gpus.insert("OpDot of integers");
            }
            EXT_INST if word(3) == LDEXP && self.is(word(0), |number| number.is_float && number.lanes > 1) => {
                let width = self.numbers.get(&word(0)).map_or(0, |number| number.width);
                self.operands.push((word(5), Use::Exponent(width)));
            }
            CONSTANT if word(2) == WORK_GROUP && instruction.len() == 3 => _ = self.work_group.insert(word(1)),
            EXT_INST if self.lacks_type(word(3), word(0)) => {
                self.found.insert("a function of OpenCL with a type that OpenCL C does not have it for");
            }
            EXT_INST if NATIVE.contains(&word(3)) && self.is(word(0), |number| number.width == 16) => {
                self.on_cpus.insert("a function of native arithmetic of half");
            }
            EXT_INST if FAST.contains(&word(3)) => self.fast(word(0)),
            EXT_INST
                if VECTOR_SHUFFLES.contains(&word(3))
                    && self.is(word(0), |number| number.is_float && number.width == 16) =>
            {
                self.on_cpus.insert("shuffle or shuffle2 of half");
            }
            BROADCAST => self.broadcast(instruction),
            LOGICAL_AND..=LOGICAL_XOR if word(3) != REDUCE && self.work_group.contains(&word(2)) => {
                self.on_cpus.insert("a scan of the truth values of a work-group");
            }
            U_MIN | S_MIN | U_MAX | S_MAX
                if self.is(word(0), |number| number.width < 32) && self.work_group.contains(&word(2)) =>
            {
                self.on_cpus.insert("the least or greatest of a work-group's integers of less than 32 bits");
            }
            NON_UNIFORM_I_ADD..=NON_UNIFORM_LOGICAL_XOR => {
                if self.work_group.contains(&word(2)) {
                    self.on_cpus.insert("arithmetic of a part of a work-group");
                }
                if self.is(word(0), |number| number.lanes > 1) {
                    self.found.insert("arithmetic of a part of a group with vectors");
                }
            }
            NON_UNIFORM_SHUFFLE_UP | NON_UNIFORM_SHUFFLE_DOWN | NON_UNIFORM_ROTATE
                if self.is(word(0), |number| number.lanes > 1) =>
            {
                self.on_cpus.insert("a shuffle or rotation of vectors by a difference");
            }
            NON_UNIFORM_SHUFFLE | NON_UNIFORM_SHUFFLE_XOR if self.is_odd_vector(word(0)) => {
                self.on_cpus.insert("a shuffle of vectors of half or double");
            }
            SHUFFLE..=SHUFFLE_XOR if self.is_odd_vector(word(0)) => {
                self.found.insert("a sub-group shuffle of vectors of half or double");
            }
            ATOMIC_F_ADD if !is_cpp && self.is(word(0), |number| number.width == 16) => {
                self.on_cpus.insert("an atomic addition of half in a module of no C++");
            }
            BLOCK_READ => self.judge(word(0), Use::Block, is_cpp),
            BLOCK_WRITE => self.operands.push((word(1), Use::Block)),
            ATOMIC_STORE => self.operands.push((word(3), Use::Atomic)),
            ATOMIC_LOAD..=ATOMIC_XOR => {
                let exchanges = matches!(instruction.opcode, COMPARE_EXCHANGE | COMPARE_EXCHANGE_WEAK);
                if exchanges && self.is(word(0), |number| number.is_float) {
                    self.on_gpus.insert("a comparing exchange of floats");
                }
                // Loads of double are the one kind that C has too.
                let is_load = instruction.opcode == ATOMIC_LOAD;
                let is_double = self.is(word(0), |number| number.is_float && number.width == 64);
                if !(is_load && is_double) {
                    self.judge(word(0), Use::Atomic, is_cpp);
                }
            }
            _ if self.has_odd => self.odd(instruction),
            _ => {}
        }
    }

    /// Looks at an instruction of a module with vectors of lengths that OpenCL C does not have.
    #[cold]
    fn of_other_length(&mut self, instruction: &Instruction<'_>, opencl: Option<u32>) {
        if !self.is(instruction.word(0), Number::has_other_length) {
            return;
        }
        match instruction.opcode {
            EXT_INST if opencl == Some(instruction.word(2)) => {
                self.found.insert("a function of OpenCL with vectors of a length that OpenCL C does not have");
            }
            FIRST_CONVERSION..=FLOAT_TO_FLOAT => {
                self.on_cpus.insert("a conversion of vectors of a length that OpenCL C does not have");
            }
            _ => {}
        }
    }

    /// Looks at an instruction of a module with integers of other widths.
    #[cold]
    fn odd(&mut self, instruction: &Instruction<'_>) {
        let opcode = instruction.opcode;
        match opcode {
            U_TO_FLOAT | S_TO_FLOAT => self.operands.push((instruction.word(2), Use::ToFloat)),
            SWITCH => self.operands.push((instruction.word(0), Use::Selector)),
            FUNCTION | FUNCTION_PARAMETER if self.is_int128(instruction.word(0)) => _ = self.on_gpus.insert(INT128),
            TYPE_ARRAY if self.is_int128(instruction.word(1)) => _ = self.on_gpus.insert(INT128),
            _ => {}
        }
        let Some(number) = self.numbers.get(&instruction.word(0)).filter(|number| number.is_odd()) else { return };
        let has_result = grammar::shapes().shape(opcode).result == 1;
        let is_taken = || OF_ANY_WIDTH.iter().any(|taken| *taken as u16 == opcode);
        if has_result && number.width != 128 && (number.width > 64 || !is_taken()) {
            self.on_gpus.insert(ODD);
        }
    }

    /// Whether OpenCL C lacks a function with such a result.
    fn lacks_type(&self, function: u32, result: u32) -> bool {
        self.is(result, |number| match function {
            CROSS => !matches!(number.lanes, 3 | 4),
            NORMALIZE | FAST_NORMALIZE => number.lanes > 4,
            _ if HALF.contains(&function) => number.width != 32,
            _ => OF_32.contains(&function) && number.width != 32,
        })
    }

    /// Whether a type is an integer of 128 bits.
    fn is_int128(&self, kind: u32) -> bool {
        self.is(kind, |number| !number.is_float && number.width == 128)
    }

    /// Whether a type is one of numbers that are so.
    fn is(&self, kind: u32, so: impl Fn(&Number) -> bool) -> bool {
        self.numbers.get(&kind).is_some_and(so)
    }

    /// Whether a type is a vector of floats of another width than 32 bits.
    fn is_odd_vector(&self, kind: u32) -> bool {
        self.is(kind, |number| number.is_float && number.width != 32 && number.lanes > 1)
    }

    /// Looks at a use of an instruction of the FAST ones.
    fn fast(&mut self, kind: u32) {
        if self.is(kind, |number| number.is_float && number.width != 32) {
            self.found.insert("fast_length, fast_distance or fast_normalize of half or double");
        }
    }

    fn broadcast(&mut self, instruction: &Instruction<'_>) {
        let [kind, _, scope, _, index] = [0, 1, 2, 3, 4].map(|at| instruction.word(at));
        let of = if self.work_group.contains(&scope) { Use::OfWorkGroup } else { Use::OfSubGroup };
        self.operands.push((index, of));
        let is_odd = self.is(kind, |number| number.lanes > 1 || number.is_float && number.width == 16);
        if is_odd && matches!(of, Use::OfWorkGroup) {
            self.on_cpus.insert("a broadcast of half or of vectors to a work-group");
        }
    }

    /// Looks at the type that decides a use.
    fn judge(&mut self, kind: u32, used: Use, is_cpp: bool) {
        let Some(number) = self.numbers.get(&kind).copied() else { return };
        let Number { is_float, width, lanes, .. } = number;
        match used {
            Use::ToFloat if number.is_odd() && width != 128 => _ = self.on_gpus.insert(ODD),
            // Not of truth values, as it has to be. Intel's compiler for GPUs ends at such vectors, or takes them, by chance.
            Use::Truth => {
                self.on_gpus.insert("OpAny or OpAll of integers");
                if lanes == 1 {
                    self.on_cpus.insert("OpAny or OpAll of one integer");
                }
            }
            Use::Exponent(of) if lanes == 1 => {
                self.on_gpus.insert("ldexp of a vector by one number");
                if of == 16 {
                    self.on_cpus.insert("ldexp of a vector of half by one number");
                }
            }
            Use::Selector if number.is_odd() => _ = self.on_gpus.insert(ODD),
            Use::Block if is_float => _ = self.found.insert("a block of floats that a sub-group reads or writes"),
            Use::Block if lanes == 3 || lanes == 16 && width > 16 => {
                self.found.insert("a block of such vectors that a sub-group reads or writes");
            }
            Use::Block if lanes == 16 && width == 16 => {
                self.on_cpus.insert("a block of sixteen integers of 16 bits that a sub-group reads or writes");
            }
            Use::Atomic if !is_float && width == 8 => _ = self.found.insert("an atomic instruction on 8 bits"),
            Use::Atomic if !is_float && width == 16 => _ = self.on_cpus.insert("an atomic instruction on 16 bits"),
            Use::Atomic if is_float && width != 32 && !is_cpp => {
                self.on_cpus.insert("an atomic store or exchange of half or double in a module of no C++");
            }
            Use::OfWorkGroup if width != 64 => {
                self.on_cpus.insert("a broadcast to a work-group by an index of less than 64 bits");
            }
            Use::OfSubGroup if width != 32 => {
                self.on_cpus.insert("a broadcast to a sub-group by an index of other than 32 bits");
            }
            _ => {}
        }
    }

    /// Returns the vectors of numbers that clang 22 makes of the result of a comparison to ask for their truth: Intel's compiler for
    /// GPUs takes them as what they are.
    fn compared(&self, words: Words<'_>, values: &HashMap<u32, Instruction<'_>>) -> HashSet<u32> {
        let truths = self.operands.iter().filter(|(_, used)| matches!(used, Use::Truth));
        let is_vector = |value: &&Instruction<'_>| self.is(value.word(0), |number| number.lanes > 1);
        let selects = truths.filter_map(|(id, _)| values.get(id)).filter(|value| value.opcode == SELECT);
        let selects: Vec<&Instruction<'_>> = selects.filter(is_vector).collect();
        if selects.is_empty() {
            return HashSet::new();
        }
        let asked = selects.iter().flat_map(|select| (2..5).map(|at| select.word(at))).collect();
        let chosen = definitions(words, &asked);
        let is_constant =
            |id: u32| chosen.get(&id).is_some_and(|value| matches!(value.opcode, CONSTANT_NULL | CONSTANT_COMPOSITE));
        let is_truth = |id: u32| chosen.get(&id).is_some_and(|value| self.truths.contains(&value.word(0)));
        let is_compared = |select: &&&Instruction<'_>| {
            is_truth(select.word(2)) && is_constant(select.word(3)) && is_constant(select.word(4))
        };
        selects.iter().filter(is_compared).map(|select| select.word(1)).collect()
    }

    /// Returns the types of pointers, with the storage class and the type of what is there.
    pub(super) fn pointers(&self) -> &HashMap<u32, (u32, u32)> {
        &self.pointers
    }

    /// Returns the types of numbers and of their vectors.
    pub(super) fn numbers(&self) -> &HashMap<u32, Number> {
        &self.numbers
    }

    /// Adds the values whose types decide.
    pub(super) fn ask(&self, asked: &mut HashSet<u32>) {
        asked.extend(self.operands.iter().map(|(id, _)| *id));
    }

    /// Returns what no driver has a function for, what those for CPUs have none for, and those for Intel's GPUs. `values` are those
    /// that were asked for.
    pub(super) fn finish(
        mut self,
        words: Words<'_>,
        values: &HashMap<u32, Instruction<'_>>,
        is_cpp: bool,
    ) -> [BTreeSet<&'static str>; 3] {
        let compared = self.compared(words, values);
        for (id, used) in std::mem::take(&mut self.operands) {
            if let Some(value) = values.get(&id)
                && !(matches!(used, Use::Truth) && compared.contains(&id))
            {
                self.judge(value.word(0), used, is_cpp);
            }
        }
        [self.found, self.on_cpus, self.on_gpus]
    }
}

/// Returns the instructions that give these values, whose first word is the type.
pub(super) fn definitions<'m>(words: Words<'m>, values: &HashSet<u32>) -> HashMap<u32, Instruction<'m>> {
    if values.is_empty() {
        return HashMap::new();
    }
    let shapes = grammar::shapes();
    let typed = words.instructions().flatten().filter(|one| shapes.shape(one.opcode).result == 1);
    typed.map(|one| (one.word(1), one)).filter(|(id, _)| values.contains(id)).collect()
}
