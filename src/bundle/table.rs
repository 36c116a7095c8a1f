//! Which files make up a set of images on disk?
//!
//! The file table is the one that DPC++'s tools exchange (`llvm/lib/Support/SimpleTable.cpp`): a first line of column
//! titles in brackets, then one row per image; cells are separated by `|` and may be empty.
//!
//! Each row is an image: its code, and optionally its property sets as text and its entries, one per line.

use super::blob::Reader;
use super::image::Image;
use super::property::Properties;
use super::property_text;
use crate::bytes;
use crate::container::Place;
use crate::error::{Error, Result};
use crate::limits;

/// File table: titled columns of file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Column titles; empty where the table has no title line.
    pub titles: Vec<String>,
    /// Rows with one cell per column.
    pub rows: Vec<Vec<String>>,
}

/// Columns that `sycl-post-link` writes and `clang-offload-wrapper` reads.
pub(crate) const TITLES: [&str; 3] = ["Code", "Properties", "Symbols"];

impl Table {
    /// Creates an empty table with the columns `Code`, `Properties` and `Symbols`.
    pub fn for_images() -> Table {
        Table { titles: TITLES.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// Returns the text of the table.
    ///
    /// # Errors
    /// `Usage` for a cell with `|` or a line break, and for rows of another width.
    pub fn write(&self) -> Result<String> {
        let mut out = String::new();
        if !self.titles.is_empty() {
            out.push_str(&format!("[{}]\n", joined(&self.titles)?));
        }
        let width = self.titles.len();
        for row in &self.rows {
            if width != 0 && row.len() != width {
                return Err(Error::input(format!("a row of {} cells in a table of {width} columns", row.len())));
            }
            out.push_str(&joined(row)?);
            out.push('\n');
        }
        Ok(out)
    }

    /// Reads the text of a table. Empty lines are skipped; CRLF is accepted.
    ///
    /// # Errors
    /// `Input` with the offset of the line, where it is not UTF-8, a row has another width than the first line, or rows,
    /// columns or names are beyond the limits.
    pub fn read(bytes: &[u8]) -> Result<Table> {
        if bytes.len() > limits::MAX_TABLE {
            let limit = limits::MAX_TABLE;
            return Err(Error::at(0, format!("a file table of {} bytes; the limit is {limit}", bytes.len())));
        }
        let mut table = Table { titles: Vec::new(), rows: Vec::new() };
        for (here, line) in bytes::lines(bytes::utf8_text(bytes, "the file table is not UTF-8")?) {
            if line.is_empty() {
                continue;
            }
            within_limits(line, table.rows.len()).map_err(|error| error.with_offset(here as u64))?;
            let first = table.titles.is_empty() && table.rows.is_empty();
            if first && let Some(titles) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table.titles = cells(titles);
                continue;
            }
            let row = cells(line);
            let width =
                if table.titles.is_empty() { table.rows.first().map(Vec::len) } else { Some(table.titles.len()) };
            if width.is_some_and(|width| width != row.len()) {
                return Err(Error::at(
                    here as u64,
                    format!("a row of {} cells in a file table of {}", row.len(), width.unwrap_or(0)),
                ));
            }
            table.rows.push(row);
        }
        Ok(table)
    }

    /// Returns the cells of the column with a title.
    pub fn column(&self, title: &str) -> Option<Vec<&str>> {
        let at = self.titles.iter().position(|known| known == title)?;
        Some(self.rows.iter().filter_map(|row| row.get(at)).map(String::as_str).collect())
    }
}

/// Checks a line before anything is allocated for it.
fn within_limits(line: &str, rows: usize) -> Result<()> {
    let (columns, longest) =
        line.split('|').fold((0usize, 0), |(count, longest), cell| (count.saturating_add(1), cell.len().max(longest)));
    let checks = [
        (rows.saturating_add(1), limits::MAX_TABLE_ROWS, "rows"),
        (columns, limits::MAX_TABLE_COLUMNS, "columns"),
        (longest, limits::MAX_NAME, "bytes in one name"),
    ];
    match checks.into_iter().find(|(found, limit, _)| found > limit) {
        Some((found, limit, what)) => {
            Err(Error::input(format!("a file table with {found} {what}; the limit is {limit}")))
        }
        None => Ok(()),
    }
}

fn cells(line: &str) -> Vec<String> {
    line.split('|').map(str::to_owned).collect()
}

fn joined(cells: &[String]) -> Result<String> {
    match cells.iter().find(|cell| cell.contains(['|', '\n', '\r'])) {
        Some(cell) => Err(Error::new(
            crate::error::ErrorKind::Usage,
            format!("a file table cannot hold the name {cell:?}, for its `|` or line break"),
        )),
        None => Ok(cells.join("|")),
    }
}

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

/// Number of properties and entries that the rows to come may have.
pub(super) struct Left {
    properties: usize,
    entries: usize,
}

impl Default for Left {
    fn default() -> Left {
        Left { properties: limits::MAX_PROPERTIES, entries: limits::MAX_TEXT_ENTRIES }
    }
}

/// Adds the images of a row, whose properties and entries are counted down from what is `left` for all rows, as thousands may name
/// one file. Offsets count in the row's own files, which messages name.
pub(super) fn read_row<'a>(reader: &mut Reader<'a>, row: &Row<'a>, left: &mut Left) {
    let parts = [Some(row.code), row.properties, row.symbols];
    parts.into_iter().flatten().for_each(|part| reader.grant(part.len()));
    let first = reader.problems.len();
    let mut like = Image::bare(row.code, 0);
    if let Some(text) = row.properties {
        let arena = reader.arena;
        let read = match left.properties {
            0 => Err(too_many(limits::MAX_PROPERTIES, "properties")),
            _ => checked_size(text).and_then(|()| property_text::read(text, |bytes| arena.keep(bytes))),
        };
        match read.and_then(|properties| counted(properties, &mut left.properties)) {
            Ok(properties) => like.properties = properties,
            Err(error) => reader.problem(Place::default().locate(error).context("property sets")),
        }
    }
    if let Some(symbols) = row.symbols {
        match entries(symbols, &mut left.entries) {
            Ok(entries) => like.entries = entries,
            Err(error) => reader.problem(Place::default().locate(error).context("symbols")),
        }
    }
    reader.read(row.code, Place::default(), 0, like);
    for problem in reader.problems.iter_mut().skip(first) {
        problem.error = problem.error.clone().context(row.name);
    }
}

/// Returns the entries in a text, a line each, and counts them down from what is left.
fn entries<'a>(text: &'a [u8], left: &mut usize) -> Result<Vec<&'a str>> {
    checked_size(text)?;
    let names = bytes::utf8_text(text, "the symbols are not UTF-8")?;
    let entries = names.lines().filter(|name| !name.is_empty());
    let entries: Vec<&str> = entries.take(left.saturating_add(1)).collect();
    count_down(left, entries.len()).ok_or_else(|| too_many(limits::MAX_TEXT_ENTRIES, "entries"))?;
    Ok(entries)
}

/// Checks the size of a text that stands beside an image, before it is looked through.
///
/// # Errors
/// `Input` where it is larger than any.
fn checked_size(text: &[u8]) -> Result<()> {
    let limit = limits::MAX_IMAGE_TEXT;
    let error = || Error::input(format!("a text of {} bytes; the limit is {limit}", text.len()));
    (text.len() <= limit).then_some(()).ok_or_else(error)
}

/// Counts properties down from what is left.
fn counted<'a>(properties: Properties<'a>, left: &mut usize) -> Result<Properties<'a>> {
    let count = properties.sets.iter().map(|set| set.properties.len()).sum();
    count_down(left, count).ok_or_else(|| too_many(limits::MAX_PROPERTIES, "properties"))?;
    Ok(properties)
}

/// Counts down from what is left, of which there is none once it does not suffice.
fn count_down(left: &mut usize, count: usize) -> Option<()> {
    let rest = left.checked_sub(count);
    *left = rest.unwrap_or(0);
    rest.map(drop)
}

#[cold]
fn too_many(limit: usize, what: &str) -> Error {
    Error::input(format!("the rows have more than {limit} {what} together"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let mut table = Table::for_images();
        table.rows.push(["a_0.spv", "a_0.prop", ""].map(str::to_owned).to_vec());
        let text = table.write().unwrap();
        assert_eq!(text, "[Code|Properties|Symbols]\na_0.spv|a_0.prop|\n");
        assert_eq!(Table::read(text.as_bytes()).unwrap(), table);
        assert_eq!(table.column("Code").unwrap(), ["a_0.spv"]);
    }

    #[test]
    fn titles_are_optional_and_widths_must_agree() {
        assert_eq!(Table::read(b"a.bin|||\r\n\r\n").unwrap().rows, [["a.bin", "", "", ""]]);
        assert_eq!(Table::read(b"[Code|Symbols]\na\n").unwrap_err().offset(), Some(15));
        assert_eq!(Table::read(b"\xff").unwrap_err().offset(), Some(0));
    }

    #[test]
    fn rows_columns_and_names_are_limited() {
        let limited = |text: &str| Table::read(text.as_bytes()).unwrap_err().to_string();
        assert!(limited(&format!("[Code]\n{}\n", "x".repeat(limits::MAX_NAME + 1))).contains("bytes in one name"));
        assert!(limited(&"|".repeat(limits::MAX_TABLE_COLUMNS)).contains("columns"));
        assert!(limited(&"a\n".repeat(limits::MAX_TABLE_ROWS + 1)).contains("rows"));
        assert!(Table::read(&vec![0; limits::MAX_TABLE + 1]).unwrap_err().to_string().contains("the limit is"));
    }

    #[test]
    fn a_name_with_a_bar_is_refused() {
        let mut table = Table::for_images();
        table.rows.push(["a|b", "", ""].map(str::to_owned).to_vec());
        assert!(table.write().unwrap_err().to_string().contains("a|b"));
    }
}
