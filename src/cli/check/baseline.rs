//! Which findings are known already?

use super::super::global::Global;
use super::super::output;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::error::{Error, Result};
use sycl_bundle::files::input::Input;
use sycl_bundle::files::sources::spare_others;
use sycl_bundle::files::write::write_atomically;
use sycl_bundle::report::gate::TargetFindings;
use sycl_bundle::report::gate::baseline::{Baseline, Compared};
use sycl_bundle::report::name::{display, shorten};
use sycl_bundle::report::units::{count, counted};

/// Findings that are gone and are named; the rest is counted.
const NAMED: usize = 10;

/// The flags about known findings.
#[derive(Debug, clap::Args)]
pub struct BaselineArgs {
    /// Findings of this file are known and do not fail; those that are gone are told
    #[arg(long, value_name = "FILE", conflicts_with_all = ["declared", "fixed_targets", "external"])]
    baseline: Option<PathBuf>,
    /// Write all findings to this file, and fail for none of them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "declared", "fixed_targets", "external"])]
    write_baseline: Option<PathBuf>,
}

impl BaselineArgs {
    /// Whether findings are compared with any.
    pub fn asked(&self) -> bool {
        self.baseline.is_some() || self.write_baseline.is_some()
    }

    /// The baseline that is named, with its name.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is none, `Usage` where one of the files would become it.
    pub fn read(&self, files: &[PathBuf]) -> Result<Option<(String, Baseline)>> {
        if let Some(path) = &self.write_baseline {
            spare_others(files.iter().map(PathBuf::as_path), "--write-baseline", path)?;
        }
        self.baseline.as_deref().map(read).transpose()
    }

    /// Writes all findings where that is asked for; they are known from then on.
    ///
    /// # Errors
    /// `Environment` where the file cannot be written.
    pub fn write(
        &self,
        global: &Global,
        targets: &mut [TargetFindings],
        files: &[Arc<str>],
    ) -> Result<Option<Compared>> {
        let Some(path) = &self.write_baseline else { return Ok(None) };
        let baseline = Baseline::from_findings(targets);
        write_atomically(path, output::documented(&baseline.text()).as_bytes(), None)?;
        let name = path.display().to_string();
        global.note(&format!("{} written to {name}", counted(baseline.len(), "finding")));
        Ok(Some(compare(global, &name, &baseline, targets, files, false)))
    }
}

/// A baseline, with its name.
///
/// # Errors
/// `Io` where it cannot be read, `Input` where it is none.
pub fn read(path: &Path) -> Result<(String, Baseline)> {
    let name = path.display().to_string();
    let input = Input::open(path).map_err(|error| match path.exists() {
        true => error.context(name.clone()),
        false => error.context(name.clone()).with_remedy(format!("`--write-baseline {name}` writes what is found now")),
    })?;
    let text = std::str::from_utf8(input.bytes()).map_err(|_| Error::input("no UTF-8 text").context(name.clone()))?;
    let baseline = Baseline::read(&name, text)?;
    Ok((name, baseline))
}

/// Marks what is known, and tells what is gone where all was looked at.
pub fn compare(
    global: &Global,
    name: &str,
    baseline: &Baseline,
    targets: &mut [TargetFindings],
    files: &[Arc<str>],
    whole: bool,
) -> Compared {
    let mut compared = baseline.apply(name, targets, files);
    if !whole {
        compared.gone.clear();
    }
    let gone = &compared.gone;
    for one in gone.iter().take(NAMED) {
        let kernel = if global.demangle { display(&one.kernel) } else { one.kernel.clone() };
        let aspect = one.aspect.as_ref().map(|aspect| format!(" {aspect}")).unwrap_or_default();
        global.note(&format!(
            "no longer found: {}{aspect} on {} of {} in {}",
            one.rule,
            one.target,
            shorten(&kernel, 80),
            one.file
        ));
    }
    if let Some(more) = gone.len().checked_sub(NAMED).filter(|more| *more > 0) {
        global.note(&format!("and {} more", count(more)));
    }
    if !gone.is_empty() {
        global.note(&format!("`--write-baseline {name}` takes them out of the baseline"));
    }
    compared
}
