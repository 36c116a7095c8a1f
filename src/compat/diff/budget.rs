//! Does what changed keep to the budgets?

use super::compare::{Change, Fate, FileDiff, What};
use crate::bundle::property_sets::set;
use crate::bundle::requirements::FIXED_TARGET_NAMES;
use crate::bytes;
use crate::error::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// A limit for growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// By so many bytes.
    Bytes(u64),
    /// By so many hundredths of a per cent of what it was.
    Share(u64),
}

impl Growth {
    /// Reads `64KiB`, `1.5MiB`, `4096`, `5%`, `0.5%`.
    ///
    /// # Errors
    /// `Usage` for anything else.
    pub(crate) fn parse(text: &str) -> Result<Growth> {
        let bad = || {
            let error = Error::new(ErrorKind::Usage, format!("`{text}` is neither a size nor a share"));
            error.with_remedy("write it as 4096, 64KiB, 1.5MiB or 5%")
        };
        let share =
            text.trim().strip_suffix('%').map(|share| bytes::parse_scaled(share.trim_end(), 100).map(Growth::Share));
        share.unwrap_or_else(|| bytes::parse_size(text).map(Growth::Bytes)).ok_or_else(bad)
    }

    /// Whether something may grow from `old` to `new`.
    pub(crate) fn allows(self, old: u64, new: u64) -> bool {
        let grown = new.saturating_sub(old);
        match self {
            Growth::Bytes(most) => grown <= most,
            Growth::Share(most) => u128::from(grown) * 10_000 <= u128::from(old) * u128::from(most),
        }
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Growth::Bytes(bytes) => write!(f, "{bytes} B"),
            Growth::Share(share) if share % 100 == 0 => write!(f, "{} %", share / 100),
            Growth::Share(share) => write!(f, "{}.{:02} %", share / 100, share % 100),
        }
    }
}

/// A change that must not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forbidden {
    /// A file is gone.
    LostFiles,
    /// A target that a file had images for is gone.
    LostTargets,
    /// A kernel is gone.
    LostKernels,
    /// A kernel needs an aspect or requires a size that it did not, or its image another shape of matrices or target.
    GainedRequirements,
    /// The arguments of a kernel changed.
    ChangedArguments,
}

/// The budgets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Budgets {
    /// Limit for the device code of all files together, as it is stored.
    pub(crate) total: Option<Growth>,
    /// Limit for the images of any one kernel for any one target.
    pub(crate) kernel: Option<Growth>,
    /// Limit for the bytes that any one kernel spills more.
    pub(crate) spill: Option<Growth>,
    /// Changes that must not happen.
    pub(crate) forbidden: Vec<Forbidden>,
}

/// A budget that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Breach {
    /// The file, by its name in both builds; null where it is about all.
    pub(crate) file: Option<String>,
    /// The mangled name of the kernel; null where it is about none.
    pub(crate) kernel: Option<String>,
    /// A sentence about what happened.
    pub(crate) message: String,
}

/// Finds the breaches of budgets, given the files by name, those without an old or new build among them.
pub(crate) fn breaches(budgets: &Budgets, files: &[(String, [bool; 2], &FileDiff)]) -> Vec<Breach> {
    let mut found = Vec::new();
    if let Some(growth) = budgets.total {
        let [old, new] = files.iter().fold([0u64; 2], |[old, new], (_, _, diff)| {
            let [own_old, own_new] = diff.totals();
            [old.saturating_add(own_old.stored), new.saturating_add(own_new.stored)]
        });
        if !growth.allows(old, new) {
            let message = format!("the device code grew from {old} to {new} bytes; the budget is {growth}");
            found.push(Breach { file: None, kernel: None, message });
        }
    }
    for (name, there, diff) in files {
        let breach = |kernel: Option<&String>, message: String| Breach {
            file: Some(name.clone()),
            kernel: kernel.cloned(),
            message,
        };
        let forbids = |what: Forbidden| budgets.forbidden.contains(&what);
        if forbids(Forbidden::LostFiles) && *there == [true, false] {
            found.push(breach(None, "the file is gone".to_owned()));
        }
        if forbids(Forbidden::LostTargets) {
            found.extend(diff.lost().map(|target| breach(None, format!("no image for {target} any more"))));
        }
        if forbids(Forbidden::GainedRequirements) {
            for change in diff.images.iter().map(|image| &image.change).filter(|change| requires_more(change)) {
                let [old, new] = [&change.old, &change.new].map(|value| value.as_deref().unwrap_or("none"));
                found.push(breach(None, format!("{}: from {old} to {new} on {}", change.name, change.target)));
            }
        }
        for kernel in &diff.diffs {
            if forbids(Forbidden::LostKernels) && kernel.fate == Fate::Removed {
                found.push(breach(Some(&kernel.name), "the kernel is gone".to_owned()));
            }
            for change in &kernel.changes {
                let gained = change.new.is_some() && change.old.is_none();
                let required = change.what == What::Aspects
                    || change.what == What::Attributes
                        && ["work-group size", "sub-group size"].contains(&&*change.name);
                let values = || {
                    let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
                    format!("{} to {} on {}", value(&change.old), value(&change.new), change.target)
                };
                let more = gained || change.what == What::Attributes && change.new.is_some();
                if forbids(Forbidden::GainedRequirements) && required && more {
                    let message = format!("{} {}: from {}", change.what.name(), change.name, values());
                    found.push(breach(Some(&kernel.name), message));
                }
                if forbids(Forbidden::ChangedArguments) && change.what == What::Arguments {
                    found.push(breach(Some(&kernel.name), format!("argument {}: from {}", change.name, values())));
                }
                let budget = match change.what {
                    What::Bytes => budgets.kernel,
                    What::Resources if change.name.starts_with("spill") => budgets.spill,
                    _ => None,
                };
                let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok()).unwrap_or(0);
                if let Some(growth) = budget.filter(|growth| !growth.allows(number(&change.old), number(&change.new))) {
                    let name = if change.name.is_empty() { change.what.name() } else { &change.name };
                    let message = format!("{name}: from {}; the budget is {growth}", values());
                    found.push(breach(Some(&kernel.name), message));
                }
            }
        }
    }
    found
}

/// Whether a change of what an image requires is more than that something is left out: an aspect or a shape of matrices that it
/// did not need, or another size of sub-groups or list of targets that it is for. Of sizes of work-groups the kernels' attributes tell.
fn requires_more(change: &Change) -> bool {
    let Some(new) = &change.new else { return false };
    let key = change.name.strip_prefix(set::REQUIREMENTS).and_then(|rest| rest.strip_prefix(": "));
    // Images that say different things are told as one or the other.
    let list = |text: &str| {
        let all = text.split(" or ").flat_map(|text| text.split(", ")).filter(|one| *one != "none");
        all.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    match key {
        Some("joint_matrix" | "joint_matrix_mad" | "aspects" | "aspect" | "reqd_sub_group_size") => {
            !list(new).is_subset(&list(change.old.as_deref().unwrap_or_default()))
        }
        Some("fixed_target" | FIXED_TARGET_NAMES) => true,
        _ => false,
    }
}
