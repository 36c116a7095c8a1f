//! What did the gate find, in each of its forms?

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub use github::github;
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use table::{EXAMPLES, table};

use super::check::Verdict;
use crate::compat::aspects::Evidence;
use crate::compat::gate::Against;
use crate::compat::gate::fingerprint;
use crate::compat::gate::judged::{Found, Item, Judged};
use crate::compat::gate::proof::Proofs;
use std::collections::HashMap;
use std::sync::Arc;

/// What was found in a file, for one target.
#[derive(Debug, Clone)]
pub struct OfFile {
    /// The file, as the user gave it.
    pub file: Arc<str>,
    /// What speaks against its kernels.
    pub judged: Judged,
    /// Why they need the aspects that targets lack.
    pub proofs: Arc<Proofs>,
}

/// A finding, in its file.
#[derive(Debug, Clone, Copy)]
pub struct Finding<'r> {
    /// The file.
    pub of: &'r OfFile,
    /// What was found.
    pub found: Found<'r>,
}

/// What was found for a target.
#[derive(Debug, Clone, Default)]
pub struct OfTarget {
    /// Its name.
    pub target: String,
    /// What was found in each file.
    pub files: Vec<OfFile>,
}

/// Kernels by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that run, or whose findings do not count.
    pub compatible: usize,
    /// Those of which it cannot be told.
    pub unknown: usize,
    /// Those that do not run.
    pub incompatible: usize,
}

/// Findings that say the same of several kernels, and count.
pub(super) struct Group<'r> {
    pub against: &'r Against,
    /// How many there are.
    pub count: usize,
    /// The first of them: file, kernel, item.
    first: (usize, usize, usize),
    /// The file, the kernels and the item's number among theirs.
    parts: Vec<(usize, &'r OfFile, &'r [usize], usize, &'r Item)>,
}

impl<'r> Group<'r> {
    /// The first findings, in the order of files and kernels.
    pub fn findings(&self, most: usize) -> Vec<Finding<'r>> {
        let all = self.parts.iter().flat_map(|&(file, of, kernels, nth, item)| {
            let places = kernels.iter().take(most).map(move |kernel| (file, *kernel, nth));
            places.filter_map(move |place| Some((place, Finding { of, found: of.judged.found(place.1, item)? })))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(place, _)| *place);
        all.truncate(most);
        all.into_iter().map(|(_, finding)| finding).collect()
    }
}

impl<'r> Finding<'r> {
    /// What it is known by from one build to the next.
    pub fn fingerprint(&self, target: &str) -> String {
        fingerprint(target, &self.of.file, &self.found)
    }

    /// The use of the aspect and the calls that lead to it.
    pub fn evidence(&self) -> Option<&'r Evidence> {
        self.found.evidence(&self.of.proofs)
    }
}

impl OfTarget {
    /// What speaks against its kernels, in the order of files, images and kernels.
    pub fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        self.files.iter().flat_map(|of| of.judged.findings().map(move |found| Finding { of, found }))
    }

    /// All that is said of any kernel, with the kernels of which it is.
    fn items(&self) -> impl Iterator<Item = (&OfFile, &[usize], &[Item])> {
        self.files.iter().flat_map(|of| of.judged.groups().map(move |(kernels, items)| (of, kernels, items)))
    }

    /// How many kernels were judged.
    pub fn kernels(&self) -> usize {
        self.files.iter().map(|of| of.judged.kernels.len()).sum()
    }

    /// The verdict: one sure finding that counts says no; one that is not sure leaves it open.
    pub fn verdict(&self) -> Verdict {
        match self.items().filter_map(|(_, _, items)| certain(items)).max() {
            Some(true) => Verdict::Incompatible,
            Some(false) => Verdict::Unknown,
            None => Verdict::Compatible,
        }
    }

    /// Kernels by verdict.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { compatible: self.kernels(), ..Counts::default() };
        for (_, kernels, items) in self.items() {
            let place = match certain(items) {
                Some(true) => &mut counts.incompatible,
                Some(false) => &mut counts.unknown,
                None => continue,
            };
            *place = place.saturating_add(kernels.len());
            counts.compatible = counts.compatible.saturating_sub(kernels.len());
        }
        counts
    }

    /// The findings that count by what they say, those that are sure and of most kernels first.
    fn groups(&self) -> Vec<Group<'_>> {
        let mut places: HashMap<(&str, bool), usize> = HashMap::new();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (file, of) in self.files.iter().enumerate() {
            for (kernels, items) in of.judged.groups() {
                let counting = items.iter().enumerate().filter(|(_, item)| item.excused.is_none());
                for (nth, item) in counting {
                    let against = &*item.against;
                    let place = *places.entry((&against.message, against.certain)).or_insert(groups.len());
                    let first = (file, kernels.first().copied().unwrap_or_default(), nth);
                    let part = (file, of, kernels, nth, item);
                    match groups.get_mut(place) {
                        Some(group) => {
                            group.parts.push(part);
                            group.count = group.count.saturating_add(kernels.len());
                            if first < group.first {
                                (group.first, group.against) = (first, against);
                            }
                        }
                        None => groups.push(Group { against, count: kernels.len(), first, parts: vec![part] }),
                    }
                }
            }
        }
        groups.sort_by_key(|group| (!group.against.certain, std::cmp::Reverse(group.count), group.first));
        groups
    }

    /// How many findings do not count.
    fn excused(&self) -> usize {
        let excused = |items: &[Item]| items.iter().filter(|item| item.excused.is_some()).count();
        self.items().map(|(_, kernels, items)| kernels.len().saturating_mul(excused(items))).sum()
    }
}

/// Whether what counts of some items is sure; none where nothing counts.
fn certain(items: &[Item]) -> Option<bool> {
    items.iter().filter(|item| item.excused.is_none()).map(|item| item.against.certain).max()
}

/// The verdict on all targets together: the worst.
pub fn verdict(targets: &[OfTarget]) -> Verdict {
    targets.iter().map(OfTarget::verdict).max().unwrap_or(Verdict::Compatible)
}

/// A verdict as a word.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Compatible => "compatible",
        Verdict::Unknown => "unknown",
        Verdict::Incompatible => "incompatible",
    }
}
