//! What came of a build?

use crate::build::Failure;
use crate::compat::native::Stay;
use crate::error::Problem;
use serde::Serialize;
use std::collections::BTreeMap;

/// The published JSON Schema of the document.
pub const SCHEMA: &str = include_str!("built/build.schema.json");

/// How many images of one kind are named where not all are.
const NAMED: usize = 4;

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

    /// The summary for a person; `verbose` names every image, with `kernel` giving the name a kernel is shown by.
    pub fn summary(&self, verbose: bool, kernel: &dyn Fn(&str) -> String) -> String {
        let mut lines = Vec::new();
        let size = |bytes: u64| super::units::bytes(bytes);
        let images = self.images;
        match self.targets.as_slice() {
            several @ [_, _, ..] => lines.extend(self.per_target(several)),
            one => {
                let (compiled, one) = (self.compiled, one.first());
                let target = one.map_or(&self.target, |one| &one.target);
                let architecture = one.map(|one| one.architecture.as_str()).filter(|own| !target.ends_with(own));
                let for_what = architecture.map_or(target.clone(), |own| format!("{target} ({own})"));
                lines.push(match self.dry_run {
                    true => format!("{compiled} of {images} images would be compiled for {for_what}"),
                    false => format!(
                        "{compiled} of {images} images compiled for {for_what} in {:.1} s: {} of native code",
                        self.seconds,
                        size(self.native_bytes)
                    ),
                });
            }
        }
        if self.cached > 0 && self.targets.len() < 2 {
            lines.push(format!("  {} of them out of the cache", self.cached));
        }
        if self.folded > 0 {
            lines.push(format!("  {} of them folded: the code of another under their kernel's name", self.folded));
        }
        if let Some(slowest) = &self.slowest {
            let name = slowest.kernel.as_deref().map(kernel).unwrap_or_default();
            let name = format!("image {} {}", slowest.image, super::name::shorten(&name, 60)).trim_end().to_owned();
            let target = if self.targets.len() > 1 { format!(" for {}", slowest.target) } else { String::new() };
            lines.push(format!("  slowest: {name}{target}, {:.1} s", slowest.seconds));
            lines.push(format!("  {:.1} s of compilation that programs need not do any more", self.saved_seconds));
        }
        for alone in self.apart.iter().filter(|_| verbose || self.dry_run) {
            let images = count(alone.images, "image");
            lines.push(format!("  {images} the same code as another and not folded: {}", alone.reason));
        }
        if self.elsewhere > 0 {
            lines.push(format!("  {} images are compiled by other shards", self.elsewhere));
        }
        if self.taken_over > 0 {
            lines.push(format!("  {} native images of an earlier build taken over", self.taken_over));
        }
        if self.unselected > 0 {
            lines.push(format!("  {} images not selected", self.unselected));
        }
        let mut kinds: BTreeMap<&str, Vec<&Staying>> = BTreeMap::new();
        for staying in &self.staying {
            kinds.entry(staying.kind).or_default().push(staying);
        }
        for (kind, all) in kinds {
            lines.push(format!("  {} stay as they are: {kind}", count(all.len(), "image")));
            let shown = if verbose { all.len() } else { NAMED };
            for staying in all.iter().take(shown) {
                let name = staying.kernel.as_deref().map(kernel).unwrap_or_default();
                let name =
                    if name.is_empty() { String::new() } else { format!(" {}", super::name::shorten(&name, 60)) };
                let some = self.targets.len() > staying.targets.len();
                let targets = if some { format!(" (for {})", staying.targets.join(", ")) } else { String::new() };
                lines.push(format!("    image {}{name}{targets}: {}", staying.image, staying.reason));
            }
            if all.len() > shown {
                lines.push(format!("    and {} more (-v names all)", all.len() - shown));
            }
        }
        self.skipped_lines(verbose, kernel, &mut lines);
        let several = self.targets.len() > 1;
        for failed in &self.failed {
            let names: Vec<String> = failed.kernels.iter().map(|name| kernel(name)).collect();
            let names = super::name::shorten(&names.join(", "), 60).into_owned();
            let target = if several { format!(" for {}", failed.target) } else { String::new() };
            lines.push(format!(
                "  image {} {names} did not build{target} and stays as it is: {}",
                failed.image, failed.cause
            ));
            let said = failed.log.lines().filter(|line| !line.trim().is_empty());
            let shown = if verbose { usize::MAX } else { 12 };
            lines.extend(said.take(shown).map(|line| format!("    | {line}")));
        }
        if verbose {
            for (option, images) in &self.removed_options {
                lines.push(format!("  option {option} not given to the driver ({})", count(*images, "image")));
            }
        }
        if !self.without_spirv.is_empty() {
            lines.push(format!(
                "  {} without SPIR-V now: their kernels run on no other device than those of the targets",
                count(self.without_spirv.len(), "image")
            ));
        }
        if self.bytes_after > 0 {
            let (before, after) = (size(self.bytes_before), size(self.bytes_after));
            lines.push(format!("{} ({}): {before} before, {after} after", self.output, self.emit));
        }
        lines.join("\n")
    }
}

impl Built {
    /// A table of the targets.
    fn per_target(&self, targets: &[OfTarget]) -> Vec<String> {
        let head = ["Target", "Images", "Cached", "Skipped", "Staying", "Failed", "Native code"].map(str::to_owned);
        let row = |one: &OfTarget| {
            let own = Some(&one.architecture).filter(|own| !one.target.replace('_', "-").ends_with(*own));
            let name = own.map_or(one.target.clone(), |own| format!("{} ({own})", one.target));
            let numbers = [one.compiled, one.cached, one.skipped, one.staying, one.failed].map(|n| n.to_string());
            let [compiled, cached, skipped, staying, failed] = numbers;
            [name, compiled, cached, skipped, staying, failed, super::units::bytes(one.native_bytes)]
        };
        let rows: Vec<[String; 7]> = std::iter::once(head).chain(targets.iter().map(row)).collect();
        let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        let line = |row: &[String; 7]| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, width))| match at {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            cells.collect::<Vec<_>>().join("  ")
        };
        let (compiled, images) = (self.compiled, self.images);
        let first = match self.dry_run {
            true => format!("{compiled} native images of {images} would be compiled for {} targets", targets.len()),
            false => format!(
                "{compiled} native images of {images} compiled for {} targets in {:.1} s: {} of native code",
                targets.len(),
                self.seconds,
                super::units::bytes(self.native_bytes)
            ),
        };
        std::iter::once(first).chain(rows.iter().map(|row| format!("  {}", line(row)))).collect()
    }

    /// What targets cannot run: per target and reason, with a few images of each.
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
            lines.push(format!("  {} not for {target}: {reason}", count(all.len(), "image")));
            if verbose {
                lines.extend(all.iter().map(|one| {
                    let name = one.kernel.as_deref().map(kernel).unwrap_or_default();
                    format!("    image {} {}", one.image, super::name::shorten(&name, 60)).trim_end().to_owned()
                }));
            }
        }
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_reasons_and_a_few_images() {
        let staying = (0..6).map(|image| {
            Staying::new(image, Vec::new(), Some(format!("k{image}")), &Stay::Imports(vec!["sin".to_owned()]))
        });
        let built = Built { images: 8, compiled: 2, staying: staying.collect(), ..Built::default() };
        let text = built.summary(false, &str::to_owned);
        assert!(text.contains("2 of 8 images compiled"), "{text}");
        assert!(text.contains("6 images stay as they are: imported symbols"), "{text}");
        assert!(text.contains("image 3 k3: it imports sin"), "{text}");
        assert!(!text.contains("image 4") && text.contains("and 2 more"), "{text}");
        assert!(built.summary(true, &str::to_owned).contains("image 5 k5"));
    }
}
