//! What is in the cache, what of it is damaged, and what has to go?

use super::{Cache, FORM, Key, TEMPORARY, is_folder, read_entry};
use crate::error::{Error, ErrorKind, Result};
use crate::plain_file;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A temporary file this old was left by a process that is gone.
const STALE: Duration = Duration::from_secs(3600);

/// Size of a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    /// Compiled modules.
    pub(crate) entries: u64,
    /// Bytes of all entries on disk.
    pub(crate) bytes: u64,
    /// Seconds since the least recently wanted entry was wanted; none where there is no entry.
    pub(crate) oldest_seconds: Option<u64>,
}

/// Files that a clean-up removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Number of files.
    pub(crate) entries: u64,
    /// Bytes of these files.
    pub(crate) bytes: u64,
    /// Size of the cache afterwards.
    pub(crate) left: Stats,
}

/// Result of verifying every entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    /// Whole entries.
    pub(crate) sound: u64,
    /// Entries that were not, and have been removed.
    pub(crate) damaged: Vec<PathBuf>,
}

/// A file in the cache.
struct Found {
    path: PathBuf,
    /// None of a temporary file.
    key: Option<Key>,
    /// Whether it is called as an entry, and no plain file.
    false_entry: bool,
    bytes: u64,
    wanted: SystemTime,
}

impl Cache {
    /// Counts what is there; a folder that does not exist is an empty cache.
    ///
    /// # Errors
    /// `Environment` where the folder cannot be read.
    pub(crate) fn stats(&self) -> Result<Stats> {
        Ok(stats(&self.found()?))
    }

    /// Removes the least recently wanted entries until at most `limit` bytes are left, what is called as an entry and is none, and
    /// temporary files of processes that are gone.
    ///
    /// # Errors
    /// `Environment` where the folder cannot be read or an entry not be removed.
    pub(crate) fn collect(&self, limit: u64) -> Result<Removed> {
        let mut found = self.found()?;
        found.sort_by(|a, b| b.wanted.cmp(&a.wanted).then_with(|| a.path.cmp(&b.path)));
        let (mut left, mut total, mut removed) = (Vec::new(), 0u64, Removed::default());
        let now = SystemTime::now();
        for file in found {
            let age = now.duration_since(file.wanted).unwrap_or_default();
            // A young temporary file is being written by somebody.
            let goes = match file.key {
                Some(_) => total.saturating_add(file.bytes) > limit,
                None => age > STALE || file.false_entry,
            };
            if goes {
                remove(&file.path)?;
                removed.entries = removed.entries.saturating_add(1);
                removed.bytes = removed.bytes.saturating_add(file.bytes);
            } else {
                total = total.saturating_add(file.bytes);
                left.push(file);
            }
        }
        removed.left = stats(&left);
        Ok(removed)
    }

    /// Removes every entry, and temporary files.
    ///
    /// # Errors
    /// As [`Cache::collect`].
    pub(crate) fn clear(&self) -> Result<Removed> {
        let mut removed = Removed::default();
        for file in self.found()? {
            remove(&file.path)?;
            removed.entries = removed.entries.saturating_add(1);
            removed.bytes = removed.bytes.saturating_add(file.bytes);
        }
        Ok(removed)
    }

    /// Reads every entry, and removes those that are damaged.
    ///
    /// # Errors
    /// As [`Cache::collect`].
    pub(crate) fn verify(&self) -> Result<Verified> {
        let mut verified = Verified::default();
        for file in self.found()? {
            if file.false_entry {
                remove(&file.path)?;
                verified.damaged.push(file.path);
                continue;
            }
            let Some(key) = file.key else { continue };
            let read = plain_file::open_itself(&file.path);
            let is_whole =
                |(mut file, metadata): (File, fs::Metadata)| read_entry(&mut file, metadata.len(), &key).is_some();
            match read.map(is_whole) {
                Ok(true) => verified.sound = verified.sound.saturating_add(1),
                // Another process was faster.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                _ => {
                    remove(&file.path)?;
                    verified.damaged.push(file.path);
                }
            }
        }
        verified.damaged.sort();
        Ok(verified)
    }

    /// All entries and temporary files, in no order. Links are not followed: what they lead to is not the cache's, and neither
    /// is what is called otherwise than the cache calls its own.
    fn found(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let form = self.folder.join(FORM);
        if !is_folder(&form) {
            return Ok(found);
        }
        for folder in list(&form)? {
            let first = folder.file_name().to_string_lossy().into_owned();
            if !is_folder(&folder.path()) || first.len() != 2 || !first.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                continue;
            }
            for file in list(&folder.path())? {
                let Ok(metadata) = file.metadata() else { continue };
                let name = file.file_name().to_string_lossy().into_owned();
                let key = blake3::Hash::from_hex(format!("{first}{name}")).ok().map(|hash| Key(*hash.as_bytes()));
                if key.is_none() && !(name.starts_with(TEMPORARY) && metadata.is_file()) {
                    continue;
                }
                let false_entry = key.is_some() && !metadata.is_file();
                let key = key.filter(|_| !false_entry);
                let wanted = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push(Found { path: file.path(), key, false_entry, bytes: metadata.len(), wanted });
            }
        }
        Ok(found)
    }
}

fn stats(found: &[Found]) -> Stats {
    let entries = || found.iter().filter(|file| file.key.is_some());
    let oldest = entries().map(|file| file.wanted).min();
    Stats {
        entries: entries().count() as u64,
        bytes: entries().map(|file| file.bytes).fold(0, u64::saturating_add),
        oldest_seconds: oldest.map(|time| SystemTime::now().duration_since(time).unwrap_or_default().as_secs()),
    }
}

/// Lists a folder; empty where it does not exist or is no folder.
fn list(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<std::io::Result<Vec<_>>>(),
        Err(error) if [std::io::ErrorKind::NotFound, std::io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(Vec::new());
        }
        Err(error) => Err(error),
    };
    entries.map_err(|error| {
        Error::new(ErrorKind::Environment, format!("cannot read the cache `{}`: {error}", folder.display()))
    })
}

/// Removes a file, link or pipe, or a folder that is empty; what lies in a folder is not the cache's.
fn remove(path: &Path) -> Result<()> {
    let removed = if is_folder(path) { fs::remove_dir(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Environment, format!("cannot remove `{}`: {error}", path.display())))
        }
        _ => Ok(()),
    }
}
