//! What changed, as a comment on a pull request?

use super::{Counts, Report, fate, growth, line, signed};
use crate::compat::diff::compare::{Fate, KernelDiff};
use crate::report::evidence::Names;
use crate::report::markdown::{self, escaped};
use crate::report::name::shorten;
use crate::report::units::{bytes, count, counted};
use std::fmt::Write as _;

/// Kernels, and changes of images, that are named in all.
const EXAMPLES: usize = 20;
/// Changes of one kernel that are told.
const CHANGES: usize = 4;
/// Characters of a kernel's name that are shown.
const SHOWN: usize = 120;

/// A table of the files, the targets and requirements, and the kernels that changed most.
pub fn markdown(report: &Report, names: Names) -> String {
    let mut out = String::from("### Device code\n\n");
    for breach in &report.breaches {
        let file = breach.file.as_ref().map(|file| format!("{}: ", code(file))).unwrap_or_default();
        let kernel = breach.kernel.as_ref().map(|kernel| shorten(&names.show(kernel), SHOWN).into_owned());
        let kernel = kernel.map(|kernel| format!("{}: ", code(&kernel))).unwrap_or_default();
        let _ = writeln!(out, "- **budget not kept**: {file}{kernel}{}", escaped(&breach.message));
    }
    if !report.breaches.is_empty() {
        out.push('\n');
    }
    if !report.differs() {
        let [_, new] = report.totals();
        let kernels = counted(report.counts().unchanged, "kernel");
        let _ =
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
        let (file, size) = (code(&pair.name), growth(old.bytes, new.bytes));
        let _ = writeln!(out, "| {file}{lone} | {added} | {removed} | {renamed} | {changed} | {same} | {size} |");
    }
    out.push('\n');
    for pair in &report.pairs {
        for (word, targets) in
            [("gained", pair.diff.gained().collect::<Vec<_>>()), ("lost", pair.diff.lost().collect())]
        {
            if !targets.is_empty() {
                let targets: Vec<String> = targets.into_iter().map(code).collect();
                let _ = writeln!(out, "- {}: targets {word}: {}", code(&pair.name), targets.join(", "));
            }
        }
    }
    for (requirement, [gained, lost]) in report.requirements() {
        let _ =
            writeln!(out, "- {}: {} gained, {} lost it", escaped(&requirement), counted(gained, "kernel"), count(lost));
    }
    let changes = report.image_changes();
    for change in changes.iter().take(EXAMPLES) {
        let _ = writeln!(out, "- images: {}", escaped(change));
    }
    if let Some(more) = changes.len().checked_sub(EXAMPLES).filter(|more| *more > 0) {
        let _ = writeln!(out, "- images: and {} more", counted(more, "change"));
    }
    let kernels = report.pairs.iter().flat_map(|pair| &pair.diff.diffs);
    let mut kernels: Vec<&KernelDiff> = kernels.collect();
    kernels.sort_by_key(|kernel| {
        let [old, new] = kernel.bytes;
        let rank = matches!(kernel.fate, Fate::Added | Fate::Renamed { .. });
        (rank, kernel.changes.first().map(|change| change.what), std::cmp::Reverse(old.abs_diff(new)))
    });
    if !kernels.is_empty() {
        let _ = writeln!(out, "\n<details><summary>{}</summary>\n", counted(kernels.len(), "kernel"));
        for kernel in kernels.iter().take(EXAMPLES) {
            let [old, new] = kernel.bytes;
            let size = match kernel.fate {
                Fate::Added => bytes(new),
                Fate::Removed => bytes(old),
                _ => signed(old, new),
            };
            let name = code(&shorten(&names.show(&kernel.name), SHOWN));
            let _ = writeln!(out, "- {} {name} ({size})", fate(&kernel.fate));
            for change in kernel.changes.iter().take(CHANGES) {
                let _ = writeln!(out, "  - {}", escaped(&line(change, kernel)));
            }
        }
        let more = kernels.len().saturating_sub(EXAMPLES);
        if more > 0 {
            let _ = writeln!(out, "- and {} more", count(more));
        }
        out.push_str("\n</details>\n");
    }
    out
}

/// Code within a table, where a bar would end the cell.
fn code(text: &str) -> String {
    markdown::code(&text.replace('|', " "))
}
