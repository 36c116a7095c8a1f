//! Which kernels run on which targets, and why not, as data of a page?
//!
//! What is said is the gate's. Kernels of which the same is said on every target are of one class; thousands of kernels
//! are of a few. Why a kernel needs an aspect stands once for the kernel.

use super::escape::visible;
use super::files::Files;
use super::names::Table;
use super::texts::Texts;
use crate::compat::aspects::Evidence;
use crate::compat::gate::Against;
use crate::compat::gate::judged::Item;
use crate::compat::warnings::{called, location};
use crate::report::evidence::Names;
use crate::report::gate::{Finding, OfFile, OfTarget, certain};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The matrix as it stands in the page.
#[derive(Debug, Default, Serialize)]
pub(super) struct Matrix {
    targets: Vec<String>,
    /// What is said: whether it is sure, the rule, the sentence, what can be done, and the aspect.
    reasons: Vec<Reason>,
    /// What is said of a kernel on a target: 0 runs, 1 unknown, 2 cannot run; and the reasons.
    cells: Vec<(u8, Vec<usize>)>,
    /// Of each class the cell for each target.
    classes: Vec<Vec<usize>>,
    /// Of each kernel the file, the name and the class.
    file: Vec<usize>,
    name: Vec<usize>,
    class: Vec<usize>,
    /// Why kernels need aspects: the row, the aspect, the text.
    why: Vec<(usize, usize, usize)>,
    texts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Reason(bool, &'static str, String, String, Option<usize>);

/// What is gathered once, and known by its number.
#[derive(Default)]
struct Known {
    reasons: HashMap<Said, usize>,
    cells: HashMap<(u8, Vec<usize>), usize>,
    classes: HashMap<Vec<usize>, usize>,
    texts: Texts,
}

/// What tells reasons apart.
type Said = (bool, &'static str, String, String);

pub(super) fn matrix(targets: &[OfTarget], files: &Files, table: &Table, names: Names) -> Matrix {
    let mut matrix = Matrix { targets: targets.iter().map(|one| visible(one.name())).collect(), ..Matrix::default() };
    let mut known = Known::default();
    let Some(first) = targets.first() else { return matrix };
    for (at, of) in first.files.iter().enumerate() {
        let Some(file) = files.place(&of.file) else { continue };
        let all: Vec<Option<&OfFile>> = targets.iter().map(|one| one.files.get(at)).collect();
        // Targets have groups of their own; kernels that are of one group on each are of one class.
        let mut classes: HashMap<Vec<Option<usize>>, usize> = HashMap::new();
        for kernel in 0..of.judged.kernels.len() {
            let Some(name) = of.judged.kernels.name(kernel).and_then(|name| table.place(name)) else { continue };
            let key: Vec<_> = all.iter().map(|of| of.and_then(|of| of.judged.grouping.of(kernel))).collect();
            let class = *classes.entry(key).or_insert_with_key(|key| {
                let items = all.iter().zip(key).map(|(of, group)| (*of)?.judged.items.get((*group)?));
                let cells = items.map(|items| matrix.cell(&mut known, items.map(Vec::as_slice))).collect();
                matrix.class(&mut known, cells)
            });
            let row = matrix.name.len();
            matrix.file.push(file);
            matrix.name.push(name);
            matrix.class.push(class);
            let why = all.iter().flatten().flat_map(|of| {
                let found = of.judged.of(kernel);
                found.filter_map(|found| Finding { of, found }.evidence())
            });
            let why: BTreeMap<&'static str, &Evidence> = why.map(|why| (why.aspect.name(), why)).collect();
            for (aspect, why) in why {
                matrix.why.push((row, known.texts.of(aspect), known.texts.of(&way(why, names))));
            }
        }
    }
    matrix.texts = known.texts.all().to_vec();
    matrix
}

impl Matrix {
    fn class(&mut self, known: &mut Known, cells: Vec<usize>) -> usize {
        *known.classes.entry(cells).or_insert_with_key(|cells| {
            self.classes.push(cells.clone());
            self.classes.len().saturating_sub(1)
        })
    }

    /// The number of what is said of a kernel on a target; nothing is known of one that was not judged.
    fn cell(&mut self, known: &mut Known, items: Option<&[Item]>) -> usize {
        let verdict = match items.map(certain) {
            Some(None) => 0,
            None | Some(Some(false)) => 1,
            Some(Some(true)) => 2,
        };
        let reasons = items.unwrap_or_default().iter().map(|item| self.reason(known, &item.against)).collect();
        *known.cells.entry((verdict, reasons)).or_insert_with_key(|cell| {
            self.cells.push(cell.clone());
            self.cells.len().saturating_sub(1)
        })
    }

    fn reason(&mut self, known: &mut Known, against: &Against) -> usize {
        let Against { matter, certain, message, remedy, aspect } = against;
        let aspect = aspect.as_ref().map(|aspect| known.texts.of(aspect));
        *known.reasons.entry((*certain, matter.rule(), message.clone(), remedy.clone())).or_insert_with(|| {
            self.reasons.push(Reason(*certain, matter.rule(), visible(message), visible(remedy), aspect));
            self.reasons.len().saturating_sub(1)
        })
    }
}

/// The way from a kernel to the use of an aspect, without the kernel itself, which thousands would be different by.
fn way(evidence: &Evidence, names: Names) -> String {
    let mut out = String::new();
    if let Some(place) = evidence.chain.first().and_then(|step| step.call.as_ref()) {
        out.push_str(&format!("called at {} ", location(place)));
    }
    for step in evidence.chain.iter().skip(1) {
        out.push_str(&format!("→ {} ", called(&names.show(&step.function))));
        if let Some(place) = &step.call {
            out.push_str(&format!("({}) ", location(place)));
        }
    }
    out.push_str(&format!("→ {}", evidence.instruction));
    if let Some(place) = &evidence.place {
        out.push_str(&format!(" at {}", location(place)));
    }
    if let Some(image) = evidence.elsewhere {
        out.push_str(&format!(" in image {image}"));
    }
    out
}
