//! `wrap`: how do images get to a linker, a loader or another tool?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::selection::TargetSelection;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::emit;
use crate::files::gather::Wrapping;
use crate::files::table::Beside;
use std::path::PathBuf;

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
pub(crate) struct Args {
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
    pub(crate) fn run(self, global: &Global, _out: &mut Output) -> Result<Exit> {
        let form = self.form.form_of(&self.output)?;
        if (self.properties.is_some() || self.symbols.is_some()) && self.files.len() > 1 {
            let error =
                Error::new(ErrorKind::Usage, "--properties and --symbols are of one module, and there are several");
            return Err(error.with_remedy("put `.prop` and `.sym` files beside the modules, or write a table"));
        }
        let beside = Beside { properties: self.properties, symbols: self.symbols };
        let target = self.as_target.as_deref().map(|target| emit::known_target(global, target)).transpose()?;
        let selector = self.selection.selector()?;
        let (files, beside, target) = (self.files.as_slice(), Some(&beside), target.as_deref());
        Wrapping { files, selector: &selector, beside, target, form: &form, output: &self.output }.run(global)
    }
}
