//! Which functions, variables and calls does a random program have, and what of it is reached from where?
//!
//! The program is a plain list of edges; the module is written from it by hand, and what is left of it is read by hand,
//! so that nothing of the tool judges itself. Recursion and cycles through variables that hold function pointers occur.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A program.
#[derive(Debug, Clone)]
pub struct Graph {
    /// For each function the functions that it calls and the variables that it loads.
    functions: Vec<(Vec<usize>, Vec<usize>)>,
    /// For each variable the function whose address it holds.
    variables: Vec<Option<usize>>,
    /// Functions behind entry points, and those that are exported.
    kernels: Vec<usize>,
    exported: BTreeSet<usize>,
}

/// Parts of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub functions: BTreeSet<String>,
    pub variables: BTreeSet<String>,
    /// Callees and loaded variables by function.
    pub calls: BTreeMap<String, BTreeSet<String>>,
    pub kernels: BTreeSet<String>,
    pub exports: BTreeSet<String>,
    /// Functions with an execution mode.
    pub modes: BTreeSet<String>,
    pub pointers: bool,
    pub bound: u32,
    /// Number of ids that are defined.
    pub ids: usize,
}

pub fn any() -> impl Strategy<Value = Graph> {
    (2usize..9, 0usize..5).prop_flat_map(|(functions, variables)| {
        let calls = prop::collection::vec(0..functions, 0..3);
        let loads =
            if variables == 0 { Just(Vec::new()).boxed() } else { prop::collection::vec(0..variables, 0..2).boxed() };
        let bodies = prop::collection::vec((calls, loads), functions);
        let holds = prop::collection::vec(prop::option::of(0..functions), variables);
        let kernels = prop::collection::btree_set(0..functions, 1..functions.min(4));
        let exported = prop::collection::btree_set(0..functions, 0..3);
        (bodies, holds, kernels, exported).prop_map(|(functions, variables, kernels, exported)| {
            let kernels: Vec<usize> = kernels.into_iter().collect();
            // Entry points are called by nobody, as the specification wants it.
            let entered = |function: &usize| kernels.contains(function);
            let mut functions: Vec<(Vec<usize>, Vec<usize>)> = functions;
            functions.iter_mut().for_each(|(calls, _)| calls.retain(|callee| !entered(callee)));
            let variables: Vec<Option<usize>> =
                variables.into_iter().map(|held: Option<usize>| held.filter(|held| !entered(held))).collect();
            let exported = exported.into_iter().filter(|function| !entered(function)).collect();
            Graph { functions, variables, kernels, exported }
        })
    })
}

const VOID: u32 = 1;
const SIGNATURE: u32 = 2;
const POINTER: u32 = 3;
const HOLDER: u32 = 4;
const INT: u32 = 5;
const HOLDER_OF_INT: u32 = 6;
const FIRST: u32 = 7;

fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
}

impl Graph {
    pub fn function_id(&self, function: usize) -> u32 {
        FIRST + function as u32
    }

    fn variable_id(&self, variable: usize) -> u32 {
        FIRST + (self.functions.len() + 2 * variable) as u32
    }

    /// All entry points, each alone, and each exported function.
    pub fn choices(&self) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut choices: Vec<(Vec<usize>, Vec<usize>)> = (0..self.kernels.len()).map(|at| (vec![at], vec![])).collect();
        choices.push(((0..self.kernels.len()).collect(), self.exported.iter().copied().collect()));
        choices.extend(self.exported.iter().map(|function| (vec![], vec![*function])));
        choices
    }

    pub fn reached(&self, kernels: &[usize], functions: &[usize]) -> Seen {
        let roots: Vec<usize> = kernels.iter().map(|at| self.kernels[*at]).chain(functions.iter().copied()).collect();
        let (mut met, mut held) = (BTreeSet::new(), BTreeSet::new());
        let mut queue = roots;
        while let Some(function) = queue.pop() {
            if met.insert(function) {
                let (calls, loads) = &self.functions[function];
                queue.extend(calls);
                held.extend(loads.iter().copied());
                queue.extend(loads.iter().filter_map(|variable| self.variables[*variable]));
            }
        }
        let name = |function: &usize| format!("f{function}");
        let edges = |function: &usize| {
            let (calls, loads) = &self.functions[*function];
            calls.iter().map(name).chain(loads.iter().map(|variable| format!("v{variable}"))).collect()
        };
        Seen {
            functions: met.iter().map(name).collect(),
            variables: held.iter().map(|variable| format!("v{variable}")).collect(),
            calls: met.iter().map(|function| (name(function), edges(function))).collect(),
            kernels: kernels.iter().map(|at| format!("k{}", self.kernels[*at])).collect(),
            exports: functions.iter().map(|function| format!("e{function}")).collect(),
            modes: kernels.iter().map(|at| name(&self.kernels[*at])).collect(),
            pointers: held.iter().any(|variable| self.variables[*variable].is_some()),
            bound: 0,
            ids: 0,
        }
    }

    /// The program as a module.
    pub fn words(&self) -> Vec<u32> {
        let mut words = vec![0x0723_0203, 0x0001_0400, 6 << 16 | 14, 0, 0];
        let mut put = |opcode: u32, operands: &[u32]| {
            words.push((operands.len() as u32 + 1) << 16 | opcode);
            words.extend_from_slice(operands);
        };
        // Addresses, Linkage, Kernel, FunctionPointersINTEL
        [4, 5, 6, 5603].iter().for_each(|capability| put(17, &[*capability]));
        put(10, &text("SPV_INTEL_function_pointers"));
        put(14, &[2, 2]);
        for function in &self.kernels {
            let interface: Vec<u32> = (0..self.variables.len()).map(|variable| self.variable_id(variable)).collect();
            let name = text(&format!("k{function}"));
            put(15, &[vec![6, self.function_id(*function)], name, interface].concat());
        }
        for function in &self.kernels {
            put(16, &[self.function_id(*function), 31]);
        }
        for function in 0..self.functions.len() {
            put(5, &[vec![self.function_id(function)], text(&format!("f{function}"))].concat());
        }
        for variable in 0..self.variables.len() {
            put(5, &[vec![self.variable_id(variable)], text(&format!("v{variable}"))].concat());
        }
        for function in &self.exported {
            put(71, &[vec![self.function_id(*function), 41], text(&format!("e{function}")), vec![0]].concat());
        }
        put(19, &[VOID]);
        put(33, &[SIGNATURE, VOID]);
        // Of CodeSectionINTEL, and a pointer to it in CrossWorkgroup.
        put(32, &[POINTER, 5605, SIGNATURE]);
        put(32, &[HOLDER, 5, POINTER]);
        put(21, &[INT, 32, 0]);
        put(32, &[HOLDER_OF_INT, 5, INT]);
        for (variable, held) in self.variables.iter().enumerate() {
            let id = self.variable_id(variable);
            match held {
                Some(function) => {
                    put(5600, &[POINTER, id + 1, self.function_id(*function)]);
                    put(59, &[HOLDER, id, 5, id + 1]);
                }
                None => {
                    put(46, &[INT, id + 1]);
                    put(59, &[HOLDER_OF_INT, id, 5, id + 1]);
                }
            }
        }
        let mut next = self.variable_id(self.variables.len());
        let mut fresh = || {
            next += 1;
            next - 1
        };
        for (function, (calls, loads)) in self.functions.iter().enumerate() {
            put(54, &[VOID, self.function_id(function), 0, SIGNATURE]);
            put(248, &[fresh()]);
            for callee in calls {
                put(57, &[VOID, fresh(), self.function_id(*callee)]);
            }
            for variable in loads {
                let kind = if self.variables[*variable].is_some() { POINTER } else { INT };
                put(61, &[kind, fresh(), self.variable_id(*variable), 2, 4]);
            }
            put(253, &[]);
            put(56, &[]);
        }
        words[3] = next;
        words
    }
}

impl Seen {
    /// Reads a module that was made of a program.
    pub fn read(module: &[u8]) -> Seen {
        let words: Vec<u32> = module.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
        let string = |words: &[u32]| -> String {
            let bytes: Vec<u8> =
                words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
            String::from_utf8(bytes).unwrap()
        };
        let mut seen = Seen { bound: words[3], ..Seen::default() };
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        let (mut at, mut function) = (5, String::new());
        let mut modes = Vec::new();
        while at < words.len() {
            let count = (words[at] >> 16) as usize;
            let operands = &words[at + 1..at + count];
            match words[at] & 0xffff {
                5 => {
                    names.insert(operands[0], string(&operands[1..]));
                }
                15 => {
                    seen.kernels.insert(string(&operands[2..]));
                }
                16 => modes.push(operands[0]),
                17 => seen.pointers |= operands[0] == 5603,
                71 => {
                    seen.exports.insert(string(&operands[2..]));
                }
                19 | 21 | 32 | 33 => seen.ids += 1,
                46 | 5600 => seen.ids += 1,
                59 => {
                    seen.ids += 1;
                    seen.variables.insert(names[&operands[1]].clone());
                }
                54 => {
                    seen.ids += 1;
                    function = names[&operands[1]].clone();
                    seen.functions.insert(function.clone());
                    seen.calls.entry(function.clone()).or_default();
                }
                57 | 61 => {
                    seen.ids += 1;
                    seen.calls.get_mut(&function).unwrap().insert(names[&operands[2]].clone());
                }
                248 => seen.ids += 1,
                _ => {}
            }
            at += count;
        }
        seen.modes = modes.iter().map(|id| names[id].clone()).collect();
        seen
    }
}
