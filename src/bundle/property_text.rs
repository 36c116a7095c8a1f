//! How do property sets look as text?
//!
//! The `.prop` form of LLVM's `PropertySetIO` (`llvm/lib/Support/PropertySetIO.cpp`): `[set]` lines, then
//! `name=type|value`; type 1 is a decimal number, type 2 standard base64 of the stored array, its 8-byte length
//! prefix included.

use super::property::{Properties, Property, PropertySet, Value};
use crate::error::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Writes property sets as text, in stored order.
///
/// # Errors
/// `Input`, naming the set or property, where the form cannot hold it: a name with `=` or a line break, an empty
/// name, or a value that is neither number nor byte array.
pub fn write(properties: &Properties<'_>) -> Result<String> {
    let mut out = String::new();
    for set in &properties.sets {
        if set.name.is_empty() || set.name.contains(['\n', '\r']) {
            return Err(unfit("property set", set.name, "an empty name or a line break"));
        }
        out.push_str(&format!("[{}]\n", set.name));
        for Property { name, value } in &set.properties {
            if name.is_empty() || name.contains(['=', '\n', '\r']) || name.starts_with('[') {
                return Err(unfit("property", name, "an empty name, `=`, a leading `[`, or a line break"));
            }
            match value {
                Value::U32(number) => out.push_str(&format!("{name}=1|{number}\n")),
                Value::Bytes(raw) => out.push_str(&format!("{name}=2|{}\n", STANDARD.encode(raw))),
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

/// Property sets read from text; owns what the borrowed form points at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// Sets by name with their properties, in file order.
    pub sets: Vec<(String, Vec<(String, TextValue)>)>,
}

/// A value read from text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextValue {
    /// Type 1.
    U32(u32),
    /// Type 2, with its length prefix.
    Bytes(Vec<u8>),
}

impl Text {
    /// Reads the text form. Empty text is no sets; empty lines are skipped; CRLF is taken.
    ///
    /// # Errors
    /// `Input` with the offset of the line that cannot be read.
    pub fn read(bytes: &[u8]) -> Result<Text> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Error::at(error.valid_up_to() as u64, "the property file is not UTF-8"))?;
        let mut read = Text::default();
        let mut offset = 0u64;
        for line in text.split_inclusive('\n') {
            let here = offset;
            offset = offset.saturating_add(line.len() as u64);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                // The name may hold brackets itself: it runs to the last one.
                let name = rest.rsplit_once(']').map(|(name, _)| name).filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| Error::at(here, "a property set without a name or closing `]`"))?;
                read.sets.push((name.to_owned(), Vec::new()));
                continue;
            }
            let (name, value) = property(line).map_err(|error| error.with_offset(here))?;
            let set = read.sets.last_mut().ok_or_else(|| Error::at(here, "a property before the first set"))?;
            set.1.push((name, value));
        }
        Ok(read)
    }

    /// The same sets, borrowed.
    pub fn properties(&self) -> Properties<'_> {
        Properties {
            sets: self
                .sets
                .iter()
                .map(|(name, properties)| PropertySet { name, properties: borrowed(properties) })
                .collect(),
        }
    }
}

fn borrowed(properties: &[(String, TextValue)]) -> Vec<Property<'_>> {
    let value = |value| match value {
        &TextValue::U32(number) => Value::U32(number),
        TextValue::Bytes(raw) => Value::Bytes(raw),
    };
    properties.iter().map(|(name, of)| Property { name, value: value(of) }).collect()
}

fn property(line: &str) -> Result<(String, TextValue)> {
    let parts = line.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once('|')?)));
    let Some((name, (kind, value))) = parts.filter(|(name, (_, value))| !name.is_empty() && !value.is_empty()) else {
        return Err(Error::input("this line is no `name=type|value`"));
    };
    let value = match kind {
        "1" => value.parse().map(TextValue::U32).map_err(|_| Error::input(format!("`{value}` is no 32-bit number")))?,
        "2" => {
            let raw = STANDARD.decode(value).map_err(|error| Error::input(format!("property `{name}`: {error}")))?;
            if raw.len() < 8 {
                return Err(Error::input(format!("property `{name}` is shorter than its length prefix")));
            }
            TextValue::Bytes(raw)
        }
        other => return Err(Error::input(format!("property `{name}` is of type `{other}`, neither 1 nor 2"))),
    };
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[SYCL/device requirements]\naspects=2|IAAAAAAAAAAGAAAA\n[SYCL/kernel param opt]\n\
                        _ZTS1k=2|CwAAAAAAAADABA==\n[SYCL/misc properties]\noptLevel=1|2\n";

    #[test]
    fn reads_and_writes_what_llvm_writes() {
        let text = Text::read(TEXT.as_bytes()).unwrap();
        let properties = text.properties();
        assert_eq!(properties.get("SYCL/device requirements", "aspects").unwrap().words(), Some(vec![6]));
        assert_eq!(properties.get("SYCL/kernel param opt", "_ZTS1k").unwrap().payload(), Some(&[0xc0, 4][..]));
        assert_eq!(properties.get("SYCL/misc properties", "optLevel"), Some(Value::U32(2)));
        assert_eq!(write(&properties).unwrap(), TEXT);
    }

    #[test]
    fn an_empty_array_is_its_prefix() {
        let properties = Properties {
            sets: vec![PropertySet {
                name: "s",
                properties: vec![Property { name: "aspects", value: Value::Bytes(&[0; 8]) }],
            }],
        };
        assert_eq!(write(&properties).unwrap(), "[s]\naspects=2|AAAAAAAAAAA=\n");
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
        for (text, offset) in
            [("x=1|1\n", 0), ("[s]\nx=3|1\n", 4), ("[s]\n\nx=1|\n", 5), ("[s]\nx=2|AAAA\n", 4), ("[]\n", 0)]
        {
            assert_eq!(Text::read(text.as_bytes()).unwrap_err().offset(), Some(offset), "{text}");
        }
        assert_eq!(Text::read(b"[a]b]\r\nx=1|7\r\n").unwrap().sets[0].0, "a]b");
        assert_eq!(Text::read(b"").unwrap(), Text::default());
    }
}
