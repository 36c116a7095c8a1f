//! `link`: how do images that need each other become one that needs nothing?

use super::emit::{self, EmitArgs};
use super::global::Global;
use super::selection::Selection;
use crate::cli::compile::CompilerArgs;
use std::collections::HashMap;
use std::path::PathBuf;
use sycl_bundle::build::options::{self, Given};
use sycl_bundle::build::{Job, Step};
use sycl_bundle::bundle::image::{Image, State};
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::Exit;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::gather::{Gathered, gather_code};
use sycl_bundle::report::units::{bytes, counted};
use sycl_bundle::rewrite::link::{Input, Outcome, Providers, agree, executable, link, list_symbols};
use sycl_bundle::spirv::link::Options;

const AFTER_HELP: &str = "\
All selected images become one: imports get the definitions that other images export, types and
constants are merged, of definitions that may be linked once one is kept. Property sets are merged
as the SYCL runtime merges them; what holds for a whole image (options, required sizes,
optimisation level) has to be equal. The result is SPIR-V in state `input`.

With --for a device links objects that `compile` made to an executable, with --each every kernel's
image to its own.

With --each every image with imports is linked with the images that define them, and the others
stay as they are.

Examples:
  sycl-bundle link a.spv b.spv -o whole.spv
  sycl-bundle link libfoo.so --kernel '*gemm*' -o gemm.table
  sycl-bundle link libmkl_sycl_vm.so.6 --each -o complete.so
  sycl-bundle link a.spv b.spv --partial -o library.spv
  sycl-bundle link objects.table --for spir64_x86_64 -o executable.table

Exit status:
  0  done
  2  the images cannot be one: of different targets, states or options
  3  an input cannot be read, or holds what cannot be linked
  4  something is defined twice, or nowhere, or of another type; images contradict each other";

/// Link SPIR-V images: resolve what they import from each other
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// SPIR-V modules (with the `.prop` and `.sym` beside them), file tables, executables, libraries, packages and folders
    /// of these; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Link each image that imports something with the images that define it
    #[arg(long)]
    each: bool,
    /// Leave imports open that nothing defines
    #[arg(long)]
    partial: bool,
    /// Export nothing from the result
    #[arg(long, conflicts_with = "each")]
    internalize: bool,
    /// Link objects, as `compile` makes them, to executables of this target: `spir64_x86_64`
    #[arg(short = 't', long = "for", value_name = "TARGET", conflicts_with_all = ["partial", "internalize"])]
    device_target: Option<String>,
    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        let form = self.form.form_for(&self.files, &self.output)?;
        self.compiler.check(self.device_target.as_deref())?;
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather_code(global, &self.files, &self.selection.selector()?, &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        if self.each {
            gathered.images.iter_mut().try_for_each(|image| list_symbols(&arena, image))?;
        }
        let options = Options { partial: self.partial };
        let mut exit = gathered.exit;
        let made = if self.device_target.is_some() {
            gathered.leave_out_copies(global)?;
            let (images, failed) = self.on_device(global, &arena, &gathered)?;
            exit = if failed { Exit::Build } else { exit };
            if images.is_empty() {
                return Ok(exit);
            }
            images
        } else if self.each {
            let (images, failed) = each(global, &arena, &gathered, &options);
            exit = if failed { Exit::Build } else { exit };
            images
        } else {
            match self.one(global, &arena, &gathered, &options) {
                Ok(image) => vec![image],
                Err(exit) => return Ok(exit),
            }
        };
        let images = counted(made.len(), "image");
        let inputs = std::mem::take(&mut gathered.files);
        let paths: Vec<&std::path::Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(global, &form, made, &gathered.origin, &self.output, &paths)?;
        let from = counted(inputs.iter().map(|(_, count)| count).sum(), "image");
        global.note(&format!(
            "{images} of {from}, {}, written to {} ({})",
            bytes(total),
            self.output.display(),
            form.emit.name()
        ));
        Ok(exit)
    }

    /// All images as one; the exit code where they cannot be, which has been told why.
    fn one<'k>(
        &self,
        global: &Global,
        arena: &'k Arena,
        gathered: &Gathered<'k>,
        options: &Options,
    ) -> Result<Image<'k>, Exit> {
        let inputs: Vec<Input<'_, '_>> = gathered
            .images
            .iter()
            .zip(&gathered.labels)
            .map(|(image, label)| Input { image, label, internal: self.internalize })
            .collect();
        match link(arena, &inputs, options) {
            Ok(outcome) => {
                tell(global, gathered, &outcome);
                Ok(outcome.image)
            }
            Err(errors) => Err(tell_errors(global, &errors)),
        }
    }
}

impl Args {
    /// Objects linked by a device: all to one executable, or each with kernels to its own. Whether some could not be.
    fn on_device<'k>(
        &self,
        global: &Global,
        arena: &'k Arena,
        gathered: &Gathered<'k>,
    ) -> Result<(Vec<Image<'k>>, bool)> {
        let all: Vec<Input<'_, '_>> = gathered
            .images
            .iter()
            .zip(&gathered.labels)
            .map(|(image, label)| Input { image, label, internal: true })
            .collect();
        let providers = Providers::from_property_sets(&gathered.images);
        let mut groups: Vec<(usize, Vec<Input<'_, '_>>)> = Vec::new();
        let mut failed = false;
        if self.each {
            for (at, image) in gathered.images.iter().enumerate().filter(|(_, image)| !image.kernels().is_empty()) {
                let needs = providers.needs(at);
                for missing in &needs.missing {
                    let label = gathered.labels.get(at).map_or("", String::as_str);
                    global.error(&Error::new(ErrorKind::Build, format!("nothing defines `{missing}`")).context(label));
                    failed = true;
                }
                if needs.missing.is_empty() {
                    let members = std::iter::once(at).chain(needs.images);
                    groups.push((image.index, members.filter_map(|member| all.get(member).copied()).collect()));
                }
            }
        } else {
            groups.push((0, all));
        }
        let mut jobs = Vec::new();
        for (number, inputs) in &groups {
            if let Err(errors) = agree(inputs, State::Object) {
                return Err(errors.into_iter().next().unwrap_or_else(|| Error::input("nothing to link")));
            }
            let mut codes = Vec::new();
            for input in inputs {
                codes.push(input.image.contents()?);
            }
            let mut codes = codes.into_iter();
            let Some(il) = codes.next() else { continue };
            let link_options = inputs.first().map_or("", |input| input.image.link_options);
            jobs.push(Job {
                image: *number,
                il,
                compile_options: String::new(),
                link_options: options::for_cpu(Given::by_image(link_options)).kept,
                step: Step::Link(codes.collect()),
                ..Job::default()
            });
        }
        let names: HashMap<usize, &str> =
            groups.iter().map(|(number, inputs)| (*number, inputs.first().map_or("", |input| input.label))).collect();
        let name = |number: usize| names.get(&number).copied().unwrap_or_default().to_owned();
        let (binaries, failures) = self.compiler.run(global, jobs, &name)?;
        failed |= failures;
        let mut binaries: HashMap<usize, Vec<u8>> = binaries.into_iter().collect();
        let mut made = Vec::new();
        for (number, inputs) in &groups {
            let Some(binary) = binaries.remove(number) else { continue };
            match executable(arena, inputs, binary) {
                Ok(image) => made.push(Image { index: *number, ..image }),
                Err(errors) => {
                    tell_errors(global, &errors);
                    failed = true;
                }
            }
        }
        Ok((made, failed))
    }
}

/// Errors of one kind that are shown; thousands of one cause tell no more.
const SHOWN: usize = 100;

/// Prints errors; gives the exit code of the first.
fn tell_errors(global: &Global, errors: &[Error]) -> Exit {
    let mut exit = None;
    for error in errors.iter().take(SHOWN) {
        let this = global.error(error);
        exit.get_or_insert(this);
    }
    if errors.len() > SHOWN {
        global.note(&format!("{} more errors", errors.len().saturating_sub(SHOWN)));
    }
    exit.unwrap_or(Exit::Build)
}

/// Says what was left out and what is open.
fn tell(global: &Global, gathered: &Gathered<'_>, outcome: &Outcome<'_>) {
    for folded in &outcome.linked.folded {
        let label = |at: usize| gathered.labels.get(at).map_or("", String::as_str);
        let (kept, dropped) = (label(folded.kept), label(folded.dropped));
        global.detail(&format!("`{}` of {dropped} left out: that of {kept} is kept", folded.symbol));
    }
    for symbol in &outcome.linked.imports {
        global.detail(&format!("`{symbol}` stays open"));
    }
    global.detail(&format!(
        "{} resolved, {} open",
        counted(outcome.linked.resolved, "import"),
        outcome.linked.imports.len()
    ));
}

/// Every image with imports linked with what defines them; the others as they are. Whether some could not be.
fn each<'k>(global: &Global, arena: &'k Arena, gathered: &Gathered<'k>, options: &Options) -> (Vec<Image<'k>>, bool) {
    let providers = Providers::from_property_sets(&gathered.images);
    let label = |at: usize| gathered.labels.get(at).map_or("", String::as_str);
    let mut made = Vec::with_capacity(gathered.images.len());
    let mut failed = false;
    for (at, image) in gathered.images.iter().enumerate() {
        // What holds no kernel is there for those that import from it.
        if image.imports().is_empty() || image.kernels().is_empty() {
            made.push(image.clone());
            continue;
        }
        let needs = providers.needs(at);
        let mut inputs = vec![Input { image, label: label(at), internal: false }];
        inputs.extend(needs.images.iter().filter_map(|need| {
            Some(Input { image: gathered.images.get(*need)?, label: label(*need), internal: true })
        }));
        match link(arena, &inputs, options) {
            Ok(outcome) => made.push(Image { index: image.index, ..outcome.image }),
            Err(errors) => {
                tell_errors(global, &errors);
                failed = true;
                made.push(image.clone());
            }
        }
    }
    (made, failed)
}
