//! How does DPC++ encode bytes as text?
//!
//! The alphabet is that of base64, but the lowest bits come first, and there is no padding
//! (`llvm/lib/Support/Base64.cpp` of intel/llvm; libsycl 2026.2 does the same). The result differs from RFC 4648: the
//! byte 1 is `BA`, not `AQ==`. Crate `base64` has no such bit order, so this is written by hand.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes.
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().saturating_mul(4).div_ceil(3));
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().rev().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        let digits = (chunk.len() * 8).div_ceil(6);
        out.extend(
            (0..digits).filter_map(|digit| ALPHABET.get((bits >> (digit * 6)) as usize & 63)).copied().map(char::from),
        );
    }
    out
}

/// Decodes a text; none where it has another character or an impossible length.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len().saturating_mul(3) / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &digit in chunk.iter().rev() {
            bits = bits << 6 | digit_value(digit)?;
        }
        let count = match chunk.len() {
            1 => return None,
            len => len - 1,
        };
        out.extend_from_slice(bits.to_le_bytes().get(..count)?);
    }
    Some(out)
}

fn digit_value(digit: u8) -> Option<u32> {
    let (first, base) = match digit {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'+' => return Some(62),
        b'/' => return Some(63),
        _ => return None,
    };
    Some(u32::from(digit.wrapping_sub(first)).wrapping_add(base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn as_the_runtime_writes() {
        // `target` of a SYCLBIN that libsycl 2026.2 made.
        let raw = decode_base64("wCAAAAAAAAwcwlmc2QTL152au92du1Sdutmbvdnb").unwrap();
        assert_eq!(raw, [&[0xb0, 0, 0, 0, 0, 0, 0, 0], &b"spir64-unknown-unknown"[..]].concat());
        assert_eq!(decode_base64("IAAAAAAAAAQA").unwrap(), [8, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(encode_base64(&[40, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x7f, 0xff, 0x70]), "oAAAAAAAAAw///3/wB");
        assert_eq!(decode_base64("AQ=="), None);
        assert_eq!(decode_base64("AAAAA"), None);
    }

    proptest! {
        #[test]
        fn comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode_base64(&encode_base64(&bytes)), Some(bytes));
        }
    }
}
