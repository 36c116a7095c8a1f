//! Which words does each structure consist of?

use std::collections::HashMap;

use super::{Block, EntryForm, ImageRange, ImageVersion, Location, OutImage, OutProperty, OutSet, OutValue, Word};
use crate::error::{Error, Result};

/// Offload kind SYCL in the image structure and in new entries. The two structures number it differently.
const KIND_OF_IMAGE: u64 = 4;
const KIND_OF_ENTRY: u64 = 8;

const UINT32: u32 = 1;
const BYTE_ARRAY: u32 = 2;
const STRING: u32 = 3;

/// Writer of strings, values and structures.
pub(super) struct Structures<'a> {
    version: ImageVersion,
    entry_form: EntryForm,
    constants: Vec<u8>,
    words: Vec<Word>,
    strings: HashMap<&'a str, Location>,
    values: HashMap<&'a [u8], Location>,
    entries: HashMap<&'a [&'a str], Range>,
    properties: HashMap<&'a [OutProperty<'a>], Range>,
    sets: HashMap<&'a [OutSet<'a>], Range>,
}

/// Begin and end address of an array; null for an empty one, as the wrappers write it.
type Range = [Word; 2];
const NOTHING: Range = [Word::Value(0); 2];

impl<'a> Structures<'a> {
    pub(super) fn new(version: ImageVersion, entry_form: EntryForm) -> Self {
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

    pub(super) fn finish(self) -> (Vec<u8>, Vec<Word>) {
        (self.constants, self.words)
    }

    /// Writes everything that an image refers to and returns its structure, `sycl_device_binary_struct`.
    pub(super) fn image(&mut self, image: &'a OutImage<'a>, payload: ImageRange) -> Result<Vec<Word>> {
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
    pub(super) fn descriptor(&mut self, count: usize, images: Vec<Word>) -> Location {
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
            return Err(Error::input(format!("the string {text:?} contains a NUL byte, which would end it")));
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
    fn sets(&mut self, sets: &'a [OutSet<'a>]) -> Result<Range> {
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
    fn properties(&mut self, properties: &'a [OutProperty<'a>]) -> Result<Range> {
        if let Some(known) = self.properties.get(properties) {
            return Ok(*known);
        }
        let mut words = Vec::new();
        for property in properties {
            words.push(Word::Address(self.string(property.name)?));
            let (address, size) = match (property.kind, &property.value) {
                (UINT32, OutValue::U32(value)) => (Word::Value(0), u64::from(*value)),
                (BYTE_ARRAY, OutValue::Bytes(bytes)) if bytes.len() >= 8 => self.bytes(bytes),
                (STRING, OutValue::Bytes(bytes)) => self.bytes(bytes),
                (kind, value) => {
                    let name = property.name;
                    return Err(Error::input(format!(
                        "property {name} of kind {kind} cannot have the value {value:?}"
                    )));
                }
            };
            words.extend([address, Word::Value(u64::from(property.kind)), Word::Value(size)]);
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
