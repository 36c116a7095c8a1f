//! How does an output appear whole or not at all?
//!
//! Outputs are written under a temporary name beside their place and renamed. A process that is interrupted removes what it
//! has begun; what a killed one left is removed by the next that writes to the folder ([`sweep`]).

use super::input;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, OFlags, StatxFlags, flock, statx};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempDir};

/// The permission bits of a new file, before the process's umask.
const FILE_MODE: u32 = 0o666;
/// The permission bits of a file that is its owner's alone.
const OWNER_MODE: u32 = 0o600;
/// The bits that say who may read, write and execute; not set-user-id and the like, which are trust in the very bytes.
const PERMISSIONS: u32 = 0o777;
/// The permission bits of a new folder, before the process's umask.
const FOLDER_MODE: u32 = 0o777;
/// The prefix of temporary files and folders, should the process be killed while one is there; the process's number
/// follows. Whoever writes one holds a lock on it.
const PREFIX: &str = ".sycl-bundle-";
/// A temporary file of another machine or container this old, which nobody locks, was left there.
const STALE: Duration = Duration::from_secs(60);
/// The time that a pipe is waited for: an output for a reader, an input for a writer.
pub(super) const PARTNER: Duration = Duration::from_secs(10);
/// The time between two looks for one.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// Bytes of a file that are compared at a time.
const BLOCK: usize = 256 << 10;
/// Name of the list of a set's files in its temporary folder.
const LISTING: &str = ".files";

/// Writes a file by way of a temporary one beside it, so that at any moment there is the old file, the new one, or
/// none. A file that already holds these bytes stays untouched. Returns whether it was written.
///
/// `mode` sets the permission bits; without it an existing file keeps its own and a new one gets the umask's. Bits that are trust
/// in the very bytes, set-user-id and the like, are never kept. Links are followed; devices and pipes are written to
/// directly. The folder is made where it is not there.
///
/// # Errors
/// `Environment` where the file cannot be written; `Input` where an input has changed meanwhile.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<bool> {
    input::unchanged()?;
    is_no_folder(path)?;
    let failed = |error: &std::io::Error| cannot_write(path, error);
    // A link that leads nowhere is replaced by the file.
    let there = std::fs::symlink_metadata(path).is_ok();
    let target = if there { path.canonicalize().ok() } else { None }.unwrap_or_else(|| path.to_path_buf());
    let existing = if there { std::fs::metadata(&target).ok() } else { None };
    if let Some(metadata) = &existing {
        if !metadata.is_file() {
            let written = open_special(&target).and_then(|mut file| file.write_all(bytes));
            return written.map(|()| true).map_err(|error| failed(&error));
        }
        let same_mode = mode.is_none_or(|mode| metadata.mode() & 0o7777 == mode & 0o7777);
        if same_mode && metadata.len() == bytes.len() as u64 && holds(&target, bytes) {
            return Ok(false);
        }
    }
    let folder = folder_of(&target);
    make_folder(folder).map_err(|error| failed(&error))?;
    sweep(folder);
    let access = Access::new(mode, existing.as_ref());
    let (_begun, mut file) = temporary(folder, access).map_err(|error| failed(&error))?;
    file.write_all(bytes).map_err(|error| failed(&error))?;
    access.grant(file.as_file()).map_err(|error| failed(&error))?;
    file.persist(&target).map_err(|error| failed(&error.error))?;
    Ok(true)
}

/// Permission bits of a file that is being written, and of the same file once it is whole.
#[derive(Debug, Clone, Copy)]
struct Access {
    /// The first, less the umask's.
    first: u32,
    /// The last, where they are others.
    last: Option<u32>,
}

impl Access {
    /// Of bits that are asked for, or else of the file that is replaced.
    fn new(mode: Option<u32>, existing: Option<&std::fs::Metadata>) -> Access {
        let is_own = |file: &&std::fs::Metadata| file.uid() == rustix::process::geteuid().as_raw();
        let kept = mode.or(existing.filter(is_own).map(|file| file.mode()));
        match (kept, existing) {
            // Until then nobody else may open what may be nobody else's to read.
            (Some(kept), _) => Access { first: OWNER_MODE, last: Some(kept & PERMISSIONS) },
            // Another user chose these bits, for a file of his own: no more of them than a new file has.
            (None, Some(file)) => Access { first: file.mode() & PERMISSIONS, last: None },
            (None, None) => Access { first: FILE_MODE, last: None },
        }
    }

    /// Gives the file its last bits.
    fn grant(self, file: &File) -> std::io::Result<()> {
        self.last.map_or(Ok(()), |mode| file.set_permissions(Permissions::from_mode(mode)))
    }
}

/// Checks that a file can be at a path.
///
/// # Errors
/// `Usage` where there is a folder, or the path is meant as one.
fn is_no_folder(path: &Path) -> Result<()> {
    let said = |what| Err(Error::new(ErrorKind::Usage, format!("`{}` is {what}", path.display())));
    let is_meant = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    match path.is_dir() {
        true => said("a folder"),
        false if is_meant && path.components().as_path().exists() => said("a file, not a folder"),
        false if is_meant => said("the name of a folder, and a file is to be written"),
        false => Ok(()),
    }
}

/// Whether a file holds these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let mut block = vec![0; BLOCK];
    bytes
        .chunks(BLOCK)
        .all(|chunk| block.get_mut(..chunk.len()).is_some_and(|old| file.read_exact(old).is_ok() && old == chunk))
}

/// Makes an empty file, or sets the time of one that is there.
///
/// # Errors
/// `Environment` where that is not possible.
pub(crate) fn touch(path: &Path) -> Result<()> {
    let folder = make_folder(folder_of(path));
    // A pipe without a reader is an error, not to be waited for: nothing is written to it.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let open = || File::options().create(true).append(true).custom_flags(flags).open(path);
    let file = folder.and_then(|_| open());
    file.and_then(|file| file.set_modified(std::time::SystemTime::now())).map_err(|error| cannot_write(path, &error))
}

/// Writes a file piece by piece, by way of a temporary one beside it, as [`write_atomically`] does. Links are followed;
/// devices and pipes are refused, since what is written is not in order.
///
/// # Errors
/// Errors of `write`; `Usage` for what is no file, `Environment` where the file cannot be written.
pub(crate) fn write_streamed<T>(
    path: &Path,
    mode: Option<u32>,
    write: impl FnOnce(&mut File) -> Result<T>,
) -> Result<T> {
    let failed = |error: &std::io::Error| cannot_write(path, error);
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if std::fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        let error =
            Error::new(ErrorKind::Usage, format!("`{}` is no file that a wheel can be written to", path.display()));
        return Err(error.with_remedy("name a file or a folder with `-o`"));
    }
    let folder = folder_of(&target);
    make_folder(folder).map_err(|error| failed(&error))?;
    sweep(folder);
    let access = Access::new(mode, None);
    let (_begun, mut file) = temporary(folder, access).map_err(|error| failed(&error))?;
    let written = write(file.as_file_mut())?;
    input::unchanged()?;
    access.grant(file.as_file()).map_err(|error| failed(&error))?;
    file.persist(&target).map_err(|error| failed(&error.error))?;
    Ok(written)
}

/// Folder for files of this run, which goes with the value, and where a signal ends the process.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    _begun: Begun,
}

impl Scratch {
    /// Makes a folder within another one.
    ///
    /// # Errors
    /// `Environment` where nothing can be written there.
    pub(crate) fn new(within: &Path) -> Result<Scratch> {
        let make = || tempfile::Builder::new().prefix(&prefix()).tempdir_in(within);
        let (begun, folder) = begin(make, TempDir::path).map_err(|error| cannot_write(within, &error))?;
        Ok(Scratch { folder, _begun: begun })
    }

    /// Makes a folder where the system has temporary ones.
    ///
    /// # Errors
    /// `Environment` where nothing can be written there.
    pub(crate) fn temporary() -> Result<Scratch> {
        let failed = |error| Error::new(ErrorKind::Environment, format!("cannot make a temporary folder: {error}"));
        let make = || tempfile::Builder::new().prefix(&prefix()).tempdir();
        let (begun, folder) = begin(make, TempDir::path).map_err(failed)?;
        Ok(Scratch { folder, _begun: begun })
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Opens a device or pipe. A pipe without a reader is waited for, but not for ever.
fn open_special(path: &Path) -> std::io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let begin = Instant::now();
    loop {
        match File::options().write(true).custom_flags(flags).open(path) {
            Ok(file) => {
                let flags = rustix::fs::fcntl_getfl(&file)?;
                rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
                if begin.elapsed() > PARTNER {
                    let text = format!("nobody has read from this pipe for {} seconds", PARTNER.as_secs());
                    return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, text));
                }
                std::thread::sleep(LOOK);
            }
            Err(error) => return Err(error),
        }
    }
}

fn temporary(folder: &Path, access: Access) -> std::io::Result<(Begun, NamedTempFile)> {
    let prefix = prefix();
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).permissions(Permissions::from_mode(access.first));
    let (begun, file) = begin(|| in_folder(folder, || builder.tempfile_in(folder)), NamedTempFile::path)?;
    // Where a file system has no locks, the process's number must do.
    let _ = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
    Ok((begun, file))
}

/// Number of times that a folder is removed to which a thread of this process writes.
const MOST_REMOVALS: usize = 100;

/// Prefix of this process's temporary names.
fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Function that is called before a temporary file is made.
static AT_FIRST: OnceLock<fn()> = OnceLock::new();

/// Has a function called before a temporary file or folder is made: the program prepares for a signal's end then, which is
/// to call [`remove_begun`].
pub(crate) fn before_writing(prepare: fn()) {
    let _ = AT_FIRST.set(prepare);
}

/// Folders that this process has made for outputs, each after the one that it is in.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a folder for outputs, and those that it is in. Where a signal ends the process, they go unless something has come into
/// them. Returns those that were not there, each after the one that it is in.
///
/// # Errors
/// The system's, where it cannot be made.
pub(crate) fn make_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    if folder.is_dir() {
        return Ok(Vec::new());
    }
    AT_FIRST.get().into_iter().for_each(|prepare| prepare());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let missing = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    let missing: Vec<&Path> = missing.take_while(|folder| !folder.exists()).collect();
    let mut own = Vec::new();
    for folder in missing.into_iter().rev() {
        match std::fs::create_dir(folder) {
            Ok(()) => {
                made.push(folder.to_owned());
                own.push(folder.to_owned());
            }
            // Another process was faster: the folder is that one's.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(own)
}

/// Temporary files and folders of this process.
static BEGUN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Temporary file or folder that is removed where a signal ends the process.
#[derive(Debug)]
struct Begun(PathBuf);

/// Makes something in a folder; once more where another process, which had made the folder, took it away again when a signal
/// ended it.
fn in_folder<T>(folder: &Path, make: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
    match make() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            make_folder(folder)?;
            make()
        }
        made => made,
    }
}

/// Makes a temporary file or folder, and says so before a signal can come between.
fn begin<T>(make: impl FnOnce() -> std::io::Result<T>, path: fn(&T) -> &Path) -> std::io::Result<(Begun, T)> {
    AT_FIRST.get().into_iter().for_each(|prepare| prepare());
    let mut all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    all.push(path(&made).to_owned());
    Ok((Begun(path(&made).to_owned()), made))
}

impl Drop for Begun {
    fn drop(&mut self) {
        BEGUN.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Removes what this process has begun and not finished. It is about to end: nothing is begun any more.
pub(crate) fn remove_begun() {
    let mut all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    for path in all.drain(..) {
        // Other threads may still write to the folder: what they add while it is removed goes the next time.
        for _ in 0..MOST_REMOVALS {
            remove_left(&path);
            if path.symlink_metadata().is_err() {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.iter().rev().for_each(|folder| _ = std::fs::remove_dir(folder));
    std::mem::forget((all, made));
}

/// Removes what killed processes left in a folder: temporary files, and the files of a set that had only begun to appear.
/// Each folder is looked through once.
pub(crate) fn sweep(folder: &Path) {
    static SWEPT: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !swept.get_or_insert_default().insert(folder.to_owned()) {
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|rest| is_left(&entry.path(), rest))
    });
    left.for_each(|entry| remove_left(&entry.path()));
}

/// Whether a name is that of a temporary file or folder of this tool.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// Whether nobody writes a temporary file any more; `rest` is its name after the prefix.
fn is_left(path: &Path, rest: &str) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    if !metadata.is_file() && !metadata.is_dir() {
        return false;
    }
    let pid = rest.split_once('-').map(|(pid, _)| pid).filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    let age = metadata.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
    let lives = pid.is_some_and(|pid| Path::new("/proc").join(pid).exists());
    // Without a number, or with one of another machine, age must tell.
    if lives || pid.is_none() && age < STALE {
        return false;
    }
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(flags).open(path);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Removes a temporary file or folder that nobody writes. Files of a set that had begun to appear, and are in no table
/// there, go with it.
fn remove_left(path: &Path) {
    if !path.is_dir() {
        let _ = std::fs::remove_file(path);
        return;
    }
    if let (Some(listing), Some(folder)) = (listed(&path.join(LISTING)), path.parent()) {
        let parts: Vec<(&str, &str)> = listing.lines().filter_map(|line| line.split_once(' ')).collect();
        // The last to appear is the table, which lists the others.
        let whole = parts.last().is_some_and(|(_, table)| !path.join(table).exists());
        // The list may have come from anywhere. What it names goes only where it is the very file that a part was.
        let is_part = |(identity, name): &&(&str, &str)| {
            !name.contains('/') && Identity::read(&folder.join(name)).is_some_and(|there| there.text() == *identity)
        };
        let moved = parts.iter().filter(|_| !whole).filter(is_part);
        moved.for_each(|(_, name)| _ = std::fs::remove_file(folder.join(name)));
    }
    let _ = std::fs::remove_dir_all(path);
}

/// Reads the list of a set's files, where it is a plain file and no longer than such a list is.
fn listed(path: &Path) -> Option<String> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).ok()?;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let is_plain = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut text = String::new();
    (is_plain && file.take(limits::MAX_LISTING).read_to_string(&mut text).is_ok()).then_some(text)
}

/// A file, however it is called and whatever else lies there: no other has the number and the moments of its beginning and
/// of its last change. Nobody sets the first of these moments, which whoever forges a list would have to foresee to
/// the nanosecond.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: (u32, u32),
    inode: u64,
    size: u64,
    born: (i64, u32),
    changed: (i64, u32),
}

impl Identity {
    /// Reads that of a plain file; none where the file system does not tell when a file began.
    fn read(path: &Path) -> Option<Identity> {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, mask).ok()?;
        let known = StatxFlags::from_bits_retain(found.stx_mask);
        let is_plain = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
        (is_plain && known.contains(mask)).then_some(Identity {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            size: found.stx_size,
            born: (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
            changed: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
        })
    }

    /// Returns it as a word of the list.
    fn text(&self) -> String {
        let Identity { device, inode, size, born, changed } = self;
        format!("{}:{}:{inode}:{size}:{}.{:09}:{}.{:09}", device.0, device.1, born.0, born.1, changed.0, changed.1)
    }
}

/// The permission bits of an input, which a rewritten copy keeps.
pub(crate) fn mode_of(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.mode() & PERMISSIONS)
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The error of an output that cannot be written.
#[cold]
pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    // The name of a temporary file, which `tempfile` appends, means nothing to anyone.
    let text = error.to_string();
    let reason = text.split_once(" at path \"").map_or(text.as_str(), |(reason, _)| reason);
    // A file in the place of a folder was named so.
    let kind =
        if error.kind() == std::io::ErrorKind::NotADirectory { ErrorKind::Usage } else { ErrorKind::Environment };
    let failed = Error::new(kind, format!("cannot write `{}`: {reason}", path.display()));
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            failed.with_remedy("free some space; nothing of this output was left there")
        }
        _ => failed,
    }
}

/// A set of files that appears in a folder together.
///
/// Files are written into a temporary folder. Where the target does not exist the temporary one takes its name in one
/// step. A folder that exists stays the folder it is (it may be a mount point, or have permissions of its own): the
/// temporary one lies within it, and the files are moved up one by one, in the order they were written.
pub(crate) struct Folder {
    target: PathBuf,
    temporary: TempDir,
    names: Vec<String>,
    whole: bool,
    /// The temporary folder, locked.
    _lock: Option<File>,
    _begun: Begun,
}

impl Folder {
    /// Begins a set.
    ///
    /// # Errors
    /// `Environment` where nothing can be written there, `Usage` where the target is a file.
    pub(crate) fn begin(target: &Path) -> Result<Folder> {
        let failed = |error: &std::io::Error| cannot_write(target, error);
        let whole = match std::fs::read_dir(target) {
            Ok(_) => false,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                return Err(Error::new(ErrorKind::Usage, format!("`{}` is a file, not a folder", target.display())));
            }
            Err(error) => return Err(failed(&error)),
        };
        // One beside the target can take its name; one within it needs no permission elsewhere and shares its file system.
        let beside = if whole { folder_of(target) } else { target };
        make_folder(beside).map_err(|error| failed(&error))?;
        sweep(beside);
        let prefix = prefix();
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).permissions(Permissions::from_mode(FOLDER_MODE));
        let make = || in_folder(beside, || builder.tempdir_in(beside));
        let (begun, temporary) = begin(make, TempDir::path).map_err(|error| failed(&error))?;
        let lock = File::open(temporary.path()).ok();
        let lock = lock.filter(|folder| flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok());
        Ok(Folder { target: target.to_path_buf(), temporary, names: Vec::new(), whole, _lock: lock, _begun: begun })
    }

    /// Whether a file of this name is there already, and will be replaced.
    pub(crate) fn replaces(&self, name: &str) -> bool {
        !self.whole && self.target.join(name).exists()
    }

    /// Adds a file.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.temporary.path().join(name);
        std::fs::write(&path, bytes).map_err(|error| cannot_write(&self.target.join(name), &error))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Lets the files appear, the one that was added last as the last.
    ///
    /// # Errors
    /// `Environment` where they cannot be moved; `Input` where an input has changed meanwhile.
    pub(crate) fn finish(self) -> Result<()> {
        input::unchanged()?;
        let failed = |error: &std::io::Error| cannot_write(&self.target, error);
        // The renaming fails where another process has made the target since.
        if self.whole && std::fs::rename(self.temporary.path(), &self.target).is_ok() {
            let _ = self.temporary.keep();
            return Ok(());
        }
        // Whoever finds this folder left there knows by the list what appeared of it. Where the file system does not tell
        // parts from other files, they stay.
        let new = |name: &&String| !self.target.join(name).exists() || self.names.last() == Some(name);
        let line = |name: &String| {
            let identity = Identity::read(&self.temporary.path().join(name)).map(|file| file.text());
            format!("{} {name}", identity.unwrap_or_default())
        };
        let listing = self.names.iter().filter(new).map(line).collect::<Vec<_>>().join("\n");
        std::fs::write(self.temporary.path().join(LISTING), listing).map_err(|error| failed(&error))?;
        // A signal's handler waits until all files have appeared; it does not take the folder away meanwhile.
        let _all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &self.names {
            std::fs::rename(self.temporary.path().join(name), self.target.join(name))
                .map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn unchanged_files_stay_and_modes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.so");
        assert!(write_atomically(&path, b"one", Some(0o750)).unwrap());
        assert_eq!(mode(&path), 0o750);
        let inode = std::fs::metadata(&path).unwrap().ino();
        assert!(!write_atomically(&path, b"one", Some(0o750)).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
        assert!(write_atomically(&path, b"two", None).unwrap());
        assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (0o750, b"two".to_vec()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomically(&link, b"new", None).unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_folder_appears_whole_or_is_added_to() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("new/set");
        let mut set = Folder::begin(&target).unwrap();
        set.add("a", b"1").unwrap();
        assert!(!target.exists());
        set.finish().unwrap();
        let mut set = Folder::begin(&target).unwrap();
        set.add("b", b"2").unwrap();
        drop(set);
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
        let mut set = Folder::begin(&target).unwrap();
        set.add("b", b"2").unwrap();
        set.finish().unwrap();
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 2);
        assert_eq!(std::fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn of_those_who_make_a_folder_one_owns_it() {
        let parent = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let folder = parent.path().join(round.to_string()).join("a/b");
            let make = || make_folder(&folder).unwrap();
            let made: Vec<Vec<PathBuf>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(folder.is_dir() && made.concat().len() == 3, "{made:?}");
        }
    }

    #[test]
    fn a_folder_that_another_process_took_away_is_made_again() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("gone/too");
        assert!(temporary(&folder, Access::new(None, None)).is_ok() && folder.is_dir());
    }

    #[test]
    fn an_empty_folder_stays_the_folder_it_is() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("mine");
        std::fs::create_dir(&target).unwrap();
        std::fs::set_permissions(&target, Permissions::from_mode(0o700)).unwrap();
        let inode = std::fs::metadata(&target).unwrap().ino();
        let mut set = Folder::begin(&target).unwrap();
        set.add("a", b"1").unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1, "nothing is written beside it");
        set.finish().unwrap();
        assert_eq!((mode(&target), std::fs::metadata(&target).unwrap().ino()), (0o700, inode));
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
        let again = Folder::begin(&target).unwrap();
        assert!(again.replaces("a") && !again.replaces("b"));
    }

    #[test]
    fn folders_are_made_and_no_error_names_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_atomically(&folder.path().join("a/b/new.so"), b"1", None).unwrap());
        touch(&folder.path().join("c/stamp")).unwrap();
        assert!(folder.path().join("c/stamp").is_file());
        let error = write_atomically(&folder.path().join("a/b/new.so/x"), b"", None).unwrap_err();
        assert!(!error.to_string().contains(PREFIX), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_what_others_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // No process has this number: it is beyond what Linux gives.
        let (left, set) = (at(".sycl-bundle-4194305-abc"), at(".sycl-bundle-4194305-set"));
        let (old, young) = (at(".sycl-bundle-OLDEST"), at(".sycl-bundle-YOUNGE"));
        let ours = at(&format!("{}xyz", prefix()));
        for path in [&left, &old, &young, &ours, &at("mine"), &at("older")] {
            std::fs::write(path, b"x").unwrap();
        }
        std::fs::create_dir(&set).unwrap();
        for name in ["t_0.spv", "edited", "t_1.spv", "t.table"] {
            std::fs::write(set.join(name), b"x").unwrap();
        }
        let line = |name: &str| format!("{} {name}", Identity::read(&set.join(name)).unwrap().text());
        let mut lines = ["t_0.spv", "edited", "t_1.spv", "t.table"].map(line).to_vec();
        // A forged list names other files as these.
        let [first, ..] = &lines[..] else { unreachable!() };
        let forged = ["older", "newer", "../older"].map(|name| first.replace("t_0.spv", name));
        lines.splice(0..0, forged);
        std::fs::write(set.join(LISTING), lines.join("\n")).unwrap();
        for name in ["t_0.spv", "edited"] {
            std::fs::rename(set.join(name), at(name)).unwrap();
        }
        std::fs::write(at("newer"), b"x").unwrap();
        std::fs::write(at("edited"), b"by the user").unwrap();
        let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&old).unwrap().set_modified(hour).unwrap();
        sweep(folder.path());
        assert!(young.exists() && ours.exists() && at("mine").exists());
        assert!(!left.exists() && !old.exists() && !set.exists(), "what nobody writes goes");
        assert!(["older", "newer", "edited"].iter().all(|name| at(name).exists()), "a list names files of the user");
        assert!(!at("t_0.spv").exists(), "a set of which the table has not appeared goes as a whole");
    }

    #[test]
    fn a_list_that_names_files_which_come_later_removes_none() {
        let folder = tempfile::tempdir().unwrap();
        let (left, mine) = (folder.path().join(".sycl-bundle-4194305-x"), folder.path().join("mine"));
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("zz"), b"").unwrap();
        std::fs::write(left.join(LISTING), "mine\n mine\n1:2:3 mine\nzz").unwrap();
        std::thread::sleep(LOOK);
        // As `cp -p`, `mv` and `tar` leave it: older than the list, and there since.
        std::fs::write(&mine, b"precious").unwrap();
        let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&mine).unwrap().set_modified(hour).unwrap();
        sweep(folder.path());
        assert!(mine.exists() && !left.exists());
    }

    #[test]
    fn a_list_that_is_a_pipe_or_a_link_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".sycl-bundle-4194305-x");
        std::fs::create_dir(&left).unwrap();
        let listing = left.join(LISTING);
        rustix::fs::mknodat(CWD, &listing, FileType::Fifo, FILE_MODE.into(), 0).unwrap();
        assert_eq!(listed(&listing), None);
        std::fs::remove_file(&listing).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &listing).unwrap();
        assert_eq!(listed(&listing), None);
        sweep(folder.path());
        assert!(!left.exists());
    }

    #[test]
    fn trust_in_other_bytes_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.so");
        for given in [None, Some(0o4755)] {
            std::fs::write(&path, b"old").unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
            assert!(write_atomically(&path, b"new", given).unwrap());
            assert_eq!(mode(&path), 0o755);
        }
        // Of the mode that another user gave his file the umask is taken, as of a new file's.
        std::fs::write(&path, b"old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o6777)).unwrap();
        let existing = std::fs::metadata(&path).unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
            let foreign = std::fs::metadata(&path).unwrap();
            assert!(write_atomically(&path, b"new", None).unwrap());
            assert_eq!(mode(&path) & 0o7022 & !0o022, 0);
            let access = Access::new(None, Some(&foreign));
            assert_eq!((access.first, access.last), (0o777, None));
        }
        let access = Access::new(None, Some(&existing));
        assert_eq!((access.first, access.last), (0o600, Some(0o777)));
    }

    #[test]
    fn what_is_its_owners_alone_is_so_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.whl");
        let during = write_streamed(&path, Some(0o640), |file| Ok(file.metadata().unwrap().mode() & 0o777)).unwrap();
        assert_eq!((during, mode(&path)), (0o600, 0o640));
        let (_begun, file) = temporary(folder.path(), Access::new(Some(0o444), None)).unwrap();
        assert_eq!(file.as_file().metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_locked_file_is_written_by_somebody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".sycl-bundle-4194305-abc");
        let file = File::create(&path).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        sweep(folder.path());
        assert!(path.exists());
    }

    #[test]
    fn a_stamp_that_is_a_pipe_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, FILE_MODE.into(), 0).unwrap();
        assert_eq!(touch(&pipe).unwrap_err().kind(), ErrorKind::Environment);
    }

    #[test]
    fn a_pipe_with_a_reader_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, FILE_MODE.into(), 0).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        write_atomically(&pipe, &[7; 1 << 18], None).unwrap();
        assert_eq!(reader.join().unwrap(), vec![7; 1 << 18]);
    }
}
