//! Why does a kernel use an aspect, in words and as JSON?

use super::name::display;
use super::text::visible;
use crate::compat::aspects::{Comparison, Evidence};
use crate::compat::warnings::called;
use crate::demangle::demangle;
use crate::source::SourceLocation;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// A function on the way to a use.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Step<'a> {
    /// The mangled name.
    pub function: &'a str,
    /// The name as the source has it.
    pub(crate) demangled: Cow<'a, str>,
    /// The file in which it is called; null for the first, and without debug information.
    pub(crate) file: Option<&'a str>,
    /// The line of the call.
    pub(crate) line: Option<u32>,
    /// The column of the call; null where it is not known.
    pub(crate) column: Option<u32>,
}

/// The chain of a use.
pub(crate) fn chain(evidence: &Evidence) -> Vec<Step<'_>> {
    let steps = evidence.chain.iter().map(|step| {
        let call = step.call.as_ref();
        Step {
            function: &step.function,
            demangled: demangle(&step.function),
            file: call.map(|place| &*place.file),
            line: call.map(|place| place.line),
            column: call.and_then(SourceLocation::known_column),
        }
    });
    steps.collect()
}

/// The use of an aspect.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub(crate) struct AspectUse<'a> {
    /// The aspect's SYCL name.
    pub(crate) aspect: &'static str,
    /// Whether it is used, rather than one of several that leave the same instruction.
    pub(crate) certain: bool,
    /// The instruction and the type that shows the use.
    pub(crate) instruction: &'a str,
    /// The instruction's byte offset in the module of the chain's last function.
    pub(crate) offset: u64,
    /// The number of the image that the instruction is in, where it is not the kernel's own.
    pub(crate) used_in_image: Option<usize>,
    /// The place of the use in the source; null without debug information.
    pub(crate) location: Option<&'a SourceLocation>,
    /// The functions from the kernel to the one that uses the aspect.
    pub(crate) chain: Vec<Step<'a>>,
}

impl<'a> AspectUse<'a> {
    /// The use that a piece of evidence tells.
    pub(crate) fn new(evidence: &'a Evidence) -> AspectUse<'a> {
        AspectUse {
            aspect: evidence.aspect.name(),
            certain: evidence.aspect.certain(),
            instruction: &evidence.instruction,
            offset: evidence.offset,
            used_in_image: evidence.elsewhere,
            location: evidence.place.as_ref(),
            chain: chain(evidence),
        }
    }
}

/// The form in which names of functions are shown: demangled or as they are.
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

/// The verb for what the code shows of an aspect.
pub(crate) fn uses(evidence: &Evidence) -> &'static str {
    if evidence.aspect.certain() { "uses" } else { "may use" }
}

/// The evidence for one aspect of a kernel:
///
/// ```text
/// kernel `foo` uses aspect fp64
///   -> mid(float) src/a.cpp:31:12 -> leaf(double) src/a.cpp:12:30: OpFMul %double at src/a.cpp:3:9
/// ```
pub fn text(kernel: &str, evidence: &Evidence, names: Names) -> String {
    let uses = uses(evidence);
    let (shown, aspect) = (visible(&names.show(kernel)).into_owned(), evidence.aspect.name());
    format!("kernel `{shown}` {uses} aspect {aspect}\n  {}\n", way(kernel, evidence, names))
}

/// The calls from a kernel, which has been named, to what uses an aspect.
///
/// `file:line:column` behind a function is where it is called; the one at the end is the use's own. Functions that are shown
/// alike, such as the two forms of a constructor, are one step.
pub(crate) fn way(kernel: &str, evidence: &Evidence, names: Names) -> String {
    let mut steps: Vec<(String, String)> = Vec::new();
    for step in evidence.chain.iter().skip_while(|step| step.function == kernel) {
        let name = called(&names.show(&step.function));
        let place = step.call.as_ref().map(|place| format!(" {place}")).unwrap_or_default();
        if steps.last().is_none_or(|(last, _)| *last != name) {
            steps.push((name, place));
        }
    }
    let mut text: String = steps.iter().map(|(name, place)| format!("-> {name}{place} ")).collect();
    if !steps.is_empty() {
        text.truncate(text.trim_end().len());
        text.push_str(": ");
    }
    let mut place = evidence.place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
    if let Some(image) = evidence.elsewhere {
        place.push_str(&format!(" (in image {image})"));
    }
    text.push_str(&evidence.instruction);
    text.push_str(&place);
    visible(&text).into_owned()
}

/// Describes each aspect whose stored, declared and used requirements differ, a sentence each.
pub(crate) fn differences(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.differences.iter().map(|difference| format!("aspect {} {}", difference.aspect, difference.reason.text()))
}
