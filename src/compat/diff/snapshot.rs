//! What of a file counts when it is compared with another build?
//!
//! Images of two builds have no name by which they could be paired, so that each property is compared with what
//! it is about: a kernel, a symbol of a target, or the image of a kernel. What else a comparison tells is left out.

use crate::bundle::Bundle;
use crate::bundle::format::Format;
use crate::bundle::property_sets::{Compare, Decoded, KnownSet, describe, set};
use crate::bytes::hex;
use crate::compat::examine::Examined;
use crate::compat::explain::trace::{devices, times};
use crate::compat::fit::spec;
use crate::compat::kernels::{Depth, KernelFacts, LeftOut, Providers, exported_bodies, kernels_in_shares, kernels_of};
use crate::device::target::Has;
use crate::error::Result;
use crate::native::Coverage;
use crate::native::Driver;
use crate::spirv::kernel::SubGroup;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

/// A file, reduced to what counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The images for each target.
    pub(crate) targets: BTreeMap<String, Total>,
    /// Facts about each kernel, by its mangled name.
    pub(crate) kernels: BTreeMap<Arc<str>, KernelShots>,
    /// Properties of symbols and of images without kernels, by target.
    pub(crate) properties: BTreeMap<String, Values>,
    /// Images without kernels, by target.
    pub(crate) libraries: BTreeMap<String, Libraries>,
    /// Whether something of the file could not be read.
    pub(crate) partial: bool,
    /// Kernels that are compared without arguments, constants and symbols.
    pub(crate) left_out: LeftOut,
}

/// Images without kernels by the hashes of their code, with those of the properties of each.
pub(crate) type Libraries = BTreeMap<[u8; 32], BTreeSet<[u8; 32]>>;

/// Facts about a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelShots {
    /// Facts that differ by image.
    pub(crate) shots: Shots,
    /// Coverage of Intel GPUs.
    pub(crate) coverage: Arc<KernelCoverage>,
}

/// Coverage of Intel GPUs by a kernel, with all its images.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct KernelCoverage {
    /// GPUs that native code or the SPIR-V inside it is for, by their names in the device configuration.
    pub(crate) gpus: BTreeMap<String, Coverage>,
    /// Whether there is a SPIR-V image, which every other GPU compiles.
    pub(crate) spirv: bool,
}

impl KernelCoverage {
    /// Adds an image of the kernel.
    fn add<'g>(&mut self, image: &Examined<'_, '_>, gpus: impl Iterator<Item = (&'g String, &'g Coverage)>) {
        self.spirv |= image.format == Format::SpirV && spec(image.image) == "spir64";
        for (gpu, coverage) in gpus {
            let best = self.gpus.entry(gpu.clone()).or_insert(*coverage);
            *best = (*best).min(*coverage);
        }
    }

    /// Coverage of the kernel on a GPU.
    pub(crate) fn on(&self, gpu: &str) -> Coverage {
        let beside = if self.spirv { Coverage::Jit } else { Coverage::None };
        self.gpus.get(gpu).copied().unwrap_or(beside)
    }
}

/// Images, taken together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Total {
    /// The number of images.
    pub(crate) images: usize,
    /// Bytes of their code, inflated.
    pub(crate) bytes: u64,
    /// Bytes that they take in the file.
    #[serde(rename = "stored_bytes")]
    pub(crate) stored: u64,
}

/// Facts about a kernel by image, in the order of targets. Nearly every kernel has one, where a map has room for eleven.
pub(crate) type Shots = Vec<(Arc<str>, Shot)>;

/// Facts about a kernel for a target, by each image that is for it.
pub(crate) fn shots_for<'s>(shots: &'s Shots, target: &str) -> &'s [(Arc<str>, Shot)] {
    let begin = shots.partition_point(|(own, _)| &**own < target);
    let end = shots.partition_point(|(own, _)| &**own <= target);
    shots.get(begin..end).unwrap_or_default()
}

/// A kernel in an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shot {
    /// Half of the hash of its code, whatever its name, which tells it apart as well; none where that is not SPIR-V.
    pub(crate) body: Option<[u8; 16]>,
    /// All else, which many kernels of an image share.
    pub(crate) about: Arc<About>,
}

impl Deref for Shot {
    type Target = About;

    fn deref(&self) -> &About {
        &self.about
    }
}

/// Facts about a kernel for a target, but for its code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// Bytes of the image, inflated.
    pub(crate) bytes: u64,
    /// The hash of its image.
    pub(crate) image: [u8; 32],
    /// The facts that are compared and told.
    pub(crate) traits: Arc<Traits>,
    /// Options for the device's compiler and linker, which the kernels of an image share.
    pub(crate) options: Arc<str>,
    /// Properties of its image.
    pub(crate) shared: Shared,
}

/// Facts that many kernels have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Traits {
    /// The arguments in order, each as text; `-` for one that the compiler removed.
    pub(crate) arguments: Vec<String>,
    /// Aspects that the image records, or its code uses. The runtime goes by the former, which are properties, too.
    pub(crate) aspects: BTreeSet<String>,
    /// Required work-group and sub-group sizes and other attributes, by name.
    pub(crate) attributes: BTreeMap<&'static str, String>,
    /// Specialization constants by name or number.
    pub(crate) constants: Vec<String>,
    /// Resources by name: local memory, registers, spills.
    pub(crate) resources: BTreeMap<&'static str, u64>,
    /// Properties of the kernel that nothing else here tells, by set.
    pub(crate) properties: BTreeMap<String, String>,
}

/// Facts of several builds that are the same, each held once: libraries have tens of thousands of kernels with long names.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    texts: HashSet<Arc<str>>,
    traits: HashSet<Arc<Traits>>,
    coverage: HashSet<Arc<KernelCoverage>>,
    shared: HashSet<Shared>,
    /// The last ones, by what they are made of.
    about: HashMap<Parts, Arc<About>>,
}

/// Bytes, the hash of the image, and the addresses of what is held once.
type Parts = (u64, [u8; 32], [usize; 3]);

/// Facts that are looked for among the last ones: kernels of an image, which have most in common, come one after the other.
const LAST: usize = 4096;

impl Interner {
    /// Returns facts that are the same, and are held.
    fn about(&mut self, about: About) -> Arc<About> {
        let About { bytes, image, traits, options, shared } = &about;
        let places = [Arc::as_ptr(traits).addr(), Arc::as_ptr(options).addr(), Arc::as_ptr(shared).addr()];
        let parts = (*bytes, *image, places);
        if self.about.len() >= LAST && !self.about.contains_key(&parts) {
            self.about.clear();
        }
        self.about.entry(parts).or_insert_with(|| about.into()).clone()
    }
}

/// Returns what a set holds of a value's equals, which may be the value now.
fn held<T: ?Sized + Eq + Hash>(set: &mut HashSet<Arc<T>>, value: impl Borrow<T> + Into<Arc<T>>) -> Arc<T> {
    match set.get(value.borrow()) {
        Some(known) => known.clone(),
        None => {
            let value = value.into();
            set.insert(value.clone());
            value
        }
    }
}

impl Snapshot {
    /// Adds images of a file, reduced to what counts.
    ///
    /// # Errors
    /// None, but for those of handing kernels on.
    pub(crate) fn add(
        &mut self,
        bundle: &Bundle<'_>,
        images: &[Examined<'_, '_>],
        providers: &mut Providers,
        interner: &mut Interner,
    ) -> Result<()> {
        let mut by_number: HashMap<usize, (&Examined<'_, '_>, Arc<str>, OfImage<'_>)> = HashMap::new();
        for image in images {
            let target = devices(image);
            let total = self.targets.entry(target.clone()).or_default();
            total.add(image.size, image.image.stored.len() as u64);
            let gpus = image.native.as_ref().map(|native| native.coverage_by_gpu(Driver::ANY)).unwrap_or_default();
            // Of kernels that only some of the code has, GPUs take that or other code.
            let partial = if image.homes.is_empty() { 0 } else { usize::MAX };
            let taken = gpus.keys().take(partial).map(|gpu| (gpu, image.homes_on(gpu, Driver::ANY)));
            let taken: HashMap<&String, _> = taken.collect();
            for kernel in &image.kernels {
                let name = held(&mut interner.texts, kernel.as_str());
                let has =
                    |gpu: &String| taken.get(gpu).is_none_or(|of| image.has_kernel(kernel, of.as_ref()) == Has::Yes);
                let known = self.kernels.entry(name).or_default();
                let mut coverage = KernelCoverage::clone(&known.coverage);
                coverage.add(image, gpus.iter().filter(|(gpu, _)| has(gpu)));
                known.coverage = held(&mut interner.coverage, coverage);
            }
            let mut sorted = of_image(bundle, image);
            // Kernels of other images may use them, which no kernel of this one has to.
            let exports =
                image.module.as_ref().is_some_and(|module| !module.exports.is_empty() || !module.host_names.is_empty());
            if exports && !image.kernels.is_empty() {
                sorted.rest.extend(exported_bodies(image.image).into_iter().map(|(name, body)| {
                    let hash = body.unwrap_or(image.blake3);
                    (format!("{EXPORTED}{name}"), hex(hash.first_chunk::<8>().unwrap_or(&[0; 8])))
                }));
            }
            if image.kernels.is_empty() {
                sorted.rest.sort();
                let properties = *blake3::hash(format!("{:?}", sorted.rest).as_bytes()).as_bytes();
                let all = self.libraries.entry(target.clone()).or_default();
                all.entry(image.blake3).or_default().insert(properties);
            }
            sorted.shared = held(&mut interner.shared, BTreeMap::clone(&sorted.shared));
            if !sorted.rest.is_empty() {
                let values = self.properties.entry(target.clone()).or_default();
                for (name, value) in sorted.rest.drain(..) {
                    values.entry(name).or_default().insert(value);
                }
            }
            let options = [image.image.compile_options, image.image.link_options].map(str::trim).join(" ");
            sorted.options = held(&mut interner.texts, options.trim());
            by_number.insert(image.image.index, (image, held(&mut interner.texts, target.as_str()), sorted));
        }
        let mut add = |found: Vec<KernelFacts>| {
            for facts in found {
                let Some((image, target, properties)) = by_number.get(&facts.image) else { continue };
                self.left_out.add(&facts);
                let shot = shot(&facts, image, properties, interner);
                let Some(KernelShots { shots: targets, .. }) = self.kernels.get_mut(facts.name.as_str()) else {
                    continue;
                };
                if targets.is_empty() {
                    targets.reserve_exact(1);
                }
                targets.push((target.clone(), shot));
            }
            Ok(())
        };
        let depth = Depth { clones: true, evidence: false };
        match images {
            [image] => kernels_in_shares(bundle, image, depth, providers, &mut add)?,
            _ => add(kernels_of(bundle, images, depth, providers))?,
        }
        self.partial |= images.iter().any(|image| image.problem.is_some());
        Ok(())
    }

    /// Packs the kernels, once all images have been added, and sorts their images by targets: names that came in order have left the
    /// map half empty.
    pub(crate) fn pack(&mut self) {
        for kernel in self.kernels.values_mut() {
            kernel.shots.sort_by(|one, other| one.0.cmp(&other.0));
        }
        self.kernels = std::mem::take(&mut self.kernels).into_iter().collect();
    }
}

impl Total {
    /// Adds an image.
    fn add(&mut self, bytes: u64, stored: u64) {
        self.images = self.images.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.stored = self.stored.saturating_add(stored);
    }

    /// Both together.
    #[must_use]
    pub(crate) fn plus(self, other: Total) -> Total {
        Total {
            images: self.images.saturating_add(other.images),
            bytes: self.bytes.saturating_add(other.bytes),
            stored: self.stored.saturating_add(other.stored),
        }
    }
}

fn shot(facts: &KernelFacts, image: &Examined<'_, '_>, properties: &OfImage<'_>, interner: &mut Interner) -> Shot {
    let mut attributes = BTreeMap::new();
    if let Some(size) = &facts.reqd_work_group_size {
        attributes.insert("work-group size", times(size));
    }
    if let Some(size) = &facts.work_group_size_hint {
        attributes.insert("work-group size hint", times(size));
    }
    let sub_group = facts.reqd_sub_group_size.map(|size| match size {
        SubGroup::Size(size) => size.to_string(),
        SubGroup::Primary => "primary".to_owned(),
    });
    if let Some(size) = sub_group {
        attributes.insert("sub-group size", size);
    }
    let text = facts.attributes();
    if !text.is_empty() {
        attributes.insert("attributes", text);
    }
    if facts.esimd {
        attributes.insert("explicit SIMD", "yes".to_owned());
    }
    let mut own = properties.kernels.get(facts.name.as_str()).cloned().unwrap_or_default();
    // The arguments tell which are removed, where the list of these fits them.
    if facts.module.is_some() && facts.from_source {
        own.remove(set::PARAM_OPT);
    }
    let traits = Traits {
        arguments: arguments(facts),
        aspects: facts.declared.iter().chain(&facts.used).cloned().collect(),
        attributes,
        constants: facts.spec_constants.iter().map(constant).collect(),
        resources: resources(facts),
        properties: own,
    };
    let about = About {
        bytes: image.size,
        image: image.blake3,
        traits: held(&mut interner.traits, traits),
        options: properties.options.clone(),
        shared: properties.shared.clone(),
    };
    let body = facts.body().and_then(|body| body.first_chunk::<16>().copied());
    Shot { body, about: interner.about(about) }
}

fn arguments(facts: &KernelFacts) -> Vec<String> {
    let native = facts.native.first().map(|(_, kernel)| &*kernel.arguments).unwrap_or_default();
    if facts.module.is_none() {
        let one = |argument: &crate::native::Argument| {
            let kind = argument.type_name.as_deref().or(argument.kind.as_deref()).unwrap_or("?");
            format!("{kind} {} {}", argument.address_space.unwrap_or("?"), size(argument.size))
        };
        return native.iter().map(one).collect();
    }
    let one = |argument: &crate::compat::kernels::SourceArgument| match &argument.argument {
        None => "-".to_owned(),
        Some(own) => {
            let access = own.access.map(|access| format!(" {access}")).unwrap_or_default();
            format!("{} {}{access} {}", kind(&own.type_name), own.address_space, size(own.size))
        }
    };
    facts.arguments.iter().map(one).collect()
}

/// A type without what is the compiler's own choice: how structures are called, and whether `bool` is a type.
fn kind(name: &str) -> &str {
    let structure = ["struct ", "class ", "union "].iter().find(|word| name.starts_with(*word));
    match (structure, name) {
        (Some(_), pointer) if pointer.ends_with('*') => "struct*",
        (Some(_), _) => "struct",
        (None, "bool") => "char",
        (None, "bool*") => "char*",
        (None, name) => name,
    }
}

fn size(size: Option<u64>) -> String {
    size.map_or_else(|| "?".to_owned(), |size| size.to_string())
}

fn constant(constant: &crate::compat::kernels::NamedConstant) -> String {
    // The number of one without a name is the compiler's own choice.
    let name = constant.name.clone().unwrap_or_else(|| format!("unnamed {}", constant.constant.type_name));
    match constant.offset.filter(|offset| *offset > 0) {
        Some(offset) => format!("{name}+{offset}"),
        None => name,
    }
}

/// Of several devices in one image, the most that any takes.
fn resources(facts: &KernelFacts) -> BTreeMap<&'static str, u64> {
    let mut found: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut most = |name: &'static str, value: Option<u64>| {
        if let Some(value) = value {
            let known = found.entry(name).or_insert(value);
            *known = value.max(*known);
        }
    };
    most("local memory", facts.local_memory());
    for (_, kernel) in &facts.native {
        let spilled = kernel.spilled_registers.map(|[vector, scalar]| vector.saturating_add(scalar));
        most("registers", kernel.registers);
        most("scalar registers", kernel.scalar_registers);
        most("SIMD width", kernel.simd);
        most("spill", kernel.spill);
        // Older compilers tell both as one.
        most("spill and private memory", kernel.scratch.filter(|_| kernel.spill.is_none()));
        most("spilled registers", spilled);
        most("private memory", kernel.private);
        most("barriers", kernel.barriers);
    }
    found
}

/// Properties by set and name, as text; the kernels of an image share them.
pub(crate) type Shared = Arc<BTreeMap<String, String>>;

/// Values of properties by set and name, each once, of all images for a target.
pub(crate) type Values = BTreeMap<String, BTreeSet<String>>;

/// Beginning of the names under which hashes of exported functions and variables stand among properties.
const EXPORTED: &str = "exported code: ";

/// The properties of an image, by what they are about.
#[derive(Debug, Default)]
pub(super) struct OfImage<'a> {
    /// About a kernel, by its mangled name.
    pub(super) kernels: HashMap<&'a str, BTreeMap<String, String>>,
    /// About the image, where it has kernels by which it can be found again.
    pub(super) shared: Shared,
    /// About symbols and what nobody knows of; of an image without kernels, all.
    pub(super) rest: Vec<(String, String)>,
    /// Options for the device's compiler and linker.
    pub(super) options: Arc<str>,
}

/// Sorts the properties of an image.
pub(super) fn of_image<'a>(bundle: &Bundle<'_>, image: &Examined<'_, 'a>) -> OfImage<'a> {
    let all = &image.image.properties;
    let (mut sorted, mut shared, mut seen) = (OfImage::default(), BTreeMap::new(), HashSet::new());
    for set in &all.sets {
        let known = KnownSet::find(set.name);
        // Without kernels there are no facts of them.
        if !image.kernels.is_empty() && known.compare.is_in_facts(image.module.is_some()) {
            continue;
        }
        // Of properties of one name the first counts.
        for property in set.properties.iter().filter(|property| seen.insert((set.name, property.name))) {
            let decoded = (known.decode)(all, property, bundle.epoch);
            if let Some(Decoded::Defaults(values)) = decoded {
                let named = values.into_iter().map(|(name, value)| (format!("{}: {name}", set.name), value));
                if image.kernels.is_empty() {
                    sorted.rest.extend(named)
                } else {
                    shared.extend(named)
                }
                continue;
            }
            let value = match decoded {
                // The numbers of constants are the compiler's own choice.
                Some(Decoded::SpecConstant(parts)) => {
                    let places = parts.iter().map(|part| format!("{} bytes at offset {}", part.size, part.offset));
                    places.collect::<Vec<_>>().join("; ")
                }
                decoded => describe(decoded, property.value),
            };
            let name = format!("{}: {}", set.name, property.name);
            match known.kernel_of(property) {
                Some(kernel) => {
                    let own = if kernel == property.name { set.name.to_owned() } else { name };
                    sorted.kernels.entry(kernel).or_default().insert(own, value);
                }
                None if known.compare == Compare::WithImage && !image.kernels.is_empty() => {
                    shared.insert(name, value);
                }
                None => sorted.rest.push((name, value)),
            }
        }
    }
    sorted.shared = Arc::new(shared);
    sorted
}
