//! Which files are in an archive (`.a`, `.lib`, `.deb`)?
//!
//! Reads archives with GNU, BSD and COFF names, and thin archives, whose members are separate files.

use super::walk::{PackageLocation, Walk};
use crate::error::{Error, Result};
use object::read::archive::ArchiveFile;

pub(super) fn walk_archive(walk: &mut Walk<'_>, place: PackageLocation<'_>, bytes: &[u8]) -> Result<()> {
    let archive = match ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => return walk.damaged(place.path, Error::input(format!("the archive is malformed: {error}"))),
    };
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                return walk
                    .damaged(place.path, Error::input(format!("the archive is cut short or malformed: {error}")));
            }
        };
        if archive.is_thin() {
            walk.beside(place, member.name())?;
            continue;
        }
        match member.data(bytes) {
            Ok(data) => walk.member(place, member.name(), data, Some(member.file_range().0))?,
            Err(error) => walk.damaged(&place.join(member.name()), Error::input(error.to_string()))?,
        }
    }
    Ok(())
}
