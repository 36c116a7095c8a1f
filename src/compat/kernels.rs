//! What is known of each kernel of a file, without any device?
//!
//! The module's own declarations ([`crate::spirv::kernel`]), what native code says of its resources, and what the
//! compiler recorded beside the image, joined by kernel: which arguments the source had, what specialization constants
//! are called, which aspects are declared, where else the kernel is, and which others are the same code.

use super::aspects::{Aspect, Code, Comparison, Evidence, Graph, Sets, code, compare_kernel};
use super::bitcode;
use super::examine::Examined;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property::Property;
use crate::bundle::property_sets::{Decoded, arguments_of_source, decode, key, set};
use crate::bundle::{Bundle, spec_constants};
use crate::error::Result;
use crate::limits;
use crate::native::Kernel as NativeKernel;
use crate::native::bitcode::Module;
use crate::spirv::calls::{Reach, Walks};
use crate::spirv::index::{Index, is_helper};
use crate::spirv::kernel::argument::Argument;
use crate::spirv::kernel::body::{self, Numbers};
use crate::spirv::kernel::{self, Kernel, SpecConstant};
use crate::spirv::kernel::{Attributes, SubGroup};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Facts about a kernel in one image.
#[derive(Debug, Clone, Default)]
pub struct KernelFacts {
    /// Mangled name.
    pub name: String,
    /// The image, by its number in the file.
    pub(crate) image: usize,
    /// The arguments, those that the compiler removed among them, in the order of the source.
    pub(crate) arguments: Vec<SourceArgument>,
    /// Whether the compiler recorded which arguments of the source it removed.
    pub(crate) from_source: bool,
    /// The module's own declarations, without arguments and lists of what the kernel reaches; none for native code.
    pub module: Option<Kernel>,
    /// The required work-group size in the order of the source, the slowest dimension of a SYCL range first.
    pub reqd_work_group_size: Option<Vec<u64>>,
    /// The hinted work-group size, likewise.
    pub(crate) work_group_size_hint: Option<Vec<u64>>,
    /// The required sub-group size.
    pub reqd_sub_group_size: Option<SubGroup>,
    /// Specialization constants that the kernel depends on.
    pub(crate) spec_constants: Vec<NamedConstant>,
    /// Aspects that its code uses, and that of all it calls.
    pub used: Vec<String>,
    /// Aspects that its code may use: several leave the same instructions.
    pub(crate) possible: Vec<String>,
    /// Aspects that the compiler recorded for the image.
    pub declared: Arc<[String]>,
    /// Aspects as stored for its image, declared by its module and found in its code, and the reasons for differences;
    /// none for native code.
    pub(crate) comparison: Option<Comparison>,
    /// Reasons why it uses, or may use, each aspect; looked for on request.
    pub evidence: Vec<Evidence>,
    /// Whether it is explicit SIMD.
    pub(crate) esimd: bool,
    /// Whether it can fail an assertion.
    pub(crate) asserts: bool,
    /// Resources in compiled code, by device; several where the image has several.
    pub(crate) native: Vec<(String, Arc<NativeKernel>)>,
    /// The images of the file that hold a kernel of this name, by number; shared by these kernels.
    images: Arc<[usize]>,
    /// The names of all kernels of the file that are the same code, this one's among them, where any others are. Shared by
    /// these kernels: each listing all others would cost the square of their number.
    same: Option<Arc<[String]>>,
    /// Number of them that are listed.
    told: usize,
    body: Option<[u8; 32]>,
    /// Whether the compiler recorded properties of its image at all.
    recorded: bool,
}

impl KernelFacts {
    /// The mangled names of other kernels of the file that are the same code, in order, within
    /// [`limits::MAX_CLONES_TOLD`] and, all kernels together, [`limits::MAX_CLONE_BYTES`]; none where kernels were not
    /// compared.
    pub(crate) fn clones(&self) -> impl Iterator<Item = &String> {
        let others = self.same.iter().flat_map(|names| names.iter()).filter(|name| **name != self.name);
        others.take(self.told)
    }

    /// The images of the file that hold a kernel of this name, by number, within the limits on clones.
    pub(crate) fn holders(&self) -> &[usize] {
        self.images.get(..self.told).unwrap_or(&self.images)
    }

    /// The first name of all kernels of the file that are the same code, which may be its own.
    pub(crate) fn first_alike(&self) -> &str {
        self.same.as_ref().and_then(|names| names.first()).unwrap_or(&self.name)
    }
}

/// An argument of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceArgument {
    /// Position in the source, or among the module's arguments where the source's is not known.
    pub(crate) index: usize,
    /// The module's declaration; none for an argument that the compiler removed.
    pub(crate) argument: Option<Argument>,
}

/// A specialization constant with the name that the image's properties give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedConstant {
    /// The module's declaration.
    pub(crate) constant: SpecConstant,
    /// The symbolic name, where the properties know the id.
    pub(crate) name: Option<String>,
    /// The byte of the named value at which this part of it stands.
    pub(crate) offset: Option<u32>,
}

impl KernelFacts {
    /// Bytes of local memory that the code itself declares.
    pub fn local_memory(&self) -> Option<u64> {
        let native = || self.native.iter().filter_map(|(_, kernel)| kernel.local).max();
        self.module.as_ref().map(|module| module.local_memory).or_else(native)
    }

    /// The arguments that are still there.
    pub fn passed(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.arguments.iter().filter_map(|argument| Some((argument.index, argument.argument.as_ref()?)))
    }

    /// Counts the arguments that are passed; none where native code does not tell, or lists are left out.
    pub(crate) fn known_args(&self) -> Option<usize> {
        match (&self.module, self.native.first()) {
            (Some(_), _) if self.lists_left_out() => None,
            (Some(_), _) => Some(self.passed().count()),
            (None, Some((_, kernel))) if kernel.argument_bytes == Some(0) || !kernel.arguments.is_empty() => {
                Some(kernel.arguments.len())
            }
            (None, _) => None,
        }
    }

    /// Whether its arguments, constants and symbols are left out, since the module's kernels together have too many.
    pub(crate) fn lists_left_out(&self) -> bool {
        self.module.as_ref().is_some_and(|module| module.lists_left_out)
    }

    /// Hash of the code without its name and module; none where kernels were not compared.
    pub(crate) fn body(&self) -> Option<[u8; 32]> {
        self.body
    }

    /// The attributes as `sycl::info::kernel::attributes` and `CL_KERNEL_ATTRIBUTES` would give them.
    pub fn attributes(&self) -> String {
        self.module.as_ref().map(|module| module.attributes.text()).unwrap_or_default()
    }
}

/// Kernels whose lists are left out, counted by image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Numbers of kernels by the numbers of images.
    pub(crate) by_image: BTreeMap<usize, usize>,
}

impl LeftOut {
    /// Counts a kernel, where it is one.
    pub(crate) fn add(&mut self, kernel: &KernelFacts) {
        if kernel.lists_left_out() {
            let count = self.by_image.entry(kernel.image).or_default();
            *count = count.saturating_add(1);
        }
    }
}

/// Extra work to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Whether kernels are compared with each other.
    pub clones: bool,
    /// Whether the way to each use of an aspect is told.
    pub evidence: bool,
}

/// The kernels of images, in the order of the images. `bundle` is all of the file, so that
/// images that are not asked about are found too.
pub fn kernels(bundle: &Bundle<'_>, images: &[Examined<'_, '_>], depth: Depth) -> Vec<KernelFacts> {
    let mut all = kernels_of(bundle, images, depth, &mut Providers::default());
    let alike = Alike::from_kernels(&all);
    KernelNames::new(bundle, alike).tell(&mut all);
    all
}

/// The kernels of some images like [`kernels`], but for what the other images have in common with them: [`KernelNames`]
/// tells that.
pub(crate) fn kernels_of(
    bundle: &Bundle<'_>,
    images: &[Examined<'_, '_>],
    depth: Depth,
    providers: &mut Providers,
) -> Vec<KernelFacts> {
    // A few bytes may stand for a module of a hundred megabytes, of which more than twice as many are held meanwhile.
    let turn = Mutex::new(());
    let of_image = |examined: &Examined<'_, '_>| {
        let is_large = examined.image.compression().is_some() && examined.size >= limits::LARGE as u64;
        let _turn = is_large.then(|| turn.lock().unwrap_or_else(PoisonError::into_inner));
        of_image(examined, depth)
    };
    let found: Vec<OfImage> = images.par_iter().map(of_image).collect();
    let (mut all, mut codes) = (Vec::new(), Vec::new());
    let mut modules = HashMap::new();
    for (found, examined) in found.into_iter().zip(images) {
        all.extend(found.kernels);
        if let Some(code) = found.code {
            modules.insert(examined.image.index, codes.len());
            codes.push(code);
        }
    }
    let own = codes.len();
    let (others, lent): (Vec<usize>, Vec<Code>) = providers.take(bundle, images).into_iter().unzip();
    codes.extend(lent);
    UsedAspects::new(&modules, &codes, depth).tell(&mut all);
    providers.read.extend(others.into_iter().zip(codes.drain(own..).map(Some)));
    all
}

/// Code of the kernels of one file, by which they are compared.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    /// Hashes by image and name.
    bodies: HashMap<usize, HashMap<String, [u8; 32]>>,
}

impl Alike {
    /// Reads the code of images, and nothing else of them: they are examined for the rest.
    pub(crate) fn read(images: &[&Image<'_>]) -> Alike {
        let bodies = images.par_iter().map(|image| (image.index, bodies_of(image)));
        Alike { bodies: bodies.filter(|(_, bodies)| !bodies.is_empty()).collect() }
    }

    fn from_kernels(kernels: &[KernelFacts]) -> Alike {
        let mut alike = Alike::default();
        for kernel in kernels {
            if let Some(body) = kernel.body {
                alike.bodies.entry(kernel.image).or_default().insert(kernel.name.clone(), body);
            }
        }
        alike
    }

    /// Lists the names of code that has several, in order.
    fn groups(&self) -> HashMap<[u8; 32], Arc<[String]>> {
        let mut names: HashMap<[u8; 32], Vec<&String>> = HashMap::new();
        for (name, body) in self.bodies.values().flatten() {
            names.entry(*body).or_default().push(name);
        }
        let groups = names.into_iter().filter_map(|(body, mut names)| {
            names.sort_unstable();
            names.dedup();
            (names.len() > 1).then(|| (body, names.into_iter().cloned().collect()))
        });
        groups.collect()
    }
}

/// The hashes of the code of an image's kernels, by name.
fn bodies_of(image: &Image<'_>) -> HashMap<String, [u8; 32]> {
    let mut found = HashMap::new();
    each_body(image, |name, body| _ = found.insert(name.to_owned(), body));
    found
}

/// Hands on the kernels of an image that is SPIR-V, each with the hash of its code where that is known.
fn each_body(image: &Image<'_>, mut each: impl FnMut(&str, [u8; 32])) {
    let Some(contents) = image.contents().ok().filter(|contents| image.format_of(contents) == Format::SpirV) else {
        return;
    };
    let Ok(index) = Index::read(&contents) else { return };
    let listed: HashSet<&str> = image.kernels().into_iter().collect();
    let is_kernel = |name: &str| image.is_unlisted() || listed.contains(name);
    let mut numbers = Numbers::new(&index);
    for (name, reach) in kernel::reaches(&index).filter(|(name, _)| is_kernel(name)) {
        if let Some(body) = body(&index, &reach, &mut numbers) {
            each(name, body);
        }
    }
}

/// Returns the functions and variables that an image of SPIR-V exports, and the device globals, by name, each with the hash of its
/// code, or of its initial value, where that is known.
pub(crate) fn exported_bodies(image: &Image<'_>) -> Vec<(String, Option<[u8; 32]>)> {
    let contents = image.contents().ok().filter(|contents| image.format_of(contents) == Format::SpirV);
    let Some(contents) = contents else { return Vec::new() };
    let Ok(index) = Index::read(&contents) else { return Vec::new() };
    let (mut walks, mut numbers) = (Walks::new(&index).of_exports(), Numbers::new(&index));
    let kernels: HashSet<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
    let linked = index.linked().into_iter().filter(|(_, linkage)| linkage.kind.is_exported());
    let exported = linked.filter(|(_, linkage)| !kernels.contains(linkage.name.as_str()) && !is_helper(&linkage.name));
    let exported = exported.map(|(id, linkage)| (id, linkage.name));
    // The host looks for device globals that only this module sees.
    let all = index.host_named().into_iter().chain(exported);
    all.map(|(id, name)| (name, body(&index, &Reach::walk(&index, id, &mut walks), &mut numbers))).collect()
}

/// The hashes of the code of an image's kernels, in the kernels' order.
pub(crate) fn ordered_bodies(examined: &Examined<'_, '_>) -> Vec<Option<[u8; 32]>> {
    let kernels = &examined.kernels;
    let mut found = vec![None; kernels.len()];
    if kernels.is_empty() {
        return found;
    }
    let name = |place: &u32| kernels.get(*place as usize).map_or("", String::as_str);
    let mut sorted: Vec<u32> = (0u32..).zip(kernels).map(|(place, _)| place).collect();
    sorted.sort_by(|one, other| name(one).cmp(name(other)));
    each_body(examined.image, |own, body| {
        let first = sorted.partition_point(|place| name(place) < own);
        let first = sorted.get(first).filter(|place| name(place) == own);
        first.and_then(|place| found.get_mut(*place as usize)).into_iter().for_each(|known| *known = Some(body));
    });
    // The first of a name has the code of all.
    for run in sorted.chunk_by(|one, other| name(one) == name(other)) {
        let body = run.first().and_then(|place| found.get(*place as usize)).copied().flatten();
        for place in run {
            found.get_mut(*place as usize).into_iter().for_each(|known| *known = body);
        }
    }
    found
}

fn body(index: &Index<'_>, reach: &Reach, numbers: &mut Numbers) -> Option<[u8; 32]> {
    let words = body::words(index, reach, numbers)?;
    let mut bytes = Vec::with_capacity(words.len().saturating_mul(4));
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    Some(*blake3::hash(&bytes).as_bytes())
}

/// Images that hold a kernel of a name, and names that the same code has, in one file.
#[derive(Debug)]
pub(crate) struct KernelNames<'a> {
    /// Images of names that several have.
    holders: HashMap<&'a str, Arc<[usize]>>,
    alike: Alike,
    same: HashMap<[u8; 32], Arc<[String]>>,
    told: usize,
}

impl<'a> KernelNames<'a> {
    /// Lists the names of all images of a file.
    pub(crate) fn new(bundle: &Bundle<'a>, alike: Alike) -> KernelNames<'a> {
        let of_image =
            |image: &Image<'a>| image.kernels().into_iter().map(|name| (name, image.index)).collect::<Vec<_>>();
        let mut named: Vec<(&str, usize)> = bundle.images.iter().flat_map(of_image).collect();
        named.sort_by_key(|(name, _)| *name);
        let shared = named.chunk_by(|one, other| one.0 == other.0).filter(|named| named.len() > 1);
        let images = |named: &[(&'a str, usize)]| {
            Some((named.first()?.0, named.iter().map(|(_, image)| *image).collect::<Arc<[usize]>>()))
        };
        let holders: HashMap<&str, Arc<[usize]>> = shared.filter_map(images).collect();
        let same = alike.groups();
        // A kernel that several images hold is listed with each.
        let mut listing: HashMap<[u8; 32], usize> = HashMap::new();
        for body in alike.bodies.values().flat_map(HashMap::values) {
            let count = listing.entry(*body).or_default();
            *count = count.saturating_add(1);
        }
        let listed = |told: usize| -> usize {
            let of_each = |names: &[String]| names.iter().take(told).map(String::len).sum::<usize>();
            let of_group = |(body, names): (&[u8; 32], &Arc<[String]>)| {
                of_each(names).saturating_mul(listing.get(body).copied().unwrap_or_default())
            };
            let of_images =
                |images: &Arc<[usize]>| images.len().saturating_mul(images.len().min(told)).saturating_mul(8);
            let all = same.iter().map(of_group).chain(holders.values().map(of_images));
            all.fold(0, usize::saturating_add)
        };
        let mut told = limits::MAX_CLONES_TOLD;
        while told > 1 && listed(told) > limits::MAX_CLONE_BYTES {
            told /= 2;
        }
        KernelNames { holders, alike, same, told }
    }

    /// Adds to kernels what they have in common with others of their file.
    pub(crate) fn tell(&mut self, kernels: &mut [KernelFacts]) {
        for kernel in kernels {
            kernel.images = self.holders.get(kernel.name.as_str()).cloned().unwrap_or_else(|| [kernel.image].into());
            // Where an image lists a name twice, the first has the code.
            kernel.body = self.alike.bodies.get_mut(&kernel.image).and_then(|bodies| bodies.remove(&kernel.name));
            kernel.same = kernel.body.and_then(|body| self.same.get(&body)).cloned();
            kernel.told = self.told;
        }
    }
}

/// Code of images that may define what others import, by the image's number: read once, where a file is read in shares; none
/// of what cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Providers {
    read: HashMap<usize, Option<Code>>,
}

impl Providers {
    /// Takes the code of images that are not asked about and may define what those that are import, in order.
    fn take(&mut self, bundle: &Bundle<'_>, images: &[Examined<'_, '_>]) -> Vec<(usize, Code)> {
        let wanted = offering(bundle, images);
        let new: Vec<&Image<'_>> =
            wanted.iter().copied().filter(|image| !self.read.contains_key(&image.index)).collect();
        let read = |image: &&Image<'_>| {
            let code = || Some(Code::read(&Index::read(&image.contents().ok()?).ok()?).of_image(image));
            (image.index, code())
        };
        self.read.par_extend(new.par_iter().map(read));
        let take = |image: &Image<'_>| Some((image.index, self.read.get_mut(&image.index)?.take()?));
        wanted.into_iter().filter_map(take).collect()
    }
}

/// The code of images that are not asked about and may define what those that are import, each with its number.
pub(crate) fn providers(bundle: &Bundle<'_>, images: &[Examined<'_, '_>]) -> Vec<(usize, Code)> {
    Providers::default().take(bundle, images)
}

fn offering<'b, 'a>(bundle: &'b Bundle<'a>, images: &[Examined<'_, '_>]) -> Vec<&'b Image<'a>> {
    let used = |examined: &Examined<'_, '_>| !Sets::read(examined.image).used.is_empty();
    let links = |examined: &Examined<'_, '_>| !examined.imports.is_empty() || used(examined);
    if images.len() == bundle.images.len() || !images.iter().any(links) {
        return Vec::new();
    }
    let asked: HashSet<usize> = images.iter().map(|examined| examined.image.index).collect();
    let offers = |image: &Image<'_>| !image.exports().is_empty() || !Sets::read(image).defined.is_empty();
    bundle.images.par_iter().filter(|image| !asked.contains(&image.index) && offers(image)).collect()
}

/// The hash of the code of each of the `wanted` kernels of an image, whatever else is in its module; of code that is not
/// wholly known none.
pub(crate) fn bodies(examined: &Examined<'_, '_>, wanted: &HashSet<&str>) -> HashMap<String, [u8; 32]> {
    let has = examined.kernels.iter().any(|kernel| wanted.contains(kernel.as_str()));
    let mut all = if has { bodies_of(examined.image) } else { HashMap::new() };
    all.retain(|kernel, _| wanted.contains(kernel.as_str()));
    all
}

/// Aspects that code uses, along calls and across modules, by kernel.
struct UsedAspects<'c> {
    codes: &'c [Code],
    graph: Graph<'c>,
    /// Modules and places there of kernels, in the order of modules and names; the first of a name counts.
    places: Vec<(u32, u32)>,
    /// The module of each image, by its number.
    modules: &'c HashMap<usize, usize>,
    of_module: Vec<OnceLock<Vec<Aspect>>>,
    evidence: bool,
}

impl<'c> UsedAspects<'c> {
    fn new(modules: &'c HashMap<usize, usize>, codes: &'c [Code], depth: Depth) -> UsedAspects<'c> {
        let graph = Graph::link(codes);
        let of_code = |(module, code): (u32, &'c Code)| {
            let known = (0..).zip(&code.kernels).filter(|(_, kernel)| kernel.node.is_some());
            known.map(move |(place, _)| (module, place)).collect::<Vec<_>>()
        };
        let mut places: Vec<(u32, u32)> = (0..).zip(codes).flat_map(of_code).collect();
        places.sort_by_key(|place| (place.0, kernel_at(codes, *place).map(|kernel| &*kernel.name)));
        let of_module = codes.iter().map(|_| OnceLock::new()).collect();
        UsedAspects { codes, graph, places, modules, of_module, evidence: depth.evidence }
    }

    /// Returns the node that a kernel of a module begins with.
    fn node(&self, module: usize, name: &str) -> Option<usize> {
        let named = |place: &(u32, u32)| (place.0 as usize, kernel_at(self.codes, *place).map_or("", |one| &*one.name));
        let at = self.places.partition_point(|place| named(place) < (module, name));
        let place = self.places.get(at).filter(|place| named(place) == (module, name))?;
        kernel_at(self.codes, *place)?.node
    }

    /// Gives kernels the aspects that their code uses.
    fn tell(&self, kernels: &mut [KernelFacts]) {
        kernels.par_iter_mut().for_each(|facts| {
            let Some(module) = self.modules.get(&facts.image).copied() else { return };
            let Some(node) = self.node(module, &facts.name) else { return };
            let used = self.graph.used(module, node);
            for aspect in &used {
                let list = if aspect.certain() { &mut facts.used } else { &mut facts.possible };
                list.push(aspect.name().to_owned());
            }
            if self.evidence {
                facts.evidence = used.iter().filter_map(|aspect| self.graph.evidence(module, node, *aspect)).collect();
            }
            let stored = facts.recorded.then_some(&*facts.declared);
            let of_module = self.of_module.get(module);
            let image = || of_module.map_or(&[][..], |of| of.get_or_init(|| self.graph.used_by_module(module)));
            facts.comparison = self.codes.get(module).map(|code| compare_kernel(stored, code, &used, image));
        });
    }
}

/// A kernel by its module and its place there.
fn kernel_at(codes: &[Code], (module, place): (u32, u32)) -> Option<&code::Kernel> {
    codes.get(module as usize)?.kernels.get(place as usize)
}

/// Kernels whose facts are held at a time: enough that all threads are busy, few for the memory.
pub(crate) const SHARE: usize = 4096;

/// Hands on the kernels of an image that may have many, a share at a time, like [`kernels_of`].
///
/// # Errors
/// Errors of `each`.
pub(crate) fn kernels_in_shares(
    bundle: &Bundle<'_>,
    image: &Examined<'_, '_>,
    depth: Depth,
    providers: &mut Providers,
    mut each: impl FnMut(Vec<KernelFacts>) -> Result<()>,
) -> Result<()> {
    let contents = contents(image);
    let index = contents.as_ref().and_then(|contents| Index::read(contents).ok());
    let mut reader = ImageReader::new(image, index.as_ref(), depth);
    let mut codes: Vec<Code> = reader.code().into_iter().collect();
    let own = codes.len();
    let modules: HashMap<usize, usize> = codes.iter().map(|_| (image.image.index, 0)).collect();
    let (others, lent): (Vec<usize>, Vec<Code>) =
        providers.take(bundle, std::slice::from_ref(image)).into_iter().unzip();
    codes.extend(lent);
    let used = UsedAspects::new(&modules, &codes, depth);
    let mut names = image.kernels.iter();
    while !names.as_slice().is_empty() {
        let full = reader.lists().saturating_add(limits::MAX_LISTS_HELD);
        let mut facts: Vec<KernelFacts> = Vec::new();
        while facts.len() < SHARE && reader.lists() < full {
            let Some(name) = names.next() else { break };
            facts.push(reader.kernel(name));
        }
        used.tell(&mut facts);
        each(facts)?;
    }
    drop(used);
    providers.read.extend(others.into_iter().zip(codes.drain(own..).map(Some)));
    Ok(())
}

/// Kernels and code of one image.
#[derive(Default)]
struct OfImage {
    kernels: Vec<KernelFacts>,
    code: Option<Code>,
}

/// The module of an image; a payload that does not inflate or is no module is a problem that has been told.
fn contents<'a>(examined: &Examined<'_, 'a>) -> Option<Cow<'a, [u8]>> {
    if examined.format == Format::SpirV { examined.image.contents().ok() } else { None }
}

fn of_image(examined: &Examined<'_, '_>, depth: Depth) -> OfImage {
    let contents = contents(examined);
    let index = contents.as_ref().and_then(|contents| Index::read(contents).ok());
    let mut reader = ImageReader::new(examined, index.as_ref(), depth);
    let kernels = examined.kernels.iter().map(|name| reader.kernel(name)).collect();
    OfImage { kernels, code: reader.code() }
}

/// Reads the kernels of an image one by one, so that not all need be held.
struct ImageReader<'e, 'b, 'a> {
    examined: &'e Examined<'b, 'a>,
    index: Option<&'e Index<'e>>,
    modules: Option<kernel::Reader<'e, 'e>>,
    /// Kernels of bitcode.
    by_name: HashMap<String, Kernel>,
    compiled: HashMap<&'e str, Vec<(String, Arc<NativeKernel>)>>,
    numbers: Option<Numbers>,
    recorded: Recorded<'e>,
}

impl<'e, 'b, 'a> ImageReader<'e, 'b, 'a> {
    fn new(examined: &'e Examined<'b, 'a>, index: Option<&'e Index<'e>>, depth: Depth) -> ImageReader<'e, 'b, 'a> {
        let of_bitcode =
            examined.bitcode.as_ref().filter(|_| index.is_none()).map(|module| bitcode::kernels(module, examined.size));
        let mut compiled: HashMap<&str, Vec<(String, Arc<NativeKernel>)>> = HashMap::new();
        // Of bitcode its module says all there is.
        let native = examined.native.iter().filter(|_| examined.bitcode.is_none());
        for part in native.flat_map(|native| &native.parts) {
            let device = if part.devices.is_empty() { part.stated.clone() } else { part.devices.join(", ") };
            for kernel in &part.kernels {
                compiled.entry(&kernel.name).or_default().push((device.clone(), kernel.clone()));
            }
        }
        ImageReader {
            examined,
            index,
            modules: index.map(kernel::Reader::new),
            by_name: of_bitcode.into_iter().flatten().map(|kernel| (kernel.name.clone(), kernel)).collect(),
            compiled,
            numbers: index.filter(|_| depth.clones).map(Numbers::new),
            recorded: Recorded::read(examined),
        }
    }

    fn kernel(&mut self, name: &str) -> KernelFacts {
        let module = match &mut self.modules {
            Some(modules) => modules.named(name),
            None => self.by_name.remove(name),
        };
        let facts = one(self.examined, &self.recorded, name, module, self.index.zip(self.numbers.as_mut()));
        KernelFacts { native: self.compiled.remove(name).unwrap_or_default(), ..facts }
    }

    /// Bytes of the lists of all kernels that were read.
    fn lists(&self) -> usize {
        self.modules.as_ref().map_or(0, |modules| modules.room.taken)
    }

    fn code(&self) -> Option<Code> {
        let code = match (self.index, &self.examined.bitcode) {
            (Some(index), _) => Code::read(index),
            (None, Some(module)) => bitcode::code(module),
            (None, None) => return None,
        };
        Some(code.of_image(self.examined.image))
    }
}

/// Properties of an image that are looked up for each kernel.
struct Recorded<'a> {
    /// Removed arguments, by kernel.
    masks: HashMap<&'a str, &'a Property<'a>>,
    /// Kernels that can fail an assertion.
    asserts: HashSet<&'a str>,
    /// Names of specialization constants and the byte that each id stands at.
    constants: HashMap<u32, (&'a str, u32)>,
    aspects: Arc<[String]>,
    esimd: bool,
}

impl<'a> Recorded<'a> {
    fn read(examined: &'a Examined<'_, '_>) -> Recorded<'a> {
        let properties = &examined.image.properties;
        let mut recorded = Recorded {
            // The first of a name counts.
            masks: properties.set(set::PARAM_OPT).iter().rev().map(|property| (property.name, property)).collect(),
            asserts: properties.set(set::ASSERT_USED).iter().map(|property| property.name).collect(),
            constants: HashMap::new(),
            aspects: examined.requirements.aspects.as_slice().into(),
            esimd: properties.number(set::MISC, key::ESIMD).is_some_and(|flag| flag != 0),
        };
        for property in properties.set(set::SPEC_CONSTANTS) {
            for part in spec_constants::leaves(property).unwrap_or_default() {
                recorded.constants.entry(part.id).or_insert((property.name, part.offset));
            }
        }
        recorded
    }
}

/// `code` is given where kernels are compared.
fn one(
    examined: &Examined<'_, '_>,
    recorded: &Recorded<'_>,
    name: &str,
    mut owned: Option<Kernel>,
    code: Option<(&Index<'_>, &mut Numbers)>,
) -> KernelFacts {
    let image = examined.image;
    let passed = owned.as_mut().map(|module| std::mem::take(&mut module.arguments)).unwrap_or_default();
    let constants = owned.as_mut().map(|module| std::mem::take(&mut module.spec_constants)).unwrap_or_default();
    let module = owned.as_ref();
    let attributes = module.map(|module| &*module.attributes);
    let mask = source_mask(examined, recorded, name, passed.len());
    let from_source = mask.is_some();
    let esimd = module.is_some_and(|module| module.esimd) || recorded.esimd;
    let assert_used = recorded.asserts.contains(name);
    let of_bitcode = |module: &Module, hint: bool| {
        bitcode::work_group_size(module, name, hint).map(|size| examined.in_source_order(&size))
    };
    let facts = KernelFacts {
        name: name.to_owned(),
        image: image.index,
        arguments: arguments(passed, mask),
        from_source,
        reqd_work_group_size: match &examined.bitcode {
            Some(module) => of_bitcode(module, false),
            None => work_group(examined, attributes),
        },
        work_group_size_hint: match &examined.bitcode {
            Some(module) => of_bitcode(module, true),
            None => attributes
                .and_then(|attributes| attributes.work_group_size_hint)
                .map(|size| source_order(examined, size)),
        },
        reqd_sub_group_size: attributes.and_then(|attributes| attributes.sub_group_size).or_else(|| {
            // Bitcode says it of each kernel.
            let sizes = examined.bitcode.is_none().then_some(&examined.requirements.reqd_sub_group_sizes);
            sizes?.first().copied().map(SubGroup::Size)
        }),
        spec_constants: named(recorded, constants),
        declared: match &examined.bitcode {
            Some(module) => bitcode::recorded_aspects(module, name, &examined.requirements).into(),
            None => recorded.aspects.clone(),
        },
        recorded: !image.properties.sets.is_empty(),
        esimd,
        asserts: assert_used || module.is_some_and(|module| module.asserts),
        body: code.zip(module).and_then(|((index, numbers), module)| body(index, &module.reach, numbers)),
        ..KernelFacts::default()
    };
    let reach = |module: &Kernel| Reach { complete: module.reach.complete, ..Reach::default() };
    KernelFacts { module: owned.map(|module| Kernel { reach: reach(&module), ..module }), ..facts }
}

/// Finds the arguments of the source that were removed; none where that is not recorded, or the record does not fit the
/// module.
fn source_mask(
    examined: &Examined<'_, '_>,
    recorded: &Recorded<'_>,
    name: &str,
    passed: usize,
) -> Option<(usize, HashSet<usize>)> {
    let properties = &examined.image.properties;
    let property = recorded.masks.get(name)?;
    // The numbering of aspects has no bearing on this set.
    let epoch = crate::bundle::aspect::Epoch::From2026;
    let Some(Decoded::Arguments { count, eliminated }) = decode(properties, set::PARAM_OPT, property, epoch) else {
        return None;
    };
    let count = usize::try_from(arguments_of_source(count, &eliminated, passed as u64)?).ok()?;
    Some((count, eliminated.into_iter().filter_map(|at| usize::try_from(at).ok()).collect()))
}

fn arguments(passed: Vec<Argument>, mask: Option<(usize, HashSet<usize>)>) -> Vec<SourceArgument> {
    let (count, removed) = mask.unwrap_or((passed.len(), HashSet::new()));
    let mut rest = passed.into_iter();
    let mut next = |index| if removed.contains(&index) { None } else { rest.next() };
    (0..count).map(|index| SourceArgument { index, argument: next(index) }).collect()
}

/// Returns the required work-group size. The recorded one comes first: the compiler knows how many dimensions the
/// source names.
fn work_group(examined: &Examined<'_, '_>, attributes: Option<&Attributes>) -> Option<Vec<u64>> {
    let recorded = examined.requirements.reqd_work_group_size().map(|size| examined.in_source_order(size));
    recorded.or_else(|| attributes?.work_group_size.map(|size| source_order(examined, size)))
}

/// A size of the module, x first.
fn source_order(examined: &Examined<'_, '_>, [x, y, z]: [u32; 3]) -> Vec<u64> {
    examined.in_source_order(&[z, y, x].map(u64::from))
}

fn named(recorded: &Recorded<'_>, constants: Vec<SpecConstant>) -> Vec<NamedConstant> {
    let one = |constant: SpecConstant| {
        let known = recorded.constants.get(&constant.id);
        NamedConstant {
            name: known.map(|(name, _)| (*name).to_owned()),
            offset: known.map(|(_, offset)| *offset),
            constant,
        }
    };
    constants.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_arguments_keep_their_place() {
        let argument = |name: &str| Argument {
            name: Some(name.to_owned()),
            type_name: "int".into(),
            address_space: "private",
            access: None,
            qualifiers: Vec::new(),
            size: Some(4),
            alignment: Some(4),
            by_value: false,
        };
        let passed = vec![argument("a"), argument("b")];
        let all = arguments(passed.clone(), Some((4, HashSet::from([1, 3]))));
        let names: Vec<Option<&str>> =
            all.iter().map(|one| one.argument.as_ref().and_then(|argument| argument.name.as_deref())).collect();
        assert_eq!(names, [Some("a"), None, Some("b"), None]);
        assert_eq!(arguments(passed, None).len(), 2);
    }
}
