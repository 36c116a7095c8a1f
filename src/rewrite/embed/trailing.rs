//! Is there data behind the end of an ELF file?
//!
//! Installers, AppImages, PyInstaller programs and signed files carry data behind the last byte that the ELF headers
//! describe, and find it from the end of the file. A segment added behind it would hide it from them.

use crate::container::elf::Elf;
use crate::error::{Error, Result};
use object::LittleEndian as LE;
use object::elf::{ProgramHeader64, SHT_NOBITS};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

/// Maximum length of alignment padding at the end.
const SLACK: usize = 16;

/// Checks that no data follows the end of an ELF file. Programs that carry data there (installers, AppImages,
/// PyInstaller, signatures) find it from the end of the file, so an added segment would hide it.
///
/// # Errors
/// `Input`, with its length and a remedy, where data that is not padding follows.
pub fn check(bytes: &[u8], elf: &Elf<'_>) -> Result<()> {
    let end = end(bytes, elf);
    let behind = usize::try_from(end).ok().and_then(|end| bytes.get(end..)).unwrap_or_default();
    if behind.len() < SLACK || behind.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let message = format!(
        "{} bytes trail the ELF file (an archive, a signature), which would be no longer at its end",
        behind.len()
    );
    Err(Error::at(end, message)
        .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded"))
}

/// Returns the end of the last segment, section or header table.
fn end(bytes: &[u8], elf: &Elf<'_>) -> u64 {
    let header = elf.header;
    let table = |at: u64, count: usize, size: usize| at.saturating_add((count as u64).saturating_mul(size as u64));
    let segments = elf.program_headers.iter().map(|header| header.p_offset(LE).saturating_add(header.p_filesz(LE)));
    let mut end = segments.max().unwrap_or(0);
    end = end.max(table(header.e_phoff(LE), elf.program_headers.len(), size_of::<ProgramHeader64<LE>>()));
    let sections = header.section_headers(LE, bytes).unwrap_or_default();
    if let Some(first) = sections.first() {
        end = end.max(table(header.e_shoff(LE), sections.len(), size_of_val(first)));
    }
    let filled = sections.iter().filter(|section| section.sh_type(LE) != SHT_NOBITS);
    filled.map(|section| section.sh_offset(LE).saturating_add(section.sh_size(LE))).fold(end, u64::max)
}
