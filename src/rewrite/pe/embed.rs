//! How are images added to the list of a linked PE file?
//!
//! The file gets one more section behind its last: the new arrays (the old structures that stay, and in one list the added
//! ones), entries, property sets, strings and payloads, and a record with which all of it can be removed again. The pointers
//! in it get base relocations: in the unused end of `.reloc` where they fit, otherwise in a longer copy of the table in the
//! new section. Certificates must be removed first; other data behind the sections stays at the end of the file.

use super::{BASE_RELOCATIONS, CERTIFICATES, DEBUG, Headers, SECTION, update_checksum};
use crate::bundle::Bundle;
use crate::bundle::structure::{Descriptor, check_undisputed};
use crate::bytes;
use crate::bytes::Draft;
use crate::container::Host;
use crate::container::base_relocations::{self, BaseRelocation, DIR64, PAGE};
use crate::error::{Context, Error, Result};
use crate::limits;
use crate::rewrite::embed::arrays::{self, Structure};
use crate::rewrite::embed::record::{Layer, MAX_PATCHES, PE_SECTION, Patch, Record};
use crate::rewrite::embed::standalone::{self, StandaloneImages};
use crate::rewrite::image_data::{Bases, OutImage, PAYLOAD_ALIGN};
use crate::rewrite::prune::{Structures, verify};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Section flags `IMAGE_SCN_CNT_INITIALIZED_DATA` and `IMAGE_SCN_MEM_READ`.
const FLAGS: u32 = 0x4000_0040;
/// Size of the head of the section, which holds the offset of the record.
const HEAD: u64 = 16;

/// Adds images with tables of their own to the first list of a linked PE file. Those with the indexes `omitted` leave
/// their lists.
///
/// # Errors
/// `Input` where the file is signed, has no room for another section header, or has no list that the runtime reads.
pub fn embed_images(
    host: &Host<'_>,
    bundle: &Bundle<'_>,
    layer: Layer,
    omitted: &HashSet<usize>,
    images: &[OutImage<'_>],
    notes: &[(String, String)],
) -> Result<Draft> {
    check_undisputed(&host.addresses, &bundle.descriptors)?;
    let roomy = super::make_header_room(host.bytes)?;
    let file: &[u8] = &roomy;
    let headers = Headers::parse(file)?;
    let overlay = check(file, &headers)?;
    if matches!(roomy, Cow::Owned(_)) {
        verify(file, bundle, &HashSet::new(), Structures::Go)
            .context(|| "making room for one more section among the headers".to_owned())?;
    }
    let standalone = StandaloneImages::new(bundle, images)?;
    let mut new = Section::place(&headers, overlay)?;
    let lists = new.fill(host, bundle, omitted, &standalone)?;
    let places = new.places(&standalone)?;
    let mut edits = Edits::default();
    let moved = extend_relocations(&headers, file, &places, &new, &mut edits)?;
    if let Some(table) = &moved {
        let at = new.take(table, 4)?;
        let size = u32::try_from(table.len()).map_err(|_| too_large())?;
        let directory = headers.directory_at(BASE_RELOCATIONS).ok_or_else(too_large)?;
        edits.put(directory, &[new.relative(at)?.to_le_bytes(), size.to_le_bytes()].concat());
    }
    new.take_payloads(&standalone)?;

    let relocated = moved.is_some() || !places.is_empty() && headers.directory(file, BASE_RELOCATIONS).is_some();
    let pointers = lists.iter().flat_map(|list| &list.descriptors).map(|descriptor| descriptor.saturating_add(8));
    if relocated && !names_all(&headers, file, pointers)? {
        return Err(Error::input("the list of images is not relocated, though the file is"));
    }
    for list in &lists {
        for descriptor in &list.descriptors {
            let at = host.addresses.file_offset(*descriptor).and_then(|at| usize::try_from(at).ok());
            let at = at.filter(|at| *at >= headers.headers_size as usize);
            let at = at.ok_or_else(|| Error::input("a descriptor is not in the sections of the file"))?;
            edits.put(at, &(1 | (list.count as u64) << 16).to_le_bytes());
            edits.put(at.saturating_add(8), &list.array.to_le_bytes());
        }
    }
    // Structures that nothing lists would be taken for those of a hidden list.
    let origins = bundle.images.iter().filter(|image| omitted.contains(&image.index)).filter_map(|image| image.origin);
    let gone: HashSet<u64> = origins.map(|origin| origin.address).collect();
    for address in arrays::copies(host, bundle, |address| !gone.contains(&address)) {
        let at = host.addresses.file_offset(address).and_then(|at| usize::try_from(at).ok());
        if let Some(at) = at.filter(|at| *at >= headers.headers_size as usize) {
            edits.put(at, &[0; 8]);
        }
    }
    let out = finish(host.bytes, file, &headers, new, edits, overlay, (layer, notes))?;
    let expected = bundle.images.len().saturating_sub(omitted.len()).saturating_add(images.len());
    standalone::verify(&out, bundle, expected, images).context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// Returns the file offset of the end of the sections, where other data may begin.
fn check(file: &[u8], headers: &Headers) -> Result<u64> {
    if headers.directory(file, CERTIFICATES).is_some() {
        return Err(Error::input("the file is signed, and the signature would be wrong once it is rewritten"));
    }
    headers.check_sections()?;
    if headers.section_align < PAGE {
        let message = format!("sections are aligned to {} bytes: no loader takes one more", headers.section_align);
        return Err(
            Error::at(headers.optional as u64, message).with_remedy("link the file with sections of whole pages")
        );
    }
    let overlay = headers.overlay();
    if overlay > file.len() as u64 {
        return Err(Error::input("the last section passes the end of the file"));
    }
    // Debug data may be behind the sections and is found by its file offset.
    if overlay < file.len() as u64
        && let Some((address, size)) = headers.directory(file, DEBUG)
        && let Some(at) = headers.offset(address, size)
    {
        let entries = bytes::slice_at(file, at, size as usize).unwrap_or_default().chunks_exact(28);
        let behind = |entry: &[u8]| bytes::u32_at(entry, 24).is_some_and(|raw| u64::from(raw) >= overlay);
        if entries.into_iter().any(behind) {
            return Err(Error::at(at as u64, "debug data stands behind the sections, where it would have to move"));
        }
    }
    Ok(overlay)
}

/// List whose array is written anew.
struct List {
    /// Addresses of the descriptor and its copies.
    descriptors: Vec<u64>,
    /// Address of the new array.
    array: u64,
    structures: Vec<Structure>,
    /// Number of structures.
    count: usize,
}

impl List {
    /// Returns the list of a descriptor without the structures at these addresses.
    fn without(host: &Host<'_>, descriptor: &Descriptor, omitted: &HashSet<u64>) -> Result<List> {
        let stride = descriptor.layout.stride();
        let place = |nth: u16| descriptor.images.saturating_add(u64::from(nth).saturating_mul(stride));
        let stay = (0..descriptor.count).map(place).filter(|address| !omitted.contains(address));
        let structures = stay.map(|address| arrays::existing(host, descriptor, address)).collect::<Result<Vec<_>>>()?;
        let count = structures.len();
        Ok(List { descriptors: descriptor.addresses().collect(), array: descriptor.images, structures, count })
    }
}

/// Section to add.
struct Section {
    image_base: u64,
    /// Address, image base included, and file offset.
    address: u64,
    raw: u64,
    bytes: Vec<u8>,
    /// Addresses of the blocks, set by [`Section::fill`].
    bases: Bases,
    /// Addresses of the pointers in the new arrays, set by [`Section::fill`].
    pointers: Vec<u64>,
}

impl Section {
    fn place(headers: &Headers, overlay: u64) -> Result<Section> {
        let end = headers.sections.iter().map(super::Section::end).max().unwrap_or(0);
        let end = end.max(headers.headers_size.into());
        let relative = bytes::align_up(end, headers.section_align.into()).ok_or_else(too_large)?;
        let raw = bytes::align_up(overlay, headers.file_align.into()).ok_or_else(too_large)?;
        let address = headers.image_base.checked_add(relative).ok_or_else(too_large)?;
        let bases = Bases { constants: 0, structures: 0, payloads: 0 };
        let image_base = headers.image_base;
        let bytes = vec![0; usize::try_from(HEAD).unwrap_or(0)];
        Ok(Section { image_base, address, raw, bytes, bases, pointers: Vec::new() })
    }

    /// Reserves space and returns its address.
    fn reserve(&mut self, len: u64, align: u64) -> Result<u64> {
        let at = bytes::align_up(self.bytes.len() as u64, align).ok_or_else(too_large)?;
        let end = at.checked_add(len).filter(|end| *end < u64::from(u32::MAX)).ok_or_else(too_large)?;
        self.bytes.resize(usize::try_from(end).map_err(|_| too_large())?, 0);
        self.address.checked_add(at).ok_or_else(too_large)
    }

    fn take(&mut self, bytes: &[u8], align: u64) -> Result<u64> {
        let address = self.reserve(bytes.len() as u64, align)?;
        self.put(address, bytes)?;
        Ok(address)
    }

    fn put(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        let at = usize::try_from(address.saturating_sub(self.address)).map_err(|_| too_large())?;
        if bytes::put(&mut self.bytes, at, bytes) { Ok(()) } else { Err(too_large()) }
    }

    fn relative(&self, address: u64) -> Result<u32> {
        address.checked_sub(self.image_base).and_then(|at| u32::try_from(at).ok()).ok_or_else(too_large)
    }

    /// Lays out and writes everything but the payloads, which are written once the relocations are known. Returns the lists
    /// that change: that of the added images, and those of omitted ones.
    fn fill(
        &mut self,
        host: &Host<'_>,
        bundle: &Bundle<'_>,
        omitted: &HashSet<usize>,
        standalone: &StandaloneImages<'_>,
    ) -> Result<Vec<List>> {
        let mut changed: BTreeMap<usize, HashSet<u64>> = BTreeMap::from([(standalone.descriptor, HashSet::new())]);
        for image in bundle.images.iter().filter(|image| omitted.contains(&image.index)) {
            if let Some(origin) = image.origin {
                changed.entry(origin.descriptor).or_default().insert(origin.address);
            }
        }
        let (structures, constants) = standalone.table_sizes();
        // Payloads come first, since all other sizes are independent of them.
        self.bases.payloads = self.reserve(standalone.payload_size(), PAYLOAD_ALIGN)?;
        let (mut lists, mut total) = (Vec::new(), 0usize);
        for (place, omitted) in changed {
            let descriptor = bundle.descriptors.get(place).ok_or_else(|| Error::input("no list of images"))?;
            total = total.saturating_add(descriptor.count.into());
            if total > limits::MAX_IMAGES {
                return Err(Error::input(format!("the lists to write anew hold {total} images; they overlap")));
            }
            let takes = place == standalone.descriptor;
            let mut list = List::without(host, descriptor, &omitted)?;
            list.count = list.count.saturating_add(if takes { standalone.len() } else { 0 });
            if list.count > usize::from(u16::MAX) {
                let message = format!("a list of images would hold {}; its count is a 16-bit field", list.count);
                return Err(Error::input(message));
            }
            // A list that nothing is left of keeps its array, which is not read.
            if list.count > 0 {
                list.array = self.reserve((list.count as u64).saturating_mul(descriptor.layout.stride()), 8)?;
            }
            lists.push((takes, list));
        }
        self.bases.structures = self.reserve(structures, 8)?;
        self.bases.constants = self.reserve(constants, 8)?;
        for (takes, list) in &mut lists {
            if *takes {
                list.structures.extend(standalone.structures(&self.bases));
            }
            let mut at = list.array;
            for structure in std::mem::take(&mut list.structures) {
                self.put(at, &structure.bytes)?;
                self.pointers.extend(structure.pointers().map(|pointer| at.saturating_add(pointer)));
                at = at.saturating_add(structure.bytes.len() as u64);
            }
        }
        for (address, table) in standalone.tables(&self.bases) {
            self.put(address, &table)?;
        }
        Ok(lists.into_iter().map(|(_, list)| list).collect())
    }

    fn take_payloads(&mut self, standalone: &StandaloneImages<'_>) -> Result<()> {
        standalone.payloads(&self.bases).iter().try_for_each(|payload| self.put(payload.address, payload.bytes))
    }

    /// Returns the addresses of the pointers in the section.
    fn places(&self, standalone: &StandaloneImages<'_>) -> Result<Vec<BaseRelocation>> {
        let mut addresses = self.pointers.clone();
        addresses.extend(standalone.places(&self.bases).into_iter().map(|(place, _)| place));
        addresses.sort_unstable();
        addresses.into_iter().map(|place| Ok(BaseRelocation { address: self.relative(place)?, kind: DIR64 })).collect()
    }
}

/// Whether the base relocations name all of these pointers.
fn names_all(headers: &Headers, file: &[u8], pointers: impl Iterator<Item = u64>) -> Result<bool> {
    let relative = |pointer: u64| {
        let relative = pointer.checked_sub(headers.image_base).and_then(|at| u32::try_from(at).ok());
        relative.ok_or_else(|| Error::input("a descriptor is not in the file"))
    };
    let mut wanted = pointers.map(relative).collect::<Result<HashSet<u32>>>()?;
    let table = headers.relocations(file)?.map_or(&[][..], |(_, table)| table);
    for block in base_relocations::known_blocks(table) {
        for place in block?.relocations().filter(|place| place.kind == DIR64) {
            wanted.remove(&place.address);
        }
    }
    Ok(wanted.is_empty())
}

/// Changes to the file, by offset.
#[derive(Default)]
struct Edits(Vec<(usize, Vec<u8>)>);

impl Edits {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0.push((at, bytes.to_vec()));
    }

    /// Returns the offsets of the 8-byte words that contain the changes.
    fn words(&self) -> BTreeSet<usize> {
        self.0.iter().flat_map(|(at, bytes)| (at & !7..at.saturating_add(bytes.len())).step_by(8)).collect()
    }
}

/// Adds pointers to the base relocations: in the unused end of the table, or as a longer table, which is returned.
fn extend_relocations(
    headers: &Headers,
    file: &[u8],
    places: &[BaseRelocation],
    new: &Section,
    edits: &mut Edits,
) -> Result<Option<Vec<u8>>> {
    // A file without base relocations is always loaded at its image base.
    let Some((at, table)) = headers.relocations(file)? else { return Ok(None) };
    let more = super::encode(places);
    let end = at.saturating_add(table.len());
    let section = headers.directory(file, BASE_RELOCATIONS).and_then(|(address, len)| headers.section_of(address, len));
    let slack = section.filter(|section| {
        let begin = (end as u64).saturating_sub(section.raw.into());
        let size = begin.saturating_add(more.len() as u64);
        let next = headers.sections.iter().map(|other| other.address).filter(|other| *other > section.address).min();
        let limit = next.map_or_else(|| new.address.saturating_sub(new.image_base), u64::from);
        // Zeros behind the table that are in memory as well are the program's own.
        let unused = u64::from(section.address).saturating_add(begin) >= section.end();
        unused && size <= section.raw_size.into() && u64::from(section.address).saturating_add(size) <= limit
    });
    let free = bytes::slice_at(file, end, more.len()).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    let (Some(section), true, true) = (slack, free, table.len().is_multiple_of(4)) else {
        return Ok(Some([table, &more].concat()));
    };
    let size = u32::try_from(table.len().saturating_add(more.len())).map_err(|_| too_large())?;
    let directory = headers.directory_at(BASE_RELOCATIONS).ok_or_else(too_large)?;
    edits.put(end, &more);
    edits.put(directory.saturating_add(4), &size.to_le_bytes());
    let used = (end as u64).saturating_sub(section.raw.into()).saturating_add(more.len() as u64);
    let used = u32::try_from(used).map_err(|_| too_large())?.max(section.virtual_size);
    edits.put(section.header.saturating_add(8), &used.to_le_bytes());
    Ok(None)
}

/// Assembles the file: sections, the new section, the data behind them.
fn finish(
    before: &[u8],
    file: &[u8],
    headers: &Headers,
    mut new: Section,
    mut edits: Edits,
    overlay: u64,
    (layer, notes): (Layer, &[(String, String)]),
) -> Result<Draft> {
    let start = usize::try_from(overlay).map_err(|_| too_large())?;
    let (sections, behind) = file.split_at_checked(start).ok_or_else(too_large)?;
    let u32_in = |at: usize| bytes::u32_at(file, headers.optional.saturating_add(at)).unwrap_or(0);
    // Values that depend on the record's length are filled in below; the record's length only depends on which words
    // change.
    let header = headers.table.saturating_add(headers.sections.len().saturating_mul(SECTION));
    let mut words = edits.words();
    for (at, len) in
        [(header, SECTION), (headers.optional.saturating_add(8), 4), (headers.optional.saturating_add(56), 12)]
    {
        words.extend((at & !7..at.saturating_add(len)).step_by(8));
    }
    words.extend((headers.coff & !7..headers.coff.saturating_add(12)).step_by(8));
    if before != file {
        // The headers were moved to make room for a section header.
        words.extend((0..headers.headers_size as usize).step_by(8));
    }
    let original = |word: usize| bytes::u64_at(before, word).ok_or_else(too_large);
    if words.len() > MAX_PATCHES as usize {
        return Err(Error::input("the headers are too large to be put back"));
    }
    let patches = words.iter().map(|&word| Ok(Patch { offset: word as u64, original: original(word)? }));
    let mut record = Record {
        layer,
        original_len: before.len() as u64,
        original_hash: Record::hash(before),
        embedded_len: 0,
        tail: behind.len() as u64,
        patches: patches.collect::<Result<_>>()?,
        notes: notes.to_vec(),
    };
    let record_at = new.reserve(record.len() as u64, 8)?;
    let begin = new.address;
    new.put(begin, &record_at.saturating_sub(begin).to_le_bytes())?;
    let size = u32::try_from(new.bytes.len()).map_err(|_| too_large())?;
    let raw_size = bytes::align_up(size.into(), headers.file_align.into()).ok_or_else(too_large)?;
    let raw_end = new.raw.checked_add(raw_size).ok_or_else(too_large)?;
    record.embedded_len = raw_end.checked_add(behind.len() as u64).ok_or_else(too_large)?;
    new.put(record_at, &record.to_bytes())?;

    let to_u32 = |value: u64| u32::try_from(value).map_err(|_| too_large());
    let relative = new.relative(begin)?;
    let image_size = bytes::align_up(u64::from(relative).saturating_add(size.into()), headers.section_align.into());
    let image_size = image_size.ok_or_else(too_large)?;
    let mut section = [0u8; SECTION];
    let mut done = bytes::put(&mut section, 0, PE_SECTION.as_bytes());
    for (at, value) in [(8, size), (12, relative), (16, to_u32(raw_size)?), (20, to_u32(new.raw)?), (36, FLAGS)] {
        done &= bytes::put(&mut section, at, &value.to_le_bytes());
    }
    edits.put(header, &section);
    let count = u16::try_from(headers.sections.len().saturating_add(1)).map_err(|_| too_large())?;
    edits.put(headers.coff.saturating_add(2), &count.to_le_bytes());
    if u64::from(headers.symbols) >= overlay && headers.symbols != 0 {
        let moved = raw_end.saturating_add(u64::from(headers.symbols).saturating_sub(overlay));
        edits.put(headers.coff.saturating_add(8), &to_u32(moved)?.to_le_bytes());
    }
    edits.put(headers.optional.saturating_add(8), &u32_in(8).saturating_add(to_u32(raw_size)?).to_le_bytes());
    edits.put(headers.optional.saturating_add(56), &to_u32(image_size)?.to_le_bytes());

    let index = |at: u64| usize::try_from(at).map_err(|_| too_large());
    let more = new.bytes.len().saturating_add(behind.len()).saturating_add(headers.file_align as usize * 2);
    let mut out = Draft::copy_of(sections, more)?;
    for (at, bytes) in &edits.0 {
        done &= bytes::put(&mut out, *at, bytes);
    }
    out.resize(index(new.raw)?)?;
    out.extend(&new.bytes)?;
    out.resize(index(raw_end)?)?;
    out.extend(behind)?;
    update_checksum(&mut out)?;
    if done { Ok(out) } else { Err(too_large()) }
}

#[cold]
fn too_large() -> Error {
    Error::input("the rewritten file would be larger than a PE file can be, or its headers are malformed")
}
