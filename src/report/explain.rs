//! What does an error message mean, and how does the runtime choose an image for a kernel?

mod json;
#[cfg(test)]
mod tests;
mod text;

pub use json::{json, schema};
pub use text::text;

use super::check::Verdict;
use crate::compat::aspects::Evidence;
use crate::compat::choice::{Choice, Trap};
use crate::compat::examine::Examined;
use crate::compat::explain::said::Saying;
use crate::compat::explain::thrown::Thrown;
use crate::compat::explain::trace::{Concern, devices};
use crate::compat::fit::Subject;
use crate::compat::gate::Against;
use crate::device::target::{Backend, DeviceType};
use std::sync::Arc;

/// All that is told.
#[derive(Debug, Default)]
pub struct Explanation {
    /// Meanings of the lines of an error message; empty where none is recognised.
    pub lines: Vec<MessageLine>,
    /// The image that the runtime chooses, for each kernel and target that is asked about.
    pub choices: Vec<ImageChoice>,
    /// Results of building kernels on live devices.
    pub built: Vec<Built>,
}

/// One thing that a message says.
#[derive(Debug)]
pub struct MessageLine {
    /// The recognised line.
    pub saying: Saying,
    /// The meaning of the line, in sentences.
    pub meaning: String,
    /// The kernels and images that the line is about, in each file.
    pub files: Vec<FileConcerns>,
    /// Steps that solve the problem.
    pub remedies: Vec<String>,
}

/// The kernels and images of one file that a line of a message is about.
#[derive(Debug)]
pub struct FileConcerns {
    /// The file, as the user gave it.
    pub file: Arc<str>,
    /// Kernels and images.
    pub concerns: Vec<Concern>,
    /// A sentence about the file as a whole.
    pub note: Option<String>,
}

/// The role of an image in the runtime's choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The runtime does not count it as for the device.
    PassedOver(String),
    /// The image fits the device, and the runtime picks another.
    Candidate,
    /// The runtime picks the image.
    Chosen,
}

/// An image of the kernel.
#[derive(Debug)]
pub struct KernelImage {
    /// The number of the image in its file.
    pub image: usize,
    /// The format of the payload.
    pub format: &'static str,
    /// Devices that the image is for.
    pub devices: String,
    /// The role in the choice.
    pub fate: Fate,
}

/// The runtime's choice of an image for a kernel on a target, and its outcome.
#[derive(Debug)]
pub struct ImageChoice {
    /// The file.
    pub file: Arc<str>,
    /// The target.
    pub target: String,
    /// The kernel's mangled name.
    pub kernel: String,
    /// The images of the kernel.
    pub images: Vec<KernelImage>,
    /// The rule by which the adapter picks among images, as a sentence.
    pub rule: &'static str,
    /// Whether it runs.
    pub verdict: Verdict,
    /// The exception that the runtime throws instead of running the kernel.
    pub thrown: Option<Thrown>,
    /// Reasons why the kernel does not run there, or may not.
    pub findings: Vec<Objection>,
    /// Behaviour of the runtime that surprises.
    pub traps: Vec<Trap>,
}

/// A reason why a kernel does not run on a target, or may not.
#[derive(Debug, Clone)]
pub struct Objection {
    /// The rule and its message.
    pub against: Arc<Against>,
    /// The number of the image in its file, where it is about one.
    pub image: Option<usize>,
    /// The use of the aspect and the calls that lead to it, where it is about an aspect.
    pub evidence: Option<Evidence>,
}

/// The result of building a kernel for a live device.
#[derive(Debug)]
pub struct Built {
    /// The file.
    pub file: Arc<str>,
    /// The device's name.
    pub device: String,
    /// The kernel's mangled name.
    pub kernel: String,
    /// The image, by its number in the file.
    pub image: usize,
    /// The reason why it does not build, with the `sycl::errc` that a program meets; none where it builds.
    pub failure: Option<(Option<&'static str>, String)>,
}

impl ImageChoice {
    /// From a choice among `images`, and what the gate found of it.
    pub fn new(
        file: Arc<str>,
        kernel: &str,
        images: &[Examined<'_, '_>],
        subject: &Subject<'_>,
        choice: &Choice,
        (thrown, findings): (Option<Thrown>, Vec<Objection>),
    ) -> ImageChoice {
        let seen = |at: &usize| {
            let image = images.get(*at)?;
            let passed = choice.passed_over.iter().find(|(other, _)| other == at);
            let fate = match passed {
                Some((_, why)) => Fate::PassedOver(why.clone()),
                None if choice.chosen == Some(*at) => Fate::Chosen,
                None => Fate::Candidate,
            };
            Some(KernelImage { image: image.image.index, format: image.format.name(), devices: devices(image), fate })
        };
        let certain = findings.iter().map(|found| found.against.certain).max();
        ImageChoice {
            file,
            target: subject.target.name.clone(),
            kernel: kernel.to_owned(),
            images: choice.of_kernel.iter().filter_map(seen).collect(),
            rule: rule(subject),
            verdict: match certain {
                Some(true) => Verdict::Incompatible,
                Some(false) => Verdict::Unknown,
                // What something else may define, or nothing does, is not known.
                None if thrown.is_some() => Verdict::Unknown,
                None => Verdict::Compatible,
            },
            thrown,
            findings,
            traps: choice.traps.clone(),
        }
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
    }
}
