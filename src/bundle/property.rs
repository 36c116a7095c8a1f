//! Which property sets does an image have?
//!
//! They are stored as in `sycl_device_binary_property_set_struct`: ordered, unknown ones kept, values raw (layout:
//! DPC++ `sycl/source/detail/compiler.hpp`).

use super::property_sets::{key, set};
use crate::bytes;

/// Value of a property, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value<'a> {
    /// Type 1: 32-bit number.
    U32(u32),
    /// Type 2: bytes, as stored, beginning with their length in bits (8 bytes, little-endian).
    Bytes(&'a [u8]),
    /// Type 3: text. No known compiler writes it; the runtime reads it.
    Text(&'a [u8]),
    /// Other type.
    Unknown {
        /// Type as stored.
        kind: u32,
        /// Bytes of the value.
        bytes: &'a [u8],
    },
}

impl<'a> Value<'a> {
    /// Returns the bytes of a byte array without the length prefix, cut to the length that it states.
    pub fn payload(&self) -> Option<&'a [u8]> {
        let Value::Bytes(raw) = *self else { return None };
        let bits = bytes::u64_at(raw, 0)?;
        let len = usize::try_from(bits.div_ceil(8)).ok()?;
        let rest = raw.get(8..)?;
        rest.get(..len.min(rest.len()))
    }

    /// Whether a byte array is as long as it states.
    pub fn states_its_length(&self) -> bool {
        let Value::Bytes(raw) = self else { return false };
        let len = raw.len().checked_sub(8).map(|len| (len as u64).saturating_mul(8));
        len.is_some() && bytes::u64_at(raw, 0) == len
    }

    /// Returns the number of a 32-bit property.
    pub fn number(&self) -> Option<u32> {
        match self {
            Value::U32(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a byte array as text, without trailing NULs, which some writers add.
    pub fn text(&self) -> Option<&'a str> {
        let bytes = match *self {
            Value::Text(bytes) => bytes,
            _ => self.payload()?,
        };
        std::str::from_utf8(bytes).ok().map(|text| text.trim_end_matches('\0'))
    }

    /// Returns a byte array as little-endian 32-bit numbers.
    pub fn words(&self) -> Option<Vec<u32>> {
        let payload = self.payload()?;
        Some(payload.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect())
    }

    /// Returns a byte array as little-endian 64-bit numbers.
    pub fn double_words(&self) -> Option<Vec<u64>> {
        let payload = self.payload()?;
        Some(payload.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
    }

    /// Returns the number of the type, as stored.
    pub fn kind(&self) -> u32 {
        match self {
            Value::U32(_) => 1,
            Value::Bytes(_) => 2,
            Value::Text(_) => 3,
            Value::Unknown { kind, .. } => *kind,
        }
    }

    /// Returns the name of the type in JSON and text form.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::U32(_) => "u32",
            Value::Bytes(_) => "bytes",
            Value::Text(_) => "text",
            Value::Unknown { .. } => "unknown",
        }
    }
}

/// Returns a byte array as it is stored: its length in bits (8 bytes), then the bytes.
pub fn byte_array(payload: &[u8]) -> Vec<u8> {
    let bits = (payload.len() as u64).saturating_mul(8);
    [&bits.to_le_bytes()[..], payload].concat()
}

/// Named value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Property<'a> {
    /// Name; in some sets that of a kernel or symbol.
    pub name: &'a str,
    /// Value.
    pub value: Value<'a>,
}

/// Named, ordered list of properties.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PropertySet<'a> {
    /// Name of the set, e.g. `SYCL/device requirements`.
    pub name: &'a str,
    /// Properties in stored order.
    pub properties: Vec<Property<'a>>,
}

/// Removes the set of a name.
pub fn remove_set(sets: &mut Vec<PropertySet<'_>>, name: &str) {
    sets.retain(|set| set.name != name);
}

/// Puts a set in place of that of its name, or behind the others.
pub fn replace_set<'a>(sets: &mut Vec<PropertySet<'a>>, new: &PropertySet<'a>) {
    remove_set(sets, new.name);
    sets.push(new.clone());
}

/// All property sets of an image, in stored order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    /// Property sets.
    pub sets: Vec<PropertySet<'a>>,
}

impl<'a> Properties<'a> {
    /// Returns the properties of a set; empty where the image has no such set.
    pub fn set(&self, name: &str) -> &[Property<'a>] {
        self.sets.iter().find(|set| set.name == name).map_or(&[], |set| &set.properties)
    }

    /// Returns a property of a set.
    pub fn get(&self, set: &str, name: &str) -> Option<Value<'a>> {
        self.set(set).iter().find(|property| property.name == name).map(|property| property.value)
    }

    /// Returns the number of a property.
    pub fn number(&self, set: &str, name: &str) -> Option<u32> {
        self.get(set, name)?.number()
    }

    /// Returns the text of a property.
    pub fn text(&self, set: &str, name: &str) -> Option<&'a str> {
        self.get(set, name)?.text()
    }

    /// The numbers of the aspects that a device must have, where they are recorded: under DPC++'s key `aspects`, or under
    /// `aspect`, as its design document has it.
    pub fn aspect_numbers(&self) -> Option<Vec<u32>> {
        let [one, other] = key::ASPECTS.map(|name| self.get(set::REQUIREMENTS, name).and_then(|value| value.words()));
        one.or(other)
    }

    /// Sets a property, in place or, if it is new, at the end of its set.
    pub fn put(&mut self, set: &'a str, property: Property<'a>) {
        match self.sets.iter_mut().find(|known| known.name == set) {
            None => self.sets.push(PropertySet { name: set, properties: vec![property] }),
            Some(known) => match known.properties.iter_mut().find(|known| known.name == property.name) {
                Some(old) => *old = property,
                None => known.properties.push(property),
            },
        }
    }

    /// Returns the property names of a set.
    pub fn names(&self, set: &str) -> Vec<&'a str> {
        self.set(set).iter().map(|property| property.name).collect()
    }
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
