//! Which kernels and exported functions does a module have, and what does each need?
//!
//! Aspects recorded for a whole image go to the kernels whose code uses them. Those that no code uses (declared, or
//! removed by the optimiser) cannot be attributed and go to every kernel, so that no requirement is lost. A module
//! without records gets the aspects that DPC++ would record.

use super::{Input, Source};
use crate::bundle::aspect;
use crate::bundle::image::Image;
use crate::bundle::property::Property;
use crate::bundle::property_sets::{Decoded, decode, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::{Aspect, Graph, code};
use crate::spirv::index::{Index, Linkage};
use crate::spirv::kernel::{Attributes, SubGroup};
use crate::spirv::subset;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Kernel or exported function.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'k> {
    /// Mangled name.
    pub(crate) name: Cow<'k, str>,
    /// Kind of the entry.
    pub(crate) kind: Kind,
    /// Number of its source.
    pub(crate) source: usize,
    /// Aspects that it uses or declares, by SYCL name, shared by many entries. Internal ones (negative numbers) are
    /// among them.
    pub(crate) aspects: Rc<BTreeSet<String>>,
    /// Required work-group size, x first.
    pub(crate) work_group: Option<[u32; 3]>,
    /// Number of dimensions of its work-group sizes in the source, where it is known.
    pub(crate) dimensions: Option<u32>,
    /// Required sub-group size; none for named ones.
    pub(crate) sub_group: Option<u32>,
    /// Maximum work-group size, x first.
    pub(crate) max_work_group: Option<[u32; 3]>,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Kernel, by position among the entry points.
    Kernel(usize),
    /// Exported function, by id.
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

/// Variable that others look for: an exported one, or a device global.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    /// Id of the variable.
    pub(crate) id: u32,
    /// Symbol of the variable; of a device global that only the module sees the name by which the host looks for it.
    pub(crate) symbol: String,
    /// Unique name in "SYCL/device globals", where it is listed there.
    pub(crate) unique: Option<String>,
    /// Whether each image has its own instance, so that only one image may have it.
    pub(crate) image_scope: bool,
    /// Whether every image has it, used or not, since the host looks for it in any of them.
    pub(crate) everywhere: bool,
}

/// Returns the exported variables and the device globals. In a module without property sets each image gets those it uses, and
/// the last one those of none.
pub(super) fn variables(index: &Index<'_>, image: &Image<'_>) -> Vec<Variable> {
    let known = !image.properties.sets.is_empty();
    let globals = image.properties.set(set::DEVICE_GLOBALS);
    let mapped: HashMap<&str, &str> = image.symbols_of_globals().map(|(unique, symbol)| (symbol, unique)).collect();
    let linked = index.linked().into_iter();
    let listed: HashSet<&str> = image.exports().into_iter().collect();
    let accessed: HashSet<u32> = index.host_accessed().map(|(id, _)| id).collect();
    let is_looked_for = |id: &u32, linkage: &Linkage| {
        !linkage.kind.is_discardable() || listed.contains(linkage.name.as_str()) || accessed.contains(id)
    };
    let exported = linked.filter(|(id, linkage)| {
        linkage.kind.is_exported() && is_looked_for(id, linkage) && index.function(*id).is_none()
    });
    let exported = exported.map(|(id, linkage)| (id, linkage.name));
    // The host looks for the others, too.
    let own = index.host_named().into_iter();
    let own = own.filter(|(_, name)| globals.iter().any(|property| property.name == name));
    exported
        .chain(own)
        .map(|(id, symbol)| {
            let unique = mapped.get(symbol.as_str()).copied();
            let name = unique.unwrap_or(&symbol);
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
                symbol,
            }
        })
        .collect()
}

/// Returns the kernels and exported functions of an image in module order: kernels by their entry points, then
/// functions. A property set of exports overrides the module's linkage.
pub(super) fn entries<'k>(index: &Index<'k>, input: &Input<'_, '_>) -> Vec<Entry<'k>> {
    let of_kernels = listed_aspects(input);
    let needs: Vec<Needs> = input.sources.iter().map(|source| Needs::collect(source, &of_kernels)).collect();
    let recorded = Requirements::read(input.image, input.epoch);
    let dimensions = Dimensions::read(input.image, &recorded);
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
            sub_group: attributes.sub_group_size.and_then(SubGroup::size),
            max_work_group: attributes.max_work_group_size,
        });
    }
    let is_one = |linkage: &Linkage| {
        if told { listed.contains(linkage.name.as_str()) } else { !linkage.kind.is_discardable() }
    };
    for (id, Linkage { name, .. }) in subset::exported(index).into_iter().filter(|(_, linkage)| is_one(linkage)) {
        let (source, aspects) = aspects(&needs, &name);
        let sub_group = input
            .sources
            .get(source)
            .and_then(|source| source.sub_groups.first().copied().filter(|_| source.code.kernels.is_empty()));
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

/// Number of dimensions of work-group sizes in the source, from property sets.
struct Dimensions<'i> {
    /// Numbers by kernel, where the image has metadata of kernels.
    by_kernel: Option<HashMap<&'i str, u32>>,
    /// Number for the image, with its required size, x last.
    of_image: Option<(u32, &'i [u64])>,
}

impl<'i> Dimensions<'i> {
    fn read(image: &Image<'i>, recorded: &'i Requirements) -> Dimensions<'i> {
        let metadata = image.properties.set(set::PROGRAM_METADATA);
        let of_kernel = |property: &Property<'i>| {
            Some((property.name.strip_suffix("@work_group_num_dim")?, property.value.number()?))
        };
        let of_image = image.properties.number(set::REQUIREMENTS, "work_group_num_dim");
        Dimensions {
            // The first of several properties of one name counts.
            by_kernel: (!metadata.is_empty()).then(|| metadata.iter().rev().filter_map(of_kernel).collect()),
            of_image: of_image.zip(recorded.reqd_work_group_size()),
        }
    }

    /// Returns the number for a kernel, or else that of the image, where it has no metadata of kernels and requires the
    /// same size.
    fn get(&self, kernel: &str, size: Option<[u32; 3]>) -> Option<u32> {
        if let Some(known) = &self.by_kernel {
            return known.get(kernel).copied();
        }
        let (dimensions, known) = self.of_image?;
        let x_first = known.iter().rev().copied().chain(std::iter::repeat(1));
        x_first.zip(size?).all(|(known, size)| known == u64::from(size)).then_some(dimensions)
    }
}

/// Aspects that the entries of one source need.
struct Needs {
    /// Aspects by name of a kernel or linked function.
    aspects: HashMap<String, Rc<BTreeSet<String>>>,
}

impl Needs {
    /// Collects the aspects of a source. `listed` are those that a linked image lists by kernel.
    fn collect(source: &Source, listed: &HashMap<&str, Vec<String>>) -> Needs {
        let graph = Graph::link(std::slice::from_ref(&source.code));
        let used = |node: Option<usize>| -> BTreeSet<Aspect> {
            node.map(|node| graph.used(0, node).into_iter().collect()).unwrap_or_default()
        };
        let mut found: HashMap<String, BTreeSet<Aspect>> = HashMap::new();
        for (place, node) in source.code.nodes.iter().enumerate() {
            // Imports belong to another source.
            if let (code::Kind::Defined, Some(symbol)) = (node.kind, &node.symbol) {
                found.insert(symbol.to_string(), used(Some(place)));
            }
        }
        for kernel in &source.code.kernels {
            found.insert(kernel.name.to_string(), used(kernel.node));
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

/// Returns the aspects that a linked image lists by kernel because no code shows them.
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

/// Returns the source of an entry and the aspects that it needs there.
fn aspects(needs: &[Needs], name: &str) -> (usize, Rc<BTreeSet<String>>) {
    let found = needs.iter().enumerate().find_map(|(source, needs)| Some((source, needs.aspects.get(name)?.clone())));
    found.unwrap_or_default()
}
