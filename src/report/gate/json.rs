//! What did the gate find, as JSON?

use super::{Counts, Finding, OfTarget, verdict};
use crate::error::{Error, Result};
use crate::report::check::Verdict;
use crate::report::evidence::{self, Location, Step};
use crate::report::name::demangle;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Head {
    target: String,
    verdict: Verdict,
    kernels: Kernels,
}

#[derive(Serialize)]
struct Kernels {
    compatible: usize,
    unknown: usize,
    incompatible: usize,
}

#[derive(Serialize)]
struct Entry<'a> {
    rule: &'static str,
    certain: bool,
    file: &'a str,
    image: Option<usize>,
    kernel: &'a str,
    demangled: String,
    message: &'a str,
    aspect: Option<&'a str>,
    instruction: Option<&'a str>,
    offset: Option<u64>,
    location: Option<Location<'a>>,
    chain: Vec<Step>,
    remedy: &'a str,
    fingerprint: String,
    excused: Option<&'a str>,
}

fn entry<'f>(finding: &Finding<'f>, target: &str) -> Entry<'f> {
    let Finding { of, found } = *finding;
    let evidence = finding.evidence();
    Entry {
        rule: found.against.matter.rule(),
        certain: found.against.certain,
        file: &of.file,
        image: found.image,
        kernel: found.kernel,
        demangled: demangle(found.kernel).into_owned(),
        message: &found.against.message,
        aspect: found.against.aspect.as_deref(),
        instruction: evidence.map(|evidence| evidence.instruction.as_str()),
        offset: evidence.map(|evidence| evidence.offset),
        location: evidence.and_then(evidence::place),
        chain: evidence.map(evidence::chain).unwrap_or_default(),
        remedy: &found.against.remedy,
        fingerprint: finding.fingerprint(target),
        excused: found.excused.map(|why| &**why),
    }
}

/// Writes one JSON document, finding by finding.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(out: &mut impl Write, targets: &[OfTarget]) -> Result<()> {
    let version = crate::report::json::SCHEMA_VERSION;
    let total = text(&verdict(targets))?;
    put(out, &format!("{{\"schema_version\":{version},\"verdict\":{total},\"targets\":["))?;
    for (at, one) in targets.iter().enumerate() {
        let Counts { compatible, unknown, incompatible } = one.counts();
        let kernels = Kernels { compatible, unknown, incompatible };
        let head = text(&Head { target: one.target.clone(), verdict: one.verdict(), kernels })?;
        let head = head.strip_suffix('}').unwrap_or(&head);
        put(out, &format!("{}{head},\"findings\":[", if at == 0 { "\n" } else { ",\n" }))?;
        for (nth, finding) in one.findings().enumerate() {
            let entry = text(&entry(&finding, &one.target))?;
            put(out, &format!("{}{entry}", if nth == 0 { "\n" } else { ",\n" }))?;
        }
        put(out, "]}")?;
    }
    put(out, "]}\n")
}

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::input(error.to_string()))
}

fn put(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", &error))
}
