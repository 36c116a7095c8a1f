//! How is device code looked at rather than read?
//!
//! One HTML page that holds all it shows: its data as JSON, and the scripts and the style of `page/*.js` and
//! `page/*.css`. It loads nothing, and forbids itself to. What names say is shown and never read as markup or code:
//! they are whatever the file holds.
//!
//! Instances of a template have long beginnings in common: names are sorted, and of each stands what it does not share
//! with the one before.
//!
//! Findings of a policy about single kernels on targets stand in the matrix. Beside it stand the policy's exceptions, each with
//! the number of kernels that it excuses, and the findings about whole files or no target.

mod builds;
mod files;
mod matrix;
mod static_part;

use super::evidence::Names;
use super::gate::TargetFindings;
use super::text;
use crate::names;
use crate::policy::{AppliedPolicy, Exception};
use crate::report::gate::{FileFindings, LocatedFinding};
use crate::report::name::family;
use crate::select::KernelName;
pub(crate) use builds::builds;
pub(crate) use files::Files;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

/// Writes the page of some files: who takes the space, what runs on `targets` and is against a policy, and which kernels and
/// images there are.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn library(
    files: &Files,
    targets: &[TargetFindings],
    held: Option<&AppliedPolicy>,
    names: Names,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = files.names(names);
    // Targets share the kernels of a file.
    let mut known = HashSet::new();
    for of in targets.iter().flat_map(|target| &target.files) {
        if known.insert(Arc::as_ptr(&of.judged.kernels)) {
            table.extend(of.judged.kernels.names());
        }
    }
    let table = table.sorted();
    let policy = held.map(|held| held.section(targets, names));
    // Findings that are about no target have no column.
    let named: Vec<&TargetFindings> = targets.iter().filter(|one| !one.target.is_empty()).collect();
    let frame = Frame {
        title: files.title(),
        facts: [files.facts()].into_iter().chain(held.map(|held| held.facts())).collect::<Vec<_>>().join(" · "),
        static_part: static_part::library(files, &table, &named, policy.as_ref()),
        scripts: &[CORE, GRID, TREEMAP, MATRIX, POLICY, LIBRARY],
    };
    let matrix = matrix::matrix(&named, files, &table, names);
    frame.write(&files.data(&table, matrix, policy.as_ref()), out)
}

/// Reading the data, making elements, the tip.
const CORE: &str = include_str!("page/core.js");
/// Tables of thousands of rows, of which those in sight are there.
const GRID: &str = include_str!("page/grid.js");
/// Rectangles by bytes.
const TREEMAP: &str = include_str!("page/treemap.js");
/// Kernels by targets.
const MATRIX: &str = include_str!("page/matrix.js");
/// Exceptions, and what a policy finds beyond single kernels.
const POLICY: &str = include_str!("page/policy.js");
/// The page of files.
const LIBRARY: &str = include_str!("page/library.js");
/// The page of two builds.
const BUILDS: &str = include_str!("page/builds.js");
const STYLE: &str = include_str!("page/page.css");

/// A page's parts.
struct Frame<'f> {
    /// The title, as text.
    pub(crate) title: String,
    /// A line below the title, as text.
    pub(crate) facts: String,
    /// The content for readers without scripts, as HTML.
    pub(crate) static_part: String,
    /// The scripts, in order.
    pub(crate) scripts: &'f [&'static str],
}

impl Frame<'_> {
    /// Writes the document, with its data. Its policy lets it load nothing, from anywhere, and send nothing.
    fn write(&self, data: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
        let Frame { title, facts, static_part, scripts } = self;
        let (title, facts) = (html(title), html(facts));
        let (script, version) = (scripts.join("\n"), env!("CARGO_PKG_VERSION"));
        write!(
            out,
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="sycl-bundle {version}">
<title>{title}: device code</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p id="facts">{facts}</p>
</header>
<main id="main">
<noscript>
<p class="note">Without scripts this is a summary; with them there are a map of the bytes and tables to filter and sort.</p>
{static_part}</noscript>
</main>
<footer>made by sycl-bundle {version}; this file loads nothing and needs no network</footer>
<div id="tip" role="tooltip" hidden></div>
<script type="application/json" id="data">"#
        )?;
        serde_json::to_writer(InScript(&mut *out), data)?;
        write!(
            out,
            r#"</script>
<script>
"use strict";
(() => {{
{script}
}})();
</script>
</body>
</html>
"#
        )
    }
}

/// Text for a reader, with what does not show.
fn visible(text: &str) -> String {
    text::visible(text).into_owned()
}

/// Text as HTML, between tags and in quoted attributes.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// JSON that can stand in a `script` element: nothing in it ends or opens one. These letters stand in strings only.
struct InScript<'o>(&'o mut dyn Write);

impl Write for InScript<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'<' | b'>' | b'&')) {
            let (before, behind) = rest.split_at(at);
            self.0.write_all(before)?;
            if let Some((byte, behind)) = behind.split_first() {
                write!(self.0, "\\u{:04x}", byte)?;
                rest = behind;
            }
        }
        self.0.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A list whose values are made while it is written.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq((self.0)())
    }
}

/// Texts, each once and known by its number.
#[derive(Debug, Default)]
struct Texts {
    places: HashMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    /// The number of a text.
    fn intern(&mut self, text: &str) -> usize {
        if let Some(known) = self.places.get(text) {
            return *known;
        }
        let place = self.all.len();
        self.places.insert(text.to_owned(), place);
        self.all.push(visible(text));
        place
    }

    /// All, by number, as they are shown.
    fn all(&self) -> &[String] {
        &self.all
    }
}

/// Names that are being gathered.
#[derive(Debug)]
struct Gathering<'n> {
    names: Names,
    mangled: Vec<&'n str>,
}

/// Sorted names. Hundreds of thousands are held here beside the facts about their kernels: none has a text of its own.
#[derive(Debug)]
struct Table<'n> {
    /// The mangled names, sorted as such.
    mangled: Vec<&'n str>,
    /// The names as they are shown, in the same order; none where they are shown mangled.
    shown: Option<names::Names>,
    /// Places in that order, sorted by how names are shown.
    order: Vec<u32>,
    /// The place in `order` of each mangled name.
    places: Vec<u32>,
    /// Of each, as they are shown, the number of its family.
    families: Vec<u32>,
    /// The place in `order` of the first name of each family.
    firsts: Vec<u32>,
}

/// The table as it stands in the page.
struct Packed<'t>(&'t Table<'t>);

impl<'n> Gathering<'n> {
    fn new(names: Names) -> Gathering<'n> {
        Gathering { names, mangled: Vec::new() }
    }

    /// Adds mangled names.
    fn extend(&mut self, names: impl Iterator<Item = &'n str>) {
        self.mangled.extend(names);
    }

    /// Sorts them by how they are shown.
    fn sorted(self) -> Table<'n> {
        let Gathering { names, mut mangled } = self;
        mangled.sort_unstable();
        mangled.dedup();
        mangled.shrink_to_fit();
        let differs = mangled.iter().any(|name| names.show(name) != **name);
        let shown = differs.then(|| mangled.iter().map(|name| names.show(name)).collect::<names::Names>());
        let mut order: Vec<u32> = (0u32..).zip(&mangled).map(|(place, _)| place).collect();
        if let Some(shown) = &shown {
            order.sort_by_key(|place| (shown.get(*place as usize), *place));
        }
        let mut places = vec![0; order.len()];
        for (at, place) in (0u32..).zip(&order) {
            if let Some(own) = places.get_mut(*place as usize) {
                *own = at;
            }
        }
        let mut table = Table { mangled, shown, order, places, families: Vec::new(), firsts: Vec::new() };
        let (mut families, mut firsts) = (Vec::with_capacity(table.order.len()), Vec::new());
        let mut known: HashMap<&str, u32> = HashMap::new();
        for (at, name) in (0u32..).zip(table.shown()) {
            families.push(*known.entry(family(name)).or_insert_with(|| {
                firsts.push(at);
                firsts.len().saturating_sub(1) as u32
            }));
        }
        (table.families, table.firsts) = (families, firsts);
        table
    }
}

impl Table<'_> {
    /// The number of a mangled name.
    fn place(&self, mangled: &str) -> Option<usize> {
        let at = self.mangled.binary_search(&mangled).ok()?;
        self.places.get(at).map(|place| *place as usize)
    }

    /// The names as they are shown, in that order.
    fn shown(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|place| self.shown_at(*place))
    }

    /// A name as it is shown, by its place among mangled ones.
    fn shown_at(&self, place: u32) -> &str {
        match &self.shown {
            Some(shown) => shown.get(place as usize),
            None => self.mangled.get(place as usize).copied(),
        }
        .unwrap_or_default()
    }

    /// The number of the family of a name, by the name's number.
    fn family_of(&self, name: usize) -> Option<usize> {
        self.families.get(name).map(|family| *family as usize)
    }

    /// The families, by their numbers.
    fn families(&self) -> impl Iterator<Item = &str> {
        (0..self.firsts.len()).map(|number| self.family(number))
    }

    /// A family, by its number.
    fn family(&self, number: usize) -> &str {
        let first = self.firsts.get(number).and_then(|at| self.order.get(*at as usize));
        first.map_or("", |place| family(self.shown_at(*place)))
    }

    /// As it stands in the page.
    fn packed(&self) -> Packed<'_> {
        Packed(self)
    }
}

impl Serialize for Packed<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let table = self.0;
        let mangled = || table.order.iter().filter_map(|place| table.mangled.get(*place as usize).copied());
        // Where names are shown mangled these stand once.
        let most = if table.shown.is_some() { usize::MAX } else { 0 };
        let mut all = out.serialize_struct("Packed", 4)?;
        // Of each name how many UTF-16 units it shares with the one before, and the rest.
        all.serialize_field("shown", &Each(|| packed(table.shown())))?;
        all.serialize_field("mangled", &Each(|| packed(mangled().take(most))))?;
        // Of each name the number of its family.
        all.serialize_field("family", &table.families)?;
        all.serialize_field("families", &Each(|| table.families().map(visible)))?;
        all.end()
    }
}

/// Of each text, as it is visible, how many UTF-16 units it shares with the one before, and the rest.
fn packed<'t>(all: impl Iterator<Item = &'t str>) -> impl Iterator<Item = (usize, String)> {
    let mut before = String::new();
    all.map(move |text| {
        let text = visible(text);
        let shared = before.chars().zip(text.chars()).take_while(|(one, other)| one == other).map(|(one, _)| one);
        let (units, bytes) = shared.fold((0usize, 0usize), |(units, bytes), c| {
            (units.saturating_add(c.len_utf16()), bytes.saturating_add(c.len_utf8()))
        });
        let rest = text.get(bytes..).unwrap_or_default().to_owned();
        before = text;
        (units, rest)
    })
}

/// Kernels that are named for each thing that is found.
const NAMED: usize = 10;

/// The policy as it stands in the page.
#[derive(Debug, Serialize)]
struct PolicySection {
    pub(crate) file: String,
    /// The day on which exceptions were judged.
    pub(crate) day: Option<String>,
    pub(crate) exceptions: Vec<ExceptionRow>,
    pub(crate) findings: Vec<FindingRow>,
}

/// An exception.
#[derive(Debug, Serialize)]
struct ExceptionRow {
    /// The rule and the kernels that it excuses.
    pub(crate) what: String,
    /// The targets; all where there are none.
    pub(crate) targets: Vec<String>,
    pub(crate) reason: String,
    /// The last day.
    pub(crate) until: String,
    /// Whether that has passed.
    pub(crate) ended: bool,
    /// The number of kernels with a finding that it excuses.
    pub(crate) kernels: usize,
}

/// Something that is found of whole files, or whatever the target.
#[derive(Debug, Serialize)]
struct FindingRow {
    /// The target, where it is about one.
    pub(crate) target: Option<String>,
    pub(crate) certain: bool,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    pub(crate) remedy: String,
    /// The files and kernels of which it is, as far as they are named; none where it is of the policy.
    pub(crate) places: Vec<String>,
    /// The number of places that are not named.
    pub(crate) more: usize,
}

impl AppliedPolicy {
    /// A line for the head of a page.
    fn facts(&self) -> String {
        let day = self.today.map(|day| format!(" as of {day}")).unwrap_or_default();
        format!("held to {}{day}", self.policy.file)
    }

    fn section(&self, targets: &[TargetFindings], names: Names) -> PolicySection {
        let AppliedPolicy { policy, today } = self;
        let kernels = self.excused(targets);
        let exception = |(at, one): (usize, &Exception)| ExceptionRow {
            what: visible(&one.describe()),
            targets: one.targets.iter().map(|target| visible(target)).collect(),
            reason: visible(&one.reason),
            until: one.until.to_string(),
            ended: today.is_some_and(|today| one.until < today),
            kernels: kernels.get(at).copied().unwrap_or_default(),
        };
        PolicySection {
            file: visible(&policy.file),
            day: today.map(|day| day.to_string()),
            exceptions: policy.exceptions.iter().enumerate().map(exception).collect(),
            findings: targets.iter().flat_map(|target| self.findings(target, names)).collect(),
        }
    }

    /// Of how many kernels each exception excuses something.
    fn excused(&self, targets: &[TargetFindings]) -> Vec<usize> {
        let mut found: Vec<HashSet<(&str, &str)>> = vec![HashSet::new(); self.policy.exceptions.len()];
        let mut known: HashMap<&str, KernelName<'_>> = HashMap::new();
        for target in targets {
            for (of, (kernels, items)) in
                target.files.iter().flat_map(|of| of.judged.groups().map(move |all| (of, all)))
            {
                for item in items.iter().filter(|item| item.excused.is_some()) {
                    for name in kernels.iter().filter_map(|kernel| of.judged.kernels.name(*kernel)) {
                        let kernel = known.entry(name).or_insert_with(|| KernelName::new(name));
                        let excuse = |today| self.policy.excuse(today, &target.target, &item.finding, kernel);
                        if let Some(own) = self.today.and_then(excuse).and_then(|at| found.get_mut(at)) {
                            own.insert((&of.file, name));
                        }
                    }
                }
            }
        }
        found.iter().map(HashSet::len).collect()
    }

    /// The findings about whole files for a target; all findings where there is no target.
    fn findings(&self, target: &TargetFindings, names: Names) -> Vec<FindingRow> {
        let general = target.target.is_empty();
        let files: Vec<FileFindings> = target.files.iter().filter(|of| general || of.is_whole()).cloned().collect();
        let own = TargetFindings { target: target.target.clone(), files };
        let place = |one: &LocatedFinding<'_>| match (&*one.of.file, one.found.kernel) {
            (file, _) if file == self.policy.file => None,
            (file, "") => Some(visible(file)),
            (file, kernel) => Some(visible(&format!("{file}: {}", names.show(kernel)))),
        };
        let groups = own.groups().into_iter();
        let found = groups.map(|group| FindingRow {
            target: (!general).then(|| visible(&target.target)),
            certain: group.finding.certain,
            rule: group.finding.rule.name(),
            message: visible(&group.finding.message),
            remedy: visible(&group.finding.remedy),
            places: group.findings(NAMED).iter().filter_map(place).collect(),
            more: group.count.saturating_sub(NAMED),
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_what_it_stands_in() {
        assert_eq!(html("</td>&\"'\u{1b}"), "&lt;/td&gt;&amp;&quot;&#39;\\u{1b}");
        let text = serde_json::to_string("</script><!--&\u{2028}").unwrap();
        let mut embedded = Vec::new();
        InScript(&mut embedded).write_all(text.as_bytes()).unwrap();
        let embedded = String::from_utf8(embedded).unwrap();
        assert!(!embedded.contains(['<', '>', '&']), "{embedded}");
        assert_eq!(serde_json::from_str::<String>(&embedded).unwrap(), "</script><!--&\u{2028}");
    }

    #[test]
    fn what_is_shared_stands_once() {
        let all = ["a::b<int>", "a::b<long>", "a::𝒳b", "a::𝒳c"].map(str::to_owned);
        let rest = |units, text: &str| (units, text.to_owned());
        let all: Vec<_> = packed(all.iter().map(String::as_str)).collect();
        assert_eq!(all, [rest(0, "a::b<int>"), rest(5, "long>"), rest(3, "𝒳b"), rest(5, "c")]);
    }

    #[test]
    fn names_are_sorted_as_they_are_shown() {
        let mut names = Gathering::new(Names { demangle: true });
        names.extend(["_ZTSN1b1kIiEE", "_ZTSN1a1kIiEE", "_ZTSN1b1kIfEE", "_ZTSN1a1kIiEE"].into_iter());
        let table = names.sorted();
        assert_eq!(table.place("_ZTSN1a1kIiEE"), Some(0));
        assert_eq!(table.place("_ZTSN1b1kIfEE"), Some(1));
        assert_eq!(table.families, [0, 1, 1]);
        assert_eq!(table.families().collect::<Vec<_>>(), ["a::k", "b::k"]);
    }
}
