//! How do thousands of kernels' names stand in a page without most of their bytes?
//!
//! Instances of a template have long beginnings in common: names are sorted, and of each stands what it does not share
//! with the one before.

use super::visible;
use crate::report::evidence::Names;
use crate::report::name::family;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// Names that are being gathered.
#[derive(Debug)]
pub(super) struct Gathering {
    names: Names,
    mangled: BTreeSet<String>,
}

/// Sorted names.
#[derive(Debug)]
pub(super) struct Table {
    /// Names as they are shown, and mangled.
    sorted: Vec<(String, String)>,
    places: HashMap<String, usize>,
    /// Of each, the number of its family.
    families: Vec<usize>,
    /// The families.
    all_families: Vec<String>,
}

/// The table as it stands in the page.
#[derive(Debug, Serialize)]
pub(super) struct Packed<'t> {
    /// Of each name how many UTF-16 units it shares with the one before, and the rest.
    shown: Vec<(usize, String)>,
    /// Mangled names in the form of `shown`; empty where names are shown mangled.
    mangled: Vec<(usize, String)>,
    /// Of each name the number of its family.
    family: &'t [usize],
    /// The families.
    families: &'t [String],
}

impl Gathering {
    pub(super) fn new(names: Names) -> Gathering {
        Gathering { names, mangled: BTreeSet::new() }
    }

    /// Adds mangled names.
    pub(super) fn extend<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            if !self.mangled.contains(name) {
                self.mangled.insert(name.to_owned());
            }
        }
    }

    /// Sorts them by how they are shown.
    pub(super) fn sorted(self) -> Table {
        let show = |name: String| (self.names.show(&name), name);
        let mut sorted: Vec<(String, String)> = self.mangled.into_iter().map(show).collect();
        sorted.sort();
        let places = sorted.iter().enumerate().map(|(at, (_, mangled))| (mangled.clone(), at)).collect();
        let (mut families, mut all_families): (Vec<usize>, Vec<String>) = (Vec::new(), Vec::new());
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (shown, _) in &sorted {
            let own = family(shown);
            families.push(*known.entry(own).or_insert_with(|| {
                all_families.push(visible(own));
                all_families.len().saturating_sub(1)
            }));
        }
        Table { sorted, places, families, all_families }
    }
}

impl Table {
    /// The number of a mangled name.
    pub(super) fn place(&self, mangled: &str) -> Option<usize> {
        self.places.get(mangled).copied()
    }

    /// As it stands in the page.
    pub(super) fn packed(&self) -> Packed<'_> {
        let plain = self.sorted.iter().all(|(shown, mangled)| shown == mangled);
        let none: &[(String, String)] = if plain { &[] } else { &self.sorted };
        Packed {
            shown: packed(self.sorted.iter().map(|(shown, _)| visible(shown))),
            mangled: packed(none.iter().map(|(_, mangled)| visible(mangled))),
            family: &self.families,
            families: &self.all_families,
        }
    }
}

/// Of each text how many UTF-16 units it shares with the one before, and the rest.
fn packed(all: impl Iterator<Item = String>) -> Vec<(usize, String)> {
    let mut before = String::new();
    let mut out = Vec::new();
    for text in all {
        let shared = before.chars().zip(text.chars()).take_while(|(one, other)| one == other).map(|(one, _)| one);
        let (units, bytes) = shared.fold((0usize, 0usize), |(units, bytes), c| {
            (units.saturating_add(c.len_utf16()), bytes.saturating_add(c.len_utf8()))
        });
        out.push((units, text.get(bytes..).unwrap_or_default().to_owned()));
        before = text;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_stands_once() {
        let all = ["a::b<int>", "a::b<long>", "a::𝒳b", "a::𝒳c"].map(str::to_owned);
        let rest = |units, text: &str| (units, text.to_owned());
        assert_eq!(packed(all.into_iter()), [rest(0, "a::b<int>"), rest(5, "long>"), rest(3, "𝒳b"), rest(5, "c")]);
    }

    #[test]
    fn names_are_sorted_as_they_are_shown() {
        let mut names = Gathering::new(Names { demangle: true });
        names.extend(["_ZTSN1b1kIiEE", "_ZTSN1a1kIiEE", "_ZTSN1b1kIfEE", "_ZTSN1a1kIiEE"].into_iter());
        let table = names.sorted();
        assert_eq!(table.place("_ZTSN1a1kIiEE"), Some(0));
        assert_eq!(table.place("_ZTSN1b1kIfEE"), Some(1));
        assert_eq!((table.families, table.all_families), (vec![0, 1, 1], vec!["a::k".to_owned(), "b::k".to_owned()]));
    }
}
