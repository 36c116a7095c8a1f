//! `build`: how does a binary get native code for known devices?

mod run;

use super::driver::InstallArgs;
use super::emit::EmitArgs;
use super::global::Global;
use super::output::{Output, SUMMARY, forms, say};
use super::policy_file::PolicyFile;
use super::selection::{DeviceConfigs, Selection};
use super::worker::OfflineArgs;
use crate::build::archive::ArchiveForm;
use crate::build::commands::{self, Draft};
use crate::build::compile::{CompileResults, Shard};
use crate::build::plans::Recipes;
use crate::bundle::spec_constants::Setting;
use crate::device::table::TargetTable;
use crate::device::yaml::Place;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::build::Only;
use crate::files::sources::{Files, place_of, spare_opened_by};
use crate::files::write::{below, write_atomically};
use crate::policy::rules::{Rule, RuleSettings, Rules};
use crate::report::batch::Batch;
use crate::report::costs::{self, Temps, Trace, Watch};
use crate::report::document::Form;
use crate::report::text::documented;
use crate::temporary::make_folder;
pub(crate) use run::{engine, settings};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compile images ahead of time and put the native code where the SYCL runtime finds it
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Linked executables and shared libraries, wheels, folders; or SPIR-V modules and file tables; `-` is standard input
    #[arg(required_unless_present_any = ["example_policy", "schema", "report_schema"])]
    files: Vec<PathBuf>,
    /// The targets to compile for; by default those of `targets` under [build] of sycl-bundle.toml
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET", value_delimiter = ',')]
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
    /// The instruction set of native CPU code, by the names of opencl-aot, or native; by default avx2
    #[arg(long, value_name = "NAME")]
    march: Option<String>,
    #[command(flatten)]
    offline: OfflineArgs,
    /// The folder of SYCL's device library, for Intel GPUs: libsycl-fallback-*.spv of a runtime before 2026, of which images of
    /// that time get what they call; by default the folders of runtimes that `doctor` lists
    #[arg(long, value_name = "DIR")]
    device_library: Option<PathBuf>,
    /// Put PTX of the newest of the NVIDIA GPUs named beside their code, which the driver compiles for newer ones
    #[arg(long)]
    ptx: bool,
    /// Put the code for all Intel GPUs named into one archive per image, as ocloc -device A,B does; with `=ir` the SPIR-V
    /// too, from which the driver compiles for every other Intel GPU
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "native", value_parser = ArchiveForm::parse)]
    archive: Option<ArchiveForm>,
    /// Compile once for GPUs of which the driver takes one's code on another, where both are named: bmg-g21's on bmg-g31 and
    /// lnl-m, acm-g10's on acm-g11 and acm-g12, mtl-u's on mtl-h, ptl-h's on ptl-u
    #[arg(long)]
    share_code: bool,
    /// Write nothing, and fail, unless all selected images become native for all targets
    #[arg(long)]
    all_or_nothing: bool,
    /// Compile nothing: take the code that the drivers made while `record` wrote the --profile. Without -t for the CPU and
    /// the GPUs that it is for; other images stay SPIR-V
    #[arg(long, requires = "profile", conflicts_with_all = ["shard", "cache_only"])]
    harvest: bool,
    /// Leave out the SPIR-V of images that have native code for every target that can run them, and that export and
    /// import nothing: their kernels then run on the targets' devices and on no other, not through another driver's
    /// just-in-time compiler either
    #[arg(long)]
    no_spirv: bool,
    /// The number of worker processes; by default as many as there are cores
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one image may take in one attempt, and that a driver may before the first: of the processor's time, so
    /// longer where the machine is busy; of the clock's where the compiler does nothing
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    timeout: Duration,
    /// The form of the summary
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = forms(SUMMARY))]
    format: Form,
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
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with_all = ["no_cache", "output", "stamp", "depend", "file"],
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
    /// A plan to write in place of the output, and the file to write it to.
    #[arg(skip)]
    draft: Option<(Draft, Option<PathBuf>)>,
    #[command(flatten)]
    install: InstallArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    form: EmitArgs,
    /// Remove the signature of a Windows file that gets native code, which would be wrong then
    #[arg(long, help_heading = "Form of the output")]
    drop_signature: bool,
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

With --profile (`sycl-bundle record --help`) only the images that a program compiled just in time
are compiled; without -t for the devices that it ran on. --harvest takes what the driver made of
them then, where it is of the same modules and options, for the target, and has all kernels.

What a target cannot run (by `check` and `filter`) is skipped, and what must stay SPIR-V (imported
symbols that no other image defines, specialization constants without values, virtual functions,
but for NVIDIA GPUs device globals with device_image_scope; for CPUs also explicit SIMD,
requirements no CPU meets) or does not build stays; both are named. SPIR-V stays beside native
code, for other devices, unless --no-spirv says otherwise.

Native code has one value of each specialization constant: what --spec, --spec-id or a rule says,
or with --spec-defaults its default, and its property sets say so. A program that sets a constant,
or launches a kernel that takes a kernel_handler, gets SPIR-V all the same; executable kernel
bundles, and with --no-spirv every launch, get the native code, whatever the program sets.

Table [build] of sycl-bundle.toml (--example-policy prints one) gives targets, options and values
to all images, and by rules to some: by kernel, number and target. The command line comes last.

Native images of GPUs are tagged spir64_gen and name their GPU (compile_target), by which libsycl
tells GPUs apart; runtimes of early 2024 do not look at the name, and hand them to any Intel GPU.
Building again replaces the images of the same targets and keeps those of others.

With --archive the code of an image for several Intel GPUs is one archive, listed once for each of
them and, in a linked file, stored once: executable kernel bundles work on all of them, since the
driver finds its GPU's code in each. With --archive=ir it holds the SPIR-V too and is listed once
for all Intel GPUs: the driver compiles that for GPUs without code, so that --no-spirv leaves these
GPUs working.

Images of NVIDIA GPUs are tagged nvptx64. Several of these GPUs share one image, a fat binary, as
the runtime does not tell them apart (-t nvidia_gpu_sm_80,nvidia_gpu_sm_90 --ptx). What cannot be
made for them (explicit SIMD, Intel's inline assembly, sub-groups of other than 32) stays SPIR-V.
LLVM 15 or newer with clang, llvm-spirv and libclc, and CUDA's ptxas and libdevice are found in
PATH and where distributions put them, or by --llvm and --cuda; `doctor` lists them.

What was compiled before, with the same options by the same compiler, comes out of a cache
(`sycl-bundle cache --help`). Under `make -j` no more modules are compiled at once than make
allows. Ctrl-C keeps what is compiled; the same command goes on.

Images that are the same code but for the name of their one kernel are compiled once by Intel's CPU
driver and by ocloc, and the native code gets each name in turn: byte for byte what the compiler
makes. The names must be of one length. --dry-run says how many these are, and which others cannot
be renamed so, and why.

An image that does not build does not keep the others from being compiled, as by `make -k`;
--fail-fast ends the build there. --max-memory bounds how many large modules are compiled at once,
and what the program itself takes.
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
  sycl-bundle build libfoo.so -t pvc,bmg-g21,acm-g10 --archive -o out/libfoo.so
  sycl-bundle build libfoo.so --device gpu -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --spec block=64 --spec-defaults -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so --install-driver
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so -MD --stamp out/libfoo.stamp
  sycl-bundle build foo-1.0-cp311-cp311-linux_x86_64.whl -t spir64_x86_64,pvc -o out/
  sycl-bundle build site-packages/foo -t spir64_x86_64 --in-place
  sycl-bundle build foo-1.0-cp311-cp311-linux_x86_64.whl --profile app.profile --harvest -o out/
  sycl-bundle build libfoo.so -t spir64_x86_64 --shard 1/8
  sycl-bundle build libfoo.so -t pvc -o out/libfoo.so --report out.json --time-trace trace.json

Exit status:
  0  done
  3  the input cannot be read, or images in it are damaged
  4  some image did not build; all others are compiled, the output is written, and the image is in
     it as SPIR-V (with --all-or-nothing or --fail-fast nothing is written)
  5  there is no driver, device or ocloc, or ocloc does not know a target
  6  there is no device code; with --emit shared, also where none of it can be native";

/// Limits of a build.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Build systems")]
pub(crate) struct PaceArgs {
    /// Begin no further image once one did not build, and write nothing; by default all others are compiled
    #[arg(long, overrides_with = "keep_going")]
    pub(crate) fail_fast: bool,
    /// Compile all others where an image does not build: the default, which undoes --fail-fast
    #[arg(long, overrides_with = "fail_fast")]
    keep_going: bool,
    /// The number of further attempts after one that ended the driver's process; by default 2. A repeated command tries
    /// failed images again
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Compile into the cache and write no output
    #[arg(long, conflicts_with_all = ["no_cache", "shard", "depend", "file", "dry_run"])]
    pub(crate) cache_only: bool,
    /// With --cache-only: this image for this target alone, as `plan` writes it (12:intel_gpu_pvc)
    #[arg(long, value_name = "N:TARGET", requires = "cache_only", value_parser = Only::parse)]
    pub(crate) unit: Option<Only>,
}

impl PaceArgs {
    /// The part of the work that this run compiles into the cache: all of it, where no shard is asked for.
    pub(crate) fn shard(&self) -> Option<Shard> {
        self.cache_only.then_some(Shard { index: 0, count: 1 })
    }
}

/// A time that is not nothing.
///
/// # Errors
/// A sentence for clap.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let parsed = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| "a number of seconds greater than 0".to_owned())
}

/// Reads `I/N`, I from 1 to N.
///
/// # Errors
/// A sentence for clap.
fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    match parts {
        Some((index @ 1.., count)) if index <= count => Ok(Shard { index: index - 1, count }),
        _ => Err("the number of a part and of all parts: 1/4 to 4/4".to_owned()),
    }
}

/// The recipe's options on the command line.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How to compile")]
pub(crate) struct RecipeArgs {
    /// Options of the device's compiler, after those that the images have
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    options: Option<String>,
    /// Options of the device's linker, likewise
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    link_options: Option<String>,
    /// Give a specialization constant its value, by its name in the source; a composite takes a list: 1.5,7 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = |text: &str| Setting::parse_named(text).map_err(|error| error.to_string()))]
    spec: Vec<Setting>,
    /// Set a specialization constant by the number that the module has for it (repeatable)
    #[arg(long, value_name = "ID=VALUE", value_parser = |text: &str| Setting::parse_id(text).map_err(|error| error.to_string()))]
    spec_id: Vec<Setting>,
    /// Give specialization constants that nothing else sets their defaults; without, images with such constants stay SPIR-V
    #[arg(long)]
    spec_defaults: bool,
    /// Give the compilers every option that an image, or a sycl-bundle.toml that was found, states; by default only those
    /// known to be harmless: others have a compiler write files where they say
    #[arg(long)]
    trust_options: bool,
    /// Take the calls out that tracing tools hook into (__itt_offload_*), and their switch
    #[arg(long)]
    strip_itt: bool,
    /// Compile by the rules of this file; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Compile by no file's rules
    #[arg(long, conflicts_with = "policy")]
    no_policy: bool,
    /// Print rules that use every key, and end
    #[arg(long)]
    pub(crate) example_policy: bool,
}

impl RecipeArgs {
    /// The rules that hold.
    ///
    /// # Errors
    /// The last thing that is wrong with the file, after those before it have been said.
    pub(crate) fn load(&self, global: &Global, targets: &TargetTable) -> Result<Recipes> {
        let file = if self.no_policy { None } else { PolicyFile::open(self.policy.as_deref())? };
        let mut rules = Rules::default();
        if let Some(file) = file {
            let text = file.text();
            if let Some(found) = file.read(global, Rules::read(&file.name, text, targets))? {
                file.announce(global);
                rules = found;
                if !file.found || self.trust_options {
                    rules.trust_file();
                }
            }
        }
        rules.trust_images = self.trust_options;
        let own = rules.rules.len();
        let given: Vec<Setting> = self.spec.iter().chain(&self.spec_id).cloned().collect();
        let wanted = RuleSettings {
            options: self.options.clone().unwrap_or_default(),
            link_options: self.link_options.clone().unwrap_or_default(),
            trusted: true,
            constants: given,
            defaults: self.spec_defaults.then_some(true),
            strip_itt: self.strip_itt.then_some(true),
            ..RuleSettings::default()
        };
        let place = Place { line: 0, column: 0 };
        rules.rules.push(Rule {
            place,
            kernels: Vec::new(),
            images: Vec::new(),
            targets: Vec::new(),
            settings: wanted,
        });
        Ok(Recipes { rules, own, ..Recipes::default() })
    }
}

/// Files beside the output.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Records")]
pub(crate) struct RecordArgs {
    /// Keep in this folder of each image and target the module that the compiler gets (.spv, with .1.spv and so on for
    /// what it is linked with), its options (.opts), its binary (.bin) and what the compiler said (.log), by the number
    /// of the image and the name of the target: 12.intel_gpu_pvc.spv
    #[arg(long, value_name = "DIR")]
    save_temps: Option<PathBuf>,
    /// Write as JSON what each image took to compile, and what each of its native kernels takes: registers, SIMD width,
    /// spills, memory, barriers
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the JSON schema of --report, and end
    #[arg(long)]
    pub(crate) report_schema: bool,
    /// Write which worker compiled which image when, for chrome://tracing or ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    time_trace: Option<PathBuf>,
}

impl RecordArgs {
    /// The files that are written, with their options.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [("--report", self.report.as_deref()), ("--time-trace", self.time_trace.as_deref())];
        all.into_iter().filter_map(|(option, file)| Some((option, file?)))
    }

    /// Prints the schema.
    ///
    /// # Errors
    /// `Io` where standard output is closed.
    pub(crate) fn print_schema(out: &mut Output) -> Result<Exit> {
        out.schema(&costs::schema())
    }

    /// Looks on as far as these ask for it, and replaces none of the files that are written besides.
    ///
    /// # Errors
    /// `Environment` where the folder cannot be made.
    pub(crate) fn watch<'w>(&self, batch: &'w Batch<'_, '_>, written: &[&Path]) -> Result<Watch<'w>> {
        let temps = self.save_temps.as_ref().map(|folder| {
            let folder = place_of(folder)?;
            make_folder(&folder).map_err(|error| {
                Error::new(ErrorKind::Environment, format!("cannot make `{}`: {error}", folder.display()))
            })?;
            // Found once the folder is there.
            let written = Files::new(written.iter().copied());
            let spare = move |path: &Path| {
                spare_opened_by("--save-temps", path)?;
                written.spare("--save-temps", path)
            };
            Ok(Temps::new(folder, Box::new(|unit| batch.label(unit)), Box::new(spare)))
        });
        let trace = self.time_trace.is_some().then(|| {
            Trace::new(Box::new(|unit| {
                (format!("{} for {}", batch.name(unit), batch.target(unit)), batch.shown(unit), batch.target(unit))
            }))
        });
        Ok(Watch::new(temps.transpose()?, trace))
    }

    /// Writes the trace, also of a build that came to an early end.
    ///
    /// # Errors
    /// `Environment` where it cannot be written, or a file of `--save-temps` could not be.
    pub(crate) fn traced(&self, watch: &mut Watch<'_>) -> Result<()> {
        if let (Some(path), Some(text)) = (&self.time_trace, watch.trace()) {
            write_atomically(path, documented(&text).as_bytes(), None)?;
        }
        watch.error.take().map_or(Ok(()), Err)
    }

    /// Writes the report.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub(crate) fn reported(
        &self,
        batch: &Batch<'_, '_>,
        watch: &Watch<'_>,
        done: &CompileResults,
        inputs: Vec<String>,
    ) -> Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        let costs = batch.costs(watch, done, inputs);
        write_atomically(path, documented(&costs.to_json()).as_bytes(), None).map(drop)
    }
}

#[cold]
fn in_no_rule(path: &Path, what: &str) -> Error {
    let message = format!("`{}` can stand in no rule: make or ninja would take its name {what}", path.display());
    Error::new(ErrorKind::Usage, message)
}

/// Refuses files of which none can be the first of a rule of dependencies, as the last command of a plan writes, too.
///
/// # Errors
/// `Usage` where all names have a `=`, with this remedy.
pub(crate) fn can_begin(inputs: &[PathBuf], remedy: &str) -> Result<()> {
    let defines = |path: &PathBuf| path.to_string_lossy().contains('=');
    match inputs.first().filter(|_| inputs.iter().all(defines)) {
        Some(path) => Err(in_no_rule(path, "for a variable that is defined").with_remedy(remedy)),
        None => Ok(()),
    }
}

/// The options of a compiler's preprocessor that ask for dependencies.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Build systems")]
pub(crate) struct DependArgs {
    /// Write the files that the output depends on, for make and ninja, to the output's name and `.d`. Also -MD
    #[arg(long = "MD")]
    depend: bool,
    /// Write them to this file. Also -MF FILE
    #[arg(long = "MF", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The target of the rule, instead of the output and the --stamp. Also -MT NAME
    #[arg(long = "MT", value_name = "NAME")]
    rule: Option<String>,
    /// The stamp and the file of the rule are in the folder of a plan, of which nobody chose the name
    #[arg(long, hide = true)]
    planned: bool,
}

impl DependArgs {
    /// Whether any of them is given.
    pub(crate) fn asked(&self) -> bool {
        self.depend || self.file.is_some() || self.rule.is_some()
    }

    /// The file that is written.
    ///
    /// # Errors
    /// Errors of [`below`] where the user does not name it.
    pub(crate) fn path(&self, output: &Path) -> Result<Option<PathBuf>> {
        if self.file.is_some() || !self.depend {
            return self.file.as_deref().map(|file| self.own(file)).transpose();
        }
        let mut name = output.file_name().unwrap_or_default().to_owned();
        name.push(".d");
        below(output.parent().unwrap_or(Path::new("")), Path::new(&name)).map(Some)
    }

    /// Returns the path of a stamp, or of the file of the rule.
    ///
    /// # Errors
    /// Errors of [`below`] for one of a plan.
    pub(crate) fn own(&self, path: &Path) -> Result<PathBuf> {
        let above = path.parent().and_then(Path::parent);
        match above.and_then(|above| path.strip_prefix(above).ok().map(|name| (above, name))) {
            Some((above, name)) if self.planned => below(above, name),
            _ => Ok(path.to_owned()),
        }
    }

    /// Refuses files of a name that a rule cannot hold: one that would end its line, begin another, be a command or a pattern
    /// of others. Targets stand at the beginning of a line, where fewer names are names.
    ///
    /// # Errors
    /// `Usage` where there is one.
    pub(crate) fn can_name(&self, inputs: &[PathBuf], output: &Path, stamp: Option<&Path>) -> Result<()> {
        if !self.asked() {
            return Ok(());
        }
        can_begin(inputs, "rename it, or leave out -MD, --MF and --MT")?;
        let targets = || stamp.into_iter().chain([output]).filter(|_| self.rule.is_none());
        let mut files = inputs.iter().map(PathBuf::as_path).chain(targets());
        let (path, what) = if let Some(path) = files.find(|path| commands::is_unnameable(path)) {
            (path, "for a command, a pattern, or another file")
        } else if let Some(path) = targets().find(|path| commands::is_no_target(&path.to_string_lossy())) {
            (path, "for a variable, a pattern or a directive at the beginning of a rule, which `--MT` can name")
        } else {
            return Ok(());
        };
        Err(in_no_rule(path, what).with_remedy("rename it, or leave out -MD, --MF and --MT"))
    }

    /// Writes the rule, where one is asked for: of files that are named, and of those beside them that were read. Where there is a
    /// stamp, that is what `make` compares.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub(crate) fn write(
        &self,
        output: &Path,
        stamp: Option<&Path>,
        (named, beside): (&[PathBuf], &[PathBuf]),
    ) -> Result<()> {
        let Some(file) = self.path(output)? else { return Ok(()) };
        let target = self.rule.clone().unwrap_or_else(|| {
            let targets: Vec<String> =
                stamp.into_iter().chain([output]).map(|path| commands::escaped(&path.to_string_lossy())).collect();
            targets.join(" ")
        });
        let here = std::env::current_dir().unwrap_or_default();
        let all = named.iter().map(|path| (path, true)).chain(beside.iter().map(|path| (path, false)));
        let (nameable, others): (Vec<_>, Vec<_>) = all.partition(|(path, is_named)| {
            !commands::is_unnameable(path) && (*is_named || commands::is_harmless(path, &here))
        });
        if let Some((first, _)) = others.first() {
            let more = others.len().saturating_sub(1);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            say(&format!("warning: no rule can name `{}`{more}: `make` does not see when it changes", first.display()));
        }
        let names: Vec<String> = nameable.iter().map(|(path, _)| commands::escaped(&path.to_string_lossy())).collect();
        write_atomically(&file, commands::rule(&target, &names).as_bytes(), None).map(drop)
    }
}
