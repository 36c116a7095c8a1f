//! Which images are in a SYCLBIN?
//!
//! SYCLBIN is DPC++'s file of device code without a host program (`llvm/Object/SYCLBIN.h` of intel/llvm; libsycl loads
//! it with `get_kernel_bundle`). It holds abstract modules: property sets, and the same code as IR and as native
//! images. Version 1 has a header and tables of its own, usually inside an OffloadBinary; version 2 is an OffloadBinary
//! whose entries are the parts. Metadata is property sets as text.
//!
//! Version 1 has a header of 56 bytes; headers of 32 bytes for abstract modules, IR modules and native images; a table of
//! metadata, padded to 8 bytes; and a table of code.
//!
//! In version 2 each entry of the OffloadBinary has a `role`: `global_metadata`, `am_metadata`, `ir` or `native`; the last three
//! have an `am_index`. Code begins with its own metadata, after the metadata's length (8 bytes).
//!
//! As in DPC++'s linker, there is an abstract module for each image, with the image's property sets as its metadata.

use super::blob::{self, Reader};
use super::format::{Declared, Format};
use super::image::{Image, State};
use super::offload_binary::{Entry, image_kind};
use super::property::{Properties, Value};
use super::property_sets::set;
use super::property_text;
use crate::bundle::offload_binary::{self, SYCL, Version};
use crate::bundle::property::{Property, PropertySet, byte_array};
use crate::bytes::{self, Draft};
use crate::container::Place;
use crate::error::{Context as _, Error, Result};
use std::collections::HashMap;

/// Magic of version 1.
pub const MAGIC: [u8; 4] = *b"IBYS";

/// Names of the metadata sets.
pub mod metadata {
    /// Set of the whole file: `state`.
    pub(crate) const GLOBAL: &str = "SYCLBIN/global metadata";
    /// Set of one IR module: `type`, `target`.
    pub(crate) const IR: &str = "SYCLBIN/ir module metadata";
    /// Set of one native image: `arch`, `target`.
    pub(crate) const NATIVE: &str = "SYCLBIN/native device code image metadata";
}

/// IR module or native image, as stored in its part of the file.
struct Code<'a> {
    native: bool,
    metadata: Properties<'a>,
    payload: &'a [u8],
    place: Place,
}

/// Reads a SYCLBIN of version 1 and adds its images.
pub(super) fn images<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) {
    if let Err(error) = read(reader, data, place) {
        reader.problem(place.locate(error).context("SYCLBIN"));
    }
}

/// Reads metadata; images with damaged metadata are read without it.
fn properties<'a>(reader: &mut Reader<'a>, text: &'a [u8], place: Place, of: &str) -> Properties<'a> {
    sound_properties(reader, text, place, of).unwrap_or_default()
}

/// Reads metadata, and returns none where it is damaged, which is told.
fn sound_properties<'a>(reader: &mut Reader<'a>, text: &'a [u8], place: Place, of: &str) -> Option<Properties<'a>> {
    let arena = reader.arena;
    let read = reader.spend(text.len()).and_then(|()| property_text::read(text, |bytes| arena.keep(bytes)));
    let told = |error: Error| {
        // The error's offset counts from the start of the text.
        let place = place.at(error.offset().unwrap_or(0));
        let message = error.message();
        let message = message.split(" (at offset").next().unwrap_or_default();
        reader.problem(place.error(message).context(format!("SYCLBIN {of}")));
    };
    read.map_err(told).ok()
}

/// Reads the state in the global metadata. DPC++'s runtime loads no file without one.
fn state<'a>(reader: &mut Reader<'a>, text: &'a [u8], place: Place) -> Option<State> {
    let global = sound_properties(reader, text, place, "global metadata")?;
    let state = match global.get(metadata::GLOBAL, "state") {
        Some(Value::U32(0)) => Some(State::Input),
        Some(Value::U32(1)) => Some(State::Object),
        Some(Value::U32(2)) => Some(State::Executable),
        _ => None,
    };
    if state.is_none() {
        reader.problem(place.error("SYCLBIN: its global metadata states none of the states 0 to 2"));
    }
    state
}

/// Adds one IR module or native image of an abstract module.
///
/// # Errors
/// Errors of [`Reader::copy`].
fn add<'a>(reader: &mut Reader<'a>, stated: Option<State>, module: &Properties<'a>, code: Code<'a>) -> Result<()> {
    let (properties, _) = reader.copy(module, &[])?;
    let text = |set: &str, name: &str| code.metadata.get(set, name).and_then(|value| value.text()).unwrap_or_default();
    let kind = if code.native { metadata::NATIVE } else { metadata::IR };
    let declared = match (code.native, code.metadata.get(metadata::IR, "type")) {
        (true, _) => Declared::Native,
        (false, Some(Value::U32(0))) => Declared::SpirV,
        (false, _) => Declared::None,
    };
    let like = Image {
        declared,
        target: blob::target_of(text(kind, "target")),
        arch: blob::arch_of(text(kind, "arch")),
        stated,
        entries: module.names(set::KERNEL_NAMES),
        properties,
        ..Image::bare(code.payload, code.place.offset())
    };
    reader.image(code.payload, code.place, like);
    Ok(())
}

/// Size of the file header in bytes.
const HEADER: u64 = 56;
/// Size of each other header in bytes.
const RECORD: u64 = 32;

/// Part of the file that offsets count from.
#[derive(Clone, Copy)]
struct Table<'a> {
    data: &'a [u8],
    place: Place,
    name: &'static str,
}

impl<'a> Table<'a> {
    fn slice(self, at: u64, len: u64) -> Result<(&'a [u8], Place)> {
        let part = blob::slice(self.data, at, len).ok_or_else(|| {
            self.place.error(format!("{len} bytes at {at:#x} of the {} pass its {} bytes", self.name, self.data.len()))
        })?;
        Ok((part, self.place.at(at)))
    }

    /// Returns record `index`; `count` is the number of records that the header declares.
    fn record(self, index: u64) -> Result<&'a [u8]> {
        let at = index.checked_mul(RECORD).ok_or_else(|| Error::input("a header's index is out of range"))?;
        self.slice(at, RECORD).map(|(record, _)| record)
    }
}

struct File<'a> {
    metadata: Table<'a>,
    code: Table<'a>,
    state: Option<State>,
}

/// Reads the file and adds its images to the reader.
///
/// # Errors
/// `Input` where the header or the tables are cut short; damaged modules are problems of the reader.
fn read<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Result<()> {
    let cut = || place.error("the header is cut short");
    let number = |at| bytes::u32_at(data, at).map(u64::from).ok_or_else(cut);
    let word = |at| bytes::u64_at(data, at).ok_or_else(cut);
    let version = number(4)?;
    if !data.starts_with(&MAGIC) || version != 1 {
        return Err(place.at(4).error(format!("version {version} with a header of version 1")));
    }
    let counts = [number(8)?, number(12)?, number(16)?];
    let (metadata_size, code_size) = (word(24)?, word(32)?);
    let mut at = HEADER;
    let mut table = |len: u64, name: &'static str| -> Result<Table<'a>> {
        let part = blob::slice(data, at, len)
            .ok_or_else(|| place.error(format!("the {name} at {at:#x}, {len} bytes, passes the end")))?;
        let table = Table { data: part, place: place.at(at), name };
        at = at.saturating_add(len);
        Ok(table)
    };
    let [modules, ir, native] = [
        table(counts[0].saturating_mul(RECORD), "table of abstract modules")?,
        table(counts[1].saturating_mul(RECORD), "table of IR modules")?,
        table(counts[2].saturating_mul(RECORD), "table of native images")?,
    ];
    let metadata = table(metadata_size, "metadata table")?;
    let padding = metadata_size.wrapping_neg() & 7;
    // If the end is missing, only the images there are lost.
    let start = at.saturating_add(if code_size == 0 { 0 } else { padding });
    let rest = usize::try_from(start).ok().and_then(|start| data.get(start..)).unwrap_or_default();
    let code = usize::try_from(code_size).ok().and_then(|len| rest.get(..len)).unwrap_or(rest);
    let code = Table { data: code, place: place.at(start), name: "code table" };
    if (code.data.len() as u64) < code_size {
        reader.problem(
            place.at(32).error(format!("SYCLBIN: a code table of {code_size} bytes; the file has {}", code.data.len())),
        );
    }
    let behind = rest.get(code.data.len()..).unwrap_or_default();
    let padded = behind.iter().position(|byte| *byte != 0).unwrap_or(behind.len());
    let another = behind.get(padded..).unwrap_or_default();
    if another.starts_with(&MAGIC) || another.starts_with(&offload_binary::MAGIC) {
        let place = code.place.at((code.data.len() as u64).saturating_add(padded as u64));
        reader.problem(place.error("SYCLBIN: another one stands behind it, which no runtime reads"));
    }
    let state = match metadata.slice(word(40)?, word(48)?) {
        Ok((text, place)) => state(reader, text, place),
        Err(error) => {
            reader.problem(error.context("SYCLBIN global metadata"));
            None
        }
    };
    let file = File { metadata, code, state };
    for index in 0..counts[0] {
        let place = modules.place.at(index.saturating_mul(RECORD));
        if let Err(error) = module(reader, &file, modules.record(index)?, ir, native) {
            reader.problem(place.locate(error).context(format!("SYCLBIN abstract module {index}")));
        }
    }
    Ok(())
}

fn module<'a>(reader: &mut Reader<'a>, file: &File<'a>, record: &[u8], ir: Table<'a>, native: Table<'a>) -> Result<()> {
    let word = |at| bytes::u64_at(record, at).unwrap_or(0);
    let number = |at| bytes::u32_at(record, at).map_or(0, u64::from);
    let (text, place) = file.metadata.slice(word(0), word(8))?;
    let module = properties(reader, text, place, "module metadata");
    for (table, is_native, count, first) in
        [(ir, false, number(16), number(20)), (native, true, number(24), number(28))]
    {
        for index in first..first.saturating_add(count) {
            // The first index out of range ends the walk, since later ones are out of range too.
            let record = table.record(index)?;
            reader.spend(record.len())?;
            if let Err(error) = code(reader, file, &module, record, is_native) {
                let what = if is_native { "native image" } else { "IR module" };
                reader.problem(place.locate(error).context(format!("SYCLBIN {what} {index}")));
            }
        }
    }
    Ok(())
}

fn code<'a>(
    reader: &mut Reader<'a>,
    file: &File<'a>,
    module: &Properties<'a>,
    record: &[u8],
    native: bool,
) -> Result<()> {
    let word = |at| bytes::u64_at(record, at).unwrap_or(0);
    let (payload, place) = file.code.slice(word(16), word(24)).context(|| "its code".to_owned())?;
    let metadata = match file.metadata.slice(word(0), word(8)) {
        Ok((text, place)) => properties(reader, text, place, "image metadata"),
        Err(error) => {
            reader.problem(error.context("SYCLBIN image metadata"));
            Properties::default()
        }
    };
    add(reader, file.state, module, Code { native, metadata, payload, place })
}

/// Values of `role`.
const ROLES: [&str; 4] = ["global_metadata", "am_metadata", "ir", "native"];

/// Whether the entries of an OffloadBinary are the parts of a SYCLBIN.
pub(crate) fn is_parted(entries: &[Entry<'_>]) -> bool {
    let role = |entry: &Entry<'_>| ROLES.contains(&entry.string("role"));
    entries.iter().any(|entry| entry.is_of_syclbin() && role(entry))
        && entries.first().is_some_and(|entry| !entry.image.starts_with(&MAGIC))
}

/// Adds the images of the SYCLBIN with these entries. `place` is the location of the OffloadBinary.
pub(crate) fn images_of_parts<'a>(reader: &mut Reader<'a>, entries: &[Entry<'a>], place: Place) {
    let mut global = None;
    let mut modules: HashMap<u32, Properties<'a>> = HashMap::new();
    for entry in entries {
        let twice = match entry.string("role") {
            "global_metadata" => {
                let version = entry.string("sycl_format_version");
                if !matches!(version, "" | "2") {
                    reader.problem(entry.place.error(format!("a SYCLBIN of version `{version}`; 1 and 2 are known")));
                }
                global.replace(state(reader, entry.image, entry.place)).is_some()
            }
            "am_metadata" => match index(entry) {
                Ok(index) => {
                    let read = properties(reader, entry.image, entry.place, "module metadata");
                    modules.insert(index, read).is_some()
                }
                Err(error) => {
                    reader.problem(error);
                    false
                }
            },
            _ => false,
        };
        if twice {
            reader.problem(entry.place.error(format!("a second `{}` for the same", entry.string("role"))));
        }
    }
    if global.is_none() {
        reader.problem(place.error("a SYCLBIN without global metadata"));
    }
    let stated = global.flatten();
    let none = Properties::default();
    for entry in entries {
        let role = entry.string("role");
        let native = match role {
            "ir" => false,
            "native" => true,
            "global_metadata" | "am_metadata" => continue,
            role => {
                reader.problem(entry.place.error(format!("a part of a SYCLBIN in the unknown role `{role}`")));
                continue;
            }
        };
        let module = index(entry).and_then(|index| {
            modules.get(&index).ok_or_else(|| entry.place.error(format!("abstract module {index} has no metadata")))
        });
        let module = module.unwrap_or_else(|error| {
            reader.problem(error.context(format!("SYCLBIN {role} image")));
            &none
        });
        let added = split_code(entry).and_then(|(text, payload, at)| {
            let metadata = properties(reader, text, entry.place.at(8), "image metadata");
            add(reader, stated, module, Code { native, metadata, payload, place: entry.place.at(at) })
        });
        if let Err(error) = added {
            reader.problem(entry.place.locate(error).context(format!("SYCLBIN {role} image")));
        }
    }
}

fn index(entry: &Entry<'_>) -> Result<u32> {
    let text = entry.string("am_index");
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| entry.place.error(format!("`{text}` is no number of an abstract module")))
}

/// Returns metadata, payload, and the offset of the payload in the entry.
fn split_code<'a>(entry: &Entry<'a>) -> Result<(&'a [u8], &'a [u8], u64)> {
    let cut = || Error::input("its metadata passes its end");
    let len = bytes::u64_at(entry.image, 0).ok_or_else(cut)?;
    let text = blob::slice(entry.image, 8, len).ok_or_else(cut)?;
    let payload = entry.image.get(text.len().saturating_add(8)..).unwrap_or_default();
    Ok((text, payload, len.saturating_add(8)))
}

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
pub struct NewModule<'a> {
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
    /// Number of the language in decimal; none for native code.
    ir_type: Option<String>,
    of: &'a NewModule<'a>,
}

/// Writes images as a SYCLBIN.
///
/// # Errors
/// `Input` where property sets cannot be written as text; errors of [`Draft::with_capacity`].
pub fn write(envelope: Envelope, state: State, modules: &[NewModule<'_>]) -> Result<Draft> {
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
    let bare = tables(&global, &texts)?;
    if envelope == Envelope::Bare {
        return Ok(bare);
    }
    offload_binary::write(Version::V1, &[part(&bare, Vec::new())])
}

fn one_set(name: &str, properties: Vec<Property<'_>>) -> Result<String> {
    property_text::write(&Properties { sets: vec![PropertySet { name, properties }] })
}

fn text<'a>(module: &'a NewModule<'a>) -> Result<Text<'a>> {
    let mut properties = module.image.properties.clone();
    // The runtime reads a SYCLBIN's kernels from this set; images of host files list them as entries.
    if properties.set(set::KERNEL_NAMES).is_empty() && !module.kernels.is_empty() {
        properties.sets.retain(|set| set.name != set::KERNEL_NAMES);
        let names = module.kernels.iter().map(|name| Property { name, value: Value::U32(1) }).collect();
        properties.sets.push(PropertySet { name: set::KERNEL_NAMES, properties: names });
    }
    let [triple, arch] = [module.triple, module.image.arch].map(|text| byte_array(text.as_bytes()));
    let target = Property { name: "target", value: Value::Bytes(&triple) };
    let ir_type = if module.native { None } else { Some(ir_type(module)?) };
    let code = match ir_type {
        None => one_set(metadata::NATIVE, vec![Property { name: "arch", value: Value::Bytes(&arch) }, target]),
        Some(number) => one_set(metadata::IR, vec![Property { name: "type", value: Value::U32(number) }, target]),
    };
    let ir_type = ir_type.map(|number| number.to_string());
    Ok(Text { module: property_text::write(&properties)?, code: code?, ir_type, of: module })
}

/// Returns the number that a SYCLBIN has for the language of an IR module (`SYCLBIN::IRType` of intel/llvm).
///
/// # Errors
/// `Input` for a language without a number.
fn ir_type(module: &NewModule<'_>) -> Result<u32> {
    match Format::sniff(module.payload) {
        Format::SpirV => Ok(0),
        Format::Ptx => Ok(1),
        Format::LlvmBitcode if module.triple.starts_with("amdgcn") => Ok(2),
        other => {
            let (index, language) = (module.image.index, other.name());
            let error = Error::input(format!("image {index}: a SYCLBIN has no number for {language} as IR"));
            Err(error.with_remedy("write an OffloadBinary, which names it, or select other images"))
        }
    }
}

/// The abstract modules: how many of the texts each has. The first of a module may be IR. What is said of a module holds for all of
/// its code, so native code that needs something else, or is for one device, has a module of its own.
fn modules<'t, 'a>(texts: &'t [Text<'a>]) -> impl Iterator<Item = &'t [Text<'a>]> {
    texts.chunk_by(|before, next| {
        let is_same_code = before.of.kernels == next.of.kernels && !next.of.kernels.is_empty();
        next.of.native && is_same_code && before.module == next.module
    })
}

/// Writes version 1 without a container.
fn tables(global: &str, texts: &[Text<'_>]) -> Result<Draft> {
    let mut metadata = global.as_bytes().to_vec();
    let mut add = |text: &str| {
        let at = metadata.len();
        metadata.extend_from_slice(text.as_bytes());
        [at, text.len()].map(|word| (word as u64).to_le_bytes()).concat()
    };
    let (mut of_modules, mut ir, mut native, mut code) = (Vec::new(), Vec::new(), Vec::new(), 0usize);
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
            records.extend([code, text.of.payload.len()].into_iter().flat_map(|word| (word as u64).to_le_bytes()));
            code = code.saturating_add(text.of.payload.len());
        }
    }
    let modules = of_modules;
    let mut out = MAGIC.to_vec();
    let counts = [modules.len(), ir.len(), native.len()].map(|len| (len / RECORD as usize) as u32);
    out.extend([1, counts[0], counts[1], counts[2], 0].into_iter().flat_map(u32::to_le_bytes));
    for word in [metadata.len(), code, 0, global.len()] {
        out.extend((word as u64).to_le_bytes());
    }
    debug_assert_eq!(out.len() as u64, HEADER);
    out.extend([modules, ir, native, metadata].concat());
    out.resize(out.len().next_multiple_of(8), 0);
    let mut file = Draft::copy_of(&out, code)?;
    // In the order of the texts, as the offsets are.
    texts.iter().try_for_each(|text| file.extend(text.of.payload))?;
    Ok(file)
}

fn part<'a>(image: &'a [u8], strings: Vec<(&'a [u8], &'a [u8])>) -> Entry<'a> {
    let place = Place::default();
    Entry { image_kind: image_kind::SYCLBIN, offload_kind: SYCL, flags: 0, strings, image, place }
}

/// Writes version 2.
fn parted(global: &str, texts: &[Text<'_>]) -> Result<Draft> {
    let groups: Vec<&[Text<'_>]> = modules(texts).collect();
    let indices: Vec<String> = (0..groups.len()).map(|index| index.to_string()).collect();
    let code = |text: &Text<'_>| {
        let head = [&(text.code.len() as u64).to_le_bytes()[..], text.code.as_bytes()].concat();
        let mut code = Draft::copy_of(&head, text.of.payload.len())?;
        code.extend(text.of.payload)?;
        Ok(code)
    };
    let codes = texts.iter().map(code).collect::<Result<Vec<_>>>()?;
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
            said.push(match &text.ir_type {
                Some(number) => (b"ir_type", number.as_bytes()),
                None => (b"arch", text.of.image.arch.as_bytes()),
            });
            said.push((b"triple", text.of.triple.as_bytes()));
            parts.push(part(code, said));
        }
    }
    offload_binary::write(Version::V2, &parts)
}
