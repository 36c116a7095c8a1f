//! How are images laid out in memory so that the SYCL runtime can read them?
//!
//! The structures are those of DPC++ (`sycl/source/detail/compiler.hpp`, written by its `SYCLOffloadWrapper.cpp` and
//! `ClangOffloadWrapper.cpp`). All of them consist of 8-byte words, and each word is either a number or the address
//! of something else that is laid out here. What is equal is stored once: strings, values, lists of entries, property
//! sets, and payloads of one target. Nothing depends on where the blocks end up, nor on the order of a hash table.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};

pub mod loose;
mod structures;

use structures::Structures;

/// One device image to be written.
#[derive(Debug, Clone)]
pub struct OutImage<'a> {
    /// The target string that the runtime compares, for example `spir64_x86_64`.
    pub target: &'a str,
    /// What the payload is: 0 to be found out by the runtime, 1 native, 2 SPIR-V, 3 LLVM bitcode, 4 zstd.
    pub format: u8,
    /// Options for the device compiler.
    pub compile_options: &'a str,
    /// Options for the device linker.
    pub link_options: &'a str,
    /// The bytes as they are to be stored.
    pub payload: Cow<'a, [u8]>,
    /// Names of kernels and exported functions.
    pub entries: Vec<&'a str>,
    /// Property sets in order.
    pub property_sets: Vec<OutSet<'a>>,
}

/// One property set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutSet<'a> {
    /// For example `SYCL/device requirements`.
    pub name: &'a str,
    /// In order.
    pub properties: Vec<OutProperty<'a>>,
}

/// One property.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutProperty<'a> {
    /// The key.
    pub name: &'a str,
    /// 1 for a number, 2 for a byte array, 3 for a string.
    pub kind: u32,
    /// The value.
    pub value: OutValue<'a>,
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OutValue<'a> {
    /// Stored in the property itself.
    U32(u32),
    /// The raw bytes; those of a byte array include the 8 bytes before the content that hold its length in bits.
    Bytes(&'a [u8]),
}

/// Which image structures, and with that which generations of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageVersion {
    /// 96 bytes, the number that runtimes up to 2025 give to what they make themselves.
    V1,
    /// 96 bytes: DPC++ up to 2025, `libsycl.so.8` and older.
    V2,
    /// 80 bytes, without manifest: DPC++ 2026, `libsycl.so.9`.
    V3,
}

/// Which structures hold the names of entries. Runtimes since 2025 read both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// 32 bytes, clang-offload-wrapper.
    Old,
    /// 56 bytes, clang-linker-wrapper and LLVM.
    New,
}

/// A contiguous range of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Block {
    /// [`ImageData::constants`].
    Constants,
    /// [`ImageData::structures`].
    Structures,
    /// The payloads of one target, by index into [`ImageData::payloads`].
    Payloads(usize),
}

/// A place in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    /// Which range.
    pub block: Block,
    /// Bytes from its start.
    pub offset: u64,
}

/// Eight bytes of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A number, or several small ones.
    Value(u64),
    /// The address of a place, to be relocated when the file is loaded.
    Address(Location),
}

/// The payloads of one target, each aligned to [`PAYLOAD_ALIGN`] from the start of the block.
#[derive(Debug)]
pub struct Payloads<'a> {
    /// The target string.
    pub target: &'a str,
    /// Offsets and bytes, ascending.
    pub parts: Vec<(u64, &'a [u8])>,
    /// Up to the end of the last part.
    pub size: u64,
}

/// The payload of one image, as `.tgtimg` lists it.
#[derive(Debug, Clone, Copy)]
pub struct ImageRange {
    /// Where it begins.
    pub at: Location,
    /// In bytes.
    pub size: u64,
}

/// How the wrappers of DPC++ align payloads in their section.
pub const PAYLOAD_ALIGN: u64 = 16;

/// The most images one descriptor can hold: their number is a u16.
pub const MAX_IMAGES_PER_DESCRIPTOR: usize = u16::MAX as usize;

/// Images as the runtime reads them, before addresses are known.
#[derive(Debug)]
pub struct ImageData<'a> {
    /// Strings and values: no addresses. To be aligned to 8.
    pub constants: Vec<u8>,
    /// Everything that holds addresses. To be aligned to 16.
    pub structures: Vec<Word>,
    /// One block per target in order of first use, to be aligned to [`PAYLOAD_ALIGN`].
    pub payloads: Vec<Payloads<'a>>,
    /// The descriptors to register, each with up to [`MAX_IMAGES_PER_DESCRIPTOR`] images.
    pub descriptors: Vec<Location>,
    /// The payloads by image.
    pub ranges: Vec<ImageRange>,
}

impl<'a> ImageData<'a> {
    /// Lays out images in order.
    ///
    /// # Errors
    /// No images at all; a string with a NUL byte, which would end it early; a property whose value does not fit
    /// its kind.
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

/// Collects payloads by target, equal ones once.
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
