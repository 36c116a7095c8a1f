//! What did the gate find for each file, target and kernel?
//!
//! Each form of the answer is a file of this folder.
//!
//! Targets that a policy asks about the same kernels share these; there are few such sets.

pub mod baseline;
pub mod findings;
mod github;
mod json;
mod junit;
pub mod links;
mod sarif;
mod stream;
mod table;

use super::check::Verdict;
use super::document::{Document, Form, Sink};
use super::json::FileProblem;
use super::text::Shown;
use super::text::counted;
use crate::compat::aspects::Evidence;
use crate::compat::finding::{self, Judge};
use crate::compat::gate::fingerprint;
use crate::compat::gate::judgement::Proofs;
use crate::compat::gate::judgement::{Found, Grouping, Item, Judgement, Kernels};
use crate::compat::offers::Provider;
use crate::error::Result;
use crate::native::Coverage;
use std::collections::HashMap;
use std::sync::Arc;

pub use github::{github, markdown};
pub use json::{json, jsonl};
pub use junit::junit;
pub use sarif::sarif;
pub use table::{EXAMPLES, SOME, matrix, providers, table};

/// The findings in a file, for one target.
#[derive(Debug, Clone)]
pub struct FileFindings {
    /// The file, as the user gave it.
    pub file: Arc<str>,
    /// The verdicts on its kernels.
    pub judged: Judgement,
    /// Call chains to the uses of aspects that targets lack.
    pub proofs: Arc<Proofs>,
}

/// A finding, in its file.
#[derive(Debug, Clone, Copy)]
pub struct Finding<'r> {
    /// The file.
    pub of: &'r FileFindings,
    /// The kernel and the finding about it.
    pub found: Found<'r>,
}

/// The findings for a target, or those of a policy that are about no target.
#[derive(Debug, Clone, Default)]
pub struct TargetFindings {
    /// The target's name; empty for findings that are about no target.
    pub target: String,
    /// The findings in each file.
    pub files: Vec<FileFindings>,
}

/// Kernels by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels that run, or whose findings are excused.
    pub compatible: usize,
    /// Kernels of which facts or code are unknown.
    pub unknown: usize,
    /// Kernels that do not run.
    pub incompatible: usize,
}

/// Kernels by the code that runs on a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoverageCounts {
    /// Kernels whose native code the device takes.
    pub native: usize,
    /// Kernels that are compiled just in time.
    pub jit: usize,
    /// Kernels that do not run.
    pub none: usize,
}

/// Findings that say the same of several kernels, and count, or do not for the same reason.
pub(super) struct Group<'r> {
    pub finding: &'r finding::Finding,
    /// The number of findings.
    pub count: usize,
    /// The first of them: file, kernel, item.
    first: (usize, usize, usize),
    /// The file, the kernels and the item's number among theirs.
    parts: Vec<(usize, &'r FileFindings, &'r [usize], usize, &'r Item)>,
}

impl FileFindings {
    /// Makes a finding about a file as a whole: the only kernel has an empty name.
    pub fn whole(file: Arc<str>, findings: Vec<finding::Finding>) -> FileFindings {
        let items = findings.into_iter().map(|one| Item { finding: Arc::new(one), whose: None, excused: None });
        let judged = Judgement {
            kernels: Arc::new(Kernels::new(vec![("".into(), Vec::new())], Vec::new())),
            grouping: Arc::new(Grouping::new(vec![0])),
            items: vec![items.collect()],
            code: Vec::new(),
        };
        FileFindings { file, judged, proofs: Arc::default() }
    }

    /// Whether it is about the file and not about its kernels.
    pub fn is_whole(&self) -> bool {
        self.judged.kernels.len() == 1 && self.judged.kernels.name(0).is_some_and(|name| name.is_empty())
    }
}

impl<'r> Group<'r> {
    /// The verdict, the extent and the rule: `cannot run: 3 kernels (aspect)`.
    fn heading(&self) -> String {
        let what = match (self.finding.rule, self.finding.certain) {
            (_, false) => "unknown",
            (rule, true) if rule.judge() == Judge::Policy => "against the policy",
            (_, true) => "cannot run",
        };
        format!("{what}: {}", self.extent())
    }

    /// The number of kernels or files, and the rule: `3 kernels (aspect)`.
    fn extent(&self) -> String {
        let whole = self.parts.iter().all(|(_, of, ..)| of.is_whole());
        format!("{} ({})", counted(self.count, if whole { "file" } else { "kernel" }), self.finding.rule.name())
    }

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
    /// A text that identifies the finding from one build to the next.
    pub fn fingerprint(&self, target: &str) -> String {
        fingerprint(target, &self.of.file, &self.found)
    }

    /// The use of the aspect and the calls that lead to it.
    pub fn evidence(&self) -> Option<&'r Evidence> {
        self.found.evidence(&self.of.proofs)
    }
}

impl TargetFindings {
    /// The findings, in the order of files, images and kernels.
    pub fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        self.files.iter().flat_map(|of| of.judged.findings().map(move |found| Finding { of, found }))
    }

    /// All that is said of any kernel, with the kernels of which it is.
    fn items(&self) -> impl Iterator<Item = (&FileFindings, &[usize], &[Item])> {
        self.files.iter().flat_map(|of| of.judged.groups().map(move |(kernels, items)| (of, kernels, items)))
    }

    /// The target's name for people; `policy` for findings that are about no target.
    pub fn name(&self) -> &str {
        if self.target.is_empty() { "policy" } else { &self.target }
    }

    /// The number of kernels that were judged.
    pub fn kernels(&self) -> usize {
        self.files.iter().filter(|of| !of.is_whole()).map(|of| of.judged.kernels.len()).sum()
    }

    /// The verdict: one sure finding that counts says no; one that is not sure leaves it open, and so does a target for
    /// which no kernel was judged.
    pub fn verdict(&self) -> Verdict {
        match self.items().filter_map(|(_, _, items)| certain(items)).max() {
            Some(true) => Verdict::Incompatible,
            Some(false) => Verdict::Unknown,
            None if self.kernels() == 0 && !self.target.is_empty() => Verdict::Unknown,
            None => Verdict::Compatible,
        }
    }

    /// Kernels by verdict.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { compatible: self.kernels(), ..Counts::default() };
        for (_, kernels, items) in self.items().filter(|(of, ..)| !of.is_whole()) {
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

    /// Counts of kernels that run as they are, that are compiled just in time, and that do not run at all.
    pub fn coverage(&self) -> CoverageCounts {
        let mut counts = CoverageCounts::default();
        for judged in self.files.iter().filter(|of| !of.is_whole()).map(|of| &of.judged) {
            for group in 0..judged.grouping.len() {
                let place = match judged.coverage(group) {
                    Coverage::Native => &mut counts.native,
                    Coverage::Jit => &mut counts.jit,
                    Coverage::None => &mut counts.none,
                };
                *place = place.saturating_add(judged.grouping.members(group).len());
            }
        }
        counts
    }

    /// The findings that count by what they say, those that are sure and of most kernels first.
    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        self.grouped(|item| item.excused.is_none().then_some(""))
    }

    /// The findings that do not count, by why they do not and what they say.
    fn excuses(&self) -> Vec<(&str, Group<'_>)> {
        let groups = self.grouped(|item| item.excused.as_deref());
        let mut excuses = Vec::with_capacity(groups.len());
        for group in groups {
            if let Some(why) = group.parts.first().and_then(|&(_, _, _, _, item)| item.excused.as_deref()) {
                excuses.push((why, group));
            }
        }
        excuses
    }

    /// The findings that `key` takes, by what they say and the key.
    fn grouped<'r>(&'r self, key: impl Fn(&'r Item) -> Option<&'r str>) -> Vec<Group<'r>> {
        let mut places: HashMap<(&str, bool, &str), usize> = HashMap::new();
        let mut groups: Vec<Group<'r>> = Vec::new();
        for (file, of) in self.files.iter().enumerate() {
            for (kernels, items) in of.judged.groups() {
                for (nth, item) in items.iter().enumerate() {
                    let Some(key) = key(item) else { continue };
                    let said = &*item.finding;
                    let place = *places.entry((&said.message, said.certain, key)).or_insert(groups.len());
                    let first = (file, kernels.first().copied().unwrap_or_default(), nth);
                    let part = (file, of, kernels, nth, item);
                    match groups.get_mut(place) {
                        Some(group) => {
                            group.parts.push(part);
                            group.count = group.count.saturating_add(kernels.len());
                            if first < group.first {
                                (group.first, group.finding) = (first, said);
                            }
                        }
                        None => groups.push(Group { finding: said, count: kernels.len(), first, parts: vec![part] }),
                    }
                }
            }
        }
        groups.sort_by_key(|group| (!group.finding.certain, std::cmp::Reverse(group.count), group.first));
        groups
    }

    /// The number of kernels that count as running only because their findings are excused.
    pub(super) fn excused_kernels(&self) -> usize {
        let excused = self.items().filter(|(of, _, items)| !of.is_whole() && certain(items).is_none());
        excused.map(|(_, kernels, _)| kernels.len()).sum()
    }

    /// The number of findings that are excused.
    fn excused(&self) -> usize {
        let excused = |items: &[Item]| items.iter().filter(|item| item.excused.is_some()).count();
        self.items().map(|(_, kernels, items)| kernels.len().saturating_mul(excused(items))).sum()
    }
}

/// Whether what counts of some items is sure; none where nothing counts.
pub(super) fn certain(items: &[Item]) -> Option<bool> {
    items.iter().filter(|item| item.excused.is_none()).map(|item| item.finding.certain).max()
}

/// Draws what was found for each target; findings that look the same for several targets stand once, with all their names.
fn alike<'r>(targets: &'r [TargetFindings], draw: impl Fn(&Group<'r>) -> Shown) -> Vec<(Vec<&'r str>, Shown)> {
    let mut sections: Vec<(Vec<&str>, Shown)> = Vec::new();
    for one in targets {
        for group in one.groups() {
            let drawn = draw(&group);
            match sections.iter_mut().find(|(_, known)| *known == drawn) {
                Some((names, _)) => names.push(one.name()),
                None => sections.push((vec![one.name()], drawn)),
            }
        }
    }
    sections
}

/// The verdict on all targets together: the worst.
pub fn verdict(targets: &[TargetFindings]) -> Verdict {
    targets.iter().map(TargetFindings::verdict).max().unwrap_or(Verdict::Compatible)
}

/// A verdict as a word.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Compatible => "compatible",
        Verdict::Unknown => "unknown",
        Verdict::Incompatible => "incompatible",
    }
}

/// The kernels of a file.
pub(super) struct FileRows<'r> {
    /// The file.
    pub file: &'r Arc<str>,
    /// The kernels that were judged for any target, each once.
    pub rows: Vec<Row<'r>>,
    /// Of each target what was judged, and which of the sets of kernels that was.
    targets: Vec<Option<(&'r FileFindings, usize)>>,
}

/// A kernel.
pub(super) struct Row<'r> {
    /// The mangled name.
    pub name: &'r Arc<str>,
    /// The kernel's index in each of the file's sets of kernels; none where a set lacks it.
    places: Vec<Option<usize>>,
}

/// A kernel on a target that it was judged for.
#[derive(Clone, Copy)]
pub(super) struct Cell<'r> {
    /// The file's findings for the target.
    pub of: &'r FileFindings,
    /// The kernel's place there.
    pub kernel: usize,
}

/// The verdict on a kernel for a target, as a cell of the matrix shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// The kernel has no finding; where others have native code, it is compiled just in time.
    Runs,
    /// The findings leave it open.
    Unknown,
    /// The kernel does not run, or breaks a policy.
    Cannot,
    /// Every finding is excused, so that the kernel counts as one that runs.
    Excused,
    /// A policy does not ask about it.
    NotAsked,
    /// The kernel has no finding, and native code for the target.
    Native,
}

impl<'r> Cell<'r> {
    /// The verdict on the kernel for the target.
    pub fn standing(&self) -> Standing {
        match certain(self.items()) {
            Some(true) => Standing::Cannot,
            Some(false) => Standing::Unknown,
            None if self.items().is_empty() => match self.group().map(|group| self.of.judged.coverage(group)) {
                Some(Coverage::Native) => Standing::Native,
                _ => Standing::Runs,
            },
            None => Standing::Excused,
        }
    }

    /// The number of the kernels of which the same is said.
    pub fn group(&self) -> Option<usize> {
        self.of.judged.grouping.group_of(self.kernel)
    }

    /// The findings of the kernel for the target.
    pub fn items(&self) -> &'r [Item] {
        let items = self.group().and_then(|group| self.of.judged.items.get(group));
        items.map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'r> FileRows<'r> {
    /// A kernel on each target; none where it is not asked about.
    pub fn cells(&self, row: &Row<'r>) -> impl Iterator<Item = Option<Cell<'r>>> {
        self.targets.iter().map(|target| {
            let (of, set) = (*target)?;
            Some(Cell { of, kernel: row.places.get(set).copied().flatten()? })
        })
    }
}

/// The rows of each file of which kernels were judged.
pub(super) fn rows_by_file<'r>(targets: &[&'r TargetFindings]) -> Vec<FileRows<'r>> {
    let files: Vec<Vec<&FileFindings>> =
        targets.iter().map(|one| one.files.iter().filter(|of| !of.is_whole()).collect()).collect();
    let most = files.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).filter_map(|at| rows_of_file(files.iter().map(|own| own.get(at).copied()))).collect()
}

fn rows_of_file<'r>(files: impl Iterator<Item = Option<&'r FileFindings>>) -> Option<FileRows<'r>> {
    let mut sets: Vec<&Arc<Kernels>> = Vec::new();
    let mut set = |of: &'r FileFindings| {
        let kernels = &of.judged.kernels;
        sets.iter().position(|known| Arc::ptr_eq(known, kernels)).unwrap_or_else(|| {
            sets.push(kernels);
            sets.len().saturating_sub(1)
        })
    };
    let targets: Vec<Option<(&FileFindings, usize)>> = files.map(|of| of.map(|of| (of, set(of)))).collect();
    let file = &targets.iter().flatten().next()?.0.file;
    let mut rows: Vec<Row<'r>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (nth, kernels) in sets.iter().enumerate() {
        for (place, name) in kernels.names().enumerate() {
            let row = *known.entry(name).or_insert_with(|| {
                rows.push(Row { name, places: vec![None; sets.len()] });
                rows.len().saturating_sub(1)
            });
            if let Some(own) = rows.get_mut(row).and_then(|row| row.places.get_mut(nth)) {
                *own = Some(place);
            }
        }
    }
    Some(FileRows { file, rows, targets })
}

#[cfg(test)]
mod tests;

/// Kernels judged for targets, with all that is told beside.
pub struct Judged {
    /// The targets with their findings.
    pub targets: Vec<TargetFindings>,
    /// Parts of files that could not be read.
    pub problems: Vec<FileProblem>,
    /// The comparison with a baseline.
    pub compared: Option<baseline::Compared>,
    /// Images of other files that define what kernels import.
    pub providers: Vec<Provider>,
    /// Whether the unknown fails.
    pub strict: bool,
}

impl Document for Judged {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let Judged { targets, problems, compared, providers: others, strict } = self;
        let compared = compared.as_ref();
        let look = out.look();
        let names = look.view.names();
        match form {
            Form::Json => json(&mut out.documents(), targets, problems, compared, others),
            Form::Jsonl => jsonl(&mut out.documents(), targets, compared),
            Form::Sarif => sarif(&mut out.documents(), targets, compared),
            Form::Junit => junit(&mut out.documents(), targets, names, *strict),
            Form::Matrix => out.show(&matrix(targets, &look.view, look.letters, usize::MAX)),
            Form::Github => out.show(&github(targets, names)),
            Form::Markdown | Form::Table | Form::Text | Form::None => {
                out.show(&match form {
                    Form::Markdown => markdown(targets, names),
                    _ => table(targets, &look.view, look.drawing),
                })?;
                out.show(&providers(others, names))
            }
        }
    }
}
