//! Which aspects may each kernel and function need, and along which calls?
//!
//! The call graphs of modules, linked by symbol: a function that one module declares leads to the one that another
//! defines. For each aspect one walk backwards from its uses tells which nodes reach it, and gives each the next step
//! towards the nearest; a second walk (`origin`) gives the steps that a compiler's warning tells. Recursion ends by
//! itself, and the whole is linear in the size of the graph.
//!
//! DPC++ puts the definitions of virtual functions into images of their own, and links them at run time to those that
//! call them: property set `SYCL/virtual functions`, where `virtual-functions-set` names the set that an image defines and
//! `uses-virtual-functions-set` those that its kernels call, parted by commas. Which function of a set a call reaches is
//! known at run time only; so, as in the compiler's own propagation of aspects, each may be.

use super::code::{Call, Code, Kernel, Kind, Node, Use};

use super::rules::{Aspect, aspects};
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::compat::built_in::of_the_device;
use crate::limits;
use crate::source::{Inlined, SourceLocation};
use crate::spirv::calls::EdgeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// The linked call graph of modules.
#[derive(Debug)]
pub struct Graph<'m> {
    codes: &'m [Code],
    /// The number of the first node of each module.
    first: Vec<usize>,
    /// For each import, by its node, the node that provides it.
    provided: HashMap<usize, usize>,
    /// The sets of virtual functions; the numbers of their nodes follow those of all functions.
    sets: Linked,
    /// The number of the first set's node.
    functions: usize,
    /// For each aspect that occurs, every node's next step towards a use.
    ways: BTreeMap<Aspect, Ways>,
    /// For each node, whether it leads to an import that no module provides.
    open: Vec<bool>,
    /// Bytes of a kernel's chain of calls, by [`STEP`] and the names of its functions.
    chain_text: usize,
}

/// Bytes that a step of a chain counts for beside its name; a function of a module for a quarter of it.
const STEP: usize = 256;

/// A function that other modules may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exported<'m> {
    /// The module's position.
    pub(crate) module: usize,
    /// Place in the module's nodes.
    pub(crate) node: usize,
    /// Mangled name.
    pub(crate) name: &'m str,
}

/// Every node's next step towards a use of one aspect.
#[derive(Debug)]
struct Ways {
    /// Towards the nearest.
    near: Vec<Way>,
    /// The last node of that way before the use; the node itself where it has the use.
    last: Vec<u32>,
    /// Down the calls; none where those lead in a circle.
    down: Vec<Way>,
}

/// Steps between nodes, by the node that they lead to.
#[derive(Debug)]
struct Callers {
    /// For each node, where its steps begin; then their number.
    begin: Vec<u32>,
    /// Node that each step is from, and the step.
    steps: Vec<(u32, Way)>,
}

impl Callers {
    fn range(&self, number: usize) -> std::ops::Range<usize> {
        let at = |number: usize| self.begin.get(number).map_or(0, |begin| *begin as usize);
        at(number)..at(number.saturating_add(1))
    }

    /// Steps that lead to a node.
    fn steps_to(&self, number: usize) -> &[(u32, Way)] {
        self.steps.get(self.range(number)).unwrap_or_default()
    }
}

/// The next step towards a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// No use can be reached.
    None,
    /// The node itself.
    Here,
    /// The call of this number.
    Call(u32),
    /// Through the import, to what provides it.
    Link,
    /// Through a pointer, to a set of virtual functions.
    Virtual(u32),
    /// To the function of this place in the set.
    Member(u32),
}

/// A function on the way to a use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The module's position among those that were linked.
    pub module: usize,
    /// The function's mangled name.
    pub function: String,
    /// Place of the call; none for the first, and without debug information.
    pub call: Option<SourceLocation>,
}

/// A reason why a kernel or function needs an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The aspect.
    pub(crate) aspect: Aspect,
    /// The functions from the one asked about to the one that uses the aspect, with functions that were inlined, where
    /// debug information tells.
    pub chain: Vec<Step>,
    /// The instruction and the type that shows the use: `OpFMul %double`.
    pub instruction: String,
    /// The instruction's byte offset in its module, which is that of the last step.
    pub(crate) offset: u64,
    /// Place of the use in the source.
    pub place: Option<SourceLocation>,
    /// The number of the image that the instruction is in, where it is not that of the chain's first function.
    pub(crate) elsewhere: Option<usize>,
}

impl<'m> Graph<'m> {
    /// Links modules: those of the images of a file, or of several.
    pub fn link(codes: &'m [Code]) -> Graph<'m> {
        let mut first = Vec::with_capacity(codes.len());
        let mut nodes = 0usize;
        for code in codes {
            first.push(nodes);
            nodes = nodes.saturating_add(code.nodes.len());
        }
        let sets = Linked::resolve(codes, &first);
        let functions = nodes;
        nodes = nodes.saturating_add(sets.members.len());
        let (provided, ways) = (HashMap::new(), BTreeMap::new());
        let chain_text = chain_text(codes);
        let mut graph = Graph { codes, first, provided, sets, functions, ways, open: Vec::new(), chain_text };
        graph.connect();
        let into = graph.callers(nodes);
        let mask = graph.all().flat_map(|(_, node)| &node.uses).fold(0, |mask, found| mask | found.aspect.bit());
        for aspect in aspects(mask) {
            let (near, last) =
                graph.ways_to(nodes, &into, |_, node| node.uses.iter().any(|found| found.aspect == aspect));
            let down = graph.down(aspect, &near);
            graph.ways.insert(aspect, Ways { near, last, down });
        }
        // Calls into a set are looked for among its functions.
        let lost = codes.iter().zip(&graph.first).filter(|(code, _)| code.sets.used.is_empty());
        let lost: HashSet<usize> =
            lost.flat_map(|(code, first)| code.lost.iter().map(|place| first.saturating_add(*place))).collect();
        let unresolved = |number, node: &Node| {
            let own = node.symbol.as_deref().unwrap_or_default();
            let import = node.kind == Kind::Declared && !graph.provided.contains_key(&number);
            import && !of_the_device(own) || graph.sets.open.contains(&number) || lost.contains(&number)
        };
        let (open, _) = graph.ways_to(nodes, &into, unresolved);
        graph.open = open.into_iter().map(|way| way != Way::None).collect();
        graph
    }

    fn all(&self) -> impl Iterator<Item = (usize, &'m Node)> + use<'m> {
        self.codes.iter().flat_map(|code| &code.nodes).enumerate()
    }

    /// Gives each import its provider. Where several modules define a symbol (a native and a fallback one), the one that
    /// needs least counts: a device that lacks the aspects of the others can do with it.
    fn connect(&mut self) {
        let mut exports: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut number = 0usize;
        for code in self.codes {
            let needs = code.used().len();
            for node in &code.nodes {
                if let (Kind::Defined, Some(symbol)) = (node.kind, &node.symbol) {
                    let best = exports.entry(symbol).or_insert((needs, number));
                    if needs < best.0 {
                        *best = (needs, number);
                    }
                }
                number = number.saturating_add(1);
            }
        }
        let imports = self.all().filter(|(_, node)| node.kind == Kind::Declared);
        let provided = imports.filter_map(|(number, node)| {
            let (_, provider) = exports.get(node.symbol.as_deref()?)?;
            Some((number, *provider))
        });
        self.provided = provided.collect();
    }

    /// For each node, who leads to it and by which step.
    fn callers(&self, nodes: usize) -> Callers {
        let mut begin = vec![0u32; nodes.saturating_add(1)];
        self.leads(|to, _, _| {
            if let Some(count) = begin.get_mut(to) {
                *count = count.saturating_add(1);
            }
        });
        // From the end of each node's callers down to their begin, as these are filled in from behind.
        let mut sum = 0u32;
        for count in &mut begin {
            sum = sum.saturating_add(*count);
            *count = sum;
        }
        let mut steps = vec![(0, Way::None); sum as usize];
        self.leads(|to, from, way| {
            let place = begin.get_mut(to).map(|begin| {
                *begin = begin.saturating_sub(1);
                *begin as usize
            });
            if let Some(step) = place.and_then(|place| steps.get_mut(place)) {
                *step = (from as u32, way);
            }
        });
        let mut callers = Callers { begin, steps };
        for number in 0..nodes {
            let range = callers.range(number);
            callers.steps.get_mut(range).unwrap_or_default().reverse();
        }
        callers
    }

    /// Tells every step from one node to another, as `lead(to, from, way)`.
    fn leads(&self, mut lead: impl FnMut(usize, usize, Way)) {
        let mut number = 0usize;
        for (code, first) in self.codes.iter().zip(&self.first) {
            for node in &code.nodes {
                for (nth, call) in (0..).zip(&node.calls) {
                    lead(first.saturating_add(call.to()), number, Way::Call(nth));
                }
                if let Some(provider) = self.provided.get(&number) {
                    lead(*provider, number, Way::Link);
                }
                number = number.saturating_add(1);
            }
        }
        for (caller, set) in &self.sets.callers {
            lead(self.functions.saturating_add(*set), *caller, Way::Virtual(*set as u32));
        }
        for (set, members) in self.sets.members.iter().enumerate() {
            for (nth, member) in (0..).zip(members) {
                lead(*member, self.functions.saturating_add(set), Way::Member(nth));
            }
        }
    }

    /// Every node's next step towards the nearest of those that are `wanted`, by number and node, and its last node on the
    /// way there.
    fn ways_to(&self, nodes: usize, into: &Callers, wanted: impl Fn(usize, &Node) -> bool) -> (Vec<Way>, Vec<u32>) {
        let mut ways = vec![Way::None; nodes];
        let mut last: Vec<u32> = (0..nodes).map(|number| number as u32).collect();
        let mut next = VecDeque::new();
        for (number, node) in self.all() {
            if wanted(number, node)
                && let Some(way) = ways.get_mut(number)
            {
                *way = Way::Here;
                next.push_back(number);
            }
        }
        while let Some(number) = next.pop_front() {
            let before = last.get(number).copied().filter(|_| ways.get(number) != Some(&Way::Here));
            for (caller, step) in into.steps_to(number) {
                let place = *caller as usize;
                let way = ways.get_mut(place).filter(|way| **way == Way::None);
                if let (Some(way), Some(last)) = (way, last.get_mut(place)) {
                    (*way, *last) = (*step, before.unwrap_or(*caller));
                    next.push_back(place);
                }
            }
        }
        (ways, last)
    }

    /// The steps of [`super::steps`]. A function whose address is taken need not be called: it is no step of these.
    fn down(&self, aspect: Aspect, near: &[Way]) -> Vec<Way> {
        let calls = |(place, first, node): (usize, usize, &Node)| -> Vec<(Way, usize)> {
            if let Some(provider) = self.provided.get(&place) {
                return vec![(Way::Link, *provider)];
            }
            let calls = (0..).zip(&node.calls).filter(|(_, call)| call.via == EdgeKind::Call);
            calls.map(|(nth, call)| (Way::Call(nth), first.saturating_add(call.to()))).collect()
        };
        let of = |number: usize| {
            let module = self.first.partition_point(|first| *first <= number).checked_sub(1)?;
            let first = *self.first.get(module)?;
            Some((number, first, self.codes.get(module)?.nodes.get(number.checked_sub(first)?)?))
        };
        let uses = |number| of(number).is_some_and(|(_, _, node)| node.uses.iter().any(|found| found.aspect == aspect));
        super::steps(near, |number| of(number).map(calls).unwrap_or_default(), uses)
    }

    /// The modules, as they were given.
    pub fn codes(&self) -> &'m [Code] {
        self.codes
    }

    /// All kernels, each with its module's position.
    pub fn kernels(&self) -> impl Iterator<Item = (usize, &'m Kernel)> + use<'m> {
        self.codes.iter().enumerate().flat_map(|(module, code)| code.kernels.iter().map(move |kernel| (module, kernel)))
    }

    fn number(&self, module: usize, node: usize) -> Option<usize> {
        self.codes.get(module)?.nodes.get(node)?;
        self.first.get(module)?.checked_add(node)
    }

    /// The module of a node, by its number, and the node's place there.
    fn owner(&self, number: usize) -> Option<(usize, usize)> {
        let module = self.first.partition_point(|first| *first <= number).checked_sub(1)?;
        Some((module, number.checked_sub(*self.first.get(module)?)?))
    }

    /// The aspects that a node of a module may need: its own and those of all it may call, in order.
    pub fn used(&self, module: usize, node: usize) -> Vec<Aspect> {
        let Some(number) = self.number(module, node) else { return Vec::new() };
        let reached = self.ways.iter().filter(|(_, ways)| ways.near.get(number).is_some_and(|way| *way != Way::None));
        reached.map(|(aspect, _)| *aspect).collect()
    }

    /// Whether a node may call a function that no module defines, so that what it needs is not wholly known.
    pub(crate) fn is_open(&self, module: usize, node: usize) -> bool {
        self.number(module, node).and_then(|number| self.open.get(number).copied()).unwrap_or(true)
    }

    /// The functions with a body that some nodes may call, and these nodes themselves; each by module and place.
    pub(crate) fn reached(&self, from: impl Iterator<Item = (usize, usize)>) -> BTreeSet<(usize, usize)> {
        let mut next: Vec<(usize, usize)> = from.collect();
        let mut met: HashSet<(usize, usize)> = next.iter().copied().collect();
        let mut functions = BTreeSet::new();
        while let Some((module, place)) = next.pop() {
            let Some(node) = self.codes.get(module).and_then(|code| code.nodes.get(place)) else { continue };
            if node.kind == Kind::Defined {
                functions.insert((module, place));
            }
            let number = self.number(module, place);
            let provider = number.and_then(|number| self.owner(*self.provided.get(&number)?));
            // The calls are in the order of callers.
            let first = self.sets.callers.partition_point(|(caller, _)| Some(*caller) < number);
            let sets = self.sets.callers.iter().skip(first).take_while(|(caller, _)| Some(*caller) == number);
            let members = sets.filter_map(|(_, set)| self.sets.members.get(*set)).flatten();
            let members = members.filter_map(|member| self.owner(*member));
            let calls = node.calls.iter().map(|call| (module, call.to()));
            next.extend(calls.chain(provider).chain(members).filter(|reached| met.insert(*reached)));
        }
        functions
    }

    /// The functions that modules export, kernels aside, in order.
    pub(crate) fn exported(&self) -> impl Iterator<Item = Exported<'m>> + use<'m> {
        self.codes.iter().enumerate().flat_map(|(module, code)| {
            let kernels: HashSet<usize> = code.kernels.iter().filter_map(|kernel| kernel.node).collect();
            let defined = code.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Defined);
            let others = defined.filter(move |(place, _)| !kernels.contains(place));
            others.filter_map(move |(node, found)| {
                let name = found.named.as_deref().filter(|_| found.symbol.is_some())?;
                Some(Exported { module, node, name })
            })
        })
    }

    /// The aspects that the functions of a module may need, kernels or not: what DPC++ records of an image, with those
    /// of the modules that it imports from.
    pub fn used_by_module(&self, module: usize) -> Vec<Aspect> {
        let count = self.codes.get(module).map_or(0, |code| code.nodes.len());
        let numbers = self.number(module, 0).map_or(0..0, |first| first..first.saturating_add(count));
        let reached = |ways: &[Way]| ways.get(numbers.clone()).unwrap_or_default().iter().any(|way| *way != Way::None);
        self.ways.iter().filter(|(_, ways)| reached(&ways.near)).map(|(aspect, _)| *aspect).collect()
    }

    /// Finds why a node of a module needs an aspect, by the chain of calls that DPC++ tells: into the first called
    /// function that needs it, down to one that uses it and calls no other that does. None where it does not need it.
    pub fn evidence(&self, module: usize, node: usize, aspect: Aspect) -> Option<Evidence> {
        let ways = self.ways.get(&aspect)?;
        let mut at = (module, node);
        let mut chain: Vec<Step> = Vec::new();
        let mut call: Option<&Call> = None;
        // Where the virtual call is that the next function was reached by.
        let mut jump: Option<Option<SourceLocation>> = None;
        let mut circle = false;
        let mut walked = 0usize;
        loop {
            walked = walked.saturating_add(1);
            if walked == limits::MAX_CHAIN.saturating_mul(4) {
                // Each of many kernels would walk all of a long chain, of which the end alone is told.
                let from = self.number(at.0, at.1)?;
                let last = ways.near.get(from).is_some_and(|way| !matches!(way, Way::None | Way::Here));
                let last = ways.last.get(from).filter(|_| last).and_then(|last| self.owner(*last as usize));
                if let Some(last) = last.filter(|(module, node)| self.number(*module, *node).is_some()) {
                    (at, circle, call, jump) = (last, true, None, None);
                }
            }
            let (module, node) = at;
            let number = self.number(module, node)?;
            let found = self.codes.get(module)?.nodes.get(node)?;
            let way = match ways.down.get(number)? {
                Way::None => {
                    // From here on by the shortest way: the two together might go in a circle.
                    circle = true;
                    *ways.near.get(number)?
                }
                _ if circle => *ways.near.get(number)?,
                way => *way,
            };
            // Data and signatures are on the way, but nobody's code; an import is shown as what provides it.
            if matches!(found.kind, Kind::Defined | Kind::Declared) && way != Way::Link {
                // Of a chain that is long enough only the last function changes.
                if let Some(call) = call.filter(|_| chain.len() < limits::MAX_CHAIN.saturating_sub(1)) {
                    inlined(&mut chain, module, call.origin.inlined());
                }
                // The begin of a chain without end, and its last function, which the next one takes the place of.
                let text: usize = chain.iter().map(|step| step.function.len().saturating_add(STEP)).sum();
                if chain.len() >= limits::MAX_CHAIN || text > self.chain_text {
                    chain.truncate(limits::MAX_CHAIN.min(chain.len()).saturating_sub(1).max(1));
                }
                let place = call.map_or_else(|| jump.take().flatten(), |call| call.origin.place().cloned());
                chain.push(Step { module, function: found.name().into_owned(), call: place });
                call = None;
            }
            match way {
                Way::None => return None,
                Way::Here => {
                    let found: &Use = found.uses.iter().find(|found| found.aspect == aspect)?;
                    inlined(&mut chain, module, found.origin.inlined());
                    let other = chain.first().is_some_and(|first| first.module != module);
                    // Translators wrap a kernel's function in an entry point of the same name.
                    chain.dedup_by(|next, before| (next.module, &next.function) == (before.module, &before.function));
                    return Some(Evidence {
                        elsewhere: self.codes.get(module).and_then(|code| code.image).filter(|_| other),
                        aspect,
                        chain,
                        instruction: found.instruction.to_string(),
                        offset: found.offset,
                        place: found.origin.place().cloned(),
                    });
                }
                Way::Call(nth) => {
                    let next = found.calls.get(nth as usize)?;
                    // The reference to a table tells the way better than what stands in the table.
                    call = call.or(Some(next));
                    at = (module, next.to());
                }
                Way::Link => at = self.owner(*self.provided.get(&number)?)?,
                Way::Virtual(set) => {
                    let set = set as usize;
                    let Way::Member(nth) = *ways.near.get(self.functions.checked_add(set)?)? else { return None };
                    let indirect = self.codes.get(module)?.indirect.iter().find(|call| call.from == node)?;
                    inlined(&mut chain, module, indirect.origin.inlined());
                    jump = Some(indirect.origin.place().cloned());
                    at = self.owner(*self.sets.members.get(set)?.get(nth as usize)?)?;
                }
                Way::Member(_) => return None,
            }
        }
    }
}

/// Returns the bytes of a kernel's chain of calls: thousands of kernels may share a long one.
fn chain_text(codes: &[Code]) -> usize {
    let size = |node: &Node| node.named.as_ref().map_or(0, |name| name.len()).saturating_add(STEP / 4);
    let own: usize = codes.iter().flat_map(|code| &code.nodes).map(size).sum();
    let kernels: usize = codes.iter().map(|code| code.kernels.len()).sum();
    let all = own.saturating_mul(limits::MAX_LISTS_RATIO).max(limits::CHAINS_TEXT_FLOOR);
    (all / kernels.max(1)).min(limits::MAX_CHAIN_TEXT)
}

/// Adds the functions that the compiler inlined into the last one of the chain.
fn inlined(chain: &mut Vec<Step>, module: usize, frames: &[Inlined]) {
    chain.extend(frames.iter().map(|frame| Step {
        module,
        function: frame.function.clone(),
        call: frame.call.clone(),
    }));
}

/// The sets of virtual functions that an image takes part in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sets {
    /// Sets that it defines functions of.
    pub defined: Vec<String>,
    /// Sets that its kernels call.
    pub used: Vec<String>,
}

impl Sets {
    /// The sets of an image.
    pub(crate) fn read(image: &Image<'_>) -> Sets {
        let list = |key: &str| -> Vec<String> {
            let text = image.properties.text(set::VIRTUAL_FUNCTIONS, key);
            text.into_iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
        };
        Sets { defined: list(key::DEFINED_FUNCTIONS), used: list(key::CALLED_FUNCTIONS) }
    }
}

/// The sets of all modules, with the functions by their numbers in the linked graph.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// For each set the functions that it may reach.
    pub(super) members: Vec<Vec<usize>>,
    /// Functions that make an indirect call, each with the place of a set that its image uses.
    pub(super) callers: Vec<(usize, usize)>,
    /// Modules whose image uses a set that no module defines.
    pub(super) open: HashSet<usize>,
}

impl Linked {
    /// Links modules, of which `first` are the numbers of the first nodes.
    pub(super) fn resolve(codes: &[Code], first: &[usize]) -> Linked {
        let mut linked = Linked::default();
        if codes.iter().all(|code| code.sets.used.is_empty()) {
            return linked;
        }
        let mut defined: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (code, first) in codes.iter().zip(first) {
            let exported = |at: &usize| {
                code.nodes.get(*at).is_some_and(|node| node.kind == Kind::Defined && node.symbol.is_some())
            };
            let numbers = (0..code.nodes.len()).filter(exported).map(|at| first.saturating_add(at));
            for set in &code.sets.defined {
                defined.entry(set).or_default().extend(numbers.clone());
            }
        }
        let places: BTreeMap<&str, usize> = defined.keys().copied().zip(0..).collect();
        linked.members = defined.into_values().collect();
        for (code, first) in codes.iter().zip(first) {
            for from in code.indirect.iter().map(|call| first.saturating_add(call.from)) {
                for set in &code.sets.used {
                    match places.get(set.as_str()) {
                        Some(place) => linked.callers.push((from, *place)),
                        None => drop(linked.open.insert(from)),
                    }
                }
            }
        }
        linked
    }
}
