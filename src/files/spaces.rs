//! Where do large files lie while they are made?
//!
//! In files without names, which are mapped: their pages leave memory when others need it.

use super::input::mapped_mut;
use super::write::cannot_write;
use crate::bytes::draft::{self, Space};
use crate::error::Result;
use memmap2::MmapMut;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Bytes from which a draft is kept in a file.
const LARGE: usize = 16 << 20;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Keeps large drafts in files without names of this folder from now on.
pub fn keep_drafts_in(folder: PathBuf) {
    let _ = FOLDER.set(folder);
    draft::keep_large_ones_in(|len| {
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
