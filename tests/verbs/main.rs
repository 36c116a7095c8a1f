//! Do the verbs say of files and targets what there is to say, beyond what recorded cases (`tests/cli`) show?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod check;
mod devices;
mod filter;
mod kernels;
mod page;
mod pretended_ocloc;
mod properties;
#[path = "../support/mod.rs"]
mod support;
mod targets;
mod verdicts;
