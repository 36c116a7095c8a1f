//! `kernels`: what is known of each kernel, and what does a device answer about it?

use super::global::Global;
use super::live::{self, Asker};
use super::output::{NameList, Output, forms};
use super::selection::TargetSelection;
use crate::compat::kernels::{Depth, KernelFacts, LeftOut, kernels};
use crate::compat::offers::Offers;
use crate::container::Arena;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::collect_offers;
use crate::files::input::has_stdin;
use crate::files::{ReadOptions, each_file_with, report_problems};
use crate::report::document::Form;
use crate::report::kernels::{FileKernels, Listing, json};
use crate::report::{FileFacts, left_out};
use crate::select::{Selector, keep_needing};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Of more than 40 kernels those that differ in their names only share a row; `--all` gives each its
own, `--kernel GLOB` shows all about those that match. `--device` has the device's compiler build
the kernels, in worker processes, and adds its answers to every query of sycl::info::kernel and
sycl::info::kernel_device_specific.

Examples:
  sycl-bundle kernels libfoo.so
  sycl-bundle kernels libfoo.so --kernel '*gemm<float*'
  sycl-bundle kernels libfoo.so --aspect fp64
  sycl-bundle kernels libfoo.so --device cpu --format json | jq '.kernels[].devices'
  sycl-bundle kernels libfoo.so --format jsonl | jq -r 'select(.clones != []) | .demangled'

Exit status:
  4  some kernel did not build on the device
  5  there is no such device";

/// Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Executables, shared libraries, SPIR-V modules, packages and folders of these, as for `inspect`
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// List each kernel
    #[arg(long)]
    all: bool,
    /// Ask this device about the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)
    #[arg(long, value_name = "DEVICE")]
    device: Vec<String>,
    /// Build on so many devices' compilers at once; by default one per processor
    #[arg(short, long, value_name = "N", requires = "device")]
    jobs: Option<NonZeroUsize>,
    /// Print the names of kernels alone, one a line, for `grep` and scripts; mangled with --no-demangle
    #[arg(long, conflicts_with_all = ["all", "device", "format"])]
    names: bool,
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
    [(Form::Table, "For people"), (Form::Json, "One document"), (Form::Jsonl, "One line per kernel")];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&json::schema());
        }
        let mut selector = self.selection.selector()?;
        // Of images that hold several kernels, those are meant whose code it is; and what that calls may stand in others.
        let aspects = std::mem::take(&mut selector.aspects);
        let live = (!self.device.is_empty()).then(|| live::find(global, &self.device)).transpose()?;
        let mut askers = Vec::new();
        for wanted in &self.device {
            if let Some(live) = &live {
                let (place, device) = live.choose(wanted)?;
                askers.push(Asker { live, place, device, jobs: self.jobs });
            }
        }
        let (mut whole, mut any) = (true, false);
        let wanted = Wanted { selector: &selector, aspects: &aspects };
        // Programs are built with what other files define, as the runtime links all that are loaded. Standard input cannot
        // be read twice.
        let arena = Arena::with_limit(u64::MAX);
        let linked = !askers.is_empty() && self.files.len() > 1 && !has_stdin(&self.files);
        let mut offers = if linked { collect_offers(global, &self.files, &arena)? } else { Offers::default() };
        let named = !selector.kernels.is_empty();
        let full = !self.names && (named || self.format != Form::Table);
        let depth = Depth { clones: full, evidence: full };
        // A device is asked about all kernels of a file at once.
        let lazy = askers.is_empty();
        let options = ReadOptions { lazy, skip_hash: true, ..ReadOptions::default() };
        let mut names = NameList::new(global.names());
        if self.names {
            return each_file_with(global, &self.files, &selector, options, |facts| {
                facts.each_kernels(depth, |found| {
                    wanted.select(found).iter().try_for_each(|kernel| names.put(&kernel.name, out))
                })?;
                report_problems(global, facts);
                Ok(())
            });
        }
        let mut listing = Listing::open(self.format, named, self.all, out)?;
        let exit = each_file_with(global, &self.files, &selector, options, |facts| {
            let path = facts.path;
            if askers.is_empty() {
                facts.each_kernels(depth, |found| {
                    let kernels = wanted.select(found);
                    any |= !kernels.is_empty();
                    listing.kernels(&FileKernels { path, kernels, devices: Vec::new() })
                })?;
            } else {
                let (file, built) = answered(global, facts, wanted, depth, (&askers, &mut offers))?;
                whole &= built;
                let mut without = LeftOut::default();
                file.kernels.iter().for_each(|kernel| without.add(kernel));
                facts.problems.extend(left_out(&without));
                any |= !file.kernels.is_empty();
                listing.kernels(&FileKernels { path, ..file })?;
            }
            if self.format != Form::Json {
                report_problems(global, facts);
            }
            listing.end_file(path, &facts.problems)
        })?;
        listing.end()?;
        out.finish()?;
        if exit == Exit::Done && !any && !aspects.is_empty() {
            let message = format!("no kernel needs {}", aspects.join(" or "));
            return Err(Error::new(ErrorKind::NoMatch, message));
        }
        if exit == Exit::Done && !any {
            global.note("the files hold no kernel; `sycl-bundle inspect` tells what is in them");
        }
        Ok(if exit == Exit::Done && !whole { Exit::Build } else { exit })
    }
}

/// The kernels to show.
#[derive(Clone, Copy)]
struct Wanted<'w> {
    selector: &'w Selector,
    /// Aspects, one of which a kernel needs; none where it may need any.
    aspects: &'w [String],
}

impl Wanted<'_> {
    /// Keeps the kernels that are asked for.
    fn select(self, mut kernels: Vec<KernelFacts>) -> Vec<KernelFacts> {
        kernels.retain(|kernel| self.selector.takes_kernel(&kernel.name));
        keep_needing(&mut kernels, self.aspects);
        kernels
    }
}

/// The kernels of a file that are asked for with answers of devices, and whether all of them built there.
fn answered<'l>(
    global: &Global,
    facts: &mut FileFacts<'_>,
    wanted: Wanted<'_>,
    depth: Depth,
    (askers, offers): (&[Asker<'l>], &mut Offers<'_>),
) -> Result<(FileKernels<'l>, bool)> {
    let mut file = FileKernels::default();
    let Some(bundle) = facts.bundle else { return Ok((file, true)) };
    file.kernels = wanted.select(kernels(bundle, &facts.images, depth));
    let mut whole = true;
    let next = bundle.images.last().map_or(0, |image| image.index.saturating_add(1));
    let lent = offers.lend(&facts.path.into(), &mut facts.images, next);
    for asker in askers {
        let (answers, built) = asker.ask(global, bundle, (&facts.images, &lent), &file.kernels)?;
        whole &= built;
        file.devices.push(answers);
    }
    Ok((file, whole))
}
