//! What changed between two builds, as JSON?

use super::{Counts, Pair, Report, fate};
use crate::compat::diff::budget::Breach;
use crate::compat::diff::compare::{Change, Fate, ImageChange, KernelDiff};
use crate::compat::diff::snapshot::Total;
use crate::demangle::demangle;
use crate::error::Result;
use crate::report::json::writer::{Gap, split, text};
use crate::report::json::{self, SchemaVersion, put};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;

/// The JSON Schema of `diff --format json`.
pub(crate) fn schema() -> String {
    json::schema::<Document<'_, Vec<File<'_, Vec<Kernel<'_>>>>>>()
}

/// Changes between two builds of device code.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle diff --format json")]
struct Document<'a, F> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// Whether anything differs.
    differs: bool,
    /// Kernels of all files.
    kernels: Counts,
    /// Images of all files in the old build.
    old: Total,
    /// Images of all files in the new build.
    new: Total,
    /// Budgets that are not kept.
    breaches: &'a [Breach],
    /// The files, by name.
    files: F,
}

/// A file in two builds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "File")]
struct File<'a, K> {
    /// The part of the name that both have in common.
    name: &'a str,
    /// The old file, as it was given; null where there is none.
    old_file: Option<&'a str>,
    /// The new file, as it was given; null where there is none.
    new_file: Option<&'a str>,
    /// Whether anything differs.
    differs: bool,
    /// Whether something of it could not be read.
    partial: bool,
    /// Kernels of the file.
    kernels: Counts,
    /// Images for each target.
    targets: Vec<Target<'a>>,
    /// Changes of images that are told once: properties of the images of kernels, of symbols, and of images without
    /// kernels, and the code of the latter.
    images: &'a [ImageChange],
    /// Kernels that are not as they were, by name.
    diffs: K,
}

/// Images for a target.
#[derive(Serialize, JsonSchema)]
struct Target<'a> {
    /// The target.
    target: &'a str,
    /// Images in the old build.
    old: Total,
    /// Images in the new build.
    new: Total,
}

/// A kernel that is not as it was.
#[derive(Serialize, JsonSchema)]
struct Kernel<'a> {
    /// The mangled name.
    kernel: &'a str,
    /// The name in the source.
    demangled: Cow<'a, str>,
    /// A word for what became of it.
    #[schemars(extend("enum" = ["added", "removed", "renamed", "changed"]))]
    fate: &'static str,
    /// The old name of a renamed one, mangled.
    from: Option<&'a str>,
    /// The targets that it has images for.
    targets: &'a BTreeSet<String>,
    /// Bytes of all images that hold it in the old build, with what else they hold.
    old_bytes: u64,
    /// Bytes of all images that hold it in the new build.
    new_bytes: u64,
    /// The changes.
    changes: &'a [Change],
}

impl<'a> Document<'a, Gap> {
    fn new(report: &'a Report) -> Self {
        let [old, new] = report.totals();
        let (differs, kernels, breaches) = (report.differs(), report.counts(), &report.breaches);
        Document { schema_version: SchemaVersion, differs, kernels, old, new, breaches, files: Gap }
    }
}

impl<'a> File<'a, Gap> {
    fn new(pair: &'a Pair) -> Self {
        let targets = pair.diff.targets.iter();
        File {
            name: &pair.name,
            old_file: pair.old.as_deref(),
            new_file: pair.new.as_deref(),
            differs: pair.differs(),
            partial: pair.partial,
            kernels: pair.counts(),
            targets: targets.map(|(target, &[old, new])| Target { target, old, new }).collect(),
            images: &pair.diff.images,
            diffs: Gap,
        }
    }
}

impl<'a> Kernel<'a> {
    fn new(kernel: &'a KernelDiff) -> Self {
        let [old_bytes, new_bytes] = kernel.bytes;
        Kernel {
            kernel: &kernel.name,
            demangled: demangle(&kernel.name),
            fate: fate(&kernel.fate),
            from: match &kernel.fate {
                Fate::Renamed { from } => Some(from),
                _ => None,
            },
            targets: &kernel.targets,
            old_bytes,
            new_bytes,
            changes: &kernel.changes,
        }
    }
}

/// Writes one JSON document, kernel by kernel.
///
/// # Errors
/// `Io` where the writer fails.
pub(super) fn json(out: &mut impl Write, report: &Report) -> Result<()> {
    let line = |at| if at == 0 { "\n" } else { ",\n" };
    let [head, tail] = split(&Document::new(report));
    put(out, &format!("{head}["))?;
    for (at, pair) in report.pairs.iter().enumerate() {
        let [head, tail] = split(&File::new(pair));
        put(out, &format!("{}{head}[", line(at)))?;
        for (nth, kernel) in pair.diff.diffs.iter().enumerate() {
            put(out, &format!("{}{}", line(nth), text(&Kernel::new(kernel))))?;
        }
        put(out, &format!("]{tail}"))?;
    }
    put(out, &format!("]{tail}\n"))
}
