//! Do images leave a file so that it loads and shows the others, and comes back whole where that was asked?

use std::collections::{BTreeMap, HashSet};

use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::error::ErrorKind;
use sycl_bundle::rewrite::embed::record::{Layer, Record};
use sycl_bundle::rewrite::image_data::OutImage;
use sycl_bundle::rewrite::layers::{self, Before};

use crate::support::embedding::{
    Native, additions, embedded, expected, natives, notes, pruned, read, same, shrunk, without,
};
use crate::support::folder::Folder;
use crate::support::host::{Fixture, ImageSpec, Kind, Linker, Loaded, Relocations, load, matrix, samples};
use crate::support::spirv;

/// Prunes, loads and compares; the file keeps its length and its code.
fn check(form: &Fixture, gone: &dyn Fn(usize, &str) -> bool) {
    let file = form.build();
    let (original, before) = (read(&file), load(&file));
    let edited = pruned(&original, gone);
    let what = file.display().to_string();
    same(&load(&Folder::new().file("pruned", &edited.bytes)), &without(&before, gone), &what);
    assert_eq!(edited.bytes.len(), original.len(), "{what}");
    let elf = goblin::elf::Elf::parse(&original).unwrap();
    for section in elf.section_headers.iter().filter(|section| section.sh_flags & 4 != 0 && section.sh_type != 8) {
        let range = section.file_range().unwrap();
        assert!(edited.bytes[range.clone()] == original[range], "{what}: code changed");
    }
    let shrunk = shrunk(&original, gone);
    same(&load(&Folder::new().file("shrunk", &shrunk.bytes)), &without(&before, gone), &what);
    assert_eq!(shrunk.bytes.len() as u64 + shrunk.cut, original.len() as u64, "{what}");
    // No byte of a payload that is gone is left.
    let host = Host::read(&original).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    for image in bundle.images.iter().filter(|image| gone(image.index, image.target) && !image.stored.is_empty()) {
        let shared = bundle.images.iter().any(|other| {
            !gone(other.index, other.target) && other.origin.unwrap().payload == image.origin.unwrap().payload
        });
        let at = usize::try_from(image.offset).unwrap();
        let zero = edited.bytes[at..at + image.stored.len()].iter().all(|byte| *byte == 0);
        assert!(zero || shared, "{what}: image {} stays", image.index);
    }
}

#[test]
fn every_loadable_form_loses_images() {
    matrix::each(&matrix::loadable(), |form| {
        // The first, one in the middle, one without entries and one without property sets, so that others with more
        // pointers or fewer take their places.
        for gone in [&[0usize, 3][..], &[5], &[7], &[0, 1, 2, 3, 4, 6, 7], &[1, 2, 5]] {
            check(form, &|index, _| gone.contains(&index));
        }
        check(form, &|_, target| target != "spir64");
    });
}

/// A list of hundreds of images leaves thousands of relocations, of which readers and loaders are to find one to a place.
#[test]
fn hundreds_of_images_leave_a_file_at_once_and_in_steps() {
    let images = (0..520).map(|number| samples::add_one().entry(&format!("k{number}")));
    let form = Fixture::new("hundreds").images(images.collect());
    check(&form, &|index, _| index > 0);
    let original = read(&form.build());
    let first = pruned(&original, &|index, _| index >= 300).bytes;
    let second = pruned(&first, &|index, _| index > 0).bytes;
    let once = pruned(&original, &|index, _| index > 0).bytes;
    let folder = Folder::new();
    same(&load(&folder.file("second", &second)), &load(&folder.file("once", &once)), "in two steps");
}

#[test]
fn every_layout_loses_images() {
    matrix::each(&matrix::layouts(), |form| check(form, &|index, _| matches!(index, 0 | 2 | 5)));
}

#[test]
fn relr_alone_follows() {
    for linker in [Linker::Gnu, Linker::Lld] {
        let form = matrix::units(Fixture::new("relr_pruned"), 2).linker(linker).relocations(Relocations::Relr);
        let form = form.option("-nostartfiles").option("-nostdlib");
        for gone in 0..8usize {
            check(&form, &|index, _| index == gone);
        }
    }
}

/// A list that runs empty next to others that do not stays registered, with no image.
#[test]
fn one_of_several_lists_may_run_empty() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        let form = matrix::units(Fixture::new("emptied"), 2).kind(kind);
        check(&form, &|index, _| index == 8);
        check(&form, &|index, _| index < 8);
    }
}

#[test]
fn the_last_image_stays() {
    let original = read(&matrix::units(Fixture::new("last"), 2).build());
    let all: HashSet<usize> = (0..11).collect();
    let error = layers::edit(&original, &all, &[], &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoMatch, "{error}");
    assert!(error.to_string().contains("no image would be left"), "{error}");
}

#[test]
fn an_undone_build_leaves_no_trace() {
    matrix::each(&matrix::loadable(), |form| {
        let original = read(&form.build());
        let natives = natives(&original);
        let host = Host::read(&original).unwrap();
        let own = Bundle::read(&host).unwrap().images.len();
        // Indexes of what was added: it stands at the end of each list.
        let built = embedded(&original, &natives);
        let payloads: HashSet<&[u8]> = natives.iter().map(|native| native.payload.as_slice()).collect();
        let embedded = Host::read(&built).unwrap();
        let bundle = Bundle::read(&embedded).unwrap();
        let added: HashSet<usize> = bundle
            .images
            .iter()
            .filter(|image| image.origin.unwrap().payload >= Record::locate(&embedded, Layer::Native).unwrap().1)
            .inspect(|image| assert!(payloads.contains(image.stored)))
            .map(|image| image.index)
            .collect();
        assert_eq!(bundle.images.len(), own + added.len());
        let edited = layers::edit(&built, &added, &[], &notes()).unwrap();
        assert!(edited.bytes == original);
        assert_eq!((edited.lifted, edited.zeroed, edited.changed), (natives.len(), 0, false));
        // Nothing to do is nothing done.
        assert!(layers::edit(&built, &HashSet::new(), &[], &notes()).unwrap().bytes == built);
    });
}

/// Whether the image of an index and a target goes.
type Condition<'c> = &'c dyn Fn(usize, &str) -> bool;

/// Sources of builds stay or go without what was built from them, and the other way round.
#[test]
fn native_images_outlive_what_they_were_built_from() {
    for form in matrix::loadable().iter().step_by(2) {
        let file = form.build();
        let original = read(&file);
        let natives = natives(&original);
        let built = embedded(&original, &natives);
        let all = expected(&load(&file), &natives);
        // All of a kind, or every other image whatever it is: some native images lose their source, and others whose source
        // moves keep it.
        let all_of = |target: &'static str| move |_: usize, of: &str| of == target;
        let conditions: [Condition<'_>; 3] =
            [&all_of("spir64"), &all_of("spir64_gen"), &|index, target| index % 2 == 0 && target == "spir64"];
        for (number, gone) in conditions.into_iter().enumerate() {
            for edit in [pruned, shrunk] {
                let edited = edit(&built, gone);
                let what = format!("condition {number}, {}", file.display());
                let seen = load(&Folder::new().file("pruned", &edited.bytes));
                // Native images whose source is gone may stand in another list.
                let flat = |loaded: &Loaded| {
                    let mut images: Vec<String> = loaded.images().iter().map(|image| format!("{image:?}")).collect();
                    images.sort();
                    images
                };
                assert_eq!(flat(&seen), flat(&without(&all, gone)), "{what}");
                // Both use the tables that are there.
                assert!(edited.bytes.len() <= built.len(), "{} of {} bytes: {what}", edited.bytes.len(), built.len());
                // The pruned file can be built from again, or be pruned once more.
                let again = pruned(&edited.bytes, &|index, _| index == 0);
                let count = load(&Folder::new().file("again", &again.bytes)).images().len();
                assert_eq!(count, seen.images().len() - 1, "{what}");
            }
        }
    }
}

fn whole(target: &'static str, entry: &'static str, payload: &[u8]) -> OutImage<'static> {
    OutImage {
        target,
        format: 0,
        compile_options: "-of-its-own",
        link_options: "",
        payload: payload.to_vec().into(),
        entries: vec![entry],
        property_sets: Vec::new(),
    }
}

#[test]
fn images_from_elsewhere_join_and_leave() {
    matrix::each(&matrix::loadable(), |form| {
        let file = form.build();
        let (original, before) = (read(&file), load(&file));
        let what = file.display().to_string();
        let images =
            [whole("spir64", "from_elsewhere", &spirv::module("two_kernels")), whole("nvptx64", "another", b"//ptx")];
        let joined = layers::edit(&original, &HashSet::new(), &images, &notes()).unwrap().bytes;
        let seen = load(&Folder::new().file("joined", &joined));
        let own = before.descriptors[0].len();
        assert_eq!(seen.descriptors[0][..own], before.descriptors[0], "{what}");
        assert_eq!(seen.descriptors[1..], before.descriptors[1..], "{what}");
        let new: Vec<_> = seen.descriptors[0][own..]
            .iter()
            .map(|image| (image.target.as_str(), image.entries[0].1.as_str(), image.payload_size))
            .collect();
        assert_eq!(new, [("spir64", "from_elsewhere", images[0].payload.len()), ("nvptx64", "another", 5)], "{what}");
        // Native images on top are built from them as from the file's own.
        let natives = natives(&joined);
        let built = embedded(&joined, &natives);
        same(&load(&Folder::new().file("built", &built)), &expected(&seen, &natives), &what);
        let undone = |file: &[u8], gone: &dyn Fn(usize, &str) -> bool| pruned(file, gone).bytes;
        let count = seen.images().len();
        let natives_gone = |_: usize, target: &str| target == "spir64_gen" || target == "spir64_x86_64";
        if before.images().iter().all(|image| !natives_gone(0, &image.target)) {
            assert!(undone(&built, &natives_gone) == joined, "{what}");
        }
        assert!(count > own);
        let elsewhere = |index: usize, _: &str| (own..own + 2).contains(&index);
        assert!(undone(&joined, &elsewhere) == original, "{what}");
        // One of the two leaves: as if the other had come alone.
        let one = undone(&joined, &|index, _| index == own);
        assert!(one == layers::edit(&original, &HashSet::new(), &images[1..], &notes()).unwrap().bytes, "{what}");
    });
}

#[test]
fn replacing_goes_by_target_and_entries() {
    let file = matrix::units(Fixture::new("replaced"), 1).build();
    let (original, before) = (read(&file), load(&file));
    let host = Host::read(&original).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let mut image = whole("spir64", "negate", &spirv::module("halve"));
    image.entries = vec!["negate", "add_two"];
    let replaced = layers::replaced(&bundle, std::slice::from_ref(&image));
    // In whatever order they are listed.
    assert_eq!(replaced, HashSet::from([8]));
    let edited = layers::edit(&original, &replaced, std::slice::from_ref(&image), &notes()).unwrap();
    let seen = load(&Folder::new().file("replaced", &edited.bytes));
    assert_eq!(seen.images().len(), before.images().len());
    for (target, entries) in [("spir64_gen", vec!["negate", "add_two"]), ("spir64", vec!["negate"]), ("spir64", vec![])]
    {
        assert_eq!(layers::replaced(&bundle, &[OutImage { target, entries, ..image.clone() }]), HashSet::new());
    }
    // Several may list together what one has, and one more than that.
    let split = [vec!["negate"], vec!["add_two", "more"]].map(|entries| OutImage { entries, ..image.clone() });
    assert_eq!(layers::replaced(&bundle, &split), replaced);
    // The first image names a compile target, which the new one does not.
    let other = whole("spir64", "halve", b"");
    assert!(!layers::replaced(&bundle, &[other]).contains(&0));
}

/// Writes what takes the place of the only image where what it replaces was, however often.
#[test]
fn replacing_the_only_image_again_and_again_grows_no_file() {
    for form in matrix::loadable().iter().step_by(3) {
        let file = form.build();
        let original = read(&file);
        for shrinking in [false, true] {
            let (mut bytes, mut lengths) = (original.clone(), Vec::new());
            for turn in 0..10u8 {
                let image = whole("spir64", "of_the_turn", &[turn; 3000]);
                let all = (0..with(&bytes, |bundle| bundle.images.len())).collect();
                let add = std::slice::from_ref(&image);
                bytes = layers::edit_in(&bytes, &all, add, &notes(), shrinking).unwrap().bytes.to_vec();
                let seen = load(&Folder::new().file("replaced", &bytes));
                assert_eq!(seen.images().len(), 1);
                assert_eq!((seen.images()[0].payload_size, &*seen.images()[0].entries[0].1), (3000, "of_the_turn"));
                with(&bytes, |bundle| assert!(bundle.images[0].stored.iter().all(|byte| *byte == turn)));
                lengths.push(bytes.len());
            }
            assert!(lengths.iter().all(|len| *len == lengths[0]), "{}: {lengths:?}", file.display());
        }
    }
}

/// Each turn builds the native images of all sources that are left, and prunes one of these.
#[test]
fn pruning_and_building_in_turns_grows_no_file() {
    for form in matrix::loadable().iter().step_by(3) {
        let original = read(&form.build());
        for edit in [pruned, shrunk] {
            let mut bytes = original.clone();
            let mut lengths = Vec::new();
            loop {
                let natives = natives(&bytes);
                let Some(source) = natives.iter().map(|native| native.source).min() else { break };
                let built = embedded(&bytes, &natives);
                let count = load(&Folder::new().file("built", &built)).images().len();
                bytes = edit(&built, &|index, _| index == source).bytes.to_vec();
                let what = form.build().display().to_string();
                assert_eq!(load(&Folder::new().file("pruned", &bytes)).images().len(), count - 1, "{what}");
                let stays =
                    |native: &Native| with(&bytes, |all| all.images.iter().any(|it| it.stored == native.payload));
                assert!(natives.iter().all(stays), "{what}");
                lengths.push(bytes.len());
            }
            assert!(lengths.len() > 2 && lengths.iter().all(|len| *len <= lengths[0]), "{lengths:?}");
        }
    }
}

fn with<T>(file: &[u8], look: impl FnOnce(&Bundle<'_>) -> T) -> T {
    look(&Bundle::read(&Host::read(file).unwrap()).unwrap())
}

/// Notes on how native images were made move with them into the layer that no run takes off.
#[test]
fn notes_are_kept_where_a_layer_settles() {
    let notes_of = |file: &[u8], layer: Layer| {
        let record = Record::locate(&Host::read(file).unwrap(), layer);
        record.unwrap().0.notes.into_iter().collect::<BTreeMap<_, _>>()
    };
    let built = |file: &[u8], march: &str, target: &'static str| {
        let host = Host::read(file).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let natives: Vec<Native> = natives(file).into_iter().filter(|native| native.target == target).collect();
        let notes = [("tool", "one"), ("march", march), ("targets", target)];
        let notes = notes.map(|(key, value)| (key.to_owned(), value.to_owned()));
        layers::build(&host, &bundle, &additions(&natives), &notes).unwrap().into_vec()
    };
    let pruned = |file: &[u8]| {
        let source = natives(file).iter().map(|native| native.source).min().unwrap();
        let notes = [("tool".to_owned(), "two".to_owned())];
        layers::edit(file, &HashSet::from([source]), &[], &notes).unwrap().bytes.into_vec()
    };
    let once = pruned(&built(&read(&matrix::units(Fixture::new("replaced"), 1).build()), "avx2", "spir64_x86_64"));
    let expected = |targets: &str, march: &str| {
        let notes = [("tool", "two"), ("march", march), ("targets", targets)];
        notes.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect::<BTreeMap<_, _>>()
    };
    assert_eq!(notes_of(&once, Layer::Settled), expected("spir64_x86_64", "avx2"));
    let twice = built(&once, "skx", "spir64_gen");
    assert_eq!(notes_of(&twice, Layer::Settled), expected("spir64_x86_64", "avx2"));
    assert_eq!(notes_of(&twice, Layer::Native)["targets"], "spir64_gen");
    // Targets stand together, and of all else the newest counts.
    let thrice = pruned(&twice);
    assert_eq!(notes_of(&thrice, Layer::Settled), expected("spir64_gen, spir64_x86_64", "skx"));
    // An image that is added to what is settled drops none of it.
    let add = [whole("spir64", "from_elsewhere", &spirv::module("two_kernels"))];
    let more = layers::edit(&thrice, &HashSet::new(), &add, &[]).unwrap().bytes;
    let kept = notes_of(&more, Layer::Settled);
    assert_eq!((&*kept["tool"], &*kept["targets"]), ("two", "spir64_gen, spir64_x86_64"));
}

/// An image that the linker put in, and a build replaced, comes back: an edit between leaves it below.
#[test]
fn what_a_build_replaced_is_restored_after_an_edit() {
    let image = samples::image("halve");
    let native =
        |text: &str| ImageSpec { payload: text.as_bytes().to_vec(), ..image.clone() }.for_target("spir64_x86_64", 1);
    let form = Fixture::new("twice")
        .images(vec![image.clone(), native("of the first")])
        .images(vec![image.clone(), native("of the second")]);
    let original = read(&form.build());
    let new =
        |payload: &[u8]| [0, 2].map(|source| Native { source, target: "spir64_x86_64", payload: payload.to_vec() });
    let natives = new(b"of a build");
    let built = embedded(&original, &natives);
    assert!(with(&built, |bundle| bundle.images.iter().all(|image| !image.stored.starts_with(b"of the "))));
    // The native image of the last one goes; that of the first one still stands in for the linker's.
    let last = with(&built, |bundle| bundle.images.last().unwrap().index);
    for edit in [pruned, shrunk] {
        let edited = edit(&built, &|index, _| index == last).bytes.to_vec();
        let seen = load(&Folder::new().file("edited", &edited));
        assert_eq!(seen.images().iter().map(|image| image.payload_size).filter(|size| *size == 10).count(), 1);
        assert_eq!(seen.images().len(), 3);
        let Before::File(before) = layers::before(&edited).unwrap() else { panic!("it can be had back") };
        assert!(before == original);
    }
}
