//! Does what is stored beside an image's code agree with the code?
//!
//! DPC++'s runtime goes by what is stored: it sets the arguments that a mask leaves, and launches kernels that are listed.

use super::fit::named;
use crate::bundle::aspect::Epoch;
use crate::bundle::image::Image;
use crate::bundle::property::{Property, Value};
use crate::bundle::property_sets::{Decoded, arguments_of_source, decode, set};
use crate::bytes;
use crate::native::{Native, Part};
use crate::spirv::Module;
use std::collections::{HashMap, HashSet};

/// Returns the contradictions of an image as sentences, the first of each kind. `listed` are its kernels, with the first that is
/// disguised, `native` is compiled code whose kernels have been read, and `sources` are the modules inside.
pub(super) fn contradictions(
    image: &Image<'_>,
    (listed, disguised): (&[String], Option<&str>),
    module: Option<&Module>,
    native: Option<&Native>,
    sources: &[Module],
) -> Vec<String> {
    let absent = absent(listed, module, native, sources);
    let absent = absent.map(|kernel| format!("the image lists kernel {}, which its code does not have", told(kernel)));
    let is_unlisted = image.is_of_syclbin() && image.is_unlisted() && !listed.is_empty();
    let unlisted = is_unlisted.then(|| {
        "the SYCLBIN lists no kernels for an image whose code has some, and the runtime finds none but those".to_owned()
    });
    let stranger = stranger(image, listed).map(|kernel| {
        format!("the image stores arguments for local memory of kernel {}, which it does not have", told(kernel))
    });
    let disguised = disguised.map(|kernel| {
        format!("the image has {} as a function for others to use, and its code as a kernel", told(kernel))
    });
    let cut = cut_mask(image).map(|name| {
        format!("the image's record of removed arguments of {} is cut short: the runtime ends", told(name))
    });
    let lost = module.and_then(|module| lost_global(image, module));
    let lost = lost.map(|name| format!("the image lists device global {}, which its code does not have", told(name)));
    absent
        .into_iter()
        .chain(unlisted)
        .chain(lost)
        .chain(cut)
        .chain(stranger)
        .chain(disguised)
        .chain(module.into_iter().flat_map(|module| arguments(image, module)))
        .collect()
}

/// The kernels of an image's code that it lists as functions which other images use: runtimes differ in whether these are kernels.
/// `own` are those that it lists as kernels.
pub(super) fn disguised<'i>(image: &Image<'i>, own: &[String], module: Option<&Module>) -> Vec<&'i str> {
    let Some(module) = module.filter(|_| own.len() < image.entries.len()) else { return Vec::new() };
    let own: HashSet<&str> = own.iter().map(String::as_str).collect();
    let code: HashSet<&str> = module.kernels().collect();
    image.entries.iter().copied().filter(|entry| !own.contains(entry) && code.contains(entry)).collect()
}

/// The first kernel that arguments for local memory are stored of and that is not among those listed: libsycl 2026.2 looks for it when
/// the image is registered, and ends.
fn stranger<'i>(image: &'i Image<'_>, listed: &[String]) -> Option<&'i str> {
    let stored = [set::IMPLICIT_LOCAL, set::DYNAMIC_LOCAL].map(|name| image.properties.set(name));
    let names = stored.iter().copied().flatten().map(|property| property.name);
    if stored.iter().all(|set| set.is_empty()) {
        return None;
    }
    let listed: HashSet<&str> = listed.iter().map(String::as_str).collect();
    names.into_iter().find(|name| !listed.contains(name))
}

/// Name of a kernel in a sentence.
fn told(kernel: &str) -> String {
    named(&[kernel.to_owned()]).unwrap_or_default()
}

/// The first mask of arguments that says that it has more bits than bytes: the runtime reads all masks when it registers the image, and
/// ends (seen with libsycl 2024.1 and 2026.2).
pub(crate) fn cut_mask<'i>(image: &'i Image<'_>) -> Option<&'i str> {
    let is_cut = |mask: &&Property<'_>| {
        let Value::Bytes(raw) = mask.value else { return false };
        let stored = raw.len().saturating_sub(8) as u64;
        bytes::u64_at(raw, 0).is_some_and(|count| count.div_ceil(8) > stored)
    };
    image.properties.set(set::PARAM_OPT).iter().find(is_cut).map(|mask| mask.name)
}

/// The first device global that is stored and that the code does not have: the host writes to each where a kernel is launched, which
/// fails (seen with libsycl 2026.2).
fn lost_global<'i>(image: &'i Image<'_>, module: &Module) -> Option<&'i str> {
    let mut globals = image.device_globals().map(|(name, _)| name).peekable();
    globals.peek()?;
    let own: HashSet<&str> = module.host_names.iter().chain(&module.exports).map(String::as_str).collect();
    let mapped: HashMap<&str, &str> = image.symbols_of_globals().collect();
    // Programs that are compiled at run time have them under names of their own.
    let is_there = |name: &str| own.contains(name) || of_run_time(name).is_some_and(|name| own.contains(name));
    globals.find(|name| !is_there(name) && !mapped.get(name).is_some_and(|symbol| own.contains(symbol)))
}

/// Finds kernels whose number of arguments is another than is stored.
fn arguments(image: &Image<'_>, module: &Module) -> Vec<String> {
    let (masks, places) = (image.properties.set(set::PARAM_OPT), image.properties.set(set::IMPLICIT_LOCAL));
    if masks.is_empty() && places.is_empty() {
        return Vec::new();
    }
    let entries = module.entry_points.iter().filter_map(|entry| Some((entry.name, u64::from(entry.parameters?))));
    let parameters: HashMap<&str, u64> = entries.collect();
    let differs = |mask: &&Property<'_>| {
        let decoded = decode(&image.properties, set::PARAM_OPT, mask, Epoch::From2026);
        let Some(Decoded::Arguments { count, eliminated }) = decoded else { return false };
        parameters.get(mask.name).is_some_and(|own| arguments_of_source(count, &eliminated, *own).is_none())
    };
    let is_beyond = |place: &&Property<'_>| {
        // DPC++ writes -1 where the kernel has no such argument after all, and the runtime passes none.
        let beyond = |own: &u64| place.value.number().is_none_or(|place| place != u32::MAX && u64::from(place) >= *own);
        parameters.get(place.name).is_some_and(beyond)
    };
    let mask = masks.iter().find(differs).map(|mask| {
        let kernel = told(mask.name);
        format!("the image stores which arguments of kernel {kernel} were removed, and its code has others left")
    });
    let place = places.iter().find(is_beyond).map(|place| {
        let kernel = told(place.name);
        format!("the image stores an argument for local memory of kernel {kernel} that its code does not have")
    });
    mask.into_iter().chain(place).collect()
}

/// Returns the name in the code of a program that is compiled at run time: `kernel` of `rtc_0$kernel`.
fn of_run_time(name: &str) -> Option<&str> {
    let (program, name) = name.strip_prefix("rtc_")?.split_once('$')?;
    program.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

/// The first of some listed kernels that the code does not have.
fn absent<'k>(
    listed: &'k [String],
    module: Option<&Module>,
    native: Option<&Native>,
    sources: &[Module],
) -> Option<&'k String> {
    let native = native.filter(|native| native.problems.is_empty() && native.parts.iter().all(Part::lists_kernels));
    let of_code = || {
        let parts = native.into_iter().flat_map(|native| &native.parts).flat_map(|part| &part.kernels);
        let of_parts = parts.map(|kernel| kernel.name.as_str());
        module.into_iter().chain(sources).flat_map(Module::kernels).chain(of_parts)
    };
    if module.is_none() && native.is_none_or(|native| native.parts.is_empty()) {
        return None;
    }
    // Mostly both lists are one.
    let mut own = of_code();
    let alike = listed.iter().take_while(|name| own.next() == Some(name.as_str())).count();
    let rest = listed.get(alike..).filter(|rest| !rest.is_empty())?;
    let own: HashSet<&str> = of_code().collect();
    // A program that is compiled at run time has each kernel under the name of its own, too, as `ext_oneapi_get_content` writes it.
    let is_compiled = |name: &str| of_run_time(name).is_some_and(|kernel| own.contains(kernel));
    rest.iter().find(|name| !own.contains(name.as_str()) && !is_compiled(name))
}
