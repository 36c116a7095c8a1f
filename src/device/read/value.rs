//! What does a value of a device configuration say, as a text, number or list?
//!
//! Each function adds a fault and gives nothing where the value has another form.

use crate::device::target::Source;
use crate::device::yaml::{Entry, Fault, Node, Value};

fn wrong<T>(node: &Node, expected: &str, faults: &mut Vec<Fault>) -> Option<T> {
    let found = match &node.value {
        Value::Text(text) if text.is_empty() => "nothing".to_owned(),
        Value::Text(text) => format!("`{}`", text.chars().take(60).collect::<String>().escape_debug()),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a mapping".to_owned(),
    };
    faults.push(Fault::new(node.place, format!("expected {expected}, found {found}")));
    None
}

/// A mapping.
pub fn map<'n>(node: &'n Node, faults: &mut Vec<Fault>) -> Option<&'n [Entry]> {
    match &node.value {
        Value::Map(entries) => Some(entries),
        _ => wrong(node, "a mapping", faults),
    }
}

/// A list.
pub fn list<'n>(node: &'n Node, faults: &mut Vec<Fault>) -> Option<&'n [Node]> {
    match &node.value {
        Value::List(items) => Some(items),
        _ => wrong(node, "a list `[...]`", faults),
    }
}

/// A text that is not empty.
pub fn text(node: &Node, faults: &mut Vec<Fault>) -> Option<String> {
    match &node.value {
        Value::Text(text) if !text.is_empty() => Some(text.clone()),
        _ => wrong(node, "a text", faults),
    }
}

/// A list of texts; those that are none are left out.
pub fn texts(node: &Node, faults: &mut Vec<Fault>) -> Vec<String> {
    let items = list(node, faults).unwrap_or_default();
    items.iter().filter_map(|item| text(item, faults)).collect()
}

/// `true` or `false`.
pub fn flag(node: &Node, faults: &mut Vec<Fault>) -> Option<bool> {
    match &node.value {
        Value::Text(text) if text == "true" => Some(true),
        Value::Text(text) if text == "false" => Some(false),
        _ => wrong(node, "`true` or `false`", faults),
    }
}

/// A whole number, decimal or with `0x`, that is no larger than `most`.
pub fn number(node: &Node, most: u64, faults: &mut Vec<Fault>) -> Option<u64> {
    let parsed = match &node.value {
        Value::Text(text) => match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')),
            None => text.parse().ok().filter(|_| !text.starts_with('+')),
        },
        _ => None,
    };
    match parsed {
        Some(number) if number <= most => Some(number),
        Some(_) => wrong(node, &format!("a number up to {most}"), faults),
        None => wrong(node, "a whole number", faults),
    }
}

/// A list of such numbers.
pub fn numbers(node: &Node, most: u64, faults: &mut Vec<Fault>) -> Vec<u64> {
    let items = list(node, faults).unwrap_or_default();
    items.iter().filter_map(|item| number(item, most, faults)).collect()
}

/// Parses each text of a list with `read`; a fault for each that it does not take.
pub fn parsed<T>(node: &Node, expected: &str, read: impl Fn(&str) -> Option<T>, faults: &mut Vec<Fault>) -> Vec<T> {
    let items = list(node, faults).unwrap_or_default();
    let one = |item: &Node| match &item.value {
        Value::Text(text) => read(text).or_else(|| wrong(item, expected, faults)),
        _ => wrong(item, expected, faults),
    };
    items.iter().filter_map(one).collect()
}

/// Sources of facts: one text for all of them, or a mapping of facts to texts.
pub fn sources(node: &Node, faults: &mut Vec<Fault>) -> Vec<Source> {
    match &node.value {
        Value::Text(text) if !text.is_empty() => vec![Source { facts: "all".to_owned(), text: text.clone() }],
        Value::Map(entries) => {
            let one = |entry: &Entry| Some(Source { facts: entry.key.clone(), text: text(&entry.value, faults)? });
            entries.iter().filter_map(one).collect()
        }
        _ => wrong(node, "a text, or a mapping of facts to texts", faults).unwrap_or_default(),
    }
}
