//! Does any prefix or mutation of a blob end in an answer?

use super::offload_binary::{VERSIONS, entry};
use super::offload_bundle::binary;
use super::syclbin::{ENVELOPES, written};
use super::{module, read};
use sycl_bundle::bundle::image::State;
use sycl_bundle::bundle::offload_binary::write;
use sycl_bundle::bundle::offload_bundle::compress;
use sycl_bundle::container::Host;

/// One sound file of each form.
fn files() -> Vec<Vec<u8>> {
    let modules = [module(1), module(2)];
    let strings = [("triple", "spir64-unknown-unknown"), ("arch", "pvc")];
    let entries = modules.each_ref().map(|module| entry(module, &strings));
    let mut files: Vec<Vec<u8>> =
        VERSIONS.iter().map(|&version| write(version, &entries).unwrap().into_vec()).collect();
    files.extend(ENVELOPES.map(|envelope| written(envelope, State::Input)));
    files.extend([binary(1), compress(&binary(1), 3, 3, 0).unwrap()]);
    let text = b"# __CLANG_OFFLOAD_BUNDLE____START__ sycl-spir64\nBC\n# __CLANG_OFFLOAD_BUNDLE____END__ sycl-spir64\n";
    files.push(text.to_vec());
    files
}

/// Reads what can be identified; every problem must have a place, which `read` checks.
fn ask(bytes: &[u8]) -> usize {
    if Host::read(bytes).is_err() { 0 } else { read(bytes).0.len() }
}

#[test]
fn every_prefix() {
    for file in files() {
        let whole = ask(&file);
        assert!(whole > 0);
        for len in 0..file.len() {
            assert!(ask(&file[..len]) <= whole);
        }
    }
}

#[test]
fn every_byte_set_to_extremes() {
    for file in files() {
        for at in 0..file.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, file[at].wrapping_add(1), file[at].wrapping_sub(1)] {
                let mut bytes = file.clone();
                bytes[at] = value;
                ask(&bytes);
            }
        }
    }
}

#[test]
fn every_word_set_to_extremes() {
    for file in files() {
        for at in 0..file.len().saturating_sub(8) {
            for value in [u64::MAX, i64::MAX as u64, 1 << 32, file.len() as u64, file.len() as u64 - 8] {
                let mut bytes = file.clone();
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                ask(&bytes);
            }
        }
    }
}

#[test]
fn overlapping_parts_do_not_multiply_the_file() {
    // 20,000 entries that all have the whole of a megabyte as their image.
    let image = vec![1; 1 << 20];
    let empty = entry(&[], &[]);
    let mut entries = vec![empty; 20_000];
    entries[0] = entry(&image, &[]);
    let mut bytes = write(VERSIONS[1], &entries).unwrap();
    let place = bytes[32 + 24..32 + 40].to_vec();
    for index in 0..20_000 {
        bytes[32 + index * 40 + 24..][..16].copy_from_slice(&place);
    }
    let (seen, problems) = read(&bytes);
    assert!(seen.len() < 30, "{}", seen.len());
    assert!(problems[0].contains("they overlap, or are forged"), "{}", problems[0]);
}

#[test]
fn a_bomb_is_refused() {
    let zeros = vec![0; 100 << 20];
    let bytes = write(VERSIONS[3], &[entry(&zeros, &[])]).unwrap();
    let (seen, problems) = read(&bytes);
    assert!(seen.is_empty() && problems[0].contains("the limit is"), "{problems:?}");
}
