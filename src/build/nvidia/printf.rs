//! How does a kernel print?
//!
//! CUDA's driver prints what `vprintf` is given: a format and the place of the values, one after the other as in a structure,
//! each as C promotes it. SPIR-V has one instruction with the values as operands, for which llvm-spirv calls functions that
//! are named by types and by its version. So the instruction becomes a structure, and a call of the built-ins' own function.

use super::lower::{BITCAST, Writer, begins_annotations, text};
use crate::error::{Error, Result};
use crate::limits;
use crate::spirv::grammar::Set;
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::types::{self, Type};
use crate::spirv::words::{Instruction, NewIds};
use rspirv::spirv::{Decoration, FunctionControl, LinkageType, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Function of the built-ins that prints: of the format and of the values, both by generic pointers.
const PRINT: &str = "__sycl_bundle_print";
/// Number of `printf` in `OpenCL.std`.
const PRINTF: u32 = 184;
const EXT_INST: u16 = Op::ExtInst as u16;
const LABEL: u16 = Op::Label as u16;
const FUNCTION: u32 = StorageClass::Function as u32;
const GENERIC: u32 = StorageClass::Generic as u32;
/// Operands of the instruction before the values: its type, its result, the set, its number, the format.
const BEFORE_VALUES: usize = 5;

/// Returns a module that prints by a call, or none where it does not print, or prints vectors.
///
/// # Errors
/// `Input` where the module is damaged or has no more ids.
pub fn print(il: &[u8]) -> Result<Option<Vec<u8>>> {
    let index = Index::read(il)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let sets = index.instructions(0..index.len()).filter(|(_, it)| it.opcode == op::EXT_INST_IMPORT);
    let set = sets.filter(|(_, it)| Set::from_name(&it.string(1).0) == Set::OpenClStd).map(|(_, it)| it.word(0)).next();
    let Some(set) = set else { return Ok(None) };
    let is_print = |it: &Instruction<'_>| it.opcode == EXT_INST && it.word(2) == set && it.word(3) == PRINTF;
    let mut ids = NewIds(index.bound);
    let (mut calls, mut formats) = (BTreeMap::new(), Formats::default());
    for (at, instruction) in index.instructions(0..index.len()).filter(|(_, it)| is_print(it)) {
        let Some(call) = Call::read(&index, &instruction, &mut formats, &mut ids)? else { return Ok(None) };
        calls.insert(at, call);
    }
    if calls.is_empty() { Ok(None) } else { rewrite(&index, &calls, ids).map(Some) }
}

/// Passing of a value in C.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promoted {
    /// Without a change: the value's type.
    Same(u32),
    /// Conversion to `double`.
    Double,
    /// Conversion to a 32-bit integer, with a sign or without: modules do not tell, but the format does.
    Word {
        /// Whether the value has a sign.
        signed: bool,
    },
}

/// Instruction that prints.
struct Call {
    format: u32,
    /// Storage class of the format.
    class: u32,
    values: Vec<(u32, Promoted)>,
    structure: u32,
    pointer: u32,
    variable: u32,
}

impl Call {
    /// Returns none where a value is of a type that C does not pass so.
    ///
    /// # Errors
    /// `Input` where the format is no pointer, or the module has no more ids.
    fn read(
        index: &Index<'_>,
        instruction: &Instruction<'_>,
        formats: &mut Formats,
        ids: &mut NewIds,
    ) -> Result<Option<Call>> {
        let format = instruction.word(BEFORE_VALUES.saturating_sub(1));
        let mut values = Vec::new();
        for (nth, at) in (BEFORE_VALUES..instruction.len()).enumerate() {
            let value = instruction.word(at);
            let Some(of) = index.type_of(value) else { return Ok(None) };
            let promoted = match types::resolve(index, of) {
                Some(Type::Float { width: 16 | 32, encoding: None }) => Promoted::Double,
                Some(Type::Int { width: 8 | 16, .. }) => {
                    Promoted::Word { signed: !formats.is_unsigned(index, format, nth) }
                }
                Some(Type::Float { width: 64, .. } | Type::Int { width: 32 | 64, .. } | Type::Pointer { .. }) => {
                    Promoted::Same(of)
                }
                _ => return Ok(None),
            };
            values.push((value, promoted));
        }
        let class = match index.type_of(format).and_then(|of| types::resolve(index, of)) {
            Some(Type::Pointer { storage, .. }) => storage,
            _ => return Err(Error::input("a format that is printed is no pointer")),
        };
        Ok(Some(Call { format, class, values, structure: ids.fresh()?, pointer: ids.fresh()?, variable: ids.fresh()? }))
    }
}

/// Conversions of formats that were met, by the ids of their first values: many calls may have one format.
#[derive(Default)]
struct Formats {
    conversions: HashMap<u32, Vec<u8>>,
    /// First values by the pointers to them.
    values: HashMap<u32, Option<u32>>,
}

impl Formats {
    /// Whether a format, given by its pointer, takes its `nth` value as one without a sign.
    fn is_unsigned(&mut self, index: &Index<'_>, format: u32, nth: usize) -> bool {
        let place = *self.values.entry(format).or_insert_with(|| value_of(index, format));
        let Some(value) = place else { return false };
        let known = self.conversions.entry(value).or_insert_with(|| {
            let bytes = types::constant_parts(index, value).unwrap_or_default().into_iter();
            let bytes = bytes.map(|part| types::constant_bits(index, part).map_or(0, |bits| bits as u8));
            conversions(&bytes.take_while(|byte| *byte != 0).collect::<Vec<u8>>())
        });
        known.get(nth).is_some_and(|conversion| b"ouxX".contains(conversion))
    }
}

/// Returns the first value of the variable that a pointer leads to the begin of, or none where the module does not tell.
fn value_of(index: &Index<'_>, pointer: u32) -> Option<u32> {
    const TO_GENERIC: u16 = Op::PtrCastToGeneric as u16;
    const FROM_GENERIC: u16 = Op::GenericCastToPtr as u16;
    const ACCESS: [Op; 4] = [Op::AccessChain, Op::InBoundsAccessChain, Op::PtrAccessChain, Op::InBoundsPtrAccessChain];
    let mut id = pointer;
    for _ in 0..limits::MAX_NESTING {
        let from = index.defining(id)?;
        // As an instruction of its own, or within a constant.
        let (opcode, operand) = match from.opcode {
            op::SPEC_CONSTANT_OP => (u16::try_from(from.word(2)).ok()?, 3usize),
            opcode => (opcode, 2),
        };
        match opcode {
            BITCAST | TO_GENERIC | FROM_GENERIC => {}
            opcode if ACCESS.iter().any(|access| *access as u16 == opcode) => {
                let mut indexes = from.words().skip(operand.saturating_add(1));
                if !indexes.all(|at| types::constant_bits(index, at) == Some(0)) {
                    return None;
                }
            }
            op::VARIABLE if from.len() > 3 => return Some(from.word(3)),
            _ => return None,
        }
        id = from.word(operand);
    }
    None
}

/// Returns the conversion of each value that a format takes: the letter at its end, or the star of a width or a precision
/// (OpenCL C specification, 6.15.14).
fn conversions(format: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut bytes = format.iter().copied();
    while bytes.any(|byte| byte == b'%') {
        for byte in bytes.by_ref() {
            match byte {
                b'%' => break,
                b'*' => found.push(byte),
                // The length of a value, and of a vector.
                b'h' | b'l' | b'v' => {}
                byte if byte.is_ascii_alphabetic() => {
                    found.push(byte);
                    break;
                }
                _ => {}
            }
        }
    }
    found
}

/// Types that a module has, or gets.
struct Kinds {
    byte: u32,
    word: u32,
    double: u32,
    /// Generic pointer to a byte.
    generic: u32,
    /// Pointers to a byte by the storage class of formats, and in that of values.
    of_formats: BTreeMap<u32, u32>,
    of_values: u32,
    function: u32,
}

/// Returns the type of these words behind its id, written where the module has none.
fn unique(index: &Index<'_>, out: &mut Writer, ids: &mut NewIds, opcode: u16, rest: &[u32]) -> Result<u32> {
    let is_it = |it: &Instruction<'_>| {
        it.opcode == opcode
            && it.len() == rest.len().saturating_add(1)
            && rest.iter().zip(1..).all(|(word, at)| it.word(at) == *word)
    };
    if let Some((_, known)) = index.instructions(0..index.len()).find(|(_, it)| is_it(it)) {
        return Ok(known.word(0));
    }
    let id = ids.fresh()?;
    out.put(opcode, &[&[id], rest].concat());
    Ok(id)
}

impl Kinds {
    fn declare(index: &Index<'_>, out: &mut Writer, ids: &mut NewIds, formats: &BTreeSet<u32>) -> Result<Kinds> {
        let integer = |width: u32| {
            let ints = index.instructions(0..index.len()).filter(|(_, it)| it.opcode == op::TYPE_INT);
            ints.map(|(_, it)| it).find(|it| it.word(1) == width).map(|it| it.word(0))
        };
        let int = |out: &mut Writer, ids: &mut NewIds, width: u32| match integer(width) {
            Some(id) => Ok(id),
            None => unique(index, out, ids, op::TYPE_INT, &[width, 0]),
        };
        let (byte, word) = (int(out, ids, 8)?, int(out, ids, 32)?);
        let double = unique(index, out, ids, Op::TypeFloat as u16, &[64])?;
        let pointer =
            |out: &mut Writer, ids: &mut NewIds, class: u32| unique(index, out, ids, op::TYPE_POINTER, &[class, byte]);
        let generic = pointer(out, ids, GENERIC)?;
        let of_values = pointer(out, ids, FUNCTION)?;
        let mut of_formats = BTreeMap::from([(GENERIC, generic), (FUNCTION, of_values)]);
        for class in formats {
            if !of_formats.contains_key(class) {
                of_formats.insert(*class, pointer(out, ids, *class)?);
            }
        }
        let function = unique(index, out, ids, op::TYPE_FUNCTION, &[word, generic, generic])?;
        Ok(Kinds { byte, word, double, generic, of_formats, of_values, function })
    }

    fn promoted(&self, promoted: Promoted) -> u32 {
        match promoted {
            Promoted::Same(of) => of,
            Promoted::Double => self.double,
            Promoted::Word { .. } => self.word,
        }
    }

    /// Writes a pointer as a generic one to a byte.
    fn put_generic(&self, out: &mut Writer, ids: &mut NewIds, pointer: u32, class: u32) -> Result<u32> {
        let bytes = ids.fresh()?;
        out.put(BITCAST, &[class, bytes, pointer]);
        if class == self.generic {
            return Ok(bytes);
        }
        let generic = ids.fresh()?;
        out.put(Op::PtrCastToGeneric as u16, &[self.generic, generic, bytes]);
        Ok(generic)
    }

    /// Writes what an instruction becomes.
    fn put_call(&self, out: &mut Writer, ids: &mut NewIds, call: &Call, print: u32, result: u32) -> Result<()> {
        let structure = ids.fresh()?;
        out.put(Op::Undef as u16, &[call.structure, structure]);
        let mut whole = structure;
        for (at, (value, promoted)) in (0..).zip(&call.values) {
            let mut value = *value;
            let converted = match promoted {
                Promoted::Same(_) => None,
                Promoted::Double => Some((Op::FConvert, self.double)),
                Promoted::Word { signed: true } => Some((Op::SConvert, self.word)),
                Promoted::Word { signed: false } => Some((Op::UConvert, self.word)),
            };
            if let Some((conversion, of)) = converted {
                let id = ids.fresh()?;
                out.put(conversion as u16, &[of, id, value]);
                value = id;
            }
            let filled = ids.fresh()?;
            out.put(Op::CompositeInsert as u16, &[call.structure, filled, value, whole, at]);
            whole = filled;
        }
        out.put(Op::Store as u16, &[call.variable, whole]);
        let of_format = self.of_formats.get(&call.class).copied().unwrap_or(self.generic);
        let format = self.put_generic(out, ids, call.format, of_format)?;
        let values = self.put_generic(out, ids, call.variable, self.of_values)?;
        out.put(Op::FunctionCall as u16, &[self.word, result, print, format, values]);
        Ok(())
    }
}

fn rewrite(index: &Index<'_>, calls: &BTreeMap<usize, Call>, mut ids: NewIds) -> Result<Vec<u8>> {
    let mut out = Writer::new(index);
    let print = ids.fresh()?;
    let first_function = index.functions.first().map_or(index.len(), |function| function.instructions.start);
    let formats: BTreeSet<u32> = calls.values().map(|call| call.class).collect();
    let (mut annotated, mut kinds) = (false, None);
    // Variables are those of the function's first block.
    let mut blocks: BTreeMap<usize, Vec<&Call>> = BTreeMap::new();
    for function in &index.functions {
        let own: Vec<&Call> = calls.range(function.instructions.clone()).map(|(_, call)| call).collect();
        let mut labels = index.instructions(function.instructions.clone()).filter(|(_, it)| it.opcode == LABEL);
        if let Some((first, _)) = labels.next().filter(|_| !own.is_empty()) {
            blocks.insert(first, own);
        }
    }
    for (at, instruction) in index.instructions(0..index.len()) {
        if !annotated && begins_annotations(instruction.opcode) {
            annotated = true;
            let name = [&[print, Decoration::LinkageAttributes as u32], text(PRINT).as_slice()].concat();
            out.put(op::DECORATE, &[name.as_slice(), &[LinkageType::Import as u32]].concat());
        }
        if at == first_function {
            let own = Kinds::declare(index, &mut out, &mut ids, &formats)?;
            for call in calls.values() {
                let members: Vec<u32> = call.values.iter().map(|(_, promoted)| own.promoted(*promoted)).collect();
                // A structure of nothing has no place.
                let members = if members.is_empty() { vec![own.byte] } else { members };
                out.put(op::TYPE_STRUCT, &[&[call.structure], members.as_slice()].concat());
                out.put(op::TYPE_POINTER, &[call.pointer, FUNCTION, call.structure]);
            }
            out.put(op::FUNCTION, &[own.word, print, FunctionControl::NONE.bits(), own.function]);
            for _ in 0..2 {
                out.put(op::FUNCTION_PARAMETER, &[own.generic, ids.fresh()?]);
            }
            out.put(op::FUNCTION_END, &[]);
            kinds = Some(own);
        }
        let words: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
        match (calls.get(&at), &kinds) {
            (Some(call), Some(kinds)) => kinds.put_call(&mut out, &mut ids, call, print, instruction.word(1))?,
            _ => out.put(instruction.opcode, &words),
        }
        for call in blocks.get(&at).into_iter().flatten() {
            out.put(op::VARIABLE, &[call.pointer, call.variable, FUNCTION]);
        }
    }
    Ok(out.finish(ids.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::MAGIC;

    /// A kernel that prints a float and a byte.
    fn module(vector: bool) -> Vec<u8> {
        let mut words = vec![MAGIC, 0x0001_0400, 0, 40, 0];
        let mut put = |opcode: u16, operands: &[u32]| {
            words.push((operands.len() as u32 + 1) << 16 | u32::from(opcode));
            words.extend_from_slice(operands);
        };
        put(op::EXT_INST_IMPORT, &[&[1], text("OpenCL.std").as_slice()].concat());
        put(Op::TypeVoid as u16, &[2]);
        put(op::TYPE_INT, &[3, 8, 0]);
        put(Op::TypeFloat as u16, &[4, 32]);
        put(Op::TypeVector as u16, &[5, 4, 4]);
        put(op::TYPE_POINTER, &[6, StorageClass::UniformConstant as u32, 3]);
        put(op::TYPE_FUNCTION, &[7, 2, 6, if vector { 5 } else { 4 }, 3]);
        put(op::TYPE_INT, &[8, 32, 0]);
        put(op::FUNCTION, &[2, 10, 0, 7]);
        put(op::FUNCTION_PARAMETER, &[6, 11]);
        put(op::FUNCTION_PARAMETER, &[if vector { 5 } else { 4 }, 12]);
        put(op::FUNCTION_PARAMETER, &[3, 13]);
        put(LABEL, &[14]);
        put(EXT_INST, &[8, 15, 1, PRINTF, 11, 12, 13]);
        put(Op::Return as u16, &[]);
        put(op::FUNCTION_END, &[]);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn values_are_passed_as_c_promotes_them() {
        let printed = print(&module(false)).unwrap().unwrap();
        let index = Index::read(&printed).unwrap();
        let all: Vec<u16> = index.instructions(0..index.len()).map(|(_, it)| it.opcode).collect();
        for opcode in [Op::FConvert, Op::SConvert, Op::Store, Op::FunctionCall, Op::PtrCastToGeneric] {
            assert!(all.contains(&(opcode as u16)), "{opcode:?}");
        }
        assert!(!all.contains(&EXT_INST));
        let linked = index.linked();
        assert!(linked.iter().any(|(_, linkage)| linkage.name == PRINT), "{linked:?}");
        // Nothing is left to print.
        assert_eq!(print(&printed).unwrap(), None);
    }

    #[test]
    fn formats_tell_which_values_have_no_sign() {
        assert_eq!(conversions(b"100%% %-5hhu|%*d %.2f%v4hlx%"), b"u*dfx");
        // The format becomes a variable's place.
        let with = |format: &[u8]| {
            let mut words: Vec<u32> =
                module(false).chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            let call = words.iter().position(|word| *word == 8 << 16 | u32::from(EXT_INST)).unwrap();
            words[call + 5] = 38;
            let at = words.iter().position(|word| *word == 5 << 16 | u32::from(op::FUNCTION)).unwrap();
            let mut more = Vec::new();
            let mut put = |opcode: u16, operands: &[u32]| {
                more.push((operands.len() as u32 + 1) << 16 | u32::from(opcode));
                more.extend_from_slice(operands);
            };
            let ids: Vec<u32> = (40..).take(format.len()).collect();
            for (id, byte) in ids.iter().zip(format) {
                put(op::CONSTANT, &[3, *id, u32::from(*byte)]);
            }
            put(op::CONSTANT, &[8, 30, format.len() as u32]);
            put(op::TYPE_ARRAY, &[31, 3, 30]);
            put(op::TYPE_POINTER, &[32, 0, 31]);
            put(op::CONSTANT_COMPOSITE, &[&[31, 33], ids.as_slice()].concat());
            put(op::CONSTANT_NULL, &[8, 34]);
            put(op::VARIABLE, &[32, 36, 0, 33]);
            put(op::SPEC_CONSTANT_OP, &[6, 38, Op::InBoundsPtrAccessChain as u32, 36, 34, 34]);
            words.splice(at..at, more);
            words[3] = 80;
            let printed =
                print(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).unwrap().unwrap();
            let index = Index::read(&printed).unwrap();
            let all = index.instructions(0..index.len()).map(|(_, it)| it.opcode);
            all.filter(|opcode| [Op::SConvert as u16, Op::UConvert as u16].contains(opcode)).collect::<Vec<u16>>()
        };
        assert_eq!(with(b"%f %u\0"), [Op::UConvert as u16]);
        assert_eq!(with(b"%f %d\0"), [Op::SConvert as u16]);
    }

    #[test]
    fn formats_of_two_storage_classes_are_cast_each_from_its_own() {
        // A second print, of a format behind a generic pointer.
        let mut words: Vec<u32> =
            module(false).chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let end = words.len() - 2;
        words.splice(end..end, [8 << 16 | u32::from(EXT_INST), 8, 17, 1, PRINTF, 16, 12, 13]);
        words.splice(end..end, [4 << 16 | Op::PtrCastToGeneric as u32, 9, 16, 18]);
        words.splice(end..end, [4 << 16 | u32::from(BITCAST), 20, 18, 11]);
        let types = words.iter().position(|word| *word == 5 << 16 | u32::from(op::FUNCTION)).unwrap();
        words.splice(types..types, [4 << 16 | u32::from(op::TYPE_POINTER), 9, GENERIC, 3]);
        words.splice(types..types, [4 << 16 | u32::from(op::TYPE_POINTER), 20, FUNCTION, 3]);
        let module: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let printed = print(&module).unwrap().unwrap();
        assert_eq!(print(&module).unwrap().as_ref(), Some(&printed), "the same each time");
        let index = Index::read(&printed).unwrap();
        let class = |id| match types::resolve(&index, index.type_of(id)?)? {
            Type::Pointer { storage, .. } => Some(storage),
            _ => None,
        };
        let casts = index.instructions(0..index.len()).filter(|(_, it)| it.opcode == BITCAST);
        let ours = casts.map(|(_, it)| it).filter(|it| it.word(1) >= 40);
        let pairs: Vec<_> = ours.map(|it| (class(it.word(1)), class(it.word(2)))).collect();
        assert_eq!(pairs.len(), 4);
        assert!(pairs.iter().all(|(to, from)| to.is_some() && to == from), "{pairs:?}");
    }

    #[test]
    fn vectors_stay_as_they_are() {
        assert_eq!(print(&module(true)).unwrap(), None);
    }
}
