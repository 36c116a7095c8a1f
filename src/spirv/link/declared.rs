//! How does a module declare what it imports and exports, so that modules can be compared before they are linked?

use super::globals::{Merging, merging};
use super::input::InputModule;
use super::symbols::{FUNC_PARAM_ATTR, PASSING};
use super::{Source, sections};
use crate::error::Result;
use crate::spirv::grammar::Role;
use crate::spirv::index::{Function, LinkageKind};
use crate::spirv::op;
use crate::spirv::types::{self, Type, signature};
use crate::spirv::words::Instruction;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Types within types beyond this depth count as equal.
const DEPTH: usize = 64;

/// Declaration of a function or variable that is imported or exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Type as text, with how parameters are passed. Equal texts may be of types that differ in names or decorations.
    pub text: String,
    /// Whether it is imported.
    pub is_import: bool,
    /// Key that is equal where [`link`](super::link()) takes types for equal.
    key: u64,
}

impl Declaration {
    /// Whether linking takes one for the other.
    pub fn agrees_with(&self, other: &Declaration) -> bool {
        self.key == other.key
    }
}

/// Returns the declarations of a module's imports and exports, by symbol.
///
/// # Errors
/// Those of reading a module to link.
pub fn declarations(module: &[u8]) -> Result<HashMap<String, Declaration>> {
    let part = InputModule::read(&Source { bytes: module, ..Source::default() })?;
    let mut keys = Keys { part: &part, known: HashMap::new() };
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

/// Keys of types.
struct Keys<'p, 'a> {
    part: &'p InputModule<'a>,
    /// Keys by id; that of a type that is being looked at is 0.
    known: HashMap<u32, u64>,
}

impl Keys<'_, '_> {
    fn function(&mut self, function: &Function) -> Option<(String, u64)> {
        let index = &self.part.index;
        let Type::Function { result, parameters } = types::resolve(index, function.function_type)? else { return None };
        let mut hasher = DefaultHasher::new();
        self.passed(result).hash(&mut hasher);
        let mut texts = Vec::with_capacity(parameters.len());
        for (at, kind) in parameters.iter().enumerate() {
            self.passed(*kind).hash(&mut hasher);
            let id = function.parameters.get(at).copied().unwrap_or(0);
            let mut text = signature(index, *kind);
            for (number, how) in PASSING {
                let attributes = index.decorations(id).filter(|found| found.decoration == FUNC_PARAM_ATTR);
                let is_so = attributes.into_iter().any(|found| index.decoration_operand(&found, 0) == Some(number));
                is_so.hash(&mut hasher);
                if is_so {
                    text.push_str(&format!(" {how}"));
                }
            }
            texts.push(text);
        }
        Some((format!("{} ({})", signature(index, result), texts.join(", ")), hasher.finish()))
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
