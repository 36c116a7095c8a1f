//! How do added images get into a linked file's own list?
//!
//! A copy of the file gets one more loadable segment at its end. It holds the moved program headers, a record of what
//! was done, new image arrays (the old structures and the added ones, which share the old entries and property sets, unless
//! theirs say something else), the extended relocation table, and the payloads. Images that come from elsewhere bring their
//! entries and property sets along. In the file itself only these words change: in the file header the
//! places and counts of program and section headers, in the dynamic section the place and size of the relocation
//! table, in each descriptor the count and the array, and in `.tgtimg` the size of an image that is replaced. Everything
//! else stays byte for byte.
//!
//! This is written by hand since crate `object` cannot do it: its `build` module lays the whole file out anew from its
//! sections (offsets and, for files without section headers, contents would change), and its `write` module makes new
//! files only. Its structures, constants and readers are used throughout.

pub(in crate::rewrite) mod arrays;
mod earlier;
mod own;
mod place;
mod plan;
pub mod record;
pub(in crate::rewrite) mod relocations;
mod sections;
mod trailing;
pub(in crate::rewrite) mod whole;
mod write;

use super::image_data::OutImage;
use super::specialize::Stated;
use crate::bundle::Bundle;
use crate::container::Host;
use crate::error::{Context, Error, Result};
use arrays::source;
pub use earlier::{earlier, numbers};
use plan::{New, Plan};
use record::Layer;
use std::collections::HashMap;
use whole::Wholes;

/// `sycl_device_binary_type` of native code.
pub const FORMAT_NATIVE: u8 = 1;

/// An image to add to a file's own list.
#[derive(Debug, Clone, Copy)]
pub struct Addition<'a> {
    /// Index of the image it was compiled from, whose options, entries and property sets it shares.
    pub source: usize,
    /// Its `DeviceTargetSpec`.
    pub target: &'a str,
    /// Its `compile_target`, which tells devices of one target apart; none where it is its source's.
    pub compile_target: Option<&'a str>,
    /// What its property sets say of the specialization constants that it was compiled with, beside what its source says.
    pub constants: Stated<'a>,
    /// Whether what its source imports is in it, so that it imports nothing.
    pub linked: bool,
    /// Its `sycl_device_binary_type`.
    pub format: u8,
    /// Its payload.
    pub payload: &'a [u8],
}

impl Addition<'_> {
    /// Whether it has property sets of its own, since they say something else than those of its source.
    fn has_own_sets(&self) -> bool {
        self.compile_target.is_some() || self.constants != Stated::Nothing || self.linked
    }
}

/// Adds images to the lists of a linked ELF file. `notes` say how they were made and can be read back with
/// [`Record::find`](record::Record::find). An image of the same target and symbols that is in the source's list already
/// is replaced, unless it was compiled from another image.
///
/// # Errors
/// `Input` where the file is of a form that cannot be rewritten, with the way out.
pub fn embed(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    additions: &[Addition<'_>],
    notes: &[(String, String)],
) -> Result<Vec<u8>> {
    let elf = host.elf.as_ref().ok_or_else(|| {
        Error::input("only a linked ELF file has a list of images of its own").with_remedy("use --emit shared or table")
    })?;
    let (shared, own): (Vec<Addition<'_>>, Vec<Addition<'_>>) =
        additions.iter().partition(|addition| !addition.has_own_sets());
    let values = own::Values::of(&own);
    let images = own::images(bundle, &own, &values)?;
    let wholes = if images.is_empty() { None } else { Some(Wholes::new(bundle, &images)?) };
    let new = New { additions: &shared, wholes: wholes.as_ref(), layer: Layer::Native, replacing: additions };
    let plan = Plan::new(host, elf, bundle, &new, notes)?;
    let out = plan.write(host, elf)?;
    verify(&out, bundle, additions).context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// Adds images that have everything of their own to the first list of a linked ELF file that the runtime of DPC++ reads,
/// whatever is in it already.
///
/// # Errors
/// `Input` where the file is of a form that cannot be rewritten, or has no such list.
pub fn embed_images(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    images: &[OutImage<'_>],
    notes: &[(String, String)],
) -> Result<Vec<u8>> {
    let elf = host.elf.as_ref().ok_or_else(|| Error::input("this is no linked ELF file"))?;
    let wholes = Wholes::new(bundle, images)?;
    let new = New { additions: &[], wholes: Some(&wholes), layer: Layer::Images, replacing: &[] };
    let out = Plan::new(host, elf, bundle, &new, notes)?.write(host, elf)?;
    whole::verify(&out, bundle, images).context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// Whether images can be added, before any is compiled: `planned` are they, with payloads of no bytes. Tries it, so it
/// costs a copy of the file and refuses exactly what [`embed`] would.
///
/// # Errors
/// Those of [`embed`].
pub fn possible(host: &Host<'_>, bundle: &Bundle<'_>, planned: &[Addition<'_>]) -> Result<()> {
    embed(host, bundle, planned, &[]).map(drop)
}

/// Reads the result back: every old image that was to stay and every addition is there, with the same symbols.
fn verify(out: &[u8], before: &Bundle<'_>, additions: &[Addition<'_>]) -> Result<()> {
    let host = Host::read(out)?;
    let after = Bundle::read(&host)?;
    let kept: usize = arrays::kept(before, additions).iter().map(Vec::len).sum();
    let expected = kept.saturating_add(additions.len());
    // Damaged images stay in their lists.
    let damaged = after.problems.iter().filter(|problem| problem.image.is_some()).count();
    let found = after.images.len().saturating_add(damaged);
    if found != expected || after.problems.len() > before.problems.len() {
        return Err(Error::input(format!("expected {expected} images, found {found}; nothing was written")));
    }
    type Role<'r> = (&'r str, Option<&'r str>, &'r [&'r str]);
    let mut found: HashMap<Role<'_>, Vec<&[u8]>> = HashMap::new();
    for image in &after.images {
        found.entry((image.target, image.compile_target(), &image.entries)).or_default().push(image.stored);
    }
    for addition in additions {
        // One without a target of its own has its source's.
        let role = |image| {
            let image: &crate::bundle::image::Image<'_> = image;
            let stated = addition.compile_target.or(image.compile_target());
            (addition.target, stated, image.entries.as_slice())
        };
        let key = source(before, addition).map(role);
        let payloads = key.and_then(|key| found.get(&key)).map_or(&[][..], Vec::as_slice);
        if !payloads.contains(&addition.payload) {
            let image = addition.source;
            return Err(Error::input(format!("the native image of image {image} is not in it; nothing was written")));
        }
    }
    Ok(())
}
