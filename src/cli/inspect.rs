//! `inspect`: what device code is in these files?

use super::global::Global;
use super::output;
use super::page::{Draft, PageArgs};
use super::selection::{Selection, target_patterns};
use std::path::PathBuf;
use sycl_bundle::error::Exit;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::{ReadOptions, each_file, each_file_with, report_problems};
use sycl_bundle::report::inspect::{self as page, Totals, View, json};
use sycl_bundle::report::text::Shown;
use sycl_bundle::report::{FileFacts, clones, image, sizes};
use sycl_bundle::select::Selector;

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
pub struct Args {
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
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Format,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    page: PageArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document
    Json,
    /// One line per image
    Jsonl,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        if self.schema {
            return output::schema(&if self.clones { clones::schema() } else { json::schema() });
        }
        if self.clones {
            if matches!(self.format, Format::Jsonl) {
                let error = Error::new(ErrorKind::Usage, "clones are groups of images, and a line is an image");
                return Err(error.with_remedy("use --format json"));
            }
            return self.clones(global);
        }
        let selector = self.selector()?;
        let rules = self.page.rules(global, &self.files)?;
        let mut draft = self.page.begin(global, rules.as_ref(), &selector, &self.files)?;
        let add = |draft: &mut Option<Draft<'_>>, facts: &mut FileFacts<'_>| {
            draft.iter_mut().for_each(|draft| draft.file(facts));
        };
        // Images are examined while they are written, by the same threads; those of a page before.
        let options = ReadOptions { lazy: !self.page.asked(), ..ReadOptions::default() };
        let exit = match self.format {
            Format::Table if self.names => {
                let mut out = output::NameList::open(global.names());
                let exit = each_file(global, &self.files, &selector, |facts| {
                    report_problems(global, facts);
                    facts.images.iter().flat_map(|image| &image.kernels).try_for_each(|kernel| out.put(kernel))
                })?;
                out.finish()?;
                exit
            }
            Format::Table => {
                let view = global.view();
                let mut out = output::Stdout::open();
                let mut totals = Totals::default();
                let mut all = sizes::Sizes::default();
                let mut first = true;
                let exit = each_file(global, &self.files, &selector, |facts| {
                    if facts.images.is_empty() && facts.problems.is_empty() || facts.bundle.is_none() {
                        add(&mut draft, facts);
                        return Ok(());
                    }
                    let counted = totals.add(facts);
                    if self.sizes && counted {
                        all.add(facts, &view);
                    }
                    if !std::mem::take(&mut first) {
                        out.show(&Shown::gap())?;
                    }
                    out.show(&self.text(global, facts, &view))?;
                    add(&mut draft, facts);
                    Ok(())
                })?;
                out.show(&totals.line(&view))?;
                out.show(&all.all(&view, global.drawing()))?;
                out.finish()?;
                exit
            }
            Format::Json => {
                let mut out = output::Documents::open();
                let mut document = json::Document::open(&mut out)?;
                let exit = each_file_with(global, &self.files, &selector, options, |facts| {
                    document.file(facts)?;
                    add(&mut draft, facts);
                    Ok(())
                })?;
                document.close()?;
                out.finish()?;
                exit
            }
            Format::Jsonl => {
                let mut out = output::Documents::open();
                let exit = each_file_with(global, &self.files, &selector, options, |facts| {
                    json::lines(&mut out, facts)?;
                    add(&mut draft, facts);
                    // A line is an image: what is wrong with the file has no place among them.
                    report_problems(global, facts);
                    Ok(())
                })?;
                out.finish()?;
                exit
            }
        };
        self.page.end(global, draft, &self.files, exit == Exit::Done)?;
        Ok(exit)
    }

    /// The selector: with a page, targets are those of its matrix.
    fn selector(&self) -> Result<Selector> {
        let targets = if self.page.asked() { Vec::new() } else { target_patterns(self.page.targets())? };
        Ok(Selector { targets, ..self.selection.selector()? })
    }

    /// Shows images that are the same code, as a table for each file or as one document.
    fn clones(&self, global: &Global) -> Result<Exit> {
        let selector = self.selector()?;
        let mut out = output::Stdout::open();
        let view = global.view();
        let mut all = Vec::new();
        let mut first = true;
        let exit = each_file(global, &self.files, &selector, |facts| {
            report_problems(global, facts);
            if facts.images.is_empty() {
                return Ok(());
            }
            let found = clones::find(facts);
            if matches!(self.format, Format::Table) {
                if !std::mem::take(&mut first) {
                    out.show(&Shown::gap())?;
                }
                out.show(&Shown::sections(&[page::header(facts, &view), clones::table(&found, facts, &view)]))?;
            } else {
                all.push(found);
            }
            Ok(())
        })?;
        if !matches!(self.format, Format::Table) {
            output::document(&clones::json(&all))?;
        }
        out.finish()?;
        Ok(exit)
    }

    fn text(&self, global: &Global, facts: &FileFacts<'_>, view: &View) -> Shown {
        if self.selection.names_images() && !self.all && !self.sizes {
            let pages: Vec<Shown> = facts.images.iter().map(|one| image::image(facts, one, view)).collect();
            return Shown::sections(&pages);
        }
        let body = match (self.all, self.sizes) {
            (true, _) => page::all(facts, view),
            (_, true) => sizes::sizes(facts, view, global.drawing()),
            _ => page::groups(facts, view),
        };
        let mut out = Shown::sections(&[page::header(facts, view), body]);
        out.append(&page::problems(facts, view));
        out
    }
}
