//! What does the JSON say of one image?

use super::native::NativeJson;
use crate::bundle::aspect::Epoch;
use crate::bundle::decode::{Decoded, SpecConstant, decode};
use crate::bundle::property::{Properties, Property, PropertySet, Value};
use crate::compat::examine::Examined;
use crate::report::{FileFacts, name};
use crate::spirv::{Module, names};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::collections::HashSet;

#[derive(serde::Serialize)]
pub(super) struct ImageJson<'b> {
    index: usize,
    state: &'static str,
    format: &'static str,
    declared_format: String,
    target: &'b str,
    compile_target: Option<&'b str>,
    march: Option<&'static str>,
    size: u64,
    stored_size: usize,
    compression: Option<&'static str>,
    offset: u64,
    uri: Option<String>,
    descriptor: Option<usize>,
    blake3: String,
    compile_options: &'b str,
    link_options: &'b str,
    kernels: &'b [String],
    demangled: Vec<Cow<'b, str>>,
    entries: &'b [&'b str],
    exports: &'b [String],
    imports: &'b [String],
    requirements: RequirementsJson<'b>,
    properties: SetsJson<'b>,
    spirv: Option<SpirvJson<'b>>,
    native: Option<NativeJson<'b>>,
}

#[derive(serde::Serialize)]
struct RequirementsJson<'b> {
    aspects: &'b [String],
    reqd_work_group_size: Option<&'b [u64]>,
    reqd_sub_group_size: Vec<u32>,
    fixed_targets: Option<&'b [u32]>,
}

#[derive(serde::Serialize)]
struct SpirvJson<'b> {
    version: String,
    generator: String,
    capabilities: Vec<Cow<'static, str>>,
    extensions: &'b [String],
    used_aspects: Vec<&'static str>,
}

impl<'b> ImageJson<'b> {
    pub(super) fn new(facts: &FileFacts<'_>, base: Option<&str>, examined: &'b Examined<'b, 'b>) -> Self {
        let image = examined.image;
        let requirements = &examined.requirements;
        let epoch = facts.bundle.map_or(Epoch::From2026, |bundle| bundle.epoch);
        ImageJson {
            index: image.index,
            state: examined.state.name(),
            format: examined.format.name(),
            declared_format: image.declared.name(),
            target: image.target,
            compile_target: image.compile_target(),
            march: examined.march.map(crate::device::cpu::CpuArch::name),
            size: examined.size,
            stored_size: image.stored.len(),
            compression: image.compression().map(|compression| compression.name()),
            offset: image.offset,
            uri: base
                .filter(|_| !image.inflated)
                .map(|base| name::uri_at(base, facts.base.saturating_add(image.offset), image.stored.len())),
            descriptor: image.origin.map(|origin| origin.descriptor),
            blake3: name::hex(&examined.blake3),
            compile_options: image.compile_options,
            link_options: image.link_options,
            kernels: &examined.kernels,
            demangled: examined.kernels.iter().map(|kernel| name::demangle(kernel)).collect(),
            entries: &image.entries,
            exports: &examined.exports,
            imports: &examined.imports,
            requirements: RequirementsJson {
                aspects: &requirements.aspects,
                reqd_work_group_size: requirements.reqd_work_group_size.as_deref(),
                reqd_sub_group_size: requirements.reqd_sub_group_size.into_iter().collect(),
                fixed_targets: requirements.fixed_targets.as_deref(),
            },
            properties: SetsJson { all: &image.properties, epoch },
            spirv: examined.module.as_ref().map(spirv),
            native: examined.native.as_ref().map(NativeJson::from),
        }
    }
}

fn spirv(module: &Module) -> SpirvJson<'_> {
    SpirvJson {
        version: format!("{}.{}", module.version.0, module.version.1),
        generator: names::generator(module.generator),
        capabilities: module.capabilities.iter().map(|&number| names::capability(number)).collect(),
        extensions: &module.extensions,
        used_aspects: module.used_aspects.iter().copied().collect(),
    }
}

/// `{ SET: { NAME: {..} } }`. A name that a damaged image repeats is given once, as the runtime sees it: the first.
struct SetsJson<'b> {
    all: &'b Properties<'b>,
    epoch: Epoch,
}

impl Serialize for SetsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut seen = HashSet::new();
        for set in self.all.sets.iter().filter(|set| seen.insert(set.name)) {
            map.serialize_entry(set.name, &SetJson { sets: self, set })?;
        }
        map.end()
    }
}

struct SetJson<'b> {
    sets: &'b SetsJson<'b>,
    set: &'b PropertySet<'b>,
}

impl Serialize for SetJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut seen = HashSet::new();
        for property in self.set.properties.iter().filter(|property| seen.insert(property.name)) {
            let decoded = decode(self.sets.all, self.set.name, property, self.sets.epoch);
            map.serialize_entry(property.name, &property_json(property, decoded))?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct PropertyJson {
    r#type: &'static str,
    value: ValueJson,
    decoded: Option<DecodedJson>,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum ValueJson {
    Number(u32),
    Base64(String),
}

fn property_json(property: &Property<'_>, decoded: Option<Decoded>) -> PropertyJson {
    let value = match property.value {
        Value::U32(number) => ValueJson::Number(number),
        Value::Bytes(bytes) | Value::Text(bytes) | Value::Unknown { bytes, .. } => {
            ValueJson::Base64(STANDARD.encode(bytes))
        }
    };
    PropertyJson { r#type: property.value.type_name(), value, decoded: decoded.map(DecodedJson) }
}

/// The JSON form of a decoded value.
struct DecodedJson(Decoded);

#[derive(serde::Serialize)]
struct PartJson {
    id: u32,
    offset: u32,
    size: u32,
}

impl Serialize for DecodedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Decoded::Number(number) => number.serialize(serializer),
            Decoded::Numbers(numbers) => numbers.serialize(serializer),
            Decoded::Flag(flag) => flag.serialize(serializer),
            Decoded::Text(text) => text.serialize(serializer),
            Decoded::Names(names) => names.serialize(serializer),
            Decoded::Arguments { count, eliminated } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("arguments", count)?;
                map.serialize_entry("eliminated", eliminated)?;
                map.end()
            }
            Decoded::SpecConstant(parts) => serializer
                .collect_seq(parts.iter().map(|&SpecConstant { id, offset, size }| PartJson { id, offset, size })),
            Decoded::Defaults(values) => serializer.collect_map(values.iter().map(|(name, value)| (name, value))),
            Decoded::DeviceGlobal { size, image_scope } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("size", size)?;
                map.serialize_entry("image_scope", image_scope)?;
                map.end()
            }
        }
    }
}
