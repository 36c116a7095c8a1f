//! What did the gate find, for people?

use super::matrix::{SOME, matrix};
use super::{Counts, Group, TargetFindings, word};
use crate::report::draw::Drawing;
use crate::report::evidence::{self, Names};
use crate::report::inspect::View;
use crate::report::name::{shorten, shorten_path};
use crate::report::table::{Column, render};
use crate::report::text::visible_lines;
use crate::report::units::count;
use std::fmt::Write as _;

/// Kernels that are named for each thing that is found; `--format json` has all.
pub const EXAMPLES: usize = 3;

/// A line for each target, where they are drawn a line for each sort of kernels, then what was found, with the kernels that
/// it is found of.
pub fn table(targets: &[TargetFindings], view: &View, drawing: Option<Drawing>) -> String {
    let columns = [
        ("Target", Column::Text),
        ("Run", Column::Number),
        ("Unknown", Column::Number),
        ("Cannot run", Column::Number),
        ("Excused", Column::Number),
        ("Verdict", Column::Text),
    ];
    let row = |one: &TargetFindings| {
        let Counts { compatible, unknown, incompatible } = one.counts();
        // They count as kernels that run, and do not run all the same.
        let excused = one.excused_kernels();
        let numbers = [compatible.saturating_sub(excused), unknown, incompatible, excused].map(count);
        let mut row = vec![one.name().to_owned()];
        row.extend(numbers);
        row.push(word(one.verdict()).to_owned());
        row
    };
    let rows: Vec<Vec<String>> = targets.iter().map(row).collect();
    let mut out = render(&columns, &rows, view.width, view.color);
    let drawn = drawing.filter(|_| targets.len() > 1).map(|drawing| matrix(targets, view, drawing, SOME));
    for picture in drawn.iter().filter(|picture| !picture.is_empty()) {
        out.push('\n');
        out.push_str(picture);
    }
    for one in targets {
        for group in one.groups() {
            out.push('\n');
            section(&mut out, one, &group, view);
        }
    }
    for one in targets.iter().filter(|one| one.excused() > 0) {
        out.push('\n');
        for (why, group) in one.excuses() {
            let text = format!("{}: excused: {}: {why}", one.name(), group.extent());
            for (at, line) in wrap(&text, view.width.saturating_sub(2)).iter().enumerate() {
                let _ = writeln!(out, "{}{line}", if at == 0 { "" } else { "  " });
            }
        }
    }
    out
}

fn section(out: &mut String, target: &TargetFindings, group: &Group<'_>, view: &View) {
    let names = Names { demangle: view.demangle };
    let _ = writeln!(out, "{}: {}", target.name(), group.heading());
    for line in wrap(&group.against.message, view.width.saturating_sub(2)) {
        let _ = writeln!(out, "  {line}");
    }
    for finding in group.findings(EXAMPLES) {
        let image = finding.found.image.map(|image| format!(" image {image}")).unwrap_or_default();
        let place = format!("  {}{image}: ", shorten_path(&finding.of.file, view.width / 3));
        if finding.found.kernel.is_empty() {
            let _ = writeln!(out, "  {}", shorten_path(&finding.of.file, view.width.saturating_sub(2)));
            continue;
        }
        let left = view.width.saturating_sub(place.chars().count()).max(20);
        let _ = writeln!(out, "{place}{}", shorten(&names.show(finding.found.kernel), left));
        if let Some((file, image)) = finding.found.elsewhere {
            let _ = writeln!(out, "    in {} image {image}", shorten_path(file, view.width.saturating_sub(20)));
        }
        if let Some(found) = finding.evidence() {
            // The kernel has been named; the way begins on the second line.
            for line in evidence::text(finding.found.kernel, found, names).lines().skip(1) {
                for line in wrap(line.trim(), view.width.saturating_sub(4)) {
                    let _ = writeln!(out, "    {line}");
                }
            }
        }
    }
    let more = group.count.saturating_sub(EXAMPLES);
    if more > 0 {
        let _ = writeln!(out, "  and {} more", count(more));
    }
    for (at, line) in wrap(&group.against.remedy, view.width.saturating_sub(8)).iter().enumerate() {
        let _ = writeln!(out, "{}{line}", if at == 0 { "  help: " } else { "        " });
    }
}

/// Lines of at most `width` characters, broken at spaces; a word that is longer stands alone, shortened.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines: Vec<String> = Vec::new();
    for word in visible_lines(text).split_whitespace() {
        let word = shorten(word, width);
        match lines.last_mut() {
            Some(line) if line.chars().count().saturating_add(1).saturating_add(word.chars().count()) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word.into_owned()),
        }
    }
    lines
}
