//! What of files does a page show, and as which data?
//!
//! Columns rather than objects: a name of a field for each of ten thousand kernels would be most of the page.

use super::PolicySection;
use super::matrix::Matrix;
use super::{Gathering, Packed, Table};
use super::{Texts, script_json, visible};
use crate::compat::examine::Examined;
use crate::compat::kernels::bodies;
use crate::error::{Error, Result};
use crate::report::FileFacts;
use crate::report::evidence::Names;
use crate::report::inspect::{requires, target};
use crate::report::sizes::part;
use crate::report::text::{bytes, count, counted, share};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Problems of a file that are shown.
const PROBLEMS: usize = 20;

/// Facts about files, gathered file by file; the page is made when all have been added.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(super) all: Vec<FileRow>,
    images: Images,
    kernels: Kernels,
    texts: Texts,
    /// Mangled names of kernels, one for each row of `kernels`.
    mangled: Vec<String>,
    /// Kernels that are the same code, by what their code is known by.
    bodies: HashMap<[u8; 32], usize>,
}

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

/// A kernel in an image. Of an image of several each takes an equal part of the bytes.
#[derive(Debug, Default, Serialize)]
struct Kernels {
    /// The row of the image.
    image: Vec<usize>,
    stored: Vec<u64>,
    size: Vec<u64>,
    /// A number that kernels with the same code share; none where the code is not known.
    code: Vec<Option<usize>>,
}

#[derive(Serialize)]
struct Data<'d> {
    view: &'static str,
    files: &'d [FileRow],
    names: Packed<'d>,
    texts: &'d [String],
    images: &'d Images,
    /// The name of each row of `kernels`.
    named: Vec<usize>,
    kernels: &'d Kernels,
    matrix: Matrix,
    policy: Option<&'d PolicySection>,
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
        let codes: Vec<HashMap<String, [u8; 32]>> = facts.images.par_iter().map(codes).collect();
        for (image, codes) in facts.images.iter().zip(codes) {
            let row = self.images.file.len();
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
            let kernels = image.kernels.len() as u64;
            for (at, name) in (0u64..).zip(&image.kernels) {
                self.kernels.image.push(row);
                self.kernels.stored.push(part(stored, kernels, at));
                self.kernels.size.push(part(image.size, kernels, at));
                let next = self.bodies.len();
                self.kernels.code.push(codes.get(name).map(|code| *self.bodies.entry(*code).or_insert(next)));
                self.mangled.push(name.clone());
            }
        }
        self.all.push(own);
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names of all kernels.
    pub(super) fn names(&self, names: Names) -> Gathering {
        let mut all = Gathering::new(names);
        all.extend(self.mangled.iter().map(String::as_str));
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
        self.mangled.iter().map(String::as_str).zip(self.kernels.stored.iter().copied())
    }

    /// The numbers of files by their paths as they are; of several with one path the first.
    pub(super) fn places(&self) -> HashMap<&str, usize> {
        self.all.iter().enumerate().rev().map(|(place, file)| (file.raw.as_str(), place)).collect()
    }

    /// The data that the page's scripts read.
    pub(super) fn data(&self, table: &Table, matrix: Matrix, policy: Option<&PolicySection>) -> Result<String> {
        let data = Data {
            view: "library",
            files: &self.all,
            names: table.packed(),
            texts: self.texts.all(),
            images: &self.images,
            named: self.mangled.iter().map(|name| table.place(name).unwrap_or_default()).collect(),
            kernels: &self.kernels,
            matrix,
            policy,
        };
        let text = serde_json::to_string(&data).map_err(|error| Error::input(error.to_string()))?;
        Ok(script_json(&text))
    }
}

/// Hashes of the code of an image's kernels, without names.
fn codes(image: &Examined<'_, '_>) -> HashMap<String, [u8; 32]> {
    let all: HashSet<&str> = image.kernels.iter().map(String::as_str).collect();
    bodies(image, &all)
}
