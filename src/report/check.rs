//! What did `check` find, as text and as JSON?

#[cfg(test)]
mod tests;

use super::evidence::{self, Location, Names, Step};
use super::gate::Trouble;
use crate::compat::warnings::{Certainty, Warning};
use crate::error::{Error, Result};
use serde::Serialize;
use std::io::Write;

/// The JSON Schema of `check --format json`.
pub const SCHEMA: &str = include_str!("check/check.schema.json");

/// Whether what was asked holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It does.
    Compatible,
    /// It cannot be told.
    Unknown,
    /// It does not.
    Incompatible,
}

/// A warning with where its kernel is.
#[derive(Debug)]
pub struct Finding<'f> {
    /// The file, as the user gave it.
    pub file: &'f str,
    /// The image's index in the file.
    pub image: usize,
    /// The file and the image with the instruction in question, which may be others than the kernel's.
    pub user: (&'f str, usize),
    /// The warning.
    pub warning: &'f Warning,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'f> {
    /// Whether all aspects in use are declared.
    Declared,
    /// Whether the images record what functions of other images use.
    External,
    /// Whether a target has what is used.
    Target(&'f str),
}

impl<'f> Question<'f> {
    /// The question's name in reports.
    fn name(self) -> &'static str {
        match self {
            Question::Declared => "declared",
            Question::External => "external",
            Question::Target(_) => "target",
        }
    }

    fn target(self) -> Option<&'f str> {
        match self {
            Question::Target(name) => Some(name),
            _ => None,
        }
    }
}

/// What was found on one question.
#[derive(Debug)]
pub struct Answer<'f> {
    /// The question.
    pub question: Question<'f>,
    /// What speaks against it, in order of files and images.
    pub findings: Vec<Finding<'f>>,
    /// Whether some code could not be judged.
    pub partial: bool,
}

impl Answer<'_> {
    /// The verdict: one sure finding says no; one that is not sure, or code that could not be judged, leaves it open.
    pub fn verdict(&self) -> Verdict {
        let worst = self.findings.iter().map(|finding| finding.warning.certainty).max();
        match (worst, self.partial) {
            (Some(Certainty::Sure), _) => Verdict::Incompatible,
            (Some(Certainty::Possible), _) | (None, true) => Verdict::Unknown,
            (None, false) => Verdict::Compatible,
        }
    }
}

/// The verdict on all questions together: the worst.
pub fn verdict(answers: &[Answer<'_>]) -> Verdict {
    answers.iter().map(Answer::verdict).max().unwrap_or(Verdict::Compatible)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    verdict: Verdict,
    targets: Vec<OfTarget<'a>>,
    problems: &'a [Trouble],
}

#[derive(Serialize)]
struct OfTarget<'a> {
    question: &'static str,
    target: Option<&'a str>,
    verdict: Verdict,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct UsedIn<'a> {
    file: &'a str,
    image: usize,
}

#[derive(Serialize)]
struct Entry<'a> {
    rule: &'static str,
    certain: bool,
    file: &'a str,
    image: usize,
    kernel: &'a str,
    demangled: String,
    message: String,
    aspect: Option<&'a str>,
    /// Where the instruction is.
    used_in: Option<UsedIn<'a>>,
    instruction: Option<&'a str>,
    offset: Option<u64>,
    location: Option<Location<'a>>,
    chain: Vec<Step>,
}

fn entry<'f>(finding: &Finding<'f>) -> Entry<'f> {
    let Finding { file, image, user, warning } = *finding;
    let evidence = warning.evidence.as_ref();
    Entry {
        rule: warning.rule.name(),
        certain: warning.certainty == Certainty::Sure,
        file,
        image,
        kernel: &warning.kernel,
        demangled: Names { demangle: true }.show(&warning.kernel),
        message: warning.message(&Names { demangle: true }.show(warning.function())),
        aspect: evidence.map(|evidence| evidence.aspect.name()),
        used_in: evidence.map(|_| UsedIn { file: user.0, image: user.1 }),
        instruction: evidence.map(|evidence| evidence.instruction.as_str()),
        offset: evidence.map(|evidence| evidence.offset),
        location: evidence.and_then(evidence::place),
        chain: evidence.map(evidence::chain).unwrap_or_default(),
    }
}

/// A finding that stands on a line of its own.
#[derive(Serialize)]
struct Line<'a> {
    question: &'static str,
    target: Option<&'a str>,
    #[serde(flatten)]
    entry: Entry<'a>,
}

/// Writes a line for each finding.
///
/// # Errors
/// `Io` where the writer fails.
pub fn jsonl(out: &mut impl Write, answers: &[Answer<'_>]) -> Result<()> {
    for answer in answers {
        for finding in &answer.findings {
            let (question, target) = (answer.question.name(), answer.question.target());
            let text = serde_json::to_vec(&Line { question, target, entry: entry(finding) });
            let text = text.map_err(|error| Error::input(error.to_string()))?;
            out.write_all(&text)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(|error| Error::io("cannot write", &error))?;
        }
    }
    Ok(())
}

/// Writes the answers as one JSON document, with what could not be read.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(out: &mut impl Write, answers: &[Answer<'_>], problems: &[Trouble]) -> Result<()> {
    let targets = answers.iter().map(|answer| OfTarget {
        question: answer.question.name(),
        target: answer.question.target(),
        verdict: answer.verdict(),
        findings: answer.findings.iter().map(entry).collect(),
    });
    let schema_version = super::json::SCHEMA_VERSION;
    let document = Document { schema_version, verdict: verdict(answers), targets: targets.collect(), problems };
    let text = serde_json::to_vec(&document).map_err(|error| Error::input(error.to_string()))?;
    out.write_all(&text).and_then(|()| out.write_all(b"\n")).map_err(|error| Error::io("cannot write", &error))
}

/// The warnings as the compiler prints them, with the images they are of.
pub fn text(answers: &[Answer<'_>], names: Names) -> String {
    let mut out = String::new();
    for finding in answers.iter().flat_map(|answer| &answer.findings) {
        out.push_str(&finding.warning.text(|name| names.show(name)));
        if let Some(evidence) = &finding.warning.evidence {
            let (file, image) = finding.user;
            let (instruction, offset) = (&evidence.instruction, evidence.offset);
            out.push_str(&format!("in {file} image {image}: {instruction} at offset {offset:#x}\n"));
        } else {
            out.push_str(&format!("in {} image {}\n", finding.file, finding.image));
        }
        out.push('\n');
    }
    out
}

/// The verdict in a line for each question.
pub fn summary(answers: &[Answer<'_>]) -> String {
    let line = |answer: &Answer<'_>| {
        let about = match answer.question {
            Question::Declared => "declared aspects".to_owned(),
            Question::External => "functions of other images".to_owned(),
            Question::Target(target) => format!("target {target}"),
        };
        let count = super::units::counted(answer.findings.len(), "warning");
        let verdict = match answer.verdict() {
            Verdict::Compatible => "compatible",
            Verdict::Unknown => "unknown",
            Verdict::Incompatible => "incompatible",
        };
        let why = if answer.partial { "; not all code could be judged" } else { "" };
        format!("{about}: {verdict}, {count}{why}\n")
    };
    answers.iter().map(line).collect()
}
