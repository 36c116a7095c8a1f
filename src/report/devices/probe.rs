//! What did a driver take of what it was probed with, for a person and for a script?

use crate::build::probe::{Probed, Probes, Subject};
use crate::report::inspect::View;
use crate::report::table::{Column, render};
use serde_json::{Value, json};

/// One row for each that was asked about.
pub fn table(probes: &Probes, view: &View) -> String {
    let columns =
        [("Kind", Column::Text), ("Name", Column::Text), ("Taken", Column::Text), ("Why", Column::Wrapped(48))];
    let row = |one: &Probed| {
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

/// The member `probe` of a device.
pub fn document(probes: &Probes) -> Value {
    let one = |one: &Probed| {
        let extension = match one.subject {
            Subject::Capability(_, extension) => Some(extension).filter(|name| !name.is_empty()),
            _ => None,
        };
        let number = match one.subject {
            Subject::Capability(number, _) => Some(number),
            _ => None,
        };
        json!({
            "kind": kind(&one.subject),
            "name": one.subject.name(),
            "number": number,
            "extension": extension,
            "used": one.used,
            "answer": one.reply.word(),
            "reason": one.reply.reason(),
        })
    };
    json!({
        "checks_capabilities": probes.checks_capabilities,
        "checks_extensions": probes.checks_extensions,
        "results": probes.all.iter().map(one).collect::<Vec<_>>(),
    })
}

fn kind(subject: &Subject) -> &'static str {
    match subject {
        Subject::Version(..) => "version",
        Subject::Capability(..) => "capability",
        Subject::Extension(_) => "extension",
    }
}
