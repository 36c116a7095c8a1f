//! `props`: what do the property sets of images say?

use super::global::Global;
use super::output::{Output, forms};
use super::selection::TargetSelection;
use crate::demangle::demangle;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::{ReadOptions, each_file_with, report_problems};
use crate::report::document::Form;
use crate::report::props::{self as page, Shape, json};
use crate::select::Pattern;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Images that say the same share a row, and so do names of one template; `--all` gives each property
of each image its own, and `--name` tells every image. What is known of a property's meaning is
told, else its bytes; `--raw` shows the bytes of all. A module has the sets of the `.prop` file
beside it, in a folder too. `--format text` writes the sets of one image as DPC++'s tools do, a file
that `wrap --properties` takes and that `extract` writes beside a module.

Examples:
  sycl-bundle props libfoo.so
  sycl-bundle props libfoo.so --set '*requirements' --all
  sycl-bundle props libfoo.so --name optLevel
  sycl-bundle props libfoo.so --set '*misc*' --raw
  sycl-bundle props libfoo.so --image 3 --format text > image3.prop
  sycl-bundle props libfoo.so --format jsonl | jq -r '[.image, .set, .name] | @tsv'

Exit status:
  1  no property matches what is selected
  6  there is no device code";

/// Show the property sets of images, decoded and as they are stored
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Executables, shared libraries, file tables, packages and folders of these, as for `inspect`
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// Only sets whose name matches, such as 'SYCL/device requirements' (repeatable)
    #[arg(long, value_name = "GLOB")]
    set: Vec<String>,
    /// Only properties whose name, mangled or demangled, matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    name: Vec<String>,
    /// List each property of each image
    #[arg(long)]
    all: bool,
    /// Show values as they are stored
    #[arg(long)]
    raw: bool,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

/// The forms of the output.
const FORMS: [(Form, &str); 4] = [
    (Form::Table, "For people"),
    (Form::Json, "One document"),
    (Form::Jsonl, "One line per property of an image"),
    (Form::Text, "The sets of one image, as DPC++'s tools write them"),
];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&json::schema());
        }
        for (given, flag) in [(self.all, "--all"), (self.raw, "--raw")] {
            if given && self.format != Form::Table {
                let error = Error::new(ErrorKind::Usage, format!("{flag} means something with --format table only"));
                return Err(error.with_remedy("the other forms have every property of every image, with its bytes"));
            }
        }
        let patterns = |globs: &[String]| globs.iter().map(|glob| Pattern::new(glob)).collect::<Result<Vec<Pattern>>>();
        let (sets, names) = (patterns(&self.set)?, patterns(&self.name)?);
        let wanted = |set: &str, name: Option<&str>| {
            let any = |patterns: &[Pattern], text: &str| patterns.iter().any(|pattern| pattern.matches(text));
            let named = |name: &str| {
                any(&names, name) || any(&names, &page::shown_name(name, |name| demangle(name).into_owned()))
            };
            (sets.is_empty() || any(&sets, set)) && (names.is_empty() || name.is_some_and(named))
        };
        let filtered = !(sets.is_empty() && names.is_empty());
        let selector = self.selection.selector()?;
        let options = ReadOptions { skip_hash: true, skip_code: true, ..ReadOptions::default() };
        let shape = Shape { all: self.all, raw: self.raw, every: !self.name.is_empty() };
        let mut texts: Vec<String> = Vec::new();
        let mut any = false;
        let mut listing = page::Listing::open(self.format, shape, out)?;
        let exit = each_file_with(global, &self.files, &selector, options, |facts| {
            let file = page::collect(facts, filtered.then_some(&wanted));
            any |= !file.is_empty();
            if self.format != Form::Json {
                report_problems(global, facts);
            }
            match self.format {
                Form::Text => texts.extend(page::texts(&file)?),
                Form::Table if file.is_empty() && filtered => {}
                _ => listing.file(&file, &facts.problems)?,
            }
            Ok(())
        })?;
        listing.end()?;
        out.finish()?;
        match texts.as_slice() {
            [] if self.format == Form::Text && exit == Exit::Done && !filtered => {
                global.note("the image has no property sets, of which the text is nothing");
            }
            [] => {}
            [text] => out.data(text, "`extract` writes it beside the image")?,
            _ => {
                let message = format!("the text is of one image, and {} are selected", texts.len());
                return Err(Error::new(ErrorKind::Usage, message).with_remedy("choose one with --image"));
            }
        }
        if filtered && !any && exit == Exit::Done {
            let error = Error::new(ErrorKind::NoMatch, "no property matches what is selected");
            return Err(error.with_remedy("`sycl-bundle props FILE` lists them all"));
        }
        Ok(exit)
    }
}
