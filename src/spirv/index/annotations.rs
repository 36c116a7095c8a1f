//! What is an id called, and how is it decorated?
//!
//! Instructions are kept by target and decoded where they are asked for. Decoration groups are followed on the way, since
//! writing them out would cost the product of decorations and targets.

/// A decoration of an id or of a member of a structure.
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

/// Stands for "the whole id" where a member's number stands.
pub(super) const WHOLE: u32 = u32::MAX;

/// Lists of (id, member or [`WHOLE`], instruction), sorted by id, in module order within.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) names: Vec<(u32, u32, u32)>,
    pub(super) decorations: Vec<(u32, u32, u32)>,
    /// The last is the id of the group.
    pub(super) groups: Vec<(u32, u32, u32)>,
}

impl Annotations {
    pub(super) fn sort(&mut self) {
        for list in [&mut self.names, &mut self.decorations, &mut self.groups] {
            // Compilers write them nearly in order; the sort is stable and takes that for granted.
            if !list.is_sorted_by_key(|entry| (entry.0, entry.1)) {
                list.sort_by_key(|entry| (entry.0, entry.1));
            }
        }
    }
}

/// What a list holds for an id, or for a member of it.
pub(super) fn of(list: &[(u32, u32, u32)], id: u32, member: u32) -> &[(u32, u32, u32)] {
    let begin = list.partition_point(|entry| (entry.0, entry.1) < (id, member));
    let rest = list.get(begin..).unwrap_or_default();
    let count = rest.partition_point(|entry| (entry.0, entry.1) == (id, member));
    rest.get(..count).unwrap_or_default()
}
