//! How are rows, amounts and verdicts drawn in a terminal?
//!
//! Tables, which comfy-table draws here alone; bars and signs. Columns are as wide as what they hold. Where the width does not
//! do, names give way in the middle, titles and texts break between words, and then columns are left out, the least important
//! first. Numbers and single words stay whole.

use super::name::{shorten, shorten_path};
use super::text::{Shown, longest_part, visible, wrap};
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};
use std::borrow::Cow;

/// The alignment of a column, and how it gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// A word or a few, flush left, which stay on one line.
    Text,
    /// Numbers, flush right.
    Number,
    /// A name, flush left, the middle of which may give way.
    Name,
    /// A path, of which folders give way first.
    Path,
    /// Text that breaks between words, at this many characters at the latest.
    Wrapped(u16),
}

/// Columns between two cells.
const GAP: usize = 2;
/// Characters that a name keeps while columns can be left out instead.
const NAME: usize = 20;
/// Characters that a name keeps on a terminal however narrow.
const NARROW: usize = 8;

/// A column with its cells.
struct Drawn<'a> {
    title: &'a str,
    column: Column,
    cells: Vec<Cow<'a, str>>,
    /// Characters of the longest cell.
    natural: usize,
    /// The least width at which no word is broken.
    least: usize,
    width: usize,
}

impl<'a> Drawn<'a> {
    fn new(title: &'a str, column: Column, cells: Vec<Cow<'a, str>>) -> Drawn<'a> {
        let natural = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let least = match column {
            Column::Text | Column::Number => natural,
            Column::Name | Column::Path => natural.min(NAME),
            Column::Wrapped(_) => cells.iter().map(|cell| longest_part(cell)).max().unwrap_or(0),
        };
        Drawn { title, column, cells, natural, least: least.max(longest_part(title)), width: 0 }
    }

    /// Gives up to `excess` characters, down to `least`; returns what is still too much.
    fn give(&mut self, excess: usize, least: usize) -> usize {
        let given = self.width.saturating_sub(least).min(excess);
        self.width = self.width.saturating_sub(given);
        excess.saturating_sub(given)
    }

    fn lines(&self, cell: &str) -> Vec<String> {
        // `comfy_table` breaks lines in the square of their length.
        let width = self.width.min(WIDEST);
        match self.column {
            Column::Name => vec![shorten(cell, width).into_owned()],
            Column::Path => vec![shorten_path(cell, width).into_owned()],
            Column::Text | Column::Number if cell.len() <= WIDEST => vec![cell.to_owned()],
            Column::Text | Column::Number | Column::Wrapped(_) => wrap(cell, width),
        }
    }
}

/// Renders rows under their titles, no line longer than `width`, without trailing spaces. `bold` emphasises the titles.
///
/// Where that is too narrow, the columns of the titles in `minor` are left out, in this order, and named below.
pub(crate) fn render(
    columns: &[(&str, Column)],
    rows: &[Vec<String>],
    minor: &[&str],
    width: usize,
    bold: bool,
) -> Shown {
    let mut drawn = Vec::new();
    for (at, (title, column)) in columns.iter().enumerate() {
        let cells = rows.iter().map(|row| row.get(at).map(|cell| visible(cell)).unwrap_or_default());
        drawn.push(Drawn::new(title, *column, cells.collect()));
    }
    let excess = |drawn: &[Drawn<'_>], of: fn(&Drawn<'_>) -> usize| {
        let gaps = drawn.len().saturating_sub(1).saturating_mul(GAP);
        drawn.iter().map(of).sum::<usize>().saturating_add(gaps).saturating_sub(width)
    };
    let mut left_out = Vec::new();
    for title in minor {
        if excess(&drawn, |one| one.least) > 0 && drawn.iter().any(|one| one.title == *title) {
            drawn.retain(|one| one.title != *title);
            left_out.extend((!title.is_empty()).then_some(*title));
        }
    }
    for one in &mut drawn {
        let natural = one.natural.max(one.title.chars().count());
        one.width = match one.column {
            Column::Wrapped(most) if width < usize::MAX => natural.min(usize::from(most).max(one.least)),
            _ => natural,
        };
    }
    // The last column gives way first, then the others from the left; names give more where there is no other way.
    let mut over = excess(&drawn, |one| one.width);
    for one in drawn.iter_mut().rev().take(1) {
        over = one.give(over, one.least.max(NAME));
    }
    for one in &mut drawn {
        over = one.give(over, one.least);
    }
    for one in drawn.iter_mut().filter(|one| matches!(one.column, Column::Name | Column::Path)) {
        over = one.give(over, NARROW.min(one.natural).max(longest_part(one.title)));
    }
    let mut out = Shown::default();
    let titles: Vec<Vec<String>> = drawn.iter().map(|one| wrap(one.title, one.width)).collect();
    let head = titles.iter().map(Vec::len).max().unwrap_or(0);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(titles.iter().map(|lines| lines.join("\n")));
    draw(table, &drawn, if bold { head } else { 0 }, &mut out);
    // The widths are known: a table of many rows is drawn some at a time.
    for first in (0..rows.len()).step_by(ROWS) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for at in first..first.saturating_add(ROWS).min(rows.len()) {
            table.add_row(drawn.iter().map(|one| one.lines(one.cells.get(at).map_or("", Cow::as_ref)).join("\n")));
        }
        draw(table, &drawn, 0, &mut out);
    }
    if !left_out.is_empty() {
        for line in wrap(&format!("({} not shown at this width: --wide)", left_out.join(", ")), width) {
            writeln!(out, "{line}");
        }
    }
    out
}

/// Columns that a cell can have, whatever the width: `comfy_table` counts with 16 bits.
const WIDEST: usize = u16::MAX as usize - GAP;

/// Rows that are drawn at a time.
const ROWS: usize = 1024;

/// Draws rows in the widths of their columns; so many lines are emphasised.
fn draw(mut table: Table, columns: &[Drawn<'_>], bold: usize, out: &mut Shown) {
    for (at, one) in columns.iter().enumerate() {
        let Some(column) = table.column_mut(at) else { continue };
        let gap = if at.saturating_add(1) == columns.len() { 0 } else { GAP };
        column.set_padding((0, u16::try_from(gap).unwrap_or(0)));
        let outer = u16::try_from(one.width.saturating_add(gap)).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(outer)));
        if one.column == Column::Number {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for (at, line) in table.lines().enumerate() {
        out.styled((at < bold).then_some("1"), line.trim_end());
        out.push_str("\n");
    }
}

/// Cells of a bar.
const CELLS: u64 = 10;

/// The letters that a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// Eighths of a cell, and signs.
    Unicode,
    /// Letters that every terminal has.
    Ascii,
}

impl Drawing {
    /// A bar as long as a part is of the most there is; what is more than nothing is seen.
    pub(crate) fn bar(self, part: u64, most: u64) -> String {
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
    pub(crate) fn signs(self) -> [&'static str; 3] {
        match self {
            Drawing::Unicode => ["✓", "?", "✗"],
            Drawing::Ascii => ["+", "?", "x"],
        }
    }

    /// The sign for native code in a matrix.
    pub(crate) fn native(self) -> &'static str {
        match self {
            Drawing::Unicode => "●",
            Drawing::Ascii => "N",
        }
    }

    /// Lines that lead from a column down from its title: the bend and the way.
    pub(crate) fn lines(self) -> [&'static str; 2] {
        match self {
            Drawing::Unicode => ["┌", "│"],
            Drawing::Ascii => [",", "|"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 4]) -> Vec<String> {
        cells.map(str::to_owned).into()
    }

    #[test]
    fn columns_give_way_by_what_they_are() {
        let columns = [
            ("N", Column::Number),
            ("Its format", Column::Text),
            ("Needs", Column::Wrapped(10)),
            ("Kernel", Column::Name),
        ];
        let rows = [row(["1", "spirv", "fp64, atomic64", &"k".repeat(80)]), row(["12", "zebin", "-", "short"])];
        let at = |width| render(&columns, &rows, &["Its format", "N"], width, false);
        let lines = |width| at(width).lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(50)[0], " N  Its format  Needs       Kernel");
        assert_eq!(lines(50)[1..3], [" 1  spirv       fp64,       kkkkkkkkkkk…kkkkkkkkkk", "                atomic64"]);
        assert_eq!(lines(42)[..2], [" N  Its     Needs     Kernel", "    format"]);
        let narrow = at(34);
        assert!(narrow.starts_with(" N  Needs") && narrow.contains("(Its format not shown"), "{narrow}");
        for width in 20..60 {
            let text = at(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
            assert!(text.contains("atomic64") && text.contains("12") != text.contains(", N"), "{width}\n{text}");
        }
        let whole = at(usize::MAX);
        assert_eq!(whole.lines().count(), 3, "{whole}");
        assert!(whole.contains(&format!("fp64, atomic64  {}", "k".repeat(80))), "{whole}");
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
