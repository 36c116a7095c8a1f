//! How does text get to standard output and standard error?

use super::global::Global;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::report::document::{Document, Form, Look, Sink};
use crate::report::evidence::Names;
use crate::report::text::{Shown, documented, is_command, visible};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::collections::HashSet;
use std::io::{BufWriter, IsTerminal as _, Write};

/// Says lines on standard error. Where that cannot be written to, there is nobody to tell.
pub(crate) fn say(lines: &str) {
    tell(&Shown::of_lines(lines));
}

/// Says what is shown on standard error.
pub(crate) fn tell(text: &Shown) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Standard output as it is. The standard library takes an error of a descriptor that cannot be written to for success.
struct Raw;

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Standard output for programs that read JSON or XML, which may be shown by a terminal or a CI all the same: what does not
/// show stands as `\u202e`, which is the same text in JSON.
struct Documents {
    out: BufWriter<Raw>,
    /// Bytes that were not looked at yet.
    held: Vec<u8>,
}

/// Bytes of a document that are looked at together.
const HELD: usize = 1 << 13;

impl Documents {
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

    /// Prints bytes as they are, after what is held.
    fn plain(&mut self, bytes: &[u8]) -> Result<()> {
        self.pass(self.held.len()).and_then(|()| self.out.write_all(bytes)).map_err(|error| lost(&error))
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

/// Standard output: what the verbs found goes through here alone. People get what is [`Shown`].
pub(crate) struct Output {
    documents: Documents,
    look: Look,
    quiet: bool,
}

impl Output {
    /// Opens it, buffered, as the command line and the terminal will have it.
    pub(crate) fn open(global: &Global) -> Output {
        // Texts of thousands of bytes pass by a buffer that is smaller than they are, without being copied.
        let out = BufWriter::with_capacity(1 << 13, Raw);
        let documents = Documents { out, held: Vec::with_capacity(HELD) };
        Output { documents, look: global.look(), quiet: global.quiet }
    }

    /// Prints a document in one of its forms.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to, `Usage` where the document has no such form.
    pub(crate) fn put(&mut self, form: Form, document: &dyn Document) -> Result<()> {
        document.write(form, self)?;
        self.finish()
    }

    /// Prints what is in the buffer.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.documents.flush().map_err(|error| lost(&error))
    }

    /// Prints a text in a form of its own, such as a makefile, byte by byte; `instead` is what to do where it cannot be.
    ///
    /// # Errors
    /// `Input` where a line of it does not show, or commands a CI, `Io` where standard output cannot be written to.
    pub(crate) fn data(&mut self, text: &str, instead: &str) -> Result<()> {
        if let Some(line) = text.lines().find(|line| is_command(line)) {
            let error =
                Error::input(format!("this would command a terminal or a CI, and is not printed: {}", visible(line)));
            return Err(error.with_remedy(instead));
        }
        self.plain(text.as_bytes())
    }

    /// Prints what this program itself says: a manual page, a script.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub(crate) fn plain(&mut self, bytes: &[u8]) -> Result<()> {
        self.documents.plain(bytes)?;
        self.finish()
    }

    /// Prints a published schema or an example.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub(crate) fn schema(&mut self, text: &str) -> Result<Exit> {
        self.plain(text.as_bytes())?;
        Ok(Exit::Done)
    }
}

impl Sink for Output {
    fn look(&self) -> Look {
        self.look
    }

    fn show(&mut self, text: &Shown) -> Result<()> {
        self.documents.plain(text.as_bytes())
    }

    fn documents(&mut self) -> &mut dyn Write {
        &mut self.documents
    }

    fn made(&mut self, document: &str) -> Result<()> {
        let end = if document.ends_with('\n') { "" } else { "\n" };
        let written =
            self.documents.write_all(document.as_bytes()).and_then(|()| self.documents.write_all(end.as_bytes()));
        written.map_err(|error| lost(&error))
    }

    fn say(&mut self, text: &Shown) {
        if !self.quiet {
            tell(text);
        }
    }
}

/// Names of kernels, one a line, each once, as `--names` prints them.
pub(crate) struct NameList {
    names: Names,
    known: HashSet<String>,
}

impl NameList {
    /// Begins a list.
    pub(crate) fn new(names: Names) -> NameList {
        NameList { names, known: HashSet::new() }
    }

    /// Shows a kernel's name, unless that has been shown.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub(crate) fn put(&mut self, mangled: &str, out: &mut Output) -> Result<()> {
        if !self.known.insert(mangled.to_owned()) {
            return Ok(());
        }
        let mut line = Shown::default();
        writeln!(line, "{}", self.names.show(mangled));
        out.show(&line)
    }
}

/// The forms of an answer.
pub(crate) const ANSWER: [(Form, &str); 2] = [(Form::Table, "For people"), (Form::Json, "One document")];

/// The forms of a summary of what was written.
pub(crate) const SUMMARY: [(Form, &str); 2] =
    [(Form::Text, "A summary on standard error"), (Form::Json, "A document on standard output")];

/// Takes the forms that a verb offers, each with what the help says of it.
pub(crate) fn forms<const N: usize>(offered: [(Form, &'static str); N]) -> impl TypedValueParser<Value = Form> {
    let values = offered.map(|(form, help)| PossibleValue::new(form.name()).help(help));
    let named = move |name: String| offered.into_iter().find(|(form, _)| form.name() == name);
    PossibleValuesParser::new(values).map(move |name| named(name).map_or(Form::Table, |(form, _)| form))
}

/// Writes bytes that are no text to standard output.
///
/// # Errors
/// `Usage` where that is a terminal, `Io` where it cannot be written.
pub(crate) fn binary_to_stdout(bytes: &[u8]) -> Result<()> {
    if std::io::stdout().is_terminal() {
        let error = Error::new(ErrorKind::Usage, "binary output to a terminal is of no use");
        return Err(error.with_remedy("redirect it, or name a file or folder with `-o`"));
    }
    Raw.write_all(bytes).map_err(|error| lost(&error))
}

/// The error of a write to standard output.
#[cold]
pub(crate) fn lost(error: &std::io::Error) -> Error {
    let doing = "cannot write to standard output";
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Error::io(doing, error),
        _ => Error::new(ErrorKind::Environment, format!("{doing}: {error}")),
    }
}
