//! How does a project want each image compiled?
//!
//! Table `build` of `sycl-bundle.toml` has options and values of specialization constants for all images, and rules for
//! some of them, by kernel, number and target. A later rule adds to earlier ones: its options come last, and its values
//! override.

use super::read::{glob, resolve};
use super::read_as;
use super::text::{Located, Scalar, Table};
use crate::bundle::spec_constants::{ConstantName, Setting, Settings};
use crate::compat::examine::Examined;
use crate::device::table::TargetTable;
use crate::device::yaml::{Fault, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::select::{KernelName, Pattern, range, trials};
use std::cell::OnceCell;
use std::ops::RangeInclusive;

/// Example of a table `build` that uses every key.
pub(crate) const EXAMPLE: &str = include_str!("example_build.toml");

/// Number of registers of an Intel GPU's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registers {
    /// Twice the usual number, for half the threads.
    Large,
    /// Chosen by the compiler for each kernel.
    Auto,
}

impl Registers {
    /// Returns the compiler option that the runtime passes for it (`sycl-register-alloc-mode`); explicit SIMD has
    /// another.
    pub(crate) fn option(self, esimd: bool) -> &'static str {
        match (self, esimd) {
            (Registers::Large, true) => "-doubleGRF",
            (Registers::Large, false) => "-ze-opt-large-register-file",
            (Registers::Auto, _) => "-ze-intel-enable-auto-large-GRF-mode",
        }
    }
}

/// Settings of a rule for its images.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleSettings {
    /// Options of the compiler, added after those of the image.
    pub(crate) options: String,
    /// Options of the linker, added after those of the image.
    pub(crate) link_options: String,
    /// Whether the user said so: any option goes through.
    pub(crate) trusted: bool,
    /// Whether the image's own options are used; none keeps the earlier setting.
    pub(crate) own_options: Option<bool>,
    /// Registers of a GPU's thread.
    pub(crate) registers: Option<Registers>,
    /// Optimisation level, 0 to 3.
    pub(crate) optimization: Option<u8>,
    /// Whether the image is compiled; none keeps the earlier setting.
    pub(crate) native: Option<bool>,
    /// Values of specialization constants.
    pub(crate) constants: Vec<Setting>,
    /// Whether constants without a value get their defaults; none keeps the earlier setting.
    pub(crate) defaults: Option<bool>,
    /// Whether calls for tracing tools are taken out; none keeps the earlier setting.
    pub(crate) strip_itt: Option<bool>,
}

/// Rule for some images.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// Location in the file.
    pub(crate) place: Place,
    /// Kernels, by mangled or demangled name, one of which the image must have; all if empty.
    pub(crate) kernels: Vec<Pattern>,
    /// Numbers of images; all if empty.
    pub(crate) images: Vec<RangeInclusive<usize>>,
    /// Targets; all if empty.
    pub(crate) targets: Vec<String>,
    /// Settings for these images.
    pub(crate) settings: RuleSettings,
}

/// Rules of a file.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// File name for messages.
    pub(crate) file: String,
    /// Targets that are built if the command line names none.
    pub(crate) targets: Vec<String>,
    /// Settings for all images.
    pub(crate) all: RuleSettings,
    /// Rules, in the order of the text.
    pub(crate) rules: Vec<Rule>,
    /// Whether options of images are trusted like the user's.
    pub(crate) trust_images: bool,
}

impl Rules {
    /// Trusts the options of the file, as it was named by the user.
    pub(crate) fn trust_file(&mut self) {
        self.all.trusted = true;
        self.rules.iter_mut().for_each(|rule| rule.settings.trusted = true);
    }
}

/// Settings for compiling one image for one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Options of the compiler that the image states, or a file that was found and not named.
    pub(crate) options: String,
    /// Options of the linker, likewise.
    pub(crate) link_options: String,
    /// Options of the compiler that the user states.
    pub(crate) trusted_options: String,
    /// Options of the linker that the user states.
    pub(crate) trusted_link_options: String,
    /// Whether the image is compiled.
    pub(crate) native: bool,
    /// Values of specialization constants.
    pub(crate) constants: Settings,
    /// Whether calls for tracing tools are taken out.
    pub(crate) strip_itt: bool,
}

impl Rules {
    /// Reads the table `build` of a text, or returns none where it has no such table.
    ///
    /// # Errors
    /// All mistakes, each of kind `Input` and beginning with `file:line:column`.
    pub fn read(file: &str, text: &str, targets: &TargetTable) -> Result<Option<Rules>, Vec<Error>> {
        read_as(file, text, |root| read_rules(file, root, targets))
    }

    /// Checks that the globs of the rules are not too many for the kernels of images on some targets.
    ///
    /// # Errors
    /// `Usage` where they are.
    pub(crate) fn check_globs<'t>(
        &self,
        images: &[Examined<'_, '_>],
        targets: impl Iterator<Item = &'t str>,
    ) -> Result<()> {
        let of_target = |target| self.rules.iter().filter(move |rule| rule.is_for_target(target));
        let globs = targets.flat_map(of_target).flat_map(|rule| &rule.kernels);
        let kernels = images.iter().flat_map(|image| &image.kernels).map(String::as_str);
        let (globs, kernels, cost) = trials(globs, kernels);
        let bytes = images.iter().map(|image| image.size).fold(0, u64::saturating_add);
        let most = limits::MAX_GLOB_TRIALS.saturating_add(bytes.saturating_mul(limits::GLOB_TRIALS_PER_BYTE));
        if cost > most {
            let message = format!(
                "{}: the {globs} globs of rules for these targets are too many for {kernels} kernels",
                self.file
            );
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("write fewer and wider globs"));
        }
        Ok(())
    }

    /// Returns the settings for an image, by the number that the user sees, and a target. The numbers of the rules that
    /// apply are added to `used`.
    pub(crate) fn recipe(
        &self,
        image: &Examined<'_, '_>,
        number: usize,
        target: &str,
        used: &mut dyn FnMut(usize),
    ) -> Recipe {
        let esimd = image.module.as_ref().is_some_and(|module| module.used_aspects.contains("ext_intel_esimd"));
        let kernels = OnceCell::new();
        let kernels = || kernels.get_or_init(|| image.kernels.iter().map(|name| KernelName::new(name)).collect());
        let holding = self.rules.iter().enumerate().filter(|(_, rule)| rule.is_for(&kernels, number, target));
        let mut all = vec![&self.all];
        for (at, rule) in holding {
            used(at);
            all.push(&rule.settings);
        }
        let last = |of: &dyn Fn(&RuleSettings) -> Option<bool>| all.iter().rev().find_map(|one| of(one));
        let own = last(&|one| one.own_options).unwrap_or(true);
        let join = |trusted: bool, first: &str, of: &dyn Fn(&RuleSettings) -> String| {
            let own = (own && trusted == self.trust_images).then(|| first.to_owned());
            let parts = own.into_iter().chain(all.iter().filter(|one| one.trusted == trusted).map(|one| of(one)));
            parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let words = |one: &RuleSettings| {
            let level = one.optimization.map(|level| format!("-O{level}"));
            let registers = one.registers.map(|registers| registers.option(esimd).to_owned());
            let parts = [Some(one.options.clone()), level, registers];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        Recipe {
            options: join(false, image.image.compile_options, &words),
            link_options: join(false, image.image.link_options, &|one| one.link_options.clone()),
            trusted_options: join(true, image.image.compile_options, &words),
            trusted_link_options: join(true, image.image.link_options, &|one| one.link_options.clone()),
            native: last(&|one| one.native).unwrap_or(true),
            constants: Settings {
                given: all.iter().flat_map(|one| one.constants.iter().cloned()).collect(),
                defaults: last(&|one| one.defaults).unwrap_or(false),
            },
            strip_itt: last(&|one| one.strip_itt).unwrap_or(false),
        }
    }
}

impl Rule {
    /// Whether the rule is for an image, given its kernels and number, on a target.
    fn is_for<'k, 'n: 'k>(&self, kernels: &dyn Fn() -> &'k Vec<KernelName<'n>>, number: usize, target: &str) -> bool {
        self.is_for_target(target)
            && (self.images.is_empty() || self.images.iter().any(|range| range.contains(&number)))
            && (self.kernels.is_empty() || kernels().iter().any(|name| name.matches_any(&self.kernels)))
    }

    fn is_for_target(&self, target: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|own| own == target)
    }
}

/// Keys that apply to all images or to those of a rule.
const WANTED: [&str; 9] = [
    "options",
    "link-options",
    "own-options",
    "registers",
    "optimization",
    "native",
    "spec-defaults",
    "spec",
    "strip-itt",
];
const ALL: [&str; 8] =
    ["targets", "options", "link-options", "own-options", "spec-defaults", "spec", "strip-itt", "rule"];
const WHICH: [&str; 3] = ["kernels", "images", "targets"];

/// Reads the table `build`. Returns all mistakes beside it.
pub(super) fn read_rules(file: &str, root: &Table<'_>, targets: &TargetTable) -> (Option<Rules>, Vec<Fault>) {
    let mut faults = Vec::new();
    let Some(table) = root.table("build", &mut faults) else { return (None, faults) };
    table.only(&ALL, &mut faults);
    let mut rules = Rules { file: file.to_owned(), ..Rules::default() };
    rules.targets = named_targets(&table, targets, &mut faults, |spelling, _| vec![spelling.to_owned()]);
    let mut room = limits::MAX_RULE_OPTIONS;
    rules.all = settings(&table, &mut room, &mut faults);
    for one in table.tables("rule", &mut faults) {
        one.only(&[&WHICH[..], &WANTED[..]].concat(), &mut faults);
        let resolved = named_targets(&one, targets, &mut faults, |_, names| names);
        let rule = Rule {
            place: one.place,
            kernels: globs(&one, &mut faults),
            images: numbers(&one, &mut faults),
            targets: resolved,
            settings: settings(&one, &mut room, &mut faults),
        };
        if !WHICH.iter().any(|key| one.has(key)) {
            let fault = Fault::new(one.place, "the rule does not say for what it is");
            let remedy = "name kernels, images or targets, or put it under [build], where it is for all".to_owned();
            faults.push(fault.with_remedy(Some(remedy)));
        }
        rules.rules.push(rule);
    }
    faults.sort_by_key(|fault| fault.place);
    (Some(rules), faults)
}

/// Reads the targets of a key; `keep` converts a spelling and the names that it stands for.
fn named_targets(
    table: &Table<'_>,
    targets: &TargetTable,
    faults: &mut Vec<Fault>,
    keep: impl Fn(&str, Vec<String>) -> Vec<String>,
) -> Vec<String> {
    let mut all = Vec::new();
    let Some(list) = table.texts("targets", faults) else { return all };
    for spelling in list.value {
        if let Some(found) = resolve(spelling, targets, faults) {
            all.extend(keep(spelling.value, found.targets.iter().map(|target| target.name.clone()).collect()));
        }
    }
    all
}

fn globs(table: &Table<'_>, faults: &mut Vec<Fault>) -> Vec<Pattern> {
    let list = table.texts("kernels", faults).map(|list| list.value).unwrap_or_default();
    list.into_iter().filter_map(|text| glob(text, faults)).collect()
}

fn numbers(table: &Table<'_>, faults: &mut Vec<Fault>) -> Vec<std::ops::RangeInclusive<usize>> {
    let list = table.texts("images", faults).map(|list| list.value).unwrap_or_default();
    let number = |text: Located<&str>| match range(text.value) {
        Ok(found) => Some(found),
        Err(error) => {
            faults.push(Fault::new(text.place, error.message()));
            None
        }
    };
    list.into_iter().filter_map(number).collect()
}

/// Reads settings; all options of a file have to go into the room.
fn settings(table: &Table<'_>, room: &mut usize, faults: &mut Vec<Fault>) -> RuleSettings {
    let mut text = |key: &str| {
        let Some(found) = table.text(key, faults) else { return String::new() };
        match room.checked_sub(found.value.len()) {
            Some(rest) => *room = rest,
            None => {
                let most = limits::MAX_RULE_OPTIONS;
                let what = format!("the options of all rules together have more bytes than the limit of {most}");
                faults.push(Fault::new(found.place, what));
            }
        }
        found.value.to_owned()
    };
    let (options, link_options) = (text("options"), text("link-options"));
    let registers = table.text("registers", faults).and_then(|word| match word.value {
        "large" => Some(Registers::Large),
        "auto" => Some(Registers::Auto),
        other => {
            faults.push(Fault::new(word.place, format!("`registers` is `{other}`, and must be \"large\" or \"auto\"")));
            None
        }
    });
    let optimization = table.number("optimization", faults).and_then(|level| match level.value {
        value @ 0..=3 => u8::try_from(value).ok(),
        other => {
            faults.push(Fault::new(level.place, format!("`optimization` is {other}, and must be 0, 1, 2 or 3")));
            None
        }
    });
    RuleSettings {
        options,
        link_options,
        trusted: false,
        own_options: table.flag("own-options", faults),
        registers,
        optimization,
        native: table.flag("native", faults),
        defaults: table.flag("spec-defaults", faults),
        strip_itt: table.flag("strip-itt", faults),
        constants: constants(table, faults),
    }
}

fn constants(table: &Table<'_>, faults: &mut Vec<Fault>) -> Vec<Setting> {
    let Some(spec) = table.table("spec", faults) else { return Vec::new() };
    let mut all = Vec::new();
    for key in spec.keys() {
        let settings = "a number, true or false, a text, or a list of these";
        if let Some(values) = spec.scalars(key.value, settings, faults) {
            let values = values.into_iter().map(|Scalar(text)| text).collect();
            all.push(Setting { which: ConstantName::Name(key.value.to_owned()), values });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::spec_constants::ConstantName;
    use crate::device;

    fn read(text: &str) -> Result<Option<Rules>, Vec<String>> {
        Rules::read("t.toml", text, device::table()).map_err(|errors| {
            errors.iter().map(|error| format!("{error} | {}", error.remedy().unwrap_or("-"))).collect()
        })
    }

    #[test]
    fn the_example_is_a_set_of_rules() {
        let rules = read(EXAMPLE).unwrap().unwrap();
        assert_eq!(rules.targets, ["spir64_x86_64", "pvc"]);
        assert_eq!(
            (rules.all.options.as_str(), rules.all.own_options, rules.all.defaults),
            ("-cl-mad-enable", Some(true), Some(true))
        );
        let named = |name: &str| ConstantName::Name(name.into());
        let values: Vec<(ConstantName, Vec<String>)> =
            rules.all.constants.iter().map(|one| (one.which.clone(), one.values.clone())).collect();
        let expected = [
            (named("acme::block"), vec!["64".to_owned()]),
            (named("acme::shape"), vec!["1.5".into(), "7".into()]),
            (named("verbose"), vec!["false".into()]),
        ];
        assert_eq!(values, expected);
        let [solve, debug, rare] = rules.rules.as_slice() else { panic!() };
        assert_eq!(solve.targets, ["intel_gpu_pvc"]);
        assert_eq!((solve.settings.registers, solve.settings.optimization), (Some(Registers::Large), Some(3)));
        assert_eq!(debug.images, [0..=3, 17..=17]);
        assert_eq!((rare.settings.native, rare.settings.defaults), (Some(false), None));
        // A policy of `check` alone says nothing of building.
        assert!(read(crate::policy::EXAMPLE).unwrap().is_none());
    }

    #[test]
    fn mistakes_are_told_with_their_places() {
        let text = "[build]\ntarget = [\"pvc\"]\ntargets = [\"pvcc\"]\n[build.spec]\na = [[1]]\n[[build.rule]]\n\
                registers = \"huge\"\noptimization = 4\n[[build.rule]]\nimages = [\"x\"]\nkernels = [\"\"]\nregister = 1\n";
        let errors = read(text).unwrap_err();
        let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
        let expected =
            ["t.toml:2:1", "t.toml:3:12", "t.toml:5:5", "t.toml:6:1", "t.toml:7:13", "t.toml:8:16", "t.toml:10:11"];
        assert_eq!(places, [&expected[..], &["t.toml:11:12", "t.toml:12:1"]].concat(), "{errors:#?}");
        assert!(errors[0].contains("targets") && errors[8].contains("registers"), "{errors:#?}");
    }
}
