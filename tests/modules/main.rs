//! Is SPIR-V understood, cut, linked and specialized as an independent model says?
//!
//! With the feature `real-world` `spirv-val` judges what is written, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod aspects;
mod fixtures;
mod instrumentation;
mod link;
mod nvidia;
mod specialize;
mod subset;
#[path = "../support/mod.rs"]
mod support;
