//! Which files are read together and go into one output?

use crate::cli::global::Global;
use std::path::Path;
use sycl_bundle::error::{Context as _, Result};
use sycl_bundle::files::package::LinkedFile;
use sycl_bundle::files::sources::Source;

/// Files that are read together and go into one output.
pub struct Group<'g> {
    /// Paths of the files.
    pub files: Vec<&'g Path>,
    /// Name of the file as the user knows it, where that is not its path.
    pub name: Option<&'g str>,
    /// Path of the output.
    pub output: &'g Path,
    /// Whether the output takes the place of the input.
    pub in_place: bool,
}

impl<'g> Group<'g> {
    /// Takes one file of a package.
    pub fn of_package(file: &'g LinkedFile) -> Group<'g> {
        let in_place = file.input == file.output;
        Group { files: vec![&file.input], name: Some(&file.name), output: &file.output, in_place }
    }

    /// Opens the files.
    ///
    /// # Errors
    /// Fails for a file that cannot be read.
    pub fn open(&self, global: &Global) -> Result<Vec<Source>> {
        let output = Some(self.output).filter(|_| !self.in_place);
        let mut sources = Vec::new();
        for path in &self.files {
            let name = self.name.map_or_else(|| path.display().to_string(), str::to_owned);
            sources.push(Source::open(global, path, name.clone(), output).context(|| name)?);
        }
        Ok(sources)
    }

    /// Name in messages and documents.
    pub fn name(&self) -> String {
        let path = || self.files.first().map(|path| path.display().to_string()).unwrap_or_default();
        self.name.map_or_else(path, str::to_owned)
    }
}
