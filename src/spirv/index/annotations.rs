//! What is an id called, and how is it decorated?
//!
//! Annotations are stored as instruction numbers by target and decoded on request. Decoration groups are followed on
//! lookup: expanding them could take memory for the product of decorations and targets.

use super::Index;
use crate::limits;

/// A decoration of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoration {
    /// Number of the decoration.
    pub decoration: u32,
    /// Number of the instruction.
    pub at: usize,
    /// Operand word of that instruction at which the decoration's own operands begin.
    pub operands: usize,
}

/// Linkage of a symbol (decoration `LinkageAttributes`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linkage {
    /// Name of the symbol.
    pub name: String,
    /// Direction of the linkage.
    pub kind: LinkageKind,
}

/// Linkage type of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkageKind {
    /// Visible to other modules.
    Export,
    /// Defined by another module. Built-in variables are decorated so too.
    Import,
    /// Like an export; one of equal definitions is kept (`SPV_KHR_linkonce_odr`).
    LinkOnceOdr,
    /// Weak linkage, or a type that is newer than this tool.
    Other(u32),
}

impl LinkageKind {
    /// Returns the linkage type of a number.
    pub fn from_number(number: u32) -> LinkageKind {
        match number {
            0 => LinkageKind::Export,
            1 => LinkageKind::Import,
            2 => LinkageKind::LinkOnceOdr,
            other => LinkageKind::Other(other),
        }
    }
}

/// Operand word at which a decoration's own operands begin: after the target and the decoration.
const OPERANDS: usize = 2;

/// Lists of (id, instruction number), sorted by id, in module order for each id. Annotations of structure members are
/// not in them.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) names: Vec<(u32, u32)>,
    pub(super) decorations: Vec<(u32, u32)>,
    /// Pairs of target and group, both ids.
    pub(super) groups: Vec<(u32, u32)>,
}

impl Annotations {
    pub(super) fn sort(&mut self) {
        for list in [&mut self.names, &mut self.decorations, &mut self.groups] {
            // Compilers write them nearly in order, which the stable sort is fast for.
            if !list.is_sorted_by_key(|entry| entry.0) {
                list.sort_by_key(|entry| entry.0);
            }
        }
    }
}

/// Returns the entries of a list for an id.
fn entries_of(list: &[(u32, u32)], id: u32) -> &[(u32, u32)] {
    let begin = list.partition_point(|entry| entry.0 < id);
    let rest = list.get(begin..).unwrap_or_default();
    let count = rest.partition_point(|entry| entry.0 == id);
    rest.get(..count).unwrap_or_default()
}

impl Index<'_> {
    /// Returns the name that `OpName` gives to an id. Kernel names are in [`Index::entry_points`] only.
    pub fn name(&self, id: u32) -> Option<String> {
        let (_, at) = entries_of(&self.annotations.names, id).first()?;
        Some(self.instruction(*at as usize)?.string(1).0)
    }

    /// Returns the decorations of an id, its own before those of its groups.
    pub fn decorations(&self, id: u32) -> impl Iterator<Item = Decoration> + '_ {
        let own = entries_of(&self.annotations.decorations, id);
        let groups = entries_of(&self.annotations.groups, id);
        let of_groups = groups.iter().flat_map(|(_, group)| entries_of(&self.annotations.decorations, *group));
        own.iter().chain(of_groups).take(limits::MAX_DECORATIONS).filter_map(|(_, at)| {
            let decoration = self.instruction(*at as usize)?.word(OPERANDS - 1);
            Some(Decoration { decoration, at: *at as usize, operands: OPERANDS })
        })
    }

    /// Returns operand `nth` of a decoration, or none past its last operand.
    pub fn decoration_operand(&self, decoration: &Decoration, nth: usize) -> Option<u32> {
        let instruction = self.instruction(decoration.at)?;
        let at = decoration.operands.checked_add(nth)?;
        (at < instruction.len()).then(|| instruction.word(at))
    }

    /// Returns the first operand of a decoration of an id (0 where it takes none), or none where the id is not so
    /// decorated.
    pub fn decoration(&self, id: u32, decoration: u32) -> Option<u32> {
        let found = self.decorations(id).find(|found| found.decoration == decoration)?;
        Some(self.decoration_operand(&found, 0).unwrap_or(0))
    }

    /// Returns the linkage of an id, or none where it is private to the module.
    pub fn linkage(&self, id: u32) -> Option<Linkage> {
        const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;
        let found = self.decorations(id).find(|found| found.decoration == LINKAGE)?;
        let (name, next) = self.instruction(found.at)?.string(found.operands);
        Some(Linkage { name, kind: LinkageKind::from_number(self.instruction(found.at)?.word(next)) })
    }

    /// Returns the functions and variables that have linkage, in order of their ids. Built-in variables, which are
    /// decorated as imports too, are left out.
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
