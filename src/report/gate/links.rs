//! What is wrong with how files link, in the forms of other tools?
//!
//! The same forms as those of the gate, of findings that are about symbols and files rather than kernels on targets.

use super::github::{data, property};
use super::sarif::{Document, reference, rule};
use crate::compat::finding::RuleId;
use crate::compat::gate::base_name;
use crate::compat::link::{LinkFinding, LinkUnit, Linked, Place};
use crate::demangle::demangle;
use crate::report::evidence::Names;
use crate::report::json::writer::text;
use crate::report::name::{display, shorten};
use crate::report::text::{Shown, markdown_code as code, markdown_text as plain};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Characters of a name that are shown.
const SHOWN: usize = 120;
/// Images that are named of each finding.
const EXAMPLES: usize = 3;

/// The images that a finding is about: those that want the symbol, else those that have it.
fn places(finding: &LinkFinding) -> impl Iterator<Item = &Place> {
    let wanted = finding.wanted.iter().map(|(place, _)| place);
    let defined = finding.defined.iter().filter(|_| finding.wanted.is_empty());
    wanted.chain(defined)
}

/// The files that a finding is about, each once.
fn files(finding: &LinkFinding) -> BTreeSet<&str> {
    places(finding).map(|(file, _)| &**file).collect()
}

/// The sentence with the name as it is to be shown; of kernels it does not hold it.
fn message(finding: &LinkFinding, names: Names) -> String {
    let shown = names.show(&finding.name);
    let shown = shorten(&shown, SHOWN);
    match finding.finding.rule {
        RuleId::KernelClash | RuleId::OptionsDiffer => {
            finding.finding.message.replacen("Kernel ", &format!("Kernel {shown} "), 1)
        }
        _ => finding.finding.message.replace(&finding.name, &shown),
    }
}

/// An annotation for each file and each thing that is found in it.
pub(crate) fn github(linked: &Linked, names: Names) -> Shown {
    let mut out = Shown::default();
    for finding in &linked.findings {
        let level = if finding.finding.certain { "error" } else { "warning" };
        for file in files(finding) {
            let title = property(finding.finding.rule.name());
            let text = data(&[&message(finding, names), &format!("help: {}", finding.finding.remedy)]);
            out.push_str("::");
            writeln!(out, "{level} file={},title={title}::{text}", property(file));
        }
    }
    out
}

/// A section for each thing that is found.
pub(crate) fn markdown(linked: &Linked, names: Names) -> Shown {
    let mut out = Shown::default();
    out.push_str("### Device symbols across files\n\n| imported | exported | findings |\n|--:|--:|--:|\n");
    writeln!(out, "| {} | {} | {} |", linked.imports, linked.exports, linked.findings.len());
    for finding in &linked.findings {
        let sure = if finding.finding.certain { "error" } else { "warning" };
        out.push_str("\n");
        writeln!(out, "**{sure} ({})**", finding.finding.rule.name());
        out.push_str("\n");
        writeln!(out, "> {}", plain(&message(finding, names)));
        out.push_str("\n");
        for (file, image) in places(finding).take(EXAMPLES) {
            writeln!(out, "- {}", code(&format!("{file} image {image}")));
        }
        let more = places(finding).count().saturating_sub(EXAMPLES);
        if more > 0 {
            writeln!(out, "- and {more} more");
        }
        out.push_str("\n");
        writeln!(out, "{}", plain(&finding.finding.remedy));
    }
    out
}

/// SARIF 2.1.0: a result for each file and each thing that is found in it.
pub(crate) fn sarif(linked: &Linked) -> String {
    let rules: BTreeSet<RuleId> = linked.findings.iter().map(|finding| finding.finding.rule).collect();
    let rules: Vec<RuleId> = rules.into_iter().collect();
    let result = |(finding, file): (&LinkFinding, &str)| {
        json!({
            "ruleId": finding.finding.rule.name(),
            "ruleIndex": rules.iter().position(|own| *own == finding.finding.rule),
            "kind": "fail",
            "level": if finding.finding.certain { "error" } else { "warning" },
            "message": { "text": message(finding, Names { demangle: true }) },
            "locations": [{
                "physicalLocation": { "artifactLocation": { "uri": reference(file) } },
                "logicalLocations": [{
                    "name": demangle(&finding.name),
                    "fullyQualifiedName": finding.name,
                    "kind": "function",
                }],
            }],
            "partialFingerprints": { "syclBundleFinding/v1": fingerprint(finding, file) },
            "properties": {
                "file": file,
                "images": places(finding).filter(|place| *place.0 == *file).map(|place| place.1).collect::<Vec<_>>(),
                "remedy": finding.finding.remedy,
            },
        })
    };
    let all = linked.findings.iter().flat_map(|finding| files(finding).into_iter().map(move |file| (finding, file)));
    let results: Vec<Value> = all.map(result).collect();
    let described: Vec<Value> = rules.iter().map(|id| rule(id.rule())).collect();
    text(&Document::new(described, results)) + "\n"
}

/// A text that identifies a finding from one build to the next: rule, name of the file, and symbol.
fn fingerprint(finding: &LinkFinding, file: &str) -> String {
    [finding.finding.rule.name(), base_name(file), &finding.name].join("\u{1f}")
}

/// JUnit's XML: a suite for each file, a case for each symbol and kernel of it that another file could have to do with.
pub(crate) fn junit(linked: &Linked, units: &[LinkUnit], names: Names, strict: bool) -> String {
    use super::junit::{escaped, markup};
    let mut cases: BTreeMap<&str, BTreeMap<&str, Vec<&LinkFinding>>> = BTreeMap::new();
    for unit in units {
        let own = cases.entry(&unit.file).or_default();
        let imports = unit.imports.iter().map(|import| &*import.symbol);
        imports.chain(unit.exports.iter().chain(&unit.kernels).map(String::as_str)).for_each(|name| {
            own.entry(name).or_default();
        });
    }
    for finding in &linked.findings {
        for file in files(finding) {
            cases.entry(file).or_default().entry(&finding.name).or_default().push(finding);
        }
    }
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sycl-bundle check --link\">\n");
    let fails = |finding: &&&LinkFinding| finding.finding.certain || strict;
    for (file, cases) in &cases {
        let failures = cases.values().filter(|found| found.iter().any(|one| fails(&one))).count();
        let skipped = cases.values().filter(|found| !found.is_empty()).count().saturating_sub(failures);
        let (file, tests) = (escaped(file), cases.len());
        let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"");
        let _ = writeln!(out, "  <testsuite name=\"{file}\" {counts}>");
        for (name, found) in cases {
            let head = format!("    <testcase classname=\"{file}\" name=\"{}\"", escaped(&names.show(name)));
            if found.is_empty() {
                let _ = writeln!(out, "{head}/>");
                continue;
            }
            let _ = writeln!(out, "{head}>");
            let failing: Vec<&&LinkFinding> = found.iter().filter(fails).collect();
            if failing.is_empty() {
                let texts: Vec<String> = found.iter().map(|one| message(one, names)).collect();
                let _ = writeln!(out, "      <skipped message=\"{}\"/>", escaped(&texts.join(" ")));
            }
            for finding in failing {
                let text = message(finding, Names { demangle: true });
                let at: Vec<String> =
                    places(finding).take(EXAMPLES).map(|(file, image)| format!("{file} image {image}")).collect();
                let mut more = Shown::default();
                writeln!(more, "{}", display(&finding.name));
                writeln!(more, "in {}", at.join(", "));
                write!(more, "help: {}", finding.finding.remedy);
                let (text, rule, more) = (escaped(&text), finding.finding.rule.name(), markup(&more));
                let _ = writeln!(out, "      <failure message=\"{text}\" type=\"{rule}\">{more}</failure>");
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}
