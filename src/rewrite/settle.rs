//! What of an image has to be settled before it is written in another form?
//!
//! Its target, where the form it came in names none or the user names another; its entries, where only the module
//! itself knows its kernels; and whether its payload is compressed.

use crate::bundle::format::{Declared, Format};
use crate::bundle::image::Image;
use crate::bundle::property::{Property, PropertySet, Value, key, set};
use crate::compat::built_in::can_be_imported;
use crate::compat::examine::Examined;
use crate::container::arena::Arena;
use crate::container::inflate;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::property_sets::{byte_array, names};
use crate::spirv::index::{Index, LinkageKind};
use crate::spirv::subset;

/// How a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// As it was.
    Stored,
    /// Without compression.
    Plain,
    /// As a zstd frame of this level that carries its size (`sycl_device_binary_type` 4), where that is smaller.
    Zstd(i32),
}

/// The level of DPC++'s wrapper.
pub const ZSTD_LEVEL: i32 = 10;
/// Smaller payloads are not worth it; the threshold of DPC++'s wrapper.
const ZSTD_THRESHOLD: usize = 512;

/// A copy of an image that lives as long as `arena`, with everything a form may ask for: entries, and a target, also
/// where the file it is in names none (`untold`).
///
/// # Errors
/// `Input` where the arena is full.
pub fn own<'k>(arena: &'k Arena, examined: &Examined<'_, '_>, untold: bool) -> Result<Image<'k>> {
    let image = examined.image;
    if examined.format == Format::NativeCpu {
        let error = Error::new(ErrorKind::Usage, "native CPU code is part of its host program, and cannot leave it");
        return Err(error.with_remedy("select the other images with --image or --target"));
    }
    let text = |text: &str| -> Result<&'k str> {
        // What was text is text.
        Ok(if text.is_empty() { "" } else { std::str::from_utf8(arena.keep(text.into())?).unwrap_or_default() })
    };
    let target = if untold { target_of(examined) } else { None }.unwrap_or(image.target);
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
    let arch = copy.arch;
    if named_arch(arch) && copy.properties.get(set::REQUIREMENTS, key::COMPILE_TARGET).is_none() {
        compile_target(arena, &mut copy, Some(arch))?;
    }
    Ok(copy)
}

/// The same for whom the runtime is to choose and link: of a module of which its container says nothing, what it exports and
/// imports is listed too. What takes modules apart or puts them together reads it from the code.
///
/// # Errors
/// Those of [`own`]; `Input` where the module is damaged.
pub fn own_listed<'k>(arena: &'k Arena, examined: &Examined<'_, '_>, untold: bool) -> Result<Image<'k>> {
    let mut copy = own(arena, examined, untold)?;
    if speaks_for_itself(examined.image) {
        linkage(arena, examined, &mut copy)?;
        if copy.entries.is_empty() {
            // The runtime passes over an image without entries.
            copy.entries = copy.exports();
        }
    }
    Ok(copy)
}

/// What is listed for an image; for a module of which its container says nothing its kernels, and for one without
/// kernels what it exports: the runtime passes over an image without entries.
pub fn entries<'b>(examined: &'b Examined<'_, '_>) -> Vec<&'b str> {
    if !speaks_for_itself(examined.image) {
        examined.image.entries.clone()
    } else if examined.kernels.is_empty() {
        examined.image.exports()
    } else {
        examined.kernels.iter().map(String::as_str).collect()
    }
}

/// Whether nothing lists what is in an image, so that the runtime must be told what its module says.
fn speaks_for_itself(image: &Image<'_>) -> bool {
    image.origin.is_none() && image.entries.is_empty()
}

/// Lists the functions that the module exports and imports, where no property set does; what DPC++ lists: functions alone,
/// and none that the device defines.
fn linkage<'k>(arena: &'k Arena, examined: &Examined<'_, '_>, copy: &mut Image<'k>) -> Result<()> {
    if examined.module.is_none() || examined.exports.is_empty() && examined.imports.is_empty() {
        return Ok(());
    }
    let contents = examined.image.contents()?;
    let index = Index::read(&contents)?;
    let exported: Vec<String> = subset::exported(&index).into_iter().map(|(_, symbol)| symbol).collect();
    let declared = index.functions.iter().filter(|function| !function.defined);
    let linked = declared.filter_map(|function| index.linkage(function.id));
    let imported = linked.filter(|linkage| linkage.kind == LinkageKind::Import).map(|linkage| linkage.name);
    let imported = imported.filter(|symbol| can_be_imported(symbol)).collect();
    for (set, symbols) in [(set::EXPORTED, exported), (set::IMPORTED, imported)] {
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        if copy.properties.set(set).is_empty() {
            copy.properties.sets.extend(names(arena, set, &symbols)?);
        }
    }
    Ok(())
}

/// The target of an image whose container names none: tables and bare files do not. What the image was compiled for
/// tells, or the payload itself.
pub fn target_of(examined: &Examined<'_, '_>) -> Option<&'static str> {
    let image = examined.image;
    // A module without a target is read as one for every device. A blob in a table may say more.
    if !matches!(image.target, "" | "spir64") {
        return None;
    }
    let named = image.compile_target().and_then(spec_of).map(|(target, _)| target);
    let by_format = || match examined.format {
        Format::Zebin | Format::PatchTokens => Some("spir64_gen"),
        Format::Ptx => Some("nvptx64"),
        _ => examined.march.map(|_| "spir64_x86_64"),
    };
    named.or_else(by_format)
}

/// The `DeviceTargetSpec` of a target that `-fsycl-targets` takes, and whether the architecture is said beside it.
fn spec_of(target: &str) -> Option<(&'static str, bool)> {
    let prefixes = [
        ("intel_gpu_", "spir64_gen"),
        ("nvidia_gpu_", "nvptx64"),
        ("amd_gpu_", "amdgcn"),
        ("intel_cpu_", "spir64_x86_64"),
    ];
    let family = prefixes.into_iter().find(|(prefix, _)| target.starts_with(prefix));
    family.map(|(_, spec)| (spec, true)).or((target == "spir64_x86_64").then_some(("spir64_x86_64", false)))
}

/// Whether an architecture that a container names is one that `compile_target` holds.
fn named_arch(arch: &str) -> bool {
    spec_of(arch).is_some_and(|(_, family)| family)
}

/// Makes the image one for another target: `intel_gpu_pvc` becomes `spir64_gen` with the architecture beside it, as
/// DPC++ writes it; any other name stands as it is, without an architecture.
///
/// # Errors
/// `Input` where the arena is full.
pub fn retarget<'k>(arena: &'k Arena, image: &mut Image<'k>, target: &'k str) -> Result<()> {
    let (spec, family) = spec_of(target).unwrap_or(("", false));
    image.target = if family { spec } else { target };
    image.arch = "";
    compile_target(arena, image, family.then_some(target))
}

/// Sets or removes `compile_target`.
fn compile_target<'k>(arena: &'k Arena, image: &mut Image<'k>, name: Option<&str>) -> Result<()> {
    if let Some(name) = name {
        let value = byte_array(arena, name.as_bytes())?;
        image.properties.put(set::REQUIREMENTS, Property { name: key::COMPILE_TARGET, value });
    } else if let Some(known) = image.properties.sets.iter_mut().find(|known| known.name == set::REQUIREMENTS) {
        known.properties.retain(|property| property.name != key::COMPILE_TARGET);
    }
    Ok(())
}

/// Stores the payload in the way asked for.
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
        Payload::Zstd(level) if !compressed && image.stored.len() >= ZSTD_THRESHOLD => {
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
