//! Which files are in a tar archive, compressed or not?
//!
//! Extension headers are read here, with a limit: crate `tar` buffers whatever size they declare. A member beyond 8
//! GiB, whose size only an extension header holds, is beyond the limit anyway; it ends the walk with a problem.

use super::stream::{self, Bounded};
use super::walk::{HEAD, PackageLocation, Walk, is_useless, unreadable};
use crate::bytes::slice_at;
use crate::error::{Error, Result};
use crate::limits;
use std::io::{self, Cursor, Read};
use tar::{Archive, Entries, Entry, EntryType, PaxExtensions};

pub(super) fn walk_tar(walk: &mut Walk<'_>, place: PackageLocation<'_>, bytes: &[u8]) -> Result<()> {
    let decoder = match stream::decoder(bytes) {
        Ok(Some(decoder)) => decoder,
        Ok(None) => {
            let mut archive = Archive::new(Cursor::new(bytes));
            let entries = archive.entries_with_seek();
            return each(walk, place, entries, Some(bytes));
        }
        Err(error) => return walk.damaged(place.path, unreadable(&error)),
    };
    let mut reader = Bounded::new(decoder, walk.budget);
    let mut head = Vec::new();
    if let Err(error) = reader.by_ref().take(HEAD as u64).read_to_end(&mut head) {
        return walk.damaged(place.path, unreadable(&error));
    }
    if is_useless(&head, u64::MAX) {
        return Ok(());
    }
    let is_tar = head.get(257..262) == Some(b"ustar");
    let all = Cursor::new(head).chain(reader);
    if is_tar {
        let mut archive = Archive::new(all);
        let entries = archive.entries();
        return each(walk, place, entries, None);
    }
    // The budget of a single compressed file.
    let ceiling = (bytes.len() as u64).saturating_mul(limits::MAX_INFLATED_RATIO).max(limits::MAX_INFLATED_FLOOR);
    walk.inflated(place, stream::inner_name(place.path).as_bytes(), all, None, ceiling)
}

/// Visits each file. `memory` is the archive, if it is in memory.
fn each<R: Read>(
    walk: &mut Walk<'_>,
    place: PackageLocation<'_>,
    entries: io::Result<Entries<'_, R>>,
    memory: Option<&[u8]>,
) -> Result<()> {
    let broken = |error: &io::Error| Error::input(format!("the tar archive is cut short or malformed: {error}"));
    let entries = match entries {
        Ok(entries) => entries.raw(true),
        Err(error) => return walk.damaged(place.path, broken(&error)),
    };
    let mut long_name = None;
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return walk.damaged(place.path, broken(&error)),
        };
        match entry.header().entry_type() {
            EntryType::GNULongName | EntryType::XHeader => {
                long_name = name_in(&mut entry).or(long_name);
                continue;
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => continue,
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::GNUSparse => {
                let path = place.join(&long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned()));
                walk.damaged(&path, Error::input("sparse members of tar archives are not read"))?;
                continue;
            }
            // Folders, links, devices.
            _ => {
                long_name = None;
                continue;
            }
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let (at, size) = (entry.raw_file_position(), entry.size());
        let Some(bytes) = memory else {
            walk.inflated(place, &name, &mut entry, Some(size), limits::MAX_MEMBER)?;
            continue;
        };
        let data = usize::try_from(at).ok().and_then(|at| slice_at(bytes, at, usize::try_from(size).ok()?));
        match data {
            Some(data) => walk.member(place, &name, data, Some(at))?,
            None => {
                let error = format!("the member declares {size} bytes and passes the end of the tar archive");
                walk.damaged(&place.join(&name), Error::input(error))?;
            }
        }
    }
    Ok(())
}

/// Returns the name of the next member from an extension header.
fn name_in(entry: &mut Entry<'_, impl Read>) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let is_pax = entry.header().entry_type().is_pax_local_extensions();
    // Other records may precede the path.
    entry.take(16 * limits::MAX_MEMBER_PATH as u64).read_to_end(&mut content).ok()?;
    if is_pax {
        let path = PaxExtensions::new(&content).flatten().find(|record| record.key_bytes() == b"path")?;
        return Some(path.value_bytes().to_vec());
    }
    Some(content.split(|&byte| byte == 0).next().unwrap_or_default().to_vec())
}
