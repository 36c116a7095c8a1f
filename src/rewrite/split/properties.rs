//! Which property sets does each image of a split get?
//!
//! Sets that follow from code are rewritten, in DPC++'s order. All other properties of the input go to the images they
//! concern: those of a kernel, symbol, variable or specialization constant to the images that have it, and those of the
//! whole image to all. No sets are added that the input does not have, except that a module without any property sets
//! gets those that its code implies.
//!
//! The subject of each property is found once for all images, so that the cost of one image grows with what it gets.
//!
//! A constant stays where the module has any of its parts, or no module of the split has one. The blob of defaults
//! holds the values one after another in the order of the set, each up to the end of its last part, so it is cut
//! accordingly.

use super::check::Checked;
use super::entry::{Entry, Kind, Variable};
use super::{Input, Options};
use crate::bundle::property::{Properties, Property, PropertySet, Value};
use crate::bundle::property_sets::{About, GLOBAL_ID, KnownSet, Share, key, set};
use crate::bundle::requirements::FIXED_TARGET_NAMES;
use crate::bundle::spec_constants::constants;
use crate::compat::built_in::can_be_imported;
use crate::container::Arena;
use crate::error::Result;
use crate::rewrite::property_sets::{ImageFacts, KernelFacts, byte_array, implied_by_code, names, requirements};
use crate::spirv::Module;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Requirements that follow from code.
const OF_CODE: [&str; 4] = [key::ASPECTS[0], key::ASPECTS[1], "fixed_target", FIXED_TARGET_NAMES];
/// Required sizes, which follow from code where it has any.
const SIZES: [&str; 4] =
    ["reqd_sub_group_size", "reqd_work_group_size", "reqd_work_group_size_uint64_t", "work_group_num_dim"];

/// Facts of an image of the split.
pub(super) struct Part<'p> {
    pub(super) members: &'p [&'p Entry<'p>],
    pub(super) symbols: &'p Symbols,
    pub(super) checked: &'p Checked,
    /// Names of its functions, where a property is about functions.
    pub(super) functions: &'p HashSet<String>,
}

/// Symbols of a module that properties may be about.
#[derive(Debug)]
pub(super) struct Symbols {
    pub(super) exports: Vec<String>,
    pub(super) imports: Vec<String>,
    pub(super) spec_constants: Vec<u32>,
}

impl Symbols {
    pub(super) fn from_module(module: Module) -> Symbols {
        let Module { mut exports, imports, spec_constants, host_names, .. } = module;
        exports.extend(host_names);
        Symbols { exports, imports, spec_constants }
    }
}

/// Facts of the module that is split.
pub(super) struct SplitModule<'w> {
    pub(super) variables: &'w [Variable],
    /// Names of its kernels.
    pub(super) kernels: &'w HashSet<Cow<'w, str>>,
    /// Names of its functions, where a property is about functions.
    pub(super) functions: &'w HashSet<String>,
    /// Numbers of the specialization constants of all parts.
    pub(super) constants: &'w HashSet<u32>,
    /// Whether the code of some kernel requires sizes.
    pub(super) has_sizes: bool,
}

/// Subject of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Subject<'n> {
    Kernel(&'n str),
    Function(&'n str),
    Export(&'n str),
    Import(&'n str),
    /// Whole image, or a subject that the module does not have.
    All,
    Nobody,
}

/// Property sets of an input, by subject.
pub(super) struct InputProperties<'c, 'k> {
    input: &'c Input<'c, 'k>,
    /// Positions (set, property) by subject, in order.
    about: HashMap<Subject<'c>, Vec<(usize, usize)>>,
    /// Position of each symbol in the list of exported ones.
    listed: HashMap<&'k str, usize>,
    /// Position of each variable, by symbol.
    variables: HashMap<&'c str, usize>,
    constants: Constants<'k>,
    /// Whether the code of some kernel requires sizes.
    has_sizes: bool,
}

impl<'c, 'k> InputProperties<'c, 'k> {
    pub(super) fn collect(input: &'c Input<'c, 'k>, whole: &SplitModule<'c>) -> Self {
        let unique =
            whole.variables.iter().filter_map(|variable| Some((variable.unique.as_deref()?, &*variable.symbol)));
        let symbols: HashMap<&str, &str> = unique.collect();
        let mut about: HashMap<Subject<'c>, Vec<(usize, usize)>> = HashMap::new();
        for (number, set) in input.image.properties.sets.iter().enumerate() {
            let known = KnownSet::find(set.name);
            for (place, property) in set.properties.iter().enumerate() {
                about.entry(subject(known, property, whole, &symbols)).or_default().push((number, place));
            }
        }
        let mut listed = HashMap::new();
        for (place, symbol) in input.image.exports().into_iter().enumerate() {
            listed.entry(symbol).or_insert(place);
        }
        let places = whole.variables.iter().enumerate();
        InputProperties {
            input,
            about,
            listed,
            variables: places.map(|(place, variable)| (variable.symbol.as_str(), place)).collect(),
            constants: Constants::collect(&input.image.properties, whole.constants),
            has_sizes: whole.has_sizes,
        }
    }

    /// Returns the sets of an image.
    ///
    /// # Errors
    /// `Usage` where an aspect has no number in the epoch asked for.
    pub(super) fn properties(
        &self,
        arena: &'k Arena,
        options: &Options<'_>,
        part: &Part<'_>,
    ) -> Result<Properties<'k>> {
        let facts = self.facts(part);
        let theirs = &self.input.image.properties;
        if theirs.sets.is_empty() {
            return implied_by_code(arena, &facts, options.epoch);
        }
        let mut own = requirements(arena, &facts, options.epoch)?;
        let recorded = theirs.set(set::REQUIREMENTS).iter();
        // Dimensions alone require nothing.
        let is_sized = recorded.clone().any(|property| property.name.starts_with("reqd_work_group_size"));
        let follows = |property: &&Property<'k>| match property.name {
            "work_group_num_dim" if !is_sized => true,
            name => OF_CODE.contains(&name) || self.has_sizes && SIZES.contains(&name),
        };
        let is_known = |property: &&Property<'k>| own.properties.iter().any(|known| known.name == property.name);
        let stated: Vec<Property<'k>> =
            recorded.filter(|property| !follows(property) && !is_known(property)).copied().collect();
        own.properties.extend(stated);
        let mut sets = vec![own];
        let places = self.places(part, &facts);
        let mut rest = places.as_slice();
        for (number, set) in theirs.sets.iter().enumerate() {
            let (here, after) = rest.split_at(rest.partition_point(|(of, _)| *of == number));
            rest = after;
            let stays = match KnownSet::find(set.name).share {
                Share::Requirements | Share::Defaults => false,
                Share::SeveralKernels if part.members.len() < 2 => false,
                Share::Constants => {
                    sets.extend(self.constants.for_numbers(arena, &part.symbols.spec_constants)?);
                    false
                }
                Share::Exports => {
                    let symbols: Vec<&str> = facts.exported.iter().map(String::as_str).collect();
                    sets.extend(names(arena, set::EXPORTED, &symbols)?);
                    false
                }
                Share::EvenIfEmpty => true,
                // An empty set of the input stays; oneMKL's images have such.
                Share::BySubject | Share::SeveralKernels => !here.is_empty() || set.properties.is_empty(),
            };
            if stays {
                let properties = here.iter().filter_map(|(_, place)| set.properties.get(*place).copied()).collect();
                sets.push(PropertySet { name: set.name, properties });
            }
        }
        Ok(Properties { sets })
    }

    /// Returns the positions of the properties that a part gets, in order.
    fn places(&self, part: &Part<'_>, facts: &ImageFacts) -> Vec<(usize, usize)> {
        let kernels = facts.kernels.iter().map(|kernel| Subject::Kernel(&kernel.name));
        let functions = part.functions.iter().map(|name| Subject::Function(name));
        let exports = part.symbols.exports.iter().map(|symbol| Subject::Export(symbol));
        let imports = part.symbols.imports.iter().map(|symbol| Subject::Import(symbol));
        let subjects = std::iter::once(Subject::All).chain(kernels).chain(functions).chain(exports).chain(imports);
        let mut places: Vec<(usize, usize)> =
            subjects.filter_map(|subject| self.about.get(&subject)).flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn facts(&self, part: &Part<'_>) -> ImageFacts {
        let told = !self.input.image.properties.sets.is_empty();
        let kernels = part.members.iter().filter(|entry| matches!(entry.kind, Kind::Kernel(_)));
        let functions = part.members.iter().filter(|entry| matches!(entry.kind, Kind::Function(_)));
        let mut exported: Vec<String> = functions.map(|entry| entry.name.clone().into_owned()).collect();
        // The host may look up a variable by its symbol.
        let exports = part.symbols.exports.iter();
        let mut variables: Vec<(usize, &String)> =
            exports.filter_map(|symbol| Some((*self.variables.get(symbol.as_str())?, symbol))).collect();
        variables.sort_unstable();
        variables.dedup();
        exported.extend(variables.into_iter().map(|(_, symbol)| symbol.clone()));
        // In DPC++'s order: symbols keep their order in the input's list.
        if told {
            exported.retain(|name| self.listed.contains_key(name.as_str()));
            exported.sort_by_key(|name| self.listed.get(name.as_str()));
        }
        ImageFacts {
            aspects: BTreeSet::clone(&part.checked.aspects),
            fixed_targets: part.checked.fixed_targets.clone(),
            work_group: part.checked.work_group,
            dimensions: part.checked.dimensions,
            sub_groups: part.checked.sub_groups.clone(),
            kernels: kernels
                .map(|entry| KernelFacts {
                    name: entry.name.clone().into_owned(),
                    work_group: entry.work_group,
                    dimensions: entry.dimensions,
                    sub_group: entry.sub_group,
                    max_work_group: entry.max_work_group,
                })
                .collect(),
            exported,
            imported: part.symbols.imports.iter().filter(|symbol| can_be_imported(symbol)).cloned().collect(),
        }
    }
}

/// Returns the subject of a property. `symbols` maps the names that list device globals to their symbols.
fn subject<'c>(
    set: &KnownSet,
    property: &Property<'c>,
    whole: &SplitModule<'c>,
    symbols: &HashMap<&str, &'c str>,
) -> Subject<'c> {
    if matches!(set.share, Share::Requirements | Share::Exports | Share::Constants | Share::Defaults) {
        return Subject::Nobody;
    }
    match set.about {
        About::Import => Subject::Import(property.name),
        About::KernelOrFunction if whole.kernels.contains(property.name) => Subject::Kernel(property.name),
        About::KernelOrFunction if whole.functions.contains(property.name) => Subject::Function(property.name),
        About::KernelOrFunction => Subject::All,
        About::DeviceGlobal => symbols.get(property.name).map_or(Subject::All, |symbol| Subject::Export(symbol)),
        About::KernelBeforeKey if property.name.rsplit_once('@').is_some_and(|(_, key)| key == GLOBAL_ID) => {
            property.value.text().map_or(Subject::All, Subject::Export)
        }
        _ => set.kernel_of(property).map_or(Subject::All, Subject::Kernel),
    }
}

/// Specialization constants of an input.
pub(super) struct Constants<'k> {
    /// Constants with their default values.
    all: Vec<(Property<'k>, &'k [u8])>,
    /// Positions of the constants that a number is part of.
    by_number: HashMap<u32, Vec<usize>>,
    /// Constants that no part of the split uses; every image keeps them.
    unused: Vec<usize>,
    has_defaults: bool,
}

impl<'k> Constants<'k> {
    /// Collects the constants of an input; `used` are the numbers that any part of the split uses.
    pub(super) fn collect(all: &Properties<'k>, used: &HashSet<u32>) -> Constants<'k> {
        let has_defaults = all.get(set::SPEC_DEFAULTS, "all").and_then(|value| value.payload()).is_some();
        let mut found = Constants { all: Vec::new(), by_number: HashMap::new(), unused: Vec::new(), has_defaults };
        for (place, (property, constant)) in all.set(set::SPEC_CONSTANTS).iter().zip(constants(all)).enumerate() {
            let mut is_used = false;
            for id in constant.parts().map(|part| part.id).filter(|id| used.contains(id)) {
                is_used = true;
                found.by_number.entry(id).or_default().push(place);
            }
            if !is_used {
                found.unused.push(place);
            }
            // A blob that is too short yields empty defaults past its end.
            found.all.push((*property, constant.default.unwrap_or_default()));
        }
        found
    }

    /// Returns the two sets of an image with the constants of these numbers.
    ///
    /// # Errors
    /// `Input` where the arena is full.
    pub(super) fn for_numbers(&self, arena: &'k Arena, numbers: &[u32]) -> Result<Vec<PropertySet<'k>>> {
        let mut places: Vec<usize> =
            numbers.iter().filter_map(|number| self.by_number.get(number)).flatten().copied().collect();
        places.extend(&self.unused);
        places.sort_unstable();
        places.dedup();
        let kept: Vec<&(Property<'k>, &'k [u8])> = places.iter().filter_map(|place| self.all.get(*place)).collect();
        let mut sets = Vec::new();
        if !kept.is_empty() {
            let properties = kept.iter().map(|(property, _)| *property).collect();
            sets.push(PropertySet { name: set::SPEC_CONSTANTS, properties });
            if self.has_defaults {
                let values: Vec<u8> = kept.iter().flat_map(|(_, value)| *value).copied().collect();
                let value: Value<'k> = byte_array(arena, &values)?;
                sets.push(PropertySet { name: set::SPEC_DEFAULTS, properties: vec![Property { name: "all", value }] });
            }
        }
        Ok(sets)
    }
}
