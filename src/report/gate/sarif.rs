//! What did the gate find, as SARIF 2.1.0?
//!
//! OASIS "Static Analysis Results Interchange Format" 2.1.0: one run; a rule for each kind of finding; of each finding the
//! kernel as logical location, the line of the source, or else the file, as physical one, and the calls that lead there
//! as a code flow. Written here and not by the types of crate `serde-sarif`, whose document is whole in memory: threads
//! write the results in pieces, of which there may be millions.

use super::Share;
use super::baseline::Compared;
use super::{FileFindings, LocatedFinding, TargetFindings};
use crate::compat::aspects::Evidence;
use crate::compat::finding::{Rule, RuleId, Severity};
use crate::demangle::demangle;
use crate::error::Result;
use crate::report::json::writer::{Gap, split};
use crate::report::json::{FileProblem, put};
use crate::report::name::display;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::Write;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes one document.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn sarif(
    out: &mut impl Write,
    targets: &[TargetFindings],
    problems: &[FileProblem],
    compared: Option<&Compared>,
) -> Result<()> {
    let items = targets.iter().flat_map(TargetFindings::items).flat_map(|(_, _, items)| items);
    let mut rules: Vec<RuleId> = items.map(|item| item.finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let described: Vec<Value> = rules.iter().map(|id| rule(id.rule())).collect();
    // The results are written by themselves: there may be millions.
    let [head, tail] = split(&Document::new(described, Gap).without(problems));
    put(out, &format!("{head}["))?;
    let mut first = true;
    let share = |text: &mut String, share: &Share<'_>| {
        for (_, _, finding) in share.findings() {
            text.push(',');
            text.push_str(&result(&finding, share.target, &rules, compared).to_string());
        }
    };
    super::each_share(targets, share, |text| {
        let rest = if first { text.strip_prefix(',').unwrap_or(text) } else { text };
        first &= text.is_empty();
        put(out, rest)
    })?;
    put(out, &format!("]{tail}\n"))
}

/// A document of one run.
#[derive(Serialize)]
pub(super) struct Document<R> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<R>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<R> {
    tool: Value,
    column_kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocations: Option<[Value; 1]>,
    results: R,
}

impl<R> Document<R> {
    /// The document of results that break these rules.
    pub(super) fn new(rules: Vec<Value>, results: R) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let driver = json!({ "name": "sycl-bundle", "version": version, "semanticVersion": version, "rules": rules });
        let run =
            Run { tool: json!({ "driver": driver }), column_kind: "unicodeCodePoints", invocations: None, results };
        Document { schema: SCHEMA, version: "2.1.0", runs: [run] }
    }

    /// Tells what could not be read: the results are not all that might be found.
    fn without(mut self, problems: &[FileProblem]) -> Self {
        let notifications = problems.iter().map(|problem| {
            json!({
                "level": "error",
                "message": { "text": problem.of_image() },
                "locations": [{ "physicalLocation": physical(&problem.file, None) }],
            })
        });
        let notifications: Vec<Value> = notifications.collect();
        if !notifications.is_empty() {
            let invocation = json!({ "executionSuccessful": false, "toolExecutionNotifications": notifications });
            self.runs.iter_mut().for_each(|run| run.invocations = Some([invocation.clone()]));
        }
        self
    }
}

/// A rule as SARIF describes it.
pub(super) fn rule(rule: &Rule) -> Value {
    let level = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.title },
        "help": { "text": rule.help },
        "defaultConfiguration": { "level": level },
    })
}

fn result(
    finding: &LocatedFinding<'_>,
    target: &TargetFindings,
    rules: &[RuleId],
    compared: Option<&Compared>,
) -> Value {
    let LocatedFinding { of: FileFindings { file, .. }, found } = finding;
    let id = found.finding.rule;
    let of_kernel = !found.kernel.is_empty();
    let kernel = of_kernel.then(|| format!("kernel {}", display(found.kernel)));
    let on = (!target.target.is_empty()).then(|| format!("target {}", target.target));
    let about: Vec<String> = kernel.into_iter().chain(on).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let text = format!("{}{about}", found.finding.message);
    let place = finding.evidence().and_then(|evidence| evidence.place.as_ref());
    let physical = match place {
        Some(place) => physical(&place.file, Some((place.line, place.column))),
        None => physical(file, None),
    };
    let mut result = json!({
        "ruleId": id.name(),
        "ruleIndex": rules.iter().position(|own| *own == id),
        "kind": "fail",
        "level": if found.finding.certain { "error" } else { "warning" },
        "message": { "text": text },
        "locations": [{ "physicalLocation": physical }],
        "partialFingerprints": { "syclBundleFinding/v1": finding.fingerprint(&target.target) },
        "properties": {
            "target": Some(&target.target).filter(|name| !name.is_empty()),
            "file": &**file,
            "image": found.image,
            "usedIn": found.elsewhere.map(|(file, image)| json!({ "file": &**file, "image": image })),
            "aspect": found.finding.aspect,
            "remedy": found.finding.remedy,
        },
    });
    if let Some(location) = result.pointer_mut("/locations/0").and_then(Value::as_object_mut).filter(|_| of_kernel) {
        let name = demangle(found.kernel);
        let logical = json!([{ "name": name, "fullyQualifiedName": found.kernel, "kind": "function" }]);
        location.insert("logicalLocations".to_owned(), logical);
    }
    if let Some(members) = result.as_object_mut() {
        if let Some(compared) = compared {
            let state = if compared.knows(found) { "unchanged" } else { "new" };
            members.insert("baselineState".to_owned(), state.into());
        }
        if let Some(evidence) = finding.evidence() {
            members.insert("codeFlows".to_owned(), json!([{ "threadFlows": [{ "locations": flow(evidence) }] }]));
        }
        if let Some(reason) = found.excused {
            members.insert("suppressions".to_owned(), json!([{ "kind": "external", "justification": &**reason }]));
        }
    }
    result
}

/// The calls, then the use.
fn flow(evidence: &Evidence) -> Vec<Value> {
    let step = |place: Option<&crate::source::SourceLocation>, function: &str, text: String| {
        let mut location = Map::new();
        if let Some(place) = place {
            location.insert("physicalLocation".to_owned(), physical(&place.file, Some((place.line, place.column))));
        }
        let logical = json!([{ "name": demangle(function), "fullyQualifiedName": function, "kind": "function" }]);
        location.insert("logicalLocations".to_owned(), logical);
        location.insert("message".to_owned(), json!({ "text": text }));
        json!({ "location": location })
    };
    let calls = evidence.chain.iter().map(|one| {
        let verb = if one.call.is_some() { "calls " } else { "" };
        step(one.call.as_ref(), &one.function, format!("{verb}{}", display(&one.function)))
    });
    let last = evidence.chain.last().map(|one| one.function.as_str()).unwrap_or_default();
    let text = format!("{} needs {}", evidence.instruction, evidence.aspect.name());
    calls.chain(std::iter::once(step(evidence.place.as_ref(), last, text))).collect()
}

fn physical(file: &str, place: Option<(u32, u32)>) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": reference(file) } });
    // SARIF counts lines and columns from 1.
    if let (Some(members), Some((line @ 1.., column))) = (physical.as_object_mut(), place) {
        let region = match column {
            0 => json!({ "startLine": line }),
            _ => json!({ "startLine": line, "startColumn": column }),
        };
        members.insert("region".to_owned(), region);
    }
    physical
}

/// A path as a URI reference: absolute ones with their scheme, those of Windows too.
pub(super) fn reference(path: &str) -> String {
    let path = path.replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':');
    let encoded = crate::report::name::uri(&path);
    match (path.starts_with('/'), drive) {
        (true, _) => encoded,
        (false, true) => encoded.replacen("file://", "file:///", 1).replacen("%3A", ":", 1),
        (false, false) => encoded.trim_start_matches("file://").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(reference("src/a b.cpp"), "src/a%20b.cpp");
        assert_eq!(reference("/src/a.cpp"), "file:///src/a.cpp");
        assert_eq!(reference("C:\\src\\a.cpp"), "file:///C:/src/a.cpp");
    }
}
