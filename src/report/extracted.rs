//! What did `extract` write?

use super::units::{bytes, counted};
use crate::error::{Error, Result};
use crate::rewrite::extract::{Names, TABLE};
use serde::Serialize;
use std::io::Write;

/// The published JSON Schema of the document.
pub const SCHEMA: &str = include_str!("extracted/extract.schema.json");

/// The files of one image.
#[derive(Debug)]
pub struct Written {
    /// The file that holds the image; through packages, `a.whl!lib/x.so`.
    pub path: String,
    /// The image's index in its file.
    pub index: usize,
    /// Bytes of the payload's file.
    pub bytes: u64,
    /// The files' names in the folder.
    pub names: Names,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    path: &'a str,
    folder: &'a str,
    table: &'a str,
    images: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    path: &'a str,
    index: usize,
    size: u64,
    code: &'a str,
    properties: Option<&'a str>,
    symbols: Option<&'a str>,
}

/// Writes the list as one JSON document.
///
/// # Errors
/// `Io` where the writer fails.
pub fn json(out: &mut impl Write, path: &str, folder: &str, written: &[Written]) -> Result<()> {
    let images = written.iter().map(|Written { path, index, bytes, names }| Entry {
        path,
        index: *index,
        size: *bytes,
        code: &names.code,
        properties: names.properties.as_deref(),
        symbols: names.symbols.as_deref(),
    });
    let document =
        Document { schema_version: super::json::SCHEMA_VERSION, path, folder, table: TABLE, images: images.collect() };
    let text = serde_json::to_vec(&document).map_err(|error| Error::input(error.to_string()))?;
    out.write_all(&text).and_then(|()| out.write_all(b"\n")).map_err(|error| Error::io("cannot write", &error))
}

/// The list in a sentence.
pub fn summary(folder: &str, written: &[Written]) -> String {
    let total = written.iter().map(|entry| entry.bytes).sum();
    let images = counted(written.len(), "image");
    format!("{images}, {}, written to {folder}", bytes(total))
}
