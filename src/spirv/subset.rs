//! Which words make a module of some kernels and functions of another one?
//!
//! From the roots by every id that is used: functions, variables, types, constants, what is said of them (names,
//! decorations and groups of them, execution modes), debug information, aliasing scopes. What nothing reaches is left out;
//! capabilities and extensions stay only where something left needs them, or where that cannot be told. Ids are numbered
//! anew in the order in which they are met, so that they are compact; everything else keeps its order. Whatever the byte
//! order of the input is, the output is little-endian.
//!
//! A module that uses instructions of which no grammar tells the operands is cut only where they fall away; otherwise it
//! is refused, and the instruction named. The cost of one subset grows with the subset, not with the module.

mod capabilities;
mod debug;
mod emit;
mod notes;
mod seen;
mod walk;

use super::index::{Function, Index, LinkageKind};
use super::op;
use super::words::Instruction;
use crate::error::{Error, Result};
use notes::Notes;
use std::collections::{HashMap, HashSet};

/// What is to be kept, with all it reaches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep<'k> {
    /// Entry points, by their place in [`Index::entry_points`].
    pub entry_points: &'k [usize],
    /// Functions and variables, by id. Those of the functions that are exported stay exported; others that are merely
    /// reached become the subset's own.
    pub ids: &'k [u32],
}

/// Makes subsets of one module.
#[derive(Debug)]
pub struct Cutter<'i, 'a> {
    index: &'i Index<'a>,
    notes: Notes,
    /// Functions that are marked as callable through pointers, by their signature.
    indirect: HashMap<Vec<u32>, Vec<u32>>,
    /// Functions whose linkage stays where their kernel does: those of entry points, and the bodies of kernels.
    kernels: HashSet<u32>,
    /// By the number of an instruction: `base` of the walk that met it last, plus the new id of what it defines.
    places: Vec<u32>,
    /// What places of the present walk begin at; those of earlier walks are below it.
    base: u32,
    /// The place of what is met next.
    next: u32,
    /// Memory of the walk before, for the next one.
    spare: walk::Spare,
}

impl<'i, 'a> Cutter<'i, 'a> {
    /// Looks over a module.
    ///
    /// # Errors
    /// `Input` where the module is damaged or holds instructions at module scope that cannot be cut.
    pub fn new(index: &'i Index<'a>) -> Result<Cutter<'i, 'a>> {
        if let Some(error) = &index.stopped {
            return Err(error.clone());
        }
        // Copied with the body it stands in, it would be there although its kernel is not.
        let body = index.functions.first().map_or(usize::MAX, |function| function.instructions.start);
        if let Some(within) = index.entry_points.iter().find(|entry| entry.at >= body) {
            let offset = index.instruction(within.at).map_or(0, |instruction| instruction.offset);
            return Err(Error::at(offset, "an entry point is declared behind a function's beginning"));
        }
        // What stands behind it would be part of it in one module and not in another.
        let last = |function: &Function| index.instruction(function.instructions.end.checked_sub(1)?);
        let unended = |last: &Instruction<'_>| last.opcode != op::FUNCTION_END;
        if let Some(last) = index.functions.iter().filter_map(last).find(unended) {
            return Err(Error::at(last.offset, "a function has no end"));
        }
        let notes = Notes::of(index)?;
        let names: HashSet<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
        let mut kernels: HashSet<u32> = index.entry_points.iter().map(|entry| entry.function).collect();
        let mut indirect: HashMap<Vec<u32>, Vec<u32>> = HashMap::new();
        for function in &index.functions {
            if notes.linked(function.id) && is_body(index, function.id, &names) {
                kernels.insert(function.id);
            }
            if notes.indirect(function.id)
                && let Some(kind) = index.defining(function.function_type)
            {
                let signature = (1..kind.len()).map(|at| kind.word(at)).collect();
                indirect.entry(signature).or_default().push(function.id);
            }
        }
        let places = vec![0; index.len()];
        Ok(Cutter { index, notes, indirect, kernels, places, base: 0, next: 1, spare: walk::Spare::default() })
    }

    /// The module.
    pub fn index(&self) -> &'i Index<'a> {
        self.index
    }

    /// The new id of an instruction that the present walk has met; 0 where it defines none.
    fn met(&self, number: usize) -> Option<u32> {
        self.places.get(number)?.checked_sub(self.base)
    }

    /// The words of the module that is left, little-endian.
    ///
    /// # Errors
    /// `Input`, with the offset in the module that is cut, where it uses ids that nothing defines or instructions whose
    /// operands are not known.
    pub fn cut(&mut self, keep: &Keep<'_>) -> Result<Vec<u8>> {
        // A walk meets each instruction once.
        let most = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        if self.next.checked_add(most).is_none_or(|end| end == u32::MAX) {
            self.places.fill(0);
            self.next = 1;
        }
        self.base = self.next;
        // There is no id 0.
        self.next = self.base.wrapping_add(1);
        let mut cut = walk::Cut::new(self, keep);
        cut.reach()?;
        emit::words(cut)
    }
}

/// Whether a function is the body of a kernel: older translators export it under the kernel's name and call it from an
/// entry point of their own.
fn is_body(index: &Index<'_>, function: u32, entry_points: &HashSet<&str>) -> bool {
    index
        .linkage(function)
        .is_some_and(|linkage| linkage.kind == LinkageKind::Export && entry_points.contains(linkage.name.as_str()))
}

/// The functions that other modules may import, in module order: exported ones that are neither kernels nor the bodies of
/// kernels.
pub fn exported(index: &Index<'_>) -> Vec<(u32, String)> {
    let names: HashSet<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
    let entries: HashSet<u32> = index.entry_points.iter().map(|entry| entry.function).collect();
    let functions = index.functions.iter().filter(|function| function.defined && !entries.contains(&function.id));
    let linked = functions.filter_map(|function| Some((function.id, index.linkage(function.id)?)));
    let exported = linked.filter(|(_, linkage)| linkage.kind == LinkageKind::Export);
    let named = exported.map(|(id, linkage)| (id, linkage.name));
    named.filter(|(_, name)| !names.contains(name.as_str())).collect()
}

/// An instruction that cannot be carried into a subset.
fn unknown(instruction: &Instruction<'_>) -> Error {
    let name = super::grammar::name(instruction.opcode);
    let error = Error::at(instruction.offset, format!("{name}: which of its words are ids is not known"));
    error.with_remedy("the module can be kept whole, but not be taken apart")
}

fn undefined(instruction: &Instruction<'_>, id: u32) -> Error {
    let name = super::grammar::name(instruction.opcode);
    Error::at(instruction.offset, format!("{name} uses %{id}, which nothing defines in its reach"))
}

/// Whether an instruction is a decoration that links a function or variable to other modules.
fn links(instruction: &Instruction<'_>) -> bool {
    const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;
    instruction.opcode == op::DECORATE && instruction.word(1) == LINKAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kernels of one function each, and a type for both.
    fn module() -> Vec<u8> {
        let words = "07230203 00010000 0 7 0 20011 6 3000e 2 2 4000f 6 1 61 4000f 6 2 62 20013 3 30021 4 3 \
                     50036 3 1 0 4 200f8 5 100fd 10038 50036 3 2 0 4 200f8 6 100fd 10038";
        let word = |hex| u32::from_str_radix(hex, 16).unwrap();
        words.split(' ').map(word).flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn walks_are_told_apart_also_where_their_places_begin_anew() {
        let bytes = module();
        let index = Index::read(&bytes).unwrap();
        let cut =
            |cutter: &mut Cutter<'_, '_>, kernel| cutter.cut(&Keep { entry_points: &[kernel], ids: &[] }).unwrap();
        let mut fresh = Cutter::new(&index).unwrap();
        let (first, second) = (cut(&mut fresh, 0), cut(&mut fresh, 1));
        assert_ne!(first, second);
        for left in 0..40 {
            let mut late = Cutter::new(&index).unwrap();
            late.next = u32::MAX - left;
            for _ in 0..3 {
                assert_eq!((&cut(&mut late, 0), &cut(&mut late, 1)), (&first, &second), "{left} places are left");
            }
        }
    }
}
