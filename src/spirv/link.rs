//! How do several modules become one?
//!
//! Imports are resolved against exports (`LinkageAttributes`), ids are numbered anew, and what may be in a module once
//! only is merged: types, constants, sets of extended instructions, built-in variables, one of each symbol that may be
//! linked once. Structures, arrays and pointers are merged where their decorations and names agree too. Everything else
//! comes along as it is, in the order of the modules and of the sections of a module (SPIR-V specification 2.4).
//!
//! | file | the question it answers |
//! |---|---|
//! | `part` | what is one of the modules like, and can it be linked at all? |
//! | `symbols` | which definition does each import get, and what is missing? |
//! | `globals` | which types, constants and variables does the result have? |
//! | `annotations` | which names and decorations stay? |
//! | `functions` | how does code get its new ids? |
//! | `interface` | which variables does an entry point reach now? |
//! | `sections` | in which order is all that written? |
//!
//! Time and memory are linear in the size of the modules. What no grammar knows cannot be numbered anew, so a module with
//! such an instruction is refused.

mod annotations;
mod functions;
mod globals;
mod interface;
mod part;
mod sections;
mod symbols;

use crate::error::{Error, Result};
use annotations::annotations;
use functions::{calls, functions};
use globals::Globals;
use part::{Part, Place};
use sections::Sections;
use std::collections::{HashMap, HashSet};
use symbols::Symbols;

/// One module to link.
#[derive(Debug, Clone, Default)]
pub struct Source<'a> {
    /// What errors call it.
    pub name: &'a str,
    /// The module.
    pub bytes: &'a [u8],
    /// The imports that a module has to define; none where all of them have to be defined. Others are the device's.
    pub required: Option<HashSet<&'a str>>,
    /// New numbers for specialization constants (`SpecId`), by the old; those that are not in it stay.
    pub spec_ids: HashMap<u32, u32>,
    /// Whether what it exports is for the other modules alone: the result does not export it.
    pub internal: bool,
}

/// How to link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Imports that nothing defines stay open.
    pub partial: bool,
}

/// A linked module.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// The module.
    pub bytes: Vec<u8>,
    /// Imports that found their definition.
    pub resolved: usize,
    /// What the result exports, in the order of the modules.
    pub exports: Vec<String>,
    /// What the result imports: with [`Options::partial`], or as the device defines it.
    pub imports: Vec<String>,
    /// Definitions that were left out as there is another: one of each linkonce is kept.
    pub folded: Vec<Folded>,
}

/// A definition that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The symbol.
    pub symbol: String,
    /// The number of the module whose definition is kept.
    pub kept: usize,
    /// The number of the module whose definition is not.
    pub dropped: usize,
}

/// Links modules.
///
/// # Errors
/// All there are: a module that is damaged or holds what no grammar knows, a symbol or kernel that is defined twice or
/// not at all, definitions of another type than their imports, modules for different memory models.
pub fn link(sources: &[Source<'_>], options: &Options) -> Result<Linked, Vec<Error>> {
    let mut errors = Vec::new();
    let mut parts = Vec::with_capacity(sources.len());
    for source in sources {
        match Part::read(source) {
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
    let adapted = symbols.agree(&parts)?;
    annotations(&mut parts, sources, &symbols, &mut sections, next).map_err(one).and_then(|next| {
        let calls = calls(&parts, &adapted).map_err(one)?;
        let next = functions(&parts, &calls, &mut sections, next).map_err(one)?;
        interface::entry_points(&parts, &mut sections).map_err(one)?;
        Ok(Linked {
            bytes: sections.assemble(&parts, next),
            resolved: symbols.resolved,
            exports: symbols.exports(sources),
            imports: symbols.imports(),
            folded: symbols.folded,
        })
    })
}

/// Numbers functions with all that is in them, and the variables that are linked, since others may refer to them before
/// they come. Returns the next number.
fn number(parts: &mut [Part<'_>], symbols: &Symbols) -> Result<u32> {
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
        let replaced: Vec<(usize, Place)> = parts.get(at).map(Part::replacements).unwrap_or_default();
        for (definition, place) in replaced {
            let id = parts.get(place.part).map_or(0, |part| part.new_at(place.at));
            parts.get_mut(at).map(|part| part.set(definition, id)).unwrap_or_default();
        }
    }
    Ok(ids.0)
}

/// Gives out new ids.
#[derive(Debug, Clone, Copy)]
struct Ids(u32);

impl Ids {
    fn fresh(&mut self) -> Result<u32> {
        let id = self.0;
        self.0 = id.checked_add(1).ok_or_else(|| Error::input("the modules have more ids than a module can have"))?;
        Ok(id)
    }
}
