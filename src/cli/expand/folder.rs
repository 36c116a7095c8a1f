//! Which files are in a folder?
//!
//! All below it, sorted by name. A link within the folder is passed over, for what it leads to is met anyway; one that
//! leads out is followed, unless it leads to a folder that holds this one. Pipes, sockets and devices are not opened.

use super::Expansion;
use std::fs;
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, Result};

impl Expansion<'_, '_> {
    /// Hands on each file in a folder.
    pub(super) fn folder(&mut self, path: &Path) -> Result<()> {
        match path.canonicalize() {
            Ok(real) => self.below(path, &mut vec![real]),
            Err(error) => self.damaged(&path.display().to_string(), unreadable(&error)),
        }
    }

    /// `roots` are the real paths of folders whose contents are met anyway: the argument, and folders that links led to.
    fn below(&mut self, folder: &Path, roots: &mut Vec<PathBuf>) -> Result<()> {
        let listed = fs::read_dir(folder).and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>());
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => return self.damaged(&folder.display().to_string(), unreadable(&error)),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                self.below(&path, roots)?;
            } else if kind.is_file() {
                self.found(&path, &path.display().to_string(), true, 0)?;
            } else if kind.is_symlink() {
                self.link(&path, roots)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, path: &Path, roots: &mut Vec<PathBuf>) -> Result<()> {
        // A link that leads nowhere, or only to itself, holds nothing.
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        if roots.iter().any(|root| real.starts_with(root)) {
            return Ok(());
        }
        if !real.is_dir() {
            return self.found(path, &path.display().to_string(), true, 0);
        }
        if roots.iter().any(|root| root.starts_with(&real)) {
            return Ok(());
        }
        roots.push(real);
        self.below(path, roots)
    }
}

#[cold]
fn unreadable(error: &std::io::Error) -> Error {
    Error::io("cannot read the folder", error)
}
