//! How are kernels with the same code given one shared body?
//!
//! The code becomes a separate function, and each kernel only calls it: the form in which the LLVM translator wrote all
//! kernels until 2022. Several entry points of one function would be shorter, and are allowed, but Intel's CPU driver
//! (2026.2) then knows only the last of the names and creates no kernel for the others; and no entry point may be
//! called (SPIR-V, "Universal Validation Rules").

use super::grammar::OperandContext as _;
use super::grammar::Set;
use super::index::{Function, Index};
use super::op;
use super::subset::{Cutter, Keep};
use super::words::{Instruction, MAGIC};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

const LABEL: u16 = rspirv::spirv::Op::Label as u16;
const RETURN: u16 = rspirv::spirv::Op::Return as u16;
const CALL: u16 = rspirv::spirv::Op::FunctionCall as u16;

/// Returns a module in which the kernels of each group, given by their positions among the entry points, share the body
/// of the first. The caller must know that their code is the same. What no kernel needs any more is left out.
///
/// # Errors
/// `Input` where the module is damaged, where the kernels cannot be called (explicit SIMD, or linked to other modules),
/// or where it holds debug information, which describes the body of one kernel only.
pub fn fold(bytes: &[u8], groups: &[Vec<usize>]) -> Result<Vec<u8>> {
    let index = Index::read(bytes)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let mut fold =
        Fold { index: &index, next: index.bound, shared: HashMap::new(), callers: HashMap::new(), words: Vec::new() };
    for group in groups.iter().filter(|group| group.len() > 1) {
        fold.share(group)?;
    }
    fold.write()?;
    let folded: Vec<u8> = fold.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let index = Index::read(&folded)?;
    let entry_points: Vec<usize> = (0..index.entry_points.len()).collect();
    let linked = index.linked().into_iter().filter(|(_, linkage)| linkage.kind.is_exported());
    let ids: Vec<u32> = linked.map(|(id, _)| id).collect();
    Cutter::new(&index)?.cut(&Keep { entry_points: &entry_points, ids: &ids })
}

/// Body that a group shares.
struct Shared {
    /// Id of the kernel that it was the body of.
    kernel: u32,
    /// Id of the new function.
    id: u32,
    /// Ids of its parameters, in the order of the kernel's.
    parameters: Vec<u32>,
    /// Interface of that kernel.
    interface: Vec<u32>,
}

struct Fold<'i, 'a> {
    index: &'i Index<'a>,
    /// Next unused id.
    next: u32,
    /// Shared bodies, by the id of the kernel that each comes from.
    shared: HashMap<u32, Shared>,
    /// Kernels that become callers, with the kernel whose body they call.
    callers: HashMap<u32, u32>,
    words: Vec<u32>,
}

impl Fold<'_, '_> {
    fn fresh(&mut self) -> Result<u32> {
        let id = self.next;
        self.next = id.checked_add(1).ok_or_else(|| Error::input("the module has no ids left"))?;
        Ok(id)
    }

    /// Plans one group.
    fn share(&mut self, group: &[usize]) -> Result<()> {
        const VECTOR_COMPUTE_FUNCTION: u32 = rspirv::spirv::Decoration::VectorComputeFunctionINTEL as u32;
        let index = self.index;
        let mut kind = None;
        for place in group {
            let point = index.entry_points.get(*place).ok_or_else(|| Error::input("there is no such entry point"))?;
            let refuse = |why: &str| Err(Error::input(format!("`{}` cannot share its body: {why}", point.name)));
            let Some(function) = index.function(point.function).filter(|function| function.defined) else {
                return refuse("it has none");
            };
            if index.linkage(function.id).is_some() {
                return refuse("it is linked to other modules");
            }
            if index.decorations(function.id).any(|known| known.decoration == VECTOR_COMPUTE_FUNCTION) {
                return refuse("it is explicit SIMD");
            }
            if *kind.get_or_insert(function.function_type) != function.function_type {
                return refuse("its parameters are of other types");
            }
            if self.callers.contains_key(&function.id)
                || index.entry_points.iter().filter(|other| other.function == function.id).count() > 1
            {
                return refuse("its function has several entry points");
            }
            let first =
                group.first().and_then(|first| index.entry_points.get(*first)).map_or(0, |first| first.function);
            self.callers.insert(function.id, first);
            if function.id == first {
                let interface = index.instruction(point.at).map(|instruction| {
                    (instruction.after_string(2)..instruction.len()).map(|at| instruction.word(at)).collect()
                });
                let id = self.fresh()?;
                let parameters = index.parameters(function).map(|_| self.fresh()).collect::<Result<_>>()?;
                let interface = interface.unwrap_or_default();
                self.shared.insert(first, Shared { kernel: first, id, parameters, interface });
            }
        }
        Ok(())
    }

    fn push(&mut self, opcode: u16, operands: &[u32]) -> Result<()> {
        let length =
            u16::try_from(operands.len().saturating_add(1)).map_err(|_| Error::input("an instruction is too long"))?;
        self.words.push(u32::from(length) << 16 | u32::from(opcode));
        self.words.extend_from_slice(operands);
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let index = self.index;
        self.words.extend([MAGIC, index.words().header(1), index.generator, 0, index.words().header(4)]);
        // From the parameters of each group's first kernel to those of its shared body.
        let mut copies: HashMap<u32, u32> = HashMap::new();
        for shared in self.shared.values() {
            let own = index.function(shared.kernel).into_iter().flat_map(|function| index.parameters(function));
            copies.extend(own.zip(shared.parameters.iter().copied()));
        }
        let folded: HashSet<usize> =
            self.callers.keys().filter_map(|id| Some(index.function(*id)?.instructions.start)).collect();
        let mut skip = 0usize;
        for (number, instruction) in index.instructions(0..index.len()) {
            if number < skip {
                continue;
            }
            if folded.contains(&number)
                && let Some(function) = index.function_at(number)
            {
                self.caller(function)?;
                self.body(function, &copies)?;
                skip = function.instructions.end;
                continue;
            }
            self.outside(&instruction, &copies)?;
        }
        if let Some(bound) = self.words.get_mut(3) {
            *bound = self.next;
        }
        Ok(())
    }

    /// Writes an instruction outside of the folded functions.
    fn outside(&mut self, instruction: &Instruction<'_>, copies: &HashMap<u32, u32>) -> Result<()> {
        let mut operands: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
        match instruction.opcode {
            op::EXT_INST_IMPORT
                if matches!(self.index.set(instruction.word(0)), Set::OpenClDebug | Set::ShaderDebug) =>
            {
                return Err(Error::at(
                    instruction.offset,
                    "the module holds debug information, which is of one kernel each",
                ));
            }
            op::ENTRY_POINT => {
                let shared = self.callers.get(&instruction.word(1)).and_then(|first| self.shared.get(first));
                if let Some(shared) = shared {
                    operands.truncate(instruction.after_string(2));
                    operands.extend(&shared.interface);
                }
            }
            op::GROUP_DECORATE => {
                let more: Vec<u32> = operands.iter().skip(1).filter_map(|id| copies.get(id)).copied().collect();
                operands.extend(more);
            }
            op::DECORATE | op::DECORATE_ID | op::DECORATE_STRING => {
                if let Some(copy) = copies.get(&instruction.word(0)) {
                    let again: Vec<u32> = std::iter::once(*copy).chain(operands.iter().skip(1).copied()).collect();
                    self.push(instruction.opcode, &again)?;
                }
            }
            _ => {}
        }
        self.push(instruction.opcode, &operands)
    }

    /// Writes a kernel that calls the shared body.
    fn caller(&mut self, function: &Function) -> Result<()> {
        let index = self.index;
        for (_, instruction) in index.instructions(function.instructions.clone()) {
            if !matches!(instruction.opcode, op::FUNCTION | op::FUNCTION_PARAMETER) {
                break;
            }
            let operands: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
            self.push(instruction.opcode, &operands)?;
        }
        let body =
            self.callers.get(&function.id).and_then(|first| self.shared.get(first)).map_or(0, |shared| shared.id);
        let (label, call) = (self.fresh()?, self.fresh()?);
        self.push(LABEL, &[label])?;
        let call: Vec<u32> =
            [function.result_type, call, body].into_iter().chain(self.index.parameters(function)).collect();
        self.push(CALL, &call)?;
        self.push(RETURN, &[])?;
        self.push(op::FUNCTION_END, &[])
    }

    /// Writes the shared body, after the kernel that it comes from.
    fn body(&mut self, function: &Function, copies: &HashMap<u32, u32>) -> Result<()> {
        let Some(id) = self.shared.get(&function.id).map(|shared| shared.id) else { return Ok(()) };
        let index = self.index;
        for (_, instruction) in index.instructions(function.instructions.clone()) {
            let mut operands: Vec<u32> = (0..instruction.len()).map(|at| instruction.word(at)).collect();
            let known = index.for_each_id(&instruction, |at, _| {
                if let Some(word) = operands.get_mut(at) {
                    *word = match copies.get(word) {
                        Some(copy) => *copy,
                        None if *word == function.id => id,
                        None => *word,
                    };
                }
            });
            if !known {
                let name = super::grammar::name(instruction.opcode);
                return Err(Error::at(instruction.offset, format!("{name}: which of its words are ids is not known")));
            }
            self.push(instruction.opcode, &operands)?;
        }
        Ok(())
    }
}
