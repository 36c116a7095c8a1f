//! Where is the project's `sycl-bundle.toml`, and what does it say?

use super::exit::report;
use super::global::Global;
use super::input::Input;
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, Result};

/// The file that is looked for in the working directory and in those above it.
const NAME: &str = "sycl-bundle.toml";
/// Names a policy where no flag does.
const VARIABLE: &str = "SYCL_BUNDLE_CONFIG";

/// The file, opened.
pub struct PolicyFile {
    /// As messages name it.
    pub name: String,
    input: Input,
    /// Whether nobody named it: it was found.
    pub found: bool,
}

impl PolicyFile {
    /// The file that a flag names, else SYCL_BUNDLE_CONFIG, else the nearest here or above; none where there is none.
    ///
    /// # Errors
    /// Where one that is named cannot be read.
    pub fn open(named: Option<&Path>) -> Result<Option<PolicyFile>> {
        let set = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (path, found) = match named.map(Path::to_path_buf).or_else(set) {
            Some(path) => (path, false),
            None => match nearest() {
                Some(path) => (path, true),
                None => return Ok(None),
            },
        };
        let name = path.display().to_string();
        let input = Input::open(&path).map_err(|error| error.context(name.clone()))?;
        Ok(Some(PolicyFile { name, input, found }))
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Where it is none.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(self.input.bytes()).map_err(|error| {
            let at = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
            Error::at(at, "no UTF-8 text").context(self.name.clone())
        })
    }

    /// Says that it was found.
    pub fn announce(&self, global: &Global) {
        if self.found {
            global.note(&format!("policy: {}", self.name));
        }
    }

    /// Unwraps what was read of the file; of several errors all but the last are reported here.
    ///
    /// # Errors
    /// The last thing that is wrong with it.
    pub fn read<T>(&self, global: &Global, read: Result<T, Vec<Error>>) -> Result<T> {
        read.map_err(|mut errors| {
            let last = errors.pop();
            for error in &errors {
                report(global, error);
            }
            last.unwrap_or_else(|| Error::input(format!("{}: no policy", self.name)))
        })
    }
}

/// The nearest file of the name, here or above, as a path from here.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let mut path = PathBuf::from(NAME);
    for folder in here.ancestors() {
        if folder.join(NAME).is_file() {
            return Some(path);
        }
        path = Path::new("..").join(path);
    }
    None
}
