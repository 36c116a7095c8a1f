//! What went wrong, where in the input, and what to do about it?
//!
//! One error type for the whole library. It carries a kind (which decides the exit code), a message, the
//! byte offset in the input where that is known, a remedy, and the chain of contexts added on the way up.
//! Errors of other crates become ours in the module that calls the crate, where the offset is known.

use std::fmt;

/// Result of the library's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Class of a failure. Each maps to one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nothing matches the caller's selection (exit code 1).
    NoMatch,
    /// The request is invalid (exit code 2).
    Usage,
    /// The input cannot be read or is malformed (exit code 3).
    Input,
    /// Some image did not build (exit code 4).
    Build,
    /// The machine lacks something that is needed: a loader, a driver, a device (exit code 5).
    Environment,
    /// The input is valid but holds no device code (exit code 6).
    NoDeviceCode,
    /// An operation of the operating system failed; `BrokenPipe` is recognised by the caller.
    Io(std::io::ErrorKind),
}

/// The exit codes, a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or yes. A broken pipe too: whoever read has read enough.
    Done,
    /// Ran well, and the answer is no.
    No,
    /// The command line makes no sense.
    Usage,
    /// An input cannot be read or is malformed.
    Input,
    /// Some image did not build.
    Build,
    /// The machine lacks something.
    Environment,
    /// The input is sound but holds no device code.
    NoDeviceCode,
    /// The status of a program that was run.
    Program(u8),
}

impl Exit {
    /// The number that the process returns.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Input => 3,
            Exit::Build => 4,
            Exit::Environment => 5,
            Exit::NoDeviceCode => 6,
            Exit::Program(status) => status,
        }
    }

    /// The code for an error.
    pub fn for_error(error: &Error) -> Exit {
        match error.kind() {
            ErrorKind::NoMatch => Exit::No,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Build => Exit::Build,
            ErrorKind::Environment => Exit::Environment,
            ErrorKind::NoDeviceCode => Exit::NoDeviceCode,
            ErrorKind::Io(std::io::ErrorKind::BrokenPipe) => Exit::Done,
            // No space is a lack of the machine's; what else fails while reading is the input's.
            ErrorKind::Io(std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded) => Exit::Environment,
            ErrorKind::Input | ErrorKind::Io(_) => Exit::Input,
        }
    }
}

/// Error with its location and remedy. It is one word wide, so `Result` stays small.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    offset: Option<u64>,
    remedy: Option<String>,
    context: Vec<String>,
}

impl Error {
    /// Creates an error of the given kind.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, message: message.into(), offset: None, remedy: None, context: Vec::new() }))
    }

    /// Creates an error for malformed or unreadable input.
    #[cold]
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// Creates an error for malformed input at a byte offset of the file.
    #[cold]
    pub fn at(offset: u64, message: impl Into<String>) -> Self {
        Self::input(message).with_offset(offset)
    }

    /// Creates an error of the operating system, with a description of the operation.
    #[cold]
    pub fn io(doing: impl Into<String>, error: &std::io::Error) -> Self {
        Self::new(ErrorKind::Io(error.kind()), format!("{}: {error}", doing.into()))
    }

    /// Adds the offset in the input, unless a deeper layer already has.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Removes the offset, for a layer that knows the offset in the whole file.
    #[must_use]
    pub fn without_offset(mut self) -> Self {
        self.0.offset = None;
        self
    }

    /// Adds a remedy: what the user can do.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy.get_or_insert_with(|| remedy.into());
        self
    }

    /// Adds the operation that failed; the last one added is the outermost. Line breaks, which a file's name may have, are
    /// replaced.
    #[must_use]
    pub fn context(mut self, doing: impl Into<String>) -> Self {
        self.0.context.push(doing.into().replace(['\n', '\r'], "\u{fffd}"));
        self
    }

    /// Returns the class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the byte offset in the input, if it is known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the remedy, if there is one.
    pub fn remedy(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// Returns the innermost message with its offset, without contexts.
    pub fn message(&self) -> String {
        match self.0.offset {
            Some(offset) => format!("{} (at offset {offset:#x})", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// Returns all messages, outermost first.
    pub fn chain(&self) -> Vec<String> {
        let mut chain: Vec<String> = self.0.context.iter().rev().cloned().collect();
        chain.push(self.message());
        chain
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.chain().join(": "))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

/// Adds context to a result on its way up.
pub trait Context<T> {
    /// Adds the operation that failed to an error.
    ///
    /// # Errors
    /// The original error with the context in front.
    fn context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.context(doing()))
    }
}

/// Failure of one image (or one part of a file) that leaves the others usable: collected, shown beside the results, and
/// reflected in the exit code.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Index of the image, if the problem is with one.
    pub image: Option<usize>,
    /// Error.
    pub error: Error,
}

impl Problem {
    /// Creates a problem with the file as a whole.
    pub fn general(error: Error) -> Self {
        Problem { image: None, error }
    }

    /// Creates a problem with one image.
    pub fn of_image(image: usize, error: Error) -> Self {
        Problem { image: Some(image), error }
    }
}

/// Receives what is to be said while files are read and written.
pub trait Reporter {
    /// Says something that is worth knowing.
    fn note(&self, text: &str);

    /// Says something that matters to few.
    fn detail(&self, text: &str);

    /// Tells of an error that does not end the work. Returns the exit code for it.
    fn error(&self, error: &Error) -> Exit;

    /// Writes a result that is no text to standard output.
    ///
    /// # Errors
    /// `Usage` where that is a terminal, `Io` where it cannot be written.
    fn binary(&self, bytes: &[u8]) -> Result<()>;

    /// Whether files without device code are of interest, too.
    fn wants_all(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_is_outermost_first_and_keeps_the_first_offset() {
        let error = Error::at(0x58, "need 36 bytes, have 16").with_offset(1).context("image 3").context("lib.so");
        assert_eq!(error.chain(), ["lib.so", "image 3", "need 36 bytes, have 16 (at offset 0x58)"]);
        assert_eq!(error.to_string(), "lib.so: image 3: need 36 bytes, have 16 (at offset 0x58)");
        assert_eq!(error.offset(), Some(0x58));
    }

    #[test]
    fn a_broken_pipe_is_success() {
        let error = Error::io("cannot write", &std::io::ErrorKind::BrokenPipe.into());
        assert_eq!(Exit::for_error(&error), Exit::Done);
    }
}
