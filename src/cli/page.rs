//! `inspect --html`: where does the page go, and by what is its matrix judged?

use super::global::Global;
use super::policy_file::PolicyArgs;
use super::selection::DeviceConfigs;
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::check::read_baseline;
use sycl_bundle::files::page::{Draft, Rules};
use sycl_bundle::files::sources::spare_others;
use sycl_bundle::files::write::write_atomically;
use sycl_bundle::report::gate::findings::{resolve_targets, spelled_targets};
use sycl_bundle::report::text;
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
        Ok(Some(Rules { table, held, known, names: global.names() }))
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
    global.note(&format!("a page of {}, written to {}", text::bytes(text.len() as u64), path.display()));
    Ok(())
}
