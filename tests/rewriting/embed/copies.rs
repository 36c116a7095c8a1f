//! Are copies of descriptors in a program at a fixed address, as `patchelf` leaves some, no lists of their own?
//!
//! Nothing in the file tells which of them the code names.

use crate::support::embedding::{embedded, expected, natives, pruned, read, same, shrunk, try_embedded, without};
use crate::support::folder::Folder;
use crate::support::host::{load, matrix};
use crate::support::spirv;
use goblin::elf::Elf;
use goblin::elf::program_header::PT_LOAD;
use std::process::Command;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::Record;

/// Returns the offsets of words that are in memory and in no segment, since pages are whole.
fn room(file: &[u8]) -> Vec<usize> {
    let elf = Elf::parse(file).unwrap();
    let loaded: Vec<_> = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD).collect();
    let host = Host::read(file).unwrap();
    let mut room = Vec::new();
    for segment in host.addresses.segments() {
        let places = (0..segment.data.len()).step_by(8).map(|at| segment.offset as usize + at);
        let is_free = |at: &usize| {
            let is_loaded = loaded.iter().any(|header| header.file_range().contains(at));
            !is_loaded && at.is_multiple_of(8) && file.get(*at..at + 8) == Some(&[0; 8])
        };
        room.extend(places.filter(is_free));
    }
    room
}

/// Copies each descriptor into such words, twice. Gives the offsets of each with its copies; none where there is no room.
fn copied(file: &[u8]) -> Option<(Vec<u8>, Vec<[usize; 3]>)> {
    let host = Host::read(file).unwrap();
    let lists = Bundle::read(&host).unwrap().descriptors;
    let mut room = room(file).into_iter();
    let (mut out, mut places) = (file.to_vec(), Vec::new());
    for list in lists {
        let at = host.addresses.file_offset(list.address).unwrap() as usize;
        let mut one = [at; 3];
        for copy in &mut one[1..] {
            let words: Vec<usize> = room.by_ref().take(3).collect();
            *copy = *words.first().filter(|first| words.last().is_some_and(|last| *last == **first + 16))?;
            out[*copy..*copy + 16].copy_from_slice(&file[at..at + 16]);
        }
        places.push(one);
    }
    Some((out, places))
}

/// Programs at fixed addresses, with copies.
fn programs() -> Vec<(Vec<u8>, Vec<[usize; 3]>)> {
    let forms = [matrix::loadable(), matrix::layouts()].concat();
    let fixed: Vec<_> = forms.iter().filter(|form| form.is_fixed()).collect();
    let programs: Vec<_> = fixed.iter().filter_map(|form| copied(&read(&form.build()))).collect();
    assert!(programs.len() > 5, "{} of {}", programs.len(), fixed.len());
    programs
}

fn images(file: &[u8]) -> (usize, usize, Vec<String>) {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let problems = bundle.problems.iter().map(|problem| problem.error.to_string());
    (bundle.descriptors.len(), bundle.images.len(), problems.collect())
}

#[test]
fn all_copies_say_the_same() {
    for (file, places) in programs() {
        let folder = Folder::new();
        let before = load(&folder.file("before", &file));
        let count = before.images().len();
        assert_eq!(images(&file), (places.len(), count, vec![]));
        let natives = natives(&file);
        let more = embedded(&file, &natives);
        same(&load(&folder.file("more", &more)), &expected(&before, &natives), "more");
        assert_eq!(images(&more), (places.len(), count + natives.len(), vec![]));
        let gone = |_: usize, target: &str| target == "spir64_gen";
        let less = [pruned(&file, &gone), shrunk(&file, &gone)].map(|edited| edited.bytes.to_vec());
        for less in &less {
            same(&load(&folder.file("less", less)), &without(&before, &gone), "less");
        }
        for changed in [&more, &less[0]] {
            let word = |at: usize| &changed[at..at + 16];
            assert!(places.iter().flatten().all(|at| changed.get(*at..at + 16).is_some()));
            assert!(places.iter().all(|[list, copies @ ..]| copies.iter().all(|copy| word(*copy) == word(*list))));
        }
        let host = Host::read(&more).unwrap();
        assert!(beneath::restore(&Record::find(&host).unwrap(), &host).unwrap().bytes == file);
    }
}

/// A copy may be older than the list, or the list than it.
#[test]
fn copies_of_other_lengths_are_not_written_to() {
    let folder = Folder::new();
    folder.put("k.spv", spirv::module("add_one"));
    for (mut file, places) in programs().into_iter().take(3) {
        let [list, copy, _] = places[0];
        let (_, count, _) = images(&file);
        assert!(file[list + 2] > 1);
        file[copy + 2] -= 1;
        // The longer of the two counts.
        for _ in 0..2 {
            let (lists, seen, problems) = images(&file);
            assert_eq!((lists, seen), (places.len(), count));
            assert!(matches!(&problems[..], [one] if one.contains("differ in length")), "{problems:?}");
            assert!(try_embedded(&file, &natives(&file)).unwrap_err().to_string().contains("differ in length"));
            folder.file("program", &file);
            for verb in [&["embed", "program", "k.spv"][..], &["prune", "program", "--image", "0", "--lose-kernels"]] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
                let done = command.args(verb).args(["-o", "out"]).current_dir(folder.path()).output().unwrap();
                let said = String::from_utf8_lossy(&done.stderr);
                assert_eq!(done.status.code(), Some(3), "{verb:?}: {said}");
                assert!(said.contains("differ in length") && !folder.path().join("out").exists(), "{verb:?}: {said}");
            }
            file.swap(list + 2, copy + 2);
        }
    }
}
