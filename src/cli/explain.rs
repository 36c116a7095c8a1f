//! `explain`: what does an error message mean, and how does the runtime choose an image for a kernel?

use super::device_config::{DeviceConfigs, Named, named_targets};
use super::exit::Exit;
use super::files::{each_file, each_linked, report_problems};
use super::global::Global;
use super::live::Live;
use super::output;
use crate::cli::global::Answer;
use crate::cli::live::Asker;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::compat::aspects::{Graph, codes};
use sycl_bundle::compat::choice::choose_among;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::compat::explain::cause::{Known, meaning, remedies};
use sycl_bundle::compat::explain::said::{self, Message, Said};
use sycl_bundle::compat::explain::trace::{Looked, thrown};
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::{Demand, Gate, proof};
use sycl_bundle::compat::kernels::{Depth, kernels};
use sycl_bundle::compat::offers::{Lent, are_open};
use sycl_bundle::demangle::demangle;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::explain::{Built, Explanation, FileConcerns, ImageChoice, MessageLine, Objection};
use sycl_bundle::report::inspect::View;
use sycl_bundle::report::kernels::OnDevice;
use sycl_bundle::report::{FileFacts, explain as report};
use sycl_bundle::select::{Pattern, Selector};

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
  sycl-bundle explain libfoo.so --kernel '*gemm*' --device gpu";

/// Explain an error message, or which image the runtime chooses for a kernel
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
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
    #[arg(short = 't', long = "for", value_name = "TARGET,...", value_delimiter = ',')]
    targets: Vec<String>,
    /// Have this device's compiler build the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)
    #[arg(long, value_name = "DEVICE", requires = "files")]
    device: Vec<String>,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Answer,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    configs: DeviceConfigs,
}

/// Bytes of a message that are read.
const LONGEST: u64 = 16 << 20;

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        if self.schema {
            return output::schema(&report::schema());
        }
        let table = self.configs.table(global)?;
        let asked = named_targets(global, &table, &self.targets)?;
        let message = self.read()?;
        if message.is_none() && asked.is_empty() && self.device.is_empty() {
            let error = Error::new(ErrorKind::Usage, "there is nothing to explain");
            return Err(error.with_remedy("give `--message TEXT`, or `--kernel GLOB -t TARGET`"));
        }
        let patterns = self.kernel.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
        let mut explanation = Explanation { lines: told(message.as_ref()), ..Explanation::default() };
        let live = devices(&self.device)?;
        let mut unmatched = None;
        let mut any = false;
        let (mut open, mut count) = (false, 0usize);
        let exit = each_file(global, &self.files, &Selector::default(), |facts| {
            report_problems(global, facts);
            match matching(facts, &patterns) {
                Ok(()) => any = true,
                // Of several files the one with a near name has more to say.
                Err(error) if unmatched.is_none() || error.remedy().is_some() => unmatched = Some(error),
                Err(_) => {}
            }
            let wanted = |name: &str| takes(&patterns, message.as_ref(), name);
            look(facts, message.as_ref(), &patterns, &mut explanation);
            explanation.choices.extend(choices(facts.path, &facts.images, &asked, &wanted));
            open |= are_open(&facts.images);
            count = count.saturating_add(1);
            explanation.built.extend(ask(global, facts, live.as_ref(), &wanted)?);
            Ok(())
        })?;
        if open && count > 1 && !asked.is_empty() {
            let mut linked = Vec::new();
            let all = each_linked(global, &self.files, |path, images| {
                let wanted = |name: &str| takes(&patterns, message.as_ref(), name);
                linked.extend(choices(path, images, &asked, &wanted));
                Ok(())
            })?;
            explanation.choices = if all { linked } else { explanation.choices };
        }
        if let Some(error) = unmatched.filter(|_| !any && exit == Exit::Done) {
            return Err(error);
        }
        self.finish(&mut explanation, message.as_ref(), asked.first());
        self.print(global, &explanation)?;
        let fails = match &message {
            Some(message) => message.sayings.is_empty(),
            None => {
                let runs = |way: &report::ImageChoice| way.verdict != sycl_bundle::report::check::Verdict::Incompatible;
                !explanation.choices.iter().all(runs) || explanation.built.iter().any(|built| built.failure.is_some())
            }
        };
        Ok(if fails && exit == Exit::Done { Exit::No } else { exit })
    }

    fn read(&self) -> Result<Option<Message>> {
        let text = match self.message.as_deref() {
            None => return Ok(None),
            Some("-") => {
                if self.files.iter().any(|file| file == Path::new("-")) {
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

    /// Adds what mends each saying, now that the files are known.
    fn finish(&self, explanation: &mut Explanation, message: Option<&Message>, asked: Option<&Named<'_>>) {
        let file = self.files.first().map(|file| file.display().to_string());
        let kernel = message.and_then(|message| message.kernels.first()).map(String::as_str);
        let kernel = kernel.or(self.kernel.first().map(String::as_str));
        let known = Known { file: file.as_deref(), kernel, target: asked.map(|one| one.target) };
        for told in &mut explanation.lines {
            told.remedies = remedies(&told.saying.said, known);
            if self.files.is_empty() && concerns_files(&told.saying.said) {
                told.remedies.push(
                    "with the program or library: `sycl-bundle explain FILE --message ...` names the kernels".into(),
                );
            }
        }
    }

    fn print(&self, global: &Global, explanation: &Explanation) -> Result<()> {
        let mut out = output::stdout();
        match self.format {
            Answer::Json => report::json(&mut out, explanation)?,
            Answer::Table => {
                let view = View { width: global.width(), demangle: global.demangle, color: global.stdout_color() };
                let text = report::text(explanation, &view);
                out.write_all(text.as_bytes()).map_err(|error| output::lost(&error))?;
            }
        }
        if self.message.is_some() && explanation.lines.is_empty() {
            global.note("nothing in the message is known; the lines that count name an error code or a reason");
        }
        out.flush().map_err(|error| output::lost(&error))
    }
}

/// Whether there may be something about it in a file.
fn concerns_files(said: &Said) -> bool {
    !matches!(
        said,
        Said::NoDevice | Said::NoOcloc | Said::OclocDevice(_) | Said::Ocloc(_) | Said::Code(_) | Said::Phrase(_)
    )
}

fn told(message: Option<&Message>) -> Vec<MessageLine> {
    let one = |saying: &said::Saying| MessageLine {
        saying: saying.clone(),
        meaning: meaning(&saying.said),
        files: Vec::new(),
        remedies: Vec::new(),
    };
    message.into_iter().flat_map(|message| &message.sayings).map(one).collect()
}

fn matches(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name) || pattern.matches(&demangle(name)))
}

/// Whether the way of a kernel is to be told: it is asked for; where none is, the message names it, or names none.
fn takes(patterns: &[Pattern], message: Option<&Message>, name: &str) -> bool {
    let named = message.map(|message| message.kernels.as_slice()).unwrap_or_default();
    if patterns.is_empty() && !named.is_empty() {
        return named.iter().any(|own| own == name);
    }
    // All kernels of a library are too many to tell of where only a message is given.
    matches(patterns, name) && (!patterns.is_empty() || message.is_none())
}

/// Says which kernel is near where none matches.
fn matching(facts: &FileFacts<'_>, patterns: &[Pattern]) -> Result<()> {
    let mut names = facts.images.iter().flat_map(|image| &image.kernels);
    if patterns.is_empty() || names.any(|name| matches(patterns, name)) {
        return Ok(());
    }
    let selector = Selector { kernels: patterns.to_vec(), ..Selector::default() };
    Err(selector.no_match(&facts.images))
}

/// Finds the kernels and images of a file that the message is about.
fn look(facts: &FileFacts<'_>, message: Option<&Message>, patterns: &[Pattern], explanation: &mut Explanation) {
    let Some(message) = message else { return };
    let file: Arc<str> = facts.path.into();
    let codes = codes(&facts.images);
    let looked = Looked::new(&facts.images, Graph::link(&codes));
    for told in &mut explanation.lines {
        let said = &told.saying.said;
        let concerns = looked.concerns(said, message, &|name| {
            let named = message.kernels.is_empty() || message.kernels.iter().any(|own| own == name);
            matches(patterns, name) && (named || !patterns.is_empty())
        });
        let note = note(facts, said, message, concerns.is_empty());
        told.files.push(FileConcerns { file: file.clone(), concerns, note });
    }
}

/// A sentence about the file itself.
fn note(facts: &FileFacts<'_>, said: &Said, message: &Message, nothing: bool) -> Option<String> {
    if facts.bundle.is_none() {
        let linked = facts.host.and_then(|host| host.sycl_abi);
        return linked.map(|abi| {
            format!(
                "it is linked to libsycl.so.{abi}, but holds no device code: it was linked without -fsycl, or its kernels are \
                 in a library"
            )
        });
    }
    if !nothing {
        return None;
    }
    let named = message.kernels.first();
    match (said, named) {
        (Said::NoKernel | Said::NoImage(_), Some(name)) => {
            let patterns = vec![Pattern::new(name).ok()?];
            let near = Selector { kernels: patterns, ..Selector::default() };
            let near = near.no_match(&facts.images);
            let near = near.remedy().map(|near| format!("; {near}")).unwrap_or_default();
            Some(format!("none of its images holds the kernel{near}"))
        }
        (said, _) if concerns_files(said) => Some("nothing in it is of this sort".to_owned()),
        _ => None,
    }
}

/// The way of each wanted kernel of a file's images on each target, in the order of targets and kernels.
pub fn choices(
    path: &str,
    images: &[Examined<'_, '_>],
    asked: &[Named<'_>],
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<ImageChoice> {
    if asked.is_empty() {
        return Vec::new();
    }
    let file: Arc<str> = path.into();
    let codes = codes(images);
    let looked = Looked::new(images, Graph::link(&codes));
    let mut order: Vec<&str> = Vec::new();
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, image) in images.iter().enumerate() {
        for name in image.kernels.iter().filter(|name| wanted(name)) {
            let places = holders.entry(name).or_insert_with(|| {
                order.push(name);
                Vec::new()
            });
            if places.last() != Some(&at) {
                places.push(at);
            }
        }
    }
    let gate = Gate::new(images, &codes, wanted);
    let mut choices = Vec::new();
    for one in asked {
        let subject = Subject::new(one.target).with_march(one.march);
        let judged = gate.judge(&subject, &Demand::default());
        let proofs = gate.proofs(&[&judged], proof::Depth::All);
        let mut found: HashMap<&str, Vec<Objection>> = HashMap::new();
        for finding in judged.findings() {
            let evidence = finding.evidence(&proofs).cloned();
            let objection = Objection { finding: finding.finding.clone(), image: finding.image, evidence };
            found.entry(finding.kernel).or_default().push(objection);
        }
        for name in &order {
            let places = holders.get(name).cloned().unwrap_or_default();
            let choice = choose_among(images, places, name, &subject);
            let thrown = thrown(&choice, &looked, &subject);
            let findings = found.remove(*name).unwrap_or_default();
            choices.push(ImageChoice::new(file.clone(), name, images, &subject, &choice, (thrown, findings)));
        }
    }
    choices
}

/// The live devices that are asked for, by the words on the command line.
pub fn devices(wanted: &[String]) -> Result<Option<(Live, &[String])>> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let live = Live::find()?;
    for word in wanted {
        live.choose(word)?;
    }
    Ok(Some((live, wanted)))
}

/// Asks the devices' compilers about the wanted kernels of a file.
pub fn ask(
    global: &Global,
    facts: &FileFacts<'_>,
    live: Option<&(Live, &[String])>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Built>> {
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
            built.push(Built {
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
