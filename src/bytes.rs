//! How are bytes read without ever panicking?
//!
//! Little-endian reads at an offset of a slice, without indexing: an offset beyond the end is `None`. [`lines`] splits
//! text, [`size`] reads sizes as people write them, and [`hex`] writes bytes as hexadecimal digits.

pub mod lines;
pub mod size;

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).map_or('0', |&digit| char::from(digit));
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Returns the `len` bytes at `at`.
pub fn slice_at(data: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    data.get(at..at.checked_add(len)?)
}

fn array_at<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    slice_at(data, at, N)?.try_into().ok()
}

/// Returns the little-endian `u16` at `at`.
pub fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    array_at(data, at).map(u16::from_le_bytes)
}

/// Returns the little-endian `u32` at `at`.
pub fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    array_at(data, at).map(u32::from_le_bytes)
}

/// Returns the little-endian `u64` at `at`.
pub fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    array_at(data, at).map(u64::from_le_bytes)
}

/// Overwrites the little-endian `u64` at `at`. Returns false where that is beyond the end.
#[must_use]
pub fn put_u64(data: &mut [u8], at: usize, value: u64) -> bool {
    put(data, at, &value.to_le_bytes())
}

/// Overwrites the bytes at `at`. Returns false where they would pass the end.
#[must_use]
pub fn put(data: &mut [u8], at: usize, bytes: &[u8]) -> bool {
    match at.checked_add(bytes.len()).and_then(|end| data.get_mut(at..end)) {
        Some(target) => {
            target.copy_from_slice(bytes);
            true
        }
        None => false,
    }
}

/// Returns the next multiple of `align` (a power of two; 0 counts as 1) at or above `value`.
pub fn align_up(value: u64, align: u64) -> Option<u64> {
    let mask = align.max(1).checked_sub(1)?;
    Some(value.checked_add(mask)? & !mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end() {
        let data = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(u16_at(&data, 7), Some(0x0908));
        assert_eq!(u16_at(&data, 8), None);
        assert_eq!(u64_at(&data, 1), Some(0x0908_0706_0504_0302));
        assert_eq!(u64_at(&data, usize::MAX), None);
        assert_eq!(slice_at(&data, usize::MAX, 2), None);
    }

    #[test]
    fn align_up_refuses_overflow() {
        assert_eq!(align_up(0x1001, 0x1000), Some(0x2000));
        assert_eq!(align_up(5, 0), Some(5));
        assert_eq!(align_up(u64::MAX, 8), None);
    }
}
