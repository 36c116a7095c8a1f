//! Does every kernel of a file run on a target?
//!
//! For each kernel the image that the runtime would choose, by [`choice`](super::choice), and whether that image runs, by
//! [`fit`](super::fit), with the aspects that its code uses, and with the images that define what it imports. Images
//! that differ in nothing the rules look at are judged once: thousands of images are a few dozen kinds.

mod following;
pub mod judgement;
mod twice;

use super::aspects::{Code, Sets};
use super::choice::{Choice, choose_among, refused_in_bundles};
use super::contradictions::cut_mask;
use super::engine::Engine;
use super::examine::{Examined, Home};
use super::finding::{Finding, RuleId, build_remedy, remedy};
use super::fit::{Fit, Subject, buildable, named};
use super::offers::Provider;
use crate::bundle::format::Format;
use crate::bundle::image::State;
use crate::device::target::{Has, current};
use crate::limits;
use crate::native::Coverage;
use following::{Offer, Step, Symbols};
use judgement::Kind;
pub use judgement::codes;
use judgement::{Depth, Proofs};
use judgement::{Found, Grouping, Item, Judgement, Kernels, Whose};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use twice::Twice;

/// Demands on a kernel beyond that it runs.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Only images of these states count; all where it is empty.
    pub(crate) states: Vec<State>,
    /// Whether the image must be compiled for the device already.
    pub(crate) native: bool,
    /// Aspects that no image may need.
    pub(crate) forbidden: Vec<String>,
    /// Whether executable bundles of the kernel must build, with every native image of it.
    pub(crate) bundles: bool,
}

/// The images of a file, ready to be judged for any number of targets.
pub struct Gate<'g> {
    engine: Engine<'g>,
    /// The kind of each image.
    kinds: Vec<usize>,
    kernels: Arc<Kernels>,
    /// Kernels whose images are of the same kinds.
    grouping: Arc<Grouping>,
    /// For each symbol, the places of the images that list it for others.
    exporters: HashMap<&'g str, Vec<usize>>,
    /// The places of the images that take part in each set of virtual functions.
    sets: Vec<Vec<usize>>,
    /// The numbers of the sets that images take part in.
    sets_of: HashMap<usize, Vec<usize>>,
    /// The symbols of each image's module, once they are asked for.
    symbols: Vec<OnceLock<Symbols<'g>>>,
    /// The places of images with device globals of their own that an image before them has too.
    shadowed: HashSet<usize>,
    /// Image at which the runtime ends when it is registered.
    deadly: Option<usize>,
    /// The functions that several images define.
    twice: Twice<'g>,
}

/// Answers that have been worked out for a target.
#[derive(Default)]
struct Known<'k> {
    /// The fits, by kind.
    fits: HashMap<usize, Arc<Fit>>,
    /// For each symbol that images of a format import, what it is taken from.
    providers: HashMap<(&'k str, Format), Option<Offer>>,
    /// The forbidden aspects of images, by their places.
    forbidden_in: HashMap<usize, Arc<[Finding]>>,
    /// For each symbol that images of a format import, the forbidden aspects of what it may be taken from.
    forbidden: HashMap<(&'k str, Format), Arc<[Finding]>>,
    /// Steps from images to those that they import from, once they are met.
    steps: Vec<Option<Step>>,
    /// The last walk that met each image, and whether the device meets its recorded requirements.
    met: Vec<(usize, Option<bool>)>,
    /// Number of walks.
    walks: usize,
    /// Number of imports that were looked up, each once.
    looked_up: usize,
    /// Chosen images whose imports lead too far to be followed.
    endless: HashSet<usize>,
    /// Number of imports that were followed for all kernels.
    followed: usize,
}

impl Demand {
    /// Whether an image counts.
    fn counts(&self, image: &Examined<'_, '_>) -> bool {
        self.states.is_empty() || self.states.contains(&image.state)
    }
}

impl<'g> Gate<'g> {
    /// Looks at the images of a file; `codes` are what [`codes`] gives of them, or more. `wanted` selects kernels by
    /// their mangled names.
    pub fn new(images: &'g [Examined<'g, 'g>], codes: &'g [Code], wanted: impl Fn(&str) -> bool) -> Gate<'g> {
        let engine = Engine::new(images, codes);
        let kernels = Kernels::select(images, wanted);
        let mut exporters: HashMap<&str, Vec<usize>> = HashMap::new();
        // AdaptiveCpp links its images among themselves.
        for (at, image) in images.iter().enumerate().filter(|(_, one)| !one.image.is_of_adaptivecpp()) {
            for symbol in &image.exports {
                exporters.entry(symbol).or_default().push(at);
            }
        }
        let kinds = judgement::kinds(images.iter().enumerate().map(|(at, image)| Kind::new(at, image, &engine)));
        let (shadowed, twice) = (shadowed(images), Twice::read(images));
        let mut groups = HashMap::new();
        let group = |kernel: usize| {
            let images = kernels.images(kernel);
            let kind = |image: &usize| Some((*kinds.get(*image)?, shadowed.contains(image), twice.kind(*image)));
            let own: Vec<_> = images.iter().filter_map(kind).collect();
            let key = (own, kernels.name(kernel).is_some_and(|name| is_hidden(&exporters, name, images)));
            let next = groups.len();
            *groups.entry(key).or_insert(next)
        };
        let grouping = Arc::new(Grouping::new((0..kernels.len()).map(group).collect()));
        let (mut sets, mut sets_of): (Vec<Vec<usize>>, HashMap<usize, Vec<usize>>) = (Vec::new(), HashMap::new());
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for (at, image) in images.iter().enumerate() {
            let Sets { defined, used } = Sets::read(image.image);
            for set in defined.into_iter().chain(used) {
                let number = *numbers.entry(set).or_insert(sets.len());
                sets.resize_with(numbers.len(), Vec::new);
                sets.get_mut(number).into_iter().for_each(|own| own.push(at));
                sets_of.entry(at).or_default().push(number);
            }
        }
        let symbols = images.iter().map(|_| OnceLock::new()).collect();
        Gate {
            sets,
            sets_of,
            symbols,
            engine,
            kinds,
            kernels: Arc::new(kernels),
            grouping,
            exporters,
            shadowed,
            deadly: deadly(images),
            twice,
        }
    }

    /// Marks the images from a place on as those of other files.
    #[must_use]
    pub(crate) fn with_lent(mut self, first: usize, providers: &[Provider]) -> Gate<'g> {
        if let Some(kernels) = Arc::get_mut(&mut self.kernels) {
            kernels.lend(first, providers);
        }
        self
    }

    fn images(&self) -> &'g [Examined<'g, 'g>] {
        self.engine.images()
    }

    /// The kernels that are judged.
    pub(crate) fn kernels(&self) -> &Arc<Kernels> {
        &self.kernels
    }

    /// Judges the kernels for a target.
    pub fn judge(&self, subject: &Subject<'_>, demand: &Demand) -> Judgement {
        let mut known = Known::default();
        if !self.sets.is_empty() || self.images().iter().any(|image| !image.imports.is_empty()) {
            let choices = (0..self.grouping.len()).filter_map(|group| self.choice(group, subject, demand));
            let chosen: BTreeSet<usize> =
                choices.flat_map(|choice| choice.chosen.into_iter().chain(choice.equal)).collect();
            known.endless = self.endless(chosen, subject, &mut known);
        }
        let groups = (0..self.grouping.len()).map(|group| self.kernel(group, subject, demand, &mut known));
        let (items, code) = groups.unzip();
        let mut judgement = Judgement { kernels: self.kernels.clone(), grouping: self.grouping.clone(), items, code };
        if self.images().iter().any(|image| !image.homes.is_empty()) {
            self.single(&mut judgement, subject, demand);
        }
        judgement
    }

    /// Adds what speaks against single kernels of a group: they are not in the code that the target takes.
    fn single(&self, judgement: &mut Judgement, subject: &Subject<'_>, demand: &Demand) {
        let choices: Vec<_> = (0..self.grouping.len()).map(|group| self.choice(group, subject, demand)).collect();
        let mut taken: HashMap<usize, Option<HashSet<Home>>> = HashMap::new();
        judgement.refine(|kernels, kernel, items| {
            let (name, own) = (kernels.name(kernel)?, kernels.images(kernel));
            let group = self.grouping.group_of(kernel)?;
            let (choice, (_, images)) = (choices.get(group)?.as_ref()?, self.group(group));
            // Images of the kernels of a group are alike by their order.
            let mut has = |chosen: usize| {
                let nth = images.iter().position(|at| *at == chosen)?;
                let at = *own.get(nth)?;
                let image = self.images().get(at).filter(|image| !image.homes.is_empty())?;
                let taken = taken.entry(at).or_insert_with(|| image.homes_for(subject));
                Some((nth, image.has_kernel(name, taken.as_ref()))).filter(|(_, has)| *has != Has::Yes)
            };
            let item = match has(choice.chosen?) {
                Some((nth, has)) => Item::new(lacking(subject, has), Some(Whose::Own(nth))),
                None if !items.is_empty() => return None,
                None => {
                    let (nth, _) = choice.equal.iter().find_map(|other| has(*other))?;
                    unlike(subject, Whose::Own(nth))
                }
            };
            Some(items.iter().cloned().chain([item]).collect())
        });
    }

    /// Judges the kernels for several targets, each with its own demand, by all threads.
    pub(crate) fn judge_each(&self, asked: &[(Subject<'_>, Demand)]) -> Vec<Judgement> {
        asked.par_iter().map(|(subject, demand)| self.judge(subject, demand)).collect()
    }

    /// Finds the uses of the aspects that targets were found to lack.
    pub(crate) fn proofs(&self, judged: &[&Judgement], depth: Depth) -> Proofs {
        Proofs::look(self.engine.images(), self.engine.graph(), judged, depth)
    }

    fn kernel(
        &self,
        group: usize,
        subject: &Subject<'_>,
        demand: &Demand,
        known: &mut Known<'g>,
    ) -> (Vec<Item>, Option<Coverage>) {
        let (name, images) = self.group(group);
        let target = subject.target;
        let own = |rule, certain, message: String| {
            Item::new(Finding::new(rule, certain, message, build_remedy(target)), None)
        };
        if is_hidden(&self.exporters, name, images) {
            let message =
                "An image before the kernel's exports a function of its name: the runtime does not register it.";
            return (vec![own(RuleId::NoImage, true, message.to_owned())], None);
        }
        let Some(choice) = self.choice(group, subject, demand) else {
            let message = format!("Kernel has no image of the demanded state for {}.", target.name);
            return (vec![own(RuleId::State, true, message)], None);
        };
        let Some(chosen) = choice.chosen else {
            return (vec![self.not_chosen(name, &choice, subject)], None);
        };
        let own_place = |at: usize| images.iter().position(|own| *own == at).map(Whose::Own);
        let place = own_place(chosen);
        let others = self.linked(chosen, subject, known);
        let mut judgement = self.against(chosen, place, others.as_deref(), subject, known);
        if let Some(message) = others.as_ref().and_then(|others| self.open_set(chosen, others, subject)) {
            judgement.push(own(RuleId::UnlistedImports, true, message));
        }
        let all = std::iter::once(chosen).chain(others.iter().flatten().copied());
        if let Some(symbol) = self.twice.symbol_of(all) {
            let names = named(&[symbol.to_owned()]).unwrap_or_default();
            let message = format!("Two images that the runtime links to the kernel define {names}.");
            // Nobody here knows which images of a SYCLBIN are loaded together.
            let is_registered = self.images().get(chosen).is_some_and(|image| image.image.origin.is_some());
            judgement.push(own(RuleId::LinkedTwice, is_registered, message));
        }
        if let Some(message) = others.as_ref().and_then(|others| self.packed_set(chosen, others)) {
            judgement.push(own(RuleId::Target, true, message));
        }
        let code = self.images().get(chosen).map(|image| image.coverage_where_taken(subject));
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
            let remedy = format!("compile it ahead of time: -fsycl-targets={}", crate::native::gpu_of(target));
            let aspect = Some("online_compiler".to_owned());
            let finding = Finding { aspect, ..Finding::new(RuleId::Aspect, online == Has::No, message, remedy) };
            judgement.push(Item::new(finding, place));
        }
        if !demand.forbidden.is_empty() {
            // Of equal images any may be taken.
            let mut told = HashSet::new();
            for at in std::iter::once(chosen).chain(self.of_each_kind(&choice.equal)) {
                let other = (at != chosen).then(|| self.linked(at, subject, known)).flatten();
                let linked = if at == chosen { others.as_deref() } else { other.as_deref() };
                let found = self.forbidden(at, linked.unwrap_or_default(), demand, subject, known);
                let found = found.filter(|one| told.insert(one.aspect.clone()));
                judgement.extend(found.map(|one| Item::new(one, own_place(at))));
            }
        }
        if demand.native && !native {
            let message = format!("Kernel has no image compiled for {}.", target.name);
            judgement.push(own(RuleId::NotNative, true, message));
        } else if demand.native
            && choice
                .equal
                .iter()
                .filter_map(|at| self.images().get(*at))
                .any(|one| one.coverage_where_taken(subject) == Coverage::Jit)
        {
            let message = format!("Of several equal images of the kernel one is not compiled for {}.", target.name);
            judgement.push(own(RuleId::NotNative, false, message));
        }
        judgement.extend(demand.bundles.then(|| self.refused_bundle(images, subject)).flatten());
        if let Some(at) =
            std::iter::once(chosen).chain(choice.equal.iter().copied()).find(|at| self.shadowed.contains(at))
        {
            let message = "The host writes to device globals (device_image_scope) of an image before this one, and kernels read its own.";
            let remedy = remedy(RuleId::DeviceGlobals, None, target);
            judgement.push(Item::new(Finding::new(RuleId::DeviceGlobals, false, message, remedy), own_place(at)));
        }
        if let Some(at) = self.deadly {
            let number = self.images().get(at).map_or(at, |image| image.image.index);
            let message =
                format!("Image {number} is stored as the runtime does not survive, whatever kernel is launched.");
            judgement.push(own(RuleId::Unread, false, message));
        }
        if judgement.is_empty() {
            judgement.extend(self.unlike(&choice.equal, subject, known));
        }
        if choice.unsure && judgement.is_empty() {
            let message = format!("Which image the runtime chooses on {} is not known: {}", target.name, why(&choice));
            judgement.push(own(RuleId::NoImage, false, message));
        }
        (judgement, code)
    }

    /// Tells what an image takes from its sets of virtual functions and none of those that it is linked to defines, as where the
    /// device lacks what these require.
    fn open_set(&self, at: usize, others: &[usize], subject: &Subject<'_>) -> Option<String> {
        let image = self.images().get(at).filter(|image| !image.set_imports.is_empty())?;
        let linked = others.iter().filter_map(|other| self.images().get(*other)?.module.as_ref());
        let defined: HashSet<&String> = linked.flat_map(|module| &module.exports).collect();
        let open: Vec<String> = image.set_imports.iter().filter(|symbol| !defined.contains(symbol)).cloned().collect();
        let names = named(&open)?;
        let target = &subject.target.name;
        Some(format!("Virtual functions of the kernel ({names}) are in images that {target} does not meet."))
    }

    /// Tells which image the runtime links to another by a set of virtual functions alone, and is compressed: it hands that to the driver
    /// as it is, which refuses it (seen with libsycl 2026.2; images that define imported symbols are inflated).
    fn packed_set(&self, at: usize, others: &[usize]) -> Option<String> {
        let exports = |image: &Examined<'_, '_>| {
            self.images().get(at).is_some_and(|own| image.exports.iter().any(|symbol| own.imports.contains(symbol)))
        };
        let is_packed = |image: &&Examined<'_, '_>| {
            image.image.is_of_a_set()
                && image.image.origin.is_some()
                && image.image.compression().is_some()
                && !exports(image)
        };
        let image = others.iter().filter_map(|other| self.images().get(*other)).find(is_packed)?;
        let number = image.image.index;
        Some(format!(
            "Image {number}, of a set of virtual functions, is compressed; the runtime links it to the kernel as it is."
        ))
    }

    /// Finds what speaks against an image of a kernel and those that it is linked to; none of these where they are too many.
    fn against(
        &self,
        at: usize,
        place: Option<Whose>,
        others: Option<&[usize]>,
        subject: &Subject<'_>,
        known: &mut Known<'g>,
    ) -> Vec<Item> {
        let mut judgement: Vec<Item> = Vec::new();
        let (others, is_cut) = (others.unwrap_or_default(), others.is_none());
        let linked = others.iter().map(|at| (*at, Some(Whose::Other(*at))));
        let members = std::iter::once((at, place)).chain(linked);
        let (mut seen, mut kinds, mut cut) = (HashSet::new(), HashSet::new(), 0usize);
        for (at, whose) in members {
            let step = known.steps.get(at).and_then(Option::as_ref).filter(|_| !is_cut);
            if step.is_some_and(|step| !step.speaks) {
                continue;
            }
            let is_open = step.is_none_or(|step| step.is_open);
            let Some(fit) = self.fit(at, subject, known) else { continue };
            for finding in fit.reasons.iter().chain(&fit.gaps) {
                if !counts(finding, is_open) {
                    continue;
                }
                // Thousands of images may stand behind each of thousands of kernels. A policy excuses by rule and aspect:
                // one finding of each kind is kept, so that what is excused hides nothing else.
                let is_first = kinds.insert((finding.rule, finding.aspect.clone(), finding.certain));
                let key = (finding.rule, finding.message.clone());
                if !is_first && judgement.len() >= limits::MAX_KERNEL_FINDINGS {
                    cut = cut.saturating_add(usize::from(!seen.contains(&key)));
                } else if seen.insert(key) {
                    judgement.push(Item::new(finding.clone(), whose));
                }
            }
        }
        if let Some(last) = judgement.last_mut().filter(|_| cut > 0) {
            let mut finding = Finding::clone(&last.finding);
            finding.with_more(finding.more.saturating_add(cut));
            last.finding = Arc::new(finding);
        }
        judgement
    }

    /// The finding that an image that may be taken in place of the chosen one is not known to run. Executable bundles have
    /// all of them built.
    fn unlike(&self, equal: &[usize], subject: &Subject<'_>, known: &mut Known<'g>) -> Option<Item> {
        let other = self.of_each_kind(equal).find(|at| {
            let others = self.linked(*at, subject, known);
            !self.against(*at, None, others.as_deref(), subject, known).is_empty()
        })?;
        Some(unlike(subject, Whose::Other(other)))
    }

    /// The first image of each kind.
    fn of_each_kind(&self, images: &[usize]) -> impl Iterator<Item = usize> + use<'_, 'g> {
        let mut seen = HashSet::new();
        let images: Vec<usize> =
            images.iter().copied().filter(|at| seen.insert(self.kinds.get(*at).copied())).collect();
        images.into_iter()
    }

    /// The finding about a kernel for which no image is chosen.
    fn not_chosen(&self, kernel: &str, choice: &Choice, subject: &Subject<'_>) -> Item {
        let failure = choice.failure.as_deref().unwrap_or_default();
        // The sentence names the kernel, and stands here for many.
        let failure = failure.replacen(&format!("Kernel {kernel} has"), "Kernel has", 1);
        let message = if choice.unsure { why(choice) } else { failure };
        let of_kernel = || choice.of_kernel.iter().filter_map(|at| self.images().get(*at));
        let is_foreign = of_kernel().all(|one| one.image.is_of_adaptivecpp());
        let said = of_kernel().filter_map(|image| buildable(image, subject)).max_by_key(|said| said.0);
        let (message, remedy) = match said {
            None if is_foreign => {
                (message, "launch it there with AdaptiveCpp, which compiles it at run time".to_owned())
            }
            None if of_kernel().all(|one| one.module.is_none()) => {
                let name = crate::native::gpu_of(subject.target);
                (message, format!("the file has no SPIR-V of it; at compile time: -fsycl-targets={name}"))
            }
            None => (message, build_remedy(subject.target)),
            Some((true, said)) => (format!("{message} {said}"), build_remedy(subject.target)),
            Some((false, said)) => (format!("{message} {said}"), "launch it on devices that take SPIR-V".to_owned()),
        };
        Item::new(Finding::new(RuleId::NoImage, !choice.unsure, message, remedy), None)
    }

    /// The finding that executable bundles of a kernel hold native code that the target's driver refuses.
    fn refused_bundle(&self, images: &[usize], subject: &Subject<'_>) -> Option<Item> {
        let others = refused_in_bundles(self.images(), images, subject);
        let image = others.first().and_then(|at| self.images().get(*at))?;
        let devices = image.native.as_ref().map(|native| native.devices().join(", ")).unwrap_or_default();
        let message = format!(
            "Executable bundles of the kernel take in native code for {devices}, which the driver refuses on {}.",
            subject.target.name
        );
        let remedy = "put the code for all GPUs into one archive, or leave SPIR-V in the native code (ocloc without \
                      -exclude_ir): such images are taken everywhere";
        Some(Item::new(Finding::new(RuleId::KernelBundle, true, message, remedy), None))
    }

    /// The name of the first kernel of a group, and the images of all its kernels.
    fn group(&self, group: usize) -> (&str, &[usize]) {
        let first = self.grouping.members(group).first().copied().unwrap_or_default();
        (self.kernels.name(first).unwrap_or_default(), self.kernels.images(first))
    }

    /// The image that is chosen for the kernels of a group; none where none of theirs counts.
    fn choice(&self, group: usize, subject: &Subject<'_>, demand: &Demand) -> Option<Choice> {
        let (name, images) = self.group(group);
        let counts = |at: &usize| self.images().get(*at).is_some_and(|one| demand.counts(one));
        let counted: Vec<usize> = images.iter().copied().filter(counts).collect();
        (!counted.is_empty()).then(|| choose_among(self.images(), counted, name, subject))
    }

    /// The fit of an image, worked out once for all of its kind.
    fn fit(&self, at: usize, subject: &Subject<'_>, known: &mut Known<'g>) -> Option<Arc<Fit>> {
        let kind = *self.kinds.get(at)?;
        if let Some(fit) = known.fits.get(&kind) {
            return Some(fit.clone());
        }
        let fit = Arc::new(self.engine.fit(at, subject));
        known.fits.insert(kind, fit.clone());
        Some(fit)
    }
}

/// Finds the images with device globals of their own that an image before them has, too. The runtime copies to those of the first image
/// that is registered, and launches kernels from the one that it chooses (seen with libsycl 2026.2; `DeviceGlobalMapEntry`).
fn shadowed(images: &[Examined<'_, '_>]) -> HashSet<usize> {
    let mut met: HashSet<&str> = HashSet::new();
    let mut shadowed = HashSet::new();
    for (at, image) in images.iter().enumerate() {
        for (name, _) in image.image.device_globals().filter(|(_, of_image)| *of_image) {
            if !met.insert(name) {
                shadowed.insert(at);
            }
        }
    }
    shadowed
}

/// Finds the first image whose properties or compressed code end libsycl 2026.2 when it is registered with the others. What else is
/// wrong with an image that has kernels is told of these.
fn deadly(images: &[Examined<'_, '_>]) -> Option<usize> {
    images.iter().position(|image| {
        // Sets of properties, beside requirements that are not read.
        let is_misstored = || image.requirements.unread.iter().any(|name| name.contains('/'));
        let ends = || is_misstored() || image.image.lacks_its_size() || !image.contradictions.is_empty();
        image.image.origin.is_some() && (cut_mask(image.image).is_some() || image.kernels.is_empty() && ends())
    })
}

/// Whether a finding counts: that something is imported does where that is open.
fn counts(finding: &Finding, is_open: bool) -> bool {
    is_open || finding.certain || finding.rule != RuleId::Imports
}

/// Whether an image before all those of a kernel exports a function of its name. The runtime registers no kernel then (DPC++
/// `ProgramManager::addImage`).
fn is_hidden(exporters: &HashMap<&str, Vec<usize>>, kernel: &str, images: &[usize]) -> bool {
    let first = exporters.get(kernel).and_then(|exporters| exporters.first());
    first.zip(images.first()).is_some_and(|(exporter, own)| exporter < own)
}

/// The finding that of equal images one may be taken that is not known to run.
fn unlike(subject: &Subject<'_>, other: Whose) -> Item {
    let message = format!(
        "Which of several equal images of the kernel is taken on {} is not specified, and not all are known to run.",
        subject.target.name
    );
    let remedy = "keep one image of the kernel for each target".to_owned();
    Item::new(Finding::new(RuleId::NoImage, false, message, remedy), Some(other))
}

/// The finding that a target takes code of an image that does not have the kernel, as other code of the image does.
fn lacking(subject: &Subject<'_>, has: Has) -> Finding {
    let name = &subject.target.name;
    let certain = has == Has::No;
    let message = if certain {
        format!("Of the image's code {name} takes a part that does not have the kernel.")
    } else {
        format!("Not all of the image's code has the kernel; which part {name} takes is not known.")
    };
    Finding::new(RuleId::Target, certain, message, build_remedy(subject.target))
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
pub(crate) fn fingerprint(target: &str, file: &str, found: &Found<'_>) -> String {
    fingerprint_of(target, file, found.finding, found.kernel)
}

/// Identifies a finding of a kernel, given by its mangled name, from one build to the next.
pub(crate) fn fingerprint_of(target: &str, file: &str, finding: &Finding, kernel: &str) -> String {
    let rule = finding.rule.name();
    let about = match finding.rule {
        // Numbers and offsets in these change with every build.
        RuleId::BudgetBytes
        | RuleId::BudgetImages
        | RuleId::BudgetSpill
        | RuleId::BudgetSpilledRegisters
        | RuleId::Damaged => finding.aspect.as_deref().unwrap_or_default(),
        _ => finding.aspect.as_deref().unwrap_or_else(|| finding.without_more()),
    };
    let certain = if finding.certain { "sure" } else { "open" };
    let text = [rule, certain, target, base_name(file), kernel, about].join("\0");
    blake3::hash(text.as_bytes()).to_hex().chars().take(32).collect()
}

/// The name of a file without the folders and packages that it is in: what stays when a tree is built elsewhere.
pub(crate) fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\', '!']).next().unwrap_or(file)
}

/// The first reasons why images were passed over.
fn why(choice: &Choice) -> String {
    choice.passed_over.iter().map(|(_, why)| why.as_str()).take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::aspect::Epoch;
    use crate::bundle::image::Image;
    use crate::bundle::property::{Property, PropertySet, Value};
    use crate::bundle::property_sets::set;
    use crate::compat::examine::examine_image;
    use crate::compat::fit::tests::{array, exporting, image, module, words};
    use crate::device;
    use crate::native::{Native, Part};

    /// Examines an image, whose one module stands for those of any kernels.
    fn examined<'b>(image: &'b Image<'static>) -> Examined<'b, 'static> {
        Examined { contradictions: Vec::new(), ..examine_image(image, Epoch::From2026) }
    }

    fn spirv(required: &[(&'static str, Value<'static>)]) -> Image<'static> {
        image(&module(0x0001_0400, &[]), "spir64", required)
    }

    fn numbered(images: Vec<Image<'static>>) -> Vec<Image<'static>> {
        images.into_iter().enumerate().map(|(index, image)| Image { index, ..image }).collect()
    }

    /// Findings as rule, certainty, kernel, image.
    fn judged(
        images: Vec<Image<'static>>,
        target: &str,
        demand: &Demand,
    ) -> Vec<(&'static str, bool, String, Option<usize>)> {
        let images = numbered(images);
        let examined: Vec<_> = images.iter().map(examined).collect();
        let codes = codes(&examined);
        let gate = Gate::new(&examined, &codes, |_| true);
        let judged = gate.judge(&Subject::new(device::table().target(target).unwrap()), demand);
        judged
            .findings()
            .map(|one| (one.finding.rule.name(), one.finding.certain, one.kernel.to_string(), one.image))
            .collect()
    }

    fn named(mut image: Image<'static>, entries: &[&'static str]) -> Image<'static> {
        image.entries = entries.to_vec();
        image
    }

    #[test]
    fn of_equal_images_all_have_to_run() {
        let wide = || named(spirv(&[("aspects", words(&[6]))]), &["a"]);
        let plain = || named(spirv(&[]), &["a"]);
        let any = Demand::default();
        assert_eq!(judged(vec![plain(), wide()], "intel_gpu_pvc", &any), []);
        let open = [("no-image", false, "a".to_owned(), Some(1))];
        assert_eq!(judged(vec![plain(), wide()], "intel_gpu_acm_g10", &any), open);
        assert!(judged(vec![wide(), plain()], "intel_gpu_acm_g10", &any)[0].1);
    }

    /// An image with a property set of one symbol, of those that it imports or exports.
    fn linked(mut image: Image<'static>, name: &'static str, symbol: &'static str) -> Image<'static> {
        let properties = vec![Property { name: symbol, value: Value::U32(1) }];
        image.properties.sets.push(PropertySet { name, properties });
        image
    }

    /// An image of no kernel that exports `food`.
    fn exporter(required: &[(&'static str, Value<'static>)]) -> Image<'static> {
        named(linked(image(&exporting("food"), "spir64", required), set::EXPORTED, "food"), &["food"])
    }

    #[test]
    fn of_equal_images_all_imports_have_to_be_met() {
        let (plain, importing) = (|| spirv(&[]), || linked(spirv(&[]), set::IMPORTED, "food"));
        let any = Demand::default();
        let open = [("no-image", false, "k".to_owned(), Some(1))];
        assert_eq!(judged(vec![plain(), importing()], "intel_gpu_pvc", &any), open);
        assert_eq!(judged(vec![plain(), importing(), exporter(&[])], "intel_gpu_pvc", &any), []);
        let wide = || exporter(&[("aspects", words(&[6]))]);
        assert_eq!(judged(vec![plain(), importing(), wide()], "intel_gpu_acm_g10", &any), open);
    }

    #[test]
    fn demands_are_made_of_all_equal_images() {
        let wide = || spirv(&[("aspects", words(&[6]))]);
        let forbidden = Demand { forbidden: vec!["fp64".to_owned()], ..Demand::default() };
        let found = |images| judged(images, "intel_gpu_pvc", &forbidden);
        let of = |image| ("forbidden-aspect", true, "k".to_owned(), Some(image));
        assert_eq!(found(vec![spirv(&[]), wide()]), [of(1)]);
        assert_eq!(found(vec![wide(), spirv(&[])]), [of(0)]);
        // Imports of theirs count alike.
        let importing = || linked(spirv(&[]), set::IMPORTED, "food");
        let exporting = || exporter(&[("aspects", words(&[6]))]);
        assert_eq!(found(vec![importing(), exporting()]), [of(0)]);
        assert_eq!(found(vec![importing(), exporter(&[]), exporting()]), [of(0)]);
        assert_eq!(found(vec![importing(), exporter(&[])]), []);
    }

    /// As DPC++'s `collectDeviceImageDepsForImportedSymbols`, which goes by what is recorded.
    #[test]
    fn each_image_that_may_define_an_import_has_to_run() {
        let importing = || linked(spirv(&[]), set::IMPORTED, "food");
        let wide = || exporter(&[("aspects", words(&[6]))]);
        // A capability that nobody knows, of which nothing is recorded.
        let strange = || {
            let mut code = exporting("food");
            code.splice(20..20, [0x0002_0011u32, 9999].map(u32::to_le_bytes).concat());
            named(linked(image(&code, "spir64", &[]), set::EXPORTED, "food"), &["food"])
        };
        let any = Demand::default();
        let found = |images| judged(images, "intel_gpu_acm_g10", &any);
        assert_eq!(found(vec![importing(), wide(), exporter(&[])]), [], "what the device lacks is not taken");
        let open = [("imports", false, "k".to_owned(), Some(0))];
        assert_eq!(found(vec![importing(), strange(), exporter(&[])]), open);
        assert_eq!(found(vec![importing(), exporter(&[]), strange()]), open);
    }

    #[test]
    fn each_kernel_goes_by_its_own_image() {
        let wide = || spirv(&[("aspects", words(&[6]))]);
        let images = || vec![named(spirv(&[]), &["a", "b"]), named(wide(), &["c"]), named(wide(), &["d"])];
        let any = Demand::default();
        assert_eq!(judged(images(), "intel_gpu_pvc", &any), []);
        let of = |kernel: &str, image| ("aspect", true, kernel.to_owned(), Some(image));
        assert_eq!(judged(images(), "intel_gpu_acm_g10", &any), [of("c", 1), of("d", 2)]);
        // The runtime does not fall back: native code that is chosen decides, though SPIR-V would run.
        let strict =
            image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_acm_g10")), ("aspects", words(&[6]))]);
        assert_eq!(judged(vec![spirv(&[]), strict], "intel_gpu_acm_g10", &any), [of("k", 1)]);
    }

    #[test]
    fn what_is_not_known_is_told_as_not_sure() {
        let open = vec![spirv(&[("aspects", words(&[40]))])];
        assert_eq!(judged(open, "intel_gpu_pvc", &Demand::default()), [("aspect", false, "k".to_owned(), Some(0))]);
    }

    #[test]
    fn without_an_image_there_is_nothing_to_run() {
        let pvc = || vec![image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_pvc"))])];
        let any = Demand::default();
        assert_eq!(judged(pvc(), "intel_gpu_acm_g10", &any), [("no-image", true, "k".to_owned(), None)]);
        assert_eq!(judged(vec![spirv(&[])], "nvidia_gpu_sm_90", &any), [("no-image", true, "k".to_owned(), None)]);
    }

    #[test]
    fn demands_beyond_running() {
        let executable = Demand { states: vec![State::Executable], ..Demand::default() };
        let native = Demand { native: true, ..Demand::default() };
        let rule = |images, demand: &Demand| judged(images, "intel_gpu_pvc", demand).first().map(|found| found.0);
        let pvc = || image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_pvc"))]);
        assert_eq!(rule(vec![spirv(&[])], &executable), Some("state"));
        assert_eq!(rule(vec![spirv(&[])], &native), Some("not-native"));
        assert_eq!(rule(vec![spirv(&[]), pvc()], &executable), None);
        assert_eq!(rule(vec![spirv(&[]), pvc()], &native), None);
    }

    /// Native code for GPUs, each a kernel's image; with SPIR-V inside or without.
    fn native(devices: &[&str], spirv: bool) -> Native {
        let part = |device: &&str| Part { devices: vec![(*device).to_owned()], spirv, ..Part::new(Format::Zebin, 0) };
        Native { parts: devices.iter().map(part).collect(), ..Native::default() }
    }

    /// Rules that are broken on a GPU: of SPIR-V and one native image for each of these.
    fn bundled(
        code: Vec<(Option<&'static str>, Native)>,
        target: &str,
        demand: &Demand,
    ) -> Vec<(&'static str, String)> {
        let label = |(label, _): &(Option<&'static str>, Native)| {
            let label = label.map(|label| ("compile_target", array(label.as_bytes())));
            image(b"INTC", "spir64_gen", label.as_slice())
        };
        let images = numbered(std::iter::once(spirv(&[])).chain(code.iter().map(label)).collect());
        let mut examined: Vec<_> = images.iter().map(examined).collect();
        for (image, (_, native)) in examined.iter_mut().skip(1).zip(code) {
            image.native = Some(native);
        }
        let codes = codes(&examined);
        let gate = Gate::new(&examined, &codes, |_| true);
        let judged = gate.judge(&Subject::new(device::table().target(target).unwrap()), demand);
        judged.findings().map(|one| (one.finding.rule.name(), one.finding.message.clone())).collect()
    }

    /// As libsycl 2026.2 and driver 26.27 did: bundles of the kernel throw, launches work.
    #[test]
    fn code_for_another_gpu_breaks_executable_bundles() {
        let demand = Demand { states: vec![State::Executable], bundles: true, ..Demand::default() };
        let (pvc, bmg) = ("intel_gpu_pvc", "intel_gpu_bmg_g21");
        let both = |spirv| vec![(Some(pvc), native(&[pvc], spirv)), (Some(bmg), native(&[bmg], spirv))];
        for target in [pvc, bmg] {
            let found = bundled(both(false), target, &demand);
            assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), ["kernel-bundle"], "{target}");
            assert_eq!(bundled(both(false), target, &Demand::default()), []);
            assert_eq!(bundled(both(true), target, &demand), []);
            assert_eq!(bundled(vec![(None, native(&[pvc, bmg], false))], target, &demand), []);
        }
        let found = bundled(both(false), pvc, &demand);
        assert!(found[0].1.contains(bmg) && !found[0].1.contains("for intel_gpu_pvc"), "{found:?}");
    }

    #[test]
    fn images_of_different_gpus_are_of_different_kinds() {
        let alike = |device| (None, native(&[device], false));
        let found = bundled(vec![alike("intel_gpu_pvc")], "intel_gpu_pvc", &Demand::default());
        assert_eq!(found, []);
        let images = numbered(vec![
            named(image(b"INTC", "spir64_gen", &[]), &["a"]),
            named(image(b"INTC", "spir64_gen", &[]), &["b"]),
        ]);
        let mut examined: Vec<_> = images.iter().map(examined).collect();
        for (image, device) in examined.iter_mut().zip(["intel_gpu_pvc", "intel_gpu_dg1"]) {
            image.native = Some(native(&[device], false));
        }
        let codes = codes(&examined);
        let gate = Gate::new(&examined, &codes, |_| true);
        let pvc = Subject::new(device::table().target("intel_gpu_pvc").unwrap());
        let judged = gate.judge(&pvc, &Demand::default());
        let found: Vec<_> = judged.findings().map(|one| (one.kernel.to_string(), one.image)).collect();
        assert_eq!(found, [("b".to_owned(), Some(1))]);
    }

    #[test]
    fn imports_are_met_by_other_images_which_must_run_too() {
        let with = |mut image: Image<'static>, name: &'static str| {
            let properties = vec![Property { name: "food", value: Value::U32(1) }];
            image.properties.sets.push(PropertySet { name, properties });
            image
        };
        let importing = || with(spirv(&[]), set::IMPORTED);
        let exporting = |required: &[(&'static str, Value<'static>)]| {
            named(with(image(&exporting("food"), "spir64", required), set::EXPORTED), &["food"])
        };
        let any = Demand::default();
        assert_eq!(judged(vec![importing()], "intel_gpu_pvc", &any), [("imports", false, "k".to_owned(), Some(0))]);
        assert_eq!(judged(vec![importing(), exporting(&[])], "intel_gpu_acm_g10", &any), []);
        let wide = exporting(&[("aspects", words(&[6]))]);
        assert_eq!(
            judged(vec![importing(), wide], "intel_gpu_acm_g10", &any),
            [("aspect", true, "k".to_owned(), Some(1))]
        );
        // A symbol that is listed and not defined is no more than a promise, and the runtime may take any.
        let open = [("imports", false, "k".to_owned(), Some(0))];
        let promising = || named(with(spirv(&[]), set::EXPORTED), &["food"]);
        assert_eq!(judged(vec![importing(), promising()], "intel_gpu_acm_g10", &any), open);
        assert_eq!(judged(vec![importing(), exporting(&[]), promising()], "intel_gpu_acm_g10", &any), open);
    }

    /// A long way of imports is given up for the images that it begins at, and not for those near its end.
    #[test]
    fn long_ways_leave_nothing_unknown_but_themselves() {
        const IMAGES: usize = 7_000;
        let name = |nth: usize| -> &'static str { Box::leak(format!("f{nth}").into_boxed_str()) };
        let with = |nth: usize| {
            let code = exporting(name(nth + IMAGES));
            let mut image = named(image(&code, "spir64", &[]), &[name(nth)]);
            let mut set = |name, symbol| {
                let properties = vec![Property { name: symbol, value: Value::U32(1) }];
                image.properties.sets.push(PropertySet { name, properties });
            };
            set(set::EXPORTED, name(nth + IMAGES));
            if nth + 1 < IMAGES {
                set(set::IMPORTED, name(nth + 1 + IMAGES));
            }
            image
        };
        // Each is looked up once, however many ways lead there.
        let images = numbered((0..IMAGES).map(with).collect());
        let examined: Vec<_> = images.iter().map(examined).collect();
        let codes = codes(&examined);
        let (gate, mut known) = (Gate::new(&examined, &codes, |_| true), Known::default());
        let subject = Subject::new(device::table().target("intel_gpu_pvc").unwrap());
        let chosen = || (0..IMAGES).collect();
        assert!(!gate.endless(chosen(), &subject, &mut known).is_empty());
        gate.endless(chosen(), &subject, &mut known);
        assert_eq!(known.looked_up, IMAGES - 1);
        let found = judged(images, "intel_gpu_pvc", &Demand::default());
        let unknown: HashSet<&str> = found.iter().map(|found| found.2.as_str()).collect();
        assert!(unknown.contains(name(0)), "the test means ways that are too long");
        assert!((IMAGES - 1_000..IMAGES).all(|nth| !unknown.contains(name(nth))));
    }

    #[test]
    fn fingerprints_outlive_a_rebuild_and_tell_findings_apart() {
        let finding = Arc::new(Finding {
            rule: RuleId::Aspect,
            certain: true,
            message: "words".to_owned(),
            aspect: Some("fp64".to_owned()),
            remedy: String::new(),
            more: 0,
        });
        let of = |target, file, kernel: &str, image| {
            let (finding, image) = (&finding, Some(image));
            fingerprint(
                target,
                file,
                &Found { finding, kernel, place: 0, image, elsewhere: None, at: image, excused: None },
            )
        };
        assert_eq!(of("t", "build/a.so", "k", 3), of("t", "/tmp/a.so", "k", 7));
        assert_ne!(of("t", "a.so", "k", 3), of("u", "a.so", "k", 3));
        assert_ne!(of("t", "a.so", "k", 3), of("t", "b.so", "k", 3));
        assert_ne!(of("t", "a.so", "k", 3), of("t", "a.so", "l", 3));
        assert_eq!(of("t", "a.so", "k", 3).len(), 32);
    }

    /// Kernels of a group are told apart where something else is said of one of them, and stay together where it is equal.
    #[test]
    fn what_is_said_of_single_kernels_changes_only_theirs() {
        let wide = || spirv(&[("aspects", words(&[6]))]);
        let images = numbered(vec![named(wide(), &["a", "b", "c"]), named(wide(), &["d"])]);
        let examined: Vec<_> = images.iter().map(examined).collect();
        let codes = codes(&examined);
        let gate = Gate::new(&examined, &codes, |_| true);
        let target = device::table().target("intel_gpu_acm_g10").unwrap();
        let mut judged = gate.judge(&Subject::new(target), &Demand::default());
        assert_eq!(
            judged.groups().map(|(kernels, items)| (kernels.to_vec(), items.len())).collect::<Vec<_>>(),
            [(vec![0, 1, 2, 3], 1)]
        );
        judged.refine(|kernels, place, items| {
            let name = kernels.name(place)?;
            let excuse = |item: &Item| Item { excused: Some("known".into()), ..item.clone() };
            ["b", "d"].contains(&name).then(|| items.iter().map(excuse).collect())
        });
        let excused = |one: &Found<'_>| (one.kernel.to_string(), one.image, one.excused.is_some());
        let of = |name: &str, image, excused| (name.to_owned(), Some(image), excused);
        assert_eq!(
            judged.findings().map(|one| excused(&one)).collect::<Vec<_>>(),
            [of("a", 0, false), of("b", 0, true), of("c", 0, false), of("d", 1, true)]
        );
        assert_eq!(judged.groups().map(|(kernels, _)| kernels.to_vec()).collect::<Vec<_>>(), [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn forbidden_aspects_count_whatever_the_target_has() {
        let wide = named(spirv(&[("aspects", words(&[6]))]), &["a"]);
        let demand = Demand { forbidden: vec!["fp64".to_owned(), "fp16".to_owned()], ..Demand::default() };
        let found = judged(vec![wide, named(spirv(&[]), &["b"])], "intel_gpu_pvc", &demand);
        assert_eq!(found, [("forbidden-aspect", true, "a".to_owned(), Some(0))]);
    }
}
