//! Which images are in a clang offload bundle?
//!
//! Such a bundle is what `clang-offload-bundler` makes of the files of one compilation
//! (`clang/lib/Driver/OffloadBundler.cpp`): binary bundles list their parts in front, text bundles mark them by
//! comments, and `CCOB` is a compressed binary bundle. Each part has an id `<kind>-<triple>[-<target id>]`; the host's
//! part is no device code.

mod compressed;
mod md5;
mod write;

use super::blob::{self, Reader};
use super::image::Image;
use crate::bytes;
use crate::container::place::Place;
use crate::error::Result;
pub use compressed::{Compressed, compress};
pub use md5::md5_half as compressed_hash;
pub use write::{NewPart, write};

/// Magic of a binary bundle.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
const START: &[u8] = b"__CLANG_OFFLOAD_BUNDLE____START__ ";
const END: &[u8] = b"__CLANG_OFFLOAD_BUNDLE____END__ ";

/// Part of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// `<kind>-<triple>[-<target id>]`.
    pub id: &'a str,
    /// Bytes of the part.
    pub data: &'a [u8],
    /// Location of the bytes.
    pub place: Place,
}

impl<'a> Part<'a> {
    /// Adds the images of the part; `outer` provides the facts that the part does not have. The host's part has none.
    pub(super) fn read(self, reader: &mut Reader<'a>, depth: u32, outer: Image<'a>) {
        let (kind, triple, arch) = self.names();
        if kind != "host" && !self.data.is_empty() {
            let (target, arch) = (blob::target_of(triple), blob::arch_of(arch));
            let like = Image { target, arch, offload_kind: kind, ..outer };
            reader.read(self.data, self.place, depth, &like);
        }
    }

    /// Returns kind, triple and target id. A triple has four fields since LLVM 14 (`amdgcn-amd-amdhsa--gfx906`), where
    /// the last may be empty; older bundles omit an empty one.
    pub fn names(&self) -> (&'a str, &'a str, &'a str) {
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
    let parts = if data.starts_with(&compressed::MAGIC) {
        match compressed::inflate(reader, data, place) {
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

/// Adds the images of a bundle: every part but the host's.
pub(super) fn images<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, depth: u32, outer: &Image<'a>) {
    for part in parse(reader, data, place) {
        part.read(reader, depth, outer.clone());
    }
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
}
