//! Which small files cost much where images are added to them, or removed from them?

use std::collections::HashSet;
use std::io::{Cursor, Write as _};

use super::costly::{TIME_LIMIT, run_bounded};
use super::embedding::new_image;
use super::program::tool;
use super::repeated::{BASE, Linked, frame, words};
use super::sample;
use super::support::folder::Folder;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::embed::embed_images;
use sycl_bundle::rewrite::layers::{self, Before};
use zip::write::{SimpleFileOptions, ZipWriter};

/// A module of nothing.
const EMPTY: [u32; 5] = [0x0723_0203, 0x0001_0000, 0, 1, 0];

/// A list of so many images for a target each, which share a payload.
fn list(file: &mut Linked, targets: &[u64]) -> u64 {
    let payload = file.add(&EMPTY.map(u32::to_le_bytes).concat());
    let image = |target: &u64| words(&[2 | 4 << 16 | 1 << 24, *target, 0, 0, 0, 0, payload, payload + 20, 0, 0, 0, 0]);
    file.add(&targets.iter().flat_map(image).collect::<Vec<u8>>())
}

/// Adds a dynamic section with a table `DT_RELR` and these entries, and finishes the file.
fn with_relr(mut file: Linked, relr: &[u8], more: &[u64]) -> Vec<u8> {
    let table = file.add(relr);
    let (strings, symbols) = (file.add(b"\0x\0"), file.add(&[0; 24]));
    let own = [36, table, 35, relr.len() as u64, 37, 8, 5, strings, 10, 3, 6, symbols, 11, 24, 0, 0];
    let entries = words(&[more, &own].concat());
    let at = file.add(&entries);
    file.finish(Some((at, entries.len() as u64)), None)
}

#[test]
fn lists_of_images_beside_a_long_table_of_relocations() {
    const LISTS: u64 = 2000;
    let mut file = Linked::new();
    let target = file.add(b"spir64_gen\0");
    let array = list(&mut file, &[target]);
    let first = file.add(&words(&[1 | 1 << 16, array, 0, 0]).repeat(LISTS as usize));
    let spare = file.add(&[0; 8]);
    let rela = file.add(&words(&[spare, 8, 0]).repeat(8));
    let bitmaps = words(&[u64::MAX; 20_000]);
    let places: Vec<u64> = (0..LISTS).map(|nth| first + 8 + 32 * nth).collect();
    let relr = [words(&[0x4000_0000]), bitmaps, words(&places)].concat();
    let folder = Folder::new();
    folder.put("a.so", with_relr(file, &relr, &[7, rela, 8, 8 * 24, 9, 24]));
    let module = [0x0723_0203u32, 0x0001_0200, 0, 10, 0, 0x0006_000f, 6, 1, 0x5354_5a5f, 0x6464_6133, 0];
    folder.put("n.spv", module.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    let arguments = ["embed", "a.so", "n.spv", "--as-target", "spir64_x86_64", "-o", "out.so"];
    run_bounded(&folder, &arguments, TIME_LIMIT, &[0]);
}

/// Structures of removed images stay listed, and runtimes read all of them but the payload.
#[test]
fn structures_that_need_a_payload_that_goes_are_left_alone() {
    for is_within in [false, true] {
        let mut file = Linked::new();
        let (target, payload) = (file.add(b"spir64_gen\0"), file.add(&[&[1; 64][..], b"SYCL/some set\0"].concat()));
        let name = if is_within { payload + 64 } else { file.add(b"SYCL/some set\0") };
        let key = file.add(b"key\0");
        let property = file.add(&words(&[key, 0, 1, 7]));
        let sets = file.add(&words(&[name, property, property + 32]));
        let entries = file.add(b"kernel\0");
        let entry = file.add(&words(&[0, entries, 0, 0]));
        let ends = [payload, payload + 80, entry, entry + 32, sets, sets + 24];
        let image = [&[2 | 4 << 16 | 1 << 24, target, 0, 0, 0, 0][..], &ends].concat();
        let kept = file.add(&EMPTY.map(u32::to_le_bytes).concat());
        let other = [2 | 4 << 16 | 1 << 24, target, 0, 0, 0, 0, kept, kept + 20, 0, 0, 0, 0];
        let array = file.add(&words(&[&image[..], &other].concat()));
        let list = file.add(&words(&[1 | 2 << 16, array, 0, 0]));
        let spare = file.add(&[0; 8]);
        let rela = file.add(&words(&[spare, 8, 0]).repeat(32));
        let places = [list + 8, array + 8, array + 48, array + 56, array + 64, array + 72, array + 80, array + 88];
        let others = [array + 96 + 8, array + 96 + 48, array + 96 + 56];
        let places = [&places[..], &others, &[property, sets, sets + 8, sets + 16, entry + 8]].concat();
        let bytes = with_relr(file, &words(&places), &[7, rela, 8, 32 * 24, 9, 24]);
        let edited = layers::edit(&bytes, &HashSet::from([0]), &[new_image()], &[]);
        assert_eq!(edited.is_err(), is_within, "{:?}", edited.err());
    }
}

/// A run of relocations may begin where the file has nothing, and lead into it.
#[test]
fn relocations_that_begin_outside_of_the_file_are_seen_within_it() {
    for (reaches_target, code) in [(0, 0), (1, 3)] {
        let mut file = Linked::new();
        let target = file.add(b"spir64\0");
        let array = list(&mut file, &[target]);
        file.add(&words(&[1 | 1 << 16, array, 0, 0]));
        let begin = BASE - 24;
        let place = (target - begin - 8) / 8;
        assert!((2..63).contains(&place), "{target:#x}");
        let bitmap = (1 | reaches_target << place) << 1 | 1;
        let folder = Folder::new();
        folder.put("a.so", with_relr(file, &words(&[begin, bitmap]), &[]));
        let done = tool(&folder, ["inspect", "a.so"]);
        assert_eq!(done.status.code(), Some(code), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn relocations_that_stand_for_many_times_their_size() {
    let mut file = Linked::new();
    let (kept, removed) = (file.add(b"spir64\0"), file.add(b"spir64_gen\0"));
    let array = list(&mut file, &[kept, removed]);
    file.add(&words(&[1 | 2 << 16, array, 0, 0]));
    let relr = [words(&[0x4000_0000]), words(&[u64::MAX; 1 << 20])].concat();
    let folder = Folder::new();
    folder.put("a.so", with_relr(file, &relr, &[]));
    let arguments = ["prune", "--drop", "spir64_gen", "--lose-kernels", "a.so", "-o", "out.so"];
    run_bounded(&folder, &arguments, TIME_LIMIT, &[0]);
}

#[test]
fn payloads_beside_sections_by_the_ten_thousands() {
    const IMAGES: u64 = 60_000;
    const SECTIONS: u64 = 100_000;
    let mut file = Linked::new();
    let (kept, removed) = (file.add(b"spir64\0"), file.add(b"spir64_gen\0"));
    let payload = file.add(&EMPTY.map(u32::to_le_bytes).concat().repeat(IMAGES as usize));
    let image = |nth: u64| {
        let (target, at) = (if nth == 0 { kept } else { removed }, payload + 20 * nth);
        words(&[2 | 4 << 16 | 1 << 24, target, 0, 0, 0, 0, at, at + 20, 0, 0, 0, 0])
    };
    let array = file.add(&(0..IMAGES).flat_map(image).collect::<Vec<u8>>());
    file.add(&words(&[1 | IMAGES << 16, array, 0, 0]));
    let (strings, symbols) = (file.add(b"\0x\0"), file.add(&[0; 24]));
    let spare = file.add(&[0; 8]);
    let rela = file.add(&words(&[spare, 8, 0]));
    let entries = words(&[7, rela, 8, 24, 9, 24, 5, strings, 10, 3, 6, symbols, 11, 24, 0, 0]);
    let dynamic = file.add(&entries);
    let names = file.add(b"\0.a\0") - BASE;
    let one = words(&[1 | 1 << 32, 2, BASE + 64, 64, 8, 0, 1, 0]);
    let first = words(&[0, 0, 0, 0, SECTIONS + 2, SECTIONS + 1, 0, 0]);
    let last = words(&[3 << 32, 0, 0, names, 4, 0, 1, 0]);
    let table = file.add(&[first, one.repeat(SECTIONS as usize), last].concat());
    let folder = Folder::new();
    folder.put("a.so", file.finish(Some((dynamic, entries.len() as u64)), Some(table)));
    let arguments = ["prune", "--drop", "spir64_gen", "--lose-kernels", "a.so", "-o", "out.so"];
    run_bounded(&folder, &arguments, TIME_LIMIT, &[0]);
}

#[test]
fn lists_of_one_array_whose_images_share_empty_property_sets() {
    const IMAGES: u64 = 512;
    let mut file = Linked::new();
    let target = file.add(b"spir64\0");
    let sets = file.add(&words(&[0, BASE, BASE]).repeat(256));
    let image = [2 | 4 << 16 | 1 << 24, target, 0, 0, 0, 0, BASE, BASE, 0, 0, sets, sets + 24 * 256];
    let array = file.add(&words(&image).repeat(IMAGES as usize));
    (0..512).for_each(|_| _ = file.add(&words(&[1 | IMAGES << 16, array, 0, 0])));
    let folder = Folder::new();
    folder.put("a.so", file.finish(None, None));
    run_bounded(&folder, &["inspect", "a.so"], TIME_LIMIT, &[3]);
}

/// A hole costs nobody anything, and would be in memory once for each time that the file is read.
#[test]
fn a_hole_in_a_segment_with_pointers_is_in_no_memory() {
    const HOLE: usize = 48 << 20;
    let mut file = Linked::new();
    let [gone, kept] = [&b"spir64_gen\0"[..], b"spir64_x86_64\0"].map(|target| file.add(target));
    let array = list(&mut file, &[gone, kept]);
    let lists = file.add(&words(&[1 | 2 << 16, array, 0, 0]));
    file.add(&vec![0; HOLE]);
    // The segment is copied where a relocation writes what is not there.
    let spare = file.add(&[0; 8]);
    let rela = file.add(&words(&[spare, 8, BASE]));
    let images = [array, array + 96].map(|image| [8, 32, 40].map(|field| image + field)).concat();
    let relr: Vec<u64> = [&[lists + 8][..], &images].concat();
    let folder = Folder::new();
    folder.put("a.so", with_relr(file, &words(&relr), &[7, rela, 8, 24, 9, 24]));
    folder.put("n.spv", EMPTY.map(u32::to_le_bytes).concat());
    let embed = ["embed", "a.so", "n.spv", "--as-target", "spir64_gen", "-o", "out.so"];
    let prune = ["prune", "--drop", "spir64_gen", "--lose-kernels", "a.so", "-o", "out.so"];
    for arguments in [&embed[..], &prune] {
        run_bounded(&folder, &[arguments, &["--max-memory", "64MiB"]].concat(), TIME_LIMIT, &[0]);
    }
}

#[test]
fn layers_are_taken_off_so_many_times() {
    let original = sample();
    let mut file = original.clone();
    for layer in 1..20 {
        let host = Host::read(&file).unwrap();
        let added = embed_images(&host, &Bundle::read(&host).unwrap(), &[new_image()], &[]).unwrap();
        file = added.to_vec();
        match layers::before(&file) {
            Ok(Before::File(restored)) => assert!(layer <= 16 && *restored == *original, "{layer}"),
            Ok(_) => panic!("{layer}"),
            Err(error) => assert!(layer > 16 && error.to_string().contains("more than 16 times"), "{layer}: {error}"),
        }
    }
    // One that was embedded and pruned in turns has one layer.
    let drop = HashSet::from([Bundle::read(&Host::read(&file).unwrap()).unwrap().images.len() - 1]);
    let pruned = layers::edit(&file, &drop, &[], &[]).unwrap().bytes;
    assert!(pruned.len() < file.len());
}

#[test]
fn libraries_of_a_wheel_that_inflate_to_much() {
    let folder = Folder::new();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    // A quarter of a gibibyte each, nearly, so that the last is beyond the bounds.
    let library = Linked::images(4, &frame(60 << 20), 4, |_| [0; 4]);
    for name in ["a.so", "b.so", "c.so", "d.so", "e.so", "f.so"] {
        zip.start_file(format!("foo/{name}"), options).unwrap();
        zip.write_all(&library).unwrap();
    }
    zip.start_file("foo-1.dist-info/RECORD", options).unwrap();
    folder.put("foo.whl", zip.finish().unwrap().into_inner());
    let arguments = ["prune", "foo.whl", "--image", "0", "--lose-kernels", "-o", "out/"];
    let done = tool(&folder, arguments);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(3) && said.contains("many times the size of all files"), "{said}");
}
