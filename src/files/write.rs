//! How does an output appear whole or not at all?
//!
//! Outputs are written under a temporary name beside their place and renamed. A process that is interrupted removes what it
//! has begun; what a killed one left is removed by the next that writes to the folder ([`sweep`]), and what it had begun to replace
//! is there again.

use super::input;
use super::place::{Dangling, Place, is_open_file, steps};
use crate::bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::plain_file;
use crate::temporary::{self, Made, OwnFolder, appear, hold, in_folder, make_folder, sweep, unmark};
use rustix::fs::{Mode, OFlags, XattrFlags, fchown, fremovexattr, fsetxattr, getxattr, listxattr};
use rustix::process::{Gid, PidfdFlags, PidfdGetfdFlags, Uid, getpid, pidfd_getfd, pidfd_open};
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The permission bits of a new file, before the process's umask.
const FILE_MODE: u32 = 0o666;
/// The permission bits of a file that is its owner's alone.
const OWNER_MODE: u32 = 0o600;
/// The bits that say who may read, write and execute; not set-user-id and the like, which are trust in the very bytes.
const PERMISSIONS: u32 = 0o777;
/// The bits by which a program runs as its owner, or in its group.
const SET_ID: u32 = 0o6000;
/// The permission bits of a new folder, before the process's umask.
const FOLDER_MODE: u32 = 0o777;
/// The time that a pipe is waited for: an output for a reader, an input for a writer.
pub(super) const PARTNER: Duration = Duration::from_secs(10);
/// The time between two looks for one.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// Bytes of a file that are compared at a time.
const BLOCK: usize = 256 << 10;
/// Writes a file by way of a temporary one beside it, so that at any moment there is the old file, the new one, or
/// none. A file that already holds these bytes stays untouched. Returns whether it was written.
///
/// `mode` sets the permission bits, less those of the umask that a file in the place of the output does not have; without
/// it an existing file keeps its own and a new one gets the umask's. Bits that are trust in the very bytes, set-user-id and
/// the like, are never kept. Links are followed; devices and pipes are written to directly. The folder is made where it is
/// not there.
///
/// # Errors
/// `Environment` where the file cannot be written; `Input` where an input has changed meanwhile, or been replaced in the place of the
/// output.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<bool> {
    input::unchanged()?;
    is_no_folder(path)?;
    write_at(Place::find(path, Dangling::First)?, path, bytes, mode)
}

/// Writes a file to a place that was found: what comes there by then is not followed.
fn write_at(mut place: Place, path: &Path, bytes: &[u8], mut mode: Option<u32>) -> Result<bool> {
    let failed = |error: &std::io::Error| cannot_write(path, error);
    if place.is_open_file {
        let written = open_descriptor(&place.path).and_then(|mut file| file.write_all(bytes));
        return written.map(|()| true).map_err(|error| failed(&error));
    }
    // A link that leads nowhere is replaced by the file.
    let existing = place.existing();
    let kept = kept(&place, existing.as_ref());
    if let Some(metadata) = &existing {
        if metadata.is_dir() {
            return Err(Error::new(ErrorKind::Usage, format!("`{}` is a folder", path.display())));
        }
        if !metadata.is_file() {
            let written = open_special(&place).and_then(|mut file| file.write_all(bytes));
            return written.map(|()| true).map_err(|error| failed(&error));
        }
        mode = mode.filter(|mode| !keeps(*mode, &place.path, kept));
        let same_mode = mode.is_none_or(|mode| metadata.mode() & 0o7777 == allowed(mode, Some(metadata)));
        let is_same = same_mode && metadata.len() == bytes.len() as u64 && !place.is_strangers();
        if is_same && holds(&place, bytes) {
            return Ok(false);
        }
    }
    let folder = folder_of(&place.path).to_owned();
    let _made = Made::folder(&folder).map_err(|error| failed(&error))?;
    sweep(&folder);
    let access = Access::new(mode, existing.as_ref(), kept);
    let (_begun, mut file) = temporary::file(&folder, access.first).map_err(|error| failed(&error))?;
    place.open_folder().map_err(|error| failed(&error))?;
    write_sparse(file.as_file_mut(), bytes).map_err(|error| failed(&error))?;
    access.grant(file.as_file(), &place.path).map_err(|error| failed(&error))?;
    replace(file, &place, path)?;
    Ok(true)
}

/// Zeros of which so many follow each other take no room on the disk.
const HOLE: usize = 64 << 10;

/// Writes the bytes of a new file, with a hole for each block of zeros: uninitialised data of a program may be one of 256 MB.
fn write_sparse(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    let is_hole = |block: &[u8]| block.len() == HOLE && bytes::is_hole(block);
    let mut rest = bytes;
    while !rest.is_empty() {
        let hole: usize = rest.chunks(HOLE).take_while(|block| is_hole(block)).map(<[u8]>::len).sum();
        let behind = rest.get(hole..).unwrap_or_default();
        let len: usize = behind.chunks(HOLE).take_while(|block| !is_hole(block)).map(<[u8]>::len).sum();
        if hole > 0 {
            file.seek_relative(i64::try_from(hole).unwrap_or(0))?;
        }
        file.write_all(behind.get(..len).unwrap_or_default())?;
        rest = behind.get(len..).unwrap_or_default();
    }
    file.set_len(bytes.len() as u64)
}

/// Has a file appear at its place. An input there is replaced if it is what was read: another process may have put there what it
/// made of the same input, or a linker a new one.
///
/// # Errors
/// `Input` where another file is in the place of an input, `Environment` where the file cannot appear.
fn replace(file: NamedTempFile, place: &Place, path: &Path) -> Result<()> {
    // Others of this tool wait for their look at it.
    let _held = input::is_opened(&place.path).then(|| hold(folder_of(&place.path)));
    input::is_what_was_read(path, place)?;
    let file = file.into_temp_path();
    place.put(&file).map_err(|error| cannot_write(path, &error))?;
    // The name is no more, so that nothing is left to remove.
    let _ = file.keep();
    input::was_replaced(path, place);
    Ok(())
}

/// Permission bits of a file that is being written, and of the same file once it is whole.
#[derive(Debug, Clone, Copy)]
struct Access {
    /// The first, less the umask's.
    first: u32,
    /// The last, where they are others.
    last: Option<u32>,
    /// The group of the file that is replaced, where its bits are kept.
    group: Option<u32>,
    /// The other user whose file is changed in place, and stays his where this user may say so.
    owner: Option<u32>,
}

impl Access {
    /// Of bits that are asked for, or else of the file that is replaced; `own` is that file where its bits may be kept.
    fn new(mode: Option<u32>, existing: Option<&Metadata>, own: Option<&Metadata>) -> Access {
        let owner = own.filter(|file| mode.is_none() && !is_own(file)).map(Metadata::uid);
        let kept = mode.map(|mode| allowed(mode, own)).or(own.map(|file| file.mode()));
        match (kept, existing) {
            // Until then nobody else may open what may be nobody else's to read.
            (Some(kept), _) => {
                let group = own.filter(|_| mode.is_none()).map(|file| file.gid());
                Access { first: OWNER_MODE, last: Some(kept & PERMISSIONS), group, owner }
            }
            // Another user chose these bits, for a file of his own: no more of them than a new file has.
            (None, Some(file)) => {
                Access { first: without_group(file.mode() & PERMISSIONS), last: None, group: None, owner }
            }
            (None, None) => Access { first: FILE_MODE, last: None, group: None, owner },
        }
    }

    /// Gives the file its last bits; with those of the file at `target`, which it is to replace, also that one's group and list
    /// of others who may use it. Where that cannot be, whoever is in the group gets no more than everybody has.
    fn grant(self, file: &File, target: &Path) -> std::io::Result<()> {
        let Some(mode) = self.last else { return Ok(()) };
        self.permit(file, target, mode)?;
        match self.owner.map(|owner| fchown(file, Some(Uid::from_raw(owner)), None)) {
            // Another user chose these bits for a file of his own.
            Some(Err(_)) => {
                let _ = fremovexattr(file, LIST);
                file.set_permissions(Permissions::from_mode(without_group(mode) & !umask()))
            }
            _ => Ok(()),
        }
    }

    /// Gives the file permission bits, and what [`Access::grant`] says of the group.
    fn permit(self, file: &File, target: &Path, mut mode: u32) -> std::io::Result<()> {
        if let Some(group) = self.group {
            let is_kept = file.metadata()?.gid() == group || fchown(file, None, Some(Gid::from_raw(group))).is_ok();
            match (is_kept, list_of(target)) {
                // The list says all that the bits do.
                (true, Some(list)) if fsetxattr(file, LIST, &list, XattrFlags::empty()).is_ok() => return Ok(()),
                (true, None) => {}
                (..) => mode = without_group(mode),
            }
            // A folder may give every file in it such a list.
            let _ = fremovexattr(file, LIST);
        }
        file.set_permissions(Permissions::from_mode(mode))
    }
}

/// Returns the bits of an input that its copy gets: those that the umask leaves, as GNU `objcopy` and `cp` have it, and those that
/// the file in its place has.
fn allowed(mode: u32, existing: Option<&Metadata>) -> u32 {
    let there = existing.map_or(0, Metadata::mode);
    mode & PERMISSIONS & (there | !umask())
}

/// Returns the process's umask: asking for it any other way sets it, for all threads.
fn umask() -> u32 {
    // Where that cannot be read, outputs are their owner's alone.
    const CAREFUL: u32 = 0o077;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let stated = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    stated.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(CAREFUL)
}

/// The attribute with the list of users and groups that may use a file beside its own. Where there is one, the bits of the group are
/// the most that any of these gets.
const LIST: &str = "system.posix_acl_access";
/// Bytes of a list that are copied.
const MAX_LIST: usize = 1 << 16;

fn list_of(path: &Path) -> Option<Vec<u8>> {
    let mut list = vec![0; MAX_LIST];
    let len = getxattr(path, LIST, list.as_mut_slice()).ok()?;
    list.truncate(len);
    Some(list)
}

/// Returns permission bits with which a group may do no more than everybody.
fn without_group(mode: u32) -> u32 {
    mode & !0o070 | mode & (mode & 0o007) << 3
}

/// Tells what a file at a path has that one which replaces it does not get.
pub(crate) fn unkept(path: &Path) -> Vec<&'static str> {
    const CAPABILITIES: &[u8] = b"security.capability";
    let there = path.metadata().ok().filter(|file| file.is_file() && !is_open_file(path));
    let Some(there) = there else { return Vec::new() };
    let mut names = vec![0; MAX_LIST];
    let len = listxattr(path, names.as_mut_slice()).unwrap_or(0);
    names.truncate(len);
    let has = |is: fn(&[u8]) -> bool| names.split(|byte| *byte == 0).any(is);
    [
        (there.nlink() > 1, "other names of the file (hard links) keep what it was before"),
        (
            there.mode() & SET_ID != 0,
            "its set-user-id or set-group-id bit is not kept: it is trust in the bytes before",
        ),
        (has(|name| name == CAPABILITIES), "its capabilities are not kept: they are trust in the bytes before"),
        (
            has(|name| name.starts_with(b"user.")),
            "its attributes (user.*) are not kept: they may be about the bytes before",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, what)| is_so.then_some(what))
    .collect()
}

/// Whether a file is this user's.
fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Returns the file at a place if its owner and permissions may be kept: it is this user's, or was read, and is changed there. Where all
/// may write, a stranger may have left it.
fn kept<'m>(place: &Place, there: Option<&'m Metadata>) -> Option<&'m Metadata> {
    there.filter(|there| is_own(there) || input::is_opened(&place.path) && !place.is_open_to_all())
}

/// Whether a file whose permissions may be kept keeps them: it is what is copied, or has the bits of that.
fn keeps(mode: u32, path: &Path, kept: Option<&Metadata>) -> bool {
    kept.is_some_and(|there| mode == copied(path, there))
}

/// Returns the permission bits of a copy of a file: another group, and one of which the bits say nothing, gets no more than
/// everybody.
fn copied(path: &Path, metadata: &Metadata) -> u32 {
    let mode = metadata.mode() & PERMISSIONS;
    let is_own = metadata.gid() == rustix::process::getegid().as_raw();
    if is_own && list_of(path).is_none() { mode } else { without_group(mode) }
}

/// Returns the path below a folder of an output that the user did not name himself. A link there, or on the way, is whoever's
/// filled the folder, and may lead to any file of the user.
///
/// # Errors
/// `Usage` where there is a link.
pub(crate) fn below(folder: &Path, name: &Path) -> Result<PathBuf> {
    let mut path = folder.to_owned();
    for part in name.components() {
        path.push(part);
        if path.is_symlink() {
            let error = Error::new(ErrorKind::Usage, format!("`{}` is a link, which nobody named", path.display()));
            return Err(error.with_remedy("remove it, or write to another folder"));
        }
    }
    Ok(path)
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

/// Whether the file at a place holds these bytes.
fn holds(place: &Place, bytes: &[u8]) -> bool {
    let Ok(mut file) = place.read() else { return false };
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
    let mut place = Place::find(path, Dangling::Last)?;
    // A pipe without a reader is an error, not to be waited for: nothing is written to it.
    let flags = OFlags::CREATE | OFlags::APPEND | OFlags::WRONLY | OFlags::NONBLOCK;
    let file = make_folder(folder_of(&place.path)).and_then(|_| {
        if place.is_open_file {
            return File::options().append(true).open(&place.path);
        }
        place.open_folder()?;
        place.open_as_it_is(flags, Mode::from_raw_mode(FILE_MODE))
    });
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
    let mut place = Place::find(path, Dangling::First)?;
    let existing = place.existing();
    if place.is_open_file || existing.as_ref().is_some_and(|there| !there.is_file()) {
        let error =
            Error::new(ErrorKind::Usage, format!("`{}` is no file that a wheel can be written to", path.display()));
        return Err(error.with_remedy("name a file or a folder with `-o`"));
    }
    let folder = folder_of(&place.path).to_owned();
    let _made = Made::folder(&folder).map_err(|error| failed(&error))?;
    sweep(&folder);
    let kept = kept(&place, existing.as_ref());
    let access = if mode.is_some_and(|mode| keeps(mode, &place.path, kept)) {
        Access::new(None, kept, kept)
    } else {
        let existing = existing.as_ref().filter(|_| mode.is_some());
        Access::new(mode, existing, existing.filter(|there| is_own(there)))
    };
    let (_begun, mut file) = temporary::file(&folder, access.first).map_err(|error| failed(&error))?;
    place.open_folder().map_err(|error| failed(&error))?;
    let written = write(file.as_file_mut())?;
    input::unchanged()?;
    access.grant(file.as_file(), &place.path).map_err(|error| failed(&error))?;
    replace(file, &place, path)?;
    Ok(written)
}

/// Whether a path is that of an open file, as `/dev/stdout` is, or a link to it: what is there has no other place, and goes on
/// behind what is written.
pub(crate) fn is_descriptor(path: &Path) -> bool {
    steps(path).any(|path| is_open_file(&path))
}

/// Opens the open file that a path is that of, with its position. A system that does not hand it over, or another process's, is
/// asked for one to append to.
fn open_descriptor(path: &Path) -> std::io::Result<File> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let number = match name {
        "stdout" => Some(1),
        "stderr" => Some(2),
        number => number.parse().ok(),
    };
    // Another process's is `/proc/NUMBER/fd/...`.
    let is_own = path
        .parent()
        .is_some_and(|folder| folder.canonicalize().ok() == Path::new("/proc/self/fd").canonicalize().ok());
    let own = number.filter(|_| is_own || name.starts_with("std")).and_then(|number| {
        let process = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
        pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()
    });
    own.map_or_else(|| File::options().append(true).open(path), |own| Ok(File::from(own)))
}

/// Opens a device or pipe. A pipe without a reader is waited for, but not for ever.
fn open_special(place: &Place) -> std::io::Result<File> {
    let begin = Instant::now();
    loop {
        match place.open_as_it_is(OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
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

/// The permission bits of an input, which a rewritten copy keeps.
pub(crate) fn mode_of(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.is_file()).map(|metadata| copied(path, &metadata))
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

/// The permission bits of a new folder within another. Where that has a list of who may use what is made in it, the list stands
/// for the umask.
fn folder_mode(within: &Path) -> u32 {
    const LIST_OF_NEW: &str = "system.posix_acl_default";
    let has_list = getxattr(within, LIST_OF_NEW, &mut [0; 0][..]).is_ok_and(|len| len > 0);
    if has_list { FOLDER_MODE } else { FOLDER_MODE & !umask() }
}

/// A set of files that appears in a folder together.
///
/// Files are written into a temporary folder. Where the target does not exist the temporary one takes its name in one
/// step. A folder that exists stays the folder it is (it may be a mount point, or have permissions of its own): the
/// temporary one lies within it, and the files are moved up one by one, in the order they were written.
pub(crate) struct Folder {
    target: PathBuf,
    place: Place,
    /// The target, open, where it was there.
    there: Option<File>,
    temporary: OwnFolder,
    names: Vec<String>,
    whole: bool,
    /// Goes after the temporary folder in it.
    _made: Made,
}

impl Folder {
    /// Begins a set.
    ///
    /// # Errors
    /// `Environment` where nothing can be written there, `Usage` where the target is a file.
    pub(crate) fn begin(target: &Path) -> Result<Folder> {
        let failed = |error: &std::io::Error| cannot_write(target, error);
        let place = Place::find(target, Dangling::First)?;
        let target = place.path.clone();
        let target = target.as_path();
        let whole = match std::fs::read_dir(target) {
            Ok(_) => false,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                return Err(Error::new(ErrorKind::Usage, format!("`{}` is a file, not a folder", target.display())));
            }
            Err(error) => return Err(failed(&error)),
        };
        let there = if whole { None } else { Some(place.as_folder().map_err(|error| failed(&error))?) };
        // One beside the target can take its name; one within it needs no permission elsewhere and shares its file system.
        let beside = if whole { folder_of(target) } else { target };
        let made = Made::folder(beside).map_err(|error| failed(&error))?;
        sweep(beside);
        let temporary = in_folder(beside, || OwnFolder::of_set(beside)).map_err(|error| failed(&error))?;
        Ok(Folder { target: target.to_path_buf(), place, there, temporary, names: Vec::new(), whole, _made: made })
    }

    /// Has folders that were made for the set go where it does not appear.
    pub(super) fn with(self, made: Made) -> Folder {
        Folder { _made: made, ..self }
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
        let written = self.temporary.write(name, bytes);
        written.map_err(|error| cannot_write(&self.target.join(name), &error))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Lets the files appear, the one that was added last as the last, and has those go that are outdated.
    ///
    /// # Errors
    /// `Environment` where they cannot be moved; `Input` where an input has changed meanwhile.
    pub(crate) fn finish(mut self, outdated: &[String]) -> Result<()> {
        input::unchanged()?;
        // The renaming fails where another process has made the target since.
        if self.whole && self.temporary.appear_as(&self.target, folder_mode(folder_of(&self.target))).is_ok() {
            return Ok(());
        }
        let there = match self.there.take() {
            Some(there) => Ok(there),
            None => self.place.open_folder().map(drop).and_then(|()| self.place.as_folder()),
        };
        let is_there = |there: &File| -> std::io::Result<bool> {
            Ok(plain_file::id(&there.metadata()?) == plain_file::id(&std::fs::metadata(&self.target)?))
        };
        let appeared = there.and_then(|there| match is_there(&there)? {
            true => {
                let _ = unmark(&there);
                appear(&self.temporary, &there, &self.names, outdated)
            }
            false => Err(std::io::Error::other("another folder has come to its place")),
        });
        appeared.map_err(|error| cannot_write(&self.target, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::input::Input;
    use rustix::fs::{CWD, FileType};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn zeros_take_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let (one, many) = (vec![7u8; 3 * HOLE / 2], vec![0u8; 40 * HOLE]);
        for (number, bytes) in [
            [&one[..], &many, &one, &many].concat(),
            [&many[..], &one].concat(),
            many.clone(),
            one.clone(),
            vec![0; 5],
            Vec::new(),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(format!("{number}"));
            write_atomically(&path, &bytes, None).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes);
            let room = path.metadata().unwrap().blocks() * 512;
            assert!(room < 10 * HOLE as u64, "{room}");
        }
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_folder_is_open_to_others_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut set = Folder::begin(&at("set")).unwrap();
        set.add("t.table", b"table").unwrap();
        let temporary = set.temporary.path().to_owned();
        assert_eq!(mode(&temporary) & 0o777, 0o700);
        set.finish(&[]).unwrap();
        assert_eq!((mode(&at("set")), mode(&at("set/t.table"))), (0o777 & !umask(), 0o666 & !umask()));
        let mut more = Folder::begin(&at("set")).unwrap();
        more.add("t.table", b"other").unwrap();
        assert_eq!(mode(more.temporary.path()) & 0o777, 0o700);
        more.finish(&[]).unwrap();
        assert_eq!(std::fs::read(at("set/t.table")).unwrap(), b"other");
        assert!(!temporary.exists());
        assert_eq!(std::fs::read_dir(at("set")).unwrap().count(), 1);
        // The mark that a killed process left goes, and what a user calls so stays.
        for (text, stays) in [(&b""[..], true), (b"notes", true), (temporary::MARKER_TEXT, false)] {
            let mark = at("set").join(temporary::MARKER);
            std::fs::write(&mark, text).unwrap();
            let mut more = Folder::begin(&at("set")).unwrap();
            more.add("t.table", text).unwrap();
            more.finish(&[]).unwrap();
            assert_eq!(mark.exists(), stays, "{text:?}");
        }
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

    /// As GNU `objcopy` has it.
    #[test]
    fn the_umask_holds_for_an_inputs_mode_but_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let (path, streamed) = (folder.path().join("out.so"), folder.path().join("out.whl"));
        let open = 0o777 & !umask();
        assert!(open & 0o002 == 0, "the umask lets others write: {:o}", umask());
        assert!(write_atomically(&path, b"one", Some(0o777)).unwrap());
        write_streamed(&streamed, Some(0o777), |_| Ok(())).unwrap();
        assert_eq!((mode(&path), mode(&streamed)), (open, open));
        assert!(!write_atomically(&path, b"one", Some(0o777)).unwrap());
        std::fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(write_atomically(&path, b"two", Some(0o777)).unwrap());
        assert_eq!(mode(&path), 0o777);
    }

    /// Of a file without a name no path leads to it, and one at the path of the link would be in its place from then on.
    #[test]
    fn open_files_are_written_to_at_their_end_and_not_replaced() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before ").unwrap();
        for path in [format!("/dev/fd/{}", file.as_raw_fd()), format!("/proc/self/fd/{}", file.as_raw_fd())] {
            assert!(is_descriptor(Path::new(&path)));
            write_atomically(Path::new(&path), b"new ", None).unwrap();
            assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
            assert!(write_streamed(Path::new(&path), None, |_| Ok(())).is_err());
        }
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "before new new ");
        assert!(["/dev/stdout", "/dev/stderr"].iter().all(|path| is_descriptor(Path::new(path))));
        assert!(!["/dev/null", "out.so", "/tmp/1", "-"].iter().any(|path| is_descriptor(Path::new(path))));
    }

    #[test]
    fn a_link_to_an_open_file_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before ").unwrap();
        std::os::unix::fs::symlink(format!("/dev/fd/{}", file.as_raw_fd()), at("first")).unwrap();
        std::os::unix::fs::symlink("first", at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/stdout", at("out")).unwrap();
        std::os::unix::fs::symlink("itself", at("itself")).unwrap();
        assert!(is_descriptor(&at("link")) && is_descriptor(&at("out")) && !is_descriptor(&at("itself")));
        write_atomically(&at("link"), b"new", None).unwrap();
        assert!(at("link").is_symlink() && at("first").is_symlink());
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "before new");
    }

    /// Of a file with a list the bits of the group are the most that anybody in the list gets.
    #[test]
    fn nobody_gains_rights_by_what_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.so");
        let entry =
            |tag: u16, bits: u16, id: u32| [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat();
        let everybody = u32::MAX;
        let entries = [(1, 6, everybody), (2, 7, 1234), (4, 0, everybody), (16, 7, everybody), (32, 0, everybody)];
        let list = entries.iter().flat_map(|(tag, bits, id)| entry(*tag, *bits, *id));
        let list: Vec<u8> = 2u32.to_le_bytes().into_iter().chain(list).collect();
        std::fs::write(&path, b"old").unwrap();
        if fsetxattr(File::open(&path).unwrap(), LIST, &list, XattrFlags::empty()).is_ok() {
            assert_eq!((mode(&path), mode_of(&path)), (0o670, Some(0o600)));
            for (bytes, given) in [(b"new", None), (b"two", mode_of(&path))] {
                assert!(write_atomically(&path, bytes, given).unwrap());
                assert_eq!((mode(&path), list_of(&path).as_ref()), (0o670, Some(&list)));
            }
            write_streamed(&path, mode_of(&path), |_| Ok(())).unwrap();
            assert_eq!((mode(&path), list_of(&path).as_ref()), (0o670, Some(&list)));
            let copy = folder.path().join("copy.so");
            assert!(write_atomically(&copy, b"new", mode_of(&path)).unwrap());
            assert_eq!((mode(&copy), list_of(&copy)), (0o600, None));
        }
        let other = folder.path().join("other.so");
        std::fs::write(&other, b"old").unwrap();
        std::fs::set_permissions(&other, Permissions::from_mode(0o664)).unwrap();
        if std::os::unix::fs::chown(&other, None, Some(100)).is_ok() && rustix::process::getegid().as_raw() != 100 {
            assert!(write_atomically(&other, b"new", mode_of(&other)).unwrap());
            assert_eq!((mode(&other), std::fs::metadata(&other).unwrap().gid()), (0o664, 100));
            assert!(write_atomically(&folder.path().join("new.so"), b"new", mode_of(&other)).unwrap());
            assert_eq!(mode(&folder.path().join("new.so")), 0o644);
        }
        assert_eq!([0o770, 0o775, 0o640, 0o664, 0o755].map(without_group), [0o700, 0o755, 0o600, 0o644, 0o755]);
    }

    #[test]
    fn what_was_read_is_replaced_and_nothing_that_came_since() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other, link] = ["in.so", "other.so", "link.so"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("in.so", &link).unwrap();
        // Small files are read, large ones mapped, and their numbers are no other's while they are.
        let mut inputs = Vec::new();
        for (len, by) in [(10, &path), (10, &link), (1 << 20, &path)] {
            let mut begin = || {
                std::fs::write(&other, vec![1; len]).unwrap();
                std::fs::rename(&other, &path).unwrap();
                input::was_replaced(&path, &Place::find(&path, Dangling::First).unwrap());
                inputs.push(Input::open(by).unwrap());
            };
            begin();
            for bytes in [b"new", b"two"] {
                assert!(write_atomically(by, bytes, None).unwrap(), "it may be written again");
            }
            write_streamed(by, None, |file| {
                file.write_all(b"end").unwrap();
                Ok(())
            })
            .unwrap();
            begin();
            std::fs::write(&other, vec![2; len]).unwrap();
            std::fs::rename(&other, &path).unwrap();
            let error = write_atomically(by, b"new", None).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Input && error.to_string().contains("another process replaced"),
                "{error}"
            );
            let error = write_streamed(by, None, |file| {
                file.write_all(b"new").unwrap();
                Ok(())
            })
            .unwrap_err();
            assert_eq!((error.kind(), std::fs::read(&path).unwrap()), (ErrorKind::Input, vec![2; len]));
            begin();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(write_atomically(&path, b"new", None).unwrap_err().kind(), ErrorKind::Input);
            assert!(!path.exists());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
    }

    #[test]
    fn what_comes_to_the_place_of_an_output_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("important"), "precious").unwrap();
        let place = Place::find(&at("out.o"), Dangling::First).unwrap();
        std::os::unix::fs::symlink("important", at("out.o")).unwrap();
        assert!(write_at(place, &at("out.o"), b"new", None).unwrap());
        assert!(!at("out.o").is_symlink() && std::fs::read(at("out.o")).unwrap() == b"new");
        // A set that was to be a folder of its own.
        std::fs::create_dir(at("private")).unwrap();
        std::fs::write(at("private/important"), "precious").unwrap();
        let mut set = Folder::begin(&at("set")).unwrap();
        set.add("important", b"new").unwrap();
        std::os::unix::fs::symlink("private", at("set")).unwrap();
        assert!(set.finish(&[]).is_err());
        // And one that goes into a folder which is another by then.
        std::fs::remove_file(at("set")).unwrap();
        std::fs::create_dir(at("set")).unwrap();
        let mut set = Folder::begin(&at("set")).unwrap();
        set.add("important", b"new").unwrap();
        std::fs::rename(at("set"), at("old")).unwrap();
        std::os::unix::fs::symlink("private", at("set")).unwrap();
        assert!(set.finish(&[]).is_err());
        assert!(["important", "private/important"].iter().all(|name| std::fs::read(at(name)).unwrap() == b"precious"));
    }

    /// As `ln -sfn release-2 current` while `current/a.so` is built in place.
    #[test]
    fn a_file_that_was_not_read_is_not_replaced_where_a_link_is_turned() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for release in ["one", "two"] {
            std::fs::create_dir(at(release)).unwrap();
            std::fs::write(at(release).join("a.so"), release).unwrap();
        }
        std::os::unix::fs::symlink("one", at("current")).unwrap();
        let path = at("current/a.so");
        let _input = Input::open(&path).unwrap();
        std::fs::remove_file(at("current")).unwrap();
        std::os::unix::fs::symlink("two", at("current")).unwrap();
        let error = write_atomically(&path, b"new", None).unwrap_err();
        assert!(error.to_string().contains("another process replaced"), "{error}");
        assert!(write_streamed(&path, None, |_| Ok(())).is_err());
        assert!(
            ["one", "two"].iter().all(|release| std::fs::read(at(release).join("a.so")).unwrap() == release.as_bytes())
        );
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
        set.finish(&[]).unwrap();
        let mut set = Folder::begin(&target).unwrap();
        set.add("b", b"2").unwrap();
        drop(set);
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
        let mut set = Folder::begin(&target).unwrap();
        set.add("b", b"2").unwrap();
        set.finish(&[]).unwrap();
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 2);
        assert_eq!(std::fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_set_that_does_not_appear_whole_leaves_what_was_there() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let begin = || {
            let mut set = Folder::begin(parent.path()).unwrap();
            ["t_0.spv", "t_1.spv", "t.table"].iter().for_each(|name| set.add(name, b"new").unwrap());
            set
        };
        let old = || ["t_0.spv", "t.table"].iter().for_each(|name| std::fs::write(at(name), b"old").unwrap());
        old();
        // A folder is in the place of a part.
        std::fs::create_dir(at("t_1.spv")).unwrap();
        assert!(begin().finish(&[]).is_err());
        assert!(["t_0.spv", "t.table"].iter().all(|name| std::fs::read(at(name)).unwrap() == b"old"));
        std::fs::remove_file(at("t_0.spv")).unwrap();
        // Where nothing was replaced, all is as it was.
        std::fs::create_dir(at("t_0.spv")).unwrap();
        std::fs::write(at("t.table"), b"old").unwrap();
        assert!(begin().finish(&[]).is_err());
        assert_eq!(std::fs::read(at("t.table")).unwrap(), b"old");
        ["t_0.spv", "t_1.spv"].iter().for_each(|name| std::fs::remove_dir(at(name)).unwrap());
        old();
        begin().finish(&[]).unwrap();
        assert!(["t_0.spv", "t_1.spv", "t.table"].iter().all(|name| std::fs::read(at(name)).unwrap() == b"new"));
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_folder_that_another_process_took_away_is_made_again() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("gone/too");
        assert!(temporary::file(&folder, Access::new(None, None, None).first).is_ok() && folder.is_dir());
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
        set.finish(&[]).unwrap();
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
        assert!(!error.to_string().contains(".sycl-bundle-"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
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
            let access = Access::new(None, Some(&foreign), None);
            assert_eq!((access.first, access.last), (0o777, None));
        }
        let access = Access::new(None, Some(&existing), Some(&existing));
        assert_eq!((access.first, access.last), (0o600, Some(0o777)));
    }

    #[test]
    fn what_is_its_owners_alone_is_so_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.whl");
        let during = write_streamed(&path, Some(0o640), |file| Ok(file.metadata().unwrap().mode() & 0o777)).unwrap();
        assert_eq!((during, mode(&path)), (0o600, 0o640));
        let (_begun, file) = temporary::file(folder.path(), Access::new(Some(0o444), None, None).first).unwrap();
        assert_eq!(file.as_file().metadata().unwrap().mode() & 0o777, 0o600);
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
