//! Which code objects are in a kernel package of ROCm?
//!
//! rocm-kpack takes device code out of the programs and libraries of a package and puts that of a family of GPUs into one
//! file (`python/rocm_kpack/kpack.py`, `runtime/src/toc_parser.cpp` and `compression.cpp` there): `KPAK`, version 1 as
//! 32-bit number, the offset of a table as 64-bit number, code from byte 64 on, and the table at the end, a MessagePack
//! mapping. Its `toc` has, by path of the host file and architecture, the place of each code object in a list. With
//! `compression_scheme` `none` the list is `blobs`, offsets and sizes in the file; with `zstd-per-kernel` it is what
//! stands at `zstd_offset`: a 32-bit count, then of each frame its size, 32 bits, and its bytes.
//!
//! The host file keeps a section with such a mapping too: the paths of packages that its runtime looks for.

use super::blob::{self, Reader};
use super::format::{Declared, is_zstd};
use super::image::{Image, State};
use super::msgpack::{self, Value};
use super::property::{self, Properties, Property, PropertySet};
use super::property_sets::{key, set};
use crate::bytes;
use crate::container::{Host, Place};
use crate::error::{Error, Result};
use crate::limits;
use std::collections::{HashMap, HashSet};

/// Sections of a host file whose code is in packages: of ELF files, and of PE files, whose names have eight bytes.
const REFERENCES: [&str; 2] = [".rocm_kpack_ref", ".kpackrf"];

/// Adds the code objects of the package at the start of the data.
pub(super) fn images<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, outer: &Image<'a>) {
    let done = read(reader, data, place, outer);
    reader.finished(done, place, "kernel package");
}

fn read<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, outer: &Image<'a>) -> Result<()> {
    let cut = || Error::at(data.len() as u64, "its header is cut short");
    let version = bytes::u32_at(data, 4).ok_or_else(cut)?;
    if version != 1 {
        return Err(Error::at(4, format!("version {version}; 1 is known")));
    }
    let offset = bytes::u64_at(data, 8).ok_or_else(cut)?;
    let beyond = || Error::at(8, format!("its table at {offset:#x} passes the end"));
    let table = usize::try_from(offset).ok().and_then(|at| data.get(at..)).ok_or_else(beyond)?;
    reader.spend(table.len())?;
    let table = msgpack::read(table).map_err(|error| {
        let at = error.offset().unwrap_or(0).saturating_add(offset);
        error.without_offset().with_offset(at)
    })?;
    let toc = table.get("toc").map(Value::entries).unwrap_or_default();
    let ordinal = |entry: &Value<'_>| entry.number("ordinal");
    let listed: HashSet<u64> =
        toc.iter().flat_map(|(_, all)| all.entries()).filter_map(|(_, one)| ordinal(one)).collect();
    let code = code(data, &table, offset, &listed)?;
    for (path, architectures) in toc {
        let value = property::Value::Bytes(reader.arena.keep(property::byte_array(path.as_bytes()))?);
        let set = PropertySet { name: set::KERNEL_PACKAGE, properties: vec![Property { name: key::HOST_FILE, value }] };
        for (arch, entry) in architectures.entries() {
            // Each image has the path with it, and each message its beginning.
            reader.spend(path.len())?;
            let Some((at, stored)) = ordinal(entry).and_then(|ordinal| code.get(&ordinal)) else {
                let most = limits::MAX_PACKAGE_PATH;
                let what = format!("the code of `{path:.most$}` for {arch:.most$} is not where the table says");
                reader.problem(place.at(offset).error(what));
                continue;
            };
            let (_, entries) = reader.copy(&Properties::default(), &outer.entries)?;
            let like = Image {
                declared: if is_zstd(stored) { Declared::CompressedNone } else { Declared::None },
                target: "amdgcn",
                arch: blob::arch_of(arch),
                stated: Some(State::Executable),
                offload_kind: "hip",
                properties: Properties { sets: vec![set.clone()] },
                entries,
                ..*outer
            };
            reader.image(stored, place.at(*at), like);
        }
    }
    Ok(())
}

/// Offset and bytes of a code object as it is stored.
type Stored<'a> = (u64, &'a [u8]);

/// The stored code objects that are listed, by their place in the list; those that pass the end are left out.
fn code<'a>(data: &'a [u8], table: &Value<'_>, end: u64, listed: &HashSet<u64>) -> Result<HashMap<u64, Stored<'a>>> {
    match table.text("compression_scheme") {
        Some("none") => {
            let blobs = (0..).zip(table.items("blobs")).filter(|(ordinal, _)| listed.contains(ordinal));
            let stored = blobs.filter_map(|(ordinal, blob)| {
                let (at, size) = (blob.number("offset")?, blob.number("size")?);
                Some((ordinal, (at, blob::slice(data, at, size)?)))
            });
            Ok(stored.collect())
        }
        Some("zstd-per-kernel") => {
            let start = table.number("zstd_offset").unwrap_or(end);
            let number = |at: u64| bytes::u32_at(data, usize::try_from(at).ok()?).map(u64::from);
            let count =
                number(start).ok_or_else(|| Error::at(end, format!("its frames at {start:#x} pass the end")))?;
            let (mut frames, mut at) = (HashMap::new(), start.saturating_add(4));
            // A forged count ends with the data.
            for ordinal in 0..count {
                let Some(size) = number(at) else { break };
                at = at.saturating_add(4);
                let Some(frame) = blob::slice(data, at, size) else { break };
                if listed.contains(&ordinal) {
                    frames.insert(ordinal, (at, frame));
                }
                at = at.saturating_add(size);
            }
            Ok(frames)
        }
        scheme => {
            let scheme = scheme.unwrap_or("none that it names");
            Err(Error::at(end, format!("its code is stored by scheme `{scheme}`, which is not known")))
        }
    }
}

/// Lists the packages in which the runtime looks for the code of a host file, as the file names them.
pub(super) fn packages_of<'a>(host: &Host<'a>) -> Vec<&'a str> {
    let section = host.sections.iter().find(|section| REFERENCES.contains(&section.name));
    let table = section.and_then(|section| msgpack::read(section.data).ok());
    let paths = table.as_ref().map(|table| table.items("kpack_search_paths")).unwrap_or_default();
    paths
        .iter()
        .filter_map(Value::as_text)
        .filter(|path| (1..=limits::MAX_PACKAGE_PATH).contains(&path.len()))
        .take(limits::MAX_PACKAGES)
        .collect()
}
