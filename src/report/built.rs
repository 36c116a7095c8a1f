//! What came of a build?

use super::document::{Document, Form, Sink};
use super::json::{ImageProblem, SchemaVersion};
use super::table::{Column, render};
use super::text::Shown;
use super::text::counted;
use super::{name, text};
use crate::build::Failure;
use crate::build::target::ZEBIN;
use crate::compat::finding::RuleId;
use crate::compat::native::Stay;
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Built>()
}

/// The result of a build.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle build --format json")]
pub(crate) struct Built {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The inputs.
    pub(crate) inputs: Vec<String>,
    /// The file that is written, of a package the wheel or folder; empty where there is none.
    pub(crate) output: String,
    /// Files of a package, each built on its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<BuiltFile>,
    /// The form of the output, by the name that `--emit` takes.
    pub(crate) emit: &'static str,
    /// The first target.
    pub(crate) target: String,
    /// The instruction set of native CPU code; null where no target has one.
    pub(crate) march: Option<&'static str>,
    /// Counts for each target, in the order of the command line.
    pub(crate) targets: Vec<TargetCounts>,
    /// Images in the inputs.
    pub(crate) images: usize,
    /// Images that were not selected.
    pub(crate) unselected: usize,
    /// Native images of an earlier run that were taken over.
    pub(crate) taken_over: usize,
    /// Native images that were compiled, now or in an earlier run; in a trial, those that would be.
    pub(crate) compiled: usize,
    /// Native images that came out of the cache; `compiled` counts them too.
    pub(crate) cached: usize,
    /// Native images made of the binary of another image with the same code under another kernel name; `compiled`
    /// counts them too, and those out of the cache are not among them.
    pub(crate) folded: usize,
    /// Native images that are another GPU's code, which the driver takes; `compiled` counts them too.
    pub(crate) shared: usize,
    /// Archives that hold the code of an image for several GPUs.
    pub(crate) archives: usize,
    /// Images that are the same code as another and are compiled all the same.
    pub(crate) apart: Vec<Alone>,
    /// Images that another shard compiles.
    pub(crate) elsewhere: usize,
    /// Native images that a driver made while a program ran, with `--harvest`; `compiled` counts them too.
    pub(crate) harvested: usize,
    /// Whether this was a trial, which compiles and writes nothing.
    pub(crate) dry_run: bool,
    /// Images that stay as they are.
    pub(crate) staying: Vec<Staying>,
    /// Images that a target cannot run.
    pub(crate) skipped: Vec<Skipped>,
    /// Images whose SPIR-V is not in the output: their kernels run on the targets alone.
    pub(crate) without_spirv: Vec<usize>,
    /// Images that did not build, which stay as they are too.
    pub(crate) failed: Vec<Failed>,
    /// Parts that could not be read; the images concerned stay as they are.
    pub(crate) problems: Vec<ImageProblem>,
    /// Options that the driver did not get, and how many images have them.
    pub(crate) removed_options: BTreeMap<String, usize>,
    /// Options of images that are not known to be harmless, which the driver did not get, and how many images have them.
    pub(crate) refused_options: BTreeMap<String, usize>,
    /// Bytes of native code.
    pub(crate) native_bytes: u64,
    /// Bytes of the inputs.
    pub(crate) bytes_before: u64,
    /// Bytes of the output.
    pub(crate) bytes_after: u64,
    /// Seconds that compiling took.
    pub(crate) seconds: f64,
    /// Seconds that it was expected to take, by sizes and by earlier builds; of what came out of the cache none.
    pub(crate) expected_seconds: f64,
    /// The image that took longest, of those that were compiled in this run.
    pub(crate) slowest: Option<Slowest>,
    /// Seconds that programs need not compile any more: one image after the other, of those that were compiled in this
    /// run and those that are folded with them.
    pub(crate) saved_seconds: f64,
}

/// One file of a package.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BuiltFile {
    /// Path of the file, through a wheel too.
    pub(crate) input: String,
    /// Images in it.
    pub(crate) images: usize,
    /// Native images that were compiled for it, now or in an earlier run.
    pub(crate) compiled: usize,
    /// Size in bytes before the build.
    pub(crate) bytes_before: u64,
    /// Size of its copy in bytes; 0 in a trial.
    pub(crate) bytes_after: u64,
}

/// The image that took longest.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Slowest {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The image.
    pub(crate) image: usize,
    /// The target.
    pub(crate) target: String,
    /// The first of its kernels, mangled.
    pub(crate) kernel: Option<String>,
    /// Seconds that it took.
    pub(crate) seconds: f64,
}

/// Images that are the same code as others, and are compiled on their own.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Alone {
    /// The number of compilations that folding would save.
    pub(crate) images: usize,
    /// The reason.
    pub(crate) reason: &'static str,
}

/// Counts for one target.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct TargetCounts {
    /// The name of the target.
    pub(crate) target: String,
    /// The `DeviceTargetSpec` of its images.
    pub(crate) spec: &'static str,
    /// The `compile_target` of its images.
    pub(crate) compile_target: Option<String>,
    /// The instruction set or device that the compiler was asked for.
    pub(crate) architecture: String,
    /// Native images, now or in an earlier run; in a trial, those that would be.
    pub(crate) compiled: usize,
    /// Native images that came out of the cache; `compiled` counts them too.
    pub(crate) cached: usize,
    /// Native images made of the binary of another image with the same code under another kernel name.
    pub(crate) folded: usize,
    /// Native images that are another GPU's code, whose bytes are counted there.
    pub(crate) shared: usize,
    /// Images that it cannot run.
    pub(crate) skipped: usize,
    /// Images that stay as they are.
    pub(crate) staying: usize,
    /// Images that did not build.
    pub(crate) failed: usize,
    /// Images that another shard compiles.
    pub(crate) elsewhere: usize,
    /// Bytes of native code.
    pub(crate) native_bytes: u64,
    /// Options that the compiler gets for this target whatever the images say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) added_options: Option<String>,
}

impl TargetCounts {
    /// A copy of the target with all counts at zero.
    fn without_counts(&self) -> TargetCounts {
        TargetCounts {
            target: self.target.clone(),
            spec: self.spec,
            compile_target: self.compile_target.clone(),
            architecture: self.architecture.clone(),
            added_options: self.added_options.clone(),
            ..TargetCounts::default()
        }
    }

    /// Adds the counts of a further file.
    fn add(&mut self, other: &TargetCounts) {
        add_counts!(self, other; compiled cached folded shared skipped staying failed elsewhere native_bytes);
    }
}

/// An image that a target cannot run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Skipped {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The image.
    pub(crate) image: usize,
    /// The target.
    pub(crate) target: String,
    /// The first of its kernels, mangled.
    pub(crate) kernel: Option<String>,
    /// The rule, by the names that `check` uses.
    pub(crate) rule: RuleId,
    /// The reason, as a sentence.
    pub(crate) reason: String,
}

/// An image that stays as it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Staying {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The image.
    pub(crate) image: usize,
    /// The targets for which it stays.
    pub(crate) targets: Vec<String>,
    /// The first of its kernels, mangled.
    pub(crate) kernel: Option<String>,
    /// A word for the reason.
    pub(crate) kind: &'static str,
    /// The reason, as a sentence.
    pub(crate) reason: String,
    /// The way to have it compiled, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<&'static str>,
}

impl Staying {
    /// From a reason.
    pub(crate) fn new(image: usize, targets: Vec<String>, kernel: Option<String>, stay: &Stay) -> Staying {
        Staying {
            file: None,
            image,
            targets,
            kernel,
            kind: stay.label(),
            reason: stay.to_string(),
            remedy: stay.remedy(),
        }
    }
}

/// An image that did not build.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failed {
    /// File of the image, in a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The image.
    pub(crate) image: usize,
    /// The target.
    pub(crate) target: String,
    /// Mangled names of its kernels.
    pub(crate) kernels: Vec<String>,
    /// The reason.
    pub(crate) cause: String,
    /// The log of the compiler.
    pub(crate) log: String,
    /// The number of attempts.
    pub(crate) attempts: u32,
    /// Name and version of the compiler, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compiler: Option<String>,
    /// SPIR-V version and extensions of the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) module: Option<String>,
}

/// Describes a module by what a compiler may be too old for: the SPIR-V version and the extensions.
pub(crate) fn describe_module((major, minor): (u8, u8), extensions: &[String]) -> String {
    let all = [&[format!("SPIR-V {major}.{minor}")], extensions].concat();
    all.join(", ")
}

impl Failed {
    /// From a failure; `image` is the number the user knows it by.
    pub(crate) fn new(image: usize, target: String, kernels: Vec<String>, failure: &Failure) -> Failed {
        Failed {
            file: None,
            image,
            target,
            kernels,
            cause: failure.to_string(),
            log: failure.log.clone(),
            attempts: failure.attempts,
            compiler: None,
            module: None,
        }
    }
}

impl Built {
    /// Begins the document of a package with that of its first file.
    pub(crate) fn of_package(first: Built) -> Built {
        let targets = first.targets.iter().map(TargetCounts::without_counts).collect();
        let mut all =
            Built { target: first.target.clone(), march: first.march, emit: first.emit, targets, ..Built::default() };
        all.dry_run = first.dry_run;
        all.add(first);
        all
    }

    /// Adds what came of a further file, whose targets are the same.
    pub(crate) fn add(&mut self, file: Built) {
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
        for (all, own) in
            [(&mut self.removed_options, file.removed_options), (&mut self.refused_options, file.refused_options)]
        {
            for (option, images) in own {
                let count = all.entry(option).or_default();
                *count = count.saturating_add(images);
            }
        }
        add_counts!(self, file; images unselected taken_over compiled cached folded shared archives elsewhere harvested);
        add_counts!(self, file; native_bytes bytes_before bytes_after);
        let (images, compiled) = (file.images, file.compiled);
        let (bytes_before, bytes_after) = (file.bytes_before, file.bytes_after);
        self.files.push(BuiltFile { input: name, images, compiled, bytes_before, bytes_after });
    }

    /// The document as JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The number of images of one kind that are named without `-v`.
const NAMED: usize = 4;
/// The number of lines of a compiler's log that are shown without `-v`.
const LOG_LINES: usize = 12;

impl Built {
    /// The summary for a person; `verbose` names every image, with `kernel` giving the name a kernel is shown by.
    pub(crate) fn summary(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, width: usize) -> Shown {
        let mut lines = self.first_lines(width);
        self.origin_lines(&mut lines);
        if let Some(slowest) = &self.slowest {
            let name = slowest.kernel.as_deref().map(kernel).unwrap_or_default();
            let image = self.image(slowest.image, slowest.file.as_deref());
            let name = format!("{image} {}", name::shorten(&name, 60)).trim_end().to_owned();
            let target = if self.targets.len() > 1 { format!(" for {}", slowest.target) } else { String::new() };
            lines.push(format!("  slowest: {name}{target}, {:.1} s", slowest.seconds));
            lines.push(format!("  {:.1} s of compilation that programs need not do any more", self.saved_seconds));
        }
        for alone in self.apart.iter().filter(|_| verbose || self.dry_run) {
            let images = counted(alone.images, "image");
            lines.push(format!("  {images} the same code as another and not folded: {}", alone.reason));
        }
        if self.elsewhere > 0 {
            lines.push(format!("  {} left to other shards", counted(self.elsewhere, "image")));
        }
        if self.taken_over > 0 {
            lines.push(format!("  {} of an earlier build taken over", counted(self.taken_over, "native image")));
        }
        if self.unselected > 0 {
            lines.push(format!("  {} not selected", counted(self.unselected, "image")));
        }
        self.staying_lines(verbose, kernel, &mut lines);
        self.skipped_lines(verbose, kernel, &mut lines);
        self.failed_lines(verbose, kernel, &mut lines);
        for (option, images) in &self.refused_options {
            lines.push(format!(
                "  option {} is not known to be harmless and was left out ({}; --trust-options gives it to the compiler)",
                option,
                counted(*images, "image")
            ));
        }
        if verbose {
            for (option, images) in &self.removed_options {
                lines.push(format!("  option {option} not given to the driver ({})", counted(*images, "image")));
            }
        }
        if !self.without_spirv.is_empty() {
            lines.push(format!(
                "  {} without SPIR-V now: their kernels run on no other device than those of the targets",
                counted(self.without_spirv.len(), "image")
            ));
        }
        self.file_lines(&mut lines);
        Shown::folded(&lines, width)
    }

    /// The number of compiled images: a line for one target, a table of several.
    fn first_lines(&self, width: usize) -> Vec<String> {
        if let several @ [_, _, ..] = self.targets.as_slice() {
            return self.per_target(several, width);
        }
        let (compiled, images, one) = (self.compiled, counted(self.images, "image"), self.targets.first());
        let target = one.map_or(&self.target, |one| &one.target);
        let architecture = one.map(|one| one.architecture.as_str()).filter(|own| !target.ends_with(own));
        let for_what = architecture.map_or(target.clone(), |own| format!("{target} ({own})"));
        vec![match self.dry_run {
            true => format!("{compiled} of {images} would be compiled for {for_what}"),
            false => {
                let (seconds, size) = (self.seconds, text::bytes(self.native_bytes));
                format!("{compiled} of {images} compiled for {for_what} in {seconds:.1} s: {size} of native code")
            }
        }]
    }

    /// Origins of the native code, as far as it was not just compiled.
    fn origin_lines(&self, lines: &mut Vec<String>) {
        if self.cached > 0 && self.targets.len() < 2 {
            lines.push(format!("  {} of them out of the cache", self.cached));
        }
        if self.harvested > 0 {
            lines.push(format!("  {} of them made by the driver while the program ran", self.harvested));
        }
        let added: BTreeSet<&str> = self.targets.iter().filter_map(|target| target.added_options.as_deref()).collect();
        for added in added {
            let adding = |target: &&TargetCounts| target.added_options.as_deref() == Some(added);
            let names: Vec<&str> = self.targets.iter().filter(adding).map(|target| target.target.as_str()).collect();
            let why = match added {
                ZEBIN => "Intel's drivers since 26.18 refuse the code that is made there without it",
                _ => "Intel's OpenCL driver refuses the code that is made there without it",
            };
            lines.push(format!("  {added} for {}: {why}", names.join(", ")));
        }
        if self.shared > 0 {
            lines.push(format!("  {} of them the code of another GPU named, which the driver takes", self.shared));
        }
        if self.archives > 0 {
            lines.push(format!("  {} for the Intel GPUs named together", counted(self.archives, "archive")));
        }
        if self.folded > 0 {
            lines.push(format!("  {} of them folded: the code of another under their kernel's name", self.folded));
        }
    }

    /// The images that stay as they are, by reason.
    fn staying_lines(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        let mut kinds: BTreeMap<&str, Vec<&Staying>> = BTreeMap::new();
        for staying in &self.staying {
            kinds.entry(staying.kind).or_default().push(staying);
        }
        for (kind, all) in kinds {
            let stay = if all.len() == 1 { "stays as it is" } else { "stay as they are" };
            lines.push(format!("  {} {stay}: {kind}", counted(all.len(), "image")));
            let shown = if verbose { all.len() } else { NAMED };
            for staying in all.iter().take(shown) {
                let name = staying.kernel.as_deref().map(kernel).unwrap_or_default();
                let name = if name.is_empty() { String::new() } else { format!(" {}", name::shorten(&name, 60)) };
                let some = self.targets.len() > staying.targets.len();
                let targets = if some { format!(" (for {})", staying.targets.join(", ")) } else { String::new() };
                let image = self.image(staying.image, staying.file.as_deref());
                lines.push(format!("    {image}{name}{targets}: {}", staying.reason));
            }
            if all.len() > shown {
                lines.push(format!("    and {} more (-v names all)", all.len() - shown));
            }
            let remedy =
                all.first().and_then(|staying| staying.remedy).filter(|_| self.dry_run || !self.made_nothing());
            lines.extend(remedy.map(|remedy| format!("    help: {remedy}")));
        }
    }

    /// The files of a package, and the output.
    fn file_lines(&self, lines: &mut Vec<String>) {
        let size = text::bytes;
        let (native, others): (Vec<_>, Vec<_>) = self.files.iter().partition(|file| file.compiled > 0);
        for file in native {
            let (before, after) = (size(file.bytes_before), size(file.bytes_after));
            let path = name::below(&file.input, &self.inputs);
            let images = counted(file.images, "image");
            lines.push(match file.bytes_after {
                0 => format!("  {path}: {} of {images}", file.compiled),
                _ => format!("  {path}: {} of {images} native, {before} before, {after} after", file.compiled),
            });
        }
        if !others.is_empty() {
            lines.push(format!("  {} without native code", counted(others.len(), "file")));
        }
        if self.bytes_after > 0 {
            let (before, after) = (size(self.bytes_before), size(self.bytes_after));
            // The sizes of a package are those of its files; a wheel itself is packed.
            let whose = if self.files.is_empty() { "" } else { "its files: " };
            lines.push(format!("{} ({}): {whose}{before} before, {after} after", self.output, self.emit));
        }
    }
}

impl Built {
    /// Whether there is no native code, though what keeps images from being compiled could be mended.
    pub(crate) fn made_nothing(&self) -> bool {
        let none = self.compiled == 0 && self.taken_over == 0 && self.harvested == 0 && self.elsewhere == 0;
        none && self.staying.iter().any(|staying| staying.remedy.is_some())
    }

    /// An image in a message, with its file in a package.
    fn image(&self, number: usize, file: Option<&str>) -> String {
        let of_file = |file| format!("image {number} of {}", name::below(file, &self.inputs));
        file.map_or_else(|| format!("image {number}"), of_file)
    }

    /// Says of each image why it did not build. A cause that many images share, as a compiler that crashes on all of them,
    /// is told once.
    fn failed_lines(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        let mut alike: BTreeMap<(&str, &str), Vec<&Failed>> = BTreeMap::new();
        for failed in &self.failed {
            alike.entry((&failed.target, &failed.cause)).or_default().push(failed);
        }
        let several = self.targets.len() > 1;
        let name = |failed: &Failed| {
            let names: Vec<String> = failed.kernels.iter().map(|name| kernel(name)).collect();
            let image = self.image(failed.image, failed.file.as_deref());
            format!("{image} {}", name::shorten(&names.join(", "), 60))
        };
        for ((target, cause), all) in alike {
            let target = if several { format!(" for {target}") } else { String::new() };
            let advice = match cause {
                _ if cause.contains("died of") => Some(newer_compiler(&all)),
                _ if cause.contains("gave no answer") => Some(
                    "--timeout SECONDS gives it longer; some modules take minutes of a processor's time".to_owned(),
                ),
                _ => None,
            };
            match all.len().checked_sub(NAMED).filter(|more| *more > 0 && !verbose) {
                None => {
                    let shown = if verbose { usize::MAX } else { LOG_LINES };
                    for failed in all {
                        lines.push(format!("  {} did not build{target} and stays as it is: {cause}", name(failed)));
                        let log = failed.log.lines().filter(|line| !line.trim().is_empty());
                        lines.extend(log.take(shown).map(|line| format!("    | {line}")));
                    }
                }
                Some(more) => {
                    let images = counted(all.len(), "image");
                    lines.push(format!("  {images} did not build{target} and stay as they are: {cause}"));
                    lines.extend(all.iter().take(NAMED).map(|failed| format!("    {}", name(failed))));
                    lines.push(format!("    and {more} more (-v names all, with what the compiler said)"));
                    let first = |log: &'_ str| log.lines().find(|line| !line.trim().is_empty()).map(str::to_owned);
                    let said: BTreeSet<Option<String>> = all.iter().map(|failed| first(&failed.log)).collect();
                    if let (1, Some(Some(line))) = (said.len(), said.first()) {
                        lines.push(format!("    | {line}"));
                    }
                }
            }
            lines.extend(advice.map(|advice| format!("    {advice}")));
        }
    }

    /// A table of the targets.
    fn per_target(&self, targets: &[TargetCounts], width: usize) -> Vec<String> {
        let numbers = ["Images", "Cached", "Skipped", "Staying", "Failed", "Native code"];
        let columns: Vec<(&str, Column)> =
            [("Target", Column::Text)].into_iter().chain(numbers.map(|title| (title, Column::Number))).collect();
        let row = |one: &TargetCounts| {
            let own = Some(&one.architecture).filter(|own| !one.target.replace('_', "-").ends_with(*own));
            let name = own.map_or(one.target.clone(), |own| format!("{} ({own})", one.target));
            let numbers = [one.compiled, one.cached, one.skipped, one.staying, one.failed].map(|n| n.to_string());
            let [compiled, cached, skipped, staying, failed] = numbers;
            vec![name, compiled, cached, skipped, staying, failed, text::bytes(one.native_bytes)]
        };
        let rows: Vec<Vec<String>> = targets.iter().map(row).collect();
        let table = render(&columns, &rows, &["Cached", "Staying", "Skipped"], width.saturating_sub(2), false);
        let (compiled, images) = (self.compiled, self.images);
        let first = match self.dry_run {
            true => format!(
                "{} of {images} would be compiled for {} targets",
                counted(compiled, "native image"),
                targets.len()
            ),
            false => format!(
                "{} of {images} compiled for {} targets in {:.1} s: {} of native code",
                counted(compiled, "native image"),
                targets.len(),
                self.seconds,
                text::bytes(self.native_bytes)
            ),
        };
        std::iter::once(first).chain(table.lines().map(|line| format!("  {line}"))).collect()
    }

    /// Lists the images that targets cannot run: per target and reason, with a few images of each.
    fn skipped_lines(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        let mut groups: Vec<((&str, &str), Vec<&Skipped>)> = Vec::new();
        for skipped in &self.skipped {
            let key = (skipped.target.as_str(), skipped.reason.as_str());
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, all)) => all.push(skipped),
                None => groups.push((key, vec![skipped])),
            }
        }
        for ((target, reason), all) in groups {
            lines.push(format!("  {} not for {target}: {reason}", counted(all.len(), "image")));
            if verbose {
                lines.extend(all.iter().map(|one| {
                    let name = one.kernel.as_deref().map(kernel).unwrap_or_default();
                    let image = self.image(one.image, one.file.as_deref());
                    format!("    {image} {}", name::shorten(&name, 60)).trim_end().to_owned()
                }));
            }
        }
    }
}

/// Explains a compiler that crashed on these modules: names the compiler, and the newest that the modules declare.
fn newer_compiler(all: &[&Failed]) -> String {
    let compiler = all.iter().find_map(|failed| failed.compiler.as_deref()).unwrap_or("the compiler");
    let modules: BTreeSet<&str> = all.iter().filter_map(|failed| failed.module.as_deref()).collect();
    // The one that declares most stands for all.
    let module = modules.iter().max_by_key(|module| module.len()).map(|module| format!(" ({module})"));
    format!(
        "{compiler} crashed on {}{}; a compiler that is older than the modules often does: try a newer one",
        if all.len() == 1 { "this module" } else { "these modules" },
        module.unwrap_or_default()
    )
}

impl Document for Built {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let look = out.look();
        if form == Form::Json {
            return out.made(&self.to_json());
        }
        let names = look.view.names();
        out.say(&self.summary(look.verbose, &|name| names.show(name), look.stderr_width));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::native::Stay;

    #[test]
    fn what_the_compiler_said_of_all_images_is_told_once() {
        let failed = |image: usize, log: &str| Failed {
            file: None,
            image,
            target: "intel_gpu_pvc".to_owned(),
            kernels: vec![format!("k{image}")],
            cause: "refused".to_owned(),
            log: log.to_owned(),
            attempts: 1,
            compiler: None,
            module: None,
        };
        let text = |logs: &[&str]| {
            let failed = logs.iter().enumerate().map(|(image, log)| failed(image, log)).collect();
            Built { failed, ..Built::default() }.summary(false, &str::to_owned, usize::MAX).to_string()
        };
        let silent = Failed { cause: "the driver gave no answer within 120 s".to_owned(), ..failed(0, "") };
        let silent = Built { failed: vec![silent], ..Built::default() };
        assert!(silent.summary(false, &str::to_owned, usize::MAX).to_string().contains("--timeout SECONDS"));
        let alike = text(&["\nno such option: -x\nmore"; 7]);
        assert_eq!(alike.matches("    | no such option: -x").count(), 1, "{alike}");
        let mut unlike = ["no such option: -x"; 7];
        unlike[6] = "another";
        assert!(!text(&unlike).contains("    | "), "{}", text(&unlike));
    }

    #[test]
    fn the_summary_names_reasons_and_a_few_images() {
        let staying = (0..6).map(|image| {
            Staying::new(image, Vec::new(), Some(format!("k{image}")), &Stay::Imports(vec!["sin".to_owned()]))
        });
        let built = Built { images: 8, compiled: 2, staying: staying.collect(), ..Built::default() };
        let text = built.summary(false, &str::to_owned, usize::MAX);
        assert!(text.contains("2 of 8 images compiled"), "{text}");
        assert!(text.contains("6 images stay as they are: imported symbols"), "{text}");
        assert!(text.contains("image 3 k3: it imports sin"), "{text}");
        assert!(!text.contains("image 4") && text.contains("and 2 more"), "{text}");
        assert!(built.summary(true, &str::to_owned, usize::MAX).contains("image 5 k5"));
    }
}
