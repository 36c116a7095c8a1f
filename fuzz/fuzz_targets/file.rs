//! Can any file make the reader of host files, images and modules panic, hang or take too much memory?
//!
//! `cargo +nightly fuzz run file`; a find goes to `fixtures/hostile/`, where `tests/hostile.rs` replays it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::container::Host;
use sycl_bundle::spirv::Module;

fuzz_target!(|bytes: &[u8]| {
    let Ok(host) = Host::read(bytes) else { return };
    let Ok(bundle) = Bundle::read(&host) else { return };
    for image in &bundle.images {
        let _ = (image.kernels(), image.exports(), image.imports(), image.state(), image.format());
        let _ = Requirements::of(image, bundle.epoch);
        if let Ok(contents) = image.contents() {
            let _ = Module::parse(&contents);
        }
    }
});
