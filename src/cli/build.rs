//! `build`: how does a binary get native code for known devices?

pub mod compile;
pub mod draft;
mod pace;
mod plans;
mod recipe;
mod record;
mod run;
mod summary;
mod targets;
pub mod watch;

use super::device_config::DeviceConfigs;
use super::driver::InstallArgs;
use super::emit::EmitArgs;
use super::selection::Selection;
use super::worker::OfflineArgs;
use crate::cli::build::record::DependArgs;
use crate::cli::global::Summary;
use draft::Draft;
use pace::{PaceArgs, Shard};
use recipe::RecipeArgs;
use record::RecordArgs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Compile images ahead of time and put the native code where the SYCL runtime finds it
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Linked executables and shared libraries, wheels, folders; or SPIR-V modules and file tables; `-` is standard input
    #[arg(required_unless_present_any = ["example_policy", "schema", "report_schema"])]
    files: Vec<PathBuf>,
    /// The targets to compile for; by default those of `targets` under [build] of sycl-bundle.toml
    #[arg(short = 't', long = "for", value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    /// A live OpenCL device to compile for by its own driver: its number, kind (cpu, gpu) or a part of its name, as
    /// `devices` lists them
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<String>,
    /// The file to write, or the folder for a wheel and for several libraries; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["in_place", "shard", "cache_only", "dry_run", "example_policy", "schema", "report_schema"])]
    output: Option<PathBuf>,
    /// Write the copies in place of the files themselves; `prune --restore` takes the native code out again
    #[arg(long, conflicts_with_all = ["output", "emit", "shard"])]
    in_place: bool,
    /// The instruction set of native CPU code, by the names of opencl-aot; by default avx2
    #[arg(long, value_name = "NAME")]
    march: Option<String>,
    #[command(flatten)]
    offline: OfflineArgs,
    /// Put PTX of the newest of the NVIDIA GPUs named beside their code, which the driver compiles for newer ones
    #[arg(long)]
    ptx: bool,
    /// Write nothing, and fail, unless all selected images become native for all targets
    #[arg(long)]
    all_or_nothing: bool,
    /// Leave out the SPIR-V of images that have native code for every target that can run them, and that no other image
    /// imports from: their kernels then run on the targets' devices and on no other, not through another driver's
    /// just-in-time compiler either
    #[arg(long)]
    no_spirv: bool,
    /// The number of worker processes; by default as many as there are cores
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one image may take in one attempt
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = pace::seconds)]
    timeout: Duration,
    /// The form of the summary
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

/// The text.
const AFTER_HELP: &str = "\
Every SPIR-V image is compiled for every target, each with its own options: for spir64_x86_64 by
Intel's OpenCL CPU driver, for Intel GPUs (intel_gpu_pvc, acm-g10, a family such as dg2, a range
such as dg1:acm-g12, in any spelling of `targets`) by Intel's offline compiler ocloc, for NVIDIA
GPUs (nvidia_gpu_sm_90) by LLVM and CUDA's ptxas, for a --device by its own driver. A family or
range is all of its members. The work is done in worker processes: an image that kills a compiler
or makes it hang fails alone, after two more attempts. A binary counts where it is one, holds all
kernels of its image, and (of OpenCL drivers) is taken back by its driver.

Wheels, folders and several libraries are built one by one, with one pool of workers: -o names a
folder (or the new wheel), --in-place changes them where they are. A wheel is packed again.

What a target cannot run (by `check` and `filter`) is skipped, and what must stay SPIR-V (imported
symbols that no other image defines, specialization constants without values; for CPUs also
explicit SIMD, requirements no CPU meets) or does not build stays; both are named. SPIR-V stays
beside native code, for other devices, unless --no-spirv says otherwise.

Native code has one value of each specialization constant: what --spec, --spec-id or a rule says,
or with --spec-defaults its default, and its property sets say so. A program that sets a constant,
or launches a kernel that takes a kernel_handler, gets SPIR-V all the same; executable kernel
bundles, and with --no-spirv every launch, get the native code, whatever the program sets.

Table [build] of sycl-bundle.toml (--example-policy prints one) gives targets, options and values
to all images, and by rules to some: by kernel, number and target. The command line comes last.

Native images of GPUs are tagged spir64_gen and name their GPU (compile_target), by which libsycl
tells GPUs apart; runtimes of early 2024 do not look at the name, and hand them to any Intel GPU.
Building again replaces the images of the same targets and keeps those of others.

Images of NVIDIA GPUs are tagged nvptx64. Several of these GPUs share one image, a fat binary, as
the runtime does not tell them apart (-t nvidia_gpu_sm_80,nvidia_gpu_sm_90 --ptx). What cannot be
made for them (explicit SIMD, Intel's inline assembly, sub-groups of other than 32) stays SPIR-V.
LLVM 15 or newer with clang, llvm-spirv and libclc, and CUDA's ptxas and libdevice are found in
PATH and where distributions put them, or by --llvm and --cuda; `doctor` lists them.

What was compiled before, with the same options by the same compiler, comes out of a cache
(`sycl-bundle cache --help`). Under `make -j` no more modules are compiled at once than make
allows. Ctrl-C keeps what is compiled; the same command goes on.

CPU images that are the same code but for the name of their one kernel are compiled once, and the
native code gets each name in turn: byte for byte what the driver makes. The names must be of one
length. --dry-run says how many these are, and which others cannot be renamed so, and why.

An image that does not build does not keep the others from being compiled, as by `make -k`;
--fail-fast ends the build there. --max-memory bounds how many large modules are compiled at once.
--save-temps, --report and --time-trace keep what went in and came out, what it took, and when.

Native CPU code is for one instruction set, by default avx2: the driver refuses code for a newer
set than the machine's, and all libraries of a process must have the same set.

Without --emit the form is told by the output's name (`.o` object, `.syclbin`, `.table`, of modules
`.so` shared); else it is `embed` for a linked ELF file and `table` for modules. Of a linked file,
an object or library holds the native images alone, since the file registers the others.

Examples:
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 -t intel_gpu_pvc -t dg2 --compress -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --emit shared -o libfoo-native.so
  sycl-bundle build a.spv b.spv -t pvc --all-or-nothing -o kernels.table
  sycl-bundle build libfoo.so --device gpu -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --spec block=64 --spec-defaults -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so --install-driver
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so -MD --stamp out/libfoo.stamp
  sycl-bundle build foo-1.0-cp311-cp311-linux_x86_64.whl -t spir64_x86_64,pvc -o out/
  sycl-bundle build site-packages/foo -t spir64_x86_64 --in-place
  sycl-bundle build libfoo.so -t spir64_x86_64 --shard 1/8
  sycl-bundle build libfoo.so -t pvc -o out/libfoo.so --report out.json --time-trace trace.json

Exit status:
  0  done
  3  the input cannot be read, or images in it are damaged
  4  some image did not build; all others are compiled, the output is written, and the image is in
     it as SPIR-V (with --all-or-nothing or --fail-fast nothing is written)
  5  there is no driver, device or ocloc, or ocloc does not know a target
  6  there is no device code; with --emit shared, also where none of it can be native";
