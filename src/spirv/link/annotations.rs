//! Which names and decorations stay?
//!
//! Annotations of ids in the result stay. A merged id keeps its own only if merging ignored them.

use super::Source;
use super::globals::{Merging, merging};
use super::input::{InputModule, State, first_word};
use super::names::new_names;
use super::sections::{GROUP_MEMBER_DECORATE, Kind, MEMBER_NAME, Sections, kind};
use crate::error::Result;
use crate::spirv::index::{LinkageKind, is_helper};
use crate::spirv::op;
use crate::spirv::words::Instruction;
use crate::spirv::words::NewIds;
use rspirv::spirv::Decoration;
use std::collections::HashSet;

const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
const SPEC_ID: u32 = Decoration::SpecId as u32;

/// Treatment of the annotations of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// Written.
    Kept,
    /// Written unless equal ones are there; of names only the first is written.
    Once,
    /// Left out, as is the definition.
    Dropped,
}

/// Writes names and decorations. Decoration groups get ids from `next`. Returns the next id.
///
/// # Errors
/// `Input` for ids that cannot be renumbered.
pub(crate) fn annotations(
    parts: &mut [InputModule<'_>],
    sources: &[Source<'_>],
    sections: &mut Sections,
    next: u32,
) -> Result<u32> {
    let mut ids = NewIds(next);
    let new_names = new_names(parts, sources);
    let mut once: HashSet<Box<[u32]>> = HashSet::new();
    for (number, part) in parts.iter_mut().enumerate() {
        for at in 0..part.functions_begin {
            let Some(instruction) = part.index.instruction(at) else { continue };
            if instruction.opcode == op::DECORATION_GROUP {
                let id = ids.fresh()?;
                part.set(at, id);
                part.set_state(at, State::Written);
            }
        }
        let part = &*part;
        let is_internal = sources.get(number).is_some_and(|source| source.internal);
        for at in 0..part.functions_begin {
            let Some(instruction) = part.index.instruction(at) else { continue };
            let section = match kind(instruction.opcode) {
                Kind::Name => &mut sections.names,
                Kind::Annotation => &mut sections.annotations,
                _ => continue,
            };
            match instruction.opcode {
                op::DECORATION_GROUP => part.write(at, &instruction, section)?,
                op::GROUP_DECORATE => group(part, at, &instruction, 1, section)?,
                GROUP_MEMBER_DECORATE => group(part, at, &instruction, 2, section)?,
                _ => {
                    let treatment = treatment(part, instruction.word(0));
                    let is_name = matches!(instruction.opcode, op::NAME | MEMBER_NAME);
                    if treatment == Treatment::Dropped
                        || is_internal && is_export(&instruction)
                        || treatment == Treatment::Once && is_name && is_merged(part, instruction.word(0))
                    {
                        continue;
                    }
                    let begin = section.len();
                    part.write(at, &instruction, section)?;
                    if instruction.opcode == op::DECORATE && instruction.word(1) == SPEC_ID {
                        sources.get(number).map(|source| renumber(source, section)).unwrap_or_default();
                    }
                    if instruction.opcode == op::NAME
                        && let Some(name) = new_names.get(&(number, instruction.word(0)))
                    {
                        rename(name, begin, section);
                    }
                    if treatment == Treatment::Once && !once.insert(section.get(begin..).unwrap_or_default().into()) {
                        section.truncate(begin);
                    }
                }
            }
        }
    }
    Ok(ids.0)
}

/// Returns the treatment of the annotations of an id.
fn treatment(part: &InputModule<'_>, id: u32) -> Treatment {
    let Some(at) = part.index.definition(id) else { return Treatment::Dropped };
    if at >= part.functions_begin {
        return if part.is_dropped(at) { Treatment::Dropped } else { Treatment::Kept };
    }
    let class = || part.index.instruction(at).map_or(Merging::Never, |found| merging(part, &found));
    match part.state(at) {
        State::Replaced | State::Open | State::InProgress => Treatment::Dropped,
        State::Written | State::Merged if matches!(class(), Merging::Unique | Merging::BuiltIn(_)) => Treatment::Once,
        State::Written => Treatment::Kept,
        State::Merged => Treatment::Dropped,
    }
}

/// Whether neither an id nor what is said of it is in the result.
pub(crate) fn is_left_out(part: &InputModule<'_>, id: u32) -> bool {
    treatment(part, id) == Treatment::Dropped
}

fn is_merged(part: &InputModule<'_>, id: u32) -> bool {
    part.index.definition(id).is_some_and(|at| part.state(at) == State::Merged)
}

/// Whether an instruction exports a function or variable that the driver does not know by its symbol.
fn is_export(instruction: &Instruction<'_>) -> bool {
    let is_linkage = instruction.opcode == op::DECORATE && instruction.word(1) == LINKAGE;
    is_linkage
        && LinkageKind::from_number(instruction.word(instruction.after_string(2))) != LinkageKind::Import
        && !is_helper(&instruction.string(2).0)
}

/// Writes the targets of a group that are in the result. Targets that are members come with their number.
fn group(
    part: &InputModule<'_>,
    at: usize,
    instruction: &Instruction<'_>,
    stride: usize,
    section: &mut Vec<u32>,
) -> Result<()> {
    let begin = section.len();
    let group = instruction.word(0);
    section.extend([0, part.new_of(group).ok_or_else(|| part.undefined_id(at, instruction, group))?]);
    for word in (1..instruction.len()).step_by(stride) {
        let target = instruction.word(word);
        if treatment(part, target) == Treatment::Dropped {
            continue;
        }
        section.push(part.new_of(target).ok_or_else(|| part.undefined_id(at, instruction, target))?);
        section.extend((1..stride).map(|more| instruction.word(word.saturating_add(more))));
    }
    let operands = section.len().saturating_sub(begin).saturating_sub(1);
    if let Some(first) = section.get_mut(begin) {
        *first = first_word(instruction.opcode, operands);
    }
    Ok(())
}

/// Replaces the `SpecId` that was written last by its new number.
fn renumber(source: &Source<'_>, section: &mut [u32]) {
    if let Some(number) = section.last_mut()
        && let Some(new) = source.spec_ids.get(number)
    {
        *number = *new;
    }
}

/// Replaces the name that was written last.
fn rename(name: &str, begin: usize, section: &mut Vec<u32>) {
    section.truncate(begin.saturating_add(2));
    section.extend(string(name));
    let operands = section.len().saturating_sub(begin).saturating_sub(1);
    if let Some(first) = section.get_mut(begin) {
        *first = first_word(op::NAME, operands);
    }
}

/// Returns the words of a string: its bytes and at least one zero, up to a whole word.
fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4).saturating_add(1).saturating_mul(4), 0);
    bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
}
