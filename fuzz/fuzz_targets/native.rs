//! Can any native payload make its reader panic, hang or take too much memory?
//!
//! `cargo +nightly fuzz run native`; a find goes to `fixtures/hostile/`. The format is told by content, as it is for
//! images; the first bytes of each are a dictionary of few words, which the fuzzer finds. Where the first byte is one of
//! the low numbers, the text forms are forced instead, so that no input is spent on wrapping them into ELF files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::container::Host;
use sycl_bundle::container::place::Place;
use sycl_bundle::native::Native;

fuzz_target!(|bytes: &[u8]| {
    let (format, bytes) = match bytes.split_first() {
        Some((0, rest)) => (Format::Ptx, rest),
        Some((1, rest)) => (Format::LlvmBitcode, rest),
        Some((2, rest)) => {
            // AdaptiveCpp's containers, which are text too.
            let text = [b"object-id=", rest].concat();
            if let Ok(host) = Host::read(&text)
                && let Ok(bundle) = Bundle::read(&host)
            {
                assert!(bundle.problems.iter().all(|problem| problem.error.offset().is_some()));
            }
            return;
        }
        _ => (Format::sniff(bytes), bytes),
    };
    if let Some(native) = Native::read(bytes, format, Place::file(0)) {
        assert!(native.problems.iter().all(|problem| problem.offset().is_some()), "{:?}", native.problems);
        let _ = (native.devices(), native.kernel_names());
    }
});
