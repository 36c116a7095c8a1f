//! Which kernels run on which targets, and why not, as data of a page?
//!
//! What is said is the gate's. Kernels of which the same is said on every target are of one class; thousands of kernels
//! are of a few. Why a kernel needs an aspect stands once for the kernel.

use super::Table;
use super::files::Files;
use super::{Texts, visible};
use crate::compat::aspects::Evidence;
use crate::compat::finding::{self, Judge};
use crate::compat::gate::judgement::Item;
use crate::compat::warnings::called;
use crate::report::evidence::Names;
use crate::report::gate::{Cell, LocatedFinding, Standing, TargetFindings, rows_by_file};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The matrix as it stands in the page.
#[derive(Debug, Default, Serialize)]
pub(super) struct Matrix {
    targets: Vec<String>,
    /// Distinct findings: whether it is certain, rule, message, remedy, aspect, excuse, and whether only a policy
    /// forbids it.
    reasons: Vec<Reason>,
    /// Distinct cells: 0 runs, 1 unknown, 2 cannot run, 3 excused, 4 not asked; and the numbers of `reasons`, those
    /// that count first.
    cells: Vec<(u8, Vec<usize>)>,
    /// Of each class the cell for each target.
    classes: Vec<Vec<usize>>,
    /// Of each kernel the file, the name and the class.
    file: Vec<u32>,
    name: Vec<u32>,
    class: Vec<u32>,
    /// Call chains to the uses of aspects: the row, and the numbers of aspect and chain in `texts`.
    why: Vec<(usize, usize, usize)>,
    texts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Reason(bool, &'static str, String, String, Option<usize>, Option<usize>, bool);

/// Numbers of distinct values, by value.
#[derive(Default)]
struct Interned {
    reasons: HashMap<ReasonKey, usize>,
    cells: HashMap<(u8, Vec<usize>), usize>,
    classes: HashMap<Vec<usize>, usize>,
    texts: Texts,
}

/// The parts by which findings are distinct.
type ReasonKey = (bool, &'static str, String, String, Option<Arc<str>>);

pub(super) fn matrix(targets: &[&TargetFindings], files: &Files, table: &Table<'_>, names: Names) -> Matrix {
    let mut matrix = Matrix { targets: targets.iter().map(|one| visible(one.name())).collect(), ..Matrix::default() };
    let mut interned = Interned::default();
    let places = files.places();
    for file_rows in rows_by_file(targets) {
        let Some(&file) = places.get(&**file_rows.file) else { continue };
        // Targets have groups of their own; kernels that are of one group on each are of one class.
        let mut classes: HashMap<Vec<Option<usize>>, usize> = HashMap::new();
        for kernel in &file_rows.rows {
            let Some(name) = table.place(kernel.name) else { continue };
            let all: Vec<Option<Cell<'_>>> = file_rows.cells(kernel).collect();
            let key: Vec<_> = all.iter().map(|cell| cell.and_then(|cell| cell.group())).collect();
            let class = *classes.entry(key).or_insert_with(|| {
                let cells = all.iter().map(|cell| matrix.cell(&mut interned, *cell)).collect();
                matrix.class(&mut interned, cells)
            });
            let row = matrix.name.len();
            matrix.file.push(file as u32);
            matrix.name.push(name as u32);
            matrix.class.push(class as u32);
            let why = all.iter().flatten().flat_map(|Cell { of, kernel }| {
                of.judged.findings_of(*kernel).filter_map(|found| LocatedFinding { of, found }.evidence())
            });
            let why: BTreeMap<&'static str, &Evidence> = why.map(|why| (why.aspect.name(), why)).collect();
            for (aspect, why) in why {
                matrix.why.push((row, interned.texts.intern(aspect), interned.texts.intern(&chain_text(why, names))));
            }
        }
    }
    matrix.texts = interned.texts.all().to_vec();
    matrix
}

impl Matrix {
    fn class(&mut self, interned: &mut Interned, cells: Vec<usize>) -> usize {
        *interned.classes.entry(cells).or_insert_with_key(|cells| {
            self.classes.push(cells.clone());
            self.classes.len().saturating_sub(1)
        })
    }

    /// The number of what is said of a kernel on a target.
    fn cell(&mut self, interned: &mut Interned, cell: Option<Cell<'_>>) -> usize {
        let items = cell.map(|cell| cell.items()).unwrap_or_default();
        let stand = match cell.map_or(Standing::NotAsked, |cell| cell.standing()) {
            Standing::Native => Standing::Runs,
            stand => stand,
        };
        let (counting, excused): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| item.excused.is_none());
        let reasons = counting.iter().chain(&excused).map(|item| self.reason(interned, item)).collect();
        *interned.cells.entry((stand as u8, reasons)).or_insert_with_key(|cell| {
            self.cells.push(cell.clone());
            self.cells.len().saturating_sub(1)
        })
    }

    fn reason(&mut self, interned: &mut Interned, item: &Item) -> usize {
        let finding::Finding { rule: id, certain, message, remedy, aspect, .. } = &*item.finding;
        let (rule, excused) = (id.name(), item.excused.clone());
        let key = (*certain, rule, message.clone(), remedy.clone(), excused);
        if let Some(place) = interned.reasons.get(&key) {
            return *place;
        }
        let mut text = |text: &str| interned.texts.intern(text);
        let (aspect, excused) = (aspect.as_deref().map(&mut text), item.excused.as_deref().map(&mut text));
        let policy = id.judge() == Judge::Policy;
        self.reasons.push(Reason(*certain, rule, visible(message), visible(remedy), aspect, excused, policy));
        let place = self.reasons.len().saturating_sub(1);
        interned.reasons.insert(key, place);
        place
    }
}

/// The call chain from a kernel to the use of an aspect, without its first frame, so that kernels share one text.
fn chain_text(evidence: &Evidence, names: Names) -> String {
    let mut out = String::new();
    if let Some(place) = evidence.chain.first().and_then(|step| step.call.as_ref()) {
        out.push_str(&format!("called at {place} "));
    }
    for step in evidence.chain.iter().skip(1) {
        out.push_str(&format!("→ {} ", called(&names.show(&step.function))));
        if let Some(place) = &step.call {
            out.push_str(&format!("({place}) "));
        }
    }
    out.push_str(&format!("→ {}", evidence.instruction));
    if let Some(place) = &evidence.place {
        out.push_str(&format!(" at {place}"));
    }
    if let Some(image) = evidence.elsewhere {
        out.push_str(&format!(" in image {image}"));
    }
    out
}
