//! `inspect --html`: what stands on the page of files, by what is its matrix judged, and how is a page written?
//!
//! Pages are written piece by piece: that of a file with hundreds of thousands of kernels is as large as the file.

use super::check::linked_elsewhere;
use super::input::has_stdin;
use super::write::{cannot_write, mode_of, write_atomically, write_streamed};
use super::{ReadOptions, each_file_with};
use crate::bundle::Bundle;
use crate::compat::gate::judgement::Depth;
use crate::compat::offers::{Lent, are_open};
use crate::compat::other_models::OtherModels;
use crate::device::table::TargetTable;
use crate::error::{Reporter, Result};
use crate::plain_file;
use crate::policy::{AppliedPolicy, Policy};
use crate::report::evidence::Names;
use crate::report::gate::TargetFindings;
use crate::report::gate::baseline::Baseline;
use crate::report::gate::findings::{Findings, JudgedTarget};
use crate::report::{FileFacts, page};
use crate::select::Selector;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, BufReader, BufWriter, Read as _, Write};
use std::os::unix::fs::MetadataExt as _;
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

/// Facts of a page, which can be written.
pub(crate) struct Page<'d> {
    rules: &'d Rules,
    files: page::Files,
    targets: Vec<TargetFindings>,
}

impl Page<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        page::library(&self.files, &self.targets, self.rules.held.as_ref(), self.rules.names, out)
    }
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
    pub(crate) fn page(mut self, paths: &[PathBuf], whole: bool) -> Result<Option<Page<'d>>> {
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
        Ok(Some(Page { rules, files: self.files, targets }))
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

/// Writes what `write` makes to a file as [`write_atomically`] does, without all of it in memory. Returns the number of bytes.
///
/// # Errors
/// Errors of [`write_atomically`].
pub(crate) fn write_page(path: &Path, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<u64> {
    let there = std::fs::metadata(path).ok();
    let is_own = |file: &Metadata| file.is_file() && file.uid() == rustix::process::geteuid().as_raw();
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder || there.as_ref().is_some_and(|file| !is_own(file)) {
        // Pages for a pipe, or in the place of another user's file, are rare.
        let mut all = Vec::new();
        write(&mut all).map_err(|error| cannot_write(path, &error))?;
        write_atomically(path, &all, None)?;
        return Ok(all.len() as u64);
    }
    if there.is_some()
        && let Some(same) = Comparing::with(path, &write)
    {
        return Ok(same);
    }
    write_streamed(path, mode_of(path), |file| {
        let mut out = Counting { out: BufWriter::new(file), count: 0 };
        write(&mut out).and_then(|()| out.flush()).map_err(|error| cannot_write(path, &error))?;
        Ok(out.count)
    })
}

/// A writer that counts bytes.
struct Counting<W> {
    out: W,
    count: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.count = self.count.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A writer that fails where a file holds other bytes.
struct Comparing<R> {
    file: R,
    read: Vec<u8>,
}

impl Comparing<()> {
    /// Returns the size of a file that holds what `write` makes.
    fn with(path: &Path, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Option<u64> {
        let (file, _) = plain_file::open(path).ok()?;
        let mut out = Counting { out: Comparing { file: BufReader::new(file), read: Vec::new() }, count: 0 };
        write(&mut out).ok()?;
        let is_end = out.out.file.read(&mut [0]).ok()? == 0;
        is_end.then_some(out.count)
    }
}

impl<R: io::Read> Write for Comparing<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.read.resize(bytes.len(), 0);
        self.file.read_exact(&mut self.read)?;
        if self.read == bytes { Ok(bytes.len()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::write_page;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    #[test]
    fn a_page_that_is_there_stays_and_another_takes_its_place_and_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let write = |text: &'static str| write_page(&path, |out| text.chars().try_for_each(|c| write!(out, "{c}")));
        assert_eq!(write("first").unwrap(), 5);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let number = || std::fs::metadata(&path).unwrap().ino();
        let first = number();
        assert_eq!((write("first").unwrap(), number()), (5, first));
        for text in ["firs", "first and more", "other", ""] {
            assert_eq!(write(text).unwrap(), text.len() as u64);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        }
        assert!(write_page(&folder.path().join("new/"), |_| Ok(())).is_err());
    }
}
