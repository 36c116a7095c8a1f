//! Does a file stay small and whole through turns of building, embedding and pruning, and is restoring exact or refused?
//!
//! Each turn is of a verb's kind. After each the file loads and shows the images that it should; it is no larger than the
//! first file with what it lists beside, and [`MORE`]; and what [`layers::before`] gives has every kernel of the first file
//! that the file has by now.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::container::Host;
use sycl_bundle::error::ErrorKind;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::Record;
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, earlier_additions};
use sycl_bundle::rewrite::image_data::{OutImage, with_payload};
use sycl_bundle::rewrite::layers::{self, Before};
use sycl_bundle::rewrite::specialize::RecordedValues;

use crate::support::embedding::{notes, read};
use crate::support::folder::Folder;
use crate::support::host::{fnv1a, load, matrix};

/// Bytes by which a file may be larger than the first one with the images that it lists beside: two layers at most, each
/// with program headers, section headers, relocations and image tables on pages of their own, behind what is left of a page.
/// Two native images are larger.
const MORE: usize = 48 << 10;
/// Bytes of a native image.
const NATIVE: usize = 30_001;

#[derive(Debug, Clone)]
enum Turn {
    /// Native code of all SPIR-V, for CPUs with the tables of the sources, for a GPU with tables of its own, or both.
    Build { cpu: bool, gpu: bool },
    /// An image with a kernel that no other has.
    Embed,
    /// Another image in the place of one, or beside it.
    Replace { which: prop::sample::Index, beside: bool },
    /// One image goes, whose kernels others have unless they may be lost.
    Prune { which: prop::sample::Index, may_lose: bool, shrinking: bool },
}

fn turn() -> impl Strategy<Value = Turn> {
    let which = any::<prop::sample::Index>;
    prop_oneof![
        4 => (any::<bool>(), any::<bool>()).prop_map(|(cpu, gpu)| Turn::Build { cpu, gpu: gpu || !cpu }),
        1 => Just(Turn::Embed),
        2 => (which(), any::<bool>()).prop_map(|(which, beside)| Turn::Replace { which, beside }),
        6 => (which(), prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(which, may_lose, shrinking)| Turn::Prune { which, may_lose, shrinking }),
    ]
}

/// An image as it is told from others: target, device, entries, size and digest of the payload.
type Known = (String, Option<String>, Vec<String>, usize, u64);

fn known(image: &Image<'_>) -> Known {
    let owned = |name: &&str| (*name).to_owned();
    let entries = image.entries.iter().map(owned).collect();
    (
        image.target.to_owned(),
        image.compile_target().map(str::to_owned),
        entries,
        image.stored.len(),
        fnv1a(image.stored),
    )
}

fn with<T>(file: &[u8], look: impl FnOnce(&Bundle<'_>) -> T) -> T {
    look(&Bundle::read(&Host::read(file).unwrap()).unwrap())
}

fn images(file: &[u8]) -> Vec<Known> {
    with(file, |bundle| bundle.images.iter().map(known).collect())
}

fn kernels(file: &[u8]) -> BTreeSet<String> {
    with(file, |bundle| bundle.images.iter().flat_map(Image::kernels).map(str::to_owned).collect())
}

/// The file after what `build` does to it: code for its SPIR-V in place of what an earlier build made for the same targets.
fn built(file: &[u8], number: usize, cpu: bool, gpu: bool) -> Vec<u8> {
    let host = Host::read(file).unwrap();
    let embedded = Bundle::read(&host).unwrap();
    let restored = Record::find(&host).map_or_else(
        || file.to_vec(),
        |record| beneath::restore(&record, &Host::read(file).unwrap()).unwrap().bytes.into_vec(),
    );
    let host = Host::read(&restored).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let mut targets = Vec::new();
    targets.extend(cpu.then_some(("spir64_x86_64", None)));
    targets.extend(gpu.then_some(("spir64_gen", Some("intel_gpu_pvc"))));
    // Several images with one entry, or for a device of their own, would be replaced by each other's code.
    let is_source = |image: &&Image<'_>| {
        image.target == "spir64"
            && image.format() == Format::SpirV
            && !image.entries.is_empty()
            && image.compile_target().is_none()
            && bundle.images.iter().filter(|other| other.target == "spir64" && other.entries == image.entries).count()
                == 1
    };
    let sources: Vec<usize> = bundle.images.iter().filter(is_source).map(|image| image.index).collect();
    let units = sources.iter().flat_map(|source| targets.iter().map(move |target| (*source, *target)));
    let payloads: Vec<_> = units.map(|unit| (unit, payload(number, &format!("{unit:?}"), NATIVE))).collect();
    let new = payloads.iter().map(|((source, (target, device)), payload)| Addition {
        source: *source,
        target,
        compile_target: *device,
        constants: RecordedValues::Nothing,
        linked: false,
        metadata: None,
        format: FORMAT_NATIVE,
        payload,
    });
    let mut additions = earlier_additions(&embedded, &bundle);
    additions.retain(|old| {
        let again = targets.contains(&(old.target, old.compile_target));
        !again || !sources.contains(&old.source)
    });
    additions.extend(new);
    layers::build(&host, &bundle, &additions, &notes()).unwrap().into_vec()
}

fn payload(number: usize, what: &str, len: usize) -> Vec<u8> {
    format!("{number} {what} ").bytes().cycle().take(len).collect()
}

/// Bytes that begin as a module does.
fn module(number: usize) -> Vec<u8> {
    let header = [0x0723_0203u32, 0x0001_0200, 0, 200, 0].into_iter().flat_map(u32::to_le_bytes);
    header.chain(payload(number, "module", 5000)).collect()
}

/// The file of the turn with a number, and the images that are to be in it. None where the verb would refuse.
fn after(file: &[u8], turn: &Turn, number: usize) -> Option<(Vec<u8>, Vec<Known>)> {
    let before = images(file);
    match turn {
        Turn::Build { cpu, gpu } => {
            let bytes = built(file, number, *cpu, *gpu);
            let after = images(&bytes);
            for gone in before.iter().filter(|image| !after.contains(image)) {
                let replaces = |new: &Known| {
                    (new.0 == gone.0 && new.2 == gone.2) && (new.1 == gone.1 || gone.1.is_none() || new.1.is_none())
                };
                assert!(gone.0 != "spir64" && after.iter().any(replaces), "{gone:?} is gone");
            }
            Some((bytes, after))
        }
        Turn::Embed => {
            let (entry, payload) = (format!("elsewhere{number}"), module(number));
            edited(file, &HashSet::new(), &[image("spir64", vec![&entry], payload)], false)
        }
        Turn::Replace { which, beside } => with(file, |bundle| {
            let old = &bundle.images[which.index(bundle.images.len())];
            let payload =
                if old.format() == Format::SpirV { module(number) } else { payload(number, "native", NATIVE) };
            let new = with_payload(old, old.target, old.declared.number(), payload.into());
            let drop = if *beside { HashSet::new() } else { layers::replaced(bundle, std::slice::from_ref(&new)) };
            edited(file, &drop, &[new], false)
        }),
        Turn::Prune { which, may_lose, shrinking } => with(file, |bundle| {
            let gone = which.index(bundle.images.len());
            let others = bundle.images.iter().filter(|image| image.index != gone);
            let left: HashSet<&str> = others.flat_map(Image::kernels).collect();
            let lost = bundle.images[gone].kernels().into_iter().any(|kernel| !left.contains(kernel));
            if bundle.images.len() < 2 || lost && !may_lose {
                return None;
            }
            edited(file, &HashSet::from([gone]), &[], *shrinking)
        }),
    }
}

fn image<'i>(target: &'i str, entries: Vec<&'i str>, payload: Vec<u8>) -> OutImage<'i> {
    OutImage {
        target,
        format: 0,
        compile_options: "",
        link_options: "",
        payload: payload.into(),
        entries,
        property_sets: Vec::new(),
    }
}

fn edited(file: &[u8], drop: &HashSet<usize>, add: &[OutImage<'_>], shrinking: bool) -> Option<(Vec<u8>, Vec<Known>)> {
    let edited = layers::edit_in(file, drop, add, &notes(), shrinking).unwrap();
    let stay = images(file).into_iter().enumerate().filter(|(index, _)| !drop.contains(index));
    let new = add.iter().map(|image| {
        let sets = image.property_sets.iter().find(|set| set.name == "SYCL/device requirements");
        let named = sets.and_then(|set| set.properties.iter().find(|property| property.name == "compile_target"));
        let entries = image.entries.iter().map(|entry| (*entry).to_owned()).collect();
        let device = named.and_then(|named| named.value.text()).map(str::to_owned);
        (image.target.to_owned(), device, entries, image.payload.len(), fnv1a(&image.payload))
    });
    Some((edited.bytes.into_vec(), stay.map(|(_, image)| image).chain(new).collect()))
}

/// Holds what the runtime sees against what is to be in the file.
fn shows(file: &[u8], expected: &[Known]) {
    let sorted = |mut all: Vec<(String, Vec<String>, usize, u64)>| {
        all.sort();
        all
    };
    let loaded = load(&Folder::new().file("turn", file));
    let entries =
        |image: &crate::support::host::LoadedImage| image.entries.iter().map(|(_, name)| name.clone()).collect();
    let seen = loaded.images().into_iter();
    let seen = seen.map(|image| (image.target.clone(), entries(image), image.payload_size, image.payload_digest));
    let expected = expected.iter().cloned().map(|(target, _, entries, size, digest)| (target, entries, size, digest));
    assert_eq!(sorted(seen.collect()), sorted(expected.collect()));
}

/// Counts of files that were restored to the first, to another, had nothing to restore, and were refused.
#[derive(Debug, Default)]
struct Outcomes {
    first: usize,
    other: usize,
    none: usize,
    refused: usize,
}

fn restores(file: &[u8], first: &[u8], outcomes: &mut Outcomes) {
    let (now, own) = (kernels(file), kernels(first));
    let had: BTreeSet<&String> = now.intersection(&own).collect();
    match layers::before(file).unwrap() {
        Before::Same => outcomes.none += 1,
        Before::File(original) => {
            let left = kernels(&original);
            let lost: Vec<_> = had.into_iter().filter(|kernel| !left.contains(*kernel)).collect();
            assert!(lost.is_empty(), "{lost:?}");
            // Images of the first file alone are in it.
            let first_images = images(first);
            assert!(images(&original).iter().all(|image| first_images.contains(image)));
            let is_first = original == *first;
            assert!(is_first || images(&original).len() < first_images.len());
            *(if is_first { &mut outcomes.first } else { &mut outcomes.other }) += 1;
        }
        Before::Gone { images: gone, kernels: named, added } => {
            assert!(gone > 0);
            let all = images(file).len();
            match layers::edit(file, &added, &[], &notes()) {
                Ok(edited) => {
                    let left = kernels(&edited.bytes);
                    assert_eq!(now.difference(&left).cloned().collect::<BTreeSet<_>>(), named);
                    let stay = images(file).into_iter().enumerate().filter(|(index, _)| !added.contains(index));
                    shows(&edited.bytes, &stay.map(|(_, image)| image).collect::<Vec<_>>());
                    assert!(!matches!(layers::before(&edited.bytes).unwrap(), Before::Gone { .. }));
                }
                Err(error) => assert_eq!((error.kind(), added.len()), (ErrorKind::NoMatch, all), "{error}"),
            }
            outcomes.refused += 1;
        }
    }
}

fn play(first: &[u8], turns: &[Turn], outcomes: &mut Outcomes) {
    let own: HashSet<Known> = images(first).into_iter().collect();
    let mut file = first.to_vec();
    for (number, turn) in turns.iter().enumerate() {
        let Some((next, expected)) = after(&file, turn, number) else { continue };
        shows(&next, &expected);
        let beside: usize = expected.iter().filter(|image| !own.contains(*image)).map(|image| image.3 + 16).sum();
        assert!(next.len() <= first.len() + beside + MORE, "{} of {} + {beside}: {turn:?}", next.len(), first.len());
        restores(&next, first, outcomes);
        file = next;
    }
}

#[test]
fn turns_neither_grow_a_file_nor_lose_a_kernel() {
    let forms: Vec<Vec<u8>> = matrix::loadable().iter().step_by(4).map(|form| read(&form.build())).collect();
    let cases = std::env::var("SERIES").map_or(48, |text| text.parse().unwrap());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 100, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]));
    let outcomes = std::cell::RefCell::new(Outcomes::default());
    let strategy = (any::<prop::sample::Index>(), prop::collection::vec(turn(), 1..14));
    let played = runner.run(&strategy, |(form, turns)| {
        play(&forms[form.index(forms.len())], &turns, &mut outcomes.borrow_mut());
        Ok(())
    });
    assert!(played.is_ok(), "{}", played.unwrap_err());
    let Outcomes { first, other, none, refused } = outcomes.into_inner();
    assert!([first, other, none, refused].iter().all(|count| *count > 5), "{first} {other} {none} {refused}");
}
