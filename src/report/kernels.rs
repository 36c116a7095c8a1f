//! What kernels are in a file, for a person?
//!
//! Few kernels have a row each; of many, those that differ in their names only share one.

pub(crate) mod json;
pub(crate) mod page;
pub(crate) mod queries;

use super::document::{Form, Parts, Sink};
use super::inspect::View;
use super::table::{Column, render};
use super::text::Shown;
use super::text::{bytes, count, counted};
use crate::build::Device;
use crate::build::query::sycl::{Answer, Value};
use crate::compat::kernels::KernelFacts;
use crate::error::{Problem, Result};
use crate::native::Kernel;
use crate::spirv::kernel::SubGroup;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write;
use std::ops::Range;

/// Kernels that have a row each unless all are asked for.
const ROWS: usize = 40;
/// Kernels of which each has a page where they are asked for by name.
const PAGES: usize = 16;
/// Kernels of a group among which the example is chosen.
const EXAMPLES: usize = 64;

/// Facts about kernels of one file, all or some of them.
#[derive(Debug, Default)]
pub(crate) struct FileKernels<'a> {
    /// The path as the user gave it.
    pub(crate) path: &'a str,
    /// The kernels that are to be shown, in the order of the images.
    pub(crate) kernels: Vec<KernelFacts>,
    /// Answers of live devices.
    pub(crate) devices: Vec<Answers<'a>>,
}

/// Answers of one device about kernels.
#[derive(Debug)]
pub(crate) struct Answers<'a> {
    /// The device.
    pub(crate) device: &'a Device,
    /// By image and mangled name.
    pub(crate) kernels: HashMap<(usize, String), OnDevice>,
}

/// A kernel on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OnDevice {
    /// The device's compiler built the kernel.
    Answers {
        /// SYCL's queries.
        sycl: Vec<Answer>,
        /// Answers to queries that OpenCL has beyond SYCL's.
        beyond: Vec<(&'static str, u64)>,
    },
    /// The kernel was not built, or the device could not be asked.
    None {
        /// The name in `sycl::errc` of what a SYCL program would meet; none where only the tool could not ask.
        errc: Option<&'static str>,
        /// The reason, as a sentence.
        reason: String,
    },
}

impl Answers<'_> {
    /// The device's answers about a kernel.
    pub(crate) fn on_kernel(&self, kernel: &KernelFacts) -> Option<&OnDevice> {
        self.kernels.get(&(kernel.image, kernel.name.clone()))
    }
}

/// Native code for a kernel that takes the same of several devices.
struct Variant<'f> {
    devices: Vec<&'f str>,
    native: Option<&'f Kernel>,
}

/// Whether the cells of two kernels' native code are the same.
fn takes_as(one: &Kernel, other: &Kernel) -> bool {
    let of = |kernel: &Kernel| (kernel.registers, kernel.simd, kernel.spill, kernel.private, kernel.scratch);
    of(one) == of(other)
}

/// Returns native code for a kernel: once where all parts take the same, else by what they take, with the devices of each.
fn variants(kernel: &KernelFacts) -> Vec<Variant<'_>> {
    let mut variants: Vec<Variant<'_>> = Vec::new();
    for (devices, native) in &kernel.native {
        let known = variants.iter_mut().find(|known| known.native.is_some_and(|known| takes_as(known, native)));
        match known {
            Some(known) => known.devices.push(devices),
            None => variants.push(Variant { devices: vec![devices], native: Some(native) }),
        }
    }
    if variants.is_empty() {
        variants.push(Variant { devices: Vec::new(), native: None });
    }
    variants
}

/// The cells about native code, and the first of them, which names devices.
const NATIVE_CELLS: Range<usize> = CODE_FOR..10;
const CODE_FOR: usize = 4;

/// Returns the cells that do not depend on how kernels are put together, with all that native code may need.
fn cells(file: &FileKernels<'_>, kernel: &KernelFacts, variant: &Variant<'_>) -> Vec<String> {
    let number = |of: &dyn Fn(&Kernel) -> Option<u64>| {
        variant.native.and_then(of).map_or_else(dash, |number| number.to_string())
    };
    let mut cells = vec![
        aspects(kernel),
        work_group(kernel),
        kernel.reqd_sub_group_size.map_or_else(dash, sub_group),
        kernel.local_memory().filter(|size| *size > 0).map_or_else(dash, bytes),
        match variant.devices.len() {
            0 => dash(),
            all if all == kernel.native.len() => "all".to_owned(),
            _ => variant.devices.join(", "),
        },
        number(&|native| native.registers),
        number(&|native| native.simd),
        number(&|native| native.spill),
        number(&|native| native.private),
        // Where spills and private memory are told apart, their sum says nothing new.
        number(&|native| native.scratch.filter(|_| native.spill.is_none() || native.private.is_none())),
    ];
    for device in &file.devices {
        let of = |query: &str| match device.on_kernel(kernel) {
            Some(OnDevice::Answers { sycl, .. }) => answer(sycl, query).map_or_else(dash, |number| number.to_string()),
            Some(OnDevice::None { errc: Some(errc), .. }) => (*errc).to_owned(),
            _ => dash(),
        };
        cells.extend(
            ["work_group_size", "preferred_work_group_size_multiple", "private_mem_size", "max_sub_group_size"].map(of),
        );
    }
    cells
}

/// A table of the kernels of a file, put together as they come: rows, or groups where there are many and not all are asked
/// for.
#[derive(Default)]
struct Table {
    all: bool,
    kernels: usize,
    /// Hashes of the names, with keys of their own in every run.
    names: HashSet<u64>,
    hasher: RandomState,
    images: HashSet<usize>,
    native: bool,
    /// Whether native code takes more of one device than of another.
    varies: bool,
    /// Names of the devices that answered.
    devices: Vec<String>,
    /// The rows, until there are too many.
    rows: Vec<Row>,
    groups: Groups,
}

/// A kernel, or what it takes of some devices.
struct Row {
    image: usize,
    args: String,
    cells: Vec<String>,
    name: String,
}

/// Kernels of which all cells are the same.
struct Group {
    cells: Vec<String>,
    kernels: usize,
    /// The least and the most arguments, where any kernel tells.
    args: Option<[usize; 2]>,
    /// The first kernels, each with its place among all.
    examples: Vec<(usize, String)>,
}

/// Groups in the order of their first kernels.
#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    places: HashMap<Vec<String>, usize>,
}

impl Groups {
    /// Returns the place of the group of these cells.
    fn place(&mut self, cells: Vec<String>) -> usize {
        let next = self.groups.len();
        let place = *self.places.entry(cells.clone()).or_insert(next);
        if place == next {
            self.groups.push(Group { cells, kernels: 0, args: None, examples: Vec::new() });
        }
        place
    }
}

impl Group {
    fn add(&mut self, kernels: usize, args: Option<[usize; 2]>, examples: impl IntoIterator<Item = (usize, String)>) {
        self.kernels = self.kernels.saturating_add(kernels);
        self.args = match (self.args, args) {
            (Some([least, most]), Some([other, another])) => Some([least.min(other), most.max(another)]),
            (one, other) => one.or(other),
        };
        self.examples.extend(examples);
    }

    fn add_kernel(&mut self, at: usize, kernel: &KernelFacts) {
        let example = (self.examples.len() < EXAMPLES).then(|| (at, kernel.name.clone()));
        self.add(1, kernel.known_args().map(|args| [args; 2]), example);
    }
}

impl Table {
    /// Adds kernels.
    fn add(&mut self, file: &FileKernels<'_>, view: &View) {
        // By what cells are made of: most kernels are like one before them, and need none made.
        let mut alike: HashMap<Facts<'_>, usize> = HashMap::new();
        if self.devices.is_empty() {
            self.devices = file.devices.iter().map(|answers| answers.device.name.clone()).collect();
        }
        for kernel in &file.kernels {
            let at = self.kernels;
            self.kernels = at.saturating_add(1);
            self.names.insert(self.hasher.hash_one(&kernel.name));
            self.images.insert(kernel.image);
            self.native |= !kernel.native.is_empty();
            let rows = self.all || self.kernels <= ROWS;
            if !rows {
                self.rows = Vec::new();
            }
            let mut known = Facts::new(file, kernel).map(|facts| alike.entry(facts).or_insert(usize::MAX));
            let group = known.as_ref().and_then(|place| self.groups.groups.get_mut(**place));
            if let Some(group) = group.filter(|_| !rows) {
                group.add_kernel(at, kernel);
                continue;
            }
            let variants = variants(kernel);
            self.varies |= variants.len() > 1;
            for variant in variants {
                let cells = cells(file, kernel, &variant);
                if rows {
                    let name = view.kernel(&kernel.name);
                    self.rows.push(Row { image: kernel.image, args: args(kernel), cells: cells.clone(), name });
                }
                if self.all {
                    continue;
                }
                let place = self.groups.place(cells);
                if let Some(group) = self.groups.groups.get_mut(place) {
                    group.add_kernel(at, kernel);
                }
                if let Some(known) = &mut known {
                    **known = place;
                }
            }
        }
    }

    /// The titles of [`cells`] that are told.
    fn titles(&self) -> Vec<(&'static str, Column)> {
        let mut titles = vec![
            ("Aspects", Column::Wrapped(24)),
            ("Work-group", Column::Text),
            ("Sub-group", Column::Text),
            ("Local", Column::Number),
        ];
        if self.native {
            titles.extend(self.varies.then_some(("Code for", Column::Wrapped(24))));
            titles.extend([
                ("Registers", Column::Number),
                ("SIMD", Column::Number),
                ("Spill", Column::Number),
                ("Private", Column::Number),
                ("Scratch", Column::Number),
            ]);
        }
        for _ in &self.devices {
            titles.extend([
                ("Max", Column::Number),
                ("Multiple", Column::Number),
                ("Private", Column::Number),
                ("Sub", Column::Number),
            ]);
        }
        titles
    }

    /// Returns the cells that are told.
    fn told(&self, mut cells: Vec<String>) -> Vec<String> {
        let without = match (self.native, self.varies) {
            (false, _) => NATIVE_CELLS,
            (true, false) => CODE_FOR..NATIVE_CELLS.start.saturating_add(1),
            (true, true) => 0..0,
        };
        let mut at = 0usize..;
        cells.retain(|_| at.next().is_none_or(|at| !without.contains(&at)));
        cells
    }

    /// Ends the table.
    fn end(mut self, path: &str, view: &View) -> Shown {
        let mut sentence = format!("{} in {}", counted(self.kernels, "kernel"), counted(self.images.len(), "image"));
        if self.names.len() < self.kernels {
            sentence.push_str(&format!(", {}", counted(self.names.len(), "name")));
        }
        let rows = self.all || self.kernels <= ROWS;
        let mut titles = match rows {
            true => vec![("Image", Column::Number), ("Args", Column::Number)],
            false => vec![("Kernels", Column::Number), ("Args", Column::Text)],
        };
        titles.extend(self.titles());
        titles.push((if rows { "Kernel" } else { "A kernel" }, Column::Name));
        let lines = if rows { self.lines() } else { self.groups(view) };
        let mut out = view.heading(path);
        writeln!(out, "  {sentence}");
        out.push_str("\n");
        out.append(&drawn(titles, lines, view));
        if !self.devices.is_empty() {
            out.push_str(
                "Max, Multiple, Private, Sub: work_group_size, preferred_work_group_size_multiple, private_mem_size and\n",
            );
            writeln!(out, "max_sub_group_size on {}", self.devices.join(", then "));
        }
        out
    }

    fn lines(&mut self) -> Vec<Vec<String>> {
        let rows = std::mem::take(&mut self.rows).into_iter();
        let line = |row: Row| {
            let mut line = vec![row.image.to_string(), row.args];
            line.extend(self.told(row.cells));
            line.push(row.name);
            line
        };
        rows.map(line).collect()
    }

    fn groups(&mut self, view: &View) -> Vec<Vec<String>> {
        // Groups that differ in what is not told are one.
        let mut merged = Groups::default();
        for group in std::mem::take(&mut self.groups).groups {
            let place = merged.place(self.told(group.cells));
            if let Some(known) = merged.groups.get_mut(place) {
                known.add(group.kernels, group.args, group.examples);
            }
        }
        let mut groups = merged.groups;
        groups.sort_by_key(|group| std::cmp::Reverse(group.kernels));
        let line = |mut group: Group| {
            let range = match group.args {
                Some([least, most]) if least == most => least.to_string(),
                Some([least, most]) => format!("{least}-{most}"),
                None => dash(),
            };
            let mut line = vec![count(group.kernels), range];
            line.extend(group.cells);
            // The shortest mangled name of some: it says most in little space, and only it need be demangled.
            group.examples.sort_by_key(|(at, _)| *at);
            let example = group.examples.iter().take(EXAMPLES).min_by_key(|(_, name)| name.len());
            line.push(example.map(|(_, name)| view.kernel(name)).unwrap_or_default());
            line
        };
        groups.into_iter().map(line).collect()
    }
}

/// The facts that the cells of a kernel are made of, where neither a device nor native code adds to them.
#[derive(PartialEq, Eq, Hash)]
struct Facts<'f> {
    aspects: (&'f [String], &'f [String], bool, bool),
    sizes: (Option<&'f [u64]>, Option<&'f [u64]>, Option<SubGroup>),
    local: Option<u64>,
}

impl<'f> Facts<'f> {
    fn new(file: &FileKernels<'_>, kernel: &'f KernelFacts) -> Option<Facts<'f>> {
        (file.devices.is_empty() && kernel.native.is_empty()).then(|| Facts {
            aspects: (&kernel.declared, &kernel.used, kernel.module.is_some(), kernel.esimd),
            sizes: (
                kernel.reqd_work_group_size.as_deref(),
                kernel.work_group_size_hint.as_deref(),
                kernel.reqd_sub_group_size,
            ),
            local: kernel.local_memory(),
        })
    }
}

/// The table without columns in which nothing stands, whose room the last one gets.
fn drawn(mut titles: Vec<(&str, Column)>, mut rows: Vec<Vec<String>>, view: &View) -> Shown {
    let optional = ["Aspects", "Work-group", "Sub-group", "Local", "Registers", "SIMD", "Spill", "Private", "Scratch"];
    // The devices' own columns begin with this one, and all stay.
    let devices = |titles: &[(&str, Column)]| titles.iter().position(|(title, _)| *title == "Max");
    let mut at = 0;
    while let Some((title, _)) = titles.get(at).filter(|_| devices(&titles).is_none_or(|first| at < first)) {
        let empty = |cell: &str| cell == "-" || cell == "0" && matches!(*title, "Private" | "Scratch");
        if optional.contains(title) && rows.iter().all(|row| row.get(at).is_none_or(|cell| empty(cell))) {
            titles.remove(at);
            for row in &mut rows {
                row.remove(at);
            }
        } else {
            at += 1;
        }
    }
    let minor =
        ["Scratch", "Private", "SIMD", "Multiple", "Local", "Sub", "Args", "Max", "Sub-group", "Registers", "Spill"];
    render(&titles, &rows, &minor, view.width, view.color)
}

fn dash() -> String {
    "-".to_owned()
}

/// The number of arguments; of how many in the source, where some were removed.
fn args(kernel: &KernelFacts) -> String {
    let Some(passed) = kernel.known_args() else { return dash() };
    match kernel.arguments.len() {
        all if kernel.from_source && all > passed => format!("{passed} of {all}"),
        _ => passed.to_string(),
    }
}

/// The aspects that code uses and those that are declared, where they differ.
fn aspects(kernel: &KernelFacts) -> String {
    let mut parts: Vec<String> = kernel
        .declared
        .iter()
        .map(|name| {
            let told = kernel.module.is_none() || kernel.used.contains(name);
            if told { name.clone() } else { format!("{name} (declared)") }
        })
        .collect();
    let undeclared = kernel.used.iter().filter(|name| !kernel.declared.contains(name));
    parts.extend(undeclared.map(|name| format!("{name} (used)")));
    if kernel.esimd && !parts.iter().any(|name| name.contains("esimd")) {
        parts.push("esimd".to_owned());
    }
    if parts.is_empty() { dash() } else { parts.join(", ") }
}

/// A required work-group size, or one that is hinted.
fn work_group(kernel: &KernelFacts) -> String {
    let joined = |size: &[u64]| size.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    match (&kernel.reqd_work_group_size, &kernel.work_group_size_hint) {
        (Some(size), _) => joined(size),
        (None, Some(hint)) => format!("{} hint", joined(hint)),
        _ => dash(),
    }
}

fn sub_group(size: SubGroup) -> String {
    match size {
        SubGroup::Size(size) => size.to_string(),
        SubGroup::Primary => "primary".to_owned(),
    }
}

fn answer(answers: &[Answer], query: &str) -> Option<u64> {
    answers.iter().find(|answer| answer.query == query).and_then(|answer| match &answer.value {
        Ok(Value::Number(number)) => Some(*number),
        _ => None,
    })
}

/// The kernels of files, written as the files are read.
pub(crate) struct Listing<'o>(Kind<'o>);

enum Kind<'o> {
    Text(Box<Text<'o>>),
    Json(json::Document<&'o mut dyn Write>),
    Jsonl(&'o mut dyn Write),
}

/// Text for people, of one file at a time.
struct Text<'o> {
    /// Whether kernels have a page each, as long as there are few.
    paged: bool,
    all: bool,
    table: Table,
    pages: Vec<Shown>,
    parts: Parts,
    out: &'o mut dyn Sink,
}

impl<'o> Listing<'o> {
    /// Begins the list. As text, kernels that were asked for by name have a page each, and with `all` each has a row.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn open(form: Form, named: bool, all: bool, out: &'o mut dyn Sink) -> Result<Listing<'o>> {
        Ok(Listing(match form {
            Form::Json => Kind::Json(json::Document::open(out.documents())?),
            Form::Jsonl => Kind::Jsonl(out.documents()),
            _ => Kind::Text(Box::new(Text {
                paged: named && !all,
                all,
                table: Table { all, ..Table::default() },
                pages: Vec::new(),
                parts: Parts::default(),
                out,
            })),
        }))
    }

    /// Adds kernels of a file.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn kernels(&mut self, file: &FileKernels<'_>) -> Result<()> {
        match &mut self.0 {
            Kind::Json(document) => document.kernels(file),
            Kind::Jsonl(out) => json::lines(out, file),
            Kind::Text(text) => {
                let view = text.out.look().view;
                text.table.add(file, &view);
                if text.paged && text.table.kernels <= PAGES {
                    text.pages.extend(file.kernels.iter().map(|one| page::page(file, one, &view)));
                }
                Ok(())
            }
        }
    }

    /// Ends a file, with the parts of it that could not be read.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn end_file(&mut self, path: &str, problems: &[Problem]) -> Result<()> {
        match &mut self.0 {
            Kind::Json(document) => document.problems(path, problems),
            Kind::Jsonl(_) => {}
            Kind::Text(text) => {
                let table = std::mem::replace(&mut text.table, Table { all: text.all, ..Table::default() });
                let pages = std::mem::take(&mut text.pages);
                if table.kernels == 0 {
                    return Ok(());
                }
                let view = text.out.look().view;
                let paged = text.paged && table.kernels <= PAGES;
                let shown = if paged { Shown::sections(&pages) } else { table.end(path, &view) };
                text.parts.show(&shown, text.out)?;
            }
        }
        Ok(())
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
