//! How is a SYCLBIN written?
//!
//! As in DPC++'s linker, there is an abstract module for each image, with the image's property sets as its metadata.

use super::{HEADER, MAGIC, RECORD, metadata};
use crate::bundle::image::{Image, State};
use crate::bundle::offload_binary::{self, Entry, SYCL, Version, image_kind};
use crate::bundle::property::{Properties, Property, PropertySet, Value, byte_array};
use crate::bundle::property_sets::set;
use crate::bundle::property_text;
use crate::container::place::Place;
use crate::error::Result;

/// Version of the file, and the container around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    /// Version 1 without a container.
    Bare,
    /// Version 1 as the only image of an OffloadBinary of version 1, which DPC++ 2025 and later read.
    V1,
    /// Version 2: an OffloadBinary of parts (DPC++ 2026).
    V2,
}

/// Image to write.
#[derive(Debug, Clone)]
pub struct Module<'a> {
    /// Image that provides target, architecture, entries and property sets.
    pub image: &'a Image<'a>,
    /// Code: the image's own, or a compiled form of it.
    pub payload: &'a [u8],
    /// Whether the code is native; IR otherwise.
    pub native: bool,
    /// Full triple (`spir64-unknown-unknown`).
    pub triple: &'a str,
    /// Names of the kernels, by which the runtime finds them.
    pub kernels: Vec<&'a str>,
}

/// Module as text and code.
struct Text<'a> {
    module: String,
    code: String,
    of: &'a Module<'a>,
}

/// Writes images as a SYCLBIN.
///
/// # Errors
/// `Input` where property sets cannot be written as text.
pub fn write(envelope: Envelope, state: State, modules: &[Module<'_>]) -> Result<Vec<u8>> {
    let number = match state {
        State::Input => 0,
        State::Object => 1,
        State::Executable => 2,
    };
    let global = one_set(metadata::GLOBAL, vec![Property { name: "state", value: Value::U32(number) }])?;
    let texts = modules.iter().map(text).collect::<Result<Vec<_>>>()?;
    if envelope == Envelope::V2 {
        return parted(&global, &texts);
    }
    let bare = tables(&global, &texts);
    if envelope == Envelope::Bare {
        return Ok(bare);
    }
    offload_binary::write(Version::V1, &[part(&bare, Vec::new())])
}

fn one_set(name: &str, properties: Vec<Property<'_>>) -> Result<String> {
    property_text::write(&Properties { sets: vec![PropertySet { name, properties }] })
}

fn text<'a>(module: &'a Module<'a>) -> Result<Text<'a>> {
    let mut properties = module.image.properties.clone();
    // The runtime reads a SYCLBIN's kernels from this set; images of host files list them as entries.
    if properties.set(set::KERNEL_NAMES).is_empty() && !module.kernels.is_empty() {
        properties.sets.retain(|set| set.name != set::KERNEL_NAMES);
        let names = module.kernels.iter().map(|name| Property { name, value: Value::U32(1) }).collect();
        properties.sets.push(PropertySet { name: set::KERNEL_NAMES, properties: names });
    }
    let [triple, arch] = [module.triple, module.image.arch].map(|text| byte_array(text.as_bytes()));
    let target = Property { name: "target", value: Value::Bytes(&triple) };
    let code = if module.native {
        one_set(metadata::NATIVE, vec![Property { name: "arch", value: Value::Bytes(&arch) }, target])
    } else {
        one_set(metadata::IR, vec![Property { name: "type", value: Value::U32(0) }, target])
    };
    Ok(Text { module: property_text::write(&properties)?, code: code?, of: module })
}

/// The abstract modules: how many of the texts each has. The first of a module may be IR.
fn modules<'t, 'a>(texts: &'t [Text<'a>]) -> impl Iterator<Item = &'t [Text<'a>]> {
    texts.chunk_by(|before, next| next.of.native && before.of.kernels == next.of.kernels && !next.of.kernels.is_empty())
}

/// Writes version 1 without a container.
fn tables(global: &str, texts: &[Text<'_>]) -> Vec<u8> {
    let mut metadata = global.as_bytes().to_vec();
    let mut add = |text: &str| {
        let at = metadata.len();
        metadata.extend_from_slice(text.as_bytes());
        [at, text.len()].map(|word| (word as u64).to_le_bytes()).concat()
    };
    let (mut of_modules, mut ir, mut native, mut code) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for members in modules(texts) {
        of_modules.extend(add(members.first().map_or("", |first| &first.module)));
        let natives = members.iter().filter(|text| text.of.native).count();
        let record = RECORD as usize;
        for number in [members.len().saturating_sub(natives), ir.len() / record, natives, native.len() / record] {
            of_modules.extend((number as u32).to_le_bytes());
        }
        for text in members {
            let records = if text.of.native { &mut native } else { &mut ir };
            records.extend(add(&text.code));
            records
                .extend([code.len(), text.of.payload.len()].into_iter().flat_map(|word| (word as u64).to_le_bytes()));
            code.extend_from_slice(text.of.payload);
        }
    }
    let modules = of_modules;
    let mut out = MAGIC.to_vec();
    let counts = [modules.len(), ir.len(), native.len()].map(|len| (len / RECORD as usize) as u32);
    out.extend([1, counts[0], counts[1], counts[2], 0].into_iter().flat_map(u32::to_le_bytes));
    for word in [metadata.len(), code.len(), 0, global.len()] {
        out.extend((word as u64).to_le_bytes());
    }
    debug_assert_eq!(out.len() as u64, HEADER);
    out.extend([modules, ir, native, metadata].concat());
    out.resize(out.len().next_multiple_of(8), 0);
    out.extend(code);
    out
}

fn part<'a>(image: &'a [u8], strings: Vec<(&'a [u8], &'a [u8])>) -> Entry<'a> {
    let place = Place::default();
    Entry { image_kind: image_kind::SYCLBIN, offload_kind: SYCL, flags: 0, strings, image, place }
}

/// Writes version 2.
fn parted(global: &str, texts: &[Text<'_>]) -> Result<Vec<u8>> {
    let groups: Vec<&[Text<'_>]> = modules(texts).collect();
    let indices: Vec<String> = (0..groups.len()).map(|index| index.to_string()).collect();
    let codes: Vec<Vec<u8>> = texts
        .iter()
        .map(|text| [&(text.code.len() as u64).to_le_bytes()[..], text.code.as_bytes(), text.of.payload].concat())
        .collect();
    let strings = |role: &'static str| -> Vec<(&[u8], &[u8])> {
        vec![(b"sycl_format_version", b"2"), (b"role", role.as_bytes())]
    };
    let mut parts = vec![part(global.as_bytes(), strings("global_metadata"))];
    let mut codes = codes.iter();
    for (members, index) in groups.iter().zip(&indices) {
        let index = (&b"am_index"[..], index.as_bytes());
        let mut said = strings("am_metadata");
        said.push(index);
        parts.push(part(members.first().map_or("", |first| &first.module).as_bytes(), said));
        for (text, code) in members.iter().zip(codes.by_ref()) {
            let mut said = strings(if text.of.native { "native" } else { "ir" });
            said.push(index);
            said.push(if text.of.native { (b"arch", text.of.image.arch.as_bytes()) } else { (b"ir_type", b"0") });
            said.push((b"triple", text.of.triple.as_bytes()));
            parts.push(part(code, said));
        }
    }
    offload_binary::write(Version::V2, &parts)
}
