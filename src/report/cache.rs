//! What does the cache of compiled modules hold, and what was done to it?

use super::units::{bytes, count};
use serde::Serialize;

/// The published JSON Schema of the document.
pub const SCHEMA: &str = include_str!("cache/cache.schema.json");

/// The result of one `cache`.
#[derive(Debug, Default, Serialize)]
pub struct Cached {
    /// Version of this document's schema.
    pub schema_version: u32,
    /// Where it is.
    pub folder: String,
    /// What was removed, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<Size>,
    /// Entries that were damaged and have been removed, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<Vec<String>>,
    /// Entries that are whole, where that was asked for.
    #[serde(skip)]
    pub sound: u64,
    /// What it holds now.
    #[serde(flatten)]
    pub held: Size,
    /// Seconds since the least recently used entry was used.
    pub oldest_seconds: Option<u64>,
    /// Bytes that a build leaves at most.
    pub limit: u64,
}

/// Entries and their bytes.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Size {
    /// Entries.
    pub entries: u64,
    /// Their bytes on disk.
    pub bytes: u64,
}

impl Size {
    fn text(self) -> String {
        let entries = usize::try_from(self.entries).unwrap_or(usize::MAX);
        let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", count(entries)) };
        format!("{entries}, {}", bytes(self.bytes))
    }
}

impl Cached {
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The same for a person.
    pub fn text(&self) -> String {
        let mut lines = vec![self.folder.clone()];
        if let Some(removed) = self.removed {
            lines.push(format!("  removed: {}", removed.text()));
        }
        if let Some(damaged) = &self.damaged {
            lines.push(format!("  whole: {}; damaged and removed: {}", self.sound, damaged.len()));
            lines.extend(damaged.iter().map(|path| format!("    {path}")));
        }
        lines.push(format!("  {}", self.held.text()));
        if let (Some(seconds), None, None) = (self.oldest_seconds, self.removed, &self.damaged) {
            lines.push(format!("  least recently used {} days ago", seconds / 86_400));
        }
        lines.push(format!("  a build leaves {} at most", bytes(self.limit)));
        lines.join("\n")
    }
}
