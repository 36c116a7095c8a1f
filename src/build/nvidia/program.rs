//! How is a program run, so that it ends with this process and what it said is known?

use super::super::ocloc::Surroundings;
use crate::error::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Failure of a program that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The step, as messages name it: the program's name.
    pub step: String,
    /// Exit status; none where a signal ended it.
    pub status: Option<i32>,
    /// Text that the program wrote to standard error.
    pub said: String,
}

/// Returns what a program prints when asked so.
///
/// # Errors
/// `Environment` where it does not start.
pub fn said(program: &Path, argument: &str) -> Result<String> {
    let failed = |error| {
        Error::new(ErrorKind::Environment, format!("the program `{}` does not start: {error}", program.display()))
    };
    let done = Command::new(program).arg(argument).stdin(Stdio::null()).output().map_err(failed)?;
    Ok(String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// Runs a program in a folder. Returns what it wrote to standard output and to standard error.
///
/// # Errors
/// The refusal where it does not start, or ends with another status than 0.
pub fn run(
    surroundings: &Surroundings,
    folder: &Path,
    program: &Path,
    arguments: &[OsString],
) -> std::result::Result<(String, String), Refusal> {
    let step = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut words = surroundings.runner.iter().cloned().chain([program.as_os_str().to_owned()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    let done = command.args(words).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let done = match done {
        Ok(done) => done,
        Err(error) => return Err(Refusal { step, status: None, said: error.to_string() }),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if done.status.success() {
        return Ok((text(&done.stdout), text(&done.stderr)));
    }
    Err(Refusal { step, status: done.status.code(), said: text(&done.stderr) })
}
