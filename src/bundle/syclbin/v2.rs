//! What do the entries of a SYCLBIN of version 2 hold?
//!
//! Each entry of the OffloadBinary has a `role`: `global_metadata`, `am_metadata`, `ir` or `native`; the last three
//! have an `am_index`. Code begins with its own metadata, after the metadata's length (8 bytes).

use super::{Code, MAGIC, add, properties};
use crate::bundle::blob::{self, Reader};
use crate::bundle::offload_binary::{Entry, image_kind};
use crate::bundle::property::Properties;
use crate::bytes;
use crate::container::place::Place;
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Whether the entries of an OffloadBinary are the parts of a SYCLBIN.
pub fn is_parted(entries: &[Entry<'_>]) -> bool {
    entries.iter().any(|entry| entry.image_kind == image_kind::SYCLBIN && !entry.string("role").is_empty())
        && entries.first().is_some_and(|entry| !entry.image.starts_with(&MAGIC))
}

/// Adds the images of the SYCLBIN with these entries. `place` is the location of the OffloadBinary.
pub fn images_of_parts<'a>(reader: &mut Reader<'a>, entries: &[Entry<'a>], place: Place) {
    let mut global = None;
    let mut modules: HashMap<u32, Properties<'a>> = HashMap::new();
    for entry in entries {
        let twice = match entry.string("role") {
            "global_metadata" => {
                let version = entry.string("sycl_format_version");
                if !matches!(version, "" | "2") {
                    reader.problem(entry.place.error(format!("a SYCLBIN of version `{version}`; 1 and 2 are known")));
                }
                global.replace(properties(reader, entry.image, entry.place, "global metadata")).is_some()
            }
            "am_metadata" => match index(entry) {
                Ok(index) => {
                    let read = properties(reader, entry.image, entry.place, "module metadata");
                    modules.insert(index, read).is_some()
                }
                Err(error) => {
                    reader.problem(error);
                    false
                }
            },
            _ => false,
        };
        if twice {
            reader.problem(entry.place.error(format!("a second `{}` for the same", entry.string("role"))));
        }
    }
    if global.is_none() {
        reader.problem(place.error("a SYCLBIN without global metadata"));
    }
    let global = global.unwrap_or_default();
    let none = Properties::default();
    for entry in entries {
        let role = entry.string("role");
        let native = match role {
            "ir" => false,
            "native" => true,
            "global_metadata" | "am_metadata" => continue,
            role => {
                reader.problem(entry.place.error(format!("a part of a SYCLBIN in the unknown role `{role}`")));
                continue;
            }
        };
        let module = index(entry).and_then(|index| {
            modules.get(&index).ok_or_else(|| entry.place.error(format!("abstract module {index} has no metadata")))
        });
        let module = module.unwrap_or_else(|error| {
            reader.problem(error.context(format!("SYCLBIN {role} image")));
            &none
        });
        match code(entry) {
            Ok((text, payload, at)) => {
                let metadata = properties(reader, text, entry.place.at(8), "image metadata");
                add(reader, &global, module, Code { native, metadata, payload, place: entry.place.at(at) });
            }
            Err(error) => reader.problem(entry.place.locate(error).context(format!("SYCLBIN {role} image"))),
        }
    }
}

fn index(entry: &Entry<'_>) -> Result<u32> {
    let text = entry.string("am_index");
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| entry.place.error(format!("`{text}` is no number of an abstract module")))
}

/// Returns metadata, payload, and the offset of the payload in the entry.
fn code<'a>(entry: &Entry<'a>) -> Result<(&'a [u8], &'a [u8], u64)> {
    let cut = || Error::input("its metadata passes its end");
    let len = bytes::u64_at(entry.image, 0).ok_or_else(cut)?;
    let text = blob::slice(entry.image, 8, len).ok_or_else(cut)?;
    let payload = entry.image.get(text.len().saturating_add(8)..).unwrap_or_default();
    Ok((text, payload, len.saturating_add(8)))
}
