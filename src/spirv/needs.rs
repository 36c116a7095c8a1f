//! Which instructions and operands of a module need a capability that it does not declare?
//!
//! What a compiler takes is known by the capabilities that modules declare. So what needs one and does not say so may be refused, or end
//! the compiler's process. The needs are those of rspirv's grammar, of [`UNLISTED`], and of types as the specification
//! (SPIR-V, section 3.2.30) words them. A capability declares those that it implies; of several one is enough. What the grammar allows by
//! version or extension alone needs none.
//!
//! Each set of capabilities of which one is needed has a number; the pass over a module does no more than to note these numbers.

use super::grammar;
use super::op;
use super::words::{Instruction, Words};
use rspirv::dr::Operand;
use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier};
use rspirv::spirv::{self as s, Capability, Op};
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// Bound above the numbers of opcodes, capabilities and values that the registry gives away.
const END: u32 = 1 << 13;

/// Capabilities of instructions that rspirv's tables lack (SPIRV-Headers 1.6.7; the translator's `spirv_internal.hpp`).
/// Which of those that are not published the others of [`grammar::layout`] need is not known.
#[rustfmt::skip]
const UNLISTED: &[(u16, &[u32])] = &[
    (4195, &[4232]), (4545, &[4543, 4544]), (5121, &[5120]), (5147, &[5146]), (5148, &[5146]), (5158, &[5156]), (5159, &[5156]),
    (5363, &[5438]), (5946, &[5945]), (5947, &[5945]), (6096, &[6089]), (6113, &[6112]), (6193, &[6192]), (6194, &[6192]),
    (6195, &[6192]), (6258, &[6257]), (6259, &[6257]), (6440, &[6435]), (6448, &[6435]), (6449, &[6411]), (6916, &[6912, 6914]),
    (6917, &[6913, 6914]), (6918, &[6915]),
];

/// Returns the numbers among which the registry's are: those of the core, and those of vendors.
fn numbers_given() -> impl Iterator<Item = u32> {
    (0..128).chain(4096..END)
}

/// Stands for any capability that the grammar does not have.
const UNPUBLISHED: u32 = u32::MAX;

/// A kind of operands whose values need capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// A number of the grammar.
    Value(OperandKind),
    /// Bits of the grammar.
    Mask(OperandKind),
    /// The width of an integer, or of a float.
    Width(u16),
    /// The number of components of a vector.
    Components,
    /// The id of a constant that is a scope or memory semantics.
    Constant(OperandKind),
    /// An opcode within `OpSpecConstantOp`.
    Opcode,
}

macro_rules! operands {
    ($($value:ident)*; $($mask:ident)*) => {
        /// Returns the kind of an operand, where its values may need capabilities.
        fn kind_of(kind: OperandKind) -> Option<Kind> {
            match kind {
                $(OperandKind::$value => Some(Kind::Value(kind)),)*
                $(OperandKind::$mask => Some(Kind::Mask(kind)),)*
                OperandKind::IdScope => Some(Kind::Constant(OperandKind::Scope)),
                OperandKind::IdMemorySemantics => Some(Kind::Constant(OperandKind::MemorySemantics)),
                OperandKind::LiteralSpecConstantOpInteger => Some(Kind::Opcode),
                _ => None,
            }
        }

        /// Returns a value of the grammar.
        fn operand(kind: OperandKind, number: u32) -> Option<Operand> {
            match kind {
                $(OperandKind::$value => s::$value::from_u32(number).map(Operand::$value),)*
                $(OperandKind::$mask => s::$mask::from_bits(number).map(Operand::$mask),)*
                _ => None,
            }
        }
    };
}

operands! {
    ExecutionModel AddressingModel MemoryModel ExecutionMode StorageClass Dim SamplerAddressingMode SamplerFilterMode ImageFormat
    FPRoundingMode FPDenormMode QuantizationModes FPOperationMode OverflowModes LinkageType AccessQualifier HostAccessQualifier
    FunctionParameterAttribute Decoration BuiltIn Scope GroupOperation PackedVectorFormat InitializationModeQualifier LoadCacheControl
    StoreCacheControl NamedMaximumNumberOfRegisters;
    ImageOperands FPFastMathMode SelectionControl LoopControl FunctionControl MemorySemantics MemoryAccess KernelProfilingInfo
    CooperativeMatrixOperands MatrixMultiplyAccumulateOperands RawAccessChainOperands TensorAddressingOperands
}

/// Need of a value, and where its own operands have kinds.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Number of the need; 0 is none.
    need: u16,
    /// Number of the list of operands to look at; 0 is none.
    operands: u16,
}

/// Operand to look at.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// Place among the words; of a decoration's operands among those behind it.
    at: usize,
    /// Whether a string stands before it.
    behind_string: bool,
    kind: Kind,
    /// Place of the kind's values.
    values: usize,
}

/// Values of a kind.
#[derive(Debug)]
struct Values {
    kind: Kind,
    /// Needs of single bits of a mask; of numbers those of the first.
    first: Vec<Entry>,
    /// The further numbers, in order.
    others: Vec<(u32, Entry)>,
    /// The need of all that are in neither.
    other: Entry,
    /// Bits that need nothing.
    free: u32,
}

/// Needs and operands, as the grammar has them.
#[derive(Debug, Default)]
struct Table {
    /// Alternatives by the number of a need.
    needs: Vec<Vec<u32>>,
    /// By opcode.
    opcodes: Vec<Entry>,
    /// Operands to look at.
    probes: Vec<Vec<Probe>>,
    values: Vec<Values>,
    /// Known capabilities in order, each with all that it implies.
    implied: Vec<(u32, Vec<u32>)>,
}

/// Modes for which compilers declare nothing, and which drivers of Intel's GPUs and CPUs take: the sub-group size of a kernel, by Intel's
/// compilers of OpenCL C without `SubgroupDispatch` (kernels within oneMKL's BLAS), and the default mode of fast
/// floats, by clang 22 with all extensions without `FloatControls2`.
const MODES: [u32; 2] = [s::ExecutionMode::SubgroupSize as u32, s::ExecutionMode::FPFastMathDefault as u32];

/// Bits of products of matrices of TF32 and of bfloat16 (SPV_INTEL_joint_matrix), which rspirv's tables lack. DPC++ declares nothing for
/// them beside `CooperativeMatrixKHR`, and drivers of Intel's GPUs take them.
const MATRICES: [u32; 2] = [0x20, 0x40];

/// Numbers whose entries are found without a search.
const FIRST: u32 = 64;

impl Table {
    fn build() -> Table {
        let mut table = Table { needs: vec![Vec::new()], probes: vec![Vec::new()], ..Table::default() };
        let mut numbers = HashMap::new();
        table.opcodes = (0..END).map(|_| Entry::default()).collect();
        for known in INSTRUCTION_TABLE.iter() {
            let opcode = known.opcode as u16;
            let needed: Vec<u32> = match known.opcode {
                // The specification has these of kernels where it says what `ImageBasic` is.
                Op::TypeImage | Op::TypeSampledImage => vec![Capability::ImageBasic as u32, Capability::Shader as u32],
                // DPC++ declares no capability for samplers of arguments that nothing uses; drivers take these.
                Op::TypeSampler => vec![Capability::Kernel as u32, Capability::Shader as u32],
                _ => known.capabilities.iter().map(|one| *one as u32).collect(),
            };
            let entry = Entry {
                need: table.need(&mut numbers, needed),
                operands: table.operands(&mut numbers, known.opcode, known.operands),
            };
            table.opcodes.get_mut(usize::from(opcode)).into_iter().for_each(|place| *place = entry);
        }
        for opcode in grammar::missing() {
            let needed = match UNLISTED.iter().find(|(listed, _)| *listed == opcode) {
                Some((_, needed)) => needed.to_vec(),
                None => vec![UNPUBLISHED],
            };
            let need = table.need(&mut numbers, needed);
            table.opcodes.get_mut(usize::from(opcode)).into_iter().for_each(|place| place.need = need);
        }
        let capability = |number| s::Capability::from_u32(number).map(|_| (number, closure(number)));
        table.implied = numbers_given().filter_map(capability).collect();
        table
    }

    /// Returns the number of a need.
    fn need(&mut self, numbers: &mut HashMap<Vec<u32>, u16>, needed: Vec<u32>) -> u16 {
        if needed.is_empty() {
            return 0;
        }
        *numbers.entry(needed).or_insert_with_key(|needed| {
            self.needs.push(needed.clone());
            u16::try_from(self.needs.len().saturating_sub(1)).unwrap_or(0)
        })
    }

    /// Returns the number of the list of operands to look at.
    fn operands(&mut self, numbers: &mut HashMap<Vec<u32>, u16>, opcode: Op, operands: &[LogicalOperand]) -> u16 {
        let mut probes = Vec::new();
        let (mut at, mut behind_string) = (0usize, false);
        for operand in operands {
            let kind = match (opcode, operand.kind) {
                (Op::TypeInt | Op::TypeFloat, OperandKind::LiteralInteger) if at == 1 => {
                    Some(Kind::Width(opcode as u16))
                }
                (Op::TypeVector, OperandKind::LiteralInteger) => Some(Kind::Components),
                (_, kind) => kind_of(kind),
            };
            if let Some(kind) = kind {
                let values = self.values(numbers, kind);
                probes.push(Probe { at, behind_string, kind, values });
            }
            let is_single = operand.quantifier != OperandQuantifier::ZeroOrMore;
            match operand.kind {
                OperandKind::LiteralString if !behind_string => behind_string = true,
                OperandKind::LiteralString | OperandKind::LiteralContextDependentNumber => break,
                // Bits have operands of their own.
                OperandKind::MemoryAccess | OperandKind::ImageOperands | OperandKind::LoopControl => break,
                _ if !is_single => break,
                _ => at = at.saturating_add(1),
            }
        }
        if probes.is_empty() {
            return 0;
        }
        self.probes.push(probes);
        u16::try_from(self.probes.len().saturating_sub(1)).unwrap_or(0)
    }

    /// Returns the place of the values of a kind.
    fn values(&mut self, numbers: &mut HashMap<Vec<u32>, u16>, kind: Kind) -> usize {
        if let Some(place) = self.values.iter().position(|known| known.kind == kind) {
            return place;
        }
        let mut found: Vec<(u32, Entry)> = Vec::new();
        // Numbers and bits that the grammar does not have.
        let mut other = Entry::default();
        let mut free = 0u32;
        match kind {
            Kind::Width(op::TYPE_INT) => {
                for (width, capability) in [(8, Capability::Int8), (16, Capability::Int16), (64, Capability::Int64)] {
                    found.push((width, self.entry(numbers, &[capability])));
                }
            }
            Kind::Width(_) => {
                found.push((16, self.entry(numbers, &[Capability::Float16, Capability::Float16Buffer])));
                found.push((64, self.entry(numbers, &[Capability::Float64])));
            }
            Kind::Components => {
                const ANY: [Capability; 3] =
                    [Capability::Vector16, Capability::VectorAnyINTEL, Capability::LongVectorEXT];
                other = self.entry(numbers, ANY.get(1..).unwrap_or_default());
                let long = self.entry(numbers, &ANY);
                found.extend((2..=4).map(|count| (count, Entry::default())).chain([(8, long), (16, long)]));
            }
            Kind::Mask(of) | Kind::Constant(of @ OperandKind::MemorySemantics) => {
                for bit in (0..32).map(|bit| 1u32 << bit) {
                    let entry = match operand(of, bit) {
                        None if of == OperandKind::CooperativeMatrixOperands && MATRICES.contains(&bit) => {
                            self.entry(numbers, &[Capability::CooperativeMatrixKHR])
                        }
                        Some(operand) => self.entry(numbers, &operand.required_capabilities()),
                        None => self.unpublished(numbers),
                    };
                    free |= if entry.need == 0 { bit } else { 0 };
                    found.push((bit.trailing_zeros(), entry));
                }
            }
            Kind::Value(of) | Kind::Constant(of) => {
                other = self.unpublished(numbers);
                for number in numbers_given() {
                    let Some(operand) = operand(of, number) else { continue };
                    let mut needed = operand.required_capabilities();
                    if of == OperandKind::ExecutionMode && MODES.contains(&number) {
                        needed.push(Capability::Kernel);
                    }
                    let mut entry = self.entry(numbers, &needed);
                    if of == OperandKind::Decoration {
                        entry.operands = self.operands(numbers, Op::Decorate, &operand.additional_operands());
                    }
                    found.push((number, entry));
                }
                if of == OperandKind::LinkageType {
                    found.push((op::LINKAGE_INTERNAL, self.entry(numbers, &[Capability::Linkage])));
                }
            }
            Kind::Opcode => {}
        }
        let mut first = vec![other; FIRST as usize];
        for (number, entry) in found.iter().filter(|(number, _)| *number < FIRST) {
            first.get_mut(*number as usize).into_iter().for_each(|place| *place = *entry);
        }
        found.retain(|(number, _)| *number >= FIRST);
        self.values.push(Values { kind, first, others: found, other, free });
        self.values.len().saturating_sub(1)
    }

    /// Returns the entry of what needs one of some capabilities.
    fn entry(&mut self, numbers: &mut HashMap<Vec<u32>, u16>, needed: &[Capability]) -> Entry {
        Entry { need: self.need(numbers, needed.iter().map(|one| *one as u32).collect()), operands: 0 }
    }

    /// Returns the entry of what the grammar does not have.
    fn unpublished(&mut self, numbers: &mut HashMap<Vec<u32>, u16>) -> Entry {
        Entry { need: self.need(numbers, vec![UNPUBLISHED]), operands: 0 }
    }
}

impl Values {
    #[inline]
    fn entry(&self, number: u32) -> Entry {
        if number < FIRST {
            return self.first.get(number as usize).copied().unwrap_or_default();
        }
        let place = self.others.binary_search_by_key(&number, |(known, _)| *known);
        place.ok().and_then(|place| self.others.get(place)).map_or(self.other, |(_, entry)| *entry)
    }
}

/// Returns a capability with all that it implies.
fn closure(capability: u32) -> Vec<u32> {
    let mut all = vec![capability];
    let mut next = 0;
    while let Some(number) = all.get(next).copied() {
        let operand = Capability::from_u32(number).map(Operand::Capability);
        let implied = operand.map(|operand| operand.required_capabilities()).unwrap_or_default();
        for implied in implied.into_iter().map(|implied| implied as u32) {
            if !all.contains(&implied) {
                all.push(implied);
            }
        }
        next = next.saturating_add(1);
    }
    all
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(Table::build)
}

/// Thing with a need: a kind of values by its place plus one, or 0 for opcodes, and a number.
type Witness = (u16, u32);

/// The needs of what a walk has seen.
#[derive(Debug)]
pub(super) struct Needs {
    table: &'static Table,
    /// By the number of a need what was first seen to have it.
    seen: Vec<Option<Witness>>,
    /// Ids of constants that are scopes or semantics, with the place of their values.
    constants: Vec<(u32, usize)>,
    /// Types of numbers that atomic instructions may need a capability for: id, whether floats, and width.
    numbers: Vec<(u32, bool, u32)>,
    /// Atomic instructions by opcode and type.
    atomics: Vec<(u16, u32)>,
    /// Whether there are more of these than are looked at.
    has_more: bool,
}

impl Default for Needs {
    fn default() -> Needs {
        let table = table();
        Needs {
            table,
            seen: vec![None; table.needs.len()],
            constants: Vec::new(),
            numbers: Vec::new(),
            atomics: Vec::new(),
            has_more: false,
        }
    }
}

impl Needs {
    /// Looks at an instruction.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>) {
        let Some(entry) = self.table.opcodes.get(usize::from(instruction.opcode)).copied() else { return };
        if entry.need != 0 {
            self.note(entry.need, (0, u32::from(instruction.opcode)));
        }
        if entry.operands != 0 {
            self.operands(instruction, 0, entry.operands);
        }
    }

    /// Notes a type of numbers.
    pub(super) fn numbers(&mut self, id: u32, floats: bool, width: u32) {
        self.numbers.push((id, floats, width));
    }

    /// Notes an atomic instruction, by the type of its result.
    pub(super) fn atomic(&mut self, opcode: u16, result: u32) {
        if self.atomics.contains(&(opcode, result)) {
            return;
        }
        if self.atomics.len() < MAX_ATOMICS {
            self.atomics.push((opcode, result));
        } else {
            self.has_more = true;
        }
    }

    fn note(&mut self, need: u16, witness: Witness) {
        if let Some(place) = self.seen.get_mut(usize::from(need)) {
            place.get_or_insert(witness);
        }
    }

    /// Looks at the operands from a place on.
    fn operands(&mut self, instruction: &Instruction<'_>, from: usize, list: u16) {
        for probe in self.table.probes.get(usize::from(list)).into_iter().flatten() {
            let mut at = from.saturating_add(probe.at);
            if probe.behind_string {
                at = instruction.after_string(at);
            }
            if at >= instruction.len() {
                return;
            }
            let Some(values) = self.table.values.get(probe.values) else { return };
            let word = instruction.word(at);
            match probe.kind {
                Kind::Mask(kind) => {
                    self.bits(values, probe.values, word);
                    if kind == OperandKind::MemoryAccess && matches!(instruction.opcode, COPY_MEMORY | COPY_SIZED) {
                        self.second_access(instruction, at, probe, values);
                    }
                }
                Kind::Constant(_) => {
                    if self.constants.last() != Some(&(word, probe.values)) {
                        self.constants.push((word, probe.values));
                    }
                }
                Kind::Opcode => {
                    let entry = self.table.opcodes.get(word as usize).copied().unwrap_or_default();
                    if entry.need != 0 {
                        self.note(entry.need, (0, word));
                    }
                }
                // With a third operand it is none of these types.
                Kind::Width(op::TYPE_FLOAT) if instruction.len() > 2 => {}
                Kind::Value(_) | Kind::Width(_) | Kind::Components => {
                    let entry = values.entry(word);
                    self.number(probe.values, word, entry.need);
                    // Operands of other instructions that decorate are ids and strings.
                    if entry.operands != 0 && matches!(instruction.opcode, op::DECORATE | MEMBER_DECORATE) {
                        self.operands(instruction, at.saturating_add(1), entry.operands);
                    }
                }
            }
        }
    }

    #[inline]
    fn number(&mut self, values: usize, number: u32, need: u16) {
        if need != 0 {
            self.note(need, (u16::try_from(values.saturating_add(1)).unwrap_or(u16::MAX), number));
        }
    }

    fn bits(&mut self, values: &Values, place: usize, mask: u32) {
        let mut rest = mask & !values.free;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            self.number(place, 1 << bit, values.entry(bit).need);
        }
    }

    /// Looks at the second memory operands of a copy, behind the words that the first ask for.
    fn second_access(&mut self, instruction: &Instruction<'_>, at: usize, probe: &Probe, values: &Values) {
        let next = grammar::after_memory_access(instruction, at);
        if next < instruction.len() {
            self.bits(values, probe.values, instruction.word(next));
        }
    }

    /// Tells what needs a capability that a module does not declare, each as `OpKill without Shader`.
    pub(super) fn unmet(mut self, module: Words<'_>, declared: &[u32]) -> BTreeSet<String> {
        self.constants(module);
        let mut known = vec![0u64; (END / 64) as usize];
        let mut unpublished = false;
        for capability in declared {
            let place = self.table.implied.binary_search_by_key(capability, |(number, _)| *number);
            let Some((_, implied)) = place.ok().and_then(|place| self.table.implied.get(place)) else {
                unpublished = true;
                set(&mut known, *capability);
                continue;
            };
            implied.iter().for_each(|number| set(&mut known, *number));
        }
        let is_met = |capability: &u32| match *capability {
            UNPUBLISHED => unpublished,
            number => known.get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 != 0),
        };
        let mut unmet = BTreeSet::new();
        for (needed, seen) in self.table.needs.iter().zip(&self.seen) {
            let Some(witness) = seen.filter(|_| !needed.iter().any(is_met)) else { continue };
            let needed = match needed.first().copied() {
                Some(UNPUBLISHED) | None => "its capability".into(),
                Some(number) => grammar::capability_name(number),
            };
            unmet.insert(format!("{} without {needed}", self.name(witness)));
        }
        if self.has_more {
            unmet.insert("atomic instructions of so many types".to_owned());
        }
        for (opcode, result) in &self.atomics {
            let numbers = self.numbers.iter().find(|(id, ..)| id == result);
            let Some((width, needed)) =
                numbers.and_then(|(_, floats, width)| Some((width, typed(*opcode, *floats, *width)?)))
            else {
                continue;
            };
            if !is_met(&needed) {
                let needed = grammar::capability_name(needed);
                unmet.insert(format!("{} of {width} bits without {needed}", grammar::name(*opcode)));
            }
        }
        unmet
    }

    /// Looks at the values of the constants that are scopes or semantics.
    fn constants(&mut self, module: Words<'_>) {
        let mut wanted = std::mem::take(&mut self.constants);
        if wanted.is_empty() {
            return;
        }
        wanted.sort_unstable();
        wanted.dedup();
        let head = module.instructions().flatten().take_while(|instruction| instruction.opcode != op::FUNCTION);
        for constant in head.filter(|instruction| instruction.opcode == op::CONSTANT) {
            let (id, value) = (constant.word(1), constant.word(2));
            let begin = wanted.partition_point(|(wanted, _)| *wanted < id);
            for (_, place) in wanted.iter().skip(begin).take_while(|(wanted, _)| *wanted == id) {
                let Some(values) = self.table.values.get(*place) else { continue };
                match values.kind {
                    Kind::Constant(OperandKind::MemorySemantics) => self.bits(values, *place, value),
                    _ => self.number(*place, value, values.entry(value).need),
                }
            }
        }
    }

    fn name(&self, (place, number): Witness) -> String {
        let values = usize::from(place).checked_sub(1).and_then(|place| self.table.values.get(place));
        match values.map(|values| values.kind) {
            Some(Kind::Value(kind) | Kind::Constant(kind @ OperandKind::Scope)) => match operand(kind, number) {
                Some(value) => format!("{kind:?} {value}"),
                None => format!("{kind:?} {number}"),
            },
            Some(Kind::Mask(kind) | Kind::Constant(kind)) => match operand(kind, number) {
                Some(bits) => bits.to_string(),
                None => format!("{kind:?} {number:#x}"),
            },
            Some(Kind::Width(opcode)) => format!("{} {number}", grammar::name(opcode)),
            Some(Kind::Components) => format!("OpTypeVector {number}"),
            Some(Kind::Opcode) | None => grammar::name(u16::try_from(number).unwrap_or(u16::MAX)),
        }
    }
}

/// Most atomic instructions that differ in opcode or type and are looked at: no module has more.
const MAX_ATOMICS: usize = 256;

/// Returns the capability that an atomic instruction needs for numbers of a width, which the grammar does not tell.
fn typed(opcode: u16, floats: bool, width: u32) -> Option<u32> {
    let capability = match (opcode, floats, width) {
        (op::ATOMIC_F_ADD, true, 16) => Capability::AtomicFloat16AddEXT,
        (op::ATOMIC_F_ADD, true, 32) => Capability::AtomicFloat32AddEXT,
        (op::ATOMIC_F_ADD, true, 64) => Capability::AtomicFloat64AddEXT,
        (op::ATOMIC_F_MIN | op::ATOMIC_F_MAX, true, 16) => Capability::AtomicFloat16MinMaxEXT,
        (op::ATOMIC_F_MIN | op::ATOMIC_F_MAX, true, 32) => Capability::AtomicFloat32MinMaxEXT,
        (op::ATOMIC_F_MIN | op::ATOMIC_F_MAX, true, 64) => Capability::AtomicFloat64MinMaxEXT,
        (_, false, 64) => Capability::Int64Atomics,
        _ => return None,
    };
    Some(capability as u32)
}

fn set(known: &mut [u64], number: u32) {
    if let Some(word) = known.get_mut((number / 64) as usize) {
        *word |= 1 << (number % 64);
    }
}

const COPY_MEMORY: u16 = Op::CopyMemory as u16;
const COPY_SIZED: u16 = Op::CopyMemorySized as u16;
const MEMBER_DECORATE: u16 = Op::MemberDecorate as u16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::Module;

    /// Capability of kernels.
    const KERNEL: u32 = 6;

    /// Returns what a module of instructions, each an opcode with its operands, uses and does not declare.
    fn unmet(capabilities: &[u32], instructions: &[(u32, &[u32])]) -> Vec<String> {
        let declared = capabilities.iter().map(|one| (17, std::slice::from_ref(one)));
        let all = declared.chain(instructions.iter().copied());
        let code = all.flat_map(|(opcode, operands)| {
            let first = (operands.len() as u32 + 1) << 16 | opcode;
            std::iter::once(first).chain(operands.iter().copied())
        });
        let words = [0x0723_0203, 0x0001_0400, 0, 99, 0].into_iter().chain(code);
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        Module::parse(&bytes).unwrap().unusual.into_iter().collect()
    }

    #[test]
    fn what_needs_a_capability_is_told_where_none_of_them_is_declared() {
        type Case = (&'static [u32], (u32, &'static [u32]), &'static str);
        let cases: [Case; 28] = [
            (&[KERNEL], (252, &[]), "OpKill without Shader"),
            (&[KERNEL], (218, &[]), "OpEmitVertex without Geometry"),
            (&[KERNEL], (29, &[1, 2]), "OpTypeRuntimeArray without Shader"),
            (&[KERNEL], (38, &[1, 0]), "OpTypePipe without Pipes"),
            (&[KERNEL], (37, &[1]), "OpTypeQueue without DeviceEnqueue"),
            (&[KERNEL], (24, &[1, 2, 4]), "OpTypeMatrix without Matrix"),
            (&[KERNEL], (5341, &[1]), "OpTypeAccelerationStructureKHR without RayTracingNV"),
            (&[KERNEL], (71, &[1, 9998]), "Decoration 9998 without its capability"),
            (&[KERNEL], (32, &[1, 99, 3]), "StorageClass 99 without its capability"),
            (&[KERNEL], (61, &[1, 2, 3, 0x4000_0000]), "MemoryAccess 0x40000000 without its capability"),
            (&[KERNEL], (23, &[1, 2, 99]), "OpTypeVector 99 without VectorAnyINTEL"),
            (&[KERNEL], (6258, &[1, 2, 3, 4, 5]), "OpPredicatedLoadINTEL without 6257"),
            (&[KERNEL], (6168, &[1, 2, 3]), "OpFSigmoidINTEL without its capability"),
            (&[KERNEL], (25, &[1, 2, 1, 0, 0, 0, 0, 0, 0]), "OpTypeImage without ImageBasic"),
            (&[KERNEL], (71, &[1, 11, 15]), "BuiltIn FragCoord without Shader"),
            (&[KERNEL], (72, &[1, 0, 11, 15]), "BuiltIn FragCoord without Shader"),
            (&[KERNEL], (71, &[1, 2]), "Decoration Block without Shader"),
            (&[KERNEL], (71, &[1, 41, 0x41, 0]), "Decoration LinkageAttributes without Linkage"),
            (&[KERNEL], (71, &[1, 40, 1 << 16]), "FPFastMathMode(ALLOW_CONTRACT) without FloatControls2"),
            (&[KERNEL], (32, &[1, 2, 3]), "StorageClass Uniform without Shader"),
            (&[KERNEL], (15, &[4, 1, 0x6b]), "ExecutionModel Fragment without Shader"),
            (&[KERNEL], (16, &[1, 7]), "ExecutionMode OriginUpperLeft without Shader"),
            (&[KERNEL], (61, &[1, 2, 3, 8, 9]), "MemoryAccess(MAKE_POINTER_AVAILABLE) without VulkanMemoryModel"),
            (&[KERNEL], (63, &[1, 2, 2, 4, 8, 9]), "MemoryAccess(MAKE_POINTER_AVAILABLE) without VulkanMemoryModel"),
            (&[KERNEL], (21, &[1, 64, 0]), "OpTypeInt 64 without Int64"),
            (&[KERNEL], (22, &[1, 16]), "OpTypeFloat 16 without Float16"),
            (&[KERNEL], (23, &[1, 2, 16]), "OpTypeVector 16 without Vector16"),
            (&[KERNEL], (52, &[1, 2, 252]), "OpKill without Shader"),
        ];
        for (capabilities, instruction, told) in cases {
            assert!(unmet(capabilities, &[instruction]).contains(&told.to_owned()), "{told}: {instruction:?}");
        }
        let long: (u32, &[u32]) = (21, &[1, 64, 0]);
        assert_eq!(
            unmet(&[KERNEL, 11], &[long, (234, &[1, 2, 3, 4, 5, 6])]),
            ["OpAtomicIAdd of 64 bits without Int64Atomics"]
        );
        let double: (u32, &[u32]) = (22, &[1, 64]);
        let told = ["OpAtomicFAddEXT of 64 bits without AtomicFloat64AddEXT"];
        assert_eq!(unmet(&[KERNEL, 10, 6033], &[double, (6035, &[1, 2, 3, 4, 5, 6])]), told);
        // The second semantics of an exchange; scope and semantics are constants.
        let exchange: (u32, &[u32]) = (230, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let constants = |semantics| [(43, [9, 4, 1]), (43, [9, 5, 8]), (43, [9, 6, semantics])];
        for (semantics, told) in [(0x40, 1), (0x210, 0)] {
            let constants = constants(semantics);
            let mut all: Vec<(u32, &[u32])> = constants.iter().map(|(code, words)| (*code, &words[..])).collect();
            all.push(exchange);
            let unmet = unmet(&[KERNEL], &all);
            assert_eq!(unmet.len(), told, "{unmet:?}");
        }
    }

    #[test]
    fn what_is_declared_implied_or_needs_nothing_is_not_told() {
        for (capabilities, instruction) in [
            (&[KERNEL][..], (71, &[1, 11, 28][..])),
            (&[], (71, &[1, 11, 28])),
            (&[1], (252, &[])),
            // Geometry implies Shader, which implies Matrix.
            (&[2], (24, &[1, 2, 4])),
            (&[4], (124, &[1, 2, 3])),
            (&[38], (117, &[1, 2, 3])),
            // Explicit SIMD has vectors of any size.
            (&[5617], (23, &[1, 2, 5])),
            (&[7], (23, &[1, 2, 16])),
            (&[9], (22, &[1, 16])),
            (&[KERNEL], (61, &[1, 2, 3, 2, 4])),
            (&[4], (64, &[1, 2, 3, 2, 8])),
            (&[], (63, &[1, 2, 2, 8, 2, 16])),
            (&[5116], (22, &[1, 16, 0])),
            (&[6146], (71, &[1, 6147, 0, 0])),
            (&[6999], (6168, &[1, 2, 3])),
            (&[5], (71, &[1, 41, 0x41, 0])),
            (&[KERNEL], (16, &[1, 35, 16])),
            (&[KERNEL], (331, &[1, 6028, 2, 3])),
            (&[5], (71, &[1, 41, 0x41, 0x7fff_fffe])),
            (&[], (52, &[1, 2, 128, 3, 4])),
        ] {
            assert_eq!(unmet(capabilities, &[instruction]), Vec::<String>::new(), "{instruction:?}");
        }
    }

    #[test]
    fn needs_have_numbers_that_fit() {
        let table = table();
        assert!(table.needs.len() < 1024 && table.probes.len() < 1024, "{}", table.needs.len());
        assert!(UNLISTED.iter().all(|(opcode, _)| grammar::missing().any(|missing| missing == *opcode)));
        let given: Vec<u32> = numbers_given().collect();
        for number in (0..END).filter(|number| given.binary_search(number).is_err()) {
            let kinds =
                [OperandKind::Decoration, OperandKind::BuiltIn, OperandKind::ExecutionMode, OperandKind::StorageClass];
            assert!(kinds.iter().all(|kind| operand(*kind, number).is_none()), "{number}");
            assert!(Capability::from_u32(number).is_none(), "{number}");
        }
    }
}
