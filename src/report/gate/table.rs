//! What did the gate find, for people: as a table, as a matrix of kernels and targets, and which files provide symbols?
//!
//! The matrix has a column for each target, whose names stand above as stairs, since there may be a hundred. Kernels of a template with the
//! same verdicts everywhere share a line; those that run everywhere share one.

use super::{Cell, Counts, Group, Standing, TargetFindings, alike, rows_by_file, word};
use crate::compat::offers::Provider;
use crate::report::evidence::{self, Names};
use crate::report::inspect::View;
use crate::report::name::{family, shorten, shorten_path};
use crate::report::table::{Column, Drawing, render};
use crate::report::text::{Shown, lines};
use crate::report::text::{count, counted};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Characters of a kernel's name beside its file.
const NAME: usize = 24;
/// Kernels that are named for each thing that is found; `--format json` has all.
pub(crate) const EXAMPLES: usize = 3;

/// A line for each target (drawn, a line for each sort of kernels), then the findings, each with its kernels.
pub(crate) fn table(targets: &[TargetFindings], view: &View, drawing: Option<Drawing>) -> Shown {
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
        // Excused kernels count as kernels that run, though they do not.
        let excused = one.excused_kernels();
        let numbers = [compatible.saturating_sub(excused), unknown, incompatible, excused].map(count);
        let mut row = vec![one.name().to_owned()];
        row.extend(numbers);
        row.push(word(one.verdict()).to_owned());
        row
    };
    let rows: Vec<Vec<String>> = targets.iter().map(row).collect();
    let mut out = render(&columns, &rows, &["Excused", "Verdict"], view.width, view.color);
    let drawn = drawing.filter(|_| targets.len() > 1).map(|drawing| matrix(targets, view, drawing, SOME));
    for picture in drawn.iter().filter(|picture| !picture.is_empty()) {
        out.push_str("\n");
        out.append(picture);
    }
    for (names, section) in alike(targets, |group| section(group, view)) {
        out.push_str("\n");
        let heading = section.lines().next().unwrap_or_default();
        lines(&mut out, "", "  ", &format!("{}: {heading}", names.join(", ")), view);
        section.lines().skip(1).for_each(|line| writeln!(out, "{line}"));
    }
    for one in targets.iter().filter(|one| one.excused() > 0) {
        out.push_str("\n");
        for (why, group) in one.excuses() {
            lines(&mut out, "", "  ", &format!("{}: excused: {}: {why}", one.name(), group.extent()), view);
        }
    }
    out
}

/// A heading with the targets in front of it, and the first kernels of a group.
fn section(group: &Group<'_>, view: &View) -> Shown {
    let names = view.names();
    let mut out = Shown::default();
    writeln!(out, "{}", group.heading());
    lines(&mut out, "  ", "  ", &group.finding.message, view);
    for finding in group.findings(EXAMPLES) {
        if finding.found.kernel.is_empty() {
            writeln!(out, "  {}", shorten_path(&finding.of.file, view.width.saturating_sub(2)));
            continue;
        }
        let image = finding.found.image.map(|image| format!(" image {image}")).unwrap_or_default();
        let kernel = names.show(finding.found.kernel);
        let room = view.width.saturating_sub(image.len()).saturating_sub(4);
        let file = shorten_path(&finding.of.file, room.saturating_sub(kernel.chars().count()).max(room / 3));
        let left = room.saturating_sub(file.chars().count());
        // On a narrow terminal the kernel stands below.
        let narrow = left < NAME.min(kernel.chars().count());
        match narrow {
            true => writeln!(out, "  {}{image}:", shorten_path(&finding.of.file, room)),
            false => write!(out, "  {file}{image}: "),
        }
        let (lead, left) = if narrow { ("    ", view.width.saturating_sub(4)) } else { ("", left) };
        writeln!(out, "{lead}{}", shorten(&kernel, left));
        if let Some((file, image)) = finding.found.elsewhere {
            writeln!(out, "    in {} image {image}", shorten_path(file, view.width.saturating_sub(20)));
        }
        if let Some(found) = finding.evidence() {
            lines(&mut out, "    ", "      ", &evidence::way(finding.found.kernel, found, names), view);
        }
    }
    let more = group.count.saturating_sub(EXAMPLES);
    if more > 0 {
        writeln!(out, "  and {} more", count(more));
    }
    lines(&mut out, "  help: ", "        ", &group.finding.remedy, view);
    out
}

/// Characters of a symbol that are shown.
const SYMBOL_WIDTH: usize = 60;

/// A paragraph for each file that takes symbols from another; nothing where none does.
pub(crate) fn providers(all: &[Provider], names: Names) -> Shown {
    let mut pairs: BTreeMap<(&Arc<str>, &Arc<str>), Vec<&Provider>> = BTreeMap::new();
    for one in all {
        pairs.entry((&one.file, &one.provided_by)).or_default().push(one);
    }
    let mut out = Shown::default();
    for ((file, by), images) in pairs {
        let symbols = images.iter().map(|one| one.symbols.len()).sum();
        out.push_str("\n");
        writeln!(out, "{file} takes {} from {by}:", counted(symbols, "symbol"));
        for one in images.iter().take(EXAMPLES) {
            let symbol = one.symbols.first().map(|symbol| names.show(symbol)).unwrap_or_default();
            let symbol = if symbol.is_empty() { "virtual functions".into() } else { shorten(&symbol, SYMBOL_WIDTH) };
            let more = one.symbols.len().saturating_sub(1);
            let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
            writeln!(out, "  {symbol}{more} from its image {}, here image {}", one.its_image, one.image);
        }
        let more = images.len().saturating_sub(EXAMPLES);
        if more > 0 {
            writeln!(out, "  and from {}", counted(more, "more image"));
        }
    }
    out
}

/// Lines of a matrix that stands beside other things.
pub(crate) const SOME: usize = 16;

/// Kernels of which the same is said.
#[derive(Default)]
struct Line {
    kernels: usize,
    /// The first of them, as it is shown.
    first: String,
}

/// The picture, of at most so many lines; nothing where no kernel was judged.
pub(crate) fn matrix(targets: &[TargetFindings], view: &View, drawing: Drawing, most: usize) -> Shown {
    let targets: Vec<&TargetFindings> =
        targets.iter().filter(|one| !one.target.is_empty() && one.kernels() > 0).collect();
    let mut out = Shown::default();
    let lines = matrix_lines(&targets, view);
    if lines.is_empty() {
        return out;
    }
    let [bend, way] = drawing.lines();
    for (at, target) in targets.iter().enumerate() {
        let lead = format!("{way} ").repeat(at);
        let left = view.width.saturating_sub(at.saturating_mul(2)).saturating_sub(2).max(8);
        // Writing to a string does not fail.
        writeln!(out, "{lead}{bend} {}", shorten(&target.target, left));
    }
    let widest = lines.iter().map(|(_, line)| count(line.kernels).len()).max().unwrap_or(0);
    let put = |out: &mut Shown, (stands, line): &(Vec<Standing>, Line)| {
        let lead = stands.len().saturating_mul(2).saturating_add(widest).saturating_add(3);
        let name = shorten(&line.first, view.width.saturating_sub(lead).max(12));
        for (at, stand) in stands.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { " " });
            sign(out, *stand, view.color, drawing);
        }
        writeln!(out, "  {:>widest$}  {name}", count(line.kernels));
    };
    // Kernels that run everywhere are the last line, which is not left out.
    let (everywhere, others): (Vec<_>, Vec<_>) = lines.iter().partition(|(stands, _)| run(stands));
    others.iter().take(most).for_each(|line| put(&mut out, line));
    let more = others.iter().skip(most).map(|(_, line)| line.kernels).sum::<usize>();
    if more > 0 {
        writeln!(out, "and {} more; `--format matrix` shows all", counted(more, "kernel"));
    }
    everywhere.iter().for_each(|line| put(&mut out, line));
    let any = |wanted| lines.iter().any(|(stands, _)| stands.contains(&wanted));
    // Width of the line so far.
    let mut used = 0usize;
    for (stand, what) in [
        (Standing::Native, "native"),
        (Standing::Runs, if any(Standing::Native) { "just in time" } else { "runs" }),
        (Standing::Excused, "excused"),
        (Standing::Cannot, "cannot run"),
        (Standing::Unknown, "unknown"),
    ] {
        // A policy or a baseline excuses, and native code is for some targets; most have none.
        if !matches!(stand, Standing::Excused | Standing::Native) || any(stand) {
            used = used.saturating_add(what.len()).saturating_add(4);
            out.push_str(if used == what.len().saturating_add(4) { "" } else { ", " });
            sign(&mut out, stand, view.color, drawing);
            write!(out, " {what}");
        }
    }
    let unit = "the number is that of kernels";
    out.push_str(if used.saturating_add(unit.len()) > view.width { "\n" } else { "; " });
    writeln!(out, "{unit}");
    out
}

/// The lines, each with the standing of its kernels on each target: the worst first, kernels that run everywhere last.
fn matrix_lines(targets: &[&TargetFindings], view: &View) -> Vec<(Vec<Standing>, Line)> {
    let mut found: BTreeMap<(Vec<Standing>, String), Line> = BTreeMap::new();
    for file_rows in rows_by_file(targets) {
        for row in &file_rows.rows {
            let stand = |cell: Option<Cell<'_>>| cell.map_or(Standing::NotAsked, |cell| cell.standing());
            let stands: Vec<Standing> = file_rows.cells(row).map(stand).collect();
            let shown = if run(&stands) { String::new() } else { view.kernel(row.name) };
            let line = found.entry((stands, family(&shown).to_owned())).or_default();
            line.kernels = line.kernels.saturating_add(1);
            if line.kernels == 1 {
                line.first = shown;
            }
        }
    }
    let mut lines: Vec<(Vec<Standing>, Line)> = Vec::new();
    for ((stands, family), mut line) in found {
        if run(&stands) {
            line.first = if line.kernels == 1 { "runs" } else { "run" }.to_owned() + " on all of them";
        } else if line.kernels > 1 {
            line.first = family;
        }
        lines.push((stands, line));
    }
    // Kernels that run nowhere stand before those that run on some targets; larger groups stand first.
    lines.sort_by(|(one, first), (other, second)| {
        let badness = |all: &[Standing]| all.iter().map(|stand| badness(*stand)).sum::<usize>();
        badness(other).cmp(&badness(one)).then(second.kernels.cmp(&first.kernels)).then(first.first.cmp(&second.first))
    });
    lines
}

/// Whether kernels run everywhere, and nothing had to be excused.
fn run(stands: &[Standing]) -> bool {
    stands.iter().all(|stand| matches!(stand, Standing::Runs | Standing::Native))
}

/// By how much a stand moves a line to the top.
fn badness(stand: Standing) -> usize {
    match stand {
        Standing::Native | Standing::Runs | Standing::Excused | Standing::NotAsked => 0,
        Standing::Unknown => 1,
        Standing::Cannot => 2,
    }
}

fn sign(out: &mut Shown, stand: Standing, color: bool, drawing: Drawing) {
    let [runs, unknown, cannot] = drawing.signs();
    let (sign, code) = match stand {
        Standing::Native => (drawing.native(), "32"),
        Standing::Runs => (runs, "32"),
        Standing::Unknown => (unknown, "33"),
        Standing::Cannot => (cannot, "31"),
        // The page has the same sign.
        Standing::Excused => ("~", "36"),
        Standing::NotAsked => return out.push_str(" "),
    };
    out.styled(color.then_some(code), sign);
}
