//! `link`: how do images that need each other become one that needs nothing?

use super::compile::CompilerArgs;
use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::selection::DeviceConfigs;
use super::selection::Selection;
use super::worker::OfflineArgs;
use crate::error::{Exit, Result};
use crate::files::emit::Emit;
use crate::files::link::Linking;
use crate::report::document::Form;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
All selected images become one: imports get the definitions that other images export, types and
constants are merged, of definitions that may be linked once one is kept. Property sets are merged
as the SYCL runtime merges them; what holds for a whole image (options, required sizes,
optimisation level) has to be equal. The result is SPIR-V in state `input`.

With --for the objects that `compile` made for these targets become executables, one for each
target, with --each one for every image with kernels: by Intel's CPU driver (clLinkProgram), for
Intel GPUs by this linker and ocloc. Copies of images count once, and objects for other targets are
left out. --link-options come after those of the objects.

With --each every image with imports is linked with the images that define them, and the others
stay as they are. Of linked files, wheels and folders -o FOLDER or --emit embed writes copies, in
which such images are replaced.

Examples:
  sycl-bundle link a.spv b.spv -o whole.spv
  sycl-bundle link libfoo.so --kernel '*gemm*' -o gemm.table
  sycl-bundle link libmkl_sycl_vm.so.6 --each -o complete.so
  sycl-bundle link foo-1.0-cp311-cp311-linux_x86_64.whl --each -o out/
  sycl-bundle link a.spv b.spv --partial -o library.spv
  sycl-bundle link objects.table --for spir64_x86_64 -o executable.table
  sycl-bundle link objects.table --for spir64_x86_64,pvc --link-options -cl-mad-enable -o all.table

Exit status:
  0  done
  1  copies were to be written, and no image imports anything
  2  the images cannot be one: of different targets, states or options
  3  an input cannot be read, or holds what cannot be linked
  4  something is defined twice, or nowhere, or of another type; images contradict each other";

/// Link SPIR-V images: resolve what they import from each other
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// SPIR-V modules (with the `.prop` and `.sym` beside them), file tables, executables, libraries, packages and folders
    /// of these; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write, or the folder for copies; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Link each image that imports something with the images that define it
    #[arg(long)]
    each: bool,
    /// Remove the signature of a Windows file, which would be wrong in a copy
    #[arg(long, requires = "each")]
    drop_signature: bool,
    /// Leave imports open that nothing defines
    #[arg(long)]
    partial: bool,
    /// Export nothing from the result
    #[arg(long, conflicts_with = "each")]
    internalize: bool,
    /// Link objects, as `compile` makes them, to executables of these targets: spir64_x86_64 and Intel GPUs
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET", value_delimiter = ',', conflicts_with_all = ["partial", "internalize"])]
    targets: Vec<String>,
    /// Options of the device's linker, after those that the objects have
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "targets")]
    link_options: Option<String>,
    /// Give the compilers every option that an object states; by default only those known to be harmless
    #[arg(long, requires = "targets")]
    trust_options: bool,
    /// Intel's offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc
    #[arg(long, value_name = "FILE", requires = "targets")]
    ocloc: Option<PathBuf>,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        let copies = self.each && self.targets.is_empty() && self.form.emits_copies(&self.files, &self.output);
        let form = if copies {
            self.form.form(Emit::Embed, &self.output)?
        } else {
            self.form.form_for(&self.files, &self.output)?
        };
        let wanted = if self.targets.is_empty() {
            self.compiler.refuse()?;
            Vec::new()
        } else {
            self.compiler.targets(global, &self.configs, &self.targets)?
        };
        let offline = OfflineArgs { ocloc: self.ocloc.clone(), ..OfflineArgs::default() };
        let linking = Linking {
            files: &self.files,
            selector: &self.selection.selector()?,
            form: &form,
            output: &self.output,
            each: self.each,
            drop_signature: self.drop_signature,
            partial: self.partial,
            internalize: self.internalize,
            link_options: self.link_options.as_deref().unwrap_or_default(),
            trust_options: self.trust_options,
            compiler: &self.compiler.start(global, &offline),
        };
        if !copies {
            return linking.run(global, wanted);
        }
        let (edited, exit) = linking.copies(global)?;
        out.put(Form::Text, &edited)?;
        Ok(exit)
    }
}
