//! How do the bytes of an input reach the library?
//!
//! Files are mapped: libraries reach gigabytes, and most verbs touch a small part. Small files, pipes and `-` are read, with
//! `--no-mmap` all. A mapped file that another process changes is told before anything is written, and one that it cuts
//! short ends the process (the program does so with a message).
//!
//! Large drafts are kept in files without names, which are mapped: their pages leave memory when others need it.

use super::write::{LOOK, PARTNER, cannot_write};
use crate::bytes::{self, Space};
use crate::container::kind::{self, Kind};
use crate::error::{Error, Result};
use crate::limits;
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
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// An open input.
#[derive(Debug)]
pub(crate) struct Input {
    name: String,
    absolute: Option<PathBuf>,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Mapped(Map),
    Read(Vec<u8>),
}

/// Device and inode, which identify a file.
pub(crate) type FileId = (u64, u64);

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
            if !Kind::may_be_zip(self.name, self.bytes) || self.len <= self.bytes.len() as u64 {
                return Some(Kind::Zip).filter(|_| Kind::ends_as_zip(self.bytes));
            }
            let mut end = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX).min(kind::ZIP_END)];
            let at = self.len.saturating_sub(end.len() as u64);
            let read = self.file.read_exact_at(&mut end, at).is_ok();
            (read && Kind::ends_as_zip(&end)).then_some(Kind::Zip)
        };
        Kind::identify_head(self.bytes, self.len).ok().or_else(by_end)
    }
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

/// Inputs that were opened, and what lies beside them, by their real paths.
static OPENED: Mutex<BTreeMap<PathBuf, Opened>> = Mutex::new(BTreeMap::new());

/// Input that was opened.
#[derive(Debug)]
struct Opened {
    /// Path that it was opened by.
    path: PathBuf,
    /// State when it was first opened.
    state: State,
}

fn note_opened(real: Option<&PathBuf>, path: &Path, metadata: Option<&Metadata>) {
    if let (Some(real), Some(metadata)) = (real, metadata) {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Opened { path: path.to_owned(), state: State::new(metadata) };
        opened.entry(real.clone()).or_insert_with(new);
    }
}

/// Checks that a file which is about to be replaced is what was read of it, if it was.
///
/// # Errors
/// `Input` where another file is there now, none is, or it was changed.
pub(super) fn is_what_was_read(target: &Path) -> Result<()> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(read) = opened.get(&target.canonicalize().unwrap_or_else(|_| target.to_owned())) else { return Ok(()) };
    match std::fs::metadata(target) {
        Ok(now) if State::new(&now) == read.state => Ok(()),
        _ => {
            let error = Error::input("another process replaced the file since it was read, and it stays as it is now");
            Err(error.with_remedy("run the command again").context(read.path.display().to_string()))
        }
    }
}

/// Notes that this process has replaced a file, if that was an input: it may do so again.
pub(super) fn was_replaced(target: &Path) {
    let (Ok(real), Ok(metadata)) = (target.canonicalize(), std::fs::metadata(target)) else { return };
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(read) = opened.get_mut(&real) {
        read.state = State::new(&metadata);
    }
}

/// Whether a path leads to a file that was opened as an input, a part of a table, or beside a module.
pub(crate) fn is_opened(path: &Path) -> bool {
    let is_one = |real: PathBuf| OPENED.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&real);
    // Pipes and devices have nothing that could be lost.
    path.is_file() && path.canonicalize().is_ok_and(is_one)
}

/// Returns the paths of all that was opened, without those that lead to one of `known`.
pub(crate) fn opened_beside(known: &[PathBuf]) -> Vec<PathBuf> {
    let known: Vec<PathBuf> = known.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let others = opened.iter().filter(|(real, _)| !known.contains(real));
    others.map(|(_, opened)| opened.path.clone()).collect()
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
        State { id: (metadata.dev(), metadata.ino()), len: metadata.len(), modified }
    }
}

/// Checks that no mapped input has changed since it was opened: what was made of it would be of neither state. An input
/// that another file has replaced since is still what it was.
///
/// # Errors
/// `Io`, naming the file.
pub(crate) fn unchanged() -> Result<()> {
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = watched.iter().find(|(path, state)| {
        let now = std::fs::metadata(path).map(|metadata| State::new(&metadata));
        now.is_ok_and(|now| now.id == state.id && now != *state)
    });
    changed.map_or(Ok(()), |(path, _)| Err(changed_meanwhile().context(path.display().to_string())))
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
        let mut file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let mut head = [0; HEAD];
        let mut have = 0usize;
        while let Some(rest) = head.get_mut(have..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, have as u64).map_err(failed)? {
                0 => break,
                read => have = have.saturating_add(read),
            }
        }
        let id = (metadata.dev(), metadata.ino());
        let name_bytes = path.as_os_str().as_encoded_bytes();
        let bytes = head.get(..have).unwrap_or_default();
        let head = Head { name: name_bytes, bytes, len: metadata.len(), file: &file };
        if !metadata.is_file() || !wanted(id, &head) {
            return Ok(Found::Unwanted);
        }
        let data = contents(path, &mut file, &metadata)?;
        // Links below /proc lead where their text does not.
        let absolute = if path.starts_with("/proc") { Some(path.to_path_buf()) } else { path.canonicalize().ok() };
        note_opened(absolute.as_ref(), path, Some(&metadata));
        Ok(Found::Input(Input { name: name.to_owned(), absolute, data }))
    }

    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is a folder.
    pub(crate) fn open(path: &Path) -> Result<Input> {
        let name = path.display().to_string();
        let (data, metadata) = open(path)?;
        let absolute = if path == Path::new("-") { None } else { path.canonicalize().ok() };
        note_opened(absolute.as_ref(), path, metadata.as_ref());
        Ok(Input { name, absolute, data })
    }

    /// Opens a file that another input names, which may be anything: only a regular file within one of the folders
    /// `roots`, links followed. `own` is what messages call the first of them.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is no file or elsewhere.
    pub(crate) fn open_within(path: &Path, roots: &[PathBuf], own: &str) -> Result<Input> {
        let real = path.canonicalize().map_err(|error| Error::io("cannot read", &error))?;
        if !roots.iter().any(|root| real.starts_with(root)) {
            let error = Error::input(format!("this leads to `{}`, outside of {own}", real.display()));
            return Err(error.with_remedy("name a folder that holds all files with --table-root"));
        }
        note_opened(Some(&real), path, std::fs::metadata(&real).ok().as_ref());
        match Input::open_found(&real, &path.display().to_string(), |_, _| true)? {
            Found::Input(input) => Ok(input),
            Found::Unwanted => Err(Error::input("this is no plain file")),
        }
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
    // renamed over old ones. Another process that changes the file in place changes what is read, which every reader
    // here must stand anyhow; one that cuts it short ends this process.
    unsafe { Mmap::map(file) }
}

/// Bytes from which a draft is kept in a file.
const LARGE: usize = 16 << 20;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Keeps large drafts in files without names of this folder from now on.
pub(crate) fn keep_drafts_in(folder: PathBuf) {
    let _ = FOLDER.set(folder);
    bytes::keep_large_ones_in(|len| {
        let file = if len < LARGE { None } else { FOLDER.get().and_then(MappedFile::new) };
        Ok(file.map(|file| Box::new(file) as Box<dyn Space>))
    });
}

/// File without a name, mapped.
struct MappedFile {
    folder: PathBuf,
    file: File,
    map: Option<MmapMut>,
}

impl MappedFile {
    /// Creates an empty file. Without a place for one, drafts stay in memory.
    fn new(folder: &PathBuf) -> Option<MappedFile> {
        let file = tempfile::tempfile_in(folder).ok()?;
        Some(MappedFile { folder: folder.clone(), file, map: None })
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
        self.map = None;
        // Writing to a page without room on the disk would end the process.
        match fallocate(&self.file, FallocateFlags::empty(), 0, len as u64) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.file.set_len(len as u64).map_err(failed)?,
            allocated => allocated.map_err(|error| failed(error.into()))?,
        }
        self.map = Some(mapped_mut(&self.file).map_err(failed)?);
        Ok(())
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
}
