//! Which functions and variables get another name?
//!
//! Drivers create functions by their names (`SPIRVToLLVM::transFunction`): that of a kernel, a symbol, or what `OpName`
//! says of a private one. The bodies of two functions of one name become one, so each private function gets a name that
//! nothing else has where its own is another's. So does a private variable that is called as a symbol or kernel of
//! another module, as LLVM renames whichever it meets last. And so does each private function whose name the driver may have for
//! what it makes of an instruction of another module (`OpExtInst` of `s_max` is a call of `_Z3maxii`).

use super::Source;
use super::annotations::is_left_out;
use super::input::InputModule;
use crate::spirv::index::LinkageKind;
use crate::spirv::op;
use rspirv::spirv::{Decoration, StorageClass};
use std::collections::{HashMap, HashSet};

const BUILT_IN: u32 = Decoration::BuiltIn as u32;
const FUNCTION: u32 = StorageClass::Function as u32;
/// Beginnings of names that determine what a function does: the driver has its own code for it.
const INTRINSICS: [&str; 2] = ["spirv.llvm_", "llvm."];

/// Bytes of a name that a number is put behind: an instruction has less than 65,536 words.
const LONGEST: usize = 200_000;

/// New names, by the number of the module and the old id.
pub(crate) type NewNames = HashMap<(usize, u32), String>;

/// Owner of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// By a symbol, a kernel or a function without a body of a module.
    Fixed(usize),
    /// By a private function or variable.
    Private(usize, u32),
}

/// Name that `OpName` gives to an id.
struct Named {
    id: u32,
    name: String,
    kind: NamedKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedKind {
    /// Known by the name of its symbol, or as what the driver has under its name.
    Fixed,
    Kernel,
    Function,
    Variable,
}

/// Returns the names of private functions and variables that are not to keep theirs. Names that clash with no other
/// stay.
pub(crate) fn new_names(parts: &[InputModule<'_>], sources: &[Source<'_>]) -> NewNames {
    let mut taken = HashMap::new();
    let mut all = Vec::with_capacity(parts.len());
    for (number, part) in parts.iter().enumerate() {
        let is_internal = sources.get(number).is_some_and(|source| source.internal);
        let mut linked = HashSet::new();
        for (id, linkage) in part.index.linked() {
            if !is_left_out(part, id) && (linkage.kind == LinkageKind::Import || !is_internal) {
                linked.insert(id);
                taken.entry(key(&linkage.name)).or_insert(Owner::Fixed(number));
            }
        }
        for entry in &part.index.entry_points {
            taken.entry(key(&entry.name)).or_insert(Owner::Fixed(number));
        }
        all.push(named(part, &linked));
    }
    let mut new = NewNames::new();
    for (number, (part, names)) in parts.iter().zip(&all).enumerate() {
        for Named { id, name, kind } in names {
            let owner = match kind {
                NamedKind::Fixed | NamedKind::Kernel => Owner::Fixed(number),
                NamedKind::Variable => Owner::Private(number, *id),
                NamedKind::Function => continue,
            };
            let there = *taken.entry(key(name)).or_insert(owner);
            // A kernel's name is that of its entry point, which no other has.
            if *kind == NamedKind::Kernel && there != owner {
                let entry = part.index.entry_points.iter().find(|entry| entry.function == *id);
                new.extend(entry.map(|entry| ((number, *id), entry.name.clone().into_owned())));
            }
        }
    }
    let mut clashing = Vec::new();
    for (number, names) in all.iter().enumerate() {
        for Named { id, name, kind } in names {
            let mine = Owner::Private(number, *id);
            let there = match kind {
                NamedKind::Fixed | NamedKind::Kernel => continue,
                NamedKind::Function => *taken.entry(key(name)).or_insert(mine),
                NamedKind::Variable => taken.get(&key(name)).copied().unwrap_or(mine),
            };
            // A module alone stays as it is.
            let is_drivers = parts.len() > 1 && *kind == NamedKind::Function && may_be_built_in(name);
            let is_free = match there {
                _ if is_drivers => false,
                Owner::Fixed(part) => part == number,
                Owner::Private(..) => there == mine || *kind == NamedKind::Variable,
            };
            if !is_free {
                clashing.push((number, *id, head(name)));
            }
        }
    }
    let mut counts = HashMap::new();
    for (number, id, name) in clashing {
        new.entry((number, id)).or_insert_with(|| {
            let count = counts.entry((number, name)).or_insert(0u64);
            free_name(name, number, count, &mut taken)
        });
    }
    new
}

/// Returns what `OpName` says of the functions and variables of a module that are in the result.
fn named(part: &InputModule<'_>, linked: &HashSet<u32>) -> Vec<Named> {
    let kernels: HashSet<u32> = part.index.entry_points.iter().map(|entry| entry.function).collect();
    let mut names = Vec::new();
    for (_, instruction) in part.index.instructions(0..part.functions_begin) {
        let id = instruction.word(0);
        if instruction.opcode != op::NAME || is_left_out(part, id) {
            continue;
        }
        let function = part.index.function(id);
        let defining = || part.index.defining(id);
        let is_variable = || {
            defining().is_some_and(|found| {
                matches!(found.opcode, op::VARIABLE | op::UNTYPED_VARIABLE) && found.word(2) != FUNCTION
            })
        };
        let kind = match function {
            Some(_) if linked.contains(&id) => NamedKind::Fixed,
            Some(_) if kernels.contains(&id) => NamedKind::Kernel,
            Some(function) if function.defined => NamedKind::Function,
            Some(_) => NamedKind::Fixed,
            None if linked.contains(&id) || part.index.decoration(id, BUILT_IN).is_some() || !is_variable() => continue,
            None => NamedKind::Variable,
        };
        let name = instruction.string(1).0;
        let kind = if INTRINSICS.iter().any(|begin| name.starts_with(begin)) { NamedKind::Fixed } else { kind };
        if !name.is_empty() {
            names.push(Named { id, name, kind });
        }
    }
    names
}

/// Whether compilers of devices may have a function of a name: built-in functions of OpenCL C and SPIR-V are in no namespace (Itanium
/// C++ ABI, 5.1.2), and begin with no capital letter.
fn may_be_built_in(name: &str) -> bool {
    let rest = name.strip_prefix("_Z").unwrap_or_default();
    let plain = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_mangled =
        plain.len() < rest.len() && plain.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    is_mangled || name.starts_with("__") || name == "printf"
}

/// Returns what of a name is left before a number.
fn head(name: &str) -> &str {
    let mut ends = (0..=LONGEST.min(name.len())).rev();
    ends.find_map(|end| name.get(..end)).unwrap_or_default()
}

/// Returns a name as LLVM's reader has it.
fn key(name: &str) -> String {
    match name.strip_prefix("spirv.") {
        Some(rest) => rest.strip_suffix(".volatile").unwrap_or(rest).replace('_', "."),
        None => name.to_owned(),
    }
}

/// Returns a name that nothing has, and takes it. `count` is the number of those that were tried.
fn free_name(name: &str, part: usize, count: &mut u64, taken: &mut HashMap<String, Owner>) -> String {
    loop {
        let new = match *count {
            0 => format!("{name}.{part}"),
            more => format!("{name}.{part}.{more}"),
        };
        *count = count.saturating_add(1);
        if let std::collections::hash_map::Entry::Vacant(free) = taken.entry(key(&new)) {
            free.insert(Owner::Fixed(part));
            return new;
        }
    }
}
