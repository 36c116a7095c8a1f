//! What can a target do?

pub mod cpu;
pub mod selector;
