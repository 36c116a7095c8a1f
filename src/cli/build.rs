//! `build`: how does a binary get native code for known devices?

pub mod compile;
mod depend;

use super::cache;
use super::driver::InstallArgs;
use super::emit::compiled::{self, Compiled};
use super::emit::{self, Emit, EmitArgs};
use super::exit::{Exit, report};
use super::global::Global;
use super::output;
use super::selection::Selection;
use super::sources::{Numbers, Source};
use compile::{Done, Order, Shard};
use depend::DependArgs;
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sycl_bundle::build::Job;
use sycl_bundle::build::fold::Folding;
use sycl_bundle::build::plan::{self, CPU_TARGET};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::examine::{Examined, examine};
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::device::cpu::{self, CpuArch};
use sycl_bundle::error::{Context as _, Error, ErrorKind, Problem, Result};
use sycl_bundle::report::built::{Alone, Built, Damaged, Failed, Staying};
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, earlier, possible};

const AFTER_HELP: &str = "\
Every SPIR-V image is compiled by Intel's OpenCL CPU driver, each with its own options, in
worker processes: an image that kills the driver or makes it hang fails alone, after two more
attempts. What must stay SPIR-V (imported symbols that no other image defines, specialization
constants, explicit SIMD, requirements no CPU meets) or does not build stays, and is named. With
--emit embed, images with imports stay.

What was compiled before, with the same options by the same driver, comes out of a cache
(`sycl-bundle cache --help`). Under `make -j` no more modules are compiled at once than make allows.
Ctrl-C keeps what is compiled; the same command goes on.

Native code is for one instruction set, by default avx2: the driver refuses code for a newer set
than the machine's, and all libraries of a process must have the same set.

Without --emit the form is told by the output's name (`.o` object, `.syclbin`, `.table`, of
modules `.so` shared); else it is `embed` for a linked ELF file and `table` for modules. Of a
linked file, an object or library holds the native images alone, since the file registers the
others.

Examples:
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --emit shared -o libfoo-native.so
  sycl-bundle build a.spv b.spv -t spir64_x86_64 -o kernels.table
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so --install-driver
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so -MD --stamp out/libfoo.stamp
  sycl-bundle build libfoo.so -t spir64_x86_64 --shard 1/8

Exit status:
  0  done
  3  the input cannot be read, or images in it are damaged
  4  some image did not build; the output is written, and the image is in it as SPIR-V
  5  there is no driver
  6  there is no device code; with --emit shared, also where none of it can be native";

/// Compile images ahead of time and put the native code where the SYCL runtime finds it
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// A linked executable or shared library, or SPIR-V modules and file tables; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What to compile for
    #[arg(short = 't', long = "for", value_name = "TARGET", required = true, value_delimiter = ',')]
    targets: Vec<String>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "shard")]
    output: Option<PathBuf>,
    /// The instruction set of native CPU code, by the names of opencl-aot
    #[arg(long, value_name = "NAME", default_value = cpu::DEFAULT.name())]
    march: String,
    /// How many worker processes; by default as many as there are cores
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds that one image may take in one attempt
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    timeout: Duration,
    /// How to show what was done
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,
    /// Do not look into the cache, and keep nothing there
    #[arg(long, help_heading = "Build systems")]
    no_cache: bool,
    /// Compile every image, also those that are the same code as another under a kernel name of their own
    #[arg(long, help_heading = "Build systems")]
    no_fold: bool,
    /// Compile one of N parts of the images into the cache and write no output: 1/4 to 4/4, on as many machines as
    /// share the folder; a run without it then writes the output
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, conflicts_with_all = ["no_cache", "output", "stamp", "depend", "file"],
          help_heading = "Build systems")]
    shard: Option<Shard>,
    /// Say what would be compiled, and write nothing
    #[arg(long, help_heading = "Build systems")]
    dry_run: bool,
    /// Write this empty file when all is done: an output that did not change keeps its time
    #[arg(long, value_name = "FILE", help_heading = "Build systems")]
    stamp: Option<PathBuf>,
    #[command(flatten)]
    depend: DependArgs,
    #[command(flatten)]
    install: InstallArgs,
    #[command(flatten)]
    form: EmitArgs,
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A summary on standard error
    Text,
    /// A document on standard output
    Json,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| "a number of seconds greater than 0".to_owned())
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        let march = CpuArch::parse(&self.march)?;
        self.check_targets()?;
        // Without an output there is a shard or a trial, which write none.
        let output = self.output.as_deref().unwrap_or(Path::new(""));
        let writes = self.shard.is_none() && !self.dry_run;
        if self.format == Format::Json && output.as_os_str() == "-" {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        if writes {
            emit::check_place(self.form.emit, output)?;
        }
        let mut sources = Vec::new();
        for path in &self.files {
            sources.push(Source::open(global, path, output).context(|| path.display().to_string())?);
        }
        let mut hosts = Vec::new();
        for source in &sources {
            hosts.push(Host::read(source.bytes()).context(|| source.name())?);
        }
        let mut bundles = Vec::new();
        for (source, host) in sources.iter().zip(&hosts) {
            bundles.push(source.bundle(host).context(|| source.name())?);
        }
        let emit = self.emit(&hosts)?;
        let form = self.form.form(emit, output)?;
        let (Some(host), Some(source)) = (hosts.first(), sources.first()) else {
            return Err(Error::new(ErrorKind::Usage, "no input"));
        };
        let mut numbers = Numbers::new(&sources, &bundles);
        let bundle = Bundle::union(bundles);
        let before = source.embedded().map(Host::read).transpose()?;
        let embedded = before.as_ref().map(Bundle::read).transpose()?;
        let all = examine(&bundle);
        let total = all.len();
        let images = numbers.select(&self.selection.selector()?, all, &bundle, embedded.as_ref())?;
        let selected: HashSet<usize> = images.iter().map(|image| image.image.index).collect();

        // Native images of an earlier run that this one leaves alone stay in the file.
        let mut kept = embedded.as_ref().map_or_else(Vec::new, |embedded| earlier(embedded, &bundle));
        kept.retain(|addition| emit == Emit::Embed && !selected.contains(&addition.source));
        let staying_natives = bundle.images.iter().filter(|image| !selected.contains(&image.index));
        let natives = kept.iter().map(|addition| addition.payload).chain(staying_natives.map(|image| image.stored));
        if emit == Emit::Embed {
            same_march(natives, march)?;
        }

        // In a linked file's own list native images share the tables of their sources, imports among them.
        let mut plan = match emit {
            Emit::Embed => plan::for_cpu(&images),
            _ => plan::for_cpu_linked(&images, &bundle),
        };
        let mut problems: Vec<Problem> = bundle.problems.clone();
        problems.append(&mut plan.problems);
        for problem in &mut problems {
            let file = numbers.file(problem.image.unwrap_or(0)).to_owned();
            problem.image = problem.image.map(|image| numbers.shown(image));
            let error = problem.error.clone();
            let error = problem.image.map_or(error.clone(), |image| error.context(format!("image {image}")));
            report(global, &error.context(file));
        }
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let earlier_parts = compiled::check_parts(emit, output, &images, &paths)?;
        if writes && emit == Emit::Embed {
            let planned: Vec<(usize, &str)> = plan.jobs.iter().map(|job| (job.image, CPU_TARGET)).collect();
            possible(host, &bundle, &planned).context(|| source.name())?;
        }
        let begun = Instant::now();
        let planned = plan.jobs.len();
        let Done { compiled, failures, cached, folded, apart, elsewhere, libraries } = match self.dry_run {
            true => self.trial(&plan.jobs),
            false => self.compile(global, march, &images, plan.jobs, &numbers)?,
        };
        let seconds = begun.elapsed().as_secs_f64();

        let by_index: HashMap<usize, &Examined<'_, '_>> =
            images.iter().map(|image| (image.image.index, image)).collect();
        let kernels = |image: usize| by_index.get(&image).map(|image| image.kernels.clone()).unwrap_or_default();
        let mut additions: Vec<Addition<'_>> = compiled
            .iter()
            .map(|(source, payload)| Addition { source: *source, target: CPU_TARGET, format: FORMAT_NATIVE, payload })
            .collect();
        let taken_over = kept.len();
        additions.append(&mut kept);
        let what =
            Compiled { host, bundle: &bundle, images: &images, additions: &additions, march, linked: &plan.linked };
        let mode = self.files.first().and_then(|path| emit::mode_of(path));
        let bytes_after = if writes { compiled::write(global, &form, &what, output, mode)? } else { 0 };
        if writes {
            let _ = earlier_parts.clear(output);
            self.after(output, &libraries)?;
        }

        // A native image that a new one has replaced does not stay.
        let tables =
            |image: usize| Some((by_index.get(&image)?.image.target, by_index.get(&image)?.image.origin?.tables));
        let replaced: HashSet<[u64; 4]> =
            compiled.iter().filter_map(|(image, _)| tables(*image)).map(|(_, tables)| tables).collect();
        let gone = |image: usize| {
            tables(image).is_some_and(|(target, tables)| target == CPU_TARGET && replaced.contains(&tables))
        };
        let built = Built {
            schema_version: 1,
            inputs: self.files.iter().map(|path| path.display().to_string()).collect(),
            output: output.display().to_string(),
            emit: emit.name(),
            target: CPU_TARGET,
            march: march.name(),
            images: total,
            unselected: total.saturating_sub(images.len()),
            taken_over,
            compiled: if self.dry_run { planned } else { compiled.len() },
            cached,
            folded,
            apart: apart.iter().map(|(apart, images)| Alone { images: *images, reason: apart.reason() }).collect(),
            elsewhere,
            dry_run: self.dry_run,
            staying: plan
                .staying
                .iter()
                .filter(|(image, _)| emit != Emit::Embed || !gone(*image))
                .map(|(image, stay)| Staying::new(numbers.shown(*image), kernels(*image).into_iter().next(), stay))
                .collect(),
            failed: failures
                .iter()
                .map(|failure| Failed::new(numbers.shown(failure.image), kernels(failure.image), failure))
                .collect(),
            problems: problems.iter().map(Damaged::new).collect(),
            removed_options: plan.removed_options,
            native_bytes: compiled.iter().map(|(_, binary)| binary.len() as u64).sum(),
            bytes_before: sources.iter().map(Source::size).sum(),
            bytes_after,
            seconds,
        };
        self.tell(global, &built)?;
        Ok(match (problems.is_empty(), failures.is_empty()) {
            (false, _) => Exit::Input,
            (true, false) => Exit::Build,
            (true, true) => Exit::Done,
        })
    }

    fn check_targets(&self) -> Result<()> {
        match self.targets.iter().find(|target| *target != CPU_TARGET) {
            None => Ok(()),
            Some(other) => {
                Err(Error::new(ErrorKind::Usage, format!("`{other}` is no target that can be compiled for"))
                    .with_remedy(format!(
                        "the target is `{CPU_TARGET}`: CPU devices, through Intel's OpenCL CPU driver"
                    )))
            }
        }
    }

    fn emit(&self, hosts: &[Host<'_>]) -> Result<Emit> {
        let linked = hosts.iter().any(|host| matches!(host.kind, Kind::Elf | Kind::Pe));
        let elf = hosts.iter().all(|host| host.kind == Kind::Elf);
        let usage = |message: &str, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        if hosts.len() > 1 && linked {
            return usage("a linked file makes an output of its own", "build linked files one by one");
        }
        match self.form.emit {
            // A linked file may be called anything but an object, a table or a SYCLBIN.
            None => Ok(match Emit::by_extension(self.output.as_deref().unwrap_or(Path::new(""))) {
                Some(emit @ (Emit::Object | Emit::Syclbin | Emit::Table)) => emit,
                Some(Emit::Shared) if !elf => Emit::Shared,
                _ if elf => Emit::Embed,
                _ => Emit::Table,
            }),
            // Whether Intel's driver on Windows takes what the one on Linux makes is not known.
            Some(Emit::Embed) if hosts.iter().any(|host| host.kind == Kind::Pe) => usage(
                "the driver compiles for Linux, so the native code is not for a Windows file's own list",
                "compile on Windows, and put the images into the list with `sycl-bundle embed`",
            ),
            Some(Emit::Embed) if !elf => {
                usage("only a linked ELF file can be embedded into", "use --emit table or --emit shared")
            }
            Some(Emit::Spirv) => usage("what is compiled is no SPIR-V", "use --emit table, or `extract --emit spirv`"),
            Some(emit) => Ok(emit),
        }
    }

    /// Compiles what is planned.
    fn compile(
        &self,
        global: &Global,
        march: CpuArch,
        images: &[Examined<'_, '_>],
        jobs: Vec<Job<'_>>,
        numbers: &Numbers,
    ) -> Result<Done> {
        self.install.apply()?;
        let cache = cache::cache(!self.no_cache);
        if self.shard.is_some() && cache.is_none() {
            let error = Error::new(ErrorKind::Environment, "a shard is compiled into the cache, and there is none");
            return Err(error.with_remedy("set SYCL_BUNDLE_CACHE_DIR to a folder that all machines share"));
        }
        let names: HashMap<usize, String> = images
            .iter()
            .map(|image| (image.image.index, image.kernels.first().map(|name| shown(global, name)).unwrap_or_default()))
            .collect();
        let name = |image: usize| {
            let kernel = names.get(&image).map(String::as_str).unwrap_or_default();
            format!("image {} {}", numbers.shown(image), sycl_bundle::report::name::shorten(kernel, 60))
        };
        let (jobs_at_once, timeout, shard) = (self.jobs, self.timeout, self.shard);
        let order = Order { march, jobs: jobs_at_once, timeout, cache: cache.as_ref(), shard, fold: !self.no_fold };
        compile::compile(global, &order, jobs, &name)
    }

    /// What would come of what is planned, as far as that is known without the driver.
    fn trial(&self, jobs: &[Job<'_>]) -> Done {
        let folding = if self.no_fold { Folding::default() } else { Folding::of(jobs) };
        Done { folded: folding.clones, apart: folding.apart, ..Done::default() }
    }

    /// What build systems ask for when the output is written.
    fn after(&self, output: &Path, libraries: &[PathBuf]) -> Result<()> {
        let prerequisites: Vec<PathBuf> = self.files.iter().chain(libraries).cloned().collect();
        self.depend.write(output, &prerequisites)?;
        match &self.stamp {
            Some(stamp) => output::touch(stamp),
            None => Ok(()),
        }
    }

    fn tell(&self, global: &Global, built: &Built) -> Result<()> {
        if self.format == Format::Json {
            let mut out = output::stdout();
            return writeln!(out, "{}", built.to_json())
                .and_then(|()| out.flush())
                .map_err(|error| output::lost(&error));
        }
        if !global.quiet {
            let kernel = |name: &str| shown(global, name);
            let text = built.summary(global.verbose > 0, &kernel);
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
        Ok(())
    }
}

/// Native images for different instruction sets do not work in one process.
fn same_march<'n>(mut natives: impl Iterator<Item = &'n [u8]>, march: CpuArch) -> Result<()> {
    let Some(found) = natives.find_map(|native| CpuArch::of_binary(native).filter(|found| *found != march)) else {
        return Ok(());
    };
    let message = format!(
        "the file holds native images for {found}, which were not selected; the others would be for {march}, and the driver \
         refuses a mix"
    );
    Err(Error::new(ErrorKind::Usage, message).with_remedy(format!("select all images, or use --march {found}")))
}

/// A kernel's name as the user wants it.
fn shown(global: &Global, mangled: &str) -> String {
    if global.demangle { sycl_bundle::report::name::display(mangled) } else { mangled.to_owned() }
}
