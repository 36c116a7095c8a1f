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

use super::Pattern;
use super::field::{FIELDS, Field, Number, Text};
use crate::compat::examine::Examined;
use crate::demangle::demangle;
use crate::device::near::did_you_mean;
use crate::error::{Error, ErrorKind, Result};
use crate::{bytes, limits};

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
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the condition is true for an image.
    pub fn holds(&self, image: &Examined<'_, '_>) -> bool {
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
                let plain = |name: &str| text.is_symbols() && glob.matches(&demangle(name));
                text.values(image).iter().any(|name| glob.matches(name) || plain(name))
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

#[cfg(test)]
mod tests;
