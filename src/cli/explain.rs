//! `explain`: what does an error message mean, and how does the runtime choose an image for a kernel?

use super::global::Global;
use super::live::{self, Asker};
use super::output::{ANSWER, Output, forms};
use super::selection::DeviceConfigs;
use super::selection::read_profiles;
use crate::build::live::Live;
use crate::compat::explain::said::{self, Message};
use crate::compat::kernels::{Depth, kernels};
use crate::compat::offers::Lent;
use crate::device::resolve::named_targets;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::explain::explain;
use crate::files::input::has_stdin;
use crate::names::told_of_each;
use crate::report::document::Form;
use crate::report::explain::request::Request;
use crate::report::explain::{KernelBuild, RecordedDevices};
use crate::report::kernels::OnDevice;
use crate::report::profile::Profile;
use crate::report::{FileFacts, explain as report};
use crate::select::Pattern;
use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
With a message: what it means and what mends it; with files too, which of their kernels and images
it is about, why, and where. Messages of libsycl, of its adapters, OpenCL and ocloc are known, and
error codes by name and number; a build log may be given whole.

With --kernel and -t: of each kernel the images, which the runtime counts as for the target, which
of them it picks and why, what it throws, what else speaks against it, and what may surprise.

Exit status:
  1  nothing in the message is known; without a message: a kernel does not run on a target

Examples:
  ./app 2>&1 | sycl-bundle explain app --message -
  sycl-bundle explain libfoo.so --message 'Required aspect fp64 is not supported on the device'
  sycl-bundle explain --message 'UR_RESULT_ERROR_INVALID_BINARY'
  sycl-bundle explain --message 'ocloc 245'
  sycl-bundle explain libfoo.so --kernel '*gemm*' -t intel_gpu_acm_g10
  sycl-bundle explain libfoo.so --kernel '*gemm*' --device gpu
  sycl-bundle explain libfoo.so --kernel '*gemm*' --profile app.profile";

/// Explain an error message, or which image the runtime chooses for a kernel
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Executables, shared libraries, SPIR-V modules, packages and folders of these, as for `inspect`
    #[arg(value_name = "FILE", required_unless_present_any = ["message", "schema"])]
    files: Vec<PathBuf>,
    /// The output of the program, the driver or the compiler; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Only kernels whose mangled or demangled name matches (repeatable)
    #[arg(long, value_name = "GLOB", requires = "files")]
    kernel: Vec<String>,
    /// The targets that the kernels are to run on, in any spelling that `targets` takes
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET,...", value_delimiter = ',')]
    targets: Vec<String>,
    /// Tell for which devices a program compiled each image just in time, by this profile of `record`; without -t on the
    /// targets that it ran on (repeatable)
    #[arg(long, value_name = "FILE", requires = "files")]
    profile: Vec<PathBuf>,
    /// Have this device's compiler build the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)
    #[arg(long, value_name = "DEVICE", requires = "files")]
    device: Vec<String>,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(ANSWER))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    configs: DeviceConfigs,
}

/// Returns the devices for which recorded programs compiled images just in time, by the images' digests. Each kernel of an image
/// tells them: so many, and so much of each name.
///
/// # Errors
/// `Input` where a digest is malformed.
fn recorded(profiles: &[Profile]) -> Result<RecordedDevices> {
    let mut devices: HashMap<[u8; 32], Vec<&str>> = HashMap::new();
    let mut seen = HashSet::new();
    for profile in profiles {
        for (digest, device) in profile.devices_by_image()?.into_iter().filter(|known| seen.insert(*known)) {
            devices.entry(digest).or_default().push(device);
        }
    }
    let told = |devices: Vec<&str>| {
        let (names, more) = told_of_each(&devices);
        names.into_iter().chain((more > 0).then(|| format!("{more} more"))).collect()
    };
    Ok(devices.into_iter().map(|(digest, devices)| (digest, told(devices))).collect())
}

/// Bytes of a message that are read.
const LONGEST: u64 = 16 << 20;

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&report::schema());
        }
        let table = self.configs.table(global)?;
        let profiles = read_profiles(&self.profile)?;
        let ran_on: Vec<String> = profiles.iter().flat_map(Profile::targets).collect();
        let by_profile = self.targets.is_empty() && self.message.is_none();
        let asked = named_targets(global, &table, if by_profile { &ran_on } else { &self.targets })?;
        let recorded = recorded(&profiles)?;
        let kernels = self.kernel.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
        let request = Request { message: self.read()?, kernels, recorded };
        if request.message.is_none() && asked.is_empty() && self.device.is_empty() {
            let error = Error::new(ErrorKind::Usage, "there is nothing to explain");
            return Err(error.with_remedy("give `--message TEXT`, or `--kernel GLOB -t TARGET`"));
        }
        let live = devices(global, &self.device)?;
        let (explanation, exit) = explain(global, &self.files, &request, &asked, &|facts| {
            ask(global, facts, live.as_ref(), &|name| request.takes(name))
        })?;
        out.put(self.format, &explanation)?;
        if self.message.is_some() && explanation.lines.is_empty() {
            global.note("nothing in the message is known; the lines that count name an error code or a reason");
        }
        Ok(if request.fails(&explanation) && exit == Exit::Done { Exit::No } else { exit })
    }

    fn read(&self) -> Result<Option<Message>> {
        let text = match self.message.as_deref() {
            None => return Ok(None),
            Some("-") => {
                if has_stdin(&self.files) {
                    return Err(Error::new(ErrorKind::Usage, "standard input is either the message or a file"));
                }
                let mut bytes = Vec::new();
                let read = std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
                read.map_err(|error| Error::io("cannot read the message", &error))?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Some(text) => text.to_owned(),
        };
        if text.trim().is_empty() {
            let error = Error::new(ErrorKind::Usage, "the message is empty");
            return Err(
                error.with_remedy("programs print errors on the standard error: `app 2>&1 | sycl-bundle explain ...`")
            );
        }
        Ok(Some(said::read(&text)))
    }
}

/// The live devices that are asked for, by the words on the command line.
pub(crate) fn devices<'w>(global: &Global, wanted: &'w [String]) -> Result<Option<(Live, &'w [String])>> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let live = live::find(global, wanted)?;
    for word in wanted {
        live.choose(word)?;
    }
    Ok(Some((live, wanted)))
}

/// Asks the devices' compilers about the wanted kernels of a file.
pub(crate) fn ask(
    global: &Global,
    facts: &FileFacts<'_>,
    live: Option<&(Live, &[String])>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<KernelBuild>> {
    let (Some((live, words)), Some(bundle)) = (live, facts.bundle) else { return Ok(Vec::new()) };
    let mut all = kernels(bundle, &facts.images, Depth { clones: false, evidence: false });
    all.retain(|kernel| wanted(&kernel.name));
    let mut built = Vec::new();
    for word in *words {
        let (place, device) = live.choose(word)?;
        let asker = Asker { live, place, device, jobs: None };
        let (answers, _) = asker.ask(global, bundle, (&facts.images, &Lent::default()), &all)?;
        for kernel in &all {
            let failure = match answers.on_kernel(kernel) {
                Some(OnDevice::Answers { .. }) => None,
                Some(OnDevice::None { errc, reason }) => Some((*errc, reason.clone())),
                None => Some((None, "the device was not asked".to_owned())),
            };
            built.push(KernelBuild {
                file: facts.path.into(),
                device: device.name.clone(),
                kernel: kernel.name.clone(),
                image: kernel.image,
                failure,
            });
        }
    }
    Ok(built)
}
