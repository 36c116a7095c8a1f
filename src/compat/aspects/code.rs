//! What do the functions of one module use and call?
//!
//! One pass over the bodies. What is kept owns its text, so that the module itself need not stay in memory.

use super::graph::Sets;
use super::rules::{Aspect, Rules, aspects};
use crate::bundle::image::Image;
use crate::source::{Inlined, SourceLocation};
use crate::spirv::calls::{EdgeKind, FunctionPointers};
use crate::spirv::index::{Function, Index, LinkageKind};
use crate::spirv::kernel::Attributes;
use crate::spirv::lines::LineTracker;
use crate::spirv::{Instruction, grammar, op, types};
use std::collections::HashMap;

/// The code of one module.
#[derive(Debug, Clone, Default)]
pub struct Code {
    /// The functions in module order, then the constants and variables that hold functions and the signatures that
    /// indirect calls go by.
    pub nodes: Vec<Node>,
    /// The kernels in module order.
    pub kernels: Vec<Kernel>,
    /// Aspects that a capability or a type of the module declares, whether or not any code uses them.
    pub declared: Vec<Aspect>,
    /// Instructions that no grammar knows: what they need is not known either.
    pub unknown: usize,
    /// The first call through a pointer of each function that makes one.
    pub indirect: Vec<Indirect>,
    /// The sets of virtual functions that the module's image takes part in; a module itself does not say.
    pub sets: Sets,
    /// The number of the module's image, where it is of one.
    pub image: Option<usize>,
}

/// A call through a pointer, which may be of a virtual function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indirect {
    /// The place in [`Code::nodes`] of the function that calls.
    pub(crate) from: usize,
    /// Place in the source.
    pub(crate) place: Option<SourceLocation>,
    /// Functions that the call was inlined from, outermost first.
    pub(crate) inlined: Vec<Inlined>,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    /// Place of its function in [`Code::nodes`]; none where the module lacks that function.
    pub node: Option<usize>,
    /// The sizes that its source requires, and other attributes.
    pub attributes: Attributes,
}

/// Kind of a node of the call graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function with a body.
    Defined,
    /// A function that another module or the device defines.
    Declared,
    /// A constant or variable that holds functions.
    Data,
    /// All functions of one signature whose address is taken.
    Signature,
}

/// A node of the call graph.
#[derive(Debug, Clone)]
pub struct Node {
    /// Kind of the node.
    pub(crate) kind: Kind,
    /// The mangled name: of the entry point, of the linkage, of `OpName`, or else the id.
    pub name: String,
    /// The symbol by which it is imported (where it is declared) or exported (where it is defined).
    pub(crate) symbol: Option<String>,
    /// The first use of each aspect in the function itself, in the order of aspects.
    pub(crate) uses: Vec<Use>,
    /// Calls and references from the node.
    pub(crate) calls: Vec<Call>,
}

/// A use of an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// The aspect.
    pub(crate) aspect: Aspect,
    /// The instruction and the type that shows the use: `OpFMul %double`.
    pub(crate) instruction: String,
    /// The byte offset of the instruction in the module.
    pub(crate) offset: u64,
    /// Place in the source.
    pub(crate) place: Option<SourceLocation>,
    /// Functions that the instruction was inlined from, outermost first.
    pub(crate) inlined: Vec<Inlined>,
}

/// A call or reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The place in [`Code::nodes`] of what is called.
    pub(crate) to: usize,
    /// Kind of the call.
    pub(crate) via: EdgeKind,
    /// The byte offset of the instruction in the module.
    pub(crate) offset: u64,
    /// Place in the source.
    pub(crate) place: Option<SourceLocation>,
    /// Functions that the call was inlined from, outermost first.
    pub(crate) inlined: Vec<Inlined>,
}

impl Code {
    /// Looks at every function of a module.
    pub fn read(index: &Index<'_>) -> Code {
        let pointers = FunctionPointers::find(index);
        let mut code = Code {
            nodes: Vec::with_capacity(index.functions.len()),
            declared: declared(index),
            unknown: index.unknown.values().sum(),
            ..Code::default()
        };
        let entries: HashMap<u32, &str> =
            index.entry_points.iter().map(|entry| (entry.function, &*entry.name)).collect();
        code.nodes.extend(index.functions.iter().map(|function| node_of(index, function, &entries)));
        // Every function, by its place; holders and signatures get theirs as they are met.
        let mut places: HashMap<u32, usize> =
            index.functions.iter().enumerate().rev().map(|(place, function)| (function.id, place)).collect();
        let place_of = |code: &mut Code, places: &mut HashMap<u32, usize>, id: u32| {
            *places.entry(id).or_insert_with(|| {
                code.nodes.push(data(index, id));
                code.nodes.len().saturating_sub(1)
            })
        };
        for edge in &pointers.edges {
            let [from, to] = [edge.from, edge.to].map(|id| place_of(&mut code, &mut places, id));
            let offset = index.instruction(edge.at).map_or(0, |instruction| instruction.offset);
            if let Some(node) = code.nodes.get_mut(from) {
                node.calls.push(Call { to, via: edge.kind, offset, place: None, inlined: Vec::new() });
            }
        }
        let rules = Rules::new(index);
        let mut edges = Vec::new();
        for (place, function) in index.functions.iter().enumerate() {
            let mut lines = LineTracker::new(index);
            let (mut seen, mut placed) = (0u32, 0u32);
            let mut uses = Vec::new();
            let mut calls: Vec<Call> = Vec::new();
            let mut called = std::collections::HashSet::new();
            if let Some(at) = vector_compute(index, function.id) {
                uses.push(Use {
                    aspect: Aspect::Esimd,
                    instruction: "OpDecorate VectorComputeFunctionINTEL".to_owned(),
                    offset: index.instruction(at).map_or(0, |instruction| instruction.offset),
                    place: None,
                    inlined: Vec::new(),
                });
                seen |= Aspect::Esimd.bit();
            }
            for (number, instruction) in index.instructions(function.instructions.clone()) {
                lines.advance(&instruction);
                let (needs, kind) = rules.needs(&instruction);
                // A parameter shows the use first and has no place in the source; what is done with it has.
                let at = if needs & !placed == 0 { None } else { lines.location() };
                let fresh = needs & !(if at.is_some() { placed } else { seen | placed });
                if fresh != 0 {
                    let text = text(index, &instruction, kind);
                    uses.retain(|found: &Use| fresh & found.aspect.bit() == 0);
                    uses.extend(aspects(fresh).map(|aspect| Use {
                        aspect,
                        instruction: text.clone(),
                        offset: instruction.offset,
                        place: at.clone(),
                        inlined: lines.inlined(),
                    }));
                    seen |= fresh;
                    placed |= if at.is_some() { fresh } else { 0 };
                }
                if instruction.opcode == op::FUNCTION_POINTER_CALL
                    && code.indirect.last().is_none_or(|last| last.from != place)
                {
                    let (at, inlined) = (lines.location(), lines.inlined());
                    code.indirect.push(Indirect { from: place, place: at, inlined });
                }
                pointers.edges_of(index, function.id, number, &instruction, &mut edges);
                for edge in edges.drain(..) {
                    // The first call tells the way; a module that calls one function a million times has one edge.
                    if called.insert(edge.to) {
                        let to = place_of(&mut code, &mut places, edge.to);
                        let (place, inlined) = (lines.location(), lines.inlined());
                        calls.push(Call { to, via: edge.kind, offset: instruction.offset, place, inlined });
                    }
                }
            }
            uses.sort_by_key(|found| found.aspect);
            if let Some(node) = code.nodes.get_mut(place) {
                (node.uses, node.calls) = (uses, calls);
            }
        }
        const KERNEL: u32 = 6;
        let kernels = index.entry_points.iter().filter(|entry| entry.model == KERNEL);
        code.kernels = kernels
            .map(|entry| Kernel {
                name: entry.name.clone().into_owned(),
                node: places.get(&entry.function).copied().filter(|place| *place < index.functions.len()),
                attributes: Attributes::read(index, entry.function),
            })
            .collect();
        code
    }

    /// The code with what its image tells of it.
    #[must_use]
    pub(crate) fn of_image(self, image: &Image<'_>) -> Code {
        Code { sets: Sets::read(image), image: Some(image.index), ..self }
    }

    /// The aspects that any function of the module uses itself.
    pub fn used(&self) -> Vec<Aspect> {
        let mask = self.nodes.iter().flat_map(|node| &node.uses).fold(0, |mask, found| mask | found.aspect.bit());
        aspects(mask).collect()
    }
}

fn node_of(index: &Index<'_>, function: &Function, entries: &HashMap<u32, &str>) -> Node {
    let linkage = index.linkage(function.id);
    let imported = linkage.as_ref().is_some_and(|linkage| linkage.kind == LinkageKind::Import);
    let symbol = linkage.filter(|_| imported != function.defined).map(|linkage| linkage.name);
    let entry = entries.get(&function.id).map(|name| (*name).to_owned());
    let name = entry.or_else(|| symbol.clone()).or_else(|| index.name(function.id));
    Node {
        kind: if function.defined { Kind::Defined } else { Kind::Declared },
        name: name.unwrap_or_else(|| format!("%{}", function.id)),
        symbol,
        uses: Vec::new(),
        calls: Vec::new(),
    }
}

/// A node that is no function; an id that is not defined at all counts as a function of elsewhere.
fn data(index: &Index<'_>, id: u32) -> Node {
    let kind = match index.defining(id).map(|instruction| instruction.opcode) {
        Some(op::TYPE_FUNCTION) => Kind::Signature,
        Some(_) => Kind::Data,
        None => Kind::Declared,
    };
    let name = index.name(id).unwrap_or_else(|| format!("%{id}"));
    Node { kind, name, symbol: None, uses: Vec::new(), calls: Vec::new() }
}

/// The decoration that marks explicit-SIMD functions, and its instruction.
fn vector_compute(index: &Index<'_>, function: u32) -> Option<usize> {
    const VECTOR_COMPUTE_FUNCTION: u32 = 5626;
    index.decorations(function).find(|found| found.decoration == VECTOR_COMPUTE_FUNCTION).map(|found| found.at)
}

fn text(index: &Index<'_>, instruction: &Instruction<'_>, kind: Option<u32>) -> String {
    let mut text = grammar::name(instruction.opcode);
    if let Some(kind) = kind {
        text.push_str(" %");
        text.push_str(&types::brief(index, kind));
    }
    text
}

/// Lists the aspects that capabilities declare. A type without its capability is not valid, so types add nothing.
fn declared(index: &Index<'_>) -> Vec<Aspect> {
    let mask = index.capabilities.iter().fold(0, |mask, capability| {
        mask | match capability {
            8 | 9 => Aspect::Fp16.bit(),
            10 => Aspect::Fp64.bit(),
            12 => Aspect::Atomic64.bit(),
            5616 | 6095 => Aspect::Atomic16.bit(),
            5613 | 6034 => Aspect::Atomic64.bit(),
            13..=15 | 20 | 34..=37 | 43 | 44 => Aspect::LegacyImage.bit(),
            5617 => Aspect::Esimd.bit(),
            6022 | 6236 => Aspect::Matrix.bit(),
            6528 => Aspect::BindlessImages.bit(),
            5817 => Aspect::PrivateAlloca.bit(),
            5603 | 5604 => Aspect::VirtualFunctions.bit(),
            _ => 0,
        }
    });
    aspects(mask).collect()
}
