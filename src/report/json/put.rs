//! How does a value become JSON text?
//!
//! Libraries hold thousands of images, and nine tenths of what is said of them are names that need no escapes: a
//! string is looked through once, many bytes at a time, and copied. (`serde_json` looks at byte after byte.)

use std::borrow::Cow;

/// A value that can append itself to JSON text.
pub(in crate::report) trait Put {
    fn put(&self, out: &mut String);
}

impl<T: Put + ?Sized> Put for &T {
    fn put(&self, out: &mut String) {
        T::put(self, out);
    }
}

impl Put for str {
    fn put(&self, out: &mut String) {
        out.push('"');
        if is_plain(self) {
            out.push_str(self);
        } else {
            escape(self, out);
        }
        out.push('"');
    }
}

impl Put for String {
    fn put(&self, out: &mut String) {
        self.as_str().put(out);
    }
}

impl Put for Cow<'_, str> {
    fn put(&self, out: &mut String) {
        self.as_ref().put(out);
    }
}

impl Put for bool {
    fn put(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Put for u64 {
    fn put(&self, out: &mut String) {
        push_number(*self, out);
    }
}

impl Put for u32 {
    fn put(&self, out: &mut String) {
        push_number(u64::from(*self), out);
    }
}

impl Put for usize {
    fn put(&self, out: &mut String) {
        push_number(*self as u64, out);
    }
}

impl<T: Put> Put for Option<T> {
    fn put(&self, out: &mut String) {
        match self {
            Some(value) => value.put(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Put> Put for [T] {
    fn put(&self, out: &mut String) {
        List(self.iter()).put(out);
    }
}

impl<T: Put> Put for Vec<T> {
    fn put(&self, out: &mut String) {
        self.as_slice().put(out);
    }
}

/// An array of what an iterator gives.
pub(in crate::report) struct List<I>(pub I);

impl<I: Iterator<Item: Put> + Clone> Put for List<I> {
    fn put(&self, out: &mut String) {
        out.push('[');
        for (at, item) in self.0.clone().enumerate() {
            if at > 0 {
                out.push(',');
            }
            item.put(out);
        }
        out.push(']');
    }
}

/// A value that a function appends.
pub(in crate::report) struct With<F>(pub F);

impl<F: Fn(&mut String)> Put for With<F> {
    fn put(&self, out: &mut String) {
        (self.0)(out);
    }
}

/// An object whose fields are appended one by one.
pub(in crate::report) struct Object<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> Object<'o> {
    pub(in crate::report) fn open(out: &'o mut String) -> Self {
        out.push('{');
        Object { out, empty: true }
    }

    /// Appends a field of a name that needs no escapes.
    pub(in crate::report) fn field(&mut self, name: &'static str, value: impl Put) {
        self.out.push_str(if std::mem::take(&mut self.empty) { "\"" } else { ",\"" });
        self.out.push_str(name);
        self.out.push_str("\":");
        value.put(self.out);
    }

    /// Appends a field of any name.
    pub(in crate::report) fn entry(&mut self, name: &str, value: impl Put) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        name.put(self.out);
        self.out.push(':');
        value.put(self.out);
    }

    pub(in crate::report) fn close(self) {
        self.out.push('}');
    }
}

/// Appends a number's decimal digits.
pub(in crate::report) fn push_number(number: u64, out: &mut String) {
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

    fn text(value: impl Put) -> String {
        let mut out = String::new();
        value.put(&mut out);
        out
    }

    /// Judged by serde_json, which wrote this form before.
    #[test]
    fn strings_and_numbers_are_written_as_serde_json_writes_them() {
        let every: String = (0..0x180).filter_map(char::from_u32).collect();
        for start in 0..every.chars().count() {
            let string: String = every.chars().skip(start).take(40).collect();
            assert_eq!(text(&string), serde_json::to_string(&string).unwrap());
        }
        for number in [0, 1, 9, 10, 11, 99, 100, 101, 12_345, 1_000_000, u64::MAX / 10, u64::MAX - 1, u64::MAX] {
            assert_eq!(text(number), number.to_string());
        }
    }

    #[test]
    fn objects_and_lists() {
        let mut out = String::new();
        let mut object = Object::open(&mut out);
        object.entry("a\n", Option::<u32>::None);
        object.field("b", [1u32, 2].as_slice());
        object.field("c", Vec::<u32>::new());
        object.field("d", With(|out: &mut String| Object::open(out).close()));
        object.field("e", List([true, false].into_iter()));
        object.close();
        assert_eq!(out, r#"{"a\n":null,"b":[1,2],"c":[],"d":{},"e":[true,false]}"#);
    }
}
