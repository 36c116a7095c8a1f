//! Does the reader see in every form of file what the runtime sees when that file is loaded?

use std::path::Path;

use crate::support::host::{self, Fixture, Kind, Linker, Relocations, Strip, load, matrix, samples, view};
use crate::support::spirv;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::error::{Error, ErrorKind};
use sycl_bundle::spirv::Module;

fn with<T>(bytes: &[u8], look: impl FnOnce(&Bundle) -> T) -> T {
    let host = Host::read(bytes).unwrap();
    look(&Bundle::read(&host).unwrap())
}

fn error(bytes: &[u8]) -> Error {
    let host = Host::read(bytes).unwrap();
    Bundle::read(&host).unwrap_err()
}

fn bytes(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap()
}

#[test]
fn every_form_reads_as_it_loads() {
    let forms = [matrix::forms(), matrix::layouts()].concat();
    assert!(forms.iter().filter(|form| form.loads()).count() > 60, "{}", forms.len());
    matrix::each(&forms, |form| {
        let file = form.build();
        let loaded = if form.loads() { load(&file) } else { form.expected() };
        with(&bytes(&file), |bundle| {
            assert_eq!(view(bundle), loaded.descriptors, "{}", file.display());
            assert!(bundle.problems.is_empty(), "{}: {:?}", file.display(), bundle.problems);
            let indices: Vec<usize> = bundle.images.iter().map(|image| image.index).collect();
            assert!(indices.iter().copied().eq(0..indices.len()));
        });
    });
}

#[test]
fn the_offset_of_a_payload_is_where_it_stands() {
    for kind in [Kind::Shared, Kind::NoPie] {
        let file = bytes(&matrix::units(Fixture::new("offsets"), 2).kind(kind).build());
        with(&file, |bundle| {
            for image in &bundle.images {
                let at = usize::try_from(image.offset).unwrap();
                assert_eq!(&file[at..at + image.stored.len()], image.stored);
            }
        });
    }
}

#[test]
fn compressed_images_inflate() {
    let file = bytes(&matrix::units(Fixture::new("compressed"), 0).build());
    with(&file, |bundle| {
        let compressed: Vec<_> = bundle.images.iter().filter(|image| image.compression().is_some()).collect();
        assert_eq!(compressed.len(), 1);
        assert_eq!(compressed[0].contents().unwrap(), spirv::module("count"));
    });
}

#[test]
fn the_compiler_and_its_runtime_are_known() {
    for (version, major, abi) in [(1, 2025, 8), (2, 2025, 8), (3, 2026, 9)] {
        let file = bytes(&matrix::units(Fixture::new("producer"), 0).version(version).build());
        let host = Host::read(&file).unwrap();
        assert_eq!(host.producer.as_ref().unwrap().major, Some(major));
        assert_eq!(host.sycl_abi, Some(abi));
    }
}

/// Name, kernels, imports, ids of specialization constants, used aspects.
type Facts = (&'static str, &'static [&'static str], &'static [&'static str], &'static [u32], &'static [&'static str]);

const MODULES: [Facts; 8] = [
    ("add_constant", &["add_constant"], &[], &[7], &[]),
    ("add_one", &["add_one"], &[], &[], &[]),
    ("backend", &["scale", "copy"], &[], &[], &["fp64"]),
    ("calls_import", &["calls_import"], &["imported"], &[], &[]),
    ("count", &["count"], &[], &[], &["atomic64"]),
    ("halve", &["halve"], &[], &[], &["fp64"]),
    ("twice_half", &["twice_half"], &[], &[], &["fp16"]),
    ("two_kernels", &["add_two", "negate"], &[], &[], &[]),
];

#[test]
fn bare_modules_show_their_facts() {
    for (name, kernels, imports, constants, aspects) in MODULES {
        let module = spirv::module(name);
        with(&module, |bundle| {
            assert_eq!(bundle.images.len(), 1);
            let image = &bundle.images[0];
            assert_eq!((image.stored, image.offset, image.target), (&module[..], 0, "spir64"));
            assert!(image.origin.is_none() && bundle.problems.is_empty());
        });
        let facts = Module::parse(&module).unwrap();
        assert_eq!(facts.kernels().collect::<Vec<_>>(), kernels, "{name}");
        assert_eq!(facts.imports, imports, "{name}");
        assert_eq!(facts.spec_constants, constants, "{name}");
        assert_eq!(facts.used_aspects.iter().copied().collect::<Vec<_>>(), aspects, "{name}");
        assert!(facts.stopped.is_none(), "{name}");
    }
}

#[test]
fn a_file_without_device_code_says_so() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        let error = error(&bytes(&Fixture::new("host_only").kind(kind).build()));
        assert_eq!(error.kind(), ErrorKind::NoDeviceCode, "{kind:?}");
    }
}

/// File offsets of all descriptors.
fn descriptors(file: &[u8]) -> Vec<usize> {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let places = bundle.descriptors.iter().map(|found| host.addresses.file_offset(found.address).unwrap());
    places.map(|at| usize::try_from(at).unwrap()).collect()
}

#[test]
fn a_damaged_descriptor_is_no_missing_device_code() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        for (tgtimg, strip) in [(true, Strip::Nothing), (false, Strip::Nothing), (true, Strip::SectionHeaders)] {
            let form = matrix::units(Fixture::new("damaged"), 0).kind(kind).tgtimg(tgtimg).strip(strip);
            let mut file = bytes(&form.build());
            for at in descriptors(&file) {
                file[at] = 9;
            }
            let error = error(&file);
            assert_eq!(error.kind(), ErrorKind::Input, "{kind:?} {tgtimg} {strip:?}: {error}");
            assert!(error.offset().is_some() && error.remedy().is_some(), "{error:?}");
        }
    }
}

#[test]
fn an_image_that_only_tgtimg_lists_is_a_problem() {
    for (kind, linker) in [(Kind::Shared, Linker::Gnu), (Kind::Shared, Linker::Lld), (Kind::NoPie, Linker::Gnu)] {
        let form = matrix::units(Fixture::new("missed"), 1).kind(kind).linker(linker);
        let mut file = bytes(&form.build());
        // The second unit's only image is in no list any more.
        let at = descriptors(&file)[1];
        file[at] = 9;
        with(&file, |bundle| {
            assert_eq!(view(bundle), form.expected().descriptors[..1]);
            let problems: Vec<String> = bundle.problems.iter().map(|problem| problem.error.to_string()).collect();
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].starts_with("1 images that section .tgtimg lists"), "{problems:?}");
        });
    }
}

#[test]
fn a_damaged_image_leaves_the_others() {
    let form = matrix::units(Fixture::new("one_damaged"), 1);
    let mut file = bytes(&form.build());
    let host = Host::read(&file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let at = host.addresses.file_offset(bundle.images[3].origin.unwrap().address).unwrap();
    drop(bundle);
    drop(host);
    file[usize::try_from(at).unwrap()] = 7;
    with(&file, |bundle| {
        let indices: Vec<usize> = bundle.images.iter().map(|image| image.index).collect();
        assert_eq!(indices, [0, 1, 2, 4, 5, 6, 7, 8]);
        let of_image: Vec<_> = bundle.problems.iter().filter_map(|problem| problem.image).collect();
        assert_eq!(of_image, [3]);
        assert_eq!(bundle.problems[0].error.offset(), Some(at));
    });
}

#[test]
fn a_file_of_rel_is_read_though_it_does_not_load() {
    let file = matrix::units(Fixture::new("rel"), 0).linker(Linker::Lld).relocations(Relocations::Rel).build();
    let refused = host::load_result(&[&file]).unwrap_err();
    assert!(refused.contains("exit status"), "{refused}");
    with(&bytes(&file), |bundle| assert_eq!(bundle.images.len(), samples::every_property().len()));
}
