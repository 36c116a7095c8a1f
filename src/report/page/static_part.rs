//! What does a page show where no script runs?

use super::files::Files;
use super::html;
use super::{PolicySection, Table};
use crate::report::diff::{Counts, Report};
use crate::report::gate::{self, TargetFindings};
use crate::report::text::{bytes, count, share};
use std::fmt::Write as _;

/// Rows of a table; `inspect` has all for readers without scripts.
const ROWS: usize = 50;

/// Files, targets with how many kernels run there, and the largest templates.
pub(super) fn library(
    files: &Files,
    names: &Table<'_>,
    targets: &[&TargetFindings],
    policy: Option<&PolicySection>,
) -> String {
    let mut out = String::new();
    let rows = files.all.iter().map(|file| {
        let of = share(file.stored, file.bytes);
        vec![file.path.clone(), count(file.images), count(file.kernels), bytes(file.stored), bytes(file.size), of]
    });
    table(&mut out, "Files", &["File", "Images", "Kernels", "Stored", "Inflated", "Of file"], rows);
    let any = policy.is_some() || targets.iter().any(|one| one.excused_kernels() > 0);
    let rows = targets.iter().map(|one| {
        let gate::Counts { compatible, unknown, incompatible } = one.counts();
        let excused = one.excused_kernels();
        let mut row = vec![one.name().to_owned()];
        row.extend([compatible.saturating_sub(excused), unknown, incompatible].map(count));
        row.extend(any.then(|| count(excused)));
        row
    });
    let mut titles = vec!["Target", "Run", "Unknown", "Cannot run"];
    titles.extend(any.then_some("Excused"));
    table(&mut out, "Where kernels run", &titles, rows);
    if let Some(policy) = policy {
        held(&mut out, policy);
    }
    let mut families: Vec<(&str, usize, u64)> = names.families().map(|family| (family, 0, 0)).collect();
    for (name, stored) in files.stored() {
        let family = names.place(name).and_then(|name| families.get_mut(names.family_of(name)?));
        if let Some((_, kernels, sum)) = family {
            (*kernels, *sum) = (kernels.saturating_add(1), sum.saturating_add(stored));
        }
    }
    // Other names are those of findings.
    families.retain(|(_, kernels, _)| *kernels > 0);
    families.sort_unstable_by(|(one, _, stored), (other, _, more)| more.cmp(stored).then_with(|| one.cmp(other)));
    let rows = families.into_iter();
    let rows = rows.map(|(name, kernels, stored)| vec![name.to_owned(), count(kernels), bytes(stored)]);
    table(&mut out, "Kernels of one template", &["Template", "Kernels", "Stored"], rows);
    out
}

/// Adds the policy's findings beyond single kernels on targets, and its exceptions.
fn held(out: &mut String, policy: &PolicySection) {
    let rows = policy.findings.iter().map(|one| {
        let target = one.target.clone().unwrap_or_default();
        vec![one.rule.to_owned(), target, one.message.clone(), one.places.join(", ")]
    });
    table(out, "Against the policy", &["Rule", "Target", "What", "Where"], rows);
    let rows = policy.exceptions.iter().map(|one| {
        let until = if one.ended { format!("{}, ended", one.until) } else { one.until.clone() };
        vec![one.what.clone(), one.targets.join(", "), one.reason.clone(), until, count(one.kernels)]
    });
    table(out, "Exceptions", &["What", "Targets", "Reason", "Until", "Kernels"], rows);
}

/// Tables of the files that differ, with the fate of their kernels, and of the requirements gained and lost.
pub(super) fn builds(report: &Report) -> String {
    let mut out = String::new();
    let rows = report.pairs.iter().filter(|pair| pair.differs()).map(|pair| {
        let Counts { added, removed, renamed, changed, unchanged } = pair.counts();
        let [old, new] = pair.diff.totals();
        let mut row = vec![pair.name.clone()];
        row.extend([added, removed, renamed, changed, unchanged].map(count));
        row.extend([bytes(old.bytes), bytes(new.bytes)]);
        row
    });
    let titles = ["File", "Added", "Removed", "Renamed", "Changed", "Same", "Bytes before", "after"];
    table(&mut out, "Files that differ", &titles, rows);
    let rows = report.requirements().into_iter();
    let rows = rows.map(|(name, [gained, lost])| vec![name, count(gained), count(lost)]);
    table(&mut out, "Requirements", &["Requirement", "Gained by kernels", "Lost by kernels"], rows);
    table(&mut out, "Images", &["What changed"], report.image_changes().into_iter().map(|line| vec![line]));
    let rows =
        report.breaches.iter().map(|breach| vec![breach.file.clone().unwrap_or_default(), breach.message.clone()]);
    table(&mut out, "Budgets that are not kept", &["File", "What"], rows);
    out
}

fn table(out: &mut String, title: &str, titles: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    // Writing to a string does not fail.
    let _ = write!(out, "<h2>{}</h2>\n<table><thead><tr>", html(title));
    titles.iter().for_each(|title| {
        let _ = write!(out, "<th>{}</th>", html(title));
    });
    out.push_str("</tr></thead><tbody>\n");
    for row in rows.by_ref().take(ROWS) {
        out.push_str("<tr>");
        row.iter().for_each(|cell| {
            let _ = write!(out, "<td>{}</td>", html(cell));
        });
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
    let more = rows.count();
    if more > 0 {
        let _ = writeln!(out, "<p>and {} more</p>", count(more));
    }
}
