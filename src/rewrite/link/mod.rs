//! How are several images linked into one?
//!
//! Their modules are linked ([`crate::spirv::link`]), and their property sets are merged as the SYCL runtime merges
//! those of images that it links itself (`sycl/source/detail/device_binary_image.cpp`): properties of a kernel or a
//! symbol are united, properties of a whole image must agree.
//!
//! A linked image of SPIR-V is still in state `input`: a device has yet to compile it. Without open imports it needs
//! nothing else.
//!
//! [`Providers`] finds the images that an image needs to be complete, as the runtime does: symbol by symbol, with the
//! imports of the images found, for the same target.

mod properties;

use super::property_sets::{names, text};
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::{Image, State};
use crate::bundle::property_sets::set;
use crate::compat::built_in::{bfloat16_form, can_be_imported};
use crate::compat::examine::Examined;
use crate::container::Arena;
use crate::error::{Error, ErrorKind, Result};
use crate::spirv::Module;
use crate::spirv::link::{Linked, Options, Source, link as link_modules};
use properties::{KernelAspects, Plan};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Image to link.
#[derive(Debug, Clone, Copy)]
pub struct Input<'i, 'k> {
    /// The image.
    pub image: &'i Image<'k>,
    /// Name for error messages.
    pub label: &'i str,
    /// Whether its exports serve only the other images.
    pub internal: bool,
}

/// Result of a link.
#[derive(Debug)]
pub struct Outcome<'k> {
    /// The image.
    pub image: Image<'k>,
    /// Result of linking the modules, without the bytes, which are the image's.
    pub(crate) linked: Linked,
}

/// Links images.
///
/// # Errors
/// All errors: images that cannot be linked (`Usage`: of different targets, states or options, or none of SPIR-V),
/// properties that contradict each other, and those of [`crate::spirv::link::link`].
pub fn link<'k>(arena: &'k Arena, inputs: &[Input<'_, '_>], options: &Options) -> Result<Outcome<'k>, Vec<Error>> {
    agree(inputs, State::Input)?;
    let mut contents: Vec<Cow<'_, [u8]>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        contents.push(input.image.contents().map_err(|error| vec![error.context(input.label)])?);
    }
    let constants = properties::plan(inputs)?;
    let mut sources: Vec<Source<'_>> = Vec::with_capacity(inputs.len());
    for ((input, bytes), spec_ids) in inputs.iter().zip(&contents).zip(constants.numbers.iter()) {
        // A module without property sets is described by its own linkage: all its imports must be defined.
        let told = !input.image.properties.sets.is_empty();
        let required: Option<HashSet<&str>> = told.then(|| input.image.imports().into_iter().collect());
        sources.push(Source {
            name: input.label,
            bytes,
            required,
            spec_ids: spec_ids.clone(),
            internal: input.internal,
        });
    }
    let mut linked = link_modules(&sources, options)?;
    let module = std::mem::take(&mut linked.bytes);
    let hidden = properties::hidden_aspects(inputs, &contents).map_err(|error| vec![error])?;
    let image = combine(arena, inputs, module, &linked, (&constants, &hidden))?;
    Ok(Outcome { image, linked })
}

/// Returns the executable that a device has linked from objects: an image without imports or exports.
///
/// # Errors
/// `Usage` where the objects cannot be one, `Build` where their properties contradict each other.
pub(crate) fn executable<'k>(
    arena: &'k Arena,
    inputs: &[Input<'_, '_>],
    binary: Vec<u8>,
) -> Result<Image<'k>, Vec<Error>> {
    agree(inputs, State::Object)?;
    let image = combine(arena, inputs, binary, &Linked::default(), (&properties::plan(inputs)?, &[]))?;
    Ok(Image { declared: Declared::from(NATIVE), ..image })
}

/// `sycl_device_binary_type`: native code.
const NATIVE: u8 = 1;

/// Combines images into one with this payload. `hidden` are the aspects that the code of their kernels does not show.
fn combine<'k>(
    arena: &'k Arena,
    inputs: &[Input<'_, '_>],
    payload: Vec<u8>,
    linked: &Linked,
    (constants, hidden): (&Plan, &[KernelAspects<'_>]),
) -> Result<Image<'k>, Vec<Error>> {
    let one = |error| vec![error];
    let properties = properties::merge(arena, inputs, linked, (constants, hidden))?;
    let first = inputs.first().ok_or_else(nothing)?.image;
    let keep = |value: &str| text(arena, value).map_err(one);
    let mut image = Image {
        declared: Declared::None,
        target: keep(first.target)?,
        arch: keep(first.arch)?,
        offload_kind: keep(first.offload_kind)?,
        compile_options: keep(first.compile_options)?,
        link_options: keep(first.link_options)?,
        origin: first.origin,
        ..Image::bare(arena.keep(payload).map_err(one)?, 0)
    };
    image.properties = properties;
    let mut there = HashSet::new();
    let exported: HashSet<&str> = linked.exports.iter().map(String::as_str).collect();
    for input in inputs {
        let exports: HashSet<&str> = input.image.exports().into_iter().collect();
        for entry in &input.image.entries {
            // Entries are kernels and exported functions; exported functions may be gone.
            let is_left = !exports.contains(entry) || exported.contains(entry);
            if is_left && there.insert(*entry) {
                image.entries.push(keep(entry)?);
            }
        }
    }
    Ok(image)
}

/// Lists the exports and imports of a module without property sets in property sets, so that images can be linked by
/// them. Variables are listed too: the device's linker resolves them like functions, although the runtime is not told
/// of them ([`prepare::copy_with_symbols`](crate::rewrite::prepare::copy_with_symbols)).
///
/// # Errors
/// `Input` where the arena is full or the module is damaged.
pub(crate) fn list_symbols<'k>(arena: &'k Arena, image: &mut Image<'k>) -> Result<()> {
    if !image.properties.sets.is_empty() || image.format() != Format::SpirV {
        return Ok(());
    }
    let module = Module::parse(&image.contents()?)?;
    for (set, symbols) in [(set::EXPORTED, &module.exports), (set::IMPORTED, &module.imports)] {
        let of_images = symbols.iter().filter(|symbol| set == set::EXPORTED || can_be_imported(symbol));
        let symbols: Vec<&str> = of_images.map(String::as_str).collect();
        image.properties.sets.extend(names(arena, set, &symbols)?);
    }
    Ok(())
}

fn nothing() -> Vec<Error> {
    vec![Error::new(ErrorKind::NoDeviceCode, "there are no images to link")]
}

/// Checks that images can be linked: SPIR-V in state `input`, or objects.
///
/// # Errors
/// `Usage` for each that disagrees with the first.
pub(crate) fn agree(inputs: &[Input<'_, '_>], wanted: State) -> Result<(), Vec<Error>> {
    let Some(first) = inputs.first() else { return Err(nothing()) };
    let mut errors = Vec::new();
    for input in inputs {
        let usage = |message: String, remedy: &str| {
            Error::new(ErrorKind::Usage, message).with_remedy(remedy.to_owned()).context(input.label)
        };
        let format = input.image.format();
        let state = input.image.state_of(format);
        let remedy = match (wanted, state) {
            (State::Input, State::Object) => "a device links what it compiled: `--for TARGET`",
            (State::Object, State::Input) => "`compile` makes objects of it",
            _ => "select other images with --state or --image",
        };
        if state != wanted {
            let message = format!(
                "this is in state `{}`, and what is linked so is in state `{}` (SYCL: errc::invalid)",
                state.name(),
                wanted.name()
            );
            errors.push(usage(message, remedy));
            continue;
        }
        if wanted == State::Input && format != Format::SpirV {
            errors.push(usage(format!("this is {}, and what is linked is SPIR-V", format.name()), remedy));
            continue;
        }
        let (mine, theirs) = (input.image, first.image);
        for (what, mine, theirs) in [
            ("target", mine.target, theirs.target),
            ("architecture", mine.arch, theirs.arch),
            ("programming model", mine.offload_kind, theirs.offload_kind),
            ("compile options", mine.compile_options, theirs.compile_options),
            ("link options", mine.link_options, theirs.link_options),
        ] {
            if mine != theirs {
                let message = format!("{what} `{mine}`, where {} has `{theirs}` (SYCL: errc::invalid)", first.label);
                errors.push(usage(message, "select images that agree, with --image or --where 'target = NAME'"));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Imports and exports of an image.
#[derive(Debug)]
struct Symbols<'p> {
    target: &'p str,
    imports: Vec<&'p str>,
    /// Whether it is a device library for devices with bfloat16 instructions.
    is_native_library: bool,
}

/// Images that export each symbol.
#[derive(Debug, Default)]
pub struct Providers<'p> {
    images: Vec<Symbols<'p>>,
    /// Numbers of images by target and symbol.
    exporters: HashMap<(&'p str, &'p str), Vec<usize>>,
}

/// Images and symbols that an image needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Images, by position among those given, in the order in which they are found.
    pub images: Vec<usize>,
    /// Symbols that no image exports.
    pub missing: Vec<String>,
    /// Symbols that several images export which are equally near, with these; the first is taken.
    pub(crate) rivals: Vec<(String, Vec<usize>)>,
}

impl<'p> Providers<'p> {
    /// Collects the exports of images from their property sets.
    pub fn from_property_sets(images: &'p [Image<'_>]) -> Providers<'p> {
        let mut providers = Providers::default();
        for image in images {
            providers.add(image, image.exports(), image.imports());
        }
        providers
    }

    /// Collects the exports of images from their property sets, or from the module where there are none.
    pub(crate) fn from_images(images: &'p [Examined<'_, '_>]) -> Providers<'p> {
        let mut providers = Providers::default();
        for examined in images {
            let texts = |names: &'p [String]| names.iter().map(String::as_str).collect::<Vec<&'p str>>();
            providers.add(examined.image, texts(&examined.exports), texts(&examined.imports));
        }
        providers
    }

    fn add(&mut self, image: &'p Image<'_>, exports: Vec<&'p str>, imports: Vec<&'p str>) {
        for symbol in exports {
            self.exporters.entry((image.target, symbol)).or_default().push(self.images.len());
        }
        let is_native_library = bfloat16_form(image) == Some(1);
        self.images.push(Symbols { target: image.target, imports, is_native_library });
    }

    /// Returns the needs of one of the images. Of several exporters of a symbol the first is taken; of device libraries
    /// the one that every device can run (`SYCL/devicelib metadata`: `bfloat16` 0).
    pub fn needs(&self, at: usize) -> Needs {
        self.needs_of(at, &|_, _| Some((false, 0)))
    }

    /// Returns the needs of one of the images, where some exporters are nearer to an importer than others: `distance` of the
    /// two images, the least where the first part is false, none where one is no exporter for it.
    pub(crate) fn needs_of(&self, at: usize, distance: &dyn Fn(usize, usize) -> Option<(bool, usize)>) -> Needs {
        let mut needs = Needs::default();
        let mut met = HashSet::from([at]);
        let mut queue = vec![at];
        let mut asked = HashSet::new();
        while let Some(at) = queue.pop() {
            let Some(image) = self.images.get(at) else { continue };
            for symbol in &image.imports {
                if !asked.insert(*symbol) {
                    continue;
                }
                let exporters = self.exporters.get(&(image.target, *symbol)).map(Vec::as_slice).unwrap_or_default();
                let native = |at: usize| self.images.get(at).is_some_and(|image| image.is_native_library);
                let ranked = exporters.iter().filter_map(|from| Some((distance(at, *from)?, native(*from), *from)));
                let nearest = ranked.clone().min_by_key(|(distance, native, _)| (*distance, *native));
                let equal = |one: &((bool, usize), bool, usize)| {
                    nearest.is_some_and(|(far, native, _)| (far, native) == (one.0, one.1))
                };
                let rivals: Vec<usize> = ranked.filter(equal).map(|(_, _, from)| from).collect();
                if rivals.len() > 1 {
                    needs.rivals.push(((*symbol).to_owned(), rivals));
                }
                match nearest.map(|(_, _, from)| from) {
                    Some(chosen) if met.insert(chosen) => {
                        needs.images.push(chosen);
                        queue.push(chosen);
                    }
                    Some(_) => {}
                    None => needs.missing.push((*symbol).to_owned()),
                }
            }
        }
        needs
    }
}
