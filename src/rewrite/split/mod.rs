//! Which images do the kernels and exported functions of an image make?
//!
//! The rules of the design document for optional kernel features ("Changes to the post-link tool"): first by what the user
//! asks for ([`Mode`]), then so that the kernels and exported functions of an image need the same of a device. A subset of
//! the module is cut for each group ([`crate::spirv::subset`]), checked, and given its property sets.
//!
//! Groups come in the order in which the module names their first kernel or function; so do those within a group.
//!
//! | file | the question it answers |
//! |---|---|
//! | [`entry`] | which kernels and exported functions are there, and what does each need? |
//! | `group` | which of them stay together? |
//! | [`check`] | which functions need more than their callers' image says? |
//! | `carry` | which property sets does each image have? |
//! | [`spool`] | where do images wait while others are cut? |
//! | `constants` | which specialization constants are left, with which defaults? |

mod carry;
pub mod check;
mod constants;
pub mod entry;
mod group;
pub mod spool;

use crate::bundle::aspect::Epoch;
use crate::bundle::format::Declared;
use crate::bundle::image::Image;
use crate::bundle::property::set;
use crate::compat::aspects::Code;
use crate::container::arena::Arena;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::rewrite::property_sets::text;
use crate::spirv::Module;
use crate::spirv::index::Index;
use crate::spirv::subset::{Cutter, Keep};
use check::Warning;
use entry::Entry;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How images are made of kernels before requirements are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One for each kernel and each exported function.
    PerKernel,
    /// One for each source.
    PerSource,
    /// What DPC++ takes for best: the same as per source.
    Auto,
    /// One for all.
    Off,
}

/// A translation unit that the code comes from.
#[derive(Debug, Default)]
pub struct Source {
    /// Its code, for itself.
    pub code: Code,
    /// The aspects that its compiler recorded, by SYCL name; none where nothing was.
    pub recorded: Option<BTreeSet<String>>,
    /// The sub-group size that was recorded, which holds for functions too where the source has no kernels.
    pub sub_group: Option<u32>,
    /// The targets of `-fsycl-fixed-targets`, where it was compiled so.
    pub fixed_targets: Option<BTreeSet<String>>,
}

/// An image to split.
#[derive(Debug)]
pub struct Input<'i, 'k> {
    /// The image, with its property sets; its payload is not compressed.
    pub image: &'i Image<'k>,
    /// What messages call it.
    pub label: &'i str,
    /// The translation units that were linked into it: one where it is as its compiler made it.
    pub sources: Vec<Source>,
    /// How its aspects are numbered.
    pub epoch: Epoch,
}

/// What is wanted.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// The mode.
    pub mode: Mode,
    /// Which explicit group a kernel or function of a name belongs to; all of such a group stay together whatever they
    /// need.
    pub explicit: &'o dyn Fn(&str) -> Option<usize>,
    /// How the aspects of the new images are numbered.
    pub epoch: Epoch,
    /// The number of the aspect that stands for a fixed target.
    pub target_aspect: &'o dyn Fn(&str) -> Option<u32>,
    /// Where the images of a module of so many bytes wait while others are cut; [`spool::in_memory`] for a module as large
    /// as a few times the memory allows.
    pub spool: &'o spool::Opening<'o>,
}

/// The images of one input.
#[derive(Debug)]
pub struct Outcome<'k> {
    /// The images in order.
    pub images: Vec<Image<'k>>,
    /// What is odd about functions of other sources, image by image.
    pub warnings: Vec<Warning>,
}

/// Splits an image of SPIR-V.
///
/// # Errors
/// `Input` where the module cannot be taken apart; `Usage` where a device global would be in two images that may have one
/// only, or the epoch lacks an aspect.
pub fn split<'k>(arena: &'k Arena, input: Input<'_, 'k>, options: &Options<'_>) -> Result<Outcome<'k>> {
    if is_whole(input.image) {
        return Ok(Outcome { images: vec![input.image.clone()], warnings: Vec::new() });
    }
    let index = Index::read(input.image.stored)?;
    split_indexed(arena, input, index, options)
}

/// Whether an image is found by other means than by the names of kernels, and as a whole.
fn is_whole(image: &Image<'_>) -> bool {
    !image.properties.set(set::DEVICELIB).is_empty()
        || image.properties.get(set::VIRTUAL_FUNCTIONS, "virtual-functions-set").is_some()
}

/// The same where the index of the image's module is there already, which takes about as much memory as the module.
///
/// # Errors
/// Those of [`split`].
pub fn split_indexed<'k>(
    arena: &'k Arena,
    mut input: Input<'_, 'k>,
    index: Index<'k>,
    options: &Options<'_>,
) -> Result<Outcome<'k>> {
    let image = input.image;
    if is_whole(image) {
        return Ok(Outcome { images: vec![image.clone()], warnings: Vec::new() });
    }
    let (entries, variables) = (entry::entries(&index, &input), entry::variables(&index, image));
    if let [only] = input.sources.as_mut_slice() {
        // What leads where counts between sources.
        only.code = Code::default();
    }
    let sources = input.sources.as_slice();
    let fixed = |source: usize| -> Vec<String> {
        let targets = sources.get(source).and_then(|source| source.fixed_targets.as_ref());
        targets.into_iter().flatten().cloned().collect()
    };
    let groups = group::groups(&entries, options, &fixed);
    if groups.is_empty() {
        // A library of functions that are linked by other means than exports: nothing tells them apart.
        return Ok(Outcome { images: vec![image.clone()], warnings: Vec::new() });
    }
    let mut cutter = match Cutter::new(&index) {
        Ok(cutter) => cutter,
        // What cannot be taken apart need not be.
        Err(_) if groups.len() <= 1 && index.stopped.is_none() => {
            return Ok(Outcome { images: vec![image.clone()], warnings: Vec::new() });
        }
        Err(error) => return Err(error),
    };
    let linked = check::Linked::of(sources);
    let all: HashSet<Cow<'k, str>> = index.entry_points.iter().map(|point| point.name.clone()).collect();
    let of_functions = image.properties.set(set::PARAM_OPT).iter().any(|property| !all.contains(property.name));
    let functions = if of_functions { names(&index) } else { HashSet::new() };
    let size = image.stored.len() as u64;
    let mut room = size.saturating_mul(limits::MAX_SPLIT_RATIO).max(limits::MAX_SPLIT_FLOOR);
    let mut warnings = Vec::new();
    let mut made = Vec::with_capacity(groups.len());
    let mut waiting = spool::Waiting::begin(options.spool, size)?;
    let scoped = variables.iter().filter(|variable| variable.image_scope).map(|variable| variable.symbol.as_str());
    let mut users: HashMap<&str, Option<usize>> = scoped.map(|symbol| (symbol, None)).collect();
    let everywhere: Vec<u32> =
        variables.iter().filter(|variable| variable.everywhere).map(|variable| variable.id).collect();
    for group in &groups {
        let members: Vec<&Entry<'k>> = group.iter().filter_map(|at| entries.get(*at)).collect();
        let kept: Vec<usize> = members.iter().filter_map(|entry| entry.kernel()).collect();
        let mut ids: Vec<u32> = members.iter().filter_map(|entry| entry.function()).collect();
        ids.extend(&everywhere);
        let bytes = match cutter.cut(&Keep { entry_points: &kept, ids: &ids }) {
            Ok(bytes) => bytes,
            Err(_) if groups.len() <= 1 => image.stored.to_vec(),
            Err(error) => return Err(error),
        };
        room = room.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
        let facts = Module::parse(&bytes)?;
        for symbol in &facts.exports {
            let user = users.get_mut(symbol.as_str()).and_then(|user| user.replace(made.len()));
            if user.is_some_and(|user| user != made.len()) {
                return Err(in_two_images(symbol));
            }
        }
        let here = if of_functions { names(&Index::read(&bytes)?) } else { HashSet::new() };
        let mut checked = check::check(&linked, sources, &members, options)?;
        warnings.append(&mut checked.warnings);
        made.push((waiting.add(arena, bytes)?, members, carry::Symbols::of(facts), checked, here));
    }
    // All is cut: what was needed for it takes several times the module.
    drop(cutter);
    drop(index);
    // What all parts have in common; the lists of the whole are as long as it has kernels.
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
    waiting.end(arena, &mut images)?;
    // Constants that no part uses are nobody's, and stay with all.
    let constants: HashSet<u32> =
        made.iter().flat_map(|(_, _, symbols, ..)| symbols.spec_constants.iter().copied()).collect();
    let whole = carry::Whole { variables: &variables, kernels: &all, functions: &functions, constants: &constants };
    let carried = carry::Carried::of(&input, &whole);
    for (part, (_, members, symbols, checked, functions)) in images.iter_mut().zip(&made) {
        part.properties = carried.properties(arena, options, &carry::Part { members, symbols, checked, functions })?;
        let carried = part.properties.sets.iter().map(|set| size_of_val(set.properties.as_slice()));
        room = room.checked_sub(carried.sum::<usize>() as u64).ok_or_else(too_large)?;
    }
    Ok(Outcome { images, warnings })
}

/// The name of an entry, for as long as the module is there.
fn name_of<'k>(arena: &'k Arena, entry: &Entry<'k>) -> Result<&'k str> {
    match &entry.name {
        Cow::Borrowed(name) => Ok(name),
        Cow::Owned(name) => text(arena, name),
    }
}

/// What the functions of a module are called.
fn names(index: &Index<'_>) -> HashSet<String> {
    index.functions.iter().filter_map(|function| index.name(function.id)).collect()
}

fn too_large() -> Error {
    let times = limits::MAX_SPLIT_RATIO;
    Error::input(format!("the parts come to more than {times} times the module")).with_remedy("split into fewer")
}

fn in_two_images(symbol: &str) -> Error {
    let message = format!(
        "device_global variable '{symbol}' with property \"device_image_scope\" is used in more than one device image"
    );
    Error::new(ErrorKind::Usage, message).with_remedy("keep the kernels that use it together: `--entry KERNEL,KERNEL`")
}
