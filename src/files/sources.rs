//! What are the inputs of `build`, and may an output go where it is to go?
//!
//! A file that an earlier run embedded images into is restored first.

use super::input::Input;
use super::table::{Beside, Files as Parts};
use crate::bundle::Bundle;
use crate::bytes::draft::Draft;
use crate::container::{Host, Kind, package};
use crate::error::{Error, ErrorKind, Reporter, Result};
use crate::rewrite::embed::record::Record;
use std::path::{Path, PathBuf};

/// An input, restored to what it was before native images were added.
pub struct Source {
    /// Path as the user knows it.
    name: String,
    input: Input,
    restored: Option<Draft>,
    /// The files that a table names, or a bare module with what lies beside it.
    parts: Option<Parts>,
}

impl Source {
    /// Opens an input, which the user knows as `name`. `output` is none where it is to replace the input.
    ///
    /// # Errors
    /// What cannot be read or built; `Usage` where the output would replace it.
    pub fn open(reporter: &dyn Reporter, path: &Path, name: String, output: Option<&Path>) -> Result<Source> {
        let input = Input::open(path)?;
        if output.is_some_and(|output| same_file(path, output)) {
            return Err(replaces_input());
        }
        if let Some(kind) = Kind::identify(input.bytes()).ok().filter(|kind| package::is_package(*kind)) {
            let message = format!("this is {}, and `build` takes files as they are", kind.description());
            return Err(Error::input(message).with_remedy(
                "`inspect` and `extract` read packages; to build, unpack it and name the libraries in it",
            ));
        }
        let parts = match Kind::identify(input.bytes()) {
            Ok(Kind::Table) => Some(Parts::open(path, input.bytes())?),
            // Standard input has nothing beside it.
            Ok(Kind::SpirV | Kind::LlvmBitcode) if path != Path::new("-") => Beside::default().open(path)?,
            _ => None,
        };
        let record = Host::read(input.bytes()).ok().and_then(|host| Record::find(&host));
        let restored = match record.map(|record| record.restore(input.bytes())) {
            Some(Ok(original)) => Some(original),
            Some(Err(error)) => {
                let remedy = error.remedy().unwrap_or_default();
                reporter.note(&format!(
                    "{name}: {error}; its native images are replaced, but the bytes of the old ones stay: {remedy}"
                ));
                None
            }
            None => None,
        };
        Ok(Source { name, input, restored, parts })
    }

    /// The bytes to build from.
    pub fn bytes(&self) -> &[u8] {
        self.restored.as_deref().unwrap_or(self.input.bytes())
    }

    /// The images of the input, as they are to be built from.
    ///
    /// # Errors
    /// What [`Bundle::read`] says; for a table what its files say.
    pub fn bundle<'a>(&'a self, host: &'a Host<'a>) -> Result<Bundle<'a>> {
        self.parts.as_ref().map_or_else(|| Bundle::read(host), |parts| parts.bundle(host))
    }

    /// The bytes of the input, with those of the files that belong to it.
    pub fn size(&self) -> u64 {
        let own = self.bytes().len() as u64;
        match &self.parts {
            // The module is one of its parts.
            Some(parts) if Kind::identify(self.bytes()).is_ok_and(|kind| kind != Kind::Table) => parts.bytes(),
            Some(parts) => own.saturating_add(parts.bytes()),
            None => own,
        }
    }

    /// The path as the user knows it.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// The file as it is, where it was restored to build from.
    pub fn embedded(&self) -> Option<&[u8]> {
        self.restored.as_ref().map(|_| self.input.bytes())
    }
}

/// Whether two paths lead to one file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The error for an output that is the input, of the verbs that can do that where they are told to.
pub fn replaces_input() -> Error {
    let error = Error::new(ErrorKind::Usage, "the output would replace the input");
    error.with_remedy("name another file with `-o`, or say --in-place")
}

/// Refuses an output that is one of the inputs.
///
/// # Errors
/// `Usage` where it is.
pub fn spare_inputs(files: &[PathBuf], output: &Path) -> Result<()> {
    if files.iter().any(|file| same_file(file, output)) {
        let error = Error::new(ErrorKind::Usage, "the output would replace an input");
        return Err(error.with_remedy("name another file with `-o`"));
    }
    Ok(())
}

/// Refuses a file beside the output, which `option` names, that is one of the inputs or the output itself.
///
/// # Errors
/// `Usage` where it is.
pub fn spare_others<'p>(others: impl IntoIterator<Item = &'p Path>, option: &str, file: &Path) -> Result<()> {
    if others.into_iter().any(|other| other == file || same_file(other, file)) {
        let message = format!("`{option} {}` would replace another file of this command", file.display());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy("name another file"));
    }
    Ok(())
}
