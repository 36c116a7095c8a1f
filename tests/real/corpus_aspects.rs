//! Does the code of the compiled SYCL sources use the aspects that the compiler recorded, kernel by kernel?
//!
//! A source in which it differs says so itself, for each kernel and aspect, with the reason that the tool has to give:
//!
//! ```text
//! // differs: KERNEL ASPECT REASON [optimised | with -g]
//! ```
//!
//! What differs and is not listed fails, and so does what is listed and does not differ. Reasons are checked on the module
//! by a scan that shares nothing with the tool.

use std::collections::BTreeSet;

use sycl_bundle::compat::aspects::{self, Aspect, Code, Graph, Reason, Sets};
use sycl_bundle::spirv::index::Index;

use crate::compiler::{Compiled, Made, compiled};
use crate::corpus::recorded;

/// The call graph's nodes of every image of one compilation.
pub fn codes(one: &Compiled) -> Vec<Code> {
    let of = |made: &Made| {
        let names = |key: &str| -> Vec<String> {
            let text =
                made.bytes("SYCL/virtual functions", key).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            text.iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
        };
        let sets = Sets { defined: names("virtual-functions-set"), used: names("uses-virtual-functions-set") };
        Code { sets, ..Code::read(&Index::read(&made.module).unwrap()) }
    };
    one.images.iter().map(of).collect()
}

/// The name of a kernel in the source.
pub fn in_source(kernel: &str) -> &str {
    kernel.strip_prefix("__sycl_kernel_").unwrap_or(kernel)
}

/// A kernel, an aspect and the reason why it differs.
type Differs = (String, String, String);

/// Differences that the source announces for this compilation.
fn listed(one: &Compiled) -> BTreeSet<Differs> {
    let lines = one.text.lines().filter_map(|line| line.strip_prefix("// differs: "));
    let mut listed = BTreeSet::new();
    for line in lines {
        let (what, when) = match line.split_once(" [") {
            Some((what, when)) => (what, when.strip_suffix(']').unwrap()),
            None => (line, ""),
        };
        let applies = match when {
            "" => true,
            "optimised" => one.optimised(),
            "with -g" => !one.optimised(),
            other => panic!("{}: {other}", one.label()),
        };
        let [kernel, aspect, reason] = what.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{}: {line}", one.label())
        };
        if applies {
            assert!(listed.insert((kernel.to_owned(), aspect.to_owned(), reason.to_owned())), "{line} stands twice");
        }
    }
    listed
}

#[test]
fn kernels_use_what_the_compiler_recorded_for_them() {
    let mut wrong = Vec::new();
    let (mut kernels, mut agreeing, mut different) = (0, 0, 0);
    let (mut seen, mut reasons): (BTreeSet<String>, BTreeSet<String>) = Default::default();
    for one in compiled() {
        let codes = codes(one);
        let graph = Graph::link(&codes);
        let mut found: BTreeSet<Differs> = BTreeSet::new();
        let before = (kernels, agreeing);
        for (module, kernel) in graph.kernels() {
            let made = &one.images[module];
            let used = graph.used(module, kernel.node.unwrap());
            // With one image for all kernels, what is recorded is of all of them together.
            let together = one.options.iter().any(|option| option == "-fsycl-device-code-split=off");
            let used = if together { graph.used_by_module(module) } else { used };
            let stored: Vec<String> = recorded(made).into_iter().collect();
            let comparison = aspects::compare(&stored, &codes[module], &used);
            kernels += 1;
            agreeing += usize::from(comparison.differences.is_empty());
            for difference in comparison.differences {
                if !holds(one, made, &difference.aspect, difference.reason) {
                    wrong.push(format!("{}: {}: {difference:?} does not hold", one.label(), kernel.name));
                }
                let reason = format!("{:?}", difference.reason);
                reasons.insert(reason.clone());
                found.insert((in_source(&kernel.name).to_owned(), difference.aspect, reason));
            }
            seen.extend(used.iter().filter(|aspect| stored.iter().any(|name| name == aspect.name())).map(name));
        }
        let listed = listed(one);
        let complaint = |what: &str, (kernel, aspect, reason): &Differs| {
            format!("{}: {what}: {kernel} {aspect} {reason}", one.label())
        };
        wrong.extend(found.difference(&listed).map(|differs| complaint("differs, and is not listed", differs)));
        wrong.extend(listed.difference(&found).map(|differs| complaint("is listed, and does not differ", differs)));
        different += found.len();
        let (of, agree) = (kernels - before.0, agreeing - before.1);
        println!("{}: {agree} of {of} kernels agree; {found:?}", one.label());
    }
    println!(
        "{kernels} kernels, {agreeing} agree, {different} stated differences {reasons:?}; found and recorded: {seen:?}"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(kernels >= 340 && agreeing * 4 >= kernels * 3, "{agreeing} of {kernels} kernels");
    assert!(seen.len() >= 8, "aspects of few kinds: {seen:?}");
}

fn name(aspect: &Aspect) -> String {
    aspect.name().to_owned()
}

/// Whether the reason is true of the module: by its words alone, read here.
fn holds(one: &Compiled, made: &Made, aspect: &str, reason: Reason) -> bool {
    let promised = one.text.contains(&format!("sycl::aspect::{aspect}"));
    // Marked in the compiler's headers; its code is that of the other non-uniform groups.
    let by_header = aspect == "ext_oneapi_tangle" && one.text.contains("entangle(");
    let shown = match aspect {
        "fp16" => has_type(made, 16),
        "fp64" => has_type(made, 64),
        "atomic64" | "ext_oneapi_atomic16" => instructions(made).any(|(opcode, _)| is_atomic(opcode)),
        "ext_intel_legacy_image" => instructions(made).any(|(opcode, _)| opcode == 25),
        "ext_oneapi_bindless_images" => capabilities(made).contains(&6528),
        "ext_intel_matrix" => capabilities(made).contains(&6022),
        "ext_oneapi_virtual_functions" => capabilities(made).contains(&5603),
        "ext_oneapi_chunk" | "ext_oneapi_fragment" => {
            instructions(made).any(|(opcode, _)| (349..=364).contains(&opcode))
        }
        "ext_intel_esimd" => capabilities(made).contains(&5617),
        "ext_oneapi_bindless_images_gather" => instructions(made).any(|(opcode, _)| opcode == 96),
        "ext_oneapi_clock_device" | "ext_oneapi_clock_work_group" | "ext_oneapi_clock_sub_group" => {
            instructions(made).any(|(opcode, _)| opcode == 5056)
        }
        // Of these the tool may only say that SPIR-V does not show them.
        _ => return reason == Reason::NotShown && (promised || by_header),
    };
    match reason {
        Reason::NotShown => promised || by_header,
        Reason::NotInModule => !shown,
        Reason::Unused
        | Reason::Elsewhere
        | Reason::DeclaredOnly
        | Reason::NeverStored
        | Reason::NotStored
        | Reason::Possible => shown,
    }
}

/// The opcodes and operand words of a module.
fn instructions(made: &Made) -> impl Iterator<Item = (u16, Vec<u32>)> + '_ {
    let words: Vec<u32> =
        made.module.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let mut at = 5;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let length = (first >> 16) as usize;
        let operands = words[at + 1..at + length].to_vec();
        at += length;
        Some(((first & 0xffff) as u16, operands))
    })
}

fn has_type(made: &Made, width: u32) -> bool {
    const TYPE_FLOAT: u16 = 22;
    instructions(made).any(|(opcode, operands)| opcode == TYPE_FLOAT && operands[1] == width && operands.len() == 2)
}

fn is_atomic(opcode: u16) -> bool {
    matches!(opcode, 227..=242 | 5614 | 5615 | 6035)
}

fn capabilities(made: &Made) -> Vec<u32> {
    const CAPABILITY: u16 = 17;
    instructions(made).filter(|(opcode, _)| *opcode == CAPABILITY).map(|(_, operands)| operands[0]).collect()
}
