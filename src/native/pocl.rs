//! Which kernels are in a binary of PoCL, an OpenCL driver for CPUs?
//!
//! `lib/CL/pocl_binary.c` of pocl/pocl, whose numbers are those of the machine. Behind the header stand files that belong
//! to the whole program, then a record for each kernel: its size, that of its files and of its arguments, its name. What
//! is known here is version 11 (PoCL 7.1); of other versions the kernels are not told where the records do not add up.

use super::{Kernel, Part, Read, bounded};
use crate::bundle::format::Format;
use crate::bytes;
use crate::error::{Error, Result};

/// Offset of the version and of the number of kernels.
const VERSION: usize = 16;
const KERNELS: usize = 20;
/// Offset of the size of the program's own files, which follow.
const FILES: usize = 0x55;
const RECORDS: usize = FILES + 8;

pub(super) fn read(data: &[u8]) -> Result<Read> {
    let short = || Error::at(data.len() as u64, "the header of a PoCL binary is cut short");
    let version = bytes::u32_at(data, VERSION).ok_or_else(short)?;
    let count = bytes::u32_at(data, KERNELS).and_then(|count| usize::try_from(count).ok()).ok_or_else(short)?;
    bounded(count, "kernels")?;
    let mut part = Part::new(Format::Pocl, data.len());
    part.stated = "for PoCL alone".to_owned();
    part.version = Some(version.to_string());
    part.kernels = names(data, count).unwrap_or_default().into_iter().map(Into::into).collect();
    Ok(Read::from(part))
}

/// The kernels of the records; none where a record leaves the data.
fn names(data: &[u8], count: usize) -> Option<Vec<Kernel>> {
    let files = usize::try_from(bytes::u64_at(data, FILES)?).ok()?;
    let mut at = RECORDS.checked_add(files)?;
    let mut kernels = Vec::new();
    for _ in 0..count {
        let size = usize::try_from(bytes::u64_at(data, at)?).ok()?;
        let length = usize::try_from(bytes::u32_at(data, at.checked_add(20)?)?).ok()?;
        let record = bytes::slice_at(data, at, size)?;
        let name = std::str::from_utf8(bytes::slice_at(record, 24, length)?).ok()?;
        kernels.push(Kernel { name: name.to_owned(), ..Kernel::default() });
        at = at.checked_add(size)?;
    }
    Some(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A binary as PoCL 7.1 lays it out, with a file of the program and these kernels.
    fn binary(names: &[&str]) -> Vec<u8> {
        let mut data = b"poclbin\0\x01\x02\x03\x04\x05\x06\x07\x08".to_vec();
        data.extend([11, names.len() as u32, 2, 4, 1].into_iter().flat_map(u32::to_le_bytes));
        data.resize(FILES, b'A');
        data.extend(5u64.to_le_bytes());
        data.extend(b"file!");
        for name in names {
            data.extend([24 + name.len() as u64 + 3, 0].into_iter().flat_map(u64::to_le_bytes));
            data.extend([3, name.len() as u32].into_iter().flat_map(u32::to_le_bytes));
            data.extend(name.bytes().chain(*b"arg"));
        }
        data
    }

    #[test]
    fn kernels_are_told_where_the_records_add_up() {
        let names = |data: &[u8]| -> Vec<String> {
            let part = read(data).unwrap().part;
            assert_eq!(part.version.as_deref(), Some("11"));
            part.kernels.into_iter().map(|kernel| kernel.name.clone()).collect()
        };
        let whole = binary(&["add", "second_one"]);
        assert_eq!(names(&whole), ["add", "second_one"]);
        assert_eq!(names(&whole[..whole.len() - 1]), [""; 0]);
        assert!(read(&whole[..20]).is_err());
    }
}
