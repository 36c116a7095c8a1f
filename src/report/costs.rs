//! What did compiling each image cost, and what does each native kernel take?
//!
//! The contract of `build --report` (`schema_version` 1; `costs/costs.schema.json` is its published schema). Changes are
//! additive.

use crate::native::Kernel;
use crate::report::name::demangle;
use serde::Serialize;

/// The JSON Schema of `build --report`.
pub const SCHEMA: &str = include_str!("costs/costs.schema.json");

/// The document.
#[derive(Debug, Serialize)]
pub struct Costs {
    /// Version of this document's schema.
    pub schema_version: u32,
    /// The inputs.
    pub inputs: Vec<String>,
    /// Images by number, then target.
    pub images: Vec<OfImage>,
}

/// Where a binary is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It was compiled.
    Compiled,
    /// It was in the cache.
    Cached,
    /// It is another image's, under its own kernel's name.
    Folded,
    /// There is none: the image did not build.
    Failed,
}

/// One image for one target.
#[derive(Debug, Serialize)]
pub struct OfImage {
    /// Its number.
    pub image: usize,
    /// The input that it is from.
    pub file: String,
    /// The target.
    pub target: String,
    /// Where its binary is from.
    pub how: How,
    /// Bytes of the module.
    pub module_bytes: u64,
    /// The options that the compiler got.
    pub options: String,
    /// Bytes of the binary.
    pub native_bytes: Option<u64>,
    /// How long compiling it took, or the image that it is folded with; none for what came out of the cache.
    pub seconds: Option<f64>,
    /// How often it was tried.
    pub attempts: Option<u32>,
    /// Why it did not build.
    pub cause: Option<String>,
    /// What its native kernels take.
    pub kernels: Vec<OfKernel>,
}

/// What a native kernel takes; none for what the format does not tell.
#[derive(Debug, Serialize)]
pub struct OfKernel {
    /// Its mangled name.
    pub name: String,
    /// Its name in the source.
    pub source_name: String,
    /// Registers: per hardware thread on Intel GPUs (GRF).
    pub registers: Option<u64>,
    /// Work-items that run as one.
    pub simd: Option<u64>,
    /// Bytes of registers spilled to memory, per hardware thread.
    pub spill: Option<u64>,
    /// Bytes of scratch memory for spills and private arrays together, where they are told as one.
    pub scratch: Option<u64>,
    /// Bytes of private memory, per hardware thread.
    pub private: Option<u64>,
    /// Bytes of local memory (SLM) per work-group.
    pub local: Option<u64>,
    /// Barriers.
    pub barriers: Option<u64>,
    /// Work-items per work-group that it is compiled for at most.
    pub max_work_group_size: Option<u64>,
    /// Bytes of all arguments.
    pub argument_bytes: Option<u64>,
}

impl OfKernel {
    /// Of what a native format tells.
    pub fn new(kernel: &Kernel) -> OfKernel {
        OfKernel {
            name: kernel.name.clone(),
            source_name: demangle(&kernel.name).into_owned(),
            registers: kernel.registers,
            simd: kernel.simd,
            spill: kernel.spill,
            scratch: kernel.scratch,
            private: kernel.private,
            local: kernel.local,
            barriers: kernel.barriers,
            max_work_group_size: kernel.max_work_group_size,
            argument_bytes: kernel.argument_bytes,
        }
    }
}

impl Costs {
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
