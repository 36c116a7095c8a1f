//! What happens to a file that has native images already?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::error::ErrorKind;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::earlier_additions;
use sycl_bundle::rewrite::embed::record::{Layer, Patch, Record};

use crate::support::embedding::{Native, embedded, expected, natives, read, same};
use crate::support::folder::Folder;
use crate::support::host::{Fixture, ImageSpec, Kind, Linker, Strip, load, matrix, samples, view};

fn with<T>(file: &[u8], look: impl FnOnce(&Bundle) -> T) -> T {
    let host = Host::read(file).unwrap();
    look(&Bundle::read(&host).unwrap())
}

fn changed(natives: Vec<Native>) -> Vec<Native> {
    let payload = |native: &Native| [&native.payload[..], b"of a later run"].concat();
    natives.into_iter().map(|native| Native { payload: payload(&native), ..native }).collect()
}

#[test]
fn a_changed_file_is_refused_and_its_images_replaced() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        for (linker, strip) in [(Linker::Gnu, Strip::Nothing), (Linker::Lld, Strip::SectionHeaders)] {
            let form = matrix::units(Fixture::new("again"), 2).kind(kind).linker(linker).strip(strip);
            let file = form.build();
            let (original, before) = (read(&file), load(&file));
            let natives = natives(&original);
            let mut once = embedded(&original, &natives);
            // A byte of code: the entry point or, of a library, its last segment of code.
            let elf = goblin::elf::Elf::parse(&original).unwrap();
            let code = elf.program_headers.iter().rfind(|header| header.is_executable()).unwrap();
            let at = code.file_range().end - 1;
            once[at] ^= 1;
            let record = Record::find(&Host::read(&once).unwrap()).unwrap();
            let error = beneath::restore(&record, &Host::read(&once).unwrap()).unwrap_err();
            assert_eq!((error.kind(), error.remedy().is_some()), (ErrorKind::Input, true));

            // The same images by their numbers in the embedded file.
            let mut twice = embedded(&once, &changed(crate::support::embedding::natives(&once)));
            twice[at] ^= 1;
            let after = load(&Folder::new().file("twice", &twice));
            same(&after, &expected(&before, &changed(natives)), &format!("{kind:?} {linker:?}"));
            // The next run goes by the last record.
            twice[at] ^= 1;
            let record = Record::find(&Host::read(&twice).unwrap()).unwrap();
            assert!(beneath::restore(&record, &Host::read(&twice).unwrap()).unwrap().bytes == once);
        }
    }
}

/// A record's hash is its own word: whoever writes a record writes the hash to it.
#[test]
fn a_record_gives_back_the_program_that_the_file_is() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        let original = read(&matrix::units(Fixture::new("again"), 2).kind(kind).build());
        let file = embedded(&original, &natives(&original));
        let host = Host::read(&file).unwrap();
        let (record, _) = Record::locate(&host, Layer::Native).unwrap();
        let elf = goblin::elf::Elf::parse(&original).unwrap();
        let code = elf.program_headers.iter().rfind(|header| header.is_executable()).unwrap().file_range();
        let is_stack = |header: &goblin::elf::ProgramHeader| header.p_type == goblin::elf::program_header::PT_GNU_STACK;
        let stack = elf.header.e_phoff as usize + 56 * elf.program_headers.iter().position(is_stack).unwrap();
        let payload = Bundle::read(&host).unwrap().images[0].origin.unwrap().payload;
        let payload = host.addresses.file_offset(payload).unwrap() as usize;
        let at = |tag: u64| {
            let mut entries =
                elf.program_headers.iter().find(|header| header.p_type == 2).unwrap().file_range().step_by(16);
            entries.find(|at| word(&original, *at) == tag)
        };
        let places = [
            ("nothing", None, true),
            ("the entry point", Some(24), false),
            ("the program headers", Some(32), false),
            ("the stack's flags", Some(stack), false),
            ("code", Some(code.end - 8), false),
            ("device code", Some(payload), false),
            ("names of symbols", at(5).map(|at| at + 8), false),
            ("relocations", at(7).or_else(|| at(36)).map(|at| at + 8), false),
        ];
        for (what, place, is_given_back) in places {
            let Some(place) = place.or_else(|| is_given_back.then_some(0)) else { continue };
            let mut forged = record.clone();
            let mut evil = original.clone();
            if !is_given_back {
                let value = word(&evil, place) ^ 1 << 16;
                evil[place..place + 8].copy_from_slice(&value.to_le_bytes());
                forged.patches.retain(|patch| patch.offset != place as u64);
                forged.patches.push(Patch { offset: place as u64, original: value });
            }
            forged.original_hash = *blake3::hash(&evil).as_bytes();
            let restored = beneath::restore(&forged, &Host::read(&file).unwrap());
            assert_eq!(restored.is_ok(), is_given_back, "{kind:?}: {what}");
        }
        // Code that is said to stay at the end of the file.
        let mut evil = original.clone();
        evil[code.end - 8] ^= 1;
        let tail = &evil[code.start..];
        let longer = [&file[..], tail].concat();
        let mut forged = record;
        (forged.tail, forged.embedded_len) = (tail.len() as u64, longer.len() as u64);
        forged.original_hash = *blake3::hash(&evil).as_bytes();
        let error = beneath::restore(&forged, &Host::read(&longer).unwrap()).unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
    }
}

/// Tools that change a file in what was added to it, as `patchelf --clear-execstack` does, are heard.
#[test]
fn flags_of_a_moved_program_header_are_no_longer_those_of_the_original() {
    let original = read(&matrix::units(Fixture::new("again"), 2).build());
    let mut file = embedded(&original, &natives(&original));
    let elf = goblin::elf::Elf::parse(&file).unwrap();
    let is_stack = |header: &goblin::elf::ProgramHeader| header.p_type == goblin::elf::program_header::PT_GNU_STACK;
    let stack = elf.header.e_phoff as usize + 56 * elf.program_headers.iter().position(is_stack).unwrap();
    let record = Record::find(&Host::read(&file).unwrap()).unwrap();
    assert!(beneath::restore(&record, &Host::read(&file).unwrap()).is_ok());
    file[stack + 4] ^= 1;
    assert!(
        beneath::restore(&record, &Host::read(&file).unwrap()).unwrap_err().to_string().contains("another program")
    );
}

fn word(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

/// Restoring must not lose what was appended since, nor take a file that was cut for whole.
#[test]
fn a_longer_or_shorter_file_is_not_restored() {
    for strip in [Strip::Nothing, Strip::SectionHeaders] {
        let original = read(&matrix::units(Fixture::new("signed"), 0).strip(strip).build());
        let rewritten = embedded(&original, &natives(&original));
        let record = Record::find(&Host::read(&rewritten).unwrap()).unwrap();
        assert_eq!(record.embedded_len, rewritten.len() as u64);
        assert!(beneath::restore(&record, &Host::read(&rewritten).unwrap()).unwrap().bytes == original);
        let signed = [&rewritten[..], b"signature"].concat();
        let cut = &rewritten[..rewritten.len() - 1];
        for changed in [&signed[..], cut] {
            let restored = Host::read(changed).and_then(|host| beneath::restore(&record, &host).map(drop));
            let error = restored.unwrap_err().to_string();
            assert!(error.contains("changed since") || error.contains("passes the end of the file"), "{error}");
        }
    }
}

/// Two descriptors list a kernel of the same name: what is replaced in one stays in the other.
#[test]
fn the_same_kernel_in_two_lists() {
    let image = samples::image("halve");
    let native =
        |text: &str| ImageSpec { payload: text.as_bytes().to_vec(), ..image.clone() }.for_target("spir64_x86_64", 1);
    let form = Fixture::new("twice")
        .images(vec![image.clone(), native("of the first")])
        .images(vec![image.clone(), native("of the second")]);
    let natives = [Native { source: 2, target: "spir64_x86_64", payload: b"new".to_vec() }];
    let original = read(&form.build());
    let rewritten = embedded(&original, &natives);
    let seen = load(&Folder::new().file("twice", &rewritten));
    assert_eq!(seen.descriptors[0], form.expected().descriptors[0]);
    let new = ImageSpec { payload: b"new".to_vec(), ..image.clone() }.for_target("spir64_x86_64", 1);
    let second = Fixture::new("second").images(vec![image, new]);
    assert_eq!(seen.descriptors[1], second.expected().descriptors[0]);
    with(&rewritten, |bundle| assert!(bundle.problems.is_empty(), "{:?}", bundle.problems));
    let record = Record::find(&Host::read(&rewritten).unwrap()).unwrap();
    assert!(beneath::restore(&record, &Host::read(&rewritten).unwrap()).unwrap().bytes == original);
}

#[test]
fn images_of_an_earlier_run_are_found_with_their_sources() {
    for form in matrix::loadable().iter().step_by(3) {
        let original = read(&form.build());
        let natives = natives(&original);
        let rewritten = embedded(&original, &natives);
        with(&rewritten, |after| {
            with(&original, |before| {
                let found: Vec<_> = earlier_additions(after, before)
                    .iter()
                    .map(|addition| (addition.source, addition.target, addition.format, addition.payload.to_vec()))
                    .collect();
                let mut given: Vec<_> =
                    natives.iter().map(|native| (native.source, native.target, 1, native.payload.clone())).collect();
                // In the order of the file: by descriptor.
                let place = |source: usize| before.images[source].origin.unwrap().descriptor;
                given.sort_by_key(|addition| place(addition.0));
                assert_eq!(found, given);
            });
        });
    }
}

/// Images that list the same symbols (none, or the same kernel for devices with and without an aspect) are told apart.
#[test]
fn sources_with_the_same_symbols() {
    let image = |aspects: &[u32], options: &str, entry: &str| {
        let image = ImageSpec::new(format!("{aspects:?} {options} {entry}")).options(options, "").aspects(aspects);
        if entry.is_empty() { image } else { image.entry(entry) }
    };
    let images = vec![
        image(&[5], "", "k"),
        image(&[6], "", "k"),
        image(&[6], "-g", "k"),
        image(&[], "", ""),
        image(&[5], "", ""),
    ];
    let original = read(&Fixture::new("alike").images(images).build());
    let native = |source| Native { source, target: "spir64_x86_64", payload: format!("from {source}").into_bytes() };
    let natives: Vec<Native> = (0..5).map(native).collect();
    let rewritten = embedded(&original, &natives);
    with(&rewritten, |after| {
        with(&original, |before| {
            let sources: Vec<usize> = earlier_additions(after, before).iter().map(|addition| addition.source).collect();
            assert_eq!(sources, [0, 1, 2, 3, 4]);
        });
    });
    // Only one is built anew: in a file that cannot be restored the others keep theirs.
    let one = [Native { source: 1, target: "spir64_x86_64", payload: b"again".to_vec() }];
    let again = embedded(&rewritten, &one);
    with(&again, |after| {
        let payloads: Vec<&[u8]> = after.images.iter().skip(5).map(|image| image.stored).collect();
        assert_eq!(payloads, [&b"from 0"[..], b"from 2", b"from 3", b"from 4", b"again"]);
    });
}

#[test]
fn a_damaged_image_stays_in_the_list() {
    let form = matrix::units(Fixture::new("damaged"), 0).tgtimg(false);
    let mut file = read(&form.build());
    let target = with(&file, |bundle| {
        assert_eq!(bundle.images[0].link_options, "-cl-denorms-are-zero");
        file.windows(20).position(|window| window == b"-cl-denorms-are-zero").unwrap()
    });
    // The runtime does not mind bytes that are no UTF-8; we do not show them.
    file[target] = 0xff;
    let natives = [Native { source: 2, target: "spir64_x86_64", payload: b"new".to_vec() }];
    let before = with(&file, |bundle| (view(bundle), bundle.problems.len()));
    assert_eq!((before.0[0].len(), before.1), (7, 1));
    let rewritten = embedded(&file, &natives);
    with(&rewritten, |bundle| {
        assert_eq!(bundle.problems.len(), 1, "{:?}", bundle.problems);
        assert_eq!(bundle.descriptors[0].count, 9);
        assert_eq!(view(bundle)[0][..7], before.0[0]);
    });
}
