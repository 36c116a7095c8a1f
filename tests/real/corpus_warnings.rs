//! Does the tool find the broken promises that the compiler warns of, by the same chain of calls?
//!
//! The compiler names the function that has `device_has`, the aspect that is not listed, and each function on the way to its
//! use, with the place where that function is defined. The tool names each call's place instead, which has to be inside
//! the function that the compiler names, at the call of the next. A source says `// removed: FUNCTION ASPECT` where the
//! optimiser removes a use that the compiler has warned of.

use std::collections::BTreeSet;

use sycl_bundle::compat::aspects::{Aspect, Evidence, Graph};
use sycl_bundle::demangle::demangle;

use crate::compiler::{Compiled, compiled};
use crate::corpus_aspects::{codes, in_source};

/// A warning of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Warning {
    aspect: String,
    /// The function with the promise first.
    chain: Vec<Defined>,
}

/// A function and where it is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Defined {
    function: String,
    file: String,
    line: usize,
}

fn warnings(log: &str) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for line in log.lines() {
        let between = |from: &str, to: &str| Some(line.split_once(from)?.1.rsplit_once(to)?.0.to_owned());
        let defined = |function: String, at: &str| {
            let mut place = line.split_once(at).unwrap().0.rsplitn(3, ':');
            let (_column, line) = (place.next(), place.next().unwrap().parse().unwrap());
            Defined { function, file: place.next().unwrap().to_owned(), line }
        };
        if let Some(function) = between(": warning: function '", "' uses aspect '") {
            let aspect = between("' uses aspect '", "' not listed in its 'sycl::device_has' attribute").unwrap();
            warnings.push(Warning { aspect, chain: vec![defined(function, ": warning: ")] });
        } else if let Some(function) = between(": note: propagated from call to function '", "'") {
            warnings.last_mut().unwrap().chain.push(defined(function, ": note: "));
        }
    }
    warnings
}

#[test]
fn broken_promises_are_found_by_the_compilers_chain() {
    let (mut compared, mut removed, mut longest, mut places) = (0, 0, 0, 0);
    let mut aspects = BTreeSet::new();
    for one in compiled() {
        let codes = codes(one);
        let graph = Graph::link(&codes);
        for warning in warnings(&one.log) {
            let aspect = Aspect::of_name(&warning.aspect).unwrap();
            let first = &warning.chain[0].function;
            let what = format!("{}: {first} uses {}", one.label(), warning.aspect);
            let Some(evidence) = evidence(&graph, first, aspect) else {
                let stated = one.text.contains(&format!("// removed: {first} {}", warning.aspect));
                assert!(one.optimised() && stated, "{what}, and the tool does not find it");
                removed += 1;
                println!("{what}: the optimiser removed the use");
                continue;
            };
            let names: Vec<String> = evidence.chain.iter().map(|step| demangle(&step.function).into_owned()).collect();
            let mut named: Vec<&str> = names.iter().map(|name| in_source(name)).collect();
            named.dedup();
            let expected: Vec<&str> = warning.chain.iter().map(|step| step.function.as_str()).collect();
            if one.optimised() {
                // Functions inlined without debug information are gone; the others are in the compiler's order.
                let kept: Vec<&str> = expected.iter().copied().filter(|name| named.contains(name)).collect();
                assert_eq!(named, kept, "{what}: {expected:?}");
            } else {
                // The tool goes on to the instruction, where a type of the library counts for the compiler.
                let (of_source, of_library) = named.split_at(expected.len().min(named.len()));
                assert_eq!(of_source, expected, "{what}");
                assert!(of_library.iter().all(|name| name.contains("sycl::_V1::")), "{what}: {of_library:?}");
                places += check_places(one, &warning, &evidence);
            }
            println!("{what}: {}", named.join(" -> "));
            compared += 1;
            longest = longest.max(named.len());
            aspects.insert(warning.aspect);
        }
    }
    println!("{compared} warnings compared, {removed} of removed uses, {places} places, {aspects:?}");
    assert!(compared >= 15 && removed >= 1 && longest >= 4 && places >= 16, "too little was compared");
    assert!(aspects.len() >= 3, "{aspects:?}");
}

/// Reason why a function of any module needs the aspect. The kernel that the compiler makes of a function calls it, or, where that
/// was inlined, stands for it.
fn evidence(graph: &Graph<'_>, function: &str, aspect: Aspect) -> Option<Evidence> {
    let wrapper = format!("__sycl_kernel_{function}");
    [function, wrapper.as_str()].iter().find_map(|wanted| {
        graph.codes().iter().enumerate().find_map(|(module, code)| {
            let node = code.nodes.iter().position(|node| demangle(&node.name()) == *wanted)?;
            graph.evidence(module, node, aspect)
        })
    })
}

/// Compares the places of a chain with the source and the compiler's places of definition; gives their number.
fn check_places(one: &Compiled, warning: &Warning, evidence: &Evidence) -> usize {
    let source: Vec<&str> = one.text.lines().collect();
    let mut places = 0;
    // The kernel that the compiler makes of a function calls it.
    let wrapper = usize::from(evidence.chain[0].function == format!("__sycl_kernel_{}", warning.chain[0].function));
    let steps = &evidence.chain[wrapper..];
    for (nth, step) in steps.iter().enumerate().take(warning.chain.len()).skip(1) {
        let place = step.call.as_ref().unwrap_or_else(|| panic!("{}: no place of {step:?}", one.label()));
        let caller = &warning.chain[nth - 1];
        assert_eq!(place.file.rsplit('/').next(), caller.file.rsplit('/').next(), "{}: {step:?}", one.label());
        if place.file.ends_with(".cpp") {
            let (line, column) = (place.line as usize, place.column as usize);
            assert!((caller.line..caller.line + 4).contains(&line), "{}: {step:?} is not in {caller:?}", one.label());
            let name = warning.chain[nth].function.split('(').next().unwrap();
            let at = &source[line - 1][column - 1..];
            assert!(at.starts_with(name) || name.contains("operator"), "{}: {step:?} is at {at}", one.label());
        }
        places += 1;
    }
    if steps.len() > warning.chain.len() {
        return places;
    }
    let (last, place) = (warning.chain.last().unwrap(), evidence.place.as_ref().unwrap());
    assert_eq!(place.file.rsplit('/').next(), last.file.rsplit('/').next(), "{}: {place:?}", one.label());
    let line = place.line as usize;
    assert!((last.line..last.line + 4).contains(&line), "{}: {place:?} is not in {last:?}", one.label());
    places + 1
}
