//! How are images laid out in memory so that the SYCL runtime can read them?
//!
//! The structures are those of DPC++ (`sycl/source/detail/compiler.hpp`, written by its `SYCLOffloadWrapper.cpp` and
//! `ClangOffloadWrapper.cpp`). All consist of 8-byte words, and each word is a number or the address of other data laid
//! out here. Equal strings, values, lists of entries, property sets, and payloads of one target are stored once. The
//! layout does not depend on the final addresses or on the order of a hash table.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};

pub mod loose;
mod structures;

use structures::Structures;

/// Device image to be written.
#[derive(Debug, Clone)]
pub struct OutImage<'a> {
    /// Target string that the runtime compares, for example `spir64_x86_64`.
    pub target: &'a str,
    /// Format of the payload: 0 detected by the runtime, 1 native, 2 SPIR-V, 3 LLVM bitcode, 4 zstd.
    pub format: u8,
    /// Options for the device compiler.
    pub compile_options: &'a str,
    /// Options for the device linker.
    pub link_options: &'a str,
    /// Payload as it is to be stored.
    pub payload: Cow<'a, [u8]>,
    /// Names of kernels and exported functions.
    pub entries: Vec<&'a str>,
    /// Property sets in order.
    pub property_sets: Vec<OutSet<'a>>,
}

/// Property set to be written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutSet<'a> {
    /// Name, for example `SYCL/device requirements`.
    pub name: &'a str,
    /// Properties in order.
    pub properties: Vec<OutProperty<'a>>,
}

/// Property to be written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutProperty<'a> {
    /// Name of the property.
    pub name: &'a str,
    /// Kind: 1 a number, 2 a byte array, 3 a string.
    pub kind: u32,
    /// Value of the property.
    pub value: OutValue<'a>,
}

/// Value of a property.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OutValue<'a> {
    /// Number, stored in the property itself.
    U32(u32),
    /// Raw bytes. Those of a byte array begin with 8 bytes that hold the content's length in bits.
    Bytes(&'a [u8]),
}

/// Version of the image structures, which decides the generations of the runtime that read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageVersion {
    /// 96 bytes; the version of images that runtimes up to 2025 make themselves.
    V1,
    /// 96 bytes; DPC++ up to 2025, `libsycl.so.8` and older.
    V2,
    /// 80 bytes, without manifest; DPC++ 2026, `libsycl.so.9`.
    V3,
}

/// Form of the entry structures. Runtimes since 2025 read both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// 32 bytes, as clang-offload-wrapper writes them.
    Old,
    /// 56 bytes, as clang-linker-wrapper and LLVM write them.
    New,
}

/// Contiguous block of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Block {
    /// [`ImageData::constants`].
    Constants,
    /// [`ImageData::structures`].
    Structures,
    /// Payloads of one target, by index into [`ImageData::payloads`].
    Payloads(usize),
}

/// Location in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    /// Block of the location.
    pub block: Block,
    /// Offset in the block, in bytes.
    pub offset: u64,
}

/// Word (8 bytes) of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Number, or several small ones.
    Value(u64),
    /// Address of a location, relocated when the file is loaded.
    Address(Location),
}

/// Payloads of one target, each aligned to [`PAYLOAD_ALIGN`] from the start of the block.
#[derive(Debug)]
pub struct Payloads<'a> {
    /// The target string.
    pub target: &'a str,
    /// Offsets and bytes, ascending.
    pub parts: Vec<(u64, &'a [u8])>,
    /// Size up to the end of the last part, in bytes.
    pub size: u64,
}

/// Payload of one image, as `.tgtimg` lists it.
#[derive(Debug, Clone, Copy)]
pub struct ImageRange {
    /// Begin of the payload.
    pub at: Location,
    /// Size in bytes.
    pub size: u64,
}

/// Alignment of payloads in their section, as in DPC++'s wrappers.
pub const PAYLOAD_ALIGN: u64 = 16;

/// Maximum number of images of one descriptor, whose count is a u16.
pub const MAX_IMAGES_PER_DESCRIPTOR: usize = u16::MAX as usize;

/// Images as the runtime reads them, before addresses are known.
#[derive(Debug)]
pub struct ImageData<'a> {
    /// Strings and values, without addresses. Alignment 8.
    pub constants: Vec<u8>,
    /// All words that may be addresses. Alignment 16.
    pub structures: Vec<Word>,
    /// One block per target in order of first use. Alignment [`PAYLOAD_ALIGN`].
    pub payloads: Vec<Payloads<'a>>,
    /// Descriptors to register, each with up to [`MAX_IMAGES_PER_DESCRIPTOR`] images.
    pub descriptors: Vec<Location>,
    /// Payloads by image.
    pub ranges: Vec<ImageRange>,
}

impl<'a> ImageData<'a> {
    /// Lays out images in order.
    ///
    /// # Errors
    /// `Usage` or `Input` for no images at all, for a string with a NUL byte, which would end it early, and for a value
    /// that does not fit its property's kind.
    pub fn new(images: &'a [OutImage<'a>], version: ImageVersion, entries: EntryForm) -> Result<Self> {
        if images.is_empty() {
            return Err(Error::new(ErrorKind::NoDeviceCode, "there are no images to register"));
        }
        let mut structures = Structures::new(version, entries);
        let mut payloads = PayloadBlocks::default();
        let mut ranges = Vec::with_capacity(images.len());
        let mut descriptors = Vec::new();
        for images in images.chunks(MAX_IMAGES_PER_DESCRIPTOR) {
            let mut array = Vec::new();
            for image in images {
                let range = payloads.add(image.target, &image.payload);
                let index = ranges.len();
                let words =
                    structures.image(image, range).map_err(|error| error.context(format!("writing image {index}")))?;
                array.extend(words);
                ranges.push(range);
            }
            descriptors.push(structures.descriptor(images.len(), array));
        }
        let (constants, structures) = structures.finish();
        Ok(ImageData { constants, structures, payloads: payloads.blocks, descriptors, ranges })
    }
}

/// Collector of payloads by target; equal ones are stored once.
#[derive(Default)]
struct PayloadBlocks<'a> {
    blocks: Vec<Payloads<'a>>,
    known: HashMap<(usize, &'a [u8]), u64>,
}

impl<'a> PayloadBlocks<'a> {
    fn add(&mut self, target: &'a str, bytes: &'a [u8]) -> ImageRange {
        let index = self.blocks.iter().position(|block| block.target == target).unwrap_or(self.blocks.len());
        if index == self.blocks.len() {
            self.blocks.push(Payloads { target, parts: Vec::new(), size: 0 });
        }
        let blocks = &mut self.blocks;
        let offset = *self.known.entry((index, bytes)).or_insert_with(|| {
            blocks.get_mut(index).map_or(0, |block| {
                let offset = block.size.next_multiple_of(PAYLOAD_ALIGN);
                block.parts.push((offset, bytes));
                block.size = offset + bytes.len() as u64;
                offset
            })
        });
        ImageRange { at: Location { block: Block::Payloads(index), offset }, size: bytes.len() as u64 }
    }
}
