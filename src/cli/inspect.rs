//! `inspect`: what device code is in these files?

use super::global::Global;
use super::output::{NameList, Output, forms};
use super::policy_file::PolicyArgs;
use super::selection::{DeviceConfigs, Selection, target_patterns};
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::check::read_baseline;
use crate::files::page::{self, Draft, Rules};
use crate::files::sources::{spare_opened_by, spare_others};
use crate::files::{ReadOptions, each_file, each_file_with, report_problems};
use crate::report::document::Form;
use crate::report::gate::findings::{resolve_targets, spelled_targets};
use crate::report::inspect::{Depth, Listing, json};
use crate::report::{clones, text};
use crate::select::Selector;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Images that differ in their kernels only share a row; `--all` gives each its own, `--image N`
shows all about one.

With --html: the page's matrix is what `check` finds, held to the same policy (--policy,
SYCL_BUNDLE_CONFIG, or sycl-bundle.toml in this folder or one above; --no-policy for none). Its
targets are those of -t, else the policy's own, which may ask about some kernels only. What an
exception covers is excused: `~` in the matrix, with the reason and the last day. Days are in UTC;
SOURCE_DATE_EPOCH sets today's. What --baseline holds is excused too. A mistake in the policy ends
with 3; what the page shows never changes the exit status.

Examples:
  sycl-bundle inspect libfoo.so
  sycl-bundle inspect libfoo.so --image 3
  sycl-bundle inspect libfoo.so --kernel '*gemm*' --all
  sycl-bundle inspect *.so --sizes
  sycl-bundle inspect libfoo.so --clones
  sycl-bundle inspect libfoo.so --html libfoo.html -t pvc,bmg-g21
  sycl-bundle inspect libfoo.so --html libfoo.html --policy sycl-bundle.toml
  sycl-bundle inspect libfoo.so --format json | jq '.files[].images[].requirements.aspects'";

/// Show the device images of files
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Executables, shared libraries, SPIR-V modules; archives, wheels, other packages and folders of these; `pid:N` for
    /// the libraries of a process; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// List each image
    #[arg(long)]
    all: bool,
    /// Show who takes the space
    #[arg(long, conflicts_with = "all")]
    sizes: bool,
    /// Show which images are the same code under other names, and what they cost
    #[arg(long, conflicts_with_all = ["all", "sizes"])]
    clones: bool,
    /// Print the names of kernels alone, one a line, for `grep` and scripts; mangled with --no-demangle
    #[arg(long, conflicts_with_all = ["all", "sizes", "clones", "format", "html"])]
    names: bool,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    page: PageArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

/// The forms of the output.
const FORMS: [(Form, &str); 3] =
    [(Form::Table, "For people"), (Form::Json, "One document"), (Form::Jsonl, "One line per image")];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&if self.clones { clones::schema() } else { json::schema() });
        }
        if self.clones && self.format == Form::Jsonl {
            let error = Error::new(ErrorKind::Usage, "clones are groups of images, and a line is an image");
            return Err(error.with_remedy("use --format json"));
        }
        let selector = self.selector()?;
        let rules = self.page.rules(global, &self.files)?;
        let mut draft = self.page.begin(global, rules.as_ref(), &selector, &self.files)?;
        // Images are examined while they are written, by the same threads; those of a page before.
        let lazy = !self.page.asked() && matches!(self.format, Form::Json | Form::Jsonl) && !self.clones;
        if self.names {
            let mut names = NameList::new(global.names());
            return each_file(global, &self.files, &selector, |facts| {
                report_problems(global, facts);
                facts.images.iter().flat_map(|image| &image.kernels).try_for_each(|kernel| names.put(kernel, out))
            });
        }
        let mut listing = Listing::open(self.format, self.depth(), out)?;
        // Tables show no hashes.
        let shown = matches!(self.format, Form::Json | Form::Jsonl) || self.depth() == Depth::Pages;
        let skip_code = !shown && !self.page.asked() && matches!(self.depth(), Depth::Groups | Depth::Images);
        let options = ReadOptions { lazy, skip_code, hash_apart: !shown, ..ReadOptions::default() };
        let exit = each_file_with(global, &self.files, &selector, options, |facts| {
            listing.file(facts)?;
            draft.iter_mut().try_for_each(|draft| draft.file(facts))?;
            // A line is an image, and a group images: what is wrong with the file has no place among them.
            if self.clones || self.format == Form::Jsonl {
                report_problems(global, facts);
            }
            Ok(())
        })?;
        listing.end()?;
        out.finish()?;
        self.page.end(global, draft, &self.files, exit == Exit::Done)?;
        Ok(exit)
    }

    /// The selector: with a page, targets are those of its matrix.
    fn selector(&self) -> Result<Selector> {
        let targets = if self.page.asked() { Vec::new() } else { target_patterns(self.page.targets())? };
        Ok(Selector { targets, ..self.selection.selector()? })
    }

    /// The facts that are told of each file.
    fn depth(&self) -> Depth {
        match self {
            Args { clones: true, .. } => Depth::Clones,
            Args { sizes: true, .. } => Depth::Sizes,
            Args { all: true, .. } => Depth::Images,
            _ if self.selection.names_images() => Depth::Pages,
            _ => Depth::Groups,
        }
    }
}

/// The flags of the page.
#[derive(Debug, clap::Args)]
pub(crate) struct PageArgs {
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
    pub(crate) fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Whether a page is asked for.
    pub(crate) fn asked(&self) -> bool {
        self.html.is_some()
    }

    /// The targets that there are, the policy and the baseline, where a page is asked for: reading them takes longer than
    /// reading many a file.
    ///
    /// # Errors
    /// `Usage` where a device configuration or a policy is given and no page; what is wrong with them.
    pub(crate) fn rules(&self, global: &Global, paths: &[PathBuf]) -> Result<Option<Rules>> {
        let Some(html) = &self.html else {
            let needless = [
                (!self.configs.files().is_empty(), "`--device-config` is for the targets of `--html`"),
                (self.policy.said(), "`--policy` and `--no-policy` are for the page of `--html`"),
            ];
            let Some((_, what)) = needless.iter().find(|(given, _)| *given) else { return Ok(None) };
            return Err(Error::new(ErrorKind::Usage, *what).with_remedy("say `--html FILE` too"));
        };
        check_page(html, paths.iter().map(PathBuf::as_path))?;
        let table = self.configs.table(global)?;
        let held = self.policy.load(global, &table)?;
        let known = self.baseline.as_deref().map(read_baseline).transpose()?;
        Ok(Some(Rules { table, held, known, names: global.names() }))
    }

    /// Begins a page, where one is asked for.
    ///
    /// # Errors
    /// `Usage` where a name is that of no target.
    pub(crate) fn begin<'d>(
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
    pub(crate) fn end(&self, global: &Global, draft: Option<Draft<'_>>, paths: &[PathBuf], whole: bool) -> Result<()> {
        let (Some(draft), Some(path)) = (draft, &self.html) else { return Ok(()) };
        draft.page(paths, whole)?.map_or(Ok(()), |page| write_page(global, path, |out| page.write(out)))
    }
}

/// Whether a page can go there.
///
/// # Errors
/// `Usage` where that is standard output, or one of the files that are read.
pub(crate) fn check_page<'p>(path: &Path, read: impl IntoIterator<Item = &'p Path>) -> Result<()> {
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
pub(crate) fn write_page(global: &Global, path: &Path, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    spare_opened_by("--html", path)?;
    let bytes = page::write_page(path, write)?;
    global.note(&format!("a page of {}, written to {}", text::bytes(bytes), path.display()));
    Ok(())
}
