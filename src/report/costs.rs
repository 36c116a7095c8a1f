//! What did compiling each image cost, and what does each native kernel take?
//!
//! The contract of `build --report` (`schema_version` 1; `costs/costs.schema.json` is its published schema). Changes are
//! additive.

use super::json::SchemaVersion;
use crate::demangle::demangle;
use crate::native::Kernel;
use schemars::JsonSchema;
use serde::Serialize;

/// The JSON Schema of the document.
pub fn schema() -> String {
    super::json::schema::<Costs>()
}

/// The cost of compiling each image, and the resources of each native kernel.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle build --report")]
pub struct Costs {
    /// The version of the form.
    pub schema_version: SchemaVersion,
    /// The inputs.
    pub inputs: Vec<String>,
    /// Images by number, then target: those that were compiled, and those that did not build.
    pub images: Vec<ImageCost>,
}

/// The origin of a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BinaryOrigin {
    /// Compiled in this run.
    Compiled,
    /// Taken from the cache.
    Cached,
    /// Made of the binary of an image of the same code.
    Folded,
    /// Not built.
    Failed,
}

/// One image for one target.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImageCost {
    /// The number of the image.
    pub image: usize,
    /// The input that it is from.
    pub file: String,
    /// The target.
    pub target: String,
    /// The origin of its binary.
    pub how: BinaryOrigin,
    /// Bytes of the module.
    pub module_bytes: u64,
    /// The options that the compiler got.
    pub options: String,
    /// Bytes of the binary.
    pub native_bytes: Option<u64>,
    /// Seconds that the attempt took that succeeded; of a folded image, the other's. Null for what came out of the cache.
    pub seconds: Option<f64>,
    /// The number of attempts.
    pub attempts: Option<u32>,
    /// The reason why it did not build.
    pub cause: Option<String>,
    /// Resources of its native kernels.
    pub kernels: Vec<KernelResources>,
}

/// Resources of a native kernel; null for what the format does not tell.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KernelResources {
    /// The mangled name.
    pub name: String,
    /// The name in the source.
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

impl KernelResources {
    /// The resources that a native format tells.
    pub fn new(kernel: &Kernel) -> KernelResources {
        KernelResources {
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
