//! How does a module look once its specialization constants have values?
//!
//! `OpSpecConstant`, `OpSpecConstantTrue` and `OpSpecConstantFalse` with a `SpecId` become plain constants, and so do
//! composites whose parts are all such constants (SPIR-V specification, 2.12 "Specialization"). `OpSpecConstantOp`
//! stays: with constant operands it is a constant itself, and the compiler folds it.

use super::index::Index;
use super::op;
use super::types::{self, Type};
use crate::error::{Error, Result};
use rspirv::spirv::Decoration;
use std::collections::{BTreeMap, HashMap, HashSet};

const SPEC_ID: u32 = Decoration::SpecId as u32;

/// The type of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// True or false.
    Bool,
    /// Integer of this many bits.
    Int(u32),
    /// IEEE floating-point number of this many bits.
    Float(u32),
    /// Number of this many bits in another encoding (bfloat16), handled as bits.
    Bits(u32),
}

impl Scalar {
    /// Returns the width in bits; a Boolean has one.
    pub(crate) fn width(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int(width) | Scalar::Float(width) | Scalar::Bits(width) => width,
        }
    }
}

/// Specialization constant that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SettableConstant {
    /// `SpecId` of the constant.
    pub(crate) id: u32,
    /// Type of the constant.
    pub(crate) scalar: Scalar,
    /// Bits of the default.
    pub(crate) default: u64,
}

/// Returns every constant of a module that can be set, in order of the ids; of several with one `SpecId` the first.
pub(crate) fn settable_constants(index: &Index<'_>) -> Vec<SettableConstant> {
    let mut all = with_spec_ids(index);
    all.dedup_by_key(|one| one.id);
    all
}

/// Returns the scalar constants of a module that have a `SpecId`, in order of these.
fn with_spec_ids(index: &Index<'_>) -> Vec<SettableConstant> {
    let mut all: Vec<SettableConstant> = (0..index.len())
        .filter_map(|number| {
            let instruction = index.instruction(number)?;
            let constant =
                matches!(instruction.opcode, op::SPEC_CONSTANT | op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE);
            let result = constant.then(|| index.result(&instruction)).flatten()?;
            let id = index.decoration(result, SPEC_ID)?;
            let scalar = match types::resolve(index, index.type_of(result)?)? {
                Type::Bool => Scalar::Bool,
                Type::Int { width, .. } => Scalar::Int(width),
                Type::Float { width, encoding: None } => Scalar::Float(width),
                Type::Float { width, .. } => Scalar::Bits(width),
                _ => return None,
            };
            Some(SettableConstant { id, scalar, default: types::constant_bits(index, result)? })
        })
        .collect();
    all.sort_by_key(|one| one.id);
    all
}

/// Returns the module in which the constants with these `SpecId`s have these values (as bits); other constants stay
/// settable. The output is little-endian whatever the module was.
///
/// # Errors
/// `Input` where a decoration group gives one `SpecId` to several ids, or constants of one `SpecId` differ: each would have
/// its own default.
pub(crate) fn specialize(index: &Index<'_>, values: &BTreeMap<u32, u64>) -> Result<Vec<u8>> {
    let words = index.words();
    let set = |id: u32| index.decoration(id, SPEC_ID).and_then(|spec_id| values.get(&spec_id).copied());
    let groups = groups(index, values)?;
    for pair in with_spec_ids(index).windows(2) {
        if let [one, other] = pair
            && one.id == other.id
            && one != other
            && values.contains_key(&one.id)
        {
            return Err(Error::input(format!("constants of different types or defaults have the SpecId {}", one.id)));
        }
    }
    let mut out: Vec<u8> = Vec::with_capacity(words.len().saturating_mul(4));
    let mut put = |word: u32| out.extend_from_slice(&word.to_le_bytes());
    put(super::MAGIC);
    (1..5).for_each(|at| put(words.header(at)));
    // Constants that depend on a constant without a value, or on an operation that the compiler folds.
    let mut variable: HashSet<u32> = HashSet::new();
    let mut fixed: HashSet<u32> = HashSet::new();
    let mut continues = None;
    for number in 0..index.len() {
        let Some(instruction) = index.instruction(number) else { continue };
        let result = index.result(&instruction).unwrap_or(0);
        let mut opcode = instruction.opcode;
        let mut literals: Option<[u32; 2]> = None;
        match opcode {
            op::DECORATE if instruction.word(1) == SPEC_ID => {
                let target = instruction.word(0);
                if groups.contains(&target) || set(target).is_some() {
                    continue;
                }
            }
            op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT => match set(result) {
                Some(bits) => {
                    fixed.insert(result);
                    opcode = match opcode {
                        op::SPEC_CONSTANT => op::CONSTANT,
                        _ if bits != 0 => op::CONSTANT_TRUE,
                        _ => op::CONSTANT_FALSE,
                    };
                    literals = Some(self::literals(index, instruction.word(0), bits));
                }
                None => {
                    variable.insert(result);
                }
            },
            op::SPEC_CONSTANT_OP => {
                variable.insert(result);
            }
            op::SPEC_CONSTANT_COMPOSITE => {
                let parts = types::constant_parts(index, result).unwrap_or_default();
                let becomes =
                    parts.iter().any(|part| fixed.contains(part)) && !parts.iter().any(|part| variable.contains(part));
                if becomes {
                    fixed.insert(result);
                    opcode = op::CONSTANT_COMPOSITE;
                } else {
                    variable.insert(result);
                }
                continues = Some(becomes);
            }
            op::SPEC_CONSTANT_COMPOSITE_CONTINUED if continues == Some(true) => {
                opcode = op::CONSTANT_COMPOSITE_CONTINUED
            }
            _ => {}
        }
        let length = u32::try_from(instruction.len()).unwrap_or(u32::MAX).saturating_add(1);
        put(length << 16 | u32::from(opcode));
        for at in 0..instruction.len() {
            let literal = at.checked_sub(2).filter(|_| opcode == op::CONSTANT);
            let literal = literals.zip(literal).and_then(|(words, place)| words.get(place).copied());
            put(literal.unwrap_or_else(|| instruction.word(at)));
        }
    }
    Ok(out)
}

/// Returns the words of a literal of a type. An integer narrower than a word is sign-extended where its type is signed.
fn literals(index: &Index<'_>, of: u32, bits: u64) -> [u32; 2] {
    let bits = match types::resolve(index, of) {
        Some(Type::Int { width: width @ 1..=31, signed }) => {
            let unused = 64u32.saturating_sub(width);
            let extended = (bits << unused).cast_signed() >> unused;
            if signed { extended.cast_unsigned() } else { (bits << unused) >> unused }
        }
        _ => bits,
    };
    [(bits & u64::from(u32::MAX)) as u32, (bits >> 32) as u32]
}

/// Returns the decoration groups that give a `SpecId` which gets a value.
fn groups(index: &Index<'_>, values: &BTreeMap<u32, u64>) -> Result<HashSet<u32>> {
    let mut given: HashMap<u32, u32> = HashMap::new();
    let mut found = HashSet::new();
    for number in 0..index.len() {
        let Some(instruction) = index.instruction(number) else { continue };
        match instruction.opcode {
            op::DECORATE if instruction.word(1) == SPEC_ID => {
                given.insert(instruction.word(0), instruction.word(2));
            }
            op::GROUP_DECORATE => {
                let Some(spec_id) = given.get(&instruction.word(0)).filter(|id| values.contains_key(id)) else {
                    continue;
                };
                if instruction.len() > 2 {
                    let message = format!("several constants have the SpecId {spec_id}");
                    return Err(Error::at(instruction.offset, message));
                }
                found.insert(instruction.word(0));
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rspirv::binary::Disassemble as _;
    use std::collections::BTreeMap;

    /// A module of one constant of each kind, as words.
    fn module() -> Vec<u8> {
        let mut words = vec![super::super::MAGIC, 0x0001_0400, 0, 20, 0];
        let mut put = |opcode: u16, operands: &[u32]| {
            words.push((operands.len() as u32 + 1) << 16 | u32::from(opcode));
            words.extend_from_slice(operands);
        };
        for (target, id) in [(10, 0), (11, 1), (12, 2), (13, 3), (14, 4)] {
            put(op::DECORATE, &[target, SPEC_ID, id]);
        }
        put(op::TYPE_BOOL, &[1]);
        put(op::TYPE_INT, &[2, 16, 1]);
        put(op::TYPE_INT, &[3, 64, 0]);
        put(op::TYPE_FLOAT, &[4, 32]);
        put(op::TYPE_INT, &[5, 32, 0]);
        put(op::TYPE_STRUCT, &[6, 4, 5]);
        put(op::SPEC_CONSTANT_FALSE, &[1, 10]);
        put(op::SPEC_CONSTANT, &[2, 11, 7]);
        put(op::SPEC_CONSTANT, &[3, 12, 1, 2]);
        put(op::SPEC_CONSTANT, &[4, 13, 1.5f32.to_bits()]);
        put(op::SPEC_CONSTANT, &[5, 14, 9]);
        put(op::SPEC_CONSTANT_COMPOSITE, &[6, 15, 13, 14]);
        put(op::SPEC_CONSTANT_OP, &[5, 16, 128, 14, 14]);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn specialized(module: &[u8], values: &BTreeMap<u32, u64>) -> Result<Vec<u8>> {
        specialize(&Index::read(module)?, values)
    }

    fn text(module: &[u8]) -> Vec<String> {
        let text = rspirv::dr::load_bytes(module).unwrap().disassemble();
        text.lines().filter(|line| line.contains("Constant") || line.contains("Decorate")).map(str::to_owned).collect()
    }

    #[test]
    fn constants_are_listed_with_their_defaults() {
        let module = module();
        let index = Index::read(&module).unwrap();
        let all: Vec<(u32, Scalar, u64)> =
            settable_constants(&index).iter().map(|one| (one.id, one.scalar, one.default)).collect();
        let float = u64::from(1.5f32.to_bits());
        let expected = [
            (0, Scalar::Bool, 0),
            (1, Scalar::Int(16), 7),
            (2, Scalar::Int(64), 1 | 2 << 32),
            (3, Scalar::Float(32), float),
            (4, Scalar::Int(32), 9),
        ];
        assert_eq!(all, expected);
    }

    /// Drivers take the default of each.
    #[test]
    fn constants_of_one_number_that_differ_get_no_value() {
        let renumbered = |from: u32, to: u32| {
            let mut module = module();
            let decorated = [from + 10, SPEC_ID, from].map(u32::to_le_bytes).concat();
            let at = module.windows(12).position(|words| words == decorated).unwrap();
            module[at + 8..at + 12].copy_from_slice(&to.to_le_bytes());
            module
        };
        for (from, to) in [(1, 2), (4, 3), (0, 4)] {
            let values = BTreeMap::from([(to, 9)]);
            let error = specialized(&renumbered(from, to), &values).unwrap_err();
            assert_eq!(error.message(), format!("constants of different types or defaults have the SpecId {to}"));
            // A constant that gets no value stays as it is.
            assert!(specialized(&renumbered(from, to), &BTreeMap::from([(20, 9)])).is_ok());
        }
    }

    #[test]
    fn a_value_ends_a_constants_openness() {
        let values = BTreeMap::from([(0, 1), (1, 0xffff), (2, 5 << 32), (3, u64::from(2.5f32.to_bits())), (4, 1)]);
        let done = specialized(&module(), &values).unwrap();
        let expected = [
            "%10 = OpConstantTrue  %1",
            "%11 = OpConstant  %2  -1",
            "%12 = OpConstant  %3  21474836480",
            "%13 = OpConstant  %4  2.5",
            "%14 = OpConstant  %5  1",
            "%15 = OpConstantComposite  %6  %13 %14",
            "%16 = OpSpecConstantOp  %5  IAdd %14 %14",
        ];
        assert_eq!(text(&done), expected);
        // Nothing is left to be set, and setting nothing changes nothing.
        assert!(settable_constants(&Index::read(&done).unwrap()).is_empty());
        assert_eq!(specialized(&module(), &BTreeMap::new()).unwrap(), module());
    }

    #[test]
    fn what_has_no_value_stays_open() {
        let done = specialized(&module(), &BTreeMap::from([(3, 0)])).unwrap();
        let ids: Vec<u32> = settable_constants(&Index::read(&done).unwrap()).iter().map(|one| one.id).collect();
        assert_eq!(ids, [0, 1, 2, 4]);
        // A composite of which one part is open is open itself.
        assert!(text(&done).contains(&"%15 = OpSpecConstantComposite  %6  %13 %14".to_owned()));
    }

    #[test]
    fn one_id_of_several_constants_is_refused() {
        let mut words: Vec<u8> =
            [super::super::MAGIC, 0x0001_0400, 0, 20, 0].into_iter().flat_map(u32::to_le_bytes).collect();
        let group: [u32; 10] = [4 << 16 | 71, 1, SPEC_ID, 7, 2 << 16 | 73, 1, 4 << 16 | 74, 1, 2, 3];
        words.extend(group.into_iter().flat_map(u32::to_le_bytes));
        assert!(specialized(&words, &BTreeMap::from([(7, 0)])).is_err());
        assert!(specialized(&words, &BTreeMap::from([(8, 0)])).is_ok());
    }
}
