//! Does an image run on a target, by what is recorded for it and by what its code does?
//!
//! The one judge behind every verb: `check`, `has` and `explain` by way of the [`gate`](super::gate), `filter` and what
//! `build` and `plan` skip by way of [`objections`], the question of `sycl-post-link -o TARGET,TABLE`
//! (`isTargetCompatibleWithModule` in DPC++'s `llvm/tools/sycl-post-link/sycl-post-link.cpp`).

use super::aspects::{Code, Graph};
use super::examine::Examined;
use super::finding::{Finding, RuleId};
use super::fit::{Fit, Subject, fit_with};
use crate::bundle::format::Format;
use std::collections::BTreeSet;

/// Images with their code, linked.
#[derive(Debug)]
pub(crate) struct Engine<'e> {
    images: &'e [Examined<'e, 'e>],
    graph: Graph<'e>,
}

impl<'e> Engine<'e> {
    /// Links the code of images: what [`codes`](super::gate::codes) gives of them, or more.
    pub(crate) fn new(images: &'e [Examined<'e, 'e>], codes: &'e [Code]) -> Engine<'e> {
        Engine { images, graph: Graph::link(codes) }
    }

    /// The images.
    pub(crate) fn images(&self) -> &'e [Examined<'e, 'e>] {
        self.images
    }

    /// The linked code.
    pub(crate) fn graph(&self) -> &Graph<'e> {
        &self.graph
    }

    /// Everything that speaks against an image on a target; the image by its place.
    pub(crate) fn fit(&self, at: usize, subject: &Subject<'_>) -> Fit {
        let Some(image) = self.images.get(at) else { return Fit::default() };
        let used = self.used(at);
        let mut fit = fit_with(image, subject, used.iter().map(|(name, _)| *name));
        // A trace that several aspects leave is not sure, unless the aspect is recorded.
        let unsure = |finding: &Finding| {
            let aspect = finding.aspect.as_deref();
            let recorded = image.requirements.aspects.iter().any(|own| Some(own.as_str()) == aspect);
            !recorded && used.iter().any(|(name, certain)| Some(*name) == aspect && !certain)
        };
        let (open, sure) = fit.reasons.drain(..).partition(unsure);
        fit.reasons = sure;
        fit.gaps.extend::<Vec<Finding>>(open);
        fit.gaps.iter_mut().for_each(|finding| finding.certain = false);
        fit
    }

    /// The aspects beyond those recorded that an image's code may use, each with whether that is sure. Where it could
    /// not be read to its end, or a function of it is nobody's, those that the module shows count too.
    pub(crate) fn used(&self, at: usize) -> Vec<(&'static str, bool)> {
        let Some(image) = self.images.get(at) else { return Vec::new() };
        let found = self.graph.used_by_module(at);
        let mut used: BTreeSet<(&'static str, bool)> = found.iter().map(|one| (one.name(), one.certain())).collect();
        let read = self.graph.codes().get(at).is_some_and(|code| !code.nodes.is_empty() && code.unknown == 0);
        if let Some(module) = image.module.as_ref().filter(|_| !read || image.problem.is_some()) {
            used.extend(module.used_aspects.iter().map(|name| (*name, true)));
        }
        let recorded = |name: &str| image.requirements.aspects.iter().any(|own| own == name);
        used.into_iter().filter(|(name, _)| !recorded(name)).collect()
    }
}

/// Returns the findings against each image on the targets of one name, in their order; none for an image that stays. An
/// image stays where one of the targets may run it. `codes` is the code of the images, as
/// [`gate::codes`](super::gate::codes) gives it.
pub(crate) fn objections(images: &[Examined<'_, '_>], codes: &[Code], subjects: &[Subject<'_>]) -> Vec<Vec<Finding>> {
    let engine = Engine::new(images, codes);
    let one = |at: usize| {
        let mut all = subjects.iter().map(|subject| of_image(&engine, at, subject));
        let first = all.next().unwrap_or_default();
        if first.is_empty() || all.any(|findings| findings.is_empty()) { Vec::new() } else { first }
    };
    (0..images.len()).map(one).collect()
}

/// Returns what the device lacks for sure of an image, recorded or in the code. What other images may define, and what a
/// target may have beyond its list, keeps no image out.
fn of_image(engine: &Engine<'_>, at: usize, subject: &Subject<'_>) -> Vec<Finding> {
    let Some(image) = engine.images().get(at) else { return Vec::new() };
    let counts = |finding: &Finding| match finding.rule {
        // SPIR-V can be compiled for any target; native code is for its own target alone.
        RuleId::Target => !matches!(image.format, Format::LlvmBitcode | Format::Unknown),
        rule => matches!(
            rule,
            RuleId::FixedTarget
                | RuleId::Aspect
                | RuleId::Matrix
                | RuleId::WorkGroupSize
                | RuleId::SubGroupSize
                | RuleId::Capability
                | RuleId::Options
        ),
    };
    let mut findings = engine.fit(at, subject).reasons;
    findings.retain(counts);
    findings
}
