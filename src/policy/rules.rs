//! How does a project want each image compiled?
//!
//! Table `build` of `sycl-bundle.toml` has options and values of specialization constants for all images, and rules for
//! some of them, by kernel, number and target. A later rule adds to earlier ones: its options come last, and its values
//! override.

use super::read::build;
use super::read_as;
use crate::bundle::spec_constants::{Setting, Settings};
use crate::compat::examine::Examined;
use crate::demangle::demangle;
use crate::device::table::TargetTable;
use crate::device::yaml::Place;
use crate::error::Error;
use crate::select::Pattern;
use std::ops::RangeInclusive;

/// Example of a table `build` that uses every key.
pub const EXAMPLE: &str = include_str!("example_build.toml");

/// Number of registers of an Intel GPU's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registers {
    /// Twice the usual number, for half the threads.
    Large,
    /// Chosen by the compiler for each kernel.
    Auto,
}

impl Registers {
    /// Returns the compiler option that the runtime passes for it (`sycl-register-alloc-mode`); explicit SIMD has
    /// another.
    pub fn option(self, esimd: bool) -> &'static str {
        match (self, esimd) {
            (Registers::Large, true) => "-doubleGRF",
            (Registers::Large, false) => "-ze-opt-large-register-file",
            (Registers::Auto, _) => "-ze-intel-enable-auto-large-GRF-mode",
        }
    }
}

/// Settings of a rule for its images.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Options of the compiler, added after those of the image.
    pub options: String,
    /// Options of the linker, added after those of the image.
    pub link_options: String,
    /// Whether the image's own options are used; none keeps the earlier setting.
    pub own_options: Option<bool>,
    /// Registers of a GPU's thread.
    pub registers: Option<Registers>,
    /// Optimisation level, 0 to 3.
    pub optimization: Option<u8>,
    /// Whether the image is compiled; none keeps the earlier setting.
    pub native: Option<bool>,
    /// Values of specialization constants.
    pub constants: Vec<Setting>,
    /// Whether constants without a value get their defaults; none keeps the earlier setting.
    pub defaults: Option<bool>,
}

/// Rule for some images.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Location in the file.
    pub place: Place,
    /// Kernels, by mangled or demangled name, one of which the image must have; all if empty.
    pub kernels: Vec<Pattern>,
    /// Numbers of images; all if empty.
    pub images: Vec<RangeInclusive<usize>>,
    /// Targets; all if empty.
    pub targets: Vec<String>,
    /// Settings for these images.
    pub wanted: Wanted,
}

/// Rules of a file.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// File name for messages.
    pub file: String,
    /// Targets that are built if the command line names none.
    pub targets: Vec<String>,
    /// Settings for all images.
    pub all: Wanted,
    /// Rules, in the order of the text.
    pub rules: Vec<Rule>,
}

/// Settings for compiling one image for one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Options of the compiler.
    pub options: String,
    /// Options of the linker.
    pub link_options: String,
    /// Whether the image is compiled.
    pub native: bool,
    /// Values of specialization constants.
    pub constants: Settings,
}

impl Rules {
    /// Reads the table `build` of a text, or returns none where it has no such table.
    ///
    /// # Errors
    /// All mistakes, each of kind `Input` and beginning with `file:line:column`.
    pub fn read(file: &str, text: &str, targets: &TargetTable) -> Result<Option<Rules>, Vec<Error>> {
        read_as(file, text, |root| build::rules(file, root, targets))
    }

    /// Returns the settings for an image, by the number that the user sees, and a target. The numbers of the rules that
    /// apply are added to `used`.
    pub fn recipe(&self, image: &Examined<'_, '_>, number: usize, target: &str, used: &mut dyn FnMut(usize)) -> Recipe {
        let esimd = image.module.as_ref().is_some_and(|module| module.used_aspects.contains("ext_intel_esimd"));
        let holding = self.rules.iter().enumerate().filter(|(_, rule)| rule.is_for(image, number, target));
        let mut all = vec![&self.all];
        for (at, rule) in holding {
            used(at);
            all.push(&rule.wanted);
        }
        let last = |of: &dyn Fn(&Wanted) -> Option<bool>| all.iter().rev().find_map(|one| of(one));
        let own = last(&|one| one.own_options).unwrap_or(true);
        let join = |first: &str, of: &dyn Fn(&Wanted) -> String| {
            let own = own.then(|| first.to_owned());
            let parts = own.into_iter().chain(all.iter().map(|one| of(one)));
            parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let words = |one: &Wanted| {
            let level = one.optimization.map(|level| format!("-O{level}"));
            let registers = one.registers.map(|registers| registers.option(esimd).to_owned());
            let parts = [Some(one.options.clone()), level, registers];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        Recipe {
            options: join(image.image.compile_options, &words),
            link_options: join(image.image.link_options, &|one| one.link_options.clone()),
            native: last(&|one| one.native).unwrap_or(true),
            constants: Settings {
                given: all.iter().flat_map(|one| one.constants.iter().cloned()).collect(),
                defaults: last(&|one| one.defaults).unwrap_or(false),
            },
        }
    }
}

impl Rule {
    fn is_for(&self, image: &Examined<'_, '_>, number: usize, target: &str) -> bool {
        let kernel =
            |name: &String| self.kernels.iter().any(|glob| glob.matches(name) || glob.matches(&demangle(name)));
        (self.targets.is_empty() || self.targets.iter().any(|own| own == target))
            && (self.images.is_empty() || self.images.iter().any(|range| range.contains(&number)))
            && (self.kernels.is_empty() || image.kernels.iter().any(kernel))
    }
}

#[cfg(test)]
mod tests;
