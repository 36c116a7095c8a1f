//! How does a verb hand over what it found?
//!
//! A verb prints nothing. It gives each document to a [`Sink`], which the program opens and closes; the document makes the
//! form that was asked for. Verbs that read many files give a part for each, so that no more than one is held.

use super::inspect::View;
use super::table::Drawing;
use super::text::Shown;
use crate::error::Result;
use std::io::Write;

/// The form of a document, as `--format` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Tables and lines for people, on standard output.
    Table,
    /// Kernels by targets, a sign each.
    Matrix,
    /// One JSON document.
    Json,
    /// A JSON document on each line.
    Jsonl,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit's XML.
    Junit,
    /// Annotations of a GitHub workflow.
    Github,
    /// Markdown for a pull request.
    Markdown,
    /// A text of the verb's own: a summary on standard error, or the form of another tool.
    Text,
    /// No document; a note on standard error.
    None,
}

impl Form {
    /// The form's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Table => "table",
            Form::Matrix => "matrix",
            Form::Json => "json",
            Form::Jsonl => "jsonl",
            Form::Sarif => "sarif",
            Form::Junit => "junit",
            Form::Github => "github",
            Form::Markdown => "markdown",
            Form::Text => "text",
            Form::None => "none",
        }
    }
}

/// The reader's terminal and wishes, which text for people follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Columns, names and colours on standard output.
    pub(crate) view: View,
    /// The letters for drawings beside words and numbers; none where nobody looks: scripts read what they always did.
    pub(crate) drawing: Option<Drawing>,
    /// The letters that standard output takes.
    pub(crate) letters: Drawing,
    /// Whether all is to be told.
    pub(crate) verbose: bool,
    /// Columns on standard error.
    pub(crate) stderr_width: usize,
}

/// The place where documents go.
pub(crate) trait Sink {
    /// The reader's terminal and wishes.
    fn look(&self) -> Look;

    /// Adds text for people.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    fn show(&mut self, text: &Shown) -> Result<()>;

    /// Takes JSON and XML.
    fn documents(&mut self) -> &mut dyn Write;

    /// Says something beside the document, unless nobody wants to hear it.
    fn say(&mut self, text: &Shown);

    /// Adds a document that is made already, and ends its last line.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    fn made(&mut self, document: &str) -> Result<()>;
}

/// Facts that a verb found, whole.
pub(crate) trait Document {
    /// Writes them in one of the forms that the verb offers.
    ///
    /// # Errors
    /// `Io` where the sink cannot be written to, `Usage` where there is no such form of these facts.
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()>;
}

/// Keeps apart the parts of a text that grows file by file.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    begun: bool,
}

impl Parts {
    /// Shows the next part, after an empty line where there was one before.
    ///
    /// # Errors
    /// `Io` where the sink cannot be written to.
    pub(crate) fn show(&mut self, text: &Shown, out: &mut dyn Sink) -> Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            out.show(&Shown::gap())?;
        }
        out.show(text)
    }
}
