//! Which device binaries are in an NVIDIA fat binary?
//!
//! A header `{u32 0xba55ed50; u16 version; u16 header bytes; u64 bytes of what follows}`, then entries, each with a header
//! of its own: `{u16 kind; u16; u32 header bytes; u64 stored bytes; u32 compressed bytes; u32; u16 minor; u16 major;
//! u32 architecture; u32 name offset; u32 name bytes; u64 flags; u64; u64 inflated bytes}`. Kind 1 is PTX, 2 is a cubin.
//! Flag 0x2000 says that it is an LZ4 block, 0x8000 that it is a zstd frame: as `fatbinary` of CUDA 13.5 writes them
//! with `--compress-mode=speed` and `size`. Several fat binaries may follow one another; the driver reads the
//! first, refuses versions other than 1, and takes entries of other kinds at most where it finds none of these two.

use super::Reader;
use super::taken::architecture;
use crate::bundle::format::Format;
use crate::bytes;
use crate::container::Place;
use crate::container::inflate;
use crate::error::{Error, Result};

/// The first bytes.
const MAGIC: u32 = 0xba55_ed50;
/// The version.
const VERSION: u16 = 1;
/// Bytes of the header in front of the entries.
const HEADER: u16 = 16;
/// Bytes of an entry's header.
const ENTRY: u32 = 64;

/// Kind of an entry's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// PTX, ended by a NUL.
    Ptx,
    /// A cubin.
    Cubin,
}

/// Writes a fat binary of entries that are not compressed, each with the number of its architecture; as `fatbinary` of CUDA 13.5
/// writes it with `--compress=false`.
pub(crate) fn write(entries: &[(Kind, u32, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, architecture, contents) in entries {
        let stored = contents.len().next_multiple_of(8);
        let is_ptx = *kind == Kind::Ptx;
        let kind: u16 = if is_ptx { 1 } else { 2 };
        // PTX has the options of ptxas behind the header, which the driver reads also where there are none.
        let options: &[u32] = if is_ptx { &[ENTRY + 8, 0, 0, 0] } else { &[] };
        let (header, options_at) = if is_ptx { (ENTRY + 16, ENTRY) } else { (ENTRY, 0) };
        let (major, minor) = if is_ptx { ptx_version(contents) } else { (1, 7) };
        body.extend_from_slice(&kind.to_le_bytes());
        body.extend_from_slice(&0x101u16.to_le_bytes());
        body.extend_from_slice(&header.to_le_bytes());
        body.extend_from_slice(&(stored as u64).to_le_bytes());
        // Not compressed.
        [0u32, options_at].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        [minor, major].iter().for_each(|half: &u16| body.extend_from_slice(&half.to_le_bytes()));
        // No name; code of 64 bits for Linux.
        [*architecture, 0, 0].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        [0x11u64, 0, 0].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        options.iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body.extend_from_slice(contents);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&HEADER.to_le_bytes());
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.append(&mut body);
    out
}

const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;

/// Returns the version of PTX that a text states.
fn ptx_version(text: &[u8]) -> (u16, u16) {
    let head = String::from_utf8_lossy(text.get(..text.len().min(1 << 12)).unwrap_or_default()).into_owned();
    let stated = head.split_once(".version ").and_then(|(_, rest)| rest.split_whitespace().next()?.split_once('.'));
    let number = |digits: &str| digits.parse().unwrap_or(0);
    stated.map_or((0, 0), |(major, minor)| (number(major), number(minor)))
}

pub(super) fn read<'a>(reader: &mut Reader<'a, '_>, data: &'a [u8], place: Place, depth: u32) -> Result<()> {
    reader.contained("fatbin");
    let mut at = 0usize;
    while bytes::u32_at(data, at) == Some(MAGIC) {
        reader.member = reader.member.saturating_add(1);
        let cut = || Error::at(at as u64, "the header of the fat binary is cut short, or passes the end");
        let header = at.checked_add(6).and_then(|at| bytes::u16_at(data, at)).ok_or_else(cut)?;
        // A header that ends within itself would be read again and again.
        let header = Some(header).filter(|header| *header >= HEADER).ok_or_else(cut)?;
        let size = at.checked_add(8).and_then(|at| bytes::u64_at(data, at)).ok_or_else(cut)?;
        let start = at.checked_add(usize::from(header)).ok_or_else(cut)?;
        let whole = usize::try_from(size).ok().and_then(|size| bytes::slice_at(data, start, size)).ok_or_else(cut)?;
        match at.checked_add(4).and_then(|at| bytes::u16_at(data, at)) {
            Some(VERSION) => entries(reader, whole, place.at(start as u64), depth),
            version => {
                reader.unread("");
                let version = version.unwrap_or_default();
                reader.problem(place.at(at as u64).error(format!("a fat binary of version {version}")));
            }
        }
        // Another fat binary may follow, aligned to 8 bytes.
        at = start.saturating_add(whole.len()).next_multiple_of(8);
    }
    Ok(())
}

fn entries<'a>(reader: &mut Reader<'a, '_>, data: &'a [u8], place: Place, depth: u32) {
    let mut at = 0usize;
    while at < data.len() {
        match entry(reader, data, at, place, depth) {
            Some(next) => at = next,
            None => {
                reader.unread("");
                let what = "an entry of the fat binary is cut short, or states more bytes than there are";
                return reader.problem(place.at(at as u64).error(what));
            }
        }
    }
}

/// Reads an entry; none where the place of the next one cannot be told.
fn entry<'a>(reader: &mut Reader<'a, '_>, data: &'a [u8], at: usize, place: Place, depth: u32) -> Option<usize> {
    let header = data.get(at..)?;
    let word = |at| bytes::u32_at(header, at);
    let (kind, header_len) = (bytes::u16_at(header, 0)?, usize::try_from(word(4)?).ok()?);
    let (stored, compressed) = (usize::try_from(bytes::u64_at(header, 8)?).ok()?, usize::try_from(word(16)?).ok()?);
    let (number, flags) = (word(28)?, bytes::u64_at(header, 40)?);
    let start = at.checked_add(header_len.max(48))?;
    let bytes_of = bytes::slice_at(data, start, stored)?;
    // Options of ptxas: where they stand in the header, and their bytes. Drivers end where they are beyond it.
    let options = || {
        let at = usize::try_from(word(20)?).ok()?;
        let own = header.get(..header_len.max(48))?;
        let (text, len) = (bytes::u32_at(own, at)?, bytes::u32_at(own, at.checked_add(4)?)?);
        bytes::slice_at(own, usize::try_from(text).ok()?, usize::try_from(len).ok()?)
    };
    if kind == 1 && word(20)? != 0 && options().is_none() {
        let what = "the options of ptxas pass the header of their entry";
        reader.problem(place.at(at as u64).error(what));
        reader.unread(&format!("ptx.sm_{number}"));
        return start.checked_add(stored);
    }
    let here = place.at(start as u64);
    let kind = match kind {
        1 => Some(Kind::Ptx),
        2 => Some(Kind::Cubin),
        _ => None,
    };
    let name = match kind {
        Some(Kind::Ptx) => format!("ptx.sm_{number}"),
        Some(Kind::Cubin) => format!("elf.sm_{number}"),
        None => format!("other.sm_{number}"),
    };
    let first = reader.native.parts.len();
    let inflated = bytes::u64_at(header, 56).filter(|_| header_len >= 64);
    let contents = match flags & (LZ4 | ZSTD) {
        0 => Some((bytes_of, here)),
        method => {
            let packed = bytes_of.get(..compressed).unwrap_or(bytes_of);
            let contents = match inflated {
                Some(size) if method & ZSTD != 0 => inflate::sized(&[], packed, size, reader.arena),
                Some(size) => inflate::lz4_block(packed, size, reader.arena),
                None => Err(Error::input("the entry does not state its size inflated")),
            };
            match contents {
                Ok(contents) => {
                    reader.grant(contents.len());
                    Some((contents, here.inflated()))
                }
                Err(error) => {
                    reader.problem(here.locate(error).context(format!("part `{name}`")));
                    None
                }
            }
        }
    };
    if let Some((contents, here)) = contents {
        // PTX is text; a NUL may end it.
        let format = if kind == Some(Kind::Ptx) { Format::Ptx } else { Format::sniff(contents) };
        let is_code = match kind {
            Some(Kind::Ptx) => true,
            Some(Kind::Cubin) => format == Format::Cubin,
            None => matches!(format, Format::Ptx | Format::Cubin | Format::LlvmBitcode),
        };
        reader.part(&name, contents, if is_code { format } else { Format::Unknown }, here, depth);
        reader.arena.give_back_after(contents.len());
    }
    match reader.native.parts.get_mut(first) {
        None => reader.unread(&name),
        // The driver goes by the header, and what is of no use to it then it does not give up for another entry.
        Some(part) => {
            let own = part.stated.strip_prefix("sm_").and_then(architecture);
            if own.is_some_and(|(own, _)| own != number) {
                part.stated = format!("{} (in an entry for sm_{number})", part.stated);
                part.devices = Vec::new();
            }
        }
    }
    start.checked_add(stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::format::Format;
    use crate::native::Native;

    #[test]
    fn a_header_of_no_bytes_ends_the_list() {
        let mut empty = write(&[]);
        empty.extend_from_slice(&[0; 16]);
        empty[16..20].copy_from_slice(&MAGIC.to_le_bytes());
        empty[6..16].fill(0);
        let native = Native::read(&empty, Format::Fatbin, Place::file(0)).unwrap();
        assert_eq!(native.problems.len(), 1, "{:?}", native.problems);
    }

    #[test]
    fn options_are_within_the_header_of_their_entry() {
        let ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n\0".to_vec();
        for (at, value, problems) in [(0, 0, 0), (20, 0x0100_0040, 1), (64, 0x0100_0000, 1), (68, 100, 1), (68, 8, 0)] {
            let mut written = write(&[(Kind::Ptx, 90, ptx.clone())]);
            if at > 0 {
                written[16 + at..20 + at].copy_from_slice(&u32::to_le_bytes(value));
            }
            let native = Native::read(&written, Format::Fatbin, Place::file(0)).unwrap();
            assert_eq!(native.problems.len(), problems, "{at}: {:?}", native.problems);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n\0".to_vec();
        let written = write(&[(Kind::Ptx, 90, ptx.clone()), (Kind::Ptx, 80, ptx)]);
        assert_eq!(Format::sniff(&written), Format::Fatbin);
        assert_eq!(written.len() % 8, 0);
        let native = Native::read(&written, Format::Fatbin, Place::file(0)).unwrap();
        assert!(native.problems.is_empty(), "{:?}", native.problems);
        assert!(native.kernel_names().contains(&"k"));
    }
}
