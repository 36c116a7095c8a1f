//! What do the functions of one module use and call?
//!
//! One pass over the bodies. What is kept owns its text, so that the module itself need not stay in memory.

use super::graph::Sets;
use super::rules::{Aspect, Rules, aspects};
use crate::bundle::image::Image;
use crate::source::{Inlined, SourceLocation};
use crate::spirv::calls::{EdgeKind, FunctionPointers};
use crate::spirv::index::{EntryPoint, Function, Index, LinkageKind};
use crate::spirv::kernel::{AttributeReader, Attributes};
use crate::spirv::lines::LineTracker;
use crate::spirv::{Instruction, grammar, op, types};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

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
    /// Instructions that no grammar knows, or that are not where they may be: what they need is not known either.
    pub unknown: usize,
    /// The first call through a pointer of each function that makes one.
    pub indirect: Vec<Indirect>,
    /// The places in [`Code::nodes`] of functions that call through a pointer where no function of the module is known to be called.
    pub lost: Vec<usize>,
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
    pub(crate) origin: Origin,
}

/// Place in the source of an instruction, and the functions that it was inlined from. Most modules have no debug information,
/// and most instructions of others are inlined from nowhere: it takes no more than a pointer then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin(Option<Box<(Option<SourceLocation>, Vec<Inlined>)>>);

impl Origin {
    pub(crate) fn new(place: Option<SourceLocation>, inlined: Vec<Inlined>) -> Origin {
        Origin((place.is_some() || !inlined.is_empty()).then(|| Box::new((place, inlined))))
    }

    /// Place in the source.
    pub(crate) fn place(&self) -> Option<&SourceLocation> {
        self.0.as_ref()?.0.as_ref()
    }

    /// Functions that the instruction was inlined from, outermost first.
    pub(crate) fn inlined(&self) -> &[Inlined] {
        self.0.as_ref().map(|told| told.1.as_slice()).unwrap_or_default()
    }
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Mangled name.
    pub name: Arc<str>,
    /// Place of its function in [`Code::nodes`]; none where the module lacks that function.
    pub node: Option<usize>,
    /// The sizes that its source requires, and other attributes. Those of most kernels are those of the one before, and shared.
    pub attributes: Arc<Attributes>,
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
    /// The mangled name of the entry point, of the linkage or of `OpName`.
    pub(crate) named: Option<Arc<str>>,
    /// The id, for what has no name.
    pub(crate) id: u32,
    /// The symbol by which it is imported (where it is declared) or exported (where it is defined).
    pub(crate) symbol: Option<Arc<str>>,
    /// The first use of each aspect in the function itself, in the order of aspects.
    pub(crate) uses: Box<[Use]>,
    /// Calls and references from the node.
    pub(crate) calls: Box<[Call]>,
}

impl Node {
    /// The mangled name, or else the id.
    pub fn name(&self) -> Cow<'_, str> {
        self.named.as_deref().map_or_else(|| Cow::Owned(format!("%{}", self.id)), Cow::Borrowed)
    }
}

/// A use of an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// The aspect.
    pub(crate) aspect: Aspect,
    /// The instruction and the type that shows the use: `OpFMul %double`. Uses of one kind share it.
    pub(crate) instruction: Arc<str>,
    /// The byte offset of the instruction in the module.
    pub(crate) offset: u64,
    /// Place in the source.
    pub(crate) origin: Origin,
}

/// A call or reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The place in [`Code::nodes`] of what is called.
    pub(crate) to: u32,
    /// Kind of the call.
    pub(crate) via: EdgeKind,
    /// The byte offset of the instruction in the module.
    pub(crate) offset: u64,
    /// Place in the source.
    pub(crate) origin: Origin,
}

impl Call {
    /// The place in [`Code::nodes`] of what is called.
    pub(crate) fn to(&self) -> usize {
        self.to as usize
    }
}

impl Code {
    /// Looks at every function of a module.
    pub fn read(index: &Index<'_>) -> Code {
        let pointers = FunctionPointers::find(index);
        let mut code = Code {
            nodes: Vec::with_capacity(index.functions.len()),
            declared: declared(index),
            unknown: index.unknown.values().sum::<usize>().saturating_add(index.misplaced),
            ..Code::default()
        };
        // By function; of several entry points of one the last names it.
        let mut entries: Vec<&EntryPoint<'_>> = index.entry_points.iter().collect();
        entries.sort_by_key(|entry| entry.function);
        code.nodes.extend(index.functions.iter().map(|function| node_of(index, function, &entries)));
        drop(entries);
        // Functions have their places; holders and signatures get theirs as they are met.
        let mut others: HashMap<u32, usize> = HashMap::new();
        let place_of = |code: &mut Code, others: &mut HashMap<u32, usize>, id: u32| {
            index.function_place(id).unwrap_or_else(|| {
                *others.entry(id).or_insert_with(|| {
                    code.nodes.push(data(index, id));
                    code.nodes.len().saturating_sub(1)
                })
            })
        };
        let mut held: BTreeMap<usize, Vec<Call>> = BTreeMap::new();
        for edge in &pointers.edges {
            let [from, to] = [edge.from, edge.to].map(|id| place_of(&mut code, &mut others, id));
            let offset = index.instruction(edge.at).map_or(0, |instruction| instruction.offset);
            let call = Call { to: to as u32, via: edge.kind, offset, origin: Origin::default() };
            held.entry(from).or_default().push(call);
        }
        for (place, calls) in held {
            if let Some(node) = code.nodes.get_mut(place) {
                node.calls = calls.into();
            }
        }
        let mut texts: HashMap<(u16, Option<u32>), Arc<str>> = HashMap::new();
        let rules = Rules::new(index);
        let mut edges = Vec::new();
        let mut lines = LineTracker::new(index);
        for (place, function) in index.functions.iter().enumerate() {
            let (mut seen, mut placed) = (0u32, 0u32);
            let mut uses = Vec::new();
            let mut calls: Vec<Call> = Vec::new();
            let mut called = HashSet::new();
            if let Some(at) = vector_compute(index, function.id) {
                uses.push(Use {
                    aspect: Aspect::Esimd,
                    instruction: "OpDecorate VectorComputeFunctionINTEL".into(),
                    offset: index.instruction(at).map_or(0, |instruction| instruction.offset),
                    origin: Origin::default(),
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
                    let shown = texts.entry((instruction.opcode, kind));
                    let shown = shown.or_insert_with(|| text(index, &instruction, kind).into());
                    uses.retain(|found: &Use| fresh & found.aspect.bit() == 0);
                    uses.extend(aspects(fresh).map(|aspect| Use {
                        aspect,
                        instruction: Arc::clone(shown),
                        offset: instruction.offset,
                        origin: Origin::new(at.clone(), lines.inlined()),
                    }));
                    seen |= fresh;
                    placed |= if at.is_some() { fresh } else { 0 };
                }
                if instruction.opcode == op::FUNCTION_POINTER_CALL
                    && code.indirect.last().is_none_or(|last| last.from != place)
                {
                    let origin = Origin::new(lines.location(), lines.inlined());
                    code.indirect.push(Indirect { from: place, origin });
                }
                pointers.edges_of(index, function.id, number, &instruction, &mut edges);
                let is_lost = || edges.iter().all(|edge| edge.kind != EdgeKind::Indirect);
                if instruction.opcode == op::FUNCTION_POINTER_CALL && code.lost.last() != Some(&place) && is_lost() {
                    code.lost.push(place);
                }
                for edge in edges.drain(..) {
                    // The first call tells the way; a module that calls one function a million times has one edge.
                    if called.insert(edge.to) {
                        let to = place_of(&mut code, &mut others, edge.to) as u32;
                        let origin = Origin::new(lines.location(), lines.inlined());
                        calls.push(Call { to, via: edge.kind, offset: instruction.offset, origin });
                    }
                }
            }
            uses.sort_by_key(|found| found.aspect);
            if let Some(node) = code.nodes.get_mut(place) {
                (node.uses, node.calls) = (uses.into(), calls.into());
            }
        }
        const KERNEL: u32 = 6;
        let kernels = index.entry_points.iter().filter(|entry| entry.model == KERNEL);
        let mut attributes = AttributeReader::new(index);
        let kernels = kernels.map(|entry| {
            let node = index.function_place(entry.function);
            let named = node.and_then(|node| code.nodes.get(node)?.named.clone());
            let name = named.filter(|name| **name == *entry.name).unwrap_or_else(|| (&*entry.name).into());
            Kernel { name, node, attributes: attributes.read(entry.function) }
        });
        // Growing would take the place of what is there twice.
        code.kernels.reserve_exact(index.entry_points.len());
        code.kernels.extend(kernels);
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

fn node_of(index: &Index<'_>, function: &Function, entries: &[&EntryPoint<'_>]) -> Node {
    let linkage = index.linkage(function.id);
    let imported = linkage.as_ref().is_some_and(|linkage| linkage.kind == LinkageKind::Import);
    let symbol = linkage.filter(|_| imported != function.defined).map(|linkage| Arc::from(linkage.name));
    let after = entries.partition_point(|entry| entry.function <= function.id);
    let entry = after.checked_sub(1).and_then(|last| entries.get(last)).filter(|entry| entry.function == function.id);
    let entry = entry.map(|entry| Arc::from(&*entry.name));
    Node {
        kind: if function.defined { Kind::Defined } else { Kind::Declared },
        named: entry.or_else(|| symbol.clone()).or_else(|| index.name(function.id).map(Arc::from)),
        id: function.id,
        symbol,
        uses: Box::default(),
        calls: Box::default(),
    }
}

/// A node that is no function; an id that is not defined at all counts as a function of elsewhere.
fn data(index: &Index<'_>, id: u32) -> Node {
    let kind = match index.defining(id).map(|instruction| instruction.opcode) {
        Some(op::TYPE_FUNCTION) => Kind::Signature,
        Some(_) => Kind::Data,
        None => Kind::Declared,
    };
    let named = index.name(id).map(Arc::from);
    Node { kind, named, id, symbol: None, uses: Box::default(), calls: Box::default() }
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
