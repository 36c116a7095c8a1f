//! What did the gate find, in each of its forms?

mod github;
mod json;
mod junit;
pub mod links;
mod markdown;
mod providers;
mod sarif;
mod table;
#[cfg(test)]
mod tests;

pub use github::github;
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use providers::providers;
pub use sarif::sarif;
pub use table::table;

use super::check::Verdict;
use crate::compat::gate::{Against, Found, fingerprint};
use std::collections::HashMap;
use std::sync::Arc;

/// A finding, in its file.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The file, as the user gave it.
    pub file: Arc<str>,
    /// What was found.
    pub found: Found,
    /// Why it does not count, where it does not.
    pub excused: Option<Arc<str>>,
}

/// What was found for a target.
#[derive(Debug, Clone, Default)]
pub struct OfTarget {
    /// Its name.
    pub target: String,
    /// All kernels that were judged, in order: the file and the mangled name.
    pub kernels: Arc<[(Arc<str>, Arc<str>)]>,
    /// What speaks against them, in the order of files, images and kernels.
    pub findings: Vec<Finding>,
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

/// Findings that say the same of several kernels.
pub(super) struct Group<'r> {
    pub against: &'r Against,
    pub findings: Vec<&'r Finding>,
}

impl Finding {
    /// What it is known by from one build to the next.
    pub fn fingerprint(&self, target: &str) -> String {
        fingerprint(target, &self.file, &self.found)
    }
}

impl OfTarget {
    /// The verdict: one sure finding that counts says no; one that is not sure leaves it open.
    pub fn verdict(&self) -> Verdict {
        let counting = self.findings.iter().filter(|finding| finding.excused.is_none());
        match counting.map(|finding| finding.found.against.certain).max() {
            Some(true) => Verdict::Incompatible,
            Some(false) => Verdict::Unknown,
            None => Verdict::Compatible,
        }
    }

    /// Kernels by verdict.
    pub fn counts(&self) -> Counts {
        let mut worst: HashMap<(&str, &str), bool> = HashMap::new();
        for finding in self.findings.iter().filter(|finding| finding.excused.is_none()) {
            let certain = worst.entry((&finding.file, &finding.found.kernel)).or_insert(false);
            *certain |= finding.found.against.certain;
        }
        let incompatible = worst.values().filter(|certain| **certain).count();
        let unknown = worst.len().saturating_sub(incompatible);
        Counts { compatible: self.kernels.len().saturating_sub(worst.len()), unknown, incompatible }
    }

    /// The findings by what they say, those that are sure and of most kernels first.
    fn groups(&self) -> Vec<Group<'_>> {
        let mut places: HashMap<(&str, bool), usize> = HashMap::new();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for finding in self.findings.iter().filter(|finding| finding.excused.is_none()) {
            let against = &*finding.found.against;
            let place = *places.entry((&against.message, against.certain)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.findings.push(finding),
                None => groups.push(Group { against, findings: vec![finding] }),
            }
        }
        groups.sort_by_key(|group| (!group.against.certain, std::cmp::Reverse(group.findings.len())));
        groups
    }

    /// How many findings do not count.
    fn excused(&self) -> usize {
        self.findings.iter().filter(|finding| finding.excused.is_some()).count()
    }
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
