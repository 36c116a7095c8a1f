//! Whose is what lies at the place of an output already?
//!
//! In a folder that all may write to, and where each removes his own alone (`/tmp`), anybody leaves links and pipes for others to
//! write through. The kernel has a rule against it (`fs.protected_symlinks`, `fs.protected_fifos`), which holds for files that
//! are opened, and not where a link is read first and what it leads to is replaced: so it is kept here too.

use super::write::folder_of;
use crate::error::{Error, ErrorKind, Result};
use crate::plain_file;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Links that lead from one to the next; as many as Linux follows.
const MAX_LINKS: usize = 40;
/// Bits of a folder that all may write to, and in which each removes his own alone.
const SHARED: u32 = 0o1002;

/// Returns a path, and where the links at its end lead, one after the other.
pub(super) fn steps(path: &Path) -> impl Iterator<Item = PathBuf> {
    // A slash at the end has a link followed before it is looked at.
    let plain = |path: &Path| path.components().collect::<PathBuf>();
    let next = move |path: &PathBuf| Some(plain(&folder_of(path).join(std::fs::read_link(path).ok()?)));
    std::iter::successors(Some(plain(path)), next).take(MAX_LINKS)
}

/// Whether a path is that of an open file, as `/dev/stdout` is.
pub(super) fn is_open_file(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    ["/dev/stdout", "/dev/stderr"].iter().any(|own| path == Path::new(own))
        || folder.is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// Whether what lies at a path is another user's, in a folder of a third one that all may write to.
pub(super) fn is_strangers(path: &Path, itself: &Metadata) -> bool {
    let is_shared = |folder: Metadata| folder.mode() & SHARED == SHARED && folder.uid() != itself.uid();
    let is_own = itself.uid() == plain_file::user();
    !is_own && std::fs::metadata(folder_of(path)).is_ok_and(is_shared)
}

/// Checks that no stranger has put a link or a pipe at the place of an output.
///
/// # Errors
/// `Environment` where one has.
pub(super) fn is_no_strangers(path: &Path) -> Result<()> {
    // An open file is whoever's opened it, wherever it lies.
    for step in steps(path).take_while(|step| !is_open_file(step)) {
        let Ok(itself) = std::fs::symlink_metadata(&step) else { break };
        let kind = itself.file_type();
        if (kind.is_symlink() || kind.is_fifo()) && is_strangers(&step, &itself) {
            let what = if kind.is_symlink() { "link" } else { "pipe" };
            let message = format!(
                "`{}` is a {what} that belongs to another user ({}), in a folder that all may write to",
                step.display(),
                itself.uid()
            );
            return Err(Error::new(ErrorKind::Environment, message).with_remedy("write to another folder"));
        }
    }
    Ok(())
}
