//! Does every kernel of a file run on a target?
//!
//! For each kernel the image that the runtime would choose, by [`choice`](super::choice), and whether that image runs, by
//! [`fit`](super::fit), with the aspects that its code uses, and with the images that define what it imports. Images
//! that differ in nothing the rules look at are judged once: thousands of images are a few dozen kinds.

pub mod judgement;
#[cfg(test)]
mod tests;

use super::aspects::Code;
use super::built_in::of_the_device;
use super::choice::{choose_among, refused_in_bundles};
use super::engine::Engine;
use super::examine::Examined;
use super::finding::{Finding, RuleId, build_remedy};
use super::fit::{Fit, Subject, buildable};
use super::offers::Provider;
use crate::bundle::image::State;
use crate::device::target::{Has, current};
use crate::native::Coverage;
use judgement::Kind;
pub use judgement::codes;
use judgement::{Depth, Proofs};
use judgement::{Found, Grouping, Item, Judgement, Kernels, Whose};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Demands on a kernel beyond that it runs.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Only images of these states count; all where it is empty.
    pub states: Vec<State>,
    /// Whether the image must be compiled for the device already.
    pub native: bool,
    /// Aspects that no image may need.
    pub forbidden: Vec<String>,
    /// Whether executable bundles of the kernel must build, with every native image of it.
    pub bundles: bool,
}

/// The images of a file, ready to be judged for any number of targets.
pub struct Gate<'g> {
    engine: Engine<'g>,
    /// The kind of each image.
    kinds: Vec<usize>,
    kernels: Arc<Kernels>,
    /// Kernels whose images are of the same kinds.
    grouping: Arc<Grouping>,
    /// For each symbol, the places of the images that define it.
    exporters: HashMap<&'g str, Vec<usize>>,
}

/// The fits that have been worked out for a target, by kind.
type Fits = HashMap<usize, Arc<Fit>>;

impl<'g> Gate<'g> {
    /// Looks at the images of a file; `codes` are what [`codes`] gives of them, or more. `wanted` selects kernels by
    /// their mangled names.
    pub fn new(images: &'g [Examined<'g, 'g>], codes: &'g [Code], wanted: impl Fn(&str) -> bool) -> Gate<'g> {
        let engine = Engine::new(images, codes);
        let kernels = Kernels::select(images, wanted);
        let mut exporters: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, image) in images.iter().enumerate() {
            for symbol in &image.exports {
                exporters.entry(symbol).or_default().push(at);
            }
        }
        let kinds = judgement::kinds(images.iter().enumerate().map(|(at, image)| Kind::new(at, image, &engine)));
        let mut groups: HashMap<Vec<usize>, usize> = HashMap::new();
        let group = |kernel: usize| {
            let key = kernels.images(kernel).iter().filter_map(|image| kinds.get(*image).copied()).collect();
            let next = groups.len();
            *groups.entry(key).or_insert(next)
        };
        let grouping = Arc::new(Grouping::new((0..kernels.len()).map(group).collect()));
        Gate { engine, kinds, kernels: Arc::new(kernels), grouping, exporters }
    }

    /// Marks the images from a place on as those of other files.
    #[must_use]
    pub fn with_lent(mut self, first: usize, providers: &[Provider]) -> Gate<'g> {
        if let Some(kernels) = Arc::get_mut(&mut self.kernels) {
            kernels.lend(first, providers);
        }
        self
    }

    fn images(&self) -> &'g [Examined<'g, 'g>] {
        self.engine.images()
    }

    /// The kernels that are judged.
    pub fn kernels(&self) -> &Arc<Kernels> {
        &self.kernels
    }

    /// Judges the kernels for a target.
    pub fn judge(&self, subject: &Subject<'_>, demand: &Demand) -> Judgement {
        let mut fits = Fits::new();
        let groups = (0..self.grouping.len()).map(|group| -> (Vec<Item>, Option<Coverage>) {
            let first = self.grouping.members(group).first().copied().unwrap_or_default();
            let name = self.kernels.name(first).map_or("", |name| name);
            self.kernel(name, self.kernels.images(first), subject, demand, &mut fits)
        });
        let (items, code) = groups.unzip();
        Judgement { kernels: self.kernels.clone(), grouping: self.grouping.clone(), items, code }
    }

    /// Judges the kernels for several targets, each with its own demand, by all threads.
    pub fn judge_each(&self, asked: &[(Subject<'_>, Demand)]) -> Vec<Judgement> {
        asked.par_iter().map(|(subject, demand)| self.judge(subject, demand)).collect()
    }

    /// Finds the uses of the aspects that targets were found to lack.
    pub fn proofs(&self, judged: &[&Judgement], depth: Depth) -> Proofs {
        Proofs::look(self.engine.images(), self.engine.graph(), judged, depth)
    }

    fn kernel(
        &self,
        name: &str,
        images: &[usize],
        subject: &Subject<'_>,
        demand: &Demand,
        fits: &mut Fits,
    ) -> (Vec<Item>, Option<Coverage>) {
        let target = subject.target;
        let own = |rule, certain, message: String| {
            let finding = Arc::new(Finding::new(rule, certain, message, build_remedy(target)));
            Item { finding, whose: None, excused: None }
        };
        let counts = |at: &usize| {
            self.images().get(*at).is_some_and(|one| demand.states.is_empty() || demand.states.contains(&one.state))
        };
        let counted: Vec<usize> = images.iter().copied().filter(counts).collect();
        if counted.is_empty() {
            let message = format!("Kernel has no image of the demanded state for {}.", target.name);
            return (vec![own(RuleId::State, true, message)], None);
        }
        let choice = choose_among(self.images(), counted, name, subject);
        let Some(chosen) = choice.chosen else {
            let why: Vec<&str> = choice.passed_over.iter().map(|(_, why)| why.as_str()).take(3).collect();
            let failure = choice.failure.as_deref().unwrap_or_default();
            // The sentence names the kernel, and stands here for many.
            let failure = failure.replacen(&format!("Kernel {name} has"), "Kernel has", 1);
            let message = if choice.unsure { why.join(" ") } else { failure };
            let mut item = own(RuleId::NoImage, !choice.unsure, message.clone());
            let of_kernel = choice.of_kernel.iter().filter_map(|at| self.images().get(*at));
            if let Some((possible, said)) =
                of_kernel.filter_map(|image| buildable(image, subject)).max_by_key(|said| said.0)
            {
                let remedy =
                    if possible { build_remedy(target) } else { "launch it on devices that take SPIR-V".to_owned() };
                let message = format!("{message} {said}");
                item.finding = Arc::new(Finding::new(RuleId::NoImage, !choice.unsure, message, remedy));
            }
            return (vec![item], None);
        };
        let mut judgement: Vec<Item> = Vec::new();
        let place = images.iter().position(|at| *at == chosen).map(Whose::Own);
        let (others, resolved) = self.providers(chosen, subject, fits);
        let members = std::iter::once((chosen, place)).chain(others.into_iter().map(|at| (at, Some(Whose::Other(at)))));
        let mut seen = HashSet::new();
        for (at, whose) in members {
            let Some(fit) = self.fit(at, subject, fits) else { continue };
            for finding in fit.reasons.iter().chain(&fit.gaps) {
                let open = finding.rule == RuleId::Imports && !finding.certain;
                if (!open || !resolved) && seen.insert((finding.rule, finding.message.clone())) {
                    judgement.push(Item { finding: Arc::new(finding.clone()), whose, excused: None });
                }
            }
        }
        let code = self.images().get(chosen).map(|image| image.coverage_where_taken(&target.name));
        let native = code.is_some_and(|code| code != Coverage::Jit);
        // Of a target of which little is known something else is open, too.
        let lacks_compiler = match target.compiles_online() {
            Has::Yes => false,
            Has::No => true,
            Has::Unknown => judgement.is_empty(),
        };
        if !native && lacks_compiler && subject.takes_spirv() {
            let online = target.compiles_online();
            let message = "Kernel is there as intermediate code only, which the device must compile itself.".to_owned();
            let remedy = format!("compile it ahead of time: -fsycl-targets={}", target.name);
            let aspect = Some("online_compiler".to_owned());
            let finding = Finding { aspect, ..Finding::new(RuleId::Aspect, online == Has::No, message, remedy) };
            judgement.push(Item { finding: Arc::new(finding), whose: place, excused: None });
        }
        if let Some(image) = self.images().get(chosen).filter(|_| !demand.forbidden.is_empty()) {
            let used = self.engine.used(chosen);
            let forbidden = forbidden(image, &used, &demand.forbidden);
            judgement.extend(forbidden.map(|one| Item { finding: Arc::new(one), whose: place, excused: None }));
        }
        if demand.native && !native {
            let message = format!("Kernel has no image compiled for {}.", target.name);
            judgement.push(own(RuleId::NotNative, true, message));
        }
        if demand.bundles {
            let others = refused_in_bundles(self.images(), images, subject);
            if let Some(image) = others.first().and_then(|at| self.images().get(*at)) {
                let devices = image.native.as_ref().map(|native| native.devices().join(", ")).unwrap_or_default();
                let message = format!(
                    "Executable bundles of the kernel take in native code for {devices}, which the driver refuses on {}.",
                    target.name
                );
                let remedy =
                    "put the code for all GPUs into one archive, or leave SPIR-V in the native code (ocloc without \
                              -exclude_ir): such images are taken everywhere"
                        .to_owned();
                let finding = Finding::new(RuleId::KernelBundle, true, message, remedy);
                judgement.push(Item { finding: Arc::new(finding), whose: None, excused: None });
            }
        }
        if choice.unsure && judgement.is_empty() {
            let why: Vec<&str> = choice.passed_over.iter().map(|(_, why)| why.as_str()).take(3).collect();
            let message = format!("Which image the runtime chooses on {} is not known: {}", target.name, why.join(" "));
            judgement.push(own(RuleId::NoImage, false, message));
        }
        (judgement, code)
    }

    /// The images that an image imports from on a target, and those that they import from; and whether nothing is left
    /// open. As the runtime does, of the images that export a symbol one is taken that the device can run; of several
    /// forms the one that needs least, which is what a device without their aspects is given.
    fn providers(&self, chosen: usize, subject: &Subject<'_>, fits: &mut Fits) -> (Vec<usize>, bool) {
        let (mut all, mut open, mut next) = (vec![chosen], false, 0usize);
        while let Some(image) = all.get(next).and_then(|at| self.images().get(*at)) {
            next = next.saturating_add(1);
            for symbol in &image.imports {
                let exporters = self.exporters.get(symbol.as_str()).map(Vec::as_slice).unwrap_or_default();
                let mut best = None;
                for place in exporters {
                    // The runtime links images of one format.
                    let Some(other) = self.images().get(*place).filter(|one| one.format == image.format) else {
                        continue;
                    };
                    let refused = exporters.len() > 1
                        && self
                            .fit(*place, subject, fits)
                            .is_some_and(|fit| fit.reasons.iter().any(|finding| finding.rule != RuleId::Imports));
                    let cost = (refused, other.requirements.aspects.len());
                    if best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, *place));
                    }
                }
                match best {
                    Some((_, place)) if all.contains(&place) => {}
                    Some((_, place)) => all.push(place),
                    None if of_the_device(symbol) => {}
                    None => open = true,
                }
            }
        }
        (all.split_off(1), !open)
    }

    /// The fit of an image, worked out once for all of its kind.
    fn fit(&self, at: usize, subject: &Subject<'_>, fits: &mut Fits) -> Option<Arc<Fit>> {
        let kind = *self.kinds.get(at)?;
        if let Some(known) = fits.get(&kind) {
            return Some(known.clone());
        }
        let fit = Arc::new(self.engine.fit(at, subject));
        fits.insert(kind, fit.clone());
        Some(fit)
    }
}

/// Finds the forbidden aspects that an image needs: recorded ones, and those that its code uses.
fn forbidden<'f>(
    image: &'f Examined<'_, '_>,
    used: &'f [(&'static str, bool)],
    forbidden: &'f [String],
) -> impl Iterator<Item = Finding> + 'f {
    forbidden.iter().filter_map(move |aspect| {
        let recorded = image.requirements.aspects.iter().any(|own| current(own) == aspect);
        let found = used.iter().filter(|(name, _)| name == aspect).map(|(_, certain)| *certain).max();
        let certain = found.filter(|_| !recorded).or_else(|| recorded.then_some(true))?;
        let message =
            format!("Kernel uses optional feature corresponding to 'aspect::{aspect}', which the policy forbids.");
        let remedy = "keep the feature out of the kernel, or write an exception into the policy";
        let finding = Finding::new(RuleId::ForbiddenAspect, certain, message, remedy);
        Some(Finding { aspect: Some(aspect.clone()), ..finding })
    })
}

/// Identifies a finding from one build to the next: without numbers and offsets, which change with every build.
pub fn fingerprint(target: &str, file: &str, found: &Found<'_>) -> String {
    fingerprint_of(target, file, found.finding, found.kernel)
}

/// Identifies a finding of a kernel, given by its mangled name, from one build to the next.
pub fn fingerprint_of(target: &str, file: &str, finding: &Finding, kernel: &str) -> String {
    let rule = finding.rule.name();
    let about = match finding.rule {
        // Numbers and offsets in these change with every build.
        RuleId::BudgetBytes
        | RuleId::BudgetImages
        | RuleId::BudgetSpill
        | RuleId::BudgetSpilledRegisters
        | RuleId::Damaged => finding.aspect.as_deref().unwrap_or_default(),
        _ => finding.aspect.as_deref().unwrap_or(&finding.message),
    };
    let certain = if finding.certain { "sure" } else { "open" };
    let text = [rule, certain, target, base_name(file), kernel, about].join("\0");
    blake3::hash(text.as_bytes()).to_hex().chars().take(32).collect()
}

/// The name of a file without the folders and packages that it is in: what stays when a tree is built elsewhere.
pub fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\', '!']).next().unwrap_or(file)
}
