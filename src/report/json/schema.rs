//! How is the form of a document published?
//!
//! Schemas are made of the types that documents are serialised from: what a field means is its doc comment.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The version of the form, raised only if a reader of the old one would fail.
pub const SCHEMA_VERSION: u32 = 1;

/// The promise that holds for every document.
const STABLE: &str = "Additive changes only while `schema_version` is 1: readers ignore keys they do not know, and expect new words in lists of words.";

/// The member `schema_version` of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchemaVersion;

impl Serialize for SchemaVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA_VERSION)
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
pub(in crate::report) fn schema<T: JsonSchema>() -> String {
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
