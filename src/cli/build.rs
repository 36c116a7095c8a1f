//! `build`: how does a binary get native code for known devices?

pub mod compile;
mod depend;
pub mod draft;
mod form;
mod help;
mod identity;
mod natives;
mod pace;
mod planned;
mod plans;
mod recipe;
mod record;
mod run;
mod shard;
mod targets;
mod told;
pub mod watch;

use super::device_config::DeviceConfigs;
use super::driver::InstallArgs;
use super::emit::EmitArgs;
use super::format::Summary;
use super::selection::Selection;
use depend::DependArgs;
use draft::Draft;
use pace::PaceArgs;
use recipe::RecipeArgs;
use record::RecordArgs;
use shard::Shard;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Compile images ahead of time and put the native code where the SYCL runtime finds it
#[derive(Debug, clap::Args)]
#[command(after_help = help::AFTER_HELP)]
pub struct Args {
    /// A linked executable or shared library, or SPIR-V modules and file tables; `-` is standard input
    #[arg(required_unless_present_any = ["example_policy", "schema", "report_schema"])]
    files: Vec<PathBuf>,
    /// What to compile for; by default what `targets` under [build] of sycl-bundle.toml names
    #[arg(short = 't', long = "for", value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    /// A live OpenCL device to compile for by its own driver: its number, kind (cpu, gpu) or a part of its name, as
    /// `devices` lists them
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<String>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["in_place", "shard", "cache_only", "example_policy", "schema", "report_schema"])]
    output: Option<PathBuf>,
    /// Write the copy in place of the linked file itself; `prune --drop` takes the native code out again
    #[arg(long, conflicts_with_all = ["output", "emit", "shard"])]
    in_place: bool,
    /// The instruction set of native CPU code, by the names of opencl-aot; by default avx2
    #[arg(long, value_name = "NAME")]
    march: Option<String>,
    /// Intel's offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc
    #[arg(long, value_name = "FILE")]
    ocloc: Option<PathBuf>,
    /// Write nothing, and fail, unless all selected images become native for all targets
    #[arg(long)]
    all_or_nothing: bool,
    /// Leave out the SPIR-V of images that have native code for every target that can run them, and that no other image
    /// imports from: their kernels then run on the targets' devices and on no other, not through another driver's
    /// just-in-time compiler either
    #[arg(long)]
    no_spirv: bool,
    /// How many worker processes; by default as many as there are cores
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one image may take in one attempt
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = pace::seconds)]
    timeout: Duration,
    /// How to show what was done
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Summary,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    /// Do not look into the cache, and keep nothing there
    #[arg(long, help_heading = "Build systems")]
    no_cache: bool,
    /// Compile every image, also those that are the same code as another but for the kernel's name
    #[arg(long, help_heading = "Build systems")]
    no_fold: bool,
    /// Compile one of N parts of the images into the cache and write no output: 1/4 to 4/4, on as many machines as
    /// share the folder; a run without it then writes the output
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, conflicts_with_all = ["no_cache", "output", "stamp", "depend", "file"],
          help_heading = "Build systems")]
    shard: Option<Shard>,
    /// Say what would be compiled, and write no output
    #[arg(long, help_heading = "Build systems")]
    dry_run: bool,
    /// Write this empty file when all is done and nothing failed: an output that did not change keeps its time
    #[arg(long, value_name = "FILE", help_heading = "Build systems")]
    stamp: Option<PathBuf>,
    #[command(flatten)]
    depend: DependArgs,
    #[command(flatten)]
    pace: PaceArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[arg(skip)]
    draft: Option<Draft>,
    #[command(flatten)]
    install: InstallArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    form: EmitArgs,
    #[command(flatten)]
    selection: Selection,
}
