//! `join`: what is the union of several bundles?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::Output;
use super::selection::TargetSelection;
use crate::bundle::image::Image;
use crate::container::Arena;
use crate::error::Exit;
use crate::error::Result;
use crate::files::emit;
use crate::files::gather::gather;
use crate::report::name::display;
use crate::report::text::{bytes, counted};
use crate::rewrite::fold::fold;
use crate::rewrite::join::{InputBundle, join};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
The union holds all images of all inputs, and copies of an image once: those of which payload,
target, options, entries and property sets are equal. Nothing is compiled or linked. As for
sycl::join, all images have to be in one state, and all inputs for the same targets. `inspect
--clones` lists what is equal but for its names, which stays.

--fold-clones makes one image of those that are the same code under other names and say the same
beside them. A runtime looks for a kernel by its name, so every name stays a kernel of that image:
a function that calls the one body. Less is stored; but the image is compiled as a whole when the
first of its kernels is needed, and a compiler that inlines the body does so for each. Images stay
as they are that import or export symbols, hold device globals or specialization constants, have
several kernels or none, are explicit SIMD, or hold debug information. What was folded is listed.

Examples:
  sycl-bundle join a.table b.table -o all.table
  sycl-bundle join liba.so libb.so --state input -o both.so
  sycl-bundle join debug.syclbin release.syclbin -o both.syclbin
  sycl-bundle join libfoo.so --state input --fold-clones -o fewer.table

Exit status:
  2  the inputs are in different states or for different targets";

/// Put the images of several files together, copies once
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Inputs, as `wrap` takes them; each is a bundle
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Make one image of SPIR-V images that are the same code under other names, with a kernel for each name
    #[arg(long)]
    fold_clones: bool,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, _out: &mut Output) -> Result<Exit> {
        let form = self.form.form_for(&self.files, &self.output)?;
        let arena = Arena::with_limit(u64::MAX);
        let gathered = gather(global, &self.files, &self.selection.selector()?, None, &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        let all = gathered.images.len();
        let mut images = gathered.images.into_iter();
        let bundles = gathered
            .files
            .into_iter()
            .map(|(label, count)| InputBundle { images: images.by_ref().take(count).collect(), label });
        let union = join(bundles.collect())?;
        let copies: usize = union.copies.values().sum();
        let images = if self.fold_clones { folded(global, &arena, union.images)? } else { union.images };
        let count = counted(images.len(), "image");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(global, &form, images, &gathered.origin, &self.output, &paths)?;
        global.note(&format!(
            "{count} of {all}, {} left out, {}, written to {} ({})",
            match copies {
                1 => "1 copy".to_owned(),
                copies => format!("{copies} copies"),
            },
            bytes(total),
            self.output.display(),
            form.emit.name()
        ));
        Ok(gathered.exit)
    }
}

/// Images with their clones folded, which is listed.
fn folded<'k>(global: &Global, arena: &'k Arena, images: Vec<Image<'k>>) -> Result<Vec<Image<'k>>> {
    let outcome = fold(arena, images)?;
    let shown = |name: &str| if global.demangle { display(name) } else { name.to_owned() };
    for folded in &outcome.folded {
        let kernels = folded.kernels.iter().map(|kernel| shown(kernel)).collect::<Vec<_>>().join("\n  ");
        let [before, after] = folded.bytes.map(bytes);
        let images = counted(folded.kernels.len(), "image");
        global.note(&format!("image {}: {images} of {before} folded into one of {after}:\n  {kernels}", folded.image));
    }
    for (image, error) in &outcome.refused {
        global.note(&format!("image {image}: its clones stay: {error}"));
    }
    let sum = |which: fn([u64; 2]) -> u64| outcome.folded.iter().map(|folded| which(folded.bytes)).sum::<u64>();
    let clones = counted(outcome.folded.iter().map(|folded| folded.kernels.len()).sum(), "clone");
    let (before, after) = (bytes(sum(|[before, _]| before)), bytes(sum(|[_, after]| after)));
    let into = counted(outcome.folded.len(), "image");
    global.note(&format!("{clones} folded into {into}: {before} to {after}"));
    Ok(outcome.images)
}
