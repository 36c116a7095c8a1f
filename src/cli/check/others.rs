//! Which images of all the files may those of one be linked to?

use super::super::files::{How, each_file_with};
use super::super::global::Global;
use std::path::PathBuf;
use std::sync::Arc;
use sycl_bundle::compat::examine::examine_image;
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
    let how = How { deferred: true, again: true, ..How::default() };
    each_file_with(global, files, &Selector::default(), how, |facts| {
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
