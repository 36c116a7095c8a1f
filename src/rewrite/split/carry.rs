//! Which property sets does an image of a split have?
//!
//! What follows from its code is written anew, in the order that DPC++ has; what came with the input goes to the images it
//! concerns: what is said of a kernel, a symbol, a variable or a specialization constant to those that have it, and what
//! is said of the whole image to all. Sets that the input does not have are not invented for it: a module without any
//! property sets gets those that its code implies.

use super::check::Checked;
use super::constants::{DEFAULTS, restricted};
use super::entry::{Entry, Kind, Variable};
use super::{Input, Options};
use crate::bundle::property::{Properties, Property, PropertySet, set};
use crate::container::arena::Arena;
use crate::error::Result;
use crate::rewrite::property_sets::{ImageFacts, KernelFacts, names, of_code, requirements};
use crate::spirv::Module;
use std::collections::HashSet;

/// What is known of an image.
pub(super) struct Part<'p> {
    pub(super) members: &'p [&'p Entry],
    pub(super) variables: &'p [Variable],
    pub(super) facts: &'p Module,
    pub(super) checked: &'p Checked,
    /// The names of all kernels of the module, in the image or not.
    pub(super) all: &'p HashSet<&'p str>,
    /// The names of functions of the module that the image has not, where something is said of functions.
    pub(super) elsewhere: &'p HashSet<String>,
    /// The numbers of the specialization constants of all parts.
    pub(super) constants: &'p HashSet<u32>,
}

/// The sets of an image.
///
/// # Errors
/// `Usage` where an aspect has no number in the epoch asked for.
pub(super) fn properties<'k>(
    arena: &'k Arena,
    input: &Input<'_, 'k>,
    options: &Options<'_>,
    part: &Part<'_>,
) -> Result<Properties<'k>> {
    let facts = facts(input, part);
    let theirs = &input.image.properties;
    if theirs.sets.is_empty() {
        return of_code(arena, &facts, options.epoch);
    }
    let kernels: HashSet<&str> = facts.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let mut own = requirements(arena, &facts, options.epoch)?;
    // What the code does not tell.
    let written: HashSet<&str> = [
        "aspects",
        "fixed_target",
        "reqd_sub_group_size",
        "reqd_work_group_size",
        "reqd_work_group_size_uint64_t",
        "work_group_num_dim",
    ]
    .into();
    let recorded = theirs.set(set::REQUIREMENTS).iter();
    own.properties.extend(recorded.filter(|property| !written.contains(property.name)));
    let mut sets = vec![own];
    for set in &theirs.sets {
        let some = |keep: &dyn Fn(&Property<'k>) -> bool| -> Option<PropertySet<'k>> {
            let properties: Vec<Property<'k>> =
                set.properties.iter().filter(|property| keep(property)).copied().collect();
            // A set that is there without a property stays as it is: oneMKL's images have such.
            (!properties.is_empty() || set.properties.is_empty()).then_some(PropertySet { name: set.name, properties })
        };
        let live = |symbol: &str| part.facts.exports.iter().any(|export| export == symbol);
        let kept = match set.name {
            set::REQUIREMENTS | DEFAULTS => None,
            set::SPEC_CONSTANTS => {
                let here: HashSet<u32> = part.facts.spec_constants.iter().copied().collect();
                sets.extend(restricted(arena, theirs, &here, part.constants)?);
                None
            }
            set::EXPORTED => {
                let symbols: Vec<&str> = facts.exported.iter().map(String::as_str).collect();
                names(arena, set::EXPORTED, &symbols)?
            }
            set::IMPORTED => some(&|property| part.facts.imports.iter().any(|import| import == property.name)),
            // DPC++ lists functions here too, whose arguments it removes likewise.
            set::PARAM_OPT => some(&|property| {
                kernels.contains(property.name)
                    || !part.all.contains(property.name) && !part.elsewhere.contains(property.name)
            }),
            set::KERNEL_NAMES
            | "SYCL/assert used"
            | "SYCL/malloc used"
            | "SYCL/implicit local arg"
            | "SYCL/work group dynamic local mem" => some(&|property| kernels.contains(property.name)),
            "SYCL/registered kernels" => {
                some(&|property| property.value.text().is_none_or(|kernel| kernels.contains(kernel)))
            }
            set::PROGRAM_METADATA => some(&|property| match property.name.rsplit_once('@') {
                Some((_, "global_id_mapping")) => property.value.text().is_none_or(live),
                Some((kernel, _)) => kernels.contains(kernel),
                None => true,
            }),
            set::DEVICE_GLOBALS => some(&|property| {
                let variable = part.variables.iter().find(|known| known.unique.as_deref() == Some(property.name));
                variable.is_none_or(|variable| live(&variable.symbol))
            }),
            _ => Some(set.clone()),
        };
        sets.extend(kept);
    }
    Ok(Properties { sets })
}

fn facts(input: &Input<'_, '_>, part: &Part<'_>) -> ImageFacts {
    let told = !input.image.properties.sets.is_empty();
    let listed: HashSet<&str> = input.image.exports().into_iter().collect();
    let kernels = part.members.iter().filter(|entry| matches!(entry.kind, Kind::Kernel(_)));
    let functions = part.members.iter().filter(|entry| matches!(entry.kind, Kind::Function(_)));
    let mut exported: Vec<String> = functions.map(|entry| entry.name.clone()).collect();
    // The host may look for a variable of the device by its symbol.
    let variables = part.variables.iter().map(|variable| &variable.symbol);
    exported.extend(variables.filter(|symbol| part.facts.exports.contains(symbol)).cloned());
    exported.retain(|name| !told || listed.contains(name.as_str()));
    // As DPC++ lists them: those first in its list stay first.
    if told {
        let order: Vec<&str> = input.image.exports();
        exported.sort_by_key(|name| order.iter().position(|known| known == name));
    }
    ImageFacts {
        aspects: part.checked.aspects.clone(),
        fixed_targets: part.checked.fixed_targets.clone(),
        work_group: part.checked.work_group,
        dimensions: part.checked.dimensions,
        sub_groups: part.checked.sub_groups.clone(),
        kernels: kernels
            .map(|entry| KernelFacts {
                name: entry.name.clone(),
                work_group: entry.work_group,
                dimensions: entry.dimensions,
                sub_group: entry.sub_group,
                max_work_group: entry.max_work_group,
            })
            .collect(),
        exported,
        imported: part.facts.imports.iter().filter(|symbol| !of_compiler(symbol)).cloned().collect(),
    }
}

/// Whether an import is a function that the device's compiler has built in, which DPC++ does not list.
fn of_compiler(symbol: &str) -> bool {
    let name = symbol.strip_prefix("_Z").map_or(symbol, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    ["__spirv_", "__sycl_", "__esimd", "__builtin_"].iter().any(|prefix| name.starts_with(prefix))
}
