//! What does the JSON say of properties?

use super::put::{Object, Put, With};
use crate::bundle::aspect::Epoch;
use crate::bundle::decode::{Decoded, decode};
use crate::bundle::property::{Properties, Property, PropertySet, Value};
use crate::bundle::spec_constants::SpecConstant;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::HashSet;

/// `{ SET: { NAME: {..} } }`. A name that a damaged image repeats is given once, as the runtime sees it: the first.
pub(in crate::report) struct Sets<'b> {
    /// What is written.
    pub shown: &'b [PropertySet<'b>],
    /// All that the image has: the meaning of some properties is in others.
    pub all: &'b Properties<'b>,
    /// How its aspects are numbered.
    pub epoch: Epoch,
}

impl<'b> Sets<'b> {
    /// All property sets of an image.
    pub fn of(all: &'b Properties<'b>, epoch: Epoch) -> Sets<'b> {
        Sets { shown: &all.sets, all, epoch }
    }
}

impl Put for Sets<'_> {
    fn put(&self, out: &mut String) {
        let mut object = Object::open(out);
        for set in first_of_each(self.shown, |set| set.name) {
            object.entry(set.name, With(|out: &mut String| self.put_set(set, out)));
        }
        object.close();
    }
}

impl Sets<'_> {
    fn put_set(&self, set: &PropertySet<'_>, out: &mut String) {
        let mut object = Object::open(out);
        for property in first_of_each(&set.properties, |property| property.name) {
            let decoded = decode(self.all, set.name, property, self.epoch);
            object.entry(property.name, With(|out: &mut String| put_property(property, decoded.as_ref(), out)));
        }
        object.close();
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

fn put_property(property: &Property<'_>, decoded: Option<&Decoded>, out: &mut String) {
    let mut object = Object::open(out);
    put_value(property, decoded, &mut object);
    object.close();
}

/// Appends the type of a property, its value and its meaning.
pub(in crate::report) fn put_value(property: &Property<'_>, decoded: Option<&Decoded>, object: &mut Object<'_>) {
    object.field("type", property.value.type_name());
    match property.value {
        Value::U32(number) => object.field("value", number),
        Value::Bytes(bytes) | Value::Text(bytes) | Value::Unknown { bytes, .. } => {
            let base64 = |out: &mut String| {
                out.push('"');
                STANDARD.encode_string(bytes, out);
                out.push('"');
            };
            object.field("value", With(base64));
        }
    }
    object.field("decoded", decoded);
}

impl Put for Decoded {
    fn put(&self, out: &mut String) {
        match self {
            Decoded::Number(number) => number.put(out),
            Decoded::Numbers(numbers) => numbers.put(out),
            Decoded::Flag(flag) => flag.put(out),
            Decoded::Text(text) => text.put(out),
            Decoded::Names(names) => names.put(out),
            Decoded::Arguments { count, eliminated } => {
                let mut object = Object::open(out);
                object.field("arguments", count);
                object.field("eliminated", eliminated);
                object.close();
            }
            Decoded::SpecConstant(parts) => parts.put(out),
            Decoded::Defaults(values) => {
                let mut object = Object::open(out);
                for (name, value) in values {
                    object.entry(name, value);
                }
                object.close();
            }
            Decoded::DeviceGlobal { size, image_scope } => {
                let mut object = Object::open(out);
                object.field("size", size);
                object.field("image_scope", image_scope);
                object.close();
            }
        }
    }
}

impl Put for SpecConstant {
    fn put(&self, out: &mut String) {
        let mut object = Object::open(out);
        object.field("id", self.id);
        object.field("offset", self.offset);
        object.field("size", self.size);
        object.close();
    }
}
