//! Why does a kernel use an aspect, in words and as JSON?

pub(super) mod put;

use super::name::{demangle, display};
use super::text::{visible, visible_lines};
use crate::compat::aspects::{Comparison, Evidence};
use crate::compat::warnings::{called, location};
use crate::spirv::lines::SourceLocation;
use serde::Serialize;
use std::borrow::Cow;

/// A function on the way, as JSON.
#[derive(Debug, Serialize)]
pub struct Step {
    /// The mangled name.
    pub function: String,
    /// The name as the source has it.
    pub demangled: String,
    /// The file in which it is called; null for the first, and without debug information.
    pub file: Option<String>,
    /// The line of the call.
    pub line: Option<u32>,
    /// The column of the call; null where it is not known.
    pub column: Option<u32>,
}

impl Step {
    fn of(function: &str, place: Option<&SourceLocation>) -> Step {
        Step {
            function: function.to_owned(),
            demangled: demangle(function).into_owned(),
            file: place.map(|place| place.file.clone()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column).filter(|column| *column != 0),
        }
    }
}

/// A place in the source, as JSON.
#[derive(Debug, Serialize)]
pub struct Location<'a> {
    /// The file as the compiler wrote it.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// The column; null where it is not known.
    pub column: Option<u32>,
}

/// Where a use is, as JSON; none without debug information.
pub fn place(evidence: &Evidence) -> Option<Location<'_>> {
    let SourceLocation { file, line, column } = evidence.place.as_ref()?;
    Some(Location { file, line: *line, column: Some(*column).filter(|column| *column != 0) })
}

/// The chain of a use, as JSON.
pub fn chain(evidence: &Evidence) -> Vec<Step> {
    evidence.chain.iter().map(|step| Step::of(&step.function, step.call.as_ref())).collect()
}

/// The evidence for one aspect, as JSON.
#[derive(Debug, Serialize)]
pub struct Why<'a> {
    /// The aspect's SYCL name.
    pub aspect: &'static str,
    /// Whether it is used, rather than one of several that leave the same instruction.
    pub certain: bool,
    /// The instruction and the type that shows the use.
    pub instruction: &'a str,
    /// The instruction's byte offset in the module of the chain's last function.
    pub offset: u64,
    /// The number of the image that the instruction is in, where it is not the kernel's own.
    pub used_in_image: Option<usize>,
    /// Where in the source the use is; null without debug information.
    pub location: Option<Location<'a>>,
    /// The functions from the kernel to the one that uses the aspect.
    pub chain: Vec<Step>,
}

impl<'a> Why<'a> {
    /// The JSON of a piece of evidence.
    pub fn of(evidence: &'a Evidence) -> Why<'a> {
        Why {
            aspect: evidence.aspect.name(),
            certain: evidence.aspect.certain(),
            instruction: &evidence.instruction,
            offset: evidence.offset,
            used_in_image: evidence.elsewhere,
            location: place(evidence),
            chain: chain(evidence),
        }
    }
}

/// How functions are called in text: demangled or not.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Whether to demangle.
    pub demangle: bool,
}

impl Names {
    /// A function's or kernel's name, with what does not show spelled out.
    pub fn show(self, mangled: &str) -> String {
        let name = if self.demangle { Cow::Owned(display(mangled)) } else { Cow::Borrowed(mangled) };
        visible(&name).into_owned()
    }
}

/// The evidence for one aspect of a kernel:
///
/// ```text
/// kernel `foo` uses aspect fp64
///   foo() -> mid(float) src/a.cpp:31:12 -> leaf(double) src/a.cpp:12:30: OpFMul %double at src/a.cpp:3:9
/// ```
///
/// `file:line:column` behind a function is where it is called; the one at the end is the use's own.
pub fn text(kernel: &str, evidence: &Evidence, names: Names) -> String {
    let steps = evidence.chain.iter().map(|step| {
        let name = called(&names.show(&step.function));
        match &step.call {
            Some(place) => format!("{name} {}", location(place)),
            None => name,
        }
    });
    let uses = if evidence.aspect.certain() { "uses" } else { "may use" };
    let mut place = evidence.place.as_ref().map(|place| format!(" at {}", location(place))).unwrap_or_default();
    if let Some(image) = evidence.elsewhere {
        place.push_str(&format!(" (in image {image})"));
    }
    let text = format!(
        "kernel `{}` {uses} aspect {}\n  {}: {}{place}\n",
        names.show(kernel),
        evidence.aspect.name(),
        steps.collect::<Vec<_>>().join(" -> "),
        evidence.instruction,
    );
    visible_lines(&text).into_owned()
}

/// Where what is stored, declared and found differ: a sentence for each aspect.
pub fn differences(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.differences.iter().map(|difference| format!("aspect {} {}", difference.aspect, difference.reason.text()))
}
