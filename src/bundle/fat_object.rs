//! Which device files did clang-offload-bundler put into this object file?
//!
//! Each has a section named `__CLANG_OFFLOAD_BUNDLE__<kind>-<triple>`; the host's section holds one byte and stands for
//! the object itself. Wrapped images are in sections of the same prefix, but with a target (`sycl-spir64`) and no full
//! triple; the image list describes them, and in linked files only that counts.
//!
//! `ld -r` appends sections of one name to each other, without a gap. Old bundlers kept the sizes in another section;
//! without it, files are separated where their format tells their end. In SPIR-V, instructions follow one another, and
//! the magic number is no instruction (opcode 515 is unassigned). In LLVM bitcode, top-level blocks state their length,
//! and the magic number begins no block.

use super::blob::Reader;
use super::image::Image;
use super::offload_bundle::Part;
use crate::bytes;
use crate::container::Place;
use crate::container::{Host, Kind};
use std::collections::HashMap;

const PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";
/// Prefix of a section with the sizes of another section's parts, 64 bits each, which bundlers wrote until 2021.
const SIZES: &str = "__CLANG_OFFLOAD_BUNDLE_SIZE__";

/// Reads the device files of an object; other files have none.
pub(crate) fn read<'a>(host: &'a Host<'a>, reader: &mut Reader<'a>) {
    for part in parts(host, reader) {
        let outer = Image::bare(part.data, part.place.offset());
        part.read(reader, 0, &outer);
    }
}

/// Returns the parts of an object, including the host's, in section order. Parts that a partial link has joined are
/// separated, by their sizes or by their content. Damage becomes problems of the reader.
pub(crate) fn parts<'a>(host: &Host<'a>, reader: &mut Reader<'a>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    if !matches!(host.kind, Kind::ElfObject | Kind::Coff) {
        return parts;
    }
    let sized = host.sections.iter().filter_map(|section| Some((section.name.strip_prefix(SIZES)?, section)));
    let sized: HashMap<&str, _> = sized.collect();
    for section in &host.sections {
        let Some(id) = section.name.strip_prefix(PREFIX) else { continue };
        if !id.split_once('-').is_some_and(|(_, triple)| triple.contains('-')) {
            continue;
        }
        let place = Place::file(section.offset);
        let sizes = sized.get(id);
        // Separating the files walks through all of them, and makes a part of eight words for each size.
        let listed = sizes.map_or(0, |sizes| sizes.data.len().saturating_mul(8));
        if let Err(error) = reader.spend(section.data.len().saturating_add(listed)) {
            reader.problem(place.locate(error));
            break;
        }
        let lengths = match sizes {
            Some(sizes) => stated(sizes.data, section.data.len()).unwrap_or_else(|| {
                reader.problem(
                    Place::file(sizes.offset).error(format!("the sizes of `{id}` are not those of its parts")),
                );
                vec![section.data.len()]
            }),
            None => file_lengths(section.data),
        };
        let mut at = 0usize;
        for len in lengths {
            let data = bytes::slice_at(section.data, at, len).unwrap_or_default();
            parts.push(Part { id, data, place: place.at(at as u64) });
            at = at.saturating_add(len);
        }
    }
    parts
}

/// Returns the sizes in a section of sizes, if they add up to the whole.
fn stated(sizes: &[u8], whole: usize) -> Option<Vec<usize>> {
    let (sizes, rest) = sizes.as_chunks::<8>();
    let sizes = sizes.iter().map(|size| usize::try_from(u64::from_le_bytes(*size)).ok()).collect::<Option<Vec<_>>>()?;
    let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size))?;
    (sum == whole && rest.is_empty()).then_some(sizes)
}

const SPIRV: u32 = 0x0723_0203;
const BITCODE: u32 = 0xdec0_4342;
/// Length of a SPIR-V header in words.
const SPIRV_HEADER: usize = 5;

/// Returns the lengths of the device files in a section, in order; one length where they cannot be separated.
pub(crate) fn file_lengths(data: &[u8]) -> Vec<usize> {
    let lengths = match bytes::u32_at(data, 0) {
        Some(SPIRV) => walk(data, spirv),
        Some(BITCODE) => walk(data, bitcode),
        _ => None,
    };
    lengths.unwrap_or_else(|| vec![data.len()])
}

/// Returns the lengths of files that follow one another up to the end, or none where other data follows.
fn walk(data: &[u8], length: impl Fn(&[u8]) -> Option<usize>) -> Option<Vec<usize>> {
    let mut lengths = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let len = length(rest)?;
        rest = rest.get(len..)?;
        lengths.push(len);
    }
    Some(lengths)
}

/// Returns the length of the SPIR-V module at the start of the data.
fn spirv(data: &[u8]) -> Option<usize> {
    let words = data.as_chunks::<4>().0;
    let mut at = SPIRV_HEADER;
    while let Some(&word) = words.get(at) {
        let word = u32::from_le_bytes(word);
        if word == SPIRV {
            break;
        }
        // The upper half is the number of words, this one included.
        at = at.checked_add(usize::try_from(word >> 16).ok().filter(|&count| count > 0)?)?;
    }
    let len = at.checked_mul(4)?;
    (bytes::u32_at(data, 0) == Some(SPIRV) && len <= data.len()).then_some(len)
}

/// Returns the length of the bitcode file at the start of the data. A top-level block begins with abbreviation 1 in two
/// bits, and states its length in the second word, whatever its id.
fn bitcode(data: &[u8]) -> Option<usize> {
    if bytes::u32_at(data, 0) != Some(BITCODE) {
        return None;
    }
    let mut at = 4usize;
    while at < data.len() {
        let word = bytes::u32_at(data, at)?;
        if word == BITCODE {
            break;
        }
        let words = bytes::u32_at(data, at.checked_add(4)?).filter(|_| word & 3 == 1)?;
        at = usize::try_from(words).ok()?.checked_add(2)?.checked_mul(4)?.checked_add(at)?;
    }
    (at <= data.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn modules_end_where_the_next_begins() {
        let one = words(&[SPIRV, 0x0001_0400, 0, 10, 0, 0x0002_0011, 6]);
        // The magic number among an instruction's operands is no boundary.
        let two = words(&[SPIRV, 0x0001_0400, 0, 10, 0, 0x0003_0011, SPIRV, 4]);
        assert_eq!(file_lengths(&one), [28]);
        assert_eq!(file_lengths(&[one.clone(), two.clone(), one.clone()].concat()), [28, 32, 28]);
        let damaged = [one.clone(), words(&[0, 0])].concat();
        assert_eq!(file_lengths(&damaged), [damaged.len()]);
        assert_eq!(file_lengths(&one[..26]), [26]);
    }

    #[test]
    fn bitcode_ends_after_its_last_block() {
        let block = |len: u32| [vec![0x0c35, len], vec![BITCODE; len as usize]].concat();
        let one = words(&[vec![BITCODE], block(2), block(5)].concat());
        let two = words(&[vec![BITCODE], block(1)].concat());
        assert_eq!(file_lengths(&[one.clone(), two.clone()].concat()), [one.len(), two.len()]);
        let padded = [one.clone(), vec![0; 4]].concat();
        assert_eq!(file_lengths(&padded), [padded.len()]);
        assert_eq!(file_lengths(&one[..one.len() - 4]), [one.len() - 4]);
        assert_eq!(file_lengths(b"neither"), [7]);
        assert_eq!(file_lengths(b""), [0]);
    }
}
