//! Which bytes of removed images can be zeroed?
//!
//! Bytes can be zeroed that no image that stays shares and that are not among code. They become zeros, which packages
//! compress well, because the rest of the file must not move.

use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::container::Host;
use crate::rewrite::pe::headers::Headers;
use object::LittleEndian as LE;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use std::collections::HashSet;
use std::ops::Range;

/// Overwrites payloads with zeros. Returns the number of bytes that became zeros and of those that stay.
pub fn zero(host: &Host<'_>, bundle: &Bundle<'_>, drop: &HashSet<usize>, out: &mut [u8]) -> (u64, u64) {
    let (gone, stay): (Vec<&Image<'_>>, Vec<&Image<'_>>) =
        bundle.images.iter().partition(|image| drop.contains(&image.index));
    let mut stay: Vec<Range<u64>> = stay.into_iter().filter_map(range).collect();
    // Sorted and merged by address, so that overlaps are found by bisection.
    stay.sort_by_key(|range| range.start);
    let mut reach = 0;
    for range in &mut stay {
        range.end = range.end.max(reach);
        reach = range.end;
    }
    let own = |wanted: &Range<u64>| {
        let before = stay.partition_point(|range| range.start < wanted.end);
        before.checked_sub(1).and_then(|at| stay.get(at)).is_none_or(|range| range.end <= wanted.start)
    };
    let parts = data(host);
    let (mut zeroed, mut left) = (0u64, 0u64);
    let mut done: HashSet<Range<u64>> = HashSet::new();
    for range in gone.into_iter().filter_map(range).filter(|range| !range.is_empty()) {
        if !done.insert(range.clone()) {
            continue;
        }
        let len = range.end.saturating_sub(range.start);
        let apart = parts.iter().any(|part| part.start <= range.start && range.end <= part.end);
        let at = host.addresses.file_offset(range.start).and_then(|at| usize::try_from(at).ok());
        let bytes = at.zip(usize::try_from(len).ok()).and_then(|(at, len)| out.get_mut(at..at.checked_add(len)?));
        match bytes.filter(|_| apart && own(&range)) {
            Some(bytes) => {
                bytes.fill(0);
                zeroed = zeroed.saturating_add(len);
            }
            None => left = left.saturating_add(len),
        }
    }
    (zeroed, left)
}

/// Returns the addresses of an image's payload.
fn range(image: &Image<'_>) -> Option<Range<u64>> {
    let start = image.origin?.payload;
    Some(start..start.checked_add(image.stored.len() as u64)?)
}

/// Returns the address ranges of data without code: sections, or segments where a file has no sections.
fn data(host: &Host<'_>) -> Vec<Range<u64>> {
    let Some(file) = &host.elf else {
        let headers = Headers::parse(host.bytes).ok();
        let sections = headers.map(|headers| headers.sections).unwrap_or_default();
        let base = headers_base(host);
        return sections
            .into_iter()
            .filter(|section| !section.is_code())
            .map(|section| {
                let start = base.saturating_add(section.address.into());
                start..start.saturating_add(section.raw_size.into())
            })
            .collect();
    };
    let sections = file.header.section_headers(LE, host.bytes).unwrap_or_default();
    if sections.is_empty() {
        let loaded = file.program_headers.iter().filter(|header| header.p_type(LE) == elf::PT_LOAD);
        let data = loaded.filter(|header| !header.p_flags(LE).contains(elf::PF_X));
        return data.map(|part| part.p_vaddr(LE)..part.p_vaddr(LE).saturating_add(part.p_filesz(LE))).collect();
    }
    let is_data = |flags: elf::SectionFlags| flags.contains(elf::SHF_ALLOC) && !flags.contains(elf::SHF_EXECINSTR);
    sections
        .iter()
        .filter(|section| section.sh_type(LE) == elf::SHT_PROGBITS && is_data(section.sh_flags(LE)))
        .map(|section| section.sh_addr(LE)..section.sh_addr(LE).saturating_add(section.sh_size(LE)))
        .collect()
}

fn headers_base(host: &Host<'_>) -> u64 {
    Headers::parse(host.bytes).map_or(0, |headers| headers.image_base)
}
