//! How are amounts and verdicts drawn in a terminal?

/// Cells of a bar.
const CELLS: u64 = 10;

/// The letters that a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// Eighths of a cell, and signs.
    Unicode,
    /// Letters that every terminal has.
    Ascii,
}

impl Drawing {
    /// A bar as long as a part is of the most there is; what is more than nothing is seen.
    pub fn bar(self, part: u64, most: u64) -> String {
        const EIGHTHS: [char; 8] = ['█', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
        let steps = if self == Drawing::Unicode { 8 } else { 1 };
        let whole = u128::from(CELLS).saturating_mul(steps);
        // Half a step is rounded up.
        let scaled =
            u128::from(part.min(most)).saturating_mul(whole).saturating_mul(2).saturating_add(u128::from(most));
        let length = scaled.checked_div(u128::from(most).saturating_mul(2)).unwrap_or(0).max(u128::from(part > 0));
        let full = usize::try_from(length.checked_div(steps).unwrap_or(0)).unwrap_or(0);
        if self == Drawing::Ascii {
            return "#".repeat(full);
        }
        let rest = usize::try_from(length.checked_rem(steps).unwrap_or(0)).unwrap_or(0);
        let mut bar = "█".repeat(full);
        bar.extend(EIGHTHS.get(rest).filter(|_| rest > 0));
        bar
    }

    /// The signs of what runs, of what is not known, and of what cannot run.
    pub fn signs(self) -> [&'static str; 3] {
        match self {
            Drawing::Unicode => ["✓", "?", "✗"],
            Drawing::Ascii => ["+", "?", "x"],
        }
    }

    /// Lines that lead from a column down from its title: the bend and the way.
    pub fn lines(self) -> [&'static str; 2] {
        match self {
            Drawing::Unicode => ["┌", "│"],
            Drawing::Ascii => [",", "|"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        let bar = |part| Drawing::Unicode.bar(part, 800);
        assert_eq!([0, 1, 10, 85, 400, 799, 800].map(bar), ["", "▏", "▏", "█▏", "█████", "██████████", "██████████"]);
        let bar = |part| Drawing::Ascii.bar(part, 100);
        assert_eq!([0, 1, 14, 15, 100, 200].map(bar), ["", "#", "#", "##", "##########", "##########"]);
        assert_eq!(Drawing::Unicode.bar(u64::MAX, u64::MAX), "██████████");
        assert_eq!(Drawing::Unicode.bar(0, 0), "");
    }
}
