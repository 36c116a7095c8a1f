//! `split`: which images do the kernels of a module make?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::{self, Output};
use super::selection::DeviceConfigs;
use super::selection::TargetSelection;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::container::{Arena, Owner};
use sycl_bundle::demangle::demangle;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Exit, Reporter as _, Result};
use sycl_bundle::files::emit::{self, Emit};
use sycl_bundle::files::gather::gather_code;
use sycl_bundle::files::input::{Input, Spooled};
use sycl_bundle::files::linked::{Linked, Target};
use sycl_bundle::files::write::{cannot_write, folder_of, mode_of, write_atomically};
use sycl_bundle::report::document::Form;
use sycl_bundle::report::text::{bytes, counted};
use sycl_bundle::rewrite::image_data::{OutImage, out_image};
use sycl_bundle::rewrite::split::Spool;
use sycl_bundle::rewrite::split::units::{self, Fixed, Inputs};
use sycl_bundle::rewrite::split::{Mode, Options, split, split_indexed};
use sycl_bundle::select::Pattern;

const AFTER_HELP: &str = "\
per_kernel gives every kernel and every exported function an image. per_source and auto, which are
the same, keep those of one source together, off those of all; then kernels that need different
things of a device are separated: aspects that they use or declare, the required work-group size,
the required sub-group size. Only kernels that are fixed to the same targets (--fixed-targets),
and those of an --entry, stay together whatever they need.

An image of one compiler is one source: a module does not say which of its functions come from
which file. Images that import from each other are linked first, and each counts as a source.

An image lists what its code needs. Aspects that were recorded for the whole input and that no
code shows, such as those that a kernel declares and does not use, are listed for every image,
since nothing tells whose they are.

Images come in the order of the input. Those that hold no SPIR-V, and the device library, stay as
they are.

Examples:
  sycl-bundle split module.spv --mode per_kernel -o out.table
  sycl-bundle split a.spv b.spv --mode auto -o out.table
  sycl-bundle split a.spv --entry 'first,second' --entry '*third*' -o out.table
  sycl-bundle split libfoo.so --mode per_kernel --emit embed -o out/libfoo.so

Exit status:
  0  done
  1  no image matches what is selected
  2  a device global that each image has for itself would be in two
  3  an input cannot be read, or a module cannot be taken apart
  6  there is no device code";

/// Split SPIR-V images by kernel, source and requirements
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// SPIR-V modules (with the `.prop` and `.sym` beside them), file tables, executables, libraries, packages and folders
    /// of these; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write; of a table its parts lie beside it and are named after it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The mode of splitting
    #[arg(long, value_name = "MODE", default_value = "auto")]
    mode: ModeName,
    /// An image for the kernels and functions that match, by glob, mangled or demangled (repeatable); others follow the
    /// mode
    #[arg(long, value_name = "GLOB,...")]
    entry: Vec<String>,
    /// The targets of `-fsycl-fixed-targets`: of one input (`a.spv=intel_gpu_pvc,cpu`), or of all (repeatable). Of images
    /// that are fixed already the targets in both lists are left; without it they keep theirs
    #[arg(long, value_name = "[INPUT=]TARGET,...")]
    fixed_targets: Vec<String>,
    /// The generation of the runtime whose numbers aspects get; by default that of the input
    #[arg(long, value_name = "YEAR")]
    abi: Option<Abi>,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum ModeName {
    /// An image for each kernel and each exported function
    PerKernel,
    /// An image for each source and set of requirements
    PerSource,
    /// Another name of per_source
    Auto,
    /// An image for each set of requirements
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Abi {
    /// libsycl.so.6 to .8
    #[value(name = "2025")]
    Of2025,
    /// libsycl.so.9
    #[value(name = "2026")]
    Of2026,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        let emit = self.emit();
        let form = self.form.form(emit, &self.output)?;
        emit::check_output(&form, &self.files, &self.output)?;
        let table = self.configs.table(global)?;
        let fixed = Fixed::parse(&table, &self.fixed_targets, &self.files)?;
        let groups = self.groups()?;
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather_code(global, &self.files, &self.selection.selector()?, &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        let theirs = if gathered.origin.abi.is_some_and(|abi| abi < 9) { Epoch::From2023 } else { Epoch::From2026 };
        let epoch = match self.abi {
            Some(Abi::Of2025) => Epoch::From2023,
            Some(Abi::Of2026) => Epoch::From2026,
            None => theirs,
        };
        gathered.origin.abi = Some(if epoch == Epoch::From2026 { 9 } else { 8 });
        let mode = match self.mode {
            ModeName::PerKernel => Mode::PerKernel,
            ModeName::PerSource => Mode::PerSource,
            ModeName::Auto => Mode::Auto,
            ModeName::Off => Mode::Off,
        };
        let met: Vec<Cell<bool>> = groups.iter().flatten().map(|_| Cell::new(false)).collect();
        let explicit = |name: &str| {
            let plain = demangle(name);
            let matches = |glob: &Pattern| glob.matches(name) || glob.matches(&plain);
            for (glob, met) in groups.iter().flatten().zip(&met) {
                met.set(met.get() || matches(glob));
            }
            groups.iter().position(|group| group.iter().any(matches))
        };
        let spools = Spools::default();
        let options = Options {
            mode,
            explicit: &explicit,
            epoch,
            target_number: &|target| units::number_of(target, epoch),
            spool: &|size| open_spool(&self.output, size, &spools),
        };
        let mut made = Vec::new();
        let mut replaced = HashSet::new();
        let mut exit = gathered.exit;
        let inputs = Inputs { images: &gathered.images, labels: &gathered.labels, files: &gathered.files };
        let mut units = units::units(&arena, &inputs, mode, theirs, &fixed, emit == Emit::Embed)?;
        let several = units.len() > 1;
        for unit in &mut units {
            let index = unit.index.take();
            let outcome = match index {
                Some(index) => split_indexed(&arena, unit.input(), index, &options),
                None => split(&arena, unit.input(), &options),
            };
            let outcome = match outcome.context(|| unit.label.clone()) {
                Ok(outcome) => outcome,
                // One image that cannot be taken apart does not keep the others from it.
                Err(error) if error.kind() == ErrorKind::Input && several => {
                    exit = global.error(&error);
                    made.push(unit.image.clone());
                    continue;
                }
                Err(error) => return Err(error),
            };
            for warning in &outcome.warnings {
                let name = |name: &str| if global.demangle { demangle(name).into_owned() } else { name.to_owned() };
                output::say(&format!("warning: {}", warning.text(name)));
            }
            // Parts in the place of as many images would be those images again, and the file larger.
            if emit == Emit::Embed && mode == Mode::PerKernel && outcome.images.len() <= unit.replaces.len().max(1) {
                continue;
            }
            replaced.extend(unit.replaces.iter().copied());
            made.extend(outcome.images);
        }
        if let Some((glob, _)) = groups.iter().flatten().zip(&met).find(|(_, met)| !met.get()) {
            let message = format!("no kernel or exported function matches `--entry {}`", glob.text());
            return Err(Error::new(ErrorKind::NoMatch, message).with_remedy("`sycl-bundle kernels` lists the kernels"));
        }
        let from = counted(gathered.images.len(), "image");
        if emit == Emit::Embed && replaced.is_empty() && exit == Exit::Done {
            return self.copy(global);
        }
        if emit == Emit::Embed {
            return self.embed(global, (&made, &replaced), exit, out);
        }
        for (number, image) in made.iter_mut().enumerate() {
            image.index = number;
        }
        let images = counted(made.len(), "image");
        gathered.origin.spools = spools.take();
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(global, &form, made, &gathered.origin, &self.output, &paths)?;
        let (total, output) = (bytes(total), self.output.display());
        global.note(&format!("{images} of {from}, {total}, written to {output} ({})", form.emit.name()));
        Ok(exit)
    }

    /// The form that is asked for: by the output's name, or a table.
    fn emit(&self) -> Emit {
        self.form.emit.or(Emit::by_extension(&self.output)).unwrap_or(Emit::Table)
    }

    fn groups(&self) -> Result<Vec<Vec<Pattern>>> {
        let group = |text: &String| text.split(',').map(Pattern::new).collect::<Result<Vec<_>>>();
        self.entry.iter().map(group).collect()
    }

    /// Copies a file in which there is nothing to split.
    fn copy(&self, global: &Global) -> Result<Exit> {
        let Some(file) = self.files.first() else { return Ok(Exit::Done) };
        let input = Input::open(file).context(|| file.display().to_string())?;
        match self.output == Path::new("-") {
            true => global.binary(input.bytes())?,
            false => _ = write_atomically(&self.output, input.bytes(), mode_of(file))?,
        }
        global.note("each image has one kernel already: the output is the file as it is");
        Ok(Exit::Done)
    }

    /// Puts the new images in the place of the old ones.
    fn embed(
        &self,
        global: &Global,
        (made, replaced): (&[Image<'_>], &HashSet<usize>),
        exit: Exit,
        out: &mut Output,
    ) -> Result<Exit> {
        let [file] = self.files.as_slice() else {
            let error = Error::new(ErrorKind::Usage, "images go back into one linked file, and there are several");
            return Err(error.with_remedy("split one file at a time, or choose another --emit"));
        };
        let target = Target { output: self.output.clone(), in_place: false, drop_signature: false, keep_layout: false };
        let linked = Linked::open(file, &target)?;
        let new: Vec<OutImage<'_>> =
            made.iter().filter(|image| image.format() == Format::SpirV).map(out_image).collect();
        let (edited, done) = linked.edit(global, &target, replaced, &new, true)?;
        out.put(Form::Text, &edited)?;
        Ok(if done == Exit::Done { exit } else { done })
    }
}

/// Modules of fewer bytes stay in memory.
const LARGE: u64 = 4 << 20;

/// The files of all large modules.
pub type Spools = RefCell<Vec<Spooled>>;

/// A file without a name, on the disk of the output.
struct Unnamed<'p> {
    output: &'p Path,
    spools: &'p Spools,
    file: BufWriter<File>,
}

impl Spool for Unnamed<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| cannot_write(self.output, &error))
    }

    fn finish(self: Box<Self>) -> Result<Owner> {
        let file = self.file.into_inner().map_err(|error| cannot_write(self.output, error.error()))?;
        let spooled = Spooled::new(&file)?;
        self.spools.borrow_mut().push(spooled.clone());
        Ok(Box::new(spooled))
    }
}

/// Opens a file for the images of a module of so many bytes, where it is large; it is among `spools` when it is full.
pub fn open_spool<'p>(output: &'p Path, size: u64, spools: &'p Spools) -> Result<Option<Box<dyn Spool + 'p>>> {
    if size < LARGE {
        return Ok(None);
    }
    // Devices and streams have no disk of their own.
    let streams = output == Path::new("-") || output.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
    let folder = if streams { std::env::temp_dir() } else { folder_of(output).to_path_buf() };
    // Without one, images wait in memory: whether the output can be written shows when it is.
    let Ok(file) = tempfile::tempfile_in(folder) else { return Ok(None) };
    Ok(Some(Box::new(Unnamed { output, spools, file: BufWriter::new(file) })))
}
