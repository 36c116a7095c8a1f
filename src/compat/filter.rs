//! Does an image stay in the file table of a target?
//!
//! The question of `sycl-post-link -o TARGET,TABLE` (`isTargetCompatibleWithModule` in DPC++'s
//! `llvm/tools/sycl-post-link/sycl-post-link.cpp`), answered as `check` does: by everything that the device lacks for
//! sure, recorded or in the code. What a target may have beyond its list stays; so does what other images may define.

use super::aspects::Code;
use super::engine::Engine;
use super::examine::Examined;
use super::fit::{Finding, Rule, Subject};
use crate::bundle::format::Format;

/// Returns the findings against each image on the targets of one name, in their order; none for an image that stays. An
/// image stays where one of the targets may run it. `codes` is the code of the images, as
/// [`gate::codes`](super::gate::codes) gives it.
pub fn against(images: &[Examined<'_, '_>], codes: &[Code], subjects: &[Subject<'_>]) -> Vec<Vec<Finding>> {
    let engine = Engine::new(images, codes);
    let one = |at: usize| {
        let mut all = subjects.iter().map(|subject| of_image(&engine, at, subject));
        let first = all.next().unwrap_or_default();
        if first.is_empty() || all.any(|findings| findings.is_empty()) { Vec::new() } else { first }
    };
    (0..images.len()).map(one).collect()
}

fn of_image(engine: &Engine<'_>, at: usize, subject: &Subject<'_>) -> Vec<Finding> {
    let Some(image) = engine.images().get(at) else { return Vec::new() };
    let counts = |finding: &Finding| match finding.rule {
        Rule::FixedTarget
        | Rule::Aspect
        | Rule::Matrix
        | Rule::WorkGroupSize
        | Rule::SubGroupSize
        | Rule::Capability => true,
        // What is still to be compiled is for whatever it is compiled for; native code is for what it is for.
        Rule::Target => !matches!(image.format, Format::LlvmBitcode | Format::Unknown),
        Rule::SpirvVersion | Rule::Extension | Rule::Imports | Rule::UnlistedImports | Rule::Unread | Rule::Damaged => {
            false
        }
    };
    let mut findings = engine.fit(at, subject).reasons;
    findings.retain(counts);
    findings
}
