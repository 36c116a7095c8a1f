//! Which images are in a SYCLBIN?
//!
//! SYCLBIN is DPC++'s file of device code without a host program (`llvm/Object/SYCLBIN.h` of intel/llvm; libsycl loads
//! it with `get_kernel_bundle`). It holds abstract modules: property sets, and the same code as IR and as native
//! images. Version 1 has a header and tables of its own, usually inside an OffloadBinary; version 2 is an OffloadBinary
//! whose entries are the parts. Metadata is property sets as text.

mod v1;
mod v2;
mod write;

use super::blob::{self, Reader};
use super::format::Declared;
use super::image::{Image, State};
use super::property::{Properties, Value, set};
use super::property_text;
use crate::container::place::Place;
pub(super) use v2::{images_of_parts, is_parted};
pub use write::{Envelope, Module as NewModule, write};

/// Magic of version 1.
pub const MAGIC: [u8; 4] = *b"IBYS";

/// Names of the metadata sets.
pub mod metadata {
    /// Set of the whole file: `state`.
    pub const GLOBAL: &str = "SYCLBIN/global metadata";
    /// Set of one IR module: `type`, `target`.
    pub const IR: &str = "SYCLBIN/ir module metadata";
    /// Set of one native image: `arch`, `target`.
    pub const NATIVE: &str = "SYCLBIN/native device code image metadata";
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
    if let Err(error) = v1::read(reader, data, place) {
        reader.problem(place.locate(error).context("SYCLBIN"));
    }
}

/// Reads metadata; images with damaged metadata are read without it.
fn properties<'a>(reader: &mut Reader<'a>, text: &'a [u8], place: Place, of: &str) -> Properties<'a> {
    let arena = reader.arena;
    let read = reader.spend(text.len()).and_then(|()| property_text::read(text, |bytes| arena.keep(bytes)));
    read.unwrap_or_else(|error| {
        // The error's offset counts from the start of the text.
        let place = place.at(error.offset().unwrap_or(0));
        let message = error.message();
        let message = message.split(" (at offset").next().unwrap_or_default();
        reader.problem(place.error(message).context(format!("SYCLBIN {of}")));
        Properties::default()
    })
}

/// Returns the state in the global metadata.
fn state(global: &Properties<'_>) -> Option<State> {
    match global.get(metadata::GLOBAL, "state")? {
        Value::U32(0) => Some(State::Input),
        Value::U32(1) => Some(State::Object),
        Value::U32(2) => Some(State::Executable),
        _ => None,
    }
}

/// Adds one IR module or native image of an abstract module.
fn add<'a>(reader: &mut Reader<'a>, global: &Properties<'_>, module: &Properties<'a>, code: Code<'a>) {
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
        stated: state(global),
        entries: module.names(set::KERNEL_NAMES),
        properties: module.clone(),
        ..Image::bare(code.payload, code.place.offset())
    };
    reader.image(code.payload, code.place, like);
}
