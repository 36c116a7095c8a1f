//! Which OffloadBinaries are in a host file?
//!
//! LLVM's new offload driver puts them into sections `.llvm.offloading` of objects. Linked files hold none, except
//! those of upstream LLVM's SYCL, which registers the OffloadBinaries themselves: they are in the file's data, and only
//! code points to them.

use super::blob::Reader;
use super::image::Image;
use super::offload_binary::MAGIC;
use crate::bytes;
use crate::container::Host;
use crate::container::place::Place;
use std::borrow::Cow;

/// Name of the sections; COFF may append a suffix.
pub const SECTION: &str = ".llvm.offloading";

/// Reads all sections of OffloadBinaries. If the file registers images that nothing lists (`unlisted`), its data is
/// searched for OffloadBinaries too.
pub fn read<'a>(host: &'a Host<'a>, unlisted: bool, reader: &mut Reader<'a>) {
    for section in host.sections.iter().filter(|section| section.name.starts_with(SECTION)) {
        // LLVM 22's wrapper uses this section name for bare images that its own list points to.
        if !unlisted && !section.data.starts_with(&MAGIC) {
            continue;
        }
        reader.read(section.data, Place::file(section.offset), 0, &Image::bare(section.data, section.offset));
    }
    if !unlisted || !host.registers || !reader.images.is_empty() {
        return;
    }
    for segment in host.addresses.segments() {
        // An OffloadBinary holds no pointers, so relocated bytes equal those of the file.
        let data: &'a [u8] = match &segment.data {
            Cow::Borrowed(data) => data,
            Cow::Owned(data) => data,
        };
        let mut at = usize::try_from(segment.address.wrapping_neg() & 7).unwrap_or(0);
        while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
            let len = whole(rest);
            if let Some(blob) = len.and_then(|len| rest.get(..len)) {
                let place = Place::file(segment.offset.saturating_add(at as u64));
                reader.read(blob, place, 0, &Image::bare(blob, place.offset()));
            }
            at = at.saturating_add(len.unwrap_or(8).max(8).next_multiple_of(8));
        }
    }
}

/// Returns the length of the OffloadBinary at the start of the data, if its header is valid beyond doubt.
fn whole(data: &[u8]) -> Option<usize> {
    let known = data.starts_with(&MAGIC) && matches!(bytes::u32_at(data, 4), Some(1..=3));
    let size = usize::try_from(bytes::u64_at(data, 8).filter(|_| known)?).ok()?;
    let entries = bytes::u64_at(data, 16)?;
    ((32..=data.len()).contains(&size) && entries < size as u64).then_some(size)
}
