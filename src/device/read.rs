//! Which targets does a device configuration define?
//!
//! The grammar is that of DPC++'s user configuration (`sycl/doc/design/DeviceConfigFile.md`): a mapping of target names
//! to `aspects`, `may_support_other_aspects`, `sub-group-sizes`, `aot-toolchain` and `aot-toolchain-<tool>-<option>`,
//! with the further keys of [`KEYS`]. Every fault is found, each with its place.

mod entry;
mod value;

use super::target::{Family, Target};
use super::yaml::{Entry, Fault, Node, Value};
use value::{map, texts};

/// The keys of a target, those of DPC++'s grammar first.
pub const KEYS: [&str; 30] = [
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
    "march",
    "default-options",
    "ocloc-device",
    "source",
    "open",
    "comment",
];

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// A target; a template is one that cannot be compiled for, only be taken over.
    Target(Box<Target>, bool),
    /// A family.
    Family(Family),
}

impl Definition {
    /// The name defined.
    pub fn name(&self) -> &str {
        match self {
            Definition::Target(target, _) => &target.name,
            Definition::Family(family) => &family.name,
        }
    }

    /// The other names defined.
    pub fn aliases(&self) -> &[String] {
        match self {
            Definition::Target(target, _) => &target.aliases,
            Definition::Family(family) => &family.aliases,
        }
    }
}

/// Definitions that an entry may refer to.
pub trait Known {
    /// The target or template of this name, as defined so far.
    fn target(&self, name: &str) -> Option<&Target>;
    /// All names that can be taken over.
    fn names(&self) -> Vec<&str>;
}

/// Reads one definition; what is wrong with it is added to the faults, the rest holds.
pub fn definition(
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
pub fn entries<'n>(root: Option<&'n Node>, faults: &mut Vec<Fault>) -> &'n [Entry] {
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
            "ocloc-device" => family.ocloc_device = value::text(&entry.value, faults),
            "source" => family.source = value::sources(&entry.value, faults),
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
