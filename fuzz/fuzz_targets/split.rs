//! Can any module make the splitter panic, hang or write what it cannot read itself?
//!
//! `cargo +nightly fuzz run split`; a find goes to `fixtures/hostile/`, where `tests/hostile.rs` replays it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::subset::{Cutter, Keep, exported};

fuzz_target!(|bytes: &[u8]| {
    let Ok(index) = Index::read(bytes) else { return };
    let Ok(mut cutter) = Cutter::new(&index) else { return };
    let functions: Vec<u32> = exported(&index).into_iter().map(|(id, _)| id).collect();
    // A module may name more entry points than it has room for.
    for place in 0..index.entry_points.len().min(16) {
        let Ok(part) = cutter.cut(&Keep { entry_points: &[place], ids: &[] }) else { continue };
        let again = Index::read(&part).expect("what was written is a module");
        assert!(again.stopped.is_none() && again.entry_points.len() == 1);
        let mut whole = Cutter::new(&again).expect("and can be taken apart again");
        assert!(whole.cut(&Keep { entry_points: &[0], ids: &[] }).expect("into itself").len() <= part.len());
    }
    let all: Vec<usize> = (0..index.entry_points.len()).collect();
    let _ = cutter.cut(&Keep { entry_points: &all, ids: &functions });
});
