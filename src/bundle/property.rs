//! What is attached to an image?
//!
//! Property sets as `sycl_device_binary_property_set_struct` holds them: ordered, unknown ones kept, values raw.
//! Layout: DPC++ `sycl/source/detail/compiler.hpp`.

use crate::bytes;

/// The value of a property, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value<'a> {
    /// Type 1: a 32-bit number.
    U32(u32),
    /// Type 2: bytes, here with their 8-byte little-endian length in bits in front, as stored.
    Bytes(&'a [u8]),
    /// Type 3: text. No known compiler writes it; the runtime reads it.
    Text(&'a [u8]),
    /// Any other type.
    Unknown {
        /// The type as stored.
        kind: u32,
        /// The value's bytes.
        bytes: &'a [u8],
    },
}

impl<'a> Value<'a> {
    /// The bytes of a byte array without the length prefix, cut to the length the prefix gives.
    pub fn payload(&self) -> Option<&'a [u8]> {
        let Value::Bytes(raw) = *self else { return None };
        let bits = bytes::u64_at(raw, 0)?;
        let len = usize::try_from(bits.div_ceil(8)).ok()?;
        let rest = raw.get(8..)?;
        rest.get(..len.min(rest.len()))
    }

    /// The number of a 32-bit property.
    pub fn number(&self) -> Option<u32> {
        match self {
            Value::U32(value) => Some(*value),
            _ => None,
        }
    }

    /// A byte array as text; trailing NULs, which some writers add, are dropped.
    pub fn text(&self) -> Option<&'a str> {
        let bytes = match *self {
            Value::Text(bytes) => bytes,
            _ => self.payload()?,
        };
        std::str::from_utf8(bytes).ok().map(|text| text.trim_end_matches('\0'))
    }

    /// A byte array as little-endian 32-bit numbers.
    pub fn words(&self) -> Option<Vec<u32>> {
        let payload = self.payload()?;
        Some(payload.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect())
    }

    /// A byte array as little-endian 64-bit numbers.
    pub fn double_words(&self) -> Option<Vec<u64>> {
        let payload = self.payload()?;
        Some(payload.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
    }

    /// The name of the type in JSON and text form.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::U32(_) => "u32",
            Value::Bytes(_) => "bytes",
            Value::Text(_) => "text",
            Value::Unknown { .. } => "unknown",
        }
    }
}

/// A byte array as it is stored: its length in bits, 8 bytes, in front.
pub fn byte_array(payload: &[u8]) -> Vec<u8> {
    let bits = (payload.len() as u64).saturating_mul(8);
    [&bits.to_le_bytes()[..], payload].concat()
}

/// A named value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property<'a> {
    /// The key; for some sets a kernel's or symbol's name.
    pub name: &'a str,
    /// The value.
    pub value: Value<'a>,
}

/// A named, ordered list of properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertySet<'a> {
    /// The set's name, e.g. `SYCL/device requirements`.
    pub name: &'a str,
    /// The properties in stored order.
    pub properties: Vec<Property<'a>>,
}

/// All property sets of an image, in stored order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    /// The sets.
    pub sets: Vec<PropertySet<'a>>,
}

impl<'a> Properties<'a> {
    /// The properties of a set; empty where the image has no such set.
    pub fn set(&self, name: &str) -> &[Property<'a>] {
        self.sets.iter().find(|set| set.name == name).map_or(&[], |set| &set.properties)
    }

    /// A property of a set.
    pub fn get(&self, set: &str, name: &str) -> Option<Value<'a>> {
        self.set(set).iter().find(|property| property.name == name).map(|property| property.value)
    }

    /// The numbers of the aspects that a device must have, where they are recorded: under DPC++'s key `aspects`, or under
    /// `aspect`, as its design document has it.
    pub fn aspect_numbers(&self) -> Option<Vec<u32>> {
        let [one, other] = key::ASPECTS.map(|name| self.get(set::REQUIREMENTS, name).and_then(|value| value.words()));
        one.or(other)
    }

    /// Gives a property its value, in its place or, where it is new, at the end of its set.
    pub fn put(&mut self, set: &'a str, property: Property<'a>) {
        match self.sets.iter_mut().find(|known| known.name == set) {
            None => self.sets.push(PropertySet { name: set, properties: vec![property] }),
            Some(known) => match known.properties.iter_mut().find(|known| known.name == property.name) {
                Some(old) => *old = property,
                None => known.properties.push(property),
            },
        }
    }

    /// The keys of a set.
    pub fn names(&self, set: &str) -> Vec<&'a str> {
        self.set(set).iter().map(|property| property.name).collect()
    }
}

/// Keys that this tool acts on in more than one place.
pub mod key {
    /// The required aspects, as DPC++ writes it and as its design document does.
    pub const ASPECTS: [&str; 2] = ["aspects", "aspect"];
    /// The target of the device configuration that an image was compiled for; of [`set::REQUIREMENTS`](super::set).
    pub const COMPILE_TARGET: &str = "compile_target";
    /// That all specialization constants have their defaults for good; of [`set::MISC`](super::set).
    pub const SPEC_REPLACED: &str = "specConstsReplacedWithDefault";
}

/// The names of the sets this tool acts on.
pub mod set {
    /// What a device must offer.
    pub const REQUIREMENTS: &str = "SYCL/device requirements";
    /// Symbols that other images may import.
    pub const EXPORTED: &str = "SYCL/exported symbols";
    /// Symbols that other images must define.
    pub const IMPORTED: &str = "SYCL/imported symbols";
    /// Eliminated kernel arguments.
    pub const PARAM_OPT: &str = "SYCL/kernel param opt";
    /// Specialization constants and where their values lie.
    pub const SPEC_CONSTANTS: &str = "SYCL/specialization constants";
    /// Their defaults, one after another.
    pub const SPEC_DEFAULTS: &str = "SYCL/specialization constants default values";
    /// The values that they were given, laid out like their defaults (libsycl from 2026.2).
    pub const SPEC_VALUES: &str = "SYCL/specialization constants set values";
    /// The kernels of an image that has no entries, as those of a SYCLBIN.
    pub const KERNEL_NAMES: &str = "SYCL/kernel names";
    /// Flags of the whole image.
    pub const MISC: &str = "SYCL/misc properties";
    /// Facts that the runtime cannot ask a native image for.
    pub const PROGRAM_METADATA: &str = "SYCL/program metadata";
    /// Device globals and whether each image has its own.
    pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
    /// Virtual function sets defined or used.
    pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
    /// Marks images of the device library.
    pub const DEVICELIB: &str = "SYCL/devicelib metadata";
    /// By kernel, the aspects that its image required before it was linked with others and that its code does not show.
    /// This tool's own: `link` writes it, `split` goes by it, the runtime passes over it.
    pub const KERNEL_ASPECTS: &str = "sycl-bundle/kernel aspects";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_array_is_cut_to_its_length_in_bits() {
        let raw = [11, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x04, 0xff];
        assert_eq!(Value::Bytes(&raw).payload(), Some(&[0xc0, 0x04][..]));
        let lying = [255, 255, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(Value::Bytes(&lying).payload(), Some(&[1][..]));
        assert_eq!(Value::Bytes(&[1, 2, 3]).payload(), None);
    }

    #[test]
    fn text_needs_no_terminator() {
        let raw = [24, 0, 0, 0, 0, 0, 0, 0, b'p', b'v', b'c'];
        assert_eq!(Value::Bytes(&raw).text(), Some("pvc"));
    }
}
