//! Which payloads move together, so that what removed ones leave is in one piece?
//!
//! Payloads that follow each other directly in a section are a run. In a run the payloads that stay move to its front, each to an
//! address that is congruent to its own, and all that is free is behind them. Only image structures and `.tgtimg` refer
//! to payloads; where any other relocated word does, nothing moves. Nor does anything in a section that may have more than payloads: a
//! host's own constants may lie between, and its code may refer to either without a relocation. Compilers and this tool name the
//! sections that have payloads alone.

use super::{Relocated, range};
use crate::bundle::Bundle;
use crate::bundle::structure::listed_in_tgtimg;
use crate::bytes;
use crate::container::{Host, Section};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Distance to which payloads are aligned; also the most that padding between two may be.
const ALIGN: u64 = 64;

/// Beginning of the names of sections that have payloads alone; linkers for Windows leave these letters of it.
const NAME: &str = "__CLANG_";

/// Payload that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    /// Address where it was.
    pub(crate) from: u64,
    /// Address where it is to be, which is lower.
    pub(crate) to: u64,
    /// Length in bytes.
    pub(crate) len: u64,
}

/// Moves of payloads, and the addresses that are free after them.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    /// Moves, by address.
    pub(crate) shifts: Vec<Shift>,
    /// Free addresses, sorted and apart.
    pub(crate) free: Vec<Range<u64>>,
}

impl Compaction {
    /// Frees the ranges `freed`, which are zeros in `out` now, where nothing may move. With padding between them two are
    /// one.
    pub(crate) fn in_place(host: &Host<'_>, out: &[u8], freed: Vec<Range<u64>>) -> Compaction {
        Compaction::stay(&Between::new(host, out), freed)
    }

    fn stay(between: &Between<'_>, mut freed: Vec<Range<u64>>) -> Compaction {
        freed.retain(|range| between.is_of_payloads(range));
        freed.sort_by_key(|range| range.start);
        let mut free: Vec<Range<u64>> = Vec::new();
        for range in freed {
            match free.last_mut().filter(|last| between.is_padding(last.end, range.start)) {
                Some(last) => last.end = last.end.max(range.end),
                None => free.push(range),
            }
        }
        Compaction { shifts: Vec::new(), free }
    }

    /// Plans the moves after the payloads at `freed`, which are zeros in `out` now, were removed.
    pub(crate) fn plan(
        host: &Host<'_>,
        bundle: &Bundle<'_>,
        drop: &HashSet<usize>,
        freed: Vec<Range<u64>>,
        out: &[u8],
        relocations: &dyn Relocated,
    ) -> Compaction {
        let between = Between::new(host, out);
        let mut items: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
        for image in bundle.images.iter().filter(|image| !drop.contains(&image.index)) {
            let range = range(image).filter(|range| !range.is_empty() && between.is_of_payloads(range));
            let Some(range) = range else { continue };
            // Two lengths at one address, or payloads within each other: nobody moves.
            if items.insert(range.start, (range.end, true)).is_some_and(|(end, _)| end != range.end) {
                return Compaction::stay(&between, freed);
            }
        }
        for range in freed.iter().filter(|range| between.is_of_payloads(range)) {
            if items.insert(range.start, (range.end, false)).is_some() {
                return Compaction::stay(&between, freed);
            }
        }
        let mut all = Compaction::default();
        let mut run: Vec<(Range<u64>, bool)> = Vec::new();
        let mut reach = 0;
        for (start, (end, kept)) in items {
            if start < reach {
                return Compaction::stay(&between, freed);
            }
            if run.last().is_some_and(|(last, _)| !between.is_padding(last.end, start)) {
                all.close(std::mem::take(&mut run));
            }
            reach = end;
            run.push((start..end, kept));
        }
        all.close(run);
        if all.is_referred_to(host, bundle, relocations) { Compaction::stay(&between, freed) } else { all }
    }

    /// Plans one run.
    fn close(&mut self, run: Vec<(Range<u64>, bool)>) {
        let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else { return };
        if run.iter().all(|(_, kept)| *kept) {
            return;
        }
        let (mut next, end) = (first.start, last.end);
        for (range, _) in run.iter().filter(|(_, kept)| *kept) {
            let skew = range.start.wrapping_sub(next) % ALIGN;
            let to = next.saturating_add(skew).min(range.start);
            let len = range.end.saturating_sub(range.start);
            if to != range.start {
                self.shifts.push(Shift { from: range.start, to, len });
            }
            next = to.saturating_add(len);
        }
        if next < end {
            self.free.push(next..end);
        }
    }

    /// Whether a relocated word outside of image structures and `.tgtimg` refers to a payload that is to move.
    fn is_referred_to(&self, host: &Host<'_>, bundle: &Bundle<'_>, relocations: &dyn Relocated) -> bool {
        if self.shifts.is_empty() {
            return false;
        }
        let mut own: HashSet<u64> = listed_in_tgtimg(host).into_iter().map(|listed| listed.address).collect();
        for descriptor in &bundle.descriptors {
            let (stride, payload) = (descriptor.layout.stride(), descriptor.layout.payload());
            for nth in 0..u64::from(descriptor.count) {
                let at = descriptor.images.saturating_add(nth.saturating_mul(stride)).saturating_add(payload);
                own.extend([at, at.saturating_add(8)]);
            }
        }
        let within = |value: u64| {
            let after = self.shifts.partition_point(|shift| shift.from <= value);
            let shift = after.checked_sub(1).and_then(|at| self.shifts.get(at));
            shift.is_some_and(|shift| value.saturating_sub(shift.from) < shift.len)
        };
        // Looked up first: most that a forged table lists is not in the file.
        relocations.places().any(|place| host.addresses.pointer(place).is_some_and(within) && !own.contains(&place))
    }

    /// Returns by how much the payload at an address moves down.
    pub(crate) fn distances(&self) -> HashMap<u64, u64> {
        self.shifts.iter().map(|shift| (shift.from, shift.from.saturating_sub(shift.to))).collect()
    }

    /// Moves the bytes and clears what is free.
    pub(crate) fn move_bytes(&self, host: &Host<'_>, out: &mut [u8]) {
        let at = |address: u64| host.addresses.file_offset(address).and_then(|at| usize::try_from(at).ok());
        let mut copy = |shift: &Shift| {
            let (from, to, len) = (at(shift.from)?, at(shift.to)?, usize::try_from(shift.len).ok()?);
            let end = from.checked_add(len).filter(|end| *end <= out.len())?;
            out.copy_within(from..end, to);
            Some(())
        };
        // By address: each moves down, to where nothing is that has yet to move.
        self.shifts.iter().for_each(|shift| _ = copy(shift));
        for free in self.free.iter().filter(|_| !self.shifts.is_empty()) {
            let len = usize::try_from(free.end.saturating_sub(free.start)).ok();
            let range = at(free.start).zip(len).and_then(|(at, len)| out.get_mut(at..at.checked_add(len)?));
            range.into_iter().for_each(|bytes| bytes.fill(0));
        }
    }
}

/// Room between payloads.
struct Between<'b> {
    host: &'b Host<'b>,
    out: &'b [u8],
    /// Addresses of sections, sorted.
    sections: Vec<u64>,
    /// Addresses of the sections that have payloads alone, sorted.
    of_payloads: Vec<Range<u64>>,
}

impl<'b> Between<'b> {
    fn new(host: &'b Host<'b>, out: &'b [u8]) -> Between<'b> {
        let mut sections: Vec<u64> =
            host.sections.iter().map(|section| section.address).filter(|at| *at != 0).collect();
        sections.sort_unstable();
        let named = host.sections.iter().filter(|section| section.address != 0 && section.name.starts_with(NAME));
        let range = |section: &Section<'_>| section.address..section.address.saturating_add(section.data.len() as u64);
        let mut of_payloads: Vec<Range<u64>> = named.map(range).collect();
        of_payloads.sort_by_key(|section| section.start);
        Between { host, out, sections, of_payloads }
    }

    /// Whether a range is in a section that has payloads alone.
    fn is_of_payloads(&self, range: &Range<u64>) -> bool {
        let after = self.of_payloads.partition_point(|section| section.start <= range.start);
        let section = after.checked_sub(1).and_then(|at| self.of_payloads.get(at));
        section.is_some_and(|section| range.end <= section.end)
    }

    /// Whether nothing but padding is between two payloads of one section.
    fn is_padding(&self, end: u64, start: u64) -> bool {
        let gap = start.saturating_sub(end);
        let next = self.sections.partition_point(|section| *section < end);
        let begins = self.sections.get(next).is_some_and(|section| *section <= start);
        let addresses = &self.host.addresses;
        if begins || gap >= ALIGN || addresses.slice(end.saturating_sub(1), gap.saturating_add(2)).is_none() {
            return false;
        }
        let at = addresses.file_offset(end.saturating_sub(1)).and_then(|at| usize::try_from(at).ok());
        let len = usize::try_from(gap).ok();
        let padding = at.zip(len).and_then(|(at, len)| bytes::slice_at(self.out, at.checked_add(1)?, len));
        padding.is_some_and(|padding| padding.iter().all(|byte| *byte == 0))
    }
}
