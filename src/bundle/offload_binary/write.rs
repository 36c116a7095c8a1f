//! How is an OffloadBinary written?

use super::{ENTRY, Entry, MAGIC};
use crate::bytes::align_up;
use crate::container::inflate;
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Version of the container, and its compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One binary per entry (LLVM 15 to 21).
    V1,
    /// One binary for all entries, which DPC++ 2026 reads.
    V2,
    /// Like version 2, with a longer header.
    V3,
    /// Version 3 with everything after the header in one zstd frame of this level.
    V3Compressed(i32),
}

impl Version {
    fn number(self) -> u32 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V3 | Version::V3Compressed(_) => 3,
        }
    }
}

/// Writes entries as one OffloadBinary, or as one per entry in version 1.
///
/// # Errors
/// `Input` for a string that the version cannot hold (a key, or in version 1 a value, with a NUL).
pub fn write(version: Version, entries: &[Entry<'_>]) -> Result<Vec<u8>> {
    match version {
        Version::V1 => {
            let mut out = Vec::new();
            for entry in entries {
                out.extend(one(version, std::slice::from_ref(entry))?);
            }
            Ok(out)
        }
        _ => one(version, entries),
    }
}

fn one(version: Version, entries: &[Entry<'_>]) -> Result<Vec<u8>> {
    let (header, stride) = match version.number() {
        1 => (32, 16),
        2 => (32, 24),
        _ => (40, 24),
    };
    let pairs: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let mut maps = header + entries.len() * ENTRY;
    let base = maps + pairs * stride;
    let mut strings = Strings::new(base);
    let mut map = Vec::new();
    for (key, value) in entries.iter().flat_map(|entry| &entry.strings) {
        if key.contains(&0) || stride == 16 && value.contains(&0) {
            return Err(Error::input(format!("the string {:?} holds a NUL", String::from_utf8_lossy(key))));
        }
        let (key, at) = (strings.offset(key), strings.offset(value));
        map.extend([key, at].into_iter().flat_map(u64::to_le_bytes));
        if stride == 24 {
            map.extend((value.len() as u64).to_le_bytes());
        }
    }
    let images = aligned(base + strings.bytes.len())?;
    let mut image = images;
    let mut out = vec![0; header];
    for entry in entries {
        out.extend(entry.image_kind.to_le_bytes());
        out.extend(entry.offload_kind.to_le_bytes());
        out.extend(entry.flags.to_le_bytes());
        for word in [maps, entry.strings.len(), image, entry.image.len()] {
            out.extend((word as u64).to_le_bytes());
        }
        maps += entry.strings.len() * stride;
        image += entry.image.len();
    }
    out.extend(map);
    out.extend(strings.bytes);
    out.resize(images, 0);
    entries.iter().for_each(|entry| out.extend_from_slice(entry.image));
    out.resize(aligned(out.len())?, 0);
    let inflated = out.len() as u64;
    if let Version::V3Compressed(level) = version {
        let frame = inflate::zstd_frame(out.get(header..).unwrap_or_default(), level)?;
        out.truncate(header);
        out.extend(frame);
    }
    let size = out.len() as u64;
    let mut head = Vec::new();
    head.extend(MAGIC);
    head.extend(version.number().to_le_bytes());
    let count = if stride == 16 { ENTRY } else { entries.len() };
    head.extend([size, header as u64, count as u64].into_iter().flat_map(u64::to_le_bytes));
    if matches!(version, Version::V3Compressed(_)) {
        head.extend(inflated.to_le_bytes());
    }
    out.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
    Ok(out)
}

fn aligned(len: usize) -> Result<usize> {
    align_up(len as u64, 8)
        .and_then(|len| usize::try_from(len).ok())
        .ok_or_else(|| Error::input("an OffloadBinary larger than memory"))
}

/// Table of NUL-terminated strings, each once.
struct Strings<'a> {
    base: usize,
    bytes: Vec<u8>,
    known: HashMap<&'a [u8], u64>,
}

impl<'a> Strings<'a> {
    fn new(base: usize) -> Self {
        Strings { base, bytes: vec![0], known: HashMap::new() }
    }

    fn offset(&mut self, string: &'a [u8]) -> u64 {
        let next = (self.base + self.bytes.len()) as u64;
        let bytes = &mut self.bytes;
        *self.known.entry(string).or_insert_with(|| {
            bytes.extend_from_slice(string);
            bytes.push(0);
            next
        })
    }
}
