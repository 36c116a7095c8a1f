//! Is everything that lies in a file of any format read as it is, and does damage only ever end in an error?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod agree;
mod blobs;
mod host_fixtures;
mod native;
mod objects;
mod packages;
mod pe;
mod reading;
#[path = "../support/mod.rs"]
mod support;
