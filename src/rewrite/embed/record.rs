//! What did an earlier run add to this file, and how is it taken out again?
//!
//! The added segment has a record after the program headers: which words of the original were overwritten, the
//! original's length and BLAKE3 hash, and how the images were made. With it a file is first restored to the original,
//! byte for byte, so that building twice replaces images instead of doubling them, and the result does not depend on
//! the history.
//!
//! Layout, little-endian: magic `SYCLBNDL`, `SYCLBNDI` or `SYCLBNDS` (see [`Layer`]); u32 layout version; u32 length of the record;
//! u64 length of the original; 32 bytes hash of the original; u32 number of patches; u32 length of the text; u64 length
//! of the file with the images; u64 length of the original's tail, which stays at the end of that file; for each patch
//! u64 file offset and u64 original word; then the text, lines of `key=value`.

use crate::bytes::Draft;
use crate::bytes::{self, slice_at, u32_at, u64_at};
use crate::container::Host;
use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::elf::PT_LOAD;

const VERSION: u32 = 3;
const FIXED: usize = 80;
/// Bytes of a segment in which the record is searched: it follows the program headers.
const SEARCHED: usize = (crate::limits::MAX_SEGMENTS + 2) * size_of::<object::elf::ProgramHeader64<LE>>();
/// Maximum number of patches of one record: three words of the file header, three of the dynamic section, two per
/// descriptor, one per replaced image.
pub(in crate::rewrite) const MAX_PATCHES: u32 = 1 << 19;

/// Overwritten word of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// File offset of the eight bytes.
    pub offset: u64,
    /// Original word.
    pub original: u64,
}

/// Kind of an addition. Images from elsewhere are treated like the file's own: native images may be built from them, in
/// a segment of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Native images, built from images of the file, whose tables they share.
    Native,
    /// Images from elsewhere.
    Images,
    /// Images without which the file would not be whole: payloads of the file's own that they stand for are gone. Only
    /// an edit takes this layer off, to write it anew.
    Settled,
}

impl Layer {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            Layer::Native => b"SYCLBNDL",
            Layer::Images => b"SYCLBNDI",
            Layer::Settled => b"SYCLBNDS",
        }
    }
}

/// Name of the section that this tool adds to a PE file. The section begins with the offset in it of the record.
pub(crate) const PE_SECTION: &str = ".syclbdl";

/// Record of an addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Kind of the addition.
    pub(crate) layer: Layer,
    /// Length of the original's tail, which stays behind everything that was added.
    pub tail: u64,
    /// Length of the original file.
    pub original_len: u64,
    /// BLAKE3 of the original file.
    pub original_hash: [u8; 32],
    /// Length of the file with the images.
    pub embedded_len: u64,
    /// Overwritten words.
    pub patches: Vec<Patch>,
    /// Notes on how the images were made: pairs such as `march`, `avx2`.
    pub notes: Vec<(String, String)>,
}

impl Record {
    /// Returns the hash of a file for [`Record::original_hash`].
    pub(crate) fn hash(file: &[u8]) -> [u8; 32] {
        *blake3::hash(file).as_bytes()
    }

    fn text(&self) -> String {
        self.notes.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }

    /// Returns the length of the written record.
    pub(crate) fn len(&self) -> usize {
        FIXED + self.patches.len() * 16 + self.text().len()
    }

    /// Returns the record as written.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let text = self.text();
        let mut out = Vec::with_capacity(self.len());
        out.extend(self.layer.magic());
        out.extend(VERSION.to_le_bytes());
        out.extend((self.len() as u32).to_le_bytes());
        out.extend(self.original_len.to_le_bytes());
        out.extend(self.original_hash);
        out.extend((self.patches.len() as u32).to_le_bytes());
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(self.embedded_len.to_le_bytes());
        out.extend(self.tail.to_le_bytes());
        for patch in &self.patches {
            out.extend(patch.offset.to_le_bytes());
            out.extend(patch.original.to_le_bytes());
        }
        out.extend(text.as_bytes());
        out
    }

    fn from_bytes(data: &[u8]) -> Option<Record> {
        let all = [Layer::Native, Layer::Images, Layer::Settled];
        let layer = all.into_iter().find(|layer| data.starts_with(layer.magic()))?;
        if u32_at(data, 8) != Some(VERSION) {
            return None;
        }
        let (patches, text) = (u32_at(data, 56)?, u32_at(data, 60)?);
        if patches > MAX_PATCHES {
            return None;
        }
        let table = slice_at(data, FIXED, (patches as usize).checked_mul(16)?)?;
        let text = slice_at(data, FIXED.checked_add(table.len())?, text as usize)?;
        let text = std::str::from_utf8(text).ok()?;
        Some(Record {
            layer,
            tail: u64_at(data, 72)?,
            original_len: u64_at(data, 16)?,
            original_hash: slice_at(data, 24, 32)?.try_into().ok()?,
            embedded_len: u64_at(data, 64)?,
            patches: table
                .chunks_exact(16)
                .filter_map(|patch| Some(Patch { offset: u64_at(patch, 0)?, original: u64_at(patch, 8)? }))
                .collect(),
            notes: text
                .split('\n')
                .filter_map(|line| line.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        })
    }

    /// Returns the record of a file that an earlier run embedded native images into.
    pub fn find(host: &Host<'_>) -> Option<Record> {
        Record::locate(host, Layer::Native).map(|(record, _)| record)
    }

    /// Returns the last record of a layer, and its address.
    pub fn locate(host: &Host<'_>, layer: Layer) -> Option<(Record, u64)> {
        let read = |base: u64, at: usize| {
            let address = base.checked_add(at as u64)?;
            Some((Record::from_bytes(host.addresses.tail(address)?)?, address))
        };
        let Some(elf) = host.elf.as_ref() else {
            let section = host.sections.iter().rev().find(|section| section.name == PE_SECTION)?;
            let at = usize::try_from(u64_at(section.data, 0)?).ok()?;
            return read(section.address, at).filter(|(record, _)| record.layer == layer);
        };
        elf.program_headers.iter().rev().find_map(|header| {
            (header.p_type.get(LE) == PT_LOAD).then_some(())?;
            let base = header.p_vaddr.get(LE);
            let segment = host.addresses.tail(base)?;
            let head = segment.get(..segment.len().min(SEARCHED))?;
            let at = head.as_chunks::<8>().0.iter().position(|word| word == layer.magic())?;
            read(base, at.checked_mul(8)?)
        })
    }

    /// Returns the file that the record gives back, whatever program that is (see [`crate::rewrite::beneath`]).
    ///
    /// # Errors
    /// `Input` where the file was changed later (stripped, patched, appended to), so that the original cannot be
    /// recovered.
    pub(in crate::rewrite) fn restore(&self, embedded: &[u8]) -> Result<Draft> {
        let changed = || {
            Error::input("the file was changed since native images were embedded; the original cannot be restored")
                .with_remedy("build from the original file")
        };
        // Data that was appended later, such as a signature, would be lost silently. Every addition made the file longer.
        if embedded.len() as u64 != self.embedded_len || self.original_len >= self.embedded_len {
            return Err(changed());
        }
        let len = usize::try_from(self.original_len).map_err(|_| changed())?;
        let tail = usize::try_from(self.tail).map_err(|_| changed())?;
        let head = len.checked_sub(tail).and_then(|head| embedded.get(..head)).ok_or_else(changed)?;
        let tail = embedded.len().checked_sub(tail).and_then(|start| embedded.get(start..)).ok_or_else(changed)?;
        let mut original = Draft::copy_of(head, tail.len())?;
        original.extend(tail)?;
        for patch in &self.patches {
            let at = usize::try_from(patch.offset).map_err(|_| changed())?;
            if !bytes::put_u64(&mut original, at, patch.original) {
                return Err(changed());
            }
        }
        if blake3::hash(&original).as_bytes() != &self.original_hash {
            return Err(changed());
        }
        Ok(original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_trip_and_restore() {
        let original: Vec<u8> = (0..200u8).collect();
        let mut record = Record {
            layer: Layer::Native,
            tail: 0,
            original_len: 200,
            embedded_len: 0,
            original_hash: *blake3::hash(&original).as_bytes(),
            patches: vec![Patch { offset: 16, original: u64_at(&original, 16).unwrap() }],
            notes: vec![("march".into(), "avx2".into())],
        };
        let bytes = record.to_bytes();
        assert_eq!(bytes.len(), record.len());
        assert_eq!(Record::from_bytes(&bytes), Some(record.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(Record::from_bytes(&bytes[..cut]), None);
        }
        let mut embedded = original.clone();
        let tail = Record { tail: 30, embedded_len: 210, patches: Vec::new(), ..record.clone() };
        let moved = [&original[..170], &[1; 10], &original[170..]].concat();
        assert_eq!(tail.restore(&moved).unwrap(), original);
        embedded[16..24].fill(0xee);
        embedded.extend(bytes);
        assert!(record.restore(&embedded).is_err());
        record.embedded_len = embedded.len() as u64;
        assert_eq!(record.restore(&embedded).unwrap(), original);
        assert!(record.restore(&embedded[..embedded.len() - 1]).is_err());
        assert!(record.restore(&[&embedded[..], &[0]].concat()).is_err());
        embedded[100] ^= 1;
        assert!(record.restore(&embedded).is_err());
    }

    #[test]
    fn an_addition_made_the_file_longer() {
        let original = [7u8; 200];
        let record = Record {
            layer: Layer::Native,
            tail: 0,
            original_len: 200,
            embedded_len: 200,
            original_hash: Record::hash(&original),
            patches: Vec::new(),
            notes: Vec::new(),
        };
        assert!(record.restore(&original).is_err());
    }

    fn records() -> impl Strategy<Value = Record> {
        let patch = any::<(u64, u64)>().prop_map(|(offset, original)| Patch { offset, original });
        let parts = (any::<(u64, u64)>(), any::<[u8; 32]>(), prop::collection::vec(patch, 0..20));
        let notes = prop::collection::vec(("[^=\n]{0,12}", "[^\n]{0,20}"), 0..5);
        (parts, notes).prop_map(|(((original_len, embedded_len), original_hash, patches), notes)| Record {
            layer: if embedded_len % 2 == 0 { Layer::Native } else { Layer::Images },
            tail: embedded_len / 3,
            original_len,
            embedded_len,
            original_hash,
            patches,
            notes,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(record in records(), behind in prop::collection::vec(any::<u8>(), 0..40)) {
            let bytes = record.to_bytes();
            prop_assert_eq!(bytes.len(), record.len());
            prop_assert_eq!(Record::from_bytes(&[bytes, behind].concat()), Some(record));
        }

        /// Neither reading nor restoring by a damaged record ends in a panic, or in a file that is not the original.
        #[test]
        fn damage_is_refused(
            record in records(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            file in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut bytes = record.to_bytes();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(read) = Record::from_bytes(&bytes) {
                prop_assert!(read.restore(&file).is_err());
            }
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Record::from_bytes(&bytes);
            let _ = Record::from_bytes(&[&Layer::Native.magic()[..], &VERSION.to_le_bytes(), &bytes].concat());
        }
    }
}
