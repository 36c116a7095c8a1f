//! Which words of an instruction are ids?

use super::grammar::{self, Layout, Set, Slot};
use super::words::Instruction;
use rspirv::spirv::Op;

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
pub trait OperandContext {
    /// Returns how many words a literal of `OpSwitch` takes, given the id of its selector: 2 for 64-bit integers.
    fn literal_words(&self, selector: u32) -> usize;
    /// Returns the extended instruction set that an id of `OpExtInstImport` stands for.
    fn set(&self, id: u32) -> Set;
}

/// Calls `found` with the position (among the operand words, from 0) and role of every id of an instruction, in order.
/// Returns false where no grammar has the opcode (nothing is reported then), or where there are more operands than the
/// grammar describes.
pub fn for_each_id(
    instruction: &Instruction<'_>,
    surroundings: &impl OperandContext,
    mut found: impl FnMut(usize, Role),
) -> bool {
    let Some(layout) = grammar::layout(instruction.opcode) else { return false };
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
                match grammar::layout(opcode) {
                    Some(layout) if !embedded => return self.layout(layout, true),
                    _ => return false,
                }
            }
            Slot::Extended => {
                let set = self.surroundings.set(self.instruction.word(self.at.saturating_sub(1)));
                match grammar::extended(set, self.literal()) {
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
        const ALIGNED: u32 = 2;
        /// Bits with an id: MakePointerAvailable, MakePointerVisible, AliasScopeINTEL, NoAliasINTEL.
        const WITH_ID: [u32; 4] = [8, 16, 0x1_0000, 0x2_0000];
        let mask = self.literal();
        if mask & ALIGNED != 0 {
            self.literal();
        }
        for _ in WITH_ID.iter().filter(|bit| mask & **bit != 0) {
            self.id(Role::Operand);
        }
    }
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
    const FIRST: u16 = Op::TypeVoid as u16;
    const LAST: u16 = Op::TypePipe as u16;
    matches!(opcode, FIRST..=LAST)
        || grammar::layout(opcode).is_some_and(|layout| {
            layout.name.starts_with("Type") && layout.result.is_some() && layout.result_type.is_none()
        })
}
