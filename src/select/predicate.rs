//! For which images is a condition of the user true?
//!
//! ```text
//! any    = all { ("or" | "||") all }
//! all    = not { ("and" | "&&") not }
//! not    = ("not" | "!") not | "(" any ")" | test
//! test   = FIELD [("=" | "!=" | "<" | "<=" | ">" | ">=") VALUE]
//! ```
//!
//! A value is a word, or is in single or double quotes. `=` and `!=` compare texts by glob, as the other selectors do;
//! of several texts any may match, and `!=` means that none does. The order operators compare numbers and sizes, or the
//! number of texts; so do `=` and `!=` with a value of digits only, where the field is a list. A field alone tests
//! whether it has any value.
//!
//! Fields are named as in `inspect --format json`.

use super::{KernelName, Pattern};
use crate::bytes::{self, hex};
use crate::compat::aspects::shown;
use crate::compat::examine::Examined;
use crate::device::did_you_mean;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::spirv::grammar;
use std::borrow::Cow;

/// Condition on images.
#[derive(Debug, Clone)]
pub struct Predicate {
    text: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Any(Vec<Test>),
    All(Vec<Test>),
    Not(Box<Test>),
    /// Tests whether there is a value.
    Has(Field),
    Number(Number, Order, u64),
    Count(Text, Order, u64),
    Matches(Text, Pattern),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Order {
    fn holds(self, one: u64, other: u64) -> bool {
        match self {
            Order::Equal => one == other,
            Order::Unequal => one != other,
            Order::Less => one < other,
            Order::AtMost => one <= other,
            Order::More => one > other,
            Order::AtLeast => one >= other,
        }
    }
}

impl Predicate {
    /// Reads a condition.
    ///
    /// # Errors
    /// `Usage`, with the position in the text.
    pub fn new(text: &str) -> Result<Predicate> {
        let mut reader = Reader { text, tokens: tokens(text)?, next: 0, depth: 0 };
        let test = reader.any()?;
        match reader.peek() {
            None => Ok(Predicate { text: text.to_owned(), test }),
            Some(token) => Err(reader.wrong(token.at, "here `and`, `or` or the end should be")),
        }
    }

    /// Returns the condition as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the condition is true for an image.
    pub(crate) fn holds(&self, image: &Examined<'_, '_>) -> bool {
        self.test.holds(image)
    }
}

impl Test {
    fn holds(&self, image: &Examined<'_, '_>) -> bool {
        match self {
            Test::Any(tests) => tests.iter().any(|test| test.holds(image)),
            Test::All(tests) => tests.iter().all(|test| test.holds(image)),
            Test::Not(test) => !test.holds(image),
            Test::Has(Field::Number(number)) => number.value(image).is_some(),
            Test::Has(Field::Text(text)) => !text.values(image).is_empty(),
            Test::Number(number, Order::Unequal, value) => number.value(image) != Some(*value),
            Test::Number(number, order, value) => number.value(image).is_some_and(|known| order.holds(known, *value)),
            Test::Count(text, order, value) => order.holds(text.values(image).len() as u64, *value),
            Test::Matches(text, glob) => {
                let matches = |name: &str| match text.is_symbols() {
                    true => glob.matches_kernel(&KernelName::new(name)),
                    false => glob.matches(name),
                };
                text.values(image).iter().any(|name| matches(name))
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    /// Byte offset in the text.
    at: usize,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Bracket or operator.
    Sign(&'static str),
    Word(String),
    /// Quoted word, which is never a keyword.
    Quoted(String),
}

/// Operators and brackets, longer ones first.
const SIGNS: [&str; 13] = ["!=", "<=", ">=", "==", "&&", "||", "=", "<", ">", "!", "(", ")", "~"];

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = if rest.starts_with(char::is_whitespace) {
            at = at.saturating_add(rest.len().saturating_sub(rest.trim_start().len()));
            continue;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Kind::Sign(sign), sign.len())
        } else if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            let inside = rest.get(1..).unwrap_or_default();
            let Some(end) = inside.find(quote) else {
                return Err(wrong(text, at, "this quote does not end"));
            };
            (Kind::Quoted(inside.get(..end).unwrap_or_default().to_owned()), end.saturating_add(2))
        } else {
            // A word ends at any sign, so names with brackets, such as `add(int)`, need quotes.
            let ends = |c: char| c.is_whitespace() || "=!<>()&|~'\"".contains(c);
            let end = rest.find(ends).unwrap_or(rest.len()).max(1);
            (Kind::Word(rest.get(..end).unwrap_or(rest).to_owned()), end)
        };
        tokens.push(Token { at, kind });
        at = at.saturating_add(length);
    }
    Ok(tokens)
}

fn placed(text: &str, at: usize, what: &str) -> Error {
    let column = text.get(..at).unwrap_or(text).chars().count().saturating_add(1);
    Error::new(ErrorKind::Usage, format!("condition `{text}`, column {column}: {what}"))
}

fn wrong(text: &str, at: usize, what: &str) -> Error {
    placed(text, at, what).with_remedy("write it as in 'size > 100KiB and (aspects = fp64 or kernels = *gemm*)'")
}

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.next = self.next.saturating_add(1);
        token
    }

    fn wrong(&self, at: usize, what: &str) -> Error {
        wrong(self.text, at, what)
    }

    /// Consumes the next token if it is that sign or word.
    fn takes(&mut self, sign: &str, word: &str) -> bool {
        let is = match self.peek().map(|token| &token.kind) {
            Some(Kind::Sign(is)) => *is == sign,
            Some(Kind::Word(is)) => is.eq_ignore_ascii_case(word),
            _ => false,
        };
        self.next = self.next.saturating_add(usize::from(is));
        is
    }

    fn any(&mut self) -> Result<Test> {
        let mut tests = vec![self.all()?];
        while self.takes("||", "or") {
            tests.push(self.all()?);
        }
        Ok(Test::Any(tests))
    }

    fn all(&mut self) -> Result<Test> {
        let mut tests = vec![self.not()?];
        while self.takes("&&", "and") {
            tests.push(self.not()?);
        }
        Ok(Test::All(tests))
    }

    fn not(&mut self) -> Result<Test> {
        let at = self.peek().map_or(self.text.len(), |token| token.at);
        self.depth = self.depth.saturating_add(1);
        if self.depth > limits::MAX_CONDITION_DEPTH {
            return Err(self.wrong(at, "brackets and negations are nested too deeply"));
        }
        let test = if self.takes("!", "not") {
            Test::Not(Box::new(self.not()?))
        } else if self.takes("(", "(") {
            let inside = self.any()?;
            if !self.takes(")", ")") {
                return Err(self.wrong(at, "this bracket does not close"));
            }
            inside
        } else {
            self.test()?
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(test)
    }

    fn test(&mut self) -> Result<Test> {
        let field = match self.take() {
            Some(Token { at, kind: Kind::Word(name) }) => match FIELDS.iter().find(|(known, _)| *known == name) {
                Some((_, field)) => *field,
                None => return Err(self.no_field(at, &name)),
            },
            Some(token) => return Err(self.wrong(token.at, "here the name of a field should be")),
            None => return Err(self.wrong(self.text.len(), "a test is missing")),
        };
        let order = match self.peek().map(|token| &token.kind) {
            Some(Kind::Sign("=" | "==" | "~")) => Order::Equal,
            Some(Kind::Sign("!=")) => Order::Unequal,
            Some(Kind::Sign("<")) => Order::Less,
            Some(Kind::Sign("<=")) => Order::AtMost,
            Some(Kind::Sign(">")) => Order::More,
            Some(Kind::Sign(">=")) => Order::AtLeast,
            _ => return Ok(Test::Has(field)),
        };
        self.take();
        let (at, value, quoted) = match self.take() {
            Some(Token { at, kind: Kind::Word(value) }) => (at, value, false),
            Some(Token { at, kind: Kind::Quoted(value) }) => (at, value, true),
            Some(token) => return Err(self.wrong(token.at, "here a value should be; others than words are quoted")),
            None => return Err(self.wrong(self.text.len(), "a value is missing")),
        };
        self.compared(field, order, at, &value, quoted)
    }

    fn compared(&self, field: Field, order: Order, at: usize, value: &str, quoted: bool) -> Result<Test> {
        let number = || {
            bytes::parse_size(value).ok_or_else(|| self.wrong(at, &format!("`{value}` is not {}", bytes::SIZE_FORM)))
        };
        let text = match field {
            Field::Number(number_of) => return Ok(Test::Number(number_of, order, number()?)),
            Field::Text(text) => text,
        };
        let counts = text.is_list() && !quoted && value.bytes().all(|byte| byte.is_ascii_digit());
        match order {
            Order::Equal | Order::Unequal if !counts => {
                let test = Test::Matches(text, Pattern::new(value).map_err(|error| self.wrong(at, &error.message()))?);
                Ok(if order == Order::Equal { test } else { Test::Not(Box::new(test)) })
            }
            _ if text.is_list() => Ok(Test::Count(text, order, number()?)),
            _ => Err(self.wrong(at, "a text has no order; compare it with = or !=")),
        }
    }

    fn no_field(&self, at: usize, name: &str) -> Error {
        let names = || FIELDS.iter().map(|(name, _)| *name);
        let remedy = match did_you_mean(&name.to_lowercase().replace('-', "_"), names()) {
            Some(near) => near,
            None => format!("fields are {}", names().collect::<Vec<_>>().join(", ")),
        };
        placed(self.text, at, &format!("there is no field `{name}`")).with_remedy(remedy)
    }
}

/// Fact that a predicate names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// Number or size in bytes.
    Number(Number),
    /// Texts, any of which may match. Compared with a number, it is the number of texts.
    Text(Text),
}

/// Numeric facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Index of the image.
    Index,
    /// Size of the inflated payload in bytes.
    Size,
    /// Size of the stored payload in bytes.
    StoredSize,
    /// File offset of the payload.
    Offset,
    /// Required sub-group size, if there is one.
    SubGroupSize,
    /// Number of work-items of the required work-group size, if there is one.
    WorkGroupSize,
}

/// Textual facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// State: input, object, executable.
    State,
    /// Format of the payload.
    Format,
    /// Target.
    Target,
    /// Target of the device configuration that the image was compiled for.
    CompileTarget,
    /// Instruction set of native CPU code.
    March,
    /// Compression of the payload.
    Compression,
    /// Hash of the payload.
    Blake3,
    /// Options for the device compiler.
    CompileOptions,
    /// Options for the device linker.
    LinkOptions,
    /// Kernels, by mangled and by demangled name.
    Kernels,
    /// Exported symbols, mangled and demangled.
    Exports,
    /// Imported symbols, mangled and demangled.
    Imports,
    /// Aspects that the compiler recorded or that the module uses.
    Aspects,
    /// Capabilities of a SPIR-V module.
    Capabilities,
    /// Extensions of a SPIR-V module.
    Extensions,
    /// Names of property sets.
    Properties,
    /// Problem of the payload.
    Problem,
}

/// All fields by name.
pub(crate) const FIELDS: [(&str, Field); 23] = [
    ("aspects", Field::Text(Text::Aspects)),
    ("blake3", Field::Text(Text::Blake3)),
    ("capabilities", Field::Text(Text::Capabilities)),
    ("compile_options", Field::Text(Text::CompileOptions)),
    ("compile_target", Field::Text(Text::CompileTarget)),
    ("compression", Field::Text(Text::Compression)),
    ("exports", Field::Text(Text::Exports)),
    ("extensions", Field::Text(Text::Extensions)),
    ("format", Field::Text(Text::Format)),
    ("imports", Field::Text(Text::Imports)),
    ("index", Field::Number(Number::Index)),
    ("kernels", Field::Text(Text::Kernels)),
    ("link_options", Field::Text(Text::LinkOptions)),
    ("march", Field::Text(Text::March)),
    ("offset", Field::Number(Number::Offset)),
    ("problem", Field::Text(Text::Problem)),
    ("properties", Field::Text(Text::Properties)),
    ("reqd_sub_group_size", Field::Number(Number::SubGroupSize)),
    ("reqd_work_group_size", Field::Number(Number::WorkGroupSize)),
    ("size", Field::Number(Number::Size)),
    ("state", Field::Text(Text::State)),
    ("stored_size", Field::Number(Number::StoredSize)),
    ("target", Field::Text(Text::Target)),
];

impl Number {
    /// Returns the value for an image, if it has one.
    pub(super) fn value(self, examined: &Examined<'_, '_>) -> Option<u64> {
        let image = examined.image;
        match self {
            Number::Index => u64::try_from(image.index).ok(),
            Number::Size => Some(examined.size),
            Number::StoredSize => u64::try_from(image.stored.len()).ok(),
            Number::Offset => Some(image.offset),
            Number::SubGroupSize => examined.requirements.reqd_sub_group_sizes.first().copied().map(u64::from),
            Number::WorkGroupSize => {
                let sizes = examined.requirements.reqd_work_group_size()?;
                Some(sizes.iter().fold(1, |product: u64, size| product.saturating_mul(*size)))
            }
        }
    }
}

impl Text {
    /// Returns the texts of an image, without empty ones.
    pub(super) fn values<'t>(self, examined: &'t Examined<'_, '_>) -> Vec<Cow<'t, str>> {
        let image = examined.image;
        let all: Vec<Cow<'t, str>> = match self {
            Text::State => vec![examined.state.name().into()],
            Text::Format => vec![examined.format.name().into()],
            Text::Target => vec![image.target.into()],
            Text::CompileTarget => image.compile_target().map(Cow::Borrowed).into_iter().collect(),
            Text::March => examined.march.map(|march| march.name().into()).into_iter().collect(),
            Text::Compression => image.compression().map(|kind| kind.name().into()).into_iter().collect(),
            Text::Blake3 => vec![hex(&examined.blake3).into()],
            Text::CompileOptions => vec![image.compile_options.into()],
            Text::LinkOptions => vec![image.link_options.into()],
            Text::Kernels => borrowed(&examined.kernels),
            Text::Exports => borrowed(&examined.exports),
            Text::Imports => borrowed(&examined.imports),
            Text::Aspects => {
                let mut aspects: Vec<&str> = aspects(examined).collect();
                aspects.sort_unstable();
                aspects.dedup();
                aspects.into_iter().map(Cow::Borrowed).collect()
            }
            Text::Capabilities => {
                let all = examined.module.iter().flat_map(|module| &module.capabilities);
                all.map(|number| grammar::capability_name(*number)).collect()
            }
            Text::Extensions => borrowed(examined.module.as_ref().map_or(&[], |module| &module.extensions)),
            Text::Properties => image.properties.sets.iter().map(|set| set.name.into()).collect(),
            Text::Problem => examined.problem.iter().map(|problem| problem.to_string().into()).collect(),
        };
        all.into_iter().filter(|text| !text.is_empty()).collect()
    }

    /// Whether the field may have several texts.
    pub(super) fn is_list(self) -> bool {
        self.is_symbols() || matches!(self, Text::Aspects | Text::Capabilities | Text::Extensions | Text::Properties)
    }

    /// Whether the texts are symbols, which also match by their demangled names.
    pub(super) fn is_symbols(self) -> bool {
        matches!(self, Text::Kernels | Text::Exports | Text::Imports)
    }
}

/// Returns the aspects that the compiler recorded for an image and those that its code uses, with repetitions.
pub(super) fn aspects<'e>(examined: &'e Examined<'_, '_>) -> impl Iterator<Item = &'e str> {
    let recorded = examined.requirements.aspects.iter().map(String::as_str);
    recorded.chain(shown(examined))
}

fn borrowed(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::bundle::Bundle;
    use crate::compat::examine::examine;
    use crate::container::Host;

    /// Calls `check` with a module of two kernels and the capabilities Addresses, Kernel and Float64.
    fn with_module(check: impl Fn(&dyn Fn(&str) -> bool)) {
        let words: [u32; 20] = [
            0x0723_0203,
            0x0001_0200,
            0,
            10,
            0, //
            2 << 16 | 17,
            4,
            2 << 16 | 17,
            6,
            2 << 16 | 17,
            10, //
            5 << 16 | 15,
            6,
            1,
            u32::from_le_bytes(*b"_Z3a"),
            u32::from_le_bytes(*b"ddv\0"), //
            4 << 16 | 15,
            6,
            2,
            u32::from_le_bytes(*b"mul\0"),
        ];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let examined = examine(&bundle);
        check(&|text| Predicate::new(text).unwrap().holds(&examined[0]));
    }

    #[test]
    fn conditions_are_true_of_what_they_say() {
        with_module(|holds| {
            for text in [
                "index = 0",
                "size = 80",
                "size < 1KiB and size >= 80",
                "kernels > 1",
                "kernels = 2",
                "kernels = add*",
                "kernels = 'add()' && kernels = mul",
                "kernels = '_Z3addv'",
                "kernels != '2'",
                "state = input",
                "state == input",
                "target = spir*",
                "format = spirv or format = zebin",
                "not imports",
                "!imports and !(exports or problem)",
                "capabilities = Float64 and capabilities ~ Kern*",
                "NOT kernels = sub OR kernels",
                "reqd_sub_group_size != 8",
                "not reqd_sub_group_size",
                "size>64 and(size<0.1KiB)",
            ] {
                assert!(holds(text), "{text}");
            }
            for text in [
                "index > 0",
                "kernels = 1",
                "kernels != mul",
                "kernels = '2'",
                "kernels = add",
                "reqd_sub_group_size < 8",
                "not (size and kernels)",
                // `and` binds closer than `or`.
                "size = 1 and size = 2 and size = 80 or size = 3",
                "aspects = fp16",
                "march",
            ] {
                assert!(!holds(text), "{text}");
            }
        });
    }

    #[test]
    fn errors_tell_the_place_and_the_remedy() {
        let cases = [
            ("", "column 1: a test is missing", "write it as"),
            ("size > ", "column 8: a value is missing", "write it as"),
            ("size > many", "column 8: `many` is not a number of bytes", "write it as"),
            ("kernel = add", "column 1: there is no field `kernel`", "did you mean `kernels`?"),
            ("ärger", "column 1: there is no field `ärger`", "fields are aspects, blake3"),
            ("compile-target = x", "there is no field `compile-target`", "did you mean `compile_target`?"),
            ("(size", "column 1: this bracket does not close", "write it as"),
            ("size) ", "column 5: here `and`, `or` or the end should be", "write it as"),
            ("state > input", "column 9: a text has no order", "write it as"),
            ("kernels = 'a", "column 11: this quote does not end", "write it as"),
            ("kernels = [a", "column 11: glob `[a`", "write it as"),
            ("size = = 1", "column 8: here a value should be", "write it as"),
        ];
        for (text, message, remedy) in cases {
            let error = Predicate::new(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            assert!(error.message().contains(message), "{text}: {}", error.message());
            assert!(error.remedy().is_some_and(|said| said.starts_with(remedy)), "{text}: {:?}", error.remedy());
        }
        let deep = "(".repeat(100_000) + "size";
        assert!(Predicate::new(&deep).unwrap_err().message().contains("too deeply"));
    }

    #[test]
    fn every_field_can_be_asked_for() {
        with_module(|holds| {
            for (name, _) in FIELDS {
                let (is, not) = (holds(name), holds(&format!("not {name}")));
                assert_ne!(is, not, "{name}");
            }
            assert!(FIELDS.is_sorted_by_key(|(name, _)| *name));
        });
    }
}
