//! What does a page say of the policy that its files are held to?
//!
//! What it finds of single kernels on targets stands in the matrix. Here are its exceptions, with how many kernels each
//! excuses, and what it finds of whole files and whatever the target.

use super::visible;
use crate::demangle::demangle;
use crate::policy::{AppliedPolicy, Exception};
use crate::report::evidence::Names;
use crate::report::gate::{FileFindings, Finding, TargetFindings};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Kernels that are named for each thing that is found.
const NAMED: usize = 10;

/// The policy as it stands in the page.
#[derive(Debug, Serialize)]
pub(super) struct PolicySection {
    pub file: String,
    /// The day on which exceptions were judged.
    pub day: Option<String>,
    pub exceptions: Vec<ExceptionRow>,
    pub findings: Vec<FindingRow>,
}

/// An exception.
#[derive(Debug, Serialize)]
pub(super) struct ExceptionRow {
    /// The rule and the kernels that it excuses.
    pub what: String,
    /// The targets; all where there are none.
    pub targets: Vec<String>,
    pub reason: String,
    /// The last day.
    pub until: String,
    /// Whether that has passed.
    pub ended: bool,
    /// The number of kernels with a finding that it excuses.
    pub kernels: usize,
}

/// Something that is found of whole files, or whatever the target.
#[derive(Debug, Serialize)]
pub(super) struct FindingRow {
    /// The target, where it is about one.
    pub target: Option<String>,
    pub certain: bool,
    pub rule: &'static str,
    pub message: String,
    pub remedy: String,
    /// The files and kernels of which it is, as far as they are named; none where it is of the policy.
    pub places: Vec<String>,
    /// The number of places that are not named.
    pub more: usize,
}

impl AppliedPolicy {
    /// A line for the head of a page.
    pub(super) fn facts(&self) -> String {
        let day = self.today.map(|day| format!(" as of {day}")).unwrap_or_default();
        format!("held to {}{day}", self.policy.file)
    }

    pub(super) fn section(&self, targets: &[TargetFindings], names: Names) -> PolicySection {
        let AppliedPolicy { policy, today } = self;
        let kernels = self.excused(targets);
        let exception = |(at, one): (usize, &Exception)| ExceptionRow {
            what: visible(&one.describe()),
            targets: one.targets.iter().map(|target| visible(target)).collect(),
            reason: visible(&one.reason),
            until: one.until.to_string(),
            ended: today.is_some_and(|today| one.until < today),
            kernels: kernels.get(at).copied().unwrap_or_default(),
        };
        PolicySection {
            file: visible(&policy.file),
            day: today.map(|day| day.to_string()),
            exceptions: policy.exceptions.iter().enumerate().map(exception).collect(),
            findings: targets.iter().flat_map(|target| self.findings(target, names)).collect(),
        }
    }

    /// Of how many kernels each exception excuses something.
    fn excused(&self, targets: &[TargetFindings]) -> Vec<usize> {
        let mut found: Vec<HashSet<(&str, &str)>> = vec![HashSet::new(); self.policy.exceptions.len()];
        let mut shown: HashMap<&str, Cow<'_, str>> = HashMap::new();
        for target in targets {
            for (of, (kernels, items)) in
                target.files.iter().flat_map(|of| of.judged.groups().map(move |all| (of, all)))
            {
                for item in items.iter().filter(|item| item.excused.is_some()) {
                    for name in kernels.iter().filter_map(|kernel| of.judged.kernels.name(*kernel)) {
                        let demangled = shown.entry(name).or_insert_with(|| demangle(name));
                        let excuse =
                            |today| self.policy.excuse(today, &target.target, &item.finding, (name, demangled));
                        if let Some(own) = self.today.and_then(excuse).and_then(|at| found.get_mut(at)) {
                            own.insert((&of.file, name));
                        }
                    }
                }
            }
        }
        found.iter().map(HashSet::len).collect()
    }

    /// The findings about whole files for a target; all findings where there is no target.
    fn findings(&self, target: &TargetFindings, names: Names) -> Vec<FindingRow> {
        let general = target.target.is_empty();
        let files: Vec<FileFindings> = target.files.iter().filter(|of| general || of.is_whole()).cloned().collect();
        let own = TargetFindings { target: target.target.clone(), files };
        let place = |one: &Finding<'_>| match (&*one.of.file, &**one.found.kernel) {
            (file, _) if file == self.policy.file => None,
            (file, "") => Some(visible(file)),
            (file, kernel) => Some(visible(&format!("{file}: {}", names.show(kernel)))),
        };
        let groups = own.groups().into_iter();
        let found = groups.map(|group| FindingRow {
            target: (!general).then(|| visible(&target.target)),
            certain: group.finding.certain,
            rule: group.finding.rule.name(),
            message: visible(&group.finding.message),
            remedy: visible(&group.finding.remedy),
            places: group.findings(NAMED).iter().filter_map(place).collect(),
            more: group.count.saturating_sub(NAMED),
        });
        found.collect()
    }
}
