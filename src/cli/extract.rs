//! `extract`: which files do the images of a binary make?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::{Output, forms};
use super::selection::TargetSelection;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::emit::Emit;
use crate::files::extract::Extraction;
use crate::files::gather::Wrapping;
use crate::report::document::Form;
use crate::report::extracted;
use crate::select::Pattern;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Each image makes STEM_INDEX.EXT (.spv, .bc, .bin, ...), STEM_INDEX.prop (its property sets) and
STEM_INDEX.sym (its entries); `images.table` lists them as `[Code|Properties|Symbols]`. A part that
an image does not have is an empty cell; options of the device compiler have no place there. STEM is
the file's name without its extension; for libraries in a package, a folder or a process it is the
library's path in there, with `_` for what is not a letter, digit, `.` or `-`. Of an `images.table`
that the folder held, the parts that no table there lists any more are removed.

With --emit, or where the output's name tells the form (`.table`, `.spv`, `.o`, `.so`, `.syclbin`),
all images go into one output, as `wrap` writes them.

With --member, archives and fat binaries are taken apart: STEM_INDEX.DEVICE.EXT is the code for one
device, beside the image's own property sets and entries.

Examples:
  sycl-bundle extract libfoo.so -o images
  sycl-bundle extract libfoo.so --image 3 -o - | spirv-dis
  sycl-bundle extract libfoo.so --kernel '*gemm*' -o gemm.table
  sycl-bundle extract libfoo.so --kernel '*gemm*' -o images --format json
  sycl-bundle extract libfoo.so --member '*pvc' -o images
  sycl-bundle extract foo-1.0-py3-none-any.whl -o images

Exit status:
  1  no image matches what is selected, or no member
  3  an input cannot be read, or an image is damaged; the others are written all the same
  6  there is no device code";

/// Write the images of a file to files of their own
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// An executable, a shared library or a SPIR-V module; an archive, wheel, other package or folder of these, or
    /// `pid:N` for the libraries of a process; `-` is standard input
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// The folder to write to, or the file, where its name tells a form; `-` writes the payload of one selected image to
    /// standard output
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "schema")]
    output: Option<PathBuf>,
    /// Keep compressed payloads as they are stored
    #[arg(long, conflicts_with = "emit")]
    stored: bool,
    /// In place of whole images write the parts of native code for devices whose names match, or whose own names do
    /// (`generic_ir` of an archive); `*` means all (repeatable)
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["emit", "stored"])]
    member: Vec<String>,
    /// The form of the list of what was written
    #[arg(long, value_name = "FORM", default_value = "none", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

/// The forms of the output.
const FORMS: [(Form, &str); 2] =
    [(Form::None, "A note on standard error"), (Form::Json, "A document on standard output")];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&extracted::schema());
        }
        // As for the other verbs, a name may tell the form; a folder of that name stays one.
        let whole = !self.stored && self.member.is_empty();
        let plain = self.form.emit.is_none() && whole && self.format == Form::None && !self.output().is_dir();
        if let Some(emit) = Emit::by_extension(self.output()).filter(|_| plain) {
            return self.emit(global, emit);
        }
        // A table that -o does not name is the one in a folder, which is what is written without a word.
        let is_folder = |emit: &Emit| *emit == Emit::Table && Emit::by_extension(self.output()) != Some(Emit::Table);
        if let Some(emit) = self.form.emit.filter(|emit| !is_folder(emit)) {
            return self.emit(global, emit);
        }
        // None of the others means anything for a folder.
        self.form.form(Emit::Table, self.output())?;
        let selector = self.selection.selector()?;
        if self.output() == Path::new("-") && self.format == Form::Json {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        let members = self.member.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
        let (file, output) = (self.file(), self.output());
        let extraction = Extraction { file, output, selector: &selector, stored: self.stored, members: &members };
        let (made, exit) = extraction.run(global)?;
        match made {
            Some(made) if self.format == Form::Json => out.put(self.format, &made)?,
            Some(made) => global.note(&made.summary()),
            None => {}
        }
        Ok(exit)
    }

    /// The file to read. The command line has one wherever more than the schema is asked for; and a folder.
    fn file(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new(""))
    }

    /// The folder to write to.
    fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }

    /// Writes one file, in the form asked for.
    fn emit(&self, global: &Global, emit: Emit) -> Result<Exit> {
        if self.format == Form::Json {
            return Err(Error::new(
                ErrorKind::Usage,
                "`--format json` lists the files in a folder, and --emit makes none",
            ));
        }
        let form = self.form.form(emit, self.output())?;
        let (files, selector, output) = (self.file.as_slice(), &self.selection.selector()?, self.output());
        Wrapping { files, selector, beside: None, target: None, form: &form, output }.run(global)
    }
}
