//! `prune`: how do images leave a linked file?

use super::embed::TargetArgs;
use super::global::Global;
use super::output::Output;
use super::selection::TargetSelection;
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::compat::examine::examine;
use crate::container::Host;
use crate::error::{Context as _, Error, ErrorKind, Exit, Result};
use crate::files::linked::Linked;
use crate::files::package::{LinkedFile, Package};
use crate::report::edited::{self, Edited};
use crate::select::{Pattern, Selector};
use std::collections::HashSet;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Removed images are in the file's list of images no more. What an earlier `build` or `embed`
added leaves the file: where nothing of it is left, the result is the file from before it, byte
for byte. Of payloads that the linker put into an ELF library the pages leave the file and its
memory; those that stay may move together for it. In executables and PE files, and with
--keep-layout, they become zeros. Names and property sets stay. Code is never touched.

Of a wheel or a folder all linked files are changed in which an image matches; a wheel is packed
again. --restore takes away all that earlier runs added, and checks that the file is then what it
was, byte for byte. Where images of the file's own are gone for which added ones stand (native code
whose SPIR-V was pruned, images that --replace put in), it cannot be, and --restore says so; with
--lose-kernels it takes away what was added all the same.

With --drop, --keep and selectors an image must fulfil all that is given to be removed. The last
image cannot be removed, and the last of a kernel with --lose-kernels only: runtimes crash
(libsycl 2026.2) where such a kernel is launched.

Examples:
  sycl-bundle prune libfoo.so --drop spir64_x86_64 -o out/libfoo.so
  sycl-bundle prune libfoo.so --keep 'intel_gpu_*' -o out/libfoo.so
  sycl-bundle prune libfoo.so --drop spir64 --kernel '*float16*' --lose-kernels -o out/libfoo.so
  sycl-bundle prune foo.pyd --state input --drop-signature -o out/foo.pyd
  sycl-bundle prune foo-1.0-cp311-cp311-linux_x86_64.whl --keep spir64 -o out/
  sycl-bundle prune site-packages/foo --restore --in-place

Exit status:
  0  done
  1  no image matches, or none would be left
  2  the file is none that has a list of images, or is signed, a kernel would be lost, or
     what the file was cannot be restored
  3  the file cannot be read or rewritten, or images in it are damaged
  6  there is no device code";

/// Remove images from the list of a linked file
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Linked executables and libraries, ELF or PE; wheels, folders
    #[arg(required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// Remove images for a target whose name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    drop: Vec<String>,
    /// Keep images for a target whose name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    keep: Vec<String>,
    /// Remove all images that earlier runs of `build` and `embed` added
    #[arg(long, conflicts_with_all = ["drop", "keep"])]
    restore: bool,
    /// Remove images even where a kernel is then in none, and cannot be launched
    #[arg(long)]
    lose_kernels: bool,
    #[command(flatten)]
    target: TargetArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: TargetSelection,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.target.schema {
            return out.schema(&edited::schema());
        }
        self.target.check()?;
        let selector = self.selection.selector()?;
        if self.drop.is_empty() && self.keep.is_empty() && selector.is_all() && !self.restore {
            return Err(Error::new(ErrorKind::Usage, "nothing says which images to remove").with_remedy(
                "name targets with --drop or --keep, select images with --image, --kernel, --state, or take --restore",
            ));
        }
        if self.restore && !selector.is_all() {
            let error = Error::new(ErrorKind::Usage, "--restore takes away all that was added, and selects nothing");
            return Err(error.with_remedy("use --drop, --keep and selectors without it"));
        }
        let Some(package) = Package::open(global, &self.files, self.target.output(), true)? else {
            let [file] = self.files.as_slice() else {
                let error = Error::new(ErrorKind::Usage, "several files have several outputs");
                return Err(error.with_remedy("name a folder with `-o out/`, or say --in-place"));
            };
            let (edited, exit) = self.prune(global, &self.target.file(file), &selector)?;
            self.target.tell(&edited, out)?;
            return Ok(exit);
        };
        let (edited, exit) = package.edit(global, &mut |file| self.prune(global, file, &selector))?;
        self.target.tell(&edited, out)?;
        Ok(exit)
    }

    /// Removes images from one file.
    fn prune(&self, global: &Global, file: &LinkedFile, selector: &Selector) -> Result<(Edited, Exit)> {
        let target = self.target.copy_of(file);
        let linked = Linked::open(&file.input, file.name.clone(), &target)?;
        if self.restore {
            return linked.restore(global, &target, self.lose_kernels);
        }
        let gone = self.chosen(&linked, selector)?;
        linked.edit(global, &target, &gone, &[], self.lose_kernels)
    }

    /// The images of a file that are to be removed.
    fn chosen(&self, linked: &Linked, selector: &Selector) -> Result<HashSet<usize>> {
        let globs = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>();
        let (drop, keep) = (globs(&self.drop)?, globs(&self.keep)?);
        let host = Host::read(linked.bytes()).context(|| linked.name())?;
        let bundle = Bundle::read(&host).context(|| linked.name())?;
        for (option, texts, patterns) in [("drop", &self.drop, &drop), ("keep", &self.keep, &keep)] {
            for (text, pattern) in texts.iter().zip(patterns) {
                if !bundle.images.iter().any(|image| matches(pattern, image)) {
                    return Err(no_such(option, text, &bundle).context(linked.name()));
                }
            }
        }
        let any = |patterns: &[Pattern], image: &Image<'_>| patterns.iter().any(|pattern| matches(pattern, image));
        let goes = |image: &Image<'_>| (drop.is_empty() || any(&drop, image)) && !any(&keep, image);
        let gone: HashSet<usize> = if selector.is_all() {
            bundle.images.iter().filter(|image| goes(image)).map(|image| image.index).collect()
        } else {
            let images = selector.keep(examine(&bundle)).context(|| linked.name())?;
            images.iter().map(|image| image.image).filter(|image| goes(image)).map(|image| image.index).collect()
        };
        if gone.is_empty() {
            return Err(Error::new(ErrorKind::NoMatch, "no image fulfils all that is asked").context(linked.name()));
        }
        Ok(gone)
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
