//! What changed between two builds, in a terminal and in a pull request?

use super::{Counts, Pair, Report, fate, growth, line, signed};
use crate::compat::diff::compare::{Fate, KernelDiff};
use crate::report::evidence::Names;
use crate::report::inspect::View;
use crate::report::name::shorten;
use crate::report::table::{Column, render};
use crate::report::text::{self, bytes, count, counted};
use crate::report::text::{Shown, lines, markdown_code, markdown_text};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Kernels that are named for each file and fate; JSON has all.
const EXAMPLES: usize = 4;
/// Changes of one kernel, and of images, that are told.
const CHANGES: usize = 8;

/// A line for each file that differs, targets, requirements, and kernels; `all` names each of these.
pub(super) fn table(report: &Report, all: bool, view: &View) -> Shown {
    let mut out = Shown::default();
    if !report.differs() {
        let [_, new] = report.totals();
        let kernels = report.counts().unchanged;
        let (files, kernels) = (counted(report.pairs.len(), "file"), counted(kernels, "kernel"));
        writeln!(out, "no difference: {files}, {kernels}, {}", text::bytes(new.bytes));
    } else {
        files(&mut out, report, view);
        summary(&mut out, report, all, view);
        for pair in report.pairs.iter().filter(|pair| !pair.diff.diffs.is_empty()) {
            kernels(&mut out, pair, all, view);
        }
    }
    if !report.breaches.is_empty() {
        out.push_str("\n");
        writeln!(
            out,
            "{}:",
            match report.breaches.len() {
                1 => "a budget is not kept".to_owned(),
                many => format!("{} budgets are not kept", count(many)),
            }
        );
    }
    for breach in &report.breaches {
        let names = view.names();
        let file = breach.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
        let kernel = breach.kernel.as_ref().map(|kernel| format!("{}: ", names.show(kernel))).unwrap_or_default();
        lines(&mut out, "  ", "    ", &format!("{file}{kernel}{}", breach.message), view);
    }
    out
}

fn files(out: &mut Shown, report: &Report, view: &View) {
    let columns = [
        ("Added", Column::Number),
        ("Removed", Column::Number),
        ("Renamed", Column::Number),
        ("Changed", Column::Number),
        ("Same", Column::Number),
        ("Device code", Column::Text),
        ("In", Column::Text),
        ("File", Column::Path),
    ];
    let differing: Vec<&Pair> = report.pairs.iter().filter(|pair| pair.differs()).collect();
    // Told where there is something to tell.
    let lone = differing.iter().any(|pair| pair.old.is_none() || pair.new.is_none());
    let columns: Vec<(&str, Column)> = columns.into_iter().filter(|(title, _)| lone || *title != "In").collect();
    let row = |counts: Counts, bytes: String, within: &str, name: String| {
        let Counts { added, removed, renamed, changed, unchanged } = counts;
        let mut row: Vec<String> = [added, removed, renamed, changed, unchanged].map(count).into();
        row.push(bytes);
        row.extend(lone.then(|| within.to_owned()));
        row.push(name);
        row
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for pair in &differing {
        let [old, new] = pair.diff.totals();
        let within = match (&pair.old, &pair.new) {
            (None, _) => "new",
            (_, None) => "old",
            _ => "both",
        };
        let partial = if pair.partial { " (not all read)" } else { "" };
        rows.push(row(pair.counts(), growth(old.bytes, new.bytes), within, format!("{}{partial}", pair.name)));
    }
    let same = report.pairs.len().saturating_sub(differing.len());
    if report.pairs.len() > 1 {
        let [old, new] = report.totals();
        let name = match same {
            0 => counted(report.pairs.len(), "file"),
            same => format!("{}, {} the same", counted(report.pairs.len(), "file"), count(same)),
        };
        rows.push(row(report.counts(), growth(old.bytes, new.bytes), "", name));
    }
    out.append(&render(
        &columns,
        &rows,
        &["Same", "Renamed", "In", "Changed", "Added", "Removed"],
        view.width,
        view.color,
    ));
}

fn summary(out: &mut Shown, report: &Report, all: bool, view: &View) {
    let mut targets: std::collections::BTreeMap<&str, [crate::compat::diff::snapshot::Total; 2]> = Default::default();
    for (name, [old, new]) in report.pairs.iter().flat_map(|pair| &pair.diff.targets) {
        let [sum_old, sum_new] = targets.entry(name).or_default();
        (*sum_old, *sum_new) = (sum_old.plus(*old), sum_new.plus(*new));
    }
    out.push_str("\n");
    for (name, [old, new]) in targets {
        let change = match (old.images, new.images) {
            (0, _) => format!("gained: {}, {}", counted(new.images, "image"), text::bytes(new.bytes)),
            (_, 0) => format!("lost: {}, {}", counted(old.images, "image"), text::bytes(old.bytes)),
            (before, after) => {
                format!("{} -> {} images, {}", count(before), count(after), growth(old.bytes, new.bytes))
            }
        };
        lines(out, "target ", "  ", &format!("{name}: {change}"), view);
    }
    for (requirement, [gained, lost]) in report.requirements() {
        let part = |number: usize, word: &str| (number > 0).then(|| format!("{word} by {}", counted(number, "kernel")));
        let parts: Vec<String> = [part(gained, "gained"), part(lost, "lost")].into_iter().flatten().collect();
        lines(out, "requirement ", "  ", &format!("{requirement}: {}", parts.join(", ")), view);
    }
    let changes = report.image_changes();
    let shown = if all { changes.len() } else { CHANGES };
    for change in changes.iter().take(shown) {
        lines(out, "images: ", "  ", change, view);
    }
    if let Some(more) = changes.len().checked_sub(shown).filter(|more| *more > 0) {
        writeln!(out, "images: and {} more", counted(more, "change"));
    }
    let ways: Vec<String> =
        report.ways().into_iter().map(|(what, kernels)| format!("{} of {}", what.name(), count(kernels))).collect();
    if !ways.is_empty() {
        lines(out, "changed: ", "  ", &ways.join(", "), view);
    }
}

fn kernels(out: &mut Shown, pair: &Pair, all: bool, view: &View) {
    out.push_str("\n");
    lines(out, "", "  ", &pair.name, view);
    let fates: [fn(&Fate) -> bool; 4] = [
        |fate| *fate == Fate::Removed,
        |fate| *fate == Fate::Added,
        |fate| matches!(fate, Fate::Renamed { .. }),
        |fate| *fate == Fate::Changed,
    ];
    for is in fates {
        let mut own: Vec<&KernelDiff> = pair.diff.diffs.iter().filter(|kernel| is(&kernel.fate)).collect();
        // The changes that say most stand first: changes of what a kernel is before those of its bytes, large before
        // small.
        own.sort_by_key(|kernel| {
            let [old, new] = kernel.bytes;
            (kernel.changes.first().map(|change| change.what), std::cmp::Reverse(old.abs_diff(new)))
        });
        let shown = if all { own.len() } else { EXAMPLES };
        let alike = names_alike(own.iter().take(shown), view);
        for kernel in own.iter().take(shown) {
            one(out, kernel, &alike, view);
        }
        let more = own.len().saturating_sub(shown);
        if let Some(kernel) = own.first().filter(|_| more > 0) {
            writeln!(out, "  and {} more {}", count(more), fate(&kernel.fate));
        }
    }
}

/// Characters before the name of a kernel, at most.
const LEAD: usize = 32;

/// Shows a kernel's name in the room beside what is told of it.
fn in_short(name: &str, view: &View) -> String {
    shorten(&view.names().show(name), view.width.saturating_sub(LEAD).max(20)).into_owned()
}

/// Names that would be shown like another of these, or like what the kernel was called before.
fn names_alike<'k>(kernels: impl Iterator<Item = &'k &'k KernelDiff>, view: &View) -> HashSet<&'k str> {
    let (mut known, mut alike): (HashMap<String, &str>, HashSet<&str>) = Default::default();
    for kernel in kernels {
        let former = if let Fate::Renamed { from } = &kernel.fate { Some(from.as_str()) } else { None };
        for name in [Some(kernel.name.as_str()), former].into_iter().flatten() {
            match known.entry(in_short(name, view)) {
                Entry::Occupied(other) if *other.get() != name => alike.extend([*other.get(), name]),
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => _ = place.insert(name),
            }
        }
    }
    alike
}

/// Shows a name in full, with the mangled one where that alone tells it from others.
fn in_full(name: &str, alike: &HashSet<&str>, view: &View) -> String {
    let names = view.names();
    let shown = names.show(name);
    match alike.iter().any(|other| *other != name && names.show(other) == shown) {
        true => format!("{shown} ({name})"),
        false => shown,
    }
}

fn one(out: &mut Shown, kernel: &KernelDiff, alike: &HashSet<&str>, view: &View) {
    let [old, new] = kernel.bytes;
    let bytes = match kernel.fate {
        Fate::Added => text::bytes(new),
        Fate::Removed => text::bytes(old),
        _ => signed(old, new),
    };
    let head = format!("  {} ({bytes}): ", fate(&kernel.fate));
    let mut named = |first: &str, name: &str| match alike.contains(name) {
        true => lines(out, "", "      ", &format!("{first}{}", in_full(name, alike, view)), view),
        false => writeln!(out, "{first}{}", in_short(name, view)),
    };
    named(&head, &kernel.name);
    if let Fate::Renamed { from } = &kernel.fate {
        named("    was ", from);
    }
    for change in kernel.changes.iter().take(CHANGES) {
        lines(out, "    ", "      ", &line(change, kernel), view);
    }
    let more = kernel.changes.len().saturating_sub(CHANGES);
    if more > 0 {
        writeln!(out, "    and {more} more changes");
    }
}

/// Kernels, and changes of images, that are named in all.
const MARKDOWN_EXAMPLES: usize = 20;
/// Changes of one kernel that are told.
const MARKDOWN_CHANGES: usize = 4;
/// Characters of a kernel's name that are shown.
const MARKDOWN_WIDTH: usize = 120;

/// A table of the files, the targets and requirements, and the kernels that changed most.
pub(super) fn markdown(report: &Report, names: Names) -> Shown {
    let mut out = Shown::default();
    out.push_str("### Device code\n\n");
    for breach in &report.breaches {
        let file = breach.file.as_ref().map(|file| format!("{}: ", table_code(file))).unwrap_or_default();
        let kernel = breach.kernel.as_ref().map(|kernel| shorten(&names.show(kernel), MARKDOWN_WIDTH).into_owned());
        let kernel = kernel.map(|kernel| format!("{}: ", table_code(&kernel))).unwrap_or_default();
        writeln!(out, "- **budget not kept**: {file}{kernel}{}", markdown_text(&breach.message));
    }
    if !report.breaches.is_empty() {
        out.push_str("\n");
    }
    if !report.differs() {
        let [_, new] = report.totals();
        let kernels = counted(report.counts().unchanged, "kernel");
        writeln!(out, "No difference: {}, {kernels}, {}.", counted(report.pairs.len(), "file"), bytes(new.bytes));
        return out;
    }
    out.push_str(
        "| file | added | removed | renamed | changed | same | device code |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for pair in report.pairs.iter().filter(|pair| pair.differs()) {
        let Counts { added, removed, renamed, changed, unchanged } = pair.counts();
        let [added, removed, renamed, changed, same] = [added, removed, renamed, changed, unchanged].map(count);
        let [old, new] = pair.diff.totals();
        let lone = match (&pair.old, &pair.new) {
            (None, _) => " (new)",
            (_, None) => " (gone)",
            _ => "",
        };
        let (file, size) = (table_code(&pair.name), growth(old.bytes, new.bytes));
        writeln!(out, "| {file}{lone} | {added} | {removed} | {renamed} | {changed} | {same} | {size} |");
    }
    out.push_str("\n");
    for pair in &report.pairs {
        for (word, targets) in
            [("gained", pair.diff.gained().collect::<Vec<_>>()), ("lost", pair.diff.lost().collect())]
        {
            if !targets.is_empty() {
                let targets: Vec<String> = targets.into_iter().map(table_code).collect();
                writeln!(out, "- {}: targets {word}: {}", table_code(&pair.name), targets.join(", "));
            }
        }
    }
    for (requirement, [gained, lost]) in report.requirements() {
        writeln!(
            out,
            "- {}: {} gained, {} lost it",
            markdown_text(&requirement),
            counted(gained, "kernel"),
            count(lost)
        );
    }
    let changes = report.image_changes();
    for change in changes.iter().take(MARKDOWN_EXAMPLES) {
        writeln!(out, "- images: {}", markdown_text(change));
    }
    if let Some(more) = changes.len().checked_sub(MARKDOWN_EXAMPLES).filter(|more| *more > 0) {
        writeln!(out, "- images: and {} more", counted(more, "change"));
    }
    let kernels = report.pairs.iter().flat_map(|pair| &pair.diff.diffs);
    let mut kernels: Vec<&KernelDiff> = kernels.collect();
    kernels.sort_by_key(|kernel| {
        let [old, new] = kernel.bytes;
        let rank = matches!(kernel.fate, Fate::Added | Fate::Renamed { .. });
        (rank, kernel.changes.first().map(|change| change.what), std::cmp::Reverse(old.abs_diff(new)))
    });
    if !kernels.is_empty() {
        out.push_str("\n");
        writeln!(out, "<details><summary>{}</summary>", counted(kernels.len(), "kernel"));
        out.push_str("\n");
        for kernel in kernels.iter().take(MARKDOWN_EXAMPLES) {
            let [old, new] = kernel.bytes;
            let size = match kernel.fate {
                Fate::Added => bytes(new),
                Fate::Removed => bytes(old),
                _ => signed(old, new),
            };
            let name = table_code(&shorten(&names.show(&kernel.name), MARKDOWN_WIDTH));
            writeln!(out, "- {} {name} ({size})", fate(&kernel.fate));
            for change in kernel.changes.iter().take(MARKDOWN_CHANGES) {
                writeln!(out, "  - {}", markdown_text(&line(change, kernel)));
            }
        }
        let more = kernels.len().saturating_sub(MARKDOWN_EXAMPLES);
        if more > 0 {
            writeln!(out, "- and {} more", count(more));
        }
        out.push_str("\n</details>\n");
    }
    out
}

/// Code within a table, where a bar would end the cell.
fn table_code(text: &str) -> String {
    markdown_code(&text.replace('|', " "))
}
