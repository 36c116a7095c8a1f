//! Which device files did clang-offload-bundler put into this object file?
//!
//! Each has a section named `__CLANG_OFFLOAD_BUNDLE__<kind>-<triple>`; the host's section holds one byte and stands for
//! the object itself. Wrapped images are in sections of the same prefix, but with a target (`sycl-spir64`) and no full
//! triple; the image list describes them, and in linked files only that counts.

use super::blob::Reader;
use super::concatenated;
use super::image::Image;
use super::offload_bundle::Part;
use crate::bytes;
use crate::container::place::Place;
use crate::container::{Host, Kind};
use std::collections::HashMap;

const PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";
/// Prefix of a section with the sizes of another section's parts, 64 bits each, which bundlers wrote until 2021.
const SIZES: &str = "__CLANG_OFFLOAD_BUNDLE_SIZE__";

/// Reads the device files of an object; other files have none.
pub fn read<'a>(host: &'a Host<'a>, reader: &mut Reader<'a>) {
    for part in parts(host, reader) {
        let outer = Image::bare(part.data, part.place.offset());
        part.read(reader, 0, outer);
    }
}

/// Returns the parts of an object, including the host's, in section order. Parts that a partial link has joined are
/// separated, by their sizes or by their content. Damage becomes problems of the reader.
pub fn parts<'a>(host: &Host<'a>, reader: &mut Reader<'a>) -> Vec<Part<'a>> {
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
        // Separating the files walks through all of them.
        if let Err(error) = reader.spend(section.data.len()) {
            reader.problem(place.locate(error));
            break;
        }
        let lengths = match sized.get(id) {
            Some(sizes) => stated(sizes.data, section.data.len()).unwrap_or_else(|| {
                reader.problem(
                    Place::file(sizes.offset).error(format!("the sizes of `{id}` are not those of its parts")),
                );
                vec![section.data.len()]
            }),
            None => concatenated::file_lengths(section.data),
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
