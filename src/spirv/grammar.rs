//! How are the operands of an instruction laid out?
//!
//! One table from opcode to operand layout, built once from rspirv's grammar tables and from [`MISSING`], which holds
//! what those lack. A layout holds only what the walk over ids needs: which words are ids, and how many literal words
//! there are.

mod missing;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv::Op;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Kind of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// Id of the result's type.
    ResultType,
    /// Id that the instruction defines.
    Result,
    /// Required id.
    Id,
    /// Optional id.
    OptionalId,
    /// Ids up to the end of the instruction.
    Ids,
    /// One literal word, if a word is left.
    Literal,
    /// A string.
    String,
    /// Literal words up to the end of the instruction.
    Literals,
    /// Mask, then ids up to the end: image and tensor operands.
    MaskThenIds,
    /// Optional memory operands: a mask, then the alignment and ids that its bits ask for.
    MemoryAccess,
    /// Execution mode, then its operands.
    ExecutionMode,
    /// Decoration, then its operands.
    Decoration,
    /// Pairs of id and literal up to the end.
    IdLiteralPairs,
    /// Pairs of literal and id up to the end; a literal is as wide as the selector.
    Cases,
    /// Opcode of another instruction, then its operands without result type and result.
    SpecConstantOp,
    /// Number of an instruction of an extended set, then its operands.
    Extended,
}

/// Operand layout of one opcode.
#[derive(Debug)]
pub(super) struct Layout {
    /// Name without `Op`.
    pub name: &'static str,
    /// Operand words of the result type and of the result.
    pub result_type: Option<u8>,
    pub result: Option<u8>,
    /// Operands in order.
    pub slots: Vec<Slot>,
}

impl Layout {
    fn new(name: &'static str, slots: Vec<Slot>) -> Layout {
        let place = |slot| slots.iter().position(|found| *found == slot).and_then(|at| u8::try_from(at).ok());
        Layout { name, result_type: place(Slot::ResultType), result: place(Slot::Result), slots }
    }
}

/// Layouts of all opcodes, by number. Opcodes end below 8192; higher ones are unknown.
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
        for (opcode, name, signature) in missing::MISSING {
            put(*opcode, Layout::new(name, signature.chars().map(signature_slot).collect()));
        }
        let results = layouts.iter().map(|layout| match layout {
            Some(layout) => layout.result.unwrap_or(NO_RESULT),
            None => UNKNOWN,
        });
        Table { results: results.collect(), layouts }
    })
}

/// Returns the layout of an opcode, or none where no grammar has it.
pub(super) fn layout(opcode: u16) -> Option<&'static Layout> {
    table().layouts.get(usize::from(opcode))?.as_ref()
}

/// Entry of [`results`] for an opcode without a result.
pub(super) const NO_RESULT: u8 = 0xfe;
/// Entry of [`results`] for an opcode that no grammar has.
pub(super) const UNKNOWN: u8 = 0xff;

/// Returns, for each opcode, the position of the result among the operand words. Opcodes past the end are unknown.
pub(super) fn results() -> &'static [u8] {
    &table().results
}

/// Returns the name of an opcode as the specification writes it, or its number where no grammar has it.
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
        // `OpExecutionModeId` and `OpDecorateId` take ids by definition (SPIR-V 1.2), whichever the mode or decoration.
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

/// Returns the operand kind of a letter in the signatures of [`MISSING`].
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

/// Returns the operand kinds after the number of an extended instruction. None means that all operands are ids, as in
/// every set but the oldest.
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

/// Returns the name of an instruction of `OpenCL.std`, or none where the set has no such number.
pub fn opencl_name(number: u32) -> Option<&'static str> {
    static NAMES: OnceLock<HashMap<u32, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let table = rspirv::grammar::ext_inst_table("OpenCL.std").into_iter().flat_map(|table| table.iter());
        table.map(|known| (known.opcode.into(), known.opname)).collect()
    });
    names.get(&number).copied()
}

/// Extended instruction sets that are told apart by operands or meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// `OpenCL.std`: built-in functions.
    OpenClStd,
    /// `OpenCL.DebugInfo.100` and its predecessor `DebugInfo` and sibling `SPIRV.debug`: literals among the ids.
    OpenClDebug,
    /// `NonSemantic.Shader.DebugInfo.100` and `.200`, and `NonSemantic.Kernel.DebugInfo.100`: ids alone.
    ShaderDebug,
    /// Any other set; all operands are ids.
    Other,
}

impl Set {
    /// Returns the set that a name in `OpExtInstImport` stands for.
    pub fn from_name(name: &str) -> Set {
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
        for (opcode, name, _) in missing::MISSING {
            let theirs = INSTRUCTION_TABLE.iter().find(|known| known.opcode as u16 == *opcode);
            let corrected = missing::WITHOUT_RESULT.contains(opcode);
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
