//! What did the gate find, as JSON?

use super::baseline::Compared;
use super::{Counts, CoverageCounts, LocatedFinding, TargetFindings, verdict};
use super::{KernelTexts, Share};
use crate::compat::finding::Verdict;
use crate::compat::offers;
use crate::demangle::demangle;
use crate::error::Result;
use crate::report::check::json as form;
use crate::report::evidence;
use crate::report::json::writer::{Gap, push, split, text};
use crate::report::json::{FileProblem, SchemaVersion, put};
use std::borrow::Cow;
use std::io::Write;

/// A finding as it is written; `demangled` is the kernel's name in the source.
fn entry<'a>(
    finding: LocatedFinding<'a>,
    target: &str,
    demangled: Cow<'a, str>,
    compared: Option<&Compared>,
) -> form::Finding<'a> {
    let LocatedFinding { of, found } = finding;
    let evidence = finding.evidence();
    let kernel = Some(found.kernel).filter(|name| !name.is_empty());
    form::Finding {
        question: None,
        target: None,
        rule: found.finding.rule,
        certain: found.finding.certain,
        file: &of.file,
        image: found.image,
        kernel,
        demangled: kernel.map(|_| demangled),
        message: found.finding.message.as_str().into(),
        more: Some(found.finding.more).filter(|more| *more > 0),
        aspect: found.finding.aspect.as_deref(),
        used_in: found.elsewhere.map(|(file, image)| Some(form::Image { file, image })),
        instruction: evidence.map(|evidence| evidence.instruction.as_str()),
        offset: evidence.map(|evidence| evidence.offset),
        used_in_image: Some(evidence.and_then(|evidence| evidence.elsewhere)),
        location: evidence.and_then(|evidence| evidence.place.as_ref()),
        chain: evidence.map(evidence::chain).unwrap_or_default(),
        remedy: Some(found.finding.remedy.as_str().into()),
        fingerprint: Some(finding.fingerprint(target)),
        excused: Some(found.excused.map(|why| &**why)),
        known: Some(compared.map(|compared| compared.knows(&found))),
    }
}

fn provider(one: &offers::Provider) -> form::Provider<'_> {
    let offers::Provider { file, image, provided_by, its_image, symbols } = one;
    form::Provider { file, image: *image, provided_by: form::Image { file: provided_by, image: *its_image }, symbols }
}

/// The target's name; none for what holds whatever the target.
fn name(target: &TargetFindings) -> Option<&str> {
    Some(target.target.as_str()).filter(|name| !name.is_empty())
}

/// Writes a line for each part of a file that could not be read, and one for each finding.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn jsonl(
    out: &mut impl Write,
    targets: &[TargetFindings],
    problems: &[FileProblem],
    compared: Option<&Compared>,
) -> Result<()> {
    problems.iter().try_for_each(|problem| put(out, &format!("{}\n", serde_json::json!({ "problem": problem }))))?;
    let names = KernelTexts::new(targets);
    let share = |out: &mut String, share: &Share<'_>| {
        for (kernel, _, finding) in share.findings() {
            let demangled = names.get(share, kernel, || demangle(finding.found.kernel).into_owned());
            let entry = entry(finding, &share.target.target, demangled, compared);
            push(out, &form::Finding { target: Some(name(share.target)), ..entry });
            out.push('\n');
        }
    };
    super::each_share(targets, share, |text| put(out, text))
}

/// Writes one JSON document, finding by finding, what could not be read, and what came of a baseline.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn json(
    out: &mut impl Write,
    targets: &[TargetFindings],
    problems: &[FileProblem],
    compared: Option<&Compared>,
    providers: &[offers::Provider],
) -> Result<()> {
    // A file that could not be read may hold anything.
    let unread = if problems.is_empty() { Verdict::Compatible } else { Verdict::Unknown };
    let [head, middle, tail] = split(&form::Document {
        schema_version: SchemaVersion,
        verdict: verdict(targets).max(unread),
        targets: Gap,
        providers: Some(Gap),
        link: None,
        problems,
        baseline: Some(compared),
    });
    let answers: Vec<[String; 2]> = targets.iter().map(|one| split(&answer(one))).collect();
    let names = KernelTexts::new(targets);
    let share = |out: &mut String, share: &Share<'_>| {
        let Some([head, tail]) = answers.get(share.nth) else { return };
        if share.opens {
            out.push_str(line(share.nth == 0));
            out.push_str(head);
            out.push('[');
        }
        for (kernel, first, finding) in share.findings() {
            out.push_str(line(first));
            let demangled = names.get(share, kernel, || demangle(finding.found.kernel).into_owned());
            push(out, &entry(finding, &share.target.target, demangled, compared));
        }
        if share.closes {
            out.push(']');
            out.push_str(tail);
        }
    };
    put(out, &format!("{head}["))?;
    super::each_share(targets, share, |text| put(out, text))?;
    put(out, &format!("]{middle}["))?;
    for (at, one) in providers.iter().enumerate() {
        put(out, &format!("{}{}", line(at == 0), text(&provider(one))))?;
    }
    put(out, &format!("]{tail}\n"))
}

/// The begin of a line of a list.
fn line(first: bool) -> &'static str {
    if first { "\n" } else { ",\n" }
}

/// An answer without its findings.
fn answer(one: &TargetFindings) -> form::Answer<'_, Gap> {
    let Counts { compatible, unknown, incompatible } = one.counts();
    let CoverageCounts { native, jit, none } = one.coverage();
    let excused = one.excused_kernels();
    let kernels = form::Kernels { compatible, unknown, incompatible, excused, native, jit, none };
    let target = name(one);
    let question = if target.is_some() { "target" } else { "policy" };
    form::Answer { question, target, verdict: one.verdict(), kernels: Some(kernels), findings: Gap }
}
