//! Which images does an image import from, and which do these import from?
//!
//! Each of thousands of images may lead to all others: an image is looked at once for a target, and walks from one to the next
//! compare numbers alone.

use super::{Demand, Gate, Known, counts, forbidden};
use crate::bundle::format::Format;
use crate::compat::built_in::{of_bfloat16, of_the_device};
use crate::compat::finding::Finding;
use crate::compat::fit::{Subject, runtime_checks};
use crate::limits;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Imports that are followed for each image whatever all come to.
pub(super) const LEAST: usize = 256;

/// The images that an image leads to on a target.
pub(super) struct Step {
    /// Places of those that it imports from.
    providers: Box<[usize]>,
    /// Number of its imports.
    imports: usize,
    /// Whether its imports leave something open.
    pub(super) is_open: bool,
    /// Whether anything speaks against it on the target.
    pub(super) speaks: bool,
}

impl<'g> Gate<'g> {
    /// Finds the chosen images whose imports lead too far to be followed for each. Short ways are followed first, so that a few
    /// long ones leave nothing unknown but themselves.
    pub(super) fn endless(
        &self,
        chosen: BTreeSet<usize>,
        subject: &Subject<'_>,
        known: &mut Known<'g>,
    ) -> HashSet<usize> {
        /// Factor by which more are followed the next time.
        const MORE: usize = 4;
        let (mut pending, mut left, mut most) = (chosen, limits::MAX_REACHED, LEAST);
        while !pending.is_empty() {
            pending.retain(|at| {
                let followed = self.providers(*at, most, subject, known).1;
                left = left.saturating_sub(followed.min(most));
                followed > most
            });
            if pending.len().saturating_mul(most).saturating_mul(MORE) > left {
                break;
            }
            most = most.saturating_mul(MORE);
        }
        pending.into_iter().collect()
    }

    /// The images that an image imports from on a target, and those that they import from; and how many imports were followed,
    /// which ends beyond `most`.
    pub(super) fn providers(
        &self,
        chosen: usize,
        most: usize,
        subject: &Subject<'_>,
        known: &mut Known<'g>,
    ) -> (Vec<usize>, usize) {
        let count = self.images().len();
        known.steps.resize_with(count, || None);
        known.met.resize(count, (0, None));
        known.walks = known.walks.saturating_add(1);
        let walk = known.walks;
        let meets = |met: &mut (usize, Option<bool>)| std::mem::replace(&mut met.0, walk) != walk;
        if let Some(own) = known.met.get_mut(chosen) {
            meets(own);
        }
        let (mut all, mut next, mut followed) = (vec![chosen], 0usize, 0usize);
        while let Some(at) = all.get(next).copied() {
            next = next.saturating_add(1);
            self.look(at, subject, known);
            let Known { steps, met, .. } = &mut *known;
            let Some(step) = steps.get(at).and_then(Option::as_ref) else { continue };
            followed = followed.saturating_add(step.imports);
            if followed > most {
                break;
            }
            // The runtime links all images of a set that the device meets the recorded requirements of.
            for others in self.sets_of.get(&at).into_iter().flatten().filter_map(|set| self.sets.get(*set)) {
                followed = followed.saturating_add(others.len());
                if followed > most {
                    break;
                }
                for other in others {
                    if let Some(met) = met.get_mut(*other)
                        && meets(met)
                        && self.is_linked(at, *other, subject, &mut met.1)
                    {
                        all.push(*other);
                    }
                }
            }
            for other in &step.providers {
                if met.get_mut(*other).is_some_and(meets) {
                    all.push(*other);
                }
            }
        }
        (all.split_off(1), followed)
    }

    /// Whether the runtime links an image to another of its set; `known` holds whether the device meets what that requires.
    fn is_linked(&self, at: usize, other: usize, subject: &Subject<'_>, known: &mut Option<bool>) -> bool {
        let [Some(image), Some(other)] = [at, other].map(|at| self.images().get(at)) else { return false };
        let meets = || runtime_checks(other, subject.target).reasons.is_empty();
        other.format == image.format && *known.get_or_insert_with(meets)
    }

    /// Whether a device meets what an image is recorded to require.
    pub(super) fn meets(&self, at: usize, subject: &Subject<'_>, known: &mut Known<'g>) -> bool {
        let meets = || self.images().get(at).is_some_and(|one| runtime_checks(one, subject.target).reasons.is_empty());
        known.met.resize(self.images().len(), (0, None));
        known.met.get_mut(at).is_some_and(|met| *met.1.get_or_insert_with(meets))
    }

    /// Finds the forbidden aspects of an image, of the images that it leads to, and of all others that the runtime may take in place of
    /// one of these.
    pub(super) fn forbidden(
        &self,
        chosen: usize,
        others: &[usize],
        demand: &Demand,
        subject: &Subject<'_>,
        known: &mut Known<'g>,
    ) -> impl Iterator<Item = Finding> + use<'g> {
        let mut found: BTreeMap<String, Finding> = BTreeMap::new();
        let mut add = |finding: Finding| {
            let aspect = finding.aspect.clone().unwrap_or_default();
            let own = found.entry(aspect).or_insert_with(|| finding.clone());
            own.certain |= finding.certain;
        };
        // A few findings stand for each of thousands of images.
        for at in std::iter::once(chosen).chain(others.iter().copied()) {
            let Some(image) = self.images().get(at) else { continue };
            self.forbidden_in(at, demand, known).iter().cloned().for_each(&mut add);
            for symbol in &image.imports {
                self.forbidden_by(symbol, image.format, demand, subject, known).iter().cloned().for_each(&mut add);
            }
        }
        found.into_values()
    }

    fn forbidden_in(&self, at: usize, demand: &Demand, known: &mut Known<'g>) -> Arc<[Finding]> {
        let find = || {
            let (Some(image), used) = (self.images().get(at), self.engine.used(at)) else { return Arc::default() };
            forbidden(image, &used, &demand.forbidden).collect()
        };
        known.forbidden_in.entry(at).or_insert_with(find).clone()
    }

    /// The forbidden aspects of the images that a symbol may be imported from.
    fn forbidden_by(
        &self,
        symbol: &'g str,
        format: Format,
        demand: &Demand,
        subject: &Subject<'_>,
        known: &mut Known<'g>,
    ) -> Arc<[Finding]> {
        if let Some(found) = known.forbidden.get(&(symbol, format)) {
            return found.clone();
        }
        let exporters = self.exporters.get(symbol).map(Vec::as_slice).unwrap_or_default();
        let of_format = |at: &usize| self.images().get(*at).is_some_and(|one| one.format == format);
        let mut found = Vec::new();
        for at in exporters.iter().copied().filter(of_format) {
            if self.meets(at, subject, known) {
                found.extend(self.forbidden_in(at, demand, known).iter().cloned());
            }
        }
        found.sort_by(|one, other| (&one.aspect, other.certain).cmp(&(&other.aspect, one.certain)));
        found.dedup_by(|one, other| one.aspect == other.aspect);
        let found: Arc<[Finding]> = found.into();
        known.forbidden.insert((symbol, format), found.clone());
        found
    }

    /// Looks up what an image leads to, where that is not known.
    fn look(&self, at: usize, subject: &Subject<'_>, known: &mut Known<'g>) {
        let Some(image) = self.images().get(at).filter(|_| known.steps.get(at).is_some_and(Option::is_none)) else {
            return;
        };
        let (mut providers, mut is_open) = (Vec::new(), false);
        for symbol in &image.imports {
            known.looked_up = known.looked_up.saturating_add(1);
            match self.provider(symbol, image.format, subject, known) {
                None if of_bfloat16(symbol) => {}
                // Of a module that nothing lists the compiler defines these; what is listed an image has to export.
                None if image.image.is_unlisted() && of_the_device(symbol) => {}
                None => is_open = true,
                Some(offer) => {
                    is_open |= !offer.is_sure || !self.agree(at, offer.place, symbol);
                    if providers.last() != Some(&offer.place) {
                        providers.push(offer.place);
                    }
                }
            }
        }
        let fit = self.fit(at, subject, known);
        let speaks = fit.is_some_and(|fit| fit.reasons.iter().chain(&fit.gaps).any(|one| counts(one, is_open)));
        let step = Step { providers: providers.into(), imports: image.imports.len(), is_open, speaks };
        if let Some(own) = known.steps.get_mut(at) {
            *own = Some(step);
        }
    }
}
