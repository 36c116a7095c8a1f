//! Which targets does a device configuration define?
//!
//! The grammar is that of DPC++'s user configuration (`sycl/doc/design/DeviceConfigFile.md`): a mapping of target names
//! to `aspects`, `may_support_other_aspects`, `sub-group-sizes`, `aot-toolchain` and `aot-toolchain-<tool>-<option>`,
//! with the further keys of [`KEYS`]. Every fault is found, each with its place.

mod entry;

use super::target::{Family, Source, Target};
use super::yaml::{Entry, Fault, Node, Value};

/// The keys of a target, those of DPC++'s grammar first.
pub(crate) const KEYS: [&str; 34] = [
    "aspects",
    "may_support_other_aspects",
    "sub-group-sizes",
    "aot-toolchain",
    "like",
    "template",
    "members",
    "aliases",
    "more-aspects",
    "maybe-aspects",
    "lacks-aspects",
    "max-work-group-size",
    "max-work-item-sizes",
    "local-memory",
    "max-registers",
    "driver-version",
    "opencl-extensions",
    "spirv-version",
    "spirv-extensions",
    "spirv-capabilities",
    "spirv-refused-capabilities",
    "matrix",
    "device-type",
    "backends",
    "ip-versions",
    "architecture-id",
    "pci-device-ids",
    "product-names",
    "march",
    "default-options",
    "ocloc-device",
    "source",
    "open",
    "comment",
];

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Definition {
    /// A target; a template is one that cannot be compiled for, only be taken over.
    Target(Box<Target>, bool),
    /// A family.
    Family(Family),
}

impl Definition {
    /// The name defined.
    pub(crate) fn name(&self) -> &str {
        match self {
            Definition::Target(target, _) => &target.name,
            Definition::Family(family) => &family.name,
        }
    }

    /// The other names defined.
    pub(crate) fn aliases(&self) -> &[String] {
        match self {
            Definition::Target(target, _) => &target.aliases,
            Definition::Family(family) => &family.aliases,
        }
    }
}

/// Definitions that an entry may refer to.
pub(crate) trait Known {
    /// The target or template of this name, as defined so far.
    fn target(&self, name: &str) -> Option<&Target>;
    /// All names that can be taken over.
    fn names(&self) -> Vec<&str>;
}

/// Reads one definition; what is wrong with it is added to the faults, the rest holds.
pub(crate) fn definition(
    own: &Entry,
    file: &str,
    known: &dyn Known,
    aspects: Option<&[&str]>,
    faults: &mut Vec<Fault>,
) -> Option<Definition> {
    let entries = map(&own.value, faults)?;
    if own.key.is_empty()
        || own.key.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, ',' | ':' | '/'))
    {
        faults.push(Fault::new(own.place, format!("`{}` cannot be the name of a target", own.key.escape_debug())));
        return None;
    }
    for (at, entry) in entries.iter().enumerate() {
        if let Some(first) = entries.iter().take(at).find(|first| first.key == entry.key) {
            let message = format!("`{}` twice, first in line {}", entry.key, first.place.line);
            faults.push(Fault::new(entry.place, message));
        }
    }
    if entries.iter().any(|entry| entry.key == "members") {
        return Some(Definition::Family(family(own, entries, file, faults)));
    }
    let (target, template) = entry::target(own, entries, file, known, aspects, faults);
    Some(Definition::Target(Box::new(target), template))
}

/// The definitions of a text, each an entry of its root; a root of another form is a fault.
pub(crate) fn entries<'n>(root: Option<&'n Node>, faults: &mut Vec<Fault>) -> &'n [Entry] {
    match root.map(|root| (&root.value, root.place)) {
        Some((Value::Map(entries), _)) => entries,
        Some((_, place)) => {
            faults.push(Fault::new(place, "expected a mapping of target names to what they support"));
            &[]
        }
        None => &[],
    }
}

fn family(own: &Entry, entries: &[Entry], file: &str, faults: &mut Vec<Fault>) -> Family {
    let mut family = Family { name: own.key.clone(), file: file.to_owned(), ..Family::default() };
    for entry in entries {
        match entry.key.as_str() {
            "members" => family.members = texts(&entry.value, faults),
            "aliases" => family.aliases = texts(&entry.value, faults),
            "ocloc-device" => family.ocloc_device = text(&entry.value, faults),
            "source" => family.source = sources(&entry.value, faults),
            "open" => family.open = texts(&entry.value, faults),
            "comment" => {}
            key => {
                let message = format!("`{key}` in a family, which has `members` and no facts of its own");
                faults.push(Fault::new(entry.place, message));
            }
        }
    }
    if family.members.is_empty() {
        faults.push(Fault::new(own.place, format!("family `{}` has no members", own.key)));
    }
    family
}

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
pub(crate) fn map<'n>(node: &'n Node, faults: &mut Vec<Fault>) -> Option<&'n [Entry]> {
    match &node.value {
        Value::Map(entries) => Some(entries),
        _ => wrong(node, "a mapping", faults),
    }
}

/// A list.
pub(crate) fn list<'n>(node: &'n Node, faults: &mut Vec<Fault>) -> Option<&'n [Node]> {
    match &node.value {
        Value::List(items) => Some(items),
        _ => wrong(node, "a list `[...]`", faults),
    }
}

/// A text that is not empty.
pub(crate) fn text(node: &Node, faults: &mut Vec<Fault>) -> Option<String> {
    match &node.value {
        Value::Text(text) if !text.is_empty() => Some(text.clone()),
        _ => wrong(node, "a text", faults),
    }
}

/// A list of texts; those that are none are left out.
pub(crate) fn texts(node: &Node, faults: &mut Vec<Fault>) -> Vec<String> {
    let items = list(node, faults).unwrap_or_default();
    items.iter().filter_map(|item| text(item, faults)).collect()
}

/// `true` or `false`.
pub(crate) fn flag(node: &Node, faults: &mut Vec<Fault>) -> Option<bool> {
    match &node.value {
        Value::Text(text) if text == "true" => Some(true),
        Value::Text(text) if text == "false" => Some(false),
        _ => wrong(node, "`true` or `false`", faults),
    }
}

/// A whole number, decimal or with `0x`, that is no larger than `most`.
pub(crate) fn number(node: &Node, most: u64, faults: &mut Vec<Fault>) -> Option<u64> {
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
pub(crate) fn numbers(node: &Node, most: u64, faults: &mut Vec<Fault>) -> Vec<u64> {
    let items = list(node, faults).unwrap_or_default();
    items.iter().filter_map(|item| number(item, most, faults)).collect()
}

/// Parses each text of a list with `read`; a fault for each that it does not take.
pub(crate) fn parsed<T>(
    node: &Node,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
    faults: &mut Vec<Fault>,
) -> Vec<T> {
    let items = list(node, faults).unwrap_or_default();
    let one = |item: &Node| match &item.value {
        Value::Text(text) => read(text).or_else(|| wrong(item, expected, faults)),
        _ => wrong(item, expected, faults),
    };
    items.iter().filter_map(one).collect()
}

/// Sources of facts: one text for all of them, or a mapping of facts to texts.
pub(crate) fn sources(node: &Node, faults: &mut Vec<Fault>) -> Vec<Source> {
    match &node.value {
        Value::Text(text) if !text.is_empty() => vec![Source { facts: "all".to_owned(), text: text.clone() }],
        Value::Map(entries) => {
            let one = |entry: &Entry| Some(Source { facts: entry.key.clone(), text: text(&entry.value, faults)? });
            entries.iter().filter_map(one).collect()
        }
        _ => wrong(node, "a text, or a mapping of facts to texts", faults).unwrap_or_default(),
    }
}
