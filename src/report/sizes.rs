//! Who takes the space?

use super::inspect::View;
use super::table::{Column, Drawing, render};
use super::text::Shown;
use super::text::{bytes, count, share};
use super::{FileFacts, name};
use crate::bundle::format::Format;
use crate::native::Native;
use std::collections::HashMap;

/// Rows of the rankings.
const SHOWN: usize = 20;

#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    things: usize,
    stored: u64,
    inflated: u64,
}

impl Sum {
    fn add(&mut self, stored: u64, inflated: u64) {
        self.things = self.things.saturating_add(1);
        self.stored = self.stored.saturating_add(stored);
        self.inflated = self.inflated.saturating_add(inflated);
    }
}

/// Places in which the device code of one or several files takes space.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    files: HashMap<String, Sum>,
    targets: HashMap<String, Sum>,
    families: HashMap<String, Sum>,
    members: HashMap<String, Sum>,
    bytes: u64,
}

impl Sizes {
    /// Adds the selected images of a file. An image of several kernels counts for each with an equal part of its bytes.
    pub(crate) fn add(&mut self, facts: &FileFacts<'_>, view: &View) {
        self.bytes = self.bytes.saturating_add(facts.bytes);
        for image in &facts.images {
            let stored = image.image.stored.len() as u64;
            self.files.entry(facts.path.to_owned()).or_default().add(stored, image.size);
            let held = image.native.iter().filter(|native| native.container.is_some());
            let members: Vec<(String, u64)> = held.flat_map(by_device).collect();
            // Members are compressed with their image, or each by itself: they have equal shares of what is stored, by their
            // bytes.
            let inflated = members.iter().map(|(_, size)| *size).fold(0, u64::saturating_add).max(image.size);
            for (devices, size) in members {
                let share = u128::from(stored).saturating_mul(size.into()).checked_div(inflated.into());
                let share = share.and_then(|share| u64::try_from(share).ok()).unwrap_or(0);
                self.members.entry(devices).or_default().add(share, size);
            }
            let target = image.image.compile_target().unwrap_or(image.image.target);
            self.targets.entry(format!("{target}, {}", image.format.name())).or_default().add(stored, image.size);
            let kernels = image.kernels.len() as u64;
            if kernels == 0 {
                let none = self.families.entry("(images without a kernel)".to_owned()).or_default();
                none.add(stored, image.size);
                none.things = 0;
            }
            for (at, kernel) in (0u64..).zip(&image.kernels) {
                let shown = view.kernel(kernel);
                let family = name::family(&shown).to_owned();
                self.families.entry(family).or_default().add(part(stored, kernels, at), part(image.size, kernels, at));
            }
        }
    }

    /// Rankings by target, by family of kernels and by member.
    fn rankings(self, how: (&View, Option<Drawing>)) -> Shown {
        let mut out = ranking("Images", "Target and format", self.targets, self.bytes, how);
        out.push_str("\n");
        out.append(&ranking("Kernels", "Kernels of one template", self.families, self.bytes, how));
        if !self.members.is_empty() {
            out.push_str("\n");
            out.append(&ranking("Members", "Members of archives and fat binaries", self.members, self.bytes, how));
        }
        out
    }

    /// Rankings over all files; nothing where there is but one.
    pub(crate) fn all(mut self, view: &View, drawing: Option<Drawing>) -> Shown {
        if self.files.len() < 2 {
            return Shown::default();
        }
        let files = ranking("Images", "File", std::mem::take(&mut self.files), self.bytes, (view, drawing));
        let mut out = Shown::gap();
        out.append(&view.heading("All files"));
        out.append(&Shown::sections(&[files, self.rankings((view, drawing))]));
        out
    }
}

/// Bytes of a loaded file beyond which linkers fail: code reaches data by 32-bit distances.
const REACH: u64 = 2 << 30;

/// Warns where a file is near the size that no linker can exceed; nothing where it is not.
fn near_the_limit(facts: &FileFacts<'_>) -> Shown {
    let loaded = facts.host.iter().flat_map(|host| &host.sections).filter(|section| section.address != 0);
    let ends = loaded.clone().map(|section| section.address.saturating_add(section.data.len() as u64));
    let start = loaded.map(|section| section.address).min().unwrap_or(0);
    let taken = ends.max().unwrap_or(0).saturating_sub(start);
    if taken < REACH / 4 * 3 {
        return Shown::default();
    }
    let mut out = Shown::default();
    writeln!(
        out,
        "Near the limit: {} of 2 GiB are taken once the file is loaded. Beyond, linkers end with `relocation truncated",
        bytes(taken)
    );
    out.push_str("to fit`: leave out devices (`prune --drop`, `filter`), or part the library.\n\n");
    out
}

/// By target and format, by family of kernels, and the largest images. Where it is drawn there are bars, as long as what is stored.
pub(crate) fn sizes(facts: &FileFacts<'_>, view: &View, drawing: Option<Drawing>) -> Shown {
    let mut sizes = Sizes::default();
    sizes.add(facts, view);
    let mut largest: Vec<_> = facts.images.iter().collect();
    largest.sort_by_key(|image| (std::cmp::Reverse(image.image.stored.len()), image.image.index));
    let images: Vec<Vec<String>> = largest
        .iter()
        .take(SHOWN)
        .map(|image| {
            let stored = image.image.stored.len() as u64;
            let kernel = image.kernels.first().map_or_else(|| "-".to_owned(), |kernel| view.kernel(kernel));
            vec![bytes(stored), bytes(image.size), share(stored, facts.bytes), image.image.index.to_string(), kernel]
        })
        .collect();
    let columns = [
        ("Stored", Column::Number),
        ("Inflated", Column::Number),
        ("Of file", Column::Number),
        ("Image", Column::Number),
        ("The largest images, by a kernel", Column::Name),
    ];
    let mut out = near_the_limit(facts);
    out.append(&sizes.rankings((view, drawing)));
    out.push_str("\n");
    let stored = largest.iter().take(SHOWN).map(|image| Some(image.image.stored.len() as u64));
    out.append(&with_bars(&columns, images, &stored.collect::<Vec<_>>(), (view, drawing)));
    out
}

/// The parts of native code, each by its devices or else by what it is, with its bytes.
fn by_device(native: &Native) -> impl Iterator<Item = (String, u64)> {
    native.parts.iter().map(|part| {
        let whose = match (part.devices.as_slice(), part.format) {
            ([], Format::SpirV) => "SPIR-V for all other devices".to_owned(),
            ([], format) if part.stated.is_empty() => format.name().to_owned(),
            ([], _) => part.stated.clone(),
            (devices, _) => devices.join(", "),
        };
        (whose, part.size)
    })
}

/// Part `at` of `whole` in `parts` equal ones; the first takes what is left over.
pub(super) fn part(whole: u64, parts: u64, at: u64) -> u64 {
    let (each, rest) = (whole.checked_div(parts).unwrap_or(0), whole.checked_rem(parts).unwrap_or(0));
    if at == 0 { each.saturating_add(rest) } else { each }
}

/// A table, with a bar in each row that has bytes, before the last column.
fn with_bars(
    columns: &[(&str, Column)],
    mut rows: Vec<Vec<String>>,
    stored: &[Option<u64>],
    (view, drawing): (&View, Option<Drawing>),
) -> Shown {
    let minor = ["", "Inflated", "Of file"];
    let Some(drawing) = drawing else { return render(columns, &rows, &minor, view.width, view.color) };
    let most = stored.iter().flatten().copied().max().unwrap_or(0);
    for (row, stored) in rows.iter_mut().zip(stored) {
        let bar = stored.map(|stored| drawing.bar(stored, most)).unwrap_or_default();
        row.insert(row.len().saturating_sub(1), bar);
    }
    let mut columns = columns.to_vec();
    columns.insert(columns.len().saturating_sub(1), ("", Column::Text));
    render(&columns, &rows, &minor, view.width, view.color)
}

fn ranking(counts: &str, title: &str, sums: HashMap<String, Sum>, file: u64, how: (&View, Option<Drawing>)) -> Shown {
    let mut sums: Vec<(String, Sum)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.stored.cmp(&one.1.stored).then_with(|| one.0.cmp(&other.0)));
    let mut rest = Sum::default();
    for (_, sum) in sums.iter().skip(SHOWN) {
        rest.things = rest.things.saturating_add(sum.things);
        rest.stored = rest.stored.saturating_add(sum.stored);
        rest.inflated = rest.inflated.saturating_add(sum.inflated);
    }
    let more = sums.len().saturating_sub(SHOWN);
    sums.truncate(SHOWN);
    // The rest is many, and would make every other bar short.
    let mut stored: Vec<Option<u64>> = sums.iter().map(|(_, sum)| Some(sum.stored)).collect();
    if more > 0 {
        sums.push((format!("({} more)", count(more)), rest));
        stored.push(None);
    }
    let columns = [
        ("Stored", Column::Number),
        ("Inflated", Column::Number),
        ("Of file", Column::Number),
        (counts, Column::Number),
        (title, Column::Name),
    ];
    let things = |number: usize| if number == 0 { "-".to_owned() } else { count(number) };
    let row = |(name, sum): (String, Sum)| {
        vec![bytes(sum.stored), bytes(sum.inflated), share(sum.stored, file), things(sum.things), name]
    };
    with_bars(&columns, sums.into_iter().map(row).collect(), &stored, how)
}

#[cfg(test)]
mod tests {
    #[test]
    fn parts_make_the_whole() {
        let parts: Vec<u64> = (0..3).map(|at| super::part(11, 3, at)).collect();
        assert_eq!(parts, [5, 3, 3]);
        assert_eq!(super::part(11, 0, 0), 0);
    }
}
