//! What can a target do?

pub mod cpu;
