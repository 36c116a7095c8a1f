//! Which names and decorations stay?
//!
//! Those of what is in the result. What was merged brings its own only where it was merged whatever is said of it.

use super::globals::{Merging, merging};
use super::part::{Fate, Part, first_word};
use super::sections::{GROUP_MEMBER_DECORATE, Kind, MEMBER_NAME, Sections, kind};
use super::symbols::Symbols;
use super::{Ids, Source};
use crate::error::Result;
use crate::spirv::index::LinkageKind;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use rspirv::spirv::Decoration;
use std::collections::HashSet;

const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
const SPEC_ID: u32 = Decoration::SpecId as u32;

/// What to do with what is said of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// It is written.
    Kept,
    /// It is written unless that has been said; of names the first.
    Once,
    /// It is left out, as the definition is.
    Dropped,
}

/// Writes names and decorations. Groups of decorations get ids from `next`; returns the next one.
///
/// # Errors
/// `Input` for what cannot be numbered anew.
pub fn annotations(
    parts: &mut [Part<'_>],
    sources: &[Source<'_>],
    symbols: &Symbols,
    sections: &mut Sections,
    next: u32,
) -> Result<u32> {
    let mut ids = Ids(next);
    let mut once: HashSet<Box<[u32]>> = HashSet::new();
    for (number, part) in parts.iter_mut().enumerate() {
        for at in 0..part.functions_begin {
            let Some(instruction) = part.index.instruction(at) else { continue };
            if instruction.opcode == op::DECORATION_GROUP {
                let id = ids.fresh()?;
                part.set(at, id);
                part.set_fate(at, Fate::Own);
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
                    let said = said(part, instruction.word(0));
                    let is_name = matches!(instruction.opcode, op::NAME | MEMBER_NAME);
                    if said == Said::Dropped
                        || is_internal && is_export(&instruction)
                        || said == Said::Once && is_name && is_merged(part, instruction.word(0))
                    {
                        continue;
                    }
                    let begin = section.len();
                    part.write(at, &instruction, section)?;
                    if instruction.opcode == op::DECORATE && instruction.word(1) == SPEC_ID {
                        sources.get(number).map(|source| renumber(source, section)).unwrap_or_default();
                    }
                    if instruction.opcode == op::NAME {
                        rename(part, number, &instruction, symbols, begin, section);
                    }
                    if said == Said::Once && !once.insert(section.get(begin..).unwrap_or_default().into()) {
                        section.truncate(begin);
                    }
                }
            }
        }
    }
    Ok(ids.0)
}

/// What to do with what is said of an id.
fn said(part: &Part<'_>, id: u32) -> Said {
    let Some(at) = part.index.definition(id) else { return Said::Dropped };
    if at >= part.functions_begin {
        return if part.is_dropped(at) { Said::Dropped } else { Said::Kept };
    }
    let class = || part.index.instruction(at).map_or(Merging::Never, |found| merging(part, &found));
    match part.fate(at) {
        Fate::Replaced | Fate::Open | Fate::Underway => Said::Dropped,
        Fate::Own | Fate::Merged if matches!(class(), Merging::Unique | Merging::BuiltIn(_)) => Said::Once,
        Fate::Own => Said::Kept,
        Fate::Merged => Said::Dropped,
    }
}

fn is_merged(part: &Part<'_>, id: u32) -> bool {
    part.index.definition(id).is_some_and(|at| part.fate(at) == Fate::Merged)
}

fn is_export(instruction: &Instruction<'_>) -> bool {
    let is_linkage = instruction.opcode == op::DECORATE && instruction.word(1) == LINKAGE;
    is_linkage && LinkageKind::of(instruction.word(instruction.after_string(2))) != LinkageKind::Import
}

/// Writes which ids a group decorates: those that are in the result. Of members each comes with its number.
fn group(
    part: &Part<'_>,
    at: usize,
    instruction: &Instruction<'_>,
    stride: usize,
    section: &mut Vec<u32>,
) -> Result<()> {
    let begin = section.len();
    let group = instruction.word(0);
    section.extend([0, part.new_of(group).ok_or_else(|| part.nowhere(at, instruction, group))?]);
    for word in (1..instruction.len()).step_by(stride) {
        let target = instruction.word(word);
        if said(part, target) == Said::Dropped {
            continue;
        }
        section.push(part.new_of(target).ok_or_else(|| part.nowhere(at, instruction, target))?);
        section.extend((1..stride).map(|more| instruction.word(word.saturating_add(more))));
    }
    let operands = section.len().saturating_sub(begin).saturating_sub(1);
    if let Some(first) = section.get_mut(begin) {
        *first = first_word(instruction.opcode, operands);
    }
    Ok(())
}

/// Gives a specialization constant, whose number was written last, its new number.
fn renumber(source: &Source<'_>, section: &mut [u32]) {
    if let Some(number) = section.last_mut()
        && let Some(new) = source.spec_ids.get(number)
    {
        *number = *new;
    }
}

/// Gives a function of the module's own another name than that of a symbol or kernel of another module: drivers make
/// functions by these names, and two cannot have one.
fn rename(
    part: &Part<'_>,
    number: usize,
    instruction: &Instruction<'_>,
    symbols: &Symbols,
    begin: usize,
    section: &mut Vec<u32>,
) {
    let function = instruction.word(0);
    if part.index.function(function).is_none() || part.index.linkage(function).is_some() {
        return;
    }
    let name = instruction.string(1).0;
    if !symbols.is_taken(&name, number) {
        return;
    }
    let name = format!("{name}.{number}");
    section.truncate(begin.saturating_add(2));
    section.extend(string(&name));
    let operands = section.len().saturating_sub(begin).saturating_sub(1);
    if let Some(first) = section.get_mut(begin) {
        *first = first_word(op::NAME, operands);
    }
}

/// A string in words: its bytes, at least one zero, up to a whole word.
fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4).saturating_add(1).saturating_mul(4), 0);
    bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
}
