//! What did a driver take of what it was probed with, for a person and for a script?

use crate::build::probe::{self, Probes, Subject};
use crate::report::inspect::View;
use crate::report::table::{Column, render};
use schemars::JsonSchema;
use serde::Serialize;

/// One row for each that was asked about.
pub fn table(probes: &Probes, view: &View) -> String {
    let columns =
        [("Kind", Column::Text), ("Name", Column::Text), ("Taken", Column::Text), ("Why", Column::Wrapped(48))];
    let row = |one: &probe::Probed| {
        let told = match one.reply.reason() {
            Some(why) => why.to_owned(),
            None if !probes.telling(one) => "takes what does not exist, too".to_owned(),
            None if one.used => "in code".to_owned(),
            None => String::new(),
        };
        vec![kind(&one.subject).to_owned(), one.subject.name(), one.reply.word().to_owned(), told]
    };
    let rows: Vec<Vec<String>> = probes.all.iter().map(row).collect();
    render(&columns, &rows, view.width, view.color)
}

/// The answers of a driver to probes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Probe")]
pub(super) struct Probed<'a> {
    /// Whether it refuses a capability that does not exist; else its yes to one that is only declared says nothing.
    checks_capabilities: bool,
    /// Whether it refuses an extension that does not exist; else its yes to one says nothing.
    checks_extensions: bool,
    /// The results, in the order of versions, capabilities, extensions.
    results: Vec<Outcome<'a>>,
}

/// The answer of a driver to one version, capability or extension.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProbeResult")]
struct Outcome<'a> {
    /// The kind.
    #[schemars(extend("enum" = ["version", "capability", "extension"]))]
    kind: &'static str,
    /// The name.
    name: String,
    /// The number of a capability.
    number: Option<u32>,
    /// The extension that brings the capability.
    extension: Option<&'static str>,
    /// Whether the kernel's code uses it, rather than only declaring it.
    used: bool,
    /// Whether the driver built it, refused it, took its process with it, or gave no answer in time.
    #[schemars(extend("enum" = ["yes", "refused", "died", "silent"]))]
    answer: &'static str,
    /// The reason why it does not take it.
    reason: Option<&'a str>,
}

impl<'a> From<&'a Probes> for Probed<'a> {
    fn from(probes: &'a Probes) -> Self {
        let Probes { checks_capabilities, checks_extensions, all } = probes;
        let (checks_capabilities, checks_extensions) = (*checks_capabilities, *checks_extensions);
        Probed { checks_capabilities, checks_extensions, results: all.iter().map(Outcome::from).collect() }
    }
}

impl<'a> From<&'a probe::Probed> for Outcome<'a> {
    fn from(one: &'a probe::Probed) -> Self {
        let (number, extension) = match one.subject {
            Subject::Capability(number, extension) => (Some(number), Some(extension).filter(|name| !name.is_empty())),
            _ => (None, None),
        };
        Outcome {
            kind: kind(&one.subject),
            name: one.subject.name(),
            number,
            extension,
            used: one.used,
            answer: one.reply.word(),
            reason: one.reply.reason(),
        }
    }
}

fn kind(subject: &Subject) -> &'static str {
    match subject {
        Subject::Version(..) => "version",
        Subject::Capability(..) => "capability",
        Subject::Extension(_) => "extension",
    }
}
