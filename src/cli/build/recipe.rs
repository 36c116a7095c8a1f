//! With which options, and which values of specialization constants, is each image compiled?

use super::super::global::Global;
use super::super::policy_file::PolicyFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::spec_constants::{ConstantName, Setting, constants};
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::device::yaml::Place;
use sycl_bundle::error::Result;
use sycl_bundle::policy::rules::{Rule, RuleSettings, Rules};
use sycl_bundle::rewrite::specialize::{display_name, unknown_constant};

/// The recipe's options on the command line.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How to compile")]
pub struct RecipeArgs {
    /// Options of the device's compiler, after those that the images have
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    options: Option<String>,
    /// Options of the device's linker, likewise
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    link_options: Option<String>,
    /// Give a specialization constant its value, by its name in the source; a composite takes a list: 1.5,7 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = |text: &str| Setting::parse_named(text).map_err(|error| error.to_string()))]
    spec: Vec<Setting>,
    /// Set a specialization constant by the number that the module has for it (repeatable)
    #[arg(long, value_name = "ID=VALUE", value_parser = |text: &str| Setting::parse_id(text).map_err(|error| error.to_string()))]
    spec_id: Vec<Setting>,
    /// Give specialization constants that nothing else sets their defaults; without, images with such constants stay SPIR-V
    #[arg(long)]
    spec_defaults: bool,
    /// Give the compilers every option that an image, or a sycl-bundle.toml that was found, states; by default only those
    /// known to be harmless: others have a compiler write files where they say
    #[arg(long)]
    trust_options: bool,
    /// Take the calls out that tracing tools hook into (__itt_offload_*), and their switch
    #[arg(long)]
    strip_itt: bool,
    /// Compile by the rules of this file; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Compile by no file's rules
    #[arg(long, conflicts_with = "policy")]
    no_policy: bool,
    /// Print rules that use every key, and end
    #[arg(long)]
    pub example_policy: bool,
}

/// Rules of a file, and what the command line adds to them.
#[derive(Debug, Default)]
pub struct Recipes {
    /// The rules; what the command line says comes last.
    pub rules: Rules,
    /// The number of rules that the file holds.
    own: usize,
}

impl RecipeArgs {
    /// The rules that hold.
    ///
    /// # Errors
    /// The last thing that is wrong with the file, after those before it have been said.
    pub fn load(&self, global: &Global, targets: &TargetTable) -> Result<Recipes> {
        let file = if self.no_policy { None } else { PolicyFile::open(self.policy.as_deref())? };
        let mut rules = Rules::default();
        if let Some(file) = file {
            let text = file.text()?;
            if let Some(found) = file.read(global, Rules::read(&file.name, text, targets))? {
                file.announce(global);
                rules = found;
                if !file.found || self.trust_options {
                    rules.trust_file();
                }
            }
        }
        rules.trust_images = self.trust_options;
        let own = rules.rules.len();
        let given: Vec<Setting> = self.spec.iter().chain(&self.spec_id).cloned().collect();
        let wanted = RuleSettings {
            options: self.options.clone().unwrap_or_default(),
            link_options: self.link_options.clone().unwrap_or_default(),
            trusted: true,
            constants: given,
            defaults: self.spec_defaults.then_some(true),
            strip_itt: self.strip_itt.then_some(true),
            ..RuleSettings::default()
        };
        let place = Place { line: 0, column: 0 };
        rules.rules.push(Rule {
            place,
            kernels: Vec::new(),
            images: Vec::new(),
            targets: Vec::new(),
            settings: wanted,
        });
        Ok(Recipes { rules, own })
    }
}

impl Recipes {
    /// The file, where there is one that says how to build.
    pub fn file(&self) -> Option<&Path> {
        Some(Path::new(&self.rules.file)).filter(|path| !path.as_os_str().is_empty())
    }

    /// Tells of the file's rules that are for no image.
    pub fn unused(&self, global: &Global, used: &BTreeSet<usize>) {
        let own = self.rules.rules.iter().take(self.own).enumerate();
        for (_, rule) in own.filter(|(at, _)| !used.contains(at)) {
            let Place { line, column } = rule.place;
            global.note(&format!("{}:{line}:{column}: the rule is for no image", self.rules.file));
        }
    }

    /// Whether each constant that the command line names is one of an image.
    ///
    /// # Errors
    /// `Usage`, with the names that there are.
    pub fn check(&self, images: &[Examined<'_, '_>], set: &BTreeSet<ConstantName>) -> Result<()> {
        let asked = self.rules.rules.iter().skip(self.own).flat_map(|rule| &rule.settings.constants);
        let Some(missing) = asked.into_iter().find(|setting| !set.contains(&setting.which)) else { return Ok(()) };
        let of_image = |examined: &Examined<'_, '_>| {
            let named = constants(&examined.image.properties);
            let numbers = examined.module.iter().flat_map(|module| &module.spec_constants);
            match named.is_empty() {
                true => numbers.map(|id| ConstantName::Id(*id).text()).collect::<Vec<String>>(),
                false => named.iter().map(|one| display_name(one.name)).collect(),
            }
        };
        Err(unknown_constant(missing, &images.iter().flat_map(of_image).collect()))
    }
}
