//! `has`: is there a kernel bundle of a state, with these kernels, for these targets?

use super::global::Global;
use super::output::{ANSWER, Output, forms};
use super::selection::StateName;
use super::selection::{DeviceConfigs, LiveTargets};
use crate::error::{Exit, Result};
use crate::files::check::has;
use crate::report::document::Form;
use crate::report::gate::findings::spelled_targets;
use crate::report::has as page;
use crate::select::Pattern;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
As sycl::has_kernel_bundle<State>(context, devices, kernel_ids) answers: yes where each kernel
can be represented in a device image of the state and runs on one of the targets at least;
without --kernel, where one kernel is so. A kernel's image is of its own state and can become
what follows: SPIR-V is input, and what the device makes of it object and executable. A bundle
of input needs aspect::online_compiler of all targets, one of objects aspect::online_linker.
What is not known is `unknown`, which is no yes. Where code needs more than is recorded for its
image, the runtime says yes and throws at the launch; this says no. A name that no kernel has
is an error, as it is for get_kernel_id.

Examples:
  sycl-bundle has libfoo.so -t intel_gpu_pvc --kernel 'acme::solve<double>' && echo it runs
  sycl-bundle has libfoo.so -t spir64_x86_64 --state input --quiet
  sycl-bundle has app libfoo.so -t pvc,acm-g10 --kernel '*gemm*' --format json | jq .answer

Exit status:
  0  there is such a bundle
  1  there is none, or it is not known
  2  no kernel has a name that was given";

/// Tell by exit status whether there is a kernel bundle
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Executables, shared libraries, SPIR-V modules, packages and folders of these, as for `inspect`
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// The devices: targets, as `targets` lists them, in any spelling (repeatable)
    #[arg(
        short = 't',
        long = "target", visible_alias = "for",
        value_name = "TARGET,...",
        value_delimiter = ',',
        required_unless_present_any = ["schema", "devices"]
    )]
    targets: Vec<String>,
    /// The kernels, by mangled or demangled name; of a glob all that match (repeatable)
    #[arg(long, value_name = "NAME|GLOB")]
    kernel: Vec<String>,
    /// The state of the bundle
    #[arg(long, value_name = "STATE", default_value = "executable")]
    state: StateName,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    live: LiveTargets,
    /// The form of the output; with --quiet there is none
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(ANSWER))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        let mut table = self.configs.table(global)?;
        let mut spellings = self.targets.clone();
        spellings.extend(self.live.add(global, &mut table)?);
        let named = spelled_targets(global, &table, &spellings)?;
        let patterns = self.kernel.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
        let state = self.state.state();
        let (answered, exit) = has(global, &self.files, &named, &patterns, state)?;
        match answered {
            Some(answered) if !global.quiet => out.put(self.format, &answered)?,
            _ => {}
        }
        Ok(exit)
    }
}
