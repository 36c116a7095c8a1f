//! Which kernels were judged for any of some targets, and where does each stand in what was judged for each?
//!
//! Targets that a policy asks about the same kernels share these; there are few such sets.

use super::{OfFile, OfTarget, certain};
use crate::compat::gate::judged::Item;
use crate::compat::gate::kernels::Kernels;
use std::collections::HashMap;
use std::sync::Arc;

/// The kernels of a file.
pub(in crate::report) struct Sheet<'r> {
    /// The file.
    pub file: &'r Arc<str>,
    /// The kernels that were judged for any target, each once.
    pub rows: Vec<Row<'r>>,
    /// Of each target what was judged, and which of the sets of kernels that was.
    targets: Vec<Option<(&'r OfFile, usize)>>,
}

/// A kernel.
pub(in crate::report) struct Row<'r> {
    /// Its mangled name.
    pub name: &'r Arc<str>,
    /// Its place in each set of kernels.
    places: Vec<Option<usize>>,
}

/// A kernel on a target that it was judged for.
#[derive(Clone, Copy)]
pub(in crate::report) struct Cell<'r> {
    /// What was judged.
    pub of: &'r OfFile,
    /// The kernel's place there.
    pub kernel: usize,
}

/// How a kernel stands on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Stand {
    /// It runs, and nothing speaks against it.
    Runs,
    /// It cannot be told.
    Unknown,
    /// It does not run, or is against a policy.
    Cannot,
    /// All that speaks against it is excused, so that it counts as one that runs.
    Excused,
    /// A policy does not ask about it.
    NotAsked,
}

impl<'r> Cell<'r> {
    /// How it stands.
    pub fn stand(&self) -> Stand {
        match certain(self.items()) {
            Some(true) => Stand::Cannot,
            Some(false) => Stand::Unknown,
            None if self.items().is_empty() => Stand::Runs,
            None => Stand::Excused,
        }
    }

    /// The number of the kernels of which the same is said.
    pub fn group(&self) -> Option<usize> {
        self.of.judged.grouping.of(self.kernel)
    }

    /// What is said of it.
    pub fn items(&self) -> &'r [Item] {
        let items = self.group().and_then(|group| self.of.judged.items.get(group));
        items.map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'r> Sheet<'r> {
    /// A kernel on each target; none where it is not asked about.
    pub fn cells(&self, row: &Row<'r>) -> impl Iterator<Item = Option<Cell<'r>>> {
        self.targets.iter().map(|target| {
            let (of, set) = (*target)?;
            Some(Cell { of, kernel: row.places.get(set).copied().flatten()? })
        })
    }
}

/// A sheet for each file of which kernels were judged.
pub(in crate::report) fn sheets<'r>(targets: &[&'r OfTarget]) -> Vec<Sheet<'r>> {
    let files: Vec<Vec<&OfFile>> =
        targets.iter().map(|one| one.files.iter().filter(|of| !of.is_whole()).collect()).collect();
    let most = files.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).filter_map(|at| sheet(files.iter().map(|own| own.get(at).copied()))).collect()
}

fn sheet<'r>(files: impl Iterator<Item = Option<&'r OfFile>>) -> Option<Sheet<'r>> {
    let mut sets: Vec<&Arc<Kernels>> = Vec::new();
    let mut set = |of: &'r OfFile| {
        let kernels = &of.judged.kernels;
        sets.iter().position(|known| Arc::ptr_eq(known, kernels)).unwrap_or_else(|| {
            sets.push(kernels);
            sets.len().saturating_sub(1)
        })
    };
    let targets: Vec<Option<(&OfFile, usize)>> = files.map(|of| of.map(|of| (of, set(of)))).collect();
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
    Some(Sheet { file, rows, targets })
}
