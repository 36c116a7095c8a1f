//! Is this image of a kind that the device takes, and for the device?

use super::{Fit, Subject};
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::compat::examine::Examined;
use crate::compat::finding::RuleId;
use crate::device::cpu::{CpuArch, DEFAULT};
use crate::device::target::{Backend, DeviceType};
use crate::native::coverage::Coverage;

/// Whether the runtime counts an image among those for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// The runtime counts it.
    Yes,
    /// The runtime does not count it, for this reason.
    No(String),
    /// The answer hangs on what is not known of the target.
    Unknown(String),
}

/// Targets whose images for `spir64_x86_64` the runtime takes.
const CPUS: [&str; 5] = ["spir64_x86_64", "x86_64", "intel_cpu_spr", "intel_cpu_gnr", "intel_cpu_dmr"];

/// The spec of an image's target without vendor and system; a bare module is `spir64`.
pub fn spec<'a>(image: &Image<'a>) -> &'a str {
    match image.target.split('-').next().unwrap_or_default() {
        "" if image.origin.is_none() => "spir64",
        "spirv64" => "spir64",
        "llvm_nvptx64" => "nvptx64",
        "llvm_amdgcn" => "amdgcn",
        own => own,
    }
}

/// `doesImageTargetMatchDevice`: by the target that the image was compiled for where it says so, else by its spec.
pub fn matches(image: &Image<'_>, subject: &Subject<'_>) -> Match {
    let target = subject.target;
    if let Some(label) = image.compile_target().filter(|label| *label != "spir64") {
        let cpu = label == "spir64_x86_64" && CPUS.contains(&target.name.as_str());
        let family = label.starts_with("intel_gpu_") && target.families.iter().any(|own| own == label);
        return if label == target.name || cpu || family || target.aliases.iter().any(|own| own == label) {
            Match::Yes
        } else if target.name == "spir64_gen" && label.starts_with("intel_gpu_") {
            Match::Unknown(format!("Image was compiled for {label}; which Intel GPU is meant is not known."))
        } else if target.name == "spir64" {
            Match::Unknown(format!("Image was compiled for {label}; which device is meant is not known."))
        } else {
            Match::No(format!("Image was compiled for {label}, not for {}.", target.name))
        };
    }
    let spec = spec(image);
    let no = || Match::No(format!("Image for {spec} does not match {}.", target.name));
    let Some(backend) = subject.backend else {
        if target.brief && spec == "spir64" {
            return Match::Yes;
        }
        return Match::Unknown(format!("through which adapter {} is reached is not known", target.name));
    };
    let opencl = matches!(backend, Backend::OpenCl | Backend::LevelZero);
    let kind = |wanted: DeviceType| match target.device_type {
        Some(own) if own == wanted => Match::Yes,
        Some(_) => no(),
        None => Match::Unknown(format!("Image for {spec}; of which kind {} is is not known.", target.name)),
    };
    let when = |holds: bool| if holds { Match::Yes } else { no() };
    match spec {
        "spir64" => when(opencl),
        "spir64_x86_64" if opencl => kind(DeviceType::Cpu),
        "spir64_gen" if opencl => kind(DeviceType::Gpu),
        "nvptx64" => when(backend == Backend::Cuda),
        "amdgcn" => when(backend == Backend::Hip),
        "native_cpu" => when(backend == Backend::NativeCpu),
        _ => no(),
    }
}

/// Checks what the image is compiled for, its instruction set and its imports.
pub fn check(image: &Examined<'_, '_>, subject: &Subject<'_>, fit: &mut Fit) {
    match matches(image.image, subject) {
        Match::Yes => {}
        Match::No(message) => fit.reason(RuleId::Target, message),
        Match::Unknown(message) => fit.gap(RuleId::Target, message),
    }
    let spec = spec(image.image);
    let native = !image.format.is_intermediate() && image.format != Format::Unknown;
    if native && spec == "spir64_gen" && image.image.compile_target().is_none() {
        match image.coverage(&subject.target.name) {
            Some(Coverage::Native | Coverage::Jit) => {}
            Some(Coverage::None) => {
                let devices = image.native.as_ref().map(|native| native.devices().join(", ")).unwrap_or_default();
                let message =
                    format!("Image is native code for {devices}, without SPIR-V; the driver refuses it here.");
                fit.reason(RuleId::Target, message);
            }
            None => {
                let message =
                    "Image is native code for an Intel GPU that it does not name; the runtime hands it to any.";
                fit.gap(RuleId::Target, message);
            }
        }
    }
    if let Some(needed) = image.march {
        instruction_set(needed, subject, fit);
    }
    if let Some(names) = named(&image.unlisted_imports) {
        let message = format!(
            "The module imports {names}, which the image does not list, so that the runtime links nothing to it."
        );
        fit.reason(RuleId::UnlistedImports, message);
    }
    let Some(names) = named(&image.imports) else { return };
    if spec == "spir64" || spec == "spir64_gen" {
        fit.gap(RuleId::Imports, format!("the image imports {names}, which other images must define"));
    } else {
        let message = format!("Cannot resolve external symbols, linking is unsupported for the backend: {names}.");
        fit.reason(RuleId::Imports, message);
    }
}

/// The first of some symbols, and how many more there are; none of none.
fn named(symbols: &[String]) -> Option<String> {
    let (first, more) = symbols.split_first()?;
    Some(if more.is_empty() { format!("`{first}`") } else { format!("`{first}` and {} more", more.len()) })
}

/// Code for a newer instruction set than the machine's is refused with -42.
fn instruction_set(needed: CpuArch, subject: &Subject<'_>, fit: &mut Fit) {
    match subject.march {
        Some(own) if needed <= own => {}
        Some(own) => {
            fit.reason(
                RuleId::Target,
                format!("Image is native code for {needed}, which a CPU with {own} refuses (-42)."),
            );
        }
        // The baseline is what every CPU in use has.
        None if needed <= DEFAULT => {}
        None => fit.gap(RuleId::Target, format!("Image is native code for CPUs with {needed} or newer.")),
    }
}
