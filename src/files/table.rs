//! Which files does a file table name?
//!
//! The library opens no files; this opens those of a table, each relative to the table and each once, and keeps them open
//! while their images are in use. A table may come from anywhere, so it may name plain files below its own folder only,
//! or below the folder that `--table-root` names.

use super::input::{Input, is_opened_at};
use super::place::{self, is_shared};
use super::write::folder_of;
use crate::bundle::Bundle;
use crate::bundle::table::{Row, Table};
use crate::container::Host;
use crate::error::{Context as _, Error, ErrorKind, Problem, Result};
use crate::{limits, plain_file};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Folder below which the files of tables may lie, where the user names one.
static ROOT: OnceLock<PathBuf> = OnceLock::new();

/// Lets tables name files below a folder, too.
///
/// # Errors
/// `Usage` where there is no such folder.
pub(crate) fn allow_below(root: &Path) -> Result<()> {
    let real =
        root.canonicalize().ok().filter(|real| real.is_dir()).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("`--table-root {}` names no folder", root.display()))
        })?;
    let _ = ROOT.set(real);
    Ok(())
}

/// The open files of a table.
#[derive(Debug)]
pub(crate) struct Files {
    rows: Vec<Opened>,
    /// Files that could not be opened.
    problems: Vec<Problem>,
}

/// Files that belong to a bare module: those the user names, or those of its name beside it.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Property sets as text.
    pub(crate) properties: Option<PathBuf>,
    /// Entries, one a line.
    pub(crate) symbols: Option<PathBuf>,
}

impl Beside {
    /// Whether files were named.
    pub(crate) fn is_named(&self) -> bool {
        self.properties.is_some() || self.symbols.is_some()
    }

    /// The files that were named.
    pub(crate) fn names(&self) -> String {
        let named = [&self.properties, &self.symbols].into_iter().flatten();
        named.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Opens what belongs to a module; none where nothing does. What stands beside it was not named, and may lead nowhere else.
    ///
    /// # Errors
    /// Errors of reading it.
    pub(crate) fn open(&self, module: &Path) -> Result<Option<Files>> {
        let by = beside_which(module);
        let open = |named: &Option<PathBuf>, extension: &str| {
            let found = || Some(by.with_extension(extension)).filter(|path| is_there(path));
            let opened = |path: &Path, input: Result<Input>| input.context(|| path.display().to_string());
            match named {
                Some(path) => opened(path, Input::open(path)).map(Some),
                None => found().map(|path| opened(&path, found_beside(&by, &path, extension))).transpose(),
            }
        };
        let (properties, symbols) = (open(&self.properties, "prop")?, open(&self.symbols, "sym")?);
        if properties.is_none() && symbols.is_none() {
            return Ok(None);
        }
        let code = Input::open(module)?;
        for (named, found, extension) in [(&self.properties, &properties, "prop"), (&self.symbols, &symbols, "sym")] {
            let beside = by.with_extension(extension);
            match found {
                Some(found) if named.is_none() => {
                    is_no_strangers(&beside, found, &code).context(|| beside.display().to_string())?;
                }
                _ => {}
            }
        }
        let [properties, symbols] = [properties, symbols].map(|part| part.map(Arc::new));
        Ok(Some(Files { rows: vec![Opened { code: Arc::new(code), properties, symbols }], problems: Vec::new() }))
    }
}

/// Whether there is anything at a path. What cannot be read, as a link that leads nowhere, is an error, and not nothing.
pub(crate) fn is_there(path: &Path) -> bool {
    let is_nothing =
        |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename);
    !path.symlink_metadata().is_err_and(is_nothing)
}

/// Extensions of the files that count for a module where they lie beside it under its name: its property sets and its entries.
pub(crate) const BESIDE: [&str; 2] = ["prop", "sym"];

/// Whether files lie beside a module.
pub(crate) fn has_beside(module: &Path) -> bool {
    BESIDE.iter().any(|extension| is_there(&module.with_extension(extension)))
}

/// Returns the path by which files lie beside a module: its own or, where it is a link and none do, that of what it leads to.
pub(crate) fn beside_which(module: &Path) -> Cow<'_, Path> {
    let real = || module.is_symlink().then(|| module.canonicalize().ok()).flatten().filter(|real| has_beside(real));
    if has_beside(module) { module.into() } else { real().map_or(module.into(), Cow::Owned) }
}

/// Opens what nobody named: only a file below the module's folder, or the one of its name beside what the module is a link to.
/// A link to anything else would show that as the names of kernels.
fn found_beside(module: &Path, path: &Path, extension: &str) -> Result<Input> {
    let beside_real = module.canonicalize().ok().map(|real| real.with_extension(extension));
    let roots: Vec<PathBuf> = roots_of(module)?.into_iter().chain(beside_real).collect();
    Input::open_within(path, &roots, "the module's folder")
}

/// Checks that what lies beside a module, and was not named, is of whoever may say what the module needs. In a folder that all may
/// write to, as `/tmp`, anybody leaves it.
///
/// # Errors
/// `Input` where it is another's.
fn is_no_strangers(path: &Path, found: &Input, module: &Input) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot tell whose it is", &error);
    let folder = std::fs::metadata(folder_of(path)).map_err(failed)?;
    let link = path.symlink_metadata().map_err(failed)?.uid();
    let may_say = |owner: u32| [plain_file::user(), 0, folder.uid(), module.owner()].contains(&owner);
    match [link, found.owner()].into_iter().find(|owner| !may_say(*owner)) {
        Some(stranger) if is_shared(&folder) => {
            let text = format!(
                "this belongs to user {stranger}, in a folder that all may write to, and would count for `{}`",
                module.name()
            );
            Err(Error::input(text).with_remedy("copy the module to a folder of your own"))
        }
        _ => Ok(()),
    }
}

/// Returns the folders below which what a file names may lie.
///
/// # Errors
/// `Input` where its folder is another one than that which it was read from.
fn roots_of(path: &Path) -> Result<Vec<PathBuf>> {
    let folder = place::real(folder_of(path)).ok();
    let is_it = |folder: &PathBuf| path.file_name().is_none_or(|name| is_opened_at(path, &folder.join(name)));
    if folder.as_ref().is_some_and(|folder| !is_it(folder)) {
        let error = Error::input("another process replaced it, or its folder, since it was read");
        return Err(error.with_remedy("run the command again").context(path.display().to_string()));
    }
    Ok(folder.into_iter().chain(ROOT.get().cloned()).collect())
}

#[derive(Debug)]
struct Opened {
    code: Arc<Input>,
    properties: Option<Arc<Input>>,
    symbols: Option<Arc<Input>>,
}

/// Opens the files of one table.
struct Opening<'t> {
    folder: &'t Path,
    roots: Vec<PathBuf>,
    /// Files by path, as rows may name one again.
    open: HashMap<PathBuf, Arc<Input>>,
    /// Bytes of the files, and of all mentions of them.
    distinct: u64,
    mentioned: u64,
}

impl Opening<'_> {
    fn file(&mut self, name: &str) -> Result<Arc<Input>> {
        if name == "-" {
            return Err(Error::input("a table cannot name standard input"));
        }
        let path = self.folder.join(name);
        let (input, new) = match self.open.get(&path) {
            Some(input) => (Arc::clone(input), 0),
            None => {
                let input = Arc::new(Input::open_within(&path, &self.roots, "the table's folder")?);
                self.open.insert(path, Arc::clone(&input));
                let len = input.bytes().len() as u64;
                (input, len)
            }
        };
        self.distinct = self.distinct.saturating_add(new);
        self.mentioned = self.mentioned.saturating_add(input.bytes().len() as u64);
        let most = self.distinct.saturating_mul(limits::MAX_OVERLAP).saturating_add(limits::MAX_TABLE_REPEATED);
        if self.mentioned > most {
            return Err(Error::input(format!("the rows repeat files beyond the limit of {most} bytes together")));
        }
        Ok(input)
    }
}

impl Files {
    /// Opens the files that a table names. One that cannot be opened is a problem: the code's costs the row, another
    /// costs what is in it.
    ///
    /// # Errors
    /// `Input` where the text is no table, or has no column `Code`.
    pub(crate) fn open(path: &Path, text: &[u8]) -> Result<Files> {
        let table = Table::read(text)?;
        let codes = table.column("Code").ok_or_else(|| Error::at(0, "the file table has no column `Code`"))?;
        let [properties, symbols] = ["Properties", "Symbols"].map(|title| table.column(title));
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut opening = Opening { folder, roots: roots_of(path)?, open: HashMap::new(), distinct: 0, mentioned: 0 };
        let mut problems = Vec::new();
        let mut open = |row: usize, name: Option<&str>| {
            let name = name.filter(|name| !name.is_empty())?;
            match opening.file(name) {
                Ok(input) => Some(input),
                Err(error) => {
                    let error = error.context(format!("row {row}: {name}"));
                    if problems.len() < limits::MAX_PROBLEMS {
                        problems.push(Problem::general(error));
                    }
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
    pub(crate) fn bytes(&self) -> u64 {
        let parts = self.rows.iter().flat_map(|row| [Some(&row.code), row.properties.as_ref(), row.symbols.as_ref()]);
        parts.flatten().map(|input| input.bytes().len() as u64).sum()
    }

    /// The images of all rows.
    ///
    /// # Errors
    /// `NoDeviceCode` where the table has no rows; the first problem where there is one and no image.
    pub(crate) fn bundle<'a>(&'a self, host: &'a Host<'a>) -> Result<Bundle<'a>> {
        let rows: Vec<Row<'a>> = self
            .rows
            .iter()
            .map(|row| Row {
                name: row.code.name(),
                code: row.code.bytes(),
                properties: row.properties.as_deref().map(Input::bytes),
                symbols: row.symbols.as_deref().map(Input::bytes),
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
