//! How is an image split by its kernels and exported functions?
//!
//! The rules are those of the design document for optional kernel features ("Changes to the post-link tool"): entries
//! are grouped first as the user asks ([`Mode`]), then so that all entries of an image have the same requirements. For
//! each group a subset of the module is cut ([`crate::spirv::subset`]), checked, and given its property sets.
//!
//! Groups are in the order of their first kernel or function in the module, and so are the entries of a group.
//!
//! | file | the question it answers |
//! |---|---|
//! | `entry` | which kernels and exported functions are there, and what does each need? |
//! | `check` | which functions need more than their callers' image says? |
//! | `properties` | which property sets does each image have? |
//!
//! The images together are larger than the module, and only their names are needed until all are cut. In memory they would
//! dominate the cost, so a caller can have them written to a file that it maps at the end ([`Spool`]).

pub(crate) mod check;
pub(crate) mod entry;
mod properties;
pub(crate) mod units;

use super::property_sets::text;
use crate::bundle::aspect::Epoch;
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::compat::aspects::Code;
use crate::container::Arena;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::spirv::Module;
use crate::spirv::index::Index;
use crate::spirv::subset::{Cutter, Keep, shared_variables};
use check::Warning;
use entry::Entry;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Grouping of kernels before requirements are considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One image for each kernel and each exported function.
    PerKernel,
    /// One image for each source.
    PerSource,
    /// DPC++'s default, which is per source.
    Auto,
    /// One image for all.
    Off,
}

/// Translation unit of the code.
#[derive(Debug, Default)]
pub struct Source {
    /// Code of this unit alone.
    pub code: Code,
    /// Aspects that its compiler recorded, by SYCL name; none where nothing was recorded.
    pub recorded: Option<BTreeSet<String>>,
    /// Recorded sub-group sizes, which hold for functions too where the source has no kernels.
    pub sub_groups: Vec<u32>,
    /// Targets of `-fsycl-fixed-targets`, if it was compiled so.
    pub fixed_targets: Option<BTreeSet<String>>,
}

/// Image to split.
#[derive(Debug)]
pub struct Input<'i, 'k> {
    /// Image with its property sets; its payload is not compressed.
    pub image: &'i Image<'k>,
    /// Name for messages.
    pub label: &'i str,
    /// Translation units that were linked into it; one where it is as its compiler made it.
    pub sources: Vec<Source>,
    /// Epoch of its aspect numbers.
    pub epoch: Epoch,
}

/// Options of a split.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// Grouping of kernels.
    pub mode: Mode,
    /// Returns the explicit group of a kernel or function by name; an explicit group stays together whatever its
    /// members require.
    pub explicit: &'o dyn Fn(&str) -> Option<usize>,
    /// Epoch of the aspect numbers of the new images.
    pub epoch: Epoch,
    /// Returns the number that stands for a fixed target.
    pub target_number: &'o dyn Fn(&str) -> u32,
    /// Stores the bytes of images. [`in_memory`] is for modules that fit memory a few times over.
    pub spool: &'o Spool<'o>,
    /// Bytes that the images and their property sets may still have; shared by the splits of one output. [`room_for`] is
    /// what an output begins with.
    pub room: &'o Cell<u64>,
}

/// Images of one input.
#[derive(Debug)]
pub struct Outcome<'k> {
    /// Images in order.
    pub images: Vec<Image<'k>>,
    /// Positions of the images whose bytes are in the spool, with where they are; here these are empty.
    pub spooled: Vec<(usize, Range<usize>)>,
    /// Warnings about functions of other sources, image by image.
    pub(crate) warnings: Vec<Warning>,
}

/// Splits an image of SPIR-V.
///
/// # Errors
/// `Input` where the module cannot be split; `Usage` where a device global that only one image may have would be in
/// two, or where the epoch lacks an aspect.
pub fn split<'k>(arena: &'k Arena, input: Input<'_, 'k>, options: &Options<'_>) -> Result<Outcome<'k>> {
    if must_stay_whole(input.image) {
        return Ok(unsplit(input.image));
    }
    if input.image.format() == Format::LlvmBitcode {
        let error = Error::input("this is LLVM bitcode, which is not split here, only read");
        return Err(
            error.with_remedy("split it with sycl-post-link, or translate it first: llvm-spirv IN.bc -o OUT.spv")
        );
    }
    // Native code stays as it is. Whatever is of no known form may be a damaged module.
    if !matches!(input.image.format(), Format::SpirV | Format::Unknown) {
        return Ok(unsplit(input.image));
    }
    let index = Index::read(input.image.stored)?;
    split_indexed(arena, input, index, options)
}

fn unsplit<'k>(image: &Image<'k>) -> Outcome<'k> {
    Outcome { images: vec![image.clone()], spooled: Vec::new(), warnings: Vec::new() }
}

/// Whether an image must stay whole because the runtime does not find it by kernel names.
fn must_stay_whole(image: &Image<'_>) -> bool {
    !image.properties.set(set::DEVICELIB).is_empty()
        || image.properties.get(set::VIRTUAL_FUNCTIONS, key::DEFINED_FUNCTIONS).is_some()
}

/// Splits an image like [`split`], with an index of its module, which takes about as much memory as the module.
///
/// # Errors
/// Errors of [`split`].
pub(crate) fn split_indexed<'k>(
    arena: &'k Arena,
    mut input: Input<'_, 'k>,
    index: Index<'k>,
    options: &Options<'_>,
) -> Result<Outcome<'k>> {
    let image = input.image;
    if must_stay_whole(image) {
        return Ok(unsplit(image));
    }
    let (entries, variables) = (entry::entries(&index, &input), entry::variables(&index, image));
    if let [only] = input.sources.as_mut_slice() {
        // The call graph is only needed between sources.
        only.code = Code::default();
    }
    let sources = input.sources.as_slice();
    let fixed = |source: usize| -> Vec<String> {
        let targets = sources.get(source).and_then(|source| source.fixed_targets.as_ref());
        targets.into_iter().flatten().cloned().collect()
    };
    let groups = groups(&entries, options, &fixed);
    if groups.is_empty() {
        // A library whose functions are linked by other means than exports cannot be divided.
        return Ok(unsplit(image));
    }
    if groups.len() > limits::MAX_SPLIT_IMAGES {
        let (images, most) = (groups.len(), limits::MAX_SPLIT_IMAGES);
        return Err(Error::input(format!("it would become {images} images; the limit is {most}"))
            .with_remedy("split into fewer"));
    }
    let cutter = Module::parse(image.stored)?.check_names().and_then(|()| Cutter::new(&index));
    let mut cutter = match cutter {
        Ok(cutter) => cutter,
        // A module that stays whole need not be cut.
        Err(_) if groups.len() <= 1 && index.stopped.is_none() => {
            return Ok(unsplit(image));
        }
        Err(error) => return Err(error),
    };
    let linked = check::LinkedSources::collect(sources);
    let all: HashSet<Cow<'k, str>> = index.entry_points.iter().map(|point| point.name.clone()).collect();
    let of_functions = image.properties.set(set::PARAM_OPT).iter().any(|property| !all.contains(property.name));
    let functions = if of_functions { names(&index) } else { HashSet::new() };
    let take = |bytes: usize| -> Result<()> {
        options.room.set(options.room.get().checked_sub(bytes as u64).ok_or_else(too_large)?);
        Ok(())
    };
    let mut warnings = Vec::new();
    let mut made = Vec::with_capacity(groups.len());
    let mut spooled = Vec::new();
    let scoped = variables.iter().filter(|variable| variable.image_scope).map(|variable| variable.symbol.as_str());
    let mut users: HashMap<&str, Option<usize>> = scoped.map(|symbol| (symbol, None)).collect();
    let mut shared = shared_variables(&index);
    // The runtime has device globals of the same memory in all images.
    for global in variables.iter().filter(|variable| variable.unique.is_some()) {
        index.definition(global.id).and_then(|number| shared.remove(&(number as u32)));
    }
    let mut images_of: HashMap<u32, usize> = HashMap::new();
    let everywhere: Vec<u32> =
        variables.iter().filter(|variable| variable.everywhere).map(|variable| variable.id).collect();
    // Whoever looks for them uses them from elsewhere: those of no image are the last one's.
    let others = variables.iter().filter(|variable| !variable.everywhere);
    let mut unused: BTreeMap<u32, u32> =
        others.filter_map(|variable| Some((index.definition(variable.id)? as u32, variable.id))).collect();
    for (number, group) in groups.iter().enumerate() {
        let members: Vec<&Entry<'k>> = group.iter().filter_map(|at| entries.get(*at)).collect();
        let kept: Vec<usize> = members.iter().filter_map(|entry| entry.kernel()).collect();
        let mut ids: Vec<u32> = members.iter().filter_map(|entry| entry.function()).collect();
        ids.extend(&everywhere);
        if number.saturating_add(1) == groups.len() {
            ids.extend(unused.values());
        }
        let bytes = match cutter.cut(&Keep { entry_points: &kept, ids: &ids }) {
            Ok(bytes) => bytes,
            Err(_) if groups.len() <= 1 => image.stored.to_vec(),
            Err(error) => return Err(error),
        };
        cutter.live().iter().for_each(|number| _ = unused.remove(number));
        for number in cutter.live().iter().filter(|number| shared.contains_key(number)) {
            let images = images_of.entry(*number).or_default();
            *images = images.saturating_add(1);
        }
        take(bytes.len())?;
        let facts = Module::parse(&bytes)?;
        if groups.len() > 1 {
            facts.check_names()?;
        }
        for symbol in facts.exports.iter().chain(&facts.host_names) {
            let user = users.get_mut(symbol.as_str()).and_then(|user| user.replace(made.len()));
            if user.is_some_and(|user| user != made.len()) {
                return Err(in_two_images(symbol));
            }
        }
        let here = if of_functions { names(&Index::read(&bytes)?) } else { HashSet::new() };
        let mut checked = check::check(&linked, sources, &members, options);
        warnings.append(&mut checked.warnings);
        let stored = match (options.spool)(&bytes)? {
            None => arena.keep(bytes)?,
            Some(place) => {
                spooled.push((made.len(), place));
                &[]
            }
        };
        made.push((stored, members, properties::Symbols::from_module(facts), checked, here));
    }
    let counted = shared.into_iter().filter_map(|(number, variable)| Some((variable, *images_of.get(&number)?)));
    let in_several = counted.filter(|(_, images)| *images > 1);
    warnings.extend(in_several.map(|(variable, images)| Warning::SharedVariable { variable, images }));
    // Freed early: the cutter takes several times the memory of the module.
    drop(cutter);
    drop(index);
    // Fields that all parts share, without the input's entries and properties, which are as many as it has kernels.
    let common = Image {
        declared: Declared::None,
        inflated: true,
        entries: Vec::new(),
        properties: Default::default(),
        ..image.clone()
    };
    let mut images = Vec::with_capacity(made.len());
    for (stored, members, ..) in &made {
        let entries = members.iter().map(|entry| name_of(arena, entry)).collect::<Result<Vec<_>>>()?;
        images.push(Image { index: images.len(), entries, stored, ..common.clone() });
    }
    // Constants that no part uses stay with all parts.
    let constants: HashSet<u32> =
        made.iter().flat_map(|(_, _, symbols, ..)| symbols.spec_constants.iter().copied()).collect();
    let has_sizes = entries.iter().any(|entry| entry.work_group.is_some() || entry.sub_group.is_some());
    let whole = properties::SplitModule {
        variables: &variables,
        kernels: &all,
        functions: &functions,
        constants: &constants,
        has_sizes,
    };
    let carried = properties::InputProperties::collect(&input, &whole);
    for (part, (_, members, symbols, checked, functions)) in images.iter_mut().zip(&made) {
        part.properties =
            carried.properties(arena, options, &properties::Part { members, symbols, checked, functions })?;
        let carried = part.properties.sets.iter().map(|set| size_of_val(set.properties.as_slice()));
        take(carried.sum())?;
    }
    Ok(Outcome { images, spooled, warnings })
}

/// Returns the name of an entry, copied to the arena.
fn name_of<'k>(arena: &'k Arena, entry: &Entry<'k>) -> Result<&'k str> {
    match &entry.name {
        Cow::Borrowed(name) => Ok(name),
        Cow::Owned(name) => text(arena, name),
    }
}

/// Returns the names of the functions of a module.
fn names(index: &Index<'_>) -> HashSet<String> {
    index.functions.iter().filter_map(|function| index.name(function.id)).collect()
}

/// Returns the bytes that the parts of inputs of this many bytes may have together.
pub fn room_for(inputs: u64) -> u64 {
    inputs.saturating_mul(limits::MAX_SPLIT_RATIO).max(limits::MAX_SPLIT_FLOOR)
}

fn too_large() -> Error {
    let times = limits::MAX_SPLIT_RATIO;
    Error::input(format!("the parts come to more than {times} times the input")).with_remedy("split into fewer")
}

fn in_two_images(symbol: &str) -> Error {
    let message = format!(
        "device_global variable '{symbol}' with property \"device_image_scope\" is used in more than one device image"
    );
    Error::new(ErrorKind::Usage, message).with_remedy("keep the kernels that use it together: `--entry KERNEL,KERNEL`")
}

/// Key that all members of a group share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'e> {
    /// Group chosen by the user.
    Explicit(usize),
    /// Single kernel or function.
    Alone(usize),
    /// Source (where the mode separates sources), and fixed targets.
    Fixed(usize, Vec<&'e str>),
    /// Source (where the mode separates sources), and requirements.
    Needs(usize, &'e BTreeSet<String>, Option<[u32; 3]>, [Option<u32>; 2]),
}

/// Returns the positions of the entries of each group.
fn groups(entries: &[Entry<'_>], options: &Options<'_>, fixed: &dyn Fn(usize) -> Vec<String>) -> Vec<Vec<usize>> {
    let targets: Vec<Vec<String>> = entries.iter().map(|entry| fixed(entry.source)).collect();
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for ((at, entry), targets) in entries.iter().enumerate().zip(&targets) {
        let source = if options.mode == Mode::Off { 0 } else { entry.source };
        let key = match (options.explicit)(&entry.name) {
            Some(group) => Key::Explicit(group),
            None if options.mode == Mode::PerKernel => Key::Alone(at),
            None if !targets.is_empty() => Key::Fixed(source, targets.iter().map(String::as_str).collect()),
            None => Key::Needs(source, &entry.aspects, entry.work_group, [entry.dimensions, entry.sub_group]),
        };
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.get_mut(place) {
            group.push(at);
        }
    }
    groups
}

/// Function that stores the bytes of an image outside of memory and returns where, or returns none where they are to stay in
/// memory.
pub(crate) type Spool<'o> = dyn Fn(&[u8]) -> Result<Option<Range<usize>>> + 'o;

/// Keeps all bytes in memory.
///
/// # Errors
/// None.
pub fn in_memory(_: &[u8]) -> Result<Option<Range<usize>>> {
    Ok(None)
}
