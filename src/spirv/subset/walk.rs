//! What do the roots reach?
//!
//! Bodies of functions are written on the way, with new ids, since all their ids are looked at anyway; what stands outside
//! of functions is noted by number and written at the end, in the order of the module.

use super::notes::GROUP_MEMBER_DECORATE;
use super::seen::Seen;
use super::{Cutter, Keep, debug, links, undefined, unknown};
use crate::error::{Error, Result};
use crate::spirv::grammar::{self, Set};
use crate::spirv::index::{Function, Index, LinkageKind};
use crate::spirv::op;
use crate::spirv::operands::{Role, Surroundings as _};
use crate::spirv::words::Instruction;
use std::collections::HashSet;
use std::ops::Range;

/// A subset in the making.
pub(super) struct Cut<'c, 'i, 'a> {
    pub(super) cutter: &'c mut Cutter<'i, 'a>,
    /// The functions of the entry points that are kept.
    entries: HashSet<u32>,
    /// Their names, by which their bodies are exported.
    names: HashSet<&'i str>,
    /// Roots, by id.
    roots: HashSet<u32>,
    /// Numbers of instructions that define ids in use and have not been looked at.
    queue: Vec<u32>,
    /// Numbers of instructions outside of functions that are kept.
    pub(super) live: Vec<u32>,
    /// Bodies, by the number of their first instruction, and where in `words` they are.
    pub(super) bodies: Vec<(u32, Range<usize>)>,
    pub(super) words: Vec<u32>,
    /// Words of the output.
    pub(super) out: Vec<u32>,
    pub(super) seen: Seen,
}

/// Lists of a walk that is done. Their memory serves the next: a module has thousands of small subsets.
#[derive(Debug, Default)]
pub(super) struct Spare {
    queue: Vec<u32>,
    live: Vec<u32>,
    bodies: Vec<(u32, Range<usize>)>,
    words: Vec<u32>,
    out: Vec<u32>,
}

/// Gives an id its new one; the first time, what defines it is to be looked at unless it is in `own`.
#[inline]
fn renew(
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

/// The line right before a function, which is that of its declaration.
pub(super) fn declared_at<'a>(index: &Index<'a>, start: usize) -> Option<Instruction<'a>> {
    index.instruction(start.checked_sub(1)?).filter(|before| before.opcode == op::LINE)
}

impl<'c, 'i, 'a> Cut<'c, 'i, 'a> {
    pub(super) fn new(cutter: &'c mut Cutter<'i, 'a>, keep: &Keep<'_>) -> Self {
        let index = cutter.index;
        let kept = || keep.entry_points.iter().filter_map(|place| index.entry_points.get(*place));
        let entries: HashSet<u32> = kept().map(|entry| entry.function).collect();
        let Spare { queue, mut live, bodies, words, out } = std::mem::take(&mut cutter.spare);
        live.extend_from_slice(&cutter.notes.always);
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
            seen: Seen::default(),
        }
    }

    /// Leaves the memory of the lists to the next walk.
    pub(super) fn end(self) {
        let Cut { cutter, mut queue, mut live, mut bodies, mut words, mut out, .. } = self;
        queue.clear();
        live.clear();
        bodies.clear();
        words.clear();
        out.clear();
        cutter.spare = Spare { queue, live, bodies, words, out };
    }

    /// Follows everything from the roots.
    pub(super) fn reach(&mut self) -> Result<()> {
        let index = self.cutter.index;
        let mut roots: Vec<u32> = self.entries.iter().chain(&self.roots).copied().collect();
        // In the order of the module, so that the same roots make the same words.
        roots.sort_by_key(|id| index.definition(*id));
        roots.dedup();
        for root in roots {
            self.meet(root).ok_or_else(|| Error::input(format!("nothing defines %{root}, which is to be kept")))?;
        }
        for number in self.cutter.notes.always.clone() {
            self.operands(number)?;
        }
        while let Some(number) = self.queue.pop() {
            self.visit(number)?;
        }
        if !self.entries.is_empty() {
            self.seen.entry_point();
        }
        Ok(())
    }

    fn meet(&mut self, id: u32) -> Option<u32> {
        let Cutter { index, places, base, next, .. } = &mut *self.cutter;
        renew(index, places, (*base, next), &mut self.queue, &(0..0), id)
    }

    /// Looks at an instruction that defines something in use.
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
        self.noted(at..at.saturating_add(1))
    }

    /// Looks at the operands of an instruction outside of functions.
    fn operands(&mut self, number: u32) -> Result<()> {
        let index = self.cutter.index;
        let Some(instruction) = index.instruction(number as usize) else { return Ok(()) };
        if !matches!(instruction.opcode, op::CAPABILITY | op::EXTENSION) {
            self.seen.see(index, &instruction);
        }
        if self.doubtful(&instruction) {
            return Err(unknown(&instruction));
        }
        let weak = debug::weak_operand(index, &instruction);
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

    /// Whether an extended instruction may have operands that are no ids, and which ones is not known.
    fn doubtful(&self, instruction: &Instruction<'_>) -> bool {
        if instruction.opcode != op::EXT_INST {
            return false;
        }
        let (import, number) = (instruction.word(2), instruction.word(3));
        let set = self.cutter.index.set(import);
        matches!(set, Set::OpenClStd | Set::OpenClDebug) && grammar::extended(set, number).is_none()
            || self.cutter.notes.doubtful.contains(&import)
    }

    /// Keeps what is said of what a range of instructions defines.
    fn noted(&mut self, range: Range<usize>) -> Result<()> {
        let index = self.cutter.index;
        for nth in self.cutter.notes.on(&range) {
            let Some((target, note)) = self.cutter.notes.note_at(nth) else { continue };
            let Some(instruction) = index.instruction(note as usize) else { continue };
            let [met, again] = [target, note].map(|number| self.cutter.met(number as usize).is_some());
            if !met || again || self.passed_over(&instruction) {
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
            if matches!(instruction.opcode, op::GROUP_DECORATE | GROUP_MEMBER_DECORATE) {
                // Its other targets are none of this subset's.
                let group = instruction.word(0);
                self.meet(group).ok_or_else(|| undefined(&instruction, group))?;
                self.seen.see(index, &instruction);
            } else {
                self.operands(note)?;
            }
        }
        Ok(())
    }

    /// Whether a note does not hold in the subset: the modes of an entry point that is not kept, and exports of functions
    /// that are here for their callers alone.
    fn passed_over(&self, instruction: &Instruction<'_>) -> bool {
        let target = instruction.word(0);
        match instruction.opcode {
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => !self.entries.contains(&target),
            op::DECORATE if links(instruction) => {
                let kind = LinkageKind::of(instruction.word(instruction.after_string(2)));
                kind == LinkageKind::Export
                    && !self.roots.contains(&target)
                    && !(self.cutter.kernels.contains(&target) && self.is_of_kernel(target, instruction))
                    && self.cutter.index.function(target).is_some()
            }
            _ => false,
        }
    }

    /// Whether a function is that of an entry point that is kept, or the body of one. The linkage is that of the function.
    fn is_of_kernel(&self, function: u32, linkage: &Instruction<'_>) -> bool {
        self.entries.contains(&function) || self.names.contains(linkage.string(2).0.as_str())
    }

    /// Writes a function.
    fn body(&mut self, function: &Function) -> Result<()> {
        let index = self.cutter.index;
        let begin = self.words.len();
        let range = function.instructions.clone();
        if let Some(line) = declared_at(index, range.start) {
            // Without its file it is left out.
            self.meet(line.word(0));
        }
        for (number, instruction) in index.instructions(range.clone()) {
            self.seen.see(index, &instruction);
            if self.doubtful(&instruction) {
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
                match renew(index, places, (*base, next), &mut self.queue, &range, id) {
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
        self.noted(range)
    }

    /// A call through a pointer may reach every function of its signature that is marked as called in that way.
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
