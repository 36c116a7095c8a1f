//! What does a known property mean?
//!
//! Raw values are decoded to names, numbers and records where the meaning is documented (DPC++ `PropertySets.md`,
//! `SYCLDeviceRequirements.cpp`, `ComputeModuleRuntimeInfo.cpp`); all other values stay raw.

use super::aspect::{self, Epoch};
use super::property::{Properties, Property, Value, key, set};
use super::requirements::FIXED_TARGET_NAMES;
use super::spec_constants::{SpecConstant, laid_out, leaves};
use crate::bytes::{self, hex};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Decoded value of a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Decoded {
    /// Number.
    Number(u64),
    /// Numbers, as stored.
    Numbers(Vec<u64>),
    /// Boolean.
    Flag(bool),
    /// Text.
    Text(String),
    /// Names.
    Names(Vec<String>),
    /// The arguments of the source that the compiler removed.
    Arguments {
        /// Number of arguments in the source.
        #[serde(rename = "arguments")]
        count: u64,
        /// Positions of the removed ones.
        eliminated: Vec<u64>,
    },
    /// Parts of a specialization constant.
    SpecConstant(Vec<SpecConstant>),
    /// Values of specialization constants as hexadecimal bytes, by name, in the order of the set.
    Defaults(
        #[serde(serialize_with = "as_object")]
        #[schemars(with = "BTreeMap<String, String>")]
        Vec<(String, String)>,
    ),
    /// Device global.
    DeviceGlobal {
        /// Size in bytes.
        size: u32,
        /// Whether each image has its own copy (`device_image_scope`).
        image_scope: bool,
    },
}

/// Decodes a property of a set. None where its meaning is not known or is just its number.
pub fn decode(all: &Properties<'_>, set_name: &str, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    let value = &property.value;
    let text = || value.text().map(|text| Decoded::Text(text.to_owned()));
    let words = || value.words().map(|words| Decoded::Numbers(words.into_iter().map(u64::from).collect()));
    let list = |separator| value.text().map(|text| Decoded::Names(split(text, separator)));
    match (set_name, property.name) {
        (set::REQUIREMENTS, "aspects" | "aspect") | (set::KERNEL_ASPECTS, _) => {
            Some(Decoded::Names(value.words()?.into_iter().map(|number| aspect::label(epoch, number)).collect()))
        }
        (set::REQUIREMENTS, "reqd_work_group_size_uint64_t") => value.double_words().map(Decoded::Numbers),
        (set::REQUIREMENTS, "reqd_work_group_size" | "fixed_target") => words(),
        (set::REQUIREMENTS, FIXED_TARGET_NAMES) => list(','),
        (set::REQUIREMENTS, "joint_matrix" | "joint_matrix_mad") => list(';'),
        (set::REQUIREMENTS, key::COMPILE_TARGET) | (set::MISC, "sanUsed") | ("SYCL/registered kernels", _) => text(),
        (set::PARAM_OPT, _) => arguments(property),
        (set::SPEC_CONSTANTS, _) => leaves(property).map(Decoded::SpecConstant),
        (set::SPEC_DEFAULTS | set::SPEC_VALUES, "all") => values(all, value.payload()?),
        (set::MISC, "isEsimdImage" | key::SPEC_REPLACED | "asanUsed") => {
            value.number().map(|number| Decoded::Flag(number != 0))
        }
        (set::MISC, "sycl-grf-size") if value.number() == Some(0) => Some(Decoded::Text("automatic".to_owned())),
        (set::MISC, "sycl-register-alloc-mode") => match value.number()? {
            0 => Some(Decoded::Text("automatic".to_owned())),
            2 => Some(Decoded::Text("large".to_owned())),
            _ => None,
        },
        (set::DEVICE_GLOBALS, _) => match value.words()?.as_slice() {
            &[size, scope, ..] => Some(Decoded::DeviceGlobal { size, image_scope: scope != 0 }),
            _ => None,
        },
        (set::VIRTUAL_FUNCTIONS, "uses-virtual-functions-set") => list(','),
        (set::VIRTUAL_FUNCTIONS, _) => text(),
        (set::DEVICELIB, "bfloat16") => match value.number()? {
            0 => Some(Decoded::Text("fallback".to_owned())),
            1 => Some(Decoded::Text("native".to_owned())),
            _ => None,
        },
        ("SYCL/devicelib req mask", _) => value.number().map(device_libraries),
        ("SYCL/host pipes", _) => value.words()?.first().map(|&size| Decoded::Number(size.into())),
        (set::PROGRAM_METADATA, key) => match key.rsplit_once('@')?.1 {
            "reqd_work_group_size" | "max_work_group_size" => words(),
            "max_linear_work_group_size" => value.double_words()?.first().copied().map(Decoded::Number),
            "global_id_mapping" => text(),
            _ => None,
        },
        _ => None,
    }
}

/// Serialises names and values as an object.
fn as_object<S: Serializer>(values: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

fn split(text: &str, separator: char) -> Vec<String> {
    text.split(separator).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Decodes a bit array: bit i, lowest first, is set if argument i of the source was removed.
fn arguments(property: &Property<'_>) -> Option<Decoded> {
    let super::property::Value::Bytes(raw) = property.value else { return None };
    let payload = property.value.payload()?;
    let stored = (payload.len() as u64).saturating_mul(8);
    let count = bytes::u64_at(raw, 0)?.min(stored);
    let bit = |at: u64| {
        let byte = usize::try_from(at / 8).ok().and_then(|at| payload.get(at)).copied().unwrap_or(0);
        byte >> (at % 8) & 1 == 1
    };
    Some(Decoded::Arguments { count, eliminated: (0..count).filter(|&at| bit(at)).collect() })
}

/// Returns the values of constants in a blob, or none where it is too short.
fn values(all: &Properties<'_>, blob: &[u8]) -> Option<Decoded> {
    let found: Option<Vec<(String, String)>> = laid_out(all, Some(blob))
        .iter()
        .map(|one| Some((one.name.to_owned(), crate::bytes::hex(one.default?))))
        .collect();
    found.filter(|found| !found.is_empty()).map(Decoded::Defaults)
}

/// Decodes a mask whose bit n stands for the n-th fallback library (`DeviceLibFuncMap`, before 2026).
fn device_libraries(mask: u32) -> Decoded {
    const NAMES: [&str; 10] = [
        "assert",
        "math",
        "math_fp64",
        "complex",
        "complex_fp64",
        "cstring",
        "imf",
        "imf_fp64",
        "imf_bf16",
        "bfloat16",
    ];
    let set = NAMES.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
    Decoded::Names(set.map(|(_, name)| (*name).to_owned()).collect())
}

impl fmt::Display for Decoded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Decoded::Number(number) => write!(out, "{number}"),
            Decoded::Numbers(numbers) => out.write_str(&list(numbers)),
            Decoded::Flag(flag) => out.write_str(if *flag { "yes" } else { "no" }),
            Decoded::Text(text) => out.write_str(text),
            Decoded::Names(names) if names.is_empty() => out.write_str("none"),
            Decoded::Names(names) => out.write_str(&names.join(", ")),
            Decoded::Arguments { count, eliminated } if eliminated.is_empty() => {
                write!(out, "{count} arguments, none removed")
            }
            Decoded::Arguments { count, eliminated } => write!(out, "{count} arguments, removed {}", list(eliminated)),
            Decoded::SpecConstant(parts) => {
                let part =
                    |part: &SpecConstant| format!("id {}: {} bytes at offset {}", part.id, part.size, part.offset);
                out.write_str(&parts.iter().map(part).collect::<Vec<_>>().join("; "))
            }
            Decoded::Defaults(values) => {
                let texts: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                out.write_str(&texts.join("; "))
            }
            Decoded::DeviceGlobal { size, image_scope } => {
                write!(out, "{size} bytes, {}", if *image_scope { "one per image" } else { "shared by images" })
            }
        }
    }
}

/// Returns the text of a property: its decoded value where there is one, or else its number or bytes.
pub fn describe(decoded: Option<Decoded>, value: Value<'_>) -> String {
    match (decoded, value) {
        (Some(decoded), _) => decoded.to_string(),
        (None, Value::U32(number)) => number.to_string(),
        (None, value) => describe_stored(&value, usize::MAX),
    }
}

/// Returns a value as it is stored, with at most `most` bytes.
pub fn describe_stored(value: &Value<'_>, most: usize) -> String {
    let bytes = match *value {
        Value::U32(number) => return format!("u32 {number}"),
        Value::Bytes(bytes) | Value::Text(bytes) | Value::Unknown { bytes, .. } => bytes,
    };
    let head = hex(bytes.get(..bytes.len().min(most)).unwrap_or_default());
    let more = if bytes.len() > most { "..." } else { "" };
    format!("{} of {}: {head}{more}", value.type_name(), bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::property::{PropertySet, Value};

    fn array(bits: u64, payload: &[u8]) -> Vec<u8> {
        [&bits.to_le_bytes()[..], payload].concat()
    }

    fn one(set: &str, name: &str, value: Value<'_>) -> Option<Decoded> {
        decode(&Properties::default(), set, &Property { name, value }, Epoch::From2026)
    }

    #[test]
    fn aspects_and_arguments() {
        let raw = array(64, &[6, 0, 0, 0, 27, 0, 0, 0]);
        let names = Decoded::Names(vec!["fp64".to_owned(), "atomic64".to_owned()]);
        assert_eq!(one(set::REQUIREMENTS, "aspects", Value::Bytes(&raw)), Some(names));
        let raw = array(11, &[0xc0, 0x04]);
        let arguments = Decoded::Arguments { count: 11, eliminated: vec![6, 7, 10] };
        assert_eq!(one(set::PARAM_OPT, "_ZTS1k", Value::Bytes(&raw)), Some(arguments));
        // A forged length asks for no more bits than there are.
        let raw = array(u64::MAX, &[1]);
        let arguments = Decoded::Arguments { count: 8, eliminated: vec![0] };
        assert_eq!(one(set::PARAM_OPT, "_ZTS1k", Value::Bytes(&raw)), Some(arguments));
    }

    #[test]
    fn specialization_constants_with_their_defaults() {
        let tuple = |id: u32, offset: u32, size: u32| [id, offset, size].map(u32::to_le_bytes).concat();
        let (first, second) = (array(192, &[tuple(0, 0, 4), tuple(1, 4, 8)].concat()), array(96, &tuple(2, 0, 2)));
        let blob = array(112, &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8]);
        let property = |name, raw| Property { name, value: Value::Bytes(raw) };
        let sets = vec![PropertySet {
            name: set::SPEC_CONSTANTS,
            properties: vec![property("a", &first), property("b", &second)],
        }];
        let all = Properties { sets };
        let decoded =
            decode(&all, "SYCL/specialization constants default values", &property("all", &blob), Epoch::From2026);
        let expected = [("a", "010000000200000000000000"), ("b", "0708")];
        assert_eq!(
            decoded,
            Some(Decoded::Defaults(expected.map(|(name, hex)| (name.to_owned(), hex.to_owned())).to_vec()))
        );
        let parts = one(set::SPEC_CONSTANTS, "b", Value::Bytes(&second));
        assert_eq!(parts, Some(Decoded::SpecConstant(vec![SpecConstant { id: 2, offset: 0, size: 2 }])));
    }

    #[test]
    fn what_is_not_known_stays_raw() {
        assert_eq!(one("SYCL/new set", "x", Value::U32(1)), None);
        assert_eq!(one(set::MISC, "optLevel", Value::U32(2)), None);
        assert_eq!(one(set::MISC, "isEsimdImage", Value::U32(1)), Some(Decoded::Flag(true)));
        assert_eq!(one(set::REQUIREMENTS, "aspects", Value::U32(1)), None);
    }
}
