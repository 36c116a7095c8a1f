//! Can any image structure, its entries and property sets make their reader panic, hang or take too much memory?
//!
//! The input is memory at low addresses: an image structure first, and whatever it points to. Pointers are small
//! numbers, which a fuzzer guesses easily. A find is wrapped into a file and goes to `fixtures/hostile/`.
#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::descriptor::{Descriptor, ImageLayout};
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::bundle::structure::Walker;
use sycl_bundle::container::Host;
use sycl_bundle::container::address::{AddressMap, Segment};

/// Address of the first byte; 0 would be a null pointer.
const BASE: u64 = 16;

fuzz_target!(|bytes: &[u8]| {
    let map = AddressMap::new(vec![Segment { address: BASE, offset: 0, data: Cow::Borrowed(bytes), holds_pointers: true }]);
    // Any sound file will do to ask for an epoch.
    let module = [0x03, 0x02, 0x23, 0x07];
    let epoch = Host::read(&module).map(|host| Epoch::of(&host, None));
    for layout in [ImageLayout::Version3, ImageLayout::WithManifest, ImageLayout::Upstream3] {
        let descriptor = Descriptor { address: BASE, count: 1, images: BASE, layout };
        let Ok(image) = Walker::new(&map, bytes.len()).image(&descriptor, 0, 0, 0) else { continue };
        for property in image.properties.sets.iter().flat_map(|set| &set.properties) {
            let value = property.value;
            let _ = (value.payload(), value.number(), value.text(), value.words(), value.double_words());
        }
        let _ = (image.kernels(), image.exports(), image.imports(), image.state(), image.compile_target());
        if let Ok(epoch) = epoch {
            let _ = Requirements::of(&image, epoch);
        }
    }
});
