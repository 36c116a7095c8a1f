//! How are rows, amounts and verdicts drawn in a terminal?
//!
//! Tables, which comfy-table draws here alone; bars and signs. Columns are as wide as what they hold; one that wraps loses nothing; the last gets what is
//! left, and its cells give way in the middle where they do not wrap.

use super::name::shorten;
use super::text::{Shown, visible};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use std::borrow::Cow;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Text, flush left.
    Text,
    /// Numbers, flush right.
    Number,
    /// Text that wraps at this many characters.
    Wrapped(u16),
}

/// Columns between two cells.
const GAP: usize = 2;
/// Columns that the last cell keeps while others can give way.
const LEAST: usize = 12;
/// Columns that a text cell keeps on a terminal however narrow.
const NARROW: usize = 5;

/// Renders rows under their titles, no line longer than `width`, without trailing spaces. `bold` emphasises the titles.
pub fn render(columns: &[(&str, Column)], rows: &[Vec<String>], width: usize, bold: bool) -> Shown {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|(title, _)| *title));
    let last = columns.len().saturating_sub(1);
    let natural = |at: usize| {
        let title = columns.get(at).map_or(0, |(title, _)| title.chars().count());
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0).max(title)
    };
    let mut widths = Vec::new();
    for (at, (_, column)) in columns.iter().enumerate() {
        widths.push(match column {
            Column::Wrapped(most) => natural(at).min(usize::from(*most)),
            Column::Text | Column::Number => natural(at),
        });
    }
    let gaps = last.saturating_mul(GAP);
    let total = |widths: &[usize]| widths.iter().sum::<usize>().saturating_add(gaps);
    // Where the width does not do, the last column gives way, then those that wrap, then other text; numbers never.
    let order = [(last..columns.len(), LEAST), (0..last, NARROW), (last..columns.len(), NARROW)];
    for (places, least) in order {
        for at in places {
            let excess = total(&widths).saturating_sub(width);
            let number = columns.get(at).is_none_or(|(_, column)| *column == Column::Number);
            if let Some(own) = widths.get_mut(at).filter(|_| !number) {
                *own = own.saturating_sub(excess).max(least.min(*own));
            }
        }
    }
    for row in &rows {
        table.add_row(row.iter().zip(&widths).enumerate().map(|(at, (cell, &own))| match columns.get(at) {
            Some((_, Column::Wrapped(_))) => cell.clone().into_owned(),
            _ => shorten(cell, own).into_owned(),
        }));
    }
    for (at, own) in widths.iter().enumerate() {
        let Some(column) = table.column_mut(at) else { continue };
        let gap = if at == last { 0 } else { GAP };
        column.set_padding((0, u16::try_from(gap).unwrap_or(0)));
        let outer = u16::try_from(own.saturating_add(gap)).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(outer)));
        if columns.get(at).is_some_and(|(_, column)| *column == Column::Number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = Shown::default();
    for (at, line) in table.lines().enumerate() {
        // On a terminal too narrow even for that, the end is cut.
        let line: String = line.trim_end().chars().take(width).collect();
        match (at, bold) {
            (0, true) => {
                out.styled(Some("1"), &line);
                out.push_str("\n");
            }
            _ => writeln!(out, "{line}"),
        }
    }
    out
}

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

    /// The sign for native code in a matrix.
    pub fn native(self) -> &'static str {
        match self {
            Drawing::Unicode => "●",
            Drawing::Ascii => "N",
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
    fn fits_the_width() {
        let columns = [("N", Column::Number), ("Needs", Column::Wrapped(10)), ("Kernel", Column::Text)];
        let rows = [
            vec!["1".to_owned(), "fp64, atomic64".to_owned(), "k".repeat(80)],
            vec!["12".to_owned(), "-".to_owned(), "short".to_owned()],
        ];
        let text = render(&columns, &rows, 40, false);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.starts_with(" N  Needs       Kernel\n"), "{text}");
        assert!(text.contains("…"), "{text}");
        assert!(text.ends_with("12  -           short\n"), "{text}");
        for width in [10, 20, 30] {
            let text = render(&columns, &rows, width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
    }

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
