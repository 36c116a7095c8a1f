//! Does any damage to a file make the reader panic, hang, take too much memory, or complain without saying where?
//!
//! Cut and mutated copies of a library, files forged here to cost far more
//! than their size, and what fuzzing has found (`fixtures/hostile/`), all through the library in this process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod alike;
mod beside;
mod bitcode;
#[path = "../../fuzz/bodies.rs"]
mod bodies;
mod cached;
mod confined;
mod copied;
mod costly;
mod cpu;
mod cut_off;
mod declared;
mod embedding;
mod forged;
mod formed;
mod given_back;
mod handed;
mod images;
mod inflated;
mod judged;
mod linked;
mod loader;
mod meter;
mod native;
mod outputs;
mod processes;
mod products;
mod program;
mod recorded;
mod regions;
mod repeated;
mod rewritten;
mod shown;
mod sizes;
mod strangers;
#[path = "../support/mod.rs"]
mod support;
mod unlinked;
mod windows;

use std::io::{Cursor, Read, Write as _};
use std::path::Path;

use meter::Meter;
use regions::Regions;
use support::host::{Fixture, samples};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::container::Host;
use sycl_bundle::error::{Error, ErrorKind};
use sycl_bundle::rewrite::wheel::repack;
use sycl_bundle::spirv::Module;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Ending of a reading.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Ending {
    Sound,
    WithProblems,
    Refused,
}

/// Reads everything there is to read. Whatever is wrong has to come with its offset.
fn examine(bytes: &[u8]) -> Ending {
    let bundle_of = |host: &Host<'_>| -> Result<bool, Error> {
        let bundle = Bundle::read(host)?;
        for problem in &bundle.problems {
            placed(&problem.error);
        }
        for image in &bundle.images {
            let (_, _, _) = (image.kernels(), image.exports(), image.imports());
            let (_, _, _) = (image.state(), image.format(), Requirements::read(image, bundle.epoch));
            match image.contents() {
                // Only whether parsing is harmless is of interest here, not the result.
                Ok(contents) => drop(Module::parse(&contents)),
                Err(error) => placed(&error),
            }
        }
        Ok(bundle.problems.is_empty())
    };
    match Host::read(bytes).and_then(|host| bundle_of(&host)) {
        Ok(true) => Ending::Sound,
        Ok(false) => Ending::WithProblems,
        Err(error) => {
            if error.kind() != ErrorKind::NoDeviceCode {
                placed(&error);
            }
            Ending::Refused
        }
    }
}

fn placed(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Input, "{error:?}");
    assert!(error.offset().is_some() || error.to_string().contains("0x"), "an error without a place: {error:?}");
}

/// A library with many images.
fn sample() -> Vec<u8> {
    let every = samples::every_property();
    let more = ["add_one", "add_constant", "count", "halve", "twice_half"].map(samples::image).to_vec();
    std::fs::read(Fixture::new("hurt").images(every).images(more).build()).unwrap()
}

#[test]
fn a_file_cut_anywhere_is_refused_or_read_with_problems() {
    let file = sample();
    let mut meter = Meter::new();
    assert_eq!(examine(&file), Ending::Sound);
    // All loadable bytes and what finds them end here; behind are section headers, which reading does not need.
    let needed = Regions::read(&file).loaded_end;
    for cut in 0..4096 {
        let length = file.len() * cut / 4096;
        let ending = meter.run(&format!("cut to {length} bytes"), length, || examine(&file[..length]));
        assert!(length >= needed || ending != Ending::Sound, "cut to {length} bytes of {needed} needed, yet sound");
    }
}

#[test]
fn a_file_mutated_where_it_hurts_is_survived() {
    let original = sample();
    let regions = Regions::read(&original);
    let mut file = original.clone();
    let mut random = regions::Random::new(0x5359_434c);
    let mut meter = Meter::new();
    let mut endings = [0usize; 3];
    for case in 0..20_000 {
        let changed = regions.mutate(&mut file, &mut random);
        let what = format!("mutation {case}: {changed:x?}");
        endings[meter.run(&what, file.len(), || examine(&file)) as usize] += 1;
        for (offset, length) in changed {
            file[offset..offset + length].copy_from_slice(&original[offset..offset + length]);
        }
    }
    assert_eq!(file, original, "every mutation was undone");
    // Mutations that all miss, or all break the first header, would prove nothing.
    assert!(endings.iter().all(|&count| count > 500), "sound, with problems, refused: {endings:?}");
}

#[test]
fn a_forged_file_costs_no_more_than_its_size_warrants() {
    let mut meter = Meter::new();
    let forged = forged::all();
    let outcome = |(name, file): &(&str, Vec<u8>)| {
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meter.run(name, file.len(), || examine(file))));
        result.is_err().then(|| (*name).to_owned())
    };
    let failed: Vec<String> = forged.iter().filter_map(outcome).collect();
    assert!(failed.is_empty(), "see above: {failed:#?}");
}

/// `fixtures/hostile/BODY/*`: what fuzzing has found, and small inputs that reach far.
#[test]
fn finds_of_the_fuzzers_stay_harmless() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hostile");
    let mut meter = Meter::new();
    for (name, body) in bodies::BODIES {
        let mut replayed = 0;
        for entry in std::fs::read_dir(folder.join(name)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            meter.run(&path.display().to_string(), bytes.len(), || {
                body(&bytes);
                examine(&bytes)
            });
            replayed += 1;
        }
        assert!(replayed > 0, "fixtures/hostile/{name} is empty");
    }
}

#[test]
fn a_record_of_many_lines_costs_no_more_than_its_text() {
    let lines: String = (0..2_000_000).map(|nth| format!("{nth:x}\n")).collect();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [("a/l.so", "old"), ("x-1.dist-info/RECORD", lines.as_str())] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    let wheel = writer.finish().unwrap().into_inner();
    let new = |name: &str| (name == "a/l.so").then(|| Ok(Box::new(&b"new"[..]) as Box<dyn Read>));
    let mut meter = Meter::new();
    let repacked = meter.run("a RECORD of many lines", wheel.len(), || repack(&wheel, &new, Cursor::new(Vec::new())));
    assert_eq!(repacked.unwrap().changed, 1);
}
