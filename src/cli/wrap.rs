//! `wrap`: how do images get to a linker, a loader or another tool?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::selection::TargetSelection;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::image::Image;
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::files::earlier::{self, Earlier};
use sycl_bundle::files::emit::{self, Emit, OutputForm};
use sycl_bundle::files::gather::gather;
use sycl_bundle::files::table::Beside;
use sycl_bundle::report::units::{bytes, counted};
use sycl_bundle::rewrite::extract::{self, Names};
use sycl_bundle::rewrite::prepare::{record_requirements, retarget};

const AFTER_HELP: &str = "\
Without --emit the form is told by the output's name: `.o` and `.obj` object, `.so` shared,
`.syclbin`, `.table`, `.spv`.

An object is added to the link of any host program, by any linker; it needs the SYCL runtime
beside it:
  g++ main.cpp kernels.o -l:libsycl.so.9

What a form cannot say is left out: a table, a SYCLBIN and modules have no options of the device
compiler, modules no property sets. An OffloadBinary holds property sets under a key of this
tool's own, and a bundle holds an image with more to it than its payload as an OffloadBinary. Of
a SYCLBIN, libsycl finds kernels that are free functions (named `__sycl_kernel_NAME`) as NAME,
and no others.

Examples:
  sycl-bundle wrap kernel.spv -o kernel.o
  sycl-bundle wrap images.table -o kernels.obj
  sycl-bundle wrap libfoo.so --kernel '*gemm*' -o gemm.syclbin
  sycl-bundle wrap kernel.bin.table --as-target intel_gpu_pvc -o libpvc.so
  sycl-bundle wrap a.spv b.spv --emit offload-binary -o kernels.bin

Exit status:
  1  no image matches what is selected
  3  an input cannot be read, or an image is damaged; the others are written all the same
  6  there is no device code";

/// Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// File tables, SPIR-V modules (with the `.prop` and `.sym` beside them), executables, libraries, objects,
    /// SYCLBIN, OffloadBinary and bundle files, packages and folders of these; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write; `-` is standard output. Of a table also a folder, which gets an `images.table`; of several
    /// bare modules a folder
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The property sets of a module, instead of those beside it
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// The entries of a module, one a line, instead of those beside it
    #[arg(long, value_name = "FILE")]
    symbols: Option<PathBuf>,
    /// Say that all images are for this target, whatever they were for: a name that the runtime compares
    /// (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)
    #[arg(long, value_name = "TARGET")]
    as_target: Option<String>,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global, _out: &mut Output) -> Result<Exit> {
        let form = self.form.form_of(&self.output)?;
        if (self.properties.is_some() || self.symbols.is_some()) && self.files.len() > 1 {
            let error =
                Error::new(ErrorKind::Usage, "--properties and --symbols are of one module, and there are several");
            return Err(error.with_remedy("put `.prop` and `.sym` files beside the modules, or write a table"));
        }
        let beside = Beside { properties: self.properties, symbols: self.symbols };
        let target = self.as_target.as_deref().map(|target| emit::known_target(global, target)).transpose()?;
        let arena = Arena::with_limit(u64::MAX);
        let inputs = Inputs { files: &self.files, selection: &self.selection, beside: Some(&beside) };
        inputs.write(global, &form, target.as_deref(), &self.output, &arena)
    }
}

/// Inputs that are written in another form.
pub struct Inputs<'w> {
    /// The inputs.
    pub files: &'w [PathBuf],
    /// The selection among their images.
    pub selection: &'w TargetSelection,
    /// The files that belong to a bare module.
    pub beside: Option<&'w Beside>,
}

impl Inputs<'_> {
    /// Reads the inputs and writes the selected images in a form.
    ///
    /// # Errors
    /// `Usage` where the output would replace an input; what cannot be read or written.
    pub fn write<'k>(
        &self,
        global: &Global,
        form: &OutputForm,
        target: Option<&'k str>,
        output: &Path,
        arena: &'k Arena,
    ) -> Result<Exit> {
        let in_folder = (form.emit == Emit::Table && output.is_dir()).then(|| output.join(extract::TABLE));
        let output = in_folder.as_deref().unwrap_or(output);
        emit::check_output(form, self.files, output)?;
        let mut gathered = gather(global, self.files, &self.selection.selector()?, self.beside, arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        if let Some(target) = target {
            gathered.images.iter_mut().try_for_each(|image| retarget(arena, image, target))?;
        }
        // The runtime reads these, and refuses by them.
        if matches!(form.emit, Emit::Object | Emit::Shared | Emit::Syclbin) {
            gathered.images.iter_mut().try_for_each(|image| record_requirements(arena, image))?;
        }
        let twice = twice(&gathered.images);
        if twice > 0 {
            let images = counted(twice, "image");
            global
                .note(&format!("{images} of the same code, target and entries as another: each is written as it came"));
        }
        let mut earlier = Earlier::default();
        if form.emit == Emit::Table {
            let (stem, _) = emit::stem_and_folder(output);
            let names: Vec<Names> =
                gathered.images.iter().map(|image| Names::for_prepared(&stem, image.index, image)).collect();
            let inputs: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
            earlier = earlier::check(names.iter().flat_map(Names::all), output, &inputs)?;
        }
        let images = counted(gathered.images.len(), "image");
        let total = emit::write(global, form, gathered.images, &gathered.origin, output)?;
        let _ = earlier.clear(output);
        global.note(&format!("{images}, {}, written to {} ({})", bytes(total), output.display(), form.emit.name()));
        Ok(gathered.exit)
    }
}

/// The number of images that say nothing that another one before them does not say.
fn twice(images: &[Image<'_>]) -> usize {
    let mut seen = HashSet::new();
    let said = images.iter().map(|image| (image.target, image.compile_target(), &image.entries, image.stored));
    said.filter(|said| !seen.insert(*said)).count()
}
