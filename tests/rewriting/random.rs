//! Does a file load and show what it should, whatever series of rewrites it went through?
//!
//! `fuzz/rewriting.rs` says what a series is and what holds after each step; a fuzzer runs it on libraries of its own making.
//! Here it starts from what linkers made, too, and the loader of this machine has the last word on each ELF file that comes
//! out of it: the stand-in for the runtime sees what the reader sees. `SERIES=100000 SEED=7 cargo test --test rewriting
//! random` tries more, and others.

#[path = "../../fuzz/rewriting.rs"]
mod rewriting;

use crate::pe::library;
use crate::support::folder::Folder;
use crate::support::host::{Fixture, load_result, matrix, samples, view};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::{Host, Kind};

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Files of both linkers in all forms that this machine loads, and libraries for Windows.
fn bases() -> Vec<Vec<u8>> {
    let read = |fixture: Fixture| std::fs::read(fixture.build()).unwrap();
    let forms = matrix::loadable().into_iter().step_by(5).chain(matrix::layouts().into_iter().step_by(9));
    let windows =
        [1, 2, 3].map(|version| library(&Fixture::new("joined").images(samples::every_property()).version(version)));
    // Pages of 2 MiB make each layer as large.
    forms.map(read).chain(windows).filter(|file| file.len() < 1 << 20).collect()
}

/// Images as text, whatever list they are in: a name or a number that differs shows.
fn sorted<T: std::fmt::Debug>(images: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut all: Vec<String> = images.into_iter().map(|image| format!("{image:?}")).collect();
    all.sort();
    all
}

/// Loads the file, if it is one for this machine.
fn loads(file: &[u8]) -> Result<bool, String> {
    let host = Host::read(file).map_err(|error| error.to_string())?;
    if host.kind != Kind::Elf {
        return Ok(false);
    }
    let bundle = Bundle::read(&host).map_err(|error| error.to_string())?;
    let loaded = load_result(&[&Folder::new().file("rewritten", file)])?;
    let (seen, read) = (sorted(loaded.descriptors.into_iter().flatten()), sorted(view(&bundle).into_iter().flatten()));
    if seen == read { Ok(true) } else { Err(format!("the runtime sees\n{seen:#?}\nand the reader\n{read:#?}")) }
}

#[test]
fn a_series_of_rewrites_leaves_a_file_that_loads() {
    let series = number("SERIES", 300);
    let mut seed = [0; 32];
    seed[..4].copy_from_slice(&number("SEED", 23).to_le_bytes());
    let config = Config { cases: series, max_shrink_iters: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let bases = bases();
    let (loaded, damaged) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let outcome = runner.run(&vec(any::<u8>(), 1..160), |bytes| {
        match rewriting::rewritten(&bases, &bytes) {
            Some(file) => loaded.set(loaded.get() + u32::from(loads(&file).map_err(TestCaseError::fail)?)),
            None => damaged.set(damaged.get() + 1),
        }
        Ok(())
    });
    // The bytes are what fixtures/hostile/rewrite takes, where no file of a linker is needed.
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    assert!(loaded.get() > series / 4 && damaged.get() > series / 20, "{loaded:?} loaded, {damaged:?} damaged");
}
