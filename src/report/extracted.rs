//! What did `extract` write?

use super::document::{Document, Form, Sink};
use super::json::{SchemaVersion, writer::text};
use super::text::{bytes, counted};
use crate::error::Result;
use crate::rewrite::extract::{Names, TABLE};
use schemars::JsonSchema;
use serde::Serialize;

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Extracted>()
}

/// The files of one image.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "image")]
pub(crate) struct Written {
    /// The file that holds the image; through packages, `a.whl!lib/x.so`.
    pub(crate) path: String,
    /// The index of the image in its file.
    pub(crate) index: usize,
    /// The device or name of the member of the image that was written in place of the whole, with `--member`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// Bytes of the payload's file.
    #[serde(rename = "size")]
    pub(crate) bytes: u64,
    /// The names of the files in the folder.
    #[serde(flatten)]
    pub(crate) names: Names,
}

/// The files that images were written to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle extract --format json")]
pub(crate) struct Extracted {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The file that was read.
    path: String,
    /// The folder of the files.
    folder: String,
    /// The name of the table that lists them, in the folder.
    table: &'static str,
    /// The images.
    images: Vec<Written>,
}

impl Extracted {
    /// Lists the images of the file at `path` that a folder holds.
    pub(crate) fn new(path: String, folder: String, images: Vec<Written>) -> Extracted {
        Extracted { schema_version: SchemaVersion, path, folder, table: TABLE, images }
    }

    /// The list in a sentence.
    pub(crate) fn summary(&self) -> String {
        let total = self.images.iter().map(|entry| entry.bytes).sum();
        let members = self.images.iter().any(|entry| entry.member.is_some());
        let images = counted(self.images.len(), if members { "member" } else { "image" });
        format!("{images}, {}, written to {}", bytes(total), self.folder)
    }
}

impl Document for Extracted {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        if form == Form::Json { out.made(&text(self)) } else { Ok(()) }
    }
}
