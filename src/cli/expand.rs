//! Which files does an argument stand for?
//!
//! A file stands for itself; a package, a folder or a process (`pid:N`, `/proc/N/maps`) for every file in it that may
//! hold device code. The library reads packages; here is what needs the file system: folders, processes, and the members
//! of thin archives.

mod folder;
mod process;

use super::input::{FileId, Found, Input};
use std::collections::HashSet;
use std::path::Path;
use sycl_bundle::container::Kind;
use sycl_bundle::container::package::{self, Content};
use sycl_bundle::error::{Error, Result};
use sycl_bundle::limits;

/// A file that may hold device code.
#[derive(Debug)]
pub struct Leaf<'a> {
    /// The path, through packages too.
    pub path: &'a str,
    /// The absolute path of the file on disk that holds its bytes as they are, and where they begin there.
    pub absolute: Option<(&'a str, u64)>,
    /// The bytes, or the reason why there are none.
    pub bytes: Result<&'a [u8]>,
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file that stands for itself.
    Plain,
    /// Something that holds files.
    Package,
}

/// Takes what an argument stands for, one by one.
pub type Each<'e> = dyn FnMut(Form, Leaf<'_>) -> Result<()> + 'e;

/// Hands on each file that an argument stands for.
///
/// # Errors
/// What `each` returns. What cannot be read is handed on as such.
pub fn expand(argument: &Path, each: &mut Each<'_>) -> Result<Form> {
    let mut expansion = Expansion { each, seen: HashSet::new() };
    if let Some(pid) = process::pid(argument) {
        return expansion.process(argument, &pid).map(|()| Form::Package);
    }
    if argument != Path::new("-") && argument.is_dir() {
        return expansion.folder(argument).map(|()| Form::Package);
    }
    let name = argument.display().to_string();
    match Input::open(argument) {
        Err(error) => {
            (expansion.each)(Form::Plain, Leaf { path: &name, absolute: None, bytes: Err(error) })?;
            Ok(Form::Plain)
        }
        Ok(input) => match Kind::identify(input.bytes()) {
            Ok(kind) if package::is_package(kind) => {
                expansion.package(&input, kind, argument, 0)?;
                Ok(Form::Package)
            }
            _ => expansion.plain(Form::Plain, &input).map(|()| Form::Plain),
        },
    }
}

/// The files inside one argument.
struct Expansion<'x, 'e> {
    each: &'x mut Each<'e>,
    /// The files that were handed on or opened, where each is to be once.
    seen: HashSet<FileId>,
}

impl Expansion<'_, '_> {
    /// A file as it is.
    fn plain(&mut self, form: Form, input: &Input) -> Result<()> {
        let absolute = input.absolute().map(|path| (path, 0));
        (self.each)(form, Leaf { path: input.name(), absolute, bytes: Ok(input.bytes()) })
    }

    /// Something that cannot be read.
    fn damaged(&mut self, path: &str, error: Error) -> Result<()> {
        (self.each)(Form::Package, Leaf { path, absolute: None, bytes: Err(error) })
    }

    /// A file within a folder, a process or a thin archive: what can hold no device code is passed over, as is what
    /// was there before.
    fn found(&mut self, path: &Path, name: &str, packages: bool, depth: usize) -> Result<()> {
        let mut kind = None;
        let seen = &mut self.seen;
        let found = Input::open_found(path, name, |id, head, len| {
            kind = Kind::identify_head(head, len).ok();
            let useful = kind.is_some_and(|kind| kind != Kind::Table && (packages || !package::is_package(kind)));
            useful && seen.insert(id)
        });
        match (found, kind) {
            (Ok(Found::Input(input)), Some(kind)) if package::is_package(kind) => {
                self.package(&input, kind, path, depth)
            }
            (Ok(Found::Input(input)), _) => self.plain(Form::Package, &input),
            (Ok(Found::Unwanted), _) => Ok(()),
            (Err(error), _) => self.damaged(name, error),
        }
    }

    /// The members of a package; those of a thin archive are files relative to its folder.
    fn package(&mut self, input: &Input, kind: Kind, path: &Path, depth: usize) -> Result<()> {
        let folder = path.parent().unwrap_or(Path::new(""));
        package::members(input.name(), input.bytes(), kind, &mut |member| match member.content {
            Content::Bytes { bytes, offset } => {
                let absolute = input.absolute().zip(offset);
                (self.each)(Form::Package, Leaf { path: member.path, absolute, bytes: Ok(bytes) })
            }
            Content::Damaged(error) => self.damaged(member.path, error),
            Content::Beside(_) if depth >= limits::MAX_NESTING => {
                let limit = limits::MAX_NESTING;
                self.damaged(member.path, Error::input(format!("packages are nested deeper than the limit of {limit}")))
            }
            Content::Beside(_) if input.absolute().is_none() => {
                let error = Error::input("the members of a thin archive are files beside it, and this one is no file");
                self.damaged(member.path, error)
            }
            Content::Beside(name) => self.found(&folder.join(name), member.path, true, depth.saturating_add(1)),
        })
    }
}
