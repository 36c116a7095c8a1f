//! Can this image be compiled for, and run on, that target?

pub mod aspects;
pub mod choice;
pub mod diff;
mod digest;
pub mod examine;
pub mod explain;
pub mod filter;
pub mod fit;
pub mod gate;
pub mod has;
pub mod kernels;
pub mod link;
pub mod native;
pub mod offers;
pub mod warnings;
