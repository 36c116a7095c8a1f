//! Can this image be compiled for, and run on, that target?
//!
//! The crate's own page has an example.

pub mod aspects;
mod bitcode;
pub mod built_in;
pub mod choice;
pub mod diff;
pub mod engine;
pub mod examine;
pub mod explain;
pub mod finding;
pub mod fit;
pub mod gate;
pub mod has;
pub mod kernels;
pub mod link;
pub mod native;
pub mod offers;
pub mod warnings;
