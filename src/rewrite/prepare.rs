//! How is an image prepared to be written in another form?
//!
//! It gets a target, where its container names none or the user names another; entries, where only the module knows its
//! kernels; and the payload's compression.

use crate::bundle::aspect::Epoch;
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::Image;
use crate::bundle::property::{Property, PropertySet, Value};
use crate::bundle::property_sets::{key, set};
use crate::compat::aspects::{Aspect, code};
use crate::compat::built_in::can_be_imported;
use crate::compat::engine::Engine;
use crate::compat::examine::{Examined, examine_image};
use crate::compat::fit::is_short_name;
use crate::container::Arena;
use crate::container::inflate;
use crate::device;
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::property_sets::{self, ImageFacts, byte_array, names};
use crate::spirv::index::{Index, LinkageKind};
use crate::spirv::subset;

pub(crate) use super::property_sets::text;

/// Compression of a stored payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Unchanged.
    Stored,
    /// Not compressed.
    Plain,
    /// Compressed as a zstd frame of this level with its size (`sycl_device_binary_type` 4), where that is smaller.
    Zstd(i32),
}

/// Compression level of DPC++'s wrapper.
pub(crate) const ZSTD_LEVEL: i32 = 10;
/// Minimum size of payloads that are compressed, as in DPC++'s wrapper.
const ZSTD_THRESHOLD: usize = 512;

/// Copies an image to `arena`, with the entries that any output form may need. With `infer_target` it also gets a
/// target where its container names none.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn copy<'k>(arena: &'k Arena, examined: &Examined<'_, '_>, infer_target: bool) -> Result<Image<'k>> {
    let image = examined.image;
    if examined.format == Format::NativeCpu {
        let error = Error::new(ErrorKind::Usage, "native CPU code is part of its host program, and cannot leave it");
        return Err(error.with_remedy("select the other images with --image or --target"));
    }
    let text = |text: &str| -> Result<&'k str> {
        // The bytes come from a `str`, so they are valid UTF-8.
        Ok(if text.is_empty() { "" } else { std::str::from_utf8(arena.keep(text.into())?).unwrap_or_default() })
    };
    let target = if infer_target { target_of(examined) } else { None }.unwrap_or(image.target);
    let entries = entries(examined).into_iter().map(text).collect::<Result<Vec<_>>>()?;
    let property = |property: &Property<'_>| -> Result<Property<'k>> {
        let keep = |bytes: &[u8]| arena.keep(bytes.to_vec());
        let value = match property.value {
            Value::U32(number) => Value::U32(number),
            Value::Bytes(bytes) => Value::Bytes(keep(bytes)?),
            Value::Text(bytes) => Value::Text(keep(bytes)?),
            Value::Unknown { kind, bytes } => Value::Unknown { kind, bytes: keep(bytes)? },
        };
        Ok(Property { name: text(property.name)?, value })
    };
    let mut copy = Image {
        index: image.index,
        origin: image.origin,
        offset: image.offset,
        inflated: image.inflated,
        declared: image.declared,
        target: text(target)?,
        arch: text(image.arch)?,
        stated: image.stated,
        offload_kind: text(image.offload_kind)?,
        compile_options: text(image.compile_options)?,
        link_options: text(image.link_options)?,
        entries,
        ..Image::bare(arena.keep(image.stored.to_vec())?, 0)
    };
    for set in &image.properties.sets {
        let properties = set.properties.iter().map(property).collect::<Result<Vec<_>>>()?;
        copy.properties.sets.push(PropertySet { name: text(set.name)?, properties });
    }
    if is_compile_target(copy.arch) {
        record_architecture(arena, &mut copy)?;
    }
    Ok(copy)
}

/// Records the architecture that a container names beside the triple, where nothing else is recorded and DPC++ has a name for
/// it: for forms that have no other place for it.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn record_architecture<'k>(arena: &'k Arena, image: &mut Image<'k>) -> Result<()> {
    let recorded = image.properties.get(set::REQUIREMENTS, key::COMPILE_TARGET).is_some();
    match compile_target_of(image.arch).filter(|_| !recorded) {
        Some(target) => set_compile_target(arena, image, Some(target)),
        None => Ok(()),
    }
}

/// Copies an image like [`copy`] for a runtime that selects and links images: exports and imports of a module without
/// property sets are listed too. Code that splits or links modules reads them from the module instead.
///
/// # Errors
/// Errors of [`copy`]; `Input` where the module is damaged.
pub(crate) fn copy_with_symbols<'k>(
    arena: &'k Arena,
    examined: &Examined<'_, '_>,
    infer_target: bool,
) -> Result<Image<'k>> {
    let mut copy = copy(arena, examined, infer_target)?;
    if lacks_property_sets(examined.image) {
        list_linkage(arena, examined, &mut copy)?;
        if copy.entries.is_empty() {
            // The runtime ignores an image without entries.
            copy.entries = copy.exports();
        }
    }
    Ok(copy)
}

/// Returns the entries of an image. For a module without any these are its kernels, and for one without kernels its
/// exports, since the runtime ignores an image without entries.
pub(crate) fn entries<'b>(examined: &'b Examined<'_, '_>) -> Vec<&'b str> {
    if !lacks_property_sets(examined.image) {
        examined.image.entries.clone()
    } else if examined.kernels.is_empty() {
        examined.image.exports()
    } else {
        examined.kernels.iter().map(String::as_str).collect()
    }
}

/// Whether an image has no property sets, so that the runtime must be told the symbols of its module.
fn lacks_property_sets(image: &Image<'_>) -> bool {
    image.origin.is_none() && image.entries.is_empty()
}

/// Lists the functions that the module exports and imports, where no property set does. As in DPC++'s lists these are
/// functions only, without those that the device defines.
fn list_linkage<'k>(arena: &'k Arena, examined: &Examined<'_, '_>, copy: &mut Image<'k>) -> Result<()> {
    if examined.module.is_none() || examined.exports.is_empty() && examined.imports.is_empty() {
        return Ok(());
    }
    let contents = examined.image.contents()?;
    let index = Index::read(&contents)?;
    let exported = subset::exported(&index).into_iter().filter(|(_, linkage)| !linkage.kind.is_discardable());
    let exported: Vec<String> = exported.map(|(_, linkage)| linkage.name).collect();
    let declared = index.functions.iter().filter(|function| !function.defined);
    let linked = declared.filter_map(|function| index.linkage(function.id));
    let imported =
        linked.filter(|list_linkage| list_linkage.kind == LinkageKind::Import).map(|list_linkage| list_linkage.name);
    let imported = imported.filter(|symbol| can_be_imported(symbol)).collect();
    for (set, symbols) in [(set::EXPORTED, exported), (set::IMPORTED, imported)] {
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        if copy.properties.set(set).is_empty() {
            copy.properties.sets.extend(names(arena, set, &symbols)?);
        }
    }
    Ok(())
}

/// Records what the code of an image needs of a device, where no container and nobody else did: what DPC++ records, so
/// that the runtime refuses the image where it cannot run.
///
/// # Errors
/// `Input` where the arena is full; `Usage` where the numbering has no number for an aspect.
pub(crate) fn record_requirements<'k>(arena: &'k Arena, image: &mut Image<'k>, epoch: Epoch) -> Result<()> {
    let recorded = image.origin.is_some() || !image.properties.set(set::REQUIREMENTS).is_empty();
    if recorded || image.format() != Format::SpirV {
        return Ok(());
    }
    let examined = examine_image(image, epoch);
    let Some(module) = &examined.module else { return Ok(()) };
    let codes = [code(&examined).unwrap_or_default()];
    let used = Engine::new(std::slice::from_ref(&examined), &codes).used(0).into_iter();
    let recorded = |name: &&str| Aspect::of_name(name).is_some_and(Aspect::recorded_by_compiler);
    let facts = ImageFacts {
        aspects: used
            .filter(|(_, certain)| *certain)
            .map(|(name, _)| name)
            .filter(recorded)
            .map(str::to_owned)
            .collect(),
        // An image has room for one size; several kernels of different sizes are checked when they are launched.
        work_group: match module.work_group_sizes.as_slice() {
            [only] if module.entry_points.len() == 1 => Some(*only),
            _ => None,
        },
        sub_groups: examined.sub_group_sizes().into_iter().collect(),
        ..ImageFacts::default()
    };
    let set = property_sets::requirements(arena, &facts, epoch)?;
    image.properties.sets.insert(0, set);
    Ok(())
}

/// Returns the target of an image whose container names none, as for tables and bare files. It follows from the compile
/// target, or from the payload.
pub(crate) fn target_of(examined: &Examined<'_, '_>) -> Option<&'static str> {
    // A module without a target is read as one for every device; a blob in a table may name more.
    if !matches!(examined.image.target, "" | "spir64") {
        return None;
    }
    inferred_target(examined.image, examined.format, || examined.march)
}

/// Returns the target that the compile target or the format of an image tells; `march` is asked where these do not.
pub(crate) fn inferred_target(
    image: &Image<'_>,
    format: Format,
    march: impl FnOnce() -> Option<CpuArch>,
) -> Option<&'static str> {
    let named = image.compile_target().and_then(target_spec).map(|(target, _)| target);
    let by_format = || match format {
        Format::Zebin | Format::PatchTokens | Format::Ar => Some("spir64_gen"),
        Format::Pocl => Some("spir64_x86_64"),
        Format::Ptx => Some("nvptx64"),
        _ => march().map(|_| "spir64_x86_64"),
    };
    named.or_else(by_format)
}

/// Returns the `DeviceTargetSpec` of a target of `-fsycl-targets`, and whether the architecture is stated separately.
fn target_spec(target: &str) -> Option<(&'static str, bool)> {
    let prefixes = [
        ("intel_gpu_", "spir64_gen"),
        ("nvidia_gpu_", "nvptx64"),
        ("amd_gpu_", "amdgcn"),
        ("intel_cpu_", "spir64_x86_64"),
    ];
    let family = prefixes.into_iter().find(|(prefix, _)| target.starts_with(prefix));
    family.map(|(_, spec)| (spec, true)).or((target == "spir64_x86_64").then_some(("spir64_x86_64", false)))
}

/// Returns what `compile_target` holds for an architecture from a container, which may have the short name that LLVM's tools use;
/// none where DPC++ has no name for it.
fn compile_target_of(arch: &str) -> Option<&str> {
    let all = device::table();
    if all.target(arch).is_some() || !is_compile_target(arch) {
        let targets = all.targets().iter().map(|target| target.name.as_str());
        let same = |name: &str| name == arch || is_short_name(name, arch);
        return targets.filter(|name| is_compile_target(name)).find(|name| same(name));
    }
    // The runtime compares whole names, and knows families.
    let alias = all.targets().iter().find(|target| target.aliases.iter().any(|alias| alias == arch));
    Some(alias.map_or(arch, |target| target.name.as_str()))
}

/// Whether a name is one that `compile_target` holds.
fn is_compile_target(name: &str) -> bool {
    target_spec(name).is_some_and(|(_, family)| family)
}

/// Changes the target of an image: `intel_gpu_pvc` becomes `spir64_gen` with the architecture stated separately, as
/// DPC++ writes it; any other name is used unchanged, without an architecture.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn retarget<'k>(arena: &'k Arena, image: &mut Image<'k>, target: &'k str) -> Result<()> {
    let (spec, family) = target_spec(target).unwrap_or(("", false));
    image.target = if family { spec } else { target };
    image.arch = "";
    set_compile_target(arena, image, family.then_some(target))
}

/// Sets or removes `compile_target`.
fn set_compile_target<'k>(arena: &'k Arena, image: &mut Image<'k>, name: Option<&str>) -> Result<()> {
    if let Some(name) = name {
        let value = byte_array(arena, name.as_bytes())?;
        image.properties.put(set::REQUIREMENTS, Property { name: key::COMPILE_TARGET, value });
    } else if let Some(known) = image.properties.sets.iter_mut().find(|known| known.name == set::REQUIREMENTS) {
        known.properties.retain(|property| property.name != key::COMPILE_TARGET);
    }
    Ok(())
}

/// Stores the payload with the given compression. An image of a set of virtual functions is not compressed: the runtime does not
/// inflate what it links to a kernel by a set (libsycl 2026.2).
///
/// # Errors
/// `Input` where it does not inflate or the arena is full.
pub fn store<'k>(arena: &'k Arena, image: &mut Image<'k>, payload: Payload) -> Result<()> {
    let compressed = image.compression().is_some();
    match payload {
        Payload::Plain if compressed => {
            image.stored = arena.keep(image.contents()?.into_owned())?;
            image.declared = Declared::None;
        }
        Payload::Zstd(level) if !compressed && !image.is_of_a_set() && image.stored.len() >= ZSTD_THRESHOLD => {
            let frame = inflate::zstd_frame(image.stored, level)?;
            if frame.len() < image.stored.len() {
                image.stored = arena.keep(frame)?;
                image.declared = Declared::CompressedNone;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_recorded_by_the_name_that_the_runtime_compares() {
        for (arch, recorded) in [
            ("intel_gpu_acm_g10", Some("intel_gpu_acm_g10")),
            ("intel_gpu_dg2_g10", Some("intel_gpu_acm_g10")),
            ("intel_gpu_12_55_8", Some("intel_gpu_acm_g10")),
            ("acm-g10", Some("intel_gpu_acm_g10")),
            ("sm_80", Some("nvidia_gpu_sm_80")),
            ("intel_gpu_dg2", Some("intel_gpu_dg2")),
            ("intel_gpu_next", Some("intel_gpu_next")),
            ("spir64", None),
        ] {
            assert_eq!(compile_target_of(arch), recorded, "{arch}");
        }
    }
}
