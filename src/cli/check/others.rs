//! Which images of all the files may those of one be linked to?

use super::super::files::{ReadOptions, each_file_with};
use super::super::global::Global;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::compat::examine::{Examined, examine_image};
use sycl_bundle::compat::offers::Offers;
use sycl_bundle::container::Kind;
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::Result;
use sycl_bundle::rewrite::prepare;
use sycl_bundle::select::Selector;

/// Reads the files again, and copies what others may be linked to into `arena`. What is wrong with them has been said.
///
/// # Errors
/// `Input` where the arena is full.
pub fn collect<'k>(global: &Global, files: &[PathBuf], arena: &'k Arena) -> Result<Offers<'k>> {
    let mut offers = Offers::default();
    let options = ReadOptions { lazy: true, silent: true, ..ReadOptions::default() };
    each_file_with(global, files, &Selector::default(), options, |facts| {
        let Some(bundle) = facts.bundle else { return Ok(()) };
        let file: Arc<str> = facts.path.into();
        // Where nothing is listed, the module itself tells.
        let bare = matches!(bundle.kind, Kind::SpirV);
        let linked = |image: &&_| bare || offers_something(image);
        for image in bundle.images.iter().filter(linked) {
            let examined = examine_image(image, bundle.epoch);
            if Offers::wants(&examined) && examined.problem.is_none() {
                let copy = prepare::copy_with_symbols(arena, &examined, false)?;
                offers.add(file.clone(), copy, &examined, bundle.epoch);
            }
        }
        Ok(())
    })?;
    Ok(offers)
}

/// Whether an image says that it offers anything, or says nothing at all.
fn offers_something(image: &sycl_bundle::bundle::image::Image<'_>) -> bool {
    use sycl_bundle::bundle::property::set;
    let properties = &image.properties;
    let offers = [set::EXPORTED, set::VIRTUAL_FUNCTIONS].iter().any(|set| !properties.set(set).is_empty());
    offers || image.origin.is_none() && image.entries.is_empty()
}

/// Hands the images of each file on once more, with those of the other files that they may be linked to. Standard input
/// cannot be read again, so that nothing is handed on where it is among the files.
///
/// # Errors
/// What cannot be read, and what `each` returns.
pub fn each_linked(
    global: &Global,
    files: &[PathBuf],
    mut each: impl FnMut(&str, &[Examined<'_, '_>]) -> Result<()>,
) -> Result<bool> {
    if files.iter().any(|file| file == Path::new("-")) {
        return Ok(false);
    }
    let arena = Arena::with_limit(u64::MAX);
    let offers = collect(global, files, &arena)?;
    let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
    each_file_with(global, files, &Selector::default(), options, |facts| {
        let last = facts.bundle.and_then(|bundle| bundle.images.last()).map_or(0, |image| image.index);
        let lent = offers.lend(&facts.path.into(), &facts.images, last.saturating_add(1));
        let mut images = std::mem::take(&mut facts.images);
        images.extend(lent.examined());
        each(facts.path, &images)
    })?;
    Ok(true)
}
