//! Which image does the runtime choose for a kernel on a device, and what becomes of it?
//!
//! Step by step as the runtime of 2026: images of the kernel, those for the device
//! (`doesImageTargetMatchDevice`), the adapter's pick (`urDeviceSelectBinary` of each in intel/llvm
//! `unified-runtime/source/adapters`), the check of its requirements. After the pick there is no way back: where the
//! check fails, another image that would have run does not matter.

use super::examine::Examined;
use super::finding::{Finding, Verdict};
use super::fit::{Match, Subject, fit, matches, runtime_checks, spec};
use crate::bundle::image::State;
use crate::device::target::{Backend, DeviceType};
use crate::names::told_of_each;
use crate::native::Coverage;

/// A way in which the choice goes wrong, or may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trap {
    /// Several images are equally good and the runtime's order is that of a hash table.
    Ambiguous,
    /// The chosen image fails where another that was passed over would run.
    NoFallback,
    /// Native code for an Intel GPU that the image does not name.
    AnyGpu,
    /// Native CPU code with imports, which nothing resolves.
    NativeImports,
    /// Native code for another GPU that an executable bundle of the kernel takes in, and the driver refuses.
    KernelBundle,
}

/// The way to an image.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// Places, among the images given, of those with the kernel.
    pub(crate) of_kernel: Vec<usize>,
    /// Of these, those that the runtime counts as for the device.
    pub(crate) candidates: Vec<usize>,
    /// Of those that it does not, why; also where it could not be told.
    pub(crate) passed_over: Vec<(usize, String)>,
    /// The image that the adapter picks; where several are equally good, the first of them.
    pub(crate) chosen: Option<usize>,
    /// Images that may be picked in its place: as good for the adapter, of the same target.
    pub(crate) equal: Vec<usize>,
    /// Reason why the kernel does not run, in the runtime's words.
    pub(crate) failure: Option<String>,
    /// Findings of the failed check.
    pub(crate) findings: Vec<Finding>,
    /// Surprises on the way.
    pub(crate) traps: Vec<Trap>,
    /// Whether something was not known on the way, so that the answer is not sure.
    pub(crate) unsure: bool,
}

/// Finds the image that the runtime runs a kernel from, given the places of the images with the kernel.
pub(crate) fn choose_among(
    images: &[Examined<'_, '_>],
    of_kernel: Vec<usize>,
    kernel: &str,
    subject: &Subject<'_>,
) -> Choice {
    let mut choice = Choice { of_kernel, ..Choice::default() };
    if choice.of_kernel.is_empty() {
        choice.failure = Some(format!("No kernel named {kernel} was found"));
        return choice;
    }
    for at in choice.of_kernel.clone() {
        let Some(image) = images.get(at) else { continue };
        match matches(image.image, subject) {
            Match::Yes => choice.candidates.push(at),
            Match::No(why) => choice.passed_over.push((at, why)),
            Match::Unknown(why) => {
                choice.passed_over.push((at, why));
                choice.unsure = true;
            }
        }
    }
    let best = pick(images, &choice.candidates, subject);
    choice.chosen = best.first().copied();
    let spec_of = |at: usize| images.get(at).map(|image| spec(image.image));
    let like_first = |at: &usize| choice.chosen.is_some_and(|first| spec_of(first) == spec_of(*at));
    choice.equal = best.iter().skip(1).copied().filter(like_first).collect();
    if best.len() > 1 {
        choice.traps.push(Trap::Ambiguous);
    }
    let Some(chosen) = choice.chosen.and_then(|at| images.get(at)) else {
        let label = |at: &usize| images.get(*at).map(|one| one.image.compile_target().unwrap_or(one.image.target));
        let mut labels: Vec<&str> = choice.of_kernel.iter().filter_map(label).collect();
        labels.dedup();
        let (told, beyond) = told_of_each(&labels);
        let more = if beyond > 0 { format!(", and {beyond} more") } else { String::new() };
        let targets = told.join(", ");
        choice.failure = Some(format!(
            "Kernel {kernel} has no image for the selected device. Its available images target: [{targets}{more}]."
        ));
        return choice;
    };
    check(images, chosen, subject, &mut choice);
    if choice.failure.is_none() && !refused_in_bundles(images, &choice.of_kernel, subject).is_empty() {
        choice.traps.push(Trap::KernelBundle);
    }
    choice
}

/// Finds the images of a kernel that `get_kernel_bundle` for executables has the driver of an Intel GPU build, and that it
/// refuses. The runtime takes in every native image there, whatever GPU it names (seen with libsycl 2026.2 on driver 26.27, OpenCL
/// and Level Zero); one with SPIR-V inside is compiled from that.
pub(crate) fn refused_in_bundles(
    images: &[Examined<'_, '_>],
    of_kernel: &[usize],
    subject: &Subject<'_>,
) -> Vec<usize> {
    let refused = |at: &usize| {
        images.get(*at).is_some_and(|image| {
            image.state == State::Executable
                && spec(image.image) == "spir64_gen"
                && image.coverage(subject) == Some(Coverage::None)
                && runtime_checks(image, subject.target).verdict() != Verdict::Incompatible
        })
    };
    of_kernel.iter().copied().filter(refused).collect()
}

/// The images that an adapter's pick may be: more than one where only the order decides, which is not specified.
fn pick(images: &[Examined<'_, '_>], candidates: &[usize], subject: &Subject<'_>) -> Vec<usize> {
    let of = |wanted: &str| -> Vec<usize> {
        let is = |at: &&usize| images.get(**at).is_some_and(|image| spec(image.image) == wanted);
        candidates.iter().filter(is).copied().collect()
    };
    let or = |first: Vec<usize>, second: &str| if first.is_empty() { of(second) } else { first };
    match subject.backend {
        Some(Backend::OpenCl) => {
            let wanted = match subject.target.device_type {
                Some(DeviceType::Cpu) => "spir64_x86_64",
                Some(DeviceType::Gpu) => "spir64_gen",
                Some(DeviceType::Accelerator) => "spir64_fpga",
                None => "spir64",
            };
            or(of(wanted), "spir64")
        }
        Some(Backend::LevelZero) => or(of("spir64_gen"), "spir64"),
        Some(Backend::Cuda) => of("nvptx64"),
        Some(Backend::Hip) => {
            let all = of("amdgcn");
            let arch = subject.target.name.trim_start_matches("amd_gpu_");
            // One alone is picked whatever it holds.
            let holds = |at: &&usize| all.len() > 1 && images.get(**at).is_some_and(|one| one.mentions(arch));
            let own: Vec<usize> = all.iter().filter(holds).copied().collect();
            if own.is_empty() { all } else { own }
        }
        Some(Backend::NativeCpu) => of("native_cpu"),
        None => candidates.to_vec(),
    }
}

/// The check of the chosen image, and what it means.
fn check(images: &[Examined<'_, '_>], chosen: &Examined<'_, '_>, subject: &Subject<'_>, choice: &mut Choice) {
    let checked = runtime_checks(chosen, subject.target);
    choice.unsure |= checked.verdict() == Verdict::Unknown;
    let native = !chosen.format.is_intermediate();
    let chosen_spec = spec(chosen.image);
    if let Some(reason) = checked.reasons.first() {
        choice.failure = Some(reason.message.clone());
        choice.findings = checked.reasons;
    } else if chosen_spec == "spir64_x86_64" && !chosen.imports.is_empty() {
        choice.failure = Some("Cannot resolve external symbols, linking is unsupported for the backend".to_owned());
        choice.traps.push(Trap::NativeImports);
    }
    if native && chosen_spec == "spir64_gen" {
        match chosen.coverage(subject) {
            Some(Coverage::None) => choice.failure = Some("UR_RESULT_ERROR_INVALID_BINARY".to_owned()),
            None if chosen.image.compile_target().is_none() => {
                choice.traps.push(Trap::AnyGpu);
                choice.unsure = true;
            }
            Some(Coverage::Native | Coverage::Jit) | None => {
                choice.unsure |= chosen.refused_form(subject).is_some();
            }
        }
    }
    // Once chosen, the whole image must work; only the others' fit tells what was passed over.
    let mut others = choice.candidates.iter().filter(|at| Some(**at) != choice.chosen).peekable();
    let runs = |at: &usize| images.get(*at).is_some_and(|image| fit(image, subject).verdict() != Verdict::Incompatible);
    let fails = || fit(chosen, subject).verdict() == Verdict::Incompatible || choice.failure.is_some();
    if others.peek().is_some() && fails() && others.any(runs) {
        choice.traps.push(Trap::NoFallback);
    }
}
