//! Which images are in an OffloadBinary?
//!
//! OffloadBinary is LLVM's container of device code (`llvm/Object/OffloadBinary.h`), versions 1 to 3. Several may
//! follow one another, each at a multiple of 8 bytes: in `.llvm.offloading` sections of objects, and in concatenated
//! files. Version 1 holds one image each, later versions many; version 3 may be compressed. Offsets count from the
//! header.
//!
//! Linked files hold none, except those of upstream LLVM's SYCL, which registers the OffloadBinaries themselves: they
//! are in the file's data, and only code points to them.

use super::blob::{self, Reader};
use super::format::{Declared, Format};
use super::image::Image;
use super::property::Properties;
use super::{property_text, syclbin};
use crate::bytes::{self, Draft, align_up};
use crate::container::Place;
use crate::container::address::Segment;
use crate::container::{Host, OFFLOADING, inflate};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Magic number.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];
/// Size of an entry in bytes.
const ENTRY: usize = 40;

/// LLVM's `ImageKind`.
pub mod image_kind {
    /// Native object.
    pub(crate) const OBJECT: u16 = 1;
    /// LLVM bitcode.
    pub(crate) const BITCODE: u16 = 2;
    /// Cubin.
    pub(crate) const CUBIN: u16 = 3;
    /// Fatbin.
    pub(crate) const FATBIN: u16 = 4;
    /// PTX text.
    pub(crate) const PTX: u16 = 5;
    /// SPIR-V.
    pub const SPIRV: u16 = 6;
    /// SYCLBIN or a part of one (DPC++ only).
    pub(crate) const SYCLBIN: u16 = 7;
}

/// LLVM's `OffloadKind` of SYCL in the bit set of 2025 and later.
pub const SYCL: u16 = 8;

/// Key of property sets as text. It is this tool's own: OffloadBinaries define no key for them.
pub(crate) const PROPERTIES: &str = "sycl-property-sets";

/// Returns the `OffloadKind` of a programming model by name; SYCL where it has none.
pub(crate) fn kind_number(model: &str) -> u16 {
    match model {
        "openmp" => 1,
        "cuda" => 2,
        "hip" | "hipv4" => 4,
        _ => SYCL,
    }
}

/// Entry: an image with its strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// LLVM's `ImageKind`, as stored.
    pub image_kind: u16,
    /// LLVM's `OffloadKind`, as stored.
    pub offload_kind: u16,
    /// Flags; bit 0 marks an entry without an image.
    pub flags: u32,
    /// Keys and values in stored order.
    pub strings: Vec<(&'a [u8], &'a [u8])>,
    /// Bytes of the image.
    pub image: &'a [u8],
    /// Location of the bytes.
    pub place: Place,
}

impl<'a> Entry<'a> {
    /// Returns the value of a key: the last, as LLVM's tools have it.
    fn value(&self, key: &str) -> Option<&'a [u8]> {
        self.strings.iter().rev().find(|(known, _)| *known == key.as_bytes()).map(|(_, value)| *value)
    }

    /// Returns the value of a key if it is text; otherwise an empty string.
    pub(crate) fn string(&self, key: &str) -> &'a str {
        self.value(key).and_then(blob::text).unwrap_or_default()
    }

    /// Returns the names of a SYCL image's kernels, which upstream lists: one per line to LLVM 22, as a table since.
    pub fn symbols(&self) -> Vec<&'a str> {
        let Some(value) = self.value("symbols") else { return Vec::new() };
        symbol_table(value).unwrap_or_else(|| {
            // No name holds what a damaged table does.
            let is_text = |text: &&str| !text.chars().any(|one| one.is_control() && !matches!(one, '\n' | '\0'));
            let text = blob::text(value).filter(is_text).unwrap_or_default();
            text.split(['\n', '\0']).filter(|name| !name.is_empty()).collect()
        })
    }

    /// Returns the name of the programming model. Before the values became a bit set they were consecutive: 3 was HIP
    /// and 4 SYCL, where 4 is HIP now; the triple tells which.
    pub fn model(&self) -> &'static str {
        match self.offload_kind {
            1 => "openmp",
            2 => "cuda",
            4 if self.string("triple").starts_with("spir") => "sycl",
            3 | 4 => "hip",
            SYCL => "sycl",
            _ => "unknown",
        }
    }

    /// Whether it is said to be a SYCLBIN or a part of one, whose number was 6 in 2025, which is SPIR-V's now.
    pub(crate) fn is_of_syclbin(&self) -> bool {
        matches!(self.image_kind, image_kind::SYCLBIN | image_kind::SPIRV)
    }

    fn declared(&self) -> Declared {
        match self.image_kind {
            // The packager goes by a file's extension, and linkers by its first bytes: modules are in files `.o`, too.
            image_kind::OBJECT if Format::sniff(self.image).is_intermediate() => Declared::None,
            image_kind::OBJECT | image_kind::CUBIN | image_kind::FATBIN => Declared::Native,
            image_kind::BITCODE => Declared::LlvmBitcode,
            image_kind::SPIRV => Declared::SpirV,
            _ => Declared::None,
        }
    }
}

/// Reads every OffloadBinary in a blob or section. Damage becomes problems of the reader.
pub fn parse<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Vec<Vec<Entry<'a>>> {
    parse_each(reader, data, place, |_, _| ())
}

/// Parses like [`parse`], and hands on the place of each.
fn parse_each<'a>(
    reader: &mut Reader<'a>,
    data: &'a [u8],
    place: Place,
    met: impl Fn(&mut Reader<'a>, Place),
) -> Vec<Vec<Entry<'a>>> {
    let mut found = Vec::new();
    let mut at = 0usize;
    while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
        let here = place.at(at as u64);
        let len = if rest.starts_with(&MAGIC) {
            met(reader, here);
            match binary(reader, rest, here) {
                Ok((entries, len)) => {
                    found.push(entries);
                    len
                }
                Err(error) => {
                    reader.problem(here.locate(error).context("OffloadBinary"));
                    MAGIC.len()
                }
            }
        } else {
            // Padding or damage: the next OffloadBinary is searched at multiples of 8.
            let next = rest.chunks(8).position(|chunk| chunk.starts_with(&MAGIC)).map_or(rest.len(), |index| index * 8);
            if rest.get(..next).is_some_and(|gap| gap.iter().any(|&byte| byte != 0)) {
                reader.problem(here.error(format!("{next} bytes here are no OffloadBinary")));
            }
            next
        };
        at = at.saturating_add(len).checked_next_multiple_of(8).unwrap_or(usize::MAX);
    }
    found
}

/// Reads the OffloadBinary at the start of the data. Returns its entries and its length.
fn binary<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Result<(Vec<Entry<'a>>, usize)> {
    let word = |at| bytes::u64_at(data, at).ok_or_else(|| place.error("the header is cut short"));
    let version = bytes::u32_at(data, 4).unwrap_or(0);
    if !(1..=3).contains(&version) {
        return Err(place.at(4).error(format!("version {version}; 1 to 3 are known")));
    }
    let (size, entries, count) = (word(8)?, word(16)?, if version == 1 { 1 } else { word(24)? });
    // The field is the size of the one entry, to which DPC++'s runtime holds it; LLVM's tools do not look.
    if version == 1
        && let size = word(24)?
        && size != ENTRY as u64
    {
        reader.problem(place.at(24).error(format!("an entry of {size} bytes; of version 1 it has {ENTRY}")));
    }
    let inflated = if version < 3 { 0 } else { word(32)? };
    let header = if version < 3 { 32 } else { 40 };
    if size < header {
        return Err(place.at(8).error(format!("a size of {size} bytes, less than the header")));
    }
    let len = usize::try_from(size).unwrap_or(usize::MAX);
    let whole = data.get(..len).unwrap_or(data);
    if whole.len() < len {
        // The existing part is read nevertheless.
        reader.problem(place.at(8).error(format!("an OffloadBinary of {size} bytes; the file has {}", whole.len())));
    }
    let (body, inner) = if inflated == 0 { (whole, place) } else { inflate(reader, whole, place, entries, inflated)? };
    let table = usize::try_from(entries).ok().and_then(|at| body.get(at..));
    let table = table.ok_or_else(|| place.at(16).error(format!("the entries at {entries:#x} are beyond its end")))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if table.len() / ENTRY < count {
        let have = table.len() / ENTRY;
        reader.problem(place.at(24).error(format!("an OffloadBinary of {count} entries, of which {have} could fit")));
    }
    let mut found = Vec::new();
    for (index, raw) in table.chunks_exact(ENTRY).take(count).enumerate() {
        let here = inner.at(entries.saturating_add((index * ENTRY) as u64));
        match entry(reader, version, body, inner, raw) {
            Ok(entry) => found.push(entry),
            Err(error) => reader.problem(here.locate(error).context(format!("OffloadBinary entry {index}"))),
        }
    }
    Ok((found, len))
}

/// Inflates everything after the header. The header stays in front, since offsets count from it.
fn inflate<'a>(
    reader: &mut Reader<'a>,
    whole: &'a [u8],
    place: Place,
    entries: u64,
    inflated: u64,
) -> Result<(&'a [u8], Place)> {
    let split = usize::try_from(entries).ok().and_then(|at| whole.split_at_checked(at));
    let (header, packed) =
        split.ok_or_else(|| place.at(16).error(format!("the entries at {entries:#x} are beyond its end")))?;
    let size = inflated
        .checked_sub(entries)
        .ok_or_else(|| place.at(32).error(format!("an inflated size of {inflated} bytes, less than the header")))?;
    let whole = inflate::sized(header, packed, size, reader.arena).map_err(|error| place.at(entries).locate(error))?;
    reader.grant(whole.len());
    Ok((whole, place.inflated()))
}

fn entry<'a>(reader: &mut Reader<'a>, version: u32, body: &'a [u8], place: Place, raw: &'a [u8]) -> Result<Entry<'a>> {
    let word = |at| bytes::u64_at(raw, at).unwrap_or(0);
    let (strings, count, image, size) = (word(8), word(16), word(24), word(32));
    let stride = if version == 1 { 16 } else { 24 };
    let table = count
        .checked_mul(stride)
        .and_then(|len| if len == 0 { Some(&[][..]) } else { blob::slice(body, strings, len) });
    let table = table.ok_or_else(|| Error::input(format!("its {count} strings at {strings:#x} pass the end")))?;
    reader.spend(table.len())?;
    let mut pairs = Vec::new();
    for pair in table.chunks_exact(stride as usize) {
        let at = |at| bytes::u64_at(pair, at).unwrap_or(0);
        let key = reader.c_string(body, at(0))?;
        let value = if version == 1 { reader.c_string(body, at(8))? } else { blob::slice(body, at(8), at(16)) };
        let pair = key.zip(value).ok_or_else(|| Error::input("one of its strings passes the end"))?;
        reader.spend(pair.1.len())?;
        pairs.push(pair);
    }
    Ok(Entry {
        image_kind: bytes::u16_at(raw, 0).unwrap_or(0),
        offload_kind: bytes::u16_at(raw, 2).unwrap_or(0),
        flags: bytes::u32_at(raw, 4).unwrap_or(0),
        strings: pairs,
        image: blob::slice(body, image, size)
            .ok_or_else(|| Error::input(format!("its image at {image:#x}, {size} bytes, passes the end")))?,
        place: place.at(image),
    })
}

/// Returns the names of a table `{u32 count, {u32 offset, u32 size}[count]}`, whose offsets count from its start and
/// whose names end in a NUL that the sizes leave out; none where the bytes are no such table.
fn symbol_table(value: &[u8]) -> Option<Vec<&str>> {
    let field = |at: usize| bytes::u32_at(value, at).and_then(|field| usize::try_from(field).ok());
    let end = field(0)?.checked_mul(8)?.checked_add(4)?;
    let pairs = value.get(4..end)?;
    let name = |pair: &[u8]| {
        let field = |at: usize| bytes::u32_at(pair, at).and_then(|field| usize::try_from(field).ok());
        let (offset, size) = (field(0)?, field(4)?);
        let after = offset.checked_add(size).filter(|_| offset >= end)?;
        let name = blob::text(bytes::slice_at(value, offset, size)?)?;
        (value.get(after) == Some(&0) && !name.is_empty()).then_some(name)
    };
    pairs.chunks_exact(8).map(name).collect()
}

/// Writes the table that [`Entry::symbols`] reads.
///
/// # Errors
/// `Input` where it would take more than 4 GiB.
pub(crate) fn write_symbols(names: &[&str]) -> Result<Vec<u8>> {
    let word = |number: usize| {
        u32::try_from(number).map_err(|_| Error::input("the names of the symbols take more than 4 GiB"))
    };
    let mut at = names.len().saturating_mul(8).saturating_add(4);
    let mut out = word(names.len())?.to_le_bytes().to_vec();
    for name in names {
        out.extend([word(at)?, word(name.len())?].into_iter().flat_map(u32::to_le_bytes));
        at = at.saturating_add(name.len()).saturating_add(1);
    }
    out.extend(names.iter().flat_map(|name| name.bytes().chain([0])));
    Ok(out)
}

/// Adds the images of every OffloadBinary in a blob.
pub(super) fn images<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, depth: u32, outer: &Image<'a>) {
    // Facts of an entry count for those in it, and not for one of them that code registers by itself.
    let is_inner = !(outer.target.is_empty() && outer.arch.is_empty() && outer.offload_kind.is_empty());
    let note = |reader: &mut Reader<'a>, here| {
        if !is_inner {
            reader.note_binary(here);
        }
    };
    for entries in parse_each(reader, data, place, note) {
        if syclbin::is_parted(&entries) {
            syclbin::images_of_parts(reader, &entries, place);
            continue;
        }
        // Bit 0 marks metadata without an image. LLVM's linker takes one that is there all the same.
        for entry in entries.iter().filter(|entry| entry.flags & 1 == 0 || !entry.image.is_empty()) {
            let or = |own: &'a str, outer: &'a str| if own.is_empty() { outer } else { own };
            let triple = entry.string("triple");
            let own = properties(reader, entry).map(|own| Ok((own, Vec::new())));
            let properties = match own.unwrap_or_else(|| reader.copy(&outer.properties, &[])) {
                Ok((properties, _)) => properties,
                Err(error) => {
                    reader.problem(entry.place.locate(error));
                    continue;
                }
            };
            let model = Some(entry.model()).filter(|model| !matches!(*model, "unknown" | "sycl"));
            let like = Image {
                offload_kind: model.unwrap_or(outer.offload_kind),
                properties,
                declared: entry.declared(),
                target: or(blob::target_of(triple), outer.target),
                arch: or(blob::arch_of(entry.string("arch")), outer.arch),
                compile_options: or(entry.string("compile-opts"), outer.compile_options),
                link_options: or(entry.string("link-opts"), outer.link_options),
                entries: entry.symbols(),
                ..*outer
            };
            // DPC++'s runtime of 2026 goes by the kind.
            if entry.image.starts_with(&syclbin::MAGIC) && !entry.is_of_syclbin() {
                let kind = entry.image_kind;
                let wanted = image_kind::SYCLBIN;
                let error =
                    format!("an OffloadBinary entry of image kind {kind} with a SYCLBIN, whose kind is {wanted}");
                reader.problem(entry.place.error(error));
            }
            reader.read(entry.image, entry.place, depth, like);
        }
    }
}

/// Returns the property sets that this tool has stored with an image.
fn properties<'a>(reader: &mut Reader<'a>, entry: &Entry<'a>) -> Option<Properties<'a>> {
    let text = entry.value(PROPERTIES)?;
    let arena = reader.arena;
    match property_text::read(text, |bytes| arena.keep(bytes)) {
        Ok(properties) => Some(properties),
        Err(error) => {
            // The text's offset in the file is not known here.
            reader.problem(entry.place.error(error.message()).context("OffloadBinary property sets"));
            None
        }
    }
}

/// Version of the container, and its compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One binary per entry (LLVM 15 to 21).
    V1,
    /// One binary for all entries, which DPC++ 2026 reads.
    V2,
    /// Like version 2, with a longer header.
    V3,
    /// Version 3 with everything after the header in one zstd frame of this level.
    V3Compressed(i32),
}

impl Version {
    fn number(self) -> u32 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V3 | Version::V3Compressed(_) => 3,
        }
    }
}

/// Writes entries as one OffloadBinary, or as one per entry in version 1.
///
/// # Errors
/// `Input` for a string that the version cannot hold (a key, or in version 1 a value, with a NUL); errors of
/// [`Draft::with_capacity`].
pub fn write(version: Version, entries: &[Entry<'_>]) -> Result<Draft> {
    let mut out = Draft::from(Vec::new());
    match version {
        Version::V1 => entries.iter().try_for_each(|entry| one(version, std::slice::from_ref(entry), &mut out))?,
        _ => one(version, entries, &mut out)?,
    }
    Ok(out)
}

/// Appends one OffloadBinary.
fn one(version: Version, entries: &[Entry<'_>], out: &mut Draft) -> Result<()> {
    let (header, stride) = match version.number() {
        1 => (32, 16),
        2 => (32, 24),
        _ => (40, 24),
    };
    let pairs: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let mut maps = header + entries.len() * ENTRY;
    let base = maps + pairs * stride;
    let mut strings = Strings::new(base);
    let mut map = Vec::new();
    for (key, value) in entries.iter().flat_map(|entry| &entry.strings) {
        if key.contains(&0) || stride == 16 && value.contains(&0) {
            return Err(Error::input(format!("the string {:?} holds a NUL", String::from_utf8_lossy(key))));
        }
        let (key, at) = (strings.offset(key), strings.offset(value));
        map.extend([key, at].into_iter().flat_map(u64::to_le_bytes));
        if stride == 24 {
            map.extend((value.len() as u64).to_le_bytes());
        }
    }
    let images = aligned(base + strings.bytes.len())?;
    let mut image = images;
    let mut head = vec![0; header];
    for entry in entries {
        head.extend(entry.image_kind.to_le_bytes());
        head.extend(entry.offload_kind.to_le_bytes());
        head.extend(entry.flags.to_le_bytes());
        for word in [maps, entry.strings.len(), image, entry.image.len()] {
            head.extend((word as u64).to_le_bytes());
        }
        maps += entry.strings.len() * stride;
        image += entry.image.len();
    }
    head.extend(map);
    head.extend(strings.bytes);
    head.resize(images, 0);
    let begin = out.len();
    out.extend(&head)?;
    entries.iter().try_for_each(|entry| out.extend(entry.image))?;
    let inflated = aligned(out.len().saturating_sub(begin))?;
    out.resize(begin.saturating_add(inflated))?;
    if let Version::V3Compressed(level) = version {
        let frame = inflate::zstd_frame(out.get(begin.saturating_add(header)..).unwrap_or_default(), level)?;
        out.truncate(begin.saturating_add(header));
        out.extend(&frame)?;
    }
    let size = out.len().saturating_sub(begin);
    let mut head = Vec::new();
    head.extend(MAGIC);
    head.extend(version.number().to_le_bytes());
    let count = if stride == 16 { ENTRY } else { entries.len() };
    head.extend([size, header, count].into_iter().flat_map(|word| (word as u64).to_le_bytes()));
    if matches!(version, Version::V3Compressed(_)) {
        head.extend((inflated as u64).to_le_bytes());
    }
    out.iter_mut().skip(begin).zip(head).for_each(|(byte, value)| *byte = value);
    Ok(())
}

fn aligned(len: usize) -> Result<usize> {
    align_up(len as u64, 8)
        .and_then(|len| usize::try_from(len).ok())
        .ok_or_else(|| Error::input("an OffloadBinary larger than memory"))
}

/// Table of NUL-terminated strings, each once.
struct Strings<'a> {
    base: usize,
    bytes: Vec<u8>,
    known: HashMap<&'a [u8], u64>,
}

impl<'a> Strings<'a> {
    fn new(base: usize) -> Self {
        Strings { base, bytes: vec![0], known: HashMap::new() }
    }

    fn offset(&mut self, string: &'a [u8]) -> u64 {
        let next = (self.base + self.bytes.len()) as u64;
        let bytes = &mut self.bytes;
        *self.known.entry(string).or_insert_with(|| {
            bytes.extend_from_slice(string);
            bytes.push(0);
            next
        })
    }
}

/// Reads all sections of OffloadBinaries. `unlisted` is whether no list of images is in the file.
pub(crate) fn read_embedded<'a>(host: &'a Host<'a>, unlisted: bool, reader: &mut Reader<'a>) {
    for section in host.sections.iter().filter(|section| section.name.starts_with(OFFLOADING)) {
        let place = Place::file(section.offset);
        let outer = Image::bare(section.data, section.offset);
        let begins = section.data.starts_with(&MAGIC);
        // LLVM 22's wrapper uses this section name for bare images that its own list points to.
        if !begins && !unlisted {
            continue;
        }
        // Looking for one behind other bytes walks through all of them.
        if !begins && let Err(error) = reader.spend(section.data.len()) {
            reader.problem(place.locate(error));
        } else if !begins && section.data.chunks(8).any(|chunk| chunk.starts_with(&MAGIC)) {
            images(reader, section.data, place, 1, &outer);
        } else {
            reader.read(section.data, place, 0, outer);
        }
    }
}

/// Reads the OffloadBinaries that code of a linked file may register, but those that were read: in sections, and as images of others.
pub(crate) fn read_registered<'a>(host: &'a Host<'a>, reader: &mut Reader<'a>) {
    if !host.registers {
        return;
    }
    for (address, offset, blob) in in_memory(host) {
        if reader.has_read(offset) {
            continue;
        }
        match host.addresses.first_changed(address, blob.len() as u64) {
            None => reader.read(blob, Place::file(offset), 0, Image::bare(blob, offset)),
            Some(place) => {
                let message = format!(
                    "at address {place:#x} this OffloadBinary becomes what is not known, once it is linked or loaded"
                );
                reader.problem(Place::file(offset).error(message));
            }
        }
    }
}

/// Finds the OffloadBinaries in the data of a linked file, each with its file offset; also those within another, since code may
/// register any.
pub(crate) fn registered<'a>(host: &'a Host<'a>) -> Vec<(u64, &'a [u8])> {
    in_memory(host).into_iter().map(|(_, offset, blob)| (offset, blob)).collect()
}

/// Finds them like [`registered`], each with its address and its file offset.
fn in_memory<'a>(host: &'a Host<'a>) -> Vec<(u64, u64, &'a [u8])> {
    host.addresses.search(&MAGIC, |segment: &'a Segment<'a>, at| {
        let address = segment.address.wrapping_add(at as u64);
        let rest = segment.data.get(at..).filter(|_| address.is_multiple_of(8))?;
        Some((address, segment.offset.saturating_add(at as u64), rest.get(..whole(rest)?)?))
    })
}

/// Returns the length of the OffloadBinary at the start of the data, if its header is valid beyond doubt.
fn whole(data: &[u8]) -> Option<usize> {
    let known = data.starts_with(&MAGIC) && matches!(bytes::u32_at(data, 4), Some(1..=3));
    let size = usize::try_from(bytes::u64_at(data, 8).filter(|_| known)?).ok()?;
    let entries = bytes::u64_at(data, 16)?;
    ((32..=data.len()).contains(&size) && entries < size as u64).then_some(size)
}
