//! What did the gate find for each file, target and kernel?
//!
//! Each form of the answer is a file of this folder.
//!
//! Targets that a policy asks about the same kernels share these; there are few such sets.
//!
//! What is written is cut into shares, each some kernels of a file on a target; shares become text in parallel and are
//! written in order. What is the same on every target, as a kernel's name, is made once.

pub mod baseline;
pub(crate) mod findings;
mod github;
mod json;
mod junit;
pub(crate) mod links;
mod sarif;
mod table;

use super::document::{Document, Form, Sink};
use super::json::FileProblem;
use super::text::{Shown, counted};
use crate::compat::aspects::Evidence;
use crate::compat::finding::Verdict;
use crate::compat::finding::{self, Judge};
use crate::compat::gate::fingerprint;
use crate::compat::gate::judgement::{Found, Grouping, Item, Judgement, Kernels, Proofs};
use crate::compat::offers::Provider;
use crate::error::Result;
use crate::native::Coverage;
use crate::report::json::stream::stream;
pub(crate) use github::{github, markdown};
pub(crate) use json::{json, jsonl};
pub(crate) use junit::junit;
pub(crate) use sarif::sarif;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
pub(crate) use table::{EXAMPLES, matrix, providers, table};

/// The findings in a file, for one target.
#[derive(Debug, Clone)]
pub(crate) struct FileFindings {
    /// The file, as the user gave it.
    pub(crate) file: Arc<str>,
    /// The verdicts on its kernels.
    pub(crate) judged: Judgement,
    /// Call chains to the uses of aspects that targets lack.
    pub(crate) proofs: Arc<Proofs>,
}

/// A finding, in its file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocatedFinding<'r> {
    /// The file.
    pub(crate) of: &'r FileFindings,
    /// The kernel and the finding about it.
    pub(crate) found: Found<'r>,
}

/// The findings for a target, or those of a policy that are about no target.
#[derive(Debug, Clone, Default)]
pub(crate) struct TargetFindings {
    /// The target's name; empty for findings that are about no target.
    pub(crate) target: String,
    /// The findings in each file.
    pub(crate) files: Vec<FileFindings>,
}

/// Kernels by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Kernels that run, or whose findings are excused.
    pub(crate) compatible: usize,
    /// Kernels of which facts or code are unknown.
    pub(crate) unknown: usize,
    /// Kernels that do not run.
    pub(crate) incompatible: usize,
}

/// Kernels by the code that runs on a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CoverageCounts {
    /// Kernels whose native code the device takes.
    pub(crate) native: usize,
    /// Kernels that are compiled just in time.
    pub(crate) jit: usize,
    /// Kernels that do not run.
    pub(crate) none: usize,
}

/// Findings that say the same of several kernels, and count, or do not for the same reason.
pub(super) struct Group<'r> {
    pub(crate) finding: &'r finding::Finding,
    /// The number of findings.
    pub(crate) count: usize,
    /// The first of them: file, kernel, item.
    first: (usize, usize, usize),
    /// The file, the kernels and the item's number among theirs.
    parts: Vec<(usize, &'r FileFindings, &'r [usize], usize, &'r Item)>,
}

impl FileFindings {
    /// Makes a finding about a file as a whole: the only kernel has an empty name.
    pub(crate) fn whole(file: Arc<str>, findings: Vec<finding::Finding>) -> FileFindings {
        let items = findings.into_iter().map(|one| Item::new(one, None));
        let judged = Judgement {
            kernels: Arc::new(Kernels::new(vec![(String::new(), Vec::new())], Vec::new())),
            grouping: Arc::new(Grouping::new(vec![0])),
            items: vec![items.collect()],
            code: Vec::new(),
        };
        FileFindings { file, judged, proofs: Arc::default() }
    }

    /// Whether it is about the file and not about its kernels.
    pub(crate) fn is_whole(&self) -> bool {
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
    pub(crate) fn findings(&self, most: usize) -> Vec<LocatedFinding<'r>> {
        let all = self.parts.iter().flat_map(|&(file, of, kernels, nth, item)| {
            let places = kernels.iter().take(most).map(move |kernel| (file, *kernel, nth));
            places.filter_map(move |place| Some((place, LocatedFinding { of, found: of.judged.found(place.1, item)? })))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(place, _)| *place);
        all.truncate(most);
        all.into_iter().map(|(_, finding)| finding).collect()
    }
}

impl<'r> LocatedFinding<'r> {
    /// A text that identifies the finding from one build to the next.
    pub(crate) fn fingerprint(&self, target: &str) -> String {
        fingerprint(target, &self.of.file, &self.found)
    }

    /// The use of the aspect and the calls that lead to it.
    pub(crate) fn evidence(&self) -> Option<&'r Evidence> {
        self.found.evidence(&self.of.proofs)
    }
}

impl TargetFindings {
    /// The findings, in the order of files, images and kernels.
    pub(crate) fn findings(&self) -> impl Iterator<Item = LocatedFinding<'_>> {
        self.files.iter().flat_map(|of| of.judged.findings().map(move |found| LocatedFinding { of, found }))
    }

    /// All that is said of any kernel, with the kernels of which it is.
    fn items(&self) -> impl Iterator<Item = (&FileFindings, &[usize], &[Item])> {
        self.files.iter().flat_map(|of| of.judged.groups().map(move |(kernels, items)| (of, kernels, items)))
    }

    /// The target's name for people; `policy` for findings that are about no target.
    pub(crate) fn name(&self) -> &str {
        if self.target.is_empty() { "policy" } else { &self.target }
    }

    /// The number of kernels that were judged.
    pub(crate) fn kernels(&self) -> usize {
        self.files.iter().filter(|of| !of.is_whole()).map(|of| of.judged.kernels.len()).sum()
    }

    /// The verdict: one sure finding that counts says no; one that is not sure leaves it open, and so does a target for
    /// which no kernel was judged.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.items().filter_map(|(_, _, items)| certain(items)).max() {
            Some(true) => Verdict::Incompatible,
            Some(false) => Verdict::Unknown,
            None if self.kernels() == 0 && !self.target.is_empty() => Verdict::Unknown,
            None => Verdict::Compatible,
        }
    }

    /// Kernels by verdict.
    pub(crate) fn counts(&self) -> Counts {
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
    pub(crate) fn coverage(&self) -> CoverageCounts {
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
    // Tens of thousands may differ in a number.
    let (hasher, mut places) = (RandomState::new(), HashMap::<u64, Vec<usize>>::new());
    for one in targets {
        for group in one.groups() {
            let drawn = draw(&group);
            let alike = places.entry(hasher.hash_one(&*drawn)).or_default();
            let is_known = |at: &&usize| sections.get(**at).is_some_and(|(_, known)| *known == drawn);
            match alike.iter().find(is_known).and_then(|at| sections.get_mut(*at)) {
                Some((names, _)) => names.push(one.name()),
                None => {
                    alike.push(sections.len());
                    sections.push((vec![one.name()], drawn));
                }
            }
        }
    }
    sections
}

/// The verdict on all targets together: the worst.
pub(crate) fn verdict(targets: &[TargetFindings]) -> Verdict {
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
    pub(crate) file: &'r Arc<str>,
    /// The kernels that were judged for any target, each once.
    pub(crate) rows: Vec<Row<'r>>,
    /// Of each target what was judged, and which of the sets of kernels that was.
    targets: Vec<Option<(&'r FileFindings, usize)>>,
    /// The kernel's index in each of the file's sets of kernels, row by row; [`NO_PLACE`] where a set lacks it.
    places: Vec<u32>,
    /// Number of these sets.
    sets: usize,
}

/// Marks a set of kernels that lacks one.
const NO_PLACE: u32 = u32::MAX;

/// A kernel.
pub(super) struct Row<'r> {
    /// The mangled name.
    pub name: &'r str,
    /// The row's number.
    nth: usize,
}

/// A kernel on a target that it was judged for.
#[derive(Clone, Copy)]
pub(super) struct Cell<'r> {
    /// The file's findings for the target.
    pub(crate) of: &'r FileFindings,
    /// The kernel's place there.
    pub(crate) kernel: usize,
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
    pub(crate) fn standing(&self) -> Standing {
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
    pub(crate) fn group(&self) -> Option<usize> {
        self.of.judged.grouping.group_of(self.kernel)
    }

    /// The findings of the kernel for the target.
    pub(crate) fn items(&self) -> &'r [Item] {
        let items = self.group().and_then(|group| self.of.judged.items.get(group));
        items.map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'r> FileRows<'r> {
    /// A kernel on each target; none where it is not asked about.
    pub(crate) fn cells(&self, row: &Row<'r>) -> impl Iterator<Item = Option<Cell<'r>>> {
        self.targets.iter().map(|target| {
            let (of, set) = (*target)?;
            let place = self.places.get(row.nth.saturating_mul(self.sets).saturating_add(set))?;
            Some(Cell { of, kernel: (*place != NO_PLACE).then_some(*place as usize)? })
        })
    }
}

/// The rows of each file of which kernels were judged, made as they are asked for.
pub(super) fn rows_by_file<'r>(targets: &[&'r TargetFindings]) -> impl Iterator<Item = FileRows<'r>> {
    let files: Vec<Vec<&FileFindings>> =
        targets.iter().map(|one| one.files.iter().filter(|of| !of.is_whole()).collect()).collect();
    let most = files.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).filter_map(move |at| rows_of_file(files.iter().map(|own| own.get(at).copied())))
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
    let (mut rows, mut places): (Vec<Row<'r>>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut known: HashMap<&str, u32> = HashMap::new();
    for (nth, kernels) in sets.iter().enumerate() {
        for (place, name) in (0u32..).zip(kernels.names()) {
            let row = *known.entry(name).or_insert_with(|| {
                rows.push(Row { name, nth: rows.len() });
                places.resize(rows.len().saturating_mul(sets.len()), NO_PLACE);
                rows.len().saturating_sub(1) as u32
            });
            if let Some(own) = places.get_mut((row as usize).saturating_mul(sets.len()).saturating_add(nth)) {
                *own = place;
            }
        }
    }
    Some(FileRows { file, rows, targets, places, sets: sets.len() })
}

/// Kernels judged for targets, with all that is told beside.
pub(crate) struct Judged {
    /// The targets with their findings.
    pub(crate) targets: Vec<TargetFindings>,
    /// Parts of files that could not be read.
    pub(crate) problems: Vec<FileProblem>,
    /// The comparison with a baseline.
    pub(crate) compared: Option<baseline::Compared>,
    /// Images of other files that define what kernels import.
    pub(crate) providers: Vec<Provider>,
    /// Whether the unknown fails.
    pub(crate) strict: bool,
}

impl Document for Judged {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let Judged { targets, problems, compared, providers: others, strict } = self;
        let compared = compared.as_ref();
        let look = out.look();
        let names = look.view.names();
        match form {
            Form::Json => json(&mut out.documents(), targets, problems, compared, others),
            Form::Jsonl => jsonl(&mut out.documents(), targets, problems, compared),
            Form::Sarif => sarif(&mut out.documents(), targets, problems, compared),
            Form::Junit => junit(&mut out.documents(), targets, problems, names, *strict),
            Form::Matrix => out.show(&matrix(targets, &look.view, look.letters, usize::MAX)),
            Form::Github => out.show(&github(targets, problems, names)),
            Form::Markdown | Form::Table | Form::Text | Form::None => {
                out.show(&match form {
                    Form::Markdown => markdown(targets, problems, names),
                    _ => table(targets, &look.view, look.drawing),
                })?;
                out.show(&providers(others, names))
            }
        }
    }
}

/// Kernels of a share.
const KERNELS: usize = 16;

/// Some kernels of a file on a target.
struct Share<'r> {
    /// The target.
    pub(crate) target: &'r TargetFindings,
    /// The target's place.
    pub(crate) nth: usize,
    /// The file, none for a target without any.
    pub(crate) of: Option<&'r FileFindings>,
    /// The file's place among those of the target.
    pub(crate) file: usize,
    /// The places of the kernels.
    pub(crate) kernels: Range<usize>,
    /// Whether the target begins here.
    pub(crate) opens: bool,
    /// Whether the target ends here.
    pub(crate) closes: bool,
    /// The first kernel of the target that anything is found of: file and place.
    first: Option<(usize, usize)>,
}

impl<'r> Share<'r> {
    /// The findings, each with its kernel's place and whether it is the target's first.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (usize, bool, LocatedFinding<'r>)> {
        let of_kernel = |of: &'r FileFindings, kernel: usize| {
            let first = self.first == Some((self.file, kernel));
            let all = of.judged.findings_of(kernel).enumerate();
            all.map(move |(nth, found)| (kernel, first && nth == 0, LocatedFinding { of, found }))
        };
        let kernels = self.kernels.clone();
        self.of.into_iter().flat_map(move |of| kernels.clone().flat_map(move |kernel| of_kernel(of, kernel)))
    }
}

/// Writes what `put` makes of each share, in order.
///
/// # Errors
/// Errors of `write`.
fn each_share<'r>(
    targets: &'r [TargetFindings],
    put: impl Fn(&mut String, &Share<'r>) + Sync,
    write: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut shares: Vec<Share<'r>> = Vec::new();
    for (nth, target) in targets.iter().enumerate() {
        let begin = shares.len();
        let files = target.files.iter().enumerate();
        let of_file = |(file, of): (usize, &FileFindings)| {
            let kernels = of.judged.groups().filter_map(|(kernels, _)| kernels.first().copied());
            kernels.min().map(|kernel| (file, kernel))
        };
        let first = files.clone().find_map(of_file);
        let share = |of, file, kernels| Share { target, nth, of, file, kernels, opens: false, closes: false, first };
        for (file, of) in files {
            let count = of.judged.kernels.len();
            let cuts = (0..count).step_by(KERNELS);
            shares.extend(cuts.map(|at| share(Some(of), file, at..at.saturating_add(KERNELS).min(count))));
        }
        if shares.len() == begin {
            shares.push(share(None, 0, 0..0));
        }
        shares.get_mut(begin).into_iter().for_each(|share| share.opens = true);
        shares.last_mut().into_iter().for_each(|share| share.closes = true);
    }
    let put = |text: &mut String, shares: &[Share<'r>]| {
        shares.iter().for_each(|share| put(text, share));
        Vec::new()
    };
    stream(&shares, put, write).map(drop)
}

/// A text for each kernel, made when it is first asked for. Targets for which the same kernels are judged share it.
struct KernelTexts(HashMap<usize, Vec<OnceLock<String>>>);

/// Identifies a set of kernels that targets share, by its address.
fn key(kernels: &Arc<Kernels>) -> usize {
    Arc::as_ptr(kernels).addr()
}

impl KernelTexts {
    /// For the kernels of all files.
    pub(crate) fn new(targets: &[TargetFindings]) -> KernelTexts {
        let mut texts = HashMap::new();
        for of in targets.iter().flat_map(|target| &target.files) {
            let kernels = &of.judged.kernels;
            let none = || (0..kernels.len()).map(|_| OnceLock::new()).collect();
            texts.entry(key(kernels)).or_insert_with(none);
        }
        KernelTexts(texts)
    }

    /// The text of a kernel of a share.
    pub(crate) fn get<'t>(&'t self, share: &Share<'_>, kernel: usize, make: impl FnOnce() -> String) -> Cow<'t, str> {
        let texts = share.of.and_then(|of| self.0.get(&key(&of.judged.kernels)));
        match texts.and_then(|texts| texts.get(kernel)) {
            Some(text) => text.get_or_init(make).as_str().into(),
            None => make().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::table::Drawing;

    use super::*;
    use crate::compat::aspects::{Aspect, Evidence, Step};
    use crate::compat::finding::{Finding, RuleId};
    use crate::compat::gate::judgement::{Grouping, Kernels, Whose};
    use crate::native::Coverage;
    use crate::report::evidence::Names;
    use crate::report::inspect::View;
    use crate::source::SourceLocation;

    const NAMES: Names = Names { demangle: true };

    fn place(line: u32) -> Option<SourceLocation> {
        Some(SourceLocation { file: "src/a.cpp".into(), line, column: 9 })
    }

    /// Two kernels of three: one that cannot run, with its chain, one of which it is not known.
    fn answers() -> Vec<TargetFindings> {
        let item = |certain: bool| Item {
            finding: Arc::new(Finding {
                rule: if certain { RuleId::Aspect } else { RuleId::SpirvVersion },
                certain,
                message: format!("message {certain}"),
                aspect: certain.then(|| "fp64".to_owned()),
                remedy: "do <this>".to_owned(),
                more: 0,
            }),
            whose: Some(Whose::Own(0)),
            excused: None,
        };
        let step = |function: &str, call| Step { module: 0, function: function.to_owned(), call };
        let evidence = Evidence {
            aspect: Aspect::Fp64,
            chain: vec![step("wide", None), step("leaf", place(7))],
            instruction: "OpFMul %double".to_owned(),
            offset: 64,
            place: place(3),
            elsewhere: None,
        };
        let kernels = ["wide", "open", "fine"].map(|name| (name.into(), vec![0])).into();
        let judged = Judgement {
            kernels: Arc::new(Kernels::new(kernels, vec![0])),
            grouping: Arc::new(Grouping::new(vec![0, 1, 2])),
            items: vec![vec![item(true)], vec![item(false)], Vec::new()],
            code: vec![Some(Coverage::Jit); 3],
        };
        let proofs = Arc::new(Proofs::from_iter([((0, 0, Aspect::Fp64), evidence)]));
        vec![TargetFindings {
            target: "gpu".to_owned(),
            files: vec![FileFindings { file: "a & b.so".into(), judged, proofs }],
        }]
    }

    /// Excuses the first finding of the first kernel.
    fn excuse(answers: &mut [TargetFindings]) {
        answers[0].files[0].judged.items[0][0].excused = Some("known".into());
    }

    fn written(write: impl FnOnce(&mut Vec<u8>) -> crate::error::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn kernels_are_counted_once_and_the_excused_not_at_all() {
        let mut answers = answers();
        assert_eq!(answers[0].counts(), Counts { compatible: 1, unknown: 1, incompatible: 1 });
        assert_eq!(verdict(&answers), Verdict::Incompatible);
        excuse(&mut answers);
        assert_eq!(answers[0].counts(), Counts { compatible: 2, unknown: 1, incompatible: 0 });
        assert_eq!(verdict(&answers), Verdict::Unknown);
    }

    /// Holds SARIF to what the schema of 2.1.0 requires of the members that are there.
    #[test]
    fn sarif_has_what_the_schema_requires() {
        let document: serde_json::Value =
            serde_json::from_str(&written(|out| sarif(out, &answers(), &[], None))).unwrap();
        assert_eq!(document["version"], "2.1.0");
        let run = &document["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "sycl-bundle");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        for rule in rules {
            assert!(
                rule["id"].is_string()
                    && rule["help"]["text"].is_string()
                    && rule["shortDescription"]["text"].is_string()
            );
        }
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        for result in results {
            let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[rule]["id"], result["ruleId"]);
            assert!(["error", "warning", "note", "none"].contains(&result["level"].as_str().unwrap()));
            assert!(result["message"]["text"].is_string());
            assert!(result["partialFingerprints"]["syclBundleFinding/v1"].is_string());
            assert_eq!(result["locations"][0]["logicalLocations"][0]["kind"], "function");
        }
        let physical = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], "src/a.cpp");
        assert_eq!((&physical["region"]["startLine"], &physical["region"]["startColumn"]), (&3.into(), &9.into()));
        let flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
        let line = |at: usize| flow[at]["location"]["physicalLocation"]["region"]["startLine"].as_u64();
        assert_eq!((line(0), line(1), line(2)), (None, Some(7), Some(3)));
        let whole = &results[1]["locations"][0]["physicalLocation"];
        assert_eq!((&whole["artifactLocation"]["uri"], whole.get("region")), (&"a%20%26%20b.so".into(), None));
    }

    #[test]
    fn excused_findings_are_suppressed() {
        let mut answers = answers();
        excuse(&mut answers);
        let document: serde_json::Value =
            serde_json::from_str(&written(|out| sarif(out, &answers, &[], None))).unwrap();
        let suppression = &document["runs"][0]["results"][0]["suppressions"][0];
        assert_eq!((&suppression["kind"], &suppression["justification"]), (&"external".into(), &"known".into()));
        assert!(!github(&answers, &[], NAMES).contains("wide"));
        assert!(written(|out| junit(out, &answers, &[], NAMES, false)).contains("<skipped message=\"known\"/>"));
    }

    #[test]
    fn junit_has_a_case_for_each_kernel() {
        let text = written(|out| junit(out, &answers(), &[], NAMES, false));
        assert_eq!((text.matches("<testcase ").count(), text.matches("<failure ").count()), (3, 1));
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{text}");
        assert!(text.contains("classname=\"a &amp; b.so\"") && text.contains("do &lt;this&gt;"), "{text}");
        let strict = written(|out| junit(out, &answers(), &[], NAMES, true));
        assert!(strict.contains("tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{strict}");
    }

    #[test]
    fn annotations_stand_at_the_line_of_the_use() {
        let text = github(&answers(), &[], NAMES);
        let first =
            "::error file=src/a.cpp,line=3,col=9,title=aspect on gpu::message true%0Akernel wide%0Ahelp: do <this>";
        assert_eq!(text.lines().next(), Some(first));
        assert!(
            text.lines().nth(1).unwrap().starts_with("::warning file=a & b.so,title=spirv-version on gpu::"),
            "{text}"
        );
    }

    /// A file as a whole is no kernel, and is in every form.
    #[test]
    fn files_as_wholes_are_no_kernels() {
        let against = Finding {
            rule: RuleId::BudgetBytes,
            certain: true,
            message: "too many".to_owned(),
            aspect: None,
            remedy: "fewer".to_owned(),
            more: 0,
        };
        let mut all = answers();
        all.push(TargetFindings {
            target: String::new(),
            files: vec![FileFindings::whole("b.so".into(), vec![against])],
        });
        assert_eq!((all[1].counts(), all[1].verdict()), (Counts::default(), Verdict::Incompatible));
        let document: serde_json::Value = serde_json::from_str(&written(|out| sarif(out, &all, &[], None))).unwrap();
        let result = &document["runs"][0]["results"][2];
        assert_eq!((&result["ruleId"], &result["message"]["text"]), (&"budget-bytes".into(), &"too many".into()));
        assert!(result["locations"][0].get("logicalLocations").is_none());
        let text = github(&all, &[], NAMES);
        assert_eq!(text.lines().last(), Some("::error file=b.so,title=budget-bytes on policy::too many%0Ahelp: fewer"));
        let text = written(|out| junit(out, &all, &[], NAMES, false));
        assert!(text.contains("<testcase classname=\"b.so\" name=\"the whole file\">"), "{text}");
        assert!(markdown(&all, &[], NAMES).contains("against the policy: 1 file (budget-bytes)"));
    }

    #[test]
    fn what_a_baseline_holds_is_known_as_often_as_it_counts() {
        let known = baseline::Baseline::from_findings(&answers());
        assert_eq!(known.len(), 2);
        assert_eq!(baseline::Baseline::read("b", &known.text()).unwrap(), known);
        let mut all = answers();
        let mut twice = all[0].files[0].clone();
        twice.file = "elsewhere/a & b.so".into();
        all[0].files.push(twice);
        let files: Vec<Arc<str>> = all[0].files.iter().map(|of| of.file.clone()).collect();
        let compared = known.apply("b", &mut all, &files);
        let knows: Vec<bool> = all[0].findings().map(|finding| compared.knows(&finding.found)).collect();
        assert_eq!((knows, compared.gone.len()), (vec![true, true, false, false], 0));
        assert_eq!(verdict(&all), Verdict::Incompatible);
        let mut fine = answers();
        fine[0].files[0].judged.items = vec![Vec::new(), Vec::new(), Vec::new()];
        let compared = known.apply("b", &mut fine, &files);
        let gone: Vec<&str> = compared.gone.iter().map(|one| one.kernel.as_str()).collect();
        assert_eq!(gone, ["wide", "open"]);
        assert_eq!(known.apply("b", &mut fine, &["other.so".into()]).gone, []);
    }

    #[test]
    fn the_matrix_leaves_blank_what_was_not_asked() {
        let mut answers = answers();
        // A second target of which a policy asks about one kernel, and demands something of the file.
        let mut of = answers[0].files[0].clone();
        of.judged = Judgement {
            kernels: Arc::new(Kernels::new(vec![("fine".into(), vec![0])], vec![0])),
            grouping: Arc::new(Grouping::new(vec![0])),
            items: vec![Vec::new()],
            code: vec![Some(Coverage::Jit)],
        };
        let whole = FileFindings::whole("a & b.so".into(), Vec::new());
        answers.push(TargetFindings { target: "cpu".to_owned(), files: vec![whole, of] });
        let view = View { width: 60, demangle: true, color: false };
        let ascii = matrix(&answers, &view, Drawing::Ascii, table::SOME);
        let lines: Vec<&str> = ascii.lines().collect();
        assert_eq!(lines[..4], [", gpu", "| , cpu", "x    1  wide", "?    1  open"], "{ascii}");
        assert_eq!(lines[4], "+ +  1  runs on all of them", "{ascii}");
        let few = matrix(&answers, &View { color: true, ..view }, Drawing::Unicode, 1);
        assert!(
            few.contains("\x1b[31m✗\x1b[0m") && few.contains("and 1 kernel more") && !few.contains("open"),
            "{few}"
        );
        assert!(few.contains("runs on all of them"), "{few}");
    }

    #[test]
    fn the_matrix_tells_what_is_excused_from_what_runs() {
        let mut answers = answers();
        let view = View { width: 80, demangle: true, color: false };
        let text = matrix(&answers, &view, Drawing::Unicode, table::SOME);
        assert!(text.ends_with("✓ runs, ✗ cannot run, ? unknown; the number is that of kernels\n"), "{text}");
        excuse(&mut answers);
        let text = matrix(&answers, &view, Drawing::Unicode, table::SOME);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..4], ["?  1  open", "~  1  wide", "✓  1  runs on all of them"], "{text}");
        assert_eq!(lines[4], "✓ runs, ~ excused, ✗ cannot run, ? unknown; the number is that of kernels");
    }

    #[test]
    fn native_code_has_a_sign_and_a_count_of_its_own() {
        let mut answers = answers();
        answers[0].files[0].judged.code = vec![Some(Coverage::Native); 3];
        let CoverageCounts { native, jit, none } = answers[0].coverage();
        assert_eq!((native, jit, none), (2, 0, 1), "what cannot run has no code that runs");
        // A kernel whose lack is excused counts as compatible, and does not run all the same.
        excuse(&mut answers);
        assert_eq!(answers[0].coverage(), CoverageCounts { native, jit, none });
        let view = View { width: 60, demangle: true, color: false };
        let ascii = matrix(&answers, &view, Drawing::Ascii, table::SOME);
        assert!(ascii.contains("\nN  1  runs on all of them\n"), "{ascii}");
        assert!(ascii.contains("N native, + just in time"), "{ascii}");
    }
}
