//! Which kernels run on which targets, as a picture for a terminal?
//!
//! A column for each target, whose names stand above as stairs, since there may be a hundred. Kernels of a template of which
//! the same is said everywhere share a line; those that run everywhere share one.

use super::TargetFindings;
use super::rows::{Cell, Standing, rows_by_file};
use crate::report::draw::Drawing;
use crate::report::inspect::View;
use crate::report::name::{family, shorten};
use crate::report::units::{count, counted};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lines of a matrix that stands beside other things.
pub const SOME: usize = 16;

/// Kernels of which the same is said.
#[derive(Default)]
struct Line {
    kernels: usize,
    /// The first of them, as it is shown.
    first: String,
}

/// The picture, of at most so many lines; nothing where no kernel was judged.
pub fn matrix(targets: &[TargetFindings], view: &View, drawing: Drawing, most: usize) -> String {
    let targets: Vec<&TargetFindings> =
        targets.iter().filter(|one| !one.target.is_empty() && one.kernels() > 0).collect();
    let mut out = String::new();
    let lines = lines(&targets, view);
    if lines.is_empty() {
        return out;
    }
    let [bend, way] = drawing.lines();
    for (at, target) in targets.iter().enumerate() {
        let lead = format!("{way} ").repeat(at);
        let left = view.width.saturating_sub(at.saturating_mul(2)).saturating_sub(2).max(8);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{lead}{bend} {}", shorten(&target.target, left));
    }
    let widest = lines.iter().map(|(_, line)| count(line.kernels).len()).max().unwrap_or(0);
    let put = |out: &mut String, (stands, line): &(Vec<Standing>, Line)| {
        let signs: Vec<String> = stands.iter().map(|stand| sign(*stand, view.color, drawing)).collect();
        let lead = stands.len().saturating_mul(2).saturating_add(widest).saturating_add(3);
        let name = shorten(&line.first, view.width.saturating_sub(lead).max(12));
        let _ = writeln!(out, "{}  {:>widest$}  {name}", signs.join(" "), count(line.kernels));
    };
    // What runs everywhere is the last line, and is not left out.
    let (everywhere, others): (Vec<_>, Vec<_>) = lines.iter().partition(|(stands, _)| run(stands));
    others.iter().take(most).for_each(|line| put(&mut out, line));
    let more = others.iter().skip(most).map(|(_, line)| line.kernels).sum::<usize>();
    if more > 0 {
        let _ = writeln!(out, "and {} more; `--format matrix` shows all", counted(more, "kernel"));
    }
    everywhere.iter().for_each(|line| put(&mut out, line));
    let mut legend = Vec::new();
    for (stand, what) in [
        (Standing::Runs, "runs"),
        (Standing::Excused, "excused"),
        (Standing::Cannot, "cannot run"),
        (Standing::Unknown, "unknown"),
    ] {
        // A policy or a baseline excuses; most have none.
        if stand != Standing::Excused || lines.iter().any(|(stands, _)| stands.contains(&stand)) {
            legend.push(format!("{} {what}", sign(stand, view.color, drawing)));
        }
    }
    let _ = writeln!(out, "{}; the number is that of kernels", legend.join(", "));
    out
}

/// The lines, each with how its kernels stand on each target: the worst first, what runs everywhere last.
fn lines(targets: &[&TargetFindings], view: &View) -> Vec<(Vec<Standing>, Line)> {
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
    // Those that run nowhere before those that do not run somewhere; of these the many first.
    lines.sort_by(|(one, first), (other, second)| {
        let badness = |all: &[Standing]| all.iter().map(|stand| badness(*stand)).sum::<usize>();
        badness(other).cmp(&badness(one)).then(second.kernels.cmp(&first.kernels)).then(first.first.cmp(&second.first))
    });
    lines
}

/// Whether kernels run everywhere, and nothing had to be excused.
fn run(stands: &[Standing]) -> bool {
    stands.iter().all(|stand| *stand == Standing::Runs)
}

/// By how much a stand moves a line to the top.
fn badness(stand: Standing) -> usize {
    match stand {
        Standing::Runs | Standing::Excused | Standing::NotAsked => 0,
        Standing::Unknown => 1,
        Standing::Cannot => 2,
    }
}

fn sign(stand: Standing, color: bool, drawing: Drawing) -> String {
    let [runs, unknown, cannot] = drawing.signs();
    let (sign, code) = match stand {
        Standing::Runs => (runs, "32"),
        Standing::Unknown => (unknown, "33"),
        Standing::Cannot => (cannot, "31"),
        // The page has the same sign.
        Standing::Excused => ("~", "36"),
        Standing::NotAsked => return " ".to_owned(),
    };
    if color { format!("\x1b[{code}m{sign}\x1b[0m") } else { sign.to_owned() }
}
