//! What speaks against the kernels of a file, on one target?
//!
//! Thousands of kernels are judged alike, for a hundred targets: what is found is kept once for all kernels of a group,
//! and becomes a finding of one kernel only where that is asked for.
//!
//! What a kernel does is the same for every target: it is looked for once, by all threads, in the code of its image alone
//! where nothing is linked.

use crate::bundle::format::{Declared, Format};
use crate::bundle::property_sets::{key, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::{Aspect, Code, Evidence, Graph, code};
use crate::compat::built_in::{is_known, of_intel_gpus, of_vectors};
use crate::compat::engine::Engine;
use crate::compat::examine::Examined;
use crate::compat::finding::{Finding, Judge, RuleId};
use crate::compat::fit::{large_sizes, options_of, shares_globals_in_syclbin};
use crate::compat::offers::Provider;
use crate::device::cpu::CpuArch;
use crate::names::Names;
use crate::native::driver::OldForm;
use crate::native::{Coverage, Demands, Part};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The kernels of a file that are judged, in the order of images; they outlive the file.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    /// Mangled names.
    names: Names,
    /// The places of the images of each kernel, one kernel's after the other's.
    images: Vec<usize>,
    /// The end of each kernel's images among these.
    ends: Vec<usize>,
    /// The number of each image in its file.
    numbers: Vec<usize>,
    /// The files of images that are lent by others, with their numbers there, by place.
    lent: HashMap<usize, (Arc<str>, usize)>,
}

impl Kernels {
    /// Lists the kernels of some images whose mangled names are `wanted`.
    pub(crate) fn select(images: &[Examined<'_, '_>], wanted: impl Fn(&str) -> bool) -> Kernels {
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(images.len());
        let mut names = Names::default();
        // Each kernel with the place of an image.
        let mut held: Vec<(usize, usize)> = Vec::with_capacity(images.len());
        for (at, image) in images.iter().enumerate() {
            for name in &image.kernels {
                let place = match places.get(name.as_str()) {
                    Some(place) => *place,
                    None if wanted(name) => {
                        places.insert(name, names.len());
                        names.push(name);
                        names.len().saturating_sub(1)
                    }
                    None => continue,
                };
                held.push((place, at));
            }
        }
        drop(places);
        held.sort_unstable();
        held.dedup();
        let numbers = images.iter().map(|image| image.image.index).collect();
        let ends = (0..names.len()).map(|kernel| held.partition_point(|(own, _)| *own <= kernel)).collect();
        let images = held.into_iter().map(|(_, at)| at).collect();
        Kernels { names, images, ends, numbers, lent: HashMap::new() }
    }

    /// Kernels by their mangled names, each with the places of its images; and the number of each image in its file.
    pub(crate) fn new(kernels: Vec<(String, Vec<usize>)>, numbers: Vec<usize>) -> Kernels {
        let mut all = Kernels { numbers, ..Kernels::default() };
        for (name, images) in kernels {
            all.names.push(&name);
            all.images.extend(images);
            all.ends.push(all.images.len());
        }
        all
    }

    /// Number of kernels.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// A kernel's mangled name.
    pub(crate) fn name(&self, kernel: usize) -> Option<&str> {
        self.names.get(kernel)
    }

    /// The mangled names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter()
    }

    /// The places of a kernel's images among those that were given.
    pub(crate) fn images(&self, kernel: usize) -> &[usize] {
        let begin = kernel.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(kernel).and_then(|end| self.images.get(begin..*end)).unwrap_or_default()
    }

    /// The number that an image has in its file, by its place.
    pub(crate) fn number(&self, image: usize) -> Option<usize> {
        self.numbers.get(image).copied()
    }

    /// Notes that the images from a place on are those of other files.
    pub(crate) fn lend(&mut self, first: usize, providers: &[Provider]) {
        let homes = providers.iter().map(|one| (one.provided_by.clone(), one.its_image));
        self.lent = (first..).zip(homes).collect();
    }

    /// The file that an image is of and its number there, where it is lent.
    pub(crate) fn home(&self, image: usize) -> Option<(&Arc<str>, usize)> {
        self.lent.get(&image).map(|(file, number)| (file, *number))
    }
}

/// The image of a file that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    /// One of the kernel's images, by its place among them.
    Own(usize),
    /// Another image, by its place in the file.
    Other(usize),
}

/// Something that speaks against every kernel of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    /// The finding.
    pub(crate) finding: Arc<Finding>,
    /// The image, where it is about one.
    pub(crate) whose: Option<Whose>,
    /// Reason why it does not count, where it does not.
    pub(crate) excused: Option<Arc<str>>,
}

impl Item {
    /// Makes an item that counts.
    pub(crate) fn new(finding: Finding, whose: Option<Whose>) -> Item {
        Item { finding: Arc::new(finding), whose, excused: None }
    }
}

/// Kernels by what is found of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grouping {
    /// The group of each kernel.
    of: Vec<usize>,
    /// The kernels of each group, in order.
    members: Vec<Vec<usize>>,
}

impl Grouping {
    /// From the group of each kernel, in order.
    pub(crate) fn new(of: Vec<usize>) -> Grouping {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); of.iter().max().map_or(0, |last| last.saturating_add(1))];
        for (kernel, group) in of.iter().enumerate() {
            if let Some(own) = members.get_mut(*group) {
                own.push(kernel);
            }
        }
        Grouping { of, members }
    }

    /// The group of a kernel, by its place.
    pub(crate) fn group_of(&self, kernel: usize) -> Option<usize> {
        self.of.get(kernel).copied()
    }

    /// The places of the kernels of a group, in order.
    pub(crate) fn members(&self, group: usize) -> &[usize] {
        self.members.get(group).map(Vec::as_slice).unwrap_or_default()
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }
}

/// Findings against the kernels of a file.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The kernels.
    pub(crate) kernels: Arc<Kernels>,
    /// Groups of kernels that are judged alike.
    pub(crate) grouping: Arc<Grouping>,
    /// Findings against each group.
    pub(crate) items: Vec<Vec<Item>>,
    /// Code that each group has for the target; none of a group that is not listed.
    pub(crate) code: Vec<Option<Coverage>>,
}

/// Something that speaks against one kernel.
#[derive(Debug, Clone, Copy)]
pub struct Found<'j> {
    /// The finding.
    pub finding: &'j Arc<Finding>,
    /// The kernel's mangled name.
    pub(crate) kernel: &'j str,
    /// The kernel's place among those of its file.
    pub(crate) place: usize,
    /// The number of the image in the kernel's file, where the finding is about one. A finding about another file's image
    /// counts for the kernel's own.
    pub(crate) image: Option<usize>,
    /// The other file and the number of the image in it, where the finding is about an image there.
    pub(crate) elsewhere: Option<(&'j Arc<str>, usize)>,
    /// The place of the image among those that were judged.
    pub(crate) at: Option<usize>,
    /// Reason why it does not count, where it does not.
    pub(crate) excused: Option<&'j Arc<str>>,
}

impl<'j> Found<'j> {
    /// The use of the aspect and the calls that lead to it, where it is about an aspect and that was looked for.
    pub(crate) fn evidence<'p>(&self, proofs: &'p Proofs) -> Option<&'p Evidence> {
        proofs.find(self.at?, self.place, self.finding.aspect.as_deref()?)
    }
}

impl Judgement {
    /// Findings against a kernel, by its place.
    pub(crate) fn findings_of(&self, kernel: usize) -> impl Iterator<Item = Found<'_>> {
        let items = self.grouping.group_of(kernel).and_then(|group| self.items.get(group));
        items.into_iter().flatten().filter_map(move |item| self.found(kernel, item))
    }

    /// Findings against all kernels, in the order of images and kernels.
    pub fn findings(&self) -> impl Iterator<Item = Found<'_>> {
        (0..self.kernels.len()).flat_map(|kernel| self.findings_of(kernel))
    }

    /// An item as it is of one kernel of its group.
    pub(crate) fn found<'j>(&'j self, kernel: usize, item: &'j Item) -> Option<Found<'j>> {
        let at = match item.whose {
            Some(Whose::Own(nth)) => self.kernels.images(kernel).get(nth).copied(),
            Some(Whose::Other(at)) => Some(at),
            None => None,
        };
        let elsewhere = at.and_then(|at| self.kernels.home(at));
        let own = if elsewhere.is_some() { self.kernels.images(kernel).first().copied() } else { at };
        Some(Found {
            finding: &item.finding,
            kernel: self.kernels.name(kernel)?,
            place: kernel,
            image: own.and_then(|at| self.kernels.number(at)),
            elsewhere,
            at,
            excused: item.excused.as_ref(),
        })
    }

    /// Returns the way a group's kernels run on the target: as they are, compiled just in time, or not at all. Findings
    /// of a policy change nothing about that, and neither do excuses.
    pub(crate) fn coverage(&self, group: usize) -> Coverage {
        let stops = |item: &Item| {
            let rule = item.finding.rule;
            item.finding.certain && (rule.judge() == Judge::Image || rule == RuleId::NoImage)
        };
        let stopped = self.items.get(group).is_some_and(|items| items.iter().any(stops));
        let code = self.code.get(group).copied().flatten();
        code.filter(|_| !stopped).unwrap_or(Coverage::None)
    }

    /// The groups that something speaks against, each with its kernels.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&[usize], &[Item])> {
        let all = self.items.iter().enumerate().map(|(group, items)| (self.grouping.members(group), items.as_slice()));
        all.filter(|(members, items)| !members.is_empty() && !items.is_empty())
    }

    /// Changes what speaks against single kernels: `change` is given each kernel's place and its group's items, and gives
    /// other items where that kernel's are others. Kernels that are given equal items stay together.
    pub(crate) fn refine(&mut self, mut change: impl FnMut(&Kernels, usize, &[Item]) -> Option<Vec<Item>>) {
        let mut of = self.grouping.of.clone();
        // Items compare by what they say; of each old group there are few new ones.
        let mut split: HashMap<(usize, Vec<Item>), usize> = HashMap::new();
        let mut changed = false;
        for (kernel, group) in of.iter_mut().enumerate() {
            let own = self.items.get(*group).map(Vec::as_slice).unwrap_or_default();
            let Some(items) = change(&self.kernels, kernel, own) else { continue };
            changed = true;
            let old = *group;
            *group = *split.entry((old, items)).or_insert_with_key(|(_, items)| {
                self.code.resize(self.items.len(), None);
                self.code.push(self.code.get(old).copied().flatten());
                self.items.push(items.clone());
                self.items.len().saturating_sub(1)
            });
        }
        if changed {
            self.grouping = Arc::new(Grouping::new(of));
        }
    }
}

/// The number of kernels, for each finding, in which the use of an aspect is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All kernels.
    All,
    /// The first ones that count, which are shown.
    First(usize),
}

/// Uses of aspects, with the calls that lead there. They outlive the file.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    /// By the image's place, the kernel's and the aspect.
    found: HashMap<(usize, usize, Aspect), Evidence>,
}

/// The kernel's place, the number of its item, the image's place and the aspect.
type Use = (usize, usize, usize, Aspect);

/// By the image's place: the kernels' places and the aspects.
type Asked = BTreeMap<usize, BTreeSet<(usize, Aspect)>>;

impl Proofs {
    /// The use of an aspect in an image by a kernel, by their places.
    pub(crate) fn find(&self, image: usize, kernel: usize, aspect: &str) -> Option<&Evidence> {
        self.found.get(&(image, kernel, Aspect::of_name(aspect)?))
    }

    /// Looks for what is found on any of the targets. `graph` is that of the images whose code was read already.
    pub(super) fn look(images: &[Examined<'_, '_>], graph: &Graph<'_>, judged: &[&Judgement], depth: Depth) -> Proofs {
        let asked: Vec<_> = asked(judged, depth).into_iter().collect();
        let found = asked.par_iter().flat_map_iter(|(place, asked)| {
            // Kernels that share an image are judged by one reading of it.
            let all = judged.first().map(|one| one.kernels.as_ref());
            let name = |kernel: usize| all.and_then(|all| all.name(kernel)).unwrap_or_default();
            let shared = graph.codes().get(*place).is_some_and(|code| !code.nodes.is_empty());
            let own = if shared { None } else { images.get(*place).and_then(code) };
            let alone = own.as_ref().map(|own| Graph::link(std::slice::from_ref(own)));
            let (graph, module) = alone.as_ref().map_or((graph, *place), |alone| (alone, 0));
            let nodes = nodes_of(graph, module);
            // Of kernels whose own code does not need it another function of the module tells.
            let mut others: HashMap<Aspect, Option<Evidence>> = HashMap::new();
            let of_image = asked.iter().filter_map(|&(kernel, aspect)| {
                let own = nodes.get(name(kernel)).and_then(|node| graph.evidence(module, *node, aspect));
                let mut other = || others.entry(aspect).or_insert_with(|| evidence(graph, module, aspect)).clone();
                let mut found = own.or_else(&mut other)?;
                if module != *place {
                    found.chain.iter_mut().for_each(|step| step.module = *place);
                }
                Some(((*place, kernel, aspect), found))
            });
            of_image.collect::<Vec<_>>()
        });
        Proofs { found: found.collect() }
    }
}

/// By the image's place, the kernel's and the aspect.
impl FromIterator<((usize, usize, Aspect), Evidence)> for Proofs {
    fn from_iter<I: IntoIterator<Item = ((usize, usize, Aspect), Evidence)>>(found: I) -> Proofs {
        Proofs { found: found.into_iter().collect() }
    }
}

/// Collects the aspects to look for.
fn asked(judged: &[&Judgement], depth: Depth) -> Asked {
    let mut asked = Asked::new();
    // Most targets differ in what they lack, but not in whom it is found of.
    let mut known: HashSet<(*const Grouping, usize, Option<Whose>, Aspect)> = HashSet::new();
    for one in judged {
        // By what is said: the kernel's place, the number of its item and what is asked of it.
        let mut shown: HashMap<(&str, bool), Vec<Use>> = HashMap::new();
        for (group, items) in one.items.iter().enumerate() {
            for (nth, item) in items.iter().enumerate() {
                let Some(aspect) = item.finding.aspect.as_deref().and_then(Aspect::of_name) else { continue };
                let of_all = one.grouping.members(group).iter().filter_map(|kernel| {
                    let at = one.found(*kernel, item)?.at?;
                    Some((*kernel, nth, at, aspect))
                });
                match depth {
                    Depth::All => {
                        if known.insert((std::sync::Arc::as_ptr(&one.grouping), group, item.whose, aspect)) {
                            of_all.for_each(|(kernel, _, at, _)| {
                                asked.entry(at).or_default().insert((kernel, aspect));
                            });
                        }
                    }
                    Depth::First(most) if item.excused.is_none() => {
                        let key = (item.finding.message.as_str(), item.finding.certain);
                        shown.entry(key).or_default().extend(of_all.take(most));
                    }
                    Depth::First(_) => {}
                }
            }
        }
        for mut of_one in shown.into_values() {
            let Depth::First(most) = depth else { continue };
            of_one.sort_unstable();
            for (kernel, _, at, aspect) in of_one.into_iter().take(most) {
                asked.entry(at).or_default().insert((kernel, aspect));
            }
        }
    }
    asked
}

/// The nodes that the kernels of a module begin with, by name; of one name the first counts.
fn nodes_of<'g>(graph: &Graph<'g>, module: usize) -> HashMap<&'g str, usize> {
    let kernels = graph.codes().get(module).map(|code| code.kernels.as_slice()).unwrap_or_default();
    kernels.iter().rev().filter_map(|kernel| Some((&*kernel.name, kernel.node?))).collect()
}

/// Finds why a module needs an aspect: by its first function that does.
fn evidence(graph: &Graph<'_>, module: usize, aspect: Aspect) -> Option<Evidence> {
    (0..graph.codes().get(module)?.nodes.len()).find_map(|node| graph.evidence(module, node, aspect))
}

/// Version, generator, capabilities and extensions of a module.
type Spirv<'i> = ((u8, u8), u32, &'i [u32], &'i [String]);

/// A part of native code as the rules look at it.
#[derive(PartialEq, Eq, Hash)]
struct CodeFor<'i> {
    name: &'i str,
    member: usize,
    format: &'static str,
    stated: &'i str,
    devices: &'i [String],
    spirv: bool,
    old_form: Option<OldForm>,
    gmdid: Option<u32>,
    is_bare: bool,
    refused: Option<&'i str>,
    demands: &'i Demands,
}

/// All that the rules look at.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Kind<'i> {
    target: (&'i str, Option<&'i str>, Option<bool>),
    format: (&'static str, u8, Declared),
    requirements: &'i Requirements,
    properties: [Option<String>; 3],
    /// Whether all kernels are explicit SIMD.
    esimd: Option<bool>,
    march: Option<CpuArch>,
    module: Option<Spirv<'i>>,
    used: Vec<(&'static str, bool)>,
    /// The sizes that the module's kernels require.
    sizes: (&'i [[u32; 3]], &'i [u32]),
    /// Local memory and bytes of arguments, where these are large.
    large_sizes: Option<[u64; 2]>,
    /// Instructions of the module's assembly.
    assembly: Option<&'i BTreeSet<String>>,
    /// Aspects that the SPIR-V inside compiled code uses.
    inside: Option<&'i BTreeSet<&'static str>>,
    /// Options for compiling and for linking, which the runtime hands to the driver.
    options: Option<[&'i str; 2]>,
    /// Property of which it makes options.
    registers: Option<u32>,
    /// Whether the runtime ends at its device globals.
    shares_globals: bool,
    /// The container and the parts of native code.
    code: (Option<&'static str>, Vec<CodeFor<'i>>),
    /// The place of an image that is of no kind but its own: what it imports, what is wrong with it and, for HIP, its
    /// bytes count.
    own: Option<usize>,
}

impl<'i> Kind<'i> {
    /// The kind of an image, by its place.
    pub(super) fn new(at: usize, image: &'i Examined<'_, '_>, engine: &Engine<'_>) -> Kind<'i> {
        let property = |set, name| image.image.properties.get(set, name);
        let text = |name| property(set::REQUIREMENTS, name).and_then(|value| value.text().map(str::to_owned));
        let esimd = property(set::MISC, key::ESIMD).and_then(|value| value.number());
        let module = image.module.as_ref().or(image.sources.first());
        let alone = !image.imports.is_empty()
            || !image.unlisted_imports.is_empty()
            || module.is_some_and(|module| module.imports.iter().any(|symbol| of_intel_gpus(symbol) || of_vectors(symbol) || !is_known(symbol)))
            || image.problem.is_some()
            || image.needs_too_many
            || !image.contradictions.is_empty()
            || module.is_some_and(|module| module.unknown > 0 || module.open_sizes > 0 || !module.unusual.is_empty() || !module.lacking_on_cpus.is_empty() || !module.lacking_on_gpus.is_empty() || !module.faults.is_empty() || !module.theirs.is_empty())
            || engine.graph().codes().get(at).is_some_and(|code| code.unknown > 0)
            || image.sources.len() > 1
            || image.native.as_ref().is_some_and(|native| !native.problems.is_empty())
            // Whether anything is recorded counts of code that is not read.
            || image.format == Format::LlvmBitcode
            || crate::compat::fit::spec(image.image) == "amdgcn";
        Kind {
            target: (image.image.target, image.image.compile_target(), image.image.origin.map(|origin| origin.varies)),
            format: (image.format.name(), image.state as u8, image.image.declared),
            requirements: &image.requirements,
            properties: [text("joint_matrix"), text("joint_matrix_mad"), esimd.map(|number| number.to_string())],
            esimd: image.module.as_ref().map(|module| module.esimd),
            march: image.march,
            module: module.map(|module| {
                (module.version, module.generator, module.capabilities.as_slice(), module.extensions.as_slice())
            }),
            sizes: module
                .map_or((&[], &[]), |module| (module.work_group_sizes.as_slice(), module.sub_group_sizes.as_slice())),
            large_sizes: module.and_then(large_sizes),
            used: engine.used(at),
            assembly: module.map(|module| &module.assembly),
            inside: image.sources.first().map(|source| &source.used_aspects),
            options: options_of(image.image),
            registers: image.image.properties.number(set::MISC, key::REGISTERS),
            shares_globals: shares_globals_in_syclbin(image.image),
            code: (
                image.native.as_ref().and_then(|native| native.container),
                image.native.iter().flat_map(|native| &native.parts).map(CodeFor::new).collect(),
            ),
            own: alone.then_some(at),
        }
    }
}

impl<'i> CodeFor<'i> {
    fn new(part: &'i Part) -> CodeFor<'i> {
        CodeFor {
            name: &part.name,
            member: part.member,
            format: part.format.name(),
            stated: &part.stated,
            devices: &part.devices,
            spirv: part.spirv || part.format == Format::SpirV,
            old_form: part.old_form,
            gmdid: part.gmdid,
            is_bare: part.is_bare,
            refused: part.refused.as_deref(),
            demands: &part.demands,
        }
    }
}

/// Numbers kinds by their first occurrence.
pub(super) fn kinds<'i>(all: impl Iterator<Item = Kind<'i>>) -> Vec<usize> {
    let mut known: HashMap<Kind<'i>, usize> = HashMap::new();
    all.map(|kind| {
        let next = known.len();
        *known.entry(kind).or_insert(next)
    })
    .collect()
}

/// Reads the code of those images whose use of aspects is not known without it, by the images' places; that of others is
/// empty. An image whose types and instructions show no aspect beyond the recorded ones is known without its code; of
/// thousands that is nearly every one. Images that import from each other are all read.
pub fn codes(images: &[Examined<'_, '_>]) -> Vec<Code> {
    let linked = linked(images);
    let read = |(image, linked): (&Examined<'_, '_>, bool)| {
        let wanted = linked || image.problem.is_some() || !settled(image);
        if wanted { code(image).unwrap_or_default() } else { Code::default() }
    };
    images.par_iter().enumerate().map(|(at, image)| read((image, linked.contains(&at)))).collect()
}

/// Whether nothing that the image's code can do needs an aspect that is not recorded.
fn settled(image: &Examined<'_, '_>) -> bool {
    image.bitcode.is_none()
        && image.module.as_ref().is_none_or(|module| {
            let recorded = |used: &&str| image.requirements.aspects.iter().any(|own| own == used);
            !module.may_use_others && module.used_aspects.iter().all(recorded)
        })
}

/// The places of images that import what another one defines, and of those that define it; and of those that define or
/// use sets of virtual functions, where any does.
fn linked(images: &[Examined<'_, '_>]) -> HashSet<usize> {
    let mut places = by_symbol(images);
    places.extend(images.iter().enumerate().filter(|(_, image)| image.image.is_of_a_set()).map(|(at, _)| at));
    places
}

fn by_symbol(images: &[Examined<'_, '_>]) -> HashSet<usize> {
    let modules = || images.iter().enumerate().filter_map(|(at, image)| Some((at, image.module.as_ref()?)));
    let imported: HashSet<&str> = modules().flat_map(|(_, module)| module.imports.iter().map(String::as_str)).collect();
    if imported.is_empty() {
        return HashSet::new();
    }
    let defines = |(_, module): &(usize, &crate::spirv::Module)| {
        module.exports.iter().any(|symbol| imported.contains(symbol.as_str()))
    };
    let mut places: HashSet<usize> = modules().filter(defines).map(|(at, _)| at).collect();
    if !places.is_empty() {
        places.extend(modules().filter(|(_, module)| !module.imports.is_empty()).map(|(at, _)| at));
    }
    places
}
