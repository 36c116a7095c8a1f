//! How is a linked PE file rewritten?
//!
//! Headers are read and changed as bytes: a loader uses only a few fields of them once a section is added.

mod embed;
pub mod headers;
pub mod relocations;
mod room;
pub mod signature;

pub use embed::embed_images;
