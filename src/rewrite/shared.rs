//! How are images brought into a process without changing its files?
//!
//! [`shared_library`] writes an ELF library that does one thing: when it is loaded (linked to, opened, preloaded) it
//! registers its images with the SYCL runtime, and when it is unloaded it unregisters them. No compiler or linker is
//! needed. Crate `object` writes the ELF structures; this module provides the instructions of each constructor and the
//! layout (`shared/layout.rs`):
//!
//! | segment | sections |
//! |---|---|
//! | read | `.hash`, `.dynsym`, `.dynstr`, `.rela.dyn`, `.rodata`, `__CLANG_OFFLOAD_BUNDLE__sycl-<target>` per target |
//! | execute | `.text` |
//! | write, read-only after relocation | `.init_array`, `.fini_array`, `.tgtimg`, `.data.rel.ro`, `.dynamic`, `.got` |
//! | not loaded | `.comment` |
//!
//! Sections of payloads and `.tgtimg` have the names and contents that clang-offload-wrapper gives them, so tools that
//! look for them find them. The same images and options give the same bytes.

use object::Endianness;
use object::write::elf::Writer;

use super::image_data::{EntryForm, ImageData, ImageVersion, OutImage};
use crate::error::{Error, ErrorKind, Result};

mod code;
mod layout;
mod sections;
mod write;

pub use code::Machine;
use layout::Layout;
use sections::Names;

/// Options of a shared library.
#[derive(Debug, Clone)]
pub struct SharedOptions<'a> {
    /// Processor of the host.
    pub machine: Machine,
    /// `DT_SONAME`: the name under which other files link to it.
    pub soname: &'a str,
    /// `DT_NEEDED`: the library with the runtime's registration functions, for example `libsycl.so.9`.
    pub runtime: &'a str,
    /// Version of the image structures that the runtime reads.
    pub version: ImageVersion,
    /// Form of the entry structures.
    pub entries: EntryForm,
    /// Lines for `.comment` before the line of this tool. The compiler of the images belongs here, since readers derive
    /// the meaning of aspect numbers from it.
    pub comments: &'a [&'a str],
}

impl<'a> SharedOptions<'a> {
    /// Returns options for the runtime of DPC++ 2026 on x86-64: `libsycl.so.9`, image structures of version 3, and old
    /// entries, which are what its own wrapper writes.
    pub fn new(soname: &'a str) -> Self {
        SharedOptions {
            machine: Machine::X86_64,
            soname,
            runtime: "libsycl.so.9",
            version: ImageVersion::V3,
            entries: EntryForm::Old,
            comments: &[],
        }
    }
}

/// Writes a library that registers `images`, in their order. More than 65,535 images take several descriptors.
///
/// # Errors
/// Errors of [`ImageData::new`]; `Input` for a name with a NUL byte in the options, and for images so large that code
/// cannot reach the structures (gigabytes of property sets).
pub fn shared_library(images: &[OutImage<'_>], options: &SharedOptions<'_>) -> Result<Vec<u8>> {
    let named = [options.soname, options.runtime];
    if let Some(name) = named.iter().chain(options.comments).find(|name| name.contains('\0')) {
        return Err(Error::new(ErrorKind::Usage, format!("the name {name:?} contains a NUL byte")));
    }
    let data = ImageData::new(images, options.version, options.entries)?;
    let names = Names::new(&data);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
    let layout = Layout::new(&mut writer, &data, options, &names)?;
    write::write(&mut writer, &layout)?;
    Ok(bytes)
}

/// Converts errors of the writer, which concern only extreme sizes.
fn writing(error: object::write::Error) -> Error {
    Error::input(format!("the library cannot be written: {error}"))
}
