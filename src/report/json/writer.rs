//! How does a value become JSON text?
//!
//! Libraries hold thousands of images, and nine tenths of what is said of them are names that need no escapes: a
//! string is looked through once, many bytes at a time, and copied. (`serde_json` looks at byte after byte.)

use serde::Serialize;
use serde::ser::{self, Impossible, Serializer};
use std::fmt::{self, Display, Write as _};
use std::io;

/// Bytes of text after which [`write`] hands over what it has.
const PIECE: usize = 64 << 10;

/// The name by which [`Gap`] is known to the writer.
const GAP: &str = "$sycl_bundle::gap";

/// A value that is left out, so that what belongs there can be written piece by piece.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Gap;

impl Serialize for Gap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(GAP, &())
    }
}

/// Appends a value.
pub(in crate::report) fn push(out: &mut String, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    if value.serialize(&mut Writer { out, gaps: Vec::new(), drain: None }).is_err() {
        // No value of a document can fail; were there one, the document would still be JSON.
        out.truncate(start);
        out.push_str("null");
    }
}

/// The text of a value.
pub(in crate::report) fn text(value: &(impl Serialize + ?Sized)) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

/// Writes a value piece by piece, so that the text of many members is never held whole.
///
/// # Errors
/// Errors of the writer.
pub(in crate::report) fn write(to: &mut impl io::Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    let (mut out, mut failed) = (String::new(), None);
    let mut hand_over = |text: &str| {
        failed = to.write_all(text.as_bytes()).err();
        failed.is_none()
    };
    // No value of a document can fail, so what fails is the writer.
    let _ = value.serialize(&mut Writer { out: &mut out, gaps: Vec::new(), drain: Some(&mut hand_over) });
    match failed {
        Some(error) => Err(error),
        None => to.write_all(out.as_bytes()),
    }
}

/// The texts between the [`Gap`]s in a value: of a value with one gap, what stands before and behind it.
pub(in crate::report) fn split<const PARTS: usize>(value: &impl Serialize) -> [String; PARTS] {
    let mut text = String::new();
    let mut writer = Writer { out: &mut text, gaps: Vec::new(), drain: None };
    // No value of a document can fail.
    let _ = value.serialize(&mut writer);
    let gaps = writer.gaps;
    let mut parts = [const { String::new() }; PARTS];
    for (part, gap) in parts.iter_mut().skip(1).rev().zip(gaps.into_iter().rev()) {
        *part = text.split_off(gap);
    }
    if let Some(first) = parts.first_mut() {
        *first = text;
    }
    parts
}

/// Writes values as `serde_json` does without spaces.
struct Writer<'o> {
    out: &'o mut String,
    /// Positions of the [`Gap`]s in `out`, in bytes.
    gaps: Vec<usize>,
    /// Takes `out` between members, once it is long; tells whether it could.
    drain: Option<&'o mut (dyn FnMut(&str) -> bool + 'o)>,
}

impl Writer<'_> {
    /// Hands over a long text. It is for between members: within a value the text may be looked at again.
    #[inline]
    fn hand_over(&mut self) -> Result<(), Refused> {
        match &mut self.drain {
            Some(drain) if self.out.len() >= PIECE => {
                let taken = drain(self.out);
                self.out.clear();
                if taken { Ok(()) } else { Err(Refused(String::new())) }
            }
            _ => Ok(()),
        }
    }
}

/// The reason why a value cannot be written.
#[derive(Debug)]
struct Refused(String);

impl Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Refused(message.to_string())
    }
}

/// The members of an array or an object.
struct Members<'w, 'o> {
    writer: &'w mut Writer<'o>,
    empty: bool,
    close: char,
}

impl<'w, 'o> Members<'w, 'o> {
    fn open(writer: &'w mut Writer<'o>, open: char, close: char) -> Self {
        writer.out.push(open);
        Members { writer, empty: true, close }
    }

    #[inline]
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.writer.hand_over()?;
        if !std::mem::take(&mut self.empty) {
            self.writer.out.push(',');
        }
        value.serialize(&mut *self.writer)
    }

    /// Adds a member whose name needs no escapes.
    #[inline]
    fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Refused> {
        self.writer.hand_over()?;
        self.writer.out.push_str(if std::mem::take(&mut self.empty) { "\"" } else { ",\"" });
        self.writer.out.push_str(name);
        self.writer.out.push_str("\":");
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.out.push(self.close);
    }
}

impl<'w, 'o> Serializer for &'w mut Writer<'o> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Members<'w, 'o>;
    type SerializeTuple = Members<'w, 'o>;
    type SerializeMap = Members<'w, 'o>;
    type SerializeStruct = Members<'w, 'o>;
    // Documents have none of these.
    type SerializeTupleStruct = Impossible<(), Refused>;
    type SerializeTupleVariant = Impossible<(), Refused>;
    type SerializeStructVariant = Impossible<(), Refused>;

    fn serialize_bool(self, value: bool) -> Result<(), Refused> {
        self.out.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Refused> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Refused> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Refused> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Refused> {
        write!(self.out, "{value}").map_err(ser::Error::custom)
    }

    fn serialize_u8(self, value: u8) -> Result<(), Refused> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Refused> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Refused> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Refused> {
        push_number(value, self.out);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Refused> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Refused> {
        // JSON has no infinities and no NaN.
        match serde_json::Number::from_f64(value) {
            Some(number) => write!(self.out, "{number}").map_err(ser::Error::custom),
            None => self.serialize_unit(),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), Refused> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Refused> {
        self.out.push('"');
        if is_plain(value) {
            self.out.push_str(value);
        } else {
            escape(value, self.out);
        }
        self.out.push('"');
        Ok(())
    }

    /// Writes a text where it is to stand, without a copy of it.
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Refused> {
        self.out.push('"');
        let start = self.out.len();
        write!(self.out, "{value}").map_err(ser::Error::custom)?;
        if !self.out.get(start..).is_none_or(is_plain) {
            let text = self.out.split_off(start);
            escape(&text, self.out);
        }
        self.out.push('"');
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Refused> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Refused> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Refused> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Refused> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), Refused> {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), Refused> {
        if name == GAP {
            self.gaps.push(self.out.len());
            return Ok(());
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        let mut members = Members::open(self, '{', '}');
        members.member(name, value)?;
        members.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'w, 'o>, Refused> {
        Ok(Members::open(self, '[', ']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'w, 'o>, Refused> {
        Ok(Members::open(self, '[', ']'))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'w, 'o>, Refused> {
        Ok(Members::open(self, '{', '}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'w, 'o>, Refused> {
        Ok(Members::open(self, '{', '}'))
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Refused> {
        Err(Refused(format!("{name} is a structure without names")))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Refused> {
        Err(Refused(format!("{name} is a variant without names")))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Refused> {
        Err(Refused(format!("{name} is a variant with fields")))
    }
}

/// Arrays, whether their length is known or not.
macro_rules! write_elements {
    ($($kind:ident)*) => {
        $(impl ser::$kind for Members<'_, '_> {
            type Ok = ();
            type Error = Refused;

            fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
                self.item(value)
            }

            fn end(self) -> Result<(), Refused> {
                self.close();
                Ok(())
            }
        })*
    };
}

write_elements!(SerializeSeq SerializeTuple);

impl ser::SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Refused;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Refused> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), Refused> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Refused;

    /// Keys of documents are strings.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.item(key)?;
        self.writer.out.push(':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Refused> {
        self.close();
        Ok(())
    }
}

/// Appends a number's decimal digits.
fn push_number(number: u64, out: &mut String) {
    let mut digits = [0u8; 20];
    let mut rest = number;
    let mut used = 0usize;
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.saturating_add((rest % 10) as u8);
        rest /= 10;
        used = used.saturating_add(1);
        if rest == 0 {
            break;
        }
    }
    out.extend(digits.iter().rev().take(used).rev().map(|&digit| char::from(digit)));
}

/// Whether a text stands in JSON as it is.
fn is_plain(text: &str) -> bool {
    // Without a branch per byte, so that the compiler looks at many at once.
    text.bytes().fold(true, |plain, byte| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\'))
}

#[cold]
fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_serde_json_writes_them() {
        let every: String = (0..0x180).filter_map(char::from_u32).collect();
        for start in 0..every.chars().count() {
            let string: String = every.chars().skip(start).take(40).collect();
            assert_eq!(text(&string), serde_json::to_string(&string).unwrap());
        }
        for number in [0, 1, 9, 10, 11, 99, 100, 101, 12_345, 1_000_000, u64::MAX / 10, u64::MAX - 1, u64::MAX] {
            assert_eq!(text(&number), number.to_string());
        }
        for number in [0.0, -0.5, 1.0, 1e300, 0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(text(&number), serde_json::to_string(&number).unwrap());
        }
        assert_eq!(text(&format_args!("{}\"{}", 1, "ü\n")), "\"1\\\"ü\\n\"");
        let nested = json!({ "a\n": null, "b": [1, -2, [], {}], "c": { "d": true, "e": "x" }, "f": 1.5 });
        assert_eq!(text(&nested), nested.to_string());
    }

    #[test]
    fn a_long_text_is_handed_over_in_pieces() {
        struct Pieces(Vec<String>);
        impl io::Write for Pieces {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if self.0.len() >= 20 {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                self.0.push(String::from_utf8(bytes.to_vec()).unwrap());
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut value =
            json!({ "list": (0..60_000).collect::<Vec<u32>>(), "map": { "name": "x".repeat(PIECE) }, "end": 1 });
        let mut pieces = Pieces(Vec::new());
        write(&mut pieces, &value).unwrap();
        assert!(pieces.0.len() > 4 && pieces.0.iter().all(|piece| piece.len() < 2 * PIECE));
        assert_eq!(pieces.0.concat(), text(&value));
        value["list"] = (0..1_000_000).collect();
        let error = write(&mut Pieces(Vec::new()), &value).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn gaps_part_what_stands_around_them() {
        #[derive(Serialize)]
        struct Document<L> {
            before: u32,
            list: L,
            after: Option<&'static str>,
        }
        let [head, tail] = split(&Document { before: 1, list: Gap, after: None });
        assert_eq!((&*head, &*tail), ("{\"before\":1,\"list\":", ",\"after\":null}"));
        assert_eq!(head + "[]" + &tail, text(&Document { before: 1, list: [0u8; 0], after: None }));
        let [one, two, three] = split(&Document { before: 1, list: (Gap, 2, Gap), after: None });
        assert_eq!((&*one, &*two, &*three), ("{\"before\":1,\"list\":[", ",2,", "],\"after\":null}"));
    }
}
