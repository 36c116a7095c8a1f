//! What of files does a page show, and as which data?
//!
//! Columns rather than objects: a name of a field for each of ten thousand kernels would be most of the page.

use super::PolicySection;
use super::matrix::Matrix;
use super::{Each, Gathering, Packed, Table};
use super::{Texts, visible};
use crate::compat::kernels::ordered_bodies;
use crate::names;
use crate::report::FileFacts;
use crate::report::evidence::Names;
use crate::report::inspect::{requires, target};
use crate::report::sizes::part;
use crate::report::text::{bytes, count, counted, share};
use rayon::prelude::*;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use std::collections::{BTreeSet, HashMap};

/// Problems of a file that are shown.
const PROBLEMS: usize = 20;

/// Facts about files, gathered file by file; the page is made when all have been added.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(super) all: Vec<FileRow>,
    images: Images,
    texts: Texts,
    /// Mangled names of the kernels of one image after the other.
    mangled: names::Names,
    /// Of each of these kernels a number that those with the same code share; [`NO_CODE`] where it is not known.
    code: Vec<u32>,
    /// Numbers of code, by half of its hash, which tells it apart as well.
    bodies: HashMap<[u8; 16], u32>,
}

/// Marks a kernel whose code is not known.
const NO_CODE: u32 = u32::MAX;

/// Images whose kernels' code is read at a time.
const IMAGES: usize = 64;

#[derive(Debug, Default, Serialize)]
pub(super) struct FileRow {
    pub(crate) path: String,
    container: String,
    producer: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) stored: u64,
    pub(crate) size: u64,
    pub(crate) images: usize,
    pub(crate) kernels: usize,
    problems: Vec<String>,
    /// The path as it is.
    #[serde(skip)]
    pub(crate) raw: String,
}

#[derive(Debug, Default, Serialize)]
struct Images {
    file: Vec<usize>,
    index: Vec<usize>,
    state: Vec<usize>,
    format: Vec<usize>,
    target: Vec<usize>,
    requires: Vec<usize>,
    kernels: Vec<usize>,
    stored: Vec<u64>,
    size: Vec<u64>,
}

/// The kernels in images. Of an image of several each takes an equal part of the bytes.
struct Kernels<'f>(&'f Files);

#[derive(Serialize)]
struct Data<'d, N> {
    view: &'static str,
    files: &'d [FileRow],
    names: Packed<'d>,
    texts: &'d [String],
    images: &'d Images,
    /// The name of each row of `kernels`.
    named: N,
    kernels: Kernels<'d>,
    matrix: Matrix,
    policy: Option<&'d PolicySection>,
}

impl Images {
    /// Rows of images, each as often as it has kernels, with the number of the kernel in it.
    fn of_kernels(&self) -> impl Iterator<Item = (usize, u64)> {
        let of_row = |(row, kernels): (usize, &usize)| (0..*kernels as u64).map(move |at| (row, at));
        self.kernels.iter().enumerate().flat_map(of_row)
    }

    /// The bytes of each kernel, of the bytes of each image.
    fn parts(&self, whole: &[u64]) -> impl Iterator<Item = u64> {
        self.of_kernels().map(|(row, at)| {
            let kernels = self.kernels.get(row).copied().unwrap_or_default() as u64;
            part(whole.get(row).copied().unwrap_or_default(), kernels, at)
        })
    }
}

impl Serialize for Kernels<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Files { images, code, .. } = self.0;
        let mut all = out.serialize_struct("Kernels", 4)?;
        // The row of the image.
        all.serialize_field("image", &Each(|| images.of_kernels().map(|(row, _)| row)))?;
        all.serialize_field("stored", &Each(|| images.parts(&images.stored)))?;
        all.serialize_field("size", &Each(|| images.parts(&images.size)))?;
        all.serialize_field("code", &Each(|| code.iter().map(|code| (*code != NO_CODE).then_some(*code))))?;
        all.end()
    }
}

impl Files {
    /// Adds a file; one without device code, and with nothing wrong, is none of a page's.
    pub(crate) fn add(&mut self, facts: &FileFacts<'_>) {
        if facts.bundle.is_none() && facts.problems.is_empty() {
            return;
        }
        let problem = |one: &crate::error::Problem| {
            let image = one.image.map(|image| format!("image {image}: ")).unwrap_or_default();
            visible(&format!("{image}{}", one.error))
        };
        let mut own = FileRow {
            path: visible(facts.path),
            container: facts.host.map(|host| host.kind.name().to_owned()).unwrap_or_default(),
            producer: facts.host.and_then(|host| host.producer.as_ref()).map(|producer| visible(&producer.name)),
            bytes: facts.bytes,
            problems: facts.problems.iter().take(PROBLEMS).map(problem).collect(),
            raw: facts.path.to_owned(),
            ..FileRow::default()
        };
        let more = facts.problems.len().saturating_sub(PROBLEMS);
        if more > 0 {
            own.problems.push(format!("and {} more, in `inspect --format json`", count(more)));
        }
        for image in &facts.images {
            let stored = image.image.stored.len() as u64;
            let target = target(image);
            self.images.file.push(self.all.len());
            self.images.index.push(image.image.index);
            self.images.state.push(self.texts.intern(image.state.name()));
            self.images.format.push(self.texts.intern(image.format.name()));
            self.images.target.push(self.texts.intern(if target.is_empty() { "any device" } else { &target }));
            self.images.requires.push(self.texts.intern(&requires(&image.requirements)));
            self.images.kernels.push(image.kernels.len());
            self.images.stored.push(stored);
            self.images.size.push(image.size);
            own.images = own.images.saturating_add(1);
            own.kernels = own.kernels.saturating_add(image.kernels.len());
            own.stored = own.stored.saturating_add(stored);
            own.size = own.size.saturating_add(image.size);
            image.kernels.iter().for_each(|name| self.mangled.push(name));
        }
        for images in facts.images.chunks(IMAGES) {
            let codes: Vec<_> = images.par_iter().map(ordered_bodies).collect();
            for code in codes.into_iter().flatten() {
                let next = self.bodies.len() as u32;
                let half = code.and_then(|code| code.first_chunk::<16>().copied());
                self.code.push(half.map_or(NO_CODE, |half| *self.bodies.entry(half).or_insert(next)));
            }
        }
        self.all.push(own);
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names of all kernels.
    pub(super) fn names(&self, names: Names) -> Gathering<'_> {
        let mut all = Gathering::new(names);
        all.extend(self.mangled.iter());
        all
    }

    pub(super) fn title(&self) -> String {
        let base = |file: &FileRow| crate::compat::gate::base_name(&file.path).to_owned();
        match self.all.as_slice() {
            [only] => base(only),
            // Files in one package have the package's name.
            all if self.package().is_some() => {
                format!("{}: {}", self.package().unwrap_or_default(), counted(all.len(), "file"))
            }
            [first, rest @ ..] => format!("{} and {} more", base(first), counted(rest.len(), "file")),
            [] => "no device code".to_owned(),
        }
    }

    /// Name of the package that all files are in, where it is one.
    fn package(&self) -> Option<&str> {
        let package = |file: &FileRow| file.path.split_once('!').map(|(package, _)| package.len());
        let (first, rest) = self.all.split_first()?;
        let path = first.path.get(..package(first)?)?;
        let same = |file: &FileRow| file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('!'));
        rest.iter().all(same).then(|| crate::compat::gate::base_name(path))
    }

    pub(super) fn facts(&self) -> String {
        let sum = |of: fn(&FileRow) -> u64| self.all.iter().map(of).fold(0u64, u64::saturating_add);
        let (stored, size, whole) = (sum(|file| file.stored), sum(|file| file.size), sum(|file| file.bytes));
        let inflated = if stored == size { String::new() } else { format!(" ({} inflated)", bytes(size)) };
        let mut facts = vec![
            format!("{}, {}", counted(self.images.file.len(), "image"), counted(self.mangled.len(), "kernel")),
            format!("{}{inflated} of device code in {}, {}", bytes(stored), bytes(whole), share(stored, whole)),
        ];
        let producers: BTreeSet<&String> = self.all.iter().filter_map(|file| file.producer.as_ref()).collect();
        facts.extend(producers.into_iter().take(3).cloned());
        facts.join(" · ")
    }

    /// Kernels by the mangled name, with the bytes of each in its image.
    pub(super) fn stored(&self) -> impl Iterator<Item = (&str, u64)> {
        self.mangled.iter().zip(self.images.parts(&self.images.stored))
    }

    /// The numbers of files by their paths as they are; of several with one path the first.
    pub(super) fn places(&self) -> HashMap<&str, usize> {
        self.all.iter().enumerate().rev().map(|(place, file)| (file.raw.as_str(), place)).collect()
    }

    /// The data that the page's scripts read.
    pub(super) fn data<'d>(
        &'d self,
        table: &'d Table<'_>,
        matrix: Matrix,
        policy: Option<&'d PolicySection>,
    ) -> impl Serialize + 'd {
        Data {
            view: "library",
            files: &self.all,
            names: table.packed(),
            texts: self.texts.all(),
            images: &self.images,
            named: Each(|| self.mangled.iter().map(|name| table.place(name).unwrap_or_default())),
            kernels: Kernels(self),
            matrix,
            policy,
        }
    }
}
