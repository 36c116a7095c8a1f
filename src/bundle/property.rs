//! Which property sets does an image have?
//!
//! They are stored as in `sycl_device_binary_property_set_struct`: ordered, unknown ones kept, values raw (layout:
//! DPC++ `sycl/source/detail/compiler.hpp`).

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

/// Names of properties that several modules use.
pub mod key {
    /// The required aspects, as DPC++ writes it and as its design document does.
    pub const ASPECTS: [&str; 2] = ["aspects", "aspect"];
    /// Target of the device configuration that an image was compiled for; in [`set::REQUIREMENTS`](super::set).
    pub const COMPILE_TARGET: &str = "compile_target";
    /// Marks that all specialization constants are fixed to their defaults; in [`set::MISC`](super::set).
    pub const SPEC_REPLACED: &str = "specConstsReplacedWithDefault";
}

/// Names of the property sets that this tool uses.
pub mod set {
    /// Requirements on the device.
    pub const REQUIREMENTS: &str = "SYCL/device requirements";
    /// Symbols that other images may import.
    pub const EXPORTED: &str = "SYCL/exported symbols";
    /// Symbols that other images must define.
    pub const IMPORTED: &str = "SYCL/imported symbols";
    /// Eliminated kernel arguments.
    pub const PARAM_OPT: &str = "SYCL/kernel param opt";
    /// Specialization constants with the layout of their values.
    pub const SPEC_CONSTANTS: &str = "SYCL/specialization constants";
    /// Defaults of the specialization constants, one after another.
    pub const SPEC_DEFAULTS: &str = "SYCL/specialization constants default values";
    /// Values that the specialization constants were given, laid out like the defaults (libsycl from 2026.2).
    pub const SPEC_VALUES: &str = "SYCL/specialization constants set values";
    /// Kernels of an image without entries, such as one of a SYCLBIN.
    pub const KERNEL_NAMES: &str = "SYCL/kernel names";
    /// Flags of the whole image.
    pub const MISC: &str = "SYCL/misc properties";
    /// Facts of kernels that the runtime cannot query from a native image.
    pub const PROGRAM_METADATA: &str = "SYCL/program metadata";
    /// Device globals, with their size and whether each image has its own.
    pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
    /// Virtual function sets defined or used.
    pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
    /// Marks images of the device library.
    pub const DEVICELIB: &str = "SYCL/devicelib metadata";
    /// Aspects, by kernel, that its image required before it was linked with others and that its code does not show.
    /// The set is this tool's own: `link` writes it, `split` reads it, the runtime ignores it.
    pub const KERNEL_ASPECTS: &str = "sycl-bundle/kernel aspects";
}

/// Sets whose properties are named after kernels (DPC++ `PropertySets.md`, `ComputeModuleRuntimeInfo.cpp`).
const BY_NAME: [&str; 7] = [
    set::PARAM_OPT,
    set::KERNEL_NAMES,
    set::KERNEL_ASPECTS,
    "SYCL/assert used",
    "SYCL/malloc used",
    "SYCL/implicit local arg",
    "SYCL/work group dynamic local mem",
];

/// Returns the mangled name of the kernel that a property is about, or none where it is about the image, a symbol or a
/// constant. DPC++ also lists functions here whose arguments it removes.
pub fn kernel_of<'a>(set_name: &str, property: &Property<'a>) -> Option<&'a str> {
    match set_name {
        "SYCL/registered kernels" => property.value.text(),
        set::PROGRAM_METADATA => {
            property.name.rsplit_once('@').filter(|(_, key)| *key != "global_id_mapping").map(|(kernel, _)| kernel)
        }
        _ => BY_NAME.contains(&set_name).then_some(property.name),
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

    #[test]
    fn kernels_are_found_by_set() {
        let of = |set, name| kernel_of(set, &Property { name, value: Value::Text(b"k") });
        assert_eq!(of("SYCL/assert used", "foo"), Some("foo"));
        assert_eq!(of("SYCL/registered kernels", "short"), Some("k"));
        assert_eq!(of(set::PROGRAM_METADATA, "foo@reqd_work_group_size"), Some("foo"));
        assert_eq!(of(set::PROGRAM_METADATA, "uid@global_id_mapping"), None);
        assert_eq!(of(set::MISC, "optLevel"), None);
    }
}
