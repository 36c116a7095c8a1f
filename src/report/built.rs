//! What came of a build?

mod summary;

use super::json::{ImageProblem, SchemaVersion};
use crate::build::Failure;
use crate::compat::native::Stay;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The JSON Schema of the document.
pub fn schema() -> String {
    super::json::schema::<Built>()
}

/// What came of a build.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle build --format json")]
pub struct Built {
    /// The version of the form.
    pub schema_version: SchemaVersion,
    /// The inputs.
    pub inputs: Vec<String>,
    /// The file that is written; empty where there is none.
    pub output: String,
    /// The form of the output, by the name that `--emit` takes.
    pub emit: &'static str,
    /// The first target.
    pub target: String,
    /// The instruction set of native CPU code; null where no target has one.
    pub march: Option<&'static str>,
    /// Counts for each target, in the order of the command line.
    pub targets: Vec<OfTarget>,
    /// Images in the inputs.
    pub images: usize,
    /// Images that were not selected.
    pub unselected: usize,
    /// Native images of an earlier run that were taken over.
    pub taken_over: usize,
    /// Native images that were compiled, now or in an earlier run; in a trial, those that would be.
    pub compiled: usize,
    /// How many of them came out of the cache.
    pub cached: usize,
    /// How many of them are the same code as another but for the kernel's name, and were made of its binary; what came
    /// out of the cache does not count.
    pub folded: usize,
    /// Images that are the same code as another and are compiled all the same.
    pub apart: Vec<Alone>,
    /// Images that another shard compiles.
    pub elsewhere: usize,
    /// Whether this was a trial, which compiles and writes nothing.
    pub dry_run: bool,
    /// Images that stay as they are.
    pub staying: Vec<Staying>,
    /// Images that a target cannot run.
    pub skipped: Vec<Skipped>,
    /// Images whose SPIR-V is not in the output: their kernels run on the targets alone.
    pub without_spirv: Vec<usize>,
    /// Images that did not build, which stay as they are too.
    pub failed: Vec<Failed>,
    /// Parts that could not be read; the images concerned stay as they are.
    pub problems: Vec<ImageProblem>,
    /// Options that the driver did not get, and how many images have them.
    pub removed_options: BTreeMap<String, usize>,
    /// Bytes of native code.
    pub native_bytes: u64,
    /// Bytes of the inputs.
    pub bytes_before: u64,
    /// Bytes of the output.
    pub bytes_after: u64,
    /// Seconds that compiling took.
    pub seconds: f64,
    /// The image that took longest, of those that were compiled in this run.
    pub slowest: Option<Slowest>,
    /// Seconds that programs need not compile any more: one image after the other, of those that were compiled in this
    /// run and those that are folded with them.
    pub saved_seconds: f64,
}

/// The image that took longest.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Slowest {
    /// The image.
    pub image: usize,
    /// The target.
    pub target: String,
    /// The first of its kernels, mangled.
    pub kernel: Option<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Images that are the same code as others, and are compiled on their own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Alone {
    /// The number of compilations that folding would save.
    pub images: usize,
    /// The reason.
    pub reason: &'static str,
}

/// Counts for one target.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct OfTarget {
    /// The name of the target.
    pub target: String,
    /// The `DeviceTargetSpec` of its images.
    pub spec: &'static str,
    /// The `compile_target` of its images.
    pub compile_target: Option<String>,
    /// The instruction set or device that the compiler was asked for.
    pub architecture: String,
    /// Native images, now or in an earlier run; in a trial, those that would be.
    pub compiled: usize,
    /// How many of them came out of the cache.
    pub cached: usize,
    /// How many of them are the same code as another but for the kernel's name, and were made of its binary.
    pub folded: usize,
    /// Images that it cannot run.
    pub skipped: usize,
    /// Images that stay as they are.
    pub staying: usize,
    /// Images that did not build.
    pub failed: usize,
    /// Images that another shard compiles.
    pub elsewhere: usize,
    /// Bytes of native code.
    pub native_bytes: u64,
}

/// An image that a target cannot run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// The image.
    pub image: usize,
    /// The target.
    pub target: String,
    /// The first of its kernels, mangled.
    pub kernel: Option<String>,
    /// The rule, by the names that `check` uses.
    pub rule: &'static str,
    /// The reason, as a sentence.
    pub reason: String,
}

/// An image that stays as it is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Staying {
    /// The image.
    pub image: usize,
    /// The targets for which it stays.
    pub targets: Vec<String>,
    /// The first of its kernels, mangled.
    pub kernel: Option<String>,
    /// A word for the reason.
    pub kind: &'static str,
    /// The reason, as a sentence.
    pub reason: String,
}

impl Staying {
    /// From a reason.
    pub fn new(image: usize, targets: Vec<String>, kernel: Option<String>, stay: &Stay) -> Staying {
        Staying { image, targets, kernel, kind: stay.label(), reason: stay.to_string() }
    }
}

/// An image that did not build.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failed {
    /// The image.
    pub image: usize,
    /// The target.
    pub target: String,
    /// Mangled names of its kernels.
    pub kernels: Vec<String>,
    /// The reason.
    pub cause: String,
    /// The log of the compiler.
    pub log: String,
    /// The number of attempts.
    pub attempts: u32,
}

impl Failed {
    /// From a failure; `image` is the number the user knows it by.
    pub fn new(image: usize, target: String, kernels: Vec<String>, failure: &Failure) -> Failed {
        Failed {
            image,
            target,
            kernels,
            cause: failure.to_string(),
            log: failure.log.clone(),
            attempts: failure.attempts,
        }
    }
}

impl Built {
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
