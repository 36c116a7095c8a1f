//! What is in a file, for a script?
//!
//! The contract of `inspect --format json` (`schema_version` 1; `inspect.schema.json` beside this file is its published
//! schema). Changes are additive. Images stand one per line, and are serialised in parallel.

mod image;
mod native;
#[cfg(test)]
pub(crate) mod schema;

use super::FileFacts;
use crate::error::{Error, Problem, Result};
use image::ImageJson;
use rayon::prelude::*;
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

    /// Adds a file.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn file(&mut self, facts: &FileFacts<'_>) -> Result<()> {
        if self.files > 0 {
            write(&mut self.out, b",\n")?;
        }
        self.files = self.files.saturating_add(1);
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
        let mut separator: &[u8] = b"\n";
        images(facts, |image| {
            write(&mut self.out, separator)?;
            separator = b",\n";
            write(&mut self.out, image)
        })?;
        let problems: Vec<ProblemJson> = facts.problems.iter().map(ProblemJson::from).collect();
        write(&mut self.out, b"\n],\"problems\":")?;
        write(&mut self.out, &to_vec(&problems)?)?;
        write(&mut self.out, b"}")
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
pub fn lines(out: &mut impl Write, facts: &FileFacts<'_>) -> Result<()> {
    let path = to_vec(&facts.path)?;
    images(facts, |image| {
        write(out, b"{\"path\":")?;
        write(out, &path)?;
        write(out, b",")?;
        write(out, image.get(1..).unwrap_or_default())?;
        write(out, b"\n")
    })
}

/// How many images are serialised before they are written: enough for the threads, few for the memory.
const BATCH: usize = 512;

/// Serialises images in parallel and hands each on, in order.
fn images(facts: &FileFacts<'_>, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let base = facts.absolute.map(super::name::uri);
    let one = |image| to_vec(&ImageJson::new(facts, base.as_deref(), image));
    for batch in facts.images.chunks(BATCH) {
        let texts: Vec<Vec<u8>> = batch.par_iter().map(one).collect::<Result<_>>()?;
        for text in &texts {
            each(text)?;
        }
    }
    Ok(())
}

fn to_vec(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(4096);
    let written = serde_json::to_writer(&mut out, value);
    written.map(|()| out).map_err(|error| Error::input(format!("cannot be written as JSON: {error}")))
}

fn write(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("cannot write", &error))
}
