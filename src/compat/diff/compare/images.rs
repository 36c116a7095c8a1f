//! What changed of images, whatever kernels share them?

use super::{Change, ImageChange, What, change, named};
use crate::compat::diff::snapshot::{Shared, Shots, Snapshot, Values};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Properties of kernels' images before and after, each pair once.
#[derive(Default)]
pub(super) struct SharedBy<'s> {
    /// By the addresses of the properties: those of each image are there once.
    pairs: HashMap<[usize; 2], (&'s str, [&'s Shared; 2], usize)>,
}

impl<'s> SharedBy<'s> {
    /// Adds the images of a kernel, where it is in both builds.
    pub(super) fn add(&mut self, old: Option<&'s Shots>, new: &'s Shots) {
        for (target, after) in new {
            let Some(before) = old.and_then(|old| old.get(target)) else { continue };
            let sides = [&before.shared, &after.shared];
            let key = sides.map(|side| Arc::as_ptr(side) as usize);
            let (.., kernels) = self.pairs.entry(key).or_insert((target, sides, 0));
            *kernels = kernels.saturating_add(1);
        }
    }
}

/// All that changed, each once: of kernels' images, of symbols, and of images without kernels.
pub(super) fn changes(old: &Snapshot, new: &Snapshot, shared: &SharedBy<'_>) -> Vec<ImageChange> {
    let mut found: BTreeMap<Change, usize> = BTreeMap::new();
    for (target, [before, after], kernels) in shared.pairs.values() {
        let mut changes = Vec::new();
        named(What::Properties, target, before, after, &mut changes);
        for change in changes {
            let all = found.entry(change).or_default();
            *all = all.saturating_add(*kernels);
        }
    }
    // Targets that were gained or lost altogether are told as such.
    for (target, after) in &new.properties {
        let Some(before) = old.properties.get(target) else { continue };
        for change in values(target, before, after) {
            found.insert(change, 0);
        }
    }
    for (target, after) in &new.libraries {
        let Some(before) = old.libraries.get(target) else { continue };
        let only = |one: &BTreeSet<[u8; 32]>, other: &BTreeSet<[u8; 32]>| match one.difference(other).count() {
            0 => None,
            count => Some(count.to_string()),
        };
        let (gone, come) = (only(before, after), only(after, before));
        if gone.is_some() || come.is_some() {
            found.insert(change(What::Code, target, "", gone, come), 0);
        }
    }
    for (name, after) in &new.coverage {
        let Some(before) = old.coverage.get(name) else { continue };
        for gpu in before.gpus.keys().chain(after.gpus.keys()).collect::<BTreeSet<_>>() {
            let (was, is) = (before.on(gpu), after.on(gpu));
            if was != is {
                let [was, is] = [was, is].map(|coverage| Some(coverage.name().to_owned()));
                let all = found.entry(change(What::Coverage, gpu, "", was, is)).or_default();
                *all = all.saturating_add(1);
            }
        }
    }
    found.into_iter().map(|(change, kernels)| ImageChange { change, kernels }).collect()
}

fn values(target: &str, old: &Values, new: &Values) -> Vec<Change> {
    let text = |values: &Values| -> BTreeMap<String, String> {
        let all = values.iter();
        all.map(|(name, values)| (name.clone(), values.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")))
            .collect()
    };
    let mut changes = Vec::new();
    named(What::Properties, target, &text(old), &text(new), &mut changes);
    changes
}
