//! How are images added to a linked file's own list?
//!
//! A copy of the file gets one more loadable segment at its end, behind one that fills a page where tools need it
//! (`plan::before`). It holds the moved program headers, a record of the changes, new image arrays, the extended
//! relocation table, and the payloads. An array holds the old structures and the added ones, which share the old
//! entries and property sets unless theirs differ; images from elsewhere bring their own. In the file itself only these
//! words change: in the file header the offsets and counts of program and section headers, in the dynamic section the
//! address and size of the relocation table, in each descriptor the count and the array, and in `.tgtimg` the size of a
//! replaced image. All other bytes stay.
//!
//! Crate `object` cannot do this: its `build` module lays out the whole file anew from its sections (offsets would
//! change and, in files without section headers, contents too), and its `write` module only makes new files. Its
//! structures, constants and readers are used throughout.

pub(in crate::rewrite) mod arrays;
pub(in crate::rewrite) mod plan;
pub mod record;
pub(in crate::rewrite) mod relocations;
pub(in crate::rewrite) mod standalone;
mod write;

use super::image_data::OutImage;
use super::registered;
use super::specialize::RecordedValues;
use crate::bundle::Bundle;
use crate::bundle::format::Format;
use crate::bundle::image::{Image, Origin};
use crate::bundle::property::{PropertySet, Value};
use crate::bundle::property_sets::{key, set};
use crate::bytes::Draft;
use crate::container::Host;
use crate::error::{Context, Error, Result};
use arrays::source;
use plan::{New, Plan};
use record::Layer;
use standalone::StandaloneImages;
use std::collections::{HashMap, HashSet};

/// `sycl_device_binary_type` of native code.
pub const FORMAT_NATIVE: u8 = 1;

/// Image to add to a file's own list.
#[derive(Debug, Clone, Copy)]
pub struct Addition<'a> {
    /// Index of the image it was compiled from, whose options, entries and property sets it shares.
    pub source: usize,
    /// `DeviceTargetSpec` of the image.
    pub target: &'a str,
    /// `compile_target`, which tells devices of one target apart; none where it is that of the source.
    pub compile_target: Option<&'a str>,
    /// Specialization constant values that it was compiled with, for its property sets.
    pub constants: RecordedValues<'a>,
    /// Whether the imports of its source are linked in, so that it imports nothing.
    pub linked: bool,
    /// "SYCL/program metadata" of its own; none where it shares that of its source.
    pub metadata: Option<&'a PropertySet<'a>>,
    /// `sycl_device_binary_type` of the payload.
    pub format: u8,
    /// Payload as it is stored.
    pub payload: &'a [u8],
}

impl Addition<'_> {
    /// Whether its property sets differ from those of its source.
    fn has_own_sets(&self) -> bool {
        self.compile_target.is_some()
            || self.constants != RecordedValues::Nothing
            || self.linked
            || self.metadata.is_some()
    }
}

/// Adds images to the lists of a linked ELF file. `notes` record how they were made and can be read back with
/// [`Record::find`](record::Record::find). An image of the same target and symbols in the source's list is replaced,
/// unless it was compiled from another image.
///
/// # Errors
/// `Input`, with a remedy, where the file is of a form that cannot be rewritten.
pub fn embed(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    additions: &[Addition<'_>],
    notes: &[(String, String)],
) -> Result<Draft> {
    write(host, bundle, additions, &[], (additions, &HashSet::new()), notes)
}

/// Puts back images that [`embed`] added: some share the tables of their sources, and those of `own` have theirs. They replace
/// nothing but what they replaced, the images with the indexes `omitted`: what else has their target and symbols by now was
/// added since, or stood beside them.
pub(super) fn embed_again(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    additions: &[Addition<'_>],
    own: &[OutImage<'_>],
    omitted: &HashSet<usize>,
    notes: &[(String, String)],
) -> Result<Draft> {
    write(host, bundle, additions, own, (&[], omitted), notes)
}

/// Writes a layer of native images. What additions of `replacing` replace leaves the lists, and so do the images `omitted`.
fn write(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    additions: &[Addition<'_>],
    own: &[OutImage<'_>],
    (replacing, omitted): (&[Addition<'_>], &HashSet<usize>),
    notes: &[(String, String)],
) -> Result<Draft> {
    let elf = host.elf.as_ref().ok_or_else(|| {
        Error::input("only a linked ELF file has a list of images of its own").with_remedy("use --emit shared or table")
    })?;
    if registered::is_registered(host, bundle) && !additions.is_empty() {
        return Err(registered::takes_none());
    }
    let (shared, changed): (Vec<Addition<'_>>, Vec<Addition<'_>>) =
        additions.iter().partition(|addition| !addition.has_own_sets());
    let values = arrays::ChangedProperties::collect(&changed);
    let mut images = arrays::images(bundle, &changed, &values)?;
    images.extend(own.iter().cloned());
    let standalone = if images.is_empty() { None } else { Some(StandaloneImages::new(bundle, &images)?) };
    let layer = Layer::Native;
    let new = New { additions: &shared, standalone: standalone.as_ref(), omitted, layer, replacing };
    let plan = Plan::new(host, elf, bundle, &new, notes)?;
    let out = plan.write(host, elf)?;
    let kept = arrays::kept(bundle, replacing).iter().map(Vec::len).sum::<usize>().saturating_sub(omitted.len());
    verify(&out, bundle, additions, kept.saturating_add(own.len()))
        .context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// Adds images with tables of their own to the first list of a linked ELF file that the runtime of DPC++ reads.
///
/// # Errors
/// `Input` where the file is of a form that cannot be rewritten, or has no such list.
pub fn embed_images(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    images: &[OutImage<'_>],
    notes: &[(String, String)],
) -> Result<Draft> {
    let elf = host.elf.as_ref().ok_or_else(|| Error::input("this is no linked ELF file"))?;
    let standalone = StandaloneImages::new(bundle, images)?;
    let omitted = HashSet::new();
    let layer = Layer::Images;
    let new = New { additions: &[], standalone: Some(&standalone), omitted: &omitted, layer, replacing: &[] };
    let out = Plan::new(host, elf, bundle, &new, notes)?.write(host, elf)?;
    let expected = bundle.images.len().saturating_add(images.len());
    standalone::verify(&out, bundle, expected, images).context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// Lists images of both kinds in place of the images with the indexes `omitted`, which were emptied.
///
/// # Errors
/// Errors of [`embed_images`].
pub(super) fn embed_settled(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    omitted: &HashSet<usize>,
    additions: &[Addition<'_>],
    images: &[OutImage<'_>],
    notes: &[(String, String)],
) -> Result<Draft> {
    let elf = host.elf.as_ref().ok_or_else(|| Error::input("this is no linked ELF file"))?;
    let standalone = if images.is_empty() { None } else { Some(StandaloneImages::new(bundle, images)?) };
    let new = New { additions, standalone: standalone.as_ref(), omitted, layer: Layer::Settled, replacing: &[] };
    let out = Plan::new(host, elf, bundle, &new, notes)?.write(host, elf)?;
    let added = additions.len().saturating_add(images.len());
    let expected = bundle.images.len().saturating_sub(omitted.len()).saturating_add(added);
    standalone::verify(&out, bundle, expected, images)
        .and_then(|()| verify_additions(&Bundle::read(&Host::read(&out)?)?, bundle, additions))
        .context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// Checks whether images can be added, before any is compiled. `planned` are the additions with empty payloads. This
/// tries the addition, so it costs a copy of the file and refuses exactly what [`embed`] would.
///
/// # Errors
/// Errors of [`embed`].
pub fn possible(host: &Host<'_>, bundle: &Bundle<'_>, planned: &[Addition<'_>]) -> Result<()> {
    embed(host, bundle, planned, &[]).map(drop)
}

/// Reads the result back and checks that it has as many images as expected beside the additions, and each addition with the
/// symbols of its source.
fn verify(out: &[u8], before: &Bundle<'_>, additions: &[Addition<'_>], others: usize) -> Result<()> {
    let host = Host::read(out)?;
    let after = Bundle::read(&host)?;
    let expected = others.saturating_add(additions.len());
    // Damaged images stay in their lists.
    let damaged = after.problems.iter().filter(|problem| problem.image.is_some()).count();
    let found = after.images.iter().filter(|image| after.is_listed(image)).count().saturating_add(damaged);
    if found != expected || after.problems.len() > before.problems.len() {
        let why = after.problems.last().map(|problem| format!(" ({})", problem.error.message())).unwrap_or_default();
        return Err(Error::input(format!("expected {expected} images, found {found}{why}; nothing was written")));
    }
    verify_additions(&after, before, additions)
}

/// Checks that every addition is there, with the symbols of its source.
fn verify_additions(after: &Bundle<'_>, before: &Bundle<'_>, additions: &[Addition<'_>]) -> Result<()> {
    type Role<'r> = (&'r str, Option<&'r str>, &'r [&'r str]);
    let mut found: HashMap<Role<'_>, Vec<&[u8]>> = HashMap::new();
    for image in &after.images {
        found.entry((image.target, image.compile_target(), &image.entries)).or_default().push(image.stored);
    }
    for addition in additions {
        // An addition without a compile target has that of its source.
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

/// Images of a file, by what identifies them once others were added.
pub(super) struct Known {
    by_payload: HashMap<(usize, u64), usize>,
    by_tables: HashMap<(usize, [u64; 4]), usize>,
}

impl Known {
    /// Indexes the images of a file.
    pub(super) fn new(restored: &Bundle<'_>) -> Known {
        let mut index = Known { by_payload: HashMap::new(), by_tables: HashMap::new() };
        for (image, origin) in restored.images.iter().filter_map(|image| Some((image, image.origin?))) {
            index.by_payload.entry((origin.descriptor, origin.payload)).or_insert(image.index);
            index.by_tables.entry((origin.descriptor, origin.tables)).or_insert(image.index);
        }
        index
    }

    /// Returns the original of an image: the one with the same payload in the same list, if there is one.
    fn own(&self, origin: Origin) -> Option<usize> {
        self.by_payload.get(&(origin.descriptor, origin.payload)).copied()
    }

    /// Returns the source of an added image: the first in its list whose tables it shares.
    pub(super) fn source(&self, origin: Option<Origin>) -> Option<usize> {
        let origin = origin?;
        self.by_tables.get(&(origin.descriptor, origin.tables)).copied()
    }
}

/// Maps each image of `embedded` (by index) to its index in `restored`, the same file before images were added. An
/// added image maps to the one it was compiled from.
pub fn original_indexes(embedded: &Bundle<'_>, restored: &Bundle<'_>) -> HashMap<usize, usize> {
    let index = Known::new(restored);
    let mut shared_facts = BySharedFacts::new(restored);
    let mut number =
        |image, origin| index.own(origin).or_else(|| index.source(Some(origin))).or_else(|| shared_facts.source(image));
    embedded.images.iter().filter_map(|image| Some((image.index, number(image, image.origin?)?))).collect()
}

/// Returns the images that are in `embedded` but not in `restored`, as additions to it.
pub fn earlier_additions<'a>(embedded: &'a Bundle<'_>, restored: &Bundle<'_>) -> Vec<Addition<'a>> {
    let index = Known::new(restored);
    let mut shared_facts = BySharedFacts::new(restored);
    let added = embedded.images.iter().filter_map(|image| Some((image, image.origin?)));
    added
        .filter(|(_, origin)| index.own(*origin).is_none())
        .filter_map(|(image, origin)| {
            let shared = index.source(Some(origin));
            let source = shared.or_else(|| shared_facts.source(image))?;
            let own = shared.is_none();
            let imports = |image: &Image<'_>| !image.properties.set(set::IMPORTED).is_empty();
            let of_source = restored.images.iter().find(|image| image.index == source);
            Some(Addition {
                source,
                target: image.target,
                compile_target: image.compile_target().filter(|_| own),
                constants: if own { RecordedValues::read(&image.properties) } else { RecordedValues::Nothing },
                linked: own && !imports(image) && of_source.is_some_and(imports),
                metadata: image.properties.sets.iter().find(|known| own && known.name == set::PROGRAM_METADATA),
                format: image.declared.number(),
                payload: image.stored,
            })
        })
        .collect()
}

/// Facts that an added image with tables of its own shares with its source: entries, options and property sets.
type SharedFacts<'a> = (&'a [&'a str], &'a str, &'a str, Vec<(&'a str, Vec<(&'a str, &'a Value<'a>)>)>);

/// Finds the sources of added images that have property sets of their own, in the order in which they were added. Such
/// an image agrees with its source in all but the properties that the addition changed. Of several that agree in
/// everything, each has its own source, in order.
struct BySharedFacts<'a> {
    sources: HashMap<SharedFacts<'a>, Vec<usize>>,
    /// Number of images of each kind so far, by device.
    taken: HashMap<(SharedFacts<'a>, &'a str, Option<&'a str>), usize>,
}

impl<'a> BySharedFacts<'a> {
    fn new(restored: &'a Bundle<'_>) -> BySharedFacts<'a> {
        let mut sources: HashMap<SharedFacts<'a>, Vec<usize>> = HashMap::new();
        for image in restored.images.iter().filter(|image| image.origin.is_some()) {
            if image.format() == Format::SpirV {
                sources.entry(shared_facts(image)).or_default().push(image.index);
            }
        }
        BySharedFacts { sources, taken: HashMap::new() }
    }

    fn source(&mut self, image: &'a Image<'_>) -> Option<usize> {
        let shared_facts = shared_facts(image);
        let sources = self.sources.get(&shared_facts)?;
        let taken = self.taken.entry((shared_facts, image.target, image.compile_target())).or_default();
        let source = sources.get(*taken).or(sources.last()).copied();
        *taken = taken.saturating_add(1);
        source
    }
}

fn shared_facts<'a>(image: &'a Image<'_>) -> SharedFacts<'a> {
    let sets = image.properties.sets.iter().filter_map(|known| {
        // Additions replace these sets.
        if [set::SPEC_VALUES, set::IMPORTED, set::PROGRAM_METADATA].contains(&known.name) {
            return None;
        }
        let stated = [key::COMPILE_TARGET, key::SPEC_REPLACED];
        let properties = known.properties.iter().filter(|property| !stated.contains(&property.name));
        let properties: Vec<_> = properties.map(|property| (property.name, &property.value)).collect();
        // A set that held only such a property was made for it.
        (!properties.is_empty() || known.properties.is_empty()).then_some((known.name, properties))
    });
    (image.entries.as_slice(), image.compile_options, image.link_options, sets.collect())
}
