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
    /// What the message says; empty where nothing in it is known.
    pub told: Vec<Told>,
    /// How the runtime chooses, for each kernel and target that is asked about.
    pub ways: Vec<Way>,
    /// What live devices made of kernels.
    pub built: Vec<Built>,
}

/// One thing that a message says.
#[derive(Debug)]
pub struct Told {
    /// What.
    pub saying: Saying,
    /// What it means.
    pub meaning: String,
    /// What it is about, in each file.
    pub files: Vec<OfFile>,
    /// What mends it.
    pub remedies: Vec<String>,
}

/// What a saying is about in a file.
#[derive(Debug)]
pub struct OfFile {
    /// The file, as the user gave it.
    pub file: Arc<str>,
    /// Kernels and images.
    pub concerns: Vec<Concern>,
    /// What is to be said of the file itself.
    pub note: Option<String>,
}

/// What becomes of an image on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The runtime does not count it as for the device.
    PassedOver(String),
    /// It counts, and another is picked.
    Candidate,
    /// It is picked.
    Chosen,
}

/// An image of the kernel.
#[derive(Debug)]
pub struct Seen {
    /// Its number in the file.
    pub image: usize,
    /// Its format.
    pub format: &'static str,
    /// What it is for.
    pub devices: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// How the runtime chooses an image for a kernel on a target, and what becomes of it.
#[derive(Debug)]
pub struct Way {
    /// The file.
    pub file: Arc<str>,
    /// The target.
    pub target: String,
    /// The kernel's mangled name.
    pub kernel: String,
    /// The images of the kernel.
    pub images: Vec<Seen>,
    /// How the adapter picks.
    pub rule: &'static str,
    /// Whether it runs.
    pub verdict: Verdict,
    /// What the runtime throws.
    pub thrown: Option<Thrown>,
    /// What speaks against it.
    pub findings: Vec<Objection>,
    /// What may surprise.
    pub traps: Vec<Trap>,
}

/// What speaks against a kernel on a target.
#[derive(Debug, Clone)]
pub struct Objection {
    /// What it says.
    pub against: Arc<Against>,
    /// The number of the image in its file, where it is about one.
    pub image: Option<usize>,
    /// The use of the aspect and the calls that lead to it, where it is about an aspect.
    pub evidence: Option<Evidence>,
}

/// What a live device's compiler made of a kernel.
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
    /// Why not, where it was not built, and the `sycl::errc` that a program would meet.
    pub failure: Option<(Option<&'static str>, String)>,
}

impl Way {
    /// From a choice among `images`, and what the gate found of it.
    pub fn new(
        file: Arc<str>,
        kernel: &str,
        images: &[Examined<'_, '_>],
        subject: &Subject<'_>,
        choice: &Choice,
        (thrown, findings): (Option<Thrown>, Vec<Objection>),
    ) -> Way {
        let seen = |at: &usize| {
            let image = images.get(*at)?;
            let passed = choice.passed_over.iter().find(|(other, _)| other == at);
            let fate = match passed {
                Some((_, why)) => Fate::PassedOver(why.clone()),
                None if choice.chosen == Some(*at) => Fate::Chosen,
                None => Fate::Candidate,
            };
            Some(Seen { image: image.image.index, format: image.format.name(), devices: devices(image), fate })
        };
        let certain = findings.iter().map(|found| found.against.certain).max();
        Way {
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

/// How the adapter picks among images for the device (`urDeviceSelectBinary`).
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
