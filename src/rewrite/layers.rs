//! How are images added to or removed from a file that earlier runs added images to?
//!
//! Earlier additions are layers that can be removed: on top the native images that were built from images below and
//! share their tables, below them the images from elsewhere, at the bottom the file as its linker wrote it. An edit
//! takes both layers off, prunes the bottom, and puts back what stays. So an undone addition leaves no trace: a layer
//! that becomes empty leaves the bytes of the file before it.
//!
//! Where a native image stays and its source at the bottom goes, or all images at the bottom go for others, the payloads
//! at the bottom alone go. A settled layer, which only an edit takes off, lists what the file has now: all native images,
//! which go on using the tables at the bottom, and those from elsewhere. One layer has but one copy of the file's
//! relocations, which may be larger than all that is removed; and as each edit writes it anew, no layer is left over.

use super::embed::record::{Layer, Record};
use super::embed::{self, Addition};
use super::image_data::{OutImage, with_payload};
use super::pe;
use super::prune::{Layout, Pruned, Structures, prune};
use super::registered;
use super::specialize::RecordedValues;
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::bytes::Draft;
use crate::container::{Host, Kind};
use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

/// Result of an edit.
#[derive(Debug)]
pub struct Edited {
    /// Edited file.
    pub bytes: Draft,
    /// Bytes of payloads that were overwritten with zeros, and are still there.
    pub zeroed: u64,
    /// Bytes of pages that left the file.
    pub cut: u64,
    /// Bytes of removed images' payloads that stay in the file.
    pub(crate) left: u64,
    /// Number of images whose bytes were removed with the segment or section that an earlier run added.
    pub lifted: usize,
    /// Whether an earlier layer could not be taken off because the file was changed after it.
    pub changed: bool,
}

/// Removes the images with the indexes `drop` from a linked file's list and adds those of `add` to it. Bytes of a
/// removed image leave the file if an earlier run added them in a segment; elsewhere they become zeros. `notes` go into
/// the record of what is added.
///
/// # Errors
/// `Input` where the file cannot be rewritten; `NoMatch` where no image would be left: the program could launch no
/// kernel, and the list could not be found again.
pub fn edit(file: &[u8], drop: &HashSet<usize>, add: &[OutImage<'_>], notes: &[(String, String)]) -> Result<Edited> {
    edit_in(file, drop, add, notes, false)
}

/// Edits like [`edit`], and where `shrinking` the pages of removed payloads leave an ELF file.
///
/// # Errors
/// Errors of [`edit`].
pub fn edit_in(
    file: &[u8],
    drop: &HashSet<usize>,
    add: &[OutImage<'_>],
    notes: &[(String, String)],
    shrinking: bool,
) -> Result<Edited> {
    let host = Host::read(file)?;
    let top = Bundle::read(&host)?;
    if !matches!(host.kind, Kind::Elf | Kind::Pe) {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("this is {}, which has no list of images of its own", host.kind.description()),
        )
        .with_remedy("name a linked executable or library"));
    }
    if add.is_empty() && top.images.iter().filter(|image| top.is_listed(image)).all(|image| drop.contains(&image.index))
    {
        return Err(Error::new(
            ErrorKind::NoMatch,
            "no image would be left, and no kernel of the file could be launched",
        )
        .with_remedy("keep some, or `embed` others in their place with --replace"));
    }
    if registered::is_registered(&host, &top) {
        return if add.is_empty() { registered::remove(&host, &top, drop) } else { Err(registered::takes_none()) };
    }
    let mut changed = false;
    let mut lift = |file: &Host<'_>, layer| {
        let record = Record::locate(file, layer)?.0;
        let restored = record.restore(file.bytes).ok();
        changed |= restored.is_none();
        restored.map(|bytes| (bytes, record.notes))
    };
    let natives_layer = lift(&host, Layer::Native);
    let middle_bytes = natives_layer.as_ref().map_or(file, |(bytes, _)| &**bytes);
    let middle_host = Host::read(middle_bytes)?;
    let middle = Bundle::read(&middle_host)?;
    let images_layer = lift(&middle_host, Layer::Images);
    let lower_bytes = images_layer.as_ref().map_or(middle_bytes, |(bytes, _)| &**bytes);
    let lower_host = Host::read(lower_bytes)?;
    // A file that was changed after it keeps this layer for its own; nobody could tell it from a linker's.
    let settled_layer =
        Record::locate(&lower_host, Layer::Settled).and_then(|(record, _)| record.restore(lower_bytes).ok());
    let base_bytes = settled_layer.as_ref().map_or(lower_bytes, |bytes| &**bytes);
    let base_host = Host::read(base_bytes)?;
    let base = Bundle::read(&base_host)?;

    let layers = Layers {
        in_middle: below(&top, &middle),
        in_base: below(&middle, &base),
        top: &top,
        middle: &middle,
        base: &base,
    };
    let plan = Plan::new(&layers, drop, add, shrinking);
    let earlier = images_layer.as_ref().map_or(&[][..], |(_, notes)| notes);
    let of_natives = natives_layer.as_ref().map_or(&[][..], |(_, notes)| notes);
    let emptied = |index: &usize| !layers.in_base.values().any(|stays| stays == index);
    let untouched = plan.base_drop.iter().all(emptied) && add.is_empty() && !plan.has_orphans && plan.gone == 0;
    let lower = if untouched {
        let own = below(&middle, &base);
        let standalone = from_elsewhere(&middle, &base, &own);
        Lower { bytes: Draft::copy_of(middle_bytes, 0)?, own, standalone, zeroed: 0, cut: 0, left: 0 }
    } else {
        let mut all: Vec<(String, String)> = notes.to_vec();
        for note in earlier.iter().chain(of_natives.iter().filter(|_| plan.has_orphans)) {
            if all.iter().all(|(key, _)| *key != note.0) {
                all.push(note.clone());
            }
        }
        plan.lower(&base_host, &base, &all)?
    };
    let bytes = if plan.natives.is_empty() { lower.bytes } else { plan.upper(&lower, &layers, of_natives)? };
    let lifted = plan.gone.saturating_add(plan.lifted);
    Ok(Edited { bytes, zeroed: lower.zeroed, cut: lower.cut, left: lower.left, lifted, changed })
}

/// A file with both layers, with that of images from elsewhere alone, and without any.
struct Layers<'l, 'a> {
    top: &'l Bundle<'a>,
    middle: &'l Bundle<'a>,
    base: &'l Bundle<'a>,
    /// Images of `top` that are in `middle`, by their indexes.
    in_middle: HashMap<usize, usize>,
    /// Images of `middle` that are in `base`, by their indexes.
    in_base: HashMap<usize, usize>,
}

struct Plan<'p, 'a> {
    /// Images with tables of their own.
    standalone: Vec<OutImage<'p>>,
    /// Places among `standalone` of images of the middle layer.
    standalone_at: HashMap<usize, usize>,
    /// Native images with the index of their source in the middle layer.
    natives: Vec<(usize, &'p Image<'a>)>,
    /// Native images of the settled layer, with the index of their source at the bottom.
    settled: Vec<(usize, &'p Image<'a>)>,
    /// Images at the bottom that go, or went when the settled layer was written.
    base_drop: HashSet<usize>,
    layout: Layout,
    /// The number of images from elsewhere that go.
    gone: usize,
    /// The number of native images that go.
    lifted: usize,
    /// Whether the source of some native image goes.
    has_orphans: bool,
}

struct Lower {
    bytes: Draft,
    /// Images of `bytes` that are at the bottom, by their indexes, with their indexes there.
    own: HashMap<usize, usize>,
    /// Indexes of the images from elsewhere, in order.
    standalone: Vec<usize>,
    zeroed: u64,
    cut: u64,
    left: u64,
}

impl<'p, 'a> Plan<'p, 'a> {
    fn new(layers: &Layers<'p, 'a>, drop: &HashSet<usize>, add: &[OutImage<'p>], shrinking: bool) -> Plan<'p, 'a> {
        let Layers { top, middle, base, in_middle, in_base } = layers;
        let staying = top.images.iter().filter(|image| !drop.contains(&image.index));
        let stays: HashSet<usize> = staying.filter_map(|image| in_middle.get(&image.index).copied()).collect();
        // Images that native images on top have replaced stay replaced.
        let base_stays: HashSet<usize> = stays.iter().filter_map(|index| in_base.get(index).copied()).collect();
        let below = base.images.iter().map(|image| image.index);
        let mut plan = Plan {
            standalone: Vec::new(),
            standalone_at: HashMap::new(),
            natives: Vec::new(),
            settled: Vec::new(),
            base_drop: below.filter(|index| !base_stays.contains(index)).collect(),
            layout: if shrinking { Layout::Shrink } else { Layout::Keep },
            gone: 0,
            lifted: 0,
            has_orphans: false,
        };
        for image in middle.images.iter().filter(|image| !in_base.contains_key(&image.index)) {
            if let (true, Some(source)) = (stays.contains(&image.index), source(image, base)) {
                plan.settled.push((source, image));
            } else if stays.contains(&image.index) {
                plan.standalone_at.insert(image.index, plan.standalone.len());
                plan.standalone.push(standalone_copy(image));
            } else {
                plan.gone = plan.gone.saturating_add(1);
            }
        }
        for image in top.images.iter().filter(|image| !in_middle.contains_key(&image.index)) {
            if drop.contains(&image.index) {
                plan.lifted = plan.lifted.saturating_add(1);
                continue;
            }
            let source = source(image, middle);
            if let Some(source) = source.filter(|source| stays.contains(source)) {
                plan.natives.push((source, image));
                continue;
            }
            plan.has_orphans = true;
            match source.and_then(|source| in_base.get(&source)) {
                Some(source) => plan.settled.push((*source, image)),
                // Tables of its own, or of a source whose layer leaves the file with them.
                None => plan.standalone.push(standalone_copy(image)),
            }
        }
        plan.standalone.extend(add.iter().cloned());
        // With those that lost their source all become part of it: two layers have two copies of the relocations.
        if plan.has_orphans && !plan.settled.is_empty() {
            let (settled, natives) =
                plan.natives.into_iter().partition::<Vec<_>, _>(|(source, _)| in_base.contains_key(source));
            let settled = settled.into_iter().filter_map(|(source, image)| Some((*in_base.get(&source)?, image)));
            plan.settled.extend(settled);
            plan.natives = natives;
        }
        // In the order in which they were added, which is the order of their payloads.
        for list in [&mut plan.natives, &mut plan.settled] {
            list.sort_by_key(|(_, image)| (image.origin.map(|origin| origin.payload), image.stored.len()));
        }
        plan
    }

    /// Returns the bottom without the removed images, with the images from elsewhere on it.
    fn lower(&self, host: &Host<'_>, base: &Bundle<'_>, notes: &[(String, String)]) -> Result<Lower> {
        let drop = &self.base_drop;
        if drop.is_empty() {
            let bytes = match self.standalone.as_slice() {
                [] => Draft::copy_of(host.bytes, 0)?,
                images => add_images(host, base, images, notes)?,
            };
            let host = Host::read(&bytes)?;
            let bundle = Bundle::read(&host)?;
            let own = below(&bundle, base);
            let standalone = others(&bundle, &own);
            return Ok(Lower { bytes, own, standalone, zeroed: 0, cut: 0, left: 0 });
        }
        let some_left = base.images.iter().any(|image| !drop.contains(&image.index) && image.origin.is_some());
        if !self.settled.is_empty() || !some_left && !self.standalone.is_empty() {
            return self.settle(host, base, notes);
        }
        let Pruned { bytes, zeroed, cut, left } = prune(host, base, drop, self.layout, Structures::Go)?;
        // Images that stay keep their order, and may have moved.
        let stay = base.images.iter().filter(|image| !drop.contains(&image.index));
        let after = Bundle::read(&Host::read(&bytes)?)?.images.iter().map(|image| image.index).collect::<Vec<_>>();
        let own = after.into_iter().zip(stay.map(|image| image.index)).collect();
        self.with_standalone(Lower { bytes, own, standalone: Vec::new(), zeroed, cut, left }, notes)
    }

    /// Empties the images at the bottom that go, and lists what the file has now in a settled layer.
    fn settle(&self, host: &Host<'_>, base: &Bundle<'_>, notes: &[(String, String)]) -> Result<Lower> {
        let Pruned { bytes, zeroed, cut, left } = prune(host, base, &self.base_drop, self.layout, Structures::Stay)?;
        let host = Host::read(&bytes)?;
        let emptied = Bundle::read(&host)?;
        let images = &self.standalone;
        let bytes = if host.kind == Kind::Pe {
            pe::embed_images(&host, &emptied, Layer::Settled, &self.base_drop, images, notes)?
        } else {
            let additions: Vec<Addition<'_>> =
                self.settled.iter().map(|(source, image)| put_back(*source, image)).collect();
            embed::embed_settled(&host, &emptied, &self.base_drop, &additions, images, notes)?
        };
        let (own, standalone) = {
            let host = Host::read(&bytes)?;
            let bundle = Bundle::read(&host)?;
            let own = below(&bundle, &emptied);
            let standalone = from_elsewhere(&bundle, &emptied, &own);
            (own, standalone)
        };
        Ok(Lower { bytes, own, standalone, zeroed, cut, left })
    }

    /// Adds the images from elsewhere.
    fn with_standalone(&self, lower: Lower, notes: &[(String, String)]) -> Result<Lower> {
        if self.standalone.is_empty() {
            return Ok(lower);
        }
        let host = Host::read(&lower.bytes)?;
        let bundle = Bundle::read(&host)?;
        let bytes = add_images(&host, &bundle, &self.standalone, notes)?;
        let host = Host::read(&bytes)?;
        let joined = Bundle::read(&host)?;
        let before = below(&joined, &bundle);
        let standalone = others(&joined, &before);
        let own = before.into_iter().filter_map(|(new, index)| Some((new, *lower.own.get(&index)?))).collect();
        Ok(Lower { bytes, own, standalone, ..lower })
    }

    /// Returns the file with the native images on top.
    fn upper(&self, lower: &Lower, layers: &Layers<'_, '_>, notes: &[(String, String)]) -> Result<Draft> {
        let host = Host::read(&lower.bytes)?;
        let bundle = Bundle::read(&host)?;
        let by_base: HashMap<usize, usize> = lower.own.iter().map(|(new, old)| (*old, *new)).collect();
        let mut additions = Vec::new();
        for (source, image) in &self.natives {
            let index = match layers.in_base.get(source) {
                Some(index) => by_base.get(index).copied(),
                None => self.standalone_at.get(source).and_then(|nth| lower.standalone.get(*nth)).copied(),
            };
            let index = index.ok_or_else(|| {
                Error::input(format!("image {} of {} is not where it was", source, layers.middle.images.len()))
            })?;
            additions.push(put_back(index, image));
        }
        embed::embed_replacing(&host, &bundle, &additions, &[], notes)
    }
}

/// Returns the indexes of the images of a bundle that are not among `own`, in order.
fn others(bundle: &Bundle<'_>, own: &HashMap<usize, usize>) -> Vec<usize> {
    bundle.images.iter().map(|image| image.index).filter(|index| !own.contains_key(index)).collect()
}

/// Returns the indexes of images with tables of their own, in order: those that are neither at the bottom nor native images
/// of the settled layer.
fn from_elsewhere(bundle: &Bundle<'_>, base: &Bundle<'_>, own: &HashMap<usize, usize>) -> Vec<usize> {
    let others = bundle.images.iter().filter(|image| !own.contains_key(&image.index));
    others.filter(|image| source(image, base).is_none()).map(|image| image.index).collect()
}

/// Returns a native image as an addition that shares the tables of the image with an index.
fn put_back<'p>(source: usize, image: &'p Image<'_>) -> Addition<'p> {
    Addition {
        source,
        target: image.target,
        compile_target: None,
        constants: RecordedValues::Nothing,
        linked: false,
        metadata: None,
        format: image.declared.number(),
        payload: image.stored,
    }
}

/// Returns an image unchanged, for writing it again.
fn standalone_copy<'p>(image: &'p Image<'_>) -> OutImage<'p> {
    with_payload(image, image.target, image.declared.number(), Cow::Borrowed(image.stored))
}

fn add_images(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    images: &[OutImage<'_>],
    notes: &[(String, String)],
) -> Result<Draft> {
    match host.kind {
        Kind::Pe => pe::embed_images(host, bundle, Layer::Images, &HashSet::new(), images, notes),
        _ => embed::embed_images(host, bundle, images, notes),
    }
}

/// Maps each image of a file to its index in the layer below, where it is there. Images that stay keep their order,
/// payloads and tables when others are added.
fn below(top: &Bundle<'_>, lower: &Bundle<'_>) -> HashMap<usize, usize> {
    type Key<'k> = ((u64, [u64; 4]), &'k str);
    // An image in no list is identified by its file offset.
    let key = |image: &Image<'_>| image.origin.map_or((image.offset, [u64::MAX; 4]), |it| (it.payload, it.tables));
    let mut known: HashMap<Key<'_>, VecDeque<usize>> = HashMap::new();
    for image in &lower.images {
        known.entry((key(image), image.target)).or_default().push_back(image.index);
    }
    let pairs = top.images.iter().filter_map(|image| {
        let index = known.get_mut(&(key(image), image.target))?.pop_front()?;
        Some((image.index, index))
    });
    pairs.collect()
}

/// Returns the image that a native one was built from: the first with its tables in its list.
fn source(native: &Image<'_>, middle: &Bundle<'_>) -> Option<usize> {
    let origin = native.origin?;
    let same = |image: &&Image<'_>| {
        image.origin.is_some_and(|other| other.descriptor == origin.descriptor && other.tables == origin.tables)
    };
    middle.images.iter().find(same).map(|image| image.index)
}

/// Returns the images of a file that others replace: those whose symbols are all listed by others of the same target
/// (`DeviceTargetSpec`, and `compile_target` where it is stated), one or several together. Images without symbols, such
/// as those of the device library, are not replaced.
pub fn replaced(bundle: &Bundle<'_>, by: &[OutImage<'_>]) -> HashSet<usize> {
    let mut listed: HashMap<Role<'_>, HashSet<&str>> = HashMap::new();
    for image in by {
        listed.entry((image.target, stated_target(image))).or_default().extend(image.entries.iter().copied());
    }
    let covered = |image: &&Image<'_>| {
        let others = listed.get(&(image.target, image.compile_target()));
        let all = |listed: &HashSet<&str>| image.entries.iter().all(|entry| listed.contains(entry));
        image.origin.is_some() && !image.entries.is_empty() && others.is_some_and(all)
    };
    bundle.images.iter().filter(covered).map(|image| image.index).collect()
}

/// Target and compile target of an image.
type Role<'r> = (&'r str, Option<&'r str>);

fn stated_target<'i>(image: &OutImage<'i>) -> Option<&'i str> {
    let set = image.property_sets.iter().find(|set| set.name == set::REQUIREMENTS)?;
    let found = set.properties.iter().find(|property| property.name == key::COMPILE_TARGET)?;
    found.value.text()
}
