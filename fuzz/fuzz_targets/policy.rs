//! `cargo +nightly fuzz run policy`: see `policy` in `../bodies.rs`. A find goes to `fixtures/hostile/policy/`.
#![no_main]

#[path = "../bodies.rs"]
#[allow(dead_code, reason = "each target needs one of them")]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> libfuzzer_sys::Corpus {
    if bodies::policy(bytes) { libfuzzer_sys::Corpus::Keep } else { libfuzzer_sys::Corpus::Reject }
});
