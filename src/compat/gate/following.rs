//! Which images does an image import from, and which do these import from?
//!
//! Each of thousands of images may lead to all others: an image is looked at once for a target, and walks from one to the next
//! compare numbers alone.

use super::{Demand, Gate, Known, counts, forbidden};
use crate::bundle::format::Format;
use crate::compat::built_in::{BFLOAT16_CONVERSIONS, is_form_for, of_bfloat16, of_the_device};
use crate::compat::examine::Examined;
use crate::compat::finding::{Finding, RuleId};
use crate::compat::fit::{Subject, runtime_checks};
use crate::limits;
use crate::spirv::link::{Declaration, declarations};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
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

/// Symbols of a module.
#[derive(Debug)]
pub(super) struct Symbols<'g> {
    /// Symbols that it defines for others.
    defined: HashSet<&'g str>,
    /// The declarations of these and of those that it imports.
    declared: HashMap<String, Declaration>,
}

/// The image that a symbol is taken from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    place: usize,
    /// Whether it defines the symbol, and so do all others that may be taken in its place.
    is_sure: bool,
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

    /// The images that an image is linked to; none where they are too many to be followed.
    pub(super) fn linked(&self, at: usize, subject: &Subject<'_>, known: &mut Known<'g>) -> Option<Vec<usize>> {
        if known.endless.contains(&at) {
            return None;
        }
        // Kernels of one image follow its imports anew; where all come to too many, short ways alone are followed.
        let most = if known.followed > limits::MAX_REACHED { LEAST } else { usize::MAX };
        let (others, followed) = self.providers(at, most, subject, known);
        known.followed = known.followed.saturating_add(followed);
        (followed <= most).then_some(others)
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
        other.format == image.format && *known.get_or_insert_with(|| meets(other, subject))
    }

    /// Whether a device meets what an image is recorded to require.
    pub(super) fn meets(&self, at: usize, subject: &Subject<'_>, known: &mut Known<'g>) -> bool {
        known.met.resize(self.images().len(), (0, None));
        let own = self.images().get(at).zip(known.met.get_mut(at));
        own.is_some_and(|(image, met)| *met.1.get_or_insert_with(|| meets(image, subject)))
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
        let mut found = BTreeMap::new();
        // A few findings stand for each of thousands of images.
        for at in std::iter::once(chosen).chain(others.iter().copied()) {
            let Some(image) = self.images().get(at) else { continue };
            add(&mut found, &self.forbidden_in(at, demand, known));
            for symbol in &image.imports {
                add(&mut found, &self.forbidden_by(symbol, image.format, demand, subject, known));
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
        let mut found = BTreeMap::new();
        for at in exporters.iter().copied().filter(of_format) {
            if self.meets(at, subject, known) {
                add(&mut found, &self.forbidden_in(at, demand, known));
            }
        }
        let found: Arc<[Finding]> = found.into_values().collect();
        known.forbidden.insert((symbol, format), found.clone());
        found
    }

    /// The image that images of a format import a symbol from. The runtime takes one of those that list it whose recorded requirements
    /// the device meets, and does not look at the code; here one that runs, where there is one, and of these the one that records least.
    fn provider(&self, symbol: &'g str, format: Format, subject: &Subject<'_>, known: &mut Known<'g>) -> Option<Offer> {
        if let Some(offer) = known.providers.get(&(symbol, format)) {
            return *offer;
        }
        let exporters = self.exporters.get(symbol).map(Vec::as_slice).unwrap_or_default();
        let converts = subject.target.has_extension(BFLOAT16_CONVERSIONS);
        let mut offered = Vec::new();
        for place in exporters {
            let is_taken = |one: &&Examined<'_, '_>| converts.is_none_or(|converts| is_form_for(one.image, converts));
            // The runtime links images of one format.
            let of_format = self.images().get(*place).filter(|one| one.format == format);
            let Some(other) = of_format.filter(is_taken) else { continue };
            let (mut refused, mut fails) = (false, false);
            if exporters.len() > 1 {
                refused = !self.meets(*place, subject, known);
                let stands_against = |finding: &Finding| finding.rule != RuleId::Imports;
                let fit = self.fit(*place, subject, known);
                fails = fit.is_some_and(|fit| fit.reasons.iter().chain(&fit.gaps).any(stands_against));
            }
            offered.push((refused, fails, other.requirements.aspects.len(), *place));
        }
        let offer = offered.iter().min().map(|first| {
            // The runtime may take any whose recorded requirements the device meets: each must do.
            let (refused, fails, _, place) = *first;
            let taken = || offered.iter().filter(|(own, ..)| *own == refused);
            let imports = |at: usize| self.images().get(at).is_some_and(|other| !other.imports.is_empty());
            let is_sure = taken().all(|(_, own_fails, _, other)| {
                let runs = *other == place || fails || !own_fails && !imports(*other);
                runs && self.has(*other, symbol) && self.agree(place, *other, symbol)
            });
            Offer { place, is_sure }
        });
        known.providers.insert((symbol, format), offer);
        offer
    }

    /// Whether an image has a symbol that it lists for others: its module defines it, where that can be read.
    fn has(&self, at: usize, symbol: &str) -> bool {
        self.symbols(at).is_none_or(|symbols| symbols.defined.contains(symbol))
    }

    /// Whether two images declare a symbol alike, as far as their modules tell.
    fn agree(&self, first: usize, second: usize, symbol: &str) -> bool {
        let [first, second] = [first, second].map(|at| self.symbols(at)?.declared.get(symbol));
        first.zip(second).is_none_or(|(first, second)| first.agrees_with(second))
    }

    /// The symbols of an image's module.
    fn symbols(&self, at: usize) -> Option<&Symbols<'g>> {
        let image = self.images().get(at)?;
        let module = image.module.as_ref()?;
        Some(self.symbols.get(at)?.get_or_init(|| {
            let contents = image.image.contents().ok();
            Symbols {
                defined: module.exports.iter().map(String::as_str).collect(),
                declared: contents.and_then(|contents| declarations(&contents).ok()).unwrap_or_default(),
            }
        }))
    }

    /// Looks up what an image leads to, where that is not known.
    fn look(&self, at: usize, subject: &Subject<'_>, known: &mut Known<'g>) {
        let Some(image) = self.images().get(at).filter(|_| known.steps.get(at).is_some_and(Option::is_none)) else {
            return;
        };
        let (mut providers, mut is_open) = (Vec::new(), image.needs_too_many);
        for symbol in &image.imports {
            known.looked_up = known.looked_up.saturating_add(1);
            match self.provider(symbol, image.format, subject, known) {
                // Of a module that nothing lists the compiler defines these; what is listed an image has to export. Conversions of
                // bfloat16 no compiler has: the first file of the process that brings images with them does.
                None if image.image.is_unlisted() && of_the_device(symbol) && !of_bfloat16(symbol) => {}
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

/// Whether a device meets what an image is recorded to require.
fn meets(image: &Examined<'_, '_>, subject: &Subject<'_>) -> bool {
    runtime_checks(image, subject.target).reasons.is_empty()
}

/// Adds findings about aspects to others, each aspect once; a certain one counts.
fn add(found: &mut BTreeMap<Option<String>, Finding>, more: &[Finding]) {
    for finding in more {
        let own = found.entry(finding.aspect.clone()).or_insert_with(|| finding.clone());
        own.certain |= finding.certain;
    }
}
