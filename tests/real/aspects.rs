//! Does the code of every image use the aspects that the compiler stored for it, or is there a reason that holds?
//!
//! The judge is the compiler: `SYCL/device requirements` of each image. Where it differs, an independent parser
//! (rspirv's) has to confirm the reason on that very image.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rspirv::binary::{Consumer, ParseAction, Parser};
use rspirv::dr::{Instruction, ModuleHeader, Operand};
use rspirv::spirv::Op;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::compat::aspects::{self, Aspect, Code, Comparison, Graph, Reason};
use sycl_bundle::container::Host;
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::index::Index;

use crate::world::world;

/// Findings of the independent parser.
#[derive(Default)]
struct Seen {
    /// Widths of floating-point types, without those of other encodings.
    floats: Vec<u32>,
    /// Opcodes that end in a 64-bit value and begin with `Atomic`.
    atomics: usize,
    capabilities: Vec<u32>,
    /// Ids of the types that hold a 64-bit float, directly or in parts.
    doubles: Vec<u32>,
    /// Instructions of functions whose result is of such a type, or that have a constant of such a type as operand.
    double_values: usize,
    constants: Vec<u32>,
    in_function: bool,
}

impl Consumer for Seen {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }
    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }
    fn consume_header(&mut self, _: ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }
    fn consume_instruction(&mut self, instruction: Instruction) -> ParseAction {
        let operands = &instruction.operands;
        let holds =
            |ids: &[u32]| operands.iter().any(|operand| matches!(operand, Operand::IdRef(id) if ids.contains(id)));
        match instruction.class.opcode {
            Op::Capability => {
                if let Some(Operand::Capability(capability)) = operands.first() {
                    self.capabilities.push(*capability as u32);
                }
            }
            Op::TypeFloat => {
                if let (Some(Operand::LiteralBit32(width)), 1) = (operands.first(), operands.len()) {
                    self.floats.push(*width);
                    if *width == 64 {
                        self.doubles.extend(instruction.result_id);
                    }
                }
            }
            Op::TypeVector | Op::TypeArray | Op::TypeStruct if holds(&self.doubles) => {
                self.doubles.extend(instruction.result_id);
            }
            Op::Function => self.in_function = true,
            opcode => {
                if format!("{opcode:?}").starts_with("Atomic") {
                    self.atomics += 1;
                }
            }
        }
        let is_double = instruction.result_type.is_some_and(|kind| self.doubles.contains(&kind));
        if is_double && !self.in_function {
            self.constants.extend(instruction.result_id);
        }
        if self.in_function && (is_double || holds(&self.constants)) {
            self.double_values += 1;
        }
        ParseAction::Continue
    }
}

/// Whether a reason that the tool gave holds for the module, as far as the independent parser can tell.
fn holds(aspect: &str, reason: Reason, module: &[u8]) -> bool {
    let mut seen = Seen::default();
    Parser::new(module, &mut seen).parse().unwrap();
    match (aspect, reason) {
        ("fp64", Reason::NotInModule) => !seen.floats.contains(&64),
        ("fp16", Reason::NotInModule) => !seen.floats.contains(&16),
        ("atomic64", Reason::NotInModule) => seen.atomics == 0,
        ("fp64", Reason::DeclaredOnly | Reason::Unused) => seen.capabilities.contains(&10) && seen.double_values == 0,
        _ => false,
    }
}

struct Judgement {
    name: String,
    kernels: usize,
    comparison: Comparison,
    confirmed: Vec<bool>,
    kernels_need_less: bool,
    unknown: usize,
}

#[test]
fn found_aspects_are_those_of_the_compiler_or_the_reason_holds() {
    let libraries = world().fat_libraries();
    let judged: Vec<Judgement> = libraries.par_iter().flat_map(|library| judge(library)).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    let (mut with_kernels, mut agree) = (0, 0);
    for image in &judged {
        with_kernels += usize::from(image.kernels > 0);
        assert_eq!(image.unknown, 0, "{}: instructions that no grammar knows", image.name);
        assert!(!image.kernels_need_less, "{}: the kernels alone need less than the image", image.name);
        let comparison = &image.comparison;
        let found: Vec<&str> = comparison.found.iter().map(|aspect| aspect.name()).collect();
        agree += usize::from(comparison.stored == found);
        for (difference, confirmed) in comparison.differences.iter().zip(&image.confirmed) {
            *counts.entry(format!("{} {:?}", difference.aspect, difference.reason)).or_default() += 1;
            if !confirmed {
                unexplained.push(format!(
                    "{}: {:?} is not so: stored {:?}, found {found:?}",
                    image.name, difference, comparison.stored
                ));
            }
        }
    }
    println!("{} images, {with_kernels} with kernels, {agree} agree; reasons {counts:#?}", judged.len());
    assert!(unexplained.is_empty(), "{} unexplained:\n{}", unexplained.len(), unexplained.join("\n"));
    assert!(with_kernels >= 23_300, "dpnp, dpctl and oneMKL have at least 23,300 images with kernels: {with_kernels}");
}

fn judge(library: &std::path::Path) -> Vec<Judgement> {
    let bytes = std::fs::read(library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let spirv = |contents: &[u8]| contents.starts_with(&0x0723_0203u32.to_le_bytes());
    let images: Vec<_> = bundle
        .images
        .par_iter()
        .filter_map(|image| Some((image, image.contents().ok().filter(|contents| spirv(contents))?)))
        .collect();
    let codes: Vec<Code> = images.par_iter().map(|(_, module)| Code::read(&Index::read(module).unwrap())).collect();
    // The compiler records of each image what the image itself holds.
    images
        .iter()
        .zip(&codes)
        .map(|((image, module), code)| {
            let graph = Graph::link(std::slice::from_ref(code));
            let found = graph.used_by_module(0);
            // Instructions that the facts leave out are not looked for in the code.
            let facts = Module::parse(module).unwrap();
            let shown = |one: &Aspect| facts.may_use_others || facts.used_aspects.contains(one.name());
            assert!(code.used().iter().all(shown), "image {}: {:?}", image.index, code.used());
            let mut of_kernels: Vec<Aspect> =
                graph.kernels().flat_map(|(module, kernel)| graph.used(module, kernel.node.unwrap())).collect();
            of_kernels.sort();
            of_kernels.dedup();
            let stored = Requirements::read(image, bundle.epoch).aspects;
            let comparison = aspects::compare(&stored, code, &found);
            let confirmed =
                comparison.differences.iter().map(|found| holds(&found.aspect, found.reason, module)).collect();
            Judgement {
                name: format!("{} image {}", library.file_name().unwrap().display(), image.index),
                kernels: code.kernels.len(),
                kernels_need_less: !code.kernels.is_empty() && image.exports().is_empty() && of_kernels != found,
                comparison,
                confirmed,
                unknown: code.unknown,
            }
        })
        .collect()
}
