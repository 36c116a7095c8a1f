//! Does a file mean the same after any series of rewrites, and is a damaged one refused?
//!
//! The bytes are choices, so a fuzzer that changes one byte changes one step: it makes images, writes them in some form,
//! and adds, removes, splits, links, filters and writes them again. [`Facts`] are what the runtime sees of an image; a
//! step says what they are to be, and the file is read back after each. A step may also change a word that decides where
//! things are: from then on nothing is known but that no step panics, costs too much or fails for no reason.

use std::cell::Cell;
use std::collections::HashSet;

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::{Image, State};
use sycl_bundle::bundle::offload_binary::Version;
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value};
use sycl_bundle::bundle::syclbin::Envelope;
use sycl_bundle::bytes::Draft;
use sycl_bundle::container::Arena;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::error::{Error, ErrorKind};
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::Record;
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, embed};
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion, OutImage, out_image};
use sycl_bundle::rewrite::object_file::{ObjectFormat, ObjectOptions, object_file};
use sycl_bundle::rewrite::shared::{Machine, SharedOptions, shared_library};
use sycl_bundle::rewrite::specialize::RecordedValues;
use sycl_bundle::rewrite::split::{self, Mode};
use sycl_bundle::rewrite::{blobs, empty, fold, join, layers, link, prepare};
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::link::Options;

/// Steps of one series.
const STEPS: usize = 12;
/// Bytes by which a step may let a sound file grow beside what it adds: tables, names, pages.
const MORE: usize = 1 << 20;
/// Bytes by which it may let a damaged one grow: memory of an executable that is not in its file may become a hole in it.
const MORE_IF_DAMAGED: usize = 264 << 20;

/// Choices, one byte each; the first of each list when no bytes are left.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % count.max(1)
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Some of the numbers below.
    fn some(&mut self, count: usize) -> HashSet<usize> {
        let mask = self.below(256);
        (0..count).filter(|at| mask >> (at % 8) & 1 == 1).collect()
    }
}

/// Facts of an image that the runtime sees.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    target: String,
    format: u8,
    options: [String; 2],
    payload: Vec<u8>,
    entries: Vec<String>,
    sets: Vec<(String, Vec<(String, Stored)>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stored {
    Number(u32),
    /// As stored, with the number of the type.
    Bytes(u32, Vec<u8>),
}

impl Facts {
    fn new(image: &Image<'_>) -> Facts {
        let stored = |value: &Value<'_>| match *value {
            Value::U32(number) => Stored::Number(number),
            Value::Bytes(bytes) | Value::Text(bytes) | Value::Unknown { bytes, .. } => {
                Stored::Bytes(value.kind(), bytes.to_vec())
            }
        };
        let set = |set: &PropertySet<'_>| {
            let properties = set.properties.iter().map(|one| (one.name.to_owned(), stored(&one.value)));
            (set.name.to_owned(), properties.collect())
        };
        Facts {
            target: image.target.to_owned(),
            format: image.declared.number(),
            options: [image.compile_options, image.link_options].map(str::to_owned),
            payload: image.stored.to_vec(),
            entries: image.entries.iter().map(|name| (*name).to_owned()).collect(),
            sets: image.properties.sets.iter().map(set).collect(),
        }
    }

    fn image(&self, index: usize) -> Image<'_> {
        let value = |stored| match stored {
            &Stored::Number(number) => Value::U32(number),
            Stored::Bytes(2, bytes) => Value::Bytes(bytes),
            Stored::Bytes(3, bytes) => Value::Text(bytes),
            Stored::Bytes(kind, bytes) => Value::Unknown { kind: *kind, bytes },
        };
        let sets = self.sets.iter().map(|(name, properties)| PropertySet {
            name,
            properties: properties.iter().map(|(name, stored)| Property { name, value: value(stored) }).collect(),
        });
        Image {
            index,
            target: &self.target,
            declared: Declared::from(self.format),
            compile_options: &self.options[0],
            link_options: &self.options[1],
            entries: self.entries.iter().map(String::as_str).collect(),
            properties: Properties { sets: sets.collect() },
            ..Image::bare(&self.payload, 0)
        }
    }

    /// Bytes that it may take in a file.
    fn size(&self) -> usize {
        let of_set = |(name, all): &(String, Vec<(String, Stored)>)| {
            let one = |(name, value): &(String, Stored)| {
                name.len() + 64 + if let Stored::Bytes(_, bytes) = value { bytes.len() } else { 0 }
            };
            name.len() + 64 + all.iter().map(one).sum::<usize>()
        };
        let texts = self.options.iter().chain(&self.entries).map(|text| text.len() + 64);
        self.payload.len() + 256 + texts.sum::<usize>() + self.sets.iter().map(of_set).sum::<usize>()
    }
}

/// Holds images against those that are to be there, in whatever order they stand. Of native images that are equal in all, which
/// two runs added to two sources alike, a third run may leave one.
fn same(found: &[Facts], expected: &[Facts]) {
    let mut missing = expected.to_vec();
    let more: Vec<&Facts> = found.iter().filter(|one| take(&mut missing, one).is_none()).collect();
    missing.retain(|one| one.format != 1 || !found.contains(one));
    let brief = |one: &Facts| {
        let sets: Vec<_> = one.sets.iter().map(|(name, all)| (name, all.len())).collect();
        format!("{} {:?} {} bytes {sets:?}", one.target, one.entries, one.payload.len())
    };
    let (missing, more): (Vec<_>, Vec<_>) =
        (missing.iter().map(brief).collect(), more.into_iter().map(brief).collect());
    assert!(missing.is_empty() && more.is_empty(), "missing: {missing:#?}\nof nobody: {more:#?}");
}

fn take(all: &mut Vec<Facts>, one: &Facts) -> Option<Facts> {
    all.iter().position(|other| other == one).map(|at| all.swap_remove(at))
}

/// Facts of all images of a file, and whether all of it could be read.
fn read(file: &[u8]) -> Result<(Vec<Facts>, bool), Error> {
    let host = Host::read(file)?;
    let bundle = Bundle::read(&host)?;
    Ok((bundle.images.iter().map(Facts::new).collect(), bundle.problems.is_empty()))
}

/// A module with kernels and perhaps a function that it exports or imports, and what a compiler says of it.
fn module(choices: &mut Choices<'_>) -> Facts {
    let first = choices.below(4);
    let kernels: Vec<String> = (0..1 + choices.below(3)).map(|at| format!("_ZTS6kernel{}", first + at)).collect();
    let (double, constant) = (choices.yes(), choices.yes());
    let linkage = [None, Some(("shared", 0)), Some(("shared", 1)), Some(("other", 1))][choices.below(4)];
    let text = |text: &str| -> Vec<u32> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        bytes.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    };
    let mut words = vec![0x0723_0203u32, 0x0001_0200, 0, 200, 0];
    let mut op = |code: u32, operands: &[u32]| {
        words.push((operands.len() as u32 + 1) << 16 | code);
        words.extend_from_slice(operands);
    };
    // Addresses, Linkage, Kernel, Float64; a memory model of 64 bits.
    [4, 5, 6].iter().chain(double.then_some(&10)).for_each(|capability| op(17, &[*capability]));
    op(14, &[2, 2]);
    for (at, name) in kernels.iter().enumerate() {
        op(15, &[&[6, 10 + at as u32 * 4][..], &text(name)].concat());
    }
    if let Some((name, kind)) = linkage {
        op(71, &[&[100, 41][..], &text(name), &[kind]].concat());
    }
    if constant {
        op(71, &[6, 1, 3]);
    }
    op(19, &[1]);
    op(33, &[2, 1]);
    if constant {
        op(21, &[5, 32, 0]);
        op(50, &[5, 6, 40]);
    }
    if double {
        op(22, &[3, 64]);
        op(43, &[3, 4, 0, 0x3ff0_0000]);
    }
    if let Some((_, kind)) = linkage {
        op(54, &[1, 100, 0, 2]);
        if kind == 0 {
            op(248, &[101]);
            op(253, &[]);
        }
        op(56, &[]);
    }
    for at in 0..kernels.len() as u32 {
        let id = 10 + at * 4;
        op(54, &[1, id, 0, 2]);
        op(248, &[id + 1]);
        if double {
            op(129, &[3, id + 2, 4, 4]);
        }
        if linkage.is_some() {
            op(57, &[1, id + 3, 100]);
        }
        op(253, &[]);
        op(56, &[]);
    }
    let bytes = |content: &[u8]| Stored::Bytes(2, [&(content.len() as u64 * 8).to_le_bytes()[..], content].concat());
    let aspects = if double { bytes(&[6, 0, 0, 0]) } else { bytes(&[]) };
    let mut sets = vec![("SYCL/device requirements".to_owned(), vec![("aspects".to_owned(), aspects)])];
    let mut entries = kernels;
    match linkage {
        Some((name, 0)) => {
            entries.push(name.to_owned());
            sets.push(("SYCL/exported symbols".to_owned(), vec![(name.to_owned(), Stored::Number(1))]));
        }
        Some((name, _)) => {
            sets.push(("SYCL/imported symbols".to_owned(), vec![(name.to_owned(), Stored::Number(1))]));
        }
        None => {}
    }
    if constant {
        let leaf = bytes(&[3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0]);
        sets.push(("SYCL/specialization constants".to_owned(), vec![("amount".to_owned(), leaf)]));
        let value = bytes(&[40, 0, 0, 0]);
        sets.push(("SYCL/specialization constants default values".to_owned(), vec![("all".to_owned(), value)]));
    }
    Facts {
        target: "spir64".to_owned(),
        format: 0,
        options: [["", "-ze-opt-large-register-file"][choices.below(2)].to_owned(), String::new()],
        payload: words.into_iter().flat_map(u32::to_le_bytes).collect(),
        entries,
        sets,
    }
}

/// An image of any kind.
fn image(choices: &mut Choices<'_>) -> Facts {
    let module = module(choices);
    match choices.below(4) {
        0 => Facts {
            target: ["spir64_x86_64", "spir64_gen"][choices.below(2)].to_owned(),
            format: 1,
            payload: vec![choices.below(256) as u8; [0, 1, 15, 16, 17, 4095, 4096, 70_001][choices.below(8)]],
            ..module
        },
        1 => Facts { entries: Vec::new(), sets: Vec::new(), ..module },
        2 => {
            let arena = Arena::default();
            let mut image = module.image(0);
            prepare::store(&arena, &mut image, prepare::Payload::Zstd(3)).expect("a module can be compressed");
            Facts::new(&image)
        }
        _ => module,
    }
}

/// Images that a compiler could have made in one go.
fn images(choices: &mut Choices<'_>) -> Vec<Facts> {
    (0..1 + choices.below(4)).map(|_| image(choices)).collect()
}

/// A file of its own for images: a library, or an object.
fn written(facts: &[Facts], choices: &mut Choices<'_>, linked: bool) -> Result<Vec<u8>, Error> {
    let images: Vec<Image<'_>> = facts.iter().enumerate().map(|(index, facts)| facts.image(index)).collect();
    let out: Vec<OutImage<'_>> = images.iter().map(out_image).collect();
    let version = [ImageVersion::V3, ImageVersion::V2, ImageVersion::V1][choices.below(3)];
    let entries = [EntryForm::Old, EntryForm::New][choices.below(2)];
    let machine = if linked { Machine::X86_64 } else { [Machine::X86_64, Machine::Aarch64][choices.below(2)] };
    if linked {
        let runtime = if version == ImageVersion::V3 { "libsycl.so.9" } else { "libsycl.so.8" };
        let options = SharedOptions { machine, version, entries, runtime, ..SharedOptions::new("libmade.so") };
        return shared_library(&out, &options).map(Draft::into_vec);
    }
    let format = [ObjectFormat::Elf, ObjectFormat::Coff][choices.below(2)];
    let options = ObjectOptions { machine, format, version, entries, comments: &[] };
    object_file(&out, &options).map(Draft::into_vec)
}

/// Runs a series of rewrites on one of `bases` or on a library that is made here. Gives the file that came out of it, unless
/// a word of it was changed on the way.
pub fn rewritten(bases: &[Vec<u8>], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut choices = Choices(bytes);
    let mut file = match choices.below(bases.len() + 1) {
        0 => {
            let facts = images(&mut choices);
            let file = written(&facts, &mut choices, true).expect("these images can be written as a library");
            assert_eq!(read(&file).expect("what was written is read"), (facts, true), "a library of our own");
            file
        }
        at => bases[at - 1].clone(),
    };
    let mut sound = true;
    for _ in 0..STEPS {
        if choices.0.is_empty() {
            break;
        }
        sound &= step(&mut file, &mut choices, sound);
    }
    sound.then_some(file)
}

/// Does one step. Whether what is known of the file still holds.
fn step(file: &mut Vec<u8>, choices: &mut Choices<'_>, sound: bool) -> bool {
    let before = match read(file) {
        Ok((facts, whole)) => {
            assert!(whole || !sound, "a sound file has problems");
            facts
        }
        Err(error) => {
            assert!(!sound, "a sound file is not read: {error:?}");
            placed(&error);
            return true;
        }
    };
    let change = match choices.below(12) {
        0 | 1 => adding(choices),
        2 => Change { drop: choices.some(before.len()), ..Change::default() },
        3 => Change { drop: choices.some(before.len()), shrinking: true, ..Change::default() },
        4 => Change { drop: choices.some(before.len()), shrinking: choices.yes(), ..adding(choices) },
        5 | 6 => {
            natives(file, &before, choices, sound);
            return true;
        }
        7 => without_trace(file, choices, sound),
        8 => parts(&before, choices),
        9 => whole(&before, choices),
        10 => {
            elsewhere(&before, choices);
            emptied(&before, choices)
        }
        _ => {
            damage(file, choices);
            return false;
        }
    };
    let Some((edited, expected)) = edit(file, &before, &change, sound) else { return true };
    if sound {
        let (after, whole) = read(&edited).expect("what was written is read");
        assert!(whole, "{change:?}");
        same(&after, &expected);
    }
    *file = edited;
    true
}

/// Images that go and come.
#[derive(Debug, Default)]
struct Change {
    drop: HashSet<usize>,
    add: Vec<Facts>,
    shrinking: bool,
}

fn adding(choices: &mut Choices<'_>) -> Change {
    Change { add: images(choices), ..Change::default() }
}

/// Makes a change. Gives the file and what is to be in it, or nothing where the change was refused for a good reason.
fn edit(file: &[u8], before: &[Facts], change: &Change, sound: bool) -> Option<(Vec<u8>, Vec<Facts>)> {
    let made: Vec<Image<'_>> = change.add.iter().enumerate().map(|(index, facts)| facts.image(index)).collect();
    let add: Vec<OutImage<'_>> = made.iter().map(out_image).collect();
    let notes = [("tool".to_owned(), "fuzz".to_owned())];
    match layers::edit_in(file, &change.drop, &add, &notes, change.shrinking) {
        Ok(edited) => {
            let room = change.add.iter().map(Facts::size).sum::<usize>();
            let more = if sound { MORE } else { MORE_IF_DAMAGED };
            assert!(edited.bytes.len() <= file.len() + room + more, "{} of {}", edited.bytes.len(), file.len());
            let stay = before.iter().enumerate().filter(|(index, _)| !change.drop.contains(index));
            let stay = stay.map(|(_, facts)| facts.clone());
            Some((edited.bytes.into_vec(), stay.chain(change.add.iter().cloned()).collect()))
        }
        Err(error) => {
            let nothing_left = change.add.is_empty() && change.drop.len() == before.len();
            assert!(!sound || nothing_left, "{error:?} for {change:?}");
            known(&error);
            None
        }
    }
}

/// Adds native code to the list of the image that it was compiled from, as a build does.
fn natives(file: &mut Vec<u8>, before: &[Facts], choices: &mut Choices<'_>, sound: bool) {
    let host = Host::read(file).expect("it was read before");
    let bundle = Bundle::read(&host).expect("it was read before");
    if host.kind != Kind::Elf {
        return;
    }
    let payload = vec![choices.below(256) as u8; [0, 1, 16, 4097][choices.below(4)]];
    let target = ["spir64_x86_64", "spir64_gen"][choices.below(2)];
    let compile_target = [None, Some("intel_gpu_pvc")][choices.below(2)];
    let sources = choices.some(bundle.images.len());
    let additions: Vec<Addition<'_>> = (bundle.images.iter())
        .filter(|image| sources.contains(&image.index) && image.target == "spir64")
        .map(|image| Addition {
            source: image.index,
            target,
            compile_target,
            constants: RecordedValues::Nothing,
            linked: false,
            metadata: None,
            format: FORMAT_NATIVE,
            payload: &payload,
        })
        .collect();
    if additions.is_empty() {
        return;
    }
    match embed(&host, &bundle, &additions, &[]) {
        Ok(out) => {
            let room = additions.len() * (payload.len() + 8192) + file.len() / 2;
            assert!(out.len() <= file.len() + room + if sound { MORE } else { MORE_IF_DAMAGED });
            let record = Record::find(&Host::read(&out).expect("what was written is a file"));
            let record = record.expect("which says what was added");
            if sound {
                let (after, whole) = read(&out).expect("what was written is read");
                assert!(whole);
                let new: Vec<&Facts> = after.iter().filter(|facts| facts.payload == payload).collect();
                for addition in &additions {
                    let source = &before[addition.source];
                    let there = |one: &&Facts| {
                        one.target == target && one.entries == source.entries && one.options == source.options
                    };
                    assert!(new.iter().any(there), "{} of {source:?} is not in {new:?}", target);
                }
                // An image that is gone was replaced by one for the same target.
                for facts in before {
                    assert!(after.contains(facts) || facts.target == target, "{facts:?} is gone");
                }
                if Record::find(&host).is_none() {
                    assert!(
                        beneath::restore(&record, &Host::read(&out).unwrap())
                            .is_ok_and(|original| original.bytes == file),
                        "the file that it was"
                    );
                }
            }
            *file = out.into_vec();
        }
        Err(error) => {
            // Two sources with the same entries and tables cannot both have an image of one target and compile target.
            assert!(!sound || before.len() > additions.len() || additions.len() > 1, "{error:?}");
            known(&error);
        }
    }
}

/// Adds images and removes them again: the file is what it was.
fn without_trace(file: &[u8], choices: &mut Choices<'_>, sound: bool) -> Change {
    let Ok((before, _)) = read(file) else { return Change::default() };
    let change = adding(choices);
    if let Some((more, _)) = edit(file, &before, &change, sound)
        && sound
    {
        let after = read(&more).expect("what was written is read").0;
        let mut left = before.clone();
        let new = |facts: &Facts| take(&mut left, facts).is_none();
        let drop: HashSet<usize> =
            after.iter().map(new).enumerate().filter_map(|(at, new)| new.then_some(at)).collect();
        if drop.len() == change.add.len() {
            let undone = Change { drop, ..Change::default() };
            let (less, _) = edit(&more, &after, &undone, true).expect("what was added can go");
            same(&read(&less).expect("what was written is read").0, &before);
        }
    }
    change
}

/// An image is taken apart, and its parts take its place.
fn parts(before: &[Facts], choices: &mut Choices<'_>) -> Change {
    let at = choices.below(before.len());
    let mode = [Mode::PerKernel, Mode::PerSource, Mode::Auto, Mode::Off][choices.below(4)];
    let arena = Arena::default();
    let Some(facts) = before.get(at) else { return Change::default() };
    let mut image = facts.image(0);
    if prepare::store(&arena, &mut image, prepare::Payload::Plain).is_err() {
        return Change::default();
    }
    let input =
        split::Input { image: &image, label: "image", sources: vec![split::Source::default()], epoch: Epoch::From2026 };
    let options = split::Options {
        mode,
        explicit: &|_| None,
        epoch: Epoch::From2026,
        target_number: &|_| 0,
        spool: &split::in_memory,
        room: &Cell::new(split::room_for(0)),
    };
    let Ok(outcome) = split::split(&arena, input, &options) else { return Change::default() };
    if Module::parse(image.stored).is_err() {
        // Some images stay whole whatever they are.
        return Change::default();
    }
    let kernels = |bytes: &[u8]| -> Vec<String> {
        let module = Module::parse(bytes).expect("a part is a module");
        assert!(module.stopped.is_none());
        module.entry_points.iter().map(|entry| entry.name.to_owned()).collect()
    };
    let (mut wanted, mut cut) = (kernels(image.stored), Vec::new());
    outcome.images.iter().for_each(|part| cut.extend(kernels(part.stored)));
    wanted.sort();
    cut.sort();
    assert_eq!(cut, wanted, "each kernel in one part");
    Change { drop: HashSet::from([at]), add: outcome.images.iter().map(Facts::new).collect(), shrinking: false }
}

/// Images are linked into one, or folded or joined, which takes their place.
fn whole(before: &[Facts], choices: &mut Choices<'_>) -> Change {
    let arena = Arena::default();
    let chosen = choices.some(before.len());
    let copies: Vec<Facts> = chosen.iter().filter_map(|at| before.get(*at)).cloned().collect();
    let images: Vec<Image<'_>> = copies.iter().enumerate().map(|(index, facts)| facts.image(index)).collect();
    let add = match choices.below(3) {
        0 => {
            let input = |image| link::Input { image, label: "image", internal: false };
            let inputs: Vec<link::Input<'_, '_>> = images.iter().map(input).collect();
            match link::link(&arena, &inputs, &Options { partial: choices.yes() }) {
                Ok(outcome) => {
                    let kernels: HashSet<&str> = outcome.image.kernels().into_iter().collect();
                    assert!(images.iter().flat_map(Image::kernels).all(|kernel| kernels.contains(kernel)));
                    vec![Facts::new(&outcome.image)]
                }
                Err(errors) => {
                    assert!(!errors.is_empty());
                    return Change::default();
                }
            }
        }
        1 => {
            let count: usize = images.iter().map(|image| image.kernels().len()).sum();
            let Ok(outcome) = fold::fold(&arena, images.clone()) else { return Change::default() };
            assert_eq!(outcome.images.iter().map(|image| image.kernels().len()).sum::<usize>(), count);
            outcome.images.iter().map(Facts::new).collect()
        }
        _ => {
            let bundle = |label: &str| join::InputBundle { images: images.clone(), label: label.to_owned() };
            let Ok(union) = join::join(vec![bundle("one"), bundle("two")]) else { return Change::default() };
            let kinds: HashSet<Vec<u8>> = copies.iter().map(|facts| format!("{facts:?}").into_bytes()).collect();
            assert!(union.images.len() <= kinds.len(), "a copy stays");
            union.images.iter().map(Facts::new).collect()
        }
    };
    Change { drop: chosen, add, shrinking: false }
}

/// An image that no device takes is emptied: its properties stay.
fn emptied(before: &[Facts], choices: &mut Choices<'_>) -> Change {
    let at = choices.below(before.len());
    let Some(facts) = before.get(at) else { return Change::default() };
    let image = facts.image(0);
    let Ok(contents) = image.contents() else { return Change::default() };
    let format = image.format();
    match empty::empty(&contents, format) {
        Ok(payload) => {
            assert!(payload.len() <= contents.len().max(4096));
            let format = if image.compression().is_some() { 0 } else { facts.format };
            let add = vec![Facts { payload, format, ..facts.clone() }];
            Change { drop: HashSet::from([at]), add, shrinking: true }
        }
        Err(error) => {
            known(&error);
            Change::default()
        }
    }
}

/// The images in forms without a linked file: each is read back with the same payloads.
fn elsewhere(before: &[Facts], choices: &mut Choices<'_>) {
    let images: Vec<Image<'_>> = before.iter().enumerate().map(|(index, facts)| facts.image(index)).collect();
    let written = match choices.below(6) {
        0 => blobs::offload_binary(&images, Version::V1),
        1 => blobs::offload_binary(&images, Version::V2),
        2 => blobs::offload_bundle(&images, "x86_64-unknown-linux-gnu-", [None, Some(3)][choices.below(2)]),
        3 => blobs::syclbin(&images, [Envelope::Bare, Envelope::V1, Envelope::V2][choices.below(3)], State::Input),
        _ => self::written(before, choices, false).map(Draft::from),
    };
    let written = match written {
        Ok(written) => written,
        // Every image may have been removed before.
        Err(error) if before.is_empty() => return assert_eq!(error.kind(), ErrorKind::NoDeviceCode, "{error:?}"),
        Err(error) => return known(&error),
    };
    let (after, _) = match read(&written) {
        Ok(read) => read,
        Err(error) => return assert_eq!(error.kind(), ErrorKind::NoDeviceCode, "{error:?}"),
    };
    // Readers leave out images without bytes.
    let payloads = |all: &[Facts]| -> Vec<Vec<u8>> {
        let mut all: Vec<_> = all.iter().map(|facts| facts.payload.clone()).filter(|bytes| !bytes.is_empty()).collect();
        all.sort();
        all
    };
    assert!(payloads(&after) == payloads(before), "{} of {}", after.len(), before.len());
}

/// Changes a word by which the images are found: of the file's headers, of a list, of an image's structure.
fn damage(file: &mut [u8], choices: &mut Choices<'_>) {
    let mut places: Vec<u64> = (0..512).step_by(8).collect();
    if let Ok(host) = Host::read(file)
        && let Ok(bundle) = Bundle::read(&host)
    {
        let lists = bundle.descriptors.iter().map(|descriptor| (descriptor.address, 4));
        let structures = bundle.images.iter().filter_map(|image| image.origin).map(|origin| (origin.address, 12));
        for (address, words) in lists.chain(structures) {
            let addresses = (0..words).map(|word| address.saturating_add(word * 8));
            places.extend(addresses.filter_map(|address| host.addresses.file_offset(address)));
        }
        let records = Record::find(&host).into_iter().flat_map(|record| record.patches);
        places.extend(records.map(|patch| patch.offset));
    }
    let number = choices.below(256) * 256 + choices.below(256);
    let at = places[number % places.len()];
    let Some(word) = usize::try_from(at).ok().and_then(|at| file.get_mut(at..)?.first_chunk_mut::<8>()) else { return };
    let old = u64::from_le_bytes(*word);
    let new = match choices.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(8),
        4 => old ^ 1 << choices.below(64),
        5 => places[choices.below(places.len())],
        6 => old.wrapping_mul(2),
        _ => 1 << choices.below(64),
    };
    *word = new.to_le_bytes();
}

fn known(error: &Error) {
    let kinds = [ErrorKind::Input, ErrorKind::NoDeviceCode, ErrorKind::NoMatch, ErrorKind::Usage];
    assert!(kinds.contains(&error.kind()), "{error:?}");
}

fn placed(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Input | ErrorKind::NoDeviceCode), "{error:?}");
}
