//! Which code for NVIDIA and AMD GPUs did CUDA and HIP put into sections of a host file?
//!
//! Section `.nv_fatbin` holds NVIDIA's fat binaries one after another, `__nv_relfatbin` those that a device linker would still
//! link; `.hip_fatbin` holds clang offload bundles, plain or compressed, on pages of their own. Names are those of clang
//! (`CGCUDANV.cpp`) and of nvcc; those of PE sections end after eight bytes. Sections beside them (`.nvFatBinSegment`,
//! `.hipFatBinSegment`) hold only the addresses that host code registers ([`super::gpu_registered`]).
//!
//! A fat binary is one image, since drivers choose among its parts; each part of a bundle is one.

use super::blob::{Reader, next};
use super::image::Image;
use super::offload_bundle;
use crate::bytes;
use crate::container::{Host, Place};
use std::collections::HashSet;

/// Magic of a fat binary.
pub(super) const FAT_BINARY: u32 = 0xba55_ed50;

/// Adds the images of all such sections. Returns the file offsets of what was read.
pub(super) fn read<'a>(host: &'a Host<'a>, reader: &mut Reader<'a>) -> HashSet<u64> {
    let mut known = HashSet::new();
    for section in &host.sections {
        let images = match section.name {
            ".nv_fatbin" | ".nv_fatb" | "__nv_relfatbin" | "__nv_rel" => fat_binaries,
            ".hip_fatbin" | ".hip_fat" => bundles,
            _ => continue,
        };
        // Each is walked to its end; many may be the same bytes.
        if let Err(error) = reader.spend(section.data.len()) {
            reader.problem(Place::file(section.offset).locate(error));
            break;
        }
        images(reader, section.data, section.offset, &mut known);
    }
    known
}

/// Adds each fat binary as an image. Zeros are between them, as they are aligned.
fn fat_binaries<'a>(reader: &mut Reader<'a>, data: &'a [u8], offset: u64, known: &mut HashSet<u64>) {
    let mut at = 0usize;
    while let Some(start) = next(data, at) {
        let rest = data.get(start..).unwrap_or_default();
        let place = Place::file(offset).at(start as u64);
        let Some(len) = fat_binary_len(rest) else {
            return reader.problem(place.error("what is here is no whole fat binary"));
        };
        let whole = rest.get(..len).unwrap_or_default();
        let like = Image { target: "nvptx64", offload_kind: "cuda", ..Image::bare(whole, place.offset()) };
        known.insert(place.offset());
        reader.image(whole, place, like);
        at = start.saturating_add(len);
    }
}

/// Returns the length of the fat binary at the start of the data, if it is whole.
pub(super) fn fat_binary_len(data: &[u8]) -> Option<usize> {
    let header = bytes::u16_at(data, 6).filter(|header| bytes::u32_at(data, 0) == Some(FAT_BINARY) && *header >= 16)?;
    let len = usize::try_from(bytes::u64_at(data, 8)?).ok()?.checked_add(header.into())?;
    (len <= data.len()).then_some(len)
}

/// Adds the images of each bundle.
fn bundles<'a>(reader: &mut Reader<'a>, data: &'a [u8], offset: u64, known: &mut HashSet<u64>) {
    let mut at = 0usize;
    while let Some(start) = next(data, at) {
        let rest = data.get(start..).unwrap_or_default();
        let place = Place::file(offset).at(start as u64);
        let Some(len) = offload_bundle::len(rest) else {
            return reader.problem(place.error("what is here is no whole offload bundle"));
        };
        let whole = rest.get(..len).unwrap_or_default();
        known.insert(place.offset());
        reader.read(whole, place, 0, Image { offload_kind: "hip", ..Image::bare(whole, place.offset()) });
        at = start.saturating_add(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::offload_bundle::NewPart;
    use crate::container::Arena;
    use proptest::prelude::*;

    fn fat_binary(body: &[u8]) -> Vec<u8> {
        [&FAT_BINARY.to_le_bytes()[..], &[1, 0, 16, 0], &(body.len() as u64).to_le_bytes(), body].concat()
    }

    fn bundle(code: &[u8], compressed: Option<u16>) -> Vec<u8> {
        let parts = [
            NewPart { id: "host-x86_64-unknown-linux-gnu-", data: &[] },
            NewPart { id: "hipv4-amdgcn-amd-amdhsa--gfx90a", data: code },
        ];
        let plain = offload_bundle::write(&parts, 4096).unwrap();
        match compressed {
            Some(version) => offload_bundle::compress(&plain, version, 3, offload_bundle::md5_half(&plain)).unwrap(),
            None => plain.into_vec(),
        }
    }

    proptest! {
        #[test]
        fn each_is_found_whatever_is_between(
            codes in prop::collection::vec((prop::collection::vec(1u8.., 1..40), 0usize..30, 0usize..3), 0..6),
        ) {
            let (mut fat, mut bundled) = (Vec::new(), Vec::new());
            for (code, zeros, form) in &codes {
                fat.extend(fat_binary(code));
                bundled.extend(bundle(code, [None, Some(2), Some(3)][*form]));
                [&mut fat, &mut bundled].into_iter().for_each(|data| data.resize(data.len() + zeros, 0));
            }
            let arena = Arena::default();
            let mut reader = Reader::new(&arena, fat.len());
            fat_binaries(&mut reader, &fat, 7, &mut HashSet::new());
            prop_assert!(reader.problems.is_empty(), "{:?}", reader.problems);
            prop_assert_eq!(reader.images.len(), codes.len());
            for (image, (code, ..)) in reader.images.iter().zip(&codes) {
                prop_assert_eq!(&image.stored[16..], &code[..]);
                prop_assert_eq!(&fat[image.offset as usize - 7..][..image.stored.len()], image.stored);
            }
            let mut reader = Reader::new(&arena, bundled.len());
            bundles(&mut reader, &bundled, 0, &mut HashSet::new());
            prop_assert!(reader.problems.is_empty(), "{:?}", reader.problems);
            let seen: Vec<_> = reader.images.iter().map(|image| (image.target, image.arch, image.stored)).collect();
            let wanted: Vec<_> = codes.iter().map(|(code, ..)| ("amdgcn", "gfx90a", &code[..])).collect();
            prop_assert_eq!(seen, wanted);
        }

        /// Damage is told, and what stands before it is listed.
        #[test]
        fn damage_is_a_problem(code in prop::collection::vec(1u8.., 1..40), cut in 1usize..16, junk in 1u8..) {
            let arena = Arena::default();
            let whole = fat_binary(&code);
            let data = [&whole[..], &whole[..whole.len() - cut.min(code.len())]].concat();
            let mut reader = Reader::new(&arena, data.len());
            fat_binaries(&mut reader, &data, 0, &mut HashSet::new());
            prop_assert_eq!((reader.images.len(), reader.problems.len()), (1, 1));
            let data = [bundle(&code, None), vec![junk; cut]].concat();
            let mut reader = Reader::new(&arena, data.len());
            bundles(&mut reader, &data, 0, &mut HashSet::new());
            prop_assert_eq!((reader.images.len(), reader.problems.len()), (1, 1));
        }

        #[test]
        fn any_bytes_are_taken(mut data in prop::collection::vec(any::<u8>(), 0..200), head in 0usize..3) {
            let heads: [&[u8]; 3] = [&FAT_BINARY.to_le_bytes(), offload_bundle::MAGIC, b"CCOB\x02\0\x01\0"];
            data.splice(..0, heads[head].iter().copied());
            let arena = Arena::default();
            let mut reader = Reader::new(&arena, data.len());
            fat_binaries(&mut reader, &data, 0, &mut HashSet::new());
            bundles(&mut reader, &data, 0, &mut HashSet::new());
        }
    }
}
