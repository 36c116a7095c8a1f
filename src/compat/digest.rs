//! What are the BLAKE3 digests of several payloads?
//!
//! Most device images are of a few KiB, too few chunks to fill the lanes of a vector unit one image at a time: here the
//! chunks of several payloads that stand at the same place go through `hash_many` together, and so do their parents.
//! `blake3::platform` is not part of that crate's documented interface, so its version is pinned in Cargo.toml; the
//! tests hold every length to `blake3::hash`. Tree: BLAKE3 paper, section 2.

use blake3::platform::Platform;
use blake3::{CHUNK_LEN, IncrementCounter};

/// A digest.
pub(super) type Digest = [u8; 32];

/// The initialisation vector of BLAKE3, which is the key where none is given.
const IV: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 2;
const PARENT: u8 = 4;
const ROOT: u8 = 8;
/// Payloads of more chunks fill the lanes by themselves.
const MOST: usize = 32;

/// The digests of payloads, in order.
pub(super) fn digests(payloads: &[&[u8]]) -> Vec<Digest> {
    let platform = Platform::detect();
    let mut digests = vec![[0u8; 32]; payloads.len()];
    // Of each payload that is hashed with others: the values of its chunks, later of their parents.
    let mut trees: Vec<(usize, Vec<Digest>)> = Vec::with_capacity(payloads.len());
    for (at, payload) in payloads.iter().enumerate() {
        let chunks = payload.len().div_ceil(CHUNK_LEN);
        if !(2..=MOST).contains(&chunks) {
            if let Some(digest) = digests.get_mut(at) {
                *digest = *blake3::hash(payload).as_bytes();
            }
        } else {
            trees.push((at, Vec::with_capacity(chunks)));
        }
    }
    let mut lanes: Vec<&[u8; CHUNK_LEN]> = Vec::with_capacity(trees.len());
    let mut out = vec![0u8; trees.len().saturating_mul(32)];
    for place in 0..MOST {
        let whole = |at: usize| payloads.get(at).and_then(|payload| payload.as_chunks().0.get(place));
        lanes.clear();
        lanes.extend(trees.iter().filter_map(|&(at, _)| whole(at)));
        if lanes.is_empty() {
            break;
        }
        let no = IncrementCounter::No;
        platform.hash_many(&lanes, &IV, place as u64, no, 0, CHUNK_START, CHUNK_END, &mut out);
        let filled = trees.iter_mut().filter(|(at, _)| whole(*at).is_some());
        for ((_, values), value) in filled.zip(out.as_chunks().0) {
            values.push(*value);
        }
    }
    for (at, values) in &mut trees {
        let rest = payloads.get(*at).map_or(&[][..], |payload| payload.as_chunks::<CHUNK_LEN>().1);
        if !rest.is_empty() {
            values.push(last_chunk(platform, rest, values.len() as u64));
        }
    }
    join(platform, &mut trees);
    for (at, values) in trees {
        if let (Some(digest), Some(root)) = (digests.get_mut(at), values.first()) {
            *digest = *root;
        }
    }
    digests
}

/// The value of a chunk that is cut short.
fn last_chunk(platform: Platform, bytes: &[u8], counter: u64) -> Digest {
    let mut value = IV;
    let blocks = bytes.len().div_ceil(64);
    for (at, part) in bytes.chunks(64).enumerate() {
        let mut block = [0u8; 64];
        if let Some(head) = block.get_mut(..part.len()) {
            head.copy_from_slice(part);
        }
        let start = if at == 0 { CHUNK_START } else { 0 };
        let end = if at.saturating_add(1) == blocks { CHUNK_END } else { 0 };
        platform.compress_in_place(&mut value, &block, part.len() as u8, counter, start | end);
    }
    let mut bytes = [0; 32];
    for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(value) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// Joins the values of each tree in pairs until one is left; an odd one goes up as it is. Roots are joined last.
fn join(platform: Platform, trees: &mut [(usize, Vec<Digest>)]) {
    loop {
        let is_root = trees.iter().all(|(_, values)| values.len() <= 2);
        let due = |values: &[Digest]| if is_root { values.len() == 2 } else { values.len() > 2 };
        let mut parents: Vec<[u8; 64]> = Vec::new();
        for (_, values) in trees.iter().filter(|(_, values)| due(values)) {
            parents.extend(values.as_flattened().as_chunks::<64>().0);
        }
        if parents.is_empty() {
            return;
        }
        let lanes: Vec<&[u8; 64]> = parents.iter().collect();
        let mut out = vec![0u8; parents.len().saturating_mul(32)];
        let flags = if is_root { PARENT | ROOT } else { PARENT };
        platform.hash_many(&lanes, &IV, 0, IncrementCounter::No, flags, 0, 0, &mut out);
        let mut joined = out.as_chunks::<32>().0.iter();
        for (_, values) in trees.iter_mut().filter(|(_, values)| due(values)) {
            let pairs = values.len() / 2;
            let odd = if values.len() % 2 == 1 { values.last().copied() } else { None };
            values.clear();
            values.extend(joined.by_ref().take(pairs).copied());
            values.extend(odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judgement by the documented function, for every length up to beyond nine chunks, alone and in batches, and for
    /// lengths about the most that is hashed with others.
    #[test]
    fn digests_are_those_of_the_documented_function() {
        let bytes: Vec<u8> = (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let about = |chunks: usize| (chunks * CHUNK_LEN - 2)..=(chunks * CHUNK_LEN + 2);
        let lengths: Vec<usize> =
            (0..10_000).chain(about(16)).chain(about(31)).chain(about(32)).chain(about(33)).collect();
        for batch in [1, 2, 3, 16, 17, 100] {
            // Neighbours of like and of unlike lengths.
            for stride in [1, 613] {
                let order: Vec<&[u8]> =
                    (0..lengths.len()).map(|at| &bytes[at % 64..][..lengths[at * stride % lengths.len()]]).collect();
                for payloads in order.chunks(batch) {
                    let wanted: Vec<Digest> =
                        payloads.iter().map(|payload| *blake3::hash(payload).as_bytes()).collect();
                    assert_eq!(digests(payloads), wanted);
                }
            }
        }
    }
}
