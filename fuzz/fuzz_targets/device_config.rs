//! `cargo +nightly fuzz run device_config`: see `device_config` in `../bodies.rs`. A find goes to `fixtures/hostile/device_config/`.
#![no_main]

#[path = "../bodies.rs"]
#[allow(dead_code, reason = "each target needs one of them")]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> libfuzzer_sys::Corpus {
    if bodies::device_config(bytes) { libfuzzer_sys::Corpus::Keep } else { libfuzzer_sys::Corpus::Reject }
});
