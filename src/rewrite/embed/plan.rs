//! Where is everything in the added segment?
//!
//! The segment must be at the end of the file, so no other data may be there. Installers, AppImages, PyInstaller programs and
//! signed files carry data behind the last byte that the ELF headers describe, and find it from the end of the file. A segment
//! added behind it would hide it from them.

use super::Addition;
use super::arrays::{self, Structure, source, source_place};
use super::record::{Layer, Patch, Record};
use super::relocations::Table;
use super::standalone::StandaloneImages;
use crate::bundle::Bundle;
use crate::bundle::structure::{Descriptor, check_undisputed};
use crate::bytes;
use crate::container::Host;
use crate::container::elf::{Elf, Machine};
use crate::error::{Error, Result};
use crate::rewrite::image_data::Bases;
use object::LittleEndian as LE;
use object::elf::{self, PT_LOAD, ProgramHeader64, SHT_NOBITS, SectionHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use std::collections::{HashMap, HashSet};

/// Alignment of payloads; DPC++'s wrapper uses the same.
pub(crate) const PAYLOAD_ALIGN: u64 = 16;

/// Bytes that stay free behind the last payload. Where the data before it ends at no multiple of eight, GNU strip has the
/// segment begin up to seven bytes earlier, right behind that, and as many are gone from its end.
const REAR: u64 = 8;

/// New array of one descriptor.
pub(super) struct Array {
    /// Virtual addresses of the descriptor and its copies.
    pub(crate) descriptors: Vec<u64>,
    /// Virtual address of the array.
    pub(crate) address: u64,
    /// Structures of the array.
    pub(crate) structures: Vec<Structure>,
}

/// Images to add.
pub(super) struct New<'p> {
    /// Images that share the tables of others.
    pub(crate) additions: &'p [Addition<'p>],
    /// Images with tables of their own.
    pub(crate) standalone: Option<&'p StandaloneImages<'p>>,
    /// Indexes of images that are no longer listed.
    pub(crate) omitted: &'p HashSet<usize>,
    /// Additions that replace images.
    pub(crate) replacing: &'p [Addition<'p>],
    /// Purpose of the segment, for the record.
    pub(crate) layer: Layer,
}

/// Payload of an image, with its target.
pub(in crate::rewrite) struct Payload<'p> {
    pub(crate) address: u64,
    pub(crate) target: &'p str,
    pub(crate) bytes: &'p [u8],
}

/// Layout of the added segment.
pub(super) struct Plan<'p> {
    pub(crate) table: Table,
    pub(crate) record: Record,
    /// File offset and address of the segment.
    pub(crate) offset: u64,
    pub(crate) address: u64,
    /// Bytes before the program headers, in a segment of their own.
    pub(crate) before: u64,
    /// Alignment of that segment.
    pub(crate) before_align: u64,
    pub(crate) headers: u64,
    pub(crate) record_address: u64,
    pub(crate) arrays: Vec<Array>,
    /// Addresses of words that become 0: sizes in `.tgtimg`, and first words of structures.
    pub(crate) unlisted: Vec<u64>,
    pub(crate) targets: Vec<u8>,
    pub(crate) targets_address: u64,
    pub(crate) relocations: Vec<u8>,
    pub(crate) relocations_address: u64,
    pub(crate) relocation_count: usize,
    /// Tables and strings of images with tables of their own, by address.
    pub(crate) tables: Vec<(u64, Vec<u8>)>,
    /// Payloads in address order.
    pub(crate) payloads: Vec<Payload<'p>>,
    pub(crate) end: u64,
}

/// Allocator of consecutive addresses.
struct Cursor(u64);

impl Cursor {
    fn take(&mut self, size: u64, align: u64) -> Result<u64> {
        let overflow = || Error::input("the rewritten file would pass the end of the address space");
        let start = bytes::align_up(self.0, align).ok_or_else(overflow)?;
        self.0 = start.checked_add(size).ok_or_else(overflow)?;
        Ok(start)
    }
}

impl<'p> Plan<'p> {
    pub(crate) fn new(
        host: &Host<'_>,
        elf: &Elf<'_>,
        bundle: &Bundle<'_>,
        new: &New<'p>,
        notes: &[(String, String)],
    ) -> Result<Plan<'p>> {
        let additions = new.additions;
        check(host.bytes, elf)?;
        check_undisputed(&host.addresses, &bundle.descriptors)?;
        let table = Table::find(host, elf)?;
        let (offset, address) = place(host.bytes.len() as u64, elf)?;
        let filled = filled(host.bytes, elf);
        let mut kept = arrays::kept(bundle, new.replacing);
        let omitted = bundle.images.iter().filter(|image| new.omitted.contains(&image.index));
        let omitted: HashSet<u64> = omitted.filter_map(|image| Some(image.origin?.address)).collect();
        kept.iter_mut().for_each(|list| list.retain(|address| !omitted.contains(address)));
        let mut unlisted = arrays::unlisted(host, bundle, &kept);
        // Structures that nothing lists would be taken for those of a hidden list.
        let listed: HashSet<u64> = kept.iter().flatten().copied().collect();
        unlisted.extend(arrays::copies(host, bundle, |address| listed.contains(&address)));
        let record = Record {
            layer: new.layer,
            tail: 0,
            original_len: host.bytes.len() as u64,
            original_hash: Record::hash(host.bytes),
            // `write` fills this in, as it does the patches' offsets and words; only their number decides the record's
            // length.
            embedded_len: 0,
            patches: vec![Patch { offset: 0, original: 0 }; patch_count(&table, bundle).saturating_add(unlisted.len())],
            notes: notes.to_vec(),
        };
        let before = before(elf, filled, address);
        let before_align = before_align(elf, filled, offset, address);
        let mut cursor = Cursor(address);
        cursor.take(before, 1)?;
        // The program headers come first and belong to no section: GNU strip and objcopy expect them there and would
        // otherwise shift what follows.
        let header_size = header_count(elf, before).saturating_mul(size_of::<ProgramHeader64<LE>>() as u64);
        let headers = cursor.take(header_size, 8)?;
        let record_address = cursor.take(record.len() as u64, 8)?;

        // The sizes of the arrays do not depend on the addresses in them.
        let placed = places_of(bundle, additions);
        let sizes = array_sizes(bundle, new, &kept, &placed)?;
        let mut addresses = Vec::new();
        for size in sizes {
            addresses.push(cursor.take(size, 8)?);
        }
        let (targets, target_offsets) = target_strings(additions);
        let targets_address = cursor.take(targets.len() as u64, 1)?;
        let tables_sizes = new.standalone.map_or((0, 0), |standalone| standalone.table_sizes());
        let structures_address = cursor.take(tables_sizes.0, 8)?;
        let constants_address = cursor.take(tables_sizes.1, 8)?;
        let relocations_address = cursor.take(0, 8)?;

        // Payloads follow the relocations, whose number is that of the non-null pointers.
        let mut payload_cursor = Cursor(0);
        let mut shared = Vec::new();
        for (addition, target) in additions.iter().zip(target_offsets) {
            let at = payload_cursor.take(addition.payload.len() as u64, PAYLOAD_ALIGN)?;
            shared.push((at, targets_address.saturating_add(target), addition));
        }
        let shared = Shared { all: shared, placed };
        let own = payload_cursor.take(new.standalone.map_or(0, StandaloneImages::payload_size), PAYLOAD_ALIGN)?;
        let draft = Draft {
            file: (host, elf, bundle),
            standalone: new.standalone,
            kept,
            addresses,
            structures_address,
            constants_address,
            shared,
            own,
        };
        // Any base but 0 gives the same non-null pointers, and so the same number of relocations.
        let (size, _) = draft.relocations(&table, &draft.arrays(address)?, address)?;
        let payload_base = cursor.take(0, 1)?.saturating_add(size.len() as u64);
        let payload_base = bytes::align_up(payload_base, PAYLOAD_ALIGN)
            .ok_or_else(|| Error::input("the rewritten file would pass the end of the address space"))?;
        let arrays = draft.arrays(payload_base)?;
        let (relocations, relocation_count) = draft.relocations(&table, &arrays, payload_base)?;
        let bases = draft.bases(payload_base);
        let payload = |(at, _, addition): &(u64, u64, &'p Addition<'p>)| Payload {
            address: payload_base.saturating_add(*at),
            target: addition.target,
            bytes: addition.payload,
        };
        let mut payloads: Vec<Payload<'p>> = draft.shared.all.iter().map(payload).collect();
        let mut tables = Vec::new();
        if let Some(standalone) = new.standalone {
            payloads.extend(standalone.payloads(&bases));
            tables = standalone.tables(&bases);
        }
        let end = payload_base.saturating_add(payload_cursor.0).saturating_add(REAR);
        let end = bytes::align_up(end, PAYLOAD_ALIGN)
            .ok_or_else(|| Error::input("the rewritten file would pass the end of the address space"))?;
        Ok(Plan {
            table,
            record,
            offset,
            address,
            before,
            before_align,
            headers,
            record_address,
            arrays,
            unlisted,
            targets,
            targets_address,
            relocations,
            relocations_address,
            relocation_count,
            tables,
            payloads,
            end,
        })
    }
}

/// Positions of additions, by the list of their source.
type Placed = HashMap<usize, Vec<usize>>;

fn places_of(bundle: &Bundle<'_>, additions: &[Addition<'_>]) -> Placed {
    let mut placed = Placed::new();
    for (nth, addition) in additions.iter().enumerate() {
        if let Some(place) = source_place(bundle, addition) {
            placed.entry(place).or_default().push(nth);
        }
    }
    placed
}

/// Returns the bytes of each descriptor's new array.
///
/// # Errors
/// `Input` where one would hold more structures than its count can tell.
fn array_sizes(bundle: &Bundle<'_>, new: &New<'_>, kept: &[Vec<u64>], placed: &Placed) -> Result<Vec<u64>> {
    let size = |(place, descriptor): (usize, &Descriptor)| {
        let added = placed.get(&place).map_or(0, Vec::len);
        let own = new.standalone.filter(|standalone| standalone.descriptor == place).map_or(0, StandaloneImages::len);
        let count = kept.get(place).map_or(0, Vec::len).saturating_add(added).saturating_add(own);
        if count > usize::from(u16::MAX) {
            let message = format!("a list of images would hold {count}; its count is a 16-bit field");
            return Err(Error::input(message).with_remedy("select fewer images, or use --emit shared"));
        }
        Ok(count as u64 * descriptor.layout.stride())
    };
    bundle.descriptors.iter().enumerate().map(size).collect()
}

/// Images that share tables.
struct Shared<'p> {
    /// Each with its payload's distance from the first and the address of its target.
    all: Vec<(u64, u64, &'p Addition<'p>)>,
    placed: Placed,
}

/// Plan whose payloads have no addresses yet.
struct Draft<'d, 'p> {
    file: (&'d Host<'d>, &'d Elf<'d>, &'d Bundle<'d>),
    /// Images with tables of their own.
    standalone: Option<&'p StandaloneImages<'p>>,
    /// Addresses of the structures that stay, by descriptor.
    kept: Vec<Vec<u64>>,
    /// Addresses of the new arrays, by descriptor.
    addresses: Vec<u64>,
    structures_address: u64,
    constants_address: u64,
    shared: Shared<'p>,
    /// Distance of the payloads of the others.
    own: u64,
}

impl Draft<'_, '_> {
    fn bases(&self, base: u64) -> Bases {
        Bases {
            constants: self.constants_address,
            structures: self.structures_address,
            payloads: base.saturating_add(self.own),
        }
    }

    /// Returns the new arrays, with the first payload at `base`.
    fn arrays(&self, base: u64) -> Result<Vec<Array>> {
        let (host, _, bundle) = self.file;
        let mut arrays = Vec::new();
        for (place, descriptor) in bundle.descriptors.iter().enumerate() {
            let mut structures = Vec::new();
            for &address in self.kept.get(place).map_or(&[][..], Vec::as_slice) {
                structures.push(arrays::existing(host, descriptor, address)?);
            }
            let here = self.shared.placed.get(&place).map_or(&[][..], Vec::as_slice);
            for (at, target, addition) in here.iter().filter_map(|nth| self.shared.all.get(*nth)) {
                let Some(source) = source(bundle, addition) else { continue };
                let start = base.saturating_add(*at);
                let payload = start..start.saturating_add(addition.payload.len() as u64);
                structures.push(arrays::added(host, descriptor, source, addition.format, *target, payload)?);
            }
            if let Some(standalone) = self.standalone.filter(|standalone| standalone.descriptor == place) {
                structures.extend(standalone.structures(&self.bases(base)));
            }
            let address = self.addresses.get(place).copied().unwrap_or(0);
            arrays.push(Array { descriptors: descriptor.addresses().collect(), address, structures });
        }
        Ok(arrays)
    }

    /// Returns the pointers to an array that relocations write, with their value. Of several descriptors one may be a copy without.
    fn moved(&self, array: &Array) -> Vec<(u64, u64)> {
        let (host, ..) = self.file;
        let pointers = array.descriptors.iter().map(|descriptor| descriptor.saturating_add(8));
        let (relocated, others): (Vec<u64>, Vec<u64>) =
            pointers.partition(|pointer| host.addresses.first_changed(*pointer, 8).is_some());
        let pointers = if relocated.is_empty() { others } else { relocated };
        pointers.into_iter().map(|pointer| (pointer, array.address)).collect()
    }

    /// Returns the extended relocation table, and the number of new relocations.
    fn relocations(&self, table: &Table, arrays: &[Array], base: u64) -> Result<(Vec<u8>, usize)> {
        let mut places = places(arrays);
        places.extend(self.standalone.map_or_else(Vec::new, |standalone| standalone.places(&self.bases(base))));
        let moved: Vec<(u64, u64)> = arrays.iter().flat_map(|array| self.moved(array)).collect();
        Ok((table.extended(&places, &moved)?, places.len()))
    }
}

/// Returns the addresses of all pointers in the arrays, with their values.
fn places(arrays: &[Array]) -> Vec<(u64, u64)> {
    let mut places = Vec::new();
    for array in arrays {
        let mut base = array.address;
        for structure in &array.structures {
            for at in structure.pointers() {
                let value = usize::try_from(at).ok().and_then(|at| bytes::u64_at(&structure.bytes, at));
                places.push((base.saturating_add(at), value.unwrap_or(0)));
            }
            base = base.saturating_add(structure.bytes.len() as u64);
        }
    }
    places
}

/// Returns the number of patches of the file header, the dynamic section and the descriptors.
fn patch_count(table: &Table, bundle: &Bundle<'_>) -> usize {
    3 + table.dynamic(0, &[], 0).len() + bundle.descriptors.iter().flat_map(Descriptor::addresses).count() * 2
}

/// Returns the target strings, each once, and the offset of each addition's target among them.
fn target_strings(additions: &[Addition<'_>]) -> (Vec<u8>, Vec<u64>) {
    let mut strings: Vec<u8> = Vec::new();
    let mut known: Vec<(&str, u64)> = Vec::new();
    let mut offsets = Vec::new();
    for addition in additions {
        let offset = match known.iter().find(|(target, _)| *target == addition.target) {
            Some((_, offset)) => *offset,
            None => {
                let offset = strings.len() as u64;
                strings.extend_from_slice(addition.target.as_bytes());
                strings.push(0);
                known.push((addition.target, offset));
                offset
            }
        };
        offsets.push(offset);
    }
    (strings, offsets)
}

/// Largest hole in the file that moving an executable's program headers may leave. Their file offset must match their
/// address, so memory without file contents (`.bss`) becomes a hole.
const MAX_HOLE: u64 = 1 << 28;

/// Largest alignment of the new segment: a large page of x86-64, and more than any page that an ELF file must fit. The
/// padding is bounded whatever the file declares. The segment may be aligned to less than its neighbours: loaders only
/// require that address and offset agree modulo the page and the segment's own alignment.
const MAX_ALIGN: u64 = 2 << 20;

/// Largest alignment that keeps a hole in an executable: no more than what programs at a fixed address begin at. A system
/// chooses the address of the others in as large steps.
const MAX_HELD: u64 = 4 << 20;

/// Returns the alignment of the new segment: the largest of the file's own segments, at least a page and at most
/// `MAX_ALIGN`. In an executable the largest page of its machine, since what it is aligned to makes a hole, or what the first
/// segment is aligned to where that is less.
pub(crate) fn segment_align(elf: &Elf<'_>) -> u64 {
    let loads = elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    let mut aligns = loads.map(|header| header.p_align(LE)).filter(|align| align.is_power_of_two());
    if is_executable(elf) {
        return aligns.next().unwrap_or(1).clamp(0x1000, page(elf));
    }
    aligns.max().unwrap_or(1).clamp(0x1000, MAX_ALIGN)
}

/// Whether the file can be executed: a program, or a library with an entry point. A program without an interpreter at any address
/// (`-static-pie`) is flagged as one; linkers before that flag name an entry point, and neither the file nor what it needs.
pub(crate) fn is_executable(elf: &Elf<'_>) -> bool {
    let interpreted = || elf.program_headers.iter().any(|header| header.p_type(LE) == elf::PT_INTERP);
    let has = |tag| elf.dynamic_entry(tag).is_some();
    let alone = || elf.header.e_entry(LE) != 0 && !has(elf::DT_SONAME) && !has(elf::DT_NEEDED);
    elf.header.e_type(LE) == elf::ET_EXEC || interpreted() || elf.is_flagged_program() || alone()
}

/// Returns the program headers that are moved, in order. A library's own `PT_PHDR`, which lld writes and nothing needs,
/// is left out: patchelf assumes that its address and file offset differ as those of the first segment do.
pub(crate) fn kept_headers(elf: &Elf<'_>) -> Vec<ProgramHeader64<LE>> {
    let keep = |header: &&ProgramHeader64<LE>| header.p_type(LE) != elf::PT_PHDR || is_executable(elf);
    elf.program_headers.iter().filter(keep).copied().collect()
}

/// Size of the largest pages that machines of this kind have.
pub(in crate::rewrite) fn page(elf: &Elf<'_>) -> u64 {
    if elf.machine == Some(Machine::X86_64) { 0x1000 } else { 0x1_0000 }
}

/// Returns how many bytes stand before the program headers: the rest of the page that the file's data ends in, where
/// memory behind it is cleared.
///
/// The C library takes the program headers of a library without `PT_PHDR` from the first segment on whose pages of the
/// file they are, cleared memory or not. They must not be on the last page of such data, not either where GNU strip has
/// the segment follow it directly.
///
/// GNU strip puts a segment without headers to where it is aligned, and one that begins with them right behind what is
/// filled before. They begin on a page where that is to be the same: in an executable, and behind a segment of which
/// sections cover no end, which GNU strip cuts off.
fn before(elf: &Elf<'_>, filled: u64, address: u64) -> u64 {
    let page = page(elf);
    let end = |header: &ProgramHeader64<LE>| header.p_offset(LE).saturating_add(header.p_filesz(LE));
    let loads = || elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    let packed = packed(elf);
    let cleared =
        |header: &ProgramHeader64<LE>| header.p_memsz(LE) > header.p_filesz(LE) && end(header) / page == packed / page;
    let is_told = kept_headers(elf).iter().any(|header| header.p_type(LE) == elf::PT_PHDR);
    let rest = address.wrapping_neg() & (page - 1);
    if is_executable(elf) || filled != packed {
        return if rest == 0 { page } else { rest };
    }
    if is_told || !loads().any(cleared) { 0 } else { rest }
}

/// Returns the alignment of the segment before the program headers. GNU strip and `llvm-strip` close holes in the file as
/// far as segments stay congruent to their addresses: one aligned to more than a hole stays where it is, and with it the
/// distance of an executable's program headers from its first segment.
fn before_align(elf: &Elf<'_>, filled: u64, offset: u64, address: u64) -> u64 {
    let least = segment_align(elf);
    let cut = packed(elf).saturating_sub(filled);
    let hole = offset.saturating_sub(closed(elf).saturating_sub(cut));
    let align = hole.saturating_add(1).checked_next_power_of_two().unwrap_or(u64::MAX).max(least);
    let is_congruent = || address.wrapping_sub(offset) & (align - 1) == 0;
    if is_executable(elf) && align <= MAX_HELD && is_congruent() { align } else { least }
}

/// Returns the offset behind the last loadable segment once the holes of the file are closed.
fn closed(elf: &Elf<'_>) -> u64 {
    let mut end = 0u64;
    for header in elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD) {
        let align = header.p_align(LE).max(1);
        // GNU strip does not align the segment of the program headers.
        let headers = elf.header.e_phoff(LE).checked_sub(header.p_offset(LE));
        let is_packed = headers.is_some_and(|at| at < header.p_filesz(LE)) || !align.is_power_of_two();
        let padding = if is_packed { 0 } else { header.p_vaddr(LE).wrapping_sub(end) & (align - 1) };
        end = end.saturating_add(padding).saturating_add(header.p_filesz(LE));
    }
    end.min(packed(elf))
}

/// Returns the offset behind the last loadable segment.
fn packed(elf: &Elf<'_>) -> u64 {
    let loads = elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    loads.map(|header| header.p_offset(LE).saturating_add(header.p_filesz(LE))).max().unwrap_or(0)
}

/// Returns the offset behind what sections cover of the loadable segments, which GNU strip keeps; behind all of them, where
/// the file has no sections.
fn filled(bytes: &[u8], elf: &Elf<'_>) -> u64 {
    let packed = packed(elf);
    let sections = elf.header.section_headers(LE, bytes).unwrap_or_default();
    let is_loaded = |section: &&SectionHeader64<LE>| {
        section.sh_flags(LE).contains(elf::SHF_ALLOC) && section.sh_type(LE) != SHT_NOBITS && section.sh_size(LE) > 0
    };
    let ends = sections.iter().filter(is_loaded);
    ends.map(|section| section.sh_offset(LE).saturating_add(section.sh_size(LE))).max().unwrap_or(packed).min(packed)
}

/// Number of program headers of the result.
pub(super) fn header_count(elf: &Elf<'_>, before: u64) -> u64 {
    kept_headers(elf).len() as u64 + 1 + u64::from(before != 0)
}

/// Returns the file offset and address of the new segment.
pub(crate) fn place(len: u64, elf: &Elf<'_>) -> Result<(u64, u64)> {
    let loads = || elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    let align = segment_align(elf);
    let overflow = || Error::input("the file's segments reach the end of the address space");
    let end = loads().map(|header| header.p_vaddr(LE).saturating_add(header.p_memsz(LE))).max().unwrap_or(0);
    let page = bytes::align_up(end, align).ok_or_else(overflow)?;
    let offset = bytes::align_up(len, PAYLOAD_ALIGN).ok_or_else(overflow)?;
    // Address and offset must agree modulo the page. GNU strip packs the segment right behind the previous one without
    // checking, so only that end keeps a stripped file correct.
    let skew = bytes::align_up(packed(elf), 8).ok_or_else(overflow)? & (align - 1);
    if !is_executable(elf) {
        let address = page.checked_add(skew).ok_or_else(overflow)?;
        let padding = skew.wrapping_sub(offset) & (align - 1);
        return Ok((offset.checked_add(padding).ok_or_else(overflow)?, address));
    }
    // Kernels before 5.18 give a program the address of its program headers as the first segment's address plus
    // e_phoff, so in an executable the segment's distance from the first one must be the same in the file and in
    // memory. (GNU strip closes a hole of `MAX_HELD` or more: programs stripped so run only on later kernels,
    // which use PT_PHDR.)
    let first = loads().next().ok_or_else(|| Error::input("the file has no loadable segment"))?;
    let bias = first.p_vaddr(LE).checked_sub(first.p_offset(LE)).ok_or_else(overflow)?;
    let least = page.max(offset.checked_add(bias).ok_or_else(overflow)?);
    let address = least.checked_add(skew.wrapping_sub(least) & (align - 1)).ok_or_else(overflow)?;
    let at = address.checked_sub(bias).ok_or_else(overflow)?;
    if at.saturating_sub(offset) > MAX_HOLE {
        return Err(Error::input(
            "this executable cannot be rewritten: its uninitialised data would become a hole of over 256 MB",
        )
        .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded"));
    }
    Ok((at, address))
}

/// Checks that no data follows the end of an ELF file. Programs that carry data there (installers, AppImages,
/// PyInstaller, signatures) find it from the end of the file, so an added segment would hide it.
///
/// # Errors
/// `Input`, with its length and a remedy, where data that is not padding follows.
pub(crate) fn check(bytes: &[u8], elf: &Elf<'_>) -> Result<()> {
    let end = elf.end();
    let behind = usize::try_from(end).ok().and_then(|end| bytes.get(end..)).unwrap_or_default();
    if behind.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let message = format!(
        "{} bytes trail the ELF file (an archive, a signature), which would be no longer at its end",
        behind.len()
    );
    Err(Error::at(end, message)
        .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded"))
}
