//! What kernels are in a file, for a person?
//!
//! Few kernels have a row each; of many, those that differ in their names only share one.

pub mod json;
pub mod page;
pub mod queries;

use super::document::{Form, Parts, Sink};
use super::inspect::View;
use super::table::{Column, render};
use super::text::Shown;
use super::units::{bytes, count, counted};
use crate::build::Device;
use crate::build::query::sycl::{Answer, Value};
use crate::compat::kernels::KernelFacts;
use crate::error::{Problem, Result};
use crate::native::Kernel;
use crate::spirv::kernel::attributes::SubGroup;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Kernels that have a row each unless all are asked for.
const ROWS: usize = 40;
/// Kernels of which each has a page where they are asked for by name.
const PAGES: usize = 16;
/// Kernels of a group among which the example is chosen.
const EXAMPLES: usize = 64;

/// Facts about the kernels of one file.
#[derive(Debug, Default)]
pub struct FileKernels<'a> {
    /// The path as the user gave it.
    pub path: &'a str,
    /// The kernels that are to be shown, in the order of the images.
    pub kernels: Vec<KernelFacts>,
    /// Answers of live devices.
    pub devices: Vec<Answers<'a>>,
    /// Parts of the file that could not be read.
    pub problems: Vec<Problem>,
}

/// Answers of one device about kernels.
#[derive(Debug)]
pub struct Answers<'a> {
    /// The device.
    pub device: &'a Device,
    /// By image and mangled name.
    pub kernels: HashMap<(usize, String), OnDevice>,
}

/// A kernel on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnDevice {
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
    pub fn on_kernel(&self, kernel: &KernelFacts) -> Option<&OnDevice> {
        self.kernels.get(&(kernel.image, kernel.name.clone()))
    }
}

/// The kernels of a file as a table: rows, or groups where there are many and not `all` are asked for.
fn table(file: &FileKernels<'_>, all: bool, view: &View) -> Shown {
    let kernels = &file.kernels;
    let names: HashSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let images: HashSet<usize> = kernels.iter().map(|kernel| kernel.image).collect();
    let mut sentence = format!("{} in {}", counted(kernels.len(), "kernel"), counted(images.len(), "image"));
    if names.len() < kernels.len() {
        sentence.push_str(&format!(", {}", counted(names.len(), "name")));
    }
    let body = if all || kernels.len() <= ROWS { rows(file, view) } else { groups(file, view) };
    let mut out = view.heading(file.path);
    writeln!(out, "  {sentence}");
    out.push_str("\n");
    out.append(&body);
    out
}

/// The columns that do not depend on how kernels are put together, and their cells.
struct Columns<'f> {
    file: &'f FileKernels<'f>,
    native: bool,
    /// Whether native code takes more of one device than of another.
    varies: bool,
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

impl<'f> Columns<'f> {
    fn new(file: &'f FileKernels<'f>) -> Columns<'f> {
        let native = file.kernels.iter().any(|kernel| !kernel.native.is_empty());
        let varies = |kernel: &KernelFacts| match kernel.native.as_slice() {
            [(_, first), others @ ..] => others.iter().any(|(_, other)| !takes_as(first, other)),
            [] => false,
        };
        Columns { file, native, varies: file.kernels.iter().any(varies) }
    }

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
        for _ in &self.file.devices {
            titles.extend([
                ("Max", Column::Number),
                ("Multiple", Column::Number),
                ("Private", Column::Number),
                ("Sub", Column::Number),
            ]);
        }
        titles
    }

    /// Native code for a kernel: once where all parts take the same, else by what they take, with the devices of each.
    fn variants(&self, kernel: &'f KernelFacts) -> Vec<Variant<'f>> {
        let mut variants: Vec<Variant<'f>> = Vec::new();
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

    fn cells(&self, kernel: &KernelFacts, variant: &Variant<'_>) -> Vec<String> {
        let mut cells = vec![
            aspects(kernel),
            work_group(kernel),
            kernel.reqd_sub_group_size.map_or_else(dash, sub_group),
            kernel.local_memory().filter(|size| *size > 0).map_or_else(dash, bytes),
        ];
        if self.native {
            let number = |of: &dyn Fn(&Kernel) -> Option<u64>| {
                variant.native.and_then(of).map_or_else(dash, |number| number.to_string())
            };
            let devices = || match variant.devices.len() {
                0 => dash(),
                all if all == kernel.native.len() => "all".to_owned(),
                _ => variant.devices.join(", "),
            };
            cells.extend(self.varies.then(devices));
            cells.extend([
                number(&|native| native.registers),
                number(&|native| native.simd),
                number(&|native| native.spill),
                number(&|native| native.private),
                // Where spills and private memory are told apart, their sum says nothing new.
                number(&|native| native.scratch.filter(|_| native.spill.is_none() || native.private.is_none())),
            ]);
        }
        for device in &self.file.devices {
            let of = |query: &str| match device.on_kernel(kernel) {
                Some(OnDevice::Answers { sycl, .. }) => {
                    number(sycl, query).map_or_else(dash, |number| number.to_string())
                }
                Some(OnDevice::None { errc: Some(errc), .. }) => (*errc).to_owned(),
                _ => dash(),
            };
            cells.extend(
                ["work_group_size", "preferred_work_group_size_multiple", "private_mem_size", "max_sub_group_size"]
                    .map(of),
            );
        }
        cells
    }

    /// Names the devices that the last columns are about.
    fn legend(&self) -> Shown {
        let names: Vec<&str> = self.file.devices.iter().map(|answers| answers.device.name.as_str()).collect();
        let mut out = Shown::default();
        if !names.is_empty() {
            out.push_str(
                "Max, Multiple, Private, Sub: work_group_size, preferred_work_group_size_multiple, private_mem_size and\n",
            );
            writeln!(out, "max_sub_group_size on {}", names.join(", then "));
        }
        out
    }
}

fn rows(file: &FileKernels<'_>, view: &View) -> Shown {
    let columns = Columns::new(file);
    let mut titles = vec![("Image", Column::Number), ("Args", Column::Number)];
    titles.extend(columns.titles());
    titles.push(("Kernel", Column::Name));
    let mut rows = Vec::new();
    for kernel in &file.kernels {
        for variant in columns.variants(kernel) {
            let mut row = vec![kernel.image.to_string(), args(kernel)];
            row.extend(columns.cells(kernel, &variant));
            row.push(view.kernel(&kernel.name));
            rows.push(row);
        }
    }
    let mut out = drawn(titles, rows, view);
    out.append(&columns.legend());
    out
}

fn groups(file: &FileKernels<'_>, view: &View) -> Shown {
    let columns = Columns::new(file);
    // By what cells are made of, then by the cells: most kernels are like one before them, and need none made.
    let (mut alike, mut places): (HashMap<Facts<'_>, usize>, HashMap<Vec<String>, usize>) = Default::default();
    let mut groups: Vec<(Vec<String>, Vec<&KernelFacts>)> = Vec::new();
    for kernel in &file.kernels {
        let mut known = Facts::new(file, kernel).map(|facts| alike.entry(facts).or_insert(usize::MAX));
        if let Some((_, group)) = known.as_ref().and_then(|place| groups.get_mut(**place)) {
            group.push(kernel);
            continue;
        }
        for variant in columns.variants(kernel) {
            let cells = columns.cells(kernel, &variant);
            let place = *places.entry(cells.clone()).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, group)) => group.push(kernel),
                None => groups.push((cells, vec![kernel])),
            }
            if let Some(known) = &mut known {
                **known = place;
            }
        }
    }
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let mut titles = vec![("Kernels", Column::Number), ("Args", Column::Text)];
    titles.extend(columns.titles());
    titles.push(("A kernel", Column::Name));
    let mut rows = Vec::new();
    for (cells, group) in groups {
        let known = || group.iter().filter_map(|kernel| kernel.known_args());
        let range = match (known().min(), known().max()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least}-{most}"),
            _ => dash(),
        };
        let mut row = vec![count(group.len()), range];
        row.extend(cells);
        // The shortest mangled name of some: it says most in little space, and only it need be demangled.
        let example = group.iter().take(EXAMPLES).min_by_key(|kernel| kernel.name.len());
        row.push(example.map(|kernel| view.kernel(&kernel.name)).unwrap_or_default());
        rows.push(row);
    }
    let mut out = drawn(titles, rows, view);
    out.append(&columns.legend());
    out
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

fn number(answers: &[Answer], query: &str) -> Option<u64> {
    answers.iter().find(|answer| answer.query == query).and_then(|answer| match &answer.value {
        Ok(Value::Number(number)) => Some(*number),
        _ => None,
    })
}

/// The kernels of files, written as the files are read.
pub struct Listing<'o>(Kind<'o>);

enum Kind<'o> {
    Text { pages: bool, all: bool, parts: Parts, out: &'o mut dyn Sink },
    Json(json::Document<&'o mut dyn Write>),
    Jsonl(&'o mut dyn Write),
}

impl<'o> Listing<'o> {
    /// Begins the list. As text, kernels that were asked for by name have a page each, and with `all` each has a row.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn open(form: Form, named: bool, all: bool, out: &'o mut dyn Sink) -> Result<Listing<'o>> {
        Ok(Listing(match form {
            Form::Json => Kind::Json(json::Document::open(out.documents())?),
            Form::Jsonl => Kind::Jsonl(out.documents()),
            _ => Kind::Text { pages: named && !all, all, parts: Parts::default(), out },
        }))
    }

    /// Adds the kernels of a file.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn file(&mut self, file: &FileKernels<'_>) -> Result<()> {
        match &mut self.0 {
            Kind::Json(document) => document.file(file),
            Kind::Jsonl(out) => json::lines(out, file),
            Kind::Text { .. } if file.kernels.is_empty() => Ok(()),
            Kind::Text { pages, all, parts, out } => {
                let view = out.look().view;
                let text = if *pages && file.kernels.len() <= PAGES {
                    Shown::sections(&file.kernels.iter().map(|one| page::page(file, one, &view)).collect::<Vec<_>>())
                } else {
                    table(file, *all, &view)
                };
                parts.show(&text, *out)
            }
        }
    }

    /// Ends the list.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn end(self) -> Result<()> {
        match self.0 {
            Kind::Json(document) => document.close().map(|_| ()),
            _ => Ok(()),
        }
    }
}
