//! How is a compressed image inflated without trusting its size?

use super::Arena;
use crate::bytes::{self, Draft};
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
pub(crate) fn zstd(stored: &[u8]) -> Result<Draft> {
    /// Bytes below which contents are no longer in memory than they are.
    const SMALL: u64 = 1 << 20;
    let ceiling = ceiling(stored.len());
    let declared = zstd::zstd_safe::get_frame_content_size(stored)
        .map_err(|_| Error::input("the compressed image is not a zstd frame"))?;
    let decoder = || zstd::stream::read::Decoder::with_buffer(stored).map_err(|error| broken(&error));
    let Some(size) = declared else {
        let most = usize::try_from(ceiling.saturating_add(1)).unwrap_or(usize::MAX);
        let (mut begin, mut rest) = (Vec::new(), decoder()?);
        rest.by_ref().take(SMALL).read_to_end(&mut begin).map_err(|error| broken(&error))?;
        if (begin.len() as u64) < SMALL {
            return Ok(Draft::from(begin));
        }
        let mut out = Draft::with_capacity(limits::LARGE)?;
        out.extend(&begin)?;
        out.read_from(rest, most.saturating_sub(begin.len()))?.map_err(|error| broken(&error))?;
        if out.len() >= most {
            return Err(Error::input(format!("the compressed image inflates beyond the limit of {ceiling} bytes")));
        }
        return Ok(out);
    };
    let len = usize::try_from(size).ok().filter(|_| size <= ceiling).ok_or_else(|| {
        let stored = stored.len();
        Error::input(format!(
            "the compressed image of {stored} bytes declares {size} bytes inflated; the limit is {ceiling}"
        ))
    })?;
    if len < limits::LARGE {
        return zstd::bulk::decompress(stored, len).map(Draft::from).map_err(|error| broken(&error));
    }
    let most = len.saturating_add(1);
    let mut out = Draft::with_capacity(most)?;
    out.read_from(decoder()?, most)?.map_err(|error| broken(&error))?;
    if out.len() > len {
        return Err(Error::input(format!("the compressed image holds more than the {size} bytes it declares")));
    }
    Ok(out)
}

/// Returns the size that a zstd frame states, as DPC++'s runtime demands (`sycl/source/detail/compression.hpp`).
pub(crate) fn zstd_size(stored: &[u8]) -> Option<u64> {
    let magic = stored.starts_with(&ZSTD_MAGIC);
    zstd::zstd_safe::get_frame_content_size(stored).ok().flatten().filter(|_| magic)
}

/// Whether bytes are one zstd frame and nothing else.
pub(crate) fn is_one_frame(stored: &[u8]) -> bool {
    zstd::zstd_safe::find_frame_compressed_size(stored).is_ok_and(|size| size == stored.len())
}

/// Number of bytes that are inflated elsewhere in the time that a compressed block takes for its tables, which sixteen bytes of it
/// may ask for.
const TABLES: u64 = 4096;
/// Number of bytes that are inflated elsewhere in the time that a block of another kind takes.
const BLOCK: u64 = 128;

/// Number of bytes that are inflated elsewhere in the time of one that zlib reads, where its blocks are small.
const DEFLATE: u64 = 4;

/// Returns the number of bytes that are inflated elsewhere in the time that the blocks of zstd frames take, however few bytes they
/// yield. Bytes behind the last frame count as blocks of the costliest kind.
pub(crate) fn zstd_effort(stored: &[u8]) -> u64 {
    const SMALLEST: u64 = 16;
    let (mut rest, mut effort) = (stored, 0u64);
    while let Some(frame) = Frame::read(rest) {
        let end = match frame {
            Frame::Skipped { end } => {
                effort = effort.saturating_add(BLOCK);
                end
            }
            Frame::Blocks { begin, has_checksum } => {
                let (mut at, mut is_last) = (begin, false);
                while let (false, Some(head)) = (is_last, bytes::slice_at(rest, at, 3)) {
                    // RFC 8878, 3.1.1.2: whether it is the last, its kind, and its size, from the lowest bit.
                    let head = head.iter().rev().fold(0, |head, byte| head << 8 | u32::from(*byte));
                    let (kind, size) = (head >> 1 & 3, head >> 3);
                    let stored = if kind == 1 { 1 } else { size as usize };
                    effort = effort.saturating_add(if kind == 2 { TABLES } else { BLOCK });
                    at = at.saturating_add(3).saturating_add(stored);
                    is_last = head & 1 == 1;
                }
                at.saturating_add(if has_checksum { 4 } else { 0 })
            }
        };
        rest = rest.get(end..).unwrap_or_default();
    }
    effort.saturating_add((rest.len() as u64 / SMALLEST).saturating_mul(TABLES))
}

/// Beginning of a zstd frame (RFC 8878, 3.1.1.1 and 3.1.2).
enum Frame {
    /// Bytes that decoders pass over.
    Skipped { end: usize },
    /// Blocks, the last of which says so.
    Blocks { begin: usize, has_checksum: bool },
}

impl Frame {
    fn read(bytes: &[u8]) -> Option<Frame> {
        const SKIPPED: u32 = 0x184d_2a50;
        if !bytes.starts_with(&ZSTD_MAGIC) {
            bytes::u32_at(bytes, 0).filter(|magic| magic & !0xf == SKIPPED)?;
            let len = usize::try_from(bytes::u32_at(bytes, 4)?).ok()?;
            return Some(Frame::Skipped { end: len.saturating_add(8) });
        }
        let flags = *bytes.get(4)?;
        let is_single = flags & 0x20 != 0;
        let size = match flags >> 6 {
            0 => usize::from(is_single),
            power => 1 << power,
        };
        let dictionary = [0, 1, 2, 4].get(usize::from(flags & 3)).copied().unwrap_or(0);
        let fields = [usize::from(!is_single), dictionary, size].into_iter().fold(5, usize::saturating_add);
        Some(Frame::Blocks { begin: fields, has_checksum: flags & 4 != 0 })
    }
}

/// Returns the number of bytes that [`zstd`] inflates a frame to, at most, or in its time; counts no further than `most`.
pub(crate) fn zstd_cost(stored: &[u8], most: u64) -> u64 {
    let ceiling = ceiling(stored.len());
    let effort = zstd_effort(stored);
    match zstd::zstd_safe::get_frame_content_size(stored) {
        // Refused before anything is inflated.
        Err(_) => 0,
        Ok(Some(size)) if size > ceiling => 0,
        Ok(Some(size)) => size.max(effort),
        Ok(None) if effort > most => effort,
        Ok(None) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(stored);
            let most = ceiling.min(most).saturating_add(1);
            decoder.map_or(0, |decoder| std::io::copy(&mut decoder.take(most), &mut std::io::sink()).unwrap_or(most))
        }
    }
}

/// Inflates a zstd frame or a zlib stream that must hold `size` bytes, and keeps them in the arena, behind a header. What is
/// inflated for nothing takes its room: a file of frames that lie about their sizes would else be inflated without end.
///
/// # Errors
/// `Input` where it holds another number of bytes, or where `size` is beyond the ceiling or beyond the arena's room; errors of
/// [`Arena::keep_inflated`].
pub(crate) fn sized<'a>(header: &[u8], stored: &[u8], size: u64, arena: &'a Arena) -> Result<&'a [u8]> {
    let wanted = warranted(stored, size, arena)?;
    let is_zstd = stored.starts_with(&ZSTD_MAGIC);
    // Bytes behind it are read by nobody: the first version of bundles states no size.
    let frame = zstd::zstd_safe::find_frame_compressed_size(stored).ok().filter(|_| is_zstd);
    let stored = frame.and_then(|len| stored.get(..len)).unwrap_or(stored);
    let effort = if is_zstd { zstd_effort(stored).saturating_sub(size) } else { 0 };
    if effort > arena.room() {
        if arena.is_cut_short(effort) {
            arena.refuse();
        }
        return Err(Error::input(format!("{} compressed bytes take as long as {effort} bytes more", stored.len())));
    }
    arena.waste(effort);
    let bounded = wanted.saturating_add(1);
    let mut out = Draft::with_capacity(header.len().saturating_add(bounded.min(limits::LARGE)))?;
    out.extend(header)?;
    let read = if is_zstd {
        let decoder = zstd::stream::read::Decoder::with_buffer(stored).map_err(|error| broken(&error))?;
        out.read_from(decoder.single_frame(), bounded)
    } else {
        let most = usize::try_from(arena.room().saturating_add(size) / DEFLATE).unwrap_or(usize::MAX);
        if most < stored.len() {
            arena.refuse();
        }
        let mut decoder = flate2::bufread::ZlibDecoder::new(stored.get(..most).unwrap_or(stored));
        let read = out.read_from(&mut decoder, bounded);
        arena.waste(decoder.total_in().saturating_mul(DEFLATE).saturating_sub(size));
        read
    };
    let inflated = out.len().saturating_sub(header.len()) as u64;
    if inflated == size && read.is_ok() {
        return arena.keep_inflated(out);
    }
    arena.waste(inflated);
    read?.map_err(|error| broken(&error))?;
    let more = if inflated > size { "more than" } else { "not" };
    Err(Error::input(format!("compressed bytes hold {more} the {size} bytes they declare")))
}

/// Inflates an LZ4 block that must hold `size` bytes, and keeps them as [`sized`] does.
///
/// # Errors
/// Errors of [`sized`].
pub(crate) fn lz4_block<'a>(stored: &[u8], size: u64, arena: &'a Arena) -> Result<&'a [u8]> {
    let wanted = warranted(stored, size, arena)?;
    // Blocks are inflated whole.
    if wanted > limits::MAX_LZ4_BLOCK {
        let limit = limits::MAX_LZ4_BLOCK;
        return Err(Error::input(format!("the LZ4 block declares {size} bytes inflated; the limit is {limit}")));
    }
    let mut out = Draft::with_capacity(wanted)?;
    out.resize(wanted)?;
    let inflated = lz4_flex::block::decompress_into(stored, &mut out);
    if !inflated.as_ref().is_ok_and(|len| *len == wanted) {
        arena.waste(size);
    }
    match inflated {
        Ok(len) if len == wanted => arena.keep_inflated(out),
        Ok(len) => Err(Error::input(format!("the LZ4 block holds {len} bytes, not the {size} that it declares"))),
        Err(error) => Err(Error::input(format!("the LZ4 block does not inflate: {error}"))),
    }
}

/// Returns the size that compressed bytes declare, where they warrant it and the arena has room.
fn warranted(stored: &[u8], size: u64, arena: &Arena) -> Result<usize> {
    let (warranted, room) = (ceiling(stored.len()), arena.room());
    let ceiling = warranted.min(room);
    if size <= ceiling
        && let Ok(size) = usize::try_from(size)
    {
        return Ok(size);
    }
    if arena.is_cut_short(size) {
        arena.refuse();
    }
    let stored = stored.len();
    Err(Error::input(format!("{stored} compressed bytes declare {size} bytes inflated; the limit is {ceiling}")))
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
    fn a_frame_that_tells_no_size_is_read_to_its_end() {
        for len in [10, 1 << 20, 3 << 20] {
            let data = vec![7u8; len];
            let stored = zstd::stream::encode_all(&data[..], 3).unwrap();
            assert_eq!(zstd_size(&stored), None);
            assert!(*super::zstd(&stored).unwrap() == *data, "{len}");
        }
        let long = zstd::stream::encode_all(std::io::repeat(7).take(100 << 20), 3).unwrap();
        assert!(super::zstd(&long).err().unwrap().to_string().contains("beyond the limit"));
        let arena = Arena::default();
        let block = lz4_block(&vec![0; 2 << 20], 300 << 20, &arena);
        assert!(block.unwrap_err().to_string().contains("LZ4 block declares"));
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
            assert_eq!(sized(b"head", &stored, 3000, &arena).unwrap(), [b"head", &data[..]].concat());
            assert!(sized(b"", &stored, 2999, &arena).is_err());
            assert!(sized(b"", &stored, 3001, &arena).is_err());
            assert!(sized(b"", &stored, 3000, &Arena::with_limit(2999)).unwrap_err().to_string().contains("limit"));
            assert!(sized(b"", &stored[..stored.len() / 2], 3000, &arena).is_err());
        }
    }

    #[test]
    fn what_is_inflated_for_nothing_takes_room() {
        let arena = Arena::with_limit(1 << 20);
        let frame = zstd_frame(&[5u8; 3000], 10).unwrap();
        let lie = || sized(b"", &frame, 2999, &arena).unwrap_err().to_string();
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
    fn slow_blocks_count_as_what_is_inflated_in_their_time() {
        let random = |count: u32| (0..count).flat_map(|nth| blake3::hash(&nth.to_le_bytes()).as_bytes().to_owned());
        let data: Vec<u8> = random(1 << 15).chain(std::iter::repeat_n(0, 1 << 20)).collect();
        let frame = zstd_frame(&data, 10).unwrap();
        let blocks = data.len() as u64 / (128 << 10);
        let usual = zstd_effort(&frame);
        assert!((1..=blocks * TABLES).contains(&usual), "{usual}");
        assert_eq!(zstd_cost(&frame, u64::MAX), data.len() as u64);
        // A frame with a checksum, one that is skipped, and a block of a byte that is repeated.
        let mut checked = zstd::bulk::Compressor::new(3).unwrap();
        checked.include_checksum(true).unwrap();
        let repeated = [&ZSTD_MAGIC[..], &[0x20, 0xff], &(255u32 << 3 | 1 << 1 | 1).to_le_bytes()[..3], &[7]].concat();
        assert_eq!(super::zstd(&repeated).unwrap(), [7; 255]);
        let skipped = [&0x184d_2a53u32.to_le_bytes()[..], &4u32.to_le_bytes(), &[0; 4]].concat();
        let all = [frame, checked.compress(&data).unwrap(), skipped, repeated].concat();
        assert!((usual + BLOCK..=3 * blocks * TABLES).contains(&zstd_effort(&all)), "{}", zstd_effort(&all));
        assert!(zstd_effort(&[&all[..], &vec![1; 1 << 20]].concat()) > 1 << 28);
        // Blocks of sixteen bytes, whose tables take their time and which yield nearly nothing.
        let block = [&((13u32 << 3 | 2 << 1).to_le_bytes()[..3]), &[0; 13]].concat();
        let slow = [&ZSTD_MAGIC[..], &[0x80, 0x58, 0, 0, 48, 0], &block.repeat(1 << 20), &[1, 0, 0]].concat();
        assert_eq!(zstd_effort(&slow), TABLES * (1 << 20) + BLOCK);
        assert!(sized(&[], &slow, 3 << 20, &Arena::default()).unwrap_err().to_string().contains("as long as"));
        assert_eq!(zstd_cost(&slow, 1 << 30), TABLES * (1 << 20) + BLOCK);
    }

    #[test]
    fn garbage_and_truncation_are_errors() {
        assert!(super::zstd(b"not zstd").is_err());
        let stored = zstd::bulk::compress(&[7u8; 1000], 3).unwrap();
        assert!(super::zstd(&stored[..stored.len() - 3]).is_err());
    }
}
