//! How are images added to or removed from a file that earlier runs added images to?
//!
//! Earlier additions are layers that can be removed: on top the native images that were built from images below and
//! share their tables, below them the images from elsewhere, at the bottom the file as its linker wrote it. An edit
//! takes both layers off, prunes the bottom, and puts back what stays. So an undone addition leaves no trace: a layer
//! that becomes empty leaves the bytes of the file before it.
//!
//! Where images at the bottom go and others stand for them (what was compiled of them, or what replaces them), the payloads
//! at the bottom alone go. A settled layer, which only an edit takes off, lists what the file has now: all native images,
//! which go on using the tables at the bottom or bring their own, and those from elsewhere. One layer has but one copy of the
//! file's relocations, which may be larger than all that is removed; and as each edit writes it anew, no layer is left over.
//! Without this layer the file would lack kernels that it always had, so [`before`] does not take it off.

use super::beneath;
use super::embed::arrays;
use super::embed::record::{Layer, Record};
use super::embed::{self, Addition, Known, original_indexes};
use super::image_data::{OutImage, with_payload};
use super::pe;
use super::prune::{Layout, Pruned, Structures, prune};
use super::registered;
use super::specialize::RecordedValues;
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::bytes::Draft;
use crate::compat::fit::spec;
use crate::container::{Host, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

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
        let restored = beneath::restore(&record, file).ok();
        changed |= restored.is_none();
        restored.map(|restored| (restored.bytes, record.notes))
    };
    // Where nothing was added the layers are one file, which is read once: it may take as much memory as it has bytes.
    let natives_layer = lift(&host, Layer::Native);
    let middle_host = natives_layer.as_ref().map(|(bytes, _)| Host::read(bytes)).transpose()?;
    let own_middle = middle_host.as_ref().map(Bundle::read).transpose()?;
    let (middle_host, middle) = (middle_host.as_ref().unwrap_or(&host), own_middle.as_ref().unwrap_or(&top));
    let images_layer = lift(middle_host, Layer::Images);
    let lower_host = images_layer.as_ref().map(|(bytes, _)| Host::read(bytes)).transpose()?;
    let lower_host = lower_host.as_ref().unwrap_or(middle_host);
    // A file that was changed after it keeps this layer for its own; nobody could tell it from a linker's.
    let settled_layer = Record::locate(lower_host, Layer::Settled)
        .and_then(|(record, _)| Some((beneath::restore(&record, lower_host).ok()?.bytes, record.notes)));
    let base_host = settled_layer.as_ref().map(|(bytes, _)| Host::read(bytes)).transpose()?;
    let base_host = base_host.as_ref().unwrap_or(lower_host);
    let own_base = (!std::ptr::eq(base_host, middle_host)).then(|| Bundle::read(base_host)).transpose()?;
    let base = own_base.as_ref().unwrap_or(middle);

    let layers = Layers { in_middle: below(&top, middle), in_base: below(middle, base), top: &top, middle, base };
    let plan = Plan::new(&layers, drop, add, shrinking);
    let of = |layer: &'_ Option<(Draft, Notes)>| layer.as_ref().map_or_else(Vec::new, |(_, notes)| notes.clone());
    let of_natives = of(&natives_layer);
    let emptied = |index: &usize| !layers.in_base.values().any(|stays| stays == index);
    let untouched = plan.base_drop.iter().all(emptied)
        && add.is_empty()
        && !plan.has_orphans
        && !plan.natives_merged
        && plan.gone == 0;
    let lower = if untouched {
        let own = below(middle, base);
        let standalone = from_elsewhere(middle, base, &own);
        Lower { bytes: Draft::copy_of(middle_host.bytes, 0)?, own, standalone, zeroed: 0, cut: 0, left: 0 }
    } else {
        let mut all = notes.to_vec();
        // Native images on top have a record of their own; here are those that become part of the layers below.
        let moved = if plan.has_orphans || plan.natives_merged { &*of_natives } else { &[] };
        [moved, &*of(&images_layer), &*of(&settled_layer)]
            .into_iter()
            .for_each(|earlier| join_notes(&mut all, earlier));
        plan.lower(base_host, base, &all)?
    };
    let bytes = if plan.has_natives() { plan.upper(&lower, &layers, &of_natives)? } else { lower.bytes };
    let lifted = plan.gone.saturating_add(plan.lifted);
    Ok(Edited { bytes, zeroed: lower.zeroed, cut: lower.cut, left: lower.left, lifted, changed })
}

/// Notes of a record: keys and values.
type Notes = Vec<(String, String)>;

/// Note whose value is a list: targets of native images.
const TARGETS: &str = "targets";

/// Adds the notes of an earlier layer: the newest of a key counts, but targets stand together.
fn join_notes(all: &mut Notes, earlier: &[(String, String)]) {
    for (key, value) in earlier {
        let Some((_, known)) = all.iter_mut().find(|(known, _)| known == key) else {
            all.push((key.clone(), value.clone()));
            continue;
        };
        if key != TARGETS {
            continue;
        }
        for target in value.split(", ") {
            if known.split(", ").all(|other| other != target) {
                known.push_str(", ");
                known.push_str(target);
            }
        }
    }
}

/// Adds native images as [`embed::embed`] does; of what they replace, images that earlier runs added leave the file.
///
/// # Errors
/// Errors of [`embed::embed`].
pub fn build(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    additions: &[Addition<'_>],
    notes: &[(String, String)],
) -> Result<Draft> {
    let drop = replaced_additions(host, bundle, additions)?;
    if drop.is_empty() {
        return embed::embed(host, bundle, additions, notes);
    }
    let edited = edit(host.bytes, &drop, &[], &[])?;
    let host = Host::read(&edited.bytes)?;
    let fewer = Bundle::read(&host)?;
    // Images that stay keep their order.
    let stay: Vec<&Image<'_>> = bundle.images.iter().filter(|image| !drop.contains(&image.index)).collect();
    let same = |(old, new): (&&Image<'_>, &Image<'_>)| {
        (old.stored, old.target, &old.entries) == (new.stored, new.target, &new.entries)
    };
    if stay.len() != fewer.images.len() || !stay.iter().zip(&fewer.images).all(same) {
        return Err(Error::input("the images that stay are not what they were; nothing was written"));
    }
    let moved: HashMap<usize, usize> =
        stay.iter().zip(&fewer.images).map(|(old, new)| (old.index, new.index)).collect();
    let of = |addition: &Addition<'_>| moved.get(&addition.source).copied().unwrap_or(addition.source);
    let additions: Vec<Addition<'_>> =
        additions.iter().map(|addition| Addition { source: of(addition), ..*addition }).collect();
    embed::embed(&host, &fewer, &additions, notes)
}

/// Returns the indexes of images that additions replace and an earlier run added.
fn replaced_additions(host: &Host<'_>, bundle: &Bundle<'_>, additions: &[Addition<'_>]) -> Result<HashSet<usize>> {
    if host.elf.is_none() || registered::is_registered(host, bundle) {
        return Ok(HashSet::new());
    }
    let kept: HashSet<u64> = arrays::kept(bundle, additions).into_iter().flatten().collect();
    let is_replaced = |image: &&Image<'_>| image.origin.is_some_and(|origin| !kept.contains(&origin.address));
    let replaced: Vec<usize> = bundle.images.iter().filter(is_replaced).map(|image| image.index).collect();
    if replaced.is_empty() {
        return Ok(HashSet::new());
    }
    let mut bottom: Option<Draft> = None;
    for layer in [Layer::Images, Layer::Settled] {
        let bytes = bottom.as_deref().unwrap_or(host.bytes);
        let lower = Host::read(bytes)?;
        let restored = Record::locate(&lower, layer).and_then(|(record, _)| beneath::restore(&record, &lower).ok());
        bottom = restored.map(|restored| restored.bytes).or(bottom);
    }
    let Some(bottom) = bottom else { return Ok(HashSet::new()) };
    let base = Host::read(&bottom)?;
    let in_base = below(bundle, &Bundle::read(&base)?);
    Ok(replaced.into_iter().filter(|index| !in_base.contains_key(index)).collect())
}

/// State of a file before images were added to it.
pub enum Before {
    /// No run has added any.
    Same,
    /// The file, byte for byte.
    File(Draft),
    /// A file that cannot be had back: what was added stands for images of it that are gone.
    Gone {
        /// The number of these images.
        images: usize,
        /// Kernels that would be in no image, mangled.
        kernels: BTreeSet<String>,
        /// Indexes of the images that were added.
        added: HashSet<usize>,
    },
}

/// Takes off what earlier runs added.
///
/// # Errors
/// `Input` where the file was changed since, or has more layers than any run makes.
pub fn before(file: &[u8]) -> Result<Before> {
    let mut restored: Option<Draft> = None;
    for _ in 0..=limits::MAX_LAYERS {
        let bytes = restored.as_deref().unwrap_or(file);
        let host = Host::read(bytes)?;
        let record = |layer| Record::locate(&host, layer).map(|(record, _)| record);
        if let Some(record) = record(Layer::Native).or_else(|| record(Layer::Images)) {
            restored = Some(beneath::restore(&record, &host)?.bytes);
            continue;
        }
        let Some(record) = record(Layer::Settled) else {
            return Ok(restored.map_or(Before::Same, Before::File));
        };
        let base = beneath::restore(&record, &host)?.bytes;
        let (host, base_host) = (Host::read(file)?, Host::read(&base)?);
        let (top, base) = (Bundle::read(&host)?, Bundle::read(&base_host)?);
        let own = below(&top, &base);
        let (own_images, added): (Vec<&Image<'_>>, Vec<&Image<'_>>) =
            top.images.iter().partition(|image| own.contains_key(&image.index));
        let (added, stay) = (kernels(&added), kernels(&own_images));
        return Ok(Before::Gone {
            images: base.images.len().saturating_sub(own.len()),
            kernels: added.difference(&stay).map(|kernel| (*kernel).to_owned()).collect(),
            added: others(&top, &own).into_iter().collect(),
        });
    }
    let message = format!("images were added to the file more than {} times, one upon the other", limits::MAX_LAYERS);
    Err(Error::input(message).with_remedy("take the original file"))
}

fn kernels<'i>(images: &[&Image<'i>]) -> BTreeSet<&'i str> {
    images.iter().flat_map(|image| image.kernels()).collect()
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
    /// Native images with tables of their own, likewise.
    own_natives: Vec<(usize, &'p Image<'a>)>,
    /// Images at the bottom that native images on top have replaced, by their indexes in the middle layer.
    covered: Vec<usize>,
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
    /// Whether all native images with a source at the bottom become part of the settled layer.
    natives_merged: bool,
    /// Whether some image stands for one at the bottom that goes.
    settles: bool,
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
        let listed: HashSet<usize> = in_middle.values().copied().collect();
        let (covered, listed): (Vec<&Image<'a>>, Vec<&Image<'a>>) =
            middle.images.iter().partition(|image| !listed.contains(&image.index));
        let at_bottom = stays.iter().copied().chain(covered.iter().map(|image| image.index));
        let base_stays: HashSet<usize> = at_bottom.filter_map(|index| in_base.get(&index).copied()).collect();
        let below = base.images.iter().map(|image| image.index);
        let mut plan = Plan {
            standalone: Vec::new(),
            standalone_at: HashMap::new(),
            natives: Vec::new(),
            own_natives: Vec::new(),
            covered: Vec::new(),
            settled: Vec::new(),
            base_drop: below.filter(|index| !base_stays.contains(index)).collect(),
            layout: if shrinking { Layout::Shrink } else { Layout::Keep },
            gone: 0,
            lifted: 0,
            has_orphans: false,
            natives_merged: false,
            settles: false,
        };
        let (of_middle, of_base) = (Known::new(middle), Known::new(base));
        for image in listed.into_iter().filter(|image| !in_base.contains_key(&image.index)) {
            if stays.contains(&image.index) {
                plan.stay(image, &of_base);
            } else {
                plan.gone = plan.gone.saturating_add(1);
            }
        }
        let own_sources = original_indexes(top, middle);
        for image in top.images.iter().filter(|image| !in_middle.contains_key(&image.index)) {
            if drop.contains(&image.index) {
                plan.lifted = plan.lifted.saturating_add(1);
                continue;
            }
            let sharing = of_middle.source(image.origin);
            let source = sharing.or_else(|| own_sources.get(&image.index).copied());
            match source.filter(|source| stays.contains(source)) {
                Some(source) if sharing.is_some() => plan.natives.push((source, image)),
                Some(source) => plan.own_natives.push((source, image)),
                None => {
                    plan.has_orphans = true;
                    match sharing.and_then(|source| in_base.get(&source)) {
                        Some(source) => plan.settled.push((*source, image)),
                        // Tables of its own, or of a source whose layer leaves the file with them.
                        None => plan.standalone.push(standalone_copy(image)),
                    }
                }
            }
        }
        plan.standalone.extend(add.iter().cloned());
        plan.merge(base, in_base);
        // Replaced images stay replaced; where no native image is left above them, they go.
        for image in covered {
            match in_base.get(&image.index) {
                Some(_) if plan.has_natives() => plan.covered.push(image.index),
                Some(index) => _ = plan.base_drop.insert(*index),
                None => plan.gone = plan.gone.saturating_add(1),
            }
        }
        plan.settles = !plan.settled.is_empty() || plan.stand_for(base, false);
        // In the order in which they were added, which is the order of their payloads.
        for list in [&mut plan.natives, &mut plan.settled] {
            list.sort_by_key(|(_, image)| (image.origin.map(|origin| origin.payload), image.stored.len()));
        }
        plan
    }

    /// Puts back an image of the middle layer that is not at the bottom.
    fn stay(&mut self, image: &'p Image<'a>, base: &Known) {
        if let Some(source) = base.source(image.origin) {
            self.settled.push((source, image));
        } else {
            self.standalone_at.insert(image.index, self.standalone.len());
            self.standalone.push(standalone_copy(image));
        }
    }

    /// Makes native images part of the settled layer, all or none: two layers have two copies of the relocations. They are
    /// where one lost its source, or stands for another image that goes.
    fn merge(&mut self, base: &Bundle<'_>, in_base: &HashMap<usize, usize>) {
        let settles = || !self.settled.is_empty() || self.stand_for(base, false);
        if !(self.has_orphans && settles() || self.stand_for(base, true)) {
            return;
        }
        self.natives_merged = true;
        for (source, image) in std::mem::take(&mut self.natives) {
            match in_base.get(&source) {
                Some(source) => self.settled.push((*source, image)),
                None => self.natives.push((source, image)),
            }
        }
        for (source, image) in std::mem::take(&mut self.own_natives) {
            match in_base.contains_key(&source) {
                true => self.standalone.push(standalone_copy(image)),
                false => self.own_natives.push((source, image)),
            }
        }
    }

    /// Whether images stand for some at the bottom that go: those on top alone (`natives`) for what no other does, or the
    /// others. An image stands for another that has an entry of it, where it is for the same target, or the other was to be
    /// compiled for any, or was the only one with the entry.
    fn stand_for(&self, base: &Bundle<'_>, natives: bool) -> bool {
        let (gone, stay): (Vec<_>, Vec<_>) = base.images.iter().partition(|one| self.base_drop.contains(&one.index));
        let images =
            |list: &[(usize, &'p Image<'a>)]| list.iter().flat_map(|(_, image)| roles(image)).collect::<Vec<_>>();
        let on_top = [images(&self.natives), images(&self.own_natives)].concat();
        let mut others = images(&self.settled);
        others.extend(self.standalone.iter().flat_map(|image| {
            let target = stated_target(image);
            image.entries.iter().map(move |entry| ((image.target, target), *entry))
        }));
        let mut known: HashSet<(Role<'_>, &str)> = stay.iter().flat_map(|image| roles(image)).collect();
        let by = if natives {
            known.extend(&others);
            on_top
        } else {
            others
        };
        let entries: HashSet<&str> = known.iter().map(|(_, entry)| *entry).collect();
        let by_entry: HashSet<&str> = by.iter().map(|(_, entry)| *entry).collect();
        let by: HashSet<(Role<'_>, &str)> = by.into_iter().collect();
        let is_stood_for = |image: &Image<'_>| {
            let any = spec(image) == "spir64";
            roles(image).any(|one| {
                let serves = (any || !entries.contains(one.1)) && by_entry.contains(one.1);
                !known.contains(&one) && (serves || by.contains(&one))
            })
        };
        gone.into_iter().any(is_stood_for)
    }

    /// Whether images are left that are put on top.
    fn has_natives(&self) -> bool {
        !self.natives.is_empty() || !self.own_natives.is_empty()
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
        if self.settles || !some_left && !self.standalone.is_empty() {
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
        let place = |index: usize| {
            let found = match layers.in_base.get(&index) {
                Some(index) => by_base.get(index).copied(),
                None => self.standalone_at.get(&index).and_then(|nth| lower.standalone.get(*nth)).copied(),
            };
            found.ok_or_else(|| {
                Error::input(format!("image {index} of {} is not where it was", layers.middle.images.len()))
            })
        };
        let additions: Vec<Addition<'_>> =
            self.natives.iter().map(|(source, image)| Ok(put_back(place(*source)?, image))).collect::<Result<_>>()?;
        let omitted = self.covered.iter().map(|index| place(*index)).collect::<Result<HashSet<usize>>>()?;
        let own: Vec<OutImage<'_>> = self.own_natives.iter().map(|(_, image)| standalone_copy(image)).collect();
        embed::embed_again(&host, &bundle, &additions, &own, &omitted, notes)
    }
}

/// Returns the indexes of the images of a bundle that are not among `own`, in order.
fn others(bundle: &Bundle<'_>, own: &HashMap<usize, usize>) -> Vec<usize> {
    bundle.images.iter().map(|image| image.index).filter(|index| !own.contains_key(index)).collect()
}

/// Returns the indexes of images with tables of their own, in order: those that are neither at the bottom nor native images
/// of the settled layer.
fn from_elsewhere(bundle: &Bundle<'_>, base: &Bundle<'_>, own: &HashMap<usize, usize>) -> Vec<usize> {
    let known = Known::new(base);
    let others = bundle.images.iter().filter(|image| !own.contains_key(&image.index));
    others.filter(|image| known.source(image.origin).is_none()).map(|image| image.index).collect()
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
pub(super) fn below(top: &Bundle<'_>, lower: &Bundle<'_>) -> HashMap<usize, usize> {
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

/// Returns the entries of an image, each with its role.
fn roles<'i>(image: &'i Image<'_>) -> impl Iterator<Item = (Role<'i>, &'i str)> {
    let role = (image.target, image.compile_target());
    image.entries.iter().map(move |entry| (role, *entry))
}

fn stated_target<'i>(image: &OutImage<'i>) -> Option<&'i str> {
    let set = image.property_sets.iter().find(|set| set.name == set::REQUIREMENTS)?;
    let found = set.properties.iter().find(|property| property.name == key::COMPILE_TARGET)?;
    found.value.text()
}
