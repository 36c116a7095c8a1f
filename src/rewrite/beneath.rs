//! Is what a record gives back the file that images were added to?
//!
//! A record's hash is its own word: anybody can write a record that gives back another program. The file as it is runs, and is what
//! was checked. What is given back has to be that file but for what an addition changes: headers, segments and relocations are
//! those of the file without the added ones, and nothing else differs but lists of images. Images that are in no list any more
//! are told, since nobody has checked them.

use super::embed::arrays;
use super::embed::plan::kept_headers;
use super::embed::record::{PE_SECTION, Record};
use super::embed::relocations::{self, RELA, Relr, Table};
use super::layers::below;
use super::pe::{self, Headers};
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bundle::structure::{Descriptor, listed_in_tgtimg};
use crate::bytes::{Draft, u64_at};
use crate::container::Host;
use crate::container::base_relocations::{self, PAGE};
use crate::container::elf::Elf;
use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::elf::{self, PF_R, PF_W, PT_LOAD, PT_PHDR, ProgramHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use std::collections::HashSet;
use std::ops::Range;

/// Word of a file.
const WORD: usize = 8;

/// File that an addition was made to.
#[derive(Debug)]
pub struct Restored {
    /// The file, byte for byte.
    pub bytes: Draft,
    /// Number of its images that the file with the addition lists no more.
    pub unlisted: usize,
}

/// Takes an addition off a file.
///
/// # Errors
/// `Input` where the file was changed later, or where the record gives back another program.
pub fn restore(record: &Record, upper: &Host<'_>) -> Result<Restored> {
    let bytes = record.restore(upper.bytes)?;
    let unlisted = {
        let lower = &Host::read(&bytes)?;
        let (lower_images, upper_images) = (Bundle::read(lower)?, Bundle::read(upper)?);
        Pair { record, lower, lower_images, upper, upper_images }.unlisted()?
    };
    let unlisted = unlisted.ok_or_else(|| {
        Error::input(
            "the file has a record of an addition to another program than it is; the original cannot be restored",
        )
        .with_remedy("build from the original file")
    })?;
    Ok(Restored { bytes, unlisted })
}

/// File with an addition, and the file that its record gives back.
struct Pair<'a> {
    record: &'a Record,
    lower: &'a Host<'a>,
    lower_images: Bundle<'a>,
    upper: &'a Host<'a>,
    upper_images: Bundle<'a>,
}

/// Relocation table that an addition made longer.
struct Grown<'a> {
    address: u64,
    table: &'a [u8],
    /// New pointers, with their values.
    places: Vec<(u64, u64)>,
    /// Pointers of descriptors, with their values.
    moved: Vec<(u64, u64)>,
}

impl Pair<'_> {
    /// Returns the number of images that the addition took from the lists; none where the two are different programs.
    fn unlisted(&self) -> Result<Option<usize>> {
        let changed = match (&self.lower.elf, &self.upper.elf) {
            (Some(lower), Some(upper)) => self.changed_in_elf(lower, upper)?,
            (None, None) => self.changed_in_pe()?,
            _ => None,
        };
        let Some(mut changed) = changed else { return Ok(None) };
        // A list may be said to be longer than its array.
        if self.lower_images.problems.len() > self.upper_images.problems.len() {
            return Ok(None);
        }
        let staying: HashSet<usize> = below(&self.upper_images, &self.lower_images).into_values().collect();
        changed.extend(self.removed(&staying));
        if !self.differs_in_alone(changed) {
            return Ok(None);
        }
        Ok(Some(self.lower_images.images.iter().filter(|image| !staying.contains(&image.index)).count()))
    }

    /// Returns the addresses of the descriptors that the addition may have changed: their first word is the version, 1, and the number of
    /// images, and the second is the address of the array, which is among those `added` if it moved.
    fn descriptors(&self, added: &Range<u64>) -> HashSet<u64> {
        let is_version = |file: &[u8], at: usize| u64_at(file, at).is_some_and(|word| word & !0xffff_0000 == 1);
        let all = self.lower_images.descriptors.iter().flat_map(Descriptor::addresses);
        let is_changed = |address: &u64| {
            let Some(at) = self.offset(*address) else { return false };
            let array = at.saturating_add(WORD);
            let [old, new] = [self.lower, self.upper].map(|host| u64_at(host.bytes, array));
            let is_moved = new.is_some_and(|new| added.contains(&new)) || new == old;
            is_moved && is_version(self.lower.bytes, at) && is_version(self.upper.bytes, at)
        };
        all.filter(is_changed).collect()
    }

    /// Returns the file offset of an address, the same in both files.
    fn offset(&self, address: u64) -> Option<usize> {
        usize::try_from(self.lower.addresses.file_offset(address)?).ok()
    }

    /// Returns so many words at these addresses.
    fn words(&self, addresses: impl IntoIterator<Item = u64>, count: usize) -> Vec<Range<usize>> {
        let offsets = addresses.into_iter().filter_map(|address| self.offset(address));
        offsets.map(|at| at..at.saturating_add(count.saturating_mul(WORD))).collect()
    }

    /// Returns the first words of structures, and the sizes of payloads, that the addition took from the lists.
    fn removed(&self, staying: &HashSet<usize>) -> Vec<Range<usize>> {
        let structures = arrays::copies(self.lower, &self.lower_images, |_| false);
        let gone = self.lower_images.images.iter().filter(|image| !staying.contains(&image.index));
        let gone: HashSet<u64> = gone.filter_map(|image| Some(image.origin?.payload)).collect();
        let listed = listed_in_tgtimg(self.lower).into_iter().filter(|listed| gone.contains(&listed.payload));
        let sizes = listed.map(|listed| listed.address.saturating_add(WORD as u64));
        let mut removed = self.words(structures.into_iter().chain(sizes), 1);
        removed.retain(|range| u64_at(self.upper.bytes, range.start) == Some(0));
        removed
    }

    /// Whether the words that the addition changed are the same but for the bytes in these ranges that are of no image.
    fn differs_in_alone(&self, ranges: Vec<Range<usize>>) -> bool {
        let payload = |image: &Image<'_>| {
            let at = usize::try_from(image.offset).unwrap_or(usize::MAX);
            at..at.saturating_add(image.stored.len())
        };
        let (may_differ, images) = (merged(ranges), merged(self.lower_images.images.iter().map(payload).collect()));
        self.record.patches.iter().all(|patch| {
            let Ok(at) = usize::try_from(patch.offset) else { return false };
            let byte = |file: &[u8], at: usize| file.get(at).copied();
            let mut all = at..at.saturating_add(WORD);
            all.all(|at| {
                is_in(&may_differ, at) && !is_in(&images, at)
                    || byte(self.lower.bytes, at) == byte(self.upper.bytes, at)
            })
        })
    }

    /// Returns the bytes that the addition changes in an ELF file besides lists; none where it is another program.
    fn changed_in_elf(&self, lower: &Elf<'_>, upper: &Elf<'_>) -> Result<Option<Vec<Range<usize>>>> {
        // No addition to an ELF file keeps an end: `embed::plan` writes 0.
        if self.record.tail > 0 {
            return Ok(None);
        }
        let is_added = |header: &&ProgramHeader64<LE>| {
            header.p_type(LE) == PT_LOAD && header.p_offset(LE) >= self.record.original_len && header.p_filesz(LE) > 0
        };
        let added: Vec<&ProgramHeader64<LE>> = upper.program_headers.iter().filter(is_added).collect();
        let Some(begin) = added.iter().map(|header| header.p_vaddr(LE)).min() else { return Ok(None) };
        if added.iter().any(|header| header.p_flags(LE) != PF_R | PF_W) || !self.are_of_record(&added) {
            return Ok(None);
        }
        let own = upper.program_headers.iter().filter(|header| !is_added(header));
        let kept = kept_headers(lower);
        // The table of program headers has moved, and loaders go by its address.
        let is_table = |header: &ProgramHeader64<LE>| {
            header.p_offset(LE) == lower.header.e_phoff(LE)
                && self.lower.addresses.file_offset(header.p_vaddr(LE)) == Some(header.p_offset(LE))
        };
        let is_moved = |one: &ProgramHeader64<LE>, other: &ProgramHeader64<LE>| {
            let kind = |header: &ProgramHeader64<LE>| (header.p_type(LE), header.p_flags(LE), header.p_align(LE));
            one.p_type(LE) == PT_PHDR && kind(one) == kind(other) && is_table(one)
        };
        let is_same = |(one, other): (&ProgramHeader64<LE>, &ProgramHeader64<LE>)| {
            bytes_of(one) == bytes_of(other) || is_moved(one, other)
        };
        if own.clone().count() != kept.len() || !kept.iter().zip(own).all(is_same) {
            return Ok(None);
        }
        let end = added.iter().map(|header| header.p_vaddr(LE).saturating_add(header.p_memsz(LE))).max();
        let added = begin..end.unwrap_or(begin);
        let table = Table::find(self.lower, lower)?;
        let lists = self.descriptors(&added);
        let Some(Grown { address, table: grown, places, moved }) = self.grown(&table, upper, &added, &lists)? else {
            return Ok(None);
        };
        let mut changed: Vec<Range<usize>> = [32, 40, 56].into_iter().map(|at| at..at + WORD).collect();
        if !matches!(table, Table::None) {
            if table.extended(&places, &moved)? != grown {
                return Ok(None);
            }
            for (tag, value) in table.dynamic(address, grown, places.len()) {
                let Some(entry) = lower.dynamic_entry(tag).filter(|_| upper.dynamic_value(tag) == Some(value)) else {
                    return Ok(None);
                };
                let Ok(at) = usize::try_from(entry.offset.saturating_add(8)) else { return Ok(None) };
                changed.push(at..at.saturating_add(WORD));
            }
        }
        changed.extend(self.words(lists, 2));
        Ok(Some(changed))
    }

    /// Whether these segments are what an addition makes: the one with the record, and before it the cleared rest of a page. Another one
    /// would be the program's own, which a record with a shorter original takes away.
    fn are_of_record(&self, added: &[&ProgramHeader64<LE>]) -> bool {
        let end = |header: &ProgramHeader64<LE>| header.p_vaddr(LE).saturating_add(header.p_memsz(LE));
        let record = Record::locate(self.upper, self.record.layer).map(|(_, address)| address);
        let has_record = |header: &ProgramHeader64<LE>| {
            record.is_some_and(|address| (header.p_vaddr(LE)..end(header)).contains(&address))
        };
        let is_cleared = |header: &ProgramHeader64<LE>| {
            let bytes = self.upper.addresses.slice(header.p_vaddr(LE), header.p_memsz(LE));
            bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
        };
        match added {
            [one] => has_record(one),
            [page, one] => has_record(one) && end(page) == one.p_vaddr(LE) && is_cleared(page),
            _ => false,
        }
    }

    /// Returns the relocation table that the file has in place of an old one; its new pointers are among those `added`, and those of
    /// descriptors at these addresses may have moved.
    fn grown(
        &self,
        old: &Table,
        upper: &Elf<'_>,
        added: &Range<u64>,
        descriptors: &HashSet<u64>,
    ) -> Result<Option<Grown<'_>>> {
        let (start, size) = match old {
            Table::None => return Ok(Some(Grown { address: 0, table: &[], places: Vec::new(), moved: Vec::new() })),
            Table::Rela(_) => (elf::DT_RELA, elf::DT_RELASZ),
            Table::Relr { .. } => (elf::DT_RELR, elf::DT_RELRSZ),
        };
        let Some((address, table)) = relocations::table(self.upper, upper, start, size)? else { return Ok(None) };
        let relative = upper.machine.map(|machine| u64::from(machine.relative()));
        let (mut places, mut moved) = (Vec::new(), Vec::new());
        let mut put = |place: u64, value: u64| {
            if added.contains(&place) {
                places.push((place, value));
            } else if place.checked_sub(WORD as u64).is_some_and(|list| descriptors.contains(&list)) {
                moved.push((place, value));
            }
        };
        if matches!(old, Table::Relr { .. }) {
            // A bitmap stands for many places: no more count than what was added has words.
            Relr::read(table)?
                .places()
                .filter(|place| *place >= added.start)
                .take(words_in(added))
                .for_each(|place| put(place, 0));
        } else {
            let entries = table.as_chunks::<RELA>().0.iter().filter(|entry| u64_at(*entry, 8) == relative);
            let entries = entries.filter_map(|entry| Some((u64_at(entry, 0)?, u64_at(entry, 16)?)));
            entries.for_each(|(place, value)| put(place, value));
        }
        Ok(Some(Grown { address, table, places, moved }))
    }

    /// Returns the bytes that the addition changes in a PE file besides lists; none where it is another program.
    fn changed_in_pe(&self) -> Result<Option<Vec<Range<usize>>>> {
        let [lower_file, upper_file] = [self.lower.bytes, self.upper.bytes];
        let (lower, upper) = (Headers::parse(lower_file)?, Headers::parse(upper_file)?);
        let is_last = self.upper.sections.last().is_some_and(|section| section.name == PE_SECTION);
        let [own @ .., added] = upper.sections.as_slice() else { return Ok(None) };
        let table = lower.relocations(lower_file)?;
        let grown = upper.relocations(upper_file)?;
        // In the unused end of the table's section it may have grown in place.
        let has_table = |section: &pe::Section| {
            table.is_some_and(|(at, _)| (u64::from(section.raw)..section.raw_end()).contains(&(at as u64)))
        };
        let is_same = |(one, other): (&pe::Section, &pe::Section)| {
            one.loaded() == other.loaded()
                && (one.virtual_size == other.virtual_size || has_table(one) && one.virtual_size < other.virtual_size)
        };
        // Loaders of files that they map as these are take what is behind the sections, too; no addition is made to those.
        let tail = self.record.original_len.checked_sub(self.record.tail);
        let has_end_alone = lower.section_align >= PAGE && tail.is_some_and(|begin| begin >= lower.overlay());
        if !is_last
            || !has_end_alone
            || added.is_code()
            || own.len() != lower.sections.len()
            || !lower.sections.iter().zip(own).all(is_same)
            || lower.fixed(lower_file) != upper.fixed(upper_file)
            || !lower.has_sizes(lower_file)
            || lower.initialized(lower_file).wrapping_add(added.raw_size) != upper.initialized(upper_file)
        {
            return Ok(None);
        }
        let begin = lower.image_base.saturating_add(added.address.into());
        let lists = self.descriptors(&(begin..begin.saturating_add(added.virtual_size.into())));
        let mut changed = self.words(lists, 2);
        let contents = lower.sections.iter().filter(|section| section.raw_size > 0).map(|section| section.raw).min();
        let end = usize::try_from(contents.map_or(lower.headers_size, |raw| raw.min(lower.headers_size)));
        changed.push(0..end.unwrap_or(usize::MAX));
        match (table, grown) {
            (None, None) => {}
            (Some((at, old)), Some((place, new))) if new.starts_with(old) => {
                // Relocations of the program's own would be lost.
                let end = u64::from(added.address).saturating_add(added.virtual_size.into());
                let is_added = |address: u32| (u64::from(added.address)..end).contains(&address.into());
                let mut more = base_relocations::blocks(new.get(old.len()..).unwrap_or_default());
                let are_added = more.all(|block| {
                    block.is_ok_and(|block| block.relocations().all(|relocation| is_added(relocation.address)))
                });
                if !are_added {
                    return Ok(None);
                }
                let end = at.saturating_add(old.len());
                let slack = end..at.saturating_add(new.len());
                if place == at && lower_file.get(slack.clone()).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
                {
                    changed.push(slack);
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(changed))
    }
}

/// Returns ranges in order and apart.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

/// Whether a place is in one of some ranges that are in order and apart.
fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let before = ranges.partition_point(|range| range.start <= at).checked_sub(1);
    before.and_then(|before| ranges.get(before)).is_some_and(|range| range.contains(&at))
}

/// Returns the number of words between two addresses.
fn words_in(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start) / WORD as u64).unwrap_or(usize::MAX)
}
