//! `inspect --html`: where does the page go, and which targets are in its matrix?

use super::check::{Asked, Findings, linked_elsewhere, named_targets};
use super::device_config::DeviceConfigs;
use super::files::{How, each_file_with};
use super::global::Global;
use super::output;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::gate::proof::Depth;
use sycl_bundle::compat::offers::{Lent, are_open};
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::FileFacts;
use sycl_bundle::report::evidence::Names;
use sycl_bundle::report::{page, units};
use sycl_bundle::select::Selector;

/// Targets that stand in every matrix, where none are named: a CPU, and GPUs that differ in what they lack.
const KNOWN: [&str; 7] = [
    "spir64_x86_64",
    "intel_gpu_tgllp",
    "intel_gpu_acm_g10",
    "intel_gpu_pvc",
    "intel_gpu_mtl_h",
    "intel_gpu_lnl_m",
    "intel_gpu_bmg_g21",
];

/// The flags of the page.
#[derive(Debug, clap::Args)]
pub struct PageArgs {
    /// Write also a page for a browser: a map of the bytes, kernels by targets, tables to filter and sort
    #[arg(long, value_name = "FILE", conflicts_with_all = ["clones", "schema"])]
    html: Option<PathBuf>,
    /// The targets of the page, as `check` takes them (repeatable); by default those in the files, a CPU and some GPUs
    #[arg(short = 't', long = "for", value_name = "TARGET,...", value_delimiter = ',', requires = "html")]
    targets: Vec<String>,
    #[command(flatten)]
    configs: DeviceConfigs,
}

/// A page that is being made.
pub struct Draft<'d> {
    global: &'d Global,
    table: &'d TargetTable,
    selector: &'d Selector,
    /// What the user names; none for the default.
    named: Option<Vec<Asked<'d>>>,
    /// Names of targets that images of the files have.
    own: BTreeSet<String>,
    files: page::Files,
    findings: Option<Findings<'d>>,
    /// How many files there are, and whether any has imports that nothing in it defines.
    count: usize,
    open: bool,
}

impl PageArgs {
    /// Whether a page is asked for.
    pub fn asked(&self) -> bool {
        self.html.is_some()
    }

    /// The targets that there are, where a page is asked for: reading them takes longer than reading many a file.
    ///
    /// # Errors
    /// `Usage` where a device configuration is given and no page; what is wrong with it.
    pub fn table(&self, global: &Global) -> Result<Option<Cow<'static, TargetTable>>> {
        if self.html.is_none() && !self.configs.files().is_empty() {
            let error = Error::new(ErrorKind::Usage, "`--device-config` is for the targets of `--html`");
            return Err(error.with_remedy("say `--html FILE` too"));
        }
        let Some(html) = &self.html else { return Ok(None) };
        check(html)?;
        self.configs.table(global).map(Some)
    }

    /// Begins a page, where one is asked for.
    ///
    /// # Errors
    /// `Usage` where a name is that of no target.
    pub fn begin<'d>(
        &self,
        global: &'d Global,
        table: Option<&'d TargetTable>,
        selector: &'d Selector,
        paths: &[PathBuf],
    ) -> Result<Option<Draft<'d>>> {
        let Some(table) = table else { return Ok(None) };
        let named = named_targets(global, table, &self.targets)?;
        let mut draft = Draft {
            global,
            table,
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
            let how = How { deferred: true, unhashed: true, again: true, ..How::default() };
            each_file_with(global, &again, &Selector::default(), how, |facts| {
                facts.bundle.into_iter().for_each(|bundle| draft.targets_of(bundle));
                Ok(())
            })?;
        }
        Ok(Some(draft))
    }

    /// Ends a page, and writes it.
    ///
    /// # Errors
    /// What cannot be read again or written.
    pub fn end(&self, draft: Option<Draft<'_>>, paths: &[PathBuf]) -> Result<()> {
        let (Some(mut draft), Some(path)) = (draft, &self.html) else { return Ok(()) };
        if draft.files.is_empty() {
            return Ok(());
        }
        let (global, selector) = (draft.global, draft.selector);
        let mut findings = draft.begun();
        // What one file lacks another may have, or an image that was not selected.
        if draft.open && (draft.count > 1 || !selector.is_all()) {
            (findings, _) = linked_elsewhere(global, paths, selector, findings, |_| true)?;
        }
        let targets = findings.end(global, false);
        let text = page::library(&draft.files, &targets, Names { demangle: global.demangle })?;
        write(global, path, &text)
    }
}

/// Whether a page can go there.
///
/// # Errors
/// `Usage` where that is standard output.
pub fn check(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        let error = Error::new(ErrorKind::Usage, "a page goes to a file, as standard output has the rest");
        return Err(error.with_remedy("say `--html FILE`"));
    }
    Ok(())
}

/// Writes a page.
///
/// # Errors
/// `Environment` where that is not possible.
pub fn write(global: &Global, path: &Path, text: &str) -> Result<()> {
    output::write_atomically(path, text.as_bytes(), None)?;
    global.note(&format!("a page of {}, written to {}", units::bytes(text.len() as u64), path.display()));
    Ok(())
}

impl<'d> Draft<'d> {
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

    /// What is found so far. The targets are settled with the first file.
    fn begun(&mut self) -> Findings<'d> {
        if let Some(findings) = self.findings.take() {
            return findings;
        }
        let asked = self.named.take().unwrap_or_else(|| {
            let known = KNOWN.iter().copied().filter(|name| !self.own.contains(*name));
            let all = self.own.iter().map(String::as_str).chain(known);
            all.filter_map(|name| self.table.target(name)).map(Asked::plain).collect()
        });
        Findings::new(asked, Vec::new(), None, None, Depth::All)
    }

    /// Notes the targets that images are for. Of what is for any device there is nothing to judge.
    fn targets_of(&mut self, bundle: &Bundle<'_>) {
        for image in &bundle.images {
            let name = image.compile_target().unwrap_or(image.target);
            if !self.own.contains(name) && self.table.target(name).is_some_and(|target| target.device_type.is_some()) {
                self.own.insert(name.to_owned());
            }
        }
    }
}
