//! `diff`: what changed between two builds of device code?

use super::global::Global;
use super::output::{Output, forms};
use super::selection::TargetSelection;
use crate::compat::diff::budget::{Budgets, Forbidden, Growth};
use crate::compat::diff::compare::What;
use crate::compat::diff::snapshot::Interner;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::{ReadOptions, each_file_with, report_problems};
use crate::report::diff::{self as report, Build, Report};
use crate::report::document::Form;
use crate::report::page;
use crate::select::Selector;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Two files are compared whatever they are called; of folders, wheels and other packages those files
that have the same path in both, but for versions (libfoo.so.6.1), Python's tags and the hashes of
wheels. A kernel is known by its name; the same code under another name is told as renamed. Its
bytes are those of all images that hold it.

Exit status:
  1  with --exit-code: there are differences; a budget is not kept

Examples:
  sycl-bundle diff old/libfoo.so new/libfoo.so
  sycl-bundle diff foo-1.0-*.whl foo-1.1-*.whl --format markdown >> \"$GITHUB_STEP_SUMMARY\"
  sycl-bundle diff old new --max-growth 5% --forbid lost-targets,gained-requirements
  sycl-bundle diff old/libfoo.so new/libfoo.so --html libfoo.html
  sycl-bundle diff old.so new.so --ignore bytes,code --exit-code
  sycl-bundle diff a.so b.so --format json | jq '.files[].diffs[]|select(.fate==\"removed\").name'";

/// Show what changed between two builds: kernels, requirements, targets, resources, bytes
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The old build: a file, a package or a folder
    #[arg(required_unless_present = "schema")]
    old: Option<PathBuf>,
    /// The new build
    #[arg(required_unless_present = "schema")]
    new: Option<PathBuf>,
    /// Name each kernel that changed, not the first few
    #[arg(long)]
    all: bool,
    /// Differences that do not count, for budgets either
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    ignore: Vec<WhatName>,
    /// End with 1 where there are differences
    #[arg(long)]
    exit_code: bool,
    /// The most that all device code together may grow as it is stored: 64KiB, 5%
    #[arg(long, value_name = "SIZE|%", help_heading = "Budgets")]
    max_growth: Option<String>,
    /// The most that the images of any one kernel may grow for any one target
    #[arg(long, value_name = "SIZE|%", help_heading = "Budgets")]
    max_kernel_growth: Option<String>,
    /// The most bytes that any one kernel may spill more from registers
    #[arg(long, value_name = "SIZE|%", help_heading = "Budgets")]
    max_spill_growth: Option<String>,
    /// Changes that must not happen
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', help_heading = "Budgets")]
    forbid: Vec<ForbiddenName>,
    /// Write also a page for a browser: what became of each kernel, to filter and sort
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    html: Option<PathBuf>,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

/// The forms of the output.
const FORMS: [(Form, &str); 3] =
    [(Form::Table, "For people"), (Form::Json, "One document"), (Form::Markdown, "For a pull request")];

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum WhatName {
    /// Arguments of kernels
    Arguments,
    /// Aspects that kernels need
    Aspects,
    /// Required sizes and other attributes
    Attributes,
    /// Specialization constants
    Constants,
    /// Registers, spills, local memory
    Resources,
    /// Options for the device's compiler
    Options,
    /// Other property sets: optimization, symbols, device globals
    Properties,
    /// Targets that a kernel has images for
    Targets,
    /// Bytes of images
    Bytes,
    /// Code that differs in itself only
    Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ForbiddenName {
    /// A file is gone
    LostFiles,
    /// A file has no image for a target any more
    LostTargets,
    /// A kernel is gone
    LostKernels,
    /// A kernel needs an aspect or a size that it did not, or its image a shape of matrices or a fixed target
    GainedRequirements,
    /// A kernel has other arguments
    ChangedArguments,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&report::schema());
        }
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return Err(Error::new(ErrorKind::Usage, "two builds are compared"));
        };
        self.html
            .as_deref()
            .map(|html| super::inspect::check_page(html, [old.as_path(), new.as_path()]))
            .transpose()?;
        let ignored: Vec<What> = self.ignore.iter().map(|name| what(*name)).collect();
        let mut budgets = self.budgets()?;
        budgets.total = budgets.total.filter(|_| !ignored.contains(&What::Bytes));
        let selector = self.selection.selector()?;
        let mut interner = Interner::default();
        let paths = [old.as_path(), new.as_path()];
        let (old, first) = read(global, old, &selector, &mut interner)?;
        let (new, second) = read(global, new, &selector, &mut interner)?;
        // Kernels missing on a side that could not be read are not known to be gone.
        for (build, exit) in [(&old, first), (&new, second)] {
            if !matches!(exit, Exit::Done | Exit::Input | Exit::NoDeviceCode) || exit == Exit::Input && build.is_empty()
            {
                return Ok(exit);
            }
        }
        if first == Exit::NoDeviceCode && second == Exit::NoDeviceCode {
            return Err(Error::new(ErrorKind::NoDeviceCode, "neither build holds device code"));
        }
        let all = Report::new(old, new, &ignored, &budgets);
        out.put(self.format, &report::Comparison { report: &all, all: self.all })?;
        if let Some(path) = &self.html {
            super::inspect::write_page(global, path, |out| page::builds(&all, paths, global.names(), out))?;
        }
        let fails = self.exit_code && all.differs() || !all.breaches.is_empty();
        Ok(match (first == Exit::Input || second == Exit::Input, fails) {
            (true, _) => Exit::Input,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        })
    }

    fn budgets(&self) -> Result<Budgets> {
        let growth = |text: &Option<String>| text.as_deref().map(Growth::parse).transpose();
        Ok(Budgets {
            total: growth(&self.max_growth)?,
            kernel: growth(&self.max_kernel_growth)?,
            spill: growth(&self.max_spill_growth)?,
            forbidden: self.forbid.iter().map(|name| forbidden(*name)).collect(),
        })
    }
}

/// Reads the files of a build.
fn read(global: &Global, path: &Path, selector: &Selector, interner: &mut Interner) -> Result<(Build, Exit)> {
    let argument = path.display().to_string();
    let mut build = Build::default();
    let options = ReadOptions { lazy: true, empty_counts: true, ..ReadOptions::default() };
    let exit = each_file_with(global, std::slice::from_ref(&path.to_path_buf()), selector, options, |facts| {
        build.add(&argument, facts, interner)?;
        report_problems(global, facts);
        Ok(())
    })?;
    Ok((build, exit))
}

fn what(name: WhatName) -> What {
    match name {
        WhatName::Arguments => What::Arguments,
        WhatName::Aspects => What::Aspects,
        WhatName::Attributes => What::Attributes,
        WhatName::Constants => What::Constants,
        WhatName::Resources => What::Resources,
        WhatName::Options => What::Options,
        WhatName::Targets => What::Targets,
        WhatName::Bytes => What::Bytes,
        WhatName::Properties => What::Properties,
        WhatName::Code => What::Code,
    }
}

fn forbidden(name: ForbiddenName) -> Forbidden {
    match name {
        ForbiddenName::LostFiles => Forbidden::LostFiles,
        ForbiddenName::LostTargets => Forbidden::LostTargets,
        ForbiddenName::LostKernels => Forbidden::LostKernels,
        ForbiddenName::GainedRequirements => Forbidden::GainedRequirements,
        ForbiddenName::ChangedArguments => Forbidden::ChangedArguments,
    }
}
