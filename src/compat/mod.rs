//! Can this image be compiled for, and run on, that target?
//!
//! The crate's own page has an example.

pub mod aspects;
mod bitcode;
pub(crate) mod built_in;
pub(crate) mod choice;
mod contradictions;
pub mod diff;
pub(crate) mod engine;
pub mod examine;
pub mod explain;
pub mod finding;
pub mod fit;
pub mod gate;
pub(crate) mod has;
pub mod kernels;
pub mod link;
pub(crate) mod native;
pub(crate) mod offers;
pub(crate) mod other_models;
pub mod warnings;
