//! Are the declarations of a module made of what they have to be made of?
//!
//! Intel's OpenCL CPU driver ends at constants made of types, arrays as long as a type, functions of another result than their type
//! says, and the like: it takes each operand for what it has to be. What is of the wrong type within a function, `spirv-val` tells.

use super::grammar;
use super::op::*;
use super::sizes::Sizes;
use super::sound::IdSet;
use super::words::Instruction;
use rspirv::spirv::{Capability, Op};
use std::collections::{HashMap, HashSet};
use std::ops::{Range, RangeInclusive};

/// Operations on constants that the specification allows (`OpSpecConstantOp`), those of kernels among them.
#[rustfmt::skip]
const OPERATIONS: [Op; 62] = [
    Op::AccessChain, Op::InBoundsAccessChain, Op::PtrAccessChain, Op::InBoundsPtrAccessChain, Op::UntypedAccessChainKHR,
    Op::UntypedInBoundsAccessChainKHR, Op::UntypedPtrAccessChainKHR, Op::UntypedInBoundsPtrAccessChainKHR,
    Op::VectorShuffle, Op::CompositeExtract, Op::CompositeInsert, Op::ConvertFToU, Op::ConvertFToS, Op::ConvertSToF,
    Op::ConvertUToF, Op::UConvert, Op::SConvert, Op::FConvert, Op::QuantizeToF16, Op::ConvertPtrToU, Op::ConvertUToPtr,
    Op::PtrCastToGeneric, Op::GenericCastToPtr, Op::Bitcast, Op::SNegate, Op::IAdd, Op::FAdd, Op::ISub,
    Op::FSub, Op::IMul, Op::FMul, Op::UDiv, Op::SDiv, Op::FDiv, Op::UMod, Op::SRem, Op::SMod, Op::FRem,
    Op::LogicalEqual, Op::LogicalNotEqual, Op::LogicalOr, Op::LogicalAnd, Op::LogicalNot, Op::Select, Op::IEqual,
    Op::INotEqual, Op::UGreaterThan, Op::SGreaterThan, Op::UGreaterThanEqual, Op::SGreaterThanEqual, Op::ULessThan,
    Op::SLessThan, Op::ULessThanEqual, Op::SLessThanEqual, Op::ShiftRightLogical, Op::ShiftRightArithmetic,
    Op::ShiftLeftLogical, Op::BitwiseOr, Op::BitwiseXor, Op::BitwiseAnd, Op::Not, Op::CooperativeMatrixLengthKHR,
];
/// Operations on floats: results and operands have one type.
const ON_FLOATS: [Op; 5] = [Op::FAdd, Op::FSub, Op::FMul, Op::FDiv, Op::FRem];
/// Operations on integers, which have one type too.
#[rustfmt::skip]
const ON_INTEGERS: [Op; 16] = [
    Op::SNegate, Op::IAdd, Op::ISub, Op::IMul, Op::UDiv, Op::SDiv, Op::UMod, Op::SRem, Op::SMod, Op::ShiftRightLogical,
    Op::ShiftRightArithmetic, Op::ShiftLeftLogical, Op::BitwiseOr, Op::BitwiseXor, Op::BitwiseAnd, Op::Not,
];
/// `OpLogicalEqual` to `OpLogicalNot`, on truth values.
const LOGICAL: RangeInclusive<u32> = Op::LogicalEqual as u32..=Op::LogicalNot as u32;
/// `OpIEqual` to `OpSLessThanEqual`, on two integers.
const COMPARISONS: RangeInclusive<u32> = Op::IEqual as u32..=Op::SLessThanEqual as u32;
const SELECT: u32 = Op::Select as u32;
const U_CONVERT: u32 = Op::UConvert as u32;
const S_CONVERT: u32 = Op::SConvert as u32;
const F_CONVERT: u32 = Op::FConvert as u32;
const SHUFFLE: u32 = Op::VectorShuffle as u32;
const EXTRACT: u32 = Op::CompositeExtract as u32;
const INSERT: u32 = Op::CompositeInsert as u32;
/// With it composites go on in further instructions.
const LONG: u32 = Capability::LongCompositesINTEL as u32;
/// With it vectors are made of pointers, too.
const GATHER: u32 = Capability::MaskedGatherScatterINTEL as u32;

/// Kind of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Void,
    Bool,
    /// An integer or a float of so many bits.
    Integer(u32),
    Float(u32),
    Pointer,
    Vector(u32),
    /// An array or a structure of so many parts.
    Parts(u32),
    Function,
}

/// Type of functions.
#[derive(Debug)]
struct Signature {
    result: u32,
    /// Places of the types of its parameters in [`Declared::parameters`].
    parameters: Range<usize>,
}

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Declared<'m> {
    kinds: HashMap<u32, Kind>,
    signatures: HashMap<u32, Signature>,
    parameters: Vec<u32>,
    /// Parameters that the open function has yet to declare.
    left: Range<usize>,
    /// Constants, and variables before all functions.
    values: IdSet,
    /// Constants that are one integer.
    integers: IdSet,
    /// Ids that execution modes are of.
    modes: Vec<u32>,
    /// Operations on constants, whose operands' types decide.
    operations: Vec<Instruction<'m>>,
    has_gather: bool,
    has_long: bool,
    wrong: usize,
}

impl<'m> Declared<'m> {
    /// Begins a walk over a module that has so many ids at most.
    pub(super) fn new(ids: usize) -> Declared<'m> {
        let [values, integers] = [(); 2].map(|()| IdSet::new(ids));
        Declared { values, integers, ..Declared::default() }
    }

    /// Whether an id is a constant of an integer.
    pub(super) fn is_integer(&self, id: u32) -> bool {
        self.integers.contains(id)
    }

    /// Looks at an instruction; `in_function` tells whether it stands in a function, and `memory` has the values of constants.
    #[inline]
    pub(super) fn visit(
        &mut self,
        instruction: &Instruction<'m>,
        shapes: &grammar::Shapes,
        in_function: bool,
        memory: &Sizes,
    ) {
        let word = |at: usize| instruction.word(at);
        let is_right = match instruction.opcode {
            VARIABLE => {
                // Compilers of explicit SIMD write pointers to memory of another kind.
                self.kind(word(0)) == Some(Kind::Pointer)
                    && (in_function || instruction.len() < 4 || self.values.contains(word(3)))
            }
            FUNCTION => match self.signatures.get(&word(3)) {
                Some(signature) => {
                    self.left = signature.parameters.clone();
                    signature.result == word(0)
                }
                None => false,
            },
            // Another rule tells how many there are.
            FUNCTION_PARAMETER => {
                let next = self.left.next().and_then(|at| self.parameters.get(at));
                next.is_none_or(|next| *next == word(0))
            }
            _ if in_function => return,
            _ => self.declare(instruction, memory),
        };
        self.wrong = self.wrong.saturating_add(usize::from(!is_right));
        let is_value = !matches!(instruction.opcode, FUNCTION | FUNCTION_PARAMETER | EXT_INST);
        if is_value && !in_function && shapes.shape(instruction.opcode).result == 1 {
            self.values.add(word(1));
            let is_constant = !matches!(instruction.opcode, UNDEF | VARIABLE);
            if is_constant && matches!(self.kind(word(0)), Some(Kind::Integer(_))) {
                self.integers.add(word(1));
            }
        }
    }

    /// Whether a declaration before all functions is made of what it has to be.
    fn declare(&mut self, instruction: &Instruction<'m>, memory: &Sizes) -> bool {
        let word = |at: usize| instruction.word(at);
        let from = |first: usize| instruction.words().skip(first);
        let kind = match instruction.opcode {
            CAPABILITY => {
                self.has_gather |= word(0) == GATHER;
                self.has_long |= word(0) == LONG;
                return true;
            }
            EXECUTION_MODE | EXECUTION_MODE_ID => {
                self.modes.push(word(0));
                return true;
            }
            TYPE_VOID => Kind::Void,
            TYPE_BOOL => Kind::Bool,
            TYPE_INT => Kind::Integer(word(1)),
            TYPE_FLOAT => Kind::Float(word(1)),
            TYPE_POINTER if word(2) == word(0) => return false,
            TYPE_POINTER | TYPE_UNTYPED_POINTER => Kind::Pointer,
            TYPE_VECTOR => {
                self.kinds.insert(word(0), Kind::Vector(word(2)));
                return match self.kind(word(1)) {
                    Some(Kind::Bool | Kind::Integer(_) | Kind::Float(_)) => true,
                    Some(Kind::Pointer) => self.has_gather,
                    _ => false,
                };
            }
            TYPE_ARRAY => {
                if let Some(length) = memory.constant(word(2)) {
                    self.kinds.insert(word(0), Kind::Parts(length));
                }
                return self.is_held(word(1)) && self.integers.contains(word(2));
            }
            TYPE_RUNTIME_ARRAY => return self.is_held(word(1)),
            TYPE_STRUCT => {
                let members = instruction.len().saturating_sub(1);
                self.kinds.insert(word(0), Kind::Parts(u32::try_from(members).unwrap_or(u32::MAX)));
                return from(1).all(|member| member != word(0) && self.is_held(member));
            }
            TYPE_FUNCTION => {
                let begin = self.parameters.len();
                self.parameters.extend(from(2));
                let parameters = begin..self.parameters.len();
                self.signatures.insert(word(0), Signature { result: word(1), parameters });
                self.kinds.insert(word(0), Kind::Function);
                return self.kind(word(1)) != Some(Kind::Function) && from(2).all(|one| self.is_held(one));
            }
            CONSTANT_TRUE | CONSTANT_FALSE | SPEC_CONSTANT_TRUE | SPEC_CONSTANT_FALSE => {
                return self.kind(word(0)) == Some(Kind::Bool);
            }
            CONSTANT | SPEC_CONSTANT => {
                let (Some(Kind::Integer(width)) | Some(Kind::Float(width))) = self.kind(word(0)) else { return false };
                return instruction.len().checked_sub(2) == usize::try_from(width.div_ceil(32)).ok();
            }
            CONSTANT_NULL => return self.is_held(word(0)),
            CONSTANT_COMPOSITE | SPEC_CONSTANT_COMPOSITE => {
                let has_parts = match self.kind(word(0)) {
                    Some(Kind::Vector(parts) | Kind::Parts(parts)) => {
                        self.has_long || instruction.len().checked_sub(2) == usize::try_from(parts).ok()
                    }
                    kind => kind.is_none(),
                };
                return has_parts && from(2).all(|part| self.values.contains(part));
            }
            CONSTANT_COMPOSITE_CONTINUED | SPEC_CONSTANT_COMPOSITE_CONTINUED => {
                return from(0).all(|part| self.values.contains(part));
            }
            SPEC_CONSTANT_OP => {
                self.operations.push(*instruction);
                return self.is_held(word(0)) && self.is_operation(instruction);
            }
            _ => return true,
        };
        self.kinds.insert(word(0), kind);
        true
    }

    /// Whether an operation is one that constants may have, and is on such.
    fn is_operation(&self, instruction: &Instruction<'_>) -> bool {
        let operation = instruction.word(2);
        let operands = match operation {
            EXTRACT => 1,
            SHUFFLE | INSERT => 2,
            _ => usize::MAX,
        };
        let is_known = OPERATIONS.iter().any(|known| *known as u32 == operation);
        is_known && instruction.words().skip(3).take(operands).all(|operand| self.values.contains(operand))
    }

    fn kind(&self, id: u32) -> Option<Kind> {
        self.kinds.get(&id).copied()
    }

    /// Whether values of a type may be parts of others, and parameters.
    fn is_held(&self, kind: u32) -> bool {
        !matches!(self.kind(kind), Some(Kind::Void | Kind::Function))
    }

    /// Adds the values whose types decide.
    pub(super) fn ask(&self, asked: &mut HashSet<u32>) {
        asked.extend(self.operations.iter().flat_map(|one| one.words().skip(3)));
    }

    /// Whether the operands of an operation have the types that it takes.
    fn has_types(&self, operation: &Instruction<'_>, values: &HashMap<u32, Instruction<'_>>) -> bool {
        let kind_of = |at: usize| values.get(&operation.word(at)).map(|value| value.word(0));
        let is = |kind: Option<u32>, so: fn(Kind) -> bool| {
            // Of a vector its elements are not known here.
            kind.and_then(|kind| self.kind(kind)).is_some_and(|kind| so(kind) || matches!(kind, Kind::Vector(_)))
        };
        let result = Some(operation.word(0));
        let all_are = |wanted: Option<u32>| (3..operation.len()).all(|at| kind_of(at) == wanted);
        let is_integer = |kind| is(kind, |kind| matches!(kind, Kind::Integer(_)));
        let is_float = |kind| is(kind, |kind| matches!(kind, Kind::Float(_)));
        let is_truth = |kind| is(kind, |kind| kind == Kind::Bool);
        let is_one_of = |known: &[Op]| known.iter().any(|known| *known as u32 == operation.word(2));
        match operation.word(2) {
            _ if is_one_of(&ON_INTEGERS) => is_integer(result) && all_are(result),
            _ if is_one_of(&ON_FLOATS) => is_float(result) && all_are(result),
            code if LOGICAL.contains(&code) => is_truth(result) && all_are(result),
            code if COMPARISONS.contains(&code) => is_truth(result) && is_integer(kind_of(3)) && all_are(kind_of(3)),
            SELECT => is_truth(kind_of(3)) && kind_of(4) == result && kind_of(5) == result,
            U_CONVERT | S_CONVERT => is_integer(result) && is_integer(kind_of(3)),
            F_CONVERT => is_float(result) && is_float(kind_of(3)),
            _ => true,
        }
    }

    /// Returns what is wrong; `is_function` tells what is a function, and `values` are those that were asked for.
    pub(super) fn fault(
        &self,
        values: &HashMap<u32, Instruction<'_>>,
        is_function: impl Fn(u32) -> bool,
    ) -> Option<String> {
        let modes = self.modes.iter().filter(|of| !is_function(**of)).count();
        let operations = self.operations.iter().filter(|one| !self.has_types(one, values)).count();
        let wrong = self.wrong.saturating_add(modes).saturating_add(operations);
        (wrong > 0).then(|| format!("the module has declarations ({wrong}) of what they cannot be made of"))
    }
}
