//! How are the operands of an instruction laid out?
//!
//! One table from opcode to operand layout, built once from rspirv's grammar tables and from [`MISSING`], which holds
//! what those lack. A layout holds only what the walk over ids needs: which words are ids, and how many literal words
//! there are.
//!
//! Instructions missing from rspirv's tables come from `spirv.core.grammar.json` of SPIRV-Headers 1.6.7 (2026-08);
//! those that Intel has not published come from `spirv_internal.hpp` and `SPIRVInstruction.h` of the SPIR-V/LLVM
//! translator (2026-08), where a template's literal indices tell ids from literals.

use super::words::Instruction;
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv::{Capability, Op};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
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
    pub(crate) name: &'static str,
    /// Operand words of the result type and of the result.
    pub(crate) result_type: Option<u8>,
    pub(crate) result: Option<u8>,
    /// Operands in order.
    pub(crate) slots: Vec<Slot>,
    /// Number of the operands that it has at least.
    least: u8,
    /// Number of the operand words that it has at most; `u8::MAX` where the instruction may be as long as it likes.
    most: u8,
}

impl Layout {
    fn new(name: &'static str, slots: Vec<Slot>, least: usize) -> Layout {
        let place = |slot| slots.iter().position(|found| *found == slot).and_then(|at| u8::try_from(at).ok());
        let is_word =
            |slot: &Slot| matches!(slot, Slot::ResultType | Slot::Result | Slot::Id | Slot::OptionalId | Slot::Literal);
        let most = Some(slots.len()).filter(|_| slots.iter().all(is_word));
        Layout {
            name,
            result_type: place(Slot::ResultType),
            result: place(Slot::Result),
            slots,
            least: u8::try_from(least).unwrap_or(u8::MAX),
            most: most.and_then(|most| u8::try_from(most).ok()).unwrap_or(u8::MAX),
        }
    }
}

/// Layouts of all opcodes, by number. Opcodes end below 8192; higher ones are unknown.
struct Table {
    layouts: Vec<Option<Layout>>,
    shapes: Shapes,
}

/// Shapes of all opcodes, by number.
#[derive(Debug)]
pub(super) struct Shapes(Vec<Shape>);

/// Operand words of an opcode, as far as walks over whole modules ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Position of the result among the operand words; [`NO_RESULT`] or [`UNKNOWN`] where none is known.
    pub(super) result: u8,
    /// The number of operand words before the first that is no id; [`ALL_IDS`] where each is one. Of names and unknown opcodes
    /// none counts.
    pub(super) ids: u8,
    /// Position from which on all operand words are ids, behind one that is none; [`NO_TAIL`] where there are none, or not known.
    pub(super) tail: u8,
    /// Whether it declares a type.
    pub(super) is_type: bool,
    /// Whether one of its operands is a text.
    pub(super) has_text: bool,
    /// Number of the operand words that it has at least.
    pub(super) least: u8,
    /// Number of those that it has at most; `u8::MAX` for no bound.
    pub(super) most: u8,
    /// Section of a module that it stands in.
    pub(super) section: Section,
}

/// Sections of a module, in their order (SPIR-V, "Logical Layout of a Module"), as far as drivers ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Section {
    /// Not known, or anywhere.
    #[default]
    Any,
    /// Needs of a module, and its entry points with their modes.
    Preamble,
    /// Texts, names and sources.
    Debug,
    Annotations,
    /// Types, constants and what else is declared before the functions.
    Declarations,
    /// Blocks of functions.
    Code,
}

/// Returns the section of an opcode.
fn section(opcode: u16, layout: &Layout) -> Section {
    const VARIANTS: std::ops::RangeInclusive<u16> = 6248..=6253;
    let begins = |heads: &[&str]| heads.iter().any(|head| layout.name.starts_with(head));
    match opcode {
        10 | 11 | 14..=17 | 331 => Section::Preamble,
        2..=7 | 330 => Section::Debug,
        71..=75 | 332 | 5632 | 5633 => Section::Annotations,
        // Nothing, undefined values, lines, extended instructions, functions, variables.
        0 | 1 | 8 | 12 | 54 | 56 | 59 | 317 | 4418 | 5158 => Section::Any,
        _ if VARIANTS.contains(&opcode) || begins(&["Alias", "Asm"]) => Section::Any,
        _ if is_type(opcode, layout) || begins(&["Type", "Constant", "SpecConstant"]) => Section::Declarations,
        _ => Section::Code,
    }
}

/// Shape of an opcode that no grammar has.
const UNKNOWN_SHAPE: Shape = Shape {
    result: UNKNOWN,
    ids: 0,
    tail: NO_TAIL,
    is_type: false,
    has_text: false,
    least: 0,
    most: u8::MAX,
    section: Section::Any,
};

impl Shapes {
    /// Returns the shape of an opcode.
    #[inline]
    pub(super) fn shape(&self, opcode: u16) -> Shape {
        self.0.get(usize::from(opcode)).copied().unwrap_or(UNKNOWN_SHAPE)
    }
}

/// [`Shape::ids`] of an opcode whose operands are ids alone.
pub(super) const ALL_IDS: u8 = 0xff;

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
            let least = known.operands.iter().filter(|operand| operand.quantifier == OperandQuantifier::One);
            put(known.opcode as u16, Layout::new(known.opname, slots.collect(), least.count()));
        }
        for (opcode, name, signature) in MISSING {
            let least = signature.chars().filter(|letter| "TRI".contains(*letter));
            put(*opcode, Layout::new(name, signature.chars().map(signature_slot).collect(), least.count()));
        }
        let shape = |(opcode, layout): (u16, &Option<Layout>)| match layout {
            Some(layout) => Shape {
                result: layout.result.unwrap_or(NO_RESULT),
                ids: leading_ids(layout),
                tail: tail(layout),
                is_type: is_type(opcode, layout),
                has_text: layout.slots.contains(&Slot::String),
                least: layout.least,
                most: layout.most,
                section: section(opcode, layout),
            },
            None => UNKNOWN_SHAPE,
        };
        Table { shapes: Shapes((0..).zip(&layouts).map(shape).collect()), layouts }
    })
}

/// Returns the layout of an opcode, or none where no grammar has it.
pub(super) fn layout(opcode: u16) -> Option<&'static Layout> {
    table().layouts.get(usize::from(opcode))?.as_ref()
}

/// [`Shape::result`] of an opcode without a result.
pub(super) const NO_RESULT: u8 = 0xfe;
/// [`Shape::result`] of an opcode that no grammar has.
pub(super) const UNKNOWN: u8 = 0xff;

/// Returns the shapes of all opcodes.
pub(super) fn shapes() -> &'static Shapes {
    &table().shapes
}

/// Number of the operand words of an opcode that are ids, before the first that is none.
fn leading_ids(layout: &Layout) -> u8 {
    // Nothing hangs on the names of ids, which may be of what is gone.
    if matches!(layout.name, "Name" | "MemberName") {
        return 0;
    }
    let is_id =
        |slot: &&Slot| matches!(slot, Slot::ResultType | Slot::Result | Slot::Id | Slot::OptionalId | Slot::Ids);
    match layout.slots.iter().take_while(is_id).position(|slot| *slot == Slot::Ids) {
        Some(_) => ALL_IDS,
        None => u8::try_from(layout.slots.iter().take_while(is_id).count()).unwrap_or(0),
    }
}

/// [`Shape::tail`] of an opcode without ids behind its literals.
pub(super) const NO_TAIL: u8 = 0xff;

/// Position from which on all operand words of an opcode are ids, behind one that is a literal or a mask.
fn tail(layout: &Layout) -> u8 {
    // A pointer may come before the type that it leads to.
    if layout.name == "TypePointer" {
        return NO_TAIL;
    }
    let leading = leading_ids(layout);
    let is_id = |slot: &Slot| matches!(slot, Slot::Id | Slot::OptionalId | Slot::Ids);
    match layout.slots.get(usize::from(leading)..).and_then(<[Slot]>::split_first) {
        Some((Slot::MaskThenIds, [])) => leading.saturating_add(1),
        Some((Slot::Literal, rest)) if !rest.is_empty() && rest.iter().all(is_id) => leading.saturating_add(1),
        _ => NO_TAIL,
    }
}

/// Returns the kinds of the operands of an instruction of `OpenCL.std`, or none where it has none of that number.
pub(super) fn of_opencl(number: u32) -> Option<&'static [Slot]> {
    static KNOWN: OnceLock<Vec<Option<&'static [Slot]>>> = OnceLock::new();
    /// Bound above the largest number.
    const END: u32 = 256;
    let known = KNOWN.get_or_init(|| (0..END).map(|number| extended(Set::OpenClStd, number)).collect());
    known.get(number as usize).copied().flatten()
}

/// Whether a name is that of an instruction, without `Op`, or of one of `OpenCL.std`.
pub(crate) fn is_instruction(name: &str) -> bool {
    static NAMES: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let sets = ["OpenCL.std"].into_iter().filter_map(rspirv::grammar::ext_inst_table);
        let extended = sets.flat_map(|table| table.iter().map(|known| known.opname));
        table().layouts.iter().flatten().map(|layout| layout.name).chain(extended).collect()
    });
    names.contains(name)
}

/// Returns the name of an opcode as the specification writes it, or its number where no grammar has it.
pub(crate) fn name(opcode: u16) -> String {
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

/// Extended instruction sets that differ in their operands or meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
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
    pub(crate) fn from_name(name: &str) -> Set {
        match name {
            "OpenCL.std" => Set::OpenClStd,
            "OpenCL.DebugInfo.100" | "SPIRV.debug" | "DebugInfo" => Set::OpenClDebug,
            _ if name.starts_with("NonSemantic.Shader.DebugInfo") => Set::ShaderDebug,
            _ if name.starts_with("NonSemantic.Kernel.DebugInfo") => Set::ShaderDebug,
            _ => Set::Other,
        }
    }
}

/// Instructions that rspirv's tables lack: opcode, name and signature. In a signature `T` is the result type, `R` the
/// result, `I` an id, `i` an optional id, `*` ids to the end, `L` a literal, `N` literals to the end, `M` memory
/// access, `O` image operands.
#[rustfmt::skip]
const MISSING: &[(u16, &str, &str)] = &[
    (4195, "BitcastExtractEXT", "TRII"),
    (4545, "ImageGatherQCOM", "TRIIIIO"),
    (5121, "AbortKHR", "II"),
    (5147, "ConstantDataKHR", "TRN"),
    (5148, "SpecConstantDataKHR", "TRN"),
    (5158, "PoisonKHR", "TR"),
    (5159, "FreezeKHR", "TRI"),
    (5363, "CooperativeMatrixGetCoordinateEXT", "TRII"),
    (5946, "ReadPipeBlockingALTERA", "IIII"),
    (5947, "WritePipeBlockingALTERA", "IIII"),
    (6096, "CompositeConstructContinuedINTEL", "*"),
    (6113, "TypeTokenINTEL", "R"),
    (6168, "FSigmoidINTEL", "TRI"),
    (6193, "CooperativeMatrixLoadCheckedINTEL", "TRIIIIIIiM"),
    (6194, "CooperativeMatrixStoreCheckedINTEL", "IIIIIIIiM"),
    (6195, "CooperativeMatrixConstructCheckedINTEL", "TRIIIII"),
    (6216, "ClampConvertFToFINTEL", "TRI"),
    (6217, "StochasticRoundFToFINTEL", "TRIIi"),
    (6218, "ClampStochasticRoundFToFINTEL", "TRIIi"),
    (6219, "ClampStochasticRoundFToSINTEL", "TRIIi"),
    (6239, "CooperativeMatrixLoadOffsetINTEL", "TRIIIIIM"),
    (6240, "CooperativeMatrixStoreOffsetINTEL", "IIIIIIM"),
    (6258, "PredicatedLoadINTEL", "TRIIIM"),
    (6259, "PredicatedStoreINTEL", "IIIM"),
    (6264, "SubgroupScaledMatrixMultiplyAccumulateINTEL", "TRIIIIIIL"),
    (6424, "ClampConvertFToSINTEL", "TRI"),
    (6440, "JointMatrixGetElementCoordINTEL", "TRII"),
    (6448, "CooperativeMatrixApplyFunctionINTEL", "TRII"),
    (6449, "CooperativeMatrixPrefetchINTEL", "IIILIi"),
    (6916, "FDot2MixAcc32VALVE", "TRIII"),
    (6917, "FDot2MixAcc16VALVE", "TRIII"),
    (6918, "FDot4MixAcc32VALVE", "TRIII"),
];

/// Returns the opcodes of [`MISSING`].
pub(super) fn missing() -> impl Iterator<Item = u16> {
    MISSING.iter().map(|(opcode, ..)| *opcode)
}

/// Opcodes to which rspirv's tables give a result that they do not have.
#[cfg(test)]
const WITHOUT_RESULT: &[u16] = &[5946, 5947, 6096];

/// Role of an id in an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Type of the result.
    ResultType,
    /// Id that the instruction defines.
    Result,
    /// Id that the instruction uses.
    Operand,
}

/// Facts outside of an instruction on which the positions of its ids depend. [`super::index::Index`] provides them.
pub(crate) trait OperandContext {
    /// Returns how many words a literal of `OpSwitch` takes, given the id of its selector: 2 for 64-bit integers.
    fn literal_words(&self, selector: u32) -> usize;
    /// Returns the extended instruction set that an id of `OpExtInstImport` stands for.
    fn set(&self, id: u32) -> Set;
}

/// Calls `found` with the position (among the operand words, from 0) and role of every id of an instruction, in order.
/// Returns false where no grammar has the opcode (nothing is reported then), or where there are more operands than the
/// grammar describes.
pub(crate) fn for_each_id(
    instruction: &Instruction<'_>,
    surroundings: &impl OperandContext,
    mut found: impl FnMut(usize, Role),
) -> bool {
    let Some(layout) = layout(instruction.opcode) else { return false };
    let mut walk = Walk { instruction, surroundings, at: 0, found: &mut found };
    // Words past the layout may be ids: a mask may have a bit that is newer than the grammar.
    walk.layout(layout, false) && walk.at >= instruction.len()
}

struct Walk<'a, S, F> {
    instruction: &'a Instruction<'a>,
    surroundings: &'a S,
    at: usize,
    found: &'a mut F,
}

impl<S: OperandContext, F: FnMut(usize, Role)> Walk<'_, S, F> {
    fn layout(&mut self, layout: &Layout, embedded: bool) -> bool {
        // Inside OpSpecConstantOp the result type and the result are those of the outer instruction.
        let mut slots =
            layout.slots.iter().filter(|slot| !embedded || !matches!(slot, Slot::ResultType | Slot::Result));
        slots.all(|slot| self.slot(*slot, embedded))
    }

    fn id(&mut self, role: Role) {
        if self.at < self.instruction.len() {
            (self.found)(self.at, role);
            self.at = self.at.saturating_add(1);
        }
    }

    fn ids(&mut self) {
        while self.at < self.instruction.len() {
            self.id(Role::Operand);
        }
    }

    fn literal(&mut self) -> u32 {
        let word = self.instruction.word(self.at);
        self.at = self.at.saturating_add(1);
        word
    }

    fn end(&mut self) {
        self.at = self.instruction.len();
    }

    fn slot(&mut self, slot: Slot, embedded: bool) -> bool {
        match slot {
            Slot::ResultType => self.id(Role::ResultType),
            Slot::Result => self.id(Role::Result),
            Slot::Id | Slot::OptionalId => self.id(Role::Operand),
            Slot::Ids => self.ids(),
            Slot::Literal => {
                self.literal();
            }
            Slot::Literals => self.end(),
            Slot::String => self.at = self.instruction.after_string(self.at),
            Slot::MaskThenIds => {
                self.literal();
                self.ids();
            }
            Slot::MemoryAccess => self.memory_access(),
            Slot::ExecutionMode => {
                let mode = self.literal();
                self.ids_or_literals(mode_takes_ids(mode));
            }
            Slot::Decoration => {
                let decoration = self.literal();
                self.ids_or_literals(decoration_takes_ids(decoration));
            }
            Slot::IdLiteralPairs => {
                while self.at < self.instruction.len() {
                    self.id(Role::Operand);
                    self.literal();
                }
            }
            Slot::Cases => {
                let words = self.surroundings.literal_words(self.instruction.word(0));
                while self.at < self.instruction.len() {
                    self.at = self.at.saturating_add(words);
                    self.id(Role::Operand);
                }
            }
            Slot::SpecConstantOp => {
                let opcode = u16::try_from(self.literal()).unwrap_or(u16::MAX);
                // OpSpecConstantOp does not nest, so one level is enough.
                match layout(opcode) {
                    Some(layout) if !embedded => return self.layout(layout, true),
                    _ => return false,
                }
            }
            Slot::Extended => {
                let set = self.surroundings.set(self.instruction.word(self.at.saturating_sub(1)));
                match extended(set, self.literal()) {
                    Some(slots) => return slots.iter().all(|slot| self.slot(*slot, true)),
                    None => self.ids(),
                }
            }
        }
        true
    }

    fn ids_or_literals(&mut self, ids: bool) {
        if ids { self.ids() } else { self.end() }
    }

    /// Reads a memory access mask and its operands, in the order of the mask's bits: the alignment, then ids.
    /// `OpCopyMemory` may have a second mask after the first.
    fn memory_access(&mut self) {
        if self.at >= self.instruction.len() {
            return;
        }
        let mask = self.literal();
        if mask & ALIGNED != 0 {
            self.literal();
        }
        for _ in WITH_ID.iter().filter(|bit| mask & **bit != 0) {
            self.id(Role::Operand);
        }
    }
}

/// Bit of memory operands with an alignment.
const ALIGNED: u32 = 2;
/// Bits of memory operands with an id: MakePointerAvailable, MakePointerVisible, AliasScopeINTEL, NoAliasINTEL.
const WITH_ID: [u32; 4] = [8, 16, 0x1_0000, 0x2_0000];

/// Returns the place behind the memory operands that begin at a place.
pub(super) fn after_memory_access(instruction: &Instruction<'_>, at: usize) -> usize {
    let mask = instruction.word(at);
    let with_word = WITH_ID.iter().chain([&ALIGNED]).filter(|bit| mask & **bit != 0).count();
    at.saturating_add(1).saturating_add(with_word)
}

/// Whether an execution mode takes ids: those that the grammar (SPIRV-Headers 1.6.7) gives `IdRef`.
fn mode_takes_ids(mode: u32) -> bool {
    matches!(mode, 37..=39 | 5070..=5073 | 5077 | 5102 | 6028 | 6031 | 6462)
}

/// Whether a decoration takes ids, by the same grammar. Older compilers write 5914 and 5915 with `OpDecorate`.
fn decoration_takes_ids(decoration: u32) -> bool {
    matches!(decoration, 27 | 46 | 47 | 5019 | 5020 | 5091 | 5098 | 5100 | 5124 | 5125 | 5634 | 5914 | 5915 | 6247)
}

/// Whether an instruction declares a type.
pub(super) fn declares_type(opcode: u16) -> bool {
    layout(opcode).is_some_and(|layout| is_type(opcode, layout))
}

fn is_type(opcode: u16, layout: &Layout) -> bool {
    const FIRST: u16 = Op::TypeVoid as u16;
    const LAST: u16 = Op::TypePipe as u16;
    let is_named = || layout.name.starts_with("Type") && layout.result.is_some() && layout.result_type.is_none();
    matches!(opcode, FIRST..=LAST) || is_named()
}

/// Bound above the largest capability number of the registry.
const CAPABILITIES: u32 = 1 << 13;

/// Returns the name of a capability, or its number where the grammar does not have it.
pub(crate) fn capability_name(number: u32) -> Cow<'static, str> {
    // Formatting a name is slower than looking it up, and a library has tens of thousands of capabilities.
    static NAMES: OnceLock<Vec<(u32, String)>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let known = |number| Some((number, format!("{:?}", Capability::from_u32(number)?)));
        (0..CAPABILITIES).filter_map(known).collect()
    });
    let place = names.binary_search_by_key(&number, |(known, _)| *known);
    match place.ok().and_then(|place| names.get(place)) {
        Some((_, name)) => Cow::Borrowed(name),
        None => Cow::Owned(number.to_string()),
    }
}

/// Returns the tool that wrote a module, from the generator word (SPIR-V registry, `spir-v.xml`): the tool in the high
/// half, its version in the low half.
pub(crate) fn generator_name(word: u32) -> String {
    let tool = match word >> 16 {
        0 => "unknown",
        6 => "Khronos LLVM/SPIR-V Translator",
        7 => "Khronos SPIR-V Tools Assembler",
        8 => "Khronos Glslang Reference Front End",
        14 => "Khronos SPIR-V Tools Assembler",
        15 => "rspirv",
        17 => "Khronos SPIR-V Tools Linker",
        43 => "LLVM SPIR-V Backend",
        // Not registered: clang writes it where the triple is spirv64-amd-amdhsa.
        0xffff => "LLVM SPIR-V Backend for AMD GPUs",
        tool => return format!("tool {tool} version {}", word & 0xffff),
    };
    format!("{tool} {}", word & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rspirv_lacks_is_added_and_nothing_else() {
        for (opcode, name, _) in MISSING {
            let theirs = INSTRUCTION_TABLE.iter().find(|known| known.opcode as u16 == *opcode);
            let corrected = WITHOUT_RESULT.contains(opcode);
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
    }

    #[test]
    fn unknown_numbers_stay_numbers() {
        assert_eq!(super::capability_name(10), "Float64");
        assert_eq!(super::capability_name(6146), "6146");
        assert_eq!(super::generator_name(0x0006_000e), "Khronos LLVM/SPIR-V Translator 14");
    }
}
