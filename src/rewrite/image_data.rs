//! How are images laid out in memory so that the SYCL runtime can read them?
//!
//! The structures are those of DPC++ (`sycl/source/detail/compiler.hpp`, written by its `SYCLOffloadWrapper.cpp` and
//! `ClangOffloadWrapper.cpp`). All consist of 8-byte words, and each word is a number or the address of other data laid
//! out here. Equal strings, values, lists of entries, property sets, and payloads of one target are stored once. The
//! layout does not depend on the final addresses or on the order of a hash table.
//!
//! [`Loose`] has the same words as [`ImageData`], but no array and no descriptor: the structures of the images are
//! returned one by one, for code that extends a list.

use crate::bundle::image::Image;
use crate::bundle::property::{Property, PropertySet, Value};
use crate::bytes;
use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::collections::HashMap;

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
    pub property_sets: Vec<PropertySet<'a>>,
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
pub(crate) enum Block {
    /// [`ImageData::constants`].
    Constants,
    /// [`ImageData::structures`].
    Structures,
    /// Payloads of one target, by index into [`ImageData::payloads`].
    Payloads(usize),
}

/// Location in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    /// Block of the location.
    pub(crate) block: Block,
    /// Offset in the block, in bytes.
    pub(crate) offset: u64,
}

/// Word (8 bytes) of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// Number, or several small ones.
    Value(u64),
    /// Address of a location, relocated when the file is loaded.
    Address(Location),
}

/// Payloads of one target, each aligned to [`PAYLOAD_ALIGN`] from the start of the block.
#[derive(Debug)]
pub(crate) struct Payloads<'a> {
    /// The target string.
    pub(crate) target: &'a str,
    /// Offsets and bytes, ascending.
    pub(crate) parts: Vec<(u64, &'a [u8])>,
    /// Size up to the end of the last part, in bytes.
    pub(crate) size: u64,
}

/// Payload of one image, as `.tgtimg` lists it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageRange {
    /// Begin of the payload.
    pub(crate) at: Location,
    /// Size in bytes.
    pub(crate) size: u64,
}

/// Alignment of payloads in their section, as in DPC++'s wrappers.
pub(crate) const PAYLOAD_ALIGN: u64 = 16;

/// Maximum number of images of one descriptor, whose count is a u16.
pub(crate) const MAX_IMAGES_PER_DESCRIPTOR: usize = u16::MAX as usize;

/// Images as the runtime reads them, before addresses are known.
#[derive(Debug)]
pub(crate) struct ImageData<'a> {
    /// Strings and values, without addresses. Alignment 8.
    pub(crate) constants: Vec<u8>,
    /// All words that may be addresses. Alignment 16.
    pub(crate) structures: Vec<Word>,
    /// One block per target in order of first use. Alignment [`PAYLOAD_ALIGN`].
    pub(crate) payloads: Vec<Payloads<'a>>,
    /// Descriptors to register, each with up to [`MAX_IMAGES_PER_DESCRIPTOR`] images.
    pub(crate) descriptors: Vec<Location>,
    /// Payloads by image.
    pub(crate) ranges: Vec<ImageRange>,
}

impl<'a> ImageData<'a> {
    /// Lays out images in order.
    ///
    /// # Errors
    /// `Usage` or `Input` for no images at all, for a string with a NUL byte, which would end it early, and for a value
    /// that does not fit its property's kind.
    pub(crate) fn new(images: &'a [OutImage<'a>], version: ImageVersion, entries: EntryForm) -> Result<Self> {
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
    /// The block of each target.
    of_target: HashMap<&'a str, usize>,
    known: HashMap<(usize, &'a [u8]), u64>,
}

impl<'a> PayloadBlocks<'a> {
    fn add(&mut self, target: &'a str, bytes: &'a [u8]) -> ImageRange {
        let index = *self.of_target.entry(target).or_insert(self.blocks.len());
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

/// Images without an array, before addresses are known.
#[derive(Debug)]
pub(crate) struct Loose<'a> {
    /// Strings and values, read-only.
    pub(crate) constants: Vec<u8>,
    /// Tables of entries and property sets.
    pub(crate) structures: Vec<Word>,
    /// Payloads.
    pub(crate) payloads: Vec<Payloads<'a>>,
    /// Structure of each image.
    pub(crate) images: Vec<Vec<Word>>,
}

impl<'a> Loose<'a> {
    /// Lays out images and everything that they refer to.
    ///
    /// # Errors
    /// `Usage` or `Input` for a string with a NUL byte, which would end it early, and for a value that does not fit its
    /// property's kind.
    pub(crate) fn new(images: &'a [OutImage<'a>], version: ImageVersion, entries: EntryForm) -> Result<Self> {
        let mut structures = Structures::new(version, entries);
        let mut payloads = PayloadBlocks::default();
        let mut words = Vec::new();
        for (index, image) in images.iter().enumerate() {
            let range = payloads.add(image.target, &image.payload);
            let image =
                structures.image(image, range).map_err(|error| error.context(format!("writing image {index}")))?;
            words.push(image);
        }
        let (constants, structures) = structures.finish();
        Ok(Loose { constants, structures, payloads: payloads.blocks, images: words })
    }

    /// Returns the size of all payload blocks in sequence, each aligned.
    pub(crate) fn payload_size(&self) -> u64 {
        self.payload_starts().last().map_or(0, |(start, block)| start.saturating_add(block.size))
    }

    /// Returns the payload blocks with their offsets.
    pub(crate) fn payload_starts(&self) -> impl Iterator<Item = (u64, &Payloads<'a>)> {
        self.payloads.iter().scan(0u64, |next, block| {
            let start = bytes::align_up(*next, PAYLOAD_ALIGN)?;
            *next = start.saturating_add(block.size);
            Some((start, block))
        })
    }
}

/// Addresses of the blocks of [`Loose`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bases {
    /// Address of the constants.
    pub(crate) constants: u64,
    /// Address of the structures.
    pub(crate) structures: u64,
    /// Address of the first payload block.
    pub(crate) payloads: u64,
}

impl Loose<'_> {
    /// Returns the address of a location.
    fn address(&self, bases: &Bases, at: Location) -> u64 {
        let block = match at.block {
            Block::Constants => bases.constants,
            Block::Structures => bases.structures,
            Block::Payloads(index) => {
                let start = self.payload_starts().nth(index).map_or(0, |(start, _)| start);
                bases.payloads.saturating_add(start)
            }
        };
        block.saturating_add(at.offset)
    }

    /// Returns words as bytes with final addresses, and the offsets of the addresses among them.
    pub(crate) fn resolve(&self, words: &[Word], bases: &Bases) -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut pointers) = (Vec::with_capacity(words.len().saturating_mul(8)), Vec::new());
        for word in words {
            let value = match word {
                Word::Value(value) => *value,
                Word::Address(at) => {
                    pointers.push(bytes.len() as u64);
                    self.address(bases, *at)
                }
            };
            bytes.extend(value.to_le_bytes());
        }
        (bytes, pointers)
    }
}

/// Offload kind SYCL in the image structure and in new entries. The two structures number it differently.
const KIND_OF_IMAGE: u64 = 4;
const KIND_OF_ENTRY: u64 = 8;

/// Writer of strings, values and structures.
struct Structures<'a> {
    version: ImageVersion,
    entry_form: EntryForm,
    constants: Vec<u8>,
    words: Vec<Word>,
    strings: HashMap<&'a str, Location>,
    values: HashMap<&'a [u8], Location>,
    entries: HashMap<&'a [&'a str], Range>,
    properties: HashMap<&'a [Property<'a>], Range>,
    sets: HashMap<&'a [PropertySet<'a>], Range>,
}

/// Begin and end address of an array; null for an empty one, as the wrappers write it.
type Range = [Word; 2];
const NOTHING: Range = [Word::Value(0); 2];

impl<'a> Structures<'a> {
    fn new(version: ImageVersion, entry_form: EntryForm) -> Self {
        Structures {
            version,
            entry_form,
            constants: Vec::new(),
            words: Vec::new(),
            strings: HashMap::new(),
            values: HashMap::new(),
            entries: HashMap::new(),
            properties: HashMap::new(),
            sets: HashMap::new(),
        }
    }

    fn finish(self) -> (Vec<u8>, Vec<Word>) {
        (self.constants, self.words)
    }

    /// Writes everything that an image refers to and returns its structure, `sycl_device_binary_struct`.
    fn image(&mut self, image: &'a OutImage<'a>, payload: ImageRange) -> Result<Vec<Word>> {
        let number: u64 = match self.version {
            ImageVersion::V1 => 1,
            ImageVersion::V2 => 2,
            ImageVersion::V3 => 3,
        };
        let head = number | KIND_OF_IMAGE << 16 | u64::from(image.format) << 24;
        let mut words = vec![Word::Value(head)];
        for text in [image.target, image.compile_options, image.link_options] {
            words.push(Word::Address(self.string(text)?));
        }
        if self.version != ImageVersion::V3 {
            // The manifest, which no compiler fills.
            words.extend(NOTHING);
        }
        words.extend(range(payload.at, payload.size));
        words.extend(self.entries(&image.entries)?);
        words.extend(self.sets(&image.property_sets)?);
        Ok(words)
    }

    /// Writes an array of image structures and its descriptor, `sycl_device_binaries_struct`.
    fn descriptor(&mut self, count: usize, images: Vec<Word>) -> Location {
        let [array, _] = self.array(images);
        let location = self.next();
        // The descriptor's version is 1 for all generations. SYCL has no host entries, so their range is null.
        self.words.extend([Word::Value(1 | (count as u64) << 16), array, Word::Value(0), Word::Value(0)]);
        location
    }

    fn next(&self) -> Location {
        Location { block: Block::Structures, offset: self.words.len() as u64 * 8 }
    }

    fn array(&mut self, words: Vec<Word>) -> Range {
        if words.is_empty() {
            return NOTHING;
        }
        let range = range(self.next(), words.len() as u64 * 8);
        self.words.extend(words);
        range
    }

    fn string(&mut self, text: &'a str) -> Result<Location> {
        if let Some(known) = self.strings.get(text) {
            return Ok(*known);
        }
        if text.contains('\0') {
            // The text may be anything.
            let begin: String = text.chars().take(80).collect();
            return Err(Error::input(format!("the string {begin:?} contains a NUL byte, which would end it")));
        }
        let location = Location { block: Block::Constants, offset: self.constants.len() as u64 };
        self.constants.extend_from_slice(text.as_bytes());
        self.constants.push(0);
        self.strings.insert(text, location);
        Ok(location)
    }

    fn value(&mut self, bytes: &'a [u8]) -> Location {
        let constants = &mut self.constants;
        *self.values.entry(bytes).or_insert_with(|| {
            // Readers load the 8-byte length and elements of up to 8 bytes, so values are aligned.
            constants.resize(constants.len().next_multiple_of(8), 0);
            let location = Location { block: Block::Constants, offset: constants.len() as u64 };
            constants.extend_from_slice(bytes);
            // The runtime reads those that are texts up to a NUL, as the names of sets of virtual functions.
            constants.push(0);
            location
        })
    }

    fn entries(&mut self, names: &'a [&'a str]) -> Result<Range> {
        if let Some(known) = self.entries.get(names) {
            return Ok(*known);
        }
        let mut words = Vec::new();
        for name in names {
            let name = Word::Address(self.string(name)?);
            let zero = Word::Value(0);
            match self.entry_form {
                // Fields: address, name, size, flags and a reserved word.
                EntryForm::Old => words.extend([zero, name, zero, zero]),
                // Fields: reserved; version 1, kind, flags; address, name, size, data, auxiliary address.
                EntryForm::New => {
                    words.extend([zero, Word::Value(1 | KIND_OF_ENTRY << 16), zero, name, zero, zero, zero]);
                }
            }
        }
        let range = self.array(words);
        self.entries.insert(names, range);
        Ok(range)
    }

    /// Writes an array of `sycl_device_binary_property_set_struct`: name, first property, end of properties.
    fn sets(&mut self, sets: &'a [PropertySet<'a>]) -> Result<Range> {
        if let Some(known) = self.sets.get(sets) {
            return Ok(*known);
        }
        let mut words = Vec::new();
        for set in sets {
            words.push(Word::Address(self.string(set.name)?));
            words.extend(
                self.properties(&set.properties)
                    .map_err(|error| error.context(format!("property set {}", set.name)))?,
            );
        }
        let range = self.array(words);
        self.sets.insert(sets, range);
        Ok(range)
    }

    /// Writes an array of `_sycl_device_binary_property_struct`: name, address of the value, kind, size.
    fn properties(&mut self, properties: &'a [Property<'a>]) -> Result<Range> {
        if let Some(known) = self.properties.get(properties) {
            return Ok(*known);
        }
        let mut words = Vec::new();
        for property in properties {
            words.push(Word::Address(self.string(property.name)?));
            let (address, size) = match property.value {
                Value::U32(value) => (Word::Value(0), u64::from(value)),
                Value::Bytes(bytes) if bytes.len() >= 8 => self.bytes(bytes),
                Value::Text(bytes) => self.bytes(bytes),
                value => {
                    let (name, kind) = (property.name, value.kind());
                    return Err(Error::input(format!(
                        "property {name} of kind {kind} cannot have the value {value:?}"
                    )));
                }
            };
            words.extend([address, Word::Value(u64::from(property.value.kind())), Word::Value(size)]);
        }
        let range = self.array(words);
        self.properties.insert(properties, range);
        Ok(range)
    }

    fn bytes(&mut self, bytes: &'a [u8]) -> (Word, u64) {
        (Word::Address(self.value(bytes)), bytes.len() as u64)
    }
}

fn range(begin: Location, size: u64) -> Range {
    [Word::Address(begin), Word::Address(Location { offset: begin.offset + size, ..begin })]
}

/// Returns an image with another target, format and payload; all else stays.
pub fn with_payload<'i>(image: &'i Image<'i>, target: &'i str, format: u8, payload: Cow<'i, [u8]>) -> OutImage<'i> {
    OutImage {
        target,
        format,
        compile_options: image.compile_options,
        link_options: image.link_options,
        payload,
        entries: image.entries.clone(),
        property_sets: image.properties.sets.clone(),
    }
}

/// Returns an image in the form of the structures of host files, with the payload as it is stored.
pub fn out_image<'i>(image: &'i Image<'i>) -> OutImage<'i> {
    with_payload(image, image.target, image.declared.number(), Cow::Borrowed(image.stored))
}
