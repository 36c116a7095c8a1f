//! What is a mangled name in the source?
//!
//! Nearly all kernels are named after classes: nested names, template arguments, literals, and references to what stood
//! before (Itanium C++ ABI, section 5.1). That part of the grammar is written here as it is read, with nothing built in
//! between, about ten times as fast as `cpp_demangle` does it; libraries hold thousands of names. What else there is in
//! a name ends the attempt, and `cpp_demangle` takes the whole. Where both can, the text is the same, byte for byte.

use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;
use std::fmt;

/// Returns the name as the source has it. Kernel names are mangled type names (`_ZTS...`): of these it is the type itself.
/// Names that are not mangled stay as they are.
pub fn demangle(mangled: &str) -> Cow<'_, str> {
    if !mangled.starts_with("_Z") {
        return Cow::Borrowed(mangled);
    }
    // Most names are of the plain sort.
    if let Some(kernel) = mangled.strip_prefix("_ZTS") {
        let mut name = String::with_capacity(mangled.len().saturating_mul(2));
        if push(kernel, &mut name) {
            return Cow::Owned(name);
        }
    }
    let most = LONGEST.saturating_add(mangled.len().saturating_mul(8));
    let mut written = Bounded { out: String::new(), most };
    let symbol = Symbol::new(mangled).ok();
    let demangled = symbol.and_then(|symbol| symbol.structured_demangle(&mut written, &DemangleOptions::new()).ok());
    match demangled.map(|()| written.out) {
        Some(name) => match name.strip_prefix("typeinfo name for ") {
            Some(kernel) => Cow::Owned(kernel.to_owned()),
            None => Cow::Owned(name),
        },
        None => Cow::Borrowed(mangled),
    }
}

/// Levels of recursion that a name may take. `cpp_demangle` stops at 96 while it reads and at 128 while it writes; a name
/// that may come near is left to it, so that both refuse the same names.
const LEVELS: u32 = 80;
/// Bytes that a name may come to: references to references can multiply it.
const LONGEST: usize = 1 << 15;

/// Text of at most so many bytes.
struct Bounded {
    out: String,
    most: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.most.saturating_sub(self.out.len()) {
            return Err(fmt::Error);
        }
        self.out.push_str(text);
        Ok(())
    }
}

/// A part of the text that can be referred to.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    /// Levels of recursion that it takes to write.
    levels: u32,
}

struct Reader<'m, 'o> {
    rest: &'m [u8],
    out: &'o mut String,
    parts: Vec<Part>,
}

/// Appends the type that is mangled as `mangled`; false, and nothing appended, where it is not plain.
fn push(mangled: &str, out: &mut String) -> bool {
    let start = out.len();
    let mut reader = Reader { rest: mangled.as_bytes(), out, parts: Vec::with_capacity(16) };
    let whole = reader.class(0).is_some() && reader.rest.is_empty();
    if !whole {
        out.truncate(start);
    }
    whole
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Passes over a byte.
    fn take(&mut self, wanted: u8) -> Option<()> {
        let (&first, rest) = self.rest.split_first()?;
        (first == wanted).then(|| self.rest = rest)
    }

    /// Makes the text from `start` on a part that can be referred to; returns its levels.
    fn part(&mut self, start: usize, levels: u32) -> Option<u32> {
        let end = self.out.len();
        if levels > LEVELS || end > LONGEST.saturating_add(start) {
            return None;
        }
        self.parts.push(Part { start, end, levels });
        Some(levels)
    }

    /// Reads a type that is nested in `above` levels; returns the levels that it takes itself.
    fn any(&mut self, above: u32) -> Option<u32> {
        match builtin(self.peek()?) {
            Some(name) => {
                self.out.push_str(name);
                self.rest = self.rest.get(1..)?;
                Some(4)
            }
            None => self.class(above),
        }
    }

    /// Reads a class, with the scopes and arguments that name it.
    fn class(&mut self, above: u32) -> Option<u32> {
        if above > LEVELS {
            return None;
        }
        let start = self.out.len();
        let levels = match (self.peek()?, self.rest.get(1)) {
            (b'N', _) => {
                self.take(b'N')?;
                self.nested(above)?
            }
            (b'S', Some(b't')) => {
                self.rest = self.rest.get(2..)?;
                self.out.push_str("std::");
                self.named(start, above)?
            }
            (b'S', _) => return self.reference(),
            _ => self.named(start, above)?,
        };
        self.part(start, levels.saturating_add(6))
    }

    /// Reads a name that is nested in nothing but `std`, with its template arguments.
    fn named(&mut self, start: usize, above: u32) -> Option<u32> {
        self.identifier()?;
        if self.peek() != Some(b'I') {
            return Some(6);
        }
        let levels = self.part(start, 6)?;
        self.arguments(above).map(|inner| inner.max(levels))
    }

    /// Reads the rest of a nested name.
    fn nested(&mut self, above: u32) -> Option<u32> {
        let start = self.out.len();
        let mut levels = 6u32;
        if self.peek()? == b'S' {
            if self.rest.get(1) == Some(&b't') {
                self.rest = self.rest.get(2..)?;
                self.out.push_str("std");
            } else {
                levels = self.reference()?;
            }
            self.out.push_str("::");
        }
        self.identifier()?;
        loop {
            levels = levels.saturating_add(3);
            let next = self.peek()?;
            if next == b'E' {
                self.take(b'E')?;
                return Some(levels);
            }
            self.part(start, levels)?;
            if next == b'I' {
                levels = levels.max(self.arguments(above)?).saturating_add(3);
                if self.peek()? == b'E' {
                    self.take(b'E')?;
                    return Some(levels);
                }
                self.part(start, levels)?;
            }
            self.out.push_str("::");
            self.identifier()?;
        }
    }

    /// Reads template arguments.
    fn arguments(&mut self, above: u32) -> Option<u32> {
        let above = above.saturating_add(10);
        self.take(b'I')?;
        self.out.push('<');
        let mut levels = 0;
        loop {
            let taken = if self.peek()? == b'L' { self.literal(above) } else { self.any(above) };
            levels = levels.max(taken?);
            if self.peek()? == b'E' {
                break;
            }
            self.out.push_str(", ");
        }
        self.take(b'E')?;
        self.out.push_str(if self.out.ends_with('>') { " >" } else { ">" });
        Some(levels.saturating_add(6))
    }

    /// Reads a number of some type.
    fn literal(&mut self, above: u32) -> Option<u32> {
        self.take(b'L')?;
        let mut levels = 6u32;
        match (self.peek()?, self.rest.get(1)?) {
            // Floating-point numbers have a form of their own.
            (b'f' | b'd' | b'v', _) => return None,
            (b'b', digit) => {
                self.out.push_str(match digit {
                    b'0' => "false",
                    b'1' => "true",
                    _ => return None,
                });
                self.rest = self.rest.get(2..)?;
                return self.take(b'E').map(|()| levels);
            }
            (b'i', _) => self.take(b'i')?,
            _ => {
                self.out.push('(');
                levels = levels.saturating_add(self.any(above)?);
                self.out.push(')');
            }
        }
        if self.peek()? == b'n' {
            self.take(b'n')?;
            self.out.push('-');
        }
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at_checked(digits).filter(|_| digits > 0)?;
        self.out.push_str(std::str::from_utf8(number).ok()?);
        self.rest = rest;
        self.take(b'E').map(|()| levels)
    }

    /// `<length><name>`.
    fn identifier(&mut self) -> Option<()> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, rest) = self.rest.split_at_checked(digits).filter(|_| (1..6).contains(&digits))?;
        if length.first() == Some(&b'0') {
            return None;
        }
        let length = length.iter().fold(0usize, |sum, digit| sum * 10 + usize::from(digit - b'0'));
        let (name, rest) = rest.split_at_checked(length)?;
        // Anonymous namespaces have names that begin so.
        let plain = name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !plain || name.first()?.is_ascii_digit() || name.starts_with(b"_GLOBAL_") {
            return None;
        }
        self.out.push_str(std::str::from_utf8(name).ok()?);
        self.rest = rest;
        // An ABI tag follows the name it belongs to.
        (self.peek() != Some(b'B')).then_some(())
    }

    /// `S_`, `S0_`, `S1_`, ...: a part, by its number in base 36 and one more.
    fn reference(&mut self) -> Option<u32> {
        self.take(b'S')?;
        let end = self.rest.iter().take(3).position(|&byte| byte == b'_')?;
        let (number, rest) = self.rest.split_at_checked(end)?;
        let number = match std::str::from_utf8(number).ok()? {
            "" => 0,
            text if text.bytes().any(|byte| byte.is_ascii_lowercase()) => return None,
            text if text.len() > 1 && text.starts_with('0') => return None,
            text => usize::from_str_radix(text, 36).ok()?.checked_add(1)?,
        };
        let part = self.parts.get(number).copied()?;
        self.rest = rest.get(1..)?;
        self.out.extend_from_within(part.start..part.end);
        // As the name of a template it would be read another way.
        (self.peek() != Some(b'I')).then_some(part.levels.saturating_add(2))
    }
}

/// The name of a type that has a letter of its own.
fn builtin(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'v' => "void",
        b'w' => "wchar_t",
        b'b' => "bool",
        b'c' => "char",
        b'a' => "signed char",
        b'h' => "unsigned char",
        b's' => "short",
        b't' => "unsigned short",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b'f' => "float",
        b'd' => "double",
        b'e' => "long double",
        b'g' => "__float128",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    /// Written out, the name would have 2^40 letters.
    #[test]
    fn a_name_that_doubles_by_references_stays_as_it_is() {
        let doubled = (2..40)
            .map(|at| format!("S0_IS{0}_S{0}_E", char::from_digit(at - 1, 36).unwrap_or('Z').to_ascii_uppercase()));
        let name = |levels: usize| format!("_Z1f1a1bIS_S_E{}", doubled.clone().take(levels).collect::<String>());
        let whole = name(3);
        assert!(demangle(&whole).starts_with("f(a, b<a, a>"), "{}", demangle(&whole));
        let long = name(30);
        assert_eq!(demangle(&long), long);
    }

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernel_names_are_types() {
        assert_eq!(demangle("_ZTSN4dpnp3addIfEE"), "dpnp::add<float>");
        assert_eq!(demangle("_Z18free_function_iotai"), "free_function_iota(int)");
        assert_eq!(demangle("plain"), "plain");
        assert_eq!(demangle("_Zgarbage"), "_Zgarbage");
    }

    fn ours(mangled: &str) -> Option<String> {
        let mut out = "before ".to_owned();
        let whole = push(mangled, &mut out);
        assert!(whole || out == "before ");
        whole.then(|| out.split_off(7))
    }

    fn theirs(mangled: &str) -> Option<String> {
        let symbol = cpp_demangle::Symbol::new(format!("_ZTS{mangled}")).ok()?;
        symbol.demangle().ok()?.strip_prefix("typeinfo name for ").map(str::to_owned)
    }

    /// Checks that names read here are read as `cpp_demangle` reads them.
    fn agree(mangled: &str) -> bool {
        let ours = ours(mangled);
        if ours.is_some() {
            assert_eq!(ours, theirs(mangled), "{mangled}");
        }
        ours.is_some()
    }

    #[test]
    fn each_letter_and_each_literal() {
        // A digit would begin a name.
        for letter in (0..128u8).map(char::from).filter(|letter| !letter.is_ascii_digit()) {
            let known = builtin(letter as u8).is_some();
            assert_eq!(agree(&format!("1aI{letter}S_E")), known, "{letter}");
            for value in ["0", "1", "2", "n1", "40000000000", "x", ""] {
                agree(&format!("N1a1bIL{letter}{value}EEE"));
            }
        }
        assert!(agree("N1a1bILi7ELin7ELb1ELm3ELN1c1dE1EEE"));
    }

    #[test]
    fn references_count_what_can_be_referred_to() {
        for number in ["", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "Z", "10", "a", "01", "0A"] {
            agree(&format!("N1a1b1cIN1d1eIiE1fESt1gIfESt1h1iE1jINS{number}_1kEE1lE"));
            agree(&format!("N1a1b1cIN1d1eIiE1fESt1gIfESt1h1iES{number}_EE"));
        }
        assert!(agree("N1a1bINS_1cES0_IiEEE") || theirs("N1a1bINS_1cES0_IiEEE").is_some());
    }

    /// The bound on levels is below those of `cpp_demangle`, whatever they are spent on.
    #[test]
    fn what_is_too_deep_is_refused_first() {
        let forms: [fn(usize) -> String; 4] = [
            |depth| format!("{}i{}", "1aI".repeat(depth), "E".repeat(depth)),
            |depth| format!("{}i{}", "N1a1bI".repeat(depth), "EE".repeat(depth)),
            |depth| format!("N{}E", "1a".repeat(depth)),
            |depth| format!("N1a{}E", "1bIiE".repeat(depth)),
        ];
        for form in forms {
            let taken = (1..100).take_while(|&depth| agree(&form(depth))).count();
            assert!((3..90).contains(&taken), "{taken}");
        }
        // Each argument refers to the one before.
        let chain = |depth: usize| {
            let links = (0..depth).map(|at| match at {
                0 => "N1a1bE".to_owned(),
                // Parts: x, a, a::b, a::b::c1, ...
                _ => format!("NS{}_1cE", std::char::from_digit(at as u32, 36).unwrap().to_ascii_uppercase()),
            });
            format!("1xI{}E", links.collect::<String>())
        };
        assert!((1..30).take_while(|&depth| agree(&chain(depth))).count() > 3);
    }

    fn types() -> impl Strategy<Value = String> {
        let leaf =
            prop_oneof!["[abcdefghijlmnostvwxy]", "[1-3][a-z_]{3}", "S[0-9A]?_", "St3abc", "L[abhijlmst]n?[0-9]E"];
        leaf.prop_recursive(5, 60, 5, |inner| {
            let arguments = prop::collection::vec(inner, 1..5).prop_map(|parts| format!("I{}E", parts.concat()));
            let start = prop_oneof!["", "S[0-9A]?_", "St"];
            let names = prop::collection::vec(prop_oneof![Just("1a"), Just("2bc"), Just("1d"), Just("4_V1x")], 1..5);
            (any::<bool>(), start, names, prop::option::of(arguments.clone()), prop::option::of(arguments)).prop_map(
                |(nested, start, names, within, after)| {
                    let (within, after) = (within.unwrap_or_default(), after.unwrap_or_default());
                    if nested {
                        format!("N{start}{}{within}{}{after}E", names[0], names[1..].concat())
                    } else {
                        format!("{}{}{after}", if start == "St" { "St" } else { "" }, names[0])
                    }
                },
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn made_up_types_read_the_same(mangled in types()) {
            agree(&mangled);
        }

        #[test]
        fn damaged_types_read_the_same(mangled in types(), at in any::<prop::sample::Index>(), with in "[A-Z0-9_a-z]{0,2}") {
            let (head, tail) = mangled.split_at(at.index(mangled.len()));
            agree(&format!("{head}{with}{}", tail.get(1..).unwrap_or_default()));
            agree(&format!("{head}{with}{tail}"));
        }
    }
}
