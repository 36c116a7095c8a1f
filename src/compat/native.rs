//! Must this image stay SPIR-V on CPU devices?
//!
//! Native code takes the place of SPIR-V for good: the runtime does not fall back once it has chosen. So an image is
//! compiled only where the native code does everything the SPIR-V did. What cannot be told from outside (a capability
//! that the driver lacks) is left to the driver, which refuses it.

use super::built_in::is_of_library;
use super::examine::Examined;
use crate::bundle::format::Format;
use crate::bundle::property_sets::{key, set};
use crate::bundle::spec_constants::ITT;
use crate::spirv::Module;
use std::fmt;

/// Sub-group sizes of Intel's OpenCL CPU driver (`CL_DEVICE_SUB_GROUP_SIZES_INTEL` of 2026.2).
pub(crate) const CPU_SUB_GROUP_SIZES: [u32; 5] = [4, 8, 16, 32, 64];

/// `CL_DEVICE_MAX_WORK_GROUP_SIZE` of Intel's OpenCL CPU driver 2026.2.
pub(crate) const CPU_MAX_WORK_GROUP_SIZE: u64 = 8192;

/// A reason why an image is not compiled for the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Native already, or of a format that no OpenCL driver translates.
    NotSpirV(Format),
    /// No kernels: the runtime takes it only to link it with others, as SPIR-V.
    NoKernel,
    /// The image imports symbols, and the runtime links SPIR-V only.
    Imports(Vec<String>),
    /// The image and those that define what it imports do not fit together: the reason.
    NotLinked(String),
    /// The image's specialization constants are set in SPIR-V; native code would keep the defaults.
    SpecConstants(usize),
    /// Specialization constants of the image got no value, where others did: these.
    OpenConstants(Vec<String>),
    /// A rule leaves it out: where that stands.
    Rule(String),
    /// Explicit-SIMD code, which Intel GPUs alone run.
    Esimd,
    /// Inline assembly, whose directives have the driver's assembler read any file (`.incbin`).
    Assembly,
    /// Functions that the CPU driver calls while it builds a program (`llvm.global_ctors`): code of a file would run unasked.
    Constructors,
    /// Instructions that are longer or shorter than their operands: the driver would read another module than this tool.
    Overruns,
    /// The image takes part in virtual function calls, which the runtime resolves by linking SPIR-V.
    VirtualFunctions,
    /// The image has device globals of its own, by these names, of which native code beside it would have others.
    ImageScope(Vec<String>),
    /// The image requires an aspect that no CPU has.
    Aspect(String),
    /// The image requires a sub-group size that the CPU driver lacks.
    SubGroupSize(u32),
    /// The image requires a larger work-group than the CPU driver runs.
    WorkGroupSize(u64),
    /// The image does what no NVIDIA GPU, or none of its compilers, does.
    Nvidia(String),
    /// The profile has no code of the driver's that would do: the reason.
    NotRecorded(String),
}

/// The first of several names, and how many more there are.
fn some_of(names: &[String]) -> String {
    let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stay::NotSpirV(format) => write!(f, "it is {}, not SPIR-V", format.name()),
            Stay::NoKernel => f.write_str("it holds no kernel"),
            Stay::Imports(names) => match names.as_slice() {
                [name] => write!(f, "it imports {name}"),
                [name, ..] => write!(f, "it imports {name} and {} more symbols", names.len().saturating_sub(1)),
                [] => f.write_str("it imports symbols"),
            },
            Stay::NotLinked(why) => write!(f, "it cannot be linked with what it imports: {why}"),
            Stay::SpecConstants(1) => f.write_str("it has a specialization constant, which is set in SPIR-V only"),
            Stay::SpecConstants(count) => {
                write!(f, "it has {count} specialization constants, which are set in SPIR-V only")
            }
            Stay::OpenConstants(names) => {
                write!(f, "its specialization constants {} got no value", some_of(names))
            }
            Stay::Rule(file) => write!(f, "a rule of {file} leaves it out"),
            Stay::Esimd => f.write_str("it is explicit SIMD (ESIMD) code for Intel GPUs"),
            Stay::Assembly => {
                f.write_str("it has inline assembly, by which a module reads any file of whoever compiles it")
            }
            Stay::Constructors => f.write_str("it has constructors, which the driver runs while it compiles"),
            Stay::Overruns => f.write_str(
                "it has instructions that are not as long as they should be, or that drivers may read with another length: what is \
                 behind them would be another module",
            ),
            Stay::VirtualFunctions => f.write_str("it defines or calls virtual functions, which are linked as SPIR-V"),
            Stay::ImageScope(names) => write!(
                f,
                "it has {} for itself (device_image_scope), and the host would write to that of the SPIR-V",
                some_of(names)
            ),
            Stay::Aspect(aspect) => write!(f, "it requires aspect {aspect}, which no CPU has"),
            Stay::SubGroupSize(size) => write!(
                f,
                "it requires sub-group size {size}; the CPU driver has {}",
                CPU_SUB_GROUP_SIZES.map(|size| size.to_string()).join(", ")
            ),
            Stay::WorkGroupSize(size) => {
                write!(
                    f,
                    "it requires work-groups of {size} items; the CPU driver runs up to {CPU_MAX_WORK_GROUP_SIZE}"
                )
            }
            Stay::Nvidia(what) => write!(f, "it {what}, which cannot be made for NVIDIA GPUs"),
            Stay::NotRecorded(why) => f.write_str(why),
        }
    }
}

impl Stay {
    /// A word for grouping images that stay for the same kind of reason.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Stay::NotSpirV(_) => "not SPIR-V",
            Stay::NoKernel => "no kernel",
            Stay::Imports(_) | Stay::NotLinked(_) => "imported symbols",
            Stay::SpecConstants(_) | Stay::OpenConstants(_) => "specialization constants",
            Stay::Rule(_) => "rules",
            Stay::Esimd => "explicit SIMD",
            Stay::Assembly => "inline assembly",
            Stay::Constructors => "constructors",
            Stay::Overruns => "lengths of instructions",
            Stay::VirtualFunctions => "virtual functions",
            Stay::ImageScope(_) => "device globals",
            Stay::Aspect(_) => "aspect",
            Stay::SubGroupSize(_) => "sub-group size",
            Stay::WorkGroupSize(_) => "work-group size",
            Stay::Nvidia(_) => "Intel GPUs alone",
            Stay::NotRecorded(_) => "no code of the driver's",
        }
    }
}

impl Stay {
    /// Tells the user how the image can be compiled; none where nothing helps.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        match self {
            Stay::SpecConstants(_) => Some(
                "--spec NAME=VALUE compiles it with values of your choice, --spec-defaults with those of the source; \
                 programs that set others go on using the SPIR-V",
            ),
            Stay::OpenConstants(_) => {
                Some("--spec NAME=VALUE gives these a value too, --spec-defaults those of the source")
            }
            Stay::Imports(_) => Some("`sycl-bundle link` makes one image of it and those that define what it imports"),
            Stay::ImageScope(_) => {
                Some("a device global without device_image_scope is one for all programs of a device")
            }
            _ => None,
        }
    }
}

/// Aspects that name another kind of device, or that only GPUs have.
fn no_cpu_has(aspect: &str) -> bool {
    matches!(aspect, "gpu" | "accelerator" | "custom" | "ext_intel_esimd" | "ext_oneapi_cuda_cluster_group")
        || aspect.starts_with("ext_intel_gpu_")
        || aspect.starts_with("ext_oneapi_bindless_")
        || aspect.starts_with("ext_oneapi_cuda_")
}

/// Tells why an image cannot become an executable by itself, on any kind of device: it is none that is compiled, has no
/// kernel, or imports something.
pub(crate) fn not_alone(examined: &Examined<'_, '_>) -> Option<Stay> {
    if examined.module.is_none() {
        return Some(Stay::NotSpirV(examined.format));
    }
    if examined.kernels.is_empty() {
        return Some(Stay::NoKernel);
    }
    let open: Vec<String> = examined.imports.iter().filter(|import| !is_of_library(import)).cloned().collect();
    (!open.is_empty()).then_some(Stay::Imports(open))
}

/// Whether specialization constants are in the way: native code has one value of each.
pub(crate) fn open_constants(examined: &Examined<'_, '_>) -> Option<Stay> {
    let image = examined.image;
    let module = examined.module.as_ref()?;
    let flag = |name| image.properties.number(set::MISC, name) == Some(1);
    // Native code is without instrumentation, as SPIR-V is unless a profiler asks.
    let in_module = module.spec_constants.iter().filter(|id| **id != ITT).count();
    let constants = image.properties.set(set::SPEC_CONSTANTS).len().max(in_module);
    (constants > 0 && !flag(key::SPEC_REPLACED)).then_some(Stay::SpecConstants(constants))
}

/// Tells what native code cannot do for SPIR-V on any kind of device, but for [`open_constants`].
pub(crate) fn anywhere(examined: &Examined<'_, '_>) -> Option<Stay> {
    let image = examined.image;
    if examined.module.is_none() {
        return Some(Stay::NotSpirV(examined.format));
    }
    if image.is_of_a_set() {
        return Some(Stay::VirtualFunctions);
    }
    None
}

/// Tells what native code cannot do beside SPIR-V that the same devices take: the runtime launches kernels from one, and copies
/// to a device global with `device_image_scope` in the other.
pub(crate) fn beside_spirv(examined: &Examined<'_, '_>) -> Option<Stay> {
    let own = examined.image.device_globals().filter(|(_, of_image)| *of_image);
    let names: Vec<String> = own.map(|(name, _)| name.to_owned()).collect();
    (!names.is_empty()).then_some(Stay::ImageScope(names))
}

/// Capabilities of SPIR-V that cannot be had on NVIDIA GPUs, and what a module with one does.
const NOT_ON_NVIDIA: [(u32, &str); 13] = [
    (13, "uses images"),
    (5569, "reads blocks of sub-groups (SPV_INTEL_subgroups)"),
    (5570, "reads blocks of images"),
    (5579, "reads blocks of images"),
    (5603, "calls functions by pointers"),
    (5604, "calls functions by pointers"),
    (5617, "is explicit SIMD (ESIMD) code"),
    (6022, "multiplies matrices (joint_matrix)"),
    (6118, "multiplies matrices (joint_matrix)"),
    (6141, "uses split barriers"),
    (6228, "reads blocks of two dimensions"),
    (6236, "multiplies matrices of sub-groups"),
    (6528, "uses bindless images"),
];
/// Size of every sub-group of NVIDIA GPUs.
pub(crate) const NVIDIA_SUB_GROUP_SIZE: u32 = 32;

/// Tells what cannot be made for NVIDIA GPUs.
pub(crate) fn on_nvidia(examined: &Examined<'_, '_>) -> Option<Stay> {
    if examined.is_esimd() {
        return Some(Stay::Esimd);
    }
    if let Some(size) = examined.sub_group_sizes().into_iter().find(|size| *size != NVIDIA_SUB_GROUP_SIZE) {
        return Some(Stay::Nvidia(format!("requires sub-group size {size}")));
    }
    let module = examined.module.as_ref()?;
    if let Some(stay) = beyond_compiling(module) {
        return Some(stay);
    }
    let capabilities = &module.capabilities;
    let found = NOT_ON_NVIDIA.into_iter().find(|(number, _)| capabilities.contains(number));
    found.map(|(_, what)| Stay::Nvidia(what.to_owned()))
}

/// Tells what a module has a CPU driver do beside compiling it, for whoever wrote the module: reading files, running code.
pub(crate) fn beyond_compiling(module: &Module) -> Option<Stay> {
    if module.declares_assembly() {
        return Some(Stay::Assembly);
    }
    done_beside(module)
}

/// Tells which instructions of a module have a CPU driver do something beside compiling.
fn done_beside(module: &Module) -> Option<Stay> {
    if module.uses_assembly {
        return Some(Stay::Assembly);
    }
    if module.has_constructors {
        return Some(Stay::Constructors);
    }
    module.overruns.then_some(Stay::Overruns)
}

/// Tells why a module's bytes are not handed to a compiler by which whoever wrote them would run code or read files: they are
/// damaged, or do something beside being compiled. A capability that is declared alone does nothing: probes declare each.
pub(crate) fn not_compiled(il: &[u8]) -> Option<String> {
    match Module::parse(il) {
        Err(error) => Some(error.to_string()),
        Ok(Module { stopped: Some(error), .. }) => Some(error.to_string()),
        Ok(module) => done_beside(&module).map(|stay| stay.to_string()),
    }
}

/// Tells what the image needs and no CPU has, or does.
pub(crate) fn on_cpu(examined: &Examined<'_, '_>) -> Option<Stay> {
    if examined.is_esimd() {
        return Some(Stay::Esimd);
    }
    if let Some(stay) = beyond_compiling(examined.module.as_ref()?) {
        return Some(stay);
    }
    let required = &examined.requirements;
    if let Some(aspect) = required.aspects.iter().find(|aspect| no_cpu_has(aspect)) {
        return Some(Stay::Aspect(aspect.clone()));
    }
    if let Some(size) = examined.sub_group_sizes().into_iter().find(|size| !CPU_SUB_GROUP_SIZES.contains(size)) {
        return Some(Stay::SubGroupSize(size));
    }
    let items = |size: &Vec<u64>| size.iter().fold(1u64, |product, side| product.saturating_mul(*side));
    let largest = examined.work_group_sizes().iter().map(items).max().unwrap_or_default();
    (largest > CPU_MAX_WORK_GROUP_SIZE).then_some(Stay::WorkGroupSize(largest))
}
