//! Where are the lists of device images in a linked file?
//!
//! A file linked by DPC++ holds one `sycl_device_binaries_struct` for each object that was wrapped before the final
//! link: `{u16 version = 1, u16 count, u32 0, image array, 0, 0}`. It is found by its shape, since symbols are usually
//! stripped and the registration code differs by compiler; a candidate counts only if the first image it points to is
//! valid. `.tgtimg`, where present, lists the address of every image and serves to check that none was missed. Layouts:
//! DPC++ `sycl/source/detail/compiler.hpp`, LLVM `SYCLOffloadWrapper.cpp`, `OffloadWrapper.cpp`.

use crate::bytes;
use crate::container::Host;
use crate::container::address::AddressMap;
use crate::limits;

/// Size of a descriptor in bytes.
pub const SIZE: u64 = 32;

/// List of images in a linked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Virtual address of the descriptor.
    pub address: u64,
    /// Number of images.
    pub count: u16,
    /// Virtual address of the image array.
    pub images: u64,
    /// Layout of the image structures, read from the first.
    pub layout: ImageLayout,
}

/// Layout of an image structure. Version 3 of DPC++ and of upstream LLVM differ only in the meaning of the format byte
/// and of the property pointers; versions 1 and 2 have two more pointers, to a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageLayout {
    /// DPC++ versions 1 and 2: 96 bytes.
    WithManifest,
    /// DPC++ version 3: 80 bytes.
    Version3,
    /// Upstream LLVM's version 3 (kind 8): 80 bytes.
    Upstream3,
}

impl ImageLayout {
    /// Returns the layout of a version and kind.
    pub fn from_version(version: u16, kind: u8) -> Option<ImageLayout> {
        match (version, kind) {
            (1 | 2, 4) => Some(ImageLayout::WithManifest),
            (3, 4) => Some(ImageLayout::Version3),
            (3, 8) => Some(ImageLayout::Upstream3),
            _ => None,
        }
    }

    /// Returns the size of a structure in bytes.
    pub fn stride(self) -> u64 {
        match self {
            ImageLayout::WithManifest => 96,
            ImageLayout::Version3 | ImageLayout::Upstream3 => 80,
        }
    }

    /// Returns the offset of the payload's pointers.
    pub fn payload(self) -> u64 {
        match self {
            ImageLayout::WithManifest => 48,
            ImageLayout::Version3 | ImageLayout::Upstream3 => 32,
        }
    }

    /// Returns the offset of `EntriesBegin`.
    pub fn entries(self) -> u64 {
        self.payload() + 16
    }

    /// Returns the offset of `PropertySetsBegin`.
    pub fn properties(self) -> u64 {
        self.payload() + 32
    }
}

/// Finds every descriptor, by address.
pub fn find(host: &Host<'_>) -> Vec<Descriptor> {
    let mut found = Vec::new();
    for segment in host.addresses.segments() {
        if !segment.holds_pointers {
            continue;
        }
        let skew = usize::try_from(segment.address.wrapping_neg() & 7).unwrap_or(0);
        let words = segment.data.get(skew..).unwrap_or_default().as_chunks::<8>().0;
        for (index, window) in words.windows(4).enumerate() {
            let [head, images, 0, 0] =
                [0, 1, 2, 3].map(|at| window.get(at).map_or(1, |word| u64::from_le_bytes(*word)))
            else {
                continue;
            };
            let Some(count) = count(head) else { continue };
            let Some(address) = segment.address.checked_add((skew + index * 8) as u64) else { continue };
            if let Some(layout) = sound_first_image(&host.addresses, images) {
                found.push(Descriptor { address, count, images, layout });
                if found.len() >= limits::MAX_DESCRIPTORS {
                    return found;
                }
            }
        }
    }
    found
}

/// Returns the image count in a descriptor's first word, or none where the word does not begin a descriptor.
fn count(head: u64) -> Option<u16> {
    let (version, count, padding) = (head & 0xffff, (head >> 16) & 0xffff, head >> 32);
    (version == 1 && count > 0 && padding == 0).then(|| u16::try_from(count).ok())?
}

/// Returns the layout of the image structure at an address if it is valid: known version and kind, a printable target,
/// and a payload range within the file.
fn sound_first_image(map: &AddressMap<'_>, address: u64) -> Option<ImageLayout> {
    let head = map.tail(address)?;
    let layout = ImageLayout::from_version(bytes::u16_at(head, 0)?, *head.get(2)?)?;
    let target = map.c_string(bytes::u64_at(head, 8)?)?;
    let printable = !target.is_empty() && target.len() < 256 && target.iter().all(u8::is_ascii_graphic);
    let at = usize::try_from(layout.payload()).ok()?;
    let (start, end) = (bytes::u64_at(head, at)?, bytes::u64_at(head, at.checked_add(8)?)?);
    let sound = printable && start <= end && map.slice(start, end.checked_sub(start)?).is_some();
    sound.then_some(layout)
}

/// Payload that `.tgtimg` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Virtual address of the pair of payload address and size.
    pub address: u64,
    /// Virtual address of the payload.
    pub payload: u64,
}

/// Returns the payloads that `.tgtimg` lists; pairs without an address or of size 0 are padding.
pub fn listed_in_tgtimg(host: &Host<'_>) -> Vec<Listed> {
    let Some(section) = host.section(".tgtimg") else { return Vec::new() };
    let Some(data) = host.addresses.slice(section.address, section.data.len() as u64) else { return Vec::new() };
    let pairs = data.as_chunks::<16>().0;
    pairs
        .iter()
        .zip((section.address..).step_by(16))
        .filter_map(|(pair, address)| Some((address, bytes::u64_at(pair, 0)?, bytes::u64_at(pair, 8)?)))
        .filter(|&(_, payload, size)| payload != 0 && size != 0)
        .map(|(address, payload, _)| Listed { address, payload })
        .collect()
}
