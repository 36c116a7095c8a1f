//! Which images does `build` write?
//!
//! Into a linked file's own list, or beside it in an object or library, go the native ones alone: the file registers
//! the others itself. Forms that stand for themselves hold the native images behind what they were compiled from.

use super::emit::{self, Emit, HostTriple, OutputForm, stem_and_folder};
use super::gather::Origin;
use super::sources;
use crate::build::target::CPU_SPEC;
use crate::bundle::Bundle;
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::Image;
use crate::bundle::property::{remove_set, replace_set};
use crate::bundle::property_sets::set;
use crate::bytes::Draft;
use crate::compat::examine::Examined;
use crate::compat::fit::spec;
use crate::container::Arena;
use crate::container::{Host, Kind, elf};
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Reporter, Result};
use crate::rewrite::embed::{Addition, original_indexes};
use crate::rewrite::extract::Names;
use crate::rewrite::image_data::{OutImage, out_image};
use crate::rewrite::layers;
use crate::rewrite::object_file::ObjectFormat;
use crate::rewrite::prepare::{Payload, entries, retarget, store, target_of};
use crate::rewrite::shared::Machine;
use crate::rewrite::specialize;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Native images, and the images that they were compiled from.
pub(crate) struct Compiled<'c, 'a> {
    /// The (first) input.
    pub(crate) host: &'c Host<'c>,
    /// All images of the inputs.
    pub(crate) bundle: &'c Bundle<'a>,
    /// The selected ones.
    pub(crate) images: &'c [Examined<'c, 'a>],
    /// The native images, by the index of the image they were compiled from.
    pub(crate) additions: &'c [Addition<'c>],
    /// The instruction set of those for CPUs, where there are some and one was asked for.
    pub(crate) march: Option<CpuArch>,
    /// Names of the targets, for the output to state.
    pub(crate) targets: &'c [String],
    /// The images whose SPIR-V is not to be in the output.
    pub(crate) drop_spirv: &'c HashSet<usize>,
    /// The images whose native code has what they import in it.
    pub(crate) linked: &'c HashSet<usize>,
}

/// Writes the output; returns its bytes (of a table, with its parts).
///
/// # Errors
/// `Input` where a file cannot be rewritten, `Environment` where it cannot be written; `NoDeviceCode` where there is nothing to put into a library.
pub(crate) fn write(
    reporter: &dyn Reporter,
    form: &OutputForm,
    compiled: &Compiled<'_, '_>,
    path: &Path,
    mode: Option<u32>,
) -> Result<u64> {
    if form.emit == Emit::Embed && compiled.host.kind == Kind::Pe {
        return write_pe(reporter, form, compiled, path, mode);
    }
    if form.emit == Emit::Embed {
        let arena = Arena::with_limit(u64::MAX);
        let additions = match form.compress {
            Some(level) => compressed(&arena, compiled.additions, level)?,
            None => compiled.additions.to_vec(),
        };
        if additions.is_empty() {
            // Nothing can be native: the copy is the file as it is.
            return emit::to(reporter, path, compiled.host.bytes, mode);
        }
        let bytes = layers::build(compiled.host, compiled.bundle, &additions, &notes(compiled))?;
        let bytes = if compiled.drop_spirv.is_empty() { bytes } else { without(compiled, &bytes)? };
        one_march(&bytes)?;
        return emit::to(reporter, path, &bytes, mode);
    }
    let arena = Arena::with_limit(u64::MAX);
    let images = images(&arena, form.emit, compiled)?;
    if images.is_empty() {
        let message = "no image can be native, so there is nothing to put into a library";
        return Err(Error::new(ErrorKind::NoDeviceCode, message));
    }
    let mut form = form.clone();
    if form.host.is_none() && form.emit == Emit::Shared {
        form.host = host(compiled.host);
    }
    emit::write(reporter, &form, images, &origin(reporter, form.emit, compiled), path)
}

/// Writes a linked Windows file with the native images in its list, in place of those that it had of the same targets.
fn write_pe(
    reporter: &dyn Reporter,
    form: &OutputForm,
    compiled: &Compiled<'_, '_>,
    path: &Path,
    mode: Option<u32>,
) -> Result<u64> {
    let arena = Arena::with_limit(u64::MAX);
    // Images for a list of their own are the native ones alone.
    let mut natives = images(&arena, Emit::Shared, compiled)?;
    if natives.is_empty() {
        return emit::to(reporter, path, compiled.host.bytes, mode);
    }
    if let Some(level) = form.compress {
        natives.iter_mut().try_for_each(|image| store(&arena, image, Payload::Zstd(level)))?;
    }
    let new: Vec<OutImage<'_>> = natives.iter().map(out_image).collect();
    let mut drop = layers::replaced(compiled.bundle, &new);
    drop.extend(compiled.drop_spirv.iter().copied());
    let edited = layers::edit(compiled.host.bytes, &drop, &new, &notes(compiled))?;
    emit::to(reporter, path, &edited.bytes, mode)
}

/// Whether the parts of a table would replace files that are no parts of an earlier one, before anything is compiled.
///
/// # Errors
/// `Usage`, naming the file.
pub(crate) fn check_parts(
    emit: Emit,
    path: &Path,
    images: &[Examined<'_, '_>],
    targets: usize,
    inputs: &[&Path],
) -> Result<()> {
    if emit != Emit::Table {
        return Ok(());
    }
    let (stem, _) = stem_and_folder(path);
    let mut names = Vec::new();
    for image in images {
        let parts = Names::for_image(&stem, image, false);
        names.extend(parts.all().map(str::to_owned));
        names.push(format!("{stem}_{}{}", image.image.index, Format::Elf.extension()));
    }
    // With several native images of one, all are numbered anew.
    if targets > 1 {
        let parts = [Format::Elf, Format::Zebin, Format::PatchTokens, Format::SpirV].map(Format::extension);
        for number in 0..images.len().saturating_mul(targets) {
            names.extend(parts.iter().chain(&[".prop", ".sym"]).map(|end| format!("{stem}_{number}{end}")));
        }
        names.sort_unstable();
        names.dedup();
    }
    sources::spare_beside_table(names.iter().map(String::as_str), path, inputs)
}

/// Whether all native images of a rewritten file are for one instruction set, whatever made them.
///
/// # Errors
/// `Input` where they are not.
pub(crate) fn one_march(bytes: &[u8]) -> Result<()> {
    let host = Host::read(bytes)?;
    let bundle = Bundle::read(&host)?;
    let march = |image: &Image<'_>| CpuArch::of_binary(&image.contents().ok()?);
    let mut sets: Vec<CpuArch> =
        bundle.images.iter().filter(|image| spec(image) == CPU_SPEC).filter_map(march).collect();
    sets.sort_unstable();
    sets.dedup();
    match sets.as_slice() {
        [] | [_] => Ok(()),
        several => {
            let names: Vec<&str> = several.iter().map(|set| set.name()).collect();
            let message = format!(
                "the file would hold native images for {}: some that it had could not be replaced, and the driver refuses a mix",
                names.join(" and ")
            );
            Err(Error::new(ErrorKind::Input, message).with_remedy("build from the original file"))
        }
    }
}

/// Notes in the rewritten file about its native images.
fn notes(compiled: &Compiled<'_, '_>) -> Vec<(String, String)> {
    let tool = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    let march = compiled.march.map(|march| ("march".to_owned(), march.name().to_owned()));
    let tool = ("tool".to_owned(), tool.to_owned());
    std::iter::once(tool).chain(march).chain([("targets".to_owned(), compiled.targets.join(", "))]).collect()
}

/// Whether nothing but the output registers the images.
fn is_unlinked(compiled: &Compiled<'_, '_>) -> bool {
    !matches!(compiled.host.kind, Kind::Elf | Kind::Pe)
}

/// Takes the SPIR-V of images out of a rewritten file, as `prune` does: what was compiled of them gets tables of its own, and
/// the pages of their modules leave the file.
fn without(compiled: &Compiled<'_, '_>, bytes: &[u8]) -> Result<Draft> {
    let host = Host::read(bytes)?;
    let bundle = Bundle::read(&host)?;
    let sources = original_indexes(&bundle, compiled.bundle);
    let is_unlinked = |image: &&Image<'_>| {
        image.format() == Format::SpirV
            && sources.get(&image.index).is_some_and(|own| compiled.drop_spirv.contains(own))
    };
    let drop = bundle.images.iter().filter(is_unlinked).map(|image| image.index).collect();
    layers::edit_in(bytes, &drop, &[], &notes(compiled), true).map(|edited| edited.bytes)
}

/// Additions with their payloads as zstd frames, where these are smaller.
fn compressed<'k>(arena: &'k Arena, additions: &[Addition<'k>], level: i32) -> Result<Vec<Addition<'k>>> {
    // Code that is listed for several devices is compressed once.
    let mut known: HashMap<(*const u8, usize), (u8, &'k [u8])> = HashMap::new();
    let one = |addition: &Addition<'k>| {
        let key = (addition.payload.as_ptr(), addition.payload.len());
        let (format, payload) = match known.get(&key) {
            Some(known) => *known,
            None => {
                let mut image = Image { declared: Declared::from(addition.format), ..Image::bare(addition.payload, 0) };
                store(arena, &mut image, Payload::Zstd(level))?;
                *known.entry(key).or_insert((image.declared.number(), image.stored))
            }
        };
        Ok(Addition { format, payload, ..*addition })
    };
    additions.iter().map(one).collect()
}

/// The images of a form, in the order of the inputs, each native one behind what it was compiled from.
fn images<'c>(arena: &'c Arena, emit: Emit, compiled: &'c Compiled<'_, '_>) -> Result<Vec<Image<'c>>> {
    let mut natives: HashMap<usize, Vec<&Addition<'_>>> = HashMap::new();
    for addition in compiled.additions {
        natives.entry(addition.source).or_default().push(addition);
    }
    let registers = matches!(emit, Emit::Object | Emit::Shared);
    // Tables and modules say nothing of targets.
    let untold = matches!(compiled.bundle.kind, Kind::Table | Kind::SpirV | Kind::LlvmBitcode);
    let mut images = Vec::new();
    for examined in compiled.images {
        let target = target_of(examined).filter(|_| untold).unwrap_or(examined.image.target);
        let source = Image { entries: entries(examined), target, ..examined.image.clone() };
        let natives = natives.remove(&source.index).unwrap_or_default();
        let stays = !compiled.drop_spirv.contains(&source.index);
        if stays && (!registers || is_unlinked(compiled)) {
            images.push(source.clone());
        }
        let mut source = source;
        if compiled.linked.contains(&source.index) {
            remove_set(&mut source.properties.sets, set::IMPORTED);
        }
        for native in natives {
            let mut image = Image { declared: Declared::from(native.format), stored: native.payload, ..source.clone() };
            match native.compile_target {
                Some(named) => retarget(arena, &mut image, named)?,
                None => image.target = native.target,
            }
            image.properties = specialize::properties(arena, &image.properties, native.constants)?;
            if let Some(metadata) = native.metadata {
                replace_set(&mut image.properties.sets, metadata);
            }
            images.push(image);
        }
    }
    let mut numbers = HashSet::new();
    // Two images of one number would have parts of one name.
    if !images.iter().all(|image| numbers.insert(image.index)) {
        images.iter_mut().enumerate().for_each(|(number, image)| image.index = number);
    }
    Ok(images)
}

/// The system that the input is for.
fn host(host: &Host<'_>) -> Option<HostTriple> {
    let machine = match host.elf.as_ref().and_then(|elf| elf.machine) {
        Some(elf::Machine::Aarch64) => Machine::Aarch64,
        Some(elf::Machine::X86_64) => Machine::X86_64,
        _ => return None,
    };
    Some(HostTriple { machine, format: ObjectFormat::Elf })
}

fn origin(reporter: &dyn Reporter, emit: Emit, compiled: &Compiled<'_, '_>) -> Origin {
    // Without a word from the file itself, its image structures tell: version 3 came with libsycl.so.9.
    let guessed = match compiled.bundle.images.iter().find_map(|image| image.origin) {
        Some(origin) if origin.version < 3 => 8,
        _ => 9,
    };
    let abi = compiled.host.sycl_abi.unwrap_or(guessed);
    if emit == Emit::Shared && compiled.host.sycl_abi.is_none() && !is_unlinked(compiled) {
        reporter.note(&format!("the file names no SYCL runtime; the library will need libsycl.so.{abi}"));
    }
    let mut comments: Vec<String> = compiled.host.producer.iter().map(|producer| producer.name.clone()).collect();
    comments.push(format!("sycl-bundle: native images for {}", compiled.targets.join(", ")));
    let has_functions = compiled.host.defines_functions;
    Origin { comments, abi: Some(abi), numbering: Some(compiled.bundle.epoch), has_functions, ..Origin::default() }
}
