//! Does this image run on that target, and if not, why?
//!
//! The rules are the runtime's, in its order (`checkDevSupportDeviceRequirements` and `doesImageTargetMatchDevice` in
//! DPC++ `sycl/source/detail/program_manager/program_manager.cpp`), then what the device's compiler decides. What is not
//! known of the target is a gap, never a yes.

mod device;
mod format;
mod intel_gpu;
mod options;
#[cfg(test)]
pub(super) mod tests;
mod vector;

use super::bitcode;
use super::examine::Examined;
use super::finding::{Finding, RuleId, Verdict, remedy};
use crate::bundle::image::Image;
use crate::device::cpu::CpuArch;
use crate::device::target::{Backend, Target};
use crate::limits;
use crate::native::{Coverage, Taken};

/// A target as the runtime meets it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'t> {
    /// The target.
    pub target: &'t Target,
    /// The adapter; none where the target does not say.
    pub backend: Option<Backend>,
    /// The instruction set of a CPU, where it is known.
    pub march: Option<CpuArch>,
}

impl<'t> Subject<'t> {
    /// A target through its usual adapter.
    pub fn new(target: &'t Target) -> Subject<'t> {
        let march = target.march.first().and_then(|name| CpuArch::parse(name).ok());
        Subject { target, backend: target.backends.first().copied(), march }
    }

    /// Whether its adapter hands SPIR-V to the device at all.
    pub fn takes_spirv(&self) -> bool {
        !matches!(self.backend, Some(Backend::Cuda | Backend::Hip | Backend::NativeCpu))
    }

    /// Returns the target as another adapter reaches it.
    #[must_use]
    pub fn through(self, backend: Backend) -> Subject<'t> {
        Subject { backend: Some(backend), ..self }
    }

    /// Returns the target with CPUs of an instruction set.
    #[must_use]
    pub fn with_march(self, march: Option<CpuArch>) -> Subject<'t> {
        Subject { march: march.or(self.march), ..self }
    }
}

/// Everything that speaks against an image on a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fit {
    /// Findings that forbid the image, in the order of the rules.
    pub reasons: Vec<Finding>,
    /// Findings about unknown facts.
    pub gaps: Vec<Finding>,
}

impl Fit {
    /// The verdict: one reason forbids, else one gap leaves it open.
    pub fn verdict(&self) -> Verdict {
        match (self.reasons.is_empty(), self.gaps.is_empty()) {
            (false, _) => Verdict::Incompatible,
            (true, false) => Verdict::Unknown,
            (true, true) => Verdict::Compatible,
        }
    }

    fn reason(&mut self, rule: RuleId, message: impl Into<String>) {
        add(&mut self.reasons, Finding::new(rule, true, message, ""));
    }

    fn gap(&mut self, rule: RuleId, message: impl Into<String>) {
        add(&mut self.gaps, Finding::new(rule, false, message, ""));
    }

    /// Adds the remedies, which only depend on the rule, the aspect and the target.
    fn with_remedies(mut self, target: &Target) -> Fit {
        for finding in self.reasons.iter_mut().chain(&mut self.gaps) {
            finding.remedy = remedy(finding.rule, finding.aspect.as_deref(), target);
            finding.with_more(finding.more);
        }
        self
    }
}

/// Adds a finding; where there are very many of its rule before it, the last of them counts it.
fn add(findings: &mut Vec<Finding>, finding: Finding) {
    let alike = findings.iter().rev().take_while(|before| before.rule == finding.rule);
    let full = alike.take(limits::MAX_FINDINGS_OF_A_RULE).count() == limits::MAX_FINDINGS_OF_A_RULE;
    match findings.last_mut().filter(|_| full) {
        Some(last) => last.more = last.more.saturating_add(1),
        None => findings.push(finding),
    }
}

/// Judges an image by all rules, with the aspects that its module shows.
pub fn fit(image: &Examined<'_, '_>, subject: &Subject<'_>) -> Fit {
    fit_with(image, subject, image.used_aspects())
}

/// Judges an image by all rules, with the aspects that its code is known to use.
pub fn fit_with<'u>(image: &Examined<'_, '_>, subject: &Subject<'_>, used: impl Iterator<Item = &'u str>) -> Fit {
    let mut fit = Fit::default();
    device::check(image, subject.target, &mut fit);
    // The runtime goes by what is recorded; the device's compiler by what the code does.
    let module = image.compiled(subject);
    let used: Vec<&str> = used.collect();
    const ESIMD: &str = "ext_intel_esimd";
    if image.is_marked_esimd() && !image.requirements.aspects.iter().any(|own| own == ESIMD) && !used.contains(&ESIMD) {
        device::aspects(std::iter::once(ESIMD), subject.target, &mut fit);
    }
    if module.is_some() || image.bitcode.is_some() {
        let recorded = &image.requirements.aspects;
        // A compiler refuses the SPIR-V inside compiled code as a whole.
        let inside = module.filter(|_| image.module.is_none()).into_iter().flat_map(|source| &source.used_aspects);
        let unrecorded = used.into_iter().chain(inside.copied()).filter(|used| !recorded.iter().any(|own| own == used));
        device::aspects(unrecorded, subject.target, &mut fit);
        device::shown_sizes(image, module, subject.target, &mut fit);
    }
    if let Some(module) = module {
        for fault in &module.faults {
            fit.gap(RuleId::Damaged, fault.as_str());
        }
        for name in &module.theirs {
            fit.gap(RuleId::Names, name.as_str());
        }
        format::spirv(module, subject, &mut fit);
        intel_gpu::check(module, subject.target, &mut fit);
        device::sizes(module, subject.target, &mut fit);
    }
    format::check(image, subject, &mut fit);
    if let Some(Taken::Part(Coverage::Native, parts)) = image.taken(subject) {
        parts.iter().for_each(|part| device::native(image, &part.demands, subject.target, &mut fit));
    }
    options::check(image.image, subject, &mut fit);
    if shares_globals_in_syclbin(image.image) {
        let message =
            "the image is in a SYCLBIN and has device globals without device_image_scope, at which the runtime ends";
        fit.gap(RuleId::DeviceGlobals, message);
    }
    if image.image.is_unlinked() {
        fit.gap(RuleId::State, "Image is compiled and not linked: whether the driver does that is not known.");
    }
    if let Some(why) = image.bitcode.as_ref().and_then(bitcode::unread) {
        fit.gap(RuleId::Unread, why);
    }
    let inside = || module.is_some_and(|source| source.stopped.is_none());
    if image.coverage(subject) == Some(Coverage::Jit) && !inside() {
        fit.gap(RuleId::Damaged, "the SPIR-V inside could not be read to its end");
    }
    if let Some(why) = image.refused(subject) {
        fit.gap(RuleId::Damaged, format!("the driver may refuse the native code: {why}"));
    }
    let vector = image.module.as_ref().is_none_or(|module| module.esimd || image.kernels.is_empty());
    if image.is_marked_esimd() && !vector {
        fit.gap(RuleId::Unread, "the image is marked as explicit SIMD, and not all its kernels are");
    }
    for contradiction in &image.contradictions {
        fit.gap(RuleId::Damaged, contradiction.as_str());
    }
    if image.image.origin.is_some_and(|origin| origin.varies) {
        let message =
            "what the image's structure points to depends on the loader, or on symbols that other files may define";
        fit.gap(RuleId::Unread, message);
    }
    if image.needs_too_many {
        fit.gap(RuleId::Imports, "the file needs images of others, which are too many to be looked at");
    }
    if let Some(problem) = &image.problem {
        fit.gap(RuleId::Damaged, format!("the image could not be read to its end: {}", problem.message()));
    }
    fit.reasons.sort_by_key(|finding| finding.rule);
    fit.gaps.sort_by_key(|finding| finding.rule);
    fit.with_remedies(subject.target)
}

/// Whether an image of a SYCLBIN has device globals without `device_image_scope`: libsycl 2026.2 ends (SIGSEGV) where a kernel of one
/// is launched.
pub(crate) fn shares_globals_in_syclbin(image: &Image<'_>) -> bool {
    image.is_of_syclbin() && image.device_globals().any(|(_, of_image)| !of_image)
}

/// Applies the checks that the runtime makes of an image that it has chosen; a failure is `errc::kernel_not_supported`.
pub fn runtime_checks(image: &Examined<'_, '_>, target: &Target) -> Fit {
    let mut fit = Fit::default();
    device::check(image, target, &mut fit);
    fit.with_remedies(target)
}

pub(crate) use device::large_sizes;
pub(crate) use format::{Match, buildable, is_short_name, matches, named, spec};
pub(crate) use options::options_of;
