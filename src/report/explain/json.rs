//! What does an explanation look like as JSON?

use super::{Explanation, Fate, trap};
use crate::compat::explain::codes::Topic;
use crate::compat::explain::said::Said;
use crate::compat::finding::RuleId;
use crate::compat::finding::Verdict;
use crate::demangle::demangle;
use crate::error::Result;
use crate::native::Coverage;
use crate::report::evidence::AspectUse;
use crate::report::json::{SchemaVersion, put_line};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;

/// The JSON Schema of `explain --format json`.
pub(crate) fn schema() -> String {
    crate::report::json::schema::<Document<'_>>()
}

/// The meaning of a message, and how the runtime chooses an image.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle explain --format json")]
struct Document<'a> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The causes that the message tells; empty where nothing in it is known.
    sayings: Vec<Saying<'a>>,
    /// The number of times that lines of the message tell further causes, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_sayings: Option<usize>,
    /// The choice of the runtime for each file, kernel and target.
    choices: Vec<ImageChoice<'a>>,
    /// The results of the compilers of live devices.
    devices: Vec<Built<'a>>,
}

/// A cause that a message tells.
#[derive(Serialize, JsonSchema)]
struct Saying<'a> {
    /// A word for the cause.
    topic: Topic,
    /// The line of the message that says so.
    line: &'a str,
    /// The error's name without its prefix, where the topic is `code`.
    code: Option<&'a str>,
    /// The meaning.
    meaning: &'a str,
    /// The files, with the kernels and images that it is about.
    files: Vec<FileConcerns<'a>>,
    /// Sentences about what mends it.
    remedies: &'a [String],
}

/// A file that a message is about.
#[derive(Serialize, JsonSchema)]
struct FileConcerns<'a> {
    /// The file.
    file: &'a str,
    /// A sentence about the file itself.
    note: Option<&'a str>,
    /// The kernels and images, the first ones of all files.
    concerns: Vec<Concern<'a>>,
    /// The number of the others, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    concerns_left_out: Option<usize>,
}

/// A kernel or an image that a message is about.
#[derive(Serialize, JsonSchema)]
struct Concern<'a> {
    /// The number of the image.
    image: Option<usize>,
    /// The kernel's mangled name.
    kernel: Option<&'a str>,
    /// The kernel's name in the source.
    demangled: Option<Cow<'a, str>>,
    /// A sentence about it.
    message: &'a str,
    /// The use of the aspect; null where none is known.
    evidence: Option<AspectUse<'a>>,
}

/// The choice of the runtime for a kernel on a target.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Choice")]
struct ImageChoice<'a> {
    /// The file.
    file: &'a str,
    /// The target.
    target: &'a str,
    /// The kernel's mangled name.
    kernel: &'a str,
    /// The kernel's name in the source.
    demangled: Cow<'a, str>,
    /// The verdict.
    verdict: Verdict,
    /// The way the kernel runs: as native code, compiled just in time, or not at all, as of the image that is picked.
    coverage: Option<Coverage>,
    /// The images of the kernel, in the order of the file: the first ones, and the one that is picked.
    images: Vec<KernelImage<'a>>,
    /// The number of its other images, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    images_left_out: Option<usize>,
    /// The rule by which the adapter picks.
    rule: &'static str,
    /// The exception that the runtime throws; null where none is known to be thrown.
    throws: Option<Thrown<'a>>,
    /// The findings.
    findings: Vec<Finding<'a>>,
    /// Traps on the way.
    traps: Vec<TrapEntry>,
}

/// An image of a kernel.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Image")]
struct KernelImage<'a> {
    /// The number of the image.
    image: usize,
    /// The format of its payload.
    format: &'static str,
    /// The devices that it is for.
    devices: &'a str,
    /// The role in the choice: not for the device; for the device, but another is picked; picked.
    #[schemars(extend("enum" = ["passed-over", "candidate", "chosen"]))]
    fate: &'static str,
    /// The reason why it is passed over.
    why: Option<&'a str>,
    /// The way the target runs the image's own code; null where the image is passed over.
    coverage: Option<Coverage>,
    /// Devices for which a program that `record` ran compiled the image just in time, with --profile.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    recorded: &'a [String],
}

/// An exception.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Exception")]
struct Thrown<'a> {
    /// The name in `sycl::errc`.
    errc: &'static str,
    /// The text.
    text: &'a str,
    /// Whether it is sure; not where another library may define the symbol.
    certain: bool,
}

/// A finding.
#[derive(Serialize, JsonSchema)]
struct Finding<'a> {
    /// The rule, by the name that `check` uses.
    rule: RuleId,
    /// Whether it is sure.
    certain: bool,
    /// The number of the image.
    image: Option<usize>,
    /// A sentence about it.
    message: &'a str,
    /// The aspect; null where it is not about one.
    aspect: Option<&'a str>,
    /// A sentence about what mends it.
    remedy: &'a str,
    /// The use of the aspect; null where none is known.
    evidence: Option<AspectUse<'a>>,
}

/// A trap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Trap")]
struct TrapEntry {
    /// A word for it.
    #[schemars(extend("enum" = ["ambiguous", "no-fallback", "any-gpu", "native-imports", "kernel-bundle"]))]
    trap: &'static str,
    /// A sentence about it.
    message: &'static str,
}

/// A kernel on a live device.
#[derive(Serialize, JsonSchema)]
struct Built<'a> {
    /// The file.
    file: &'a str,
    /// The device.
    device: &'a str,
    /// The kernel's mangled name.
    kernel: &'a str,
    /// The kernel's name in the source.
    demangled: Cow<'a, str>,
    /// The number of the image.
    image: usize,
    /// Whether it builds.
    builds: bool,
    /// The name in `sycl::errc` of what a SYCL program would meet.
    errc: Option<&'static str>,
    /// The reason why it does not build.
    reason: Option<&'a str>,
}

/// Writes the explanation as one JSON document.
///
/// # Errors
/// `Io` where the writer fails.
pub(super) fn json(out: &mut impl Write, all: &Explanation) -> Result<()> {
    let sayings = all.lines.iter().map(|line| Saying {
        topic: line.saying.said.topic(),
        line: &line.saying.line,
        code: match &line.saying.said {
            Said::Code(code) => code.names.first().copied(),
            _ => None,
        },
        meaning: &line.meaning,
        files: line.files.iter().map(of_file).collect(),
        remedies: &line.remedies,
    });
    let built = all.built.iter().map(|one| Built {
        file: &one.file,
        device: &one.device,
        kernel: &one.kernel,
        demangled: demangle(&one.kernel),
        image: one.image,
        builds: one.failure.is_none(),
        errc: one.failure.as_ref().and_then(|(errc, _)| *errc),
        reason: one.failure.as_ref().map(|(_, why)| why.as_str()),
    });
    let document = Document {
        schema_version: SchemaVersion,
        sayings: sayings.collect(),
        more_sayings: Some(all.more_lines).filter(|more| *more > 0),
        choices: all.choices.iter().map(choice).collect(),
        devices: built.collect(),
    };
    put_line(out, &document)
}

fn of_file(of: &super::FileConcerns) -> FileConcerns<'_> {
    let concerns = of.concerns.iter().map(|one| Concern {
        image: one.image,
        kernel: one.kernel.as_deref(),
        demangled: one.kernel.as_deref().map(|name| demangle(name)),
        message: &one.message,
        evidence: one.evidence.as_deref().map(AspectUse::new),
    });
    let left_out = Some(of.left_out).filter(|left_out| *left_out > 0);
    let (file, note, concerns) = (&*of.file, of.note.as_deref(), concerns.collect());
    FileConcerns { file, note, concerns, concerns_left_out: left_out }
}

fn choice(choice: &super::ImageChoice) -> ImageChoice<'_> {
    let images = choice.images.iter().map(|seen| {
        let (fate, why) = match &seen.fate {
            Fate::PassedOver(why) => ("passed-over", Some(why.as_str())),
            Fate::Candidate => ("candidate", None),
            Fate::Chosen => ("chosen", None),
        };
        let super::KernelImage { image, format, devices, coverage, recorded, .. } = seen;
        KernelImage { image: *image, format, devices, fate, why, coverage: *coverage, recorded }
    });
    let findings = choice.findings.iter().map(|found| Finding {
        rule: found.finding.rule,
        certain: found.finding.certain,
        image: found.image,
        message: &found.finding.message,
        aspect: found.finding.aspect.as_deref(),
        remedy: &found.finding.remedy,
        evidence: found.evidence.as_ref().map(AspectUse::new),
    });
    let thrown = choice.thrown.as_ref();
    ImageChoice {
        file: &choice.file,
        target: &choice.target,
        kernel: &choice.kernel,
        demangled: demangle(&choice.kernel),
        verdict: choice.verdict,
        coverage: choice.coverage(),
        images: images.collect(),
        images_left_out: Some(choice.left_out).filter(|count| *count > 0),
        rule: choice.rule,
        throws: thrown.map(|one| Thrown { errc: one.errc, text: &one.text, certain: one.certain }),
        findings: findings.collect(),
        traps: choice.traps.iter().map(|one| trap(*one)).map(|(trap, message)| TrapEntry { trap, message }).collect(),
    }
}
