//! What does a kernel read of an id?
//!
//! DPC++ 2025 and older read a part of an id (`BuiltIn` variable of a vector) by a pointer into the variable: one that an
//! access chain makes, or, for the parts behind the first, a cast to a pointer to bytes, a step by 8 or 16 of them, and a
//! cast back. llvm-spirv 15 ends by a signal at these. So such a load becomes a load of the whole and an extraction, as
//! DPC++ 2026 writes them. A variable that is read in yet another way is left as it is.

use super::groups::is_decoration;
use super::lower::Writer;
use crate::error::Result;
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::types::{self, Layouts, Type};
use crate::spirv::words::{Instruction, NewIds};
use rspirv::spirv::{Decoration, Op};
use std::collections::{HashMap, HashSet};

const LOAD: u16 = Op::Load as u16;
const BITCAST: u16 = Op::Bitcast as u16;
const COPY_OBJECT: u16 = Op::CopyObject as u16;
/// Instructions that make a pointer of another, which comes first.
const STEPS: [u16; 6] = [
    BITCAST,
    COPY_OBJECT,
    op::ACCESS_CHAIN,
    op::IN_BOUNDS_ACCESS_CHAIN,
    op::PTR_ACCESS_CHAIN,
    op::IN_BOUNDS_PTR_ACCESS_CHAIN,
];
const BUILT_IN: u32 = Decoration::BuiltIn as u32;

/// A variable that holds an id.
#[derive(Debug, Clone, Copy)]
struct Variable {
    /// Type of the whole, and of a part.
    vector: u32,
    component: u32,
    /// Number of parts.
    count: u32,
    /// Size of a part in bytes.
    size: u64,
}

/// Place that a pointer leads to.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Id of the variable.
    variable: u32,
    /// Bytes from its begin.
    offset: u64,
}

/// Returns a module whose ids are read as wholes, or none where they are already.
///
/// # Errors
/// `Input` where the module is damaged or has no more ids.
pub fn read_whole(il: &[u8]) -> Result<Option<Vec<u8>>> {
    let index = Index::read(il)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let variables = variables(&index);
    let places = places(&index, &variables);
    if places.is_empty() {
        return Ok(None);
    }
    let kept = read_otherwise(&index, &variables, &places);
    let place = |id: u32| places.get(&id).filter(|place| !kept.contains(&place.variable));
    let mut new = NewIds(index.bound);
    let mut out = Writer::new(&index);
    for (_, instruction) in index.instructions(0..index.len()) {
        let is_said_of_pointer = is_said_of_an_id(instruction.opcode) && place(instruction.word(0)).is_some();
        let is_pointer = index.result(&instruction).is_some_and(|id| place(id).is_some());
        if is_said_of_pointer || is_pointer {
            continue;
        }
        let read = (instruction.opcode == LOAD).then(|| place(instruction.word(2))).flatten();
        let Some((place, variable)) = read.and_then(|place| Some((place, variables.get(&place.variable)?))) else {
            out.put(instruction.opcode, &instruction.words().collect::<Vec<u32>>());
            continue;
        };
        let Some(part) = variable.part(place, instruction.word(0)) else { continue };
        let (whole, result) = (new.fresh()?, instruction.word(1));
        out.put(LOAD, &[variable.vector, whole, place.variable]);
        match part {
            Part::Whole => out.put(COPY_OBJECT, &[variable.vector, result, whole]),
            Part::Component(at) => {
                out.put(Op::CompositeExtract as u16, &[variable.component, result, whole, at]);
            }
        }
    }
    Ok(Some(out.finish(new.0)))
}

/// Part of a variable that a load takes.
enum Part {
    Whole,
    /// By its number.
    Component(u32),
}

impl Variable {
    /// Returns what a load of a type takes at a place, or none where that is no part.
    fn part(&self, place: &Place, of: u32) -> Option<Part> {
        if of == self.vector && place.offset == 0 {
            return Some(Part::Whole);
        }
        let at = u32::try_from(place.offset.checked_div(self.size)?).ok()?;
        let is_whole_part = place.offset.checked_rem(self.size) == Some(0) && at < self.count;
        (is_whole_part && of == self.component).then_some(Part::Component(at))
    }
}

fn is_said_of_an_id(opcode: u16) -> bool {
    is_decoration(opcode) || opcode == op::NAME
}

/// Returns the variables of vectors that are built in, by their ids.
fn variables(index: &Index<'_>) -> HashMap<u32, Variable> {
    let before = index.functions.first().map_or(index.len(), |first| first.instructions.start);
    let all = index.instructions(0..before).filter(|(_, it)| it.opcode == op::VARIABLE);
    let built_in = all.filter(|(_, it)| index.decoration(it.word(1), BUILT_IN).is_some());
    let read = |it: Instruction<'_>| {
        let Type::Pointer { pointee: Some(vector), .. } = types::resolve(index, it.word(0))? else { return None };
        let Type::Vector { component, count } = types::resolve(index, vector)? else { return None };
        let Type::Int { width, .. } = types::resolve(index, component)? else { return None };
        let size = u64::from(width).checked_div(8).filter(|size| *size > 0)?;
        Some((it.word(1), Variable { vector, component, count, size }))
    };
    built_in.filter_map(|(_, it)| read(it)).collect()
}

/// Returns where pointers into the variables lead, by the pointers' ids.
fn places(index: &Index<'_>, variables: &HashMap<u32, Variable>) -> HashMap<u32, Place> {
    let mut places = HashMap::new();
    if variables.is_empty() {
        return places;
    }
    let layouts = Layouts::compute(index);
    for (_, instruction) in index.instructions(0..index.len()) {
        let Some(step) = Step::read(&instruction) else { continue };
        let known = match variables.contains_key(&step.base) {
            true => Some(Place { variable: step.base, offset: 0 }),
            false => places.get(&step.base).copied(),
        };
        let leads = known.and_then(|from| Some(Place { offset: step.leads(index, &layouts, from.offset)?, ..from }));
        if let Some(place) = leads {
            places.insert(step.result, place);
        }
    }
    places
}

/// An instruction or constant that makes a pointer of another.
struct Step<'a> {
    result: u32,
    opcode: u16,
    base: u32,
    instruction: Instruction<'a>,
    /// Number of the first word behind the base.
    after: usize,
}

impl<'a> Step<'a> {
    fn read(instruction: &Instruction<'a>) -> Option<Step<'a>> {
        let (opcode, at) = match instruction.opcode {
            op::SPEC_CONSTANT_OP => (u16::try_from(instruction.word(2)).ok()?, 3usize),
            opcode => (opcode, 2),
        };
        let is_step = STEPS.contains(&opcode);
        is_step.then(|| Step {
            result: instruction.word(1),
            opcode,
            base: instruction.word(at),
            instruction: *instruction,
            after: at.saturating_add(1),
        })
    }

    /// Returns the place in bytes that the pointer leads to, or none where that is known at run time alone.
    fn leads(&self, index: &Index<'_>, layouts: &Layouts, from: u64) -> Option<u64> {
        if matches!(self.opcode, BITCAST | COPY_OBJECT) {
            return Some(from);
        }
        let Type::Pointer { pointee: Some(pointee), .. } = types::resolve(index, index.type_of(self.base)?)? else {
            return None;
        };
        let has_element = matches!(self.opcode, op::PTR_ACCESS_CHAIN | op::IN_BOUNDS_PTR_ACCESS_CHAIN);
        let (mut of, mut place, mut is_first) = (pointee, from, has_element);
        for at in self.after..self.instruction.len() {
            if !std::mem::take(&mut is_first) {
                of = match types::resolve(index, of)? {
                    Type::Vector { component: part, .. } | Type::Array { element: part, .. } => part,
                    _ => return None,
                };
            }
            let steps = types::constant_bits(index, self.instruction.word(at))?;
            place = place.checked_add(steps.checked_mul(layouts.get(of)?.size)?)?;
        }
        Some(place)
    }
}

/// Returns the variables that are read in another way than by loads of parts.
fn read_otherwise(index: &Index<'_>, variables: &HashMap<u32, Variable>, places: &HashMap<u32, Place>) -> HashSet<u32> {
    let mut found = HashSet::new();
    for (_, instruction) in index.instructions(0..index.len()) {
        let is_pointer = index.result(&instruction).is_some_and(|id| places.contains_key(&id));
        let of = instruction.word(0);
        if is_pointer || is_said_of_an_id(instruction.opcode) && places.contains_key(&of) {
            continue;
        }
        let is_known = index.for_each_id(&instruction, |at, _| {
            let Some(place) = places.get(&instruction.word(at)) else { return };
            let variable = variables.get(&place.variable);
            let takes_part = || variable.is_some_and(|variable| variable.part(place, of).is_some());
            if instruction.opcode != LOAD || !takes_part() {
                found.insert(place.variable);
            }
        });
        if !is_known {
            found.extend(instruction.words().filter_map(|word| places.get(&word)).map(|place| place.variable));
        }
    }
    found
}
