//! How does text get to standard output and standard error?

use std::collections::HashSet;
use std::io::{BufWriter, IsTerminal as _, Write};
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::report::evidence::Names;
use sycl_bundle::report::text::{Shown, shows, visible};

/// Says lines on standard error. Where that cannot be written to, there is nobody to tell.
pub fn say(lines: &str) {
    tell(&Shown::of_lines(lines));
}

/// Says what is shown on standard error.
pub fn tell(text: &Shown) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Standard output for people: it takes nothing but what is [`Shown`].
pub struct Stdout(BufWriter<std::io::StdoutLock<'static>>);

impl Stdout {
    /// Opens it, buffered.
    pub fn open() -> Stdout {
        // Texts of thousands of bytes pass by a buffer that is smaller than they are, without being copied.
        Stdout(BufWriter::with_capacity(1 << 13, std::io::stdout().lock()))
    }

    /// Prints a text, which counts as printed after [`Stdout::finish`].
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub fn show(&mut self, text: &Shown) -> Result<()> {
        self.0.write_all(text.as_bytes()).map_err(|error| lost(&error))
    }

    /// Prints what is in the buffer.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub fn finish(mut self) -> Result<()> {
        self.0.flush().map_err(|error| lost(&error))
    }
}

/// Standard output for programs that read JSON or XML, which may be shown by a terminal or a CI all the same: what does not
/// show stands as `\u202e`, which is the same text in JSON.
pub struct Documents {
    out: std::io::StdoutLock<'static>,
    /// Bytes that were not looked at yet.
    held: Vec<u8>,
}

/// Bytes of a document that are looked at together.
const HELD: usize = 1 << 13;

impl Documents {
    /// Opens it, buffered.
    pub fn open() -> Documents {
        Documents { out: std::io::stdout().lock(), held: Vec::with_capacity(HELD) }
    }

    /// Prints what is in the buffer.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to, or what was written is no UTF-8.
    pub fn finish(mut self) -> Result<()> {
        self.flush().map_err(|error| lost(&error))
    }

    /// Prints so many of the bytes that are held.
    fn pass(&mut self, length: usize) -> std::io::Result<()> {
        let bytes = self.held.get(..length).unwrap_or_default();
        // Without a branch per byte, so that the compiler looks at many at once.
        let plain = bytes.iter().fold(true, |plain, &byte| plain & (byte < 0x7f) & (byte >= b' ' || byte == b'\n'));
        if plain && memchr::memmem::find(bytes, b"##").is_none() {
            self.out.write_all(bytes)?;
        } else {
            let text = std::str::from_utf8(bytes).map_err(std::io::Error::other)?;
            self.out.write_all(documented(text).as_bytes())?;
        }
        self.held.drain(..length);
        Ok(())
    }
}

impl Write for Documents {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.held.extend_from_slice(bytes);
        if self.held.len() < HELD {
            return Ok(());
        }
        // No letter is parted there, and no pair of number signs.
        let parts = |byte: &u8| byte.is_ascii() && *byte != b'#';
        let whole = self.held.iter().rposition(parts).map_or(0, |last| last.saturating_add(1));
        self.pass(whole)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.pass(self.held.len())?;
        self.out.flush()
    }
}

/// Text of a document with what does not show as JSON spells it.
pub fn documented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' || shows(letter) {
            out.push(letter);
        } else {
            let mut units = [0; 2];
            out.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    // Two of these begin a command of a CI.
    out.replace("##", "\\u0023#")
}

/// Prints a text to standard output.
///
/// # Errors
/// `Io` where standard output cannot be written to.
pub fn show(text: &Shown) -> Result<()> {
    let mut out = Stdout::open();
    out.show(text)?;
    out.finish()
}

/// Names of kernels, one a line, each once, as `--names` prints them.
pub struct NameList {
    names: Names,
    known: HashSet<String>,
    out: Stdout,
}

impl NameList {
    /// Opens standard output.
    pub fn open(names: Names) -> NameList {
        NameList { names, known: HashSet::new(), out: Stdout::open() }
    }

    /// Prints a kernel's name, unless that has been printed.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub fn put(&mut self, mangled: &str) -> Result<()> {
        if !self.known.insert(mangled.to_owned()) {
            return Ok(());
        }
        let mut line = Shown::default();
        writeln!(line, "{}", self.names.show(mangled));
        self.out.show(&line)
    }

    /// Prints what is in the buffer.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub fn finish(self) -> Result<()> {
        self.out.finish()
    }
}

/// Prints a document, which ends its last line.
///
/// # Errors
/// `Io` where standard output cannot be written to.
pub fn document(text: &str) -> Result<()> {
    let mut out = Documents::open();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).map_err(|error| lost(&error))?;
    out.finish()
}

/// Prints a text in a form of its own, such as a makefile, byte by byte.
///
/// # Errors
/// `Input` where something in it does not show, `Io` where standard output cannot be written to.
pub fn data(text: &str) -> Result<()> {
    if let Some(line) = text.lines().find(|line| line.chars().any(|letter| letter != '\t' && !shows(letter))) {
        let error = Error::input(format!("names of control characters are not printed: {}", visible(line)));
        return Err(error.with_remedy("write it to a file"));
    }
    plain(text.as_bytes())
}

/// Prints what this program itself says: a manual page, a script, a schema.
///
/// # Errors
/// `Io` where standard output cannot be written to.
pub fn plain(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| lost(&error))
}

/// Prints a published schema.
pub fn schema(text: &str) -> Result<Exit> {
    plain(text.as_bytes())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_the_same_text_and_show() {
        let hostile = "{\"a\u{7f}\u{85}\u{202e}\u{e0001}ü##[x]\": 1}\n";
        let shown = documented(hostile);
        assert_eq!(shown, "{\"a\\u007f\\u0085\\u202e\\udb40\\udc01ü\\u0023#[x]\": 1}\n");
        let values = [hostile, &shown].map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(values[0], values[1]);
    }
}
