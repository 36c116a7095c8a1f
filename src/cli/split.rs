//! `split`: which images do the kernels of a module make?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::{self, Output};
use super::selection::{DeviceConfigs, TargetSelection};
use crate::bundle::aspect::Epoch;
use crate::demangle::demangle;
use crate::error::{Exit, Result};
use crate::files::emit::{self, Emit, table_place};
use crate::files::split::Splitting;
use crate::report::document::Form;
use crate::rewrite::split::Mode;
use crate::rewrite::split::units::Fixed;
use crate::select::Pattern;
use crate::temporary::system_folder;
use std::path::PathBuf;

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
pub(crate) struct Args {
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
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        let emit = self.form.emit.or(Emit::by_extension(&self.output)).unwrap_or(Emit::Table);
        let output = table_place(emit, &self.output);
        let form = self.form.form(emit, &output)?;
        emit::check_output(&form, &self.files, &output)?;
        let table = self.configs.table(global)?;
        let group = |text: &String| text.split(',').map(Pattern::new).collect::<Result<Vec<_>>>();
        let splitting = Splitting {
            files: &self.files,
            fixed: &Fixed::parse(&table, &self.fixed_targets, &self.files)?,
            groups: &self.entry.iter().map(group).collect::<Result<Vec<_>>>()?,
            selector: &self.selection.selector()?,
            form: &form,
            output: &output,
            scratch: &system_folder(),
            mode: match self.mode {
                ModeName::PerKernel => Mode::PerKernel,
                ModeName::PerSource => Mode::PerSource,
                ModeName::Auto => Mode::Auto,
                ModeName::Off => Mode::Off,
            },
            epoch: self.abi.map(|abi| match abi {
                Abi::Of2025 => Epoch::From2023,
                Abi::Of2026 => Epoch::From2026,
            }),
            warn: &|warning| {
                let name = |name: &str| if global.demangle { demangle(name).into_owned() } else { name.to_owned() };
                output::say(&format!("warning: {}", warning.text(name)));
            },
        };
        let (edited, exit) = splitting.run(global)?;
        edited.map_or(Ok(()), |edited| out.put(Form::Text, &edited))?;
        Ok(exit)
    }
}
