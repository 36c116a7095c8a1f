//! `props`: what do the property sets of images say?

use super::global::Global;
use super::output;
use super::selection::TargetSelection;
use std::path::PathBuf;
use sycl_bundle::bundle::property::Properties;
use sycl_bundle::bundle::property_text;
use sycl_bundle::demangle::demangle;
use sycl_bundle::error::Exit;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::{ReadOptions, each_file_with, report_problems};
use sycl_bundle::report::props::{self as page, FileProps, Shape, json};
use sycl_bundle::report::text::Shown;
use sycl_bundle::select::Pattern;

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
pub struct Args {
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
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Format,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document
    Json,
    /// One line per property of an image
    Jsonl,
    /// The sets of one image, as DPC++'s tools write them
    Text,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        if self.schema {
            return output::schema(&json::schema());
        }
        for (given, flag) in [(self.all, "--all"), (self.raw, "--raw")] {
            if given && self.format != Format::Table {
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
        let options = ReadOptions { skip_hash: true, ..ReadOptions::default() };
        let view = global.view();
        let (mut out, mut lines) = (output::Stdout::open(), output::Documents::open());
        let mut document = match self.format {
            Format::Json => Some(json::Document::open(output::Documents::open())?),
            _ => None,
        };
        let mut texts: Vec<String> = Vec::new();
        let (mut any, mut first) = (false, true);
        let exit = each_file_with(global, &self.files, &selector, options, |facts| {
            let file = page::collect(facts, wanted);
            any |= !file.is_empty();
            if let Some(document) = &mut document {
                return document.file(&file, &facts.problems);
            }
            report_problems(global, facts);
            match self.format {
                Format::Text => texts.extend(of_images(&file)?),
                Format::Jsonl => json::lines(&mut lines, &file)?,
                _ if file.is_empty() && filtered => {}
                _ if file.images.is_empty() => {}
                _ => {
                    if !std::mem::take(&mut first) {
                        out.show(&Shown::gap())?;
                    }
                    let shape = Shape { all: self.all, raw: self.raw, every: !self.name.is_empty() };
                    out.show(&view.heading(facts.path))?;
                    out.show(&file.table(&view, shape))?;
                }
            }
            Ok(())
        })?;
        if let Some(document) = document {
            document.close()?.finish()?;
        }
        match texts.as_slice() {
            [] if self.format == Format::Text && exit == Exit::Done && !filtered => {
                global.note("the image has no property sets, of which the text is nothing");
            }
            [] => {}
            [text] => output::data(text)?,
            _ => {
                let message = format!("the text is of one image, and {} are selected", texts.len());
                return Err(Error::new(ErrorKind::Usage, message).with_remedy("choose one with --image"));
            }
        }
        out.finish()?;
        lines.finish()?;
        if filtered && !any && exit == Exit::Done {
            let error = Error::new(ErrorKind::NoMatch, "no property matches what is selected");
            return Err(error.with_remedy("`sycl-bundle props FILE` lists them all"));
        }
        Ok(exit)
    }
}

/// The text of each image that has something to show.
fn of_images(file: &FileProps<'_>) -> Result<Vec<String>> {
    let shown = file.images.iter().filter(|one| !one.sets.is_empty());
    let text = |sets: &[_]| property_text::write(&Properties { sets: sets.to_vec() });
    shown.map(|one| text(&one.sets).map_err(|error| error.context(file.path))).collect()
}
