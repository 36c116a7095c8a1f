//! What did the gate find, as JSON?

use super::stream::{self, Share, Texts};
use super::{Counts, Finding, OfTarget, verdict};
use crate::error::{Error, Result};
use crate::report::check::Verdict;
use crate::report::evidence::{self, put::quoted};
use crate::report::json::put::{Object, With};
use crate::report::name::demangle;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Head {
    target: String,
    verdict: Verdict,
    kernels: Kernels,
}

#[derive(Serialize)]
struct Kernels {
    compatible: usize,
    unknown: usize,
    incompatible: usize,
}

/// Appends a finding, whose kernel's demangled name is given as JSON.
fn entry(out: &mut String, finding: &Finding<'_>, target: &str, demangled: &str) {
    let Finding { of, found } = *finding;
    let mut object = Object::open(out);
    object.field("rule", found.against.matter.rule());
    object.field("certain", found.against.certain);
    object.field("file", &*of.file);
    object.field("image", found.image);
    object.field("kernel", &**found.kernel);
    object.field("demangled", With(|out: &mut String| out.push_str(demangled)));
    object.field("message", &found.against.message);
    object.field("aspect", found.against.aspect.as_ref());
    evidence::put::fields(&mut object, finding.evidence());
    object.field("remedy", &found.against.remedy);
    object.field("fingerprint", finding.fingerprint(target));
    object.field("excused", found.excused.map(|why| &**why));
    object.close();
}

/// Writes one JSON document, finding by finding.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(out: &mut impl Write, targets: &[OfTarget]) -> Result<()> {
    let version = crate::report::json::SCHEMA_VERSION;
    let total = text(&verdict(targets))?;
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
            let name = names.get(share, kernel, || quoted(&demangle(finding.found.kernel)));
            entry(out, &finding, &share.target.target, &name);
        }
        if share.closes {
            out.push_str("]}");
        }
    };
    stream::each(targets, share, |text| put(out, text))?;
    put(out, "]}\n")
}

/// The begin of a target's object, up to its findings.
fn head(one: &OfTarget) -> Result<String> {
    let Counts { compatible, unknown, incompatible } = one.counts();
    let kernels = Kernels { compatible, unknown, incompatible };
    let head = text(&Head { target: one.target.clone(), verdict: one.verdict(), kernels })?;
    Ok(format!("{},\"findings\":[", head.strip_suffix('}').unwrap_or(&head)))
}

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::input(error.to_string()))
}

fn put(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", &error))
}
