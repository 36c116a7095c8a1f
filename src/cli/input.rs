//! How do the bytes of an input reach the library?
//!
//! Files are mapped: libraries reach gigabytes, and most verbs touch a small part. Pipes and `-` are read. The only
//! `unsafe` outside the OpenCL binding is here.

use memmap2::Mmap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
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

impl Input {
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
        return Err(Error::input("this is a folder, which is not read").with_remedy("name the files in it"));
    }
    if metadata.is_file() && metadata.len() > 0 {
        return map(&file).map(Data::Mapped).map_err(failed);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(Data::Read(bytes))
}

/// Maps a whole file, read-only and private.
#[allow(unsafe_code, reason = "mapping is what keeps gigabytes of host code out of memory")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only, and nothing in this process writes to its inputs: outputs are new files that are
    // renamed over old ones. Another process that changes the file in place changes what is read, which every reader
    // here must stand anyhow; one that cuts it short ends this process with SIGBUS, as it would any linker.
    unsafe { Mmap::map(file) }
}
