//! How are functions written with new ids?
//!
//! Functions are written one by one, declarations before definitions. Calls of a function whose importer and exporter
//! disagree on pointee types get their arguments through `OpBitcast`.

use super::Ids;
use super::part::{InputModule, Definition, first_word};
use super::sections::{BITCAST, Sections};
use crate::error::Result;
use crate::spirv::index::Function;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use std::collections::HashMap;

/// Types of the result and parameters in a function's definition, as new ids.
#[derive(Debug, Clone)]
pub struct Signature {
    result: u32,
    parameters: Vec<u32>,
}

/// Signatures that calls must be adapted to, by module and the id of the callee.
pub type Calls = HashMap<(usize, u32), Signature>;

/// Returns the calls that must be adapted. `adapted` maps declarations to definitions.
///
/// # Errors
/// `Input` where such a function is used other than in a call: a pointer to it would have another type.
pub fn calls(parts: &[InputModule<'_>], adapted: &HashMap<Definition, Definition>) -> Result<Calls> {
    let mut calls = Calls::new();
    for (declared, defined) in adapted {
        let (Some(part), Some(other)) = (parts.get(declared.part), parts.get(defined.part)) else { continue };
        let (Some(mine), Some(theirs)) = (part.index.function_at(declared.at), other.index.function_at(defined.at))
        else {
            continue;
        };
        let new = |id| other.new_of(id).unwrap_or(0);
        let parameters = theirs.parameters.iter().map(|id| other.index.type_of(*id).map_or(0, new)).collect();
        calls.insert((declared.part, mine.id), Signature { result: new(theirs.result_type), parameters });
    }
    if calls.is_empty() {
        return Ok(calls);
    }
    for (number, part) in parts.iter().enumerate() {
        for (at, instruction) in part.index.instructions(0..part.index.len()) {
            if instruction.opcode != op::CONSTANT_FUNCTION_POINTER {
                continue;
            }
            if calls.contains_key(&(number, instruction.word(2))) {
                let name = part.function_name(instruction.word(2));
                let message = format!("a pointer to `{name}` is taken, and what defines it has other pointer types");
                return Err(part.refuse(at, message));
            }
        }
    }
    Ok(calls)
}

/// Writes all functions. Returns the next id.
///
/// # Errors
/// `Input` for ids that cannot be renumbered.
pub fn functions(parts: &[InputModule<'_>], calls: &Calls, sections: &mut Sections, next: u32) -> Result<u32> {
    let mut ids = Ids(next);
    for (number, part) in parts.iter().enumerate() {
        let mut begin = part.functions_begin;
        for function in &part.index.functions {
            let section = if function.defined { &mut sections.definitions } else { &mut sections.declarations };
            between(part, begin..function.instructions.start, part.is_replaced(function), section)?;
            begin = function.instructions.end;
            if part.is_replaced(function) {
                continue;
            }
            write(part, number, function, calls, &mut ids, section)?;
        }
        between(part, begin..part.index.len(), true, &mut sections.definitions)?;
    }
    Ok(ids.0)
}

/// Writes the instructions before a function: its line, and debug information.
fn between(part: &InputModule<'_>, range: std::ops::Range<usize>, without_lines: bool, section: &mut Vec<u32>) -> Result<()> {
    for (at, instruction) in part.index.instructions(range) {
        let is_line = matches!(instruction.opcode, op::LINE | op::NO_LINE);
        if instruction.opcode == op::EXT_INST || is_line && !without_lines {
            part.write(at, &instruction, section)?;
        }
    }
    Ok(())
}

fn write(
    part: &InputModule<'_>,
    number: usize,
    function: &Function,
    calls: &Calls,
    ids: &mut Ids,
    section: &mut Vec<u32>,
) -> Result<()> {
    for (at, instruction) in part.index.instructions(function.instructions.clone()) {
        match calls.get(&(number, instruction.word(2))).filter(|_| instruction.opcode == op::FUNCTION_CALL) {
            Some(signature) => adapt(part, at, &instruction, signature, ids, section)?,
            None => part.write(at, &instruction, section)?,
        }
    }
    Ok(())
}

/// Writes a call with casts of its arguments before and of its result after it.
fn adapt(
    part: &InputModule<'_>,
    at: usize,
    call: &Instruction<'_>,
    signature: &Signature,
    ids: &mut Ids,
    section: &mut Vec<u32>,
) -> Result<()> {
    /// Operand word of the first argument, after result type, result and function.
    const ARGUMENTS: usize = 3;
    let mut arguments = Vec::new();
    for (word, wanted) in (ARGUMENTS..call.len()).zip(&signature.parameters) {
        let id = call.word(word);
        let argument = part.new_of(id).ok_or_else(|| part.undefined_id(at, call, id))?;
        let kind = part.index.type_of(id).and_then(|kind| part.new_of(kind));
        if kind == Some(*wanted) {
            arguments.push(argument);
        } else {
            let cast = ids.fresh()?;
            section.extend([first_word(BITCAST, 3), *wanted, cast, argument]);
            arguments.push(cast);
        }
    }
    let begin = section.len();
    part.write(at, call, section)?;
    let kind = part.new_of(call.word(0)).unwrap_or(0);
    let result = part.new_of(call.word(1)).unwrap_or(0);
    let operands = section.get_mut(begin.saturating_add(1)..).unwrap_or_default();
    if let Some(rest) = operands.get_mut(ARGUMENTS..) {
        rest.copy_from_slice(arguments.get(..rest.len()).ok_or_else(|| part.unknown(at, call))?);
    }
    if kind != signature.result
        && let [call_kind, call_result, ..] = operands
    {
        let inner = ids.fresh()?;
        (*call_kind, *call_result) = (signature.result, inner);
        section.extend([first_word(BITCAST, 3), kind, result, inner]);
    }
    Ok(())
}
