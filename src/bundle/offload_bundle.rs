//! Which images are in a clang offload bundle?
//!
//! Such a bundle is what `clang-offload-bundler` makes of the files of one compilation
//! (`clang/lib/Driver/OffloadBundler.cpp`): binary bundles list their parts in front, text bundles mark them by
//! comments, and `CCOB` is a compressed binary bundle. Each part has an id `<kind>-<triple>[-<target id>]`; the host's
//! part is no device code.
//!
//! A compressed bundle has a header of `CCOB`, version and method as 16-bit numbers, then (versions 2 and 3) the size of the file, the inflated
//! size, and the first half of the MD5 of the contents; numbers are 32 bits wide before version 3. Method 0 is zlib, 1
//! is zstd. The hash (RFC 1321) is not checked, since
//! inflation finds all damage that it would; LLVM's tools print whether it is right.

use super::blob::{self, Reader};
use super::image::Image;
use crate::bytes::{self, Draft};
use crate::container::Place;
use crate::container::inflate;
use crate::error::{Error, Result};
use crate::limits;
use md5::{Digest as _, Md5};

/// Magic of a binary bundle.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
const START: &[u8] = b"__CLANG_OFFLOAD_BUNDLE____START__ ";
const END: &[u8] = b"__CLANG_OFFLOAD_BUNDLE____END__ ";

/// Part of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// `<kind>-<triple>[-<target id>]`.
    pub(crate) id: &'a str,
    /// Bytes of the part.
    pub(crate) data: &'a [u8],
    /// Location of the bytes.
    pub(crate) place: Place,
}

impl<'a> Part<'a> {
    /// Adds the images of the part; `outer` provides the facts that the part does not have. The host's part has none.
    pub(super) fn read(self, reader: &mut Reader<'a>, depth: u32, outer: &Image<'a>) {
        let (kind, triple, arch) = self.names();
        if kind == "host" || self.data.is_empty() {
            return;
        }
        let (target, arch) = (blob::target_of(triple), blob::arch_of(arch));
        match reader.copy(&outer.properties, &outer.entries) {
            Ok((properties, entries)) => {
                let like = Image { target, arch, offload_kind: kind, properties, entries, ..*outer };
                reader.read(self.data, self.place, depth, like);
            }
            Err(error) => reader.problem(self.place.locate(error)),
        }
    }

    /// Returns kind, triple and target id. A triple has four fields since LLVM 14 (`amdgcn-amd-amdhsa--gfx906`), where
    /// the last may be empty; older bundles omit an empty one.
    pub(crate) fn names(&self) -> (&'a str, &'a str, &'a str) {
        let (kind, rest) = self.id.split_once('-').unwrap_or((self.id, ""));
        let Some((third, _)) = rest.match_indices('-').nth(2) else { return (kind, rest, "") };
        let (triple, more) = rest.split_at(third);
        let more = more.get(1..).unwrap_or_default();
        if more.starts_with("gfx") || more.starts_with("sm_") {
            return (kind, triple, more);
        }
        match more.split_once('-') {
            Some((environment, id)) => {
                let len = if environment.is_empty() {
                    third
                } else {
                    third.saturating_add(1).saturating_add(environment.len())
                };
                (kind, rest.get(..len).unwrap_or(rest), id)
            }
            None if more.is_empty() => (kind, triple, ""),
            None => (kind, rest, ""),
        }
    }
}

/// Reads the parts of a bundle; a compressed one is inflated. Damage becomes problems of the reader.
pub fn parse<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Vec<Part<'a>> {
    let parts = if data.starts_with(&COMPRESSED_MAGIC) {
        match inflate(reader, data, place) {
            // A compressed bundle is never compressed twice.
            Ok((inner, place)) => binary(reader, inner, place),
            Err(error) => Err(error),
        }
    } else if data.starts_with(MAGIC) && !data.starts_with(START) && !data.starts_with(END) {
        binary(reader, data, place)
    } else {
        Ok(text(reader, data, place))
    };
    parts.unwrap_or_else(|error| {
        reader.problem(place.locate(error).context("offload bundle"));
        Vec::new()
    })
}

fn binary<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Result<Vec<Part<'a>>> {
    if !data.starts_with(MAGIC) {
        return Err(place.error("what is compressed is no binary bundle"));
    }
    let cut = |at: usize| place.at(at as u64).error("the list of parts is cut short");
    let count = bytes::u64_at(data, MAGIC.len()).ok_or_else(|| cut(MAGIC.len()))?;
    if count > limits::MAX_IMAGES as u64 {
        let limit = limits::MAX_IMAGES;
        return Err(place.at(MAGIC.len() as u64).error(format!("{count} parts; the limit is {limit}")));
    }
    let mut at = MAGIC.len() + 8;
    let mut parts = Vec::new();
    for index in 0..count {
        let word = |by: usize| at.checked_add(by).and_then(|at| bytes::u64_at(data, at));
        let header = word(0).zip(word(8)).zip(word(16));
        let id = header.and_then(|(_, len)| blob::slice(data, (at as u64).saturating_add(24), len));
        let Some((((offset, size), _), id)) = header.zip(id) else {
            // The position of the next entry is not known; the parts before are valid.
            reader.problem(cut(at).context(format!("offload bundle part {index} of {count}")));
            break;
        };
        let here = place.at(at as u64);
        at = at.saturating_add(24).saturating_add(id.len());
        reader.spend(id.len())?;
        match (blob::text(id), blob::slice(data, offset, size)) {
            (Some(id), Some(part)) => parts.push(Part { id, data: part, place: place.at(offset) }),
            (None, _) => reader.problem(here.error(format!("the id of offload bundle part {index} is not UTF-8"))),
            (_, None) => reader.problem(
                here.error(format!("offload bundle part {index} at {offset:#x}, {size} bytes, passes the end")),
            ),
        }
    }
    Ok(parts)
}

/// Reads a text bundle: `<comment> START <id>` and `<comment> END <id>` are lines; the line break before the latter
/// belongs to the bundle.
fn text<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut open: Option<(&'a str, usize)> = None;
    let mut at = 0usize;
    for line in data.split_inclusive(|&byte| byte == b'\n') {
        let here = at;
        at = at.saturating_add(line.len());
        let Some((is_start, id)) = marker(line) else { continue };
        match (is_start, open) {
            (true, None) => open = Some((id, at)),
            (false, Some((started, from))) if started == id => {
                let part = data.get(from..here.saturating_sub(1).max(from)).unwrap_or_default();
                parts.push(Part { id, data: part, place: place.at(from as u64) });
                open = None;
            }
            _ => {
                let marker = if is_start { "begins" } else { "ends" };
                let error = place.at(here as u64).error(format!("offload bundle part `{id}` {marker} out of turn"));
                reader.problem(error);
                open = is_start.then_some((id, at));
            }
        }
    }
    if let Some((id, from)) = open {
        reader.problem(place.at(from as u64).error(format!("offload bundle part `{id}` does not end")));
    }
    parts
}

/// Returns whether a line starts or ends a part, and its id; none for other lines.
fn marker(line: &[u8]) -> Option<(bool, &str)> {
    // The line begins with the comment sign `#`, `;` or `//`.
    let head = line.get(..line.len().min(64))?;
    let find = |marker: &[u8]| head.windows(marker.len()).position(|window| window == marker);
    let (is_start, at) = match (find(START), find(END)) {
        (Some(at), _) => (true, at.saturating_add(START.len())),
        (None, Some(at)) => (false, at.saturating_add(END.len())),
        (None, None) => return None,
    };
    Some((is_start, blob::text(line.get(at..)?)?.trim_end()))
}

/// Returns the length of the bundle at the start of the data, if it is whole. A plain one ends where its last part does, and
/// a compressed one of version 1, which states no size, with the data.
pub(super) fn len(data: &[u8]) -> Option<usize> {
    let len = if data.starts_with(MAGIC) {
        let count = bytes::u64_at(data, MAGIC.len())?;
        let mut at = MAGIC.len().checked_add(8)?;
        let mut end = at;
        for _ in 0..count {
            let word = |by: usize| bytes::u64_at(data, at.checked_add(by)?).and_then(|word| usize::try_from(word).ok());
            let (offset, size, id) = (word(0)?, word(8)?, word(16)?);
            at = at.checked_add(24)?.checked_add(id)?;
            end = end.max(at).max(offset.checked_add(size)?);
        }
        end
    } else {
        let head = Compressed::read(data).ok().filter(|_| data.starts_with(&COMPRESSED_MAGIC))?;
        match head.size {
            Some(size) => blob::slice(data, 0, size)?.len().max(head.header),
            None => data.len(),
        }
    };
    (len <= data.len()).then_some(len)
}

/// Adds the images of a bundle: every part but the host's. Sections hold several, files one.
pub(super) fn images<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, depth: u32, outer: &Image<'a>) {
    let behind = len(data).and_then(|end| blob::next(data, end));
    let is_one = |rest: &[u8]| rest.starts_with(MAGIC) || rest.starts_with(&COMPRESSED_MAGIC);
    if let Some(behind) = behind.filter(|behind| data.get(*behind..).is_some_and(is_one)) {
        let message = "another offload bundle stands behind this one, and is not read";
        reader.problem(place.at(behind as u64).error(message));
    }
    for part in parse(reader, data, place) {
        part.read(reader, depth, outer);
    }
}

/// Magic of a compressed bundle.
const COMPRESSED_MAGIC: [u8; 4] = *b"CCOB";

/// Header of a compressed bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compressed {
    /// Version, 1 to 3.
    pub(crate) version: u16,
    /// Method: 0 zlib, 1 zstd.
    pub(crate) method: u16,
    /// Size of the whole compressed bundle in bytes, if the version has it.
    pub(crate) size: Option<u64>,
    /// Inflated size in bytes.
    pub(crate) inflated: u64,
    /// Size of the header in bytes.
    pub(crate) header: usize,
}

impl Compressed {
    /// Reads the header.
    ///
    /// # Errors
    /// `Input` where it is cut short or of an unknown version.
    pub(crate) fn read(data: &[u8]) -> Result<Compressed> {
        let cut = || Error::input("the header of the compressed bundle is cut short");
        let number = |at| bytes::u32_at(data, at).map(u64::from).ok_or_else(cut);
        let word = |at| bytes::u64_at(data, at).ok_or_else(cut);
        let half = |at| bytes::u16_at(data, at).ok_or_else(cut);
        let (version, method) = (half(4)?, half(6)?);
        let (size, inflated, header) = match version {
            1 => (None, number(8)?, 20),
            2 => (Some(number(8)?), number(12)?, 24),
            3 => (Some(word(8)?), word(16)?, 32),
            _ => return Err(Error::input(format!("a compressed bundle of version {version}; 1 to 3 are known"))),
        };
        Ok(Compressed { version, method, size, inflated, header })
    }
}

fn inflate<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Result<(&'a [u8], Place)> {
    let head = Compressed::read(data)?;
    let whole = match head.size {
        Some(size) => blob::slice(data, 0, size).unwrap_or_else(|| {
            reader.problem(place.at(8).error(format!("a compressed bundle of {size} bytes; there are {}", data.len())));
            data
        }),
        None => data,
    };
    let key = (whole.as_ptr().addr(), whole.len());
    if let Some(known) = reader.inflated.get(&key) {
        return Ok(*known);
    }
    let inflated = inflate_first(reader, (&head, whole), place)?;
    reader.grant(inflated.0.len());
    reader.inflated.insert(key, inflated);
    Ok(inflated)
}

/// Inflates a compressed bundle that was not inflated before.
fn inflate_first<'a>(
    reader: &Reader<'a>,
    (head, whole): (&Compressed, &'a [u8]),
    place: Place,
) -> Result<(&'a [u8], Place)> {
    let stored = whole.get(head.header..).ok_or_else(|| Error::input("a compressed bundle shorter than its header"))?;
    // LLVM goes by the method, and takes one frame that ends where the size says.
    let is_zstd = stored.starts_with(&inflate::ZSTD_MAGIC);
    if head.method > 1 || is_zstd != (head.method == 1) {
        return Err(place
            .at(6)
            .error(format!("compressed by method {}, and what is there is of another", head.method)));
    }
    if head.size.is_some() && is_zstd && !inflate::is_one_frame(stored) {
        return Err(place.at(head.header as u64).error("the compressed bundle holds more than one frame of zstd"));
    }
    let bytes = inflate::sized(&[], stored, head.inflated, reader.arena)
        .map_err(|error| place.at(head.header as u64).locate(error))?;
    Ok((bytes, place.inflated()))
}

/// Compresses a bundle with zstd as version 2 or 3. `hash` is the first half of the bundle's MD5, little-endian, which
/// known readers compare only on request.
///
/// # Errors
/// `Input` for another version, or a bundle too large for version 2.
pub fn compress(bundle: &[u8], version: u16, level: i32, hash: u64) -> Result<Vec<u8>> {
    let frame = inflate::zstd_frame(bundle, level)?;
    let header = match version {
        2 => 24usize,
        3 => 32,
        _ => return Err(Error::input(format!("compressed bundles of version {version} are not written"))),
    };
    let mut out = COMPRESSED_MAGIC.to_vec();
    out.extend([version, 1].into_iter().flat_map(u16::to_le_bytes));
    for size in [header.saturating_add(frame.len()), bundle.len()] {
        if version == 2 {
            let size =
                u32::try_from(size).map_err(|_| Error::input("too large for a compressed bundle of version 2"))?;
            out.extend(size.to_le_bytes());
        } else {
            out.extend((size as u64).to_le_bytes());
        }
    }
    out.extend(hash.to_le_bytes());
    out.extend(frame);
    Ok(out)
}

/// Returns the first eight bytes of the MD5 as a little-endian number.
pub(crate) fn md5_half(data: &[u8]) -> u64 {
    bytes::u64_at(&Md5::digest(data), 0).unwrap_or_default()
}

/// Part to write.
#[derive(Debug, Clone, Copy)]
pub struct NewPart<'a> {
    /// `<kind>-<triple>[-<target id>]`.
    pub id: &'a str,
    /// Bytes of the part.
    pub data: &'a [u8],
}

/// Writes a binary bundle. LLVM's tools expect an entry for the host first, which may be empty. `align` is the
/// alignment of the parts; 1 packs them.
///
/// # Errors
/// `Input` for an alignment that is no power of two; errors of [`Draft::with_capacity`].
pub fn write(parts: &[NewPart<'_>], align: usize) -> Result<Draft> {
    if !align.is_power_of_two() {
        return Err(Error::input(format!("an alignment of {align} is no power of two")));
    }
    let list: usize = parts.iter().map(|part| 24 + part.id.len()).sum();
    let mut at = MAGIC.len() + 8 + list;
    let mut head = MAGIC.to_vec();
    head.extend((parts.len() as u64).to_le_bytes());
    for part in parts {
        at = at.next_multiple_of(align);
        for word in [at, part.data.len(), part.id.len()] {
            head.extend((word as u64).to_le_bytes());
        }
        head.extend_from_slice(part.id.as_bytes());
        at += part.data.len();
    }
    let mut out = Draft::copy_of(&head, at.saturating_sub(head.len()))?;
    for part in parts {
        out.resize(out.len().next_multiple_of(align))?;
        out.extend(part.data)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_apart() {
        for (id, names) in [
            ("sycl-spir64-unknown-unknown", ("sycl", "spir64-unknown-unknown", "")),
            ("sycl-spir64_gen-unknown-unknown-", ("sycl", "spir64_gen-unknown-unknown", "")),
            ("host-x86_64-unknown-linux-gnu", ("host", "x86_64-unknown-linux-gnu", "")),
            ("host-x86_64-unknown-linux-gnu-", ("host", "x86_64-unknown-linux-gnu", "")),
            ("hipv4-amdgcn-amd-amdhsa--gfx906:xnack+", ("hipv4", "amdgcn-amd-amdhsa", "gfx906:xnack+")),
            ("hip-amdgcn-amd-amdhsa-gfx90a", ("hip", "amdgcn-amd-amdhsa", "gfx90a")),
            ("openmp-nvptx64-nvidia-cuda", ("openmp", "nvptx64-nvidia-cuda", "")),
            ("x", ("x", "", "")),
        ] {
            assert_eq!(Part { id, data: &[], place: Place::default() }.names(), names, "{id}");
        }
    }

    #[test]
    fn half_a_digest_is_little_endian() {
        // RFC 1321 has d41d8cd98f00b204e9800998ecf8427e.
        assert_eq!(md5_half(b""), 0x04b2_008f_d98c_1dd4);
    }
}
