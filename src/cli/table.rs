//! Which files does a file table name?
//!
//! The library opens no files; this opens those of a table, each relative to the table, and keeps them open while their
//! images are in use.

use super::input::Input;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::table::{Row, Table};
use sycl_bundle::container::Host;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Problem, Result};

/// The open files of a table.
#[derive(Debug)]
pub struct Files {
    rows: Vec<Opened>,
    /// Files that could not be opened.
    problems: Vec<Problem>,
}

/// Files that belong to a bare module: those the user names, or those of its name beside it.
#[derive(Debug, Default)]
pub struct Beside {
    /// Property sets as text.
    pub properties: Option<PathBuf>,
    /// Entries, one a line.
    pub symbols: Option<PathBuf>,
}

impl Beside {
    /// Whether files were named.
    pub fn is_named(&self) -> bool {
        self.properties.is_some() || self.symbols.is_some()
    }

    /// The files that were named.
    pub fn names(&self) -> String {
        let named = [&self.properties, &self.symbols].into_iter().flatten();
        named.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Opens what belongs to a module; none where nothing does.
    ///
    /// # Errors
    /// What cannot be read of it.
    pub fn open(&self, module: &Path) -> Result<Option<Files>> {
        let open = |named: &Option<PathBuf>, extension: &str| {
            let path = named.clone().or_else(|| Some(module.with_extension(extension)).filter(|path| path.is_file()));
            path.map(|path| Input::open(&path).context(|| path.display().to_string())).transpose()
        };
        let (properties, symbols) = (open(&self.properties, "prop")?, open(&self.symbols, "sym")?);
        if properties.is_none() && symbols.is_none() {
            return Ok(None);
        }
        let code = Input::open(module)?;
        Ok(Some(Files { rows: vec![Opened { code, properties, symbols }], problems: Vec::new() }))
    }
}

#[derive(Debug)]
struct Opened {
    code: Input,
    properties: Option<Input>,
    symbols: Option<Input>,
}

impl Files {
    /// Opens the files that a table names. One that cannot be opened is a problem: the code's costs the row, another
    /// costs what is in it.
    ///
    /// # Errors
    /// `Input` where the text is no table, or has no column `Code`.
    pub fn open(path: &Path, text: &[u8]) -> Result<Files> {
        let table = Table::read(text)?;
        let codes = table.column("Code").ok_or_else(|| Error::at(0, "the file table has no column `Code`"))?;
        let [properties, symbols] = ["Properties", "Symbols"].map(|title| table.column(title));
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut problems = Vec::new();
        let mut open = |row: usize, name: Option<&str>| {
            let name = name.filter(|name| !name.is_empty())?;
            match Input::open(&folder.join(name)) {
                Ok(input) => Some(input),
                Err(error) => {
                    let error = error.context(format!("row {row}: {name}"));
                    problems.push(Problem::general(error));
                    None
                }
            }
        };
        let mut rows = Vec::new();
        for (row, code) in codes.into_iter().enumerate() {
            let cell = |column: &Option<Vec<&str>>| {
                column.as_ref().and_then(|names| names.get(row).copied().map(str::to_owned))
            };
            let Some(code) = open(row, Some(code)) else { continue };
            let properties = open(row, cell(&properties).as_deref());
            let symbols = open(row, cell(&symbols).as_deref());
            rows.push(Opened { code, properties, symbols });
        }
        Ok(Files { rows, problems })
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let parts = self.rows.iter().flat_map(|row| [Some(&row.code), row.properties.as_ref(), row.symbols.as_ref()]);
        parts.flatten().map(|input| input.bytes().len() as u64).sum()
    }

    /// The images of all rows.
    ///
    /// # Errors
    /// `NoDeviceCode` where the table has no rows; the first problem where there is one and no image.
    pub fn bundle<'a>(&'a self, host: &'a Host<'a>) -> Result<Bundle<'a>> {
        let rows: Vec<Row<'a>> = self
            .rows
            .iter()
            .map(|row| Row {
                name: row.code.name(),
                code: row.code.bytes(),
                properties: row.properties.as_ref().map(Input::bytes),
                symbols: row.symbols.as_ref().map(Input::bytes),
            })
            .collect();
        match (Bundle::from_table(host, &rows), self.problems.first()) {
            (Ok(mut bundle), _) => {
                bundle.problems.extend(self.problems.iter().cloned());
                Ok(bundle)
            }
            (Err(error), Some(problem)) if error.kind() == ErrorKind::NoDeviceCode => Err(problem.error.clone()),
            (Err(error), _) => Err(error),
        }
    }
}
