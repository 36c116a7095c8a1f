//! How do added images get into a linked file's own list?
//!
//! A copy of the file gets one more loadable segment at its end. It holds the moved program headers, a record of what
//! was done, new image arrays (the old structures and the added ones, which share the old entries and property sets),
//! the extended relocation table, and the payloads. In the file itself only these words change: in the file header the
//! places and counts of program and section headers, in the dynamic section the place and size of the relocation
//! table, in each descriptor the count and the array. Everything else stays byte for byte.
//!
//! This is written by hand since crate `object` cannot do it: its `build` module lays the whole file out anew from its
//! sections (offsets and, for files without section headers, contents would change), and its `write` module makes new
//! files only. Its structures, constants and readers are used throughout.

mod arrays;
pub mod record;
mod relocations;
mod sections;

use crate::bundle::Bundle;
use crate::bytes;
use crate::container::Host;
use crate::container::elf::Elf;
use crate::error::{Context, Error, Result};
use arrays::Structure;
use object::LittleEndian as LE;
use object::U64;
use object::elf::{self, PF_R, PF_W, PT_LOAD, PT_PHDR, ProgramHeader64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, ProgramHeader};
use record::{Patch, Record};
use relocations::Table;
use std::collections::HashMap;

/// `sycl_device_binary_type` of native code.
pub const FORMAT_NATIVE: u8 = 1;

/// Alignment of payloads; DPC++'s wrapper uses the same.
const PAYLOAD_ALIGN: u64 = 16;

/// Largest hole that moving an executable's program headers may need: they must stand in the file where their address
/// says, so memory that is not in the file (`.bss`) becomes a hole.
const MAX_HOLE: u64 = 1 << 28;

/// An image to add to a file's own list.
#[derive(Debug, Clone, Copy)]
pub struct Addition<'a> {
    /// Index of the image it was compiled from, whose options, entries and property sets it shares.
    pub source: usize,
    /// Its `DeviceTargetSpec`.
    pub target: &'a str,
    /// Its `sycl_device_binary_type`.
    pub format: u8,
    /// Its payload.
    pub payload: &'a [u8],
}

/// Adds images to the lists of a linked ELF file. `notes` say how they were made and can be read back with
/// [`Record::find`]. An image of the same target and symbols that is in the file already is replaced.
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
    let plan = Plan::new(host, elf, bundle, additions, notes)?;
    let out = plan.write(host, elf)?;
    verify(&out, bundle, additions).context(|| "checking the rewritten file".to_owned())?;
    Ok(out)
}

/// The new array of one descriptor.
struct Array {
    /// Virtual address of the descriptor.
    descriptor: u64,
    /// Virtual address of the array.
    address: u64,
    /// Its structures.
    structures: Vec<Structure>,
}

/// Where everything goes.
struct Plan<'p> {
    table: Table,
    record: Record,
    /// File offset and address of the segment.
    offset: u64,
    address: u64,
    headers: u64,
    record_address: u64,
    arrays: Vec<Array>,
    targets: Vec<u8>,
    targets_address: u64,
    relocations: Vec<u8>,
    relocations_address: u64,
    relocation_count: usize,
    /// Address and payload, in address order.
    payloads: Vec<(u64, &'p Addition<'p>)>,
    end: u64,
}

/// Hands out addresses one after the other.
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
    fn new(
        host: &Host<'_>,
        elf: &Elf<'_>,
        bundle: &Bundle<'_>,
        additions: &'p [Addition<'p>],
        notes: &[(String, String)],
    ) -> Result<Plan<'p>> {
        let table = Table::of(host, elf)?;
        let (offset, address) = place(host.bytes.len() as u64, elf)?;
        let mut record = Record {
            original_len: host.bytes.len() as u64,
            original_hash: *blake3::hash(host.bytes).as_bytes(),
            // Their number decides the record's length; offsets and words are filled in by `write`.
            patches: vec![Patch { offset: 0, original: 0 }; 3 + 3 + bundle.descriptors.len() * 2],
            notes: notes.to_vec(),
        };
        record.patches.truncate(patch_count(&table, bundle));
        let mut cursor = Cursor(address);
        // The program headers stand first and belong to no section: GNU strip and objcopy know no other place for them in
        // a segment, and would shift what follows.
        let header_size = (elf.program_headers.len() as u64 + 1) * size_of::<ProgramHeader64<LE>>() as u64;
        let headers = cursor.take(header_size, 8)?;
        let record_address = cursor.take(record.len() as u64, 8)?;

        // The arrays' size is known before the addresses they hold.
        let kept = arrays::kept(bundle, additions);
        let mut sizes = Vec::new();
        for (place, descriptor) in bundle.descriptors.iter().enumerate() {
            let added = additions.iter().filter(|addition| source_place(bundle, addition) == Some(place)).count();
            let count = kept.get(place).map_or(0, Vec::len).saturating_add(added);
            if count > usize::from(u16::MAX) {
                return Err(Error::input(format!("a list of images would hold {count}; its count is a 16-bit field"))
                    .with_remedy("select fewer images, or use --emit shared"));
            }
            sizes.push(cursor.take(count as u64 * descriptor.layout.stride(), 8)?);
        }
        let (targets, target_offsets) = target_strings(additions);
        let targets_address = cursor.take(targets.len() as u64, 1)?;
        let relocations_address = cursor.take(0, 8)?;

        // Payloads follow the relocations, whose number follows from the structures: pointers that are not null.
        let mut payload_cursor = Cursor(0);
        let mut payloads = Vec::new();
        for addition in additions {
            payloads.push((payload_cursor.take(addition.payload.len() as u64, PAYLOAD_ALIGN)?, addition));
        }
        let build = |base: u64| -> Result<Vec<Array>> {
            let mut arrays = Vec::new();
            for (place, descriptor) in bundle.descriptors.iter().enumerate() {
                let mut structures = Vec::new();
                for image in kept.get(place).map_or(&[][..], Vec::as_slice) {
                    structures.push(arrays::existing(host, descriptor, image)?);
                }
                for ((at, addition), target) in payloads.iter().zip(&target_offsets) {
                    let Some(source) =
                        source(bundle, addition).filter(|_| source_place(bundle, addition) == Some(place))
                    else {
                        continue;
                    };
                    let start = base.saturating_add(*at);
                    let payload = start..start.saturating_add(addition.payload.len() as u64);
                    let target = targets_address.saturating_add(*target);
                    structures.push(arrays::added(host, descriptor, source, addition.format, target, payload)?);
                }
                let address = sizes.get(place).copied().unwrap_or(0);
                arrays.push(Array { descriptor: descriptor.address, address, structures });
            }
            Ok(arrays)
        };
        // Any base but 0 gives the same pointers that are not null, so the same number of relocations.
        let relocations = |arrays: &[Array]| -> Result<(Vec<u8>, usize)> {
            let places = places(arrays);
            let moved: Vec<(u64, u64)> =
                arrays.iter().map(|array| (array.descriptor.saturating_add(8), array.address)).collect();
            Ok((table.extended(host, elf, &places, &moved)?, places.len()))
        };
        let (draft, _) = relocations(&build(address)?)?;
        let payload_base = cursor.take(0, 1)?.saturating_add(draft.len() as u64);
        let payload_base = bytes::align_up(payload_base, PAYLOAD_ALIGN)
            .ok_or_else(|| Error::input("the rewritten file would pass the end of the address space"))?;
        let arrays = build(payload_base)?;
        let (relocations, relocation_count) = relocations(&arrays)?;
        let end = payload_base.saturating_add(payload_cursor.0);
        let payloads = payloads.into_iter().map(|(at, addition)| (payload_base.saturating_add(at), addition)).collect();
        Ok(Plan {
            table,
            record,
            offset,
            address,
            headers,
            record_address,
            arrays,
            targets,
            targets_address,
            relocations,
            relocations_address,
            relocation_count,
            payloads,
            end,
        })
    }

    /// The file offset of an address in the segment.
    fn at(&self, address: u64) -> u64 {
        address.saturating_sub(self.address).saturating_add(self.offset)
    }

    fn write(mut self, host: &Host<'_>, elf: &Elf<'_>) -> Result<Vec<u8>> {
        let mut out = host.bytes.to_vec();
        out.resize(index(self.at(self.end))?, 0);
        let sections = self.sections();
        let moved = self.table.old_address().map(|old_address| sections::Moved {
            old_address,
            address: self.relocations_address,
            offset: self.at(self.relocations_address),
            size: self.relocations.len() as u64,
        });
        let headers = sections::append(&mut out, host.bytes, moved.as_ref(), &sections)?;

        let mut patches = Vec::new();
        let mut patch = |out: &mut [u8], offset: u64, value: u64| -> Result<()> {
            let at = index(offset)?;
            let original = bytes::u64_at(out, at).ok_or_else(|| Error::at(offset, "nothing to patch there"))?;
            patches.push(Patch { offset, original });
            if bytes::put_u64(out, at, value) { Ok(()) } else { Err(Error::at(offset, "nothing to patch there")) }
        };
        // File header: e_phoff at 32, e_shoff at 40, and at 56 the word of e_phnum, e_shentsize, e_shnum, e_shstrndx.
        patch(&mut out, 32, self.at(self.headers))?;
        let e_shoff = headers.as_ref().map_or(elf.header.e_shoff(LE), |table| table.offset);
        patch(&mut out, 40, e_shoff)?;
        let e_phnum = elf.program_headers.len() as u64 + 1;
        let e_shnum = headers.as_ref().map_or(elf.header.e_shnum(LE), |table| table.count);
        let counts = e_phnum
            | u64::from(elf.header.e_shentsize(LE)) << 16
            | u64::from(e_shnum) << 32
            | u64::from(elf.header.e_shstrndx(LE).0) << 48;
        patch(&mut out, 56, counts)?;
        for (tag, value) in self.table.dynamic(self.relocations_address, &self.relocations, self.relocation_count) {
            let entry = elf.dynamic.iter().find(|entry| entry.tag == tag);
            let entry = entry.ok_or_else(|| Error::input("the dynamic section lacks the entry to change"))?;
            patch(&mut out, entry.offset.saturating_add(8), value)?;
        }
        for array in &self.arrays {
            let descriptor = host.addresses.file_offset(array.descriptor);
            let descriptor = descriptor.ok_or_else(|| Error::input("a descriptor is not in the file"))?;
            patch(&mut out, descriptor, 1 | (array.structures.len() as u64) << 16)?;
            patch(&mut out, descriptor.saturating_add(8), array.address)?;
        }
        self.record.patches = patches;

        let mut put = |address: u64, bytes: &[u8]| -> Result<()> {
            let at = self.at(address);
            let done = bytes::put(&mut out, index(at)?, bytes);
            if done { Ok(()) } else { Err(Error::at(at, "the added segment is too small")) }
        };
        put(self.record_address, &self.record.to_bytes())?;
        put(self.headers, &self.program_headers(elf))?;
        for array in &self.arrays {
            let mut address = array.address;
            for structure in &array.structures {
                put(address, &structure.bytes)?;
                address = address.saturating_add(structure.bytes.len() as u64);
            }
        }
        put(self.targets_address, &self.targets)?;
        put(self.relocations_address, &self.relocations)?;
        for (address, addition) in &self.payloads {
            put(*address, addition.payload)?;
        }
        Ok(out)
    }

    /// The program headers with the new segment: loadable ones stand in address order, and `PT_PHDR` says where they are.
    fn program_headers(&self, elf: &Elf<'_>) -> Vec<u8> {
        let last = elf.program_headers.iter().rposition(|header| header.p_type(LE) == PT_LOAD);
        let size = (elf.program_headers.len() as u64 + 1) * size_of::<ProgramHeader64<LE>>() as u64;
        let mut out = Vec::new();
        for (index, header) in elf.program_headers.iter().enumerate() {
            let mut header = *header;
            if header.p_type(LE) == PT_PHDR {
                header.p_offset = U64::new(LE, self.at(self.headers));
                header.p_vaddr = U64::new(LE, self.headers);
                header.p_paddr = U64::new(LE, self.headers);
                header.p_filesz = U64::new(LE, size);
                header.p_memsz = U64::new(LE, size);
            }
            out.extend_from_slice(bytes_of(&header));
            if Some(index) == last {
                let size = self.end.saturating_sub(self.address);
                out.extend_from_slice(bytes_of(&ProgramHeader64::<LE> {
                    p_type: object::U32::new(LE, PT_LOAD),
                    p_flags: object::U32::new(LE, PF_R | PF_W),
                    p_offset: U64::new(LE, self.offset),
                    p_vaddr: U64::new(LE, self.address),
                    p_paddr: U64::new(LE, self.address),
                    p_filesz: U64::new(LE, size),
                    p_memsz: U64::new(LE, size),
                    p_align: U64::new(LE, segment_align(elf)),
                }));
            }
        }
        out
    }

    /// The sections of the segment: `.sycl_bundle` for what the tool needs, and the payloads under the name that DPC++'s
    /// wrapper gives them, one section for each run of payloads of one target.
    fn sections(&self) -> Vec<sections::New> {
        let section = |name: String, address: u64, size: u64, align: u64, writable: bool| sections::New {
            name,
            address,
            offset: self.at(address),
            size,
            align,
            writable,
        };
        let size = self.relocations_address.saturating_sub(self.record_address);
        let mut out = vec![section(".sycl_bundle".to_owned(), self.record_address, size, 8, true)];
        for (address, addition) in &self.payloads {
            let name = format!("__CLANG_OFFLOAD_BUNDLE__sycl-{}", addition.target);
            let end = address.saturating_add(addition.payload.len() as u64);
            match out.last_mut() {
                Some(last) if last.name == name => last.size = end.saturating_sub(last.address),
                _ => out.push(section(name, *address, addition.payload.len() as u64, PAYLOAD_ALIGN, false)),
            }
        }
        out
    }
}

/// The relocated places of all arrays, and the addresses they hold.
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

/// Patches of the file header, the dynamic section and the descriptors.
fn patch_count(table: &Table, bundle: &Bundle<'_>) -> usize {
    3 + table.dynamic(0, &[], 0).len() + bundle.descriptors.len() * 2
}

fn source<'b, 'a>(bundle: &'b Bundle<'a>, addition: &Addition<'_>) -> Option<&'b crate::bundle::image::Image<'a>> {
    // Damaged images leave gaps in the numbering, so the position is a hint only.
    match bundle.images.get(addition.source) {
        Some(image) if image.index == addition.source => Some(image),
        _ => bundle.images.iter().find(|image| image.index == addition.source),
    }
}

fn source_place(bundle: &Bundle<'_>, addition: &Addition<'_>) -> Option<usize> {
    source(bundle, addition)?.origin.map(|origin| origin.descriptor)
}

/// The target strings, each once, and each addition's offset among them.
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

fn segment_align(elf: &Elf<'_>) -> u64 {
    elf.program_headers
        .iter()
        .filter(|header| header.p_type(LE) == PT_LOAD)
        .map(|header| header.p_align(LE))
        .filter(|align| align.is_power_of_two())
        .max()
        .unwrap_or(1)
        .max(0x1000)
}

/// File offset and address of the new segment.
fn place(len: u64, elf: &Elf<'_>) -> Result<(u64, u64)> {
    let loads = || elf.program_headers.iter().filter(|header| header.p_type(LE) == PT_LOAD);
    let align = segment_align(elf);
    let overflow = || Error::input("the file's segments reach the end of the address space");
    let end = loads().map(|header| header.p_vaddr(LE).saturating_add(header.p_memsz(LE))).max().unwrap_or(0);
    let page = bytes::align_up(end, align).ok_or_else(overflow)?;
    let offset = bytes::align_up(len, PAYLOAD_ALIGN).ok_or_else(overflow)?;
    let executable = elf.header.e_type(LE) == elf::ET_EXEC
        || elf.program_headers.iter().any(|header| header.p_type(LE) == elf::PT_INTERP);
    if !executable {
        // Address and offset agree within a page. Which place in the page is free to choose; GNU strip packs the segment
        // behind the previous one without looking, so only that one's end keeps the file right when it is stripped.
        let packed = loads().map(|header| header.p_offset(LE).saturating_add(header.p_filesz(LE))).max().unwrap_or(0);
        let skew = bytes::align_up(packed, 8).ok_or_else(overflow)? & (align - 1);
        let address = page.checked_add(skew).ok_or_else(overflow)?;
        let padding = skew.wrapping_sub(offset) & (align - 1);
        return Ok((offset.checked_add(padding).ok_or_else(overflow)?, address));
    }
    // Kernels before 5.18 tell a program the address of its program headers as the first segment's address plus e_phoff,
    // so in an executable the segment must stand in the file at its distance from the first segment.
    let first = loads().next().ok_or_else(|| Error::input("the file has no loadable segment"))?;
    let bias = first.p_vaddr(LE).checked_sub(first.p_offset(LE)).ok_or_else(overflow)?;
    let address =
        page.max(bytes::align_up(offset.checked_add(bias).ok_or_else(overflow)?, align).ok_or_else(overflow)?);
    let at = address.checked_sub(bias).ok_or_else(overflow)?;
    if at.saturating_sub(offset) > MAX_HOLE {
        return Err(Error::input(
            "this executable cannot be rewritten: its uninitialised data would become a hole of over 256 MB",
        )
        .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded"));
    }
    Ok((at, address))
}

fn index(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| Error::input("the rewritten file would not fit in memory"))
}

/// Reads the result back: every old image that was to stay and every addition is there, with the same symbols.
fn verify(out: &[u8], before: &Bundle<'_>, additions: &[Addition<'_>]) -> Result<()> {
    let host = Host::read(out)?;
    let after = Bundle::read(&host)?;
    let kept: usize = arrays::kept(before, additions).iter().map(Vec::len).sum();
    let expected = kept.saturating_add(additions.len());
    if after.images.len() != expected || after.problems.len() > before.problems.len() {
        let found = after.images.len();
        return Err(Error::input(format!("expected {expected} images, found {found}; nothing was written")));
    }
    let mut found: HashMap<(&str, &[&str]), Vec<&[u8]>> = HashMap::new();
    for image in &after.images {
        found.entry((image.target, &image.entries)).or_default().push(image.stored);
    }
    for addition in additions {
        let key = source(before, addition).map(|image| (addition.target, image.entries.as_slice()));
        let payloads = key.and_then(|key| found.get(&key)).map_or(&[][..], Vec::as_slice);
        if !payloads.contains(&addition.payload) {
            let image = addition.source;
            return Err(Error::input(format!("the native image of image {image} is not in it; nothing was written")));
        }
    }
    Ok(())
}
