//! Do files that images were added to, removed from or written to load, run and come back as they should?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod embed;
mod package;
mod pe;
mod random;
mod round_trips;
mod shared_library;
#[path = "../support/mod.rs"]
mod support;
mod unlisted;
mod wrap;
