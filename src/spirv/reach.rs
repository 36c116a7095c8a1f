//! What of a module does one kernel reach?
//!
//! From the kernel's function by every id that its code uses: called functions, functions whose address is taken, also in
//! the initialiser of a variable, and the types, constants and variables of module scope.

use super::index::Index;
use super::op;
use std::collections::HashSet;

/// The reachable part of a module.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Functions by id, in the order in which they are met; the kernel's own is the first.
    pub functions: Vec<u32>,
    /// What module scope defines, by id, in the order in which it is met: types, constants, variables, strings.
    pub globals: Vec<u32>,
    /// Whether every instruction on the way is known. Otherwise there may be more.
    pub complete: bool,
}

impl Reach {
    /// What a function reaches.
    pub fn of(index: &Index<'_>, function: u32) -> Reach {
        let mut reach = Reach { complete: true, ..Reach::default() };
        let mut seen = HashSet::new();
        let mut queue = vec![function];
        seen.insert(function);
        // Last in, first out: the order is that of a depth-first walk, the same for equal code.
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
            let before = queue.len();
            for (_, instruction) in index.instructions(range.clone()) {
                if matches!(instruction.opcode, op::LINE | op::NO_LINE) {
                    continue;
                }
                reach.complete &= index.for_each_id(&instruction, |at, _| {
                    let used = instruction.word(at);
                    // What the function itself defines has been, or will be, walked.
                    let own = inside && index.definition(used).is_some_and(|at| range.contains(&at));
                    if !own && seen.insert(used) {
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
