//! Which temporary files and folders has this process made, what becomes of them where a signal ends it, and of those that
//! a killed one left?
//!
//! All have the process's number in their names, and whoever writes one holds a lock on it. A process that is interrupted removes
//! its own; what a killed one left is removed by the next that makes one in the same folder ([`sweep`]), which puts back what files
//! of it had begun to replace.

use crate::limits;
use crate::plain_file::{self, FileId};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, StatxFlags, chmodat, flock, mkdirat, openat, renameat,
    statat, statx, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::fs::{File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempDir};

/// The prefix of temporary files and folders, should the process be killed while one is there; the process's number
/// follows. Whoever writes one holds a lock on it.
const PREFIX: &str = ".sycl-bundle-";
/// Number of random letters and digits at the end of a temporary name. Nobody gives a file of his own such a name.
pub(crate) const RANDOM: usize = 12;
/// Beginning of the rest of the name of a [`Scratch`] folder.
const SCRATCH: &str = "scratch-";
/// Permission bits of a temporary folder: it is its user's alone, and has the bit of folders in which each removes his own. A name
/// says little, as whoever may write to the folder around renames what is in it; nobody else gives a folder of this user these bits.
const MARKED: u32 = 0o1700;
/// The bits that are looked at: a folder may hand its group on.
const MARK: u32 = 0o1777;
/// Name of the file that marks a folder where the file system keeps no such bits.
pub(crate) const MARKER: &str = ".sycl-bundle";
/// Contents of that file.
pub(crate) const MARKER_TEXT: &[u8] = b"Made by sycl-bundle, which removes it.\n";
/// The time between two attempts to remove what other threads write to.
const LOOK: Duration = Duration::from_millis(50);
/// Name of the list of a set's files in its temporary folder.
const LISTING: &str = ".files";
/// Name of the folder in it with the files that a set replaces.
const REPLACED: &str = ".replaced";

/// Number of times that a folder is removed to which a thread of this process writes.
const MOST_REMOVALS: usize = 100;

/// Prefix of this process's temporary names.
pub(crate) fn prefix() -> String {
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
/// The system's, where it cannot be made; `NotFound` for a path back out of a folder that is not there: with it the path would be that of
/// another file than the one that was looked at.
pub(crate) fn make_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    if folder.is_dir() {
        return Ok(Vec::new());
    }
    AT_FIRST.get().into_iter().for_each(|prepare| prepare());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let missing = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    let missing: Vec<&Path> = missing.take_while(|folder| !folder.exists()).collect();
    if missing.iter().any(|folder| folder.ends_with("..")) {
        return Err(std::io::ErrorKind::NotFound.into());
    }
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

/// Returns the folder where the system has temporary files; an empty `TMPDIR` names none.
pub(crate) fn system_folder() -> PathBuf {
    Some(tempfile::env::temp_dir()).filter(|named| !named.as_os_str().is_empty()).unwrap_or_else(|| "/tmp".into())
}

/// Folders that were made for an output. With the value they go, unless something has come into them.
#[derive(Debug, Default)]
pub(crate) struct Made(Vec<PathBuf>);

impl Made {
    /// Makes a folder, and those that it is in.
    ///
    /// # Errors
    /// Errors of [`make_folder`].
    pub(crate) fn folder(folder: &Path) -> std::io::Result<Made> {
        make_folder(folder).map(Made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.0.iter().rev().for_each(|folder| _ = std::fs::remove_dir(folder));
    }
}

/// Temporary files and folders of this process.
static BEGUN: Mutex<Vec<(PathBuf, Option<FileId>)>> = Mutex::new(Vec::new());

/// Temporary file or folder that is removed where a signal ends the process.
#[derive(Debug)]
pub(crate) struct Begun(PathBuf);

/// Makes something in a folder; once more where another process, which had made the folder, took it away again when a signal
/// ended it.
pub(crate) fn in_folder<T>(folder: &Path, make: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
    match make() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            make_folder(folder)?;
            make()
        }
        made => made,
    }
}

/// Makes a temporary file in a folder, of these permission bits less the umask's, and locks it.
///
/// # Errors
/// The system's, where it cannot be made.
pub(crate) fn file(folder: &Path, mode: u32) -> std::io::Result<(Begun, NamedTempFile)> {
    let prefix = prefix();
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).rand_bytes(RANDOM).permissions(Permissions::from_mode(mode));
    let (begun, file) = begin(|| in_folder(folder, || builder.tempfile_in(folder)), NamedTempFile::path)?;
    // Where a file system has no locks, the process's number must do.
    let _ = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
    Ok((begun, file))
}

/// Makes a temporary file or folder, and says so before a signal can come between.
///
/// # Errors
/// The system's, where it cannot be made.
pub(crate) fn begin<T>(
    make: impl FnOnce() -> std::io::Result<T>,
    path: fn(&T) -> &Path,
) -> std::io::Result<(Begun, T)> {
    AT_FIRST.get().into_iter().for_each(|prepare| prepare());
    let mut all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    let path = path(&made).to_owned();
    let id = std::fs::symlink_metadata(&path).ok().map(|made| plain_file::id(&made));
    all.push((path.clone(), id));
    Ok((Begun(path), made))
}

impl Drop for Begun {
    fn drop(&mut self) {
        BEGUN.lock().unwrap_or_else(PoisonError::into_inner).retain(|(path, _)| *path != self.0);
    }
}

/// Has the files of a set appear in a folder, one by one. The last is the table, which lists the others: where one of these is
/// replaced, or files are `outdated`, the table that is there goes first, so that none lists old parts and new ones. The set's own
/// folder keeps all that went until the new table is there. Whoever finds that folder left knows by a list in it what appeared,
/// and what gets its place again; where the file system does not tell parts from other files, what appeared stays, and what went
/// is gone. Both folders are those that are open, whatever lies at their paths by now.
///
/// # Errors
/// The system's, where a file cannot be moved; all is as it was then.
pub(crate) fn appear(set: &OwnFolder, folder: &File, names: &[String], outdated: &[String]) -> std::io::Result<()> {
    let replaced = replaced(folder, names, outdated);
    mkdirat(&set.open, REPLACED, Mode::RWXU)?;
    let kept = openat(&set.open, REPLACED, FOLDER, Mode::empty())?;
    set.write(LISTING, listing(&set.open, folder, names, replaced.iter().copied().chain(outdated)).as_bytes())?;
    // A signal's handler waits until all are there; it does not take their folder away meanwhile.
    let _all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut move_all = || -> std::io::Result<()> {
        let keep = |name: &String| renameat(folder, name, &kept, name);
        for name in &replaced {
            keep(name)?;
            old.push(name);
        }
        // Another user's may not be this one's to move. A file that stays harms nobody.
        old.extend(outdated.iter().filter(|name| keep(name).is_ok()).map(String::as_str));
        for name in names {
            renameat(&set.open, name, folder, name)?;
            new.push(name);
        }
        Ok(())
    };
    let moved = move_all();
    if moved.is_err() {
        take_back(&kept, folder, &old, &new);
    }
    moved
}

/// Takes the files of a set away again that have appeared in a folder, and gives those that went their places, the table as the
/// last: those that `kept` holds.
fn take_back(kept: impl AsFd, folder: &File, old: &[&str], new: &[&str]) {
    new.iter().for_each(|name| _ = unlinkat(folder, *name, AtFlags::empty()));
    for name in old.iter().rev() {
        // Whatever has come there since stays.
        if matches!(statat(folder, *name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            let _ = renameat(&kept, *name, folder, *name);
        }
    }
}

/// Returns the files that go before a set appears, the table first. A folder is none: nothing takes its place.
fn replaced<'n>(folder: &File, names: &'n [String], outdated: &[String]) -> Vec<&'n String> {
    let is_file = |name: &&String| {
        let there = statat(folder, *name, AtFlags::SYMLINK_NOFOLLOW);
        there.is_ok_and(|there| FileType::from_raw_mode(there.st_mode) != FileType::Directory)
    };
    let Some((table, parts)) = names.split_last() else { return Vec::new() };
    let parts: Vec<&String> = parts.iter().filter(is_file).collect();
    let table = Some(table).filter(|table| !(parts.is_empty() && outdated.is_empty()) && is_file(table));
    table.into_iter().chain(parts).collect()
}

/// Returns the list of what goes before a set appears, and behind an empty line that of what will be there.
fn listing<'n>(set: &File, folder: &File, names: &[String], old: impl Iterator<Item = &'n String>) -> String {
    let line = |within: &File, name: &String| {
        let identity = Identity::read(within, name).map(|file| file.text());
        format!("{} {name}\n", identity.unwrap_or_default())
    };
    let old: String = old.map(|name| line(folder, name)).collect();
    let new: String = names.iter().map(|name| line(set, name)).collect();
    format!("{old}\n{new}")
}

/// Removes what this process has begun and not finished. It is about to end: nothing is begun any more.
pub(crate) fn remove_begun() {
    let mut all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    for (path, id) in all.drain(..) {
        // Other threads may still write to the folder: what they add while it is removed goes the next time.
        for _ in 0..MOST_REMOVALS {
            // Something else that has come to its place stays.
            let itself = open_itself(&path).filter(|(_, there)| Some(plain_file::id(there)) == id);
            if let Some((open, _)) = itself {
                remove_left(&path, &open);
            }
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
    for entry in entries {
        // Nobody else removes it meanwhile.
        if let Some(locked) = process_of(&entry.file_name()).and_then(|pid| left(&entry.path(), pid)) {
            remove_left(&entry.path(), &locked);
        }
    }
}

/// Whether a temporary name is that of a [`Scratch`] folder.
fn is_scratch(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
        .is_some_and(|(_, rest)| rest.starts_with(SCRATCH))
}

/// Whether a name is that of a temporary file or folder of this tool.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    process_of(name).is_some()
}

/// Returns the number of the process that made a temporary file or folder; none for a name that this tool gives to none.
fn process_of(name: &OsStr) -> Option<u32> {
    let (pid, rest) = name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
    let random = rest.strip_prefix(SCRATCH).unwrap_or(rest);
    let is_own = random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    pid.parse().ok().filter(|_| is_own && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a process may be the one that made a temporary file. Another one may have its number by now, in a container often the
/// first one or this very one.
fn made(pid: u32, path: &Path) -> bool {
    if pid == std::process::id() {
        return BEGUN.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(begun, _)| begun == path);
    }
    // A thread has a number of its own there, which no process has as long as it lives: in a container those of this process are low.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse::<u32>().ok());
    if group.is_some_and(|group| group != pid) {
        return false;
    }
    let program = |process: &str| std::fs::read_link(Path::new("/proc").join(process).join("exe"));
    match (program(&pid.to_string()), program("self")) {
        (Err(error), _) if error.kind() == std::io::ErrorKind::NotFound => false,
        // The program of another user, who makes no files of this one's, is told to nobody.
        (Err(error), _) if error.kind() == std::io::ErrorKind::PermissionDenied => false,
        // A newer version of this tool may have taken the place of that one's file.
        (Ok(theirs), Ok(own)) => {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().replace(" (deleted)", ""));
            name(&theirs) == name(&own)
        }
        _ => true,
    }
}

/// Opens and locks a temporary file of a process that is this user's, and that nobody writes any more.
fn left(path: &Path, pid: u32) -> Option<File> {
    if made(pid, path) {
        return None;
    }
    open_left(path).filter(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Opens a temporary file of this user, or a folder with a mark of a temporary one.
fn open_left(path: &Path) -> Option<File> {
    let (file, itself) = open_itself(path)?;
    let is_marked = || itself.mode() & MARK == MARKED || statat(&file, MARKER, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let is_temporary = itself.is_file() || itself.is_dir() && is_marked();
    (itself.uid() == plain_file::user() && is_temporary).then_some(file)
}

/// Opens a file or folder that is no link, pipe or device.
fn open_itself(path: &Path) -> Option<(File, std::fs::Metadata)> {
    let there = std::fs::symlink_metadata(path).ok()?;
    if !there.is_file() && !there.is_dir() {
        return None;
    }
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let itself = file.metadata().ok()?;
    Some((file, itself))
}

/// Removes a temporary file or folder that nobody writes, which is open. A set that had begun to appear, and of which no table is
/// there, goes with it, and all that it replaced is there again.
fn remove_left(path: &Path, open: &File) {
    if !open.metadata().is_ok_and(|itself| itself.is_dir()) {
        let _ = std::fs::remove_file(path);
        return;
    }
    // A worker may have written what lies in its folder.
    let is_set = !path.file_name().is_some_and(is_scratch);
    if let (true, Some(listing), Some(folder)) = (is_set, listed(open), path.parent())
        // The last to appear is the table, which lists the others.
        && let Some((_, table)) = listing.lines().next_back().and_then(|line| line.split_once(' '))
        && statat(open, table, AtFlags::empty()).is_ok()
    {
        // The list may have come from anywhere. Of what it names the very files count that the parts were.
        let Ok(folder) = File::open(folder) else { return };
        let kept = openat(open, REPLACED, FOLDER, Mode::empty()).map(File::from).ok();
        let is_in = |within: &File, identity: &str, name: &str| {
            !name.contains('/') && Identity::read(within, name).is_some_and(|there| there.text() == identity)
        };
        let mut lines = listing.lines().map(|line| line.split_once(' '));
        let is_kept = |identity: &str, name: &str| kept.as_ref().is_some_and(|kept| is_in(kept, identity, name));
        let old = lines.by_ref().map_while(|line| line).filter(|(identity, name)| is_kept(identity, name));
        let old: Vec<&str> = old.map(|(_, name)| name).collect();
        // Whoever may search the folder reads such identities of files that are there: parts began in their temporary folder.
        let began = born(open);
        let is_part = |name: &str| began.zip(Identity::read(&folder, name)).is_some_and(|(set, part)| part.born >= set);
        let new = lines.flatten().filter(|(identity, name)| is_in(&folder, identity, name) && is_part(name));
        let new: Vec<&str> = new.map(|(_, name)| name).collect();
        take_back(kept.as_ref().unwrap_or(&folder), &folder, &old, &new);
    }
    let _ = remove_tree(open, path);
}

/// Removes a folder with all that is in it, however deep: folders in folders are moved up before they are emptied. A link is
/// removed, and not followed; whatever else has come to the path of the folder stays.
fn remove_tree(top: &File, folder: &Path) -> std::io::Result<()> {
    // Whoever made what is in it may have left it otherwise.
    let _ = rustix::fs::fchmod(top, Mode::from(MARKED));
    let mut moved = 0u64;
    loop {
        let mut is_empty = true;
        for entry in Dir::read_from(top)?.flatten().filter(|entry| !is_itself(entry.file_name())) {
            is_empty = false;
            let name = entry.file_name();
            if remove_file(top, name)? {
                continue;
            }
            let inner = open_folder(top, name)?;
            for below in Dir::read_from(&inner)?.flatten().filter(|entry| !is_itself(entry.file_name())) {
                if !remove_file(&inner, below.file_name())? {
                    // A folder that nobody may write to cannot be moved.
                    open_folder(&inner, below.file_name())?;
                    // Another name is taken where a folder has it that is not empty.
                    while let Err(error) = renameat(&inner, below.file_name(), top, format!("{PREFIX}{moved}")) {
                        let is_taken = matches!(error, Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR);
                        moved = moved.checked_add(1).filter(|_| is_taken).ok_or(error)?;
                    }
                    moved = moved.saturating_add(1);
                }
            }
            unlinkat(top, name, AtFlags::REMOVEDIR)?;
        }
        if is_empty {
            return std::fs::remove_dir(folder);
        }
    }
}

/// A folder itself, not what a link leads to.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder, and has this user read and write it: whoever made it may have left it otherwise.
fn open_folder(within: impl AsFd, name: impl Arg + Copy) -> rustix::io::Result<OwnedFd> {
    let folder = match openat(&within, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // A link may come to its place at any moment, which bits are not to be given through.
            let itself = openat(&within, name, FOLDER | OFlags::PATH, Mode::empty())?;
            chmodat(CWD, format!("/proc/self/fd/{}", itself.as_raw_fd()), Mode::RWXU, AtFlags::empty())?;
            openat(&within, name, FOLDER, Mode::empty())?
        }
        opened => opened?,
    };
    rustix::fs::fchmod(&folder, Mode::RWXU)?;
    Ok(folder)
}

fn is_itself(name: &CStr) -> bool {
    name == c"." || name == c".."
}

/// Removes a file or link; returns whether it was one. What is a folder stays.
fn remove_file(folder: impl AsFd, name: &CStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads the list of a set's files, where it is a plain file and no longer than such a list is.
fn listed(set: &File) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(set, LISTING, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    file.metadata().ok().filter(|itself| itself.is_file())?;
    file.take(limits::MAX_LISTING).read_to_string(&mut text).is_ok().then_some(text)
}

/// Returns when a file or folder began, which nobody sets; none where the file system does not tell.
fn born(file: &File) -> Option<(i64, u32)> {
    let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let is_known = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    is_known.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec))
}

/// A file, however it is called and whatever else lies there: no other has the number and the moments of its beginning and
/// of its last change. Nobody sets the first of these moments. Whoever forges a list would have to foresee that of a file which comes
/// later, to the nanosecond.
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
    fn read(within: impl AsFd, name: &str) -> Option<Identity> {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(within, name, AtFlags::SYMLINK_NOFOLLOW, mask).ok()?;
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

/// Temporary folder of this user alone, locked, which goes with the value, and where a signal ends the process. Whoever may write to
/// the folder around may put another in its place: what is written goes into the one that is open, and that one is emptied.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    path: PathBuf,
    open: File,
    is_kept: bool,
    _begun: Begun,
}

impl OwnFolder {
    /// Makes the folder of a set within another one.
    ///
    /// # Errors
    /// The system's, where it cannot be made.
    pub(crate) fn of_set(within: &Path) -> std::io::Result<OwnFolder> {
        OwnFolder::make(within, "")
    }

    fn make(within: &Path, kind: &str) -> std::io::Result<OwnFolder> {
        let prefix = format!("{}{kind}", prefix());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(RANDOM).permissions(Permissions::from_mode(MARKED));
        let (_begun, path) = begin(|| builder.tempdir_in(within).map(TempDir::keep), PathBuf::as_path)?;
        let open = File::from(openat(CWD, &path, FOLDER, Mode::empty())?);
        // Another folder of this user that has come to its place is not emptied in the end.
        if Dir::read_from(&open)?.flatten().any(|entry| !is_itself(entry.file_name())) {
            return Err(std::io::Error::other("another folder has come to the place of a temporary one"));
        }
        // Where the file system has no locks, the process's number must do.
        let _ = flock(&open, FlockOperation::NonBlockingLockExclusive);
        let own = OwnFolder { path, open, is_kept: false, _begun };
        if own.open.metadata()?.mode() & MARK != MARKED {
            own.write(MARKER, MARKER_TEXT)?;
        }
        Ok(own)
    }

    /// Returns the path that it was made at.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file in it.
    ///
    /// # Errors
    /// The system's, where it cannot be written.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        const NEW: u32 = 0o666;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(openat(&self.open, name, flags, Mode::from(NEW))?).write_all(bytes)
    }

    /// Gives the folder its own name and permission bits, and keeps it. From then on no signal's end removes it.
    ///
    /// # Errors
    /// The system's, where it cannot be renamed. It is as it was then.
    pub(crate) fn appear_as(&mut self, name: &Path, mode: u32) -> std::io::Result<()> {
        // A signal's handler that was faster removes the folder, and does not let go of what it holds.
        let mut all = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        // A file marks it until it has its name, so that its permissions are right from then on: whatever moment this process is
        // killed at, the folder is one that is removed, or whole. Where the file is there, it is the mark.
        let before = self.open.metadata()?.mode();
        let is_marked = self.write(MARKER, MARKER_TEXT).is_ok() || before & MARK != MARKED;
        // A folder may hand its group on.
        let wanted = Permissions::from_mode(before & !MARK | mode);
        // On a full disk it has its permissions last.
        if is_marked {
            let _ = self.open.set_permissions(wanted.clone());
        }
        if let Err(error) = std::fs::rename(&self.path, name) {
            let _ = self.open.set_permissions(Permissions::from_mode(before));
            let _ = unmark(&self.open);
            return Err(error);
        }
        all.retain(|(path, _)| *path != self.path);
        self.is_kept = true;
        let _ = self.open.set_permissions(wanted);
        let _ = unmark(&self.open);
        Ok(())
    }
}

/// Removes the file that marks a folder, which a killed process leaves where the folder has its own name already. Another one of its
/// name is a user's.
///
/// # Errors
/// The system's, where there is none.
pub(crate) fn unmark(folder: &File) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let marker = File::from(openat(folder, MARKER, flags, Mode::empty())?);
    let is_own = marker.metadata().is_ok_and(|facts| facts.is_file() && facts.uid() == plain_file::user());
    let mut text = Vec::new();
    marker.take(MARKER_TEXT.len() as u64 + 1).read_to_end(&mut text)?;
    if is_own && text == MARKER_TEXT {
        unlinkat(folder, MARKER, AtFlags::empty())?;
    }
    Ok(())
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = remove_tree(&self.open, &self.path);
        }
    }
}

/// Folder for files of this run. What is in it may come from anywhere.
#[derive(Debug)]
pub(crate) struct Scratch(OwnFolder);

impl Scratch {
    /// Makes a folder of this user alone within another one.
    ///
    /// # Errors
    /// The system's, where it cannot be made.
    pub(crate) fn new(within: &Path) -> std::io::Result<Scratch> {
        sweep(within);
        OwnFolder::make(within, SCRATCH).map(Scratch)
    }

    /// Makes a folder beside an output, on whose disk there is more room; where the system has temporary ones if others, also those
    /// of a group, may put something else in its place there, or in that of a folder around it.
    ///
    /// # Errors
    /// The system's, where it cannot be made.
    pub(crate) fn beside(folder: &Path) -> std::io::Result<Scratch> {
        const STICKY: u32 = 0o1000;
        const OTHERS: u32 = 0o022;
        let is_own = |folder: &Path| {
            std::fs::metadata(folder).is_ok_and(|folder| {
                let is_open = folder.mode() & OTHERS != 0 && folder.mode() & STICKY == 0;
                !is_open && [0, plain_file::user()].contains(&folder.uid())
            })
        };
        let is_safe = folder.canonicalize().is_ok_and(|folder| folder.ancestors().all(is_own));
        if is_safe { Scratch::new(folder) } else { Scratch::temporary() }
    }

    /// Makes a folder where the system has temporary ones.
    ///
    /// # Errors
    /// The system's, where it cannot be made.
    pub(crate) fn temporary() -> std::io::Result<Scratch> {
        Scratch::new(&system_folder())
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The time that another process may write to a folder while this one waits.
const TURN: Duration = Duration::from_secs(10);

/// Waits until no other process of this tool changes what is in a folder, and has others wait while the value is there. None
/// where there is no such folder, its file system has no locks, or whoever holds one does not end.
pub(crate) fn hold(folder: &Path) -> Option<File> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = File::open(Some(folder).filter(|folder| folder.is_dir())?).ok()?;
    let begin = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(file),
            Err(Errno::WOULDBLOCK) if begin.elapsed() < TURN => std::thread::sleep(LOOK),
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a folder with the mark of temporary ones.
    fn marked(folder: &Path) {
        std::fs::create_dir(folder).unwrap();
        std::fs::set_permissions(folder, Permissions::from_mode(MARKED)).unwrap();
    }

    fn identity(path: &Path) -> String {
        Identity::read(CWD, path.to_str().unwrap()).unwrap().text()
    }

    /// In a folder that others may write to they give it such a name.
    #[test]
    fn a_folder_of_the_user_is_no_temporary_one_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let mine = [".sycl-bundle-4194305-scratch-xxxxxxxxxxxx", ".sycl-bundle-4194305-yyyyyyyyyyyy"];
        let mine = mine.map(|name| folder.path().join(name));
        for (path, mode) in mine.iter().zip([0o755, 0o700]) {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("thesis"), b"precious").unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        drop(Scratch::new(folder.path()).unwrap());
        assert!(mine.iter().all(|path| path.join("thesis").exists()));
    }

    #[test]
    fn a_temporary_folder_is_its_users_alone_whatever_comes_to_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let scratch = Scratch::new(folder.path()).unwrap();
        let mut set = OwnFolder::of_set(folder.path()).unwrap();
        for own in [scratch.path(), set.path()] {
            assert_eq!(own.metadata().unwrap().mode() & 0o7777, MARKED);
        }
        std::fs::create_dir(at("theirs")).unwrap();
        std::fs::write(at("mine"), b"precious").unwrap();
        std::os::unix::fs::symlink(at("mine"), at("theirs/t.table")).unwrap();
        std::fs::rename(set.path(), at("moved")).unwrap();
        std::os::unix::fs::symlink(at("theirs"), set.path()).unwrap();
        set.write("t.table", b"table").unwrap();
        assert_eq!(std::fs::read(at("mine")).unwrap(), b"precious");
        assert_eq!(std::fs::read(at("moved/t.table")).unwrap(), b"table");
        std::os::unix::fs::symlink(at("mine"), at("moved/0.spv")).unwrap();
        assert!(set.write("0.spv", b"code").is_err());
        assert_eq!(std::fs::read(at("mine")).unwrap(), b"precious");
        std::fs::remove_file(set.path()).unwrap();
        assert!(set.appear_as(&at("none/set"), 0o755).is_err());
        drop(set);
        assert!(at("theirs/t.table").is_symlink() && !at("moved/t.table").exists());
    }

    #[test]
    fn where_others_may_move_it_a_folder_for_files_is_made_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, is_beside) in [(0o755, true), (0o1777, true), (0o777, false), (0o775, false)] {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let scratch = Scratch::beside(folder.path()).unwrap();
            assert_eq!(scratch.path().parent() == Some(folder.path()), is_beside, "{mode:o}");
        }
    }

    #[test]
    fn a_folder_is_held_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = hold(folder.path()).unwrap();
        let begin = Instant::now();
        let waiting = std::thread::spawn({
            let path = folder.path().to_owned();
            move || hold(&path).is_some().then(Instant::now)
        });
        std::thread::sleep(LOOK.saturating_mul(4));
        drop(held);
        assert!(waiting.join().unwrap().unwrap().duration_since(begin) >= LOOK.saturating_mul(4));
        assert!(hold(&folder.path().join("nothing")).is_none());
    }

    #[test]
    fn a_folder_that_was_made_goes_unless_something_came_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        drop(Made::folder(&at("a/b")).unwrap());
        let made = Made::folder(&at("c/d")).unwrap();
        std::fs::write(at("c/mine"), b"").unwrap();
        drop(made);
        assert!(!at("a").exists() && at("c").exists() && !at("c/d").exists());
        drop(Made::folder(&at("c")).unwrap());
        assert!(at("c").exists());
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

    /// In a container they have the numbers that the processes of earlier ones had.
    #[test]
    fn a_thread_is_no_process_that_still_writes() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            let _ = ended.recv();
        });
        let number = u32::try_from(told.recv().unwrap()).unwrap();
        assert!(Path::new(&format!("/proc/{number}/exe")).exists() && !made(number, Path::new("t")));
        drop(end);
        thread.join().unwrap();
    }

    /// Ends the set at each of its moves.
    #[test]
    fn a_set_that_had_begun_to_replace_another_leaves_the_old_or_the_new_one_whole() {
        const OLD: [&str; 5] = ["t.table", "t_0.spv", "t_1.spv", "t_2.spv", "t_2.prop"];
        const NEW: [&str; 4] = ["t_0.spv", "t_1.spv", "t_3.spv", "t.table"];
        for moves in 0..=OLD.len() + NEW.len() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let set = at(".sycl-bundle-4194305-setsetsetset");
            marked(&set);
            std::fs::create_dir(set.join(REPLACED)).unwrap();
            let names = NEW.map(str::to_owned);
            let outdated = ["t_2.spv", "t_2.prop"].map(str::to_owned);
            OLD.iter().for_each(|name| std::fs::write(at(name), b"old").unwrap());
            NEW.iter().for_each(|name| std::fs::write(set.join(name), b"new").unwrap());
            let [open, open_set] = [folder.path(), &set].map(|folder| File::open(folder).unwrap());
            let old = replaced(&open, &names, &outdated);
            let old: Vec<&String> = old.into_iter().chain(&outdated).collect();
            assert_eq!(old, OLD);
            let list = listing(&open_set, &open, &names, old.into_iter());
            std::fs::write(set.join(LISTING), list).unwrap();
            OLD.iter().take(moves).for_each(|name| std::fs::rename(at(name), set.join(REPLACED).join(name)).unwrap());
            let new = NEW.iter().take(moves.saturating_sub(OLD.len()));
            new.for_each(|name| std::fs::rename(set.join(name), at(name)).unwrap());
            sweep(folder.path());
            let is_whole = moves == OLD.len() + NEW.len();
            let (mut expected, bytes) = if is_whole { (NEW.to_vec(), b"new") } else { (OLD.to_vec(), b"old") };
            let there = std::fs::read_dir(folder.path()).unwrap();
            let mut there: Vec<String> = there.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            expected.sort_unstable();
            there.sort_unstable();
            assert_eq!(there, expected, "{moves}");
            assert!(expected.iter().all(|name| std::fs::read(at(name)).unwrap() == bytes), "{moves}");
        }
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_what_others_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // No process has this number: it is beyond what Linux gives.
        let (left, set) = (at(".sycl-bundle-4194305-abcabcabcabc"), at(".sycl-bundle-4194305-setsetsetset"));
        let (ours, dead) = (at(&format!("{}xyzxyzxyzxyz", prefix())), at(&format!("{}abcabcabcabc", prefix())));
        let _begun = begin(|| std::fs::write(&ours, b"x").map(|()| ours.clone()), PathBuf::as_path).unwrap();
        let names = [".sycl-bundle-baseline.json", ".sycl-bundle-2024-policy.toml", ".sycl-bundle-2024-backup", "mine"];
        let mine = names.map(at);
        for path in [&left, &dead, &at("older")].into_iter().chain(&mine) {
            std::fs::write(path, b"x").unwrap();
        }
        marked(&set);
        for name in ["t_0.spv", "edited", "t_1.spv", "t.table"] {
            std::fs::write(set.join(name), b"x").unwrap();
        }
        let line = |name: &str| format!("{} {name}", identity(&set.join(name)));
        let mut lines = ["t_0.spv", "edited", "t_1.spv", "t.table"].map(line).to_vec();
        // A forged list names other files as these.
        let [first, ..] = &lines[..] else { unreachable!() };
        let forged = ["older", "newer", "../older"].map(|name| first.replace("t_0.spv", name));
        lines.splice(0..0, forged);
        std::fs::write(set.join(LISTING), format!("\n{}", lines.join("\n"))).unwrap();
        for name in ["t_0.spv", "edited"] {
            std::fs::rename(set.join(name), at(name)).unwrap();
        }
        std::fs::write(at("newer"), b"x").unwrap();
        std::fs::write(at("edited"), b"by the user").unwrap();
        let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
        for path in &mine {
            File::options().write(true).open(path).unwrap().set_modified(hour).unwrap();
        }
        sweep(folder.path());
        assert!(ours.exists() && mine.iter().all(|path| path.exists()), "names of the user");
        assert!(!left.exists() && !set.exists() && !dead.exists(), "what nobody writes goes");
        assert!(["older", "newer", "edited"].iter().all(|name| at(name).exists()), "a list names files of the user");
        assert!(!at("t_0.spv").exists(), "a set of which the table has not appeared goes as a whole");
    }

    #[test]
    fn a_list_that_names_files_which_come_later_removes_none() {
        let folder = tempfile::tempdir().unwrap();
        let (left, mine) = (folder.path().join(".sycl-bundle-4194305-xxxxxxxxxxxx"), folder.path().join("mine"));
        marked(&left);
        std::fs::write(left.join("zz"), b"").unwrap();
        std::fs::write(left.join(LISTING), "mine\n mine\n1:2:3 mine\n\n mine\n1:2:3 mine\n zz").unwrap();
        std::thread::sleep(LOOK);
        // As `cp -p`, `mv` and `tar` leave it: older than the list, and there since.
        std::fs::write(&mine, b"precious").unwrap();
        let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&mine).unwrap().set_modified(hour).unwrap();
        sweep(folder.path());
        assert!(mine.exists() && !left.exists());
    }

    /// Others may look up what identifies a file, and send an archive that holds what looks like a folder that was left.
    #[test]
    fn a_list_that_names_files_which_were_there_before_its_folder_removes_none() {
        let folder = tempfile::tempdir().unwrap();
        let there = File::open(folder.path()).unwrap();
        let write = |name: &str| {
            std::fs::write(folder.path().join(name), name).unwrap();
            format!("{} {name}", Identity::read(&there, name).unwrap().text())
        };
        let before = write("mine");
        std::thread::sleep(LOOK);
        let left = folder.path().join(".sycl-bundle-4194305-xxxxxxxxxxxx");
        marked(&left);
        std::fs::write(left.join("zz"), b"").unwrap();
        let part = write("part");
        std::fs::write(left.join(LISTING), format!("\n{before}\n{part}\n zz")).unwrap();
        sweep(folder.path());
        let is_there = |name: &str| folder.path().join(name).exists();
        assert_eq!([is_there("mine"), is_there("part"), left.exists()], [true, false, false]);
    }

    #[test]
    fn a_list_that_is_a_pipe_or_a_link_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".sycl-bundle-4194305-xxxxxxxxxxxx");
        marked(&left);
        let (listing, open) = (left.join(LISTING), File::open(&left).unwrap());
        rustix::fs::mknodat(CWD, &listing, FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(listed(&open), None);
        std::fs::remove_file(&listing).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &listing).unwrap();
        assert_eq!(listed(&open), None);
        sweep(folder.path());
        assert!(!left.exists());
    }

    #[test]
    fn a_folder_goes_however_deep_and_whatever_its_folders_allow() {
        let parent = tempfile::tempdir().unwrap();
        let (outside, top) = (parent.path().join("outside"), parent.path().join("top"));
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("mine"), b"precious").unwrap();
        marked(&top);
        std::os::unix::fs::symlink(&outside, top.join("link")).unwrap();
        let open = File::open(&top).unwrap();
        let mut at = rustix::fs::open(&top, OFlags::DIRECTORY, Mode::empty()).unwrap();
        // Deeper than a path may be long.
        for nth in 0..6_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&at, "e", Mode::RWXU).unwrap();
            let next = openat(&at, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
            // Root may all the same: run by another user, this shows more.
            if nth % 1_000 == 0 {
                rustix::fs::fchmod(&at, Mode::WUSR | Mode::XUSR).unwrap();
            } else if nth % 1_000 == 500 {
                rustix::fs::fchmod(&at, Mode::RUSR | Mode::XUSR).unwrap();
            }
            at = next;
        }
        remove_left(&top, &open);
        assert!(!top.exists() && outside.join("mine").exists());
    }

    #[test]
    fn a_list_in_a_folder_that_others_write_to_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, left) =
            (folder.path().join("mine"), folder.path().join(".sycl-bundle-4194305-scratch-xxxxxxxxxxxx"));
        std::fs::write(&mine, b"precious").unwrap();
        let line = format!("{} mine", identity(&mine));
        let own = Scratch::new(folder.path()).unwrap();
        marked(&left);
        for list in [&left, own.path()] {
            std::fs::write(list.join(LISTING), format!("{line}\n\n{line}\n zz")).unwrap();
            std::fs::write(list.join("zz"), b"").unwrap();
        }
        remove_left(own.path(), &own.0.open);
        // The folder was looked through for the first.
        remove_left(&left, &open_left(&left).unwrap());
        assert!(mine.exists() && !left.exists() && !own.path().exists());
    }

    #[test]
    fn a_folder_of_a_dead_process_goes_with_the_next_and_one_that_is_locked_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (left, held) =
            (at(".sycl-bundle-4194305-scratch-xxxxxxxxxxxx"), at(".sycl-bundle-4194305-scratch-yyyyyyyyyyyy"));
        marked(&left);
        marked(&held);
        std::fs::create_dir(left.join("below")).unwrap();
        let lock = File::open(&held).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let own = Scratch::new(folder.path()).unwrap();
        assert!(!left.exists() && held.exists() && own.path().exists());
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
    }

    #[test]
    fn a_locked_file_is_written_by_somebody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".sycl-bundle-4194305-abcabcabcabc");
        let file = File::create(&path).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        sweep(folder.path());
        assert!(path.exists());
    }
}
