//! `has`: is there a kernel bundle of a state, with these kernels, for these targets?

use super::check::spelled_targets;
use super::device_config::{DeviceConfigs, LiveTargets};
use super::global::Global;
use super::output::{ANSWER, Output, forms};
use super::selection::StateName;
use std::path::PathBuf;
use sycl_bundle::compat::finding::Verdict;
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::has::{Asked, Bundles};
use sycl_bundle::compat::offers::are_open;
use sycl_bundle::demangle::demangle;
use sycl_bundle::device::near::did_you_mean;
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::files::each_linked;
use sycl_bundle::files::{each_file, report_problems};
use sycl_bundle::report::document::Form;
use sycl_bundle::report::has as page;
use sycl_bundle::report::json::FileProblem;
use sycl_bundle::report::name::display;
use sycl_bundle::select::{Pattern, Selector};

const AFTER_HELP: &str = "\
As sycl::has_kernel_bundle<State>(context, devices, kernel_ids) answers: yes where each kernel
can be represented in a device image of the state and runs on one of the targets at least;
without --kernel, where one kernel is so. A kernel's image is of its own state and can become
what follows: SPIR-V is input, and what the device makes of it object and executable. A bundle
of input needs aspect::online_compiler of all targets, one of objects aspect::online_linker.
What is not known is `unknown`, which is no yes. Where code needs more than is recorded for its
image, the runtime says yes and throws at the launch; this says no. A name that no kernel has
is an error, as it is for get_kernel_id.

Examples:
  sycl-bundle has libfoo.so -t intel_gpu_pvc --kernel 'acme::solve<double>' && echo it runs
  sycl-bundle has libfoo.so -t spir64_x86_64 --state input --quiet
  sycl-bundle has app libfoo.so -t pvc,acm-g10 --kernel '*gemm*' --format json | jq .answer

Exit status:
  0  there is such a bundle
  1  there is none, or it is not known
  2  no kernel has a name that was given";

/// Tell by exit status whether there is a kernel bundle
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Executables, shared libraries, SPIR-V modules, packages and folders of these, as for `inspect`
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// The devices: targets, as `targets` lists them, in any spelling (repeatable)
    #[arg(
        short = 't',
        long = "target", visible_alias = "for",
        value_name = "TARGET,...",
        value_delimiter = ',',
        required_unless_present_any = ["schema", "devices"]
    )]
    targets: Vec<String>,
    /// The kernels, by mangled or demangled name; of a glob all that match (repeatable)
    #[arg(long, value_name = "NAME|GLOB")]
    kernel: Vec<String>,
    /// The state of the bundle
    #[arg(long, value_name = "STATE", default_value = "executable")]
    state: StateName,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    live: LiveTargets,
    /// The form of the output; with --quiet there is none
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(ANSWER))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        let mut table = self.configs.table(global)?;
        let mut spellings = self.targets.clone();
        spellings.extend(self.live.add(global, &mut table)?);
        let named = spelled_targets(global, &table, &spellings)?;
        let patterns = self.kernel.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
        let state = self.state.state();
        let targets: Vec<&str> = named.iter().map(|one| one.target.name.as_str()).collect();
        let nothing = || {
            let subjects = named.iter().map(|one| Subject::new(one.target).with_march(one.march)).collect();
            Bundles::new(Asked { state, subjects })
        };
        let mut bundles = nothing();
        let (mut open, mut count) = (false, 0usize);
        let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name));
        let (mut others, mut problems) = (Vec::new(), Vec::new());
        let exit = each_file(global, &self.files, &Selector::default(), |facts| {
            report_problems(global, facts);
            problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
            let names = facts.images.iter().flat_map(|image| &image.kernels);
            others.extend(names.filter(|name| !wanted(name)).map(|name| display(name)));
            bundles.file(&facts.images, wanted);
            open |= are_open(&facts.images);
            count = count.saturating_add(1);
            Ok(())
        })?;
        if open && count > 1 {
            let mut linked = nothing();
            let all = each_linked(global, &self.files, |_, images| {
                linked.file(images, wanted);
                Ok(())
            })?;
            bundles = if all { linked } else { bundles };
        }
        if exit != Exit::Done && bundles.is_empty() {
            return Ok(exit);
        }
        for pattern in &patterns {
            // What could not be read may have it.
            if exit == Exit::Done && !bundles.names().any(|name| matches(pattern, name)) {
                let error = Error::new(ErrorKind::Usage, format!("No kernel named {} was found", pattern.text()));
                let near = did_you_mean(pattern.text(), others.iter().map(String::as_str));
                let remedy = near.unwrap_or_else(|| "`sycl-bundle kernels` lists them".to_owned());
                return Err(error.with_remedy(remedy));
            }
        }
        let by_id = !patterns.is_empty();
        let conclusion = bundles.conclude(by_id);
        if !global.quiet {
            let problems = &problems;
            out.put(
                self.format,
                &page::Answered { conclusion: &conclusion, state, targets: &targets, by_id, problems },
            )?;
        }
        let answer = if conclusion.verdict == Verdict::Compatible { Exit::Done } else { Exit::No };
        Ok(if exit == Exit::Done { answer } else { exit })
    }
}

fn matches(pattern: &Pattern, name: &str) -> bool {
    pattern.matches(name) || pattern.matches(&demangle(name)) || pattern.text() == display(name)
}
