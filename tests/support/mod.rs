//! What do several tests need? Host files and SPIR-V modules made from the project's own sources.
//!
//! A test file says `mod support;` and uses what it needs; the rest is dead code there.
#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod built;
pub mod cpu_object;
pub mod damage;
pub mod embedding;
pub mod folder;
pub mod host;
pub mod page;
pub mod ptx;
pub mod read;
pub mod spirv;
pub mod tools;
