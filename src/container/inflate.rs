//! How is a compressed image inflated without trusting its size?

use super::Arena;
use crate::error::{Error, Result};
use crate::limits;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that all files of a run together may inflate to: the members of packages, the parts of files, and images. Thousands
/// of members that may be small and inflate to much have one allowance, not one each.
#[derive(Debug)]
pub struct Allowance(AtomicU64);

impl Default for Allowance {
    /// Creates what is allowed whatever the sizes.
    fn default() -> Self {
        Allowance(AtomicU64::new(limits::MAX_INFLATED))
    }
}

impl Allowance {
    /// Adds what a file of this many bytes on the disk warrants.
    pub(crate) fn grant(&self, bytes: usize) {
        let more = (bytes as u64).saturating_mul(limits::MAX_INFLATED_RATIO);
        self.0.store(self.left().saturating_add(more), Ordering::Relaxed);
    }

    /// Takes what was inflated.
    pub(crate) fn spend(&self, bytes: u64) {
        self.0.store(self.left().saturating_sub(bytes), Ordering::Relaxed);
    }

    /// Returns the bytes that are left.
    pub(crate) fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Magic of a zstd frame.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Inflates one zstd frame.
///
/// The frame's declared size is first checked against [`limits::MAX_INFLATED`] and the stored size; the output is
/// bounded whatever the frame declares.
///
/// # Errors
/// `Input` where the bytes are no whole zstd frame or would inflate beyond the limit.
pub(crate) fn zstd(stored: &[u8]) -> Result<Vec<u8>> {
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

/// Whether bytes begin with a zstd frame that states its size, as DPC++'s runtime demands
/// (`sycl/source/detail/compression.hpp`).
pub(crate) fn is_sized_zstd(stored: &[u8]) -> bool {
    stored.starts_with(&ZSTD_MAGIC) && matches!(zstd::zstd_safe::get_frame_content_size(stored), Ok(Some(_)))
}

/// Whether bytes are one zstd frame and nothing else.
pub(crate) fn is_one_frame(stored: &[u8]) -> bool {
    zstd::zstd_safe::find_frame_compressed_size(stored).is_ok_and(|size| size == stored.len())
}

/// Returns the number of bytes that [`zstd`] inflates a frame to, at most; counts no further than `most`.
pub(crate) fn zstd_cost(stored: &[u8], most: u64) -> u64 {
    let ceiling = ceiling(stored.len());
    match zstd::zstd_safe::get_frame_content_size(stored) {
        // Refused before anything is inflated.
        Err(_) => 0,
        Ok(Some(size)) if size > ceiling => 0,
        Ok(Some(size)) => size,
        Ok(None) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(stored);
            let most = ceiling.min(most).saturating_add(1);
            decoder.map_or(0, |decoder| std::io::copy(&mut decoder.take(most), &mut std::io::sink()).unwrap_or(most))
        }
    }
}

/// Inflates a zstd frame or a zlib stream that must hold `size` bytes, for [`Arena::keep_inflated`]. What is inflated for nothing
/// takes its room: a file of frames that lie about their sizes would else be inflated without end.
///
/// # Errors
/// `Input` where it holds another number of bytes, or where `size` is beyond the ceiling or beyond the arena's room.
pub(crate) fn sized(stored: &[u8], size: u64, arena: &Arena) -> Result<Vec<u8>> {
    let ceiling = ceiling(stored.len()).min(arena.room_inflated());
    if size > ceiling {
        return Err(Error::input(format!(
            "{} compressed bytes declare {size} bytes inflated; the limit is {ceiling}",
            stored.len()
        )));
    }
    let mut out = Vec::new();
    let bounded = size.saturating_add(1);
    let read = if stored.starts_with(&ZSTD_MAGIC) {
        let decoder = zstd::stream::read::Decoder::with_buffer(stored).map_err(|error| broken(&error))?;
        decoder.single_frame().take(bounded).read_to_end(&mut out)
    } else {
        flate2::bufread::ZlibDecoder::new(stored).take(bounded).read_to_end(&mut out)
    };
    let inflated = out.len() as u64;
    if inflated == size && read.is_ok() {
        return Ok(out);
    }
    arena.waste(inflated);
    read.map_err(|error| broken(&error))?;
    let more = if inflated > size { "more than" } else { "not" };
    Err(Error::input(format!("compressed bytes hold {more} the {size} bytes they declare")))
}

/// Inflates an LZ4 block that must hold `size` bytes, as [`sized`] does a frame.
///
/// # Errors
/// `Input` where it holds another number of bytes, or where `size` is beyond the ceiling or beyond the arena's room.
pub(crate) fn lz4_block(stored: &[u8], size: u64, arena: &Arena) -> Result<Vec<u8>> {
    let ceiling = ceiling(stored.len()).min(arena.room_inflated());
    let wanted = usize::try_from(size).ok().filter(|_| size <= ceiling).ok_or_else(|| {
        Error::input(format!("{} compressed bytes declare {size} bytes inflated; the limit is {ceiling}", stored.len()))
    })?;
    let mut out = vec![0; wanted];
    let inflated = lz4_flex::block::decompress_into(stored, &mut out);
    if !inflated.as_ref().is_ok_and(|len| *len == wanted) {
        arena.waste(size);
    }
    match inflated {
        Ok(len) if len == wanted => Ok(out),
        Ok(len) => Err(Error::input(format!("the LZ4 block holds {len} bytes, not the {size} that it declares"))),
        Err(error) => Err(Error::input(format!("the LZ4 block does not inflate: {error}"))),
    }
}

/// Compresses bytes as one zstd frame with their size, as DPC++ does (level 10 there).
///
/// # Errors
/// `Io` where the compressor fails.
pub(crate) fn zstd_frame(bytes: &[u8], level: i32) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, level).map_err(|error| Error::io("cannot compress", &error))
}

/// Returns the first bytes of a zstd frame's contents, enough to detect the payload's format.
pub(crate) fn zstd_head(stored: &[u8], len: usize) -> Option<Vec<u8>> {
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
    fn a_known_size_is_held_to_the_byte() {
        use std::io::Write as _;
        let data = [5u8; 3000];
        let frame = zstd_frame(&data, 10).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(&data).unwrap();
        for stored in [frame, zlib.finish().unwrap()] {
            let arena = Arena::default();
            assert_eq!(sized(&stored, 3000, &arena).unwrap(), data);
            assert!(sized(&stored, 2999, &arena).is_err());
            assert!(sized(&stored, 3001, &arena).is_err());
            assert!(sized(&stored, 3000, &Arena::with_limit(2999)).unwrap_err().to_string().contains("limit"));
            assert!(sized(&stored[..stored.len() / 2], 3000, &arena).is_err());
        }
    }

    #[test]
    fn what_is_inflated_for_nothing_takes_room() {
        let arena = Arena::with_limit(1 << 20);
        let frame = zstd_frame(&[5u8; 3000], 10).unwrap();
        let lie = || sized(&frame, 2999, &arena).unwrap_err().to_string();
        let told: Vec<String> = (0..400).map(|_| lie()).collect();
        assert!(told[0].contains("more than"), "{told:?}");
        assert!(told[399].contains("the limit is"), "{}", told[399]);
        let arena = Arena::with_limit(1 << 20);
        let block = lz4_flex::block::compress(&[5u8; 3000]);
        assert_eq!(lz4_block(&block, 3000, &arena).unwrap(), [5u8; 3000]);
        let before = arena.room();
        assert!(lz4_block(&block, 3001, &arena).is_err());
        assert!(lz4_block(&block, 2999, &arena).is_err());
        assert_eq!(arena.room(), before - 6000);
    }

    #[test]
    fn garbage_and_truncation_are_errors() {
        assert!(super::zstd(b"not zstd").is_err());
        let stored = zstd::bulk::compress(&[7u8; 1000], 3).unwrap();
        assert!(super::zstd(&stored[..stored.len() - 3]).is_err());
    }
}
