//! Which capabilities and extensions does a subset still need?
//!
//! Only declared capabilities stay. One is removed only where everything that could need it is known ([`REMOVABLE`])
//! and nothing in the subset does; an extension only where it belongs to such capabilities (or is in
//! [`REMOVABLE_EXTENSIONS`]). Needs come from rspirv's grammar and, for types and typed atomics, from the
//! specification's rules (SPIR-V, section 3.42, and the extensions' own texts).
//!
//! Uses are recorded during the walk over a subset; at its end they decide which capabilities and extensions stay.

use super::emit::non_semantic;
use crate::spirv::grammar::{self, Slot};
use crate::spirv::index::{Index, LinkageKind};
use crate::spirv::op;
use crate::spirv::words::Instruction;
use rspirv::dr::Operand;
use rspirv::grammar::INSTRUCTION_TABLE;
use rspirv::spirv as s;
use rspirv::spirv::{Decoration, Op};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// Capabilities that may be removed. Each is needed only by opcodes, by enumerants that [`Usage`] records, or by the
/// types of [`typed`].
#[rustfmt::skip]
pub(super) const REMOVABLE: &[u32] = &[
    // Linkage, Vector16, Float16Buffer, Float16, Float64, Int64, Int64Atomics, images, Pipes, Groups, DeviceEnqueue
    5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19,
    // LiteralSampler, Int16, GenericPointer, Int8, dimensions of images, SubgroupDispatch, NamedBarrier, PipeStorage
    20, 22, 38, 39, 43, 44, 46, 47, 58, 59, 60,
    // GroupNonUniform and its kin, SubgroupBallotKHR, SubgroupVoteKHR, ShaderClockKHR
    61, 62, 63, 64, 65, 66, 67, 68, 4423, 4431, 5055,
    // Intel's subgroup operations, IntegerFunctions2INTEL, atomics of floating-point numbers
    5568, 5569, 5570, 5579, 5584, 5612, 5613, 5616, 6033, 6034, 6095,
    // Function pointers, inline assembly, VectorComputeINTEL, VectorAnyINTEL, ExpectAssumeKHR
    5603, 5604, 5606, 5617, 5619, 5629,
    // FPFastMathModeINTEL, arbitrary integers, loop controls, KernelAttributesINTEL, MemoryAccessAliasingINTEL
    5837, 5844, 5886, 5892, 5910,
    // CooperativeMatrixKHR, BitInstructions, OptNoneEXT, BFloat16ConversionINTEL, SplitBarrierINTEL
    6022, 6025, 6094, 6115, 6141,
    // Global variable decorations of Intel (not published), GroupUniformArithmeticKHR, BindlessImagesINTEL
    GLOBAL_VARIABLE_DECORATIONS, 6400, 6528,
];

/// Capability of `SPV_INTEL_global_variable_decorations`, which DPC++ writes and which is not published.
const GLOBAL_VARIABLE_DECORATIONS: u32 = 6146;

/// Decorations of that extension: `HostAccessINTEL` and `InitModeINTEL` with their old numbers, `ImplementInCSRINTEL`.
const HOST_ACCESS: [u32; 3] = [6147, 6148, 6149];

/// Extensions that may be removed besides those of removable capabilities.
const REMOVABLE_EXTENSIONS: [&str; 4] = [
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_linkonce_odr",
    "SPV_KHR_non_semantic_info",
    "SPV_INTEL_global_variable_decorations",
];

/// Capabilities and extensions that a subset needs.
#[derive(Debug)]
pub(super) struct RequiredFeatures {
    capabilities: Vec<u32>,
    extensions: Vec<&'static str>,
    non_semantic: bool,
    link_once: bool,
}

/// Alternatives of which a use needs one: capabilities, and extensions.
type Need = (Vec<u32>, Vec<&'static str>);

impl RequiredFeatures {
    /// Selects from a module's capabilities and extensions those that the usage in a subset needs. `is_live` tells
    /// whether the subset has an id.
    pub(super) fn select(index: &Index<'_>, usage: &Usage, is_live: impl Fn(u32) -> bool) -> RequiredFeatures {
        let declared = &index.capabilities;
        let mut kept: Vec<u32> = declared.iter().copied().filter(|number| !REMOVABLE.contains(number)).collect();
        let mut implied = closure(&kept);
        let needs = needs(usage);
        // Needs without alternatives come first: they may satisfy those with alternatives.
        for several in [false, true] {
            for (capabilities, _) in needs.iter().filter(|(capabilities, _)| (capabilities.len() > 1) == several) {
                if capabilities.is_empty() || capabilities.iter().any(|number| implied.contains(number)) {
                    continue;
                }
                // A capability that is declared only through another that implies it keeps that other one.
                let direct = |number: &u32| capabilities.contains(number);
                let found: Vec<u32> = declared.iter().copied().filter(direct).collect();
                let found = if found.is_empty() {
                    let implies =
                        |number: &u32| closure(&[*number]).iter().any(|implied| capabilities.contains(implied));
                    declared.iter().copied().filter(implies).collect()
                } else {
                    found
                };
                implied.extend(closure(&found));
                kept.extend(found);
            }
        }
        let mut extensions: Vec<&'static str> = needs.into_iter().flat_map(|(_, extensions)| extensions).collect();
        extensions.extend(kept.iter().flat_map(|number| extensions_of(*number)));
        if kept.contains(&GLOBAL_VARIABLE_DECORATIONS) {
            extensions.push("SPV_INTEL_global_variable_decorations");
        }
        let end = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        let mut imports = index.instructions(0..end).take_while(|(_, found)| found.opcode != op::MEMORY_MODEL);
        let live = imports.any(|(_, import)| non_semantic(index, &import) && is_live(import.word(0)));
        RequiredFeatures {
            capabilities: kept,
            extensions,
            non_semantic: live,
            link_once: usage.kinds & kind::LINK_ONCE != 0,
        }
    }

    /// Whether a declared capability stays.
    pub(super) fn capability(&self, number: u32) -> bool {
        self.capabilities.contains(&number)
    }

    /// Whether a declared extension stays.
    pub(super) fn extension(&self, name: &str) -> bool {
        match name {
            "SPV_KHR_non_semantic_info" => self.non_semantic,
            "SPV_KHR_linkonce_odr" => self.link_once,
            _ => self.extensions.contains(&name) || !judged_extensions().contains(name),
        }
    }
}

type Known = rspirv::grammar::Instruction<'static>;

/// Returns the grammar's entry for an opcode.
fn instruction(opcode: u16) -> Option<&'static Known> {
    static TABLE: OnceLock<HashMap<u16, &'static Known>> = OnceLock::new();
    TABLE
        .get_or_init(|| INSTRUCTION_TABLE.iter().map(|known| (known.opcode as u16, known)).collect())
        .get(&opcode)
        .copied()
}

/// Returns the extensions of the removable capabilities.
fn judged_extensions() -> &'static HashSet<&'static str> {
    static NAMES: OnceLock<HashSet<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        REMOVABLE.iter().flat_map(|number| extensions_of(*number)).chain(REMOVABLE_EXTENSIONS).collect()
    })
}

fn of_capability(number: u32) -> Option<Operand> {
    s::Capability::from_u32(number).map(Operand::Capability)
}

fn extensions_of(capability: u32) -> Vec<&'static str> {
    of_capability(capability).map(|operand| operand.required_extensions()).unwrap_or_default()
}

/// Returns capabilities with all that they imply.
fn closure(capabilities: &[u32]) -> Vec<u32> {
    let mut all = capabilities.to_vec();
    let mut next = 0;
    while let Some(number) = all.get(next).copied() {
        let implied = of_capability(number).map(|operand| operand.required_capabilities()).unwrap_or_default();
        for implied in implied.into_iter().map(|implied| implied as u32) {
            if !all.contains(&implied) {
                all.push(implied);
            }
        }
        next = next.saturating_add(1);
    }
    all
}

fn needs(usage: &Usage) -> Vec<Need> {
    let numbers = |all: &[s::Capability]| all.iter().map(|one| *one as u32).collect::<Vec<u32>>();
    let mut needs: Vec<Need> = Vec::new();
    let mut memory = usage.memory_access;
    for opcode in usage.opcodes() {
        if grammar::layout(opcode).is_some_and(|layout| layout.slots.contains(&Slot::MemoryAccess))
            && !MEMORY.contains(&opcode)
        {
            memory = u32::MAX;
        }
        let typed = matches!(opcode, op::ATOMIC_F_MIN | op::ATOMIC_F_MAX | op::ATOMIC_F_ADD)
            && usage.kinds & kind::OTHER_ATOMIC == 0;
        if let Some(known) = instruction(opcode).filter(|_| !typed) {
            needs.push((numbers(known.capabilities), known.extensions.to_vec()));
        }
    }
    let of = |operand: Option<Operand>| -> Need {
        operand
            .map(|operand| (numbers(&operand.required_capabilities()), operand.required_extensions()))
            .unwrap_or_default()
    };
    let bits = |mask: u32| (0..32).map(move |bit| mask & 1u32 << bit).filter(|bit| *bit != 0);
    needs.extend(bits(memory).map(|bit| of(s::MemoryAccess::from_bits(bit).map(Operand::MemoryAccess))));
    let controls = bits(usage.function_control);
    needs.extend(controls.map(|bit| of(s::FunctionControl::from_bits(bit).map(Operand::FunctionControl))));
    let modes = bits(usage.fast_math);
    needs.extend(modes.map(|bit| of(s::FPFastMathMode::from_bits(bit).map(Operand::FPFastMathMode))));
    let each = |list: &[u32], operand: fn(u32) -> Option<Operand>| -> Vec<Need> {
        list.iter().map(|number| of(operand(*number))).collect()
    };
    needs.extend(each(&usage.storage_classes, |n| s::StorageClass::from_u32(n).map(Operand::StorageClass)));
    needs.extend(each(&usage.decorations, |n| s::Decoration::from_u32(n).map(Operand::Decoration)));
    needs.extend(each(&usage.built_ins, |n| s::BuiltIn::from_u32(n).map(Operand::BuiltIn)));
    needs.extend(each(&usage.modes, |n| s::ExecutionMode::from_u32(n).map(Operand::ExecutionMode)));
    needs.extend(each(&usage.group_operations, |n| s::GroupOperation::from_u32(n).map(Operand::GroupOperation)));
    needs.extend(typed(usage).into_iter().map(|capability| (vec![capability], Vec::new())));
    needs
}

/// Returns the capabilities of types, of typed atomics, and of uses that the grammar does not describe.
fn typed(usage: &Usage) -> Vec<u32> {
    const BY_KIND: &[(u32, &[u32])] = &[
        (kind::INT8, &[39]),
        (kind::INT16, &[22]),
        (kind::INT64, &[11]),
        (kind::OTHER_INT, &[5844]),
        (kind::HALF, &[8, 9]),
        (kind::DOUBLE, &[10]),
        (kind::LONG_VECTOR, &[7]),
        (kind::OTHER_VECTOR, &[7, 5617, 5619]),
        (kind::ATOMIC_INT64, &[12]),
        (kind::ADD_HALF, &[6095]),
        (kind::ADD_FLOAT, &[6033]),
        (kind::ADD_DOUBLE, &[6034]),
        (kind::EXTREME_HALF, &[5616]),
        (kind::EXTREME_FLOAT, &[5612]),
        (kind::EXTREME_DOUBLE, &[5613]),
    ];
    /// Formats, dimensions and access qualifiers of images: all of them stay where the subset has images.
    const OF_IMAGES: [u32; 9] = [13, 14, 15, 20, 43, 44, 46, 47, 6528];
    let mut found: Vec<u32> = Vec::new();
    for (kind, capabilities) in BY_KIND {
        if usage.kinds & kind != 0 {
            found.extend_from_slice(capabilities);
        }
    }
    if usage.opcodes().any(|opcode| matches!(opcode, op::TYPE_IMAGE | op::TYPE_SAMPLER | op::TYPE_SAMPLED_IMAGE)) {
        found.extend(OF_IMAGES);
    }
    if usage.decorations.iter().any(|decoration| HOST_ACCESS.contains(decoration)) {
        found.push(GLOBAL_VARIABLE_DECORATIONS);
    }
    // A module without entry points is meant to be linked.
    if usage.kinds & kind::ENTRY_POINT == 0 {
        found.push(5);
    }
    found
}

/// Bits for types and typed instructions.
pub(super) mod kind {
    pub(crate) const INT8: u32 = 1;
    pub(crate) const INT16: u32 = 2;
    pub(crate) const INT64: u32 = 4;
    pub(crate) const OTHER_INT: u32 = 8;
    pub(crate) const HALF: u32 = 0x10;
    pub(crate) const DOUBLE: u32 = 0x20;
    pub(crate) const LONG_VECTOR: u32 = 0x40;
    pub(crate) const OTHER_VECTOR: u32 = 0x80;
    pub(crate) const ATOMIC_INT64: u32 = 0x100;
    pub(crate) const ADD_HALF: u32 = 0x200;
    pub(crate) const ADD_FLOAT: u32 = 0x400;
    pub(crate) const ADD_DOUBLE: u32 = 0x800;
    pub(crate) const EXTREME_HALF: u32 = 0x1000;
    pub(crate) const EXTREME_FLOAT: u32 = 0x2000;
    pub(crate) const EXTREME_DOUBLE: u32 = 0x4000;
    /// Floating-point atomic of any other type.
    pub(crate) const OTHER_ATOMIC: u32 = 0x8000;
    pub(crate) const LINK_ONCE: u32 = 0x1_0000;
    pub(crate) const ENTRY_POINT: u32 = 0x2_0000;
}

/// Opcodes, enumerants and types that a subset uses.
#[derive(Debug)]
pub(super) struct Usage {
    opcodes: [u64; 128],
    /// Bits of [`kind`].
    pub(super) kinds: u32,
    /// Union of all memory operands, function controls and fast-math modes.
    pub(super) memory_access: u32,
    pub(super) function_control: u32,
    pub(super) fast_math: u32,
    pub(super) storage_classes: Vec<u32>,
    pub(super) decorations: Vec<u32>,
    pub(super) built_ins: Vec<u32>,
    pub(super) modes: Vec<u32>,
    pub(super) group_operations: Vec<u32>,
}

impl Default for Usage {
    fn default() -> Self {
        Usage {
            opcodes: [0; 128],
            kinds: 0,
            memory_access: 0,
            function_control: 0,
            fast_math: 0,
            storage_classes: Vec::new(),
            decorations: Vec::new(),
            built_ins: Vec::new(),
            modes: Vec::new(),
            group_operations: Vec::new(),
        }
    }
}

fn add(list: &mut Vec<u32>, number: u32) {
    if !list.contains(&number) {
        list.push(number);
    }
}

const COPY_MEMORY: u16 = Op::CopyMemory as u16;
const COPY_MEMORY_SIZED: u16 = Op::CopyMemorySized as u16;
const MEMBER_DECORATE: u16 = Op::MemberDecorate as u16;
const MEMBER_DECORATE_STRING: u16 = Op::MemberDecorateString as u16;
const FIRST_GROUP: u16 = Op::GroupIAdd as u16;
const LAST_GROUP: u16 = Op::GroupSMax as u16;
const BALLOT_BIT_COUNT: u16 = Op::GroupNonUniformBallotBitCount as u16;
const FIRST_UNIFORM: u16 = Op::GroupIMulKHR as u16;
const LAST_UNIFORM: u16 = Op::GroupLogicalXorKHR as u16;

/// Opcodes whose memory operands are recorded.
pub(super) const MEMORY: [u16; 4] = [op::LOAD, op::STORE, COPY_MEMORY, COPY_MEMORY_SIZED];

impl Usage {
    /// Records that the subset has an entry point.
    pub(super) fn entry_point(&mut self) {
        self.kinds |= kind::ENTRY_POINT;
    }

    fn opcode(&mut self, opcode: u16) {
        if let Some(word) = self.opcodes.get_mut(usize::from(opcode >> 6)) {
            *word |= 1 << (opcode & 63);
        }
    }

    /// Returns the opcodes, including those within `OpSpecConstantOp`.
    pub(super) fn opcodes(&self) -> impl Iterator<Item = u16> + '_ {
        (0..)
            .zip(&self.opcodes)
            .filter(|(_, word)| **word != 0)
            .flat_map(|(high, word)| (0..64u16).filter(move |low| word >> low & 1 != 0).map(move |low| high << 6 | low))
    }

    /// Records the uses of an instruction.
    #[inline]
    pub(super) fn record(&mut self, index: &Index<'_>, instruction: &Instruction<'_>) {
        self.opcode(instruction.opcode);
        match instruction.opcode {
            op::LOAD | COPY_MEMORY_SIZED => self.memory_access |= instruction.word(3),
            // A second mask may follow the first; the operands between them set no bit that matters.
            op::STORE | COPY_MEMORY => {
                self.memory_access |= instruction.word(2);
                if instruction.opcode == COPY_MEMORY && instruction.len() > 3 {
                    self.memory_access = u32::MAX;
                }
            }
            op::FUNCTION => self.function_control |= instruction.word(2),
            op::TYPE_INT => {
                self.kinds |= match instruction.word(1) {
                    8 => kind::INT8,
                    16 => kind::INT16,
                    32 => 0,
                    64 => kind::INT64,
                    _ => kind::OTHER_INT,
                }
            }
            // Formats other than IEEE have a third operand and are none of these types.
            op::TYPE_FLOAT if instruction.len() == 2 => {
                self.kinds |= match instruction.word(1) {
                    16 => kind::HALF,
                    64 => kind::DOUBLE,
                    _ => 0,
                }
            }
            op::TYPE_VECTOR => {
                self.kinds |= match instruction.word(2) {
                    2..=4 => 0,
                    8 | 16 => kind::LONG_VECTOR,
                    _ => kind::OTHER_VECTOR,
                }
            }
            op::TYPE_POINTER | op::TYPE_UNTYPED_POINTER => add(&mut self.storage_classes, instruction.word(1)),
            op::VARIABLE | op::UNTYPED_VARIABLE => add(&mut self.storage_classes, instruction.word(2)),
            op::TYPE_FORWARD_POINTER => add(&mut self.storage_classes, instruction.word(1)),
            op::DECORATE | op::DECORATE_STRING => self.decoration(instruction, 1),
            // The operands of OpDecorateId are ids, not numbers of built-ins or modes, whatever the decoration.
            op::DECORATE_ID => add(&mut self.decorations, instruction.word(1)),
            MEMBER_DECORATE | MEMBER_DECORATE_STRING => self.decoration(instruction, 2),
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => add(&mut self.modes, instruction.word(1)),
            op::SPEC_CONSTANT_OP => self.opcode(u16::try_from(instruction.word(2)).unwrap_or(0)),
            op::ATOMIC_STORE => self.atomic(index, instruction, index.type_of(instruction.word(3))),
            op::ATOMIC_LOAD..=op::ATOMIC_XOR | op::ATOMIC_F_MIN | op::ATOMIC_F_MAX | op::ATOMIC_F_ADD => {
                self.atomic(index, instruction, Some(instruction.word(0)));
            }
            FIRST_GROUP..=LAST_GROUP
            | BALLOT_BIT_COUNT
            | op::NON_UNIFORM_I_ADD..=op::NON_UNIFORM_LOGICAL_XOR
            | FIRST_UNIFORM..=LAST_UNIFORM => add(&mut self.group_operations, instruction.word(3)),
            _ => {}
        }
    }

    fn decoration(&mut self, instruction: &Instruction<'_>, at: usize) {
        const BUILT_IN: u32 = Decoration::BuiltIn as u32;
        const FAST_MATH: u32 = Decoration::FPFastMathMode as u32;
        const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
        let number = instruction.word(at);
        add(&mut self.decorations, number);
        let operand = at.saturating_add(1);
        match number {
            BUILT_IN => add(&mut self.built_ins, instruction.word(operand)),
            FAST_MATH => self.fast_math |= instruction.word(operand),
            LINKAGE => {
                let kind = LinkageKind::from_number(instruction.word(instruction.after_string(operand)));
                if kind == LinkageKind::LinkOnceOdr {
                    self.kinds |= kind::LINK_ONCE;
                }
            }
            _ => {}
        }
    }

    fn atomic(&mut self, index: &Index<'_>, instruction: &Instruction<'_>, of: Option<u32>) {
        let Some(of) = of.and_then(|id| index.defining(id)) else { return };
        self.kinds |= match (of.opcode, of.word(1), instruction.opcode) {
            (op::TYPE_INT, 64, _) => kind::ATOMIC_INT64,
            (op::TYPE_FLOAT, 16, op::ATOMIC_F_ADD) => kind::ADD_HALF,
            (op::TYPE_FLOAT, 32, op::ATOMIC_F_ADD) => kind::ADD_FLOAT,
            (op::TYPE_FLOAT, 64, op::ATOMIC_F_ADD) => kind::ADD_DOUBLE,
            (op::TYPE_FLOAT, 16, op::ATOMIC_F_MIN | op::ATOMIC_F_MAX) => kind::EXTREME_HALF,
            (op::TYPE_FLOAT, 32, op::ATOMIC_F_MIN | op::ATOMIC_F_MAX) => kind::EXTREME_FLOAT,
            (op::TYPE_FLOAT, 64, op::ATOMIC_F_MIN | op::ATOMIC_F_MAX) => kind::EXTREME_DOUBLE,
            (_, _, op::ATOMIC_F_ADD | op::ATOMIC_F_MIN | op::ATOMIC_F_MAX) => kind::OTHER_ATOMIC,
            _ => 0,
        };
    }
}
