//! How are the operands of an instruction laid out?
//!
//! One table, opcode to layout, compiled once from rspirv's grammar tables and from `missing`, which holds what those
//! lack. A layout knows only what matters to whoever follows ids: which words are ids, and how long the rest is.

mod missing;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv::Op;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What stands at one place of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The id of the result's type.
    ResultType,
    /// The id that the instruction defines.
    Result,
    /// An id that must be there.
    Id,
    /// An id that may be there.
    OptionalId,
    /// Ids to the end.
    Ids,
    /// One word that is no id, where there is one left.
    Literal,
    /// A string.
    String,
    /// Words to the end that are no ids.
    Literals,
    /// A mask, then ids to the end: image and tensor operands.
    MaskThenIds,
    /// A mask with an alignment and ids behind it, where there is a word left.
    MemoryAccess,
    /// An execution mode, then what it takes.
    ExecutionMode,
    /// A decoration, then what it takes.
    Decoration,
    /// Pairs of id and literal to the end.
    IdLiteralPairs,
    /// Pairs of literal and id to the end; the literal is as wide as the selector.
    Cases,
    /// The opcode of another instruction, then its operands without type and result.
    SpecConstantOp,
    /// The number of an instruction of an extended set, then its operands.
    Extended,
}

/// The layout of one opcode.
#[derive(Debug)]
pub(super) struct Layout {
    /// The name without `Op`.
    pub name: &'static str,
    /// Which operand words are the result's type and the result.
    pub result_type: Option<u8>,
    pub result: Option<u8>,
    /// The places in order.
    pub slots: Vec<Slot>,
}

impl Layout {
    fn new(name: &'static str, slots: Vec<Slot>) -> Layout {
        let place = |slot| slots.iter().position(|found| *found == slot).and_then(|at| u8::try_from(at).ok());
        Layout { name, result_type: place(Slot::ResultType), result: place(Slot::Result), slots }
    }
}

/// The layouts of all opcodes, by number. Opcodes end below 8192; what is beyond is unknown.
struct Table {
    layouts: Vec<Option<Layout>>,
    /// See [`results`].
    results: Vec<u8>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut layouts: Vec<Option<Layout>> = Vec::new();
        let mut put = |opcode: u16, layout: Layout| {
            let at = usize::from(opcode);
            if layouts.len() <= at {
                layouts.resize_with(at.saturating_add(1), || None);
            }
            if let Some(place) = layouts.get_mut(at) {
                *place = Some(layout);
            }
        };
        for known in INSTRUCTION_TABLE.iter() {
            let slots = known.operands.iter().map(|operand| slot(known.opcode, operand.kind, operand.quantifier));
            put(known.opcode as u16, Layout::new(known.opname, slots.collect()));
        }
        for (opcode, name, signature) in missing::INSTRUCTIONS {
            put(*opcode, Layout::new(name, signature.chars().map(signature_slot).collect()));
        }
        let results = layouts.iter().map(|layout| match layout {
            Some(layout) => layout.result.unwrap_or(NO_RESULT),
            None => UNKNOWN,
        });
        Table { results: results.collect(), layouts }
    })
}

/// The layout of an opcode; none where no grammar knows it.
pub(super) fn layout(opcode: u16) -> Option<&'static Layout> {
    table().layouts.get(usize::from(opcode))?.as_ref()
}

/// Among [`results`]: the instruction has none.
pub(super) const NO_RESULT: u8 = 0xfe;
/// Among [`results`]: no grammar knows the opcode.
pub(super) const UNKNOWN: u8 = 0xff;

/// For the walk over a module: the place of each opcode's result among its operand words. Opcodes beyond are unknown.
pub(super) fn results() -> &'static [u8] {
    &table().results
}

/// The name of an opcode as the specification writes it; its number where no grammar knows it.
pub fn name(opcode: u16) -> String {
    layout(opcode).map_or_else(|| format!("OpUnknown({opcode})"), |layout| format!("Op{}", layout.name))
}

fn slot(opcode: Op, kind: OperandKind, quantifier: OperandQuantifier) -> Slot {
    let many = quantifier == OperandQuantifier::ZeroOrMore;
    match kind {
        OperandKind::IdResultType => Slot::ResultType,
        OperandKind::IdResult => Slot::Result,
        OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => match quantifier {
            OperandQuantifier::One => Slot::Id,
            OperandQuantifier::ZeroOrOne => Slot::OptionalId,
            OperandQuantifier::ZeroOrMore => Slot::Ids,
        },
        OperandKind::PairIdRefIdRef => Slot::Ids,
        OperandKind::PairIdRefLiteralInteger => Slot::IdLiteralPairs,
        OperandKind::PairLiteralIntegerIdRef => Slot::Cases,
        OperandKind::LiteralString => Slot::String,
        OperandKind::LiteralContextDependentNumber | OperandKind::LoopControl => Slot::Literals,
        OperandKind::LiteralExtInstInteger => Slot::Extended,
        OperandKind::LiteralSpecConstantOpInteger => Slot::SpecConstantOp,
        OperandKind::ImageOperands | OperandKind::TensorAddressingOperands | OperandKind::TensorOperands => {
            Slot::MaskThenIds
        }
        OperandKind::MemoryAccess => Slot::MemoryAccess,
        // What these take is ids by definition of the instruction (SPIR-V 1.2), whichever the mode or decoration.
        OperandKind::ExecutionMode | OperandKind::Decoration
            if matches!(opcode, Op::ExecutionModeId | Op::DecorateId) =>
        {
            Slot::MaskThenIds
        }
        OperandKind::ExecutionMode => Slot::ExecutionMode,
        OperandKind::Decoration => Slot::Decoration,
        _ if many => Slot::Literals,
        _ => Slot::Literal,
    }
}

/// The slots that the signatures in [`missing`] spell, one letter each.
fn signature_slot(letter: char) -> Slot {
    match letter {
        'T' => Slot::ResultType,
        'R' => Slot::Result,
        'I' => Slot::Id,
        'i' => Slot::OptionalId,
        '*' => Slot::Ids,
        'M' => Slot::MemoryAccess,
        'O' => Slot::MaskThenIds,
        'L' => Slot::Literal,
        _ => Slot::Literals,
    }
}

/// The layout of what follows the number of an extended instruction: none where everything is an id, as in all sets
/// but those that are older than this rule.
pub(super) fn extended(set: Set, number: u32) -> Option<&'static [Slot]> {
    static TABLES: OnceLock<[HashMap<u32, Vec<Slot>>; 2]> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        ["OpenCL.std", "OpenCL.DebugInfo.100"].map(|name| {
            let table = rspirv::grammar::ext_inst_table(name).into_iter().flat_map(|table| table.iter());
            let slots = |operands: &[rspirv::grammar::LogicalOperand]| {
                operands.iter().map(|operand| slot(Op::ExtInst, operand.kind, operand.quantifier)).collect()
            };
            table.map(|known| (known.opcode.into(), slots(known.operands))).collect()
        })
    });
    let [std, debug] = tables;
    match set {
        Set::OpenClStd => std.get(&number).map(Vec::as_slice),
        Set::OpenClDebug => debug.get(&number).map(Vec::as_slice),
        Set::ShaderDebug | Set::Other => None,
    }
}

/// The name of an instruction of `OpenCL.std`; none where the set has no such number.
pub fn opencl_name(number: u32) -> Option<&'static str> {
    static NAMES: OnceLock<HashMap<u32, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let table = rspirv::grammar::ext_inst_table("OpenCL.std").into_iter().flat_map(|table| table.iter());
        table.map(|known| (known.opcode.into(), known.opname)).collect()
    });
    names.get(&number).copied()
}

/// The extended instruction sets whose operands or meaning matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// `OpenCL.std`: built-in functions.
    OpenClStd,
    /// `OpenCL.DebugInfo.100` and its predecessor `DebugInfo` and sibling `SPIRV.debug`: literals among the ids.
    OpenClDebug,
    /// `NonSemantic.Shader.DebugInfo.100` and `.200`, and `NonSemantic.Kernel.DebugInfo.100`: ids alone.
    ShaderDebug,
    /// Any other set, of ids alone.
    Other,
}

impl Set {
    /// The set of a name in `OpExtInstImport`.
    pub fn of(name: &str) -> Set {
        match name {
            "OpenCL.std" => Set::OpenClStd,
            "OpenCL.DebugInfo.100" | "SPIRV.debug" | "DebugInfo" => Set::OpenClDebug,
            _ if name.starts_with("NonSemantic.Shader.DebugInfo") => Set::ShaderDebug,
            _ if name.starts_with("NonSemantic.Kernel.DebugInfo") => Set::ShaderDebug,
            _ => Set::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rspirv_lacks_is_added_and_nothing_else() {
        for (opcode, name, _) in missing::INSTRUCTIONS {
            let theirs = INSTRUCTION_TABLE.iter().find(|known| known.opcode as u16 == *opcode);
            let corrected = missing::CORRECTED.contains(opcode);
            assert_eq!(theirs.is_some(), corrected, "{opcode} {name}: rspirv has it as {theirs:?}");
        }
    }

    #[test]
    fn layouts_are_those_of_the_specification() {
        use Slot::*;
        for (opcode, slots) in [
            (Op::FMul, &[ResultType, Result, Id, Id][..]),
            (Op::Store, &[Id, Id, MemoryAccess]),
            (Op::Phi, &[ResultType, Result, Ids]),
            (Op::Switch, &[Id, Id, Cases]),
            (Op::EntryPoint, &[Literal, Id, String, Ids]),
            (Op::DecorateId, &[Id, MaskThenIds]),
            (Op::AliasScopeDeclINTEL, &[Result, Id, OptionalId]),
        ] {
            assert_eq!(layout(opcode as u16).unwrap().slots, slots, "{opcode:?}");
        }
        assert_eq!(name(133), "OpFMul");
        assert_eq!(name(8000), "OpUnknown(8000)");
        assert_eq!(opencl_name(61), Some("sqrt"));
    }
}
