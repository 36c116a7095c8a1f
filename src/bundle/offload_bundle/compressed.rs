//! How is an offload bundle compressed?
//!
//! A header of `CCOB`, version and method as 16-bit numbers, then (versions 2 and 3) the size of the file, the inflated
//! size, and the first half of the MD5 of the contents; numbers are 32 bits wide before version 3. Method 0 is zlib, 1
//! is zstd. The hash is not checked: inflation finds all damage that it would.

use crate::bundle::blob::{self, Reader};
use crate::bytes;
use crate::container::inflate;
use crate::container::place::Place;
use crate::error::{Error, Result};

/// Magic of a compressed bundle.
pub(super) const MAGIC: [u8; 4] = *b"CCOB";

/// Header of a compressed bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressed {
    /// Version, 1 to 3.
    pub version: u16,
    /// Method: 0 zlib, 1 zstd.
    pub method: u16,
    /// Size of the whole compressed bundle in bytes, if the version has it.
    pub size: Option<u64>,
    /// Inflated size in bytes.
    pub inflated: u64,
    /// Size of the header in bytes.
    pub header: usize,
}

impl Compressed {
    /// Reads the header.
    ///
    /// # Errors
    /// `Input` where it is cut short or of an unknown version.
    pub fn read(data: &[u8]) -> Result<Compressed> {
        let cut = || Error::input("the header of the compressed bundle is cut short");
        let number = |at| bytes::u32_at(data, at).map(u64::from).ok_or_else(cut);
        let word = |at| bytes::u64_at(data, at).ok_or_else(cut);
        let half = |at| bytes::u16_at(data, at).ok_or_else(cut);
        let (version, method) = (half(4)?, half(6)?);
        let (size, inflated, header) = match version {
            1 => (None, number(8)?, 20),
            2 => (Some(number(8)?), number(12)?, 24),
            3 => (Some(word(8)?), word(16)?, 32),
            _ => return Err(Error::input(format!("a compressed bundle of version {version}; 1 to 3 are known"))),
        };
        Ok(Compressed { version, method, size, inflated, header })
    }
}

pub(super) fn inflate<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place) -> Result<(&'a [u8], Place)> {
    let head = Compressed::read(data)?;
    let whole = match head.size {
        Some(size) => blob::slice(data, 0, size).unwrap_or_else(|| {
            reader.problem(place.at(8).error(format!("a compressed bundle of {size} bytes; there are {}", data.len())));
            data
        }),
        None => data,
    };
    let stored = whole.get(head.header..).ok_or_else(|| Error::input("a compressed bundle shorter than its header"))?;
    let bytes = inflate::sized(stored, head.inflated, reader.arena.room())
        .map_err(|error| place.at(head.header as u64).locate(error))?;
    reader.grant(bytes.len());
    Ok((reader.arena.keep(bytes).map_err(|error| place.locate(error))?, place.inflated()))
}

/// Compresses a bundle with zstd as version 2 or 3. `hash` is the first half of the bundle's MD5, little-endian, which
/// known readers compare only on request.
///
/// # Errors
/// `Input` for another version, or a bundle too large for version 2.
pub fn compress(bundle: &[u8], version: u16, level: i32, hash: u64) -> Result<Vec<u8>> {
    let frame = inflate::zstd_frame(bundle, level)?;
    let header = match version {
        2 => 24usize,
        3 => 32,
        _ => return Err(Error::input(format!("compressed bundles of version {version} are not written"))),
    };
    let mut out = MAGIC.to_vec();
    out.extend([version, 1].into_iter().flat_map(u16::to_le_bytes));
    for size in [header.saturating_add(frame.len()), bundle.len()] {
        if version == 2 {
            let size =
                u32::try_from(size).map_err(|_| Error::input("too large for a compressed bundle of version 2"))?;
            out.extend(size.to_le_bytes());
        } else {
            out.extend((size as u64).to_le_bytes());
        }
    }
    out.extend(hash.to_le_bytes());
    out.extend(frame);
    Ok(out)
}
