//! Which property sets follow from the code of an image?
//!
//! They are those with `write` in the table of property sets; keys, types and orders are those of DPC++
//! (`SYCLDeviceRequirements.cpp`, `ComputeModuleRuntimeInfo.cpp`).

use crate::bundle::aspect::{self, Epoch};
use crate::bundle::property::{self, Properties, Property, PropertySet, Value};
use crate::bundle::property_sets::{GLOBAL_ID, PROPERTY_SETS, Write, set};
use crate::bundle::requirements::FIXED_TARGET_NAMES;
use crate::container::Arena;
use crate::error::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Facts of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelFacts {
    /// Mangled name.
    pub name: String,
    /// Required work-group size, in OpenCL's order, x first, filled up with ones as in execution modes.
    pub(crate) work_group: Option<[u32; 3]>,
    /// Number of dimensions of the sizes in the source, where it is fewer than three and known.
    pub(crate) dimensions: Option<u32>,
    /// Required sub-group size; none for the named sizes.
    pub(crate) sub_group: Option<u32>,
    /// Maximum work-group size, x first.
    pub(crate) max_work_group: Option<[u32; 3]>,
}

/// Facts of an image's code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImageFacts {
    /// Aspects that a device must have, by SYCL name or as `aspect#N`.
    pub(crate) aspects: BTreeSet<String>,
    /// Targets that the image is fixed to, by number and name; none where it is not fixed.
    pub(crate) fixed_targets: Option<BTreeMap<u32, String>>,
    /// Required work-group size, in OpenCL's order, x first, filled up with ones.
    pub(crate) work_group: Option<[u32; 3]>,
    /// Number of dimensions of required and maximum work-group sizes in the source.
    pub(crate) dimensions: Option<u32>,
    /// Required sub-group sizes. Valid images have at most one.
    pub(crate) sub_groups: BTreeSet<u32>,
    /// Kernels, in module order.
    pub(crate) kernels: Vec<KernelFacts>,
    /// Functions that other images may import, in module order.
    pub(crate) exported: Vec<String>,
    /// Functions that other images must define, in module order.
    pub(crate) imported: Vec<String>,
}

/// Returns a byte array as it is stored, with its length in bits in front.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn byte_array<'k>(arena: &'k Arena, bytes: &[u8]) -> Result<Value<'k>> {
    Ok(Value::Bytes(arena.keep(property::byte_array(bytes))?))
}

/// Copies a text to the arena.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn text<'k>(arena: &'k Arena, text: &str) -> Result<&'k str> {
    // The bytes come from a `str`, so they are valid UTF-8.
    Ok(if text.is_empty() { "" } else { std::str::from_utf8(arena.keep(text.into())?).unwrap_or_default() })
}

/// Returns numbers as a byte array.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn numbers<'k>(arena: &'k Arena, words: impl IntoIterator<Item = u32>) -> Result<Value<'k>> {
    byte_array(arena, &words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}

/// Returns "SYCL/device requirements": always the aspects, in the order of their numbers, and all other requirements
/// that there are. Keys are in DPC++'s order, which is by name.
///
/// # Errors
/// `Usage` where an aspect has no number in this epoch, so that its runtimes do not know it.
pub(crate) fn requirements<'k>(arena: &'k Arena, facts: &ImageFacts, epoch: Epoch) -> Result<PropertySet<'k>> {
    let mut aspects = BTreeSet::new();
    for name in &facts.aspects {
        aspects.insert(aspect::number(epoch, name).ok_or_else(|| {
            let error = Error::new(ErrorKind::Usage, format!("the runtime asked for knows no aspect `{name}`"));
            error.with_remedy("choose the runtime's generation with --abi")
        })?);
    }
    let mut properties = vec![Property { name: "aspects", value: numbers(arena, aspects)? }];
    let mut put = |name, value| properties.push(Property { name, value });
    if let Some(targets) = &facts.fixed_targets {
        put("fixed_target", numbers(arena, targets.keys().copied())?);
        let names: Vec<&str> = targets.values().map(String::as_str).collect();
        put(FIXED_TARGET_NAMES, byte_array(arena, names.join(",").as_bytes())?);
    }
    if let (Some(size), 1) = (facts.sub_groups.first(), facts.sub_groups.len()) {
        put("reqd_sub_group_size", Value::U32(*size));
    } else if !facts.sub_groups.is_empty() {
        put("reqd_sub_group_size", numbers(arena, facts.sub_groups.iter().copied())?);
    }
    if let Some(size) = &facts.work_group {
        if epoch == Epoch::Before2023 {
            let given = facts.dimensions.map_or(size.len(), |count| (count as usize).clamp(1, size.len()));
            put("reqd_work_group_size", numbers(arena, size.iter().copied().take(given))?);
        } else {
            let wide: Vec<u8> = size.iter().flat_map(|size| u64::from(*size).to_le_bytes()).collect();
            put("reqd_work_group_size_uint64_t", byte_array(arena, &wide)?);
        }
    }
    if let Some(dimensions) = facts.dimensions.filter(|_| epoch != Epoch::Before2023) {
        put("work_group_num_dim", Value::U32(dimensions));
    }
    Ok(PropertySet { name: set::REQUIREMENTS, properties })
}

/// Returns a set whose keys are names and whose values are 1, or none where there are no names.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn names<'k>(arena: &'k Arena, set: &'static str, names: &[&str]) -> Result<Option<PropertySet<'k>>> {
    let property = |name: &&str| Ok(Property { name: text(arena, name)?, value: Value::U32(1) });
    let properties = names.iter().map(property).collect::<Result<Vec<_>>>()?;
    Ok(Some(PropertySet { name: set, properties }).filter(|set| !set.properties.is_empty()))
}

/// Returns "SYCL/program metadata" of kernels, sizes by `<kernel>@<key>`, and of device globals, symbols by the names that the host
/// looks for; or none where there is nothing to say.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn program_metadata<'k>(
    arena: &'k Arena,
    kernels: &[KernelFacts],
    globals: &[(String, String)],
) -> Result<Option<PropertySet<'k>>> {
    let mut properties = Vec::new();
    for (unique, symbol) in globals {
        let value = byte_array(arena, symbol.as_bytes())?;
        properties.push(Property { name: text(arena, &format!("{unique}@{GLOBAL_ID}"))?, value });
    }
    for kernel in kernels {
        let mut put = |key: &str, value| -> Result<()> {
            properties.push(Property { name: text(arena, &format!("{}@{key}", kernel.name))?, value });
            Ok(())
        };
        if let Some(size) = kernel.work_group {
            put("reqd_work_group_size", numbers(arena, size)?)?;
        }
        if let Some(size) = kernel.sub_group {
            put("reqd_sub_group_size", Value::U32(size))?;
        }
        if let Some(dimensions) = kernel.dimensions {
            put("work_group_num_dim", Value::U32(dimensions))?;
        }
        if let Some(size) = kernel.max_work_group {
            put("max_work_group_size", numbers(arena, size)?)?;
        }
    }
    Ok(Some(PropertySet { name: set::PROGRAM_METADATA, properties }).filter(|set| !set.properties.is_empty()))
}

/// Returns all sets that follow from code, in DPC++'s order.
///
/// # Errors
/// Errors of [`requirements`].
pub(crate) fn implied_by_code<'k>(arena: &'k Arena, facts: &ImageFacts, epoch: Epoch) -> Result<Properties<'k>> {
    let list = |set, all: &[String]| names(arena, set, &all.iter().map(String::as_str).collect::<Vec<_>>());
    let kernels: Vec<&str> = facts.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let mut sets = Vec::new();
    for known in PROPERTY_SETS {
        let Some(write) = known.write else { continue };
        sets.extend(match write {
            Write::Requirements => Some(requirements(arena, facts, epoch)?),
            Write::Exports => list(known.name, &facts.exported)?,
            Write::KernelNames => names(arena, known.name, &kernels)?,
            Write::Imports => list(known.name, &facts.imported)?,
            Write::ProgramMetadata => program_metadata(arena, &facts.kernels, &[])?,
        });
    }
    Ok(Properties { sets })
}
