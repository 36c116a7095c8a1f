//! How is one set of facts shown as a table, as JSON and as a page to look at?
//!
//! Everything here writes to a writer that it is given, at the width it is given; nothing prints.

/// Adds fields of one document to those of another; the largest number is the most.
macro_rules! add_counts {
    ($own:expr, $other:expr; $($field:ident)*) => {
        $($own.$field = $own.$field.saturating_add($other.$field);)*
    };
}

pub(crate) mod batch;
pub(crate) mod built;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod clones;
pub(crate) mod costs;
pub mod devices;
pub(crate) mod diff;
pub mod doctor;
pub(crate) mod document;
pub mod edited;
pub mod evidence;
pub(crate) mod explain;
pub(crate) mod extracted;
pub(crate) mod filtered;
pub mod gate;
pub(crate) mod has;
pub(crate) mod image;
pub(crate) mod inspect;
pub(crate) mod json;
pub(crate) mod kernels;
pub(crate) mod link;
pub(crate) mod name;
pub(crate) mod page;
pub mod profile;
pub(crate) mod props;
pub(crate) mod sizes;
pub(crate) mod table;
pub(crate) mod targets;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::bundle::Bundle;
use crate::compat::examine::{Examined, Extent, examine_some};
use crate::compat::kernels::{Alike, Depth, KernelFacts, KernelNames, LeftOut, Providers, SHARE};
use crate::compat::kernels::{kernels, kernels_in_shares, kernels_of};
use crate::container::Host;
use crate::error::{Error, Problem, Result};
use crate::limits;

/// Facts about one file: as much as could be read.
#[derive(Debug, Default)]
pub(crate) struct FileFacts<'a> {
    /// The path as the user gave it; `-` for standard input; through packages, `a.whl!lib/x.so`.
    pub(crate) path: &'a str,
    /// The absolute path of the file on disk that holds the bytes as they are.
    pub(crate) absolute: Option<&'a str>,
    /// The offset of the bytes in that file: 0 but for the uncompressed content of a package.
    pub(crate) base: u64,
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// The container, where it was recognised.
    pub(crate) host: Option<&'a Host<'a>>,
    /// The bundle, where there is one.
    pub(crate) bundle: Option<&'a Bundle<'a>>,
    /// The images that are to be shown, in file order.
    pub(crate) images: Vec<Examined<'a, 'a>>,
    /// Whether, instead of these, all images of the bundle are to be shown, and are examined as they are written.
    pub(crate) deferred: bool,
    /// Parts of the file that could not be read.
    pub(crate) problems: Vec<Problem>,
}

/// Counts the images at the front that are a share, by the kernels of each; one at least.
fn share(kernels: impl Iterator<Item = usize>) -> usize {
    let mut held = 0usize;
    // Images without kernels have facts, too.
    let fits = |count: &usize| {
        let room = held < SHARE;
        held = held.saturating_add(count.saturating_add(1));
        room
    };
    kernels.take_while(fits).count()
}

impl<'a> FileFacts<'a> {
    fn share_of_all(&self) -> usize {
        match self.bundle.filter(|_| self.deferred) {
            Some(bundle) => share(bundle.images.iter().map(|image| image.entries.len())),
            None => share(self.images.iter().map(|image| image.kernels.len())),
        }
    }

    /// Hands the images on, some after others, so that facts about all need not be held at once. Those that were left to
    /// be examined are examined, with their hashes where these are asked for; what is wrong with them is added to the
    /// problems.
    ///
    /// # Errors
    /// Errors of `each`.
    pub(crate) fn each_share(
        &mut self,
        hash: bool,
        mut each: impl FnMut(&'a Bundle<'a>, &[Examined<'a, 'a>]) -> Result<()>,
    ) -> Result<()> {
        let Some(bundle) = self.bundle else { return Ok(()) };
        if !self.deferred {
            let mut rest = self.images.as_slice();
            while !rest.is_empty() {
                let (images, others) = rest.split_at(share(rest.iter().map(|image| image.kernels.len())));
                each(bundle, images)?;
                rest = others;
            }
            return Ok(());
        }
        // The images may be examined for the second time.
        self.problems.clone_from(&bundle.problems);
        let mut rest = bundle.images.as_slice();
        while !rest.is_empty() {
            let (images, others) = rest.split_at(share(rest.iter().map(|image| image.entries.len())));
            let examined = examine_some(bundle, images, Extent { hashes: hash, code: true });
            self.problems.extend(examined.iter().flat_map(Examined::problems));
            each(bundle, &examined)?;
            rest = others;
        }
        Ok(())
    }

    /// Hands the kernels of the images on like [`FileFacts::each_share`]. Where they are compared with each other, the code
    /// of many is read twice. What is left out of them is added to the problems.
    ///
    /// # Errors
    /// Errors of `each`.
    pub(crate) fn each_kernels(
        &mut self,
        depth: Depth,
        mut each: impl FnMut(Vec<KernelFacts>) -> Result<()>,
    ) -> Result<()> {
        let mut without = LeftOut::default();
        self.kernels_in_turn(depth, |found| {
            found.iter().for_each(|kernel| without.add(kernel));
            each(found)
        })?;
        self.problems.extend(left_out(&without));
        Ok(())
    }

    fn kernels_in_turn(&mut self, depth: Depth, mut each: impl FnMut(Vec<KernelFacts>) -> Result<()>) -> Result<()> {
        let Some(bundle) = self.bundle else { return Ok(()) };
        let all = if self.deferred { bundle.images.len() } else { self.images.len() };
        if self.share_of_all() == all {
            return self.each_share(false, |bundle, images| {
                if images.iter().map(|image| image.kernels.len()).sum::<usize>() <= SHARE {
                    return each(kernels(bundle, images, depth));
                }
                let of_all = || Alike::read(&images.iter().map(|examined| examined.image).collect::<Vec<_>>());
                let alike = if depth.clones { of_all() } else { Alike::default() };
                let mut names = KernelNames::new(bundle, alike);
                few_kernels(bundle, images, depth, (&mut Providers::default(), &mut names), &mut each)
            });
        }
        let mut providers = Providers::default();
        let alike = match depth.clones {
            false => Alike::default(),
            true if self.deferred => Alike::read(&bundle.images.iter().collect::<Vec<_>>()),
            true => Alike::read(&self.images.iter().map(|examined| examined.image).collect::<Vec<_>>()),
        };
        let mut names = KernelNames::new(bundle, alike);
        self.each_share(false, |bundle, images| {
            few_kernels(bundle, images, depth, (&mut providers, &mut names), &mut each)
        })
    }
}

/// The problems that kernels are whose lists are left out.
pub(crate) fn left_out(kernels: &LeftOut) -> impl Iterator<Item = Problem> {
    kernels.by_image.iter().map(|(image, count)| {
        let kernels = text::counted(*count, "kernel");
        let message = format!(
            "arguments, constants and symbols of {kernels} are left out: all kernels of the module together have more than \
             {} times its size of them",
            limits::MAX_LISTS_RATIO
        );
        Problem::of_image(*image, Error::input(message))
    })
}

/// Hands kernels of images on, a share at a time, also of an image that has more.
fn few_kernels(
    bundle: &Bundle<'_>,
    mut images: &[Examined<'_, '_>],
    depth: Depth,
    (providers, names): (&mut Providers, &mut KernelNames<'_>),
    each: &mut impl FnMut(Vec<KernelFacts>) -> Result<()>,
) -> Result<()> {
    // Code was compared before.
    let depth = Depth { clones: false, ..depth };
    let mut told = |mut found: Vec<KernelFacts>| {
        names.tell(&mut found);
        each(found)
    };
    while !images.is_empty() {
        let (few, others) = images.split_at(share(images.iter().map(|image| image.kernels.len())));
        match few {
            [image] if image.kernels.len() > SHARE => {
                kernels_in_shares(bundle, image, depth, providers, &mut told)?;
            }
            _ => told(kernels_of(bundle, few, depth, providers))?,
        }
        images = others;
    }
    Ok(())
}
