//! Does `props` list each property that lies in the memory of a process, and write it as DPC++'s tools read it?

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use rayon::prelude::*;
use serde_json::Value;
use sycl_bundle::bytes::hex;

use crate::judges::{Seen, seen};
use crate::tool::tool;
use crate::world::{succeed, world};

#[test]
fn every_property_is_what_lies_in_the_memory_of_a_process() {
    let all: Vec<(_, &Seen)> = seen().iter().collect();
    let compared: usize = all
        .par_iter()
        .map(|(library, seen)| {
            let mut expected: Vec<Vec<String>> = seen.images.iter().map(|image| of_memory(&image.facts)).collect();
            let mut reported = reported(library, expected.len());
            if library.starts_with(world().site_packages()) {
                assert!(expected == reported, "{}", library.display());
            }
            // Several descriptors of one file need not be in the order of their constructors.
            expected.sort();
            reported.sort();
            assert!(expected == reported, "{}", library.display());
            expected.iter().map(Vec::len).sum::<usize>()
        })
        .sum();
    assert!(compared > 50_000, "{compared}");
}

/// The properties of an image, of which a process holds the bytes.
fn of_memory(image: &Value) -> Vec<String> {
    let mut properties = Vec::new();
    for set in image["properties"].as_array().unwrap() {
        for property in set[1].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            properties.push(format!(
                "{}/{}: {} {}",
                text(&set[0]),
                text(&property[0]),
                property[1],
                text(&property[2])
            ));
        }
    }
    properties
}

/// The properties of each image of a library, as the tool lists them.
fn reported(library: &Path, images: usize) -> Vec<Vec<String>> {
    let output = succeed(tool().arg("props").arg(library).args(["--format", "jsonl"]));
    let mut found: BTreeMap<usize, Vec<String>> = (0..images).map(|image| (image, Vec::new())).collect();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).unwrap();
        let (kind, bytes) = match line["type"].as_str() {
            Some("u32") => (1, u32::try_from(line["value"].as_u64().unwrap()).unwrap().to_le_bytes().to_vec()),
            Some("bytes") => {
                (2, base64::engine::general_purpose::STANDARD.decode(line["value"].as_str().unwrap()).unwrap())
            }
            other => panic!("property type {other:?}"),
        };
        let image = usize::try_from(line["image"].as_u64().unwrap()).unwrap();
        let (set, name) = (line["set"].as_str().unwrap(), line["name"].as_str().unwrap());
        found.entry(image).or_default().push(format!("{set}/{name}: {kind} {}", hex(&bytes)));
    }
    found.into_values().collect()
}

/// A module and the text of its image's properties make the image again.
#[test]
fn the_text_of_an_image_makes_its_properties_again() {
    let folder = tempfile::tempdir().unwrap();
    let (module, text, made) =
        (folder.path().join("m.spv"), folder.path().join("m.txt"), folder.path().join("made.table"));
    let library = world().window();
    succeed(tool().arg("extract").arg(&library).args(["--image", "19", "-o"]).arg(&module));
    let output = succeed(tool().arg("props").arg(&library).args(["--image", "19", "--format", "text"]));
    std::fs::write(&text, output.stdout).unwrap();
    succeed(tool().arg("wrap").arg(&module).arg("--properties").arg(&text).arg("-o").arg(&made));
    assert_eq!(reported(&made, 1)[0], of_memory(&seen()[&library].images[19].facts));
}
