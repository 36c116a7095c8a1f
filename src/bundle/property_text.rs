//! How are property sets written as text?
//!
//! The form is the `.prop` form of LLVM's `PropertySetIO` (`llvm/lib/Support/PropertySetIO.cpp`): `[set]` lines, then
//! `name=type|value`; type 1 is a decimal number, type 2 base64 of the stored array, including its 8-byte length
//! prefix. DPC++ and its runtime write a base64 of their own, which is written here; standard base64,
//! as upstream LLVM writes it, is read too.
//!
//! The alphabet of DPC++'s encoding is that of base64, but the lowest bits come first, and there is no padding
//! (`llvm/lib/Support/Base64.cpp` of intel/llvm; libsycl 2026.2 does the same). The result differs from RFC 4648: the
//! byte 1 is `BA`, not `AQ==`. Crate `base64` has no such bit order, so this is written by hand.

use super::property::{Properties, Property, PropertySet, Value};
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::{HashMap, HashSet};

/// Writes the property sets of an image as text, in stored order.
///
/// # Errors
/// Errors of [`write_sets`].
pub fn write(properties: &Properties<'_>) -> Result<String> {
    write_sets(&properties.sets)
}

/// Writes property sets as text, in their order.
///
/// # Errors
/// `Input`, naming the set or property, where the form cannot hold it: a name with `=` or a line break, an empty name,
/// or a value that is neither number nor byte array.
pub(crate) fn write_sets(sets: &[PropertySet<'_>]) -> Result<String> {
    let mut out = String::new();
    for set in sets {
        if set.name.is_empty() || set.name.contains(['\n', '\r']) {
            return Err(unfit("property set", set.name, "an empty name or a line break"));
        }
        out.push_str(&format!("[{}]\n", set.name));
        let mut written = HashSet::new();
        // Of several the runtime takes the first in a list, and the last in text.
        for Property { name, value } in set.properties.iter().filter(|property| written.insert(property.name)) {
            if name.is_empty() || name.contains(['=', '\n', '\r']) || name.starts_with('[') {
                return Err(unfit("property", name, "an empty name, `=`, a leading `[`, or a line break"));
            }
            match value {
                Value::U32(number) => out.push_str(&format!("{name}=1|{number}\n")),
                Value::Bytes(raw) => out.push_str(&format!("{name}=2|{}\n", encode_base64(raw))),
                other => return Err(unfit("property", name, &format!("a value of type {}", other.type_name()))),
            }
        }
    }
    Ok(out)
}

#[cold]
fn unfit(what: &str, name: &str, why: &str) -> Error {
    Error::input(format!("the {what} {name:?} cannot be written as text, which holds no name or value with {why}"))
}

/// Reads the text form. Empty text has no sets; empty lines are skipped; CRLF is accepted. Names are borrowed from the
/// text; `keep` stores each decoded byte array.
///
/// # Errors
/// `Input` with the offset of the line that cannot be read, and errors of `keep`.
pub fn read<'a>(bytes: &'a [u8], mut keep: impl FnMut(Vec<u8>) -> Result<&'a [u8]>) -> Result<Properties<'a>> {
    let mut read = Properties::default();
    let (mut lines, mut known, mut current) = (0usize, HashMap::new(), None);
    for (here, line) in bytes::lines(bytes::utf8_text(bytes, "the property sets are not UTF-8")?) {
        let here = here as u64;
        if line.is_empty() {
            continue;
        }
        lines = lines.saturating_add(1);
        if lines > limits::MAX_TEXT_PROPERTIES || read.sets.len() > limits::MAX_PROPERTY_SETS {
            let (sets, properties) = (limits::MAX_PROPERTY_SETS, limits::MAX_TEXT_PROPERTIES);
            return Err(Error::at(
                here,
                format!("more than {sets} property sets or {properties} properties, the limits"),
            ));
        }
        if let Some(rest) = line.strip_prefix('[') {
            // The name may contain brackets: it ends at the last one.
            let name = rest.rsplit_once(']').map(|(name, _)| name).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| Error::at(here, "a property set without a name or closing `]`"))?;
            // A set that stands twice is one to DPC++.
            let at = *known.entry(name).or_insert(read.sets.len());
            if at == read.sets.len() {
                read.sets.push(PropertySet { name, properties: Vec::new() });
            }
            current = Some(at);
            continue;
        }
        let property = property(line, &mut keep).map_err(|error| error.with_offset(here))?;
        let set = current
            .and_then(|at| read.sets.get_mut(at))
            .ok_or_else(|| Error::at(here, "a property before the first set"))?;
        set.properties.push(property);
    }
    read.sets.iter_mut().for_each(|set| keep_last(&mut set.properties));
    Ok(read)
}

/// Leaves of properties of one name the last, as DPC++ does (`PropertySetRegistry::read`).
fn keep_last(properties: &mut Vec<Property<'_>>) {
    let name = |at: usize| properties.get(at).map_or("", |property| property.name);
    let mut order: Vec<u32> = (0u32..).zip(properties.iter()).map(|(at, _)| at).collect();
    order.sort_by(|one, other| name(*one as usize).cmp(name(*other as usize)));
    let again =
        order.windows(2).filter(|pair| matches!(pair, [one, next] if name(*one as usize) == name(*next as usize)));
    let gone: HashSet<u32> = again.filter_map(|pair| pair.first().copied()).collect();
    if !gone.is_empty() {
        let mut at = 0u32..;
        properties.retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
    }
}

fn property<'a>(line: &'a str, keep: &mut impl FnMut(Vec<u8>) -> Result<&'a [u8]>) -> Result<Property<'a>> {
    let parts = line.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once('|')?)));
    let Some((name, (kind, value))) = parts.filter(|(name, (_, value))| !name.is_empty() && !value.is_empty()) else {
        return Err(Error::input("this line is no `name=type|value`"));
    };
    let value = match kind {
        "1" => value.parse().map(Value::U32).map_err(|_| Error::input(format!("`{value}` is no 32-bit number")))?,
        "2" => Value::Bytes(keep(array(value).ok_or_else(|| {
            Error::input(format!("property `{name}` is no byte array in base64 with its length in front"))
        })?)?),
        other => return Err(Error::input(format!("property `{name}` is of type `{other}`, neither 1 nor 2"))),
    };
    Ok(Property { name, value })
}

/// Decodes a byte array. A text may be valid in both encodings; the length prefix decides.
fn array(text: &str) -> Option<Vec<u8>> {
    let ours = decode_base64(text);
    let standard = || STANDARD.decode(text).ok();
    let fits = |raw: &Vec<u8>| {
        let data = raw.len().checked_sub(8).map(|len| len as u64);
        data.is_some() && bytes::u64_at(raw, 0).map(|bits| bits.div_ceil(8)) == data
    };
    let whole = |raw: &Vec<u8>| raw.len() >= 8;
    ours.clone().filter(fits).or_else(|| standard().filter(fits)).or_else(|| ours.or_else(standard).filter(whole))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes.
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().saturating_mul(4).div_ceil(3));
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().rev().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        let digits = (chunk.len() * 8).div_ceil(6);
        out.extend(
            (0..digits).filter_map(|digit| ALPHABET.get((bits >> (digit * 6)) as usize & 63)).copied().map(char::from),
        );
    }
    out
}

/// Decodes a text; none where it has another character or an impossible length.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len().saturating_mul(3) / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &digit in chunk.iter().rev() {
            bits = bits << 6 | digit_value(digit)?;
        }
        let count = match chunk.len() {
            1 => return None,
            len => len - 1,
        };
        out.extend_from_slice(bits.to_le_bytes().get(..count)?);
    }
    Some(out)
}

fn digit_value(digit: u8) -> Option<u32> {
    let (first, base) = match digit {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'+' => return Some(62),
        b'/' => return Some(63),
        _ => return None,
    };
    Some(u32::from(digit.wrapping_sub(first)).wrapping_add(base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Arena;
    use proptest::prelude::*;

    const TEXT: &str = "[SYCL/device requirements]\naspects=2|gAAAAAAAAAgBAAAA\n[SYCL/kernel param opt]\n\
                    _ZTS1k=2|LAAAAAAAAAAMBA\n[SYCL/misc properties]\noptLevel=1|2\n";

    #[test]
    fn reads_and_writes_what_dpcpp_writes() {
        let arena = Arena::default();
        let properties = read(TEXT.as_bytes(), |bytes| arena.keep(bytes)).unwrap();
        assert_eq!(properties.get("SYCL/device requirements", "aspects").unwrap().words(), Some(vec![6]));
        assert_eq!(properties.get("SYCL/kernel param opt", "_ZTS1k").unwrap().payload(), Some(&[0x30, 1][..]));
        assert_eq!(properties.get("SYCL/misc properties", "optLevel"), Some(Value::U32(2)));
        assert_eq!(write(&properties).unwrap(), TEXT);
    }

    #[test]
    fn standard_base64_is_told_by_the_length() {
        let arena = Arena::default();
        let text = b"[s]\naspects=2|IAAAAAAAAAAGAAAA\nname=2|GAAAAAAAAABwdmM=\nempty=2|AAAAAAAAAAA=\n";
        let properties = read(text, |bytes| arena.keep(bytes)).unwrap();
        assert_eq!(properties.get("s", "aspects").unwrap().words(), Some(vec![6]));
        assert_eq!(properties.get("s", "name").unwrap().text(), Some("pvc"));
        assert_eq!(properties.get("s", "empty"), Some(Value::Bytes(&[0; 8])));
    }

    /// DPC++ has a map of sets and a map of the properties of each.
    #[test]
    fn sets_and_properties_that_stand_twice_are_one() {
        let text = b"[a]\nx=1|1\ny=1|2\n[b]\nx=1|3\n[a]\nx=1|4\nz=1|5\n";
        let properties = read(text, |_| Ok(&[])).unwrap();
        let seen: Vec<(&str, Vec<(&str, &Value<'_>)>)> = properties
            .sets
            .iter()
            .map(|set| (set.name, set.properties.iter().map(|one| (one.name, &one.value)).collect()))
            .collect();
        let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(Value::U32);
        assert_ne!(one, four);
        assert_eq!(seen, [("a", vec![("y", &two), ("x", &four), ("z", &five)]), ("b", vec![("x", &three)])]);
        let properties = [&one, &four].map(|value| Property { name: "x", value: *value }).to_vec();
        assert_eq!(write_sets(&[PropertySet { name: "a", properties }]).unwrap(), "[a]\nx=1|1\n");
    }

    #[test]
    fn an_empty_array_is_its_prefix() {
        let properties = Properties {
            sets: vec![PropertySet {
                name: "s",
                properties: vec![Property { name: "aspects", value: Value::Bytes(&[0; 8]) }],
            }],
        };
        assert_eq!(write(&properties).unwrap(), "[s]\naspects=2|AAAAAAAAAAA\n");
    }

    #[test]
    fn names_the_form_cannot_hold_are_named() {
        for name in ["a=b", "a\nb", "[a", ""] {
            let set = PropertySet { name: "s", properties: vec![Property { name, value: Value::U32(1) }] };
            let error = write(&Properties { sets: vec![set] }).unwrap_err();
            assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
        }
    }

    #[test]
    fn damage_is_placed() {
        let arena = Arena::default();
        for (text, offset) in
            [("x=1|1\n", 0), ("[s]\nx=3|1\n", 4), ("[s]\n\nx=1|\n", 5), ("[s]\nx=2|AAAA\n", 4), ("[]\n", 0)]
        {
            let error = read(text.as_bytes(), |bytes| arena.keep(bytes)).unwrap_err();
            assert_eq!(error.offset(), Some(offset), "{text}");
        }
        assert_eq!(read(b"[a]b]\r\nx=1|7\r\n", |bytes| arena.keep(bytes)).unwrap().sets[0].name, "a]b");
        assert_eq!(read(b"", |bytes| arena.keep(bytes)).unwrap(), Properties::default());
    }

    #[test]
    fn the_number_of_properties_is_limited() {
        let text = format!("[s]\n{}", "x=1|1\n".repeat(limits::MAX_TEXT_PROPERTIES));
        let error = read(text.as_bytes(), |_| Ok(&[])).unwrap_err();
        assert!(error.to_string().contains("the limits"), "{error}");
        let sets: String = (0..limits::MAX_PROPERTY_SETS + 2).map(|nth| format!("[s{nth}]\n")).collect();
        assert!(read(sets.as_bytes(), |_| Ok(&[])).is_err());
    }

    #[test]
    fn as_the_runtime_writes() {
        // `target` of a SYCLBIN that libsycl 2026.2 made.
        let raw = decode_base64("wCAAAAAAAAwcwlmc2QTL152au92du1Sdutmbvdnb").unwrap();
        assert_eq!(raw, [&[0xb0, 0, 0, 0, 0, 0, 0, 0], &b"spir64-unknown-unknown"[..]].concat());
        assert_eq!(decode_base64("IAAAAAAAAAQA").unwrap(), [8, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(encode_base64(&[40, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x7f, 0xff, 0x70]), "oAAAAAAAAAw///3/wB");
        assert_eq!(decode_base64("AQ=="), None);
        assert_eq!(decode_base64("AAAAA"), None);
    }

    proptest! {
        #[test]
        fn comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode_base64(&encode_base64(&bytes)), Some(bytes));
        }
    }
}
