//! `cargo +nightly fuzz run object_file`: see `object_file` in `../bodies.rs`. A find goes to `fixtures/hostile/object_file/`.
#![no_main]

#[path = "../bodies.rs"]
#[allow(dead_code, reason = "each target needs one of them")]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> libfuzzer_sys::Corpus {
    if bodies::object_file(bytes) { libfuzzer_sys::Corpus::Keep } else { libfuzzer_sys::Corpus::Reject }
});
