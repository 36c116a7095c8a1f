//! Which images are the same code under other names, and what do they cost?
//!
//! Kernels are the same code where all that they reach is, but for names (`spirv::kernel::body`). Images are clones of
//! each other where their kernels are, one by one. Each is compiled and stored on its own all the same: a runtime tells
//! kernels by their names.

use super::FileFacts;
use super::inspect::View;
use super::json::{SchemaVersion, writer::text};
use super::table::{Column, render};
use super::text::Shown;
use super::text::{bytes, count, share};
use crate::compat::kernels::{Depth, KernelFacts, kernels};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Document<'_>>()
}

/// Groups of a table.
const SHOWN: usize = 20;

/// Images of one file that are the same code.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Clones {
    /// The file.
    pub(crate) path: String,
    /// Images whose kernels are known: SPIR-V with kernels.
    pub(crate) images: usize,
    /// Images that are clones of an image before them: so many compilations would do without.
    pub(crate) redundant_images: usize,
    /// Bytes of the clones as stored.
    pub(crate) redundant_stored: u64,
    /// Bytes of the clones inflated: what a compiler reads.
    pub(crate) redundant_bytes: u64,
    /// Bytes of all images with kernels as stored.
    pub(crate) stored: u64,
    /// Groups of images, those that cost most first.
    pub(crate) groups: Vec<Group>,
}

/// Images that are the same code.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Group {
    /// The numbers of the images in the file.
    pub(crate) images: Vec<usize>,
    /// The mangled names of the kernels of each, in the order of the images.
    pub(crate) kernels: Vec<Vec<String>>,
    /// Bytes of one of them, inflated.
    pub(crate) bytes: u64,
    /// Bytes of all but the first as stored.
    pub(crate) redundant_stored: u64,
    /// Bytes of all but the first, inflated.
    pub(crate) redundant_bytes: u64,
}

/// Groups of images that are the same code under other names.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle inspect --clones --format json")]
struct Document<'d> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The files.
    files: &'d [Clones],
}

/// Finds the clones among the images of a file that are shown.
pub(crate) fn find(facts: &FileFacts<'_>) -> Clones {
    let mut clones = Clones { path: facts.path.to_owned(), ..Clones::default() };
    let Some(bundle) = facts.bundle else { return clones };
    let all = kernels(bundle, &facts.images, Depth { clones: true, evidence: false });
    let mut by_image: BTreeMap<usize, Vec<&KernelFacts>> = BTreeMap::new();
    for kernel in all.iter().filter(|kernel| kernel.module.is_some()) {
        by_image.entry(kernel.image).or_default().push(kernel);
    }
    let examined: BTreeMap<usize, (u64, u64)> =
        facts.images.iter().map(|image| (image.image.index, (image.image.stored.len() as u64, image.size))).collect();
    // Of kernels that are the same code the first name stands for all; equal images have equal lists of these.
    let mut groups: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for (image, kernels) in &by_image {
        let mut key: Vec<&str> = kernels.iter().map(|kernel| kernel.first_alike()).collect();
        key.sort_unstable();
        groups.entry(key).or_default().push(*image);
        clones.stored = clones.stored.saturating_add(examined.get(image).map_or(0, |(stored, _)| *stored));
    }
    clones.images = by_image.len();
    for images in groups.into_values().filter(|images| images.len() > 1) {
        let sizes = |image: &usize| examined.get(image).copied().unwrap_or_default();
        let rest = images.get(1..).unwrap_or_default();
        let group = Group {
            bytes: images.first().map_or(0, |image| sizes(image).1),
            redundant_stored: rest.iter().map(|image| sizes(image).0).sum(),
            redundant_bytes: rest.iter().map(|image| sizes(image).1).sum(),
            kernels: images
                .iter()
                .map(|image| by_image.get(image).into_iter().flatten().map(|kernel| kernel.name.clone()).collect())
                .collect(),
            images,
        };
        clones.redundant_images = clones.redundant_images.saturating_add(group.images.len().saturating_sub(1));
        clones.redundant_stored = clones.redundant_stored.saturating_add(group.redundant_stored);
        clones.redundant_bytes = clones.redundant_bytes.saturating_add(group.redundant_bytes);
        clones.groups.push(group);
    }
    clones.groups.sort_by(|one, other| {
        other.redundant_stored.cmp(&one.redundant_stored).then_with(|| one.images.cmp(&other.images))
    });
    clones
}

/// The clones of a file as a table.
pub(crate) fn table(clones: &Clones, facts: &FileFacts<'_>, view: &View) -> Shown {
    let mut out = Shown::default();
    writeln!(
        out,
        "{} of {} images with kernels are the same code as one before: {} stored ({} of the file), {} to compile",
        count(clones.redundant_images),
        count(clones.images),
        bytes(clones.redundant_stored),
        share(clones.redundant_stored, facts.bytes),
        bytes(clones.redundant_bytes),
    );
    if clones.groups.is_empty() {
        return out;
    }
    let rows: Vec<Vec<String>> = clones
        .groups
        .iter()
        .take(SHOWN)
        .map(|group| {
            let kernel = group.kernels.first().and_then(|kernels| kernels.first());
            let images: Vec<String> = group.images.iter().take(4).map(usize::to_string).collect();
            let more = if group.images.len() > 4 { ", .." } else { "" };
            vec![
                count(group.images.len()),
                bytes(group.bytes),
                bytes(group.redundant_stored),
                format!("{}{more}", images.join(", ")),
                kernel.map_or_else(|| "-".to_owned(), |kernel| view.kernel(kernel)),
            ]
        })
        .collect();
    let columns = [
        ("Images", Column::Number),
        ("Each", Column::Number),
        ("Saved", Column::Number),
        ("Numbers", Column::Name),
        ("A kernel of the group", Column::Name),
    ];
    out.push_str("\n");
    out.append(&render(&columns, &rows, &["Numbers", "Each"], view.width, view.color));
    if clones.groups.len() > SHOWN {
        writeln!(out, "({} more groups)", count(clones.groups.len().saturating_sub(SHOWN)));
    }
    out
}

/// The clones of files as one document.
pub(crate) fn json(files: &[Clones]) -> String {
    text(&Document { schema_version: SchemaVersion, files })
}
