//! Which values do an image's specialization constants get before it is compiled?
//!
//! A SYCL program sets constants by name; the property sets map a name to `SpecId`s and a default value (DPC++
//! `SpecConstants.cpp`). An image that is compiled ahead of time has one fixed value of each. The properties that
//! record this are those of the runtime (libsycl 2026.2): `specConstsReplacedWithDefault` in "SYCL/misc properties"
//! where all are the defaults, otherwise "SYCL/specialization constants set values" with the values in the order of the
//! constants.

use crate::bundle::property::{Properties, Property, Value, byte_array};
use crate::bundle::property_sets::{key, set};
use crate::bundle::spec_constants::{Constant, ConstantName, ITT, Setting, Settings, SpecConstant, constants};
use crate::container::Arena;
use crate::demangle::demangle;
use crate::device::did_you_mean;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_SPEC_CONSTANT;
use crate::spirv::index::Index;
use crate::spirv::specialize::{Scalar, SettableConstant, settable_constants, specialize};
use std::collections::{BTreeMap, BTreeSet};

/// Prefix of a compiler's symbol for a constant, `uid<hash>___<mangled name>`.
const UNIQUE: &str = "uid";

/// Result of setting an image's constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The image has no constants.
    None,
    /// Constants without a value, because of which the image must stay as it is.
    Open(Vec<String>),
    /// All constants have values.
    Done(Specialized),
}

/// Image whose constants have values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specialized {
    /// Module in which they are plain constants.
    pub module: Vec<u8>,
    /// Values of all named constants in order, where one differs from its default.
    pub values: Option<Vec<u8>>,
    /// Whether the constants have names, so that property sets can record them.
    pub(crate) named: bool,
}

impl Specialized {
    /// Returns the values that its property sets record.
    pub fn recorded_values(&self) -> RecordedValues<'_> {
        match &self.values {
            _ if !self.named => RecordedValues::Nothing,
            Some(values) => RecordedValues::Values(values),
            None => RecordedValues::Defaults,
        }
    }
}

/// Sets the constants of an image. The numbers of the settings that match a constant of
/// the image are added to `used`.
///
/// # Errors
/// `Usage` for a value that the constant cannot have; `Input` where the module or its properties are damaged.
pub fn specialized(
    properties: &Properties<'_>,
    module: &[u8],
    settings: &Settings,
    used: &mut BTreeSet<usize>,
) -> Result<Outcome> {
    let index = Index::read(module)?;
    let open = settable_constants(&index);
    let named = constants(properties);
    if open.is_empty() && named.is_empty() {
        return Ok(Outcome::None);
    }
    let scalars: BTreeMap<u32, SettableConstant> = open.iter().map(|one| (one.id, *one)).collect();
    let mut values: BTreeMap<u32, u64> = BTreeMap::new();
    let mut blob: Vec<u8> = Vec::new();
    let (mut missing, mut changed) = (Vec::new(), false);
    for constant in &named {
        let default = match constant.default {
            Some(default) => default.to_vec(),
            None => from_module(constant, &scalars)?,
        };
        let by_name: Vec<(usize, &Setting)> = settings_by_name(settings, constant).collect();
        // A setting that a later one overrides counts as used too.
        used.extend(by_name.iter().map(|(number, _)| *number));
        let by_id = |leaf: &SpecConstant| settings_by_id(settings, leaf.id);
        used.extend(constant.parts().flat_map(by_id).map(|(number, _)| number));
        let mut value = match by_name.last() {
            Some((_, setting)) => bytes(setting, constant, &scalars, &default)?,
            None if constant.parts().all(|leaf| by_id(leaf).next().is_some()) => default.clone(),
            None if settings.defaults => {
                agree(constant, &scalars, &default)?;
                default.clone()
            }
            None => {
                missing.push(display_name(constant.name));
                continue;
            }
        };
        for leaf in constant.parts() {
            if let Some((_, setting)) = by_id(leaf).last() {
                put(&mut value, leaf, scalar(setting, scalar_of(leaf, &scalars))?);
            }
        }
        changed |= value != default;
        for leaf in constant.parts() {
            let width = scalars.get(&leaf.id).map_or(64, |one| one.scalar.width());
            let bits = bits(&value, leaf.offset, leaf.size).ok_or_else(|| {
                Error::input(format!("the properties of the specialization constant `{}` are damaged", constant.name))
            })?;
            values.insert(leaf.id, if width == 1 { u64::from(bits != 0) } else { bits });
        }
        blob.extend_from_slice(&value);
    }
    let has_name: BTreeSet<u32> = named.iter().flat_map(|one| one.parts().map(|leaf| leaf.id)).collect();
    for one in open.iter().filter(|one| !has_name.contains(&one.id)) {
        used.extend(settings_by_id(settings, one.id).map(|(number, _)| number));
        match settings_by_id(settings, one.id).last() {
            Some((_, setting)) => {
                let value = scalar(setting, one.scalar)?;
                values.insert(one.id, value);
            }
            None if settings.defaults || one.id == ITT => {
                values.insert(one.id, one.default);
            }
            None => missing.push(ConstantName::Id(one.id).text()),
        }
    }
    if !missing.is_empty() {
        return Ok(Outcome::Open(missing));
    }
    Ok(Outcome::Done(Specialized {
        module: specialize(&index, &values)?,
        values: changed.then_some(blob),
        named: !named.is_empty(),
    }))
}

/// Checks that the default of a constant is the one that its module has: the runtime sets no constant where a program sets none.
///
/// # Errors
/// `Input` where it is another.
fn agree(constant: &Constant<'_>, scalars: &BTreeMap<u32, SettableConstant>, default: &[u8]) -> Result<()> {
    let differs = |leaf: &SpecConstant| {
        let one = scalars.get(&leaf.id);
        let recorded = bits(default, leaf.offset, leaf.size);
        one.zip(recorded).is_some_and(|(one, recorded)| match one.scalar.width() {
            1 => u64::from(recorded != 0) != one.default,
            width => (recorded ^ one.default).checked_shl(64u32.saturating_sub(width)).is_some_and(|other| other != 0),
        })
    };
    if constant.parts().any(differs) {
        let name = display_name(constant.name);
        let message = format!(
            "the specialization constant `{name}` has a default in its module and another one in its properties"
        );
        return Err(Error::input(message).with_remedy("give its value with `--spec`"));
    }
    Ok(())
}

/// Returns the default of a constant from its parts in the module; padding is zero.
fn from_module(constant: &Constant<'_>, scalars: &BTreeMap<u32, SettableConstant>) -> Result<Vec<u8>> {
    let size = usize::try_from(constant.size()).ok().filter(|size| *size <= MAX_SPEC_CONSTANT);
    let size = size.ok_or_else(|| {
        let (name, size) = (constant.name, constant.size());
        Error::input(format!("the specialization constant `{name}` of {size} bytes is larger than any"))
    })?;
    let mut value = vec![0u8; size];
    for leaf in constant.parts() {
        let Some(one) = scalars.get(&leaf.id) else { continue };
        put(&mut value, leaf, one.default);
    }
    Ok(value)
}

/// Returns the settings that name a constant, with their numbers.
fn settings_by_name<'s>(
    settings: &'s Settings,
    constant: &'s Constant<'_>,
) -> impl Iterator<Item = (usize, &'s Setting)> {
    settings.given.iter().enumerate().filter(move |(_, one)| refers_to(&one.which, constant))
}

/// Returns the settings of a `SpecId`, with their numbers.
fn settings_by_id(settings: &Settings, id: u32) -> impl Iterator<Item = (usize, &Setting)> {
    settings.given.iter().enumerate().filter(move |(_, given)| given.which == ConstantName::Id(id))
}

/// Whether a setting names this constant.
fn refers_to(which: &ConstantName, constant: &Constant<'_>) -> bool {
    match which {
        ConstantName::Id(_) => false,
        ConstantName::Name(name) if name == constant.name => true,
        ConstantName::Name(name) => {
            let full = display_name(constant.name);
            full == *name || full.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with("::"))
        }
    }
}

/// Returns a constant's name as in the source.
pub(crate) fn display_name(symbol: &str) -> String {
    let mangled = symbol.strip_prefix(UNIQUE).and_then(|rest| rest.split_once("___")).map_or(symbol, |(_, name)| name);
    demangle(mangled).into_owned()
}

/// Returns the error for a setting that matches no constant of any image; `known` are the existing names.
pub(crate) fn unknown_constant(setting: &Setting, known: &BTreeSet<String>) -> Error {
    let which = setting.which.text();
    let error = Error::new(ErrorKind::Usage, format!("no selected image has the specialization constant `{which}`"));
    let list = || match known.is_empty() {
        true => "no image has any".to_owned(),
        false => format!("there are {}", known.iter().take(20).cloned().collect::<Vec<_>>().join(", ")),
    };
    error.with_remedy(did_you_mean(&which, known.iter().map(String::as_str)).unwrap_or_else(list))
}

/// Record, in an image's property sets, of the constant values that it was compiled with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordedValues<'a> {
    /// No record: its constants can still be set, or it has none.
    #[default]
    Nothing,
    /// All constants have their defaults.
    Defaults,
    /// Values of all named constants in order.
    Values(&'a [u8]),
}

impl<'a> RecordedValues<'a> {
    /// Reads the record from the property sets of an image.
    pub(crate) fn read(all: &Properties<'a>) -> RecordedValues<'a> {
        match all.get(set::SPEC_VALUES, "all").and_then(|value| value.payload()) {
            Some(values) => RecordedValues::Values(values),
            None if all.get(set::MISC, key::SPEC_REPLACED).and_then(|value| value.number()) == Some(1) => {
                RecordedValues::Defaults
            }
            None => RecordedValues::Nothing,
        }
    }

    /// Returns the set and the property of the record, with the value as stored.
    pub(crate) fn property(self) -> Option<(&'static str, &'static str, StoredValue)> {
        match self {
            RecordedValues::Nothing => None,
            RecordedValues::Defaults => Some((set::MISC, key::SPEC_REPLACED, StoredValue::Flag)),
            RecordedValues::Values(values) => Some((set::SPEC_VALUES, "all", StoredValue::Bytes(byte_array(values)))),
        }
    }
}

/// Value of a property as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredValue {
    /// Number 1.
    Flag,
    /// Bytes, stored behind their length.
    Bytes(Vec<u8>),
}

/// Returns the property sets of an image that was compiled with values.
///
/// # Errors
/// `Input` where there is no room for them.
pub fn properties<'k>(arena: &'k Arena, all: &Properties<'k>, stated: RecordedValues<'_>) -> Result<Properties<'k>> {
    let mut all = all.clone();
    let Some((set, name, value)) = stated.property() else { return Ok(all) };
    let value = match value {
        StoredValue::Flag => Value::U32(1),
        StoredValue::Bytes(bytes) => Value::Bytes(arena.keep(bytes)?),
    };
    all.put(set, Property { name, value });
    Ok(all)
}

/// Returns the name of a scalar type for messages.
fn kind(scalar: Scalar) -> String {
    match scalar {
        Scalar::Bool => "true or false".to_owned(),
        Scalar::Int(width) => format!("an integer of {width} bits"),
        Scalar::Float(width @ (32 | 64)) => format!("a floating-point number of {width} bits"),
        Scalar::Float(width) => format!("the bits of a floating-point number of {width} bits, as 0x..."),
        Scalar::Bits(width) => format!("{width} bits, as 0x..."),
    }
}

/// Prefix of a value that is given as bytes.
const BYTES: &str = "bytes:";

/// Returns the value that a setting gives to a named constant; bytes between its parts are those of the default.
fn bytes(
    setting: &Setting,
    constant: &Constant<'_>,
    scalars: &BTreeMap<u32, SettableConstant>,
    default: &[u8],
) -> Result<Vec<u8>> {
    if let [text] = setting.values.as_slice()
        && let Some(digits) = text.strip_prefix(BYTES)
    {
        let bytes = hexadecimal(digits).filter(|bytes| bytes.len() == default.len());
        let wanted = format!("{BYTES} and {} hexadecimal digits", default.len().saturating_mul(2));
        return bytes.ok_or_else(|| refused(setting, text, &wanted));
    }
    let mut leaves: Vec<_> = constant.parts().collect();
    leaves.sort_by_key(|leaf| leaf.offset);
    if leaves.len() != setting.values.len() {
        let message = format!(
            "the specialization constant `{}` has {} parts, and {} values are given",
            setting.which.text(),
            leaves.len(),
            setting.values.len()
        );
        let remedy = format!("give them with commas between, or all {} bytes as {BYTES}HEX", default.len());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
    }
    let mut value = default.to_vec();
    for (leaf, text) in leaves.iter().zip(&setting.values) {
        let scalar = scalar_of(leaf, scalars);
        put(&mut value, leaf, parse(text, scalar).ok_or_else(|| refused(setting, text, &kind(scalar)))?);
    }
    Ok(value)
}

/// Returns the type of a part. A part that the module does not use has no type there.
fn scalar_of(leaf: &SpecConstant, scalars: &BTreeMap<u32, SettableConstant>) -> Scalar {
    let unknown = Scalar::Int(leaf.size.saturating_mul(8).clamp(1, 64));
    scalars.get(&leaf.id).map_or(unknown, |one| one.scalar)
}

/// Writes the bits of a part into a value.
fn put(value: &mut [u8], leaf: &SpecConstant, bits: u64) {
    let (from, size) = (leaf.offset as usize, (leaf.size as usize).min(8));
    let place = value.get_mut(from..from.saturating_add(size));
    if let (Some(place), Some(bytes)) = (place, bits.to_le_bytes().get(..size)) {
        place.copy_from_slice(bytes);
    }
}

/// Returns the bits that a setting gives to a constant without a name.
fn scalar(setting: &Setting, scalar: Scalar) -> Result<u64> {
    let text = setting.values.join(",");
    parse(&text, scalar).ok_or_else(|| refused(setting, &text, &kind(scalar)))
}

/// Returns the bits of a part of a value.
fn bits(value: &[u8], offset: u32, size: u32) -> Option<u64> {
    let (from, size) = (offset as usize, size as usize);
    let part = value.get(from..from.checked_add(size)?)?;
    let mut bytes = [0u8; 8];
    bytes.get_mut(..size)?.copy_from_slice(part);
    Some(u64::from_le_bytes(bytes))
}

fn refused(setting: &Setting, text: &str, wanted: &str) -> Error {
    let which = setting.which.text();
    Error::new(ErrorKind::Usage, format!("`{text}` is no value of the specialization constant `{which}`: {wanted}"))
}

/// Returns the bits of a text, or none where the type has no such value.
fn parse(text: &str, scalar: Scalar) -> Option<u64> {
    let width = scalar.width();
    let fits = |bits: u64| width >= 64 || bits >> width == 0;
    let raw = || {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
        u64::from_str_radix(digits, 16).ok().filter(|bits| fits(*bits))
    };
    match scalar {
        Scalar::Bool => match text {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        },
        Scalar::Int(_) => raw().or_else(|| match text.strip_prefix('-') {
            Some(_) => {
                let value: i64 = text.parse().ok()?;
                let unused = 64u32.checked_sub(width)?;
                let kept = (value << unused) >> unused == value;
                kept.then(|| (value.cast_unsigned() << unused) >> unused)
            }
            None => text.parse::<u64>().ok().filter(|bits| fits(*bits)),
        }),
        Scalar::Float(32) => raw().or_else(|| text.parse::<f32>().ok().map(|value| u64::from(value.to_bits()))),
        Scalar::Float(64) => raw().or_else(|| text.parse::<f64>().ok().map(f64::to_bits)),
        Scalar::Float(_) | Scalar::Bits(_) => raw(),
    }
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |letter: u8| char::from(letter).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pair = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    if rest.is_empty() { pairs.iter().map(pair).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_means_bits() {
        assert_eq!(parse("-1", Scalar::Int(16)), Some(0xffff));
        assert_eq!(parse("-32769", Scalar::Int(16)), None);
        assert_eq!(parse("65536", Scalar::Int(16)), None);
        assert_eq!(parse("18446744073709551615", Scalar::Int(64)), Some(u64::MAX));
        assert_eq!(parse("-9223372036854775808", Scalar::Int(64)), Some(1 << 63));
        assert_eq!(parse("0x80", Scalar::Int(8)), Some(0x80));
        assert_eq!(parse("2.5", Scalar::Float(32)), Some(u64::from(2.5f32.to_bits())));
        assert_eq!(parse("inf", Scalar::Float(64)), Some(f64::INFINITY.to_bits()));
        assert_eq!(parse("2.5", Scalar::Float(16)), None);
        assert_eq!(parse("0x3c00", Scalar::Float(16)), Some(0x3c00));
        assert_eq!((parse("true", Scalar::Bool), parse("2", Scalar::Bool)), (Some(1), None));
        assert_eq!(hexadecimal("00fF"), Some(vec![0, 255]));
        assert_eq!((hexadecimal("0"), hexadecimal("zz")), (None, None));
    }
}
