//! How does text get to standard output and standard error?

use std::io::{BufWriter, IsTerminal as _, Write};
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::report::text::visible_lines;

/// Says a line on standard error. Where that cannot be written to, there is nobody to tell.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_lines(line));
}

/// Standard output for text, buffered.
pub fn stdout() -> BufWriter<std::io::StdoutLock<'static>> {
    // Texts of thousands of bytes pass by a buffer that is smaller than they are, without being copied.
    BufWriter::with_capacity(1 << 13, std::io::stdout().lock())
}

/// Prints a text and a line break to standard output.
///
/// # Errors
/// `Io` where standard output cannot be written to.
pub fn line(text: &str) -> Result<()> {
    let mut out = stdout();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| lost(&error))
}

/// Prints a published schema.
pub fn schema(text: &str) -> Result<Exit> {
    let mut out = stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| lost(&error))?;
    Ok(Exit::Done)
}

/// Writes bytes that are no text to standard output.
///
/// # Errors
/// `Usage` where that is a terminal, `Io` where it cannot be written.
pub fn binary_to_stdout(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        let error = Error::new(ErrorKind::Usage, "binary output to a terminal is of no use");
        return Err(error.with_remedy("redirect it, or name a file or folder with `-o`"));
    }
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| lost(&error))
}

/// The error of a write to standard output.
#[cold]
pub fn lost(error: &std::io::Error) -> Error {
    Error::io("cannot write to standard output", error)
}
