//! `extract`: which files do the images of a binary make?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::{Output, forms};
use super::selection::TargetSelection;
use super::wrap::Inputs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Exit, Reporter as _, Result};
use sycl_bundle::files::earlier::{self, Earlier};
use sycl_bundle::files::emit::Emit;
use sycl_bundle::files::sources::same_file;
use sycl_bundle::files::write::Folder;
use sycl_bundle::files::{each_file, report_problems};
use sycl_bundle::report::FileFacts;
use sycl_bundle::report::document::Form;
use sycl_bundle::report::extracted::{self, Extracted, Written};
use sycl_bundle::report::units::counted;
use sycl_bundle::rewrite::extract::{self, Member, Names, Stems};
use sycl_bundle::select::Pattern;

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
pub struct Args {
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
    pub fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
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
        let to_stdout = self.output() == Path::new("-");
        if to_stdout && self.format == Form::Json {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        let members = self.member.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
        let mut streamed = None;
        let mut set = Set { members, ..Set::default() };
        let exit = each_file(global, self.file.as_slice(), &selector, |facts| {
            report_problems(global, facts);
            if facts.images.is_empty() {
                return Ok(());
            }
            match to_stdout {
                true if set.members.is_empty() => one(facts, self.stored, &mut streamed),
                true => set.one_member(facts, &mut streamed),
                false => self.add(global, facts, &mut set),
            }
        })?;
        set.check_members(exit, streamed.is_some() || !set.written.is_empty())?;
        if let Some(code) = streamed {
            global.binary(&code)?;
        }
        let damaged = set.damaged;
        self.finish(global, set, out)?;
        Ok(if damaged && exit == Exit::Done { Exit::Input } else { exit })
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
        let inputs = Inputs { files: self.file.as_slice(), selection: &self.selection, beside: None };
        inputs.write(global, &form, None, self.output(), &Arena::with_limit(u64::MAX))
    }

    /// Adds the images of one file.
    fn add(&self, global: &Global, facts: &FileFacts<'_>, set: &mut Set) -> Result<()> {
        let argument = self.file().display().to_string();
        let stem = if facts.path == argument {
            match self.file().file_stem().and_then(|stem| stem.to_str()) {
                Some("-") | None => "stdin".to_owned(),
                Some(stem) => stem.to_owned(),
            }
        } else {
            set.stems.unique(facts.path.strip_prefix(&argument).unwrap_or(facts.path))
        };
        let folder = match &mut set.folder {
            Some(folder) => folder,
            none => none.insert(Folder::begin(self.output())?),
        };
        for image in &facts.images {
            let added = match set.members.as_slice() {
                [] => self.image(folder, facts.path, &stem, image).map(|entry| vec![entry]),
                wanted => members(folder, facts.path, &stem, image, (wanted, &mut set.known)),
            };
            match added {
                Ok(entries) => set.written.extend(entries),
                // What failed to inflate has been reported with the file's other problems.
                Err(error) if error.kind() == ErrorKind::Input => {
                    set.damaged = true;
                    if image.problem.is_none() {
                        global.error(&error.context(format!("image {}", image.image.index)).context(facts.path));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the table, lets all appear, and says what was written.
    fn finish(&self, global: &Global, set: Set, out: &mut Output) -> Result<()> {
        let Some(mut folder) = set.folder else { return Ok(()) };
        let written = set.written;
        // The table last: where it is, so is everything it names.
        folder.add(extract::TABLE, extract::table(written.iter().map(|entry| &entry.names))?.as_bytes())?;
        let table = self.output().join(extract::TABLE);
        // What is read from the folder stays in it.
        let reads_it = same_file(self.file(), &table) || same_file(self.file(), self.output());
        let earlier = if reads_it { Earlier::default() } else { earlier::in_folder(&table, &[self.file()]) };
        let replaced = folder.replaces(extract::TABLE);
        folder.finish()?;
        let gone = earlier.clear(&table);
        let target = self.output().display().to_string();
        if replaced {
            let files = match gone {
                0 => String::new(),
                gone => format!(", and {} of it removed", counted(gone, "file")),
            };
            global.note(&format!("the `{}` that `{target}` held was replaced{files}", extract::TABLE));
        }
        if self.format == Form::Json {
            let path = self.file().display().to_string();
            return out.put(self.format, &Extracted { path: &path, folder: &target, images: &written });
        }
        global.note(&extracted::summary(&target, &written));
        Ok(())
    }

    /// Makes all parts of an image before the first is written, so that one that fails leaves none.
    fn image(&self, folder: &mut Folder, path: &str, stem: &str, image: &Examined<'_, '_>) -> Result<Written> {
        let names = Names::for_image(stem, image, self.stored);
        let code = extract::code(image, self.stored)?;
        let properties = extract::properties(image)?;
        folder.add(&names.code, &code)?;
        if let Some(name) = &names.properties {
            folder.add(name, properties.as_bytes())?;
        }
        if let Some(name) = &names.symbols {
            folder.add(name, extract::symbols(image).as_bytes())?;
        }
        Ok(Written { path: path.to_owned(), index: image.image.index, member: None, bytes: code.len() as u64, names })
    }
}

/// Writes those members of an image that are wanted, with the image's properties and entries; adds the names of all to
/// those that are known.
fn members(
    folder: &mut Folder,
    path: &str,
    stem: &str,
    image: &Examined<'_, '_>,
    (wanted, known): (&[Pattern], &mut BTreeSet<String>),
) -> Result<Vec<Written>> {
    let contents = image.image.contents()?;
    let arena = Arena::default();
    let mut written = Vec::new();
    for member in wanted_members(extract::members(&contents, image, &arena), wanted, known) {
        let names = Names::for_member(stem, image, &member);
        folder.add(&names.code, member.code)?;
        let bytes = member.code.len() as u64;
        written.push(Written {
            path: path.to_owned(),
            index: image.image.index,
            member: Some(member.label),
            bytes,
            names,
        });
    }
    if let Some(Written { names, .. }) = written.first() {
        if let Some(name) = &names.properties {
            folder.add(name, extract::properties(image)?.as_bytes())?;
        }
        if let Some(name) = &names.symbols {
            folder.add(name, extract::symbols(image).as_bytes())?;
        }
    }
    Ok(written)
}

/// Chooses among the members of an image.
fn wanted_members<'a>(
    mut members: Vec<Member<'a>>,
    wanted: &[Pattern],
    known: &mut BTreeSet<String>,
) -> Vec<Member<'a>> {
    known.extend(members.iter().map(|member| member.label.clone()));
    members.retain(|member| wanted.iter().any(|pattern| member.names.iter().any(|name| pattern.matches(name))));
    members
}

/// The files written so far.
#[derive(Default)]
struct Set {
    folder: Option<Folder>,
    written: Vec<Written>,
    stems: Stems,
    damaged: bool,
    /// Members that are wanted in place of whole images.
    members: Vec<Pattern>,
    /// Members that were seen.
    known: BTreeSet<String>,
}

impl Set {
    /// Keeps the one member that is to be streamed.
    fn one_member(&mut self, facts: &FileFacts<'_>, streamed: &mut Option<Vec<u8>>) -> Result<()> {
        for image in &facts.images {
            let contents = image.image.contents().context(|| format!("image {}", image.image.index))?;
            let arena = Arena::default();
            for member in wanted_members(extract::members(&contents, image, &arena), &self.members, &mut self.known) {
                if streamed.replace(member.code.to_vec()).is_some() {
                    let error = Error::new(ErrorKind::Usage, "several members do not fit one stream");
                    return Err(error.with_remedy("select one with `--image N` too, or name a folder with `-o`"));
                }
            }
        }
        Ok(())
    }

    /// Checks that members were found where such are wanted.
    fn check_members(&self, exit: Exit, found: bool) -> Result<()> {
        if self.members.is_empty() || found || exit != Exit::Done {
            return Ok(());
        }
        let error = Error::new(ErrorKind::NoMatch, "no member of an image matches `--member`");
        let known: Vec<&str> = self.known.iter().take(NAMED).map(String::as_str).collect();
        Err(error.with_remedy(match known.as_slice() {
            [] => "there is no native code".to_owned(),
            known => format!("there are {}", known.join(", ")),
        }))
    }
}

/// Members that an error names.
const NAMED: usize = 20;

fn one(facts: &FileFacts<'_>, stored: bool, streamed: &mut Option<Vec<u8>>) -> Result<()> {
    let before = usize::from(streamed.is_some());
    let ([image], None) = (facts.images.as_slice(), &streamed) else {
        let images = facts.images.len().saturating_add(before);
        let error = Error::new(ErrorKind::Usage, format!("{images} images do not fit one stream"));
        return Err(error.with_remedy("select one with `--image N`, or name a folder with `-o`"));
    };
    let code = extract::code(image, stored).context(|| format!("image {}", image.image.index))?;
    *streamed = Some(code.into_owned());
    Ok(())
}
