//! How are several modules linked into one?
//!
//! Imports are resolved against exports (`LinkageAttributes`), ids are renumbered, and definitions that a module may
//! have only once are merged: types, constants, extended instruction sets, built-in variables, and one of each linkonce
//! symbol. Structures, arrays and pointers are merged where their decorations and names agree too. Everything else is
//! copied, in the order of the modules and of the sections of a module (SPIR-V specification 2.4).
//!
//! | file | the question it answers |
//! |---|---|
//! | `input` | what does one of the modules define, and can it be linked? |
//! | `symbols` | which definition does each import get, and which imports have none? |
//! | `globals` | which types, constants and variables does the result have? |
//! | `annotations` | which names and decorations stay? |
//! | `names` | which functions and variables get another name? |
//! | `functions` | how are functions and entry points written with new ids? |
//! | `sections` | in which order are the sections of the result written? |
//!
//! Time and memory are linear in the size of the modules. Instructions of unknown opcodes cannot be renumbered, so a
//! module with one is refused.

mod annotations;
mod functions;
mod globals;
mod input;
mod names;
mod sections;
mod symbols;

use self::globals::{Merging, merging};
use self::symbols::{FUNC_PARAM_ATTR, PASSING};
use crate::error::{Error, Result};
use crate::spirv::Module;
use crate::spirv::grammar::Role;
use crate::spirv::index::{Function, LinkageKind};
use crate::spirv::op;
use crate::spirv::types::{self, Type, signature};
use crate::spirv::words::{Instruction, NewIds};
use annotations::annotations;
use functions::{calls, functions};
use globals::Globals;
use input::{Definition, InputModule};
use sections::Sections;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use symbols::Symbols;

/// Module to link.
#[derive(Debug, Clone, Default)]
pub struct Source<'a> {
    /// Name for error messages.
    pub name: &'a str,
    /// The module.
    pub bytes: &'a [u8],
    /// Imports that another module must define; none means all of them. The device defines the others.
    pub required: Option<HashSet<&'a str>>,
    /// New numbers of specialization constants (`SpecId`) by old number; others keep theirs.
    pub spec_ids: HashMap<u32, u32>,
    /// Whether its exports serve only the other modules: the result does not export them.
    pub internal: bool,
}

/// Options of a link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether imports without a definition stay open.
    pub partial: bool,
}

/// A linked module.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// The module.
    pub bytes: Vec<u8>,
    /// Number of imports that were resolved.
    pub resolved: usize,
    /// Symbols that the result exports, in the order of the modules.
    pub exports: Vec<String>,
    /// Symbols that the result imports: open ones with [`Options::partial`], and those that the device defines.
    pub imports: Vec<String>,
    /// Linkonce definitions that were left out for another one of the same symbol.
    pub folded: Vec<Folded>,
}

/// Definition that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// Symbol that it defines.
    pub symbol: String,
    /// Number of the module whose definition is kept.
    pub kept: usize,
    /// Number of the module whose definition is dropped.
    pub dropped: usize,
}

/// Links modules.
///
/// # Errors
/// All errors: a damaged module, an unknown opcode, a symbol or kernel that is defined twice or not at all, definitions
/// of another type than their imports, different memory models, a result that drivers would read otherwise than it is written.
pub fn link(sources: &[Source<'_>], options: &Options) -> Result<Linked, Vec<Error>> {
    let mut errors = Vec::new();
    let mut parts = Vec::with_capacity(sources.len());
    for source in sources {
        match InputModule::read(source).and_then(|part| check_names(source.bytes, source.name).map(|()| part)) {
            Ok(part) => parts.push(part),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut sections = Sections::default();
    errors.extend(sections.preamble(&parts).err());
    let symbols = Symbols::resolve(&mut parts, sources, options, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let one = |error| vec![error];
    let next = number(&mut parts, &symbols).map_err(one)?;
    let mut globals = Globals::new(&mut parts, sources, &mut sections, next);
    globals.write().map_err(one)?;
    let next = globals.next();
    let adapted = symbols.check_types(&parts)?;
    annotations(&mut parts, sources, &mut sections, next).map_err(one).and_then(|next| {
        let calls = calls(&parts, &adapted).map_err(one)?;
        let next = functions(&parts, &calls, &mut sections, next).map_err(one)?;
        functions::entry_points(&parts, &mut sections).map_err(one)?;
        sections.newest_source(&parts);
        let bytes = sections.assemble(&parts, next);
        // Names that were apart in each module have to be so in all of them together.
        check_names(&bytes, "the linked module").map_err(one)?;
        Ok(Linked {
            bytes,
            resolved: symbols.resolved,
            exports: symbols.exports(sources),
            imports: symbols.imports(),
            folded: symbols.folded,
        })
    })
}

/// Checks that drivers take no function of a module for another.
fn check_names(bytes: &[u8], name: &str) -> Result<()> {
    Module::parse(bytes).and_then(|module| module.check_names()).map_err(|error| error.context(name))
}

/// Numbers the functions with all ids in them, and the linked variables, since others may refer to them before their
/// definition. Returns the next id.
fn number(parts: &mut [InputModule<'_>], symbols: &Symbols) -> Result<u32> {
    let mut ids = NewIds(1);
    for part in parts.iter_mut() {
        part.number_functions(&mut ids)?;
    }
    for symbol in &symbols.list {
        if !symbol.is_function {
            let id = ids.fresh()?;
            parts.get_mut(symbol.kept.part).map(|part| part.set(symbol.kept.at, id)).unwrap_or_default();
        }
    }
    for at in 0..parts.len() {
        let replaced: Vec<(usize, Definition)> = parts.get(at).map(InputModule::replacements).unwrap_or_default();
        for (definition, place) in replaced {
            let id = parts.get(place.part).map_or(0, |part| part.new_at(place.at));
            parts.get_mut(at).map(|part| part.set(definition, id)).unwrap_or_default();
        }
    }
    Ok(ids.0)
}

/// Types within types beyond this depth count as equal.
const DEPTH: usize = 64;

/// Declaration of a function or variable that is imported or exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Type as text, with how parameters are passed. Equal texts may be of types that differ in names or decorations.
    pub(crate) text: String,
    /// Whether it is imported.
    pub is_import: bool,
    /// Key that is equal where [`link`](link()) takes types for equal.
    key: u64,
}

impl Declaration {
    /// Key that those have alike which linking takes for each other.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// Whether linking takes one for the other.
    pub fn agrees_with(&self, other: &Declaration) -> bool {
        self.key == other.key
    }
}

/// Returns the declarations of a module's imports and exports, by symbol.
///
/// # Errors
/// Errors of reading a module to link.
pub fn declarations(module: &[u8]) -> Result<HashMap<String, Declaration>> {
    let part = InputModule::read(&Source { bytes: module, ..Source::default() })?;
    let mut keys = Keys { part: &part, known: HashMap::new(), functions: HashMap::new() };
    let mut found = HashMap::new();
    for (id, linkage) in part.index.linked() {
        let is_import = linkage.kind == LinkageKind::Import;
        let declared = match part.index.function(id) {
            Some(function) => keys.function(function),
            None => keys.variable(id),
        };
        if let Some((text, key)) = declared {
            found.insert(linkage.name, Declaration { text, is_import, key });
        }
    }
    Ok(found)
}

/// Types of parameters that are told of a function, its result's among them.
const SHOWN_TYPES: usize = 64;

/// Keys of types.
struct Keys<'p, 'a> {
    part: &'p InputModule<'a>,
    /// Keys by id; that of a type that is being looked at is 0.
    known: HashMap<u32, u64>,
    /// Texts and keys of functions' types, by id.
    functions: HashMap<u32, (Vec<String>, u64)>,
}

impl Keys<'_, '_> {
    fn function(&mut self, function: &Function) -> Option<(String, u64)> {
        let (mut texts, passed) = self.function_type(function.function_type)?;
        let index = &self.part.index;
        let mut hasher = DefaultHasher::new();
        passed.hash(&mut hasher);
        for (at, id) in index.parameters(function).enumerate() {
            for (number, how) in PASSING {
                let attributes = index.decorations(id).filter(|found| found.decoration == FUNC_PARAM_ATTR);
                if attributes.into_iter().any(|found| index.decoration_operand(&found, 0) == Some(number)) {
                    (at, number).hash(&mut hasher);
                    texts.get_mut(at.saturating_add(1)).into_iter().for_each(|text| text.push_str(&format!(" {how}")));
                }
            }
        }
        let (result, parameters) = texts.split_first()?;
        Some((format!("{result} ({})", parameters.join(", ")), hasher.finish()))
    }

    /// The texts of the result and of the first parameters of a function's type, and the key of all. Thousands of functions
    /// may have one that is as long as an instruction can be.
    fn function_type(&mut self, id: u32) -> Option<(Vec<String>, u64)> {
        if let Some(known) = self.functions.get(&id) {
            return Some(known.clone());
        }
        let index = &self.part.index;
        let Type::Function { result, parameters } = types::resolve(index, id)? else { return None };
        let mut hasher = DefaultHasher::new();
        let mut texts = Vec::new();
        for kind in std::iter::once(&result).chain(&parameters) {
            self.passed(*kind).hash(&mut hasher);
            match texts.len().cmp(&SHOWN_TYPES) {
                Ordering::Less => texts.push(signature(index, *kind)),
                Ordering::Equal => texts.push("...".to_owned()),
                Ordering::Greater => {}
            }
        }
        self.functions.insert(id, (texts.clone(), hasher.finish()));
        Some((texts, hasher.finish()))
    }

    /// The key of the type of a parameter or result: what a pointer points to does not count, as calls are adapted.
    fn passed(&mut self, id: u32) -> u64 {
        match types::resolve(&self.part.index, id) {
            Some(Type::Pointer { storage, pointee: Some(_) }) => {
                let mut hasher = DefaultHasher::new();
                (op::TYPE_POINTER, storage).hash(&mut hasher);
                hasher.finish()
            }
            _ => self.key(id, 0),
        }
    }

    fn variable(&mut self, id: u32) -> Option<(String, u64)> {
        let index = &self.part.index;
        let opcode = index.defining(id)?.opcode;
        let kind = index.type_of(id).filter(|_| matches!(opcode, op::VARIABLE | op::UNTYPED_VARIABLE))?;
        let text = match types::resolve(index, kind) {
            Some(Type::Pointer { storage, pointee: Some(pointee) }) => {
                format!("a variable of {} ({storage})", signature(index, pointee))
            }
            _ => format!("a variable of {}", signature(index, kind)),
        };
        let mut hasher = DefaultHasher::new();
        (op::VARIABLE, self.key(kind, 0)).hash(&mut hasher);
        Some((text, hasher.finish()))
    }

    /// The key of a type or constant: its words, with keys in place of ids, and names and decorations where these count.
    fn key(&mut self, id: u32, depth: usize) -> u64 {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        self.known.insert(id, 0);
        let mut hasher = DefaultHasher::new();
        if let (Some(at), true) = (self.part.index.definition(id), depth < DEPTH)
            && let Some(instruction) = self.part.index.instruction(at)
        {
            self.words(&instruction, None, depth, &mut hasher);
            if merging(self.part, &instruction) == Merging::Equal {
                for annotation in self.part.annotations_of(at) {
                    self.words(&annotation, Some(0), depth, &mut hasher);
                }
            }
            let mut next = at.saturating_add(1);
            while let Some(more) = self.part.index.instruction(next).filter(|more| sections::continues(more.opcode)) {
                self.words(&more, None, depth, &mut hasher);
                next = next.saturating_add(1);
            }
        }
        let key = hasher.finish();
        self.known.insert(id, key);
        key
    }

    fn words(&mut self, instruction: &Instruction<'_>, empty: Option<usize>, depth: usize, hasher: &mut DefaultHasher) {
        instruction.opcode.hash(hasher);
        let mut words: Vec<u64> = (0..instruction.len()).map(|word| u64::from(instruction.word(word))).collect();
        let mut ids = Vec::new();
        self.part.index.for_each_id(instruction, |word, role| ids.push((word, role == Role::Result)));
        for (word, is_result) in ids {
            let is_empty = is_result || empty == Some(word);
            let key = if is_empty { 0 } else { self.key(instruction.word(word), depth.saturating_add(1)) };
            if let Some(place) = words.get_mut(word) {
                *place = key;
            }
        }
        words.hash(hasher);
    }
}
