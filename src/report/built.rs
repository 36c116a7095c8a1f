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

/// The result of a build.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle build --format json")]
pub struct Built {
    /// The version of the form.
    pub schema_version: SchemaVersion,
    /// The inputs.
    pub inputs: Vec<String>,
    /// The file that is written, of a package the wheel or folder; empty where there is none.
    pub output: String,
    /// Files of a package, each built on its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BuiltFile>,
    /// The form of the output, by the name that `--emit` takes.
    pub emit: &'static str,
    /// The first target.
    pub target: String,
    /// The instruction set of native CPU code; null where no target has one.
    pub march: Option<&'static str>,
    /// Counts for each target, in the order of the command line.
    pub targets: Vec<TargetCounts>,
    /// Images in the inputs.
    pub images: usize,
    /// Images that were not selected.
    pub unselected: usize,
    /// Native images of an earlier run that were taken over.
    pub taken_over: usize,
    /// Native images that were compiled, now or in an earlier run; in a trial, those that would be.
    pub compiled: usize,
    /// Native images that came out of the cache; `compiled` counts them too.
    pub cached: usize,
    /// Native images made of the binary of another image with the same code under another kernel name; `compiled`
    /// counts them too, and those out of the cache are not among them.
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

/// One file of a package.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuiltFile {
    /// Path of the file, through a wheel too.
    pub input: String,
    /// Images in it.
    pub images: usize,
    /// Native images that were compiled for it, now or in an earlier run.
    pub compiled: usize,
    /// Its size in bytes.
    pub bytes_before: u64,
    /// Size of its copy in bytes; 0 in a trial.
    pub bytes_after: u64,
}

/// The image that took longest.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Slowest {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
pub struct TargetCounts {
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
    /// Native images that came out of the cache; `compiled` counts them too.
    pub cached: usize,
    /// Native images made of the binary of another image with the same code under another kernel name.
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

impl TargetCounts {
    /// The same target, of which nothing was compiled yet.
    fn without_counts(&self) -> TargetCounts {
        TargetCounts {
            target: self.target.clone(),
            spec: self.spec,
            compile_target: self.compile_target.clone(),
            architecture: self.architecture.clone(),
            ..TargetCounts::default()
        }
    }

    /// Adds the counts of a further file.
    fn add(&mut self, other: &TargetCounts) {
        let counts = [
            (&mut self.compiled, other.compiled),
            (&mut self.cached, other.cached),
            (&mut self.folded, other.folded),
            (&mut self.skipped, other.skipped),
            (&mut self.staying, other.staying),
            (&mut self.failed, other.failed),
            (&mut self.elsewhere, other.elsewhere),
        ];
        for (own, other) in counts {
            *own = own.saturating_add(other);
        }
        self.native_bytes = self.native_bytes.saturating_add(other.native_bytes);
    }
}

/// An image that a target cannot run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
        Staying { file: None, image, targets, kernel, kind: stay.label(), reason: stay.to_string() }
    }
}

/// An image that did not build.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failed {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
            file: None,
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
    /// Begins the document of a package with that of its first file.
    pub fn of_package(first: Built) -> Built {
        let targets = first.targets.iter().map(TargetCounts::without_counts).collect();
        let mut all =
            Built { target: first.target.clone(), march: first.march, emit: first.emit, targets, ..Built::default() };
        all.dry_run = first.dry_run;
        all.add(first);
        all
    }

    /// Adds what came of a further file, whose targets are the same.
    pub fn add(&mut self, file: Built) {
        let name = file.inputs.into_iter().next().unwrap_or_default();
        let of_file = || Some(name.clone());
        self.staying.extend(file.staying.into_iter().map(|staying| Staying { file: of_file(), ..staying }));
        self.skipped.extend(file.skipped.into_iter().map(|skipped| Skipped { file: of_file(), ..skipped }));
        self.failed.extend(file.failed.into_iter().map(|failed| Failed { file: of_file(), ..failed }));
        self.problems.extend(file.problems);
        self.without_spirv.extend(file.without_spirv);
        for (own, other) in self.targets.iter_mut().zip(&file.targets) {
            own.add(other);
        }
        for (option, images) in file.removed_options {
            let count = self.removed_options.entry(option).or_default();
            *count = count.saturating_add(images);
        }
        let counts = [
            (&mut self.images, file.images),
            (&mut self.unselected, file.unselected),
            (&mut self.taken_over, file.taken_over),
            (&mut self.compiled, file.compiled),
            (&mut self.cached, file.cached),
            (&mut self.folded, file.folded),
            (&mut self.elsewhere, file.elsewhere),
        ];
        for (own, other) in counts {
            *own = own.saturating_add(other);
        }
        self.native_bytes = self.native_bytes.saturating_add(file.native_bytes);
        self.bytes_before = self.bytes_before.saturating_add(file.bytes_before);
        self.bytes_after = self.bytes_after.saturating_add(file.bytes_after);
        let (images, compiled) = (file.images, file.compiled);
        let (bytes_before, bytes_after) = (file.bytes_before, file.bytes_after);
        self.files.push(BuiltFile { input: name, images, compiled, bytes_before, bytes_after });
    }

    /// The document as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
