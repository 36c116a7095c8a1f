//! `cargo +nightly fuzz run text`: see `text` in `../bodies.rs`. A find goes to `fixtures/hostile/text/`.
#![no_main]

#[path = "../bodies.rs"]
#[allow(dead_code, reason = "each target needs one of them")]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> libfuzzer_sys::Corpus {
    if bodies::text(bytes) { libfuzzer_sys::Corpus::Keep } else { libfuzzer_sys::Corpus::Reject }
});
