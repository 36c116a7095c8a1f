//! `build`: how does a binary get native code for known devices?

use super::driver::InstallArgs;
use super::emit::{self, Compiled, Emit};
use super::exit::{Exit, report};
use super::global::Global;
use super::input::Input;
use super::output;
use super::progress::Progress;
use super::selection::{self, Selection};
use super::worker;
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sycl_bundle::build::plan::{self, CPU_TARGET};
use sycl_bundle::build::{self as pool, Failure, Settings};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::examine::{Examined, examine};
use sycl_bundle::container::{Host, Kind, package};
use sycl_bundle::device::cpu::{self, CpuArch};
use sycl_bundle::error::{Context as _, Error, ErrorKind, Problem, Result};
use sycl_bundle::report::built::{Built, Failed, Staying};
use sycl_bundle::rewrite::embed::record::Record;
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, earlier};

const AFTER_HELP: &str = "\
Every SPIR-V image is compiled by Intel's OpenCL CPU driver, each with its own options, in worker processes: an image
that kills the driver or makes it hang fails alone, after two more attempts. What must stay SPIR-V (imported symbols,
specialization constants, explicit SIMD, requirements no CPU meets) or does not build stays, and is named.

Native code is for one instruction set, by default avx2: the driver refuses code for a newer set than the machine's, and
all libraries of a process must have the same set.

Examples:
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --emit shared -o libfoo-native.so
  sycl-bundle build a.spv b.spv -t spir64_x86_64 -o kernels.table
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so --install-driver

Exit status:
  0  done
  3  the input cannot be read, or images in it are damaged
  4  some image did not build; the output is written, and the image is in it as SPIR-V
  5  there is no driver
  6  there is no device code, or none of it can be native";

/// Compile images ahead of time and put the native code where the SYCL runtime finds it
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// A linked executable or shared library, or SPIR-V modules; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What to compile for
    #[arg(short = 't', long = "for", value_name = "TARGET", required = true, value_delimiter = ',')]
    targets: Vec<String>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// As what to write it: by default `embed` for a linked file, `table` for modules
    #[arg(long, value_name = "FORM")]
    emit: Option<Emit>,
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
    #[command(flatten)]
    install: InstallArgs,
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

/// A compiled image: its index, and its device binary.
type Binary = (usize, Vec<u8>);

/// An input, restored to what it was before native images were added.
struct Source {
    input: Input,
    restored: Option<Vec<u8>>,
}

impl Source {
    fn bytes(&self) -> &[u8] {
        self.restored.as_deref().unwrap_or(self.input.bytes())
    }
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        let march = CpuArch::parse(&self.march)?;
        self.check_targets()?;
        if self.format == Format::Json && self.output.as_os_str() == "-" {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        let mut sources = Vec::new();
        for path in &self.files {
            sources.push(self.open(global, path).context(|| path.display().to_string())?);
        }
        let named = |at: usize| self.files.get(at).map(|path| path.display().to_string()).unwrap_or_default();
        let mut hosts = Vec::new();
        for (at, source) in sources.iter().enumerate() {
            hosts.push(Host::read(source.bytes()).context(|| named(at))?);
        }
        let mut bundles = Vec::new();
        for (at, host) in hosts.iter().enumerate() {
            bundles.push(Bundle::read(host).context(|| named(at))?);
        }
        let emit = self.emit(&hosts)?;
        let (Some(host), Some(source)) = (hosts.first(), sources.first()) else {
            return Err(Error::new(ErrorKind::Usage, "no input"));
        };
        let bundle = Bundle::union(bundles);
        let all = examine(&bundle);
        let total = all.len();
        let images = selection::keep(&self.selection.selector()?, all)?;
        let selected: HashSet<usize> = images.iter().map(|image| image.image.index).collect();

        // Native images of an earlier run that this one leaves alone stay in the file.
        let before = source.restored.as_ref().map(|_| Host::read(source.input.bytes())).transpose()?;
        let before_bundle = before.as_ref().map(Bundle::read).transpose()?;
        let mut kept = before_bundle.as_ref().map_or_else(Vec::new, |embedded| earlier(embedded, &bundle));
        kept.retain(|addition| !selected.contains(&addition.source));
        same_march(&kept, march)?;

        let mut plan = plan::for_cpu(&images);
        let mut problems: Vec<Problem> = bundle.problems.clone();
        problems.append(&mut plan.problems);
        for problem in &problems {
            let error = problem.error.clone();
            let error = problem.image.map_or(error.clone(), |image| error.context(format!("image {image}")));
            report(global, &error.context(named(0)));
        }
        let begun = Instant::now();
        let (compiled, failures) = self.compile(global, march, &images, &plan.jobs)?;
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
        let what = Compiled { host, bundle: &bundle, images: &images, additions: &additions, march };
        let mode = self.files.first().and_then(|path| emit::mode_of(path));
        let bytes_after = emit::write(emit, &what, &self.output, mode)?;

        let built = Built {
            schema_version: 1,
            inputs: self.files.iter().map(|path| path.display().to_string()).collect(),
            output: self.output.display().to_string(),
            emit: emit.name(),
            target: CPU_TARGET,
            march: march.name(),
            images: total,
            unselected: total.saturating_sub(images.len()),
            taken_over,
            compiled: compiled.len(),
            staying: plan
                .staying
                .iter()
                .map(|(image, stay)| Staying::new(*image, kernels(*image).into_iter().next(), stay))
                .collect(),
            failed: failures.iter().map(|failure| Failed::new(kernels(failure.image), failure)).collect(),
            removed_options: plan.removed_options,
            native_bytes: compiled.iter().map(|(_, binary)| binary.len() as u64).sum(),
            bytes_before: sources.iter().map(|source| source.bytes().len() as u64).sum(),
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

    fn open(&self, global: &Global, path: &std::path::Path) -> Result<Source> {
        let input = Input::open(path)?;
        let same = |a: &std::path::Path, b: &std::path::Path| {
            a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
        };
        if same(path, &self.output) {
            let error = Error::new(ErrorKind::Usage, "the output would replace the input");
            return Err(error.with_remedy("name another file with `-o`"));
        }
        if let Some(kind) = Kind::identify(input.bytes()).ok().filter(|kind| package::is_package(*kind)) {
            return Err(Error::input(format!("this is {}, and `build` takes files as they are", kind.description()))
                .with_remedy(
                    "`inspect` and `extract` read packages; to build, unpack it and name the libraries in it",
                ));
        }
        let record = Host::read(input.bytes()).ok().and_then(|host| Record::find(&host));
        let restored = match record.map(|record| record.restore(input.bytes())) {
            Some(Ok(original)) => Some(original),
            Some(Err(error)) => {
                global.note(&format!("{}: {error}; its native images are replaced, and it grows", path.display()));
                None
            }
            None => None,
        };
        Ok(Source { input, restored })
    }

    fn emit(&self, hosts: &[Host<'_>]) -> Result<Emit> {
        let bare = hosts.iter().all(|host| host.kind == Kind::SpirV);
        let usage = |message: &str, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        if hosts.len() > 1 && !bare {
            return usage(
                "several inputs make one output only where all are SPIR-V modules",
                "build linked files one by one",
            );
        }
        match self.emit {
            None => Ok(if bare { Emit::Table } else { Emit::Embed }),
            Some(Emit::Embed) if bare => {
                usage("a SPIR-V module has no list of images to embed into", "use --emit table or --emit shared")
            }
            Some(emit) => Ok(emit),
        }
    }

    /// Compiles; gives binaries by image, and failures.
    fn compile(
        &self,
        global: &Global,
        march: CpuArch,
        images: &[Examined<'_, '_>],
        jobs: &[pool::Job<'_>],
    ) -> Result<(Vec<Binary>, Vec<Failure>)> {
        if jobs.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        self.install.apply()?;
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let settings = Settings { timeout: self.timeout, ..Settings::new(self.jobs.unwrap_or(cores)) };
        let names: HashMap<usize, String> = images
            .iter()
            .map(|image| (image.image.index, image.kernels.first().map(|name| shown(global, name)).unwrap_or_default()))
            .collect();
        let name = |image: usize| {
            let kernel = names.get(&image).map(String::as_str).unwrap_or_default();
            format!("image {image} {}", sycl_bundle::report::name::shorten(kernel, 60))
        };
        let mut progress = Progress::new(global, jobs.len());
        let outcomes =
            pool::run(jobs, &worker::launch(Some(march))?, &settings, &mut |event| progress.on(&event, &name));
        progress.finish();
        let (mut compiled, mut failures) = (Vec::new(), Vec::new());
        for outcome in outcomes? {
            match outcome {
                Ok(artifact) => match CpuArch::of_binary(&artifact.binary) {
                    Some(found) if found != march => {
                        return Err(Error::new(
                            ErrorKind::Environment,
                            format!("the driver compiled for {found}, not for {march}"),
                        )
                        .with_remedy("unset CL_CONFIG_CPU_TARGET_ARCH in the configuration of the driver (cl.cfg)"));
                    }
                    _ => compiled.push((artifact.image, artifact.binary)),
                },
                Err(failure) => failures.push(failure),
            }
        }
        Ok((compiled, failures))
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
fn same_march(kept: &[Addition<'_>], march: CpuArch) -> Result<()> {
    let other = kept.iter().find_map(|addition| CpuArch::of_binary(addition.payload).filter(|found| *found != march));
    match other {
        None => Ok(()),
        Some(found) => Err(Error::new(
            ErrorKind::Usage,
            format!("the file holds native images for {found}, which were not selected; the others would be for {march}, and the driver refuses a mix"),
        )
        .with_remedy(format!("select all images, or use --march {found}"))),
    }
}

/// A kernel's name as the user wants it.
fn shown(global: &Global, mangled: &str) -> String {
    if global.demangle { sycl_bundle::report::name::display(mangled) } else { mangled.to_owned() }
}
