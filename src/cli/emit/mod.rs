//! What does an output of images look like?
//!
//! One set of forms and flags for every verb that makes images ([`EmitArgs`]), and one function that writes them
//! ([`write()`]). `build` alone adds images to a linked file (`compiled`).

mod args;
pub mod compiled;
mod earlier;
mod parts;
mod target;
mod write;

use super::output::folder_of;
use super::sources::spare_inputs;
pub use args::{Emit, EmitArgs, Form};
pub use earlier::{Earlier, check as check_parts, in_folder as parts_in_folder};
pub use parts::stem_and_folder;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, ErrorKind, Result};
pub use target::known as known_target;
pub use write::{Origin, write, write_with_parts};

/// The permission bits of an input, which a rewritten copy keeps; never set-user-id and the like, which are trust in
/// those very bytes.
pub fn mode_of(path: &Path) -> Option<u32> {
    std::fs::metadata(path)
        .ok()
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.permissions().mode() & 0o777)
}

/// Whether images can be written where they are to be, and would replace none of the inputs.
///
/// # Errors
/// As [`check_place`]; `Usage` where they would.
pub fn check_output(form: &Form, inputs: &[PathBuf], output: &Path) -> Result<()> {
    check_place(Some(form.emit), output)?;
    spare_inputs(inputs, output)
}

/// Whether the output can be written where it is to be, before anything is done for it. A folder is one for modules
/// alone.
///
/// # Errors
/// `Environment` where its folder does not exist, `Usage` where it is a folder itself.
pub fn check_place(emit: Option<Emit>, path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    if path.is_dir() {
        if emit == Some(Emit::Spirv) {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Usage, format!("`{}` is a folder", path.display()));
        return Err(error.with_remedy("name a file in it with `-o`"));
    }
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("cannot write `{}`: the folder does not exist", path.display());
    Err(Error::new(ErrorKind::Environment, message).with_remedy(format!("`mkdir -p {}` first", folder.display())))
}
