//! What did the gate find, as JSON?

use super::baseline::Compared;
use super::{Counts, Finding, OfTarget, verdict};
use crate::compat::offers::Provider;
use crate::error::{Error, Problem, Result};
use crate::report::check::Verdict;
use crate::report::evidence::{self, Location, Step};
use crate::report::name::demangle;
use serde::Serialize;
use std::io::Write;

/// Something that could not be read, in its file.
#[derive(Debug, Clone, Serialize)]
pub struct Trouble {
    /// The file, as the user gave it.
    pub file: String,
    /// The image, where it is about one.
    pub image: Option<usize>,
    /// Where in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl Trouble {
    /// A problem of a file.
    pub fn of(file: &str, problem: &Problem) -> Trouble {
        let (image, offset) = (problem.image, problem.error.offset());
        Trouble { file: file.to_owned(), image, offset, message: problem.error.to_string() }
    }
}

#[derive(Serialize)]
struct Head<'a> {
    question: &'static str,
    target: Option<&'a str>,
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
    kernel: Option<&'a str>,
    demangled: Option<String>,
    message: &'a str,
    aspect: Option<&'a str>,
    instruction: Option<&'a str>,
    offset: Option<u64>,
    used_in_image: Option<usize>,
    location: Option<Location<'a>>,
    chain: Vec<Step>,
    remedy: &'a str,
    fingerprint: String,
    excused: Option<&'a str>,
    known: Option<bool>,
}

/// An image of another file that one is linked to.
#[derive(Serialize)]
struct Provides<'a> {
    file: &'a str,
    image: usize,
    provided_by: Image<'a>,
    symbols: &'a [String],
}

#[derive(Serialize)]
struct Image<'a> {
    file: &'a str,
    image: usize,
}

impl<'a> Provides<'a> {
    fn of(provider: &'a Provider) -> Provides<'a> {
        let Provider { file, image, provided_by, its_image, symbols } = provider;
        Provides { file, image: *image, provided_by: Image { file: provided_by, image: *its_image }, symbols }
    }
}

/// A finding that stands on a line of its own.
#[derive(Serialize)]
struct Line<'a> {
    target: Option<&'a str>,
    #[serde(flatten)]
    entry: Entry<'a>,
}

fn entry<'f>(finding: &Finding<'f>, target: &str, compared: Option<&Compared>) -> Entry<'f> {
    let Finding { of, found } = *finding;
    let kernel = Some(&**found.kernel).filter(|name| !name.is_empty());
    let evidence = finding.evidence();
    Entry {
        rule: found.against.matter.rule(),
        certain: found.against.certain,
        file: &of.file,
        image: found.image,
        kernel,
        demangled: kernel.map(|name| demangle(name).into_owned()),
        message: &found.against.message,
        aspect: found.against.aspect.as_deref(),
        instruction: evidence.map(|evidence| evidence.instruction.as_str()),
        offset: evidence.map(|evidence| evidence.offset),
        used_in_image: evidence.and_then(|evidence| evidence.elsewhere),
        location: evidence.and_then(evidence::place),
        chain: evidence.map(evidence::chain).unwrap_or_default(),
        remedy: &found.against.remedy,
        fingerprint: finding.fingerprint(target),
        excused: found.excused.map(|why| &**why),
        known: compared.map(|compared| compared.knows(&found)),
    }
}

/// The target's name; none for what holds whatever the target.
fn name(target: &OfTarget) -> Option<&str> {
    Some(target.target.as_str()).filter(|name| !name.is_empty())
}

/// Writes a line for each finding.
///
/// # Errors
/// `Io` where the writer fails.
pub fn jsonl(out: &mut impl Write, targets: &[OfTarget], compared: Option<&Compared>) -> Result<()> {
    for one in targets {
        for finding in one.findings() {
            let line = Line { target: name(one), entry: entry(&finding, &one.target, compared) };
            put(out, &format!("{}\n", text(&line)?))?;
        }
    }
    Ok(())
}

/// Writes one JSON document, finding by finding, what could not be read, and what came of a baseline.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(
    out: &mut impl Write,
    targets: &[OfTarget],
    problems: &[Trouble],
    compared: Option<&Compared>,
    providers: &[Provider],
) -> Result<()> {
    let version = crate::report::json::SCHEMA_VERSION;
    // What could not be read may hold anything.
    let unread = if problems.is_empty() { Verdict::Compatible } else { Verdict::Unknown };
    let total = text(&verdict(targets).max(unread))?;
    put(out, &format!("{{\"schema_version\":{version},\"verdict\":{total},\"targets\":["))?;
    for (at, one) in targets.iter().enumerate() {
        let Counts { compatible, unknown, incompatible } = one.counts();
        let kernels = Kernels { compatible, unknown, incompatible };
        let target = name(one);
        let question = if target.is_some() { "target" } else { "policy" };
        let head = text(&Head { question, target, verdict: one.verdict(), kernels })?;
        let head = head.strip_suffix('}').unwrap_or(&head);
        put(out, &format!("{}{head},\"findings\":[", if at == 0 { "\n" } else { ",\n" }))?;
        for (nth, finding) in one.findings().enumerate() {
            let entry = text(&entry(&finding, &one.target, compared))?;
            put(out, &format!("{}{entry}", if nth == 0 { "\n" } else { ",\n" }))?;
        }
        put(out, "]}")?;
    }
    put(out, "],\"providers\":[")?;
    for (at, one) in providers.iter().enumerate() {
        let entry = text(&Provides::of(one))?;
        put(out, &format!("{}{entry}", if at == 0 { "\n" } else { ",\n" }))?;
    }
    put(out, &format!("],\"problems\":{},\"baseline\":{}}}\n", text(&problems)?, text(&compared)?))
}

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::input(error.to_string()))
}

fn put(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", &error))
}
