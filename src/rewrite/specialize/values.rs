//! Which bytes does a text stand for as the value of a constant?

use super::kind;
use crate::bundle::spec_constants::{Constant, SpecConstant};
use crate::bundle::spec_setting::Setting;
use crate::error::{Error, ErrorKind, Result};
use crate::spirv::specialize::{Scalar, SettableConstant};
use std::collections::BTreeMap;

/// Prefix of a value that is given as bytes.
const BYTES: &str = "bytes:";

/// Returns the value that a setting gives to a named constant; bytes between its parts are those of the default.
pub(super) fn bytes(
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
pub(super) fn scalar_of(leaf: &SpecConstant, scalars: &BTreeMap<u32, SettableConstant>) -> Scalar {
    let unknown = Scalar::Int(leaf.size.saturating_mul(8).clamp(1, 64));
    scalars.get(&leaf.id).map_or(unknown, |one| one.scalar)
}

/// Writes the bits of a part into a value.
pub(super) fn put(value: &mut [u8], leaf: &SpecConstant, bits: u64) {
    let (from, size) = (leaf.offset as usize, (leaf.size as usize).min(8));
    let place = value.get_mut(from..from.saturating_add(size));
    if let (Some(place), Some(bytes)) = (place, bits.to_le_bytes().get(..size)) {
        place.copy_from_slice(bytes);
    }
}

/// Returns the bits that a setting gives to a constant without a name.
pub(super) fn scalar(setting: &Setting, scalar: Scalar) -> Result<u64> {
    let text = setting.values.join(",");
    parse(&text, scalar).ok_or_else(|| refused(setting, &text, &kind(scalar)))
}

/// Returns the bits of a part of a value.
pub(super) fn bits(value: &[u8], offset: u32, size: u32) -> Option<u64> {
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
