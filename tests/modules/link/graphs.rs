//! Does linking keep every call and every use of a variable, whatever the graph of modules is?
//!
//! Functions that call each other and load variables are dealt out to modules at random, so that modules need each other
//! in circles. A model of names alone says what the result has to hold, and what each kernel reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;

use super::judge::judge;
use crate::support::spirv::assemble;
use sycl_bundle::spirv::link::{Options, Source, link};

/// A program before it is dealt out.
#[derive(Debug, Clone)]
struct Program {
    modules: usize,
    /// Whether each module is of version 1.4.
    newer: Vec<bool>,
    functions: Vec<Function>,
    /// The module of each variable.
    variables: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Function {
    module: usize,
    is_kernel: bool,
    calls: Vec<usize>,
    loads: Vec<usize>,
}

fn program() -> impl Strategy<Value = Program> {
    (1usize..5, 1usize..10, 1usize..4).prop_flat_map(|(modules, functions, variables)| {
        let function = (
            0..modules,
            any::<bool>(),
            proptest::collection::vec(0..functions, 0..4),
            proptest::collection::vec(0..variables, 0..3),
        );
        let function =
            function.prop_map(|(module, is_kernel, calls, loads)| Function { module, is_kernel, calls, loads });
        (
            proptest::collection::vec(any::<bool>(), modules),
            proptest::collection::vec(function, functions),
            proptest::collection::vec(0..modules, variables),
        )
            .prop_map(move |(newer, functions, variables)| Program { modules, newer, functions, variables })
    })
}

impl Program {
    /// Kernels are called by nobody.
    fn calls(&self, function: usize) -> Vec<usize> {
        let calls = self.functions[function].calls.iter();
        calls.copied().filter(|callee| !self.functions[*callee].is_kernel).collect()
    }

    /// The text of a module: what it has, and declarations of what it uses of others.
    fn text(&self, module: usize) -> String {
        let mine: Vec<usize> = (0..self.functions.len()).filter(|at| self.functions[*at].module == module).collect();
        let called: BTreeSet<usize> = mine.iter().flat_map(|at| self.calls(*at)).collect();
        let loaded: BTreeSet<usize> = mine.iter().flat_map(|at| self.functions[*at].loads.clone()).collect();
        let has = |variable: &usize| self.variables[*variable] == module;
        let variables: BTreeSet<usize> = loaded.into_iter().chain((0..self.variables.len()).filter(has)).collect();
        let imported: Vec<usize> = called.into_iter().filter(|at| self.functions[*at].module != module).collect();
        let mut text = String::new();
        if self.newer[module] {
            text.push_str("; Version: 1.4\n");
        }
        text.push_str("OpCapability Addresses\nOpCapability Linkage\nOpCapability Kernel\nOpCapability Int64\n");
        text.push_str("OpMemoryModel Physical64 OpenCL\n");
        for at in mine.iter().filter(|at| self.functions[**at].is_kernel) {
            let within = |other: usize| self.functions[other].module == module;
            let listed = if self.newer[module] { self.reached(*at, &within) } else { BTreeSet::new() };
            let listed: String = listed.iter().map(|variable| format!(" %v{variable}")).collect();
            writeln!(text, "OpEntryPoint Kernel %f{at} \"f{at}\"{listed}").unwrap();
        }
        for at in mine.iter().chain(&imported).filter(|at| !self.functions[**at].is_kernel) {
            let kind = if self.functions[*at].module == module { "Export" } else { "Import" };
            writeln!(text, "OpName %f{at} \"f{at}\"").unwrap();
            writeln!(text, "OpDecorate %f{at} LinkageAttributes \"f{at}\" {kind}").unwrap();
        }
        for at in &variables {
            let kind = if has(at) { "Export" } else { "Import" };
            writeln!(text, "OpName %v{at} \"v{at}\"").unwrap();
            writeln!(text, "OpDecorate %v{at} LinkageAttributes \"v{at}\" {kind}").unwrap();
        }
        // Names before decorations.
        let (names, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("OpName"));
        let (decorations, head): (Vec<&str>, Vec<&str>) = rest.into_iter().partition(|line| line.starts_with("OpDec"));
        let mut text = [head, names, decorations].concat().join("\n");
        // Each module has its types in another order, and some that others lack.
        let types =
            ["%void = OpTypeVoid", "%uint = OpTypeInt 32 0", "%float = OpTypeFloat 32", "%long = OpTypeInt 64 0"];
        for at in 0..types.len() {
            write!(text, "\n{}", types[(at + module) % types.len()]).unwrap();
        }
        text.push_str("\n%p = OpTypePointer CrossWorkgroup %uint\n%kind = OpTypeFunction %void\n");
        writeln!(text, "%c = OpConstant %uint {module}").unwrap();
        for at in &variables {
            let begin = if has(at) { " %c" } else { "" };
            writeln!(text, "%v{at} = OpVariable %p CrossWorkgroup{begin}").unwrap();
        }
        for at in &imported {
            writeln!(text, "%f{at} = OpFunction %void None %kind\nOpFunctionEnd").unwrap();
        }
        for at in mine {
            writeln!(text, "%f{at} = OpFunction %void None %kind\n%l{at} = OpLabel").unwrap();
            for (number, variable) in self.functions[at].loads.iter().enumerate() {
                writeln!(text, "%x{at}_{number} = OpLoad %uint %v{variable}").unwrap();
            }
            for (number, callee) in self.calls(at).into_iter().enumerate() {
                writeln!(text, "%c{at}_{number} = OpFunctionCall %void %f{callee}").unwrap();
            }
            text.push_str("OpReturn\nOpFunctionEnd\n");
        }
        text
    }

    /// The variables that a function reaches through functions that are followed.
    fn reached(&self, from: usize, follow: &dyn Fn(usize) -> bool) -> BTreeSet<usize> {
        let (mut met, mut queue, mut found) = (BTreeSet::from([from]), vec![from], BTreeSet::new());
        while let Some(at) = queue.pop() {
            found.extend(self.functions[at].loads.iter().copied());
            queue.extend(self.calls(at).into_iter().filter(|callee| follow(*callee) && met.insert(*callee)));
        }
        found
    }
}

fn names(prefix: char, all: impl IntoIterator<Item = usize>) -> Vec<String> {
    all.into_iter().map(|at| format!("{prefix}{at}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn linking_keeps_calls_uses_and_reach(program in program()) {
        let modules: Vec<Vec<u8>> = (0..program.modules)
            .map(|module| assemble(&program.text(module)).unwrap_or_else(|error| panic!("{error}\n{}", program.text(module))))
            .collect();
        let sources: Vec<Source<'_>> =
            modules.iter().map(|bytes| Source { name: "m", bytes, ..Source::default() }).collect();
        let linked = link(&sources, &Options::default()).unwrap();
        prop_assert!(linked.imports.is_empty());
        let judged = judge(&linked.bytes);
        let all = 0..program.functions.len();
        let calls: BTreeMap<String, Vec<String>> =
            all.clone().map(|at| (format!("f{at}"), names('f', program.calls(at)))).collect();
        let loads: BTreeMap<String, Vec<String>> =
            all.clone().map(|at| (format!("f{at}"), names('v', program.functions[at].loads.clone()))).collect();
        prop_assert_eq!(&judged.calls, &calls);
        prop_assert_eq!(&judged.loads, &loads);
        prop_assert_eq!(judged.variables.len(), program.variables.len());
        // void, two integers, a float, a pointer, a function type: each once.
        prop_assert_eq!(judged.types, 6);
        for at in all.filter(|at| program.functions[*at].is_kernel) {
            let newer = program.newer.contains(&true);
            let reached = if newer { program.reached(at, &|_| true) } else { BTreeSet::new() };
            let listed: BTreeSet<String> = judged.interfaces[&format!("f{at}")].iter().cloned().collect();
            prop_assert_eq!(listed, names('v', reached).into_iter().collect::<BTreeSet<_>>());
        }
    }
}
