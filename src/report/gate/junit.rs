//! What did the gate find, as JUnit's XML?
//!
//! A suite for each target, a case for each kernel; what is sure is a failure, what is not known or excused is skipped, and
//! with `strict` what is not known fails too. What could not be read is a suite of errors. Elements and attributes are those that
//! Jenkins' schema and GitLab take.
//! Written here and not by crate `quick-junit`, which holds the whole report: 13 MB for the 20,440 cases of one library of
//! dpnp on 35 targets, a document of 7.8 MB. Here threads write it in pieces.

use super::{KernelTexts, Share};
use super::{LocatedFinding, TargetFindings};
use crate::compat::gate::judgement::Item;
use crate::error::Result;
use crate::report::evidence::{self, Names};
use crate::report::json::{FileProblem, put};
use crate::report::text::{Shown, visible};
use std::fmt::Write as _;
use std::io::Write;

/// Writes one document.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn junit(
    out: &mut impl Write,
    targets: &[TargetFindings],
    problems: &[FileProblem],
    names: Names,
    strict: bool,
) -> Result<()> {
    put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sycl-bundle check\">\n")?;
    if !problems.is_empty() {
        put(out, &unread(problems))?;
    }
    let texts = KernelTexts::new(targets);
    let share = |out: &mut String, share: &Share<'_>| {
        if share.opens {
            open(out, share.target, strict);
        }
        cases(out, share, &texts, names, strict);
        if share.closes {
            out.push_str("  </testsuite>\n");
        }
    };
    super::each_share(targets, share, |text| put(out, text))?;
    put(out, "</testsuites>\n")
}

/// The suite of what could not be read.
fn unread(problems: &[FileProblem]) -> String {
    let count = problems.len();
    let head = format!("tests=\"{count}\" failures=\"0\" errors=\"{count}\" skipped=\"0\"");
    let mut out = format!("  <testsuite name=\"reading\" {head}>\n");
    for problem in problems {
        let name = problem.image.map_or("the whole file".to_owned(), |image| format!("image {image}"));
        let (file, message) = (escaped(&problem.file), escaped(&problem.message));
        let _ = writeln!(out, "    <testcase classname=\"{file}\" name=\"{name}\">");
        let _ = writeln!(out, "      <error message=\"{message}\" type=\"unread\"/>\n    </testcase>");
    }
    out.push_str("  </testsuite>\n");
    out
}

/// The begin of a target's suite.
fn open(out: &mut String, target: &TargetFindings, strict: bool) {
    let counts = |item: &Item| item.excused.is_none() && (item.finding.certain || strict);
    let (mut failed, mut all) = (0usize, 0usize);
    for (_, kernels, items) in target.items() {
        all = all.saturating_add(kernels.len());
        failed = failed.saturating_add(if items.iter().any(counts) { kernels.len() } else { 0 });
    }
    let skipped = all.saturating_sub(failed);
    // Findings about a file as a whole have a test case of their own.
    let whole = target.files.iter().filter(|of| of.is_whole()).count();
    let (name, tests) = (escaped(target.name()), target.kernels().saturating_add(whole));
    let head = format!("tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"");
    let _ = writeln!(out, "  <testsuite name=\"{name}\" {head}>");
}

/// A case for each kernel.
fn cases(out: &mut String, share: &Share<'_>, texts: &KernelTexts, names: Names, strict: bool) {
    let Some(of) = share.of else { return };
    let class = escaped(&of.file);
    for kernel in share.kernels.clone() {
        let Some(name) = of.judged.kernels.name(kernel) else { continue };
        let shown = texts.get(share, kernel, || match name.is_empty() {
            true => "the whole file".to_owned(),
            false => escaped(&names.show(name)),
        });
        let _ = write!(out, "    <testcase classname=\"{class}\" name=\"{shown}\"");
        let findings: Vec<LocatedFinding<'_>> =
            of.judged.findings_of(kernel).map(|found| LocatedFinding { of, found }).collect();
        if findings.is_empty() {
            out.push_str("/>\n");
        } else {
            out.push_str(">\n");
            case(out, &findings, names, strict);
            out.push_str("    </testcase>\n");
        }
    }
}

/// Writes the findings of one kernel.
fn case(out: &mut String, findings: &[LocatedFinding<'_>], names: Names, strict: bool) {
    let fails = |one: &&LocatedFinding<'_>| one.found.excused.is_none() && (one.found.finding.certain || strict);
    let failing: Vec<&LocatedFinding<'_>> = findings.iter().filter(fails).collect();
    if failing.is_empty() {
        let why = |one: &LocatedFinding<'_>| {
            one.found.excused.map_or(one.found.finding.message.clone(), |why| why.to_string())
        };
        let texts: Vec<String> = findings.iter().map(why).collect();
        let _ = writeln!(out, "      <skipped message=\"{}\"/>", escaped(&texts.join(" ")));
    }
    for finding in failing {
        let against = finding.found.finding;
        let (message, rule) = (escaped(&against.message), against.rule.name());
        let text = markup(&details(finding, names));
        let _ = writeln!(out, "      <failure message=\"{message}\" type=\"{rule}\">{text}</failure>");
    }
}

fn details(finding: &LocatedFinding<'_>, names: Names) -> Shown {
    let mut text = Shown::default();
    if let Some(image) = finding.found.image {
        writeln!(text, "image {image} of {}", finding.of.file);
    }
    if let Some((file, image)) = finding.found.elsewhere {
        writeln!(text, "in image {image} of {file}");
    }
    if let Some(found) = finding.evidence() {
        text.append(&Shown::of_lines(&evidence::text(finding.found.kernel, found, names)));
        if let Some(place) = &found.place {
            writeln!(text, "{place}");
        }
    }
    write!(text, "help: {}", finding.found.finding.remedy);
    text
}

/// A text on one line, as an attribute holds it.
pub(super) fn escaped(text: &str) -> String {
    markup(&visible(text))
}

/// Text as XML 1.0 holds it; characters that it cannot hold become `?`.
pub(super) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            _ if c < ' ' => out.push('?'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(markup("a<b> & \"c\"\u{1}\u{ffff}"), "a&lt;b&gt; &amp; &quot;c&quot;??");
        assert_eq!(escaped("a\n\u{1}"), "a\\n\\u{1}");
    }
}
