//! What does a MessagePack document say?
//!
//! The format of AMD's metadata notes and kernel packages (<https://github.com/msgpack/msgpack/blob/master/spec.md>), as
//! much as these use: all but extension types. Read here and not by crate `rmpv`, which has no limit of values (16 MiB of nils become
//! 512 MiB in memory) and whose errors have no place.

use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    /// Nil, floating-point numbers, byte strings: nothing that is asked for.
    Other,
    /// A truth value.
    Bool(bool),
    /// A number that is not negative; negative ones are 0.
    Number(u64),
    /// Text.
    Text(&'a str),
    /// A list.
    Array(Box<[Value<'a>]>),
    /// A mapping with names as keys, in order.
    Map(Box<[(&'a str, Value<'a>)]>),
}

impl<'a> Value<'a> {
    /// The value under a key of a mapping.
    pub(crate) fn get(&self, key: &str) -> Option<&Value<'a>> {
        match self {
            Value::Map(entries) => entries.iter().find(|(known, _)| *known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The entries of a mapping, in order; none of anything else.
    pub(crate) fn entries(&self) -> &[(&'a str, Value<'a>)] {
        match self {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The text; none of anything else.
    pub(crate) fn as_text(&self) -> Option<&'a str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list under a key.
    pub(crate) fn items(&self, key: &str) -> &[Value<'a>] {
        match self.get(key) {
            Some(Value::Array(items)) => items,
            _ => &[],
        }
    }

    /// Text under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_text()
    }

    /// A number under a key.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        match self.get(key) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }
}

/// Reads the value that the data begins with.
///
/// # Errors
/// `Input`, with the offset, where it is cut short, nested too deep or of an unknown type.
pub(crate) fn read(data: &[u8]) -> Result<Value<'_>> {
    let left = (data.len() / limits::MIN_MSGPACK_VALUE).saturating_add(limits::MANY_MSGPACK_VALUES);
    Reader { data, at: 0, left: left.min(limits::MAX_METADATA_VALUES) }.value(0)
}

/// Returns how many items a list takes memory for at first: a million short ones none that they do not need, and one of a
/// forged length, which ends with the data, not much.
fn reserved(len: u64) -> usize {
    const MOST: u64 = 64;
    usize::try_from(len.min(MOST)).unwrap_or(0)
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
    /// Values that there may yet be.
    left: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value<'a>> {
        if depth > limits::MAX_METADATA_DEPTH {
            return Err(self.error("is nested too deep"));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| self.error("is one too many"))?;
        let kind = self.take(1)?.first().copied().unwrap_or(0xc1);
        Ok(match kind {
            0x00..=0x7f => Value::Number(u64::from(kind)),
            0x80..=0x8f => self.map(u64::from(kind & 15), depth)?,
            0x90..=0x9f => self.array(u64::from(kind & 15), depth)?,
            0xa0..=0xbf => self.text(u64::from(kind & 31))?,
            0xc0 => Value::Other,
            0xc2 | 0xc3 => Value::Bool(kind == 0xc3),
            0xc4..=0xc6 => {
                let len = self.number(1 << (kind - 0xc4))?;
                self.skip(len)?
            }
            0xca => self.skip(4)?,
            0xcb => self.skip(8)?,
            0xcc..=0xcf => Value::Number(self.number(1 << (kind - 0xcc))?),
            0xd0..=0xd3 => {
                let width = 1usize << (kind - 0xd0);
                let number = self.number(width)?;
                let negative = number >> (width * 8 - 1) & 1 == 1;
                Value::Number(if negative { 0 } else { number })
            }
            0xd9..=0xdb => {
                let len = self.number(1 << (kind - 0xd9))?;
                self.text(len)?
            }
            0xdc | 0xdd => {
                let len = self.number(2 << (kind - 0xdc))?;
                self.array(len, depth)?
            }
            0xde | 0xdf => {
                let len = self.number(2 << (kind - 0xde))?;
                self.map(len, depth)?
            }
            0xe0..=0xff => Value::Number(0),
            _ => return Err(self.error("is of an unknown type")),
        })
    }

    fn array(&mut self, len: u64, depth: usize) -> Result<Value<'a>> {
        let mut items = Vec::with_capacity(reserved(len));
        for _ in 0..len {
            items.push(self.value(depth.saturating_add(1))?);
        }
        Ok(Value::Array(items.into()))
    }

    fn map(&mut self, len: u64, depth: usize) -> Result<Value<'a>> {
        let mut entries = Vec::with_capacity(reserved(len));
        for _ in 0..len {
            let key = self.value(depth.saturating_add(1))?;
            let value = self.value(depth.saturating_add(1))?;
            if let Value::Text(key) = key {
                entries.push((key, value));
            }
        }
        Ok(Value::Map(entries.into()))
    }

    fn text(&mut self, len: u64) -> Result<Value<'a>> {
        let bytes = self.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        std::str::from_utf8(bytes).map(Value::Text).map_err(|_| self.error("is text that is not UTF-8"))
    }

    fn skip(&mut self, len: u64) -> Result<Value<'a>> {
        self.take(usize::try_from(len).unwrap_or(usize::MAX)).map(|_| Value::Other)
    }

    /// A big-endian number of that many bytes.
    fn number(&mut self, width: usize) -> Result<u64> {
        Ok(self.take(width)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let bytes = bytes::slice_at(self.data, self.at, len).ok_or_else(|| self.error("is cut short"))?;
        self.at = self.at.saturating_add(len);
        Ok(bytes)
    }

    #[cold]
    fn error(&self, what: &str) -> Error {
        Error::at(self.at as u64, format!("a value of the metadata {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_widths() {
        let data = b"\x85\xa1a\xcd\x01\x00\xa1b\x92\xc3\xff\xa1c\xd9\x02hi\xa1d\xcb12345678\xa1e\xde\x00\x00";
        let value = read(data).unwrap();
        assert_eq!(value.number("a"), Some(256));
        assert_eq!(value.items("b"), [Value::Bool(true), Value::Number(0)]);
        assert_eq!(value.text("c"), Some("hi"));
        assert_eq!(value.get("d"), Some(&Value::Other));
        assert_eq!(value.get("e"), Some(&Value::Map(Box::default())));
    }

    #[test]
    fn damage_has_a_place() {
        assert_eq!(read(b"\x81\xa1a").unwrap_err().offset(), Some(3));
        assert_eq!(read(b"\xdd\xff\xff\xff\xff\x01").unwrap_err().offset(), Some(6));
        assert_eq!(read(b"\xc1").unwrap_err().offset(), Some(1));
        let nils = |count: usize| [&[0xdd][..], &(count as u32).to_be_bytes(), &vec![0xc0; count]].concat();
        assert!(read(&nils(limits::MANY_MSGPACK_VALUES)).is_ok());
        assert!(read(&nils(limits::MANY_MSGPACK_VALUES * 3)).unwrap_err().to_string().contains("one too many"));
        assert!(read(&[0x91; 200]).unwrap_err().to_string().contains("deep"));
    }
}
