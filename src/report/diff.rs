//! What changed between two builds, in each of its forms?

mod json;
mod markdown;
mod table;
#[cfg(test)]
mod tests;

pub use json::{json, schema};
pub use markdown::markdown;
pub use table::table;

use crate::compat::diff::budget::Breach;
use crate::compat::diff::compare::{Change, Fate, FileDiff, ImageChange, KernelDiff, What};
use crate::compat::diff::snapshot::Total;
use crate::report::units;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A file in two builds.
#[derive(Debug)]
pub struct Pair {
    /// The part of the path that both builds have in common.
    pub name: String,
    /// The old file, as the user gave it; none where there is none.
    pub old: Option<String>,
    /// The new file.
    pub new: Option<String>,
    /// Differences between the two builds.
    pub diff: FileDiff,
    /// Whether something of either could not be read, so that what is told may be too much.
    pub partial: bool,
}

/// All files, and the budgets that are not kept.
#[derive(Debug, Default)]
pub struct Report {
    /// The files, by name.
    pub pairs: Vec<Pair>,
    /// Budgets that are exceeded.
    pub breaches: Vec<Breach>,
}

/// The number of kernels, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// New kernels.
    pub added: usize,
    /// Kernels that are gone.
    pub removed: usize,
    /// Kernels that are the same code under another name.
    pub renamed: usize,
    /// Kernels that changed.
    pub changed: usize,
    /// Kernels that are as they were.
    pub unchanged: usize,
}

impl Pair {
    /// Counts the kernels of the file by fate.
    pub fn counts(&self) -> Counts {
        let of = |fate: fn(&Fate) -> bool| self.diff.diffs.iter().filter(|kernel| fate(&kernel.fate)).count();
        Counts {
            added: of(|fate| *fate == Fate::Added),
            removed: of(|fate| *fate == Fate::Removed),
            renamed: of(|fate| matches!(fate, Fate::Renamed { .. })),
            changed: of(|fate| *fate == Fate::Changed),
            unchanged: self.diff.unchanged,
        }
    }

    /// Whether it differs, or is in one build only.
    pub fn differs(&self) -> bool {
        self.old.is_none() || self.new.is_none() || self.diff.differs()
    }
}

impl Report {
    /// Whether anything differs.
    pub fn differs(&self) -> bool {
        self.pairs.iter().any(Pair::differs)
    }

    /// All images of all files, before and after.
    pub fn totals(&self) -> [Total; 2] {
        let totals = self.pairs.iter().map(|pair| pair.diff.totals());
        totals.fold([Total::default(); 2], |[old, new], [own_old, own_new]| [old.plus(own_old), new.plus(own_new)])
    }

    /// Counts the kernels of all files by fate.
    pub fn counts(&self) -> Counts {
        self.pairs.iter().map(Pair::counts).fold(Counts::default(), |sum, own| Counts {
            added: sum.added.saturating_add(own.added),
            removed: sum.removed.saturating_add(own.removed),
            renamed: sum.renamed.saturating_add(own.renamed),
            changed: sum.changed.saturating_add(own.changed),
            unchanged: sum.unchanged.saturating_add(own.unchanged),
        })
    }

    /// Requirements that kernels gained or lost, each with how many of them: `aspect fp64`, `sub-group size 16`.
    pub(super) fn requirements(&self) -> BTreeMap<String, [usize; 2]> {
        let mut found: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for kernel in self.pairs.iter().flat_map(|pair| &pair.diff.diffs) {
            let mut own: BTreeMap<String, [bool; 2]> = BTreeMap::new();
            for change in &kernel.changes {
                let label = match change.what {
                    What::Aspects => "aspect",
                    What::Attributes if change.name != "attributes" => change.name.as_str(),
                    _ => continue,
                };
                if let Some(value) = &change.new {
                    let [gained, _] = own.entry(format!("{label} {value}")).or_default();
                    *gained = true;
                }
                if let Some(value) = &change.old {
                    let [_, lost] = own.entry(format!("{label} {value}")).or_default();
                    *lost = true;
                }
            }
            for (label, [gained, lost]) in own {
                let [all_gained, all_lost] = found.entry(label).or_default();
                *all_gained = all_gained.saturating_add(usize::from(gained));
                *all_lost = all_lost.saturating_add(usize::from(lost));
            }
        }
        found
    }

    /// Lists changes of images that are not part of a kernel's own, a line each, with the number of kernels that have
    /// such images.
    pub(super) fn image_changes(&self) -> Vec<String> {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let targets: BTreeSet<&String> = self.pairs.iter().flat_map(|pair| pair.diff.targets.keys()).collect();
        for ImageChange { change, kernels } in self.pairs.iter().flat_map(|pair| &pair.diff.images) {
            let target = if targets.len() > 1 { format!(" ({})", change.target) } else { String::new() };
            let value = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
            let text = match change.what {
                What::Code => {
                    let (gone, come) = (value(&change.old, "0"), value(&change.new, "0"));
                    format!("code of images without kernels: {gone} gone, {come} new{target}")
                }
                _ => {
                    // A property may say `none`.
                    let (old, new) = (value(&change.old, "not there"), value(&change.new, "not there"));
                    format!("{}: {old} -> {new}{target}", change.name)
                }
            };
            let all = found.entry(text).or_default();
            *all = all.saturating_add(*kernels);
        }
        let line = |(text, kernels): (String, usize)| match kernels {
            0 => text,
            kernels => format!("{text}, {}", units::counted(kernels, "kernel")),
        };
        found.into_iter().map(line).collect()
    }

    /// Counts the changed kernels for each kind of change; kinds without a kernel are left out.
    fn ways(&self) -> Vec<(What, usize)> {
        let kernels = || self.pairs.iter().flat_map(|pair| &pair.diff.diffs);
        let of =
            |what: What| kernels().filter(|kernel| kernel.changes.iter().any(|change| change.what == what)).count();
        What::ALL.into_iter().map(|what| (what, of(what))).filter(|(_, count)| *count > 0).collect()
    }
}

/// Bytes and how they changed: `1.20 MiB (+4.00 KiB)`.
fn growth(old: u64, new: u64) -> String {
    format!("{} ({})", units::bytes(new), signed(old, new))
}

/// By how many bytes, and what share: `+4.00 KiB, +5.1 %`.
fn signed(old: u64, new: u64) -> String {
    match old.cmp(&new) {
        std::cmp::Ordering::Equal => "=".to_owned(),
        std::cmp::Ordering::Less => {
            format!("+{}{}", units::bytes(new.saturating_sub(old)), share('+', new.saturating_sub(old), old))
        }
        std::cmp::Ordering::Greater => {
            format!("-{}{}", units::bytes(old.saturating_sub(new)), share('-', old.saturating_sub(new), old))
        }
    }
}

fn share(sign: char, part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!(", {sign}{}", units::share(part, whole)) }
}

/// The fate of a kernel, as a word.
pub(super) fn fate(fate: &Fate) -> &'static str {
    match fate {
        Fate::Added => "added",
        Fate::Removed => "removed",
        Fate::Renamed { .. } => "renamed",
        Fate::Changed => "changed",
    }
}

/// A change in a line; the target where the kernel has several.
pub(super) fn line(change: &Change, kernel: &KernelDiff) -> String {
    let target = if kernel.targets.len() > 1 && change.what != What::Targets {
        format!(" ({})", change.target)
    } else {
        String::new()
    };
    let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let text = match (change.what, &change.old, &change.new) {
        (What::Code, _, _) => "code".to_owned(),
        (What::Aspects, None, _) => format!("needs aspect {}", change.name),
        (What::Aspects, _, _) => format!("needs aspect {} no more", change.name),
        (What::Targets, None, _) => format!("image for {}", change.target),
        (What::Targets, _, _) => format!("no image for {} any more", change.target),
        (What::Arguments, old, new) => format!("argument {}: {} -> {}", change.name, value(old), value(new)),
        (What::Bytes, Some(old), Some(new)) => match (old.parse(), new.parse()) {
            (Ok(old), Ok(new)) => format!("bytes: {}", growth(old, new)),
            _ => format!("bytes: {old} -> {new}"),
        },
        (what, old, new) => {
            let name = if change.name.is_empty() { what.name() } else { &change.name };
            format!("{name}: {} -> {}", value(old), value(new))
        }
    };
    format!("{text}{target}")
}
