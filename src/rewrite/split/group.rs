//! Which kernels and exported functions stay in one image?

use super::entry::Entry;
use super::{Mode, Options};
use std::collections::{BTreeMap, BTreeSet};

/// Key that all members of a group share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'e> {
    /// Group chosen by the user.
    Explicit(usize),
    /// Single kernel or function.
    Alone(usize),
    /// Source (where the mode separates sources), and fixed targets.
    Fixed(usize, Vec<&'e str>),
    /// Source (where the mode separates sources), and requirements.
    Needs(usize, &'e BTreeSet<String>, Option<[u32; 3]>, [Option<u32>; 2]),
}

/// Returns the positions of the entries of each group.
pub(super) fn groups(
    entries: &[Entry<'_>],
    options: &Options<'_>,
    fixed: &dyn Fn(usize) -> Vec<String>,
) -> Vec<Vec<usize>> {
    let targets: Vec<Vec<String>> = entries.iter().map(|entry| fixed(entry.source)).collect();
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for ((at, entry), targets) in entries.iter().enumerate().zip(&targets) {
        let source = if options.mode == Mode::Off { 0 } else { entry.source };
        let key = match (options.explicit)(&entry.name) {
            Some(group) => Key::Explicit(group),
            None if options.mode == Mode::PerKernel => Key::Alone(at),
            None if !targets.is_empty() => Key::Fixed(source, targets.iter().map(String::as_str).collect()),
            None => Key::Needs(source, &entry.aspects, entry.work_group, [entry.dimensions, entry.sub_group]),
        };
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.get_mut(place) {
            group.push(at);
        }
    }
    groups
}
