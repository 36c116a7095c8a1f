//! Which device binaries are in an archive that `ocloc` wrote for several devices?
//!
//! A plain `ar` with members `POINTER SIZE.DEVICE` (`64.12.55.8`, `64.bmg`), each behind a `pad_N` that aligns it, and
//! perhaps `generic_ir` (`ar_encoder.cpp` and `device_binary_format_ar.cpp` in intel/compute-runtime). What the member
//! itself says of its device counts; its name does where it says nothing.

use super::{Reader, intel_device};
use crate::bundle::format::Format;
use crate::bytes;
use crate::container::place::Place;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

pub(super) fn read<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, depth: u32) -> Result<()> {
    reader.contained("ar");
    let mut at = MAGIC.len();
    let mut long_names: &[u8] = &[];
    while at < data.len() {
        let bad = |what: &str| Error::at(at as u64, format!("the header of an archive member {what}"));
        let header = bytes::slice_at(data, at, HEADER).ok_or_else(|| bad("is cut short"))?;
        let field = |from: usize, to: usize| header.get(from..to).and_then(|field| std::str::from_utf8(field).ok());
        let size: usize =
            field(48, 58).and_then(|text| text.trim().parse().ok()).ok_or_else(|| bad("states no size"))?;
        let start = at.saturating_add(HEADER);
        let member = bytes::slice_at(data, start, size).ok_or_else(|| bad("states more bytes than there are"))?;
        let name = field(0, 16).unwrap_or_default().trim_end();
        if name == "//" {
            long_names = member;
        }
        let name = match name.strip_prefix('/').and_then(|at| at.parse::<usize>().ok()) {
            Some(at) => long_name(long_names, at),
            None => name.trim_end_matches('/'),
        };
        at = start.saturating_add(size).saturating_add(size & 1);
        if name.is_empty() || name.starts_with("pad") {
            continue;
        }
        let first = reader.native.parts.len();
        reader.part(name, member, Format::sniff(member), place.at(start as u64), depth);
        let device = name.split_once('.').map_or(name, |(_, device)| device);
        for part in reader.native.parts.iter_mut().skip(first).filter(|part| part.devices.is_empty()) {
            part.devices = intel_device::of_name(device);
        }
    }
    Ok(())
}

fn long_name(names: &[u8], at: usize) -> &str {
    let tail = names.get(at..).unwrap_or_default();
    let end = tail.iter().position(|&byte| matches!(byte, b'/' | b'\n' | 0)).unwrap_or(tail.len());
    tail.get(..end).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
}
