//! Can this image be compiled for, and run on, that target?

pub mod aspects;
pub mod choice;
mod digest;
pub mod examine;
pub mod filter;
pub mod fit;
pub mod gate;
pub mod kernels;
pub mod link;
pub mod native;
pub mod offers;
pub mod warnings;
