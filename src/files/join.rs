//! `join`: what is the union of several bundles?

use super::emit::{self, OutputForm};
use super::gather::gather;
use crate::bundle::image::Image;
use crate::container::Arena;
use crate::error::{Exit, Reporter, Result};
use crate::report::evidence::Names;
use crate::report::text::{bytes, counted};
use crate::rewrite::fold::fold;
use crate::rewrite::join::{InputBundle, join};
use crate::select::Selector;
use std::path::{Path, PathBuf};

/// Bundles that are to be one.
pub(crate) struct Joining<'j> {
    /// The inputs; each is a bundle.
    pub(crate) files: &'j [PathBuf],
    /// The selection among their images.
    pub(crate) selector: &'j Selector,
    /// The form of the output.
    pub(crate) form: &'j OutputForm,
    /// The file to write.
    pub(crate) output: &'j Path,
    /// Whether images that are the same code under other names become one.
    pub(crate) fold_clones: bool,
    /// The form of kernels' names in messages.
    pub(crate) names: Names,
}

impl Joining<'_> {
    /// Joins the bundles and writes their union.
    ///
    /// # Errors
    /// `Usage` where they are in different states or for different targets; what cannot be read or written.
    pub(crate) fn run(&self, reporter: &dyn Reporter) -> Result<Exit> {
        let arena = Arena::with_limit(u64::MAX);
        let gathered = gather(reporter, self.files, self.selector, None, &arena)?;
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
        let images = if self.fold_clones { self.folded(reporter, &arena, union.images)? } else { union.images };
        let count = counted(images.len(), "image");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(reporter, self.form, images, &gathered.origin, self.output, &paths)?;
        reporter.note(&format!(
            "{count} of {all}, {} left out, {}, written to {} ({})",
            match copies {
                1 => "1 copy".to_owned(),
                copies => format!("{copies} copies"),
            },
            bytes(total),
            self.output.display(),
            self.form.emit.name()
        ));
        Ok(gathered.exit)
    }

    /// Folds the clones among images, and lists them.
    fn folded<'k>(&self, reporter: &dyn Reporter, arena: &'k Arena, images: Vec<Image<'k>>) -> Result<Vec<Image<'k>>> {
        let outcome = fold(arena, images)?;
        for folded in &outcome.folded {
            let kernels = folded.kernels.iter().map(|kernel| self.names.show(kernel)).collect::<Vec<_>>().join("\n  ");
            let [before, after] = folded.bytes.map(bytes);
            let images = counted(folded.kernels.len(), "image");
            let image = folded.image;
            reporter.note(&format!("image {image}: {images} of {before} folded into one of {after}:\n  {kernels}"));
        }
        for (image, error) in &outcome.refused {
            reporter.note(&format!("image {image}: its clones stay: {error}"));
        }
        let sum = |which: fn([u64; 2]) -> u64| outcome.folded.iter().map(|folded| which(folded.bytes)).sum::<u64>();
        let clones = counted(outcome.folded.iter().map(|folded| folded.kernels.len()).sum(), "clone");
        let (before, after) = (bytes(sum(|[before, _]| before)), bytes(sum(|[_, after]| after)));
        let into = counted(outcome.folded.len(), "image");
        reporter.note(&format!("{clones} folded into {into}: {before} to {after}"));
        Ok(outcome.images)
    }
}
