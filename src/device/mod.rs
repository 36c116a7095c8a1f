//! What can a target do?
//!
//! A target is a name that code is compiled for (`intel_gpu_pvc`, `spir64_x86_64`), with the facts that decide what runs
//! there. The facts stand in `device-configs/*.yaml` and in files of the same form that the user gives.

pub mod aspect;
pub mod builtin;
pub mod cpu;
pub mod ip;
pub mod matrix;
pub mod near;
mod read;
pub mod resolve;
pub mod selector;
pub mod table;
pub mod target;
pub mod yaml;

pub use builtin::table;
pub use read::KEYS;
