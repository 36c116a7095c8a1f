//! Which definition does each import get, and which imports have none?

use super::input::{Definition, InputModule};
use super::{Folded, Options, Source};
use crate::error::{Error, ErrorKind};
use crate::spirv::index::{Index, LinkageKind, is_helper};
use crate::spirv::op;
use crate::spirv::types::{self, Type};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Number of users that an error about a missing definition names.
const NAMED: usize = 5;
/// Number of parameters that the text of a type shows.
const SHOWN_PARAMETERS: usize = 12;
/// Kinds of parameter attributes that change how a value is passed: ByVal and Sret.
pub(crate) const PASSING: [(u32, &str); 2] = [(2, "by value"), (3, "as the place of the result")];
/// `FuncParamAttr`.
pub(crate) const FUNC_PARAM_ATTR: u32 = rspirv::spirv::Decoration::FuncParamAttr as u32;
const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;

/// Symbol of the result.
#[derive(Debug)]
pub(crate) struct Symbol {
    name: String,
    /// Whether the name is one by which the host looks for a device global, and no symbol for other modules.
    is_of_host: bool,
    /// Definition, or for an open import the declaration that stays.
    pub(crate) kept: Definition,
    /// Id in the module of `kept`.
    id: u32,
    /// Whether it is a function.
    pub(crate) is_function: bool,
    is_defined: bool,
}

/// Symbols of all modules.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// Symbols in the order in which they are met.
    pub(crate) list: Vec<Symbol>,
    /// Replaced definitions: place, id in its module, and number of the symbol.
    replaced: Vec<(Definition, u32, usize)>,
    /// Number of imports with a definition.
    pub(crate) resolved: usize,
    /// Linkonce definitions that are left out.
    pub(crate) folded: Vec<Folded>,
}

/// Name with its candidates in all modules.
#[derive(Default)]
struct Candidates {
    name: String,
    /// Whether the name is one by which the host looks for a device global, and no symbol for other modules.
    is_of_host: bool,
    /// Exports, in module order.
    strong: Vec<Candidate>,
    /// Linkonce definitions, of which one is kept.
    weak: Vec<Candidate>,
    wanted: Vec<Candidate>,
}

#[derive(Clone, Copy)]
struct Candidate {
    place: Definition,
    id: u32,
    is_function: bool,
}

/// Whether all definitions are the same function of the translator under a name without a prefix (`LLVMBitreverse.h`,
/// `LLVMSaddWithOverflow.h` of the SPIR-V/LLVM translator): one with the instructions that the others have.
fn are_helpers(parts: &[InputModule<'_>], candidates: &Candidates) -> bool {
    let is_named = candidates.name.starts_with("llvm_bitreverse_")
        || candidates.name.starts_with("llvm_") && candidates.name.contains("_with_overflow_");
    let code = |candidate: &Candidate| {
        let index = &parts.get(candidate.place.part)?.index;
        let function = index.function(candidate.id).filter(|_| candidate.is_function)?;
        let instructions = index.instructions(function.instructions.clone());
        Some(instructions.map(|(_, instruction)| (instruction.opcode, instruction.len())).collect::<Vec<_>>())
    };
    let Some(first) = candidates.strong.first().filter(|_| is_named && candidates.strong.len() > 1) else {
        return false;
    };
    let first = code(first);
    first.is_some() && candidates.strong.iter().all(|other| code(other) == first)
}

impl Symbols {
    /// Finds a definition for each import; errors are appended to `errors`.
    pub(crate) fn resolve(
        parts: &mut [InputModule<'_>],
        sources: &[Source<'_>],
        options: &Options,
        errors: &mut Vec<Error>,
    ) -> Symbols {
        let mut symbols = Symbols::default();
        let (candidates, kernels) = Symbols::candidates(parts, errors);
        let mut missing: BTreeMap<usize, Vec<(u32, String)>> = BTreeMap::new();
        for mut candidates in candidates {
            if are_helpers(parts, &candidates) {
                candidates.weak.append(&mut candidates.strong);
            }
            if let [first, second, ..] = candidates.strong.as_slice() {
                errors.push(duplicate_definition(parts, &candidates.name, *first, *second));
                continue;
            }
            let definition = candidates.strong.first().or(candidates.weak.first()).copied();
            let Some(kept) = definition.or(candidates.wanted.first().copied()) else { continue };
            if let Some(kernel) = kernels.get(&candidates.name)
                && kept.place.part != *kernel
                && (definition.is_some() || candidates.wanted.iter().all(|wanted| wanted.place.part != *kernel))
            {
                errors.push(kernel_clash(parts, &candidates.name, kept, definition.is_some(), *kernel));
                continue;
            }
            let number = symbols.list.len();
            let others = candidates.strong.iter().chain(&candidates.weak).chain(&candidates.wanted);
            for candidate in others.filter(|candidate| candidate.place != kept.place) {
                if candidate.is_function != kept.is_function {
                    errors.push(kind_mismatch(parts, &candidates.name, *candidate, kept));
                    continue;
                }
                symbols.replaced.push((candidate.place, candidate.id, number));
                if let Some(part) = parts.get_mut(candidate.place.part) {
                    part.replace(candidate.place.at, kept.place);
                }
            }
            let dropped = candidates.weak.iter().filter(|candidate| candidate.place != kept.place);
            symbols.folded.extend(dropped.map(|candidate| Folded {
                symbol: candidates.name.clone(),
                kept: kept.place.part,
                dropped: candidate.place.part,
            }));
            if definition.is_some() {
                symbols.resolved = symbols.resolved.saturating_add(candidates.wanted.len());
            } else if !options.partial {
                for candidate in &candidates.wanted {
                    let required = sources.get(candidate.place.part).and_then(|source| source.required.as_ref());
                    if required.is_none_or(|required| required.contains(candidates.name.as_str())) {
                        missing.entry(candidate.place.part).or_default().push((candidate.id, candidates.name.clone()));
                    }
                }
            }
            symbols.list.push(Symbol {
                kept: kept.place,
                id: kept.id,
                is_function: kept.is_function,
                is_defined: definition.is_some(),
                is_of_host: candidates.is_of_host,
                name: candidates.name,
            });
        }
        for (part, wanted) in missing {
            if let Some(part) = parts.get(part) {
                unresolved(part, &wanted, errors);
            }
        }
        symbols
    }

    /// Collects the candidates of each name, in the order in which the names are met, and the names of kernels with the
    /// modules that have them. Kernel names are checked too.
    fn candidates(parts: &[InputModule<'_>], errors: &mut Vec<Error>) -> (Vec<Candidates>, HashMap<String, usize>) {
        let mut named = HashMap::new();
        let mut candidates: Vec<Candidates> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut of_host: HashMap<String, usize> = HashMap::new();
        let mut kernels: HashMap<(u32, &str), usize> = HashMap::new();
        for (number, part) in parts.iter().enumerate() {
            for entry in &part.index.entry_points {
                named.entry(entry.name.clone().into_owned()).or_insert(number);
                if let Some(other) = kernels.insert((entry.model, &*entry.name), number) {
                    let other = parts.get(other).map_or("", |part| part.name);
                    let message = format!("the kernel `{}` is in {other} too", entry.name);
                    let remedy = "leave one of the two out: a module has each kernel once";
                    errors.push(part.refuse(entry.at, message).with_remedy(remedy));
                }
            }
            for (id, linkage) in part.index.linked() {
                let candidate = match candidate(number, part, id) {
                    Ok(Some(candidate)) => candidate,
                    Ok(None) => continue,
                    Err(error) => {
                        errors.push(error);
                        continue;
                    }
                };
                let at = *by_name.entry(linkage.name.clone()).or_insert_with(|| {
                    candidates.push(Candidates { name: linkage.name.clone(), ..Candidates::default() });
                    candidates.len().saturating_sub(1)
                });
                let Some(candidates) = candidates.get_mut(at) else { continue };
                match linkage.kind {
                    LinkageKind::Import => candidates.wanted.push(candidate),
                    LinkageKind::Export if is_helper(&linkage.name) || is_device_global(part, id) => {
                        candidates.weak.push(candidate);
                    }
                    LinkageKind::Export => candidates.strong.push(candidate),
                    LinkageKind::LinkOnceOdr | LinkageKind::Other(_) => candidates.weak.push(candidate),
                }
                let defined = part.index.function(id).is_none_or(|function| function.defined);
                if defined == (linkage.kind == LinkageKind::Import) && candidate.is_function {
                    let message = match defined {
                        true => format!("`{}` is imported and has a body", linkage.name),
                        false => format!("`{}` is exported and has no body", linkage.name),
                    };
                    errors.push(part.refuse(candidate.place.at, message));
                }
            }
            // The host looks for these by name, and finds none where there are two.
            for (id, name) in part.index.host_named() {
                let Ok(Some(candidate)) = candidate(number, part, id) else { continue };
                let at = *of_host.entry(name.clone()).or_insert_with(|| {
                    candidates.push(Candidates { name, is_of_host: true, ..Candidates::default() });
                    candidates.len().saturating_sub(1)
                });
                candidates.get_mut(at).into_iter().for_each(|own| own.weak.push(candidate));
            }
        }
        (candidates, named)
    }

    /// Returns the names of the symbols that the result exports.
    pub(crate) fn exports(&self, sources: &[Source<'_>]) -> Vec<String> {
        let stays = |symbol: &&Symbol| {
            symbol.is_defined
                && !symbol.is_of_host
                && sources.get(symbol.kept.part).is_none_or(|source| !source.internal)
        };
        self.list.iter().filter(stays).map(|symbol| symbol.name.clone()).collect()
    }

    /// Returns the names of the symbols that the result imports.
    pub(crate) fn imports(&self) -> Vec<String> {
        self.list.iter().filter(|symbol| !symbol.is_defined).map(|symbol| symbol.name.clone()).collect()
    }

    /// Checks that replaced definitions have the type of their replacement, once types have new ids. Returns the
    /// functions whose types differ only in pointees, with their definitions: LLVM pointers are opaque, so importer and
    /// exporter guess pointee types on their own. Calls of these functions are adapted.
    ///
    /// # Errors
    /// `Input` for each other difference, naming both types.
    pub(crate) fn check_types(&self, parts: &[InputModule<'_>]) -> Result<HashMap<Definition, Definition>, Vec<Error>> {
        let mut adapted = HashMap::new();
        let mut errors = Vec::new();
        for (place, id, number) in &self.replaced {
            let Some(symbol) = self.list.get(*number) else { continue };
            let (Some(mine), Some(theirs)) = (parts.get(place.part), parts.get(symbol.kept.part)) else { continue };
            let kind = |part: &InputModule<'_>, id| match part.index.function(id) {
                Some(function) => Some(function.function_type),
                None => part.index.type_of(id),
            };
            let (Some(wanted), Some(defined)) = (kind(mine, *id), kind(theirs, symbol.id)) else { continue };
            if mine.new_of(wanted) != theirs.new_of(defined) {
                if symbol.is_function && differ_in_pointees(mine, wanted, theirs, defined) {
                    adapted.insert(*place, symbol.kept);
                } else {
                    let message = format!(
                        "`{}` is {} here, and {} in {}",
                        symbol.name,
                        describe(&mine.index, wanted, 0),
                        describe(&theirs.index, defined, 0),
                        theirs.name
                    );
                    errors.push(mine.refuse(place.at, message));
                    continue;
                }
            }
            errors.extend(passing_mismatch(&symbol.name, mine, *id, theirs, symbol.id));
        }
        if errors.is_empty() { Ok(adapted) } else { Err(errors) }
    }
}

/// Returns the candidate of a linked id, or none where it is neither a function nor a variable.
fn candidate(number: usize, part: &InputModule<'_>, id: u32) -> Result<Option<Candidate>, Error> {
    let Some(at) = part.index.definition(id) else { return Ok(None) };
    let opcode = part.index.instruction(at).map_or(0, |instruction| instruction.opcode);
    let is_function = opcode == op::FUNCTION;
    if !is_function && !matches!(opcode, op::VARIABLE | op::UNTYPED_VARIABLE) {
        return Ok(None);
    }
    let own = |found: &crate::spirv::index::Decoration| {
        part.index.instruction(found.at).is_some_and(|instruction| instruction.word(0) == id)
    };
    if part.index.decorations(id).any(|found| found.decoration == LINKAGE && !own(&found)) {
        return Err(part.refuse(at, "a group of decorations says how this is linked, which is not followed"));
    }
    Ok(Some(Candidate { place: Definition { part: number, at }, id, is_function }))
}

/// Whether an id is a device global: each image that uses it has a copy, and the runtime synchronises them.
fn is_device_global(part: &InputModule<'_>, id: u32) -> bool {
    part.index.decorations(id).any(|found| op::HOST_ACCESS.contains(&found.decoration))
}

#[cold]
fn duplicate_definition(parts: &[InputModule<'_>], name: &str, first: Candidate, second: Candidate) -> Error {
    let other = parts.get(first.place.part).map_or("", |part| part.name);
    let message = format!("`{name}` is defined here and in {other}");
    let error = parts.get(second.place.part).map(|part| part.refuse(second.place.at, &message));
    error.unwrap_or_else(|| Error::new(ErrorKind::Build, message)).with_remedy("link with one of the two")
}

/// Returns the error for a symbol that is called as a kernel of another module: drivers create functions by their names.
#[cold]
fn kernel_clash(parts: &[InputModule<'_>], name: &str, kept: Candidate, is_defined: bool, kernel: usize) -> Error {
    let how = if is_defined { "exported" } else { "imported" };
    let other = parts.get(kernel).map_or("", |part| part.name);
    let message = format!("`{name}` is {how} here, and a kernel in {other}");
    let error = parts.get(kept.place.part).map(|part| part.refuse(kept.place.at, &message));
    let remedy = "leave one of the two out, or call it otherwise: drivers take both for one function";
    error.unwrap_or_else(|| Error::new(ErrorKind::Build, message)).with_remedy(remedy)
}

#[cold]
fn kind_mismatch(parts: &[InputModule<'_>], name: &str, candidate: Candidate, kept: Candidate) -> Error {
    let what = |candidate: Candidate| if candidate.is_function { "a function" } else { "a variable" };
    let other = parts.get(kept.place.part).map_or("", |part| part.name);
    let message = format!("`{name}` is {} here, and {} in {other}", what(candidate), what(kept));
    let error = parts.get(candidate.place.part).map(|part| part.refuse(candidate.place.at, &message));
    error.unwrap_or_else(|| Error::new(ErrorKind::Build, message))
}

/// Adds an error for each import without a definition, naming the functions that use it.
#[cold]
fn unresolved(part: &InputModule<'_>, wanted: &[(u32, String)], errors: &mut Vec<Error>) {
    let mut users: HashMap<u32, Vec<u32>> = wanted.iter().map(|(id, _)| (*id, Vec::new())).collect();
    for function in &part.index.functions {
        for (_, instruction) in part.index.instructions(function.instructions.clone()).skip(1) {
            part.index.for_each_id(&instruction, |word, _| {
                if let Some(users) = users.get_mut(&instruction.word(word))
                    && users.last() != Some(&function.id)
                {
                    users.push(function.id);
                }
            });
        }
    }
    for (id, name) in wanted {
        let users = users.get(id).map(Vec::as_slice).unwrap_or_default();
        let mut names: Vec<String> =
            users.iter().take(NAMED).map(|user| format!("`{}`", part.function_name(*user))).collect();
        if users.len() > NAMED {
            names.push(format!("{} more", users.len().saturating_sub(NAMED)));
        }
        let by = if names.is_empty() { String::new() } else { format!("; it is wanted by {}", names.join(", ")) };
        let at = part.index.definition(*id).unwrap_or(0);
        let offset = part.index.instruction(at).map_or(0, |instruction| instruction.offset);
        let error = Error::new(ErrorKind::Build, format!("nothing defines `{name}`{by}"));
        let error = error.with_offset(offset).context(part.name);
        errors.push(error.with_remedy("link with what exports it, or leave it open with --partial"));
    }
}

/// Whether two function types differ only in what pointers point to.
fn differ_in_pointees(mine: &InputModule<'_>, wanted: u32, theirs: &InputModule<'_>, defined: u32) -> bool {
    let (Some(Type::Function { result: r1, parameters: p1 }), Some(Type::Function { result: r2, parameters: p2 })) =
        (types::resolve(&mine.index, wanted), types::resolve(&theirs.index, defined))
    else {
        return false;
    };
    let like = |one: u32, other: u32| {
        let pointer = |part: &InputModule<'_>, id| match types::resolve(&part.index, id) {
            Some(Type::Pointer { storage, pointee: Some(_) }) => Some(storage),
            _ => None,
        };
        mine.new_of(one) == theirs.new_of(other)
            || pointer(mine, one).is_some_and(|storage| pointer(theirs, other) == Some(storage))
    };
    p1.len() == p2.len() && like(r1, r2) && p1.iter().zip(&p2).all(|(one, other)| like(*one, *other))
}

/// Returns the error for a parameter that is passed in different ways.
fn passing_mismatch(name: &str, mine: &InputModule<'_>, id: u32, theirs: &InputModule<'_>, kept: u32) -> Option<Error> {
    let (wanted, defined) = (mine.index.function(id)?, theirs.index.function(kept)?);
    let attributes = |part: &InputModule<'_>, parameter: u32| -> HashSet<u32> {
        let index: &Index<'_> = &part.index;
        let found = index.decorations(parameter).filter(|found| found.decoration == FUNC_PARAM_ATTR);
        found.filter_map(|found| index.decoration_operand(&found, 0)).collect()
    };
    let theirs_or_none = theirs.index.parameters(defined).chain(std::iter::repeat(0));
    for (at, (here, there)) in mine.index.parameters(wanted).zip(theirs_or_none).enumerate() {
        let (one, other) = (attributes(mine, here), attributes(theirs, there));
        for (kind, how) in PASSING {
            if one.contains(&kind) != other.contains(&kind) {
                let (here, there) = if one.contains(&kind) { ("", "not ") } else { ("not ", "") };
                let message =
                    format!("parameter {at} of `{name}` is {here}passed {how} here, and {there}so in {}", theirs.name);
                return Some(mine.refuse(wanted.instructions.start, message));
            }
        }
    }
    None
}

/// Returns a type as text, following functions and pointers.
fn describe(index: &Index<'_>, id: u32, depth: usize) -> String {
    match types::resolve(index, id) {
        Some(Type::Function { result, parameters }) if depth < 4 => {
            let shown = parameters.iter().take(SHOWN_PARAMETERS).map(|one| describe(index, *one, depth + 1));
            let more = (parameters.len() > SHOWN_PARAMETERS).then(|| "..".to_owned());
            let parameters: Vec<String> = shown.chain(more).collect();
            format!("{} ({})", describe(index, result, depth + 1), parameters.join(", "))
        }
        Some(Type::Pointer { storage, pointee: Some(pointee) }) if depth < 4 => {
            format!("{}*({storage})", describe(index, pointee, depth + 1))
        }
        _ => types::brief(index, id),
    }
}
