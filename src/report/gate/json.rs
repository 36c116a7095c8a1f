//! What did the gate find, as JSON?

use super::baseline::Compared;
use super::stream::{self, Share, Texts};
use super::{Counts, Finding, OfTarget, verdict};
use crate::compat::offers::Provider;
use crate::error::{Problem, Result};
use crate::report::check::Verdict;
use crate::report::evidence::{self, put::quoted};
use crate::report::json::put::{Object, With};
use crate::report::json::{put, text};
use crate::report::name::demangle;
use serde::Serialize;
use std::io::Write;

/// Something that could not be read, in its file.
#[derive(Debug, Clone, Serialize)]
pub struct Trouble {
    /// The file, as the user gave it.
    pub file: String,
    /// The image, where it is about one.
    pub image: Option<usize>,
    /// Where in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl Trouble {
    /// A problem of a file.
    pub fn of(file: &str, problem: &Problem) -> Trouble {
        let (image, offset) = (problem.image, problem.error.offset());
        Trouble { file: file.to_owned(), image, offset, message: problem.error.to_string() }
    }
}

#[derive(Serialize)]
struct Head<'a> {
    question: &'static str,
    target: Option<&'a str>,
    verdict: Verdict,
    kernels: Kernels,
}

#[derive(Serialize)]
struct Kernels {
    compatible: usize,
    unknown: usize,
    incompatible: usize,
    /// Of those that are compatible: all that is found of them is excused.
    excused: usize,
}

/// An image of another file that one is linked to.
#[derive(Serialize)]
struct Provides<'a> {
    file: &'a str,
    image: usize,
    provided_by: Image<'a>,
    symbols: &'a [String],
}

#[derive(Serialize)]
struct Image<'a> {
    file: &'a str,
    image: usize,
}

impl<'a> Provides<'a> {
    fn of(provider: &'a Provider) -> Provides<'a> {
        let Provider { file, image, provided_by, its_image, symbols } = provider;
        Provides { file, image: *image, provided_by: Image { file: provided_by, image: *its_image }, symbols }
    }
}

/// A finding as it is written.
struct Entry<'e> {
    finding: Finding<'e>,
    /// The target's name; empty for what holds whatever the target.
    target: &'e str,
    /// The kernel's demangled name as JSON.
    demangled: &'e str,
    compared: Option<&'e Compared>,
}

impl Entry<'_> {
    fn fields(&self, object: &mut Object<'_>) {
        let Finding { of, found } = self.finding;
        let kernel = Some(&**found.kernel).filter(|name| !name.is_empty());
        object.field("rule", found.against.matter.rule());
        object.field("certain", found.against.certain);
        object.field("file", &*of.file);
        object.field("image", found.image);
        object.field("kernel", kernel);
        object.field("demangled", With(|out: &mut String| out.push_str(self.demangled)));
        object.field("message", &found.against.message);
        object.field("aspect", found.against.aspect.as_ref());
        evidence::put::fields(object, self.finding.evidence());
        object.field("remedy", &found.against.remedy);
        object.field("fingerprint", self.finding.fingerprint(self.target));
        object.field("excused", found.excused.map(|why| &**why));
        object.field("known", self.compared.map(|compared| compared.knows(&found)));
    }
}

/// A kernel's demangled name as JSON; null for what is of a whole file.
fn demangled(kernel: &str) -> String {
    if kernel.is_empty() { "null".to_owned() } else { quoted(&demangle(kernel)) }
}

/// The target's name; none for what holds whatever the target.
fn name(target: &OfTarget) -> Option<&str> {
    Some(target.target.as_str()).filter(|name| !name.is_empty())
}

/// Writes a line for each finding.
///
/// # Errors
/// `Io` where the writer fails.
pub fn jsonl(out: &mut impl Write, targets: &[OfTarget], compared: Option<&Compared>) -> Result<()> {
    let names = Texts::of(targets);
    let share = |out: &mut String, share: &Share<'_>| {
        for (kernel, _, finding) in share.findings() {
            let demangled = names.get(share, kernel, || demangled(finding.found.kernel));
            let entry = Entry { finding, target: &share.target.target, demangled: &demangled, compared };
            let mut object = Object::open(out);
            object.field("target", name(share.target));
            entry.fields(&mut object);
            object.close();
            out.push('\n');
        }
    };
    stream::each(targets, share, |text| put(out, text))
}

/// Writes one JSON document, finding by finding, what could not be read, and what came of a baseline.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(
    out: &mut impl Write,
    targets: &[OfTarget],
    problems: &[Trouble],
    compared: Option<&Compared>,
    providers: &[Provider],
) -> Result<()> {
    let version = crate::report::json::SCHEMA_VERSION;
    // What could not be read may hold anything.
    let unread = if problems.is_empty() { Verdict::Compatible } else { Verdict::Unknown };
    let total = text(&verdict(targets).max(unread))?;
    put(out, &format!("{{\"schema_version\":{version},\"verdict\":{total},\"targets\":["))?;
    let heads: Vec<String> = targets.iter().map(head).collect::<Result<_>>()?;
    let names = Texts::of(targets);
    let share = |out: &mut String, share: &Share<'_>| {
        if share.opens {
            out.push_str(if share.nth == 0 { "\n" } else { ",\n" });
            out.push_str(heads.get(share.nth).map(String::as_str).unwrap_or_default());
        }
        for (kernel, first, finding) in share.findings() {
            out.push_str(if first { "\n" } else { ",\n" });
            let demangled = names.get(share, kernel, || demangled(finding.found.kernel));
            let entry = Entry { finding, target: &share.target.target, demangled: &demangled, compared };
            let mut object = Object::open(out);
            entry.fields(&mut object);
            object.close();
        }
        if share.closes {
            out.push_str("]}");
        }
    };
    stream::each(targets, share, |text| put(out, text))?;
    put(out, "],\"providers\":[")?;
    for (at, one) in providers.iter().enumerate() {
        let entry = text(&Provides::of(one))?;
        put(out, &format!("{}{entry}", if at == 0 { "\n" } else { ",\n" }))?;
    }
    put(out, &format!("],\"problems\":{},\"baseline\":{}}}\n", text(&problems)?, text(&compared)?))
}

/// The begin of a target's object, up to its findings.
fn head(one: &OfTarget) -> Result<String> {
    let Counts { compatible, unknown, incompatible } = one.counts();
    let kernels = Kernels { compatible, unknown, incompatible, excused: one.excused_kernels() };
    let target = name(one);
    let question = if target.is_some() { "target" } else { "policy" };
    let head = text(&Head { question, target, verdict: one.verdict(), kernels })?;
    Ok(format!("{},\"findings\":[", head.strip_suffix('}').unwrap_or(&head)))
}
