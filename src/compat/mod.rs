//! Can this image be compiled for, and run on, that target? First: what does each image say of itself?

pub mod examine;
