//! Which definition does each import get, and what is missing?

use super::part::{Part, Place};
use super::{Folded, Options, Source};
use crate::error::{Error, ErrorKind};
use crate::spirv::index::{Function, Index, LinkageKind};
use crate::spirv::op;
use crate::spirv::types::{self, Type};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Functions that are named where nothing defines what they want.
const NAMED: usize = 5;
/// Functions that the SPIR-V/LLVM translator writes for intrinsics of LLVM, and exports from every module that needs them; a
/// name says all that the function does (`SPIRVLowerLLVMIntrinsic.cpp`, `spirv.llvm_fshl_i32`).
const HELPER: &str = "spirv.llvm_";
/// `HostAccessINTEL`, and the number that it had before it was published and that DPC++ writes.
const HOST_ACCESS: [u32; 2] = [6188, 6147];
/// Parameters of a type that are shown.
const SHOWN_PARAMETERS: usize = 12;
/// Kinds of parameter attributes that change how a value is passed: ByVal and Sret.
const PASSING: [(u32, &str); 2] = [(2, "by value"), (3, "as the place of the result")];
const FUNC_PARAM_ATTR: u32 = rspirv::spirv::Decoration::FuncParamAttr as u32;
const LINKAGE: u32 = rspirv::spirv::Decoration::LinkageAttributes as u32;

/// A symbol of the result.
#[derive(Debug)]
pub struct Symbol {
    name: String,
    /// The definition; of an open import the declaration that stays.
    pub kept: Place,
    /// The id of that.
    id: u32,
    /// Whether it is a function.
    pub is_function: bool,
    is_defined: bool,
}

/// The symbols of all modules.
#[derive(Debug, Default)]
pub struct Symbols {
    /// In the order in which they are met.
    pub list: Vec<Symbol>,
    /// What is replaced: where, its id there, and the number of the symbol.
    replaced: Vec<(Place, u32, usize)>,
    /// How many imports have a definition.
    pub resolved: usize,
    /// Definitions that are left out.
    pub folded: Vec<Folded>,
    /// Names of symbols and kernels, with the module that has them.
    taken: HashMap<String, usize>,
}

/// A name with all that modules say of it.
#[derive(Default)]
struct Claims {
    name: String,
    /// Exports, in module order.
    strong: Vec<Claim>,
    /// Definitions of which one is kept.
    weak: Vec<Claim>,
    wanted: Vec<Claim>,
}

#[derive(Clone, Copy)]
struct Claim {
    place: Place,
    id: u32,
    is_function: bool,
}

impl Symbols {
    /// Finds a definition for each import; what is wrong goes to `errors`.
    pub fn resolve(
        parts: &mut [Part<'_>],
        sources: &[Source<'_>],
        options: &Options,
        errors: &mut Vec<Error>,
    ) -> Symbols {
        let mut symbols = Symbols::default();
        let claims = symbols.claims(parts, errors);
        let mut missing: BTreeMap<usize, Vec<(u32, String)>> = BTreeMap::new();
        for claims in claims {
            if let [first, second, ..] = claims.strong.as_slice() {
                errors.push(twice(parts, &claims.name, *first, *second));
                continue;
            }
            let definition = claims.strong.first().or(claims.weak.first()).copied();
            let Some(kept) = definition.or(claims.wanted.first().copied()) else { continue };
            let number = symbols.list.len();
            let others = claims.strong.iter().chain(&claims.weak).chain(&claims.wanted);
            for claim in others.filter(|claim| claim.place != kept.place) {
                if claim.is_function != kept.is_function {
                    errors.push(kinds(parts, &claims.name, *claim, kept));
                    continue;
                }
                symbols.replaced.push((claim.place, claim.id, number));
                if let Some(part) = parts.get_mut(claim.place.part) {
                    part.replace(claim.place.at, kept.place);
                }
            }
            let dropped = claims.weak.iter().filter(|claim| claim.place != kept.place);
            symbols.folded.extend(dropped.map(|claim| Folded {
                symbol: claims.name.clone(),
                kept: kept.place.part,
                dropped: claim.place.part,
            }));
            if definition.is_some() {
                symbols.resolved = symbols.resolved.saturating_add(claims.wanted.len());
            } else if !options.partial {
                for claim in &claims.wanted {
                    let required = sources.get(claim.place.part).and_then(|source| source.required.as_ref());
                    if required.is_none_or(|required| required.contains(claims.name.as_str())) {
                        missing.entry(claim.place.part).or_default().push((claim.id, claims.name.clone()));
                    }
                }
            }
            symbols.list.push(Symbol {
                kept: kept.place,
                id: kept.id,
                is_function: kept.is_function,
                is_defined: definition.is_some(),
                name: claims.name,
            });
        }
        for (part, wanted) in missing {
            if let Some(part) = parts.get(part) {
                unresolved(part, &wanted, errors);
            }
        }
        symbols
    }

    /// What all modules say of each name, in the order in which the names are met. Kernels are looked at on the way.
    fn claims(&mut self, parts: &[Part<'_>], errors: &mut Vec<Error>) -> Vec<Claims> {
        let mut claims: Vec<Claims> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut kernels: HashMap<(u32, &str), usize> = HashMap::new();
        for (number, part) in parts.iter().enumerate() {
            for entry in &part.index.entry_points {
                match kernels.insert((entry.model, &*entry.name), number) {
                    Some(other) => {
                        let other = parts.get(other).map_or("", |part| part.name);
                        let message = format!("the kernel `{}` is in {other} too", entry.name);
                        let remedy = "leave one of the two out: a module has each kernel once";
                        errors.push(part.refuse(entry.at, message).with_remedy(remedy));
                    }
                    None => {
                        self.taken.entry(entry.name.clone().into_owned()).or_insert(number);
                    }
                }
            }
            for (id, linkage) in part.index.linked() {
                let claim = match claim(number, part, id) {
                    Ok(Some(claim)) => claim,
                    Ok(None) => continue,
                    Err(error) => {
                        errors.push(error);
                        continue;
                    }
                };
                self.taken.entry(linkage.name.clone()).or_insert(number);
                let at = *by_name.entry(linkage.name.clone()).or_insert_with(|| {
                    claims.push(Claims { name: linkage.name.clone(), ..Claims::default() });
                    claims.len().saturating_sub(1)
                });
                let Some(claims) = claims.get_mut(at) else { continue };
                match linkage.kind {
                    LinkageKind::Import => claims.wanted.push(claim),
                    LinkageKind::Export if linkage.name.starts_with(HELPER) || is_device_global(part, id) => {
                        claims.weak.push(claim);
                    }
                    LinkageKind::Export => claims.strong.push(claim),
                    LinkageKind::LinkOnceOdr | LinkageKind::Other(_) => claims.weak.push(claim),
                }
                let defined = part.index.function(id).is_none_or(|function| function.defined);
                if defined == (linkage.kind == LinkageKind::Import) && claim.is_function {
                    let message = match defined {
                        true => format!("`{}` is imported and has a body", linkage.name),
                        false => format!("`{}` is exported and has no body", linkage.name),
                    };
                    errors.push(part.refuse(claim.place.at, message));
                }
            }
        }
        claims
    }

    /// The names of what the result exports.
    pub fn exports(&self, sources: &[Source<'_>]) -> Vec<String> {
        let stays =
            |symbol: &&Symbol| symbol.is_defined && sources.get(symbol.kept.part).is_none_or(|source| !source.internal);
        self.list.iter().filter(stays).map(|symbol| symbol.name.clone()).collect()
    }

    /// The names of what the result imports.
    pub fn imports(&self) -> Vec<String> {
        self.list.iter().filter(|symbol| !symbol.is_defined).map(|symbol| symbol.name.clone()).collect()
    }

    /// Whether a name is that of a symbol or kernel of another module.
    pub fn is_taken(&self, name: &str, part: usize) -> bool {
        self.taken.get(name).is_some_and(|owner| *owner != part)
    }

    /// Whether what is replaced has the type of what replaces it, once types have new ids. Functions whose types differ
    /// in what pointers point to are returned, with the place of the definition: LLVM no longer knows what pointers
    /// point to, so importer and exporter guess on their own. Calls of them are adapted.
    ///
    /// # Errors
    /// `Input` for each that has not, naming both types.
    pub fn agree(&self, parts: &[Part<'_>]) -> Result<HashMap<Place, Place>, Vec<Error>> {
        let mut adapted = HashMap::new();
        let mut errors = Vec::new();
        for (place, id, number) in &self.replaced {
            let Some(symbol) = self.list.get(*number) else { continue };
            let (Some(mine), Some(theirs)) = (parts.get(place.part), parts.get(symbol.kept.part)) else { continue };
            let kind = |part: &Part<'_>, id| match part.index.function(id) {
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
            errors.extend(passing(&symbol.name, mine, *id, theirs, symbol.id));
        }
        if errors.is_empty() { Ok(adapted) } else { Err(errors) }
    }
}

/// What a linked id stands for; none where it is neither a function nor a variable.
fn claim(number: usize, part: &Part<'_>, id: u32) -> Result<Option<Claim>, Error> {
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
    Ok(Some(Claim { place: Place { part: number, at }, id, is_function }))
}

/// Whether an id is a variable that the host knows by a name of its own: each image that uses it has a copy, and the
/// runtime keeps these the same.
fn is_device_global(part: &Part<'_>, id: u32) -> bool {
    part.index.decorations(id).any(|found| HOST_ACCESS.contains(&found.decoration))
}

#[cold]
fn twice(parts: &[Part<'_>], name: &str, first: Claim, second: Claim) -> Error {
    let other = parts.get(first.place.part).map_or("", |part| part.name);
    let message = format!("`{name}` is defined here and in {other}");
    let error = parts.get(second.place.part).map(|part| part.refuse(second.place.at, &message));
    error.unwrap_or_else(|| Error::new(ErrorKind::Build, message)).with_remedy("link with one of the two")
}

#[cold]
fn kinds(parts: &[Part<'_>], name: &str, claim: Claim, kept: Claim) -> Error {
    let what = |claim: Claim| if claim.is_function { "a function" } else { "a variable" };
    let other = parts.get(kept.place.part).map_or("", |part| part.name);
    let message = format!("`{name}` is {} here, and {} in {other}", what(claim), what(kept));
    let error = parts.get(claim.place.part).map(|part| part.refuse(claim.place.at, &message));
    error.unwrap_or_else(|| Error::new(ErrorKind::Build, message))
}

/// One error for each import that nothing defines, with the functions that want it.
#[cold]
fn unresolved(part: &Part<'_>, wanted: &[(u32, String)], errors: &mut Vec<Error>) {
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
        let mut names: Vec<String> = users.iter().take(NAMED).map(|user| format!("`{}`", part.call(*user))).collect();
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

/// Whether two types of functions differ in nothing but what pointers point to.
fn differ_in_pointees(mine: &Part<'_>, wanted: u32, theirs: &Part<'_>, defined: u32) -> bool {
    let (Some(Type::Function { result: r1, parameters: p1 }), Some(Type::Function { result: r2, parameters: p2 })) =
        (types::of(&mine.index, wanted), types::of(&theirs.index, defined))
    else {
        return false;
    };
    let like = |one: u32, other: u32| {
        let pointer = |part: &Part<'_>, id| match types::of(&part.index, id) {
            Some(Type::Pointer { storage, pointee: Some(_) }) => Some(storage),
            _ => None,
        };
        mine.new_of(one) == theirs.new_of(other)
            || pointer(mine, one).is_some_and(|storage| pointer(theirs, other) == Some(storage))
    };
    p1.len() == p2.len() && like(r1, r2) && p1.iter().zip(&p2).all(|(one, other)| like(*one, *other))
}

/// The error of parameters that are passed in different ways.
fn passing(name: &str, mine: &Part<'_>, id: u32, theirs: &Part<'_>, kept: u32) -> Option<Error> {
    let (wanted, defined) = (mine.index.function(id)?, theirs.index.function(kept)?);
    let attributes = |part: &Part<'_>, function: &Function, at: usize| -> HashSet<u32> {
        let parameter = function.parameters.get(at).copied().unwrap_or(0);
        let index: &Index<'_> = &part.index;
        let found = index.decorations(parameter).filter(|found| found.decoration == FUNC_PARAM_ATTR);
        found.filter_map(|found| index.decoration_operand(&found, 0)).collect()
    };
    for at in 0..wanted.parameters.len() {
        let (one, other) = (attributes(mine, wanted, at), attributes(theirs, defined, at));
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

/// A type as text: as deep as functions and pointers go.
fn describe(index: &Index<'_>, id: u32, depth: usize) -> String {
    match types::of(index, id) {
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
