//! How are several bundles joined into one?
//!
//! The union is that of `sycl::join`: all images of all bundles, copies of an image once. The bundles must be of one
//! state and for the same targets.

use crate::bundle::format::{Declared, Format};
use crate::bundle::image::{Image, State};
use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};

/// Bundle to join.
#[derive(Debug)]
pub struct InputBundle<'k> {
    /// Images of the bundle.
    pub images: Vec<Image<'k>>,
    /// Name for error messages.
    pub label: String,
}

/// Union of bundles.
#[derive(Debug)]
pub struct Union<'k> {
    /// Images in the order of the bundles, renumbered.
    pub images: Vec<Image<'k>>,
    /// Number of copies that were left out, by number of the image in the union.
    pub(crate) copies: HashMap<usize, usize>,
}

/// Joins bundles. Copies are images that are equal in payload, format, model, target, options, entries and property sets.
///
/// # Errors
/// `Usage` (SYCL's `errc::invalid`) where the bundles are not of one state, or not for the same targets; `Input` where a
/// payload is damaged.
pub fn join<'k>(bundles: Vec<InputBundle<'k>>) -> Result<Union<'k>> {
    let invalid = |message: String, label: &str, remedy: &str| {
        let error = Error::new(ErrorKind::Usage, format!("{message} (SYCL: errc::invalid)"));
        Err(error.with_remedy(remedy.to_owned()).context(label.to_owned()))
    };
    let mut state: Option<(State, String)> = None;
    let mut targets: Option<(BTreeSet<&str>, String)> = None;
    for bundle in bundles.iter().filter(|bundle| !bundle.images.is_empty()) {
        let mut mine = BTreeSet::new();
        for image in &bundle.images {
            mine.insert(image.compile_target().unwrap_or(image.target));
            let this = image.state();
            match &state {
                None => state = Some((this, bundle.label.clone())),
                Some((known, other)) if *known != this => {
                    let message = format!(
                        "image {} is in state `{}`, where {other} has images in state `{}`",
                        image.index,
                        this.name(),
                        known.name()
                    );
                    return invalid(message, &bundle.label, "select one state with --state");
                }
                Some(_) => {}
            }
        }
        match &targets {
            None => targets = Some((mine, bundle.label.clone())),
            Some((known, other)) if *known != mine => {
                let list = |targets: &BTreeSet<&str>| targets.iter().copied().collect::<Vec<_>>().join(", ");
                let message = format!("its images are for {}, those of {other} for {}", list(&mine), list(known));
                return invalid(message, &bundle.label, "select one target with --target");
            }
            Some(_) => {}
        }
    }
    let mut union = Union { images: Vec::new(), copies: HashMap::new() };
    let mut known: HashMap<(Vec<u8>, u64), Vec<usize>> = HashMap::new();
    let random = RandomState::new();
    for bundle in bundles {
        for mut image in bundle.images {
            let contents =
                image.contents().map_err(|error| error.context(format!("image {}", image.index)))?.into_owned();
            let places = known.entry((contents, details(&image, &random))).or_default();
            let copy =
                places.iter().find(|place| union.images.get(**place).is_some_and(|other| is_copy(other, &image)));
            match copy {
                Some(place) => {
                    let count = union.copies.entry(*place).or_default();
                    *count = count.saturating_add(1);
                }
                None => {
                    image.index = union.images.len();
                    places.push(image.index);
                    union.images.push(image);
                }
            }
        }
    }
    Ok(union)
}

/// Returns for each image whether it is a copy of one before it.
///
/// # Errors
/// `Input` where a payload is damaged.
pub(crate) fn copies(images: &[Image<'_>]) -> Result<Vec<bool>> {
    let mut known: HashMap<(Cow<'_, [u8]>, u64), Vec<&Image<'_>>> = HashMap::new();
    let random = RandomState::new();
    let mut copies = Vec::with_capacity(images.len());
    for image in images {
        let alike = known.entry((image.contents()?, details(image, &random))).or_default();
        let copy = alike.iter().any(|other| is_copy(other, image));
        copies.push(copy);
        if !copy {
            alike.push(image);
        }
    }
    Ok(copies)
}

/// Hashes what copies have in common beside their contents: thousands of images may have the same and be no copies.
fn details(image: &Image<'_>, random: &RandomState) -> u64 {
    let mut hasher = random.build_hasher();
    (image.target, image.arch, image.compile_options, image.link_options, &image.entries).hash(&mut hasher);
    for set in &image.properties.sets {
        (set.name, set.properties.len()).hash(&mut hasher);
        set.properties.iter().for_each(|property| (property.name, property.value).hash(&mut hasher));
    }
    hasher.finish()
}

/// The format as which runtimes take an image: what it declares, or else what they detect.
fn taken_as(image: &Image<'_>) -> Declared {
    match (image.declared, image.format()) {
        (Declared::None | Declared::CompressedNone, Format::SpirV) => Declared::SpirV,
        (Declared::None | Declared::CompressedNone, Format::LlvmBitcode) => Declared::LlvmBitcode,
        (Declared::None | Declared::CompressedNone, _) => Declared::Native,
        (declared, _) => declared,
    }
}

/// The programming model of an image, which is SYCL where nothing is said.
fn model<'a>(image: &Image<'a>) -> &'a str {
    if image.offload_kind.is_empty() { "sycl" } else { image.offload_kind }
}

/// Whether two images of equal contents are copies.
fn is_copy(one: &Image<'_>, other: &Image<'_>) -> bool {
    (one.target, one.arch, one.compile_options, one.link_options)
        == (other.target, other.arch, other.compile_options, other.link_options)
        && (model(one), one.state(), taken_as(one)) == (model(other), other.state(), taken_as(other))
        && one.entries == other.entries
        && one.properties == other.properties
}
