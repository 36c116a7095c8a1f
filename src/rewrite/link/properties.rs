//! Which property sets does a linked image have?
//!
//! Some required aspects do not show in code: they were declared, or the optimiser removed their use. The requirements of a linked image are those of all
//! its parts and do not say which kernel they come from, so hidden aspects are listed by kernel for a later `split`.
//!
//! Compilers number the specialization constants of each image from 0, and the property sets map names to numbers. In the result,
//! constants of one name get one number, and those of different names get different ones.
//! [`crate::bundle::spec_constants`] describes how they are stored.

use super::Input;
use crate::bundle::aspect::{self, Epoch};
use crate::bundle::property::{Properties, Property, PropertySet, Value};
use crate::bundle::property_sets::{KnownSet, Merge, key, set};
use crate::bundle::requirements::FIXED_TARGET_NAMES;
use crate::bundle::spec_constants::{PADDING, SpecConstant, constants};
use crate::compat::aspects::shown_by;
use crate::container::Arena;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::property_sets::{byte_array, text};
use crate::spirv::Module;
use crate::spirv::link::Linked;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Requirements on the work-group size. The runtime checks every launch of a kernel of the image against them.
const WORK_GROUP: [&str; 3] = ["reqd_work_group_size", "reqd_work_group_size_uint64_t", "work_group_num_dim"];
/// Requirements that fix the image, and so every kernel of it, to some targets.
const FIXED: [&str; 2] = ["fixed_target", FIXED_TARGET_NAMES];
/// Requirements whose parts are united.
const TEXTS: [&str; 2] = ["joint_matrix", "joint_matrix_mad"];

/// Merges the property sets of images into those of the linked image.
///
/// # Errors
/// `Input` for each property on which images contradict each other.
pub(crate) fn merge<'k>(
    arena: &'k Arena,
    inputs: &[Input<'_, '_>],
    linked: &Linked,
    (constants, hidden): (&Plan, &[KernelAspects<'_>]),
) -> Result<Properties<'k>, Vec<Error>> {
    let mut merger = Merger { arena, inputs, errors: Vec::new() };
    let mut names: Vec<&str> = Vec::new();
    for input in inputs {
        names.extend(input.image.properties.sets.iter().map(|set| set.name));
    }
    names.extend((!hidden.is_empty()).then_some(set::KERNEL_ASPECTS));
    let mut there = HashSet::new();
    names.retain(|name| there.insert(*name));
    let mut properties = Properties::default();
    for name in names {
        let set = match KnownSet::find(name).merge {
            Merge::Requirements => merger.requirements(),
            Merge::Exports => merger.symbols(name, &linked.exports),
            Merge::Imports => merger.symbols(name, &linked.imports),
            Merge::Constants => merger.constants(constants),
            Merge::Defaults => merger.defaults(constants),
            Merge::VirtualFunctions => merger.virtual_functions(),
            Merge::KernelAspects => merger.kernel_aspects(hidden),
            // The set marks images of the device library; an image linked from others is none.
            Merge::InAllOnly if !inputs.iter().all(|input| has(input, name)) => Ok(Vec::new()),
            Merge::Union | Merge::InAllOnly => merger.united(name),
            Merge::Agreement => merger.agreed(name),
        };
        match set.and_then(|set| Ok((text(arena, name)?, set))) {
            // An empty set may have a meaning, for example that no argument was removed.
            Ok((name, set)) if !set.is_empty() || !inputs.iter().any(|input| filled(input, name)) => {
                properties.sets.push(PropertySet { name, properties: set });
            }
            Ok(_) => {}
            Err(error) => merger.errors.push(error),
        }
    }
    if merger.errors.is_empty() { Ok(properties) } else { Err(merger.errors) }
}

fn has(input: &Input<'_, '_>, name: &str) -> bool {
    input.image.properties.sets.iter().any(|set| set.name == name)
}

fn filled(input: &Input<'_, '_>, name: &str) -> bool {
    !input.image.properties.set(name).is_empty()
}

struct Merger<'m, 'k> {
    arena: &'k Arena,
    inputs: &'m [Input<'m, 'm>],
    errors: Vec<Error>,
}

impl<'m, 'k> Merger<'m, 'k> {
    fn property(&self, name: &str, value: Value<'_>) -> Result<Property<'k>> {
        let keep = |bytes: &[u8]| self.arena.keep(bytes.to_vec());
        let value = match value {
            Value::U32(number) => Value::U32(number),
            Value::Bytes(bytes) => Value::Bytes(keep(bytes)?),
            Value::Text(bytes) => Value::Text(keep(bytes)?),
            Value::Unknown { kind, bytes } => Value::Unknown { kind, bytes: keep(bytes)? },
        };
        Ok(Property { name: text(self.arena, name)?, value })
    }

    /// Returns all properties of a set by name, each from the first image that has it. Values of one name must agree;
    /// if `kernels` is set, those of images without kernels are ignored on a conflict.
    fn gathered(&mut self, set: &str, skip: &[&str], kernels: bool) -> Vec<(&'m str, Value<'m>)> {
        let mut found: Vec<(&'m str, Value<'m>, usize)> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let inputs = self.inputs;
        for (number, input) in inputs.iter().enumerate() {
            for property in input.image.properties.set(set).iter().filter(|property| !skip.contains(&property.name)) {
                let at = *by_name.entry(property.name).or_insert_with(|| {
                    found.push((property.name, property.value, number));
                    found.len().saturating_sub(1)
                });
                let Some((_, value, first)) = found.get_mut(at) else { continue };
                if *value == property.value {
                    continue;
                }
                let has_kernels = |at: usize| inputs.get(at).is_some_and(|input| !input.image.kernels().is_empty());
                match (kernels, has_kernels(*first), has_kernels(number)) {
                    (true, true, false) => {}
                    (true, false, true) => (*value, *first) = (property.value, number),
                    _ => {
                        let other = inputs.get(*first).map_or("", |other| other.label);
                        let error = conflict(input.label, set, property.name, property.value, *value, other);
                        self.errors.push(error);
                    }
                }
            }
        }
        found.into_iter().map(|(name, value, _)| (name, value)).collect()
    }

    fn kept(&self, gathered: Vec<(&str, Value<'_>)>) -> Result<Vec<Property<'k>>> {
        gathered.into_iter().map(|(name, value)| self.property(name, value)).collect()
    }

    fn united(&mut self, set: &str) -> Result<Vec<Property<'k>>> {
        let gathered = self.gathered(set, &[], false);
        self.kept(gathered)
    }

    fn agreed(&mut self, set: &str) -> Result<Vec<Property<'k>>> {
        let gathered = self.gathered(set, &[], true);
        let names: Vec<&str> = gathered.iter().map(|(name, _)| *name).collect();
        self.in_all_with_kernels(set, &names);
        self.kept(gathered)
    }

    /// Reports properties that only some of the images with kernels have.
    fn in_all_with_kernels(&mut self, set: &str, names: &[&str]) {
        for name in names {
            let mut with = None;
            let mut without = None;
            for input in self.inputs.iter().filter(|input| !input.image.kernels().is_empty()) {
                let place = if input.image.properties.get(set, name).is_some() { &mut with } else { &mut without };
                place.get_or_insert(input.label);
            }
            if let (Some(with), Some(without)) = (with, without) {
                let message =
                    format!("`{set}` has `{name}` in {with} and not here, and it holds for all kernels of an image");
                self.errors.push(Error::new(ErrorKind::Build, message).with_remedy(REMEDY).context(without));
            }
        }
    }

    /// Merges the requirements: aspects and matrix shapes are united, all else must agree.
    fn requirements(&mut self) -> Result<Vec<Property<'k>>> {
        let inputs = self.inputs;
        let mut aspects: BTreeSet<u32> = BTreeSet::new();
        let mut has_aspects = false;
        for input in inputs {
            if let Some(numbers) = input.image.properties.aspect_numbers() {
                has_aspects = true;
                aspects.extend(numbers);
            }
        }
        let mut properties = Vec::new();
        if has_aspects {
            let bytes: Vec<u8> = aspects.into_iter().flat_map(u32::to_le_bytes).collect();
            properties.push(Property { name: key::ASPECTS[0], value: byte_array(self.arena, &bytes)? });
        }
        for key in TEXTS {
            let mut parts: Vec<&str> = Vec::new();
            for input in inputs {
                let value = input.image.properties.text(set::REQUIREMENTS, key);
                parts.extend(value.unwrap_or_default().split(';').filter(|part| !part.is_empty()));
            }
            let mut there = HashSet::new();
            parts.retain(|part| there.insert(*part));
            if !parts.is_empty() {
                properties.push(Property { name: key, value: byte_array(self.arena, parts.join(";").as_bytes())? });
            }
        }
        let gathered = self.gathered(set::REQUIREMENTS, &[key::ASPECTS[0], key::ASPECTS[1], TEXTS[0], TEXTS[1]], false);
        self.in_all_with_kernels(set::REQUIREMENTS, &[WORK_GROUP[0], WORK_GROUP[1], WORK_GROUP[2], FIXED[0], FIXED[1]]);
        properties.extend(self.kept(gathered)?);
        Ok(properties)
    }

    /// Merges the aspects listed by kernel by an earlier link with those of this one.
    fn kernel_aspects(&mut self, hidden: &[KernelAspects<'_>]) -> Result<Vec<Property<'k>>> {
        let mut properties = self.united(set::KERNEL_ASPECTS)?;
        let mut there: HashSet<&str> = properties.iter().map(|property| property.name).collect();
        for (kernel, numbers) in hidden {
            let name = text(self.arena, kernel)?;
            if there.insert(name) {
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                properties.push(Property { name, value: byte_array(self.arena, &bytes)? });
            }
        }
        Ok(properties)
    }

    /// Returns the symbols that images list, without those that the linked module no longer has. For modules without
    /// property sets these are all symbols.
    fn symbols(&mut self, set: &str, left: &[String]) -> Result<Vec<Property<'k>>> {
        let left: HashSet<&str> = left.iter().map(String::as_str).collect();
        let mut gathered = self.gathered(set, &[], false);
        for input in self.inputs.iter().filter(|input| input.image.properties.sets.is_empty()) {
            // The exports of an object without property sets are not known.
            let Ok(module) = Module::parse(&input.image.contents()?) else { continue };
            let mine = if set == set::EXPORTED { module.exports } else { module.imports };
            for name in mine {
                if gathered.iter().all(|(known, _)| *known != name) {
                    gathered.push((text(self.arena, &name)?, Value::U32(1)));
                }
            }
        }
        gathered.retain(|(name, _)| left.contains(name));
        self.kept(gathered)
    }

    fn constants(&self, plan: &Plan) -> Result<Vec<Property<'k>>> {
        let all = plan.set().into_iter();
        all.map(|(name, bytes)| Ok(Property { name: text(self.arena, name)?, value: byte_array(self.arena, &bytes)? }))
            .collect()
    }

    fn defaults(&self, plan: &Plan) -> Result<Vec<Property<'k>>> {
        let value = plan.defaults().map(|bytes| byte_array(self.arena, &bytes)).transpose()?;
        Ok(value.map(|value| Property { name: "all", value }).into_iter().collect())
    }

    /// Merges the sets of virtual functions. An image defines one set or uses some; sets that are both used and defined
    /// are resolved.
    fn virtual_functions(&mut self) -> Result<Vec<Property<'k>>> {
        let inputs = self.inputs;
        let values = |key: &str| -> BTreeSet<&str> {
            let all = inputs.iter().filter_map(|input| input.image.properties.get(set::VIRTUAL_FUNCTIONS, key)?.text());
            all.flat_map(|text| text.split(',')).filter(|name| !name.is_empty()).collect()
        };
        let (defines, uses) = (values(key::DEFINED_FUNCTIONS), values(key::CALLED_FUNCTIONS));
        let kernels = inputs.iter().any(|input| !input.image.kernels().is_empty());
        let open: Vec<&str> = uses.difference(&defines).copied().collect();
        let unused: Vec<&str> = defines.difference(&uses).copied().collect();
        if kernels && !unused.is_empty() || unused.len() > 1 {
            let message = format!(
                "an image with kernels, or with another set, cannot define the set `{}` of virtual functions",
                unused.join("`, `")
            );
            self.errors.push(Error::new(ErrorKind::Build, message).with_remedy(REMEDY));
        }
        let (key, names) = if kernels {
            (key::CALLED_FUNCTIONS, open)
        } else {
            (key::DEFINED_FUNCTIONS, defines.into_iter().collect())
        };
        if names.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Property { name: key, value: byte_array(self.arena, names.join(",").as_bytes())? }])
    }
}

const REMEDY: &str = "link images that agree into one, and the others into another";

#[cold]
fn conflict(label: &str, set: &str, name: &str, mine: Value<'_>, theirs: Value<'_>, other: &str) -> Error {
    let shown = |value: Value<'_>| match value {
        Value::U32(number) => number.to_string(),
        value => match (value.words(), value.payload()) {
            (Some(words), Some(bytes)) if bytes.len() == words.len().saturating_mul(4) => format!("{words:?}"),
            (_, Some(bytes)) => format!("{} bytes", bytes.len()),
            _ => "another value".to_owned(),
        },
    };
    let message = format!("`{name}` of `{set}` is {} here and {} in {other}", shown(mine), shown(theirs));
    Error::new(ErrorKind::Build, message).with_remedy(REMEDY).context(label)
}

/// Kernel with the numbers of its hidden aspects.
pub(crate) type KernelAspects<'i> = (&'i str, Vec<u32>);

/// Returns the aspects that images require and their modules do not show, by kernel. Empty where all images have the
/// same ones.
///
/// # Errors
/// `Input` where a module has no whole header.
pub(crate) fn hidden_aspects<'i>(
    inputs: &'i [Input<'_, '_>],
    contents: &[Cow<'_, [u8]>],
) -> Result<Vec<KernelAspects<'i>>> {
    let mut all: Vec<KernelAspects<'i>> = Vec::new();
    for (input, module) in inputs.iter().zip(contents) {
        let kernels = input.image.kernels();
        if kernels.is_empty() {
            continue;
        }
        let recorded = input.image.properties.aspect_numbers();
        // An image that was linked before lists hidden aspects of its kernels already.
        let listed = input.image.properties.set(set::KERNEL_ASPECTS).iter();
        let known: HashSet<u32> = listed.filter_map(|property| property.value.words()).flatten().collect();
        let mut numbers: Vec<u32> = recorded.into_iter().flatten().filter(|number| !known.contains(number)).collect();
        if !numbers.is_empty() {
            let shown = shown_by(&Module::parse(module)?, module);
            // Some numbers mean different aspects in different generations of the runtime.
            let is_shown = |number: u32| {
                [Epoch::Before2023, Epoch::From2023, Epoch::From2026]
                    .into_iter()
                    .any(|epoch| aspect::name(epoch, number).is_some_and(|name| shown.contains(name)))
            };
            numbers.retain(|number| !is_shown(*number));
        }
        all.extend(kernels.into_iter().map(|kernel| (kernel, numbers.clone())));
    }
    let alike = all.windows(2).all(|pair| pair.first().map(|one| &one.1) == pair.last().map(|one| &one.1));
    all.retain(|(_, numbers)| !alike && !numbers.is_empty());
    Ok(all)
}

/// Named constant of the result.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    leaves: Vec<SpecConstant>,
    /// Default value, where the sets have one.
    default: Option<Vec<u8>>,
    /// First image that has it.
    image: usize,
}

/// Constants of the result, with their new numbers.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// New numbers by old number, for each image.
    pub(crate) numbers: Vec<HashMap<u32, u32>>,
    named: Vec<Named>,
}

/// Assigns numbers to the constants of images.
///
/// # Errors
/// `Input` where constants of one name differ, or a value is damaged.
pub(crate) fn plan(inputs: &[Input<'_, '_>]) -> Result<Plan, Vec<Error>> {
    let mut plan = Plan::default();
    let mut errors = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    // Constants without a name keep their numbers, which others must not get.
    let mut taken = unnamed(inputs);
    let mut next = 0u32;
    for (number, input) in inputs.iter().enumerate() {
        let mut numbers = HashMap::new();
        let stored = input.image.properties.set(set::SPEC_CONSTANTS);
        for (property, constant) in stored.iter().zip(constants(&input.image.properties)) {
            if property.value.words().is_none_or(|words| words.len() % 3 != 0) {
                errors.push(
                    Error::input(format!("the value of the property `{}` is damaged", property.name))
                        .context(input.label),
                );
                continue;
            }
            let (leaves, default) = (constant.leaves, constant.default.map(<[u8]>::to_vec));
            let known = by_name.get(property.name).and_then(|at| plan.named.get(*at));
            let Some(known) = known else {
                let mut mine = Vec::with_capacity(leaves.len());
                for leaf in leaves {
                    let new = if leaf.id == PADDING { PADDING } else { fresh(&mut next, &mut taken) };
                    if leaf.id != PADDING {
                        numbers.insert(leaf.id, new);
                    }
                    mine.push(SpecConstant { id: new, ..leaf });
                }
                by_name.insert(property.name, plan.named.len());
                plan.named.push(Named { name: property.name.to_owned(), leaves: mine, default, image: number });
                continue;
            };
            let same = known.leaves.len() == leaves.len()
                && known.leaves.iter().zip(&leaves).all(|(one, other)| {
                    (one.offset, one.size, one.id == PADDING) == (other.offset, other.size, other.id == PADDING)
                });
            if !same || known.default != default {
                let what = if same { "default" } else { "layout" };
                let other = inputs.get(known.image).map_or("", |other| other.label);
                let message =
                    format!("the specialization constant `{}` has another {what} than in {other}", property.name);
                errors.push(Error::new(ErrorKind::Build, message).context(input.label));
                continue;
            }
            let pairs = leaves.iter().zip(&known.leaves).filter(|(leaf, _)| leaf.id != PADDING);
            numbers.extend(pairs.map(|(leaf, known)| (leaf.id, known.id)));
        }
        plan.numbers.push(numbers);
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// Returns the numbers of constants that the sets do not name. Empty if no image has named constants.
fn unnamed(inputs: &[Input<'_, '_>]) -> HashSet<u32> {
    let mut numbers = HashSet::new();
    if inputs.iter().all(|input| input.image.properties.set(set::SPEC_CONSTANTS).is_empty()) {
        return numbers;
    }
    for input in inputs {
        let named = constants(&input.image.properties);
        let named: HashSet<u32> = named.iter().flat_map(|constant| &constant.leaves).map(|leaf| leaf.id).collect();
        let module = input.image.contents().ok().and_then(|contents| Module::parse(&contents).ok());
        let all = module.map(|module| module.spec_constants).unwrap_or_default();
        numbers.extend(all.into_iter().filter(|number| !named.contains(number)));
    }
    numbers
}

fn fresh(next: &mut u32, taken: &mut HashSet<u32>) -> u32 {
    while !taken.insert(*next) {
        *next = next.wrapping_add(1);
    }
    *next
}

impl Plan {
    /// Returns the contents of the set, by name.
    pub(crate) fn set(&self) -> Vec<(&str, Vec<u8>)> {
        let words = |named: &Named| -> Vec<u8> {
            let words = named.leaves.iter().flat_map(|leaf| [leaf.id, leaf.offset, leaf.size]);
            words.flat_map(u32::to_le_bytes).collect()
        };
        self.named.iter().map(|named| (named.name.as_str(), words(named))).collect()
    }

    /// Returns the defaults of all names, or none where an image has no defaults.
    pub(crate) fn defaults(&self) -> Option<Vec<u8>> {
        let all: Option<Vec<&[u8]>> = self.named.iter().map(|named| named.default.as_deref()).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.concat())
    }
}
