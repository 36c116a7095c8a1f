//! Does everything but the patched words stay as it was, and can it be had back?

use std::collections::BTreeSet;

use goblin::elf::Elf;
use goblin::elf::dynamic::{DT_RELA, DT_RELACOUNT, DT_RELASZ};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::beneath;
use sycl_bundle::rewrite::embed::record::Record;

use crate::support::embedding::{embedded, natives, notes, read};
use crate::support::host::matrix;

/// File offsets of the words that may change: in the file header, the dynamic section and the descriptors.
fn allowed(original: &[u8]) -> BTreeSet<u64> {
    let elf = Elf::parse(original).unwrap();
    let mut words = BTreeSet::from([32, 40, 56]);
    let dynamic = elf.program_headers.iter().find(|header| header.p_type == 2).unwrap();
    let entries = original[dynamic.file_range()].as_chunks::<16>().0;
    for (at, entry) in entries.iter().enumerate() {
        let tag = u64::from_le_bytes(entry[..8].try_into().unwrap());
        // DT_RELRSZ and DT_RELR, which goblin does not name.
        if [DT_RELA, DT_RELASZ, DT_RELACOUNT, 35, 36].contains(&tag) {
            words.insert(dynamic.p_offset + at as u64 * 16 + 8);
        }
    }
    let host = Host::read(original).unwrap();
    for descriptor in Bundle::read(&host).unwrap().descriptors {
        let at = host.addresses.file_offset(descriptor.address).unwrap();
        words.extend([at, at + 8]);
    }
    words
}

#[test]
fn only_the_recorded_words_change() {
    matrix::each(&matrix::loadable(), |form| {
        let file = form.build();
        let original = read(&file);
        let rewritten = embedded(&original, &natives(&original));
        let host = Host::read(&rewritten).unwrap();
        let record = Record::find(&host).unwrap();
        assert_eq!(record.notes, notes());
        assert_eq!(record.original_len, original.len() as u64);
        let patched: BTreeSet<u64> = record.patches.iter().map(|patch| patch.offset).collect();
        let allowed = allowed(&original);
        assert!(patched.is_subset(&allowed), "{}: {patched:x?} {allowed:x?}", file.display());
        let mut masked = rewritten[..original.len()].to_vec();
        for offset in patched {
            let word = usize::try_from(offset).unwrap()..usize::try_from(offset).unwrap() + 8;
            masked[word.clone()].copy_from_slice(&original[word]);
        }
        assert!(masked == original, "{}", file.display());
        assert!(
            beneath::restore(&record, &Host::read(&rewritten).unwrap()).unwrap().bytes == original,
            "{}",
            file.display()
        );
    });
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for form in matrix::loadable().iter().step_by(5) {
        let original = read(&form.build());
        let natives = natives(&original);
        let rewritten = embedded(&original, &natives);
        let host = Host::read(&rewritten).unwrap();
        let restored = beneath::restore(&Record::find(&host).unwrap(), &host).unwrap().bytes;
        assert!(embedded(&restored, &natives) == rewritten);
    }
}
