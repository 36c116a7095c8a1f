//! What did `extract` write?

use super::document::{self, Form, Sink};
use super::json::{SchemaVersion, put, writer::text};
use super::units::{bytes, counted};
use crate::error::Result;
use crate::rewrite::extract::{Names, TABLE};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// The JSON Schema of the document.
pub fn schema() -> String {
    super::json::schema::<Document<'_>>()
}

/// The files of one image.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "image")]
pub struct Written {
    /// The file that holds the image; through packages, `a.whl!lib/x.so`.
    pub path: String,
    /// The index of the image in its file.
    pub index: usize,
    /// The device or name of the member of the image that was written in place of the whole, with `--member`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Bytes of the payload's file.
    #[serde(rename = "size")]
    pub bytes: u64,
    /// The names of the files in the folder.
    #[serde(flatten)]
    pub names: Names,
}

/// The files that images were written to.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle extract --format json")]
struct Document<'a> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The file that was read.
    path: &'a str,
    /// The folder of the files.
    folder: &'a str,
    /// The name of the table that lists them, in the folder.
    table: &'a str,
    /// The images.
    images: &'a [Written],
}

/// Writes the list as one JSON document.
///
/// # Errors
/// `Io` where the writer fails.
pub(super) fn json(out: &mut impl Write, path: &str, folder: &str, images: &[Written]) -> Result<()> {
    put(out, &(text(&Document { schema_version: SchemaVersion, path, folder, table: TABLE, images }) + "\n"))
}

/// The list in a sentence.
pub fn summary(folder: &str, written: &[Written]) -> String {
    let total = written.iter().map(|entry| entry.bytes).sum();
    let members = written.iter().any(|entry| entry.member.is_some());
    let images = counted(written.len(), if members { "member" } else { "image" });
    format!("{images}, {}, written to {folder}", bytes(total))
}

/// Images that were written to a folder.
pub struct Extracted<'a> {
    /// The file that was read.
    pub path: &'a str,
    /// The folder.
    pub folder: &'a str,
    /// The images.
    pub images: &'a [Written],
}

impl document::Document for Extracted<'_> {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        if form == Form::Json {
            let Extracted { path, folder, images } = *self;
            return json(&mut out.documents(), path, folder, images);
        }
        Ok(())
    }
}
