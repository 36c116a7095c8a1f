//! What changed between two builds, in each of its forms?

mod json;
mod table;

use json::json;
pub(crate) use json::schema;
use table::{markdown, table};

use crate::compat::diff::budget::{Breach, Budgets, breaches};
use crate::compat::diff::compare::{Change, Fate, FileDiff, ImageChange, KernelDiff, What, compare};
use crate::compat::diff::snapshot::{Interner, Snapshot, Total};
use crate::compat::diff::{below, stem};
use crate::compat::kernels::Providers;
use crate::error::Result;
use crate::report::document::{Document, Form, Sink};
use crate::report::{FileFacts, left_out, text};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A file in two builds.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The part of the path that both builds have in common.
    pub(crate) name: String,
    /// The old file, as the user gave it; none where there is none.
    pub(crate) old: Option<String>,
    /// The new file.
    pub(crate) new: Option<String>,
    /// Differences between the two builds.
    pub(crate) diff: FileDiff,
    /// Whether a part of either file could not be read, so that fewer things may have changed than are told.
    pub(crate) partial: bool,
}

/// All files, and the budgets that are not kept.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The files, by name.
    pub(crate) pairs: Vec<Pair>,
    /// Budgets that are exceeded.
    pub(crate) breaches: Vec<Breach>,
}

/// The number of kernels, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Counts {
    /// New kernels.
    pub(crate) added: usize,
    /// Kernels that are gone.
    pub(crate) removed: usize,
    /// Kernels that are the same code under another name.
    pub(crate) renamed: usize,
    /// Kernels that changed.
    pub(crate) changed: usize,
    /// Kernels that are as they were.
    pub(crate) unchanged: usize,
}

/// The files of one build, by the names that pair them with those of another.
#[derive(Debug, Default)]
pub(crate) struct Build {
    files: BTreeMap<String, BuildFile>,
}

/// A file of a build.
#[derive(Debug)]
struct BuildFile {
    path: String,
    snapshot: Snapshot,
}

impl Build {
    /// Adds a file, which was found in `argument`; one without device code is no part of a build. Its images may be left to
    /// be examined.
    ///
    /// # Errors
    /// Errors of the walk over the images.
    pub(crate) fn add(&mut self, argument: &str, facts: &mut FileFacts<'_>, interner: &mut Interner) -> Result<()> {
        if facts.bundle.is_none() {
            return Ok(());
        }
        let (mut snapshot, mut providers) = (Snapshot::default(), Providers::default());
        facts.each_share(true, |bundle, images| snapshot.add(bundle, images, &mut providers, interner))?;
        snapshot.pack();
        facts.problems.extend(left_out(&snapshot.left_out));
        snapshot.partial |= !facts.problems.is_empty();
        let stem = stem(below(argument, facts.path));
        // Two files of one build with the same name but for what is left out keep their whole paths.
        let key = if self.files.contains_key(&stem) { facts.path.to_owned() } else { stem };
        self.files.insert(key, BuildFile { path: facts.path.to_owned(), snapshot });
        Ok(())
    }

    /// Whether no file holds device code.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Compares the files of two builds that have the same name.
fn pairs(old: Build, new: Build, ignored: &[What]) -> Vec<Pair> {
    let (mut old, mut new) = (old.files, new.files);
    // One file on either side is compared with the other whatever they are called.
    if old.len() == 1 && new.len() == 1 && old.keys().ne(new.keys()) {
        let rekey = |map: BTreeMap<String, BuildFile>| map.into_values().map(|file| (String::new(), file)).collect();
        (old, new) = (rekey(old), rekey(new));
    }
    for (key, other) in moved(&old, &new) {
        // Both under the shorter name.
        let (from, to, map) = if key.len() > other.len() { (key, other, &mut old) } else { (other, key, &mut new) };
        if let Some(file) = map.remove(&from) {
            map.insert(to, file);
        }
    }
    let mut names: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    let none = Snapshot::default();
    let one = |name: String| {
        let (old, new) = (old.get(&name), new.get(&name));
        let (before, after) = (old.map_or(&none, |file| &file.snapshot), new.map_or(&none, |file| &file.snapshot));
        let path = |file: Option<&BuildFile>| file.map(|file| file.path.clone());
        let shown = if name.is_empty() { new.or(old).map(|file| file.path.clone()).unwrap_or_default() } else { name };
        Pair {
            name: shown,
            old: path(old),
            new: path(new),
            diff: compare(before, after, ignored),
            partial: before.partial || after.partial,
        }
    };
    names.into_iter().map(one).collect()
}

/// Pairs files that one build has under a further folder, as a wheel has what is compared with its installed folder: names of
/// the old and the new build of which one ends with the other, where each fits one alone. Those with the most in common come
/// first.
fn moved(old: &BTreeMap<String, BuildFile>, new: &BTreeMap<String, BuildFile>) -> Vec<(String, String)> {
    let mut order: Vec<&str> = old.keys().filter(|key| !new.contains_key(*key)).map(String::as_str).collect();
    let mut left = Ends::new(order.iter().copied());
    let mut right = Ends::new(new.keys().filter(|key| !old.contains_key(*key)).map(String::as_str));
    let mut pairs = Vec::new();
    order.sort_by_key(|key| std::cmp::Reverse(key.matches('/').count()));
    for key in order {
        // One of which this is the end has all of it in common, more than one that is its end.
        let longer = right.ending_with(key);
        let shorter = || ends(key).filter(|end| right.names.contains(end)).last();
        let best = match longer.len() {
            0 => shorter(),
            1 => longer.first().copied(),
            _ => None,
        };
        let Some(best) = best else { continue };
        // Others that have as much in common with it.
        let longer = left.ending_with(best).iter().filter(|other| **other != key).count();
        let shorter = ends(best).filter(|end| end.len() > key.len() && left.names.contains(end)).count();
        if longer == 0 && shorter == 0 {
            right.remove(best);
            left.remove(key);
            pairs.push((key.to_owned(), best.to_owned()));
        }
    }
    pairs
}

/// Folders of a file by which it is paired with another.
const FOLDERS: usize = 64;

/// Returns what a name ends with, behind each of its last slashes, the shortest first.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    name.rmatch_indices('/').take(FOLDERS).filter_map(|(at, slash)| name.get(at.saturating_add(slash.len())..))
}

/// Names of files, and those that end with a shorter name.
struct Ends<'k> {
    names: HashSet<&'k str>,
    by_end: HashMap<&'k str, BTreeSet<&'k str>>,
}

impl<'k> Ends<'k> {
    fn new(names: impl Iterator<Item = &'k str>) -> Self {
        let (names, mut by_end) = (names.collect::<HashSet<_>>(), HashMap::<_, BTreeSet<_>>::new());
        for name in &names {
            ends(name).for_each(|end| _ = by_end.entry(end).or_default().insert(*name));
        }
        Ends { names, by_end }
    }

    /// Returns the names of which a name is the end.
    fn ending_with(&self, end: &str) -> &BTreeSet<&'k str> {
        static NONE: BTreeSet<&str> = BTreeSet::new();
        self.by_end.get(end).unwrap_or(&NONE)
    }

    fn remove(&mut self, name: &'k str) {
        self.names.remove(name);
        for end in ends(name) {
            if let Some(names) = self.by_end.get_mut(end) {
                names.remove(name);
            }
        }
    }
}

impl Pair {
    /// Counts the kernels of the file by fate.
    pub(crate) fn counts(&self) -> Counts {
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
    pub(crate) fn differs(&self) -> bool {
        self.old.is_none() || self.new.is_none() || self.diff.differs()
    }
}

impl Report {
    /// Compares two builds; differences of the `ignored` kinds do not count, for budgets either.
    pub(crate) fn new(old: Build, new: Build, ignored: &[What], budgets: &Budgets) -> Report {
        let pairs = pairs(old, new, ignored);
        let files: Vec<_> = pairs
            .iter()
            .map(|pair| (pair.name.clone(), [pair.old.is_some(), pair.new.is_some()], &pair.diff))
            .collect();
        let breaches = breaches(budgets, &files);
        Report { pairs, breaches }
    }

    /// Whether anything differs.
    pub(crate) fn differs(&self) -> bool {
        self.pairs.iter().any(Pair::differs)
    }

    /// All images of all files, before and after.
    pub(crate) fn totals(&self) -> [Total; 2] {
        let totals = self.pairs.iter().map(|pair| pair.diff.totals());
        totals.fold([Total::default(); 2], |[old, new], [own_old, own_new]| [old.plus(own_old), new.plus(own_new)])
    }

    /// Counts the kernels of all files by fate.
    pub(crate) fn counts(&self) -> Counts {
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
                What::Coverage => {
                    let (old, new) = (value(&change.old, "none"), value(&change.new, "none"));
                    format!("on {}: {old} -> {new}", change.target)
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
            kernels => format!("{text}, {}", text::counted(kernels, "kernel")),
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
    format!("{} ({})", text::bytes(new), signed(old, new))
}

/// By how many bytes, and what share: `+4.00 KiB, +5.1 %`.
fn signed(old: u64, new: u64) -> String {
    match old.cmp(&new) {
        std::cmp::Ordering::Equal => "=".to_owned(),
        std::cmp::Ordering::Less => {
            format!("+{}{}", text::bytes(new.saturating_sub(old)), share('+', new.saturating_sub(old), old))
        }
        std::cmp::Ordering::Greater => {
            format!("-{}{}", text::bytes(old.saturating_sub(new)), share('-', old.saturating_sub(new), old))
        }
    }
}

fn share(sign: char, part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!(", {sign}{}", text::share(part, whole)) }
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

/// A comparison as it is shown: each kernel that changed, or the first few.
pub(crate) struct Comparison<'r> {
    /// The comparison.
    pub(crate) report: &'r Report,
    /// Whether each kernel is named.
    pub(crate) all: bool,
}

impl Document for Comparison<'_> {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let view = out.look().view;
        match form {
            Form::Json => json(&mut out.documents(), self.report),
            Form::Markdown => out.show(&markdown(self.report, view.names())),
            _ => out.show(&table(self.report, self.all, &view)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evidence::Names;
    use crate::report::inspect::View;
    use crate::report::json::tests::against;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn report() -> Report {
        let change = |what, name: &str, old: Option<&str>, new: Option<&str>| Change {
            what,
            target: "spir64".into(),
            name: name.into(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        let changes = vec![
            change(What::Arguments, "1", None, Some("int private 4")),
            change(What::Aspects, "fp64", None, Some("fp64")),
            change(What::Attributes, "sub-group size", Some("16"), Some("32")),
            change(What::Targets, "", Some("spir64"), None),
            change(What::Bytes, "", Some("1000"), Some("1100")),
            change(What::Code, "", None, None),
        ];
        let kernel = |name: &str, fate, changes: Vec<Change>| KernelDiff {
            name: name.into(),
            fate,
            targets: BTreeSet::from(["spir64".to_owned()]),
            bytes: [1000, 1100],
            changes,
        };
        let diffs = vec![
            kernel("a", Fate::Added, Vec::new()),
            kernel("b", Fate::Removed, Vec::new()),
            kernel("c", Fate::Renamed { from: "d".into() }, Vec::new()),
            kernel("_ZTS3add", Fate::Changed, changes),
        ];
        let total = |images, bytes| Total { images, bytes, stored: bytes };
        let targets = BTreeMap::from([
            ("spir64".to_owned(), [total(3, 3000), total(3, 3300)]),
            ("intel_gpu_pvc".to_owned(), [total(0, 0), total(1, 10)]),
        ]);
        let images = vec![
            ImageChange {
                change: change(What::Properties, "SYCL/misc properties: optLevel", Some("3"), Some("2")),
                kernels: 2,
            },
            ImageChange { change: change(What::Code, "", None, Some("1")), kernels: 0 },
        ];
        let diff = FileDiff { targets, kernels: [3, 3], unchanged: 0, diffs, images, totals_differ: true };
        let pair = |name: &str, new: Option<&str>, diff| Pair {
            name: name.into(),
            old: Some("old.so".into()),
            new: new.map(str::to_owned),
            diff,
            partial: false,
        };
        let breach = Breach { file: Some("x|y.so".into()), kernel: Some("a".into()), message: "too <large>".into() };
        Report {
            pairs: vec![pair("x|y.so", Some("new.so"), diff), pair("gone.so", None, FileDiff::default())],
            breaches: vec![breach],
        }
    }

    #[test]
    fn what_is_written_fulfils_the_schema() {
        let mut text = Vec::new();
        json(&mut text, &report()).unwrap();
        let mut document: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(against(&schema(), &document), Vec::<String>::new());
        assert_eq!(document["files"][0]["diffs"][2]["from"], "d");
        assert_eq!(document["kernels"]["renamed"], 1);
        assert_eq!(document["breaches"][0]["kernel"], "a");
        document["files"][0]["diffs"][0]["fate"] = "lost".into();
        assert_eq!(against(&schema(), &document).len(), 1);
    }

    #[test]
    fn text_keeps_to_the_width_and_says_what_counts() {
        for width in [60, 100] {
            let text = table(&report(), true, &View { width, demangle: true, color: false });
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert_eq!(wide, Vec::<&str>::new(), "{text}");
            for part in [
                "was d",
                "needs aspect fp64",
                "sub-group size: 16 -> 32",
                "intel_gpu_pvc: gained",
                "a budget is not kept",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        let same = table(&Report::default(), false, &View { width: 60, demangle: true, color: false });
        assert_eq!(&*same, "no difference: 0 files, 0 kernels, 0 B\n");
    }

    #[test]
    fn markdown_holds_no_markup_of_others() {
        let text = markdown(&report(), Names { demangle: true });
        assert!(text.contains("too \\<large\\>") && text.contains("`x y.so`"), "{text}");
        assert!(text.contains("targets gained: `intel_gpu_pvc`"), "{text}");
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| line.matches('|').count() == 8), "{text}");
    }
}
