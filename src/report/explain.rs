//! What does an error message mean, and how does the runtime choose an image for a kernel?

mod json;
pub(crate) mod request;

use super::document::{Document, Form, Sink};
use super::evidence;
use super::inspect::View;
use super::name::{shorten, shorten_path};
use super::text::{Shown, lines};
use super::text::{count, counted};
use crate::compat::aspects::Evidence;
use crate::compat::choice::{Choice, Trap};
use crate::compat::examine::Examined;
use crate::compat::explain::said::Saying;
use crate::compat::explain::trace::{Concern, Thrown, devices};
use crate::compat::finding::Finding;
use crate::compat::finding::Verdict;
use crate::compat::fit::Subject;
use crate::device::target::{Backend, DeviceType};
use crate::error::Result;
use crate::limits;
use crate::native::Coverage;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use json::json;
pub(crate) use json::schema;

/// Devices for which recorded programs compiled images just in time, by the images' digests.
pub(crate) type RecordedDevices = HashMap<[u8; 32], Arc<[String]>>;

/// All that is told.
#[derive(Debug, Default)]
pub(crate) struct Explanation {
    /// Meanings of the lines of an error message; empty where none is recognised.
    pub(crate) lines: Vec<MessageLine>,
    /// The number of times that lines tell further causes.
    pub(crate) more_lines: usize,
    /// The image that the runtime chooses, for each kernel and target that is asked about.
    pub(crate) choices: Vec<ImageChoice>,
    /// Results of building kernels on live devices.
    pub(crate) built: Vec<KernelBuild>,
}

/// One thing that a message says.
#[derive(Debug)]
pub(crate) struct MessageLine {
    /// The recognised line.
    pub(crate) saying: Saying,
    /// The meaning of the line, in sentences.
    pub(crate) meaning: String,
    /// The kernels and images that the line is about, in each file.
    pub(crate) files: Vec<FileConcerns>,
    /// Steps that solve the problem.
    pub(crate) remedies: Vec<String>,
}

/// The kernels and images of one file that a line of a message is about.
#[derive(Debug)]
pub(crate) struct FileConcerns {
    /// The file, as the user gave it.
    pub(crate) file: Arc<str>,
    /// Kernels and images, the first ones.
    pub(crate) concerns: Vec<Concern>,
    /// The number of the others.
    pub(crate) left_out: usize,
    /// A sentence about the file as a whole.
    pub(crate) note: Option<String>,
}

/// The role of an image in the runtime's choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The runtime does not count it as for the device.
    PassedOver(String),
    /// The image fits the device, and the runtime picks another.
    Candidate,
    /// The runtime picks the image.
    Chosen,
}

/// An image of the kernel.
#[derive(Debug)]
pub(crate) struct KernelImage {
    /// The number of the image in its file.
    pub(crate) image: usize,
    /// The format of the payload.
    pub(crate) format: &'static str,
    /// Devices that the image is for.
    pub(crate) devices: String,
    /// The role in the choice.
    pub(crate) fate: Fate,
    /// The way the target runs the image's code; none where the image is passed over.
    pub(crate) coverage: Option<Coverage>,
    /// Devices for which a recorded program compiled the image just in time.
    pub(crate) recorded: Arc<[String]>,
}

/// The runtime's choice of an image for a kernel on a target, and its outcome.
#[derive(Debug)]
pub(crate) struct ImageChoice {
    /// The file.
    pub(crate) file: Arc<str>,
    /// The target.
    pub(crate) target: String,
    /// The kernel's mangled name.
    pub(crate) kernel: String,
    /// The images of the kernel: the first ones, and the one that is picked.
    pub(crate) images: Vec<KernelImage>,
    /// The number of its other images.
    pub(crate) left_out: usize,
    /// The rule by which the adapter picks among images, as a sentence.
    pub(crate) rule: &'static str,
    /// Whether it runs.
    pub(crate) verdict: Verdict,
    /// The exception that the runtime throws instead of running the kernel.
    pub(crate) thrown: Option<Thrown>,
    /// Reasons why the kernel does not run there, or may not.
    pub(crate) findings: Vec<Objection>,
    /// Behaviour of the runtime that surprises.
    pub(crate) traps: Vec<Trap>,
}

/// A reason why a kernel does not run on a target, or may not.
#[derive(Debug, Clone)]
pub(crate) struct Objection {
    /// The rule and its message.
    pub(crate) finding: Arc<Finding>,
    /// The number of the image in its file, where it is about one.
    pub(crate) image: Option<usize>,
    /// The use of the aspect and the calls that lead to it, where it is about an aspect.
    pub(crate) evidence: Option<Evidence>,
}

/// The result of building a kernel for a live device.
#[derive(Debug)]
pub(crate) struct KernelBuild {
    /// The file.
    pub(crate) file: Arc<str>,
    /// The device's name.
    pub(crate) device: String,
    /// The kernel's mangled name.
    pub(crate) kernel: String,
    /// The image, by its number in the file.
    pub(crate) image: usize,
    /// The reason why it does not build, with the `sycl::errc` that a program meets; none where it builds.
    pub(crate) failure: Option<(Option<&'static str>, String)>,
}

impl ImageChoice {
    /// From a choice among `images`, and what the gate found of it.
    pub(crate) fn new(
        file: Arc<str>,
        kernel: &str,
        (images, recorded): (&[Examined<'_, '_>], &RecordedDevices),
        subject: &Subject<'_>,
        choice: &Choice,
        (thrown, findings): (Option<Thrown>, Vec<Objection>),
    ) -> ImageChoice {
        let passed: HashMap<usize, &String> = choice.passed_over.iter().map(|(at, why)| (*at, why)).collect();
        let seen = |at: &usize| {
            let image = images.get(*at)?;
            let fate = match passed.get(at) {
                Some(why) => Fate::PassedOver((*why).clone()),
                None if choice.chosen == Some(*at) => Fate::Chosen,
                None => Fate::Candidate,
            };
            let index = image.image.index;
            let taken = !matches!(fate, Fate::PassedOver(_));
            let coverage = taken.then(|| image.coverage_where_taken(subject));
            Some(KernelImage {
                image: index,
                format: image.format.name(),
                devices: devices(image),
                fate,
                coverage,
                recorded: recorded.get(&image.blake3).cloned().unwrap_or_default(),
            })
        };
        let (first, others) =
            choice.of_kernel.split_at_checked(limits::MAX_TOLD_IMAGES).unwrap_or((&choice.of_kernel, &[]));
        let picked = others.iter().filter(|at| choice.chosen == Some(**at));
        let told: Vec<KernelImage> = first.iter().chain(picked).filter_map(seen).collect();
        let certain = findings.iter().map(|found| found.finding.certain).max();
        ImageChoice {
            file,
            target: subject.target.name.clone(),
            kernel: kernel.to_owned(),
            left_out: choice.of_kernel.len().saturating_sub(told.len()),
            images: told,
            rule: rule(subject),
            verdict: match certain {
                Some(true) => Verdict::Incompatible,
                Some(false) => Verdict::Unknown,
                // Whether something else defines the symbol is not known.
                None if thrown.is_some() => Verdict::Unknown,
                None => Verdict::Compatible,
            },
            thrown,
            findings,
            traps: choice.traps.clone(),
        }
    }
}

impl ImageChoice {
    /// The way the kernel runs: that of the chosen image, where nothing speaks against it.
    pub(crate) fn coverage(&self) -> Option<Coverage> {
        if self.verdict == Verdict::Incompatible {
            return Some(Coverage::None);
        }
        self.images.iter().find(|seen| seen.fate == Fate::Chosen).and_then(|seen| seen.coverage)
    }
}

/// Describes how the adapter picks among images for the device (`urDeviceSelectBinary`).
fn rule(subject: &Subject<'_>) -> &'static str {
    match (subject.backend, subject.target.device_type) {
        (Some(Backend::OpenCl), Some(DeviceType::Cpu)) => {
            "OpenCL takes the first image for spir64_x86_64, else the last for spir64"
        }
        (Some(Backend::OpenCl), Some(DeviceType::Gpu)) => {
            "OpenCL takes the first image for spir64_gen, else the last for spir64"
        }
        (Some(Backend::OpenCl), _) => "OpenCL takes the last image for spir64",
        (Some(Backend::LevelZero), _) => "Level Zero takes the first image for spir64_gen, else the first for spir64",
        (Some(Backend::Cuda), _) => "CUDA takes the first image for nvptx64",
        (Some(Backend::Hip), _) => "HIP takes the first image for amdgcn that holds code for the architecture",
        (Some(Backend::NativeCpu), _) => "the first image for native_cpu is taken",
        (None, _) => "through which adapter the device is reached is not known",
    }
}

/// Describes how a device runs an image of a format.
fn way(coverage: Coverage, format: &str) -> &'static str {
    match (coverage, format) {
        (Coverage::Native, _) => "it is native code for the device, which runs as it is",
        (Coverage::Jit, "spirv" | "llvm-bitcode") => "the driver compiles it when the program first needs it",
        (Coverage::Jit, _) => {
            "none of its native code is for the device: the driver compiles the SPIR-V inside when the program first needs it"
        }
        (Coverage::None, _) => "its native code is for other devices, and no SPIR-V is inside: the driver refuses it",
    }
}

/// A trap as a word and as a sentence.
fn trap(trap: Trap) -> (&'static str, &'static str) {
    match trap {
        Trap::Ambiguous => ("ambiguous", "Several images are equally good; which of them is taken is not specified."),
        Trap::NoFallback => (
            "no-fallback",
            "Another image of the kernel would run, but the runtime does not turn to it once it has chosen.",
        ),
        Trap::AnyGpu => (
            "any-gpu",
            "The image is native code for an Intel GPU that it does not name: the runtime hands it to any, and drivers of \
             others refuse it.",
        ),
        Trap::NativeImports => {
            ("native-imports", "The image is native CPU code that imports symbols, which nothing resolves.")
        }
        Trap::KernelBundle => (
            "kernel-bundle",
            "Launches work, but get_kernel_bundle<bundle_state::executable> throws here, though has_kernel_bundle says yes: it \
             builds every native image of the kernel, also that for another GPU, which the driver refuses. One archive of \
             all GPUs, or native code with SPIR-V inside, is taken everywhere.",
        ),
    }
}

/// Kernels that are named for each file; JSON has all.
const EXAMPLES: usize = 5;
/// Kernels whose way is told in full; JSON has all.
const CHOICES: usize = 16;

/// The explanation as text.
fn text(all: &Explanation, view: &View) -> Shown {
    let mut sections: Vec<Shown> = all.lines.iter().map(|line| line_text(line, view)).collect();
    if all.more_lines > 0 {
        let mut rest = Shown::default();
        writeln!(rest, "and other causes, {}", counted(all.more_lines, "time"));
        sections.push(rest);
    }
    sections.extend(all.choices.iter().take(CHOICES).map(|one| choice_text(one, view)));
    let more = all.choices.len().saturating_sub(CHOICES);
    if more > 0 {
        let mut rest = Shown::default();
        writeln!(rest, "and {} more; `--format json` tells all, `--kernel` chooses", counted(more, "kernel"));
        sections.push(rest);
    }
    sections.extend(all.built.iter().map(|one| built_text(one, view)));
    Shown::sections(&sections)
}

fn line_text(one: &MessageLine, view: &View) -> Shown {
    let names = view.names();
    let mut out = Shown::default();
    lines(&mut out, "", "  ", &format!("{} ({})", one.saying.line, one.saying.said.topic().name()), view);
    lines(&mut out, "  ", "  ", &one.meaning, view);
    for of in &one.files {
        let file = shorten_path(&of.file, view.width / 2);
        match (of.concerns.is_empty() && of.left_out == 0, &of.note) {
            (true, Some(note)) => lines(&mut out, "  ", "    ", &format!("{file}: {note}"), view),
            (true, None) => {}
            (false, note) => {
                let images = of.concerns.iter().filter_map(|one| one.image).collect::<HashSet<_>>().len();
                let kernels = of.concerns.iter().filter_map(|one| one.kernel.as_ref()).collect::<HashSet<_>>().len();
                let about = format!("{} in {}", counted(kernels, "kernel"), counted(images, "image"));
                let note = note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
                lines(&mut out, "  ", "    ", &format!("{file}: {about}{note}"), view);
            }
        }
        for concern in of.concerns.iter().take(EXAMPLES) {
            let image = concern.image.map(|image| format!("image {image}: ")).unwrap_or_default();
            let kernel = concern.kernel.as_ref().map(|kernel| format!("{}: ", names.show(kernel))).unwrap_or_default();
            let left = view.width.saturating_sub(image.len().saturating_add(concern.message.len()).saturating_add(6));
            let kernel = shorten(&kernel, left.max(view.width / 3)).into_owned();
            lines(&mut out, "    ", "      ", &format!("{image}{kernel}{}", concern.message), view);
            if let (Some(kernel), Some(found)) = (&concern.kernel, &concern.evidence) {
                lines(&mut out, "      ", "        ", &evidence::way(kernel, found, names), view);
            }
        }
        let more = of.concerns.len().saturating_sub(EXAMPLES).saturating_add(of.left_out);
        if more > 0 {
            writeln!(out, "    and {} more", count(more));
        }
    }
    for remedy in &one.remedies {
        lines(&mut out, "  help: ", "        ", remedy, view);
    }
    out
}

fn choice_text(choice: &ImageChoice, view: &View) -> Shown {
    let names = view.names();
    let mut out = Shown::default();
    let verdict = match choice.verdict {
        Verdict::Compatible => match choice.coverage() {
            Some(Coverage::Native) => "runs, as native code",
            Some(Coverage::Jit) => "runs, compiled just in time",
            _ => "runs",
        },
        Verdict::Unknown => "unknown",
        Verdict::Incompatible => "cannot run",
    };
    lines(&mut out, "", "  ", &format!("{} on {}: {verdict}", names.show(&choice.kernel), choice.target), view);
    let all = choice.images.len().saturating_add(choice.left_out);
    let images = counted(all, "image");
    let room = view.width.saturating_sub(images.len()).saturating_sub(17);
    writeln!(out, "  {}: {images} of the kernel", shorten_path(&choice.file, room));
    for (at, seen) in choice.images.iter().enumerate() {
        if at >= CHOICES {
            writeln!(out, "    and {} more", count(all.saturating_sub(at)));
            break;
        }
        let fate = match &seen.fate {
            Fate::PassedOver(why) => format!("not for the device: {}", why.trim_end_matches('.')),
            Fate::Candidate => "for the device; another is picked".to_owned(),
            Fate::Chosen => {
                // A kernel that does not run needs no word on how it would.
                let told = choice.verdict != Verdict::Incompatible || seen.coverage == Some(Coverage::None);
                let how = seen.coverage.filter(|_| told).map(|coverage| format!("; {}", way(coverage, seen.format)));
                format!("picked: {}{}", choice.rule, how.unwrap_or_default())
            }
        };
        let what = format!("image {}, {} for {}", seen.image, seen.format, seen.devices);
        let recorded = match seen.recorded.is_empty() {
            true => String::new(),
            false => format!("; recorded as compiled just in time by {}", seen.recorded.join(", ")),
        };
        lines(&mut out, "    ", "      ", &format!("{what}: {fate}{recorded}"), view);
    }
    if let Some(thrown) = &choice.thrown {
        let sure =
            if thrown.certain { "the runtime throws" } else { "unless something else defines it, the runtime throws" };
        lines(&mut out, "  ", "    ", &format!("{sure} errc::{}: {}", thrown.errc, thrown.text), view);
    }
    for found in &choice.findings {
        let sure = if found.finding.certain { "" } else { "not known: " };
        lines(
            &mut out,
            "  ",
            "    ",
            &format!("{sure}{} ({})", found.finding.message, found.finding.rule.name()),
            view,
        );
        if let Some(found) = &found.evidence {
            lines(&mut out, "    ", "      ", &evidence::way(&choice.kernel, found, names), view);
        }
        lines(&mut out, "    help: ", "          ", &found.finding.remedy, view);
    }
    for one in &choice.traps {
        lines(&mut out, "  mind: ", "        ", trap(*one).1, view);
    }
    out
}

fn built_text(built: &KernelBuild, view: &View) -> Shown {
    let mut out = Shown::default();
    let kernel = view.names().show(&built.kernel);
    let answer = match &built.failure {
        None => "its compiler builds the kernel".to_owned(),
        Some((Some(errc), why)) => format!("errc::{errc}: {why}"),
        Some((None, why)) => why.clone(),
    };
    let image = format!("image {} of {}", built.image, built.file);
    lines(&mut out, "", "  ", &format!("{kernel} on {} ({image}): {answer}", built.device), view);
    out
}

impl Document for Explanation {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        match form {
            Form::Json => json(&mut out.documents(), self),
            _ => {
                let view = out.look().view;
                out.show(&text(self, &view))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::aspects::{Aspect, Evidence, Step};
    use crate::compat::explain::{self, said};
    use crate::compat::finding::{Finding, RuleId};
    use crate::report::inspect::View;
    use crate::report::json::tests::against;
    use serde_json::Value;

    fn explanation() -> Explanation {
        let evidence = Evidence {
            aspect: Aspect::Fp64,
            chain: vec![Step { module: 0, function: "k".into(), call: None }],
            instruction: "OpFMul %double".into(),
            offset: 20,
            place: None,
            elsewhere: None,
        };
        let message =
            said::read("Required aspect fp64 is not supported on the device\nopencl backend failed with error: 7 (X)");
        let told = message.sayings.into_iter().map(|saying| MessageLine {
            meaning: explain::meaning(&saying.said),
            remedies: explain::remedies(&saying.said, explain::Known::default()),
            files: vec![{
                let (image, kernel) = (Some(3), Some("k".to_owned()));
                let evidence = Some(Box::new(evidence.clone()));
                let concern = Concern { image, kernel, message: "uses it".into(), evidence };
                FileConcerns { file: "a.so".into(), concerns: vec![concern], left_out: 0, note: Some("a note".into()) }
            }],
            saying,
        });
        let against = Finding {
            rule: RuleId::Aspect,
            certain: true,
            message: "no".into(),
            aspect: Some("fp64".into()),
            remedy: "do".into(),
            more: 0,
        };
        let found = Objection { finding: Arc::new(against), image: Some(3), evidence: Some(evidence.clone()) };
        let fates = [Fate::PassedOver("Image was compiled for x.".into()), Fate::Candidate, Fate::Chosen];
        let seen = |fate| {
            let coverage = Some(Coverage::Jit);
            KernelImage {
                image: 1,
                format: "spirv",
                devices: "spir64".into(),
                fate,
                coverage,
                recorded: Arc::default(),
            }
        };
        let choice = ImageChoice {
            file: "a.so".into(),
            target: "t".into(),
            kernel: "k".into(),
            images: fates.into_iter().map(seen).collect(),
            left_out: 1,
            rule: "rule",
            verdict: Verdict::Incompatible,
            thrown: Some(Thrown { errc: "kernel_not_supported", text: "no".into(), certain: true }),
            findings: vec![found],
            traps: vec![Trap::Ambiguous, Trap::NoFallback, Trap::AnyGpu, Trap::NativeImports, Trap::KernelBundle],
        };
        let built =
            |failure| KernelBuild { file: "a.so".into(), device: "D".into(), kernel: "k".into(), image: 1, failure };
        let built = vec![built(None), built(Some((Some("build"), "why".into())))];
        Explanation { lines: told.collect(), more_lines: 0, choices: vec![choice], built }
    }

    #[test]
    fn what_is_written_fulfils_the_schema() {
        let mut text = Vec::new();
        json(&mut text, &explanation()).unwrap();
        let mut document: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(against(&schema(), &document), Vec::<String>::new());
        assert_eq!(document["sayings"][0]["topic"], "aspect");
        assert_eq!(document["choices"][0]["images"][0]["fate"], "passed-over");
        document["choices"][0]["verdict"] = "maybe".into();
        assert_eq!(against(&schema(), &document).len(), 1);
    }

    #[test]
    fn lines_keep_to_the_width() {
        let view = View { width: 60, demangle: true, color: false };
        let text = text(&explanation(), &view);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        for part in ["OpFMul %double", "picked: rule", "errc::kernel_not_supported: no", "errc::build: why"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
