//! Which images are one piece of code, and which translation units are in it?
//!
//! An image that imports what another one exports is linked with it; each of them counts as a source. With `off` all
//! images that can be one are.

use super::{Input, Mode, Source};
use crate::bundle::aspect::{self, Epoch};
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property_sets::set;
use crate::bundle::requirements::{FixedTarget, Requirements, target_number};
use crate::compat::aspects::Code;
use crate::container::Arena;
use crate::device::table::TargetTable;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::link::{self, link};
use crate::rewrite::prepare::{Payload, store};
use crate::spirv::Module;
use crate::spirv::index::Index;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

/// The targets that inputs are fixed to.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    all: Option<BTreeSet<String>>,
    by_file: HashMap<String, BTreeSet<String>>,
}

impl Fixed {
    /// Reads `TARGET,...` and `INPUT=TARGET,...`.
    ///
    /// # Errors
    /// `Usage` where an input is none, or a target unknown.
    pub(crate) fn parse(table: &TargetTable, texts: &[String], files: &[PathBuf]) -> Result<Fixed> {
        let mut fixed = Fixed::default();
        for text in texts {
            let (file, names) =
                text.rsplit_once('=').map_or((None, text.as_str()), |(file, names)| (Some(file), names));
            let names = names.split(',').filter(|name| !name.is_empty());
            let mut targets = BTreeSet::new();
            for name in names {
                targets.extend(named(table, name)?);
            }
            match file {
                // An empty list is how a build system says that there is none.
                _ if targets.is_empty() => {}
                None => fixed.all = Some(targets),
                Some(file) if files.iter().any(|known| known.as_os_str() == file) => {
                    fixed.by_file.insert(file.to_owned(), targets);
                }
                Some(file) => {
                    let error = Error::new(ErrorKind::Usage, format!("--fixed-targets: `{file}` is no input"));
                    return Err(error.with_remedy("write the input as on the command line"));
                }
            }
        }
        Ok(fixed)
    }

    /// The fixed targets of an input whose image is fixed to `recorded` already.
    fn of_input(&self, file: &str, recorded: Option<Vec<FixedTarget>>) -> Option<BTreeSet<String>> {
        let recorded: Option<BTreeSet<String>> = recorded.map(|all| all.iter().map(FixedTarget::label).collect());
        let asked = self.by_file.get(file).or(self.all.as_ref());
        match (asked, recorded) {
            (Some(asked), Some(recorded)) => Some(asked & &recorded),
            (asked, recorded) => asked.cloned().or(recorded),
        }
    }
}

/// The targets of the device configuration that a spelling means, or the aspect that it names.
fn named(table: &TargetTable, spelling: &str) -> Result<Vec<String>> {
    if aspect::number(Epoch::From2026, spelling).is_some() {
        return Ok(vec![spelling.to_owned()]);
    }
    Ok(table.resolve(spelling)?.targets.iter().map(|target| target.name.clone()).collect())
}

/// The number that stands for a target: that of an aspect, else that of a name.
pub(crate) fn number_of(target: &str, epoch: Epoch) -> u32 {
    let unnamed = || target.strip_prefix("target#").and_then(|number| number.parse().ok());
    aspect::number(epoch, target).or_else(unnamed).unwrap_or_else(|| target_number(target))
}

/// One piece of code.
pub(crate) struct Unit<'k> {
    /// The name in messages.
    pub(crate) label: String,
    /// The image, linked where it is made of several.
    pub(crate) image: Image<'k>,
    /// The index of its module, where it is the only one.
    pub(crate) index: Option<Index<'k>>,
    sources: Vec<Source>,
    epoch: Epoch,
    /// The images of the input that it stands for.
    pub(crate) replaces: Vec<usize>,
}

impl<'k> Unit<'k> {
    /// The input of the library, taken out of the unit.
    pub(crate) fn input(&mut self) -> Input<'_, 'k> {
        let sources = std::mem::take(&mut self.sources);
        Input { image: &self.image, label: &self.label, sources, epoch: self.epoch }
    }
}

/// Images to take apart.
pub(crate) struct Inputs<'i, 'k> {
    /// The images.
    pub(crate) images: &'i [Image<'k>],
    /// Names of the images in messages.
    pub(crate) labels: &'i [String],
    /// The files that they are from, each with the number of its images.
    pub(crate) files: &'i [(String, usize)],
}

/// The pieces of code among the images, in the order of their first ones. Where only SPIR-V counts (`spirv`), others are
/// left out.
///
/// # Errors
/// Errors of inflating and linking.
pub(crate) fn units<'k>(
    arena: &'k Arena,
    gathered: &Inputs<'_, 'k>,
    mode: Mode,
    epoch: Epoch,
    fixed: &Fixed,
    spirv: bool,
) -> Result<Vec<Unit<'k>>> {
    let mut images = gathered.images.to_vec();
    for image in &mut images {
        store(arena, image, Payload::Plain)?;
    }
    let is_code: Vec<bool> = images.iter().map(|image| image.format() == Format::SpirV).collect();
    let files: Vec<&str> =
        gathered.files.iter().flat_map(|(file, count)| std::iter::repeat_n(file.as_str(), *count)).collect();
    let mut pieces: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, first) in united(&images, &is_code, mode).into_iter().enumerate() {
        pieces.entry(first).or_default().push(at);
    }
    let mut units = Vec::with_capacity(pieces.len());
    let only = pieces.len() == 1;
    for members in pieces.into_values() {
        let of = |at: &usize| Some((images.get(*at)?, gathered.labels.get(*at)?, *is_code.get(*at)?, files.get(*at)?));
        let members: Vec<_> = members.iter().filter_map(of).collect();
        if spirv && !members.iter().all(|(_, _, is_code, _)| *is_code) {
            continue;
        }
        // One that is linked of several has another module than these; of many images all indexes are too much to keep.
        let (alone, mut kept) = (only && members.len() == 1, None);
        let source = |(image, _, is_code, file): &(&Image<'k>, &String, bool, &&str)| -> Source {
            let index = Some(image.stored).filter(|_| *is_code).and_then(|bytes| Index::read(bytes).ok());
            let code = index.as_ref().map(Code::read).unwrap_or_default();
            kept = index.filter(|_| alone);
            let requirements = Requirements::read(image, epoch);
            let recorded = image.properties.aspect_numbers().is_some();
            Source {
                code,
                recorded: recorded.then(|| requirements.aspects.into_iter().collect()),
                sub_groups: requirements.reqd_sub_group_sizes,
                fixed_targets: fixed.of_input(file, requirements.fixed_targets),
            }
        };
        let label = members.iter().map(|(_, label, _, _)| label.as_str()).collect::<Vec<_>>().join(", ");
        let image = match members.as_slice() {
            [(image, ..)] => (*image).clone(),
            several => {
                let inputs: Vec<link::Input<'_, '_>> =
                    several.iter().map(|(image, label, ..)| link::Input { image, label, internal: false }).collect();
                let options = crate::spirv::link::Options { partial: true };
                link(arena, &inputs, &options).map_err(|errors| first(errors, &label))?.image
            }
        };
        let sources = members.iter().map(source).collect();
        units.push(Unit {
            image,
            index: kept,
            sources,
            epoch,
            replaces: members.iter().filter(|(_, _, is_code, _)| *is_code).map(|(image, ..)| image.index).collect(),
            label,
        });
    }
    Ok(units)
}

fn first(errors: Vec<Error>, label: &str) -> Error {
    let error = errors.into_iter().next();
    error.unwrap_or_else(|| Error::input("cannot be linked")).context(format!("linking {label}"))
}

/// For each image the first one of its piece of code.
fn united(images: &[Image<'_>], is_code: &[bool], mode: Mode) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..images.len()).collect();
    let mut providers: HashMap<String, Option<usize>> = HashMap::new();
    let mut imports: Vec<(usize, String)> = Vec::new();
    let mut alike = HashMap::new();
    for (at, image) in images.iter().enumerate().filter(|(at, _)| is_code.get(*at) == Some(&true)) {
        // The runtime chooses among the images of the device library, and links those of virtual functions.
        let apart = !image.properties.set(set::DEVICELIB).is_empty() || image.is_of_a_set();
        if apart {
            continue;
        }
        if mode == Mode::Off {
            // Kernels that require different sizes are in different images in any mode. Aspects have no bearing here.
            let Requirements { reqd_sub_group_sizes, reqd_work_group_sizes, .. } =
                Requirements::read(image, Epoch::From2026);
            let texts = [image.target, image.compile_options, image.link_options];
            let first = *alike.entry((texts, reqd_sub_group_sizes, reqd_work_group_sizes)).or_insert(at);
            unite(&mut firsts, first, at);
        }
        let told = !image.properties.sets.is_empty();
        let facts = Module::parse(image.stored).unwrap_or_default();
        let kernels: HashSet<&str> = facts.kernels().collect();
        let exports: Vec<String> = match told {
            true => image.exports().into_iter().map(str::to_owned).collect(),
            false => facts.exports.iter().filter(|name| !kernels.contains(name.as_str())).cloned().collect(),
        };
        for symbol in exports {
            // Of several providers the runtime chooses one.
            providers.entry(symbol).and_modify(|known| *known = None).or_insert(Some(at));
        }
        let wanted = if told { image.imports().into_iter().map(str::to_owned).collect() } else { facts.imports };
        imports.extend(wanted.into_iter().map(|symbol| (at, symbol)));
    }
    for (at, symbol) in imports {
        if let Some(Some(provider)) = providers.get(&symbol) {
            unite(&mut firsts, *provider, at);
        }
    }
    (0..images.len()).map(|at| root(&mut firsts, at)).collect()
}

fn root(firsts: &mut [usize], mut at: usize) -> usize {
    while let Some(next) = firsts.get(at).copied().filter(|next| *next != at) {
        let after = firsts.get(next).copied().unwrap_or(next);
        if let Some(place) = firsts.get_mut(at) {
            *place = after;
        }
        at = next;
    }
    at
}

fn unite(firsts: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(firsts, one), root(firsts, other));
    if let Some(place) = firsts.get_mut(one.max(other)) {
        *place = one.min(other);
    }
}
