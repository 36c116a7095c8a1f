//! What does the cache of compiled modules hold, and what was done to it?

use super::document::{Document, Form, Sink};
use super::json::{SchemaVersion, pretty};
use super::text::Shown;
use super::text::{bytes, count};
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Cached>()
}

/// The contents of the cache of compiled modules, after the verb's work.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle cache --format json")]
pub(crate) struct Cached {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The folder of the cache.
    pub(crate) folder: String,
    /// Entries that were removed, with `gc` and `clear`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<Size>,
    /// Entries that were damaged and have been removed, with `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<Vec<String>>,
    /// Entries that are whole, with `verify`.
    #[serde(skip)]
    pub(crate) sound: u64,
    /// Entries that are left.
    #[serde(flatten)]
    pub(crate) held: Size,
    /// Seconds since the least recently used entry was used; null where there is none.
    pub(crate) oldest_seconds: Option<u64>,
    /// Bytes that a build leaves at most.
    pub(crate) limit: u64,
}

/// Entries and their bytes.
#[derive(Debug, Default, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Size {
    /// The number of entries.
    pub(crate) entries: u64,
    /// Bytes of the entries on disk.
    pub(crate) bytes: u64,
}

impl Size {
    fn text(self) -> String {
        let entries = usize::try_from(self.entries).unwrap_or(usize::MAX);
        let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", count(entries)) };
        format!("{entries}, {}", bytes(self.bytes))
    }
}

/// A time span for a person.
fn age(seconds: u64) -> String {
    let some = |number: u64, unit: &str| format!("for {number} {unit}{}", if number == 1 { "" } else { "s" });
    match seconds {
        0..60 => "for less than a minute".to_owned(),
        60..3_600 => some(seconds / 60, "minute"),
        3_600..86_400 => some(seconds / 3_600, "hour"),
        _ => some(seconds / 86_400, "day"),
    }
}

impl Cached {
    /// Shows the document to a person.
    fn text(&self) -> Shown {
        let mut out = Shown::default();
        writeln!(out, "{}", self.folder);
        if let Some(removed) = self.removed {
            writeln!(out, "  removed: {}", removed.text());
        }
        if let Some(damaged) = &self.damaged {
            writeln!(out, "  whole: {}; damaged and removed: {}", self.sound, damaged.len());
            damaged.iter().for_each(|path| writeln!(out, "    {path}"));
        }
        writeln!(out, "  {}", self.held.text());
        if let (Some(seconds), None, None) = (self.oldest_seconds, self.removed, &self.damaged) {
            writeln!(out, "  the longest unused: {}", age(seconds));
        }
        writeln!(out, "  a build leaves {} at most", bytes(self.limit));
        out
    }
}

impl Document for Cached {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        if form == Form::Json { out.made(&pretty(self)) } else { out.show(&self.text()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_not_called_no_days() {
        let texts = [59, 60, 7_200, 86_400, 200_000].map(age);
        assert_eq!(texts, ["for less than a minute", "for 1 minute", "for 2 hours", "for 1 day", "for 2 days"]);
        let cached = Cached { oldest_seconds: Some(3_600), ..Cached::default() };
        assert!(cached.text().contains("the longest unused: for 1 hour"), "{}", cached.text());
    }
}
