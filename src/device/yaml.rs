//! What does this YAML text say, and where does it say it?
//!
//! A tree in which every text, list and key knows its line and column. The one user of saphyr-parser, whose events it
//! gathers: size, depth and number of nodes are limited, and aliases are refused, so that no text grows when read.

use crate::error::{Error, Result};
use crate::limits::{MAX_CONFIG, MAX_CONFIG_DEPTH, MAX_CONFIG_VALUES};
use saphyr_parser::{Event, Marker, Parser};
use std::fmt;

/// A place in a text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub(crate) column: usize,
}

impl From<&Marker> for Place {
    fn from(marker: &Marker) -> Place {
        Place { line: marker.line().max(1), column: marker.col().saturating_add(1) }
    }
}

/// An error at a place of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Place of the error.
    pub(crate) place: Place,
    /// Description of the error.
    pub(crate) message: String,
    /// Remedy, where something can be done.
    pub(crate) remedy: Option<String>,
}

impl Fault {
    /// A fault at a place.
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Fault {
        Fault { place, message: message.into(), remedy: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn with_remedy(mut self, remedy: Option<String>) -> Fault {
        self.remedy = remedy;
        self
    }

    /// Returns an error of kind `Input` that begins with `file:line:column`.
    pub(crate) fn in_file(&self, file: &str) -> Error {
        let error = Error::input(format!("{file}:{self}"));
        match &self.remedy {
            Some(remedy) => error.with_remedy(remedy.clone()),
            None => error,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.place.line, self.place.column, self.message)
    }
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Place where the value begins.
    pub place: Place,
    /// The value itself.
    pub value: Value,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A scalar, as text: who reads it knows whether it should be a number.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the text. A key may stand in it twice.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Place where the key begins.
    pub place: Place,
    /// Value of the key.
    pub value: Node,
}

/// A list or mapping that is not closed yet.
enum Open {
    List(Place, Vec<Node>),
    Map(Place, Vec<Entry>, Option<(String, Place)>),
}

/// Reads a text; none where there is nothing in it but comments.
///
/// # Errors
/// The first thing that is no YAML, or that is not taken here: aliases, several documents, keys that are not text.
pub fn parse(text: &str) -> Result<Option<Node>, Fault> {
    let start = Place { line: 1, column: 1 };
    if text.len() > MAX_CONFIG {
        return Err(Fault::new(start, format!("{} bytes are more than the {MAX_CONFIG} that are read", text.len())));
    }
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let (mut documents, mut values) = (0usize, 0usize);
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => return Err(Fault::new(error.marker().into(), error.info().to_owned())),
        };
        let place = Place::from(&span.start);
        let closed = match event {
            Event::DocumentStart(_) => {
                documents = documents.saturating_add(1);
                if documents > 1 {
                    return Err(Fault::new(place, "a second document; a device configuration is one"));
                }
                continue;
            }
            Event::Alias(_) => {
                let fault = Fault::new(place, "an alias, which is not taken here");
                return Err(fault.with_remedy(Some("`like: TARGET` takes over what another entry says".to_owned())));
            }
            Event::Scalar(text, ..) => Node { place, value: Value::Text(text.into_owned()) },
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_CONFIG_DEPTH => {
                return Err(Fault::new(place, format!("nested deeper than {MAX_CONFIG_DEPTH} levels")));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(place, Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(place, Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(place, items)) => Node { place, value: Value::List(items) },
                Some(Open::Map(place, entries, _)) => Node { place, value: Value::Map(entries) },
                None => continue,
            },
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
        };
        values = values.saturating_add(1);
        if values > MAX_CONFIG_VALUES {
            return Err(Fault::new(place, format!("more than {MAX_CONFIG_VALUES} texts, lists and mappings")));
        }
        match open.last_mut() {
            None => root = Some(closed),
            Some(Open::List(_, items)) => items.push(closed),
            Some(Open::Map(_, entries, key)) => match (key.take(), closed) {
                (Some((key, place)), value) => entries.push(Entry { key, place, value }),
                (None, Node { place, value: Value::Text(text) }) => *key = Some((text, place)),
                (None, Node { place, .. }) => return Err(Fault::new(place, "a key must be a text")),
            },
        }
    }
    // A text of nothing but a comment comes as one empty scalar, or as no document at all.
    Ok(root.filter(|root| root.value != Value::Text(String::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, column: usize) -> Place {
        Place { line, column }
    }

    #[test]
    fn values_know_their_place() {
        let root = parse("# c\na:\n    b: [x, 0x10]\n    'c d': \"e\"\n").unwrap().unwrap();
        let Value::Map(top) = root.value else { panic!() };
        let Value::Map(inner) = &top[0].value.value else { panic!() };
        assert_eq!((top[0].place, inner[0].place, inner[1].place), (at(2, 1), at(3, 5), at(4, 5)));
        let Value::List(items) = &inner[0].value.value else { panic!() };
        assert_eq!(items[1], Node { place: at(3, 12), value: Value::Text("0x10".to_owned()) });
        assert_eq!(inner[1].value.value, Value::Text("e".to_owned()));
    }

    #[test]
    fn what_is_not_taken_is_a_fault_with_a_place() {
        for (text, place) in [
            ("a: &x [1]\nb: *x\n", at(2, 4)),
            ("a: 1\n---\nb: 2\n", at(2, 1)),
            ("[a]: 1\n", at(1, 1)),
            ("a: [1\nb: 2", at(2, 2)),
            ("a:\n\t- b\n", at(2, 1)),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.place.line, place.line, "{text:?}: {fault}");
        }
        assert!(parse(&"[".repeat(40)).unwrap_err().message.contains("nested deeper"));
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&format!("[{}]", "a,".repeat(20_000))).unwrap_err().message.contains("more than"));
        assert!(parse(&"a".repeat(MAX_CONFIG + 1)).unwrap_err().message.contains("are more than"));
    }

    #[test]
    fn nothing_is_nothing() {
        for text in ["", "# only a comment\n", "---\n", "\u{feff}"] {
            assert_eq!(parse(text), Ok(None), "{text:?}");
        }
    }
}
