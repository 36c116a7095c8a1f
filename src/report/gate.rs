//! What did the gate find, in each of its forms?

pub mod baseline;
mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod table;
#[cfg(test)]
mod tests;

pub use github::github;
pub use json::{Trouble, json, jsonl};
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use table::table;

use super::check::Verdict;
use super::units::counted;
use crate::compat::gate::{Against, Found, Matter, fingerprint};
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
    /// Whether the baseline has it, where there is one.
    pub known: Option<bool>,
}

/// What was found for a target.
#[derive(Debug, Clone, Default)]
pub struct OfTarget {
    /// Its name; empty for what a policy demands whatever the target.
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

impl Group<'_> {
    /// What it is about and of how much: `cannot run: 3 kernels (aspect)`.
    fn heading(&self) -> String {
        let rule = self.against.matter.rule();
        let what = match (self.against.matter, self.against.certain) {
            (_, false) => "unknown",
            (Matter::Policy(_), true) => "against the policy",
            (_, true) => "cannot run",
        };
        format!("{what}: {} ({rule})", self.count())
    }

    fn count(&self) -> String {
        let whole = self.findings.iter().all(|finding| finding.found.kernel.is_empty());
        counted(self.findings.len(), if whole { "file" } else { "kernel" })
    }
}

impl Finding {
    /// What it is known by from one build to the next.
    pub fn fingerprint(&self, target: &str) -> String {
        fingerprint(target, &self.file, &self.found)
    }
}

impl OfTarget {
    /// Its name, for people.
    pub fn name(&self) -> &str {
        if self.target.is_empty() { "policy" } else { &self.target }
    }

    /// The verdict: one sure finding that counts says no; one that is not sure leaves it open, and so does a target for
    /// which no kernel was judged.
    pub fn verdict(&self) -> Verdict {
        let counting = self.findings.iter().filter(|finding| finding.excused.is_none());
        match counting.map(|finding| finding.found.against.certain).max() {
            Some(true) => Verdict::Incompatible,
            Some(false) => Verdict::Unknown,
            None if self.kernels.is_empty() && !self.target.is_empty() => Verdict::Unknown,
            None => Verdict::Compatible,
        }
    }

    /// Kernels by verdict.
    pub fn counts(&self) -> Counts {
        let mut worst: HashMap<(&str, &str), bool> = HashMap::new();
        let of_kernel = |finding: &&Finding| finding.excused.is_none() && !finding.found.kernel.is_empty();
        for finding in self.findings.iter().filter(of_kernel) {
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

    /// The findings that do not count, by what they say and why they do not.
    fn excuses(&self) -> Vec<(&str, Group<'_>)> {
        let mut places: HashMap<(&str, &str), usize> = HashMap::new();
        let mut groups: Vec<(&str, Group<'_>)> = Vec::new();
        for finding in &self.findings {
            let (against, Some(why)) = (&*finding.found.against, &finding.excused) else { continue };
            let place = *places.entry((&against.message, why)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, group)) => group.findings.push(finding),
                None => groups.push((why, Group { against, findings: vec![finding] })),
            }
        }
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
