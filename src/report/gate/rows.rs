//! Which kernels of a file were judged for any target, and what is the verdict on each for each target?
//!
//! Targets that a policy asks about the same kernels share these; there are few such sets.

use super::{FileFindings, TargetFindings, certain};
use crate::compat::gate::judged::Item;
use crate::compat::gate::kernels::Kernels;
use std::collections::HashMap;
use std::sync::Arc;

/// The kernels of a file.
pub(in crate::report) struct FileRows<'r> {
    /// The file.
    pub file: &'r Arc<str>,
    /// The kernels that were judged for any target, each once.
    pub rows: Vec<Row<'r>>,
    /// Of each target what was judged, and which of the sets of kernels that was.
    targets: Vec<Option<(&'r FileFindings, usize)>>,
}

/// A kernel.
pub(in crate::report) struct Row<'r> {
    /// The mangled name.
    pub name: &'r Arc<str>,
    /// The kernel's index in each of the file's sets of kernels; none where a set lacks it.
    places: Vec<Option<usize>>,
}

/// A kernel on a target that it was judged for.
#[derive(Clone, Copy)]
pub(in crate::report) struct Cell<'r> {
    /// The file's findings for the target.
    pub of: &'r FileFindings,
    /// The kernel's place there.
    pub kernel: usize,
}

/// The verdict on a kernel for a target, as a cell of the matrix shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Standing {
    /// The kernel runs, and has no finding.
    Runs,
    /// The findings leave it open.
    Unknown,
    /// The kernel does not run, or breaks a policy.
    Cannot,
    /// Every finding is excused, so that the kernel counts as one that runs.
    Excused,
    /// A policy does not ask about it.
    NotAsked,
}

impl<'r> Cell<'r> {
    /// The verdict on the kernel for the target.
    pub fn standing(&self) -> Standing {
        match certain(self.items()) {
            Some(true) => Standing::Cannot,
            Some(false) => Standing::Unknown,
            None if self.items().is_empty() => Standing::Runs,
            None => Standing::Excused,
        }
    }

    /// The number of the kernels of which the same is said.
    pub fn group(&self) -> Option<usize> {
        self.of.judged.grouping.of(self.kernel)
    }

    /// The findings of the kernel for the target.
    pub fn items(&self) -> &'r [Item] {
        let items = self.group().and_then(|group| self.of.judged.items.get(group));
        items.map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'r> FileRows<'r> {
    /// A kernel on each target; none where it is not asked about.
    pub fn cells(&self, row: &Row<'r>) -> impl Iterator<Item = Option<Cell<'r>>> {
        self.targets.iter().map(|target| {
            let (of, set) = (*target)?;
            Some(Cell { of, kernel: row.places.get(set).copied().flatten()? })
        })
    }
}

/// The rows of each file of which kernels were judged.
pub(in crate::report) fn rows_by_file<'r>(targets: &[&'r TargetFindings]) -> Vec<FileRows<'r>> {
    let files: Vec<Vec<&FileFindings>> =
        targets.iter().map(|one| one.files.iter().filter(|of| !of.is_whole()).collect()).collect();
    let most = files.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).filter_map(|at| rows_of_file(files.iter().map(|own| own.get(at).copied()))).collect()
}

fn rows_of_file<'r>(files: impl Iterator<Item = Option<&'r FileFindings>>) -> Option<FileRows<'r>> {
    let mut sets: Vec<&Arc<Kernels>> = Vec::new();
    let mut set = |of: &'r FileFindings| {
        let kernels = &of.judged.kernels;
        sets.iter().position(|known| Arc::ptr_eq(known, kernels)).unwrap_or_else(|| {
            sets.push(kernels);
            sets.len().saturating_sub(1)
        })
    };
    let targets: Vec<Option<(&FileFindings, usize)>> = files.map(|of| of.map(|of| (of, set(of)))).collect();
    let file = &targets.iter().flatten().next()?.0.file;
    let mut rows: Vec<Row<'r>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (nth, kernels) in sets.iter().enumerate() {
        for (place, name) in kernels.names().enumerate() {
            let row = *known.entry(name).or_insert_with(|| {
                rows.push(Row { name, places: vec![None; sets.len()] });
                rows.len().saturating_sub(1)
            });
            if let Some(own) = rows.get_mut(row).and_then(|row| row.places.get_mut(nth)) {
                *own = Some(place);
            }
        }
    }
    Some(FileRows { file, rows, targets })
}
