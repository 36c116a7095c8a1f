//! Does `inspect` report the images that the runtime sees, all of them, with their properties, and `extract` write them?

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use rayon::prelude::*;
use serde_json::Value;

use crate::judges::{Seen, SeenImage, digest, seen};
use crate::tool::{inspect, tool};
use crate::world::{succeed, world};

/// Documents of the tool about every library, in the order of [`seen`].
fn inspected() -> &'static Vec<Value> {
    static INSPECTED: std::sync::OnceLock<Vec<Value>> = std::sync::OnceLock::new();
    INSPECTED.get_or_init(|| seen().keys().collect::<Vec<_>>().par_iter().map(|library| inspect(library)).collect())
}

#[test]
fn every_image_is_what_lies_in_the_memory_of_a_process() {
    let mut differences = Vec::new();
    let mut of_packages = 0;
    for ((library, seen), reported) in seen().iter().zip(inspected()) {
        let reported: Vec<String> = images(reported).iter().map(of_report).collect();
        let seen: Vec<String> = seen.images.iter().map(of_memory).collect();
        if library.starts_with(world().site_packages()) {
            of_packages += seen.len();
        }
        differences.extend(difference(library, &seen, &reported));
        // Libraries linked from several wrapped objects have several descriptors, whose order in the file need not
        // be that of their constructors. Elsewhere the order of images is the array's.
        if counted(&seen) == counted(&reported) && library.starts_with(world().site_packages()) && seen != reported {
            differences.push(format!("{}: the images are right, their order is not", library.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(of_packages >= 17_716, "dpnp and dpctl have at least 17,716 images, seen: {of_packages}");
}

#[test]
fn every_payload_is_one_that_the_runtime_dumps() {
    let mut differences = Vec::new();
    for ((library, seen), reported) in seen().iter().zip(inspected()) {
        // The runtime dumps no image without entries.
        let dumped = |image: &&Value| !entries(image).is_empty();
        let payloads: Vec<String> = images(reported).iter().filter(dumped).map(|image| str(&image["blake3"])).collect();
        let dumps: Vec<String> =
            seen.dumps.iter().flat_map(|(payload, times)| std::iter::repeat_n(payload.clone(), *times)).collect();
        differences.extend(difference(library, &dumps, &payloads));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Judgement by crate `cpp_demangle` alone; the tool has a shorter way through plain names.
#[test]
fn kernels_are_demangled_as_the_whole_grammar_has_it() {
    let mut count = 0;
    for image in inspected().iter().flat_map(images) {
        let names = |field: &str| image[field].as_array().unwrap().iter().map(str).collect::<Vec<String>>();
        let (mangled, demangled) = (names("kernels"), names("demangled"));
        assert_eq!(mangled.len(), demangled.len());
        for (mangled, demangled) in mangled.into_iter().zip(demangled) {
            let whole = match cpp_demangle::Symbol::new(&mangled) {
                Ok(symbol) if mangled.starts_with("_Z") => symbol.demangle().unwrap_or(mangled.clone()),
                _ => mangled.clone(),
            };
            assert_eq!(demangled, whole.strip_prefix("typeinfo name for ").unwrap_or(&whole), "{mangled}");
            count += 1;
        }
    }
    assert!(count >= 17_000, "{count}");
}

#[test]
fn extracted_files_hold_the_payloads_inflated() {
    let compressed = world().root().join("venv/lib/libmkl_sycl_dft.so.6");
    for library in [world().window(), world().backend(), compressed] {
        let folder = tempfile::tempdir().unwrap();
        succeed(tool().arg("extract").arg(&library).arg("-o").arg(folder.path()));
        let Seen { images, .. } = &seen()[&library];
        let wanted: Vec<String> = images.iter().map(|image| image.payload.clone()).collect();
        let table = std::fs::read_to_string(folder.path().join("images.table")).unwrap();
        let (title, rows) = table.split_once('\n').unwrap();
        let column = title.trim_matches(['[', ']']).split('|').position(|name| name == "Code").unwrap();
        let written: Vec<String> = rows
            .lines()
            .map(|row| folder.path().join(row.split('|').nth(column).unwrap()))
            .map(|file| digest(&std::fs::read(file).unwrap()))
            .collect();
        let difference = difference(&library, &wanted, &written);
        assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
}

fn images(file: &Value) -> &Vec<Value> {
    assert_eq!(file["problems"].as_array().map(Vec::len), Some(0), "{}: {}", file["path"], file["problems"]);
    file["images"].as_array().unwrap()
}

fn entries(image: &Value) -> Vec<String> {
    image["entries"].as_array().unwrap().iter().map(str).collect()
}

fn str(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// All that both sides know of an image, as one comparable text: what the tool reports.
fn of_report(image: &Value) -> String {
    let properties = image["properties"].as_object().unwrap().iter().map(|(set, properties)| {
        let properties = properties.as_object().unwrap().iter().map(|(name, property)| {
            let value = &property["value"];
            let (kind, hex) = match property["type"].as_str() {
                Some("u32") => (1, hex(&u32::try_from(value.as_u64().unwrap()).unwrap().to_le_bytes())),
                Some("bytes") => {
                    let bytes = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap());
                    (2, hex(&bytes.unwrap()))
                }
                other => panic!("property type {other:?}"),
            };
            format!("{name}={kind}:{hex}")
        });
        format!("{set}[{}]", properties.collect::<Vec<_>>().join(","))
    });
    text(
        [&image["target"], &image["compile_options"], &image["link_options"]],
        [&image["size"], &image["stored_size"]],
        image["compression"] == "zstd",
        &str(&image["blake3"]),
        &entries(image),
        &properties.collect::<Vec<_>>(),
    )
}

/// Text of an image as seen in memory.
fn of_memory(image: &SeenImage) -> String {
    let facts = &image.facts;
    let properties = facts["properties"].as_array().unwrap().iter().map(|set| {
        let properties = set[1].as_array().unwrap().iter();
        let properties = properties.map(|p| format!("{}={}:{}", str(&p[0]), p[1], str(&p[2])));
        format!("{}[{}]", str(&set[0]), properties.collect::<Vec<_>>().join(","))
    });
    text(
        [&facts["target"], &facts["compile_options"], &facts["link_options"]],
        [&Value::from(image.size), &facts["stored_size"]],
        facts["format"] == 4,
        &image.payload,
        &entries(facts),
        &properties.collect::<Vec<_>>(),
    )
}

fn text(
    strings: [&Value; 3],
    sizes: [&Value; 2],
    zstd: bool,
    payload: &str,
    entries: &[String],
    properties: &[String],
) -> String {
    format!("{strings:?} sizes {sizes:?} zstd {zstd} payload {payload} entries {entries:?} properties {properties:?}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn counted(items: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item.as_str()).or_default() += 1;
    }
    counts
}

/// Images that one side has and the other lacks, the first few of each; none where both have the same.
fn difference(library: &Path, wanted: &[String], reported: &[String]) -> Option<String> {
    let (want, have) = (counted(wanted), counted(reported));
    let lacking = |a: &BTreeMap<&str, usize>, b: &BTreeMap<&str, usize>| -> Vec<String> {
        a.iter().filter(|(item, n)| b.get(*item).unwrap_or(&0) < n).map(|(item, _)| (*item).to_owned()).collect()
    };
    let (missing, surplus) = (lacking(&want, &have), lacking(&have, &want));
    let show = |items: &[String]| items.iter().take(3).map(|item| format!("\n    {item}")).collect::<String>();
    (!missing.is_empty() || !surplus.is_empty()).then(|| {
        format!(
            "{}: {} wanted, {} reported\n  {} missing:{}\n  {} surplus:{}",
            library.display(),
            wanted.len(),
            reported.len(),
            missing.len(),
            show(&missing),
            surplus.len(),
            show(&surplus)
        )
    })
}
