//! How does a changed bundle get back into a file?

pub mod blobs;
pub mod convert;
pub mod embed;
pub mod empty;
pub mod extract;
pub mod image_data;
pub mod layers;
pub mod object_file;
pub mod pe;
pub mod prune;
pub mod settle;
pub mod shared;
