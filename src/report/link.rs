//! How do the files of a set link, and what is wrong?

use super::check::json as form;
use super::document::{Document, Form, Sink};
use super::evidence::Names;
use super::gate::links;
use super::inspect::View;
use super::json::{FileProblem, SchemaVersion, put_line};
use super::name::shorten;
use super::text::{Shown, lines};
use super::text::{count, counted};
use crate::compat::finding::RuleId;
use crate::compat::finding::Verdict;
use crate::compat::link::{Import, LinkFinding, LinkUnit, Linked, Names as Named, Place};
use crate::demangle::demangle;
use crate::error::{Error, ErrorKind, Result};
use std::io::Write;

/// Places and names that are shown of each thing; `--format json` has all.
const EXAMPLES: usize = 3;

/// The verdict: a sure finding says no, one that is not sure or a damaged image leaves it open.
pub(crate) fn verdict(linked: &Linked, partial: bool) -> Verdict {
    match (linked.findings.iter().map(|finding| finding.finding.certain).max(), partial) {
        (Some(true), _) => Verdict::Incompatible,
        (Some(false), _) | (None, true) => Verdict::Unknown,
        (None, false) => Verdict::Compatible,
    }
}

/// The findings, which files take symbols from which, and the verdict in a line.
fn table(linked: &Linked, partial: bool, view: &View) -> Shown {
    let names = view.names();
    let mut out = Shown::default();
    for finding in &linked.findings {
        section(&mut out, finding, names, view);
        out.push_str("\n");
    }
    for link in &linked.links {
        let first = link.symbols.first().map(|symbol| names.show(symbol)).unwrap_or_default();
        let taken = counted(link.symbols.len(), "symbol");
        let first = shorten(&first, view.width.saturating_sub(10));
        lines(&mut out, "", "  ", &format!("{} takes {taken} from {}, such as {first}", link.from, link.to), view);
    }
    if linked.more_links > 0 {
        let more = counted(linked.more_links, "more import");
        lines(&mut out, "", "  ", &format!("and {more} of images that other files define"), view);
    }
    let of = |rule| linked.findings.iter().filter(|finding| finding.finding.rule == rule).count();
    let word = match verdict(linked, partial) {
        Verdict::Compatible => "compatible",
        Verdict::Unknown => "unknown",
        Verdict::Incompatible => "incompatible",
    };
    let mistyped = match of(RuleId::SymbolType) {
        0 => String::new(),
        some => format!("{} of another type, ", count(some)),
    };
    let told = format!(
        "linking: {word}; {} imported ({} by the device library), {} exported; {} unresolved, {}{} duplicate, {} in two files",
        counted(linked.imports, "symbol"),
        count(linked.of_the_device),
        count(linked.exports),
        count(of(RuleId::UnresolvedSymbol)),
        mistyped,
        count(of(RuleId::DuplicateSymbol)),
        counted(of(RuleId::KernelClash), "kernel")
    );
    lines(&mut out, "", "  ", &told, view);
    out
}

fn section(out: &mut Shown, finding: &LinkFinding, names: Names, view: &View) {
    let sure = if finding.finding.certain { "error" } else { "warning" };
    let shown = names.show(&finding.name);
    let message = finding.finding.message.replace(&finding.name, &format!("`{shown}`"));
    let of_kernel = matches!(finding.finding.rule, RuleId::KernelClash | RuleId::OptionsDiffer);
    let subject = if of_kernel { format!(" `{shown}`") } else { String::new() };
    lines(out, "", "  ", &format!("{sure}:{subject} {message}"), view);
    let places: Vec<String> = finding.defined.iter().take(EXAMPLES).map(shown_place).collect();
    if !places.is_empty() {
        let more = finding.defined.len().saturating_sub(places.len()).saturating_add(finding.more_defined);
        let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
        writeln!(out, "  in {}{more}", places.join(", "));
    }
    for (place, import) in finding.wanted.iter().take(EXAMPLES) {
        writeln!(out, "  wanted in {}{}", shown_place(place), wanting(import, names, view.width));
    }
    let more = finding.wanted.len().saturating_sub(EXAMPLES);
    if more > 0 {
        writeln!(out, "  and in {}", counted(more, "more image"));
    }
    lines(out, "  help: ", "        ", &finding.finding.remedy, view);
}

fn shown_place(place: &Place) -> String {
    format!("{} image {}", place.0, place.1)
}

/// Names the kernels or functions of an image that import a symbol.
fn wanting(import: &Import, names: Names, width: usize) -> String {
    let none = |names: &Named| names.told.is_empty() && names.more == 0;
    let (what, all) = if none(&import.kernels) { ("function", &import.functions) } else { ("kernel", &import.kernels) };
    let Some(first) = all.told.first() else {
        return if none(all) { String::new() } else { format!(" by {}", counted(all.more, what)) };
    };
    let more = all.told.len().saturating_sub(1).saturating_add(all.more);
    let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
    format!(" by {what} {}{more}", shorten(&names.show(first), width.saturating_sub(20)))
}

fn finding(finding: &LinkFinding) -> form::LinkFinding<'_> {
    let wanted = finding.wanted.iter().map(|((file, image), import)| form::Wanted {
        file,
        image: *image,
        kernels: import.kernels.told.iter().map(|name| &**name).collect(),
        more_kernels: Some(import.kernels.more).filter(|more| *more > 0),
        functions: import.functions.told.iter().map(|name| &**name).collect(),
        more_functions: Some(import.functions.more).filter(|more| *more > 0),
    });
    form::LinkFinding {
        rule: finding.finding.rule,
        certain: finding.finding.certain,
        name: &finding.name,
        demangled: demangle(&finding.name),
        message: &finding.finding.message,
        remedy: &finding.finding.remedy,
        wanted_by: wanted.collect(),
        defined_in: finding.defined.iter().map(|(file, image)| form::Image { file, image: *image }).collect(),
        more_defined_in: Some(finding.more_defined).filter(|more| *more > 0),
    }
}

/// Writes one JSON document, with what could not be read.
///
/// # Errors
/// `Io` where the writer fails.
fn json(out: &mut impl Write, linked: &Linked, partial: bool, problems: &[FileProblem]) -> Result<()> {
    let links = linked.links.iter().map(|link| form::Link { from: &link.from, to: &link.to, symbols: &link.symbols });
    let link = form::Linking {
        imports: linked.imports,
        exports: linked.exports,
        of_the_device: linked.of_the_device,
        links: links.collect(),
        more_links: Some(linked.more_links).filter(|more| *more > 0),
        findings: linked.findings.iter().map(finding).collect(),
    };
    let document = form::Document::<[(); 0], ()> {
        schema_version: SchemaVersion,
        verdict: verdict(linked, partial),
        targets: [],
        providers: None,
        link: Some(link),
        problems,
        baseline: None,
    };
    put_line(out, &document)
}

/// Writes a line for each finding.
///
/// # Errors
/// `Io` where the writer fails.
fn jsonl(out: &mut impl Write, linked: &Linked) -> Result<()> {
    linked.findings.iter().try_for_each(|one| put_line(out, &finding(one)))
}

/// Device symbols of files, linked.
pub(crate) struct CheckedLink {
    /// The symbols, with their definitions.
    pub(crate) linked: Linked,
    /// The images.
    pub(crate) units: Vec<LinkUnit>,
    /// Whether some image could not be read.
    pub(crate) partial: bool,
    /// Parts of files that could not be read.
    pub(crate) problems: Vec<FileProblem>,
    /// Whether the unknown fails.
    pub(crate) strict: bool,
}

impl Document for CheckedLink {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let CheckedLink { linked, units, partial, problems, strict } = self;
        let view = out.look().view;
        let names = view.names();
        match form {
            Form::Json => json(&mut out.documents(), linked, *partial, problems),
            Form::Jsonl => jsonl(&mut out.documents(), linked),
            Form::Sarif => out.made(&links::sarif(linked)),
            Form::Junit => out.made(&links::junit(linked, units, names, *strict)),
            Form::Github => out.show(&links::github(linked, names)),
            Form::Markdown => out.show(&links::markdown(linked, names)),
            Form::Matrix => {
                let message = "a matrix is of kernels and targets, which --link asks nothing about";
                let error = Error::new(ErrorKind::Usage, message);
                Err(error.with_remedy("use another --format, or -t in place of --link"))
            }
            _ => out.show(&table(linked, *partial, &view)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::finding::Finding;
    use crate::compat::link::Link as Taken;
    use crate::report::check::schema;
    use crate::report::json::tests::against;

    fn linked() -> Linked {
        let place = |file: &str| (file.into(), 3);
        let kernels = Named { told: ["foo".into()].into(), more: 0 };
        let import = Import { symbol: "_Z3farf".into(), kernels, functions: Named::default() };
        let finding = |rule, certain, name: &str, message: &str| LinkFinding {
            finding: Finding::new(rule, certain, message, "do something"),
            name: name.into(),
            wanted: vec![(place("a.so"), import.clone())],
            defined: vec![place("b.so"), place("c.so"), place("d.so"), place("e.so")],
            more_defined: 0,
        };
        Linked {
            imports: 2,
            exports: 1,
            of_the_device: 1,
            links: vec![Taken { from: "a.so".into(), to: "b.so".into(), symbols: vec!["_Z3farf".into()] }],
            more_links: 0,
            findings: vec![
                finding(RuleId::UnresolvedSymbol, true, "_Z3farf", "No device image found for external symbol _Z3farf"),
                finding(RuleId::KernelClash, false, "k", "Kernel is in two."),
            ],
        }
    }

    #[test]
    fn what_is_written_fulfils_the_schema() {
        let mut out = Vec::new();
        json(&mut out, &linked(), false, &[]).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["verdict"], "incompatible");
        assert_eq!(against(&schema(), &document), Vec::<String>::new());
        let mut lines = Vec::new();
        jsonl(&mut lines, &linked()).unwrap();
        assert_eq!(String::from_utf8(lines).unwrap().lines().count(), 2);
    }

    #[test]
    fn people_see_a_few_places_and_all_counts() {
        let view = View { width: 100, demangle: true, color: false };
        let text = table(&linked(), false, &view);
        for line in [
            "error: No device image found for external symbol `far(float)`",
            "  in b.so image 3, c.so image 3, d.so image 3 and 1 more",
            "  wanted in a.so image 3 by kernel foo",
            "warning: `k` Kernel is in two.",
            "a.so takes 1 symbol from b.so, such as far(float)",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        assert!(text.ends_with("1 unresolved, 0\n  duplicate, 1 kernel in two files\n"), "{text}");
    }

    #[test]
    fn damage_leaves_the_verdict_open() {
        assert_eq!(verdict(&Linked::default(), false), Verdict::Compatible);
        assert_eq!(verdict(&Linked::default(), true), Verdict::Unknown);
    }
}
