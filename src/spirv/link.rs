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
//! | `declared` | how does a module declare what it imports and exports? |
//! | `symbols` | which definition does each import get, and which imports have none? |
//! | `globals` | which types, constants and variables does the result have? |
//! | `annotations` | which names and decorations stay? |
//! | `functions` | how are functions and entry points written with new ids? |
//! | `sections` | in which order are the sections of the result written? |
//!
//! Time and memory are linear in the size of the modules. Instructions of unknown opcodes cannot be renumbered, so a
//! module with one is refused.

mod annotations;
mod declared;
mod functions;
mod globals;
mod input;
mod sections;
mod symbols;

use crate::error::{Error, Result};
use annotations::annotations;
pub use declared::{Declaration, declarations};
use functions::{calls, functions};
use globals::Globals;
use input::{Definition, InputModule};
use sections::Sections;
use std::collections::{HashMap, HashSet};
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
/// of another type than their imports, different memory models.
pub fn link(sources: &[Source<'_>], options: &Options) -> Result<Linked, Vec<Error>> {
    let mut errors = Vec::new();
    let mut parts = Vec::with_capacity(sources.len());
    for source in sources {
        match InputModule::read(source) {
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
    annotations(&mut parts, sources, &symbols, &mut sections, next).map_err(one).and_then(|next| {
        let calls = calls(&parts, &adapted).map_err(one)?;
        let next = functions(&parts, &calls, &mut sections, next).map_err(one)?;
        functions::entry_points(&parts, &mut sections).map_err(one)?;
        Ok(Linked {
            bytes: sections.assemble(&parts, next),
            resolved: symbols.resolved,
            exports: symbols.exports(sources),
            imports: symbols.imports(),
            folded: symbols.folded,
        })
    })
}

/// Numbers the functions with all ids in them, and the linked variables, since others may refer to them before their
/// definition. Returns the next id.
fn number(parts: &mut [InputModule<'_>], symbols: &Symbols) -> Result<u32> {
    let mut ids = Ids(1);
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

/// Allocator of new ids.
#[derive(Debug, Clone, Copy)]
struct Ids(u32);

impl Ids {
    fn fresh(&mut self) -> Result<u32> {
        let id = self.0;
        self.0 = id.checked_add(1).ok_or_else(|| Error::input("the modules have more ids than a module can have"))?;
        Ok(id)
    }
}
