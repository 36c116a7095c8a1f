//! How does a changed bundle get back into a file?

pub mod archive;
pub mod beneath;
pub mod blobs;
pub mod embed;
pub mod empty;
pub mod extract;
pub mod fold;
pub mod image_data;
pub mod join;
pub mod layers;
pub mod link;
pub mod native_name;
mod object_buffer;
pub mod object_file;
pub mod pe;
pub mod prepare;
pub(crate) mod property_sets;
pub(crate) mod prune;
mod registered;
pub(crate) mod renumber;
pub mod shared;
pub mod specialize;
pub mod split;
pub(crate) mod virtual_functions;
pub mod wheel;
