//! How is a document written as JSON, and its form published?
//!
//! A document is a type: its fields are what is written, and its schema is made of them. Changes of documents are
//! additive. Lists of thousands stand one item per line, and are serialised by all threads.
//!
//! Schemas are made of the types that documents are serialised from: what a field means is its doc comment.

pub(super) mod stream;
pub(super) mod writer;

use crate::error::{Error, Problem, Result};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

#[cfg(test)]
pub(crate) mod tests;

/// A part of a file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImageProblem {
    /// The image, where it is about one.
    pub(crate) image: Option<usize>,
    /// The offset in the file, where it is known.
    pub(crate) offset: Option<u64>,
    /// A sentence about what is wrong.
    pub(crate) message: String,
}

impl From<&Problem> for ImageProblem {
    fn from(problem: &Problem) -> Self {
        ImageProblem { image: problem.image, offset: problem.error.offset(), message: problem.error.to_string() }
    }
}

/// A part that could not be read, with its file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FileProblem {
    /// The file, as it was given.
    pub(crate) file: String,
    /// The image, where it is about one.
    pub(crate) image: Option<usize>,
    /// The offset in the file, where it is known.
    pub(crate) offset: Option<u64>,
    /// A sentence about what is wrong.
    pub(crate) message: String,
}

impl FileProblem {
    /// A problem of a file.
    pub(crate) fn new(file: &str, problem: &Problem) -> FileProblem {
        let ImageProblem { image, offset, message } = problem.into();
        FileProblem { file: file.to_owned(), image, offset, message }
    }

    /// Returns the sentence with the image that it is about.
    pub(crate) fn of_image(&self) -> String {
        self.image.map_or_else(|| self.message.clone(), |image| format!("image {image}: {}", self.message))
    }
}

/// The members of an object, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<K, V>(pub Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Members<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<K, V: JsonSchema> JsonSchema for Members<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Members".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <BTreeMap<String, V>>::json_schema(generator)
    }
}

/// A document that is written row by row: what stands in its [`writer::Gap`] is a list of these.
pub(super) struct Rows<W> {
    out: W,
    empty: bool,
}

impl<W: Write> Rows<W> {
    /// Opens the document.
    pub(crate) fn open(mut out: W, document: &impl Serialize) -> Result<Self> {
        let [head, _] = writer::split(document);
        put(&mut out, &head)?;
        put(&mut out, "[\n")?;
        Ok(Rows { out, empty: true })
    }

    /// Parts a row from the one before; where it is written.
    pub(crate) fn next(&mut self) -> Result<&mut W> {
        if !std::mem::take(&mut self.empty) {
            put(&mut self.out, ",\n")?;
        }
        Ok(&mut self.out)
    }

    /// Closes the document, with the fields behind the gap as they are now, and gives the writer back.
    pub(crate) fn close(mut self, document: &impl Serialize) -> Result<W> {
        let [_, tail] = writer::split(document);
        put(&mut self.out, "\n]")?;
        put(&mut self.out, &tail)?;
        put(&mut self.out, "\n")?;
        Ok(self.out)
    }
}

/// The text of a document, indented.
pub(super) fn pretty(document: &impl Serialize) -> String {
    // No value of a document can fail.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}

/// Writes a text.
pub(super) fn put(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", &error))
}

/// Writes a value as one line without its end.
pub(super) fn put_value(out: &mut impl Write, value: &impl Serialize) -> Result<()> {
    writer::write(out, value).map_err(|error| Error::io("cannot write", &error))
}

/// Writes a document on one line.
pub(super) fn put_line(out: &mut impl Write, document: &impl Serialize) -> Result<()> {
    put_value(out, document)?;
    put(out, "\n")
}

/// The version of the form, raised only if a reader of the old one would fail.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The promise that holds for every document.
const STABLE: &str = "Additive changes only while `schema_version` is 1: readers ignore keys they do not know, and expect new words in lists of words.";

/// The member `schema_version` of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchemaVersion;

impl Serialize for SchemaVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA_VERSION)
    }
}

impl<'de> Deserialize<'de> for SchemaVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            SCHEMA_VERSION => Ok(SchemaVersion),
            other => Err(serde::de::Error::custom(format!("form {other} is not known"))),
        }
    }
}

impl JsonSchema for SchemaVersion {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "schema_version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": SCHEMA_VERSION })
    }
}

/// The JSON Schema of a document, as text.
pub(super) fn schema<T: JsonSchema>() -> String {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.transforms.push(Box::new(RecursiveTransform(plain)));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let description = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    let description = format!("{description} {STABLE}").trim_start().to_owned();
    schema.insert("description".to_owned(), description.into());
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Leaves out what says how wide a number is in memory, and joins the lines of descriptions.
fn plain(schema: &mut Schema) {
    schema.remove("format");
    // Of an unsigned number there are bounds of its width.
    schema.remove("maximum");
    if let Some(text) = schema.get("description").and_then(|text| text.as_str()) {
        let joined = text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
        schema.insert("description".to_owned(), joined.into());
    }
}
