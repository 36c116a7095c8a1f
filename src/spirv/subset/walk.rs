//! Which instructions do the roots of a subset reach?
//!
//! Bodies of functions are written during the walk, with new ids, since all their ids are visited anyway; instructions
//! outside of functions are collected by number and written at the end, in module order.

use super::capabilities::Usage;
use super::{Cutter, Keep, emit, links, undefined, unknown};
use crate::error::{Error, Result};
use crate::spirv::grammar::{self, OperandContext as _, Role, Set};
use crate::spirv::index::{Function, Index, LinkageKind, is_helper};
use crate::spirv::op;
use crate::spirv::words::Instruction;
use std::collections::HashSet;
use std::ops::Range;

/// Subset under construction.
pub(super) struct Cut<'c, 'i, 'a> {
    pub(super) cutter: &'c mut Cutter<'i, 'a>,
    /// Functions of the kept entry points.
    entries: HashSet<u32>,
    /// Names of the kept entry points, under which older translators export their bodies.
    names: HashSet<&'i str>,
    /// Roots, by id.
    roots: HashSet<u32>,
    /// Numbers of instructions whose results are used and which are still to be visited.
    queue: Vec<u32>,
    /// Numbers of the kept instructions outside of functions.
    pub(super) live: Vec<u32>,
    /// Bodies, by the number of their first instruction, with their ranges in `words`.
    pub(super) bodies: Vec<(u32, Range<usize>)>,
    pub(super) words: Vec<u32>,
    /// Words of the output.
    pub(super) out: Vec<u32>,
    pub(super) usage: Usage,
}

/// Buffers of a finished walk. The next one reuses them: a module has thousands of small subsets.
#[derive(Debug, Default)]
pub(super) struct Spare {
    queue: Vec<u32>,
    /// Numbers of the instructions outside of functions that the walk kept.
    pub(super) live: Vec<u32>,
    bodies: Vec<(u32, Range<usize>)>,
    words: Vec<u32>,
    out: Vec<u32>,
}

/// Returns the new id of an id. The first time, its definition is queued unless it is in `own`.
#[inline]
fn new_id(
    index: &Index<'_>,
    places: &mut [u32],
    (base, next): (u32, &mut u32),
    queue: &mut Vec<u32>,
    own: &Range<usize>,
    id: u32,
) -> Option<u32> {
    let number = index.definition(id)?;
    let place = places.get_mut(number)?;
    if *place < base {
        *place = *next;
        *next = next.wrapping_add(1);
        if !own.contains(&number) {
            queue.push(number as u32);
        }
    }
    place.checked_sub(base)
}

/// Returns the line right before a function, which is that of its declaration.
pub(super) fn declared_at<'a>(index: &Index<'a>, start: usize) -> Option<Instruction<'a>> {
    index.instruction(start.checked_sub(1)?).filter(|before| before.opcode == op::LINE)
}

impl<'c, 'i, 'a> Cut<'c, 'i, 'a> {
    pub(super) fn new(cutter: &'c mut Cutter<'i, 'a>, keep: &Keep<'_>) -> Self {
        let index = cutter.index;
        let kept = || keep.entry_points.iter().filter_map(|place| index.entry_points.get(*place));
        let entries: HashSet<u32> = kept().map(|entry| entry.function).collect();
        let Spare { queue, mut live, bodies, words, out } = std::mem::take(&mut cutter.spare);
        live.clear();
        live.extend_from_slice(&cutter.annotations.always);
        live.extend(kept().map(|entry| entry.at as u32));
        Cut {
            cutter,
            entries,
            names: kept().map(|entry| &*entry.name).collect(),
            roots: keep.ids.iter().copied().collect(),
            queue,
            live,
            bodies,
            words,
            out,
            usage: Usage::default(),
        }
    }

    /// Hands the buffers to the next walk.
    pub(super) fn end(self) {
        let Cut { cutter, mut queue, live, mut bodies, mut words, mut out, .. } = self;
        queue.clear();
        bodies.clear();
        words.clear();
        out.clear();
        cutter.spare = Spare { queue, live, bodies, words, out };
    }

    /// Follows everything from the roots.
    pub(super) fn reach(&mut self) -> Result<()> {
        let index = self.cutter.index;
        let mut roots: Vec<u32> = self.entries.iter().chain(&self.roots).copied().collect();
        // Sorted in module order, so that the same roots give the same words.
        roots.sort_by_key(|id| index.definition(*id));
        roots.dedup();
        for root in roots {
            self.meet(root).ok_or_else(|| Error::input(format!("nothing defines %{root}, which is to be kept")))?;
        }
        for number in self.cutter.annotations.always.clone() {
            self.operands(number)?;
        }
        while let Some(number) = self.queue.pop() {
            self.visit(number)?;
        }
        if !self.entries.is_empty() {
            self.usage.entry_point();
        }
        Ok(())
    }

    fn meet(&mut self, id: u32) -> Option<u32> {
        let Cutter { index, places, base, next, .. } = &mut *self.cutter;
        new_id(index, places, (*base, next), &mut self.queue, &(0..0), id)
    }

    /// Visits an instruction whose result is used.
    fn visit(&mut self, number: u32) -> Result<()> {
        let index = self.cutter.index;
        let at = number as usize;
        if let Some(function) = index.function_at(at) {
            if function.instructions.start != at {
                let instruction = index.instruction(at).map_or(0, |instruction| instruction.offset);
                return Err(Error::at(instruction, "what a function defines is used outside of it"));
            }
            return self.body(function);
        }
        self.live.push(number);
        self.operands(number)?;
        self.keep_annotations(at..at.saturating_add(1))
    }

    /// Follows the operands of an instruction outside of functions.
    fn operands(&mut self, number: u32) -> Result<()> {
        let index = self.cutter.index;
        let Some(instruction) = index.instruction(number as usize) else { return Ok(()) };
        if !matches!(instruction.opcode, op::CAPABILITY | op::EXTENSION) {
            self.usage.record(index, &instruction);
        }
        if self.may_hide_literals(&instruction) {
            return Err(unknown(&instruction));
        }
        let weak = emit::weak_operand(index, &instruction);
        let mut bad = None;
        let known = index.for_each_id(&instruction, |at, _| {
            if Some(at) != weak && self.meet(instruction.word(at)).is_none() {
                bad = Some(instruction.word(at));
            }
        });
        match bad {
            Some(id) => Err(undefined(&instruction, id)),
            None if !known => Err(unknown(&instruction)),
            None => Ok(()),
        }
    }

    /// Whether an extended instruction may have operands that are not ids, without knowledge of which.
    fn may_hide_literals(&self, instruction: &Instruction<'_>) -> bool {
        if instruction.opcode != op::EXT_INST {
            return false;
        }
        let (import, number) = (instruction.word(2), instruction.word(3));
        let set = self.cutter.index.set(import);
        matches!(set, Set::OpenClStd | Set::OpenClDebug) && grammar::extended(set, number).is_none()
            || self.cutter.annotations.unclear_sets.contains(&import)
    }

    /// Keeps the annotations of the results of a range of instructions.
    fn keep_annotations(&mut self, range: Range<usize>) -> Result<()> {
        let index = self.cutter.index;
        for nth in self.cutter.annotations.in_range(&range) {
            let Some((target, note)) = self.cutter.annotations.get(nth) else { continue };
            let Some(instruction) = index.instruction(note as usize) else { continue };
            let [met, again] = [target, note].map(|number| self.cutter.met(number as usize).is_some());
            if !met || again || self.is_dropped(&instruction) {
                continue;
            }
            if let Some(result) = index.result(&instruction) {
                self.meet(result).ok_or_else(|| undefined(&instruction, result))?;
                continue;
            }
            if let Some(place) = self.cutter.places.get_mut(note as usize) {
                *place = self.cutter.base;
            }
            self.live.push(note);
            if matches!(instruction.opcode, op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE) {
                // The other targets of the group may not be in this subset.
                let group = instruction.word(0);
                self.meet(group).ok_or_else(|| undefined(&instruction, group))?;
                self.usage.record(index, &instruction);
            } else {
                self.operands(note)?;
            }
        }
        Ok(())
    }

    /// Whether an annotation is dropped: the modes of an entry point that is not kept, and exports of functions that
    /// are only reached, but for those that the driver knows by their symbols.
    fn is_dropped(&self, instruction: &Instruction<'_>) -> bool {
        let target = instruction.word(0);
        match instruction.opcode {
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => !self.entries.contains(&target),
            op::DECORATE if links(instruction) => {
                let kind = LinkageKind::from_number(instruction.word(instruction.after_string(2)));
                kind == LinkageKind::Export
                    && !self.roots.contains(&target)
                    && !(self.cutter.kernels.contains(&target) && self.is_of_kernel(target, instruction))
                    && self.cutter.index.function(target).is_some()
                    && !is_helper(&instruction.string(2).0)
            }
            _ => false,
        }
    }

    /// Whether a function belongs to a kept entry point: as its function, or as the body that its linkage names.
    fn is_of_kernel(&self, function: u32, linkage: &Instruction<'_>) -> bool {
        self.entries.contains(&function) || self.names.contains(linkage.string(2).0.as_str())
    }

    /// Writes a function with new ids.
    fn body(&mut self, function: &Function) -> Result<()> {
        let index = self.cutter.index;
        let begin = self.words.len();
        let range = function.instructions.clone();
        if let Some(line) = declared_at(index, range.start) {
            // The line is left out if nothing defines its file.
            self.meet(line.word(0));
        }
        for (number, instruction) in index.instructions(range.clone()) {
            self.usage.record(index, &instruction);
            if self.may_hide_literals(&instruction) {
                return Err(unknown(&instruction));
            }
            let first = self.words.len().saturating_add(1);
            self.words.push((instruction.len() as u32).wrapping_add(1) << 16 | u32::from(instruction.opcode));
            self.words.extend((0..instruction.len()).map(|at| instruction.word(at)));
            let (mut bad, mut twice) = (None, false);
            let Cutter { places, base, next, .. } = &mut *self.cutter;
            let known = index.for_each_id(&instruction, |at, role| {
                let id = instruction.word(at);
                twice |= role == Role::Result && index.definition(id) != Some(number);
                match new_id(index, places, (*base, next), &mut self.queue, &range, id) {
                    Some(new) => {
                        if let Some(word) = self.words.get_mut(first.saturating_add(at)) {
                            *word = new;
                        }
                    }
                    None => bad = Some(id),
                }
            });
            if !known {
                return Err(unknown(&instruction));
            }
            if let Some(id) = bad {
                return Err(undefined(&instruction, id));
            }
            if twice {
                return Err(Error::at(instruction.offset, "an id is defined twice"));
            }
            if instruction.opcode == op::FUNCTION_POINTER_CALL {
                self.indirect(&instruction)?;
            }
        }
        self.bodies.push((range.start as u32, begin..self.words.len()));
        self.keep_annotations(range)
    }

    /// Follows a call through a pointer to every function of its signature that may be called so.
    fn indirect(&mut self, call: &Instruction<'_>) -> Result<()> {
        if self.cutter.indirect.is_empty() {
            return Ok(());
        }
        let index = self.cutter.index;
        let arguments = (3..call.len()).map(|word| index.type_of(call.word(word)).unwrap_or(0));
        let signature: Vec<u32> = std::iter::once(call.word(0)).chain(arguments).collect();
        for function in self.cutter.indirect.get(&signature).cloned().unwrap_or_default() {
            self.meet(function).ok_or_else(|| undefined(call, function))?;
        }
        Ok(())
    }
}
