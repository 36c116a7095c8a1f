//! Which images are in the files of a table?
//!
//! Each row is an image: its code, and optionally its property sets as text and its entries, one per line.

use super::blob::{self, Reader};
use super::image::Image;
use super::property_text;
use crate::container::place::Place;

/// Files of one row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Name of the code's file, for messages.
    pub name: &'a str,
    /// Code: a payload of any format, or a blob of several images.
    pub code: &'a [u8],
    /// Property sets as text.
    pub properties: Option<&'a [u8]>,
    /// Entries, one per line.
    pub symbols: Option<&'a [u8]>,
}

/// Adds the images of a row. Offsets count in the row's own files, which messages name.
pub(super) fn read<'a>(reader: &mut Reader<'a>, row: &Row<'a>) {
    let parts = [Some(row.code), row.properties, row.symbols];
    parts.into_iter().flatten().for_each(|part| reader.grant(part.len()));
    let first = reader.problems.len();
    let mut like = Image::bare(row.code, 0);
    if let Some(text) = row.properties {
        let arena = reader.arena;
        match property_text::read(text, |bytes| arena.keep(bytes)) {
            Ok(properties) => like.properties = properties,
            Err(error) => reader.problem(Place::default().locate(error).context("property sets")),
        }
    }
    if let Some(symbols) = row.symbols {
        match blob::text(symbols) {
            Some(names) => like.entries = names.lines().filter(|name| !name.is_empty()).collect(),
            None => reader.problem(Place::default().error("the symbols are not UTF-8")),
        }
    }
    reader.read(row.code, Place::default(), 0, &like);
    for problem in reader.problems.iter_mut().skip(first) {
        problem.error = problem.error.clone().context(row.name);
    }
}
