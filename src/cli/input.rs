//! How do the bytes of an input reach the library?
//!
//! Files are mapped: libraries reach gigabytes, and most verbs touch a small part. Pipes and `-` are read. The only
//! `unsafe` outside of `build`, which calls drivers, is here.

use memmap2::{Mmap, UncheckedAdvice};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::error::{Error, Result};

/// An open input.
#[derive(Debug)]
pub struct Input {
    name: String,
    absolute: Option<PathBuf>,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Mapped(Mmap),
    Read(Vec<u8>),
}

/// Device and inode, which identify a file.
pub type FileId = (u64, u64);

/// A file at a path, or something else.
#[derive(Debug)]
pub enum Found {
    /// A file that is wanted.
    Input(Input),
    /// Something else.
    Unwanted,
}

/// Bytes that are read of a file to tell what it is.
const HEAD: usize = 1024;

impl Input {
    /// Opens what was found at a path, which may be anything, as `name`. Only regular files are opened, without waiting
    /// for anything, and only what is `wanted` by its identity, first bytes and length is read further.
    ///
    /// # Errors
    /// `Io` where it cannot be read.
    pub fn open_found(path: &Path, name: &str, wanted: impl FnOnce(FileId, &[u8], u64) -> bool) -> Result<Found> {
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
        if !metadata.is_file() || !wanted(id, head.get(..have).unwrap_or_default(), metadata.len()) {
            return Ok(Found::Unwanted);
        }
        let data = contents(&mut file, &metadata).map_err(failed)?;
        // Links below /proc lead where their text does not.
        let absolute = if path.starts_with("/proc") { Some(path.to_path_buf()) } else { path.canonicalize().ok() };
        Ok(Found::Input(Input { name: name.to_owned(), absolute, data }))
    }

    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is a folder.
    pub fn open(path: &Path) -> Result<Input> {
        let name = path.display().to_string();
        let data = open(path)?;
        let absolute = if path == Path::new("-") { None } else { path.canonicalize().ok() };
        Ok(Input { name, absolute, data })
    }

    /// The name the user gave.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The absolute path; none for standard input.
    pub fn absolute(&self) -> Option<&str> {
        self.absolute.as_deref().and_then(Path::to_str)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Mapped(map) => map,
            Data::Read(bytes) => bytes,
        }
    }
}

fn open(path: &Path) -> Result<Data> {
    let failed = |error: std::io::Error| Error::io("cannot read", &error);
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        return Ok(Data::Read(bytes));
    }
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        let error = Error::input("this is a folder, and this verb takes files as they are");
        let table = path.join("images.table");
        return Err(if table.is_file() {
            error.with_remedy(format!("name the table in it, {}", table.display()))
        } else {
            error.with_remedy("name the files in it; `inspect` and `extract` read folders")
        });
    }
    contents(&mut file, &metadata).map_err(failed)
}

fn contents(file: &mut File, metadata: &std::fs::Metadata) -> std::io::Result<Data> {
    if metadata.is_file() && metadata.len() > 0 {
        return map(file).map(Data::Mapped);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Data::Read(bytes))
}

/// The bytes of an open file, mapped, which stay while the map lives.
///
/// # Errors
/// `Io` where it cannot be mapped.
pub fn mapped(file: &File) -> Result<Mmap> {
    map(file).map_err(|error| Error::io("cannot map", &error))
}

/// A file without a name that this process has written, mapped to be read once.
#[derive(Debug, Clone)]
pub struct Spooled(Arc<Mmap>);

impl Spooled {
    /// Maps it.
    ///
    /// # Errors
    /// Those of [`mapped`].
    pub fn new(file: &File) -> Result<Spooled> {
        Ok(Spooled(Arc::new(mapped(file)?)))
    }

    /// Gives back the memory of what has been read so far; what is read again comes from the file.
    #[allow(unsafe_code, reason = "pages of a large split would count twice, here and where they are written to")]
    pub fn give_back(&self) {
        // SAFETY: no page is lost, as the map is read-only and of a file.
        unsafe { self.0.unchecked_advise(UncheckedAdvice::DontNeed) }.ok();
    }
}

impl AsRef<[u8]> for Spooled {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Maps a whole file, read-only and private.
#[allow(unsafe_code, reason = "mapping is what keeps gigabytes of host code out of memory")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only, and nothing in this process writes to its inputs: outputs are new files that are
    // renamed over old ones. Another process that changes the file in place changes what is read, which every reader
    // here must stand anyhow; one that cuts it short ends this process with SIGBUS, as it would any linker.
    unsafe { Mmap::map(file) }
}
