//! `prune`: how do images leave a linked file?

use super::edited::{Linked, TargetArgs};
use super::exit::Exit;
use super::global::Global;
use super::output;
use super::selection::{self, Selection};
use std::collections::HashSet;
use std::path::PathBuf;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::compat::examine::examine;
use sycl_bundle::container::Host;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Result};
use sycl_bundle::report::edited;
use sycl_bundle::select::Pattern;

const AFTER_HELP: &str = "\
Removed images are in the file's list of images no more. What an earlier `build` or `embed`
added leaves the file: where nothing of it is left, the result is the file from before it, byte
for byte. Payloads that the linker put there become zeros, since no other byte of the file may
move; names and property sets stay. Code is never touched.

With --drop, --keep and selectors an image must fulfil all that is given to be removed. The last
image cannot be removed, and the last of a kernel with --lose-kernels only: runtimes crash
(libsycl 2026.2) where such a kernel is launched.

Examples:
  sycl-bundle prune libfoo.so --drop spir64_x86_64 -o out/libfoo.so
  sycl-bundle prune libfoo.so --keep 'intel_gpu_*' -o out/libfoo.so
  sycl-bundle prune libfoo.so --drop spir64 --kernel '*float16*' --lose-kernels -o out/libfoo.so
  sycl-bundle prune foo.pyd --state input --drop-signature -o out/foo.pyd

Exit status:
  0  done
  1  no image matches, or none would be left
  2  the file is none that has a list of images, or is signed, or a kernel would be lost
  3  the file cannot be read or rewritten, or images in it are damaged
  6  there is no device code";

/// Remove images from the list of a linked file
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// A linked executable or library, ELF or PE
    #[arg(required_unless_present = "schema")]
    host: Option<PathBuf>,
    /// Remove images for a target whose name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    drop: Vec<String>,
    /// Keep images for a target whose name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    keep: Vec<String>,
    /// Remove images even where a kernel is then in none, and cannot be launched
    #[arg(long)]
    lose_kernels: bool,
    #[command(flatten)]
    target: TargetArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        let target = self.host.as_deref().and_then(|host| self.target.target(host));
        let (Some(host), Some(target), false) = (&self.host, target, self.target.schema) else {
            return output::schema(&edited::schema());
        };
        let selector = self.selection.selector()?;
        if self.drop.is_empty() && self.keep.is_empty() && selector.is_all() {
            return Err(Error::new(ErrorKind::Usage, "nothing says which images to remove")
                .with_remedy("name targets with --drop or --keep, or select images with --image, --kernel, --state"));
        }
        let globs = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>();
        let (drop, keep) = (globs(&self.drop)?, globs(&self.keep)?);
        let linked = Linked::open(host, &target)?;
        let host = Host::read(linked.bytes()).context(|| linked.name())?;
        let bundle = Bundle::read(&host).context(|| linked.name())?;
        for (option, texts, patterns) in [("drop", &self.drop, &drop), ("keep", &self.keep, &keep)] {
            for (text, pattern) in texts.iter().zip(patterns) {
                if !bundle.images.iter().any(|image| matches(pattern, image)) {
                    return Err(no_such(option, text, &bundle).context(linked.name()));
                }
            }
        }
        let images = selection::keep(&selector, examine(&bundle)).context(|| linked.name())?;
        let any = |patterns: &[Pattern], image: &Image<'_>| patterns.iter().any(|pattern| matches(pattern, image));
        let gone: HashSet<usize> = images
            .iter()
            .map(|image| image.image)
            .filter(|image| (drop.is_empty() || any(&drop, image)) && !any(&keep, image))
            .map(|image| image.index)
            .collect();
        if gone.is_empty() {
            return Err(Error::new(ErrorKind::NoMatch, "no image fulfils all that is asked").context(linked.name()));
        }
        linked.change(global, &target, &gone, &[], self.lose_kernels)
    }
}

/// Whether the target of an image matches, or what it was compiled for.
fn matches(pattern: &Pattern, image: &Image<'_>) -> bool {
    pattern.matches(image.target) || image.compile_target().is_some_and(|target| pattern.matches(target))
}

fn no_such(option: &str, text: &str, bundle: &Bundle<'_>) -> Error {
    let mut targets: Vec<&str> =
        bundle.images.iter().flat_map(|i| [Some(i.target), i.compile_target()]).flatten().collect();
    targets.sort_unstable();
    targets.dedup();
    Error::new(ErrorKind::NoMatch, format!("no image matches --{option} '{text}'"))
        .with_remedy(format!("the targets are {}", targets.join(", ")))
}
