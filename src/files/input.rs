//! How do the bytes of an input reach the library?
//!
//! Files are mapped: libraries reach gigabytes, and most verbs touch a small part. Small files, pipes and `-` are read, with
//! `--no-mmap` all. A mapped file that another process changes is told before anything is written, and one that it cuts
//! short ends the process (the program does so with a message).
//!
//! Large drafts are kept in files without names, which are mapped: their pages leave memory when others need it.

use super::expand::mapped_at;
use super::place::{self, Place};
use super::write::{LOOK, PARTNER, cannot_write};
use crate::bytes::{self, Space};
use crate::container::kind::{self, Kind, PTX_BEGIN, is_ptx};
use crate::error::{Error, Result};
use crate::limits;
use crate::plain_file::{self, FileId};
use memmap2::{Mmap, MmapMut, UncheckedAdvice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{Cursor, Read as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// An open input.
#[derive(Debug)]
pub(crate) struct Input {
    name: String,
    absolute: Option<PathBuf>,
    /// State when it was opened, of plain files.
    state: Option<State>,
    owner: u32,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Mapped(Map),
    Read(Vec<u8>),
}

/// A file at a path, or something else.
#[derive(Debug)]
pub(crate) enum Found {
    /// A file that is wanted.
    Input(Input),
    /// Something else.
    Unwanted,
}

/// Beginning of a file, and where its end is to be had: both tell its kind.
pub(crate) struct Head<'h> {
    name: &'h [u8],
    /// First bytes.
    pub(crate) bytes: &'h [u8],
    len: u64,
    file: &'h File,
}

impl Head<'_> {
    /// Returns the kind of the file, if it is known. The last bytes are read only where they may tell.
    pub(crate) fn kind(&self) -> Option<Kind> {
        let by_end = || {
            if self.len <= self.bytes.len() as u64 {
                return Some(Kind::Zip).filter(|_| Kind::ends_as_zip_by(self.bytes, self.name));
            }
            if !Kind::may_be_zip(self.name, self.bytes) {
                return None;
            }
            let mut end = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX).min(kind::ZIP_END)];
            let at = self.len.saturating_sub(end.len() as u64);
            let read = self.file.read_exact_at(&mut end, at).is_ok();
            (read && Kind::ends_as_zip_by(&end, self.name)).then_some(Kind::Zip)
        };
        let by_more = || (Kind::may_be_ptx(self.bytes) && is_ptx(&self.begin(PTX_BEGIN))).then_some(Kind::Native);
        Kind::identify_head(self.bytes, self.len).ok().or_else(by_more).or_else(by_end)
    }

    /// Returns the first bytes of the file, as many as are asked for, or as there are.
    pub(crate) fn begin(&self, count: usize) -> Vec<u8> {
        let mut begin = self.bytes.to_vec();
        let rest = (count as u64).min(self.len).saturating_sub(begin.len() as u64);
        begin.resize(begin.len().saturating_add(usize::try_from(rest).unwrap_or(0)), 0);
        if self.file.read_exact_at(&mut begin, 0).is_err() {
            begin.truncate(self.bytes.len());
        }
        begin
    }

    /// Whether the file is one that the kernel would call by a device and an inode in the maps of a process. Those that it tells of
    /// a file in other ways are others on some file systems (overlayfs, btrfs), so that the file is mapped for it.
    pub(super) fn is_mapped_as(&self, identity: (&str, &str)) -> bool {
        map(self.file)
            .ok()
            .and_then(|map| mapped_at(map.as_ptr().addr()))
            .is_some_and(|(device, inode)| (device.as_str(), inode.as_str()) == identity)
    }
}

/// Whether the file at a path is one that the kernel calls by a device and an inode in the maps of a process.
pub(super) fn is_mapped_as(path: &Path, identity: (&str, &str)) -> bool {
    let Ok((file, metadata)) = plain_file::open(path) else { return false };
    Head { name: &[], bytes: &[], len: metadata.len(), file: &file }.is_mapped_as(identity)
}

/// Bytes that are read of a file to tell what it is.
const HEAD: usize = 1024;
/// Files of at most so many bytes are read: a mapping costs as much, and other processes may change it.
const SMALL: u64 = 64 << 10;
/// Mappings at a time; the files of tables beyond are read. Linux allows a process 65,530.
const MAX_MAPPINGS: usize = 1 << 14;
/// Mapped inputs that are watched for changes.
const MAX_WATCHED: usize = 1 << 14;

/// Whether files are read instead of mapped.
static READ_ALL: AtomicBool = AtomicBool::new(false);
/// Inputs that are mapped now.
static MAPPINGS: AtomicUsize = AtomicUsize::new(0);
/// Mapped inputs as they were when they were opened.
static WATCHED: Mutex<Vec<(PathBuf, State)>> = Mutex::new(Vec::new());

/// Reads all files from now on instead of mapping them.
pub(crate) fn read_all() {
    READ_ALL.store(true, Ordering::Relaxed);
}

/// Inputs that were opened, and what lies beside them.
static OPENED: Mutex<Opened> = Mutex::new(Opened { files: BTreeMap::new(), names: BTreeMap::new() });

/// Inputs that were opened.
struct Opened {
    /// By their real paths: the path that each was first opened by, and its state then.
    files: BTreeMap<PathBuf, (PathBuf, State)>,
    /// Real paths by the paths that they were opened by. Another file may be at such a path by now.
    names: BTreeMap<PathBuf, PathBuf>,
}

fn opened() -> MutexGuard<'static, Opened> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note_opened(real: Option<&PathBuf>, path: &Path, metadata: Option<&Metadata>) {
    if let (Some(real), Some(metadata)) = (real, metadata) {
        let mut opened = opened();
        opened.files.entry(real.clone()).or_insert_with(|| (path.to_owned(), State::new(metadata)));
        opened.names.entry(path.to_owned()).or_insert_with(|| real.clone());
    }
}

impl Opened {
    /// Returns the real path of what was opened by a path, or is to be replaced at a place.
    fn real(&self, path: &Path, place: &Place) -> PathBuf {
        let by_name = || self.names.get(path).cloned();
        let at = || place::real(&place.path).unwrap_or_else(|_| place.path.clone());
        by_name().unwrap_or_else(at)
    }
}

/// Checks that a file which is about to be replaced is what was read of it, if it was: by this path, or as the file at this place.
///
/// # Errors
/// `Input` where another file is there now, none is, or it was changed.
pub(super) fn is_what_was_read(path: &Path, place: &Place) -> Result<()> {
    let opened = opened();
    let Some((name, read)) = opened.files.get(&opened.real(path, place)) else { return Ok(()) };
    match place.now() {
        Some(now) if State::new(&now) == *read => Ok(()),
        _ => Err(replaced_meanwhile().context(name.display().to_string())),
    }
}

#[cold]
fn replaced_meanwhile() -> Error {
    let error = Error::input("another process replaced the file since it was read, and it stays as it is now");
    error.with_remedy("run the command again")
}

/// Notes that this process has replaced a file, if that was an input: it may do so again.
pub(super) fn was_replaced(path: &Path, place: &Place) {
    let Some(metadata) = place.now() else { return };
    let mut opened = opened();
    let real = opened.real(path, place);
    if let Some((_, read)) = opened.files.get_mut(&real) {
        *read = State::new(&metadata);
    }
}

/// Whether a path leads to a file that was opened as an input, a part of a table, or beside a module.
pub(crate) fn is_opened(path: &Path) -> bool {
    // Pipes and devices have nothing that could be lost.
    path.is_file() && place::real(path).is_ok_and(|real| opened().files.contains_key(&real))
}

/// Whether what was opened by a path is what is at another one now; what was not opened is.
pub(super) fn is_opened_at(path: &Path, other: &Path) -> bool {
    let opened = opened();
    let real = opened.names.get(path).map_or(path, PathBuf::as_path);
    opened
        .files
        .get(real)
        .is_none_or(|(_, state)| std::fs::metadata(other).is_ok_and(|there| plain_file::id(&there) == state.id))
}

/// Returns the paths of all that was opened, without those that lead to one of `known`.
pub(crate) fn opened_beside(known: &[PathBuf]) -> Vec<PathBuf> {
    let known: Vec<PathBuf> = known.iter().filter_map(|path| place::real(path).ok()).collect();
    let opened = opened();
    let others = opened.files.iter().filter(|(real, _)| !known.contains(real));
    others.map(|(_, (path, _))| path.clone()).collect()
}

/// State of a file: another one, or other contents, have another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    id: FileId,
    len: u64,
    /// Seconds and nanoseconds of the last change of the contents.
    modified: (i64, i64),
}

impl State {
    fn new(metadata: &Metadata) -> State {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        State { id: plain_file::id(metadata), len: metadata.len(), modified }
    }
}

/// Checks that no mapped input has changed since it was opened: what was made of it would be of neither state. An input
/// that another file has replaced since is still what it was.
///
/// # Errors
/// `Io`, naming the file.
pub(crate) fn unchanged() -> Result<()> {
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    changed(&watched).map_or(Ok(()), |path| Err(changed_meanwhile().context(path.display().to_string())))
}

/// Whether a mapped input has changed since it was opened, as far as that can be told at this moment.
pub(crate) fn has_changed() -> bool {
    WATCHED.try_lock().is_ok_and(|watched| changed(&watched).is_some())
}

/// Returns the first input that has changed.
fn changed(watched: &[(PathBuf, State)]) -> Option<&PathBuf> {
    let changed = watched.iter().find(|(path, state)| {
        let now = std::fs::metadata(path).map(|metadata| State::new(&metadata));
        now.is_ok_and(|now| now.id == state.id && now != *state)
    });
    changed.map(|(path, _)| path)
}

#[cold]
fn changed_meanwhile() -> Error {
    Error::input("another process changed the file while it was read").with_remedy("run the command again")
}

impl Input {
    /// Opens what was found at a path, which may be anything, as `name`. Only regular files are opened, without waiting
    /// for anything, and only what is `wanted` by its identity and what tells its kind is read further.
    ///
    /// # Errors
    /// `Io` where it cannot be read.
    pub(crate) fn open_found(path: &Path, name: &str, wanted: impl FnOnce(FileId, &Head<'_>) -> bool) -> Result<Found> {
        let failed = |error: std::io::Error| Error::io("cannot read", &error);
        // Opening a device may do something; that it is none is checked again once it is open.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Ok(Found::Unwanted);
        }
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
        Input::found(file, path, name, wanted)
    }

    /// Opens what was found below a folder, as [`Input::open_found`] does. There is no link on the way.
    ///
    /// # Errors
    /// `Io` where it cannot be read, or something has come there that is a link.
    pub(crate) fn open_below(
        folder: &Path,
        path: &Path,
        wanted: impl FnOnce(FileId, &Head<'_>) -> bool,
    ) -> Result<Found> {
        let failed = |error: std::io::Error| Error::io("cannot read", &error);
        if !std::fs::symlink_metadata(path).map_err(failed)?.is_file() {
            return Ok(Found::Unwanted);
        }
        let within = path.strip_prefix(folder).unwrap_or(path);
        let file = plain_file::open_below(folder, within).map_err(failed)?;
        Input::found(file, path, &path.display().to_string(), wanted)
    }

    /// Takes what is open, and was found at a path.
    fn found(mut file: File, path: &Path, name: &str, wanted: impl FnOnce(FileId, &Head<'_>) -> bool) -> Result<Found> {
        let failed = |error: std::io::Error| Error::io("cannot read", &error);
        let metadata = file.metadata().map_err(failed)?;
        let mut head = [0; HEAD];
        let mut have = 0usize;
        while let Some(rest) = head.get_mut(have..).filter(|rest| !rest.is_empty() && metadata.is_file()) {
            match file.read_at(rest, have as u64).map_err(failed)? {
                0 => break,
                read => have = have.saturating_add(read),
            }
        }
        let id = plain_file::id(&metadata);
        let name_bytes = path.as_os_str().as_encoded_bytes();
        let bytes = head.get(..have).unwrap_or_default();
        let head = Head { name: name_bytes, bytes, len: metadata.len(), file: &file };
        if !metadata.is_file() || !wanted(id, &head) {
            return Ok(Found::Unwanted);
        }
        let data = contents(path, &mut file, &metadata)?;
        let absolute = real_path(path, &metadata);
        note_opened(absolute.as_ref(), path, Some(&metadata));
        let state = Some(State::new(&metadata));
        Ok(Found::Input(Input { name: name.to_owned(), absolute, state, owner: metadata.uid(), data }))
    }

    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is a folder.
    pub(crate) fn open(path: &Path) -> Result<Input> {
        let name = path.display().to_string();
        let (data, metadata) = open(path)?;
        let absolute = metadata.as_ref().and_then(|metadata| real_path(path, metadata));
        note_opened(absolute.as_ref(), path, metadata.as_ref());
        let owner = metadata.as_ref().map_or_else(plain_file::user, Metadata::uid);
        let state = metadata.as_ref().filter(|metadata| metadata.is_file()).map(State::new);
        Ok(Input { name, absolute, state, owner, data })
    }

    /// Opens a file that may have been opened before.
    ///
    /// # Errors
    /// Errors of [`Input::open`]; `Input` where another file was there then, or it was changed since.
    pub(crate) fn open_again(path: &Path) -> Result<Input> {
        let input = Input::open(path)?;
        let opened = opened();
        let first = opened.names.get(path).and_then(|real| opened.files.get(real));
        match first {
            Some((_, state)) if input.state.is_some_and(|now| now != *state) => Err(replaced_meanwhile()),
            _ => Ok(input),
        }
    }

    /// Opens a file that another input names, which may be anything: only a regular file within one of the folders
    /// `roots`, links followed. `own` is what messages call the first of them.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is no file or elsewhere.
    pub(crate) fn open_within(path: &Path, roots: &[PathBuf], own: &str) -> Result<Input> {
        let failed = |error: std::io::Error| Error::io("cannot read", &error);
        let real = place::real(path).map_err(failed)?;
        let Some(root) = roots.iter().find(|root| real.starts_with(root)) else {
            let error = Error::input(format!("this leads to `{}`, outside of {own}", real.display()));
            return Err(error.with_remedy("name a folder that holds all files with --table-root"));
        };
        match std::fs::metadata(&real).map_err(failed)?.is_file() {
            true => Input::open_real(path, &real, root),
            false => Err(Error::input("this is no plain file")),
        }
    }

    /// Opens what a path was found to lead to, within a folder. A link that has come there since is not followed.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is no file.
    fn open_real(path: &Path, real: &Path, root: &Path) -> Result<Input> {
        let failed = |error: std::io::Error| Error::io("cannot read", &error);
        // To a folder of another process its path leads by a link of /proc; what is below it has none.
        let top = if root.starts_with("/proc") { root } else { Path::new("/") };
        let within = real.strip_prefix(top).unwrap_or(real);
        let file = plain_file::open_below(top, within).map_err(failed)?;
        note_opened(Some(&real.to_owned()), path, file.metadata().ok().as_ref());
        match Input::found(file, real, &path.display().to_string(), |_, _| true)? {
            Found::Input(input) => Ok(input),
            Found::Unwanted => Err(Error::input("this is no plain file")),
        }
    }

    /// The number of the user that it belongs to.
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    /// Reads a text that the user names, of at most `most` bytes: a policy, a configuration, a baseline. It may come out of a
    /// pipe; one without end is left early.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is longer or no UTF-8, naming the file.
    pub(crate) fn read_text(path: &Path, most: usize) -> Result<String> {
        if path == Path::new("-") {
            return Input::read_text_of(path, std::io::stdin().lock(), most);
        }
        let failed = |error: std::io::Error| Error::io("cannot read", &error).context(path.display().to_string());
        let (begun, file) = open_named(path).map_err(failed)?;
        Input::read_text_of(path, begun.chain(file), most)
    }

    /// Reads a text as [`Input::read_text`] does, of a file that no output may replace: a policy, a configuration, a profile.
    ///
    /// # Errors
    /// Errors of [`Input::read_text`].
    pub(crate) fn read_settings(path: &Path, most: usize) -> Result<String> {
        let text = Input::read_text(path, most)?;
        Input::spare(path);
        Ok(text)
    }

    /// Counts a plain file among those that were read, which no output may replace.
    pub(crate) fn spare(path: &Path) {
        if let Some(metadata) = path.metadata().ok().filter(Metadata::is_file) {
            note_opened(real_path(path, &metadata).as_ref(), path, Some(&metadata));
        }
    }

    /// Reads a text of at most `most` bytes out of what is open, and was at a path.
    ///
    /// # Errors
    /// Errors of [`Input::read_text`].
    pub(crate) fn read_text_of(path: &Path, from: impl std::io::Read, most: usize) -> Result<String> {
        let name = || path.display().to_string();
        let mut bytes = Vec::new();
        let read = from.take((most as u64).saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Error::io("cannot read", &error).context(name()))?;
        if bytes.len() > most {
            return Err(
                Error::input(format!("it has more than the {most} bytes that are read of such a file")).context(name())
            );
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = u64::try_from(error.utf8_error().valid_up_to()).unwrap_or(u64::MAX);
            Error::at(at, "no UTF-8 text").context(name())
        })
    }

    /// The name the user gave.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The absolute path; none for standard input.
    pub(crate) fn absolute(&self) -> Option<&str> {
        self.absolute.as_deref().and_then(Path::to_str)
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Mapped(map) => &map.0,
            Data::Read(bytes) => bytes,
        }
    }
}

/// Returns the path of an open file without links; the path that it was opened by where the text of links is not where they lead, as
/// below /proc. None for what has no path.
fn real_path(path: &Path, metadata: &Metadata) -> Option<PathBuf> {
    let is_it = |there: Metadata| plain_file::id(&there) == plain_file::id(metadata);
    let real = path.canonicalize().ok();
    if real.as_ref().is_some_and(|real| std::fs::metadata(real).is_ok_and(is_it)) {
        return real;
    }
    let has_one = metadata.is_file() && !place::is_open_file(path) && (real.is_some() || path.starts_with("/proc"));
    if has_one { std::path::absolute(path).ok() } else { None }
}

/// Whether standard input is among the files, which can be read only once.
pub(crate) fn has_stdin(files: &[PathBuf]) -> bool {
    files.iter().any(|file| file == Path::new("-"))
}

/// Opens what the user names, with its state where it is no standard input.
fn open(path: &Path) -> Result<(Data, Option<Metadata>)> {
    let failed = |error: std::io::Error| Error::io("cannot read", &error);
    if path == Path::new("-") {
        return Ok((Data::Read(stream(std::io::stdin().lock(), limits::MAX_STREAM)?), None));
    }
    let (begun, mut file) = open_named(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.file_type().is_fifo() {
        return Ok((Data::Read(stream(begun.chain(file), limits::MAX_STREAM)?), Some(metadata)));
    }
    if metadata.is_dir() {
        let error = Error::input("this is a folder, and this verb takes files as they are");
        let table = path.join("images.table");
        return Err(if table.is_file() {
            error.with_remedy(format!("name the table in it, {}", table.display()))
        } else {
            error.with_remedy("name the files in it; `inspect` and `extract` read folders")
        });
    }
    Ok((contents(path, &mut file, &metadata)?, Some(metadata)))
}

/// Opens what the user names, which may be anything, and returns what was read of it already. A pipe into which nobody
/// writes is waited for, but not for ever.
fn open_named(path: &Path) -> std::io::Result<(Cursor<Vec<u8>>, File)> {
    // Of pipes alone: terminals and files that others have leased answer at once then, with an error.
    let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
    let flags = if is_pipe { OFlags::NONBLOCK } else { OFlags::empty() };
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let mut file = File::options().read(true).custom_flags(flags).open(path)?;
    let mut begun = Vec::new();
    if is_pipe {
        let begin = Instant::now();
        let mut byte = [0];
        loop {
            match file.read(&mut byte) {
                // Nobody has opened it to write, or whoever did has closed it.
                Ok(0) => {
                    let mut ended = [PollFd::new(&file, PollFlags::IN)];
                    if poll(&mut ended, Some(&Timespec::default())).is_ok_and(|ended| ended > 0) {
                        break;
                    }
                    if begin.elapsed() > PARTNER {
                        let text = format!("nobody has written to this pipe for {} seconds", PARTNER.as_secs());
                        return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, text));
                    }
                    std::thread::sleep(LOOK);
                }
                Ok(_) => {
                    begun.extend(byte);
                    break;
                }
                // Somebody is to write.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    }
    Ok((Cursor::new(begun), file))
}

fn contents(path: &Path, file: &mut File, metadata: &Metadata) -> Result<Data> {
    let failed = |error: std::io::Error| Error::io("cannot read", &error);
    let len = metadata.len();
    // Files of /proc and the like have no length.
    if !metadata.is_file() || len == 0 {
        let kind = metadata.file_type();
        let is_device = kind.is_char_device() || kind.is_block_device();
        return stream(file, if is_device { limits::MAX_DEVICE } else { limits::MAX_STREAM }).map(Data::Read);
    }
    let all = READ_ALL.load(Ordering::Relaxed);
    if !all && len > SMALL && MAPPINGS.load(Ordering::Relaxed) < MAX_MAPPINGS {
        let map = Map::new(map(file).map_err(failed)?);
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() < MAX_WATCHED {
            watched.push((path.to_owned(), State::new(metadata)));
        }
        return Ok(Data::Mapped(map));
    }
    let mut bytes = Vec::new();
    let expected = usize::try_from(len).unwrap_or(usize::MAX);
    if bytes.try_reserve_exact(expected).is_err() {
        return Err(Error::input(format!("there is no memory for its {len} bytes")));
    }
    file.take(len.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() == expected { Ok(Data::Read(bytes)) } else { Err(changed_meanwhile()) }
}

/// Reads what has no length.
fn stream(from: impl std::io::Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", &error))?;
    if bytes.len() as u64 > most {
        return Err(Error::input(format!("it has more than {most} bytes, the limit of what is no plain file"))
            .with_remedy("write it to a file first"));
    }
    Ok(bytes)
}

/// Mapped input, counted.
#[derive(Debug)]
struct Map(Mmap);

impl Map {
    fn new(map: Mmap) -> Map {
        MAPPINGS.fetch_add(1, Ordering::Relaxed);
        Map(map)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        MAPPINGS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes of an open file, mapped, which stay while the map lives.
///
/// # Errors
/// `Io` where it cannot be mapped.
pub(crate) fn mapped(file: &File) -> Result<Mmap> {
    map(file).map_err(|error| Error::io("cannot map", &error))
}

/// A file without a name that this process has written, mapped to be read once.
#[derive(Debug, Clone)]
pub(crate) struct Spooled(Arc<Mmap>);

impl Spooled {
    /// Maps it.
    ///
    /// # Errors
    /// Errors of [`mapped`].
    pub(crate) fn new(file: &File) -> Result<Spooled> {
        Ok(Spooled(Arc::new(mapped(file)?)))
    }

    /// Gives back the memory of what has been read so far; what is read again comes from the file.
    #[allow(unsafe_code, reason = "pages of a large split would count twice, here and where they are written to")]
    pub(crate) fn give_back(&self) {
        // SAFETY: no page is lost, as the map is read-only and of a file.
        unsafe { self.0.unchecked_advise(UncheckedAdvice::DontNeed) }.ok();
    }
}

impl AsRef<[u8]> for Spooled {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes of an open file of this process alone, mapped to be changed.
///
/// # Errors
/// The system's, where it does not map the file.
#[allow(unsafe_code, reason = "copies of gigabytes are changed in place, outside of memory")]
pub(crate) fn mapped_mut(file: &File) -> std::io::Result<MmapMut> {
    // SAFETY: the file has no name, so that nobody else changes it or cuts it short.
    unsafe { MmapMut::map_mut(file) }
}

/// Maps a whole file, read-only and private.
#[allow(unsafe_code, reason = "mapping is what keeps gigabytes of host code out of memory")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only, and nothing in this process writes to its inputs: outputs are new files that are
    // renamed over old ones. Another process that changes the file in place changes what is read, which readers of bytes
    // stand. A text that is no UTF-8 any more, and a file that is cut short, end this process by a signal, whose handlers
    // (`cli/process.rs`) tell of it.
    unsafe { Mmap::map(file) }
}

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Keeps large drafts in files without names of this folder from now on.
pub(crate) fn keep_drafts_in(folder: PathBuf) {
    let _ = FOLDER.set(folder);
    bytes::keep_large_ones_in(limits::LARGE, || {
        let file = FOLDER.get().and_then(MappedFile::new);
        file.map(|file| Box::new(file) as Box<dyn Space>)
    });
}

/// File without a name, mapped.
struct MappedFile {
    folder: PathBuf,
    /// The file, until nothing more comes: thousands of parts of a file may be in one each, and a process has few descriptors.
    file: Option<File>,
    map: Option<MmapMut>,
}

impl MappedFile {
    /// Creates an empty file. Without a place for one, drafts stay in memory.
    fn new(folder: &PathBuf) -> Option<MappedFile> {
        let file = tempfile::tempfile_in(folder).ok()?;
        Some(MappedFile { folder: folder.clone(), file: Some(file), map: None })
    }
}

impl Space for MappedFile {
    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.map.as_deref_mut().unwrap_or_default()
    }

    fn grow(&mut self, len: usize) -> Result<()> {
        let failed = |error: std::io::Error| {
            cannot_write(&self.folder, &error).with_remedy("name a folder with room for large files in TMPDIR")
        };
        let file = self.file.as_ref().ok_or_else(|| failed(Errno::BADF.into()))?;
        self.map = None;
        // Writing to a page without room on the disk would end the process.
        match fallocate(file, FallocateFlags::empty(), 0, len as u64) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(len as u64).map_err(failed)?,
            allocated => allocated.map_err(|error| failed(error.into()))?,
        }
        self.map = Some(mapped_mut(file).map_err(failed)?);
        Ok(())
    }

    fn settle(&mut self) {
        self.file = None;
        self.give_back();
    }

    #[allow(unsafe_code, reason = "pages of gigabytes count as memory of this process once they are touched")]
    fn give_back(&self) {
        if let Some(map) = &self.map {
            // SAFETY: no page is lost, as the map is shared and of a file.
            unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) }.ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_keeps_its_bytes_as_it_grows() {
        let mut file = MappedFile::new(&std::env::temp_dir()).unwrap();
        assert!(file.bytes().is_empty());
        file.grow(5000).unwrap();
        file.bytes_mut()[4999] = 7;
        file.grow(1 << 20).unwrap();
        assert_eq!((file.bytes().len(), file.bytes()[4999], file.bytes()[5000]), (1 << 20, 7, 0));
    }

    #[test]
    fn what_comes_to_the_place_of_a_file_that_was_found_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("in")).unwrap();
        std::fs::write(at("secret"), "password").unwrap();
        std::fs::write(at("in/m.sym"), "add_one").unwrap();
        let root = place::real(&at("in")).unwrap();
        let real = place::real(&at("in/m.sym")).unwrap();
        let open = || Input::open_real(&at("in/m.sym"), &real, &root).map(|input| input.bytes().to_vec());
        assert_eq!(open().unwrap(), b"add_one");
        std::fs::remove_file(&real).unwrap();
        std::os::unix::fs::symlink("../secret", &real).unwrap();
        assert!(open().is_err());
        let wanted = |_: FileId, _: &Head<'_>| true;
        assert!(matches!(Input::open_below(&at("in"), &at("in/m.sym"), wanted), Ok(Found::Unwanted)));
        // A folder on the way.
        std::fs::rename(&root, at("old")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        std::fs::write(at("other/m.sym"), "password").unwrap();
        std::os::unix::fs::symlink("other", &root).unwrap();
        assert!(open().is_err());
        assert!(Input::open_below(folder.path(), &at("in/m.sym"), wanted).is_err());
    }

    #[test]
    fn a_file_that_another_has_replaced_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.whl"), "one").unwrap();
        assert!(Input::open(&at("a.whl")).is_ok() && Input::open_again(&at("a.whl")).is_ok());
        assert!(is_opened_at(&at("a.whl"), &at("a.whl")));
        std::fs::write(at("new"), "two").unwrap();
        std::fs::rename(at("new"), at("a.whl")).unwrap();
        let error = Input::open_again(&at("a.whl")).unwrap_err();
        assert!(error.to_string().contains("another process replaced"), "{error}");
        assert!(!is_opened_at(&at("a.whl"), &at("a.whl")) && is_opened_at(&at("unknown"), &at("a.whl")));
    }

    #[test]
    fn files_are_known_as_maps_call_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        ["a", "b"].iter().for_each(|name| std::fs::write(at(name), name).unwrap());
        let map = mapped(&File::open(at("a")).unwrap()).unwrap();
        let (device, inode) = mapped_at(map.as_ptr().addr()).unwrap();
        assert!(is_mapped_as(&at("a"), (&device, &inode)) && !is_mapped_as(&at("b"), (&device, &inode)));
        assert!(!is_mapped_as(&at("a"), ("ff:ff", &inode)) && !is_mapped_as(&at("c"), (&device, &inode)));
    }
}
