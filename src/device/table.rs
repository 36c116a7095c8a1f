//! Which targets are there?

use super::read::{Definition, Known, definition, entries};
use super::target::{Family, Target};
use super::yaml::{self, Fault, Value};
use crate::error::Error;
use crate::limits::MAX_CONFIG_COPIED;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The entry that a name stands for, by place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Target(usize),
    Family(usize),
}

/// All targets and families known, in the order in which they were defined.
#[derive(Debug, Clone, Default)]
pub struct TargetTable {
    targets: Vec<Target>,
    families: Vec<Family>,
    templates: Vec<Target>,
    /// Every name, alias and short form, normalised.
    names: HashMap<String, Meaning>,
}

/// Result of adding a file.
#[derive(Debug, Default)]
pub struct Added {
    /// Names of the targets and families that the file defines, in its order.
    pub names: Vec<String>,
    /// Warnings about what is allowed but may not be meant, each beginning with its place.
    pub warnings: Vec<String>,
    /// Errors, each beginning with its place.
    pub faults: Vec<Error>,
}

/// Prefixes that may be left out of a name; `spr` and its kin are instruction sets of `spir64_x86_64`.
const PREFIXES: [&str; 3] = ["intel_gpu_", "nvidia_gpu_", "amd_gpu_"];

/// A name in the form in which names are compared.
pub(super) fn normal(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('-', "_")
}

/// Whether the normal form of a name is this one.
fn is_called(name: &str, normal: &str) -> bool {
    let character = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    name.trim().bytes().map(character).eq(normal.bytes())
}

/// Returns the rest of a name behind its prefix.
pub(super) fn short_name(name: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))
}

impl Known for TargetTable {
    fn target(&self, name: &str) -> Option<&Target> {
        let named = |target: &&Target| target.name == name;
        self.targets.iter().find(named).or_else(|| self.templates.iter().find(named))
    }

    fn names(&self) -> Vec<&str> {
        self.targets.iter().chain(&self.templates).map(|target| target.name.as_str()).collect()
    }
}

impl TargetTable {
    /// The targets.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The families.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The target of this canonical name.
    pub fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// The family of this canonical name.
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name == name)
    }

    /// The targets of a family, in its order.
    pub fn members<'t>(&'t self, family: &'t Family) -> Vec<&'t Target> {
        family.members.iter().filter_map(|name| self.target(name)).collect()
    }

    /// The target or the targets of the family that go by a name, alias or short form.
    pub(super) fn named(&self, name: &str) -> Option<(Vec<&Target>, Option<&Family>)> {
        match self.names.get(&normal(name))? {
            Meaning::Target(at) => Some((vec![self.targets.get(*at)?], None)),
            Meaning::Family(at) => {
                let family = self.families.get(*at)?;
                Some((self.members(family), Some(family)))
            }
        }
    }

    /// Every name that [`TargetTable::named`] takes, normalised.
    pub(super) fn spellings(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Adds the definitions of a file, which replace those of the same name. `aspects` are the names that aspects may
    /// have; `file` is what messages call the file. Where there is a fault, some definitions may be missing.
    pub fn add(&mut self, file: &str, text: &str, aspects: &[&str]) -> Added {
        self.read(file, text, Some(aspects))
    }

    /// Adds a built-in file, which tests have checked.
    pub(super) fn add_trusted(&mut self, file: &str, text: &str) -> Added {
        self.read(file, text, None)
    }

    fn read(&mut self, file: &str, text: &str, aspects: Option<&[&str]>) -> Added {
        let mut added = Added::default();
        let mut faults = Vec::new();
        let root = yaml::parse(text).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        let (mut families, mut copied) = (Vec::new(), 0usize);
        for entry in entries(root.as_ref(), &mut faults) {
            if matches!(&entry.value.value, Value::Map(keys) if keys.iter().any(|key| key.key == "like")) {
                copied = copied.saturating_add(text.len());
            }
            if copied > MAX_CONFIG_COPIED {
                faults.push(Fault::new(entry.place, "more is taken over by `like` than a file of this size may"));
                break;
            }
            let Some(own) = definition(entry, file, self, aspects, &mut faults) else { continue };
            let name = own.name().to_owned();
            let earlier = self.target(&name).map(|one| &one.file).or_else(|| self.family(&name).map(|one| &one.file));
            if let Some(earlier) = earlier {
                let place = entry.place;
                added.warnings.push(format!(
                    "{file}:{}:{}: `{name}` is defined in {earlier} already; this definition counts",
                    place.line, place.column
                ));
            }
            for alias in own.aliases() {
                if let Some(other) = self.owner(alias).filter(|other| *other != name) {
                    faults.push(Fault::new(entry.place, format!("alias `{alias}` of `{name}` is a name of `{other}`")));
                }
            }
            if let Definition::Family(family) = &own {
                families.push((entry.place, family.name.clone()));
            }
            if matches!(own, Definition::Target(_, false) | Definition::Family(_)) {
                added.names.push(name);
            }
            self.insert(own);
        }
        for (place, name) in families {
            let members = self.family(&name).map(|family| family.members.as_slice()).unwrap_or_default();
            for member in members.iter().filter(|member| self.target(member).is_none()) {
                faults.push(Fault::new(place, format!("member `{member}` of `{name}` is no target")));
            }
        }
        self.index();
        faults.sort_by_key(|fault| fault.place);
        added.faults = faults.iter().map(|fault| fault.in_file(file)).collect();
        added
    }

    /// Returns the canonical name that a canonical name or alias belongs to.
    fn owner(&self, name: &str) -> Option<&str> {
        let name = normal(name);
        let targets = self.targets.iter().map(|one| (&one.name, &one.aliases));
        let families = self.families.iter().map(|one| (&one.name, &one.aliases));
        let mut all = targets.chain(families);
        all.find(|(own, aliases)| is_called(own, &name) || aliases.iter().any(|alias| is_called(alias, &name)))
            .map(|(own, _)| own.as_str())
    }

    fn insert(&mut self, definition: Definition) {
        fn put<T>(list: &mut Vec<T>, own: T, same: impl Fn(&T) -> bool) {
            match list.iter_mut().find(|one| same(one)) {
                Some(old) => *old = own,
                None => list.push(own),
            }
        }
        let name = definition.name().to_owned();
        match definition {
            Definition::Target(target, true) => put(&mut self.templates, *target, |one| one.name == name),
            Definition::Target(target, false) => {
                self.families.retain(|one| one.name != name);
                put(&mut self.targets, *target, |one| one.name == name);
            }
            Definition::Family(family) => {
                self.targets.retain(|one| one.name != name);
                put(&mut self.families, family, |one| one.name == name);
            }
        }
    }

    /// Names win over aliases, and both over what is left of a name without its prefix.
    fn index(&mut self) {
        for target in &mut self.targets {
            let of = self.families.iter().filter(|family| family.members.contains(&target.name));
            target.families = of.map(|family| family.name.clone()).collect();
        }
        let mut all: Vec<(Meaning, &str, &[String], Option<&str>)> = Vec::new();
        for (at, one) in self.targets.iter().enumerate() {
            all.push((Meaning::Target(at), &one.name, &one.aliases, one.ocloc_device()));
        }
        for (at, one) in self.families.iter().enumerate() {
            all.push((Meaning::Family(at), &one.name, &one.aliases, one.ocloc_device.as_deref()));
        }
        let mut names = HashMap::new();
        for (meaning, name, ..) in &all {
            names.entry(normal(name)).or_insert(*meaning);
        }
        for (meaning, _, aliases, _) in &all {
            for alias in *aliases {
                names.entry(normal(alias)).or_insert(*meaning);
            }
        }
        for (meaning, name, aliases, device) in &all {
            let long = aliases.iter().map(String::as_str).chain([*name]);
            let short = long.filter_map(short_name);
            for short in short.chain(*device) {
                names.entry(normal(short)).or_insert(*meaning);
            }
        }
        self.names = names;
    }
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// The built-in files: name and text, in the order in which they are read.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../device-configs/", $name)))),*];
    };
}

files!(
    "intel-gpu.yaml",
    "generic.yaml",
    "cpu.yaml",
    "intel-gpu-gen8-gen9.yaml",
    "intel-gpu-gen11.yaml",
    "intel-gpu-xe-lp.yaml",
    "intel-gpu-xe-hpg.yaml",
    "intel-gpu-xe-hpc.yaml",
    "intel-gpu-xe-lpg.yaml",
    "intel-gpu-xe2.yaml",
    "intel-gpu-xe3.yaml",
    "intel-gpu-xe3p.yaml",
    "nvidia-gpu.yaml",
    "amd-gpu.yaml",
);

/// The built-in targets.
///
/// Their aspects are not checked against a list here; a test does it, once for all.
pub fn table() -> &'static TargetTable {
    static TABLE: LazyLock<TargetTable> = LazyLock::new(|| {
        let mut table = TargetTable::default();
        for (name, text) in FILES {
            table.add_trusted(name, text);
        }
        table
    });
    &TABLE
}
