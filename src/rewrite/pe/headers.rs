//! Where in a PE file are the fields that a rewrite changes?
//!
//! Only PE32+ is supported. Offsets are those of Microsoft's "PE Format".

use crate::bytes::{self, u16_at, u32_at, u64_at};
use crate::error::{Error, Result};
use crate::limits;

/// Index of the certificate directory, whose address is a file offset.
pub const CERTIFICATES: usize = 4;
/// Index of the base relocation directory.
pub const BASE_RELOCATIONS: usize = 5;
/// Index of the debug directory.
pub const DEBUG: usize = 6;

/// Size of a section header in bytes.
pub const SECTION: usize = 40;
const CODE: u32 = 0x20;
const EXECUTABLE: u32 = 0x2000_0000;

/// Fields of the headers.
#[derive(Debug, Clone)]
pub struct Headers {
    /// File offset of the COFF header.
    pub coff: usize,
    /// File offset of the optional header.
    pub optional: usize,
    /// File offset of the section headers.
    pub table: usize,
    /// Section headers.
    pub sections: Vec<Section>,
    /// Image base: the address at which the pointers in the file are valid.
    pub image_base: u64,
    /// Alignment of sections in memory.
    pub section_align: u32,
    /// Alignment of sections in the file.
    pub file_align: u32,
    /// Size of all headers with padding, in bytes.
    pub headers_size: u32,
    /// File offset of the COFF symbols; 0 where there are none.
    pub symbols: u32,
    directories: usize,
}

/// A section header.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// File offset of the header.
    pub header: usize,
    /// Size in memory, in bytes.
    pub virtual_size: u32,
    /// Address relative to the image base.
    pub address: u32,
    /// Size in the file, in bytes.
    pub raw_size: u32,
    /// File offset.
    pub raw: u32,
    flags: u32,
}

impl Section {
    /// Whether the section contains code.
    pub fn is_code(&self) -> bool {
        self.flags & (CODE | EXECUTABLE) != 0
    }

    /// Returns the end in memory. Old linkers leave the size in memory 0.
    pub fn end(&self) -> u64 {
        let size = if self.virtual_size == 0 { self.raw_size } else { self.virtual_size };
        u64::from(self.address).saturating_add(size.into())
    }

    /// Returns the end in the file.
    pub fn raw_end(&self) -> u64 {
        if self.raw_size == 0 { 0 } else { u64::from(self.raw).saturating_add(self.raw_size.into()) }
    }
}

impl Headers {
    /// Reads the headers.
    ///
    /// # Errors
    /// `Input` where they are cut short or not those of a 64-bit file.
    pub fn parse(file: &[u8]) -> Result<Headers> {
        let cut = || Error::input("the PE headers are cut short");
        let start = u32_at(file, 60).ok_or_else(cut)? as usize;
        let coff = start.saturating_add(4);
        let optional = coff.saturating_add(20);
        let u32_in = |at: usize| u32_at(file, optional.saturating_add(at)).ok_or_else(cut);
        if u16_at(file, optional) != Some(0x20b) {
            return Err(Error::at(optional as u64, "not a 64-bit PE file"));
        }
        let size = usize::from(u16_at(file, coff.saturating_add(16)).ok_or_else(cut)?);
        let table = optional.saturating_add(size);
        let count = usize::from(u16_at(file, coff.saturating_add(2)).ok_or_else(cut)?);
        if count > limits::MAX_SEGMENTS {
            return Err(Error::at(coff as u64, format!("{count} sections")));
        }
        let mut sections = Vec::new();
        for index in 0..count {
            let header = table.saturating_add(index.saturating_mul(SECTION));
            let field = |at: usize| u32_at(file, header.saturating_add(at)).ok_or_else(cut);
            sections.push(Section {
                header,
                virtual_size: field(8)?,
                address: field(12)?,
                raw_size: field(16)?,
                raw: field(20)?,
                flags: field(36)?,
            });
        }
        // Number of directories that are declared and fit the header.
        let directories = (u32_in(108)? as usize).min(size.saturating_sub(112) / 8).min(16);
        let (section_align, file_align) = (u32_in(32)?, u32_in(36)?);
        let sound = |align: u32| align.is_power_of_two() && (1 << 4..=1 << 21).contains(&align);
        if !sound(section_align) || !sound(file_align) {
            let message = format!("sections aligned to {section_align:#x} in memory, {file_align:#x} in the file");
            return Err(Error::at(optional as u64, message));
        }
        Ok(Headers {
            coff,
            optional,
            table,
            sections,
            image_base: u64_at(file, optional.saturating_add(24)).ok_or_else(cut)?,
            section_align,
            file_align,
            headers_size: u32_in(60)?,
            symbols: u32_at(file, coff.saturating_add(8)).ok_or_else(cut)?,
            directories,
        })
    }

    /// Returns the file offset of a directory's address and size.
    pub fn directory_at(&self, index: usize) -> Option<usize> {
        let at = self.optional.checked_add(112)?.checked_add(index.checked_mul(8)?)?;
        (index < self.directories).then_some(at)
    }

    /// Returns the address and size of a directory, or none where it is empty.
    pub fn directory(&self, file: &[u8], index: usize) -> Option<(u32, u32)> {
        let at = self.directory_at(index)?;
        let found = (u32_at(file, at)?, u32_at(file, at.checked_add(4)?)?);
        (found.0 != 0 && found.1 != 0).then_some(found)
    }

    /// Returns the file offset of `len` bytes at an address relative to the image base.
    pub fn offset(&self, address: u32, len: u32) -> Option<usize> {
        let section = self.sections.iter().find(|section| {
            address >= section.address
                && u64::from(address).saturating_add(len.into())
                    <= u64::from(section.address).saturating_add(section.raw_size.into())
        })?;
        usize::try_from(section.raw.checked_add(address.checked_sub(section.address)?)?).ok()
    }

    /// Returns the base relocations and their file offset, or none where the file has none.
    ///
    /// # Errors
    /// `Input` where they are not in the file.
    pub fn relocations<'f>(&self, file: &'f [u8]) -> Result<Option<(usize, &'f [u8])>> {
        let Some((address, size)) = self.directory(file, BASE_RELOCATIONS) else { return Ok(None) };
        let at = self.offset(address, size);
        let table = at.and_then(|at| Some((at, bytes::slice_at(file, at, usize::try_from(size).ok()?)?)));
        table.map(Some).ok_or_else(|| Error::input("the base relocations are not in the file"))
    }
}

/// Updates the checksum, if the file has one.
///
/// # Errors
/// `Input` where the headers are cut short.
pub fn update_checksum(file: &mut [u8]) -> Result<()> {
    let at = Headers::parse(file)?.optional.saturating_add(64);
    if u32_at(file, at).is_none_or(|checksum| checksum == 0) {
        return Ok(());
    }
    let new = checksum(file, at);
    if bytes::put(file, at, &new.to_le_bytes()) { Ok(()) } else { Err(Error::input("the PE headers are cut short")) }
}

/// Returns the sum of all 16-bit words except the checksum's own, with carries folded in, plus the file's length
/// (`CheckSumMappedFile`).
fn checksum(file: &[u8], own: usize) -> u32 {
    let word = |pair: &[u8]| {
        let low = pair.first().copied().unwrap_or(0);
        u64::from(u16::from_le_bytes([low, pair.get(1).copied().unwrap_or(0)]))
    };
    let sum = |bytes: &[u8]| bytes.chunks(2).map(word).fold(0u64, u64::wrapping_add);
    let field = bytes::slice_at(file, own, 4).unwrap_or_default();
    // The field's own words are subtracted from the sum; in files that load, headers are at even offsets.
    let mut total = sum(file).wrapping_sub(sum(field));
    while total >> 16 != 0 {
        total = (total & 0xffff).wrapping_add(total >> 16);
    }
    u32::try_from(total.wrapping_add(file.len() as u64) & 0xffff_ffff).unwrap_or(0)
}
