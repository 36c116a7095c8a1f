//! Is there such a kernel bundle, for people and as JSON?

use super::evidence::Names;
use super::gate::Trouble;
use super::units::{count, counted};
use crate::bundle::image::State;
use crate::compat::fit::Verdict;
use crate::compat::has::Conclusion;
use crate::error::{Error, Result};
use crate::report::name::demangle;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The JSON Schema of `has --format json`.
pub const SCHEMA: &str = include_str!("has/has.schema.json");

/// Kernels that are told one by one; of more, only how many.
const EACH: usize = 16;

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Runs => "yes",
        Verdict::Unknown => "unknown",
        Verdict::CannotRun => "no",
    }
}

/// The answer, then what it comes from: each kernel with the targets that have it, or how many there are for each target.
pub fn text(conclusion: &Conclusion, state: State, targets: &[&str], by_id: bool, names: Names) -> String {
    let mut out = format!("{} bundle: {}\n", state.name(), word(conclusion.verdict));
    for lack in &conclusion.lacks {
        let what = if lack.certain { "lacks" } else { "may lack" };
        let _ = writeln!(out, "  {} {what} aspect::{}", lack.target, lack.aspect);
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
            let _ = writeln!(out, "  {target}: {} of {all}{unknown}", count(of(Verdict::Runs)));
        }
        // Why there is none is told where that can be told in short.
        if !by_id && (conclusion.verdict == Verdict::Runs || !few) {
            return out;
        }
    }
    // What is missing is told of each where it is not too much.
    let told = conclusion.kernels.iter().filter(|(_, verdict, _)| few || *verdict != Verdict::Runs);
    let left = told.clone().count().saturating_sub(EACH);
    for (name, verdict, outcomes) in told.take(EACH) {
        let having: Vec<&str> = targets
            .iter()
            .zip(outcomes)
            .filter(|(_, outcome)| outcome.verdict == Verdict::Runs)
            .map(|(target, _)| *target)
            .collect();
        let on = if having.is_empty() { String::new() } else { format!(": {}", having.join(", ")) };
        let _ = writeln!(out, "  {} {}{on}", word(*verdict), names.show(name));
        if *verdict != Verdict::Runs {
            for (target, outcome) in targets.iter().zip(outcomes) {
                for reason in &outcome.reasons {
                    let _ = writeln!(out, "    {target}: {reason}");
                }
            }
        }
    }
    if left > 0 {
        let _ = writeln!(out, "  and {} more", count(left));
    }
    out
}

/// One JSON document.
///
/// # Errors
/// None that can be met: what is written is text.
pub fn json(conclusion: &Conclusion, state: State, targets: &[&str], problems: &[Trouble]) -> Result<String> {
    let kernel = |(name, verdict, outcomes): &(std::sync::Arc<str>, Verdict, Vec<crate::compat::has::Outcome>)| {
        let of_target = |(target, outcome): (&&str, &crate::compat::has::Outcome)| json!({ "target": target, "answer": word(outcome.verdict), "reasons": outcome.reasons });
        json!({
            "name": &**name,
            "demangled": demangle(name),
            "answer": word(*verdict),
            "targets": targets.iter().zip(outcomes).map(of_target).collect::<Vec<Value>>(),
        })
    };
    let lacks = conclusion.lacks.iter().map(|lack| {
        let answer = word(if lack.certain { Verdict::CannotRun } else { Verdict::Unknown });
        json!({ "target": lack.target, "aspect": lack.aspect, "answer": answer })
    });
    let document = json!({
        "schema_version": super::json::SCHEMA_VERSION,
        "answer": word(conclusion.verdict),
        "state": state.name(),
        "targets": targets,
        "lacks": lacks.collect::<Vec<Value>>(),
        "kernels": conclusion.kernels.iter().map(kernel).collect::<Vec<Value>>(),
        "problems": problems,
    });
    let text = serde_json::to_string(&document).map_err(|error| Error::input(error.to_string()))?;
    Ok(text + "\n")
}
