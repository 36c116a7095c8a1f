//! Has this module been compiled before, by this compiler, with these options?
//!
//! A folder of files, one per compiled module, named by a digest of all that the result depends on. Nothing is
//! trusted: an entry holds its own key and the digest of its contents, and one that does not agree is removed and
//! counts as absent. Entries appear by renaming, so that any number of processes may share a folder, and one that is
//! killed leaves at most a temporary file, which [`Cache::collect`] removes. Reading an entry renews its time, by which
//! the oldest are removed first; where the folder is read-only that is left out.
//!
//! Whoever may write to the folder decides what is put into binaries: share one with nobody you would not let build
//! for you. A new folder is its owner's alone.

mod keep;
mod key;

use crate::error::{Error, ErrorKind, Result};
pub use keep::{Removed, Stats, Verified};
pub use key::{Compiler, Key, Keys, fingerprint};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder of this form of entries, within the cache's own; another form will have another.
const FORM: &str = "v1";
/// Prefix of temporary files; no key begins so.
const TEMPORARY: &str = ".tmp-";
/// Only the owner may enter.
const MODE: u32 = 0o700;

/// A cache of device binaries.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// Returns the cache's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The binary of a key. An entry that is damaged is removed, where that is possible.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let bytes = self.entry(&path)?;
        let Some(binary) = read_entry(&bytes, key) else {
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time says how long nobody wanted it; a cache that cannot be written to is not kept in order by us.
        let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(binary.to_vec())
    }

    /// Reads an entry: a plain file of the one whom the cache belongs to, or of root. Links, pipes and folders in its
    /// place count as absent.
    fn entry(&self, path: &Path) -> Option<Vec<u8>> {
        let owner = fs::metadata(&self.folder).ok()?.uid();
        let metadata = fs::symlink_metadata(path).ok()?;
        let of_owner = metadata.uid() == owner || metadata.uid() == 0;
        if !metadata.is_file() || !of_owner || !self.is_ours(path) {
            return None;
        }
        fs::read(path).ok()
    }

    /// Whether the folders between the cache's own and an entry are folders, and no links that lead elsewhere.
    fn is_ours(&self, path: &Path) -> bool {
        let form = self.folder.join(FORM);
        [path.parent().unwrap_or(&form), &form].into_iter().all(is_folder)
    }

    /// Keeps a binary.
    ///
    /// # Errors
    /// `Environment` where it cannot be written; what was there stays.
    pub fn put(&self, key: &Key, binary: &[u8]) -> Result<()> {
        let path = self.path(key);
        let Some(folder) = path.parent() else { return Err(Error::input("a key without a folder")) };
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Environment, format!("cannot keep a binary in `{}`: {error}", folder.display()))
        };
        DirBuilder::new().recursive(true).mode(MODE).create(folder).map_err(failed)?;
        if !self.is_ours(&path) {
            let message =
                format!("cannot keep a binary in `{}`: a link in the cache leads elsewhere", folder.display());
            return Err(Error::new(ErrorKind::Environment, message));
        }
        let write = || -> io::Result<()> {
            let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
            temporary.write_all(&entry_head(key, binary))?;
            temporary.write_all(binary)?;
            temporary.persist(&path)?;
            Ok(())
        };
        write().map_err(failed)
    }

    /// Entries lie in 256 folders, by the first byte of their key.
    fn path(&self, key: &Key) -> PathBuf {
        let hex = key.hex();
        let (first, rest) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        self.folder.join(FORM).join(first).join(rest)
    }
}

const MAGIC: [u8; 8] = *b"SBc1\0\0\0\0";
/// Bytes before the contents.
const HEAD: usize = 80;

/// Builds the header that stands before the contents.
fn entry_head(key: &Key, binary: &[u8]) -> Vec<u8> {
    let length = (binary.len() as u64).to_le_bytes();
    [&MAGIC, &key.0[..], blake3::hash(binary).as_bytes(), &length].concat()
}

/// The contents, where the entry is whole and of this key.
fn read_entry<'e>(entry: &'e [u8], key: &Key) -> Option<&'e [u8]> {
    let (head, binary) = entry.split_at_checked(HEAD)?;
    (head == entry_head(key, binary)).then_some(binary)
}

/// Whether a path is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests;
