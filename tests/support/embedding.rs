//! What is added to a file, and what must the runtime see of it then?

use std::collections::HashMap;
use std::path::Path;

use super::folder::Folder;
use super::host::{Fixture, Loaded, LoadedImage, fnv1a, load};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bytes::Draft;
use sycl_bundle::container::Host;
use sycl_bundle::error::Result;
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, embed, possible};
use sycl_bundle::rewrite::layers::{self, Edited};
use sycl_bundle::rewrite::specialize::RecordedValues;

/// An image to add, with its own bytes.
pub struct Native {
    pub source: usize,
    pub target: &'static str,
    pub payload: Vec<u8>,
}

/// Native images for two targets, of sizes that fill nothing, a byte, a unit of alignment and pages, for every image
/// whose symbols and targets are no other's in its descriptor: those would be replaced.
pub fn natives(file: &[u8]) -> Vec<Native> {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let mut natives: Vec<Native> = Vec::new();
    for image in bundle.images.iter().filter(|image| image.target == "spir64" && image.entries != ["add_one"]) {
        for target in ["spir64_x86_64", "spir64_gen"] {
            let size = [0, 1, 15, 16, 17, 4096, 70_001][natives.len() % 7];
            let payload = (0..size).map(|at| (at * 31 + natives.len()) as u8).collect();
            natives.push(Native { source: image.index, target, payload });
        }
    }
    // Not in the order of their sources.
    natives.reverse();
    natives
}

pub fn additions(natives: &[Native]) -> Vec<Addition<'_>> {
    natives
        .iter()
        .map(|native| Addition {
            source: native.source,
            target: native.target,
            compile_target: None,
            constants: RecordedValues::Nothing,
            linked: false,
            metadata: None,
            format: FORMAT_NATIVE,
            payload: &native.payload,
        })
        .collect()
}

pub fn notes() -> Vec<(String, String)> {
    vec![("tool".to_owned(), "tests".to_owned()), ("march".to_owned(), "avx2".to_owned())]
}

pub fn try_embedded(file: &[u8], natives: &[Native]) -> Result<Vec<u8>> {
    let host = Host::read(file)?;
    let bundle = Bundle::read(&host)?;
    embed(&host, &bundle, &additions(natives), &notes()).map(Draft::into_vec)
}

/// Tells whether images can be embedded before any is compiled.
pub fn foreseen(file: &[u8], natives: &[Native]) -> Result<()> {
    let host = Host::read(file)?;
    let bundle = Bundle::read(&host)?;
    let planned: Vec<_> =
        additions(natives).into_iter().map(|addition| Addition { payload: &[], ..addition }).collect();
    possible(&host, &bundle, &planned)
}

pub fn embedded(file: &[u8], natives: &[Native]) -> Vec<u8> {
    try_embedded(file, natives).unwrap()
}

/// View of the runtime once `natives` are added to a file of which it sees `before`: an added image has all of
/// its source but target, format and payload.
pub fn expected(before: &Loaded, natives: &[Native]) -> Loaded {
    let mut after = before.clone();
    let places: HashMap<usize, (usize, &LoadedImage)> = before
        .descriptors
        .iter()
        .enumerate()
        .flat_map(|(place, images)| images.iter().map(move |image| (place, image)))
        .enumerate()
        .collect();
    for native in natives {
        let (place, source) = places[&native.source];
        after.descriptors[place].push(LoadedImage {
            target: native.target.to_owned(),
            format: FORMAT_NATIVE,
            payload_size: native.payload.len(),
            payload_digest: fnv1a(&native.payload),
            ..source.clone()
        });
    }
    after
}

pub fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap()
}

/// Rewrites the file of a form, loads the result and compares; returns the original and the result.
pub fn check(form: &Fixture) -> (Vec<u8>, Vec<u8>) {
    let file = form.build();
    let before = load(&file);
    assert_eq!(before.descriptors, form.expected().descriptors, "{}", file.display());
    let original = read(&file);
    let natives = natives(&original);
    assert!(!natives.is_empty());
    foreseen(&original, &natives).unwrap();
    let rewritten = embedded(&original, &natives);
    let after = load(&Folder::new().file("rewritten", &rewritten));
    same(&after, &expected(&before, &natives), &file.display().to_string());
    (original, rewritten)
}

/// Compares, and says of a difference where it is: the images as a whole fill pages.
pub fn same(seen: &Loaded, expected: &Loaded, what: &str) {
    let brief = |loaded: &Loaded| {
        let image = |image: &LoadedImage| format!("{} {:?} {}", image.target, image.entries, image.payload_size);
        let lists = loaded.descriptors.iter();
        lists.map(|images| images.iter().map(image).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(brief(seen), brief(expected), "{what}");
    assert_eq!(seen, expected, "{what}");
}

/// Removes the images whose index and target a condition takes.
pub fn pruned(file: &[u8], gone: &dyn Fn(usize, &str) -> bool) -> Edited {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let images = bundle.images.iter().filter(|image| gone(image.index, image.target));
    layers::edit(file, &images.map(|image| image.index).collect(), &[], &notes()).unwrap()
}

/// Removes images as [`pruned`] does, and lets their pages leave the file.
pub fn shrunk(file: &[u8], gone: &dyn Fn(usize, &str) -> bool) -> Edited {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let images = bundle.images.iter().filter(|image| gone(image.index, image.target));
    layers::edit_in(file, &images.map(|image| image.index).collect(), &[], &notes(), true).unwrap()
}

/// View of the runtime without these images.
pub fn without(before: &Loaded, gone: &dyn Fn(usize, &str) -> bool) -> Loaded {
    let mut after = before.clone();
    let mut index = 0;
    for images in &mut after.descriptors {
        images.retain(|image| {
            index += 1;
            !gone(index - 1, &image.target)
        });
    }
    after
}
