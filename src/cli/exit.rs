//! With which code does the process end, and what does it say of an error?

use super::global::Global;
use std::io::Write as _;
use sycl_bundle::error::{Error, ErrorKind};
use sycl_bundle::report::text::visible_lines;

/// The exit codes, a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or yes. A broken pipe too: whoever read has read enough.
    Done = 0,
    /// Ran well, and the answer is no.
    No = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// An input cannot be read or is malformed.
    Input = 3,
    /// Some image did not build.
    Build = 4,
    /// The machine lacks something.
    Environment = 5,
    /// The input is sound but holds no device code.
    NoDeviceCode = 6,
}

impl Exit {
    /// The number that the process returns.
    pub fn code(self) -> u8 {
        self as u8
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

/// Prints an error on stderr (nothing for a broken pipe) and gives its exit code.
pub fn report(global: &Global, error: &Error) -> Exit {
    let exit = Exit::for_error(error);
    if exit != Exit::Done {
        // Where stderr itself is gone there is nobody to tell.
        let _ = std::io::stderr().lock().write_all(text(error, global.stderr_color()).as_bytes());
    }
    exit
}

/// `error:` with where it happened and why, on one line, and the remedy on the next.
fn text(error: &Error, color: bool) -> String {
    let paint = |style: &str, word: &str| if color { format!("\x1b[{style}m{word}\x1b[0m") } else { word.to_owned() };
    let mut out = format!("{} {}\n", paint("1;31", "error:"), visible_lines(&error.to_string()));
    if let Some(remedy) = error.remedy() {
        out.push_str(&format!("{} {}\n", paint("1;36", "help:"), visible_lines(remedy)));
    }
    out
}

/// The results of several files, which are independent of each other.
#[derive(Debug, Default)]
pub struct Tally {
    with_code: usize,
    without_code: usize,
    damaged: bool,
}

impl Tally {
    /// A file with device code.
    pub fn found(&mut self) {
        self.with_code = self.with_code.saturating_add(1);
    }

    /// A file that failed altogether.
    pub fn failed(&mut self, error: &Error) {
        match error.kind() {
            ErrorKind::NoDeviceCode => self.without_code = self.without_code.saturating_add(1),
            _ => self.damaged = true,
        }
    }

    /// Something in a file could not be read.
    pub fn damaged(&mut self) {
        self.damaged = true;
    }

    /// Damage outweighs all; no device code counts only where no file has any.
    pub fn exit(&self) -> Exit {
        match self {
            Tally { damaged: true, .. } => Exit::Input,
            Tally { with_code: 0, without_code: 1.., .. } => Exit::NoDeviceCode,
            _ => Exit::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_line_and_its_remedy_another() {
        let one = Error::input("no such thing").with_remedy("look elsewhere");
        assert_eq!(text(&one, false), "error: no such thing\nhelp: look elsewhere\n");
        let three = Error::at(16, "cut").context("image 3").context("lib.so");
        assert_eq!(text(&three, true), "\x1b[1;31merror:\x1b[0m lib.so: image 3: cut (at offset 0x10)\n");
    }

    #[test]
    fn damage_outweighs_absence_and_absence_counts_alone() {
        let none = Error::new(ErrorKind::NoDeviceCode, "no device code");
        let mut tally = Tally::default();
        tally.failed(&none);
        assert_eq!(tally.exit(), Exit::NoDeviceCode);
        tally.found();
        assert_eq!(tally.exit(), Exit::Done);
        tally.failed(&Error::input("cut"));
        assert_eq!(tally.exit(), Exit::Input);
    }

    #[test]
    fn a_broken_pipe_is_success() {
        let error = Error::io("cannot write", &std::io::ErrorKind::BrokenPipe.into());
        assert_eq!(Exit::for_error(&error), Exit::Done);
    }
}
