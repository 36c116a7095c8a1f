//! Does an image stay in the file table of a target?
//!
//! The test of `sycl-post-link -o TARGET,TABLE` (`isTargetCompatibleWithModule` in DPC++'s
//! `llvm/tools/sycl-post-link/sycl-post-link.cpp`): every aspect that an image requires, and the sub-group size where it
//! is no explicit SIMD. Work-group sizes and matrix operations do not count, as they do not there: a device's compiler
//! takes them, and the runtime refuses what the device lacks. Unlike there, what a target may have beyond its list
//! stays. The rules themselves are those of [`fit`](super::fit).

use super::aspects::{Code, Graph};
use super::examine::Examined;
use super::fit::{Finding, Match, Rule, Subject, matches, requirement_checks};
use super::warnings;
use crate::bundle::format::Format;
use crate::bundle::property::set;
use crate::bundle::requirements::Requirements;

/// What speaks against each image on the targets of one name, in their order; nothing where it stays. It stays where one
/// of the targets may run it. `codes` is the code of the images, which is looked at where nothing is recorded.
pub fn against(images: &[Examined<'_, '_>], codes: &[Code], subjects: &[Subject<'_>]) -> Vec<Vec<Finding>> {
    let graph = Graph::of(codes);
    let one = |(at, image): (usize, &Examined<'_, '_>)| {
        let required = required(image, &graph, at);
        let mut all = subjects.iter().map(|subject| of_image(image, &required, subject));
        let first = all.next().unwrap_or_default();
        if first.is_empty() || all.any(|findings| findings.is_empty()) { Vec::new() } else { first }
    };
    images.iter().enumerate().map(one).collect()
}

/// Whether what an image requires has to be told by its code, since nobody recorded it: DPC++ records aspects even where
/// there are none.
pub fn is_untold(image: &Examined<'_, '_>) -> bool {
    image.format == Format::SpirV && image.image.properties.get(set::REQUIREMENTS, "aspects").is_none()
}

fn of_image(image: &Examined<'_, '_>, required: &[Requirements], subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for required in required {
        for finding in requirement_checks(image.image, required, subject.target).reasons {
            let counts = matches!(finding.rule, Rule::Aspect | Rule::SubGroupSize);
            if counts && !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    // What is still to be compiled is for whatever it is compiled for; native code is for what it is for.
    let open = matches!(image.format, Format::SpirV | Format::LlvmBitcode | Format::Unknown);
    if let Match::No(message) = matches(image.image, subject)
        && !open
    {
        findings.push(Finding { rule: Rule::Target, message, aspect: None });
    }
    findings
}

/// What an image requires: what is recorded, else what its code uses for sure, with the sizes of each kernel.
fn required(image: &Examined<'_, '_>, graph: &Graph<'_>, at: usize) -> Vec<Requirements> {
    let Some(code) = graph.codes().get(at).filter(|_| is_untold(image)) else {
        return vec![image.requirements.clone()];
    };
    let used = graph.used_by_module(at).into_iter().filter(|aspect| aspect.certain());
    let mut of_code = image.requirements.clone();
    of_code.aspects = used.map(|aspect| aspect.name().to_owned()).collect();
    let esimd = of_code.aspects.iter().any(|name| name == "ext_intel_esimd");
    let kernels = code.kernels.iter().map(|kernel| warnings::requirements(&of_code, kernel, esimd));
    let kernels: Vec<Requirements> = kernels.collect();
    if kernels.is_empty() { vec![of_code] } else { kernels }
}
