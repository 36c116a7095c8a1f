//! What are the properties of images, for a script?
//!
//! The contract of `props --format json` (`schema_version` 1; `props.schema.json` beside this file is its published schema).
//! Changes are additive. Properties are written as in `inspect --format json`.

use super::FileProps;
use crate::bundle::decode::decode;
use crate::error::{Problem, Result};
use crate::report::json::property::{Sets, put_value};
use crate::report::json::put::{List, Object, With};
use crate::report::json::{Document, problems, write};
use crate::report::name::demangle;
use crate::report::props::shown_name;
use std::io::Write;

impl<W: Write> Document<W> {
    /// Adds the properties of a file, and what is wrong with it.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn properties(&mut self, file: &FileProps<'_>, wrong: &[Problem]) -> Result<()> {
        let image = |one: &super::ImageProps<'_>, out: &mut String| {
            let mut object = Object::open(out);
            object.field("index", one.image.index);
            object.field("target", one.image.target);
            object.field("compile_target", one.image.compile_target());
            object.field("properties", Sets { shown: &one.sets, all: &one.image.properties, epoch: file.epoch });
            object.close();
        };
        let mut text = String::new();
        let mut object = Object::open(&mut text);
        object.field("path", file.path);
        object.field("images", List(file.images.iter().map(|one| With(move |out: &mut String| image(one, out)))));
        object.close();
        // What is wrong is written through serde, behind the fields that are there.
        text.pop();
        let out = self.next()?;
        write(out, text.as_bytes())?;
        write(out, b",\"problems\":")?;
        write(out, &problems(wrong)?)?;
        write(out, b"}")
    }
}

/// Writes each property of each image on a line.
///
/// # Errors
/// `Io` where the writer fails.
pub fn lines(out: &mut impl Write, file: &FileProps<'_>) -> Result<()> {
    for one in &file.images {
        let mut text = String::new();
        for set in &one.sets {
            for property in &set.properties {
                let decoded = decode(&one.image.properties, set.name, property, file.epoch);
                let mut object = Object::open(&mut text);
                object.field("path", file.path);
                object.field("image", one.image.index);
                object.field("target", one.image.target);
                object.field("set", set.name);
                object.field("name", property.name);
                object.field("demangled", shown_name(property.name, |name| demangle(name).into_owned()));
                put_value(property, decoded.as_ref(), &mut object);
                object.close();
                text.push('\n');
            }
        }
        write(out, text.as_bytes())?;
    }
    Ok(())
}
