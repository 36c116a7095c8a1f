//! How are sizes and counts shown to a person?
//!
//! Three digits whatever the unit, so that columns read alike; crates `humansize` and `bytesize` have a fixed number of
//! decimals (`4.56 KiB` and then `1023.44 KiB`).

/// Bytes in binary units with three significant digits: `312 B`, `4.56 KiB`, `36.2 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = count as f64;
    let mut unit = "B";
    for next in UNITS {
        // A value that would be shown as 1024 of a unit is 1 of the next.
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    match value {
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// A count with thousands set apart: `17,716`.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 image`, `2 images`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A share in per cent: `83 %`, `0.4 %`.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    #[allow(clippy::cast_precision_loss, reason = "two digits are shown")]
    let percent = part as f64 * 100.0 / whole as f64;
    if part > 0 && percent < 0.05 {
        return "< 0.1 %".to_owned();
    }
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let shown = [0, 1023, 1024, 4670, 1_048_000, 1_048_576, 37_960_000].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "4.56 KiB", "1023 KiB", "1.00 MiB", "36.2 MiB"]);
    }

    #[test]
    fn thousands_and_shares() {
        assert_eq!([0, 999, 1000, 17_716, 1_234_567].map(count), ["0", "999", "1,000", "17,716", "1,234,567"]);
        assert_eq!(counted(1, "image"), "1 image");
        assert_eq!([share(1, 250), share(83, 100), share(1, 0)], ["0.4 %", "83 %", "0 %"]);
        assert_eq!([share(1, 1_000_000), share(0, 5)], ["< 0.1 %", "0.0 %"]);
    }
}
