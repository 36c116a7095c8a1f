//! `join`: what is the union of several bundles?

use super::emit::{self, EmitArgs};
use super::exit::Exit;
use super::gather::gather;
use super::global::Global;
use super::selection::Selection;
use super::sources::spare_inputs;
use super::table::Beside;
use std::path::{Path, PathBuf};
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::Result;
use sycl_bundle::report::units::{bytes, counted};
use sycl_bundle::rewrite::join::{Joined, join};

const AFTER_HELP: &str = "\
The union holds all images of all inputs, and copies of an image once: those of which payload, target, options, entries
and property sets are equal. Nothing is compiled or linked. As for sycl::join, all images have to be in one state, and
all inputs for the same targets. `inspect --clones` lists what is equal but for its names, which stays.

Examples:
  sycl-bundle join a.table b.table -o all.table
  sycl-bundle join liba.so libb.so --state input -o both.so
  sycl-bundle join debug.syclbin release.syclbin -o both.syclbin

Exit status:
  2  the inputs are in different states or for different targets";

/// Put the images of several files together, copies once
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// What `wrap` takes; each input is a bundle
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        let form = self.form.form_of(&self.output)?;
        emit::check_place(Some(form.emit), &self.output)?;
        spare_inputs(&self.files, &self.output)?;
        let arena = Arena::with_limit(u64::MAX);
        let gathered = gather(global, &self.files, &self.selection, Some(&Beside::default()), &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        let all = gathered.images.len();
        let mut images = gathered.images.into_iter();
        let bundles = gathered
            .files
            .into_iter()
            .map(|(label, count)| Joined { images: images.by_ref().take(count).collect(), label });
        let union = join(bundles.collect())?;
        let copies: usize = union.copies.values().sum();
        let count = counted(union.images.len(), "image");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(global, &form, union.images, &gathered.origin, &self.output, &paths)?;
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
