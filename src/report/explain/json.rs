//! What does an explanation look like as JSON?

use super::{Explanation, Fate, trap};
use crate::compat::explain::said::Said;
use crate::error::{Error, Result};
use crate::report::check::Verdict;
use crate::report::evidence::Why;
use crate::report::name::demangle;
use serde::Serialize;
use std::io::Write;

/// The JSON Schema of `explain --format json`.
pub const SCHEMA: &str = include_str!("explain.schema.json");

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    sayings: Vec<SayingJson<'a>>,
    choices: Vec<WayJson<'a>>,
    devices: Vec<BuiltJson<'a>>,
}

#[derive(Serialize)]
struct SayingJson<'a> {
    topic: &'static str,
    line: &'a str,
    code: Option<&'a str>,
    meaning: &'a str,
    files: Vec<OfFileJson<'a>>,
    remedies: &'a [String],
}

#[derive(Serialize)]
struct OfFileJson<'a> {
    file: &'a str,
    note: Option<&'a str>,
    concerns: Vec<ConcernJson<'a>>,
}

#[derive(Serialize)]
struct ConcernJson<'a> {
    image: Option<usize>,
    kernel: Option<&'a str>,
    demangled: Option<String>,
    message: &'a str,
    evidence: Option<Why<'a>>,
}

#[derive(Serialize)]
struct WayJson<'a> {
    file: &'a str,
    target: &'a str,
    kernel: &'a str,
    demangled: String,
    verdict: Verdict,
    images: Vec<SeenJson<'a>>,
    rule: &'static str,
    throws: Option<ThrownJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    traps: Vec<TrapJson>,
}

#[derive(Serialize)]
struct SeenJson<'a> {
    image: usize,
    format: &'static str,
    devices: &'a str,
    fate: &'static str,
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct ThrownJson<'a> {
    errc: &'static str,
    text: &'a str,
    certain: bool,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    rule: &'static str,
    certain: bool,
    image: Option<usize>,
    message: &'a str,
    aspect: Option<&'a str>,
    remedy: &'a str,
    evidence: Option<Why<'a>>,
}

#[derive(Serialize)]
struct TrapJson {
    trap: &'static str,
    message: &'static str,
}

#[derive(Serialize)]
struct BuiltJson<'a> {
    file: &'a str,
    device: &'a str,
    kernel: &'a str,
    demangled: String,
    image: usize,
    builds: bool,
    errc: Option<&'static str>,
    reason: Option<&'a str>,
}

/// Writes the explanation as one JSON document.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(out: &mut impl Write, all: &Explanation) -> Result<()> {
    let sayings = all.told.iter().map(|told| SayingJson {
        topic: told.saying.said.topic(),
        line: &told.saying.line,
        code: match &told.saying.said {
            Said::Code(code) => code.names.first().copied(),
            _ => None,
        },
        meaning: &told.meaning,
        files: told.files.iter().map(of_file).collect(),
        remedies: &told.remedies,
    });
    let built = all.built.iter().map(|one| BuiltJson {
        file: &one.file,
        device: &one.device,
        kernel: &one.kernel,
        demangled: demangle(&one.kernel).into_owned(),
        image: one.image,
        builds: one.failure.is_none(),
        errc: one.failure.as_ref().and_then(|(errc, _)| *errc),
        reason: one.failure.as_ref().map(|(_, why)| why.as_str()),
    });
    let document = Document {
        schema_version: crate::report::json::SCHEMA_VERSION,
        sayings: sayings.collect(),
        choices: all.ways.iter().map(way).collect(),
        devices: built.collect(),
    };
    let text = serde_json::to_vec(&document).map_err(|error| Error::input(error.to_string()))?;
    out.write_all(&text).and_then(|()| out.write_all(b"\n")).map_err(|error| Error::io("cannot write", &error))
}

fn of_file(of: &super::OfFile) -> OfFileJson<'_> {
    let concerns = of.concerns.iter().map(|one| ConcernJson {
        image: one.image,
        kernel: one.kernel.as_deref(),
        demangled: one.kernel.as_deref().map(|name| demangle(name).into_owned()),
        message: &one.message,
        evidence: one.evidence.as_ref().map(Why::of),
    });
    OfFileJson { file: &of.file, note: of.note.as_deref(), concerns: concerns.collect() }
}

fn way(way: &super::Way) -> WayJson<'_> {
    let images = way.images.iter().map(|seen| {
        let (fate, why) = match &seen.fate {
            Fate::PassedOver(why) => ("passed-over", Some(why.as_str())),
            Fate::Candidate => ("candidate", None),
            Fate::Chosen => ("chosen", None),
        };
        SeenJson { image: seen.image, format: seen.format, devices: &seen.devices, fate, why }
    });
    let findings = way.findings.iter().map(|found| FindingJson {
        rule: found.against.matter.rule(),
        certain: found.against.certain,
        image: found.image,
        message: &found.against.message,
        aspect: found.against.aspect.as_deref(),
        remedy: &found.against.remedy,
        evidence: found.evidence.as_ref().map(Why::of),
    });
    let thrown = way.thrown.as_ref();
    WayJson {
        file: &way.file,
        target: &way.target,
        kernel: &way.kernel,
        demangled: demangle(&way.kernel).into_owned(),
        verdict: way.verdict,
        images: images.collect(),
        rule: way.rule,
        throws: thrown.map(|one| ThrownJson { errc: one.errc, text: &one.text, certain: one.certain }),
        findings: findings.collect(),
        traps: way.traps.iter().map(|one| trap(*one)).map(|(trap, message)| TrapJson { trap, message }).collect(),
    }
}
