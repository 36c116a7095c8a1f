//! How is a compressed image inflated without trusting its size?

use crate::error::{Error, Result};
use crate::limits;
use std::io::Read;

/// The first bytes of a zstd frame.
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Inflates one zstd frame.
///
/// The frame's declared size is checked against [`limits::MAX_INFLATED`] and the stored size first; what comes out is
/// bounded whatever the frame declares.
///
/// # Errors
/// `Input` where the bytes are no whole zstd frame or would inflate beyond the ceiling.
pub fn zstd(stored: &[u8]) -> Result<Vec<u8>> {
    let ceiling = ceiling(stored.len());
    let declared = zstd::zstd_safe::get_frame_content_size(stored)
        .map_err(|_| Error::input("the compressed image is not a zstd frame"))?;
    if let Some(size) = declared {
        if size > ceiling {
            return Err(Error::input(format!(
                "the compressed image of {} bytes declares {size} bytes inflated; the limit is {ceiling}",
                stored.len()
            )));
        }
        if let Ok(size) = usize::try_from(size) {
            return zstd::bulk::decompress(stored, size).map_err(|error| broken(&error));
        }
    }
    let mut out = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(stored).map_err(|error| broken(&error))?;
    decoder.take(ceiling.saturating_add(1)).read_to_end(&mut out).map_err(|error| broken(&error))?;
    if out.len() as u64 > ceiling {
        return Err(Error::input(format!("the compressed image inflates beyond the limit of {ceiling} bytes")));
    }
    Ok(out)
}

/// The first bytes of what a zstd frame holds, enough to tell the payload's format.
pub fn zstd_head(stored: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(stored).ok()?;
    decoder.take(len as u64).read_to_end(&mut out).ok()?;
    Some(out)
}

fn ceiling(stored: usize) -> u64 {
    let wanted = (stored as u64).saturating_mul(limits::MAX_INFLATED_RATIO);
    wanted.clamp(limits::MAX_INFLATED_FLOOR, limits::MAX_INFLATED)
}

#[cold]
fn broken(error: &std::io::Error) -> Error {
    Error::input(format!("the compressed image does not inflate: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_head() {
        let data: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let stored = zstd::bulk::compress(&data, 3).unwrap();
        assert_eq!(super::zstd(&stored).unwrap(), data);
        assert_eq!(zstd_head(&stored, 8).unwrap(), &data[..8]);
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_inflated() {
        let stored = zstd::bulk::compress(&vec![0u8; 300 << 20], 3).unwrap();
        let error = super::zstd(&stored).unwrap_err();
        assert!(error.to_string().contains("limit"), "{error}");
    }

    #[test]
    fn garbage_and_truncation_are_errors() {
        assert!(super::zstd(b"not zstd").is_err());
        let stored = zstd::bulk::compress(&[7u8; 1000], 3).unwrap();
        assert!(super::zstd(&stored[..stored.len() - 3]).is_err());
    }
}
