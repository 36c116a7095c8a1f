//! How is a kernel called in the source, and how is that shown in little space?

use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;

/// The name as the source has it. Kernel names are mangled type names (`_ZTS...`): the type itself is shown.
/// Names that are not mangled stay as they are.
pub fn demangle(mangled: &str) -> Cow<'_, str> {
    if !mangled.starts_with("_Z") {
        return Cow::Borrowed(mangled);
    }
    let demangled =
        Symbol::new(mangled).ok().and_then(|symbol| symbol.demangle_with_options(&DemangleOptions::new()).ok());
    match demangled {
        Some(name) => match name.strip_prefix("typeinfo name for ") {
            Some(kernel) => Cow::Owned(kernel.to_owned()),
            None => Cow::Owned(name),
        },
        None => Cow::Borrowed(mangled),
    }
}

/// A text of at most `width` characters: the middle gives way to `…`.
pub fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= width {
        return Cow::Borrowed(text);
    }
    let kept = width.saturating_sub(1);
    let head = kept.div_ceil(2);
    let tail = kept.saturating_sub(head);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count.saturating_sub(tail)).collect();
    Cow::Owned(format!("{start}…{end}"))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where bytes of a file stand, in the form that ROCm and LLVM tools take: `file://PATH#offset=N&size=N`.
pub fn uri(absolute: &str, offset: u64, size: usize) -> String {
    let mut uri = String::from("file://");
    for byte in absolute.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'+' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str(&format!("#offset={offset}&size={size}"));
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_are_types() {
        assert_eq!(demangle("_ZTSN4dpnp3addIfEE"), "dpnp::add<float>");
        assert_eq!(demangle("_Z18free_function_iotai"), "free_function_iota(int)");
        assert_eq!(demangle("plain"), "plain");
        assert_eq!(demangle("_Zgarbage"), "_Zgarbage");
    }

    #[test]
    fn a_uri_escapes_what_would_end_it() {
        assert_eq!(uri("/a b/c#.so", 16, 4), "file:///a%20b/c%23.so#offset=16&size=4");
    }

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghij", 7), "abc…hij");
        assert_eq!(shorten("äöüäöü", 3), "ä…ü");
        assert_eq!(shorten("abc", 0), "…");
    }
}
