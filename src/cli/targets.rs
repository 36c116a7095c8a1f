//! `targets`: which targets are known, and what is known of them?

use super::global::Global;
use super::output::{Output, forms};
use super::selection::{self, DeviceConfigs};
use crate::device;
use crate::device::table::TargetTable;
use crate::device::target::Target;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::{each_file, report_problems};
use crate::report::document::{Form, Sink as _};
use crate::report::targets::{NamedTargets, TargetList, schema};
use crate::report::text::Shown;
use crate::select::Selector;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
A target goes by any name: intel_gpu_acm_g10, acm-g10, 12.55.8, 0x56a0 (PCI id), dg2 and xe-hpg
(families), dg1:acm-g10 and xe2: (ranges), 'bmg*' (patterns), 'Arc A770' (what it is sold as),
sm_90, gfx90a, triples, avx2 and other instruction sets of CPUs. What is no target but a file is
taken as with --of.

A device configuration is YAML in DPC++'s grammar; `like` takes over what another target has:
  my_gpu:
      like: intel_gpu_bmg_g21
      more-aspects: [ext_oneapi_bindless_images]
      sub-group-sizes: [16, 32]
      max-work-group-size: 1024
Further keys: aspects, maybe-aspects, lacks-aspects, may_support_other_aspects,
max-work-item-sizes, local-memory, max-registers, driver-version, opencl-extensions,
spirv-version, spirv-extensions, spirv-capabilities, spirv-refused-capabilities, matrix,
device-type, backends, aliases, ip-versions, architecture-id, pci-device-ids, product-names,
march, aot-toolchain, aot-toolchain-TOOL-OPTION, default-options, source, open; members and
ocloc-device make a family, template what can only be taken over.

Examples:
  sycl-bundle targets
  sycl-bundle targets acm-g10
  sycl-bundle targets --diff pvc bmg-g21
  sycl-bundle targets --of libfoo.so
  sycl-bundle targets --validate my-device.yaml
  sycl-bundle targets --format json xe2 | jq -r '.targets[].aspects[]'";

/// List targets and what is known of them
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Targets of which everything is shown; without one all are listed
    #[arg(value_name = "TARGET")]
    names: Vec<String>,
    /// Show what two targets differ in
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["names", "of", "validate"])]
    diff: Vec<String>,
    /// List the targets that files hold images for, one per line
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["names", "validate"])]
    of: Vec<PathBuf>,
    /// Check device configurations
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "names")]
    validate: Vec<PathBuf>,
    #[command(flatten)]
    configs: DeviceConfigs,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

/// The forms of the output.
const FORMS: [(Form, &str); 3] =
    [(Form::Table, "For people"), (Form::Json, "One document"), (Form::Jsonl, "One line per target")];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&schema());
        }
        if !self.of.is_empty() {
            return self.of_files(global, &self.of, out);
        }
        if !self.validate.is_empty() {
            return self.validate(global, out);
        }
        let table = self.configs.table(global)?;
        if let [first, second] = self.diff.as_slice() {
            out.put(self.format, &TargetList::Difference([one(&table, first)?, one(&table, second)?]))?;
            return Ok(Exit::Done);
        }
        if self.names.is_empty() {
            out.put(self.format, &TargetList::All(&table))?;
            return Ok(Exit::Done);
        }
        let named = match NamedTargets::find(&table, &self.names) {
            Ok(named) => named,
            // A name that is no target may be a file.
            Err(_) if self.names.iter().all(|name| Path::new(name).exists()) => {
                let paths: Vec<PathBuf> = self.names.iter().map(PathBuf::from).collect();
                return self.of_files(global, &paths, out);
            }
            Err(error) => return Err(error),
        };
        named.notes.iter().for_each(|note| global.note(note));
        out.put(self.format, &TargetList::Named(&named))?;
        Ok(Exit::Done)
    }

    /// The targets of the images in files: what each was compiled for where it says so, else its spec.
    fn of_files(&self, global: &Global, paths: &[PathBuf], out: &mut Output) -> Result<Exit> {
        let mut found = BTreeSet::new();
        let exit = each_file(global, paths, &Selector::default(), |facts| {
            report_problems(global, facts);
            for one in &facts.images {
                let target = one.image.compile_target().unwrap_or(one.image.target);
                // A bare module names none: it is SPIR-V for any device, or of no target that could be told.
                let bare = if one.module.is_some() { "spir64" } else { "unknown" };
                found.insert(if target.is_empty() { bare.to_owned() } else { target.to_owned() });
            }
            Ok(())
        })?;
        out.put(self.format, &TargetList::OfFiles(&found))?;
        Ok(exit)
    }

    /// Reads each file over the built-in targets, and tells all that is wrong.
    fn validate(&self, global: &Global, out: &mut Output) -> Result<Exit> {
        let mut exit = Exit::Done;
        let mut text = Shown::default();
        for path in &self.validate {
            let mut table = device::table().clone();
            match selection::add_definitions(&mut table, path) {
                Ok(added) => {
                    added.warnings.iter().for_each(|warning| global.note(warning));
                    for fault in &added.faults {
                        exit = global.error(fault);
                    }
                    if added.faults.is_empty() {
                        writeln!(text, "{}: {}", path.display(), or_nothing(&added.names));
                    }
                }
                Err(error) => exit = global.error(&error),
            }
        }
        out.show(&text)?;
        Ok(exit)
    }
}

fn or_nothing(names: &[String]) -> String {
    if names.is_empty() { "defines nothing".to_owned() } else { format!("defines {}", names.join(", ")) }
}

/// The one target that a name means.
fn one<'t>(table: &'t TargetTable, name: &str) -> Result<&'t Target> {
    let targets = table.resolve(name)?.targets;
    match targets.as_slice() {
        [target] => Ok(*target),
        _ => {
            let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
            let error = Error::new(ErrorKind::Usage, format!("`{name}` is {} targets", names.len()));
            Err(error.with_remedy(format!("name one of {}", names.join(", "))))
        }
    }
}
