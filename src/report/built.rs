//! What came of a build?

mod summary;

use crate::build::Failure;
use crate::compat::native::Stay;
use crate::error::Problem;
use serde::Serialize;
use std::collections::BTreeMap;

/// The published JSON Schema of the document.
pub const SCHEMA: &str = include_str!("built/build.schema.json");

/// The result of one `build`.
#[derive(Debug, Default, Serialize)]
pub struct Built {
    /// Version of this document's schema.
    pub schema_version: u32,
    /// The inputs.
    pub inputs: Vec<String>,
    /// The output.
    pub output: String,
    /// How the output is made, by the name that `--emit` takes.
    pub emit: &'static str,
    /// The first target.
    pub target: String,
    /// The instruction set of native CPU code, where there is a target with one.
    pub march: Option<&'static str>,
    /// What was done for each target, in the order of the command line.
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
    /// Images that did not build; they stay as they are too.
    pub failed: Vec<Failed>,
    /// What could not be read; the images concerned stay as they are.
    pub problems: Vec<Damaged>,
    /// Options that the driver did not get, and how many images have them.
    pub removed_options: BTreeMap<String, usize>,
    /// Bytes of native code.
    pub native_bytes: u64,
    /// Bytes of the inputs and of the output.
    pub bytes_before: u64,
    /// Bytes of the output.
    pub bytes_after: u64,
    /// Seconds that compiling took.
    pub seconds: f64,
    /// The image that took longest, of those that were compiled in this run.
    pub slowest: Option<Slowest>,
    /// Seconds that compiling takes one image after the other, as programs would do at run time: of those that were
    /// compiled in this run, and those that are folded with them.
    pub saved_seconds: f64,
}

/// The image that took longest.
#[derive(Debug, Serialize)]
pub struct Slowest {
    /// The image.
    pub image: usize,
    /// The target.
    pub target: String,
    /// The first of its kernels, mangled.
    pub kernel: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

/// Images that are the same code as others, and are compiled on their own.
#[derive(Debug, Serialize)]
pub struct Alone {
    /// How many compilations less there would be.
    pub images: usize,
    /// Why.
    pub reason: &'static str,
}

/// What was done for one target.
#[derive(Debug, Default, Serialize)]
pub struct OfTarget {
    /// Its name.
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
#[derive(Debug, Serialize)]
pub struct Skipped {
    /// The image.
    pub image: usize,
    /// The target.
    pub target: String,
    /// The first of its kernels, mangled.
    pub kernel: Option<String>,
    /// The rule, by the names that `check` uses.
    pub rule: &'static str,
    /// Why, as a sentence.
    pub reason: String,
}

/// An image that stays as it is.
#[derive(Debug, Serialize)]
pub struct Staying {
    /// The image.
    pub image: usize,
    /// The targets for which it stays.
    pub targets: Vec<String>,
    /// The first of its kernels, mangled.
    pub kernel: Option<String>,
    /// A word for the reason.
    pub kind: &'static str,
    /// Why, as a sentence.
    pub reason: String,
}

impl Staying {
    /// From a reason.
    pub fn new(image: usize, targets: Vec<String>, kernel: Option<String>, stay: &Stay) -> Staying {
        Staying { image, targets, kernel, kind: stay.label(), reason: stay.to_string() }
    }
}

/// An image that did not build.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The image.
    pub image: usize,
    /// The target.
    pub target: String,
    /// Its kernels, mangled.
    pub kernels: Vec<String>,
    /// Why.
    pub cause: String,
    /// What the compiler said.
    pub log: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// What could not be read.
#[derive(Debug, Serialize)]
pub struct Damaged {
    /// The image, where it is one.
    pub image: Option<usize>,
    /// Where in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl Damaged {
    /// From a problem.
    pub fn new(problem: &Problem) -> Damaged {
        Damaged { image: problem.image, offset: problem.error.offset(), message: problem.error.to_string() }
    }
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
