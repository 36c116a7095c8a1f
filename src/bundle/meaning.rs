//! How is the value of a property shown as text?

use super::decode::Decoded;
use super::property::Value;
use super::spec_constants::SpecConstant;
use crate::bytes::hex;
use std::fmt;

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
