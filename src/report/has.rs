//! Is there such a kernel bundle, for people and as JSON?

use super::document::{self, Form, Sink};
use super::evidence::Names;
use super::json::{FileProblem, SchemaVersion, writer::text as text_of};
use super::text::Shown;
use super::text::{count, counted};
use crate::bundle::image::State;
use crate::compat::finding::Verdict;
use crate::compat::has::Conclusion;
use crate::demangle::demangle;
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Kernels that are told one by one; of more, only how many.
const EACH: usize = 16;

/// Reasons that are told of many kernels.
const REASONS: usize = 5;

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Compatible => "yes",
        Verdict::Unknown => "unknown",
        Verdict::Incompatible => "no",
    }
}

/// The answer, then what it comes from: each kernel with the targets that have it, or how many there are for each target.
fn text(conclusion: &Conclusion, state: State, targets: &[&str], by_id: bool, names: Names) -> Shown {
    let mut out = Shown::default();
    writeln!(out, "{} bundle: {}", state.name(), word(conclusion.verdict));
    for lack in &conclusion.lacks {
        let what = if lack.certain { "lacks" } else { "may lack" };
        writeln!(out, "  {} {what} aspect::{}", lack.target, lack.aspect);
    }
    let few = conclusion.kernels.len() <= EACH;
    if !by_id || !few {
        for (at, target) in targets.iter().enumerate() {
            let of = |verdict| {
                let outcome = |one: &Verdict| *one == verdict;
                let outcomes = conclusion.kernels.iter().filter_map(|(_, _, outcomes)| outcomes.get(at));
                outcomes.map(|one| one.verdict).filter(outcome).count()
            };
            let all = counted(conclusion.kernels.len(), "kernel");
            let unknown = match of(Verdict::Unknown) {
                0 => String::new(),
                some => format!(", {} unknown", count(some)),
            };
            writeln!(out, "  {target}: {} of {all}{unknown}", count(of(Verdict::Compatible)));
            if !few && conclusion.verdict != Verdict::Compatible {
                reasons(&mut out, conclusion, at);
            }
        }
        // Why there is none is told where that can be told in short.
        if !by_id && (conclusion.verdict == Verdict::Compatible || !few) {
            return out;
        }
    }
    // Few kernels are told one by one.
    let told = conclusion.kernels.iter().filter(|(_, verdict, _)| few || *verdict != Verdict::Compatible);
    let left = told.clone().count().saturating_sub(EACH);
    for (name, verdict, outcomes) in told.take(EACH) {
        let having: Vec<&str> = targets
            .iter()
            .zip(outcomes)
            .filter(|(_, outcome)| outcome.verdict == Verdict::Compatible)
            .map(|(target, _)| *target)
            .collect();
        let on = if having.is_empty() { String::new() } else { format!(": {}", having.join(", ")) };
        writeln!(out, "  {} {}{on}", word(*verdict), names.show(name));
        if *verdict != Verdict::Compatible {
            for (target, outcome) in targets.iter().zip(outcomes) {
                for reason in &outcome.reasons {
                    writeln!(out, "    {target}: {reason}");
                }
            }
        }
    }
    if left > 0 {
        writeln!(out, "  and {} more", count(left));
    }
    out
}

/// Lists the reasons why kernels do not run on a target, the commonest first, each with its number of kernels.
fn reasons(out: &mut Shown, conclusion: &Conclusion, target: usize) {
    let mut kernels: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in
        conclusion.kernels.iter().filter_map(|(_, _, outcomes)| outcomes.get(target)).flat_map(|one| &one.reasons)
    {
        let number = kernels.entry(reason).or_default();
        *number = number.saturating_add(1);
    }
    let mut all: Vec<(&str, usize)> = kernels.into_iter().collect();
    all.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    for (reason, number) in all.iter().take(REASONS) {
        writeln!(out, "    {}: {reason}", counted(*number, "kernel"));
    }
    if let more @ 1.. = all.len().saturating_sub(REASONS) {
        writeln!(out, "    and {} more", counted(more, "reason"));
    }
}

/// The answer to a question about a kernel bundle.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// The files have such a bundle.
    Yes,
    /// Facts or code are unknown.
    Unknown,
    /// The files have no such bundle.
    No,
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Answer {
        match verdict {
            Verdict::Compatible => Answer::Yes,
            Verdict::Unknown => Answer::Unknown,
            Verdict::Incompatible => Answer::No,
        }
    }
}

/// Whether files have a kernel bundle.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle has --format json")]
struct Document<'a> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The answer; the exit status is 0 for `yes` alone.
    answer: Answer,
    /// The state of the bundle.
    state: State,
    /// The targets that are asked about.
    targets: &'a [&'a str],
    /// Targets without the aspect that bundles of the state need of all.
    lacks: Vec<Lack<'a>>,
    /// The kernels, by mangled name.
    kernels: Vec<Kernel<'a>>,
    /// Parts that could not be read.
    problems: &'a [FileProblem],
}

/// A target without an aspect.
#[derive(Serialize, JsonSchema)]
struct Lack<'a> {
    /// The target.
    target: &'a str,
    /// The aspect.
    aspect: &'a str,
    /// The answer that this comes to.
    answer: Answer,
}

/// A kernel.
#[derive(Serialize, JsonSchema)]
struct Kernel<'a> {
    /// The mangled name.
    name: &'a str,
    /// The name in the source.
    demangled: Cow<'a, str>,
    /// The answer for all targets.
    answer: Answer,
    /// The answer for each target, in the order in which they were asked about.
    targets: Vec<OnTarget<'a>>,
}

/// A kernel on a target.
#[derive(Serialize, JsonSchema)]
struct OnTarget<'a> {
    /// The target.
    target: &'a str,
    /// The answer.
    answer: Answer,
    /// The reasons why it does not run there, or why that is not known.
    reasons: &'a [String],
}

/// The JSON Schema of `has --format json`.
pub(crate) fn schema() -> String {
    super::json::schema::<Document<'_>>()
}

/// The document as JSON.
fn json(conclusion: &Conclusion, state: State, targets: &[&str], problems: &[FileProblem]) -> String {
    let kernels = conclusion.kernels.iter().map(|(name, verdict, outcomes)| Kernel {
        name,
        demangled: demangle(name),
        answer: (*verdict).into(),
        targets: targets
            .iter()
            .zip(outcomes)
            .map(|(target, outcome)| OnTarget { target, answer: outcome.verdict.into(), reasons: &outcome.reasons })
            .collect(),
    });
    let lacks = conclusion.lacks.iter().map(|lack| Lack {
        target: &lack.target,
        aspect: lack.aspect,
        answer: if lack.certain { Answer::No } else { Answer::Unknown },
    });
    let document = Document {
        schema_version: SchemaVersion,
        answer: conclusion.verdict.into(),
        state,
        targets,
        lacks: lacks.collect(),
        kernels: kernels.collect(),
        problems,
    };
    text_of(&document) + "\n"
}

/// The answer to a question about a kernel bundle, with what was asked.
pub(crate) struct Answered {
    /// The answer.
    pub(crate) conclusion: Conclusion,
    /// The state of the bundle.
    pub(crate) state: State,
    /// The targets.
    pub(crate) targets: Vec<String>,
    /// Whether kernels were named.
    pub(crate) by_id: bool,
    /// Parts of files that could not be read.
    pub(crate) problems: Vec<FileProblem>,
}

impl document::Document for Answered {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let Answered { conclusion, state, targets, by_id, problems } = self;
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        if form == Form::Json {
            return out.made(&json(conclusion, *state, &targets, problems));
        }
        let names = out.look().view.names();
        out.show(&text(conclusion, *state, &targets, *by_id, names))
    }
}
