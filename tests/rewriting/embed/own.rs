//! Do added images that name a device of their own have their source's everything and that name, beside others that share
//! their source's tables?

use crate::support::host::{Fixture, Kind, Linker, LoadedImage, Strip, fnv1a, load, matrix};
use std::path::Path;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::Record;
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, earlier_additions, embed, original_indexes, possible};
use sycl_bundle::rewrite::specialize::RecordedValues;

use crate::support::embedding::{notes, read};
use crate::support::folder::Folder;

/// The source, the device and the code.
type Native = (usize, Option<&'static str>, Vec<u8>);

const DEVICES: [Option<&str>; 3] = [None, Some("intel_gpu_pvc"), Some("intel_gpu_acm_g10")];

/// For each SPIR-V image whose symbols are its own one of a CPU and two of GPUs, told apart by their payloads.
fn additions(bundle: &Bundle<'_>) -> Vec<Native> {
    let is_own = |image: &&Image<'_>| image.target == "spir64" && image.entries != ["add_one"];
    let own = bundle.images.iter().filter(is_own).filter(|image| image.compile_target().is_none());
    let of = |index: usize| DEVICES.map(|device| (index, device, format!("native {index} {device:?}").into_bytes()));
    own.flat_map(|image| of(image.index)).collect()
}

fn borrowed<'a>(all: &'a [Native]) -> Vec<Addition<'a>> {
    let one = |(source, device, payload): &'a Native| Addition {
        source: *source,
        target: if device.is_some() { "spir64_gen" } else { "spir64_x86_64" },
        compile_target: *device,
        constants: RecordedValues::Nothing,
        linked: false,
        metadata: None,
        format: FORMAT_NATIVE,
        payload,
    };
    all.iter().map(one).collect()
}

fn rewritten(file: &[u8]) -> (Vec<u8>, Vec<Native>) {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let all = additions(&bundle);
    assert!(!all.is_empty());
    possible(&host, &bundle, &borrowed(&all)).unwrap();
    (embed(&host, &bundle, &borrowed(&all), &notes()).unwrap().into_vec(), all)
}

/// The device that an image names, and its property sets without that.
fn told_apart(image: &LoadedImage) -> (Option<String>, Vec<(String, Vec<String>)>) {
    let mut device = None;
    let mut sets = Vec::new();
    for (name, properties) in &image.sets {
        let mut rest = Vec::new();
        for (key, value) in properties {
            let value = format!("{value:?}");
            if key == "compile_target" { device = Some(value) } else { rest.push(format!("{key}={value}")) }
        }
        if !rest.is_empty() || properties.is_empty() {
            sets.push((name.clone(), rest));
        }
    }
    (device, sets)
}

fn check(file: &Path) {
    let original = read(file);
    let before = load(file);
    let (bytes, all) = rewritten(&original);
    let after = load(&Folder::new().file("rewritten", &bytes));
    let (old, new) = (before.images(), after.images());
    assert_eq!(new.len(), old.len() + all.len());
    for (source, device, payload) in &all {
        let image = new.iter().find(|image| image.payload_digest == fnv1a(payload)).unwrap();
        let source = old[*source];
        let names = |image: &LoadedImage| image.entries.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(image), names(source));
        assert_eq!((&image.compile_options, &image.link_options), (&source.compile_options, &source.link_options));
        assert_eq!((image.version, image.format), (source.version, FORMAT_NATIVE));
        let ((named, sets), (none, of_source)) = (told_apart(image), told_apart(source));
        assert_eq!(sets, of_source, "{device:?}");
        assert_eq!((named.is_some(), none), (device.is_some(), None));
        let codes = |text: &str| text.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        if let (Some(named), Some(device)) = (named, device) {
            assert!(named.contains(device) || named.contains(&codes(device)), "{named}");
        }
    }
    // The old ones are what they were.
    for image in old {
        assert!(new.contains(&image), "{}", image.target);
    }
}

#[test]
fn they_load_with_sets_of_their_own() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        for (linker, strip) in [(Linker::Gnu, Strip::Nothing), (Linker::Lld, Strip::SectionHeaders)] {
            check(&matrix::units(Fixture::new("own"), 1).kind(kind).linker(linker).strip(strip).build());
        }
    }
}

#[test]
fn a_later_run_finds_their_sources_and_replaces_them() {
    let original = read(&matrix::units(Fixture::new("own_again"), 1).build());
    let (once, all) = rewritten(&original);
    let host = Host::read(&once).unwrap();
    let embedded = Bundle::read(&host).unwrap();
    let restored = beneath::restore(&Record::find(&host).unwrap(), &host).unwrap().bytes;
    assert!(restored == original);
    let below = Host::read(&restored).unwrap();
    let restored = Bundle::read(&below).unwrap();

    let mut found: Vec<_> = earlier_additions(&embedded, &restored)
        .iter()
        .map(|addition| (addition.source, addition.compile_target, addition.payload.to_vec()))
        .collect();
    found.sort();
    let mut expected: Vec<_> =
        all.iter().map(|(source, device, payload)| (*source, *device, payload.clone())).collect();
    expected.sort();
    assert_eq!(found, expected);
    let numbers = original_indexes(&embedded, &restored);
    assert_eq!(numbers.len(), embedded.images.len());

    // Without a way back to the original, an addition takes the place of the one of its device.
    let again: Vec<_> = all.iter().filter(|(_, device, _)| *device == DEVICES[1]).cloned().collect();
    let own = |source: usize| {
        let same = |image: &&sycl_bundle::bundle::image::Image<'_>| {
            image.target == "spir64" && numbers[&image.index] == source
        };
        embedded.images.iter().find(same).unwrap().index
    };
    let again: Vec<_> = again.into_iter().map(|(source, device, _)| (own(source), device, b"anew".to_vec())).collect();
    let twice = embed(&host, &embedded, &borrowed(&again), &notes()).unwrap();
    let host = Host::read(&twice).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert_eq!(bundle.images.len(), embedded.images.len());
    // A source may name a device itself.
    let of = |device: &str| {
        let native = bundle.images.iter().filter(|image| image.target == "spir64_gen");
        native.filter(|image| image.compile_target() == Some(device)).collect::<Vec<_>>()
    };
    assert!(of("intel_gpu_pvc").iter().all(|image| image.stored == b"anew"));
    assert!(of("intel_gpu_acm_g10").iter().all(|image| image.stored != b"anew"));
}
