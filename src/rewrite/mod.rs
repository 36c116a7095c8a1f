//! How does a changed bundle get back into a file?

pub mod extract;
