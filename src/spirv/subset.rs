//! Which words make a module of some of another module's kernels and functions?
//!
//! The walk starts at the roots and follows every id: functions, variables, types, constants, annotations (names,
//! decorations, decoration groups, execution modes), debug information, aliasing scopes. What nothing reaches is left
//! out; capabilities and extensions stay where something left needs them, or where that cannot be told. Ids are
//! renumbered in the order in which they are met, so that they are compact; everything else keeps its order. The output
//! is little-endian whatever the input was.
//!
//! A subset that reaches an instruction of an unknown opcode is refused, with an error that names the instruction. The
//! cost of a subset grows with the subset, not with the module.

mod annotations;
mod capabilities;
mod emit;
mod walk;

use super::index::{Function, Index, Linkage, LinkageKind, is_helper};
use super::op;
use super::words::Instruction;
use crate::error::{Error, Result};
use annotations::Annotations;
use rspirv::spirv::{Decoration, StorageClass};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Roots of a subset. Everything they reach is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep<'k> {
    /// Entry points, by position in [`Index::entry_points`].
    pub entry_points: &'k [usize],
    /// Functions and variables, by id. Exported functions among them stay exported; functions that are only reached
    /// become private.
    pub ids: &'k [u32],
}

/// Builder of subsets of one module.
#[derive(Debug)]
pub struct Cutter<'i, 'a> {
    index: &'i Index<'a>,
    annotations: Annotations,
    /// Functions that may be called through pointers, by signature.
    indirect: HashMap<Vec<u32>, Vec<u32>>,
    /// Functions that keep their linkage where their kernel is kept: those of entry points, and the bodies of kernels.
    kernels: HashSet<u32>,
    /// Marks by instruction number: `base` of the last walk that met it, plus the new id of its result.
    places: Vec<u32>,
    /// First value of the current walk's entries in `places`; entries of earlier walks are lower.
    base: u32,
    /// Next value for `places`.
    next: u32,
    /// Buffers of the last walk, reused by the next.
    spare: walk::Spare,
}

impl<'i, 'a> Cutter<'i, 'a> {
    /// Prepares subsets of a module.
    ///
    /// # Errors
    /// `Input` where the module is damaged or holds instructions at module scope that cannot be cut.
    pub fn new(index: &'i Index<'a>) -> Result<Cutter<'i, 'a>> {
        if let Some(error) = &index.stopped {
            return Err(error.clone());
        }
        // Entry points inside a body would be copied with it although their kernel is not kept.
        let body = index.functions.first().map_or(usize::MAX, |function| function.instructions.start);
        if let Some(within) = index.entry_points.iter().find(|entry| entry.at >= body) {
            let offset = index.instruction(within.at).map_or(0, |instruction| instruction.offset);
            return Err(Error::at(offset, "an entry point is declared behind a function's beginning"));
        }
        // Instructions after a function without an end would belong to it in one module and not in another.
        let last = |function: &Function| index.instruction(function.instructions.end.checked_sub(1)?);
        let unended = |last: &Instruction<'_>| last.opcode != op::FUNCTION_END;
        if let Some(last) = index.functions.iter().filter_map(last).find(unended) {
            return Err(Error::at(last.offset, "a function has no end"));
        }
        let annotations = Annotations::collect(index)?;
        let names: HashSet<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
        let mut kernels: HashSet<u32> = index.entry_points.iter().map(|entry| entry.function).collect();
        let mut indirect: HashMap<Vec<u32>, Vec<u32>> = HashMap::new();
        for function in &index.functions {
            if annotations.linked(function.id) && is_body(index, function.id, &names) {
                kernels.insert(function.id);
            }
            if annotations.indirect(function.id)
                && let Some(kind) = index.defining(function.function_type)
            {
                let signature = (1..kind.len()).map(|at| kind.word(at)).collect();
                indirect.entry(signature).or_default().push(function.id);
            }
        }
        let places = vec![0; index.len()];
        Ok(Cutter { index, annotations, indirect, kernels, places, base: 0, next: 1, spare: walk::Spare::default() })
    }

    /// Returns the new id of an instruction's result if the current walk has met the instruction; 0 where it has no
    /// result.
    fn met(&self, number: usize) -> Option<u32> {
        self.places.get(number)?.checked_sub(self.base)
    }

    /// The numbers of the instructions outside of functions that the last subset has, each once.
    pub(crate) fn live(&self) -> &[u32] {
        &self.spare.live
    }

    /// Returns the subset as a little-endian module.
    ///
    /// # Errors
    /// `Input`, with the offset in the source module, where the subset uses ids that nothing defines or instructions
    /// with unknown operands.
    pub fn cut(&mut self, keep: &Keep<'_>) -> Result<Vec<u8>> {
        // A walk meets each instruction at most once.
        let most = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        if self.next.checked_add(most).is_none_or(|end| end == u32::MAX) {
            self.places.fill(0);
            self.next = 1;
        }
        self.base = self.next;
        // Id 0 is invalid.
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

/// Returns the functions that other modules may import, in module order: exported functions that are neither kernels
/// nor bodies of kernels, nor what the translator writes for LLVM intrinsics.
pub fn exported(index: &Index<'_>) -> Vec<(u32, Linkage)> {
    let names: HashSet<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
    let entries: HashSet<u32> = index.entry_points.iter().map(|entry| entry.function).collect();
    let functions = index.functions.iter().filter(|function| function.defined && !entries.contains(&function.id));
    let linked = functions.filter_map(|function| Some((function.id, index.linkage(function.id)?)));
    let exported = linked.filter(|(_, linkage)| linkage.kind.is_exported());
    exported.filter(|(_, linkage)| !names.contains(linkage.name.as_str()) && !is_helper(&linkage.name)).collect()
}

/// Returns the variables that the kernels of a program share and may write, with their names, by the numbers of their instructions:
/// those in global memory that are no constants. The flag of DPC++'s assertions is none: each image brings its own.
pub(crate) fn shared_variables(index: &Index<'_>) -> BTreeMap<u32, String> {
    const GLOBAL: u32 = StorageClass::CrossWorkgroup as u32;
    const CONSTANT: u32 = Decoration::Constant as u32;
    const OF_ASSERTIONS: &str = "SPIR_AssertHappenedMem";
    let end = index.functions.first().map_or(index.len(), |first| first.instructions.start);
    let variables = index.instructions(0..end).filter(|(_, instruction)| {
        matches!(instruction.opcode, op::VARIABLE | op::UNTYPED_VARIABLE) && instruction.word(2) == GLOBAL
    });
    let written = variables.filter(|(_, variable)| index.decoration(variable.word(1), CONSTANT).is_none());
    let named = written.map(|(number, variable)| {
        let id = variable.word(1);
        let symbol = index.linkage(id).map(|linkage| linkage.name);
        (number as u32, symbol.or_else(|| index.name(id)).unwrap_or_else(|| format!("%{id}")))
    });
    named.filter(|(_, name)| name != OF_ASSERTIONS).collect()
}

/// Error for an instruction that cannot be copied into a subset.
fn unknown(instruction: &Instruction<'_>) -> Error {
    let name = super::grammar::name(instruction.opcode);
    let error = Error::at(instruction.offset, format!("{name}: which of its words are ids is not known"));
    error.with_remedy("the module can be kept whole, but not be taken apart")
}

fn undefined(instruction: &Instruction<'_>, id: u32) -> Error {
    let name = super::grammar::name(instruction.opcode);
    Error::at(instruction.offset, format!("{name} uses %{id}, which nothing defines in its reach"))
}

/// Whether an instruction decorates a function or variable with linkage.
fn links(instruction: &Instruction<'_>) -> bool {
    const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
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
