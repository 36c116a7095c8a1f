//! Which functions need more of a device than their callers' image declares?
//!
//! A kernel's source knows only the declaration of a `SYCL_EXTERNAL` function of another source. Once both are in one
//! image, every function of it is checked: the image gets the function's requirements, and there is a warning where the
//! declaration did not promise them. Rules and messages are those of the design document ("Error checking for
//! SYCL_EXTERNAL functions"). SPIR-V does not record a required sub-group size of functions that are no kernels; the
//! size recorded for a source without kernels is used for its functions.

use super::entry::{Entry, Kind};
use super::{Options, Source};
use crate::compat::aspects::Graph;
use crate::compat::aspects::code;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Warning about a function of an image, or about a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Warning {
    /// The function uses an aspect that its kernel's source does not expect.
    Aspect {
        /// Mangled name.
        function: String,
        /// SYCL name of the aspect.
        aspect: String,
    },
    /// The function requires another sub-group size than its kernel.
    SubGroup {
        /// Mangled name.
        function: String,
        /// Size that it requires.
        size: u32,
    },
    /// The function was compiled for other fixed targets.
    FixedTargets {
        /// Mangled name.
        function: String,
    },
    /// Kernels of several images use a variable, of which each image has its own.
    SharedVariable {
        /// Symbol, name or id.
        variable: String,
        /// Number of images.
        images: usize,
    },
}

impl Warning {
    /// Returns the message of the design document; `name` formats the function's name.
    pub(crate) fn text(&self, name: impl Fn(&str) -> String) -> String {
        match self {
            Warning::Aspect { function, aspect } => format!(
                "function '{}' uses aspect '{aspect}' not expected by its calling kernel.\nMissing \
                 [[sycl::device_has()]] on SYCL_EXTERNAL function?",
                name(function)
            ),
            Warning::SubGroup { function, size } => format!(
                "function '{}' has required sub-group size '{size}' that does not match its calling kernel.  Missing \
                 [[sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?",
                name(function)
            ),
            Warning::FixedTargets { function } => format!(
                "function '{}' compiled with a different `-fsycl-fixed-targets` switch than its calling kernel.",
                name(function)
            ),
            Warning::SharedVariable { variable, images } => format!(
                "variable '{}' is in {images} images, each of which has its own: what kernels of one image write, those of \
                 another do not see",
                name(variable)
            ),
        }
    }
}

/// Requirements of an image after the check (the document's Final sets).
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Aspects; shared with the first entry where they are the same.
    pub(super) aspects: Rc<BTreeSet<String>>,
    pub(super) sub_groups: BTreeSet<u32>,
    pub(super) work_group: Option<[u32; 3]>,
    pub(super) dimensions: Option<u32>,
    pub(super) fixed_targets: Option<BTreeMap<u32, String>>,
    pub(super) warnings: Vec<Warning>,
}

/// Functions of all sources, with the requirements of each by its own source alone, and the call graph.
pub(super) struct LinkedSources<'s> {
    /// Aspects by source and position of the function.
    needs: Vec<Vec<BTreeSet<String>>>,
    /// Source and position of the function that defines a symbol.
    definitions: HashMap<&'s str, (usize, usize)>,
    /// Positions of the kernels' functions, by source and kernel.
    kernels: HashMap<(usize, &'s str), usize>,
}

impl<'s> LinkedSources<'s> {
    pub(super) fn collect(sources: &'s [Source]) -> LinkedSources<'s> {
        let (mut definitions, mut kernels) = (HashMap::new(), HashMap::new());
        let mut needs = Vec::with_capacity(sources.len());
        // The compiler of a single source has seen everything.
        let several = sources.iter().enumerate().filter(|_| sources.len() > 1);
        for (number, source) in several {
            for (place, node) in source.code.nodes.iter().enumerate() {
                if let (code::Kind::Defined, Some(symbol)) = (node.kind, &node.symbol) {
                    definitions.entry(&**symbol).or_insert((number, place));
                }
            }
            for kernel in &source.code.kernels {
                if let Some(node) = kernel.node {
                    kernels.entry((number, &*kernel.name)).or_insert(node);
                }
            }
            needs.push(needs_of(source));
        }
        LinkedSources { needs, definitions, kernels }
    }

    /// Returns all functions with a body that the members of an image reach, in the order of sources and modules.
    fn reached(&self, sources: &[Source], members: &[&Entry<'_>]) -> BTreeSet<(usize, usize)> {
        let mut queue: Vec<(usize, usize)> = members
            .iter()
            .filter_map(|entry| match entry.kind {
                Kind::Kernel(_) => Some((entry.source, *self.kernels.get(&(entry.source, &*entry.name))?)),
                Kind::Function(_) => self.definitions.get(&*entry.name).copied(),
            })
            .collect();
        let mut met: BTreeSet<(usize, usize)> = queue.iter().copied().collect();
        while let Some((number, place)) = queue.pop() {
            let Some(node) = sources.get(number).and_then(|source| source.code.nodes.get(place)) else { continue };
            let provider = node.symbol.as_ref().filter(|_| node.kind == code::Kind::Declared);
            let provider = provider.and_then(|symbol| self.definitions.get(&**symbol)).copied();
            for next in node.calls.iter().map(|call| (number, call.to())).chain(provider) {
                if met.insert(next) {
                    queue.push(next);
                }
            }
        }
        let defined = |(number, place): &(usize, usize)| {
            let node = sources.get(*number).and_then(|source| source.code.nodes.get(*place));
            node.is_some_and(|node| node.kind == code::Kind::Defined)
        };
        met.into_iter().filter(defined).collect()
    }
}

/// Returns the aspects that each function of a source needs, as its compiler computes them.
fn needs_of(source: &Source) -> Vec<BTreeSet<String>> {
    let graph = Graph::link(std::slice::from_ref(&source.code));
    let mut shown = BTreeSet::new();
    let places = 0..source.code.nodes.len();
    let mut needs: Vec<BTreeSet<String>> = places
        .map(|place| {
            let used = graph.used(0, place);
            shown.extend(used.iter().map(|aspect| aspect.name().to_owned()));
            let counts = |name: &str, by_rule: bool| match &source.recorded {
                Some(recorded) => recorded.contains(name),
                None => by_rule,
            };
            let used = used.into_iter().filter(|aspect| counts(aspect.name(), aspect.recorded_by_compiler()));
            used.map(|aspect| aspect.name().to_owned()).collect()
        })
        .collect();
    // An aspect that is declared but used nowhere is attributed to the functions that other sources can call.
    let hidden: Vec<&String> = source.recorded.iter().flat_map(|all| all.difference(&shown)).collect();
    for (node, needs) in source.code.nodes.iter().zip(&mut needs) {
        if source.code.kernels.is_empty() && node.kind == code::Kind::Defined && node.symbol.is_some() {
            needs.extend(hidden.iter().map(|name| (*name).clone()));
        }
    }
    needs
}

/// Checks the functions of an image.
pub(super) fn check(
    linked: &LinkedSources<'_>,
    sources: &[Source],
    members: &[&Entry<'_>],
    options: &Options<'_>,
) -> Checked {
    let mut checked = Checked::default();
    let used: BTreeSet<&String> = members.iter().flat_map(|entry| &*entry.aspects).collect();
    let sizes: BTreeSet<u32> = members.iter().filter_map(|entry| entry.sub_group).collect();
    // An image is fixed to targets if its kernels are.
    let of_source = |number: usize| sources.get(number).and_then(|source| source.fixed_targets.as_ref());
    let mut all_fixed = members.iter().filter_map(|entry| of_source(entry.source));
    let fixed = all_fixed.clone().find(|targets| !targets.is_empty()).or_else(|| all_fixed.next());
    let functions = if sources.len() > 1 { linked.reached(sources, members) } else { BTreeSet::new() };
    let name = |(number, place): (usize, usize)| {
        let node = sources.get(number).and_then(|source| source.code.nodes.get(place));
        node.map(|node| node.name().into_owned()).unwrap_or_default()
    };
    if let Some(fixed) = fixed {
        let mut targets = fixed.clone();
        for function in functions {
            let Some(theirs) = of_source(function.0) else { continue };
            if !theirs.is_subset(fixed) {
                checked.warnings.push(Warning::FixedTargets { function: name(function) });
                targets.retain(|target| theirs.contains(target));
            }
        }
        let numbered = targets.into_iter().map(|target| ((options.target_number)(&target), target));
        checked.fixed_targets = Some(numbered.collect());
        return checked;
    }
    let mut aspects: BTreeSet<String> = used.iter().map(|name| (*name).clone()).collect();
    checked.sub_groups = sizes.clone();
    for function in functions {
        let needs = linked.needs.get(function.0).and_then(|source| source.get(function.1));
        for aspect in needs.into_iter().flatten().filter(|aspect| !used.contains(aspect)) {
            checked.warnings.push(Warning::Aspect { function: name(function), aspect: aspect.clone() });
            aspects.insert(aspect.clone());
        }
        let source = sources.get(function.0).filter(|source| source.code.kernels.is_empty());
        let recorded = source.map(|source| source.sub_groups.as_slice()).unwrap_or_default();
        for &size in recorded.iter().filter(|size| !sizes.contains(size)) {
            checked.warnings.push(Warning::SubGroup { function: name(function), size });
            checked.sub_groups.insert(size);
        }
    }
    // Internal aspects only serve splitting.
    aspects.retain(|name| !internal(name));
    let first = members.first().map(|entry| &entry.aspects).filter(|known| ***known == aspects);
    checked.aspects = first.map_or_else(|| Rc::new(aspects), Rc::clone);
    // An image can declare one size; kernels of different sizes are checked when they are launched.
    checked.work_group = common(members.iter().map(|entry| entry.work_group));
    checked.dimensions = common(members.iter().map(|entry| entry.dimensions));
    checked
}

/// Returns the common value, if all have the same.
fn common<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|next| next.as_ref() == Some(&first)).then_some(first)
}

/// Whether an aspect is internal to the compiler, which its negative number shows.
fn internal(aspect: &str) -> bool {
    aspect.strip_prefix("aspect#").and_then(|number| number.parse::<u32>().ok()).is_some_and(|n| n > i32::MAX as u32)
}
