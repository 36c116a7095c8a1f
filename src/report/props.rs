//! Which property sets do images have, and which say the same?
//!
//! In a table the images that agree share a row, and so do names of one template: thousands of images differ in a few
//! properties. The documents have each property of each image.

pub(crate) mod json;

use super::FileFacts;
use super::document::{Form, Parts, Sink};
use super::inspect::View;
use super::name::family;
use super::table::{Column, render};
use super::text::Shown;
use super::text::{count, counted};
use crate::bundle::aspect::Epoch;
use crate::bundle::image::Image;
use crate::bundle::property::{Properties, Property, PropertySet};
use crate::bundle::property_sets::{About, Decoded, KnownSet, decode, describe, describe_stored};
use crate::bundle::property_text;
use crate::error::{Problem, Result};
use json::first_of_each;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::rc::Rc;

/// Ranges of images that a row tells; more are counted.
const SHOWN: usize = 4;

/// Rows of a set that are held to find out which images share one. Those of a set with more stand in several tables.
const ROWS: usize = 1 << 14;

/// The part of a file that is shown.
#[derive(Debug)]
pub(crate) struct FileProps<'a> {
    /// The file.
    pub(crate) path: &'a str,
    /// The numbering of aspects in the file.
    pub(crate) epoch: Epoch,
    /// The images that are selected.
    pub(crate) images: Vec<ImageProps<'a>>,
}

/// The part of an image that is shown.
#[derive(Debug)]
pub(crate) struct ImageProps<'a> {
    /// The image.
    pub(crate) image: &'a Image<'a>,
    /// The sets with the selected properties; all sets where nothing is selected.
    pub(crate) sets: Cow<'a, [PropertySet<'a>]>,
}

/// Options of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Whether each property of each image has a row of its own.
    pub(crate) all: bool,
    /// Whether values are shown as they are stored.
    pub(crate) raw: bool,
    /// Whether every image is told, and none counted only.
    pub(crate) every: bool,
}

/// A set of several images.
#[derive(Default)]
struct Section<'f, 'a> {
    images: BTreeSet<usize>,
    /// Images whose set holds nothing.
    empty: BTreeSet<usize>,
    properties: Vec<(&'f ImageProps<'a>, &'f [Property<'a>])>,
}

/// One row: images with the same value for names of one family.
struct Row<'a> {
    /// The images, in order.
    images: Vec<usize>,
    /// A name as it is stored, and the others; most rows have one.
    name: &'a str,
    others: BTreeSet<&'a str>,
    target: &'a str,
    /// The first name in full; where there are several, what they have in common.
    first: String,
    label: Rc<str>,
    value: Rc<str>,
}

/// Whether a property of a set is wanted, or a set without one.
pub(crate) type Wanted<'w> = &'w dyn Fn(&str, Option<&str>) -> bool;

/// The properties that are wanted, by set and name, or all. Of what a damaged image has twice, the runtime sees the first.
pub(crate) fn collect<'a>(facts: &FileFacts<'a>, wanted: Option<Wanted<'_>>) -> FileProps<'a> {
    let epoch = facts.bundle.map_or(Epoch::From2026, |bundle| bundle.epoch);
    let is_wanted = |set: &str, name: Option<&str>| wanted.is_none_or(|wanted| wanted(set, name));
    let of = |image: &'a Image<'a>| {
        let all = image.properties.sets.as_slice();
        if wanted.is_none() && names_once(all) {
            return ImageProps { image, sets: Cow::Borrowed(all) };
        }
        let sets = first_of_each(all, |set| set.name).filter_map(|set| {
            let all = first_of_each(&set.properties, |property| property.name);
            let properties: Vec<Property<'a>> =
                all.filter(|property| is_wanted(set.name, Some(property.name))).copied().collect();
            let shown = !properties.is_empty() || (set.properties.is_empty() && is_wanted(set.name, None));
            shown.then_some(PropertySet { name: set.name, properties })
        });
        ImageProps { image, sets: sets.collect() }
    };
    FileProps { path: facts.path, epoch, images: facts.images.iter().map(|one| of(one.image)).collect() }
}

/// Whether no set, and no property of a set, has the name of another.
fn names_once(sets: &[PropertySet<'_>]) -> bool {
    let once = |set: &PropertySet<'_>| {
        first_of_each(&set.properties, |property| property.name).count() == set.properties.len()
    };
    first_of_each(sets, |set| set.name).count() == sets.len() && sets.iter().all(once)
}

/// The name of a property in the source. Those of program metadata are a kernel's name, `@` and a key.
pub(crate) fn shown_name(name: &str, demangle: impl Fn(&str) -> String) -> String {
    match name.rsplit_once('@') {
        Some((kernel, key)) if kernel.starts_with("_Z") => format!("{}@{key}", demangle(kernel)),
        _ => demangle(name),
    }
}

/// Place of a row: what its cells say.
type Place<'p> = (Rc<str>, Rc<str>, &'p str, Option<usize>);

impl<'a> FileProps<'a> {
    /// Whether no property is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.images.iter().all(|one| one.sets.is_empty())
    }

    /// The sets, in the order in which images have them.
    fn sections(&self) -> Vec<(&'a str, Section<'_, 'a>)> {
        let mut sections: Vec<(&str, Section<'_, 'a>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for one in &self.images {
            for set in one.sets.iter() {
                let place = *places.entry(set.name).or_insert_with(|| {
                    sections.push((set.name, Section::default()));
                    sections.len().saturating_sub(1)
                });
                let Some((_, section)) = sections.get_mut(place) else { continue };
                section.images.insert(one.image.index);
                if set.properties.is_empty() {
                    section.empty.insert(one.image.index);
                }
                section.properties.push((one, &set.properties));
            }
        }
        sections
    }

    /// Shows a table for each set, piece by piece.
    fn table(&self, view: &View, shape: Shape, show: &mut dyn FnMut(&Shown) -> Result<()>) -> Result<()> {
        let targets: BTreeSet<&str> = self.images.iter().map(|one| target(one.image)).collect();
        for (set, section) in self.sections() {
            let mut head = Shown::default();
            head.push_str("\n");
            head.append(&view.heading(&format!("[{set}] {}", of_images(&section.images, SHOWN))));
            show(&head)?;
            self.rows(set, &section, (view, shape, targets.len() > 1), show)?;
            if !section.empty.is_empty() {
                let mut out = Shown::default();
                writeln!(out, "without a property: {}", of_images(&section.empty, SHOWN));
                show(&out)?;
            }
        }
        let without: BTreeSet<usize> =
            self.images.iter().filter(|one| one.image.properties.sets.is_empty()).map(|one| one.image.index).collect();
        if !without.is_empty() {
            let mut out = Shown::default();
            out.push_str("\n");
            writeln!(out, "no property sets: {}", of_images(&without, SHOWN));
            show(&out)?;
        }
        Ok(())
    }

    /// Shows the rows of a set, with a column for targets or without.
    fn rows(
        &self,
        set: &str,
        section: &Section<'_, 'a>,
        (view, shape, targets): (&View, Shape, bool),
        show: &mut dyn FnMut(&Shown) -> Result<()>,
    ) -> Result<()> {
        let mut rows: Vec<Row<'a>> = Vec::new();
        let mut places: HashMap<Place<'_>, usize> = HashMap::new();
        // Of symbols the names are what matters; kernels are many instances of few templates.
        let fold = !shape.all && matches!(KnownSet::find(set).about, About::Kernel | About::KernelOrFunction);
        for (one, properties) in &section.properties {
            let target = target(one.image);
            for property in *properties {
                let name = shown_name(property.name, |name| view.kernel(name));
                for (shown, value) in self.values(&one.image.properties, set, property, name, shape.raw) {
                    let label = if fold { family(&shown) } else { &shown };
                    let key = (label.into(), value.into(), target, shape.all.then_some(one.image.index));
                    let place = *places.entry(key).or_insert_with_key(|(label, value, ..)| {
                        let (label, value) = (label.clone(), value.clone());
                        let (images, others) = Default::default();
                        rows.push(Row { images, name: property.name, others, target, first: shown, label, value });
                        rows.len().saturating_sub(1)
                    });
                    let Some(row) = rows.get_mut(place) else { continue };
                    if row.images.last() != Some(&one.image.index) {
                        row.images.push(one.image.index);
                    }
                    if row.name != property.name {
                        row.others.insert(property.name);
                    }
                }
                if rows.len() >= ROWS {
                    places.clear();
                    show(&draw(std::mem::take(&mut rows), (view, shape, targets)))?;
                }
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        drop(places);
        show(&draw(rows, (view, shape, targets)))
    }

    /// Decodes a property: a name and a value for each part of it.
    fn values(
        &self,
        all: &Properties<'_>,
        set: &str,
        property: &Property<'_>,
        name: String,
        raw: bool,
    ) -> Vec<(String, String)> {
        if raw {
            return vec![(name, describe_stored(&property.value, usize::MAX))];
        }
        match decode(all, set, property, self.epoch) {
            Some(Decoded::Defaults(values)) => {
                values.into_iter().map(|(constant, value)| (format!("{name}: {constant}"), value)).collect()
            }
            decoded => vec![(name, describe(decoded, property.value))],
        }
    }
}

/// A table of rows, with a column for targets or without.
fn draw(rows: Vec<Row<'_>>, (view, shape, targets): (&View, Shape, bool)) -> Shown {
    let cells: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| {
            let name = match row.others.len() {
                0 => row.first,
                more => format!("{} ({})", row.label, counted(more.saturating_add(1), "name")),
            };
            let images = ranges(row.images.iter().copied(), if shape.every { usize::MAX } else { SHOWN });
            let target = targets.then(|| row.target.to_owned());
            [name, (*row.value).to_owned()].into_iter().chain(target).chain([images]).collect()
        })
        .collect();
    let mut columns =
        vec![("Property", Column::Wrapped(50)), ("Value", Column::Wrapped(40)), ("Images", Column::Wrapped(24))];
    if targets {
        columns.insert(2, ("Target", Column::Wrapped(24)));
    }
    render(&columns, &cells, &["Target", "Images"], view.width, view.color)
}

/// The device of an image, as far as it is known.
fn target<'a>(image: &Image<'a>) -> &'a str {
    image.compile_target().unwrap_or(image.target)
}

/// `image 3`, `20 images: 0-19`.
fn of_images(images: &BTreeSet<usize>, most: usize) -> String {
    match images.len() {
        1 => format!("image {}", ranges(images.iter().copied(), most)),
        more => format!("{}: {}", counted(more, "image"), ranges(images.iter().copied(), most)),
    }
}

/// `0-3, 7`, and of more than `most` ranges the first: `0, 2, 4, 6, and 96 more`.
fn ranges(numbers: impl Iterator<Item = usize>, most: usize) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown: Vec<String> = runs
        .iter()
        .take(most)
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    let rest: usize = runs.iter().skip(most).map(|(first, last)| last.saturating_sub(*first).saturating_add(1)).sum();
    let more = if rest > 0 { format!(", and {} more", count(rest)) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// The properties of files, written as the files are read.
pub(crate) struct Listing<'o>(Kind<'o>);

enum Kind<'o> {
    Table { shape: Shape, parts: Parts, out: &'o mut dyn Sink },
    Json(json::Document<&'o mut dyn Write>),
    Jsonl(&'o mut dyn Write),
}

impl<'o> Listing<'o> {
    /// Begins the list.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn open(form: Form, shape: Shape, out: &'o mut dyn Sink) -> Result<Listing<'o>> {
        Ok(Listing(match form {
            Form::Json => Kind::Json(json::Document::open(out.documents())?),
            Form::Jsonl => Kind::Jsonl(out.documents()),
            _ => Kind::Table { shape, parts: Parts::default(), out },
        }))
    }

    /// Adds the properties of a file, and what is wrong with it. A file without images has no table.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn file(&mut self, file: &FileProps<'_>, problems: &[Problem]) -> Result<()> {
        match &mut self.0 {
            Kind::Json(document) => document.file(file, problems),
            Kind::Jsonl(out) => json::lines(out, file),
            Kind::Table { .. } if file.images.is_empty() => Ok(()),
            Kind::Table { shape, parts, out } => {
                let view = out.look().view;
                parts.show(&view.heading(file.path), *out)?;
                file.table(&view, *shape, &mut |text| out.show(text))
            }
        }
    }

    /// Ends the list.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn end(self) -> Result<()> {
        match self.0 {
            Kind::Json(document) => document.close().map(|_| ()),
            _ => Ok(()),
        }
    }
}

/// The sets of each image that has something to show, as DPC++'s tools write them.
///
/// # Errors
/// `Input` where a value has no such text.
pub(crate) fn texts(file: &FileProps<'_>) -> Result<Vec<String>> {
    let shown = file.images.iter().filter(|one| !one.sets.is_empty());
    shown.map(|one| property_text::write_sets(&one.sets).map_err(|error| error.context(file.path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range_and_the_rest_is_counted() {
        let of = |numbers: &[usize]| ranges(numbers.iter().copied(), 4);
        assert_eq!(of(&[3]), "3");
        assert_eq!(of(&[0, 1, 2, 7]), "0-2, 7");
        assert_eq!(of(&[0, 2, 4, 6, 8, 10, 12, 14, 15]), "0, 2, 4, 6, and 5 more");
        assert_eq!(of(&[]), "");
    }
}
