//! What is in a file, for a script?
//!
//! The contract of `inspect --format json` (`schema_version` 1; `inspect.schema.json` beside this file is its published
//! schema). Changes are additive. Images stand one per line, and are serialised in parallel; those
//! that nobody has examined yet are examined there, so that of each only its text is kept.

mod image;
mod native;
pub(super) mod property;
pub(super) mod put;
#[cfg(test)]
pub(crate) mod schema;
pub(super) mod stream;

use super::FileFacts;
use crate::compat::examine::{Examined, examine_images};
use crate::error::{Error, Problem, Result};
use serde::Serialize;
use std::io::Write;

/// The version of the form, raised only if a reader of the old one would fail.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema of `inspect --format json`.
pub const SCHEMA: &str = include_str!("inspect.schema.json");

#[derive(Serialize)]
struct FileJson<'a> {
    path: &'a str,
    container: Option<&'static str>,
    producer: Option<&'a str>,
    sycl_abi: Option<u32>,
    size: u64,
}

#[derive(Serialize)]
struct ProblemJson {
    image: Option<usize>,
    offset: Option<u64>,
    message: String,
}

impl From<&Problem> for ProblemJson {
    fn from(problem: &Problem) -> Self {
        ProblemJson { image: problem.image, offset: problem.error.offset(), message: problem.error.to_string() }
    }
}

/// Writes one document about any number of files, one file at a time.
pub struct Document<W> {
    out: W,
    files: usize,
}

impl<W: Write> Document<W> {
    /// Opens the document.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn open(mut out: W) -> Result<Self> {
        write(&mut out, format!("{{\"schema_version\":{SCHEMA_VERSION},\"files\":[\n").as_bytes())?;
        Ok(Document { out, files: 0 })
    }

    /// Adds a file, and to the file what was found wrong with images that had not been examined.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn file(&mut self, facts: &mut FileFacts<'_>) -> Result<()> {
        self.next()?;
        let mut head = to_vec(&FileJson {
            path: facts.path,
            container: facts.host.map(|host| host.kind.name()),
            producer: facts.host.and_then(|host| host.producer.as_ref()).map(|producer| producer.name.as_str()),
            sycl_abi: facts.host.and_then(|host| host.sycl_abi),
            size: facts.bytes,
        })?;
        // The images are appended to the object by hand: they are long, and written by several threads.
        head.pop();
        write(&mut self.out, &head)?;
        write(&mut self.out, b",\"images\":[")?;
        images(facts, &mut self.out, None, (",\n", ""))?;
        write(&mut self.out, b"\n],\"problems\":")?;
        write(&mut self.out, &problems(&facts.problems)?)?;
        write(&mut self.out, b"}")
    }

    /// Parts a file from the one before; where it is written.
    pub(super) fn next(&mut self) -> Result<&mut W> {
        if self.files > 0 {
            write(&mut self.out, b",\n")?;
        }
        self.files = self.files.saturating_add(1);
        Ok(&mut self.out)
    }

    /// Closes the document and gives the writer back.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn close(mut self) -> Result<W> {
        write(&mut self.out, b"\n]}\n")?;
        Ok(self.out)
    }
}

/// Writes the images of a file one per line, each with the file's path.
///
/// # Errors
/// `Io` where the writer fails.
pub fn lines(out: &mut impl Write, facts: &mut FileFacts<'_>) -> Result<()> {
    images(facts, out, Some(facts.path), ("", "\n"))
}

/// Writes images in order, each between two texts; examines them on the way where that is still to be done.
fn images(facts: &mut FileFacts<'_>, out: &mut impl Write, path: Option<&str>, around: (&str, &str)) -> Result<()> {
    let base = facts.absolute.map(super::name::uri);
    let base = base.as_deref();
    let put = |text: &mut String, examined: &Examined<'_, '_>| {
        text.push_str(around.0);
        image::put(text, facts, path, base, examined);
        text.push_str(around.1);
    };
    let mut first = true;
    let write = |text: &str| {
        // The first image goes without the comma that would part it from the one before.
        let text = if std::mem::take(&mut first) { text.strip_prefix(',').unwrap_or(text) } else { text };
        write(out, text.as_bytes())
    };
    let problems = match facts.bundle.filter(|_| facts.deferred) {
        Some(bundle) => stream::stream(
            &bundle.images,
            |text, images| {
                let examined = examine_images(images, bundle.epoch);
                examined.iter().for_each(|one| put(text, one));
                examined.iter().flat_map(Examined::problems).collect()
            },
            write,
        )?,
        None => stream::stream(
            &facts.images,
            |text, images| {
                images.iter().for_each(|one| put(text, one));
                Vec::new()
            },
            write,
        )?,
    };
    facts.problems.extend(problems);
    Ok(())
}

/// What is wrong with a file, as an array.
pub(super) fn problems(problems: &[Problem]) -> Result<Vec<u8>> {
    to_vec(&problems.iter().map(ProblemJson::from).collect::<Vec<_>>())
}

fn to_vec(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(4096);
    let written = serde_json::to_writer(&mut out, value);
    written.map(|()| out).map_err(|error| Error::input(format!("cannot be written as JSON: {error}")))
}

/// A value as JSON.
pub(super) fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::input(error.to_string()))
}

/// Writes a text.
pub(super) fn put(out: &mut impl Write, text: &str) -> Result<()> {
    write(out, text.as_bytes())
}

pub(super) fn write(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("cannot write", &error))
}
