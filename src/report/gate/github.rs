//! What did the gate find, as annotations of a GitHub workflow and as a summary for a pull request?
//!
//! Workflow commands (`::error file=...,line=...::message`); of each kind a step shows ten, so that findings that say the
//! same of several kernels at one place are one.

use super::table::EXAMPLES;
use super::{Counts, Group, LocatedFinding, TargetFindings, alike, word};
use crate::report::evidence::{self, Names};
use crate::report::json::FileProblem;
use crate::report::name::shorten;
use crate::report::text::count;
use crate::report::text::{Shown, markdown_code, markdown_text, visible};
use std::collections::HashMap;

/// Characters of a kernel's name that are shown.
const SHOWN: usize = 120;

/// A file, and the line and column in it.
type Place<'f> = (&'f str, Option<(u32, u32)>);

/// A line for each place and each thing that is found there.
pub(crate) fn github(targets: &[TargetFindings], problems: &[FileProblem], names: Names) -> Shown {
    let mut out = Shown::default();
    for problem in problems {
        out.push_str("::");
        writeln!(out, "error file={},title=not read::{}", property(&problem.file), data(&[&problem.of_image()]));
    }
    for target in targets {
        for group in target.groups() {
            let mut places: Vec<(Place<'_>, LocatedFinding<'_>, usize)> = Vec::new();
            let mut known: HashMap<Place<'_>, usize> = HashMap::new();
            for finding in group.findings(usize::MAX) {
                let place = finding.evidence().and_then(|evidence| evidence.place.as_ref());
                let file = place.map_or(&*finding.of.file, |place| &*place.file);
                let line = place.map(|place| (place.line, place.column));
                let at = *known.entry((file, line)).or_insert(places.len());
                match places.get_mut(at) {
                    Some(known) => known.2 = known.2.saturating_add(1),
                    None => places.push(((file, line), finding, 1)),
                }
            }
            let level = if group.finding.certain { "error" } else { "warning" };
            for ((file, line), first, count) in places {
                out.push_str("::");
                write!(out, "{level} file={}", property(file));
                if let Some((line, column)) = line {
                    write!(out, ",line={line}");
                    if column != 0 {
                        write!(out, ",col={column}");
                    }
                }
                let title = format!("{} on {}", group.finding.rule.name(), target.name());
                let kernel = names.show(first.found.kernel);
                let kernel = shorten(&kernel, SHOWN);
                let more = match count {
                    0 | 1 => String::new(),
                    all => format!(" and {} more", all.saturating_sub(1)),
                };
                let kernel = if kernel.is_empty() { String::new() } else { format!("kernel {kernel}{more}") };
                let help = format!("help: {}", group.finding.remedy);
                let text = data(&[&group.finding.message, &kernel, &help]);
                writeln!(out, ",title={}::{}", property(&title), text);
            }
        }
    }
    out
}

/// The message of a command: its lines, but those that are empty.
pub(super) fn data(lines: &[&str]) -> String {
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.map(|line| visible(line).replace('%', "%25")).collect::<Vec<_>>().join("%0A")
}

pub(super) fn property(text: &str) -> String {
    data(&[text]).replace(':', "%3A").replace(',', "%2C")
}

/// A table of the targets, and a section for each thing that was found.
pub(crate) fn markdown(targets: &[TargetFindings], problems: &[FileProblem], names: Names) -> Shown {
    let mut out = Shown::default();
    out.push_str(
        "### Device code\n\n| target | runs | unknown | cannot run | excused | verdict |\n|---|--:|--:|--:|--:|---|\n",
    );
    for one in targets {
        let Counts { compatible, unknown, incompatible } = one.counts();
        let excused = one.excused_kernels();
        let [runs, unknown, cannot, excused] =
            [compatible.saturating_sub(excused), unknown, incompatible, excused].map(count);
        let verdict = word(one.verdict());
        // In a table a bar ends the cell, in code too.
        let name = markdown_code(one.name()).replace('|', "\\|");
        writeln!(out, "| {name} | {runs} | {unknown} | {cannot} | {excused} | {verdict} |");
    }
    if !problems.is_empty() {
        out.push_str("\n**Not all could be read, and what was not is not judged:**\n\n");
        for problem in problems {
            writeln!(out, "- {}: {}", markdown_code(&problem.file), markdown_text(&problem.of_image()));
        }
    }
    for (targets, section) in alike(targets, |group| markdown_section(group, names)) {
        out.push_str("\n");
        let targets: Vec<String> = targets.iter().map(|name| markdown_code(name)).collect();
        write!(out, "**{}: ", targets.join(", "));
        out.append(&section);
    }
    for one in targets.iter().filter(|one| one.excused() > 0) {
        out.push_str("\n");
        for (why, group) in one.excuses() {
            let name = markdown_code(one.name());
            writeln!(out, "- {name}: excused: {}: {}", group.extent(), markdown_text(why));
        }
    }
    out
}

fn markdown_section(group: &Group<'_>, names: Names) -> Shown {
    let mut out = Shown::default();
    writeln!(out, "{}**", group.heading());
    out.push_str("\n");
    writeln!(out, "> {}", markdown_text(&group.finding.message));
    out.push_str("\n");
    for finding in group.findings(EXAMPLES) {
        if finding.found.kernel.is_empty() {
            writeln!(out, "- {}", markdown_code(&finding.of.file));
            continue;
        }
        let kernel = names.show(finding.found.kernel);
        writeln!(out, "- {} in {}", markdown_code(&shorten(&kernel, SHOWN)), markdown_code(&finding.of.file));
        if let Some(found) = finding.evidence() {
            writeln!(out, "  - {}", markdown_code(&evidence::way(finding.found.kernel, found, names)));
        }
    }
    let more = group.count.saturating_sub(EXAMPLES);
    if more > 0 {
        writeln!(out, "- and {} more", count(more));
    }
    out.push_str("\n");
    writeln!(out, "{}", markdown_text(&group.finding.remedy));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(data(&["50 %\u{1}", "", "next"]), "50 %25\\u{1}%0Anext");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
