//! Which kernels and exported functions does a module have, and what does each need?
//!
//! Aspects that were recorded for a whole image go to the kernels whose code shows them; those that no code shows (declared
//! ones, or what the optimiser removed) cannot be told apart and go to every kernel, so that no requirement is lost. Of
//! a module without records, the aspects are those that DPC++ would record.

use super::{Input, Source};
use crate::bundle::aspect;
use crate::bundle::decode::{Decoded, decode};
use crate::bundle::image::Image;
use crate::bundle::property::{Property, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::{Aspect, Graph, code};
use crate::spirv::index::{Index, LinkageKind};
use crate::spirv::kernel::attributes::{Attributes, SubGroup};
use crate::spirv::subset;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A kernel or an exported function.
#[derive(Debug, Clone)]
pub struct Entry<'k> {
    /// Its mangled name.
    pub name: Cow<'k, str>,
    /// What it is.
    pub kind: Kind,
    /// The number of its source.
    pub source: usize,
    /// The aspects that it uses or declares, by SYCL name, which many entries share. Internal ones (negative numbers) are
    /// among them.
    pub aspects: Rc<BTreeSet<String>>,
    /// The work-group size that it requires, x first.
    pub work_group: Option<[u32; 3]>,
    /// How many dimensions its source gave for its work-group sizes, where something tells.
    pub dimensions: Option<u32>,
    /// The sub-group size that it requires; none for named ones.
    pub sub_group: Option<u32>,
    /// The largest work-group size that it allows, x first.
    pub max_work_group: Option<[u32; 3]>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A kernel, by its place among the entry points.
    Kernel(usize),
    /// An exported function, by its id.
    Function(u32),
}

impl Entry<'_> {
    pub(super) fn kernel(&self) -> Option<usize> {
        if let Kind::Kernel(place) = self.kind { Some(place) } else { None }
    }

    pub(super) fn function(&self) -> Option<u32> {
        if let Kind::Function(id) = self.kind { Some(id) } else { None }
    }
}

/// A variable that is exported.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its id.
    pub id: u32,
    /// Its symbol.
    pub symbol: String,
    /// The name by which "SYCL/device globals" lists it, where that tells.
    pub unique: Option<String>,
    /// Whether each image has one of its own, so that one image alone may have it.
    pub image_scope: bool,
    /// Whether every image has it, used or not: the host finds it in any of them.
    pub everywhere: bool,
}

/// Exported variables. Of a module that nothing else is known of, each image has those it uses.
pub(super) fn variables(index: &Index<'_>, image: &Image<'_>) -> Vec<Variable> {
    let known = !image.properties.sets.is_empty();
    let globals = image.properties.set(set::DEVICE_GLOBALS);
    let mapped: HashMap<&str, &str> = image
        .properties
        .set(set::PROGRAM_METADATA)
        .iter()
        .filter_map(|property| Some((property.value.text()?, property.name.strip_suffix("@global_id_mapping")?)))
        .collect();
    let linked = index.linked().into_iter();
    let exported = linked.filter(|(id, linkage)| linkage.kind == LinkageKind::Export && index.function(*id).is_none());
    exported
        .map(|(id, linkage)| {
            let unique = mapped.get(linkage.name.as_str()).copied();
            let name = unique.unwrap_or(&linkage.name);
            let listed = globals.iter().find(|property| property.name == name);
            let image_scope = listed.is_some_and(|property| {
                let epoch = crate::bundle::aspect::Epoch::From2026;
                let decoded = decode(&image.properties, set::DEVICE_GLOBALS, property, epoch);
                matches!(decoded, Some(Decoded::DeviceGlobal { image_scope: true, .. }))
            });
            Variable {
                id,
                unique: listed.map(|property| property.name.to_owned()),
                image_scope,
                everywhere: known && !image_scope,
                symbol: linkage.name,
            }
        })
        .collect()
}

/// The kernels and exported functions of an image, in the order of the module: kernels by their entry points, then
/// functions. Where property sets tell what is exported, that counts.
pub(super) fn entries<'k>(index: &Index<'k>, input: &Input<'_, '_>) -> Vec<Entry<'k>> {
    let of_kernels = listed_aspects(input);
    let needs: Vec<Needs> = input.sources.iter().map(|source| Needs::of(source, &of_kernels)).collect();
    let recorded = Requirements::of(input.image, input.epoch);
    let dimensions = Dimensions::of(input.image, &recorded);
    let told = !input.image.properties.sets.is_empty();
    let listed: HashSet<&str> = input.image.exports().into_iter().collect();
    let mut entries = Vec::new();
    for (place, point) in index.entry_points.iter().enumerate() {
        let attributes = Attributes::read(index, point.function);
        let (source, aspects) = aspects(&needs, &point.name);
        entries.push(Entry {
            name: point.name.clone(),
            kind: Kind::Kernel(place),
            source,
            aspects,
            work_group: attributes.work_group_size,
            dimensions: dimensions.get(&point.name, attributes.work_group_size),
            sub_group: match attributes.sub_group_size {
                Some(SubGroup::Size(size)) => Some(size),
                _ => None,
            },
            max_work_group: attributes.max_work_group_size,
        });
    }
    let exported = subset::exported(index).into_iter();
    for (id, name) in exported.filter(|(_, name)| !told || listed.contains(name.as_str())) {
        let (source, aspects) = aspects(&needs, &name);
        let sub_group =
            input.sources.get(source).and_then(|source| source.sub_group.filter(|_| source.code.kernels.is_empty()));
        entries.push(Entry {
            name: name.into(),
            kind: Kind::Function(id),
            source,
            aspects,
            work_group: None,
            dimensions: None,
            sub_group,
            max_work_group: None,
        });
    }
    entries
}

/// How many dimensions sources gave for work-group sizes, where property sets tell.
struct Dimensions<'i> {
    /// By kernel, where the image says something of kernels.
    by_kernel: Option<HashMap<&'i str, u32>>,
    /// Of the image, with the size that it requires, x last.
    of_image: Option<(u32, &'i [u64])>,
}

impl<'i> Dimensions<'i> {
    fn of(image: &Image<'i>, recorded: &'i Requirements) -> Dimensions<'i> {
        let metadata = image.properties.set(set::PROGRAM_METADATA);
        let of_kernel = |property: &Property<'i>| {
            Some((property.name.strip_suffix("@work_group_num_dim")?, property.value.number()?))
        };
        let of_image = image.properties.get(set::REQUIREMENTS, "work_group_num_dim").and_then(|value| value.number());
        Dimensions {
            // Of properties of one name the first counts.
            by_kernel: (!metadata.is_empty()).then(|| metadata.iter().rev().filter_map(of_kernel).collect()),
            of_image: of_image.zip(recorded.reqd_work_group_size.as_deref()),
        }
    }

    /// Those of the kernel, or else those of the image, where that says nothing of kernels and requires the same size.
    fn get(&self, kernel: &str, size: Option<[u32; 3]>) -> Option<u32> {
        if let Some(known) = &self.by_kernel {
            return known.get(kernel).copied();
        }
        let (dimensions, known) = self.of_image?;
        let x_first = known.iter().rev().copied().chain(std::iter::repeat(1));
        x_first.zip(size?).all(|(known, size)| known == u64::from(size)).then_some(dimensions)
    }
}

/// What the entries of one source need.
struct Needs {
    /// By name; of kernels and of functions that are linked.
    aspects: HashMap<String, Rc<BTreeSet<String>>>,
}

impl Needs {
    /// `listed` are the aspects that a linked image lists by kernel.
    fn of(source: &Source, listed: &HashMap<&str, Vec<String>>) -> Needs {
        let graph = Graph::of(std::slice::from_ref(&source.code));
        let used = |node: Option<usize>| -> BTreeSet<Aspect> {
            node.map(|node| graph.used(0, node).into_iter().collect()).unwrap_or_default()
        };
        let mut found: HashMap<String, BTreeSet<Aspect>> = HashMap::new();
        for (place, node) in source.code.nodes.iter().enumerate() {
            // What a source imports is another's.
            if let (code::Kind::Defined, Some(symbol)) = (node.kind, &node.symbol) {
                found.insert(symbol.clone(), used(Some(place)));
            }
        }
        for kernel in &source.code.kernels {
            found.insert(kernel.name.clone(), used(kernel.node));
        }
        let mut shared: BTreeSet<Rc<BTreeSet<String>>> = BTreeSet::new();
        let mut share = |set: BTreeSet<String>| match shared.get(&set) {
            Some(known) => known.clone(),
            None => {
                let new = Rc::new(set);
                shared.insert(new.clone());
                new
            }
        };
        let aspects = match &source.recorded {
            Some(recorded) => {
                let shown: BTreeSet<String> = found.values().flat_map(names).collect();
                let of_one: HashSet<&String> = listed.values().flatten().collect();
                let hidden: Vec<&String> =
                    recorded.difference(&shown).filter(|aspect| !of_one.contains(aspect)).collect();
                let of = |name: &String, aspects| -> BTreeSet<String> {
                    let own = listed.get(name.as_str()).into_iter().flatten();
                    let used = names(aspects).filter(|aspect| recorded.contains(aspect));
                    used.chain(hidden.iter().copied().chain(own).cloned()).collect()
                };
                found.iter().map(|(name, aspects)| (name.clone(), share(of(name, aspects)))).collect()
            }
            None => {
                let of = |aspects: &BTreeSet<Aspect>| {
                    aspects
                        .iter()
                        .filter(|aspect| aspect.recorded_by_compiler())
                        .map(|aspect| aspect.name().to_owned())
                        .collect()
                };
                found.iter().map(|(name, aspects)| (name.clone(), share(of(aspects)))).collect()
            }
        };
        Needs { aspects }
    }
}

/// The aspects that a linked image lists by kernel, since no code shows whose they are.
fn listed_aspects<'k>(input: &Input<'_, 'k>) -> HashMap<&'k str, Vec<String>> {
    let listed = input.image.properties.set(set::KERNEL_ASPECTS).iter();
    let names = |property: &Property<'k>| {
        let numbers = property.value.words().unwrap_or_default();
        (property.name, numbers.into_iter().map(|number| aspect::label(input.epoch, number)).collect())
    };
    listed.map(names).collect()
}

fn names(aspects: &BTreeSet<Aspect>) -> impl Iterator<Item = String> + '_ {
    aspects.iter().map(|aspect| aspect.name().to_owned())
}

/// The source of an entry and what it needs there.
fn aspects(needs: &[Needs], name: &str) -> (usize, Rc<BTreeSet<String>>) {
    let found = needs.iter().enumerate().find_map(|(source, needs)| Some((source, needs.aspects.get(name)?.clone())));
    found.unwrap_or_default()
}
