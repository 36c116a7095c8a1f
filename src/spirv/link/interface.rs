//! Which variables does an entry point of the result reach?
//!
//! Up to version 1.3 an entry point lists the inputs and outputs that it reaches, from 1.4 all variables of module
//! scope. The result may have a higher version than one of its modules, and linked code may use variables of its own.

use super::part::{State, InputModule, Definition, first_word};
use super::sections::Sections;
use crate::error::Result;
use crate::limits;
use crate::spirv::op;
use rspirv::spirv::StorageClass;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

const INPUT: u32 = StorageClass::Input as u32;
const OUTPUT: u32 = StorageClass::Output as u32;
/// First version whose entry points list all variables.
const ALL_LISTED: (u8, u8) = (1, 4);

/// Writes entry points and their execution modes.
///
/// # Errors
/// `Input` for ids that cannot be renumbered, or for an entry point that reaches too much.
pub fn entry_points(parts: &[InputModule<'_>], sections: &mut Sections) -> Result<()> {
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
    use crate::spirv::grammar::Set;
    use crate::spirv::grammar::OperandContext as _;
    matches!(part.index.set(set), Set::OpenClDebug | Set::ShaderDebug)
}
