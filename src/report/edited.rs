//! What came of adding images to a file, or removing some?

use super::document::{Document, Form, Sink};
use super::json::SchemaVersion;
use super::text::Shown;
use super::text::{bytes, count, counted};
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Edited>()
}

/// The number of kernels that are named without `-v`.
const NAMED: usize = 4;

/// The result of adding images to a linked file, or of removing some.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle embed and prune --format json")]
pub(crate) struct Edited {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The file that was read.
    pub(crate) input: String,
    /// The file that was written.
    pub(crate) output: String,
    /// Files of a package, each changed on its own; those without a matching image are not among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<Edited>,
    /// Images in the input's lists.
    pub(crate) images_before: usize,
    /// Images that were removed.
    pub(crate) removed: usize,
    /// Images that were added.
    pub(crate) added: usize,
    /// Images in the output's lists.
    pub(crate) images_after: usize,
    /// Bytes of the payloads that were removed.
    pub(crate) removed_bytes: u64,
    /// Removed images that left the file, with what an earlier run had added.
    pub lifted: usize,
    /// Bytes of pages that left the file, of the file and of memory.
    pub(crate) cut_bytes: u64,
    /// Bytes that became zeros in place.
    pub(crate) zeroed_bytes: u64,
    /// Bytes of removed payloads that stay, since others share them or they stand among code.
    pub(crate) left_bytes: u64,
    /// Whether the output has lost its input's signature.
    pub(crate) signature_dropped: bool,
    /// Kernels that no image of the output has, mangled.
    pub(crate) kernels_without_image: Vec<String>,
    /// Symbols that images of the output import, and that a removed image defined.
    pub(crate) symbols_without_image: Vec<String>,
    /// Bytes of the input.
    pub(crate) bytes_before: u64,
    /// Bytes of the output.
    pub(crate) bytes_after: u64,
}

impl Edited {
    /// Adds what came of one file of a package.
    pub(crate) fn add(&mut self, file: Edited) {
        add_counts!(self, file; images_before removed added images_after lifted);
        add_counts!(self, file; removed_bytes cut_bytes zeroed_bytes left_bytes bytes_before bytes_after);
        self.signature_dropped |= file.signature_dropped;
        self.kernels_without_image.extend(file.kernels_without_image.iter().cloned());
        self.symbols_without_image.extend(file.symbols_without_image.iter().cloned());
        self.files.push(file);
    }

    /// The document as JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The summary for a person; `verbose` names every kernel, with `kernel` giving the name that it is shown by.
    pub(crate) fn summary(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, width: usize) -> Shown {
        let mut lines = Vec::new();
        if self.added > 0 {
            lines.push(format!("{} added", counted(self.added, "image")));
        }
        if self.removed > 0 {
            let of = counted(self.images_before, "image");
            lines.push(format!("{} of {of} removed: {}", count(self.removed), bytes(self.removed_bytes)));
        }
        if self.lifted > 0 {
            lines.push(format!("  {} left the file with what an earlier run had added", counted(self.lifted, "image")));
        }
        if self.cut_bytes > 0 {
            lines.push(format!("  {} left the file with their pages", bytes(self.cut_bytes)));
        }
        if self.zeroed_bytes > 0 && self.cut_bytes > 0 {
            lines.push(format!("  {} of other pages became zeros", bytes(self.zeroed_bytes)));
        } else if self.zeroed_bytes > 0 {
            let size = bytes(self.zeroed_bytes);
            lines.push(format!("  {size} became zeros: nothing else may move, and packages compress them to nothing"));
        }
        if self.left_bytes > 0 {
            let size = bytes(self.left_bytes);
            lines.push(format!("  {size} stay, since other images share them or they stand among code"));
        }
        if self.signature_dropped {
            lines.push("  the signature was removed: sign the file again where that is needed".to_owned());
        }
        let mut names = |what: &str, names: &[String]| {
            if names.is_empty() {
                return;
            }
            let shown = if verbose { names.len() } else { NAMED };
            lines.push(format!("  {what}: {}", names.len()));
            lines.extend(
                names.iter().take(shown).map(|name| format!("    {}", super::name::shorten(&kernel(name), 80))),
            );
            if names.len() > shown {
                lines.push(format!("    and {} more (-v names all)", names.len().saturating_sub(shown)));
            }
        };
        names("kernels that have no image any more and cannot be launched", &self.kernels_without_image);
        names("imported symbols that no image defines any more", &self.symbols_without_image);
        for file in &self.files {
            let (before, after) = (bytes(file.bytes_before), bytes(file.bytes_after));
            lines.push(format!(
                "  {}: {}, {before} before, {after} after",
                super::name::below(&file.input, std::slice::from_ref(&self.input)),
                counted(file.images_after, "image")
            ));
        }
        let (before, after) = (bytes(self.bytes_before), bytes(self.bytes_after));
        lines.push(format!("{}: {}, {before} before, {after} after", self.output, counted(self.images_after, "image")));
        Shown::folded(&lines, width)
    }
}

impl Document for Edited {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let look = out.look();
        if form == Form::Json {
            return out.made(&self.to_json());
        }
        // Why no file was changed has been told.
        if self.bytes_before == 0 {
            return Ok(());
        }
        out.say(&self.summary(look.verbose, &|name| look.view.kernel(name), look.stderr_width));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_where_the_bytes_went() {
        let edited = Edited {
            output: "out.so".to_owned(),
            images_before: 7,
            removed: 3,
            images_after: 4,
            zeroed_bytes: 2048,
            lifted: 1,
            kernels_without_image: (0..6).map(|kernel| format!("k{kernel}")).collect(),
            ..Edited::default()
        };
        let text = edited.summary(false, &str::to_owned, usize::MAX);
        assert!(text.starts_with("3 of 7 images removed: 0 B\n  1 image left the file"), "{text}");
        assert!(text.contains("2.00 KiB became zeros") && text.contains("cannot be launched: 6"), "{text}");
        assert!(text.contains("    k3\n    and 2 more (-v names all)\nout.so: 4 images"), "{text}");
        assert!(edited.summary(true, &str::to_owned, usize::MAX).contains("k5"));
    }
}
