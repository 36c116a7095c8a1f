//! How are images removed from a linked file?
//!
//! Removal is in place: the structures that stay move together in their array, the descriptor's count shrinks,
//! `.tgtimg` drops the payloads, and these become zeros unless an image that stays shares them. Relocations follow the
//! structures they belong to. No other byte changes or moves; the result is read back and compared before it is
//! returned.
//!
//! A moved word is a pointer where a relocation writes to its old address; otherwise it is a plain number (or the file
//! is always loaded at its linked address).
//!
//! With [`Layout::Shrink`] the pages that this frees leave an ELF file: payloads that stay move together ([`compact`]), and
//! the free pages are cut out of their segment ([`mod@shrink`]); all other addresses stay.
//!
//! Payload bytes are zeroed where no image that stays shares them and no code is among them. Zeros, which packages
//! compress well, take their place because the rest of the file must not move.

mod compact;
mod elf;
mod pe;
mod shrink;

use super::embed::arrays;
use super::pe as pe_headers;
use super::pe::Headers;
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bundle::structure::{Descriptor, check_undisputed, listed_in_tgtimg};
use crate::bytes;
use crate::bytes::Draft;
use crate::container::{Host, Kind};
use crate::error::{Context, Error, ErrorKind, Result};
use compact::Compaction;
use object::LittleEndian as LE;
use object::elf as object_elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use shrink::shrink;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Use of the room of removed payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Leaves zeros there: no other byte moves.
    Keep,
    /// Cuts its pages out of an ELF file; payloads that stay move for that.
    Shrink,
}

/// Relocated words of a file.
trait Relocated {
    /// Returns their addresses.
    fn places(&self) -> Box<dyn Iterator<Item = u64> + '_>;
}

/// File from which images were removed.
#[derive(Debug)]
pub(crate) struct Pruned {
    /// The file.
    pub(crate) bytes: Draft,
    /// Bytes of payloads that were overwritten with zeros, and are still there.
    pub(crate) zeroed: u64,
    /// Bytes of pages that left the file.
    pub(crate) cut: u64,
    /// Bytes of removed payloads that stay: another image shares them, or they are among code.
    pub(crate) left: u64,
}

/// Fate of the structures of images whose payloads go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structures {
    /// Removal with the payload. A list may become empty; the runtime of DPC++ accepts that.
    Go,
    /// A place in the list for an image without a byte: lists are found where they were, and what refers to tables of the
    /// image can go on doing so.
    Stay,
}

/// Removes the images with these indexes, or their payloads alone, from the lists of a linked ELF or PE file.
///
/// # Errors
/// `Input` where an image is in no list, or the file's relocations cannot follow.
pub(crate) fn prune(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    drop: &HashSet<usize>,
    layout: Layout,
    structures: Structures,
) -> Result<Pruned> {
    check_undisputed(&host.addresses, &bundle.descriptors)?;
    let gone: HashSet<u64> = bundle
        .images
        .iter()
        .filter(|image| drop.contains(&image.index))
        .map(|image| image.origin.map(|origin| origin.address).ok_or_else(|| no_list(image.index)))
        .collect::<Result<_>>()?;
    let kept = |gone: &HashSet<u64>| -> Vec<Vec<u64>> {
        let one = |descriptor: &Descriptor| {
            let at = |nth: u64| descriptor.images.saturating_add(nth.saturating_mul(descriptor.layout.stride()));
            (0..u64::from(descriptor.count)).map(at).filter(|address| !gone.contains(address)).collect()
        };
        bundle.descriptors.iter().map(one).collect()
    };
    let (gone, emptied) = match structures {
        Structures::Go => (gone, HashSet::new()),
        Structures::Stay => (HashSet::new(), gone),
    };
    let mut listed = arrays::unlisted(host, bundle, &kept(&gone.union(&emptied).copied().collect()));
    let all: HashSet<u64> = kept(&HashSet::new()).into_iter().flatten().collect();
    // Copies that an earlier run left would be taken for images of a hidden list.
    let copies = arrays::copies(host, bundle, |address| !gone.contains(&address) && !emptied.contains(&address));
    listed.extend(copies.into_iter().filter(|address| !all.contains(address)));
    let kept = kept(&gone);
    let mut out = Draft::copy_of(host.bytes, 0)?;
    let Zeroed { mut zeroed, left, ranges } = zero(host, bundle, drop, &mut out);
    let gone: HashSet<u64> = ranges.iter().map(|range| range.start).collect();
    let mut compaction = Compaction::default();
    let mut cut = 0u64;
    match (&host.elf, host.kind) {
        (Some(file), _) => {
            let relocations = elf::Relocations::read(host, file)?;
            let relocates = file.relocates_pointers();
            compaction = match layout {
                Layout::Keep => compaction,
                Layout::Shrink if relocates => Compaction::plan(host, bundle, drop, ranges, &out, &relocations),
                Layout::Shrink => Compaction::in_place(host, &out, ranges),
            };
            let covers = |place| relocations.covers(place);
            let moves = Moves::new(host, bundle, (&kept, &emptied), &compaction.distances(), &covers)?;
            compaction.move_bytes(host, &mut out);
            moves.write(host, &mut out)?;
            relocations.apply(&moves, host, file, &mut out)?;
        }
        (None, Kind::Pe) => {
            let relocations = pe::Relocations::read(host, bundle)?;
            let covers = |place| relocations.covers(place);
            let moves = Moves::new(host, bundle, (&kept, &emptied), &HashMap::new(), &covers)?;
            moves.write(host, &mut out)?;
            relocations.apply(&moves, &mut out)?;
        }
        _ => return Err(Error::input("only a linked ELF or PE file has a list of images of its own")),
    }
    for word in listed {
        put(host, &mut out, word, 0)?;
    }
    if layout != Layout::Keep && host.elf.is_some() {
        let before = out.len() as u64;
        shrink(&mut out, &compaction, &gone)?;
        cut = before.saturating_sub(out.len() as u64);
        zeroed = zeroed.saturating_sub(cut);
    }
    if host.kind == Kind::Pe {
        pe_headers::update_checksum(&mut out)?;
    }
    verify(&out, bundle, drop, structures).context(|| "checking the rewritten file".to_owned())?;
    Ok(Pruned { bytes: out, zeroed, cut, left })
}

/// Overwrites a word at an address in the file.
fn put(host: &Host<'_>, out: &mut [u8], address: u64, value: u64) -> Result<()> {
    let at = host.addresses.file_offset(address).and_then(|at| usize::try_from(at).ok());
    if at.is_some_and(|at| bytes::put_u64(out, at, value)) {
        return Ok(());
    }
    Err(Error::input(format!("the word at address {address:#x} is not in the file")))
}

#[cold]
fn no_list(index: usize) -> Error {
    Error::input(format!("image {index} is in no list of this file, so it cannot be taken out of one"))
        .with_remedy("`extract` the others, or build the file anew without it")
}

/// Reads the result back and checks that it has exactly the images that stay, unchanged and in order, beside those that
/// were emptied, whose structures runtimes still read.
pub(super) fn verify(out: &[u8], before: &Bundle<'_>, drop: &HashSet<usize>, structures: Structures) -> Result<()> {
    let stay: Vec<&Image<'_>> = before.images.iter().filter(|image| !drop.contains(&image.index)).collect();
    let host = Host::read(out)?;
    let after = match Bundle::read(&host) {
        Ok(after) => after,
        // No image is left, which the reader reports as an error.
        Err(error) if stay.is_empty() && error.kind() == ErrorKind::NoDeviceCode => return Ok(()),
        Err(error) => return Err(error),
    };
    let alike = |old: &Image<'_>, new: &Image<'_>| {
        (old.target, &old.entries, old.declared) == (new.target, &new.entries, new.declared)
            && (old.compile_options, old.link_options) == (new.compile_options, new.link_options)
            && old.properties == new.properties
    };
    let same = |old: &Image<'_>, new: &Image<'_>| old.stored == new.stored && alike(old, new);
    let emptied = |image: &&Image<'_>| structures == Structures::Stay && drop.contains(&image.index);
    let left: Vec<&Image<'_>> = after.images.iter().filter(|image| !emptied(image)).collect();
    let found = left.len();
    let old: HashMap<usize, &Image<'_>> = before.images.iter().map(|image| (image.index, image)).collect();
    let is_kept = |new: &Image<'_>| old.get(&new.index).is_some_and(|old| alike(old, new));
    let is_whole =
        after.images.iter().filter(emptied).all(is_kept) && (after.problems.is_empty() || !before.problems.is_empty());
    if found != stay.len() || !is_whole || !stay.iter().zip(&left).all(|(old, new)| same(old, new)) {
        let expected = stay.len();
        return Err(Error::input(format!(
            "the {expected} images that stay are not what they were ({found} found): parts of the images overlap; \
             nothing was written"
        )));
    }
    Ok(())
}

/// Changes to all descriptors and arrays.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Addresses that must be relocated, with their values.
    pub(crate) pointers: Vec<(u64, u64)>,
    /// Addresses that must not be relocated, with their values.
    pub(crate) plain: Vec<(u64, u64)>,
    /// Addresses in the free slots at the end, which are no longer read.
    pub(crate) unused: Vec<u64>,
    /// First words of descriptors, with their addresses.
    heads: Vec<(u64, u64)>,
}

impl Moves {
    /// Computes the changes that leave the structures at the addresses `kept` of each descriptor, those of `emptied` with an
    /// empty payload at the address of the list.
    ///
    /// # Errors
    /// `Input` where an array is not in the file.
    pub(crate) fn new(
        host: &Host<'_>,
        bundle: &Bundle<'_>,
        (kept, emptied): (&[Vec<u64>], &HashSet<u64>),
        distances: &HashMap<u64, u64>,
        covers: &dyn Fn(u64) -> bool,
    ) -> Result<Moves> {
        let mut moves = Moves::default();
        for listed in listed_in_tgtimg(host) {
            if let Some(distance) = distances.get(&listed.payload) {
                moves.put(listed.address, listed.payload.saturating_sub(*distance), covers(listed.address));
            }
        }
        for (descriptor, kept) in bundle.descriptors.iter().zip(kept) {
            let payload = descriptor.layout.payload();
            let stride = descriptor.layout.stride();
            let slot = |nth: usize| descriptor.images.saturating_add((nth as u64).saturating_mul(stride));
            for (nth, &from) in kept.iter().enumerate() {
                let to = slot(nth);
                let begin = host.addresses.pointer(from.saturating_add(payload));
                let distance = begin.and_then(|begin| distances.get(&begin)).copied().unwrap_or(0);
                let empty = emptied.contains(&from);
                for word in (0..stride).step_by(8).take_while(|_| to != from || distance != 0 || empty) {
                    let is_payload = word == payload || word == payload.saturating_add(8);
                    if to == from && !is_payload {
                        continue;
                    }
                    let (from, to) = (from.saturating_add(word), to.saturating_add(word));
                    let value = host.addresses.pointer(from).ok_or_else(|| {
                        Error::input(format!("a list of images passes the end of its segment at address {from:#x}"))
                    })?;
                    let value = match is_payload {
                        true if empty => descriptor.images,
                        true => value.saturating_sub(distance),
                        false => value,
                    };
                    moves.put(to, value, covers(from));
                }
            }
            if kept.len() == usize::from(descriptor.count) {
                continue;
            }
            moves.unused.extend((slot(kept.len())..slot(descriptor.count.into())).step_by(8));
            let head = 1 | (kept.len() as u64) << 16;
            moves.heads.extend(descriptor.addresses().map(|address| (address, head)));
        }
        Ok(moves)
    }

    fn put(&mut self, place: u64, value: u64, relocated: bool) {
        let list = if relocated { &mut self.pointers } else { &mut self.plain };
        list.push((place, value));
    }

    /// Writes the new words into the file, without relocations.
    ///
    /// # Errors
    /// `Input` where a word is not in the file.
    pub(crate) fn write(&self, host: &Host<'_>, out: &mut [u8]) -> Result<()> {
        for &(place, value) in self.pointers.iter().chain(&self.plain).chain(&self.heads) {
            put(host, out, place, value)?;
        }
        self.unused.iter().try_for_each(|&place| put(host, out, place, 0))
    }
}

/// Payloads that were overwritten with zeros.
struct Zeroed {
    /// Bytes that became zeros.
    zeroed: u64,
    /// Bytes that stay.
    left: u64,
    /// Addresses of what became zeros.
    ranges: Vec<Range<u64>>,
}

/// Overwrites payloads with zeros.
fn zero(host: &Host<'_>, bundle: &Bundle<'_>, drop: &HashSet<usize>, out: &mut [u8]) -> Zeroed {
    let (gone, stay): (Vec<&Image<'_>>, Vec<&Image<'_>>) =
        bundle.images.iter().partition(|image| drop.contains(&image.index));
    let mut stay: Vec<Range<u64>> = stay.into_iter().filter_map(range).collect();
    sort_by_start(&mut stay);
    // The end that those reach which begin before an address.
    let reach = |all: &[Range<u64>], address: u64| {
        let before = all.partition_point(|range| range.start < address);
        before.checked_sub(1).and_then(|at| all.get(at)).map_or(0, |range| range.end)
    };
    let mut parts = data(host);
    sort_by_start(&mut parts);
    let (mut zeroed, mut left, mut ranges) = (0u64, 0u64, Vec::new());
    let mut done: HashSet<Range<u64>> = HashSet::new();
    for range in gone.into_iter().filter_map(range).filter(|range| !range.is_empty()) {
        if !done.insert(range.clone()) {
            continue;
        }
        let len = range.end.saturating_sub(range.start);
        let apart = range.end <= reach(&parts, range.start.saturating_add(1));
        let own = reach(&stay, range.end) <= range.start;
        let at = host.addresses.file_offset(range.start).and_then(|at| usize::try_from(at).ok());
        let bytes = at.zip(usize::try_from(len).ok()).and_then(|(at, len)| out.get_mut(at..at.checked_add(len)?));
        match bytes.filter(|_| apart && own) {
            Some(bytes) => {
                bytes.fill(0);
                zeroed = zeroed.saturating_add(len);
                ranges.push(range);
            }
            None => left = left.saturating_add(len),
        }
    }
    Zeroed { zeroed, left, ranges }
}

/// Sorts ranges by their start, and extends each to the end of those before it, so that bisecting finds what overlaps.
fn sort_by_start(ranges: &mut [Range<u64>]) {
    ranges.sort_by_key(|range| range.start);
    let mut reach = 0;
    for range in ranges {
        range.end = range.end.max(reach);
        reach = range.end;
    }
}

/// Returns the addresses of an image's payload.
fn range(image: &Image<'_>) -> Option<Range<u64>> {
    let start = image.origin?.payload;
    Some(start..start.checked_add(image.stored.len() as u64)?)
}

/// Returns the address ranges of data without code: sections, or segments where a file has no sections.
fn data(host: &Host<'_>) -> Vec<Range<u64>> {
    let Some(file) = &host.elf else {
        let headers = Headers::parse(host.bytes).ok();
        let sections = headers.map(|headers| headers.sections).unwrap_or_default();
        let base = headers_base(host);
        return sections
            .into_iter()
            .filter(|section| !section.is_code())
            .map(|section| {
                let start = base.saturating_add(section.address.into());
                start..start.saturating_add(section.raw_size.into())
            })
            .collect();
    };
    let sections = file.header.section_headers(LE, host.bytes).unwrap_or_default();
    if sections.is_empty() {
        let loaded = file.program_headers.iter().filter(|header| header.p_type(LE) == object_elf::PT_LOAD);
        let data = loaded.filter(|header| !header.p_flags(LE).contains(object_elf::PF_X));
        return data.map(|part| part.p_vaddr(LE)..part.p_vaddr(LE).saturating_add(part.p_filesz(LE))).collect();
    }
    let is_data = |flags: object_elf::SectionFlags| {
        flags.contains(object_elf::SHF_ALLOC) && !flags.contains(object_elf::SHF_EXECINSTR)
    };
    sections
        .iter()
        .filter(|section| section.sh_type(LE) == object_elf::SHT_PROGBITS && is_data(section.sh_flags(LE)))
        .map(|section| section.sh_addr(LE)..section.sh_addr(LE).saturating_add(section.sh_size(LE)))
        .collect()
}

fn headers_base(host: &Host<'_>) -> u64 {
    Headers::parse(host.bytes).map_or(0, |headers| headers.image_base)
}
