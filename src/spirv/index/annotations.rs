//! What is an id called, and how is it decorated?
//!
//! Instructions are kept by target and decoded where they are asked for. Decoration groups are followed on the way, since
//! writing them out would cost the product of decorations and targets.

use super::Index;
use crate::limits;

/// A decoration of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoration {
    /// The decoration's number.
    pub decoration: u32,
    /// The number of the instruction.
    pub at: usize,
    /// The operand word of that instruction at which the decoration's own operands begin.
    pub operands: usize,
}

/// How a symbol is linked (decoration `LinkageAttributes`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linkage {
    /// The symbol's name.
    pub name: String,
    /// Which way.
    pub kind: LinkageKind,
}

/// Which way a symbol is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkageKind {
    /// Other modules may use it.
    Export,
    /// Another module defines it. Built-in variables say so too.
    Import,
    /// Like an export; one of equal definitions is kept (`SPV_KHR_linkonce_odr`).
    LinkOnceOdr,
    /// Weak or of a kind that is newer than this tool.
    Other(u32),
}

impl LinkageKind {
    /// The kind of a number.
    pub fn of(number: u32) -> LinkageKind {
        match number {
            0 => LinkageKind::Export,
            1 => LinkageKind::Import,
            2 => LinkageKind::LinkOnceOdr,
            other => LinkageKind::Other(other),
        }
    }
}

/// The operand word at which a decoration's own operands begin: after the target and the decoration.
const OPERANDS: usize = 2;

/// Lists of (id, instruction), sorted by id, in module order within. What is said of members of structures is not kept.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) names: Vec<(u32, u32)>,
    pub(super) decorations: Vec<(u32, u32)>,
    /// The second is the id of the group.
    pub(super) groups: Vec<(u32, u32)>,
}

impl Annotations {
    pub(super) fn sort(&mut self) {
        for list in [&mut self.names, &mut self.decorations, &mut self.groups] {
            // Compilers write them nearly in order; the sort is stable and takes that for granted.
            if !list.is_sorted_by_key(|entry| entry.0) {
                list.sort_by_key(|entry| entry.0);
            }
        }
    }
}

/// What a list holds for an id.
fn of(list: &[(u32, u32)], id: u32) -> &[(u32, u32)] {
    let begin = list.partition_point(|entry| entry.0 < id);
    let rest = list.get(begin..).unwrap_or_default();
    let count = rest.partition_point(|entry| entry.0 == id);
    rest.get(..count).unwrap_or_default()
}

impl Index<'_> {
    /// The name that `OpName` gives to an id. Kernels have theirs in [`Index::entry_points`] alone.
    pub fn name(&self, id: u32) -> Option<String> {
        let (_, at) = of(&self.annotations.names, id).first()?;
        Some(self.instruction(*at as usize)?.string(1).0)
    }

    /// The decorations of an id, its own before those of its groups.
    pub fn decorations(&self, id: u32) -> impl Iterator<Item = Decoration> + '_ {
        let own = of(&self.annotations.decorations, id);
        let groups = of(&self.annotations.groups, id);
        let of_groups = groups.iter().flat_map(|(_, group)| of(&self.annotations.decorations, *group));
        own.iter().chain(of_groups).take(limits::MAX_DECORATIONS).filter_map(|(_, at)| {
            let decoration = self.instruction(*at as usize)?.word(OPERANDS - 1);
            Some(Decoration { decoration, at: *at as usize, operands: OPERANDS })
        })
    }

    /// Operand `nth` of a decoration; none where it has not so many.
    pub fn decoration_operand(&self, decoration: &Decoration, nth: usize) -> Option<u32> {
        let instruction = self.instruction(decoration.at)?;
        let at = decoration.operands.checked_add(nth)?;
        (at < instruction.len()).then(|| instruction.word(at))
    }

    /// Whether an id has a decoration, and the decoration's first operand (0 where it takes none).
    pub fn decoration(&self, id: u32, decoration: u32) -> Option<u32> {
        let found = self.decorations(id).find(|found| found.decoration == decoration)?;
        Some(self.decoration_operand(&found, 0).unwrap_or(0))
    }

    /// How an id is linked; none where it is the module's own.
    pub fn linkage(&self, id: u32) -> Option<Linkage> {
        const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;
        let found = self.decorations(id).find(|found| found.decoration == LINKAGE)?;
        let (name, next) = self.instruction(found.at)?.string(found.operands);
        Some(Linkage { name, kind: LinkageKind::of(self.instruction(found.at)?.word(next)) })
    }

    /// Functions and variables that are linked, in order of their ids. Built-in variables, which are decorated as
    /// imports too, are not among them.
    pub fn linked(&self) -> Vec<(u32, Linkage)> {
        const BUILT_IN: u32 = rspirv::spirv::Decoration::BuiltIn as u32;
        let mut ids: Vec<u32> = self.annotations.decorations.iter().map(|(id, _)| *id).collect();
        ids.extend(self.annotations.groups.iter().map(|(id, _)| *id));
        ids.sort_unstable();
        ids.dedup();
        let linked = ids.into_iter().filter_map(|id| Some((id, self.linkage(id)?)));
        linked.filter(|(id, _)| self.decoration(*id, BUILT_IN).is_none()).collect()
    }
}
