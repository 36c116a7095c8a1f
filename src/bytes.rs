//! How are bytes read without ever panicking?
//!
//! Little-endian reads at an offset of a slice, without indexing: an offset beyond the end is `None`. [`lines`] splits
//! text, [`parse_size`] reads sizes as people write them, and [`hex`] writes bytes as hexadecimal digits.
//!
//! Sizes have the same grammar on the command line, in environment variables and in policies: `64KiB`, `64 k`, `1.5 MiB`,
//! computed exactly. The crates for sizes (bytesize, parse-size) round fractions or read `k` as another unit.

pub mod draft;

use crate::error::{Error, Result};

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

/// Returns bytes as text.
///
/// # Errors
/// `Input` with `complaint` and the offset of the first byte that is not UTF-8.
pub fn utf8_text<'b>(bytes: &'b [u8], complaint: &str) -> Result<&'b str> {
    std::str::from_utf8(bytes).map_err(|error| Error::at(error.valid_up_to() as u64, complaint))
}

/// Returns the lines of a text without their ends (LF or CRLF), each with its offset in bytes.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0usize;
    text.split_inclusive('\n').map(move |line| {
        let here = next;
        next = next.saturating_add(line.len());
        (here, line.trim_end_matches(['\n', '\r']))
    })
}

/// Description of a valid size, for error messages.
pub const SIZE_FORM: &str = "a number of bytes, also as 500KiB, 1.5MiB or 2GB";

/// Number of significant digits after the point; no unit has bytes for more than twelve.
const MAX_DIGITS: usize = 12;

/// Parses a size: `1500`, `64KiB`, `64 k`, `1.5 MiB`, `2 GB` (powers of a thousand). Units are case-insensitive;
/// fractions of a byte are cut off. None for any other text, and for sizes beyond `u64`.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    parse_scaled(number, scale)
}

/// Multiplies a decimal number by a scale exactly and cuts off the fraction. None where it is no number of digits with
/// at most one point, or too large.
pub fn parse_scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > MAX_DIGITS {
        return None;
    }
    let fraction = match part {
        "" => 0,
        part => {
            let one = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
            part.parse::<u128>().ok()?.checked_mul(u128::from(scale))?.checked_div(one)?
        }
    };
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(u64::try_from(fraction).ok()?)
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

    #[test]
    fn lines_have_the_offsets_of_their_bytes() {
        let found: Vec<_> = lines("é\r\n\nb").collect();
        assert_eq!(found, [(0, "é"), (4, ""), (5, "b")]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(utf8_text(b"ab\xff", "no").unwrap_err().offset(), Some(2));
    }

    #[test]
    fn sizes_as_people_write_them() {
        let sizes = [
            ("0", 0),
            ("1500", 1500),
            ("1500 B", 1500),
            ("64KiB", 65536),
            ("64 k", 65536),
            ("64 kib", 65536),
            ("2GB", 2_000_000_000),
            ("2 kB", 2000),
            ("8 MiB", 8 << 20),
            (" 1.5MiB ", 1_572_864),
            ("0.1k", 102),
            ("1.", 1),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        let none = ["", "MiB", "-1", "+1", "1 yard", "8 MiBs", "1.2.3k", "99999999999T", ".", ".5k", "∞", "1e3", "5%"];
        for text in none {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }
}
