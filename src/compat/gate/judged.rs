//! What speaks against the kernels of a file, on one target?
//!
//! Thousands of kernels are judged alike, for a hundred targets: what is found is kept once for all kernels of a group,
//! and is a finding of one kernel only for whom looks at it.

use super::Against;
use super::kernels::Kernels;
use super::proof::Proofs;
use crate::compat::aspects::Evidence;
use std::collections::HashMap;
use std::sync::Arc;

/// The image of a file that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// One of the kernel's images, by its place among them.
    Own(usize),
    /// Another image, by its place in the file.
    Other(usize),
}

/// Something that speaks against every kernel of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The finding.
    pub against: Arc<Against>,
    /// The image, where it is about one.
    pub whose: Option<Whose>,
    /// Reason why it does not count, where it does not.
    pub excused: Option<Arc<str>>,
}

/// Kernels by what is found of them.
#[derive(Debug, Clone, Default)]
pub struct Grouping {
    /// The group of each kernel.
    of: Vec<usize>,
    /// The kernels of each group, in order.
    members: Vec<Vec<usize>>,
}

impl Grouping {
    /// From the group of each kernel, in order.
    pub fn new(of: Vec<usize>) -> Grouping {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); of.iter().max().map_or(0, |last| last.saturating_add(1))];
        for (kernel, group) in of.iter().enumerate() {
            if let Some(own) = members.get_mut(*group) {
                own.push(kernel);
            }
        }
        Grouping { of, members }
    }

    /// The group of a kernel, by its place.
    pub fn of(&self, kernel: usize) -> Option<usize> {
        self.of.get(kernel).copied()
    }

    /// The places of the kernels of a group, in order.
    pub fn members(&self, group: usize) -> &[usize] {
        self.members.get(group).map(Vec::as_slice).unwrap_or_default()
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// Findings against the kernels of a file.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The kernels.
    pub kernels: Arc<Kernels>,
    /// Groups of kernels that are judged alike.
    pub grouping: Arc<Grouping>,
    /// Findings against each group.
    pub items: Vec<Vec<Item>>,
}

/// Something that speaks against one kernel.
#[derive(Debug, Clone, Copy)]
pub struct Found<'j> {
    /// The finding.
    pub against: &'j Arc<Against>,
    /// The kernel's mangled name.
    pub kernel: &'j Arc<str>,
    /// The kernel's place among those of its file.
    pub place: usize,
    /// The number of the image in the kernel's file, where it is about one: of what another file's image lacks that of the
    /// kernel's own.
    pub image: Option<usize>,
    /// The other file and the number of the image in it, where that is what it is about.
    pub elsewhere: Option<(&'j Arc<str>, usize)>,
    /// The place of the image among those that were judged.
    pub at: Option<usize>,
    /// Reason why it does not count, where it does not.
    pub excused: Option<&'j Arc<str>>,
}

impl<'j> Found<'j> {
    /// The use of the aspect and the calls that lead to it, where it is about an aspect and that was looked for.
    pub fn evidence<'p>(&self, proofs: &'p Proofs) -> Option<&'p Evidence> {
        proofs.of(self.at?, self.place, self.against.aspect.as_deref()?)
    }
}

impl Judged {
    /// Findings against a kernel, by its place.
    pub fn of(&self, kernel: usize) -> impl Iterator<Item = Found<'_>> {
        let items = self.grouping.of(kernel).and_then(|group| self.items.get(group));
        items.into_iter().flatten().filter_map(move |item| self.found(kernel, item))
    }

    /// Findings against all kernels, in the order of images and kernels.
    pub fn findings(&self) -> impl Iterator<Item = Found<'_>> {
        (0..self.kernels.len()).flat_map(|kernel| self.of(kernel))
    }

    /// An item as it is of one kernel of its group.
    pub fn found<'j>(&'j self, kernel: usize, item: &'j Item) -> Option<Found<'j>> {
        let at = match item.whose {
            Some(Whose::Own(nth)) => self.kernels.images(kernel).get(nth).copied(),
            Some(Whose::Other(at)) => Some(at),
            None => None,
        };
        let elsewhere = at.and_then(|at| self.kernels.home(at));
        let own = if elsewhere.is_some() { self.kernels.images(kernel).first().copied() } else { at };
        Some(Found {
            against: &item.against,
            kernel: self.kernels.name(kernel)?,
            place: kernel,
            image: own.and_then(|at| self.kernels.number(at)),
            elsewhere,
            at,
            excused: item.excused.as_ref(),
        })
    }

    /// The groups that something speaks against, each with its kernels.
    pub fn groups(&self) -> impl Iterator<Item = (&[usize], &[Item])> {
        let all = self.items.iter().enumerate().map(|(group, items)| (self.grouping.members(group), items.as_slice()));
        all.filter(|(members, items)| !members.is_empty() && !items.is_empty())
    }

    /// Changes what speaks against single kernels: `change` is given each kernel's place and its group's items, and gives
    /// other items where that kernel's are others. Kernels that are given equal items stay together.
    pub fn refine(&mut self, mut change: impl FnMut(&Kernels, usize, &[Item]) -> Option<Vec<Item>>) {
        let mut of = self.grouping.of.clone();
        // Items compare by what they say; of each old group there are few new ones.
        let mut split: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut changed = false;
        for (kernel, group) in of.iter_mut().enumerate() {
            let own = self.items.get(*group).map(Vec::as_slice).unwrap_or_default();
            let Some(items) = change(&self.kernels, kernel, own) else { continue };
            changed = true;
            let among = split.entry(*group).or_default();
            let known = among.iter().copied().find(|place| self.items.get(*place) == Some(&items));
            *group = known.unwrap_or_else(|| {
                among.push(self.items.len());
                self.items.push(items);
                self.items.len().saturating_sub(1)
            });
        }
        if changed {
            self.grouping = Arc::new(Grouping::new(of));
        }
    }
}
