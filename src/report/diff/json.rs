//! What changed between two builds, as JSON?

use super::{Counts, Pair, Report, fate};
use crate::compat::diff::compare::{Change, Fate, KernelDiff};
use crate::compat::diff::snapshot::Total;
use crate::error::Result;
use crate::report::json::{put, text};
use crate::report::name::demangle;
use serde::Serialize;
use std::io::Write;

/// The JSON Schema of `diff --format json`.
pub const SCHEMA: &str = include_str!("diff.schema.json");

#[derive(Serialize)]
struct TotalJson {
    images: usize,
    bytes: u64,
    stored_bytes: u64,
}

impl From<Total> for TotalJson {
    fn from(total: Total) -> TotalJson {
        TotalJson { images: total.images, bytes: total.bytes, stored_bytes: total.stored }
    }
}

#[derive(Serialize)]
struct CountsJson {
    added: usize,
    removed: usize,
    renamed: usize,
    changed: usize,
    unchanged: usize,
}

impl From<Counts> for CountsJson {
    fn from(counts: Counts) -> CountsJson {
        let Counts { added, removed, renamed, changed, unchanged } = counts;
        CountsJson { added, removed, renamed, changed, unchanged }
    }
}

#[derive(Serialize)]
struct BreachJson<'a> {
    file: Option<&'a str>,
    kernel: Option<&'a str>,
    message: &'a str,
}

#[derive(Serialize)]
struct Head<'a> {
    schema_version: u32,
    differs: bool,
    kernels: CountsJson,
    old: TotalJson,
    new: TotalJson,
    breaches: Vec<BreachJson<'a>>,
}

#[derive(Serialize)]
struct FileJson<'a> {
    name: &'a str,
    old_file: Option<&'a str>,
    new_file: Option<&'a str>,
    differs: bool,
    partial: bool,
    kernels: CountsJson,
    targets: Vec<TargetJson<'a>>,
    images: Vec<ImagesJson<'a>>,
}

#[derive(Serialize)]
struct ImagesJson<'a> {
    #[serde(flatten)]
    change: ChangeJson<'a>,
    kernels: usize,
}

#[derive(Serialize)]
struct TargetJson<'a> {
    target: &'a str,
    old: TotalJson,
    new: TotalJson,
}

#[derive(Serialize)]
struct KernelJson<'a> {
    kernel: &'a str,
    demangled: String,
    fate: &'static str,
    from: Option<&'a str>,
    targets: Vec<&'a str>,
    old_bytes: u64,
    new_bytes: u64,
    changes: Vec<ChangeJson<'a>>,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    what: &'static str,
    target: &'a str,
    name: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

impl<'a> From<&'a Change> for ChangeJson<'a> {
    fn from(change: &'a Change) -> ChangeJson<'a> {
        ChangeJson {
            what: change.what.name(),
            target: &change.target,
            name: &change.name,
            old: change.old.as_deref(),
            new: change.new.as_deref(),
        }
    }
}

/// Writes one JSON document, kernel by kernel.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(out: &mut impl Write, report: &Report) -> Result<()> {
    let [old, new] = report.totals();
    let breaches = report.breaches.iter().map(|one| BreachJson {
        file: one.file.as_deref(),
        kernel: one.kernel.as_deref(),
        message: &one.message,
    });
    let head = text(&Head {
        schema_version: crate::report::json::SCHEMA_VERSION,
        differs: report.differs(),
        kernels: report.counts().into(),
        old: old.into(),
        new: new.into(),
        breaches: breaches.collect(),
    })?;
    let head = head.strip_suffix('}').unwrap_or(&head);
    put(out, &format!("{head},\"files\":["))?;
    for (at, pair) in report.pairs.iter().enumerate() {
        let head = file(pair)?;
        let head = head.strip_suffix('}').unwrap_or(&head);
        put(out, &format!("{}{head},\"diffs\":[", if at == 0 { "\n" } else { ",\n" }))?;
        for (nth, kernel) in pair.diff.diffs.iter().enumerate() {
            put(out, &format!("{}{}", if nth == 0 { "\n" } else { ",\n" }, self::kernel(kernel)?))?;
        }
        put(out, "]}")?;
    }
    put(out, "]}\n")
}

fn file(pair: &Pair) -> Result<String> {
    let targets = pair.diff.targets.iter();
    text(&FileJson {
        name: &pair.name,
        old_file: pair.old.as_deref(),
        new_file: pair.new.as_deref(),
        differs: pair.differs(),
        partial: pair.partial,
        kernels: pair.counts().into(),
        targets: targets
            .map(|(target, [old, new])| TargetJson { target, old: (*old).into(), new: (*new).into() })
            .collect(),
        images: pair
            .diff
            .images
            .iter()
            .map(|one| ImagesJson { change: (&one.change).into(), kernels: one.kernels })
            .collect(),
    })
}

fn kernel(kernel: &KernelDiff) -> Result<String> {
    let [old_bytes, new_bytes] = kernel.bytes;
    let changes = kernel.changes.iter().map(ChangeJson::from);
    text(&KernelJson {
        kernel: &kernel.name,
        demangled: demangle(&kernel.name).into_owned(),
        fate: fate(&kernel.fate),
        from: match &kernel.fate {
            Fate::Renamed { from } => Some(from),
            _ => None,
        },
        targets: kernel.targets.iter().map(String::as_str).collect(),
        old_bytes,
        new_bytes,
        changes: changes.collect(),
    })
}
