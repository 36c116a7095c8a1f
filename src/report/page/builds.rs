//! What of two builds does a page show, and as which data?

use super::{BUILDS, CORE, Frame, GRID, Texts, static_part, visible};
use super::{Gathering, Packed};
use crate::compat::diff::compare::Fate;
use crate::report::diff::{Pair, Report, fate, line};
use crate::report::evidence::Names;
use crate::report::text::{bytes, count, counted};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

#[derive(Serialize)]
struct Data<'d> {
    view: &'static str,
    files: Vec<FileRow>,
    names: Packed<'d>,
    texts: &'d [String],
    /// Requirements, each with the numbers of kernels that gained and lost it.
    requirements: Vec<(String, usize, usize)>,
    /// Changes of images, a line each.
    images: Vec<String>,
    breaches: Vec<String>,
    kernels: Kernels,
}

#[derive(Serialize)]
struct FileRow {
    name: String,
    old: Option<String>,
    new: Option<String>,
    partial: bool,
    unchanged: usize,
    /// Of each target the images and bytes before and after.
    targets: Vec<(String, [usize; 2], [u64; 2])>,
}

/// Kernels that are not as they were.
#[derive(Default, Serialize)]
struct Kernels {
    file: Vec<usize>,
    name: Vec<usize>,
    fate: Vec<&'static str>,
    /// The name before, of one that has another.
    from: Vec<Option<usize>>,
    old: Vec<u64>,
    new: Vec<u64>,
    /// Changes of each kernel, as numbers of `texts`.
    changes: Vec<Vec<usize>>,
}

/// Writes the page of what changed between two builds, which were named by these paths.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn builds(report: &Report, builds: [&Path; 2], names: Names, out: &mut dyn Write) -> io::Result<()> {
    let mut all = Gathering::new(names);
    for kernel in report.pairs.iter().flat_map(|pair| &pair.diff.diffs) {
        all.extend(std::iter::once(kernel.name.as_str()));
        if let Fate::Renamed { from } = &kernel.fate {
            all.extend(std::iter::once(from.as_str()));
        }
    }
    let table = all.sorted();
    let (mut texts, mut kernels) = (Texts::default(), Kernels::default());
    for (at, kernel) in
        report.pairs.iter().enumerate().flat_map(|(at, pair)| pair.diff.diffs.iter().map(move |k| (at, k)))
    {
        let [old, new] = kernel.bytes;
        kernels.file.push(at);
        kernels.name.push(table.place(&kernel.name).unwrap_or_default());
        kernels.fate.push(fate(&kernel.fate));
        kernels.from.push(match &kernel.fate {
            Fate::Renamed { from } => table.place(from),
            _ => None,
        });
        kernels.old.push(old);
        kernels.new.push(new);
        kernels.changes.push(kernel.changes.iter().map(|change| texts.intern(&line(change, kernel))).collect());
    }
    let breach = |one: &crate::compat::diff::budget::Breach| {
        let file = one.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
        let kernel = one.kernel.as_ref().map(|kernel| format!("{}: ", names.show(kernel))).unwrap_or_default();
        visible(&format!("{file}{kernel}{}", one.message))
    };
    let data = Data {
        view: "builds",
        files: report.pairs.iter().map(of_file).collect(),
        names: table.packed(),
        texts: texts.all(),
        requirements: report.requirements().into_iter().map(|(name, [gained, lost])| (name, gained, lost)).collect(),
        images: report.image_changes().iter().map(|line| visible(line)).collect(),
        breaches: report.breaches.iter().map(breach).collect(),
        kernels,
    };
    let frame = Frame {
        title: title(report, builds),
        facts: facts(report),
        static_part: static_part::builds(report),
        scripts: &[CORE, GRID, BUILDS],
    };
    frame.write(&data, out)
}

fn of_file(pair: &Pair) -> FileRow {
    let targets = pair.diff.targets.iter();
    let shown = |path: &Option<String>| path.as_deref().map(visible);
    FileRow {
        name: visible(&pair.name),
        old: shown(&pair.old),
        new: shown(&pair.new),
        partial: pair.partial,
        unchanged: pair.diff.unchanged,
        targets: targets
            .map(|(name, [old, new])| (visible(name), [old.images, new.images], [old.bytes, new.bytes]))
            .collect(),
    }
}

fn title(report: &Report, builds: [&Path; 2]) -> String {
    let [old, new] = builds.map(|build| build.file_name().map(|name| visible(&name.to_string_lossy())));
    match report.pairs.as_slice() {
        [only] => format!("{}: two builds", crate::compat::gate::base_name(&only.name)),
        // Packages of two releases are named by their releases.
        all => match (old, new) {
            (Some(old), Some(new)) if old != new => format!("{old} and {new}: {}", counted(all.len(), "file")),
            _ => format!("{}: two builds", counted(all.len(), "file")),
        },
    }
}

fn facts(report: &Report) -> String {
    let counts = report.counts();
    let [old, new] = report.totals();
    let kernels = [
        (counts.added, "added"),
        (counts.removed, "removed"),
        (counts.renamed, "renamed"),
        (counts.changed, "changed"),
        (counts.unchanged, "as before"),
    ];
    let kernels = kernels.iter().filter(|(number, _)| *number > 0);
    let kernels: Vec<String> = kernels.map(|(number, word)| format!("{} {word}", count(*number))).collect();
    format!("kernels: {} · device code: {} before, {} after", kernels.join(", "), bytes(old.bytes), bytes(new.bytes))
}
