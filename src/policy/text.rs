//! Which values does a TOML text have, and at which locations?
//!
//! Values of tables are read by key and type; a value of another type, and every unknown key, is a fault with its line
//! and column. Only this file uses crates `toml` and `toml_parser`.

use crate::bytes;
use crate::device::did_you_mean;
use crate::device::yaml::{Fault, Place};
use crate::limits::{MAX_CONFIG, MAX_CONFIG_DEPTH, MAX_CONFIG_VALUES};
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Day of the Gregorian calendar, without a time zone. Crate `toml` reads no day that the calendar does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Date {
    /// Year, up to 9999.
    pub(crate) year: u16,
    /// Month, from 1.
    pub(crate) month: u8,
    /// Day, from 1.
    pub(crate) day: u8,
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Returns the day in UTC at a number of seconds since 1970; none after the year 9999. Written here, since a crate for dates
/// (`jiff`, `time`) would be there for these lines alone.
pub(crate) fn day_at(seconds: u64) -> Option<Date> {
    let mut days = seconds / 86_400;
    let mut year: u16 = 1970;
    let mut month: u8 = 1;
    loop {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let length = match month {
            2 => 28 + u64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if days < length {
            return Some(Date { year, month, day: u8::try_from(days).ok()?.checked_add(1)? });
        }
        days = days.saturating_sub(length);
        month = month % 12 + 1;
        if month == 1 {
            year = year.checked_add(1).filter(|year| *year <= 9999)?;
        }
    }
}

/// Value with its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Located<T> {
    pub(crate) place: Place,
    pub(crate) value: T,
}

/// Table of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'d> {
    entries: &'d DeTable<'d>,
    pub(crate) place: Place,
    lines: &'d Lines<'d>,
}

/// Number, Boolean or text, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar(pub String);

impl Scalar {
    fn read(value: &DeValue<'_>) -> Option<Scalar> {
        Some(Scalar(match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Integer(number) => {
                // TOML numbers of another base have no sign.
                let prefix = match number.radix() {
                    10 => "",
                    16 => "0x",
                    radix => {
                        return u64::from_str_radix(number.as_str(), radix).ok().map(|value| Scalar(value.to_string()));
                    }
                };
                format!("{prefix}{}", number.as_str().trim_start_matches('+'))
            }
            DeValue::Float(number) => number.as_str().trim_start_matches('+').to_owned(),
            _ => return None,
        }))
    }
}

/// Text that tells where its bytes are.
#[derive(Debug, PartialEq, Eq)]
struct Lines<'d> {
    text: &'d str,
    /// Offset of each line.
    starts: Vec<usize>,
}

impl<'d> Lines<'d> {
    fn new(text: &'d str) -> Self {
        let behind = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
        Lines { text, starts: std::iter::once(0).chain(behind).collect() }
    }

    /// Returns the line and column of a byte.
    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Place { line, column: before.chars().count().saturating_add(1) }
    }
}

/// Number of values in a table, all that they hold counted.
fn count(table: &DeTable<'_>) -> usize {
    let (mut count, mut left) = (0usize, table.values().collect::<Vec<_>>());
    while let Some(value) = left.pop() {
        count = count.saturating_add(1);
        match value.get_ref() {
            DeValue::Array(items) => left.extend(items.iter()),
            DeValue::Table(entries) => left.extend(entries.values()),
            _ => {}
        }
    }
    count
}

/// Returns where brackets stand in brackets too deep. The parser counts its depth itself, and loses count where a list stands in
/// the place of a key (`{[a]`): its stack would overflow. A bracket that closes none of its kind closes none here.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for token in Source::new(text).lex() {
        let opening = match token.kind() {
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => {
                if open.len() >= MAX_CONFIG_DEPTH {
                    return Some(token.span().start());
                }
                open.push(kind);
                continue;
            }
            TokenKind::RightSquareBracket => TokenKind::LeftSquareBracket,
            TokenKind::RightCurlyBracket => TokenKind::LeftCurlyBracket,
            _ => continue,
        };
        open.pop_if(|last| *last == opening);
    }
    None
}

/// Parses a text and calls `read` with its table.
///
/// # Errors
/// The first syntax error.
pub(super) fn with_table<T>(text: &str, read: impl FnOnce(Table<'_>) -> T) -> Result<T, Fault> {
    let start = Place { line: 1, column: 1 };
    if text.len() > MAX_CONFIG {
        return Err(Fault::new(start, format!("{} bytes are more than the {MAX_CONFIG} that are read", text.len())));
    }
    // Some editors write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    if let Some(at) = too_deep(text) {
        return Err(Fault::new(lines.place(at), format!("nested deeper than {MAX_CONFIG_DEPTH} levels")));
    }
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(start, |span: Range<usize>| lines.place(span.start));
        Fault::new(at, error.message().replace('\n', "; "))
    })?;
    if count(root.get_ref()) > MAX_CONFIG_VALUES {
        return Err(Fault::new(start, format!("more than {MAX_CONFIG_VALUES} values")));
    }
    Ok(read(Table { entries: root.get_ref(), place: start, lines: &lines }))
}

/// Returns the name of a value's type for messages.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

impl<'d> Table<'d> {
    fn place_of<T>(&self, value: &Spanned<T>) -> Place {
        self.lines.place(value.span().start)
    }

    /// Returns the names of all keys, with their locations.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Located<&'d str>> {
        let (entries, lines) = (self.entries, self.lines);
        entries.iter().map(move |(key, _)| Located { place: lines.place(key.span().start), value: &**key.get_ref() })
    }

    /// Adds a fault for each key that is not among these.
    pub(crate) fn only(&self, known: &[&str], faults: &mut Vec<Fault>) {
        for key in self.keys().filter(|key| !known.contains(&key.value)) {
            let near = did_you_mean(key.value, known.iter().copied());
            let all = || Some(format!("the keys here are {}", known.join(", ")));
            let key_text: String = key.value.chars().take(80).collect();
            faults.push(
                Fault::new(key.place, format!("unknown key `{}`", key_text.escape_debug()))
                    .with_remedy(near.or_else(all)),
            );
        }
    }

    fn value(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.entries.iter().find(|(own, _)| own.get_ref() == key).map(|(_, value)| value)
    }

    /// Returns the location of a key's value, or of the table if there is none.
    pub(crate) fn place_at(&self, key: &str) -> Place {
        self.value(key).map_or(self.place, |value| self.place_of(value))
    }

    /// Returns the value of a key, converted by `read`; a value that `read` refuses is a fault.
    fn get<T>(
        &self,
        key: &str,
        wanted: &str,
        faults: &mut Vec<Fault>,
        read: impl FnOnce(&'d DeValue<'d>) -> Option<T>,
    ) -> Option<Located<T>> {
        let value = self.value(key)?;
        let place = self.place_of(value);
        match read(value.get_ref()) {
            Some(value) => Some(Located { place, value }),
            None => {
                let is = kind(value.get_ref());
                let is = if wanted.starts_with(is) { "another" } else { is };
                faults.push(Fault::new(place, format!("`{key}` is {is}, and must be {wanted}")));
                None
            }
        }
    }

    /// Returns the table of a key.
    pub(crate) fn table(&self, key: &str, faults: &mut Vec<Fault>) -> Option<Table<'d>> {
        let found = self.get(key, "a table", faults, DeValue::as_table)?;
        Some(Table { entries: found.value, place: found.place, lines: self.lines })
    }

    /// Returns the tables of a list of tables.
    pub(crate) fn tables(&self, key: &str, faults: &mut Vec<Fault>) -> Vec<Table<'d>> {
        let Some(list) = self.get(key, "a list of tables", faults, DeValue::as_array) else { return Vec::new() };
        let mut tables = Vec::new();
        for item in list.value.iter() {
            let place = self.place_of(item);
            match item.get_ref().as_table() {
                Some(entries) => tables.push(Table { entries, place, lines: self.lines }),
                None => faults.push(Fault::new(place, format!("`{key}` must be a list of tables"))),
            }
        }
        tables
    }

    /// Returns a text.
    pub(crate) fn text(&self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<&'d str>> {
        self.get(key, "a text", faults, DeValue::as_str)
    }

    /// Returns a Boolean.
    pub(crate) fn flag(&self, key: &str, faults: &mut Vec<Fault>) -> Option<bool> {
        self.get(key, "true or false", faults, DeValue::as_bool).map(|found| found.value)
    }

    /// Returns a list of texts.
    pub(crate) fn texts(&self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<Vec<Located<&'d str>>>> {
        let list = self.get(key, "a list of texts", faults, DeValue::as_array)?;
        let mut texts = Vec::new();
        for item in list.value.iter() {
            let place = self.place_of(item);
            match item.get_ref().as_str() {
                Some(value) => texts.push(Located { place, value }),
                None => faults.push(Fault::new(place, format!("`{key}` must be a list of texts"))),
            }
        }
        Some(Located { place: list.place, value: texts })
    }

    /// Whether there is such a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Returns a scalar or a list of scalars, each as its text.
    pub(crate) fn scalars(&self, key: &str, wanted: &str, faults: &mut Vec<Fault>) -> Option<Vec<Scalar>> {
        let found = self.get(key, wanted, faults, |value| match value {
            DeValue::Array(items) => items.iter().map(|item| Scalar::read(item.get_ref())).collect(),
            value => Scalar::read(value).map(|scalar| vec![scalar]),
        });
        found.map(|found| found.value)
    }

    /// Returns a number that is not negative.
    pub(crate) fn number(&self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<u64>> {
        self.get(key, "a number from 0", faults, number)
    }

    /// Returns a number of bytes: a number, or a text like `"8 MiB"`.
    pub(crate) fn bytes(&self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<u64>> {
        let wanted = "a number of bytes, or a text like \"512 KiB\" or \"8 MiB\"";
        self.get(key, wanted, faults, |value| number(value).or_else(|| bytes::parse_size(value.as_str()?)))
    }

    /// Returns a date.
    pub(crate) fn date(&self, key: &str, faults: &mut Vec<Fault>) -> Option<Located<Date>> {
        self.get(key, "a day like 2027-03-31, without quotes", faults, |value| {
            let found = value.as_datetime().filter(|found| found.time.is_none())?.date?;
            Some(Date { year: found.year, month: found.month, day: found.day })
        })
    }
}

fn number(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_1970() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_767_225_599, "2025-12-31"),
            (1_767_225_600, "2026-01-01"),
            (253_402_300_799, "9999-12-31"),
        ] {
            assert_eq!(day_at(seconds).unwrap().to_string(), text);
        }
        assert_eq!([day_at(253_402_300_800), day_at(u64::MAX)], [None, None]);
        assert!(day_at(1_767_225_599) < day_at(1_767_225_600));
    }

    /// A list in the place of a key had the parser lose count of its depth.
    #[test]
    fn what_is_nested_too_deep_is_a_fault_and_overflows_no_stack() {
        for part in ["a={[a]\n", "a={[a]", "a={{a}\n", "a={[[a]]\n", "a=[{[a]\n", "a={b=[}\n", "[a\n", "x\"={[a]\n"] {
            let fault = with_table(&part.repeat(20_000), |_| ()).unwrap_err();
            assert!(fault.to_string().contains("nested deeper than 16 levels"), "{part:?}: {fault}");
        }
        let deep = |depth: usize| format!("a = {}{}\n", "[".repeat(depth), "]".repeat(depth));
        assert!(with_table(&deep(16), |_| ()).is_ok());
        assert_eq!(with_table(&deep(17), |_| ()).unwrap_err().to_string(), "1:21: nested deeper than 16 levels");
        // Brackets in texts and comments are none, and those of tables close.
        let part = "[[a]]\nb = \"{[{[\\\"[\" # {{{{\nc = '{{'\nd = [{ e = 1 }, { e = [1] }]\nf = \"\"\"{{\n[[\"\"\"\n";
        assert_eq!(with_table(&part.repeat(100), |root| root.keys().count()).unwrap(), 1);
    }

    #[test]
    fn values_know_their_place() {
        let text = "# c\n[a]\n\"ö\" = 1\nday = 2026-02-28\nsize = \"8 MiB\"\nlist = [\"x\",\n  \"y\"]\n";
        let mut faults = Vec::new();
        with_table(text, |root| {
            let a = root.table("a", &mut faults).unwrap();
            assert_eq!(a.date("day", &mut faults).unwrap().value.to_string(), "2026-02-28");
            assert_eq!(a.bytes("size", &mut faults).unwrap().value, 8 << 20);
            let list = a.texts("list", &mut faults).unwrap().value;
            assert_eq!(list[1], Located { place: Place { line: 7, column: 3 }, value: "y" });
            a.only(&["o", "days", "size", "list"], &mut faults);
        })
        .unwrap();
        let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(faults, ["3:1: unknown key `ö`", "4:1: unknown key `day`"]);
    }

    #[test]
    fn what_is_no_value_of_its_kind_is_a_fault() {
        let text = "day = 2026-02-29\nsize = -1\nother = \"8 MiBs\"\nwhen = 2026-01-01T10:00:00\nt = 3\n";
        let mut faults = Vec::new();
        let parsed = with_table(text, |root| {
            assert!(root.date("when", &mut faults).is_none());
            assert!(root.bytes("size", &mut faults).is_none() && root.bytes("other", &mut faults).is_none());
            assert!(root.text("t", &mut faults).is_none());
            root.date("day", &mut faults)
        });
        assert!(parsed.is_err(), "{faults:?}");
        for day in ["2100-02-29", "2026-13-01", "2026-00-01", "2026-04-31", "2026-01-00"] {
            assert!(with_table(&format!("day = {day}"), |_| ()).is_err(), "{day}");
        }
        assert!(with_table("a = [", |_| ()).is_err() && with_table("a = 1\na = 2\n", |_| ()).is_err());
        assert!(with_table(&"a = [".repeat(50_000), |_| ()).is_err());
        let many = format!("a = [{}]", "[], ".repeat(20_000));
        assert!(with_table(&many, |_| ()).unwrap_err().message.contains("more than"));
    }
}
