//! What are the properties of images, for a script?
//!
//! The contract of `props --format json`; `inspect --format json` has the same properties.

use super::{FileProps, ImageProps, shown_name};
use crate::bundle::aspect::Epoch;
use crate::bundle::property::{self, Properties, PropertySet};
use crate::bundle::property_sets::{Decoded, KnownSet};
use crate::demangle::demangle;
use crate::error::{Problem, Result};
use crate::report::json::writer::Gap;
use crate::report::json::{self, ImageProblem, Rows, SchemaVersion, put_line, put_value};
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

/// The JSON Schema of `props --format json`.
pub(crate) fn schema() -> String {
    json::schema::<Listing<Vec<File<'_>>>>()
}

/// The property sets of images.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle props --format json")]
struct Listing<F> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The files.
    files: F,
}

/// A file.
#[derive(Serialize, JsonSchema)]
struct File<'a> {
    /// The path, as for `inspect`.
    path: &'a str,
    /// The images that are selected, in the order of the file; also those without a property that is asked for.
    images: Vec<Image<'a>>,
    /// Parts that could not be read.
    problems: Vec<ImageProblem>,
}

/// A device image.
#[derive(Serialize, JsonSchema)]
struct Image<'a> {
    /// The number of the image in its file.
    index: usize,
    /// The target, as the structure has it.
    target: &'a str,
    /// The property `compile_target`: the device that native code is for.
    compile_target: Option<&'a str>,
    /// The properties that are asked for, by set and name, as in `inspect`.
    properties: Sets<'a>,
}

/// A property.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Property")]
struct Value<'a> {
    /// The type of the stored value.
    #[schemars(extend("enum" = ["u32", "bytes", "text", "unknown"]))]
    r#type: &'static str,
    /// A number, or base64 of the stored bytes; those of a byte array begin with its length in bits as 64-bit number.
    value: Stored<'a>,
    /// The meaning of a well-known property, else null.
    decoded: Option<Decoded>,
}

/// A value as it is stored.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Stored<'a> {
    /// A number.
    Number(u32),
    /// Base64 of bytes.
    Bytes(#[schemars(with = "String")] &'a [u8]),
}

impl Serialize for Stored<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Stored::Number(number) => serializer.serialize_u32(*number),
            Stored::Bytes(bytes) => serializer.collect_str(&Base64Display::new(bytes, &STANDARD)),
        }
    }
}

/// A property on a line of its own.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    image: usize,
    target: &'a str,
    set: &'a str,
    name: &'a str,
    demangled: String,
    #[serde(flatten)]
    value: Value<'a>,
}

/// Property sets, by set and name. A name that a damaged image repeats is given once, as the runtime sees it: the first.
pub(in crate::report) struct Sets<'b> {
    /// The sets that are shown.
    shown: &'b [PropertySet<'b>],
    /// All that the image has: the meaning of some properties is in others.
    all: &'b Properties<'b>,
    /// The numbering of aspects.
    epoch: Epoch,
}

/// The properties of a set, by name.
struct Set<'s, 'b> {
    set: &'s PropertySet<'b>,
    of: &'s Sets<'b>,
}

impl<'b> Sets<'b> {
    /// All property sets of an image.
    pub(crate) fn new(all: &'b Properties<'b>, epoch: Epoch) -> Sets<'b> {
        Sets { shown: &all.sets, all, epoch }
    }

    fn value(&self, set: &KnownSet, property: &property::Property<'b>) -> Value<'b> {
        Value {
            r#type: property.value.type_name(),
            value: match property.value {
                property::Value::U32(number) => Stored::Number(number),
                property::Value::Bytes(bytes)
                | property::Value::Text(bytes)
                | property::Value::Unknown { bytes, .. } => Stored::Bytes(bytes),
            },
            decoded: (set.decode)(self.all, property, self.epoch),
        }
    }
}

impl Serialize for Sets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(first_of_each(self.shown, |set| set.name).map(|set| (set.name, Set { set, of: self })))
    }
}

impl Serialize for Set<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let known = KnownSet::find(self.set.name);
        for property in first_of_each(&self.set.properties, |property| property.name) {
            map.serialize_entry(property.name, &self.of.value(known, property))?;
        }
        map.end()
    }
}

impl JsonSchema for Sets<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Properties".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, BTreeMap<String, Value<'_>>>::json_schema(generator)
    }
}

/// The items whose names have not been seen before.
pub(in crate::report) fn first_of_each<'i, T>(
    items: &'i [T],
    name: impl Fn(&'i T) -> &'i str,
) -> impl Iterator<Item = &'i T> {
    /// Up to so many names are compared with each other; more are hashed.
    const FEW: usize = 8;
    let mut seen = HashSet::new();
    items
        .iter()
        .enumerate()
        .filter(move |&(at, item)| {
            if items.len() > FEW {
                return seen.insert(name(item));
            }
            !items.iter().take(at).any(|earlier| name(earlier) == name(item))
        })
        .map(|(_, item)| item)
}

impl<'a> Image<'a> {
    fn new(one: &'a ImageProps<'_>, epoch: Epoch) -> Image<'a> {
        Image {
            index: one.image.index,
            target: one.image.target,
            compile_target: one.image.compile_target(),
            properties: Sets { shown: &one.sets, all: &one.image.properties, epoch },
        }
    }
}

/// Writes one document about any number of files, one file at a time.
pub(crate) struct Document<W>(Rows<W>);

const EMPTY: Listing<Gap> = Listing { schema_version: SchemaVersion, files: Gap };

impl<W: Write> Document<W> {
    /// Opens the document.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn open(out: W) -> Result<Self> {
        Rows::open(out, &EMPTY).map(Document)
    }

    /// Adds the properties of a file, and what is wrong with it.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn file(&mut self, file: &FileProps<'_>, wrong: &[Problem]) -> Result<()> {
        let images = file.images.iter().map(|one| Image::new(one, file.epoch)).collect();
        let problems = wrong.iter().map(ImageProblem::from).collect();
        put_value(self.0.next()?, &File { path: file.path, images, problems })
    }

    /// Closes the document and gives the writer back.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn close(self) -> Result<W> {
        self.0.close(&EMPTY)
    }
}

/// Writes each property of each image on a line.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn lines(out: &mut impl Write, file: &FileProps<'_>) -> Result<()> {
    for one in &file.images {
        let sets = Sets { shown: &one.sets, all: &one.image.properties, epoch: file.epoch };
        for set in one.sets.iter() {
            let known = KnownSet::find(set.name);
            for property in &set.properties {
                let demangled = shown_name(property.name, |name| demangle(name).into_owned());
                let line = Line {
                    path: file.path,
                    image: one.image.index,
                    target: one.image.target,
                    set: set.name,
                    name: property.name,
                    demangled,
                    value: sets.value(known, property),
                };
                put_line(out, &line)?;
            }
        }
    }
    Ok(())
}
