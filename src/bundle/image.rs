//! What is one device image?

use super::aspect::Epoch;
use super::format::{Declared, ET_OPENCL_OBJECTS, Format, is_zstd};
use super::property::Properties;
use super::property_sets::{Decoded, GLOBAL_ID, decode, key, set};
use super::{hcf, structure};
use crate::bytes::{self, Draft};
use crate::container::inflate;
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;

/// Compression of a stored payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// One zstd frame.
    Zstd,
}

impl Compression {
    /// Returns the name for JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Zstd => "zstd",
        }
    }
}

/// State of an image in the SYCL 2020 kernel-bundle model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Intermediate code that a device compiler still has to translate.
    Input,
    /// Compiled, with imports still open.
    Object,
    /// Ready to run.
    Executable,
}

impl State {
    /// Returns the name of SYCL's `bundle_state` enumerator.
    pub fn name(self) -> &'static str {
        match self {
            State::Input => "input",
            State::Object => "object",
            State::Executable => "executable",
        }
    }
}

/// Layout of an image's entry table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryLayout {
    /// 32 bytes per entry (clang-offload-wrapper).
    Old,
    /// 56 bytes per entry (LLVM's `OffloadEntry`, the new offload driver).
    New,
}

impl EntryLayout {
    /// Returns the size of an entry in bytes.
    pub fn stride(self) -> u64 {
        match self {
            EntryLayout::Old => 32,
            EntryLayout::New => 56,
        }
    }
}

/// Addresses of an image structure in its host file, for code that rewrites it.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Index of the descriptor that lists the image.
    pub descriptor: usize,
    /// Virtual address of the image structure.
    pub address: u64,
    /// The structure's version (1, 2 or 3).
    pub version: u16,
    /// The structure's kind: 4 for DPC++, 8 for upstream LLVM.
    pub kind: u8,
    /// Virtual address of the payload.
    pub payload: u64,
    /// Layout of the entry table, if there are entries.
    pub entry_layout: Option<EntryLayout>,
    /// Virtual addresses of the compile options, link options, entries and property sets. Images that were added to a
    /// file share them with the image that they were compiled from.
    pub tables: [u64; 4],
    /// Whether pointers to the structure or in it depend on the loader, or on the other files of the program.
    pub varies: bool,
}

/// Device image: a payload with its options, entries and property sets.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// Position in the file, shown to and accepted from the user.
    pub index: usize,
    /// Addresses of its structure; none for a bare module.
    pub origin: Option<Origin>,
    /// Payload as stored.
    pub stored: &'a [u8],
    /// File offset of the payload, or of the layer around it if that is compressed.
    pub offset: u64,
    /// Whether a layer around the payload was inflated, so that the file does not hold the payload's bytes.
    pub inflated: bool,
    /// Format that the structure declares.
    pub declared: Declared,
    /// `DeviceTargetSpec`, e.g. `spir64`.
    pub target: &'a str,
    /// Architecture within the target, if the container names one (`pvc`, `sm_80`); otherwise empty.
    pub arch: &'a str,
    /// State that the container states, if it does.
    pub stated: Option<State>,
    /// Programming model that a container of several models names (`sycl`, `openmp`, `hip`, `adaptivecpp`); otherwise empty.
    pub offload_kind: &'a str,
    /// Options for the device compiler, as stored.
    pub compile_options: &'a str,
    /// Options for the device linker, as stored.
    pub link_options: &'a str,
    /// Symbols listed for the image: kernels and exported functions.
    pub entries: Vec<&'a str>,
    /// Property sets.
    pub properties: Properties<'a>,
}

/// Payload of an image.
pub(crate) enum Contents<'a> {
    /// Bytes of the file.
    Stored(&'a [u8]),
    /// Bytes that were compressed there.
    Inflated(Draft),
}

impl Deref for Contents<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Contents::Stored(bytes) => bytes,
            Contents::Inflated(draft) => draft,
        }
    }
}

impl<'a> Image<'a> {
    /// Whether it is declared to be a compressed image, and is no zstd frame that states its size, as the runtime of DPC++ demands.
    pub(crate) fn lacks_its_size(&self) -> bool {
        self.declared == Declared::CompressedNone && inflate::zstd_size(self.stored).is_none()
    }

    /// Creates an image from its bytes, with no other facts.
    pub fn bare(stored: &'a [u8], offset: u64) -> Image<'a> {
        Image {
            index: 0,
            origin: None,
            stored,
            offset,
            inflated: false,
            declared: Declared::None,
            target: "",
            arch: "",
            stated: None,
            offload_kind: "",
            compile_options: "",
            link_options: "",
            entries: Vec::new(),
            properties: Properties::default(),
        }
    }

    /// Whether the image is in a container of AdaptiveCpp, which no other runtime of SYCL reads.
    pub(crate) fn is_of_adaptivecpp(&self) -> bool {
        self.offload_kind == hcf::MODEL
    }

    /// Whether the image takes part in a set of virtual functions.
    pub(crate) fn is_of_a_set(&self) -> bool {
        !self.properties.set(set::VIRTUAL_FUNCTIONS).is_empty()
    }

    /// Returns the compression of the payload, if it is compressed.
    pub fn compression(&self) -> Option<Compression> {
        (self.declared == Declared::CompressedNone && is_zstd(self.stored)).then_some(Compression::Zstd)
    }

    /// Returns the payload, inflated into memory.
    ///
    /// # Errors
    /// `Input` with the file offset, where the compressed payload is damaged or too large.
    pub fn contents(&self) -> Result<Cow<'a, [u8]>> {
        Ok(match self.inflate()? {
            Contents::Stored(bytes) => Cow::Borrowed(bytes),
            Contents::Inflated(draft) => Cow::Owned(draft.into_vec()),
        })
    }

    /// Returns the payload, inflated: where it is large, into a file.
    ///
    /// # Errors
    /// `Input` with the file offset, where the compressed payload is damaged or too large.
    pub(crate) fn inflate(&self) -> Result<Contents<'a>> {
        match self.compression() {
            Some(Compression::Zstd) => {
                inflate::zstd(self.stored).map(Contents::Inflated).map_err(|error| error.with_offset(self.offset))
            }
            None => Ok(Contents::Stored(self.stored)),
        }
    }

    /// Returns the number of bytes that the compressed payload inflates to, at most; counts no further than `most`.
    pub(super) fn inflation_cost(&self, most: u64) -> u64 {
        inflate::zstd_cost(self.stored, most)
    }

    /// Returns the payload's detected format; of a compressed payload that of its contents.
    pub fn format(&self) -> Format {
        match self.compression() {
            Some(Compression::Zstd) => {
                inflate::zstd_head(self.stored, 64).map_or(Format::Unknown, |head| Format::sniff(&head))
            }
            None => self.format_of(self.stored),
        }
    }

    /// Returns the format of the payload, whose contents are given.
    pub fn format_of(&self, contents: &[u8]) -> Format {
        if self.target == structure::TARGET && self.origin.is_some() {
            Format::NativeCpu
        } else {
            Format::sniff(contents)
        }
    }

    /// Returns the kernels: the entries that the image does not also export as functions. An image that defines virtual
    /// functions lists these as entries and has no kernels.
    pub fn kernels(&self) -> Vec<&'a str> {
        if self.properties.get(set::VIRTUAL_FUNCTIONS, key::DEFINED_FUNCTIONS).is_some() {
            return Vec::new();
        }
        let exports: HashSet<&str> = self.exports().into_iter().collect();
        self.entries.iter().copied().filter(|entry| !exports.contains(entry)).collect()
    }

    /// Returns the functions that other images may import.
    pub fn exports(&self) -> Vec<&'a str> {
        self.properties.names(set::EXPORTED)
    }

    /// Returns the functions that other images must define.
    pub fn imports(&self) -> Vec<&'a str> {
        self.properties.names(set::IMPORTED)
    }

    /// Returns the device globals, each with whether the image has its own (`device_image_scope`).
    pub(crate) fn device_globals(&self) -> impl Iterator<Item = (&'a str, bool)> {
        self.properties.set(set::DEVICE_GLOBALS).iter().filter_map(|property| {
            // The numbering of aspects has no bearing on this set.
            match decode(&self.properties, set::DEVICE_GLOBALS, property, Epoch::From2026) {
                Some(Decoded::DeviceGlobal { image_scope, .. }) => Some((property.name, image_scope)),
                _ => None,
            }
        })
    }

    /// Returns the names by which the host knows device globals, each with the symbol of its variable.
    pub(crate) fn symbols_of_globals(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.properties.set(set::PROGRAM_METADATA).iter().filter_map(|property| {
            Some((property.name.strip_suffix(GLOBAL_ID)?.strip_suffix('@')?, property.value.text()?))
        })
    }

    /// Whether the image is of a SYCLBIN, which alone states the state of intermediate code.
    pub(crate) fn is_of_syclbin(&self) -> bool {
        self.stated.is_some() && self.origin.is_none() && self.offload_kind.is_empty()
    }

    /// Returns the target of the device configuration that the image was compiled for, if it is recorded.
    pub fn compile_target(&self) -> Option<&'a str> {
        let arch = || Some(self.arch).filter(|arch| !matches!(*arch, "" | "generic"));
        self.properties.text(set::REQUIREMENTS, key::COMPILE_TARGET).or_else(arch)
    }

    /// Returns the state that the container states, or else the state as the runtime derives it: intermediate code is
    /// input, ahead-of-time compiled code with imports is an object, any other an executable. Code that an OpenCL
    /// driver compiled and did not link is an object whatever it imports.
    pub fn state(&self) -> State {
        self.state_of(self.format())
    }

    /// Returns the state like [`Image::state`], given the format: detecting that of a compressed payload inflates its
    /// start.
    pub fn state_of(&self, format: Format) -> State {
        if let Some(stated) = self.stated {
            stated
        } else if format == Format::Elf && self.is_unlinked() {
            State::Object
        } else if format.is_intermediate() || matches!(self.target, "spir64" | "spir" | "nvptx64" | "amdgcn") {
            State::Input
        } else if self.imports().is_empty() {
            State::Executable
        } else {
            State::Object
        }
    }

    /// Whether nothing tells the symbols of the payload but the payload itself: a module that no container lists.
    pub fn is_unlisted(&self) -> bool {
        self.origin.is_none() && self.entries.is_empty()
    }

    /// Whether the payload is an ELF file that an OpenCL driver compiled and has yet to link, an object or a library.
    pub fn is_unlinked(&self) -> bool {
        let kind = bytes::u16_at(self.stored, 16).filter(|_| self.stored.starts_with(b"\x7fELF"));
        kind.is_some_and(|kind| ET_OPENCL_OBJECTS.contains(&kind))
    }
}
