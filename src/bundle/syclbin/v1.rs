//! How is a SYCLBIN of version 1 laid out?
//!
//! It has a header of 56 bytes; headers of 32 bytes for abstract modules, IR modules and native images; a table of
//! metadata, padded to 8 bytes; and a table of code.

use super::{Code, MAGIC, add, properties};
use crate::bundle::blob::{self, Reader};
use crate::bundle::property::Properties;
use crate::bytes;
use crate::container::place::Place;
use crate::error::{Context as _, Error, Result};

/// Size of the file header in bytes.
pub(super) const HEADER: u64 = 56;
/// Size of each other header in bytes.
pub(super) const RECORD: u64 = 32;

/// Part of the file that offsets count from.
#[derive(Clone, Copy)]
struct Table<'a> {
    data: &'a [u8],
    place: Place,
    name: &'static str,
}

impl<'a> Table<'a> {
    fn slice(self, at: u64, len: u64) -> Result<(&'a [u8], Place)> {
        let part = blob::slice(self.data, at, len).ok_or_else(|| {
            self.place.error(format!("{len} bytes at {at:#x} of the {} pass its {} bytes", self.name, self.data.len()))
        })?;
        Ok((part, self.place.at(at)))
    }

    /// Returns record `index`; `count` is the number of records that the header declares.
    fn record(self, index: u64) -> Result<&'a [u8]> {
        let at = index.checked_mul(RECORD).ok_or_else(|| Error::input("a header's index is out of range"))?;
        self.slice(at, RECORD).map(|(record, _)| record)
    }
}

struct File<'a> {
    metadata: Table<'a>,
    code: Table<'a>,
    global: Properties<'a>,
}

/// Reads the file and adds its images to the reader.
///
/// # Errors
/// `Input` where the header or the tables are cut short; damaged modules are problems of the reader.
pub(super) fn read<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Result<()> {
    let cut = || place.error("the header is cut short");
    let number = |at| bytes::u32_at(data, at).map(u64::from).ok_or_else(cut);
    let word = |at| bytes::u64_at(data, at).ok_or_else(cut);
    let version = number(4)?;
    if !data.starts_with(&MAGIC) || version != 1 {
        return Err(place.at(4).error(format!("version {version} with a header of version 1")));
    }
    let counts = [number(8)?, number(12)?, number(16)?];
    let (metadata_size, code_size) = (word(24)?, word(32)?);
    let mut at = HEADER;
    let mut table = |len: u64, name: &'static str| -> Result<Table<'a>> {
        let part = blob::slice(data, at, len)
            .ok_or_else(|| place.error(format!("the {name} at {at:#x}, {len} bytes, passes the end")))?;
        let table = Table { data: part, place: place.at(at), name };
        at = at.saturating_add(len);
        Ok(table)
    };
    let [modules, ir, native] = [
        table(counts[0].saturating_mul(RECORD), "table of abstract modules")?,
        table(counts[1].saturating_mul(RECORD), "table of IR modules")?,
        table(counts[2].saturating_mul(RECORD), "table of native images")?,
    ];
    let metadata = table(metadata_size, "metadata table")?;
    let padding = metadata_size.wrapping_neg() & 7;
    // If the end is missing, only the images there are lost.
    let start = at.saturating_add(if code_size == 0 { 0 } else { padding });
    let rest = usize::try_from(start).ok().and_then(|start| data.get(start..)).unwrap_or_default();
    let code = usize::try_from(code_size).ok().and_then(|len| rest.get(..len)).unwrap_or(rest);
    let code = Table { data: code, place: place.at(start), name: "code table" };
    if (code.data.len() as u64) < code_size {
        reader.problem(
            place.at(32).error(format!("SYCLBIN: a code table of {code_size} bytes; the file has {}", code.data.len())),
        );
    }
    let global = match metadata.slice(word(40)?, word(48)?) {
        Ok((text, place)) => properties(reader, text, place, "global metadata"),
        Err(error) => {
            reader.problem(error.context("SYCLBIN global metadata"));
            Properties::default()
        }
    };
    let file = File { metadata, code, global };
    for index in 0..counts[0] {
        let place = modules.place.at(index.saturating_mul(RECORD));
        if let Err(error) = module(reader, &file, modules.record(index)?, ir, native) {
            reader.problem(place.locate(error).context(format!("SYCLBIN abstract module {index}")));
        }
    }
    Ok(())
}

fn module<'a>(reader: &mut Reader<'a>, file: &File<'a>, record: &[u8], ir: Table<'a>, native: Table<'a>) -> Result<()> {
    let word = |at| bytes::u64_at(record, at).unwrap_or(0);
    let number = |at| bytes::u32_at(record, at).map_or(0, u64::from);
    let (text, place) = file.metadata.slice(word(0), word(8))?;
    let module = properties(reader, text, place, "module metadata");
    for (table, is_native, count, first) in
        [(ir, false, number(16), number(20)), (native, true, number(24), number(28))]
    {
        for index in first..first.saturating_add(count) {
            // The first index out of range ends the walk, since later ones are out of range too.
            let record = table.record(index)?;
            reader.spend(record.len())?;
            if let Err(error) = code(reader, file, &module, record, is_native) {
                let what = if is_native { "native image" } else { "IR module" };
                reader.problem(place.locate(error).context(format!("SYCLBIN {what} {index}")));
            }
        }
    }
    Ok(())
}

fn code<'a>(
    reader: &mut Reader<'a>,
    file: &File<'a>,
    module: &Properties<'a>,
    record: &[u8],
    native: bool,
) -> Result<()> {
    let word = |at| bytes::u64_at(record, at).unwrap_or(0);
    let (payload, place) = file.code.slice(word(16), word(24)).context(|| "its code".to_owned())?;
    let metadata = match file.metadata.slice(word(0), word(8)) {
        Ok((text, place)) => properties(reader, text, place, "image metadata"),
        Err(error) => {
            reader.problem(error.context("SYCLBIN image metadata"));
            Properties::default()
        }
    };
    add(reader, &file.global, module, Code { native, metadata, payload, place });
    Ok(())
}
