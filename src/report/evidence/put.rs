//! How is evidence appended to JSON text?
//!
//! The same fields as those of [`Step`](super::Step) and [`Location`](super::Location), without values in between: a
//! library's kernels have thousands of chains.

use crate::compat::aspects::{Evidence, Step};
use crate::report::json::put::{List, Object, Put, With};
use crate::report::name::demangle;
use crate::spirv::lines::SourceLocation;

/// Appends the evidence for one aspect of a kernel.
pub(in crate::report) fn why(out: &mut String, evidence: &Evidence) {
    let mut object = Object::open(out);
    object.field("aspect", evidence.aspect.name());
    object.field("certain", evidence.aspect.certain());
    fields(&mut object, Some(evidence));
    object.close();
}

/// Appends the fields that tell a use and the way to it; nulls where there is none.
pub(in crate::report) fn fields(object: &mut Object<'_>, evidence: Option<&Evidence>) {
    object.field("instruction", evidence.map(|evidence| evidence.instruction.as_str()));
    object.field("offset", evidence.map(|evidence| evidence.offset));
    object.field("used_in_image", evidence.and_then(|evidence| evidence.elsewhere));
    let place = evidence.and_then(|evidence| evidence.place.as_ref());
    object.field("location", place.map(|place| With(move |out: &mut String| location(out, place))));
    let chain = evidence.map(|evidence| evidence.chain.as_slice()).unwrap_or_default();
    object.field("chain", List(chain.iter().map(|one| With(move |out: &mut String| step(out, one)))));
}

fn location(out: &mut String, place: &SourceLocation) {
    let mut object = Object::open(out);
    position(&mut object, Some(place));
    object.close();
}

fn step(out: &mut String, step: &Step) {
    let mut object = Object::open(out);
    object.field("function", &step.function);
    object.field("demangled", demangle(&step.function));
    position(&mut object, step.call.as_ref());
    object.close();
}

fn position(object: &mut Object<'_>, place: Option<&SourceLocation>) {
    object.field("file", place.map(|place| &place.file));
    object.field("line", place.map(|place| place.line));
    object.field("column", place.map(|place| place.column).filter(|column| *column != 0));
}

/// Appends a value's text as a string.
pub(in crate::report) fn quoted(value: &str) -> String {
    let mut out = String::with_capacity(value.len().saturating_add(2));
    value.put(&mut out);
    out
}
