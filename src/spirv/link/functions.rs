//! How are functions written with new ids?
//!
//! Functions are written one by one, declarations before definitions. Calls of a function whose importer and exporter
//! disagree on pointee types get their arguments through `OpBitcast`.
//!
//! Up to version 1.3 an entry point lists the inputs and outputs that it reaches, from 1.4 all variables of module
//! scope. The result may have a higher version than one of its modules, and linked code may use variables of its own.

use super::input::{Definition, InputModule, State, first_word};
use super::sections::{BITCAST, Sections};
use crate::error::Result;
use crate::limits;
use crate::spirv::index::Function;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use crate::spirv::words::NewIds;
use rspirv::spirv::StorageClass;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Types of the result and parameters in a function's definition, as new ids.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    result: u32,
    parameters: Vec<u32>,
}

/// Signatures that calls must be adapted to, by module and the id of the callee.
pub(crate) type Calls = HashMap<(usize, u32), Signature>;

/// Returns the calls that must be adapted. `adapted` maps declarations to definitions.
///
/// # Errors
/// `Input` where such a function is used other than in a call: a pointer to it would have another type.
pub(crate) fn calls(parts: &[InputModule<'_>], adapted: &HashMap<Definition, Definition>) -> Result<Calls> {
    let mut calls = Calls::new();
    for (declared, defined) in adapted {
        let (Some(part), Some(other)) = (parts.get(declared.part), parts.get(defined.part)) else { continue };
        let (Some(mine), Some(theirs)) = (part.index.function_at(declared.at), other.index.function_at(defined.at))
        else {
            continue;
        };
        let new = |id| other.new_of(id).unwrap_or(0);
        let parameters = other.index.parameters(theirs).map(|id| other.index.type_of(id).map_or(0, new)).collect();
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
pub(crate) fn functions(parts: &[InputModule<'_>], calls: &Calls, sections: &mut Sections, next: u32) -> Result<u32> {
    let mut ids = NewIds(next);
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
fn between(
    part: &InputModule<'_>,
    range: std::ops::Range<usize>,
    without_lines: bool,
    section: &mut Vec<u32>,
) -> Result<()> {
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
    ids: &mut NewIds,
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
    ids: &mut NewIds,
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

const INPUT: u32 = StorageClass::Input as u32;
const OUTPUT: u32 = StorageClass::Output as u32;
/// First version whose entry points list all variables.
const ALL_LISTED: (u8, u8) = (1, 4);

/// Writes entry points and their execution modes.
///
/// # Errors
/// `Input` for ids that cannot be renumbered, or for an entry point that reaches too much.
pub(crate) fn entry_points(parts: &[InputModule<'_>], sections: &mut Sections) -> Result<()> {
    let version = parts.iter().map(|part| part.index.version).max().unwrap_or_default();
    let mut walk = Walk { parts, known: HashMap::new(), budget: limits::MAX_REACHED };
    for (number, part) in parts.iter().enumerate() {
        let raised = version >= ALL_LISTED && part.index.version < ALL_LISTED;
        let others = part.replacements().iter().any(|(_, place)| place.part != number);
        for entry in &part.index.entry_points {
            let Some(instruction) = part.index.instruction(entry.at) else { continue };
            let begin = sections.entry_points.len();
            part.write(entry.at, &instruction, &mut sections.entry_points)?;
            // Merged built-in variables are listed once.
            let head = begin.saturating_add(1).saturating_add(instruction.after_string(2));
            let mut listed: Vec<u32> = sections.entry_points.split_off(head.min(sections.entry_points.len()));
            let mut there = HashSet::new();
            listed.retain(|id| there.insert(*id));
            if raised || others {
                let Some(at) = part.index.definition(entry.function) else { continue };
                for (id, storage) in walk.reached(Definition { part: number, at }, entry.at)? {
                    if (version >= ALL_LISTED || matches!(storage, INPUT | OUTPUT)) && there.insert(id) {
                        listed.push(id);
                    }
                }
            }
            sections.entry_points.extend(&listed);
            let operands = sections.entry_points.len().saturating_sub(begin).saturating_sub(1);
            if operands >= usize::from(u16::MAX) {
                return Err(part.error(entry.at, format!("`{}` reaches more variables than it can list", entry.name)));
            }
            if let Some(first) = sections.entry_points.get_mut(begin) {
                *first = first_word(op::ENTRY_POINT, operands);
            }
        }
        for (at, instruction) in part.index.instructions(0..part.functions_begin) {
            if matches!(instruction.opcode, op::EXECUTION_MODE | op::EXECUTION_MODE_ID) {
                part.write(at, &instruction, &mut sections.modes)?;
            }
        }
    }
    Ok(())
}

/// Definitions of module scope that a function or another definition uses: variables with their storage classes, and
/// ids to follow further.
#[derive(Default)]
struct Uses {
    variables: Vec<(u32, u32)>,
    onward: Vec<Definition>,
}

struct Walk<'w, 'a> {
    parts: &'w [InputModule<'a>],
    known: HashMap<Definition, Rc<Uses>>,
    budget: usize,
}

impl Walk<'_, '_> {
    /// Returns the new ids of the variables that a function reaches, with their storage classes, in the order of the
    /// walk.
    fn reached(&mut self, function: Definition, entry: usize) -> Result<Vec<(u32, u32)>> {
        let mut found = Vec::new();
        let mut met = HashSet::from([function]);
        let mut queue = vec![function];
        while let Some(place) = queue.pop() {
            let uses = self.uses(place);
            let Some(left) = self.budget.checked_sub(uses.onward.len().saturating_add(1)) else {
                let message = "the entry points reach more code than is followed";
                let error = self.parts.get(function.part).map(|part| part.error(entry, message));
                return Err(error.unwrap_or_else(|| crate::error::Error::input(message)));
            };
            self.budget = left;
            found.extend(&uses.variables);
            queue.extend(uses.onward.iter().filter(|onward| met.insert(**onward)));
        }
        Ok(found)
    }

    fn uses(&mut self, place: Definition) -> Rc<Uses> {
        if let Some(known) = self.known.get(&place) {
            return Rc::clone(known);
        }
        let uses = Rc::new(self.find(place).unwrap_or_default());
        self.known.insert(place, Rc::clone(&uses));
        uses
    }

    fn find(&self, place: Definition) -> Option<Uses> {
        let part = self.parts.get(place.part)?;
        let mut uses = Uses::default();
        let function = if place.at < part.functions_begin { None } else { part.index.function_at(place.at) };
        let range = function.map_or(place.at..place.at.saturating_add(1), |function| function.instructions.clone());
        let defining = part.index.instruction(place.at)?;
        if function.is_none() && matches!(defining.opcode, op::VARIABLE | op::UNTYPED_VARIABLE) {
            uses.variables.push((part.new_at(place.at), defining.word(2)));
        }
        let mut met = HashSet::new();
        for (_, instruction) in part.index.instructions(range.clone()) {
            // Debug information is no use.
            let is_debug = matches!(instruction.opcode, op::LINE | op::NO_LINE)
                || instruction.opcode == op::EXT_INST && is_debug(part, instruction.word(2));
            if is_debug {
                continue;
            }
            part.index.for_each_id(&instruction, |word, _| {
                let Some(at) = part.index.definition(instruction.word(word)) else { return };
                if range.contains(&at) || !met.insert(at) {
                    return;
                }
                let onward = part.replacement(at).unwrap_or(Definition { part: place.part, at });
                if self.leads_on(onward) {
                    uses.onward.push(onward);
                }
            });
        }
        Some(uses)
    }

    /// Whether a definition may lead to a variable; types do not.
    fn leads_on(&self, place: Definition) -> bool {
        let Some(part) = self.parts.get(place.part) else { return false };
        let Some(instruction) = part.index.instruction(place.at) else { return false };
        part.index.result_type(&instruction).is_some() && part.state(place.at) != State::Replaced
    }
}

fn is_debug(part: &InputModule<'_>, set: u32) -> bool {
    use crate::spirv::grammar::OperandContext as _;
    use crate::spirv::grammar::Set;
    matches!(part.index.set(set), Set::OpenClDebug | Set::ShaderDebug)
}
