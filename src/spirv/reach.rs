//! Which part of a module does one kernel reach?
//!
//! The walk starts at the kernel's function and follows every id that its code uses: called functions, functions whose
//! address is taken (also in the initialiser of a variable), and the types, constants and variables of module scope.

use super::index::Index;
use super::op;
use crate::limits;

/// Part of a module that a function reaches.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Ids of functions in the order in which they are met; the kernel's own is the first.
    pub functions: Vec<u32>,
    /// Ids of module scope (types, constants, variables, strings) in the order in which they are met.
    pub globals: Vec<u32>,
    /// Whether the walk is complete. Otherwise the kernel may reach more: an instruction is in no grammar, or the limit
    /// on instructions was reached.
    pub complete: bool,
}

/// State shared by the walks over one module: the definitions that the current walk has met, and how many more
/// instructions may be looked at, since each of many kernels may reach all of a large module.
#[derive(Debug)]
pub struct Walks {
    /// By the number of the defining instruction, the last walk that met it.
    met: Vec<u32>,
    walk: u32,
    budget: usize,
}

impl Walks {
    /// Creates the state for a module.
    pub fn new(index: &Index<'_>) -> Walks {
        Walks { met: vec![0; index.len()], walk: 0, budget: limits::MAX_REACHED }
    }

    /// Whether this walk meets an id for the first time; false for an id that the module does not define.
    fn meet(&mut self, index: &Index<'_>, id: u32) -> bool {
        let walk = self.walk;
        let met = index.definition(id).and_then(|at| self.met.get_mut(at));
        met.is_some_and(|met| std::mem::replace(met, walk) != walk)
    }
}

impl Reach {
    /// Walks from a function.
    pub fn walk(index: &Index<'_>, function: u32, walks: &mut Walks) -> Reach {
        let mut reach = Reach { complete: true, ..Reach::default() };
        walks.walk = walks.walk.saturating_add(1);
        let mut queue = vec![function];
        walks.meet(index, function);
        // A stack makes the walk depth-first, so its order is the same for equal code.
        while let Some(id) = queue.pop() {
            let (range, inside) = match index.function(id) {
                Some(function) => {
                    reach.functions.push(id);
                    (function.instructions.clone(), true)
                }
                None => {
                    let Some(at) = index.definition(id) else { continue };
                    reach.globals.push(id);
                    (at..at.saturating_add(1), false)
                }
            };
            match walks.budget.checked_sub(range.end.min(index.len()).saturating_sub(range.start)) {
                Some(left) => walks.budget = left,
                None => {
                    reach.complete = false;
                    break;
                }
            }
            let before = queue.len();
            for (_, instruction) in index.instructions(range.clone()) {
                if matches!(instruction.opcode, op::LINE | op::NO_LINE) {
                    continue;
                }
                reach.complete &= index.for_each_id(&instruction, |at, _| {
                    let used = instruction.word(at);
                    // Ids that the function itself defines are walked with its body.
                    let own = inside && index.definition(used).is_some_and(|at| range.contains(&at));
                    if !own && walks.meet(index, used) {
                        queue.push(used);
                    }
                });
            }
            if let Some(new) = queue.get_mut(before..) {
                new.reverse();
            }
        }
        reach
    }
}
