//! `join`: what is the union of several bundles?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::selection::TargetSelection;
use crate::error::{Exit, Result};
use crate::files::join::Joining;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
The union holds all images of all inputs, and copies of an image once: those of which payload,
format, model, target, options, entries and property sets are equal. Nothing is compiled or
linked. As for sycl::join, all images have to be in one state, and all inputs for the same
targets. `inspect --clones` lists what is equal but for its names, which stays.

--fold-clones makes one image of those that are the same code under other names and say the same
beside them. A runtime looks for a kernel by its name, so every name stays a kernel of that image:
a function that calls the one body. Less is stored; but the image is compiled as a whole when the
first of its kernels is needed, and a compiler that inlines the body does so for each. Images stay
as they are that import or export symbols, hold device globals or specialization constants, have
several kernels or none, are explicit SIMD, or hold debug information. What was folded is listed.

Examples:
  sycl-bundle join a.table b.table -o all.table
  sycl-bundle join liba.so libb.so --state input -o both.so
  sycl-bundle join debug.syclbin release.syclbin -o both.syclbin
  sycl-bundle join libfoo.so --state input --fold-clones -o fewer.table

Exit status:
  2  the inputs are in different states or for different targets";

/// Put the images of several files together, copies once
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Inputs, as `wrap` takes them; each is a bundle
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Make one image of SPIR-V images that are the same code under other names, with a kernel for each name
    #[arg(long)]
    fold_clones: bool,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, _out: &mut Output) -> Result<Exit> {
        let joining = Joining {
            files: &self.files,
            selector: &self.selection.selector()?,
            form: &self.form.form_for(&self.files, &self.output)?,
            output: &self.output,
            fold_clones: self.fold_clones,
            names: global.names(),
        };
        joining.run(global)
    }
}
