//! Which hash does a compressed offload bundle have?
//!
//! The hash is the first half of the MD5 (RFC 1321) of the contents. LLVM's tools print whether it is right.

/// Rotations of the four rounds; each repeats four values.
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// Returns the first eight bytes of the MD5 as a little-endian number.
pub fn md5_half(data: &[u8]) -> u64 {
    let [low, high, ..] = digest(data);
    u64::from(low) | u64::from(high) << 32
}

fn digest(data: &[u8]) -> [u32; 4] {
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let (blocks, rest) = data.as_chunks::<64>();
    blocks.iter().for_each(|block| add_block(&mut state, block));
    let mut last = rest.to_vec();
    last.push(0x80);
    last.resize((last.len() + 8).next_multiple_of(64) - 8, 0);
    last.extend((data.len() as u64).wrapping_mul(8).to_le_bytes());
    last.as_chunks::<64>().0.iter().for_each(|block| add_block(&mut state, block));
    state
}

fn add_block(state: &mut [u32; 4], block: &[u8; 64]) {
    let words = block.as_chunks::<4>().0;
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64usize {
        let round = step / 16;
        let (mixed, word) = match round {
            0 => (b & c | !b & d, step),
            1 => (d & b | !d & c, 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let word = words.get(word % 16).map_or(0, |word| u32::from_le_bytes(*word));
        let shift = SHIFTS.get(round).and_then(|shifts| shifts.get(step % 4)).copied().unwrap_or(0);
        let sum = a.wrapping_add(mixed).wrapping_add(word).wrapping_add(sine(step));
        (a, b, c, d) = (d, b.wrapping_add(sum.rotate_left(shift)), b, c);
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(more);
    }
}

/// Returns the constant of a step: 2^32 times the absolute sine of its number.
fn sine(step: usize) -> u32 {
    (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_rfc() {
        let text = |data: &[u8]| -> String {
            digest(data).iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(text(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(text(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let digits = b"12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(text(digits), "57edf4a22be3c955ac49da2e2107b67a");
        assert_eq!(md5_half(b""), 0x04b2_008f_d98c_1dd4);
    }
}
