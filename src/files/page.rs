//! `inspect --html`: what stands on the page of files, and by what is its matrix judged?

use super::check::linked_elsewhere;
use super::input::has_stdin;
use super::{ReadOptions, each_file_with};
use crate::bundle::Bundle;
use crate::compat::gate::judgement::Depth;
use crate::compat::offers::{Lent, are_open};
use crate::compat::other_models::OtherModels;
use crate::device::table::TargetTable;
use crate::error::{Reporter, Result};
use crate::policy::{AppliedPolicy, Policy};
use crate::report::evidence::Names;
use crate::report::gate::baseline::Baseline;
use crate::report::gate::findings::{Findings, JudgedTarget};
use crate::report::{FileFacts, page};
use crate::select::Selector;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Targets that stand in every matrix, where none are named: a CPU, and GPUs that differ in what they lack.
const KNOWN_TARGETS: [&str; 7] = [
    "spir64_x86_64",
    "intel_gpu_tgllp",
    "intel_gpu_acm_g10",
    "intel_gpu_pvc",
    "intel_gpu_mtl_h",
    "intel_gpu_lnl_m",
    "intel_gpu_bmg_g21",
];

/// The targets, the policy and the baseline by which the matrix of a page is judged.
pub(crate) struct Rules {
    /// The targets that there are.
    pub(crate) table: Cow<'static, TargetTable>,
    /// The policy that holds, and the day.
    pub(crate) held: Option<AppliedPolicy>,
    /// Findings that are known, with the name of their file.
    pub(crate) known: Option<(String, Baseline)>,
    /// The form of kernels' names.
    pub(crate) names: Names,
}

/// A page that is being made.
pub(crate) struct Draft<'d> {
    reporter: &'d dyn Reporter,
    rules: &'d Rules,
    selector: &'d Selector,
    /// Targets that the user or the policy names; none for the default.
    named: Option<Vec<JudgedTarget<'d>>>,
    /// Names of targets that images of the files have.
    own: BTreeSet<String>,
    /// Names of targets of other programming models' images, and whether there is nothing else.
    own_of_others: BTreeSet<String>,
    others_alone: bool,
    /// Images of other programming models, which are judged where there is nothing else.
    others: OtherModels,
    files: page::Files,
    findings: Option<Findings<'d>>,
    /// The number of files, and whether any has imports that nothing in it defines.
    count: usize,
    open: bool,
}

impl Rules {
    /// The policy, where there is one.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.held.as_ref().map(|held| &held.policy)
    }
}

impl<'d> Draft<'d> {
    /// A page of files that are still to come. Where no target is named, those of the files are looked for in all of them.
    ///
    /// # Errors
    /// Errors of writing what is told about the files.
    pub(crate) fn new(
        reporter: &'d dyn Reporter,
        rules: &'d Rules,
        selector: &'d Selector,
        named: Vec<JudgedTarget<'d>>,
        paths: &[PathBuf],
    ) -> Result<Draft<'d>> {
        let mut draft = Draft {
            reporter,
            rules,
            selector,
            named: Some(named).filter(|named| !named.is_empty()),
            own: BTreeSet::new(),
            own_of_others: BTreeSet::new(),
            others_alone: true,
            others: OtherModels::default(),
            files: page::Files::default(),
            findings: None,
            count: 0,
            open: false,
        };
        // All files are judged for the targets of any. Standard input is read once, and has to be the first file.
        if draft.named.is_none() && paths.len() > 1 {
            let again: Vec<PathBuf> = paths.iter().filter(|path| *path != Path::new("-")).cloned().collect();
            let options = ReadOptions { lazy: true, skip_hash: true, silent: true, ..ReadOptions::default() };
            each_file_with(reporter, &again, &Selector::default(), options, |facts| {
                facts.bundle.into_iter().for_each(|bundle| draft.targets_of(bundle));
                Ok(())
            })?;
        }
        Ok(draft)
    }

    /// Adds a file. Its images are gone from the facts then.
    ///
    /// # Errors
    /// Errors of [`Findings::file`].
    pub(crate) fn file(&mut self, facts: &mut FileFacts<'_>) -> Result<()> {
        self.files.add(facts);
        self.open |= are_open(&facts.images);
        self.count = self.count.saturating_add(1);
        facts.bundle.into_iter().for_each(|bundle| self.targets_of(bundle));
        let mut findings = self.begun();
        self.others.count(facts.bundle.map(|bundle| bundle.kind), &mut facts.images);
        findings.file(facts, &Lent::default(), |_| true)?;
        self.findings = Some(findings);
        Ok(())
    }

    /// The page; none where there is nothing to show. `whole` says that every file could be read.
    ///
    /// # Errors
    /// Errors of reading a file again.
    pub(crate) fn page(mut self, paths: &[PathBuf], whole: bool) -> Result<Option<String>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let (reporter, selector, rules) = (self.reporter, self.selector, self.rules);
        let mut findings = self.begun();
        if !findings.any && self.others.any() && !has_stdin(paths) {
            findings = findings.cleared();
            let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
            each_file_with(reporter, paths, selector, options, |facts| {
                findings.file(facts, &Lent::default(), |_| true)?;
                Ok(())
            })?;
            self.others = OtherModels::default();
        } else if self.open && (self.count > 1 || !selector.is_all()) {
            // Another file may have what one lacks, or an image that was not selected.
            (findings, _) = linked_elsewhere(reporter, paths, selector, findings, |_| true, &self.others)?;
        }
        self.others.note("judged").iter().for_each(|note| reporter.note(note));
        let seen = findings.files.clone();
        let (mut targets, notes) = findings.end(whole && selector.is_all());
        notes.iter().for_each(|note| reporter.note(note));
        if let Some((name, known)) = &rules.known {
            known.apply(name, &mut targets, &seen);
        }
        page::library(&self.files, &targets, rules.held.as_ref(), rules.names).map(Some)
    }

    /// The findings so far. The targets are settled with the first file.
    fn begun(&mut self) -> Findings<'d> {
        if let Some(findings) = self.findings.take() {
            return findings;
        }
        let rules = self.rules;
        let asked = self.named.take().unwrap_or_else(|| {
            if self.others_alone {
                self.own.append(&mut self.own_of_others);
            }
            let known = KNOWN_TARGETS.iter().copied().filter(|name| !self.own.contains(*name));
            let all = self.own.iter().map(String::as_str).chain(known);
            let under = |target| JudgedTarget::plain(target).under(rules.policy(), false);
            all.filter_map(|name| rules.table.target(name)).map(under).collect()
        });
        self.others = OtherModels::new(asked.iter().map(|judged| judged.target));
        let today = rules.held.as_ref().and_then(|held| held.today);
        Findings::new(asked, Vec::new(), rules.policy(), today, Depth::All)
    }

    /// Notes the targets that images are for. Of what is for any device there is nothing to judge.
    fn targets_of(&mut self, bundle: &Bundle<'_>) {
        for image in &bundle.images {
            let name = image.compile_target().unwrap_or(image.target);
            let known = self.rules.table.target(name);
            let of_another = OtherModels::has(Some(bundle.kind), image);
            self.others_alone &= of_another;
            let own = if of_another { &mut self.own_of_others } else { &mut self.own };
            if !own.contains(name) && known.is_some_and(|target| target.device_type.is_some()) {
                own.insert(name.to_owned());
            }
        }
    }
}
