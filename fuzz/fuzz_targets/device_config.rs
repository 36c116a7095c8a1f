//! Does any text, as a device configuration and as a target's name, end in an answer or an error?
#![no_main]

use libfuzzer_sys::fuzz_target;
use sycl_bundle::bundle::aspect;
use sycl_bundle::device;

fuzz_target!(|text: &str| {
    let mut table = device::table().clone();
    let aspects: Vec<&str> = aspect::names().collect();
    table.add("fuzz.yaml", text, &aspects);
    let name: String = text.chars().take(64).collect();
    let _ = table.resolve(&name);
});
