//! How do several images become one?
//!
//! Their modules are linked ([`crate::spirv::link`]), and their property sets merged as the SYCL runtime merges those of
//! images that it links itself (`sycl/source/detail/device_binary_image.cpp`): what stands for a kernel or a symbol is
//! put together, what holds for a whole image has to agree.
//!
//! A linked image of SPIR-V is still in state `input`: a device has yet to compile it. Where no import is open it is all
//! that a device needs.
//!
//! | file | the question it answers |
//! |---|---|
//! | `properties` | which property sets does the result have? |
//! | `constants` | which specialization constants does it have? |
//! | [`providers`] | which images does an image need to be complete? |

mod constants;
mod properties;
pub mod providers;

use super::property_sets::text;
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::{Image, State};
use crate::container::arena::Arena;
use crate::error::{Error, ErrorKind, Result};
use crate::spirv::link::{Linked, Options, Source, link as link_modules};
use std::borrow::Cow;
use std::collections::HashSet;

/// An image to link.
#[derive(Debug, Clone, Copy)]
pub struct Input<'i, 'k> {
    /// The image.
    pub image: &'i Image<'k>,
    /// What errors call it.
    pub label: &'i str,
    /// Whether what it exports is for the other images alone.
    pub internal: bool,
}

/// A linked image and how it came about.
#[derive(Debug)]
pub struct Outcome<'k> {
    /// The image.
    pub image: Image<'k>,
    /// What its module came to; without its bytes, which are the image's.
    pub linked: Linked,
}

/// Links images.
///
/// # Errors
/// All there are: images that cannot be one (`Usage`: of different targets, states or options, or none of SPIR-V),
/// properties that contradict each other, and those of [`crate::spirv::link::link`].
pub fn link<'k>(arena: &'k Arena, inputs: &[Input<'_, '_>], options: &Options) -> Result<Outcome<'k>, Vec<Error>> {
    let one = |error| vec![error];
    agree(inputs)?;
    let mut contents: Vec<Cow<'_, [u8]>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        contents.push(input.image.contents().map_err(|error| vec![error.context(input.label)])?);
    }
    let constants = constants::plan(inputs)?;
    let mut sources: Vec<Source<'_>> = Vec::with_capacity(inputs.len());
    for ((input, bytes), spec_ids) in inputs.iter().zip(&contents).zip(constants.numbers.iter()) {
        // A module of which its container says nothing speaks for itself: all its imports are meant to be defined.
        let told = !input.image.properties.sets.is_empty();
        let required: Option<HashSet<&str>> = told.then(|| input.image.imports().into_iter().collect());
        sources.push(Source {
            name: input.label,
            bytes,
            required,
            spec_ids: spec_ids.clone(),
            internal: input.internal,
        });
    }
    let mut linked = link_modules(&sources, options)?;
    let properties = properties::merge(arena, inputs, &linked, &constants)?;
    let first = inputs.first().ok_or_else(nothing)?.image;
    let keep = |value: &str| text(arena, value).map_err(one);
    let mut image = Image {
        declared: Declared::None,
        target: keep(first.target)?,
        arch: keep(first.arch)?,
        offload_kind: keep(first.offload_kind)?,
        compile_options: keep(first.compile_options)?,
        link_options: keep(first.link_options)?,
        origin: first.origin,
        ..Image::bare(arena.keep(std::mem::take(&mut linked.bytes)).map_err(one)?, 0)
    };
    image.properties = properties;
    let mut there = HashSet::new();
    let exported: HashSet<&str> = linked.exports.iter().map(String::as_str).collect();
    for input in inputs {
        let exports: HashSet<&str> = input.image.exports().into_iter().collect();
        for entry in &input.image.entries {
            // What is listed is a kernel or an exported function; of these, what is left.
            let is_left = !exports.contains(entry) || exported.contains(entry);
            if is_left && there.insert(*entry) {
                image.entries.push(keep(entry)?);
            }
        }
    }
    Ok(Outcome { image, linked })
}

fn nothing() -> Vec<Error> {
    vec![Error::new(ErrorKind::NoDeviceCode, "there are no images to link")]
}

/// Whether images can be one.
fn agree(inputs: &[Input<'_, '_>]) -> Result<(), Vec<Error>> {
    let Some(first) = inputs.first() else { return Err(nothing()) };
    let mut errors = Vec::new();
    for input in inputs {
        let usage = |message: String, remedy: &str| {
            Error::new(ErrorKind::Usage, message).with_remedy(remedy.to_owned()).context(input.label)
        };
        let format = input.image.format();
        let state = input.image.state_of(format);
        if format != Format::SpirV {
            let message =
                format!("this is {} in state `{}`, and what is linked is SPIR-V", format.name(), state.name());
            errors.push(usage(message, "a device links what it compiled: `--for TARGET`"));
            continue;
        }
        if state != State::Input {
            errors.push(usage(
                format!(
                    "this is in state `{}`, and what is linked is in state `input` (SYCL: errc::invalid)",
                    state.name()
                ),
                "select images with --state input",
            ));
        }
        let (mine, theirs) = (input.image, first.image);
        for (what, mine, theirs) in [
            ("target", mine.target, theirs.target),
            ("architecture", mine.arch, theirs.arch),
            ("programming model", mine.offload_kind, theirs.offload_kind),
            ("compile options", mine.compile_options, theirs.compile_options),
            ("link options", mine.link_options, theirs.link_options),
        ] {
            if mine != theirs {
                let message = format!("{what} `{mine}`, where {} has `{theirs}` (SYCL: errc::invalid)", first.label);
                errors.push(usage(message, "select images that agree, with --target or --image"));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
