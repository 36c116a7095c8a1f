//! Can two modules of any content make the linker panic, hang or take too much memory, or link to something damaged?
//!
//! `cargo +nightly fuzz run link`; a find goes to `fixtures/hostile/`. The first two bytes say where the first module ends. What
//! comes out has to be a whole module, of a size that goes with theirs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::link::{Options, Source, link};

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let middle = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (first, second) = rest.split_at(middle);
    let source = |name, bytes| Source { name, bytes, ..Source::default() };
    let sources = [source("first", first), source("second", second)];
    match link(&sources, &Options { partial: true }) {
        Ok(linked) => {
            let module = Module::parse(&linked.bytes).expect("a result has a header");
            assert!(module.stopped.is_none(), "{:?}", module.stopped);
            assert!(linked.bytes.len() <= bytes.len().saturating_mul(8).saturating_add(64));
        }
        Err(errors) => assert!(!errors.is_empty()),
    }
});
