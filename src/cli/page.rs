//! `inspect --html`: where does the page go, and by what is its matrix judged?

use super::check::{AppliedPolicy, PolicyArgs, linked_elsewhere, read_baseline, resolve_targets, spelled_targets};
use super::device_config::DeviceConfigs;
use super::global::Global;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::gate::proof::Depth;
use sycl_bundle::compat::offers::{Lent, are_open};
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::sources::spare_others;
use sycl_bundle::files::write::write_atomically;
use sycl_bundle::files::{ReadOptions, each_file_with};
use sycl_bundle::policy::Policy;
use sycl_bundle::report::gate::baseline::Baseline;
use sycl_bundle::report::gate::findings::{Findings, JudgedTarget};
use sycl_bundle::report::{FileFacts, page, units};
use sycl_bundle::select::Selector;

/// The flags of the page.
#[derive(Debug, clap::Args)]
pub struct PageArgs {
    /// Write also a page for a browser: a map of the bytes, kernels by targets, tables to filter and sort
    #[arg(long, value_name = "FILE", conflicts_with_all = ["clones", "schema"])]
    html: Option<PathBuf>,
    /// Only images for these targets, in any spelling of `targets` (repeatable). With --html all images, and these are the
    /// targets that kernels are judged for; by default those of the policy, else those in the files, a CPU and some GPUs
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET,...", value_delimiter = ',')]
    targets: Vec<String>,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Findings of this file, which `check --write-baseline` wrote, are excused on the page
    #[arg(long, value_name = "FILE", requires = "html")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    configs: DeviceConfigs,
}

impl PageArgs {
    /// The targets that are named.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Whether a page is asked for.
    pub fn asked(&self) -> bool {
        self.html.is_some()
    }

    /// The targets that there are, the policy and the baseline, where a page is asked for: reading them takes longer than
    /// reading many a file.
    ///
    /// # Errors
    /// `Usage` where a device configuration or a policy is given and no page; what is wrong with them.
    pub fn rules(&self, global: &Global, paths: &[PathBuf]) -> Result<Option<Rules>> {
        let Some(html) = &self.html else {
            let needless = [
                (!self.configs.files().is_empty(), "`--device-config` is for the targets of `--html`"),
                (self.policy.said(), "`--policy` and `--no-policy` are for the page of `--html`"),
            ];
            let Some((_, what)) = needless.iter().find(|(given, _)| *given) else { return Ok(None) };
            return Err(Error::new(ErrorKind::Usage, *what).with_remedy("say `--html FILE` too"));
        };
        check(html, paths.iter().map(PathBuf::as_path))?;
        let table = self.configs.table(global)?;
        let held = self.policy.load(global, &table)?;
        let known = self.baseline.as_deref().map(read_baseline).transpose()?;
        Ok(Some(Rules { table, held, known }))
    }

    /// Begins a page, where one is asked for.
    ///
    /// # Errors
    /// `Usage` where a name is that of no target.
    pub fn begin<'d>(
        &self,
        global: &'d Global,
        rules: Option<&'d Rules>,
        selector: &'d Selector,
        paths: &[PathBuf],
    ) -> Result<Option<Draft<'d>>> {
        let Some(rules) = rules else { return Ok(None) };
        let named = spelled_targets(global, &rules.table, &self.targets)?;
        let asked = resolve_targets(global, named, rules.policy(), &rules.table, false);
        Draft::new(global, rules, selector, asked, paths).map(Some)
    }

    /// Ends a page, and writes it. `whole` says that every file could be read.
    ///
    /// # Errors
    /// Errors of reading a file again, and of writing the page.
    pub fn end(&self, global: &Global, draft: Option<Draft<'_>>, paths: &[PathBuf], whole: bool) -> Result<()> {
        let (Some(draft), Some(path)) = (draft, &self.html) else { return Ok(()) };
        draft.page(paths, whole)?.map_or(Ok(()), |text| write(global, path, &text))
    }
}

/// Whether a page can go there.
///
/// # Errors
/// `Usage` where that is standard output, or one of the files that are read.
pub fn check<'p>(path: &Path, read: impl IntoIterator<Item = &'p Path>) -> Result<()> {
    if path == Path::new("-") {
        let error = Error::new(ErrorKind::Usage, "a page goes to a file, as standard output has the rest");
        return Err(error.with_remedy("say `--html FILE`"));
    }
    spare_others(read, "--html", path)
}

/// Writes a page.
///
/// # Errors
/// `Environment` where that is not possible.
pub fn write(global: &Global, path: &Path, text: &str) -> Result<()> {
    write_atomically(path, text.as_bytes(), None)?;
    global.note(&format!("a page of {}, written to {}", units::bytes(text.len() as u64), path.display()));
    Ok(())
}

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
pub struct Rules {
    pub table: Cow<'static, TargetTable>,
    pub held: Option<AppliedPolicy>,
    /// Findings that are known, with what they are called.
    pub known: Option<(String, Baseline)>,
}

/// A page that is being made.
pub struct Draft<'d> {
    global: &'d Global,
    rules: &'d Rules,
    selector: &'d Selector,
    /// Targets that the user or the policy names; none for the default.
    named: Option<Vec<JudgedTarget<'d>>>,
    /// Names of targets that images of the files have.
    own: BTreeSet<String>,
    files: page::Files,
    findings: Option<Findings<'d>>,
    /// The number of files, and whether any has imports that nothing in it defines.
    count: usize,
    open: bool,
}

impl Rules {
    /// The policy, where there is one.
    pub fn policy(&self) -> Option<&Policy> {
        self.held.as_ref().map(|held| &held.policy)
    }
}

impl<'d> Draft<'d> {
    /// A page of files that are still to come. Where no target is named, those of the files are looked for in all of them.
    ///
    /// # Errors
    /// Errors of writing what is told about the files.
    pub fn new(
        global: &'d Global,
        rules: &'d Rules,
        selector: &'d Selector,
        named: Vec<JudgedTarget<'d>>,
        paths: &[PathBuf],
    ) -> Result<Draft<'d>> {
        let mut draft = Draft {
            global,
            rules,
            selector,
            named: Some(named).filter(|named| !named.is_empty()),
            own: BTreeSet::new(),
            files: page::Files::default(),
            findings: None,
            count: 0,
            open: false,
        };
        // All files are judged for the targets of any. Standard input is read once, and has to be the first file.
        if draft.named.is_none() && paths.len() > 1 {
            let again: Vec<PathBuf> = paths.iter().filter(|path| *path != Path::new("-")).cloned().collect();
            let options = ReadOptions { lazy: true, skip_hash: true, silent: true, ..ReadOptions::default() };
            each_file_with(global, &again, &Selector::default(), options, |facts| {
                facts.bundle.into_iter().for_each(|bundle| draft.targets_of(bundle));
                Ok(())
            })?;
        }
        Ok(draft)
    }

    /// Adds a file. Its images are gone from the facts then.
    pub fn file(&mut self, facts: &mut FileFacts<'_>) {
        self.files.add(facts);
        self.open |= are_open(&facts.images);
        self.count = self.count.saturating_add(1);
        facts.bundle.into_iter().for_each(|bundle| self.targets_of(bundle));
        let mut findings = self.begun();
        findings.file(facts, &Lent::default(), |_| true);
        self.findings = Some(findings);
    }

    /// The page; none where there is nothing to show. `whole` says that every file could be read.
    ///
    /// # Errors
    /// Errors of reading a file again.
    pub fn page(mut self, paths: &[PathBuf], whole: bool) -> Result<Option<String>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let (global, selector, rules) = (self.global, self.selector, self.rules);
        let mut findings = self.begun();
        // Another file may have what one lacks, or an image that was not selected.
        if self.open && (self.count > 1 || !selector.is_all()) {
            (findings, _) = linked_elsewhere(global, paths, selector, findings, |_| true)?;
        }
        let seen = findings.files.clone();
        let (mut targets, notes) = findings.end(whole && selector.is_all());
        notes.iter().for_each(|note| global.note(note));
        if let Some((name, known)) = &rules.known {
            known.apply(name, &mut targets, &seen);
        }
        page::library(&self.files, &targets, rules.held.as_ref(), global.names()).map(Some)
    }

    /// The findings so far. The targets are settled with the first file.
    fn begun(&mut self) -> Findings<'d> {
        if let Some(findings) = self.findings.take() {
            return findings;
        }
        let rules = self.rules;
        let asked = self.named.take().unwrap_or_else(|| {
            let known = KNOWN_TARGETS.iter().copied().filter(|name| !self.own.contains(*name));
            let all = self.own.iter().map(String::as_str).chain(known);
            let under = |target| JudgedTarget::plain(target).under(rules.policy(), false);
            all.filter_map(|name| rules.table.target(name)).map(under).collect()
        });
        let today = rules.held.as_ref().and_then(|held| held.today);
        Findings::new(asked, Vec::new(), rules.policy(), today, Depth::All)
    }

    /// Notes the targets that images are for. Of what is for any device there is nothing to judge.
    fn targets_of(&mut self, bundle: &Bundle<'_>) {
        for image in &bundle.images {
            let name = image.compile_target().unwrap_or(image.target);
            let known = self.rules.table.target(name);
            if !self.own.contains(name) && known.is_some_and(|target| target.device_type.is_some()) {
                self.own.insert(name.to_owned());
            }
        }
    }
}
