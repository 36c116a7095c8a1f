//! Which instructions, enumerants and types does a subset use?
//!
//! Recorded during the walk over a subset; the capabilities and extensions that stay are chosen by it at the end.

use crate::spirv::index::{Index, LinkageKind};
use crate::spirv::op;
use crate::spirv::words::Instruction;
use rspirv::spirv::{Decoration, Op};

/// Bits for types and typed instructions.
pub(super) mod kind {
    pub const INT8: u32 = 1;
    pub const INT16: u32 = 2;
    pub const INT64: u32 = 4;
    pub const OTHER_INT: u32 = 8;
    pub const HALF: u32 = 0x10;
    pub const DOUBLE: u32 = 0x20;
    pub const LONG_VECTOR: u32 = 0x40;
    pub const OTHER_VECTOR: u32 = 0x80;
    pub const ATOMIC_INT64: u32 = 0x100;
    pub const ADD_HALF: u32 = 0x200;
    pub const ADD_FLOAT: u32 = 0x400;
    pub const ADD_DOUBLE: u32 = 0x800;
    pub const EXTREME_HALF: u32 = 0x1000;
    pub const EXTREME_FLOAT: u32 = 0x2000;
    pub const EXTREME_DOUBLE: u32 = 0x4000;
    /// Floating-point atomic of any other type.
    pub const OTHER_ATOMIC: u32 = 0x8000;
    pub const LINK_ONCE: u32 = 0x1_0000;
    pub const ENTRY_POINT: u32 = 0x2_0000;
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
            // Its operands are ids, not numbers of built-ins or modes, whatever the decoration.
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
