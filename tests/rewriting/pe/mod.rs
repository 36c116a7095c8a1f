//! Are libraries for Windows rewritten so that they load anywhere?

mod embedding;
mod loader;
mod pruning;

use crate::support::host::Fixture;

pub fn library(fixture: &Fixture) -> Vec<u8> {
    std::fs::read(fixture.build_dll()).unwrap()
}
