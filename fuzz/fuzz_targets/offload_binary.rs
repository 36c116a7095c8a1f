//! Can any OffloadBinary make its reader panic, hang or take too much memory?
//!
//! `cargo +nightly fuzz run offload_binary`; a find goes to `fixtures/hostile/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sycl_bundle::bundle::blob::Reader;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::offload_binary::MAGIC;
use sycl_bundle::container::arena::Arena;
use sycl_bundle::container::place::Place;

fuzz_target!(|bytes: &[u8]| {
    // The format is forced, so that no input is spent on guessing its first bytes.
    let bytes = &[&MAGIC[..], bytes].concat();
    let arena = Arena::default();
    let mut reader = Reader::new(&arena, bytes.len());
    reader.read(bytes, Place::file(0), 0, &Image::bare(bytes, 0));
    for image in &reader.images {
        let _ = (image.kernels(), image.exports(), image.state(), image.format(), image.compile_target());
    }
    assert!(reader.problems.iter().all(|problem| problem.error.offset().is_some()));
});
