//! How does a changed bundle get back into a file?

pub mod image_data;
pub mod shared;
