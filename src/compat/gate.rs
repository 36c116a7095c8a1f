//! Does every kernel of a file run on a target?
//!
//! For each kernel the image that the runtime would choose, by [`choice`](super::choice), and whether that image runs, by
//! [`fit`](super::fit), with the aspects that its code uses, and with the images that define what it imports. Images
//! that differ in nothing the rules look at are judged once: thousands of images are a few dozen kinds.

mod kind;
mod matter;
pub mod remedy;
#[cfg(test)]
mod tests;

use super::aspects::graph::of_the_device;
use super::aspects::{Code, Evidence, Graph};
use super::choice::choose_among;
use super::examine::Examined;
use super::fit::{Finding, Fit, Rule, Subject, fit_with};
use crate::bundle::image::State;
use kind::Kind;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// What is asked of a kernel beyond that it runs.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Only images of these states count; all where it is empty.
    pub states: Vec<State>,
    /// Whether the image must be compiled for the device already.
    pub native: bool,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Matter {
    /// A rule for images.
    Image(Rule),
    /// The runtime has no image of the kernel for the device.
    NoImage,
    /// No image is of a demanded state.
    State,
    /// The image is not compiled for the device.
    NotNative,
}

/// Something that speaks against kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Against {
    /// What it is about.
    pub matter: Matter,
    /// Whether it is so; else it cannot be told.
    pub certain: bool,
    /// What it says.
    pub message: String,
    /// The aspect, where it is about one.
    pub aspect: Option<String>,
    /// What can be done.
    pub remedy: String,
}

/// Something that speaks against one kernel.
#[derive(Debug, Clone)]
pub struct Found {
    /// What speaks against it, shared by all kernels that it speaks against.
    pub against: Arc<Against>,
    /// The kernel's mangled name.
    pub kernel: Arc<str>,
    /// The number of the image in its file, where it is about one.
    pub image: Option<usize>,
    /// The use of the aspect and the calls that lead to it.
    pub evidence: Option<Arc<Evidence>>,
}

/// Evidence that has been looked for, by the image's place, the kernel and the aspect.
type Known = HashMap<(usize, Arc<str>, String), Option<Arc<Evidence>>>;

/// A kernel and the places of its images.
struct Named {
    name: Arc<str>,
    images: Vec<usize>,
    /// The same number for kernels whose images are of the same kinds.
    group: usize,
}

/// The images of a file, ready to be judged for any number of targets.
pub struct Gate<'g> {
    images: &'g [Examined<'g, 'g>],
    graph: Graph<'g>,
    /// The kind of each image.
    kinds: Vec<usize>,
    kernels: Vec<Named>,
    /// For each symbol, the places of the images that define it.
    exporters: HashMap<&'g str, Vec<usize>>,
    evidence: Known,
}

/// What speaks against a kernel, each with the place, among the kernel's images or in the file, of the image it is about.
/// It holds for all kernels whose images are of the same kinds.
type Judgement = Vec<(Arc<Against>, Option<Whose>)>;

#[derive(Clone, Copy)]
enum Whose {
    /// One of the kernel's images.
    Own(usize),
    /// Another image of the file.
    Other(usize),
}

impl<'g> Gate<'g> {
    /// Looks at the images of a file, whose code is `codes`. `wanted` selects kernels by their mangled names.
    pub fn new(images: &'g [Examined<'g, 'g>], codes: &'g [Code], wanted: impl Fn(&str) -> bool) -> Gate<'g> {
        let graph = Graph::of(codes);
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut kernels: Vec<Named> = Vec::new();
        let mut exporters: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, image) in images.iter().enumerate() {
            for name in &image.kernels {
                match places.get(name.as_str()).and_then(|place| kernels.get_mut(*place)) {
                    Some(known) if known.images.last() == Some(&at) => {}
                    Some(known) => known.images.push(at),
                    None if wanted(name) => {
                        places.insert(name, kernels.len());
                        kernels.push(Named { name: name.as_str().into(), images: vec![at], group: 0 });
                    }
                    None => {}
                }
            }
            for symbol in &image.exports {
                exporters.entry(symbol).or_default().push(at);
            }
        }
        let kinds = kind::kinds(images.iter().enumerate().map(|(at, image)| Kind::of(at, image, &graph)));
        let mut groups: HashMap<Vec<usize>, usize> = HashMap::new();
        for kernel in &mut kernels {
            let key = kernel.images.iter().filter_map(|image| kinds.get(*image).copied()).collect();
            let next = groups.len();
            kernel.group = *groups.entry(key).or_insert(next);
        }
        Gate { images, graph, kinds, kernels, exporters, evidence: HashMap::new() }
    }

    /// How many kernels are judged.
    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// The mangled names of all that are judged.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| &*kernel.name)
    }

    /// What speaks against kernels on a target, in the order of images and kernels.
    pub fn judge(&mut self, subject: &Subject<'_>, demand: &Demand) -> Vec<Found> {
        let mut found = Vec::new();
        let mut evidence_of = std::mem::take(&mut self.evidence);
        let mut fits: BTreeMap<usize, Arc<Fit>> = BTreeMap::new();
        let mut judgements: HashMap<usize, Judgement> = HashMap::new();
        for Named { name, images, group } in &self.kernels {
            let judgement =
                judgements.entry(*group).or_insert_with(|| self.kernel(name, images, subject, demand, &mut fits));
            for (against, whose) in judgement.iter() {
                let place = match whose {
                    Some(Whose::Own(nth)) => images.get(*nth).copied(),
                    Some(Whose::Other(place)) => Some(*place),
                    None => None,
                };
                found.push(Found {
                    against: against.clone(),
                    kernel: name.clone(),
                    image: place.and_then(|place| self.images.get(place)).map(|image| image.image.index),
                    evidence: place.and_then(|place| {
                        evidence(&self.graph, &mut evidence_of, place, name, against.aspect.as_deref()?)
                    }),
                });
            }
        }
        self.evidence = evidence_of;
        found
    }

    fn kernel(
        &self,
        name: &str,
        images: &[usize],
        subject: &Subject<'_>,
        demand: &Demand,
        fits: &mut BTreeMap<usize, Arc<Fit>>,
    ) -> Judgement {
        let target = subject.target;
        let own = |matter, certain, message: String| {
            let remedy = remedy::build(target);
            (Arc::new(Against { matter, certain, message, aspect: None, remedy }), None)
        };
        let counts = |at: &usize| {
            self.images.get(*at).is_some_and(|one| demand.states.is_empty() || demand.states.contains(&one.state))
        };
        let counted: Vec<usize> = images.iter().copied().filter(counts).collect();
        if counted.is_empty() {
            let message = format!("Kernel has no image of the demanded state for {}.", target.name);
            return vec![own(Matter::State, true, message)];
        }
        let choice = choose_among(self.images, counted, name, subject);
        let Some(chosen) = choice.chosen else {
            let why: Vec<&str> = choice.passed_over.iter().map(|(_, why)| why.as_str()).take(3).collect();
            let failure = choice.failure.as_deref().unwrap_or_default();
            // The sentence names the kernel, and stands here for many.
            let failure = failure.replacen(&format!("Kernel {name} has"), "Kernel has", 1);
            let message = if choice.unsure { why.join(" ") } else { failure };
            return vec![own(Matter::NoImage, !choice.unsure, message)];
        };
        let mut judgement = Judgement::new();
        let place = images.iter().position(|at| *at == chosen).map(Whose::Own);
        let (others, resolved) = self.providers(chosen);
        let members = std::iter::once((chosen, place)).chain(others.into_iter().map(|at| (at, Some(Whose::Other(at)))));
        let mut seen = HashSet::new();
        for (at, whose) in members {
            let Some(fit) = self.fit(at, subject, fits) else { continue };
            let all = fit.reasons.iter().map(|one| (one, true)).chain(fit.gaps.iter().map(|one| (one, false)));
            for (finding, certain) in all {
                let open = finding.rule == Rule::Imports && !certain;
                if (!open || !resolved) && seen.insert((finding.rule, finding.message.clone())) {
                    judgement.push((Arc::new(against(finding, certain, subject)), whose));
                }
            }
        }
        let native = self.images.get(chosen).is_some_and(|image| !image.format.is_intermediate());
        if demand.native && !native {
            let message = format!("Kernel has no image compiled for {}.", target.name);
            judgement.push(own(Matter::NotNative, true, message));
        }
        if choice.unsure && judgement.is_empty() {
            let why: Vec<&str> = choice.passed_over.iter().map(|(_, why)| why.as_str()).take(3).collect();
            let message = format!("Which image the runtime chooses on {} is not known: {}", target.name, why.join(" "));
            judgement.push(own(Matter::NoImage, false, message));
        }
        judgement
    }

    /// The images that an image imports from, and those that they import from; and whether nothing is left open.
    fn providers(&self, chosen: usize) -> (Vec<usize>, bool) {
        let (mut all, mut open, mut next) = (vec![chosen], false, 0usize);
        while let Some(image) = all.get(next).and_then(|at| self.images.get(*at)) {
            next = next.saturating_add(1);
            for symbol in &image.imports {
                // Of several forms the one that needs least is what a device without their aspects is given.
                let least = |at: &&usize| self.images.get(**at).map_or(0, |one| one.requirements.aspects.len());
                // The runtime links images of one format.
                let alike = |at: &&usize| self.images.get(**at).is_some_and(|one| one.format == image.format);
                let exporters = self.exporters.get(symbol.as_str()).map(Vec::as_slice).unwrap_or_default();
                match exporters.iter().filter(alike).min_by_key(least) {
                    Some(place) if all.contains(place) => {}
                    Some(place) => all.push(*place),
                    None if of_the_device(symbol) => {}
                    None => open = true,
                }
            }
        }
        (all.split_off(1), !open)
    }

    /// The fit of an image, worked out once for all of its kind.
    fn fit(&self, at: usize, subject: &Subject<'_>, fits: &mut BTreeMap<usize, Arc<Fit>>) -> Option<Arc<Fit>> {
        let (image, kind) = (self.images.get(at)?, *self.kinds.get(at)?);
        if let Some(known) = fits.get(&kind) {
            return Some(known.clone());
        }
        let used = kind::used(&self.graph, at, image);
        let mut fit = fit_with(image, subject, used.iter().map(|(name, _)| *name));
        // What several aspects leave the same trace of is not sure, unless it is recorded.
        let unsure = |finding: &Finding| {
            let aspect = finding.aspect.as_deref();
            let recorded = image.requirements.aspects.iter().any(|own| Some(own.as_str()) == aspect);
            !recorded && used.iter().any(|(name, certain)| Some(*name) == aspect && !certain)
        };
        let (open, sure) = fit.reasons.drain(..).partition(unsure);
        fit.reasons = sure;
        fit.gaps.extend::<Vec<Finding>>(open);
        let fit = Arc::new(fit);
        fits.insert(kind, fit.clone());
        Some(fit)
    }
}

fn against(finding: &Finding, certain: bool, subject: &Subject<'_>) -> Against {
    Against {
        matter: Matter::Image(finding.rule),
        certain,
        message: finding.message.clone(),
        aspect: finding.aspect.clone(),
        remedy: remedy::of(finding, subject.target),
    }
}

/// Why a kernel of an image needs an aspect: by its own code, else by that of the image's first function that does.
fn evidence(
    graph: &Graph<'_>,
    known: &mut Known,
    place: usize,
    kernel: &Arc<str>,
    aspect: &str,
) -> Option<Arc<Evidence>> {
    let found = known.entry((place, kernel.clone(), aspect.to_owned())).or_insert_with(|| {
        let code = graph.codes().get(place)?;
        let aspect = *super::aspects::Aspect::ALL.iter().find(|one| one.name() == aspect)?;
        let own = code.kernels.iter().find(|one| *one.name == **kernel).and_then(|one| one.node);
        let nodes = own.into_iter().chain(0..code.nodes.len());
        nodes.into_iter().find_map(|node| graph.evidence(place, node, aspect)).map(Arc::new)
    });
    found.clone()
}

/// What a finding is known by from one build to the next: not by numbers and offsets, which change with every build.
pub fn fingerprint(target: &str, file: &str, found: &Found) -> String {
    let name = file.rsplit(['/', '\\', '!']).next().unwrap_or(file);
    let rule = found.against.matter.rule();
    let about = found.against.aspect.as_deref().unwrap_or(&found.against.message);
    let certain = if found.against.certain { "sure" } else { "open" };
    let text = [rule, certain, target, name, &found.kernel, about].join("\0");
    blake3::hash(text.as_bytes()).to_hex().chars().take(32).collect()
}
