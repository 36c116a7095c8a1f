//! How many bytes does a size in text stand for?
//!
//! The grammar of sizes is the same for the command line, environment variables and policies.

/// Description of a valid size, for error messages.
pub const WANTED: &str = "a number of bytes, also as 500KiB, 1.5MiB or 2GB";

/// Number of significant digits after the point; no unit has bytes for more than twelve.
const MAX_DIGITS: usize = 12;

/// Parses a size: `1500`, `64KiB`, `64 k`, `1.5 MiB`, `2 GB` (powers of a thousand). Units are case-insensitive;
/// fractions of a byte are cut off. None for any other text, and for sizes beyond `u64`.
pub fn parse(text: &str) -> Option<u64> {
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
    scaled(number, scale)
}

/// Multiplies a decimal number by a scale exactly and cuts off the fraction. None where it is no number of digits with
/// at most one point, or too large.
pub fn scaled(number: &str, scale: u64) -> Option<u64> {
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
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        let none = ["", "MiB", "-1", "+1", "1 yard", "8 MiBs", "1.2.3k", "99999999999T", ".", ".5k", "∞", "1e3", "5%"];
        for text in none {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
