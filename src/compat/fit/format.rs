//! Is this image of a kind that the device takes, for the device, and does its compiler take the SPIR-V?
//!
//! Drivers tell what they take only in part, and take more than they tell. So only what is known to be refused is a
//! reason; what is in no list is a gap.

use super::intel_gpu::is_dg2_or_newer;
use super::{Fit, Subject};
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::compat::built_in::{is_known, of_ray_tracing};
use crate::compat::examine::Examined;
use crate::compat::finding::RuleId;
use crate::compat::native;
use crate::device;
use crate::device::cpu::{CpuArch, DEFAULT};
use crate::device::target::{Backend, DeviceType, Has, Target};
use crate::limits;
use crate::native::{Coverage, Driver, Taken, gpu_of, is_amd_target};
use crate::spirv::Module;
use crate::spirv::grammar::capability_name;
use std::collections::HashSet;

/// Whether the runtime counts an image among those for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Match {
    /// The runtime counts it.
    Yes,
    /// The runtime does not count it, for this reason.
    No(String),
    /// The answer hangs on what is not known of the target.
    Unknown(String),
}

/// Targets whose images for `spir64_x86_64` the runtime takes.
const CPUS: [&str; 5] = ["spir64_x86_64", "x86_64", "intel_cpu_spr", "intel_cpu_gnr", "intel_cpu_dmr"];

/// Kind of the images of DPC++, in their structures.
const DPCPP: u8 = 4;

/// The spec of an image's target without vendor and system; a bare module is `spir64`.
pub(crate) fn spec<'a>(image: &Image<'a>) -> &'a str {
    // DPC++'s runtime compares the whole of what an image that it registers says.
    let is_whole = image.origin.is_some_and(|origin| origin.kind == DPCPP);
    let plain = if is_whole { image.target } else { image.target.split('-').next().unwrap_or_default() };
    match plain {
        // AMD's flavour of SPIR-V, which no SYCL runtime hands to a device.
        "spirv64" if image.target.starts_with("spirv64-amd-") => "spirv64-amd-amdhsa",
        "" if image.origin.is_none() => "spir64",
        "spirv64" if !is_whole => "spir64",
        "llvm_nvptx64" => "nvptx64",
        "llvm_amdgcn" => "amdgcn",
        own => own,
    }
}

/// Whether code that was compiled for what a label names is for a target.
fn is_called(target: &Target, label: &str) -> bool {
    let is_alias = target.aliases.iter().any(|own| own == label);
    label == target.name || is_named(target, label) || is_alias || is_short_name(&target.name, label)
}

/// Whether a label is the name that the runtime has for a target, or for a family of its. It knows no other names, and compares
/// the whole of this (`getArchName`, without the aliases of `device_architecture.def`).
fn is_named(target: &Target, label: &str) -> bool {
    let is_family = || label.starts_with("intel_gpu_") && target.families.iter().any(|own| own == label);
    let is_cpu = || label == "spir64_x86_64" && CPUS.contains(&target.name.as_str());
    let is_device = !ANY.contains(&target.name.as_str()) && (label == target.name || label == gpu_of(target));
    is_device || is_cpu() || is_family()
}

/// Targets that stand for many devices, none of which the runtime calls so.
const ANY: [&str; 6] = ["spir64", "spir64_gen", "spir64_fpga", "nvptx64", "amdgcn", "native_cpu"];

/// `doesImageTargetMatchDevice` where a name is recorded.
fn matches_recorded(target: &Target, label: &str) -> Match {
    let is_known = |name: &str| device::table().target(name).is_some_and(|known| known.architecture_id.is_some());
    if is_named(target, label) {
        Match::Yes
    } else if ANY.contains(&label) {
        Match::No(format!("Image is recorded to be compiled for {label}, which is the name of no device."))
    } else if is_called(target, label) {
        let message = format!("Image is recorded to be compiled for {label}, which is not what the runtime calls");
        let name = gpu_of(target);
        if is_known(&name) { Match::No(format!("{message} {name}.")) } else { Match::Unknown(format!("{message} it.")) }
    } else {
        other_device(target, label)
    }
}

/// The answer for code that was compiled for another device than a target, or for one of those that it stands for.
fn other_device(target: &Target, label: &str) -> Match {
    if target.name == "spir64_x86_64" && (label == "x86_64" || label.starts_with("intel_cpu_")) {
        Match::Unknown(format!("Image was compiled for {label}; which CPU is meant is not known."))
    } else if target.name == "spir64_gen" && label.starts_with("intel_gpu_") {
        Match::Unknown(format!("Image was compiled for {label}; which Intel GPU is meant is not known."))
    } else if target.name == "spir64" {
        Match::Unknown(format!("Image was compiled for {label}; which device is meant is not known."))
    } else if runs_on_amd(target, label) == Has::Unknown {
        let message = "which devices that is for, or whether one is set so, is not known.";
        Match::Unknown(format!("Image was compiled for {label}; {message}"))
    } else {
        Match::No(format!("Image was compiled for {label}, not for {}.", target.name))
    }
}

/// Whether code that was compiled for an AMD GPU with features, or for a generic one, is for a target (`gfx90a:xnack+`), or AMD's SPIR-V.
fn runs_on_amd(target: &Target, label: &str) -> Has {
    let gpu = target.name.strip_prefix("amd_gpu_").filter(|_| label.starts_with("gfx") || label == "amdgcnspirv");
    gpu.map_or(Has::No, |gpu| is_amd_target(label, gpu))
}

/// Whether a label is the name of a target's GPU without its maker, as ocloc and LLVM's tools spell it (`acm-g10`, `sm_80`).
pub(crate) fn is_short_name(target: &str, label: &str) -> bool {
    let makers = ["intel_gpu_", "nvidia_gpu_", "amd_gpu_"];
    let mut own = makers.iter().filter_map(|maker| target.strip_prefix(maker));
    own.any(|own| own == label.replace('-', "_"))
}

/// `doesImageTargetMatchDevice`: by the target that the image was compiled for where it says so, else by its spec.
pub(crate) fn matches(image: &Image<'_>, subject: &Subject<'_>) -> Match {
    let target = subject.target;
    if image.is_of_adaptivecpp() {
        let message =
            format!("Image is for AdaptiveCpp's runtime alone; whether that runs it on {} is not known.", target.name);
        return Match::Unknown(message);
    }
    // A container's `spir64` is that of any device.
    let recorded = image.properties.get(set::REQUIREMENTS, key::COMPILE_TARGET).is_some();
    if let Some(label) = image.compile_target().filter(|label| recorded || *label != "spir64") {
        return match recorded {
            true => matches_recorded(target, label),
            false if is_called(target, label) || label == "x86_64" && CPUS.contains(&target.name.as_str()) => {
                Match::Yes
            }
            false if runs_on_amd(target, label) == Has::Yes => Match::Yes,
            false => other_device(target, label),
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

/// Tells whether native code of a SPIR-V image can be made for a target whose adapter takes no SPIR-V, and says so; none of
/// other images and targets.
pub(crate) fn buildable(image: &Examined<'_, '_>, subject: &Subject<'_>) -> Option<(bool, String)> {
    let is_spirv = image.format == Format::SpirV && !image.image.is_of_adaptivecpp();
    if subject.backend != Some(Backend::Cuda) || !is_spirv {
        return None;
    }
    let lead = "Image is SPIR-V, which CUDA's adapter does not take";
    let stay = native::not_alone(image)
        .or_else(|| native::anywhere(image))
        .or_else(|| native::on_nvidia(image))
        .or_else(|| native::open_constants(image));
    let target = &subject.target.name;
    Some(match stay {
        Some(stay) => (false, format!("{lead}, and it cannot be built for {target}: {stay}.")),
        None => (true, format!("{lead}; it can be built for {target}.")),
    })
}

/// Checks what the image is compiled for, its instruction set and its imports.
pub(crate) fn check(image: &Examined<'_, '_>, subject: &Subject<'_>, fit: &mut Fit) {
    let matched = matches(image.image, subject);
    let taken = matched == Match::Yes;
    match matched {
        Match::Yes => {}
        Match::No(message) => fit.reason(RuleId::Target, buildable(image, subject).map_or(message, |(_, said)| said)),
        Match::Unknown(message) => fit.gap(RuleId::Target, message),
    }
    let spec = spec(image.image);
    let native = image.format == Format::Ptx || !image.format.is_intermediate() && image.format != Format::Unknown;
    if native && spec == "spir64_gen" && taken {
        let form = image.refused_form(subject);
        if let Some((certain, drivers)) = form {
            let message =
                format!("Image is native code, without SPIR-V inside, of a form that is refused (-42) by {drivers}.");
            if certain { fit.reason(RuleId::Target, message) } else { fit.gap(RuleId::Target, message) }
        }
        match image.coverage(subject) {
            Some(Coverage::None) if form.is_none() => {
                let devices = image.native.as_ref().map(|native| native.devices_beside(&gpu_of(subject.target)));
                let devices = devices.unwrap_or_default();
                let message =
                    format!("Image is native code for {devices}, without SPIR-V; the driver refuses it here.");
                fit.reason(RuleId::Target, message);
            }
            None if image.image.compile_target().is_none() => {
                let message =
                    "Image is native code for an Intel GPU that it does not name; the runtime hands it to any.";
                fit.gap(RuleId::Target, message);
            }
            Some(_) | None => {}
        }
    }
    if taken && image.format == Format::LlvmBitcode && image.image.origin.is_some() && spec.starts_with("spir64") {
        let message = format!("Image is LLVM bitcode, which no driver of {} takes.", subject.target.name);
        fit.reason(RuleId::Target, message);
    }
    if taken && (native || image.format == Format::Unknown) {
        made_for(image, subject, fit);
    }
    declared(image, fit);
    if image.format == Format::Pocl && spec == "spir64_x86_64" {
        let message = "Image is code of PoCL, which runs where PoCL is the OpenCL driver; Intel's refuses it (-42).";
        fit.gap(RuleId::Target, message);
    }
    if let Some(needed) = image.march {
        instruction_set(needed, subject, fit);
    }
    let gpu = subject.target.device_type == Some(DeviceType::Gpu);
    let (rays, missing): (Vec<String>, Vec<String>) =
        image.unlisted_imports.iter().cloned().partition(|symbol| gpu && of_ray_tracing(symbol));
    if let Some(names) = named(&rays) {
        let message = format!("The module calls {names}, which compilers of GPUs with ray tracing define; ");
        let name = &subject.target.name;
        match subject.target.ip_versions.first().map(is_dg2_or_newer) {
            Some(true) => {}
            Some(false) => fit.reason(RuleId::UnlistedImports, format!("{message}{name} is none.")),
            None => fit.gap(RuleId::UnlistedImports, format!("{message}whether {name} is one is not known.")),
        }
    }
    if let Some(names) = named(&missing) {
        let message = format!(
            "The module imports {names}, which the image does not list, so that the runtime links nothing to it."
        );
        fit.reason(RuleId::UnlistedImports, message);
    }
    // Of the SPIR-V in compiled code the image lists nothing.
    let inside =
        image.compiled(subject).filter(|_| image.module.is_none()).into_iter().flat_map(|module| &module.imports);
    let inside = inside.filter(|symbol| !is_known(symbol));
    let strange: Vec<String> = image.strange_imports.iter().chain(inside).cloned().collect();
    if let Some(names) = named(&strange) {
        let message = format!(
            "The module calls {names}, which it does not define; whether compilers of {} do is not known.",
            subject.target.name
        );
        fit.gap(RuleId::UnlistedImports, message);
    }
    let Some(names) = named(&image.imports) else { return };
    if spec == "spir64" || spec == "spir64_gen" {
        fit.gap(RuleId::Imports, format!("the image imports {names}, which other images must define"));
    } else {
        let message = format!("Cannot resolve external symbols, linking is unsupported for the backend: {names}.");
        fit.reason(RuleId::Imports, message);
    }
}

/// Checks the format that an image structure declares, by which the runtime goes where it is not told to detect it.
fn declared(image: &Examined<'_, '_>, fit: &mut Fit) {
    if image.image.origin.is_none() {
        return;
    }
    let (said, holds) = match image.image.declared {
        Declared::None | Declared::Other(_) => return,
        Declared::Native => ("native", !image.format.is_intermediate() || image.format == Format::Ptx),
        Declared::SpirV => ("spir-v", image.format == Format::SpirV),
        Declared::LlvmBitcode => ("llvm-bitcode", image.format == Format::LlvmBitcode),
        Declared::CompressedNone => ("a zstd frame that states its size", !image.image.lacks_its_size()),
    };
    if !holds {
        fit.reason(RuleId::Target, format!("Image is declared to be {said}, which the runtime believes, and is not."));
    }
}

/// Maker of the devices that a format of native code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Amd,
    Intel,
    Nvidia,
}

fn maker(format: Format) -> Option<Maker> {
    match format {
        Format::Zebin | Format::PatchTokens | Format::Ar => Some(Maker::Intel),
        Format::Ptx | Format::Cubin | Format::Fatbin => Some(Maker::Nvidia),
        Format::Hsaco => Some(Maker::Amd),
        Format::SpirV | Format::LlvmBitcode | Format::Elf | Format::Pocl | Format::NativeCpu | Format::Unknown => None,
    }
}

/// The maker of a GPU, where its target tells.
fn maker_of(target: &Target) -> Option<Maker> {
    match &target.name {
        _ if !target.ip_versions.is_empty() => Some(Maker::Intel),
        name if name.starts_with("nvidia_gpu_") => Some(Maker::Nvidia),
        name if name.starts_with("amd_gpu_") => Some(Maker::Amd),
        _ => None,
    }
}

/// Checks native code of an image that the runtime takes against the GPU: a label may name another than the code does.
fn made_for(image: &Examined<'_, '_>, subject: &Subject<'_>, fit: &mut Fit) {
    let target = subject.target;
    let name = &target.name;
    let (code, own) = (maker(image.format), maker_of(target));
    let cpu = spec(image.image) == "spir64_x86_64";
    match (code, own) {
        (Some(_), _) if cpu => {
            let message = format!("Image is code in format {}, which no driver of CPUs takes.", image.format.name());
            return fit.reason(RuleId::Target, message);
        }
        (None, None) if image.format == Format::Unknown && !cpu => {
            return fit.gap(RuleId::Target, format!("Image is of no known format; {name} may not take it."));
        }
        (None, _) if cpu => {
            if image.march.is_none() && image.format != Format::Pocl {
                fit.gap(RuleId::Target, "Image is for CPUs, and nothing that a driver of these is known to have made.");
            }
            return;
        }
        (Some(code), Some(own)) if code != own => {
            let message =
                format!("Image is code in format {}, which is for no device of {name}'s maker.", image.format.name());
            return fit.reason(RuleId::Target, message);
        }
        (None, Some(_)) => {
            return fit.gap(
                RuleId::Target,
                format!("Image is code of which the device is not known; {name} may not take it."),
            );
        }
        (Some(Maker::Nvidia | Maker::Amd), None)
            if subject.backend.is_some_and(|backend| backend == Backend::OpenCl || backend == Backend::LevelZero) =>
        {
            let message =
                format!("Image is code in format {}; whether {name} takes that is not known.", image.format.name());
            return fit.gap(RuleId::Target, message);
        }
        (Some(Maker::Nvidia | Maker::Amd), Some(_)) => {}
        _ => return,
    }
    let Some(native) = &image.native else { return };
    match native.taken(name, Driver::of_target(target, subject.backend).0.with_any_form()) {
        Taken::Part(..) => {}
        Taken::Nothing => {
            let devices = native.devices_beside(name);
            fit.reason(RuleId::Target, format!("Image is native code for {devices}, which does not run on {name}."));
        }
        Taken::Unknown => fit.gap(RuleId::Target, format!("whether the native code runs on {name} is not known")),
    }
}

/// Symbols that a message names.
const NAMES_TOLD: usize = 8;

/// Some symbols in order, each cut where it is longer than any that a person reads; beyond the first few how many more there
/// are, with a digest of these: a baseline knows a finding by its message. None of none.
pub(crate) fn named(symbols: &[String]) -> Option<String> {
    let mut all: Vec<&str> = symbols.iter().map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    let (mut told, mut room): (Vec<String>, usize) = (Vec::new(), limits::MAX_NAME);
    for name in all.iter().take(NAMES_TOLD) {
        if !told.is_empty() && name.len() > room {
            break;
        }
        room = room.saturating_sub(name.len());
        told.push(match name.char_indices().nth(limits::MAX_NAME) {
            Some((end, _)) => format!("`{}...`", name.get(..end).unwrap_or_default()),
            None => format!("`{name}`"),
        });
    }
    let rest = all.get(told.len()..).unwrap_or_default();
    let told = Some(told.join(", ")).filter(|told| !told.is_empty())?;
    if rest.is_empty() {
        return Some(told);
    }
    let digest = blake3::hash(rest.join("\0").as_bytes()).to_hex();
    Some(format!("{told} and {} more ({})", rest.len(), digest.get(..8).unwrap_or_default()))
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

/// Capabilities that every OpenCL device with SPIR-V takes (OpenCL SPIR-V Environment Specification, 3.1 and 3.2), and
/// those that aspects stand for.
const CORE: [&str; 14] = [
    "Addresses",
    "Float16",
    "Float16Buffer",
    "Float64",
    "GenericPointer",
    "Groups",
    "Int16",
    "Int64",
    "Int64Atomics",
    "Int8",
    "Kernel",
    "Linkage",
    "SubgroupDispatch",
    "Vector16",
];

/// Generator of modules for AMD GPUs, which call intrinsics of LLVM that no other compiler has.
const AMD_FLAVOUR: u32 = 0xffff;

/// Checks version, capabilities and extensions of a module.
pub(crate) fn spirv(module: &Module, subject: &Subject<'_>, fit: &mut Fit) {
    if !subject.takes_spirv() {
        // Said once of the image: no SPIR-V is taken there.
        return;
    }
    let target = subject.target;
    if module.generator >> 16 == AMD_FLAVOUR {
        let message =
            format!("the module is of AMD's flavour of SPIR-V, which the compiler of {} does not take", target.name);
        return fit.reason(RuleId::SpirvVersion, message);
    }
    if target.brief {
        return;
    }
    let (major, minor) = module.version;
    match target.spirv_version {
        Some(newest) if module.version <= newest => {}
        Some((known, to)) => fit.gap(
            RuleId::SpirvVersion,
            format!("the module is SPIR-V {major}.{minor}; {} is known to take up to {known}.{to}", target.name),
        ),
        None => fit.gap(RuleId::SpirvVersion, format!("which SPIR-V {} takes is not known", target.name)),
    }
    capabilities(module, target, fit);
    if module.unknown > 0 {
        let message = format!("the module has instructions ({}) that no grammar has", module.unknown);
        fit.gap(RuleId::Unread, message);
    }
    let on_cpus = module.lacking_on_cpus.iter().copied().filter(|_| target.device_type == Some(DeviceType::Cpu));
    let on_gpus = module.lacking_on_gpus.iter().copied().filter(|_| !target.ip_versions.is_empty());
    for what in module.unusual.iter().map(String::as_str).chain(on_cpus).chain(on_gpus) {
        fit.gap(RuleId::Capability, format!("whether {} takes `{what}` is not known", target.name));
    }
    let mut seen: HashSet<&str> = HashSet::new();
    for name in module.extensions.iter().map(String::as_str) {
        let known = target.spirv_extensions.as_ref().is_some_and(|own| own.iter().any(|own| own == name));
        if !known && seen.insert(name) {
            fit.gap(RuleId::Extension, format!("whether {} takes {name} is not known", target.name));
        }
    }
}

fn capabilities(module: &Module, target: &Target, fit: &mut Fit) {
    let mut numbers = module.capabilities.clone();
    numbers.sort_unstable();
    numbers.dedup();
    for name in numbers.into_iter().map(capability_name) {
        let among = |list: &[String]| list.iter().any(|own| *own == name);
        if among(&target.spirv_refused_capabilities) {
            fit.reason(RuleId::Capability, format!("Device compiler does not support SPIR-V capability {name}."));
        } else if !CORE.contains(&name.as_ref()) && !target.spirv_capabilities.as_deref().is_some_and(among) {
            let message = format!("whether {} takes SPIR-V capability {name} is not known", target.name);
            fit.gap(RuleId::Capability, message);
        }
    }
}
