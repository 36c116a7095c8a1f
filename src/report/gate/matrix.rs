//! Which kernels run on which targets, as a picture for a terminal?
//!
//! A column for each target, whose names stand above as stairs, since there may be a hundred. Kernels of a template of which
//! the same is said everywhere share a line; those that run everywhere share one.

use super::{OfFile, OfTarget, certain};
use crate::compat::gate::kernels::Kernels;
use crate::report::draw::Drawing;
use crate::report::inspect::View;
use crate::report::name::{family, shorten};
use crate::report::units::{count, counted};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

/// Lines of a matrix that stands beside other things.
pub const SOME: usize = 16;

/// What stands for a kernel that a policy does not ask about for a target.
const NOT_ASKED: usize = 3;

/// Kernels of which the same is said.
#[derive(Default)]
struct Line {
    kernels: usize,
    /// The first of them, as it is shown.
    first: String,
}

/// The picture, of at most so many lines; nothing where no kernel was judged.
pub fn matrix(targets: &[OfTarget], view: &View, drawing: Drawing, most: usize) -> String {
    let targets: Vec<&OfTarget> = targets.iter().filter(|one| !one.target.is_empty() && one.kernels() > 0).collect();
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
    let put = |out: &mut String, (verdicts, line): &(Vec<usize>, Line)| {
        let signs: Vec<String> = verdicts.iter().map(|verdict| sign(*verdict, view.color, drawing)).collect();
        let lead = verdicts.len().saturating_mul(2).saturating_add(widest).saturating_add(3);
        let name = shorten(&line.first, view.width.saturating_sub(lead).max(12));
        let _ = writeln!(out, "{}  {:>widest$}  {name}", signs.join(" "), count(line.kernels));
    };
    // What runs everywhere is the last line, and is not left out.
    let (everywhere, others): (Vec<_>, Vec<_>) =
        lines.iter().partition(|(verdicts, _)| verdicts.iter().all(|verdict| *verdict == 0));
    others.iter().take(most).for_each(|line| put(&mut out, line));
    let more = others.iter().skip(most).map(|(_, line)| line.kernels).sum::<usize>();
    if more > 0 {
        let _ = writeln!(out, "and {} more; `--format matrix` shows all", counted(more, "kernel"));
    }
    everywhere.iter().for_each(|line| put(&mut out, line));
    let [runs, unknown, cannot] = [0, 1, 2].map(|verdict| sign(verdict, view.color, drawing));
    let _ = writeln!(out, "{runs} runs, {cannot} cannot run, {unknown} unknown; the number is that of kernels");
    out
}

/// The lines, each with the verdict for each target: the worst first, what runs everywhere last.
fn lines(targets: &[&OfTarget], view: &View) -> Vec<(Vec<usize>, Line)> {
    let mut found: BTreeMap<(Vec<usize>, String), Line> = BTreeMap::new();
    let files: Vec<Vec<&OfFile>> =
        targets.iter().map(|one| one.files.iter().filter(|of| !of.is_whole()).collect()).collect();
    for at in 0..files.iter().map(Vec::len).max().unwrap_or(0) {
        let of_targets: Vec<Option<&OfFile>> = files.iter().map(|own| own.get(at).copied()).collect();
        // Targets that a policy asks about the same kernels share these; there are few sets.
        let mut sets: Vec<(&Arc<Kernels>, HashMap<&str, usize>)> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for kernels in of_targets.iter().flatten().map(|of| &of.judged.kernels) {
            if !sets.iter().any(|(known, _)| Arc::ptr_eq(known, kernels)) {
                names.extend(
                    kernels
                        .names()
                        .filter(|name| !sets.iter().any(|(_, known)| known.contains_key(&***name)))
                        .map(|name| &**name),
                );
                sets.push((kernels, kernels.names().enumerate().map(|(place, name)| (&**name, place)).collect()));
            }
        }
        for name in names {
            let verdict = |of: &Option<&OfFile>| verdict((*of)?, name, &sets);
            let verdicts: Vec<usize> = of_targets.iter().map(|of| verdict(of).unwrap_or(NOT_ASKED)).collect();
            let everywhere = verdicts.iter().all(|verdict| *verdict == 0);
            let shown = if everywhere { String::new() } else { view.kernel(name) };
            let line = found.entry((verdicts, family(&shown).to_owned())).or_default();
            line.kernels = line.kernels.saturating_add(1);
            if line.kernels == 1 {
                line.first = shown;
            }
        }
    }
    let mut lines: Vec<(Vec<usize>, Line)> = Vec::new();
    for ((verdicts, family), mut line) in found {
        if verdicts.iter().all(|verdict| *verdict == 0) {
            line.first = if line.kernels == 1 { "runs" } else { "run" }.to_owned() + " on all of them";
        } else if line.kernels > 1 {
            line.first = family;
        }
        lines.push((verdicts, line));
    }
    // Those that run nowhere before those that do not run somewhere; of these the many first.
    lines.sort_by(|(one, first), (other, second)| {
        let badness = |all: &[usize]| all.iter().filter(|verdict| **verdict != NOT_ASKED).sum::<usize>();
        badness(other).cmp(&badness(one)).then(second.kernels.cmp(&first.kernels)).then(first.first.cmp(&second.first))
    });
    lines
}

/// 0 runs, 1 unknown, 2 cannot run; none for a kernel that nothing is asked of.
fn verdict(of: &OfFile, name: &str, sets: &[(&Arc<Kernels>, HashMap<&str, usize>)]) -> Option<usize> {
    let (_, places) = sets.iter().find(|(kernels, _)| Arc::ptr_eq(kernels, &of.judged.kernels))?;
    let items = of.judged.items.get(of.judged.grouping.of(*places.get(name)?)?)?;
    Some(match certain(items) {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    })
}

fn sign(verdict: usize, color: bool, drawing: Drawing) -> String {
    let sign = drawing.signs().get(verdict).copied().unwrap_or(" ");
    let code = ["32", "33", "31"].get(verdict).copied().unwrap_or("0");
    if color { format!("\x1b[{code}m{sign}\x1b[0m") } else { sign.to_owned() }
}
