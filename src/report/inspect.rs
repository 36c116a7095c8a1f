//! What is in a file, for a person?
//!
//! One header per file, then one row per group of images that differ in their kernels only, or one row per image.

pub(crate) mod json;

use super::evidence::Names;
use super::table::{Column, render};
use super::text::{Shown, bytes, count, counted, lines, share, wrap};
use super::{FileFacts, name};
use crate::bundle::requirements::{FixedTarget, Requirements};
use crate::compat::examine::Examined;
use crate::error::Result;
use crate::report::document::{Form, Look, Parts, Sink};
use crate::report::{clones, image, sizes};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;

/// Kernels of a group among which the example is chosen.
const EXAMPLES: usize = 64;

/// Options of text output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Columns.
    pub(crate) width: usize,
    /// Whether kernels are shown by the names they have in the source.
    pub(crate) demangle: bool,
    /// Whether headings are emphasised.
    pub(crate) color: bool,
}

impl View {
    /// The form in which names of kernels are shown.
    pub(crate) fn names(&self) -> Names {
        Names { demangle: self.demangle }
    }

    /// A kernel's name as a table shows it.
    pub(crate) fn kernel(&self, mangled: &str) -> String {
        if self.demangle { name::display(mangled) } else { mangled.to_owned() }
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) -> Shown {
        let mut out = Shown::default();
        for line in wrap(text, self.width) {
            out.styled(self.color.then_some("1"), &line);
            out.push_str("\n");
        }
        out
    }
}

/// Size of a file, and of each of its images the place and the BLAKE3 hash.
type DeviceCode = (u64, Vec<(u64, [u8; 32])>);

/// Sums over files.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Paths of the files that were counted, by their size and device code.
    seen: HashMap<DeviceCode, String>,
    /// Files that are the same as another, which was counted: their paths and that one's.
    same: Vec<(String, String)>,
    files: usize,
    sums: Sums,
}

/// Images and kernels, and the bytes they take.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    images: usize,
    kernels: usize,
    stored: u64,
    inflated: u64,
    bytes: u64,
}

impl Sums {
    fn of_file(facts: &FileFacts<'_>) -> Sums {
        // Bytes that are listed for several devices are there once.
        let stored =
            facts.images.iter().map(|image| (image.image.stored.as_ptr(), image.image.stored.len(), image.size));
        let mut stored: Vec<(*const u8, usize, u64)> = stored.collect();
        stored.sort_unstable();
        stored.dedup_by_key(|(start, len, _)| (*start, *len));
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0u64, u64::saturating_add);
        Sums {
            images: facts.images.len(),
            kernels: facts.images.iter().fold(0, |sum: usize, image| sum.saturating_add(image.kernels.len())),
            stored: sum(&mut stored.iter().map(|(_, len, _)| *len as u64)),
            inflated: sum(&mut stored.iter().map(|(.., size)| *size)),
            bytes: facts.bytes,
        }
    }

    fn and(self, other: Sums) -> Sums {
        Sums {
            images: self.images.saturating_add(other.images),
            kernels: self.kernels.saturating_add(other.kernels),
            stored: self.stored.saturating_add(other.stored),
            inflated: self.inflated.saturating_add(other.inflated),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn sentence(&self) -> String {
        let inflated =
            if self.inflated == self.stored { String::new() } else { format!(" ({} inflated)", bytes(self.inflated)) };
        format!(
            "{}, {}; {}{inflated} of {}, {}",
            counted(self.images, "image"),
            counted(self.kernels, "kernel"),
            bytes(self.stored),
            bytes(self.bytes),
            share(self.stored, self.bytes)
        )
    }
}

impl Totals {
    /// Adds a file that holds device code. Returns whether it was counted: one of the same size with the same images at the
    /// same places as another is not.
    pub(crate) fn add(&mut self, facts: &FileFacts<'_>) -> bool {
        let images = facts.images.iter().map(|image| (image.image.offset, image.blake3)).collect();
        match self.seen.entry((facts.bytes, images)) {
            Entry::Occupied(first) if !facts.images.is_empty() => {
                self.same.push((facts.path.to_owned(), first.get().clone()));
                return false;
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => _ = place.insert(facts.path.to_owned()),
        }
        self.files = self.files.saturating_add(1);
        self.sums = self.sums.and(Sums::of_file(facts));
        true
    }

    /// The sums, where there is more than one file.
    pub(crate) fn line(&self, view: &View) -> Shown {
        if self.files < 2 && self.same.is_empty() {
            return Shown::default();
        }
        let mut out = Shown::gap();
        out.append(&view.heading(&format!("{}: {}", counted(self.files, "file"), self.sums.sentence())));
        for (path, first) in &self.same {
            lines(&mut out, "  not counted: ", "    ", &format!("{path} is the same as {first}"), view);
        }
        out
    }
}

/// The header of a file: its name, what it is, and how much of it is device code.
fn header(facts: &FileFacts<'_>, view: &View) -> Shown {
    let mut out = view.heading(facts.path);
    let Some(host) = facts.host else { return out };
    let mut origin = vec![host.kind.name().to_owned()];
    origin.extend(host.producer.as_ref().map(|producer| producer.name.clone()));
    origin.extend(host.sycl_abi.map(|version| format!("libsycl.so.{version}")));
    lines(&mut out, "  ", "  ", &origin.join(", "), view);
    if facts.bundle.is_some() {
        lines(&mut out, "  ", "  ", &Sums::of_file(facts).sentence(), view);
    }
    out
}

/// Requirements on a device, in few words; `-` for none.
pub(crate) fn requires(requirements: &Requirements) -> String {
    let mut parts = requirements.aspects.clone();
    for size in &requirements.reqd_work_group_sizes {
        let size: Vec<String> = size.iter().map(u64::to_string).collect();
        parts.push(format!("work-group {}", size.join("x")));
    }
    parts.extend(requirements.reqd_sub_group_sizes.iter().map(|size| format!("sub-group {size}")));
    if let Some(fixed) = &requirements.fixed_targets {
        let names: Vec<String> = fixed.iter().map(FixedTarget::label).collect();
        parts.push(if fixed.is_empty() { "no target".to_owned() } else { format!("fixed to {}", names.join("/")) });
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// The format with its compression.
fn code(image: &Examined<'_, '_>) -> String {
    match image.image.compression() {
        Some(compression) => format!("{}+{}", image.format.name(), compression.name()),
        None => image.format.name().to_owned(),
    }
}

/// The target; the one it was compiled for, the instruction set or the devices, where the image or its code tells.
pub(super) fn target(image: &Examined<'_, '_>) -> String {
    let target = image.image.target;
    match (image.image.compile_target(), image.march, image.native.as_ref().and_then(super::image::native_devices)) {
        (Some(compiled), ..) if compiled != target => format!("{target} ({compiled})"),
        (_, Some(march), _) => format!("{target} ({march})"),
        (_, _, Some(devices)) if devices != target => format!("{target} ({devices})").trim_start().to_owned(),
        _ => target.to_owned(),
    }
}

/// Options of an image for the device compiler and the device linker.
fn options_of<'a>(image: &Examined<'_, 'a>) -> (&'a str, &'a str) {
    (image.image.compile_options, image.image.link_options)
}

fn options((compile, link): (&str, &str)) -> String {
    match (compile, link) {
        ("", "") => "none".to_owned(),
        (compile, "") => format!("compile {compile}"),
        ("", link) => format!("link {link}"),
        (compile, link) => format!("compile {compile}, link {link}"),
    }
}

/// One row per group of images that differ in their kernels only.
fn groups(facts: &FileFacts<'_>, view: &View) -> Shown {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<&Examined<'_, '_>>> = Vec::new();
    for image in &facts.images {
        let payload = (image.state, image.format, image.image.compression(), image.image.declared);
        let key = (payload, target(image), &image.requirements, options_of(image));
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(image),
            None => groups.push(vec![image]),
        }
    }
    let size = |group: &[&Examined<'_, '_>]| group.iter().map(|image| image.size).sum::<u64>();
    // The largest first: that is what the file is about.
    groups.sort_by_key(|group| std::cmp::Reverse(size(group)));
    let distinct: HashSet<(&str, &str)> = groups.iter().flatten().map(|image| options_of(image)).collect();
    let distinct: BTreeSet<String> = distinct.into_iter().map(options).collect();
    let several = distinct.len() > 1;
    let mut columns = vec![
        ("Images", Column::Number),
        ("State", Column::Text),
        ("Format", Column::Text),
        ("Target", Column::Wrapped(24)),
        ("Size", Column::Number),
        ("Kernels", Column::Number),
        ("Requires", Column::Wrapped(24)),
    ];
    if several {
        columns.push(("Options", Column::Text));
    }
    columns.push(("A kernel", Column::Name));
    let mut rows = Vec::new();
    for group in &groups {
        let Some(first) = group.first() else { continue };
        let mut row = vec![
            count(group.len()),
            first.state.name().to_owned(),
            code(first),
            target(first),
            bytes(size(group)),
            count(group.iter().map(|image| image.kernels.len()).sum()),
            requires(&first.requirements),
        ];
        if several {
            row.push(mark(distinct.iter().position(|known| *known == options(options_of(first))).unwrap_or(0)));
        }
        // Of some kernels the shortest name, which says most in little space.
        let names = group.iter().filter_map(|image| image.kernels.first()).take(EXAMPLES);
        let example = names.map(|kernel| view.kernel(kernel)).min_by_key(|name| name.chars().count());
        row.push(example.unwrap_or_else(|| "-".to_owned()));
        rows.push(row);
    }
    let minor = ["State", "Options", "Format", "Kernels", "Target", "Images"];
    let mut out = render(&columns, &rows, &minor, view.width, view.color);
    for (index, options) in distinct.iter().enumerate().filter(|(_, options)| several || *options != "none") {
        let label = if several { format!("Options {}: ", mark(index)) } else { "Options: ".to_owned() };
        lines(&mut out, "", "  ", &format!("{label}{options}"), view);
    }
    out
}

/// a, b, ... z, then numbers.
fn mark(index: usize) -> String {
    match u8::try_from(index) {
        Ok(letter @ 0..26) => char::from(b'a'.saturating_add(letter)).to_string(),
        _ => index.to_string(),
    }
}

/// One row per image.
fn all(facts: &FileFacts<'_>, view: &View) -> Shown {
    let columns = [
        ("Image", Column::Number),
        ("State", Column::Text),
        ("Format", Column::Text),
        ("Target", Column::Wrapped(24)),
        ("Size", Column::Number),
        ("Requires", Column::Wrapped(20)),
        ("Kernels", Column::Name),
    ];
    let row = |image: &Examined<'_, '_>| {
        let kernels = match image.kernels.as_slice() {
            [] => "-".to_owned(),
            [only] => view.kernel(only),
            [first, rest @ ..] => {
                format!("{} kernels: {}, ...", count(rest.len().saturating_add(1)), view.kernel(first))
            }
        };
        vec![
            image.image.index.to_string(),
            image.state.name().to_owned(),
            code(image),
            target(image),
            bytes(image.size),
            requires(&image.requirements),
            kernels,
        ]
    };
    let rows: Vec<Vec<String>> = facts.images.iter().map(row).collect();
    render(&columns, &rows, &["State", "Format", "Target", "Size"], view.width, view.color)
}

/// Lists the parts of the file that could not be read.
fn problems(facts: &FileFacts<'_>, view: &View) -> Shown {
    const SHOWN: usize = 20;
    if facts.problems.is_empty() || facts.bundle.is_none() {
        return Shown::default();
    }
    let mut out = Shown::default();
    out.push_str("\n");
    out.append(&view.heading(&counted(facts.problems.len(), "problem")));
    for problem in facts.problems.iter().take(SHOWN) {
        let image = problem.image.map(|image| format!("image {image}: ")).unwrap_or_default();
        lines(&mut out, "  ", "    ", &format!("{image}{}", problem.error), view);
    }
    if facts.problems.len() > SHOWN {
        writeln!(out, "  and {} more, in `--format json`", facts.problems.len().saturating_sub(SHOWN));
    }
    out
}

/// The facts that are told of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// A row for each group of images that differ in their kernels only.
    Groups,
    /// A row for each image.
    Images,
    /// A page for each image.
    Pages,
    /// Bytes, by who takes them.
    Sizes,
    /// Images that are the same code.
    Clones,
}

/// The images of files, written as the files are read.
pub(crate) struct Listing<'o>(Kind<'o>);

enum Kind<'o> {
    Text(Box<Text<'o>>),
    Json(json::Document<&'o mut dyn Write>),
    Jsonl(&'o mut dyn Write),
    /// Clones as a document, which is small.
    Clones(Vec<clones::Clones>, &'o mut dyn Sink),
}

struct Text<'o> {
    depth: Depth,
    look: Look,
    out: &'o mut dyn Sink,
    parts: Parts,
    totals: Totals,
    sizes: sizes::Sizes,
}

impl<'o> Listing<'o> {
    /// Begins the list.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn open(form: Form, depth: Depth, out: &'o mut dyn Sink) -> Result<Listing<'o>> {
        Ok(Listing(match form {
            Form::Json if depth == Depth::Clones => Kind::Clones(Vec::new(), out),
            Form::Json => Kind::Json(json::Document::open(out.documents())?),
            Form::Jsonl => Kind::Jsonl(out.documents()),
            _ => {
                let look = out.look();
                let (totals, sizes) = (Totals::default(), sizes::Sizes::default());
                Kind::Text(Box::new(Text { depth, look, out, parts: Parts::default(), totals, sizes }))
            }
        }))
    }

    /// Adds a file, and to the file what was found wrong with images that had not been examined.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn file(&mut self, facts: &mut FileFacts<'_>) -> Result<()> {
        match &mut self.0 {
            Kind::Text(text) => text.file(facts),
            Kind::Json(document) => document.file(facts),
            Kind::Jsonl(out) => json::lines(out, facts),
            Kind::Clones(found, _) => {
                found.extend((!facts.images.is_empty()).then(|| clones::find(facts)));
                Ok(())
            }
        }
    }

    /// Ends the list with what is told of all files.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub(crate) fn end(self) -> Result<()> {
        match self.0 {
            Kind::Text(text) => text.end(),
            Kind::Json(document) => document.close().map(|_| ()),
            Kind::Jsonl(_) => Ok(()),
            Kind::Clones(found, out) => out.made(&clones::json(&found)),
        }
    }
}

impl Text<'_> {
    fn file(&mut self, facts: &FileFacts<'_>) -> Result<()> {
        let view = self.look.view;
        if self.depth == Depth::Clones {
            if facts.images.is_empty() {
                return Ok(());
            }
            let table = clones::table(&clones::find(facts), facts, &view);
            return self.parts.show(&Shown::sections(&[header(facts, &view), table]), self.out);
        }
        if facts.images.is_empty() && facts.problems.is_empty() || facts.bundle.is_none() {
            return Ok(());
        }
        let counted = self.totals.add(facts);
        if self.depth == Depth::Sizes && counted {
            self.sizes.add(facts, &view);
        }
        let text = self.of_file(facts, &view);
        self.parts.show(&text, self.out)
    }

    fn of_file(&self, facts: &FileFacts<'_>, view: &View) -> Shown {
        let body = match self.depth {
            Depth::Pages => {
                let pages: Vec<Shown> = facts.images.iter().map(|one| image::image(facts, one, view)).collect();
                return Shown::sections(&pages);
            }
            Depth::Images => all(facts, view),
            Depth::Sizes => sizes::sizes(facts, view, self.look.drawing),
            Depth::Groups | Depth::Clones => groups(facts, view),
        };
        let mut out = Shown::sections(&[header(facts, view), body]);
        out.append(&problems(facts, view));
        out
    }

    fn end(self) -> Result<()> {
        if self.depth == Depth::Clones {
            return Ok(());
        }
        self.out.show(&self.totals.line(&self.look.view))?;
        self.out.show(&self.sizes.all(&self.look.view, self.look.drawing))
    }
}
