//! On which disk do the images of a large module wait while it is split?

use crate::cli::input::Spooled;
use crate::cli::output::{cannot_write, folder_of};
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use sycl_bundle::container::arena::Owner;
use sycl_bundle::error::Result;
use sycl_bundle::rewrite::split::spool::Spool;

/// Modules of fewer bytes stay in memory.
const LARGE: u64 = 4 << 20;

/// The files of all large modules.
pub type Spools = RefCell<Vec<Spooled>>;

/// A file without a name, on the disk of the output.
struct Unnamed<'p> {
    output: &'p Path,
    spools: &'p Spools,
    file: BufWriter<File>,
}

impl Spool for Unnamed<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| cannot_write(self.output, &error))
    }

    fn finish(self: Box<Self>) -> Result<Owner> {
        let file = self.file.into_inner().map_err(|error| cannot_write(self.output, error.error()))?;
        let spooled = Spooled::new(&file)?;
        self.spools.borrow_mut().push(spooled.clone());
        Ok(Box::new(spooled))
    }
}

/// Opens a file for the images of a module of so many bytes, where it is large; it is among `spools` when it is full.
pub fn open<'p>(output: &'p Path, size: u64, spools: &'p Spools) -> Result<Option<Box<dyn Spool + 'p>>> {
    if size < LARGE {
        return Ok(None);
    }
    // Devices and streams have no disk of their own.
    let streams = output == Path::new("-") || output.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
    let folder = if streams { std::env::temp_dir() } else { folder_of(output).to_path_buf() };
    // Without one, images wait in memory: whether the output can be written shows when it is.
    let Ok(file) = tempfile::tempfile_in(folder) else { return Ok(None) };
    Ok(Some(Box::new(Unnamed { output, spools, file: BufWriter::new(file) })))
}
