//! Which functions may a virtual call reach that is made in another image?
//!
//! DPC++ puts the definitions of virtual functions into images of their own, and links them at run time to those that
//! call them: property set `SYCL/virtual functions`, where `virtual-functions-set` names the set that an image defines and
//! `uses-virtual-functions-set` those that its kernels call, parted by commas. Which function of a set a call reaches is
//! known at run time only; so, as in the compiler's own propagation of aspects, each may be.

use super::code::{Code, Kind};
use crate::bundle::image::Image;
use crate::bundle::property::set;
use std::collections::{BTreeMap, HashSet};

/// The sets of virtual functions that an image takes part in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sets {
    /// Sets that it defines functions of.
    pub defined: Vec<String>,
    /// Sets that its kernels call.
    pub used: Vec<String>,
}

impl Sets {
    /// The sets of an image.
    pub fn read(image: &Image<'_>) -> Sets {
        let list = |key: &str| -> Vec<String> {
            let text = image.properties.get(set::VIRTUAL_FUNCTIONS, key).and_then(|value| value.text());
            text.into_iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
        };
        Sets { defined: list("virtual-functions-set"), used: list("uses-virtual-functions-set") }
    }

    /// Whether two images are linked for their sets.
    pub fn share(&self, other: &Sets) -> bool {
        let names = |sets: &Sets| sets.defined.iter().chain(&sets.used).cloned().collect::<HashSet<String>>();
        !names(self).is_disjoint(&names(other))
    }
}

/// The sets of all modules, with the functions by their numbers in the linked graph.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// For each set the functions that it may reach.
    pub(super) members: Vec<Vec<usize>>,
    /// Functions that make an indirect call, each with the place of a set that its image uses.
    pub(super) callers: Vec<(usize, usize)>,
    /// Modules whose image uses a set that no module defines.
    pub(super) open: HashSet<usize>,
}

impl Linked {
    /// Links modules, of which `first` are the numbers of the first nodes.
    pub(super) fn resolve(codes: &[Code], first: &[usize]) -> Linked {
        let mut linked = Linked::default();
        if codes.iter().all(|code| code.sets.used.is_empty()) {
            return linked;
        }
        let mut defined: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (code, first) in codes.iter().zip(first) {
            let exported = |at: &usize| {
                code.nodes.get(*at).is_some_and(|node| node.kind == Kind::Defined && node.symbol.is_some())
            };
            let numbers = (0..code.nodes.len()).filter(exported).map(|at| first.saturating_add(at));
            for set in &code.sets.defined {
                defined.entry(set).or_default().extend(numbers.clone());
            }
        }
        let places: BTreeMap<&str, usize> = defined.keys().copied().zip(0..).collect();
        linked.members = defined.into_values().collect();
        for (code, first) in codes.iter().zip(first) {
            for from in code.indirect.iter().map(|call| first.saturating_add(call.from)) {
                for set in &code.sets.used {
                    match places.get(set.as_str()) {
                        Some(place) => linked.callers.push((from, *place)),
                        None => drop(linked.open.insert(from)),
                    }
                }
            }
        }
        linked
    }
}
