//! `check`: does the device code run on targets, and keep to what is declared?

use super::global::Global;
use super::output::{NameList, Output, forms};
use super::policy_file::PolicyArgs;
use super::selection::Selection;
use super::selection::{DeviceConfigs, LiveTargets};
use crate::bundle::aspect;
use crate::compat::aspects::Aspect;
use crate::compat::gate::judgement::Depth;
use crate::device;
use crate::device::resolve::{Named, named_targets};
use crate::device::table::TargetTable;
use crate::device::target::Target;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::check::{Gate, known_findings, link, warn};
use crate::report::check as report;
use crate::report::check::Questions;
use crate::report::document::Form;
use crate::report::gate::findings::{require_targets, spelled_targets};
use crate::report::gate::{self, TargetFindings};
use crate::select::Selector;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
With -t: of each kernel the image that the runtime would choose on the target, and whether that
runs there. Targets are told apart by what they have: aspects, sizes, SPIR-V, matrix operations;
what nobody has written down of one is unknown. What an image imports may be defined in any of the
files, as the runtime links all that are loaded.

With --link: symbols that no image of all the files defines, those that several define in different
ways, and kernels of one name in two files, of which the runtime may run either for both.

With a policy (--policy, SYCL_BUNDLE_CONFIG, or sycl-bundle.toml in this folder or one above): what
that demands, for the targets of -t or else for its own. --example-policy prints one with every
key: targets, kernels, exceptions with a reason and a last day, forbidden aspects, budgets of
bytes, images and spilled registers. Days are in UTC; SOURCE_DATE_EPOCH sets today's. A mistake in
the policy ends with 3. What a baseline holds is known: rule, target, file name, kernel, aspect.

With --declared and its like: judges what the code of each kernel and of all functions it may call
does, in all the files together: functions that one image imports are followed into the image that
exports them.

The verdict is `compatible`, `incompatible` (exit status 1), or `unknown` where some code or some
property of the target is not known; `--strict` has that fail too.

Examples:
  sycl-bundle check libfoo.so -t intel_gpu_acm_g10,pvc
  sycl-bundle check libfoo.so -t intel_gpu_acm_g10 --format sarif > device-code.sarif
  sycl-bundle check libfoo.so -t dg1,acm-g10,pvc,bmg-g21 --format matrix
  sycl-bundle check libfoo.so -t spir64_x86_64 --require-native --kernel '*gemm*'
  sycl-bundle check --example-policy > sycl-bundle.toml
  sycl-bundle check libfoo.so --baseline device-code.json --format github
  sycl-bundle check libfoo.so --declared fp16,atomic64
  sycl-bundle check libfoo.so --fixed-targets intel_gpu_acm_g10,intel_gpu_pvc
  sycl-bundle check app libfoo.so --external --strict
  sycl-bundle check app libfoo.so libbar.so --link
  sycl-bundle check libfoo.so --declared '' --format json | jq '.targets[].findings[].kernel'";

/// Tell whether kernels run on targets, and keep to declared aspects
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Executables, shared libraries, SPIR-V modules; archives, wheels, other packages and folders of these; `pid:N` for
    /// the libraries of a process; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["schema", "example_policy"])]
    files: Vec<PathBuf>,
    /// The aspects that `[[sycl::device_has()]]` lists, by SYCL name; '' for none
    #[arg(long, value_name = "ASPECT,...", conflicts_with = "policy")]
    declared: Option<String>,
    /// The targets of `-fsycl-fixed-targets`, as `targets` lists them; with -t those in both lists
    #[arg(long, value_name = "TARGET,...", value_delimiter = ',', conflicts_with = "policy")]
    fixed_targets: Vec<String>,
    /// Warn of functions of other images that use what the calling kernel's image does not record
    #[arg(long, conflicts_with = "policy")]
    external: bool,
    /// Tell whether all files together define what their images import, and no symbol or kernel twice
    #[arg(long, conflicts_with_all = ["declared", "fixed_targets", "external", "targets"])]
    link: bool,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    gate: GateArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

/// The flags of the gate.
#[derive(Debug, clap::Args)]
struct GateArgs {
    /// The targets that each kernel must run on, as `targets` lists them, in any spelling (repeatable); by default
    /// those of the policy
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET,...", value_delimiter = ',',
          conflicts_with_all = ["declared", "external"])]
    targets: Vec<String>,
    /// The image that the runtime chooses must be compiled for the target already
    #[arg(long, conflicts_with_all = ["declared", "fixed_targets", "external"])]
    require_native: bool,
    /// Print the names of kernels alone that do not run on every target or may not, one a line, for `grep` and scripts;
    /// mangled with --no-demangle
    #[arg(long, conflicts_with_all = ["format", "declared", "fixed_targets", "external", "link"])]
    names: bool,
    /// End with 1 where the verdict is unknown too
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Print a policy that uses every key, and end
    #[arg(long)]
    example_policy: bool,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    live: LiveTargets,
}

/// The flags about known findings.
#[derive(Debug, clap::Args)]
struct BaselineArgs {
    /// Findings of this file are known and do not fail; those that are gone are told
    #[arg(long, value_name = "FILE", conflicts_with_all = ["declared", "fixed_targets", "external"])]
    baseline: Option<PathBuf>,
    /// Write all findings to this file, and fail for none of them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "declared", "fixed_targets", "external"])]
    write_baseline: Option<PathBuf>,
}

/// The forms of the output.
const FORMS: [(Form, &str); 8] = [
    (Form::Table, "For people"),
    (Form::Matrix, "Kernels by targets, a sign each; with -t"),
    (Form::Json, "One document"),
    (Form::Jsonl, "One line per finding"),
    (Form::Sarif, "SARIF 2.1.0, for code scanning; with -t or --link"),
    (Form::Junit, "JUnit's XML, a test case for each kernel; with -t or --link"),
    (Form::Github, "Annotations of a GitHub workflow; with -t or --link"),
    (Form::Markdown, "A summary for a pull request; with -t or --link"),
];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&report::schema());
        }
        if self.gate.example_policy {
            return out.schema(crate::policy::EXAMPLE);
        }
        if self.link {
            let (linked, exit) = link(global, (&self.files, &self.selection.selector()?), self.gate.strict)?;
            out.put(self.format, &linked)?;
            return Ok(exit);
        }
        if self.declared.is_none() && self.fixed_targets.is_empty() && !self.external {
            return self.gate.run(global, &self.files, self.selection.selector()?, self.format, out);
        }
        if !matches!(self.format, Form::Table | Form::Json | Form::Jsonl) {
            let error = Error::new(ErrorKind::Usage, "warnings are told as table or JSON only");
            return Err(error.with_remedy("`-t TARGET` judges targets in every form"));
        }
        // The definitions of all targets cost more than most files do.
        let table = match self.fixed_targets.as_slice() {
            [] => None,
            _ => Some(self.gate.configs.table(global)?),
        };
        let targets = table.as_ref().map_or_else(|| Ok(Vec::new()), |table| self.targets(global, table))?;
        let declared = self.declared.as_deref().map(aspects).transpose()?;
        let selector = self.selection.selector()?;
        let questions = Questions { declared: declared.as_deref(), external: self.external, targets: &targets };
        let (answers, exit) = warn(global, (&self.files, &selector), &questions, self.gate.strict)?;
        out.put(self.format, &answers)?;
        Ok(exit)
    }

    /// The fixed targets that are named, each once; with `-t` those of both lists, which are what is compiled for.
    fn targets<'t>(&self, global: &Global, table: &'t TargetTable) -> Result<Vec<&'t Target>> {
        let named = |spellings: &[String]| -> Result<Vec<&'t Target>> {
            let mut targets: Vec<&'t Target> = Vec::new();
            for Named { target, .. } in named_targets(global, table, spellings)? {
                if !targets.iter().any(|known| known.name == target.name) {
                    targets.push(target);
                }
            }
            Ok(targets)
        };
        let mut targets = named(&self.fixed_targets)?;
        if targets.is_empty() && self.declared.is_none() && !self.external {
            return Err(Error::new(ErrorKind::Usage, "`--fixed-targets` names no target"));
        }
        if !self.gate.targets.is_empty() && !targets.is_empty() {
            let asked = named(&self.gate.targets)?;
            targets.retain(|target| asked.iter().any(|one| one.name == target.name));
            if targets.is_empty() {
                let error = Error::new(ErrorKind::Usage, "no target of `-t` is among those of `--fixed-targets`");
                return Err(error.with_remedy("code with these fixed targets is compiled for none of -t"));
            }
        }
        Ok(targets)
    }
}

impl GateArgs {
    /// Judges the files.
    fn run(
        &self,
        global: &Global,
        files: &[PathBuf],
        selector: Selector,
        format: Form,
        out: &mut Output,
    ) -> Result<Exit> {
        let mut table = self.configs.table(global)?;
        let mut targets = self.targets.clone();
        targets.extend(self.live.add(global, &mut table)?);
        let held = self.policy.load(global, &table)?;
        let (known, written) = (self.baseline.baseline.as_deref(), self.baseline.write_baseline.as_deref());
        let baseline = known_findings(known, written, files)?;
        let named = spelled_targets(global, &table, &targets)?;
        let policy = held.as_ref().map(|held| &held.policy);
        let targets = require_targets(global, named, policy, &table, self.require_native)?;
        // Evidence is looked for only in the few kernels that are shown, unless a baseline decides which these are.
        let depth = match format {
            Form::Table | Form::Markdown if known.is_none() && written.is_none() => Depth::First(gate::EXAMPLES),
            Form::Matrix => Depth::First(0),
            _ => Depth::All,
        };
        let gate = Gate {
            files,
            selector,
            targets,
            policy: held.as_ref(),
            baseline,
            write_baseline: written,
            depth,
            names: global.names(),
            strict: self.strict,
        };
        let (judged, exit) = gate.judge(global)?;
        if self.names {
            let mut list = NameList::new(global.names());
            let findings = judged.targets.iter().flat_map(TargetFindings::findings);
            let counting = findings.filter(|one| one.found.excused.is_none() && !one.found.kernel.is_empty());
            counting.into_iter().try_for_each(|one| list.put(one.found.kernel, out))?;
        } else {
            out.put(format, &judged)?;
        }
        Ok(exit)
    }
}

/// The aspects of a list, each one that SYCL knows.
fn aspects(list: &str) -> Result<Vec<String>> {
    let one = |name: &str| {
        if aspect::names().any(|known| known == name) || Aspect::of_name(name).is_some() {
            return Ok(name.to_owned());
        }
        let error = Error::new(ErrorKind::Usage, format!("`{name}` is no aspect"));
        Err(match device::did_you_mean(name, aspect::names()) {
            Some(near) => error.with_remedy(near),
            None => error,
        })
    };
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(one).collect()
}
