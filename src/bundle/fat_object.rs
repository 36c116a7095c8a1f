//! Which device files did clang-offload-bundler put into this object file?
//!
//! One section each, named `__CLANG_OFFLOAD_BUNDLE__<kind>-<triple>`; the host's holds one byte and stands for the
//! object itself. Wrapped images stand in sections of the same prefix, but with a target (`sycl-spir64`) and no full
//! triple behind it; what describes them is the image list, and in linked files nothing else counts.

use super::blob::Reader;
use super::concatenated;
use super::image::Image;
use super::offload_bundle::Part;
use crate::bytes;
use crate::container::place::Place;
use crate::container::{Host, Kind};
use std::collections::HashMap;

const PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";
/// Sizes of the parts of a section, 64 bits each; written by bundlers until 2021.
const SIZES: &str = "__CLANG_OFFLOAD_BUNDLE_SIZE__";

/// Reads the device files of an object; of any other file none.
pub fn read<'a>(host: &'a Host<'a>, reader: &mut Reader<'a>) {
    for part in parts(host, reader) {
        let outer = Image::bare(part.data, part.place.offset());
        part.read(reader, 0, outer);
    }
}

/// The parts of an object, the host's included, in the order of the sections. What a partial link has put together is
/// taken apart, by its sizes or its content. Damage becomes problems of the reader.
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
        // Telling the files apart walks through them all.
        if let Err(error) = reader.spend(section.data.len()) {
            reader.problem(place.of(error));
            break;
        }
        let lengths = match sized.get(id) {
            Some(sizes) => stated(sizes.data, section.data.len()).unwrap_or_else(|| {
                reader.problem(
                    Place::file(sizes.offset).error(format!("the sizes of `{id}` are not those of its parts")),
                );
                vec![section.data.len()]
            }),
            None => concatenated::split(section.data),
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

/// The sizes in a section of sizes, where they come to the whole.
fn stated(sizes: &[u8], whole: usize) -> Option<Vec<usize>> {
    let (sizes, rest) = sizes.as_chunks::<8>();
    let sizes = sizes.iter().map(|size| usize::try_from(u64::from_le_bytes(*size)).ok()).collect::<Option<Vec<_>>>()?;
    let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size))?;
    (sum == whole && rest.is_empty()).then_some(sizes)
}
