//! What is done with the bytes that a fuzzer makes?
//!
//! One function per format. `fuzz_targets/` hand them to libFuzzer, `tests/hostile/main.rs` replays `fixtures/hostile/` with
//! them: the folder there is named like the function here. Each says whether the bytes were of the format at all.

#[path = "rewriting.rs"]
pub mod rewriting;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::aspect::{self, Epoch};
use sycl_bundle::bundle::blob::Reader;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property::Properties;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::bundle::spec_constants::Settings;
use sycl_bundle::bundle::structure::Walker;
use sycl_bundle::bundle::structure::{Descriptor, ImageLayout};
use sycl_bundle::bundle::table::Table;
use sycl_bundle::bundle::{offload_binary, offload_bundle, property_sets, property_text, syclbin};
use sycl_bundle::compat::aspects::{Code, Graph};
use sycl_bundle::compat::explain::said;
use sycl_bundle::container::address::{AddressMap, Segment};
use sycl_bundle::container::{Allowance, Arena, Host, Kind, Place, package};
use sycl_bundle::demangle;
use sycl_bundle::device;
use sycl_bundle::error::ErrorKind;
use sycl_bundle::native::{Native, bitcode, opencl_elf};
use sycl_bundle::policy::Policy;
use sycl_bundle::policy::rules::Rules;
use sycl_bundle::report::gate::baseline::Baseline;
use sycl_bundle::report::profile::Profile;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::Record;
use sycl_bundle::rewrite::embed::{self as embedding, Addition, FORMAT_NATIVE};
use sycl_bundle::rewrite::image_data::OutImage;
use sycl_bundle::rewrite::specialize::RecordedValues;
use sycl_bundle::rewrite::{archive, empty, layers, native_name, specialize, wheel};
use sycl_bundle::select::Pattern;
use sycl_bundle::select::predicate::Predicate;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::link::{Options, Source};
use sycl_bundle::spirv::subset::{Cutter, Keep, exported};
use sycl_bundle::spirv::{Module, instrumentation, kernel};

/// A body.
pub type Body = fn(&[u8]) -> bool;

/// Every body, by the name of its fuzz target.
#[allow(dead_code, reason = "each fuzz target needs one of them")]
pub const BODIES: &[(&str, Body)] = &[
    ("file", file),
    ("elf", elf),
    ("pe", pe),
    ("object_file", object_file),
    ("package", package),
    ("file_table", file_table),
    ("offload_binary", offload_binary),
    ("offload_bundle", offload_bundle),
    ("syclbin", syclbin),
    ("properties", properties),
    ("property_text", property_text),
    ("native", native),
    ("module", module),
    ("device_config", device_config),
    ("split", split),
    ("link", link),
    ("embed", embed),
    ("rewrite", rewrite),
    ("wheel", wheel),
    ("policy", policy),
    ("text", text),
];

/// Any file through the reader of hosts, images and modules.
pub fn file(bytes: &[u8]) -> bool {
    let Ok(host) = Host::read(bytes) else { return true };
    let Ok(bundle) = Bundle::read(&host) else { return true };
    for image in &bundle.images {
        let _ = (image.kernels(), image.exports(), image.imports(), image.state(), image.format());
        let _ = Requirements::read(image, bundle.epoch);
        if let Ok(contents) = image.contents() {
            let _ = Module::parse(&contents);
        }
    }
    true
}

fn of_kind(bytes: &[u8], kinds: &[Kind]) -> bool {
    Kind::identify(bytes).is_ok_and(|kind| kinds.contains(&kind)) && file(bytes)
}

/// Linked ELF files alone.
pub fn elf(bytes: &[u8]) -> bool {
    of_kind(bytes, &[Kind::Elf])
}

/// Linked PE files alone.
pub fn pe(bytes: &[u8]) -> bool {
    of_kind(bytes, &[Kind::Pe])
}

/// Object files alone, ELF and COFF.
pub fn object_file(bytes: &[u8]) -> bool {
    of_kind(bytes, &[Kind::ElfObject, Kind::Coff])
}

/// Archives, zip and tar files, compressed and inside each other.
pub fn package(bytes: &[u8]) -> bool {
    let Some(kind) = Kind::identify(bytes).ok().filter(|kind| package::is_package(*kind)) else { return false };
    let _ = package::members("fuzz", bytes, kind, &Allowance::default(), &mut |member| {
        if let package::Content::Bytes { bytes, .. } = member.content {
            file(bytes);
        }
        Ok(true)
    });
    true
}

/// File tables: what is read is written again.
pub fn file_table(bytes: &[u8]) -> bool {
    let Ok(table) = Table::read(bytes) else { return true };
    let _ = table.column("Code");
    if let Ok(text) = table.write()
        && !table.titles.is_empty()
    {
        assert!(Table::read(text.as_bytes()).is_ok_and(|again| again.rows == table.rows), "{text:?}");
    }
    true
}

/// A container of images inside other bytes; the format's first bytes are given, so that no input is spent on them.
fn blob(magic: &[u8], bytes: &[u8]) -> bool {
    let bytes = &[magic, bytes].concat();
    let arena = Arena::default();
    let mut reader = Reader::new(&arena, bytes.len());
    reader.read(bytes, Place::file(0), 0, Image::bare(bytes, 0));
    for image in &reader.images {
        let _ = (image.kernels(), image.exports(), image.state(), image.format(), image.compile_target());
    }
    assert!(reader.problems.iter().all(|problem| problem.error.offset().is_some()));
    true
}

/// OffloadBinary.
pub fn offload_binary(bytes: &[u8]) -> bool {
    blob(&offload_binary::MAGIC, bytes)
}

/// Clang offload bundles: the first byte says which of three forms.
pub fn offload_bundle(bytes: &[u8]) -> bool {
    let Some((form, rest)) = bytes.split_first() else { return false };
    let magic: &[u8] = match form % 3 {
        0 => offload_bundle::MAGIC,
        1 => b"CCOB",
        _ => b"# __CLANG_OFFLOAD_BUNDLE____START__ ",
    };
    blob(magic, rest)
}

/// SYCLBIN.
pub fn syclbin(bytes: &[u8]) -> bool {
    blob(&syclbin::MAGIC, bytes)
}

/// An image structure with its entries and property sets. The bytes are memory at low addresses: the structure first,
/// and whatever it points to. Pointers are small numbers, which a fuzzer guesses easily.
pub fn properties(bytes: &[u8]) -> bool {
    // 0 would be a null pointer.
    const BASE: u64 = 16;
    let map = AddressMap::new(vec![Segment::new(BASE, 0, Cow::Borrowed(bytes), true)]);
    // Any sound file will do to ask for an epoch.
    let epoch = Host::read(&[0x03, 0x02, 0x23, 0x07]).map(|host| Epoch::detect(&host, None));
    for layout in [ImageLayout::Version3, ImageLayout::WithManifest, ImageLayout::Upstream3] {
        let descriptor = Descriptor::new(BASE, 1, BASE, layout);
        let images = Walker::new(&map, bytes.len()).images(&descriptor, 0, 0);
        let Some(image) = images.into_iter().flatten().find_map(Result::ok) else { continue };
        for property in image.properties.sets.iter().flat_map(|set| &set.properties) {
            let value = property.value;
            let _ = (value.payload(), value.number(), value.text(), value.words(), value.double_words());
        }
        for set in &image.properties.sets {
            for property in &set.properties {
                let _ =
                    epoch.as_ref().map(|epoch| property_sets::decode(&image.properties, set.name, property, *epoch));
            }
        }
        let _ = (image.kernels(), image.exports(), image.imports(), image.state(), image.compile_target());
        if let Ok(epoch) = epoch {
            let _ = Requirements::read(&image, epoch);
        }
    }
    true
}

/// The text of property sets: what is read and can be written is read again as the same.
pub fn property_text(bytes: &[u8]) -> bool {
    let arena = Arena::default();
    let Ok(properties) = property_text::read(bytes, |value| arena.keep(value)) else { return true };
    if let Ok(text) = property_text::write(&properties) {
        let again = property_text::read(text.as_bytes(), |value| arena.keep(value));
        assert!(again.is_ok_and(|again| again == properties));
    }
    true
}

/// Native payloads. The format is told by content, as it is for images; where the first byte is one of the low numbers,
/// the text forms are forced instead, so that no input is spent on wrapping them into ELF files.
pub fn native(bytes: &[u8]) -> bool {
    let (format, bytes) = match bytes.split_first() {
        Some((0, rest)) => (Format::Ptx, rest),
        Some((1, rest)) => (Format::LlvmBitcode, rest),
        Some((2, rest)) => {
            // AdaptiveCpp's containers, which are text too.
            let text = [b"object-id=", rest].concat();
            if let Ok(host) = Host::read(&text)
                && let Ok(bundle) = Bundle::read(&host)
            {
                assert!(bundle.problems.iter().all(|problem| problem.error.offset().is_some()));
            }
            return true;
        }
        _ => (Format::sniff(bytes), bytes),
    };
    if format == Format::LlvmBitcode
        && let Ok(module) = bitcode::Module::read(bytes)
    {
        // Bodies of functions are read for this alone.
        assert!(module.stopped.is_none_or(|error| error.offset().is_some()));
    }
    let _ = opencl_elf::spirv_of_object(bytes);
    if let Ok(made) = opencl_elf::plain_object(bytes) {
        assert_eq!(opencl_elf::plain_object(&made).as_ref(), Ok(&made));
    }
    let Some(native) = Native::read(bytes, format, Place::file(0)) else { return false };
    assert!(native.problems.iter().all(|problem| problem.offset().is_some()), "{:?}", native.problems);
    let _ = native.devices();
    if let Ok(empty) = empty::empty(bytes, format)
        && let Some(none) = Native::read(&empty, format, Place::file(0))
    {
        assert!(none.kernel_names().is_empty(), "an empty image has no kernel");
    }
    if let Ok(several) = archive::archive(&[archive::Member { version: None, binary: bytes }], None) {
        let read = Native::read(&several, Format::sniff(&several), Place::file(0)).expect("an archive is read");
        assert_eq!(read.kernel_names(), native.kernel_names());
    }
    for name in native.kernel_names() {
        let common = native_name::shared_name(name);
        if let Ok(renamed) = native_name::rename(bytes, name, &common) {
            assert_eq!(native_name::rename(&renamed, &common, name).as_deref(), Ok(bytes));
        }
    }
    true
}

/// SPIR-V modules: facts, kernels with their arguments, the call graph and the aspects with their evidence.
pub fn module(bytes: &[u8]) -> bool {
    let bytes = &[&[0x03, 0x02, 0x23, 0x07], bytes].concat();
    let _ = Module::parse(bytes);
    let _ = sycl_bundle::spirv::link::declarations(bytes);
    if let Ok(Some(without)) = instrumentation::strip(bytes, 1) {
        assert!(Index::read(&without).is_ok_and(|index| index.stopped.is_none()), "what was written is a module");
    }
    let settings = Settings { given: Vec::new(), defaults: true };
    let _ = specialize::specialized(&Properties::default(), bytes, &settings, &mut BTreeSet::new());
    let Ok((index, _)) = kernel::kernels(bytes) else { return true };
    let codes = [Code::read(&index)];
    let graph = Graph::link(&codes);
    for node in graph.kernels().filter_map(|(_, kernel)| kernel.node) {
        for aspect in graph.used(0, node) {
            let _ = graph.evidence(0, node, aspect);
        }
    }
    true
}

/// Device configurations; the first characters are also asked for as a target's name.
pub fn device_config(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut table = device::table().clone();
    let aspects: Vec<&str> = aspect::names().collect();
    table.add("fuzz.yaml", text, &aspects);
    let name: String = text.chars().take(64).collect();
    let _ = table.resolve(&name);
    true
}

/// Modules taken apart: what is written is a module, and taken apart again it is itself.
pub fn split(bytes: &[u8]) -> bool {
    let bytes = &[&[0x03, 0x02, 0x23, 0x07], bytes].concat();
    let Ok(index) = Index::read(bytes) else { return true };
    let Ok(mut cutter) = Cutter::new(&index) else { return true };
    let functions: Vec<u32> = exported(&index).into_iter().map(|(id, _)| id).collect();
    // A module may name more entry points than it has room for.
    for place in 0..index.entry_points.len().min(16) {
        let Ok(part) = cutter.cut(&Keep { entry_points: &[place], ids: &[] }) else { continue };
        let again = Index::read(&part).expect("what was written is a module");
        assert!(again.stopped.is_none() && again.entry_points.len() == 1);
        let mut whole = Cutter::new(&again).expect("and can be taken apart again");
        // Of a module that defines an id twice the part may hold an import that it does not use.
        assert!(whole.cut(&Keep { entry_points: &[0], ids: &[] }).expect("into itself").len() <= part.len());
    }
    let all: Vec<usize> = (0..index.entry_points.len()).collect();
    let _ = cutter.cut(&Keep { entry_points: &all, ids: &functions });
    true
}

/// Two modules linked into one. The first two bytes say where the first ends. What comes out has to be a whole module, of
/// a size that goes with theirs.
pub fn link(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return false };
    let (first, second) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let source = |name, bytes| Source { name, bytes, ..Source::default() };
    let sources = [source("first", first), source("second", second)];
    match sycl_bundle::spirv::link::link(&sources, &Options { partial: true }) {
        Ok(linked) => {
            let module = Module::parse(&linked.bytes).expect("a result has a header");
            assert!(module.stopped.is_none(), "{:?}", module.stopped);
            assert!(linked.bytes.len() <= bytes.len().saturating_mul(8).saturating_add(64));
        }
        Err(errors) => assert!(!errors.is_empty()),
    }
    true
}

/// Linked files that get images, ELF and PE. What came out holds one more image and, where it is ELF, becomes the file
/// that it was; nothing that comes in makes it much larger.
pub fn embed(bytes: &[u8]) -> bool {
    /// Tables, the headers of sections, what aligns a segment, and the hole that memory of an executable which is not in
    /// its file may make.
    const MORE: usize = (8 << 20) + (256 << 20);
    let Ok(host) = Host::read(bytes) else { return false };
    let Some(bundle) = Bundle::read(&host).ok().filter(|_| matches!(host.kind, Kind::Elf | Kind::Pe)) else {
        return false;
    };
    let known =
        |kind| matches!(kind, ErrorKind::Input | ErrorKind::NoDeviceCode | ErrorKind::NoMatch | ErrorKind::Usage);
    let addition = Addition {
        source: bundle.images.first().map_or(0, |image| image.index),
        target: "spir64_x86_64",
        compile_target: None,
        constants: RecordedValues::Nothing,
        linked: false,
        metadata: None,
        format: FORMAT_NATIVE,
        payload: b"native code",
    };
    match embedding::embed(&host, &bundle, &[addition], &[]) {
        Ok(out) => {
            assert!(out.len() <= bytes.len().saturating_add(MORE));
            let again = Host::read(&out).expect("what was written is a file");
            let record = Record::find(&again).expect("which says what was added");
            // Images that an earlier run had added are replaced; the file is restored to the state before that run.
            if Record::find(&host).is_none() {
                assert!(
                    beneath::restore(&record, &Host::read(&out).unwrap()).is_ok_and(|original| original.bytes == bytes),
                    "the file that it was"
                );
            }
        }
        Err(error) => assert!(known(error.kind()), "{error:?}"),
    }
    let new = OutImage {
        target: "spir64_gen",
        format: 1,
        compile_options: "",
        link_options: "",
        payload: b"code".to_vec().into(),
        entries: vec!["kernel"],
        property_sets: Vec::new(),
    };
    let first = bundle.images.first().map(|image| image.index);
    match layers::edit(bytes, &first.into_iter().collect(), &[new], &[]) {
        Ok(edited) => assert!(edited.bytes.len() <= bytes.len().saturating_add(MORE)),
        Err(error) => assert!(known(error.kind()), "{error:?}"),
    }
    true
}

/// A series of rewrites of a library that is made of the bytes, as `rewriting.rs` tells.
pub fn rewrite(bytes: &[u8]) -> bool {
    rewriting::rewritten(&[], bytes);
    true
}

/// Wheels of which a library gets new contents: what was written is read, and rewritten again is itself.
pub fn wheel(bytes: &[u8]) -> bool {
    let new = |name: &str| -> Option<sycl_bundle::Result<Box<dyn Read>>> {
        name.ends_with(".so").then(|| Ok(Box::new(&b"new contents"[..]) as Box<dyn Read>))
    };
    let repacked = |bytes: &[u8]| {
        let mut out = Cursor::new(Vec::new());
        wheel::repack(bytes, &new, &mut out).map(|repacked| (repacked, out.into_inner()))
    };
    match repacked(bytes) {
        Ok((first, once)) => {
            let (second, twice) = repacked(&once).expect("what was written is a wheel");
            assert_eq!(second.changed, first.changed);
            // The zip crate states sizes of 4 GiB and more once more with each copy.
            let has_large = once.windows(4).any(|four| four == [0xff; 4]);
            assert!(has_large || once == twice, "the same contents again");
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Input, "{error:?}"),
    }
    true
}

/// Policies: whatever is wrong has its place.
pub fn policy(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let aspects: Vec<&str> = aspect::names().collect();
    if let Err(errors) = Policy::read("fuzz.toml", text, device::table(), &aspects) {
        assert!(!errors.is_empty());
    }
    let _ = Rules::read("fuzz.toml", text, device::table());
    true
}

/// Texts of users, programs and other runs: the first byte says which reader gets them.
pub fn text(bytes: &[u8]) -> bool {
    let Some((reader, rest)) = bytes.split_first() else { return false };
    let Ok(text) = std::str::from_utf8(rest) else { return false };
    match reader % 6 {
        0 => drop(demangle::demangle(text)),
        1 => drop(said::read(text)),
        2 => drop(Profile::parse(rest).map(|profile| (profile.recorded(&mut (64 << 20)).is_ok(), profile.to_json()))),
        3 => drop(Predicate::new(text)),
        4 => drop(Pattern::new(text).map(|pattern| pattern.matches(text))),
        _ => drop(Baseline::read("fuzz.json", text).map(|baseline| baseline.text())),
    }
    true
}
