//! Which files are in a zip (a wheel, a `.conda` package)?

use super::stream::Bounded;
use super::walk::{PackageLocation, Walk};
use crate::bytes::slice_at;
use crate::error::{Error, Result};
use crate::limits;
use flate2::Crc;
use std::collections::HashSet;
use std::io::{Cursor, Read};
use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

pub(super) fn walk_zip(walk: &mut Walk<'_>, place: PackageLocation<'_>, bytes: &[u8]) -> Result<()> {
    let broken = |error: &dyn std::fmt::Display| Error::input(format!("the zip archive is malformed: {error}"));
    let mut archive = match ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return walk.damaged(place.path, broken(&error)),
    };
    // Overlapping members only serve to inflate to far more than the archive. With damaged headers overlap cannot be
    // checked for all; then at least no two members may begin at the same offset.
    if let Ok(true) = archive.has_overlapping_files() {
        return walk.damaged(place.path, broken(&"its members overlap"));
    }
    let mut starts = HashSet::new();
    for index in 0..archive.len() {
        let error = match archive.by_index(index) {
            Ok(file) if file.is_dir() || file.is_symlink() => continue,
            Ok(file) if file.compressed_size() > 0 && !file.data_start().is_none_or(|start| starts.insert(start)) => {
                Error::input("the member shares its bytes with another")
            }
            Ok(file) => {
                member(walk, place, file, bytes)?;
                continue;
            }
            Err(error) => Error::input(error.to_string()),
        };
        let name = archive.name_for_index(index).and_then(std::result::Result::ok);
        let path = name.map_or_else(|| place.path.to_owned(), |name| place.join(name.as_bytes()));
        walk.damaged(&path, error)?;
    }
    Ok(())
}

fn member<R: Read>(walk: &mut Walk<'_>, place: PackageLocation<'_>, file: ZipFile<'_, R>, bytes: &[u8]) -> Result<()> {
    let name = file.name_raw().to_vec();
    if file.compression() != CompressionMethod::Stored {
        let size = file.size();
        let ceiling = file.compressed_size().saturating_mul(limits::MAX_INFLATED_RATIO).max(limits::MAX_INFLATED_FLOOR);
        let reader = Bounded::new(file, walk.budget);
        return walk.inflated(place, &name, reader, Some(size), ceiling);
    }
    // The bytes of a stored member are in the archive unchanged.
    let range = file.data_start().and_then(|at| Some((usize::try_from(at).ok()?, file.compressed_size())));
    let data = range.and_then(|(at, size)| slice_at(bytes, at, usize::try_from(size).ok()?));
    let (Some((at, _)), Some(data)) = (range, data) else {
        return walk.damaged(&place.join(&name), Error::input("the member passes the end of the zip archive"));
    };
    if super::walk::is_useless(data, data.len() as u64) {
        return Ok(());
    }
    let mut crc = Crc::new();
    crc.update(data);
    if crc.sum() != file.crc32() {
        // The contents may be valid nevertheless.
        walk.damaged(&place.join(&name), Error::input("the checksum of the member is wrong"))?;
    }
    walk.member(place, &name, data, Some(at as u64))
}
