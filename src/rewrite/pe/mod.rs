//! How is a linked PE file rewritten?
//!
//! Its headers are read and changed as bytes: only a few fields of them matter to a loader once a section is added.

mod embed;
pub mod headers;
pub mod relocations;
mod room;
pub mod signature;

pub use embed::embed_images;
